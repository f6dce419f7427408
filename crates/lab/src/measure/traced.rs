//! The response times that a trace tells, held beside those of the model.

use nearslot_core::metrics::Histogram;

use super::demerit::{demerit, steps_ms};
use super::times;
use crate::outcome::{Times, Traced};
use crate::workload::told::Told;

/// Where the trace tells of fewer measured requests than this share, they may be of another kind
/// than the rest.
const TOLD_MIN: f64 = 0.9;

/// What was told, and how far it is from the simulated response times of the same requests, if
/// these tell more than how long the load is (`kept_up`); `None` if nothing was told.
///
/// # Errors
/// It was told of too few requests to be held beside all; the error says so.
pub(crate) fn beside(told: &Told, kept_up: bool) -> Result<Option<Traced>, String> {
    let all = told.responses();
    let requests = all.count();
    if requests == 0 {
        return Ok(None);
    }
    let share = requests as f64 / (requests + told.untold) as f64;
    if share < TOLD_MIN {
        let (percent, least) = (share * 100.0, TOLD_MIN * 100.0);
        return Err(format!(
            "the trace tells the response times of {percent:.1} % of the measured requests; the model's are held beside \
             them from {least:.0} % on"
        ));
    }
    let apart = || demerit(steps_ms(&told.simulated), steps_ms(&all));
    let demerit_ms = kept_up.then(apart).flatten();
    let response_ms = times(&all, 0);
    let class =
        |class: &Histogram| -> Option<Times> { (class.count() > 0).then(|| times(class, 0)) };
    Ok(Some(Traced {
        requests,
        untold: told.untold,
        read_response_ms: class(&told.reads),
        write_response_ms: class(&told.writes),
        demerit_ms,
        demerit_share: demerit_ms
            .filter(|_| response_ms.mean > 0.0)
            .map(|ms| ms / response_ms.mean),
        response_ms,
    }))
}

#[cfg(test)]
mod tests {
    use nearslot_core::op::{Cost, Failure, Op, Status};
    use nearslot_core::request::{Reply, Request, Timeline};
    use nearslot_core::units::{Duration, Instant};
    use nearslot_trace::Record;

    use super::*;

    fn answer(told: &mut Told, number: u64, us: u64, status: Status) {
        let arrived = Instant(number * 1_000_000);
        told.replied(&Reply {
            request: Request::new(number, Op::Read, 0, 8, arrived),
            status,
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
            let us = if slow { 50_000 } else { 1_000 };
            answer(&mut told, number, us, Status::Done);
        }
        let traced = beside(&told, true).unwrap().unwrap();
        assert_eq!((traced.requests, traced.untold), (190, 10));
        assert_eq!(traced.demerit_ms, Some(0.0));
        assert_eq!(beside(&told, false).unwrap().unwrap().demerit_ms, None);
    }

    #[test]
    fn requests_that_failed_are_left_out_on_both_sides() {
        let mut told = Told::new(0);
        for number in 0..210 {
            let failed = number % 20 == 0;
            // Of one that fails the trace may tell nothing, too.
            let known = Duration::from_us(if failed { 70_000 } else { 1_000 }).0;
            let known = if number == 20 { Record::UNKNOWN } else { known };
            told.note(number, Op::Read, known);
            let (us, status) = match failed {
                true => (3_000_000, Status::Failed(Failure::TimedOut)),
                false => (1_000, Status::Done),
            };
            answer(&mut told, number, us, status);
        }
        let traced = beside(&told, true).unwrap().unwrap();
        assert_eq!((traced.requests, traced.untold), (199, 0));
        assert_eq!(traced.demerit_ms, Some(0.0));
        assert!(traced.response_ms.max < 1.1, "{:?}", traced.response_ms);
    }
}
