//! Caches that keep the lines which were asked for last, at any number of sizes in one pass.
//!
//! Of two such caches the larger one holds all that the smaller one holds (Mattson and others,
//! Evaluation techniques for storage hierarchies, IBM Systems Journal 9 (2), 1970). So nobody has
//! to know which line leaves: it is enough to know when a line was asked for last, and how far back
//! each size reaches.
//!
//! Time is counted in requests for lines. A bit says of each instant whether the line of then was
//! asked for again since; those that were not are the lines, in order of age. Each size has a
//! bound: at it and behind it lie as many of these instants as it holds lines. A line is hit in a
//! size if its last instant is not before the bound. Where it is missed, the bound moves on behind
//! the next line. When the bits are used up, the instants that are left are numbered anew.
//!
//! Amortised O(1) for each line that is asked for and each size. Four bytes for each line, and a
//! bit for each instant.

use nearslot_core::contract::SOON;
use nearslot_core::ids::Line;
use prefetch_index::prefetch_index;

/// Instants that there are bits for at least.
const INSTANTS_MIN: usize = 1 << 12;
/// And so many times the lines.
const ROOM: usize = 8;
/// The line was never asked for.
const NEVER: u32 = 0;

/// Caches of several sizes.
pub(super) struct Recency {
    /// By line: the instant at which it was asked for last, counted from 1.
    last: Vec<u32>,
    /// Whether the line of an instant was not asked for since.
    newest: Vec<u64>,
    /// The next instant.
    now: u32,
    /// Lines so far.
    lines: u32,
    /// In rising order.
    sizes: Vec<u32>,
    /// By size: as many lines as it holds were last asked for at this instant or later.
    bounds: Vec<u32>,
    /// By size: lines that are asked for, which it hits and the next smaller one misses; at the
    /// end, those that all miss.
    hits: Vec<u64>,
    /// The same of whole requests, if these are counted: a size hits one if it hits all of its
    /// lines.
    request_hits: Vec<u64>,
}

impl Recency {
    /// Caches of these sizes, in rising order.
    pub(super) fn new(sizes: Vec<u32>) -> Recency {
        assert!(sizes.is_sorted(), "sizes in rising order");
        Recency {
            last: Vec::new(),
            newest: vec![0; INSTANTS_MIN / 64],
            now: 0,
            lines: 0,
            bounds: vec![0; sizes.len()],
            hits: vec![0; sizes.len() + 1],
            request_hits: vec![0; sizes.len() + 1],
            sizes,
        }
    }

    /// Lines below this number may be asked for from now on.
    pub(super) fn reserve(&mut self, lines: u32) {
        if self.last.len() < lines as usize {
            self.last.resize(lines as usize, NEVER);
        }
        let words = (lines as usize * ROOM).div_ceil(64);
        if self.newest.len() < words {
            self.newest.resize(words, 0);
        }
    }

    /// These lines are asked for, one after the other. What is known of one is fetched from memory
    /// some lines before, and then what is known of the instant which that says.
    pub(super) fn ask(&mut self, asked: &[Line]) {
        for (index, line) in asked.iter().enumerate() {
            if let Some(soon) = asked.get(index + 2 * SOON) {
                prefetch_index(&self.last, soon.index());
            }
            if let Some(soon) = asked.get(index + SOON) {
                let last = self.last[soon.index()];
                prefetch_index(&self.newest, last as usize / 64);
            }
            self.ask_one(*line);
        }
    }

    /// The same of the lines of one request, which is counted by itself.
    pub(super) fn ask_request(&mut self, asked: &[Line]) {
        let missing = asked.iter().map(|line| self.ask_one(*line)).max();
        self.request_hits[missing.unwrap_or(0)] += 1;
    }

    /// How many of the sizes miss it, which are the smallest.
    #[inline]
    fn ask_one(&mut self, line: Line) -> usize {
        if self.now as usize == 64 * self.newest.len() {
            self.renumber();
        }
        let now = self.now;
        let last = std::mem::replace(&mut self.last[line.index()], now + 1);
        let is_new = last == NEVER;
        self.lines += u32::from(is_new);
        let before = last.saturating_sub(1);
        self.newest[before as usize / 64] &= !(u64::from(!is_new) << (before % 64));
        self.newest[now as usize / 64] |= 1 << (now % 64);
        self.now = now + 1;
        let missing = self.move_bounds(last, now);
        self.hits[missing] += 1;
        missing
    }

    /// Moves the bounds of all sizes that miss a line which was asked for last at this instant. How
    /// many these are.
    ///
    /// Whether the smallest does is no branch: nobody could foresee it, and what a wrong guess
    /// costs is more than all that is done here. Of those behind it, each size more costs as much
    /// as that, so there one guess, of which is the first that hits, is the less dear.
    #[inline]
    fn move_bounds(&mut self, last: u32, now: u32) -> usize {
        let mut sizes = self.bounds.iter_mut().zip(&self.sizes);
        let Some((bound, size)) = sizes.next() else {
            return 0;
        };
        let is_missed = last <= *bound;
        let moves = is_missed & (self.lines > *size);
        // From a bound that stays, the next one may be far: then it is looked for where it is at
        // once, at the present instant.
        let from = if moves { *bound } else { now };
        let behind = next(&self.newest, from) + 1;
        *bound = if moves { behind } else { *bound };
        let mut missing = usize::from(is_missed);
        for (bound, size) in sizes {
            if last > *bound {
                break;
            }
            missing += 1;
            if self.lines > *size {
                *bound = next(&self.newest, *bound) + 1;
            }
        }
        missing
    }

    /// Leaves out the instants whose lines were asked for since.
    #[cold]
    fn renumber(&mut self) {
        let mut before = Vec::with_capacity(self.newest.len());
        let mut count = 0;
        for word in &self.newest {
            before.push(count);
            count += word.count_ones();
        }
        let newest = &self.newest;
        let renumbered = |instant: u32| {
            let (word, bit) = (instant as usize / 64, instant % 64);
            match newest.get(word) {
                Some(bits) => before[word] + (bits & ((1 << bit) - 1)).count_ones(),
                None => count,
            }
        };
        for last in self.last.iter_mut().filter(|last| **last != NEVER) {
            *last = renumbered(*last - 1) + 1;
        }
        for bound in &mut self.bounds {
            *bound = renumbered(*bound);
        }
        self.now = count;
        self.newest.fill(0);
        let (whole, rest) = (count as usize / 64, count % 64);
        self.newest[..whole].fill(u64::MAX);
        self.newest[whole] = (1 << rest) - 1;
    }

    /// By size, how many lines were missed.
    pub(super) fn misses(&self) -> Vec<u64> {
        behind(&self.hits)
    }

    /// By size, of how many requests a line was missed.
    pub(super) fn missed_requests(&self) -> Vec<u64> {
        behind(&self.request_hits)
    }
}

/// For each but the last of these, what all behind it are together.
fn behind(hits: &[u64]) -> Vec<u64> {
    let mut missed: u64 = hits.iter().sum();
    let smaller = hits[..hits.len() - 1].iter();
    smaller
        .map(|hits| {
            missed -= hits;
            missed
        })
        .collect()
}

/// The first instant from this one on whose line was not asked for since.
#[inline]
fn next(newest: &[u64], from: u32) -> u32 {
    let mut word = from as usize / 64;
    let mut bits = newest[word] & (u64::MAX << (from % 64));
    while bits == 0 {
        word += 1;
        bits = newest[word];
    }
    (word * 64) as u32 + bits.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use nearslot_core::config::PartConfig;
    use nearslot_core::contract::Cache;
    use nearslot_core::registry::{CacheEnv, Kind};
    use nearslot_core::rng::Rng;

    use super::*;

    /// The policy itself, at each size.
    fn apart(part: &PartConfig, sizes: &[u32], asked: &[Line]) -> Vec<u64> {
        let lines = asked.iter().map(|line| line.0 + 1).max().unwrap_or(0);
        let one = |capacity: &u32| {
            let env = CacheEnv::of_pages(*capacity);
            let mut cache = part.build::<dyn Cache>(&env).unwrap();
            cache.reserve(lines);
            cache.ask(*capacity as usize, asked, &[])
        };
        sizes.iter().map(one).collect()
    }

    #[test]
    fn one_pass_tells_what_each_size_tells() {
        let cards = <dyn Cache as Kind>::table().iter();
        let parts = cards.map(|card| PartConfig::named(card.name));
        let is_recency = |part: &PartConfig| {
            let cache = part.build::<dyn Cache>(&CacheEnv::of_pages(1));
            cache.unwrap().is_recency()
        };
        let parts: Vec<PartConfig> = parts.filter(is_recency).collect();
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["lru", "lru_bottom", "sarc"]);
        let mut rng = Rng::stream(1, "recency");
        for lines in [1, 2, 10, 100, 5_000] {
            for _ in 0..10 {
                let sizes = (0..1 + rng.below(9)).map(|_| 1 + rng.below(lines + lines / 4) as u32);
                let mut sizes: Vec<u32> = sizes.collect();
                sizes.sort_unstable();
                let mut recency = Recency::new(sizes.clone());
                let (mut asked, mut known) = (Vec::new(), 0);
                for _ in 0..60 {
                    let scans = rng.chance(0.2);
                    let first = rng.below(lines);
                    let batch: Vec<Line> = (0..rng.below(400))
                        .map(|number| match scans {
                            true => (first + number) % lines,
                            false => {
                                let most = 1 + rng.below(lines);
                                rng.below(most)
                            }
                        })
                        .map(|line| Line(line as u32))
                        .collect();
                    // Lines become known in time, as where a trace is read meanwhile.
                    let most = batch.iter().map(|line| line.0 + 1).max();
                    known = known.max(most.unwrap_or(0));
                    recency.reserve(known);
                    recency.ask(&batch);
                    asked.extend(batch);
                }
                for part in &parts {
                    let apart = apart(part, &sizes, &asked);
                    assert_eq!(recency.misses(), apart, "{part} of {sizes:?}");
                }
            }
        }
    }
}
