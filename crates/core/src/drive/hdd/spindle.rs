//! The platters: which angle is under the heads at an instant, and how long until another one is.
//!
//! Both are integers. A phase is a 64-bit fraction of a turn that wraps as turns do, so the phase
//! at `t` is one multiplication, `t * rate`; it drifts by at most half of 2^-64 turn per
//! nanosecond, about 15 nanoseconds a day. Arcs are divided by the rate and rounded down: since
//! phases are exact, the instant at which an angle comes by does not depend on the instant from
//! which one waits for it. What was rounded away is less than a nanosecond: an arrival that misses
//! its angle by no more than that is on time, or back-to-back requests would lose a turn to
//! rounding.

use crate::units::{Angle, Duration, Instant};

/// A rotational position in 2^-64 turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase(pub(super) u64);

impl Phase {
    /// The phase at which `angle` begins.
    #[inline]
    pub fn at(angle: Angle) -> Phase {
        Phase(u64::from(angle.0) << 32)
    }

    /// As far from this phase as `to` is from `from`.
    pub fn shifted(self, from: Phase, to: Phase) -> Phase {
        Phase(self.0.wrapping_add(to.0.wrapping_sub(from.0)))
    }

    /// To the precision of an [`Angle`].
    #[inline]
    pub fn angle(self) -> Angle {
        Angle((self.0 >> 32) as u32)
    }
}

/// Platters that turn at a constant rate, all together.
#[derive(Clone, Copy, Debug)]
pub struct Spindle {
    /// Turns per nanosecond, times 2^64.
    rate: u64,
    /// Nanoseconds per turn, times 2^16.
    turn: u64,
    /// 2^64 over the rate: makes the division a multiplication.
    reciprocal: u64,
    /// Phase at time 0.
    start: Phase,
    /// An arc that counts as no arc: what a nanosecond turns, and two units of an angle for rounded
    /// ones.
    slack: u64,
    /// Revolutions in 10^6 minutes.
    micro_rpm: u64,
}

/// Nanoseconds in 10^6 minutes: what a turn takes is this over `micro_rpm`.
const MEGAMINUTE_NS: u128 = 60_000_000_000 * 1_000_000;

impl Spindle {
    /// Turns `rpm` times a minute, known to a millionth; `start` is under the heads at time 0.
    pub(super) fn new(rpm: f64, start: Angle) -> Spindle {
        let micro_rpm = libm::round(rpm * 1e6) as u64;
        let wide = u128::from(micro_rpm);
        let rate = (((wide << 64) + MEGAMINUTE_NS / 2) / MEGAMINUTE_NS) as u64;
        Spindle {
            rate,
            turn: ((MEGAMINUTE_NS << 16) / wide) as u64,
            reciprocal: (((1_u128 << 64) - 1) / u128::from(rate)) as u64,
            start: Phase::at(start),
            slack: rate + (2 << 32),
            micro_rpm,
        }
    }

    /// The same, further on by this at any instant.
    pub(super) fn turned(&self, by: Angle) -> Spindle {
        let start = Phase(self.start.0.wrapping_add(Phase::at(by).0));
        Spindle { start, ..*self }
    }

    /// What is under the heads at `now`.
    #[inline]
    pub fn phase(&self, now: Instant) -> Phase {
        self.after(self.start, Duration(now.0))
    }

    /// The same, if the platters were `late` nanoseconds behind.
    #[inline]
    pub fn phase_late(&self, now: Instant, late: i64) -> Phase {
        let turned = now.0.wrapping_sub(late.cast_unsigned());
        self.after(self.start, Duration(turned))
    }

    /// What is under the heads `span` after `phase` was.
    #[inline]
    pub fn after(&self, phase: Phase, span: Duration) -> Phase {
        Phase(phase.0.wrapping_add(span.0.wrapping_mul(self.rate)))
    }

    /// Time until `angle` comes under the heads; none if it does so within a nanosecond's rounding.
    #[inline]
    pub fn wait(&self, phase: Phase, angle: Angle) -> Duration {
        let arc = Phase::at(angle).0.wrapping_sub(phase.0);
        let on_time = arc.wrapping_neg() <= self.slack;
        let arc = if on_time { 0 } else { arc };
        // A turn takes less than 2^32 ns, so the reciprocal's error makes the quotient too small by
        // one at most.
        let quotient = ((u128::from(arc) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = arc - quotient * self.rate;
        Duration(quotient + u64::from(rest >= self.rate))
    }

    /// Time of one turn, to the nanosecond.
    pub fn revolution(&self) -> Duration {
        Duration((self.turn + (1 << 15)) >> 16)
    }

    /// Time of a turn's `parts`-th part, times 2^32 nanoseconds, rounded down.
    pub(super) fn part(&self, parts: u32) -> u64 {
        let divisor = u128::from(self.micro_rpm) * u128::from(parts);
        ((MEGAMINUTE_NS << 32) / divisor) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 6,000 turns a minute: a turn is 10 ms.
    fn round_numbers() -> Spindle {
        Spindle::new(6_000.0, Angle(0))
    }

    #[test]
    fn a_quarter_turn_takes_a_quarter_of_the_time() {
        let spindle = round_numbers();
        assert_eq!(spindle.revolution(), Duration::from_ms(10));
        let quarter = Angle(1 << 30);
        let from_rest = spindle.wait(spindle.phase(Instant::ZERO), quarter);
        assert!(from_rest.0.abs_diff(2_500_000) <= 1, "{from_rest}");
        let just_past = spindle.wait(spindle.phase(Instant(2_500_010)), quarter);
        assert!(just_past.0.abs_diff(9_999_990) <= 1, "{just_past}");
    }

    #[test]
    fn who_is_late_by_rounding_is_on_time() {
        let spindle = round_numbers();
        for turn in 0..1_000 {
            let on_time = Instant(turn * 10_000_000);
            assert_eq!(
                spindle.wait(spindle.phase(on_time), Angle(0)),
                Duration::ZERO
            );
            let late = Instant(on_time.0 + 3);
            assert!(spindle.wait(spindle.phase(late), Angle(0)) > Duration::from_ms(9));
        }
    }

    #[test]
    fn an_angle_comes_by_at_an_instant_whoever_waits_for_it() {
        for rpm in [5_400.0, 7_200.0, 10_045.0, 15_000.0] {
            let spindle = Spindle::new(rpm, Angle(12_345));
            let angle = Angle(0x1234_5678);
            let start = Instant(987_654_321_987);
            let due = start + spindle.wait(spindle.phase(start), angle);
            for earlier in 1..3_000 {
                let now = Instant(due.0 - earlier * 1_000 - earlier % 7);
                assert_eq!(now + spindle.wait(spindle.phase(now), angle), due);
            }
        }
    }

    #[test]
    fn a_day_of_turning_drifts_less_than_twenty_nanoseconds() {
        let spindle = Spindle::new(10_045.0, Angle(0));
        // 10,045 turns a minute, 1,440 minutes: a whole number of turns.
        let day = Instant(86_400_000_000_000);
        let drift = spindle.phase(day).0.cast_signed().unsigned_abs();
        assert!(drift / spindle.rate < 20, "{drift} is too far");
    }

    #[test]
    fn the_start_angle_is_under_the_heads_at_time_zero() {
        let spindle = Spindle::new(7_200.0, Angle(1 << 31));
        assert_eq!(spindle.phase(Instant::ZERO).angle(), Angle(1 << 31));
    }
}
