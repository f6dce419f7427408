//! The on-board buffer: which segment holds what, which one a command gets, how far read-ahead
//! goes.
//!
//! A segment holds one run of blocks, `first..end`. Its life:
//!
//! ```text
//!                     read misses                       all read, or stopped
//!        ┌───────────────────────────────▶ Reading ───────────────────────────┐
//!        │                                  ▲                                 ▼
//!      Empty ◀── a write elsewhere ──────── │ ── read goes on ───────────── Clean
//!        │       overlaps it                                                 ▲│
//!        │ write takes it                arm comes          all on medium    ││ write takes it
//!        └──────────────────▶ Dirty ───────────────▶ Writing ────────────────┘│
//!                               ▲ └◀── joined write, data late ──┘            │
//!                               └─────────────────────────────────────────────┘
//! ```
//!
//! A command gets the segment of highest value, and among equals the one that was used least
//! recently. The values rank as in DiskSim 4.0 (`disksim_diskcache.c`, segment selection
//! priorities): a hit beats a segment that may be overwritten; fresher data beat older data;
//! nothing useful is overwritten while something useless can be. Costs a walk over all segments for
//! every command.

use std::ops::Range;

use super::firmware::Firmware;
use crate::io::Unwritten;
use crate::op::Op;
use crate::position::Place;
use crate::units::{Blocks, Pba};

/// What a segment is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Holds nothing.
    Empty,
    /// Holds what the medium holds.
    Clean,
    /// Holds data that are not on the medium, and the arm is elsewhere.
    Dirty,
    /// Is being filled from the medium.
    Reading,
    /// Is being written to the medium.
    Writing,
}

/// A piece of the buffer.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) state: State,
    /// First block it holds.
    pub(super) first: u64,
    /// Behind the last block it holds.
    pub(super) end: u64,
    /// Behind the last block that is on the medium, if the segment was written.
    pub(super) written: u64,
    /// What it last served.
    pub(super) op: Op,
    /// Read-ahead goes on to here whatever comes.
    pub(super) ahead_min: u64,
    /// Read-ahead ends here.
    pub(super) ahead_max: u64,
    /// When it became dirty, in order of commands.
    pub(super) dirty_since: u64,
    /// Blocks that it can hold.
    pub(super) size: u64,
    /// The block that was next to be written when it was last looked up, and where it lies.
    pub(super) place: (u64, Place),
}

impl Segment {
    /// Whether it shares a block with `first..end`.
    pub(super) fn overlaps(&self, first: u64, end: u64) -> bool {
        first < self.end && self.first < end
    }

    /// Whether it holds data that the medium does not.
    pub(super) fn unwritten(&self) -> bool {
        matches!(self.state, State::Dirty | State::Writing)
    }

    /// Blocks that a write finds in it and may overwrite there: all that has yet to be written,
    /// until the arm comes.
    pub(super) fn may_overwrite(&self, firmware: &Firmware) -> Range<u64> {
        match firmware.buffer.hits_while_writing && self.state == State::Dirty {
            true => self.written..self.end,
            false => 0..0,
        }
    }

    /// Whether a write may continue what it has yet to write.
    pub(super) fn has_room(&self, firmware: &Firmware) -> bool {
        firmware.buffer.join_writes && self.unwritten() && self.end - self.written < self.size
    }

    /// Whether no more than `watermark` blocks are left to write, of those from `first` on.
    #[inline]
    pub(super) fn is_low(&self, first: u64, watermark: u64) -> bool {
        self.end - self.written.max(first).min(self.end) <= watermark
    }

    /// Lets blocks that do not fit any more go, oldest first.
    pub(super) fn slide(&mut self, end: u64) {
        self.first = self.first.max(end.saturating_sub(self.size));
    }
}

/// How a command meets the segment it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// Nothing of it is there.
    Miss,
    /// A read, and all of it is there.
    Whole,
    /// A read, and the first blocks of it are there.
    Partial,
    /// A write that continues the unwritten data of the segment.
    Join,
    /// A write, and the segment has yet to write all of its blocks.
    Overwrite,
    /// Unwritten data are in the way: it has to wait for them.
    Collision,
}

/// What a command gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) meets: Match,
    /// None if no segment can be had now.
    pub(super) segment: Option<usize>,
    /// The segment is being read ahead, so it can be had only if that may be stopped.
    pub(super) if_stoppable: bool,
}

/// All segments.
#[derive(Debug)]
pub(super) struct Buffer {
    segments: Vec<Segment>,
    /// Indices of segments, the one used least recently first: those that serve reads, and those
    /// for writes only.
    recency: [Vec<usize>; 2],
    /// The segment used last.
    latest: usize,
    /// Segments that hold unwritten data.
    unwritten: usize,
    /// Counts segments that became dirty.
    dirtied: u64,
    /// The segment for writes only, which answers no reads.
    dedicated: Option<usize>,
    /// From here on segments serve writes only. They answer reads of which they have all.
    first_for_writes: usize,
}

impl Clone for Buffer {
    fn clone(&self) -> Buffer {
        Buffer {
            segments: self.segments.clone(),
            recency: self.recency.clone(),
            ..*self
        }
    }

    /// Without allocation: both have as many segments.
    fn clone_from(&mut self, other: &Buffer) {
        self.segments.clone_from(&other.segments);
        self.recency.clone_from(&other.recency);
        (self.unwritten, self.dirtied) = (other.unwritten, other.dirtied);
        (self.dedicated, self.first_for_writes) = (other.dedicated, other.first_for_writes);
        self.latest = other.latest;
    }
}

impl Buffer {
    pub(super) fn new(firmware: &Firmware) -> Buffer {
        let parameters = &firmware.buffer;
        let (reads, count) = (parameters.for_reads(), parameters.count());
        let empty = |op| Segment {
            state: State::Empty,
            first: 0,
            end: 0,
            written: 0,
            op: Op::Read,
            ahead_min: 0,
            ahead_max: 0,
            dirty_since: 0,
            size: parameters.blocks_for(op),
            place: (u64::MAX, Place::default()),
        };
        let mut segments = vec![empty(Op::Read); reads];
        segments.resize(count, empty(Op::Write));
        Buffer {
            segments,
            latest: reads - 1,
            recency: [(0..reads).collect(), (reads..count).collect()],
            unwritten: 0,
            dirtied: 0,
            dedicated: parameters.dedicated_write_segment.then_some(0),
            first_for_writes: reads,
        }
    }

    #[inline]
    pub(super) fn at(&self, index: usize) -> &Segment {
        &self.segments[index]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, index: usize) -> &mut Segment {
        &mut self.segments[index]
    }

    /// Which segment a read of `first..end` gets. It waits for read-ahead if that comes to its
    /// first block as one of the next `near`.
    pub(super) fn for_read(&self, firmware: &Firmware, first: u64, end: u64, near: u64) -> Choice {
        let mut best = Best::NONE;
        for &index in self.may_answer() {
            let segment = &self.segments[index];
            if self.dedicated == Some(index) {
                if segment.unwritten() && segment.overlaps(first, end) {
                    return Choice::COLLISION;
                }
                continue;
            }
            let hit = segment.first <= first && first < segment.end;
            let has_all = segment.state != State::Empty && hit && end <= segment.end;
            if self.serves_writes_only(index) && !has_all {
                // It cannot be filled up from the medium.
                if segment.unwritten() && segment.overlaps(first, end) {
                    return Choice::COLLISION;
                }
                continue;
            }
            if segment.state == State::Empty || !hit {
                // Blocks read out of turn may have pushed out the place of the next one.
                let comes = segment.end
                    ..segment
                        .ahead_max
                        .max(segment.end + 1)
                        .min(segment.end + near);
                let comes = comes.contains(&first) && segment.first <= first;
                match segment.state {
                    State::Reading if comes => best.offer(5, index, Match::Partial),
                    State::Empty => best.offer(3, index, Match::Miss),
                    State::Clean => best.offer(2, index, Match::Miss),
                    State::Reading => best.offer(1, index, Match::Miss),
                    _ if segment.overlaps(first, end) => return Choice::COLLISION,
                    _ => {}
                }
                continue;
            }
            let on_writes = firmware.buffer.read_hits_on_writes;
            let value = match segment.state {
                // Two segments with unwritten data of the same blocks cannot both answer.
                State::Dirty if on_writes && best.value < 10 => 11,
                State::Writing if on_writes && best.value < 10 => 10,
                State::Dirty | State::Writing => return Choice::COLLISION,
                State::Reading => 9,
                _ if on_writes || segment.op == Op::Read => 8,
                _ => continue,
            };
            match end <= segment.end {
                true => best.offer(value, index, Match::Whole),
                false => best.offer(value - 4, index, Match::Partial),
            }
        }
        best.choice()
    }

    /// Segments that may answer reads, in the order of use. Before the first write nothing is in
    /// those for writes only.
    fn may_answer(&self) -> impl Iterator<Item = &usize> {
        let [others, writes_only] = &self.recency;
        let written = if self.dirtied > 0 {
            &writes_only[..]
        } else {
            &[]
        };
        others.iter().chain(written)
    }

    /// Segments that hold something for a read, or for one that waits until it is written
    /// ([`Buffer::in_the_way`]).
    pub(super) fn filled(&self) -> impl Iterator<Item = (usize, &Segment)> {
        let all = self.segments.iter().enumerate();
        all.filter(|(index, segment)| {
            segment.state != State::Empty && self.dedicated != Some(*index)
        })
    }

    /// The first run of these blocks that a read has to wait for, as it is to be written and does
    /// not answer.
    pub(super) fn in_the_way(
        &self,
        firmware: &Firmware,
        blocks: &Range<u64>,
    ) -> Option<Range<u64>> {
        // Most of the time nothing is to be written, and then no segment is looked at.
        if self.unwritten == 0 || blocks.is_empty() {
            return None;
        }
        let answer = firmware.buffer.read_hits_on_writes;
        let others = self.segments.iter().enumerate().filter(|(index, segment)| {
            let answers = answer && self.dedicated != Some(*index);
            segment.unwritten() && !answers && segment.overlaps(blocks.start, blocks.end)
        });
        let others = others.map(|(_, segment)| segment.first.max(blocks.start)..segment.end);
        others.min_by_key(|others| others.start)
    }

    /// Segments that hold data which the medium does not.
    pub(super) fn all_unwritten(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|segment| segment.unwritten())
    }

    /// Whether one more segment may hold what the medium does not.
    #[inline]
    pub(super) fn takes_another(&self, firmware: &Firmware) -> bool {
        self.unwritten < firmware.buffer.write_segments_max as usize
    }

    /// Which segment a write of `first..end` gets.
    pub(super) fn for_write(&self, firmware: &Firmware, first: u64, end: u64) -> Choice {
        let mut best = Best::NONE;
        let room = self.takes_another(firmware);
        let own = self.first_for_writes < self.segments.len();
        for &index in &self.recency[usize::from(own)] {
            let segment = &self.segments[index];
            if self.dedicated.is_some_and(|dedicated| dedicated != index) {
                continue;
            }
            match segment.state {
                State::Dirty | State::Writing => {
                    if first == segment.end && segment.has_room(firmware) {
                        let value = if segment.state == State::Writing {
                            7
                        } else {
                            6
                        };
                        best.offer(value, index, Match::Join);
                    } else if segment.may_overwrite(firmware).contains(&first) && end <= segment.end
                    {
                        best.offer(8, index, Match::Overwrite);
                    } else if segment.overlaps(first, end) {
                        return Choice::COLLISION;
                    }
                }
                _ if !room => {}
                State::Empty => best.offer(3, index, Match::Miss),
                State::Clean if segment.overlaps(first, end) => best.offer(4, index, Match::Miss),
                State::Clean => best.offer(2, index, Match::Miss),
                State::Reading => best.offer(1, index, Match::Miss),
            }
        }
        best.choice()
    }

    /// Whether a segment is beside those that reads fill.
    pub(super) fn serves_writes_only(&self, index: usize) -> bool {
        index >= self.first_for_writes
    }

    /// Whether `index` is the segment used last.
    pub(super) fn is_latest(&self, index: usize) -> bool {
        self.latest == index
    }

    /// A command uses segment `index`. A write empties clean segments elsewhere that hold any of
    /// its blocks.
    pub(super) fn used(&mut self, index: usize, op: Op, first: u64, end: u64) {
        let order = usize::from(self.serves_writes_only(index));
        let order = &mut self.recency[order];
        let place = order.iter().position(|other| *other == index);
        let place = place.expect("every segment has its place in the order of use");
        order[place..].rotate_left(1);
        self.latest = index;
        if op == Op::Write {
            for (other, segment) in self.segments.iter_mut().enumerate() {
                let clean = other != index && segment.state == State::Clean;
                if clean && segment.overlaps(first, end) {
                    segment.state = State::Empty;
                }
            }
        }
    }

    /// Segment `index` is overwritten by a write that begins at `first`.
    pub(super) fn begin_write(&mut self, index: usize, first: u64) {
        self.dirtied += 1;
        self.unwritten += 1;
        let segment = &mut self.segments[index];
        assert!(
            !segment.unwritten(),
            "a write would overwrite unwritten data"
        );
        segment.state = State::Dirty;
        (segment.first, segment.end, segment.written) = (first, first, first);
        (segment.ahead_min, segment.ahead_max) = (0, 0);
        segment.dirty_since = self.dirtied;
    }

    /// Everything in segment `index` is on the medium.
    pub(super) fn end_write(&mut self, index: usize, firmware: &Firmware) {
        let segment = &mut self.segments[index];
        assert_eq!(
            segment.state,
            State::Writing,
            "only what is being written is written"
        );
        segment.state = match firmware.buffer.read_hits_on_writes {
            true => State::Clean,
            false => State::Empty,
        };
        self.unwritten -= 1;
    }

    /// Segments that wait for the arm, each with when it became dirty.
    pub(super) fn dirty(&self) -> impl Iterator<Item = (u64, usize)> {
        let all = self.segments.iter().enumerate();
        let dirty = all.filter(|(_, segment)| segment.state == State::Dirty);
        dirty.map(|(index, segment)| (segment.dirty_since, index))
    }

    /// The same, to change them.
    pub(super) fn dirty_mut(&mut self) -> impl Iterator<Item = &mut Segment> {
        let all = self.segments.iter_mut();
        all.filter(|segment| segment.state == State::Dirty)
    }

    /// Holds this segment; of all others nothing that the medium does not have.
    pub(super) fn hold_alone(&mut self, index: usize, segment: &Segment) {
        assert_eq!(self.unwritten, 0, "another segment is to be written");
        self.segments[index].clone_from(segment);
        self.unwritten = usize::from(segment.unwritten());
    }

    /// Whether any segment holds data that the medium does not.
    pub(super) fn has_unwritten(&self) -> bool {
        self.unwritten > 0
    }

    /// Runs of blocks that the medium does not have.
    pub(super) fn runs_unwritten(&self) -> impl Iterator<Item = Unwritten> {
        let runs = self.all_unwritten().map(|segment| Unwritten {
            at: Pba(segment.written),
            len: Blocks(segment.end - segment.written),
        });
        runs.filter(|run| run.len.0 > 0)
    }

    /// Recounts what is counted.
    #[cfg(test)]
    pub(super) fn audit(&self) {
        let unwritten = self
            .segments
            .iter()
            .filter(|segment| segment.unwritten())
            .count();
        assert_eq!(unwritten, self.unwritten, "unwritten segments");
        let mut writes_only = self.segments[self.first_for_writes..].iter();
        let filled = writes_only.any(|segment| segment.state == State::Reading);
        assert!(!filled, "a segment for writes is filled from the medium");
        let mut order = self.recency.concat();
        order.sort_unstable();
        assert!(order.into_iter().eq(0..self.segments.len()), "order of use");
    }
}

/// The best offer so far; among equals the first.
struct Best {
    value: u32,
    choice: Choice,
}

impl Best {
    const NONE: Best = Best {
        value: 0,
        choice: Choice {
            meets: Match::Miss,
            segment: None,
            if_stoppable: false,
        },
    };

    #[inline]
    fn offer(&mut self, value: u32, index: usize, meets: Match) {
        if value > self.value {
            self.value = value;
            self.choice = Choice {
                meets,
                segment: Some(index),
                if_stoppable: value == 1,
            };
        }
    }

    fn choice(self) -> Choice {
        self.choice
    }
}

impl Choice {
    pub(super) const COLLISION: Choice = Choice {
        meets: Match::Collision,
        segment: None,
        if_stoppable: false,
    };
}
