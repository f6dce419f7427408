//! What the runs of a search have to say, each thing once: a search makes many runs of one choice,
//! and what goes wrong in one goes wrong in most, with other numbers.

use crate::warning::Warning;

/// Warnings of runs, the first of each kind for each choice.
#[derive(Default)]
pub(super) struct Told {
    /// By the index of the choice, with the number of its other runs that said the like.
    first: Vec<(usize, Warning, u64)>,
}

impl Told {
    /// What a run of a choice has to say.
    pub(super) fn add(&mut self, choice: usize, warnings: Vec<Warning>) {
        for warning in warnings {
            let like = |(of, other, _): &&mut (usize, Warning, u64)| {
                (*of, other.kind) == (choice, warning.kind)
            };
            match self.first.iter_mut().find(like) {
                Some((_, _, others)) => *others += 1,
                None => self.first.push((choice, warning, 0)),
            }
        }
    }

    /// All of it; what runs of several choices say in the same words is there once.
    pub(super) fn warnings(self) -> Vec<Warning> {
        let mut told: Vec<Warning> = Vec::new();
        for (_, mut warning, others) in self.first {
            if others > 0 && warning.run.is_some() {
                let runs = if others == 1 { "run" } else { "runs" };
                warning.text +=
                    &format!("; the like holds for {others} more {runs} of this choice");
            }
            if !told.contains(&warning) {
                told.push(warning);
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::WarningKind;

    #[test]
    fn each_choice_says_a_thing_once() {
        let failed =
            |label: &str, text: &str| Warning::new(WarningKind::FailedRequests, text).of_run(label);
        let fitted = || Warning::new(WarningKind::Fitted, "9 requests were left out");
        let mut told = Told::default();
        told.add(0, vec![failed("one at 8", "5 of 10 failed"), fitted()]);
        told.add(0, vec![failed("one at 4", "4 of 10 failed"), fitted()]);
        told.add(1, vec![failed("two at 8", "3 of 10 failed"), fitted()]);
        told.add(0, vec![failed("one at 2", "2 of 10 failed")]);
        let expected = [
            failed(
                "one at 8",
                "5 of 10 failed; the like holds for 2 more runs of this choice",
            ),
            fitted(),
            failed("two at 8", "3 of 10 failed"),
        ];
        assert_eq!(told.warnings(), expected);
    }
}
