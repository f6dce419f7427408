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
    let load = ["--workload", "iometer:requests=10"];
    let (drive, vary) = (word(&drive), format!("drive=null,{}", word(&drive)));
    let (here, slo) = (["--drive", drive], ["--slo", "mean < 1 ms"]);
    let commands: [&[&[&str]]; 6] = [
        &[&["run"], &load, &here],
        &[&["compare"], &load, &here],
        &[&["compare"], &load, &["--vary", &vary]],
        &[&["capacity"], &load, &slo, &here],
        &[&["inspect", word(&trace)], &here],
        &[&["show", drive]],
    ];
    let refused = |command: &&[&[&str]]| {
        let output = nearslot(&command.concat());
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

/// A knob is a word of the command line, whatever file the drive has.
#[test]
fn a_knob_without_effect_is_a_mistake_of_the_command_line() {
    let desk = Desk::new();
    let flash = nearslot_core::drive::catalog_text("nvme-tlc-1tb").expect("it is there");
    let lines = flash.lines().filter(|line| !line.starts_with("suspension"));
    let plain = desk.file("plain.toml", lines.collect::<Vec<_>>().join("\n"));
    let volume = "kind = 'capped'\ncapacity_blocks = 2000000\nlatency_ms = 1.0\nio_kib_max = 256\n\
                  iops = { baseline = 100.0 }\nmib = { baseline = 10.0 }";
    let volume = desk.file("volume.toml", volume);
    for (drive, knob, words) in [
        (
            word(&plain),
            "suspension=true",
            "suspension = true (allowed: left out, as the drive's file has no [suspension])",
        ),
        (
            word(&plain),
            "suspension=false",
            "suspension = false (allowed: left out",
        ),
        (
            word(&volume),
            "credits_full=1",
            "credits_full = 1 (allowed: left out, as the drive's file has no credits)",
        ),
        (
            "modern-20tb",
            "overhead_ms=0",
            "overhead_ms = 0 (allowed: left out, or model = mechanical beside it",
        ),
        (
            "modern-20tb",
            "queue_sched=hits_first",
            "queue_sched = hits_first (allowed: queue_depth above 1",
        ),
        (
            "modern-20tb",
            "queue_depth=4:queue_sched=mq-deadline:fifo_batch=4",
            "modern-20tb.fifo_batch = 4 (allowed: a setting of mq-deadline, which stands with it in a scenario's table",
        ),
    ] {
        let load = ["--workload", "iometer:requests=100"];
        let with = format!("{drive}:{knob}");
        let output = nearslot(&[&["run"], &load[..], &["--drive", &with]].concat());
        assert!(told(&output).contains(words), "{knob}: {}", told(&output));
        assert_eq!(output.status.code(), Some(2), "{knob}: {}", told(&output));
        let output = nearslot(&[&["run"], &load[..], &["--drive", drive]].concat());
        assert!(output.status.success(), "{drive}: {}", told(&output));
    }
}

/// Who is wrong is not told by the name of the key: a file may have a key that the command line
/// sets too.
#[test]
fn a_key_that_file_and_command_line_have_is_a_mistake_of_who_is_wrong() {
    let desk = Desk::new();
    let flash = nearslot_core::drive::catalog_text("nvme-tlc-1tb").expect("it is there");
    let depth = flash
        .lines()
        .find(|line| line.starts_with("queue_depth"))
        .expect("it has one");
    let wrong = desk.file("wrong.toml", flash.replace(depth, "queue_depth = -3"));
    let right = desk.file("right.toml", flash);
    let load = ["--workload", "iometer:requests=100"];
    for (file, knob, code, words) in [
        (&wrong, "8", 3, "wrong.toml: queue_depth = -3"),
        (&right, "-3", 2, "queue_depth = -3"),
        (&right, "8", 0, ""),
    ] {
        let drive = format!("{}:queue_depth={knob}", word(file));
        let output = nearslot(&[&["run"], &load[..], &["--drive", &drive]].concat());
        assert!(told(&output).contains(words), "{drive}: {}", told(&output));
        assert_eq!(output.status.code(), Some(code), "{}", told(&output));
        let vary = format!("drive.queue_depth={knob},4");
        let with = ["--drive", word(file), "--vary", &vary];
        let output = nearslot(&[&["compare"], &load[..], &with].concat());
        assert_eq!(output.status.code(), Some(code), "{}", told(&output));
    }
}
