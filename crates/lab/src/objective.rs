//! A service-level objective, such as `read p99 < 20 ms`, and what a run says of it.
//!
//! The statistics are those that a run tells with a confidence interval (`measure/`). The longest
//! response time has none: it is a single request, and a longer trace has a longer one. Throughput
//! is no objective either: in an open replay it is what was offered.

use std::fmt;
use std::str::FromStr;

use nearslot_core::op::Op;
use nearslot_core::registry::ConfigError;
use serde::Serialize;

use nearslot_trace::TraceOp;

/// What a response time must stay below.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Objective {
    /// As it was given, in one spelling.
    #[serde(rename = "objective")]
    text: String,
    /// Which requests it is about.
    #[serde(rename = "of")]
    pub class: Class,
    /// Which number of their response times.
    pub statistic: Statistic,
    /// What that must stay below, in milliseconds.
    pub limit_ms: f64,
}

words! {
    /// Requests that an objective is about.
    Class {
        /// Reads and writes.
        All = "all",
        /// Reads.
        Read = "read",
        /// Writes.
        Write = "write",
    }
}

words! {
    /// A number that sums up response times.
    Statistic {
        /// Arithmetic mean.
        Mean = "mean",
        /// Median.
        P50 = "p50",
        /// 90th percentile.
        P90 = "p90",
        /// 95th percentile.
        P95 = "p95",
        /// 99th percentile.
        P99 = "p99",
        /// 99.9th percentile.
        P999 = "p99.9",
    }
}

impl Class {
    /// Whether a request of this kind is meant. Other operations than reads and writes are never.
    pub(crate) fn has(self, op: Op) -> bool {
        match self {
            Class::All => matches!(op, Op::Read | Op::Write),
            Class::Read => op == Op::Read,
            Class::Write => op == Op::Write,
        }
    }

    /// The same of a request as a trace has it.
    pub(crate) fn has_traced(self, op: TraceOp) -> bool {
        match self {
            Class::All => matches!(op, TraceOp::Read | TraceOp::Write),
            Class::Read => op == TraceOp::Read,
            Class::Write => op == TraceOp::Write,
        }
    }

    /// Such requests, in words.
    pub(crate) fn requests(self) -> &'static str {
        match self {
            Class::All => "reads and writes",
            Class::Read => "reads",
            Class::Write => "writes",
        }
    }
}

impl Statistic {
    /// The share of requests at or below it, if it is a percentile.
    pub(crate) fn rank(self) -> Option<f64> {
        match self {
            Statistic::Mean => None,
            Statistic::P50 => Some(0.5),
            Statistic::P90 => Some(0.9),
            Statistic::P95 => Some(0.95),
            Statistic::P99 => Some(0.99),
            Statistic::P999 => Some(0.999),
        }
    }
}

const EXAMPLE: &str = "such as 'read p99 < 20 ms', or several joined by 'and'";

/// All objectives of some texts, each one or several joined by `and`.
///
/// # Errors
/// No objective at all, a word that is none, or two objectives about the same number.
pub fn objectives(texts: &[String]) -> Result<Vec<Objective>, ConfigError> {
    let mut all: Vec<Objective> = Vec::new();
    for text in texts {
        let parts = joined(text);
        if parts.len() > 1 && parts.iter().any(String::is_empty) {
            let key = format!("slo '{text}': an objective is missing beside 'and'");
            return Err(ConfigError::value(&key, "not understood", EXAMPLE));
        }
        for part in parts {
            let objective: Objective = part.parse()?;
            let same = |other: &Objective| {
                (other.class, other.statistic) == (objective.class, objective.statistic)
            };
            if all.iter().any(same) {
                let allowed = "each class and statistic once: the lower limit decides";
                return Err(ConfigError::value("slo", &objective.text, allowed));
            }
            all.push(objective);
        }
    }
    if all.is_empty() {
        let allowed = format!("at least one objective, {EXAMPLE}");
        return Err(ConfigError::value("slo", "nothing", &allowed));
    }
    Ok(all)
}

/// The texts of objectives, joined as they may be given.
pub(crate) fn text(objectives: &[&Objective]) -> String {
    let texts: Vec<String> = objectives.iter().map(ToString::to_string).collect();
    format!("`{}`", texts.join(" and "))
}

/// The parts of a text between the words `and`.
fn joined(text: &str) -> Vec<String> {
    let mut parts = vec![Vec::new()];
    for word in text.split_whitespace() {
        match parts.last_mut() {
            Some(part) if word != "and" => part.push(word),
            _ => parts.push(Vec::new()),
        }
    }
    parts.iter().map(|words| words.join(" ")).collect()
}

impl FromStr for Objective {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Objective, ConfigError> {
        let wrong = |word: &str, allowed: &str| {
            let key = format!("slo '{text}': {word}");
            ConfigError::value(&key, "not understood", &format!("{allowed}, {EXAMPLE}"))
        };
        let (left, right) = text
            .split_once('<')
            .ok_or_else(|| wrong("no '<'", "[read|write] STATISTIC < TIME"))?;
        let words: Vec<&str> = left.split_whitespace().collect();
        let (class, statistic) = match words.as_slice() {
            [statistic] => (Class::All, *statistic),
            [class, statistic] => {
                let parsed = class.parse().ok().filter(|class| *class != Class::All);
                let allowed = "read or write in front of the statistic, nothing for both";
                (parsed.ok_or_else(|| wrong(class, allowed))?, *statistic)
            }
            _ => return Err(wrong(left.trim(), "[read|write] STATISTIC in front of '<'")),
        };
        let statistic: Statistic = statistic.parse().map_err(|_| {
            let allowed = format!("one of {}", Statistic::WORDS.join(", "));
            wrong(statistic, &allowed)
        })?;
        let allowed = "a number above 0 with its unit, us, ms or s, behind '<'";
        let (limit, limit_ms) = limit(right.trim()).ok_or_else(|| wrong(right.trim(), allowed))?;
        let prefix = match class {
            Class::All => String::new(),
            _ => format!("{} ", class.word()),
        };
        Ok(Objective {
            text: format!("{prefix}{} < {limit}", statistic.word()),
            class,
            statistic,
            limit_ms,
        })
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A time above zero with its unit, as it was given, in one spelling, and in milliseconds.
fn limit(text: &str) -> Option<(String, f64)> {
    let unit = text.find(|letter: char| letter.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit);
    let number: f64 = number.trim().parse().ok()?;
    let value = match unit {
        "us" => number / 1e3,
        "ms" => number,
        "s" => number * 1e3,
        _ => return None,
    };
    (value.is_finite() && value > 0.0).then(|| (format!("{number} {unit}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Objective>, ConfigError> {
        objectives(&[text.to_owned()])
    }

    #[test]
    fn an_objective_says_whom_what_and_how_long() {
        let found = read("read p99 < 20 ms and p99.9<0.5s and write mean < 200us").unwrap();
        let parts: Vec<_> = found.iter().map(|one| (one.class, one.statistic)).collect();
        let expected = [
            (Class::Read, Statistic::P99),
            (Class::All, Statistic::P999),
            (Class::Write, Statistic::Mean),
        ];
        assert_eq!(parts, expected);
        let texts: Vec<_> = found.iter().map(Objective::to_string).collect();
        let expected = ["read p99 < 20 ms", "p99.9 < 0.5 s", "write mean < 200 us"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn what_is_no_objective_is_refused_by_its_word_with_what_is_allowed() {
        let cases = [
            ("", "no '<'", "STATISTIC < TIME"),
            ("p99", "no '<'", "STATISTIC < TIME"),
            ("p99 > 1 ms", "no '<'", "STATISTIC < TIME"),
            (
                "p99 < 1 ms and",
                "an objective is missing beside 'and'",
                "joined by 'and'",
            ),
            (
                "and p99 < 1 ms",
                "an objective is missing beside 'and'",
                "joined by 'and'",
            ),
            (
                "p99 < 1 ms and and p50 < 1 ms",
                "an objective is missing beside 'and'",
                "joined by 'and'",
            ),
            ("p99 < 20", "20", "us, ms or s"),
            ("p99 < ms", "ms", "us, ms or s"),
            ("p99 < -1 ms", "-1 ms", "above 0"),
            ("p99 < 0 ms", "0 ms", "above 0"),
            ("p99 < 1 h", "1 h", "us, ms or s"),
            ("p99 < inf ms", "inf ms", "above 0"),
            ("p99 < NaN ms", "NaN ms", "above 0"),
            ("p98 < 1 ms", "p98", "p99.9"),
            ("max < 1 ms", "max", "mean, p50"),
            ("reads p99 < 1 ms", "reads", "read or write"),
            ("read write p99 < 1 ms", "read write p99", "in front of '<'"),
        ];
        for (text, word, allowed) in cases {
            let error = read(text).unwrap_err();
            assert!(error.key.ends_with(&format!(": {word}")), "{text}: {error}");
            assert!(error.allowed.contains(allowed), "{text}: {error}");
        }
        let error = read("p99 < 1 ms and p99 < 2 ms").unwrap_err();
        assert!(error.to_string().contains("p99 < 2 ms"), "{error}");
        assert!(objectives(&[]).is_err());
    }
}
