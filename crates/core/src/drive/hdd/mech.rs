//! The mechanics: what an access costs from where the heads stand and which angle passes under
//! them.
//!
//! An access is a sequence of stretches, blocks that follow each other on one track without a gap:
//!
//! ```text
//! move (seek, at least the head switch if the head changes; settle before a write) | wait for the angle | sectors pass
//! ```
//!
//! The first stretch's move and wait are the access's seek and rotation; all the rest is transfer.
//! A skipped sector ends a stretch, so it passes under the head as a wait; a remapped one is a
//! stretch elsewhere. Source: rules 4 to 7 of the reference tables (DiskSim 4.0's `mech_g1`). Where
//! the reference jumps over a skipped sector without time, this does not: see
//! `docs/design/0003-disk-mechanics.md`.
//!
//! Costs a table look-up, a multiplication and [`Layout::spot`] per stretch; nothing is allocated.

use std::sync::Arc;

use super::layout::{Layout, Spot};
use super::parameters::Parameters;
use super::seek::SeekCurve;
use super::spindle::{Phase, Spindle};
use crate::op::{Cost, Op};
use crate::position::{ArmPosition, Arrival, Place};
use crate::registry::ConfigError;
use crate::units::{Angle, Blocks, Duration, Instant, Pba};

/// A drive's layout, arm and spindle: immutable, shared by a drive and the oracles about it.
#[derive(Clone, Debug)]
pub struct Mechanics {
    layout: Arc<Layout>,
    spindle: Spindle,
    curve: SeekCurve,
    head_switch: Duration,
    /// Added to every move before a write; the sum with any move was checked not to be negative.
    write_settle_ns: i64,
    start: ArmPosition,
    cylinders: u32,
}

/// Blocks on one track without a gap, and when they pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Where the first block lies.
    pub spot: Spot,
    /// How many blocks.
    pub len: Blocks,
    /// Seek, head switch and settle.
    pub movement: Duration,
    /// Wait for the first block.
    pub wait: Duration,
}

impl Stretch {
    /// From the begin of the move until the first `count` blocks have passed.
    #[inline]
    pub fn until(&self, count: u64) -> Duration {
        self.movement + self.wait + self.spot.sectors_pass(count)
    }
}

/// An access to the medium as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Media {
    /// What it costs; no overhead.
    pub cost: Cost,
    /// Where the arm is afterwards.
    pub arm: ArmPosition,
}

impl Mechanics {
    /// The mechanics that checked parameters describe.
    ///
    /// # Errors
    /// Parameters that contradict each other where only building shows it.
    pub fn new(drive: &Parameters) -> Result<Mechanics, ConfigError> {
        let start = libm::round(drive.start_angle_turns * 4_294_967_296.0) as u64 as u32;
        let spindle = Spindle::new(drive.rpm, Angle(start));
        let mechanics = Mechanics {
            layout: Arc::new(Layout::new(drive, &spindle)?),
            spindle,
            curve: SeekCurve::new(&drive.seek_ms, drive.cylinders),
            head_switch: Duration::from_ms_f64(drive.head_switch_ms),
            write_settle_ns: libm::round(drive.write_settle_ms * 1e6) as i64,
            start: ArmPosition {
                cylinder: drive.start_cylinder,
                surface: drive.start_head,
            },
            cylinders: drive.cylinders,
        };
        mechanics.check_settle(drive.write_settle_ms)?;
        Ok(mechanics)
    }

    /// The same, with the platters turned by this at time 0.
    pub fn turned(&self, by: Angle) -> Mechanics {
        Mechanics {
            spindle: self.spindle.turned(by),
            ..self.clone()
        }
    }

    /// The same, with the heads on the track of this block at time 0.
    pub fn resting(&self, at: Pba) -> Mechanics {
        Mechanics {
            start: self.layout.spot(at).arm_position(),
            ..self.clone()
        }
    }

    /// Refuses a negative settle that would end a move before it began.
    fn check_settle(&self, settle_ms: f64) -> Result<(), ConfigError> {
        let switch = (self.layout.heads() > 1).then_some(self.head_switch);
        // A move that takes no time needs no settle. Every distance counts: the nearest may take
        // none.
        let switch = switch.filter(|switch| *switch > Duration::ZERO);
        let moves = [self.curve.shortest(), switch].into_iter().flatten();
        let Some(shortest) = moves.min() else {
            return Ok(());
        };
        if shortest
            .0
            .checked_add_signed(self.write_settle_ns)
            .is_some()
        {
            return Ok(());
        }
        let allowed = format!("not below minus the shortest move, {shortest}");
        Err(ConfigError::value(
            "write_settle_ms",
            &settle_ms.to_string(),
            &allowed,
        ))
    }

    /// Where blocks lie.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What turns.
    #[inline]
    pub fn spindle(&self) -> &Spindle {
        &self.spindle
    }

    /// Where the heads are at time 0.
    pub fn start(&self) -> ArmPosition {
        self.start
    }

    /// Cylinders that the arm reaches.
    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// Seek, head switch and write settle from where the heads stand to another place.
    #[inline]
    pub fn movement(&self, from: ArmPosition, to: ArmPosition, op: Op) -> Duration {
        let seek = self.curve.time(from.cylinder.abs_diff(to.cylinder));
        let switch = if from.surface == to.surface {
            Duration::ZERO
        } else {
            self.head_switch
        };
        let moved = seek.max(switch);
        if op == Op::Write && moved > Duration::ZERO {
            Duration(moved.0.wrapping_add_signed(self.write_settle_ns))
        } else {
            moved
        }
    }

    /// What passes under heads that arrive at `at`, if the platters are `late` nanoseconds behind.
    #[inline]
    pub fn arrival(&self, at: Instant, late: i64) -> Arrival {
        Arrival {
            angle: self.spindle.phase_late(at, late).angle(),
            turn: self.spindle.revolution(),
        }
    }

    /// The least that a move over `distance` cylinders or more can take, whatever it is for.
    #[inline]
    pub fn seek_at_least(&self, distance: u32) -> Duration {
        let least = self.curve.seek_at_least(distance).0;
        Duration(least.saturating_add_signed(self.write_settle_ns.min(0)))
    }

    /// Time from `now` until the first block of `place` is under the heads.
    #[inline]
    pub fn positioning_time(
        &self,
        now: Instant,
        from: ArmPosition,
        op: Op,
        place: &Place,
    ) -> Duration {
        self.positioning_time_from(self.spindle.phase(now), from, op, place)
    }

    /// Time until the first block of `place` is under the heads, if `phase` is there now.
    #[inline]
    pub fn positioning_time_from(
        &self,
        phase: Phase,
        from: ArmPosition,
        op: Op,
        place: &Place,
    ) -> Duration {
        let movement = self.movement(from, place.arm_position(), op);
        let arrived = self.spindle.after(phase, movement);
        movement + self.spindle.wait(arrived, place.angle)
    }

    /// The first stretch of an access to at most `len` blocks, when `phase` is under the heads.
    #[inline]
    pub fn stretch(
        &self,
        phase: Phase,
        from: ArmPosition,
        op: Op,
        at: Pba,
        len: Blocks,
    ) -> Stretch {
        let spot = self.layout.spot(at);
        let movement = self.movement(from, spot.arm_position(), op);
        let arrived = self.spindle.after(phase, movement);
        Stretch {
            spot,
            len: len.min(spot.contiguous),
            movement,
            wait: self.spindle.wait(arrived, spot.place.angle),
        }
    }

    /// A whole access that begins at `now`.
    #[inline]
    pub fn access(&self, now: Instant, from: ArmPosition, op: Op, at: Pba, len: Blocks) -> Media {
        self.access_from(self.spindle.phase(now), from, op, at, len)
    }

    /// A whole access that begins when `phase` is under the heads.
    ///
    /// # Panics
    /// If the blocks are none or lie beyond the drive.
    #[inline]
    pub fn access_from(
        &self,
        phase: Phase,
        from: ArmPosition,
        op: Op,
        at: Pba,
        len: Blocks,
    ) -> Media {
        assert!(len > Blocks(0), "an access to no blocks");
        let first = self.stretch(phase, from, op, at, len);
        let cost = Cost {
            overhead: Duration::ZERO,
            seek: first.movement,
            rotation: first.wait,
            transfer: first.spot.sectors_pass(first.len.0),
        };
        let mut media = Media {
            cost,
            arm: first.spot.arm_position(),
        };
        let mut done = first.len;
        while done < len {
            let phase = self.spindle.after(phase, media.cost.total());
            let left = Blocks(len.0 - done.0);
            let next = self.stretch(phase, media.arm, op, at + done, left);
            media.cost.transfer += next.until(next.len.0);
            media.arm = next.spot.arm_position();
            done = Blocks(done.0 + next.len.0);
        }
        media
    }
}
