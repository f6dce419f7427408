//! The arm at work on the medium for the buffer: one access, sector by sector.
//!
//! ```text
//! Moving ──▶ Waiting ──▶ Passing ─┬─▶ Passing     the next block follows without a gap
//!   ▲                     ▲       ├─▶ Waiting     behind a gap on the track, or a sector that could not be used
//!   │                     └───────┤
//!   └─────────────────────────────┘               the next block is on another track
//! ```
//!
//! Every state ends at `due`. Whether a passing sector can be used (room in the buffer for a read,
//! data for a write) is decided when it begins to pass, by the owner of this access; so is what its
//! end means. Where nothing can come in between, many sectors are taken in one step:
//! [`Access::run_length`].
//!
//! An access *in order* takes the wanted block and no other. One without latency begins with
//! whatever sector of the wanted rest of the track comes first, remembers one run of blocks read
//! out of turn, and jumps over it when the blocks before have come round (DiskSim 4.0,
//! `disk_buffer_sector_done`, "zero latency").

use std::ops::Range;

use super::layout::Spot;
use super::mech::Mechanics;
use crate::op::Op;
use crate::position::ArmPosition;
use crate::units::{Duration, Instant, Pba};

/// What the arm is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// On its way to the track of `at`.
    Moving,
    /// There; the sector of `at` has not come yet.
    Waiting,
    /// The sector of `at` passes.
    Passing,
}

/// An access to the medium.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) op: Op,
    pub(super) stage: Stage,
    /// When this stage ends.
    pub(super) due: Instant,
    /// Block that is sought, awaited or passing.
    pub(super) at: u64,
    /// The passing sector is read or written.
    pub(super) usable: bool,
    /// It serves no command that waits: read-ahead, or a write that was acknowledged.
    pub(super) background: bool,
    /// Where the first block of the stretch lies.
    spot: Spot,
    /// When that began to pass.
    since: Instant,
    /// Sectors of the stretch that have passed.
    passed: u64,
    /// Out of order: the blocks of the track. Empty if in order.
    track: Range<u64>,
    /// Out of order: blocks read or written before their turn.
    pub(super) early: Range<u64>,
}

impl Access {
    /// Sends the arm from `from` to the track of block `at`. The movement begins at `start`, or
    /// later so that it does not end before `least` has passed.
    #[inline]
    pub(super) fn begin(
        mechanics: &Mechanics,
        from: ArmPosition,
        op: Op,
        at: u64,
        start: Instant,
        least: Duration,
    ) -> Access {
        let spot = mechanics.layout().spot(Pba(at));
        let movement = mechanics.movement(from, spot.arm_position(), op);
        Access {
            op,
            stage: Stage::Moving,
            due: start + movement.max(least),
            at,
            usable: false,
            background: false,
            spot,
            since: start,
            passed: 0,
            track: 0..0,
            early: 0..0,
        }
    }

    /// Where the arm is, or is going.
    #[inline]
    pub(super) fn arm_position(&self) -> ArmPosition {
        self.spot.arm_position()
    }

    /// Sectors of the track that the arm is on, or is going to.
    #[inline]
    pub(super) fn sectors(&self) -> u64 {
        self.spot.sectors.into()
    }

    /// Whether sectors are taken out of order on this track.
    #[inline]
    pub(super) fn out_of_order(&self) -> bool {
        !self.track.is_empty()
    }

    /// Behind the last block of this track; only out of order.
    #[inline]
    pub(super) fn track_end(&self) -> u64 {
        self.track.end
    }

    /// The arm has arrived: waits for block `at`.
    #[inline]
    pub(super) fn arrive_in_order(&mut self, mechanics: &Mechanics) {
        self.track = 0..0;
        self.await_block(mechanics, self.due);
    }

    /// The arm has arrived: waits for the first sector to come of those from `at` to the end of the
    /// track, or of `at` itself if none of them is under the heads.
    pub(super) fn arrive_anywhere(&mut self, mechanics: &Mechanics) {
        let span = mechanics.layout().track_span(Pba(self.at));
        self.track = span.start.0..span.end.0;
        // A block on a track of spares only has no track of its own to turn on.
        if !self.track.contains(&self.at) {
            self.track = 0..0;
        } else if let Some(first) = self.under_heads(mechanics) {
            self.move_to(mechanics, first);
        }
        self.early = self.track.end..self.track.end;
        self.await_block(mechanics, self.due);
    }

    /// The first block to begin among those from `at` on, if the heads have come down behind the
    /// begin of `at`.
    fn under_heads(&self, mechanics: &Mechanics) -> Option<u64> {
        let spindle = mechanics.spindle();
        let phase = spindle.phase(self.due);
        let to_wanted = spindle.wait(phase, self.spot.place.angle);
        let turn = self.spot.sectors_pass(self.spot.sectors.into());
        let passed = Duration(turn.0.saturating_sub(to_wanted.0));
        let rest = u64::from(self.spot.sectors - self.spot.sector);
        // Sectors from `at` on that have begun to pass, the one under the heads included.
        let begun = self.spot.sectors_within(passed) + 1;
        if to_wanted == Duration::ZERO || begun >= rest {
            return None;
        }
        let sector = u64::from(self.spot.sector) + begun;
        // Stretch by stretch: within one, block by block is sector by sector.
        let mut block = self.at;
        while block < self.track.end {
            let spot = mechanics.layout().spot(Pba(block));
            let further = sector.saturating_sub(spot.sector.into());
            let here = spot.arm_position() == self.spot.arm_position();
            if here && further < spot.contiguous.0 {
                return Some(block + further);
            }
            block += spot.contiguous.0;
        }
        None
    }

    /// Block `at` begins to pass; `usable` says whether it is read or written.
    #[inline]
    pub(super) fn begin_sector(&mut self, usable: bool) {
        self.stage = Stage::Passing;
        self.usable = usable;
        self.due = self.since + self.spot.sectors_pass(self.passed + 1);
    }

    /// How many sectors, the passing one included, end before `horizon`; at most `most`, which is
    /// at least 1, and none beyond the stretch.
    #[inline]
    pub(super) fn run_length(&self, horizon: Instant, most: u64) -> u64 {
        let most = most.min(self.spot.contiguous.0 - self.passed);
        let all = self.since + self.spot.sectors_pass(self.passed + most);
        if all < horizon {
            return most;
        }
        let span = Duration(horizon.since(self.since).0 - 1);
        (self.spot.sectors_within(span) - self.passed).max(1)
    }

    /// The least time that a sector of this track takes to pass.
    #[inline]
    pub(super) fn sector_passes(&self) -> Duration {
        self.spot.sectors_pass(1)
    }

    /// `count` sectors have passed; when the last of them ended.
    #[inline]
    pub(super) fn pass(&mut self, count: u64) -> Instant {
        self.passed += count;
        self.at += count;
        self.due = self.since + self.spot.sectors_pass(self.passed);
        self.due
    }

    /// Out of order: `count` sectors have passed, and the one behind them; when that ended.
    pub(super) fn skip(&mut self, count: u64) -> Instant {
        self.passed += count;
        self.at += count;
        self.due = self.since + self.spot.sectors_pass(self.passed + 1);
        self.due
    }

    /// In order, and the blocks so far are used: goes on with block `at`. False if that is on
    /// another track, to which the owner has to send the arm.
    #[inline]
    pub(super) fn follow(&mut self, mechanics: &Mechanics) -> bool {
        if self.passed < self.spot.contiguous.0 {
            return true;
        }
        let spot = mechanics.layout().spot(Pba(self.at));
        if spot.arm_position() != self.spot.arm_position() {
            return false;
        }
        (self.spot, self.passed) = (spot, 0);
        self.await_block(mechanics, self.due);
        true
    }

    /// Whether a block passes under the heads on this track: one that was remapped to another one
    /// does not.
    pub(super) fn passes(&self, mechanics: &Mechanics, block: u64) -> bool {
        mechanics.layout().spot(Pba(block)).arm_position() == self.spot.arm_position()
    }

    /// Waits for block `wanted` of this track, as it was missed.
    pub(super) fn retry(&mut self, mechanics: &Mechanics, wanted: u64) {
        let now = self.due;
        self.move_to(mechanics, wanted);
        self.await_block(mechanics, now);
    }

    /// Out of order: goes on with the block behind the passing one, round the track.
    pub(super) fn turn(&mut self, mechanics: &Mechanics) {
        let end = self.due;
        let next = if self.at + 1 < self.track.end {
            self.at + 1
        } else {
            self.track.start
        };
        self.passed += 1;
        if next == self.at + 1 && self.passed < self.spot.contiguous.0 {
            self.at = next;
            return;
        }
        let mut round = (next..self.track.end).chain(self.track.start..next);
        let next = round.find(|block| self.passes(mechanics, *block));
        let next = next.unwrap_or(self.at);
        self.move_to(mechanics, next);
        self.await_block(mechanics, end);
    }

    fn move_to(&mut self, mechanics: &Mechanics, at: u64) {
        self.at = at;
        self.spot = mechanics.layout().spot(Pba(at));
        self.passed = 0;
    }

    /// Waits from `now` on until the stretch begins to pass.
    #[inline]
    fn await_block(&mut self, mechanics: &Mechanics, now: Instant) {
        let spindle = mechanics.spindle();
        self.stage = Stage::Waiting;
        self.since = now + spindle.wait(spindle.phase(now), self.spot.place.angle);
        self.due = self.since;
    }
}
