//! How good a fit is, on the half of the requests that nothing was fitted to.
//!
//! The figure of merit is the demerit of Ruemmler and Wilkes (1994): the root mean square of the
//! horizontal distance between the distribution measured and the model's, here also as a share of
//! the measured mean. The distance between the two measured halves themselves stands beside it.
//! Some of it is due to their requests, and the model knows these. What the model does not follow
//! of it tells how uncertain each half is: so the larger one of that and the model's distance
//! decides ([`verdict`]). A distribution says nothing of which request took how long, so a shuffled
//! trace could look well fitted. So a disk must also order the single requests as measured
//! ([`order`]).

use nearslot_core::contract::{Blueprint, Drive};
use nearslot_core::drive::hdd::HddBlueprint;
use serde::Serialize;

use super::CalibrateError;
use super::numbers::{mean, quantile, sorted};
use super::order::{self, Followed};
use super::replay::latencies_ms;
use super::samples::{Sample, Split};
use crate::measure::demerit::demerit;

pub use super::order::Order;

/// What a fit is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The model's distribution is within 5 % of the mean, and that half is no less certain.
    Good,
    /// Within 15 %.
    Fair,
    /// The model's is farther, or the single requests are not ordered as measured.
    Poor,
    /// The half that judges is itself less certain than that, and than the model is far from it; or
    /// the distributions are near, and whether single requests are ordered as measured cannot be
    /// told.
    Unjudged,
}

/// Demerit as share of the mean.
const GOOD_MAX: f64 = 0.05;
const FAIR_MAX: f64 = 0.15;
/// Requests that a distribution is judged by, at least: of so many of a disk that is modelled
/// perfectly, the demerit is 7 % of the mean by chance.
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
    /// How far either half is from what both have in common, besides what the model follows.
    pub half_error_ms: f64,
    /// How closely latencies follow the moves of the arm; of disks only, and only if it can be
    /// told.
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
                fit.unjudged = None;
            }
            fit.order = Some(order);
        }
        // Distributions that are far apart are reason enough, be it the model's or those of the
        // measured halves.
        Followed::Open(_) if matches!(fit.verdict, Verdict::Poor | Verdict::Unjudged) => {}
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
    let half = |fitted: bool| Half::of(&side(fitted), samples, model);
    let (judging, other) = (half(false), half(true));
    if judging.measured.len() < JUDGED_MIN {
        return Err(CalibrateError::TooFew {
            found: judging.measured.len(),
            what: "requests in the half that judges what was found".to_owned(),
            needed: JUDGED_MIN,
        });
    }
    let mean_of = |list: &[f64]| mean(list).expect("the list is not empty");
    let (measured_mean_ms, model_mean_ms) = (mean_of(&judging.measured), mean_of(&judging.model));
    if measured_mean_ms <= 0.0 {
        let why = "all latencies in the half that judges are 0: a drive cannot be told from them";
        return Err(CalibrateError::Unfit(why.to_owned()));
    }
    let demerit_ms = judging.demerit_ms().expect("it is not empty");
    let parts = apart(&judging.measured, &other.measured).zip(other.demerit_ms());
    let (between_halves_ms, other_ms) = parts.expect("parameters were fitted to the other half");
    let half_error_ms = judging.half_error_ms(&other);
    let share = |ms: f64| ms / measured_mean_ms;
    let (verdict, unjudged) = verdict([share(demerit_ms), share(other_ms)], share(half_error_ms));
    Ok(Fit {
        requests: judging.measured.len() as u64,
        measured_mean_ms,
        model_mean_ms,
        demerit_ms,
        demerit_share: share(demerit_ms),
        between_halves_ms,
        half_error_ms,
        order: None,
        quantiles_ms: quantiles(&judging),
        verdict,
        unjudged,
    })
}

/// Latencies of one half of the requests, each list in order.
struct Half {
    measured: Vec<f64>,
    model: Vec<f64>,
}

/// Ranks at which halves are compared.
const RANKS: u32 = 1_000;

impl Half {
    fn of(indices: &[usize], samples: &[Sample], model: &[f64]) -> Half {
        let ms = |index: &usize| samples[*index].latency as f64 / 1e6;
        Half {
            measured: sorted(indices.iter().map(ms)),
            model: sorted(indices.iter().map(|index| model[*index])),
        }
    }

    fn demerit_ms(&self) -> Option<f64> {
        apart(&self.measured, &self.model)
    }

    /// How far either measured half is from what both have in common. Each has requests of its own:
    /// how these differ, the model knows, and it does not count. Of two halves that are equally
    /// uncertain, the difference is so by the root of two more.
    fn half_error_ms(&self, other: &Half) -> f64 {
        let squares = (0..RANKS).map(|rank| {
            let rank = (f64::from(rank) + 0.5) / f64::from(RANKS);
            let off = |half: &Half| quantile(&half.measured, rank) - quantile(&half.model, rank);
            let apart = off(self) - off(other);
            apart * apart
        });
        libm::sqrt(squares.sum::<f64>() / f64::from(RANKS) / 2.0)
    }
}

/// What a model is worth that is so far from the half that judges and from the other one, if either
/// half is itself so uncertain, all as shares of the mean; and why that cannot be told, if it
/// cannot.
fn verdict([model, other]: [f64; 2], halves: f64) -> (Verdict, Option<String>) {
    match model.max(halves) {
        far if far <= GOOD_MAX => (Verdict::Good, None),
        far if far <= FAIR_MAX => (Verdict::Fair, None),
        _ if model >= halves || model.min(other) > FAIR_MAX => (Verdict::Poor, None),
        _ => {
            let [halves, model] = [halves, model].map(|share| 100.0 * share);
            let why = format!(
                "the half that judges is itself uncertain by {halves:.1} % of the mean, as the other half tells, and the model {model:.1} % from it: \
                 a longer trace, or one of a drive that is not disturbed, would tell"
            );
            (Verdict::Unjudged, Some(why))
        }
    }
}

impl Fit {
    /// As share of the mean.
    pub(super) fn half_error_share(&self) -> f64 {
        self.half_error_ms / self.measured_mean_ms
    }

    /// Whether the uncertainty of the half that judges keeps the verdict from being better.
    pub(super) fn halves_decide(&self) -> bool {
        let sharper = self.demerit_share <= GOOD_MAX && self.half_error_share() > GOOD_MAX;
        sharper && self.verdict == Verdict::Fair
    }
}

/// The ranks that have ten requests beyond them: others are no facts.
fn quantiles(half: &Half) -> Vec<(f64, f64, f64)> {
    let told = |share: &f64| (1.0 - share) * half.measured.len() as f64 >= 10.0;
    let at = |list: &[f64], share: f64| quantile(list, share);
    let row = |share| (share, at(&half.measured, share), at(&half.model, share));
    SHOWN.into_iter().filter(told).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_verdict_is_sharper_than_the_measured_halves_are_alike() {
        let of = |model, other, halves| verdict([model, other], halves).0;
        assert_eq!(of(0.03, 0.02, 0.02), Verdict::Good);
        assert_eq!(of(0.03, 0.02, 0.05), Verdict::Good);
        assert_eq!(of(0.03, 0.06, 0.08), Verdict::Fair);
        assert_eq!(of(0.10, 0.09, 0.02), Verdict::Fair);
        assert_eq!(of(0.10, 0.06, 0.14), Verdict::Fair);
        assert_eq!(of(0.20, 0.19, 0.02), Verdict::Poor);
        assert_eq!(of(0.20, 0.01, 0.19), Verdict::Poor);
        // The model may be far off because the half that judges is.
        for (model, other) in [(0.03, 0.25), (0.10, 0.15), (0.20, 0.06)] {
            let (verdict, why) = verdict([model, other], 0.25);
            assert_eq!(verdict, Verdict::Unjudged, "{model}");
            assert!(
                why.unwrap()
                    .contains("is itself uncertain by 25.0 % of the mean")
            );
        }
        // Not if it is far from both of them.
        assert_eq!(of(0.20, 0.16, 0.25), Verdict::Poor);
    }

    #[test]
    fn what_differs_between_halves_as_in_the_model_does_not_count() {
        let half = |measured: [f64; 4], model: [f64; 4]| Half {
            measured: measured.into(),
            model: model.into(),
        };
        let one = half([1.0, 2.0, 3.0, 4.0], [1.1, 2.1, 3.1, 4.1]);
        let long = half([5.0, 6.0, 7.0, 8.0], [5.1, 6.1, 7.1, 8.1]);
        assert!(one.half_error_ms(&long) < 1e-9);
        let slow = half([5.0, 6.0, 7.0, 8.0], [1.1, 2.1, 3.1, 4.1]);
        assert!((one.half_error_ms(&slow) - 4.0 / libm::sqrt(2.0)).abs() < 1e-9);
    }
}
