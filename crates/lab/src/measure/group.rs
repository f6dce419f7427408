//! Response times of a part of the requests: those of a volume, of a stream.
//!
//! Memory is bounded: of many groups, [`DISTRIBUTIONS_MAX`] have a distribution, of up to 114 KiB
//! each; of the others only number, mean and longest are kept, some tens of bytes.

use nearslot_core::metrics::Histogram;
use nearslot_core::op::Op;
use nearslot_core::request::Reply;
use nearslot_core::units::Duration;

/// Groups that have a distribution.
pub(crate) const DISTRIBUTIONS_MAX: usize = 256;

/// What is measured of a group.
pub(crate) struct Group {
    /// Requests that were answered as asked, and those that failed.
    count: u64,
    failed: u64,
    sum_ns: u128,
    max: Duration,
    distribution: Option<Histogram>,
}

/// What was measured of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GroupTimes {
    pub(crate) requests: u64,
    pub(crate) failed: u64,
    pub(crate) mean_ms: Option<f64>,
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    pub(crate) max_ms: Option<f64>,
}

/// Whether a request is measured in groups: a read or a write behind the warm-up.
#[inline]
pub(crate) fn is_grouped(reply: &Reply, warmup: u64) -> bool {
    let request = &reply.request;
    request.id.0 >= warmup && matches!(request.op, Op::Read | Op::Write)
}

impl Group {
    /// An empty one; `distribution` says whether it has one.
    pub(crate) fn new(distribution: bool) -> Group {
        Group {
            count: 0,
            failed: 0,
            sum_ns: 0,
            max: Duration::ZERO,
            distribution: distribution.then(Histogram::default),
        }
    }

    /// Counts a request; one that failed is in no mean.
    #[inline]
    pub(crate) fn record(&mut self, reply: &Reply) {
        if !reply.status.is_done() {
            self.failed += 1;
            return;
        }
        let response = reply.timeline.response();
        self.count += 1;
        self.sum_ns += u128::from(response.0);
        self.max = self.max.max(response);
        if let Some(distribution) = &mut self.distribution {
            distribution.record(response);
        }
    }

    /// What was measured; times are `None` if no request was answered, percentiles also without a
    /// distribution, or if too many failed.
    pub(crate) fn found(&self) -> GroupTimes {
        let any = self.count > 0;
        let times = self.distribution.as_ref().filter(|_| any);
        let times = times.map(|answered| super::times(answered, self.failed));
        GroupTimes {
            requests: self.count,
            failed: self.failed,
            mean_ms: any.then(|| self.sum_ns as f64 / 1e6 / self.count as f64),
            p50_ms: times.and_then(|times| times.p50),
            p99_ms: times.and_then(|times| times.p99),
            max_ms: any.then(|| self.max.as_ms()),
        }
    }
}
