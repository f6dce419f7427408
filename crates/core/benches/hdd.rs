//! Price of the disk model: where a block lies, how long positioning takes, what an access costs, a
//! whole command.
//!
//! `cargo bench -p nearslot-core --bench hdd`. Random 4 KiB reads and writes over the whole drive,
//! from a fixed seed; the same accesses for every drive as far as its size allows.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use nearslot_core::contract::Blueprint;
use nearslot_core::drive;
use nearslot_core::drive::hdd::{HddBlueprint, Parameters};
use nearslot_core::ids::IoId;
use nearslot_core::io::Command;
use nearslot_core::op::Op;
use nearslot_core::position::{ArmPosition, Place};
use nearslot_core::rng::Rng;
use nearslot_core::units::{Blocks, Instant, Pba};

const DRIVES: [&str; 3] = ["seagate-cheetah-9lp", "hp-c2247a", "modern-20tb"];
const ACCESSES: usize = 4_096;

fn mechanical(name: &str) -> HddBlueprint {
    let text = drive::catalog_text(name).expect("it is in the catalog");
    let table = text.parse().expect("the catalog is TOML");
    let parameters = Parameters::read(&table).expect("the catalog is valid");
    HddBlueprint::mechanical(&parameters).expect("the catalog is valid")
}

/// Operations and first blocks of 8-block accesses.
fn accesses(capacity: Blocks) -> Vec<(Op, Pba)> {
    let mut rng = Rng::stream(1, "bench/hdd");
    let mut one = || {
        let op = if rng.below(3) == 0 {
            Op::Write
        } else {
            Op::Read
        };
        (op, Pba(rng.below(capacity.0 / 8) * 8))
    };
    (0..ACCESSES).map(|_| one()).collect()
}

fn prices(criterion: &mut Criterion) {
    for name in DRIVES {
        let blueprint = mechanical(name);
        let mechanics = blueprint.mechanics();
        let accesses = accesses(blueprint.capacity());
        let mut group = criterion.benchmark_group(name);
        group.throughput(criterion::Throughput::Elements(ACCESSES as u64));
        group.bench_function("locate", |bencher| {
            bencher.iter(|| {
                for (_, at) in &accesses {
                    black_box(mechanics.layout().spot(*at).place);
                }
            });
        });
        let places: Vec<(Op, Place)> = accesses
            .iter()
            .map(|(op, at)| (*op, mechanics.layout().spot(*at).place))
            .collect();
        group.bench_function("position", |bencher| {
            let head = ArmPosition::default();
            bencher.iter(|| {
                for (op, place) in &places {
                    black_box(mechanics.positioning_time(Instant(12_345), head, *op, place));
                }
            });
        });
        group.bench_function("access", |bencher| {
            bencher.iter(|| {
                let (mut now, mut arm) = (Instant::ZERO, ArmPosition::default());
                for (op, at) in &accesses {
                    let media = mechanics.access(now, arm, *op, *at, Blocks(8));
                    now += media.cost.total();
                    arm = media.arm;
                }
                black_box(now)
            });
        });
        group.bench_function("command", |bencher| {
            let run = |mut drive: Box<dyn nearslot_core::contract::Drive>| {
                let mut now = Instant::ZERO;
                for (op, at) in &accesses {
                    let command = Command {
                        io: IoId(0),
                        op: *op,
                        at: *at,
                        len: Blocks(8),
                        fua: false,
                    };
                    drive.submit(now, &command);
                    now = drive.next_event().expect("a command is under way");
                    black_box(drive.advance(now));
                }
            };
            bencher.iter_batched(|| blueprint.drive(), run, BatchSize::SmallInput);
        });
        group.finish();
    }
}

criterion_group!(benches, prices);
criterion_main!(benches);
