//! An array of numbers, all 0 at first, of which only those pieces take memory where one was ever set.
//!
//! A map of 512 GB has 130 million entries. A drive that has just been preconditioned can work out all of them, so none has to be stored,
//! and a run stores as much as it writes. O(1).

/// Numbers of a piece.
const PIECE: usize = 1 << 10;

/// The array.
#[derive(Debug)]
pub(super) struct Lazy {
    pieces: Vec<Option<Box<[u32; PIECE]>>>,
}

impl Lazy {
    /// So many numbers.
    pub(super) fn new(len: u32) -> Lazy {
        let pieces = (len as usize).div_ceil(PIECE);
        Lazy {
            pieces: (0..pieces).map(|_| None).collect(),
        }
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> u32 {
        let piece = &self.pieces[index as usize / PIECE];
        piece
            .as_ref()
            .map_or(0, |piece| piece[index as usize % PIECE])
    }

    #[inline]
    pub(super) fn set(&mut self, index: u32, value: u32) {
        let piece = &mut self.pieces[index as usize / PIECE];
        let piece = piece.get_or_insert_with(|| Box::new([0; PIECE]));
        piece[index as usize % PIECE] = value;
    }
}
