//! Verdicts over made-up runs: what they rank, what they say, and what they leave undecided.

mod beside;
mod failing;
mod loads;
mod one_load;

use super::*;
use nearslot_core::config::KINDS;

use crate::measure::{Recorder, Window};
use crate::outcome::Times;
use crate::scenario::keys::role;
use nearslot_core::units::Instant;

/// Noise that all runs of a load share, and that is larger than what they differ by.
fn noise(batch: usize) -> f64 {
    ((batch * 7) % 5) as f64
}

/// A run of this load and choice with batch means around `mean`; `own` is what it has of noise for
/// itself.
fn run(load: &str, choice: &str, mean: f64, own: f64) -> (Run, Basis) {
    let window = Window {
        requests: 1_000,
        warmup: 0,
    };
    let config = serde_json::json!({});
    let mut run =
        Recorder::new(window, 1, None).finish(Instant(1), format!("{choice} {load}"), config);
    run.load = load.to_owned();
    run.choice = choice.to_owned();
    run.throughput_rps = 1_000.0 / mean;
    run.response_ms.mean = mean;
    let sign = |batch: usize| if batch.is_multiple_of(2) { own } else { -own };
    let batches = std::array::from_fn(|batch| mean + noise(batch) - 2.0 + sign(batch));
    let basis = Basis {
        batches_ms: Some(batches),
        measured: 1_000,
        failed: 0,
        ..Basis::default()
    };
    (run, basis)
}

fn varied(words: &[(&str, &[&str])]) -> Vec<Varied> {
    let one = |(key, values): &(&str, &[&str])| Varied {
        key: (*key).to_owned(),
        role: role(KINDS, key),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    words.iter().map(one).collect()
}

fn judged(runs: &[(Run, Basis)], varied: &[Varied], baseline: Option<&str>) -> Verdict {
    let judged: Vec<Judged<'_>> = runs.iter().map(|(run, basis)| (run, basis)).collect();
    of(&judged, varied, baseline.map(str::to_owned))
}

fn schedulers(means: &[(&str, f64, f64)]) -> (Vec<(Run, Basis)>, Vec<Varied>) {
    let runs = means
        .iter()
        .map(|(name, mean, own)| run("", &format!("sched={name}"), *mean, *own));
    let values: Vec<&str> = means.iter().map(|(name, ..)| *name).collect();
    (runs.collect(), varied(&[("sched", &values)]))
}

fn ranked(verdict: &Verdict) -> Vec<(usize, &str)> {
    let ranks = verdict.rankings[0].ranks.iter();
    ranks
        .map(|rank| (rank.place, rank.choice.strip_prefix("sched=").unwrap()))
        .collect()
}

/// Sets the 99th percentile with its interval.
fn tail(run: &mut Run, p99: f64, half: f64) {
    run.response_ms.p99 = Some(p99);
    run.response_ms.p99_ci95 = Some([p99 - half, p99 + half]);
}

/// Two loads, under both of which satf is faster; under the second its tail is longer.
fn longer_tail_at_8() -> (Vec<(Run, Basis)>, Vec<Varied>) {
    let mut runs = Vec::new();
    for depth in ["1", "8"] {
        runs.push(run(&format!("depth={depth}"), "sched=fcfs", 10.0, 0.0));
        runs.push(run(&format!("depth={depth}"), "sched=satf", 9.0, 0.01));
    }
    tail(&mut runs[2].0, 30.0, 4.0);
    tail(&mut runs[3].0, 50.0, 4.0);
    (
        runs,
        varied(&[("sched", &["fcfs", "satf"]), ("depth", &["1", "8"])]),
    )
}
