//! How requests arrive: rates, bursts, and the step of the clock.
//!
//! Arrivals are counted in windows of 1 ms to 1000 s from the first one on. Only the finest window
//! is touched by a request; when it ends, its count goes to the next coarser one. The index of
//! dispersion of counts (variance over mean; Gusella, Characterizing the variability of arrival
//! processes with indexes of dispersion, IEEE JSAC 9, 1991) is taken over whole windows, where
//! there are at least [`WINDOWS_MIN`]. Cost: O(1) per request.

use nearslot_core::metrics::Histogram;
use nearslot_core::units::Duration;
use nearslot_trace::{Record, common_step};

use super::inspection::{Arrivals, Dispersion, GapOctaves};

const FINEST_NS: u64 = 1_000_000;
/// 1 ms, 10 ms, ... 1000 s.
const LEVELS: usize = 7;
const LEVEL_100MS: usize = 2;
const LEVEL_1S: usize = 3;
/// With fewer windows a variance means nothing.
const WINDOWS_MIN: u64 = 10;

/// Arrivals so far.
pub(super) struct ArrivalCounter {
    first_ns: Option<i64>,
    last_ns: i64,
    requests: u64,
    /// Greatest common step of all times since the first; 0 while there is none.
    step_ns: u64,
    gap_squares: f64,
    /// Gaps that are not 0.
    gaps: Histogram,
    /// The same by powers of two.
    octaves: [u64; 64],
    /// Number of the current finest window.
    window: u64,
    levels: [Level; LEVELS],
}

/// Windows of one length.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Of the finer windows that have ended in the current one.
    current: Count,
    /// Of all that have ended.
    requests: u64,
    squares: f64,
    peak: Count,
}

#[derive(Clone, Copy, Default)]
struct Count {
    requests: u64,
    bytes: u128,
}

impl Count {
    fn add(&mut self, other: Count) {
        self.requests += other.requests;
        self.bytes += other.bytes;
    }

    /// The larger of each.
    fn max(self, other: Count) -> Count {
        Count {
            requests: self.requests.max(other.requests),
            bytes: self.bytes.max(other.bytes),
        }
    }
}

impl ArrivalCounter {
    pub(super) fn new() -> ArrivalCounter {
        ArrivalCounter {
            first_ns: None,
            last_ns: 0,
            requests: 0,
            step_ns: 0,
            gap_squares: 0.0,
            gaps: Histogram::default(),
            octaves: [0; 64],
            window: 0,
            levels: Default::default(),
        }
    }

    pub(super) fn record(&mut self, batch: &[Record]) {
        for record in batch {
            let first = match self.first_ns {
                Some(first) => first,
                None => self.begin(record.ts),
            };
            let since = record.ts.abs_diff(first);
            let gap = record.ts.abs_diff(self.last_ns);
            self.last_ns = record.ts;
            self.requests += 1;
            if gap > 0 {
                self.gap_squares += gap as f64 * gap as f64;
                self.gaps.record(Duration(gap));
                self.octaves[gap.ilog2() as usize] += 1;
                if self.step_ns != 1 && (self.step_ns == 0 || !since.is_multiple_of(self.step_ns)) {
                    self.step_ns = common_step(self.step_ns, since);
                }
                if since / FINEST_NS != self.window {
                    self.roll(since / FINEST_NS);
                }
            }
            let current = &mut self.levels[0].current;
            current.requests += 1;
            if record.op.is_media() {
                current.bytes += u128::from(record.len);
            }
        }
    }

    fn begin(&mut self, ts: i64) -> i64 {
        self.first_ns = Some(ts);
        self.last_ns = ts;
        ts
    }

    /// Ends the windows that do not reach into finest window number `next`.
    fn roll(&mut self, next: u64) {
        let (mut before, mut after) = (self.window, next);
        for level in 0..LEVELS {
            if before == after {
                break;
            }
            let ended = std::mem::take(&mut self.levels[level].current);
            let windows = &mut self.levels[level];
            windows.requests += ended.requests;
            windows.squares += ended.requests as f64 * ended.requests as f64;
            windows.peak = windows.peak.max(ended);
            if let Some(coarser) = self.levels.get_mut(level + 1) {
                coarser.current.add(ended);
            }
            (before, after) = (before / 10, after / 10);
        }
        self.window = next;
    }

    /// Greatest step that all arrivals are a multiple of, from the first; `None` if all are equal.
    pub(super) fn step_ns(&self) -> Option<u64> {
        (self.step_ns > 0).then_some(self.step_ns)
    }

    pub(super) fn span_s(&self) -> f64 {
        self.last_ns.abs_diff(self.first_ns.unwrap_or(self.last_ns)) as f64 / 1e9
    }

    /// Most in a window of a level, the unfinished one included.
    fn peak(&self, level: usize) -> Option<Count> {
        if self.span_s() < window_s(level) {
            return None;
        }
        let mut unfinished = Count::default();
        self.levels[..=level]
            .iter()
            .for_each(|windows| unfinished.add(windows.current));
        Some(self.levels[level].peak.max(unfinished))
    }

    /// Most bytes read and written in 1 s; `None` if the trace is shorter.
    pub(super) fn peak_1s_bytes(&self) -> Option<u128> {
        self.peak(LEVEL_1S).map(|count| count.bytes)
    }

    pub(super) fn arrivals(&self) -> Arrivals {
        let span_s = self.span_s();
        let rate = |level| {
            let count: Option<Count> = self.peak(level);
            count.map(|count| count.requests as f64 / window_s(level))
        };
        let gaps = self.requests.saturating_sub(1) as f64;
        let some = span_s > 0.0;
        let mean_gap_ns = span_s * 1e9 / gaps;
        let variance = (self.gap_squares / gaps - mean_gap_ns * mean_gap_ns).max(0.0);
        Arrivals {
            mean_rps: some.then(|| gaps / span_s),
            peak_1s_rps: rate(LEVEL_1S),
            peak_100ms_rps: rate(LEVEL_100MS),
            gap_cv: some.then(|| libm::sqrt(variance) / mean_gap_ns),
            gaps: self.octaves(),
            gap_p10_ms: some.then(|| self.gaps.quantile(0.1).as_ms()),
            dispersion: (0..LEVELS)
                .filter_map(|level| self.dispersion(level))
                .collect(),
        }
    }

    fn octaves(&self) -> GapOctaves {
        let gaps = self.requests.saturating_sub(1);
        let used = |octave: &usize| self.octaves[*octave] > 0;
        let mut found = GapOctaves {
            zero: gaps - self.octaves.iter().sum::<u64>(),
            ..GapOctaves::default()
        };
        if let Some(first) = (0..64).find(used)
            && let Some(last) = (0..64).rev().find(used)
        {
            found.from_ns = (first..=last).map(|octave| 1 << octave).collect();
            found.gaps = self.octaves[first..=last].to_vec();
        }
        found
    }

    fn dispersion(&self, level: usize) -> Option<Dispersion> {
        let windows = (0..level).fold(self.window, |window, _| window / 10);
        if windows < WINDOWS_MIN {
            return None;
        }
        let mean = self.levels[level].requests as f64 / windows as f64;
        let variance = (self.levels[level].squares / windows as f64 - mean * mean).max(0.0);
        Some(Dispersion {
            window_s: window_s(level),
            windows,
            index: variance / mean,
        })
    }
}

/// Length of a level's window.
fn window_s(level: usize) -> f64 {
    [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1_000.0][level]
}

#[cfg(test)]
mod tests {
    use nearslot_core::rng::Rng;

    use nearslot_trace::TraceOp;

    use super::*;

    fn counted(times: impl Iterator<Item = i64>) -> ArrivalCounter {
        let records: Vec<Record> = times
            .map(|ts| Record::new(ts, TraceOp::Read, 0, 1_000, 0))
            .collect();
        let mut counter = ArrivalCounter::new();
        records.chunks(7).for_each(|batch| counter.record(batch));
        counter
    }

    fn close(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() <= expected.abs() * 1e-9 + 1e-12)
    }

    #[test]
    fn a_clock_has_no_variation() {
        let counter = counted((0..20_001).map(|i| i * 2_000_000));
        let found = counter.arrivals();
        assert!(close(found.mean_rps, 500.0));
        assert!(close(found.peak_1s_rps, 500.0));
        assert!(close(found.peak_100ms_rps, 500.0));
        assert!(close(found.gap_cv, 0.0));
        assert_eq!(counter.step_ns(), Some(2_000_000));
        assert_eq!(counter.peak_1s_bytes(), Some(500_000));
        let ten_ms = found.dispersion[1];
        assert!(ten_ms.index < 1e-9);
        assert!(ten_ms.windows == 4_000);
        assert_eq!(found.dispersion.len(), 4);
    }

    #[test]
    fn bursts_show_in_peaks_and_dispersion() {
        // 100 requests at once every 10 s.
        let counter = counted((0..2_100).map(|i| i / 100 * 10_000_000_000));
        let found = counter.arrivals();
        assert!(close(found.peak_1s_rps, 100.0));
        assert!(close(found.peak_100ms_rps, 1_000.0));
        assert!(found.gap_cv.is_some_and(|cv| cv > 9.0));
        let second = found.dispersion[3];
        // In 200 whole windows of 1 s, 20 hold 100: mean 10, variance 900.
        assert_eq!(second.windows, 200);
        assert!((second.index - 90.0).abs() < 1e-9, "{second:?}");
        assert!((found.dispersion[4].index).abs() < 1e-9);
    }

    #[test]
    fn a_poisson_process_has_index_one_at_every_scale() {
        let mut rng = Rng::stream(3, "arrivals");
        let mut now = 0.0;
        let times = std::iter::repeat_with(|| {
            now += rng.exponential(1e6);
            now as i64
        });
        let found = counted(times.take(300_000)).arrivals();
        assert!((found.gap_cv.unwrap() - 1.0).abs() < 0.02);
        for scale in &found.dispersion[..4] {
            assert!((scale.index - 1.0).abs() < 0.2, "{scale:?}");
        }
    }

    #[test]
    fn gaps_are_counted_by_powers_of_two() {
        let gaps = counted([0, 0, 4, 11, 19, 19, 34].into_iter())
            .arrivals()
            .gaps;
        assert_eq!((gaps.zero, gaps.from_ns), (2, vec![4, 8]));
        assert_eq!(gaps.gaps, [2, 2]);
        assert_eq!(
            counted([7].into_iter()).arrivals().gaps,
            GapOctaves::default()
        );
    }

    #[test]
    fn the_step_is_the_greatest_common_one() {
        assert_eq!(
            counted([7, 3_007, 7_507].into_iter()).step_ns(),
            Some(1_500)
        );
        assert_eq!(counted([7, 7].into_iter()).step_ns(), None);
    }

    #[test]
    fn one_instant_has_no_rate() {
        let found = counted([5, 5, 5].into_iter()).arrivals();
        assert_eq!(
            (found.mean_rps, found.gap_cv, found.peak_1s_rps),
            (None, None, None)
        );
        assert!(counted(std::iter::empty()).arrivals().mean_rps.is_none());
    }
}
