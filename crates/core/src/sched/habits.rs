//! How a process asks: here and there or in a row, soon after each answer or after a while, always
//! or now and then.
//!
//! ```text
//! seeky        more than 19 of the last 32 requests begin farther than 800 blocks from the end of the one before (without a seek to save, requests
//!              of 64 blocks or more never count)
//! think time   a moving mean of the time from the last answer to the next request, where nothing else of it was there; short up to half of the
//!              idling time
//! I/O bound    at least 80 % of the time something of it was there, over a window of 100 to 200 ms
//! ```
//!
//! Facts of `bfq_update_io_seektime`, `bfq_update_io_thinktime`, `bfq_update_io_intensity`.

use crate::units::{Blocks, Duration, Instant, Pba};

/// A request that begins farther than this from the end of the one before is a seek.
const SEEK: Blocks = Blocks(800);
/// Where nothing turns, a request of so many blocks or more counts as sequential wherever it
/// begins.
const SHORT: Blocks = Blocks(64);
/// A process is seeky if more than so many of its last 32 requests are seeks.
const SEEKS: u32 = 19;
/// A mean think time counts once there are more (weighted) samples than this.
const SAMPLES: u64 = 80;
/// The window of the share of time that something was there.
const WINDOW: Duration = Duration::from_ms(200);

/// Whether a request begins far from where the last one ended, on such a drive.
pub(super) fn is_seek(rotational: bool, last_end: Option<Pba>, at: Pba, len: Blocks) -> bool {
    let far = last_end.is_some_and(|end| end.distance(at) > SEEK);
    far && (rotational || len < SHORT)
}

/// What is remembered of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Habits {
    /// The last 32 requests, the latest in the lowest bit: whether each was a seek.
    seeks: u32,
    pub(super) last_end: Option<Pba>,
    /// Weighted number of think times, and their weighted sum in nanoseconds times 256.
    samples: u64,
    total: u64,
    mean: u64,
    /// Whether it is soon back.
    pub(super) thinks_short: bool,
    /// Whether it mostly has something there.
    pub(super) io_bound: bool,
    window_began: Instant,
    idle: Duration,
}

impl Habits {
    /// Of a process that is new.
    pub(super) fn new(now: Instant, thinks_short: bool) -> Habits {
        Habits {
            seeks: 1,
            last_end: None,
            samples: 0,
            total: 0,
            mean: 0,
            thinks_short,
            io_bound: true,
            window_began: now,
            idle: Duration::ZERO,
        }
    }

    /// How many of its last 32 requests were seeks.
    #[inline]
    pub(super) fn seeks(&self) -> u32 {
        self.seeks.count_ones()
    }

    /// Whether its requests lie here and there.
    #[inline]
    pub(super) fn seeky(&self) -> bool {
        self.seeks() > SEEKS
    }

    /// Its mean think time, once enough are known.
    pub(super) fn think_time(&self) -> Option<Duration> {
        (self.samples > SAMPLES).then_some(Duration(self.mean))
    }

    /// Whether none of the last ones continued another.
    pub(super) fn totally_seeky(&self) -> bool {
        self.seeks == u32::MAX
    }

    /// A request came.
    pub(super) fn asked_at(&mut self, rotational: bool, at: Pba, len: Blocks) {
        let seek = is_seek(rotational, self.last_end, at, len);
        self.seeks = self.seeks << 1 | u32::from(seek);
    }

    /// A request came when nothing of it was there, so long after the last answer.
    pub(super) fn thought(&mut self, time: Duration, slice_idle: Duration) {
        let time = time.0.min(2 * slice_idle.0);
        self.samples = (7 * self.samples + 256) / 8;
        self.total = (7 * self.total + 256 * time) / 8;
        self.mean = (self.total + 128) / self.samples;
    }

    /// Whether its mean think time is short, as far as that is known.
    pub(super) fn is_soon_back(&self, slice_idle: Duration) -> bool {
        self.think_time()
            .is_none_or(|mean| mean.0 <= slice_idle.0 / 2)
    }

    /// A request came: if nothing of it was there, since the last answer. `new` tells that it is
    /// the first one.
    pub(super) fn worked(&mut self, now: Instant, nothing_since: Option<Instant>, new: bool) {
        if let Some(since) = nothing_since {
            self.idle += now.since(since);
        }
        if new {
            return;
        }
        let all = now.since(self.window_began);
        self.io_bound = self.idle.0 * 5 <= all.0;
        if all > WINDOW {
            self.window_began = now - Duration(all.0 / 2);
            self.idle.0 /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant(ms * 1_000_000)
    }

    #[test]
    fn more_than_800_blocks_are_a_seek_and_without_rotation_only_if_the_request_is_short() {
        let seek =
            |rotational, at, len| is_seek(rotational, Some(Pba(10_000)), Pba(at), Blocks(len));
        assert!(!seek(true, 10_800, 8), "800 blocks are close");
        assert!(seek(true, 10_801, 8));
        assert!(!seek(true, 9_200, 8));
        assert!(seek(true, 9_199, 8), "backward as well");
        assert!(
            seek(true, 20_000, 64),
            "of any length where there is an arm"
        );
        assert!(seek(false, 20_000, 63));
        assert!(!seek(false, 20_000, 64));
        assert!(
            !is_seek(true, None, Pba(20_000), Blocks(8)),
            "nothing was before it"
        );
    }

    #[test]
    fn a_process_is_seeky_from_the_twentieth_seek_of_32_on() {
        let mut habits = Habits::new(ms(0), true);
        habits.last_end = Some(Pba(0));
        let mut seek = || {
            habits.asked_at(true, Pba(5_000), Blocks(8));
            (habits.seeky(), habits.totally_seeky())
        };
        // The history begins with one.
        assert!((0..18).all(|_| !seek().0));
        assert!(seek().0, "20 of 32");
        assert!(
            (0..11).all(|_| !seek().1),
            "the first bit stood in a 31 long row of nothing"
        );
        assert!(seek().1, "32 seeks in a row");
    }

    #[test]
    fn think_times_are_averaged_and_judged_when_enough_are_known() {
        let idle = Duration::from_ms(8);
        let mut habits = Habits::new(ms(0), true);
        let mut thought = |time_ms| {
            habits.thought(Duration::from_ms(time_ms), idle);
            (habits.samples, habits.mean, habits.is_soon_back(idle))
        };
        assert_eq!(thought(6), (32, 6_000_004, true));
        assert_eq!(thought(6).0, 60);
        let (samples, mean, short) = thought(6);
        assert_eq!((samples, mean / 1_000, short), (84, 6_035, false));
        for _ in 0..20 {
            thought(1);
        }
        assert!(thought(1).2, "it has become quick");
        assert!(
            thought(1_000).1 < 4_000_000,
            "no more than twice the idling time counts"
        );
    }

    #[test]
    fn a_process_is_io_bound_while_nothing_was_there_for_at_most_a_fifth() {
        let mut habits = Habits::new(ms(0), true);
        habits.worked(ms(100), Some(ms(80)), false);
        assert!(habits.io_bound, "20 of 100 ms");
        habits.worked(ms(101), Some(ms(100)), false);
        assert!(!habits.io_bound, "21 of 101 ms");
        // 21 of 201 ms: the window is halved.
        habits.worked(ms(201), None, false);
        assert!(habits.io_bound);
        assert_eq!(
            (habits.window_began, habits.idle),
            (Instant(100_500_000), Duration(10_500_000))
        );
    }
}
