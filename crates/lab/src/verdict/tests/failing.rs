//! What is said of choices that failed requests.

use super::*;
use crate::outcome::Number;

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
    let expected = format!(" Requests failed in 2 of 2 runs, {most}; they are in no mean.");
    assert!(told.starts_with("satf wins"), "{told}");
    assert!(told.ends_with(&expected), "{told}");
    runs[0].0.failed = [("medium".to_owned(), 7)].into();
    let told = headline(&runs);
    let expected =
        " Requests failed in 2 of 2 runs, up to 7 of 1000, as in sched=fcfs ; they are in no mean.";
    assert!(told.ends_with(expected), "{told}");
    let told = headline(&runs[1..]);
    let expected = " 7 of 1000 requests failed; they are in no mean.";
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
    let expected = "No choice wins: satf failed 0.900 % of its measured requests, fcfs 0.000 %; of those that were answered it has the lowest mean, \
                    5.000 ms against 10.00.";
    assert!(told.starts_with(expected), "{told}");
    // Of ten thousand requests, four and ten may be of one chance; four and twelve are hardly.
    assert!(failed([4, 10, 10]).starts_with("satf wins"));
    assert!(failed([90, 90, 90]).starts_with("satf wins"));
    assert!(failed([4, 13, 13]).starts_with("No choice wins"));

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
    let expected = "At depth 8 none wins, as satf, with the lowest mean, failed a greater share of its measured requests than fcfs";
    assert!(
        verdict.details[0].starts_with(expected),
        "{:?}",
        verdict.details
    );
    for (_, basis) in &mut runs[2..] {
        basis.failed = 11;
    }
    let verdict = judged(&runs, &keys, Some("sched=fcfs"));
    let expected =
        "At depth 8 none wins, as under each choice more than 1 % of the measured requests failed.";
    assert_eq!(verdict.details, [expected]);
    runs[2].1.failed = 0;
    runs[2].0.queue_growth_rps = Some(100.0);
    let verdict = judged(&runs, &keys, Some("sched=fcfs"));
    let expected = "At depth 8 none wins, as under each choice the queue grows or more than 1 % of the measured requests failed.";
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
    let told = "fcfs wins: 10.00 ms on average; under the others more than 1 % of the measured requests failed.";
    assert_eq!(alone, told);
    let both = of_failing([0, 2, 990], true).headline;
    let told = "satf wins: 5.000 ms on average; under the others the queue grows or more than 1 % of the measured requests failed.";
    assert_eq!(both, told);
    // Nor is its p99 held against that of the winner.
    let (mut runs, keys) = schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0)]);
    runs[0].0.response_ms.p99_ci95 = Some([90.0, 95.0]);
    runs[1].0.response_ms.p99_ci95 = Some([40.0, 45.0]);
    runs[1].1.failed = 450;
    let told = "fcfs wins: 10.00 ms on average; under the others more than 1 % of the measured requests failed.";
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
    let told = "No choice wins: the queue grows by 100.0 requests a second under fcfs; all others failed more than 1 % of their measured requests; \
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
    let told = "No choice wins: each failed more than 1 % of its measured requests, from 11.00 % (fcfs) to 90.00 % (look); those that were \
                answered are not compared.";
    assert_eq!(verdict.headline, told);
    assert_eq!(verdict.details.len(), 0);
    // Those that failed as many share a place.
    let verdict = of_failing([110, 110, 20], true);
    assert_eq!(ranked(&verdict), [(1, "look"), (2, "fcfs"), (2, "satf")]);
    let verdict = of_failing([110, 110, 110], false);
    let told = "No choice wins: each failed 11.00 % of its measured requests; those that were answered are not compared.";
    assert_eq!(verdict.headline, told);
}

/// A smaller share may be more requests.
#[test]
fn failures_are_told_by_their_share_and_before_all_else() {
    let (mut runs, keys) = schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0)]);
    (runs[0].1.measured, runs[0].1.failed) = (4_000, 60);
    (runs[1].1.measured, runs[1].1.failed) = (1_000, 20);
    let verdict = judged(&runs, &keys, None);
    assert_eq!(ranked(&verdict), [(1, "fcfs"), (2, "satf")]);
    // One that failed many and whose queue grows has failed; held against it, one whose queue grows
    // is overloaded.
    let word = |runs: &[(Run, Basis)], choice: &str| {
        let verdict = judged(runs, &keys, Some("sched=fcfs"));
        let ranks = &verdict.rankings[0].ranks;
        let rank = ranks.iter().find(|rank| rank.choice == choice).unwrap();
        rank.against_baseline.unwrap().word
    };
    runs[0].1.failed = 0;
    runs[1].0.queue_growth_rps = Some(100.0);
    assert_eq!(word(&runs, "sched=satf"), Word::Failed);
    runs[1].1.failed = 0;
    runs[0].1.failed = 60;
    assert_eq!(word(&runs, "sched=satf"), Word::Overloaded);
}

/// One under which the queue grows does not keep the first from winning, though it failed fewer.
#[test]
fn an_overloaded_choice_that_failed_fewer_keeps_none_from_winning() {
    let (mut runs, keys) = schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0)]);
    (runs[1].1.measured, runs[1].1.failed) = (10_000, 90);
    runs[0].0.queue_growth_rps = Some(100.0);
    let told = judged(&runs, &keys, None).headline;
    assert!(told.starts_with("satf wins"), "{told}");
}

/// Behind those that lead together some are slower, and some failed many of their requests.
#[test]
fn those_behind_several_that_lead_are_told_for_what_they_are() {
    let all = [
        ("fcfs", 10.0, 0.0),
        ("satf", 5.0, 0.0),
        ("look", 5.0, 0.0),
        ("sstf", 6.0, 0.0),
    ];
    let of = |failed: [u64; 4]| {
        let (mut runs, keys) = schedulers(&all);
        for ((_, basis), failed) in runs.iter_mut().zip(failed) {
            basis.failed = failed;
        }
        judged(&runs, &keys, None).headline
    };
    let lead = "satf and look do the same: 5.000 ms on average; all others";
    let slower = of([0; 4]);
    assert!(
        slower.starts_with(&format!("{lead} are slower")),
        "{slower}"
    );
    assert_eq!(
        of([20, 0, 0, 30]),
        format!("{lead} failed more than 1 % of their measured requests.")
    );
    assert_eq!(
        of([20, 0, 0, 0]),
        format!("{lead} are slower, or failed more than 1 % of their measured requests.")
    );
}

/// Under several loads, too, one that failed many has no tail to be held against.
#[test]
fn under_several_loads_no_tail_is_held_against_one_that_failed_many() {
    let (mut runs, keys) = longer_tail_at_8();
    let told = judged(&runs, &keys, None).headline;
    assert!(told.contains("its p99 is longer"), "{told}");
    runs[2].1.failed = 20;
    let told = judged(&runs, &keys, None).headline;
    assert!(!told.contains("p99"), "{told}");
}

/// Every form of the results shows what the first is first in.
#[test]
fn what_the_first_is_first_in_is_told_by_its_rank() {
    let firsts = |verdict: &Verdict| -> Vec<Option<First>> {
        let ranks = verdict.rankings[0].ranks.iter();
        ranks.map(|rank| rank.first).collect()
    };
    let best = of_failing([0, 450, 2], true);
    assert_eq!(firsts(&best), [Some(First::Best), None, None]);
    let standings: Vec<Standing> = best.rankings[0]
        .ranks
        .iter()
        .map(|rank| rank.standing)
        .collect();
    let expected = [Standing::KeepsUp, Standing::Overloaded, Standing::Failed];
    assert_eq!(standings, expected);
    let grows = of_failing([0, 450, 20], true);
    assert_eq!(firsts(&grows), [Some(First::GrowsLeast), None, None]);
    // One that failed many and whose queue grows has failed.
    let fails = of_failing([20, 450, 30], true);
    assert_eq!(firsts(&fails), [Some(First::FailsLeast), None, None]);
    // Those that share the first place for their failures are told alike.
    let least = Some(First::FailsLeast);
    let tied = of_failing([20, 450, 20], false);
    assert_eq!(firsts(&tied), [least, least, None]);
    // Those that share it by their mean are compared.
    let (runs, keys) = schedulers(&[("satf", 5.0, 0.0), ("look", 5.0, 0.0)]);
    let same = judged(&runs, &keys, None);
    assert_eq!(firsts(&same), [Some(First::Best), None]);
}

/// Failures of a third are no reason to win over one of which too few answers tell.
#[test]
fn a_choice_does_not_win_over_one_that_tells_nothing_where_others_do_not_keep_up() {
    let (mut runs, keys) =
        schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0), ("look", 7.0, 0.0)]);
    runs[2].1.batches_ms = None;
    runs[0].1.failed = 20;
    let told = "satf has the lowest mean, 5.000 ms; fcfs failed more than 1 % of its \
                measured requests. Of look there are too few answers to tell.";
    assert_eq!(judged(&runs, &keys, None).headline, told);
    runs[0].1.failed = 0;
    runs[0].0.queue_growth_rps = Some(10.0);
    let told = judged(&runs, &keys, None).headline;
    assert!(told.starts_with("satf has the lowest mean"), "{told}");
}

#[test]
fn a_run_without_a_result_may_have_answered_its_warm_up() {
    let told = |labels: &[&str]| {
        let mut verdict = Verdict::default();
        add_without_result(&mut verdict, labels, &[]);
        verdict.headline.trim().to_owned()
    };
    let one = "satf has no result: none of its measured reads and writes was answered.";
    assert_eq!(told(&["satf"]), one);
    let two = "2 runs have no result, satf among them: none of their measured reads and writes was answered.";
    assert_eq!(told(&["satf", "look"]), two);
}

/// Three choices, of which so many of a thousand requests failed, and that served so many wrong
/// blocks.
fn of_wrong(failed: [u64; 3], wrong: [u64; 3]) -> Verdict {
    let (mut runs, keys) =
        schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0), ("look", 7.0, 0.0)]);
    for ((_, basis), (failed, wrong)) in runs.iter_mut().zip(failed.into_iter().zip(wrong)) {
        (basis.failed, basis.wrong_blocks) = (failed, wrong);
    }
    judged(&runs, &keys, Some("sched=fcfs"))
}

/// A read that brings something else is worse than one that fails.
#[test]
fn a_choice_that_served_wrong_blocks_is_behind_all_that_served_none() {
    let verdict = of_wrong([0; 3], [0, 1, 0]);
    assert_eq!(ranked(&verdict), [(1, "look"), (2, "fcfs"), (3, "satf")]);
    let told = "look wins: 7.000 ms on average, 1.43× as fast as fcfs (by 3.000 to 3.000 ms, with 95 % confidence). sched=satf  served 1 \
                wrong block.";
    assert_eq!(verdict.headline, told);
    let last = &verdict.rankings[0].ranks[2];
    let against = last.against_best.unwrap();
    let found = (last.standing, against.word, against.ms, last.ratio_to_best);
    let expected = (Standing::WrongBlocks, Word::WrongBlocks, None, None);
    assert_eq!(found, expected);
    // Also behind one that failed nearly all.
    let verdict = of_wrong([990, 0, 0], [0, 7, 5]);
    assert_eq!(ranked(&verdict), [(1, "fcfs"), (2, "look"), (3, "satf")]);
    let told = "No choice wins: look and satf served wrong blocks, and fcfs failed 99.00 % of its measured requests; those that were \
                answered are not compared. 2 of 3 runs served wrong blocks: sched=look  served 5 wrong blocks, \
                sched=satf  7.";
    assert_eq!(verdict.headline, told);
    // The only one that served none wins, and is held against none.
    let verdict = of_wrong([3, 0, 0], [0, 7, 5]);
    let told = "fcfs wins: 10.00 ms on average; under the others wrong blocks were served.";
    assert!(verdict.headline.starts_with(told), "{}", verdict.headline);
    let verdict = of_wrong([0; 3], [9, 0, 0]);
    let against = verdict.rankings[0].ranks[0].against_baseline.unwrap();
    assert_eq!((against.word, against.ms), (Word::OtherWrongBlocks, None));
}

/// One run says it in a warning; runs for which nothing was to go wrong have nothing to say.
#[test]
fn a_comparison_in_which_no_fault_has_happened_says_so() {
    let of = |met: [Option<bool>; 2]| {
        let (mut runs, keys) = schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0)]);
        (runs[0].1.met_faults, runs[1].1.met_faults) = (met[0], met[1]);
        let told = judged(&runs, &keys, None).headline;
        assert!(!judged(&runs[..1], &keys, None).headline.contains("fault"));
        told.ends_with(" No fault has happened in any run.")
    };
    assert!(of([Some(false); 2]));
    assert!(of([None, Some(false)]));
    assert!(!of([Some(true), Some(false)]));
    assert!(!of([None; 2]));
}

/// A target that was not kept is told whoever leads.
#[test]
fn targets_that_were_missed_are_told_with_the_run_that_missed_most() {
    let of = |missed: &[u64]| {
        let (mut runs, keys) =
            schedulers(&[("fcfs", 10.0, 0.0), ("slack", 5.0, 0.0), ("late", 9.0, 0.0)]);
        for ((run, _), missed) in runs.iter_mut().zip(missed) {
            let counts = [
                ("kept", 1_000 - missed),
                ("missed", *missed),
                ("late_us", 2_000 * missed),
            ];
            let counts = counts.map(|(name, count)| (name.to_owned(), Number::Count(count)));
            run.measures.insert("sched".to_owned(), counts.into());
        }
        judged(&runs[..missed.len()], &keys, None).headline
    };
    let ends = |missed: &[u64], told: &str| {
        let headline = of(missed);
        assert!(headline.ends_with(told), "{headline}");
    };
    ends(
        &[30],
        " I/Os missed the targets of their streams, 30 of 1,000 (3.0 %) by 2.000 ms on average.",
    );
    ends(
        &[0, 30, 0],
        " Under sched=slack  I/Os missed the targets of their streams, 30 of 1,000 (3.0 %) by 2.000 ms on average.",
    );
    ends(
        &[0, 30, 40],
        " I/Os missed the targets of their streams in 2 of 3 runs, most under sched=late , 40 of 1,000 (4.0 %) by 2.000 ms on average.",
    );
    assert!(!of(&[0, 0, 0]).contains("target"));
}

/// Then nothing is left to hold against one.
#[test]
fn choices_all_of_which_served_wrong_blocks_are_ranked_as_if_there_were_none() {
    let verdict = of_wrong([0; 3], [1, 900, 2]);
    assert_eq!(ranked(&verdict), [(1, "satf"), (2, "look"), (3, "fcfs")]);
    let told = "satf wins: 5.000 ms on average, 2.00× as fast as fcfs (by 5.000 to 5.000 ms, with 95 % confidence). 3 of 3 runs served \
                wrong blocks, the fewest sched=fcfs  with 1, the most sched=satf  with 900.";
    assert_eq!(verdict.headline, told);
    let (mut runs, keys) = schedulers(&[("satf", 5.0, 0.0)]);
    runs[0].1.wrong_blocks = 3;
    let alone = judged(&runs, &keys, None).headline;
    assert!(alone.ends_with("It served 3 wrong blocks."), "{alone}");
}

/// Two choices of 4,000 requests, of which 200 are flushes; so many reads and writes, and so many
/// flushes of the first fail.
fn of_flushes(failed: u64, flushes: u64) -> Verdict {
    let (mut runs, keys) = schedulers(&[("satf", 5.0, 0.0), ("fcfs", 10.0, 0.0)]);
    for (_, basis) in &mut runs {
        (basis.measured, basis.flushes) = (3_800, 200);
    }
    (runs[0].1.failed, runs[0].1.flushes_failed) = (failed, flushes);
    judged(&runs, &keys, None)
}

/// A flush is a request. Those that were answered make up for no write that was not.
#[test]
fn flushes_that_failed_count_as_requests() {
    let ranks = |verdict: &Verdict| -> Vec<Standing> {
        let ranks = verdict.rankings[0].ranks.iter();
        ranks.map(|rank| rank.standing).collect()
    };
    let both = [Standing::KeepsUp, Standing::KeepsUp];
    let many = of_flushes(0, 41);
    assert_eq!(ranks(&many), [Standing::KeepsUp, Standing::Failed]);
    let told = "fcfs wins: 10.00 ms on average; under the others more than 1 % of the measured requests failed. Flushes failed in 1 of 2 runs, \
                most in sched=satf  (41 of 200 that were measured).";
    assert_eq!(many.headline, told);
    let some = of_flushes(0, 40);
    assert_eq!(ranks(&some), both);
    let told = "No choice wins: satf failed 1.000 % of its measured requests, fcfs 0.000 %; of those that were answered it has the lowest mean, 5.000 \
                ms against 10.00. Flushes failed in 1 of 2 runs, most in sched=satf  (40 of 200 that were measured).";
    assert_eq!(some.headline, told);
    // 1 % and a little of the reads and writes, and less than that of all.
    let told = of_flushes(39, 0);
    assert_eq!(ranks(&told), [Standing::KeepsUp, Standing::Failed]);
    assert!(!told.headline.contains("lush"), "{}", told.headline);
    // Of all together a little more than 1 %.
    assert_eq!(ranks(&of_flushes(30, 10)), both);
    assert_eq!(
        ranks(&of_flushes(30, 11)),
        [Standing::KeepsUp, Standing::Failed]
    );
}

#[test]
fn choices_that_failed_many_flushes_are_in_the_order_of_all_that_failed() {
    let (mut runs, keys) = schedulers(&[("satf", 5.0, 0.0), ("fcfs", 10.0, 0.0)]);
    for ((_, basis), flushes) in runs.iter_mut().zip([190, 90]) {
        (basis.measured, basis.flushes, basis.flushes_failed) = (3_800, 200, flushes);
    }
    let verdict = judged(&runs, &keys, None);
    assert_eq!(ranked(&verdict), [(1, "fcfs"), (2, "satf")]);
    let told = "No choice wins: each failed more than 1 % of its measured requests, from 2.250 % (fcfs) to 4.750 % (satf); those that were answered \
                are not compared. Flushes failed in 2 of 2 runs, most in sched=satf  (190 of 200 that were measured).";
    assert_eq!(verdict.headline, told);
    let alone = judged(&runs[1..], &keys, None).headline;
    assert!(
        alone.ends_with(" 90 of 200 measured flushes failed."),
        "{alone}"
    );
}
