//! What is wrong in a drive's file is a mistake of that file, and is told with what is allowed.

use crate::common::{Desk, nearslot, told, word};

/// A small disk, of which a part of the text is another.
fn refused(part: &str, other: &str) -> Vec<(Option<i32>, String)> {
    let sample = "kind = 'hdd'
        rpm = 6000
        heads = 2
        cylinders = 1000
        head_switch_ms = 0.5
        write_settle_ms = 0.25
        seek_ms = [[1, 1.0], [999, 5.0]]
        [[zones]]
        cylinders = [0, 499]
        sectors_per_track = 100
        [[zones]]
        cylinders = [500, 999]
        sectors_per_track = 80";
    assert!(sample.contains(part), "{part}");
    let desk = Desk::new();
    let drive = desk.file("mine.toml", sample.replace(part, other));
    let trace = desk.trace(10);
    let run = ["run", "--workload", "iometer:requests=10"];
    let commands = [&run[..], &["inspect", word(&trace)]];
    let refused = |command: &&[&str]| {
        let output = nearslot(&[command, &["--drive", word(&drive)][..]].concat());
        (output.status.code(), told(&output))
    };
    commands.iter().map(refused).collect()
}

#[test]
fn each_mistake_is_one_of_the_file_and_names_what_is_allowed() {
    for (part, other, words) in [
        (
            "'hdd'",
            "'tape'",
            "mine.toml: kind = tape (allowed: one of null, hdd, empirical, capped, ssd)",
        ),
        ("'hdd'", "'hd'", "mine.toml: kind = hd; did you mean `hdd`?"),
        (
            "heads = 2",
            "heads = -2",
            "mine.toml: heads = -2 (allowed: a whole number, 1 to 4096)",
        ),
        (
            "[500, 999]",
            "[500, 998]",
            "mine.toml: zones[1].cylinders = [500, 998] (allowed: a last zone that ends with 999, the last of cylinders = 1000",
        ),
        (
            "[0, 499]",
            "[3, 499]",
            "mine.toml: zones[0].cylinders = [3, 499] (allowed: a first zone that begins with 0, the first of cylinders = 1000",
        ),
    ] {
        for (code, told) in refused(part, other) {
            assert!(told.contains(words), "{other}: {told}");
            assert_eq!(code, Some(3), "{other}: {told}");
        }
    }
}
