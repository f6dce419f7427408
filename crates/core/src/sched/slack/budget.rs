//! How much of the drive's time a stream may have while others want it: a part, of which it may
//! save some.
//!
//! What others have adds the part of it, what the stream has takes the rest away. So whoever has
//! exactly its part stays where it is, and nobody says how much a drive can do. What nobody else
//! wanted costs nothing.

use crate::units::Duration;

/// Parts are told in ten thousandths.
pub(super) const WHOLE: u64 = 10_000;

/// What is left of a part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    pub(super) part: i64,
    saved: i64,
    most: i64,
}

impl Budget {
    /// Its part from now on, and the time that it saves at most, or owes; at the beginning all of
    /// it is there.
    pub(super) fn set(&mut self, part: u64, most: Duration) {
        let new = self.most == 0;
        self.part = part as i64;
        self.most = most.0 as i64 * WHOLE as i64;
        self.saved = if new { self.most } else { self.saved };
        self.change(0);
    }

    pub(super) fn left(&self) -> bool {
        self.part > 0 && self.saved > 0
    }

    /// Others had so much.
    pub(super) fn earn(&mut self, others: Duration) {
        self.change(self.part.saturating_mul(others.0 as i64));
    }

    /// Its stream had so much while others waited.
    pub(super) fn spend(&mut self, own: Duration) {
        self.change((self.part - WHOLE as i64).saturating_mul(own.0 as i64));
    }

    fn change(&mut self, by: i64) {
        self.saved = self.saved.saturating_add(by).clamp(-self.most, self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_ms(1);

    fn budget(part: u64, most_ms: u64) -> Budget {
        let mut budget = Budget::default();
        budget.set(part, Duration::from_ms(most_ms));
        budget
    }

    #[test]
    fn who_has_its_part_exactly_stays_where_it_is() {
        let mut budget = budget(2_500, 40);
        budget.spend(MS);
        let before = budget.saved;
        for _ in 0..1_000 {
            (0..3).for_each(|_| budget.earn(MS));
            budget.spend(MS);
        }
        assert_eq!(budget.saved, before);
    }

    #[test]
    fn no_more_is_saved_nor_owed_than_told() {
        let mut budget = budget(5_000, 10);
        let mut spent = 0;
        while budget.left() {
            budget.spend(MS);
            spent += 1;
        }
        assert_eq!(spent, 20, "half of each is its own anyway");
        (0..1_000).for_each(|_| budget.spend(MS));
        let mut earned = 0;
        while !budget.left() {
            budget.earn(MS);
            earned += 1;
        }
        assert_eq!(earned, 21);
        (0..1_000).for_each(|_| budget.earn(MS));
        (0..19).for_each(|_| budget.spend(MS));
        assert!(budget.left());
        budget.spend(MS);
        assert!(!budget.left());
    }

    #[test]
    fn without_a_part_nothing_is_ever_left() {
        assert!(!budget(0, 10).left());
    }

    #[test]
    fn another_part_leaves_what_was_saved_as_far_as_it_may_be() {
        let mut budget = budget(5_000, 10);
        (0..10).for_each(|_| budget.spend(MS));
        budget.set(1_000, Duration::from_ms(20));
        assert_eq!(budget.saved, 5 * 1_000_000 * WHOLE as i64);
        budget.set(1_000, Duration::from_ms(2));
        assert_eq!(budget.saved, 2 * 1_000_000 * WHOLE as i64);
    }
}
