//! Which copy of which chunk, in one word: lists of copies take no more memory for the numbers of
//! large volumes.

use std::fmt;

use crate::maplog::copies::{COPIES_MAX, Chunk};

/// Bits for the number of a copy: there are [`COPIES_MAX`] at most. The 60 that are left number
/// more chunks than any table in NVRAM.
const COPY_BITS: u32 = COPIES_MAX.ilog2();

/// A copy of a chunk at a fixed place, in the order of chunks, then of copies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::place) struct CopyOf(u64);

impl CopyOf {
    #[inline]
    pub(in crate::place) fn new(chunk: Chunk, copy: u8) -> CopyOf {
        CopyOf(chunk.0 << COPY_BITS | u64::from(copy))
    }

    #[inline]
    pub(in crate::place) fn chunk(self) -> Chunk {
        Chunk(self.0 >> COPY_BITS)
    }

    #[inline]
    pub(in crate::place) fn copy(self) -> u8 {
        self.0 as u8 & (COPIES_MAX - 1)
    }
}

impl fmt::Debug for CopyOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "copy {} of chunk {}", self.copy(), self.chunk().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_in_the_order_of_their_chunks() {
        let chunks = [0, 1, u64::from(u32::MAX), 1 << 32, (1 << 47) - 1];
        let all = chunks.map(|chunk| [0, 1, 15].map(|copy| (chunk, copy)));
        let all = all.as_flattened().iter();
        let packed: Vec<CopyOf> = all
            .clone()
            .map(|(c, copy)| CopyOf::new(Chunk(*c), *copy))
            .collect();
        assert!(packed.is_sorted());
        let back = packed.iter().map(|of| (of.chunk().0, of.copy()));
        assert!(back.eq(all.copied()));
    }
}
