//! From addresses to line numbers: what is asked for the first time gets the next number.
//!
//! Caches work on arrays by line number, which is what makes them fast, and one numbering of
//! addresses serves all of them. Each device has a table of its own, so that an entry is an address
//! and a number and nothing else. It has an entry for each group of neighbouring lines: pages that
//! lie side by side share one.
//!
//! A table is of buckets, each of which is one line of the processor's cache. So a look-up misses
//! that once, or twice where its bucket has run over into the next one. Addresses of a batch are
//! looked up in passes: the first only says which buckets will be needed, and the processor fetches
//! many at a time, as no step waits for another. The places of a table are the upper bits of a
//! hash, so one that grows is read and written from front to back.
//!
//! O(1) for each address. 13 to 26 bytes for each group, and 4 for each of its lines if it has
//! several.

use nearslot_core::ids::Line;
use prefetch_index::prefetch_index;

/// Lines of a group have numbers side by side, kept apart from the entry of the group.
const UNNUMBERED: u32 = u32::MAX;
/// Entries of a bucket: with their count they fill a line of the processor's cache.
const ENTRIES: usize = 5;
/// Buckets of an empty table, as a power of two.
const BUCKETS_MIN: u32 = 4;
/// A table grows when it has more than so many entries for each bucket: the rest has room then, and
/// few buckets run over.
const FULL: u32 = 4;

/// More lines are not numbered: a cache keeps some bits of a word to itself.
pub(super) const LINES_MAX: u32 = 1 << 30;

/// Addresses of one device, among others: those before `end` that are not in a run before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) device: u32,
    pub(super) end: usize,
}

/// Entries whose hashes begin alike.
#[derive(Clone)]
#[repr(align(64))]
struct Bucket {
    groups: [u64; ENTRIES],
    numbers: [u32; ENTRIES],
    used: u32,
}

const EMPTY: Bucket = Bucket {
    groups: [0; ENTRIES],
    numbers: [0; ENTRIES],
    used: 0,
};

/// The groups of a device.
struct Table {
    buckets: Vec<Bucket>,
    /// A hash less so many of its lower bits is a bucket.
    shift: u32,
    entries: u32,
}

impl Table {
    /// An empty one of so many buckets, as a power of two.
    fn new(bits: u32) -> Table {
        Table {
            buckets: vec![EMPTY; 1 << bits],
            shift: u32::BITS - bits,
            entries: 0,
        }
    }

    /// The number of a group with this hash. One that is not there gets the next number.
    #[inline]
    fn number(&mut self, group: u64, hash: u32, next: &mut u32) -> u32 {
        let mut place = (hash >> self.shift) as usize;
        loop {
            let bucket = &mut self.buckets[place];
            // The first that is equal, without a branch: what is not used is zero, and stands
            // behind.
            let mut at = ENTRIES;
            for entry in (0..ENTRIES).rev() {
                at = if bucket.groups[entry] == group {
                    entry
                } else {
                    at
                };
            }
            let used = bucket.used as usize;
            if at < used {
                return bucket.numbers[at];
            }
            if used < ENTRIES {
                *next += 1;
                self.add(place, group, *next - 1);
                return *next - 1;
            }
            place = (place + 1) & (self.buckets.len() - 1);
        }
    }

    /// A group that is not there, which belongs to this bucket.
    fn add(&mut self, place: usize, group: u64, number: u32) {
        if self.entries == FULL * self.buckets.len() as u32 {
            self.grow();
            return self.put(group, number);
        }
        let bucket = &mut self.buckets[place];
        let used = bucket.used as usize;
        bucket.groups[used] = group;
        bucket.numbers[used] = number;
        bucket.used += 1;
        self.entries += 1;
    }

    /// A group that is not there, in a table that has room.
    fn put(&mut self, group: u64, number: u32) {
        let mut place = (hash(group) >> self.shift) as usize;
        while self.buckets[place].used as usize == ENTRIES {
            place = (place + 1) & (self.buckets.len() - 1);
        }
        self.add(place, group, number);
    }

    #[cold]
    fn grow(&mut self) {
        let larger = Table::new(u32::BITS - self.shift + 1);
        let old = std::mem::replace(self, larger);
        for bucket in &old.buckets {
            let entries = bucket.groups.iter().zip(&bucket.numbers);
            for (group, number) in entries.take(bucket.used as usize) {
                self.put(*group, *number);
            }
        }
    }
}

/// Line numbers of all addresses so far.
pub(super) struct Interner {
    /// By device.
    tables: Vec<Table>,
    /// Groups of all devices.
    groups: u32,
    /// Lines of a group, as a power of two.
    bits: u32,
    /// By number of group and place in it, if a group has several lines.
    numbers: Vec<u32>,
    lines: u32,
    /// Hashes of a batch.
    hashes: Vec<u32>,
    /// Where the numbers of a batch are.
    places: Vec<usize>,
}

impl Interner {
    /// Groups of so many lines, as a power of two.
    pub(super) fn new(bits: u32) -> Interner {
        Interner {
            tables: Vec::new(),
            groups: 0,
            bits,
            numbers: Vec::new(),
            lines: 0,
            hashes: Vec::new(),
            places: Vec::new(),
        }
    }

    /// How many lines there are.
    pub(super) fn lines(&self) -> u32 {
        self.lines
    }

    /// The lines of these addresses, which belong to these devices, behind what `out` has. None if
    /// there are more than can be numbered.
    pub(super) fn intern(
        &mut self,
        addresses: &[u64],
        runs: &[Run],
        out: &mut Vec<Line>,
    ) -> Option<()> {
        self.fetch(addresses, runs);
        let mut begin = 0;
        self.places.clear();
        for run in runs {
            let all = addresses[begin..run.end]
                .iter()
                .zip(&self.hashes[begin..run.end]);
            let (table, groups, bits) = (
                &mut self.tables[run.device as usize],
                &mut self.groups,
                self.bits,
            );
            if bits == 0 {
                out.extend(all.map(|(address, hash)| Line(table.number(*address, *hash, groups))));
            } else {
                let within = (1 << bits) - 1;
                self.places.extend(all.map(|(address, hash)| {
                    let number = table.number(address >> bits, *hash, groups) as usize;
                    number << bits | (address & within) as usize
                }));
            }
            begin = run.end;
        }
        if self.bits == 0 {
            self.lines = self.groups;
        } else {
            self.number(out);
        }
        (self.lines <= LINES_MAX).then_some(())
    }

    /// Has the buckets fetched in which these addresses are looked for first.
    fn fetch(&mut self, addresses: &[u64], runs: &[Run]) {
        self.hashes.clear();
        let mut begin = 0;
        for run in runs {
            let device = run.device as usize;
            if device >= self.tables.len() {
                self.tables
                    .resize_with(device + 1, || Table::new(BUCKETS_MIN));
            }
            let (table, bits) = (&self.tables[device], self.bits);
            self.hashes
                .extend(addresses[begin..run.end].iter().map(|address| {
                    let hash = hash(address >> bits);
                    prefetch_index(&table.buckets, (hash >> table.shift) as usize);
                    hash
                }));
            begin = run.end;
        }
    }

    /// Numbers lines of groups by their places.
    fn number(&mut self, out: &mut Vec<Line>) {
        let room = (self.groups as usize) << self.bits;
        if self.numbers.len() < room {
            self.numbers.resize(room, UNNUMBERED);
        }
        for place in &self.places {
            prefetch_index(&self.numbers, *place);
        }
        for place in &self.places {
            let line = &mut self.numbers[*place];
            if *line == UNNUMBERED {
                *line = self.lines;
                self.lines += 1;
            }
            out.push(Line(*line));
        }
    }
}

#[inline]
fn hash(group: u64) -> u32 {
    let mixed = (group ^ group >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use nearslot_core::rng::Rng;

    #[test]
    fn numbers_are_given_in_the_order_of_first_appearance() {
        for bits in [0, 3] {
            let mut rng = Rng::stream(1, "intern");
            let (mut interner, mut twin) = (Interner::new(bits), HashMap::new());
            for _ in 0..200 {
                let key = |_| {
                    let address = match rng.below(4) {
                        0 => u64::MAX - rng.below(20),
                        _ => rng.below(30_000),
                    };
                    (rng.below(3) as u32, address)
                };
                let keys: Vec<(u32, u64)> = (0..100).map(key).collect();
                let addresses: Vec<u64> = keys.iter().map(|key| key.1).collect();
                let mut end = 0;
                let run = |same: &[(u32, u64)]| {
                    end += same.len();
                    Run {
                        device: same[0].0,
                        end,
                    }
                };
                let runs: Vec<Run> = keys
                    .chunk_by(|one, next| one.0 == next.0)
                    .map(run)
                    .collect();
                let mut lines = Vec::new();
                interner
                    .intern(&addresses, &runs, &mut lines)
                    .expect("they are few");
                assert_eq!(lines.len(), keys.len());
                for (key, line) in keys.iter().zip(lines) {
                    let next = twin.len() as u32;
                    let own = *twin.entry(*key).or_insert(next);
                    assert_eq!(line, Line(own));
                }
            }
            assert_eq!(interner.lines() as usize, twin.len());
        }
    }
}
