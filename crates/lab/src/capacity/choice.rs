//! One choice in search: what its runs said, and how it compares to the one that takes most.

use std::collections::BTreeMap;

use super::answer::Answer;
use super::axis::{Axis, Find};
use super::filling::ROUNDS;
use super::limit::{self, Parts};
use super::search::{Boundary, Search};
use super::{Against, Outcome, Reached, Reading, SHOWN_FROM, Shares, Tried, Word};
use crate::gate::ByBatch;
use crate::grid::Point;
use crate::measure::{BATCHES, Estimate, Filling, TooFew, busy, weighted};
use crate::objective::Objective;
use crate::run::{Finished, Onset, RunError, Unsteady, wrong_blocks};

/// A choice, the settings along which it is searched, and those that were tried.
pub(super) struct Choice {
    pub(super) point: Point,
    pub(super) axis: Axis,
    pub(super) search: Search,
    pub(super) tried: BTreeMap<usize, Tried>,
    /// The setting at which an open load is all that the drives can do, as far as that is known.
    pub(super) full: Option<f64>,
    /// Everything in effect in the first run.
    config: serde_json::Value,
}

/// For what a setting is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// To find what the choice takes.
    BySearch,
    /// To compare it with the best one. That decides nothing that is told of the choice by itself,
    /// which is the same in any company.
    ByComparison,
}

impl Choice {
    pub(super) fn new(point: &Point, axis: Axis, search: Search) -> Choice {
        Choice {
            point: point.clone(),
            axis,
            search,
            tried: BTreeMap::new(),
            full: None,
            config: serde_json::Value::Null,
        }
    }

    /// The hardest setting that holds by the estimates.
    pub(super) fn holds(&self) -> Option<usize> {
        let holds = self.search.found().estimate.holds;
        holds.map(|at| at as usize)
    }

    /// How hard the settings are that hold by the estimates and surely; nothing is the least.
    pub(super) fn reach(&self) -> [Option<f64>; 2] {
        let found = self.search.found();
        let hardness = |at: Option<i64>| at.map(|at| self.axis.hardness(at as usize));
        [found.estimate.holds, found.surely.holds].map(hardness)
    }

    /// Takes what a run at a setting says.
    ///
    /// # Errors
    /// Its requests are too few to tell.
    pub(super) fn learn(
        &mut self,
        (at, asked): (usize, Asked),
        finished: Finished,
        objectives: &[Objective],
    ) -> Result<(), RunError> {
        let run = &finished.run;
        let (ended_early, parts) = (run.pending > 0, Parts::of(run));
        let (mut answer, mut readings) = if ended_early {
            let readings = surely_missed(&finished.missed, objectives, &parts);
            (Answer::FAILS, readings)
        } else {
            judged(objectives, &finished.estimates, &run.label)?
        };
        let unsteady = self.unsteady(finished.unsteady, ended_early);
        let queue_growth_rps = run.queue_growth_rps.or(self.overfills(unsteady.filling));
        if queue_growth_rps.is_some() {
            // Response times tell how long the load is.
            answer = Answer::FAILS;
            readings.fill(Reading::default());
        } else {
            answer = for_ever(answer, &unsteady);
        }
        let shown = is_enough(finished.onset) || !answer.estimate;
        let tried = Tried {
            at: self.axis.values[at],
            compared: asked == Asked::ByComparison,
            word: match shown {
                true => answer.into(),
                false => Outcome::NotShown,
            },
            missed: missed(&readings, &finished.by_batch),
            readings,
            throughput_rps: run.throughput_rps,
            throughput_mb_s: run.throughput_mb_s,
            utilisation: run.utilisation,
            utilisation_max: run.utilisation_max,
            busiest_without_spare: busy::for_requests(run)[1],
            onset: finished.onset,
            queue_growth_rps,
            unsteady,
            requests: run.requests,
            failed: run.failed.values().sum(),
            wrong_blocks: wrong_blocks(run),
            ended_early,
            shares: Shares::of(run),
            parts,
            by_batch: finished.by_batch,
        };
        if asked == Asked::BySearch {
            // What holds without its faults may fail with them: the boundary is looked for below.
            let answer = if shown { answer } else { Answer::FAILS };
            self.search.learn(at as i64, answer);
        }
        if self.config.is_null() {
            self.config = finished.run.config;
        }
        self.tried.insert(at, tried);
        Ok(())
    }

    /// What of a run hides how fast drives are. Caches and credits tell nothing where it ended
    /// early.
    fn unsteady(&mut self, found: Unsteady, ended_early: bool) -> Unsteady {
        Unsteady {
            filling: found.filling.filter(|_| !ended_early),
            settling: found.settling.filter(|_| !ended_early),
            spent: found.spent.filter(|_| !ended_early),
            rounds: self.too_seldom(found.rounds),
        }
    }

    /// How often drives came round with what they do by themselves, if that was too seldom. Then
    /// what is sure is looked for no more where no run tells it: the harder a setting the shorter
    /// the run, and of more drives each writes less.
    fn too_seldom(&mut self, rounds: Option<f64>) -> Option<f64> {
        let rounds = rounds.filter(|rounds| *rounds < ROUNDS)?;
        self.search.leave_possibly();
        if self.axis.find == Find::Drives {
            self.search.leave_surely();
        }
        Some(rounds)
    }

    /// By how much a second the caches of drives fill, if that surely is more than these write. A
    /// load that waits for answers comes more slowly when they are full, and drives that choose the
    /// order in which they write do so faster.
    fn overfills(&self, filling: Option<Filling>) -> Option<f64> {
        let is_open = self.point.scenario.is_open();
        filling
            .filter(|filling| is_open && !filling.may_end)
            .map(|filling| filling.rps)
    }

    /// How it compares to the best, which holds at `hardest`.
    pub(super) fn against(&self, best: &Choice, hardest: usize) -> Against {
        let value = best.axis.values[hardest];
        let own = self.holds().map(|at| self.axis.hardness(at));
        if own.is_some_and(|own| own >= best.axis.hardness(hardest)) {
            if [self, best]
                .iter()
                .any(|choice| choice.not_shown().is_some())
            {
                return Against {
                    word: Word::Undecided,
                    at: None,
                };
            }
            return Against {
                word: Word::Same,
                at: Some(value),
            };
        }
        if self.ends_before(best) {
            return Against {
                word: Word::Less,
                at: None,
            };
        }
        let at = self.axis.index(value).filter(|at| self.is_shown(*at));
        let own = at.and_then(|at| self.tried.get(&at));
        let both = own.zip(best.tried.get(&hardest));
        let less = both.is_some_and(|(own, best)| {
            own.queue_growth_rps.is_some() || misses_more(&own.missed, &best.by_batch)
        });
        Against {
            word: if less { Word::Less } else { Word::Undecided },
            at: both.map(|_| value),
        }
    }

    /// Whether a run at a setting, if there was one, has shown what its faults do.
    fn is_shown(&self, at: usize) -> bool {
        let tried = self.tried.get(&at);
        tried.is_none_or(|tried| tried.word != Outcome::NotShown)
    }

    /// The setting up to which it holds what was shown, if it has shown nothing from there on.
    fn not_shown(&self) -> Option<i64> {
        let fails = self.search.found().estimate.fails;
        fails.filter(|at| !self.is_shown(*at as usize))
    }

    /// Whether it surely fails where another one surely holds.
    fn ends_before(&self, other: &Choice) -> bool {
        let fails = self.search.found().possibly.fails;
        let fails = fails.filter(|at| self.is_shown(*at as usize));
        let fails = fails.map(|at| self.axis.hardness(at as usize));
        let [_, holds] = other.reach();
        fails
            .zip(holds)
            .is_some_and(|(fails, holds)| fails <= holds)
    }

    /// What is known of it in the end.
    pub(super) fn found(self, against_best: Option<Against>, objectives: &[Objective]) -> Reached {
        let found = self.search.found();
        let value = |at: Option<i64>| at.map(|at| self.axis.values[at as usize]);
        let Boundary { holds, fails } = found.estimate;
        let shown = |at: &i64| self.is_shown(*at as usize);
        let not_shown = self.not_shown();
        let (fails, surely_fails) = (fails.filter(shown), found.possibly.fails.filter(shown));
        let reached = Reached {
            choice: self.point.choice(),
            surely_holds: value(found.surely.holds),
            holds: value(holds),
            fails: value(fails),
            surely_fails: value(surely_fails),
            not_shown: value(not_shown),
            easiest: self.axis.values[0],
            hardest: self.axis.values[self.axis.values.len() - 1],
            easiest_because: self.axis.easiest_because,
            hardest_because: self.axis.hardest_because,
            contradicted: found.contradicted && not_shown.is_none(),
            unevenly_sure: found.unevenly_sure && not_shown.is_none(),
            against_best,
            config: self.config,
            tried: self.tried.into_values().collect(),
            limit: None,
        };
        Reached {
            limit: limit::limit(&reached, objectives, (self.axis.find, self.full)),
            ..reached
        }
    }
}

/// Whether enough of a run came after its faults had begun.
fn is_enough(onset: Option<Onset>) -> bool {
    onset.is_none_or(|onset| onset.share >= SHOWN_FROM)
}

/// For each objective that is missed, what every batch had of misses, or its mean.
fn missed(readings: &[Reading], by_batch: &[ByBatch]) -> Vec<Option<ByBatch>> {
    let both = readings.iter().zip(by_batch);
    let missed =
        both.map(|(reading, by_batch)| (reading.fails != Some(false)).then_some(*by_batch));
    missed.collect()
}

/// What is known of each objective where a run ended since some were surely missed.
fn surely_missed(missed: &[bool], objectives: &[Objective], parts: &Parts) -> Vec<Reading> {
    let reading = |(missed, objective): (&bool, &Objective)| Reading {
        fails: missed.then_some(true),
        so_far_ms: parts.response_ms(objective),
        ..Reading::default()
    };
    missed.iter().zip(objectives).map(reading).collect()
}

/// What the estimates of the whole run with this label say of all objectives together, and of each.
fn judged(
    objectives: &[Objective],
    estimates: &[Result<Estimate, TooFew>],
    label: &str,
) -> Result<(Answer, Vec<Reading>), RunError> {
    let mut answer = Answer::HOLDS;
    let mut readings = Vec::new();
    for (objective, estimate) in objectives.iter().zip(estimates) {
        let estimate = estimate
            .as_ref()
            .map_err(|few| too_few(objective, few, label))?;
        let judged = Answer::of(objective, estimate);
        answer = answer.and(judged);
        readings.push(Reading {
            fails: Some(!judged.estimate),
            ms: Some(estimate.ms).filter(|ms| ms.is_finite()),
            low_ms: estimate.low_ms.filter(|ms| ms.is_finite()),
            high_ms: estimate.high_ms,
            so_far_ms: None,
        });
    }
    Ok((answer, readings))
}

impl From<Answer> for Outcome {
    fn from(answer: Answer) -> Outcome {
        match answer {
            Answer { surely: true, .. } => Outcome::SurelyHolds,
            Answer { estimate: true, .. } => Outcome::Holds,
            Answer { possibly: true, .. } => Outcome::Fails,
            Answer { .. } => Outcome::SurelyFails,
        }
    }
}

/// Whether a run surely comes further from an objective that it misses than another under the same
/// load, batch by batch.
fn misses_more(missed: &[Option<ByBatch>], other: &[ByBatch]) -> bool {
    missed.iter().zip(other).any(|(one, other)| {
        let Some(one) = one else {
            return false;
        };
        let paired = std::array::from_fn(|batch| one.values[batch] - other.values[batch]);
        // The other one was run to its end, so its requests are known.
        let (mean, half) = weighted(&paired, &other.weights);
        mean > half
    })
}

fn too_few(objective: &Objective, few: &TooFew, label: &str) -> RunError {
    let class = objective.class.requests();
    RunError::Objective(format!(
        "slo '{objective}': the run {} measures {} {class}, as if spread over {:.1} of {BATCHES} consecutive parts of the load; {} with its \
         interval needs {} of them over at least {} parts; a longer trace has them{}",
        label.trim(),
        few.requests,
        few.batches,
        objective.statistic.word(),
        few.needed,
        few.batches_needed,
        // Where it is their spread that lacks, no other statistic helps.
        if few.is_of_the_tail() && few.requests < few.needed {
            ", and a statistic nearer to the middle needs fewer"
        } else {
            ""
        },
    ))
}

/// What a run answers for longer ones, of which this is not known.
fn for_ever(answer: Answer, unsteady: &Unsteady) -> Answer {
    if unsteady.hides() {
        answer.not_steady()
    } else if unsteady.settling.is_some() {
        answer.not_at_rest()
    } else {
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Settling;

    /// A queue that is not at rest can only become longer; flash may be faster or slower later.
    #[test]
    fn of_a_queue_that_is_not_at_rest_only_what_holds_is_unsure() {
        let settling = |waiting| Settling {
            waiting,
            of: 100,
            grew: true,
        };
        let of = |answer: Answer, waiting: Option<u64>, rounds| {
            let unsteady = Unsteady {
                filling: None,
                settling: waiting.map(settling),
                spent: None,
                rounds,
            };
            let found = for_ever(answer, &unsteady);
            assert_eq!(found.estimate, answer.estimate);
            (found.surely, found.possibly)
        };
        let [holds, fails] = [Answer::HOLDS, Answer::FAILS];
        assert_eq!(of(holds, None, None), (true, true));
        assert_eq!(of(holds, Some(30), None), (false, true));
        assert_eq!(of(fails, Some(30), None), (false, false));
        assert_eq!(of(fails, Some(30), Some(0.5)), (false, true));
    }

    #[test]
    fn a_difference_is_decided_by_batches_of_what_is_missed() {
        let of = |values| ByBatch {
            values,
            weights: [100; BATCHES],
        };
        let (even, less) = (of([0.02; BATCHES]), of([0.01; BATCHES]));
        // As much on average, all of it in one batch.
        let burst = of(std::array::from_fn(
            |batch| if batch == 0 { 0.64 } else { 0.0 },
        ));
        assert!(misses_more(&[Some(even)], &[less]));
        assert!(!misses_more(&[Some(burst)], &[less]));
        assert!(!misses_more(&[Some(less)], &[even]));
        assert!(!misses_more(&[Some(even)], &[even]));
        // An objective that both meet says nothing.
        assert!(!misses_more(&[None, Some(less)], &[less, less]));
    }
}
