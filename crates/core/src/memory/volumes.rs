//! Where the volumes of an address space begin and end, and how each of them is cut into pages.
//!
//! Clients may have several volumes in one address space, equal in size and one behind the other.
//! Blocks are numbered through. Pages are not: those of each volume begin with its first block, so
//! that no page, and nothing that is made of pages, has blocks of two. The last page of a volume is
//! as short as that volume leaves it, and is missing no block: what would lie behind it is nowhere,
//! and no page has its number.
//!
//! ```text
//! blocks  0        11        22        33     three volumes of 11 blocks
//! pages   0  1|    64 65|    128 129|         of 8 and of 3 blocks
//! ```
//!
//! The first page of each volume is a multiple of [`TRACK_PAGES`], so that lines and tracks begin
//! with it, however large they are. The number of a page depends on nothing but the volumes: it is
//! what a write buffer keeps in NVRAM. O(1).

use super::between;
use crate::pages::{PAGE, TRACK_PAGES};
use crate::units::{Blocks, Extent, Lba};

/// Blocks of a page, a bit for each.
pub(super) type Bits = u8;

/// Volumes of one size, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volumes {
    count: u64,
    /// Blocks of each.
    each: u64,
    /// Pages from the first one of a volume to that of the next.
    stride: u64,
}

impl Volumes {
    /// So many, of so many blocks each.
    pub const fn new(count: u64, each: Blocks) -> Volumes {
        assert!(count > 0 && each.0 > 0, "there is a volume");
        Volumes {
            count,
            each: each.0,
            stride: each.0.div_ceil(PAGE).next_multiple_of(TRACK_PAGES),
        }
    }

    /// Blocks of each.
    pub(super) const fn each(&self) -> Blocks {
        Blocks(self.each)
    }

    /// All blocks of each volume, in their order.
    pub(super) fn all(&self) -> impl Iterator<Item = Extent> + use<> {
        let each = self.each;
        (0..self.count).map(move |volume| between(volume * each, (volume + 1) * each))
    }

    /// Blocks of as many pages as there are numbers of pages, the last one as short as it is.
    pub const fn span(&self) -> Blocks {
        Blocks((self.count - 1) * self.stride * PAGE + self.each)
    }

    /// The page of a block.
    pub fn page(&self, block: Lba) -> u64 {
        self.touched(&between(block.0, block.0 + 1)).0
    }

    /// Pages of each, the last of which may be short.
    pub(super) const fn pages(&self) -> u64 {
        self.each.div_ceil(PAGE)
    }

    /// The volume of a block.
    #[inline]
    fn of_block(&self, block: u64) -> u64 {
        match self.count {
            1 => 0,
            // Nothing lies behind the last one, where an extent of no blocks may begin.
            count => (block / self.each).min(count - 1),
        }
    }

    /// The volume of a page.
    #[inline]
    pub(super) const fn of_page(&self, page: u64) -> u64 {
        match self.count {
            1 => 0,
            _ => page / self.stride,
        }
    }

    /// The first page of a volume.
    #[inline]
    pub(super) const fn first_page(&self, volume: u64) -> u64 {
        volume * self.stride
    }

    /// The pages that an extent of a volume touches: from the first to before the last.
    #[inline]
    pub(super) fn touched(&self, extent: &Extent) -> (u64, u64) {
        let (pages, start, end) = self.within(extent);
        (pages + start / PAGE, pages + end.div_ceil(PAGE))
    }

    /// The pages of which an extent of a volume has all blocks; none if the first is not before the
    /// second.
    #[inline]
    pub(super) fn covered(&self, extent: &Extent) -> (u64, u64) {
        let (pages, start, end) = self.within(extent);
        let last = match end == self.each {
            true => self.pages(),
            false => end / PAGE,
        };
        (pages + start.div_ceil(PAGE), pages + last)
    }

    /// The first page of an extent's volume, and where the extent begins and ends in there.
    #[inline]
    fn within(&self, extent: &Extent) -> (u64, u64, u64) {
        let volume = self.of_block(extent.start.0);
        let first = volume * self.each;
        let (start, end) = (extent.start.0 - first, extent.end().0 - first);
        assert!(end <= self.each, "{extent:?} has blocks of two volumes");
        (self.first_page(volume), start, end)
    }

    /// The blocks of pages of a volume from one to before another.
    #[inline]
    pub(super) fn blocks(&self, first: u64, end: u64) -> (u64, u64) {
        let volume = self.of_page(first);
        let (begin, pages) = (volume * self.each, self.first_page(volume));
        let to = ((end - pages) * PAGE).min(self.each);
        (begin + (first - pages) * PAGE, begin + to)
    }

    /// Pages that an extent of a volume touches, each with which of its blocks.
    pub(super) fn parts(&self, extent: &Extent) -> impl Iterator<Item = (u64, Bits)> + use<> {
        let (pages, start, end) = self.within(extent);
        (start / PAGE..end.div_ceil(PAGE)).map(move |page| {
            let from = start.saturating_sub(page * PAGE);
            let to = (end - page * PAGE).min(PAGE);
            let bits = (0xff_u16 >> (PAGE - (to - from))) << from;
            (pages + page, bits as Bits)
        })
    }

    /// All blocks of a page.
    pub(super) fn whole(&self, page: u64) -> Bits {
        let (from, to) = self.blocks(page, page + 1);
        (0xff_u16 >> (PAGE - (to - from))) as Bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const THREE: Volumes = Volumes::new(3, Blocks(11));

    #[test]
    fn pages_count_from_the_first_block_of_their_volume() {
        assert_eq!(THREE.touched(&between(0, 11)), (0, 2));
        assert_eq!(THREE.touched(&between(11, 12)), (64, 65));
        assert_eq!(THREE.touched(&between(21, 22)), (65, 66));
        assert_eq!(THREE.touched(&between(33, 33)), (129, 130));
        assert_eq!(THREE.blocks(64, 66), (11, 22));
        assert_eq!(THREE.blocks(129, 130), (30, 33));
        assert_eq!(THREE.covered(&between(12, 22)), (65, 66));
        assert_eq!(THREE.covered(&between(12, 21)), (65, 65));
        assert_eq!((THREE.whole(64), THREE.whole(65)), (0xff, 0b111));
        let parts: Vec<_> = THREE.parts(&between(13, 21)).collect();
        assert_eq!(parts, [(64, 0b1111_1100), (65, 0b11)]);
        assert_eq!(THREE.span(), Blocks(2 * 64 * 8 + 11));
    }

    #[test]
    #[should_panic(expected = "has blocks of two volumes")]
    fn what_lies_in_two_volumes_is_refused() {
        THREE.touched(&between(10, 12));
    }

    #[test]
    fn one_volume_has_the_pages_of_its_blocks() {
        let one = Volumes::new(1, Blocks(8 * 20 + 3));
        assert_eq!((one.pages(), one.span()), (21, Blocks(163)));
        assert_eq!(one.touched(&between(60, 72)), (7, 9));
        assert_eq!(one.covered(&between(60, 72)), (8, 9));
        assert_eq!(one.covered(&between(160, 163)), (20, 21));
        assert_eq!(one.blocks(20, 21), (160, 163));
    }

    /// Each block is in one page, which is of its volume alone; each volume has the pages that it
    /// would have by itself.
    #[test]
    fn a_volume_among_others_has_the_pages_that_it_has_alone() {
        let mut rng = Rng::stream(5, "volumes");
        for _ in 0..500 {
            let (count, each) = (1 + rng.below(4), 1 + rng.below(2_000));
            let (all, alone) = (
                Volumes::new(count, Blocks(each)),
                Volumes::new(1, Blocks(each)),
            );
            let volume = rng.below(count);
            let (first, page) = (volume * each, all.first_page(volume));
            assert!(page.is_multiple_of(TRACK_PAGES));
            let start = rng.below(each);
            let end = start + 1 + rng.below(each - start);
            let (there, here) = (between(start, end), between(first + start, first + end));
            let moved = |(from, to): (u64, u64), by: u64| (from + by, to + by);
            assert_eq!(all.touched(&here), moved(alone.touched(&there), page));
            assert_eq!(all.covered(&here), moved(alone.covered(&there), page));
            let (from, to) = alone.touched(&there);
            let blocks = moved(alone.blocks(from, to), first);
            assert_eq!(all.blocks(page + from, page + to), blocks);
            assert_eq!(all.of_page(page + to - 1), volume);
            let parts = alone.parts(&there).map(|(one, bits)| (page + one, bits));
            assert!(all.parts(&here).eq(parts));
            let is_whole = |one: u64| all.whole(page + one) == alone.whole(one);
            assert!((from..to).all(is_whole));
        }
        assert!(
            THREE
                .all()
                .eq([between(0, 11), between(11, 22), between(22, 33)])
        );
    }
}
