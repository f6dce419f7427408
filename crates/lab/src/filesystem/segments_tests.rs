//! Segments against a literal twin: a vector of what each block is, gone through one by one.

use nearslot_core::rng::Rng;

use super::files::Key;
use super::segments::{CleanBy, Segments};

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Block {
    Open,
    Used,
    Lives(Key, u64),
}

struct Twin {
    size: u64,
    blocks: Vec<Block>,
    /// The epoch in which something happened to each segment, and when its youngest block changed.
    touched: Vec<u64>,
    changed: Vec<u64>,
}

impl Twin {
    fn of(&self, segment: u64) -> &[Block] {
        let begin = (segment * self.size) as usize;
        &self.blocks[begin..begin + self.size as usize]
    }

    fn count(&self, segment: u64, is: impl Fn(&Block) -> bool) -> u64 {
        self.of(segment).iter().filter(|block| is(block)).count() as u64
    }

    fn live(&self, segment: u64) -> u64 {
        self.count(segment, |block| matches!(block, Block::Lives(..)))
    }

    fn used(&self, segment: u64) -> u64 {
        self.count(segment, |block| *block != Block::Open)
    }

    fn checkpoint(&mut self, epoch: u64) -> u64 {
        let mut freed = 0;
        for segment in 0..self.touched.len() as u64 {
            let is_dead = self.live(segment) == 0 && self.used(segment) > 0;
            if is_dead && self.touched[segment as usize] < epoch {
                let begin = (segment * self.size) as usize;
                self.blocks[begin..begin + self.size as usize].fill(Block::Open);
                self.changed[segment as usize] = 0;
                freed += 1;
            }
        }
        freed
    }

    /// The formula of the paper in numbers with a point: (1 - u) age / (1 + u), of what is used.
    fn worst(&self, by: CleanBy, now: u64, may: impl Fn(u64) -> bool) -> Vec<u64> {
        let worth = |segment: u64| {
            let (live, used) = (self.live(segment) as f64, self.used(segment) as f64);
            let age = (now - self.changed[segment as usize] + 1) as f64;
            match by {
                CleanBy::Greedy => used - live,
                CleanBy::CostBenefit => (1.0 - live / used) * age / (1.0 + live / used),
            }
        };
        let all = 0..self.touched.len() as u64;
        let all = all.filter(|one| {
            let live = self.live(*one);
            live > 0 && live < self.used(*one) && may(*one)
        });
        let all: Vec<(u64, f64)> = all.map(|one| (one, worth(one))).collect();
        let most = all.iter().map(|(_, worth)| *worth).fold(0.0, f64::max);
        let best = all
            .iter()
            .filter(|(_, worth)| *worth >= most * (1.0 - 1e-12));
        best.map(|(one, _)| *one).collect()
    }
}

const FIRST: u64 = 7;

fn compare(segments: &Segments, twin: &Twin, now: u64, rng: &mut Rng) {
    let count = segments.count();
    for segment in 0..count {
        assert_eq!(segments.live_in(segment), twin.live(segment));
        assert_eq!(segments.is_clean(segment), twin.used(segment) == 0);
        let living: Vec<(u64, Key, u64)> = segments.living_in(segment).collect();
        assert_eq!(living.len() as u64, twin.live(segment));
        for (at, key, changed) in living {
            assert_eq!(
                twin.blocks[(at - FIRST) as usize],
                Block::Lives(key, changed)
            );
        }
    }
    let above = |block: &&Block| matches!(block, Block::Lives(Key::Inodes(_), _));
    assert_eq!(
        segments.above(),
        twin.blocks.iter().filter(above).count() as u64
    );
    let least = 1 + rng.below(20);
    let runs = segments.open_runs(least);
    let mut expected: Vec<std::ops::Range<u64>> = Vec::new();
    for (at, block) in (FIRST..).zip(&twin.blocks) {
        match expected.last_mut() {
            _ if *block != Block::Open => {}
            Some(last) if last.end == at => last.end += 1,
            _ => expected.push(at..at + 1),
        }
    }
    expected.retain(|run| run.end - run.start >= least);
    assert_eq!(runs, expected);
    let dead = (0..count).filter(|one| twin.live(*one) == 0);
    assert_eq!(segments.dead(), dead.map(|one| twin.used(one)).sum::<u64>());
    let shut = rng.below(count);
    for by in [CleanBy::Greedy, CleanBy::CostBenefit] {
        let found = segments.worst(by, now, |one| one != shut);
        let expected = twin.worst(by, now, |one| one != shut);
        assert!(
            found.map_or(expected.is_empty(), |found| expected.contains(&found)),
            "{by:?}"
        );
    }
}

/// Some blocks that are open are written, and most of them live; gives how many do.
fn write(segments: &mut Segments, twin: &mut Twin, (now, epoch): (u64, u64), rng: &mut Rng) -> u64 {
    let len = 1 + rng.below(12);
    let runs = segments.open_runs(len);
    if runs.is_empty() {
        return 0;
    }
    let run = &runs[rng.below(runs.len() as u64) as usize];
    let begin = run.start + rng.below(run.end - run.start - len + 1);
    segments.take(begin..begin + len, epoch);
    let mut live = 0;
    for at in begin..begin + len {
        let index = (at - FIRST) as usize;
        let segment = index / twin.size as usize;
        twin.touched[segment] = epoch;
        twin.blocks[index] = Block::Used;
        if rng.chance(0.8) {
            let changed = rng.below(now + 1);
            twin.changed[segment] = changed.max(twin.changed[segment]);
            let key = match rng.chance(0.5) {
                true => Key::Inodes(now * 100 + at),
                false => Key::Data(1, (now * 100 + at) as u32),
            };
            segments.settle(at, key, changed);
            twin.blocks[index] = Block::Lives(key, changed);
            live += 1;
        }
    }
    live
}

#[test]
fn segments_do_as_a_literal_twin() {
    let mut counts = [0_u64; 4];
    for seed in 0..30 {
        let rng = &mut Rng::stream(seed, "segments");
        let (size, count) = ([8, 24, 40][seed as usize % 3], 3 + rng.below(9));
        let mut segments = Segments::new(FIRST, size, count);
        let mut twin = Twin {
            size,
            blocks: vec![Block::Open; (size * count) as usize],
            touched: vec![0; count as usize],
            changed: vec![0; count as usize],
        };
        let mut epoch = 0;
        for now in 0..250 {
            match rng.below(8) {
                0..3 => counts[0] += write(&mut segments, &mut twin, (now, epoch), rng),
                3..7 => {
                    let all: Vec<usize> = (0..twin.blocks.len())
                        .filter(|index| matches!(twin.blocks[*index], Block::Lives(..)))
                        .collect();
                    for _ in 0..rng.below(12).min(all.len() as u64) {
                        let index = all[rng.below(all.len() as u64) as usize];
                        let Block::Lives(_, changed) = twin.blocks[index] else {
                            continue;
                        };
                        assert_eq!(segments.die(FIRST + index as u64, epoch), changed);
                        twin.blocks[index] = Block::Used;
                        twin.touched[index / size as usize] = epoch;
                        counts[1] += 1;
                    }
                }
                _ => {
                    epoch += 1;
                    // One that began before the last one is on the medium later.
                    let began = epoch - rng.below(2);
                    let freed = segments.checkpoint(began);
                    assert_eq!(freed, twin.checkpoint(began));
                    counts[2] += freed;
                    counts[3] += 1;
                }
            }
            compare(&segments, &twin, now, rng);
        }
    }
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

/// A segment that is closed is not offered any more. A write that was offered it before may land
/// there, and nothing is counted twice.
#[test]
fn a_segment_that_is_closed_is_free_again_as_a_whole() {
    let mut segments = Segments::new(FIRST, 40, 3);
    segments.take(FIRST + 40..FIRST + 50, 0);
    segments.settle(FIRST + 41, Key::Data(1, 0), 0);
    assert_eq!((segments.open_in(1), segments.open_blocks()), (30, 110));
    segments.close(1);
    assert_eq!((segments.open_in(1), segments.open_blocks()), (0, 80));
    assert_eq!(
        segments.open_runs(1),
        [FIRST..FIRST + 40, FIRST + 80..FIRST + 120]
    );
    segments.take(FIRST + 70..FIRST + 90, 1);
    segments.settle(FIRST + 71, Key::Data(1, 0), 1);
    assert_eq!([1, 2].map(|segment| segments.open_in(segment)), [0, 30]);
    for at in [FIRST + 41, FIRST + 71] {
        segments.die(at, 1);
    }
    // As is what lies behind it, where the end of that write went.
    assert_eq!((segments.checkpoint(2), segments.open_in(1)), (2, 40));
}
