//! Flushes: of every drive with a seat, but for such as are gone.
//!
//! One fails if something is on drives that are gone alone, as two of an array are; and once if
//! something was lost since the last one, since that may have been answered and not flushed. It
//! fails by what lost it: as `medium` where no drive that went had a part in it.

use super::{Raid5, Role, tag};
use crate::ids::DriveId;
use crate::io::DriveDone;
use crate::op::{Failure, Op};
use crate::plan::{Instead, Plan, PlannedIo, Target};
use crate::units::{Blocks, Pba};

impl Raid5 {
    pub(super) fn plan_flush(&mut self, out: &mut Plan) {
        let untold = self.untold.take();
        out.failure = match self.loses_something() {
            true => Some(Failure::Gone),
            false => untold,
        };
        if out.failure.is_none() {
            self.flush_drives(false, out);
        }
    }

    pub(super) fn flush_drives(&mut self, own: bool, out: &mut Plan) {
        let name = self.written.flush(self.seats.taken().count(), own);
        for seat in self.seats.taken() {
            let target = Target::At(Pba(0));
            let drive = self.seats.drive(seat);
            let mut io = PlannedIo::new(drive, Op::Flush, target, Blocks(0));
            (io.tag, io.awaited) = (tag(Role::Flush, Some(name)), !own);
            out.io(io);
        }
    }

    /// A drive has ended a flush. If it is gone, the others of its array have what it had.
    pub(super) fn flushed(&mut self, name: u32, drive: DriveId, done: &DriveDone, out: &mut Plan) {
        let is_done = done.status.is_done();
        let is_spared = || self.untold.is_none() && !self.loses_something();
        let goes_on = is_done || self.seats.is_gone(drive) && is_spared();
        if goes_on && !is_done {
            out.instead = Instead::Tolerated;
        }
        let table = self.bad.table();
        self.written.flushed(name, goes_on, table);
    }

    /// Whether two drives of an array are gone, and no spares took their places.
    fn loses_something(&self) -> bool {
        let two = |array: usize| {
            let seats = self.geometry.seats_of(array);
            seats.filter(|seat| self.seats.is_vacant(*seat)).count() > 1
        };
        self.seats.any_gone() && (0..self.geometry.arrays as usize).any(two)
    }
}
