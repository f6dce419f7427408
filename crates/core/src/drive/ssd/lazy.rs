//! An array of numbers, all 0 at first, of which only those pieces take memory where one was ever
//! set.
//!
//! A map of 512 GB has 130 million entries. A drive that has just been preconditioned can work out
//! all of them, so none has to be stored, and a run stores as much as it writes. Hosts write
//! anywhere, and collection moves single units, so pieces are small: one number that is set takes
//! 256 bytes. Pieces are found by groups of them, of which also only those are there that have one:
//! so a drive to which nothing was written takes next to nothing, and an array of hundreds is made
//! at once. O(1).

/// Numbers of a piece.
const PIECE: usize = 1 << 6;
/// Pieces of a group.
const GROUP: usize = 1 << 10;

type Piece = [u32; PIECE];
type Group = [Option<Box<Piece>>; GROUP];

/// The array.
#[derive(Debug)]
pub(super) struct Lazy {
    groups: Vec<Option<Box<Group>>>,
}

impl Lazy {
    /// `len` numbers, all 0.
    pub(super) fn new(len: u32) -> Lazy {
        let groups = (len as usize).div_ceil(PIECE * GROUP);
        Lazy {
            groups: (0..groups).map(|_| None).collect(),
        }
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> u32 {
        let index = index as usize;
        let group = self.groups[index / PIECE / GROUP].as_ref();
        let piece = group.and_then(|group| group[index / PIECE % GROUP].as_ref());
        piece.map_or(0, |piece| piece[index % PIECE])
    }

    #[inline]
    pub(super) fn set(&mut self, index: u32, value: u32) {
        let index = index as usize;
        let group = &mut self.groups[index / PIECE / GROUP];
        let group = group.get_or_insert_with(|| Box::new([const { None }; GROUP]));
        let piece = &mut group[index / PIECE % GROUP];
        let piece = piece.get_or_insert_with(|| Box::new([0; PIECE]));
        piece[index % PIECE] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is set is found, all else is 0, and memory is taken where something was set.
    #[test]
    fn only_what_is_set_takes_memory() {
        let mut lazy = Lazy::new(200_000);
        let set = [0, 63, 64, 65_535, 65_536, 199_999];
        for index in set {
            lazy.set(index, index + 1);
        }
        for index in 0..200_000 {
            let expected = if set.contains(&index) { index + 1 } else { 0 };
            assert_eq!(lazy.get(index), expected, "{index}");
        }
        let groups = lazy.groups.iter().flatten();
        let pieces = groups.clone().flat_map(|group| group.iter().flatten());
        assert_eq!((groups.count(), pieces.count()), (3, 5));
    }
}
