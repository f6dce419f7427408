//! What an inspection finds, as plain data: the JSON of `inspect` and the input of its text.
//!
//! Keys carry their units (`_bytes`, `_s`, `_ms`, `_rps`; `_mb_s` counts megabytes of 10^6, `_mib`
//! of 2^20). A *share* is in `0..=1`. "Media" requests are reads and writes; what is said of sizes,
//! places and sequence is about them alone.

use std::collections::BTreeMap;

use nearslot_trace::{Anomaly, SpanRead, Spread, TimeKind};
use serde::Serialize;

use super::pictures::Pictures;
use crate::warning::Warning;

/// Version of the JSON layout; grows when a key changes its meaning or goes away.
pub const SCHEMA: u32 = 2;

/// Everything found.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of nearslot.
    pub version: String,
    /// The build of nearslot: the commit that it was compiled from, `-changed` behind it if the
    /// source differed, or `unknown`.
    pub build: String,
    /// Format as detected or named.
    pub format: String,
    /// Version of the format, when it has one.
    pub format_version: Option<String>,
    /// Files, per-CPU files one by one.
    pub files: Vec<String>,
    /// How the trace was understood, in words.
    pub notes: Vec<String>,
    /// XXH3-128 of the canonical records in hex; results of runs name the same one.
    pub hash: String,
    /// Records, of any operation.
    pub requests: u64,
    /// Whether reading stopped at a limit on requests.
    pub limited: bool,
    /// Which part of the trace was read; `None` if all of it.
    pub span: Option<SpanRead>,
    /// First to last arrival.
    pub span_s: f64,
    /// What times there are.
    pub time: Times,
    /// By name of the operation; only those that occur.
    pub operations: BTreeMap<&'static str, Operation>,
    /// Reads among media requests; `None` if there are none.
    pub read_share: Option<f64>,
    /// Bytes read among the bytes of media requests.
    pub read_bytes_share: Option<f64>,
    /// Devices with requests, busiest first.
    pub devices: Vec<Device>,
    /// Who asked.
    pub clients: Clients,
    /// How long requests are.
    pub sizes: Sizes,
    /// How requests are aligned.
    pub alignment: Alignment,
    /// How much was touched, and how often again.
    pub footprint: Footprint,
    /// What happened when.
    pub timeline: Timeline,
    /// How requests arrive.
    pub arrivals: Arrivals,
    /// How requests follow each other in space.
    pub sequentiality: Sequentiality,
    /// Bytes over time.
    pub throughput: Throughput,
    /// Arrival to completion as traced; `None` where the trace does not tell.
    pub response: Option<Latency>,
    /// Issue to completion as traced.
    pub service: Option<Latency>,
    /// Requests outstanding, as traced response times imply.
    pub queue: Option<Queue>,
    /// What the reader found odd.
    pub anomalies: Vec<Oddity>,
    /// Lost events among all; 0 also where the format cannot show them.
    pub lost_share: f64,
    /// What to know before believing the trace.
    pub warnings: Vec<Warning>,
    /// What pictures are drawn from; `None` if nobody asked for them. JSON always has them.
    pub pictures: Option<Pictures>,
}

/// What times there are.
#[derive(Clone, Debug, Serialize)]
pub struct Times {
    /// Which event was stamped.
    pub kind: TimeKind,
    /// Smallest step of the format's time stamps.
    pub resolution_ns: u64,
    /// Greatest step that all time stamps are a multiple of, from the first; `None` when they are
    /// all equal or were spread.
    pub step_ns: Option<u64>,
    /// Unix time of the first record in ns, when the format tells.
    pub epoch_unix_ns: Option<i64>,
    /// How coarse time stamps were spread.
    pub spread: Option<Spread>,
}

/// One operation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Operation {
    /// How many.
    pub requests: u64,
    /// Bytes they are about.
    pub bytes: u128,
}

/// One device.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    /// Its name in the trace.
    pub name: String,
    /// All its requests.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// First byte behind the highest one touched.
    pub end_bytes: u64,
}

/// Who asked.
#[derive(Clone, Debug, Serialize)]
pub struct Clients {
    /// How many the trace names.
    pub count: u64,
    /// The busiest, at most [`Clients::BUSIEST_MAX`].
    pub busiest: Vec<Client>,
}

impl Clients {
    /// Clients that are listed.
    pub const BUSIEST_MAX: usize = 10;
}

/// One client.
#[derive(Clone, Debug, Serialize)]
pub struct Client {
    /// Its name in the trace.
    pub name: String,
    /// Its requests.
    pub requests: u64,
}

/// How long requests are.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sizes {
    /// Reads and writes; `None` if there are none.
    pub all: Option<SizeSpread>,
    /// Reads.
    pub reads: Option<SizeSpread>,
    /// Writes.
    pub writes: Option<SizeSpread>,
    /// The most common sizes, most common first, at most [`Sizes::COMMON_MAX`].
    pub common: Vec<SizeCount>,
    /// How many there are in each octave.
    pub octaves: SizeOctaves,
}

impl Sizes {
    /// Sizes that are listed.
    pub const COMMON_MAX: usize = 8;
}

/// Media requests by powers of two; the n-th values of all lists are one bin, and no bin between
/// two others is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SizeOctaves {
    /// Shortest size of a bin; the next bin begins at twice as many.
    pub from_bytes: Vec<u64>,
    /// Reads.
    pub reads: Vec<u64>,
    /// Writes.
    pub writes: Vec<u64>,
}

/// A distribution of sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SizeSpread {
    /// Shortest.
    pub min_bytes: u64,
    /// Arithmetic mean.
    pub mean_bytes: f64,
    /// Median, by nearest rank.
    pub p50_bytes: u64,
    /// 95th percentile.
    pub p95_bytes: u64,
    /// Longest.
    pub max_bytes: u64,
}

/// How common a size is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SizeCount {
    /// The size.
    pub bytes: u64,
    /// Requests of this size.
    pub requests: u64,
    /// The same as a share of media requests.
    pub share: f64,
}

/// Shares of media requests of which both offset and length are multiples of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Alignment {
    /// Of 512 bytes.
    pub by_512_share: f64,
    /// Of 4 KiB.
    pub by_4k_share: f64,
    /// Of 64 KiB.
    pub by_64k_share: f64,
    /// Greatest power of two that all offsets are multiples of, in bytes.
    pub offsets_bytes: u64,
    /// The same for lengths.
    pub lengths_bytes: u64,
}

/// How much was touched, in pages of 4 KiB, and how often again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Footprint {
    /// Bytes of all pages touched; `None` if offsets are object ids.
    pub bytes: Option<u64>,
    /// Of every so many pieces of 256 KiB one was looked at; with 1 the counts are exact.
    pub sampled_one_in: u64,
    /// Share of the pages read that were touched before: what a cache of any size would have held
    /// of them; `None` without reads. A page counts for each request that touches it.
    pub read_pages_again_share: Option<f64>,
    /// The same of the pages written.
    pub written_pages_again_share: Option<f64>,
    /// Media requests of more than 1 GiB, which are left out here and in the working set.
    pub outsized_requests: u64,
}

/// What happened in equal intervals from the first arrival on.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Timeline {
    /// Length of an interval.
    pub interval_s: f64,
    /// Distinct data touched in each interval, by 4 KiB pages; a sketch with a standard error of
    /// 1.6 %.
    pub working_set_mib: Vec<f64>,
    /// Requests per second in each interval; the trace ends somewhere in the last one.
    pub rate_rps: Vec<f64>,
    /// Data read and written per second in each interval.
    pub throughput_mb_s: Vec<f64>,
    /// Reads among media requests in each interval; `None` where there are none.
    pub read_share: Vec<Option<f64>>,
}

/// How requests arrive.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Arrivals {
    /// Requests per second over the span; `None` if all came at once.
    pub mean_rps: Option<f64>,
    /// Most requests in a window of 1 s (windows count from the first arrival); `None` for shorter
    /// traces.
    pub peak_1s_rps: Option<f64>,
    /// The same for 100 ms, per second.
    pub peak_100ms_rps: Option<f64>,
    /// Standard deviation of the gaps between arrivals over their mean: 0 for a clock, 1 for a
    /// Poisson process.
    pub gap_cv: Option<f64>,
    /// 10th percentile of the gaps that are not 0.
    pub gap_p10_ms: Option<f64>,
    /// All gaps between one arrival and the next.
    pub gaps: GapOctaves,
    /// Variance over mean of the number of arrivals in windows of one length: 1 for a Poisson
    /// process at any length.
    pub dispersion: Vec<Dispersion>,
}

/// Gaps by powers of two; the n-th values of both lists are one bin, and no bin between two others
/// is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GapOctaves {
    /// Gaps of 0, which no bin holds: requests with the same time.
    pub zero: u64,
    /// Shortest gap of a bin; the next bin begins at twice as much.
    pub from_ns: Vec<u64>,
    /// Gaps in the bin.
    pub gaps: Vec<u64>,
}

/// Burstiness at one scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Dispersion {
    /// Length of a window.
    pub window_s: f64,
    /// Whole windows in the span.
    pub windows: u64,
    /// Variance over mean.
    pub index: f64,
}

/// Shares of media requests that begin where the one before ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sequentiality {
    /// The one before on the same device.
    pub device_share: f64,
    /// The one before on the same device by the same client.
    pub stream_share: f64,
}

/// Bytes over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Throughput {
    /// Read and written per second over the span; `None` if all came at once.
    pub mean_mb_s: Option<f64>,
    /// Read.
    pub read_mb_s: Option<f64>,
    /// Written.
    pub write_mb_s: Option<f64>,
    /// Most in a window of 1 s; `None` for shorter traces.
    pub peak_1s_mb_s: Option<f64>,
}

/// A distribution of traced times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Requests that tell.
    pub known: u64,
    /// Arithmetic mean.
    pub mean_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Longest.
    pub max_ms: f64,
}

/// Requests outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Queue {
    /// Time average: sum of response times over the span (Little's law).
    pub mean: Option<f64>,
    /// Median that an arriving request makes, itself counted.
    pub p50: u64,
    /// 95th percentile.
    pub p95: u64,
    /// Most.
    pub max: u64,
}

/// A kind of oddity.
#[derive(Clone, Debug, Serialize)]
pub struct Oddity {
    /// What.
    pub kind: Anomaly,
    /// How often.
    pub count: u64,
    /// Where and what, for the first few.
    pub examples: Vec<String>,
}
