//! The write cache of a drive: what its file says of it, and what a run sets.
//!
//! The words are those of [`WriteCache`]. `auto` takes what the drive's file says. A kind of drive
//! says which words have an effect on its drives; any other word is refused with the reason, so
//! that no setting is without effect.

use serde::{Deserialize, Serialize};

use crate::io::{Unwritten, WriteCache};
use crate::op::Op;
use crate::registry::{ConfigError, Knob, Knobs};
use crate::units::{Blocks, Pba};

/// The knob that every kind of drive has.
pub(super) const CACHE: Knob = Knob::choice(
    "cache",
    "auto",
    &["auto", "off", "volatile", "protected", "unknown"],
    "when a write ends: off: on the medium; volatile: in the drive's cache, which a power cut empties; protected: in \
     a cache that keeps its data without power; auto: as the drive's file says",
);

/// What the file of a drive without mechanics may say of its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheParameter {
    /// None: a write ends when its data are on the medium.
    Off,
    /// A power cut empties it.
    Volatile,
    /// It keeps its data without power.
    Protected,
}

impl From<CacheParameter> for WriteCache {
    fn from(told: CacheParameter) -> WriteCache {
        match told {
            CacheParameter::Off => WriteCache::Off,
            CacheParameter::Volatile => WriteCache::Volatile,
            CacheParameter::Protected => WriteCache::Protected,
        }
    }
}

/// The cache that the knob asks for. `allowed` are the words that have an effect, the drive's own
/// first; `why` says why there are no others.
///
/// # Errors
/// It asks for another one.
pub(super) fn chosen(
    knobs: &Knobs,
    allowed: &[WriteCache],
    why: &str,
) -> Result<WriteCache, ConfigError> {
    let word = knobs.choice(CACHE.name);
    if word == "auto" {
        return Ok(allowed[0]);
    }
    let found = allowed.iter().find(|cache| cache.name() == word);
    found.copied().ok_or_else(|| {
        let words: Vec<&str> = allowed.iter().map(|cache| cache.name()).collect();
        let allowed = format!("auto or {}, {why}", words.join(", "));
        ConfigError::value(CACHE.name, word, &allowed)
    })
}

/// The cache of a drive whose times were measured. The times are those of the cache as it was, so
/// no setting changes them: who knows how it was may say so if the file does not.
///
/// # Errors
/// As [`chosen`].
pub(super) fn measured(
    knobs: &Knobs,
    told: Option<CacheParameter>,
) -> Result<WriteCache, ConfigError> {
    use WriteCache::{Off, Protected, Unknown, Volatile};
    match told.map(WriteCache::from) {
        Some(own) => chosen(
            knobs,
            &[own],
            "as the drive's file says which cache its times were measured with",
        ),
        None => chosen(
            knobs,
            &[Unknown, Off, Volatile, Protected],
            "the cache that its times were measured with",
        ),
    }
}

/// What a power cut may lose on a drive of which nobody knows when it empties its cache: everything
/// since the last flush.
#[derive(Clone, Copy, Debug)]
pub(super) struct SinceFlush {
    cache: WriteCache,
    capacity: Blocks,
    /// A write ended since the last flush.
    written: bool,
}

impl SinceFlush {
    pub(super) const fn new(cache: WriteCache, capacity: Blocks) -> SinceFlush {
        SinceFlush {
            cache,
            capacity,
            written: false,
        }
    }

    /// A command has ended.
    pub(super) fn ended(&mut self, op: Op, fua: bool) {
        match op {
            Op::Write => self.written |= !fua,
            Op::Flush => self.written = false,
            _ => {}
        }
    }

    /// As [`Drive::volatile`](crate::contract::Drive::volatile).
    pub(super) fn volatile(&self, out: &mut Vec<Unwritten>) {
        if self.written && self.cache.may_lose() {
            out.push(Unwritten {
                at: Pba(0),
                len: self.capacity,
            });
        }
    }
}
