//! Reads: of each unit the copy that is quickest to reach, and another one if that cannot be read.
//!
//! Units that lie in a row on all drives that have them are read in one piece, from the nearest
//! copy on an idle drive; if none is idle, all are asked, and the first that can begin takes it.
//! Copies that are in doubt are read last.
//!
//! If no copy has all units of a read that has failed, each unit is read by itself: another one may
//! be bad on each drive.

use std::ops::Range;

use super::{Copies, Offering, Underway, members};
use crate::contract::Drives;
use crate::ids::DriveId;
use crate::op::{Failure, Op, Status};
use crate::place::choice;
use crate::plan::{Instead, Plan, StepIndex, Target};
use crate::request::Request;
use crate::units::{Blocks, Instant, Pba};

/// What is read for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// For a client, after these copies were tried.
    Client(Copies),
    /// To write it on another drive.
    Renewal,
}

/// A read under way.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) drive: DriveId,
    /// Units of the drive.
    pub(super) places: Range<u64>,
    /// Blocks of the column.
    pub(super) blocks: Range<u64>,
    pub(super) purpose: Purpose,
}

impl Offering {
    /// Reads blocks of the volume, as far as they lie anywhere.
    pub(super) fn read(
        &mut self,
        now: Instant,
        request: &Request,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        for part in self.spread.striping.pieces(&request.extent) {
            let blocks = part.at.0..part.at.0 + part.len.0;
            self.read_part(now, (part.column, &blocks), 0, drives, out);
        }
    }

    /// Reads blocks of a column, from other copies than were tried.
    fn read_part(
        &mut self,
        now: Instant,
        (column, blocks): (u64, &Range<u64>),
        tried: Copies,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        let units = self.units(blocks);
        let mut unit = units.start;
        while unit < units.end {
            let run = self.run(column, unit..units.end, |volume, column, unit| {
                volume.readable(column, unit, tried)
            });
            if run.copies != 0 {
                let nearest = self.nearest(now, column, (unit, run.units), run.copies, drives);
                let mut alternative = false;
                for copy in members(nearest) {
                    let (drive, place) = self.place_of(column, copy, unit);
                    let (at, part) = self.part((unit, run.units), place, blocks);
                    let places = place..place + run.units;
                    self.drives[drive.index()].read_begins(places.clone());
                    let reading = Underway::Read(Reading {
                        drive,
                        places,
                        blocks: part.clone(),
                        purpose: Purpose::Client(tried),
                    });
                    let mut planned =
                        self.planned((drive, Op::Read), reading, Target::At(at), part);
                    planned.alternative = std::mem::replace(&mut alternative, true);
                    out.io(planned);
                }
                self.counts.read_pieces += 1;
            }
            unit += run.units;
        }
    }

    /// Where a copy of a unit lies that lies somewhere.
    pub(super) fn place_of(&self, column: u64, copy: u8, unit: u64) -> (DriveId, u64) {
        let drive = self.drive(column, copy);
        let place = self.drives[drive.index()].map.place(unit);
        (drive, place.expect("it is a copy that lies somewhere"))
    }

    /// The copies of a unit that are to be read, of those that were not tried: that are on drives
    /// which are left, and not in doubt, as far as there are such.
    pub(super) fn readable(&self, column: u64, unit: u64, tried: Copies) -> Copies {
        let lying = self.lying(column, unit) & !tried;
        let live = self.live(column, lying);
        let drives = self.column(column);
        let doubtful = members(live).filter(|copy| drives[usize::from(*copy)].is_doubtful(unit));
        let sound = doubtful.fold(live, |sound, copy| sound & !(1 << copy));
        let best = [sound, live, lying].into_iter().find(|copies| *copies != 0);
        best.unwrap_or(0)
    }

    /// Of copies of some units the nearest on an idle drive; if none is idle, all.
    pub(super) fn nearest(
        &self,
        now: Instant,
        column: u64,
        (unit, units): (u64, u64),
        copies: Copies,
        drives: &dyn Drives,
    ) -> Copies {
        if copies.is_power_of_two() {
            return copies;
        }
        let places = members(copies).map(|copy| {
            let (drive, place) = self.place_of(column, copy, unit);
            (drive, Pba(place * self.chunk))
        });
        let what = (Op::Read, Blocks(units * self.chunk));
        let nearest = choice::nearest_idle(now, what, drives, places);
        nearest.map_or(copies, |index| {
            let copy = members(copies).nth(index).expect("it is one of them");
            1 << copy
        })
    }

    /// A copy could not be read: others are.
    pub(super) fn read_failed(
        &mut self,
        now: Instant,
        reading: &Reading,
        status: Status,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        let (column, copy) = self.copy_on(reading.drive);
        let units = self.units(&reading.blocks);
        if status == Status::Failed(Failure::Medium) && self.spread.copies > 1 {
            self.doubt_what_was_read(reading, &units, out);
        }
        let Purpose::Client(tried) = reading.purpose else {
            return;
        };
        let tried = tried | 1 << copy;
        let is_left = |unit| {
            let lying = self.lying(column, unit);
            lying == 0 || lying & !tried != 0
        };
        let first = out.steps.len();
        if units.clone().all(is_left) {
            self.read_part(now, (column, &reading.blocks), tried, drives, out);
        } else if self.spread.copies > 1 && units.end - units.start > 1 {
            for unit in units {
                let (_, alone) = self.part((unit, 1), 0, &reading.blocks);
                self.read_part(now, (column, &alone), 0, drives, out);
            }
        } else {
            return;
        }
        out.instead = match out.steps.len() - first {
            // All of it was discarded meanwhile.
            0 => Instead::Tolerated,
            _ => Instead::Step(StepIndex(first as u32)),
        };
    }

    /// Units could not be read where they still lie: which of them is bad is not known, so all are
    /// written elsewhere in spare time.
    fn doubt_what_was_read(&mut self, reading: &Reading, units: &Range<u64>, out: &mut Plan) {
        let drive = &mut self.drives[reading.drive.index()];
        for (unit, place) in units.clone().zip(reading.places.clone()) {
            if drive.map.place(unit) == Some(place) {
                drive.doubt(unit);
                out.wake.push(reading.drive);
            }
        }
    }
}
