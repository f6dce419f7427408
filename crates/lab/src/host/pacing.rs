//! How much may be dirty, and how fast writers are let go on beyond that (Wu, "I/O-less dirty
//! throttling", Linux Plumbers Conference 2010; mm/page-writeback.c of Linux 6.12).
//!
//! Up to the middle of the background and the hard limit writers are free. From there on each
//! sleeps as long as its pages take at its rate: the base rate, which is found so that all writers
//! together write what the drive takes, times a factor of where between that middle and the hard
//! limit the dirty pages are. The factor is 1 half way, falls to 0 at the hard limit, and is 2 at
//! most.

use nearslot_core::pages::PAGE_BYTES;
use nearslot_core::units::{Duration, Instant};

/// How often rates are looked at.
const PERIOD: Duration = Duration::from_ms(200);
/// Rates are averaged over so long.
const MEMORY_NS: f64 = 3e9;
/// What the drive takes before anything is known: 100 MB/s.
const FIRST_RATE: f64 = 100e6 / PAGE_BYTES as f64;
/// The longest sleep of a writer.
pub(super) const LONGEST_PAUSE: Duration = PERIOD;
/// What is owed is slept once it is so much.
pub(super) const LEAST_PAUSE: Duration = Duration::from_ms(10);
/// Pages that a writer dirties between two looks: at least, and where the hard limit is exceeded.
const ALLOTMENT: u64 = 32;
const ALLOTMENT_BEYOND: u64 = 8;
/// Writeback of one file at a time is of multiples of 4 MiB.
const CHUNK: u64 = (4 << 20) / PAGE_BYTES;

/// Limits in pages, and what is known of rates.
pub(super) struct Pacing {
    pub(super) background: u64,
    hard: u64,
    /// Pages a second that the drive takes.
    takes: f64,
    /// Pages a second that each writer may write.
    base: f64,
    since: Instant,
    written: u64,
    dirtied: u64,
}

impl Pacing {
    pub(super) fn new(background: u64, hard: u64) -> Pacing {
        Pacing {
            background,
            hard,
            takes: FIRST_RATE,
            base: FIRST_RATE,
            since: Instant::ZERO,
            written: 0,
            dirtied: 0,
        }
    }

    /// Up to so many dirty pages writers are free.
    fn free(&self) -> u64 {
        self.background.midpoint(self.hard)
    }

    /// Whether writers are held back.
    pub(super) fn holds(&self, dirty: u64) -> bool {
        dirty > self.free()
    }

    /// Pages were written back.
    pub(super) fn wrote(&mut self, now: Instant, pages: u64, dirty: u64) {
        self.written += pages;
        self.look(now, dirty);
    }

    /// What the base rate is multiplied by.
    fn factor(&self, dirty: u64) -> f64 {
        let (free, hard) = (self.free() as f64, self.hard as f64);
        let set = f64::midpoint(free, hard);
        let off = (set - dirty as f64) / (hard - set).max(1.0);
        (1.0 + off * off * off).clamp(0.0, 2.0)
    }

    /// Rates are found anew once a period is over.
    fn look(&mut self, now: Instant, dirty: u64) {
        let passed = now.since(self.since);
        if passed < PERIOD {
            return;
        }
        let ns = passed.0 as f64;
        let (written, dirtied) = (
            self.written as f64 * 1e9 / ns,
            self.dirtied as f64 * 1e9 / ns,
        );
        if self.written > 0 {
            let weight = (ns / MEMORY_NS).min(1.0);
            self.takes += (written - self.takes) * weight;
        }
        if self.holds(dirty) && self.dirtied > 0 {
            let balanced = (self.base * self.factor(dirty) * self.takes / dirtied).min(self.takes);
            self.base = f64::midpoint(self.base, balanced).max(1.0);
        }
        (self.since, self.written, self.dirtied) = (now, 0, 0);
    }

    /// A writer has dirtied so many pages since it last looked: how long it is held for them; none
    /// if it is not. Beyond the hard limit it has to look again.
    pub(super) fn pause(
        &mut self,
        now: Instant,
        pages: u64,
        dirty: u64,
    ) -> Option<(Duration, bool)> {
        self.dirtied += pages;
        self.look(now, dirty);
        if !self.holds(dirty) {
            return None;
        }
        let rate = self.base * self.factor(dirty);
        if rate < 1e-3 {
            return Some((LONGEST_PAUSE, true));
        }
        let ns = (pages as f64 * 1e9 / rate).min(LONGEST_PAUSE.0 as f64);
        Some((Duration(ns as u64), false))
    }

    /// How many pages a writer may dirty before it looks again.
    pub(super) fn allotment(&self, dirty: u64) -> u64 {
        match self.hard.checked_sub(dirty) {
            None | Some(0) => ALLOTMENT_BEYOND,
            Some(room) => ALLOTMENT.max(1 << (room.ilog2() / 2)),
        }
    }

    /// Pages of one file that are written back in a row.
    pub(super) fn chunk(&self) -> u64 {
        let half_a_second = (self.takes / 2.0) as u64;
        half_a_second
            .min(self.hard / 8)
            .next_multiple_of(CHUNK)
            .max(CHUNK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_are_free_up_to_the_middle_and_stand_at_the_limit() {
        // Background 1,000 and hard 2,000 pages: free up to 1,500, set point 1,750.
        let mut pacing = Pacing::new(1_000, 2_000);
        assert_eq!(pacing.pause(Instant(1), 32, 1_500), None);
        let factors = [1_500, 1_750, 1_875, 2_000].map(|dirty| pacing.factor(dirty));
        assert_eq!(factors, [2.0, 1.0, 0.875, 0.0]);
        // At 24,414 pages a second 32 take 1.3 ms.
        let (pause, again) = pacing.pause(Instant(2), 32, 1_750).unwrap();
        assert_eq!((pause.0 / 1_000, again), (1_310, false));
        assert_eq!(
            pacing.pause(Instant(3), 32, 2_100),
            Some((LONGEST_PAUSE, true))
        );
        assert_eq!(
            [0, 1_999, 2_000].map(|dirty| pacing.allotment(dirty)),
            [32, 32, 8]
        );
        assert_eq!(Pacing::new(50_000, 100_000).allotment(0), 256);
    }

    /// Two writers at 100 pages a second each beside a drive that takes 100: each comes to 50.
    #[test]
    fn the_base_rate_settles_where_all_write_what_the_drive_takes() {
        let mut pacing = Pacing::new(1_000, 2_000);
        let mut now = Instant::ZERO;
        for _ in 0..200 {
            now += PERIOD;
            pacing.dirtied += (2.0 * pacing.base * pacing.factor(1_750) / 5.0) as u64;
            pacing.wrote(now, 200, 1_750);
        }
        assert!((pacing.takes - 1_000.0).abs() < 1.0, "{}", pacing.takes);
        assert!((pacing.base - 500.0).abs() < 10.0, "{}", pacing.base);
    }

    #[test]
    fn a_file_is_written_back_for_half_a_second_in_multiples_of_4_mib() {
        let mut pacing = Pacing::new(100_000, 200_000);
        assert_eq!(pacing.chunk(), 12 * 1_024);
        pacing.takes = 100.0;
        assert_eq!(pacing.chunk(), 1_024);
        pacing.takes = 1e9;
        assert_eq!(pacing.chunk(), 25 * 1_024);
    }

    /// 100 pages in a fifth of a second are 500 a second, which counts for a fifteenth of three
    /// seconds.
    #[test]
    fn what_the_drive_takes_is_looked_at_each_fifth_of_a_second() {
        let mut pacing = Pacing::new(1_000, 2_000);
        pacing.wrote(Instant(199_999_999), 40, 0);
        assert_eq!(pacing.takes, FIRST_RATE);
        pacing.wrote(Instant(200_000_000), 60, 0);
        let expected = FIRST_RATE + (500.0 - FIRST_RATE) / 15.0;
        assert!((pacing.takes - expected).abs() < 1e-6, "{}", pacing.takes);
        // Nothing was written: nothing new is known.
        pacing.look(Instant(600_000_000), 0);
        assert!((pacing.takes - expected).abs() < 1e-6, "{}", pacing.takes);
        // Four seconds are more than the three that count.
        pacing.wrote(Instant(4_600_000_000), 400, 0);
        assert!((pacing.takes - 100.0).abs() < 1e-6, "{}", pacing.takes);
    }

    #[test]
    fn the_base_rate_moves_only_while_writers_are_held_and_not_beyond_what_the_drive_takes() {
        let mut pacing = Pacing::new(1_000, 2_000);
        pacing.base = 100.0;
        (pacing.dirtied, pacing.since) = (10, Instant::ZERO);
        pacing.look(Instant(200_000_000), 1_500);
        assert_eq!(pacing.base, 100.0);
        // One page in a fifth of a second are 5 a second, far fewer than the drive takes: half way
        // to that.
        pacing.dirtied = 1;
        pacing.look(Instant(400_000_000), 1_750);
        assert!(
            (pacing.base - f64::midpoint(100.0, FIRST_RATE)).abs() < 1e-6,
            "{}",
            pacing.base
        );
    }

    #[test]
    fn nobody_sleeps_longer_than_the_longest_pause() {
        let mut pacing = Pacing::new(1_000, 2_000);
        let pause = pacing.pause(Instant(1), 1_000_000, 1_750);
        assert_eq!(pause, Some((LONGEST_PAUSE, false)));
    }
}
