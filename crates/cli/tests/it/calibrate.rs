//! `nearslot calibrate` as its user meets it: from a trace to a drive's file that other commands
//! take.

use crate::common::{Desk, given, nearslot, told, word};
use serde_json::Value;

/// A simulated schedule of random reads, one at a time, as blktrace would have recorded it.
fn recorded(desk: &Desk, drive: &str) -> String {
    let trace = desk.path("made.blktrace.0");
    let load = "iometer:depth=1:requests=6000:read_share=1";
    let words = [
        "run",
        "--workload",
        load,
        "--drive",
        drive,
        "--blktrace",
        word(&trace),
    ];
    let output = nearslot(&words);
    assert!(output.status.success(), "{}", told(&output));
    word(&trace).to_owned()
}

#[test]
fn a_recorded_schedule_becomes_a_drive_that_runs() {
    let desk = Desk::new();
    let trace = recorded(&desk, "seagate-cheetah-9lp:model=mechanical");
    let (own, json) = (
        word(&desk.path("own.toml")).to_owned(),
        ["--format", "json"],
    );
    let words = [
        "calibrate",
        &trace,
        "--base",
        "seagate-cheetah-9lp",
        "-o",
        &own,
        json[0],
        json[1],
    ];
    let output = nearslot(&words);
    assert!(output.status.success(), "{}", told(&output));
    let found: Value = serde_json::from_str(&given(&output)).expect("JSON");
    assert_eq!(found["fit"]["verdict"], "good");
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
    assert!(found["build"].is_string(), "{found}");
    assert!(found["fit"]["demerit_share"].as_f64().expect("a share") < 0.05);
    let shown = nearslot(&["show", &own]);
    assert!(given(&shown).contains("[calibration]"), "{}", told(&shown));
    let run = nearslot(&["run", "--workload", "iometer:requests=200", "--drive", &own]);
    assert!(run.status.success(), "{}", told(&run));
    // What is there stays there.
    let before = std::fs::read(&own).expect("the drive's file");
    let again = nearslot(&words);
    assert_eq!(again.status.code(), Some(2), "{}", told(&again));
    assert_eq!(std::fs::read(&own).expect("the drive's file"), before);
}

#[test]
fn what_is_no_disk_is_refused_with_what_helps() {
    let desk = Desk::new();
    let trace = recorded(&desk, "null");
    let output = nearslot(&["calibrate", &trace]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        told(&output).contains("no disk is seen"),
        "{}",
        told(&output)
    );
    assert!(
        told(&output).contains("--as empirical"),
        "{}",
        told(&output)
    );
    let own = word(&desk.path("own.toml")).to_owned();
    let tables = nearslot(&["calibrate", &trace, "--as", "empirical", "-o", &own]);
    assert!(tables.status.success(), "{}", told(&tables));
    let run = nearslot(&["run", "--workload", "iometer:requests=200", "--drive", &own]);
    assert!(run.status.success(), "{}", told(&run));
}

#[test]
fn options_without_effect_are_errors() {
    let desk = Desk::new();
    let trace = word(&desk.trace(300)).to_owned();
    for (words, said) in [
        (&["--as", "empirical", "--base", "hp-c2247a"][..], "--base"),
        (&["--probe-reads", "4000"], "--probe"),
        (&[], "tells no latency"),
    ] {
        let words = [&["calibrate", &trace], words].concat();
        let output = nearslot(&words);
        assert!(!output.status.success());
        assert!(told(&output).contains(said), "{words:?}: {}", told(&output));
    }
    let timed = recorded(&desk, "seagate-cheetah-9lp:model=mechanical");
    let base = nearslot(&["calibrate", &timed, "--base", "null"]);
    assert_eq!(base.status.code(), Some(2));
    assert!(told(&base).contains("of kind null"), "{}", told(&base));
    let both = nearslot(&["calibrate", &trace, "--probe", &trace]);
    assert_eq!(both.status.code(), Some(2));
    let filtered = nearslot(&["calibrate", "--probe", &trace, "--limit", "5"]);
    assert_eq!(filtered.status.code(), Some(2), "{}", told(&filtered));
}

#[test]
fn what_cannot_be_probed_is_named_with_what_can() {
    let desk = Desk::new();
    let small = desk.file("small", vec![0; 100_000]);
    let folder = small.parent().expect("it is in a folder").to_owned();
    let begin = "probe = ";
    for (path, said) in [
        (
            word(&folder),
            "which is a directory (allowed: a file or a block device)",
        ),
        (
            "/dev/null",
            "which is a pipe, a socket or a device without blocks (allowed",
        ),
        (
            word(&small),
            "which has 192 blocks (allowed: a file or block device of at least 131072, 64 MiB)",
        ),
    ] {
        let output = nearslot(&["calibrate", "--probe", path]);
        assert!(!output.status.success());
        let words = format!("{begin}{path}, {said}");
        // A file system may refuse direct reads of a file.
        let direct = told(&output).contains("O_DIRECT");
        assert!(
            told(&output).contains(&words) || direct,
            "{}",
            told(&output)
        );
    }
}

#[test]
fn a_probe_reads_and_never_writes() {
    let desk = Desk::new();
    let bytes: Vec<u8> = (0..80_u32 << 20).map(|index| (index >> 12) as u8).collect();
    let path = desk.file("probed", &bytes);
    let mut rights = std::fs::metadata(&path).expect("it is there").permissions();
    rights.set_readonly(true);
    std::fs::set_permissions(&path, rights).expect("the file is ours");
    let probe = [
        "calibrate",
        "--probe",
        word(&path),
        "--probe-reads",
        "3000",
        "--probe-seconds",
        "5",
    ];
    let output = nearslot(&probe);
    // Whatever holds temporary files here, a file of 80 MB on it shows no arm; or it refuses direct
    // reads.
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert_eq!(std::fs::read(&path).expect("it is there"), bytes);
}

#[test]
fn an_output_that_cannot_be_written_is_found_before_the_probe() {
    let desk = Desk::new();
    let path = desk.file("probed", vec![0; 80 << 20]);
    let output = nearslot(&["calibrate", "--probe", word(&path), "-o", "/proc/own.toml"]);
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert!(
        told(&output).contains("/proc/own.toml"),
        "{}",
        told(&output)
    );
    assert!(!told(&output).contains("timing"), "{}", told(&output));
}

#[test]
fn a_capacity_that_no_drive_has_is_refused_at_once() {
    for capacity in ["0", "17592186044417", "18446744073709551615"] {
        let output = nearslot(&["calibrate", "no.csv", "--capacity", capacity]);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        let words = "a whole number from 1 to 17592186044416";
        assert!(told(&output).contains(words), "{}", told(&output));
    }
}

/// A drive made from measured reads and writes of up to 32 KiB.
fn empirical(desk: &Desk, verdict: &str, slowest_ms: f64) -> String {
    let text = format!(
        "kind = 'empirical'\ncapacity_blocks = 200000\n\
         [[bins]]\nop = 'any'\nblocks = 64\noutstanding = 1\nquantiles = [[0.0, 0.1], [1.0, {slowest_ms:?}]]\n\
         [calibration]\nverdict = '{verdict}'\ndemerit_share = 0.08\n"
    );
    word(&desk.file("own.toml", text)).to_owned()
}

/// All that it said, in one line.
fn unwrapped(output: &std::process::Output) -> String {
    let words = told(output) + &given(output);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn commands_longer_than_all_that_a_drive_was_made_from_are_told() {
    let desk = Desk::new();
    let drive = empirical(&desk, "good", 2.0);
    let said = |words: &[&str]| {
        let output = nearslot(&[words, &["--drive", &drive]].concat());
        assert!(output.status.success(), "{}", told(&output));
        unwrapped(&output)
    };
    let load = |size: &str| format!("iometer:read_share=0.5:requests=3000:size={size}");
    for command in [
        &["run"][..],
        &["compare", "--sched", "fcfs,satf"],
        &["capacity", "--slo", "mean < 1 s"],
    ] {
        let long = said(&[command, &["--workload", &load("1m")]].concat());
        for op in ["read", "write"] {
            let words = format!("was made from {op}s of up to 32 KiB");
            assert!(long.contains(&words), "{command:?}: {long}");
        }
        assert!(long.contains("had up to 1024 KiB"), "{command:?}: {long}");
        let short = said(&[command, &["--workload", &load("32k")]].concat());
        assert!(!short.contains("was made from"), "{command:?}: {short}");
    }
    // 128 KiB are 32 KiB on each of four drives.
    let striped = [
        "run",
        "--workload",
        &load("128k"),
        "--place",
        "stripe:disks=4:stripe_kib=32",
    ];
    let striped = said(&striped);
    assert!(!striped.contains("was made from"), "{striped}");
}

#[test]
fn a_fair_calibration_is_told_to_who_runs_on_it() {
    let desk = Desk::new();
    let drive = empirical(&desk, "fair", 2.0);
    let output = nearslot(&[
        "run",
        "--workload",
        "iometer:requests=500",
        "--drive",
        &drive,
    ]);
    let said = unwrapped(&output);
    assert!(said.contains("own.toml was fair, 8.0 % from"), "{said}");
}

#[test]
fn service_times_beyond_virtual_time_are_errors() {
    let desk = Desk::new();
    let drive = empirical(&desk, "good", 1e7);
    let run = |load: &str, drive: &str| {
        let output = nearslot(&["run", "--workload", load, "--drive", drive]);
        assert!(
            [Some(2), Some(3)].contains(&output.status.code()),
            "{}",
            told(&output)
        );
        told(&output)
    };
    let scaled = run(
        "iometer:size=1m:requests=40",
        &format!("{drive}:scale=1000"),
    );
    assert!(scaled.contains("allowed: up to 1e13 ms"), "{scaled}");
    let long = run("iometer:size=64m:requests=9000", &drive);
    assert!(long.contains("the run ends within 219 years"), "{long}");
}
