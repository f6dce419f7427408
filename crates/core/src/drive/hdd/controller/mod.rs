//! The drive's electronics: one command at a time between host, buffer and arm.
//!
//! Two activities run beside each other. The *arm* works for the command, or by itself (read-ahead,
//! data of writes that were acknowledged); see [`super::access`]. The *bus* belongs to the command:
//!
//! ```text
//!   hit, or a write with the arm free                 all sent: a read, or write-behind
//! ───────────▶ Contact ──────────▶ Burst ─┬──────────────────────────────────────────▶ End ──▶ done
//!                ▲  ▲               ▲  │  ├─▶ Hold   nothing to send yet, bus kept ──▶ Contact
//!                │  └───────────────┘  │  │
//!                │       more came     ▼  ▼
//!   miss         │                    Leave ─┬─▶ Idle
//! ───────────────┼──────────────────────▲    └─▶ Pause ──▶ Contact     extra disconnect of a write
//!                └── Idle: enough read, room to write, or all on the medium
//! ```
//!
//! A write without write-behind leaves the bus after its data, and contacts the host again when all
//! is on the medium. Nothing disturbs a command once it began, so the drive runs it to its end when
//! it is submitted; what the arm does afterwards by itself is worked out when the next command
//! comes.
//!
//! Source: DiskSim 4.0's disk controller (`disksim_diskctlr.c`, Ganger, Worthington, Patt and
//! others), of which every parameter means here what it means there. Departures:
//! `docs/design/0008-complete-drive.md`. Costs about 100 ns a command, and for long ones a few
//! events a track; nothing is allocated.

use std::sync::Arc;

use super::access::{Access, Stage};
use super::buffer::{Buffer, Choice, Match};
use super::firmware::Firmware;
use super::mech::Mechanics;
use crate::io::{Command, Owed, Unwritten, WriteCache};
use crate::op::{Cost, Op};
use crate::position::ArmPosition;
use crate::units::{Blocks, Duration, Instant, Pba};

pub(super) use data::{Coming, passes};
pub(super) use freed::{Freed, Trial};

mod anywhere;
mod arm;
#[cfg(test)]
mod batches;
mod bus;
#[cfg(test)]
mod choice_tests;
mod data;
mod freed;
mod medium;
#[cfg(test)]
mod order_tests;
mod served;
#[cfg(test)]
mod tests;

/// Whom the arm works for, and with which segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Nobody: it rests.
    Nobody,
    /// The command.
    Host(usize),
    /// Nobody that waits: read-ahead, or data of a write that was acknowledged.
    Itself(usize),
}

/// What the bus is doing for the command, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bus {
    /// Not ours.
    Idle,
    /// Command or reselection overhead; then data flow.
    Contact(Instant),
    /// Data flow.
    Burst(Instant),
    /// Kept while there is nothing to send.
    Hold,
    /// Disconnect overhead.
    Leave(Instant),
    /// Off the bus for a fixed time.
    Pause(Instant),
    /// Completion overhead.
    End(Instant),
}

/// A read or write under way.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) op: Op,
    pub(super) first: u64,
    pub(super) end: u64,
    /// Behind the last block that crossed the bus.
    pub(super) sent: u64,
    pub(super) meets: Match,
    pub(super) segment: Option<usize>,
    /// It is a write that ends when its data are on the medium.
    pub(super) to_medium: bool,
    /// The segment has been prepared for it.
    prepared: bool,
    pub(super) has_arm: bool,
    watermark: u64,
    /// Before this the arm does not move for it.
    arm_ready: Instant,
    /// It suffers an extra disconnect.
    extra: bool,
    /// The bus was not contacted since that.
    pause_ahead: bool,
    burst: Burst,
    pub(super) marks: Marks,
}

/// Data that flow.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    since: Instant,
    /// Blocks of it that were counted as sent, and when the next one has flowed.
    counted: u64,
    next: Instant,
    left: u64,
}

/// When the medium did what for the command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub(super) moves: Instant,
    pub(super) settled: Instant,
    pub(super) begins: Instant,
    pub(super) ends: Instant,
}

impl Marks {
    const NONE: Marks = Marks {
        moves: Instant::NEVER,
        settled: Instant::NEVER,
        begins: Instant::NEVER,
        ends: Instant::NEVER,
    };

    /// A read takes over an access that is under way: what is left of it counts from `now` on.
    /// Blocks in front of its own are a wait for the platter.
    fn join(&mut self, now: Instant, stage: Stage, in_front: bool) {
        self.moves = now;
        match stage {
            Stage::Moving => {}
            Stage::Passing if !in_front => (self.settled, self.begins) = (now, now),
            Stage::Waiting | Stage::Passing => self.settled = now,
        }
    }

    /// What a command that took from `start` to `done` spent on what. What the arm does after
    /// `done` it does by itself.
    pub(super) fn cost(&self, start: Instant, done: Instant) -> Cost {
        let within = |from: Instant, to: Instant| {
            let (from, to) = (from.max(start).min(done), to.min(done));
            if from < to {
                to.since(from)
            } else {
                Duration::ZERO
            }
        };
        let (seek, rotation) = (
            within(self.moves, self.settled),
            within(self.settled, self.begins),
        );
        let transfer = within(self.begins, self.ends);
        Cost {
            overhead: done.since(start) - (seek + rotation + transfer),
            seek,
            rotation,
            transfer,
        }
    }
}

/// Electronics and arm of a drive.
#[derive(Debug)]
pub(super) struct Controller {
    pub(super) mechanics: Arc<Mechanics>,
    pub(super) firmware: Arc<Firmware>,
    capacity: u64,
    pub(super) now: Instant,
    pub(super) buffer: Buffer,
    pub(super) arm: ArmPosition,
    pub(super) owner: Owner,
    pub(super) access: Option<Access>,
    /// The arm is not free before this, as a read-ahead had to be ended in an orderly way.
    pub(super) stopped: Instant,
    pub(super) job: Option<Job>,
    bus: Bus,
    /// What the last command was.
    pub(super) last_op: Op,
    /// The arm ended a write in this instant: one that joins it goes on without a pause.
    streaming: Instant,
    /// Somebody waits for the arm who is no command: it does not begin to write what is dirty.
    awaited: bool,
    /// For comparison: never take several sectors at once.
    #[cfg(test)]
    single_steps: bool,
}

impl Clone for Controller {
    fn clone(&self) -> Controller {
        Controller {
            mechanics: Arc::clone(&self.mechanics),
            firmware: Arc::clone(&self.firmware),
            buffer: self.buffer.clone(),
            access: self.access.clone(),
            job: self.job.clone(),
            ..*self
        }
    }

    /// Without allocation: both have as many segments.
    fn clone_from(&mut self, other: &Controller) {
        self.now = other.now;
        self.buffer.clone_from(&other.buffer);
        self.arm = other.arm;
        self.owner = other.owner;
        self.access.clone_from(&other.access);
        self.stopped = other.stopped;
        self.job.clone_from(&other.job);
        self.bus = other.bus;
        self.last_op = other.last_op;
        self.streaming = other.streaming;
        self.awaited = other.awaited;
    }
}

impl Controller {
    pub(super) fn new(mechanics: Arc<Mechanics>, firmware: Arc<Firmware>) -> Controller {
        Controller {
            capacity: mechanics.layout().capacity().0,
            arm: mechanics.start(),
            buffer: Buffer::new(&firmware),
            mechanics,
            firmware,
            now: Instant::ZERO,
            owner: Owner::Nobody,
            access: None,
            stopped: Instant::ZERO,
            job: None,
            bus: Bus::Idle,
            last_op: Op::Read,
            streaming: Instant::NEVER,
            awaited: false,
            #[cfg(test)]
            single_steps: false,
        }
    }

    /// Carries out a command that comes at `now`; when it is done, and what it cost.
    ///
    /// # Panics
    /// If the blocks are none or lie beyond the drive, or if `now` lies before the end of the last
    /// command.
    pub(super) fn carry_out(&mut self, now: Instant, command: &Command) -> (Instant, Cost) {
        self.rest_until(now);
        match command.op {
            Op::Read | Op::Write => {
                let (first, end) = (command.at.0, command.at.0 + command.len.0);
                assert!(first < end, "an access to no blocks");
                assert!(
                    end <= self.capacity,
                    "block {} is beyond the drive",
                    end - 1
                );
                self.rest_until(now + self.firmware.command);
                self.arrive(command, first, end);
                self.run_job(now)
            }
            Op::Flush => self.flush(now),
            Op::Seek => self.move_arm(now, command.at),
            // No map is kept.
            Op::Discard => (now, Cost::default()),
        }
    }

    /// Lets time pass until `now` without a command.
    pub(super) fn rest_until(&mut self, now: Instant) {
        assert!(self.now <= now, "{now} is before {}", self.now);
        let behind = Instant(now.0 + 1);
        while self.arm_due() <= now {
            self.arm_event(behind);
        }
        self.now = now;
    }

    fn run_job(&mut self, start: Instant) -> (Instant, Cost) {
        loop {
            let (bus, arm) = (self.bus_due(), self.arm_due());
            if bus <= arm {
                assert!(
                    bus < Instant::NEVER,
                    "a command waits for nothing: {:?}",
                    self.job
                );
                self.now = bus;
                if let Some(marks) = self.bus_event() {
                    return (self.now, marks.cost(start, self.now));
                }
            } else {
                self.arm_event(bus);
            }
        }
    }

    /// Runs of blocks that a power cut would set back.
    pub(super) fn unwritten(&self) -> impl Iterator<Item = Unwritten> {
        // Most of the time there is nothing, and then no segment is looked at.
        let any = self.buffer.has_unwritten() && self.firmware.cache().may_lose();
        any.then(|| self.buffer.runs_unwritten())
            .into_iter()
            .flatten()
    }

    /// What has been written and is not on the medium yet. How much there is room for hangs on how
    /// the blocks lie, as a segment may be full or not. Reads go before, and what is nearest is
    /// written first.
    pub(super) fn owes(&self) -> Owed {
        let runs = self.buffer.runs_unwritten().map(|run| run.len.0);
        Owed {
            blocks: Blocks(runs.sum()),
            cache_size: None,
            sorts: true,
        }
    }

    /// Everything acknowledged goes to the medium, if it is not safe where it is. The command takes
    /// the overhead of a write.
    fn flush(&mut self, start: Instant) -> (Instant, Cost) {
        let overhead = self.firmware.command + self.firmware.write.after(self.last_op);
        self.rest_until(start + overhead);
        if self.firmware.cache().may_lose() {
            self.write_all();
        }
        let overhead = self.now.since(start);
        let cost = Cost {
            overhead,
            ..Cost::default()
        };
        (self.now, cost)
    }

    /// Moves the arm to the track of `at`, behind what it cannot leave.
    fn move_arm(&mut self, start: Instant, at: Pba) -> (Instant, Cost) {
        self.free_arm();
        let to = self.mechanics.layout().spot(at).arm_position();
        let seek = self.mechanics.movement(self.arm, to, Op::Seek);
        let begin = self.now.max(self.stopped);
        self.arm = to;
        self.now = begin + seek;
        self.write_next();
        let cost = Cost {
            overhead: begin.since(start),
            seek,
            ..Cost::default()
        };
        (self.now, cost)
    }

    /// Ends what the arm does by itself, at once or as soon as it can be left. Of several segments
    /// that are dirty it writes one to its end: a command would have the arm behind that.
    pub(super) fn free_arm(&mut self) {
        self.awaited = true;
        while self.owner != Owner::Nobody && !self.try_stop() {
            self.arm_event(Instant::NEVER);
        }
        self.leave_access();
        self.awaited = false;
    }

    /// Writes everything that the medium does not have.
    pub(super) fn write_all(&mut self) {
        while self.buffer.has_unwritten() {
            self.arm_event(Instant::NEVER);
        }
    }

    /// What passes before the arm moves for a command that comes after another one.
    #[inline]
    pub(super) fn arm_overhead(&self, op: Op, last_op: Op) -> Duration {
        let overhead = match op {
            Op::Write => self.firmware.write,
            _ => self.firmware.read_miss,
        };
        self.firmware.command + overhead.after(last_op)
    }

    fn arrive(&mut self, command: &Command, first: u64, end: u64) {
        let op = command.op;
        self.job = Some(Job {
            op,
            to_medium: self.ends_on_medium(command),
            first,
            end,
            sent: first,
            meets: Match::Miss,
            segment: None,
            prepared: false,
            has_arm: false,
            watermark: self.firmware.watermark(op, end - first),
            arm_ready: self.now,
            extra: false,
            pause_ahead: false,
            burst: Burst::default(),
            marks: Marks::NONE,
        });
        self.bus = Bus::Idle;
        self.choose();
        match op {
            Op::Read => self.arrive_read(),
            _ => self.arrive_write(),
        }
    }

    /// Whether a write ends when its data are on the medium, and not when the buffer has them.
    fn ends_on_medium(&self, command: &Command) -> bool {
        match self.firmware.cache() {
            WriteCache::Off => true,
            WriteCache::Protected => false,
            WriteCache::Volatile | WriteCache::Unknown => command.fua,
        }
    }

    #[inline]
    fn job(&self) -> &Job {
        self.job.as_ref().expect("called for a command")
    }

    #[inline]
    fn job_mut(&mut self) -> &mut Job {
        self.job.as_mut().expect("called for a command")
    }

    /// Finds a segment for the command, if one can be had.
    fn choose(&mut self) {
        let (op, first, end) = {
            let job = self.job();
            (job.op, job.first, job.end)
        };
        let mut choice = match op {
            Op::Read => self
                .buffer
                .for_read(&self.firmware, first, end, self.near()),
            _ => self.buffer.for_write(&self.firmware, first, end),
        };
        let job = self.job_mut();
        // What is to be on the medium when it ends waits until the old data are there.
        if job.to_medium && choice.meets == Match::Overwrite {
            choice = Choice::COLLISION;
        }
        (job.segment, job.meets) = (choice.segment, choice.meets);
        if choice.if_stoppable && !self.may_have_arm() {
            choice.segment = None;
        }
        self.job_mut().segment = choice.segment;
    }

    fn arrive_read(&mut self) {
        let ready = self.now + self.firmware.read_miss.after(self.last_op);
        self.job_mut().arm_ready = ready;
        if self.enough_to_begin() && (self.needs_no_arm() || self.may_have_arm()) {
            let hit = self.firmware.read_hit.after(self.last_op);
            self.bus = Bus::Contact(self.now + hit + self.firmware.preparation);
            self.take_segment();
            self.activate(false);
        } else {
            self.bus = Bus::Leave(ready + self.firmware.read_disconnect.after(self.last_op));
            self.activate(true);
        }
    }

    /// Whether the buffer answers a read whatever the arm does.
    pub(super) fn needs_no_arm(&self) -> bool {
        self.firmware.buffer.hits_while_writing && self.job().meets == Match::Whole
    }

    /// Whether so much of a read is in the buffer that the bus is not left.
    fn enough_to_begin(&self) -> bool {
        let job = self.job();
        match (job.meets, job.segment) {
            (Match::Whole, _) => true,
            (Match::Partial, _) if self.firmware.buffer.partial_hit_at_once => true,
            (Match::Partial, Some(index)) => {
                let there = self.buffer.at(index).end.saturating_sub(job.first);
                there >= job.watermark.min(job.end - job.first)
            }
            _ => false,
        }
    }

    fn arrive_write(&mut self) {
        let overhead = self.firmware.write.after(self.last_op);
        self.job_mut().arm_ready = self.now + overhead;
        let at_once = self.job().segment.is_some()
            && (self.firmware.buffer.accept_while_writing || self.may_have_arm());
        if !at_once {
            self.bus = Bus::Leave(self.now + overhead + self.firmware.write_disconnect);
            self.activate(true);
            return;
        }
        match self
            .firmware
            .extra
            .filter(|_| self.follows_unrelated_write())
        {
            Some(extra) => {
                let now = self.now;
                let job = self.job_mut();
                (job.extra, job.pause_ahead) = (true, true);
                job.arm_ready = now + extra.command + extra.seek;
                self.bus = Bus::Leave(now + extra.command + extra.disconnect);
            }
            None => self.bus = Bus::Contact(self.now + overhead + self.firmware.preparation),
        }
        self.take_segment();
        self.activate(false);
    }

    /// Whether the command before was a write elsewhere, to the same segment.
    fn follows_unrelated_write(&self) -> bool {
        let index = self
            .job()
            .segment
            .expect("a write that begins has a segment");
        let segment = self.buffer.at(index);
        self.buffer.is_latest(index) && segment.op == Op::Write && self.job().first != segment.end
    }
}
