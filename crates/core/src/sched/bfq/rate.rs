//! How fast the drive is at best.
//!
//! The peak rate is estimated over intervals of about a second of steady, sequential dispatch. From
//! it follow how much a turn may take at most (`M`, what the drive moves in one turn at peak rate)
//! and for how long an interactive process is favoured (less on a fast drive). Facts of
//! `bfq_update_peak_rate`.

use super::super::habits::is_seek;
use crate::units::{Blocks, Duration, Instant, Pba};

/// Rates are in blocks a microsecond times 2^16.
const SHIFT: u32 = 16;
/// Rates of the drives on which the reference times were measured: 109 and 258 MB/s.
const REFERENCE_RATE: [u64; 2] = [14_000, 33_000];
/// The reference task takes so long there.
const REFERENCE_TIME: [Duration; 2] = [Duration::from_ms(7_000), Duration::from_ms(2_500)];
/// The shortest and longest time for which an interactive process is favoured.
const RAISE: [Duration; 2] = [Duration::from_ms(3_000), Duration::from_ms(25_000)];
/// An interval is closed after so long,
const INTERVAL: Duration = Duration::from_ms(1_000);
/// and says nothing if it was shorter than this,
const INTERVAL_LEAST: Duration = Duration::from_ms(300);
/// or had fewer requests.
const SAMPLES_LEAST: u64 = 32;
/// A drive without work for so long begins a new interval.
const PAUSE: Duration = Duration::from_ms(100);
/// Sooner is at once.
pub(super) const AT_ONCE: Duration = Duration::from_ms(2);
/// Nothing moves more than 20 blocks a microsecond.
const TOO_FAST: u64 = 20 << SHIFT;

/// What is known of a drive's speed.
#[derive(Clone, Debug)]
pub(super) struct Rate {
    rotational: bool,
    peak: u64,
    /// An estimate was made: `M` follows from it.
    estimated: bool,
    samples: u64,
    sequential: u64,
    blocks: u64,
    first_dispatch: Instant,
    last_dispatch: Instant,
    last_end: Option<Pba>,
    /// The largest of the last 32 requests.
    largest: u64,
    pub(super) last_completion: Instant,
}

impl Rate {
    pub(super) fn new(rotational: bool) -> Rate {
        Rate {
            rotational,
            peak: REFERENCE_RATE[usize::from(!rotational)] * 2 / 3,
            estimated: false,
            samples: 0,
            sequential: 0,
            blocks: 0,
            first_dispatch: Instant::ZERO,
            last_dispatch: Instant::ZERO,
            last_end: None,
            largest: 0,
            last_completion: Instant::ZERO,
        }
    }

    /// What the drive moves at peak rate in the time of a turn; none before the first estimate.
    pub(super) fn turn(&self, timeout: Duration) -> Option<u64> {
        self.estimated.then(|| self.moved_in(timeout))
    }

    fn moved_in(&self, time: Duration) -> u64 {
        (self.peak * (time.0 / 1_000)) >> SHIFT
    }

    /// For how long an interactive process is favoured.
    pub(super) fn raise_length(&self) -> Duration {
        let drive = usize::from(!self.rotational);
        let time = u128::from(REFERENCE_RATE[drive]) * u128::from(REFERENCE_TIME[drive].0);
        let time = Duration(u64::try_from(time / u128::from(self.peak)).unwrap_or(u64::MAX));
        time.clamp(RAISE[0], RAISE[1])
    }

    /// A request goes to the drive, which has so many already.
    pub(super) fn dispatched(&mut self, now: Instant, at: Pba, len: Blocks, in_drive: u32) {
        if self.samples == 0 {
            self.begin(now, at, len);
            return;
        }
        if in_drive == 0 && now > self.last_dispatch + PAUSE {
            self.close();
            self.begin(now, at, len);
            return;
        }
        self.samples += 1;
        self.blocks += len.0;
        let busy = in_drive > 0 || now < self.last_completion + AT_ONCE;
        let seek = is_seek(self.rotational, self.last_end, at, len);
        self.sequential += u64::from(busy && !seek);
        if self.samples.is_multiple_of(SAMPLES_LEAST) {
            self.largest = len.0;
        } else {
            self.largest = self.largest.max(len.0);
        }
        self.last_dispatch = now;
        self.last_end = Some(at + len);
        if now >= self.first_dispatch + INTERVAL {
            self.close();
            // The next request opens another interval.
            self.samples = 0;
        }
    }

    fn begin(&mut self, now: Instant, at: Pba, len: Blocks) {
        (self.samples, self.sequential, self.blocks) = (1, 0, len.0);
        self.largest = len.0;
        (self.first_dispatch, self.last_dispatch) = (now, now);
        self.last_end = Some(at + len);
    }

    /// A command has ended. After a pause that no single request explains the interval is closed.
    pub(super) fn completed(&mut self, now: Instant) {
        let pause = Duration(now.0.saturating_sub(self.last_completion.0));
        let moved = (self.largest << SHIFT) / (pause.0 / 1_000).max(1);
        if pause > AT_ONCE && moved < 1 << (SHIFT - 10) {
            self.close();
            self.samples = 0;
        }
        self.last_completion = now;
    }

    fn close(&mut self) {
        let dispatched = self.last_dispatch.since(self.first_dispatch);
        if self.samples < SAMPLES_LEAST || dispatched < INTERVAL_LEAST {
            return;
        }
        let answered = self.last_completion.0.saturating_sub(self.first_dispatch.0);
        let interval = dispatched.max(Duration(answered));
        let rate = (self.blocks << SHIFT) / (interval.0 / 1_000);
        let random = self.sequential < self.samples * 3 / 4;
        if random && rate <= self.peak || rate > TOO_FAST {
            return;
        }
        let weight = (9 * self.sequential / self.samples) * interval.0 / Duration::from_ms(1_000).0;
        let divisor = 10 - weight.min(8);
        self.peak = (self.peak * (divisor - 1) / divisor + rate / divisor).max(1);
        self.estimated = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_peak(rotational: bool, mb_a_second: u64) -> Rate {
        let mut rate = Rate::new(rotational);
        rate.peak = ((mb_a_second * 1_000_000 / 512) << SHIFT) / 1_000_000;
        rate.estimated = true;
        rate
    }

    #[test]
    fn a_turn_and_the_time_of_favour_follow_from_the_peak_rate() {
        // What the drive moves in 125 ms; the table of the reference.
        let turn = |rotational, rate| {
            at_peak(rotational, rate)
                .turn(Duration::from_ms(125))
                .unwrap()
        };
        for (rate, blocks) in [(70, 17_089), (90, 21_972), (120, 29_296), (160, 39_062)] {
            assert!(turn(true, rate).abs_diff(blocks) <= 2, "{rate} MB/s");
        }
        assert!(turn(false, 515).abs_diff(125_732) <= 2);
        let seconds = |rotational, rate| at_peak(rotational, rate).raise_length().as_ms() / 1_000.0;
        for (rate, length) in [
            (70, 10.9),
            (90, 8.5),
            (120, 6.4),
            (160, 4.8),
            (20, 25.0),
            (400, 3.0),
        ] {
            assert!((seconds(true, rate) - length).abs() < 0.06, "{rate} MB/s");
        }
        for (rate, length) in [(160, 4.0), (515, 3.0), (2_500, 3.0)] {
            assert!((seconds(false, rate) - length).abs() < 0.06, "{rate} MB/s");
        }
        // Before any estimate: two thirds of the reference.
        assert_eq!(Rate::new(true).raise_length().0 / 1_000_000, 10_500);
        assert_eq!(Rate::new(true).turn(Duration::from_ms(125)), None);
        assert_eq!(Rate::new(true).moved_in(Duration::from_ms(125)), 17_801);
    }

    /// So many requests of 256 blocks, one each `us` microseconds, each in nine tenths of that.
    fn steady(rate: &mut Rate, requests: u64, us: u64, step: u64) {
        let begin = rate.last_completion.0 + 50_000;
        for number in 0..requests {
            let now = Instant(begin + number * us * 1_000);
            rate.dispatched(now, Pba(number * step), Blocks(256), 0);
            rate.completed(now + Duration(us * 900));
        }
    }

    #[test]
    fn a_second_of_sequential_requests_moves_the_estimate_half_way() {
        let mut rate = Rate::new(true);
        let before = rate.peak;
        // 256 blocks a millisecond are 131 MB/s.
        steady(&mut rate, 1_001, 1_000, 256);
        let found = (256 << SHIFT) / 1_000;
        let half = (before + found) / 2;
        assert!(
            rate.peak.abs_diff(half) < half / 100,
            "{} of {found}",
            rate.peak
        );
        assert_eq!(
            rate.turn(Duration::from_ms(125)),
            Some(rate.moved_in(Duration::from_ms(125)))
        );
    }

    #[test]
    fn few_or_short_or_slow_random_requests_say_nothing() {
        let unmoved = |requests, us, step| {
            let mut rate = Rate::new(true);
            let before = rate.peak;
            steady(&mut rate, requests, us, step);
            rate.completed(rate.last_completion + Duration::from_ms(2_000));
            rate.peak == before && !rate.estimated
        };
        assert!(unmoved(31, 15_000, 256), "31 requests in 465 ms");
        assert!(!unmoved(40, 15_000, 256));
        assert!(unmoved(290, 1_000, 256), "0.29 s");
        assert!(!unmoved(310, 1_000, 256), "0.31 s");
        assert!(
            unmoved(1_001, 3_000, 5_000),
            "random, and slower than the estimate"
        );
        assert!(!unmoved(1_001, 1_000, 5_000), "random, but faster");
        assert!(unmoved(100_001, 12, 256), "21 blocks a microsecond");
        assert!(!unmoved(100_001, 14, 256), "18 blocks a microsecond");
    }

    /// An interval of so many requests, so many of them in a row, that moved so much in so many
    /// milliseconds; the peak rate before and after, in blocks a second.
    fn closed(samples: u64, sequential: u64, ms: u64, blocks: u64) -> (u64, u64) {
        let mut rate = Rate::new(true);
        (rate.samples, rate.sequential, rate.blocks) = (samples, sequential, blocks);
        rate.first_dispatch = Instant(5_000_000);
        rate.last_dispatch = Instant(5_000_000 + ms * 1_000_000);
        rate.last_completion = rate.last_dispatch;
        let a_second = |peak: u64| (peak * 1_000_000 + (1 << (SHIFT - 1))) >> SHIFT;
        let before = a_second(rate.peak);
        rate.close();
        assert_eq!(rate.estimated, a_second(rate.peak) != before);
        (before, a_second(rate.peak))
    }

    /// F12: at least 32 requests, at least 300 ms, three quarters of them in a row unless it was
    /// faster; it moves by a tenth to a half.
    #[test]
    fn an_interval_counts_by_its_requests_its_time_and_how_much_was_in_a_row() {
        let still = |samples, sequential, ms, blocks| {
            let (before, after) = closed(samples, sequential, ms, blocks);
            before == after
        };
        assert!(still(31, 31, 400, 100_000), "31 requests");
        assert!(!still(32, 32, 400, 100_000));
        assert!(still(32, 32, 299, 100_000), "299 ms");
        assert!(!still(32, 32, 300, 100_000));
        // 142,416 blocks a second are two thirds of the reference. Below that, 24 of 32 have to be
        // in a row; above, none.
        assert!(still(32, 23, 1_000, 142_000));
        assert!(!still(32, 24, 1_000, 142_000));
        assert!(!still(32, 0, 1_000, 143_000));
        // 20 blocks a microsecond are taken for true, more are not.
        assert!(!still(32, 32, 1_000, 20_000_000));
        assert!(still(32, 32, 1_000, 20_001_000));
    }

    #[test]
    fn the_estimate_moves_by_a_tenth_to_a_half() {
        let part = |sequential, ms: u64| {
            // Twice as fast as the estimate, and so much of the way to there.
            let (before, after) = closed(32, sequential, ms, 2 * 142_415 * ms / 1_000);
            (after - before) as f64 / before as f64
        };
        for (sequential, ms, expected) in [
            // 9 * 32 / 32 is 9, of which no more than 8 count: 10 less 8.
            (32, 1_000, 1.0 / 2.0),
            (32, 3_000, 1.0 / 2.0),
            // 8 for each second, in whole ones.
            (31, 1_000, 1.0 / 2.0),
            (31, 500, 1.0 / 6.0),
            (31, 374, 1.0 / 8.0),
            (16, 1_000, 1.0 / 6.0),
            // Nothing in a row, but faster.
            (0, 1_000, 1.0 / 10.0),
            (3, 1_000, 1.0 / 10.0),
            (4, 1_000, 1.0 / 9.0),
        ] {
            let found = part(sequential, ms);
            let apart = (found - expected).abs();
            assert!(apart < 0.001, "{sequential} of 32 in {ms} ms: {found}");
        }
    }
}
