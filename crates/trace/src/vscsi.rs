//! CloudPhysics vscsi traces, version 1 (32 bytes) and 2 (40 bytes): packed little-endian records
//! without a header.
//!
//! ```text
//! v1   0 u32 sn   4 u32 len   8 u32 nSG  12 u16 cmd  14 u16 ver  16 u64 lbn  24 u64 ts
//! v2   0 u16 cmd  2 u16 ver   4 u32 sn    8 u32 len  12 u32 nSG  16 u64 lbn  24 u64 ts  32 u64 rt
//! ```
//!
//! Source: libCacheSim, `vscsi.h`, and C. A. Waldspurger et al., "Efficient MRC Construction with
//! SHARDS", USENIX FAST 2015. `len` is bytes, `lbn` counts 512-byte sectors, `ts` and `rt` (the
//! response time) are microseconds. The version stands in the high byte of `ver`; two records in a
//! row that agree make the format. `cmd` is the SCSI opcode.

use super::TraceError;
use super::decode::{Anomaly, Decoder, Format, Options, Probe, Reads, Sink, TimeKind, TimeMeaning};
use super::record::{Record, TraceOp};

/// Sectors are 512 bytes.
const SECTOR_SHIFT: u32 = 9;

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "vscsi",
    summary: "CloudPhysics binary trace of a virtual SCSI disk, versions 1 and 2",
    source: "libCacheSim, vscsi.h",
    probe: Probe::Binary(|sample, _| Layout::of(sample).is_some()),
    options: &[],
    reads: Reads::Stream(|options| Ok(Box::new(Vscsi::new(options)))),
};

/// Where the fields of a version stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    version: u8,
    bytes: usize,
    cmd: usize,
    ver: usize,
    len: usize,
    response: bool,
}

const V1: Layout = Layout {
    version: 1,
    bytes: 32,
    cmd: 12,
    ver: 14,
    len: 4,
    response: false,
};

const V2: Layout = Layout {
    version: 2,
    bytes: 40,
    cmd: 0,
    ver: 2,
    len: 8,
    response: true,
};

/// Both versions have these at the same places.
const LBN: usize = 16;
const TS: usize = 24;
const RT: usize = 32;

impl Layout {
    /// The version whose mark the first records bear: two of them, or the only one.
    fn of(sample: &[u8]) -> Option<Layout> {
        [V2, V1].into_iter().find(|layout| {
            let mut records = sample.chunks_exact(layout.bytes);
            let alone = sample.len() < 2 * layout.bytes;
            records.next().is_some_and(|record| layout.marks(record))
                && (records.next().is_some_and(|record| layout.marks(record)) || alone)
        })
    }

    fn marks(&self, record: &[u8]) -> bool {
        record[self.ver + 1] == self.version
    }
}

struct Vscsi {
    layout: Option<Layout>,
    device: String,
    strict: bool,
    position: u64,
}

impl Vscsi {
    fn new(options: &Options) -> Vscsi {
        Vscsi {
            layout: None,
            device: options.file.clone(),
            strict: options.strict,
            position: 0,
        }
    }

    /// Decides the version once the first bytes are there.
    fn start(
        &mut self,
        bytes: &[u8],
        last: bool,
        out: &mut Sink,
    ) -> Result<Option<Layout>, TraceError> {
        if self.layout.is_none() {
            if bytes.len() < 2 * V2.bytes && !last {
                return Ok(None);
            }
            let Some(layout) = Layout::of(bytes) else {
                return Err(TraceError::unfit(
                    "byte 0: no vscsi records (neither version 1 nor 2 is marked)",
                ));
            };
            out.version = Some(layout.version.to_string());
            self.layout = Some(layout);
        }
        Ok(self.layout)
    }

    #[cold]
    fn bad(&self, at: usize, out: &mut Sink) -> Result<(), TraceError> {
        let what = format!("byte {}: no vscsi record", self.position + at as u64);
        if self.strict {
            return Err(TraceError::unfit(what));
        }
        out.anomalies.note(Anomaly::BadRecord, || what);
        Ok(())
    }
}

impl Decoder for Vscsi {
    fn decode(&mut self, bytes: &[u8], last: bool, out: &mut Sink) -> Result<usize, TraceError> {
        let Some(layout) = self.start(bytes, last, out)? else {
            return Ok(0);
        };
        let device = out.devices.intern(self.device.as_bytes());
        let records = bytes.chunks_exact(layout.bytes);
        let rest = records.remainder().len();
        out.records.reserve(records.len());
        for (number, record) in records.enumerate() {
            match request(&layout, record, device) {
                Some(request) => out.records.push(request),
                None => self.bad(number * layout.bytes, out)?,
            }
        }
        let mut used = bytes.len() - rest;
        self.position += used as u64;
        if last && rest > 0 {
            let position = self.position;
            let whole = layout.bytes;
            out.anomalies.note(Anomaly::Truncated, || {
                format!("byte {position}: {rest} bytes of a record of {whole}")
            });
            used = bytes.len();
        }
        Ok(used)
    }

    fn time(&self) -> TimeMeaning {
        TimeMeaning {
            resolution_ns: 1_000,
            kind: TimeKind::Arrival,
            epoch_unix_ns: None,
        }
    }
}

/// The record as a request, unless its mark is wrong or a number is beyond what can be.
#[inline]
fn request(layout: &Layout, record: &[u8], device: u32) -> Option<Record> {
    let u16_at = |at: usize| u16::from_le_bytes([record[at], record[at + 1]]);
    let u64_at = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("8 bytes"));
    let len = u32::from_le_bytes(
        record[layout.len..layout.len + 4]
            .try_into()
            .expect("4 bytes"),
    );
    if !layout.marks(record) {
        return None;
    }
    let (op, len) = match u16_at(layout.cmd) {
        0x08 | 0x28 | 0xa8 | 0x88 => (TraceOp::Read, len),
        0x0a | 0x2a | 0xaa | 0x8a => (TraceOp::Write, len),
        0x35 | 0x91 => (TraceOp::Flush, 0),
        0x42 => (TraceOp::Discard, len),
        0x41 | 0x93 => (TraceOp::WriteZeroes, len),
        _ => (TraceOp::Other, 0),
    };
    let lbn = u64_at(LBN);
    let ts = i64::try_from(u64_at(TS).checked_mul(1000)?).ok()?;
    let mut request = Record::new(ts, op, lbn << SECTOR_SHIFT, u64::from(len), device);
    // An address that does not fit is passed on as one that the common rules count and refuse.
    if lbn >> (u64::BITS - SECTOR_SHIFT) != 0 {
        request.offset = u64::MAX;
    }
    if layout.response {
        request.response_ns = u64_at(RT).saturating_mul(1000);
    }
    Some(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VECTOR_V1: [u8; 32] = [
        0xf4, 0, 0, 0x80, 0, 0x10, 0, 0, 1, 0, 0, 0, 0x28, 0, 0, 1, 9, 0x1a, 0x8f, 2, 0, 0, 0, 0,
        0x22, 0xcf, 0x82, 0xbe, 0x1f, 5, 0, 0,
    ];
    const VECTOR_V2: [u8; 40] = [
        0x2a, 0, 0, 2, 0x11, 0, 0, 0, 0, 0x20, 0, 0, 2, 0, 0, 0, 9, 0x1a, 0x8f, 2, 0, 0, 0, 0,
        0x22, 0xcf, 0x82, 0xbe, 0x1f, 5, 0, 0, 0xaf, 1, 0, 0, 0, 0, 0, 0,
    ];

    fn decode(bytes: &[u8]) -> Sink {
        let mut sink = Sink::default();
        let used = Vscsi::new(&Options::default())
            .decode(bytes, true, &mut sink)
            .unwrap();
        assert_eq!(used, bytes.len());
        sink
    }

    #[test]
    fn the_test_vectors() {
        let expected = Record::new(
            5_633_898_368_802_000,
            TraceOp::Read,
            42_932_745 * 512,
            4096,
            0,
        );
        assert_eq!(decode(&VECTOR_V1.repeat(2)).records, [expected; 2]);
        let expected = Record {
            op: TraceOp::Write,
            len: 8192,
            response_ns: 431_000,
            ..expected
        };
        let sink = decode(&VECTOR_V2);
        assert_eq!(
            (sink.records, sink.version.as_deref()),
            (vec![expected], Some("2"))
        );
    }

    #[test]
    fn opcodes_have_their_meaning() {
        for (cmd, op) in [
            (0x08, TraceOp::Read),
            (0x8a, TraceOp::Write),
            (0x91, TraceOp::Flush),
            (0x42, TraceOp::Discard),
            (0x93, TraceOp::WriteZeroes),
            (0x00, TraceOp::Other),
        ] {
            let mut record = VECTOR_V2;
            record[0] = cmd;
            let request = decode(&record).records[0];
            assert_eq!(request.op, op);
            assert_eq!(
                request.len == 0,
                matches!(op, TraceOp::Flush | TraceOp::Other)
            );
        }
    }

    #[test]
    fn damage_is_counted_and_refused_when_strict() {
        let mut bytes = VECTOR_V1.repeat(4);
        bytes[2 * 32 + 15] = 9;
        bytes.truncate(4 * 32 - 1);
        let sink = decode(&bytes);
        assert_eq!(sink.records.len(), 2);
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 1);
        assert_eq!(sink.anomalies.of(Anomaly::Truncated), 1);
        let strict = Options {
            strict: true,
            ..Options::default()
        };
        let error = Vscsi::new(&strict)
            .decode(&bytes, true, &mut Sink::default())
            .unwrap_err();
        assert!(error.to_string().contains("byte 64"), "{error}");
    }

    #[test]
    fn other_bytes_are_not_it() {
        assert!(Layout::of(&[0; 200]).is_none());
        assert_eq!(Layout::of(&VECTOR_V1.repeat(2)), Some(V1));
        assert_eq!(Layout::of(&VECTOR_V2.repeat(2)), Some(V2));
    }
}
