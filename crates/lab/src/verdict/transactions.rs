//! What runs of transactions say: how many were committed in a second.
//!
//! Most of their requests are of the journal or go home later, and nobody waits for one of them
//! alone, so means of requests are not compared. Nor is a run whose journal gave up: what it has
//! committed is not what the others have. How far it came is told instead.

use crate::number::{counted, grouped, list, number};
use crate::outcome::Run;
use crate::workload::{MEASURED, gave_up};

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
    let (ended, mut all): (Vec<&Run>, Vec<&Run>) = runs.iter().partition(|run| gave_up(run));
    all.sort_by(|one, other| rate(other).total_cmp(&rate(one)));
    let told = |run: &Run| format!("{} ({})", number(rate(run)), run.label);
    let done = match &all[..] {
        [] => None,
        [run] if ended.is_empty() => Some(format!("{} transactions a second.", number(rate(run)))),
        all if all.len() <= RUNS_MAX => {
            let each: Vec<String> = all.iter().map(|run| told(run)).collect();
            Some(format!("Transactions a second: {}.", each.join(", ")))
        }
        all => {
            let [best, last] = [all[0], all[all.len() - 1]].map(told);
            Some(format!("Transactions a second go from {best} to {last}."))
        }
    };
    let told = done.into_iter().chain(early(&ended, runs.len()));
    (told.collect::<Vec<_>>().join(" "), Vec::new())
}

/// That the journal of these runs gave up, of so many, and how far they had come.
fn early(ended: &[&Run], all: usize) -> Option<String> {
    let came = |run: &Run| {
        let done = run.measure(MEASURED, "transactions");
        let done = done.map_or(0, |done| done.value() as u64);
        match run.config["load"]["transactions"].as_u64() {
            Some(all) => format!("after {} of {}", grouped(done), counted(all, "transaction")),
            None => format!("after {}", counted(done, "transaction")),
        }
    };
    let named = |run: &&Run| format!("{} ({})", came(run), run.label);
    match ended {
        [] => None,
        [run] if all == 1 => Some(format!("The journal gave up {}.", came(run))),
        few if few.len() <= RUNS_MAX => {
            let told: Vec<String> = few.iter().map(named).collect();
            Some(format!("The journal gave up {}.", list(&told)))
        }
        many => Some(format!(
            "The journal gave up in {} of {all} runs, in the first one {}.",
            many.len(),
            named(&many[0])
        )),
    }
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

    /// Runs whose drives go at these instants.
    fn without_drive(from: &[&str]) -> String {
        let text = "drive = 'hp-c2247a'
            sched = 'satf'
            workload = 'tpcb:transactions=100:branches=1:journal_blocks=128:work_us=1000'";
        let scenario = Scenario::from_toml(text, std::path::Path::new(".")).unwrap();
        let gone = |from: &&str| format!("injected:gone_at_s={from}");
        let vary = grid::Vary {
            key: "faults".to_owned(),
            values: from.iter().map(gone).collect(),
        };
        let points = grid::points(&scenario, &[vary]).unwrap();
        let results = compare(&points, None, &Wanted::default(), &Control::default());
        results.unwrap().verdict.headline
    }

    /// How soon a run did the first part of its work does not count against others that did all.
    #[test]
    fn a_run_whose_journal_gave_up_stands_in_no_order() {
        let one = without_drive(&["1"]);
        let begin = "The journal gave up after ";
        assert!(
            one.starts_with(begin) && one.contains(" of 100 transactions."),
            "{one}"
        );
        let both = without_drive(&["100", "1", "0.5"]);
        let rest = both.strip_prefix("Transactions a second: ").expect(&both);
        let (rates, ended) = rest.split_once(". ").expect(&both);
        assert!(
            !rates.contains(", ") && rates.contains("gone_at_s=100"),
            "{both}"
        );
        assert!(
            ended.starts_with(begin) && !ended.contains("gone_at_s=100"),
            "{both}"
        );
        assert!(
            ended.contains("gone_at_s=1)") && ended.contains("gone_at_s=0.5)"),
            "{both}"
        );
        let many = without_drive(&["1", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6"]);
        assert!(
            many.starts_with("The journal gave up in 7 of 7 runs, in the first one after "),
            "{many}"
        );
    }
}
