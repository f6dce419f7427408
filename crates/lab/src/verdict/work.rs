//! What runs of file systems say: after how long all that processes did was on the medium.
//!
//! Their requests are others in each run, so means of requests are not compared. A run of which a
//! request failed is never done and written: it stands in no order.

use nearslot_core::contract::Destage;
use nearslot_core::registry::Kind;

use crate::filesystem::{KEY, gave_up, is_undone};
use crate::number::seconds;
use crate::outcome::Run;

/// The key of what a write buffer counts.
const BUFFER: &str = <dyn Destage as Kind>::CARD.key;

/// When all was done and written, if it was.
fn done(run: &Run) -> Option<f64> {
    run.measure(KEY, "work_s").map(|number| number.value())
}

/// Whether all of these are runs of file systems.
pub(super) fn is_of_all(runs: &[&Run]) -> bool {
    runs.iter().all(|run| run.has(KEY, "files"))
}

/// Of runs of which one, or all, are in a state: which they are.
fn which(those: &[&Run], all: usize) -> String {
    match those {
        [one] => one.label.clone(),
        _ => format!("{} of {all} runs", those.len()),
    }
}

/// That all was done, and where it is: what a write buffer answers is in it as long as it keeps it.
fn done_in_words(runs: &[&Run]) -> &'static str {
    match runs.iter().any(|run| run.has(BUFFER, "dirty_pages")) {
        true => "Everything is done, and written to the drives or the write buffer,",
        false => "Everything is done and written",
    }
}

/// The headline, and details where a run ended before that.
pub(super) fn sentences(runs: &[&Run]) -> (String, Vec<String>) {
    let mut all: Vec<(f64, &Run)> = runs
        .iter()
        .filter_map(|run| Some((done(run)?, *run)))
        .collect();
    all.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let (Some((first, of_first)), Some((last, of_last))) = (all.first(), all.last()) else {
        let headline = match runs.iter().all(|run| is_undone(run)) {
            true if runs.iter().all(|run| gave_up(run)) => {
                "Not everything was written: the log gave up."
            }
            true => "Not everything was done and written, as requests failed.",
            false => "Not everything was done and written when the run ended.",
        };
        return (headline.to_owned(), Vec::new());
    };
    let never = runs.len() - all.len();
    let begin = format!("{} after {}", done_in_words(runs), seconds(*first));
    let headline = match (runs.len(), first.total_cmp(last).is_eq()) {
        (1, _) => format!("{begin}."),
        (_, true) if never == 0 => format!("{begin} in each run."),
        (_, true) => format!("{begin} ({}).", of_first.label),
        (_, false) => {
            let end = seconds(*last);
            format!("{begin} ({}) to {end} ({}).", of_first.label, of_last.label)
        }
    };
    let (headline, undone) = with_undone(headline, runs);
    let (all, early) = (runs.len(), never - undone);
    let ended = (early > 0).then(|| format!("{early} of {all} runs ended before that."));
    (headline, ended.into_iter().collect())
}

/// The headline with what never will be done and written, and how many runs that are.
fn with_undone(headline: String, runs: &[&Run]) -> (String, usize) {
    let undone = runs.iter().copied().filter(|run| is_undone(run));
    let (logs, failed): (Vec<&Run>, Vec<&Run>) = undone.partition(|run| gave_up(run));
    let told = [(&logs, "the log gave up"), (&failed, "requests failed")];
    let told = told.into_iter().filter(|(those, _)| !those.is_empty());
    let told = told.map(|(those, why)| {
        let which = which(those, runs.len());
        format!(" Not everything was done and written in {which}: {why}.")
    });
    let headline = headline + &told.collect::<String>();
    (headline, logs.len() + failed.len())
}
