//! Requests simulated per second on one core: Cheetah 9LP, random 4 KB, two thirds reads, closed load.
//!
//! Seconds are the thread's own processor time, so that a busy machine disturbs little.
//! `cargo bench -p nearslot-lab --bench simulate [-- FILTER]`. Prints a row per scheduler, drive model and depth, with
//! a digest of the outcome beside the time, so that a change of speed cannot hide a change of result.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

use std::sync::Arc;

use nearslot_core::config::{DriveConfig, PartConfig, StackConfig};
use nearslot_core::drive::catalog_text;
use nearslot_core::rng::Rng;
use nearslot_core::units::Blocks;
use nearslot_lab::measure::{Recorder, Window};
use nearslot_lab::memo::SHARED;
use nearslot_lab::sim::{self, Control};
use nearslot_lab::survey::Survey;
use nearslot_lab::workload::closed::{Closed, Refill};
use nearslot_lab::workload::fit::{Fit, Mode};
use nearslot_lab::workload::intake::{Intake, SharedRecords};
use nearslot_trace::{Record, TraceOp};
use rustix::time::{ClockId, clock_gettime};

const REQUESTS: u64 = 300_000;
const ROUNDS: usize = 5;

/// Pages that requests over caches go to, and those that a sequence has.
const HOT_PAGES: u64 = 200_000;
const SEQUENCE_PAGES: u64 = 2_000_000;

/// Requests for caches: three in four go to hot pages, the nearer to the first the more often; the others follow each other.
fn cached_records() -> Arc<[Record]> {
    let mut rng = Rng::stream(1, "bench");
    let mut next = 0;
    let one = |number| {
        let read = rng.chance(0.67);
        let op = if read { TraceOp::Read } else { TraceOp::Write };
        let page = if rng.chance(0.75) {
            rng.below(HOT_PAGES).min(rng.below(HOT_PAGES))
        } else {
            next = (next + 1) % SEQUENCE_PAGES;
            HOT_PAGES + next
        };
        Record::new(number as i64, op, page * 4096, 4096, 0)
    };
    (0..REQUESTS).map(one).collect()
}

fn records(capacity: Blocks) -> Arc<[Record]> {
    let mut rng = Rng::stream(1, "bench");
    let one = |number| {
        let op = if rng.chance(0.67) {
            TraceOp::Read
        } else {
            TraceOp::Write
        };
        let offset = rng.below(capacity.0 / 8) * 4096;
        Record::new(number as i64, op, offset, 4096, 0)
    };
    (0..REQUESTS).map(one).collect()
}

/// Requests per second, best of some rounds, and the mean response time.
fn measure(drive: &str, place: &str, sched: &str, depth: u64) -> (f64, f64) {
    measure_parts(drive, &[("place", place), ("sched", sched)], depth, records)
}

/// The same of a stack of these parts, under these requests.
fn measure_parts(
    drive: &str,
    parts: &[(&str, &str)],
    depth: u64,
    records: impl Fn(Blocks) -> Arc<[Record]>,
) -> (f64, f64) {
    let part: PartConfig = drive.parse().expect("the bench names its drives right");
    let below = DriveConfig {
        text: catalog_text(&part.name)
            .expect("it is in the catalog")
            .to_owned(),
        part,
    };
    let mut config = StackConfig::over(below, 1);
    for (kind, word) in parts {
        let part = config.parts.get_mut(kind).expect("it is a kind");
        *part = word.parse().expect("the bench names its parts right");
    }
    let (mut best, mut digest) = (0.0_f64, 0.0);
    for _ in 0..ROUNDS {
        let mut built = config
            .build_with(&SHARED)
            .expect("the bench configures its stack right");
        let records = records(built.stack.capacity());
        let mut survey = Survey::new();
        survey.record(&records);
        let fit = Fit::new(Mode::None, &survey.finish(), built.stack.capacity(), drive)
            .expect("the bench stays on the drive");
        let intake = Intake::new(Box::new(SharedRecords::new(records)), fit);
        let mut workload = Closed::new(intake, depth, Refill::After);
        let mut recorder = Recorder::new(
            Window {
                requests: REQUESTS,
                warmup: 0,
            },
            1,
            None,
        );
        let before = processor_seconds();
        let end = sim::run(
            &mut built.stack,
            &mut built.drives,
            &mut workload,
            &mut recorder,
            &Control::default(),
        );
        best = best.max(REQUESTS as f64 / (processor_seconds() - before));
        digest = recorder
            .finish(end, String::new(), serde_json::Value::Null)
            .response_ms
            .mean;
    }
    (best, digest)
}

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() {
    let filter = std::env::args()
        .skip(1)
        .find(|word| !word.starts_with('-'))
        .unwrap_or_default();
    on_one_drive(&filter);
    with_open_writes(&filter);
    with_caches(&filter);
}

/// What a read cache costs, and what a policy of two lists costs beside one of one; a placement that has more to plan.
fn with_caches(filter: &str) {
    println!(
        "{:34} {:>34} {:>10} {:>14} {:>14}",
        "place", "cache", "prefetch", "requests/s", "mean ms"
    );
    for place in ["linear", "raid5:disks=8"] {
        for prefetch in ["none", "sarc", "amp"] {
            for cache in ["none", "lru", "lru_bottom", "sarc", "s3_fifo"] {
                if cache == "none" && prefetch != "none" {
                    continue;
                }
                let size = match cache {
                    "none" => "",
                    _ => ":size=50000lines",
                };
                let cache = format!("{cache}{size}");
                if format!("{place} {cache} {prefetch}").contains(filter) {
                    let parts = [("place", place), ("cache", &*cache), ("prefetch", prefetch)];
                    let (rate, mean) = measure_parts("null", &parts, 16, |_| cached_records());
                    println!("{place:34} {cache:>34} {prefetch:>10} {rate:>14.0} {mean:>14.6}");
                }
            }
        }
    }
}

/// Writes that go wherever a slot is free: what a request costs as a whole bounds what its decision costs.
fn with_open_writes(filter: &str) {
    let drive = "seagate-cheetah-9lp:model=mechanical:overhead_ms=0.6";
    println!(
        "{:34} {:>14} {:>7} {:>14} {:>14} {:>14}",
        "place", "sched", "depth", "requests/s", "us/request", "mean ms"
    );
    for dilution in ["1.05", "2"] {
        let place = format!("eager:dilution={dilution}:aging=1");
        for sched in [
            "satf_ew",
            "freebw_satf",
            "freebw_scan",
            "freebw_hybrid",
            "gap_satf",
        ] {
            for depth in [64, 1_024] {
                if format!("{place} {sched} {depth}").contains(filter) {
                    let (rate, mean) = measure(drive, &place, sched, depth);
                    let us = 1e6 / rate;
                    println!(
                        "{place:34} {sched:>14} {depth:>7} {rate:>14.0} {us:>14.2} {mean:>14.6}"
                    );
                }
            }
        }
    }
}

fn on_one_drive(filter: &str) {
    println!(
        "{:34} {:>10} {:>7} {:>14} {:>14}",
        "drive", "sched", "depth", "requests/s", "mean ms"
    );
    for drive in [
        "seagate-cheetah-9lp:model=mechanical",
        "seagate-cheetah-9lp:model=complete",
    ] {
        for sched in ["fcfs", "look", "sstf", "clook", "mq-deadline", "satf"] {
            for depth in [1, 8, 64, 512, 4_096] {
                if !format!("{drive} {sched} {depth}").contains(filter) {
                    continue;
                }
                let (rate, mean) = measure(drive, "linear", sched, depth);
                println!("{drive:34} {sched:>10} {depth:>7} {rate:>14.0} {mean:>14.6}");
            }
        }
    }
}
