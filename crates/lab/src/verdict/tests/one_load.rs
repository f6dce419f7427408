//! Who leads under one load, and how sure that is.

use super::*;

#[test]
fn those_that_do_the_same_are_held_against_the_baseline() {
    let (runs, keys) = schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0), ("look", 5.0, 0.0)]);
    let verdict = judged(&runs, &keys, Some("sched=fcfs"));
    assert_eq!(
        verdict.headline,
        "satf and look do the same: 5.000 ms on average; fcfs is slower."
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
        "satf wins: 5.000 ms on average; the next, fcfs, takes 2.00× as long (by 4.996 to 5.004 ms). Of look there are too few answers \
         to tell."
    );
    assert_eq!(
        without(&[1]),
        "Of satf, which has the lowest mean, 5.000 ms, there are too few answers to tell."
    );
    assert_eq!(
        without(&[0, 2]),
        "satf has the lowest mean, 5.000 ms. Of look and fcfs there are too few answers to tell."
    );
    assert_eq!(
        without(&[0, 1, 2]),
        "Too few requests to tell: satf has the lowest mean, 5.000 ms."
    );
    let alike = |lacking: &[usize]| {
        let (mut runs, keys) = schedulers(&[("fcfs", 5.0, 0.0), ("satf", 5.0, 0.0)]);
        for index in lacking {
            runs[*index].1.batches_ms = None;
        }
        judged(&runs, &keys, None).headline
    };
    assert_eq!(
        alike(&[0, 1]),
        "Too few requests to tell: all choices have the same mean, 5.000 ms."
    );
    let (mut runs, keys) =
        schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0), ("look", 5.1, 3.0)]);
    runs[0].1.batches_ms = None;
    assert_eq!(
        judged(&runs, &keys, None).headline,
        "Undecided between satf and look: 5.000 and 5.100 ms on average. Of fcfs there are too few answers to tell."
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
        "Undecided between satf and look: 9.900 and 9.950 ms on average; fcfs is slower, by at most 1.0 %."
    );
}

/// What nobody would notice is no win, however sure it is.
#[test]
fn who_is_hardly_faster_is_ahead_and_by_how_little_is_told() {
    let (runs, varied) = schedulers(&[("fcfs", 10.02, 0.0), ("satf", 10.0, 0.0001)]);
    let headline = |baseline| judged(&runs, &varied, baseline).headline;
    let told = headline(Some("sched=fcfs"));
    let begin =
        "satf is ahead by less than 0.5 %: 10.00 ms on average, 1.002× as fast as fcfs (by 0.020";
    assert!(told.starts_with(begin), "{told}");
    let told = headline(None);
    let begin = "satf is ahead by less than 0.5 %: 10.00 ms on average; the next, fcfs, takes 1.002× as long";
    assert!(told.starts_with(begin), "{told}");
    // Beside the baseline it is a win, though another one is hardly slower.
    let three = [
        ("fcfs", 20.0, 0.0),
        ("satf", 10.0, 0.0001),
        ("look", 10.02, 0.0),
    ];
    let (runs, varied) = schedulers(&three);
    let told = judged(&runs, &varied, Some("sched=fcfs")).headline;
    assert!(
        told.starts_with("satf wins: 10.00 ms on average, 2.00× as fast as fcfs"),
        "{told}"
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
    let told = "No choice keeps up: the queue grows by 100.0 requests a second under satf and by 812.0 under fcfs; response \
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
fn a_difference_is_decided_from_half_its_interval_on() {
    // Batches differ by the means' difference, and by 1 ms to either side: half the interval is
    // 2.04 / sqrt(31) = 0.366 ms.
    let word = |difference: f64| {
        let (runs, varied) = schedulers(&[("fcfs", 10.0, 0.0), ("satf", 10.0 - difference, 1.0)]);
        let verdict = judged(&runs, &varied, Some("sched=fcfs"));
        verdict.rankings[0].ranks[0].against_baseline.unwrap().word
    };
    assert_eq!(word(0.36), Word::Undecided);
    assert_eq!(word(0.37), Word::Faster);
}

/// A number or a switch says nothing without its key; what is drawn by its name does.
#[test]
fn a_choice_that_is_a_number_is_called_by_its_key() {
    for (key, values, told) in [
        ("faults.rot", ["0", "0.001"], "faults.rot=0.001 wins"),
        (
            "drive.protection",
            ["off", "on"],
            "drive.protection=on wins",
        ),
        ("sched", ["fcfs", "satf"], "satf wins"),
    ] {
        let means = [10.0, 5.0].into_iter().zip(values);
        let runs = means.map(|(mean, value)| run("", &format!("{key}={value}"), mean, 0.0));
        let runs: Vec<_> = runs.collect();
        let verdict = judged(&runs, &varied(&[(key, &values)]), None);
        let starts = verdict.headline.starts_with(told);
        assert!(starts, "{}", verdict.headline);
    }
}

/// A choice whose mean one batch makes stands behind some that are slower, and is none of those
/// that lead.
#[test]
fn a_mean_that_one_batch_makes_is_no_lead() {
    let all = [
        ("satf", 5.0, 0.01),
        ("look", 6.0, 0.01),
        ("fcfs", 7.0, 0.01),
        ("scan", 0.0, 0.0),
    ];
    let (mut runs, keys) = schedulers(&all);
    let burst = |(run, basis): &mut (Run, Basis)| {
        let mut batches: [f64; BATCHES] = std::array::from_fn(|batch| 5.0 + noise(batch) - 2.0);
        batches[3] += 16_000.0;
        basis.batches_ms = Some(batches);
        run.response_ms.mean = 505.0;
    };
    burst(&mut runs[3]);
    let told = |runs: &[(Run, Basis)]| judged(runs, &keys, None).headline;
    assert_eq!(
        told(&runs),
        "satf has the lowest mean, 5.000 ms; others are slower. Whether scan, with 505.0 ms, is slower is undecided, as the batches of requests \
         are uneven, 1 of 32 makes more than half of the difference."
    );
    runs[1] = run("", "sched=look", 5.05, 3.0);
    assert_eq!(
        told(&runs),
        "Undecided between satf and look: 5.000 and 5.050 ms on average; fcfs is slower. Whether scan, with 505.0 ms, is slower is undecided, \
         as the batches of requests are uneven, 1 of 32 makes more than half of the difference."
    );
    // Beside it alone there is nobody that is slower.
    let two = [runs.remove(0), runs.remove(2)];
    assert_eq!(
        told(&two),
        "Undecided between satf and scan: 5.000 and 505.0 ms on average. The batches of requests are uneven, 1 of 32 makes more \
         than half of the difference."
    );
}

/// Who leads, by how much and over whom is the first sentence; what is undecided, and what speaks
/// against it, are sentences behind it.
#[test]
fn a_headline_of_a_dozen_begins_with_who_leads() {
    let names: Vec<String> = (0..12).map(|number| format!("s{number}")).collect();
    let all: Vec<(&str, f64, f64)> = (names.iter().zip(1..))
        .map(|(name, number)| (name.as_str(), 5.0 * f64::from(number), 0.01))
        .collect();
    let (mut runs, keys) = schedulers(&all);
    runs[4].1.batches_ms = None;
    tail(&mut runs[0].0, 90.0, 2.0);
    tail(&mut runs[1].0, 50.0, 2.0);
    let told = judged(&runs, &keys, None).headline;
    let sentences: Vec<&str> = told.split_inclusive(". ").collect();
    assert!(
        sentences[0]
            .starts_with("s0 wins: 5.000 ms on average; the next, s1, takes 2.00× as long (by"),
        "{told}"
    );
    assert_eq!(
        sentences[1..],
        [
            "But its p99 is longer than that of s1, 90.00 ms against 50.00. ",
            "Of s4 there are too few answers to tell."
        ]
    );
    assert!(sentences[0].matches([';', ':']).count() < 3, "{told}");
}

/// Nobody reads the names of a dozen choices that all lead.
#[test]
fn of_many_that_lead_some_are_named() {
    let names: Vec<String> = (0..12).map(|number| format!("s{number}")).collect();
    let all: Vec<(&str, f64, f64)> = names.iter().map(|name| (name.as_str(), 5.0, 0.0)).collect();
    let (mut runs, keys) = schedulers(&all);
    let slow = run("", "sched=slow", 9.0, 0.0);
    runs.push(slow);
    assert_eq!(
        judged(&runs, &keys, None).headline,
        "s0, s1, s2 and 9 others do the same: 5.000 ms on average; slow is slower."
    );
    for (number, one) in runs[..12].iter_mut().enumerate() {
        *one = run(
            "",
            &format!("sched=s{number}"),
            5.0 + 0.01 * number as f64,
            3.0 + number as f64 / 7.0,
        );
    }
    assert_eq!(
        judged(&runs, &keys, None).headline,
        "Undecided between s0, s1, s2 and 9 others: 5.000 to 5.110 ms on average; slow is slower."
    );
}

#[test]
fn a_mean_that_one_batch_makes_is_no_lead_under_several_loads() {
    let mut runs = Vec::new();
    for depth in ["1", "8"] {
        let load = format!("depth={depth}");
        runs.push(run(&load, "sched=satf", 5.0, 0.01));
        runs.push(run(&load, "sched=look", 6.0, 0.01));
        runs.push(run(&load, "sched=scan", 7.0, 40.0));
    }
    let keys = varied(&[("sched", &["satf", "look", "scan"]), ("depth", &["1", "8"])]);
    assert_eq!(
        judged(&runs, &keys, None).headline,
        "At every depth satf has the lowest mean, and whether scan is slower is undecided."
    );
}

/// It stands in no choice, and the values of the other key name them.
#[test]
fn a_key_with_one_value_names_no_choice() {
    let (runs, mut keys) = schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.01)]);
    let alone = judged(&runs, &keys, None).headline;
    assert!(alone.starts_with("satf wins"), "{alone}");
    keys.extend(varied(&[("place", &["linear"])]));
    assert_eq!(judged(&runs, &keys, None).headline, alone);
}
