//! Which places of a volume are known, such as tracks or units, and under which number: a table of
//! tables, of which those are there that have a place that is known.
//!
//! Numbers are given one after another and never taken back, since policies remember lines that
//! have left. Four bytes for each place near one that was ever touched. O(1), without a hash.

/// Places of a table.
const TABLE: u64 = 1 << 10;
/// No number.
const NONE: u32 = u32::MAX;

/// The numbers of places.
#[derive(Debug, Default)]
pub struct Directory {
    tables: Vec<Option<Box<[u32; TABLE as usize]>>>,
    known: u32,
}

impl Directory {
    /// The number of a place that is known.
    #[inline]
    pub fn find(&self, place: u64) -> Option<u32> {
        let table = self.tables.get((place / TABLE) as usize)?.as_ref()?;
        Some(table[(place % TABLE) as usize]).filter(|slot| *slot != NONE)
    }

    /// The same, which gives it one if it has none: then that is how many are known.
    #[inline]
    pub fn number(&mut self, place: u64) -> u32 {
        let index = (place / TABLE) as usize;
        if index >= self.tables.len() {
            self.tables.resize(index + 1, None);
        }
        let table = self.tables[index].get_or_insert_with(|| Box::new([NONE; TABLE as usize]));
        let slot = &mut table[(place % TABLE) as usize];
        if *slot == NONE {
            *slot = self.known;
            self.known += 1;
        }
        *slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_keeps_its_number() {
        let mut directory = Directory::default();
        assert_eq!(directory.find(5), None);
        let places = [7, 1 << 20, 8, 0];
        let numbers = places.map(|place| directory.number(place));
        assert_eq!(numbers, [0, 1, 2, 3]);
        assert_eq!(places.map(|place| directory.number(place)), numbers);
        assert_eq!(directory.find(8), Some(2));
        assert_eq!(directory.find(9), None);
        assert_eq!(directory.find(1 << 30), None);
    }
}
