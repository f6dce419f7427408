//! Who may work on a stripe: one write, or any number of those that compute what a drive does not
//! tell.
//!
//! Between the first and the last write of a row its blocks and its parity do not agree, and what
//! is computed from them is nothing that was ever written. So a write has its stripe alone, from
//! its first read to its last write, and whoever computes a block has it with others of the kind,
//! until what was computed is written back. The others wait behind a gate, in the order in which
//! they came. Reads that need nothing computed have no part in this.
//!
//! Only stripes with something under way have a record. O(log n) of these.

use std::collections::BTreeMap;

use slab::Slab;

use super::geometry::Rows;
use crate::sorted::{Keyed, Sorted};

/// What has a stripe, or waits for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) stripe: u64,
    /// Whose blocks are computed; none for a write.
    pub(super) computed: Option<u64>,
    /// The rows that are computed, or written.
    pub(super) rows: Rows,
    /// I/Os that have not ended.
    left: u32,
    /// Whether it waits.
    waits: bool,
    /// Of a repair: how often it was tried before.
    pub(super) repair: Option<u8>,
    /// Who waits behind it.
    next: Option<u32>,
}

/// A stripe that something has.
#[derive(Clone, Copy, Debug)]
struct Held {
    stripe: u64,
    writes: bool,
    computes: u32,
    /// The first and the last that wait.
    waiting: Option<(u32, u32)>,
}

impl Keyed for Held {
    type Key = u64;

    #[inline]
    fn key(&self) -> u64 {
        self.stripe
    }
}

impl Held {
    fn admits(&self, work: &Work) -> bool {
        match work.computed {
            None => !self.writes && self.computes == 0,
            Some(_) => !self.writes,
        }
    }

    fn admit(&mut self, work: &Work) {
        match work.computed {
            None => self.writes = true,
            Some(_) => self.computes += 1,
        }
    }
}

/// All stripes with something under way.
#[derive(Default)]
pub(super) struct Turns {
    works: Slab<Work>,
    held: Sorted<Held>,
}

impl Turns {
    /// Something wants a stripe: its name, and whether it has to wait.
    pub(super) fn begin(&mut self, stripe: u64, computed: Option<u64>, rows: Rows) -> (u32, bool) {
        let mut work = Work {
            stripe,
            computed,
            rows,
            left: 0,
            waits: false,
            repair: None,
            next: None,
        };
        let mut held = self.held.take(&stripe).unwrap_or(Held {
            stripe,
            writes: false,
            computes: 0,
            waiting: None,
        });
        let name = self.works.vacant_key() as u32;
        if held.waiting.is_none() && held.admits(&work) {
            held.admit(&work);
        } else {
            work.waits = true;
            held.waiting = match held.waiting {
                None => Some((name, name)),
                Some((first, last)) => {
                    self.works[last as usize].next = Some(name);
                    Some((first, name))
                }
            };
        }
        self.works.insert(work);
        self.held.insert(held);
        (name, work.waits)
    }

    pub(super) fn work(&self, name: u32) -> &Work {
        &self.works[name as usize]
    }

    pub(super) fn work_mut(&mut self, name: u32) -> &mut Work {
        &mut self.works[name as usize]
    }

    pub(super) fn works(&self) -> impl Iterator<Item = &Work> {
        self.works.iter().map(|(_, work)| work)
    }

    /// One more I/O of it.
    pub(super) fn more(&mut self, name: u32) {
        self.works[name as usize].left += 1;
    }

    /// One of its I/Os has ended, or will never start.
    pub(super) fn less(&mut self, name: u32) {
        self.works[name as usize].left -= 1;
    }

    /// Whether it has its stripe, and nothing to do with it any more.
    pub(super) fn is_over(&self, name: u32) -> bool {
        let work = self.work(name);
        work.left == 0 && !work.waits
    }

    /// It leaves its stripe; who gets it goes to `begins`, in order.
    pub(super) fn end(&mut self, name: u32, begins: &mut Vec<u32>) {
        let work = self.works.remove(name as usize);
        let held = self.held.take(&work.stripe);
        let mut held = held.expect("what ends has its stripe");
        match work.computed {
            None => held.writes = false,
            Some(_) => held.computes -= 1,
        }
        while let Some((first, last)) = held.waiting {
            let next = &mut self.works[first as usize];
            if !held.admits(next) {
                break;
            }
            held.admit(next);
            next.waits = false;
            held.waiting = next.next.take().map(|next| (next, last));
            begins.push(first);
        }
        if held.writes || held.computes > 0 {
            self.held.insert(held);
        }
    }

    /// Recounts everything from scratch and panics on a contradiction, with the I/Os that are left
    /// of each work.
    pub(super) fn audit(&self, left: &BTreeMap<u32, u32>) {
        let mut have = BTreeMap::<u64, u32>::new();
        let mut waits = 0;
        for (name, work) in &self.works {
            let ios = left.get(&(name as u32)).copied().unwrap_or(0);
            assert_eq!(work.left, ios, "{work:?}");
            assert!(work.left > 0 || work.waits, "{work:?} is over");
            waits += usize::from(work.waits);
            *have.entry(work.stripe).or_default() += u32::from(!work.waits);
        }
        let mut waiting = 0;
        for held in self.held.iter() {
            assert!(held.writes ^ (held.computes > 0), "{held:?}");
            let has = have.remove(&held.stripe).unwrap_or(0);
            assert_eq!(has, held.computes + u32::from(held.writes), "{held:?}");
            let mut next = held.waiting.map(|(first, _)| first);
            while let Some(name) = next {
                let work = self.work(name);
                assert!(work.waits && work.stripe == held.stripe, "{work:?}");
                waiting += 1;
                next = work.next;
            }
        }
        assert!(have.is_empty(), "nobody has these stripes: {have:?}");
        assert_eq!(waits, waiting, "who waits got lost");
    }
}
