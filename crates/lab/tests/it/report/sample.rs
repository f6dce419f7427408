//! Results that look like real ones, made by a toy: one arm, one platter, six ways to choose the
//! next request.
//!
//! The toy is no model of any drive; it only gives distributions, bursts and arm movements of the
//! right kind, the same on every machine. What reports do with results must not depend on how good
//! the simulator is.

use std::collections::BTreeMap;

use nearslot_core::config::KINDS;
use nearslot_core::rng::Rng;
use nearslot_lab::inspect::{Against, Inspection, Inspector};
use nearslot_lab::measure::{BATCHES, Basis};
use nearslot_lab::outcome::{
    Declared, Demand, FreeSpace, Gaps, LostBlocks, LostExtent, Measures, Number, Results, Run,
    SCHEMA, Series, StreamResponse, Stretch, Times, TraceInfo, Traced, Varied, Verdict,
};
use nearslot_lab::scenario::keys::role;
use nearslot_lab::verdict;
use nearslot_lab::warning::{Warning, WarningKind};
use nearslot_trace::{Header, Record, TraceOp};

const CYLINDERS: u64 = 6_962;
const REVOLUTION_NS: u64 = 5_985_000;
pub(crate) const POLICIES: [&str; 6] = ["fcfs", "sstf", "look", "clook", "satf", "aged_satf"];

/// How much to make.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) requests: u64,
    pub(crate) points: usize,
    pub(crate) intervals: usize,
    pub(crate) starts: usize,
}

/// Enough to see everything, small enough to keep in the repository.
pub(crate) const SMALL: Size = Size {
    requests: 12_000,
    points: 150,
    intervals: 90,
    starts: 320,
};
/// As much as a real report has.
pub(crate) const FULL: Size = Size {
    requests: 40_000,
    points: 800,
    intervals: 400,
    starts: 3_000,
};

#[derive(Clone, Copy)]
struct Ask {
    id: u64,
    arrived: u64,
    cylinder: u64,
    angle: u64,
    blocks: u64,
    write: bool,
}

#[derive(Clone, Copy)]
struct Done {
    ask: Ask,
    from: u64,
    started: u64,
    seek: u64,
    rotation: u64,
    transfer: u64,
    end: u64,
    queue: u64,
}

const OVERHEAD_NS: u64 = 310_000;

/// A comparison of the six policies on a bursty trace of 8 KB requests, two thirds reads.
pub(crate) fn results(size: Size) -> Results {
    let asks = arrivals(size.requests);
    let span_ns = asks.last().map_or(0, |ask| ask.arrived);
    let runs: Vec<Run> = POLICIES
        .iter()
        .map(|policy| run(policy, &serve(policy, &asks), size))
        .collect();
    let (varied, verdict) = verdict(&runs);
    Results {
        schema: SCHEMA,
        version: "0.1.0".to_owned(),
        build: "unknown".to_owned(),
        seed: 42,
        trace: Some(TraceInfo {
            files: vec![
                "sample/postgres-build.blktrace.0".into(),
                "sample/postgres-build.blktrace.1".into(),
            ],
            format: "blktrace v7".to_owned(),
            hash: "9f1c0d5be2a84c7795bb0b6f1e0c6a3d".to_owned(),
            requests: size.requests,
            device: "8,0".to_owned(),
            span_s: seconds(span_ns),
            span: None,
            fit: "scale".to_owned(),
            spread: "none".to_owned(),
        }),
        drive_chosen: None,
        measures: declared(),
        varied,
        verdict,
        runs_planned: runs.len(),
        runs,
        warnings: vec![
            Warning::new(
                WarningKind::LostEvents,
                "12 events were lost while the trace was recorded; their requests are missing",
            ),
            Warning::new(
                WarningKind::Fitted,
                "addresses were scaled by 0.0093 to fit the drive: distances are no longer those of the trace",
            ),
        ],
    }
}

/// What `inspect` says of the sample's trace.
pub(crate) fn inspection(size: Size) -> Inspection {
    let mut inspector = Inspector::new(Against::default());
    let records: Vec<Record> = arrivals(size.requests)
        .iter()
        .map(|ask| {
            let op = if ask.write {
                TraceOp::Write
            } else {
                TraceOp::Read
            };
            let offset = (ask.cylinder * 1_300 + ask.angle / 20_000) * 512;
            Record::new(ask.arrived as i64, op, offset, ask.blocks * 512, 0)
        })
        .collect();
    inspector.record(&records);
    inspector.finish(&Header::made("blktrace", &["8,0"], &[]))
}

/// An inspection with pictures of the sample's trace, with a second device, flushes, and sizes and
/// places of all magnitudes.
pub(crate) fn pictured() -> Inspection {
    let mut inspector = Inspector::with_pictures(Against::default());
    let record = |(index, ask): (usize, &Ask)| {
        let index = index as u64;
        let op = match index % 50 {
            49 => TraceOp::Flush,
            _ if ask.write => TraceOp::Write,
            _ => TraceOp::Read,
        };
        let place = ask.cylinder * 1_300 + ask.angle / 20_000;
        // Some places are hot, and the second device is small.
        let block = if index.is_multiple_of(3) {
            place % 64 * 8
        } else {
            place
        };
        let dev = u32::from(index % 7 == 6);
        let block = if dev == 1 { block % 4_096 } else { block };
        let len = if op == TraceOp::Flush {
            0
        } else {
            4_096 << (index % 5)
        };
        Record::new(ask.arrived as i64, op, block * 4_096, len, dev)
    };
    let asks = arrivals(SMALL.requests);
    let records: Vec<Record> = asks.iter().enumerate().map(record).collect();
    inspector.record(&records);
    let mut header = Header::made("blktrace", &["8,0", "8,16"], &[]);
    header.files = vec!["sample/postgres-build.blktrace.0".to_owned()];
    inspector.finish(&header)
}

/// What is said of these runs, as if each had its batch means evenly spread around its mean.
pub(crate) fn verdict(runs: &[Run]) -> (Vec<Varied>, Verdict) {
    judged(runs, &vec![0; runs.len()])
}

/// The same where so many of the requests of each failed.
pub(crate) fn judged(runs: &[Run], failed: &[u64]) -> (Vec<Varied>, Verdict) {
    let batches = |run: &Run| {
        let [low, high] = run.response_ms.ci95?;
        // The paired interval of two such runs is as wide as theirs differ.
        let step = (high - low) / 2.0 / 2.039_513 * f64::from(BATCHES as u32).sqrt();
        let sign = |batch: usize| {
            if (batch + run.label.len()).is_multiple_of(2) {
                step
            } else {
                -step
            }
        };
        Some(std::array::from_fn(|batch| {
            run.response_ms.mean + 0.1 * sign(batch)
        }))
    };
    let basis = |(run, failed): (&Run, &u64)| Basis {
        batches_ms: batches(run),
        measured: run.requests,
        failed: *failed,
        ..Basis::default()
    };
    let bases: Vec<Basis> = runs.iter().zip(failed).map(basis).collect();
    let judged: Vec<_> = runs.iter().zip(&bases).collect();
    let varied = varied(runs);
    let verdict = verdict::of(&judged, &varied, runs.first().map(|run| run.choice.clone()));
    (varied, verdict)
}

/// The keys that distinguish the runs, each with its values.
fn varied(runs: &[Run]) -> Vec<Varied> {
    let mut values: BTreeMap<&String, Vec<String>> = BTreeMap::new();
    for (key, value) in runs.iter().flat_map(|run| &run.settings) {
        let values = values.entry(key).or_default();
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    let varied = values.into_iter().map(|(key, values)| Varied {
        key: key.clone(),
        role: role(KINDS, key),
        values,
    });
    varied.collect()
}

/// Calm stretches and bursts; most requests in a few hot places.
fn arrivals(requests: u64) -> Vec<Ask> {
    let mut rng = Rng::stream(42, "sample");
    let mut now = 0.0;
    let make = |id| {
        let phase = id * 12 / requests;
        let gap_ns = [9.7e6, 13e6, 11e6, 10.2e6, 14e6, 12e6][(phase % 6) as usize];
        now += rng.exponential(gap_ns);
        let hot = rng.chance(0.6);
        let center = [900.0, 2_400.0, 5_100.0][rng.below(3) as usize];
        let cylinder = if hot {
            center + 160.0 * rng.normal()
        } else {
            rng.unit() * CYLINDERS as f64
        };
        Ask {
            id,
            arrived: now as u64,
            cylinder: (cylinder.max(0.0) as u64).min(CYLINDERS - 1),
            angle: rng.below(REVOLUTION_NS),
            blocks: 8 << rng.below(4),
            write: rng.chance(0.34),
        }
    };
    (0..requests).map(make).collect()
}

/// One server that takes what the policy likes best of what is there.
fn serve(policy: &str, asks: &[Ask]) -> Vec<Done> {
    let (mut now, mut at, mut up) = (0, 0, true);
    let (mut queue, mut next): (Vec<Ask>, usize) = (Vec::new(), 0);
    let mut done = Vec::with_capacity(asks.len());
    while done.len() < asks.len() {
        while next < asks.len() && (asks[next].arrived <= now || queue.is_empty()) {
            now = if queue.is_empty() {
                now.max(asks[next].arrived)
            } else {
                now
            };
            queue.push(asks[next]);
            next += 1;
        }
        if queue.iter().all(|ask| (ask.cylinder >= at) != up) {
            up = !up;
        }
        let best = (0..queue.len()).min_by_key(|&index| score(policy, &queue[index], now, at, up));
        let in_system = queue.len() as u64;
        let ask = queue.swap_remove(best.expect("the queue was filled above"));
        let (seek, rotation) = position(&ask, now + OVERHEAD_NS, at);
        let transfer = ask.blocks * 21_000;
        let end = now + OVERHEAD_NS + seek + rotation + transfer;
        done.push(Done {
            ask,
            from: at,
            started: now,
            seek,
            rotation,
            transfer,
            end,
            queue: in_system,
        });
        (now, at) = (end, ask.cylinder);
    }
    done
}

/// What the policy minimises.
fn score(policy: &str, ask: &Ask, now: u64, at: u64, up: bool) -> (u64, u64) {
    let distance = ask.cylinder.abs_diff(at);
    let ahead = ask.cylinder >= at;
    let time = || {
        let (seek, rotation) = position(ask, now + OVERHEAD_NS, at);
        seek + rotation
    };
    let score = match policy {
        "fcfs" => ask.id,
        "sstf" => distance,
        "look" if ahead == up => distance,
        "look" => CYLINDERS + distance,
        "clook" if ahead => distance,
        "clook" => CYLINDERS + ask.cylinder,
        "satf" => time(),
        _ => (1_000_000_000 + time()).saturating_sub(now.saturating_sub(ask.arrived) / 20),
    };
    (score, ask.id)
}

fn position(ask: &Ask, from: u64, at: u64) -> (u64, u64) {
    let distance = ask.cylinder.abs_diff(at) as f64;
    let seek = if distance > 0.0 {
        620_000.0 + 118_000.0 * distance.sqrt()
    } else {
        0.0
    } as u64;
    let arrives = (from + seek) % REVOLUTION_NS;
    (seek, (ask.angle + REVOLUTION_NS - arrives) % REVOLUTION_NS)
}

fn run(policy: &str, done: &[Done], size: Size) -> Run {
    let warmup = done.len() / 20;
    let kept = &done[warmup..];
    let begin = kept[0].started;
    let span_ns = kept[kept.len() - 1].end - begin;
    let of = |time: fn(&Done) -> u64, which: fn(&Done) -> bool| {
        let chosen = kept.iter().filter(|done| which(done));
        times(&chosen.map(time).collect::<Vec<u64>>())
    };
    let response = |done: &Done| done.end - done.ask.arrived;
    let wait = |done: &Done| done.started - done.ask.arrived;
    let service = |done: &Done| done.end - done.started;
    let (all, write) = (|_: &Done| true, |done: &Done| done.ask.write);
    let read = |done: &Done| !done.ask.write;
    let mean = |part: fn(&Done) -> u64| {
        kept.iter().map(part).sum::<u64>() as f64 / 1e6 / kept.len() as f64
    };
    let blocks: u64 = kept.iter().map(|done| done.ask.blocks).sum();
    let response_ms = of(response, all).expect("there are requests");
    Run {
        label: format!("sched={policy}"),
        choice: format!("sched={policy}"),
        settings: BTreeMap::from([("sched".into(), policy.into())]),
        config: config(policy),
        replay: "open".to_owned(),
        requests: done.len() as u64,
        warmup_requests: warmup as u64,
        stream_responses: streams(),
        operations: operations(done),
        duration_s: seconds(span_ns),
        throughput_rps: kept.len() as f64 / seconds(span_ns),
        throughput_mb_s: (blocks * 512) as f64 / 1e6 / seconds(span_ns),
        response_ms,
        read_response_ms: of(response, read),
        write_response_ms: of(response, write),
        wait_ms: of(wait, all).expect("there are requests"),
        read_wait_ms: of(wait, read),
        write_wait_ms: of(wait, write),
        service_ms: of(service, all).expect("there are requests"),
        read_service_ms: of(service, read),
        write_service_ms: of(service, write),
        seek_ms: mean(|done| done.seek),
        rotation_ms: mean(|done| done.rotation),
        transfer_ms: mean(|done| done.transfer),
        overhead_ms: mean(|_| OVERHEAD_NS),
        utilisation: kept.iter().map(service).sum::<u64>() as f64 / span_ns as f64,
        utilisation_max: kept.iter().map(service).sum::<u64>() as f64 / span_ns as f64,
        queue_mean: response_ms.mean / 1e3 * kept.len() as f64 / seconds(span_ns),
        queue_max: kept.iter().map(|done| done.queue).max().unwrap_or(0),
        measures: measures(policy),
        lost: (policy == POLICIES[5]).then(lost),
        simulated_in_s: 0.018,
        series: Some(series(kept, begin, size, policy)),
        demand: Some(demand(kept, begin)),
        traced: Some(traced(response_ms.mean)),
        ..Run::default()
    }
}

/// As if one run had lost something.
fn lost() -> LostBlocks {
    let extents = [(4_096, 64), (9_001, 1)].map(|(first_block, blocks)| LostExtent {
        first_block,
        blocks,
    });
    LostBlocks {
        blocks: 65,
        extents: extents.to_vec(),
    }
}

/// As if the map survived that one policy's run writes.
fn measures(policy: &str) -> Measures {
    match policy {
        "satf" => Measures::from([("recovery".to_owned(), recovery())]),
        _ => Measures::new(),
    }
}

/// What the trace is said to tell: 1,000 times from 0.02 ms on in equal steps.
const TRACED_STEP_MS: f64 = 0.02;

fn traced(simulated_mean_ms: f64) -> Traced {
    let step = |count: u32| f64::from(count) * TRACED_STEP_MS;
    let times = Times {
        mean: step(1_001) / 2.0,
        p50: Some(step(500)),
        p95: Some(step(950)),
        p99: Some(step(990)),
        p999: None,
        max: step(1_000),
        ..Times::default()
    };
    let apart = (simulated_mean_ms - times.mean).abs();
    Traced {
        requests: 1_000,
        untold: 3,
        response_ms: times,
        read_response_ms: Some(times),
        write_response_ms: Some(times),
        demerit_ms: Some(apart),
        demerit_share: Some(apart / times.mean),
    }
}

/// As if the drive could do a fifth more than it was asked for.
fn demand(kept: &[Done], begin: u64) -> Demand {
    let offered = kept.len() as f64 / seconds(kept[kept.len() - 1].ask.arrived - begin);
    Demand {
        offered_rps: offered,
        offered_mb_s: offered * 0.015,
        busiest_rps: offered * 1.1,
        busiest_mb_s: offered * 0.017,
        ability_rps: offered * 1.2,
        ability_mb_s: offered * 0.018,
        load_factor: 1.0 / 1.2,
        faults_begin_s: None,
        credits: None,
    }
}

/// Two streams, as if the trace told who asked.
fn streams() -> Vec<StreamResponse> {
    let one = |stream: u32, name: &str, op: &str| StreamResponse {
        stream,
        name: name.to_owned(),
        op: op.to_owned(),
        requests: 100 + u64::from(stream),
        failed: u64::from(op == "write"),
        mean_ms: Some(4.5),
        p50_ms: Some(3.25),
        p99_ms: None,
        max_ms: Some(21.0),
    };
    vec![
        one(1, "postgres", "read"),
        one(1, "postgres", "write"),
        one(2, "", "read"),
    ]
}

/// What coming back would cost, as if a map survived.
fn recovery() -> BTreeMap<String, Number> {
    [
        ("s", Number::Quantity(0.412)),
        ("reads", Number::Count(9)),
        ("mib", Number::Quantity(8.75)),
    ]
    .map(|(name, number)| (name.to_owned(), number))
    .into()
}

/// What is said of these numbers.
fn declared() -> Vec<Declared> {
    let help = "drive time to find the map again if the power went at the end of the run";
    let told = [
        ("s", "s", help),
        ("reads", "reads", "the reads of that, one after another"),
        ("mib", "MiB", "what they read"),
    ];
    let told = told.map(|(name, unit, help)| Declared {
        of: "recovery".to_owned(),
        name: name.to_owned(),
        unit: unit.to_owned(),
        help: help.to_owned(),
    });
    told.into()
}

fn operations(done: &[Done]) -> BTreeMap<String, u64> {
    let writes = done.iter().filter(|done| done.ask.write).count() as u64;
    let reads = done.len() as u64 - writes;
    BTreeMap::from([("read".into(), reads), ("write".into(), writes)])
}

fn config(policy: &str) -> serde_json::Value {
    let mut sched = serde_json::json!({"name": policy});
    if policy == "aged_satf" {
        sched["age_weight"] = serde_json::json!(0.05);
    }
    serde_json::json!({
        "drive": {"name": "seagate-cheetah-9lp", "buffer": "off", "cylinders": CYLINDERS, "rpm": 10_025},
        "drives": 1,
        "oracle": {"name": "exact"},
        "claims": {"name": "none"},
        "merge": {"name": "none"},
        "cache": {"name": "none"},
        "prefetch": {"name": "none"},
        "buffer": {"name": "none"},
        "faults": {"name": "none"},
        "place": {"name": "linear"},
        "sched": sched,
        "seed": 42,
        "warmup": "5%",
        "load": {"fit": "scale", "replay": "open", "speed": 1.0},
    })
}

/// Statistics by sorting; the interval of the mean by twenty batch means.
fn times(all: &[u64]) -> Option<Times> {
    let mut sorted = all.to_vec();
    sorted.sort_unstable();
    let max = *sorted.last()?;
    let mean = |some: &[u64]| some.iter().sum::<u64>() as f64 / 1e6 / some.len() as f64;
    let rank =
        |share: f64| ms(sorted[((share * sorted.len() as f64) as usize).min(sorted.len() - 1)]);
    let batches: Vec<f64> = all
        .chunks_exact((all.len() / 20).max(1))
        .map(mean)
        .collect();
    let center = batches.iter().sum::<f64>() / batches.len() as f64;
    let squares: f64 = batches
        .iter()
        .map(|batch| (batch - center) * (batch - center))
        .sum();
    let count = batches.len() as f64;
    // Student's t at 97.5 % for 19 degrees of freedom.
    let half = 2.093 * (squares / (count * (count - 1.0))).sqrt();
    Some(Times {
        mean: mean(all),
        p50: Some(rank(0.5)),
        p95: Some(rank(0.95)),
        p99: Some(rank(0.99)),
        p999: Some(rank(0.999)),
        max: ms(max),
        ci95: (all.len() >= 400).then(|| [mean(all) - half, mean(all) + half]),
        p99_ci95: (all.len() >= 400).then(|| [rank(0.985), rank(0.995)]),
        p999_ci95: None,
    })
}

/// Policies whose writes are said to go wherever the arm is.
fn is_eager(policy: &str) -> bool {
    policy.ends_with("satf")
}

fn series(kept: &[Done], begin: u64, size: Size, policy: &str) -> Series {
    let mut series = Series::default();
    distribution(kept, size, &mut series);
    series.traced_cdf_ms = (1..=100)
        .map(|tenth| f64::from(tenth) * 10.0 * TRACED_STEP_MS)
        .collect();
    series.traced_cdf_share = (1..=100).map(|tenth| f64::from(tenth) / 100.0).collect();
    intervals(kept, begin, size, &mut series);
    commands(&kept[..size.starts], begin, is_eager(policy), &mut series);
    if is_eager(policy) {
        series.free.push(free_space(*series.time_s.last().unwrap()));
    }
    series
}

fn distribution(kept: &[Done], size: Size, series: &mut Series) {
    let mut sorted: Vec<u64> = kept
        .iter()
        .map(|done| done.end - done.ask.arrived)
        .collect();
    sorted.sort_unstable();
    for point in 0..=size.points {
        // Half of the points in the last hundredth, where the tail is.
        let half = size.points / 2;
        let share = if point <= half {
            0.99 * point as f64 / half as f64
        } else {
            0.99 + 0.01 * (point - half) as f64 / (size.points - half) as f64
        };
        let index = ((share * sorted.len() as f64) as usize).min(sorted.len() - 1);
        series.cdf_ms.push(ms(sorted[index]));
        series
            .cdf_share
            .push((index + 1) as f64 / sorted.len() as f64);
    }
}

fn intervals(kept: &[Done], begin: u64, size: Size, series: &mut Series) {
    let width = (kept[kept.len() - 1].end - begin) / size.intervals as u64 + 1;
    for interval in 0..size.intervals as u64 {
        let (from, to) = (begin + interval * width, begin + (interval + 1) * width);
        let inside = kept.iter().filter(|done| (from..to).contains(&done.end));
        let responses: Vec<u64> = inside.map(|done| done.end - done.ask.arrived).collect();
        let present = |writes: bool| {
            let chosen = kept.iter().filter(|done| done.ask.write == writes);
            let spans =
                chosen.map(|done| done.end.min(to).saturating_sub(done.ask.arrived.max(from)));
            spans.sum::<u64>() as f64 / width as f64
        };
        series.time_s.push(seconds(from - begin));
        series
            .rate_rps
            .push(responses.len() as f64 / seconds(width));
        series
            .response_ms
            .push(times(&responses).map(|times| times.mean));
        series.queue.push(present(false) + present(true));
        series.queue_read.push(present(false));
        series.queue_write.push(present(true));
    }
}

fn commands(done: &[Done], begin: u64, eager: bool, series: &mut Series) {
    let writes = done.iter().filter(|done| done.ask.write).count() as u64;
    for done in done {
        series.arm_s.push(seconds(done.started - begin));
        series.arm_drive.push(0);
        series
            .arm_share
            .push(done.ask.cylinder as f64 / CYLINDERS as f64);
        series.arm_from.push(done.from as u32);
        series.arm_cylinder.push(done.ask.cylinder as u32);
        series.arm_write.push(done.ask.write);
        series.arm_open.push(done.ask.write && eager);
        series.arm_overhead_ms.push(ms(OVERHEAD_NS));
        series.arm_seek_ms.push(ms(done.seek));
        series.arm_rotation_ms.push(ms(done.rotation));
        series.arm_transfer_ms.push(ms(done.transfer));
    }
    series.stretch = Some(Stretch {
        span_s: seconds(done[done.len() - 1].end - done[0].started),
        reads: done.len() as u64 - writes,
        writes,
        open_writes: if eager { writes } else { 0 },
        gaps: Some(Gaps {
            by_writes: vec![130, 48, 20, 9, 3, 1, 0, 0, 1],
            writes_mean: 0.65,
            ms_mean: 12.25,
            seek_ms_mean: 6.5,
            rotation_ms_mean: 3.5,
        }),
    });
}

/// A hollow that a sweeping writer leaves, wandering over the drive.
fn free_space(last_s: f64) -> FreeSpace {
    let (groups, snapshots) = (32, 40);
    let share = |time: u64, group: u64| {
        let distance = (group + groups - time * 3 / 4 % groups) % groups;
        (3_500 + 100 * distance) as u16
    };
    let cylinders = (0..=groups).map(|group| (group * CYLINDERS / groups) as u32);
    FreeSpace {
        drive: 0,
        cylinders: cylinders.collect(),
        time_s: (0..snapshots)
            .map(|time| last_s * time as f64 / snapshots as f64)
            .collect(),
        free_per_10k: (0..snapshots)
            .map(|time| (0..groups).map(|group| share(time, group)).collect())
            .collect(),
    }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
