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
