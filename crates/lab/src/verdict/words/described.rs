//! One choice under several loads: what changes with them, and which of them are more than the
//! drives can do.

use super::{LISTED_MAX, Names, caveats, plain_key, ratio};
use crate::number::{list, number, times};
use crate::outcome::{Role, Run};

impl Names<'_> {
    /// Loads alone are varied: what changes with them. A mean is told only of loads that the drives
    /// keep up with; of the others it tells how long the load is, so their growth stands for it.
    pub(super) fn described(&self, runs: &[&Run]) -> String {
        let keeps_up = runs.iter().filter(|run| run.queue_growth_rps.is_none());
        let kept_up: Vec<&Run> = keeps_up.copied().collect();
        let rate: fn(&Run) -> f64 = |run| run.throughput_rps;
        let rate = self.extremes(["throughput", " goes"], runs, (rate, [" requests/s", ""]));
        let mut changes = vec![rate];
        match kept_up.as_slice() {
            [] => {}
            [run] => changes.push(format!(
                "mean response is {} ms (at {})",
                number(run.response_ms.mean),
                self.short(Role::Load, &run.load)
            )),
            kept_up => {
                let mean: fn(&Run) -> f64 = |run| run.response_ms.mean;
                changes.push(self.extremes(["mean response", ""], kept_up, (mean, [" ms", " ms"])));
            }
        }
        let what = self
            .only(Role::Load)
            .map_or("loads", |varied| plain_key(&varied.key));
        format!(
            "One choice under {} loads, by {what}: {}{}{}. Loads are not ranked against each other.",
            runs.len(),
            changes.join("; "),
            self.growths(runs),
            self.perhaps(runs),
        )
    }

    /// The least and the greatest of a quantity, each with its unit and its load; once if they read
    /// the same.
    fn extremes(
        &self,
        [what, goes]: [&str; 2],
        runs: &[&Run],
        (of, units): (fn(&Run) -> f64, [&str; 2]),
    ) -> String {
        let mut order = runs.to_vec();
        order.sort_by(|one, other| of(one).total_cmp(&of(other)));
        let (low, high) = (order[0], order[order.len() - 1]);
        let alike = number(of(low));
        if alike == number(of(high)) {
            return format!("{what} is {alike}{} at each load", units[0]);
        }
        format!(
            "{what}{goes} from {}{} (at {}) to {}{} (at {}), {}",
            number(of(low)),
            units[0],
            self.short(Role::Load, &low.load),
            number(of(high)),
            units[1],
            self.short(Role::Load, &high.load),
            times(ratio(of(high), of(low))),
        )
    }

    /// By how much the queue grew under loads that are too much.
    fn growths(&self, runs: &[&Run]) -> String {
        let told = runs.iter().filter_map(|run| {
            let growth = number(run.queue_growth_rps?);
            Some(format!(
                "{growth} requests/s (at {})",
                self.short(Role::Load, &run.load)
            ))
        });
        let told: Vec<String> = told.collect();
        let all = || format!("; the queue grows all along by {}", list(&told));
        few_or_many(told.len(), runs, "grows all along", all)
    }

    /// Under which loads the queue may grow, and so their means may tell how long they are.
    fn perhaps(&self, runs: &[&Run]) -> String {
        let may_grow = runs.iter().filter(|run| caveats::may_grow(run));
        let loads = may_grow.map(|run| self.short(Role::Load, &run.load).to_owned());
        let loads: Vec<String> = loads.collect();
        let all = || {
            format!(
                "; the queue may grow at {}, where the mean then tells how long the load is",
                list(&loads)
            )
        };
        few_or_many(loads.len(), runs, "may grow", all)
    }
}

/// What is told of some runs: each, or how many they are of all where they would be a long list.
fn few_or_many(told: usize, runs: &[&Run], what: &str, each: impl FnOnce() -> String) -> String {
    match told {
        0 => String::new(),
        1..=LISTED_MAX => each(),
        many => format!("; the queue {what} under {many} of {} loads", runs.len()),
    }
}
