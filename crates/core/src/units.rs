//! Quantities with a unit or an address space, one newtype each.
//!
//! Time is integer nanoseconds since the start of a run, angle is an integer fraction of a turn:
//! sums and comparisons are exact, so the same seed gives the same bits on any machine. A *block*
//! is 512 bytes everywhere in the core, whatever the sector size of a drive.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// Bytes in a block.
pub const BLOCK_BYTES: u64 = 512;

/// A point in virtual or real time: nanoseconds since the start of the run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Instant(pub u64);

/// A span of time in nanoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Duration(pub u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Instant = Instant(0);
    /// Later than anything that happens.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// Time since `earlier`.
    ///
    /// # Panics
    /// If `earlier` is later than `self`: the caller has its events in the wrong order.
    #[inline]
    pub fn since(self, earlier: Instant) -> Duration {
        assert!(
            earlier <= self,
            "time runs backwards: {earlier} is after {self}"
        );
        Duration(self.0 - earlier.0)
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// Longer than anything that happens.
    pub const MAX: Duration = Duration(u64::MAX);

    /// From whole microseconds.
    pub const fn from_us(us: u64) -> Duration {
        Duration(us * 1_000)
    }

    /// From whole milliseconds.
    pub const fn from_ms(ms: u64) -> Duration {
        Duration(ms * 1_000_000)
    }

    /// From milliseconds with a fraction, rounded to the nearest nanosecond.
    ///
    /// # Panics
    /// If `ms` is negative, not finite or beyond 584 years; configuration is checked before this.
    pub fn from_ms_f64(ms: f64) -> Duration {
        let ns = libm::round(ms * 1e6);
        assert!((0.0..1.8e19).contains(&ns), "{ms} ms is not a duration");
        Duration(ns as u64)
    }

    /// In milliseconds, for people and results.
    pub fn as_ms(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    #[inline]
    fn add(self, span: Duration) -> Instant {
        Instant(self.0 + span.0)
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        self.0 += span.0;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    /// # Panics
    /// If that was before the run began.
    #[inline]
    fn sub(self, span: Duration) -> Instant {
        assert!(span.0 <= self.0, "{span} before {self} nothing had begun");
        Instant(self.0 - span.0)
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, other: Duration) -> Duration {
        Duration(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Duration) {
        self.0 += other.0;
    }
}

impl Sub for Duration {
    type Output = Duration;
    #[inline]
    fn sub(self, other: Duration) -> Duration {
        assert!(other.0 <= self.0, "negative duration: {self} - {other}");
        Duration(self.0 - other.0)
    }
}

impl SubAssign for Duration {
    #[inline]
    fn sub_assign(&mut self, other: Duration) {
        *self = *self - other;
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} ms", self.0 as f64 / 1e6)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} ms", self.0 as f64 / 1e6)
    }
}

macro_rules! block_address {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub struct $name(pub u64);

        impl Add<Blocks> for $name {
            type Output = $name;
            #[inline]
            fn add(self, len: Blocks) -> $name {
                $name(self.0 + len.0)
            }
        }

        impl $name {
            /// Blocks between two addresses, whichever is lower.
            #[inline]
            pub fn distance(self, other: $name) -> Blocks {
                Blocks(self.0.abs_diff(other.0))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

block_address! {
    /// Address of a block in a volume, as its client sees it.
    Lba
}
block_address! {
    /// Address of a block on one drive.
    Pba
}

/// A count of 512-byte blocks.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Blocks(pub u64);

impl Blocks {
    /// The same in bytes.
    #[inline]
    pub const fn bytes(self) -> u64 {
        self.0 * BLOCK_BYTES
    }
}

impl Add for Blocks {
    type Output = Blocks;

    #[inline]
    fn add(self, more: Blocks) -> Blocks {
        Blocks(self.0 + more.0)
    }
}

impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A run of blocks in a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// First block.
    pub start: Lba,
    /// How many; 0 only for a flush.
    pub len: Blocks,
}

impl Extent {
    /// First block behind the run.
    #[inline]
    pub fn end(self) -> Lba {
        self.start + self.len
    }
}

/// A rotational position: a fraction of a turn in units of 2^-32, so that sums wrap as turns do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Angle(pub u32);

impl Angle {
    /// How far the platter has to turn from `self` to `target`; less than one turn.
    #[inline]
    pub const fn until(self, target: Angle) -> Angle {
        Angle(target.0.wrapping_sub(self.0))
    }

    /// As a fraction of a turn, in `0..1`.
    pub fn as_turns(self) -> f64 {
        f64::from(self.0) / 4_294_967_296.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_exact_in_nanoseconds() {
        let start = Instant(1_500);
        let end = start + Duration::from_us(2);
        assert_eq!(end, Instant(3_500));
        assert_eq!(end.since(start), Duration(2_000));
        assert_eq!(Duration::from_ms_f64(0.0005), Duration(500));
    }

    #[test]
    #[should_panic(expected = "time runs backwards")]
    fn time_does_not_run_backwards() {
        let _ = Instant(1).since(Instant(2));
    }

    #[test]
    fn angles_wrap_like_turns() {
        let nearly_round = Angle(0xF000_0000);
        assert_eq!(nearly_round.until(Angle(0x1000_0000)), Angle(0x2000_0000));
        assert!((Angle(1 << 31).as_turns() - 0.5).abs() < 1e-12);
    }
}
