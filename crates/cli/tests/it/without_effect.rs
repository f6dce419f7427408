//! What has no effect is refused, whatever its value; what a user must know is told.

use serde_json::Value;

use crate::common::{Desk, given, nearslot, told, word};

/// What a load asks for.
#[derive(Clone, Copy)]
enum Load {
    Both,
    Reads,
    Writes,
}

use Load::{Both, Reads, Writes};

/// A trace of 200 requests of a page each.
fn trace(desk: &Desk, load: Load) -> std::path::PathBuf {
    let mut text = String::from("time_us,dev,lba,blocks,op\n");
    for number in 0..200_u64 {
        let op = match load {
            Reads => 'R',
            Writes => 'W',
            Both if number % 3 == 0 => 'W',
            Both => 'R',
        };
        let lba = number * 7_919 % 50_000 * 8;
        text += &format!("{},0,{lba},8,{op}\n", number * 9_000);
    }
    desk.file("load.csv", text)
}

const BESIDE: &str = "--drive null --sched fcfs";

/// What stands beside words: a scheduler where they name none.
fn beside(words: &str) -> impl Iterator<Item = &str> {
    let given = match words.starts_with("--sched ") {
        true => "--drive null",
        false => BESIDE,
    };
    given.split(' ').chain(words.split(' '))
}

/// What a comparison over a load says.
fn compared(load: Load, words: &str) -> std::process::Output {
    let desk = Desk::new();
    let path = trace(&desk, load);
    let all = ["compare", word(&path)].into_iter();
    nearslot(&all.chain(beside(words)).collect::<Vec<_>>())
}

/// What is refused over a load, and why.
const REFUSED: &[(Load, &str, &str)] = &[
    (
        Both,
        "--merge contiguous --replay closed --depth 1",
        "merge = contiguous (allowed: none with depth = 1",
    ),
    (
        Both,
        "--vary merge=none,contiguous:front=false --replay closed --depth 1",
        "merge = contiguous:front=false (allowed: none with depth = 1",
    ),
    (
        Both,
        "--sched mq-deadline:nr_requests=4:async_depth=4",
        "mq-deadline.async_depth = 4 (allowed: 0, or 1 to 3, less than nr_requests",
    ),
    (
        Both,
        "--sched mq-deadline:nr_requests=1:async_depth=1",
        "mq-deadline.async_depth = 1 (allowed: 0, as nr_requests = 1",
    ),
    (
        Both,
        "--sched mq-deadline:prio_aging_expire_ms=5",
        "mq-deadline.prio_aging_expire_ms = 5 (allowed: left out where no request of the load comes with another class",
    ),
    (
        Both,
        "--sched bfq:strict_guarantees=true:slice_idle_ms=2",
        "bfq.slice_idle_ms = 2 (allowed: 8 or more with strict_guarantees = true",
    ),
    (
        Both,
        "--sched slack:most_percent=50",
        "slack.most_percent = 50 (allowed: left out without targets_ms",
    ),
    (
        Both,
        "--sched slack:admission=beside",
        "slack.admission = beside (allowed: left out without targets_ms",
    ),
    (
        Both,
        "--cache lru:size=1MiB:writes=classed",
        "lru.writes = classed (allowed: allocate, which lru takes for the same",
    ),
    (
        Both,
        "--cache lru:size=1MiB --vary cache.writes=allocate,classed",
        "lru.writes = classed",
    ),
    (
        Reads,
        "--cache lru:size=1MiB:writes=rest",
        "lru.writes = rest (allowed: left out where the load has no writes",
    ),
    (
        Reads,
        "--cache sarc:size=1MiB:writes=allocate --prefetch sarc:degree=4",
        "sarc.writes = allocate (allowed: left out where the load has no writes",
    ),
    (
        Both,
        "--cache lru:size=1MiB:write_run_kib=64",
        "lru.write_run_kib = 64 (allowed: left out where writes is neither classed nor rest",
    ),
    (
        Reads,
        "--cache lru:size=1MiB:write_run_kib=64:writes=rest",
        "lru.write_run_kib = 64 (allowed: left out where the load has no writes",
    ),
    (
        Both,
        "--cache lru:size=1MiB:stage=line",
        "lru.stage = line (allowed: left out where a line is one page",
    ),
    (
        Both,
        "--cache sarc:size=1MiB:large_ratio=20",
        "sarc.large_ratio = 20 (allowed: left out where nothing tells a cache",
    ),
    (
        Both,
        "--cache sarc:size=1MiB:boundary=worth",
        "sarc.boundary = worth (allowed: left out where nothing tells a cache",
    ),
    (
        Both,
        "--cache sarc:size=1MiB:step=page",
        "sarc.step = page (allowed: left out where nothing tells a cache",
    ),
    (
        Both,
        "--cache sarc:size=1MiB:share_percent=10:boundary=share",
        "sarc.share_percent = 10 (allowed: left out where nothing tells a cache",
    ),
    (
        Both,
        "--cache sarc:size=1MiB:boundary=age:step=page --prefetch sarc:degree=4",
        "sarc.step = page (allowed: left out where boundary = age",
    ),
    (
        Both,
        "--cache lru_bottom:size=1MiB:depth_percent=30",
        "lru_bottom.depth_percent = 30",
    ),
    (
        Both,
        "--cache lru:size=1MiB --prefetch sarc:mode=sync:trigger=3",
        "sarc.trigger = 3 (allowed: left out where mode = sync",
    ),
    (
        Both,
        "--buffer lrw:size=1MiB:retries=3",
        "lrw.retries = 3 (allowed: left out where nothing goes wrong on the drives",
    ),
    (
        Writes,
        "--buffer lrw:size=1MiB:read_us=10",
        "lrw.read_us = 10",
    ),
    (
        Writes,
        "--cache lru:size=1MiB",
        "cache = lru (allowed: none: the load has no reads",
    ),
    (
        Reads,
        "--buffer wow:size=1MiB",
        "buffer = wow (allowed: none: the load has no writes",
    ),
    (
        Both,
        "--place raid5:rebuild_mib_s=0",
        "raid5.rebuild_mib_s = 0 (allowed: left out where nothing goes wrong on the drives",
    ),
    (
        Both,
        "--place raid5:extent_stripes=1",
        "extent_stripes = 1 (allowed: left out where arrays = 1",
    ),
    (
        Both,
        "--faults injected:timeout_share=0.1:latent_run_blocks=1",
        "injected.latent_run_blocks = 1 (allowed: beside latent_per_tib above 0",
    ),
    (
        Both,
        "--sched bfq:slice_idle_ms=0:first_think=long",
        "bfq.first_think = long (allowed: left out where slice_idle_ms = 0: the drive waits for nobody",
    ),
    (
        Both,
        "--sched bfq:slice_idle_ms=0:raised_idle_ms=20",
        "bfq.raised_idle_ms = 20 (allowed: left out where slice_idle_ms = 0",
    ),
    (
        Both,
        "--sched bfq:low_latency=false:raised_idle_ms=8",
        "bfq.raised_idle_ms = 8 (allowed: left out where low_latency = false: nobody is favoured",
    ),
    (
        Both,
        "--sched bfq:low_latency=false:foreign_requests=4",
        "bfq.foreign_requests = 4 (allowed: left out where low_latency = false",
    ),
];

#[test]
fn what_has_no_effect_is_refused_whatever_its_value() {
    let told_wrong = |(load, words, why): &(Load, &str, &str)| {
        let output = compared(*load, words);
        let refused = output.status.code() == Some(2) && given(&output).is_empty();
        (!refused || !told(&output).contains(why)).then(|| format!("{words}: {}", told(&output)))
    };
    let wrong: Vec<String> = REFUSED.iter().filter_map(told_wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same settings beside what they need, in one run at least: each is in effect, or is a
/// comparison.
const TAKEN: &[(Load, &str)] = &[
    (Both, "--cache sarc:size=1MiB:writes=classed"),
    (Both, "--cache sarc:size=1MiB:large_ratio=5:writes=classed"),
    (
        Both,
        "--cache sarc:size=1MiB:large_ratio=5 --prefetch none,sarc:degree=4",
    ),
    (
        Both,
        "--cache sarc:size=1MiB:boundary=worth:step=page --prefetch sarc:degree=4",
    ),
    (
        Both,
        "--cache sarc:size=1MiB:boundary=share:share_percent=10 --prefetch sarc:degree=4",
    ),
    (
        Both,
        "--cache lru_bottom:size=1MiB:depth_percent=30 --prefetch sarc:degree=4",
    ),
    (
        Both,
        "--cache lru:size=1MiB --prefetch sarc:degree=4:mode=both:trigger=3",
    ),
    (Both, "--cache lru:size=1MiB:writes=rest:write_run_kib=64"),
    (Both, "--cache lru:size=1MiB:line_kib=8:stage=line"),
    (Reads, "--cache lru:size=1MiB"),
    (Writes, "--buffer wow:size=1MiB"),
    (Both, "--buffer lrw:size=1MiB:read_us=10"),
    (
        Both,
        "--buffer lrw:size=1MiB:retries=3 --faults injected:timeout_share=0.01",
    ),
    (
        Both,
        "--place raid5:rebuild_mib_s=5 --faults none,injected:timeout_share=0.01",
    ),
    (Both, "--place raid5:disks=6:arrays=2:extent_stripes=1"),
    (
        Both,
        "--faults injected:latent_per_tib=1:latent_run_blocks=1",
    ),
    (Both, "--sched bfq:slice_idle_ms=0:foreign_requests=4"),
    (Both, "--merge contiguous --replay closed --vary depth=1,4"),
    (
        Both,
        "--merge contiguous --replay closed --depth 1 --cache lru:size=1MiB",
    ),
    (Both, "--sched bfq:low_latency=false:first_think=none"),
    (
        Both,
        "--sched bfq:slice_idle_ms=8:strict_guarantees=true:first_think=long:raised_idle_ms=20",
    ),
];

/// A priority that waits long enough is served before higher ones, where there are several.
#[test]
fn the_age_of_priorities_is_set_where_requests_have_some() {
    let desk = Desk::new();
    let trace = |priority: u32| {
        let mut text = String::from("time_us,lba,blocks,op,prio,flags\n");
        for number in 0..200_u64 {
            let lba = number * 7_919 % 50_000 * 8;
            text += &format!(
                "{},{lba},8,R,{},priority\n",
                number * 9_000,
                if number % 3 == 0 { priority } else { 0 }
            );
        }
        desk.file("classes.csv", text)
    };
    let run = |priority: u32| {
        let path = trace(priority);
        nearslot(&[
            "run",
            word(&path),
            "--drive",
            "null",
            "--sched",
            "mq-deadline:prio_aging_expire_ms=5",
        ])
    };
    let output = run(3 << 13);
    assert!(output.status.success(), "{}", told(&output));
    let output = run(2 << 13 | 7);
    assert!(
        told(&output).contains("no request of the load comes with"),
        "{}",
        told(&output)
    );
    let host = |class: &str| {
        let text = format!(
            "drive = 'modern-20tb'\nsched = 'mq-deadline:prio_aging_expire_ms=5'\n[workload]\nname = 'host'\n\
             [[workload.process]]\nname = 'one'\nclass = '{class}'\ntimes = 3\nsteps = [{{ read = '4KiB', at = 'random' }}]\n"
        );
        nearslot(&["run", word(&desk.file("host.toml", text))])
    };
    let output = host("idle");
    assert!(output.status.success(), "{}", told(&output));
    assert!(told(&host("best-effort")).contains("no request of the load comes with"));
}

#[test]
fn what_has_an_effect_in_one_run_is_a_comparison() {
    let told_wrong = |(load, words): &(Load, &str)| {
        let output = compared(*load, words);
        (!output.status.success()).then(|| format!("{words}: {}", told(&output)))
    };
    let wrong: Vec<String> = TAKEN.iter().filter_map(told_wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// No run of a host is held against another, so none is named for it, also where it is a choice.
#[test]
fn a_baseline_of_hosts_is_refused() {
    let words = "compare --workload host:beside=1r-seq:seconds=1 --drive null --sched fcfs,bfq --baseline fcfs";
    let output = nearslot(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    let expected = "baseline = fcfs (allowed: left out for hosts: which requests come hangs on the answers, so runs are not ranked";
    assert!(told(&output).contains(expected), "{}", told(&output));
}

/// What a synthetic load asks for is known beforehand.
#[test]
fn a_load_that_is_made_has_reads_and_writes_or_not() {
    let load = ["compare", "--workload", "iometer:requests=200"];
    let asked = |words: &str| {
        let words = BESIDE.split(' ').chain(words.split(' '));
        nearslot(&load.into_iter().chain(words).collect::<Vec<_>>())
    };
    let reads = asked("--vary read_share=1 --buffer lrw:size=1MiB");
    assert!(told(&reads).contains("buffer = lrw (allowed: none: the load has no writes"));
    let writes = asked("--vary read_share=0 --cache lru:size=1MiB");
    assert!(told(&writes).contains("cache = lru (allowed: none: the load has no reads"));
    let both = asked("--vary read_share=0,1 --cache lru:size=1MiB --buffer lrw:size=1MiB");
    assert!(both.status.success(), "{}", told(&both));
}

/// Sizes are told as they were asked for, and before anything has run.
#[test]
fn a_size_that_is_too_small_is_told_as_it_was_asked_for() {
    let (small, ahead) = (
        "--cache lru --cache-size 0.1%,50%",
        "--prefetch sarc:degree=4",
    );
    let told_of = |words: &str| told(&compared(Both, words));
    let told = told_of(small);
    assert!(
        told.contains("lru.size = 0.1% (allowed: room for a line of 4 KiB at least"),
        "{told}"
    );
    let told = told_of(&format!("{ahead} --cache lru --cache-size 100%,3%"));
    let expected = "lru.size = 3% (allowed: room for the 160 KiB at least that sarc:degree=4 brings together; 3% is 6lines here)";
    assert!(told.contains(expected), "{told}");
    let told = told_of("--cache optimal --cache-size 1%");
    assert!(
        told.contains("cache = optimal (allowed: another cache in a stack"),
        "{told}"
    );
    let output = compared(Both, "--cache lru --cache-size 100% --format json");
    assert!(
        given(&output).contains("a cache of 100% holds all"),
        "{}",
        given(&output)
    );
}

/// The warnings of a comparison, by kind.
fn warned(output: &std::process::Output) -> Vec<(String, String)> {
    assert!(output.status.success(), "{}", told(output));
    let found: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let text = |warning: &Value, key: &str| warning[key].as_str().expect("a word").to_owned();
    let warnings = found["warnings"].as_array().expect("warnings").iter();
    warnings
        .map(|warning| (text(warning, "kind"), text(warning, "text")))
        .collect()
}

#[test]
fn a_cache_without_sequences_is_told_to_be_lru() {
    let of = |words: &str| warned(&compared(Both, &format!("{words} --format json")));
    let kind = |kind: &str, found: &[(String, String)]| {
        let found = found.iter().find(|(known, _)| known == kind);
        found.map(|(_, text)| text.clone())
    };
    let told = of("--cache lru,sarc,lru_bottom,mimic --cache-size 256KiB");
    let text = kind("without-sequences", &told).expect("it is told");
    assert!(
        text.ends_with("there sarc and lru_bottom decide as lru does"),
        "{text}"
    );
    for words in [
        "--cache sarc --cache-size 256KiB --prefetch fixed",
        "--cache sarc:writes=classed --cache-size 256KiB",
        "--cache mimic --cache-size 256KiB",
    ] {
        assert_eq!(kind("without-sequences", &of(words)), None, "{words}");
    }
}

#[test]
fn in_a_run_of_hits_alone_sarc_is_lru_and_says_so() {
    let desk = Desk::new();
    let path = trace(&desk, Both);
    let page = desk.path("curve.html");
    let words = "--cache lru,arc,sarc,s3_fifo --size 1%,3%,10% --format json --html";
    let all = ["hitrate", word(&path)].into_iter().chain(words.split(' '));
    let output = nearslot(&all.chain([word(&page)]).collect::<Vec<_>>());
    let warnings = warned(&output);
    let (kind, text) = &warnings[0];
    assert_eq!(kind, "without-sequences");
    assert!(text.contains("sarc decides as lru does"), "{text}");
    let found: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let misses = |rows: std::ops::Range<usize>| -> Vec<Value> {
        rows.map(|row| found["rows"][row]["misses"].clone())
            .collect()
    };
    assert_eq!(misses(0..3), misses(6..9));
    let curve = std::fs::read_to_string(&page).expect("the page is written");
    assert!(curve.contains("sarc decides as lru does"));
    for cache in [
        "sarc:boundary=worth",
        "sarc:bottom_percent=2",
        "lru_bottom:depth_percent=10",
    ] {
        let output = nearslot(&["hitrate", word(&path), "--cache", cache]);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(
            told(&output).contains("decides as lru does"),
            "{}",
            told(&output)
        );
    }
}

/// The text of the one warning of this kind of a run of raid5 over disks.
fn of_array(place: &str, faults: &str, kind: &str) -> Option<String> {
    let words = "run --workload iometer:requests=3000:depth=8:span=0.0005 --drive hp-c2247a --sched fcfs --format json --place";
    let all: Vec<&str> = words
        .split(' ')
        .chain([place, "--faults", faults])
        .collect();
    let mut of_kind = warned(&nearslot(&all))
        .into_iter()
        .filter(|(known, _)| known == kind);
    let found = of_kind.next().map(|(_, text)| text);
    assert_eq!(of_kind.next(), None);
    found
}

#[test]
fn a_drive_of_which_nothing_was_asked_is_told_to_be_gone() {
    let place = "raid5:disks=6:arrays=2:extent_stripes=1000";
    let told = of_array(place, "injected:gone_at_s=0.5:gone_drive=5", "no-faults");
    let told = told.expect("it is told");
    assert!(
        told.contains("drive 5 was gone from 0.5 s on, but nothing was asked of it since"),
        "{told}"
    );
    assert_eq!(
        of_array(place, "injected:gone_at_s=0.5:gone_drive=1", "no-faults"),
        None
    );
}

#[test]
fn a_rate_of_rebuilds_that_was_not_reached_is_told() {
    let gone = "injected:gone_at_s=0.5:gone_drive=1";
    let of = |rate: &str| {
        of_array(
            &format!("raid5:disks=5:spares=1:rebuild_mib_s={rate}"),
            gone,
            "rebuild",
        )
    };
    let told = of("500").expect("no such drive is so fast");
    assert!(
        told.contains("although rebuild_mib_s = 500 was asked for, and "),
        "{told}"
    );
    assert!(
        told.contains(" blocks were left at the end of the run"),
        "{told}"
    );
    assert_eq!(of("0.01"), None);
    let without =
        of_array("raid5:disks=4:rebuild_mib_s=1", gone, "rebuild").expect("there is no spare");
    assert!(
        without.contains("had no effect: nothing was repaired"),
        "{without}"
    );
}

#[test]
fn a_write_buffer_that_does_not_show_what_it_is_worth_is_told() {
    let of = |load: &str, words: &str| {
        let load = format!("run --workload iometer:requests=200:read_share=0.5:size={load}");
        let drive = "--drive null --sched fcfs --format json --buffer";
        let all = load.split(' ').chain(drive.split(' '));
        let told = warned(&nearslot(&all.chain(words.split(' ')).collect::<Vec<_>>()));
        let told = told.into_iter().filter(|(kind, _)| kind == "buffer");
        told.map(|(_, text)| text).collect::<Vec<_>>()
    };
    for (load, words, why) in [
        ("4k", "lrw:size=1MiB", "nothing went from the write buffer"),
        (
            "8k",
            "lrw:size=4KiB",
            "writes went past the write buffer, and none into it",
        ),
        (
            "4k",
            "lrw:size=64KiB:retries=0 --faults injected:gone_at_s=0",
            "16 pages of answered writes could not be written",
        ),
    ] {
        let told = of(load, words);
        assert!(
            told.len() == 1 && told[0].contains(why),
            "{words}: {told:?}"
        );
    }
    // Units go, and some writes go past, but not all.
    for (load, size) in [("4k", "lrw:size=64KiB"), ("4k/50+8k/50", "lrw:size=4KiB")] {
        assert_eq!(of(load, size), Vec::<String>::new(), "{load}");
    }
}
