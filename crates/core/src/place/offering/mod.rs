//! A host that offers: each write may land in what is free near where its data belong, and the drive, or the scheduler before it, chooses.
//!
//! What a trace would gain from range writes. The host keeps a map of where each unit of the volume lies. A write of whole units offers what is free on the track, in the group or on the drive of
//! their homes, lands there in one piece, and only then does the map name the new place and the old one become free. So data stay where the host wants
//! them, roughly, and the drive has a choice; eager writing has more choice and keeps no order, `linear` has none. Nothing is as near as a home: the wider the offer, the sooner
//! a write begins, and the more scattered is what is read in a row afterwards.
//!
//! Of each group (or of as many units as the shortest track has, with `within=track`) a share is free in the beginning ([`homes`]). If nothing near has room, the next wider region is offered: the group, then
//! the drive; then the write is cut in halves. What is longer than a region has room for in the beginning, or not whole units, goes where it lies, as an ordinary write.
//! Each write keeps its units from others until it has ended, so one that would need more than is left waits.
//!
//! A place that is read from when its unit moves becomes free only when that read has ended. What could not be written, or may have been, is never free again, up to a quarter of what was free. The map is in memory alone: after a power cut nothing is there.
//!
//! Source: Anand and others, "Avoiding file system micromanagement with range writes", OSDI 2008, sections 3 and 5, as a layer below any host. Cost: O(log n) for each unit;
//! eight bytes for each unit near one that was written, a bit for each that is near one that is free; two small allocations for a range write.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use slab::Slab;

use crate::contract::{Drives, Geometry, Placement, Shape};
use crate::ids::DriveId;
use crate::io::{Data, DriveDone, Tag};
use crate::measure::{Measure, Tell};
use crate::offer::{Offer, Writable};
use crate::op::{Failure, Op, Status};
use crate::plan::{Instead, Plan, PlannedIo, StepIndex, Target};
use crate::registry::{ConfigError, Knob, Knobs, Spec, VolumeEnv, VolumeError};
use crate::request::Request;
use crate::sorted::{Keyed, Sorted};
use crate::units::{BLOCK_BYTES, Blocks, Instant, Lba, Pba};

mod homes;
mod map;
mod space;
#[cfg(test)]
mod tests;

use homes::Homes;
use map::Map;
use space::Space;

/// So many places are tried for a write before it fails.
const PLACES_MAX: u8 = 3;

/// At most one in so many of the units that are free in the beginning is retired, so that there is always room.
const RETIRED_SHARE: u64 = 4;

static MEASURES: [Measure; 6] = [
    Measure::count(
        "range_writes",
        "writes",
        "writes that could land in what is free nearby",
    ),
    Measure::count(
        "in_place",
        "writes",
        "writes that were too long for that, or not of whole units, and went where their data were",
    ),
    Measure::count(
        "widened",
        "writes",
        "range writes for which what was offered first had no room",
    ),
    Measure::count(
        "halved",
        "writes",
        "range writes that were cut in halves, as no free run was long enough",
    ),
    Measure::count(
        "waited_for_room",
        "writes",
        "range writes that waited until enough was free",
    ),
    Measure::count(
        "read_pieces",
        "reads",
        "commands that clients' reads were cut into",
    ),
];

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

/// Whole units of the volume that are written to wherever there is room.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The first of them.
    first: u64,
    units: u64,
    within: Within,
    /// In how many places it has failed.
    failed: u8,
}

/// Reads under way from a unit of the drive.
#[derive(Clone, Copy, Debug)]
struct Readers {
    place: u64,
    count: u32,
    /// Its unit of the volume has moved: it becomes free with the last of them.
    left: bool,
}

impl Keyed for Readers {
    type Key = u64;

    #[inline]
    fn key(&self) -> u64 {
        self.place
    }
}

/// An I/O under way.
#[derive(Clone, Debug)]
enum Underway {
    /// Of these units of the drive.
    Read(Range<u64>),
    /// To where its units lie.
    InPlace,
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
    within: Within,
    /// Blocks of a group.
    group: u64,
    homes: Homes,
    /// Where tracks lie; none if nothing is offered by track.
    geometry: Option<Arc<dyn Geometry>>,
    map: Map,
    space: Space,
    underway: Slab<Underway>,
    /// Units of the drive that are read from.
    readers: Sorted<Readers>,
    /// Of these, such as become free with the last read.
    left: u64,
    /// Units that are never free again.
    retired: u64,
    /// Units that range writes under way take.
    promised: u64,
    /// Range writes that wait until enough is free, the oldest first, by the key of what is under way.
    waiting: VecDeque<usize>,
    /// One that waits from the next end of an I/O on.
    late: Option<usize>,
    counts: Counts,
}

impl Offering {
    fn boxed(knobs: &Knobs, env: &VolumeEnv<'_>) -> Result<Box<dyn Placement>, VolumeError> {
        let chunk = knobs.integer("unit_blocks");
        let group = (knobs.integer("group_mib") << 20) / BLOCK_BYTES;
        let within = match knobs.choice("within") {
            "track" => Within::Track,
            "group" => Within::Group,
            _ => Within::Disk,
        };
        let geometry = env.blueprint.geometry().filter(|_| within == Within::Track);
        if within == Within::Track && geometry.is_none() {
            let allowed = "group or disk: the drive has no tracks";
            return Err(ConfigError::value("within", "track", allowed).into());
        }
        let units = env.blueprint.capacity().0 / chunk;
        let longest = geometry.as_ref().map_or(group, |geometry| {
            shortest_track(&**geometry, env.blueprint.capacity())
        });
        let homes = Homes::new(units, longest / chunk, knobs.number("dilution"));
        let Some(homes) = homes else {
            return Err(no_room(knobs, within, longest.min(units * chunk)).into());
        };
        Ok(Box::new(Offering {
            geometry,
            ..Offering::blank(units, (chunk, group), homes, within)
        }))
    }

    /// Over a drive of so many units, with blocks of a unit and of a group, where nothing was written.
    fn blank(units: u64, (chunk, group): (u64, u64), homes: Homes, within: Within) -> Offering {
        Offering {
            chunk,
            within,
            group,
            homes,
            geometry: None,
            map: Map::new(homes),
            space: Space::new(units, chunk, homes),
            underway: Slab::new(),
            readers: Sorted::default(),
            left: 0,
            retired: 0,
            promised: 0,
            waiting: VecDeque::new(),
            late: None,
            counts: Counts::default(),
        }
    }

    /// Units of the volume that a request touches, and the part of each of them that it covers.
    fn units(&self, request: &Request) -> Range<u64> {
        let (start, end) = (request.extent.start.0, request.extent.end().0);
        start / self.chunk..end.div_ceil(self.chunk)
    }

    /// Reads blocks of the volume, as far as they lie anywhere.
    fn read(&mut self, request: &Request, out: &mut Plan) {
        let blocks = request.extent.start.0..request.extent.end().0;
        let units = self.units(request);
        let mut unit = units.start;
        while unit < units.end {
            let run = self.map.run(unit..units.end);
            if let Some(place) = run.place {
                let (at, part) = self.part((unit, run.units), place, &blocks);
                let places = place..place + run.units;
                self.read_begins(places.clone());
                let planned = self.planned(Op::Read, Underway::Read(places), Target::At(at), part);
                out.io(planned);
                self.counts.read_pieces += 1;
            }
            unit += run.units;
        }
    }

    /// A request writes: whole units wherever there is room, all else where it lies.
    fn write(&mut self, request: &Request, out: &mut Plan) {
        let blocks = request.extent.start.0..request.extent.end().0;
        let units = self.units(request);
        let whole =
            blocks.start.is_multiple_of(self.chunk) && blocks.end.is_multiple_of(self.chunk);
        if whole && units.end - units.start <= self.homes.longest_free() {
            return self.offer(self.piece(units), out);
        }
        self.counts.in_place += 1;
        self.write_in_place(units, &blocks, out);
    }

    fn piece(&self, units: Range<u64>) -> Piece {
        Piece {
            first: units.start,
            units: units.end - units.start,
            within: self.within,
            failed: 0,
        }
    }

    /// Writes blocks of the volume where their units lie; units that lie nowhere, where there is room.
    fn write_in_place(&mut self, units: Range<u64>, blocks: &Range<u64>, out: &mut Plan) {
        let mut unit = units.start;
        while unit < units.end {
            let run = self.map.run(unit..units.end);
            let Some(place) = run.place else {
                let end = unit + run.units.min(self.homes.longest_free());
                self.offer(self.piece(unit..end), out);
                unit = end;
                continue;
            };
            let (at, part) = self.part((unit, run.units), place, blocks);
            let planned = self.planned(Op::Write, Underway::InPlace, Target::At(at), part);
            out.io(planned);
            unit += run.units;
        }
    }

    /// Of blocks of the volume those in so many units from one on, and where they begin if the first of these lies there.
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

    /// An I/O of blocks of the volume.
    fn planned(
        &mut self,
        op: Op,
        underway: Underway,
        target: Target,
        blocks: Range<u64>,
    ) -> PlannedIo {
        let len = Blocks(blocks.end - blocks.start);
        PlannedIo {
            tag: Tag(self.underway.insert(underway) as u64),
            data: Some(Data::from(Lba(blocks.start))),
            ..PlannedIo::new(DriveId(0), op, target, len)
        }
    }

    /// A range write, which waits if too little is free.
    fn offer(&mut self, piece: Piece, out: &mut Plan) {
        self.counts.range_writes += 1;
        let write = self.range_write(piece, out);
        if self.waiting.is_empty() && self.fits(piece.units) {
            self.promised += piece.units;
            out.io(write);
            return;
        }
        let key = self.behind_a_gate(write, out);
        self.waiting.push_back(key);
    }

    /// A write that is to wait; its key.
    fn behind_a_gate(&mut self, write: PlannedIo, out: &mut Plan) -> usize {
        self.counts.waited += 1;
        let gate = out.gate(Tag(write.tag.0));
        let index = out.io(write);
        out.after(gate, index);
        write.tag.0 as usize
    }

    /// Whether so many units are free that nobody else is to have. Alone a write of several may always be tried: it is cut in halves.
    fn fits(&self, units: u64) -> bool {
        let alone = self.promised == 0 && units > 1;
        alone || self.promised + units <= self.space.free()
    }

    /// Lets range writes go that waited, as far as enough is free.
    fn admit(&mut self, out: &mut Plan) {
        while let Some(key) = self.waiting.front().copied() {
            let Underway::Write(piece) = self.underway[key] else {
                panic!("reads wait for no room");
            };
            if !self.fits(piece.units) {
                return;
            }
            self.waiting.pop_front();
            self.promised += piece.units;
            out.open(Tag(key as u64));
        }
    }

    fn range_write(&mut self, piece: Piece, out: &mut Plan) -> PlannedIo {
        let region = self.region(&piece);
        let offer = Offer::list(vec![region], self.chunk);
        out.offers
            .push(Arc::new(offer.expect("a region is a range")));
        let place = self.map.place(piece.first);
        let near = place.unwrap_or_else(|| self.homes.place(piece.first));
        let near = near.min(self.space.units() - piece.units);
        let target = Target::Among(Pba(near * self.chunk), out.offers.len() as u32 - 1);
        let blocks = piece.first * self.chunk..(piece.first + piece.units) * self.chunk;
        self.planned(Op::Write, Underway::Write(piece), target, blocks)
    }

    /// The blocks that are offered to a piece, as far as they are free.
    fn region(&self, piece: &Piece) -> Range<u64> {
        let home = self.homes.place(piece.first) * self.chunk;
        let end = self.space.units() * self.chunk;
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

    /// A range write has ended.
    fn written(&mut self, piece: Piece, done: &DriveDone, out: &mut Plan) {
        let at = done.at.0 / self.chunk;
        match done.status {
            Status::Done => {
                self.promised -= piece.units;
                for index in 0..piece.units {
                    self.space.take(at + index);
                    let old = self.map.put(piece.first + index, Some(at + index));
                    self.vacate(old);
                }
            }
            Status::Failed(Failure::Exhausted) => self.widen(piece, out),
            Status::Failed(failure) => {
                self.promised -= piece.units;
                self.retire(at..at + piece.units);
                let failed = piece.failed + 1;
                if failure == Failure::Medium && failed < PLACES_MAX {
                    self.again(Piece { failed, ..piece }, out);
                }
            }
        }
    }

    /// Nothing that was offered has room: more is.
    fn widen(&mut self, piece: Piece, out: &mut Plan) {
        self.promised -= piece.units;
        if let Some(within) = piece.within.wider() {
            self.counts.widened += u64::from(piece.within == self.within);
            return self.again(Piece { within, ..piece }, out);
        }
        let half = piece.units / 2;
        if half == 0 {
            return self.wait_for_others(piece, out);
        }
        self.counts.halved += 1;
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

    /// No unit is free that is not taken by writes under way, or left but for reads. When one of these has ended, one is. If there are none, the drive
    /// chooses by itself and has found nothing: the request fails.
    fn wait_for_others(&mut self, piece: Piece, out: &mut Plan) {
        if self.promised == 0 && self.left == 0 {
            return;
        }
        let write = self.range_write(piece, out);
        let repeats = true;
        self.late = Some(self.behind_a_gate(PlannedIo { repeats, ..write }, out));
        out.instead = Instead::Step(StepIndex(out.steps.len() as u32 - 1));
    }

    /// The same is written once more.
    fn again(&mut self, piece: Piece, out: &mut Plan) {
        let again = self.again_planned(piece, out);
        out.instead = Instead::Step(out.io(again));
    }

    fn again_planned(&mut self, piece: Piece, out: &mut Plan) -> PlannedIo {
        self.promised += piece.units;
        let repeats = true;
        let write = self.range_write(piece, out);
        PlannedIo { repeats, ..write }
    }

    /// What these units of the drive hold is not known, or may change: nobody has them any more, as long as enough others are free.
    fn retire(&mut self, units: Range<u64>) {
        let most = (self.space.units() - self.homes.volume()) / RETIRED_SHARE;
        for unit in units {
            // A drive that chooses places does not tell where it failed when it is gone or silent.
            if self.space.is_free(unit) && self.retired < most {
                self.space.take(unit);
                self.retired += 1;
            }
        }
    }

    /// A unit of the drive holds nothing of the volume any more.
    fn vacate(&mut self, place: Option<u64>) {
        let Some(place) = place else {
            return;
        };
        match self.readers.take(&place) {
            Some(readers) => {
                let left = true;
                self.readers.insert(Readers { left, ..readers });
                self.left += 1;
            }
            None => self.space.release(place),
        }
    }

    fn read_begins(&mut self, places: Range<u64>) {
        for place in places {
            let none = Readers {
                place,
                count: 0,
                left: false,
            };
            let readers = self.readers.take(&place).unwrap_or(none);
            let count = readers.count + 1;
            self.readers.insert(Readers { count, ..readers });
        }
    }

    fn read_ended(&mut self, places: Range<u64>) {
        for place in places {
            let readers = self.readers.take(&place);
            let readers = readers.expect("a read is under way there");
            let count = readers.count - 1;
            if count > 0 {
                self.readers.insert(Readers { count, ..readers });
            } else if readers.left {
                self.left -= 1;
                self.space.release(place);
            }
        }
    }

    /// The units that a request covers hold nothing from now on.
    fn discard(&mut self, request: &Request) {
        let (start, end) = (request.extent.start.0, request.extent.end().0);
        for unit in start.div_ceil(self.chunk)..end / self.chunk {
            let old = self.map.put(unit, None);
            self.vacate(old);
        }
    }
}

impl Placement for Offering {
    fn shape(&self) -> Shape {
        let chunk = Blocks(self.chunk);
        Shape {
            chunk,
            stripe: chunk,
            // As far as a write goes that finds no room nearby.
            places: self.space.units(),
            ..Shape::of(Blocks(self.homes.volume() * self.chunk))
        }
    }

    fn plan(&mut self, _now: Instant, request: &Request, _drives: &dyn Drives, out: &mut Plan) {
        match request.op {
            Op::Flush => {
                let nowhere = Target::At(Pba(0));
                out.io(PlannedIo::new(DriveId(0), Op::Flush, nowhere, Blocks(0)));
            }
            Op::Read => self.read(request, out),
            Op::Write => self.write(request, out),
            Op::Discard => {
                self.discard(request);
                self.admit(out);
            }
            Op::Seek => panic!("no client moves the arm"),
        }
    }

    fn writable(&self, _drive: DriveId) -> Option<&dyn Writable> {
        Some(&self.space)
    }

    fn done(
        &mut self,
        _now: Instant,
        tag: Tag,
        _drive: DriveId,
        done: &DriveDone,
        _drives: &dyn Drives,
        out: &mut Plan,
    ) {
        if done.op == Op::Flush {
            return;
        }
        match self.underway.remove(tag.0 as usize) {
            Underway::Read(places) => self.read_ended(places),
            Underway::InPlace => {}
            Underway::Write(piece) => self.written(piece, done, out),
        }
        self.admit(out);
        self.waiting.extend(self.late.take());
    }

    fn skipped(
        &mut self,
        _now: Instant,
        tag: Tag,
        _drive: DriveId,
        _drives: &dyn Drives,
        out: &mut Plan,
    ) {
        if let Underway::Write(piece) = self.underway.remove(tag.0 as usize) {
            self.promised -= piece.units;
        }
        self.admit(out);
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
        for (unit, place) in self.map.moved() {
            let is_free = self.space.is_free(place);
            assert!(!is_free, "unit {unit} lies at {place}, which is free");
        }
        self.space.audit();
        for readers in self.readers.iter() {
            let place = readers.place;
            assert!(!self.space.is_free(place), "{place} is read from and free");
        }
        let left = self.readers.iter().filter(|readers| readers.left).count();
        assert_eq!(left as u64, self.left, "units that were left");
        let under_way = self
            .underway
            .iter()
            .filter_map(|(key, underway)| match underway {
                Underway::Write(piece) if !self.waiting.contains(&key) => Some(piece.units),
                _ => None,
            });
        assert_eq!(
            under_way.sum::<u64>(),
            self.promised,
            "units are promised to nobody"
        );
    }
}

/// Blocks of the shortest track, of those on which cylinders begin.
fn shortest_track(geometry: &dyn Geometry, capacity: Blocks) -> u64 {
    let last = geometry.position_of(Pba(capacity.0 - 1)).cylinder;
    let first_of = |cylinder| {
        let blocks = geometry.cylinder_blocks(cylinder);
        let track = geometry.track(geometry.position_of(blocks.start))?;
        (!blocks.is_empty()).then_some(track.blocks.0)
    };
    let shortest = (0..=last).filter_map(first_of).min();
    shortest.unwrap_or(0)
}

fn no_room(knobs: &Knobs, within: Within, blocks: u64) -> ConfigError {
    let what = match within {
        Within::Track => "the shortest track",
        Within::Group | Within::Disk => "a group",
    };
    let given = knobs.number("dilution").to_string();
    let allowed = format!(
        "what leaves at least one unit of {} blocks free of {what}, which has {blocks} blocks, and one in use",
        knobs.integer("unit_blocks")
    );
    ConfigError::value("dilution", &given, &allowed)
}

pub(super) static SPEC: Spec<dyn Placement> = Spec {
    name: "offering",
    aliases: &["offer"],
    summary: "one drive, and a host with a map: a write offers what is free near its home, and lands where that is quickest",
    source: "Anand and others, Avoiding file system micromanagement with range writes, OSDI 2008",
    knobs: &[
        Knob::choice(
            "within",
            "group",
            &["track", "group", "disk"],
            "how far from its home a write may land",
        ),
        Knob::number(
            "dilution",
            1.25,
            1.001..=1e6,
            "units of the drive for each of the volume: 1.25 leaves a fifth of them free",
        ),
        Knob::integer(
            "group_mib",
            128,
            1..=1_048_576,
            "MiB of a group, which has its share of what is free",
        ),
        Knob::integer(
            "unit_blocks",
            8,
            1..=2_048,
            "512-byte blocks of a unit; what is not written as whole units goes where it lies",
        ),
    ],
    measures: &MEASURES,
    asks: &["oracle"],
    prepared: false,
    build: Offering::boxed,
};
