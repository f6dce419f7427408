//! A calibration in words: the table for people, the `[calibration]` table of the drive's file.

use std::fmt;

use serde::Serialize;
use toml::{Table, Value};

use super::{Calibration, Estimate, Finding, Fit, Verdict};
use crate::number::counted;

/// The text of a drive's file.
pub(super) fn file<T: Serialize>(parameters: &T) -> String {
    toml::to_string(parameters).expect("parameters are plain data")
}

/// What a drive's file says of its own origin.
pub(super) fn table(input: &str, base: Option<&str>, finding: &Finding, fit: &Fit) -> Table {
    let mut table = Table::new();
    let mut put = |key: &str, value: Value| table.insert(key.to_owned(), value);
    put("input", Value::from(input));
    if let Some(base) = base {
        put("base", Value::from(base));
    }
    put(
        "judged_by_requests",
        Value::Integer(fit.requests.cast_signed()),
    );
    put("demerit_ms", Value::Float(digits(fit.demerit_ms)));
    put("demerit_share", Value::Float(digits(fit.demerit_share)));
    put(
        "between_halves_ms",
        Value::Float(digits(fit.between_halves_ms)),
    );
    put("half_error_ms", Value::Float(digits(fit.half_error_ms)));
    put("verdict", Value::from(word(fit.verdict)));
    let notes = finding.notes.iter().map(|note| Value::from(note.as_str()));
    put("notes", Value::Array(notes.collect()));
    let estimates = finding
        .estimates
        .iter()
        .map(|estimate| Value::Table(row(estimate)));
    put("parameters", Value::Array(estimates.collect()));
    table
}

fn row(estimate: &Estimate) -> Table {
    let mut table = Table::new();
    let mut put = |key: &str, value: Value| table.insert(key.to_owned(), value);
    put("name", Value::from(estimate.name.as_str()));
    if let Some(value) = estimate.value {
        put("value", Value::Float(digits(value)));
        put("unit", Value::from(estimate.unit));
        put("samples", Value::Integer(estimate.samples.cast_signed()));
    }
    if let Some(error) = estimate.plus_minus {
        put("plus_minus", Value::Float(digits(error)));
    }
    put("from", Value::from(estimate.from.as_str()));
    put("how", Value::from(estimate.how.as_str()));
    table
}

/// Six digits behind the point: times are in milliseconds.
fn digits(value: f64) -> f64 {
    libm::round(value * 1e6) / 1e6
}

/// The verdict as a word.
pub(super) const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "good",
        Verdict::Fair => "fair",
        Verdict::Poor => "poor",
        Verdict::Unjudged => "unjudged",
    }
}

fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "good: the model stands for the drive in distribution",
        Verdict::Fair => {
            "fair: schedulers can be told apart; do not read its milliseconds as the drive's"
        }
        Verdict::Poor => "poor: do not trust this drive",
        Verdict::Unjudged => "it cannot be judged: do not trust this drive",
    }
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} timed reads and writes",
            self.input, self.requests
        )?;
        writeln!(
            f,
            "\nParameters ({} blocks; +- is half of an interval that holds the true value in 19 of 20 cases):",
            self.capacity_blocks
        )?;
        let width = self
            .estimates
            .iter()
            .map(|one| one.name.len())
            .max()
            .unwrap_or(0);
        for one in &self.estimates {
            let value = match (one.value, one.plus_minus) {
                (Some(value), Some(error)) => format!("{value:.3} +- {error:.3} {}", one.unit),
                (Some(value), None) => format!("{value:.3} {}", one.unit),
                (None, _) => format!("from {}", one.from),
            };
            let count = match one.value {
                Some(_) => format!(" ({})", counted(one.samples, "request")),
                None => String::new(),
            };
            writeln!(f, "  {:width$}  {value:28}  {}{count}", one.name, one.how)?;
        }
        write!(f, "{}", self.fit)?;
        if !self.notes.is_empty() {
            writeln!(f, "\nNotes:")?;
        }
        self.notes
            .iter()
            .try_for_each(|note| writeln!(f, "  {note}"))
    }
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fit = self;
        writeln!(
            f,
            "\nFit, on {} that nothing was fitted to; latencies in ms:\n  {:6} {:>10} {:>10} {:>12}",
            counted(fit.requests, "request"),
            "",
            "measured",
            "model",
            "difference"
        )?;
        let mean = ("mean".to_owned(), fit.measured_mean_ms, fit.model_mean_ms);
        let ranks = fit.quantiles_ms.iter();
        let ranks = ranks
            .map(|(share, measured, model)| (format!("p{}", share * 100.0), *measured, *model));
        for (name, measured, model) in std::iter::once(mean).chain(ranks) {
            let off = model - measured;
            writeln!(f, "  {name:6} {measured:10.3} {model:10.3} {off:+12.3}")?;
        }
        writeln!(
            f,
            "  root mean square distance between the two distributions: {:.3} ms, {:.1} % of the mean\n  the same between the two measured \
             halves: {:.3} ms, {:.1} %; each half is uncertain by {:.3} ms, {:.1} %, besides what the model follows",
            fit.demerit_ms,
            fit.demerit_share * 100.0,
            fit.between_halves_ms,
            fit.between_halves_ms / fit.measured_mean_ms * 100.0,
            fit.half_error_ms,
            fit.half_error_share() * 100.0
        )?;
        if let Some(order) = &fit.order {
            writeln!(
                f,
                "  the latencies of {} follow the arm {:.2} +- {:.2} times as closely as the model's",
                counted(order.requests, &format!("long {}", order.of)),
                order.share,
                order.share_plus_minus
            )?;
        }
        writeln!(f, "  {}", meaning(fit.verdict))?;
        if fit.halves_decide() {
            writeln!(
                f,
                "  no better than fair because the half that judges is itself uncertain by {:.1} % of the mean, as the other half tells",
                fit.half_error_share() * 100.0
            )?;
        }
        if let Some(why) = &fit.unjudged {
            writeln!(f, "  because {why}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Verdict, word};
    use crate::doubt::DOUBTFUL;

    #[test]
    fn verdicts_that_users_are_warned_of_have_these_words() {
        let doubtful = [Verdict::Fair, Verdict::Poor, Verdict::Unjudged];
        assert_eq!(DOUBTFUL, doubtful.map(word));
    }
}
