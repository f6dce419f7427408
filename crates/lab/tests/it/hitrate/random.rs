//! Miss ratios of random questions about random traces: every way in which they are found tells the
//! same, and that is what the policies tell that are asked line by line.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use nearslot_core::config::PartConfig;
use nearslot_core::contract::Cache;
use nearslot_core::ids::Line;
use nearslot_core::registry::CacheEnv;
use nearslot_core::rng::Rng;
use nearslot_lab::hitrate::{HitRates, Question, Sample, Unit, Which, hit_rates};
use nearslot_lab::sim::Control;
use nearslot_trace::OpenOptions;

use super::trace;

/// Lines of a cache that is not simulated before it is known how many lines there are.
const LARGE: u64 = 5_000_000;

const CACHES: &[&str] = &[
    "none",
    "fifo",
    "lru",
    "clock",
    "slru",
    "two_q",
    "lirs",
    "arc",
    "car",
    "s3_fifo",
    "sieve",
    "w_tinylfu",
    "w_tinylfu:variant=paper",
    "mimic",
    "optimal",
];

/// A request: device, offset and length in bytes, `R` or `W`.
type Asked = (u32, u64, u64, char);

/// A few hundred requests, of one sector or of many, near each other or far apart.
fn requests(rng: &mut Rng) -> Vec<Asked> {
    let (sectors_log, longest_log) = (rng.below(12), rng.below(9));
    let sectors = 1 + rng.below(1 << sectors_log);
    let longest = 1 + rng.below(1 << longest_log);
    let count = 1 + rng.below(600);
    let devices = 1 + rng.below(3);
    let writes = rng.unit();
    let one = |_| {
        let op = if rng.chance(writes) { 'W' } else { 'R' };
        let most = 1 + rng.below(sectors);
        // Now and then where addresses are large.
        let base = if rng.chance(0.02) { 1 << 40 } else { 0 };
        let (offset, len) = (base + rng.below(most) * 512, (1 + rng.below(longest)) * 512);
        (rng.below(devices) as u32, offset, len, op)
    };
    (0..count).map(one).collect()
}

/// Some of these, at least one, each once.
fn some<T: Copy>(rng: &mut Rng, all: &[T], most: u64) -> Vec<T> {
    let mut left = all.to_vec();
    let count = (1 + rng.below(most)).min(left.len() as u64);
    let mut drawn = Vec::new();
    for _ in 0..count {
        let at = rng.below(left.len() as u64) as usize;
        drawn.push(left.swap_remove(at));
    }
    drawn
}

/// Lines that requests ask for, numbered as they come, and how many each.
fn lines(requests: &[Asked], unit: Unit, which: Which) -> (Vec<u32>, Vec<usize>) {
    let mut numbers = HashMap::new();
    let (mut lines, mut lengths) = (Vec::new(), Vec::new());
    let counts = |request: &&Asked| which == Which::All || request.3 == 'R';
    for (device, offset, len, _) in requests.iter().filter(counts) {
        let pages: Vec<u64> = match unit {
            Unit::Page(bytes) => (offset / bytes..=(offset + len - 1) / bytes).collect(),
            Unit::Request => vec![*offset],
        };
        lengths.push(pages.len());
        for page in pages {
            let next = numbers.len() as u32;
            lines.push(*numbers.entry((*device, page)).or_insert(next));
        }
    }
    (lines, lengths)
}

/// What a policy misses, line by line, and of how many requests.
fn literal(cache: &str, capacity: u64, lines: &[u32], lengths: &[usize]) -> (u64, u64) {
    let footprint = lines.iter().max().unwrap() + 1;
    // Larger ones take memory, and time.
    let capacity = capacity.min(4 * u64::from(footprint) + 400) as u32;
    let part: PartConfig = cache.parse().unwrap();
    let mut cache = part
        .build::<dyn Cache>(&CacheEnv::of_pages(capacity))
        .unwrap();
    cache.reserve(footprint);
    let (mut misses, mut missed, mut at) = (0, 0, 0);
    for length in lengths {
        let before = misses;
        for _ in 0..*length {
            let later = lines[at + 1..].iter().position(|line| *line == lines[at]);
            let next = later.map_or(u32::MAX, |later| (at + later + 2) as u32);
            let held = cache.holds(Line(lines[at]));
            let own = cache.ask(capacity as usize, &[Line(lines[at])], &[next]);
            assert_eq!(own, u64::from(!held));
            misses += own;
            at += 1;
        }
        missed += u64::from(misses > before);
    }
    cache.audit();
    (misses, missed)
}

/// The lines that were asked for last, written down.
fn by_age(capacity: usize, lines: &[u32]) -> u64 {
    let (mut held, mut misses) = (Vec::new(), 0);
    for line in lines {
        let at = held.iter().position(|one| one == line);
        misses += u64::from(at.is_none());
        match at {
            Some(at) => drop(held.remove(at)),
            None if held.len() == capacity => drop(held.remove(0)),
            None => {}
        }
        held.push(*line);
    }
    misses
}

fn counts(found: &HitRates) -> Vec<(u64, Option<u64>)> {
    let rows = found.rows.iter();
    rows.map(|row| (row.misses, row.missed_requests)).collect()
}

/// A random question about a random trace.
struct Case {
    path: PathBuf,
    lines: Vec<u32>,
    /// How many of them each request asks for.
    lengths: Vec<usize>,
    caches: Vec<&'static str>,
    sizes: Vec<u64>,
    unit: Unit,
    which: Which,
    per_request: bool,
    seed: u64,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut rng = Rng::stream(seed, "hit rates");
        let asked = requests(&mut rng);
        let unit = match rng.below(4) {
            0 => Unit::Request,
            _ => Unit::Page(512 << rng.below(12)),
        };
        let reads = asked.iter().any(|request| request.3 == 'R') && rng.chance(0.3);
        let which = if reads { Which::Reads } else { Which::All };
        let (lines, lengths) = lines(&asked, unit, which);
        let footprint = u64::from(*lines.iter().max().unwrap()) + 1;
        let any = 1 + rng.below(footprint);
        let sizes = [1, 2, 3, any, footprint, footprint + 1, 3 * footprint, LARGE];
        let mut sizes = some(&mut rng, &sizes, 5);
        let mut known = HashSet::new();
        sizes.retain(|size| known.insert(*size));
        Case {
            path: trace("random", &asked),
            caches: some(&mut rng, CACHES, 5),
            per_request: matches!(unit, Unit::Page(_)) && rng.chance(0.7),
            lines,
            lengths,
            sizes,
            unit,
            which,
            seed,
        }
    }

    /// What caches of these sizes miss, and whether requests are counted; of a sample of all lines
    /// if that is asked for.
    fn ask(&self, caches: &[&str], sizes: &[u64], per_request: bool, sample: bool) -> HitRates {
        let sizes = sizes.iter().map(|size| format!("{size}lines"));
        let question = Question {
            caches: caches.iter().map(|word| word.parse().unwrap()).collect(),
            sizes: sizes.map(|word| word.parse().unwrap()).collect(),
            leave_out: false,
            unit: self.unit,
            which: self.which,
            sample: sample.then_some(Sample {
                share: 1.0,
                seed: self.seed,
            }),
            per_request,
        };
        let (how, control) = (OpenOptions::default(), Control::default());
        let files = std::slice::from_ref(&self.path);
        hit_rates(files, &how, &question, &control).unwrap()
    }

    /// What the policies tell that are asked line by line.
    fn expected(&self) -> Vec<(u64, Option<u64>)> {
        let one = |cache: &str, size: u64| {
            let (misses, missed) = literal(cache, size, &self.lines, &self.lengths);
            if cache == "lru" {
                assert_eq!(
                    misses,
                    by_age(size as usize, &self.lines),
                    "{}",
                    self.told()
                );
            }
            (misses, self.per_request.then_some(missed))
        };
        let caches = self.caches.iter();
        let all = caches.flat_map(|cache| self.sizes.iter().map(|size| one(cache, *size)));
        all.collect()
    }

    fn told(&self) -> String {
        let Case {
            seed,
            caches,
            sizes,
            unit,
            which,
            ..
        } = self;
        format!("seed {seed}: {caches:?} of {sizes:?}, {unit:?}, {which:?}")
    }
}

#[test]
fn every_way_tells_the_same() {
    let count = std::env::var("NEARSLOT_CASES").map_or(150, |count| count.parse().unwrap());
    for case in (0..count).map(Case::new) {
        let told = case.told();
        let found = case.ask(&case.caches, &case.sizes, case.per_request, false);
        let footprint = u64::from(*case.lines.iter().max().unwrap()) + 1;
        assert_eq!(found.asked, case.lines.len() as u64, "{told}");
        assert_eq!(found.footprint, footprint, "{told}");
        assert_eq!(found.requests, case.lengths.len() as u64, "{told}");
        let expected = case.expected();
        assert_eq!(counts(&found), expected, "{told}");
        kept_first(&case, &found);
        // Alone, at one size.
        let one = case.ask(&case.caches[..1], &case.sizes[..1], case.per_request, false);
        assert_eq!(counts(&one), expected[..1], "{told}");
        whole_sample(&case, &found);
    }
}

/// All is kept first where a large cache or one that looks ahead wants it.
fn kept_first(case: &Case, found: &HitRates) {
    let (mut caches, mut sizes) = (case.caches.clone(), case.sizes.clone());
    caches.retain(|cache| *cache != "optimal");
    caches.push("optimal");
    sizes.retain(|size| *size != LARGE);
    sizes.push(LARGE);
    let kept = case.ask(&caches, &sizes, case.per_request, false);
    for row in &found.rows {
        let mut all = kept.rows.iter();
        let same = all.find(|one| one.cache == row.cache && one.size == row.size);
        let both = [same.unwrap(), row].map(|row| (row.misses, row.missed_requests));
        assert_eq!(both[0], both[1], "{}", case.told());
    }
}

/// A sample of all lines tells what all lines tell.
fn whole_sample(case: &Case, found: &HitRates) {
    if case.sizes.iter().any(|size| *size < 64) {
        return;
    }
    let sampled = case.ask(&case.caches, &case.sizes, false, true);
    assert_eq!(sampled.footprint, found.footprint, "{}", case.told());
    let misses = |found: &HitRates| -> Vec<u64> {
        let rows = found.rows.iter();
        rows.map(|row| row.misses).collect()
    };
    assert_eq!(misses(&sampled), misses(found), "{}", case.told());
}
