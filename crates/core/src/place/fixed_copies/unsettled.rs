//! What is known of a chunk that something is under way for.
//!
//! Of its copies some have the newest data: they are *current*. The others are stale. Where drives
//! have a cache that a power cut empties, a current copy may be *cached*: perhaps only there. Those
//! are *safe* that a power cut leaves with what the last flush covered, or with something younger:
//! the current ones that are on the medium, or if there are none those that were safe before.
//!
//! After a power cut the copies of a chunk that was being written may differ. Each will do, but
//! only one: they are *candidates* until a client has read something of the current one, or all of
//! them have the same on the medium. If the current one cannot be read, or its drive is gone, another
//! one is taken.

use crate::maplog::copies;
use crate::maplog::copies::{Chunk, Index};
pub(super) use crate::place::copy_set::{Copies, members};
use crate::sorted::Keyed;

/// The first of a set.
pub(super) fn lowest(copies: Copies) -> Copies {
    copies & copies.wrapping_neg()
}

/// What is known of a chunk that something is under way for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unsettled {
    pub(super) chunk: Chunk,
    /// Have the newest data.
    pub(super) current: Copies,
    /// Have them too, as far as they can be read: a read failed, and nothing else was written there
    /// since. They count if the drives of all current copies are gone.
    pub(super) suspect: Copies,
    /// Of the current ones, those with a block that cannot be read: each is written anew as soon as
    /// another copy has all.
    pub(super) flawed: Copies,
    /// Of the current ones, perhaps only in the caches of their drives.
    pub(super) cached: Copies,
    /// Have of each block, on the medium, what the last flush covered or something younger. Never
    /// none.
    pub(super) safe: Copies,
    /// After a power cut: those of which any may be the current one, as no client has read anything
    /// yet. None if that is settled.
    pub(super) candidates: Copies,
    /// Are being written in the background.
    pub(super) flying: Copies,
    /// Of those, with data that were overwritten since.
    pub(super) spoiled: Copies,
    /// A foreground write is under way.
    pub(super) writing: bool,
    /// Were current until that failed on them, though not because of the medium: they can be read,
    /// as far as is known.
    pub(super) torn: Copies,
    /// The newest data are in no buffer, since a power cut or a failed read: a current copy is read
    /// first.
    pub(super) unbuffered: bool,
    /// How often copies could not be written in spare time, one time after the other.
    pub(super) failures: u8,
    /// The foreground write with this key waits until no copy is being written, or, if it is done,
    /// until enough copies are current.
    pub(super) waiter: Option<u32>,
    /// Where in the table in NVRAM; none if all copies are current.
    pub(super) kept: Option<Index>,
}

impl Unsettled {
    /// Of a chunk that nothing is under way for.
    pub(super) fn settled(chunk: Chunk, all: Copies) -> Unsettled {
        Unsettled {
            chunk,
            current: all,
            suspect: 0,
            flawed: 0,
            cached: 0,
            safe: all,
            candidates: 0,
            flying: 0,
            spoiled: 0,
            writing: false,
            torn: 0,
            unbuffered: false,
            failures: 0,
            waiter: None,
            kept: None,
        }
    }

    /// What has to survive of it. While a current copy is cached, no two of the safe ones need be
    /// the same after a power cut, as while they are written.
    pub(super) fn entry(&self) -> copies::Unsettled {
        copies::Unsettled {
            chunk: self.chunk,
            current: self.safe as u16,
            writing: self.writing || self.cached != 0 || self.candidates != 0,
        }
    }

    /// Whether nothing is under way for the chunk, of whose copies these are all.
    pub(super) fn is_settled(&self, all: Copies) -> bool {
        let open = self.cached | self.flying | self.candidates | self.flawed;
        self.current == all && open == 0 && !self.writing
    }

    /// Of these copies, those that are neither current nor on their way to be.
    pub(super) fn stale(&self, copies: Copies) -> Copies {
        copies & !(self.current | self.flying)
    }

    /// These copies could not be written as a whole, or not be read: they are not current, nor
    /// safe, if there are others that may be, on drives that are `left`.
    pub(super) fn fail(&mut self, failed: Copies, left: Copies) {
        self.suspect &= !failed;
        let others = self.candidates & !failed;
        if others & left != 0 {
            self.candidates = others;
            // What is being written was to have the data of the copy that failed.
            self.spoiled |= self.flying;
            self.take_candidate(left);
        }
        if self.current & !failed & left != 0 {
            self.current &= !failed;
        }
        self.distrust(failed, left);
    }

    /// Of the candidates, the lowest on a drive that is `left` is the current copy, but none that
    /// is being written.
    pub(super) fn take_candidate(&mut self, left: Copies) {
        let rest = self.candidates & !self.flying;
        if rest != 0 && self.candidates & self.current == 0 {
            let readable = if rest & left != 0 { rest & left } else { rest };
            self.current = lowest(readable);
        }
    }

    /// Whether the current copy is none of those that will do, as it has failed, and one of these is
    /// being written.
    pub(super) fn awaits_candidate(&self) -> bool {
        self.candidates & self.current == 0 && self.candidates & self.flying != 0
    }

    /// A foreground write has failed on these copies, and on all that were tried: each has of each
    /// block what it had before or what was written, but no two need be the same. So one of them is
    /// current, if no other copy is on a drive that is `left`: one that can be read, if there is
    /// one.
    pub(super) fn tear(&mut self, failed: Copies, left: Copies) {
        let others = self.current & !failed;
        let torn = self.current & failed;
        let has_others = others & left != 0 || others != 0 && torn & left == 0;
        let sets = [self.torn & left, torn & left, torn];
        let best = sets.into_iter().find(|set| *set != 0);
        self.current = match has_others {
            true => others,
            false => lowest(best.unwrap_or(self.current)),
        };
        if !has_others {
            self.suspect = 0;
        }
        assert_eq!(
            self.flying & left,
            0,
            "a write fails when all that are left were tried"
        );
        self.spoiled = self.flying;
        self.unbuffered = true;
    }

    /// These copies may not be readable: they are not the safe ones if there are others on drives
    /// that are `left`.
    pub(super) fn distrust(&mut self, copies: Copies, left: Copies) {
        if self.safe & !copies & left != 0 {
            self.safe &= !copies;
        }
    }

    /// The newest data on a medium make all older ones useless, and settle which copy is taken if
    /// all candidates have them.
    pub(super) fn renew_safe(&mut self) {
        self.cached &= self.current;
        self.flawed &= self.current;
        let newest = self.current & !self.cached;
        if self.candidates & !newest == 0 {
            self.candidates = 0;
        }
        if self.candidates & self.current != 0 {
            // What was written from one of them will do as well.
            self.candidates |= newest;
        }
        if self.candidates != 0 {
            self.safe = self.candidates;
        } else if newest != 0 {
            self.safe = newest;
        }
    }

    /// Panics on a contradiction.
    pub(super) fn audit(&self) {
        let Chunk(chunk) = self.chunk;
        assert_ne!(self.current, 0, "no copy of chunk {chunk} is current");
        assert_ne!(self.safe, 0, "no copy of chunk {chunk} is safe");
        assert_eq!(self.spoiled & !self.flying, 0, "what is spoiled flies");
        let stale = self.cached & !self.current;
        assert_eq!(stale, 0, "a stale copy waits for a flush");
        let again = self.current & self.flying;
        assert_eq!(again, 0, "a current copy is written again");
        let both = self.current & self.suspect;
        assert_eq!(both, 0, "a current copy is under suspicion");
        let flawed = self.flawed & !self.current;
        assert_eq!(flawed, 0, "a stale copy is written anew anyway");
    }
}

impl Keyed for Unsettled {
    type Key = Chunk;

    #[inline]
    fn key(&self) -> Chunk {
        self.chunk
    }
}
