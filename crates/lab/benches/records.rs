//! Price per record of everything that sees every record: survey, inspection and its parts,
//! replays, synthetic load.
//!
//! `cargo bench -p nearslot-lab --bench records [-- MILLIONS]`. A fixed seed makes the records; a
//! digest of each result stands beside its time, so that a faster answer that is another answer
//! shows.

#![allow(clippy::print_stdout, reason = "a bench reports on standard output")]

use std::sync::Arc;
use std::time::Instant as Clock;

use nearslot_core::contract::Blueprint;
use nearslot_core::op::{Cost, Status};
use nearslot_core::request::{Reply, Timeline};
use nearslot_core::rng::Rng;
use nearslot_core::units::{Blocks, Duration, Instant};
use nearslot_lab::inspect::{Against, Inspector};
use nearslot_lab::survey::Survey;
use nearslot_lab::workload::Workload;
use nearslot_lab::workload::closed::{Closed, Refill};
use nearslot_lab::workload::dependent::Dependent;
use nearslot_lab::workload::fit::{Fit, Mode};
use nearslot_lab::workload::intake::{Intake, SharedRecords};
use nearslot_lab::workload::open::Open;
use nearslot_trace::{Header, Record, TimeKind, TraceOp};

/// Blocks of the drive below: 1 TB.
const CAPACITY: u64 = 2_000_000_000;

/// Poisson arrivals at 1000/s: 4 to 64 KiB, a third of them sequential, 30 % writes, response times
/// known.
fn records(count: usize) -> Vec<Record> {
    let mut rng = Rng::stream(1, "bench");
    let (mut now, mut end) = (0.0, 0);
    let mut record = || {
        now += rng.exponential(1e6);
        let op = if rng.chance(0.3) {
            TraceOp::Write
        } else {
            TraceOp::Read
        };
        let len = 4096 << rng.below(5);
        let offset = if rng.chance(0.33) {
            end
        } else {
            rng.below(CAPACITY / 8 - 512) * 4096
        };
        end = offset + len;
        let client = rng.below(20) as u32;
        let response_ns = rng.exponential(4e6) as u64;
        Record {
            client,
            response_ns,
            ..Record::new(now as i64, op, offset, len, 0)
        }
    };
    (0..count).map(|_| record()).collect()
}

/// Time this thread has spent on a processor in ns; wall-clock time where the kernel does not tell.
fn spent_ns(since: Clock) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let told = told.and_then(|line| line.split(' ').next()?.parse::<f64>().ok());
    told.unwrap_or_else(|| since.elapsed().as_nanos() as f64)
}

fn report(what: &str, count: usize, work: impl FnOnce() -> String) {
    let clock = Clock::now();
    let before = spent_ns(clock);
    let digest = work();
    let seconds = (spent_ns(clock) - before) / 1e9;
    let (price, rate) = (seconds * 1e9 / count as f64, count as f64 / seconds / 1e6);
    println!("{what:<12} {price:>8.1} ns  {rate:>8.1} M/s  {digest}");
}

/// The price of an inspection, and with pictures.
fn inspections(records: &[Record]) {
    report("inspect", records.len(), || {
        let mut inspector = Inspector::new(Against::default());
        records
            .chunks(4096)
            .for_each(|batch| inspector.record(batch));
        let touched = inspector.finish(&header()).footprint.bytes;
        format!("{} bytes touched", touched.expect("blocks have addresses"))
    });
    report("pictures", records.len(), || {
        let mut inspector = Inspector::with_pictures(Against::default());
        records
            .chunks(4096)
            .for_each(|batch| inspector.record(batch));
        let pictures = inspector.finish(&header()).pictures;
        let reuse = pictures.expect("asked for").reuse.expect("touched");
        let held = reuse.all.held_share.last().copied().unwrap_or_default();
        format!("{held:.6} held, one in {}", reuse.sampled_one_in)
    });
}

fn header() -> Header {
    Header {
        format: "bench".to_owned(),
        version: None,
        files: Vec::new(),
        epoch_unix_ns: None,
        resolution_ns: 1,
        stamp_step_ns: None,
        time_kind: TimeKind::Arrival,
        sector_size: 512,
        devices: Vec::new(),
        clients: Vec::new(),
        object_ids: false,
        requests: 0,
        understood: 0,
        limited: false,
        span: None,
        anomalies: Default::default(),
        notes: Vec::new(),
        spread: None,
    }
}

/// Answers each request `took` after it came, first come first answered; gives the last instant.
fn drive(mut workload: impl Workload, took: Duration) -> String {
    let mut flying = std::collections::VecDeque::new();
    let (mut now, mut count) = (Instant::ZERO, 0_u64);
    loop {
        let answer = flying.front().map(|(at, _)| *at);
        now = match (answer, workload.next_arrival()) {
            (None, None) => return format!("{count} requests until {now}"),
            (Some(at), due) if due.is_none_or(|due| at <= due) => at,
            (_, due) => due.expect("the other cases have none"),
        };
        if answer == Some(now) {
            let (_, request): (Instant, nearslot_core::request::Request) =
                flying.pop_front().expect("it was just seen");
            let timeline = Timeline {
                arrived: request.arrived,
                started: request.arrived,
                replied: now,
                cost: Cost::default(),
            };
            workload.replied(
                now,
                &Reply {
                    request,
                    status: Status::Done,
                    timeline,
                },
            );
        } else if let Some(request) = workload.poll(now) {
            count += 1;
            flying.push_back((now + took, request));
        }
    }
}

fn synthetic(word: &str, blueprint: &dyn Blueprint) -> Box<dyn Workload> {
    let env = nearslot_lab::workload::LoadEnv {
        seed: 1,
        label: "workload/0",
        capacity: blueprint.capacity(),
        drive: None,
        places_max: u64::MAX,
    };
    let part = word.parse().expect("it is a part");
    nearslot_lab::workload::synthetic(&part, &env)
        .expect("its knobs are right")
        .0
        .workload
}

fn main() {
    let millions = std::env::args()
        .filter_map(|word| word.parse::<f64>().ok())
        .next();
    let count = (millions.unwrap_or(0.2) * 1e6) as usize;
    let records: Arc<[Record]> = records(count).into();
    let mut summary = None;
    report("survey", count, || {
        let mut survey = Survey::new();
        records.chunks(4096).for_each(|batch| survey.record(batch));
        summary.insert(survey.finish()).hash_hex()
    });
    inspections(&records);
    let summary = summary.expect("the survey came first");
    let fit = Fit::new(Mode::None, &summary, (Blocks(CAPACITY), "bench")).expect("it fits");
    let intake = || Intake::new(Box::new(SharedRecords::new(records.clone())), fit);
    let took = Duration::from_ms(4);
    report("open", count, || drive(Open::new(intake(), 1.0), took));
    report("closed", count, || {
        drive(Closed::new(intake(), 16, Refill::After), took)
    });
    report("dependent", count, || {
        drive(Dependent::new(intake(), 1.0, None), took)
    });
    let text = format!("kind = 'null'\ncapacity_blocks = {CAPACITY}\nservice_us = 100.0");
    let (blueprint, _) = nearslot_core::drive::read("bench", &text, &[]).expect("it is a drive");
    for kind in [
        "iometer",
        "iometer:locality=zipf:read_share=0.5",
        "poisson",
        "spc1:bsu=100",
    ] {
        let word = format!("{kind}:requests={count}");
        report(kind.split(':').next_back().expect("a name"), count, || {
            let mut workload = synthetic(&word, &*blueprint);
            let mut last = 0;
            while let Some(due) = workload.next_arrival() {
                let request = workload.poll(due).expect("one is due");
                last = request.extent.start.0;
                let timeline = Timeline {
                    arrived: due,
                    started: due,
                    replied: due,
                    cost: Cost::default(),
                };
                let reply = Reply {
                    request,
                    status: Status::Done,
                    timeline,
                };
                workload.replied(due, &reply);
            }
            format!("last at block {last}")
        });
    }
}
