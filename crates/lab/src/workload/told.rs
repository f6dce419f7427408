//! The response times that a trace tells, and those of the model for the same requests.
//!
//! A replay at the recorded speed gives the model the same requests at the same times as the traced drive had. If the trace tells
//! their latencies, the distance between the two distributions shows how far the model is from that drive. A closed loop,
//! or another speed, is another load: then no traced times are shown. Some tracers see a request only when it is issued to the
//! drive. They give that instant as its arrival, so the response time of the replay begins at the same instant as theirs.
//! Requests of which the trace tells no time are left out of both distributions.

use std::collections::BTreeSet;

use nearslot_core::metrics::Histogram;
use nearslot_core::op::Op;
use nearslot_core::request::Reply;
use nearslot_core::units::Duration;
use nearslot_trace::Record;

/// Response times that the trace tells of the requests that are measured.
pub struct Told {
    /// Number of the first measured request.
    from: u64,
    pub(crate) reads: Histogram,
    pub(crate) writes: Histogram,
    pub(crate) untold: u64,
    /// Number of the first measured request that it tells. It tells none before, so a trace that tells nothing costs nothing.
    first: Option<u64>,
    /// Numbers of later requests that it does not tell, until they are answered.
    untold_waiting: BTreeSet<u64>,
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
            first: None,
            untold_waiting: BTreeSet::new(),
            simulated: Histogram::default(),
        }
    }

    /// Takes what the trace tells of a request: nanoseconds, or [`Record::UNKNOWN`].
    #[inline]
    pub(crate) fn note(&mut self, number: u64, op: Op, response_ns: u64) {
        let class = match op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
            _ => return,
        };
        match response_ns {
            _ if number < self.from => {}
            Record::UNKNOWN => {
                self.untold += 1;
                if self.first.is_some() {
                    self.untold_waiting.insert(number);
                }
            }
            known => {
                self.first.get_or_insert(number);
                class.record(Duration(known));
            }
        }
    }

    /// The model answered a request.
    #[inline]
    pub(crate) fn replied(&mut self, reply: &Reply) {
        let (number, op) = (reply.request.id.0, reply.request.op);
        let may_be_told = self.first.is_some_and(|first| number >= first);
        let counts = may_be_told && matches!(op, Op::Read | Op::Write);
        if counts && !self.untold_waiting.remove(&number) {
            self.simulated.record(reply.timeline.response());
        }
    }

    /// All that was told.
    pub(crate) fn responses(&self) -> Histogram {
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        all
    }
}
