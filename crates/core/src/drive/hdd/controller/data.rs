//! When the data of a write have come over the bus, so that its first sector can be written.
//!
//! ```text
//! the arm can be had      command | overhead | preparation | data
//! behind another write    command | of the extra disconnect: command, to leave | pause | to come back, preparation | data
//! the arm is busy         command | overhead | to leave | until it is free | to come back, preparation | data
//! ```
//!
//! A sector that passes before its data are there costs a revolution. The first needs a block; on
//! drives with extra disconnects all of a short write, or some of a long one. If a block takes
//! longer on the bus than a sector on the medium, a later sector overtakes its data, unless the
//! first one waits for that long. So the data *are there* as soon as an access that begins then
//! goes through without a lost revolution.

use super::super::firmware::Firmware;
use super::super::spindle::Spindle;
use super::{Bus, Controller, Freed};
use crate::op::Op;
use crate::units::{Angle, Duration, Instant};

/// How the data of a write come that finds nothing of its own to write before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Coming {
    /// When the first block begins to cross the bus.
    from: Instant,
    /// Before this the arm does not move for it.
    pub(in super::super) arm_ready: Instant,
}

impl Coming {
    /// Of no write.
    pub(in super::super) const NEVER: Coming = Coming {
        from: Instant::ZERO,
        arm_ready: Instant::ZERO,
    };

    /// When all of `len` blocks have crossed the bus, which is not before they may be written.
    #[inline]
    pub(in super::super) fn all(&self, firmware: &Firmware, len: u64) -> Instant {
        self.from + Duration(len * firmware.write_block.0)
    }

    /// When `len` blocks may begin to be written, as soon as `needed` of them are there, where a
    /// sector takes `sector` and a turn `turn`.
    #[inline]
    pub(in super::super) fn there(
        &self,
        firmware: &Firmware,
        [needed, len]: [u64; 2],
        (sector, turn): (Duration, Duration),
    ) -> Instant {
        let block = firmware.write_block;
        let begins = self.from + Duration(needed * block.0);
        if block <= sector {
            return begins;
        }
        // Of whole turns that are lost anyhow nothing can be saved.
        let behind = Duration((len - 1) * (block - sector).0 % turn.0);
        begins.max(self.from + block + behind)
    }
}

/// When a place passes for the first time once the arm has arrived and the data are there.
#[inline]
pub(in super::super) fn passes(
    spindle: &Spindle,
    [arrives, there]: [Instant; 2],
    angle: Angle,
) -> Instant {
    let next = |from| from + spindle.wait(spindle.phase(from), angle);
    let first = next(arrives);
    if first >= there {
        return first;
    }
    // Who is late by rounding is on time, but not for the pass that the data have missed.
    let again = next(there);
    let turn = spindle.revolution();
    match again.since(first).0 < turn.0 / 2 {
        true => again + turn,
        false => again,
    }
}

impl Controller {
    /// How the data of a write of `now` would come that finds the arm as told.
    pub(in super::super) fn coming(&self, now: Instant, freed: &Freed) -> Coming {
        let firmware = &self.firmware;
        let arrives = now + firmware.command;
        let overhead = firmware.write.after(self.last_op);
        let arm_ready = arrives + overhead;
        let at_once = firmware.buffer.accept_while_writing || freed.now <= arrives;
        let back = firmware.reselect + firmware.preparation;
        if !at_once {
            let left = arm_ready + firmware.write_disconnect;
            return Coming {
                from: left.max(freed.now) + back,
                arm_ready,
            };
        }
        match firmware.extra.filter(|_| self.leaves_again()) {
            Some(extra) => Coming {
                from: arrives + extra.command + extra.disconnect + extra.pause + back,
                arm_ready: arrives + extra.command + extra.seek,
            },
            None => Coming {
                from: arm_ready + firmware.preparation,
                arm_ready,
            },
        }
    }

    /// If the command is a write, its segment, and how the data come that this is to be written
    /// with when it has no others.
    pub(super) fn data_to_come(&self) -> Option<(usize, Coming)> {
        let job = self.job.as_ref().filter(|job| job.op == Op::Write)?;
        let index = job.segment?;
        let flowed = Duration(job.burst.counted * self.firmware.write_block.0);
        let from = match self.bus {
            Bus::Contact(due) => due,
            Bus::Leave(due) => {
                let extra = self.firmware.extra.filter(|_| job.pause_ahead);
                let pause = extra.map_or(Duration::ZERO, |extra| extra.pause);
                due + pause + self.contact_delay(job, 1)
            }
            Bus::Pause(due) => due + self.contact_delay(job, 1),
            Bus::Burst(_) => job.burst.since + flowed,
            Bus::Idle | Bus::Hold | Bus::End(_) => self.now,
        };
        let coming = Coming {
            from,
            arm_ready: job.arm_ready,
        };
        Some((index, coming))
    }

    /// When so many of these data are there that the command's segment can be written on at a
    /// cylinder: at once if it has others before them, and enough.
    pub(super) fn there(&self, index: usize, coming: &Coming, cylinder: u32) -> Instant {
        let segment = self.buffer.at(index);
        if segment.written < segment.end && self.enough_to_write(index) {
            return self.now;
        }
        let job = self.job();
        let left = job.end - segment.written;
        let needed = self.still_needed(job, index).max(1);
        let sector = self.mechanics.layout().sector_time(cylinder);
        let turn = self.mechanics.spindle().revolution();
        coming.there(&self.firmware, [needed, left], (sector, turn))
    }

    /// Whether a write that joins no other would get the segment of the write before.
    fn leaves_again(&self) -> bool {
        let (first, end) = (u64::MAX - 1, u64::MAX);
        let chosen = self.buffer.for_write(&self.firmware, first, end).segment;
        chosen.is_some_and(|index| {
            self.buffer.is_latest(index) && self.buffer.at(index).op == Op::Write
        })
    }
}
