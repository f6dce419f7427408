//! Which pages were touched, and which requests touch one again.
//!
//! A table has 64 pages of 4 KiB (256 KiB) an entry, one bit each. It is exact up to [`PIECES_MAX`] entries; then
//! every second piece is forgotten, chosen by a hash of its address, and from then on only such pieces are looked
//! at: the share that is looked at halves as often as needed (Wegman's adaptive sampling; Flajolet, On adaptive
//! sampling, Computing 43, 1990). Counts are multiplied accordingly, each by the sampling at its time; with at
//! least 0.9 million pieces in the sample the standard error of the footprint stays near 0.1 %. Requests that
//! begin in a piece that is looked at stand for all when re-use is counted.
//!
//! One table look-up per 256 KiB of a request; at most 54 MB while the table grows, 36 MB after.

use super::inspection::Footprint;
use super::{OUTSIZED_BYTES, PAGE_BITS};
use crate::hash::NumberMap;
use crate::trace::{Record, TraceOp};
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
    reads: Again,
    writes: Again,
    outsized: u64,
}

/// Requests for which those that were looked at stand, and those of them that touch a page touched before.
#[derive(Default)]
struct Again {
    looked_at: u64,
    again: u64,
}

impl Again {
    fn share(&self) -> Option<f64> {
        (self.looked_at > 0).then(|| self.again as f64 / self.looked_at as f64)
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
            reads: Again::default(),
            writes: Again::default(),
            outsized: 0,
        }
    }

    pub(super) fn record(&mut self, batch: &[Record]) {
        for record in batch.iter().filter(|record| record.op.is_media()) {
            if record.len > OUTSIZED_BYTES {
                self.outsized += 1;
                continue;
            }
            let again = self.touch(record);
            let kind = match record.op {
                TraceOp::Read => &mut self.reads,
                _ => &mut self.writes,
            };
            if let Some(again) = again {
                kind.looked_at += 1 << self.level;
                kind.again += u64::from(again) << self.level;
            }
            if self.pieces.len() > self.pieces_max {
                self.thin_out();
            }
        }
    }

    /// Whether a page was touched before; `None` if the request does not begin in a piece that is looked at.
    #[inline]
    fn touch(&mut self, record: &Record) -> Option<bool> {
        let first = record.offset >> PAGE_BITS;
        let last = (record.end() - 1) >> PAGE_BITS;
        let (first_piece, last_piece) = (first >> PIECE_BITS, last >> PIECE_BITS);
        let mut again = false;
        for piece in first_piece..=last_piece {
            let key = piece ^ u64::from(record.dev) << DEVICE_SHIFT;
            if !looked_at(key, self.level) {
                continue;
            }
            let low = if piece == first_piece { first & 63 } else { 0 };
            let high = if piece == last_piece { last & 63 } else { 63 };
            let pages = u64::MAX << low & u64::MAX >> (63 - high);
            let seen = self.pieces.entry(key).or_insert(0);
            again |= *seen & pages != 0;
            self.pages += u64::from((pages & !*seen).count_ones());
            *seen |= pages;
        }
        let first_key = first_piece ^ u64::from(record.dev) << DEVICE_SHIFT;
        looked_at(first_key, self.level).then_some(again)
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
            reads_again_share: self.reads.share(),
            writes_again_share: self.writes.share(),
            outsized_requests: self.outsized,
        }
    }
}

/// Whether a piece is in the sample. The table uses the low bits of the same hash, and the highest seven.
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
    fn pages_count_once_and_reads_of_them_count_as_again() {
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
        assert_eq!(found.reads_again_share, Some(2.0 / 5.0));
        assert_eq!(found.writes_again_share, Some(0.0));
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
        assert!((found.reads_again_share.unwrap() - 0.5).abs() < 0.03);
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
            let mut again = 0;
            for &(offset, len, dev) in &requests {
                let before = set.len();
                let pages = offset / 4096..=(offset + len - 1) / 4096;
                let count = pages.clone().count();
                set.extend(pages.map(|page| (dev, page)));
                again += u64::from(set.len() - before < count);
            }
            let list: Vec<_> = requests.iter().map(|&(o, l, d)| (TraceOp::Read, o, l, d)).collect();
            let found = touched(&list, 1 << 20);
            prop_assert_eq!(found.bytes, Some(set.len() as u64 * 4096));
            let share = again as f64 / requests.len() as f64;
            prop_assert!((found.reads_again_share.unwrap() - share).abs() < 1e-12);
        }
    }
}
