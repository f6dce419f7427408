//! `nearslot capacity`: what it prints and writes, and what it refuses.

use crate::common::{Desk, given, nearslot, told, word};
use serde_json::Value;

/// What is said beside the trace, the exit code, and words of the message. Without an objective,
/// one is asked that can be met.
const REFUSED: &[(&[&str], i32, &[&str])] = &[
    (&["--slo", "p98 < 20 ms"], 2, &["p98", "p99.9"]),
    (&["--slo", "read p99 < 20"], 2, &["20", "us, ms or s"]),
    (
        &["--slo", "reads p99 < 20 ms"],
        2,
        &["reads", "read or write"],
    ),
    (&["--slo", "p99 > 20 ms"], 2, &["no '<'"]),
    (
        &["--slo", "mean < 1 s", "--slo", "mean < 2 s"],
        2,
        &["mean < 2 s", "once"],
    ),
    (
        &["--slo", "p99.9 < 1 s"],
        3,
        &["measures 396", "needs 5000"],
    ),
    (&["--find", "sped"], 2, &["sped", "speed"]),
    (
        &["--find", "depth"],
        2,
        &["find = depth", "replay = closed"],
    ),
    (&["--find", "rate"], 2, &["find = rate", "synthetic"]),
    (
        &["--replay", "closed", "--find", "speed"],
        2,
        &["open or dependent"],
    ),
    (&["--speed", "2"], 2, &["speed = 2", "looked for"]),
    (
        &["--replay", "closed", "--depth", "4"],
        2,
        &["depth = 4", "looked for"],
    ),
    (
        &["--find", "drives", "--place", "eager"],
        2,
        &["eager", "stripe, concat, raid5, mirror"],
    ),
    (
        &["--find", "drives", "--place", "stripe:disks=2"],
        2,
        &["disks = 2"],
    ),
    (
        &["--find", "drives", "--place", "mirror", "--offer", "group"],
        2,
        &["--offer = group", "left out", "--place offering:"],
    ),
    (
        &["--vary", "speed=1,2"],
        2,
        &[
            "vary speed",
            "buffer, faults, claims, drive and their knobs",
        ],
    ),
    (&["--vary", "seed=1,2"], 2, &["vary seed"]),
    (&["--resolution", "0"], 2, &["resolution = 0", "0.1 to 50"]),
    (
        &["--resolution", "fine"],
        2,
        &["resolution = fine", "percent"],
    ),
    (&["--overload", "run"], 2, &["--overload = run", "left out"]),
    (&["--sched", "satff"], 2, &["satff", "satf"]),
];

#[test]
fn what_cannot_be_found_is_refused_with_what_is_allowed() {
    let desk = Desk::new();
    let trace = desk.trace(400);
    let path = word(&trace);
    let refused = |words: &[&str], code: i32, expected: &[&str]| {
        let output =
            nearslot(&[&["capacity", path, "--drive", "seagate-cheetah-9lp"], words].concat());
        let told = told(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {told}");
        for word in expected {
            assert!(told.contains(word), "{words:?}: `{word}` is not in: {told}");
        }
        assert!(!told.contains("panicked"), "{told}");
    };
    refused(&[], 2, &["--slo"]);
    let slo = ["--slo", "mean < 20 ms"];
    for (words, code, expected) in REFUSED {
        let own = words.contains(&"--slo");
        let asked = if own { &[][..] } else { &slo };
        refused(&[asked, words].concat(), *code, expected);
    }
    for output in ["--html", "--output"] {
        refused(&[&slo[..], &[output, path]].concat(), 2, &[output, "read"]);
    }
}

#[test]
fn the_answer_comes_first_and_every_form_has_it() {
    let desk = Desk::new();
    let trace = desk.trace(800);
    let (summary, page) = (desk.path("found.json"), desk.path("found.html"));
    let asked = [
        "capacity",
        word(&trace),
        "--slo",
        "read mean < 60 ms",
        "--sched",
        "fcfs,satf",
        "--drive",
        "seagate-cheetah-9lp",
    ];
    let text = nearslot(&asked);
    assert!(text.status.success(), "{}", told(&text));
    let text = given(&text);
    assert!(
        text.starts_with("satf holds `read mean < 60 ms` up to "),
        "{text}"
    );
    for word in [
        "times the recorded speed (surely up to ",
        "fcfs",
        "runs (",
        "those of one",
    ] {
        assert!(
            text.replace('\n', " ").contains(word),
            "`{word}` is not in: {text}"
        );
    }
    let mut files = asked.to_vec();
    files.extend([
        "--format",
        "json",
        "-o",
        word(&summary),
        "--html",
        word(&page),
    ]);
    let written = nearslot(&files);
    assert!(written.status.success(), "{}", told(&written));
    let found: Value = serde_json::from_slice(&std::fs::read(&summary).unwrap()).unwrap();
    let headline = found["headline"].as_str().unwrap();
    assert!(text.replace('\n', " ").starts_with(headline), "{headline}");
    assert_eq!(found["best"], 1);
    assert!(found["choices"][1]["holds"].as_f64() > found["choices"][0]["holds"].as_f64());
    assert!(std::fs::read_to_string(&page).unwrap().contains("Capacity"));
    // They are there now.
    let again = nearslot(&files);
    assert_eq!(again.status.code(), Some(2), "{}", told(&again));
    assert!(told(&again).contains("--force"), "{}", told(&again));
    files.push("--force");
    assert!(nearslot(&files).status.success());
}

#[test]
fn a_setting_that_was_found_can_be_run() {
    let desk = Desk::new();
    let trace = desk.trace(800);
    let slo = [
        "--slo",
        "mean < 15 ms",
        "--sched",
        "satf",
        "--format",
        "json",
    ];
    let found = nearslot(&[
        "capacity",
        word(&trace),
        slo[0],
        slo[1],
        slo[2],
        slo[3],
        slo[4],
        slo[5],
    ]);
    let found: Value = serde_json::from_str(&given(&found)).unwrap();
    let choice = &found["choices"][0];
    let tried = choice["tried"].as_array().unwrap();
    let at = tried
        .iter()
        .find(|tried| tried["at"] == choice["holds"])
        .unwrap();
    let speed = at["at"].to_string();
    let run = nearslot(&[
        "run",
        word(&trace),
        "--sched",
        "satf",
        "--speed",
        &speed,
        "--format",
        "json",
    ]);
    let run: Value = serde_json::from_str(&given(&run)).unwrap();
    let response = &run["runs"][0]["response_ms"];
    assert_eq!(at["readings"][0]["ms"], response["mean"]);
    assert_eq!(at["readings"][0]["low_ms"], response["ci95"][0]);
    assert_eq!(at["throughput_rps"], run["runs"][0]["throughput_rps"]);
}

#[test]
fn a_drive_that_is_not_to_be_trusted_is_told() {
    let desk = Desk::new();
    let (trace, drive) = (desk.trace(400), desk.path("doubt.toml"));
    let file = "kind = 'empirical'\ncapacity_blocks = 20000000\n\
                bins = [{ op = 'any', blocks = 8, outstanding = 1, quantiles = [[0.0, 5.0], [1.0, 9.0]] }]\n\
                calibration = { verdict = 'poor' }\n";
    std::fs::write(&drive, file).expect("room");
    let asked = [
        "capacity",
        word(&trace),
        "--slo",
        "mean < 1 s",
        "--format",
        "json",
        "--drive",
        word(&drive),
    ];
    let found = nearslot(&asked);
    assert!(found.status.success(), "{}", told(&found));
    let found: Value = serde_json::from_str(&given(&found)).expect("JSON");
    let warnings = found["warnings"].to_string();
    assert!(warnings.contains("doubt.toml was poor"), "{warnings}");
}

/// A key with one value stands in no choice, so the other one's values name them.
#[test]
fn what_all_choices_share_names_none() {
    let words = "capacity --workload poisson:requests=3000 --drive null --find rate --sched fcfs --place linear,mirror --slo";
    let all = words.split(' ').chain(["mean < 5 ms"]);
    let found = nearslot(&all.collect::<Vec<_>>());
    let text = given(&found);
    assert!(found.status.success(), "{}", told(&found));
    assert!(text.starts_with("mirror holds"), "{text}");
    assert!(text.contains("linear takes less than mirror"), "{text}");
    assert!(!text.contains("place="), "{text}");
}
