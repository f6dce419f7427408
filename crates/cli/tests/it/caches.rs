//! Read caches on the command line: what is refused, and with which words.

use crate::common::{Desk, nearslot, told, word};

#[test]
fn a_size_without_a_cache_and_a_cache_that_knows_the_future_are_refused() {
    let desk = Desk::new();
    let path = desk.trace(50);
    let varied = ["--cache-size", "1MiB", "--vary", "cache=none,lru"];
    for (words, expected) in [
        (&varied[..2], "--cache-size = 1MiB"),
        (&varied, "--cache-size = 1MiB"),
        (&["--cache", "optimal"], "cache = optimal"),
    ] {
        let mut all = vec!["compare", word(&path), "--drive", "null"];
        all.extend(words);
        let output = nearslot(&all);
        let told = told(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(expected), "{told}");
    }
}
