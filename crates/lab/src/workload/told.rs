//! The response times that a trace tells, and those of the model for the same requests.
//!
//! A replay at the recorded speed gives the model the same requests at the same times as the traced
//! drive had. If the trace tells their latencies, the distance between the two distributions shows
//! how far the model is from that drive. A closed loop, or another speed, is another load: then no
//! traced times are shown. Some tracers see a request only when it is issued to the drive. They
//! give that instant as its arrival, so the response time of the replay begins at the same instant
//! as theirs. Requests of which the trace tells no time, and requests that failed in the model, are
//! left out of both distributions: how long it takes to fail is no response time of a drive.

use nearslot_core::metrics::Histogram;
use nearslot_core::op::Op;
use nearslot_core::request::Reply;
use nearslot_core::units::Duration;
use nearslot_trace::Record;

use crate::hash::NumberMap;

/// Response times that the trace tells of the requests that are measured.
pub struct Told {
    /// Number of the first measured request.
    from: u64,
    pub(crate) reads: Histogram,
    pub(crate) writes: Histogram,
    /// Answered requests that it does not tell.
    pub(crate) untold: u64,
    /// What it tells of requests that wait for their answer, by number. It has none that are
    /// untold, so a trace that tells nothing costs nothing.
    waiting: NumberMap<u64, Duration>,
    /// Response times of the model, of the requests that it tells.
    pub(crate) simulated: Histogram,
}

impl Told {
    /// Of requests from number `from` on.
    pub fn new(from: u64) -> Told {
        Told {
            from,
            reads: Histogram::default(),
            writes: Histogram::default(),
            untold: 0,
            waiting: NumberMap::default(),
            simulated: Histogram::default(),
        }
    }

    /// Takes what the trace tells of a request: nanoseconds, or [`Record::UNKNOWN`].
    #[inline]
    pub(crate) fn note(&mut self, number: u64, op: Op, response_ns: u64) {
        let counts = number >= self.from && matches!(op, Op::Read | Op::Write);
        if counts && response_ns != Record::UNKNOWN {
            self.waiting.insert(number, Duration(response_ns));
        }
    }

    /// The model answered a request.
    #[inline]
    pub(crate) fn replied(&mut self, reply: &Reply) {
        let number = reply.request.id.0;
        let known = self.waiting.remove(&number);
        if number < self.from || !reply.status.is_done() {
            return;
        }
        let class = match reply.request.op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
            _ => return,
        };
        let Some(traced) = known else {
            self.untold += 1;
            return;
        };
        class.record(traced);
        self.simulated.record(reply.timeline.response());
    }

    /// All that was told.
    pub(crate) fn responses(&self) -> Histogram {
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        all
    }
}
