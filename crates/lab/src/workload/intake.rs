//! From records to requests: what every replay has in common.
//!
//! Takes records in batches from a source, expands bytes to blocks, places them on the drive, and
//! counts what cannot be replayed as it is. Requests are numbered from 0 in the order of the trace,
//! so a number means the same request under every policy. A few nanoseconds per request; one batch
//! in memory.

use std::sync::Arc;

use nearslot_core::ids::StreamId;
use nearslot_core::op::Op;
use nearslot_core::request::{Freedom, Reply, Request};
use nearslot_core::units::Instant;
use nearslot_trace::{Flags, Record, TraceError, TraceOp, TraceReader};

use super::layout::Layout;
use super::{Tally, WorkloadError};
use crate::workload::told::Told;

/// Where the records of a replay come from, in rising time order.
pub trait RecordSource: Send {
    /// Replaces `out` by the next records; false when there are no more.
    ///
    /// # Errors
    /// The trace cannot be read further.
    fn next_batch(&mut self, out: &mut Vec<Record>) -> Result<bool, TraceError>;
}

impl RecordSource for TraceReader {
    fn next_batch(&mut self, out: &mut Vec<Record>) -> Result<bool, TraceError> {
        TraceReader::next_batch(self, out)
    }
}

/// Records in memory, shared by the runs of a grid.
pub struct SharedRecords {
    records: Arc<[Record]>,
    next: usize,
}

/// Records that are copied out at a time: 28 KiB, which fit the nearest cache.
const COPIED_RECORDS: usize = 512;

impl SharedRecords {
    /// Gives all of `records` once.
    pub fn new(records: Arc<[Record]>) -> SharedRecords {
        SharedRecords { records, next: 0 }
    }
}

impl RecordSource for SharedRecords {
    fn next_batch(&mut self, out: &mut Vec<Record>) -> Result<bool, TraceError> {
        let end = self.records.len().min(self.next + COPIED_RECORDS);
        out.clear();
        out.extend_from_slice(&self.records[self.next..end]);
        self.next = end;
        Ok(!out.is_empty())
    }
}

/// A request of the trace, before it is decided when it comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Everything but `arrived`, which is [`Instant::ZERO`].
    pub(super) request: Request,
    /// When it came in the trace.
    pub(super) traced: Instant,
    /// Time it took in the trace in ns, or [`Record::UNKNOWN`].
    pub(super) response_ns: u64,
}

/// How far a write may move, as the trace says.
#[inline]
fn freedom(op: Op, flags: Flags) -> Freedom {
    // In the order of `Flags::OFFERS`.
    const TOLD: [Freedom; 4] = [Freedom::None, Freedom::Track, Freedom::Group, Freedom::Disk];
    let told = flags.offer().filter(|_| op == Op::Write);
    told.map_or(Freedom::Untold, |number| TOLD[number])
}

/// The requests of a trace, one by one.
pub struct Intake {
    source: Box<dyn RecordSource>,
    layout: Layout,
    batch: Vec<Record>,
    next: usize,
    ended: bool,
    failure: Option<TraceError>,
    tally: Tally,
    told: Option<Told>,
    number: u64,
}

impl Intake {
    /// The requests of `source`, placed by `layout`.
    pub fn new(source: Box<dyn RecordSource>, layout: impl Into<Layout>) -> Intake {
        Intake {
            source,
            layout: layout.into(),
            batch: Vec::new(),
            next: 0,
            ended: false,
            failure: None,
            tally: Tally::default(),
            told: None,
            number: 0,
        }
    }

    /// Also notes the response times that the trace tells of requests from number `from` on.
    #[must_use]
    pub fn noting(self, from: u64) -> Intake {
        Intake {
            told: Some(Told::new(from)),
            ..self
        }
    }

    /// What the trace told of response times, if that was to be noted.
    pub(super) fn told(&self) -> Option<&Told> {
        self.told.as_ref()
    }

    /// The model answered a request.
    #[inline]
    pub(super) fn replied(&mut self, reply: &Reply) {
        if let Some(told) = &mut self.told {
            told.replied(reply);
        }
    }

    /// What was left out or changed so far.
    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// Why it ended early, told once.
    pub(super) fn failure(&mut self) -> Option<WorkloadError> {
        self.failure.take().map(WorkloadError::Trace)
    }

    /// The next request; `None` at the end and after a failure. Always part of its caller, so that
    /// this writes the request where it stays.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<Asked> {
        loop {
            if self.next == self.batch.len() && !self.refill() {
                return None;
            }
            let record = self.batch[self.next];
            self.next += 1;
            match self.admit(&record) {
                Ok(Some(asked)) => return Some(asked),
                Ok(None) => {}
                Err(what) => return self.fail(TraceError::unfit(what).in_file("trace")),
            }
        }
    }

    /// A record as a request, or `None` if it is left out.
    #[inline(always)]
    fn admit(&mut self, record: &Record) -> Result<Option<Asked>, &'static str> {
        let Ok(traced) = u64::try_from(record.ts) else {
            return Err("a request comes before time 0");
        };
        let Some(op) = operation(record.op) else {
            self.tally.other += 1;
            return Ok(None);
        };
        let place = match op {
            Op::Flush => Some(self.layout.flushed(record)),
            _ => self.layout.place(record),
        };
        let Some(extent) = place else {
            if !self.layout.leaves_out() {
                return Err("has addresses that the first pass did not see: it has changed");
            }
            self.tally.beyond += 1;
            return Ok(None);
        };
        let flushes_first = op == Op::Write && record.flags.has(Flags::PREFLUSH);
        self.tally.preflush += u64::from(flushes_first);
        let placed = op != Op::Flush;
        self.tally.moved += u64::from(placed && self.layout.is_moved(record, &extent));
        let known = record.flags.has(Flags::PRIORITY);
        let request = Request {
            stream: StreamId(record.client),
            extent,
            priority: if known { record.priority } else { 0 },
            fua: op == Op::Write && record.flags.has(Flags::FUA),
            sync: op == Op::Write && record.flags.has(Flags::SYNC),
            freedom: freedom(op, record.flags),
            ..Request::new(self.number, op, 0, 0, Instant::ZERO)
        };
        // Some tracers (biosnoop) measure from the issue on: what came before is then not known,
        // and taken as nothing.
        let response_ns = match record.response_ns {
            Record::UNKNOWN => record.service_ns,
            known => known,
        };
        if let Some(told) = &mut self.told {
            told.note(self.number, op, response_ns);
        }
        self.number += 1;
        Ok(Some(Asked {
            request,
            traced: Instant(traced),
            response_ns,
        }))
    }

    #[cold]
    fn refill(&mut self) -> bool {
        self.next = 0;
        self.batch.clear();
        if self.ended {
            return false;
        }
        match self.source.next_batch(&mut self.batch) {
            Ok(more) => self.ended = !more,
            Err(error) => {
                self.fail(error);
            }
        }
        !self.batch.is_empty()
    }

    #[cold]
    fn fail(&mut self, error: TraceError) -> Option<Asked> {
        self.failure = Some(error);
        self.ended = true;
        self.batch.clear();
        self.next = 0;
        None
    }
}

/// What the engine does for a traced operation; `None` for what it has no equal of.
const fn operation(op: TraceOp) -> Option<Op> {
    match op {
        TraceOp::Read => Some(Op::Read),
        TraceOp::Write | TraceOp::WriteZeroes => Some(Op::Write),
        TraceOp::Flush => Some(Op::Flush),
        TraceOp::Discard => Some(Op::Discard),
        TraceOp::Other => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use nearslot_core::units::Blocks;

    use super::*;
    use crate::survey::Survey;
    use crate::workload::fit::{Fit, Mode};

    /// Everything of `records` on a drive of `capacity` blocks.
    pub(in crate::workload) fn intake(records: &[Record], mode: Mode, capacity: u64) -> Intake {
        let mut survey = Survey::new();
        survey.record(records);
        let fit = Fit::new(mode, &survey.finish(), (Blocks(capacity), "toy")).unwrap();
        Intake::new(Box::new(SharedRecords::new(records.into())), fit)
    }

    #[test]
    fn operations_become_what_the_engine_knows_and_the_rest_is_counted() {
        let mut urgent = Record::new(5, TraceOp::Write, 1000, 512, 0);
        urgent.flags = Flags::FUA.with(Flags::PRIORITY).with(Flags::PREFLUSH);
        urgent.priority = 0x2004;
        urgent.client = 3;
        let records = [
            Record::new(0, TraceOp::Other, 0, 0, 0),
            urgent,
            Record::new(6, TraceOp::WriteZeroes, 0, 512, 0),
            Record::new(7, TraceOp::Flush, 1 << 50, 0, 0),
            Record::new(8, TraceOp::Discard, 512 * 99, 1024, 0),
        ];
        let mut intake = intake(&records, Mode::Truncate, 100);
        let first = intake.next().unwrap();
        assert_eq!((first.request.id.0, first.traced), (0, Instant(5)));
        assert_eq!(
            (first.request.extent.start.0, first.request.extent.len.0),
            (1, 2)
        );
        assert_eq!(
            (first.request.stream, first.request.priority),
            (StreamId(3), 0x2004)
        );
        assert!(first.request.fua, "it asks to be on the medium");
        let plain = intake.next().unwrap().request;
        assert_eq!((plain.op, plain.fua), (Op::Write, false));
        let flush = intake.next().unwrap().request;
        assert_eq!((flush.op, flush.extent.len), (Op::Flush, Blocks(0)));
        assert!(intake.next().is_none());
        assert!(intake.next().is_none());
        assert_eq!(
            intake.tally(),
            Tally {
                other: 1,
                beyond: 1,
                preflush: 1,
                ..Tally::default()
            }
        );
    }

    struct Broken;

    impl RecordSource for Broken {
        fn next_batch(&mut self, _out: &mut Vec<Record>) -> Result<bool, TraceError> {
            Err(TraceError::unfit("torn"))
        }
    }

    #[test]
    fn a_failure_ends_it_and_is_told() {
        let fit = Fit::new(Mode::None, &Survey::new().finish(), (Blocks(8), "toy")).unwrap();
        let mut intake = Intake::new(Box::new(Broken), fit);
        assert!(intake.next().is_none());
        assert!(intake.next().is_none());
        assert!(intake.failure().is_some());
        assert!(intake.failure().is_none());
    }

    #[test]
    fn a_trace_that_changed_between_passes_is_a_failure() {
        let fit = Fit::new(Mode::None, &Survey::new().finish(), (Blocks(8), "toy")).unwrap();
        let records = [Record::new(0, TraceOp::Read, 8 * 512, 512, 0)];
        let mut intake = Intake::new(Box::new(SharedRecords::new(records.as_slice().into())), fit);
        assert!(intake.next().is_none());
        assert!(intake.failure().unwrap().to_string().contains("changed"));
    }
}
