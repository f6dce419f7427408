//! Closed replay: a constant number of requests in flight, whatever the traced times.
//!
//! At time 0 the first N requests come; from then on every answer brings the next one. It asks what the drive can do
//! with this mix of requests, as a benchmark with a fixed queue depth does. A few nanoseconds per request.

use nearslot_core::request::{Reply, Request};
use nearslot_core::units::Instant;

use super::intake::Intake;
use super::{Tally, Workload, WorkloadError};

/// Room for requests in a closed loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    depth: u64,
    in_flight: u64,
    /// When there was last room for one more: the latest answer.
    since: Instant,
}

impl Loop {
    pub(super) fn new(depth: u64) -> Loop {
        assert!(depth > 0, "a closed loop of depth 0 never starts");
        Loop {
            depth,
            in_flight: 0,
            since: Instant::ZERO,
        }
    }

    /// Since when one more may come.
    #[inline]
    pub(super) fn room(&self) -> Option<Instant> {
        (self.in_flight < self.depth).then_some(self.since)
    }

    #[inline]
    pub(super) fn enter(&mut self) {
        assert!(self.in_flight < self.depth, "the loop is full");
        self.in_flight += 1;
    }

    #[inline]
    pub(super) fn leave(&mut self, now: Instant) {
        assert!(self.in_flight > 0, "an answer without a request");
        self.in_flight -= 1;
        self.since = now;
    }
}

/// A trace's requests with a constant number in flight.
pub struct Closed {
    intake: Intake,
    room: Loop,
    next: Option<Request>,
}

impl Closed {
    /// Replays `intake` with `depth` requests in flight.
    ///
    /// # Panics
    /// If `depth` is 0.
    pub fn new(mut intake: Intake, depth: u64) -> Closed {
        let next = intake.next().map(|asked| asked.request);
        Closed {
            intake,
            room: Loop::new(depth),
            next,
        }
    }
}

impl Workload for Closed {
    fn next_arrival(&self) -> Option<Instant> {
        self.next.and_then(|_| self.room.room())
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        self.room.room()?;
        let request = self.next?;
        self.next = self.intake.next().map(|asked| asked.request);
        self.room.enter();
        Some(Request {
            arrived: now,
            ..request
        })
    }

    fn replied(&mut self, now: Instant, _reply: &Reply) {
        self.room.leave(now);
    }

    fn failure(&mut self) -> Option<WorkloadError> {
        self.intake.failure()
    }

    fn tally(&self) -> Tally {
        self.intake.tally()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::{Record, TraceOp};
    use crate::workload::fit::Mode;
    use crate::workload::intake::tests::intake;
    use crate::workload::tests::reply;

    fn closed(count: i64, depth: u64) -> Closed {
        let record = |ts| Record::new(ts, TraceOp::Read, 0, 512, 0);
        let records: Vec<Record> = (0..count).map(record).collect();
        Closed::new(intake(&records, Mode::None, 8), depth)
    }

    #[test]
    fn the_first_come_at_once_and_each_answer_brings_the_next() {
        let mut closed = closed(3, 2);
        let first = closed.poll(Instant::ZERO).unwrap();
        assert_eq!(closed.next_arrival(), Some(Instant::ZERO));
        assert_eq!(closed.poll(Instant::ZERO).unwrap().id.0, 1);
        assert_eq!(closed.next_arrival(), None);
        assert!(closed.poll(Instant(50)).is_none());
        closed.replied(Instant(70), &reply(first, Instant(70)));
        assert_eq!(closed.next_arrival(), Some(Instant(70)));
        let last = closed.poll(Instant(70)).unwrap();
        assert_eq!((last.id.0, last.arrived), (2, Instant(70)));
        closed.replied(Instant(80), &reply(last, Instant(80)));
        assert_eq!(closed.next_arrival(), None);
    }

    proptest! {
        #[test]
        fn exactly_the_depth_is_in_flight_until_the_trace_ends(
            depth in 1_u64..20,
            count in 1_i64..100,
            picks in prop::collection::vec(0_usize..64, 100),
        ) {
            let mut closed = closed(count, depth);
            let (mut flying, mut asked) = (Vec::new(), 0);
            for (step, pick) in picks.into_iter().enumerate() {
                let now = Instant(step as u64 * 10);
                while let Some(request) = closed.poll(now) {
                    asked += 1;
                    flying.push(request);
                }
                let left = count as u64 - asked;
                prop_assert!(flying.len() as u64 == depth || left == 0 && (flying.len() as u64) < depth);
                if flying.is_empty() {
                    break;
                }
                let done = flying.swap_remove(pick % flying.len());
                closed.replied(now, &reply(done, now));
            }
        }
    }
}
