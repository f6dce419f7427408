//! What the arm does for the buffer: the events of an access, and what they mean for segment,
//! command and bus.
//!
//! A sector is of use if it is the wanted one when it begins to pass, and the buffer has room for
//! it (a read) or has its data (a write). A wanted sector that passes unused costs a revolution.

use super::super::access::{Access, Stage};
use super::super::buffer::{Match, State};
use super::super::firmware::ReadAhead;
use super::{Bus, Controller, Job, Owner};
use crate::op::Op;
use crate::units::{Duration, Instant};

/// Sectors that can be taken in one step.
pub(super) struct Undisturbed {
    pub(super) most: u64,
    /// The bus takes part in each of them.
    pub(super) crosses: bool,
}

impl Undisturbed {
    /// The bus does nothing meanwhile that the arm would see.
    #[inline]
    fn quiet(most: u64) -> Undisturbed {
        Undisturbed {
            most: most.max(1),
            crosses: false,
        }
    }
}

impl Controller {
    #[inline]
    pub(super) fn arm_due(&self) -> Instant {
        self.access
            .as_ref()
            .map_or(Instant::NEVER, |access| access.due)
    }

    #[inline]
    pub(super) fn access(&self) -> &Access {
        self.access.as_ref().expect("the arm is busy")
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
            Stage::Passing if access.out_of_order() => self.pass_out_of_order(horizon),
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
    pub(super) fn begin_sector(&mut self) {
        let at = self.access().at;
        let usable = self.usable(at);
        let now = self.now;
        let access = self.access.as_mut().expect("the arm is busy");
        access.begin_sector(usable);
        if let (true, Owner::Host(_), Some(job)) = (usable, self.owner, &mut self.job)
            && (at >= job.first || job.meets == Match::Miss)
        {
            job.marks.begins = job.marks.begins.min(now);
        }
    }

    /// Whether block `at` can be read into the buffer, or written from it, if its sector begins
    /// now.
    #[inline]
    pub(super) fn usable(&self, at: u64) -> bool {
        let index = self.arm_segment();
        let segment = self.buffer.at(index);
        let access = self.access();
        if access.op == Op::Write {
            return segment.written <= at && at < segment.end && self.enough_to_write(index);
        }
        let own = self.job.as_ref().filter(|job| job.segment == Some(index));
        if at < segment.end {
            return at < segment.first && self.takes_in_front(index, own);
        }
        finds_room(own, at, segment.size)
    }

    /// Whether a read of the whole track keeps blocks that pass in front of the wanted one: as long
    /// as it has nothing. Later it would begin anew with each turn.
    fn takes_in_front(&self, index: usize, own: Option<&Job>) -> bool {
        let segment = self.buffer.at(index);
        self.firmware.buffer.read_whole_track
            && segment.first == segment.end
            && own.is_some_and(|job| job.sent == job.first)
    }

    /// A write with extra disconnects does not begin before some of its data have come, as far as a
    /// segment holds them. What the arm writes for an earlier command is all there.
    pub(super) fn enough_to_write(&self, index: usize) -> bool {
        let own = |job: &&Job| job.op == Op::Write && job.segment == Some(index);
        let (Some(job), Some(_)) = (self.job.as_ref().filter(own), &self.firmware.extra) else {
            return true;
        };
        self.still_needed(job, index) == 0
    }

    /// Blocks of a write that have yet to come before its segment is written on.
    pub(super) fn still_needed(&self, job: &Job, index: usize) -> u64 {
        let needed = self.firmware.needed_to_write(job.end - job.first);
        let segment = self.buffer.at(index);
        needed.saturating_sub(segment.end - segment.first)
    }

    /// In order: the passing sector has ended, and as many more as have no consequence elsewhere.
    fn pass_in_order(&mut self, horizon: Instant) {
        let index = self.arm_segment();
        let access = self.access();
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
        let undisturbed = self.undisturbed(index);
        let count = access.run_length(horizon, undisturbed.most);
        let access = self.access.as_mut().expect("the arm is busy");
        self.now = access.pass(count);
        let reached = access.at;
        self.count_burst();
        let segment = self.buffer.at_mut(index);
        match op {
            Op::Write => segment.written = reached,
            _ => segment.end = reached,
        }
        if undisturbed.crosses {
            // What belongs to the last sector crosses while the next one passes.
            self.cross_sector_by_sector(index, count - 1);
        }
        let segment = self.buffer.at_mut(index);
        segment.slide(segment.end);
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

    /// How many blocks the arm can take, from the passing one on, before the command or the buffer
    /// has to be looked at; at least 1.
    pub(super) fn undisturbed(&self, index: usize) -> Undisturbed {
        #[cfg(test)]
        if self.single_steps {
            return Undisturbed::quiet(1);
        }
        let segment = self.buffer.at(index);
        let access = self.access();
        if access.op == Op::Write {
            return self.undisturbed_write(index);
        }
        let job = self.job.as_ref().filter(|job| job.segment == Some(index));
        let left = |limit: u64| limit.saturating_sub(segment.end);
        let Some(job) = job else {
            return Undisturbed::quiet(left(segment.ahead_max));
        };
        if segment.end < job.first {
            return Undisturbed::quiet(left(job.first));
        }
        // A block further on may find no room, or find it late.
        let limit = (segment.ahead_max).min(job.sent + segment.size);
        let wanted = limit.min(job.end);
        match self.bus {
            // The host takes each sector; so it does until the command has all.
            Bus::Idle | Bus::Hold if self.takes_at_once(job, segment.end) => Undisturbed {
                most: left(wanted).max(1),
                crosses: true,
            },
            Bus::Hold => Undisturbed::quiet(1),
            Bus::Idle if !access.background => {
                Undisturbed::quiet(left(wanted.min(job.sent + job.watermark)))
            }
            _ if !access.background => Undisturbed::quiet(left(wanted)),
            _ => Undisturbed::quiet(left(limit)),
        }
    }

    /// The same of a write. The host is asked for more when few enough are left; or for a block
    /// behind each sector, if it is asked as soon as there is room for one: where the buffer is
    /// full again before the next sector has passed, nothing else happens.
    fn undisturbed_write(&self, index: usize) -> Undisturbed {
        let segment = self.buffer.at(index);
        let there = segment.end - segment.written;
        let flows = |job: &&Job| job.op == Op::Write && job.sent < job.end;
        let job = self.job.as_ref().filter(|job| job.segment == Some(index));
        let Some(job) = job.filter(flows) else {
            return Undisturbed::quiet(there);
        };
        match self.bus {
            Bus::Idle if !segment.is_low(job.first, job.watermark) => {
                Undisturbed::quiet(there - job.watermark)
            }
            Bus::Idle | Bus::Hold if self.refills_at_once(job, there) => Undisturbed {
                most: job.end - job.sent,
                crosses: true,
            },
            Bus::Idle | Bus::Hold => Undisturbed::quiet(1),
            _ => Undisturbed::quiet(there),
        }
    }

    /// Whether the host takes each block that is read before the next one is.
    fn takes_at_once(&self, job: &Job, read: u64) -> bool {
        // Over a bus that is kept nobody waits for a watermark.
        let each = self.bus == Bus::Hold || !self.access().background && job.watermark <= 1;
        each && job.op == Op::Read && job.sent == read && self.bus_keeps_up(job)
    }

    /// Whether a full buffer gets a block for each that is written, before the next one is.
    fn refills_at_once(&self, job: &Job, waiting: u64) -> bool {
        let size = self.firmware.buffer.blocks_for(job.op);
        // Of a single block the next sector would find nothing when it begins.
        let full = waiting == size && size > 1 && !job.pause_ahead;
        full && self.bus_keeps_up(job)
    }

    /// Whether a block crosses the bus while a sector passes, so that the bus is as before when it
    /// has passed: kept, or left again.
    fn bus_keeps_up(&self, job: &Job) -> bool {
        let (block, kept) = match job.op {
            Op::Write => (self.firmware.write_block, self.firmware.hold_writes),
            _ => (self.firmware.read_block, self.firmware.hold_reads),
        };
        let around = match self.bus {
            Bus::Hold => Duration::ZERO,
            _ if kept => return false,
            _ => self.contact_delay(job, 1) + self.leave_delay(job),
        };
        around + block <= self.access().sector_passes()
    }

    /// Where the bus takes part in each sector: a block has crossed it for each of `count`.
    pub(super) fn cross_sector_by_sector(&mut self, index: usize, count: u64) {
        let job = self.job.as_mut().expect("the bus is the command's");
        job.sent += count;
        if job.op == Op::Write {
            self.buffer.at_mut(index).end = job.sent;
        }
    }

    /// The arm goes on to the track of block `at`, if it may.
    pub(super) fn next_track(&mut self, at: u64) {
        let (op, background) = {
            let access = self.access();
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

    /// The medium has come as far as the segment says: wakes the bus, ends the access. True if it
    /// ended.
    pub(super) fn progress(&mut self) -> bool {
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
                    self.refill_joined(index);
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
            (_, false) => self.progress_of_write(index),
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

    /// A write that continues what the arm writes by itself is asked for more data as one that has
    /// the arm is.
    fn refill_joined(&mut self, index: usize) {
        let segment = self.buffer.at(index);
        let low = |job: &Job| {
            let own = job.op == Op::Write && job.segment == Some(index);
            own && job.sent < job.end && segment.is_low(job.first, job.watermark)
        };
        if self.job.as_ref().is_some_and(low) {
            self.check_bus();
        }
    }

    fn progress_of_write(&mut self, index: usize) -> bool {
        let now = self.now;
        let segment = self.buffer.at(index);
        let job = self.job.as_mut().expect("called for a command");
        let complete = segment.written >= job.end;
        let low = segment.is_low(job.first, job.watermark) && segment.end < job.end;
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

/// Whether a segment of so many blocks has room for one that is read, beside what the command that
/// it serves has not sent yet.
pub(super) fn finds_room(own: Option<&Job>, at: u64, size: u64) -> bool {
    own.is_none_or(|job| at - job.sent.min(at) < size)
}
