//! W-TinyLFU: a line that leaves a small window stays only if it was asked for more often than the
//! one that would go for it.
//!
//! How often lines were asked for, of all that ever came, a sketch of counters knows about. What is
//! new enters the window, an LRU of a hundredth of the cache, so that bursts of new lines are
//! served. The main part is a segmented LRU: four fifths for what was asked for again there. O(1)
//! amortised.
//!
//! There are two of it, which differ in what is counted and in who leaves:
//!
//! - `paper` does what the paper says. Each request counts, and of a line's four counters only the
//!   least go up. They go no higher than 8: when eight requests for each line of the cache were
//!   counted, all are halved. Where the cache is full, the oldest of the window and the next to
//!   leave of the main part are held against each other, and one of them leaves. Without the
//!   paper's doorkeeper, a filter that saves memory where counters have a few bits.
//! - `libcachesim` does what that simulator does, with which miss ratios are compared. Hits in the
//!   window do not count; all ten counters of a line go up, also when it is held against another
//!   one; they are halved after 32 requests for each line of the main part that hit that. A line
//!   that wins its place makes another one leave beside, until one loses: so the cache is seldom
//!   full. What the main part has too many leaves when a line comes down, as in `slru`.

use super::in_memory::{COMMON, SETTINGS};
use super::queues::Queues;
use super::segments::Segments;
use super::sketch::{ANY, Sketch};
use crate::contract::Cache;
use crate::ids::Line;
use crate::pages::CACHE_MEASURES;
use crate::registry::{Knob, Spec, joined};

/// The main part is the queues 0 and 1.
const MAIN: usize = 2;
const WINDOW: usize = 2;

/// Hits for each line of the main part, after which counters are halved, as libCacheSim does.
const SAMPLE: u64 = 32;
/// Requests for each line of the cache, after which counters are halved, by the paper; and as high
/// as they go.
const PAPER_SAMPLE: u32 = 8;
/// Counters of each line, by the paper.
const PAPER_EACH: u32 = 4;

/// As libCacheSim does it.
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
    fn fetch(&self, line: Line) {
        self.queues.fetch(line);
        self.sketch.fetch(line);
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
                return self.queues.pop(WINDOW);
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

/// As the paper says.
struct ByPaper {
    queues: Queues<3>,
    main: Segments<MAIN>,
    window_max: usize,
    main_max: usize,
    sketch: Sketch,
    /// Requests since counters were halved.
    counted: u64,
}

impl ByPaper {
    fn new(capacity: usize) -> ByPaper {
        let window_max = (capacity / 100).max(1);
        let main_max = capacity - window_max;
        ByPaper {
            queues: Queues::new(),
            // What was not asked for again there has whatever the rest leaves.
            main: Segments {
                lengths: [main_max, main_max * 4 / 5],
            },
            window_max,
            main_max,
            sketch: Sketch::new(
                capacity * PAPER_SAMPLE as usize,
                PAPER_EACH,
                true,
                PAPER_SAMPLE,
            ),
            counted: 0,
        }
    }

    /// A line is asked for.
    #[inline]
    fn count(&mut self, line: Line) {
        self.sketch.add(line);
        self.counted += 1;
        if self.counted >= u64::from(PAPER_SAMPLE) * (self.window_max + self.main_max) as u64 {
            self.counted = 0;
            self.sketch.age();
        }
    }
}

impl Cache for ByPaper {
    fn reserve(&mut self, lines: u32) {
        self.queues.reserve(lines);
    }

    #[inline]
    fn fetch(&self, line: Line) {
        self.queues.fetch(line);
        self.sketch.fetch(line);
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
        self.count(line);
        let queue = self.queues.of(line).expect("it is in the cache");
        if queue == WINDOW {
            return self.queues.renew(WINDOW, line);
        }
        // The lowest segment has room for all.
        let mut left = Vec::new();
        self.main.hit(&mut self.queues, line, queue, &mut left);
        debug_assert!(left.is_empty(), "none leaves with a hit");
    }

    #[inline]
    fn miss(&mut self, line: Line) {
        self.count(line);
    }

    #[inline]
    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        let candidate = self.queues.first(WINDOW);
        let victim = self.main.first(&mut self.queues);
        let stays = match (candidate, victim) {
            (Some(candidate), Some(victim)) => {
                self.sketch.count(candidate) > self.sketch.count(victim)
            }
            _ => candidate.is_none(),
        };
        let goes = if stays { victim } else { candidate }?;
        self.queues.take(goes);
        if let Some(candidate) = candidate.filter(|_| stays) {
            self.main.enter(&mut self.queues, candidate);
        }
        Some(goes)
    }

    #[inline]
    fn enter(&mut self, line: Line) {
        self.queues.push(WINDOW, line);
        if self.queues.len(WINDOW) > self.window_max {
            let oldest = self.queues.first(WINDOW).expect("it has too many");
            self.main.enter(&mut self.queues, oldest);
        }
    }

    fn audit(&self) {
        self.queues.audit();
        let (window, main) = (self.queues.len(WINDOW), self.main.len(&self.queues));
        assert!(window <= self.window_max, "{window} lines in the window");
        assert!(main <= self.main_max, "{main} lines in the main part");
    }
}

/// Whose way it goes.
const VARIANT: Knob = Knob::choice(
    "variant",
    "libcachesim",
    &["libcachesim", "paper"],
    "libcachesim: as that simulator does it, so that miss ratios can be compared with what others have published; paper: as its authors say",
);

static KNOBS: [Knob; SETTINGS + 1] = joined([VARIANT], COMMON);

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "w_tinylfu",
    aliases: &["w-tinylfu", "wtinylfu"],
    summary: "keeps what a sketch says was asked for more often, behind a small window for what is new",
    source: "Einziger, Friedman and Manes, TinyLFU: a highly efficient cache admission policy, ACM Transactions on Storage 13 (4), 2017",
    knobs: &KNOBS,
    measures: CACHE_MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build: |knobs, env| {
        let capacity = env.capacity as usize;
        if knobs.choice("variant") == "paper" {
            return Ok(Box::new(ByPaper::new(capacity)));
        }
        let main_max = capacity - (capacity / 100).max(1);
        Ok(Box::new(WTinyLfu {
            queues: Queues::new(),
            main: Segments::new(main_max, [1, 4]),
            main_max,
            sketch: Sketch::new(main_max * 14378 / 1000, 10, false, ANY),
            counted: 0,
            left: Vec::new(),
        }))
    },
};
