//! Requests simulated per second on one core: Cheetah 9LP, random 4 KB, two thirds reads, closed
//! load.
//!
//! Seconds are the thread's own processor time, so that a busy machine disturbs little. `cargo
//! bench -p nearslot-lab --bench simulate [-- FILTER]`. Prints a row per scheduler, drive model and
//! depth, with a digest of the outcome beside the time, so that a change of speed cannot hide a
//! change of result.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

use std::sync::Arc;

use nearslot_core::config::{DriveConfig, PartConfig, StackConfig};
use nearslot_core::drive::catalog_text;
use nearslot_core::rng::Rng;
use nearslot_core::stack::Stack;
use nearslot_core::units::Blocks;
use nearslot_lab::measure::{Recorder, Window};
use nearslot_lab::memo::SHARED;
use nearslot_lab::sim::{self, Control};
use nearslot_lab::survey::Survey;
use nearslot_lab::workload::closed::{Closed, Refill};
use nearslot_lab::workload::fit::{Fit, Mode};
use nearslot_lab::workload::intake::{Intake, SharedRecords};
use nearslot_lab::workload::{LoadEnv, Workload, synthetic};
use nearslot_trace::{Record, TraceOp};
use rustix::time::{ClockId, clock_gettime};

const REQUESTS: u64 = 300_000;
const ROUNDS: usize = 5;

/// Pages that requests over caches go to, and those that a sequence has.
const HOT_PAGES: u64 = 200_000;
const SEQUENCE_PAGES: u64 = 2_000_000;

/// Blocks that requests over many drives go to, whatever their number: what eight drives have room
/// for.
const FOOTPRINT: Blocks = Blocks(900_000_000);

/// Requests for caches: three in four go to hot pages, the nearer to the first the more often; the
/// others follow each other.
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

/// What asks a stack.
type Load<'a> = &'a dyn Fn(&Stack) -> Box<dyn Workload>;

/// Requests per second, best of some rounds, and the mean response time.
fn measure(drive: &str, place: &str, sched: &str, depth: u64) -> (f64, f64) {
    let load: Load<'_> = &|stack| closed(records(stack.capacity()), stack, depth);
    let parts = [("place", place), ("sched", sched)];
    measure_beside(&[(&parts, load)], drive)[0]
}

/// The same of several stacks of these parts, each under its load. They take turns, so that a
/// machine that becomes slower does so for all.
fn measure_beside(stacks: &[(&[(&str, &str)], Load<'_>)], drive: &str) -> Vec<(f64, f64)> {
    let mut found = vec![(0.0_f64, 0.0); stacks.len()];
    for _ in 0..ROUNDS {
        for ((parts, load), (best, digest)) in stacks.iter().zip(&mut found) {
            let (rate, mean) = measure_once(drive, parts, load);
            (*best, *digest) = (best.max(rate), mean);
        }
    }
    found
}

fn measure_once(drive: &str, parts: &[(&str, &str)], load: Load<'_>) -> (f64, f64) {
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
    let mut built = config
        .build_with(&SHARED)
        .expect("the bench configures its stack right");
    let mut workload = load(&built.stack);
    let window = Window {
        requests: REQUESTS,
        warmup: 0,
    };
    let mut recorder = Recorder::new(window, built.stack.drives() as u16, None);
    let before = processor_seconds();
    let end = sim::run(
        &mut built.stack,
        &mut built.drives,
        &mut *workload,
        &mut recorder,
        &Control::default(),
    );
    let rate = REQUESTS as f64 / (processor_seconds() - before);
    let run = recorder.finish(end, String::new(), serde_json::Value::Null);
    (rate, run.response_ms.mean)
}

/// So many requests in flight.
fn closed(records: Arc<[Record]>, stack: &Stack, depth: u64) -> Box<dyn Workload> {
    let mut survey = Survey::new();
    survey.record(&records);
    let survey = survey.finish();
    let fit = Fit::new(Mode::None, &survey, (stack.capacity(), "the stack"))
        .expect("the bench stays on the drives");
    let intake = Intake::new(Box::new(SharedRecords::new(records)), fit);
    Box::new(Closed::new(intake, depth, Refill::After))
}

/// An SPC-1-like load, of the rate that eight disks bear behind a cache and a write buffer.
fn spc1(stack: &Stack) -> Box<dyn Workload> {
    let part = format!("spc1:bsu=20:span=0.02:requests={REQUESTS}");
    let part: PartConfig = part.parse().expect("the bench names its load right");
    let env = LoadEnv {
        seed: 1,
        label: "workload/0",
        capacity: FOOTPRINT.min(stack.capacity()),
        drive: None,
        places_max: u64::MAX,
    };
    let (synthetic, _) = synthetic(&part, &env).expect("the bench configures its load right");
    synthetic.workload
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
    on_flash(&filter);
    with_open_writes(&filter);
    with_caches(&filter);
    over_drives(&filter);
    with_everything(&filter);
}

/// What a read cache costs, and what a policy of two lists costs beside one of one; a placement
/// that has more to plan.
fn with_caches(filter: &str) {
    println!(
        "{:34} {:>34} {:>10} {:>14} {:>14} {:>10}",
        "place", "cache", "prefetch", "requests/s", "mean ms", "cost/lru"
    );
    let load: Load<'_> = &|stack| closed(cached_records(), stack, 16);
    for place in ["linear", "raid5:disks=8"] {
        for prefetch in ["none", "sarc", "amp"] {
            let caches = [
                "lru",
                "none",
                "lru_bottom",
                "sarc:boundary=age",
                "sarc",
                "s3_fifo",
            ];
            let caches = caches
                .iter()
                .filter(|cache| **cache != "none" || prefetch == "none");
            let sized = |cache: &&str| match *cache {
                "none" => "none".to_owned(),
                cache => format!("{cache}:size=50000lines"),
            };
            let caches: Vec<String> = caches.map(sized).collect();
            if !format!("caches {place} {prefetch}").contains(filter) {
                continue;
            }
            let parts = |cache| [("place", place), ("cache", cache), ("prefetch", prefetch)];
            let parts: Vec<_> = caches.iter().map(|cache| parts(&**cache)).collect();
            let stacks: Vec<_> = parts.iter().map(|parts| (&parts[..], load)).collect();
            let found = measure_beside(&stacks, "null");
            for (cache, (rate, mean)) in caches.iter().zip(&found) {
                let cost = found[0].0 / rate;
                println!(
                    "{place:34} {cache:>34} {prefetch:>10} {rate:>14.0} {mean:>14.6} {cost:>10.3}"
                );
            }
        }
    }
}

/// What a request costs over many drives: arrays of eight, and strips without parity. First as many
/// requests are in flight over all, then two for each drive. Drives that take no time to simulate
/// show what the loop and the stack cost.
fn over_drives(filter: &str) {
    println!(
        "{:14} {:34} {:>9} {:>14} {:>14} {:>10}",
        "drive", "place", "in flight", "requests/s", "mean ms", "cost/8"
    );
    for (drive, sched) in [("null", "fcfs"), ("scsi-10k-73gb", "satf")] {
        for place in ["stripe", "raid5"] {
            for depth in [Some(224), None] {
                if format!("drives {drive} {place}").contains(filter) {
                    over_drives_of(drive, sched, place, depth);
                }
            }
        }
    }
}

fn over_drives_of(drive: &str, sched: &str, place: &str, depth: Option<u64>) {
    let counts: &[u64] = match place {
        "raid5" => &[8, 16, 56, 112],
        _ => &[8, 1, 2, 16, 56, 112],
    };
    let place = |drives: u64| match (place, drives) {
        ("raid5", _) => format!("raid5:disks={drives}:arrays={}", drives / 8),
        (_, 1) => "linear".to_owned(),
        _ => format!("stripe:disks={drives}"),
    };
    let places: Vec<String> = counts.iter().map(|drives| place(*drives)).collect();
    let depths: Vec<u64> = counts
        .iter()
        .map(|drives| depth.unwrap_or(drives * 2))
        .collect();
    let loads: Vec<_> = depths
        .iter()
        .map(|depth| {
            move |stack: &Stack| closed(records(FOOTPRINT.min(stack.capacity())), stack, *depth)
        })
        .collect();
    let parts: Vec<_> = places
        .iter()
        .map(|place| [("place", &**place), ("sched", sched)])
        .collect();
    let stacks: Vec<(&[_], Load<'_>)> = parts
        .iter()
        .zip(&loads)
        .map(|(parts, load)| (&parts[..], load as Load<'_>))
        .collect();
    let found = measure_beside(&stacks, drive);
    for ((place, depth), (rate, mean)) in places.iter().zip(&depths).zip(&found) {
        let cost = found[0].0 / rate;
        println!("{drive:14} {place:34} {depth:>9} {rate:>14.0} {mean:>14.6} {cost:>10.3}");
    }
}

/// Everything at once: a cache, a prefetcher, a write buffer and parities, under an SPC-1-like
/// load.
fn with_everything(filter: &str) {
    println!(
        "{:34} {:>12} {:>14} {:>14} {:>10} {:>10}",
        "place", "cache", "requests/s", "mean ms", "cost/lru", "cost/8"
    );
    if !"everything".contains(filter) {
        return;
    }
    let mut first = None;
    for place in [
        "raid5:disks=8:strip_kib=32",
        "raid5:disks=112:arrays=14:strip_kib=32",
    ] {
        let settings = "size=512MiB:line_kib=32:stage=pages:hit_us=200:writes=allocate";
        let caches = ["lru", "sarc"].map(|cache| format!("{cache}:{settings}"));
        let parts = |cache| {
            [
                ("place", place),
                ("sched", "satf"),
                ("cache", cache),
                ("prefetch", "sarc:threshold=14:degree=12"),
                ("buffer", "lrw:size=128MiB:write_us=180"),
            ]
        };
        let parts = [parts(&*caches[0]), parts(&*caches[1])];
        let stacks: Vec<(&[_], Load<'_>)> = parts
            .iter()
            .map(|parts| (&parts[..], &spc1 as Load<'_>))
            .collect();
        let found = measure_beside(&stacks, "scsi-10k-73gb");
        let first = *first.get_or_insert([found[0].0, found[1].0]);
        for (cache, name) in ["lru", "sarc"].iter().enumerate() {
            let (rate, mean) = found[cache];
            let (cost, more) = (found[0].0 / rate, first[cache] / rate);
            println!("{place:34} {name:>12} {rate:>14.0} {mean:>14.6} {cost:>10.3} {more:>10.3}");
        }
    }
}

/// Writes that go wherever a slot is free: what a request costs as a whole bounds what its decision
/// costs.
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

/// Random reads of 4 KiB over flash with the map in memory, and reads and writes; and what it takes
/// to make such a drive.
fn on_flash(filter: &str) {
    println!(
        "{:40} {:>10} {:>7} {:>14} {:>14} {:>10}",
        "drive", "reads", "depth", "requests/s", "mean ms", "made in ms"
    );
    for drive in [
        "sata-tlc-500gb",
        "nvme-tlc-1tb",
        "nvme-tlc-1tb:precondition=random",
    ] {
        for (reads, depth) in [(1.0, 1), (1.0, 32), (1.0, 256), (0.67, 32)] {
            if !format!("flash {drive} {reads} {depth}").contains(filter) {
                continue;
            }
            let load = |stack: &Stack| -> Box<dyn Workload> {
                let part = format!("iometer:read_share={reads}:depth={depth}:requests={REQUESTS}");
                let part: PartConfig = part.parse().expect("the bench names its load right");
                let env = LoadEnv {
                    seed: 1,
                    label: "workload/0",
                    capacity: stack.capacity(),
                    drive: None,
                    places_max: u64::MAX,
                };
                let made = synthetic(&part, &env);
                made.expect("the bench configures its load right")
                    .0
                    .workload
            };
            let parts = [("place", "linear"), ("sched", "fcfs")];
            let (rate, mean) = measure_beside(&[(&parts, &load)], drive)[0];
            let made = made_in(drive) * 1e3;
            println!("{drive:40} {reads:>10} {depth:>7} {rate:>14.0} {mean:>14.6} {made:>10.3}");
        }
    }
}

/// Seconds that a drive takes to be read and made.
fn made_in(drive: &str) -> f64 {
    let part: PartConfig = drive.parse().expect("the bench names its drives right");
    let text = catalog_text(&part.name).expect("it is in the catalog");
    let before = processor_seconds();
    let (blueprint, _) = nearslot_core::drive::read(&part.name, text, &part.knobs)
        .expect("the bench configures its drives right");
    std::hint::black_box(blueprint.drive());
    processor_seconds() - before
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
