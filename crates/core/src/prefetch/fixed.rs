//! Fixed read-ahead: every read that misses something brings the tracks that follow it, whoever
//! asks.
//!
//! The oldest of all: with a degree of one track it is one-block look-ahead. It looks for no
//! sequence, so it brings as much for a random read as for a sequential one. What follows counts
//! from the end of the read: all before it comes for the read itself. O(1).

use super::common::TRACK;
use crate::contract::{Around, Found, Pattern, Prefetch, Touch};
use crate::ids::Track;
use crate::pages::PREFETCH_COUNTS;
use crate::registry::{Knob, Spec};

struct Fixed {
    degree: u64,
    /// Whether the read that is asking has missed something so far.
    missed: bool,
}

impl Prefetch for Fixed {
    fn asked(&mut self, touch: Touch, tracks: &mut dyn Around) -> Pattern {
        self.missed |= touch.found == Found::Missed;
        if touch.track == touch.last && std::mem::take(&mut self.missed) {
            let end = touch.last.0;
            tracks.bring(Track(end + 1), Track(end + self.degree));
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
    summary: "every read that misses brings the tracks that follow it",
    source: "Smith, Sequentiality and prefetching in database systems, ACM Transactions on Database Systems 3 (3), 1978",
    knobs: &[
        Knob::integer(
            "degree",
            1,
            1..=1_024,
            "how many tracks behind the end of the read",
        ),
        TRACK,
    ],
    measures: &PREFETCH_COUNTS,
    asks: &[],
    prepared: false,
    promises: "",
    build: |knobs, _| {
        Ok(Box::new(Fixed {
            degree: knobs.integer("degree"),
            missed: false,
        }))
    },
};
