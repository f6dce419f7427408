//! `measured.csv`: service times of a real drive against those of the complete model.
//!
//! The figure of merit is the demerit of Ruemmler and Wilkes ("An introduction to disk drive
//! modeling", IEEE Computer 1994): the root mean square of the horizontal distance between the two
//! distributions. It says nothing of single requests, and two equal faults in both distributions
//! cancel. So the means, the requests one by one, and the reference's times, which say what the
//! published model gives, are held against each other too.
//!
//! Some drives leave the rate of the bus open, which then was that of the measured host. It is
//! fitted to every second row, and judged on the others.

use std::sync::Arc;

use nearslot_core::drive::hdd::Mechanics;
use serde::Serialize;

use super::bus;
use super::folder::Folder;
use super::measured_rows::{Rows, distance_ms};
use super::table::Table;
use super::{Check, Checks, Finding, ValidateError};
use crate::measure::correlation::correlation;

/// How far the complete model is from the real drive, over the rows that are judged.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Rows that are judged: all, or every second one if something was fitted to the others.
    pub judged: u64,
    /// Mean service time on the real drive, in milliseconds.
    pub measured_mean_ms: f64,
    /// Of the reference's complete model.
    pub reference_mean_ms: f64,
    /// Of ours.
    pub mean_ms: f64,
    /// Distance of the reference's distribution from the measured one, in milliseconds.
    pub reference_rms_ms: f64,
    /// Distance of ours.
    pub rms_ms: f64,
    /// Distance of our distribution from the reference's.
    pub to_reference_rms_ms: f64,
    /// Correlation of our times with the measured ones, request by request.
    pub correlation: f64,
    /// Requests that take as long as with the reference, to 10 us. Of a fitted bus: with the one
    /// that the reference's own times tell, as that of the measured host is another.
    pub as_reference: u64,
    /// Reads that the drive says its buffer had or had not, where it tells them apart.
    pub outcomes: u64,
    /// Those of them that take as long on our drive as such reads do.
    pub outcomes_equal: u64,
    /// Time of a block from the drive over the bus, if it was fitted to the measured times.
    pub fitted_read_ms_per_block: Option<f64>,
    /// The same to the drive.
    pub fitted_write_ms_per_block: Option<f64>,
}

/// How few rows decide nothing about a distribution.
pub const MEASURED_ROWS_MIN: u64 = 1_000;
/// How far from a real drive the complete model may be, in distances of the reference's complete
/// model.
pub const RMS_RATIO_MAX: f64 = 1.05;
/// The same in parts of the measured mean.
pub const RMS_MEAN_MAX: f64 = 0.05;
/// How far the means may be apart, relatively: ours, the reference's, and the measured one.
pub const MEASURED_MEAN_MAX: f64 = 0.02;
/// The least correlation with what was measured. The real drive's platter turned freely, so many
/// single requests differ by part of a turn on the best of models.
pub const CORRELATION_MIN: f64 = 0.75;
/// How many requests must take as long as with the reference.
pub const AS_REFERENCE_MIN: f64 = 0.99;
/// How many of the reads that the drive calls hits or misses must take as long as such reads do.
/// Some misses are short: 0.91 on the HP C2247A.
pub const OUTCOMES_MIN: f64 = 0.85;

pub(super) fn compare(folder: &Folder, checks: &mut Checks) -> Result<(), ValidateError> {
    let file = "measured.csv";
    let Some(table) = Table::read(&folder.path, file)? else {
        checks.absent(file);
        return Ok(());
    };
    let Some(electronics) = &folder.electronics else {
        checks.absent("rows `full:` of drive.csv, without which measured.csv cannot be compared");
        return Ok(());
    };
    let mechanics = Arc::new(Mechanics::new(&folder.real).map_err(|error| folder.config(error))?);
    electronics.check().map_err(|error| folder.config(error))?;
    table.check_rows("service times are compared row by row")?;
    let rows = Rows::read(&table, mechanics.layout().capacity())?;
    let fitted = electronics.bus_is_unknown();
    let found = match fitted {
        false => {
            let ours = rows.replay(&mechanics, electronics);
            judge(&rows, &ours, &ours, |_| true)
        }
        true => {
            let to_real = bus::fit(&rows, &mechanics, electronics, bus::Target::Real);
            let to_reference = bus::fit(&rows, &mechanics, electronics, bus::Target::Reference);
            let ours = rows.replay(&mechanics, &to_real);
            let theirs = rows.replay(&mechanics, &to_reference);
            let mut found = judge(&rows, &ours, &theirs, |row| !bus::fits_on(row));
            found.fitted_read_ms_per_block = Some(to_real.bus.read_ms_per_block);
            found.fitted_write_ms_per_block = Some(to_real.bus.write_ms_per_block);
            found
        }
    };
    let mut wrong = found.wrong();
    let count = rows.requests.len() as u64;
    if count < MEASURED_ROWS_MIN {
        let few = format!("{count} rows; a distribution needs {MEASURED_ROWS_MIN}");
        wrong.push(few);
    }
    checks.add(Check {
        file: file.to_owned(),
        what: match fitted {
            false => "service times".to_owned(),
            true => "service times of the rows that the bus was not fitted on".to_owned(),
        },
        compared: count,
        limit: format!(
            "mean {} %; rms {RMS_RATIO_MAX} of the reference's and {} % of the mean; correlation {CORRELATION_MIN}; {} % as reference; {} % of hits",
            MEASURED_MEAN_MAX * 100.0,
            RMS_MEAN_MAX * 100.0,
            AS_REFERENCE_MIN * 100.0,
            OUTCOMES_MIN * 100.0
        ),
        wrong,
        pass: false,
        finding: Finding::Measured(found),
    });
    Ok(())
}

/// Compares the rows that are judged: `ours` with the drive, `theirs` with the reference.
fn judge(rows: &Rows, ours: &[u64], theirs: &[u64], judged: impl Fn(usize) -> bool) -> Measured {
    let pick = |times: &[u64]| -> Vec<u64> {
        let chosen = times.iter().enumerate().filter(|(row, _)| judged(*row));
        chosen.map(|(_, time)| *time).collect()
    };
    let (real, reference) = (pick(&rows.real), pick(&rows.reference));
    let (mine, as_theirs) = (pick(ours), pick(theirs));
    let told = rows.hits.iter().zip(ours).enumerate();
    let told = told.filter(|(row, _)| judged(*row));
    let told: Vec<(bool, u64)> = told
        .filter_map(|(_, (hit, time))| hit.map(|hit| (hit, *time)))
        .collect();
    let same = as_theirs.iter().zip(&reference);
    let both = mine.iter().zip(&real);
    let pairs: Vec<(f64, f64)> = both.map(|(a, b)| (*a as f64, *b as f64)).collect();
    Measured {
        judged: real.len() as u64,
        measured_mean_ms: mean_ms(&real),
        reference_mean_ms: mean_ms(&reference),
        mean_ms: mean_ms(&mine),
        reference_rms_ms: distance_ms(&reference, &real),
        rms_ms: distance_ms(&mine, &real),
        to_reference_rms_ms: distance_ms(&mine, &reference),
        correlation: correlation(&pairs),
        as_reference: same.filter(|(a, b)| a.abs_diff(**b) <= SAME_NS).count() as u64,
        outcomes: told.len() as u64,
        outcomes_equal: outcomes_equal(&told),
        fitted_read_ms_per_block: None,
        fitted_write_ms_per_block: None,
    }
}

/// Of reads that the drive calls hits or misses, with our times: those that take on our drive as
/// long as such reads do, less or more than midway between the means of both.
fn outcomes_equal(told: &[(bool, u64)]) -> u64 {
    let mean = |hits: bool| {
        let times = told.iter().filter(|(hit, _)| *hit == hits);
        let times: Vec<u64> = times.map(|(_, time)| *time).collect();
        mean_ms(&times)
    };
    let midway = f64::midpoint(mean(true), mean(false));
    let short = |time: u64| time as f64 / 1e6 < midway;
    told.iter()
        .filter(|(hit, time)| *hit == short(*time))
        .count() as u64
}

impl Measured {
    /// What is beyond its limit.
    fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (whose, mean) in [
            ("our", self.mean_ms),
            ("the reference's", self.reference_mean_ms),
        ] {
            let apart = mean / self.measured_mean_ms - 1.0;
            if beyond(apart.abs(), MEASURED_MEAN_MAX) {
                wrong.push(format!(
                    "{whose} mean is {:+.2} % from the one of `measured_ms`",
                    apart * 100.0
                ));
            }
        }
        let most =
            (RMS_RATIO_MAX * self.reference_rms_ms).min(RMS_MEAN_MAX * self.measured_mean_ms);
        if beyond(self.rms_ms, most) {
            wrong.push(format!("the distribution is {:.4} ms from that of `measured_ms`, where {most:.4} is allowed", self.rms_ms));
        }
        if beyond(CORRELATION_MIN, self.correlation) {
            wrong.push(format!(
                "request by request, the correlation with `measured_ms` is {:.3}",
                self.correlation
            ));
        }
        let share = |part: u64, of: u64| part as f64 / of as f64;
        let same = share(self.as_reference, self.judged);
        if beyond(AS_REFERENCE_MIN, same) {
            wrong.push(format!(
                "{:.2} % of the requests take as long as `reference_ms` says, to 10 us",
                same * 100.0
            ));
        }
        let told = share(self.outcomes_equal, self.outcomes);
        if self.outcomes > 0 && told < OUTCOMES_MIN {
            wrong.push(format!(
                "{:.1} % of the reads take as long as the hits or misses that `drive_cache_outcome` calls them",
                told * 100.0
            ));
        }
        wrong
    }
}

/// Whether a value is above its limit; what is not a number is.
pub(super) fn beyond(value: f64, limit: f64) -> bool {
    value.is_nan() || limit.is_nan() || value > limit
}

/// Two times that differ by less are the same, but for the reference's rounding.
const SAME_NS: u64 = 10_000;

fn mean_ms(ns: &[u64]) -> f64 {
    let sum: u128 = ns.iter().map(|ns| u128::from(*ns)).sum();
    sum as f64 / ns.len() as f64 / 1e6
}
