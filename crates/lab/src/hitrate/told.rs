//! A question in words, as the command and Python ask it.

use nearslot_core::config::PartConfig;
use nearslot_core::registry::ConfigError;

use super::{Question, Sample, Size, Unit, Which};

/// Sizes when none is given.
const SIZES: &[&str] = &["0.1%", "1%", "10%"];
/// Sizes of a curve.
const CURVE: &[&str] = &[
    "0.1%", "0.2%", "0.5%", "1%", "2%", "3%", "5%", "10%", "20%", "30%", "50%", "70%",
];

/// A page is so many bytes at least: traces count in blocks of these.
const PAGE_MIN: u64 = 512;
/// And at most: larger ones hold whatever the trace asks for.
const PAGE_MAX: u64 = 1 << 30;

/// What is asked, in words.
#[derive(Clone, Debug)]
pub struct Told<'a> {
    /// Names of caches, with their knobs.
    pub caches: &'a [String],
    /// Sizes; none for a few, or for those of a curve.
    pub sizes: Option<&'a [String]>,
    /// Whether a curve is drawn.
    pub curve: bool,
    /// `request`, or bytes of a page.
    pub unit: &'a str,
    /// Which requests count.
    pub which: Which,
    /// The share of lines to look at, such as `1%`.
    pub sample: Option<&'a str>,
    /// Draws the sample.
    pub seed: u64,
    /// Also count requests of which a page was missed.
    pub per_request: bool,
}

impl Told<'_> {
    /// The question.
    ///
    /// # Errors
    /// The first word that says nothing.
    pub fn question(&self) -> Result<Question, ConfigError> {
        let caches = self.caches.iter().map(|word| word.parse::<PartConfig>());
        let default = if self.curve { CURVE } else { SIZES };
        let sizes: Vec<&str> = match self.sizes {
            Some(own) => own.iter().map(String::as_str).collect(),
            None => default.to_vec(),
        };
        let sizes = sizes.iter().map(|word| word.parse::<Size>());
        Ok(Question {
            caches: caches.collect::<Result<_, _>>()?,
            sizes: sizes.collect::<Result<_, _>>()?,
            leave_out: self.sizes.is_none(),
            unit: unit(self.unit)?,
            which: self.which,
            sample: self
                .sample
                .map(|word| sample(word, self.seed))
                .transpose()?,
            per_request: self.per_request,
        })
    }
}

fn sample(word: &str, seed: u64) -> Result<Sample, ConfigError> {
    let percent = word
        .strip_suffix('%')
        .and_then(|number| number.parse().ok());
    let percent = percent.filter(|percent: &f64| *percent > 0.0 && *percent < 100.0);
    let allowed = "a share of the lines above 0 % and below 100 %, as in 1%";
    let percent = percent.ok_or_else(|| ConfigError::value("sample", word, allowed))?;
    Ok(Sample {
        share: percent / 100.0,
        seed,
    })
}

fn unit(word: &str) -> Result<Unit, ConfigError> {
    if word == "request" {
        return Ok(Unit::Request);
    }
    let bytes = word.parse::<u64>().ok();
    let page =
        bytes.filter(|bytes| bytes.is_multiple_of(512) && (PAGE_MIN..=PAGE_MAX).contains(bytes));
    let allowed =
        format!("request, or bytes of a page, a multiple of 512 from {PAGE_MIN} to {PAGE_MAX}");
    page.map(Unit::Page)
        .ok_or_else(|| ConfigError::value("unit", word, &allowed))
}
