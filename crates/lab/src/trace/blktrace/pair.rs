//! From the events of the block layer to requests with the times the traced system took.
//!
//! A request arrives with its Q event. It may be merged with neighbours or split before the driver gets it (D) and answers
//! (C), and an answer may come in parts. All of that is followed by addresses: a request is one *piece* of a device at first, a
//! split cuts the piece, and an issue or a completion of a range walks over the pieces that lie in it one behind the other,
//! the oldest first where several begin at the same sector. So merges need no event of their own. A request has been answered
//! when all its pieces have; its service time runs from the last issue. Devices without issue (device mapper) have only a
//! response time.
//!
//! Requests wait here for their answer so that they go out in the order of arrival with all that is known, at most
//! [`HOLD_NS`] and [`HOLD_MAX`] requests. Cost: three hash operations a request.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use nearslot_core::rng::mix;

use super::event::{Event, act, category, notify};
use crate::trace::decode::{Anomaly, Sink};
use crate::trace::record::{Flags, Record, TraceOp};

/// Events that are sorted together: per-CPU buffers are only nearly in order.
const BLOCK_EVENTS: usize = 1024;

/// A request is given out without its answer after this long on the trace's clock.
const HOLD_NS: i64 = 10_000_000_000;

/// Requests that wait for their answer at most.
const HOLD_MAX: usize = 1 << 16;

/// Outstanding pieces with the same first sector at most; older ones are forgotten.
const SAME_START_MAX: usize = 64;

/// Sectors are 512 bytes.
const SECTOR_SHIFT: u32 = 9;

/// Where a piece begins: device, sector and direction.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Start {
    device: u32,
    class: u8,
    sector: u64,
}

impl std::hash::Hash for Start {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.sector ^ u64::from(self.device) << 34 ^ u64::from(self.class) << 62);
    }
}

/// The hash of core, which spreads sectors well and is the same everywhere.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0 ^ value);
    }
}

type Table<K, V> = HashMap<K, V, BuildHasherDefault<Mixed>>;

/// A part of a request that is outstanding.
#[derive(Clone, Copy)]
struct Piece {
    /// Number of the request.
    request: u64,
    bytes: u32,
    issued: Option<u64>,
}

impl Piece {
    /// Cuts it behind some whole sectors; gives the part that was cut off.
    fn cut(&mut self, bytes: u32) -> Option<Piece> {
        if bytes >> SECTOR_SHIFT == 0 || self.bytes <= bytes {
            return None;
        }
        let rest = Piece {
            bytes: self.bytes - bytes,
            ..*self
        };
        self.bytes = bytes;
        Some(rest)
    }
}

/// The pieces that begin at one place; nearly always one.
#[derive(Default)]
struct Pieces {
    first: Option<Piece>,
    more: Vec<Piece>,
}

impl Pieces {
    fn push(&mut self, piece: Piece) {
        match self.first {
            None => self.first = Some(piece),
            Some(_) => {
                if self.more.len() >= SAME_START_MAX {
                    self.first = Some(self.more.remove(0));
                }
                self.more.push(piece);
            }
        }
    }

    /// The oldest piece that was issued or was not.
    fn oldest(&mut self, issued: bool) -> Option<&mut Piece> {
        self.first
            .iter_mut()
            .chain(&mut self.more)
            .find(|piece| piece.issued.is_some() == issued)
    }

    /// Takes out the oldest issued piece, or the oldest of all.
    fn take_answered(&mut self) -> Option<Piece> {
        let first_fits = self.first.is_some_and(|piece| piece.issued.is_some());
        let at = self.more.iter().position(|piece| piece.issued.is_some());
        match at {
            Some(at) if !first_fits => Some(self.more.remove(at)),
            _ => {
                let next = (!self.more.is_empty()).then(|| self.more.remove(0));
                std::mem::replace(&mut self.first, next)
            }
        }
    }
}

/// A request that waits for its answer.
struct Waiting {
    record: Record,
    /// Bytes not yet answered.
    left: u32,
    done: bool,
}

/// The count of one processor's events on one device, to see what was lost.
struct Lane {
    first: u64,
    newest: u64,
    seen: u64,
}

/// Events in, requests out.
#[derive(Default)]
pub(super) struct Pairing {
    events: Vec<Event>,
    waiting: VecDeque<Waiting>,
    /// Number of the first that waits.
    first: u64,
    pieces: Table<Start, Pieces>,
    clients: Table<u32, u32>,
    last_client: Option<(u32, u32)>,
    devices: Table<u32, u32>,
    /// By device and processor.
    lanes: BTreeMap<(u32, u32), Lane>,
    stacked: BTreeSet<(u32, u32)>,
}

impl Pairing {
    /// Where events are appended; call [`Pairing::advance`] afterwards.
    pub(super) fn events(&mut self) -> &mut Vec<Event> {
        &mut self.events
    }

    /// Handles what is surely in order. Blocks are counted in events, so that the result does not depend on how the bytes came.
    pub(super) fn advance(&mut self, out: &mut Sink) {
        let mut from = 0;
        while self.events.len() - from >= 2 * BLOCK_EVENTS {
            sort(&mut self.events[from..from + 2 * BLOCK_EVENTS]);
            for at in from..from + BLOCK_EVENTS {
                let event = self.events[at];
                self.handle(&event, out);
            }
            from += BLOCK_EVENTS;
        }
        self.events.drain(..from);
    }

    /// No events follow.
    pub(super) fn finish(&mut self, out: &mut Sink) {
        sort(&mut self.events);
        for event in std::mem::take(&mut self.events) {
            self.handle(&event, out);
        }
        out.records
            .extend(self.waiting.drain(..).map(|waiting| waiting.record));
        self.pieces.clear();
        for ((device, cpu), lane) in std::mem::take(&mut self.lanes) {
            let lost = (lane.newest - lane.first + 1).saturating_sub(lane.seen);
            if lost > 0 {
                let name = device_name(device);
                out.anomalies.note(Anomaly::Lost, || {
                    format!("{lost} events of device {name} on processor {cpu}")
                });
                out.anomalies.add(Anomaly::Lost, lost - 1);
            }
        }
    }

    fn handle(&mut self, event: &Event, out: &mut Sink) {
        if event.is(category::NOTIFY) {
            if event.action == notify::PROCESS {
                self.clients.insert(event.pid, event.detail as u32);
                self.last_client = None;
            }
            return;
        }
        self.count(event);
        if event.is(category::PASSTHROUGH) {
            if event.action == act::ISSUE {
                out.anomalies.count(Anomaly::NotData);
            }
            return;
        }
        match event.action {
            act::QUEUE => self.arrive(event, out),
            act::ISSUE => self.mark(event, Some(event.time)),
            act::REQUEUE => self.mark(event, None),
            act::COMPLETE => self.answer(event),
            act::SPLIT => self.split(event),
            act::REMAP => self.remap(event, out),
            _ => {}
        }
    }

    /// Gaps in the count of a processor's events are losses.
    fn count(&mut self, event: &Event) {
        if event.sequence == 0 {
            return;
        }
        let first = 1 << 32 | u64::from(event.sequence);
        let lane = self.lanes.entry((event.device, event.cpu)).or_insert(Lane {
            first,
            newest: first,
            seen: 0,
        });
        // The count has 32 bits and wraps: take the value next to the newest.
        let ahead = event.sequence.wrapping_sub(lane.newest as u32) as i32;
        let number = lane.newest.saturating_add_signed(i64::from(ahead));
        lane.newest = lane.newest.max(number);
        lane.first = lane.first.min(number);
        lane.seen += 1;
    }

    fn arrive(&mut self, event: &Event, out: &mut Sink) {
        let number = self.first + self.waiting.len() as u64;
        let record = Record {
            client: self.client(event.pid, out),
            flags: flags_of(event),
            ..Record::new(
                time_of(event),
                op_of(event),
                offset_of(event),
                len_of(event),
                self.device(event.device, out),
            )
        };
        self.waiting.push_back(Waiting {
            record,
            left: event.bytes,
            done: false,
        });
        let piece = Piece {
            request: number,
            bytes: event.bytes,
            issued: None,
        };
        self.pieces
            .entry(start_of(event, event.sector))
            .or_default()
            .push(piece);
        self.release(record.ts, out);
    }

    /// The driver got a range, or gave it back.
    fn mark(&mut self, event: &Event, issued: Option<u64>) {
        let mut sector = event.sector;
        let mut left = event.bytes;
        loop {
            let pieces = self.pieces.get_mut(&start_of(event, sector));
            let Some(piece) = pieces.and_then(|pieces| pieces.oldest(issued.is_none())) else {
                return;
            };
            let rest = piece.cut(left);
            piece.issued = issued;
            let bytes = piece.bytes;
            left -= bytes.min(left);
            sector = sector.saturating_add(u64::from(bytes >> SECTOR_SHIFT));
            if let Some(rest) = rest {
                self.pieces
                    .entry(start_of(event, sector))
                    .or_default()
                    .push(rest);
            }
            if left == 0 || bytes == 0 {
                return;
            }
        }
    }

    /// A range is answered.
    fn answer(&mut self, event: &Event) {
        let mut sector = event.sector;
        let mut left = event.bytes;
        loop {
            let start = start_of(event, sector);
            let Some(pieces) = self.pieces.get_mut(&start) else {
                return;
            };
            let Some(mut piece) = pieces.take_answered() else {
                return;
            };
            if pieces.first.is_none() {
                self.pieces.remove(&start);
            }
            let rest = piece.cut(left);
            self.answer_piece(event, &piece);
            left -= piece.bytes.min(left);
            sector = sector.saturating_add(u64::from(piece.bytes >> SECTOR_SHIFT));
            if let Some(rest) = rest {
                self.pieces
                    .entry(start_of(event, sector))
                    .or_default()
                    .push(rest);
            }
            if left == 0 || piece.bytes == 0 {
                return;
            }
        }
    }

    fn answer_piece(&mut self, event: &Event, piece: &Piece) {
        let Some(at) = piece.request.checked_sub(self.first) else {
            return;
        };
        let Some(waiting) = self.waiting.get_mut(at as usize) else {
            return;
        };
        waiting.left = waiting.left.saturating_sub(piece.bytes);
        if waiting.left == 0 && !waiting.done {
            waiting.done = true;
            waiting.record.response_ns =
                event.time.saturating_sub(waiting.record.ts.unsigned_abs());
            if let Some(issued) = piece.issued {
                waiting.record.service_ns = event.time.saturating_sub(issued);
            }
        }
    }

    /// A request is cut in two before it is issued; the event tells where the second part begins.
    fn split(&mut self, event: &Event) {
        let bytes = event
            .detail
            .saturating_sub(event.sector)
            .saturating_mul(512);
        let Ok(bytes) = u32::try_from(bytes) else {
            return;
        };
        let pieces = self.pieces.get_mut(&start_of(event, event.sector));
        if let Some(rest) = pieces.and_then(|pieces| pieces.oldest(false)?.cut(bytes)) {
            self.pieces
                .entry(start_of(event, event.detail))
                .or_default()
                .push(rest);
        }
    }

    /// Requests that pass from a traced device to another show up on both.
    fn remap(&mut self, event: &Event, out: &mut Sink) {
        let (from, to) = ((event.detail >> 32) as u32, event.detail as u32);
        if from != to && self.devices.contains_key(&from) && self.stacked.insert((from, to)) {
            out.note(format!(
                "device {} passes its requests on to {}: they are there twice, so choose one device",
                device_name(from),
                device_name(to)
            ));
        }
    }

    /// Gives out from the front what is answered or has waited too long.
    fn release(&mut self, now: i64, out: &mut Sink) {
        while let Some(front) = self.waiting.front() {
            let old =
                now.saturating_sub(front.record.ts) > HOLD_NS || self.waiting.len() > HOLD_MAX;
            if !front.done && !old {
                break;
            }
            out.records.push(front.record);
            self.waiting.pop_front();
            self.first += 1;
        }
        if self.pieces.len() > 4 * HOLD_MAX {
            let first = self.first;
            self.pieces.retain(|_, pieces| {
                pieces.more.retain(|piece| piece.request >= first);
                if pieces.first.is_some_and(|piece| piece.request < first) {
                    pieces.first = (!pieces.more.is_empty()).then(|| pieces.more.remove(0));
                }
                pieces.first.is_some()
            });
        }
    }

    fn client(&mut self, pid: u32, out: &mut Sink) -> u32 {
        if let Some((last, client)) = self.last_client
            && last == pid
        {
            return client;
        }
        let client = *self
            .clients
            .entry(pid)
            .or_insert_with(|| out.clients.intern(format!("pid {pid}").as_bytes()));
        self.last_client = Some((pid, client));
        client
    }

    fn device(&mut self, device: u32, out: &mut Sink) -> u32 {
        *self
            .devices
            .entry(device)
            .or_insert_with(|| out.devices.intern(device_name(device).as_bytes()))
    }
}

fn sort(events: &mut [Event]) {
    if !events.is_sorted_by_key(Event::key) {
        events.sort_by_key(Event::key);
    }
}

/// `major:minor`.
fn device_name(device: u32) -> String {
    format!("{}:{}", device >> 20, device & 0xf_ffff)
}

fn start_of(event: &Event, sector: u64) -> Start {
    Start {
        device: event.device,
        class: op_of(event) as u8,
        sector,
    }
}

/// Times beyond what a request can have are refused by the common rules.
fn time_of(event: &Event) -> i64 {
    i64::try_from(event.time).unwrap_or(i64::MAX)
}

fn offset_of(event: &Event) -> u64 {
    match event.sector.checked_mul(512) {
        Some(offset) => offset,
        // Empty flushes carry sector -1 or whatever the structure held.
        None if event.bytes == 0 => 0,
        None => u64::MAX,
    }
}

fn len_of(event: &Event) -> u64 {
    match op_of(event) {
        TraceOp::Other => 0,
        _ => u64::from(event.bytes),
    }
}

fn op_of(event: &Event) -> TraceOp {
    if event.is(category::ZONE_MANAGEMENT) {
        TraceOp::Other
    } else if event.is(category::DISCARD) {
        TraceOp::Discard
    } else if event.is(category::FLUSH) && event.bytes == 0 {
        TraceOp::Flush
    } else if event.is(category::WRITE | category::ZONE_APPEND) {
        TraceOp::Write
    } else if event.bytes > 0 {
        TraceOp::Read
    } else {
        TraceOp::Other
    }
}

fn flags_of(event: &Event) -> Flags {
    let preflush = event.is(category::FLUSH) && event.bytes > 0;
    [
        (event.is(category::FUA), Flags::FUA),
        (preflush, Flags::PREFLUSH),
        (event.is(category::SYNC), Flags::SYNC),
        (event.is(category::META), Flags::METADATA),
        (event.is(category::AHEAD), Flags::READAHEAD),
    ]
    .into_iter()
    .filter(|(set, _)| *set)
    .fold(Flags::default(), |flags, (_, flag)| flags.with(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SDA: u32 = 8 << 20;
    const UNKNOWN: u64 = Record::UNKNOWN;

    /// An event of a write on processor 0.
    fn event(time: u64, action: u16, sector: u64, sectors: u32) -> Event {
        Event {
            time,
            sector,
            detail: 0,
            bytes: sectors * 512,
            category: category::WRITE,
            pid: 1,
            device: SDA,
            cpu: 0,
            sequence: 0,
            action,
        }
    }

    fn run(events: &[Event]) -> Sink {
        let (mut pairing, mut sink) = (Pairing::default(), Sink::default());
        for event in events {
            pairing.events().push(*event);
            pairing.advance(&mut sink);
        }
        pairing.finish(&mut sink);
        sink
    }

    /// (service, response) of each request.
    fn times(events: &[Event]) -> Vec<(u64, u64)> {
        run(events)
            .records
            .iter()
            .map(|record| (record.service_ns, record.response_ns))
            .collect()
    }

    #[test]
    fn a_request_has_service_and_response() {
        let events = [
            event(10, act::QUEUE, 8, 8),
            event(15, act::ISSUE, 8, 8),
            event(40, act::COMPLETE, 8, 8),
        ];
        assert_eq!(times(&events), [(25, 30)]);
    }

    #[test]
    fn a_completion_of_the_other_direction_is_not_mine() {
        let mut read = event(40, act::COMPLETE, 8, 8);
        read.category = category::READ;
        assert_eq!(
            times(&[
                event(10, act::QUEUE, 8, 8),
                event(15, act::ISSUE, 8, 8),
                read
            ]),
            [(UNKNOWN, UNKNOWN)]
        );
    }

    #[test]
    fn merged_requests_share_issue_and_completion() {
        // The second goes behind the first, the third in front of it.
        let events = [
            event(10, act::QUEUE, 16, 8),
            event(11, act::QUEUE, 24, 8),
            event(12, act::QUEUE, 8, 8),
            event(20, act::ISSUE, 8, 24),
            event(50, act::COMPLETE, 8, 24),
        ];
        assert_eq!(times(&events), [(30, 40), (30, 39), (30, 38)]);
    }

    #[test]
    fn a_partial_completion_moves_on() {
        let events = [
            event(10, act::QUEUE, 8, 8),
            event(11, act::QUEUE, 16, 8),
            event(20, act::ISSUE, 8, 16),
            event(30, act::COMPLETE, 8, 12),
            event(45, act::COMPLETE, 20, 4),
        ];
        assert_eq!(times(&events), [(10, 20), (25, 34)]);
    }

    #[test]
    fn a_split_request_is_done_when_both_parts_are() {
        let split = Event {
            detail: 264,
            ..event(11, act::SPLIT, 8, 512)
        };
        let events = [
            event(10, act::QUEUE, 8, 512),
            split,
            event(20, act::ISSUE, 264, 256),
            event(21, act::ISSUE, 8, 256),
            event(40, act::COMPLETE, 264, 256),
            event(60, act::COMPLETE, 8, 256),
        ];
        assert_eq!(times(&events), [(39, 50)]);
        let sink = run(&events);
        assert_eq!((sink.records.len(), sink.records[0].len), (1, 512 * 512));
    }

    #[test]
    fn a_split_without_its_event_is_followed_by_the_issue() {
        let events = [
            event(10, act::QUEUE, 8, 512),
            event(20, act::ISSUE, 8, 256),
            event(21, act::ISSUE, 264, 256),
            event(60, act::COMPLETE, 8, 256),
            event(70, act::COMPLETE, 264, 256),
        ];
        assert_eq!(times(&events), [(49, 60)]);
    }

    #[test]
    fn a_requeued_request_counts_its_last_issue() {
        let events = [
            event(10, act::QUEUE, 8, 8),
            event(20, act::ISSUE, 8, 8),
            event(25, act::REQUEUE, 8, 8),
            event(30, act::ISSUE, 8, 8),
            event(45, act::COMPLETE, 8, 8),
        ];
        assert_eq!(times(&events), [(15, 35)]);
    }

    #[test]
    fn requests_for_the_same_place_are_served_in_turn() {
        let events = [
            event(10, act::QUEUE, 8, 8),
            event(11, act::QUEUE, 8, 8),
            event(20, act::ISSUE, 8, 8),
            event(22, act::ISSUE, 8, 8),
            event(40, act::COMPLETE, 8, 8),
            event(70, act::COMPLETE, 8, 8),
        ];
        assert_eq!(times(&events), [(20, 30), (48, 59)]);
    }

    #[test]
    fn a_device_without_issue_still_answers() {
        assert_eq!(
            times(&[event(10, act::QUEUE, 8, 8), event(40, act::COMPLETE, 8, 8)]),
            [(UNKNOWN, 30)]
        );
    }

    #[test]
    fn order_is_that_of_arrival_also_when_buffers_are_not() {
        let events = [
            event(40, act::COMPLETE, 8, 8),
            event(12, act::QUEUE, 99, 8),
            event(10, act::QUEUE, 8, 8),
            event(15, act::ISSUE, 8, 8),
        ];
        assert_eq!(times(&events), [(25, 30), (UNKNOWN, UNKNOWN)]);
    }

    #[test]
    fn equal_times_are_ordered_by_processor_and_count() {
        let at = |cpu, sequence, sector| Event {
            cpu,
            sequence,
            ..event(10, act::QUEUE, sector, 8)
        };
        let sink = run(&[at(1, 1, 30), at(0, 2, 20), at(0, 1, 10)]);
        let sectors: Vec<u64> = sink
            .records
            .iter()
            .map(|record| record.offset / 512)
            .collect();
        assert_eq!(sectors, [10, 20, 30]);
    }

    #[test]
    fn gaps_in_the_count_of_a_processor_are_losses() {
        let at = |cpu, device, sequence| Event {
            cpu,
            device,
            sequence,
            ..event(10, act::QUEUE, 8, 8)
        };
        let sink = run(&[
            at(0, SDA, 1),
            at(0, SDA, 2),
            at(0, SDA, 5),
            at(1, SDA, 9),
            at(0, SDA + 1, 3),
            at(1, SDA, 10),
        ]);
        assert_eq!(sink.anomalies.of(Anomaly::Lost), 2);
        let wrapped = run(&[
            at(0, SDA, u32::MAX - 1),
            at(0, SDA, u32::MAX),
            at(0, SDA, 1),
        ]);
        // A count of 0 is a note's, but the counter itself passes it.
        assert_eq!(wrapped.anomalies.of(Anomaly::Lost), 1);
    }

    #[test]
    fn names_of_processes_are_clients() {
        let mut sink = Sink::default();
        let fio = sink.clients.intern(b"fio");
        let mut pairing = Pairing::default();
        let note = Event {
            category: category::NOTIFY,
            action: notify::PROCESS,
            detail: u64::from(fio),
            ..event(5, 0, 0, 0)
        };
        let other = Event {
            pid: 77,
            ..event(11, act::QUEUE, 16, 8)
        };
        pairing
            .events()
            .extend([note, event(10, act::QUEUE, 8, 8), other]);
        pairing.finish(&mut sink);
        let clients: Vec<&str> = sink
            .records
            .iter()
            .map(|record| sink.clients.all()[record.client as usize].as_str())
            .collect();
        assert_eq!(clients, ["fio", "pid 77"]);
    }

    #[test]
    fn categories_become_operations() {
        for (bits, bytes, op) in [
            (category::READ, 512, TraceOp::Read),
            (category::WRITE, 512, TraceOp::Write),
            (category::WRITE | category::FLUSH, 512, TraceOp::Write),
            (category::FLUSH | category::WRITE, 0, TraceOp::Flush),
            (category::DISCARD | category::WRITE, 512, TraceOp::Discard),
            (category::ZONE_APPEND, 512, TraceOp::Write),
            (category::WRITE | 1 << 17, 0, TraceOp::Other),
            (category::SYNC, 0, TraceOp::Other),
        ] {
            let queued = Event {
                category: bits,
                bytes,
                ..event(1, act::QUEUE, 8, 8)
            };
            let record = run(&[queued]).records[0];
            assert_eq!(record.op, op, "{bits:x}");
            assert_eq!(
                record.flags.has(Flags::PREFLUSH),
                bits & category::FLUSH != 0 && bytes > 0
            );
        }
    }

    #[test]
    fn passthrough_and_remaps_are_no_arrivals() {
        let passthrough = Event {
            category: category::PASSTHROUGH,
            ..event(10, act::ISSUE, 0, 8)
        };
        let queued = Event {
            category: category::PASSTHROUGH,
            ..event(9, act::QUEUE, 0, 8)
        };
        let dm = Event {
            device: 253 << 20,
            ..event(1, act::QUEUE, 8, 8)
        };
        let detail = u64::from(253_u32 << 20) << 32 | u64::from(SDA);
        let remap = Event {
            detail,
            ..event(2, act::REMAP, 8, 8)
        };
        let sink = run(&[
            dm,
            remap,
            event(3, act::QUEUE, 2056, 8),
            queued,
            passthrough,
        ]);
        assert_eq!(sink.records.len(), 2);
        assert_eq!(sink.devices.all(), ["253:0", "8:0"]);
        assert_eq!(sink.anomalies.of(Anomaly::NotData), 1);
        assert!(
            sink.notes[0].contains("253:0 passes its requests on to 8:0"),
            "{:?}",
            sink.notes
        );
    }

    #[test]
    fn a_lost_answer_does_not_hold_back_the_rest() {
        let mut events = vec![event(10, act::QUEUE, 8, 8)];
        for i in 0..(HOLD_MAX as u64 + 2 * BLOCK_EVENTS as u64) {
            events.push(event(100 + i, act::QUEUE, 1000 + 8 * i, 8));
        }
        let (mut pairing, mut sink) = (Pairing::default(), Sink::default());
        pairing.events().extend(&events);
        pairing.advance(&mut sink);
        assert!(!sink.records.is_empty());
        pairing.finish(&mut sink);
        assert_eq!(sink.records.len(), events.len());
        assert!(sink.records.is_sorted_by_key(|record| record.ts));
    }
}
