//! The price of a request where a scheduler tells who asks: it comes, goes to the drive, and is
//! answered.
//!
//! So many processes read in a row, each with four requests of 4 KiB there. The drive does nothing
//! but take its time, one request after the other; what is timed is the scheduler alone. `fcfs`
//! shows what of it is the load's own.

#![allow(
    clippy::disallowed_types,
    reason = "criterion counts in std's durations"
)]

use std::hint::black_box;
use std::time::Duration as WallTime;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use nearslot_core::config::PartConfig;
use nearslot_core::contract::{Next, Oracle, Scheduler, View};
use nearslot_core::drive;
use nearslot_core::ids::{IoId, StreamId};
use nearslot_core::io::{DriveDone, Io};
use nearslot_core::offer::{Offers, Seen};
use nearslot_core::op::{Cost, Op, Status};
use nearslot_core::registry::DriveEnv;
use nearslot_core::stream::Streams;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

const DRIVE: &str = "kind = 'null'\ncapacity_blocks = 1000000000\nservice_us = 100.0";
const PROCESSES: [u32; 4] = [1, 10, 100, 1_000];
/// Requests of each process.
const DEPTH: u32 = 4;
const SCHEDULERS: [&str; 4] = ["fcfs", "mq-deadline", "kyber", "bfq"];

struct Load {
    scheduler: Box<dyn Scheduler>,
    oracle: Box<dyn Oracle>,
    streams: Streams,
    ios: Vec<Io>,
    /// Where each process reads next.
    next: Vec<u64>,
    now: Instant,
    sequence: u64,
}

impl Load {
    fn new(name: &str, processes: u32) -> Load {
        let (blueprint, _) = drive::read("null", DRIVE, &[]).expect("the drive is valid");
        let env = DriveEnv {
            seed: 1,
            label: "sched/0",
            blueprint: &*blueprint,
        };
        let mut load = Load {
            scheduler: PartConfig::named(name)
                .build(&env)
                .expect("the table has it"),
            oracle: blueprint.exact(),
            streams: Streams::default(),
            ios: Vec::new(),
            next: (0..u64::from(processes))
                .map(|one| one * 1_000_000)
                .collect(),
            now: Instant::ZERO,
            sequence: 0,
        };
        for id in 0..processes * DEPTH {
            let io = load.fresh(IoId(id), StreamId(id % processes));
            load.ios.push(io);
            load.scheduler.insert(load.now, &io, &load.streams);
        }
        // Until favours have ended and the drive is known.
        while load.now < Instant(30_000_000_000) {
            load.step();
        }
        load
    }

    fn fresh(&mut self, id: IoId, stream: StreamId) -> Io {
        let next = &mut self.next[stream.index()];
        let at = Pba(*next);
        *next += 8;
        self.sequence += 1;
        Io {
            id,
            sequence: self.sequence,
            stream,
            op: Op::Read,
            at,
            open: false,
            offer: None,
            len: Blocks(8),
            arrived: self.now,
            priority: 0,
            place: self.oracle.locate(at),
            fua: false,
            sync: true,
        }
    }

    fn step(&mut self) {
        let id = loop {
            let view = View {
                now: self.now,
                oracle: &*self.oracle,
                capacity: Blocks(1_000_000_000),
                free: None,
                offers: Seen {
                    offers: &Offers::default(),
                    writable: None,
                },
                in_flight: 0,
                depth: 1,
            };
            match self.scheduler.next(&view) {
                Next::Start(id) => break id,
                Next::WaitUntil(until) => self.now = until,
                other => panic!("{other:?} while {} wait", self.scheduler.len()),
            }
        };
        self.now += Duration::from_us(100);
        let io = self.ios[id.index()];
        let done = DriveDone {
            io: id,
            op: io.op,
            at: io.at,
            len: io.len,
            status: Status::Done,
            cost: Cost::default(),
            arm: None,
        };
        self.scheduler.done(self.now, &io, &done, &self.streams);
        let io = self.fresh(id, io.stream);
        self.ios[id.index()] = io;
        self.scheduler.insert(self.now, &io, &self.streams);
    }
}

fn requests(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("streams");
    group.warm_up_time(WallTime::from_millis(200));
    group.measurement_time(WallTime::from_millis(600));
    group.sample_size(20);
    for processes in PROCESSES {
        for name in SCHEDULERS {
            let mut load = Load::new(name, processes);
            group.bench_function(BenchmarkId::new(name, processes), |bencher| {
                bencher.iter(|| load.step());
            });
            black_box(load.sequence);
        }
    }
    group.finish();
}

criterion_group!(benches, requests);
criterion_main!(benches);
