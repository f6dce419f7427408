//! The price of a decision: every scheduler at several depths, on the Cheetah 9LP, random 4 KB,
//! closed load.
//!
//! The drive is its mechanics alone. A step is one choice, the oracle's bookkeeping for it, and one
//! new I/O in its place; `fcfs` shows what of that is not choosing. `satf by trying all` is the
//! yardstick of the indexed search and makes the same choices: the sums of both runs are compared
//! before anything is timed. Range writes have rows of their own: how the search by track grows
//! with what waits and with what is offered, beside `expand`, which makes the same choices.

#![allow(
    clippy::disallowed_types,
    reason = "criterion counts in std's durations"
)]

use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration as WallTime;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use nearslot_core::config::PartConfig;
use nearslot_core::contract::{Arm, Blueprint, Next, Oracle, Scheduler, View};
use nearslot_core::drive;
use nearslot_core::ids::{IoId, StreamId};
use nearslot_core::io::{Command, DriveDone, Io};
use nearslot_core::offer::{Offer, OfferId, Offers};
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
            let time = view
                .oracle
                .positioning_time(view.now, io.op, &io.place, io.len);
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

/// What the writes of a load offer.
#[derive(Clone, Copy, Debug)]
enum Within {
    Track,
    /// 4,096 blocks.
    Group,
    Disk,
}

/// Blocks of a group.
const GROUP: u64 = 4_096;

/// Ranges, and how many.
type Offered = (Within, usize);

/// A closed load on one scheduler.
struct Load {
    scheduler: Box<dyn Scheduler>,
    oracle: Box<dyn Oracle>,
    capacity: Blocks,
    ios: Vec<Io>,
    /// What its I/Os offer, if they are range writes.
    offered: Option<Offered>,
    offers: Offers,
    now: Instant,
    rng: Rng,
    sequence: u64,
    digest: u64,
}

impl Load {
    fn new(scheduler: Box<dyn Scheduler>, blueprint: &dyn Blueprint, depth: u32) -> Load {
        Load::offering(scheduler, blueprint, depth, None)
    }

    /// A load of range writes, if it is told what they offer.
    fn offering(
        scheduler: Box<dyn Scheduler>,
        blueprint: &dyn Blueprint,
        depth: u32,
        offered: Option<Offered>,
    ) -> Load {
        let mut load = Load {
            scheduler,
            oracle: blueprint.exact(),
            capacity: blueprint.capacity(),
            ios: Vec::new(),
            offered,
            offers: Offers::default(),
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
        let offer = self.offered.map(|offered| self.offer(offered));
        let op = match offer.is_none() && self.rng.chance(0.67) {
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
            offer,
            len: Blocks(8),
            arrived: self.now,
            priority: 0,
            place: self.oracle.locate(at),
            fua: false,
            sync: op == Op::Read,
        }
    }

    /// A write of one block of 4 KB offers so many ranges.
    fn offer(&mut self, (within, count): Offered) -> OfferId {
        let mut ranges: Vec<Range<u64>> = (0..count).map(|_| self.range(within)).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup_by(|next, before| next.start < before.end);
        let offer = Arc::new(Offer::list(ranges, 8).expect("they are in order"));
        self.offers
            .make(offer, 8, self.offers.taken().completions())
    }

    fn range(&mut self, within: Within) -> Range<u64> {
        match within {
            Within::Disk => 0..self.capacity.0,
            Within::Group => {
                let begin = self.rng.below(self.capacity.0 / GROUP) * GROUP;
                begin..begin + GROUP
            }
            Within::Track => {
                let at = Pba(self.rng.below(self.capacity.0));
                let geometry = self.oracle.arm().and_then(Arm::geometry);
                let geometry = geometry.expect("a disk has tracks");
                let track = geometry.track(geometry.position_of(at));
                let track = track.expect("a block lies on it");
                track.first.0..(track.first + track.blocks).0
            }
        }
    }

    fn step(&mut self) {
        let (id, landed) = loop {
            self.oracle.advance(self.now);
            let view = View {
                now: self.now,
                oracle: &*self.oracle,
                capacity: self.capacity,
                free: None,
                offers: self.offers.within(None),
                in_flight: 0,
                depth: 1,
            };
            match self.scheduler.next(&view) {
                Next::Start(id) => break (id, None),
                Next::Land(id, at) => break (id, Some(at)),
                Next::Seek(at) => {
                    let mut arm = self.ios[0];
                    arm.op = Op::Seek;
                    arm.at = at;
                    arm.place = self.oracle.locate(at);
                    self.run(&arm);
                }
                Next::WaitUntil(instant) => self.now = instant,
                other => panic!("{other:?} while {} wait", self.scheduler.len()),
            }
        };
        let mut io = self.ios[id.index()];
        self.digest = self.digest.wrapping_mul(31) ^ io.sequence;
        if let Some((at, offer)) = landed.zip(io.offer) {
            (io.at, io.place) = (at, self.oracle.locate(at));
            self.digest = self.digest.wrapping_mul(31) ^ at.0;
            self.offers.land(offer, at.0);
            self.offers.end(offer);
        }
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
        let time = self
            .oracle
            .positioning_time(self.now, op, &io.place, io.len);
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

/// Range writes: `satf` goes by track, `expand` has all places in its queue, up to so many of them.
fn range_writes(criterion: &mut Criterion) {
    const PLACES_MAX: u64 = 100_000;
    let text = drive::catalog_text(DRIVE).expect("the catalog has it");
    let (blueprint, _) = drive::read(DRIVE, text, &mechanical()).expect("the catalog is valid");
    let mut group = criterion.benchmark_group("range writes");
    group.warm_up_time(WallTime::from_millis(200));
    group.measurement_time(WallTime::from_millis(600));
    group.sample_size(20);
    let some = [
        (Within::Track, 1, 25),
        (Within::Track, 64, 64 * 25),
        (Within::Group, 1, GROUP / 8),
        (Within::Group, 64, 8 * GROUP),
        (Within::Disk, 1, u64::MAX),
    ];
    for (within, count, places) in some {
        for depth in [1, 16, 64] {
            let mut digests = Vec::new();
            for name in ["satf", "expand"] {
                if name == "expand" && places.saturating_mul(depth.into()) > PLACES_MAX {
                    continue;
                }
                let offered = Some((within, count));
                let scheduler = scheduler(name, &*blueprint);
                let mut load = Load::offering(scheduler, &*blueprint, depth, offered);
                digests.push(load.digest);
                let of = format!("{name}/{count} x {within:?}");
                group.bench_function(BenchmarkId::new(of, depth), |bencher| {
                    bencher.iter(|| load.step());
                });
            }
            assert!(
                digests.windows(2).all(|two| two[0] == two[1]),
                "they chose otherwise"
            );
        }
    }
    group.finish();
}

criterion_group!(benches, decisions, range_writes);
criterion_main!(benches);
