//! Ends a run early once it surely misses an objective.
//!
//! For each objective and each batch of `measure/` the gate counts the requests that were not
//! answered within the limit of a percentile; where the limit is one of the mean, it adds up
//! response times. The loop asks it every few thousand events whether the run is over. It then
//! takes what it does not know yet to be as favourable as possible:
//!
//! - A request of a complete batch that still waits has waited at least since the last arrival of
//!   its batch. So long counts; but nothing of it does in a mean if requests may fail, as one that
//!   does is in no mean.
//! - Each request of a batch whose requests have not all come, and of all later batches, counts as
//!   one that the objective is about and that was answered at once.
//!
//! If even so the lower end of the 95 % interval by batches is beyond the limit, the run is over.
//! Whatever the rest of the run would do, its estimate misses the objective, for the rest can only
//! add to the mean. That the interval of the whole run misses it too does not follow: a few batches
//! far worse than all others could widen it. A run whose requests are all late ends with the sixth
//! of its 32 batches. What the gate has seen decides alone, so a repeated run ends at the same
//! request.
//!
//! The same counts tell which of two runs under the same load comes closer to its objectives, batch
//! by batch, as `verdict` does with means. Cost: O(1) per request and objective.

use nearslot_core::request::{Reply, Request};
use nearslot_core::units::Instant;

use crate::measure::{BATCHES, Window, weighted};
use crate::objective::Objective;

/// What is known of the requests of a batch that an objective is about.
#[derive(Clone, Copy, Default)]
struct Batch {
    arrived: u64,
    /// When the last one came.
    last: Instant,
    answered: u64,
    /// Answered too late for a percentile.
    late: u64,
    /// Time from arrival to answer, of those answered.
    response_ns: u128,
}

/// What each batch of a run had of misses, or its mean in milliseconds, and of how many requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ByBatch {
    pub(crate) values: [f64; BATCHES],
    pub(crate) weights: [u64; BATCHES],
}

/// An objective and its counts.
struct Counts {
    objective: Objective,
    limit_ns: u64,
    batches: [Batch; BATCHES],
    /// Whether requests may fail.
    may_fail: bool,
}

impl Counts {
    fn new(objective: &Objective, may_fail: bool) -> Counts {
        Counts {
            objective: objective.clone(),
            limit_ns: (objective.limit_ms * 1e6).ceil() as u64,
            batches: [Batch::default(); BATCHES],
            may_fail,
        }
    }

    /// Share of requests that missed, or the mean in milliseconds, of each of the first batches; 0
    /// of the others, with `each` requests.
    fn by_batch(&self, now: Instant, (batches, each): (usize, u64)) -> ByBatch {
        ByBatch {
            values: std::array::from_fn(|index| match &self.batches[index] {
                batch if index < batches && batch.arrived > 0 => self.least(batch, now),
                _ => 0.0,
            }),
            weights: std::array::from_fn(|index| match &self.batches[index] {
                batch if index < batches => batch.arrived,
                _ => each,
            }),
        }
    }

    /// The least share of misses, or the least mean in milliseconds, of a batch whose requests have
    /// all arrived.
    fn least(&self, batch: &Batch, now: Instant) -> f64 {
        let waited = now.since(batch.last).0;
        let waiting = batch.arrived - batch.answered;
        let amount = match self.objective.statistic.rank() {
            None if self.may_fail => batch.response_ns as f64 / 1e6,
            None => (batch.response_ns + u128::from(waiting) * u128::from(waited)) as f64 / 1e6,
            Some(_) if waited >= self.limit_ns => (batch.late + waiting) as f64,
            Some(_) => batch.late as f64,
        };
        amount / batch.arrived as f64
    }

    /// What the mean over batches must not exceed.
    fn allowed(&self) -> f64 {
        match self.objective.statistic.rank() {
            None => self.objective.limit_ms,
            Some(rank) => 1.0 - rank,
        }
    }

    /// Whether the lower end of the interval is beyond the limit, with the rest taken as favourable
    /// as possible.
    fn missed(&self, now: Instant, rest: (usize, u64)) -> bool {
        let ByBatch { values, weights } = self.by_batch(now, rest);
        let (mean, half) = weighted(&values, &weights);
        mean - half > self.allowed()
    }
}

/// Holds a run against objectives.
pub(crate) struct Gate {
    window: Window,
    counts: Vec<Counts>,
    /// Requests of each batch that came, of all kinds: they need not come in the order of their
    /// numbers.
    came: [u64; BATCHES],
    /// Whether each objective was surely missed when it was asked last.
    missed: Vec<bool>,
}

impl Gate {
    /// `may_fail`: something may go wrong in the run.
    pub(crate) fn new(window: Window, objectives: &[Objective], may_fail: bool) -> Gate {
        Gate {
            window,
            counts: objectives
                .iter()
                .map(|objective| Counts::new(objective, may_fail))
                .collect(),
            came: [0; BATCHES],
            missed: vec![false; objectives.len()],
        }
    }

    /// Whether there is nothing to hold the run against.
    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The batch of a request; `None` for warm-up.
    #[inline]
    fn batch_of(&self, number: u64) -> Option<usize> {
        (number >= self.window.warmup).then(|| self.window.batch(number))
    }

    /// How many of the first batches have had all their requests.
    fn complete(&self) -> usize {
        let size = |numbers: std::ops::Range<u64>| numbers.end - numbers.start;
        let full = |batch: &usize| self.came[*batch] == size(self.window.numbers(*batch));
        (0..BATCHES).take_while(full).count()
    }

    /// A request came.
    #[inline]
    pub(crate) fn arrived(&mut self, request: &Request) {
        let Some(index) = self.batch_of(request.id.0) else {
            return;
        };
        self.came[index] += 1;
        for counts in &mut self.counts {
            if counts.objective.class.has(request.op) {
                let batch = &mut counts.batches[index];
                batch.arrived += 1;
                batch.last = request.arrived;
            }
        }
    }

    /// A request was answered.
    #[inline]
    pub(crate) fn replied(&mut self, reply: &Reply) {
        let Some(index) = self.batch_of(reply.request.id.0) else {
            return;
        };
        let response = reply.timeline.response().0;
        for counts in &mut self.counts {
            if counts.objective.class.has(reply.request.op) {
                let batch = &mut counts.batches[index];
                let done = reply.status.is_done();
                // A mean is that of answers. A failure is none, and is told beside.
                if !done && counts.objective.statistic.rank().is_none() {
                    batch.arrived -= 1;
                    continue;
                }
                batch.answered += 1;
                // A request that fails is never answered in time.
                batch.late += u64::from(!done || response >= counts.limit_ns);
                batch.response_ns += u128::from(response);
            }
        }
    }

    /// A request was answered that is made again: it counts nothing by itself.
    pub(crate) fn goes_again(&mut self, reply: &Reply) {
        let Some(index) = self.batch_of(reply.request.id.0) else {
            return;
        };
        for counts in &mut self.counts {
            if counts.objective.class.has(reply.request.op) {
                counts.batches[index].arrived -= 1;
            }
        }
    }

    /// Whether an objective is surely missed, so that the run need not go on.
    pub(crate) fn over(&mut self, now: Instant) -> bool {
        let rest = (self.complete(), self.each());
        for (counts, missed) in self.counts.iter().zip(&mut self.missed) {
            *missed = *missed || counts.missed(now, rest);
        }
        self.missed.contains(&true)
    }

    /// Which objectives were surely missed when it was asked last.
    pub(crate) fn missed(&self) -> &[bool] {
        &self.missed
    }

    /// Requests of a batch, of all kinds.
    fn each(&self) -> u64 {
        let measured = self.window.requests - self.window.warmup;
        measured.div_ceil(BATCHES as u64)
    }

    /// For each objective, what every batch had of misses, or its mean; the least it can be if the
    /// run ended early.
    pub(crate) fn by_batch(&self, end: Instant, whole: bool) -> Vec<ByBatch> {
        let batches = if whole { BATCHES } else { self.complete() };
        let counts = self.counts.iter();
        let rest = (batches, self.each());
        counts.map(|counts| counts.by_batch(end, rest)).collect()
    }
}

#[cfg(test)]
mod tests {
    use nearslot_core::op::{Cost, Failure, Op, Status};
    use nearslot_core::request::Timeline;
    use nearslot_core::units::Duration;

    use super::*;

    const REQUESTS: u64 = 3_200;

    fn gate(objective: &str) -> Gate {
        let window = Window {
            requests: REQUESTS + 100,
            warmup: 100,
        };
        Gate::new(window, &[objective.parse().unwrap()], false)
    }

    /// Requests 1 ms apart, each answered after so many microseconds, or not at all.
    fn feed(gate: &mut Gate, numbers: std::ops::Range<u64>, response_us: Option<u64>) -> Instant {
        let mut now = Instant::ZERO;
        for number in numbers {
            now = Instant(number * 1_000_000);
            let request = Request::new(number, Op::Read, 0, 8, now);
            gate.arrived(&request);
            if let Some(us) = response_us {
                gate.replied(&Reply {
                    request,
                    status: Status::Done,
                    timeline: Timeline {
                        arrived: now,
                        started: now,
                        replied: now + Duration::from_us(us),
                        cost: Cost::default(),
                    },
                });
            }
        }
        now
    }

    #[test]
    fn a_run_ends_when_no_rest_could_mend_it() {
        // Every request of the first five of 32 batches misses: 5/32 less 2.04 standard errors of
        // 0.065.
        for objective in ["p99 < 10 ms", "read p99 < 10 ms", "mean < 0.5 ms"] {
            let mut gate = gate(objective);
            let end = |batches: u64| 100 + batches * REQUESTS / 32;
            let now = feed(&mut gate, 0..end(3), Some(20_000));
            assert!(!gate.over(now), "{objective}");
            let now = feed(&mut gate, end(3)..end(6) + 1, Some(20_000));
            assert!(gate.over(now), "{objective}");
        }
    }

    /// A dependent replay gives requests in another order than that of their numbers.
    #[test]
    fn a_batch_is_judged_once_all_of_it_has_come() {
        let mut gate = gate("p99 < 10 ms");
        for batch in 0..6 {
            let first = 100 + batch * REQUESTS / 32;
            let now = feed(&mut gate, first..first + 10, Some(20_000));
            assert!(!gate.over(now), "{batch}");
        }
        assert_eq!(gate.complete(), 0);
        feed(&mut gate, 110..200, Some(1_000));
        assert_eq!(gate.complete(), 1);
    }

    #[test]
    fn warm_up_and_other_requests_do_not_count() {
        let mut late = gate("p99 < 10 ms");
        let now = feed(&mut late, 0..100, Some(20_000_000));
        assert!(!late.over(now));
        assert_eq!(late.by_batch(now, true)[0].weights, [0; BATCHES]);
        let mut writes = gate("write p99 < 10 ms");
        let now = feed(&mut writes, 0..REQUESTS, Some(20_000_000));
        assert!(!writes.over(now));
        let by_batch = writes.by_batch(now, true);
        assert!(by_batch[0].values.iter().all(|share| share.abs() == 0.0));
        assert_eq!(by_batch[0].weights, [0; BATCHES]);
    }

    #[test]
    fn requests_that_wait_count_once_they_have_waited_too_long() {
        let mut gate = gate("p99 < 10 ms");
        let now = feed(&mut gate, 0..1_000, None);
        // All of the first eight batches have waited for 100 ms or more; the ninth has not come as
        // a whole.
        assert!(gate.over(now));
        let shares = gate.by_batch(now, false)[0].values;
        assert!(
            shares[..8].iter().all(|share| (share - 1.0).abs() < 1e-12),
            "{shares:?}"
        );
        assert!(
            shares[8..].iter().all(|share| share.abs() == 0.0),
            "{shares:?}"
        );
        let mut patient = self::gate("p99 < 10 s");
        let now = feed(&mut patient, 0..1_000, None);
        assert!(!patient.over(now));
    }

    #[test]
    fn an_answer_at_the_limit_is_late_and_one_just_before_it_is_not() {
        for (us, late) in [(10_000, true), (9_999, false)] {
            let mut gate = gate("p50 < 10 ms");
            let now = feed(&mut gate, 0..REQUESTS + 100, Some(us));
            assert_eq!(gate.over(now), late, "{us} us");
        }
        // So is one that has waited as long.
        for (ns, share) in [(10_000_000, 1.0), (9_999_999, 0.0)] {
            let mut gate = gate("p99 < 10 ms");
            let now = feed(&mut gate, 0..200, None);
            let by_batch = gate.by_batch(Instant(now.0 + ns), false);
            assert_eq!(by_batch[0].values[0], share, "{ns} ns");
        }
    }

    #[test]
    fn a_failure_misses_a_percentile_and_is_in_no_mean() {
        for (objective, over, counted) in
            [("p99 < 10 ms", true, 1_900), ("mean < 10 ms", false, 900)]
        {
            let mut gate = gate(objective);
            let mut now = feed(&mut gate, 0..1_000, Some(1_000));
            for number in 1_000..2_000 {
                now = Instant(number * 1_000_000);
                let request = Request::new(number, Op::Read, 0, 8, now);
                gate.arrived(&request);
                gate.replied(&Reply {
                    request,
                    status: Status::Failed(Failure::TimedOut),
                    timeline: Timeline {
                        arrived: now,
                        started: now,
                        replied: now + Duration::from_us(30_000_000),
                        cost: Cost::default(),
                    },
                });
            }
            let late = Instant(now.0 + 60_000_000_000);
            assert_eq!(gate.over(late), over, "{objective}");
            let ByBatch { weights, .. } = gate.by_batch(late, true)[0];
            assert_eq!(weights.iter().sum::<u64>(), counted, "{objective}");
        }
    }

    /// A wait for a drive that does not answer is in no mean if it ends in a failure.
    #[test]
    fn what_waits_and_may_fail_adds_nothing_to_a_mean() {
        for may_fail in [false, true] {
            let mut gate = gate("mean < 10 ms");
            gate.counts[0].may_fail = may_fail;
            let mut now = Instant::ZERO;
            for number in 0..2_000 {
                // One in ten waits.
                let us = (number % 10 > 0).then_some(1_000);
                now = feed(&mut gate, number..number + 1, us);
            }
            assert_eq!(gate.over(Instant(now.0 + 1_000_000_000)), !may_fail);
        }
    }

    #[test]
    fn as_many_late_answers_as_a_percentile_allows_are_no_miss() {
        let mut gate = gate("p50 < 10 ms");
        let mut now = Instant::ZERO;
        // Half of every batch is late; the median itself is on time.
        for number in 0..REQUESTS + 100 {
            let us = if number % 2 == 0 { 20_000 } else { 1_000 };
            now = feed(&mut gate, number..number + 1, Some(us));
        }
        assert_eq!(gate.by_batch(now, true)[0].values, [0.5; BATCHES]);
        assert!(!gate.over(now));
    }

    #[test]
    fn a_mean_counts_the_time_that_requests_have_waited() {
        let mut waiting = gate("mean < 10 ms");
        let now = feed(&mut waiting, 0..1_000, None);
        // The last request of the first batch came at 199 ms.
        assert_eq!(waiting.by_batch(now, false)[0].values[0], 800.0);
        assert!(waiting.over(now));
        let mut patient = gate("mean < 10 s");
        assert!(!feed_over(&mut patient));
    }

    fn feed_over(gate: &mut Gate) -> bool {
        let now = feed(gate, 0..1_000, None);
        gate.over(now)
    }
}
