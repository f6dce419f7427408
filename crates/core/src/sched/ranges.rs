//! Range writes that wait, and which of them can begin first: what `satf` and `aged_satf` share.
//!
//! Each is as near as the nearest place of what it offers. The one whose offer is the least far is
//! looked at first, then all others in order of arrival, and each search ends where nothing can be
//! better than the best so far. Where the cylinders of its offer alone are too far, it does not
//! begin. So most cost no look at a track.

use crate::contract::{Arm, Next, View};
use crate::ids::IoId;
use crate::io::Io;
use crate::offer::OfferId;
use crate::search::offered::Reach;
use crate::units::{Duration, Instant, Pba};

/// A range write that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: IoId,
    offer: OfferId,
    sequence: u64,
    /// What its late arrival adds to its price.
    handicap: Duration,
    /// Where its places lie; none until it was asked for.
    reach: Option<Reach>,
    /// How many cylinders they are away at least, at this decision.
    far: u32,
    /// A block where it could begin when that was looked at last.
    place: u64,
}

impl Waiting {
    /// Whether something is left of what it offers.
    fn has_left(&mut self, view: &View<'_>) -> bool {
        let legal = view.offers.legal(self.offer);
        if legal.holds(self.place) {
            return true;
        }
        let first = legal.first(0, u64::MAX);
        self.place = first.unwrap_or(self.place);
        first.is_some()
    }
}

/// The best so far: its price, and which of those that wait it is.
struct Best {
    price: Price,
    found: Option<(usize, Found)>,
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
            reach: None,
            far: 0,
            place: 0,
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

    /// Takes out the one that goes next, if its price is less than that of the best of all others.
    /// One of whose offer nothing is left goes before all.
    pub(super) fn take(&mut self, view: &View<'_>, others: Option<Price>) -> Option<Found> {
        let arm = view.oracle.arm();
        let least_far = self.least_far(view, arm)?;
        let mut best = Best {
            price: others.unwrap_or((Duration::MAX, u64::MAX)),
            found: None,
        };
        self.look(least_far, view, arm, &mut best);
        for index in 0..self.waiting.len() {
            if index != least_far {
                self.look(index, view, arm, &mut best);
            }
            let waiting = &mut self.waiting[index];
            if !waiting.has_left(view) {
                best.found = Some((index, Found::Exhausted(waiting.id)));
                break;
            }
        }
        let (index, found) = best.found?;
        self.waiting.remove(index);
        Some(found)
    }

    /// The one whose offer is the least far: its price rules out most of the others. None if none
    /// waits.
    fn least_far(&mut self, view: &View<'_>, arm: Option<&dyn Arm>) -> Option<usize> {
        let from = arm.map_or(0, |arm| arm.writes_from().cylinder);
        let mut least = None;
        for (index, waiting) in self.waiting.iter_mut().enumerate() {
            let reach = || Reach::of(&view.offers.legal(waiting.offer), arm, view.capacity);
            waiting.far = waiting.reach.get_or_insert_with(reach).distance(from);
            if least.is_none_or(|(far, _)| waiting.far < far) {
                least = Some((waiting.far, index));
            }
        }
        least.map(|(_, index)| index)
    }

    /// Looks for a place of one that is better than the best so far.
    fn look(&mut self, index: usize, view: &View<'_>, arm: Option<&dyn Arm>, best: &mut Best) {
        let waiting = &mut self.waiting[index];
        let before = before(view.now, waiting, best.price);
        let at_least = arm.map_or(Duration::ZERO, |arm| arm.write_at_least(waiting.far));
        if view.now + at_least >= before {
            return;
        }
        if let Some(landing) = view.nearest_offered(waiting.offer, before) {
            let price = landing.start.since(view.now) + waiting.handicap;
            best.price = (price, waiting.sequence);
            best.found = Some((index, Found::Lands(waiting.id, landing.at)));
            waiting.place = landing.at.0;
        }
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
