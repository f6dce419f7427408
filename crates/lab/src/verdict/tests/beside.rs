//! What is said beside who leads: tails, queues that may grow, uneven batches, numbers of drives,
//! flushes.

use super::*;
use crate::outcome::Number;

#[test]
fn means_far_apart_that_are_undecided_have_a_reason() {
    let (mut runs, varied) = schedulers(&[("satf", 7.3, 0.0), ("fcfs", 218.8, 0.0)]);
    // One batch of fcfs waited for something.
    let batches = runs[1].1.batches_ms.as_mut().unwrap();
    *batches = std::array::from_fn(|batch| 7.3 + noise(batch) - 2.0);
    batches[3] += (218.8 - 7.3) * BATCHES as f64;
    let told = format!(
        "Undecided between satf and fcfs: 7.300 and 218.8 ms on average. The batches of requests are uneven, 1 of {BATCHES} \
         makes more than half of the difference."
    );
    assert_eq!(judged(&runs, &varied, Some("sched=fcfs")).headline, told);
}

#[test]
fn a_win_with_a_longer_tail_says_so() {
    let (mut runs, keys) = schedulers(&[("fcfs", 20.0, 0.0), ("satf", 19.8, 0.01)]);
    tail(&mut runs[0].0, 30.0, 4.0);
    tail(&mut runs[1].0, 50.0, 4.0);
    let said = judged(&runs, &keys, Some("sched=fcfs")).headline;
    let told = "confidence). But its p99 is longer than that of fcfs, 50.00 ms against 30.00.";
    assert!(said.ends_with(told), "{said}");
    let said = judged(&runs, &keys, Some("sched=satf")).headline;
    assert!(said.contains("p99 is longer than that of fcfs"), "{said}");
    // Within the intervals nothing is said.
    tail(&mut runs[1].0, 37.0, 4.0);
    let said = judged(&runs, &keys, Some("sched=fcfs")).headline;
    assert!(!said.contains("p99"), "{said}");

    let (runs, keys) = longer_tail_at_8();
    assert_eq!(
        judged(&runs, &keys, Some("sched=fcfs")).headline,
        "satf wins at every depth: 1.11× as fast as fcfs at 1, 1.11× at 8. But its p99 is longer than that of fcfs at 8."
    );
}

#[test]
fn a_win_over_a_queue_that_may_grow_says_so() {
    let demand = |load_factor: f64| crate::outcome::Demand {
        offered_rps: 100.0 * load_factor,
        faults_begin_s: None,
        credits: None,
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
    let told = " But under fcfs the queue may grow (the load is about 0.99 of what the drives can do), and then the mean tells \
                how long the load is.";
    assert!(said.contains("21.0× as fast"), "{said}");
    assert!(said.ends_with(told), "{said}");
    runs[0].0.demand = Some(demand(0.8));
    let said = judged(&runs, &keys, Some("sched=fcfs")).headline;
    assert!(!said.contains("may grow"), "{said}");
    // Drives that are never idle are at their limit whatever was estimated, if they take one
    // command at a time. Below a memory nothing was.
    runs[0].0.utilisation = 0.99;
    runs[0].0.requests = 1_000;
    for (depth, may_grow) in [(1, true), (512, false)] {
        runs[0].0.config = serde_json::json!({"drive": {"queue_depth": depth}});
        runs[0].0.at_limit = crate::overload::at_limit(&runs[0].0, true);
        let said = judged(&runs, &keys, Some("sched=fcfs")).headline;
        assert_eq!(said.contains("may grow"), may_grow, "{said}");
    }
    (runs[0].0.demand, runs[0].0.at_limit) = (None, true);
    let said = judged(&runs, &keys, Some("sched=fcfs")).headline;
    let told = " But under fcfs the queue may grow (the drives had hardly a moment left), and then the mean tells how long the load is.";
    assert!(said.ends_with(told), "{said}");
    runs[1].0.demand = Some(demand(1.0));
    let said = judged(&runs, &keys, Some("sched=fcfs")).headline;
    let told = " But under fcfs the queue may grow (the drives had hardly a moment left), and under satf, too (the load is about 1.00 of what the drives can do), \
                and then the means tell how long the load is.";
    assert!(said.ends_with(told), "{said}");
    // A run that kept up with more than was estimated has refuted the estimate.
    (runs[0].0.at_limit, runs[1].0.demand) = (false, Some(demand(1.2)));
    let said = judged(&runs, &keys, Some("sched=fcfs")).headline;
    assert!(!said.contains("may grow"), "{said}");

    let mut runs = Vec::new();
    for (speed, fcfs) in [("1", 12.0), ("4", 210.0)] {
        runs.push(run(&format!("speed={speed}"), "sched=fcfs", fcfs, 0.0));
        runs.push(run(&format!("speed={speed}"), "sched=satf", 10.0, 0.01));
    }
    runs[2].0.demand = Some(demand(0.99));
    let keys = varied(&[("sched", &["fcfs", "satf"]), ("speed", &["1", "4"])]);
    assert_eq!(
        judged(&runs, &keys, Some("sched=fcfs")).headline,
        "satf wins at every speed: 1.20× as fast as fcfs at 1, 21.0× at 4. But at 4 a queue may grow, and then the mean tells \
         how long the load is."
    );
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
    // With more in flight all of them take longer.
    runs[1].0.load = "depth=8".to_owned();
    assert_eq!(told(&runs), None, "under one load each");
}

#[test]
fn a_headline_says_that_a_write_buffer_kept_all_it_took() {
    let (mut runs, varied) = schedulers(&[("fcfs", 10.0, 0.0), ("satf", 5.0, 0.0)]);
    let headline = |runs: &[(Run, Basis)]| judged(runs, &varied, None).headline;
    let counted = |runs: &mut [(Run, Basis)], which: usize, counts: [u64; 2]| {
        let names = ["destaged_pages", "dirty_pages"].map(str::to_owned);
        let counts = names.into_iter().zip(counts.map(Number::Count)).collect();
        runs[which].0.measures.insert("buffer".to_owned(), counts);
    };
    let kept = "nothing went from the write buffer to the drives: what writes cost these is not in";
    // What went to the drives, or was never there, is no doubt.
    for counts in [[1, 7], [0, 0]] {
        counted(&mut runs, 1, counts);
        assert!(!headline(&runs).contains(kept));
    }
    counted(&mut runs, 1, [0, 7]);
    let told = headline(&runs);
    assert!(told.starts_with("satf wins"), "{told}");
    assert!(
        told.ends_with(&format!(" Under sched=satf  {kept} its times.")),
        "{told}"
    );
    let told = headline(&runs[1..]);
    assert!(
        told.ends_with(&format!(" While it was measured, {kept} its times.")),
        "{told}"
    );
    counted(&mut runs, 0, [0, 7]);
    let told = headline(&runs);
    let both = format!(" In 2 of 2 runs, sched=fcfs  among them, {kept} their times.");
    assert!(told.ends_with(&both), "{told}");
}
