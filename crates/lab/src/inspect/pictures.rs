//! What the pictures of an inspection are drawn from, as plain data: the part of the JSON that
//! `--html` shows.
//!
//! They cost more than the rest of an inspection together, so they are counted for the page, for
//! JSON and for Python, and not for the text nor for reports of runs, which do not show them.

use serde::Serialize;

/// What is drawn.
#[derive(Clone, Debug, Serialize)]
pub struct Pictures {
    /// What the numbers say, as sentences, the most telling first.
    pub findings: Vec<String>,
    /// What was asked over time.
    pub load: LoadOverTime,
    /// Where it was asked over time; `None` if offsets are object ids, or if the trace has no
    /// times.
    pub heat: Option<Heat>,
    /// How soon the same data are touched again; `None` if offsets are object ids.
    pub reuse: Option<Reuse>,
}

/// Rates in equal intervals from the first arrival on; the trace ends somewhere in the last one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LoadOverTime {
    /// Length of an interval.
    pub interval_s: f64,
    /// Reads per second.
    pub read_rps: Vec<f64>,
    /// Writes per second.
    pub write_rps: Vec<f64>,
    /// Requests of other operations per second.
    pub other_rps: Vec<f64>,
    /// Data read per second.
    pub read_mb_s: Vec<f64>,
    /// Data written per second.
    pub write_mb_s: Vec<f64>,
}

/// Where media requests begin, over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Heat {
    /// One a device, busiest first, at most [`Heat::MAPS_MAX`].
    pub maps: Vec<HeatMap>,
    /// Media requests of devices that have no map here.
    pub unmapped_requests: u64,
    /// Least share of the mapped addresses in which two thirds of the reads begin; `None` without
    /// reads. Addresses count from the lowest to the highest row of a map.
    pub reads_two_thirds_share: Option<f64>,
    /// The same for writes.
    pub writes_two_thirds_share: Option<f64>,
}

impl Heat {
    /// Maps that are given out.
    pub const MAPS_MAX: usize = 8;
}

/// The map of one device: intervals of [`LoadOverTime`] to the right, rows of equal length upwards.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeatMap {
    /// Name of the device in the trace.
    pub device: String,
    /// Reads and writes on the map.
    pub requests: u64,
    /// Where the lowest row begins.
    pub from_bytes: u64,
    /// Length of a row.
    pub row_bytes: u64,
    /// How many rows there are.
    pub rows: u64,
    /// What is not empty, column by column, each from the lowest row up.
    pub cells: Cells,
}

/// Cells that are not empty: the n-th values of all lists are one cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cells {
    /// Interval, from 0.
    pub column: Vec<u64>,
    /// Row, from 0.
    pub row: Vec<u64>,
    /// Reads that begin there and then.
    pub reads: Vec<u64>,
    /// Writes that begin there and then.
    pub writes: Vec<u64>,
}

/// What a cache that keeps the blocks touched last would have held.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reuse {
    /// Length of a block; a request touches every block that it has a byte of.
    pub block_bytes: u64,
    /// Of every so many blocks one was followed; with 1 the shares are exact.
    pub sampled_one_in: u64,
    /// Sizes of the cache, rising; behind the last one nothing changes any more. If blocks were
    /// sampled, smaller caches than 16 blocks of the sample are left out.
    pub cache_bytes: Vec<u64>,
    /// Touches by reads and writes.
    pub all: Held,
    /// Touches by reads; `None` without reads. The cache holds what was written, too.
    pub reads: Option<Held>,
    /// Touches by writes.
    pub writes: Option<Held>,
    /// Media requests of more than 1 GiB, which are left out here.
    pub outsized_requests: u64,
}

/// The part of the touches that the cache would have held, one value a size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// Touches of blocks.
    pub touches: u64,
    /// Share of them that find their block in the cache.
    pub held_share: Vec<f64>,
    /// Standard error of that share, since only some blocks were followed; 0 if all were.
    pub standard_error: Vec<f64>,
}
