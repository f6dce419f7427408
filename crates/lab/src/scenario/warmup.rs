//! How much of a run's front is not measured.

use nearslot_core::registry::ConfigError;
use serde::{Deserialize, Serialize};

/// How much of a run's front is not measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WarmupWord", into = "String")]
pub enum Warmup {
    /// So many requests.
    Requests(u64),
    /// A share of all requests, in percent.
    Percent(f64),
    /// One percent; in closed loops at least four times the depth, so that the first filling of the queue is not
    /// measured; never more than a tenth.
    Auto,
}

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
        let wrong =
            || ConfigError::value("warmup", word, "auto, a number of requests, or 0% to 90%");
        if word == "auto" {
            return Ok(Warmup::Auto);
        }
        match word.strip_suffix('%') {
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
            Warmup::Auto => "auto".to_owned(),
        }
    }
}

impl Warmup {
    /// Requests to cut off `requests`, given the depth of a closed loop.
    ///
    /// # Errors
    /// More than there are.
    pub fn requests(self, requests: u64, depth: Option<u64>) -> Result<u64, ConfigError> {
        let cut = match self {
            Warmup::Requests(count) => count,
            Warmup::Percent(percent) => (requests as f64 * percent / 100.0) as u64,
            Warmup::Auto => {
                let filling = depth.map_or(0, |depth| depth.saturating_mul(4));
                (requests / 100).max(filling).min(requests / 10)
            }
        };
        if cut > 0 && cut >= requests {
            let allowed = format!("fewer than the {requests} requests of the run");
            return Err(ConfigError::value("warmup", &cut.to_string(), &allowed));
        }
        Ok(cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_is_a_count_a_share_or_automatic() {
        let cut = |word: &str, depth| word.parse::<Warmup>().unwrap().requests(1_000, depth);
        assert_eq!(cut("10", None), Ok(10));
        assert_eq!(cut("5%", None), Ok(50));
        assert_eq!(cut("auto", None), Ok(10));
        assert_eq!(cut("auto", Some(16)), Ok(64));
        assert_eq!(cut("auto", Some(4_096)), Ok(100));
        assert!(cut("1000", None).is_err());
        assert!("91%".parse::<Warmup>().is_err());
    }
}
