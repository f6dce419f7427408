//! Reads that go around the cache: what they want, as far as the write buffer has it, is from
//! there, and the rest from the drives.
//!
//! What the buffer has when a read comes is given to it at once. So it does not matter what becomes
//! of these blocks while the rest is on its way. If the buffer has nothing of it, the read goes to
//! the stack below as it is; else jobs of the buffer bring the blocks between.

use super::{Memory, Move, Work, between};
use crate::ids::RequestId;
use crate::op::Op;
use crate::request::{Reply, Request};
use crate::units::{Extent, Instant};

impl Memory {
    /// A read goes around the cache.
    pub(super) fn read_around(&mut self, now: Instant, asked: u32, request: &Request) {
        let mut runs = std::mem::take(&mut self.runs);
        if let Some(buffer) = &mut self.buffer {
            buffer.there(&request.extent, &mut runs);
            buffer.count_read(&runs);
        }
        if runs.is_empty() {
            self.runs = runs;
            return self.pass(asked, request);
        }
        let mut next = request.extent.start.0;
        for run in runs.drain(..) {
            if next < run.start.0 {
                self.begin_read(asked, request, between(next, run.start.0));
            }
            let to = request.id;
            let extent = run;
            self.orders.push_move(Move::Lend { to, extent });
            next = run.end().0;
        }
        self.runs = runs;
        if next < request.extent.end().0 {
            self.begin_read(asked, request, between(next, request.extent.end().0));
        }
        if self.asked[asked as usize].remaining == 0 {
            let time = self.buffer_mut().read_time();
            self.answer_later(now, time, asked);
        }
    }

    /// A job brings blocks for a read.
    fn begin_read(&mut self, asked: u32, of: &Request, extent: Extent) {
        self.asked[asked as usize].remaining += 1;
        let id = self.own_job(Work::Read { asked, extent });
        let op = Op::Read;
        let request = Request {
            id,
            op,
            extent,
            ..*of
        };
        self.start(request);
    }

    /// A job has brought blocks for a read, or has failed.
    pub(super) fn brought(
        &mut self,
        now: Instant,
        (of, asked, extent): (RequestId, u32, Extent),
        reply: &Reply,
    ) {
        self.worked(asked, Some(&reply.timeline));
        let one = &mut self.asked[asked as usize];
        one.remaining -= 1;
        let (remaining, to) = (one.remaining, one.request.id);
        if one.status.is_done() {
            one.status = reply.status;
        }
        let status = one.status;
        if reply.status.is_done() {
            self.orders.push_move(Move::Give { of, to, extent });
        }
        self.orders.push_move(Move::End(of));
        if remaining == 0 {
            self.answer(now, asked, status);
        }
    }
}
