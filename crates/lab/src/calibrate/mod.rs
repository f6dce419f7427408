//! A drive like one's own: from requests with latencies to a drive's file, with the uncertainty of
//! each parameter and the goodness of the whole.
//!
//! ```text
//! trace or probe -> samples -> rotation -> electronics -> zones -> seek curve, head switch, settle -> drive's file
//!                   samples.rs rotation.rs electronics.rs zones.rs seek.rs (hdd.rs and buffer.rs put them together)
//!                           \-> tables.rs (empirical) or limits.rs (capped)
//!                            \-> the other half of the samples -> replay.rs -> fit.rs: demerit
//! ```
//!
//! What the requests do not tell is taken from a named base drive, and each such parameter says so.
//! Nothing is made up: a device where nothing turns is refused as a disk, and the error names the
//! kinds of drives that fit it. Why these estimators, and what can be identified at all:
//! `docs/design/0012-calibrate.md`.

mod buffer;
mod electronics;
mod estimate;
mod fit;
mod geometry;
mod hdd;
mod idle;
mod limits;
mod numbers;
mod order;
pub mod probe;
mod replay;
mod rotation;
mod samples;
mod seek;
mod tables;
mod text;
mod zones;

use nearslot_core::drive::hdd::{HddBlueprint, Parameters};
use nearslot_core::drive::{self, CATALOG};
use nearslot_core::registry::ConfigError;
use nearslot_trace::{TraceError, TraceReader};
use serde::Serialize;

pub use estimate::Estimate;
pub(crate) use estimate::Finding;
pub use fit::{Fit, Order, Verdict, judge_disk};
pub use samples::{Sample, Samples, fitted};

use crate::number::counted;
use crate::program;
use samples::Split;

/// Which kind of drive is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A disk.
    #[default]
    Hdd,
    /// Tables of service times.
    Empirical,
    /// A volume with limits.
    Capped,
}

/// How to calibrate.
#[derive(Clone, Debug, Default)]
pub struct How {
    /// What to make.
    pub target: Target,
    /// Name and text of the drive that fills in what the requests do not tell; the smallest disk of
    /// the catalog that holds the addresses if none.
    pub base: Option<(String, String)>,
    /// Blocks of the drive; those of the base if none.
    pub capacity: Option<u64>,
    /// What the samples come from, for the drive's file.
    pub input: String,
}

/// Why there is no drive.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// It holds no times.
    #[error(
        "the trace tells no latency of its {requests} requests; formats that may tell one: blktrace, perf, biosnoop, msr, fio-lat, \
         disksim-measured, csv with a column of service or response times"
    )]
    NoLatencies {
        /// Requests in it.
        requests: u64,
    },
    /// It holds several devices.
    #[error("the trace holds {count} devices; --device names the one to calibrate: {names}")]
    Devices {
        /// How many.
        count: usize,
        /// Their names.
        names: String,
    },
    /// It holds too little.
    #[error("too few {what}: {found}; at least {needed} are needed")]
    TooFew {
        /// How many there are.
        found: usize,
        /// What there are too few of.
        what: String,
        /// How many it takes.
        needed: usize,
    },
    /// Too few requests found the drive idle.
    #[error("{} found the drive idle; at least {needed} are needed {what}: {why}", counted(*found as u64, "request"))]
    NeverIdle {
        /// How many did.
        found: usize,
        /// How many it takes.
        needed: usize,
        /// What they are needed for.
        what: String,
        /// What the others found, and which trace would do.
        why: String,
    },
    /// Nothing seems to turn.
    #[error(
        "no disk is seen: {why}. A device of another kind is described by --as empirical (tables of its times) or --as capped (a cloud \
         volume's limits)"
    )]
    NotADisk {
        /// What speaks against a disk.
        why: String,
    },
    /// The capacity does not hold what was addressed.
    #[error(
        "the highest block addressed is {highest}, and {drive} has {blocks}; --capacity names the blocks of the drive, --base a larger drive"
    )]
    Capacity {
        /// First block behind all requests.
        highest: u64,
        /// Which drive.
        drive: String,
        /// Its blocks.
        blocks: u64,
    },
    /// The base drive is unknown or no disk.
    #[error("{0}")]
    Base(ConfigError),
    /// What was found contradicts itself.
    #[error("what was found is no drive: {0}")]
    Drive(ConfigError),
    /// The probed file or device.
    #[error("{path}: {source}")]
    Probe {
        /// Its path.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The requests cannot be used so; why.
    #[error("{0}")]
    Unfit(String),
}

/// A calibrated drive.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// Version of nearslot.
    pub version: String,
    /// The build of nearslot: the commit that it was compiled from, `-changed` behind it if the
    /// source differed, or `unknown`.
    pub build: String,
    /// What kind.
    pub target: Target,
    /// What the samples come from.
    pub input: String,
    /// Timed reads and writes.
    pub requests: u64,
    /// Base drive, if one was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Blocks of the drive.
    pub capacity_blocks: u64,
    /// Parameter by parameter.
    pub estimates: Vec<Estimate>,
    /// What else to know.
    pub notes: Vec<String>,
    /// The model beside the held-out half.
    pub fit: Fit,
    /// The drive's file, which `--drive` takes.
    pub drive: String,
    /// Moves that the seek curve was fitted to: cylinders and milliseconds of move and wait. Of
    /// disks only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<(u32, f64)>,
}

/// Reads what is left of a trace as samples.
///
/// # Errors
/// It cannot be read, holds several devices, or no latencies.
pub fn read(reader: &mut TraceReader) -> Result<Samples, CalibrateError> {
    let mut samples = Samples::default();
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch)? {
        samples.record(&batch);
    }
    reader.header().needs_most_records()?;
    if samples.devices.len() > 1 {
        let name = |dev: &u32| reader.header().devices[*dev as usize].name.clone();
        let names: Vec<String> = samples.devices.iter().map(name).collect();
        return Err(CalibrateError::Devices {
            count: names.len(),
            names: names.join(", "),
        });
    }
    samples.finish()
}

/// Makes a drive of samples.
///
/// # Errors
/// The samples do not tell one; why.
pub fn calibrate(samples: &Samples, how: &How) -> Result<Calibration, CalibrateError> {
    let mut calibration = match how.target {
        Target::Hdd => disk(samples, how),
        Target::Empirical => empirical(samples, how),
        Target::Capped => capped(samples, how),
    }?;
    for (count, one, many) in [
        (
            samples.untimed,
            "read or write without a latency was",
            "reads and writes without a latency were",
        ),
        (
            samples.other,
            "flush, discard or other request was",
            "flushes, discards and others were",
        ),
        (
            samples.odd,
            "request that is no whole blocks of 512 bytes was",
            "requests that are no whole blocks of 512 bytes were",
        ),
        (
            samples.dropped,
            "timed read or write, as no more than a million are kept, was",
            "timed reads and writes, in stretches evenly over the trace, as no more than a million are kept, were",
        ),
    ] {
        let what = if count == 1 { one } else { many };
        if count > 0 {
            calibration.notes.push(format!("{count} {what} left out."));
        }
    }
    Ok(calibration)
}

/// First block behind all requests.
fn highest(samples: &Samples) -> u64 {
    samples.all.iter().map(Sample::end).max().unwrap_or(0)
}

/// The base drive: the named one, or the smallest disk of the catalog that tells its year and holds
/// what was addressed.
fn base(samples: &Samples, how: &How) -> Result<(String, Parameters), CalibrateError> {
    let disk = |name: &str, text: &str| {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            ConfigError::value(&format!("drive {name}"), error.message(), "a TOML document")
        })?;
        let kind = drive::kind_of(name, &table)?;
        if kind.name != "hdd" {
            let allowed = "a drive of kind hdd";
            return Err(ConfigError::value(
                "base",
                &format!("{name}, of kind {}", kind.name),
                allowed,
            ));
        }
        Parameters::read(&table)
    };
    if let Some((name, text)) = &how.base {
        let base = disk(name, text).map_err(CalibrateError::Base)?;
        return Ok((name.clone(), base));
    }
    let needed = how.capacity.unwrap_or(0).max(highest(samples));
    let disks = CATALOG.iter().filter_map(|entry| {
        let disk = disk(entry.name, entry.text).ok()?;
        // Those without a year stand for the disk of one study.
        disk.year?;
        Some((entry.name.to_owned(), disk))
    });
    let mut disks: Vec<(String, Parameters)> = disks.collect();
    disks.sort_by_key(|(_, disk)| geometry::capacity(disk));
    let fits = disks
        .iter()
        .position(|(_, disk)| geometry::capacity(disk) >= needed);
    Ok(disks.swap_remove(fits.unwrap_or(disks.len() - 1)))
}

fn disk(samples: &Samples, how: &How) -> Result<Calibration, CalibrateError> {
    let (name, base) = base(samples, how)?;
    let blocks = how.capacity.unwrap_or_else(|| geometry::capacity(&base));
    let highest = highest(samples);
    if highest > blocks {
        let drive = if how.capacity.is_some() {
            "--capacity".to_owned()
        } else {
            name
        };
        return Err(CalibrateError::Capacity {
            highest,
            drive,
            blocks,
        });
    }
    if how.capacity.is_some() {
        check_width(samples, blocks)?;
    }
    let found = hdd::fit(samples, &base, &name, blocks)?;
    let mut parameters = found.parameters;
    let blueprint = HddBlueprint::new(&parameters).map_err(CalibrateError::Drive)?;
    let fit = judge_disk(&blueprint, &samples.all)?;
    let mut finding = found.finding;
    if how.base.is_none() {
        finding.notes.insert(0, format!(
            "Base drive: {name}, the smallest disk of the catalog that holds what was addressed; --base names another."
        ));
    }
    round(&mut parameters);
    parameters.description = Some(format!("calibrated from {}", how.input));
    parameters.year = None;
    parameters.calibration = Some(text::table(&how.input, Some(&name), &finding, &fit));
    let drive = text::file(&parameters);
    Ok(made(samples, how, blocks, Some(name), finding, fit, drive))
}

/// Whether the requests lie far enough apart for a long move on a drive of so many blocks.
fn check_width(samples: &Samples, blocks: u64) -> Result<(), CalibrateError> {
    let lowest = samples.all.iter().map(|sample| sample.at).min();
    let width = highest(samples) - lowest.unwrap_or(0);
    let share = width as f64 / blocks as f64;
    if share >= rotation::FAR_SHARE {
        return Ok(());
    }
    Err(CalibrateError::Unfit(format!(
        "the requests lie within {width} blocks, {:.2} % of the {blocks} blocks of the drive: none of their moves is long ({} % or \
         more), and only long moves tell whether something turns. Either --capacity is too large, or it takes a trace \
         over more of the drive. A device that is no disk is described by --as empirical or --as capped",
        share * 100.0,
        rotation::FAR_SHARE * 100.0
    )))
}

/// Times to a nanosecond, rates to a part in ten thousand: more digits say nothing.
fn round(parameters: &mut Parameters) {
    let to = |value: f64, steps: f64| libm::round(value * steps) / steps;
    parameters.rpm = to(parameters.rpm, 1e4);
    parameters.head_switch_ms = to(parameters.head_switch_ms, 1e6);
    parameters.write_settle_ms = to(parameters.write_settle_ms, 1e6);
    for (_, ms) in &mut parameters.seek_ms {
        *ms = to(*ms, 1e6);
    }
}

fn empirical(samples: &Samples, how: &How) -> Result<Calibration, CalibrateError> {
    let blocks = plain_capacity(samples, how)?;
    let (mut parameters, finding) = tables::fit(&samples.all, blocks)?;
    let fit = judge_text(&text::file(&parameters), samples, Split::Chunks)?;
    parameters.description = Some(format!("times measured in {}", how.input));
    parameters.calibration = Some(text::table(&how.input, None, &finding, &fit));
    let drive = text::file(&parameters);
    Ok(made(samples, how, blocks, None, finding, fit, drive))
}

fn capped(samples: &Samples, how: &How) -> Result<Calibration, CalibrateError> {
    let blocks = plain_capacity(samples, how)?;
    let (mut parameters, finding) = limits::fit(samples, blocks)?;
    let fit = judge_text(&text::file(&parameters), samples, limits::SPLIT)?;
    parameters.description = Some(format!("limits seen in {}", how.input));
    parameters.calibration = Some(text::table(&how.input, None, &finding, &fit));
    let drive = text::file(&parameters);
    Ok(made(samples, how, blocks, None, finding, fit, drive))
}

/// Blocks of a drive without a base: as given, or up to the highest block addressed.
fn plain_capacity(samples: &Samples, how: &How) -> Result<u64, CalibrateError> {
    let highest = highest(samples);
    match how.capacity {
        Some(blocks) if blocks < highest => Err(CalibrateError::Capacity {
            highest,
            drive: "--capacity".to_owned(),
            blocks,
        }),
        Some(blocks) => Ok(blocks),
        None => Ok(highest),
    }
}

fn judge_text(text: &str, samples: &Samples, split: Split) -> Result<Fit, CalibrateError> {
    let (blueprint, _) = drive::read("calibrated", text, &[]).map_err(CalibrateError::Drive)?;
    let mut drive = blueprint.seeded(1, "calibrate");
    fit::judge(&mut *drive, &samples.all, split)
}

fn made(
    samples: &Samples,
    how: &How,
    capacity_blocks: u64,
    base: Option<String>,
    finding: Finding,
    fit: Fit,
    drive: String,
) -> Calibration {
    Calibration {
        version: program::VERSION.to_owned(),
        build: program::build().to_owned(),
        target: how.target,
        input: how.input.clone(),
        requests: samples.all.len() as u64,
        base,
        capacity_blocks,
        estimates: finding.estimates,
        notes: finding.notes,
        fit,
        drive,
        moves: finding.moves,
    }
}
