//! Range writes that wait, and which of them can begin first: what `satf` and `aged_satf` share.
//!
//! Each is as near as the nearest place of what it offers. They are gone through in order of arrival, and each search ends where nothing can be
//! better than the best so far. So most cost a look or two at a track.

use crate::contract::{Next, View};
use crate::ids::IoId;
use crate::io::Io;
use crate::offer::OfferId;
use crate::units::{Duration, Instant, Pba};

/// A range write that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: IoId,
    offer: OfferId,
    sequence: u64,
    /// What its late arrival adds to its price.
    handicap: Duration,
}

/// Price and sequence of the best so far: of equals the oldest wins.
pub(super) type Price = (Duration, u64);

/// What is to be done about range writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// This one lands there.
    Lands(IoId, Pba),
    /// Nothing is left of what this one offers.
    Exhausted(IoId),
}

impl Found {
    /// The answer of a scheduler that chooses it.
    pub(super) fn next(self) -> Next {
        match self {
            Found::Lands(id, at) => Next::Land(id, at),
            Found::Exhausted(id) => Next::Start(id),
        }
    }
}

/// Range writes that wait, in order of arrival.
#[derive(Default)]
pub(super) struct Ranges {
    waiting: Vec<Waiting>,
}

impl Ranges {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn insert(&mut self, io: &Io, offer: OfferId, handicap: Duration) {
        self.waiting.push(Waiting {
            id: io.id,
            offer,
            sequence: io.sequence,
            handicap,
        });
    }

    /// Takes one out.
    ///
    /// # Panics
    /// It does not wait.
    pub(super) fn withdraw(&mut self, id: IoId) {
        let found = self.waiting.iter().position(|waiting| waiting.id == id);
        self.waiting.remove(found.expect("what is withdrawn waits"));
    }

    /// Takes out the one that goes next, if its price is less than that of the best of all others. One of whose offer nothing is left goes
    /// before all.
    pub(super) fn take(&mut self, view: &View<'_>, others: Option<Price>) -> Option<Found> {
        let mut best = others.unwrap_or((Duration::MAX, u64::MAX));
        let mut found = None;
        for (index, waiting) in self.waiting.iter().enumerate() {
            let before = before(view.now, waiting, best);
            match view.nearest_offered(waiting.offer, before) {
                Some(landing) => {
                    let price = landing.start.since(view.now) + waiting.handicap;
                    best = (price, waiting.sequence);
                    found = Some((index, Found::Lands(waiting.id, landing.at)));
                }
                None if view.offers.legal(waiting.offer).is_empty() => {
                    found = Some((index, Found::Exhausted(waiting.id)));
                    break;
                }
                None => {}
            }
        }
        let (index, found) = found?;
        self.waiting.remove(index);
        Some(found)
    }
}

/// Before when a range write must begin, to be better than the best.
fn before(now: Instant, waiting: &Waiting, (price, sequence): Price) -> Instant {
    // As good will do for an older one.
    let tie = u64::from(waiting.sequence < sequence);
    let price = price.0.saturating_add(tie);
    Instant(
        now.0
            .saturating_add(price.saturating_sub(waiting.handicap.0)),
    )
}
