//! W-TinyLFU: a line that leaves a small window stays only if it was asked for more often than the one that would go for it.
//!
//! How often lines were asked for, of all that ever came, a sketch of counters knows about. What is new enters the window, an LRU of a hundredth
//! of the cache, so that bursts of new lines are served. The main part is a segmented LRU: four fifths for what was asked for again there. When the
//! counters were told of 32 requests for each line of the main part, all are halved. O(1) amortised.

use super::in_memory::KNOBS;
use super::queues::Queues;
use super::segments::Segments;
use super::sketch::Sketch;
use crate::contract::Cache;
use crate::ids::Line;
use crate::memory::CACHE_MEASURES;
use crate::registry::Spec;

/// The main part is the queues 0 and 1.
const MAIN: usize = 2;
const WINDOW: usize = 2;

/// Requests for each line of the main part, after which counters are halved.
const SAMPLE: u64 = 32;

struct WTinyLfu {
    queues: Queues<3>,
    main: Segments<MAIN>,
    main_max: usize,
    sketch: Sketch,
    /// Hits in the main part since counters were halved.
    counted: u64,
    /// Have left beside others.
    left: Vec<Line>,
}

impl Cache for WTinyLfu {
    fn reserve(&mut self, lines: u32) {
        self.queues.reserve(lines);
    }

    #[inline]
    fn holds(&self, line: Line) -> bool {
        self.queues.of(line).is_some()
    }

    #[inline]
    fn len(&self) -> usize {
        self.main.len(&self.queues) + self.queues.len(WINDOW)
    }

    #[inline]
    fn hit(&mut self, line: Line) {
        let queue = self.queues.of(line).expect("it is in the cache");
        if queue == WINDOW {
            return self.queues.renew(WINDOW, line);
        }
        self.main.hit(&mut self.queues, line, queue, &mut self.left);
        self.sketch.add(line);
        self.counted += 1;
        if self.counted >= SAMPLE * self.main_max as u64 {
            self.counted = 0;
            self.sketch.age();
        }
    }

    #[inline]
    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        while let Some(line) = self.queues.first(WINDOW) {
            let is_full = self.main.len(&self.queues) >= self.main_max;
            let victim = self.main.first(&mut self.queues).filter(|_| is_full);
            let stays =
                victim.is_none_or(|victim| self.sketch.count(line) > self.sketch.count(victim));
            self.sketch.add(line);
            if !stays || self.main_max == 0 {
                self.queues.take(line);
                self.left.push(line);
                return self.left.pop();
            }
            if let Some(victim) = victim {
                self.queues.take(victim);
                self.left.push(victim);
            }
            self.main.enter(&mut self.queues, line);
        }
        let line = self.main.first(&mut self.queues)?;
        self.queues.take(line);
        Some(line)
    }

    #[inline]
    fn enter(&mut self, line: Line) {
        self.queues.push(WINDOW, line);
        self.sketch.add(line);
    }

    #[inline]
    fn left(&mut self) -> Option<Line> {
        self.left.pop()
    }

    fn audit(&self) {
        self.queues.audit();
        let main = self.main.len(&self.queues);
        assert!(main <= self.main_max, "{main} lines in the main part");
    }
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "w_tinylfu",
    aliases: &["w-tinylfu", "wtinylfu"],
    summary: "keeps what a sketch says was asked for more often, behind a small window for what is new",
    source: "Einziger, Friedman and Manes, TinyLFU: a highly efficient cache admission policy, ACM Transactions on Storage 13 (4), 2017",
    knobs: KNOBS,
    measures: CACHE_MEASURES,
    asks: &[],
    prepared: false,
    build: |_, env| {
        let capacity = env.capacity as usize;
        let main_max = capacity - (capacity / 100).max(1);
        Ok(Box::new(WTinyLfu {
            queues: Queues::new(),
            main: Segments::new(main_max, [1, 4]),
            main_max,
            sketch: Sketch::new(main_max * 14378 / 1000, 10, false),
            counted: 0,
            left: Vec::new(),
        }))
    },
};
