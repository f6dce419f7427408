//! Results that look like those of hosts: an application that starts beside readers and writers, or
//! processes alone.
//!
//! The numbers are made up, of the size that a flash drive has: from 0.06 s to more than half a
//! minute, and one that is not up. What is not of hosts is the toy's.

use std::collections::BTreeMap;

use nearslot_lab::host;
use nearslot_lab::outcome::{
    ApplicationFound, Declared, Number, ProcessFound, Results, Run, Series, StartUp, StreamResponse,
};
use serde_json::json;

use crate::report::sample::{Size, results, verdict};

/// As few points as show a curve.
const FEW: Size = Size {
    requests: 1_200,
    points: 30,
    intervals: 24,
    starts: 20,
};
/// When the run ends.
const END_S: f64 = 67.0;
/// When the application is started where somebody is beside.
const BEGAN_S: f64 = 7.0;
const CHOICES: [&str; 3] = ["none", "mq-deadline", "bfq"];
/// What is told of a load.
type Load = (&'static str, [Option<f64>; 3], [f64; 3]);
/// Who is beside, and after how many seconds the application is up with each choice; what the
/// others move meanwhile.
const LOADS: [Load; 3] = [
    ("0r0w", [Some(0.0614), Some(0.0614), Some(0.0614)], [0.0; 3]),
    (
        "5r-seq",
        [Some(11.7), Some(37.2), Some(0.181)],
        [412.0, 425.5, 318.0],
    ),
    ("4r4w-rand", [None, None, Some(1.34)], [58.54, 57.69, 1.323]),
];
/// Processes of a scenario, as a setting has them.
const OWN: &str = r#"[{"count":2,"file":"512MiB","name":"db","steps":[{"at":"random","read":"16KiB","times":4},{"at":"random","write":"16KiB"},"fsync",{"think_mean_ms":10}]},{"every_ms":40,"file":"1GiB","name":"player","steps":[{"read":"256KiB"}]}]"#;

/// An application beside readers and writers: three schedulers under three loads.
pub(crate) fn starting() -> Results {
    let grid = LOADS.iter().flat_map(|load| {
        let choices = CHOICES.iter().enumerate();
        choices.map(move |(index, sched)| (load, index, *sched))
    });
    of_runs(grid.map(|((beside, up, moved), index, sched)| {
        let (up, moved) = (up[index], moved[index]);
        let mut run = bare(sched, beside);
        run.load = format!("beside={beside}");
        run.label = format!("{} {}", run.choice, run.load);
        run.settings.insert("beside".into(), (*beside).into());
        run.config["load"]["launch"] = json!("xterm");
        let began = if *beside == "0r0w" { 0.0 } else { BEGAN_S };
        let series = run.series.get_or_insert_default();
        series.startups = vec![StartUp {
            began_s: began,
            up_s: up.map(|took| began + took),
        }];
        run.duration_s = up.map_or(END_S, |took| began + took);
        stretch(series, run.duration_s);
        run.processes = beside_it(beside, moved);
        let launched = run.processes.len() as u32 + 1;
        run.processes.push(ProcessFound {
            ended: up.is_some(),
            rounds: u64::from(up.is_some()),
            mean_s: up,
            min_s: up,
            max_s: up,
            ..process("launch", launched)
        });
        run.applications = vec![ApplicationFound {
            name: "xterm".to_owned(),
            up: u64::from(up.is_some()),
            not_up: u64::from(up.is_none()),
            failed: 0,
            mean_s: up,
        }];
        let others = [
            (launched + 2, "journal"),
            (launched + 3, "xterm"),
            (launched + 4, "X"),
        ];
        run.stream_responses = streams(&run.processes, &others);
        let numbers = [
            ("up", f64::from(up.is_some())),
            ("not_up", f64::from(up.is_none())),
            ("read_mb_s", moved * 0.75),
            ("written_mb_s", moved * 0.25),
            ("held_s", 0.0),
        ];
        measure(run, &numbers, up.map(|took| ("startup_s", took)))
    }))
}

/// The same of two applications, of which the second takes twice as long, with two choices under
/// one load; with the first of them the second one fails.
pub(crate) fn two_applications() -> Results {
    let mut runs = starting().runs;
    let runs = [3, 5].map(|index| std::mem::take(&mut runs[index]));
    of_runs(runs.into_iter().enumerate().map(|(index, mut run)| {
        let xterm = &mut run.applications[0];
        let bash = ApplicationFound {
            name: "bash".to_owned(),
            mean_s: xterm.mean_s.map(|took| took / 2.0),
            ..xterm.clone()
        };
        if index == 0 {
            (xterm.up, xterm.failed, xterm.mean_s) = (0, 1, None);
        } else {
            xterm.up = 2;
            xterm.not_up = 1;
        }
        run.applications.insert(0, bash);
        run.load.clear();
        run
    }))
}

/// The same where all processes ask by one stream, as those of a file system do.
pub(crate) fn of_one_stream() -> Results {
    let mut results = alone();
    let processes = results.runs.iter_mut().flat_map(|run| &mut run.processes);
    processes.for_each(|process| process.stream = 0);
    results
}

/// Processes of a scenario, none of which starts an application.
pub(crate) fn alone() -> Results {
    of_runs(CHOICES.iter().enumerate().map(|(index, sched)| {
        let slow = (index + 1) as f64;
        let mut run = bare(sched, "0r0w");
        run.label.clone_from(&run.choice);
        run.config["load"]["process"] = json!(OWN);
        run.duration_s = 20.0;
        stretch(run.series.get_or_insert_default(), 20.0);
        let round = |rounds: u64, mean: f64, late: Option<u64>, read: f64| ProcessFound {
            rounds,
            mean_s: (rounds > 0).then_some(mean),
            min_s: (rounds > 0).then_some(mean / 4.0),
            max_s: (rounds > 0).then_some(mean * 3.0),
            due: late.map(|_| rounds),
            late,
            read_mb_s: read,
            ..ProcessFound::default()
        };
        let db = ProcessFound {
            written_mb_s: 0.4 / slow,
            ..round(400 / (index as u64 + 1), 0.05 * slow, None, 1.6 / slow)
        };
        // The last never does a round.
        let second = round(if index == 2 { 0 } else { 90 }, 0.2, None, 0.3);
        let player = round(500, 0.04, Some(7 * index as u64), 6.5);
        let named = [("db-1", db), ("db-2", second), ("player", player)];
        let named = named.into_iter().zip(1..);
        run.processes = named
            .map(|((name, one), stream)| ProcessFound {
                stream,
                name: name.to_owned(),
                ..one
            })
            .collect();
        run.stream_responses = streams(&run.processes, &[(5, "journal")]);
        let moved = [
            ("read_mb_s", 6.5 + 1.6 / slow),
            ("written_mb_s", 0.4 / slow),
        ];
        measure(run, &moved, Some(("late_percent", 1.4 * index as f64)))
    }))
}

/// A run of the toy as if it were of a host with this scheduler.
fn bare(sched: &str, beside: &str) -> Run {
    let mut run = results(FEW).runs.swap_remove(0);
    let none = Series::default();
    if let Some(series) = &mut run.series {
        *series = Series {
            cdf_ms: std::mem::take(&mut series.cdf_ms),
            cdf_share: std::mem::take(&mut series.cdf_share),
            time_s: std::mem::take(&mut series.time_s),
            rate_rps: std::mem::take(&mut series.rate_rps),
            response_ms: std::mem::take(&mut series.response_ms),
            queue: std::mem::take(&mut series.queue),
            queue_read: std::mem::take(&mut series.queue_read),
            queue_write: std::mem::take(&mut series.queue_write),
            ..none
        };
    }
    run.choice = format!("sched={sched}");
    run.settings = BTreeMap::from([("sched".into(), sched.into())]);
    run.config["sched"] = json!({ "name": sched });
    run.config["load"] =
        json!({"name": "host", "beside": beside, "launch": "", "process": "", "seconds": END_S});
    run.replay = "host".to_owned();
    run.response_ms.ci95 = None;
    (run.volumes, run.volume_responses) = (Vec::new(), Vec::new());
    (run.traced, run.lost, run.demand) = (None, None, None);
    run.measures.clear();
    run
}

/// The course of a run over so many seconds.
fn stretch(series: &mut Series, end_s: f64) {
    let count = series.time_s.len() as f64;
    for (index, time) in series.time_s.iter_mut().enumerate() {
        *time = end_s * index as f64 / count;
    }
}

fn process(name: &str, stream: u32) -> ProcessFound {
    ProcessFound {
        name: name.to_owned(),
        stream,
        ..ProcessFound::default()
    }
}

/// Those beside an application, who move so much together.
fn beside_it(beside: &str, moved: f64) -> Vec<ProcessFound> {
    let (readers, writers) = match beside {
        "0r0w" => (0, 0),
        "5r-seq" => (5, 0),
        _ => (4, 4),
    };
    let share = moved / f64::from((readers + writers).max(1));
    let all = (1..=readers + writers).map(|stream| {
        let writes = stream > readers;
        let name = match writes {
            true => format!("writer-{}", stream - readers),
            false => format!("reader-{stream}"),
        };
        ProcessFound {
            rounds: 1_000 * u64::from(stream),
            mean_s: Some(0.0004),
            min_s: Some(0.000_02),
            max_s: Some(0.9),
            read_mb_s: if writes { 0.0 } else { share },
            written_mb_s: if writes { share } else { 0.0 },
            held_s: if writes { 12.5 } else { 0.0 },
            ..process(&name, stream)
        }
    });
    all.collect()
}

/// Streams of the processes, and others.
fn streams(processes: &[ProcessFound], others: &[(u32, &str)]) -> Vec<StreamResponse> {
    let own = processes.iter().map(|one| (one.stream, &*one.name));
    let all = own.chain(others.iter().copied());
    all.map(|(stream, name)| StreamResponse {
        stream,
        name: name.to_owned(),
        op: "read".to_owned(),
        requests: 100,
        failed: 0,
        mean_ms: Some(4.5),
        p50_ms: Some(3.25),
        p99_ms: None,
        max_ms: Some(21.0),
    })
    .collect()
}

fn measure(mut run: Run, numbers: &[(&str, f64)], more: Option<(&str, f64)>) -> Run {
    let numbers = numbers.iter().copied().chain(more);
    let numbers = numbers.map(|(name, number)| (name.to_owned(), Number::Quantity(number)));
    run.measures.insert(host::KEY.to_owned(), numbers.collect());
    run
}

fn of_runs(runs: impl Iterator<Item = Run>) -> Results {
    let mut results = results(FEW);
    results.runs = runs.collect();
    let told = |name: &str| results.runs.iter().any(|run| run.has(host::KEY, name));
    let declared = host::MEASURES.iter().filter(|measure| told(measure.name));
    results.measures = declared
        .map(|measure| Declared {
            of: host::KEY.to_owned(),
            name: measure.name.to_owned(),
            unit: measure.unit.to_owned(),
            help: measure.help.to_owned(),
        })
        .collect();
    results.runs_planned = results.runs.len();
    results.trace = None;
    results.warnings.clear();
    (results.varied, results.verdict) = verdict(&results.runs);
    results
}
