//! That targets of streams were not kept.

use crate::measure::targets::Missed;
use crate::outcome::Run;
use crate::warning::{Warning, WarningKind};

/// How many I/Os missed a target, by how much, and why that may be. A request may be several.
pub(super) fn missed_targets(run: &Run) -> Option<Warning> {
    let missed = Missed::of(run)?;
    let text = format!(
        "I/Os of streams with a target ended later than it says, {}: a target is accepted for requests of 4 KiB \
         at random and holds for most_percent of the drive's time; it is missed where they are longer or more, or where drives fail or are slower",
        missed.words()
    );
    Some(Warning::new(WarningKind::MissedTargets, text).of_run(&run.label))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Number;

    #[test]
    fn what_missed_its_target_is_told_with_how_many_and_by_how_much() {
        let told = |counts: &[(&str, u64)]| {
            let counts = counts.iter();
            let counts = counts.map(|(name, count)| ((*name).to_owned(), Number::Count(*count)));
            let measures = [("sched".to_owned(), counts.collect())].into();
            let run = Run {
                measures,
                ..Run::default()
            };
            missed_targets(&run).map(|warning| (warning.kind, warning.text))
        };
        assert_eq!(told(&[("expired", 3)]), None);
        assert_eq!(told(&[("kept", 0), ("missed", 0), ("late_us", 0)]), None);
        assert_eq!(
            told(&[("kept", 3_000), ("missed", 0), ("late_us", 0)]),
            None
        );
        let (kind, text) = told(&[("kept", 1_500), ("missed", 500), ("late_us", 2_500_000)])
            .expect("some were missed");
        assert_eq!(kind, WarningKind::MissedTargets);
        let expected = "I/Os of streams with a target ended later than it says, 500 of 2,000 (25.0 %) by 5.000 ms on average:";
        assert!(text.starts_with(expected), "{text}");
    }
}
