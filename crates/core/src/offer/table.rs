//! The range writes of a drive that have not ended: what each offers, and where it has landed.
//!
//! Whoever carries out range writes has one such table and goes by it, whatever chooses the places:
//! so the rule that no two may overlap ([`Taken`]) holds for all alike.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use slab::Slab;

use super::{Legal, Offer, RANGES_MAX, Refused, Taken, Writable};
use crate::units::Pba;

/// The name of a range write that has not ended; used again afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OfferId(NonZeroU32);

impl OfferId {
    fn of(key: usize) -> OfferId {
        let number = u32::try_from(key + 1).ok().and_then(NonZeroU32::new);
        OfferId(number.expect("fewer than 2^32 range writes wait"))
    }

    #[inline]
    fn key(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A range write that has not ended.
#[derive(Clone, Debug)]
struct Made {
    offer: Arc<Offer>,
    len: u64,
    epoch: u64,
    /// What it has taken.
    landed: Option<Range<u64>>,
    /// Where it was tried before, and failed.
    failed: Vec<Range<u64>>,
}

/// Range writes that have not ended, and what was taken.
#[derive(Clone, Debug, Default)]
pub struct Offers {
    made: Slab<Made>,
    /// How many of them there are by epoch.
    epochs: BTreeMap<u64, usize>,
    taken: Taken,
}

/// Range writes as a scheduler sees them: what they offer, and where writes may begin at all.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// What they offer.
    pub offers: &'a Offers,
    /// Where writes may begin at all; none if everywhere.
    pub writable: Option<&'a dyn Writable>,
}

impl<'a> Seen<'a> {
    /// The same on a drive on which writes may begin in certain places alone, where nothing is said
    /// of that yet.
    #[inline]
    #[must_use]
    pub fn within(self, writable: &'a dyn Writable) -> Seen<'a> {
        debug_assert!(self.writable.is_none(), "two say where writes may begin");
        Seen {
            writable: Some(writable),
            ..self
        }
    }

    /// Where a range write may land now.
    #[inline]
    pub fn legal(self, id: OfferId) -> Legal<'a> {
        self.offers.legal(id).within(self.writable)
    }
}

/// Blocks on either side of where a range write might lie that are looked through first for what is
/// left of it.
const LISTED_WITHIN: u64 = 1 << 19;

impl Offers {
    /// The epoch of who hears of each completion at once, and says otherwise what is free: a block
    /// may be had that nobody is writing.
    pub const NOW: u64 = u64::MAX - 1;

    /// Whether a write of `len` blocks may be made with this offer on a volume of `capacity`
    /// blocks. That others have taken all of it is no mistake: such a write is made, and ends as
    /// exhausted.
    ///
    /// # Errors
    /// Why not.
    pub fn check(
        &self,
        offer: &Offer,
        len: u64,
        epoch: u64,
        (capacity, most): (u64, u64),
    ) -> Result<(), Refused> {
        if len == 0 {
            return Err(Refused::Nothing);
        }
        let end = offer.end();
        if end > capacity {
            return Err(Refused::Beyond { end, capacity });
        }
        let told = self.taken.completions();
        if epoch > told {
            return Err(Refused::Ahead { epoch, told });
        }
        let oldest = self.taken.oldest();
        if epoch < oldest {
            return Err(Refused::Stale { epoch, oldest });
        }
        // What others have taken of it is found out when its turn comes.
        if offer.first(0, u64::MAX, len).is_none() {
            let align = offer.align();
            return Err(Refused::NoCandidate { len, align });
        }
        // To count them takes time, and most schedulers list none.
        if most < u64::MAX {
            let given = offer.places(len, most);
            if given > most {
                return Err(Refused::TooManyPlaces { given, most });
            }
        }
        Ok(())
    }

    /// A write of `len` blocks is made, whose host has heard of `epoch` completions.
    pub fn make(&mut self, offer: Arc<Offer>, len: u64, epoch: u64) -> OfferId {
        *self.epochs.entry(epoch).or_default() += 1;
        OfferId::of(self.made.insert(Made {
            offer,
            len,
            epoch,
            landed: None,
            failed: Vec::new(),
        }))
    }

    /// Where it may land now, if writes may begin everywhere.
    #[inline]
    pub fn legal(&self, id: OfferId) -> Legal<'_> {
        let made = &self.made[id.key()];
        Legal::new(&made.offer, made.len, &self.taken, made.epoch)
    }

    /// The same table where writes may begin in certain places alone, if any are said.
    #[inline]
    pub fn within<'a>(&'a self, writable: Option<&'a dyn Writable>) -> Seen<'a> {
        let offers = self;
        Seen { offers, writable }
    }

    /// What is left of it; none if nothing is.
    pub fn left(&self, id: OfferId) -> Option<Arc<Offer>> {
        let made = &self.made[id.key()];
        let all = 0..made.offer.end();
        let mut others = self.taken.overlapping(&all, made.epoch);
        let left = match others.next() {
            None => Arc::clone(&made.offer),
            Some(highest) => {
                let runs = std::iter::once(highest).chain(others);
                Arc::new(made.offer.without(runs)?)
            }
        };
        left.first(0, u64::MAX, made.len).map(|_| left)
    }

    /// The same of an offer that is cut by where writes may begin: what is near `near`, as far as a
    /// list holds it.
    pub fn left_near(&self, id: OfferId, near: Pba, writable: &dyn Writable) -> Option<Arc<Offer>> {
        let made = &self.made[id.key()];
        let legal = self.within(Some(writable)).legal(id);
        let end = made.offer.end();
        let mut reach = LISTED_WITHIN;
        loop {
            let within = near.0.saturating_sub(reach)..near.0.saturating_add(reach).min(end);
            let all = within.start == 0 && within.end == end;
            let listed = self.listed(made, &legal, writable, within);
            if !listed.is_empty() || all {
                let offer = Offer::list(listed, made.offer.align());
                return offer.ok().map(Arc::new);
            }
            reach = reach.saturating_mul(4);
        }
    }

    /// Runs of blocks within some where a write may begin and end.
    fn listed(
        &self,
        made: &Made,
        legal: &Legal<'_>,
        writable: &dyn Writable,
        within: Range<u64>,
    ) -> Vec<Range<u64>> {
        let (mut listed, mut from) = (Vec::new(), within.start);
        while listed.len() < RANGES_MAX
            && let Some(at) = legal.first(from, within.end)
        {
            let reach = writable.reach(at).min(made.offer.range_of(at).end);
            let others = self.taken.lowest(&(at..reach), made.epoch);
            let end = others.map_or(reach, |others| others.start);
            listed.push(at..end);
            from = end;
        }
        listed
    }

    /// It begins at this block, which nobody else may have any more.
    ///
    /// # Panics
    /// It may not land there.
    pub fn land(&mut self, id: OfferId, at: u64) {
        assert_eq!(
            self.legal(id).first(at, at + 1),
            Some(at),
            "{id:?} may not land at block {at}"
        );
        let made = &mut self.made[id.key()];
        assert!(made.landed.is_none(), "{id:?} has landed");
        let range = at..at + made.len;
        self.taken.take(&range);
        made.landed = Some(range);
    }

    /// Where it has landed, if it has, has turned out to be bad. It waits again, if something else
    /// is left of its offer; nobody has the bad blocks until it ends.
    pub fn retry(&mut self, id: OfferId) -> bool {
        if self.legal(id).is_empty() {
            return false;
        }
        let made = &mut self.made[id.key()];
        let landed = made.landed.take();
        made.failed.extend(landed.clone());
        landed.is_some()
    }

    /// Where it was tried and failed: what these blocks hold is not known.
    pub fn failed(&self, id: OfferId) -> &[Range<u64>] {
        &self.made[id.key()].failed
    }

    /// It has ended, or never begins. Gives the number of its completion.
    pub fn end(&mut self, id: OfferId) -> u64 {
        let made = self.made.remove(id.key());
        let alike = self.epochs.get_mut(&made.epoch);
        let alike = alike.expect("it was counted when it was made");
        *alike -= 1;
        if *alike == 0 {
            self.epochs.remove(&made.epoch);
        }
        let oldest = self.epochs.keys().next().copied();
        let had = made.failed.into_iter().chain(made.landed);
        self.taken.complete(had, oldest)
    }

    /// What lies in these blocks is gone, as a reset of their zone: all may have them again,
    /// whenever they were made.
    pub fn free(&mut self, blocks: &Range<u64>) {
        self.taken.free(blocks);
    }

    /// What it has taken last, if it has begun.
    pub fn landed(&self, id: OfferId) -> Option<&Range<u64>> {
        self.made[id.key()].landed.as_ref()
    }

    /// How many have not ended.
    pub fn len(&self) -> usize {
        self.made.len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.made.is_empty()
    }

    /// What was taken.
    pub fn taken(&self) -> &Taken {
        &self.taken
    }
}
