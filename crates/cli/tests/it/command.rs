//! The command as its user meets it: help, lists, and results that say the same in every form.

use crate::common::{Desk, given, nearslot, told, word};
use nearslot_cli::BUILD;
use serde_json::Value;

fn json(words: &[&str]) -> Value {
    let output = nearslot(words);
    assert!(output.status.success(), "{}", told(&output));
    serde_json::from_str(&given(&output)).expect("JSON on standard output")
}

/// Results without what differs between two runs of the same.
fn steady(mut results: Value) -> Value {
    for run in results["runs"].as_array_mut().expect("runs") {
        run["simulated_in_s"] = Value::Null;
    }
    results
}

#[test]
fn help_has_examples_and_every_part_can_be_shown() {
    for words in [
        vec!["--help"],
        vec!["compare", "--help"],
        vec!["inspect", "--help"],
    ] {
        let output = nearslot(&words);
        assert!(output.status.success());
        assert!(given(&output).contains("Examples"), "{words:?}");
    }
    let lists = json(&["list", "--format", "json"]);
    for (kind, cards) in lists.as_object().expect("kinds") {
        for card in cards.as_array().expect("cards") {
            let name = card["name"].as_str().expect("a name");
            let output = nearslot(&["show", name]);
            assert!(output.status.success(), "{kind} {name}: {}", told(&output));
            assert!(given(&output).contains(name));
        }
    }
    let schedulers = lists["schedulers"].as_array().expect("schedulers");
    let names: Vec<&str> = schedulers
        .iter()
        .filter_map(|card| card["name"].as_str())
        .collect();
    for name in [
        "fcfs",
        "sstf",
        "scan",
        "cscan",
        "look",
        "clook",
        "vscan",
        "satf",
        "aged_satf",
        "mq-deadline",
    ] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
}

#[test]
fn the_doctor_finds_this_installation_sound() {
    let output = nearslot(&["doctor"]);
    assert!(output.status.success(), "{}", told(&output));
    assert!(given(&output).contains("the same to the bit"));
}

/// A check that comes out wrong has told all that it found, and ends with an exit code of its own.
#[test]
fn timings_that_are_no_longer_met_fail_their_check() {
    let desk = Desk::new();
    let reference = "/../lab/tests/data/disksim/spare_tracks";
    let folder = format!("{}{reference}", env!("CARGO_MANIFEST_DIR"));
    for entry in std::fs::read_dir(&folder).expect("reference timings") {
        let path = entry.expect("a file").path();
        let name = path.file_name().expect("it has a name").to_owned();
        let text = std::fs::read_to_string(&path).expect("a table");
        desk.file(&name.to_string_lossy(), text);
    }
    let own = desk.path("");
    let output = nearslot(&["validate", "disksim", word(&own)]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    // Every completion of a trace comes 4 us later.
    let (table, column) = (desk.path("fcfs_random4k_real.csv"), "completion_ms");
    let text = std::fs::read_to_string(&table).expect("it is there");
    let mut lines = text.lines();
    let heads = lines.next().expect("heads");
    let index = heads.split(',').position(|head| head == column);
    let index = index.expect("it has one");
    let later = |line: &str| {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        let ms: f64 = cells[index].parse().expect("a time");
        cells[index] = format!("{:.6}", ms + 0.004);
        cells.join(",")
    };
    let later: Vec<String> = lines.map(later).collect();
    desk.file(
        "fcfs_random4k_real.csv",
        format!("{heads}\n{}\n", later.join("\n")),
    );
    let output = nearslot(&["validate", "disksim", word(&own)]);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(
        told(&output).contains("beyond the limits"),
        "{}",
        told(&output)
    );
    assert!(
        given(&output).contains("fcfs_random4k_real"),
        "{}",
        given(&output)
    );
}

/// Quantiles rise, and lie within their intervals.
fn check_times(times: &Value) {
    let at = |key: &str| times[key].as_f64().expect("a number");
    assert!(at("p50") <= at("p95"));
    assert!(at("p95") <= at("p99"));
    assert!(at("p99") <= at("max"));
    // Two thousand requests are too few for one in a thousand.
    assert_eq!(times["p999"], Value::Null);
    let tail = times["p99_ci95"]
        .as_array()
        .expect("an interval of the tail");
    assert!(tail[0].as_f64() <= Some(at("p99")));
    assert!(Some(at("p99")) <= tail[1].as_f64());
    let ci = times["ci95"]
        .as_array()
        .expect("enough requests for an interval");
    assert!(ci[0].as_f64() < Some(at("mean")));
    assert!(Some(at("mean")) < ci[1].as_f64());
}

#[test]
fn compare_ranks_and_carries_its_provenance() {
    let desk = Desk::new();
    let trace = desk.trace(2_000);
    let words = [
        "compare",
        word(&trace),
        "--drive",
        "seagate-cheetah-9lp",
        "--sched",
        "fcfs,look,satf",
        "--replay",
        "closed",
        "--depth",
        "16",
        "--format",
        "json",
        "--seed",
        "7",
    ];
    let results = json(&words);
    assert_eq!(results["schema"], 5);
    assert_eq!(results["seed"], 7);
    assert_eq!(results["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(results["build"], BUILD);
    assert_eq!(results["trace"]["hash"].as_str().expect("a hash").len(), 32);
    let runs = results["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 3);
    for run in runs {
        assert_eq!(run["requests"], 2_000);
        assert_eq!(run["pending"], 0);
        assert_eq!(run["replay"], "closed");
        assert_eq!(run["config"]["drive"]["name"], "seagate-cheetah-9lp");
        check_times(&run["response_ms"]);
    }
    let verdict = &results["verdict"];
    assert_eq!(verdict["baseline"], "sched=fcfs");
    let rankings = verdict["rankings"].as_array().expect("rankings");
    assert_eq!(rankings.len(), 1);
    let ranks = rankings[0]["ranks"].as_array().expect("ranks");
    assert_eq!(ranks[0]["choice"], "sched=satf");
    assert_eq!(ranks[0]["against_baseline"]["word"], "faster");
    assert_eq!(ranks[2]["choice"], "sched=fcfs");
    assert_eq!(ranks[1]["against_best"]["word"], "slower");
    let headline = verdict["headline"].as_str().expect("a sentence");
    assert!(headline.starts_with("satf wins: "), "{headline}");
}

#[test]
fn loads_are_never_ranked_against_each_other() {
    let desk = Desk::new();
    let trace = desk.trace(2_000);
    let words = |more: &[&'static str]| {
        let mut words = vec![
            "compare",
            word(&trace),
            "--replay",
            "closed",
            "--vary",
            "depth=1,4,32",
        ];
        words.extend(["--drive", "seagate-cheetah-9lp", "--format", "json"]);
        words.extend(more);
        json(&words)
    };
    let both = words(&["--sched", "satf,fcfs", "--baseline", "fcfs"]);
    let verdict = &both["verdict"];
    let headline = verdict["headline"].as_str().expect("a sentence");
    assert!(
        headline.starts_with("satf wins at every depth above 1: 1."),
        "{headline}"
    );
    assert!(headline.contains("× as fast as fcfs at 4, "), "{headline}");
    assert_eq!(verdict["details"][0], "At depth 1 all choices do the same.");
    let rankings = verdict["rankings"].as_array().expect("rankings");
    assert_eq!(rankings.len(), 3);
    for ranking in rankings {
        let load = ranking["load"].as_str().expect("a label");
        for rank in ranking["ranks"].as_array().expect("ranks") {
            let run = &both["runs"][rank["run"].as_u64().expect("an index") as usize];
            assert_eq!(run["load"], load);
        }
    }
    // One scheduler under three loads: nothing to rank.
    let one = words(&["--sched", "satf"]);
    assert_eq!(
        one["verdict"]["rankings"].as_array().expect("a list").len(),
        0
    );
    let headline = one["verdict"]["headline"].as_str().expect("a sentence");
    assert!(headline.contains("throughput goes from"), "{headline}");
    assert!(!headline.contains("wins"), "{headline}");
}

#[test]
fn the_same_seed_gives_the_same_bits_however_many_at_a_time() {
    let desk = Desk::new();
    let trace = desk.trace(1_500);
    let with_jobs = |jobs: &str| {
        let words = [
            "compare",
            word(&trace),
            "--vary",
            "sched=look,satf",
            "--vary",
            "oracle=exact,noisy",
            "--replay",
            "closed",
            "--format",
            "json",
            "--jobs",
            jobs,
        ];
        steady(json(&words))
    };
    assert_eq!(with_jobs("1"), with_jobs("3"));
}

#[test]
fn the_hash_is_the_traces_whatever_its_format() {
    let desk = Desk::new();
    let trace = desk.trace(300);
    let hash = |path: &std::path::Path| {
        json(&["run", word(path), "--format", "json"])["trace"]["hash"].clone()
    };
    let parquet = desk.path("t.parquet");
    let done = nearslot(&[
        "convert",
        word(&trace),
        "-o",
        word(&parquet),
        "--to",
        "parquet",
    ]);
    assert!(done.status.success(), "{}", told(&done));
    assert_eq!(hash(&trace), hash(&parquet));
}

#[test]
fn standard_input_is_a_trace_like_another() {
    let desk = Desk::new();
    let trace = desk.trace(300);
    let piped = assert_cmd::Command::cargo_bin("nearslot")
        .expect("the command is built")
        .args(["run", "-", "--format", "json"])
        .write_stdin(std::fs::read(&trace).expect("the trace"))
        .output()
        .expect("it runs");
    assert!(piped.status.success(), "{}", told(&piped));
    let piped: Value = serde_json::from_str(&given(&piped)).expect("JSON");
    let read = json(&["run", word(&trace), "--format", "json"]);
    assert_eq!(piped["trace"]["hash"], read["trace"]["hash"]);
    assert_eq!(
        piped["runs"][0]["response_ms"],
        read["runs"][0]["response_ms"]
    );
}

#[test]
fn every_form_of_results_is_written() {
    let desk = Desk::new();
    let trace = desk.trace(400);
    for format in ["table", "json", "csv", "parquet"] {
        let path = desk.path(format);
        let output = nearslot(&[
            "compare",
            word(&trace),
            "--format",
            format,
            "--output",
            word(&path),
        ]);
        assert!(output.status.success(), "{}", told(&output));
        assert!(std::fs::metadata(&path).expect("written").len() > 100);
    }
    let (page, rows) = (desk.path("r.html"), desk.path("r.parquet"));
    let commands = desk.path("c.parquet");
    let output = nearslot(&[
        "compare",
        word(&trace),
        "--html",
        word(&page),
        "--requests",
        word(&rows),
        "--commands",
        word(&commands),
    ]);
    assert!(output.status.success(), "{}", told(&output));
    let page = std::fs::read_to_string(&page).expect("the page");
    assert!(page.contains("sched=satf"));
    assert!(!page.contains("http://fonts"));
    assert!(page.contains("\"profile\":{"), "the trace is described");
    assert!(std::fs::metadata(&rows).expect("written").len() > 1_000);
    assert!(std::fs::metadata(&commands).expect("written").len() > 1_000);
    let table = given(&output);
    for word in ["satf", "open", "desktop-7200-90mb", "seed"] {
        assert!(
            table.contains(word),
            "`{word}` is not in the table:\n{table}"
        );
    }
}

#[test]
fn a_simulated_schedule_can_be_read_back() {
    let desk = Desk::new();
    let trace = desk.trace(200);
    let schedule = desk.path("s.blktrace.0");
    let output = nearslot(&[
        "run",
        word(&trace),
        "--sched",
        "satf",
        "--blktrace",
        word(&schedule),
    ]);
    assert!(output.status.success(), "{}", told(&output));
    let found = json(&["inspect", word(&schedule), "--format", "json"]);
    assert!(found.to_string().contains("200"), "{found}");
    let other = desk.path("other.blktrace.0");
    let two = nearslot(&["compare", word(&trace), "--blktrace", word(&other)]);
    assert_eq!(two.status.code(), Some(2), "{}", told(&two));
    assert!(told(&two).contains("a single run"), "{}", told(&two));
}

#[test]
fn replays_differ_and_say_which_they_are() {
    let desk = Desk::new();
    let trace = desk.trace(500);
    for replay in ["open", "closed", "dependent"] {
        let results = json(&["run", word(&trace), "--replay", replay, "--format", "json"]);
        assert_eq!(results["runs"][0]["replay"], replay);
    }
    let leisurely = json(&["run", word(&trace), "--speed", "0.2", "--format", "json"]);
    let traced = json(&["run", word(&trace), "--format", "json"]);
    let utilisation = |results: &Value| results["runs"][0]["utilisation"].as_f64();
    assert!(utilisation(&leisurely) < utilisation(&traced));
    let first = json(&["run", word(&trace), "--limit", "100", "--format", "json"]);
    assert_eq!(first["runs"][0]["requests"], 100);
}

#[test]
fn synthetic_loads_run_without_a_trace() {
    let results = json(&[
        "compare",
        "--workload",
        "iometer:requests=3000",
        "--vary",
        "depth=1,8",
        "--sched",
        "look,satf",
        "--format",
        "json",
    ]);
    assert_eq!(results["trace"], Value::Null);
    assert_eq!(results["runs"].as_array().map(Vec::len), Some(4));
    assert_eq!(results["warnings"].as_array().map(Vec::len), Some(0));
    assert_eq!(results["drive_chosen"]["name"], "desktop-7200-90mb");
    let loads: Vec<&str> = results["verdict"]["rankings"]
        .as_array()
        .expect("rankings")
        .iter()
        .filter_map(|ranking| ranking["load"].as_str())
        .collect();
    assert_eq!(loads, ["depth=1", "depth=8"]);
}

#[test]
fn a_grid_over_fits_says_so() {
    let desk = Desk::new();
    let trace = desk.trace(100);
    let words = ["compare", word(&trace), "--vary", "fit=wrap,scale"];
    // Nothing is done to addresses on the second one, which has room for all.
    for (drive, fit) in [("hp-c2247a", "varied"), ("seagate-cheetah-9lp", "none")] {
        let drive = ["--drive", drive, "--format", "json"];
        let results = json(&[&words[..], &drive].concat());
        assert_eq!(results["trace"]["fit"], fit);
    }
    let one = [
        "run",
        word(&trace),
        "--fit",
        "wrap",
        "--drive",
        "seagate-cheetah-9lp",
    ];
    let text = given(&nearslot(&one));
    assert!(text.contains("addresses fitted: none"), "{text}");
}

#[test]
fn every_row_has_its_own_seed() {
    let load = [
        "compare",
        "--workload",
        "iometer:requests=300",
        "--sched",
        "fcfs",
    ];
    let grid = ["--drive", "null", "--vary", "seed=3,9"];
    let table = nearslot(&[&load[..], &grid].concat());
    assert!(
        given(&table).contains("seed      3, 9"),
        "{}",
        given(&table)
    );
    let csv = nearslot(&[&load[..], &grid, &["--format", "csv"]].concat());
    let text = given(&csv);
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let column = header.split(',').position(|name| name == "seed").unwrap();
    let seed = |line: &str| line.split(',').nth(column).unwrap().to_owned();
    // No field before it has a comma.
    let mut seeds: Vec<String> = lines.map(seed).collect();
    seeds.sort();
    assert_eq!(seeds, ["3", "9"], "{text}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let (desk, other) = (Desk::new(), Desk::new());
    // That is found out while there is more to write, or at the end of it.
    let (trace, short) = (desk.trace(20_000), other.trace(20));
    for args in [
        &["convert", word(&trace), "--to", "fio", "-o", "-"][..],
        &["convert", word(&short), "--to", "fio", "-o", "-"],
        &["--help"],
        &["run", "--help"],
        &["--version"],
        &["list"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_nearslot"));
        let status = command.args(args).stdout(writer).status().unwrap();
        assert_eq!(status.code(), Some(0), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_new_file_that_has_no_room_is_a_failure() {
    for count in [20, 20_000] {
        let desk = Desk::new();
        let trace = desk.trace(count);
        for format in ["fio", "blktrace"] {
            let words = ["convert", word(&trace), "--to", format, "-o", "/dev/full"];
            let output = nearslot(&words);
            assert_eq!(output.status.code(), Some(3), "{format}: {}", told(&output));
            assert!(told(&output).contains("/dev/full: "), "{}", told(&output));
        }
    }
}
