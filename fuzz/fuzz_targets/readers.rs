//! Every trace decoder under libFuzzer: `cargo +nightly fuzz run readers fuzz/corpus/readers
//! crates/trace/tests/data/traces`.
//!
//! The first byte picks the format, the second how the rest is cut; the laws are those of the
//! ten-second test.

#![no_main]

#[path = "../../crates/trace/tests/it/laws.rs"]
mod laws;

use libfuzzer_sys::fuzz_target;
use nearslot_trace::{FORMATS, Options};

fuzz_target!(|data: &[u8]| {
    let [pick, cut, bytes @ ..] = data else {
        return;
    };
    let format = FORMATS[usize::from(*pick) % FORMATS.len()];
    let options = Options {
        strict: cut & 1 != 0,
        file: "fuzz".to_owned(),
        ..Options::default()
    };
    let cuts = [1 + usize::from(cut >> 1), 7, 1 + usize::from(*cut) * 16];
    laws::check(format, &options, bytes, &cuts);
});
