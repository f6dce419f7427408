//! Random scenarios: every part that a table has, knobs at both ends and between, drives of any
//! shape, every replay.
//!
//! A scenario is refused with an error, or it ends and its results hold together (`held`). Three
//! hundred fixed seeds run in every test; `make soak` runs any number of fresh ones. A failure
//! names its seed in a line that runs it again.

#![allow(
    clippy::print_stderr,
    reason = "a failure names its seed at once, whatever comes after it"
)]

mod drives;
mod held;
mod known;
mod made;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use nearslot_core::config;
use nearslot_core::registry::Of;
use nearslot_lab::run;
use nearslot_lab::sim::Control;
use nearslot_lab::warning::WarningKind;
use nearslot_lab::workload::Synthetic;

/// Scenarios of every test.
const FIXED: u64 = 300;
/// A scenario takes milliseconds. After this it is told to stop, and after twice as long it hangs
/// where nobody can tell it.
const PATIENCE: Duration = Duration::from_secs(100);

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} = {text} (allowed: a whole number from 0)")),
    )
}

/// The line that runs a scenario again.
fn again(seed: u64) -> String {
    format!(
        "NEARSLOT_SCENARIOS=1 NEARSLOT_SCENARIO_SEED={seed} cargo test --workspace --locked --test it scenarios::"
    )
}

/// Ends the test if a scenario does not end.
struct Watchdog {
    seed: Arc<AtomicU64>,
    /// Told once for each scenario; closed at the end.
    alive: mpsc::Sender<Arc<Control>>,
}

impl Watchdog {
    fn new() -> Watchdog {
        let (alive, heard) = mpsc::channel::<Arc<Control>>();
        let seed = Arc::new(AtomicU64::new(0));
        let of = Arc::clone(&seed);
        std::thread::spawn(move || {
            let mut control = None::<Arc<Control>>;
            let mut warned = false;
            loop {
                match heard.recv_timeout(PATIENCE) {
                    Ok(next) => (control, warned) = (Some(next), false),
                    Err(mpsc::RecvTimeoutError::Disconnected) => return,
                    Err(mpsc::RecvTimeoutError::Timeout) if warned => {
                        let seed = of.load(Ordering::Relaxed);
                        eprintln!(
                            "scenario {seed} does not end, and cannot be stopped: {}",
                            again(seed)
                        );
                        std::process::abort();
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        warned = control.is_some();
                        if let Some(control) = &control {
                            control.stop.store(true, Ordering::Relaxed);
                        }
                    }
                }
            }
        });
        Watchdog { seed, alive }
    }

    fn watch(&self, seed: u64) -> Arc<Control> {
        let control = Arc::new(Control::default());
        self.seed.store(seed, Ordering::Relaxed);
        self.alive.send(Arc::clone(&control)).expect("it listens");
        control
    }
}

/// What became of a scenario.
enum Fate {
    Ran,
    Refused(String),
}

/// Runs a scenario twice, with one thread and with three, and holds its results to what must be
/// true of any.
fn try_one(made: &made::Made, control: &Control) -> Fate {
    let (points, trace) = match made.load() {
        Ok(loaded) => loaded,
        Err(refusal) => return Fate::Refused(refusal),
    };
    let run = |jobs| {
        let wanted = run::Wanted {
            jobs: Some(jobs),
            ..run::Wanted::default()
        };
        run::compare(&points, trace.as_ref(), &wanted, control)
    };
    let (first, second) = (run(1), run(3));
    match (first, second) {
        (Ok(first), Ok(second)) => {
            let without = first.warnings.iter();
            let without = without.filter(|told| told.kind == WarningKind::NothingMeasured);
            let ended = first.runs.len() + without.count();
            assert_eq!(ended, points.len(), "it does not end");
            held::same(&first, &second);
            first
                .runs
                .iter()
                .for_each(|run| held::holds_together(run, made));
            Fate::Ran
        }
        (Err(run::RunError::Conservation { .. }), _) => panic!("requests got lost"),
        (Err(first), Err(second)) => {
            assert_eq!(first.to_string(), second.to_string());
            Fate::Refused(first.to_string())
        }
        (first, second) => panic!(
            "once refused, once not: {:?} {:?}",
            first.err(),
            second.err()
        ),
    }
}

/// Names of all parts, by kind, that scenarios have to meet.
fn all_parts() -> BTreeSet<String> {
    let kinds = config::KINDS.iter().map(|kind| kind.kind);
    let all = kinds.chain([Of::<Synthetic>::KIND]);
    let parts = all.flat_map(|kind| kind.parts().into_iter().map(move |part| (kind, part)));
    // Of the optimum no stack can be made.
    parts
        .map(|(kind, part)| format!("{} {}", kind.card().key, part.name))
        .filter(|part| part != "cache optimal")
        .collect()
}

#[test]
fn random_scenarios_are_refused_or_hold_together() {
    let asked = number("NEARSLOT_SCENARIOS");
    let first = number("NEARSLOT_SCENARIO_SEED").unwrap_or(1);
    let watchdog = Watchdog::new();
    let (mut failures, mut refusals, mut met) = (Vec::new(), Vec::new(), BTreeSet::new());
    for seed in first..first + asked.unwrap_or(FIXED) {
        let control = watchdog.watch(seed);
        let made = made::Made::new(seed);
        match catch_unwind(AssertUnwindSafe(|| try_one(&made, &control))) {
            Ok(Fate::Ran) => met.extend(made.parts()),
            Ok(Fate::Refused(why)) => refusals.push(format!("{seed}: {why}")),
            Err(_) => {
                eprintln!("scenario {seed} failed: {}\n{}", again(seed), made.text());
                failures.push(seed);
            }
        }
    }
    if std::env::var_os("NEARSLOT_SHOW_REFUSALS").is_some() {
        eprintln!("{}", refusals.join("\n"));
    }
    let lines: Vec<String> = failures.iter().map(|seed| again(*seed)).collect();
    assert!(
        failures.is_empty(),
        "{} failed:\n{}",
        failures.len(),
        lines.join("\n")
    );
    if asked.is_none() {
        // Else most of what is checked would be the checks of configurations.
        let most = FIXED as usize * 6 / 10;
        assert!(refusals.len() < most, "refused:\n{}", refusals.join("\n"));
        let never: Vec<String> = all_parts().difference(&met).cloned().collect();
        assert!(never.is_empty(), "parts that never ran: {never:?}");
    }
}
