//! How a volume is cut: into pages, which are there or not; lines, which policies keep; and tracks,
//! which prefetchers go by.

use crate::ids::{Line, Track};
use crate::pages::PAGE;
use crate::units::{Blocks, Extent};

/// Sizes that divide each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Pages of a line.
    pub line: u64,
    /// Pages of a track: at most [`crate::pages::TRACK_PAGES`].
    pub track: u64,
    /// Blocks of the volume.
    pub capacity: Blocks,
}

/// Pages of a track, a bit for each.
pub(super) type Mask = u64;

/// The pages that an extent touches: from the first to before the last.
#[inline]
pub(super) const fn touched(extent: &Extent) -> (u64, u64) {
    let end = extent.start.0 + extent.len.0;
    (extent.start.0 / PAGE, end.div_ceil(PAGE))
}

/// Pages from one to before another, by their bits.
#[inline]
pub(super) const fn bits(first: u64, end: u64) -> Mask {
    let above = if end == 64 { 0 } else { u64::MAX << end };
    (u64::MAX << first) & !above
}

impl Shape {
    /// Pages of the volume; the last one may be short.
    #[inline]
    pub(super) const fn pages(&self) -> u64 {
        self.capacity.0.div_ceil(PAGE)
    }

    /// The last track.
    pub(super) const fn last(&self) -> Track {
        Track((self.pages() - 1) / self.track)
    }

    /// Lines of a track.
    pub(super) const fn lines(&self) -> u64 {
        self.track / self.line
    }

    /// The pages of which it has all blocks; none if the first is not before the second.
    #[inline]
    pub(super) fn covered(&self, extent: &Extent) -> (u64, u64) {
        let end = extent.start.0 + extent.len.0;
        let last = if end == self.capacity.0 {
            self.pages()
        } else {
            end / PAGE
        };
        (extent.start.0.div_ceil(PAGE), last)
    }

    /// The blocks of pages from one to before another.
    #[inline]
    pub(super) fn blocks(&self, first: u64, end: u64) -> (u64, u64) {
        (first * PAGE, (end * PAGE).min(self.capacity.0))
    }

    /// Tracks that have some of these pages, each with which they are.
    #[inline]
    pub(super) fn tracks(&self, first: u64, end: u64) -> impl Iterator<Item = (u64, Mask)> + use<> {
        let pages = self.track;
        let tracks = if first < end {
            first / pages..end.div_ceil(pages)
        } else {
            0..0
        };
        let shape = *self;
        tracks.map(move |track| (track, shape.part(track, first, end)))
    }

    /// Which pages of a track are among those from one to before another.
    #[inline]
    pub(super) fn part(&self, track: u64, first: u64, end: u64) -> Mask {
        let begin = track * self.track;
        let from = first.saturating_sub(begin).min(self.track);
        let to = end.saturating_sub(begin).min(self.track);
        if from < to { bits(from, to) } else { 0 }
    }

    /// The lines of the track in this slot that have some of these pages, each with all pages that
    /// it has.
    #[inline]
    pub(super) fn lines_of(
        &self,
        slot: u32,
        mask: Mask,
    ) -> impl Iterator<Item = (Line, Mask)> + use<> {
        let (line, lines) = (self.line, self.lines());
        let mut rest = mask;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let index = u64::from(rest.trailing_zeros()) / line;
                let own = bits(index * line, (index + 1) * line);
                rest &= !own;
                (Line((u64::from(slot) * lines + index) as u32), own)
            })
        })
    }

    /// The slot of a line's track, and the pages that the line has there.
    #[inline]
    pub(super) fn place(&self, line: Line) -> (u32, Mask) {
        let (number, lines) = (u64::from(line.0), self.lines());
        let index = number % lines;
        let mask = bits(index * self.line, (index + 1) * self.line);
        ((number / lines) as u32, mask)
    }
}

/// Runs of bits: the first of each, and that behind its last.
#[inline]
pub(super) fn runs(mask: Mask) -> impl Iterator<Item = (u64, u64)> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let first = rest.trailing_zeros();
            let len = (rest >> first).trailing_ones();
            let end = u64::from(first + len);
            rest &= !bits(first.into(), end);
            (u64::from(first), end)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Lba;

    const SHAPE: Shape = Shape {
        line: 2,
        track: 8,
        capacity: Blocks(8 * 20 + 3),
    };

    #[test]
    fn pages_are_cut_into_tracks_and_lines() {
        let extent = Extent {
            start: Lba(60),
            len: Blocks(12),
        };
        assert_eq!(touched(&extent), (7, 9));
        assert_eq!(SHAPE.covered(&extent), (8, 9));
        let tracks: Vec<_> = SHAPE.tracks(7, 9).collect();
        assert_eq!(tracks, [(0, 0x80), (1, 0x01)]);
        assert_eq!(SHAPE.tracks(9, 9).count(), 0);
        let lines: Vec<_> = SHAPE.lines_of(3, 0x86).collect();
        assert_eq!(
            lines,
            [(Line(12), 0x03), (Line(13), 0x0c), (Line(15), 0xc0)]
        );
        assert_eq!(SHAPE.place(Line(13)), (3, 0x0c));
        assert_eq!(runs(0b0111_0010).collect::<Vec<_>>(), [(1, 2), (4, 7)]);
        assert_eq!(runs(u64::MAX).collect::<Vec<_>>(), [(0, 64)]);
    }

    #[test]
    fn the_last_page_may_be_short() {
        assert_eq!((SHAPE.pages(), SHAPE.last()), (21, Track(2)));
        let end = Extent {
            start: Lba(160),
            len: Blocks(3),
        };
        assert_eq!(SHAPE.covered(&end), (20, 21));
        assert_eq!(SHAPE.blocks(20, 21), (160, 163));
    }
}
