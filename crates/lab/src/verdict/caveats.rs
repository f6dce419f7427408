//! What a headline has to say beside who leads: that a queue may grow, that the tail speaks
//! otherwise, that a few requests decide.
//!
//! That one failed more of its requests than others, or served wrong blocks where another one did
//! not, is no caveat: it keeps it from winning.
//!
//! Each of these can make a true sentence mislead: a mean near the limit of the drives tells how
//! long the load is, a lower mean may stand beside a longer p99, and means far apart may be
//! undecided because a few batches make the whole difference.

use super::Judged;
use crate::measure::targets::Missed;
use crate::measure::{BATCHES, Basis, busy, kept};
use crate::number::{counted, grouped, list, number, times};
use crate::outcome::{Burst, Demand, Progress, Run};
use crate::overload::{SATURATED, is_near, is_refuted, rounded};

/// Means that are so many times apart want a reason if they are undecided.
const FAR_APART: f64 = 1.5;

/// Whether the queue of an open load may grow under a run of which it is not known that it does.
/// What drives can do is not known under faults that begin at an instant of their own: there drives
/// that were busy all the time may be too slow.
pub(super) fn may_grow(run: &Run) -> bool {
    let [busy, _] = busy::for_requests(run);
    let all_along = |demand: &Demand| busy > SATURATED && demand.faults_begin_s.is_some();
    let may = |demand: &Demand| is_near(demand) || all_along(demand);
    let perhaps = run.queue_growth_rps.is_none() && !is_refuted(run);
    perhaps && (run.at_limit || run.demand.as_ref().is_some_and(may))
}

/// How much is offered under such a run, in words: `the load is 0.99 of what the drives can do`.
/// Below a memory nobody knows what that is.
pub(super) fn offered(run: &Run) -> String {
    match run.demand {
        Some(demand) => format!(
            "the load is about {:.2} of what the drives can do",
            demand.load_factor
        ),
        None => "the drives had hardly a moment left".to_owned(),
    }
}

/// That for a part of a load more comes than the drives can do: of several runs, under which, and
/// for how long where it is most. What is told of a load that is too much all along is told
/// elsewhere.
pub(super) fn bursts(judged: &[Judged<'_>]) -> Option<String> {
    let met = |(run, basis): &Judged<'_>| {
        let burst = basis.burst.filter(|_| run.queue_growth_rps.is_none())?;
        Some((burst.load_factor * burst.lasts_s, burst, run.label.clone()))
    };
    let met: Vec<(f64, Burst, String)> = judged.iter().filter_map(met).collect();
    let (_, worst, label) = met.iter().max_by(|one, other| one.0.total_cmp(&other.0))?;
    let part = format!(
        "for {}, from {} after the first request on, {} what the drives can do",
        rounded(worst.lasts_s),
        rounded(worst.begin_s),
        times(worst.load_factor)
    );
    let all = judged.len();
    Some(match met.len() {
        _ if all == 1 => format!(
            "A part of the load is too much, {part}: the queue grows there, which mean and tail tell."
        ),
        1 => format!(
            "Under {label} a part of the load is too much, {part}: the queue grows there, which its mean and tail tell."
        ),
        many => format!(
            "In {many} of {all} runs a part of the load is too much, most under {label}, {part}: the queue grows there, which \
             means and tails tell."
        ),
    })
}

/// That runs were interrupted, and how far they had come.
pub(super) fn interrupted(judged: &[Judged<'_>]) -> Option<String> {
    let came = judged.iter().filter_map(|(_, basis)| basis.interrupted);
    let told = came.map(|Progress { done, all, unit }| {
        let (done, all) = (grouped(done as u64), all.map(|all| grouped(all as u64)));
        match all {
            Some(all) => format!("after {done} of {all} {unit}"),
            None => format!("after {done} {unit}"),
        }
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("Interrupted {}.", list(&told)))
}

/// Whether a run failed a greater share of its requests than another, by more than chance explains
/// in 19 of 20 cases.
pub(super) fn fails_clearly_more(run: &Basis, other: &Basis) -> bool {
    let variance = |run: &Basis| {
        let share = run.failed_share();
        share * (1.0 - share) / run.failing().1.max(1) as f64
    };
    let error = libm::sqrt(variance(run) + variance(other));
    run.failed_share() - other.failed_share() > 1.96 * error
}

/// That requests failed, so that means are of the others alone; of several runs the first with most
/// failures.
pub(super) fn failures(judged: &[Judged<'_>]) -> Option<String> {
    let failed = |run: &Run| run.failed.values().sum::<u64>();
    let runs = judged.iter().map(|(run, _)| *run);
    let failing: Vec<&Run> = runs.filter(|run| failed(run) > 0).collect();
    let worst = failing
        .iter()
        .rev()
        .max_by_key(|run| failed(run))
        .copied()?;
    let (count, all) = (failed(worst), worst.requests);
    if judged.len() == 1 {
        return Some(format!(
            "{count} of {all} requests failed; they are in no mean."
        ));
    }
    let as_many = failing.iter().filter(|run| failed(run) == count).count();
    let most = match as_many {
        1 => format!("most in {} ({count} of {all})", worst.label),
        _ => format!("up to {count} of {all}, as in {}", worst.label),
    };
    Some(format!(
        "Requests failed in {} of {} runs, {most}; they are in no mean.",
        failing.len(),
        judged.len()
    ))
}

/// That flushes failed, of those that were measured; of several runs the first with most of them.
pub(super) fn flushes(judged: &[Judged<'_>]) -> Option<String> {
    let mut failing: Vec<&Judged<'_>> = judged.iter().collect();
    failing.retain(|(_, basis)| basis.flushes_failed > 0);
    let failed = |(_, basis): &&&Judged<'_>| basis.flushes_failed;
    let (worst, basis) = failing.iter().rev().max_by_key(failed)?;
    let (count, of) = (basis.flushes_failed, basis.flushes);
    Some(match judged.len() {
        1 => format!("{count} of {of} measured flushes failed."),
        all => format!(
            "Flushes failed in {} of {all} runs, most in {} ({count} of {of} that were measured).",
            failing.len(),
            worst.label
        ),
    })
}

/// That wrong blocks were served, and nobody was told; of several runs the one with the fewest and
/// the one with the most of them.
pub(super) fn wrong_blocks(judged: &[Judged<'_>]) -> Option<String> {
    let mut wrong: Vec<&Judged<'_>> = judged.iter().collect();
    wrong.retain(|(_, basis)| basis.wrong_blocks > 0);
    wrong.sort_by_key(|(_, basis)| basis.wrong_blocks);
    let blocks = |(_, basis): &Judged<'_>| counted(basis.wrong_blocks, "wrong block");
    let all = judged.len();
    Some(match wrong.as_slice() {
        [] => return None,
        [only] if all == 1 => format!("It served {}.", blocks(only)),
        [only] => format!("{} served {}.", only.0.label, blocks(only)),
        [one, other] => format!(
            "2 of {all} runs served wrong blocks: {} served {}, {} {}.",
            one.0.label,
            blocks(one),
            other.0.label,
            other.1.wrong_blocks
        ),
        [least, .., most] => format!(
            "{} of {all} runs served wrong blocks, the fewest {} with {}, the most {} with {}.",
            wrong.len(),
            least.0.label,
            least.1.wrong_blocks,
            most.0.label,
            most.1.wrong_blocks
        ),
    })
}

/// That I/Os ended later than a target of their stream says; of several runs the first
/// with most of them.
pub(super) fn missed_targets(judged: &[Judged<'_>]) -> Option<String> {
    let runs = judged.iter().map(|(run, _)| *run);
    let missing = runs.filter_map(|run| Some((run, Missed::of(run)?)));
    let missing: Vec<(&Run, Missed)> = missing.collect();
    let (worst, missed) = missing
        .iter()
        .rev()
        .max_by_key(|(_, missed)| missed.count)?;
    let words = missed.words();
    Some(match (judged.len(), missing.len()) {
        (1, _) => format!("I/Os missed the targets of their streams, {words}."),
        (_, 1) => format!(
            "Under {} I/Os missed the targets of their streams, {words}.",
            worst.label
        ),
        (all, many) => format!(
            "I/Os missed the targets of their streams in {many} of {all} runs, most under {}, {words}.",
            worst.label
        ),
    })
}

/// That write buffers gave their drives nothing, so that no time tells what writes cost these.
pub(super) fn kept_writes(judged: &[Judged<'_>]) -> Option<String> {
    let keeping = judged.iter().map(|(run, _)| *run);
    let keeping: Vec<&Run> = keeping
        .filter(|run| kept::all_pages(run).is_some())
        .collect();
    let all = judged.len();
    let what = "nothing went from the write buffer to the drives: what writes cost these is not in";
    Some(match keeping.as_slice() {
        [] => return None,
        [_] if all == 1 => format!("While it was measured, {what} its times."),
        [only] => format!("Under {} {what} its times.", only.label),
        [first, ..] => format!(
            "In {} of {all} runs, {} among them, {what} their times.",
            keeping.len(),
            first.label
        ),
    })
}

/// That what was to go wrong has not, in any run for which something was to. One run says that in a
/// warning of its own.
pub(super) fn without_faults(judged: &[Judged<'_>]) -> Option<String> {
    let mut of_interest = judged.iter().filter_map(|(_, basis)| basis.met_faults);
    let none = judged.len() > 1 && !of_interest.clone().any(|met| met);
    (none && of_interest.next().is_some()).then(|| "No fault has happened in any run.".to_owned())
}

/// That runs have no result.
pub(super) fn without_result(labels: &[&str]) -> Option<String> {
    match labels {
        [] => None,
        [one] => Some(format!(
            "{one} has no result: none of its measured reads and writes was answered."
        )),
        [first, ..] => Some(format!(
            "{} runs have no result, {first} among them: none of their measured reads and writes was answered.",
            labels.len()
        )),
    }
}

/// Whether the 99th percentile of a run is longer than that of another, beyond the intervals of
/// both.
pub(super) fn longer_tail(run: &Run, other: &Run) -> bool {
    match (run.response_ms.p99_ci95, other.response_ms.p99_ci95) {
        (Some([low, _]), Some([_, high])) => low > high,
        _ => false,
    }
}

/// Two 99th percentiles in words: `629.1 ms against 345.0`.
pub(super) fn tails(run: &Run, other: &Run) -> String {
    let p99 = |run: &Run| run.response_ms.p99.map_or("?".to_owned(), number);
    format!("{} ms against {}", p99(run), p99(other))
}

/// Why means that are far apart are not decided: how many batches make more than half of what they
/// differ by.
pub(super) fn uneven((run, own): Judged<'_>, (other_run, other): Judged<'_>) -> Option<String> {
    let (own, other) = (own.batches_ms?, other.batches_ms?);
    if other_run.response_ms.mean < FAR_APART * run.response_ms.mean {
        return None;
    }
    let mut apart: Vec<f64> = own.iter().zip(&other).map(|(a, b)| (a - b).abs()).collect();
    apart.sort_by(|one, other| other.total_cmp(one));
    let half = apart.iter().sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let below = apart.iter().take_while(|part| {
        sum += **part;
        sum <= half
    });
    let few = below.count() + 1;
    let make = if few == 1 { "makes" } else { "make" };
    Some(format!(
        "the batches of requests are uneven, {few} of {BATCHES} {make} more than half of the difference"
    ))
}
