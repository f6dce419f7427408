//! Which tracks of a volume are known, and under which number: a table of tables, of which those are there that have a track.
//!
//! Numbers are given one after another and never taken back, since policies remember lines that have left. Four bytes for each track
//! near one that was ever touched. O(1), without a hash.

use crate::ids::Track;

/// Tracks of a table.
const TABLE: u64 = 1 << 10;
/// No number.
const NONE: u32 = u32::MAX;

/// The numbers of tracks.
#[derive(Default)]
pub(super) struct Directory {
    tables: Vec<Option<Box<[u32; TABLE as usize]>>>,
    known: u32,
}

impl Directory {
    /// The number of a track that is known.
    #[inline]
    pub(super) fn find(&self, track: Track) -> Option<u32> {
        let table = self.tables.get((track.0 / TABLE) as usize)?.as_ref()?;
        Some(table[(track.0 % TABLE) as usize]).filter(|slot| *slot != NONE)
    }

    /// The same, which gives it one if it has none: then that is how many are known.
    #[inline]
    pub(super) fn number(&mut self, track: Track) -> u32 {
        let index = (track.0 / TABLE) as usize;
        if index >= self.tables.len() {
            self.tables.resize(index + 1, None);
        }
        let table = self.tables[index].get_or_insert_with(|| Box::new([NONE; TABLE as usize]));
        let slot = &mut table[(track.0 % TABLE) as usize];
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
    fn a_track_keeps_its_number() {
        let mut directory = Directory::default();
        assert_eq!(directory.find(Track(5)), None);
        let tracks = [7, 1 << 20, 8, 0];
        let numbers = tracks.map(|track| directory.number(Track(track)));
        assert_eq!(numbers, [0, 1, 2, 3]);
        assert_eq!(tracks.map(|track| directory.number(Track(track))), numbers);
        assert_eq!(directory.find(Track(8)), Some(2));
        assert_eq!(directory.find(Track(9)), None);
        assert_eq!(directory.find(Track(1 << 30)), None);
    }
}
