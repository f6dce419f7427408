//! A capped volume from measured times: its latency where nothing waits, and the most that it did in a second.
//!
//! A trace shows a limit only if it was reached. So the rates are the highest seen in any one second, and
//! a limit is set only if latencies rise in such seconds. Credits cannot be told from
//! a trace that does not both spend and earn them: none are assumed, and that is said.

use std::collections::BTreeMap;

use nearslot_core::drive::capped::{CappedParameters, LimitParameters};

use super::numbers::{median, quantile, sorted};
use super::samples::{Sample, fitted};
use super::{CalibrateError, Estimate, Finding};

/// What is counted together.
const SECOND_NS: u64 = 1_000_000_000;
/// Requests that found the volume idle and are needed.
const ALONE_MIN: usize = 50;
/// A command of a cloud volume counts once up to this length.
const IO_KIB_MAX: u64 = 256;
/// A rate that no volume reaches.
const NO_LIMIT: f64 = 1e8;
/// Latencies in busy seconds over those when alone, from which on a limit counts as reached.
const RISE_MIN: f64 = 2.0;

/// Fits the limits to the samples' fitted half.
pub(super) fn fit(
    samples: &[Sample],
    capacity: u64,
) -> Result<(CappedParameters, Finding), CalibrateError> {
    let own: Vec<Sample> = samples
        .iter()
        .enumerate()
        .filter(|(index, _)| fitted(*index))
        .map(|(_, sample)| *sample)
        .collect();
    let mut finding = Finding::default();
    let latency_ms = latency_ms(&own, &mut finding)?;
    let mut seconds: BTreeMap<u64, Vec<Sample>> = BTreeMap::new();
    for sample in samples {
        let second = sample.completed() / SECOND_NS;
        seconds.entry(second).or_default().push(*sample);
    }
    let mut limit = |name: &str, unit: &'static str, of: fn(&Sample) -> f64| {
        let (estimate, rate) = limit(name, unit, &seconds, latency_ms, of);
        finding.estimates.push(estimate);
        LimitParameters {
            baseline: rate,
            burst: None,
            credits: 0.0,
        }
    };
    let iops = limit("iops.baseline", "per second", |sample| {
        (sample.len as f64 * 0.5 / IO_KIB_MAX as f64).ceil()
    });
    let mib = limit("mib.baseline", "MiB/s", |sample| {
        sample.len as f64 / 2_048.0
    });
    let note = "Credits for bursts cannot be told and are left out: the baseline is all there is.";
    finding.notes.push(note.to_owned());
    let parameters = CappedParameters {
        kind: "capped".to_owned(),
        description: None,
        capacity_blocks: capacity,
        latency_ms,
        io_kib_max: IO_KIB_MAX,
        iops,
        mib,
        calibration: None,
    };
    Ok((parameters, finding))
}

/// The median of requests that found the volume idle.
fn latency_ms(own: &[Sample], finding: &mut Finding) -> Result<f64, CalibrateError> {
    let alone = own.iter().filter(|sample| sample.outstanding == 1);
    let alone: Vec<f64> = alone.map(|sample| sample.latency as f64 / 1e6).collect();
    if alone.len() < ALONE_MIN {
        return Err(CalibrateError::TooFew {
            found: alone.len(),
            what: "requests that found the volume idle, which its latency is taken from".to_owned(),
            needed: ALONE_MIN,
        });
    }
    let list = sorted(alone);
    let middle = quantile(&list, 0.5);
    let density = (quantile(&list, 0.6) - quantile(&list, 0.4)) / 0.2;
    finding.estimates.push(Estimate {
        name: "latency_ms".to_owned(),
        value: Some(middle),
        unit: "ms",
        plus_minus: Some(density * 0.5 / libm::sqrt(list.len() as f64)),
        samples: list.len() as u64,
        from: "measured".to_owned(),
        how: "median of requests that found the volume idle".to_owned(),
    });
    Ok(middle)
}

/// The highest rate of a second, if latencies rose in it, else none that anything reaches.
fn limit(
    name: &str,
    unit: &'static str,
    seconds: &BTreeMap<u64, Vec<Sample>>,
    latency_ms: f64,
    of: fn(&Sample) -> f64,
) -> (Estimate, f64) {
    let rates = seconds.values().map(|second| {
        let rate: f64 = second.iter().map(of).sum();
        (
            rate,
            median(second.iter().map(|sample| sample.latency as f64 / 1e6)),
        )
    });
    let highest = rates.max_by(|a, b| a.0.total_cmp(&b.0));
    let (rate, ms) = highest.expect("there are samples");
    let rise = ms.unwrap_or(0.0) / latency_ms;
    let reached = rise >= RISE_MIN;
    let estimate = Estimate {
        name: name.to_owned(),
        value: reached.then_some(rate),
        unit,
        plus_minus: None,
        samples: seconds.values().map(|second| second.len() as u64).sum(),
        from: if reached { "measured" } else { "no limit" }.to_owned(),
        how: if reached {
            format!("most in one second, when latencies were {rise:.1} times those alone")
        } else {
            format!(
                "not reached: {rate:.1} {unit} at most, without latencies rising. No limit is set; put in that of the volume"
            )
        },
    };
    (estimate, if reached { rate.max(1.0) } else { NO_LIMIT })
}
