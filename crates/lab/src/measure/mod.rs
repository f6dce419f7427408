//! Measuring a run: what its requests and its drive spent their time on.
//!
//! Requests are told apart by their number (order of arrival), which is the same under every
//! policy. The first few are cut off as warm-up, and the rest falls into [`BATCHES`] batches by
//! number: so two runs of one trace cut the same requests, and their batch means can be compared
//! pair by pair; how sure means and percentiles are follows from how the batches differ
//! (`measure/interval.rs`). Requests that fail are counted by what failed. They are in no mean, no
//! cost and no throughput; percentiles of response times take them for requests that were never
//! answered. O(1) per request, nothing allocated.
//!
//! A queue that grew is told by its length at five arrivals, from the first measured one to the
//! last: if it grew from each to the next by at least [`GROWTH_MIN`] of the requests that came
//! between, the drives did not keep up. If it did not, but did together with what the drives have
//! answered and not yet written, their write caches hide that they do not keep up, until they are
//! full. Where faults begin at an instant of their own, these are the arrivals from the last such
//! instant on, if there are enough of them ([`BEHIND_SHARE`]): what comes before says nothing of
//! drives on which that fault has happened.

mod basis;
pub(crate) mod busy;
pub(crate) mod by_stream;
pub(crate) mod by_volume;
mod command_window;
pub(crate) mod correlation;
pub(crate) mod declared;
pub(crate) mod demerit;
pub(crate) mod flight;
mod free_space;
pub(crate) mod group;
mod interval;
pub(crate) mod kept;
mod levels;
#[cfg(test)]
mod levels_tests;
mod measured;
pub(crate) mod recovery;
pub mod series;
pub(crate) mod served;
pub(crate) mod targets;
#[cfg(test)]
mod tests;
pub(crate) mod traced;

use std::collections::BTreeMap;
use std::ops::Range;

use nearslot_core::contract::Drive;
use nearslot_core::ids::DriveId;
use nearslot_core::io::{Command, DriveDone, Origin, Owed};
use nearslot_core::metrics::Histogram;
use nearslot_core::op::{Cost, Failure, Op};
use nearslot_core::request::{Reply, Request};
use nearslot_core::stack::Stack;
use nearslot_core::units::{Blocks, Duration, Instant};

pub use basis::Basis;
pub use declared::beside;
pub use interval::half_width;
pub(crate) use interval::{Estimate, TooFew, standard_error, times, weighted};
pub(crate) use levels::{Behind, Filling, Settling, WAITING_PART};
pub(crate) use measured::Measured;

use self::busy::{Busy, is_spare};
use self::levels::{LEVELS, Level, Levels, Owing};
use self::series::Timeseries;
use crate::outcome::Run;
use crate::sim::Observer;

/// Batches of a run: enough for a stable variance, few enough that neighbours hardly depend on each
/// other.
pub const BATCHES: usize = 32;

/// Which requests a run measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Requests the workload will make.
    pub requests: u64,
    /// Of these, how many at the front are warm-up.
    pub warmup: u64,
}

impl Window {
    /// The batch of a measured request.
    pub(crate) fn batch(self, number: u64) -> usize {
        let measured = u128::from(self.requests - self.warmup);
        let place = u128::from(number - self.warmup) * BATCHES as u128 / measured;
        place.min(BATCHES as u128 - 1) as usize
    }

    /// The numbers of all requests of a batch.
    pub(crate) fn numbers(self, batch: usize) -> Range<u64> {
        let measured = u128::from(self.requests - self.warmup);
        let start = |batch: usize| {
            self.warmup + (batch as u128 * measured).div_ceil(BATCHES as u128) as u64
        };
        start(batch)..start(batch + 1)
    }
}

/// A span of time in seconds.
fn seconds(span: Duration) -> f64 {
    span.0 as f64 / 1e9
}

/// Behind the instant at which faults begin, growth is looked at if at least one in so many of the
/// measured requests arrives there: of a few at the end nothing is learnt.
const BEHIND_SHARE: u64 = 8;

/// Times of one class of requests.
#[derive(Clone)]
struct Recorded {
    /// Response times by batch.
    response: Vec<Histogram>,
    wait: Histogram,
    service: Histogram,
    /// Requests that failed, by batch.
    failed: [u64; BATCHES],
}

impl Default for Recorded {
    fn default() -> Recorded {
        Recorded {
            // One by one: copies of an empty histogram would be written out, where new ones are
            // pages not yet touched.
            response: (0..BATCHES).map(|_| Histogram::default()).collect(),
            wait: Histogram::default(),
            service: Histogram::default(),
            failed: [0; BATCHES],
        }
    }
}

/// Observes a run and sums it up.
pub struct Recorder {
    window: Window,
    reads: Recorded,
    writes: Recorded,
    /// Response times of flushes, which are in no other time.
    flushes: Histogram,
    /// Flushes that failed.
    flushes_failed: u64,
    /// Response times of reads and writes of the warm-up that were answered when [`LATE_SHARE`] of
    /// the measured requests had been.
    late: Histogram,
    /// Requests answered, by `Op` code.
    operations: [u64; Op::ALL.len()],
    /// Of these, requests that failed, by `Failure` code.
    failed: [u64; Failure::ALL.len()],
    cost: CostSum,
    /// When the measured part began; the arrival of its first request.
    since: Option<Instant>,
    replied: u64,
    /// Of these, warm-up.
    warmup_replied: u64,
    /// Reads and writes answered since the measured part began, those of the warm-up that were
    /// still in the system included: the drives worked for them too.
    answered: u64,
    /// What they read and wrote.
    bytes: u64,
    in_system: u64,
    /// Of these, by `Op` code.
    present: [u64; Op::ALL.len()],
    queue_max: u64,
    /// Reads and writes that have come.
    came: u64,
    /// Of these, writes; and blocks that drives were told to write.
    writes_came: u64,
    sent: u64,
    /// When it was looked at last.
    owed: Owing,
    /// Requests in the system, integrated over the time of the measured part.
    request_ns: u128,
    integrated: Instant,
    drives: u16,
    /// Commands that each drive has.
    in_flight: Vec<Busy>,
    /// Of commands that write for requests, begun in the measured part, all, and those whose data
    /// had to be read first in part.
    writes_begun: ReadFirst,
    series: Option<Timeseries>,
    /// From the first measured arrival on.
    levels: Levels,
    /// From the first measured arrival on at which all faults have begun.
    behind: Levels,
    /// When the last of them begins, until a measured request arrives behind that.
    faults_begin: Instant,
    /// The batch of the last request, and the numbers of all its requests.
    batch: usize,
    batch_numbers: Range<u64>,
}

/// Commands that write for requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadFirst {
    /// All.
    pub(crate) all: u64,
    /// Those that write what was read before, as a request has a part of it only.
    pub(crate) read: u64,
}

/// Requests of the warm-up that took far longer than all that were measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Starved {
    pub(crate) count: u64,
    /// The longest of them, and the longest that was measured.
    pub(crate) longest_ms: f64,
    pub(crate) measured_ms: f64,
}

/// How many times as long as the longest that was measured a request of the warm-up takes that is
/// called starved. Some are in flight when the measured part begins, and one of these may well be
/// the longest of all by chance, but not by so much.
const STARVED_TIMES: u64 = 2;
/// One in so many of the measured requests is answered before it: what waits behind a slow one at
/// the begin is passed over by none.
const LATE_SHARE: u64 = 10;

/// Costs summed over many requests.
#[derive(Clone, Copy, Default)]
struct CostSum {
    overhead_ns: u128,
    seek_ns: u128,
    rotation_ns: u128,
    transfer_ns: u128,
}

impl CostSum {
    #[inline]
    fn add(&mut self, cost: &Cost) {
        self.overhead_ns += u128::from(cost.overhead.0);
        self.seek_ns += u128::from(cost.seek.0);
        self.rotation_ns += u128::from(cost.rotation.0);
        self.transfer_ns += u128::from(cost.transfer.0);
    }
}

impl Recorder {
    /// Measures the requests of `window` over so many drives; `series` collects what plots need.
    pub fn new(window: Window, drives: u16, series: Option<Timeseries>) -> Recorder {
        assert!(
            window.warmup <= window.requests,
            "more warm-up than requests"
        );
        Recorder {
            window,
            reads: Recorded::default(),
            writes: Recorded::default(),
            flushes: Histogram::default(),
            flushes_failed: 0,
            late: Histogram::default(),
            operations: [0; Op::ALL.len()],
            failed: [0; Failure::ALL.len()],
            cost: CostSum::default(),
            since: None,
            replied: 0,
            warmup_replied: 0,
            answered: 0,
            bytes: 0,
            in_system: 0,
            came: 0,
            writes_came: 0,
            sent: 0,
            owed: Owing::default(),
            present: [0; Op::ALL.len()],
            queue_max: 0,
            request_ns: 0,
            integrated: Instant::ZERO,
            drives,
            in_flight: vec![Busy::default(); drives.into()],
            writes_begun: ReadFirst::default(),
            series,
            levels: Levels::from(window.warmup),
            behind: Levels::from(u64::MAX),
            faults_begin: Instant::NEVER,
            batch: 0,
            batch_numbers: 0..0,
        }
    }

    /// Also looks from this instant on whether the queue grows.
    pub(crate) fn with_faults_from(self, begin: Instant) -> Recorder {
        Recorder {
            faults_begin: begin,
            ..self
        }
    }

    /// Whether batches tell how sure a mean is. If the run was cut short, the last ones have fewer
    /// requests or none; if the queue grew, they differ by how far the load had come.
    fn batches_tell(&self) -> bool {
        self.in_system == 0 && self.growth_rps().is_none()
    }

    /// Whether any request after the warm-up was read or written and answered.
    pub fn measured_any(&self) -> bool {
        self.reads.wait.count() + self.writes.wait.count() > 0
    }

    /// Whether any request after the warm-up was a read or a write that failed.
    pub(crate) fn measured_failures(&self) -> bool {
        let classes = [&self.reads, &self.writes];
        classes
            .iter()
            .any(|class| class.failed.iter().any(|failed| *failed > 0))
    }

    /// Requests of the warm-up that took far longer than all that were measured, if there are any.
    fn starved(&self, measured: &Histogram) -> Option<Starved> {
        let limit = Duration(measured.max().0.saturating_mul(STARVED_TIMES));
        let count = self.late.count() - self.late.at_most(limit);
        let ms = |time: Duration| time.0 as f64 / 1e6;
        (count > 0 && measured.count() > 0).then(|| Starved {
            count,
            longest_ms: ms(self.late.max()),
            measured_ms: ms(measured.max()),
        })
    }

    /// Sums up what was measured up to the end of the run.
    pub(crate) fn end(mut self, end: Instant) -> Measured {
        self.integrate(end);
        Measured::new(self, end)
    }

    /// What was measured as a run; what else a run has is the caller's.
    pub fn finish(self, end: Instant, label: String, config: serde_json::Value) -> Run {
        self.end(end).run(label, config)
    }

    /// By how many reads and writes a second the queue grew, if it grew all the time.
    fn growth_rps(&self) -> Option<f64> {
        self.telling().growth_rps()
    }

    /// The levels that tell growth: too few arrivals behind faults tell nothing.
    fn telling(&self) -> &Levels {
        let Window { requests, warmup } = self.window;
        let behind = requests.saturating_sub(self.behind.first);
        let enough = behind >= (requests - warmup).div_ceil(BEHIND_SHARE);
        match self.behind.count {
            LEVELS if enough => &self.behind,
            _ => &self.levels,
        }
    }

    /// Notes the length of the queue where it is to be noted at the arrival of this measured
    /// request, which just was.
    #[cold]
    fn note_levels(&mut self, now: Instant, number: u64) {
        if now >= self.faults_begin {
            self.behind = Levels::from(number);
            self.faults_begin = Instant::NEVER;
        }
        let level = Level {
            at: now,
            waiting: self.present[Op::Read as usize] + self.present[Op::Write as usize],
            busy: self.in_flight.iter().filter(|drive| drive.any()).count() as u64,
            owed: self.owed,
            came: self.came,
        };
        for levels in [&mut self.levels, &mut self.behind] {
            if number >= levels.next {
                levels.note(level, self.window.requests);
            }
        }
    }

    /// How many writes of the load were answered and not yet written. What a write buffer gives its
    /// drives is written before it goes from there.
    fn owing(&self, now: Instant, stack: &Stack, drives: &[Box<dyn Drive>]) -> Owing {
        match stack.buffered().filter(|buffered| buffered.came > 0) {
            Some(buffered) => {
                let writes = |pages| writes_of(pages, (buffered.writes, buffered.came));
                Owing {
                    writes: writes(buffered.pages),
                    behind: Behind::Buffer,
                    cache_size: Some(writes(buffered.room)),
                    of: self.writes_came,
                    ..Owing::default()
                }
            }
            None => self.owed_by_drives(now, stack, drives),
        }
    }

    fn owed_by_drives(&self, now: Instant, stack: &Stack, drives: &[Box<dyn Drive>]) -> Owing {
        let writes = |blocks: Blocks| writes_of(blocks.0, (self.writes_came, self.sent.max(1)));
        let copies = stack.owes();
        let owed = drives.iter().map(|drive| drive.owes(now));
        let in_caches = owed.clone().map(|owed| owed.blocks.0).sum::<u64>();
        let sum = owed.chain(copies).reduce(|sum, owed| Owed {
            blocks: sum.blocks + owed.blocks,
            cache_size: sum
                .cache_size
                .zip(owed.cache_size)
                .map(|(sum, size)| sum + size),
            sorts: sum.sorts || owed.sorts,
        });
        let sum = sum.unwrap_or_default();
        let behind = match copies.is_some_and(|copies| copies.blocks.0 > in_caches) {
            true => Behind::Copies,
            false => Behind::Caches,
        };
        Owing {
            writes: writes(sum.blocks),
            behind,
            cache_size: sum.cache_size.map(writes),
            sorts: sum.sorts,
            later: stack.uses_spare_time(),
            of: self.writes_came,
        }
    }

    /// Whether the length of the queue is to be noted at the arrival of this request.
    #[inline]
    fn is_noted(&self, now: Instant, number: u64) -> bool {
        let due = number >= self.levels.next.min(self.behind.next) || now >= self.faults_begin;
        due && number >= self.window.warmup
    }

    fn operations_by_name(&self) -> BTreeMap<String, u64> {
        by_name(Op::ALL.map(Op::name), self.operations)
    }

    pub(crate) fn failed_by_name(&self) -> BTreeMap<String, u64> {
        by_name(Failure::ALL.map(Failure::name), self.failed)
    }

    /// Brings the integrals up to `now`. Several things happen at most instants; the first brings
    /// them there.
    #[inline]
    fn integrate(&mut self, now: Instant) {
        if now == self.integrated {
            return;
        }
        if self.since.is_some() {
            let span = now.since(self.integrated);
            self.request_ns += u128::from(self.in_system) * u128::from(span.0);
            if let Some(series) = &mut self.series {
                series.integrate(now, &self.present);
            }
        }
        self.integrated = now;
    }

    /// A request is in the system no more, however it ended.
    #[inline]
    fn leaves(&mut self, now: Instant, reply: &Reply) {
        self.integrate(now);
        let op = reply.request.op as usize;
        self.in_system -= 1;
        self.present[op] -= 1;
        self.replied += 1;
        self.operations[op] += 1;
    }

    /// A request of the warm-up was answered.
    fn replied_late(&mut self, reply: &Reply) {
        let is_media = matches!(reply.request.op, Op::Read | Op::Write);
        let (measured, before) = (
            self.window.requests - self.window.warmup,
            self.replied - self.warmup_replied,
        );
        let is_late = before.saturating_mul(LATE_SHARE) >= measured;
        if is_late && is_media && reply.status.failure().is_none() {
            self.late.record(reply.timeline.response());
        }
    }

    fn begin(&mut self, now: Instant) {
        self.since = Some(now);
        for drive in &mut self.in_flight {
            drive.reset(now);
        }
        self.queue_max = self.in_system;
        if let Some(series) = &mut self.series {
            series.begin(now);
        }
    }

    /// The batch of a measured request. Numbers come nearly in order, so it is mostly that of the
    /// one before.
    #[inline]
    fn batch(&mut self, number: u64) -> usize {
        if !self.batch_numbers.contains(&number) {
            self.find_batch(number);
        }
        self.batch
    }

    #[cold]
    fn find_batch(&mut self, number: u64) {
        self.batch = self.window.batch(number);
        self.batch_numbers = self.window.numbers(self.batch);
    }
}

/// Counts by name, where there are any.
/// How many writes that is, if so many of them brought so much.
fn writes_of(part: u64, (writes, brought): (u64, u64)) -> u64 {
    (u128::from(part) * u128::from(writes) / u128::from(brought)) as u64
}

fn by_name<const N: usize>(names: [&str; N], counts: [u64; N]) -> BTreeMap<String, u64> {
    let counted = names.into_iter().zip(counts);
    let counted = counted.filter(|(_, count)| *count > 0);
    counted
        .map(|(name, count)| (name.to_owned(), count))
        .collect()
}

impl Observer for Recorder {
    #[inline]
    fn comes(&mut self, request: &Request, stack: &Stack, drives: &[Box<dyn Drive>]) {
        if self.is_noted(request.arrived, request.id.0) {
            self.owed = self.owing(request.arrived, stack, drives);
        }
    }

    #[inline]
    fn arrived(&mut self, now: Instant, request: &Request) {
        self.integrate(now);
        self.in_system += 1;
        self.present[request.op as usize] += 1;
        self.came += u64::from(matches!(request.op, Op::Read | Op::Write));
        self.writes_came += u64::from(request.op == Op::Write);
        self.queue_max = self.queue_max.max(self.in_system);
        if self.since.is_none() && request.id.0 >= self.window.warmup {
            self.begin(now);
        }
        let number = request.id.0;
        if self.is_noted(now, number) {
            self.note_levels(now, number);
        }
        if let Some(series) = &mut self.series {
            series.arrived(request);
        }
    }

    #[inline]
    fn started(
        &mut self,
        now: Instant,
        drive: DriveId,
        command: &Command,
        origin: &Origin,
        stack: &Stack,
    ) {
        self.integrate(now);
        let spare = is_spare(origin, || stack.waiting_on(drive));
        self.in_flight[drive.index()].begin(now, spare);
        if command.op == Op::Write {
            self.sent += command.len.0;
            if origin.request.is_some() && self.since.is_some() {
                self.writes_begun.all += 1;
                self.writes_begun.read += u64::from(origin.carries.is_some());
            }
        }
        if let Some(series) = &mut self.series {
            series.started(now, drive, command, origin);
        }
    }

    #[inline]
    fn done(&mut self, now: Instant, drive: DriveId, done: &DriveDone) {
        self.integrate(now);
        self.in_flight[drive.index()].end(now);
        if let Some(series) = &mut self.series {
            series.done(now, drive, done);
        }
    }

    fn goes_again(&mut self, now: Instant, reply: &Reply) {
        self.leaves(now, reply);
        self.warmup_replied += u64::from(reply.request.id.0 < self.window.warmup);
    }

    #[inline]
    fn replied(&mut self, now: Instant, reply: &Reply) {
        self.leaves(now, reply);
        let request = &reply.request;
        let failure = reply.status.failure();
        if let Some(failure) = failure {
            self.failed[failure as usize] += 1;
        } else if self.since.is_some() && matches!(request.op, Op::Read | Op::Write) {
            self.answered += 1;
            self.bytes += request.extent.len.bytes();
        }
        if request.id.0 < self.window.warmup {
            self.warmup_replied += 1;
            self.replied_late(reply);
            return;
        }
        let batch = self.batch(request.id.0);
        let class = match request.op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
            Op::Flush if failure.is_none() => {
                return self.flushes.record(reply.timeline.response());
            }
            Op::Flush => {
                self.flushes_failed += 1;
                return;
            }
            Op::Discard | Op::Seek => return,
        };
        // How long a failure takes says nothing of how long an answer takes.
        if failure.is_some() {
            class.failed[batch] += 1;
            return;
        }
        let response = reply.timeline.response();
        class.response[batch].record(response);
        class.wait.record(reply.timeline.wait());
        class.service.record(reply.timeline.service());
        self.cost.add(&reply.timeline.cost);
        if let Some(series) = &mut self.series {
            series.replied(now, response);
        }
    }

    #[inline]
    fn settled(&mut self, now: Instant, stack: &Stack) {
        if let Some(series) = &mut self.series {
            series.settled(now, stack);
        }
    }
}
