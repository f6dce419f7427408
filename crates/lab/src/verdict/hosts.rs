//! What runs of hosts say: how long the application took until it was up, or else how many rounds were late, or what processes read and wrote.
//!
//! Which requests there are hangs on the answers, so means of requests are not compared; no run is ranked by them.

use crate::host::KEY;
use crate::number::{list, number, seconds};
use crate::outcome::Run;

/// Loads that are told one by one; of more, where to look.
const LOADS_MAX: usize = 4;

/// A number that a host has measured.
fn of(run: &Run, name: &str) -> Option<f64> {
    run.measure(KEY, name).map(|number| number.value())
}

/// Whether all of these are runs of hosts.
pub(super) fn are_all(runs: &[&Run]) -> bool {
    !runs.is_empty() && runs.iter().all(|run| !run.processes.is_empty())
}

/// The headline.
pub(super) fn headline(runs: &[&Run]) -> String {
    if let [run] = runs {
        return format!("{}.", capital(&alone(run)));
    }
    let mut loads: Vec<&str> = Vec::new();
    for run in runs {
        if !loads.contains(&run.load.as_str()) {
            loads.push(&run.load);
        }
    }
    let told = loads.iter().take(LOADS_MAX).map(|load| {
        let those: Vec<&Run> = runs
            .iter()
            .copied()
            .filter(|run| run.load == *load)
            .collect();
        let said = under(&those);
        match load.is_empty() {
            true => format!("{}.", capital(&said)),
            false => format!("Under {load}: {said}."),
        }
    });
    let told: Vec<String> = told.collect();
    let more = match loads.len().saturating_sub(LOADS_MAX) {
        0 => String::new(),
        more => format!(" {more} more loads stand in the table."),
    };
    format!("{}{more}", told.join(" "))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// What one run says.
fn alone(run: &Run) -> String {
    match (of(run, "startup_s"), of(run, "not_up")) {
        (Some(_), _) => format!("the application is up after {}", after(run)),
        (None, Some(_)) => format!("the application {}", not_up(&[run])),
        (None, None) => without(run),
    }
}

/// After how long an application was up; of several start-ups the mean, how many these were, and how many were not up.
fn after(run: &Run) -> String {
    let took = seconds(of(run, "startup_s").unwrap_or(0.0));
    let count = |name: &str| of(run, name).unwrap_or(0.0);
    match (count("up"), count("not_up")) {
        (up, 0.0) if up < 2.0 => took,
        (up, 0.0) => format!("{took} on average over {up} start-ups"),
        (up, not) => format!("{took} on average over {up} of {} start-ups", up + not),
    }
}

/// Why it was not up, whichever of these one looks at.
fn not_up(runs: &[&Run]) -> &'static str {
    let failed = |run: &&Run| of(run, "failed").is_some_and(|failed| failed > 0.0);
    match runs.iter().any(failed) {
        true => "was not up when the run ended, or requests of it failed",
        false => "was not up when the run ended",
    }
}

/// The same of a run without an application.
fn without(run: &Run) -> String {
    let moved = |name: &str| number(of(run, name).unwrap_or(0.0));
    let moves = format!(
        "processes read {} and write {} MB/s, of memory and drives; drives move {}",
        moved("read_mb_s"),
        moved("written_mb_s"),
        number(run.throughput_mb_s)
    );
    match of(run, "late_percent") {
        Some(late) => format!(
            "{} % of the rounds with a time of their own were late; {moves}",
            number(late)
        ),
        None => moves,
    }
}

/// What the runs under one load say.
fn under(runs: &[&Run]) -> String {
    if !runs.iter().any(|run| of(run, "not_up").is_some()) {
        let said = runs
            .iter()
            .map(|run| format!("{}: {}", name(run), without(run)));
        return said.collect::<Vec<_>>().join("; ");
    }
    let (mut up, down): (Vec<&Run>, Vec<&Run>) =
        runs.iter().partition(|run| of(run, "startup_s").is_some());
    let took = |run: &Run| of(run, "startup_s").unwrap_or(0.0);
    up.sort_by(|one, other| took(one).total_cmp(&took(other)));
    let up = together(&up);
    let names: Vec<String> = down.iter().map(|run| name(run)).collect();
    match (up.is_empty(), down.is_empty()) {
        (true, _) => "the application was not up with any of them".to_owned(),
        (false, true) => format!("the application is up after {}", up.join(", ")),
        (false, false) => format!(
            "the application is up after {}; with {} it {}",
            up.join(", "),
            list(&names),
            not_up(&down)
        ),
    }
}

/// After how long it was up, each time once, with all that took so long.
fn together(up: &[&Run]) -> Vec<String> {
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for run in up {
        let after = after(run);
        match told.last_mut().filter(|(last, _)| *last == after) {
            Some((_, names)) => names.push(name(run)),
            None => told.push((after, vec![name(run)])),
        }
    }
    let told = told.into_iter();
    told.map(|(after, names)| format!("{after} with {}", list(&names)))
        .collect()
}

/// What answers, in a word.
fn name(run: &Run) -> String {
    match run.choice.as_str() {
        "" => run.label.clone(),
        choice => choice.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::outcome::{Number, ProcessFound};

    fn run((load, choice): (&str, &str), numbers: &[(&str, f64)]) -> Run {
        let numbers = numbers
            .iter()
            .map(|(name, number)| ((*name).to_owned(), Number::Quantity(*number)));
        Run {
            load: load.to_owned(),
            choice: choice.to_owned(),
            label: format!("{load} {choice}"),
            processes: vec![ProcessFound::default()],
            measures: BTreeMap::from([(KEY.to_owned(), numbers.collect())]),
            ..Run::default()
        }
    }

    fn told(runs: &[Run]) -> String {
        headline(&runs.iter().collect::<Vec<_>>())
    }

    #[test]
    fn who_is_up_is_told_in_the_order_of_how_soon_and_who_is_not_behind_that() {
        let none = run(("", "sched=none"), &[("not_up", 1.0)]);
        let bfq = run(("", "sched=bfq"), &[("not_up", 0.0), ("startup_s", 1.5)]);
        let cfq = run(("", "sched=cfq"), &[("not_up", 0.0), ("startup_s", 30.0)]);
        assert_eq!(
            told(std::slice::from_ref(&bfq)),
            "The application is up after 1.5 s."
        );
        assert_eq!(
            told(std::slice::from_ref(&none)),
            "The application was not up when the run ended."
        );
        assert_eq!(
            told(&[none.clone(), cfq, bfq.clone()]),
            "The application is up after 1.5 s with sched=bfq, 30 s with sched=cfq; with sched=none it was not up when the run ended."
        );
        let other = Run {
            load: "seed=2".to_owned(),
            ..bfq.clone()
        };
        let first = Run {
            load: "seed=1".to_owned(),
            ..none
        };
        assert_eq!(
            told(&[first, other]),
            "Under seed=1: the application was not up with any of them. Under seed=2: the application is up after 1.5 s with sched=bfq."
        );
    }

    #[test]
    fn several_start_ups_are_told_by_their_mean_and_equals_together() {
        let twice = [("not_up", 0.0), ("up", 2.0), ("startup_s", 1.5)];
        let fell = [("not_up", 1.0), ("up", 1.0), ("startup_s", 3.0)];
        let failed = [("not_up", 1.0), ("up", 0.0), ("failed", 7.0)];
        let runs = [
            run(("", "a"), &twice),
            run(("", "b"), &fell),
            run(("", "c"), &twice),
            run(("", "d"), &failed),
        ];
        assert_eq!(
            told(&runs),
            "The application is up after 1.5 s on average over 2 start-ups with a and c, 3 s on average over 1 of 2 start-ups with b; with d it was not up when the run \
             ended, or requests of it failed."
        );
    }

    #[test]
    fn without_an_application_it_is_told_what_was_late_and_what_was_moved() {
        let moved = [("read_mb_s", 80.0), ("written_mb_s", 0.0)];
        assert_eq!(
            told(&[run(("", ""), &moved)]),
            "Processes read 80.00 and write 0.000 MB/s, of memory and drives; drives move 0.000."
        );
        let late = [
            ("read_mb_s", 80.0),
            ("written_mb_s", 2.0),
            ("late_percent", 25.0),
        ];
        assert_eq!(
            told(&[run(("", "a"), &late), run(("", "b"), &moved)]),
            "A: 25.00 % of the rounds with a time of their own were late; processes read 80.00 and write 2.000 MB/s, of memory and drives; \
             drives move 0.000; b: processes read 80.00 and write 0.000 MB/s, of memory and drives; drives move 0.000."
        );
    }
}
