//! Open arrivals without memory: a Poisson process.
//!
//! Gaps between requests are exponentially distributed around 1 / `rate_rps`, rounded to the
//! nanosecond, whatever the drive does. This is the arrival process of queueing theory (Kleinrock,
//! Queueing Systems, volume 1, 1975, chapter 2), so theory predicts waits that simulations must
//! show. Cost: a logarithm per request.

use nearslot_core::registry::{Knob, Spec};
use nearslot_core::request::Request;
use nearslot_core::units::Instant;

use super::access::{self, Access};
use super::{Synthetic, Workload, check_rate};

struct Poisson {
    access: Access,
    gap_ns: f64,
    next: Instant,
}

impl Poisson {
    fn new(mut access: Access, rate_rps: f64) -> Poisson {
        let gap_ns = 1e9 / rate_rps;
        let next = Instant(access.exponential_ns(gap_ns));
        Poisson {
            access,
            gap_ns,
            next,
        }
    }
}

impl Workload for Poisson {
    fn next_arrival(&self) -> Option<Instant> {
        (self.access.left() > 0).then_some(self.next)
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        self.next_arrival().filter(|due| *due <= now)?;
        let request = self.access.next(self.next);
        self.next = Instant(self.next.0 + self.access.exponential_ns(self.gap_ns));
        Some(request)
    }
}

pub(super) static SPEC: Spec<Synthetic> = Spec {
    name: "poisson",
    aliases: &["open-loop"],
    summary: "independent arrivals at a mean rate, whatever the drive does",
    source: "Kleinrock, Queueing Systems, volume 1, 1975",
    knobs: &[
        Knob::number("rate_rps", 50.0, 1e-3..=1e8, "mean requests per second"),
        access::READ_SHARE,
        access::SIZE,
        access::SPAN,
        access::ALIGN,
        access::SEQUENTIAL_SHARE,
        access::LOCALITY,
        access::HOT_SPACE,
        access::HOT_REQUESTS,
        access::ZIPF_EXPONENT,
        access::REQUESTS,
    ],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |knobs, env| {
        let access = Access::new(knobs, env)?;
        check_rate("poisson", access.left(), knobs.number("rate_rps"), 1.0)?;
        Ok(Box::new(Synthetic {
            requests: Some(access.left()),
            depth: None,
            workload: Box::new(Poisson::new(access, knobs.number("rate_rps"))),
        }))
    },
};

#[cfg(test)]
mod tests {
    use nearslot_core::units::Instant;

    use crate::workload::access::tests::synthetic;

    #[test]
    fn requests_that_outlast_virtual_time_are_refused() {
        let made = |rate: &str, requests: u64| {
            synthetic(&format!("poisson:rate_rps={rate}:requests={requests}"))
        };
        assert!(made("0.001", 4_000_000).is_ok());
        let error = made("0.001", 18_500_000).err().unwrap().to_string();
        assert!(
            error.starts_with("poisson.rate_rps = 0.001 (allowed: at least 4.0"),
            "{error}"
        );
        assert!(made("0.1", 18_500_000).is_ok());
    }

    #[test]
    fn gaps_are_exponential() {
        let mut made = synthetic("poisson:rate_rps=1000:requests=50000").unwrap();
        let (mut last, mut gaps) = (0, Vec::new());
        while let Some(due) = made.workload.next_arrival() {
            assert!(due == Instant::ZERO || made.workload.poll(Instant(due.0 - 1)).is_none());
            assert_eq!(made.workload.poll(due).unwrap().arrived, due);
            gaps.push((due.0 - last) as f64);
            last = due.0;
        }
        assert_eq!(gaps.len(), 50_000);
        let mean = gaps.iter().sum::<f64>() / 50_000.0;
        let variance = gaps
            .iter()
            .map(|gap| (gap - mean) * (gap - mean))
            .sum::<f64>()
            / 50_000.0;
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        assert!(
            (libm::sqrt(variance) / mean - 1.0).abs() < 0.03,
            "{variance}"
        );
    }
}
