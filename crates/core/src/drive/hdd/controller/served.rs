//! What the buffer serves without a way of the arm: reads that it has or that read-ahead comes to,
//! writes that go on with what is to be written, and writes that overwrite it there.

use super::super::access::{Access, Stage};
use super::super::buffer::State;
use super::{Controller, Owner};
use crate::position::Served;
use crate::units::{Duration, Instant, Pba};

impl Controller {
    /// Where a read of `now` may begin: what the buffer has, and the blocks that read-ahead comes
    /// to before a price would have the arm there. What is being read goes on for as long as a read
    /// needs.
    pub(in super::super) fn reads_served(&self, now: Instant, tell: &mut dyn FnMut(Served)) {
        let passes = |access: &Access| {
            access.stage == Stage::Passing && access.due <= now + self.firmware.command
        };
        let passes = self.access.as_ref().is_some_and(passes);
        let meanwhile = self.sectors_in(self.firmware.command);
        for (index, segment) in self.buffer.filled() {
            let reads_on = segment.state == State::Reading
                && self.owner == Owner::Itself(index)
                && segment.end < segment.ahead_max;
            // What is read meanwhile pushes the oldest blocks out.
            let (ahead, come) = match reads_on {
                true => (self.passes_at_hand(passes), meanwhile),
                false => (0, 0),
            };
            let end = segment.end + ahead.min(segment.ahead_max.saturating_sub(segment.end));
            let oldest = (segment.end + come).saturating_sub(segment.size);
            let mut from = segment.first.max(oldest);
            let mut piece = |from: u64, end: u64, ends: u64| {
                if from < end {
                    let begins = Pba(from)..Pba(end);
                    tell(Served {
                        begins,
                        ends: Pba(ends),
                    });
                }
            };
            // Where a read gets nothing that was written, it waits until that is on the medium.
            while let Some(others) = self.buffer.in_the_way(&self.firmware, &(from..end)) {
                piece(from, others.start, others.start);
                from = others.end.min(end);
            }
            piece(from, end, if reads_on { u64::MAX } else { end });
        }
    }

    /// Where a write may begin that continues what is to be written, or that is to overwrite it.
    pub(in super::super) fn writes_served(&self, tell: &mut dyn FnMut(Served)) {
        // Most of the time there is nothing, and then no segment is looked at.
        if !self.buffer.has_unwritten() {
            return;
        }
        for segment in self.buffer.all_unwritten() {
            let there = segment.may_overwrite(&self.firmware);
            if !there.is_empty() {
                tell(Served {
                    begins: Pba(there.start)..Pba(there.end),
                    ends: Pba(there.end),
                });
            }
            if segment.has_room(&self.firmware) {
                tell(Served {
                    begins: Pba(segment.end)..Pba(segment.end + 1),
                    ends: Pba(u64::MAX),
                });
            }
        }
    }

    /// How many blocks behind what is being read count as at hand: a price takes those that pass
    /// while a command is looked at for a turn away.
    fn passes_at_hand(&self, passes: bool) -> u64 {
        let overhead = self.firmware.command + self.firmware.read_miss.after(self.last_op);
        let meanwhile = 1 + self.sectors_in(overhead);
        self.near().min(meanwhile).max(u64::from(passes))
    }

    /// How many sectors of the track under the heads begin to pass in a time.
    fn sectors_in(&self, time: Duration) -> u64 {
        let sector = self.mechanics.layout().sector_time(self.arm.cylinder);
        time.0.div_ceil(sector.0.max(1))
    }

    /// For a read that begins with one of so many blocks behind what is being read the drive goes
    /// on with that.
    pub(super) fn near(&self) -> u64 {
        let buffer = &self.firmware.buffer;
        match &self.access {
            Some(access) if buffer.read_hits_within_turn => access.sectors(),
            _ => u64::from(buffer.read_hits_on_next_block || buffer.read_hits_within_turn),
        }
    }
}
