//! How good a fit is, on the half of the requests that nothing was fitted to.
//!
//! The figure of merit is the demerit of Ruemmler and Wilkes (1994): the root mean square of the horizontal distance between the
//! distribution measured and the model's, here also as a share of the measured mean. The distance between the two measured
//! halves themselves stands beside it: no model can be expected below that. A distribution says nothing of which request took
//! how long, so a shuffled trace could look well fitted. So a disk must also order the single requests as measured ([`order`]).

use nearslot_core::contract::{Blueprint, Drive};
use nearslot_core::drive::hdd::HddBlueprint;
use serde::Serialize;

use super::CalibrateError;
use super::numbers::{mean, quantile, sorted};
use super::order::{self, Followed};
use super::replay::latencies_ms;
use super::samples::{Sample, Split};
use crate::demerit::demerit;

pub use super::order::Order;

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
    /// The distributions are near, and whether single requests are ordered as measured cannot be told.
    Unjudged,
}

/// Demerit as share of the mean.
const GOOD_MAX: f64 = 0.05;
const FAIR_MAX: f64 = 0.15;
/// Requests that a distribution is judged by, at least: of so many of a disk that is modelled perfectly, the demerit is 7 % of
/// the mean by chance.
const JUDGED_MIN: usize = 50;

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
    /// How closely latencies follow the moves of the arm; of disks only, and only if it can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Share and latency measured and of the model, at some ranks.
    pub quantiles_ms: Vec<(f64, f64, f64)>,
    /// What that is worth.
    pub verdict: Verdict,
    /// Why it cannot be judged, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<String>,
}

/// Ranks that are shown.
const SHOWN: [f64; 7] = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999];

/// Judges any drive by the requests that it was not fitted to.
pub(super) fn judge(
    drive: &mut dyn Drive,
    samples: &[Sample],
    split: Split,
) -> Result<Fit, CalibrateError> {
    judged(&latencies_ms(drive, samples), samples, split, |_| true)
}

/// Judges a disk, by the requests that found it idle.
///
/// # Errors
/// Too few of them are in the half that judges.
pub fn judge_disk(blueprint: &HddBlueprint, samples: &[Sample]) -> Result<Fit, CalibrateError> {
    let model = latencies_ms(&mut *Blueprint::drive(blueprint), samples);
    let idle = |index: usize| samples[index].outstanding == 1;
    let mut fit = judged(&model, samples, Split::Chunks, idle)?;
    match order::find(blueprint, samples, &model) {
        Followed::Told(order) => {
            if order.share < order::SHARE_MIN {
                fit.verdict = Verdict::Poor;
            }
            fit.order = Some(order);
        }
        // Distributions that are far apart are reason enough.
        Followed::Open(_) if fit.verdict == Verdict::Poor => {}
        Followed::Open(why) => {
            fit.verdict = Verdict::Unjudged;
            fit.unjudged = Some(why);
        }
    }
    Ok(fit)
}

/// How far the distributions of two lists are apart; none if one is empty.
fn apart(one: &[f64], other: &[f64]) -> Option<f64> {
    let each = |list: &[f64]| sorted(list.iter().copied()).into_iter().map(|ms| (ms, 1));
    demerit(each(one), each(other))
}

fn judged(
    model: &[f64],
    samples: &[Sample],
    split: Split,
    counts: impl Fn(usize) -> bool,
) -> Result<Fit, CalibrateError> {
    let side = |fitted: bool| -> Vec<usize> {
        let all = samples.iter().enumerate();
        let own = all.filter(|(index, sample)| split.fitted(*index, sample) == fitted);
        own.map(|(index, _)| index)
            .filter(|index| counts(*index))
            .collect()
    };
    let ms = |index: &usize| samples[*index].latency as f64 / 1e6;
    let judging = side(false);
    if judging.len() < JUDGED_MIN {
        return Err(CalibrateError::TooFew {
            found: judging.len(),
            what: "requests are in the half that judges what was found".to_owned(),
            needed: JUDGED_MIN,
        });
    }
    let measured: Vec<f64> = judging.iter().map(ms).collect();
    let own: Vec<f64> = judging.iter().map(|index| model[*index]).collect();
    let other: Vec<f64> = side(true).iter().map(ms).collect();
    let mean_of = |list: &[f64]| mean(list).expect("the list is not empty");
    let (measured_mean_ms, model_mean_ms) = (mean_of(&measured), mean_of(&own));
    if measured_mean_ms <= 0.0 {
        let why = "all latencies in the half that judges are 0: a drive cannot be told from them";
        return Err(CalibrateError::Unfit(why.to_owned()));
    }
    let demerit_ms = apart(&measured, &own).expect("neither is empty");
    let demerit_share = demerit_ms / measured_mean_ms;
    Ok(Fit {
        requests: measured.len() as u64,
        measured_mean_ms,
        model_mean_ms,
        demerit_ms,
        demerit_share,
        between_halves_ms: apart(&measured, &other).expect("parameters were fitted to the other"),
        order: None,
        quantiles_ms: quantiles(&sorted(measured), &sorted(own)),
        verdict: match demerit_share {
            share if share <= GOOD_MAX => Verdict::Good,
            share if share <= FAIR_MAX => Verdict::Fair,
            _ => Verdict::Poor,
        },
        unjudged: None,
    })
}

/// The ranks that have ten requests beyond them: others are no facts.
fn quantiles(measured: &[f64], model: &[f64]) -> Vec<(f64, f64, f64)> {
    let told = |share: &f64| (1.0 - share) * measured.len() as f64 >= 10.0;
    let at = |share: f64| (share, quantile(measured, share), quantile(model, share));
    SHOWN.into_iter().filter(told).map(at).collect()
}
