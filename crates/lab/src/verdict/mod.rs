//! What runs say of the choices: one ranking for each load, in numbers here, in words in [`words`].
//!
//! Runs under one load serve the same requests, and their batches are cut by request number. So two
//! runs are compared batch by batch: what makes a batch hard for both drops out of the difference
//! (a paired t interval over the batches; Law, Simulation Modeling and Analysis, chapter 10). An
//! interval that contains 0 decides nothing. Runs under different loads are never compared: with
//! more requests in flight each waits longer, whatever serves them. Nor are means under a growing
//! queue, which tell how long the load is: a run that keeps up is faster than one that does not,
//! and of those that do not only the growth is told. Nor is the mean of a run that failed more than
//! one in a hundred of its requests, flushes among them: a request that failed was never answered,
//! and its batches are not the requests of the other run's. It stands behind all that failed fewer;
//! such runs are in the order of how many they failed.
//!
//! A run that served wrong blocks stands behind all others where one of these served none. Where
//! all of them served some, they are ranked as if there were none.

mod caveats;
mod drives;
mod hosts;
#[cfg(test)]
mod tests;
mod transactions;
mod words;
mod work;

use std::cmp::Ordering;

use crate::measure::{BATCHES, Basis, half_width};
use crate::outcome::{Difference, First, Rank, Ranking, Run, Standing, Varied, Verdict, Word};

/// A run, and what it is judged by beside what it tells.
pub type Judged<'a> = (&'a Run, &'a Basis);

/// What runs say whose loads count their own work; none if these are not such.
fn of_own_work(runs: &[&Run]) -> Option<(String, Vec<String>)> {
    if transactions::are_all(runs) {
        return Some(transactions::sentences(runs));
    }
    let of_hosts = || match work::is_of_all(runs) {
        true => work::sentences(runs),
        false => hosts::sentences(runs),
    };
    hosts::are_all(runs).then(of_hosts)
}

/// What these runs say; `baseline` is the choice that the others are held against.
pub fn of(runs: &[Judged<'_>], varied: &[Varied], baseline: Option<String>) -> Verdict {
    let those: Vec<&Run> = runs.iter().map(|(run, _)| *run).collect();
    if let Some((headline, details)) = of_own_work(&those) {
        let more = [
            caveats::interrupted(runs),
            caveats::failures(runs),
            caveats::flushes(runs),
            caveats::wrong_blocks(runs),
            caveats::missed_targets(runs),
            caveats::kept_writes(runs),
        ];
        let more = more.into_iter().flatten().map(|told| format!(" {told}"));
        return Verdict {
            headline: headline + &more.collect::<String>(),
            details,
            baseline: None,
            rankings: Vec::new(),
        };
    }
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
    // A key with one value tells no two runs apart.
    let differing = varied.iter().filter(|varied| varied.values.len() > 1);
    let differing: Vec<Varied> = differing.cloned().collect();
    let told = words::sentences(runs, &rankings, &differing, baseline.as_deref());
    let (mut headline, details) = told;
    let more = [
        caveats::interrupted(runs),
        caveats::bursts(runs),
        caveats::failures(runs),
        caveats::flushes(runs),
        caveats::wrong_blocks(runs),
        caveats::missed_targets(runs),
        caveats::kept_writes(runs),
        caveats::without_faults(runs),
    ];
    headline.extend(more.into_iter().flatten().map(|told| format!(" {told}")));
    Verdict {
        headline,
        details,
        baseline: baseline.filter(|_| !rankings.is_empty()),
        rankings,
    }
}

/// Says at the end of the headline that the runs with these labels have no result; if one run is
/// left, at its front which.
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

/// A run among those of its load.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    run: &'a Run,
    basis: &'a Basis,
    standing: Standing,
}

impl<'a> Candidate<'a> {
    /// `clean` says whether any run of the load served no wrong block.
    fn new((run, basis): Judged<'a>, clean: bool) -> Candidate<'a> {
        let standing = match run.queue_growth_rps {
            _ if clean && basis.wrong_blocks > 0 => Standing::WrongBlocks,
            _ if basis.fails() => Standing::Failed,
            Some(_) => Standing::Overloaded,
            None => Standing::KeepsUp,
        };
        Candidate {
            run,
            basis,
            standing,
        }
    }

    /// Which of two has the better place.
    fn placed(self, other: Candidate<'_>) -> Ordering {
        let by_standing = (self.standing as u8).cmp(&(other.standing as u8));
        by_standing.then_with(|| match self.standing {
            Standing::KeepsUp => self.mean().total_cmp(&other.mean()),
            Standing::Overloaded => {
                let growth = |run: &Run| run.queue_growth_rps.unwrap_or(0.0);
                growth(self.run).total_cmp(&growth(other.run))
            }
            Standing::Failed => self.basis.by_failures(other.basis),
            Standing::WrongBlocks => self.basis.wrong_blocks.cmp(&other.basis.wrong_blocks),
        })
    }

    fn keeps_up(self) -> bool {
        self.standing == Standing::KeepsUp
    }

    fn mean(self) -> f64 {
        self.run.response_ms.mean
    }

    /// What it is first in, if no other one is before it.
    fn first(self) -> First {
        match self.standing {
            Standing::KeepsUp => First::Best,
            Standing::Overloaded => First::GrowsLeast,
            Standing::Failed => First::FailsLeast,
            Standing::WrongBlocks => unreachable!("a run without wrong blocks is before it"),
        }
    }
}

/// The runs of a load, best first; ties keep the order of the grid. `None` for a single run: it is
/// not ranked.
fn ranking(runs: &[Judged<'_>], load: &str, baseline: Option<&str>) -> Option<Ranking> {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.retain(|index| runs[*index].0.load == load);
    let clean = order.iter().any(|index| runs[*index].1.wrong_blocks == 0);
    let candidate = |index: usize| Candidate::new(runs[index], clean);
    order.sort_by(|one, other| candidate(*one).placed(candidate(*other)));
    let best = *order.first().filter(|_| order.len() > 1)?;
    let held_against = order.iter().copied();
    let held_against = held_against
        .filter(|index| Some(runs[*index].0.choice.as_str()) == baseline)
        .min();
    let against = |own: usize, other: usize| {
        (own != other).then(|| difference(candidate(own), candidate(other)))
    };
    let rank = |run: usize| {
        let (own, first) = (candidate(run), candidate(best));
        let before = order.iter().map(|other| candidate(*other).placed(own));
        let place = 1 + before.filter(|order| order.is_lt()).count();
        let compared = own.keeps_up() && run != best;
        Rank {
            run,
            place,
            choice: own.run.choice.clone(),
            standing: own.standing,
            first: (place == 1 && !compared).then(|| own.first()),
            response_ms_mean: own.mean(),
            ratio_to_best: (own.keeps_up() && first.keeps_up())
                .then(|| ratio(own.mean(), first.mean())),
            against_baseline: held_against.and_then(|other| against(run, other)),
            against_best: against(run, best),
        }
    };
    Some(Ranking {
        load: load.to_owned(),
        baseline: held_against,
        ranks: order.iter().map(|run| rank(*run)).collect(),
    })
}

/// How often `part` fits; 1 where both are nothing.
fn ratio(of: f64, part: f64) -> f64 {
    if part > 0.0 { of / part } else { 1.0 }
}

fn difference(own: Candidate<'_>, other: Candidate<'_>) -> Difference {
    let without = |ms, word| Difference {
        ms,
        ci95_ms: None,
        word,
    };
    match (own.standing, other.standing) {
        (Standing::WrongBlocks, _) => return without(None, Word::WrongBlocks),
        (Standing::Failed, _) => return without(None, Word::Failed),
        (Standing::Overloaded, _) => return without(None, Word::Overloaded),
        (_, Standing::WrongBlocks) => return without(None, Word::OtherWrongBlocks),
        (_, Standing::Failed) => return without(None, Word::OtherFailed),
        (_, Standing::Overloaded) => return without(None, Word::Faster),
        (Standing::KeepsUp, Standing::KeepsUp) => {}
    }
    let ms = own.mean() - other.mean();
    let (Some(own), Some(other)) = (own.basis.batches_ms, other.basis.batches_ms) else {
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
