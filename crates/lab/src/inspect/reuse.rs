//! How soon the same data are touched again: for each size of a cache, the share of touches that it
//! would have held. When it is full, the cache drops the block whose last touch is longest ago
//! (LRU).
//!
//! The distance of a touch is the number of different blocks of 4 KiB that were touched since the
//! last touch of the same block (Mattson, Gecsei, Slutz and Traiger, Evaluation techniques for
//! storage hierarchies, IBM Systems Journal 9, 1970). A cache of C blocks holds the block if and
//! only if the distance is below C, so one histogram of distances answers for every C. Reads and
//! writes both count as touches, as the cache keeps what was written; the shares are also given for
//! the touches of reads and of writes alone. Requests of more than 1 GiB are left out, as in the
//! footprint.
//!
//! **Sampling.** At most [`BLOCKS_MAX`] blocks are followed, as in SHARDS of fixed size
//! (Waldspurger, Park, Garthwaite and Ahmad, Efficient MRC construction with SHARDS, FAST 2015,
//! sections 3.2 and 5.1): a block is followed if its hash is below a threshold. If a share R of all
//! blocks is followed, a distance among them is divided by R, and each touch of them stands for 1/R
//! touches. When too many blocks are followed, the threshold falls. There are two departures. The
//! threshold falls to half at once, not block by block, so that R is a power of two and all counts
//! are integers. And the touches that the followed blocks stand for add up to more or fewer than
//! there were, since a few blocks are touched very often. SHARDS-adj (section 3.4) adds the
//! difference to the touches of distance 0. Here only misses are estimated from the sample and
//! touches are all counted, which comes to the same.
//!
//! **Standard error** of a share. It has two causes. First, which blocks are followed is chance.
//! Another part of the hash divides the followed blocks into 16 groups; the variance of misses
//! between groups gives the variance of their sum, times 1 - R, since a sample of all blocks would
//! have no error. Second, a distance is measured in followed blocks: n of them stand for n / R
//! blocks, with a relative error of the root of (1 - R) / n. The slope of the curve turns this
//! error of the size into one of the share.
//!
//! **Counting.** Each touch takes the next slot of an array. A slot has a bit that is set while no
//! later touch of its block is known, so a distance is the number of bits set behind the slot of
//! the last touch. A Fenwick tree (A new data structure for cumulative frequency tables, Software:
//! Practice and Experience 24, 1994) over words of 64 slots adds them up. Cost: a hash per block,
//! and O(log n) per block that is followed; 14 MB.

use nearslot_core::rng::mix;
use nearslot_trace::{Record, TraceOp};

use super::pictures::{Held, Reuse};
use super::{OUTSIZED_BYTES, PAGE_BITS};
use crate::hash::NumberMap;

/// Blocks followed at most: 1 GiB is followed whole.
const BLOCKS_MAX: usize = 1 << 18;
/// Groups that tell the sampling error.
const GROUPS: usize = 16;
/// Bins of distances: each up to 7 alone, then four an octave, up to 2^51: followed blocks by the
/// 32 bits that choose them.
const BINS: usize = 8 + 4 * 48;
/// Followed blocks below which a distance says too little.
const SAMPLE_MIN: u64 = 16;

/// Touches so far.
pub(super) struct ReuseCounter {
    stack: Stack,
    blocks_max: usize,
    /// Blocks are followed whose hash ends in so many zero bits.
    level: u32,
    /// Reads, then writes.
    kinds: [Kind; 2],
    outsized: u64,
}

/// Distances of reads, or of writes.
struct Kind {
    /// All touches, also of blocks that are not followed.
    touches: u64,
    /// By group: touches of followed blocks, each as many as it stands for.
    groups: Box<[Distances; GROUPS]>,
}

#[derive(Clone, Copy)]
struct Distances {
    /// First touches of a block, which no cache holds.
    first: u64,
    bins: [u64; BINS],
}

impl ReuseCounter {
    pub(super) fn new() -> ReuseCounter {
        ReuseCounter::following(BLOCKS_MAX)
    }

    fn following(blocks_max: usize) -> ReuseCounter {
        ReuseCounter {
            stack: Stack::new(2 * blocks_max.max(64)),
            blocks_max,
            level: 0,
            kinds: [Kind::new(), Kind::new()],
            outsized: 0,
        }
    }

    pub(super) fn record(&mut self, batch: &[Record]) {
        for record in batch.iter().filter(|record| record.op.is_media()) {
            if record.len > OUTSIZED_BYTES {
                self.outsized += 1;
                continue;
            }
            let kind = usize::from(record.op == TraceOp::Write);
            let (first, last) = (record.offset >> PAGE_BITS, (record.end() - 1) >> PAGE_BITS);
            self.kinds[kind].touches += last - first + 1;
            // Devices lie so far apart that their blocks have nothing in common.
            let device = mix(u64::from(record.dev));
            for block in first..=last {
                let key = block.wrapping_add(device);
                let hash = mix(key);
                if followed(hash, self.level) {
                    self.touch(key, hash, kind);
                }
            }
        }
    }

    fn touch(&mut self, key: u64, hash: u64, kind: usize) {
        let distance = self.stack.touch(key);
        let group = &mut self.kinds[kind].groups[(hash >> 24) as usize % GROUPS];
        match distance {
            None => group.first += 1 << self.level,
            Some(distance) => group.bins[bin(distance << self.level)] += 1 << self.level,
        }
        while self.stack.len() > self.blocks_max {
            self.level += 1;
            let level = self.level;
            self.stack.retain(|key| followed(mix(key), level));
        }
    }

    /// `None` if no block was touched.
    pub(super) fn reuse(&self) -> Option<Reuse> {
        let [reads, writes] = &self.kinds;
        let all = reads.with(writes);
        if all.touches == 0 {
            return None;
        }
        let low = match self.level {
            0 => 0,
            level => bin((SAMPLE_MIN << level) - 1),
        };
        let used = |bin: &usize| all.groups.iter().any(|group| group.bins[*bin] > 0);
        let high = (low..BINS).rev().find(used).unwrap_or(low);
        let known = |kind: &Kind| (kind.touches > 0).then(|| self.held(kind, low, high));
        Some(Reuse {
            block_bytes: 1 << PAGE_BITS,
            sampled_one_in: 1 << self.level,
            cache_bytes: (low..=high).map(|bin| edge(bin) << PAGE_BITS).collect(),
            reads: known(reads),
            writes: known(writes),
            all: self.held(&all, low, high),
            outsized_requests: self.outsized,
        })
    }

    fn held(&self, kind: &Kind, low: usize, high: usize) -> Held {
        let touches = kind.touches as f64;
        let missed = |bin: usize| kind.groups.iter().map(move |group| group.missed(bin));
        let share = |bin: usize| missed(bin).sum::<u64>() as f64 / touches;
        let unseen = 1.0 - 1.0 / (1_u64 << self.level) as f64;
        let error = |bin: usize| {
            let mean = missed(bin).sum::<u64>() as f64 / GROUPS as f64;
            let squares = missed(bin).map(|missed| (missed as f64 - mean) * (missed as f64 - mean));
            let of_sum = squares.sum::<f64>() * GROUPS as f64 / (GROUPS - 1) as f64;
            let (below, above) = (bin.saturating_sub(1), (bin + 1).min(BINS - 1));
            let slope = (share(below) - share(above)) / (edge(above) - edge(below)) as f64;
            let size = edge(bin) as f64;
            let sampled = size / (1_u64 << self.level) as f64;
            let of_size = slope * size * slope * size / sampled;
            libm::sqrt(unseen * (of_sum / touches / touches + of_size))
        };
        Held {
            touches: kind.touches,
            // An estimate of misses may be larger than all touches.
            held_share: (low..=high)
                .map(|bin| (1.0 - share(bin)).max(0.0))
                .collect(),
            standard_error: (low..=high).map(error).collect(),
        }
    }
}

impl Kind {
    fn new() -> Kind {
        let none = Distances {
            first: 0,
            bins: [0; BINS],
        };
        Kind {
            touches: 0,
            groups: Box::new([none; GROUPS]),
        }
    }

    fn with(&self, other: &Kind) -> Kind {
        let mut both = Kind {
            touches: self.touches + other.touches,
            groups: self.groups.clone(),
        };
        for (mine, theirs) in both.groups.iter_mut().zip(other.groups.iter()) {
            mine.first += theirs.first;
            let bins = mine.bins.iter_mut().zip(&theirs.bins);
            bins.for_each(|(mine, theirs)| *mine += theirs);
        }
        both
    }
}

impl Distances {
    /// Touches that a cache as large as a bin's upper edge does not hold.
    fn missed(&self, bin: usize) -> u64 {
        self.first + self.bins[bin + 1..].iter().sum::<u64>()
    }
}

/// Blocks in the order of their last touch.
struct Stack {
    /// Slot of a block's last touch.
    slots: NumberMap<u64, u32>,
    /// Block by slot; it counts only if the slot's bit is set.
    keys: Vec<u64>,
    bits: Vec<u64>,
    /// Fenwick tree over the number of bits in each word.
    tree: Vec<u32>,
    slots_max: usize,
}

impl Stack {
    fn new(slots_max: usize) -> Stack {
        let words = slots_max.div_ceil(64);
        Stack {
            slots: NumberMap::default(),
            keys: Vec::new(),
            bits: vec![0; words],
            tree: vec![0; words + 1],
            slots_max,
        }
    }

    fn len(&self) -> usize {
        self.slots.len()
    }

    /// Number of other blocks touched since this one; `None` if it never was.
    fn touch(&mut self, key: u64) -> Option<u64> {
        if self.keys.len() == self.slots_max {
            self.retain(|_| true);
        }
        let slot = self.keys.len();
        let before = self.slots.insert(key, slot as u32);
        self.keys.push(key);
        let distance = before.map(|before| {
            let up_to = self.up_to(before as usize);
            self.clear(before as usize);
            // The block itself is among those up to its slot; it moves behind all others.
            (self.slots.len() - up_to) as u64
        });
        self.set(slot);
        distance
    }

    /// Bits up to and with a slot.
    fn up_to(&self, slot: usize) -> usize {
        let (word, bit) = (slot / 64, slot % 64);
        let mut count = (self.bits[word] << (63 - bit)).count_ones();
        let mut node = word;
        while node > 0 {
            count += self.tree[node];
            node &= node - 1;
        }
        count as usize
    }

    fn set(&mut self, slot: usize) {
        self.bits[slot / 64] |= 1 << (slot % 64);
        self.walk(slot, |count| *count += 1);
    }

    fn clear(&mut self, slot: usize) {
        self.bits[slot / 64] &= !(1 << (slot % 64));
        self.walk(slot, |count| *count -= 1);
    }

    /// Every node of the tree that counts a slot's word.
    fn walk(&mut self, slot: usize, change: impl Fn(&mut u32)) {
        let mut node = slot / 64 + 1;
        while node < self.tree.len() {
            change(&mut self.tree[node]);
            node += node & node.wrapping_neg();
        }
    }

    /// Forgets the blocks that do not stay, and slots that are no last touch.
    #[cold]
    fn retain(&mut self, stays: impl Fn(u64) -> bool) {
        let keys = std::mem::take(&mut self.keys);
        let last = |slot: &usize| self.bits[slot / 64] >> (slot % 64) & 1 == 1;
        let kept: Vec<u64> = (0..keys.len())
            .filter(last)
            .map(|slot| keys[slot])
            .filter(|key| stays(*key))
            .collect();
        self.slots.clear();
        self.bits.fill(0);
        self.tree.fill(0);
        for (slot, key) in kept.iter().enumerate() {
            self.slots.insert(*key, slot as u32);
            self.set(slot);
        }
        self.keys = kept;
    }
}

/// Whether a block is followed.
#[inline]
fn followed(hash: u64, level: u32) -> bool {
    level == 0 || (hash >> 32).trailing_zeros() >= level
}

/// The bin of a distance.
fn bin(distance: u64) -> usize {
    if distance < 8 {
        return distance as usize;
    }
    let octave = distance.ilog2();
    8 + 4 * (octave as usize - 3) + (distance >> (octave - 2) & 3) as usize
}

/// The smallest cache, in blocks, that holds every touch of a bin.
fn edge(bin: usize) -> u64 {
    match bin.checked_sub(8) {
        None => bin as u64 + 1,
        Some(above) => (5 + above as u64 % 4) << (above / 4 + 1),
    }
}

#[cfg(test)]
mod tests {
    use nearslot_core::rng::Rng;
    use proptest::prelude::*;

    use super::*;

    const BLOCK: u64 = 1 << PAGE_BITS;

    fn counted(records: &[Record], blocks_max: usize) -> ReuseCounter {
        let mut counter = ReuseCounter::following(blocks_max);
        records.chunks(11).for_each(|batch| counter.record(batch));
        counter
    }

    fn reuse(records: &[Record], blocks_max: usize) -> Reuse {
        counted(records, blocks_max).reuse().unwrap()
    }

    fn of_blocks(blocks: impl Iterator<Item = u64>) -> Vec<Record> {
        let read = |block| Record::new(0, TraceOp::Read, block * BLOCK, BLOCK, 0);
        blocks.map(read).collect()
    }

    /// The share that a cache of so many bytes holds, as told.
    fn held(reuse: &Reuse, bytes: u64) -> f64 {
        let mut sizes = reuse.cache_bytes.iter().zip(&reuse.all.held_share);
        let told = sizes.rfind(|(size, _)| **size <= bytes);
        told.map_or(0.0, |(_, share)| *share)
    }

    #[test]
    fn a_loop_is_held_by_a_cache_as_large_as_the_loop_and_by_none_smaller() {
        let found = reuse(&of_blocks((0..1_000).map(|i| i % 100)), 1_000);
        assert_eq!((found.sampled_one_in, found.all.touches), (1, 1_000));
        // The next size of which it is known is 112 blocks.
        assert_eq!(held(&found, 96 * BLOCK), 0.0);
        assert_eq!(held(&found, 112 * BLOCK), 0.9);
        assert_eq!(found.cache_bytes.last(), Some(&(112 * BLOCK)));
        assert!(found.all.standard_error.iter().all(|error| *error == 0.0));
    }

    #[test]
    fn a_request_touches_every_block_it_has_a_byte_of() {
        let records = [
            Record::new(0, TraceOp::Write, 4095, 2, 0),
            Record::new(0, TraceOp::Read, 0, 8192, 0),
            Record::new(0, TraceOp::Read, 0, 4096, 1),
            Record::new(0, TraceOp::Flush, 0, 0, 0),
            Record::new(0, TraceOp::Read, 0, 1 << 62, 0),
        ];
        let found = reuse(&records, 100);
        assert_eq!((found.all.touches, found.outsized_requests), (5, 1));
        let (reads, writes) = (found.reads.unwrap(), found.writes.unwrap());
        assert_eq!((reads.touches, writes.touches), (3, 2));
        // Both blocks were written just before; the one of the other device was not.
        assert!((reads.held_share.last().unwrap() - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(writes.held_share.last(), Some(&0.0));
    }

    #[test]
    fn bins_have_no_gap_and_end_where_they_say() {
        for distance in 0..100_000_u64 {
            let bin = bin(distance);
            assert!(distance < edge(bin));
            assert!(bin == 0 || distance >= edge(bin - 1));
        }
        assert!(bin((1 << 51) - 1) < BINS);
        assert!(edge(BINS - 1) << PAGE_BITS > 0);
    }

    #[test]
    fn nothing_touched_is_no_curve() {
        assert!(ReuseCounter::new().reuse().is_none());
    }

    /// A list of blocks, last touched last, and each touch found by walking it.
    #[derive(Default)]
    struct Twin {
        list: Vec<u64>,
        level: u32,
        /// By kind: distances and how many touches each stands for; `None` is a first touch.
        seen: [Vec<(Option<u64>, u64)>; 2],
    }

    impl Twin {
        fn record(&mut self, record: &Record, blocks_max: usize) {
            let kind = usize::from(record.op == TraceOp::Write);
            for block in record.offset / BLOCK..record.end().div_ceil(BLOCK) {
                let key = block.wrapping_add(mix(u64::from(record.dev)));
                if !followed(mix(key), self.level) {
                    continue;
                }
                let at = self.list.iter().position(|other| *other == key);
                let distance = at.map(|at| (self.list.len() - 1 - at) as u64);
                at.map(|at| self.list.remove(at));
                self.list.push(key);
                self.seen[kind].push((distance.map(|d| d << self.level), 1 << self.level));
                while self.list.len() > blocks_max {
                    self.level += 1;
                    self.list.retain(|key| followed(mix(*key), self.level));
                }
            }
        }

        fn missed(&self, kind: usize, blocks: u64) -> u64 {
            let missed = self.seen[kind]
                .iter()
                .filter(|(distance, _)| distance.is_none_or(|distance| distance >= blocks));
            missed.map(|(_, stands_for)| stands_for).sum()
        }
    }

    proptest! {
        #[test]
        fn the_tree_equals_a_list(
            asks in prop::collection::vec((0_u64..200, 1_u64..20_000, any::<bool>(), 0_u32..2), 1..300),
            blocks_max in prop::sample::select(vec![20_usize, 80, 100_000]),
        ) {
            let records: Vec<Record> = asks
                .iter()
                .map(|&(at, len, writes, dev)| {
                    let op = if writes { TraceOp::Write } else { TraceOp::Read };
                    Record::new(0, op, at * at * 500, len, dev)
                })
                .collect();
            let mut twin = Twin::default();
            records.iter().for_each(|record| twin.record(record, blocks_max));
            let found = reuse(&records, blocks_max);
            prop_assert_eq!(found.sampled_one_in, 1 << twin.level);
            for (kind, held) in [&found.reads, &found.writes].into_iter().enumerate() {
                let Some(held) = held else { continue };
                for (size, share) in found.cache_bytes.iter().zip(&held.held_share) {
                    let missed = twin.missed(kind, size / BLOCK) as f64 / held.touches as f64;
                    prop_assert!((share - (1.0 - missed).max(0.0)).abs() < 1e-12);
                }
            }
        }
    }

    /// Reads of a skewed popularity, a long loop, a stretch that is read once, and requests of many
    /// blocks.
    fn long(seed: u64) -> Vec<Record> {
        let mut rng = Rng::stream(seed, "reuse");
        let base = rng.below(1 << 40);
        let mut records = Vec::new();
        for i in 0..150_000_u64 {
            let (block, blocks) = match rng.below(10) {
                0..5 => {
                    let place = rng.below(1 << 20) as f64 / f64::from(1 << 20);
                    ((place * place * place * 60_000.0) as u64, 1)
                }
                5..8 => (100_000 + i * 3 % 30_000, 1),
                8 => (200_000 + i * 4, 4),
                _ => (500_000 + rng.below(20_000), 8),
            };
            let op = if i % 3 == 0 {
                TraceOp::Write
            } else {
                TraceOp::Read
            };
            records.push(Record::new(
                0,
                op,
                (base + block) * BLOCK,
                blocks * BLOCK,
                0,
            ));
        }
        records
    }

    /// How far shares are off, in standard errors, where these are large (the curve is steep) and
    /// where not.
    #[derive(Default)]
    struct Off {
        squares: f64,
        points: f64,
    }

    impl Off {
        fn typical(&self) -> f64 {
            libm::sqrt(self.squares / self.points)
        }
    }

    #[test]
    fn the_sample_is_as_near_to_the_truth_as_it_says() {
        let (mut worst, mut steep, mut flat) = (0.0_f64, Off::default(), Off::default());
        for seed in 0..24 {
            let records = long(seed);
            let (truth, found) = (reuse(&records, 1 << 20), reuse(&records, 4_096));
            assert_eq!(truth.sampled_one_in, 1);
            assert!(found.sampled_one_in >= 32, "{}", found.sampled_one_in);
            let shares = found.all.held_share.iter().zip(&found.all.standard_error);
            for (size, (share, error)) in found.cache_bytes.iter().zip(shares) {
                let off = share - held(&truth, *size);
                assert!(*error > 0.0, "{size}: {error}");
                assert!(*error < 0.05, "{size}: {error}");
                worst = worst.max(off.abs());
                let part = if *error > 0.008 {
                    &mut steep
                } else {
                    &mut flat
                };
                part.squares += off * off / error / error;
                part.points += 1.0;
            }
        }
        assert!(worst < 0.05, "{worst}");
        // On average a share is off by one standard error.
        for part in [steep, flat] {
            let typical = part.typical();
            assert!((0.8..1.25).contains(&typical), "{typical}");
        }
    }
}
