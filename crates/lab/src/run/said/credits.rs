//! Credits for bursts, as cloud volumes have them: while there are some, a volume is faster than it
//! is for ever.

use nearslot_core::contract::Drive;
use nearslot_core::io::Credits;

use crate::ability::lived_on;
use crate::number::{duration, grouped, number};
use crate::warning::{Warning, WarningKind};

/// Credits that were spent during a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spent {
    credits: Credits,
    /// How long the run took, in seconds.
    took_s: f64,
}

impl Spent {
    /// Of the drive whose credits end first, if it lived on them.
    pub(in crate::run) fn of(drives: &[Box<dyn Drive>], took_s: f64) -> Option<Spent> {
        let credits = lived_on(drives)?;
        Some(Spent { credits, took_s })
    }

    /// What was seen, in words that go on a sentence.
    pub(crate) fn seen(&self) -> String {
        let Credits {
            unit,
            spent,
            left,
            baseline,
            ..
        } = self.credits;
        let without = format!("without them it does {} {unit}/s", number(baseline));
        let whole = |credits: f64| grouped(libm::ceil(credits) as u64);
        if left < 1.0 {
            return format!(
                "a drive spent all its {} credits for bursts, and {without}",
                whole(spent)
            );
        }
        let lasts = duration(self.credits.pace_left() * self.took_s);
        format!(
            "a drive spent {} of its {} credits for bursts; at this pace the others last for {lasts}, and {without}",
            whole(spent),
            whole(spent + left)
        )
    }
}

/// That a run was as fast as it was on credits.
pub(super) fn credits_spent(label: &str, spent: Option<Spent>) -> Option<Warning> {
    let spent = spent?;
    let of = match spent.credits.left < 1.0 {
        true => "partly those of a burst, partly those after it",
        false => "those of a burst",
    };
    let text = format!(
        "{}, so response times and rates are {of}; credits_full=0 of the drive tells those of a long load",
        spent.seen()
    );
    Some(Warning::new(WarningKind::CreditsSpent, text).of_run(label))
}

#[cfg(test)]
mod tests {
    use nearslot_core::io::{Command, DriveDone, Unwritten};
    use nearslot_core::units::Instant;

    use super::*;

    /// A drive with these credits, if it has any.
    struct Saved(Option<Credits>);

    impl Drive for Saved {
        fn submit(&mut self, _now: Instant, _command: &Command) {}

        fn next_event(&self) -> Option<Instant> {
            None
        }

        fn advance(&mut self, _now: Instant) -> Option<DriveDone> {
            None
        }

        fn volatile(&self, _now: Instant, _out: &mut Vec<Unwritten>) {}

        fn credits(&self) -> Option<Credits> {
            self.0
        }
    }

    /// What is left of the credits that are told, of drives that spent so many of a hundred taken
    /// and have so many left.
    fn told(drives: &[Option<(f64, f64)>]) -> Option<f64> {
        let drive = |have: &Option<(f64, f64)>| {
            let credits = have.map(|(spent, left)| Credits {
                unit: "commands",
                spent,
                left,
                taken: 100.0,
                baseline: 1.0,
            });
            Box::new(Saved(credits)) as Box<dyn Drive>
        };
        let drives: Vec<Box<dyn Drive>> = drives.iter().map(drive).collect();
        Spent::of(&drives, 1.0).map(|spent| spent.credits.left)
    }

    #[test]
    fn of_several_drives_the_one_is_told_whose_credits_end_first() {
        let drives = [(10.0, 100.0), (40.0, 200.0), (10.0, 70.0)];
        let [far, first, near] = drives.map(Some);
        assert_eq!(told(&[None, far, first, near]), Some(200.0));
        assert_eq!(told(&[first, far]), Some(200.0));
    }

    #[test]
    fn a_drive_that_earns_what_it_takes_hides_none_that_does_not() {
        let (little, much) = (Some((2.0, 0.0)), Some((2.1, 50.0)));
        assert_eq!(told(&[little, much]), Some(50.0));
        assert_eq!(told(&[little, Some((0.0, 9.0)), None]), None);
    }
}
