//! Compaction in spare time: the blocks of a track move into holes of fuller ones, until it is
//! empty.
//!
//! An eager write finds its slot on an empty track at once, however full the drive is. So in the
//! spare time of a drive, when no delayed copy waits either, the emptiest track of the *group*
//! nearest to the arm gives its blocks, one by one, to tracks of the same group that have at least
//! as many; a group is a cylinder, or neighbours if they have few tracks. A block is read, and when
//! the drive has spare time again written to the free slot that comes by first there: two I/Os like
//! all others, and nobody waits for more than the one under way. What was overwritten in the
//! meantime is dropped.
//!
//! It ends: blocks go to tracks with no fewer, so that the sum of squares grows with each. A track
//! is begun only if there are holes for all that lies on it, and one with something that cannot
//! move is left alone.
//!
//! Source: Wang, Anderson and Patterson, "Virtual log based file systems for a programmable disk",
//! OSDI 1999, section 3.3, whose compactor takes tracks at random. Cost: O(slots of a group) per
//! move; four bytes a slot, and two a track.

use std::collections::BTreeSet;

use super::map::NOWHERE;
use super::{EagerCopies, Purpose, Reason, Underway};
use crate::contract::{Arm, Oracle};
use crate::freemap::{FreeMap, Slot, Tracks};
use crate::ids::DriveId;
use crate::op::{Op, Status};
use crate::place::delayed::CopyOf;
use crate::plan::{Plan, Target};
use crate::units::{Blocks, Instant};

/// Tracks that a group has at least: few could hardly make up for one that is to be emptied.
const GROUP_TRACKS: u32 = 16;

/// Which tracks of a drive could be emptied.
pub(super) struct Compacted {
    /// By slot, the chunk that lay there last.
    chunks: Vec<u32>,
    /// Blocks of the volume on each track.
    live: Vec<u16>,
    /// Groups in which there may be something to do.
    groups: BTreeSet<u32>,
    moving: Option<Moving>,
}

/// A block on its way.
#[derive(Clone, Copy, Debug)]
struct Moving {
    of: CopyOf,
    from: Slot,
    stage: Stage,
    /// The copy has left that place since. If it lies there again, that is a newer version than the
    /// one which moves.
    has_left: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It is being read, or written.
    UnderWay,
    /// It was read, and waits for spare time.
    Read,
}

impl Compacted {
    /// What lies here could not be moved, and would be tried for ever: its group is left alone
    /// until something changes there.
    fn leave_alone(&mut self, tracks: &Tracks, slot: Slot) {
        let (track, _) = tracks.place(slot);
        self.groups.remove(&group_of(tracks, track));
    }

    /// Nothing lies here yet.
    fn new(tracks: &Tracks) -> Compacted {
        let numbers = (tracks.cylinders() * tracks.surfaces()) as usize;
        Compacted {
            chunks: vec![0; tracks.slots() as usize],
            live: vec![0; numbers],
            groups: BTreeSet::new(),
            moving: None,
        }
    }

    fn enter(&mut self, tracks: &Tracks, slot: Slot, chunk: u32) {
        self.chunks[slot.0 as usize] = chunk;
        let (track, _) = tracks.place(slot);
        self.live[track] += 1;
        self.groups.insert(group_of(tracks, track));
    }

    fn leave(&mut self, tracks: &Tracks, slot: Slot) {
        let (track, _) = tracks.place(slot);
        self.live[track] -= 1;
        self.groups.insert(group_of(tracks, track));
    }

    /// The nearest group in which there may be something to do.
    fn nearest_group(&self, group: u32) -> Option<u32> {
        let above = self.groups.range(group..).next();
        let below = self.groups.range(..group).next_back();
        let both = above.into_iter().chain(below);
        both.min_by_key(|found| found.abs_diff(group)).copied()
    }

    /// Tracks of its group that take what lies on this one.
    fn takers(&self, tracks: &Tracks, track: usize) -> impl Iterator<Item = usize> {
        let live = self.live[track];
        let takes = move |other: &usize| *other != track && self.live[*other] >= live;
        of_group(tracks, group_of(tracks, track)).filter(takes)
    }

    /// The emptiest track of a group, if all that lies on it can go to others.
    fn emptiest(&self, free: &FreeMap, group: u32) -> Option<usize> {
        let tracks = free.tracks();
        // A map sector, what is being written, or a place that cannot be used would stay.
        let moves = |track: &usize| {
            let taken = tracks.track(*track).slots - free.on_track(*track);
            taken > 0 && taken == self.live[*track]
        };
        let found = of_group(tracks, group).filter(moves);
        let track = found.min_by_key(|track| self.live[*track])?;
        let takers = self.takers(tracks, track);
        let holes: u32 = takers.map(|other| u32::from(free.on_track(other))).sum();
        (holes >= self.live[track].into()).then_some(track)
    }
}

/// Tracks of a group: whole cylinders.
fn group_tracks(tracks: &Tracks) -> usize {
    GROUP_TRACKS.next_multiple_of(tracks.surfaces()) as usize
}

fn group_of(tracks: &Tracks, track: usize) -> u32 {
    (track / group_tracks(tracks)) as u32
}

/// The tracks of a group.
fn of_group(tracks: &Tracks, group: u32) -> impl Iterator<Item = usize> + use<> {
    let (size, all) = (group_tracks(tracks), tracks.number(tracks.cylinders(), 0));
    let first = group as usize * size;
    first..all.min(first + size)
}

/// The slots of a track.
fn of_track(tracks: &Tracks, track: usize) -> impl Iterator<Item = Slot> + use<> {
    let track = tracks.track(track);
    (track.first_slot..track.first_slot + u32::from(track.slots)).map(Slot)
}

/// The slot that the heads reach first.
fn nearest(
    now: Instant,
    op: Op,
    oracle: &dyn Oracle,
    tracks: &Tracks,
    slots: impl Iterator<Item = Slot>,
) -> Option<Slot> {
    slots.min_by_key(|slot| {
        oracle.positioning_time(
            now,
            op,
            &oracle.locate(tracks.at(*slot)),
            tracks.slot_blocks(),
        )
    })
}

impl EagerCopies {
    /// Tracks are emptied from now on.
    pub(super) fn compact(&mut self) {
        let free = self.map.free.iter();
        self.compacted = free.map(|free| Compacted::new(free.tracks())).collect();
        for chunk in 0..self.geometry.chunks {
            for of in self.copies_of(chunk) {
                self.compact_moved(of, NOWHERE, self.slot(of));
            }
        }
    }

    /// A copy lies elsewhere now.
    pub(super) fn compact_moved(&mut self, of: CopyOf, old: Slot, new: Slot) {
        let drive = self.drive(of);
        let Some(compacted) = self.compacted.get_mut(drive.index()) else {
            return;
        };
        let tracks = self.map.free[drive.index()].tracks();
        if old != NOWHERE {
            compacted.leave(tracks, old);
            let moving = compacted.moving.as_mut();
            let moving = moving.filter(|moving| moving.of == of && moving.from == old);
            moving.into_iter().for_each(|moving| moving.has_left = true);
        }
        if new != NOWHERE {
            compacted.enter(tracks, new, of.chunk);
        }
    }

    /// What compaction has to do on a drive with nothing else to do.
    pub(super) fn spend_on_compaction(
        &mut self,
        now: Instant,
        drive: DriveId,
        oracle: &dyn Oracle,
        out: &mut Plan,
    ) {
        let Some(compacted) = self.compacted.get(drive.index()) else {
            return;
        };
        if let Some(moving) = compacted.moving {
            if moving.stage == Stage::UnderWay || self.move_on(now, drive, oracle, &moving, out) {
                return;
            }
            self.move_ended(drive);
        }
        self.begin_to_move(now, drive, oracle, out);
    }

    /// Reads a block of a track that can be emptied.
    fn begin_to_move(&mut self, now: Instant, drive: DriveId, oracle: &dyn Oracle, out: &mut Plan) {
        let Some((of, from)) = self.next_to_move(now, drive, oracle) else {
            return;
        };
        let mut read = self.read_copy(of, drive, from, Blocks(0), self.chunk);
        self.underway[read.tag.0 as usize].purpose = Purpose::MoveRead;
        read.awaited = false;
        out.io(read);
        let stage = Stage::UnderWay;
        self.compacted[drive.index()].moving = Some(Moving {
            of,
            from,
            stage,
            has_left: false,
        });
    }

    fn next_to_move(
        &mut self,
        now: Instant,
        drive: DriveId,
        oracle: &dyn Oracle,
    ) -> Option<(CopyOf, Slot)> {
        let compacted = &mut self.compacted[drive.index()];
        let free = &self.map.free[drive.index()];
        // Without an arm all groups are equally near.
        let cylinder = |arm: &dyn Arm| arm.track_cylinder(free.tracks(), arm.position());
        let cylinder = oracle.arm().map_or(0, cylinder);
        let here = group_of(free.tracks(), free.tracks().number(cylinder, 0));
        let track = loop {
            let group = compacted.nearest_group(here)?;
            if let Some(track) = compacted.emptiest(free, group) {
                break track;
            }
            compacted.groups.remove(&group);
        };
        let taken = of_track(free.tracks(), track).filter(|slot| !free.has(*slot));
        let from = nearest(now, Op::Read, oracle, free.tracks(), taken)?;
        let chunk = compacted.chunks[from.0 as usize];
        let here = |of: &CopyOf| self.drive(*of) == drive && self.slot(*of) == from;
        let of = self.copies_of(chunk).find(here);
        Some((of.expect("all that lies there is the volume's"), from))
    }

    /// Writes a block that was read into a hole, if it is still wanted and there is one.
    fn move_on(
        &mut self,
        now: Instant,
        drive: DriveId,
        oracle: &dyn Oracle,
        moving: &Moving,
        out: &mut Plan,
    ) -> bool {
        let Moving {
            of, from, has_left, ..
        } = *moving;
        let free = &self.map.free[drive.index()];
        let tracks = free.tracks();
        let takers = self.compacted[drive.index()].takers(tracks, tracks.place(from).0);
        let holes = takers.flat_map(|track| of_track(tracks, track));
        let holes = holes.filter(|slot| free.has(*slot));
        if has_left {
            return false;
        }
        let Some(slot) = nearest(now, Op::Write, oracle, tracks, holes) else {
            return false;
        };
        let target = Target::At(tracks.at(slot));
        self.map.free[drive.index()].take(slot);
        let underway = Underway {
            of,
            drive,
            slot,
            purpose: Purpose::Write(Reason::Move),
            failed: 0,
        };
        let whole = (Blocks(0), self.chunk);
        let mut write = self.planned(underway, Op::Write, target, whole);
        write.awaited = false;
        out.io(write);
        let stage = Stage::UnderWay;
        self.compacted[drive.index()].moving = Some(Moving { stage, ..*moving });
        true
    }

    /// A block was read that is to move.
    pub(super) fn move_read_ended(&mut self, read: &Underway, status: Status) {
        let is_read = status.is_done();
        let tracks = self.map.free[read.drive.index()].tracks();
        let compacted = &mut self.compacted[read.drive.index()];
        if !is_read {
            compacted.leave_alone(tracks, read.slot);
        }
        match &mut compacted.moving {
            Some(moving) if is_read && !moving.has_left => moving.stage = Stage::Read,
            moving => *moving = None,
        }
    }

    /// Whether a block that was written elsewhere may move there: it was not overwritten meanwhile.
    pub(super) fn move_holds(&self, write: &Underway) -> bool {
        let moving = self.compacted[write.drive.index()].moving;
        !moving.expect("it moves").has_left && !self.is_overtaken(write.of)
    }

    /// A block that was read could not be written elsewhere.
    pub(super) fn move_failed(&mut self, drive: DriveId) {
        let tracks = self.map.free[drive.index()].tracks();
        let compacted = &mut self.compacted[drive.index()];
        let from = compacted.moving.take().expect("it moves").from;
        compacted.leave_alone(tracks, from);
    }

    /// A move has ended, either way.
    pub(super) fn move_ended(&mut self, drive: DriveId) {
        self.compacted[drive.index()].moving = None;
    }

    /// Counts what lies on each track.
    pub(super) fn audit_compactor(&self) {
        if self.compacted.is_empty() {
            return;
        }
        let drives = self.compacted.iter();
        let mut counts: Vec<Vec<u16>> = drives.map(|one| vec![0; one.live.len()]).collect();
        for chunk in 0..self.geometry.chunks {
            for (_, drive, slot) in self.current(chunk) {
                let (track, _) = self.map.free[drive.index()].tracks().place(slot);
                counts[drive.index()][track] += 1;
                let known = self.compacted[drive.index()].chunks[slot.0 as usize];
                assert_eq!(known, chunk, "chunk in {slot:?} of {drive:?}");
            }
        }
        for (drive, counts) in self.compacted.iter().zip(&counts) {
            assert_eq!(&drive.live, counts, "blocks by track");
        }
    }
}
