//! A capped volume from measured times: its latency where nothing waits, and the rates at which it
//! made requests wait.
//!
//! A trace shows a limit only if it was reached: then latencies rise, and the rate stays the same
//! whatever is asked for. So of all seconds those count in which latencies rose (*busy* ones), and
//! those of them in which a rate is near the highest seen. Where sizes vary, one of the two rates
//! stays the same and the other one does not: a limit binds if there are busy seconds that are near
//! the highest of its rate and not near that of the other. Where both go together all the time,
//! nobody can tell which one is the limit: then it is set for the rate that volumes of that size of
//! request are sold with, and the output says so. Credits cannot be told from a trace that does not
//! both spend and earn them: none are assumed, and that is said.
//!
//! The rate of a second needs all of its requests, so whole seconds of completions are fitted to or
//! judge.

use std::collections::BTreeMap;

use nearslot_core::drive::capped::{CappedParameters, LimitParameters};

use super::numbers::{median, quantile, sorted};
use super::samples::{SECOND_NS, Sample, Samples, Split};
use super::{CalibrateError, Finding, idle};
use crate::number::counted;

/// How requests are divided among those that are fitted to and those that judge.
pub(super) const SPLIT: Split = Split::Seconds;
/// Requests that found the volume idle and are needed.
const ALONE_MIN: usize = 50;
/// A command of a cloud volume counts once up to this length.
const IO_KIB_MAX: u64 = 256;
/// A rate that no volume reaches.
const NO_LIMIT: f64 = 1e8;
/// Latencies in busy seconds over those when alone, from which on a limit counts as reached.
const RISE_MIN: f64 = 2.0;
/// A rate that is this share of the highest is near it.
const NEAR_SHARE: f64 = 0.95;
/// Mean size from which on a rate that may be of either kind is taken for one of bytes: limits that
/// are sold together meet there (Amazon EBS gp3: 3,000 IOPS and 125 MiB/s; Azure P30: 5,000 IOPS
/// and 200 MB/s).
const EITHER_KIB: f64 = 40.0;

/// Fits the limits to the samples' fitted half.
pub(super) fn fit(
    samples: &Samples,
    capacity: u64,
) -> Result<(CappedParameters, Finding), CalibrateError> {
    let own = samples.all.iter().enumerate();
    let own = own.filter(|(index, sample)| SPLIT.fitted(*index, sample));
    let own: Vec<Sample> = own.map(|(_, sample)| *sample).collect();
    let mut finding = Finding::default();
    let latency_ms = latency_ms(&own, samples, &mut finding)?;
    let seconds = seconds(&own);
    let found = Binding::find(&seconds, latency_ms);
    let iops = found.limit(Rate::Iops, &mut finding);
    let mib = found.limit(Rate::Mib, &mut finding);
    let note = "Credits for bursts cannot be told and are left out: the baseline is all there is.";
    finding.notes.push(note.to_owned());
    let parameters = CappedParameters {
        kind: "capped".to_owned(),
        description: None,
        capacity_blocks: capacity,
        latency_ms,
        // A trace of times does not tell it.
        cache: None,
        io_kib_max: IO_KIB_MAX,
        iops,
        mib,
        calibration: None,
    };
    Ok((parameters, finding))
}

/// The median of requests that found the volume idle.
fn latency_ms(
    own: &[Sample],
    samples: &Samples,
    finding: &mut Finding,
) -> Result<f64, CalibrateError> {
    let alone = own.iter().filter(|sample| sample.outstanding == 1);
    let alone: Vec<f64> = alone.map(|sample| sample.latency as f64 / 1e6).collect();
    let what = "in the half that is fitted to, to tell the latency of a volume";
    idle::enough(alone.len(), ALONE_MIN, what, samples)?;
    let list = sorted(alone);
    let middle = quantile(&list, 0.5);
    let density = (quantile(&list, 0.6) - quantile(&list, 0.4)) / 0.2;
    finding.measured(
        "latency_ms",
        middle,
        "ms",
        Some(density * 0.5 / libm::sqrt(list.len() as f64)),
        list.len(),
        "median of requests that found the volume idle",
    );
    Ok(middle)
}

/// What was done in a second.
#[derive(Clone, Copy, Debug)]
struct Second {
    /// I/Os, as a volume counts them, and MiB.
    rates: [f64; 2],
    /// Median latency.
    ms: f64,
    requests: usize,
}

fn seconds(own: &[Sample]) -> Vec<Second> {
    let mut by_second: BTreeMap<u64, Vec<Sample>> = BTreeMap::new();
    for sample in own {
        let second = by_second.entry(sample.completed() / SECOND_NS);
        second.or_default().push(*sample);
    }
    let second = |samples: &Vec<Sample>| {
        let sum = |of: fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>();
        let latencies = samples.iter().map(|sample| sample.latency as f64 / 1e6);
        Second {
            rates: [
                sum(|sample| (sample.len as f64 * 0.5 / IO_KIB_MAX as f64).ceil()),
                sum(|sample| sample.len as f64 / 2_048.0),
            ],
            ms: median(latencies).expect("a second is there if it has a sample"),
            requests: samples.len(),
        }
    };
    by_second.values().map(second).collect()
}

/// What may be limited, by its place among the rates of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rate {
    Iops,
    Mib,
}

impl Rate {
    const fn key(self) -> &'static str {
        match self {
            Rate::Iops => "iops.baseline",
            Rate::Mib => "mib.baseline",
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Rate::Iops => "I/Os a second",
            Rate::Mib => "MiB/s",
        }
    }
}

/// Which limits bind, and in which seconds.
#[derive(Debug)]
struct Binding {
    /// Highest rates of any second.
    highest: [f64; 2],
    busy: Vec<Second>,
    /// Which limit binds, by rate.
    binds: [bool; 2],
    /// The mean size in KiB, if the two rates go together.
    either_kib: Option<f64>,
}

impl Binding {
    fn find(seconds: &[Second], latency_ms: f64) -> Binding {
        let top = |seconds: &[Second]| {
            [0, 1].map(|rate| {
                let rates = seconds.iter().map(|second| second.rates[rate]);
                rates.fold(0.0, f64::max)
            })
        };
        let busy = seconds
            .iter()
            .filter(|second| second.ms >= RISE_MIN * latency_ms);
        let busy: Vec<Second> = busy.copied().collect();
        let tops = top(&busy);
        let near =
            |second: &Second| [0, 1].map(|rate| second.rates[rate] >= NEAR_SHARE * tops[rate]);
        let with = |which: [bool; 2]| busy.iter().filter(|second| near(second) == which).count();
        let (only_iops, only_mib, both) =
            (with([true, false]), with([false, true]), with([true, true]));
        let mut binds = [only_iops > 0, only_mib > 0];
        let mut either_kib = None;
        if binds == [false, false] && both > 0 {
            let requests: usize = busy.iter().map(|second| second.requests).sum();
            let mib: f64 = busy.iter().map(|second| second.rates[1]).sum();
            let kib = mib * 1_024.0 / requests as f64;
            either_kib = Some(kib);
            binds[usize::from(kib >= EITHER_KIB)] = true;
        }
        Binding {
            highest: top(seconds),
            busy,
            binds,
            either_kib,
        }
    }

    /// The limit of a rate, and what is to be said of it.
    fn limit(&self, rate: Rate, finding: &mut Finding) -> LimitParameters {
        let index = rate as usize;
        let unit = rate.unit();
        let baseline = if self.binds[index] {
            self.measured(rate, finding)
        } else {
            let highest = self.highest[index];
            let why = match (self.busy.is_empty(), self.either_kib) {
                (true, _) => format!(
                    "not reached: {highest:.1} {unit} at most, without latencies rising. No limit is set; put in that of the volume"
                ),
                (false, Some(_)) => format!(
                    "taken not to bind: up to {highest:.1} {unit}, which went together with the limit that is set. If this one is your volume's, set it instead"
                ),
                (false, None) => format!(
                    "does not bind: the other limit does in all seconds with up to {highest:.1} {unit}. No limit is set; put in that of the volume"
                ),
            };
            finding.take(rate.key(), "no limit", &why);
            NO_LIMIT
        };
        LimitParameters {
            baseline,
            burst: None,
            credits: 0.0,
        }
    }

    /// The rate that stays the same: the middle of the busy seconds that are near the highest.
    fn measured(&self, rate: Rate, finding: &mut Finding) -> f64 {
        let index = rate as usize;
        let rates = sorted(self.busy.iter().map(|second| second.rates[index]));
        let top = rates.last().copied().unwrap_or(0.0);
        let near = &rates[rates.partition_point(|rate| *rate < NEAR_SHARE * top)..];
        let middle = quantile(near, 0.5);
        // A second may begin or end within a request.
        let requests: usize = self.busy.iter().map(|second| second.requests).sum();
        let one = self
            .busy
            .iter()
            .map(|second| second.rates[index])
            .sum::<f64>()
            / requests as f64;
        let error = ((top - near[0]) / 2.0).max(one) / libm::sqrt(near.len() as f64);
        let (busy, count) = (self.busy.len(), near.len());
        let mut how = format!(
            "binds: the rate in {count} of {} in which latencies rose to twice those alone or more",
            counted(busy as u64, "second")
        );
        if let Some(kib) = self.either_kib {
            how += &format!(
                ". Requests have {kib:.0} KiB throughout, so it may be a limit of the other kind; volumes are sold with limits that meet at \
                 {EITHER_KIB:.0} KiB"
            );
        }
        finding.measured(rate.key(), middle, rate.unit(), Some(error), requests, &how);
        middle.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds of so many I/Os and MiB, all but the first as busy as can be.
    fn bound(rates: &[[f64; 2]]) -> [bool; 2] {
        let second = |(index, rates): (usize, &[f64; 2])| Second {
            rates: *rates,
            ms: if index == 0 { 1.0 } else { 9.0 },
            requests: rates[0] as usize,
        };
        let seconds: Vec<Second> = rates.iter().enumerate().map(second).collect();
        Binding::find(&seconds, 1.0).binds
    }

    #[test]
    fn the_rate_that_stays_the_same_is_the_limit() {
        let idle = [5_000.0, 500.0];
        assert_eq!(
            bound(&[idle, [1_000.0, 8.0], [1_001.0, 50.0], [999.0, 20.0]]),
            [true, false]
        );
        assert_eq!(
            bound(&[idle, [100.0, 128.0], [700.0, 128.5], [300.0, 127.9]]),
            [false, true]
        );
        assert_eq!(
            bound(&[idle, [1_000.0, 8.0], [100.0, 128.0], [300.0, 127.9]]),
            [true, true]
        );
        assert_eq!(bound(&[idle]), [false, false]);
    }

    #[test]
    fn rates_that_go_together_are_set_by_the_size_of_requests() {
        let idle = [10.0, 1.0];
        // 8 KiB and 256 KiB.
        assert_eq!(
            bound(&[idle, [1_024.0, 8.0], [1_024.0, 8.0]]),
            [true, false]
        );
        assert_eq!(
            bound(&[idle, [512.0, 128.0], [512.0, 128.0]]),
            [false, true]
        );
    }
}
