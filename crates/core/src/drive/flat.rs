//! What drives without mechanics have in common: every place is as near as every other.
//!
//! They have one cylinder and one surface, cut into tracks of at most [`TRACK_SLOTS`] slots, so that placements which search for
//! free slots work over them. Their oracle gives every position the price 0 and foresees one service time for all. O(1).

use crate::contract::Oracle;
use crate::freemap::{FreeMap, Room, Span, Tracks, Uncountable};
use crate::io::{Command, DriveDone};
use crate::op::{Cost, Op, Status};
use crate::position::{ArmPosition, Candidate, Choice, FreePlace, Place, Predicted, Search};
use crate::search;
use crate::sorted::Sorted;
use crate::units::{Angle, Blocks, Duration, Instant, Pba};

/// Slots on what stands for a track.
const TRACK_SLOTS: u64 = 64;

/// How many slots a drive without mechanics has.
pub(super) fn room(capacity: Blocks, slot: Blocks) -> Room {
    Room {
        tracks: capacity.0.div_ceil(slot.0 * TRACK_SLOTS),
        slots: capacity.0 / slot.0,
        on_track: TRACK_SLOTS,
    }
}

/// Where slots of a drive without mechanics lie.
///
/// # Errors
/// No slot fits, or there are too many to number.
pub(super) fn tracks(capacity: Blocks, slot: Blocks) -> Result<Tracks, Uncountable> {
    let track = slot.0 * TRACK_SLOTS;
    let all = (0..capacity.0).step_by(track as usize).map(|first| {
        let blocks = Blocks(track.min(capacity.0 - first));
        Span {
            first: Pba(first),
            angle: Angle(0),
            blocks,
            sectors: blocks.0 as u32,
            contiguous: blocks,
        }
    });
    let surfaces = u32::try_from(capacity.0.div_ceil(track)).map_err(|_| Uncountable::TooMany)?;
    Tracks::new(slot, surfaces, all, |_| false)
}

/// A command that succeeds `service` after it began.
pub(super) fn done(command: &Command, service: Duration) -> DriveDone {
    let Command { io, op, at, len } = *command;
    DriveDone {
        io,
        op,
        at,
        len,
        status: Status::Done,
        cost: Cost {
            transfer: service,
            ..Cost::default()
        },
        head: None,
    }
}

/// Every place is one place.
pub(super) struct FlatOracle {
    /// What a command is expected to take.
    service: Duration,
}

impl FlatOracle {
    /// Expects `service` of every command.
    pub(super) const fn new(service: Duration) -> FlatOracle {
        FlatOracle { service }
    }
}

impl Oracle for FlatOracle {
    fn head(&self) -> ArmPosition {
        ArmPosition::default()
    }

    fn cylinders(&self) -> u32 {
        1
    }

    fn locate(&self, _at: Pba) -> Place {
        Place {
            cylinder: 0,
            surface: 0,
            angle: Angle(0),
        }
    }

    fn seek_at_least(&self, _distance: u32) -> Duration {
        Duration::ZERO
    }

    fn positioning_time(&self, _now: Instant, _op: Op, _place: &Place) -> Duration {
        Duration::ZERO
    }

    fn predict(&self, now: Instant, _op: Op, _at: Pba, _len: Blocks) -> Predicted {
        Predicted {
            end: now + self.service,
            head: ArmPosition::default(),
        }
    }

    fn seek_at_least_after(&self, _distance: u32) -> Duration {
        Duration::ZERO
    }

    fn positioning_time_after(&self, _access: &Predicted, _op: Op, _place: &Place) -> Duration {
        Duration::ZERO
    }

    fn nearest(&self, now: Instant, waiting: &Sorted<Candidate>) -> Option<Choice> {
        search::nearest(self, now, waiting)
    }

    fn nearest_free(&self, search: &Search, free: &FreeMap) -> Option<FreePlace> {
        search::nearest_free(self, search, free)
    }

    fn started(&mut self, _now: Instant, _command: &Command) {}
}
