//! What runs say of the choices: one ranking for each load, in numbers here, in words in [`words`].
//!
//! Runs under one load serve the same requests, and their batches are cut by request number. So two runs are compared batch by
//! batch: what makes a batch hard for both drops out of the difference (a paired t interval over the batches; Law,
//! Simulation Modeling and Analysis, chapter 10). An interval that contains 0 decides nothing. Runs under different
//! loads are never compared: with more requests in flight each waits longer, whatever serves them.

#[cfg(test)]
mod tests;
mod words;

use crate::measure::{BATCHES, half_width};
use crate::outcome::{Difference, Rank, Ranking, Run, Varied, Verdict, Word};

/// A run, and its mean response time in each batch in milliseconds, if every batch has enough requests.
pub type Judged<'a> = (&'a Run, &'a Option<[f64; BATCHES]>);

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
    let plain: Vec<&Run> = runs.iter().map(|(run, _)| *run).collect();
    let (headline, details) = words::sentences(&plain, &rankings, varied, baseline.as_deref());
    Verdict {
        headline,
        details,
        baseline: baseline.filter(|_| !rankings.is_empty()),
        rankings,
    }
}

/// The runs of a load, best first; ties keep the order of the grid. `None` for a single run: it is not ranked.
fn ranking(runs: &[Judged<'_>], load: &str, baseline: Option<&str>) -> Option<Ranking> {
    let mean = |index: usize| runs[index].0.response_ms.mean;
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.retain(|index| runs[*index].0.load == load);
    order.sort_by(|one, other| mean(*one).total_cmp(&mean(*other)));
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
            .filter(|other| mean(**other) < mean(run))
            .count(),
        choice: runs[run].0.choice.clone(),
        response_ms_mean: mean(run),
        ratio_to_best: ratio(mean(run), mean(best)),
        against_baseline: held_against.and_then(|other| against(run, other)),
        against_best: against(run, best),
    });
    Some(Ranking {
        load: load.to_owned(),
        baseline: held_against,
        ranks: ranks.collect(),
    })
}

/// How often `part` fits; 1 where both are nothing.
fn ratio(of: f64, part: f64) -> f64 {
    if part > 0.0 { of / part } else { 1.0 }
}

fn difference((run, own): Judged<'_>, (other_run, other): Judged<'_>) -> Difference {
    let ms = run.response_ms.mean - other_run.response_ms.mean;
    let (Some(own), Some(other)) = (own, other) else {
        return Difference {
            ms,
            ci95_ms: None,
            word: Word::TooFew,
        };
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
        ms,
        ci95_ms: Some([ms - half, ms + half]),
        word,
    }
}
