//! libCacheSim's oracleGeneral: packed little-endian records of 24 bytes without a header.
//!
//! ```text
//!  0 u32 clock_time, seconds   4 u64 obj_id   12 u32 obj_size, bytes   16 i64 next_access_vtime
//! ```
//!
//! Source: libCacheSim, `oracleGeneralBin.h`. There is no operation and no address: every record
//! counts as a read, and an object's place is its id times the block size that the user gives.
//! Without one there are no places: `inspect` says nothing of them, and a replay is refused.
//! Nothing marks the format, so it is recognised by its times: they are whole seconds that hardly
//! ever step back. Objects of no bytes are left out, as libCacheSim does.

use super::TraceError;
use super::columns::Columns;
use super::decode::{
    Anomaly, Choice, ColumnDecoder, Format, Options, Probe, Reads, Sink, TimeKind, TimeMeaning,
};
use super::record::TraceOp;
use super::rows::Rows;

/// Bytes of a record.
const RECORD_BYTES: usize = 24;

/// Records that are looked at to recognise the format.
const SAMPLE_RECORDS: usize = 4096;

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "oracleGeneral",
    summary: "libCacheSim's binary cache trace: time, object, size (no operation, no address)",
    source: "libCacheSim, oracleGeneralBin.h",
    probe: Probe::Binary(probe),
    options: &[Choice::BlockSize],
    reads: Reads::Stream(|options| Ok(Box::new(Rows::of(OracleGeneral::new(options))))),
};

/// Whole records, and at least 99 % of the times do not step back.
fn probe(sample: &[u8], size: Option<u64>) -> bool {
    if size.is_some_and(|size| size % RECORD_BYTES as u64 != 0) || sample.len() < RECORD_BYTES {
        return false;
    }
    let times: Vec<u32> = sample
        .chunks_exact(RECORD_BYTES)
        .take(SAMPLE_RECORDS)
        .map(|record| u32_at(record, 0))
        .collect();
    let rising = times.windows(2).filter(|pair| pair[0] <= pair[1]).count();
    rising * 100 >= (times.len() - 1) * 99 && sensible(sample)
}

/// Random bytes can have rising times when there are few; sizes and next accesses must make sense
/// too.
fn sensible(sample: &[u8]) -> bool {
    let records = sample.chunks_exact(RECORD_BYTES).take(SAMPLE_RECORDS);
    let count = records.len();
    let fits = |record: &&[u8]| {
        let next = i64::from_le_bytes(array(record, 16));
        u32_at(record, 12) <= 1 << 30 && (next == i64::MAX || (-2..1 << 48).contains(&next))
    };
    records.filter(fits).count() * 100 >= count * 99
}

#[inline]
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N]
        .try_into()
        .expect("a slice of N bytes is an array of N bytes")
}

/// The object of a record.
#[inline]
fn id(record: &[u8]) -> u64 {
    u64::from_le_bytes(array(record, 4))
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

struct OracleGeneral {
    block_size: u64,
    told: bool,
    given_block_size: bool,
    device: String,
    position: u64,
}

impl OracleGeneral {
    fn new(options: &Options) -> OracleGeneral {
        OracleGeneral {
            block_size: options.block_size.unwrap_or(1),
            told: false,
            given_block_size: options.block_size.is_some(),
            device: options.file.clone(),
            position: 0,
        }
    }

    /// Column by column, each in one run through the records.
    fn append<'a>(
        &self,
        records: impl Iterator<Item = &'a [u8]> + Clone,
        device: u32,
        columns: &mut Columns,
    ) {
        let time = |record| i64::from(u32_at(record, 0)) * 1_000_000_000;
        columns.ts.extend(records.clone().map(time));
        let offset = |record| id(record) * self.block_size;
        columns.offset.extend(records.clone().map(offset));
        columns
            .len
            .extend(records.map(|record| u64::from(u32_at(record, 12))));
        let count = columns.count();
        columns.dev.resize(count, device);
        columns.op.resize(count, TraceOp::Read);
    }

    fn tell(&mut self, out: &mut Sink) {
        out.note("assuming oracleGeneral; use --trace-format to override");
        if !self.given_block_size {
            out.object_ids = true;
            out.note("object ids are no addresses; --block-size, the bytes of one object id, makes them addresses");
        }
        self.told = true;
    }
}

impl ColumnDecoder for OracleGeneral {
    fn decode(
        &mut self,
        bytes: &[u8],
        last: bool,
        out: &mut Sink,
        columns: &mut Columns,
    ) -> Result<usize, TraceError> {
        if !self.told {
            self.tell(out);
        }
        let device = out.devices.intern(self.device.as_bytes());
        let records = bytes.chunks_exact(RECORD_BYTES);
        let rest = records.remainder().len();
        out.anomalies
            .add(Anomaly::DirectionGuessed, records.len() as u64);
        let last_id = u64::MAX / self.block_size;
        let fits = |record: &&[u8]| id(record) <= last_id;
        let kept = records.clone().filter(fits).count();
        if kept == records.len() {
            self.append(records, device, columns);
        } else {
            let beyond = (records.len() - kept) as u64;
            out.anomalies.add(Anomaly::BeyondAddressSpace, beyond);
            self.append(records.filter(fits), device, columns);
        }
        let mut used = bytes.len() - rest;
        self.position += used as u64;
        if last && rest > 0 {
            let position = self.position;
            out.anomalies.note(Anomaly::Truncated, || {
                format!("byte {position}: {rest} bytes of a record of {RECORD_BYTES}")
            });
            used = bytes.len();
        }
        Ok(used)
    }

    fn time(&self) -> TimeMeaning {
        TimeMeaning {
            resolution_ns: 1_000_000_000,
            kind: TimeKind::Arrival,
            epoch_unix_ns: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::Decoder;
    use super::super::record::Record;
    use super::*;

    #[test]
    fn ids_are_addresses_by_a_block_size_alone() {
        let bytes = record(1, 2, 3);
        assert!(decode(&bytes, &Options::default()).object_ids);
        let blocks = Options {
            block_size: Some(512),
            ..Options::default()
        };
        assert!(!decode(&bytes, &blocks).object_ids);
    }

    fn record(time: u32, id: u64, size: u32) -> Vec<u8> {
        [
            &time.to_le_bytes()[..],
            &id.to_le_bytes(),
            &size.to_le_bytes(),
            &(-1_i64).to_le_bytes(),
        ]
        .concat()
    }

    fn decode(bytes: &[u8], options: &Options) -> Sink {
        let mut sink = Sink::default();
        let used = Rows::of(OracleGeneral::new(options))
            .decode(bytes, true, &mut sink)
            .unwrap();
        assert_eq!(used, bytes.len());
        sink
    }

    #[test]
    fn the_test_vector() {
        let bytes = [
            0x07, 0, 0, 0, 0x15, 0xcd, 0x5b, 0x07, 0, 0, 0, 0, 0, 0x10, 0, 0, 0xff, 0xff, 0xff,
            0xff, 0xff, 0xff, 0xff, 0xff,
        ];
        let sink = decode(&bytes, &Options::default());
        assert_eq!(
            sink.records,
            [Record::new(
                7_000_000_000,
                TraceOp::Read,
                123_456_789,
                4096,
                0
            )]
        );
        let blocks = Options {
            block_size: Some(512),
            ..Options::default()
        };
        assert_eq!(decode(&bytes, &blocks).records[0].offset, 123_456_789 * 512);
        assert!(probe(&bytes, Some(24)));
    }

    #[test]
    fn a_cut_record_is_counted() {
        let mut bytes = record(1, 2, 3);
        bytes.extend_from_slice(&[0; 23]);
        let sink = decode(&bytes, &Options::default());
        assert_eq!(
            (sink.records.len(), sink.anomalies.of(Anomaly::Truncated)),
            (1, 1)
        );
    }

    #[test]
    fn falling_times_and_odd_lengths_are_not_it() {
        let falling: Vec<u8> = (0..100).flat_map(|i| record(1000 - i, 1, 512)).collect();
        assert!(!probe(&falling, None));
        let rising: Vec<u8> = (0..100).flat_map(|i| record(i, 1, 512)).collect();
        assert!(probe(&rising, Some(2400)));
        assert!(!probe(&rising, Some(2401)));
    }
}
