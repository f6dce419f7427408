//! The response times that a trace tells, held beside those of the model for the same requests.
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

use crate::demerit::{demerit, steps_ms};
use crate::measure::times;
use crate::outcome::{Times, Traced};

/// Where the trace tells of fewer measured requests than this share, they may be of another kind than the rest.
const TOLD_MIN: f64 = 0.9;

/// Response times that the trace tells of the requests that are measured.
pub struct Told {
    /// Number of the first measured request.
    from: u64,
    reads: Histogram,
    writes: Histogram,
    untold: u64,
    /// Number of the first measured request that it tells. It tells none before, so a trace that tells nothing costs nothing.
    first: Option<u64>,
    /// Numbers of later requests that it does not tell, until they are answered.
    untold_waiting: BTreeSet<u64>,
    /// Response times of the model, of the requests that it tells.
    simulated: Histogram,
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

    /// What was told, and how far it is from the simulated response times of the same requests, if these tell more than how long the load
    /// is (`kept_up`); `None` if nothing was told.
    ///
    /// # Errors
    /// It was told of too few requests to be held beside all; the error says so.
    pub(crate) fn beside(&self, kept_up: bool) -> Result<Option<Traced>, String> {
        let all = self.responses();
        let requests = all.count();
        if requests == 0 {
            return Ok(None);
        }
        let share = requests as f64 / (requests + self.untold) as f64;
        if share < TOLD_MIN {
            let (percent, least) = (share * 100.0, TOLD_MIN * 100.0);
            return Err(format!(
                "the trace tells the response times of {percent:.1} % of the measured requests; the model's are held beside \
                 them from {least:.0} % on"
            ));
        }
        let apart = || demerit(steps_ms(&self.simulated), steps_ms(&all));
        let demerit_ms = kept_up.then(apart).flatten();
        let response_ms = times(&all);
        let class =
            |class: &Histogram| -> Option<Times> { (class.count() > 0).then(|| times(class)) };
        Ok(Some(Traced {
            requests,
            untold: self.untold,
            read_response_ms: class(&self.reads),
            write_response_ms: class(&self.writes),
            demerit_ms,
            demerit_share: demerit_ms
                .filter(|_| response_ms.mean > 0.0)
                .map(|ms| ms / response_ms.mean),
            response_ms,
        }))
    }

    /// All that was told.
    pub(crate) fn responses(&self) -> Histogram {
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        all
    }
}

#[cfg(test)]
mod tests {
    use nearslot_core::op::{Cost, Status};
    use nearslot_core::request::{Request, Timeline};
    use nearslot_core::units::Instant;

    use super::*;

    fn answer(told: &mut Told, number: u64, us: u64) {
        let arrived = Instant(number * 1_000_000);
        told.replied(&Reply {
            request: Request::new(number, Op::Read, 0, 8, arrived),
            status: Status::Done,
            timeline: Timeline {
                arrived,
                started: arrived,
                replied: arrived + Duration::from_us(us),
                cost: Cost::default(),
            },
        });
    }

    #[test]
    fn requests_that_the_trace_does_not_tell_are_left_out_on_both_sides() {
        let mut told = Told::new(10);
        for number in 0..210 {
            let untold = number % 20 == 0;
            let known = Duration::from_us(1_000).0;
            told.note(
                number,
                Op::Read,
                if untold { Record::UNKNOWN } else { known },
            );
        }
        // Answers come in another order. Those of warm-up and those that are untold took longest.
        for number in (0..210).rev() {
            let slow = number % 20 == 0 || number < 10;
            answer(&mut told, number, if slow { 50_000 } else { 1_000 });
        }
        let traced = told.beside(true).unwrap().unwrap();
        assert_eq!((traced.requests, traced.untold), (190, 10));
        assert_eq!(traced.demerit_ms, Some(0.0));
        assert_eq!(told.beside(false).unwrap().unwrap().demerit_ms, None);
    }
}
