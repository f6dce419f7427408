//! Everything that can be wrong with what a user gives: a clear error, the right exit code, no
//! panic.

use std::process::Output;

use crate::common::{Desk, given, nearslot, told, word};

/// Asserts an exit code and what standard error must contain; and that nothing panicked.
fn refused(output: &Output, code: i32, words: &[&str]) {
    let told = told(output);
    assert_eq!(output.status.code(), Some(code), "{told}");
    for word in words {
        assert!(told.contains(word), "`{word}` is not in: {told}");
    }
    assert!(!told.contains("panicked"), "{told}");
}

#[test]
fn an_empty_trace_is_refused() {
    let desk = Desk::new();
    let path = desk.file("empty", "");
    for command in ["inspect", "compare"] {
        refused(&nearslot(&[command, word(&path)]), 3, &["empty"]);
    }
}

#[test]
fn garbage_is_refused_with_what_was_tried() {
    let desk = Desk::new();
    let bytes: Vec<u8> = (0..9_001_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    refused(
        &nearslot(&["inspect", word(&desk.file("garbage", bytes))]),
        3,
        &["garbage"],
    );
    let text = desk.file("prose", "it was a dark night\nand stormy\n");
    refused(&nearslot(&["inspect", word(&text)]), 3, &["prose"]);
}

#[test]
fn a_missing_file_is_named() {
    refused(
        &nearslot(&["inspect", "/nowhere/at.all"]),
        3,
        &["/nowhere/at.all"],
    );
    refused(
        &nearslot(&["run", "/nowhere/scenario.toml"]),
        3,
        &["/nowhere/scenario.toml"],
    );
}

#[test]
fn a_truncated_trace_is_read_as_far_as_it_goes_and_says_so() {
    let desk = Desk::new();
    let whole = desk.trace(50);
    let out = desk.path("t.blktrace.0");
    let done = nearslot(&[
        "convert",
        word(&whole),
        "-o",
        word(&out),
        "--to",
        "blktrace",
    ]);
    assert!(done.status.success(), "{}", told(&done));
    let mut bytes = std::fs::read(&out).unwrap();
    bytes.truncate(bytes.len() - 20);
    let cut = desk.file("cut.blktrace.0", bytes);
    let output = nearslot(&["inspect", word(&cut)]);
    assert!(output.status.success(), "{}", told(&output));
    assert!(
        given(&output).to_lowercase().contains("truncated"),
        "{}",
        given(&output)
    );
}

#[test]
fn a_mixed_device_trace_lists_its_devices() {
    let desk = Desk::new();
    let text = "time_us,dev,lba,blocks,op\n0,sda,0,8,R\n10,sdb,8,8,W\n20,sda,16,8,R\n";
    let path = desk.file("mixed.csv", text);
    let output = nearslot(&["compare", word(&path)]);
    refused(
        &output,
        3,
        &["--device", "sda (2 requests)", "sdb (1 requests)"],
    );
    let named = nearslot(&["compare", word(&path), "--device", "sda", "--warmup", "0"]);
    assert!(named.status.success(), "{}", told(&named));
    refused(
        &nearslot(&["compare", word(&path), "--device", "sdc"]),
        3,
        &["sdc", "sda", "sdb"],
    );
}

#[test]
fn addresses_beyond_the_drive_offer_a_fit() {
    let desk = Desk::new();
    let text = "time_us,dev,lba,blocks,op\n0,0,0,8,R\n9000,0,99000000,8,R\n";
    let path = desk.file("far.csv", text);
    let small = ["run", word(&path), "--drive", "seagate-cheetah-9lp"];
    refused(
        &nearslot(&small),
        3,
        &["50688004", "--fit", "wrap", "scale", "truncate"],
    );
    for fit in ["wrap", "scale", "truncate"] {
        let output = nearslot(&[&small[..], &["--fit", fit, "--warmup", "0"]].concat());
        assert!(output.status.success(), "{fit}: {}", told(&output));
    }
}

#[test]
fn names_that_do_not_exist_suggest_the_nearest() {
    let desk = Desk::new();
    let trace = desk.trace(20);
    let trace = word(&trace);
    refused(
        &nearslot(&["compare", trace, "--sched", "look,saft"]),
        2,
        &["saft", "did you mean `satf`"],
    );
    refused(
        &nearslot(&["compare", trace, "--drive", "seagate-cheetah-9pl"]),
        2,
        &["cheetah-9lp`"],
    );
    refused(
        &nearslot(&["compare", trace, "--oracle", "exakt"]),
        2,
        &["`exact`"],
    );
    refused(
        &nearslot(&["compare", trace, "--vary", "dept=1,2"]),
        2,
        &["`depth`"],
    );
    refused(&nearslot(&["show", "lok"]), 2, &["`look`"]);
    let nothing = told(&nearslot(&["show", "nothing"]));
    let names = nothing.split("one of ").nth(1).expect("it lists all");
    let names: Vec<&str> = names.trim_end().trim_end_matches(')').split(", ").collect();
    let once: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    assert!(once.contains("none"), "{nothing}");
    assert_eq!(once.len(), names.len(), "{nothing}");
    refused(&nearslot(&["list", "shedulers"]), 2, &["`schedulers`"]);
    refused(
        &nearslot(&["inspect", trace, "--trace-format", "blktrase"]),
        2,
        &["blktrase"],
    );
}

#[test]
fn a_replay_that_outlasts_virtual_time_is_refused() {
    let desk = Desk::new();
    let month = desk.file(
        "month.csv",
        "time_us,dev,lba,blocks,op\n0,0,0,8,R\n2678400000000,0,8,8,R\n",
    );
    let trace = word(&month);
    let words = ["speed = 0.000000001", "at least 5.808e-4", "146 years"];
    for replay in ["open", "dependent"] {
        let output = nearslot(&["run", trace, "--replay", replay, "--speed", "1e-9"]);
        refused(&output, 2, &words);
    }
    let slowest = nearslot(&["run", trace, "--speed", "5.81e-4"]);
    assert!(slowest.status.success(), "{}", told(&slowest));
}

#[test]
fn knobs_are_checked_before_anything_runs() {
    let desk = Desk::new();
    let trace = desk.trace(20);
    let trace = word(&trace);
    let sched = |part: &str| nearslot(&["run", trace, "--sched", part]);
    refused(
        &sched("mq-deadline:read_expire=5"),
        2,
        &["read_expire", "read_expire_ms"],
    );
    refused(
        &sched("mq-deadline:fifo_batch=0"),
        2,
        &["fifo_batch", "0", "from 1"],
    );
    refused(&sched("vscan:r=2"), 2, &["vscan.r", "2"]);
    refused(
        &nearslot(&["run", trace, "--depth", "0"]),
        2,
        &["depth", "0"],
    );
    // A thread each: so many brought a machine to a standstill.
    refused(
        &nearslot(&["compare", trace, "--jobs", "100000"]),
        2,
        &["jobs", "100000", "from 1 to 1024"],
    );
    refused(
        &nearslot(&["run", trace, "--refill", "before"]),
        2,
        &["refill", "before", "open", "closed"],
    );
    refused(
        &nearslot(&["run", trace, "--replay=closed", "--refill=befor"]),
        2,
        &["refill", "befor", "did you mean `before`"],
    );
    refused(
        &nearslot(&["run", trace, "--speed=-1"]),
        2,
        &["speed", "-1"],
    );
    refused(
        &nearslot(&["run", trace, "--warmup", "many"]),
        2,
        &["warmup", "many"],
    );
    refused(
        &nearslot(&["run", trace, "--warmup", "20"]),
        2,
        &["warmup", "20"],
    );
    refused(
        &nearslot(&["run", trace, "--format", "xml"]),
        2,
        &["xml", "json"],
    );
}

#[test]
fn a_scenario_with_a_mistake_names_it() {
    let desk = Desk::new();
    desk.trace(20);
    let scenario = |text: &str| nearslot(&["run", word(&desk.file("s.toml", text))]);
    let unknown = scenario("schde = 'look'\n[trace]\nfiles = ['trace.csv']");
    refused(&unknown, 3, &["s.toml", "schde", "did you mean `sched`"]);
    let range = scenario("[trace]\nfiles = ['trace.csv']\nreplay = 'closed'\ndepth = 0");
    refused(&range, 3, &["depth", "0"]);
    let knob = scenario("sched = { name = 'vscan', r = 7 }\n[trace]\nfiles = ['trace.csv']");
    refused(&knob, 3, &["vscan.r", "7"]);
    refused(&scenario("sched = ["), 3, &["s.toml", "line 1"]);
    refused(&scenario("seed = 1"), 3, &["[trace]", "[workload]"]);
    let good = scenario("sched = 'look'\nwarmup = 0\n[trace]\nfiles = ['trace.csv']");
    assert!(good.status.success(), "{}", told(&good));
}

#[test]
fn a_drive_file_with_a_mistake_names_it() {
    let desk = Desk::new();
    let trace = desk.trace(20);
    let shown = given(&nearslot(&[
        "show",
        "seagate-cheetah-9lp",
        "--format",
        "json",
    ]));
    let card: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let text = card["text"].as_str().unwrap();
    let run = |text: String| {
        nearslot(&[
            "run",
            word(&trace),
            "--drive",
            word(&desk.file("drive.toml", text)),
            "--warmup",
            "0",
        ])
    };
    let good = run(text.to_owned());
    assert!(good.status.success(), "{}", told(&good));
    refused(&run(text.replace("rpm =", "rmp =")), 3, &["rmp", "rpm"]);
    refused(
        &run(text.replace("rpm = 10045", "rpm = -3")),
        3,
        &["rpm", "-3"],
    );
    refused(&run(format!("{text}\nnonsense")), 3, &["drive.toml"]);
    refused(
        &nearslot(&["run", word(&trace), "--drive", "/no/such.toml"]),
        3,
        &["/no/such.toml"],
    );
}

#[test]
fn zero_length_and_huge_requests_are_counted_not_lost() {
    let desk = Desk::new();
    let text = "time_us,dev,lba,blocks,op\n0,0,0,0,R\n10,0,8,8,R\n20,0,64,2000000,W\n";
    let path = desk.file("odd.csv", text);
    let output = nearslot(&["inspect", word(&path)]);
    assert!(output.status.success(), "{}", told(&output));
    let found = given(&output).to_lowercase();
    assert!(
        found.contains("no bytes") || found.contains("zero"),
        "{found}"
    );
    assert!(
        found.contains("64 mib") || found.contains("oversized"),
        "{found}"
    );
    let run = nearslot(&["run", word(&path), "--warmup", "0", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&given(&run)).unwrap();
    assert_eq!(json["runs"][0]["requests"], 2);
}

#[test]
fn a_full_disk_is_an_error_not_a_panic() {
    let desk = Desk::new();
    let trace = desk.trace(200);
    for option in ["--output", "--html", "--requests", "--blktrace"] {
        let output = nearslot(&["run", word(&trace), option, "/dev/full"]);
        refused(&output, 3, &["/dev/full"]);
    }
    let output = nearslot(&["run", word(&trace), "--output", "/no/folder/results.json"]);
    refused(&output, 3, &["/no/folder/results.json"]);
}

#[test]
fn usage_mistakes_exit_with_2() {
    refused(&nearslot(&["compare"]), 2, &["nothing to run"]);
    refused(&nearslot(&["frobnicate"]), 2, &["frobnicate"]);
    refused(&nearslot(&["inspect"]), 2, &["FILE"]);
    refused(
        &nearslot(&["convert", "a", "-o", "b", "--to", "docx"]),
        2,
        &["docx", "parquet"],
    );
}

/// Three million requests at many times what the drive can do: said before any of them is
/// simulated.
#[test]
fn a_long_overload_is_refused_before_it_is_simulated() {
    let words = [
        "run",
        "--workload",
        "poisson:rate_rps=4000:requests=3000000",
        "--drive",
        "hp-c2247a",
    ];
    let told = [
        "the load offers",
        "what the drives can do",
        "the queue grows by about",
        "Nothing was simulated",
        "--overload run",
    ];
    refused(&nearslot(&words), 3, &told);
    let short = [
        "run",
        "--workload",
        "poisson:rate_rps=4000:requests=3000",
        "--drive",
        "hp-c2247a",
    ];
    let output = nearslot(&short);
    assert!(output.status.success(), "{}", crate::common::told(&output));
    // On standard error at once, and in the results.
    for text in [crate::common::told(&output), given(&output)] {
        assert!(text.contains("the load offers"), "{text}");
    }
    refused(
        &nearslot(&["run", "--workload", "poisson", "--overload", "walk"]),
        2,
        &["walk", "stop, run"],
    );
}

#[test]
fn a_guess_where_nothing_is_to_be_guessed_is_refused() {
    let desk = Desk::new();
    let rows = (0..50).map(|row| format!("{},R,{},4096,900\n", row * 5_000, row * 81_920));
    let rows: String = rows.collect();
    let head = "time_us,op,offset,length,latency_us";
    let told = desk.file("told.csv", format!("{head}\n{rows}"));
    let dependent = ["compare", word(&told), "--replay", "dependent"];
    let guess = ["--vary", "service_guess_us=1,2"];
    let why = ["service_guess_us = 1", "does not tell all response times"];
    refused(&nearslot(&[&dependent[..], &guess].concat()), 2, &why);
    let output = nearslot(&[&dependent[..], &["--drive", "null"]].concat());
    assert!(output.status.success(), "{}", crate::common::told(&output));
}

#[test]
fn an_option_without_effect_is_refused() {
    let desk = Desk::new();
    let path = desk.trace(50);
    let trace = word(&path);
    let scenario = desk.file(
        "closed.toml",
        format!("[trace]\nfiles = ['{trace}']\nreplay = 'closed'\nspeed = 2.0\n"),
    );
    let cases: [(&[&str], i32, &[&str]); 7] = [
        (
            &["run", trace, "--depth", "8"],
            2,
            &["depth = 8", "replay = closed"],
        ),
        (
            &["compare", trace, "--vary", "depth=1,8"],
            2,
            &["depth = 1", "replay = closed"],
        ),
        (
            &["run", trace, "--replay", "closed", "--speed", "2"],
            2,
            &["speed = 2", "open or dependent"],
        ),
        (
            &["run", word(&scenario)],
            3,
            &["closed.toml", "speed = 2", "open or dependent"],
        ),
        (
            &["compare", trace, "--vary", "service_guess_us=1,2"],
            2,
            &["service_guess_us = 1", "dependent"],
        ),
        (
            &["run", trace, "--oracle", "noisy"],
            2,
            &["oracle = noisy", "fcfs"],
        ),
        (
            &["run", "--workload", "iometer", "--limit", "10"],
            2,
            &["--limit", "iometer"],
        ),
    ];
    for (words, code, told) in cases {
        refused(&nearslot(words), code, told);
    }
}

#[test]
fn a_baseline_that_is_no_choice_of_the_grid_is_refused() {
    let desk = Desk::new();
    let path = desk.trace(50);
    let compare = |sched, baseline| {
        let words = [
            "compare",
            word(&path),
            "--sched",
            sched,
            "--baseline",
            baseline,
        ];
        nearslot(&words)
    };
    let told = ["baseline = look", "sched=fcfs, sched=satf"];
    refused(&compare("fcfs,satf", "look"), 2, &told);
    refused(
        &compare("fcfs", "fcfs"),
        2,
        &["baseline = fcfs", "one choice"],
    );
}

#[test]
fn messages_of_settings_say_what_is_allowed_and_what_would_do() {
    let desk = Desk::new();
    let trace = desk.trace(20);
    let cases = [
        (
            "--seed",
            "-1",
            "seed = -1 (allowed: a whole number from 0 to 18446744073709551615)",
        ),
        (
            "--speed",
            "0.5,1",
            "compare takes several: --vary speed=0.5,1",
        ),
        ("--sched", "fcfs,satf", "--vary sched=fcfs,satf"),
        ("--speed", "1e300", "speed = 1e300 (allowed: 1e-9 to 1e9)"),
        (
            "--place",
            "stripe:disks=4,foo=7",
            "between settings stands a colon",
        ),
        ("--sched", "foo", "unknown scheduler `foo` (allowed"),
    ];
    for (option, value, part) in cases {
        refused(&nearslot(&["run", word(&trace), option, value]), 2, &[part]);
    }
}

#[test]
fn messages_of_commands_say_what_is_allowed_and_what_would_do() {
    let desk = Desk::new();
    let trace = desk.trace(20);
    let trace = word(&trace);
    let drive = desk.file("mine.toml", "kind = \"hdd\"\nrpm = 7200\n");
    refused(
        &nearslot(&["run", word(&drive)]),
        3,
        &["which --drive takes"],
    );
    let twice = nearslot(&[
        "compare",
        trace,
        "--vary",
        "sched=fcfs,satf",
        "--sched",
        "look",
    ]);
    refused(&twice, 2, &["--sched = look", "--vary sched=fcfs,satf"]);
    let unknown = nearslot(&["convert", trace, "-o", "x", "--to", "xyz"]);
    refused(
        &unknown,
        2,
        &["nearslot: unknown format to write `xyz`", "fio"],
    );
    let capacity = nearslot(&["calibrate", trace, "--capacity", "-10"]);
    refused(&capacity, 2, &["'-10'", "a whole number from 1 to"]);
    let reads = nearslot(&["calibrate", "--probe", trace, "--probe-reads", "-1"]);
    refused(&reads, 2, &["'-1'", "from 3000 to 1000000"]);
    let synthetic = [
        "run",
        "--workload",
        "poisson:rate_rps=0.001:requests=20000000",
    ];
    refused(
        &nearslot(&synthetic),
        2,
        &["poisson.rate_rps = 0.001", "146 years"],
    );
}

#[test]
fn an_option_beside_a_vary_of_its_key_is_refused() {
    let desk = Desk::new();
    let path = desk.trace(50);
    let trace = word(&path);
    for (load, option, vary) in [
        (
            &[trace, "--replay", "closed"][..],
            ["--depth", "8"],
            "depth=1,2",
        ),
        (
            &[trace],
            ["--drive", "no-such-drive"],
            "drive=hp-c2247a,null",
        ),
        (&[trace], ["--place", "stripe:disks=4"], "place.disks=2,3"),
        (&[], ["--workload", "iometer:depth=4"], "workload.depth=1,2"),
    ] {
        let words = [&["compare"], load, &option, &["--vary", vary]].concat();
        refused(&nearslot(&words), 2, &[vary, "which varies the same key"]);
    }
    let words = [
        "capacity",
        trace,
        "--slo",
        "mean < 20 ms",
        "--drive",
        "null",
    ];
    let words = [&words[..], &["--vary", "drive=hp-c2247a,null"]].concat();
    let expected = ["drive = null", "which varies the same key"];
    refused(&nearslot(&words), 2, &expected);
    // What a scenario file says is overridden.
    let text = "warmup = 0\ndrive = 'seagate-cheetah-9lp'\nsched = 'look'\n\
                [trace]\nfiles = ['trace.csv']\nreplay = 'closed'\ndepth = 8";
    let file = desk.file("s.toml", text);
    let words = [
        "compare",
        word(&file),
        "--vary",
        "depth=1,2",
        "--format",
        "csv",
    ];
    let output = nearslot(&words);
    assert!(output.status.success(), "{}", told(&output));
    assert!(given(&output).contains("depth=2"), "{}", given(&output));
}

#[test]
fn mistakes_of_the_command_line_are_not_the_files() {
    let desk = Desk::new();
    desk.trace(20);
    let load = "[trace]\nfiles = ['trace.csv']\n";
    let good = desk.file("s.toml", load);
    for (option, words) in [
        (["--depth", "8"], ["depth = 8", "replay = closed"]),
        (
            ["--drive", "nosuch"],
            ["unknown drive `nosuch`", "hp-c2247a"],
        ),
        (
            ["--sched", "nosuch"],
            ["unknown scheduler `nosuch`", "satf"],
        ),
        (["--sched", "vscan:r=7"], ["vscan.r = 7", "allowed"]),
        (
            ["--place", "stripe:disk=7"],
            ["knob of stripe `disk`", "disks"],
        ),
    ] {
        let output = nearslot(&["run", word(&good), option[0], option[1]]);
        refused(&output, 2, &words);
        assert!(!told(&output).contains("s.toml"), "{}", told(&output));
    }
    for text in ["sched = 'nosuch'\n", "sched = { name = 'vscan', r = 7 }\n"] {
        let bad = desk.file("bad.toml", format!("{text}{load}"));
        let output = nearslot(&["run", word(&bad), "--drive", "hp-c2247a"]);
        refused(&output, 3, &["bad.toml"]);
    }
    let vary = ["compare", word(&good), "--vary", "sched=look,nosuch"];
    let output = nearslot(&vary);
    refused(&output, 2, &["unknown scheduler `nosuch`"]);
    assert!(!told(&output).contains("s.toml"), "{}", told(&output));
}

#[test]
fn a_trace_that_is_mostly_unreadable_is_shown_and_not_used() {
    let desk = Desk::new();
    let text = |good: u64| -> String {
        let row = |at: u64| {
            let offset = if at < good { "0" } else { "\"8,192\"" };
            format!("{},R,{offset},4096,100\n", at * 9_000)
        };
        let header = "time_us,op,offset,size,latency_us\n".to_owned();
        std::iter::once(header).chain((0..100).map(row)).collect()
    };
    let bad = desk.file("bad.csv", text(49));
    let converted = desk.path("bad.parquet");
    let to_parquet = ["-o", word(&converted), "--to", "parquet"];
    let commands: [&[&str]; 5] = [
        &["run", word(&bad)],
        &["compare", word(&bad)],
        &["capacity", word(&bad), "--slo", "mean < 100 ms"],
        &["calibrate", word(&bad), "--as", "empirical"],
        &[&["convert", word(&bad)], &to_parquet[..]].concat(),
    ];
    for command in commands {
        let words = [
            "51 of 100 records could not be read",
            "is `8,192`",
            "--columns",
            "inspect",
        ];
        refused(&nearslot(command), 3, &words);
    }
    assert!(!converted.exists());
    let shown = nearslot(&["inspect", word(&bad)]);
    assert!(shown.status.success(), "{}", told(&shown));
    let half = desk.file("half.csv", text(50));
    let run = nearslot(&["run", word(&half), "--drive", "hp-c2247a", "--warmup", "0"]);
    assert!(run.status.success(), "{}", told(&run));
}

#[test]
fn a_load_of_which_no_read_or_write_is_measured_has_no_result() {
    let desk = Desk::new();
    let flushes: String = (1..9)
        .map(|at| format!("{},flush,0,0\n", at * 50_000))
        .collect();
    let none = desk.file("none.csv", format!("time_us,op,offset,size\n{flushes}"));
    let first = desk.file(
        "first.csv",
        format!("time_us,op,offset,size\n0,R,0,4096\n{flushes}"),
    );
    for command in ["run", "compare"] {
        let words = ["none.csv", "has neither reads nor writes"];
        refused(&nearslot(&[command, word(&none)]), 3, &words);
        let warm = [
            command,
            word(&first),
            "--drive",
            "hp-c2247a",
            "--warmup",
            "1",
        ];
        refused(
            &nearslot(&warm),
            3,
            &[
                "there is no result, since no read or write was answered",
                "warm-up of 1 of 9 requests",
            ],
        );
    }
    let output = nearslot(&["run", word(&first), "--drive", "hp-c2247a", "--warmup", "0"]);
    assert!(output.status.success(), "{}", told(&output));
}

/// All that was said, however its lines were wrapped.
fn said(output: &Output) -> String {
    let all = given(output) + &told(output);
    let words: Vec<&str> = all.split_whitespace().collect();
    words.join(" ")
}

#[test]
fn requests_of_one_time_are_replayed_closed_alone() {
    let desk = Desk::new();
    let rows = |step: u64| -> String {
        let row = |at: u64| format!("{},R,{},4096\n", at / 7 * step, at * 999_424);
        (0..400).map(row).collect()
    };
    let same = desk.file("same.csv", format!("time_us,op,offset,size\n{}", rows(0)));
    let on = ["--drive", "hp-c2247a", "--warmup", "0"];
    let open = nearslot(&[&["compare", word(&same)], &on[..]].concat());
    refused(
        &open,
        3,
        &["replay = open", "one time for all its requests"],
    );
    let closed = ["run", word(&same), "--replay", "closed"];
    let closed = nearslot(&[&closed, &on[..]].concat());
    let note = "all requests have the same time stamp";
    assert!(said(&closed).contains(note), "{}", said(&closed));
    // Stamps of a minute: an open replay is told that waits are those of the stamps.
    let minutes = desk.file("min.csv", format!("time_s,op,offset,size\n{}", rows(60)));
    let warning = "time stamps have steps of 60 s";
    let open = nearslot(&[&["run", word(&minutes)], &on[..]].concat());
    assert!(said(&open).contains(warning), "{}", said(&open));
    let closed = ["run", word(&minutes), "--replay", "closed"];
    let closed = nearslot(&[&closed, &on[..]].concat());
    assert!(!said(&closed).contains(warning), "{}", said(&closed));
}

#[test]
fn a_knob_that_is_given_twice_is_named_with_both_values() {
    let workload = ["run", "--workload"];
    for (rest, told) in [
        (&["iometer:depth=4:depth=8"][..], "iometer.depth = 4 and 8"),
        (
            &[
                "iometer",
                "--faults",
                "injected:timeout_share=0.1:timeout_share=0.2",
            ],
            "injected.timeout_share = 0.1 and 0.2",
        ),
        (
            &[
                "iometer",
                "--drive",
                "desktop-7200-90mb:cache=off:cache=volatile",
            ],
            "desktop-7200-90mb.cache = off and volatile",
        ),
    ] {
        refused(
            &nearslot(&[&workload[..], rest].concat()),
            2,
            &[told, "one value"],
        );
    }
    let desk = Desk::new();
    let text = "sched = 'look'\nsched = 'satf'\n[workload]\nname = 'iometer'\n";
    let twice = desk.file("twice.toml", text);
    refused(
        &nearslot(&["run", word(&twice)]),
        3,
        &["line 2 = `sched` again", "each key once"],
    );
}

#[test]
fn overload_is_said_of_open_loads_alone() {
    let desk = Desk::new();
    let trace = desk.trace(50);
    let closed = [
        "run",
        word(&trace),
        "--replay",
        "closed",
        "--overload",
        "run",
    ];
    refused(
        &nearslot(&closed),
        2,
        &["overload = run", "requests wait for answers"],
    );
    let open = nearslot(&["run", word(&trace), "--overload", "run", "--drive", "null"]);
    assert!(open.status.success(), "{}", told(&open));
}
