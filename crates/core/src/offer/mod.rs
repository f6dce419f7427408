//! What a range write offers: the places among which it may land.
//!
//! A range write names no address. It offers ranges of blocks, and whoever carries it out puts its
//! data into one of them, in one piece and in order, where that is quickest; it learns where from
//! the completion. So the host decides what is near to what, and which blocks are free, and the
//! drive, which alone knows where its heads are, chooses among what is left. Source: Anand, Sen,
//! Krioukov, Popovici, Akella, Arpaci-Dusseau, Arpaci-Dusseau and Banerjee, "Avoiding file system
//! micromanagement with range writes", OSDI 2008.
//!
//! An [`Offer`] is a list of ranges, or one range with a bit for each of its blocks; both say the
//! same. The write begins at a multiple of its alignment, counted from block 0, and ends in the
//! range that it begins in. What of an offer is still to be had when it is looked at ([`Legal`])
//! depends on what others have taken meanwhile: [`Offers`] keeps that account, once for everybody
//! who carries out range writes.
//!
//! Costs: the next place where a write may begin is found in O(log n) of `n` ranges and a look at
//! each next one that has no room for it, or by words of bits.

use std::ops::Range;

use crate::bits;

mod table;
mod taken;

pub use self::table::{OfferId, Offers, Seen};
pub use self::taken::Taken;

/// Ranges in an offer at most. A range with bits takes the place of longer lists.
pub const RANGES_MAX: usize = 65_536;

/// Blocks of an offer with bits at most: two megabytes of bits.
pub const BITS_MAX: u64 = 1 << 24;

/// Why a range write is refused. Nothing is written then, and nothing is kept of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No range at all.
    #[error("an offer without a range; it needs at least one")]
    NoRange,
    /// A range ends where it begins, or before.
    #[error(
        "range {index} of an offer begins at block {begin} and ends at {end}; it must end behind its begin"
    )]
    Empty {
        /// Which, counted from 0.
        index: usize,
        /// Its first block.
        begin: u64,
        /// The block behind its last.
        end: u64,
    },
    /// A range begins before the one before it ends.
    #[error(
        "range {index} of an offer begins at block {begin}, before the range before it ends, at {end}; ranges must be in order and apart"
    )]
    OutOfOrder {
        /// Which, counted from 0.
        index: usize,
        /// Its first block.
        begin: u64,
        /// Where the one before it ends.
        end: u64,
    },
    /// More than may be listed.
    #[error(
        "an offer of {given} ranges; at most {RANGES_MAX} may be listed, and a range with a bit for each block says more"
    )]
    TooManyRanges {
        /// How many.
        given: usize,
    },
    /// More than may have bits.
    #[error("an offer with bits for {given} blocks; at most {BITS_MAX} may have them")]
    TooManyBits {
        /// How many.
        given: u64,
    },
    /// Its blocks have no numbers.
    #[error(
        "an offer with bits for {given} blocks from block {first} on; block numbers end at 2^64"
    )]
    BeyondNumbers {
        /// Where it begins.
        first: u64,
        /// Blocks with bits.
        given: u64,
    },
    /// More than its scheduler may list.
    #[error("an offer of {given} places; this scheduler lists them all, and takes {most} at most")]
    TooManyPlaces {
        /// How many.
        given: u64,
        /// How many may be listed.
        most: u64,
    },
    /// There are not as many words of bits as the blocks need.
    #[error("an offer with {given} words of bits for {blocks} blocks; they need {needed}")]
    Words {
        /// Blocks that it speaks of.
        blocks: u64,
        /// Words.
        given: usize,
        /// Words that they need.
        needed: u64,
    },
    /// It reaches beyond the volume.
    #[error("an offer that ends at block {end}; the volume has {capacity}")]
    Beyond {
        /// Where it ends.
        end: u64,
        /// Blocks of the volume.
        capacity: u64,
    },
    /// An alignment of 0.
    #[error("an offer with an alignment of 0 blocks; it must be at least 1")]
    Alignment,
    /// A write of nothing.
    #[error("a range write of 0 blocks; it must write at least 1")]
    Nothing,
    /// More than its drive writes at a time without being told where.
    #[error(
        "a range write of {given} blocks; this drive with zones takes at most {most}, and splits none"
    )]
    TooLong {
        /// Blocks to be written.
        given: u64,
        /// How many it takes.
        most: u64,
    },
    /// No range has room for what is to be written.
    #[error("no range of an offer has room for {len} blocks that begin at a multiple of {align}")]
    NoCandidate {
        /// Blocks to be written.
        len: u64,
        /// What the begin must be a multiple of.
        align: u64,
    },
    /// It was made when so much had not been heard of yet that nobody knows any more what was taken
    /// since.
    #[error(
        "an offer made at completion {epoch}; what was taken since is remembered from completion {oldest} on: offer what is free now"
    )]
    Stale {
        /// Completions that its host had heard of.
        epoch: u64,
        /// The oldest number that will do.
        oldest: u64,
    },
    /// Its host claims to have heard of completions that were not told.
    #[error("an offer made at completion {epoch}; only {told} were told")]
    Ahead {
        /// Completions that its host says it has heard of.
        epoch: u64,
        /// Completions that were told.
        told: u64,
    },
    /// The placement cannot carry out range writes.
    #[error(
        "the placement says by itself where each block of the volume goes; range writes are carried out with place = linear (eager placements put every write where it is quickest, without an offer)"
    )]
    Placement,
    /// Something above the placement cannot pass them on.
    #[error(
        "a read cache or a write buffer knows blocks by their addresses; range writes are carried out without them"
    )]
    Memory,
}

/// Where a range write may land.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    form: Form,
    align: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// Ranges in order, apart from each other.
    List(Box<[Range<u64>]>),
    /// Blocks from `first` on, of which those with a bit are offered.
    Bits { first: u64, words: Box<[u64]> },
}

impl Offer {
    /// An offer of ranges of blocks, given in order; a write begins at a multiple of `align`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn list(ranges: Vec<Range<u64>>, align: u64) -> Result<Offer, Refused> {
        if ranges.is_empty() {
            return Err(Refused::NoRange);
        }
        if ranges.len() > RANGES_MAX {
            return Err(Refused::TooManyRanges {
                given: ranges.len(),
            });
        }
        let mut before = 0;
        for (index, &Range { start: begin, end }) in ranges.iter().enumerate() {
            if end <= begin {
                return Err(Refused::Empty { index, begin, end });
            }
            if begin < before {
                let end = before;
                return Err(Refused::OutOfOrder { index, begin, end });
            }
            before = end;
        }
        Offer::of(Form::List(ranges.into()), align)
    }

    /// An offer of those of `blocks` blocks from `first` on whose bit is set, the lowest bit of the
    /// first word first.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn bits(first: u64, blocks: u64, words: Vec<u64>, align: u64) -> Result<Offer, Refused> {
        if blocks > BITS_MAX {
            return Err(Refused::TooManyBits { given: blocks });
        }
        let needed = blocks.div_ceil(64);
        if words.len() as u64 != needed {
            let given = words.len();
            return Err(Refused::Words {
                blocks,
                given,
                needed,
            });
        }
        if first.checked_add(needed * 64).is_none() {
            let given = blocks;
            return Err(Refused::BeyondNumbers { first, given });
        }
        let mut words = words;
        if let Some(last) = words.last_mut()
            && !blocks.is_multiple_of(64)
        {
            *last &= (1 << (blocks % 64)) - 1;
        }
        if words.iter().all(|word| *word == 0) {
            return Err(Refused::NoRange);
        }
        let words = words.into();
        Offer::of(Form::Bits { first, words }, align)
    }

    fn of(form: Form, align: u64) -> Result<Offer, Refused> {
        match align {
            0 => Err(Refused::Alignment),
            _ => Ok(Offer { form, align }),
        }
    }

    /// The offer without these runs of blocks, the highest first; none if nothing is left.
    fn without(&self, runs: impl Iterator<Item = Range<u64>>) -> Option<Offer> {
        let mut left = self.clone();
        for run in runs {
            left.form = match left.form {
                Form::Bits { first, mut words } => {
                    let end = first + words.len() as u64 * 64;
                    for block in run.start.max(first)..run.end.min(end) {
                        words[((block - first) / 64) as usize] &= !(1 << ((block - first) % 64));
                    }
                    Form::Bits { first, words }
                }
                Form::List(ranges) => {
                    let cut = |range: &Range<u64>| {
                        let below = range.start..range.end.min(run.start);
                        let above = range.start.max(run.end)..range.end;
                        let overlaps = range.start < run.end && run.start < range.end;
                        match overlaps {
                            true => [below, above],
                            false => [range.clone(), 0..0],
                        }
                    };
                    let parts = ranges.iter().flat_map(cut);
                    Form::List(parts.filter(|range| !range.is_empty()).collect())
                }
            };
        }
        let empty = match &left.form {
            Form::List(ranges) => ranges.is_empty(),
            Form::Bits { words, .. } => words.iter().all(|word| *word == 0),
        };
        (!empty).then_some(left)
    }

    /// In how many places a write of `len` blocks may begin, but at most `most` or a little more.
    fn places(&self, len: u64, most: u64) -> u64 {
        if let Form::List(ranges) = &self.form {
            let places = |range: &Range<u64>| {
                let first = range.start.next_multiple_of(self.align);
                let room = (range.end.saturating_sub(first)).checked_sub(len);
                room.map_or(0, |room| room / self.align + 1)
            };
            return ranges.iter().map(places).sum();
        }
        let (mut places, mut from) = (0, 0);
        while places <= most
            && let Some(at) = self.first(from, u64::MAX, len)
        {
            places += 1;
            from = at + 1;
        }
        places
    }

    /// What a write begins at a multiple of.
    pub fn align(&self) -> u64 {
        self.align
    }

    /// The block behind the last one that is offered.
    pub fn end(&self) -> u64 {
        match &self.form {
            Form::List(ranges) => ranges.last().map_or(0, |last| last.end),
            Form::Bits { first, words } => {
                let last = words.iter().rposition(|word| *word != 0).unwrap_or(0);
                first + last as u64 * 64 + 64 - u64::from(words[last].leading_zeros())
            }
        }
    }

    /// The lowest block from `from` on, below `until`, where a write of `len` blocks may begin.
    pub fn first(&self, from: u64, until: u64, len: u64) -> Option<u64> {
        match &self.form {
            Form::List(ranges) => self.first_listed(ranges, from, until, len),
            Form::Bits { first, words } => {
                let bits = Bits {
                    first: *first,
                    words,
                };
                let mut at = from.max(*first);
                loop {
                    at = bits.next(at, true)?.checked_next_multiple_of(self.align)?;
                    let hole = bits.next(at, false).unwrap_or(bits.end());
                    match hole {
                        _ if at >= until => return None,
                        hole if hole.checked_sub(at).is_some_and(|run| run >= len) => {
                            return Some(at);
                        }
                        hole => at = hole.max(at + 1),
                    }
                }
            }
        }
    }

    /// The highest block below `until`, not below `from`, where a write of `len` blocks may begin.
    pub fn last(&self, until: u64, from: u64, len: u64) -> Option<u64> {
        match &self.form {
            Form::List(ranges) => self.last_listed(ranges, until, from, len),
            Form::Bits { first, words } => {
                let bits = Bits {
                    first: *first,
                    words,
                };
                let lowest = from.max(*first);
                let mut before = until.min(bits.end());
                loop {
                    let at = bits.last_before(before, true)?;
                    let at = at - at % self.align;
                    if at < lowest {
                        return None;
                    }
                    let hole = bits.next(at, false).unwrap_or(bits.end());
                    if hole - at >= len {
                        return Some(at);
                    }
                    before = at;
                }
            }
        }
    }

    /// The range that a block lies in which is offered.
    fn range_of(&self, at: u64) -> Range<u64> {
        match &self.form {
            Form::List(ranges) => {
                let behind = ranges.partition_point(|range| range.end <= at);
                ranges[behind].clone()
            }
            Form::Bits { first, words } => {
                let first = *first;
                let bits = Bits { first, words };
                let hole = bits.last_before(at, false);
                hole.map_or(first, |hole| hole + 1)..bits.next(at, false).unwrap_or(bits.end())
            }
        }
    }

    fn first_listed(&self, ranges: &[Range<u64>], from: u64, until: u64, len: u64) -> Option<u64> {
        let behind = ranges.partition_point(|range| range.end <= from);
        for range in &ranges[behind..] {
            if range.start >= until {
                return None;
            }
            let at = range.start.max(from).checked_next_multiple_of(self.align)?;
            if at >= until {
                return None;
            }
            if range.end.checked_sub(at).is_some_and(|room| room >= len) {
                return Some(at);
            }
        }
        None
    }

    fn last_listed(&self, ranges: &[Range<u64>], until: u64, from: u64, len: u64) -> Option<u64> {
        let before = ranges.partition_point(|range| range.start < until);
        for range in ranges[..before].iter().rev() {
            if range.end <= from {
                return None;
            }
            let Some(highest) = range.end.checked_sub(len) else {
                continue;
            };
            let at = highest.min(until - 1);
            let at = at - at % self.align;
            if at >= range.start.max(from) {
                return Some(at);
            }
        }
        None
    }
}

/// Blocks with bits.
struct Bits<'a> {
    first: u64,
    words: &'a [u64],
}

impl Bits<'_> {
    /// The block behind the last one that has a bit.
    fn end(&self) -> u64 {
        self.first + self.words.len() as u64 * 64
    }

    /// The last block before `before` whose bit is set, or is not set.
    fn last_before(&self, before: u64, set: bool) -> Option<u64> {
        let bit = bits::last(self.words, before.checked_sub(self.first)?, set)?;
        Some(self.first + bit)
    }

    /// The first block from `at` on whose bit is set, or is not set.
    fn next(&self, at: u64, set: bool) -> Option<u64> {
        let bit = bits::first(self.words, at - self.first, set)?;
        Some(self.first + bit)
    }
}

/// Where writes may begin on a drive whatever is offered: in what a host with a map has free, or
/// where zones may be written.
///
/// So an offer is free space cut by ranges, and nothing of that is copied.
pub trait Writable: std::fmt::Debug {
    /// The lowest block from `from` on, below `until`, where a write of `len` blocks may begin.
    fn first(&self, from: u64, until: u64, len: u64) -> Option<u64>;

    /// The highest block below `until`, not below `from`, where it may.
    fn last(&self, until: u64, from: u64, len: u64) -> Option<u64>;

    /// How far a write may reach that begins at this block, where one may.
    fn reach(&self, at: u64) -> u64;

    /// Whether each write moves the places where the next ones may begin, so that a list of places
    /// is good for one decision.
    fn moves(&self) -> bool {
        false
    }
}

/// What is left of an offer at this instant: where a write of `len` blocks may begin.
#[derive(Clone, Copy, Debug)]
pub struct Legal<'a> {
    offer: &'a Offer,
    len: u64,
    taken: &'a Taken,
    /// Completions that its host had heard of.
    epoch: u64,
    /// Where writes may begin at all; none if everywhere.
    writable: Option<&'a dyn Writable>,
}

impl<'a> Legal<'a> {
    /// What is left of an offer that was made when its host had heard of `epoch` completions.
    pub fn new(offer: &'a Offer, len: u64, taken: &'a Taken, epoch: u64) -> Legal<'a> {
        Legal {
            offer,
            len,
            taken,
            epoch,
            writable: None,
        }
    }

    /// The same where writes may begin in certain places alone.
    #[must_use]
    pub fn within(self, writable: Option<&'a dyn Writable>) -> Legal<'a> {
        Legal { writable, ..self }
    }

    /// Blocks that are to be written.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// From the first block where the write could ever begin to the last where it could end,
    /// whatever others have taken; empty if it fits nowhere.
    pub fn span(&self) -> Range<u64> {
        let first = self.offer.first(0, u64::MAX, self.len);
        let last = self.offer.last(u64::MAX, 0, self.len);
        first.unwrap_or(0)..last.map_or(0, |last| last + self.len)
    }

    /// Whether the write may begin there.
    pub fn holds(&self, at: u64) -> bool {
        self.first(at, at + 1) == Some(at)
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.first(0, u64::MAX).is_none()
    }

    /// The lowest block from `from` on, below `until`, where the write may begin.
    pub fn first(&self, from: u64, until: u64) -> Option<u64> {
        let mut from = from;
        loop {
            let at = self.offer.first(from, until, self.len)?;
            if let Some(writable) = self.writable {
                let end = self.offer.range_of(at).end.min(until);
                let next = writable.first(at, end, self.len);
                if next != Some(at) {
                    from = next.unwrap_or(end);
                    continue;
                }
            }
            match self.taken.highest(&(at..at + self.len), self.epoch) {
                None => return Some(at),
                Some(others) => from = others.end,
            }
        }
    }

    /// The highest block below `until`, not below `from`, where the write may begin.
    pub fn last(&self, until: u64, from: u64) -> Option<u64> {
        let mut until = until;
        loop {
            let at = self.offer.last(until, from, self.len)?;
            if let Some(writable) = self.writable {
                let begin = self.offer.range_of(at).start.max(from);
                let next = writable.last(at + 1, begin, self.len);
                if next != Some(at) {
                    until = next.map_or(begin, |next| next + 1);
                    continue;
                }
            }
            match self.taken.lowest(&(at..at + self.len), self.epoch) {
                None => return Some(at),
                Some(others) => until = (others.start + 1).checked_sub(self.len)?,
            }
        }
    }
}

#[cfg(test)]
mod tests;
