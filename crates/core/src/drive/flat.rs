//! What drives without mechanics have in common: every place is as near as every other.
//!
//! They have one cylinder, cut into tracks of at most [`TRACK_SLOTS`] slots, so that placements
//! that search for free slots work over them. Their oracle has no arm: every position costs
//! nothing, and every command takes the same service time. O(1), but for a free slot O(tracks
//! without one).

use crate::contract::Oracle;
use crate::freemap::{FreeMap, Room, Span, Tracks, Uncountable};
use crate::io::{Command, DriveDone};
use crate::offer::Legal;
use crate::op::{Cost, Op, Status};
use crate::position::{Candidate, Choice, FreePlace, Landing, Place, Search};
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
    let cost = Cost {
        transfer: service,
        ..Cost::default()
    };
    command.ends(Status::Done, cost)
}

/// An oracle to which all places are equally near.
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
    fn locate(&self, _at: Pba) -> Place {
        Place::default()
    }

    fn positioning_time(&self, _now: Instant, _op: Op, _place: &Place, _len: Blocks) -> Duration {
        Duration::ZERO
    }

    fn service_time(&self, _now: Instant, _op: Op, _at: Pba, _len: Blocks) -> Duration {
        self.service
    }

    /// The oldest: all are equally near, and those of one cylinder stand in order of age.
    fn nearest(&self, _now: Instant, waiting: &Sorted<Candidate>) -> Option<Choice> {
        let cursor = waiting.seek(&Candidate::lowest_key(0));
        let time = Duration::ZERO;
        waiting.at(cursor).map(|_| Choice { cursor, time })
    }

    /// The lowest: all are equally near.
    fn nearest_free(&self, search: &Search, free: &FreeMap) -> Option<FreePlace> {
        let Search {
            now,
            low,
            before,
            then,
            ..
        } = *search;
        let in_time = then.is_none_or(|then| now + self.service <= then.by);
        if low > 0 || now >= before || !in_time {
            return None;
        }
        let slot = free.iter().next()?;
        let at = free.tracks().at(slot);
        Some(FreePlace {
            slot,
            at,
            start: now,
        })
    }

    /// The lowest, as there.
    fn nearest_offered(&self, now: Instant, before: Instant, legal: &Legal<'_>) -> Option<Landing> {
        let at = Pba(legal.first(0, u64::MAX)?);
        (now < before).then_some(Landing { at, start: now })
    }

    fn started(&mut self, _now: Instant, _command: &Command) {}
}
