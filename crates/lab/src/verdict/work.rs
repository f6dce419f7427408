//! What runs of file systems say: after how long all that processes did was on the medium.
//!
//! Their requests are others in each run, so means of requests are not compared.

use crate::filesystem::{KEY, gave_up};
use crate::number::seconds;
use crate::outcome::Run;

/// When all was done and written, if it was.
fn done(run: &Run) -> Option<f64> {
    run.measure(KEY, "work_s").map(|number| number.value())
}

/// Whether all of these are runs of file systems.
pub(super) fn is_of_all(runs: &[&Run]) -> bool {
    runs.iter().all(|run| run.has(KEY, "files"))
}

/// The headline, and a detail where a run ended before that.
pub(super) fn sentences(runs: &[&Run]) -> (String, Vec<String>) {
    let mut all: Vec<(f64, &Run)> = runs
        .iter()
        .filter_map(|run| Some((done(run)?, *run)))
        .collect();
    all.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let never = runs.len() - all.len();
    let (Some((first, of_first)), Some((last, of_last))) = (all.first(), all.last()) else {
        let headline = match runs.iter().all(|run| gave_up(run)) {
            true => "Not everything was written: the log gave up.",
            false => "Not everything was done and written when the run ended.",
        };
        return (headline.to_owned(), Vec::new());
    };
    let begin = format!("Everything is done and written after {}", seconds(*first));
    let headline = match (runs.len(), first.total_cmp(last).is_eq()) {
        (1, _) => format!("{begin}."),
        (_, true) if never == 0 => format!("{begin} in each run."),
        (_, true) => format!("{begin} ({}).", of_first.label),
        (_, false) => {
            let end = seconds(*last);
            format!("{begin} ({}) to {end} ({}).", of_first.label, of_last.label)
        }
    };
    let (all, logs) = (runs.len(), runs.iter().filter(|run| gave_up(run)).count());
    let ended = (never > 0).then(|| format!("{never} of {all} runs ended before that."));
    let logs = (logs > 0).then(|| format!("The log gave up in {logs} of {all} runs."));
    (headline, ended.into_iter().chain(logs).collect())
}
