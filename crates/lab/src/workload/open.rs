//! Open replay: every request comes at its traced time, whatever the drive does.
//!
//! An arrival is the trace's time divided by the speed. Overload therefore shows as queues that
//! grow, not as a slower trace. With a speed of 1 times are exact; otherwise they are rounded to
//! the nearest nanosecond. O(1) per request.

use nearslot_core::request::{Reply, Request};
use nearslot_core::units::Instant;

use super::intake::{Asked, Intake};
use super::{Tally, Workload, WorkloadError};
use crate::workload::told::Told;

/// Traced times divided by a factor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Speed(f64);

impl Speed {
    /// # Panics
    /// If the factor is not above 0: configuration is checked before this.
    pub(super) fn new(factor: f64) -> Speed {
        assert!(factor > 0.0, "no such speed: {factor}");
        assert!(factor.is_finite(), "no such speed: {factor}");
        Speed(factor)
    }

    #[inline]
    pub(super) fn scale(self, traced_ns: u64) -> u64 {
        if self.0.to_bits() == 1_f64.to_bits() {
            traced_ns
        } else {
            libm::round(traced_ns as f64 / self.0) as u64
        }
    }
}

/// Requests at their traced times.
pub struct Open {
    intake: Intake,
    speed: Speed,
    /// Its request has the instant at which it comes.
    next: Option<Asked>,
}

impl Open {
    /// Replays `intake`, `speed` times as fast as it was traced.
    ///
    /// # Panics
    /// If `speed` is not a number above 0.
    pub fn new(intake: Intake, speed: f64) -> Open {
        let mut open = Open {
            intake,
            speed: Speed::new(speed),
            next: None,
        };
        open.prepare();
        open
    }

    #[inline]
    fn prepare(&mut self) {
        self.next = self.intake.next();
        if let Some(asked) = &mut self.next {
            asked.request.arrived = Instant(self.speed.scale(asked.traced.0));
        }
    }
}

impl Workload for Open {
    fn next_arrival(&self) -> Option<Instant> {
        self.next.as_ref().map(|asked| asked.request.arrived)
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        let request = self.next.as_ref()?.request;
        if request.arrived > now {
            return None;
        }
        self.prepare();
        Some(request)
    }

    fn replied(&mut self, _now: Instant, reply: &Reply) {
        self.intake.replied(reply);
    }

    fn failure(&mut self) -> Option<WorkloadError> {
        self.intake.failure()
    }

    fn told(&self) -> Option<&Told> {
        self.intake.told()
    }

    fn tally(&self) -> Tally {
        self.intake.tally()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use nearslot_trace::{Record, TraceOp};

    use super::*;
    use crate::workload::fit::Mode;
    use crate::workload::intake::tests::intake;

    fn arrivals(times: &[i64], speed: f64) -> Vec<u64> {
        let record = |&ts: &i64| Record::new(ts, TraceOp::Read, 0, 512, 0);
        let records: Vec<Record> = times.iter().map(record).collect();
        let mut open = Open::new(intake(&records, Mode::None, 8), speed);
        let mut arrivals = Vec::new();
        while let Some(due) = open.next_arrival() {
            assert!(due == Instant::ZERO || open.poll(Instant(due.0 - 1)).is_none());
            let request = open.poll(due).unwrap();
            assert_eq!(
                (request.arrived, request.id.0),
                (due, arrivals.len() as u64)
            );
            arrivals.push(due.0);
        }
        arrivals
    }

    #[test]
    fn requests_come_when_they_came() {
        assert_eq!(
            arrivals(&[0, 1_500, 1_500, 9_000], 1.0),
            [0, 1_500, 1_500, 9_000]
        );
    }

    #[test]
    fn speed_divides_times() {
        assert_eq!(arrivals(&[0, 1_500, 3_001], 2.0), [0, 750, 1_501]);
        assert_eq!(arrivals(&[0, 1_500], 0.5), [0, 3_000]);
    }

    proptest! {
        #[test]
        fn all_arrivals_are_kept(mut times in prop::collection::vec(0_i64..1 << 60, 0..2_000)) {
            times.sort_unstable();
            let expected: Vec<u64> = times.iter().map(|&ts| ts as u64).collect();
            prop_assert_eq!(arrivals(&times, 1.0), expected);
        }
    }
}
