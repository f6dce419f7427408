//! Requests of one file, checked and brought into the order of time.
//!
//! The rules that hold for every format stand here once: requests of no bytes and requests beyond
//! the address space are counted and left out, huge ones are counted and kept, steps back in time
//! are counted and sorted.
//!
//! Order comes from a window: a request is given out when one that is more than the window later
//! has been seen. Nothing is given out before [`FIRST_HELD`] requests have been read, so short
//! traces are sorted whatever their disorder. A request that comes too late for that is an error
//! that offers sorting the whole trace. Sorted input, the usual case, is only looked at.

use super::TraceError;
use super::columns::Columns;
use super::decode::{Anomaly, HELD_MAX, Sink};
use super::header::Census;
use super::record::{Flags, Record, TraceOp};

/// Requests that are read before the first is given out.
pub(super) const FIRST_HELD: usize = 1 << 17;

/// Larger requests are counted: no block layer makes them, so the unit is probably wrong.
pub(super) const OVERSIZED_BYTES: u64 = 64 << 20;

/// Addresses end here.
pub(super) const ADDRESSES_END: u64 = 1 << 63;

/// Times further from 0 are damage; within, differences cannot overflow.
pub(crate) const TIME_MAX_NS: u64 = 1 << 62;

/// A step back that is told apart from disorder.
const STEP_BACK_NS: i64 = 1_000_000_000;

/// A file in which one in so many requests steps back is in no order, and none of these steps is
/// one of the clock.
const SHUFFLED: u64 = 10;

/// What the files of a trace have in common while they are read.
pub(crate) struct Shared {
    pub(crate) sink: Sink,
    /// The only device to be kept.
    pub(crate) only_device: Option<String>,
    /// What was left out because of it.
    pub(crate) left_out: Census,
    /// Records that decoders understood, whether they are kept or not.
    pub(crate) understood: u64,
    /// Whether a request was out of order behind the first ones, which are sorted whatever their
    /// disorder.
    pub(crate) late: bool,
}

impl Shared {
    /// Whether a record stays, by the rules for every format.
    pub(super) fn admit(&mut self, record: &Record, only: Only) -> bool {
        let plain = record.len.wrapping_sub(1) < OVERSIZED_BYTES
            && record.offset < ADDRESSES_END / 2
            && record.ts.unsigned_abs() < TIME_MAX_NS;
        if !plain && !self.admit_odd(record) {
            return false;
        }
        if only != Only::All && only != Only::Number(record.dev) {
            self.left_out.count(record);
            return false;
        }
        true
    }

    #[cold]
    fn admit_odd(&mut self, record: &Record) -> bool {
        let anomalies = &mut self.sink.anomalies;
        let moves = !matches!(record.op, TraceOp::Flush | TraceOp::Other);
        if record.ts.unsigned_abs() >= TIME_MAX_NS {
            self.understood -= 1;
            anomalies.note(Anomaly::BadRecord, || {
                format!("time of {} ns is beyond 146 years", record.ts)
            });
            return false;
        }
        if record.len == 0 && moves {
            anomalies.note(Anomaly::ZeroLength, || {
                format!("{} of 0 bytes at byte {}", record.op.name(), record.offset)
            });
            return false;
        }
        let end = record.offset.checked_add(record.len);
        if end.is_none_or(|end| end > ADDRESSES_END) {
            anomalies.note(Anomaly::BeyondAddressSpace, || {
                format!("{} bytes at byte {}", record.len, record.offset)
            });
            return false;
        }
        if record.len > OVERSIZED_BYTES {
            anomalies.note(Anomaly::Oversized, || {
                format!(
                    "{} of {} bytes at byte {}",
                    record.op.name(),
                    record.len,
                    record.offset
                )
            });
        }
        true
    }

    /// The number of the only device, as far as it has occurred.
    fn only(&self) -> Only {
        match &self.only_device {
            None => Only::All,
            Some(name) => match self.sink.devices.number(name.as_bytes()) {
                Some(number) => Only::Number(number),
                None => Only::None,
            },
        }
    }
}

/// Which devices are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Only {
    All,
    Number(u32),
    None,
}

/// The requests of one file between its decoder and the merge.
pub(crate) struct Order {
    pub(super) window_ns: Option<i64>,
    /// `held[given..ready]` may go out, up to `checked` the rules have been applied, the rest is
    /// new.
    pub(super) held: Vec<Record>,
    /// The same instead, as long as they are columns, which are all in order.
    pub(super) columns: Columns,
    pub(super) are_records: bool,
    pub(super) given: usize,
    pub(super) ready: usize,
    pub(super) checked: usize,
    /// Whether `held[ready..checked]` is in order.
    sorted: bool,
    /// Whether something has been given out.
    pub(super) started: bool,
    /// Up to this time requests have been given out before the window let them.
    early_until: i64,
    pub(super) newest: i64,
    pub(super) previous: i64,
    /// Requests so far, and those that stepped back.
    pub(super) seen: u64,
    stepped: u64,
    /// Requests kept so far, for messages.
    pub(super) kept: u64,
}

impl Order {
    /// `window_ns`: how far requests may be out of order; none leaves them as they are.
    pub(crate) fn new(window_ns: Option<i64>) -> Order {
        Order {
            window_ns,
            held: Vec::new(),
            columns: Columns::default(),
            are_records: false,
            given: 0,
            ready: 0,
            checked: 0,
            sorted: true,
            started: false,
            early_until: i64::MIN,
            newest: i64::MIN,
            previous: i64::MIN,
            seen: 0,
            stepped: 0,
            kept: 0,
        }
    }

    /// Swaps its requests with those in the sink: a decoder appends to them without a copy.
    pub(crate) fn lend(&mut self, sink: &mut Sink) {
        if self.given > self.held.len() / 2 {
            self.held.drain(..self.given);
            self.ready -= self.given;
            self.checked -= self.given;
            self.given = 0;
        }
        std::mem::swap(&mut self.held, &mut sink.records);
    }

    /// Takes them back, checks what is new, and sees what may go out.
    pub(crate) fn take_back(&mut self, shared: &mut Shared, ended: bool) -> Result<(), TraceError> {
        std::mem::swap(&mut self.held, &mut shared.sink.records);
        self.check(shared)?;
        let Some(window_ns) = self.window_ns else {
            self.ready = self.held.len();
            return Ok(());
        };
        if !ended && !self.started && self.held.len() < FIRST_HELD {
            return Ok(());
        }
        if !self.sorted {
            self.held[self.ready..].sort_by_key(|record| record.ts);
            self.sorted = true;
        }
        self.started = true;
        if ended {
            self.ready = self.held.len();
            return Ok(());
        }
        let settled = self.newest.saturating_sub(window_ns);
        let waiting = &self.held[self.ready..];
        let ready = self.ready + waiting.partition_point(|record| record.ts < settled);
        self.release(ready, self.held.len(), |order, at| order.held[at].ts);
        Ok(())
    }

    /// Of so many, these may go out by their times; and the earliest of the others, where more are
    /// held back than may be.
    pub(super) fn release(
        &mut self,
        ready: usize,
        count: usize,
        ts: impl Fn(&Order, usize) -> i64,
    ) {
        self.ready = ready;
        let early = (count - ready).saturating_sub(HELD_MAX);
        if early > 0 {
            self.ready += early;
            self.early_until = ts(self, self.ready - 1);
        }
    }

    /// Applies the rules to what is new, in place.
    fn check(&mut self, shared: &mut Shared) -> Result<(), TraceError> {
        let only = shared.only();
        let late = match (self.started, self.window_ns) {
            (true, Some(window_ns)) => window_ns,
            _ => i64::MAX,
        };
        let mut kept = self.checked;
        shared.understood += (self.held.len() - self.checked) as u64;
        for at in self.checked..self.held.len() {
            let record = self.held[at];
            if !shared.admit(&record, only) {
                continue;
            }
            if record.ts < self.previous {
                self.step_back(&record, late, &mut shared.sink)?;
                shared.late |= self.started;
                self.stepped += 1;
            }
            self.seen += 1;
            self.previous = record.ts;
            self.newest = self.newest.max(record.ts);
            self.held[kept] = record;
            kept += 1;
        }
        self.kept += (kept - self.checked) as u64;
        self.held.truncate(kept);
        self.checked = kept;
        Ok(())
    }

    fn is_shuffled(&self) -> bool {
        self.stepped * SHUFFLED > self.seen
    }

    #[cold]
    fn step_back(&mut self, record: &Record, late: i64, sink: &mut Sink) -> Result<(), TraceError> {
        self.sorted = false;
        // Rows in the order of completion have their arrivals in another order: nothing is odd
        // about that.
        let by_completion = record.flags.has(Flags::RECONSTRUCTED);
        if !by_completion {
            sink.anomalies.count(Anomaly::Inversion);
        }
        let back = self.newest - record.ts;
        if !by_completion && self.previous - record.ts > STEP_BACK_NS && !self.is_shuffled() {
            let seconds = (self.previous - record.ts) as f64 / 1e9;
            sink.anomalies.note(Anomaly::ClockStep, || {
                format!("time steps back by {seconds:.3} s")
            });
        }
        let more = format_args!("more than the reorder window of {:.3} s", late as f64 / 1e9);
        let remedy = "sort the whole trace with --sort";
        let what = if back > late {
            format!("{more}; give a larger --reorder-ms or {remedy}")
        } else if record.ts < self.early_until {
            format!("and {HELD_MAX} requests in between, the most that are held back; {remedy}")
        } else {
            return Ok(());
        };
        Err(TraceError::OutOfOrder {
            path: String::new(),
            what: format!(
                "behind request {}, one is {:.3} s earlier than a request before it, {what}",
                self.kept,
                back as f64 / 1e9
            ),
        })
    }

    /// Requests in order that may go out.
    pub(crate) fn ready(&self) -> &[Record] {
        &self.held[self.given..self.ready]
    }

    /// Passes over some of them.
    pub(crate) fn take(&mut self, count: usize) {
        self.given += count;
        assert!(self.given <= self.ready, "took more than was ready");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> Shared {
        Shared {
            sink: Sink::default(),
            only_device: None,
            left_out: Census::default(),
            understood: 0,
            late: false,
        }
    }

    fn read(ts: i64) -> Record {
        Record::new(ts, TraceOp::Read, 0, 512, 0)
    }

    fn feed(
        order: &mut Order,
        shared: &mut Shared,
        records: &[Record],
        ended: bool,
    ) -> Result<(), TraceError> {
        order.lend(&mut shared.sink);
        shared.sink.records.extend_from_slice(records);
        order.take_back(shared, ended)
    }

    fn kept(records: &[Record]) -> (Vec<Record>, Shared) {
        let mut shared = shared();
        let mut order = Order::new(Some(1000));
        feed(&mut order, &mut shared, records, true).unwrap();
        (order.ready().to_vec(), shared)
    }

    #[test]
    fn equal_times_keep_the_order_of_the_file() {
        let records: Vec<Record> = [(5, 1), (3, 2), (5, 3), (3, 4)]
            .map(|(ts, offset)| Record::new(ts, TraceOp::Read, offset, 1, 0))
            .to_vec();
        let (sorted, shared) = kept(&records);
        let offsets: Vec<u64> = sorted.iter().map(|record| record.offset).collect();
        assert_eq!(offsets, [2, 4, 1, 3]);
        assert_eq!(shared.sink.anomalies.of(Anomaly::Inversion), 2);
    }

    #[test]
    fn rules_leave_out_and_count() {
        let at = |op, offset, len| Record::new(0, op, offset, len, 0);
        let (left, shared) = kept(&[
            at(TraceOp::Read, 0, 0),
            at(TraceOp::Flush, 0, 0),
            at(TraceOp::Write, 0, (64 << 20) + 1),
            at(TraceOp::Write, 0, 64 << 20),
            at(TraceOp::Read, (1 << 63) - 512, 512),
            at(TraceOp::Read, (1 << 63) - 512, 513),
            at(TraceOp::Read, u64::MAX, 512),
            read(i64::MIN),
        ]);
        assert_eq!(left.len(), 4);
        let anomalies = &shared.sink.anomalies;
        assert_eq!(anomalies.of(Anomaly::ZeroLength), 1);
        assert_eq!(anomalies.of(Anomaly::Oversized), 1);
        assert_eq!(anomalies.of(Anomaly::BeyondAddressSpace), 2);
        assert_eq!(anomalies.of(Anomaly::BadRecord), 1);
    }

    #[test]
    fn only_one_device_may_be_kept() {
        let mut shared = shared();
        shared.only_device = Some("b".to_owned());
        shared.sink.devices.intern(b"a");
        shared.sink.devices.intern(b"b");
        let mut order = Order::new(Some(0));
        let records = [0, 1, 0, 1, 1].map(|dev| Record::new(0, TraceOp::Read, 0, 512, dev));
        feed(&mut order, &mut shared, &records, true).unwrap();
        assert_eq!(order.ready().len(), 3);
        assert_eq!(shared.left_out.of(0), (2, 512));
    }

    #[test]
    fn a_window_sorts_within_it_and_refuses_beyond() {
        let mut shared = shared();
        let mut order = Order::new(Some(100));
        let many: Vec<Record> = (0..FIRST_HELD as i64).map(|i| read((i ^ 7) * 10)).collect();
        feed(&mut order, &mut shared, &many, false).unwrap();
        assert!(order.ready().is_sorted_by_key(|record| record.ts));
        let newest = (FIRST_HELD as i64 - 1) * 10;
        assert_eq!(order.ready().last().unwrap().ts, newest - 110);
        feed(&mut order, &mut shared, &[read(newest - 100)], false).unwrap();
        let error = feed(&mut order, &mut shared, &[read(newest - 101)], false).unwrap_err();
        assert!(error.to_string().contains("--sort"), "{error}");
        assert!(matches!(error, TraceError::OutOfOrder { .. }));
    }

    #[test]
    fn a_crowd_within_the_window_is_given_out_early() {
        let mut shared = shared();
        let mut order = Order::new(Some(100));
        let crowd = vec![read(70); HELD_MAX + 5];
        feed(&mut order, &mut shared, &crowd, false).unwrap();
        assert_eq!(order.ready().len(), 5);
        feed(&mut order, &mut shared, &[read(90), read(70)], false).unwrap();
        assert_eq!(order.ready().len(), 7);
        let error = feed(&mut order, &mut shared, &[read(69)], false).unwrap_err();
        let told = error.to_string();
        assert!(told.contains("the most that are held back"), "{told}");
        assert!(told.contains("--sort"), "{told}");
    }

    #[test]
    fn a_short_trace_is_sorted_whatever_its_disorder() {
        let records: Vec<Record> = (0..1000).rev().map(|i| read(i * 10_000_000_000)).collect();
        let (sorted, shared) = kept(&records);
        assert!(sorted.is_sorted_by_key(|record| record.ts));
        // Times that step back all the time are no steps of the clock.
        assert_eq!(shared.sink.anomalies.of(Anomaly::ClockStep), 1);
    }
}
