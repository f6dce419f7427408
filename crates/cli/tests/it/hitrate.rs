//! `nearslot hitrate`: what it prints, and what it refuses.

use serde_json::{Value, json};

use crate::common::{Desk, given, nearslot, told, word};

#[test]
fn caches_and_sizes_have_a_row_each() {
    let desk = Desk::new();
    let trace = desk.trace(500);
    let ask = [
        "hitrate",
        word(&trace),
        "--cache",
        "lru,optimal",
        "--size",
        "10%,100%",
    ];
    let text = given(&nearslot(&ask));
    for row in ["lru ", "optimal "] {
        assert_eq!(
            text.lines()
                .filter(|line| line.trim_start().starts_with(row))
                .count(),
            2,
            "{text}"
        );
    }
    let output = nearslot(&[&ask[..], &["--format", "json"]].concat());
    let found: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(found["unit"], json!({"page": 4096}));
    let rows = found["rows"].as_array().expect("rows");
    // With room for all, each line is missed once.
    for whole in [&rows[1], &rows[3]] {
        assert_eq!(whole["misses"], found["footprint"]);
    }
    assert!(rows[2]["misses"].as_u64() <= rows[0]["misses"].as_u64());
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let desk = Desk::new();
    let trace = desk.trace(100);
    for (words, code, why) in [
        (["--cache", "lur"], 2, "did you mean `lru`?"),
        (["--size", "10"], 2, "a number with its unit"),
        (["--unit", "1000"], 2, "a multiple of 512"),
        (["--size", "0.0001%"], 3, "at least one line"),
    ] {
        let output = nearslot(&[&["hitrate", word(&trace)][..], &words].concat());
        assert_eq!(output.status.code(), Some(code), "{}", told(&output));
        assert!(told(&output).contains(why), "{}", told(&output));
    }
}
