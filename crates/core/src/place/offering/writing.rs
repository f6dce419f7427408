//! Writes: of whole units wherever there is room, of all else where it lies; with all copies.
//!
//! A write that does not reach its place changes nothing: the data are elsewhere until it has. So
//! where no copy has landed, all are as they were; where some have, the others lie nowhere. What is
//! written in place may be anything if it fails: then one copy is kept, and the others lie nowhere,
//! as no two need be the same.

use std::ops::Range;
use std::sync::Arc;

use super::{Copies, Offering, Underway, Within, members};
use crate::ids::DriveId;
use crate::io::{DriveDone, Tag};
use crate::offer::Offer;
use crate::op::{Failure, Op, Status};
use crate::plan::{Instead, Plan, PlannedIo, StepIndex, Target};
use crate::request::{Freedom, Request};
use crate::units::Pba;

/// How many places are tried for a write before it fails.
const PLACES_MAX: u8 = 3;

/// Why units are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// For a request, with this key.
    Writing(usize),
    /// One that its drive lacks was read elsewhere.
    Renewal,
}

/// Whole units of a column that are written to wherever there is room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) drive: DriveId,
    /// The first of them.
    pub(super) first: u64,
    pub(super) units: u64,
    pub(super) within: Within,
    /// Whether less was offered before.
    pub(super) widened: bool,
    /// In how many places it has failed.
    pub(super) failed: u8,
    pub(super) cause: Cause,
}

impl Piece {
    fn range(&self) -> Range<u64> {
        self.first..self.first + self.units
    }
}

/// A copy of what is written where it lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct InPlace {
    drive: DriveId,
    writing: usize,
}

/// Units of a copy that were not written.
#[derive(Clone, Debug)]
struct Missed {
    copy: u8,
    units: Range<u64>,
    /// Whether they can be read, as far as is known.
    readable: bool,
}

/// Units of a column that are written for a request, with all copies.
#[derive(Clone, Debug)]
pub(super) struct Writing {
    pub(super) column: u64,
    pub(super) units: Range<u64>,
    /// Copies that are written.
    went: Copies,
    /// I/Os that have not ended.
    left: u32,
    in_place: bool,
    missed: Vec<Missed>,
}

impl Writing {
    /// The copies of a unit that were written, or still may be.
    fn landed(&self, unit: u64) -> Copies {
        let missed = self.missed.iter().filter(|one| one.units.contains(&unit));
        missed.fold(self.went, |landed, one| landed & !(1 << one.copy))
    }

    /// Of copies that all could not be written in place, the one that is kept: that can be read, if
    /// there is one, on a drive that is not gone.
    fn kept(&self, live: Copies) -> Copies {
        let readable = |copy: u8| {
            let mut missed = self.missed.iter();
            missed.any(|one| one.copy == copy && one.readable)
        };
        let kept = members(self.went).min_by_key(|copy| (live >> copy & 1 == 0, !readable(*copy)));
        1 << kept.expect("it went to some copy")
    }
}

impl Offering {
    /// A request writes: whole units wherever there is room, all else where it lies.
    pub(super) fn write(&mut self, request: &Request, out: &mut Plan) {
        for part in self.spread.striping.pieces(&request.extent) {
            let (column, blocks) = (part.column, part.at.0..part.at.0 + part.len.0);
            let units = self.units(&blocks);
            for drive in self.column_mut(column) {
                drive.spoil(&units);
            }
            let whole =
                blocks.start.is_multiple_of(self.chunk) && blocks.end.is_multiple_of(self.chunk);
            let fits = whole && units.end - units.start <= self.homes.longest_free();
            if let Some(within) = self.allowed(request.freedom).filter(|_| fits) {
                self.offer(column, units, within, out);
            } else {
                self.counts.in_place += 1;
                self.write_in_place(column, units, &blocks, out);
            }
        }
    }

    /// How far a write may go: as its client says, or as all may of which nothing is said; none if
    /// it stays.
    fn allowed(&self, freedom: Freedom) -> Option<Within> {
        match freedom {
            Freedom::Untold => Some(self.within).filter(|_| !self.told),
            Freedom::None => None,
            Freedom::Track => Some(Within::Track),
            Freedom::Group => Some(Within::Group),
            Freedom::Disk => Some(Within::Disk),
        }
    }

    /// Writes blocks of a column where their units lie; units that lie nowhere, where there is
    /// room.
    fn write_in_place(
        &mut self,
        column: u64,
        units: Range<u64>,
        blocks: &Range<u64>,
        out: &mut Plan,
    ) {
        let mut unit = units.start;
        while unit < units.end {
            let run = self.run(column, unit..units.end, |volume, column, unit| {
                volume.live_or_all(column, volume.lying(column, unit))
            });
            if run.copies == 0 {
                let end = unit + run.units.min(self.homes.longest_free());
                self.offer(column, unit..end, self.within, out);
                unit = end;
                continue;
            }
            let writing = self.begin(column, unit..unit + run.units, run.copies, true);
            for copy in members(run.copies) {
                let place = self.column(column)[usize::from(copy)].map.place(unit);
                let place = place.expect("it is a copy that lies somewhere");
                let (at, part) = self.part((unit, run.units), place, blocks);
                let drive = self.drive(column, copy);
                let underway = Underway::InPlace(InPlace { drive, writing });
                let planned = self.planned((drive, Op::Write), underway, Target::At(at), part);
                out.io(planned);
            }
            unit += run.units;
        }
    }

    /// Units of a column begin to be written; the key.
    fn begin(&mut self, column: u64, units: Range<u64>, went: Copies, in_place: bool) -> usize {
        self.writings.insert(Writing {
            column,
            units,
            went,
            left: went.count_ones(),
            in_place,
            missed: Vec::new(),
        })
    }

    /// A range write for each copy, which waits if too little is free on its drive.
    fn offer(&mut self, column: u64, units: Range<u64>, within: Within, out: &mut Plan) {
        let went = self.live_or_all(column, self.all());
        let (first, units) = (units.start, units.end - units.start);
        let writing = self.begin(column, first..first + units, went, false);
        for copy in members(went) {
            self.counts.range_writes += 1;
            let piece = Piece {
                drive: self.drive(column, copy),
                first,
                units,
                within,
                widened: false,
                failed: 0,
                cause: Cause::Writing(writing),
            };
            let write = self.range_write(piece, out);
            let drive = &mut self.drives[piece.drive.index()];
            if drive.may_go(units) {
                drive.promised += units;
                out.io(write);
            } else {
                let key = self.behind_a_gate(write, out);
                self.drives[piece.drive.index()].waits(key, units);
            }
        }
    }

    /// A write that is to wait; its key.
    fn behind_a_gate(&mut self, write: PlannedIo, out: &mut Plan) -> usize {
        self.counts.waited += 1;
        let gate = out.gate(Tag(write.tag.0));
        let index = out.io(write);
        out.after(gate, index);
        write.tag.0 as usize
    }

    pub(super) fn range_write(&mut self, piece: Piece, out: &mut Plan) -> PlannedIo {
        let region = self.region(&piece);
        let offer = Offer::list(vec![region], self.chunk);
        out.offers
            .push(Arc::new(offer.expect("a region is a range")));
        let drive = &self.drives[piece.drive.index()];
        let place = drive.map.place(piece.first);
        let near = place.unwrap_or_else(|| self.homes.place(piece.first));
        let near = near.min(drive.space.units() - piece.units);
        let target = Target::Among(Pba(near * self.chunk), out.offers.len() as u32 - 1);
        let blocks = piece.first * self.chunk..(piece.first + piece.units) * self.chunk;
        let underway = Underway::Write(piece);
        self.planned((piece.drive, Op::Write), underway, target, blocks)
    }

    /// The blocks that are offered to a piece, as far as they are free.
    fn region(&self, piece: &Piece) -> Range<u64> {
        let home = self.homes.place(piece.first) * self.chunk;
        let end = self.drives[piece.drive.index()].space.units() * self.chunk;
        match (piece.within, &self.geometry) {
            (Within::Track, Some(geometry)) => {
                let track = geometry.track(geometry.position_of(Pba(home)));
                let track = track.map(|track| track.first.0..(track.first + track.blocks).0);
                track.unwrap_or(home..home + self.chunk)
            }
            (Within::Track | Within::Group, _) => {
                let begin = home - home % self.group;
                begin..(begin + self.group).min(end)
            }
            (Within::Disk, _) => 0..end,
        }
    }

    /// A range write has ended, or its drive has nothing left of what it was offered.
    pub(super) fn written(&mut self, piece: Piece, done: &DriveDone, out: &mut Plan) {
        let at = done.at.0 / self.chunk;
        match done.status {
            Status::Done => self.landed(piece, at, out),
            Status::Failed(Failure::Exhausted) => self.widen(piece, out),
            Status::Failed(failure) => {
                let drive = &mut self.drives[piece.drive.index()];
                drive.promised -= piece.units;
                drive.retire(at..at + piece.units);
                let failed = piece.failed + 1;
                if failure == Failure::Medium && failed < PLACES_MAX {
                    self.again(Piece { failed, ..piece }, out);
                } else {
                    self.given_up(piece, out);
                }
            }
        }
    }

    /// What was written lies here from now on.
    fn landed(&mut self, piece: Piece, at: u64, out: &mut Plan) {
        let drive = &mut self.drives[piece.drive.index()];
        drive.promised -= piece.units;
        match piece.cause {
            Cause::Renewal => self.renewed(piece.drive, at),
            Cause::Writing(key) => {
                for (unit, place) in piece.range().zip(at..) {
                    drive.lands(unit, place);
                }
                self.copy_ended(key, out);
            }
        }
    }

    /// A range write finds no place.
    fn given_up(&mut self, piece: Piece, out: &mut Plan) {
        match piece.cause {
            Cause::Renewal => self.not_renewed(piece.drive),
            Cause::Writing(key) => {
                let (_, copy) = self.copy_on(piece.drive);
                let (units, readable) = (piece.range(), true);
                let missed = Missed {
                    copy,
                    units,
                    readable,
                };
                self.misses(key, missed, out);
            }
        }
    }

    /// What goes where it lies has ended.
    pub(super) fn written_in_place(&mut self, in_place: &InPlace, status: Status, out: &mut Plan) {
        let key = in_place.writing;
        if status.is_done() {
            return self.copy_ended(key, out);
        }
        let (_, copy) = self.copy_on(in_place.drive);
        let units = self.writings[key].units.clone();
        let readable = status != Status::Failed(Failure::Medium);
        let missed = Missed {
            copy,
            units,
            readable,
        };
        self.misses(key, missed, out);
    }

    /// Units of a copy could not be written. Others are enough, if each unit has one that was
    /// written, or still may be, on a drive that is not gone.
    fn misses(&mut self, key: usize, missed: Missed, out: &mut Plan) {
        let units = missed.units.clone();
        self.writings[key].missed.push(missed);
        let writing = &self.writings[key];
        let mut others = units.map(|unit| self.live(writing.column, writing.landed(unit)));
        if others.all(|others| others != 0) {
            out.instead = Instead::Tolerated;
        }
        self.copy_ended(key, out);
    }

    /// An I/O of what is written has ended. With the last one it is decided which copies there are.
    fn copy_ended(&mut self, key: usize, out: &mut Plan) {
        let writing = &mut self.writings[key];
        writing.left -= 1;
        if writing.left > 0 {
            return;
        }
        let writing = self.writings.remove(key);
        if writing.missed.is_empty() && writing.went == self.all() {
            return;
        }
        let column = writing.column;
        for unit in writing.units.clone() {
            let landed = self.live(column, writing.landed(unit));
            let stay = match landed {
                0 if writing.in_place => writing.kept(self.live(column, writing.went)),
                0 => continue,
                landed => landed,
            };
            let spoiled = if writing.in_place { writing.went } else { 0 };
            for copy in members(self.all() & !stay) {
                self.forget_copy(column, copy, unit, spoiled >> copy & 1 == 1, out);
            }
        }
    }

    /// A copy of a unit is not what others are: it lies nowhere, and is written again in spare
    /// time. Where it lay, anything may be if it is spoiled.
    fn forget_copy(&mut self, column: u64, copy: u8, unit: u64, spoiled: bool, out: &mut Plan) {
        let number = self.drive(column, copy);
        let is_gone = self.gone.has(number);
        let drive = &mut self.drives[number.index()];
        let place = drive.leaves(unit);
        if let Some(place) = place.filter(|_| spoiled) {
            drive.retire(place..place + 1);
        }
        if !is_gone {
            drive.miss(unit);
            out.wake.push(number);
        }
    }

    /// Nothing that was offered has room: more is.
    fn widen(&mut self, piece: Piece, out: &mut Plan) {
        self.drives[piece.drive.index()].promised -= piece.units;
        if let Some(within) = piece.within.wider() {
            self.counts.widened += u64::from(!piece.widened);
            let widened = true;
            let piece = Piece {
                within,
                widened,
                ..piece
            };
            return self.again(piece, out);
        }
        let half = piece.units / 2;
        if half == 0 {
            return self.wait_for_others(piece, out);
        }
        self.counts.halved += 1;
        if let Cause::Writing(key) = piece.cause {
            self.writings[key].left += 1;
        }
        let (first, units) = (piece.first + half, piece.units - half);
        self.again(
            Piece {
                units: half,
                ..piece
            },
            out,
        );
        let other = self.again_planned(
            Piece {
                first,
                units,
                ..piece
            },
            out,
        );
        out.io(other);
    }

    /// No unit is free that is not taken by writes under way, or left but for reads. When one of
    /// these has ended, one is. If there are none, the drive chooses by itself and has found
    /// nothing: the request fails.
    fn wait_for_others(&mut self, piece: Piece, out: &mut Plan) {
        let drive = &self.drives[piece.drive.index()];
        if drive.promised == 0 && drive.left == 0 {
            return self.given_up(piece, out);
        }
        let write = self.range_write(piece, out);
        let repeats = true;
        let key = self.behind_a_gate(PlannedIo { repeats, ..write }, out);
        self.drives[piece.drive.index()].waits_later(key, piece.units);
        out.instead = Instead::Step(StepIndex(out.steps.len() as u32 - 1));
    }

    /// The same is written once more.
    fn again(&mut self, piece: Piece, out: &mut Plan) {
        let again = self.again_planned(piece, out);
        out.instead = Instead::Step(out.io(again));
    }

    fn again_planned(&mut self, piece: Piece, out: &mut Plan) -> PlannedIo {
        self.drives[piece.drive.index()].promised += piece.units;
        let repeats = true;
        let write = self.range_write(piece, out);
        PlannedIo { repeats, ..write }
    }

    /// Recounts what of each writing has not ended.
    pub(super) fn audit_writings(&self) {
        let mut left = vec![
            0;
            self.writings
                .iter()
                .map(|(key, _)| key + 1)
                .max()
                .unwrap_or(0)
        ];
        for (_, one) in &self.underway {
            match one {
                Underway::InPlace(InPlace { writing, .. })
                | Underway::Write(Piece {
                    cause: Cause::Writing(writing),
                    ..
                }) => left[*writing] += 1,
                Underway::Read(_) | Underway::Write(_) => {}
            }
        }
        for (key, writing) in &self.writings {
            assert_eq!(left[key], writing.left, "I/Os of {writing:?}");
        }
    }
}
