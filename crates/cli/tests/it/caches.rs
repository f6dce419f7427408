//! Caches in a stack: how they are named and compared, and what is refused.

use serde_json::Value;

use crate::common::{Desk, given, nearslot, told, word};

/// The runs of a comparison on a small trace, with what it warned of.
fn runs(desk: &Desk, words: &[&str]) -> (Vec<Value>, String) {
    let trace = desk.trace(400);
    let all = [
        "compare",
        word(&trace),
        "--drive",
        "null",
        "--sched",
        "fcfs",
        "--format",
        "json",
    ];
    let output = nearslot(&[&all[..], words].concat());
    assert!(output.status.success(), "{}", told(&output));
    let found: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let runs = found["runs"].as_array().expect("runs").clone();
    (runs, found["warnings"].to_string())
}

#[test]
fn caches_sizes_and_prefetchers_are_compared() {
    let desk = Desk::new();
    let words = [
        "--cache",
        "none,lru,sarc",
        "--cache-size",
        "200lines,50%",
        "--prefetch",
        "none,sarc:degree=4:trigger=1",
    ];
    let (runs, warned) = runs(&desk, &words);
    // Each cache at two sizes with two prefetchers, and the run without either.
    assert_eq!(runs.len(), 9);
    assert!(warned.contains("left-out"), "{warned}");
    let sizes = |size: &str| {
        runs.iter()
            .filter(|run| run["config"]["cache"]["size"] == size)
            .count()
    };
    // A share is told in lines: 400 requests, of a page each, to places of their own.
    assert_eq!((sizes("200lines"), sizes("400lines")), (8, 0));
    let none = &runs[0]["config"];
    assert_eq!(
        (&none["cache"]["name"], &none["prefetch"]["name"]),
        (&"none".into(), &"none".into())
    );
    assert!(runs[1]["measures"]["cache"]["missed_pages"].as_u64() > Some(0));
}

#[test]
fn a_cache_that_holds_everything_is_told() {
    let desk = Desk::new();
    let (_, warned) = runs(&desk, &["--cache", "lru:size=1GiB"]);
    assert!(warned.contains("holds-all"), "{warned}");
    let (_, warned) = runs(&desk, &["--cache", "lru:size=10%"]);
    assert!(!warned.contains("holds-all"), "{warned}");
}

/// What is refused, and why.
const REFUSED: &[(&[&str], &str)] = &[
    (
        &["--cache", "lru"],
        "lru.size = unset (allowed: set, as in lru:size=1GiB",
    ),
    (
        &["--cache", "lru,srac", "--cache-size", "1%"],
        "did you mean `sarc`?",
    ),
    (
        &["--cache", "lru", "--cache-size", "100"],
        "a number with its unit",
    ),
    (
        &["--cache", "lru", "--cache-size", "0.001%"],
        "room for a line of 4 KiB at least",
    ),
    (
        &["--cache", "none", "--cache-size", "1%"],
        "left out where there is no cache",
    ),
    (
        &["--cache", "lru:size=1%", "--cache-size", "1%"],
        "which says it",
    ),
    (&["--prefetch", "sarc"], "none where cache = none"),
    (&["--cache", "optimal"], "nobody knows"),
    (
        &["--cache", "lru:size=1GiB:line_kib=12"],
        "a power of two from 4 to 256",
    ),
    (
        &["--cache", "lru:size=1GiB:stage=pages"],
        "left out where a line is one page",
    ),
    (
        &[
            "--cache",
            "lru:size=1GiB:line_kib=64",
            "--prefetch",
            "sarc:track_kib=32",
        ],
        "sarc.track_kib = 32 (allowed: 64 at least, which is lru.line_kib",
    ),
    (
        &["--cache", "lru:size=10lines", "--prefetch", "sarc"],
        "brings together",
    ),
    (
        &[
            "--cache",
            "lru:size=1GiB",
            "--prefetch",
            "sarc:mode=sync:trigger=5",
        ],
        "mode = sync",
    ),
    (
        &["--cache", "lru:size=1GiB", "--prefetch", "sarc:degree=3"],
        "less than degree = 3",
    ),
];

#[test]
fn what_caches_cannot_be_is_refused() {
    let desk = Desk::new();
    let trace = desk.trace(100);
    for (words, why) in REFUSED {
        let output = nearslot(&[&["compare", word(&trace), "--drive", "null"][..], words].concat());
        assert!(!output.status.success(), "{words:?}");
        assert!(told(&output).contains(why), "{words:?}: {}", told(&output));
    }
}

#[test]
fn what_a_load_or_a_command_cannot_have_is_refused() {
    let desk = Desk::new();
    let trace = desk.trace(100);
    let writes = desk.file(
        "writes.csv",
        "time_us,dev,lba,blocks,op\n0,0,8,8,W\n9,0,16,8,W\n",
    );
    let refused = |words: &[&str], why: &str| {
        let output = nearslot(words);
        assert!(told(&output).contains(why), "{}", told(&output));
        assert_eq!(given(&output), "");
    };
    let cache = ["--drive", "null", "--cache", "lru:size=1MiB"];
    refused(
        &[&["compare", word(&writes)], &cache[..]].concat(),
        "the load has no reads",
    );
    let share = [
        "run",
        "--workload",
        "poisson",
        "--drive",
        "null",
        "--cache",
        "lru:size=1%",
    ];
    refused(&share, "where no trace says");
    let several = [
        "run",
        word(&trace),
        "--drive",
        "null",
        "--cache",
        "lru,arc",
        "--cache-size",
        "1MiB",
    ];
    refused(&several, "takes several");
    let alone = ["hitrate", word(&trace), "--cache", "lru:size=1MiB"];
    refused(&alone, "lru.size = 1MiB (allowed: left out");
}

#[test]
fn a_size_without_a_cache_and_a_cache_that_knows_the_future_are_refused() {
    let desk = Desk::new();
    let path = desk.trace(50);
    let varied = ["--cache-size", "1MiB", "--vary", "cache=none,lru"];
    for (words, expected) in [
        (&varied[..2], "--cache-size = 1MiB"),
        (&varied, "--cache-size = 1MiB"),
        (&["--sched", ""], "--sched =  (allowed: names of schedulers"),
        (&["--cache", "optimal"], "cache = optimal"),
    ] {
        let mut all = vec!["compare", word(&path), "--drive", "null"];
        all.extend(words);
        let output = nearslot(&all);
        let told = told(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(expected), "{told}");
    }
    // A size beside the cache of a file is one of that cache, and of none that takes its place.
    let text = "cache = 'sarc:size=10%'\ndrive = 'null'\n[trace]\nfiles = ['trace.csv']\n";
    let file = desk.file("cached.toml", text.replace("trace.csv", word(&path)));
    let beside = ["--vary", "cache=lru,arc", "--cache-size", "1MiB"];
    let output = nearslot(&[&["compare", word(&file)][..], &beside].concat());
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    let expected = "--cache-size = 1MiB (allowed: left out beside --vary cache=lru,arc";
    assert!(told(&output).contains(expected), "{}", told(&output));
}

/// The table has columns of what a cache and a write buffer count where a run has one, and the
/// numbers of the JSON stand in them.
#[test]
fn the_table_tells_hits_misses_and_what_went_to_the_drives() {
    let desk = Desk::new();
    let trace = desk.trace(400);
    let of = |words: &str, format: &str| {
        let all = ["compare", word(&trace), "--drive", "null", "--sched"].into_iter();
        let all = all.chain(words.split(' ')).chain(["--format", format]);
        let output = nearslot(&all.collect::<Vec<_>>());
        assert!(output.status.success(), "{}", told(&output));
        given(&output)
    };
    let headings = ["hits", "misses", "destaged"];
    let has = |text: &str| headings.map(|heading| text.contains(&format!(" {heading} ")));
    for (words, there) in [
        ("fcfs,satf", [false; 3]),
        ("fcfs --cache none,lru:size=50%", [true, true, false]),
        ("fcfs --buffer none,lrw:size=8KiB", [false, false, true]),
    ] {
        let text = of(words, "table");
        assert_eq!(has(&text), there, "{words}: {text}");
        let found: Value = serde_json::from_str(&of(words, "json")).expect("it is JSON");
        let measures = &found["runs"][1]["measures"];
        for (of, name, there) in [
            ("cache", "read_hits", there[0]),
            ("cache", "read_misses", there[1]),
            ("buffer", "destaged_pages", there[2]),
        ] {
            let number = &measures[of][name];
            assert_eq!(number.is_u64(), there, "{words}: {name}");
            let cell = format!(" {number} ");
            assert!(
                !there || text.contains(&cell),
                "{words}: {number} in {text}"
            );
        }
    }
}
