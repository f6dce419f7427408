//! What is said of choices that failed requests.

use super::*;

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
