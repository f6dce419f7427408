//! Caches and prefetchers that are drawn at random, with all their settings, over placements and
//! drives that are drawn too. The inputs of each life give the same actions again.
//!
//! The load has sequences beside the bursts that other lives are made of: a prefetcher would see
//! none else. In a third of the lives commands fail. `NEARSLOT_CASES` says how many lives,
//! `NEARSLOT_CASE` which is the first.

use std::panic::catch_unwind;

use nearslot_core::contract::{Cache, Prefetch};
use nearslot_core::op::Op;
use nearslot_core::registry::{Kind, Knob, KnobKind, Spec, written};
use nearslot_core::rng::Rng;
use nearslot_core::units::Duration;
use nearslot_core::{cache, prefetch, sched};

use crate::contents::failing::{self, Slip};
use crate::contents::load;
use crate::contents::random::{named, replay};
use crate::contents::rig::Rig;
use crate::contents::setups::{DRIVES, SETUPS, Setup};
use crate::support::number;

/// Lives in the tests of every day.
const CASES: u64 = 60;

/// Pages of 4 KiB that a cache has room for at most; the smallest volumes have some 200.
const PAGES: u64 = 80;

pub(crate) fn one_of<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}

/// A value of a setting, often one at the edge; lengths that small volumes have several of.
fn value(knob: &Knob, rng: &mut Rng) -> Option<String> {
    let few = |rng: &mut Rng, min: i64, max: i64| {
        let value = min + rng.below(9) as i64;
        value.min(max).to_string()
    };
    Some(match knob.kind {
        KnobKind::Integer { min, max, .. } => few(rng, min, max),
        KnobKind::Number { min, max, .. } => {
            let inner = min + (max - min) * rng.unit();
            written(one_of(rng, &[min, max, inner]))
        }
        KnobKind::Choice { options, .. } => one_of(rng, options).to_owned(),
        KnobKind::Flag { .. } => rng.chance(0.5).to_string(),
        KnobKind::Text { .. } => return None,
    })
}

/// A part with settings, each of which may be left out; those that are said here are as they are.
fn drawn<K: Kind + ?Sized>(spec: &Spec<K>, said: &[(&str, String)], rng: &mut Rng) -> String {
    let mut words = vec![spec.name.to_owned()];
    words.extend(said.iter().map(|(key, value)| format!("{key}={value}")));
    for knob in spec.knobs {
        if said.iter().all(|(key, _)| *key != knob.name) && rng.chance(0.6) {
            let value = value(knob, rng);
            words.extend(value.map(|value| format!("{}={value}", knob.name)));
        }
    }
    words.join(":")
}

/// A setup that can be built.
fn setup(rng: &mut Rng) -> Setup {
    let caches: Vec<_> = cache::TABLE.iter().collect();
    loop {
        let spec = one_of(rng, &caches);
        if ["none", "optimal"].contains(&spec.name) {
            continue;
        }
        let line = 4 << rng.below(7);
        let lines = 1 + rng.below((PAGES * 4 / line).max(1));
        let hit_us = one_of(rng, &[0, 10, 700, 20_000]);
        let said = [
            ("size", format!("{lines}lines")),
            ("line_kib", line.to_string()),
            ("hit_us", hit_us.to_string()),
        ];
        let cache = drawn::<dyn Cache>(spec, &said, rng);
        let spec = one_of(rng, prefetch::TABLE);
        let said = match spec.name {
            "none" => vec![],
            _ => vec![("track_kib", (line << rng.below(4)).min(256).to_string())],
        };
        let prefetch = drawn::<dyn Prefetch>(spec, &said, rng);
        let base = one_of(rng, SETUPS);
        // They live as long as the test does.
        let setup = base.caching(cache.leak(), prefetch.leak());
        if setup.config("disk", "fcfs", 0).build().is_ok() {
            return setup;
        }
    }
}

/// Several read one piece after another, each with a step of its own; others write where these are,
/// or will be.
fn sequences(rig: &mut Rig, rng: &mut Rng) {
    let blocks = rig.blocks();
    let mut streams: Vec<(u64, u64)> = (0..1 + rng.below(3))
        .map(|_| (rng.below(blocks), one_of(rng, &[3, 8, 16, 64, 100])))
        .collect();
    let spread = one_of(rng, &[0, 2_000, 20_000]);
    for _ in 0..60 {
        let index = rng.below(streams.len() as u64) as usize;
        let (at, len) = streams[index];
        if at >= blocks {
            continue;
        }
        rig.submit(Op::Read, at, len.min(blocks - at), 0);
        streams[index].0 += len;
        if rng.chance(0.25) {
            let start = (at + rng.below(4 * len)).min(blocks - 1);
            let len = (1 + rng.below(20)).min(blocks - start);
            let op = one_of(rng, &[Op::Write, Op::Write, Op::Discard, Op::Read]);
            for _ in 0..1 + rng.below(3) {
                rig.submit(op, start, len, 0);
            }
        }
        let gap = Duration::from_us(rng.below(spread + 1));
        rig.run_until(rig.now + gap);
    }
}

/// One life; blocks that were compared, and of these, blocks from memory.
fn live(seed: u64) -> (u64, u64) {
    let mut rng = Rng::stream(seed, "drawn");
    let setup = setup(&mut rng);
    let fails = rng.chance(0.33);
    let kind = one_of(&mut rng, &DRIVES);
    let schedulers: Vec<_> = sched::TABLE.iter().map(|spec| spec.name).collect();
    let (kind, sched) = match fails {
        true => ("disk", "satf"),
        false => (kind, one_of(&mut rng, &schedulers)),
    };
    let mut found = (0, 0);
    named(&setup, kind, sched, || {
        let mut rig = match fails {
            true => failing::written(&setup, seed, Slip::None, |_| 0.03),
            false => Rig::new(&setup, kind, sched, seed),
        };
        rig.fill();
        for _ in 0..3 {
            load::churn(&mut rig, &setup, 8, &mut rng);
            sequences(&mut rig, &mut rng);
            if rng.chance(0.5) {
                rig.settle();
            }
        }
        rig.settle();
        load::scan(&mut rig, &setup, &mut rng);
        rig.settle();
        replay(setup.build(kind, sched, seed).stack, &rig);
        found = (rig.contents.compared, rig.contents.served);
    });
    found
}

#[test]
fn what_is_read_is_what_was_written_whatever_cache_is_drawn() {
    let (mut compared, mut served) = (0, 0);
    let first = number("NEARSLOT_CASE", 1);
    for seed in first..first + number("NEARSLOT_CASES", CASES) {
        let found = catch_unwind(|| live(seed));
        let found = found.unwrap_or_else(|_| panic!("NEARSLOT_CASE={seed} NEARSLOT_CASES=1"));
        compared += found.0;
        served += found.1;
    }
    assert!(served > compared / 20, "{served} of {compared} from memory");
}
