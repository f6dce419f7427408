//! How many commands of others may be on the drive, so that one with a target is still answered
//! within it there.
//!
//! A drive with a queue of its own serves what it has in its own order, or all at once: what
//! another command in the way costs is not known before, only what it cost. So the number follows
//! what targets took from going to the drive to the answer, as `blk-iolatency` and `kyber` of Linux
//! do it:
//!
//! ```text
//! half          of what there was, as soon as one took longer than its target
//! one more      if of some answers none took more than three quarters of it, and there were as many of others as may be. Some are 32 at first, four times as
//!               many after each that took too long (at most 2,048, so that trying breaks no target that is to be kept 99 times of 100), half as many after each more
//! no bound      before a stream with a target has asked, or when none has for a minute. Who asks then finds the drive as it is
//! ```

use crate::units::{Duration, Instant};

/// After so many answers there may be one more: at first, and at most.
const SOME: u32 = 32;
const MANY: u32 = 2_048;
/// A stream with a target that has not asked for so long does not count.
const AWAY: Duration = Duration::from_ms(60_000);

/// The bound and what it follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depth {
    /// How many commands of others may be on the drive at a time.
    pub(super) allowed: u32,
    /// Answers that are waited for before there may be one more.
    patience: u32,
    /// What began before was sent under another bound.
    since: Instant,
    /// The most that there were of others, and whether no answer took more than three quarters of
    /// its target, of so many answers.
    most: u32,
    short: bool,
    answers: u32,
    asked: Option<Instant>,
}

impl Depth {
    pub(super) fn new() -> Depth {
        Depth {
            allowed: u32::MAX,
            patience: SOME,
            since: Instant::ZERO,
            most: 0,
            short: true,
            answers: 0,
            asked: None,
        }
    }

    /// A stream with a target asks.
    pub(super) fn asked(&mut self, now: Instant) {
        self.asked = Some(now);
    }

    /// How many commands of others may be on the drive now.
    pub(super) fn allowed(&self, now: Instant) -> u32 {
        let here = self.asked.is_some_and(|asked| now.since(asked) <= AWAY);
        if here { self.allowed } else { u32::MAX }
    }

    /// The number of commands of others that are on the drive.
    pub(super) fn look(&mut self, others: u32) {
        self.most = self.most.max(others);
    }

    /// One with a target is answered, which went to the drive then.
    pub(super) fn answered(&mut self, now: Instant, started: Instant, target: Duration) {
        if started < self.since {
            return;
        }
        let took = now.since(started);
        if took > target {
            let half = self.most.min(self.allowed) / 2;
            return self.set(now, half.max(1), (self.patience * 4).min(MANY));
        }
        self.answers += 1;
        self.short &= took.0.saturating_mul(4) <= target.0.saturating_mul(3);
        if self.answers == self.patience {
            match self.short && self.most >= self.allowed {
                true => self.set(now, self.allowed + 1, (self.patience / 2).max(SOME)),
                false => self.set(now, self.allowed, self.patience),
            }
        }
    }

    fn set(&mut self, now: Instant, allowed: u32, patience: u32) {
        *self = Depth {
            allowed,
            patience,
            since: now,
            asked: self.asked,
            ..Depth::new()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Duration = Duration::from_ms(40);

    /// Answers that took so long each, one after the other.
    fn answers(depth: &mut Depth, now: &mut Instant, (count, ms): (u32, u64)) {
        for _ in 0..count {
            let started = *now;
            *now += Duration::from_ms(ms);
            depth.look(99);
            depth.answered(*now, started, TARGET);
        }
    }

    #[test]
    fn there_is_no_bound_before_anybody_asked_and_after_a_minute() {
        let mut depth = Depth::new();
        depth.allowed = 3;
        let at = |ms: u64| Instant(ms * 1_000_000);
        assert_eq!(depth.allowed(at(0)), u32::MAX);
        depth.asked(at(5));
        assert_eq!(depth.allowed(at(60_005)), 3);
        assert_eq!(depth.allowed(at(60_006)), u32::MAX);
    }

    #[test]
    fn one_that_took_too_long_halves_what_there_was_once_for_what_was_sent_before() {
        let (mut depth, mut now) = (Depth::new(), Instant::ZERO);
        answers(&mut depth, &mut now, (1, 40));
        assert_eq!(depth.allowed, u32::MAX, "in time");
        answers(&mut depth, &mut now, (1, 41));
        assert_eq!(depth.allowed, 49);
        depth.answered(now + TARGET, now - TARGET, TARGET);
        assert_eq!(depth.allowed, 49, "it was sent when more were allowed");
        depth.look(9);
        depth.answered(now + TARGET + TARGET, now, TARGET);
        assert_eq!(depth.allowed, 4, "no more were there");
        for _ in 0..5 {
            answers(&mut depth, &mut now, (2, 41));
        }
        assert_eq!(depth.allowed, 1, "one always may");
    }

    #[test]
    fn there_is_one_more_if_some_in_a_row_were_short_and_the_bound_was_reached() {
        let (mut depth, mut now) = (Depth::new(), Instant::ZERO);
        (depth.allowed, depth.since) = (4, now);
        answers(&mut depth, &mut now, (31, 30));
        assert_eq!(depth.allowed, 4);
        answers(&mut depth, &mut now, (1, 30));
        assert_eq!(depth.allowed, 5, "30 of 40 ms are three quarters");
        answers(&mut depth, &mut now, (1, 31));
        answers(&mut depth, &mut now, (31, 1));
        assert_eq!(depth.allowed, 5, "one was longer");
        for _ in 0..32 {
            depth.look(4);
            now += TARGET;
            depth.answered(now, now - Duration(1), TARGET);
        }
        assert_eq!(depth.allowed, 5, "nobody wanted more");
    }

    #[test]
    fn more_is_tried_the_seldomer_the_more_often_it_was_too_much() {
        let (mut depth, mut now) = (Depth::new(), Instant::ZERO);
        let mut patience = Vec::new();
        for _ in 0..5 {
            answers(&mut depth, &mut now, (1, 41));
            patience.push(depth.patience);
        }
        assert_eq!(patience, [128, 512, 2_048, 2_048, 2_048]);
        answers(&mut depth, &mut now, (2_048, 1));
        assert_eq!(depth.patience, 1_024);
        answers(&mut depth, &mut now, (1_024 + 512 + 256 + 128 + 64 + 32, 1));
        assert_eq!(depth.patience, 32);
    }
}
