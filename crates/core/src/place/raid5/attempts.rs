//! Ways that are tried: the I/Os by which some rows are written, or a block is computed.
//!
//! What a way needs may turn out to be unreadable. Then it is *given up*: what waits for its I/Os
//! never starts, what they still bring is of no use, and the same is tried in another way. Those
//! that are under way may end in something that is written back, so whoever takes the next way to
//! write waits until all of them have ended.
//!
//! A way that has to wait for its turn is chosen by what is known when its request comes. Others
//! that have the turn before may change what is bad, so it is looked at again when the first of its
//! reads ends: no write has begun by then. One without a parity reads nothing, so nothing of it is
//! chosen before its turn ([`How::Later`]).
//!
//! Nothing is written in vain, as no write begins before all that its way needs is known. Each way
//! that is given up leaves one more block that is known to be bad, or gone, and that the next one
//! does without: so they come to an end. O(1).

use std::collections::BTreeMap;

use slab::Slab;

use super::geometry::Rows;
use super::seats::Seat;
use crate::io::Tag;
use crate::units::{Blocks, Extent, Pba};

/// Tags of gates from here on are of ways that end; those below are of turns.
const ENDS: u64 = 1 << 32;

/// How a parity follows what is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    /// From the old parity and the old data.
    Modify,
    /// From the rest of the stripe.
    Reconstruct,
    /// Not at all.
    Bare,
    /// That is not known before its turn: when a read of its rows ends.
    Later,
}

/// What a way to write some rows goes by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writes {
    /// What its request writes.
    pub(super) extent: Extent,
    pub(super) how: How,
    /// Whether nothing was bad in its rows when it was chosen.
    pub(super) was_sound: bool,
    /// Whether it was chosen before its turn, and not looked at again since.
    pub(super) early: bool,
}

/// One way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    /// The turn that it is of.
    pub(super) work: u32,
    /// The rows that it writes or computes.
    pub(super) rows: Rows,
    /// How it writes; none if it computes.
    pub(super) writes: Option<Writes>,
    /// What it computes is one block, which a read has found to be bad.
    pub(super) found_bad: Option<(Seat, Pba)>,
    /// Whether what it computes may have been written since a read of it failed, or before it
    /// began.
    pub(super) renewed: bool,
    pub(super) given_up: bool,
    /// I/Os that have not ended.
    left: u32,
    /// Whether another way waits for its end.
    awaited: bool,
}

/// All ways with something under way.
#[derive(Default)]
pub(super) struct Attempts {
    attempts: Slab<Attempt>,
    /// How many compute a block that was found to be bad.
    found_bad: u32,
}

impl Attempts {
    /// A way without I/Os yet; its name.
    pub(super) fn begin(&mut self, work: u32, rows: Rows, writes: Option<Writes>) -> u32 {
        self.attempts.insert(Attempt {
            work,
            rows,
            writes,
            found_bad: None,
            renewed: false,
            given_up: false,
            left: 0,
            awaited: false,
        }) as u32
    }

    pub(super) fn attempt(&self, name: u32) -> &Attempt {
        &self.attempts[name as usize]
    }

    pub(super) fn attempt_mut(&mut self, name: u32) -> &mut Attempt {
        &mut self.attempts[name as usize]
    }

    /// One more I/O of it; the turn that it is of.
    pub(super) fn more(&mut self, name: u32) -> u32 {
        let attempt = self.attempt_mut(name);
        attempt.left += 1;
        attempt.work
    }

    /// One of its I/Os has ended, or will never start. The turn that it is of, and the gate that is
    /// to be opened if another way waited for this.
    pub(super) fn less(&mut self, name: u32) -> (u32, Option<Tag>) {
        let attempt = self.attempt_mut(name);
        attempt.left -= 1;
        let Attempt {
            work,
            left,
            awaited,
            ..
        } = *attempt;
        if left == 0 {
            let ended = self.attempts.remove(name as usize);
            self.found_bad -= u32::from(ended.found_bad.is_some());
        }
        (work, (left == 0 && awaited).then_some(Attempts::gate(name)))
    }

    /// The first of its reads has ended: what it goes by, if it was chosen before its turn.
    pub(super) fn looked_at(&mut self, name: u32) -> Option<Writes> {
        let attempt = self.attempt_mut(name);
        let writes = attempt.writes.as_mut().filter(|_| !attempt.given_up)?;
        std::mem::take(&mut writes.early).then_some(*writes)
    }

    /// The block that it computes was found to be bad.
    pub(super) fn find_bad(&mut self, name: u32, seat: Seat, at: Pba) {
        self.attempt_mut(name).found_bad = Some((seat, at));
        self.found_bad += 1;
    }

    /// These blocks were written: those that compute one of them may find it good.
    pub(super) fn renew(&mut self, seat: Seat, at: Pba, len: Blocks) {
        if self.found_bad == 0 {
            return;
        }
        let is_written = |of: &(Seat, Pba)| of.0 == seat && (at.0..at.0 + len.0).contains(&of.1.0);
        for (_, attempt) in &mut self.attempts {
            if attempt.found_bad.take_if(|of| is_written(of)).is_some() {
                attempt.renewed = true;
                self.found_bad -= 1;
            }
        }
    }

    /// It is given up while one of its I/Os ends.
    pub(super) fn give_up(&mut self, name: u32) {
        self.attempt_mut(name).given_up = true;
    }

    /// The same, and the next way waits for its end: the gate behind which it does, if other I/Os
    /// have not ended.
    pub(super) fn replace(&mut self, name: u32) -> Option<Tag> {
        self.give_up(name);
        let attempt = self.attempt_mut(name);
        attempt.awaited = attempt.left > 1;
        attempt.awaited.then_some(Attempts::gate(name))
    }

    fn gate(name: u32) -> Tag {
        Tag(ENDS + u64::from(name))
    }

    /// I/Os of each turn that have not ended.
    pub(super) fn left(&self) -> BTreeMap<u32, u32> {
        let mut left = BTreeMap::new();
        for (_, one) in &self.attempts {
            *left.entry(one.work).or_default() += one.left;
        }
        left
    }

    /// Panics on a contradiction.
    pub(super) fn audit(&self) {
        for (_, one) in &self.attempts {
            assert!(one.left > 0, "{one:?} is over");
            assert!(one.given_up || !one.awaited, "{one:?} may still succeed");
        }
        let found = self
            .attempts
            .iter()
            .filter(|(_, one)| one.found_bad.is_some());
        assert_eq!(self.found_bad as usize, found.count());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of its I/Os one ends as it is given up: the next way waits for any other.
    #[test]
    fn the_next_way_waits_until_the_last_io_has_ended() {
        for others in 0..3 {
            let mut attempts = Attempts::default();
            let name = attempts.begin(0, Rows { from: 0, to: 1 }, None);
            for _ in 0..=others {
                attempts.more(name);
            }
            let gate = attempts.replace(name);
            assert_eq!(gate.is_some(), others > 0, "{others}");
            let gates: Vec<_> = (0..=others).map(|_| attempts.less(name).1).collect();
            let (last, before) = gates.split_last().expect("one has ended");
            assert_eq!(*last, gate, "{others}");
            assert!(before.iter().all(Option::is_none), "{gates:?}");
        }
    }
}
