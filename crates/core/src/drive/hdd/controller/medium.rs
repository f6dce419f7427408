//! What the arm does for the buffer: the events of an access, and what they mean for segment, command and bus.
//!
//! A sector is of use if it is the wanted one when it begins to pass, and the buffer has room for it (a read) or
//! has its data (a write). A wanted sector that passes unused costs a revolution.

use super::super::access::{Access, Stage};
use super::super::buffer::State;
use super::super::firmware::ReadAhead;
use super::{Bus, Controller, Job, Owner};
use crate::op::Op;
use crate::units::{Duration, Instant};

impl Controller {
    #[inline]
    pub(super) fn arm_due(&self) -> Instant {
        self.access
            .as_ref()
            .map_or(Instant::NEVER, |access| access.due)
    }

    /// Segment that the arm works with.
    #[inline]
    pub(super) fn arm_segment(&self) -> usize {
        match self.owner {
            Owner::Host(index) | Owner::Itself(index) => index,
            Owner::Nobody => unreachable!("an arm that works has an owner"),
        }
    }

    /// The arm's next event, and what follows before `horizon` without a consequence elsewhere.
    pub(super) fn arm_event(&mut self, horizon: Instant) {
        let access = self.access.as_mut().expect("the arm is busy");
        assert!(
            access.due < horizon,
            "the arm has nothing to do before {horizon}"
        );
        self.now = access.due;
        match access.stage {
            Stage::Moving => self.arrive_on_track(),
            Stage::Waiting => {
                self.count_burst();
                if !self.progress() {
                    self.begin_sector();
                }
            }
            Stage::Passing if access.out_of_order() => self.pass_out_of_order(),
            Stage::Passing => self.pass_in_order(horizon),
        }
    }

    fn arrive_on_track(&mut self) {
        let buffer = &self.firmware.buffer;
        let access = self.access.as_mut().expect("the arm is busy");
        self.arm = access.arm_position();
        let anywhere = match access.op {
            Op::Read => buffer.zero_latency_reads || buffer.read_whole_track,
            _ => buffer.zero_latency_writes,
        };
        match anywhere {
            true => access.arrive_anywhere(&self.mechanics),
            false => access.arrive_in_order(&self.mechanics),
        }
        let settled = self.now;
        if let (Owner::Host(_), Some(job)) = (self.owner, &mut self.job) {
            job.marks.settled = job.marks.settled.min(settled);
        }
    }

    /// A sector begins to pass: is it of use?
    #[inline]
    fn begin_sector(&mut self) {
        let at = self.access.as_ref().expect("the arm is busy").at;
        let usable = self.usable(at);
        let now = self.now;
        let access = self.access.as_mut().expect("the arm is busy");
        access.begin_sector(usable);
        if let (true, Owner::Host(_), Some(job)) = (usable, self.owner, &mut self.job) {
            job.marks.begins = job.marks.begins.min(now);
        }
    }

    /// Whether block `at` can be read into the buffer, or written from it, if its sector begins now.
    #[inline]
    fn usable(&self, at: u64) -> bool {
        let index = self.arm_segment();
        let segment = self.buffer.at(index);
        let size = self.firmware.buffer.segment_blocks;
        let access = self.access.as_ref().expect("the arm is busy");
        if access.op == Op::Write {
            return segment.written <= at && at < segment.end && self.enough_to_write(index);
        }
        if at < segment.end {
            let before = at < segment.first
                && self.firmware.buffer.read_whole_track
                && segment.first == segment.end;
            return before;
        }
        match &self.job {
            Some(job) if job.segment == Some(index) => at - job.sent.min(at) < size,
            _ => true,
        }
    }

    /// A write with extra disconnects does not begin before some of its data have come, as far as a segment holds them.
    /// What the arm writes for an earlier command is all there.
    fn enough_to_write(&self, index: usize) -> bool {
        let own = |job: &&Job| job.op == Op::Write && job.segment == Some(index);
        let (Some(job), Some(_)) = (self.job.as_ref().filter(own), &self.firmware.extra) else {
            return true;
        };
        let len = job.end - job.first;
        let segment = self.buffer.at(index);
        let needed = if len < 45 { len.min(10) } else { 15 };
        segment.end - segment.first >= needed.min(self.firmware.buffer.segment_blocks)
    }

    /// In order: the passing sector has ended, and as many more as have no consequence elsewhere.
    fn pass_in_order(&mut self, horizon: Instant) {
        let index = self.arm_segment();
        let access = self.access.as_ref().expect("the arm is busy");
        let (op, at) = (access.op, access.at);
        let still_usable =
            self.firmware.buffer.room_at_sector_start || op == Op::Write || self.usable(at);
        if !access.usable || !still_usable {
            self.count_burst();
            // Where it ended, another access may have begun already.
            if !self.progress() {
                let access = self.access.as_mut().expect("it has not ended");
                access.retry(&self.mechanics, at);
            }
            return;
        }
        let most = self.undisturbed(index);
        let count = access.run_length(horizon, most);
        let access = self.access.as_mut().expect("the arm is busy");
        self.now = access.pass(count);
        let reached = access.at;
        self.count_burst();
        let segment = self.buffer.at_mut(index);
        match op {
            Op::Write => segment.written = reached,
            _ => segment.end = reached,
        }
        segment.slide(segment.end, self.firmware.buffer.segment_blocks);
        if count > 1 && op == Op::Read && self.bus == Bus::Hold {
            self.cross_sector_by_sector(index, reached);
        }
        if self.progress() {
            return;
        }
        let access = self.access.as_mut().expect("it has not ended");
        if !access.follow(&self.mechanics) {
            self.next_track(reached);
        } else if access.stage == Stage::Passing {
            self.begin_sector();
        }
    }

    /// How many blocks the arm can take, from the passing one on, before the command or the buffer has to be
    /// looked at; at least 1.
    fn undisturbed(&self, index: usize) -> u64 {
        #[cfg(test)]
        if self.single_steps {
            return 1;
        }
        let segment = self.buffer.at(index);
        let access = self.access.as_ref().expect("the arm is busy");
        let job = self.job.as_ref().filter(|job| job.segment == Some(index));
        if access.op == Op::Write {
            let waits = job.is_some_and(|job| job.sent < job.end)
                && matches!(self.bus, Bus::Idle | Bus::Hold);
            return if waits {
                1
            } else {
                (segment.end - segment.written).max(1)
            };
        }
        let mut limit = segment.ahead_max;
        if let Some(job) = job {
            // A block further on may find no room, or find it late.
            limit = limit.min(job.sent + self.firmware.buffer.segment_blocks);
            // The host takes each sector at once; so it does until the command has all if the bus is the faster one.
            let keeps_up = self.firmware.read_block <= access.sector_passes();
            limit = match self.bus {
                Bus::Hold if keeps_up => limit.min(job.end),
                Bus::Hold => segment.end,
                Bus::Idle if !access.background => limit.min(job.sent + job.watermark).min(job.end),
                _ if !access.background => limit.min(job.end),
                _ => limit,
            };
        }
        limit.saturating_sub(segment.end).max(1)
    }

    /// Where the bus was held for each sector of a read, each but the last has crossed it while the next one passed.
    fn cross_sector_by_sector(&mut self, index: usize, reached: u64) {
        let job = self.job.as_mut().filter(|job| job.segment == Some(index));
        if let Some(job) = job {
            job.sent = reached - 1;
        }
    }

    /// The arm goes on to the track of block `at`, if it may.
    fn next_track(&mut self, at: u64) {
        let (op, background) = {
            let access = self.access.as_ref().expect("the arm is busy");
            (access.op, access.background)
        };
        if at >= self.capacity {
            self.end_access();
            return;
        }
        let mut access = Access::begin(&self.mechanics, self.arm, op, at, self.now, Duration::ZERO);
        access.background = background;
        if background && op == Op::Read && self.refuses(&access) {
            self.end_access();
            return;
        }
        self.access = Some(access);
    }

    /// Out of order: the passing sector has ended.
    fn pass_out_of_order(&mut self) {
        let index = self.arm_segment();
        let size = self.firmware.buffer.segment_blocks;
        let access = self.access.as_ref().expect("the arm is busy");
        let (op, at, track_end) = (access.op, access.at, access.track_end());
        let usable = access.usable
            && (op == Op::Write || self.firmware.buffer.room_at_sector_start || self.usable(at));
        let segment = self.buffer.at(index);
        let (mut wanted, mut limit) = match op {
            Op::Write => (segment.written, segment.end),
            _ if access.background => (segment.end, segment.ahead_max),
            _ => (segment.end, self.job().end),
        };
        limit = limit.min(track_end);
        let mut first = segment.first;
        let access = self.access.as_mut().expect("the arm is busy");
        if usable {
            let early = &mut access.early;
            if at == wanted {
                wanted += 1;
                if wanted == early.start && !early.is_empty() {
                    wanted = early.end;
                    *early = track_end..track_end;
                }
            } else if at < first {
                (first, wanted) = (at, at + 1);
            } else if early.is_empty() || at > early.end {
                if wanted < at && at < limit {
                    *early = at..at + 1;
                }
            } else if at == early.end && at < limit {
                early.end += 1;
                first = first.max(early.end.saturating_sub(size));
            }
        }
        self.count_burst();
        let segment = self.buffer.at_mut(index);
        segment.first = first;
        match op {
            Op::Write => segment.written = wanted,
            _ => segment.end = wanted,
        }
        segment.slide(segment.end, size);
        if self.progress() {
            return;
        }
        let access = self.access.as_mut().expect("it has not ended");
        // A block that was remapped to another track would be waited for here for ever.
        if wanted >= track_end || !access.passes(&self.mechanics, wanted) {
            self.next_track(wanted);
            return;
        }
        access.turn(&self.mechanics);
        if access.stage == Stage::Passing {
            self.begin_sector();
        }
    }

    /// The medium has come as far as the segment says: wakes the bus, ends the access. True if it ended.
    fn progress(&mut self) -> bool {
        if self.bus == Bus::Hold {
            self.bus = Bus::Contact(self.now);
        }
        let index = self.arm_segment();
        let segment = self.buffer.at(index);
        let (end, written, ahead_max) = (segment.end, segment.written, segment.ahead_max);
        let access = self.access.as_mut().expect("the arm is busy");
        let host = matches!(self.owner, Owner::Host(_));
        match (access.op, access.background || !host) {
            (Op::Read, true) => {
                if end < ahead_max {
                    return false;
                }
                self.end_access();
                true
            }
            (Op::Read, false) => self.progress_of_read(end, ahead_max),
            (_, true) => {
                if written < end {
                    return false;
                }
                self.end_access();
                // A forced write may have joined what the arm wrote by itself.
                let joined = |job: &Job| job.to_medium && job.segment == Some(index);
                if self.job.as_ref().is_some_and(joined) {
                    self.check_bus();
                }
                true
            }
            (_, false) => self.progress_of_write(written, end),
        }
    }

    fn progress_of_read(&mut self, end: u64, ahead_max: u64) -> bool {
        let now = self.now;
        let job = self.job_mut();
        let complete = end >= job.end;
        let enough = complete || end - job.sent.min(end) >= job.watermark;
        if complete {
            job.marks.ends = job.marks.ends.min(now);
        }
        if enough {
            self.check_bus();
        }
        if !complete {
            return false;
        }
        let stops = self.firmware.buffer.read_ahead == ReadAhead::None || end >= ahead_max;
        if stops {
            self.access = None;
            return true;
        }
        if let Some(access) = &mut self.access {
            access.background = true;
        }
        false
    }

    fn progress_of_write(&mut self, written: u64, end: u64) -> bool {
        let now = self.now;
        let job = self.job_mut();
        let complete = written >= job.end;
        let low = end - written.max(job.first).min(end) <= job.watermark && end < job.end;
        if complete {
            job.marks.ends = job.marks.ends.min(now);
        }
        if complete || low {
            self.check_bus();
        }
        if complete {
            self.access = None;
            self.streaming = self.now;
        }
        complete
    }

    /// What the arm did has come to its end.
    pub(super) fn end_access(&mut self) {
        self.access = None;
        let Owner::Itself(index) = self.owner else {
            return;
        };
        if self.buffer.at(index).state == State::Writing {
            self.streaming = self.now;
            let more = self.job.as_ref().is_some_and(|job| {
                job.segment == Some(index) && job.op == Op::Write && job.sent < job.end
            });
            match more {
                true => self.buffer.at_mut(index).state = State::Dirty,
                false => self.buffer.end_write(index, &self.firmware),
            }
        } else {
            self.buffer.at_mut(index).state = State::Clean;
        }
        self.arm_free();
    }
}
