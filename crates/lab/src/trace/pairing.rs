//! From events of the block layer to requests: which event is the arrival, and which completion ends it.
//!
//! A tracer sees a request several times: queued, issued to the driver, completed. The first kind of event that the trace
//! holds makes the records; the later kinds only tell how long they took:
//!
//! ```text
//!   Queue       a bio reaches the block layer                 the arrival
//!   Start       a request is made of it, before the scheduler  next best, merged bios are lost
//!   Issue       the scheduler gives it to the driver           the scheduler's delay is lost
//!   Complete    the device is done                             only the rate is left
//! ```
//!
//! Events meet by device, direction and first byte, first in, first out. An issued or completed request may consist of
//! several bios that were merged: they lie side by side, so the walk goes on at the end of each. A completion
//! that is shorter than its bio is a partial one, and the bio waits for the rest at the address where it goes on.
//!
//! A record is held until it is complete, in the order of arrival, but no more than [`HELD_MAX`] of them: then
//! the eldest goes without its times. A flush has no address to meet at and does not wait.
//!
//! Source: Linux `block/blk-core.c`, `block/blk-merge.c`; `blktrace` documentation. Cost: one hash look-up an event.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use super::decode::{Sink, TimeKind};
use super::record::Record;

/// Requests that wait for their completion: more than any device has outstanding, few enough for the cache.
const HELD_MAX: usize = 1 << 14;

/// Events that are looked at for the choice of the arrival. A trace of queued bios holds one among the first few.
const UNDECIDED_MAX: usize = 1 << 12;

/// What happened, the best arrival first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// It came to the block layer.
    Queue,
    /// It became a request.
    Start,
    /// It was given to the driver.
    Issue,
    /// The device has done it.
    Complete,
}

/// Makes records of events.
#[derive(Default)]
pub(super) struct Pairing {
    /// The step that makes records, once it is decided.
    arrival: Option<Step>,
    /// Events before the decision.
    undecided: Vec<(Step, Record)>,
    /// Records that wait, eldest first.
    held: VecDeque<Held>,
    /// Number of the eldest; numbers count all that were ever held.
    eldest: u64,
    /// First and last of those that wait at an address.
    open: HashMap<Place, Chain, BuildHasherDefault<PlaceHasher>>,
    /// A better kind of arrival came after the decision.
    late: bool,
}

struct Held {
    record: Record,
    issued: Option<i64>,
    /// Bytes that are not complete yet.
    left: u64,
    /// The next one that waits at the same address.
    next: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    at: u64,
    dev_and_op: u64,
}

#[derive(Clone, Copy)]
struct Chain {
    first: u64,
    last: u64,
}

impl Place {
    fn of(record: &Record, at: u64) -> Place {
        Place {
            at,
            dev_and_op: u64::from(record.dev) << 8 | record.op as u64,
        }
    }
}

impl Pairing {
    /// Takes an event: of a completion, `ts`, place, length and direction count.
    pub(super) fn event(&mut self, step: Step, record: Record, out: &mut Sink) {
        match self.arrival {
            Some(arrival) => self.take(arrival, step, record, out),
            None => {
                self.undecided.push((step, record));
                if step == Step::Queue || self.undecided.len() == UNDECIDED_MAX {
                    self.decide(out);
                }
            }
        }
    }

    /// Whether events of this step make records, as far as is known; who caused the others need not be looked up.
    pub(super) fn may_arrive(&self, step: Step) -> bool {
        self.arrival.is_none_or(|arrival| arrival == step)
    }

    /// No event follows: gives what is held, and says what the times are.
    pub(super) fn finish(&mut self, out: &mut Sink) {
        self.decide(out);
        let held = self.held.drain(..).map(|held| held.record);
        out.records.extend(held);
        self.open.clear();
        if self.late {
            out.note("some arrivals came late in the trace and were left out: they began after its start");
        }
    }

    /// What the records' times are.
    pub(super) fn kind(&self) -> TimeKind {
        match self.arrival {
            None | Some(Step::Queue | Step::Start) => TimeKind::Arrival,
            Some(Step::Issue) => TimeKind::Issue,
            Some(Step::Complete) => TimeKind::Completion,
        }
    }

    fn decide(&mut self, out: &mut Sink) {
        let undecided = std::mem::take(&mut self.undecided);
        let Some(arrival) = undecided.iter().map(|(step, _)| *step).min() else {
            return;
        };
        self.arrival = Some(arrival);
        match arrival {
            Step::Queue => {}
            Step::Start => {
                out.note("arrivals are requests, not bios: merging has been done already");
            }
            Step::Issue => {
                out.note(
                    "arrivals are times of issue: the wait in the scheduler is not in the trace",
                );
            }
            Step::Complete => out.note("the trace has completions only: arrivals are unknown"),
        }
        for (step, record) in undecided {
            self.take(arrival, step, record, out);
        }
    }

    fn take(&mut self, arrival: Step, step: Step, record: Record, out: &mut Sink) {
        if step == arrival {
            self.arrive(record, step, out);
        } else if step < arrival {
            self.late = true;
        } else if step == Step::Issue {
            self.issue(&record);
        } else if step == Step::Complete {
            self.complete(&record);
        }
        self.give(out);
    }

    fn arrive(&mut self, record: Record, step: Step, out: &mut Sink) {
        let waits = step != Step::Complete
            && record.len > 0
            && record.offset.checked_add(record.len).is_some();
        if !waits && self.held.is_empty() {
            out.records.push(record);
            self.eldest += 1;
            return;
        }
        let number = self.eldest + self.held.len() as u64;
        self.held.push_back(Held {
            record,
            issued: (step == Step::Issue).then_some(record.ts),
            left: if waits { record.len } else { 0 },
            next: None,
        });
        if !waits {
            return;
        }
        let place = Place::of(&record, record.offset);
        match self.open.get_mut(&place) {
            Some(chain) => {
                let before = std::mem::replace(&mut chain.last, number);
                self.held[(before - self.eldest) as usize].next = Some(number);
            }
            None => {
                let alone = Chain {
                    first: number,
                    last: number,
                };
                self.open.insert(place, alone);
            }
        }
    }

    fn issue(&mut self, event: &Record) {
        let end = event.offset.saturating_add(event.len);
        let mut at = event.offset;
        while at < end
            && let Some(chain) = self.open.get(&Place::of(event, at))
        {
            let mut number = Some(chain.first);
            let mut left = 0;
            while let Some(this) = number {
                let held = &mut self.held[(this - self.eldest) as usize];
                left = held.left;
                if held.issued.is_none() {
                    held.issued = Some(event.ts);
                    break;
                }
                number = held.next;
            }
            at += left;
        }
    }

    fn complete(&mut self, event: &Record) {
        let end = event.offset.saturating_add(event.len);
        let mut at = event.offset;
        while at < end
            && let Some(number) = self.unchain(Place::of(event, at))
        {
            let held = &mut self.held[(number - self.eldest) as usize];
            if held.left > end - at {
                held.left -= end - at;
                self.wait_for_rest(number, Place::of(event, end));
                return;
            }
            at += held.left;
            held.left = 0;
            let since = |start: i64| {
                let taken = event.ts.checked_sub(start).map(u64::try_from);
                taken.and_then(Result::ok).unwrap_or(Record::UNKNOWN)
            };
            if let Some(issued) = held.issued {
                held.record.service_ns = since(issued);
            }
            if self.arrival != Some(Step::Issue) {
                held.record.response_ns = since(held.record.ts);
            }
        }
    }

    /// A partly complete record waits where it goes on. Where another waits already, which of them a completion
    /// means would be unknown, and the record goes without its times.
    fn wait_for_rest(&mut self, number: u64, place: Place) {
        if self.open.contains_key(&place) {
            self.held[(number - self.eldest) as usize].left = 0;
            return;
        }
        let alone = Chain {
            first: number,
            last: number,
        };
        self.open.insert(place, alone);
        self.held[(number - self.eldest) as usize].next = None;
    }

    /// Takes the first of those that wait at a place.
    fn unchain(&mut self, place: Place) -> Option<u64> {
        let chain = self.open.get_mut(&place)?;
        let number = chain.first;
        match self.held[(number - self.eldest) as usize].next {
            Some(next) => chain.first = next,
            None => {
                self.open.remove(&place);
            }
        }
        Some(number)
    }

    /// Gives the eldest records that wait for nothing, and the eldest of all while there are too many.
    fn give(&mut self, out: &mut Sink) {
        while let Some(held) = self.held.front() {
            if held.left > 0 {
                if self.held.len() <= HELD_MAX {
                    return;
                }
                // The eldest of all is the first wherever it waits.
                let at = held.record.end() - held.left;
                let place = Place::of(&held.record, at);
                let number = self.unchain(place);
                assert_eq!(
                    number,
                    Some(self.eldest),
                    "a held record waits at its place"
                );
            }
            out.records
                .extend(self.held.pop_front().map(|held| held.record));
            self.eldest += 1;
        }
    }
}

/// Places are numbers that differ in some bits; one multiplication spreads them over the table.
#[derive(Default)]
struct PlaceHasher(u64);

impl Hasher for PlaceHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        // 2^64 divided by the golden ratio, odd (Knuth, TAOCP 3, 6.4); the product's halves are folded.
        let product =
            u128::from(self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::TraceOp;
    use super::*;

    fn event(ts: i64, op: TraceOp, sector: u64, sectors: u64) -> Record {
        Record::new(ts, op, sector * 512, sectors * 512, 0)
    }

    fn write(ts: i64, sector: u64, sectors: u64) -> Record {
        event(ts, TraceOp::Write, sector, sectors)
    }

    fn run(events: &[(Step, Record)]) -> (Vec<Record>, Pairing, Sink) {
        let (mut pairing, mut sink) = (Pairing::default(), Sink::default());
        for (step, record) in events {
            pairing.event(*step, *record, &mut sink);
        }
        pairing.finish(&mut sink);
        (std::mem::take(&mut sink.records), pairing, sink)
    }

    fn times(records: &[Record]) -> Vec<(u64, u64)> {
        let times = records.iter();
        times.map(|it| (it.service_ns, it.response_ns)).collect()
    }

    const NONE: u64 = Record::UNKNOWN;

    #[test]
    fn queued_issued_completed() {
        let (records, ..) = run(&[
            (Step::Queue, write(10, 8, 8)),
            (Step::Start, write(11, 8, 8)),
            (Step::Issue, write(13, 8, 8)),
            (Step::Complete, write(20, 8, 8)),
        ]);
        assert_eq!(times(&records), [(7, 10)]);
        assert_eq!(records[0].ts, 10);
    }

    #[test]
    fn merged_bios_complete_with_their_request() {
        let (records, ..) = run(&[
            (Step::Queue, write(0, 8, 8)),
            (Step::Queue, write(1, 16, 8)),
            (Step::Queue, write(2, 0, 8)),
            (Step::Issue, write(5, 0, 24)),
            (Step::Complete, write(9, 0, 24)),
        ]);
        assert_eq!(times(&records), [(4, 9), (4, 8), (4, 7)]);
    }

    #[test]
    fn a_partial_completion_waits_for_the_rest() {
        let (records, ..) = run(&[
            (Step::Queue, write(0, 0, 16)),
            (Step::Issue, write(1, 0, 16)),
            (Step::Complete, write(5, 0, 4)),
            (Step::Complete, write(7, 4, 12)),
        ]);
        assert_eq!(times(&records), [(6, 7)]);
    }

    #[test]
    fn a_split_bio_is_done_with_its_last_part() {
        let (records, ..) = run(&[
            (Step::Queue, write(0, 0, 16)),
            (Step::Issue, write(1, 0, 8)),
            (Step::Issue, write(2, 8, 8)),
            (Step::Complete, write(5, 0, 8)),
            (Step::Complete, write(7, 8, 8)),
        ]);
        assert_eq!(times(&records), [(6, 7)]);
    }

    #[test]
    fn equal_places_are_first_in_first_out_and_directions_apart() {
        let (records, ..) = run(&[
            (Step::Queue, write(0, 0, 8)),
            (Step::Queue, event(1, TraceOp::Read, 0, 8)),
            (Step::Queue, write(2, 0, 8)),
            (Step::Issue, write(3, 0, 8)),
            (Step::Issue, write(4, 0, 8)),
            (Step::Complete, event(5, TraceOp::Read, 0, 8)),
            (Step::Complete, write(6, 0, 8)),
            (Step::Complete, write(8, 0, 8)),
        ]);
        assert_eq!(times(&records), [(3, 6), (NONE, 4), (4, 6)]);
    }

    #[test]
    fn without_queued_bios_the_next_best_event_is_the_arrival() {
        let issued = [
            (Step::Issue, write(3, 0, 8)),
            (Step::Complete, write(5, 0, 8)),
        ];
        let (records, pairing, sink) = run(&issued);
        assert_eq!((times(&records), records[0].ts), (vec![(2, NONE)], 3));
        assert_eq!(pairing.kind(), TimeKind::Issue);
        assert!(sink.notes[0].contains("times of issue"));

        let started = [
            &[
                (Step::Issue, write(1, 64, 8)),
                (Step::Start, write(2, 0, 8)),
            ],
            &issued[..],
        ];
        let (records, pairing, _) = run(&started.concat());
        assert_eq!(
            (times(&records), pairing.kind()),
            (vec![(2, 3)], TimeKind::Arrival)
        );

        let (records, pairing, _) = run(&issued[1..]);
        assert_eq!(
            (times(&records), pairing.kind()),
            (vec![(NONE, NONE)], TimeKind::Completion)
        );
    }

    #[test]
    fn a_better_arrival_after_the_decision_is_told() {
        let mut events = vec![(Step::Issue, write(0, 0, 8)); UNDECIDED_MAX];
        events.push((Step::Queue, write(1, 8, 8)));
        let (records, _, sink) = run(&events);
        assert_eq!((records.len(), sink.notes.len()), (UNDECIDED_MAX, 2));
    }

    #[test]
    fn flushes_and_unfinished_requests_do_not_hold_others_up_for_ever() {
        let (mut pairing, mut sink) = (Pairing::default(), Sink::default());
        pairing.event(Step::Queue, event(0, TraceOp::Flush, 0, 0), &mut sink);
        assert_eq!(sink.records.len(), 1, "a flush does not wait");
        for number in 0..3 * HELD_MAX as u64 {
            let record = write(number as i64, number * 8, 8);
            pairing.event(Step::Queue, record, &mut sink);
            assert!(sink.records.len() + HELD_MAX > number as usize);
        }
        // The completion of one that has gone already meets nobody.
        pairing.event(Step::Complete, write(0, 0, 8), &mut sink);
        pairing.finish(&mut sink);
        assert_eq!(sink.records.len(), 3 * HELD_MAX + 1);
        assert!(sink.records.is_sorted_by_key(|record| record.ts));
    }

    /// Completions in random order, of merged and split requests: each record is given once, in the order of arrival, and
    /// nothing stays behind.
    #[test]
    fn every_record_comes_out_once_in_order() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let (mut pairing, mut sink) = (Pairing::default(), Sink::default());
        let mut queued = 0;
        for ts in 0..20_000 {
            let step =
                [Step::Queue, Step::Issue, Step::Complete, Step::Complete][random(4) as usize];
            queued += usize::from(step == Step::Queue);
            pairing.event(step, write(ts, random(64), random(9)), &mut sink);
        }
        pairing.finish(&mut sink);
        assert_eq!(sink.records.len(), queued);
        assert!(sink.records.is_sorted_by_key(|record| record.ts));
        assert!(pairing.open.is_empty() && pairing.held.is_empty());
    }
}
