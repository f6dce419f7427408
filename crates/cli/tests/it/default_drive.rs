//! No drive is named: the smallest disk of today that holds the load is taken, and said aloud.

use crate::common::{Desk, given, nearslot, told, word};
use serde_json::Value;

/// Two devices, or one, whose last request ends so many bytes behind the front.
fn trace(desk: &Desk, name: &str, ends: &[(&str, u64)]) -> std::path::PathBuf {
    let mut text = "time_us,dev,offset_bytes,len_bytes,op\n".to_owned();
    for (number, (device, end)) in ends.iter().enumerate() {
        text += &format!("{},{device},0,4096,R\n", number * 40_000);
        text += &format!(
            "{},{device},{},4096,W\n",
            number * 40_000 + 20_000,
            end - 4_096
        );
    }
    desk.file(name, text)
}

const GB: u64 = 1_000_000_000;
const DESKTOP: &str = "desktop-7200-90mb";
const MODERN: &str = "modern-20tb";

/// Runs it; gives the drive of the run, and of `drive_chosen`.
fn drive(words: &[&str]) -> (String, Value) {
    let all = [&["run"], words, &["--warmup", "0", "--format", "json"]].concat();
    let output = nearslot(&all);
    assert!(output.status.success(), "{words:?}: {}", told(&output));
    let results: Value = serde_json::from_str(&given(&output)).unwrap();
    let name = results["runs"][0]["config"]["drive"]["name"].as_str();
    (name.unwrap().to_owned(), results["drive_chosen"].clone())
}

#[test]
fn the_smallest_of_today_that_fits_is_taken_and_said() {
    let desk = Desk::new();
    let small = trace(&desk, "small.csv", &[("sda", GB)]);
    let (name, chosen) = drive(&[word(&small)]);
    assert_eq!((name.as_str(), &chosen["name"]), (DESKTOP, &DESKTOP.into()));
    assert_eq!(chosen["capacity_bytes"], 1_000_204_886_016_u64);
    let large = trace(&desk, "large.csv", &[("sda", 1_500 * GB)]);
    assert_eq!(drive(&[word(&large)]).0, MODERN);
    // A smaller one would do, if addresses were changed; as long as one holds them all, none are.
    assert_eq!(drive(&[word(&large), "--fit", "wrap"]).0, MODERN);
    let output = nearslot(&["run", word(&large), "--warmup", "0"]);
    let why = "no drive was named, so it is modern-20tb";
    assert!(told(&output).contains(why), "{}", told(&output));
    assert!(
        told(&output).contains("end at 1500 GB"),
        "{}",
        told(&output)
    );
    assert!(given(&output).contains(why), "{}", given(&output));
}

#[test]
fn a_drive_that_is_named_is_taken_without_a_word() {
    let desk = Desk::new();
    let small = trace(&desk, "small.csv", &[("sda", GB)]);
    let (name, chosen) = drive(&[word(&small), "--drive", "seagate-cheetah-9lp"]);
    assert_eq!(
        (name.as_str(), chosen),
        ("seagate-cheetah-9lp", Value::Null)
    );
    let words = ["run", word(&small), "--warmup", "0", "--drive", MODERN];
    assert_eq!(told(&nearslot(&words)), "");
}

#[test]
fn a_synthetic_load_gets_one_too_and_all_runs_the_same() {
    let words = [
        "compare",
        "--workload",
        "iometer:requests=200",
        "--format",
        "json",
    ];
    let output = nearslot(&words);
    assert!(told(&output).contains(DESKTOP), "{}", told(&output));
    let results: Value = serde_json::from_str(&given(&output)).unwrap();
    let runs = results["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    assert!(
        runs.iter()
            .all(|run| run["config"]["drive"]["name"] == DESKTOP)
    );
}

#[test]
fn the_choice_knows_what_placements_and_volumes_need() {
    let desk = Desk::new();
    let large = trace(&desk, "large.csv", &[("sda", 1_500 * GB)]);
    assert_eq!(
        drive(&[word(&large), "--place", "stripe:disks=2"]).0,
        DESKTOP
    );
    let mirrored = drive(&[word(&large), "--place", "mirror:disks=2"]);
    assert_eq!(mirrored.0, MODERN);
    let two = trace(&desk, "two.csv", &[("sda", 600 * GB), ("sdb", 700 * GB)]);
    assert_eq!(drive(&[word(&two), "--volumes", "own-drives"]).0, DESKTOP);
    assert_eq!(drive(&[word(&two), "--volumes", "concat"]).0, MODERN);
    let nothing_said = nearslot(&["run", word(&two)]);
    assert_eq!(nothing_said.status.code(), Some(3));
    assert!(told(&nothing_said).contains("--volumes concat"));
    let both = ["compare", word(&two), "--vary", "volumes=concat,own-drives"];
    let output = nearslot(&[&both[..], &["--warmup", "0"]].concat());
    assert!(
        told(&output).contains("so it is modern-20tb"),
        "{}",
        told(&output)
    );
}

#[test]
fn what_no_disk_of_today_holds_is_an_error_or_is_fitted_to_the_largest() {
    let desk = Desk::new();
    let huge = trace(&desk, "huge.csv", &[("sda", 40_000 * GB)]);
    let output = nearslot(&["run", word(&huge)]);
    assert_eq!(output.status.code(), Some(3));
    for part in [
        "40000.00 GB",
        "no drive of the catalog is large enough",
        "--fit",
        MODERN,
        "No drive was named",
    ] {
        assert!(told(&output).contains(part), "{part}: {}", told(&output));
    }
    let (name, chosen) = drive(&[word(&huge), "--fit", "wrap"]);
    assert_eq!(name, MODERN);
    let why = chosen["why"].as_str().unwrap();
    assert!(why.contains("the largest disk"), "{why}");
    assert!(why.contains("fitted to it"), "{why}");
}

#[test]
fn mistakes_that_no_drive_can_mend_are_told_as_they_are() {
    let odd = ["run", "--workload", "iometer:depht=3"];
    let output = nearslot(&odd);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        told(&output).contains("did you mean `depth`"),
        "{}",
        told(&output)
    );
    assert!(
        !told(&output).contains("No drive was named"),
        "{}",
        told(&output)
    );
    // The largest disks have more chunks than a mirror keeps account of, but that is not what is
    // wrong.
    let copies = [
        "run",
        "--workload",
        "iometer",
        "--place",
        "mirror:foreground=3",
    ];
    let output = nearslot(&copies);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        told(&output).contains("foreground = 3 (allowed: at most 2"),
        "{}",
        told(&output)
    );
    let eager = [
        "run",
        "--workload",
        "iometer",
        "--place",
        "eager",
        "--sched",
        "satf_ew",
    ];
    let output = nearslot(&eager);
    assert_eq!(output.status.code(), Some(2));
    for part in ["drive = none named", "--drive", "eager", "hp-c2247a"] {
        assert!(told(&output).contains(part), "{part}: {}", told(&output));
    }
}
