//! From addresses to line numbers: what is asked for the first time gets the next number.
//!
//! Caches work on arrays by line number, which is what makes them fast, and one table of addresses serves all of them. It has an entry for
//! each group of neighbouring lines, so pages that lie side by side share one. All addresses of a batch are looked up twice: the first pass only touches the
//! table, and as no step of it waits for another, the processor fetches many entries at a time.

use nearslot_core::ids::Line;

/// Lines of a group have numbers side by side, kept apart from the entry of the group.
const UNNUMBERED: u32 = u32::MAX;
/// Entries of an empty table.
const ENTRIES_MIN: usize = 1 << 12;

/// A line by its device and its address there, counted in lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) device: u32,
    pub(super) address: u64,
}

/// An entry: the group's address and device, and its number.
#[derive(Clone, Copy)]
struct Entry {
    group: u64,
    device: u32,
    number: u32,
}

const EMPTY: Entry = Entry {
    group: u64::MAX,
    device: u32::MAX,
    number: u32::MAX,
};

/// Line numbers of all addresses so far.
pub(super) struct Interner {
    entries: Vec<Entry>,
    groups: u32,
    /// Lines of a group, as a power of two.
    bits: u32,
    /// By number of group and place in it.
    numbers: Vec<u32>,
    lines: u32,
    /// Where the keys of a batch are looked for first.
    places: Vec<usize>,
    /// What was touched, so that it is.
    touched: u64,
}

impl Interner {
    /// Groups of so many lines, as a power of two.
    pub(super) fn new(bits: u32) -> Interner {
        Interner {
            entries: vec![EMPTY; ENTRIES_MIN],
            groups: 0,
            bits,
            numbers: Vec::new(),
            lines: 0,
            places: Vec::new(),
            touched: 0,
        }
    }

    /// How many lines there are.
    pub(super) fn lines(&self) -> u32 {
        self.lines
    }

    /// The lines of these keys, behind what `out` has. None if there are more than can be numbered.
    pub(super) fn intern(&mut self, keys: &[Key], out: &mut Vec<Line>) -> Option<()> {
        while 2 * (self.groups as usize + keys.len()) > self.entries.len() {
            self.grow();
        }
        let mask = self.entries.len() - 1;
        self.places.clear();
        for key in keys {
            let place = hash(key.address >> self.bits, key.device) & mask;
            self.places.push(place);
        }
        let mut touched = 0;
        for place in &self.places {
            touched ^= self.entries[*place].group;
        }
        self.touched ^= touched;
        for (index, key) in keys.iter().enumerate() {
            let line = self.line(self.places[index], *key)?;
            out.push(line);
        }
        Some(())
    }

    #[inline]
    fn line(&mut self, mut place: usize, key: Key) -> Option<Line> {
        let (group, mask) = (key.address >> self.bits, self.entries.len() - 1);
        let number = loop {
            let entry = &mut self.entries[place];
            if entry.group == group && entry.device == key.device {
                break entry.number;
            }
            if entry.number == u32::MAX {
                *entry = Entry {
                    group,
                    device: key.device,
                    number: self.groups,
                };
                self.groups += 1;
                if self.bits > 0 {
                    let lines = self.numbers.len() + (1 << self.bits);
                    self.numbers.resize(lines, UNNUMBERED);
                }
                break self.groups - 1;
            }
            place = (place + 1) & mask;
        };
        if self.bits == 0 {
            self.lines = self.groups;
            return (number < LINES_MAX).then_some(Line(number));
        }
        let within = key.address & ((1 << self.bits) - 1);
        let line = &mut self.numbers[((number as usize) << self.bits) + within as usize];
        if *line == UNNUMBERED {
            *line = self.lines;
            self.lines += 1;
        }
        (*line < LINES_MAX).then_some(Line(*line))
    }

    #[cold]
    fn grow(&mut self) {
        let twice = vec![EMPTY; 2 * self.entries.len()];
        let old = std::mem::replace(&mut self.entries, twice);
        let mask = self.entries.len() - 1;
        for entry in old.into_iter().filter(|entry| entry.number != u32::MAX) {
            let mut place = hash(entry.group, entry.device) & mask;
            while self.entries[place].number != u32::MAX {
                place = (place + 1) & mask;
            }
            self.entries[place] = entry;
        }
    }
}

/// More lines are not numbered: a cache keeps some bits of a word to itself.
pub(super) const LINES_MAX: u32 = 1 << 30;

#[inline]
fn hash(group: u64, device: u32) -> usize {
    let mixed = (group ^ u64::from(device) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use nearslot_core::rng::Rng;

    #[test]
    fn numbers_are_given_in_the_order_of_first_appearance() {
        for bits in [0, 3] {
            let mut rng = Rng::stream(1, "intern");
            let (mut interner, mut twin) = (Interner::new(bits), HashMap::new());
            for _ in 0..200 {
                let key = |_| Key {
                    device: rng.below(3) as u32,
                    address: match rng.below(4) {
                        0 => u64::MAX - rng.below(20),
                        _ => rng.below(30_000),
                    },
                };
                let keys: Vec<Key> = (0..100).map(key).collect();
                let mut lines = Vec::new();
                interner.intern(&keys, &mut lines).expect("they are few");
                for (key, line) in keys.iter().zip(lines) {
                    let next = twin.len() as u32;
                    let own = *twin.entry((key.device, key.address)).or_insert(next);
                    assert_eq!(line, Line(own));
                }
            }
            assert_eq!(interner.lines() as usize, twin.len());
        }
    }
}
