//! What asks: a trace and how it is replayed, or a synthetic workload.

use std::path::PathBuf;

use nearslot_core::config::PartConfig;
use nearslot_core::registry::{ConfigError, written};
use nearslot_core::units::Blocks;
use nearslot_trace::{OpenOptions, Span, TraceTime};
use serde::{Deserialize, Serialize};

use crate::workload::closed::Refill;
use crate::workload::fit::Mode;
use crate::workload::layout::Volumes;

/// Where requests come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// A trace.
    Trace(TraceLoad),
    /// A synthetic workload, with knobs.
    Workload(PartConfig),
}

/// A trace and how to replay it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceLoad {
    /// Its files; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// Its format, when it is not to be detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Which device of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// How several devices are placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volumes: Option<Volumes>,
    /// Only what came at this time after the trace's first request, or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<TraceTime>,
    /// Only what came before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<TraceTime>,
    /// Only the window of this length with most requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busiest: Option<TraceTime>,
    /// Only the first requests (of the span).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// How arrivals are made of it.
    pub replay: Replay,
    /// Requests in flight in a closed replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// In a closed replay, whether the request that an answer brings comes after or before the
    /// drive chooses its next command; after, if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refill: Option<Refill>,
    /// Arrival times are divided by this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// What is done about addresses beyond the drive.
    pub fit: Mode,
    /// In a dependent replay, the response time of requests whose completion the trace does not
    /// tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_guess_us: Option<f64>,
    /// What addresses beyond the drive are fitted to where runs are compared: the smallest of their
    /// volumes, so that all serve the same requests. No setting.
    #[serde(skip)]
    pub room: Option<Blocks>,
}

impl TraceLoad {
    /// Requests in flight in a closed replay: 16 when nothing is said.
    pub fn depth(&self) -> u64 {
        self.depth.unwrap_or(16)
    }

    /// When the next request comes in a closed replay: after the drive has chosen when nothing is
    /// said.
    pub fn refill(&self) -> Refill {
        self.refill.unwrap_or(Refill::After)
    }

    /// What arrival times are divided by: 1 when nothing is said.
    pub fn speed(&self) -> f64 {
        self.speed.unwrap_or(1.0)
    }

    /// The response time that is taken where the trace does not tell one: 5 ms when nothing is
    /// said.
    pub fn service_guess_us(&self) -> f64 {
        self.service_guess_us.unwrap_or(5_000.0)
    }

    /// A setting that only some replay modes read, if it was given.
    pub(super) fn given(&self, key: &str) -> Option<String> {
        match key {
            "depth" => self.depth.map(|depth| depth.to_string()),
            "refill" => self.refill.map(|refill| refill.word().to_owned()),
            "speed" => self.speed.map(written),
            "service_guess_us" => self.service_guess_us.map(written),
            _ => None,
        }
    }
}

impl Default for TraceLoad {
    fn default() -> TraceLoad {
        TraceLoad {
            files: Vec::new(),
            format: None,
            device: None,
            volumes: None,
            from: None,
            to: None,
            busiest: None,
            limit: None,
            replay: Replay::Open,
            depth: None,
            refill: None,
            speed: None,
            fit: Mode::None,
            service_guess_us: None,
            room: None,
        }
    }
}

impl TraceLoad {
    /// The part of the trace that is replayed.
    ///
    /// # Errors
    /// `from`, `to` and `busiest` contradict each other.
    pub fn span(&self) -> Result<Span, ConfigError> {
        Span::told(self.from, self.to, self.busiest)
    }

    /// How its files are opened: as `how` says, and what the load itself says of them.
    ///
    /// # Errors
    /// As [`TraceLoad::span`].
    pub fn opened(&self, how: OpenOptions) -> Result<OpenOptions, ConfigError> {
        Ok(OpenOptions {
            format: self.format.clone(),
            device: self.device.clone(),
            span: self.span()?,
            limit: self.limit,
            ..how
        })
    }
}

words! {
    /// How arrivals are made of a trace.
    Replay {
        /// At the traced times.
        Open = "open",
        /// A constant number in flight, whatever the times.
        Closed = "closed",
        /// Think times after completions, inferred.
        Dependent = "dependent",
    }
}
