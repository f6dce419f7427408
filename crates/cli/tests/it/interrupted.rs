//! What is left when a command is told to end before it is done: by Ctrl-C, by a batch system, by a
//! closed terminal.
#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Desk, given, told, word};
use serde_json::Value;

/// A command that would go on for hours, and takes signals by now.
fn started(before: &str, words: &[&str]) -> Child {
    started_on(Stdio::inherit(), before, words)
}

/// The same with this standard input.
fn started_on(input: Stdio, before: &str, words: &[&str]) -> Child {
    let program = assert_cmd::cargo::cargo_bin("nearslot");
    let script = format!("{before} exec {} \"$@\"", word(&program));
    // Whatever started the tests may ignore signals: nohup does, and shells do so for what they run
    // in the background.
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", "sh", "-c", &script, "sh"]);
    command.args(words);
    command.stdin(input);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the command starts");
    wait_until("it takes signals", || catches(child.id(), 15));
    child
}

/// Waits until something is so, a minute at most.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(60), "never {what}");
        sleep(Duration::from_millis(20));
    }
}

/// Waits until a command has had so much processor time: on a busy machine the clock does not tell
/// what it has done.
fn let_work(child: &Child, time: Duration) {
    wait_until("it works", || processor_time(child.id()) >= time);
}

/// Processor time that a process has had.
fn processor_time(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind the name in parentheses, which may hold anything, user and system time are the 12th
    // and 13th field, in ticks of 10 ms.
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = fields.split(' ').skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

/// Whether a process has a handler for this signal.
fn catches(process: u32, signal: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.map(|mask| u64::from_str_radix(mask.trim(), 16).expect("a mask"));
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn send(child: &Child, signal: &str) {
    let words = [
        "-c",
        "kill -\"$1\" \"$2\"",
        "sh",
        signal,
        &child.id().to_string(),
    ];
    let sent = Command::new("sh").args(words).status().expect("a shell");
    assert!(sent.success());
}

fn ended(child: Child) -> Output {
    child.wait_with_output().expect("it ends")
}

const ENDLESS: [&str; 5] = [
    "--workload",
    "iometer:requests=100000000",
    "--warmup",
    "10",
    "--format=json",
];

#[test]
fn a_single_run_keeps_what_it_has_measured() {
    for signal in ["TERM", "INT", "HUP"] {
        let desk = Desk::new();
        let (rows, schedule) = (desk.path("rows.parquet"), desk.path("s.blktrace.0"));
        let files = ["--requests", word(&rows), "--blktrace", word(&schedule)];
        let child = started("", &[&["run"], &ENDLESS[..], &files].concat());
        let_work(&child, Duration::from_millis(500));
        send(&child, signal);
        let output = ended(child);
        assert_eq!(output.status.code(), Some(4), "{signal}: {}", told(&output));
        let results: Value = serde_json::from_str(&given(&output)).expect("JSON");
        let run = &results["runs"][0];
        let count = |key: &str| run[key].as_u64().expect("a count");
        assert!(count("pending") > 0, "{run}");
        assert!(count("requests") > 100, "{run}");
        assert_eq!(count("warmup_requests"), 10);
        assert_eq!(run["response_ms"]["ci95"], Value::Null);
        assert!(run["response_ms"]["mean"].as_f64() > Some(0.1));
        let warning = results["warnings"][0]["text"].as_str().expect("a warning");
        assert!(
            warning.contains("of 100000000 requests were answered"),
            "{warning}"
        );
        assert!(told(&output).contains("interrupted"), "{}", told(&output));
        // The files are of the requests that were answered, no more and no less.
        let of_file = crate::common::nearslot(&["inspect", word(&schedule), "--format", "json"]);
        let of_file: Value = serde_json::from_str(&given(&of_file)).expect("JSON");
        assert_eq!(of_file["requests"].as_u64(), Some(count("requests")));
        assert!(rows.is_file());
    }
}

#[test]
fn a_comparison_keeps_the_runs_that_were_finished() {
    let vary = [
        "--vary",
        "requests=200,100000000",
        "--sched",
        "fcfs",
        "--jobs",
        "1",
    ];
    // Without its number of requests, which is varied.
    let load = ["compare", "--workload", "iometer"];
    let child = started("", &[&load, &ENDLESS[2..], &vary].concat());
    let_work(&child, Duration::from_millis(500));
    send(&child, "TERM");
    let output = ended(child);
    assert_eq!(output.status.code(), Some(4), "{}", told(&output));
    let results: Value = serde_json::from_str(&given(&output)).expect("JSON");
    assert_eq!(results["runs"].as_array().map(Vec::len), Some(1));
    assert_eq!(results["runs_planned"], 2);
    assert_eq!(results["runs"][0]["pending"], 0);
}

#[test]
fn a_search_keeps_what_was_found() {
    let words = [
        "capacity",
        "--workload",
        "poisson:requests=200000",
        "--slo",
        "mean < 20 ms",
        "--resolution",
        "0.1%",
        "--format=json",
    ];
    let child = started("", &words);
    let_work(&child, Duration::from_secs(4));
    send(&child, "TERM");
    let output = ended(child);
    assert_eq!(output.status.code(), Some(4), "{}", told(&output));
    assert!(
        told(&output).contains("interrupted: what "),
        "{}",
        told(&output)
    );
    let found: Value = serde_json::from_str(&given(&output)).expect("JSON");
    assert_eq!(found["complete"], false);
    let details = found["details"].to_string();
    assert!(details.contains("The search was interrupted"), "{details}");
}

/// Miss ratios of a trace without an end, told to stop after some work.
fn hit_rates_stopped(size: &str) -> Output {
    let words = ["hitrate", "-", "--cache", "lru,arc", "--size", size];
    let words = [&words[..], &["--format", "json"]].concat();
    let mut child = started_on(Stdio::piped(), "", &words);
    let mut input = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || {
        let mut rows = "time_us,lba,blocks,op\n".to_owned();
        for number in 0_u64.. {
            rows += &format!("{number},{},8,R\n", number.pow(2) % 7_919 * 8);
            // Until nobody reads any more.
            if rows.len() > 1 << 16 && input.write_all(rows.as_bytes()).is_err() {
                return;
            }
            if rows.len() > 1 << 16 {
                rows.clear();
            }
        }
    });
    let_work(&child, Duration::from_millis(1_500));
    send(&child, "TERM");
    let output = ended(child);
    writer.join().expect("it wrote");
    assert_eq!(output.status.code(), Some(4), "{}", told(&output));
    output
}

#[test]
fn miss_ratios_of_what_was_read_are_kept() {
    let output = hit_rates_stopped("1000lines,1MiB");
    let found: Value = serde_json::from_str(&given(&output)).expect("JSON");
    assert_eq!(found["rows"].as_array().map(Vec::len), Some(4));
    assert_eq!(found["complete"], false);
    assert_eq!(found["warnings"][0]["kind"], "interrupted");
    assert!(found["requests"].as_u64() > Some(1_000), "{found}");
    let said = told(&output);
    assert!(said.contains("interrupted: the 4 miss ratios"), "{said}");
}

#[test]
fn nothing_is_kept_of_shares_of_a_trace_that_was_not_read() {
    let output = hit_rates_stopped("1%");
    assert!(output.stdout.is_empty());
    let said = told(&output);
    assert!(
        said.contains("interrupted, and nothing is written"),
        "{said}"
    );
}

#[test]
fn nothing_is_kept_of_a_run_in_its_warm_up() {
    let words = [
        "run",
        "--workload",
        "iometer:requests=100000000",
        "--warmup",
        "99999999",
    ];
    let desk = Desk::new();
    let [page, rows] = ["page.html", "rows.parquet"].map(|name| desk.path(name));
    let files = ["--html", word(&page), "--requests", word(&rows)];
    let child = started("", &[&words[..], &files, &["--format", "json"]].concat());
    let_work(&child, Duration::from_millis(300));
    send(&child, "TERM");
    let output = ended(child);
    assert_eq!(output.status.code(), Some(4), "{}", told(&output));
    let said = told(&output);
    assert!(
        said.contains("interrupted, and nothing is written: the run had measured nothing"),
        "{said}"
    );
    assert!(output.stdout.is_empty(), "{}", given(&output));
    assert!(desk.names().is_empty(), "{:?}", desk.names());
}

/// Of the runs of a comparison none is finished, whatever they have measured: to write that would
/// be to write nothing.
#[test]
fn nothing_is_kept_of_a_comparison_of_which_no_run_was_finished() {
    let desk = Desk::new();
    let files = [desk.path("rows.json"), desk.path("page.html")];
    let [rows, page] = [word(&files[0]), word(&files[1])];
    let words = [
        &["compare"],
        &ENDLESS[..4],
        &["--sched", "fcfs,satf", "-o", rows, "--html", page],
    ];
    let child = started("", &words.concat());
    let_work(&child, Duration::from_millis(500));
    send(&child, "TERM");
    let output = ended(child);
    assert_eq!(output.status.code(), Some(4), "{}", told(&output));
    assert!(
        told(&output).contains("interrupted, and nothing is written"),
        "{}",
        told(&output)
    );
    assert!(desk.names().is_empty(), "{:?}", desk.names());
}

/// Words of each command that reads a trace, here from standard input, with files that it is to
/// write.
fn reading(files: &[std::path::PathBuf; 3]) -> Vec<Vec<&str>> {
    let [table, page, own] = files.each_ref().map(|path| word(path));
    let drive = ["--drive", "hp-c2247a"];
    let two = ["-o", table, "--html", page];
    vec![
        [&["run", "-"][..], &drive, &two].concat(),
        [&["compare", "-"][..], &drive, &two].concat(),
        [&["capacity", "-", "--slo", "mean < 1 ms"][..], &drive, &two].concat(),
        [
            &["hitrate", "-", "--cache", "lru", "--size", "1MiB"][..],
            &two,
        ]
        .concat(),
        vec!["inspect", "-", "--html", page],
        vec!["convert", "-", "--to", "fio", "-o", own],
        vec!["calibrate", "-", "--as", "empirical", "-o", own],
    ]
}

/// Where nothing is known yet there is nothing to keep, and a command that waits for its input does
/// not go on to wait.
#[test]
fn a_command_that_reads_its_trace_ends_at_once_and_leaves_no_file() {
    let desk = Desk::new();
    let files = ["table.txt", "page.html", "own.toml"].map(|name| desk.path(name));
    let folder = format!("export TMPDIR={};", word(&desk.path("")));
    for words in reading(&files) {
        for signal in ["TERM", "INT"] {
            let mut child = started_on(Stdio::piped(), &folder, &words);
            let input = child.stdin.take().expect("a pipe");
            sleep(Duration::from_millis(100));
            let since = Instant::now();
            send(&child, signal);
            let output = ended(child);
            drop(input);
            let said = told(&output);
            assert_eq!(output.status.code(), Some(4), "{words:?}: {said}");
            assert!(
                said.contains("interrupted, and nothing is written"),
                "{words:?}: {said}"
            );
            assert!(output.stdout.is_empty(), "{words:?}");
            assert!(desk.names().is_empty(), "{words:?}: {:?}", desk.names());
            assert!(since.elapsed() < Duration::from_secs(20), "{words:?}");
        }
    }
}

/// A map of a hundred million slots takes a while, of which nothing can be kept.
#[test]
fn a_map_that_is_being_made_is_given_up() {
    let load = [
        "--workload",
        "iometer:read_share=0:requests=100",
        "--warmup",
        "0",
    ];
    let drive = ["--drive", "desktop-7200-90mb"];
    for place in ["eager", "ew_array:dm=1"] {
        let words = [&["run"], &load[..], &drive, &["--place", place]].concat();
        let child = started("", &words);
        let_work(&child, Duration::from_millis(500));
        send(&child, "TERM");
        let since = Instant::now();
        let output = ended(child);
        assert_eq!(output.status.code(), Some(4), "{}", told(&output));
        assert!(
            since.elapsed() < Duration::from_secs(10),
            "{:?}",
            since.elapsed()
        );
    }
    // The other run was finished before, and is kept.
    let pair = ["--place", "linear,eager", "--jobs", "1", "--format", "json"];
    let child = started("", &[&["compare"], &load[..], &drive, &pair].concat());
    let_work(&child, Duration::from_millis(1_500));
    send(&child, "TERM");
    let since = Instant::now();
    let output = ended(child);
    assert!(
        since.elapsed() < Duration::from_secs(20),
        "{:?}",
        since.elapsed()
    );
    let said = told(&output);
    assert!(
        said.contains("1 of 2 runs was finished and written"),
        "{said}"
    );
    let results: Value = serde_json::from_str(&given(&output)).expect("JSON");
    assert_eq!(results["runs"][0]["config"]["place"]["name"], "linear");
}

/// A probe of a file that reads for an hour; its exit code and what it said, when it was told to
/// stop after a time.
fn probe_stopped(desk: &Desk, after: Duration, own: &Path) -> (Option<i32>, String) {
    // Beside what was built, as a temporary folder may refuse reads past the page cache.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let probed = tempfile::NamedTempFile::new_in(folder).expect("a file");
    probed
        .as_file()
        .set_len(80 << 20)
        .expect("80 MiB of nothing");
    let words = [
        "calibrate",
        "--as",
        "empirical",
        "--probe",
        word(probed.path()),
    ];
    let bounds = [
        "--probe-reads",
        "1000000",
        "--probe-seconds",
        "86400",
        "-o",
        word(own),
    ];
    let child = started("", &[&words[..], &bounds].concat());
    sleep(after);
    send(&child, "TERM");
    let output = ended(child);
    let left = std::fs::read_dir(desk.path(""))
        .expect("the folder")
        .count();
    assert_eq!(
        left,
        usize::from(own.exists()),
        "nothing else is left there"
    );
    (output.status.code(), told(&output))
}

#[test]
fn a_probe_keeps_what_it_has_timed() {
    let desk = Desk::new();
    let own = desk.path("own.toml");
    let (code, said) = probe_stopped(&desk, Duration::from_secs(4), &own);
    assert_eq!(code, Some(4), "{said}");
    assert!(
        said.contains("interrupted: the drive is made of the "),
        "{said}"
    );
    let text = std::fs::read_to_string(&own).expect("the drive's file");
    assert!(text.contains(" of 1000000 reads"), "{text}");
    let run = crate::common::nearslot(&[
        "run",
        "--workload",
        "iometer:requests=200",
        "--drive",
        word(&own),
    ]);
    assert!(run.status.success(), "{}", told(&run));
}

#[test]
fn a_probe_that_timed_too_little_says_that_nothing_is_written() {
    let desk = Desk::new();
    let own = desk.path("own.toml");
    let (code, said) = probe_stopped(&desk, Duration::ZERO, &own);
    assert_eq!(code, Some(4), "{said}");
    assert!(
        said.contains("interrupted, and nothing is written"),
        "{said}"
    );
    assert!(!own.exists());
}

#[test]
fn a_second_signal_ends_at_once() {
    let child = started("", &[&["run"], &ENDLESS[..]].concat());
    send(&child, "TERM");
    send(&child, "TERM");
    let code = ended(child).status.code();
    // The first may have been enough before the second came.
    assert!(code == Some(130) || code == Some(4), "{code:?}");
}

/// Its simulations go on while it reads, so the first signal asks it to end, which it cannot hear
/// while nothing comes.
#[test]
fn a_second_signal_leaves_no_file() {
    let desk = Desk::new();
    let (table, page) = (desk.path("table.txt"), desk.path("page.html"));
    let words = [
        "hitrate",
        "-",
        "--cache",
        "lru",
        "--size",
        "1MiB",
        "-o",
        word(&table),
        "--html",
        word(&page),
    ];
    let mut child = started_on(Stdio::piped(), "", &words);
    let mut input = child.stdin.take().expect("a pipe");
    let mut rows = "time_us,lba,blocks,op\n".to_owned();
    for number in 0_u64..200_000 {
        rows += &format!("{},{},8,R\n", number * 1_000, number * 8);
    }
    input.write_all(rows.as_bytes()).expect("it reads");
    input.flush().expect("it reads");
    wait_until("its files are there", || desk.names().len() == 2);
    let_work(&child, Duration::from_millis(50));
    sleep(Duration::from_millis(500));
    send(&child, "TERM");
    sleep(Duration::from_millis(200));
    send(&child, "TERM");
    assert_eq!(ended(child).status.code(), Some(130));
    drop(input);
    assert!(desk.names().is_empty(), "{:?}", desk.names());
}

#[test]
fn under_nohup_a_closed_terminal_stops_nothing() {
    let mut child = started("trap '' HUP;", &[&["run"], &ENDLESS[..]].concat());
    send(&child, "HUP");
    sleep(Duration::from_millis(500));
    assert!(child.try_wait().expect("its state").is_none(), "it goes on");
    send(&child, "TERM");
    assert_eq!(ended(child).status.code(), Some(4));
}

/// A decision among so many places takes tens of milliseconds, and it is not waited for thousands
/// of them.
#[test]
fn a_scheduler_that_is_slow_to_decide_ends_soon() {
    let load = "ranges:within=span:span_blocks=100000:depth=4";
    let words = [
        "run",
        "--workload",
        load,
        "--drive",
        "hp-c2247a",
        "--sched",
        "expand",
    ];
    let child = started("", &words);
    let_work(&child, Duration::from_millis(500));
    send(&child, "TERM");
    let since = Instant::now();
    ended(child);
    assert!(
        since.elapsed() < Duration::from_secs(30),
        "{:?}",
        since.elapsed()
    );
}

#[test]
fn transactions_and_hosts_say_how_far_they_came() {
    for (load, unit) in [
        (
            "tpcb:transactions=1000000000",
            " of 1,000,000,000 transactions.",
        ),
        (
            "host:beside=1r1w-rand:seconds=1000000:memory=64MiB",
            " of 1,000,000 seconds.",
        ),
        // How many requests that takes nobody knows before.
        ("filesystem:files=200000:processes=4", " requests."),
    ] {
        let words = ["run", "--workload", load, "--drive", "desktop-7200-90mb"];
        let child = started("", &[&words[..], &["--format", "json"]].concat());
        let_work(&child, Duration::from_millis(500));
        send(&child, "INT");
        let output = ended(child);
        let found: Value = serde_json::from_str(&given(&output)).expect("results");
        let headline = found["verdict"]["headline"].as_str().expect("a headline");
        let came = headline.split(" Interrupted after ").nth(1);
        let came = came.and_then(|came| came.strip_suffix(unit));
        let is_number = |came: &str| {
            !came.is_empty() && came.chars().all(|one| one.is_ascii_digit() || one == ',')
        };
        assert!(came.is_some_and(is_number), "{load}: {headline}");
    }
}
