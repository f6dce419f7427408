//! Drives of a log that are set aside: they have no part in it any more, or have none yet, and
//! nothing waits for them.
//!
//! A drive that does not answer would hold up every answer that waits for the log. So where another
//! drive has all of the log, the log goes on with that one alone after the first time-out, and the
//! drive is *stale*. So it is also if it has another log when the volume comes back.
//!
//! ```text
//! Stale   a mark is written over one of its control blocks, while nothing waits for that: an old log that stood alone would be taken for the
//!         newest, and one that is on its way for one that may have come further
//! Since   it gets all records from now on, and has no control block; a round of checkpoints is asked for
//! Whole   the log needs no record that it lacks: it gets a control block
//! ```
//!
//! A time-out on the way makes it stale again; one that fails eight times before it is whole is
//! given up. Meanwhile the log is on one drive, and the loss of that one is the loss of the map: it
//! is told, since no older log is left. Before anything is answered that the other drive lacks, a
//! control block says that one is alone (`MapLog::tell_lacking`).
//!
//! If the last drive is given up that has all, and another one is on its way, nothing is answered
//! until that one is whole: all of the map is in memory. The other one then begins anew with a
//! round of checkpoints, of the map as it was answered. Changes that wait are recorded when it is
//! whole, again if they were before: a batch that is followed by a piece without its changes would
//! say nothing. The last drive is given up only when eight of its writes fail one after the other.
//!
//! With NVRAM no answer waits for the log, so a drive that does not answer is asked again, eight
//! times; and if no other drive has all, the map is lost, as answers were given that need it. NVRAM
//! says which drive was given up. When the volume comes back, that one is on its way, without a
//! mark: nothing on it counts before NVRAM says so.

use super::{LogDrive, LogStore, MapWrite, Part};
use crate::ids::DriveId;
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
        self.known(drive).mark = None;
        self.set_out(drive);
    }

    /// The log of this drive begins behind the record under way.
    fn set_out(&mut self, drive: DriveId) {
        let under_way = self.log.under_way().is_some_and(|write| !write.is_control);
        let next = self.log.next_number() + u64::from(under_way);
        self.known(drive).part = Part::Since(next);
        self.log.checkpoint();
    }

    /// No drive has all of the log any more. Records of changes that were not made lie before all
    /// that a drive on its way will have, and none comes before that is whole: so its pieces have
    /// the map as it was answered, and nothing else.
    pub(super) fn begin_anew(&mut self) {
        self.log.take_back();
        self.unrecorded = self.waiting.len();
        let is_on_its_way = |of: &&LogDrive| matches!(of.part, Part::Since(_));
        let drive = self.drives.iter().find(is_on_its_way).map(|of| of.drive);
        self.drives.iter_mut().for_each(|of| of.failures = 0);
        if let Some(drive) = drive {
            self.set_out(drive);
        }
    }

    /// A drive has all of the log again: what waits is recorded, in order. Nothing of it is safe
    /// before a second control block takes the place of the mark: where the only one could not be
    /// read, the drive would look as if it were on its way.
    pub(super) fn record_again(&mut self) {
        let again = self.waiting.iter();
        again.for_each(|(_, entry)| self.log.record(*entry));
        self.unrecorded = 0;
        self.log.tell_again();
    }

    /// Says which drives do not have all of the log, from the next record on.
    pub(super) fn tell_lacking(&mut self) {
        let oldest = self.log.oldest_number();
        let has_all = |index| {
            let mut drives = self.drives.iter();
            drives.any(|drive| drive.index == index && drive.may_have_control(oldest))
        };
        let lacking = [!has_all(0), !has_all(1)];
        self.log.tell_lacking(lacking);
    }

    /// With NVRAM no control block has to say that a drive is whole: it is as soon as the log needs
    /// no record that it lacks.
    pub(super) fn come_whole(&mut self) {
        let oldest = self.log.oldest_number();
        let on_their_way = self.drives.iter_mut();
        let on_their_way = on_their_way.filter(|of| matches!(of.part, Part::Since(_)));
        let mut came = false;
        for drive in on_their_way.filter(|of| of.may_have_control(oldest)) {
            (drive.part, drive.failures) = (Part::Whole, 0);
            came = true;
        }
        if came {
            self.tell_lacking();
        }
    }

    /// Whether nothing that was recorded is safe: no drive has all of the log, or one alone has,
    /// and no control block says so.
    pub(super) fn nothing_is_safe(&self) -> bool {
        !self.is_whole_beside(None) || !self.log.has_told()
    }

    /// Whether a drive has all of the log, but for this one.
    pub(super) fn is_whole_beside(&self, drive: Option<DriveId>) -> bool {
        let mut others = self.drives.iter().filter(|of| Some(of.drive) != drive);
        others.any(|other| other.part == Part::Whole)
    }
}
