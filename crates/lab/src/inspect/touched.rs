//! Which pages were touched, and which share of the pages of requests were touched before.
//!
//! A table has 64 pages of 4 KiB (256 KiB) an entry, one bit each. It is exact up to [`PIECES_MAX`]
//! entries; then every second piece is forgotten, chosen by a hash of its address, and from then on
//! only such pieces are looked at: the share that is looked at halves as often as needed (Wegman's
//! adaptive sampling; Flajolet, On adaptive sampling, Computing 43, 1990). Counts are multiplied
//! accordingly, each by the sampling at its time; with at least 0.9 million pieces in the sample
//! the standard error of the footprint stays near 0.1 %. A page that a request touches was touched
//! before or is touched for the first time: all touches are counted, first ones as the sample
//! tells. This is the share that a cache of any size would have held, as in `reuse.rs`.
//!
//! One table look-up per 256 KiB of a request; at most 54 MB while the table grows, 36 MB after.

use nearslot_trace::{Record, TraceOp};

use super::inspection::Footprint;
use super::{OUTSIZED_BYTES, PAGE_BITS};
use crate::hash::NumberMap;
use nearslot_core::rng::mix;

/// Pages of a piece, as a power of two: the bits of a word.
const PIECE_BITS: u32 = 6;
/// Pieces held at most: what a table of 2^21 slots takes before it grows.
const PIECES_MAX: usize = 1_800_000;
/// Where devices begin in a piece's number: above all pieces of 2^63 bytes.
const DEVICE_SHIFT: u32 = 63 - PAGE_BITS - PIECE_BITS;

/// Pages touched so far.
pub(super) struct Touched {
    pieces: NumberMap<u64, u64>,
    pieces_max: usize,
    /// Pieces are looked at whose hash ends in so many zero bits.
    level: u32,
    /// Pages in the table.
    pages: u64,
    reads: Touches,
    writes: Touches,
    outsized: u64,
}

/// Pages that requests touch: one that several requests touch counts for each of them.
#[derive(Default)]
struct Touches {
    all: u64,
    /// Those of pages that nothing had touched before.
    first: u64,
}

impl Touches {
    /// Those of pages touched before. An estimate of first touches may be larger than all touches.
    fn again_share(&self) -> Option<f64> {
        (self.all > 0).then(|| (1.0 - self.first as f64 / self.all as f64).max(0.0))
    }
}

impl Touched {
    pub(super) fn new() -> Touched {
        Touched::holding(PIECES_MAX)
    }

    fn holding(pieces_max: usize) -> Touched {
        Touched {
            pieces: NumberMap::default(),
            pieces_max,
            level: 0,
            pages: 0,
            reads: Touches::default(),
            writes: Touches::default(),
            outsized: 0,
        }
    }

    pub(super) fn record(&mut self, batch: &[Record]) {
        for record in batch.iter().filter(|record| record.op.is_media()) {
            if record.len > OUTSIZED_BYTES {
                self.outsized += 1;
                continue;
            }
            let (all, first) = self.touch(record);
            let kind = match record.op {
                TraceOp::Read => &mut self.reads,
                _ => &mut self.writes,
            };
            kind.all += all;
            kind.first += first << self.level;
            if self.pieces.len() > self.pieces_max {
                self.thin_out();
            }
        }
    }

    /// How many pages a request touches, and how many of those that are looked at for the first
    /// time.
    #[inline]
    fn touch(&mut self, record: &Record) -> (u64, u64) {
        let first = record.offset >> PAGE_BITS;
        let last = (record.end() - 1) >> PAGE_BITS;
        let (first_piece, last_piece) = (first >> PIECE_BITS, last >> PIECE_BITS);
        let before = self.pages;
        for piece in first_piece..=last_piece {
            let key = piece ^ u64::from(record.dev) << DEVICE_SHIFT;
            if !looked_at(key, self.level) {
                continue;
            }
            let low = if piece == first_piece { first & 63 } else { 0 };
            let high = if piece == last_piece { last & 63 } else { 63 };
            let pages = u64::MAX << low & u64::MAX >> (63 - high);
            let seen = self.pieces.entry(key).or_insert(0);
            self.pages += u64::from((pages & !*seen).count_ones());
            *seen |= pages;
        }
        (last - first + 1, self.pages - before)
    }

    #[cold]
    fn thin_out(&mut self) {
        self.level += 1;
        let (level, mut pages) = (self.level, 0);
        self.pieces.retain(|key, seen| {
            let stays = looked_at(*key, level);
            pages += if stays {
                u64::from(seen.count_ones())
            } else {
                0
            };
            stays
        });
        self.pages = pages;
    }

    pub(super) fn footprint(&self) -> Footprint {
        Footprint {
            bytes: Some((self.pages << self.level) << PAGE_BITS),
            sampled_one_in: 1 << self.level,
            read_pages_again_share: self.reads.again_share(),
            written_pages_again_share: self.writes.again_share(),
            outsized_requests: self.outsized,
        }
    }
}

/// Whether a piece is in the sample. The table uses the low bits of the same hash, and the highest
/// seven.
#[inline]
fn looked_at(key: u64, level: u32) -> bool {
    level == 0 || (mix(key) >> 32).trailing_zeros() >= level
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn touched(requests: &[(TraceOp, u64, u64, u32)], pieces_max: usize) -> Footprint {
        let record = |&(op, offset, len, dev): &_| Record::new(0, op, offset, len, dev);
        let records: Vec<Record> = requests.iter().map(record).collect();
        let mut touched = Touched::holding(pieces_max);
        touched.record(&records);
        touched.footprint()
    }

    #[test]
    fn the_share_touched_again_is_one_of_pages() {
        let found = touched(
            &[
                (TraceOp::Write, 0, 4096, 0),
                (TraceOp::Read, 4095, 2, 0),
                (TraceOp::Read, 8192, 512, 0),
                (TraceOp::Read, 0, 4096, 1),
                (TraceOp::Read, 255 << 10, 2 << 10, 0),
                (TraceOp::Read, 100, 1 << 20, 0),
            ],
            100,
        );
        // Device 0: pages 0..=256; device 1: one.
        assert_eq!(found.bytes, Some(258 * 4096));
        // Reads touch 2 + 1 + 1 + 2 + 257 pages: page 0 again, and in the end pages 0 to 2, 63 and
        // 64.
        let share = found.read_pages_again_share.unwrap();
        assert!((share - 6.0 / 263.0).abs() < 1e-12, "{share}");
        assert_eq!(found.written_pages_again_share, Some(0.0));
        assert_eq!(found.sampled_one_in, 1);
    }

    #[test]
    fn sampling_starts_when_the_table_is_full() {
        let requests: Vec<_> = (0..200_000_u64)
            .map(|i| (TraceOp::Read, mix(i % 100_000) >> 20 << 12, 4096, 0))
            .collect();
        let found = touched(&requests, 20_000);
        assert_eq!(found.sampled_one_in, 8);
        let share = found.bytes.unwrap() as f64 / (100_000.0 * 4096.0);
        assert!((share - 1.0).abs() < 0.03, "{share}");
        assert!((found.read_pages_again_share.unwrap() - 0.5).abs() < 0.03);
    }

    #[test]
    fn outsized_requests_are_counted_and_left_out() {
        let found = touched(&[(TraceOp::Read, 0, 1 << 62, 0)], 10);
        assert_eq!((found.bytes, found.outsized_requests), (Some(0), 1));
    }

    proptest! {
        #[test]
        fn the_table_equals_a_plain_set(
            requests in prop::collection::vec((0_u64..3_000_000, 1_u64..700_000, 0_u32..3), 1..60),
        ) {
            let mut set = std::collections::BTreeSet::new();
            let mut touches = 0;
            for &(offset, len, dev) in &requests {
                let pages = offset / 4096..=(offset + len - 1) / 4096;
                touches += pages.clone().count();
                set.extend(pages.map(|page| (dev, page)));
            }
            let list: Vec<_> = requests.iter().map(|&(o, l, d)| (TraceOp::Read, o, l, d)).collect();
            let found = touched(&list, 1 << 20);
            prop_assert_eq!(found.bytes, Some(set.len() as u64 * 4096));
            let share = 1.0 - set.len() as f64 / touches as f64;
            prop_assert!((found.read_pages_again_share.unwrap() - share).abs() < 1e-12);
        }
    }
}
