//! How a trace is read, as `nearslot.Reading` says it.

use std::path::PathBuf;

use nearslot_core::registry::ConfigError;
use nearslot_trace::{FioWait, OpenOptions, Options, Span, Spread, TimeUnit, TraceTime};
use pyo3::prelude::*;

/// The attributes of a `nearslot.Reading`.
#[derive(Debug, FromPyObject)]
pub(crate) struct Reading {
    columns: Option<String>,
    time_unit: Option<String>,
    block_size_bytes: Option<u64>,
    fio_wait: Option<String>,
    spread: Option<String>,
    reorder_ms: Option<u64>,
    sort: bool,
    strict: bool,
}

impl Reading {
    /// The same for the laboratory; `seed` is for random spreading.
    ///
    /// # Errors
    /// An unknown word.
    pub(crate) fn options(&self, seed: u64) -> Result<OpenOptions, ConfigError> {
        let plain = OpenOptions::default();
        let time_unit = self.time_unit.as_deref().map(time_unit).transpose()?;
        let fio_wait = self.fio_wait.as_deref().map(fio_wait).transpose()?;
        Ok(OpenOptions {
            decode: Options {
                time_unit,
                columns: self.columns.clone(),
                block_size: self.block_size_bytes,
                fio_wait,
                strict: self.strict,
                ..Options::default()
            },
            reorder_window_ns: self
                .reorder_ms
                .map_or(plain.reorder_window_ns, |window_ms| {
                    window_ms.saturating_mul(1_000_000)
                }),
            reorder_asked: self.reorder_ms.is_some(),
            sort: self.sort,
            spread: match &self.spread {
                Some(word) => spread(word, seed)?,
                None => Spread::Even,
            },
            spread_asked: self.spread.is_some(),
            ..plain
        })
    }
}

/// The attributes of a `nearslot.opening.Opening`: which files, and what of them is read.
#[derive(Debug, FromPyObject)]
pub(crate) struct Opening {
    pub(crate) files: Vec<PathBuf>,
    reading: Reading,
    format: Option<String>,
    device: Option<String>,
    span: [Option<String>; 3],
    limit: Option<u64>,
}

impl Opening {
    /// The same for the laboratory.
    ///
    /// # Errors
    /// An unknown word.
    pub(crate) fn options(&self) -> Result<OpenOptions, ConfigError> {
        Ok(OpenOptions {
            format: self.format.clone(),
            device: self.device.clone(),
            span: told(&self.span)?,
            limit: self.limit,
            ..self.reading.options(1)?
        })
    }
}

/// The span that `from`, `to` and `busiest` say.
fn told([from, to, busiest]: &[Option<String>; 3]) -> Result<Span, ConfigError> {
    let time = |key, word: &Option<String>| {
        let time = word.as_ref().map(|word| TraceTime::told(key, word));
        time.transpose()
    };
    Span::told(
        time("from", from)?,
        time("to", to)?,
        time("busiest", busiest)?,
    )
}

fn time_unit(word: &str) -> Result<TimeUnit, ConfigError> {
    match word {
        "s" => Ok(TimeUnit::Seconds),
        "ms" => Ok(TimeUnit::Milliseconds),
        "us" => Ok(TimeUnit::Microseconds),
        "ns" => Ok(TimeUnit::Nanoseconds),
        _ => Err(ConfigError::unknown(
            "time_unit",
            word,
            &["s", "ms", "us", "ns"],
        )),
    }
}

fn fio_wait(word: &str) -> Result<FioWait, ConfigError> {
    match word {
        "abs-ms" => Ok(FioWait::AbsoluteMs),
        "rel-us" => Ok(FioWait::RelativeUs),
        _ => Err(ConfigError::unknown(
            "fio_wait",
            word,
            &["abs-ms", "rel-us"],
        )),
    }
}

fn spread(word: &str, seed: u64) -> Result<Spread, ConfigError> {
    match word {
        "even" => Ok(Spread::Even),
        "poisson" => Ok(Spread::Poisson(seed)),
        "none" => Ok(Spread::None),
        _ => Err(ConfigError::unknown(
            "spread",
            word,
            &["even", "poisson", "none"],
        )),
    }
}
