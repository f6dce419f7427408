//! Drives of a log that are set aside: they have no part in it any more, or have none yet, and nothing waits for them.
//!
//! A drive that does not answer would hold up every answer that waits for the log. So where another drive has all of the log, the log goes on
//! with that one alone after the first time-out, and the drive is *stale*. So it is also if it has another log when the volume comes back.
//!
//! ```text
//! Stale   a mark is written over one of its control blocks, while nothing waits for that: an old log that stood alone would be taken for the
//!         newest, and one that is on its way for one that may have come further
//! Since   it gets all records from now on, and has no control block; a round of checkpoints is asked for
//! Whole   the log needs no record that it lacks: it gets a control block
//! ```
//!
//! A time-out on the way makes it stale again; one that fails eight times before it is whole is given up. Meanwhile the log is on one drive, and the
//! loss of that one is the loss of the map: it is told, since no older log is left. Before anything is answered that the other drive lacks, a control
//! block says that one is alone (`MapLog::tell_alone`).
//!
//! If the last drive is given up that has all, and another one is on its way, nothing is answered until that one is whole: all of the map is in
//! memory.
//!
//! With NVRAM no answer waits for the log, so a drive that does not answer is asked again, eight times; and if no other drive has all, the map is
//! lost, as answers were given that need it.

use super::{LogDrive, LogStore, MapWrite, Part, Retry, TRIES};
use crate::ids::DriveId;
use crate::maplog::Home;
use crate::op::Failure;
use crate::plan::Target;
use crate::units::{BLOCK_BYTES, Blocks};

impl LogDrive {
    /// Whether it has all records from the oldest one on that the log needs.
    pub(super) fn may_have_control(&self, oldest: u64) -> bool {
        match self.part {
            Part::Whole => true,
            Part::Since(first) => first <= oldest,
            Part::Lacks { .. } | Part::Stale => false,
        }
    }
}

impl LogStore {
    /// Marks stale logs.
    pub(super) fn mark(&mut self, out: &mut Vec<MapWrite>) {
        let (log, first) = (&self.log, self.region.first);
        let drives = self.drives.iter_mut();
        let unmarked = drives.filter(|of| of.part == Part::Stale && of.mark.is_none());
        out.extend(unmarked.map(|of| {
            let (offset, block) = log.mark();
            let len = Blocks(block.len() as u64 / BLOCK_BYTES);
            of.mark = Some(block);
            let (drive, target) = (of.drive, Target::At(first + offset));
            MapWrite { drive, target, len }
        }));
    }

    /// A stale log is marked: its drive gets all records that are not under way yet.
    pub(super) fn was_marked(&mut self, drive: DriveId) {
        let under_way = self.log.under_way().is_some_and(|write| !write.is_control);
        let next = self.log.next_number() + u64::from(under_way);
        let known = self.known(drive);
        (known.mark, known.part) = (None, Part::Since(next));
        self.log.checkpoint();
    }

    /// Says whether one drive alone has all of the log, from the next record on.
    pub(super) fn tell_alone(&mut self) {
        let oldest = self.log.oldest_number();
        let has_all = |drive: &&LogDrive| drive.may_have_control(oldest);
        let count = self.drives.iter().filter(has_all).count();
        self.log.tell_alone(count < 2);
    }

    /// Whether nothing that was recorded is safe: no drive has all of the log, or one alone has, and no control block says so.
    pub(super) fn nothing_is_safe(&self) -> bool {
        !self.is_whole_beside(None) || !self.log.has_told()
    }

    /// Whether a drive has all of the log, but for this one.
    pub(super) fn is_whole_beside(&self, drive: Option<DriveId>) -> bool {
        let mut others = self.drives.iter().filter(|of| Some(of.drive) != drive);
        others.any(|other| other.part == Part::Whole)
    }

    /// A drive has not done what it was to do.
    pub(super) fn try_again_or_set_aside(&mut self, drive: DriveId, failure: Failure) -> Retry {
        let others = self.is_whole_beside(Some(drive));
        let waits = self.log.settings().home == Home::Drive;
        let known = self.known(drive);
        known.failures += 1;
        let given_up = failure == Failure::Gone || known.failures >= TRIES;
        let is_stale = known.part == Part::Stale;
        let set_aside = waits && others && failure == Failure::TimedOut && !is_stale;
        if !given_up && !set_aside {
            return Retry::Again;
        }
        known.part = Part::Stale;
        if given_up {
            self.drives.retain(|other| other.drive != drive);
        }
        self.again.forget(drive);
        let is_lost = match self.log.settings().home {
            Home::Nvram => !self.is_whole_beside(None),
            Home::Drive => self.drives.is_empty(),
        };
        if is_lost {
            self.waiting.clear();
            self.unrecorded = 0;
            return Retry::Lost;
        }
        self.tell_alone();
        if !is_stale {
            self.one_is_done();
        }
        Retry::Next
    }
}
