//! From the events of a blktrace to requests: order, names, losses; the pairing is that of every
//! tracer of the block layer.
//!
//! Events of one processor are only nearly in order (an interrupt may be stamped later and stored
//! earlier), so they are sorted in blocks by time, processor and count. A gap in a processor's
//! count is a loss. Process notes name clients, and devices are `major:minor`.

use std::collections::{BTreeMap, BTreeSet};

use super::event::{Event, act, category, notify};
use crate::decode::{Anomaly, Sink, TimeKind};
use crate::pairing::{Pairing, Step};
use crate::record::{Flags, Record, TraceOp};

/// Events that are sorted together, twice this many at a time.
const BLOCK_EVENTS: usize = 1024;

/// Sectors are 512 bytes.
const SECTOR_BYTES: u64 = 512;

/// The count of one processor's events on one device.
struct Lane {
    first: u64,
    newest: u64,
    seen: u64,
}

/// Events in, requests out.
#[derive(Default)]
pub(super) struct Requests {
    events: Vec<Event>,
    pairing: Pairing,
    /// Clients by process.
    clients: BTreeMap<u32, u32>,
    last_client: Option<(u32, u32)>,
    /// Numbers of devices by the kernel's number.
    devices: BTreeMap<u32, u32>,
    last_device: Option<(u32, u32)>,
    /// By device and processor.
    lanes: BTreeMap<(u32, u32), Lane>,
    /// Pairs of devices of which one passes its requests on to the other.
    stacked: BTreeSet<(u32, u32)>,
}

impl Requests {
    /// Where events are appended; call [`Requests::advance`] afterwards.
    pub(super) fn events(&mut self) -> &mut Vec<Event> {
        &mut self.events
    }

    /// Handles what is surely in order. Blocks are counted in events, so that the result does not
    /// depend on how the bytes came.
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
        self.pairing.finish(out);
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

    /// What the requests' times are.
    pub(super) fn kind(&self) -> TimeKind {
        self.pairing.kind()
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
        let step = match event.action {
            act::QUEUE => Step::Queue,
            act::ISSUE => Step::Issue,
            act::COMPLETE => Step::Complete,
            act::REQUEUE => {
                let range = self.range(event, out);
                return self.pairing.requeue(&range);
            }
            act::SPLIT => {
                let range = self.range(event, out);
                return self
                    .pairing
                    .split(&range, event.detail.saturating_mul(SECTOR_BYTES));
            }
            act::REMAP => return self.remap(event, out),
            _ => return,
        };
        let mut record = self.range(event, out);
        if self.pairing.may_arrive(step) {
            record.client = self.client(event.pid, out);
            record.flags = flags_of(event);
        }
        if step == Step::Complete && event.failed {
            record.flags = record.flags.with(Flags::FAILED);
            out.anomalies.count(Anomaly::Failed);
        }
        self.pairing.event(step, record, out);
    }

    /// Gaps in the count of a processor's events are losses. Notes are not counted.
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
        let ahead = event
            .sequence
            .wrapping_sub(lane.newest as u32)
            .cast_signed();
        let number = lane.newest.saturating_add_signed(i64::from(ahead));
        lane.newest = lane.newest.max(number);
        lane.first = lane.first.min(number);
        lane.seen += 1;
    }

    /// When, where and in which direction; not by whom.
    fn range(&mut self, event: &Event, out: &mut Sink) -> Record {
        let op = op_of(event);
        // Times and places beyond what a request can have are refused by the rules for every
        // format.
        let ts = i64::try_from(event.time).unwrap_or(i64::MAX);
        let offset = match event.sector.checked_mul(SECTOR_BYTES) {
            Some(offset) => offset,
            // Empty flushes carry sector -1 or whatever the structure held.
            None if event.bytes == 0 => 0,
            None => u64::MAX,
        };
        let len = if op == TraceOp::Other {
            0
        } else {
            u64::from(event.bytes)
        };
        Record::new(ts, op, offset, len, self.device(event.device, out))
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

    fn client(&mut self, pid: u32, out: &mut Sink) -> u32 {
        if let Some((last, client)) = self.last_client
            && last == pid
        {
            return client;
        }
        // Process 0 is the idle one. Without a note of its name it stands for nobody, as what we
        // write of unknown clients does.
        let named = || match pid {
            0 => 0,
            _ => out.clients.intern(format!("pid {pid}").as_bytes()),
        };
        let client = *self.clients.entry(pid).or_insert_with(named);
        self.last_client = Some((pid, client));
        client
    }

    fn device(&mut self, device: u32, out: &mut Sink) -> u32 {
        if let Some((last, number)) = self.last_device
            && last == device
        {
            return number;
        }
        let named = || out.devices.intern(device_name(device).as_bytes());
        let number = *self.devices.entry(device).or_insert_with(named);
        self.last_device = Some((device, number));
        number
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
            failed: false,
        }
    }

    fn run(events: &[Event]) -> Sink {
        let (mut requests, mut sink) = (Requests::default(), Sink::default());
        for event in events {
            requests.events().push(*event);
            requests.advance(&mut sink);
        }
        requests.finish(&mut sink);
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
    fn splits_requeues_and_merges_are_passed_on() {
        let split = Event {
            detail: 264,
            ..event(11, act::SPLIT, 8, 512)
        };
        let events = [
            event(10, act::QUEUE, 8, 512),
            split,
            event(12, act::QUEUE, 520, 8),
            event(20, act::ISSUE, 264, 264),
            event(21, act::ISSUE, 8, 256),
            event(22, act::REQUEUE, 8, 256),
            event(30, act::ISSUE, 8, 256),
            event(40, act::COMPLETE, 264, 264),
            event(60, act::COMPLETE, 8, 256),
        ];
        assert_eq!(times(&events), [(30, 50), (20, 28)]);
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
        let mut requests = Requests::default();
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
        requests
            .events()
            .extend([note, event(10, act::QUEUE, 8, 8), other]);
        requests.finish(&mut sink);
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
}
