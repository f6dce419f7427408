//! The offline optimum: the line leaves that will not be asked for the longest. No policy misses
//! less.
//!
//! It has to be told the future, so it is a bound and no choice. Who asks tells with each request
//! when its line is asked for the next time. A heap has the lines by that; entries of lines that
//! were asked for since are dropped as they come up. O(log n).

use std::collections::BinaryHeap;

use crate::contract::Cache;
use crate::ids::Line;
use crate::registry::Spec;

/// Not in the cache.
const AWAY: u32 = 0;

struct Optimal {
    /// By line: when it is asked for the next time.
    next: Vec<u32>,
    /// The last to be asked for first.
    heap: BinaryHeap<(u32, Line)>,
    len: usize,
    /// Of the line that is asked for now.
    told: u32,
}

impl Cache for Optimal {
    fn reserve(&mut self, lines: u32) {
        let lines = (lines as usize).max(self.next.len());
        self.next.resize(lines, AWAY);
    }

    #[inline]
    fn holds(&self, line: Line) -> bool {
        self.next[line.index()] != AWAY
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn hit(&mut self, line: Line) {
        self.next[line.index()] = self.told;
        self.heap.push((self.told, line));
    }

    fn leave(&mut self, _incoming: Line) -> Option<Line> {
        while let Some((next, line)) = self.heap.pop() {
            if self.next[line.index()] == next {
                self.next[line.index()] = AWAY;
                self.len -= 1;
                return Some(line);
            }
        }
        None
    }

    #[inline]
    fn enter(&mut self, line: Line) {
        self.len += 1;
        self.hit(line);
    }

    #[inline]
    fn looks_ahead(&self) -> bool {
        true
    }

    #[inline]
    fn look_ahead(&mut self, next: u32) {
        self.told = next;
    }

    fn audit(&self) {
        let there = self.next.iter().filter(|next| **next != AWAY).count();
        assert_eq!(there, self.len, "lines in the cache");
    }
}

pub(super) static SPEC: Spec<dyn Cache> = Spec {
    name: "optimal",
    aliases: &["belady", "min", "opt"],
    summary: "the line leaves that will not be asked for the longest: a bound, as it knows the future",
    source: "Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 5 (2), 1966",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| {
        Ok(Box::new(Optimal {
            next: Vec::new(),
            heap: BinaryHeap::new(),
            len: 0,
            told: 0,
        }))
    },
};
