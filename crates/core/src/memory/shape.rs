//! How volumes are cut: into pages, which are there or not; lines, which policies keep; tracks,
//! which prefetchers go by; and units, which a write buffer writes together.
//!
//! Each of them begins anew with its volume ([`Volumes`]), and the last of a volume is as short as
//! that leaves it. A prefetcher sees one volume: its tracks there count from 0.

use super::volumes::Volumes;
use super::{between, common};
use crate::ids::{Line, Track, Unit};
use crate::pages::TRACK_PAGES;
use crate::units::Extent;

/// Sizes that divide each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Pages of a line.
    pub line: u64,
    /// Pages of a track: they divide [`TRACK_PAGES`].
    pub track: u64,
    /// What is cut.
    pub volumes: Volumes,
}

/// Pages of a track, a bit for each.
pub(super) type Mask = u64;

/// Units of a write buffer, numbered through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    volumes: Volumes,
    /// Pages of a unit.
    pages: u64,
    /// Units of a volume.
    each: u64,
}

/// Pages from one to before another, by their bits.
#[inline]
pub(super) const fn bits(first: u64, end: u64) -> Mask {
    let above = if end == 64 { 0 } else { u64::MAX << end };
    (u64::MAX << first) & !above
}

impl Shape {
    /// The first track of the volume that has this page.
    #[inline]
    pub(super) const fn first_track(&self, page: u64) -> u64 {
        let volume = self.volumes.of_page(page);
        self.volumes.first_page(volume) / self.track
    }

    /// The last track of a volume, as it counts there.
    #[inline]
    pub(super) const fn last(&self) -> Track {
        Track((self.volumes.pages() - 1) / self.track)
    }

    /// Pages of a track that lie behind the end of its volume.
    pub(super) fn beyond(&self, track: u64) -> Mask {
        let first = track * self.track;
        let volume = self.volumes.of_page(first);
        let left = self.volumes.first_page(volume) + self.volumes.pages() - first;
        match left < TRACK_PAGES {
            true => u64::MAX << left,
            false => 0,
        }
    }

    /// Lines of a track.
    pub(super) const fn lines(&self) -> u64 {
        self.track / self.line
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

impl Units {
    /// Of so many pages.
    pub(super) const fn new(volumes: Volumes, pages: u64) -> Units {
        let each = volumes.pages().div_ceil(pages);
        Units {
            volumes,
            pages,
            each,
        }
    }

    /// The unit of a page, and its place in there.
    pub(super) fn place(&self, page: u64) -> (Unit, usize) {
        let volume = self.volumes.of_page(page);
        let own = page - self.volumes.first_page(volume);
        let unit = Unit(volume * self.each + own / self.pages);
        (unit, (own % self.pages) as usize)
    }

    /// The first page of a unit.
    pub(super) const fn first(&self, unit: Unit) -> u64 {
        let (volume, own) = (unit.0 / self.each, unit.0 % self.each);
        self.volumes.first_page(volume) + own * self.pages
    }

    /// The blocks of a unit.
    pub(super) fn blocks(&self, unit: Unit) -> Extent {
        let first = self.first(unit);
        let (from, to) = self.volumes.blocks(first, first + self.pages);
        between(from, to)
    }

    /// Pages of a unit, the last of which may be short.
    pub(super) fn pages(&self, unit: Unit) -> usize {
        let (first, end) = self.volumes.touched(&self.blocks(unit));
        (end - first) as usize
    }

    /// Units that an extent of a volume touches, each with what it has of it.
    pub(super) fn touched(&self, extent: &Extent) -> impl Iterator<Item = (Unit, Extent)> + use<> {
        let (units, extent) = (*self, *extent);
        let (first, end) = units.volumes.touched(&extent);
        let (from, to) = (units.place(first).0, units.place(end - 1).0);
        (from.0..=to.0).map(move |unit| {
            let own = units.blocks(Unit(unit));
            (Unit(unit), common(&extent, own.start.0, own.end().0))
        })
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
    use crate::units::Blocks;

    const SHAPE: Shape = Shape {
        line: 2,
        track: 8,
        volumes: Volumes::new(2, Blocks(8 * 20 + 3)),
    };

    #[test]
    fn pages_are_cut_into_tracks_and_lines() {
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
    fn tracks_begin_and_end_with_their_volume() {
        assert_eq!(SHAPE.last(), Track(2));
        assert_eq!([20, 64, 84].map(|page| SHAPE.first_track(page)), [0, 8, 8]);
        // 21 pages are two tracks and five pages.
        let beyond = [0, 1, 2, 8, 9, 10].map(|track| SHAPE.beyond(track) & 0xff);
        assert_eq!(beyond, [0, 0, 0b1110_0000, 0, 0, 0b1110_0000]);
    }

    #[test]
    fn units_begin_and_end_with_their_volume() {
        // 21 pages are three units of six and one of three.
        let units = Units::new(SHAPE.volumes, 6);
        let places = [0, 6, 20, 64, 70, 84].map(|page| units.place(page));
        let expected = [(0, 0), (1, 0), (3, 2), (4, 0), (5, 0), (7, 2)];
        assert_eq!(places, expected.map(|(unit, index)| (Unit(unit), index)));
        assert_eq!([3, 4, 7].map(|unit| units.first(Unit(unit))), [18, 64, 82]);
        assert_eq!([3, 4, 7].map(|unit| units.pages(Unit(unit))), [3, 6, 3]);
        assert_eq!(units.blocks(Unit(3)), between(144, 163));
        assert_eq!(units.blocks(Unit(4)), between(163, 163 + 48));
        let touched: Vec<_> = units.touched(&between(163 + 40, 163 + 50)).collect();
        let expected = [(Unit(4), between(203, 211)), (Unit(5), between(211, 213))];
        assert_eq!(touched, expected);
    }
}
