//! Writes and discards above a write buffer, and the jobs that write to the drives what is in it.
//!
//! Writes enter in the order in which they came. One for which there is no room waits, and all that
//! come later wait behind it. Discards, and writes that are larger than the whole buffer, go to the
//! stack below as they are: when what the buffer has there has been written, and nothing enters
//! until they have ended. So no write passes another of the same blocks.
//!
//! What a job writes is forced ([`Request::fua`]): only what is on the medium may leave the buffer.
//! A job that failed leaves its blocks where they are. If nothing can be written any more and there
//! is no room, writes go through and are answered as the stack below answers them; where blocks are
//! in their way that could not be written, they fail as these did. Nothing that was answered ever
//! leaves the buffer but to the drives.

use super::buffer::Fate;
use super::{Memory, Move, OwnJob, Work};
use crate::ids::{RequestId, Unit};
use crate::op::{Op, Status};
use crate::request::{Reply, Request};
use crate::units::{Extent, Instant};

/// The number of the first of the buffer's own jobs; below are those of the cache.
pub(super) const OWN: u32 = 1 << 31;

impl Memory {
    /// A write or discard comes to the buffer.
    pub(super) fn wait_turn(&mut self, now: Instant, asked: u32, op: Op) {
        self.waiting.push_back(asked);
        self.admit(now);
        if self.waiting.back() == Some(&asked) && op == Op::Write {
            self.buffer_mut().counts.waited += 1;
        }
    }

    /// Lets those begin that may, the first one first; then units go to the drives.
    pub(super) fn admit(&mut self, now: Instant) {
        while let Some(asked) = self.waiting.front().copied() {
            if self.alone.is_some() {
                break;
            }
            let request = self.asked[asked as usize].request;
            let fate = self.buffer_mut().fate(&request);
            if fate == Fate::Waits {
                break;
            }
            self.waiting.pop_front();
            match fate {
                Fate::Enters => self.enter(now, asked, &request),
                Fate::Fails(failure) => self.answer(now, asked, Status::Failed(failure)),
                Fate::Through | Fate::Waits => self.pass_alone(asked, &request),
            }
        }
        self.destage(now);
    }

    /// A write enters the buffer, and is answered soon. The cache has it, or has it no more, as if
    /// it had gone to the drives at once.
    fn enter(&mut self, now: Instant, asked: u32, request: &Request) {
        self.change(request);
        self.changed(request, true);
        let (of, extent) = (request.id, request.extent);
        self.orders.push_move(Move::Buffer { of, extent });
        let buffer = self.buffer_mut();
        buffer.enter(&extent);
        let time = buffer.write_time();
        self.mark_changed();
        self.answer_later(now, time, asked);
    }

    /// The cache is told which pages the buffer has.
    pub(super) fn mark_changed(&mut self) {
        let buffer = self.buffer.as_mut().expect("there is one");
        for change in buffer.changed.drain(..) {
            if let Some(cached) = &mut self.cached {
                cached.lines.mark(change);
            }
        }
    }

    /// A write or discard goes to the stack below, and nothing enters until it has ended.
    fn pass_alone(&mut self, asked: u32, request: &Request) {
        self.alone = Some(asked);
        self.change(request);
        let fua = request.op == Op::Write;
        self.buffer_mut().counts.through += u64::from(fua);
        self.pass(asked, &Request { fua, ..*request });
    }

    /// Units go to the drives, as many as may.
    fn destage(&mut self, now: Instant) {
        let first = self.waiting.front().map(|asked| {
            let request = &self.asked[*asked as usize].request;
            (request.extent, self.is_for_drives(request))
        });
        let urgent = first.filter(|(_, through)| *through);
        let urgent = urgent.map(|(extent, _)| extent);
        let pressed = first.is_some_and(|(_, through)| !through) && self.alone.is_none();
        while let Some(unit) = self.buffer_mut().choose(urgent.as_ref(), pressed) {
            let mut runs = std::mem::take(&mut self.runs);
            self.buffer_mut().go(unit, &mut runs);
            for extent in runs.drain(..) {
                self.begin_write(now, unit, extent);
            }
            self.runs = runs;
        }
    }

    fn is_for_drives(&self, request: &Request) -> bool {
        let buffer = self.buffer.as_ref().expect("there is one");
        buffer.goes_through(request)
    }

    /// A job writes these blocks of a unit, as they are now.
    fn begin_write(&mut self, now: Instant, unit: Unit, extent: Extent) {
        let id = self.own_job(Work::Write { unit, extent });
        let request = Request {
            id,
            fua: true,
            ..Request::new(0, Op::Write, extent.start.0, extent.len.0, now)
        };
        self.start(request);
    }

    /// The name of another job of the buffer.
    pub(super) fn own_job(&mut self, work: Work) -> RequestId {
        self.turn = self.turn.wrapping_add(1);
        let entry = self.own.vacant_entry();
        let id = RequestId::job(OWN | entry.key() as u32, self.turn);
        entry.insert(OwnJob { id, work });
        id
    }

    /// A job of the buffer has ended.
    pub(super) fn own_ended(&mut self, now: Instant, number: u32, reply: &Reply) {
        let job = self.own.remove((number & !OWN) as usize);
        assert_eq!(job.id, reply.request.id, "another job has ended");
        match job.work {
            Work::Read { asked, extent } => self.brought(now, (job.id, asked, extent), reply),
            Work::Write { unit, extent } => {
                let mut runs = std::mem::take(&mut self.runs);
                self.buffer_mut()
                    .gone(unit, &extent, reply.status, &mut runs);
                self.orders.push_moves(runs.drain(..).map(Move::Clean));
                self.runs = runs;
                self.mark_changed();
                self.orders.push_move(Move::End(job.id));
                self.admit(now);
            }
        }
    }
}
