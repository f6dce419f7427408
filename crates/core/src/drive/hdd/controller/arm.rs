//! Who gets the arm, and with which segment.
//!
//! Read-ahead gives way to a command unless it has not read its minimum; a command that hits what
//! is being read takes the access over. What is being written is never interrupted: only a write
//! that continues it joins in, anything else waits. When the arm becomes free the waiting command
//! comes first, then a segment that is dirty: the one that has been so longest, or the one that the
//! arm can begin with soonest. So a command waits for one segment at most unless it needs the room
//! or the blocks of others.

use super::super::access::{Access, Stage};
use super::super::buffer::{Match, Segment, State};
use super::super::firmware::{ReadAhead, RequestedBlocks, WriteBack};
use super::data::passes;
use super::{Controller, Job, Owner};
use crate::op::Op;
use crate::position::ArmPosition;
use crate::units::{Duration, Instant, Pba};

impl Controller {
    /// Whether the arm is free for the command, or can be made so.
    pub(super) fn may_have_arm(&mut self) -> bool {
        match self.owner {
            Owner::Nobody => true,
            Owner::Host(_) => false,
            Owner::Itself(index) => {
                let job = self.job();
                let joins = job.meets == Match::Join && job.segment == Some(index);
                joins || self.try_stop()
            }
        }
    }

    /// Tries to end what the arm does by itself. Read-ahead can be stopped; the arm then needs
    /// until `stopped`.
    pub(super) fn try_stop(&mut self) -> bool {
        let Owner::Itself(own) = self.owner else {
            return self.owner == Owner::Nobody;
        };
        let segment = self.buffer.at_mut(own);
        if segment.state != State::Reading {
            return false;
        }
        if let Some(job) = &self.job {
            let overlaps = segment.overlaps(job.first, job.end);
            if job.op == Op::Write && self.firmware.buffer.write_ends_read_ahead && overlaps {
                (segment.ahead_min, segment.ahead_max) = (segment.end, segment.end);
            }
            // Its segment was chosen for what it holds, or is about to hold.
            let hit = job.meets != Match::Miss && job.segment == Some(own);
            if job.op == Op::Read && hit {
                return true;
            }
        }
        if segment.end < segment.ahead_min {
            segment.ahead_max = segment.ahead_min;
            return false;
        }
        (self.arm, self.stopped) = self.left();
        let within = self.firmware.buffer.stop_within_sector;
        self.access
            .take_if(|access| access.stage == Stage::Moving || !within);
        true
    }

    /// Where the arm is if it is made to leave what it does, and when it can move.
    pub(super) fn left(&self) -> (ArmPosition, Instant) {
        let within = self.firmware.buffer.stop_within_sector;
        match &self.access {
            Some(access) if access.stage == Stage::Moving => (access.arm_position(), access.due),
            Some(access) if !within => (self.arm, access.due),
            _ => (self.arm, self.stopped),
        }
    }

    /// Read-ahead is over: its segment is like any other.
    pub(super) fn leave_access(&mut self) {
        self.access = None;
        if let Owner::Itself(index) = self.owner {
            self.buffer.at_mut(index).state = State::Clean;
        }
        self.owner = Owner::Nobody;
    }

    /// The command asks for the arm. With `anew` its segment was only looked at: it loses it again
    /// if the arm is not to be had.
    pub(super) fn activate(&mut self, anew: bool) {
        let (op, meets, segment, has_arm) = {
            let job = self.job();
            (job.op, job.meets, job.segment, job.has_arm)
        };
        if let (Owner::Itself(own), false) = (self.owner, has_arm) {
            let waits = meets == Match::Collision
                || op == Op::Read
                    && segment.is_some_and(|index| self.buffer.at(index).state == State::Dirty);
            if !waits && self.may_have_arm() {
                let same = segment == Some(own);
                match op {
                    // It goes on, for the command now.
                    Op::Read if same && meets != Match::Miss => self.owner = Owner::Nobody,
                    Op::Write if same && meets == Match::Join => {}
                    _ => self.leave_access(),
                }
            }
        }
        if segment.is_some() && anew {
            if self.owner == Owner::Nobody {
                self.take_segment();
            } else {
                let job = self.job_mut();
                (job.segment, job.meets) = (None, Match::Miss);
            }
        }
        self.prepare_segment();
        if !has_arm && meets != Match::Collision {
            self.give_arm_to_host();
        }
        // Read-ahead that was stopped for a command which then asked for no arm is over all the
        // same.
        if self.access.is_none() && matches!(self.owner, Owner::Itself(_)) {
            self.leave_access();
        }
        self.write_next();
    }

    /// The command uses its segment.
    pub(super) fn take_segment(&mut self) {
        let job = self.job();
        let (op, first, end) = (job.op, job.first, job.end);
        let index = job.segment.expect("a segment was chosen");
        self.buffer.used(index, op, first, end);
    }

    /// Makes the segment ready for the command's data, once.
    pub(super) fn prepare_segment(&mut self) {
        let Some(job) = self.job.as_mut().filter(|job| !job.prepared) else {
            return;
        };
        let Some(index) = job.segment else { return };
        job.prepared = true;
        let (op, first, end, meets) = (job.op, job.first, job.end, job.meets);
        if op == Op::Write {
            if meets == Match::Miss {
                self.buffer.begin_write(index, first);
            }
            self.buffer.at_mut(index).op = op;
            return;
        }
        let segment = self.buffer.at_mut(index);
        segment.op = op;
        if meets == Match::Miss {
            segment.state = State::Clean;
            (segment.first, segment.end) = (first, first);
            (segment.ahead_min, segment.ahead_max) = (0, 0);
        }
        self.extend_read_ahead(index, first, end);
    }

    /// A read of `first..end` lets read-ahead of segment `index` go further.
    fn extend_read_ahead(&mut self, index: usize, first: u64, end: u64) {
        let max = self.read_ahead_limit(index, first, end).min(self.capacity);
        let min = (end + self.firmware.buffer.read_ahead_min_blocks).min(self.capacity);
        let segment = self.buffer.at_mut(index);
        segment.ahead_min = segment.ahead_min.max(min);
        segment.ahead_max = segment.ahead_max.max(max);
    }

    fn read_ahead_limit(&self, index: usize, first: u64, end: u64) -> u64 {
        let (buffer, max) = (&self.firmware.buffer, self.firmware.ahead_max);
        match (buffer.read_ahead, buffer.requested_blocks) {
            (ReadAhead::None, _) => end,
            (ReadAhead::TrackEnd, _) if end >= self.capacity => end,
            (ReadAhead::TrackEnd, _) => {
                let layout = self.mechanics.layout();
                let track = layout.track_span(Pba(end));
                let one_more = match self.buffer.at(index).first < track.start.0 {
                    true => u64::from(layout.spot(Pba(first)).sectors),
                    false => 0,
                };
                track.end.0 + one_more
            }
            (_, _) if max > 0 => end + max,
            (_, RequestedBlocks::Keep) => {
                let room = buffer.segment_blocks.checked_sub(end - first);
                match room.filter(|room| *room > 0 && *room >= buffer.read_ahead_min_blocks) {
                    Some(room) => end + room,
                    None => end + buffer.read_ahead_min_blocks,
                }
            }
            (_, _) => end + buffer.segment_blocks,
        }
    }

    /// The arm has become free. A waiting command comes first, as far as it needs the arm: a write
    /// that only needs room in the buffer gets that, and its turn.
    pub(super) fn arm_free(&mut self) {
        self.owner = Owner::Nobody;
        self.access = None;
        if let Some(job) = &self.job {
            let behind = job.op == Op::Write && self.firmware.buffer.accept_while_writing;
            if behind && job.segment.is_none() {
                self.enter_buffer();
            } else if !job.has_arm && !behind && !self.needs_no_arm() {
                self.give_arm_to_host();
            }
        }
        self.write_next();
    }

    /// A free arm that nobody waits for writes what is dirty.
    pub(super) fn write_next(&mut self) {
        if self.owner != Owner::Nobody || self.awaited || !self.buffer.has_unwritten() {
            return;
        }
        let next = match self.firmware.buffer.write_back {
            WriteBack::Oldest => self.may_write().min(),
            WriteBack::Nearest => self.needed_dirty().or_else(|| self.nearest_dirty()),
        };
        if let Some((_, index)) = next {
            self.write_back(index);
        }
    }

    /// Dirty segments but the one that the command overwrites, each with when it became dirty.
    fn may_write(&self) -> impl Iterator<Item = (u64, usize)> {
        let overwritten = self
            .job
            .as_ref()
            .filter(|job| job.meets == Match::Overwrite);
        let overwritten = overwritten.and_then(|job| job.segment);
        let dirty = self.buffer.dirty();
        dirty.filter(move |(_, index)| overwritten != Some(*index))
    }

    /// A dirty segment that the command cannot end without.
    pub(super) fn needed_dirty(&self) -> Option<(u64, usize)> {
        let job = self.job.as_ref()?;
        let needs = |index: usize| match job.segment {
            Some(own) => own == index && needs_own(job, self.buffer.at(own)),
            None => self.buffer.at(index).overlaps(job.first, job.end),
        };
        self.may_write().find(|dirty| needs(dirty.1))
    }

    /// The dirty segment whose first block the arm can begin with soonest, the command's own no
    /// sooner than the arm moves for the command and its data are there; of several the one that
    /// has been dirty longest. Costs a look at each, and a way and a turn to reckon for those that
    /// are not too far to be it.
    fn nearest_dirty(&mut self) -> Option<(u64, usize)> {
        self.locate_dirty();
        let mechanics = &self.mechanics;
        let spindle = mechanics.spindle();
        let from = self.now.max(self.stopped);
        let phase = spindle.phase(from);
        let own = self.data_to_come();
        let mut best: Option<(Duration, u64, usize)> = None;
        for (since, index) in self.may_write() {
            let place = &self.buffer.at(index).place.1;
            let distance = place.cylinder.abs_diff(self.arm.cylinder);
            let soonest = (mechanics.seek_at_least(distance), 0, 0);
            if best.is_some_and(|best| best < soonest) {
                continue;
            }
            let movement = mechanics.movement(self.arm, place.arm_position(), Op::Write);
            let begins = match own.filter(|(own, _)| *own == index) {
                None => {
                    let movement = movement.max(self.firmware.write_seek_min);
                    movement + spindle.wait(spindle.after(phase, movement), place.angle)
                }
                Some((_, coming)) => {
                    let movement = movement.max(self.least_way());
                    let arrives = from.max(coming.arm_ready) + movement;
                    let there = self.there(index, &coming, place.cylinder);
                    passes(spindle, [arrives, there], place.angle).since(from)
                }
            };
            let found = (begins, since, index);
            best = best.map_or(Some(found), |best| Some(best.min(found)));
        }
        best.map(|(_, since, index)| (since, index))
    }

    /// Looks up where dirty segments go on that have not been looked up.
    fn locate_dirty(&mut self) {
        let layout = self.mechanics.layout();
        for segment in self.buffer.dirty_mut() {
            if segment.place.0 != segment.written {
                let spot = layout.spot(Pba(segment.written));
                segment.place = (segment.written, spot.place);
            }
        }
    }

    /// Gives a waiting write a segment, if one can be had by now, but not the arm.
    fn enter_buffer(&mut self) {
        self.choose();
        if self.job().segment.is_some() {
            self.take_segment();
            self.prepare_segment();
            self.check_bus();
        }
    }

    /// The arm writes the dirty segment `index`, for the command if it is of the command.
    pub(super) fn write_back(&mut self, index: usize) {
        let own = |job: &Job| job.op == Op::Write && job.segment == Some(index);
        if self.job.as_ref().is_some_and(own) {
            self.give_arm_to_host();
            return;
        }
        self.owner = Owner::Itself(index);
        let segment = self.buffer.at_mut(index);
        segment.state = State::Writing;
        let at = segment.written;
        let mut access = Access::begin(
            &self.mechanics,
            self.arm,
            Op::Write,
            at,
            self.now.max(self.stopped),
            self.firmware.write_seek_min,
        );
        access.background = true;
        self.access = Some(access);
    }

    /// Whether the command reads blocks that the medium does not have yet. What of them the buffer
    /// does not answer is read when they are written: a segment is filled from the medium or
    /// emptied to it, never both.
    fn reads_unwritten(&self) -> bool {
        let job = self.job();
        let unwritten = |index| self.buffer.at(index).unwritten();
        job.op == Op::Read && job.segment.is_some_and(unwritten)
    }

    /// Whether the command is a write that is on the medium already, with what it continued.
    fn is_written(&self) -> bool {
        let job = self.job();
        let written = |index| self.buffer.at(index).written >= job.end;
        job.op == Op::Write && job.sent == job.end && job.segment.is_some_and(written)
    }

    /// Gives the free arm to the command, with a segment that it finds now if it had none.
    fn give_arm_to_host(&mut self) {
        if self.owner != Owner::Nobody || self.job().meets == Match::Overwrite {
            return;
        }
        if self.job().segment.is_none() {
            self.choose();
            if self.job().segment.is_none() {
                return;
            }
            self.take_segment();
        }
        self.prepare_segment();
        if self.reads_unwritten() || self.is_written() {
            self.check_bus();
            return;
        }
        let job = self.job_mut();
        job.has_arm = true;
        let (op, index) = (job.op, job.segment.expect("just found"));
        self.owner = Owner::Host(index);
        let begins = match op {
            Op::Read => self.begin_read(index),
            _ => self.begin_write(index),
        };
        if !self.job().pause_ahead {
            self.check_bus();
        }
        if let Some((at, least)) = begins {
            self.begin_access(index, at, least);
        }
    }

    /// The arm reads for the command; where the access has to begin, if it does not go on.
    fn begin_read(&mut self, index: usize) -> Option<(u64, Duration)> {
        let end = self.job().end;
        let fills = !self.buffer.serves_writes_only(index);
        let segment = self.buffer.at_mut(index);
        segment.state = State::Reading;
        segment.op = Op::Read;
        let (complete, more) = (segment.end >= end, segment.end < segment.ahead_max);
        let at = segment.end;
        if let Some(access) = &mut self.access {
            access.background = complete && more;
            let job = self.job.as_mut().expect("called for a command");
            job.marks.join(self.now, access.stage, at < job.first);
            return None;
        }
        let read_ahead = more && fills && self.firmware.buffer.read_ahead_on_hit;
        (!complete || read_ahead).then_some((at, Duration::ZERO))
    }

    /// The arm writes for the command; where, and the least time of the movement.
    fn begin_write(&mut self, index: usize) -> Option<(u64, Duration)> {
        let least = self.least_way();
        let segment = self.buffer.at_mut(index);
        segment.state = State::Writing;
        Some((segment.written, least))
    }

    /// What the arm's way to what the command writes takes at least: nothing where it goes on as
    /// the data of a write before end.
    fn least_way(&self) -> Duration {
        match self.streaming == self.now && self.job().meets == Match::Join {
            true => Duration::ZERO,
            false => self.firmware.write_seek_min,
        }
    }

    fn begin_access(&mut self, index: usize, at: u64, least: Duration) {
        let job = self.job();
        // Both waits count, one behind the other.
        let mut start = self.now.max(job.arm_ready);
        if self.stopped > self.now {
            start += self.stopped.since(self.now);
        }
        let mut access = Access::begin(&self.mechanics, self.arm, job.op, at, start, least);
        access.background = job.op == Op::Read && self.buffer.at(index).end >= job.end;
        if access.background && self.refuses(&access) {
            return;
        }
        let job = self.job_mut();
        if job.marks.moves == Instant::NEVER {
            job.marks.moves = start;
        }
        self.access = Some(access);
    }

    /// Whether read-ahead may not go where an access goes.
    pub(super) fn refuses(&self, access: &Access) -> bool {
        let (from, to) = (self.arm, access.arm_position());
        match self.firmware.buffer.read_ahead {
            ReadAhead::WithinTrack => from != to,
            ReadAhead::WithinCylinder => from.cylinder != to.cylinder,
            _ => false,
        }
    }
}

/// Whether the command's own segment has to be written before it ends: a part of what it reads is
/// there, or it is a write that is to be on the medium, or that finds no room for all of its data.
fn needs_own(job: &Job, own: &Segment) -> bool {
    match job.op {
        Op::Read => job.meets != Match::Whole,
        _ => job.to_medium || job.end - own.written > own.size,
    }
}
