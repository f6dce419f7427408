//! S3-FIFO: three queues in which nothing moves when it is asked for; what nobody asks for again is
//! gone soon.
//!
//! What is new enters a small queue. When its turn to leave comes it goes to the main queue if it
//! was asked for twice or more meanwhile; else it leaves and becomes a ghost. What is missed while
//! it is a ghost enters the main queue at once. From the main queue a line leaves when nobody asked
//! for it since its turn came last; up to three requests let it pass as often. Most lines are asked
//! for once, in most traces, so the small queue is a tenth of the cache. O(1) amortised.
//!
//! The paper moves a line to the main queue when it was asked for more than once in the small one,
//! and has as many ghosts as the main queue has lines; so it is here.

use super::in_memory::KNOBS;
use super::queues::Queues;
use crate::contract::Cache;
use crate::ids::Line;
use crate::pages::CACHE_MEASURES;
use crate::registry::Spec;

const SMALL: usize = 0;
const MAIN: usize = 1;
const GHOSTS: usize = 2;
/// No queue: a ghost that was missed, and is to enter.
const RETURNS: usize = 3;

/// So often a line of the small queue has to be asked for to get to the main one.
const POPULAR: u64 = 2;
/// More requests than this are not counted.
const COUNTED: u64 = 3;

struct S3Fifo {
    queues: Queues<3>,
    /// Two bits a line: how often it was asked for since it entered, or was let pass.
    asked: Vec<u64>,
    main: usize,
    ghosts: usize,
}

impl S3Fifo {
    #[inline]
    fn asked(&self, line: Line) -> u64 {
        self.asked[line.index() / 32] >> (line.index() % 32 * 2) & COUNTED
    }

    #[inline]
    fn set_asked(&mut self, line: Line, asked: u64) {
        let (word, shift) = (&mut self.asked[line.index() / 32], line.index() % 32 * 2);
        *word = *word & !(COUNTED << shift) | asked << shift;
    }

    /// The next line to leave the small queue leaves, unless it goes to the main one.
    fn leave_small(&mut self) -> Option<Line> {
        let line = self.queues.first(SMALL)?;
        if self.asked(line) >= POPULAR {
            self.set_asked(line, 0);
            self.queues.shift(SMALL, MAIN);
            return None;
        }
        self.queues.shift_of_most(SMALL, GHOSTS, self.ghosts)
    }

    /// The next line to leave the main queue leaves, unless it is let pass.
    fn leave_main(&mut self) -> Option<Line> {
        let line = self.queues.first(MAIN)?;
        let asked = self.asked(line);
        if asked > 0 {
            self.set_asked(line, asked - 1);
            self.queues.shift(MAIN, MAIN);
            return None;
        }
        self.queues.pop(MAIN)
    }
}

impl Cache for S3Fifo {
    fn reserve(&mut self, lines: u32) {
        self.queues.reserve(lines);
        self.asked
            .resize((lines as usize).div_ceil(32).max(self.asked.len()), 0);
    }

    #[inline]
    fn fetch(&self, line: Line) {
        self.queues.fetch(line);
    }

    #[inline]
    fn holds(&self, line: Line) -> bool {
        self.queues.of(line).is_some_and(|queue| queue <= MAIN)
    }

    #[inline]
    fn len(&self) -> usize {
        self.queues.len(SMALL) + self.queues.len(MAIN)
    }

    #[inline]
    fn hit(&mut self, line: Line) {
        let asked = self.asked(line);
        if asked < COUNTED {
            self.set_asked(line, asked + 1);
        }
    }

    #[inline]
    fn miss(&mut self, line: Line) {
        if self.queues.of(line) == Some(GHOSTS) {
            self.queues.set_aside(line, RETURNS);
        }
    }

    #[inline]
    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        while self.len() > 0 {
            let is_main = self.queues.len(MAIN) > self.main || self.queues.len(SMALL) == 0;
            let left = match is_main {
                true => self.leave_main(),
                false => self.leave_small(),
            };
            if left.is_some() {
                return left;
            }
        }
        None
    }

    #[inline]
    fn enter(&mut self, line: Line) {
        let queue = match self.queues.of(line) {
            None => SMALL,
            Some(_) => MAIN,
        };
        self.queues.renew(queue, line);
        self.set_asked(line, 0);
    }

    fn resize(&mut self, lines: u32) {
        let lines = lines as usize;
        self.main = lines - lines / 10;
        self.ghosts = lines * 9 / 10;
        while self.queues.len(GHOSTS) > self.ghosts {
            self.queues.pop(GHOSTS);
        }
    }

    fn audit(&self) {
        self.queues.audit();
        assert!(self.queues.len(GHOSTS) <= self.ghosts, "too many ghosts");
    }
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "s3_fifo",
    aliases: &["s3fifo"],
    summary: "a small queue that most lines only pass through, a main one, and ghosts",
    source: "Yang and others, FIFO queues are all you need for cache eviction, SOSP 2023",
    knobs: KNOBS,
    measures: CACHE_MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, env| {
        let capacity = env.capacity as usize;
        let small = capacity / 10;
        Ok(Box::new(S3Fifo {
            queues: Queues::new(),
            asked: Vec::new(),
            main: capacity - small,
            ghosts: capacity * 9 / 10,
        }))
    },
};
