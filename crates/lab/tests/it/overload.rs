//! Overload is said before it is simulated, and a queue that grows has no mean.

use std::sync::atomic::{AtomicUsize, Ordering};

use nearslot_lab::grid::{self, Vary};
use nearslot_lab::load::LoadedTrace;
use nearslot_lab::outcome::{Results, Word};
use nearslot_lab::overload::Overload;
use nearslot_lab::run::{RunError, Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario, TraceLoad};
use nearslot_lab::sim::Control;
use nearslot_lab::warning::{Warning, WarningKind};
use nearslot_trace::OpenOptions;

const DRIVE: &str = "hp-c2247a:model=mechanical";

fn simulate(workload: &str, wanted: &Wanted, control: &Control) -> Result<Results, RunError> {
    let mut base = Scenario::over(Load::Workload(workload.parse().unwrap()));
    base.set("drive", DRIVE).unwrap();
    let points = grid::points(&base, &["sched=fcfs,satf".parse().unwrap()]).unwrap();
    compare(&points, None, wanted, control)
}

fn simulated(workload: &str) -> Results {
    simulate(workload, &Wanted::default(), &Control::default()).unwrap()
}

/// 200 seconds of a load that the drive can do, with faults.
fn with_faults(faults: &str, vary: &[Vary]) -> Results {
    let load = "poisson:rate_rps=20:requests=4000".parse().unwrap();
    let mut base = Scenario::over(Load::Workload(load));
    for (key, value) in [("drive", DRIVE), ("faults", faults)] {
        base.set(key, value).unwrap();
    }
    let points = grid::points(&base, vary).unwrap();
    compare(&points, None, &Wanted::default(), &Control::default()).unwrap()
}

/// No clock is needed to see that it is fast: not one request of the runs was answered.
#[test]
fn a_long_overload_is_refused_before_the_first_request() {
    let control = Control::default();
    let workload = "poisson:rate_rps=4000:requests=3000000";
    let error = simulate(workload, &Wanted::default(), &control).err();
    assert!(matches!(error, Some(RunError::Overload(_))), "{error:?}");
    let text = error.unwrap().to_string();
    for word in [
        "sched=fcfs",
        "the load offers 40",
        "its 3000000 requests",
        "(2 of 2 runs are such)",
        "--overload run",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!(control.replied.load(Ordering::Relaxed), 0);
}

#[test]
fn whoever_says_so_gets_it_simulated() {
    let wanted = Wanted {
        overload: Overload::Run,
        ..Wanted::default()
    };
    let workload = "poisson:rate_rps=4000:requests=100000";
    assert!(simulate(workload, &Wanted::default(), &Control::default()).is_err());
    let results = simulate(workload, &wanted, &Control::default()).unwrap();
    assert_eq!(results.runs[0].requests, 100_000);
}

/// Where a load is about as much as the drives can do, its busiest tenth is more than that, and
/// nothing new.
#[test]
fn of_a_load_that_may_be_too_much_no_part_is_told() {
    let light = simulated("poisson:rate_rps=20:requests=2000");
    let rate = 1.05 * light.runs[0].demand.unwrap().ability_rps;
    let results = simulated(&format!("poisson:rate_rps={rate}:requests=6000"));
    // Another scheduler can do more.
    let run = &results.runs[0];
    let demand = run.demand.unwrap();
    assert!((1.0..1.1).contains(&demand.load_factor), "{demand:?}");
    assert!(demand.busiest_rps > demand.ability_rps, "{demand:?}");
    let of_run = results.warnings.iter();
    let of_run = of_run.filter(|warning| warning.run.as_ref() == Some(&run.label));
    let kinds: Vec<WarningKind> = of_run.map(|warning| warning.kind).collect();
    assert!(kinds.contains(&WarningKind::Overload), "{kinds:?}");
    assert!(!kinds.contains(&WarningKind::BusiestTenth), "{kinds:?}");
}

static TOLD: AtomicUsize = AtomicUsize::new(0);

#[test]
fn under_overload_there_is_growth_and_no_interval() {
    let wanted = Wanted {
        tell: Some(|_| {
            TOLD.fetch_add(1, Ordering::Relaxed);
        }),
        ..Wanted::default()
    };
    for load in ["poisson:rate_rps=1000", "oltp:rate_rps=1000"] {
        TOLD.store(0, Ordering::Relaxed);
        let results = simulate(
            &format!("{load}:requests=6000"),
            &wanted,
            &Control::default(),
        )
        .unwrap();
        assert_eq!(TOLD.load(Ordering::Relaxed), 2, "{load}");
        for run in &results.runs {
            let (demand, growth) = (run.demand.unwrap(), run.queue_growth_rps.unwrap());
            assert!(demand.load_factor > 3.0, "{load}: {demand:?}");
            let expected = demand.offered_rps - demand.ability_rps;
            assert!(
                (growth / expected - 1.0).abs() < 0.15,
                "{load}: {growth} is not {expected}"
            );
            assert_eq!(
                (run.response_ms.ci95, run.response_ms.p99_ci95),
                (None, None)
            );
            let told = |warning: &&Warning| warning.run.as_ref() == Some(&run.label);
            assert_eq!(
                results.warnings.iter().filter(told).count(),
                2,
                "{:?}",
                results.warnings
            );
        }
        assert!(
            results.verdict.headline.starts_with("No choice keeps up"),
            "{}",
            results.verdict.headline
        );
        let word = results.verdict.rankings[0].ranks[1]
            .against_best
            .unwrap()
            .word;
        assert_eq!(word, Word::Overloaded);
    }
}

#[test]
fn a_load_that_can_be_borne_has_its_mean() {
    let results = simulated("poisson:rate_rps=20:requests=6000");
    for run in &results.runs {
        let demand = run.demand.unwrap();
        assert!((demand.offered_rps / 20.0 - 1.0).abs() < 0.1, "{demand:?}");
        assert!(demand.load_factor < 0.5, "{demand:?}");
        assert!(demand.busiest_rps < 30.0, "{demand:?}");
        assert!(run.queue_growth_rps.is_none());
        assert!(run.response_ms.ci95.is_some());
    }
    assert!(results.warnings.is_empty(), "{:?}", results.warnings);
}

/// What is found from a sample is what a long closed loop does.
#[test]
fn the_ability_is_that_of_a_long_closed_loop() {
    let open = simulated("poisson:rate_rps=20:requests=20000");
    let closed = simulated("iometer:depth=128:requests=20000");
    for (open, closed) in open.runs.iter().zip(&closed.runs) {
        let ratio = open.demand.unwrap().ability_rps / closed.throughput_rps;
        assert!((ratio - 1.0).abs() < 0.05, "{}: {ratio}", open.label);
        assert!(closed.demand.is_none());
    }
}

/// The loop that finds it out would meet them within its first seconds, and a drive that is gone
/// answers fast.
#[test]
fn what_can_be_done_knows_nothing_of_faults_that_begin_later() {
    let ability = |faults: &str| with_faults(faults, &[]).runs[0].demand.unwrap().ability_rps;
    let sound = ability("none");
    for later in ["gone_at_s=5", "slow_factor=10:slow_from_s=2"] {
        assert_eq!(ability(&format!("injected:{later}")), sound, "{later}");
    }
    assert!(ability("injected:slow_factor=10") < sound / 5.0);
}

/// The drive `null` takes 0.1 ms for each request, whichever comes: 10,000 a second.
#[test]
fn a_long_load_is_refused_from_twice_what_the_drive_can_do_on() {
    let constant = |rate: u64, requests: u64| {
        let workload = format!("poisson:rate_rps={rate}:requests={requests}");
        let mut base = Scenario::over(Load::Workload(workload.parse().unwrap()));
        base.set("drive", "null").unwrap();
        let points = grid::points(&base, &[]).unwrap();
        compare(&points, None, &Wanted::default(), &Control::default())
    };
    let demand = constant(15_000, 5_000).unwrap().runs[0].demand.unwrap();
    assert!((demand.load_factor - 1.5).abs() < 0.05, "{demand:?}");
    assert!(constant(21_000, 100_000).is_err());
    assert!(constant(19_000, 100_000).is_ok());
}

/// A part of a trace: from this second on for so many, so many reads of 4 KiB a second, one behind
/// the other or anywhere.
struct Part {
    from_s: u64,
    lasts_s: u64,
    rate: u64,
    in_a_row: bool,
}

/// Two hours in which a request comes each second, and these parts besides.
fn quiet_but_for(parts: &[Part]) -> Vec<(u64, u64)> {
    let quiet = Part {
        from_s: 0,
        lasts_s: 7_200,
        rate: 1,
        in_a_row: false,
    };
    let mut requests = Vec::new();
    for part in parts.iter().chain([&quiet]) {
        for number in 0..part.lasts_s * part.rate {
            let place = if part.in_a_row {
                number
            } else {
                number.wrapping_mul(2_654_435_761) % 200_000
            };
            let us = part.from_s * 1_000_000 + number * 1_000_000 / part.rate;
            requests.push((us, place * 4_096));
        }
    }
    requests.sort_unstable();
    requests
}

/// Replays such requests on a drive; settings as a command has them.
fn replayed(requests: &[(u64, u64)], drive: &str, settings: &[(&str, &str)]) -> Results {
    let mut text = String::from("ts_us,op,offset,size\n");
    for (us, offset) in requests {
        text += &format!("{us},R,{offset},4096\n");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("load.csv");
    std::fs::write(&path, text).unwrap();
    let file = folder.path().join("volume.toml");
    let volume = "kind = 'capped'\ncapacity_blocks = 2000000\nlatency_ms = 1.0\nio_kib_max = 256\n\
                  iops = { baseline = 100.0 }\nmib = { baseline = 1000.0 }\n";
    std::fs::write(&file, volume).unwrap();
    let load = TraceLoad {
        files: vec![path],
        ..TraceLoad::default()
    };
    let loaded = LoadedTrace::read(&load.files, &OpenOptions::default()).unwrap();
    let mut base = Scenario::over(Load::Trace(load));
    let drive = if drive.is_empty() {
        file.to_str().unwrap()
    } else {
        drive
    };
    base.set("drive", drive).unwrap();
    for (key, value) in settings {
        base.set(key, value).unwrap();
    }
    let points = grid::points(&base, &[]).unwrap();
    compare(
        &points,
        Some(&loaded),
        &Wanted::default(),
        &Control::default(),
    )
    .unwrap()
}

/// Half a minute with 2.3 times what a volume of 100 requests a second can do, within hours in
/// which it does one a second: the queue grows by 130 requests a second, and drains by 99.
#[test]
fn a_burst_that_overloads_is_told_though_the_load_is_light_on_the_whole() {
    let burst = |lasts_s, rate| Part {
        from_s: 3_600,
        lasts_s,
        rate,
        in_a_row: false,
    };
    let results = replayed(&quiet_but_for(&[burst(33, 230)]), "", &[]);
    let [warning] = results.warnings.as_slice() else {
        panic!("{:?}", results.warnings);
    };
    for words in [
        "for 33 s, from 60 min 0 s after the first request on, reads and writes come at 2.3",
        " what the drives can do, ",
        " a second against about 100",
        " and needs about 44 s to drain; ",
        "so p95, p99, p99.9 and the longest response time tell of this burst",
    ] {
        assert!(warning.text.contains(words), "{words}: {warning}");
    }
    let told = |after: &str| -> f64 {
        let rest = warning.text.split(after).nth(1).unwrap();
        rest.split(' ').next().unwrap().parse().unwrap()
    };
    let waiting = told("the queue grows to about ");
    let run = &results.runs[0];
    assert!(
        (waiting / run.queue_max as f64 - 1.0).abs() < 0.05,
        "{waiting} {}",
        run.queue_max
    );
    // What comes in 33 s and in the 44 s after, of what is measured.
    let share = 100.0 * (33.0 * 231.0 + 44.0) / (run.requests - run.warmup_requests) as f64;
    assert!((told("to drain; ") / share - 1.0).abs() < 0.02, "{warning}");
    assert!(run.demand.unwrap().load_factor < 0.05);
    // The wait of the last is 1.3 s for each second of the burst.
    for (lasts_s, rate, count) in [(3, 230, 0), (6, 230, 1), (60, 105, 0)] {
        let results = replayed(&quiet_but_for(&[burst(lasts_s, rate)]), "", &[]);
        assert_eq!(
            results.warnings.len(),
            count,
            "{lasts_s} s: {:?}",
            results.warnings
        );
    }
}

/// Of several bursts the worst is told, and what is left when the load ends has to drain too.
#[test]
fn the_worst_burst_is_told_and_drains_behind_the_end_of_the_load() {
    let burst = |from_s, lasts_s| Part {
        from_s,
        lasts_s,
        rate: 230,
        in_a_row: false,
    };
    let drains = |parts: &[Part], from: &str, drain: &str| {
        let results = replayed(&quiet_but_for(parts), "", &[]);
        let [warning] = results.warnings.as_slice() else {
            panic!("{:?}", results.warnings);
        };
        assert!(warning.text.contains(from), "{warning}");
        assert!(
            warning
                .text
                .contains(&format!("needs about {drain} to drain")),
            "{warning}"
        );
    };
    drains(
        &[burst(2_400, 15), burst(4_800, 33)],
        "from 80 min 0 s",
        "44 s",
    );
    drains(
        &[burst(2_400, 33), burst(4_800, 15)],
        "from 40 min 0 s",
        "44 s",
    );
    // Two bursts whose queues run into each other are one.
    drains(
        &[burst(2_400, 15), burst(2_420, 33)],
        "from 40 min 0 s",
        "59 s",
    );
    drains(&[burst(7_167, 33)], "from 119 min 27 s", "43 s");
}

#[test]
fn a_burst_before_what_is_measured_is_not_told() {
    let early = Part {
        from_s: 60,
        lasts_s: 33,
        rate: 230,
        in_a_row: false,
    };
    let requests = quiet_but_for(&[early]);
    let told = |warmup| {
        replayed(&requests, "", &[("warmup", warmup)])
            .warnings
            .len()
    };
    assert_eq!([told("0"), told("9000")], [1, 0]);
}

/// A disk reads neighbouring blocks much faster than others. What it can do with a burst is what it
/// can do with requests like those of the burst.
#[test]
fn a_burst_is_held_against_what_the_drive_can_do_with_its_own_requests() {
    let burst = |from_s, rate, in_a_row| Part {
        from_s,
        lasts_s: 40,
        rate,
        in_a_row,
    };
    let disk = "hp-c2247a";
    let easy = burst(1_000, 200, true);
    let hard = burst(5_000, 150, false);
    let results = replayed(&quiet_but_for(&[easy]), disk, &[]);
    assert!(results.warnings.is_empty(), "{:?}", results.warnings);
    assert!(results.runs[0].response_ms.max < 1_000.0);
    let results = replayed(&quiet_but_for(&[burst(1_000, 200, true), hard]), disk, &[]);
    let [warning] = results.warnings.as_slice() else {
        panic!("{:?}", results.warnings);
    };
    assert!(warning.text.contains("from 83 min 20 s after"), "{warning}");
}

/// A database and a build, fifty and thirty times slower than they were: what comes unevenly is not
/// yet a burst that overloads.
#[test]
fn an_uneven_load_that_is_served_in_time_is_not_told() {
    let demo = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../demo/postgres-and-build.perf.txt.gz"
    );
    let load = TraceLoad {
        files: vec![demo.into()],
        ..TraceLoad::default()
    };
    let loaded = LoadedTrace::read(&load.files, &OpenOptions::default()).unwrap();
    let mut base = Scenario::over(Load::Trace(load));
    base.set("drive", "desktop-7200-90mb").unwrap();
    let vary = ["sched=fcfs,satf", "speed=0.02,0.035"].map(|vary| vary.parse().unwrap());
    let points = grid::points(&base, &vary).unwrap();
    let results = compare(
        &points,
        Some(&loaded),
        &Wanted::default(),
        &Control::default(),
    )
    .unwrap();
    for run in &results.runs {
        assert!(
            run.response_ms.max < 5_000.0,
            "{}: {}",
            run.label,
            run.response_ms.max
        );
    }
    let told = |warning: &&Warning| warning.kind == WarningKind::Burst;
    assert_eq!(results.warnings.iter().find(told), None);
}

/// Copies that are delayed fill whatever time is left.
#[test]
fn a_mirror_that_copies_in_spare_time_is_not_saturated() {
    let run = |rate: u64, place: &str| {
        let workload = format!("poisson:requests=4000:rate_rps={rate}:read_share=0");
        let mut base = Scenario::over(Load::Workload(workload.parse().unwrap()));
        base.set("drive", DRIVE).unwrap();
        base.set("place", place).unwrap();
        let points = grid::points(&base, &[]).unwrap();
        let mut results = compare(&points, None, &Wanted::default(), &Control::default()).unwrap();
        let is = |warning: &Warning| warning.kind == WarningKind::Saturated;
        let saturated = results.warnings.iter().any(is);
        (results.runs.remove(0), saturated)
    };
    let (healthy, saturated) = run(60, "mirror");
    assert!(healthy.utilisation > 0.98, "{}", healthy.utilisation);
    assert_eq!(healthy.queue_growth_rps, None);
    let told = |name: &str| healthy.measure("spare_time", name).unwrap().value();
    assert!((0.2..0.6).contains(&told("used")), "{}", told("used"));
    assert!(told("busiest_without") < 0.8, "{}", told("busiest_without"));
    assert!(!saturated);
    // Where requests wait for both copies there is no spare time.
    let (busy, saturated) = run(53, "mirror:foreground=2");
    assert!(busy.utilisation > 0.98, "{}", busy.utilisation);
    assert_eq!(busy.queue_growth_rps, None);
    assert_eq!(busy.measures.get("spare_time"), None);
    assert!(saturated);
}

/// Flash has some command to carry out nearly all the time and can do ten times as much; a disk
/// that goes to what is near does so in its queue.
#[test]
fn drives_that_can_do_far_more_are_busy_and_not_saturated() {
    let run = |drive: &str, rate: u64| {
        let workload = format!("poisson:requests=5000:rate_rps={rate}:read_share=1");
        let mut base = Scenario::over(Load::Workload(workload.parse().unwrap()));
        base.set("drive", drive).unwrap();
        let points = grid::points(&base, &[]).unwrap();
        let mut results = compare(&points, None, &Wanted::default(), &Control::default()).unwrap();
        let is = |warning: &Warning| warning.kind == WarningKind::Saturated;
        let saturated = results.warnings.iter().any(is);
        let run = results.runs.remove(0);
        assert!(run.utilisation > 0.98, "{drive}: {}", run.utilisation);
        assert_eq!(run.queue_growth_rps, None, "{drive}");
        (run.demand.unwrap().load_factor, saturated)
    };
    for (drive, rate) in [("nvme-tlc-1tb", 100_000), ("hitachi-7200-90mb", 90)] {
        let (factor, saturated) = run(drive, rate);
        assert!(factor < 0.8, "{drive}: {factor}");
        assert!(!saturated, "{drive}");
    }
    let (factor, saturated) = run("null", 9_900);
    assert!(factor > 0.95, "{factor}");
    assert!(saturated);
}

/// Up to 150 of 200 seconds the drive does what comes; from then on it takes twenty times as long.
#[test]
fn a_queue_that_grows_only_once_a_fault_has_begun_is_told() {
    let results = |faults: &str| with_faults(faults, &["sched=fcfs,satf".parse().unwrap()]);
    let slow = results("injected:slow_factor=20:slow_from_s=150");
    for run in &slow.runs {
        let growth = run.queue_growth_rps.unwrap_or_default();
        assert!((10.0..20.0).contains(&growth), "{}: {growth}", run.label);
        let told = slow
            .warnings
            .iter()
            .find(|one| one.kind == WarningKind::QueueGrew && one.run.as_ref() == Some(&run.label));
        let text = &told.expect("it is told").text;
        assert!(
            text.contains("a second from 150 s on, when all faults have begun, as long as"),
            "{text}"
        );
    }
    let headline = &slow.verdict.headline;
    assert!(headline.starts_with("No choice keeps up"), "{headline}");
    let healthy = results("injected:slow_factor=2:slow_from_s=150:slow_share=0.1");
    for run in &healthy.runs {
        assert_eq!(run.queue_growth_rps, None, "{}", run.label);
    }
}

/// Every second request is a flush, which waits in no queue: what is foreseen and what is measured
/// count reads and writes alone.
#[test]
fn flushes_are_in_neither_growth() {
    let mut rows = String::from("time_us,lba,blocks,op\n");
    for number in 0..6_000_u64 {
        let at = number * 2_500;
        match number % 2 {
            0 => rows += &format!("{at},{},8,W\n", number * 7_919 % 200_000 * 8),
            _ => rows += &format!("{at},0,0,F\n"),
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flushes.csv");
    std::fs::write(&path, rows).unwrap();
    let trace = LoadedTrace::read(std::slice::from_ref(&path), &OpenOptions::default()).unwrap();
    let load = TraceLoad {
        files: vec![path],
        ..TraceLoad::default()
    };
    let mut base = Scenario::over(Load::Trace(load));
    base.set("drive", DRIVE).unwrap();
    let points = grid::points(&base, &[]).unwrap();
    let results = compare(
        &points,
        Some(&trace),
        &Wanted::default(),
        &Control::default(),
    )
    .unwrap();
    let run = &results.runs[0];
    let (demand, growth) = (run.demand.unwrap(), run.queue_growth_rps.unwrap());
    assert!(
        (demand.offered_rps / 200.0 - 1.0).abs() < 0.01,
        "{demand:?}"
    );
    let expected = demand.offered_rps - demand.ability_rps;
    assert!(
        (growth / expected - 1.0).abs() < 0.1,
        "{growth} is not {expected}"
    );
}
