//! A volume of 120 tracks for tests of prefetchers; what was brought is there at once, and nothing
//! leaves by itself.

#![cfg(test)]

use std::collections::BTreeMap;

use crate::contract::{Around, Found, Pattern, Prefetch, Touch};
use crate::ids::Track;

/// The last track.
pub(super) const LAST: u64 = 119;

#[derive(Default)]
pub(super) struct Volume {
    pub(super) notes: BTreeMap<u64, u32>,
    pub(super) brought: Vec<(u64, u64)>,
}

impl Around for Volume {
    fn last(&self) -> Track {
        Track(LAST)
    }

    fn note(&mut self, track: Track) -> Option<&mut u32> {
        self.notes.get_mut(&track.0)
    }

    fn bring(&mut self, first: Track, last: Track) {
        for track in first.0..=last.0.min(LAST) {
            self.notes.entry(track).or_default();
        }
        self.brought.push((first.0, last.0));
    }
}

impl Volume {
    /// A track is asked for, and missed where nothing of it is there.
    pub(super) fn ask(&mut self, of: &mut dyn Prefetch, track: u64) -> Pattern {
        let found = match self.notes.contains_key(&track) {
            true => Found::There,
            false => Found::Missed,
        };
        self.find(of, (track, 1), found)
    }

    /// A track is asked for by a read of so many, and this is found of it.
    pub(super) fn find(
        &mut self,
        of: &mut dyn Prefetch,
        (track, tracks): (u64, u64),
        found: Found,
    ) -> Pattern {
        self.notes.entry(track).or_default();
        let track = Track(track);
        let touch = Touch {
            track,
            found,
            tracks,
            last: Track(track.0 + tracks - 1),
        };
        of.asked(touch, self)
    }
}
