//! How much of a run's front is not measured.

use nearslot_core::registry::ConfigError;
use nearslot_core::units::Instant;
use nearslot_trace::TraceTime;
use serde::{Deserialize, Serialize};

/// How much of a run's front is not measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WarmupWord", into = "String")]
pub enum Warmup {
    /// So many requests.
    Requests(u64),
    /// A share of all requests, in percent.
    Percent(f64),
    /// Those that come in this time from the beginning of the run on.
    Time(TraceTime),
    /// One percent; in closed loops at least four times the depth, so that the first filling of the
    /// queue is not measured; never more than a tenth.
    Auto,
}

/// How many requests come before an instant.
pub type ComeBefore<'a> = &'a dyn Fn(Instant) -> Result<u64, ConfigError>;

#[derive(Deserialize)]
#[serde(untagged)]
enum WarmupWord {
    Count(u64),
    Word(String),
}

impl TryFrom<WarmupWord> for Warmup {
    type Error = ConfigError;

    fn try_from(word: WarmupWord) -> Result<Warmup, ConfigError> {
        match word {
            WarmupWord::Count(count) => Ok(Warmup::Requests(count)),
            WarmupWord::Word(word) => word.parse(),
        }
    }
}

impl std::str::FromStr for Warmup {
    type Err = ConfigError;

    fn from_str(word: &str) -> Result<Warmup, ConfigError> {
        let allowed = Warmup::ALLOWED;
        let wrong = || ConfigError::value("warmup", word, allowed);
        if word == "auto" {
            return Ok(Warmup::Auto);
        }
        match word.strip_suffix('%') {
            None if word.ends_with(char::is_alphabetic) => {
                let time = TraceTime::told("warmup", word).map_err(|_| wrong())?;
                Ok(Warmup::Time(time))
            }
            None => word.parse().map(Warmup::Requests).map_err(|_| wrong()),
            Some(number) => match number.parse::<f64>() {
                Ok(percent) if (0.0..=90.0).contains(&percent) => Ok(Warmup::Percent(percent)),
                _ => Err(wrong()),
            },
        }
    }
}

impl From<Warmup> for String {
    fn from(warmup: Warmup) -> String {
        match warmup {
            Warmup::Requests(count) => count.to_string(),
            Warmup::Percent(percent) => format!("{percent}%"),
            Warmup::Time(time) => time.to_string(),
            Warmup::Auto => "auto".to_owned(),
        }
    }
}

impl Warmup {
    /// What may be said.
    pub(super) const ALLOWED: &str =
        "auto, a number of requests, 0% to 90%, or a time with its unit such as 30s";

    /// Requests to cut off `requests`, given the depth of a closed loop, and how many come before
    /// an instant where that does not depend on answers.
    ///
    /// # Errors
    /// More than there are, or a time where requests wait for answers.
    pub fn requests(
        self,
        requests: u64,
        depth: Option<u64>,
        come_before: Option<ComeBefore<'_>>,
    ) -> Result<u64, ConfigError> {
        let cut = match (self, come_before) {
            (Warmup::Time(time), Some(come_before)) => come_before(Instant(time.ns()))?,
            (Warmup::Time(time), None) => {
                let allowed = "auto, a number of requests or a share: here requests wait for answers, so a time would cut off \
                               other ones under every choice";
                return Err(ConfigError::value("warmup", &time.to_string(), allowed));
            }
            (cut, _) => cut.of(requests, depth),
        };
        if cut > 0 && cut >= requests {
            let value = match self {
                Warmup::Time(time) => format!("{time} ({cut} requests)"),
                _ => cut.to_string(),
            };
            let allowed = format!("fewer than the {requests} requests of the run");
            return Err(ConfigError::value("warmup", &value, &allowed));
        }
        Ok(cut)
    }

    /// Requests to cut off, where no time says it.
    fn of(self, requests: u64, depth: Option<u64>) -> u64 {
        match self {
            Warmup::Requests(count) => count,
            Warmup::Percent(percent) => (requests as f64 * percent / 100.0) as u64,
            Warmup::Auto => {
                let filling = depth.map_or(0, |depth| depth.saturating_mul(4));
                (requests / 100).max(filling).min(requests / 10)
            }
            Warmup::Time(_) => panic!("a time is counted by who knows the arrivals"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_is_a_count_a_share_or_automatic() {
        let cut = |word: &str, depth| {
            let warmup: Warmup = word.parse().unwrap();
            warmup.requests(1_000, depth, None)
        };
        assert_eq!(cut("10", None), Ok(10));
        assert_eq!(cut("5%", None), Ok(50));
        assert_eq!(cut("auto", None), Ok(10));
        assert_eq!(cut("auto", Some(16)), Ok(64));
        assert_eq!(cut("auto", Some(4_096)), Ok(100));
        assert!(cut("1000", None).is_err());
        assert!("91%".parse::<Warmup>().is_err());
    }

    #[test]
    fn a_time_cuts_off_what_comes_before_it() {
        // A request every 10 ms.
        let come_before = |time: Instant| Ok(time.0.div_ceil(10_000_000));
        let cut = |word: &str| {
            let warmup: Warmup = word.parse().unwrap();
            assert_eq!(String::from(warmup), word);
            warmup.requests(1_000, None, Some(&come_before))
        };
        assert_eq!(cut("2s"), Ok(200));
        assert_eq!(cut("15ms"), Ok(2));
        let told = cut("1m").unwrap_err().to_string();
        assert!(
            told.starts_with("warmup = 1m (6000 requests) (allowed: fewer than the 1000"),
            "{told}"
        );
        let closed = "2s"
            .parse::<Warmup>()
            .unwrap()
            .requests(1_000, Some(4), None);
        let told = closed.unwrap_err().to_string();
        assert!(told.contains("requests wait for answers"), "{told}");
        for wrong in ["2 apples", "s", "-2s"] {
            let told = wrong.parse::<Warmup>().unwrap_err().to_string();
            assert!(told.contains("a time with its unit"), "{told}");
        }
    }
}
