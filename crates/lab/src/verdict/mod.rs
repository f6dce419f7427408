//! What runs say of the choices: one ranking for each load, in numbers here, in words in [`words`].
//!
//! Runs under one load serve the same requests, and their batches are cut by request number. So two runs are compared batch by
//! batch: what makes a batch hard for both drops out of the difference (a paired t interval over the batches; Law,
//! Simulation Modeling and Analysis, chapter 10). An interval that contains 0 decides nothing. Runs under different
//! loads are never compared: with more requests in flight each waits longer, whatever serves them. Nor are means under a
//! growing queue, which tell how long the load is: a run that keeps up is faster than one that does not, and of those that do
//! not only the growth is told. Nor is the mean of a run that failed more than one in a hundred of its requests: it has no 99th percentile,
//! since a request that failed was never answered, and its batches are not the requests of the other run's. It stands behind all that
//! failed fewer; such runs are in the order of how many they failed.

mod caveats;
mod drives;
#[cfg(test)]
mod tests;
mod words;

use std::cmp::Ordering;

use crate::measure::{BATCHES, Basis, half_width};
use crate::outcome::{Difference, Rank, Ranking, Run, Varied, Verdict, Word};

/// A run, and what it is judged by beside what it tells.
pub type Judged<'a> = (&'a Run, &'a Basis);

/// What these runs say; `baseline` is the choice that the others are held against.
pub fn of(runs: &[Judged<'_>], varied: &[Varied], baseline: Option<String>) -> Verdict {
    let mut loads: Vec<&str> = Vec::new();
    for (run, _) in runs {
        if !loads.contains(&run.load.as_str()) {
            loads.push(&run.load);
        }
    }
    let rankings: Vec<Ranking> = loads
        .into_iter()
        .filter_map(|load| ranking(runs, load, baseline.as_deref()))
        .collect();
    let (mut headline, details) = words::sentences(runs, &rankings, varied, baseline.as_deref());
    headline.extend(caveats::failures(runs).map(|told| format!(" {told}")));
    Verdict {
        headline,
        details,
        baseline: baseline.filter(|_| !rankings.is_empty()),
        rankings,
    }
}

/// Says at the end of the headline that the runs with these labels have no result; if one run is left, at its front which.
pub fn add_without_result(verdict: &mut Verdict, labels: &[&str], left: &[Run]) {
    let Some(told) = caveats::without_result(labels) else {
        return;
    };
    let of = match left {
        [only] => format!("{}: ", only.label),
        _ => String::new(),
    };
    verdict.headline = format!("{of}{} {told}", verdict.headline);
}

/// The runs of a load, best first; ties keep the order of the grid. `None` for a single run: it is not ranked.
fn ranking(runs: &[Judged<'_>], load: &str, baseline: Option<&str>) -> Option<Ranking> {
    let mean = |index: usize| runs[index].0.response_ms.mean;
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.retain(|index| runs[*index].0.load == load);
    order.sort_by(|one, other| placed(runs[*one], runs[*other]));
    let best = *order.first().filter(|_| order.len() > 1)?;
    let held_against = order.iter().copied();
    let held_against = held_against
        .filter(|index| Some(runs[*index].0.choice.as_str()) == baseline)
        .min();
    let against =
        |own: usize, other: usize| (own != other).then(|| difference(runs[own], runs[other]));
    let ranks = order.iter().map(|&run| Rank {
        run,
        place: 1 + order
            .iter()
            .filter(|other| placed(runs[**other], runs[run]).is_lt())
            .count(),
        choice: runs[run].0.choice.clone(),
        response_ms_mean: mean(run),
        ratio_to_best: comparable(runs[run], runs[best]).then(|| ratio(mean(run), mean(best))),
        against_baseline: held_against.and_then(|other| against(run, other)),
        against_best: against(run, best),
    });
    Some(Ranking {
        load: load.to_owned(),
        baseline: held_against,
        ranks: ranks.collect(),
    })
}

/// Which of two runs has the better place: those that keep up before those whose queue grows, and behind all of them those that failed
/// many of their requests; among their like the one with the lower mean, whose queue grows less, or that failed fewer.
fn placed((one, own): Judged<'_>, (other, others): Judged<'_>) -> Ordering {
    if own.fails() || others.fails() {
        return own
            .fails()
            .cmp(&others.fails())
            .then_with(|| own.by_failures(others));
    }
    match (one.queue_growth_rps, other.queue_growth_rps) {
        (None, None) => one.response_ms.mean.total_cmp(&other.response_ms.mean),
        (one, other) => one.unwrap_or(-1.0).total_cmp(&other.unwrap_or(-1.0)),
    }
}

/// Whether the means of two runs tell something beside each other.
fn comparable((one, own): Judged<'_>, (other, others): Judged<'_>) -> bool {
    let grows = one.queue_growth_rps.or(other.queue_growth_rps).is_some();
    !grows && !own.fails() && !others.fails()
}

/// How often `part` fits; 1 where both are nothing.
fn ratio(of: f64, part: f64) -> f64 {
    if part > 0.0 { of / part } else { 1.0 }
}

fn difference((run, own): Judged<'_>, (other_run, other): Judged<'_>) -> Difference {
    let without = |ms, word| Difference {
        ms,
        ci95_ms: None,
        word,
    };
    if own.fails() {
        return without(None, Word::Failed);
    }
    match (run.queue_growth_rps, other_run.queue_growth_rps) {
        (Some(_), _) => return without(None, Word::Overloaded),
        _ if other.fails() => return without(None, Word::OtherFailed),
        (None, Some(_)) => return without(None, Word::Faster),
        (None, None) => {}
    }
    let ms = run.response_ms.mean - other_run.response_ms.mean;
    let (Some(own), Some(other)) = (own.batches_ms, other.batches_ms) else {
        return without(Some(ms), Word::TooFew);
    };
    let paired: [f64; BATCHES] = std::array::from_fn(|batch| own[batch] - other[batch]);
    let half = half_width(&paired);
    let word = match ms {
        _ if paired.iter().all(|difference| difference.abs() == 0.0) => Word::Equal,
        _ if ms.abs() <= half => Word::Undecided,
        _ if ms < 0.0 => Word::Faster,
        _ => Word::Slower,
    };
    Difference {
        ms: Some(ms),
        ci95_ms: Some([ms - half, ms + half]),
        word,
    }
}
