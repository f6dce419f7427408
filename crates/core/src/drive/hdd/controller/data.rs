//! When the data of a write have come over the bus, so that its first sector can be written.
//!
//! ```text
//! the arm can be had      command | overhead | preparation | data
//! behind another write    command | of the extra disconnect: command, to leave | pause | to come back, preparation | data
//! the arm is busy         command | overhead | to leave | until it is free | to come back, preparation | data
//! ```
//!
//! A sector that passes before its data are there costs a revolution. The first needs a block; on drives with extra disconnects all of a short
//! write, or some of a long one. If a block takes longer on the bus than a sector on the medium, a later sector overtakes its data, unless the first one waits
//! for that long. So the data *are there* as soon as an access that begins then goes through without a lost revolution.

use super::super::firmware::Firmware;
use super::{Controller, Freed};
use crate::op::Op;
use crate::units::{Duration, Instant};

/// How the data of a write come that joins no other.
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

    /// When `len` blocks may begin to be written where a sector takes `sector` and a turn `turn`.
    #[inline]
    pub(in super::super) fn there(
        &self,
        firmware: &Firmware,
        len: u64,
        (sector, turn): (Duration, Duration),
    ) -> Instant {
        let block = firmware.write_block;
        let needed = firmware.needed_to_write(len);
        let begins = self.from + Duration(needed * block.0);
        if block <= sector {
            return begins;
        }
        // Of whole turns that are lost anyhow nothing can be saved.
        let behind = Duration((len - 1) * (block - sector).0 % turn.0);
        begins.max(self.from + block + behind)
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

    /// Whether a write that joins no other would get the segment of the write before.
    fn leaves_again(&self) -> bool {
        let (first, end) = (u64::MAX - 1, u64::MAX);
        let chosen = self.buffer.for_write(&self.firmware, first, end).segment;
        chosen.is_some_and(|index| {
            self.buffer.is_latest(index) && self.buffer.at(index).op == Op::Write
        })
    }
}
