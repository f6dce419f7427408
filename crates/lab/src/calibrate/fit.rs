//! How good a fit is, on the half of the requests that nothing was fitted to.
//!
//! The figure of merit is the demerit of Ruemmler and Wilkes (1994): the root mean square of the horizontal distance between the
//! distribution measured and the model's, here also as a share of the measured mean. The distance between the two measured
//! halves themselves stands beside it: no model can be expected below that. A distribution says nothing of which request took
//! how long, so a shuffled trace could look well fitted. So a disk must also order the single requests as
//! measured: the correlation of latencies with the expected moves must be what the model's own latencies have.

use nearslot_core::contract::{Blueprint, Drive};
use nearslot_core::drive::hdd::HddBlueprint;
use nearslot_core::request::Op;
use nearslot_core::units::Pba;
use serde::Serialize;

use super::numbers::{correlation, mean, quantile, sorted};
use super::replay::latencies_ms;
use super::samples::{Access, Sample, alone, fitted};
use crate::demerit::demerit;

/// What a fit is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The model's distribution is within 5 % of the mean.
    Good,
    /// Within 15 %.
    Fair,
    /// Farther, or the single requests are not ordered as measured.
    Poor,
}

/// Demerit as share of the mean.
const GOOD_MAX: f64 = 0.05;
const FAIR_MAX: f64 = 0.15;
/// Least ratio of the measured correlation with the moves to the model's own.
const ORDER_MIN: f64 = 0.75;

/// The model beside the measured requests that it was not fitted to.
#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    /// Requests that judge.
    pub requests: u64,
    /// Mean latency measured.
    pub measured_mean_ms: f64,
    /// Of the model.
    pub model_mean_ms: f64,
    /// Root mean square distance between the two distributions.
    pub demerit_ms: f64,
    /// The same as share of the measured mean.
    pub demerit_share: f64,
    /// The distance between the measured halves.
    pub between_halves_ms: f64,
    /// Correlation of measured latencies with the expected moves, as share of that of the model's; of disks only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_share: Option<f64>,
    /// Share and latency measured and of the model, at some ranks.
    pub quantiles_ms: Vec<(f64, f64, f64)>,
    /// What that is worth.
    pub verdict: Verdict,
}

/// Moves that order is judged by: reads over a fiftieth of the addresses or more, of up to 128 KiB.
const FAR_PART: u64 = 50;
const LEN_MAX: u64 = 256;
/// Ranks that are shown.
const SHOWN: [f64; 7] = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999];

/// Judges any drive by the requests that it was not fitted to.
pub(super) fn judge(drive: &mut dyn Drive, samples: &[Sample]) -> Fit {
    judged(&latencies_ms(drive, samples), samples, |_| true)
}

/// Judges a disk, by the requests that found it idle.
pub fn judge_disk(blueprint: &HddBlueprint, samples: &[Sample]) -> Fit {
    let model = latencies_ms(&mut *Blueprint::drive(blueprint), samples);
    let mut fit = judged(&model, samples, |index| samples[index].outstanding == 1);
    let layout = blueprint.mechanics().layout();
    let far = layout.capacity().0 / FAR_PART;
    let told = |access: &Access| {
        let moves = access.step().unsigned_abs() >= far && access.sample.len <= LEN_MAX;
        moves && access.sample.op == Op::Read && !fitted(access.index)
    };
    let pairs = alone(samples).into_iter().filter(told).map(|access| {
        let [from, to] = [access.before.end() - 1, access.sample.at];
        let move_to = layout.spot(Pba(to)).head();
        let way = blueprint.mechanics().movement(
            layout.spot(Pba(from)).head(),
            move_to,
            access.sample.op,
        );
        let measured = access.sample.latency as f64 / 1e6;
        (way.as_ms(), measured, model[access.index])
    });
    let pairs: Vec<(f64, f64, f64)> = pairs.collect();
    let with = |pick: fn(&(f64, f64, f64)) -> f64| {
        correlation(
            &pairs
                .iter()
                .map(|row| (row.0, pick(row)))
                .collect::<Vec<_>>(),
        )
    };
    let (measured, own) = (with(|row| row.1), with(|row| row.2));
    let share = if own > 0.0 { measured / own } else { 0.0 };
    fit.order_share = Some(share);
    if share < ORDER_MIN {
        fit.verdict = Verdict::Poor;
    }
    fit
}

/// How far the distributions of two lists are apart; 0 where there is nothing to compare.
fn apart(one: &[f64], other: &[f64]) -> f64 {
    let each = |list: &[f64]| sorted(list.iter().copied()).into_iter().map(|ms| (ms, 1));
    demerit(each(one), each(other)).unwrap_or(0.0)
}

fn judged(model: &[f64], samples: &[Sample], counts: impl Fn(usize) -> bool) -> Fit {
    let ms = |index: usize| samples[index].latency as f64 / 1e6;
    let mine = |side: bool| (0..samples.len()).filter(move |index| fitted(*index) == side);
    let measured: Vec<f64> = mine(false).filter(|i| counts(*i)).map(ms).collect();
    let own: Vec<f64> = mine(false)
        .filter(|i| counts(*i))
        .map(|i| model[i])
        .collect();
    let other: Vec<f64> = mine(true).filter(|i| counts(*i)).map(ms).collect();
    let demerit_ms = apart(&measured, &own);
    let measured_mean_ms = mean(&measured).unwrap_or(0.0);
    let demerit_share = demerit_ms / measured_mean_ms;
    let (lists, shown) = (
        [&measured, &own].map(|list| sorted(list.iter().copied())),
        SHOWN,
    );
    Fit {
        requests: measured.len() as u64,
        measured_mean_ms,
        model_mean_ms: mean(&own).unwrap_or(0.0),
        demerit_ms,
        demerit_share,
        between_halves_ms: apart(&measured, &other),
        order_share: None,
        // A rank with fewer than ten requests beyond it is no fact.
        quantiles_ms: shown
            .into_iter()
            .filter(|share| (1.0 - share) * measured.len() as f64 >= 10.0)
            .map(|share| {
                (
                    share,
                    quantile(&lists[0], share),
                    quantile(&lists[1], share),
                )
            })
            .collect(),
        verdict: match demerit_share {
            share if share <= GOOD_MAX => Verdict::Good,
            share if share <= FAIR_MAX => Verdict::Fair,
            _ => Verdict::Poor,
        },
    }
}
