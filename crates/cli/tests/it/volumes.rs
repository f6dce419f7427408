//! A trace with several devices in one replay: each volume where the user said, and told in the
//! results.

use std::path::Path;
use std::process::Output;

use crate::common::{Desk, given, nearslot, told, word};
use serde_json::{Value, json};

/// Blocks of a 1 MiB.
const MIB: u64 = 2048;

/// 600 requests of two devices in turn; the first is 3 MiB + 4 KiB large, the second 8 MiB. With
/// `places`, both are one device on which they begin at these blocks.
fn trace(desk: &Desk, name: &str, places: Option<[u64; 2]>) -> std::path::PathBuf {
    let mut text = String::from("time_us,dev,lba,blocks,op\n");
    for number in 0..600_u64 {
        let volume = (number % 2) as usize;
        let pages = [3 * MIB / 8 + 1, 8 * MIB / 8][volume];
        // The first requests of both are the highest.
        let page = (pages - 1 + number / 2 * 271) % pages;
        let (device, start) = match places {
            None => (["sda", "sdb"][volume], 0),
            Some(places) => ("both", places[volume]),
        };
        let op = if number % 3 == 0 { "W" } else { "R" };
        text += &format!("{},{device},{},8,{op}\n", number * 4_000, start + page * 8);
    }
    desk.file(name, text)
}

fn json_of(output: &Output) -> Value {
    assert!(output.status.success(), "{}", told(output));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

fn ran(trace: &Path, options: &[&str]) -> Value {
    let sched = [
        "run",
        word(trace),
        "--sched",
        "satf",
        "--replay",
        "closed",
        "--format",
        "json",
    ];
    json_of(&nearslot(&[&sched, options].concat()))["runs"][0].clone()
}

/// What was measured, without what was set and the time that it took.
fn measured(run: &Value) -> Value {
    let mut run = run.clone();
    for key in ["config", "volumes", "volume_responses", "simulated_in_s"] {
        assert!(run.as_object_mut().unwrap().remove(key).is_some(), "{key}");
    }
    run
}

#[test]
fn volumes_one_behind_the_other_are_one_device_with_moved_addresses() {
    let desk = Desk::new();
    let two = trace(&desk, "two.csv", None);
    // The second begins at the next whole MiB.
    let moved = trace(&desk, "moved.csv", Some([0, 4 * MIB]));
    for place in ["linear", "stripe:disks=2:stripe_kib=64", "mirror:disks=2"] {
        let found = ran(&two, &["--volumes", "concat", "--place", place]);
        assert_eq!(
            measured(&found),
            measured(&ran(&moved, &["--place", place])),
            "{place}"
        );
        let expected = json!([
            { "device": "sda", "requests": 300, "end_bytes": (3 * MIB + 8) * 512, "drive": null, "first_block": 0 },
            { "device": "sdb", "requests": 300, "end_bytes": 8 * MIB * 512, "drive": null, "first_block": 4 * MIB },
        ]);
        assert_eq!(found["volumes"], expected);
        assert_eq!(found["config"]["load"]["volumes"], "concat");
    }
}

#[test]
fn volumes_on_drives_of_their_own_have_a_queue_each() {
    let desk = Desk::new();
    let two = trace(&desk, "two.csv", None);
    let blocks = nearslot_core::drive::catalog_text("hp-c2247a").unwrap();
    let drive = nearslot_core::drive::read("hp-c2247a", blocks, &[])
        .unwrap()
        .0;
    let moved = trace(&desk, "moved.csv", Some([0, drive.capacity().0]));
    let found = ran(&two, &["--volumes", "own-drives", "--drive", "hp-c2247a"]);
    let by_hand = ran(
        &moved,
        &["--place", "concat:disks=2", "--drive", "hp-c2247a"],
    );
    assert_eq!(measured(&found), measured(&by_hand));
    assert_eq!(
        (
            &found["config"]["drives"],
            &found["config"]["place"]["disks"]
        ),
        (&json!(2), &json!(2))
    );
    let drives: Vec<&Value> = found["volumes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|volume| &volume["drive"])
        .collect();
    assert_eq!(drives, [0, 1]);
    // With an arm each they are served sooner than by one.
    let one = ran(&two, &["--volumes", "concat", "--drive", "hp-c2247a"]);
    let rate = |run: &Value| run["throughput_rps"].as_f64().unwrap();
    assert!(
        rate(&found) > 1.5 * rate(&one),
        "{} {}",
        rate(&found),
        rate(&one)
    );
}

#[test]
fn drives_of_their_own_may_be_large() {
    let desk = Desk::new();
    let two = trace(&desk, "two.csv", None);
    let found = ran(&two, &["--volumes", "own-drives", "--drive", "modern-20tb"]);
    assert_eq!(found["requests"], 600);
}

#[test]
fn a_table_tells_where_volumes_lie_and_a_scenario_can_say_it() {
    let desk = Desk::new();
    let two = trace(&desk, "two.csv", None);
    let table = nearslot(&["compare", word(&two), "--vary", "volumes=concat,own-drives"]);
    for part in [
        "600 requests of 2 devices over",
        "sda from block 0, sdb from block 8192",
        "sda on drive 0, sdb on drive 1",
        "in their number of drives: concat has 1 drive, own-drives 2.",
    ] {
        assert!(
            given(&table).contains(part),
            "{part}: {}{}",
            given(&table),
            told(&table)
        );
    }
    let text =
        "sched = 'satf'\n[trace]\nfiles = ['two.csv']\nvolumes = 'concat'\nreplay = 'closed'\n";
    let file = desk.file("scenario.toml", text);
    let json = desk.path("run.json");
    let words = [
        "run",
        word(&file),
        "--format",
        "json",
        "--output",
        word(&json),
    ];
    assert!(nearslot(&words).status.success());
    let found: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(
        measured(&found["runs"][0]),
        measured(&ran(&two, &["--volumes", "concat"]))
    );
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let desk = Desk::new();
    let two = trace(&desk, "two.csv", None);
    let one = desk.trace(20);
    let own = ["--volumes", "own-drives", "--place", "stripe"];
    let cases: [(&Path, &[&str], i32, &[&str]); 5] = [
        (
            &two,
            &[],
            3,
            &[
                "--device",
                "--volumes concat",
                "own-drives",
                "sda (300 requests)",
            ],
        ),
        (
            &two,
            &["--volumes", "both"],
            2,
            &["both", "concat", "own-drives"],
        ),
        (
            &two,
            &["--volumes", "concat", "--device", "sda"],
            2,
            &["volumes = concat", "device, which is sda"],
        ),
        (
            &one,
            &["--volumes", "concat"],
            3,
            &["volumes = concat", "has one device"],
        ),
        (&two, &own, 2, &["place = stripe", "linear"]),
    ];
    for (trace, options, code, parts) in cases {
        let output = nearslot(&[&["run", word(trace)], options].concat());
        assert_eq!(
            output.status.code(),
            Some(code),
            "{options:?}: {}",
            told(&output)
        );
        for part in parts {
            assert!(told(&output).contains(part), "{part}: {}", told(&output));
        }
    }
}

#[test]
fn volumes_that_do_not_fit_name_drives_that_hold_them() {
    let desk = Desk::new();
    let text = "time_us,dev,lba,blocks,op\n0,sda,1500000,8,R\n9,sdb,1500000,8,R\n";
    let far = desk.file("far.csv", text);
    let small = ["run", word(&far), "--warmup", "0", "--drive", "hp-c2247a"];
    let output = nearslot(&[&small[..], &["--volumes", "concat"]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    for part in ["2 volumes", "hp-c2247a", "seagate-cheetah-9lp", "--fit"] {
        assert!(told(&output).contains(part), "{part}: {}", told(&output));
    }
    let own = nearslot(&[&small[..], &["--volumes", "own-drives"]].concat());
    assert!(own.status.success(), "{}", told(&own));
}

/// On a drive of its own, under requests that come when they come, a volume is served as if it were
/// alone.
#[test]
fn response_times_of_volumes_are_those_of_each_alone() {
    let desk = Desk::new();
    let two = trace(&desk, "two.csv", None);
    let open = |warmup, options: &[&str]| {
        let run = [
            "run",
            word(&two),
            "--drive",
            "hp-c2247a",
            "--warmup",
            warmup,
            "--format",
            "json",
        ];
        json_of(&nearslot(&[&run, options].concat()))["runs"][0].clone()
    };
    let both = open("0", &["--volumes", "own-drives"]);
    let told = both["volume_responses"].as_array().unwrap();
    let devices: Vec<&Value> = told.iter().map(|volume| &volume["device"]).collect();
    assert_eq!(devices, ["sda", "sdb"]);
    // Platters of other drives stand at other angles; the first is where a single drive's is.
    let alone = open("0", &["--device", "sda"]);
    assert_eq!(alone["volume_responses"], json!([]));
    let response = &alone["response_ms"];
    let expected = json!({
        "device": "sda", "requests": alone["requests"], "failed": 0, "mean_ms": response["mean"], "p50_ms": response["p50"],
        "p99_ms": response["p99"], "max_ms": response["max"],
    });
    assert_eq!(told[0], expected);
    // Together they are all that was measured, also where they share a drive.
    for how in ["own-drives", "concat"] {
        let run = open("50", &["--volumes", how]);
        let told = run["volume_responses"].as_array().unwrap();
        let of = |volume: &Value, key: &str| volume[key].as_f64().unwrap();
        let requests: f64 = told.iter().map(|volume| of(volume, "requests")).sum();
        assert!((requests - 550.0).abs() < 0.5, "{how}: {requests}");
        let sum = |volume| of(volume, "mean_ms") * of(volume, "requests");
        let mean = told.iter().map(sum).sum::<f64>() / requests;
        let expected = of(&run["response_ms"], "mean");
        assert!(
            (mean / expected - 1.0).abs() < 1e-9,
            "{how}: {mean} {expected}"
        );
    }
}

#[test]
fn a_run_shows_its_volumes_as_a_table() {
    let desk = Desk::new();
    let two = trace(&desk, "two.csv", None);
    let shown = |options: &[&str]| {
        let run = ["run", word(&two), "--drive", "hp-c2247a", "--warmup", "0"];
        let output = nearslot(&[&run, options].concat());
        assert!(output.status.success(), "{}", told(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = shown(&["--volumes", "own-drives"]);
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for device in ["sda", "sdb"] {
        let row = rows.iter().find(|row| row.first() == Some(&device));
        let row = row.unwrap_or_else(|| panic!("{device}: {text}"));
        // Too few requests for a p99.
        assert_eq!(
            (row.len(), row[1], row[4]),
            (6, "300", "\u{2013}"),
            "{text}"
        );
    }
    assert!(!shown(&["--device", "sda"]).contains("volume "));
}

/// The page describes the trace, and holds it against the drives that the runs had.
#[test]
fn a_page_is_made_where_a_fault_is_on_a_drive_that_only_volumes_bring() {
    let desk = Desk::new();
    let two = trace(&desk, "two.csv", None);
    let page = desk.path("page.html");
    let faults = "injected:gone_at_s=1:gone_drive=1";
    let words = [
        "run",
        word(&two),
        "--volumes",
        "own-drives",
        "--drive",
        "hp-c2247a",
        "--faults",
        faults,
        "--html",
        word(&page),
    ];
    let output = nearslot(&words);
    assert!(output.status.success(), "{}", told(&output));
    assert!(
        std::fs::read_to_string(page)
            .unwrap()
            .contains("gone_drive")
    );
}
