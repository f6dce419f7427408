//! A sketch of how often lines were asked for: a few counters of each line among those of all
//! others, of which the least is taken.
//!
//! Counted *sparingly*, only the least of a line's counters go up, so that others disturb little
//! (conservative update; TinyLFU's paper calls it minimal increment). Now and then all counters are
//! halved: what was popular long ago is so no more.
//!
//! Source: Cormode and Muthukrishnan, An improved data stream summary: the count-min sketch,
//! Journal of Algorithms 55, 2005; Estan and Varghese, New directions in traffic measurement and
//! accounting, SIGCOMM 2002.

use prefetch_index::prefetch_index;

use crate::ids::Line;

/// How often lines were asked for, about.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    counters: Vec<u32>,
    /// Counters of each line.
    each: u32,
    sparingly: bool,
    /// No counter goes higher.
    most: u32,
}

/// As high as counters go where nobody says how high.
pub(super) const ANY: u32 = u32::MAX - 1;

impl Sketch {
    /// `counters` in all, of which each line has `each`; none goes higher than `most`.
    pub(super) fn new(counters: usize, each: u32, sparingly: bool, most: u32) -> Sketch {
        Sketch {
            counters: vec![0; counters.max(2 * each as usize)],
            each,
            sparingly,
            most,
        }
    }

    /// Where the counters of a line are.
    #[inline]
    pub(super) fn places(&self, line: Line) -> impl Iterator<Item = usize> + use<> {
        let hash = (u64::from(line.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let hash = hash ^ hash >> 32;
        let (base, step) = (hash as u32, (hash >> 32) as u32 | 1);
        let all = self.counters.len() as u64;
        // The product takes the place of a division: any part of 32 bits is as good as another.
        let place = move |number: u32| {
            let spread = base.wrapping_add(number.wrapping_mul(step));
            ((u64::from(spread) * all) >> 32) as usize
        };
        (0..self.each).map(place)
    }

    /// A line will be asked for in a moment: its counters are fetched from memory meanwhile.
    #[inline]
    pub(super) fn fetch(&self, line: Line) {
        for place in self.places(line) {
            prefetch_index(&self.counters, place);
        }
    }

    /// How often a line was asked for, at most.
    #[inline]
    pub(super) fn count(&self, line: Line) -> u32 {
        let counters = self.places(line).map(|place| self.counters[place]);
        counters.min().expect("there are some")
    }

    /// A line is asked for.
    #[inline]
    pub(super) fn add(&mut self, line: Line) {
        let least = match self.sparingly {
            true => self.count(line),
            false => 0,
        };
        for place in self.places(line) {
            let counter = &mut self.counters[place];
            if !self.sparingly || *counter == least {
                *counter = (*counter + 1).min(self.most);
            }
        }
    }

    /// Halves all counters.
    pub(super) fn age(&mut self) {
        self.counters.iter_mut().for_each(|counter| *counter /= 2);
    }
}
