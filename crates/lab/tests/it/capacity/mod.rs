//! Capacities against queueing theory, against a scan of the whole grid, and along every axis.
//!
//! Poisson arrivals at a server that takes the same time for each (M/D/1) have a mean response of
//! `s + r s^2 / (2 (1 - r s))` at a rate of r (Pollaczek and Khinchine; Kleinrock, Queueing
//! Systems, volume 1, 1975, section 5.6), and their number waiting is known in distribution
//! (Crommelin, 1932), so the rates at which a mean or a percentile meets a limit are known.

mod business_units;
mod drives;
mod faults;
mod filling;

use std::sync::atomic::{AtomicBool, Ordering};

use nearslot_lab::capacity::{
    Capacity, Find, How, LimitedBy, Outcome, Reached, Tried, Word, capacity,
};
use nearslot_lab::grid::{self, Point};
use nearslot_lab::load::LoadedTrace;
use nearslot_lab::objective::objectives;
use nearslot_lab::overload::Overload;
use nearslot_lab::run::{RunError, Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario, TraceLoad};
use nearslot_lab::sim::Control;
use nearslot_lab::warning::WarningKind;
use nearslot_trace::OpenOptions;

/// Service time of the drive `null` of the catalog in milliseconds.
const SERVICE_MS: f64 = 0.1;

fn how(slo: &str, find: Find) -> How {
    How {
        objectives: objectives(&[slo.to_owned()]).unwrap(),
        find,
        resolution_percent: 2.0,
        jobs: None,
    }
}

fn points(base: &Scenario, vary: &[&str]) -> Vec<Point> {
    let vary: Vec<_> = vary.iter().map(|word| word.parse().unwrap()).collect();
    grid::points(base, &vary).unwrap()
}

fn synthetic(workload: &str, settings: &[(&str, &str)]) -> Scenario {
    let mut base = Scenario::over(Load::Workload(workload.parse().unwrap()));
    for (key, value) in settings {
        base.set(key, value).unwrap();
    }
    base
}

fn found(points: &[Point], how: &How) -> Capacity {
    capacity(points, None, how, &Control::default()).unwrap()
}

/// A trace of so many requests 10 ms apart, of 4 KiB, over 4 GB; every fourth writes.
struct Trace {
    _folder: tempfile::TempDir,
    base: Scenario,
    loaded: LoadedTrace,
}

fn trace(requests: u64) -> Trace {
    let mut text = String::from("ts_us,op,offset,size\n");
    for number in 0..requests {
        let place = number.wrapping_mul(2_654_435_761) % 1_000_000;
        let op = if number % 4 == 0 { "W" } else { "R" };
        text += &format!("{},{op},{},4096\n", number * 10_000, place * 4_096);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("load.csv");
    std::fs::write(&path, text).unwrap();
    let load = TraceLoad {
        files: vec![path],
        ..TraceLoad::default()
    };
    let loaded = LoadedTrace::read(&load.files, &OpenOptions::default()).unwrap();
    Trace {
        _folder: folder,
        base: Scenario::over(Load::Trace(load)),
        loaded,
    }
}

/// The rate at which the mean response of M/D/1 is this.
fn rate_of_mean(mean_ms: f64) -> f64 {
    // mean = s + u s / (2 (1 - u)) solved for the utilisation u.
    let wait = 2.0 * (mean_ms - SERVICE_MS) / SERVICE_MS;
    1_000.0 / SERVICE_MS * wait / (1.0 + wait)
}

/// The share of requests that wait at most `t` service times at utilisation `u` (Crommelin's
/// formula).
fn waits_at_most(t: f64, u: f64) -> f64 {
    let mut sum = 0.0;
    for k in 0..=(t.floor() as i32) {
        let power = u * (f64::from(k) - t);
        let term = (1..=k).fold(1.0, |term, index| term * power / f64::from(index));
        sum += term * (-power).exp();
    }
    (1.0 - u) * sum
}

/// The rate at which a percentile of the response of M/D/1 is this.
fn rate_of_percentile(rank: f64, limit_ms: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if waits_at_most(limit_ms / SERVICE_MS - 1.0, middle) >= rank {
            low = middle;
        } else {
            high = middle;
        }
    }
    low * 1_000.0 / SERVICE_MS
}

/// The true rate lies between where the objective surely holds and where it surely fails, to within
/// a step of the grid.
fn holds_the_truth(found: &Reached, truth: f64) -> bool {
    let (surely, fails) = (found.surely_holds.unwrap(), found.surely_fails.unwrap());
    surely <= truth * 1.0001 && truth <= fails * 1.0001
}

#[test]
fn the_rate_of_a_constant_server_is_that_of_theory() {
    let cases = [
        ("mean < 150 us", rate_of_mean(0.15), 5_000.0),
        ("mean < 300 us", rate_of_mean(0.3), 8_000.0),
        ("p99 < 600 us", rate_of_percentile(0.99, 0.6), 6_569.0),
        ("p50 < 250 us", rate_of_percentile(0.5, 0.25), 8_180.0),
    ];
    let (mut right, mut all) = (0, 0);
    for (slo, truth, about) in cases {
        assert!((truth / about - 1.0).abs() < 0.1, "{slo}: {truth}");
        for seed in ["1", "2", "3", "4", "5"] {
            let base = synthetic(
                "poisson:requests=60000",
                &[("drive", "null"), ("seed", seed)],
            );
            let capacity = found(&points(&base, &[]), &how(slo, Find::Rate));
            let choice = &capacity.choices[0];
            let holds = choice.holds.unwrap();
            assert!(
                (holds / truth - 1.0).abs() < 0.06,
                "{slo} seed {seed}: {holds}, not {truth}"
            );
            assert!(choice.surely_holds.unwrap() <= holds);
            assert!(holds < choice.surely_fails.unwrap());
            right += i32::from(holds_the_truth(choice, truth));
            all += 1;
        }
    }
    // Intervals of 95 % miss one of twenty; both ends are tested at several rates, and the grid
    // makes them wider.
    assert!(right >= all - 2, "{right} of {all}");
}

/// What a scan of every setting says: the last that holds before the first that fails.
fn scanned(points: &[Point], trace: &Trace, limit_ms: f64, choice: &str) -> Option<f64> {
    let wanted = Wanted {
        overload: Overload::Run,
        ..Wanted::default()
    };
    let results = compare(points, Some(&trace.loaded), &wanted, &Control::default()).unwrap();
    let runs = results.runs.iter().filter(|run| run.choice == choice);
    let held = runs.take_while(|run| {
        let reads = run.read_response_ms.unwrap();
        run.queue_growth_rps.is_none() && reads.p99.unwrap() < limit_ms
    });
    held.last()
        .map(|run| run.settings["speed"].parse().unwrap())
}

#[test]
fn a_scan_of_the_whole_grid_finds_the_same() {
    let trace = trace(3_000);
    let vary = ["sched=fcfs,satf"];
    let how = How {
        resolution_percent: 5.0,
        ..how("read p99 < 60 ms", Find::Speed)
    };
    let choices = points(&trace.base, &vary);
    let capacity = capacity(&choices, Some(&trace.loaded), &how, &Control::default()).unwrap();
    let speeds: Vec<String> = (-20..40)
        .map(|power| {
            format!("{:.2e}", 1.05_f64.powi(power))
                .parse::<f64>()
                .unwrap()
                .to_string()
        })
        .collect();
    let speeds = format!("speed={}", speeds.join(","));
    let all = points(&trace.base, &[vary[0], &speeds]);
    for found in &capacity.choices {
        let scanned = scanned(&all, &trace, 60.0, &found.choice);
        assert!(found.holds.is_some());
        assert_eq!(found.holds, scanned, "{}", found.choice);
        let step = found.fails.unwrap() / found.holds.unwrap();
        assert!((step - 1.05).abs() < 1e-2, "{step}");
    }
    // The run at the boundary says what a plain run says, to the bit.
    let fcfs = &capacity.choices[0];
    let at = fcfs
        .tried
        .iter()
        .find(|tried| Some(tried.at) == fcfs.holds)
        .unwrap();
    let setting = format!("speed={}", at.at);
    let plain = points(&trace.base, &["sched=fcfs", &setting]);
    let plain = compare(
        &plain,
        Some(&trace.loaded),
        &Wanted::default(),
        &Control::default(),
    )
    .unwrap();
    let reads = plain.runs[0].read_response_ms.unwrap();
    assert_eq!(at.readings[0].ms, reads.p99);
    // An interval has no upper end if that was not seen.
    let ends = at.readings[0].low_ms.zip(at.readings[0].high_ms);
    assert_eq!(ends.map(|(low, high)| [low, high]), reads.p99_ci95);
}

#[test]
fn choices_are_told_apart_where_the_best_one_ends() {
    let trace = trace(6_000);
    let choices = points(&trace.base, &["sched=fcfs,satf,look"]);
    let how = how("mean < 40 ms", Find::Speed);
    let capacity = capacity(&choices, Some(&trace.loaded), &how, &Control::default()).unwrap();
    assert_eq!(capacity.best, Some(1));
    let satf = &capacity.choices[1];
    assert_eq!(satf.against_best, None);
    let fcfs = &capacity.choices[0];
    let against = fcfs.against_best.unwrap();
    // It fails long before: no batches need to be compared.
    assert_eq!((against.word, against.at), (Word::Less, None));
    assert!(fcfs.surely_fails < satf.surely_holds);
    assert!(fcfs.tried.iter().any(|tried| Some(tried.at) == satf.holds));
    assert!(
        capacity
            .headline
            .starts_with("satf holds `mean < 40 ms` up to "),
        "{}",
        capacity.headline
    );
    assert!(
        capacity.headline.contains(", fcfs up to "),
        "{}",
        capacity.headline
    );
}

#[test]
fn threads_change_nothing() {
    let base = synthetic("poisson:requests=4000", &[("drive", "null")]);
    let choices = points(&base, &["sched=fcfs,look"]);
    let with = |jobs| {
        let how = How {
            jobs: Some(jobs),
            ..how("p95 < 300 us", Find::Rate)
        };
        serde_json::to_string(&found(&choices, &how)).unwrap()
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn the_depth_of_a_constant_server_is_its_limit() {
    // With n in flight at a server of 0.1 ms each answer takes 0.1 n ms.
    let base = synthetic("iometer:requests=5000", &[("drive", "null")]);
    for (limit, depth) in [
        ("mean < 750 us", 7.0),
        ("p99 < 6.45 ms", 64.0),
        ("p50 < 150 us", 1.0),
    ] {
        let capacity = found(&points(&base, &[]), &how(limit, Find::Depth));
        let choice = &capacity.choices[0];
        assert_eq!(choice.holds, Some(depth), "{limit}");
        assert_eq!(choice.surely_holds, Some(depth), "{limit}");
        assert_eq!(choice.fails, choice.surely_fails, "{limit}");
    }
    let capacity = found(&points(&base, &[]), &how("mean < 50 us", Find::Depth));
    assert_eq!((capacity.best, capacity.choices[0].holds), (None, None));
    assert!(
        capacity.headline.contains("nowhere, not even at depth 1"),
        "{}",
        capacity.headline
    );
    let capacity = found(&points(&base, &[]), &how("mean < 10 s", Find::Depth));
    let choice = &capacity.choices[0];
    assert_eq!((choice.holds, choice.fails), (Some(choice.hardest), None));
    assert!(
        (490.0..=500.0).contains(&choice.hardest),
        "{}",
        choice.hardest
    );
    assert!(
        capacity
            .details
            .iter()
            .any(|detail| detail.contains("and a tenth of the 5000 requests"))
    );
}

#[test]
fn the_fewest_drives_are_found() {
    // Every drive takes 10,000 requests a second. Three are busy for 87 % with 26,000, and answer
    // in 0.43 ms on average.
    let base = synthetic(
        "poisson:rate_rps=26000:requests=20000",
        &[("drive", "null")],
    );
    let capacity = found(
        &points(&base, &["place=linear,mirror"]),
        &how("mean < 1 ms", Find::Drives),
    );
    let [linear, mirror] = capacity.choices.as_slice() else {
        panic!("two choices")
    };
    assert_eq!(
        (linear.holds, linear.fails, linear.surely_fails),
        (Some(3.0), Some(2.0), Some(2.0))
    );
    assert_eq!((mirror.holds, mirror.fails), (Some(4.0), Some(2.0)));
    assert_eq!(linear.config["place"]["name"], "stripe");
    assert!(
        capacity.headline.contains("with 3 drives"),
        "{}",
        capacity.headline
    );
    let text = capacity.to_string();
    assert!(text.contains("more drives"), "{text}");
    assert!(!text.contains(" less "), "{text}");
    let striped = "several are striped here";
    assert!(said(&capacity).contains(striped), "{}", said(&capacity));
    // Somebody who names it knows.
    let named = found(
        &points(&base, &["place=stripe,mirror"]),
        &how("mean < 1 ms", Find::Drives),
    );
    assert!(!said(&named).contains(striped), "{}", said(&named));
}

#[test]
fn drives_that_do_not_hold_the_trace_are_not_tried() {
    let mut trace = trace(1_500);
    // The addresses reach to 4.1 GB; an HP C2247A has 1 GB.
    trace.base.set("drive", "hp-c2247a").unwrap();
    let choices = points(&trace.base, &["sched=fcfs"]);
    let how = how("p95 < 10 s", Find::Drives);
    let capacity = capacity(&choices, Some(&trace.loaded), &how, &Control::default()).unwrap();
    let choice = &capacity.choices[0];
    assert_eq!((choice.holds, choice.hardest), (Some(4.0), 4.0));
    assert!(choice.tried.iter().all(|tried| tried.at >= 4.0));
    assert!(
        capacity
            .details
            .iter()
            .any(|detail| detail.contains("do not hold the trace's addresses"))
    );
}

#[test]
fn a_hopeless_load_ends_early_and_costs_little() {
    let trace = trace(40_000);
    let choices = points(&trace.base, &["sched=fcfs,satf"]);
    let how = how("read p99 < 50 ms", Find::Speed);
    let capacity = capacity(&choices, Some(&trace.loaded), &how, &Control::default()).unwrap();
    let tried = || capacity.choices.iter().flat_map(|found| &found.tried);
    let early: Vec<_> = tried().filter(|tried| tried.ended_early).collect();
    assert!(!early.is_empty());
    for tried in early {
        assert!(tried.requests < capacity.requests);
        assert!(tried.word == Outcome::SurelyFails);
    }
    assert_eq!(capacity.requests, 40_000);
    let most = 30 * capacity.requests;
    assert!(
        capacity.simulated_requests < most,
        "{}",
        capacity.simulated_requests
    );
}

#[test]
fn too_few_requests_are_no_guess() {
    let base = synthetic("poisson:requests=1000:read_share=0.3", &[("drive", "null")]);
    let refused = |slo: &str| {
        let found = capacity(
            &points(&base, &[]),
            None,
            &how(slo, Find::Rate),
            &Control::default(),
        );
        let error = found.unwrap_err();
        assert!(matches!(error, RunError::Objective(_)), "{error}");
        error.to_string()
    };
    let text = refused("p99.9 < 10 ms");
    assert!(text.contains("measures 990 reads and writes"), "{text}");
    assert!(text.contains("needs 5000"), "{text}");
    let fewer = "a statistic nearer to the middle needs fewer";
    assert!(text.contains(fewer), "{text}");
    let reads = refused("read p99 < 10 ms");
    assert!(reads.contains("needs 500 of them"), "{reads}");
    assert!(reads.contains(fewer), "{reads}");
    // The least that any statistic needs.
    let reads = refused("read p90 < 10 ms");
    assert!(reads.contains("needs 320 of them"), "{reads}");
    assert!(!reads.contains("nearer"), "{reads}");
    let writes = synthetic("poisson:requests=1000:read_share=1", &[("drive", "null")]);
    let found = capacity(
        &points(&writes, &[]),
        None,
        &how("write mean < 1 s", Find::Rate),
        &Control::default(),
    );
    assert!(
        found
            .unwrap_err()
            .to_string()
            .contains("the workload has no writes")
    );
}

#[test]
fn an_interruption_before_the_first_run_leaves_nothing() {
    let base = synthetic("poisson:requests=1000", &[("drive", "null")]);
    let control = Control {
        stop: AtomicBool::new(true),
        ..Control::default()
    };
    let how = how("mean < 2 ms", Find::Rate);
    let found = capacity(&points(&base, &[]), None, &how, &control);
    let told = found.map(|_| ()).unwrap_err();
    assert!(matches!(told, RunError::Stopped(_)), "{told}");
    let words = "interrupted, and nothing is written: no run of the search was finished";
    assert_eq!(told.to_string(), words);
}

#[test]
fn the_length_of_a_run_is_told_where_every_run_ended_early() {
    let base = synthetic("poisson:requests=20000", &[("drive", "null")]);
    let how = how("mean < 1 us", Find::Rate);
    let found = capacity(&points(&base, &[]), None, &how, &Control::default()).unwrap();
    assert!(found.best.is_none());
    let tried = &found.choices[0].tried;
    assert!(tried.iter().all(|tried| tried.ended_early), "{tried:?}");
    assert_eq!(found.requests, 20_000);
    // What was reached until then is told, too.
    let so_far = tried[0].readings[0].so_far_ms.unwrap();
    assert!((0.1..0.11).contains(&so_far), "{so_far}");
    let told = format!("of the first {} answers it is 0.10", tried[0].requests);
    assert!(found.headline.contains(&told), "{}", found.headline);
    assert!(found.headline.contains("× the limit"), "{}", found.headline);
}

/// The sentences of an answer, joined.
fn said(capacity: &Capacity) -> String {
    capacity.details.join("\n")
}

#[test]
fn a_queue_that_grows_is_named_as_the_cause() {
    let base = synthetic("poisson:requests=20000", &[("drive", "null")]);
    let capacity = found(&points(&base, &[]), &how("mean < 1000 s", Find::Rate));
    let choice = &capacity.choices[0];
    assert_eq!(choice.surely_holds, choice.holds, "{choice:?}");
    let fails = choice
        .tried
        .iter()
        .find(|tried| Some(tried.at) == choice.fails);
    let fails = fails.unwrap();
    assert_eq!(fails.word, Outcome::SurelyFails);
    assert!(fails.queue_growth_rps.is_some());
    assert!(fails.readings[0].fails.is_none());
    let rate = choice.fails.unwrap();
    let cause = format!(
        "`mean < 1000 s` fails at {rate} requests/s because the queue grows as long as requests come"
    );
    assert!(said(&capacity).contains(&cause), "{}", said(&capacity));
}

#[test]
fn of_several_objectives_the_one_that_fails_is_named() {
    let base = synthetic("poisson:requests=20000", &[("drive", "null")]);
    let asked = "mean < 1 s and p99 < 600 us";
    let capacity = found(&points(&base, &[]), &how(asked, Find::Rate));
    let fails = capacity.choices[0].fails.unwrap();
    let named = format!("it is `p99 < 600 us` that fails first, at {fails} requests/s.");
    assert!(said(&capacity).contains(&named), "{}", said(&capacity));
    // Also where runs end early for it.
    let early = capacity.choices[0]
        .tried
        .iter()
        .filter(|tried| tried.ended_early);
    let early: Vec<_> = early
        .map(|tried| [tried.readings[0].fails, tried.readings[1].fails])
        .collect();
    assert!(!early.is_empty());
    let second_alone = [None, Some(true)];
    assert!(
        early.iter().all(|fails| *fails == second_alone),
        "{early:?}"
    );
}

#[test]
fn where_nothing_holds_the_text_says_why_and_has_no_riddle_of_dashes() {
    let base = synthetic("iometer:requests=5000", &[("drive", "null")]);
    let capacity = found(&points(&base, &[]), &how("mean < 99 us", Find::Depth));
    assert_eq!(capacity.best, None);
    let text = capacity.to_string();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "`mean < 99 us` fails at depth 1, the easiest setting",
        "nowhere, not even at depth 1, the easiest setting: it is 0.100 ms there, 1.01× the limit.",
        "Where no setting holds, they are those at the easiest one that was tried.",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let both = found(
        &points(&base, &["sched=fcfs,look"]),
        &how("mean < 99 us", Find::Depth),
    );
    assert!(
        both.headline
            .contains("setting: with fcfs, which is nearest, it is 0.100 ms there"),
        "{}",
        both.headline
    );
}

#[test]
fn what_limits_a_choice_is_told_with_what_it_is_known_by() {
    let limit = |base: &Scenario, slo: &str, find: Find| {
        let capacity = found(&points(base, &[]), &how(slo, find));
        let limit = capacity.choices[0].limit.clone().unwrap();
        (limit, said(&capacity))
    };
    let poisson = |drive| synthetic("poisson:requests=20000", &[("drive", drive)]);
    // The queue grows.
    let (by, told) = limit(&poisson("null"), "mean < 1000 s", Find::Rate);
    assert_eq!((by.by, by.objective), (LimitedBy::Drives, None));
    assert!(by.queue_growth_rps.unwrap() > 0.0);
    assert!(by.utilisation > 0.95);
    assert!(told.contains("The drives limit"));
    assert!(told.contains("more come than the drives serve"));
    assert_eq!(by.shares, None, "a drive without mechanics");
    // The server is idle for a third of the time, and serves each request alike.
    let (by, told) = limit(&poisson("null"), "p99 < 600 us", Find::Rate);
    assert_eq!((by.by, by.objective), (LimitedBy::Waits, Some(0)));
    assert!((0.6..0.72).contains(&by.utilisation), "{by:?}");
    assert_eq!(by.service_ms, Some(SERVICE_MS));
    assert!((0.4..0.51).contains(&by.wait_ms.unwrap()), "{by:?}");
    assert!(
        told.contains("Requests that wait for each other limit"),
        "{told}"
    );
    // More in flight only waits.
    let base = synthetic("iometer:requests=5000", &[("drive", "null")]);
    let (by, told) = limit(&base, "mean < 750 us", Find::Depth);
    assert_eq!((by.by, by.at), (LimitedBy::Drives, 7.0));
    assert!(
        told.contains("at depth 7 the drives are busy 100 % of the time, so that what is added"),
        "{told}"
    );
    // A limit of I/Os a second: what is below it is served in a hundredth of what is allowed, and
    // what is beyond waits.
    let (by, told) = limit(
        &poisson("cloud-gp2-100gib:credits_full=0"),
        "p50 < 80 ms",
        Find::Rate,
    );
    assert_ne!(by.by, LimitedBy::Service, "{by:?}");
    assert!(by.wait_ms.unwrap() > by.service_ms.unwrap(), "{told}");
    // A disk whose arm needs most of what is allowed.
    let (by, told) = limit(&poisson("seagate-cheetah-9lp"), "mean < 10 ms", Find::Rate);
    assert_eq!(by.by, LimitedBy::Service, "{by:?}");
    let shares = by.shares.unwrap();
    let sum = shares.seek + shares.rotation + shares.transfer + shares.overhead;
    assert!((sum - 1.0).abs() < 1e-12, "{shares:?}");
    assert!(shares.seek > shares.rotation, "{shares:?}");
    assert!(
        told.contains("Single requests that take long limit"),
        "{told}"
    );
    assert!(told.contains(" % are seeks, "), "{told}");
}

/// Some command is under way nearly all the time long before flash has no time left: only what it
/// can do tells.
#[test]
fn drives_that_take_several_commands_are_the_limit_where_they_can_do_no_more() {
    let limit = |base: &Scenario, slo: &str, find: Find| {
        let capacity = found(&points(base, &[]), &how(slo, find));
        (capacity.choices[0].limit.clone().unwrap(), said(&capacity))
    };
    let poisson = |read_share: u8, drive: &str| {
        let workload = format!("poisson:requests=10000:read_share={read_share}");
        synthetic(&workload, &[("drive", drive)])
    };
    let (by, told) = limit(
        &poisson(1, "nvme-tlc-1tb"),
        "read p99 < 0.09 ms",
        Find::Rate,
    );
    assert!(by.utilisation > 0.95, "{by:?}");
    assert_eq!(by.by, LimitedBy::Service, "{told}");
    assert!(told.contains("though they can do more"), "{told}");
    // Where they can do no more.
    let (by, told) = limit(
        &poisson(1, "sata-tlc-500gb"),
        "read mean < 3 ms",
        Find::Rate,
    );
    assert_eq!(by.by, LimitedBy::Drives, "{told}");
    assert!(!told.contains("though they can do more"), "{told}");
    // In flight: a few bring as many times the throughput, many do not.
    let iometer = synthetic("iometer:requests=10000", &[("drive", "sata-tlc-500gb")]);
    let (by, told) = limit(&iometer, "mean < 0.12 ms", Find::Depth);
    assert_eq!(by.by, LimitedBy::Service, "{told}");
    let (by, told) = limit(&iometer, "mean < 0.4 ms", Find::Depth);
    assert_eq!(by.by, LimitedBy::Drives, "{told}");
}

#[test]
fn the_text_tells_the_set_up_as_compare_does() {
    let trace = trace(3_000);
    let mut base = trace.base.clone();
    base.set("drive", "seagate-cheetah-9lp").unwrap();
    let choices = points(&base, &["sched=fcfs,satf"]);
    let how = how("mean < 40 ms", Find::Speed);
    let capacity = capacity(&choices, Some(&trace.loaded), &how, &Control::default()).unwrap();
    let text = capacity.to_string();
    let fact = |name: &str, value: &str| {
        let padded = format!("{name:<10}");
        let line = text.lines().find(|line| line.starts_with(&padded));
        let line = line.unwrap_or_else(|| panic!("no {name} in:\n{text}"));
        assert!(line.contains(value), "{line}");
    };
    fact("mode", "open");
    fact("drive", "seagate-cheetah-9lp");
    fact("placement", "linear");
    fact("seed", "1");
    fact("hash", &capacity.trace.as_ref().unwrap().hash);
    fact("config", "drive.cache=");
    assert!(!text.contains("load.speed="), "{text}");
    assert!(text.contains("fcfs: sched.name=\"fcfs\""), "{text}");
    assert!(!text.contains("runs (0 of them"), "{text}");
}

#[test]
fn an_interval_without_an_upper_end_is_explained() {
    let base = synthetic("poisson:requests=5600", &[("drive", "null")]);
    let capacity = found(&points(&base, &[]), &how("p99.9 < 900 us", Find::Rate));
    let choice = &capacity.choices[0];
    let at = choice
        .tried
        .iter()
        .find(|tried| Some(tried.at) == choice.holds);
    assert_eq!(at.unwrap().readings[0].high_ms, None);
    let words = |capacity: &Capacity| {
        let text = capacity.to_string();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let explained = "An interval without an upper end goes beyond the longest time";
    assert!(words(&capacity).contains(explained), "{capacity}");
    let finite = found(&points(&base, &[]), &how("mean < 900 us", Find::Rate));
    assert!(!words(&finite).contains("upper end"), "{finite}");
}

/// A load of a table with these columns and rows, and its trace.
fn table(columns: &str, rows: impl Iterator<Item = String>) -> (TraceLoad, LoadedTrace) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    std::fs::write(&path, format!("{columns}\n{}", rows.collect::<String>())).unwrap();
    let load = TraceLoad {
        files: vec![path],
        ..TraceLoad::default()
    };
    let loaded = LoadedTrace::read(&load.files, &OpenOptions::default()).unwrap();
    (load, loaded)
}

#[test]
fn an_objective_on_requests_that_the_trace_lacks_is_refused_at_once() {
    let rows =
        (0..2_000_u64).map(|number| format!("{},W,{},4096\n", number * 10_000, number * 8_192));
    let (load, loaded) = table("ts_us,op,offset,size", rows);
    let mut base = Scenario::over(Load::Trace(load));
    base.set("drive", "seagate-cheetah-9lp").unwrap();
    for slo in ["read p99 < 10 ms", "write mean < 1 us and read p99 < 10 ms"] {
        let control = Control::default();
        let error = capacity(
            &points(&base, &[]),
            Some(&loaded),
            &how(slo, Find::Speed),
            &control,
        );
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("'read p99 < 10 ms': the trace has no reads"),
            "{error}"
        );
        assert_eq!(
            control.replied.load(Ordering::Relaxed),
            0,
            "nothing was simulated"
        );
    }
}

/// Where too many drives of a size cannot be had, the answer says why, whether the load is a trace
/// or not.
#[test]
fn more_drives_than_a_placement_has_room_for_are_not_tried() {
    let trace = trace(1_500);
    let base = synthetic("poisson:rate_rps=50:requests=2000", &[]);
    for (mut base, loaded) in [(trace.base, Some(&trace.loaded)), (base, None)] {
        base.set("drive", "modern-20tb").unwrap();
        base.set("place", "mirror:copies=14").unwrap();
        let how = how("p95 < 10 us", Find::Drives);
        let control = Control::default();
        let capacity = capacity(&points(&base, &[]), loaded, &how, &control).unwrap();
        let choice = &capacity.choices[0];
        assert_eq!((choice.holds, choice.easiest), (None, 42.0));
        let said = said(&capacity);
        let says =
            "is tried with at most 42 drives: 56 drives cannot be had: mirror over modern-20tb: ";
        assert!(said.contains(says), "{said}");
        // What holds needs no more drives, and nobody asks why there are none.
        let how = self::how("p95 < 10 s", Find::Drives);
        let capacity = self::capacity(&points(&base, &[]), loaded, &how, &control).unwrap();
        let choice = &capacity.choices[0];
        assert!(choice.holds.is_some() && choice.easiest_because.is_some());
        let said = self::said(&capacity);
        assert!(!said.contains("is tried with at most"), "{said}");
    }
}

#[test]
fn no_speed_is_tried_at_which_a_trace_outlasts_virtual_time() {
    // 400 requests over 30 years: at less than 0.2 times that speed it takes more than 146 years.
    let gap_s = 30 * 365 * 86_400 / 400_u64;
    let rows = (0..400_u64).map(|number| format!("{},R,{},4096\n", number * gap_s, number * 8_192));
    let (load, loaded) = table("ts_s,op,offset,size", rows);
    let mut base = Scenario::over(Load::Trace(load));
    base.set("drive", "null").unwrap();
    let how = how("mean < 50 us", Find::Speed);
    let found = capacity(
        &points(&base, &[]),
        Some(&loaded),
        &how,
        &Control::default(),
    )
    .unwrap();
    let easiest = found.choices[0].easiest;
    assert!((0.2..0.22).contains(&easiest), "{easiest}");
    assert_eq!((found.best, found.choices[0].fails), (None, Some(easiest)));
}

/// What is told of a choice by itself is the same in any company. With the fourth seed `satf` is
/// compared where it holds by chance, beyond a rate at which it fails.
#[test]
fn a_choice_reaches_as_far_in_any_company() {
    let reached = |seed: &str, vary: &str| {
        let settings = [("drive", "desktop-7200-90mb"), ("seed", seed)];
        let base = synthetic("poisson:requests=500", &settings);
        let found = found(&points(&base, &[vary]), &how("p90 < 40 ms", Find::Rate));
        let mut choices = found.choices.into_iter();
        let satf = choices.find(|one| one.choice == "sched=satf");
        let satf = satf.expect("it is one of them");
        let sure = (satf.surely_holds, satf.surely_fails, satf.unevenly_sure);
        (sure, satf.holds, satf.fails, satf.contradicted)
    };
    for seed in ["1", "4"] {
        let alone = reached(seed, "sched=satf");
        for others in [
            "sched=satf,fcfs",
            "sched=satf,gap_satf,aged_satf,gap_satf:age_limit_ms=300",
        ] {
            assert_eq!(reached(seed, others), alone, "{seed}: {others}");
        }
    }
}
