//! A host that offers: each write may land in what is free near where its data belong, and the
//! drive, or the scheduler before it, chooses.
//!
//! What a trace would gain from range writes. The host keeps a map of where each unit of the volume
//! lies. A write of whole units offers what is free on the track, in the group or on the drive of
//! their homes, lands there in one piece, and only then does the map name the new place and the old
//! one become free. So data stay where the host wants them, roughly, and the drive has a choice;
//! eager writing has more choice and keeps no order, `linear` has none. The wider the offer, the
//! sooner a write begins, and the more scattered is what is read in a row afterwards.
//!
//! Of each group (or of as many units as the shortest track has, with `within=track`) a share is
//! free in the beginning ([`homes`]). If nothing near has room, the next wider region is offered:
//! the group, then the drive; then the write is cut in halves. A client may say of a write how far
//! it may go ([`Request::freedom`]); of all others `within` decides, and with `within=told` they
//! stay. What is longer than a region has room for in the beginning, or not whole units, goes where
//! it lies, as an ordinary write.
//!
//! Over several drives units are striped over columns, as those of mirrors are, and each drive of a
//! column has a copy. Each copy is written by a range write of its own, which lands where that
//! drive's heads are: so the copies of a unit lie at different addresses, and each drive has a map.
//! A request is answered when all copies are written. A copy that was not, where another one was,
//! lies nowhere from then on: the map alone says which copies there are, and none is ever old.
//! Spare time writes it again ([`renewing`]).
//!
//! The map is in memory alone: after a power cut nothing is there.
//!
//! Source: Anand and others, "Avoiding file system micromanagement with range writes", OSDI 2008,
//! sections 3 and 5, as a layer below any host; which copy is read: Yu and others, "Trading
//! capacity for performance in a disk array", OSDI 2000, section 3.4. Cost: O(log n) for each unit
//! and copy; eight bytes for each copy near one that was written, a bit for each place that is near
//! one that was free; two small allocations for a range write.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use slab::Slab;

use super::copy_set::{self, Copies, members};
use super::gone::Gone;
use crate::contract::{
    Degraded, Drives, FewCopies, Geometry, OFFERED, Placement, Redundant, Shape,
};
use crate::ids::DriveId;
use crate::io::{DriveDone, Tag};
use crate::measure::Tell;
use crate::offer::Writable;
use crate::op::{Failure, Op, Status};
use crate::plan::{Instead, Plan, PlannedIo, Target};
use crate::registry::Spec;
use crate::request::Request;
use crate::units::{Blocks, Instant, Pba};

mod card;
mod homes;
mod map;
mod per_drive;
mod reading;
mod renewing;
mod space;
#[cfg(test)]
mod tests;
mod writing;

use card::{KNOBS, MEASURES, Spread};
use homes::Homes;
use per_drive::PerDrive;
use reading::Reading;
use writing::{InPlace, Piece, Writing};

/// Writes with copies that share so many blocks follow each other.
const ORDERED: Blocks = Blocks(8);

/// How far from its home a write may land.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Track,
    Group,
    Disk,
}

impl Within {
    fn wider(self) -> Option<Within> {
        match self {
            Within::Track => Some(Within::Group),
            Within::Group => Some(Within::Disk),
            Within::Disk => None,
        }
    }
}

/// An I/O under way.
#[derive(Clone, Debug)]
enum Underway {
    Read(Reading),
    /// To where its units lie.
    InPlace(InPlace),
    Write(Piece),
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    range_writes: u64,
    in_place: u64,
    widened: u64,
    halved: u64,
    waited: u64,
    read_pieces: u64,
}

struct Offering {
    /// Blocks of a unit.
    chunk: u64,
    /// How far writes may go of which nothing is said.
    within: Within,
    /// But of these none moves that lies anywhere.
    told: bool,
    /// Blocks of a group.
    group: u64,
    homes: Homes,
    /// Where tracks lie; none of a drive without tracks, where a track is a group.
    geometry: Option<Arc<dyn Geometry>>,
    spread: Spread,
    capacity: Blocks,
    /// By drive, column after column.
    drives: Vec<PerDrive>,
    /// Drives that nothing is sent to any more that is elsewhere too.
    gone: Gone,
    underway: Slab<Underway>,
    /// Units that are being written, each with all copies.
    writings: Slab<Writing>,
    counts: Counts,
}

/// Units of a column of which the same copies can be used, each in one piece on its drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// None if the units lie nowhere.
    copies: Copies,
    units: u64,
}

impl Offering {
    /// Over drives of so many units, with blocks of a unit and of a group, where nothing was
    /// written.
    fn blank(
        units: u64,
        (chunk, group): (u64, u64),
        homes: Homes,
        within: Within,
        spread: Spread,
    ) -> Offering {
        let drives = spread.striping.columns as u16 * u16::from(spread.copies);
        let drive = |_| PerDrive::new(units, chunk, homes);
        Offering {
            chunk,
            within,
            told: false,
            group,
            homes,
            geometry: None,
            spread,
            capacity: Blocks(homes.volume() * chunk * spread.striping.columns),
            drives: (0..drives).map(drive).collect(),
            gone: Gone::none(drives),
            underway: Slab::new(),
            writings: Slab::new(),
            counts: Counts::default(),
        }
    }

    /// The drive of a copy of everything in a column.
    fn drive(&self, column: u64, copy: u8) -> DriveId {
        let drive = column * u64::from(self.spread.copies) + u64::from(copy);
        DriveId(drive as u16)
    }

    /// Whose copy a drive has: the column, and the copy's number.
    fn copy_on(&self, drive: DriveId) -> (u64, u8) {
        let copies = u16::from(self.spread.copies);
        (u64::from(drive.0 / copies), (drive.0 % copies) as u8)
    }

    /// The drives of a column, by copy.
    fn column(&self, column: u64) -> &[PerDrive] {
        let copies = usize::from(self.spread.copies);
        &self.drives[column as usize * copies..][..copies]
    }

    fn column_mut(&mut self, column: u64) -> &mut [PerDrive] {
        let copies = usize::from(self.spread.copies);
        &mut self.drives[column as usize * copies..][..copies]
    }

    fn all(&self) -> Copies {
        copy_set::all(self.spread.copies)
    }

    /// Of these copies of a column those whose drives are not gone.
    fn live(&self, column: u64, copies: Copies) -> Copies {
        if !self.gone.any() {
            return copies;
        }
        let live = members(copies).filter(|copy| !self.gone.has(self.drive(column, *copy)));
        live.fold(0, |live, copy| live | 1 << copy)
    }

    /// The same, or all if no other will do: then the drive is asked, and says that it is gone.
    fn live_or_all(&self, column: u64, copies: Copies) -> Copies {
        match self.live(column, copies) {
            0 => copies,
            live => live,
        }
    }

    /// The copies of a unit that lie anywhere.
    fn lying(&self, column: u64, unit: u64) -> Copies {
        let drives = self.column(column).iter().zip(0..);
        let lying = drives.filter(|(drive, _)| drive.map.place(unit).is_some());
        lying.fold(0, |lying, (_, copy)| lying | 1 << copy)
    }

    /// The first of some units, and those that follow it in a row on each of its drives and have
    /// the same `choice` of copies.
    fn run(
        &self,
        column: u64,
        units: Range<u64>,
        choice: impl Fn(&Offering, u64, u64) -> Copies,
    ) -> Run {
        let drives = self.column(column);
        let runs = drives
            .iter()
            .map(|drive| drive.map.run(units.clone()).units);
        let row = runs.min().expect("a column has a drive");
        let copies = choice(self, column, units.start);
        let is_same = |unit: &u64| choice(self, column, *unit) == copies;
        let units = match drives.iter().all(PerDrive::is_sound) {
            true => row,
            false => {
                let behind = units.start + 1..units.start + row;
                1 + behind.take_while(is_same).count() as u64
            }
        };
        Run { copies, units }
    }

    /// Blocks of a column that lie in so many units from one on, and where they begin on a drive
    /// where the first of these lies there.
    fn part(
        &self,
        (unit, units): (u64, u64),
        place: u64,
        blocks: &Range<u64>,
    ) -> (Pba, Range<u64>) {
        let (first, behind) = (unit * self.chunk, (unit + units) * self.chunk);
        let part = first.max(blocks.start)..behind.min(blocks.end);
        (Pba(place * self.chunk + part.start - first), part)
    }

    /// The units in which blocks of a column lie.
    fn units(&self, blocks: &Range<u64>) -> Range<u64> {
        blocks.start / self.chunk..blocks.end.div_ceil(self.chunk)
    }

    /// An I/O of blocks of the volume, which lie there in the column of the drive.
    fn planned(
        &mut self,
        (drive, op): (DriveId, Op),
        underway: Underway,
        target: Target,
        blocks: Range<u64>,
    ) -> PlannedIo {
        let len = Blocks(blocks.end - blocks.start);
        let (column, _) = self.copy_on(drive);
        PlannedIo {
            tag: Tag(self.underway.insert(underway) as u64),
            data: Some(self.spread.striping.data_at(column, blocks.start)),
            ..PlannedIo::new(drive, op, target, len)
        }
    }

    /// The units that a request covers hold nothing from now on.
    fn discard(&mut self, request: &Request, out: &mut Plan) {
        for part in self.spread.striping.pieces(&request.extent) {
            let (start, end) = (part.at.0, part.at.0 + part.len.0);
            let units = start.div_ceil(self.chunk)..end / self.chunk;
            for drive in self.column_mut(part.column) {
                drive.spoil(&units);
                for unit in units.clone() {
                    drive.leaves(unit);
                    drive.believe(unit);
                }
                drive.admit(out);
            }
        }
    }

    /// A flush of all drives that are left. A client is told if what it has written may be on the
    /// others alone.
    fn flush(&self, out: &mut Plan) {
        if self.gone.any() && self.has_lost() {
            out.failure = Some(Failure::Gone);
        }
        for drive in self.gone.left() {
            let nowhere = Target::At(Pba(0));
            out.io(PlannedIo::new(drive, Op::Flush, nowhere, Blocks(0)));
        }
    }

    /// Whether some unit lies on drives alone that are gone.
    fn has_lost(&self) -> bool {
        (0..self.spread.striping.columns).any(|column| {
            let live = self.live(column, self.all());
            let Some(first) = members(live).next() else {
                return true;
            };
            let mut doubtful = self.column(column)[usize::from(first)].doubtful();
            doubtful.any(|unit| {
                let lying = self.lying(column, unit);
                lying != 0 && lying & live == 0
            })
        })
    }

    /// Chunks with few good copies, of those that lie anywhere. All that no drive is in doubt about
    /// are alike, column by column, so O(columns and chunks that were moved or are in doubt).
    fn count_few(&self) -> FewCopies {
        let mut few = FewCopies {
            chunk: Blocks(self.chunk),
            ..FewCopies::default()
        };
        for column in 0..self.spread.striping.columns {
            let live = self.live(column, self.all());
            let drives = self.column(column);
            let doubtful = drives.iter().flat_map(PerDrive::doubtful);
            let nowhere = drives.iter().flat_map(|drive| drive.map.nowhere());
            let special: BTreeSet<u64> = doubtful.chain(nowhere).collect();
            let others = self.homes.volume() - special.len() as u64;
            few.add(live.count_ones() as usize, others);
            for unit in special {
                if self.lying(column, unit) != 0 {
                    few.add(self.good(column, unit, live), 1);
                }
            }
        }
        few
    }

    /// How many of these copies of a unit have its newest data, or get them in spare time.
    fn good(&self, column: u64, unit: u64, live: Copies) -> usize {
        let drives = self.column(column);
        let live = || members(live).map(|copy| &drives[usize::from(copy)]);
        let is_sound =
            |drive: &&PerDrive| drive.map.place(unit).is_some() && !drive.is_doubtful(unit);
        let comes = |drive: &&PerDrive| drive.renews(unit);
        match live().filter(is_sound).count() {
            0 => 0,
            sound => {
                sound
                    + live()
                        .filter(|drive| !is_sound(drive) && comes(drive))
                        .count()
            }
        }
    }

    /// An I/O to a drive has ended, or never begins: others of its column may have room now.
    fn let_others_go(&mut self, drive: DriveId, out: &mut Plan) {
        let (column, _) = self.copy_on(drive);
        for drive in self.column_mut(column) {
            drive.admit(out);
            drive.wait_like_others();
        }
    }
}

impl Redundant for Offering {
    fn degraded(&self) -> Vec<Degraded> {
        self.gone.degraded(self.shape().losable)
    }

    fn few_copies(&self) -> Option<FewCopies> {
        (self.spread.copies > 1).then(|| self.count_few())
    }
}

impl Placement for Offering {
    fn shape(&self) -> Shape {
        let unit = Blocks(self.chunk);
        Shape {
            drives: self.drives.len() as u16,
            losable: u16::from(self.spread.copies) - 1,
            // Drives end two writes to the same blocks in different orders. Smaller units than this
            // are ordered by so many blocks, as mirrors are.
            chunk: match self.spread.copies {
                1 => unit,
                _ => unit.max(ORDERED),
            },
            stripe: unit,
            spare_time: self.spread.copies > 1,
            // As far as a write goes that finds no room nearby.
            places: self.drives[0].space.units(),
            moves_told: self.told,
            ..Shape::of(self.capacity)
        }
    }

    fn plan(&mut self, now: Instant, request: &Request, drives: &dyn Drives, out: &mut Plan) {
        match request.op {
            Op::Flush => self.flush(out),
            Op::Read => self.read(now, request, drives, out),
            Op::Write => self.write(request, out),
            Op::Discard => self.discard(request, out),
            Op::Seek => panic!("no client moves the arm"),
        }
    }

    fn writable(&self, drive: DriveId) -> Option<&dyn Writable> {
        Some(&self.drives[drive.index()].space)
    }

    fn withdrawn(&mut self, tag: Tag, drive: DriveId) {
        let Underway::Read(reading) = self.underway.remove(tag.0 as usize) else {
            panic!("reads alone have alternatives");
        };
        self.drives[drive.index()].read_ended(reading.places);
    }

    fn done(
        &mut self,
        now: Instant,
        tag: Tag,
        drive: DriveId,
        done: &DriveDone,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        self.gone.learn(drive, done.status);
        if done.op == Op::Flush {
            let gone = done.status == Status::Failed(Failure::Gone);
            if gone && !self.has_lost() {
                out.instead = Instead::Tolerated;
            }
            return;
        }
        match self.underway.remove(tag.0 as usize) {
            Underway::Read(reading) => {
                self.drives[drive.index()].read_ended(reading.places.clone());
                if !done.status.is_done() {
                    self.read_failed(now, &reading, done.status, drives, out);
                }
            }
            Underway::InPlace(in_place) => self.written_in_place(&in_place, done.status, out),
            Underway::Write(piece) => self.written(piece, done, out),
        }
        self.let_others_go(drive, out);
    }

    fn skipped(
        &mut self,
        _now: Instant,
        tag: Tag,
        drive: DriveId,
        _drives: &dyn Drives,
        out: &mut Plan,
    ) {
        match self.underway.remove(tag.0 as usize) {
            Underway::Write(piece) => self.never_written(piece),
            other => panic!("{other:?} waits for nothing that could fail"),
        }
        self.let_others_go(drive, out);
    }

    fn idle(&mut self, now: Instant, drive: DriveId, drives: &dyn Drives, out: &mut Plan) {
        self.renew(now, drive, drives, out);
    }

    fn redundant(&self) -> Option<&dyn Redundant> {
        Some(self)
    }

    fn tell(&self, tell: Tell<'_>) {
        let counts = &self.counts;
        let numbers = [
            counts.range_writes,
            counts.in_place,
            counts.widened,
            counts.halved,
            counts.waited,
            counts.read_pieces,
        ];
        for (measure, number) in MEASURES.iter().zip(numbers) {
            tell(measure, number);
        }
    }

    fn audit(&self) {
        for (drive, number) in self.drives.iter().zip(0..) {
            let under_way = self.underway.iter().filter_map(|(key, one)| match one {
                Underway::Write(piece)
                    if piece.drive == DriveId(number) && !drive.is_waiting(key) =>
                {
                    Some(piece.units)
                }
                _ => None,
            });
            drive.audit(under_way.sum());
        }
        self.audit_writings();
    }
}

pub(super) static SPEC: Spec<dyn Placement> = Spec {
    name: "offering",
    aliases: &["offer"],
    summary: "a host with a map, over one drive, stripes or mirrors: each write offers what is free near its home, and lands where that is quickest",
    source: "Anand and others, Avoiding file system micromanagement with range writes, OSDI 2008",
    knobs: KNOBS,
    measures: &MEASURES,
    asks: &["oracle", OFFERED],
    prepared: false,
    promises: "nothing: the map is in memory alone",
    build: card::build,
};
