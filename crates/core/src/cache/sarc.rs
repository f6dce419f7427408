//! SARC: two lists, one of what sequences bring and one of the rest, and a boundary between them that makes one more page worth the same on either side.
//!
//! Sequences and everything else compete for one cache. What a page is worth to the rest is measured: hits in the last pages of its list, its *bottom*, are what
//! would be lost without them. What a page is worth to sequences is modelled, since a list of them has no such hits: the longer the list, the fewer of
//! the data that were brought beforehand leave unread, and the sum over all sequences falls by about twice their rate of misses over the length of
//! the list. Counted between two hits in the bottom of the rest, the two compare as
//!
//! ```text
//!   ratio = 2 * misses of sequences * pages of the bottom / pages of sequences
//! ```
//!
//! with 1. Above 1 sequences deserve more room, below less. How far it is from 1 (by one at most) is how fast their *goal* moves: by half of that with each line that
//! leaves. If their list is longer than the goal a line of theirs leaves, else one of the rest; if either is shorter than a bottom, the older line of both.
//! A cache that almost never has hits in the bottom of the rest learns from those in the bottom of sequences: with a very large ratio the goal rises.
//!
//! Whether a line is in the bottom of its list is told by time stamps, so there are no lists of bottoms. The clock counts lines that move to the top.
//! Who prefetches says what belongs to a sequence; without a prefetcher this is LRU.
//!
//! *Settings.* The bottom and the large ratio are believed to be those of the paper, whose text does not have them; nor does it say whether the goal moves by half a
//! page or half a line. The goal stays within the cache without a bottom; one that has fallen to 0 begins anew where sequences are, as one that was never set. Fractions are counted in integers. O(1).

use super::in_memory::{COMMON, SETTINGS};
use super::queues::Queues;
use crate::contract::{Cache, Pattern};
use crate::ids::Line;
use crate::measure::{Measure, Tell};
use crate::pages::CACHE_COUNTS;
use crate::registry::{Knob, Spec, joined};

const REST: usize = 0;
const SEQUENCES: usize = 1;

/// Fractions are counted in units of one over this.
const ONE: i64 = 1 << 20;

struct Sarc {
    queues: Queues<2>,
    /// By line: when it moved to the top.
    stamps: Vec<u64>,
    /// By line: its pages.
    lines: Vec<u8>,
    /// Pages of each list.
    pages: [u64; 2],
    clock: u64,
    /// Pages of a bottom.
    bottom: u64,
    /// Misses of sequences since the last hit in the bottom of the rest.
    misses: u64,
    /// Which way the goal moves, and how fast: from -1 to 1, in fractions.
    lean: i64,
    /// Pages that sequences are to have, in fractions.
    goal: i64,
    /// The largest goal, in fractions.
    goal_most: i64,
    /// The ratio above which hits in the bottom of sequences count, in fractions.
    large: i64,
    /// By how many halves the goal moves.
    step: i64,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    misses: u64,
    bottom_hits: [u64; 2],
}

impl Sarc {
    /// In fractions.
    fn ratio(&self) -> i64 {
        let worth = 2 * u128::from(self.misses) * u128::from(self.bottom) * ONE as u128;
        let ratio = worth.checked_div(self.pages[SEQUENCES].into());
        i64::try_from(ratio.unwrap_or(0)).unwrap_or(i64::MAX)
    }

    fn in_bottom(&mut self, list: usize, line: Line) -> bool {
        let stamp = |line: Line| u128::from(self.stamps[line.index()]);
        let own = stamp(line);
        let (Some(oldest), Some(newest)) = (self.queues.first(list), self.queues.last(list)) else {
            return false;
        };
        let (oldest, newest) = (stamp(oldest), stamp(newest));
        (own - oldest) * u128::from(self.pages[list]) <= u128::from(self.bottom) * (newest - oldest)
    }

    /// A line comes to the top of a list.
    fn promote(&mut self, list: usize, line: Line) {
        self.take(line);
        self.clock += 1;
        self.stamps[line.index()] = self.clock;
        self.pages[list] += u64::from(self.lines[line.index()]);
        self.queues.push(list, line);
    }

    fn take(&mut self, line: Line) {
        if let Some(list) = self.queues.of(line) {
            self.pages[list] -= u64::from(self.lines[line.index()]);
            self.queues.take(line);
        }
    }

    /// The list that a line is to leave.
    fn victim(&mut self) -> usize {
        let oldest = [REST, SEQUENCES].map(|list| {
            let line = self.queues.first(list);
            line.map(|line| self.stamps[line.index()])
        });
        match oldest {
            [None, _] => SEQUENCES,
            [_, None] => REST,
            [Some(rest), Some(sequences)]
                if self.pages.iter().any(|pages| *pages < self.bottom) =>
            {
                usize::from(sequences < rest)
            }
            _ => usize::from(self.pages[SEQUENCES] as i64 * ONE > self.goal),
        }
    }
}

impl Cache for Sarc {
    fn reserve(&mut self, lines: u32) {
        let count = self.lines.len().max(lines as usize);
        self.queues.reserve(lines);
        self.stamps.resize(count, 0);
        self.lines.resize(count, 0);
    }

    fn holds(&self, line: Line) -> bool {
        self.queues.of(line).is_some()
    }

    fn len(&self) -> usize {
        self.queues.len(REST) + self.queues.len(SEQUENCES)
    }

    fn hit(&mut self, line: Line) {
        let list = self.queues.of(line).expect("it is in the cache");
        if self.in_bottom(list, line) {
            let ratio = self.ratio();
            self.counts.bottom_hits[list] += 1;
            if list == REST {
                self.lean = (ratio - ONE).clamp(-ONE, ONE);
                self.misses = 0;
            } else if ratio > self.large {
                self.lean = ONE;
            }
        }
        self.promote(list, line);
    }

    fn miss_in(&mut self, _line: Line, pattern: Pattern) {
        if pattern == Pattern::Sequential {
            self.misses += 1;
            self.counts.misses += 1;
        }
    }

    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        let list = self.victim();
        let line = self.queues.first(list)?;
        self.take(line);
        self.goal = match self.goal {
            0 => self.pages[SEQUENCES] as i64 * ONE,
            goal => goal + self.lean * self.step / 2,
        };
        self.goal = self.goal.clamp(0, self.goal_most);
        Some(line)
    }

    fn enter(&mut self, line: Line) {
        self.enter_in(line, Pattern::Random, 1);
    }

    fn enter_in(&mut self, line: Line, pattern: Pattern, pages: u32) {
        self.lines[line.index()] = pages as u8;
        let list = match pattern {
            Pattern::Random => REST,
            Pattern::Sequential => SEQUENCES,
        };
        self.promote(list, line);
    }

    fn grow(&mut self, line: Line, pages: u32) {
        let list = self.queues.of(line).expect("it is in the cache");
        self.lines[line.index()] += pages as u8;
        self.pages[list] += u64::from(pages);
    }

    fn shrink(&mut self, line: Line, pages: u32) {
        let list = self.queues.of(line).expect("it is in the cache");
        self.lines[line.index()] -= pages as u8;
        self.pages[list] -= u64::from(pages);
    }

    fn expect(&mut self, line: Line) {
        self.promote(SEQUENCES, line);
    }

    fn counts_pages(&self) -> bool {
        true
    }

    fn tell(&self, tell: Tell<'_>) {
        let numbers = [
            self.counts.misses,
            self.counts.bottom_hits[REST],
            self.counts.bottom_hits[SEQUENCES],
            self.pages[SEQUENCES],
            (self.goal / ONE) as u64,
        ];
        for (measure, number) in OWN_MEASURES.iter().zip(numbers) {
            tell(measure, number);
        }
    }

    fn audit(&self) {
        self.queues.audit();
        let mut pages = [0; 2];
        for line in (0..self.lines.len() as u32).map(Line) {
            if let Some(list) = self.queues.of(line) {
                pages[list] += u64::from(self.lines[line.index()]);
            }
        }
        assert_eq!(pages, self.pages, "pages of the lists");
    }
}

const OWN_MEASURES: [Measure; 5] = [
    Measure::count(
        "sequence_misses",
        "lines",
        "lines that were missed as part of a sequence",
    ),
    Measure::count(
        "rest_bottom_hits",
        "lines",
        "hits in the bottom of the list of the rest",
    ),
    Measure::count(
        "sequence_bottom_hits",
        "lines",
        "hits in the bottom of the list of sequences",
    ),
    Measure::count(
        "sequence_pages",
        "pages",
        "pages that sequences had at the end",
    ),
    Measure::count(
        "goal_pages",
        "pages",
        "pages that sequences were to have at the end",
    ),
];

static MEASURES: [Measure; CACHE_COUNTS.len() + 5] = joined(OWN_MEASURES, CACHE_COUNTS);

const OWN_KNOBS: [Knob; 3] = [
    Knob::number(
        "bottom_percent",
        2.0,
        0.01..=50.0,
        "pages of a bottom, as a share of the cache",
    ),
    Knob::number(
        "large_ratio",
        20.0,
        1.0..=1e6,
        "the ratio above which hits in the bottom of sequences let their goal rise",
    ),
    Knob::choice(
        "step",
        "page",
        &["page", "line"],
        "of what the goal moves by half at most with each line that leaves",
    ),
];

static KNOBS: [Knob; SETTINGS + 3] = joined(OWN_KNOBS, COMMON);

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "sarc",
    aliases: &[],
    summary: "two lists, of sequences and of the rest, with a boundary that makes a page worth the same on either side",
    source: "Gill and Modha, SARC: Sequential Prefetching in Adaptive Replacement Cache, USENIX Annual Technical Conference 2005",
    knobs: &KNOBS,
    measures: &MEASURES,
    asks: &[],
    prepared: false,
    build: |knobs, env| {
        let pages = u64::from(env.capacity) * u64::from(env.line_pages);
        let bottom = (pages as f64 * knobs.number("bottom_percent") / 100.0) as u64;
        let bottom = bottom.max(1);
        Ok(Box::new(Sarc {
            queues: Queues::new(),
            stamps: Vec::new(),
            lines: Vec::new(),
            pages: [0; 2],
            clock: 0,
            bottom,
            misses: 0,
            lean: 0,
            goal: 0,
            goal_most: (pages - bottom) as i64 * ONE,
            large: (knobs.number("large_ratio") * ONE as f64) as i64,
            step: match knobs.choice("step") {
                "line" => env.line_pages.into(),
                _ => 1,
            },
            counts: Counts::default(),
        }))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{CacheEnv, Knobs};

    /// Pages of a line.
    const PAGES: u32 = 8;

    /// Sequences have 46 lines, of 1,000 in all.
    fn with_sequences() -> Sarc {
        let mut sarc = Sarc {
            queues: Queues::new(),
            stamps: Vec::new(),
            lines: Vec::new(),
            pages: [0; 2],
            clock: 0,
            bottom: 160,
            misses: 0,
            lean: 0,
            goal: 0,
            goal_most: 7_840 * ONE,
            large: 20 * ONE,
            step: 1,
            counts: Counts::default(),
        };
        sarc.reserve(100);
        for line in 0..46 {
            sarc.enter_in(Line(line), Pattern::Sequential, PAGES);
        }
        sarc
    }

    #[test]
    fn hits_in_the_bottom_of_sequences_count_where_the_ratio_is_very_large() {
        for (misses, ratio, lean) in [(20, 17.39, 0), (40, 34.78, ONE)] {
            let mut sarc = with_sequences();
            sarc.misses = misses;
            assert!((sarc.ratio() as f64 / ONE as f64 - ratio).abs() < 0.005);
            sarc.hit(Line(0));
            assert_eq!((sarc.lean, sarc.misses), (lean, misses));
        }
    }

    #[test]
    fn a_hit_in_the_bottom_of_the_rest_says_which_way_the_goal_moves() {
        for (misses, lean) in [
            (0, -ONE),
            (1, ONE * 320 / 368 - ONE),
            (2, ONE * 640 / 368 - ONE),
            (9, ONE),
        ] {
            let mut sarc = with_sequences();
            for line in 50..90 {
                sarc.enter_in(Line(line), Pattern::Random, PAGES);
            }
            sarc.misses = misses;
            // The newest is not in the bottom: 160 of 320 pages.
            sarc.hit(Line(89));
            assert_eq!((sarc.lean, sarc.misses), (0, misses));
            sarc.hit(Line(55));
            assert_eq!((sarc.lean, sarc.misses), (lean, 0));
            // The goal begins where sequences are, and moves by half of that with each line that leaves.
            assert_eq!(sarc.leave(Line(99)), Some(Line(0)));
            assert_eq!(sarc.goal, 360 * ONE);
            sarc.leave(Line(99));
            assert_eq!(sarc.goal, 360 * ONE + lean / 2);
        }
    }

    #[test]
    fn the_goal_stays_within_the_cache() {
        let mut sarc = with_sequences();
        for (goal, lean, then) in [
            (7_840 * ONE - 1, ONE, 7_840 * ONE),
            (1, -ONE, 0),
            (5 * ONE, -ONE, 5 * ONE - ONE / 2),
        ] {
            (sarc.goal, sarc.lean) = (goal, lean);
            sarc.leave(Line(99));
            assert_eq!(sarc.goal, then);
        }
    }

    #[test]
    fn the_goal_may_move_by_half_a_line() {
        let mut sarc = with_sequences();
        (sarc.step, sarc.goal, sarc.lean) = (PAGES.into(), 100 * ONE, -ONE);
        sarc.leave(Line(99));
        assert_eq!(sarc.goal, 96 * ONE);
    }

    #[test]
    fn if_a_list_is_shorter_than_a_bottom_the_older_line_leaves() {
        let mut sarc = with_sequences();
        sarc.enter_in(Line(60), Pattern::Random, PAGES);
        sarc.hit(Line(0));
        for line in (1..46).chain([60, 0]) {
            // First those of sequences, as long as these are older.
            assert_eq!(sarc.leave(Line(99)), Some(Line(line)));
        }
        assert_eq!(sarc.leave(Line(99)), None);
        sarc.audit();
    }

    /// The stamps tell about the same as a bottom that is counted.
    #[test]
    fn stamps_find_the_bottom() {
        let env = CacheEnv {
            capacity: 1_000,
            line_pages: 1,
        };
        let knobs = [(
            "bottom_percent".to_owned(),
            crate::registry::KnobValue::Number(20.0),
        )];
        let knobs = Knobs::check("sarc", &KNOBS, &knobs).unwrap();
        let mut cache = (SPEC.build)(&knobs, &env).unwrap();
        cache.reserve(3_000);
        let mut order: Vec<Line> = Vec::new();
        let mut rng = crate::rng::Rng::stream(3, "bottom");
        let (mut agreed, mut asked) = (0, 0);
        let hits = |cache: &dyn Cache| {
            let mut hits = 0;
            cache.tell(&mut |measure, number| {
                if measure.name == "rest_bottom_hits" {
                    hits = number;
                }
            });
            hits
        };
        for _ in 0..40_000 {
            let (one, other) = (rng.below(2_000), rng.below(2_000));
            let line = Line(one.min(other) as u32);
            if cache.holds(line) {
                let place = order.iter().position(|one| *one == line).unwrap();
                let before = hits(&*cache);
                cache.hit(line);
                let told = hits(&*cache) > before;
                agreed += u64::from(told == (place < 200));
                asked += 1;
                order.remove(place);
            } else {
                if order.len() == 1_000 {
                    assert_eq!(cache.leave(line), Some(order.remove(0)));
                }
                cache.enter(line);
            }
            order.push(line);
        }
        assert!(
            asked > 10_000 && agreed * 10 > asked * 9,
            "{agreed} of {asked}"
        );
    }
}
