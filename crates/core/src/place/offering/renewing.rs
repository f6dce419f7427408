//! In spare time copies are written again that lie nowhere, or could not be read: the unit is read
//! from another drive and lands near its home.
//!
//! A client may write or discard the unit meanwhile. Then what was read is old, and the place where
//! it has landed stays free: nobody has to wait. A copy that could not be read stays where it is
//! until the new one has landed. One at a time on each drive; a unit is given up that failed five
//! times, or that no other drive has, until it is written by a client.

use super::per_drive::Renewing;
use super::reading::{Purpose, Reading};
use super::writing::{Cause, Piece};
use super::{Offering, Underway};
use crate::contract::Drives;
use crate::ids::DriveId;
use crate::op::Op;
use crate::plan::{Plan, Target};
use crate::units::{Instant, Pba};

/// How often a unit is tried.
const TRIES_MAX: u8 = 5;

impl Offering {
    /// A drive has nothing else to do.
    pub(super) fn renew(
        &mut self,
        now: Instant,
        number: DriveId,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        let drive = &self.drives[number.index()];
        if self.gone.has(number) || drive.renewing.is_some() || !drive.may_go(1) {
            return;
        }
        let (column, copy) = self.copy_on(number);
        while let Some(unit) = self.next_to_renew(column, number) {
            let others = self.live(column, self.readable(column, unit, 1 << copy));
            if others != 0 {
                let source = self.nearest(now, column, (unit, 1), others, drives);
                return self.renew_from(number, unit, source.trailing_zeros() as u8, out);
            }
            self.drives[number.index()].renewals.remove(&unit);
        }
    }

    /// The first unit that waits to be renewed on a drive and that nobody is writing.
    fn next_to_renew(&self, column: u64, drive: DriveId) -> Option<u64> {
        let mut units = self.drives[drive.index()].renewals.keys().copied();
        units.find(|unit| {
            let mut writings = self.writings.iter();
            !writings.any(|(_, one)| one.column == column && one.units.contains(unit))
        })
    }

    fn renew_from(&mut self, number: DriveId, unit: u64, source: u8, out: &mut Plan) {
        let (column, _) = self.copy_on(number);
        let (from, place) = self.place_of(column, source, unit);
        let blocks = unit * self.chunk..(unit + 1) * self.chunk;
        self.drives[from.index()].read_begins(place..place + 1);
        let reading = Underway::Read(Reading {
            drive: from,
            places: place..place + 1,
            blocks: blocks.clone(),
            purpose: Purpose::Renewal,
        });
        let at = Target::At(Pba(place * self.chunk));
        let read = self.planned((from, Op::Read), reading, at, blocks);
        let read = out.io(read);
        let piece = Piece {
            drive: number,
            first: unit,
            units: 1,
            within: self.within,
            widened: false,
            failed: 0,
            cause: Cause::Renewal,
        };
        let write = self.range_write(piece, out);
        let write = out.io(write);
        out.carry(read, write);
        let drive = &mut self.drives[number.index()];
        drive.promised += 1;
        let spoiled = false;
        drive.renewing = Some(Renewing { unit, spoiled });
    }

    /// What was read elsewhere has landed here.
    pub(super) fn renewed(&mut self, number: DriveId, place: u64) {
        let drive = &mut self.drives[number.index()];
        let renewing = drive.renewing.take().expect("it has begun");
        if !renewing.spoiled {
            drive.lands(renewing.unit, place);
        }
    }

    /// It could not be read, or not be written.
    pub(super) fn not_renewed(&mut self, number: DriveId) {
        let drive = &mut self.drives[number.index()];
        let renewing = drive.renewing.take().expect("it has begun");
        // One that was spoiled may be in no doubt any more.
        if let Some(tries) = drive.renewals.get_mut(&renewing.unit) {
            *tries += 1;
            if *tries == TRIES_MAX {
                drive.renewals.remove(&renewing.unit);
            }
        }
    }

    /// A write never begins, as what it was to carry could not be read.
    pub(super) fn never_written(&mut self, piece: Piece) {
        assert_eq!(piece.cause, Cause::Renewal, "{piece:?} waits for no read");
        self.drives[piece.drive.index()].promised -= piece.units;
        self.not_renewed(piece.drive);
    }
}
