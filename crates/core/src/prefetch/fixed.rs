//! Fixed read-ahead: every miss brings the tracks that follow, whoever asks.
//!
//! The oldest of all: with a degree of one track it is one-block look-ahead. It looks for no sequence, so it brings as much for a random read as for a
//! sequential one. O(1).

use super::common::TRACK;
use crate::contract::{Around, Found, Pattern, Prefetch, Touch};
use crate::ids::Track;
use crate::pages::PREFETCH_COUNTS;
use crate::registry::{Knob, Spec};

struct Fixed {
    degree: u64,
}

impl Prefetch for Fixed {
    fn asked(&mut self, touch: Touch, tracks: &mut dyn Around) -> Pattern {
        let track = touch.track;
        if touch.found == Found::Missed {
            tracks.bring(Track(track.0 + 1), Track(track.0 + self.degree));
        }
        Pattern::Random
    }

    fn group(&self) -> u64 {
        self.degree
    }
}

pub(super) static SPEC: Spec<dyn Prefetch> = Spec {
    name: "fixed",
    aliases: &["obl"],
    summary: "every miss brings the tracks that follow",
    source: "Smith, Sequentiality and prefetching in database systems, ACM Transactions on Database Systems 3 (3), 1978",
    knobs: &[
        Knob::integer("degree", 1, 1..=1_024, "how many tracks"),
        TRACK,
    ],
    measures: &PREFETCH_COUNTS,
    asks: &[],
    prepared: false,
    build: |knobs, _| {
        Ok(Box::new(Fixed {
            degree: knobs.integer("degree"),
        }))
    },
};
