//! Statistics of response times, by the definitions of the reference's summary: they agree with it
//! to its last digit where both are computed from the same rows.

use serde::Serialize;

/// What a summary says of a run. Response times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// Mean response.
    pub mean_ms: f64,
    /// Standard deviation, of the responses as a whole population.
    pub stddev_ms: f64,
    /// The response that half of the others do not exceed.
    pub p50_ms: f64,
    /// The same for 95 of a hundred.
    pub p95_ms: f64,
    /// The same for 99 of a hundred.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// Requests completed in a second, from the first arrival to the last completion.
    pub requests_per_s: f64,
}

impl Statistics {
    /// Names as the columns have them, in order of [`Statistics::values`].
    pub(super) const NAMES: [&'static str; 7] = [
        "mean_ms",
        "stddev_ms",
        "p50_ms",
        "p95_ms",
        "p99_ms",
        "max_ms",
        "requests_per_s",
    ];

    /// Of responses in nanoseconds, in any order, that were completed within a span in nanoseconds.
    pub(super) fn of(mut responses: Vec<u64>, span_ns: u64) -> Statistics {
        responses.sort_unstable();
        let count = responses.len() as f64;
        let ms = |ns: u64| ns as f64 / 1e6;
        let mean = responses.iter().copied().map(ms).sum::<f64>() / count;
        let squares = responses
            .iter()
            .map(|ns| (ms(*ns) - mean) * (ms(*ns) - mean));
        // Value number `floor(p * n)`, counted from 0: the reference's definition.
        let percentile = |percent: usize| ms(responses[responses.len() * percent / 100]);
        Statistics {
            mean_ms: mean,
            stddev_ms: libm::sqrt(squares.sum::<f64>() / count),
            p50_ms: percentile(50),
            p95_ms: percentile(95),
            p99_ms: percentile(99),
            max_ms: ms(*responses.last().expect("a run has requests")),
            requests_per_s: count / (span_ns as f64 / 1e9),
        }
    }

    /// All values, in order of [`Statistics::NAMES`].
    pub(super) fn values(&self) -> [f64; 7] {
        [
            self.mean_ms,
            self.stddev_ms,
            self.p50_ms,
            self.p95_ms,
            self.p99_ms,
            self.max_ms,
            self.requests_per_s,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_those_of_the_summary() {
        let of = Statistics::of(
            (1..=200).rev().map(|ms| ms * 1_000_000).collect(),
            4_000_000_000,
        );
        assert!((of.mean_ms - 100.5).abs() < 1e-9);
        // The population's: (n^2 - 1) / 12.
        assert!((of.stddev_ms - libm::sqrt(39_999.0 / 12.0)).abs() < 1e-9);
        let exact = [101.0, 191.0, 199.0, 200.0];
        let found = [of.p50_ms, of.p95_ms, of.p99_ms, of.max_ms];
        assert!(found.iter().zip(exact).all(|(a, b)| (a - b).abs() < 1e-9));
        assert!((of.requests_per_s - 50.0).abs() < 1e-9);
        assert_eq!(of.values().len(), Statistics::NAMES.len());
    }
}
