//! What the trace says about the system it was taken on: latencies and the queue they imply.
//!
//! A request is outstanding from its arrival to arrival plus response time. Completions wait in a
//! heap; each arrival takes out those before it, and what is left, itself included, is the depth it
//! makes. Should more than [`OUTSTANDING_MAX`] be outstanding (only response times in a wrong unit
//! do that), the earliest completions are taken out early. Cost: O(log n) per request with n
//! outstanding.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use nearslot_core::metrics::Histogram;
use nearslot_core::units::Duration;
use nearslot_trace::Record;

use super::inspection::{Latency, Queue};

/// Completions remembered at most.
const OUTSTANDING_MAX: usize = 1 << 20;

/// Observations so far.
#[derive(Default)]
pub(super) struct Observed {
    response: Histogram,
    service: Histogram,
    response_sum_ns: u128,
    completions: BinaryHeap<Reverse<u64>>,
    /// Depths that arrivals made; a histogram of numbers, whatever its unit is called.
    depths: Histogram,
    first_ns: Option<i64>,
    last_completion_ns: u64,
}

impl Observed {
    pub(super) fn record(&mut self, batch: &[Record]) {
        for record in batch {
            if record.service_ns != Record::UNKNOWN {
                self.service.record(Duration(record.service_ns));
            }
            if record.response_ns != Record::UNKNOWN {
                self.respond(record);
            }
        }
    }

    fn respond(&mut self, record: &Record) {
        let first = *self.first_ns.get_or_insert(record.ts);
        let arrival = record.ts.abs_diff(first);
        let completion = arrival.saturating_add(record.response_ns);
        self.response.record(Duration(record.response_ns));
        self.response_sum_ns += u128::from(record.response_ns);
        self.last_completion_ns = self.last_completion_ns.max(completion);
        while let Some(Reverse(earliest)) = self.completions.peek()
            && (*earliest <= arrival || self.completions.len() >= OUTSTANDING_MAX)
        {
            self.completions.pop();
        }
        self.completions.push(Reverse(completion));
        self.depths.record(Duration(self.completions.len() as u64));
    }

    pub(super) fn response(&self) -> Option<Latency> {
        latency(&self.response)
    }

    pub(super) fn service(&self) -> Option<Latency> {
        latency(&self.service)
    }

    pub(super) fn queue(&self) -> Option<Queue> {
        let span = self.last_completion_ns as f64;
        (self.depths.count() > 0).then(|| Queue {
            mean: (span > 0.0).then(|| self.response_sum_ns as f64 / span),
            p50: self.depths.quantile(0.5).0,
            p95: self.depths.quantile(0.95).0,
            max: self.depths.max().0,
        })
    }
}

fn latency(histogram: &Histogram) -> Option<Latency> {
    let at = |rank| histogram.quantile(rank).as_ms();
    (histogram.count() > 0).then(|| Latency {
        known: histogram.count(),
        mean_ms: histogram.mean_ns() / 1e6,
        p50_ms: at(0.5),
        p95_ms: at(0.95),
        p99_ms: at(0.99),
        max_ms: histogram.max().as_ms(),
    })
}

#[cfg(test)]
mod tests {
    use nearslot_trace::TraceOp;

    use super::*;

    #[test]
    fn depth_and_latency_come_from_completions() {
        let record = |ts, response_ns| Record {
            response_ns,
            ..Record::new(ts, TraceOp::Read, 0, 512, 0)
        };
        let mut observed = Observed::default();
        assert!(observed.queue().is_none());
        assert!(observed.response().is_none());
        // In flight: 0..100, 10..60, 20..40, 40..100 (the third has left), 200..300.
        let times = [(0, 100), (10, 50), (20, 20), (40, 60), (200, 100)];
        observed.record(&times.map(|(ts, response)| record(ts, response)));
        observed.record(&[Record::new(250, TraceOp::Read, 0, 512, 0)]);
        let queue = observed.queue().unwrap();
        assert_eq!((queue.p50, queue.p95, queue.max), (2, 3, 3));
        assert!((queue.mean.unwrap() - 330.0 / 300.0).abs() < 1e-12);
        let response = observed.response().unwrap();
        assert_eq!(response.known, 5);
        assert!((response.mean_ms - 66e-6).abs() < 1e-12);
        assert!(observed.service().is_none());
    }
}
