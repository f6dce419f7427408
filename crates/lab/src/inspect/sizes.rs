//! How long requests are, and how they are aligned.
//!
//! Sizes are counted one by one: multiples of 512 bytes up to 1 MiB in an array, others in a tree.
//! Should a trace have more than [`ODD_MAX`] of those, further ones are rounded up to three
//! significant bits. Cost: O(1) per request, for odd sizes O(log n).

use std::collections::BTreeMap;

use nearslot_trace::{Record, TraceOp};

use super::inspection::{Alignment, SizeCount, SizeOctaves, SizeSpread, Sizes};

const STEP_BYTES: u64 = 512;
/// Steps that have a counter of their own: up to 1 MiB.
const STEPS: usize = 2049;
/// Other sizes that are told apart.
const ODD_MAX: usize = 1 << 16;

/// Counts of sizes so far.
pub(super) struct SizeCounter {
    reads: Counts,
    writes: Counts,
    offset_bits: u64,
    length_bits: u64,
    /// Requests by the number of low zero bits that offset and length share.
    aligned: [u64; 65],
}

struct Counts {
    steps: Box<[u64; STEPS]>,
    odd: BTreeMap<u64, u64>,
    sum_bytes: u128,
}

impl SizeCounter {
    pub(super) fn new() -> SizeCounter {
        SizeCounter {
            reads: Counts::new(),
            writes: Counts::new(),
            offset_bits: 0,
            length_bits: 0,
            aligned: [0; 65],
        }
    }

    pub(super) fn record(&mut self, batch: &[Record]) {
        for record in batch.iter().filter(|record| record.op.is_media()) {
            match record.op {
                TraceOp::Read => self.reads.count(record.len),
                _ => self.writes.count(record.len),
            }
            self.offset_bits |= record.offset;
            self.length_bits |= record.len;
            self.aligned[(record.offset | record.len).trailing_zeros() as usize] += 1;
        }
    }

    pub(super) fn sizes(&self) -> Sizes {
        let (reads, writes) = (self.reads.sorted(), self.writes.sorted());
        let mut all = reads.clone();
        for (&bytes, &count) in &writes {
            *all.entry(bytes).or_default() += count;
        }
        let requests: u64 = all.values().sum();
        let mut common: Vec<SizeCount> = all
            .iter()
            .map(|(&bytes, &count)| SizeCount {
                bytes,
                requests: count,
                share: count as f64 / requests as f64,
            })
            .collect();
        common.sort_by_key(|size| (std::cmp::Reverse(size.requests), size.bytes));
        common.truncate(Sizes::COMMON_MAX);
        Sizes {
            all: spread(&all, self.reads.sum_bytes + self.writes.sum_bytes),
            reads: spread(&reads, self.reads.sum_bytes),
            writes: spread(&writes, self.writes.sum_bytes),
            common,
            octaves: octaves(&reads, &writes),
        }
    }

    pub(super) fn alignment(&self) -> Alignment {
        let all: u64 = self.aligned.iter().sum();
        let share = |bits: usize| match all {
            0 => 0.0,
            all => self.aligned[bits..].iter().sum::<u64>() as f64 / all as f64,
        };
        Alignment {
            by_512_share: share(9),
            by_4k_share: share(12),
            by_64k_share: share(16),
            offsets_bytes: lowest_bit(self.offset_bits),
            lengths_bytes: lowest_bit(self.length_bits),
        }
    }
}

impl Counts {
    fn new() -> Counts {
        Counts {
            steps: Box::new([0; STEPS]),
            odd: BTreeMap::new(),
            sum_bytes: 0,
        }
    }

    #[inline]
    fn count(&mut self, bytes: u64) {
        self.sum_bytes += u128::from(bytes);
        let step = bytes / STEP_BYTES;
        if bytes.is_multiple_of(STEP_BYTES) && step < STEPS as u64 {
            self.steps[step as usize] += 1;
        } else {
            self.count_odd(bytes);
        }
    }

    #[cold]
    fn count_odd(&mut self, bytes: u64) {
        let full = self.odd.len() >= ODD_MAX && !self.odd.contains_key(&bytes);
        let bytes = if full { rounded(bytes) } else { bytes };
        *self.odd.entry(bytes).or_default() += 1;
    }

    fn sorted(&self) -> BTreeMap<u64, u64> {
        let steps = self
            .steps
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        let mut sorted = self.odd.clone();
        sorted.extend(steps.map(|(step, count)| (step as u64 * STEP_BYTES, *count)));
        sorted
    }
}

/// Rounded up to three significant bits, or down where that would leave 64 bits.
fn rounded(bytes: u64) -> u64 {
    let shift = (64 - bytes.leading_zeros()).saturating_sub(3);
    let up = bytes.div_ceil(1 << shift);
    up.checked_shl(shift)
        .filter(|up| *up >= bytes)
        .unwrap_or(bytes >> shift << shift)
}

/// The greatest power of two that divides; 0 for 0.
fn lowest_bit(bits: u64) -> u64 {
    bits & bits.wrapping_neg()
}

fn octaves(reads: &BTreeMap<u64, u64>, writes: &BTreeMap<u64, u64>) -> SizeOctaves {
    let used = || reads.keys().chain(writes.keys()).map(|bytes| bytes.ilog2());
    let (Some(first), Some(last)) = (used().min(), used().max()) else {
        return SizeOctaves::default();
    };
    let counted = |counts: &BTreeMap<u64, u64>| {
        let mut found = vec![0; (last - first) as usize + 1];
        for (bytes, count) in counts {
            found[(bytes.ilog2() - first) as usize] += count;
        }
        found
    };
    SizeOctaves {
        from_bytes: (first..=last).map(|octave| 1 << octave).collect(),
        reads: counted(reads),
        writes: counted(writes),
    }
}

fn spread(counts: &BTreeMap<u64, u64>, sum_bytes: u128) -> Option<SizeSpread> {
    let requests: u64 = counts.values().sum();
    let (min, max) = (counts.first_key_value()?, counts.last_key_value()?);
    let rank = |share: f64| {
        let wanted = (libm::ceil(share * requests as f64) as u64).max(1);
        let mut seen = 0;
        let at = counts.iter().find(|(_, count)| {
            seen += **count;
            seen >= wanted
        });
        *at.unwrap_or(max).0
    };
    Some(SizeSpread {
        min_bytes: *min.0,
        mean_bytes: sum_bytes as f64 / requests as f64,
        p50_bytes: rank(0.5),
        p95_bytes: rank(0.95),
        max_bytes: *max.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(requests: &[(TraceOp, u64, u64)]) -> SizeCounter {
        let record = |&(op, offset, len): &_| Record::new(0, op, offset, len, 0);
        let records: Vec<Record> = requests.iter().map(record).collect();
        let mut counter = SizeCounter::new();
        counter.record(&records);
        counter
    }

    #[test]
    fn sizes_are_ranked_and_counted() {
        let mut requests = vec![(TraceOp::Read, 0, 4096); 15];
        requests.extend([(TraceOp::Write, 0, 65536); 4]);
        requests.push((TraceOp::Write, 0, 3_000_001));
        requests.push((TraceOp::Flush, 0, 0));
        let sizes = counted(&requests).sizes();
        let all = sizes.all.unwrap();
        assert_eq!((all.min_bytes, all.p50_bytes), (4096, 4096));
        assert_eq!((all.p95_bytes, all.max_bytes), (65536, 3_000_001));
        assert!(
            (all.mean_bytes - (15.0 * 4096.0 + 4.0 * 65536.0 + 3_000_001.0) / 20.0).abs() < 1e-6
        );
        assert_eq!(sizes.reads.unwrap().max_bytes, 4096);
        assert_eq!(sizes.writes.unwrap().p50_bytes, 65536);
        let common: Vec<(u64, u64)> = sizes.common.iter().map(|s| (s.bytes, s.requests)).collect();
        assert_eq!(common, [(4096, 15), (65536, 4), (3_000_001, 1)]);
        let octaves = &sizes.octaves;
        assert_eq!(octaves.from_bytes[..2], [4096, 8192]);
        assert_eq!(octaves.reads, [15, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(octaves.writes, [0, 0, 0, 0, 4, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn no_media_requests_have_no_sizes() {
        let counter = counted(&[(TraceOp::Flush, 0, 0)]);
        assert!(counter.sizes().all.is_none());
        assert!(counter.sizes().common.is_empty());
        assert_eq!(counter.alignment(), Alignment::default());
    }

    #[test]
    fn alignment_is_of_offset_and_length() {
        let requests = [(0, 4096), (65536, 65536), (512, 4096), (4096, 100)];
        let requests = requests.map(|(offset, len)| (TraceOp::Read, offset, len));
        let alignment = counted(&requests).alignment();
        assert!((alignment.by_512_share - 0.75).abs() < 1e-12);
        assert!((alignment.by_4k_share - 0.5).abs() < 1e-12);
        assert!((alignment.by_64k_share - 0.25).abs() < 1e-12);
        assert_eq!((alignment.offsets_bytes, alignment.lengths_bytes), (512, 4));
    }

    #[test]
    fn rounding_keeps_three_bits() {
        assert_eq!([1, 7, 9, 1025].map(rounded), [1, 7, 10, 1280]);
        assert_eq!(rounded(u64::MAX), 7 << 61);
    }
}
