//! Verdicts over made-up runs: what they rank, what they say, and what they leave undecided.

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

/// A run of this load and choice with batch means around `mean`; `own` is what it has of noise for itself.
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

#[test]
fn a_headline_says_that_requests_failed() {
    let (mut runs, varied) = schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0)]);
    let headline = |runs: &[(Run, Basis)]| judged(runs, &varied, None).headline;
    assert!(!headline(&runs).contains("failed"));
    for (run, _) in &mut runs {
        run.requests = 1_000;
    }
    runs[0].0.failed = [("medium".to_owned(), 4)].into();
    runs[1].0.failed = [("gone".to_owned(), 2), ("medium".to_owned(), 5)].into();
    let told = headline(&runs);
    let most = "most in sched=satf  (7 of 1000)";
    let expected =
        format!(" Requests failed in 2 of 2 runs, {most}; what is said is of the others.");
    assert!(told.starts_with("satf wins"), "{told}");
    assert!(told.ends_with(&expected), "{told}");
    let told = headline(&runs[1..]);
    let expected = " 7 of 1000 requests failed; what is said is of the others.";
    assert!(told.ends_with(expected), "{told}");
}

#[test]
fn a_choice_that_fails_clearly_more_requests_does_not_win() {
    let (mut runs, keys) =
        schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0), ("look", 7.0, 0.0)]);
    let mut failed = |count: [u64; 3]| {
        for ((_, basis), count) in runs.iter_mut().zip(count) {
            (basis.measured, basis.failed) = (10_000, count);
        }
        judged(&runs, &keys, Some("sched=fcfs")).headline
    };
    let told = failed([0, 90, 2]);
    let expected = "None wins: satf failed 0.900 % of its requests, fcfs 0.000 %; of those that were answered it has the lowest mean, \
                    5.000 ms against 10.00.";
    assert!(told.starts_with(expected), "{told}");
    // Of ten thousand requests, four and ten may be of one chance; four and twelve are hardly.
    assert!(failed([4, 10, 10]).starts_with("satf wins"));
    assert!(failed([90, 90, 90]).starts_with("satf wins"));
    assert!(failed([4, 13, 13]).starts_with("None wins"));

    let mut runs = Vec::new();
    for depth in ["1", "8"] {
        runs.push(run(&format!("depth={depth}"), "sched=fcfs", 10.0, 0.0));
        runs.push(run(&format!("depth={depth}"), "sched=satf", 9.0, 0.01));
    }
    runs[3].1.failed = 10;
    let keys = varied(&[("sched", &["fcfs", "satf"]), ("depth", &["1", "8"])]);
    let verdict = judged(&runs, &keys, Some("sched=fcfs"));
    let expected = "satf wins at depth 1: 1.11× as fast as fcfs at 1.";
    assert!(
        verdict.headline.starts_with(expected),
        "{}",
        verdict.headline
    );
    let expected = "At depth 8 none wins, as satf, with the lowest mean, failed a greater share of its requests than fcfs";
    assert!(
        verdict.details[0].starts_with(expected),
        "{:?}",
        verdict.details
    );
    for (_, basis) in &mut runs[2..] {
        basis.failed = 11;
    }
    let verdict = judged(&runs, &keys, Some("sched=fcfs"));
    let expected = "At depth 8 none wins, as each choice failed more than 1 % of its requests.";
    assert_eq!(verdict.details, [expected]);
    runs[2].1.failed = 0;
    runs[2].0.queue_growth_rps = Some(100.0);
    let verdict = judged(&runs, &keys, Some("sched=fcfs"));
    let expected =
        "At depth 8 none keeps up: the queue grows, or more than 1 % of requests failed.";
    assert_eq!(verdict.details, [expected]);
}

/// What is said of three choices, of which so many of a thousand requests failed.
fn of_failing(failed: [u64; 3], grows: bool) -> Verdict {
    let (mut runs, keys) =
        schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0), ("look", 7.0, 0.0)]);
    for ((_, basis), failed) in runs.iter_mut().zip(failed) {
        basis.failed = failed;
    }
    runs[0].0.queue_growth_rps = grows.then_some(100.0);
    judged(&runs, &keys, Some("sched=fcfs"))
}

fn ranked(verdict: &Verdict) -> Vec<(usize, &str)> {
    let ranks = verdict.rankings[0].ranks.iter();
    ranks
        .map(|rank| (rank.place, rank.choice.strip_prefix("sched=").unwrap()))
        .collect()
}

#[test]
fn a_choice_that_failed_many_of_its_requests_is_behind_all_others() {
    let verdict = of_failing([0, 450, 2], false);
    assert_eq!(ranked(&verdict), [(1, "look"), (2, "fcfs"), (3, "satf")]);
    let told = "look wins: 7.000 ms on average, 1.43× as fast as fcfs (by 3.000 to 3.000 ms, with 95 % confidence).";
    assert_eq!(verdict.headline, told);
    let last = &verdict.rankings[0].ranks[2];
    let against = last.against_best.unwrap();
    assert_eq!(
        (against.word, against.ms, last.ratio_to_best),
        (Word::Failed, None, None)
    );
    // One in a hundred is not more than that.
    let order = |failed| of_failing(failed, false);
    assert_eq!(
        ranked(&order([0, 10, 2])),
        [(1, "satf"), (2, "look"), (3, "fcfs")]
    );
    assert_eq!(
        ranked(&order([0, 11, 2])),
        [(1, "look"), (2, "fcfs"), (3, "satf")]
    );
    let alone = order([0, 910, 990]).headline;
    let told = "fcfs wins: 10.00 ms on average; under the others more than 1 % of requests failed.";
    assert_eq!(alone, told);
    let both = of_failing([0, 2, 990], true).headline;
    let told = "satf wins: 5.000 ms on average; it alone keeps up, under the others the queue grows or more than 1 % of requests failed.";
    assert_eq!(both, told);
    // Nor is its p99 held against that of the winner.
    let (mut runs, keys) = schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0)]);
    runs[0].0.response_ms.p99_ci95 = Some([90.0, 95.0]);
    runs[1].0.response_ms.p99_ci95 = Some([40.0, 45.0]);
    runs[1].1.failed = 450;
    let told = "fcfs wins: 10.00 ms on average; under the others more than 1 % of requests failed.";
    assert_eq!(judged(&runs, &keys, None).headline, told);
    // Of a baseline that failed many there is nothing to be compared with.
    let verdict = order([910, 0, 0]);
    let against = verdict.rankings[0].ranks[0].against_baseline.unwrap();
    assert_eq!((against.word, against.ms), (Word::OtherFailed, None));
    let told = "satf wins: 5.000 ms on average; the next, look, takes 1.40× as long";
    assert!(verdict.headline.starts_with(told), "{}", verdict.headline);
}

#[test]
fn an_overloaded_choice_is_told_once_beside_those_that_failed() {
    // That the queue of one that failed many does not grow is no wonder.
    let verdict = of_failing([0, 910, 900], true);
    assert_eq!(ranked(&verdict), [(1, "fcfs"), (2, "look"), (3, "satf")]);
    let told = "None keeps up: the queue grows by 100.0 requests a second under fcfs; all others failed more than 1 % of their requests; \
                response times tell how long the load is.";
    assert_eq!(verdict.headline, told);
}

#[test]
fn choices_that_all_failed_many_are_in_the_order_of_how_many() {
    let verdict = of_failing([110, 250, 900], false);
    assert_eq!(ranked(&verdict), [(1, "fcfs"), (2, "satf"), (3, "look")]);
    for rank in &verdict.rankings[0].ranks {
        assert_eq!(rank.ratio_to_best, None);
        for against in [rank.against_best, rank.against_baseline].iter().flatten() {
            let told = (against.word, against.ms, against.ci95_ms);
            assert_eq!(told, (Word::Failed, None, None));
        }
    }
    let told = "None wins: each failed more than 1 % of its requests, from 11.00 % (fcfs) to 90.00 % (look); those that were answered are \
                not compared.";
    assert_eq!(verdict.headline, told);
    assert_eq!(verdict.details.len(), 0);
    // Those that failed as many share a place.
    let verdict = of_failing([110, 110, 20], true);
    assert_eq!(ranked(&verdict), [(1, "look"), (2, "fcfs"), (2, "satf")]);
}

#[test]
fn those_that_do_the_same_are_held_against_the_baseline() {
    let (runs, keys) = schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0), ("look", 5.0, 0.0)]);
    let verdict = judged(&runs, &keys, Some("sched=fcfs"));
    assert_eq!(
        verdict.headline,
        "satf and look do the same: 5.000 ms on average; all others are slower."
    );
    let told = "Each is 2.00× as fast as fcfs (by 5.000 to 5.000 ms, with 95 % confidence).";
    assert_eq!(verdict.details, [told]);
    let verdict = judged(&runs[1..], &keys, Some("sched=satf"));
    assert_eq!(
        (verdict.headline.as_str(), verdict.details.len()),
        ("All choices do the same: 5.000 ms on average.", 0)
    );
}

#[test]
fn a_run_without_an_interval_takes_none_from_the_others() {
    let all = [("fcfs", 10.0, 0.0), ("satf", 5.0, 0.01), ("look", 7.0, 0.0)];
    let without = |lacking: &[usize]| {
        let (mut runs, keys) = schedulers(&all);
        for index in lacking {
            runs[*index].1.batches_ms = None;
        }
        judged(&runs, &keys, None).headline
    };
    assert_eq!(
        without(&[2]),
        "satf wins: 5.000 ms on average; the next, fcfs, takes 2.00× as long (by 4.996 to 5.004 ms); of look there are too few answers \
         to tell."
    );
    assert_eq!(
        without(&[1]),
        "Of satf, which has the lowest mean, 5.000 ms, there are too few answers to tell."
    );
    assert_eq!(
        without(&[0, 2]),
        "satf has the lowest mean, 5.000 ms; of look and fcfs there are too few answers to tell."
    );
    assert_eq!(
        without(&[0, 1, 2]),
        "Too few requests to tell: satf has the lowest mean, 5.000 ms."
    );
    let (mut runs, keys) =
        schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0), ("look", 5.1, 3.0)]);
    runs[0].1.batches_ms = None;
    assert_eq!(
        judged(&runs, &keys, None).headline,
        "Undecided between satf and look: 5.000 and 5.100 ms on average; of fcfs there are too few answers to tell."
    );
}

#[test]
fn a_difference_beyond_noise_is_told_from_noise() {
    // Both share noise of several milliseconds; pairing removes it.
    let (runs, varied) = schedulers(&[
        ("fcfs", 10.0, 0.0),
        ("satf", 9.9, 0.01),
        ("look", 9.95, 3.0),
    ]);
    let verdict = judged(&runs, &varied, Some("sched=fcfs"));
    let ranks = &verdict.rankings[0].ranks;
    let names: Vec<&str> = ranks.iter().map(|rank| rank.choice.as_str()).collect();
    assert_eq!(names, ["sched=satf", "sched=look", "sched=fcfs"]);
    let satf = ranks[0].against_baseline.unwrap();
    assert_eq!((satf.word, ranks[0].against_best), (Word::Faster, None));
    let [low, high] = satf.ci95_ms.unwrap();
    assert!(low < -0.1, "{low} {high}");
    assert!(-0.1 < high, "{low} {high}");
    assert!(high < 0.0, "{low} {high}");
    let look = ranks[1].against_best.unwrap();
    assert_eq!(
        (look.word, ranks[1].against_baseline.unwrap().word),
        (Word::Undecided, Word::Undecided)
    );
    assert_eq!(ranks[2].against_baseline, None);
    assert_eq!(ranks[2].against_best.unwrap().word, Word::Slower);
    assert_eq!(
        verdict.headline,
        "Undecided between satf and look: 9.900 and 9.950 ms on average; all others are slower, by at most 1.0 %."
    );
}

#[test]
fn a_winner_is_held_against_the_baseline() {
    let (runs, varied) = schedulers(&[
        ("fcfs", 20.0, 0.0),
        ("satf", 10.0, 0.01),
        ("look", 12.0, 0.01),
    ]);
    let verdict = judged(&runs, &varied, Some("sched=fcfs"));
    let told = "satf wins: 10.00 ms on average, 2.00× as fast as fcfs (by 9.996 to 10.00 ms, with 95 % confidence).";
    assert_eq!(verdict.headline, told);
    assert_eq!(
        verdict.details,
        ["The next, look, takes 1.20× as long (by 2.000 to 2.000 ms)."]
    );
    let against_best = judged(&runs, &varied, Some("sched=satf")).headline;
    assert_eq!(
        against_best,
        "satf wins: 10.00 ms on average; the next, look, takes 1.20× as long (by 2.000 to 2.000 ms)."
    );
}

#[test]
fn only_runs_of_one_load_are_ranked() {
    let mut runs = Vec::new();
    for (depth, fcfs, satf) in [("1", 7.9, 7.9), ("4", 31.0, 26.0), ("32", 250.0, 159.0)] {
        runs.push(run(&format!("depth={depth}"), "sched=fcfs", fcfs, 0.0));
        runs.push(run(&format!("depth={depth}"), "sched=satf", satf, 0.0));
    }
    let varied = varied(&[("sched", &["fcfs", "satf"]), ("depth", &["1", "4", "32"])]);
    let verdict = judged(&runs, &varied, Some("sched=fcfs"));
    assert_eq!(verdict.rankings.len(), 3);
    for ranking in &verdict.rankings {
        assert!(
            ranking
                .ranks
                .iter()
                .all(|rank| runs[rank.run].0.load == ranking.load)
        );
        assert_eq!(ranking.ranks.len(), 2);
    }
    assert_eq!(
        verdict.headline,
        "satf wins at every depth above 1: 1.19× as fast as fcfs at 4, 1.57× at 32."
    );
    assert_eq!(verdict.details, ["At depth 1 all choices do the same."]);
    assert_eq!(
        verdict.rankings[0].ranks[1].against_best.unwrap().word,
        Word::Equal
    );
}

#[test]
fn a_win_is_only_said_where_the_interval_excludes_equality() {
    let mut runs = Vec::new();
    for (depth, fcfs, satf, own) in [
        ("2", 15.0, 14.9, 4.0),
        ("4", 31.0, 26.0, 0.1),
        ("8", 60.0, 61.0, 0.1),
    ] {
        runs.push(run(&format!("depth={depth}"), "sched=fcfs", fcfs, 0.0));
        runs.push(run(&format!("depth={depth}"), "sched=satf", satf, own));
    }
    let varied = varied(&[("depth", &["2", "4", "8"]), ("sched", &["fcfs", "satf"])]);
    let verdict = judged(&runs, &varied, Some("sched=fcfs"));
    let all = [vec![verdict.headline], verdict.details].concat();
    let expected = [
        "satf wins at depth 4: 1.19× as fast as fcfs at 4.",
        "fcfs wins at depth 8: 1.02× as fast as the next at 8.",
        "At depth 2 it is undecided between satf and fcfs.",
    ];
    assert_eq!(all, expected);
}

#[test]
fn loads_that_tell_something_come_first_and_leaders_are_held_against_the_baseline() {
    let mut runs = Vec::new();
    for (depth, fcfs, look, satf) in [
        ("1", 8.0, 8.0, 8.0),
        ("4", 30.0, 25.0, 24.9),
        ("8", 60.0, 48.0, 47.9),
    ] {
        let load = format!("depth={depth}");
        runs.push(run(&load, "sched=fcfs", fcfs, 0.0));
        runs.push(run(&load, "sched=look", look, 0.0));
        let own = if depth == "1" { 0.0 } else { 3.0 };
        runs.push(run(&load, "sched=satf", satf, own));
    }
    let varied = varied(&[
        ("depth", &["1", "4", "8"]),
        ("sched", &["fcfs", "look", "satf"]),
    ]);
    let verdict = judged(&runs, &varied, Some("sched=fcfs"));
    assert_eq!(
        verdict.headline,
        "At every depth above 1 it is undecided between satf and look, the first of them 1.20× to 1.25× as fast as fcfs."
    );
    assert_eq!(verdict.details, ["At depth 1 all choices do the same."]);
}

#[test]
fn several_keys_of_the_load_are_named_in_full() {
    let mut runs = Vec::new();
    for seed in ["1", "2"] {
        for depth in ["1", "8"] {
            let load = format!("depth={depth} seed={seed}");
            runs.push(run(&load, "sched=fcfs", 10.0, 0.0));
            runs.push(run(
                &load,
                "sched=satf",
                if depth == "1" { 10.0 } else { 8.0 },
                0.0,
            ));
        }
    }
    let varied = varied(&[
        ("seed", &["1", "2"]),
        ("depth", &["1", "8"]),
        ("sched", &["fcfs", "satf"]),
    ]);
    let verdict = judged(&runs, &varied, Some("sched=fcfs"));
    let told = "satf wins at depth=8 seed=1 and depth=8 seed=2: 1.25× as fast as fcfs at depth=8 seed=1, 1.25× at \
                depth=8 seed=2.";
    assert_eq!(verdict.headline, told);
}

#[test]
fn loads_alone_are_described_not_ranked() {
    let runs = vec![
        run("depth=1", "sched=satf", 8.0, 0.0),
        run("depth=8", "sched=satf", 40.0, 0.0),
    ];
    let varied = varied(&[("depth", &["1", "8"])]);
    let verdict = judged(&runs, &varied, None);
    assert_eq!((verdict.rankings.len(), verdict.baseline), (0, None));
    assert!(
        verdict
            .headline
            .contains("mean response from 8.000 ms (at 1) to 40.00 ms (at 8), 5.00×"),
        "{}",
        verdict.headline
    );
    assert!(!verdict.headline.contains("wins"), "{}", verdict.headline);
}

#[test]
fn means_under_growing_queues_are_not_described() {
    let mut runs = vec![
        run("depth=1", "sched=satf", 8.0, 0.0),
        run("depth=8", "sched=satf", 40.0, 0.0),
        run("depth=9", "sched=satf", 14_895.0, 0.0),
    ];
    runs[2].0.queue_growth_rps = Some(150.1);
    let varied = varied(&[("depth", &["1", "8", "9"])]);
    let told = judged(&runs, &varied, None).headline;
    let expected = "mean response from 8.000 ms (at 1) to 40.00 ms (at 8), 5.00×; the queue grows by 150.1 requests/s (at 9). Loads";
    assert!(told.contains(expected), "{told}");
    runs.remove(1);
    let told = judged(&runs, &varied, None).headline;
    let expected =
        "mean response is 8.000 ms (at 1); the queue grows by 150.1 requests/s (at 9). Loads";
    assert!(told.contains(expected), "{told}");
    runs[0].0.queue_growth_rps = Some(2.5);
    let told = judged(&runs, &varied, None).headline;
    let expected =
        "; the queue grows by 2.500 requests/s (at 1) and 150.1 requests/s (at 9). Loads";
    assert!(told.contains(expected), "{told}");
    assert!(!told.contains("mean response"), "{told}");
}

#[test]
fn a_single_run_is_not_ranked_and_too_few_requests_tell_nothing() {
    let (mut runs, varied) = schedulers(&[("fcfs", 20.0, 0.0), ("satf", 10.0, 0.0)]);
    let alone = judged(&runs[..1], &[], None);
    assert!(alone.rankings.is_empty(), "{alone:?}");
    assert_eq!(
        alone.headline,
        "20.00 ms on average (too few requests, or too uneven ones, to say how sure that is), 50.00 requests/s."
    );
    runs[0].0.pending = 9;
    assert_eq!(
        judged(&runs[..1], &[], None).headline,
        "20.00 ms on average (interrupted, and part of a run has no interval), 50.00 requests/s."
    );
    runs[0].0.pending = 0;
    for (_, batches) in &mut runs {
        batches.batches_ms = None;
    }
    let verdict = judged(&runs, &varied, Some("sched=fcfs"));
    let against = verdict.rankings[0].ranks[0].against_baseline.unwrap();
    assert_eq!(
        (against.ms, against.ci95_ms, against.word),
        (Some(-10.0), None, Word::TooFew)
    );
    assert_eq!(
        verdict.headline,
        "Too few requests to tell: satf has the lowest mean, 10.00 ms."
    );
    assert_eq!(judged(&[], &varied, None).headline, "No run was finished.");
}

#[test]
fn under_a_growing_queue_no_mean_is_compared() {
    let (mut runs, varied) = schedulers(&[
        ("fcfs", 20.0, 0.0),
        ("look", 10.0, 0.0),
        ("satf", 30.0, 0.0),
    ]);
    runs[0].0.queue_growth_rps = Some(812.0);
    runs[1].0.queue_growth_rps = Some(400.0);
    let verdict = judged(&runs, &varied, Some("sched=fcfs"));
    let ranks = &verdict.rankings[0].ranks;
    let names: Vec<&str> = ranks.iter().map(|rank| rank.choice.as_str()).collect();
    assert_eq!(names, ["sched=satf", "sched=look", "sched=fcfs"]);
    assert_eq!(
        ranks.iter().map(|rank| rank.place).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    let best = ranks[0].against_baseline.unwrap();
    assert_eq!(
        (best.ms, best.ci95_ms, best.word),
        (None, None, Word::Faster)
    );
    let behind = ranks[1].against_best.unwrap();
    assert_eq!(
        (behind.ms, behind.word, ranks[1].ratio_to_best),
        (None, Word::Overloaded, None)
    );
    let told =
        "satf wins: 30.00 ms on average; it alone keeps up, under the others the queue grows.";
    assert_eq!(verdict.headline, told);
    runs[2].0.queue_growth_rps = Some(100.0);
    let none = judged(&runs, &varied, Some("sched=fcfs"));
    let told = "None keeps up: the queue grows by 100.0 requests a second under satf and by 812.0 under fcfs; response \
                times tell how long the load is.";
    assert_eq!(none.headline, told);
    let alone = judged(&runs[..1], &[], None).headline;
    assert!(
        alone.starts_with("The queue grows by 812.0 requests a second"),
        "{alone}"
    );
}

#[test]
fn an_interrupted_baseline_is_not_replaced_by_another() {
    let (runs, varied) = schedulers(&[("look", 20.0, 0.0), ("satf", 10.0, 0.0)]);
    let verdict = judged(&runs, &varied, Some("sched=fcfs"));
    assert_eq!(verdict.rankings[0].baseline, None);
    assert!(
        verdict.rankings[0]
            .ranks
            .iter()
            .all(|rank| rank.against_baseline.is_none())
    );
}

#[test]
fn means_far_apart_that_are_undecided_have_a_reason() {
    let (mut runs, varied) = schedulers(&[("satf", 7.3, 0.0), ("fcfs", 218.8, 0.0)]);
    // One batch of fcfs waited for something.
    let batches = runs[1].1.batches_ms.as_mut().unwrap();
    *batches = std::array::from_fn(|batch| 7.3 + noise(batch) - 2.0);
    batches[3] += (218.8 - 7.3) * BATCHES as f64;
    let told = format!(
        "Undecided between satf and fcfs: 7.300 and 218.8 ms on average, but the batches of requests are uneven, 1 of {BATCHES} \
         makes more than half of the difference."
    );
    assert_eq!(judged(&runs, &varied, Some("sched=fcfs")).headline, told);
}

/// Sets the 99th percentile with its interval.
fn tail(run: &mut Run, p99: f64, half: f64) {
    run.response_ms.p99 = Some(p99);
    run.response_ms.p99_ci95 = Some([p99 - half, p99 + half]);
}

#[test]
fn a_win_with_a_longer_tail_says_so() {
    let (mut runs, keys) = schedulers(&[("fcfs", 20.0, 0.0), ("satf", 19.8, 0.01)]);
    tail(&mut runs[0].0, 30.0, 4.0);
    tail(&mut runs[1].0, 50.0, 4.0);
    let said = judged(&runs, &keys, Some("sched=fcfs")).headline;
    let told = "confidence); but its p99 is longer than that of fcfs, 50.00 ms against 30.00.";
    assert!(said.ends_with(told), "{said}");
    let said = judged(&runs, &keys, Some("sched=satf")).headline;
    assert!(said.contains("p99 is longer than that of fcfs"), "{said}");
    // Within the intervals nothing is said.
    tail(&mut runs[1].0, 37.0, 4.0);
    let said = judged(&runs, &keys, Some("sched=fcfs")).headline;
    assert!(!said.contains("p99"), "{said}");

    let mut runs = Vec::new();
    for depth in ["1", "8"] {
        runs.push(run(&format!("depth={depth}"), "sched=fcfs", 10.0, 0.0));
        runs.push(run(&format!("depth={depth}"), "sched=satf", 9.0, 0.01));
    }
    tail(&mut runs[2].0, 30.0, 4.0);
    tail(&mut runs[3].0, 50.0, 4.0);
    let keys = varied(&[("sched", &["fcfs", "satf"]), ("depth", &["1", "8"])]);
    assert_eq!(
        judged(&runs, &keys, Some("sched=fcfs")).headline,
        "satf wins at every depth: 1.11× as fast as fcfs at 1, 1.11× at 8; but its p99 is longer than that of fcfs at 8."
    );
}

#[test]
fn a_win_over_a_queue_that_may_grow_says_so() {
    let demand = |load_factor: f64| crate::outcome::Demand {
        offered_rps: 100.0 * load_factor,
        faults_begin_s: None,
        offered_mb_s: 1.0,
        busiest_rps: 0.0,
        busiest_mb_s: 0.0,
        ability_rps: 100.0,
        ability_mb_s: 1.0,
        load_factor,
    };
    let (mut runs, keys) = schedulers(&[("fcfs", 210.0, 0.0), ("satf", 10.0, 0.01)]);
    runs[0].0.demand = Some(demand(0.99));
    runs[1].0.demand = Some(demand(0.4));
    let said = judged(&runs, &keys, Some("sched=fcfs")).headline;
    let told = "; but under fcfs the queue may grow (the load is about 0.99 of what the drives can do), and then the mean tells \
                how long the load is.";
    assert!(said.contains("21.0× as fast"), "{said}");
    assert!(said.ends_with(told), "{said}");
    runs[0].0.demand = Some(demand(0.8));
    let said = judged(&runs, &keys, Some("sched=fcfs")).headline;
    assert!(!said.contains("may grow"), "{said}");
    // Drives that are never idle are at their limit whatever was estimated.
    runs[0].0.utilisation = 0.99;
    let said = judged(&runs, &keys, Some("sched=fcfs")).headline;
    assert!(said.contains("may grow"), "{said}");

    let mut runs = Vec::new();
    for (speed, fcfs) in [("1", 12.0), ("4", 210.0)] {
        runs.push(run(&format!("speed={speed}"), "sched=fcfs", fcfs, 0.0));
        runs.push(run(&format!("speed={speed}"), "sched=satf", 10.0, 0.01));
    }
    runs[2].0.demand = Some(demand(0.99));
    let keys = varied(&[("sched", &["fcfs", "satf"]), ("speed", &["1", "4"])]);
    assert_eq!(
        judged(&runs, &keys, Some("sched=fcfs")).headline,
        "satf wins at every speed: 1.20× as fast as fcfs at 1, 21.0× at 4; but at 4 a queue may grow, and then the mean tells \
         how long the load is."
    );
}

#[test]
fn a_difference_is_decided_from_half_its_interval_on() {
    // Batches differ by the means' difference, and by 1 ms to either side: half the interval is 2.04 / sqrt(31) = 0.366 ms.
    let word = |difference: f64| {
        let (runs, varied) = schedulers(&[("fcfs", 10.0, 0.0), ("satf", 10.0 - difference, 1.0)]);
        let verdict = judged(&runs, &varied, Some("sched=fcfs"));
        verdict.rankings[0].ranks[0].against_baseline.unwrap().word
    };
    assert_eq!(word(0.36), Word::Undecided);
    assert_eq!(word(0.37), Word::Faster);
}

/// The details of a verdict over runs of these loads, choices and numbers of drives.
fn details(keys: &[(&str, &[&str])], runs: &[(&str, &str, u64)]) -> Vec<String> {
    let made = runs.iter().zip(1..).map(|((load, choice, drives), mean)| {
        let (mut run, batches) = run(load, choice, f64::from(mean), 0.0);
        let settings = choice
            .split(' ')
            .filter_map(|setting| setting.split_once('='));
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        run.settings = settings.collect();
        run.config = serde_json::json!({ "drives": drives });
        (run, batches)
    });
    judged(&made.collect::<Vec<_>>(), &varied(keys), None).details
}

#[test]
fn choices_with_other_numbers_of_drives_are_told() {
    let volumes: (&str, &[&str]) = ("volumes", &["own-drives", "concat"]);
    let found = details(
        &[volumes],
        &[("", "volumes=own-drives", 3), ("", "volumes=concat", 1)],
    );
    let told = "The choices differ in their number of drives: own-drives has 3 drives, concat 1.";
    assert_eq!(found.last().unwrap(), told);
    // The key that decides it names them, also beside others.
    let sched: (&str, &[&str]) = ("sched", &["fcfs", "satf"]);
    let found = details(
        &[sched, volumes],
        &[
            ("", "sched=fcfs volumes=own-drives", 2),
            ("", "sched=fcfs volumes=concat", 1),
            ("", "sched=satf volumes=own-drives", 2),
            ("", "sched=satf volumes=concat", 1),
        ],
    );
    let told = "The choices differ in their number of drives: volumes=own-drives has 2 drives, volumes=concat 1.";
    assert_eq!(found.last().unwrap(), told);
    // Placements may have as many.
    let place: (&str, &[&str]) = ("place", &["stripe", "mirror", "linear"]);
    let found = details(
        &[place],
        &[
            ("", "place=stripe", 2),
            ("", "place=mirror", 2),
            ("", "place=linear", 1),
        ],
    );
    let told =
        "The choices differ in their number of drives: stripe and mirror have 2 drives, linear 1.";
    assert_eq!(found.last().unwrap(), told);
    let disks: (&str, &[&str]) = ("place.disks", &["2", "3"]);
    let found = details(
        &[sched, disks],
        &[
            ("", "sched=fcfs place.disks=2", 2),
            ("", "sched=satf place.disks=2", 4),
        ],
    );
    let told =
        "The choices differ in their number of drives: sched=fcfs has 2 drives, sched=satf 4.";
    assert_eq!(found.last().unwrap(), told);
}

#[test]
fn choices_with_as_many_drives_under_each_load_are_not_told_apart() {
    let keys: [(&str, &[&str]); 2] = [("sched", &["fcfs", "satf"]), ("depth", &["1", "8"])];
    let runs = |other| {
        [
            ("depth=1", "sched=fcfs", 2),
            ("depth=1", "sched=satf", 2),
            ("depth=8", "sched=fcfs", 3),
            ("depth=8", "sched=satf", other),
        ]
    };
    let told = |details: Vec<String>| {
        details
            .iter()
            .any(|detail| detail.contains("number of drives"))
    };
    assert!(!told(details(&keys, &runs(3))));
    // A choice that has other numbers under other loads: only their range is told.
    let found = details(&keys, &runs(4));
    let range = "The choices differ in their number of drives: from 2 to 4.";
    assert_eq!(found.last().unwrap(), range);
}

#[test]
fn flushes_that_take_far_longer_in_one_run_are_told() {
    let (mut runs, varied) = schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0)]);
    let told = |runs: &[(Run, Basis)]| {
        let details = judged(runs, &varied, None).details;
        details.into_iter().find(|told| told.starts_with("Flushes"))
    };
    assert_eq!(told(&runs), None);
    let mut take = |means: [f64; 2]| {
        for ((run, _), mean) in runs.iter_mut().zip(means) {
            let times = Times {
                mean,
                ..Times::default()
            };
            run.flush_response_ms = Some(times);
        }
        told(&runs)
    };
    assert_eq!(take([19.0, 10.0]), None);
    assert_eq!(take([9.0, 1.0]), None, "requests take longer");
    let expected = "Flushes are in none of these times: they took from 1.500 ms on average (sched=satf ) to 80.00 ms (sched=fcfs ).";
    assert_eq!(take([80.0, 1.5]).as_deref(), Some(expected));
}
