//! Several volumes above one memory that has room for all of them: what it does with each is what
//! it does with that one alone, whatever their lengths are.

#![cfg(test)]

use std::collections::{BTreeMap, VecDeque};

use super::tests::{built, reply};
use super::*;
use crate::cache;
use crate::contract::Destage;
use crate::destage;
use crate::maplog::BufferTable;
use crate::maplog::buffered::Whose;
use crate::pages::{Marks, PAGE};
use crate::prefetch;
use crate::registry::{CacheEnv, DestageEnv, PrefetchEnv};
use crate::rng::Rng;

/// Pages that there is room for: more than all volumes have, with whole lines.
const ROOM: u64 = 1 << 13;
const CASES: u64 = 300;
const REQUESTS: u64 = 120;

const CACHES: [&str; 4] = ["lru", "sarc", "arc", "s3_fifo"];
const PREFETCHERS: [&str; 7] = [
    "none",
    "fixed:degree=3",
    "sarc:degree=4:trigger=1:threshold=2",
    "sarc:degree=4:trigger=1:threshold=2:stripe_tracks=5",
    "sarc:degree=2:mode=sync:threshold=2:test=own",
    "amp:most=4:asynchronous=2:threshold=1",
    "amp:most=3:asynchronous=0:threshold=2:spare=last",
];
const BUFFERS: [&str; 4] = ["none", "lrw", "wow", "stow:run_kib=16"];

/// What a memory is made of, but for its volumes.
#[derive(Debug)]
struct Kind {
    cache: &'static str,
    prefetch: &'static str,
    buffer: &'static str,
    /// Pages of a line, of a track and of a unit.
    sizes: [u64; 3],
    writes: Writes,
    whole_lines: bool,
    /// How full the buffer is when nothing goes that is not complete, in percent.
    low: u64,
}

fn one_of<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}

impl Kind {
    fn drawn(rng: &mut Rng) -> Kind {
        let line = one_of(rng, &[1, 2, 8]);
        Kind {
            cache: one_of(rng, &CACHES),
            prefetch: one_of(rng, &PREFETCHERS),
            buffer: one_of(rng, &BUFFERS),
            sizes: [line, line * one_of(rng, &[1, 2, 8]), 1 + rng.below(20)],
            writes: one_of(
                rng,
                &[
                    Writes::Update,
                    Writes::Allocate,
                    Writes::Classed(Blocks(16)),
                    Writes::Rest(Blocks(16)),
                ],
            ),
            whole_lines: rng.chance(0.5),
            low: one_of(rng, &[0, 98]),
        }
    }

    fn cache(&self, volumes: Volumes) -> CacheParts {
        let [line, track, _] = self.sizes;
        let lines = (ROOM / line) as u32;
        let env = CacheEnv {
            capacity: lines,
            line_pages: line as u32,
            neighbours: true,
        };
        let cache = built::<dyn Cache>(cache::TABLE, self.cache, &env);
        let env = PrefetchEnv { stripe: Blocks(1) };
        let prefetch = built::<dyn Prefetch>(prefetch::TABLE, self.prefetch, &env);
        CacheParts {
            cache: cache.expect("it is built"),
            prefetch: prefetch.expect("it is built"),
            shape: Shape {
                line,
                track,
                volumes,
            },
            lines,
            hit_time: Duration::ZERO,
            writes: self.writes,
            whole_lines: self.whole_lines,
        }
    }

    fn buffer(&self, volumes: Volumes) -> Option<BufferParts> {
        let env = DestageEnv {
            pages: ROOM,
            unit: self.sizes[2],
        };
        let whose = Whose {
            volume: 3,
            blocks: volumes.span().0,
            page: PAGE,
        };
        let destage = || built::<dyn Destage>(destage::TABLE, self.buffer, &env);
        (self.buffer != "none").then(|| BufferParts {
            destage: destage().expect("it is built"),
            pages: env.pages,
            unit: env.unit,
            volumes,
            write_time: Duration::ZERO,
            read_time: Duration::ZERO,
            marks: Marks {
                low: self.low,
                high: 99,
                units: 2,
                full_units: 1,
            },
            retries: 1,
            table: BufferTable::new(&whose, env.pages),
            found: Vec::new(),
        })
    }

    fn side(&self, volumes: Volumes) -> Side {
        let parts = Parts {
            cache: Some(self.cache(volumes)),
            buffer: self.buffer(volumes),
        };
        Side(Memory::new(parts))
    }
}

/// What a stack below is given, from the first block of the volume on.
type Asked = (Op, u64, u64, bool);

/// A memory whose jobs are done at once, in order.
struct Side(Memory);

impl Side {
    /// What the stack below is given for a request of a volume that begins with this block, sorted:
    /// which unit goes first is a matter of all volumes.
    fn ask(&mut self, op: Op, (begin, start, len): (u64, u64, u64)) -> Vec<Asked> {
        let request = Request::new(1, op, begin + start, len, Instant::ZERO);
        self.0.arrive(Instant::ZERO, &request);
        let (mut below, mut all) = (VecDeque::new(), Vec::new());
        loop {
            while let Some(order) = self.0.next_order() {
                if let Order::Submit(request) = order {
                    let Request {
                        op, extent, fua, ..
                    } = request;
                    let from = extent.start.0.checked_sub(begin);
                    let from = from.expect("it lies in its volume");
                    all.push((op, from, extent.len.0, fua));
                    below.push_back(request);
                }
            }
            let Some(request) = below.pop_front() else {
                all.sort_unstable();
                return all;
            };
            self.0.ended(Instant::ZERO, &reply(request, Status::Done));
        }
    }

    /// What is counted of pages.
    fn counted(&self) -> BTreeMap<&'static str, u64> {
        let mut counted = BTreeMap::new();
        self.0.tell(&mut |_, measure, number| {
            if measure.unit == "pages" && !measure.name.starts_with("sequence") {
                counted.insert(measure.name, number);
            }
        });
        counted
    }
}

/// A part of a volume: often what follows the last one, or its end.
fn part(rng: &mut Rng, each: u64, next: &mut u64) -> (u64, u64) {
    let most = one_of(rng, &[1, 8, 8, 40]);
    let len = 1 + rng.below(most);
    let start = match rng.below(10) {
        0..=5 if *next < each => *next,
        6..=7 => each.saturating_sub(len),
        8 => each.saturating_sub(rng.below(100) + 1),
        _ => rng.below(each),
    };
    let len = len.min(each - start);
    *next = start + len;
    (start, len)
}

#[test]
fn a_volume_among_others_is_dealt_with_as_if_it_were_alone() {
    let mut rng = Rng::stream(11, "volumes in memory");
    let mut jobs = 0;
    for case in 0..CASES {
        let kind = Kind::drawn(&mut rng);
        let count = 2 + rng.below(3);
        let odd = rng.below(150) * PAGE + one_of(&mut rng, &[1, 3, 7, 8]);
        // Tracks of two volumes may follow each other.
        let each = one_of(&mut rng, &[odd, odd, 64 * PAGE, 128 * PAGE]);
        let mut all = kind.side(Volumes::new(count, Blocks(each)));
        let sides = (0..count).map(|_| (kind.side(Volumes::new(1, Blocks(each))), 0));
        let mut alone: Vec<(Side, u64)> = sides.collect();
        for _ in 0..REQUESTS {
            let volume = rng.below(count);
            let (side, next) = &mut alone[volume as usize];
            let (start, len) = part(&mut rng, each, next);
            let op = one_of(&mut rng, &[Op::Read, Op::Read, Op::Read, Op::Write]);
            let op = if rng.chance(0.03) { Op::Discard } else { op };
            let found = all.ask(op, (volume * each, start, len));
            jobs += found.len();
            let told = format!("case {case}, {kind:?}, volume {volume} of {each} blocks");
            assert_eq!(found, side.ask(op, (0, start, len)), "{told}");
            let is_within = |(_, start, len, _): &Asked| start + len <= each;
            assert!(found.iter().all(is_within), "{told}: {found:?}");
        }
        all.0.audit();
        let mut sum = BTreeMap::new();
        for (side, _) in &alone {
            for (name, number) in side.counted() {
                *sum.entry(name).or_default() += number;
            }
        }
        assert_eq!(all.counted(), sum, "case {case}, {kind:?}");
    }
    assert!(jobs > 10_000, "only {jobs} jobs");
}
