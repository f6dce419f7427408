//! What runs of file systems say: after how long all that processes did was on the medium.
//!
//! Their requests are others in each run, so means of requests are not compared.

use crate::filesystem::KEY;
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
    let headline = match (all.as_slice(), runs.len()) {
        ([], _) => "Not everything was done and written when the run ended.".to_owned(),
        ([(only, _)], 1) => format!("Everything is done and written after {}.", seconds(*only)),
        ([(first, _), .., (last, _)], _) if first.total_cmp(last).is_eq() => {
            format!(
                "Everything is done and written after {} in each run.",
                seconds(*first)
            )
        }
        ([(first, of_first), rest @ ..], _) => {
            let (last, of_last) = rest.last().unwrap_or(&(*first, of_first));
            format!(
                "Everything is done and written after {} ({}) to {} ({}).",
                seconds(*first),
                of_first.label,
                seconds(*last),
                of_last.label
            )
        }
    };
    let ended = format!("{never} of {} runs ended before that.", runs.len());
    let details = (never > 0 && !all.is_empty()).then_some(ended);
    (headline, details.into_iter().collect())
}
