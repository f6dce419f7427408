//! What a run must know of a trace before it starts: how many requests, of what, where they end,
//! and a hash.
//!
//! One pass over batches of canonical records, in the memory of one table of devices. The hash
//! names the requests, not the file: the same requests have the same hash in any format and
//! container.
//!
//! # The hash
//! XXH3-128 with seed 0 (Collet, xxHash specification 0.8) over 32 bytes a record, in order, all
//! little-endian:
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | `ts` in ns, two's complement |
//! | 8..16 | `offset` in bytes |
//! | 16..24 | `len` in bytes |
//! | 24..28 | device, numbered from 0 in the order of first appearance in the records |
//! | 28..30 | `priority`, 0 unless [`Flags::PRIORITY`] is set |
//! | 30 | `op` by its code |
//! | 31 | how far a write may move: 1 to 4 in the order of [`Flags::OFFERS`], 0 if nothing is said |
//!
//! Clients, other flags and traced latencies are left out: few formats carry them, and a conversion
//! would change the name of what is asked of the drive. Cost: O(1) a record.

use nearslot_core::stream::Class;
use nearslot_core::units::BLOCK_BYTES;
use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

use nearslot_trace::{Flags, Record, TraceOp};

/// Bytes that the hash takes of a record.
const HASHED_BYTES: usize = 32;
/// Records that go to the hash in one call: 16 KiB of its input, which stay in the nearest cache.
const HASHED_RECORDS: usize = 512;

/// Of the last byte of a record: it is forced to the medium. The rest says how far a write may move.
const FORCED: u8 = 1 << 7;

/// A pass over a trace that has not ended.
pub struct Survey {
    summary: Summary,
    /// Device in the order of first appearance plus 1, by device of the reader; 0 is not seen.
    ordinals: Vec<u32>,
    seen: u32,
    hash: Xxh3,
    bytes: Box<[u8; HASHED_RECORDS * HASHED_BYTES]>,
}

/// What a pass over a trace found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// All records.
    pub requests: u64,
    /// Records and bytes by operation, in the order of [`TraceOp::ALL`].
    pub operations: [Volume; 6],
    /// By device of the reader; devices without records have zeroes.
    pub devices: Vec<DeviceSummary>,
    /// Earliest time stamp in ns; 0 if there is no record.
    pub first_ns: i64,
    /// Latest time stamp in ns; 0 if there is no record.
    pub last_ns: i64,
    /// Shortest read or write in bytes; 0 if there is none.
    pub len_min: u64,
    /// Longest record in bytes, of any operation that has an extent.
    pub len_max: u64,
    /// Most 512-byte blocks that one such record touches.
    pub blocks_max: u64,
    /// Records that must be safe before they are answered.
    pub fua: u64,
    /// Records whose time from arrival to completion the trace tells.
    pub responses_known: u64,
    /// Writes that say how far they may move.
    pub freedom_told: u64,
    /// Records with another class of priority than best effort.
    #[serde(skip)]
    pub classed: u64,
    /// See the head of this file.
    pub hash: u128,
}

/// A number of records and the bytes they are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Volume {
    /// How many.
    pub requests: u64,
    /// Sum of their lengths.
    pub bytes: u128,
}

/// What was found of one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeviceSummary {
    /// All its records.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// First byte behind the highest that a record with an extent touches.
    pub end_bytes: u64,
}

impl Default for Survey {
    fn default() -> Survey {
        Survey::new()
    }
}

impl Survey {
    /// A pass that has seen nothing.
    pub fn new() -> Survey {
        Survey {
            summary: Summary::default(),
            ordinals: Vec::new(),
            seen: 0,
            hash: Xxh3::new(),
            bytes: Box::new([0; HASHED_RECORDS * HASHED_BYTES]),
        }
    }

    /// Takes the next records of the trace.
    pub fn record(&mut self, batch: &[Record]) {
        for records in batch.chunks(HASHED_RECORDS) {
            for (index, record) in records.iter().enumerate() {
                let ordinal = self.ordinal(record.dev);
                let slot = index * HASHED_BYTES..(index + 1) * HASHED_BYTES;
                self.bytes[slot].copy_from_slice(&canonical_bytes(record, ordinal));
                self.summary.add(record);
            }
            self.hash
                .update(&self.bytes[..records.len() * HASHED_BYTES]);
        }
    }

    /// What all records together are.
    pub fn finish(self) -> Summary {
        Summary {
            hash: self.hash.digest128(),
            ..self.summary
        }
    }

    #[inline]
    fn ordinal(&mut self, dev: u32) -> u32 {
        let index = dev as usize;
        match self.ordinals.get(index) {
            Some(&ordinal) if ordinal > 0 => ordinal - 1,
            _ => self.first_of(index),
        }
    }

    #[cold]
    fn first_of(&mut self, index: usize) -> u32 {
        if self.ordinals.len() <= index {
            self.ordinals.resize(index + 1, 0);
            self.summary
                .devices
                .resize(index + 1, DeviceSummary::default());
        }
        self.seen += 1;
        self.ordinals[index] = self.seen;
        self.seen - 1
    }
}

impl Summary {
    #[inline]
    fn add(&mut self, record: &Record) {
        if self.requests == 0 {
            (self.first_ns, self.last_ns) = (record.ts, record.ts);
        }
        self.requests += 1;
        self.first_ns = self.first_ns.min(record.ts);
        self.last_ns = self.last_ns.max(record.ts);
        self.fua += u64::from(record.flags.has(Flags::FUA));
        self.responses_known += u64::from(record.response_ns != Record::UNKNOWN);
        self.freedom_told += u64::from(offer_of(record).is_some());
        self.classed += u64::from(Class::of(priority_of(record)) != Class::BestEffort);
        let operation = &mut self.operations[record.op as usize];
        operation.requests += 1;
        let device = &mut self.devices[record.dev as usize];
        device.requests += 1;
        device.reads += u64::from(record.op == TraceOp::Read);
        device.writes += u64::from(record.op == TraceOp::Write);
        if has_extent(record.op) {
            operation.bytes += u128::from(record.len);
            device.end_bytes = device.end_bytes.max(record.end());
            self.len_max = self.len_max.max(record.len);
            let blocks = record.end().div_ceil(BLOCK_BYTES) - record.offset / BLOCK_BYTES;
            self.blocks_max = self.blocks_max.max(blocks);
        }
        if record.op.is_media() && (self.len_min == 0 || record.len < self.len_min) {
            self.len_min = record.len;
        }
    }

    /// Records of one operation.
    pub fn of(&self, op: TraceOp) -> Volume {
        self.operations[op as usize]
    }

    /// First to last time stamp in ns.
    pub fn span_ns(&self) -> u64 {
        self.last_ns.abs_diff(self.first_ns)
    }

    /// First byte behind the highest that is touched, over all devices.
    pub fn end_bytes(&self) -> u64 {
        let ends = self.devices.iter().map(|device| device.end_bytes);
        ends.max().unwrap_or(0)
    }

    /// The hash in hex, as results print it.
    pub fn hash_hex(&self) -> String {
        format!("{:032x}", self.hash)
    }
}

/// How far a write may move, as [`Flags::OFFERS`] counts it.
#[inline]
fn offer_of(record: &Record) -> Option<usize> {
    record.flags.offer().filter(|_| record.op == TraceOp::Write)
}

/// The priority that a record tells; 0 if it tells none.
#[inline]
fn priority_of(record: &Record) -> u16 {
    match record.flags.has(Flags::PRIORITY) {
        true => record.priority,
        false => 0,
    }
}

/// Whether an operation's offset and length mean anything.
const fn has_extent(op: TraceOp) -> bool {
    !matches!(op, TraceOp::Flush | TraceOp::Other)
}

#[inline]
fn canonical_bytes(record: &Record, ordinal: u32) -> [u8; HASHED_BYTES] {
    let mut bytes = [0; HASHED_BYTES];
    bytes[0..8].copy_from_slice(&record.ts.to_le_bytes());
    bytes[8..16].copy_from_slice(&record.offset.to_le_bytes());
    bytes[16..24].copy_from_slice(&record.len.to_le_bytes());
    bytes[24..28].copy_from_slice(&ordinal.to_le_bytes());
    bytes[28..30].copy_from_slice(&priority_of(record).to_le_bytes());
    bytes[30] = record.op as u8;
    let forced = if record.flags.has(Flags::FUA) {
        FORCED
    } else {
        0
    };
    bytes[31] = offer_of(record).map_or(0, |number| number as u8 + 1) | forced;
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn survey(batches: &[&[Record]]) -> Summary {
        let mut survey = Survey::new();
        batches.iter().for_each(|batch| survey.record(batch));
        survey.finish()
    }

    #[test]
    fn a_small_trace_is_counted() {
        let trace = [
            Record::new(0, TraceOp::Read, 4096, 512, 2),
            Record::new(1_500, TraceOp::Write, 8192, 1024, 0),
            Record::new(2_000, TraceOp::Flush, 1 << 60, 0, 0),
            Record::new(9_000, TraceOp::Discard, 0, 1 << 20, 0),
        ];
        let found = survey(&[&trace]);
        assert_eq!((found.requests, found.span_ns()), (4, 9_000));
        assert_eq!((found.len_min, found.len_max), (512, 1 << 20));
        assert_eq!(found.blocks_max, 2048);
        assert_eq!(found.of(TraceOp::Write).bytes, 1024);
        assert_eq!(found.of(TraceOp::Flush).requests, 1);
        let ends: Vec<u64> = found.devices.iter().map(|d| d.end_bytes).collect();
        assert_eq!(ends, [1 << 20, 0, 4608]);
        assert_eq!((found.devices[0].requests, found.devices[0].writes), (3, 1));
    }

    #[test]
    fn the_hash_is_of_the_documented_bytes() {
        let mut record = Record::new(1_500, TraceOp::Write, 8192, 4096, 7);
        record.priority = 0x4001;
        let mut bytes = Vec::new();
        bytes.extend(1_500_i64.to_le_bytes());
        bytes.extend(8192_u64.to_le_bytes());
        bytes.extend(4096_u64.to_le_bytes());
        bytes.extend([0, 0, 0, 0, 0, 0, 1, 0]);
        assert_eq!(
            survey(&[&[record]]).hash,
            xxhash_rust::xxh3::xxh3_128(&bytes)
        );
        record.flags = Flags::PRIORITY;
        bytes[28..30].copy_from_slice(&[0x01, 0x40]);
        assert_eq!(
            survey(&[&[record]]).hash,
            xxhash_rust::xxh3::xxh3_128(&bytes)
        );
    }

    #[test]
    fn requests_of_other_classes_than_best_effort_are_counted() {
        let with = |priority, flags| {
            let mut record = Record::new(0, TraceOp::Read, 0, 512, 0);
            (record.priority, record.flags) = (priority, flags);
            survey(&[&[record]]).classed
        };
        assert_eq!(
            [0, 0x2004, 0x4001, 0x6007].map(|told| with(told, Flags::PRIORITY)),
            [0, 1, 0, 1]
        );
        assert_eq!(with(0x2004, Flags::default()), 0);
    }

    #[test]
    fn how_far_a_write_may_move_is_counted_and_part_of_its_name() {
        let with = |op, flags| {
            let mut record = Record::new(0, op, 0, 512, 0);
            record.flags = flags;
            survey(&[&[record]])
        };
        let flags = [
            Flags::default(),
            Flags::STAYS,
            Flags::OFFER_TRACK,
            Flags::OFFER_GROUP,
            Flags::OFFER_DISK,
        ];
        let told = flags.map(|flags| with(TraceOp::Write, flags.with(Flags::FUA)));
        for (number, one) in told.iter().enumerate() {
            assert_eq!(one.freedom_told, u64::from(number > 0));
            let alike = told.iter().filter(|other| other.hash == one.hash);
            assert_eq!(alike.count(), 1, "{number}");
        }
        let read = with(TraceOp::Read, Flags::OFFER_DISK);
        assert_eq!(read.freedom_told, 0, "reads go where the data are");
        assert_eq!(read.hash, with(TraceOp::Read, Flags::default()).hash);
    }

    #[test]
    fn a_forced_write_is_another_request() {
        let plain = Record::new(0, TraceOp::Write, 0, 512, 0);
        let mut forced = plain;
        forced.flags = Flags::FUA;
        assert_ne!(survey(&[&[plain]]).hash, survey(&[&[forced]]).hash);
    }

    #[test]
    fn the_hash_names_requests_not_devices_or_latencies() {
        let one = Record::new(0, TraceOp::Read, 0, 512, 0);
        let mut same = Record::new(0, TraceOp::Read, 0, 512, 9);
        same.response_ns = 5;
        same.client = 3;
        assert_eq!(survey(&[&[one]]).hash, survey(&[&[same]]).hash);
        let other = Record::new(0, TraceOp::Write, 0, 512, 0);
        assert_ne!(survey(&[&[one]]).hash, survey(&[&[other]]).hash);
        assert_eq!(survey(&[]).hash_hex().len(), 32);
    }

    proptest! {
        #[test]
        fn batches_do_not_matter(count in 0_usize..3_000, cut in 0_usize..3_000) {
            let trace: Vec<Record> = (0..count as u64)
                .map(|i| Record::new(i as i64 * 7, TraceOp::Read, i * 512, 512, (i % 3) as u32))
                .collect();
            let (front, back) = trace.split_at(cut.min(count));
            let whole = survey(&[&trace]);
            prop_assert_eq!(&whole, &survey(&[front, back]));
            let bytes: u64 = trace.iter().map(|record| record.len).sum();
            prop_assert_eq!(whole.of(TraceOp::Read).bytes, u128::from(bytes));
            let end = trace.iter().map(Record::end).max().unwrap_or(0);
            prop_assert_eq!(whole.end_bytes(), end);
        }
    }
}
