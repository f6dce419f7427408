//! What belongs to sequences and what does not, each by when it was asked for last: what SARC goes
//! by, and what others are looked at by.
//!
//! The *bottom* of a list is its last pages, those that would be lost if the list were a little
//! shorter. Whether a line is in there is told by time stamps, so there are no lists of bottoms:
//! the clock counts lines that move to the top, and a stamp lies in the bottom if it is as near to
//! that of the oldest line as the bottom is long. O(1).

use super::queues::Queues;
use crate::contract::Pattern;
use crate::ids::Line;
use crate::measure::{Measure, Tell};
use crate::registry::{CacheEnv, Knob, Knobs};

pub(super) const REST: usize = 0;
pub(super) const SEQUENCES: usize = 1;

/// How long a bottom is.
pub(super) const BOTTOM: Knob = Knob::number(
    "bottom_percent",
    2.0,
    0.01..=50.0,
    "pages of a bottom, as a share of the cache",
);

/// What is counted of them.
pub(super) const MEASURES: [Measure; 6] = [
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
    )
    .of_run(),
    Measure::count(
        "sequence_mean_pages",
        "pages",
        "pages that sequences had on average, over all lines that were asked for or brought since the first one left",
    )
    .mean_over(&LOOKS),
    LOOKS,
];

const LOOKS: Measure = Measure::count(
    "looks",
    "lines",
    "lines that were asked for or brought since the first one left",
);

/// When a line moved to the top, and its pages: in one word beside its place, as all are looked at
/// with each hit, and a line that is hit is in no processor's cache.
#[derive(Clone, Copy, Default)]
struct Known(u64);

impl Known {
    /// Bits for the pages.
    const PAGES: u32 = 8;

    #[inline]
    fn new(stamp: u64, pages: u64) -> Known {
        debug_assert!(pages < 1 << Known::PAGES, "a line has at most 64 pages");
        Known(stamp << Known::PAGES | pages)
    }

    #[inline]
    fn stamp(self) -> u64 {
        self.0 >> Known::PAGES
    }

    #[inline]
    fn pages(self) -> u64 {
        self.0 & ((1 << Known::PAGES) - 1)
    }
}

/// The two lists.
pub(super) struct Lists {
    queues: Queues<2, Known>,
    /// Pages of each list.
    pages: [u64; 2],
    clock: u64,
    /// Pages of a bottom.
    bottom: u64,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    misses: u64,
    bottom_hits: [u64; 2],
    /// Lines that were asked for since the first one left; none before that.
    asked: Option<u64>,
    /// Pages of sequences, summed over these.
    held: u64,
}

impl Lists {
    /// Empty ones of a cache with these settings.
    pub(super) fn of(knobs: &Knobs, env: &CacheEnv) -> Lists {
        let pages = f64::from(env.capacity) * f64::from(env.line_pages);
        Lists::new(((pages * knobs.number(BOTTOM.name) / 100.0) as u64).max(1))
    }

    /// Empty ones with bottoms of so many pages.
    pub(super) fn new(bottom: u64) -> Lists {
        Lists {
            queues: Queues::new(),
            pages: [0; 2],
            clock: 0,
            bottom,
            counts: Counts::default(),
        }
    }

    pub(super) fn reserve(&mut self, lines: u32) {
        self.queues.reserve(lines);
    }

    /// A line will be asked for in a moment.
    #[inline]
    pub(super) fn fetch(&self, line: Line) {
        self.queues.fetch(line);
    }

    /// Pages of a bottom.
    #[inline]
    pub(super) fn bottom(&self) -> u64 {
        self.bottom
    }

    /// In which list a line is.
    #[inline]
    pub(super) fn list(&self, line: Line) -> Option<usize> {
        self.queues.of(line)
    }

    /// Lines of both.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.queues.len(REST) + self.queues.len(SEQUENCES)
    }

    /// Pages of a list.
    #[inline]
    pub(super) fn pages(&self, list: usize) -> u64 {
        self.pages[list]
    }

    /// Pages of a line that is in one.
    #[inline]
    pub(super) fn pages_of(&self, line: Line) -> u64 {
        self.queues.beside(line).pages()
    }

    /// The oldest line of a list, and its stamp.
    #[inline]
    pub(super) fn oldest(&mut self, list: usize) -> Option<(Line, u64)> {
        let line = self.queues.first(list)?;
        Some((line, self.stamp(line)))
    }

    #[inline]
    fn stamp(&self, line: Line) -> u64 {
        self.queues.beside(line).stamp()
    }

    /// A line is missed.
    #[inline]
    pub(super) fn miss(&mut self, pattern: Pattern) {
        self.look();
        self.counts.misses += u64::from(pattern == Pattern::Sequential);
    }

    /// A line that is in a list is asked for: its list, and whether it is in the bottom of that. It
    /// stays where it is.
    #[inline]
    pub(super) fn hit(&mut self, line: Line) -> (usize, bool) {
        self.look();
        let list = self.queues.of(line).expect("it is in the cache");
        let is_bottom = self.in_bottom(list, line);
        self.counts.bottom_hits[list] += u64::from(is_bottom);
        (list, is_bottom)
    }

    #[inline]
    fn look(&mut self) {
        if let Some(asked) = &mut self.counts.asked {
            *asked += 1;
            self.counts.held += self.pages[SEQUENCES];
        }
    }

    #[inline]
    fn in_bottom(&mut self, list: usize, line: Line) -> bool {
        let (Some(oldest), Some(newest)) = (self.queues.first(list), self.queues.last(list)) else {
            return false;
        };
        let [own, oldest, newest] = [line, oldest, newest].map(|line| self.stamp(line));
        let times = |span: u64, pages: u64| u128::from(span) * u128::from(pages);
        times(own - oldest, self.pages[list]) <= times(newest - oldest, self.bottom)
    }

    /// A line of so many pages comes.
    pub(super) fn enter(&mut self, line: Line, pattern: Pattern, pages: u32) {
        *self.queues.beside_mut(line) = Known::new(0, pages.into());
        let list = match pattern {
            Pattern::Random => REST,
            Pattern::Sequential => SEQUENCES,
        };
        self.promote(list, line);
    }

    /// A line comes to the top of a list.
    #[inline]
    pub(super) fn promote(&mut self, list: usize, line: Line) {
        let known = self.queues.beside_mut(line);
        let pages = known.pages();
        self.clock += 1;
        *known = Known::new(self.clock, pages);
        if let Some(before) = self.queues.of(line) {
            self.pages[before] -= pages;
        }
        self.pages[list] += pages;
        self.queues.renew(list, line);
    }

    /// A line leaves.
    #[inline]
    pub(super) fn leave(&mut self, line: Line) {
        self.counts.asked.get_or_insert(0);
        if let Some(list) = self.queues.of(line) {
            self.pages[list] -= self.pages_of(line);
            self.queues.take(line);
            // Which line leaves next is asked by its stamp, and it is in no cache of the processor
            // yet.
            if let Some(next) = self.queues.first(list) {
                self.queues.fetch(next);
            }
        }
    }

    pub(super) fn grow(&mut self, line: Line, pages: u32) {
        let list = self.queues.of(line).expect("it is in the cache");
        self.queues.beside_mut(line).0 += u64::from(pages);
        self.pages[list] += u64::from(pages);
    }

    pub(super) fn shrink(&mut self, line: Line, pages: u32) {
        let list = self.queues.of(line).expect("it is in the cache");
        self.queues.beside_mut(line).0 -= u64::from(pages);
        self.pages[list] -= u64::from(pages);
    }

    pub(super) fn tell(&self, tell: Tell<'_>) {
        let counts = &self.counts;
        let numbers = [
            counts.misses,
            counts.bottom_hits[REST],
            counts.bottom_hits[SEQUENCES],
            self.pages[SEQUENCES],
            counts.held,
            counts.asked.unwrap_or(0),
        ];
        for (measure, number) in MEASURES.iter().zip(numbers) {
            tell(measure, number);
        }
    }

    /// All lines that may come.
    pub(super) fn known(&self) -> impl Iterator<Item = Line> + use<> {
        self.queues.known()
    }

    pub(super) fn audit(&self) {
        self.queues.audit();
        let mut pages = [0; 2];
        for line in self.known() {
            if let Some(list) = self.queues.of(line) {
                pages[list] += self.pages_of(line);
            }
        }
        assert_eq!(pages, self.pages, "pages of the lists");
    }
}
