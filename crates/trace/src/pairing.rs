//! From events of the block layer to requests: which event is the arrival, and which completion
//! ends it.
//!
//! A tracer sees a request several times: queued, issued to the driver, completed. The first kind
//! of event that the trace holds makes the records; the later kinds only tell how long they took:
//!
//! ```text
//!   Queue       a bio reaches the block layer                 the arrival
//!   Start       a request is made of it, before the scheduler  next best, merged bios are lost
//!   Issue       the scheduler gives it to the driver           the scheduler's delay is lost
//!   Complete    the device is done                             only the rate is left
//! ```
//!
//! Between arrival and completion requests are merged with neighbours and split. All of that is
//! followed by addresses: a request is one *piece* of a device at first; a split cuts the piece; an
//! issue or a completion of a range walks over the pieces that lie in it one behind the other, the
//! eldest first where several begin at the same byte. So merges need no event of their own, and a
//! completion that is shorter than its request cuts off what is done. A request is complete when
//! all its pieces are. Its service runs from its first issue (after the last requeue), its response
//! from its arrival. Devices that complete without an issue (device mapper) have a response only. A
//! request of which a piece completes with an error is marked, and has no times.
//!
//! A record is held until it is complete, in the order of arrival, but no longer than [`HELD_NS`]
//! on the trace's clock and no more than [`HELD_MAX`] of them: then the eldest goes without its
//! times. Nothing is looked up before an event follows that could find it, so that a trace of
//! arrivals alone costs no look-up at all.
//!
//! Source: Linux `block/blk-core.c`, `block/blk-merge.c`; `blktrace` documentation. Cost: one hash
//! look-up an event.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use super::decode::{Sink, TimeKind};
use super::record::{Flags, Record};

/// Requests that wait for their completion: more than any device has outstanding.
const HELD_MAX: usize = 1 << 16;

/// Time that a request waits for its completion: kernels give up on a device after some tens of
/// seconds, and few answer after ten.
const HELD_NS: i64 = 10_000_000_000;

/// Places before those are given up whose records went without their times.
const OPEN_MAX: usize = 4 * HELD_MAX;

/// Outstanding pieces that begin at the same place at most; the eldest is forgotten.
const SAME_PLACE_MAX: usize = 64;

/// Events that are looked at for the choice of the arrival. A trace of queued bios holds one among
/// the first few.
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
    /// Outstanding pieces by where they begin, of the records before number `placed`.
    open: HashMap<Place, Pieces, BuildHasherDefault<PlaceHasher>>,
    placed: u64,
    /// Places that the last clearing of `open` left.
    kept: usize,
    /// A better kind of arrival came after the decision.
    late: bool,
}

struct Held {
    record: Record,
    issued: Option<i64>,
    /// Bytes that are not complete yet.
    left: u64,
    done: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    at: u64,
    dev_and_op: u64,
}

impl Place {
    fn of(record: &Record, at: u64) -> Place {
        Place {
            at,
            dev_and_op: u64::from(record.dev) << 8 | record.op as u64,
        }
    }
}

/// A part of a request that is outstanding.
#[derive(Clone, Copy)]
struct Piece {
    number: u64,
    bytes: u64,
    issued: bool,
}

impl Piece {
    /// Cuts it; gives the part behind.
    fn cut(&mut self, bytes: u64) -> Option<Piece> {
        if bytes == 0 || self.bytes <= bytes {
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

/// The pieces that begin at one place, eldest first; nearly always one.
#[derive(Default)]
struct Pieces {
    first: Option<Piece>,
    more: VecDeque<Piece>,
}

impl Pieces {
    fn push(&mut self, piece: Piece) {
        if self.first.is_none() {
            self.first = Some(piece);
            return;
        }
        if self.more.len() == SAME_PLACE_MAX {
            self.first = self.more.pop_front();
        }
        self.more.push_back(piece);
    }

    /// Forgets the pieces of records that went without their times.
    fn forget_before(&mut self, eldest: u64) {
        while self.first.is_some_and(|piece| piece.number < eldest) {
            self.first = self.more.pop_front();
        }
    }

    /// The eldest that was issued, or was not.
    fn eldest(&mut self, issued: bool) -> Option<&mut Piece> {
        let all = self.first.iter_mut().chain(&mut self.more);
        all.into_iter().find(|piece| piece.issued == issued)
    }

    /// Takes out the eldest that was issued, or the eldest of all.
    fn take(&mut self) -> Option<Piece> {
        let first_issued = self.first.is_some_and(|piece| piece.issued);
        let issued = self.more.iter().position(|piece| piece.issued);
        match issued {
            Some(at) if !first_issued => self.more.remove(at),
            _ => std::mem::replace(&mut self.first, self.more.pop_front()),
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

    /// The driver gave an issued range back; it will be issued again.
    pub(super) fn requeue(&mut self, range: &Record) {
        self.mark(range, false);
    }

    /// What begins where the range does was cut in two before it was issued; the second part begins
    /// at `behind`.
    pub(super) fn split(&mut self, range: &Record, behind: u64) {
        self.place();
        let bytes = behind.saturating_sub(range.offset);
        let rest = self
            .piece(range, range.offset, false)
            .and_then(|piece| piece.cut(bytes));
        if let Some(rest) = rest {
            self.open
                .entry(Place::of(range, behind))
                .or_default()
                .push(rest);
        }
    }

    /// Whether events of this step make records, as far as is known; who caused the others need not
    /// be looked up.
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
            self.arrive(record, step);
            self.give(record.ts, out);
        } else if step < arrival {
            self.late = true;
        } else if step == Step::Issue {
            self.mark(&record, true);
        } else if step == Step::Complete {
            self.complete(&record);
        }
    }

    fn arrive(&mut self, record: Record, step: Step) {
        let waits = step != Step::Complete && record.offset.checked_add(record.len).is_some();
        self.held.push_back(Held {
            record,
            issued: (step == Step::Issue).then_some(record.ts),
            left: record.len,
            done: !waits,
        });
    }

    /// Makes pieces of the records that came since the last time and wait; those that went
    /// meanwhile are met by nobody.
    fn place(&mut self) {
        self.placed = self.placed.max(self.eldest);
        let new = (self.placed - self.eldest) as usize;
        for held in self.held.range(new..) {
            if !held.done {
                let piece = Piece {
                    number: self.placed,
                    bytes: held.left,
                    issued: held.issued.is_some(),
                };
                let place = Place::of(&held.record, held.record.offset);
                self.open.entry(place).or_default().push(piece);
            }
            self.placed += 1;
        }
        if self.open.len() > OPEN_MAX.max(2 * self.kept) {
            self.clear();
        }
    }

    /// Forgets the places where only records began that went without their times.
    #[cold]
    fn clear(&mut self) {
        let eldest = self.eldest;
        self.open.retain(|_, pieces| {
            pieces.forget_before(eldest);
            pieces.first.is_some()
        });
        self.kept = self.open.len();
    }

    /// The record of a piece, unless it went without its times.
    fn held(&mut self, number: u64) -> Option<&mut Held> {
        let at = usize::try_from(number.checked_sub(self.eldest)?).ok()?;
        self.held.get_mut(at)
    }

    /// The eldest piece that begins there and was issued or was not.
    fn piece(&mut self, range: &Record, at: u64, issued: bool) -> Option<&mut Piece> {
        let pieces = self.open.get_mut(&Place::of(range, at))?;
        pieces.forget_before(self.eldest);
        pieces.eldest(issued)
    }

    /// The driver got a range, or gave it back.
    fn mark(&mut self, range: &Record, issued: bool) {
        self.place();
        let (mut at, mut left) = (range.offset, range.len);
        loop {
            let Some(piece) = self.piece(range, at, !issued) else {
                return;
            };
            let rest = piece.cut(left);
            piece.issued = issued;
            let Piece { number, bytes, .. } = *piece;
            if let Some(held) = self.held(number) {
                held.issued = issued.then(|| held.issued.unwrap_or(range.ts));
            }
            at = at.saturating_add(bytes);
            if let Some(rest) = rest {
                self.open
                    .entry(Place::of(range, at))
                    .or_default()
                    .push(rest);
            }
            left -= bytes.min(left);
            if left == 0 || bytes == 0 {
                return;
            }
        }
    }

    fn complete(&mut self, range: &Record) {
        self.place();
        let (mut at, mut left) = (range.offset, range.len);
        loop {
            let place = Place::of(range, at);
            let Some(pieces) = self.open.get_mut(&place) else {
                return;
            };
            pieces.forget_before(self.eldest);
            let piece = pieces.take();
            if pieces.first.is_none() {
                self.open.remove(&place);
            }
            let Some(mut piece) = piece else {
                return;
            };
            let rest = piece.cut(left);
            self.complete_piece(range, &piece);
            at = at.saturating_add(piece.bytes);
            if let Some(rest) = rest {
                self.open
                    .entry(Place::of(range, at))
                    .or_default()
                    .push(rest);
            }
            left -= piece.bytes.min(left);
            if left == 0 || piece.bytes == 0 {
                return;
            }
        }
    }

    fn complete_piece(&mut self, range: &Record, piece: &Piece) {
        let responds = self.arrival != Some(Step::Issue);
        let Some(held) = self.held(piece.number) else {
            return;
        };
        if range.flags.has(Flags::FAILED) {
            held.record.flags = held.record.flags.with(Flags::FAILED);
        }
        held.left = held.left.saturating_sub(piece.bytes);
        if held.left > 0 || held.done {
            return;
        }
        held.done = true;
        // How long an error took is not how long an answer takes.
        if held.record.flags.has(Flags::FAILED) {
            return;
        }
        let since = |start: i64| {
            let taken = range.ts.checked_sub(start).map(u64::try_from);
            taken.and_then(Result::ok).unwrap_or(Record::UNKNOWN)
        };
        if let Some(issued) = held.issued {
            held.record.service_ns = since(issued);
        }
        if responds {
            held.record.response_ns = since(held.record.ts);
        }
    }

    /// Gives the eldest records that wait for nothing or have waited too long.
    fn give(&mut self, now: i64, out: &mut Sink) {
        while let Some(held) = self.held.front() {
            let waited = now.saturating_sub(held.record.ts) > HELD_NS || self.held.len() > HELD_MAX;
            if !held.done && !waited {
                break;
            }
            out.records.push(held.record);
            self.held.pop_front();
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
        // 2^64 divided by the golden ratio, odd (Knuth, TAOCP 3, 6.4); the product's halves are
        // folded.
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
    fn a_split_told_beforehand_may_be_issued_from_behind() {
        let (mut pairing, mut sink) = (Pairing::default(), Sink::default());
        pairing.event(Step::Queue, write(10, 8, 512), &mut sink);
        pairing.split(&write(11, 8, 512), 264 * 512);
        for (step, event) in [
            (Step::Issue, write(20, 264, 256)),
            (Step::Issue, write(21, 8, 256)),
            (Step::Complete, write(40, 264, 256)),
            (Step::Complete, write(60, 8, 256)),
        ] {
            pairing.event(step, event, &mut sink);
        }
        pairing.finish(&mut sink);
        assert_eq!(
            (times(&sink.records), sink.records[0].len),
            (vec![(40, 50)], 512 * 512)
        );
    }

    #[test]
    fn a_requeued_request_counts_from_its_last_issue() {
        let (mut pairing, mut sink) = (Pairing::default(), Sink::default());
        pairing.event(Step::Queue, write(10, 8, 8), &mut sink);
        pairing.event(Step::Issue, write(20, 8, 8), &mut sink);
        pairing.requeue(&write(25, 8, 8));
        pairing.event(Step::Issue, write(30, 8, 8), &mut sink);
        pairing.event(Step::Complete, write(45, 8, 8), &mut sink);
        pairing.finish(&mut sink);
        assert_eq!(times(&sink.records), [(15, 35)]);
    }

    #[test]
    fn a_device_without_issue_still_answers_and_so_does_a_flush() {
        let flush = |ts| event(ts, TraceOp::Flush, 0, 0);
        let (records, ..) = run(&[
            (Step::Queue, write(10, 8, 8)),
            (Step::Queue, flush(11)),
            (Step::Complete, write(40, 8, 8)),
            (Step::Complete, flush(50)),
        ]);
        assert_eq!(times(&records), [(NONE, 30), (NONE, 39)]);
    }

    #[test]
    fn unfinished_requests_do_not_hold_others_up_for_ever() {
        let (mut pairing, mut sink) = (Pairing::default(), Sink::default());
        for number in 0..6 * HELD_MAX as u64 {
            let record = write(number as i64, number * 8, 8);
            pairing.event(Step::Queue, record, &mut sink);
            assert!(sink.records.len() + HELD_MAX > number as usize);
            assert!(pairing.open.len() <= 4 * HELD_MAX + 1);
        }
        // The completion of one that has gone already meets nobody.
        pairing.event(Step::Complete, write(0, 0, 8), &mut sink);
        let late = write(1 << 40, 1 << 30, 8);
        pairing.event(Step::Queue, late, &mut sink);
        assert_eq!(
            sink.records.len(),
            6 * HELD_MAX,
            "all but the last have waited too long"
        );
        pairing.finish(&mut sink);
        assert_eq!(sink.records.len(), 6 * HELD_MAX + 1);
        assert!(sink.records.is_sorted_by_key(|record| record.ts));
    }

    #[test]
    fn places_of_unfinished_requests_are_given_up() {
        let (mut pairing, mut sink) = (Pairing::default(), Sink::default());
        let mut most = 0;
        for number in 0..10 * HELD_MAX as u64 {
            let record = write(number as i64, number * 8, 8);
            pairing.event(Step::Queue, record, &mut sink);
            if number % 1_000 == 0 {
                pairing.event(Step::Complete, write(0, 1 << 40, 8), &mut sink);
                most = most.max(pairing.open.len());
                assert!(most <= OPEN_MAX + 1_000);
            }
        }
        assert!(most > OPEN_MAX - 1_000, "the table was never full: {most}");
        assert!(sink.records.len() + HELD_MAX >= 10 * HELD_MAX);
    }

    #[test]
    fn many_requests_for_one_place_stay_few() {
        let (mut pairing, mut sink) = (Pairing::default(), Sink::default());
        for ts in 0..10_000 {
            pairing.event(Step::Queue, write(ts, 8, 8), &mut sink);
        }
        assert!(pairing.open.is_empty(), "nobody has asked for them yet");
        pairing.event(Step::Complete, write(10_000, 1_000, 8), &mut sink);
        let pieces: usize = pairing
            .open
            .values()
            .map(|pieces| pieces.more.len() + 1)
            .sum();
        assert_eq!(pieces, SAME_PLACE_MAX + 1);
    }

    /// Completions in random order, of merged and split requests: each record is given once, in the
    /// order of arrival, and nothing stays behind.
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
        assert!(pairing.open.is_empty());
        assert!(pairing.held.is_empty());
    }
}
