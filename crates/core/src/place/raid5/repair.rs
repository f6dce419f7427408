//! What is bad is computed and written in spare time: blocks whose write has failed, parities of rows that were being written when the power went, and all of
//! a drive that was gone and is there again in another life.
//!
//! One strip, or what of it is bad, at a time in each array, and only while none of the array's drives has anything else to do. A read that meets a bad block
//! makes the rest of that strip go page by page, so that one bad block costs one page. What cannot be computed is passed over until something
//! becomes bad before it; then each is tried once more.
//!
//! O(log n) of the runs of bad blocks, and O(drives of an array), for each piece.

use super::Raid5;
use super::computing::PAGE;
use super::geometry::{Geometry, Rows, Stripe};
use crate::contract::Drives;
use crate::ids::DriveId;
use crate::plan::{Parity, Plan};
use crate::units::Pba;

/// Pieces that are passed over at a time.
const TRIES: usize = 64;

/// How far each drive has been looked at.
pub(super) struct Repair {
    /// By drive: what is bad before it was tried.
    tried: Vec<u64>,
    /// By drive: up to there it goes page by page.
    slowly: Vec<u64>,
    /// By array: the work under way.
    works: Vec<Option<u32>>,
    /// Whether all drives were told that there may be something to do.
    woken: bool,
}

impl Repair {
    pub(super) fn new(geometry: &Geometry) -> Repair {
        let drives = usize::from(geometry.drives());
        Repair {
            tried: vec![0; drives],
            slowly: vec![0; drives],
            works: vec![None; geometry.arrays as usize],
            woken: false,
        }
    }

    /// Something became bad there.
    pub(super) fn look_again(&mut self, drive: DriveId, at: Pba) {
        let tried = &mut self.tried[drive.index()];
        *tried = at.0.min(*tried);
    }

    /// Work on a stripe has ended.
    pub(super) fn ended(&mut self, work: u32) {
        let mut works = self.works.iter_mut();
        if let Some(own) = works.find(|own| **own == Some(work)) {
            *own = None;
        }
    }
}

impl Raid5 {
    /// With the first request of a life that begins with bad blocks, all drives are asked what they may do in spare time.
    pub(super) fn wake_for_repairs(&mut self, out: &mut Plan) {
        if !self.repair.woken && self.bad.any_run() {
            self.repair.woken = true;
            out.wake.extend(self.bad.gone.left());
        }
    }

    /// Repairs a piece of the array that a drive belongs to, if all of that has nothing else to do.
    pub(super) fn repair_array_of(&mut self, drive: DriveId, drives: &dyn Drives, out: &mut Plan) {
        let width = self.geometry.width();
        let array = u64::from(drive.0) / width;
        let all = (array * width..(array + 1) * width).map(|drive| DriveId(drive as u16));
        let mut left = all.filter(|drive| !self.bad.gone.has(*drive));
        let rests = left.clone().all(|drive| drives.idle(drive));
        if !rests || self.repair.works[array as usize].is_some() {
            return;
        }
        let mut next = left.next();
        let mut tries = 0..TRIES;
        while let Some(drive) = next {
            let Some((stripe, rows)) = self.next_bad(drive) else {
                next = left_after(&self.bad.gone, drive, (array + 1) * width);
                continue;
            };
            let member = stripe.member(drive);
            self.repair.tried[drive.index()] = stripe.at(rows.to).0;
            if self.fault_of_others(&stripe, member, &rows).is_some() {
                self.counts.unrepaired += 1;
                if tries.next().is_none() {
                    return;
                }
                continue;
            }
            let job = self.job(stripe, Some(member), rows, out);
            self.repair.works[array as usize] = Some(job.work);
            let parity = Parity {
                written: None,
                data: None,
                len: rows.len(),
                awaited: false,
            };
            let found = self.compute(&job, (member, rows), parity, out);
            return self.heal(&job, (member, rows), found, out);
        }
    }

    /// What of a drive is to be repaired next: of one strip at most.
    fn next_bad(&self, drive: DriveId) -> Option<(Stripe, Rows)> {
        let (from, to) = self.bad.first(drive, self.repair.tried[drive.index()])?;
        if from >= self.geometry.used() {
            return None;
        }
        let stripe = self.geometry.stripe_at(drive, Pba(from));
        let slowly = from < self.repair.slowly[drive.index()];
        let most = if slowly { PAGE.0 } else { self.geometry.strip };
        let first = from - stripe.at(0).0;
        let last = (first + most).min(self.geometry.strip);
        let rows = Rows {
            from: first,
            to: last.min(to - stripe.at(0).0),
        };
        Some((stripe, rows))
    }

    /// What was computed has been written.
    pub(super) fn healed(&mut self, work: u32) {
        match self.repair.works.contains(&Some(work)) {
            true => self.counts.repaired += 1,
            false => self.counts.healed += 1,
        }
    }

    /// A read has failed that this work needs. Whether it is of a repair: then it goes page by page, or this page is passed over.
    pub(super) fn failed_to_repair(&mut self, work: u32) -> bool {
        if !self.repair.works.contains(&Some(work)) {
            return false;
        }
        let work = self.turns.work(work);
        let (Some(member), rows) = (work.computed, work.rows) else {
            return false;
        };
        let stripe = self.geometry.stripe(work.stripe);
        let drive = stripe.drive(member);
        if rows.len() > PAGE {
            self.repair.look_again(drive, stripe.at(rows.from));
            self.repair.slowly[drive.index()] = stripe.at(rows.to).0;
        } else {
            self.counts.unrepaired += 1;
        }
        true
    }
}

/// The next drive of an array that is not gone.
fn left_after(gone: &crate::place::gone::Gone, drive: DriveId, end: u64) -> Option<DriveId> {
    let drives = (u64::from(drive.0) + 1..end).map(|drive| DriveId(drive as u16));
    drives.into_iter().find(|drive| !gone.has(*drive))
}
