//! The records of a blktrace stream, as bytes and as events.
//!
//! ```text
//! version 7, 48 bytes + payload                       version 8, 64 bytes + payload
//!  0 u32 magic     16 u64 sector  32 u32 pid           0 u32 magic     16 u64 sector  32 u64 action  48 u16 error
//!  4 u32 sequence  24 u32 bytes   36 u32 device        4 u32 sequence  24 u32 bytes   40 u32 device  50 u16 payload
//!  8 u64 time, ns  28 u32 action  40 u32 cpu           8 u64 time, ns  28 u32 pid     44 u32 cpu     52 12 bytes unused
//!                  44 u16 error   46 u16 payload
//! ```
//!
//! Source: Linux `include/uapi/linux/blktrace_api.h` and its second version ("blktrace: add
//! definitions for struct blk_io_trace2", linux-block, 2025). The byte order is that of the traced
//! host; the first record decides. Version 8 is only written when its reader asks for it, so both
//! occur. Where the magic is missing the bytes up to the next magic are passed over and counted
//! once. The low 16 bits of the action say what happened, the rest to what kind of request.

use crate::TraceError;
use crate::decode::{Anomaly, Sink};

/// `magic | version`, the version in the lowest byte.
pub(super) const MAGIC: u32 = 0x6561_7400;

/// Bytes of a record before its payload, by version.
pub(super) const V7_BYTES: usize = 48;
const V8_BYTES: usize = 64;

/// Action bit: the payload begins with a control group's number of 8 bytes.
const CGROUP: u32 = 0x100;
const CGROUP_BYTES: usize = 8;

/// What happened: the low bits of the action.
pub(super) mod act {
    pub(in super::super) const QUEUE: u16 = 1;
    pub(in super::super) const GET_REQUEST: u16 = 4;
    pub(in super::super) const REQUEUE: u16 = 6;
    pub(in super::super) const ISSUE: u16 = 7;
    pub(in super::super) const COMPLETE: u16 = 8;
    pub(in super::super) const INSERT: u16 = 12;
    pub(in super::super) const SPLIT: u16 = 13;
    pub(in super::super) const REMAP: u16 = 15;
}

/// To what kind of request: one bit each.
pub(super) mod category {
    pub(in super::super) const READ: u32 = 1;
    pub(in super::super) const WRITE: u32 = 1 << 1;
    pub(in super::super) const FLUSH: u32 = 1 << 2;
    pub(in super::super) const SYNC: u32 = 1 << 3;
    pub(in super::super) const QUEUE: u32 = 1 << 4;
    pub(in super::super) const ISSUE: u32 = 1 << 6;
    pub(in super::super) const COMPLETE: u32 = 1 << 7;
    pub(in super::super) const PASSTHROUGH: u32 = 1 << 9;
    pub(in super::super) const NOTIFY: u32 = 1 << 10;
    pub(in super::super) const AHEAD: u32 = 1 << 11;
    pub(in super::super) const META: u32 = 1 << 12;
    pub(in super::super) const DISCARD: u32 = 1 << 13;
    pub(in super::super) const FUA: u32 = 1 << 15;
    pub(in super::super) const ZONE_APPEND: u32 = 1 << 16;
    /// Reset, reset all, finish, open, close: they move no data.
    pub(in super::super) const ZONE_MANAGEMENT: u32 = 0x1f << 17;
}

/// Actions of notify records.
pub(super) mod notify {
    pub(in super::super) const PROCESS: u16 = 0;
    pub(in super::super) const TIMESTAMP: u16 = 1;
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// ns on the trace's clock.
    pub(super) time: u64,
    pub(super) sector: u64,
    /// What the payload says: where a split part begins, the device and so on; by action.
    pub(super) detail: u64,
    pub(super) bytes: u32,
    pub(super) category: u32,
    pub(super) pid: u32,
    /// `major << 20 | minor`.
    pub(super) device: u32,
    pub(super) cpu: u32,
    pub(super) sequence: u32,
    pub(super) action: u16,
    /// Whether it carries an error; asked of completions alone.
    pub(super) failed: bool,
}

/// The order of events: time, and where the clock did not move, processor and its count.
pub(super) type Key = (u64, u32, u32);

impl Event {
    pub(super) fn key(&self) -> Key {
        (self.time, self.cpu, self.sequence)
    }

    pub(super) fn is(&self, bits: u32) -> bool {
        self.category & bits != 0
    }
}

/// Whether the bytes begin with a blktrace magic of a known version.
pub(super) fn is_blktrace(bytes: &[u8]) -> bool {
    Encoding::of(bytes).is_some()
}

/// Byte order and version of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Encoding {
    big: bool,
    version: u8,
}

impl Encoding {
    fn of(bytes: &[u8]) -> Option<Encoding> {
        let magic = u32::from_le_bytes(bytes.get(..4)?.try_into().expect("4 bytes"));
        let known = |magic: u32| magic & !0xff == MAGIC && matches!(magic & 0xff, 7 | 8);
        if known(magic) {
            Some(Encoding {
                big: false,
                version: magic as u8,
            })
        } else if known(magic.swap_bytes()) {
            Some(Encoding {
                big: true,
                version: magic.swap_bytes() as u8,
            })
        } else {
            None
        }
    }

    fn header_bytes(self) -> usize {
        if self.version == 7 {
            V7_BYTES
        } else {
            V8_BYTES
        }
    }
}

/// Fields of a record in its byte order.
struct Fields<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl Fields<'_> {
    #[inline]
    fn u16(&self, at: usize) -> u16 {
        let raw = u16::from_le_bytes(self.bytes[at..at + 2].try_into().expect("2 bytes"));
        if self.big { raw.swap_bytes() } else { raw }
    }

    #[inline]
    fn u32(&self, at: usize) -> u32 {
        let raw = u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("4 bytes"));
        if self.big { raw.swap_bytes() } else { raw }
    }

    #[inline]
    fn u64(&self, at: usize) -> u64 {
        let raw = u64::from_le_bytes(self.bytes[at..at + 8].try_into().expect("8 bytes"));
        if self.big { raw.swap_bytes() } else { raw }
    }
}

/// Turns the bytes of one stream into events.
#[derive(Default)]
pub(super) struct Parser {
    strict: bool,
    /// Version of the first record.
    version: Option<u8>,
    /// Byte order, from the first record.
    big: Option<bool>,
    /// Bytes used up.
    position: u64,
    /// Whether the last bytes were passed over and counted.
    lost_track: bool,
    /// Unix time of the trace clock's 0 in ns, from the first time stamp record.
    pub(super) epoch_unix_ns: Option<i64>,
}

impl Parser {
    pub(super) fn new(strict: bool) -> Parser {
        Parser {
            strict,
            ..Parser::default()
        }
    }

    /// As [`Decoder::decode`](crate::Decoder::decode), with events instead of requests.
    pub(super) fn parse(
        &mut self,
        bytes: &[u8],
        last: bool,
        events: &mut Vec<Event>,
        out: &mut Sink,
    ) -> Result<usize, TraceError> {
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            let Some(encoding) = self.encoding(rest) else {
                let skipped = self.skip(rest, last, at, out)?;
                at += skipped;
                if skipped == 0 || at == bytes.len() {
                    break;
                }
                continue;
            };
            let header = encoding.header_bytes();
            let fields = Fields {
                bytes: rest,
                big: encoding.big,
            };
            let whole = match rest.len() >= header {
                true => header + usize::from(fields.u16(if header == V7_BYTES { 46 } else { 50 })),
                false => header,
            };
            if rest.len() < whole {
                if last {
                    self.cut(at, rest.len(), whole, out);
                    at = bytes.len();
                }
                break;
            }
            self.lost_track = false;
            if self.version.is_none() {
                self.version = Some(encoding.version);
                out.version = Some(encoding.version.to_string());
            }
            let event = event_of(&fields, encoding.version);
            let payload = &rest[header..whole];
            self.take(event, payload, encoding, events, out);
            at += whole;
        }
        self.position += at as u64;
        Ok(at)
    }

    /// The encoding of the record that starts here, if one does in the byte order of the stream.
    #[inline]
    fn encoding(&mut self, bytes: &[u8]) -> Option<Encoding> {
        let encoding = Encoding::of(bytes)?;
        let big = *self.big.get_or_insert(encoding.big);
        (encoding.big == big).then_some(encoding)
    }

    /// Passes over bytes that are no record; 0 when more are needed to tell.
    #[cold]
    fn skip(
        &mut self,
        rest: &[u8],
        last: bool,
        at: usize,
        out: &mut Sink,
    ) -> Result<usize, TraceError> {
        if rest.is_empty() || (rest.len() < 4 && !last) {
            return Ok(0);
        }
        if rest.len() < 4 && !self.lost_track {
            self.cut(at, rest.len(), V7_BYTES, out);
            return Ok(rest.len());
        }
        if !self.lost_track {
            let what = format!("byte {}: no blktrace magic", self.position + at as u64);
            if self.strict {
                return Err(TraceError::unfit(what));
            }
            out.anomalies.note(Anomaly::BadRecord, || what);
            self.lost_track = true;
        }
        let next = (1..rest.len().saturating_sub(3)).find(|from| {
            Encoding::of(&rest[*from..])
                .is_some_and(|found| self.big.is_none_or(|big| big == found.big))
        });
        // The last three bytes may be the start of a magic.
        Ok(next.unwrap_or(if last { rest.len() } else { rest.len() - 3 }))
    }

    #[cold]
    fn cut(&self, at: usize, there: usize, whole: usize, out: &mut Sink) {
        let position = self.position + at as u64;
        out.anomalies.note(Anomaly::Truncated, || {
            format!("byte {position}: {there} bytes of a record of {whole}")
        });
    }

    /// Adds what the payload says and passes the event on.
    #[inline]
    fn take(
        &mut self,
        mut event: Event,
        payload: &[u8],
        encoding: Encoding,
        events: &mut Vec<Event>,
        out: &mut Sink,
    ) {
        if event.is(category::NOTIFY) {
            if self.note(&mut event, payload, encoding, out) {
                events.push(event);
            }
            return;
        }
        if matches!(event.action, act::SPLIT | act::REMAP) {
            let payload = own_payload(&event, payload);
            let Some(detail) = payload.get(..8) else {
                return;
            };
            // A split tells where its second part begins, a remap the devices it goes from and to.
            event.detail = u64::from_be_bytes(detail.try_into().expect("8 bytes"));
        }
        event.action &= !(CGROUP as u16);
        events.push(event);
    }

    /// Notes: a process' name becomes a client, a time stamp the epoch. True when the event matters
    /// later.
    fn note(
        &mut self,
        event: &mut Event,
        payload: &[u8],
        encoding: Encoding,
        out: &mut Sink,
    ) -> bool {
        let payload = own_payload(event, payload);
        event.action &= !(CGROUP as u16);
        match event.action {
            notify::PROCESS => {
                let name = payload.split(|byte| *byte == 0).next().unwrap_or(b"");
                event.detail = u64::from(out.clients.intern(name));
                !name.is_empty()
            }
            notify::TIMESTAMP if payload.len() >= 8 && self.epoch_unix_ns.is_none() => {
                let fields = Fields {
                    bytes: payload,
                    big: encoding.big,
                };
                let wall = i64::from(fields.u32(0)) * 1_000_000_000 + i64::from(fields.u32(4));
                self.epoch_unix_ns = i64::try_from(event.time).ok().map(|time| wall - time);
                false
            }
            _ => false,
        }
    }
}

/// The payload without the control group's number.
fn own_payload<'a>(event: &Event, payload: &'a [u8]) -> &'a [u8] {
    match u32::from(event.action) & CGROUP {
        0 => payload,
        _ => payload.get(CGROUP_BYTES..).unwrap_or(&[]),
    }
}

#[inline]
fn event_of(fields: &Fields<'_>, version: u8) -> Event {
    let (action, pid, device, cpu) = if version == 7 {
        (
            u64::from(fields.u32(28)),
            fields.u32(32),
            fields.u32(36),
            fields.u32(40),
        )
    } else {
        (
            fields.u64(32),
            fields.u32(28),
            fields.u32(40),
            fields.u32(44),
        )
    };
    Event {
        time: fields.u64(8),
        sector: fields.u64(16),
        detail: 0,
        bytes: fields.u32(24),
        category: (action >> 16) as u32,
        pid,
        device,
        cpu,
        sequence: fields.u32(4),
        action: action as u16,
        failed: fields.u16(if version == 7 { 44 } else { 48 }) != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record from groups of 4 bytes in hexadecimal.
    pub(in super::super) fn bytes_of(hex: &str) -> Vec<u8> {
        let digits: String = hex.split_whitespace().collect();
        (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
            .collect()
    }

    const VECTOR_V7: &str = "07746165 02000000 dc050000 00000000 02690300 00000000 00100000 01001a00 b9020000 00008000 \
                             00000000 00000000";
    const VECTOR_V8: &str = "08746165 02000000 dc050000 00000000 02690300 00000000 00100000 b9020000 01001a00 00000000 \
                             01003010 03000000 00000000 00000000 00000000 00000000";

    fn parse(bytes: &[u8], parser: &mut Parser) -> (Vec<Event>, Sink) {
        let (mut events, mut sink) = (Vec::new(), Sink::default());
        assert_eq!(
            parser.parse(bytes, true, &mut events, &mut sink).unwrap(),
            bytes.len()
        );
        (events, sink)
    }

    fn event(device: u32, cpu: u32) -> Event {
        Event {
            time: 1500,
            sector: 223_490,
            detail: 0,
            bytes: 4096,
            category: category::WRITE | category::SYNC | category::QUEUE,
            pid: 697,
            device,
            cpu,
            sequence: 2,
            action: act::QUEUE,
            failed: false,
        }
    }

    /// The record as a host of the other byte order would have written it.
    fn swapped(record: &[u8], widths: &[usize]) -> Vec<u8> {
        let mut at = 0;
        let mut swapped = Vec::new();
        for width in widths {
            swapped.extend(record[at..at + width].iter().rev());
            at += width;
        }
        assert_eq!(at, record.len());
        swapped
    }

    #[test]
    fn the_test_vectors_in_both_byte_orders() {
        let (v7, v8) = (bytes_of(VECTOR_V7), bytes_of(VECTOR_V8));
        let big7 = swapped(&v7, &[4, 4, 8, 8, 4, 4, 4, 4, 4, 2, 2]);
        let big8 = swapped(&v8, &[4, 4, 8, 8, 4, 4, 8, 4, 4, 2, 2, 12]);
        assert_eq!((&big7[..4], &big8[..4]), (&b"eat\x07"[..], &b"eat\x08"[..]));
        for (bytes, version, expected) in [
            (&v7, "7", event(8 << 20, 0)),
            (&big7, "7", event(8 << 20, 0)),
            (&v8, "8", event(259 << 20 | 1, 3)),
            (&big8, "8", event(259 << 20 | 1, 3)),
        ] {
            assert!(is_blktrace(bytes));
            let (events, sink) = parse(bytes, &mut Parser::default());
            assert_eq!(events, [expected]);
            assert_eq!(sink.version.as_deref(), Some(version));
        }
    }

    #[test]
    fn garbage_between_records_is_counted_once() {
        let v7 = bytes_of(VECTOR_V7);
        let bytes = [&v7[..], b"garbage of 21 bytes..", &v7, &[9; 100], &v7[..47]].concat();
        let (events, sink) = parse(&bytes, &mut Parser::default());
        assert_eq!(events.len(), 2);
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 2);
        assert_eq!(sink.anomalies.of(Anomaly::Truncated), 1);
        assert_eq!(sink.anomalies.examples()[0].1, "byte 48: no blktrace magic");
        let strict = Parser::new(true).parse(&bytes, true, &mut Vec::new(), &mut Sink::default());
        assert!(strict.unwrap_err().to_string().contains("byte 48"));
    }

    #[test]
    fn a_payload_beyond_the_end_is_a_cut_record() {
        let mut v7 = bytes_of(VECTOR_V7);
        v7[46] = 200;
        let (events, sink) = parse(&v7, &mut Parser::default());
        assert!(events.is_empty());
        assert_eq!(sink.anomalies.of(Anomaly::Truncated), 1);
    }

    #[test]
    fn another_byte_order_amid_the_stream_is_garbage() {
        let v7 = bytes_of(VECTOR_V7);
        let big = swapped(&v7, &[4, 4, 8, 8, 4, 4, 4, 4, 4, 2, 2]);
        let (events, sink) = parse(&[v7.clone(), big, v7].concat(), &mut Parser::default());
        assert_eq!(
            (events.len(), sink.anomalies.of(Anomaly::BadRecord)),
            (2, 1)
        );
    }

    #[test]
    fn a_control_group_before_the_payload_is_passed_over() {
        let mut v7 = bytes_of(VECTOR_V7);
        v7[29] = 1;
        v7[46] = 8;
        v7.extend_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        let (events, _) = parse(&v7.repeat(2), &mut Parser::default());
        assert_eq!(events, [event(8 << 20, 0); 2]);
    }
}
