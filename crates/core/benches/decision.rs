//! The price of a decision: every scheduler at several depths, on the Cheetah 9LP, random 4 KB, closed load.
//!
//! The drive is its mechanics alone. A step is one choice, the oracle's bookkeeping for it, and one new I/O in its place; `fcfs` shows what of that is
//! not choosing. `satf by trying all` is the yardstick of the indexed search and makes the same choices: the sums
//! of both runs are compared before anything is timed.

#![allow(
    clippy::disallowed_types,
    reason = "criterion counts in std's durations"
)]

use std::hint::black_box;
use std::time::Duration as WallTime;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use nearslot_core::config::PartConfig;
use nearslot_core::contract::{Blueprint, Next, Oracle, Scheduler, View};
use nearslot_core::drive;
use nearslot_core::ids::{IoId, StreamId};
use nearslot_core::io::{Command, DriveDone, Io};
use nearslot_core::offer::Offers;
use nearslot_core::op::{Cost, Op, Status};
use nearslot_core::registry::{DriveEnv, KnobValue};
use nearslot_core::rng::Rng;
use nearslot_core::sched;
use nearslot_core::stream::Streams;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

const DRIVE: &str = "seagate-cheetah-9lp";
const DEPTHS: [u32; 4] = [8, 64, 512, 4_096];

/// SATF without an index: prices everything that waits.
#[derive(Default)]
struct TryAll {
    waiting: Vec<Io>,
}

impl Scheduler for TryAll {
    fn insert(&mut self, _now: Instant, io: &Io, _streams: &Streams) {
        self.waiting.push(*io);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        let price = |io: &Io| {
            let time = view.oracle.positioning_time(view.now, io.op, &io.place);
            (time, io.sequence)
        };
        let all = self.waiting.iter().enumerate();
        let best = all.min_by_key(|(_, io)| price(io));
        best.map(|(index, _)| index).map_or(Next::Empty, |index| {
            Next::Start(self.waiting.swap_remove(index).id)
        })
    }

    fn withdraw(&mut self, _now: Instant, io: &Io) {
        self.waiting.retain(|other| other.id != io.id);
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }
}

/// A closed load on one scheduler.
struct Load {
    scheduler: Box<dyn Scheduler>,
    oracle: Box<dyn Oracle>,
    capacity: Blocks,
    ios: Vec<Io>,
    now: Instant,
    rng: Rng,
    sequence: u64,
    digest: u64,
}

impl Load {
    fn new(scheduler: Box<dyn Scheduler>, blueprint: &dyn Blueprint, depth: u32) -> Load {
        let mut load = Load {
            scheduler,
            oracle: blueprint.exact(),
            capacity: blueprint.capacity(),
            ios: Vec::new(),
            now: Instant::ZERO,
            rng: Rng::stream(1, "bench"),
            sequence: 0,
            digest: 0,
        };
        for id in 0..depth {
            let io = load.fresh(IoId(id));
            load.ios.push(io);
            load.scheduler.insert(load.now, &io, &Streams::default());
        }
        // The queue of a closed load is not random: it holds what was passed over.
        for _ in 0..4 * depth {
            load.step();
        }
        load
    }

    fn fresh(&mut self, id: IoId) -> Io {
        let at = Pba(self.rng.below(self.capacity.0 / 8 - 1) * 8);
        self.sequence += 1;
        let op = match self.rng.chance(0.67) {
            true => Op::Read,
            false => Op::Write,
        };
        Io {
            id,
            sequence: self.sequence,
            stream: StreamId(0),
            op,
            at,
            open: false,
            offer: None,
            len: Blocks(8),
            arrived: self.now,
            priority: 0,
            place: self.oracle.locate(at),
            fua: false,
            sync: op == Op::Read,
        }
    }

    fn step(&mut self) {
        let id = loop {
            self.oracle.advance(self.now);
            let view = View {
                now: self.now,
                oracle: &*self.oracle,
                capacity: self.capacity,
                free: None,
                offers: &Offers::default(),
                in_flight: 0,
                depth: 1,
            };
            match self.scheduler.next(&view) {
                Next::Start(id) => break id,
                Next::Seek(at) => {
                    let mut arm = self.ios[0];
                    arm.op = Op::Seek;
                    arm.at = at;
                    arm.place = self.oracle.locate(at);
                    self.run(&arm);
                }
                other => panic!("{other:?} while {} wait", self.scheduler.len()),
            }
        };
        let io = self.ios[id.index()];
        self.digest = self.digest.wrapping_mul(31) ^ io.sequence;
        let done = self.run(&io);
        self.scheduler
            .done(self.now, &io, &done, &Streams::default());
        let io = self.fresh(id);
        self.ios[id.index()] = io;
        self.scheduler.insert(self.now, &io, &Streams::default());
    }

    /// What a drive would do, as far as the oracle hears of it.
    fn run(&mut self, io: &Io) -> DriveDone {
        let Io {
            id, op, at, len, ..
        } = *io;
        let command = Command {
            io: id,
            op,
            at,
            len,
            fua: false,
        };
        let time = self.oracle.positioning_time(self.now, op, &io.place);
        self.oracle.started(self.now, &command);
        self.now += time + Duration(200_000);
        let done = DriveDone {
            io: id,
            op,
            at,
            len,
            status: Status::Done,
            cost: Cost::default(),
            arm: Some(io.place.arm_position()),
        };
        self.oracle.observed(self.now, &done);
        done
    }
}

fn scheduler(name: &str, blueprint: &dyn Blueprint) -> Box<dyn Scheduler> {
    let built = PartConfig::named(name).build(&DriveEnv {
        seed: 1,
        label: "sched/0",
        blueprint,
    });
    built.expect("the table has it")
}

/// Without the electronics, whose bookkeeping costs more than most decisions.
fn mechanical() -> Vec<(String, KnobValue)> {
    vec![("model".to_owned(), KnobValue::Text("mechanical".to_owned()))]
}

fn decisions(criterion: &mut Criterion) {
    let text = drive::catalog_text(DRIVE).expect("the catalog has it");
    let (blueprint, _) = drive::read(DRIVE, text, &mechanical()).expect("the catalog is valid");
    let mut group = criterion.benchmark_group("decision");
    group.warm_up_time(WallTime::from_millis(200));
    group.measurement_time(WallTime::from_millis(600));
    group.sample_size(20);
    for depth in DEPTHS {
        for spec in sched::TABLE {
            let mut load = Load::new(scheduler(spec.name, &*blueprint), &*blueprint, depth);
            group.bench_function(BenchmarkId::new(spec.name, depth), |bencher| {
                bencher.iter(|| load.step());
            });
            black_box(load.digest);
        }
        let mut all = Load::new(Box::<TryAll>::default(), &*blueprint, depth);
        let indexed = Load::new(scheduler("satf", &*blueprint), &*blueprint, depth);
        assert_eq!(all.digest, indexed.digest, "the index chose otherwise");
        group.bench_function(BenchmarkId::new("satf by trying all", depth), |bencher| {
            bencher.iter(|| all.step());
        });
    }
    group.finish();
}

criterion_group!(benches, decisions);
criterion_main!(benches);
