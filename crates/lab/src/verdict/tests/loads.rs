//! Runs under several loads, each of which has a ranking of its own.

use super::*;
use crate::outcome::{Burst, Demand, Progress};

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
    let expected = "mean response from 8.000 ms (at 1) to 40.00 ms (at 8), 5.00×; the queue grows all along by 150.1 requests/s (at 9). Loads";
    assert!(told.contains(expected), "{told}");
    runs.remove(1);
    let told = judged(&runs, &varied, None).headline;
    let expected = "mean response is 8.000 ms (at 1); the queue grows all along by 150.1 requests/s (at 9). Loads";
    assert!(told.contains(expected), "{told}");
    runs[0].0.queue_growth_rps = Some(2.5);
    let told = judged(&runs, &varied, None).headline;
    let expected =
        "; the queue grows all along by 2.500 requests/s (at 1) and 150.1 requests/s (at 9). Loads";
    assert!(told.contains(expected), "{told}");
    assert!(!told.contains("mean response"), "{told}");
}

/// A load that is too much for a part of the run, or may be, has a mean that tells of that.
#[test]
fn a_headline_says_under_which_loads_the_queue_grows_for_a_while() {
    let mut runs = vec![
        run("speed=1", "sched=satf", 8.0, 0.0),
        run("speed=4", "sched=satf", 400.0, 0.0),
        run("speed=16", "sched=satf", 9_000.0, 0.0),
    ];
    let burst = |begin_s, lasts_s, load_factor| {
        Some(Burst {
            begin_s,
            lasts_s,
            load_factor,
        })
    };
    let varied = varied(&[("speed", &["1", "4", "16"])]);
    assert!(
        !judged(&runs, &varied, None)
            .headline
            .contains("queue grows")
    );
    runs[2].1.burst = burst(111.0, 9.0, 7.77);
    let told = judged(&runs, &varied, None).headline;
    let one = "Under sched=satf speed=16 a part of the load is too much, for 9 s, from 111 s after the first request on, 7.77× what the \
               drives can do: the queue grows there";
    assert!(told.contains(one), "{told}");
    runs[1].1.burst = burst(1_402.0, 26.0, 2.44);
    let told = judged(&runs, &varied, None).headline;
    let both =
        "In 2 of 3 runs a part of the load is too much, most under sched=satf speed=16, for 9 s";
    assert!(told.contains(both), "{told}");
    // Where it is too much all along, that is what is said.
    (runs[1].0.queue_growth_rps, runs[2].0.queue_growth_rps) = (Some(9.0), Some(70.0));
    let told = judged(&runs, &varied, None).headline;
    assert!(!told.contains("a part of the load"), "{told}");
    let demand = |load_factor| Demand {
        offered_rps: 100.0 * load_factor,
        offered_mb_s: 1.0,
        busiest_rps: 0.0,
        busiest_mb_s: 0.0,
        ability_rps: 100.0,
        ability_mb_s: 1.0,
        load_factor,
        faults_begin_s: None,
        credits: None,
    };
    runs[0].0.demand = Some(demand(0.98));
    let told = judged(&runs, &varied, None).headline;
    assert!(
        told.contains("; the queue may grow at 1, where the mean then tells"),
        "{told}"
    );
}

#[test]
fn a_headline_says_that_a_run_was_interrupted_and_how_far_it_came() {
    let mut runs = vec![run("", "sched=satf", 8.0, 0.0)];
    let came = |done, all, unit| Some(Progress { done, all, unit });
    runs[0].1.interrupted = came(31_590.0, Some(1e8), "transactions");
    let told = judged(&runs, &[], None).headline;
    assert!(
        told.ends_with("Interrupted after 31,590 of 100,000,000 transactions."),
        "{told}"
    );
    runs[0].1.interrupted = came(12.0, None, "requests");
    let told = judged(&runs, &[], None).headline;
    assert!(told.ends_with("Interrupted after 12 requests."), "{told}");
}
