//! Segmented LRU: a line has to be asked for several times before it is kept for long.
//!
//! The list is cut into segments of equal length. A line comes to the lowest; each time that it is
//! asked for it goes to the one above; what a segment has too many goes to the one below; what
//! leaves, leaves the lowest. So what was asked for once only passes through the lowest. As long as
//! the cache is not full, lines come to the lowest segment with room. If the capacity is no
//! multiple of the segments, the lowest takes the rest, but gives that up when a line comes down to
//! it, as in libCacheSim. O(segments).

use super::in_memory::KNOBS;
use super::queues::Queues;
use super::segments::Segments;
use crate::contract::Cache;
use crate::ids::Line;
use crate::pages::CACHE_MEASURES;
use crate::registry::Spec;

/// As many as other simulators take.
const SEGMENTS: usize = 4;

struct Slru {
    queues: Queues<SEGMENTS>,
    segments: Segments<SEGMENTS>,
    /// Have left with a hit.
    left: Vec<Line>,
}

impl Cache for Slru {
    fn reserve(&mut self, lines: u32) {
        self.queues.reserve(lines);
    }

    #[inline]
    fn fetch(&self, line: Line) {
        self.queues.fetch(line);
    }

    #[inline]
    fn holds(&self, line: Line) -> bool {
        self.queues.of(line).is_some()
    }

    #[inline]
    fn len(&self) -> usize {
        self.segments.len(&self.queues)
    }

    #[inline]
    fn hit(&mut self, line: Line) {
        let segment = self.queues.of(line).expect("it is in the cache");
        let Slru {
            queues,
            segments,
            left,
        } = self;
        segments.hit(queues, line, segment, left);
    }

    #[inline]
    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        let line = self.segments.first(&mut self.queues)?;
        self.queues.take(line);
        Some(line)
    }

    #[inline]
    fn enter(&mut self, line: Line) {
        self.segments.enter(&mut self.queues, line);
    }

    #[inline]
    fn left(&mut self) -> Option<Line> {
        self.left.pop()
    }

    fn audit(&self) {
        self.queues.audit();
        for segment in 1..SEGMENTS {
            let (len, most) = (self.queues.len(segment), self.segments.lengths[segment]);
            assert!(len <= most, "{len} lines in segment {segment} of {most}");
        }
    }
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "slru",
    aliases: &[],
    summary: "four segments: each time a line is asked for it moves up by one",
    source: "Karedla, Love and Wherry, Caching strategies to improve disk system performance, IEEE Computer 27 (3), 1994",
    knobs: KNOBS,
    measures: CACHE_MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, env| {
        Ok(Box::new(Slru {
            queues: Queues::new(),
            segments: Segments::new(env.capacity as usize, [1; SEGMENTS]),
            left: Vec::with_capacity(SEGMENTS),
        }))
    },
};
