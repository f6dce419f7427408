//! What runs of transactions say: how many were committed in a second.
//!
//! Most of their requests are of the journal or go home later, and nobody waits for one of them alone, so means of requests are not compared.

use crate::number::number;
use crate::outcome::Run;
use crate::workload::MEASURED;

/// Runs that are told one by one; of more, the best and the last.
const RUNS_MAX: usize = 6;

/// Transactions a second.
fn rate(run: &Run) -> f64 {
    let found = run.measure(MEASURED, "transactions_s");
    found.map_or(0.0, |found| found.value())
}

/// Whether all of these are runs of transactions.
pub(super) fn are_all(runs: &[&Run]) -> bool {
    !runs.is_empty() && runs.iter().all(|run| run.has(MEASURED, "transactions"))
}

/// The headline; there is nothing else to say.
pub(super) fn sentences(runs: &[&Run]) -> (String, Vec<String>) {
    let mut all = runs.to_vec();
    all.sort_by(|one, other| rate(other).total_cmp(&rate(one)));
    let told = |run: &Run| format!("{} ({})", number(rate(run)), run.label);
    let headline = match &all[..] {
        [run] => format!("{} transactions a second.", number(rate(run))),
        all if all.len() <= RUNS_MAX => {
            let each: Vec<String> = all.iter().map(|run| told(run)).collect();
            format!("Transactions a second: {}.", each.join(", "))
        }
        all => {
            let [best, last] = [all[0], all[all.len() - 1]].map(told);
            format!("Transactions a second go from {best} to {last}.")
        }
    };
    (headline, Vec::new())
}

#[cfg(test)]
mod tests {
    use crate::grid;
    use crate::run::{Wanted, compare};
    use crate::scenario::Scenario;
    use crate::sim::Control;

    fn headline(values: &[&str]) -> String {
        let text = "drive = 'hp-c2247a'\nsched = 'satf'
            workload = 'tpcb:transactions=100:branches=1:journal_blocks=128:work_us=1000'";
        let scenario = Scenario::from_toml(text, std::path::Path::new(".")).unwrap();
        let vary = grid::Vary {
            key: "clients".to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        };
        let points = grid::points(&scenario, &[vary]).unwrap();
        let results = compare(&points, None, &Wanted::default(), &Control::default());
        results.unwrap().verdict.headline
    }

    #[test]
    fn the_headline_tells_transactions_and_the_best_first() {
        let one = headline(&["4"]);
        assert!(one.ends_with(" transactions a second."), "{one}");
        let few = headline(&["1", "4", "2"]);
        assert!(few.starts_with("Transactions a second: "), "{few}");
        let order = ["(clients=4), ", "(clients=2), ", "(clients=1)."].map(|at| few.find(at));
        assert!(order.is_sorted() && order[0].is_some(), "{few}");
        let many = headline(&["1", "2", "3", "4", "5", "6", "7"]);
        assert!(many.starts_with("Transactions a second go from "), "{many}");
        assert!(many.ends_with("(clients=1)."), "{many}");
    }
}
