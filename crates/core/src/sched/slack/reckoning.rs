//! What commands take, as far as those that were served tell it, and how much of the drive's time
//! each had.
//!
//! ```text
//! takes         its mean, and how far one is from it on average, both smoothed, as TCP reckons with round trips (Jacobson, SIGCOMM 1988)
//! hardly more   several in a row: the sum of the means, and three times the root of the sum of the squared distances, since not all are at their worst at once
//! had           the time that a command was on the drive, each moment divided by how many were there
//! ```

use crate::units::{Duration, Instant};

/// What something takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Estimate {
    pub(super) mean: u64,
    pub(super) off: u64,
}

impl Estimate {
    /// Of times that are known.
    pub(super) fn of(times: &[Duration]) -> Estimate {
        let count = times.len() as u64;
        let mean = times.iter().map(|time| time.0).sum::<u64>() / count;
        let off = times.iter().map(|time| time.0.abs_diff(mean)).sum::<u64>() / count;
        Estimate { mean, off }
    }

    pub(super) fn learn(&mut self, took: Duration) {
        if self.mean == 0 {
            (self.mean, self.off) = (took.0, took.0 / 4);
        }
        let off = took.0.abs_diff(self.mean);
        self.mean = (7 * self.mean + took.0) / 8;
        self.off = (3 * self.off + off) / 4;
    }

    /// The sum of some, one after the other.
    pub(super) fn sum(self) -> Sum {
        Sum::default().and(self, 1)
    }
}

/// What several take one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    mean: u64,
    squares: u128,
}

impl Sum {
    /// The same with `count` more requests of this estimate.
    pub(super) fn and(self, one: Estimate, count: u64) -> Sum {
        let square = u128::from(one.off) * u128::from(one.off);
        Sum {
            mean: self.mean + one.mean * count,
            squares: self.squares + square * u128::from(count),
        }
    }

    /// A time that their sum hardly ever exceeds: the mean and three standard deviations.
    pub(super) fn most(self) -> Duration {
        Duration(self.mean + 3 * self.squares.isqrt() as u64)
    }
}

/// The drive's time, divided among the commands that it has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Divided {
    /// What a command has had that was there all the time.
    each: u64,
    seen: Instant,
    commands: u32,
}

impl Divided {
    fn pass(&mut self, now: Instant) {
        let shares = u64::from(self.commands.max(1));
        self.each += now.since(self.seen).0 / shares;
        self.seen = now;
    }

    /// One begins; what it is to be ended with.
    pub(super) fn begin(&mut self, now: Instant) -> u64 {
        self.pass(now);
        self.commands += 1;
        self.each
    }

    /// One ends: what it had.
    pub(super) fn end(&mut self, now: Instant, begun: u64) -> Duration {
        self.pass(now);
        self.commands -= 1;
        Duration(self.each - begun)
    }

    /// How many there are.
    pub(super) fn commands(&self) -> u32 {
        self.commands
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_ms(ms)
    }

    #[test]
    fn means_follow_by_an_eighth_and_distances_by_a_quarter() {
        let mut known = Estimate::default();
        known.learn(ms(8));
        assert_eq!((known.mean, known.off), (8_000_000, 1_500_000));
        known.learn(ms(16));
        assert_eq!((known.mean, known.off), (9_000_000, 3_125_000));
        let of = Estimate::of(&[ms(2), ms(4), ms(9)]);
        assert_eq!((of.mean, of.off), (5_000_000, 8_000_000 / 3));
    }

    #[test]
    fn several_are_not_at_their_worst_at_once() {
        let one = Estimate {
            mean: 10_000_000,
            off: 3_000_000,
        };
        let other = Estimate {
            mean: 20_000_000,
            off: 4_000_000,
        };
        assert_eq!(one.sum().most(), ms(19));
        assert_eq!(one.sum().and(other, 1).most(), ms(45), "and not 51");
        assert_eq!(one.sum().and(one, 3).most(), ms(58), "and not 76");
    }

    #[test]
    fn commands_that_are_there_at_once_have_had_a_part_each() {
        let mut divided = Divided::default();
        let at = |ms: u64| Instant(ms * 1_000_000);
        let first = divided.begin(at(10));
        let second = divided.begin(at(14));
        assert_eq!(divided.end(at(20), first), ms(7), "4 alone, 6 with another");
        assert_eq!(divided.commands(), 1);
        assert_eq!(divided.end(at(25), second), ms(8));
        let third = divided.begin(at(100));
        assert_eq!(divided.end(at(101), third), ms(1), "rest is nobody's");
    }
}
