//! Hash tables whose keys are already numbers: one multiplication chain instead of a keyed hash.
//!
//! The standard hasher defends against keys made by an adversary; ours are counters and block
//! numbers of one user's own trace. Nothing may depend on the order of such a table (the lint on
//! hash iteration holds).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use nearslot_core::rng::mix;

/// A table by number.
pub(crate) type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Mixes 64 bits well, a few of them at a time.
#[derive(Clone, Copy, Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = mix(self.0 ^ number);
    }
}
