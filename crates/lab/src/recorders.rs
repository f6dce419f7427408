//! What else may record a run: a row per request and per command into Parquet, the schedule as a
//! trace that other tools read.
//!
//! A run that is tried for objectives is held against them here, too.
//!
//! A full disk in mid-run is remembered and told at the end; the run itself goes on undisturbed.

use std::collections::BTreeMap;

use nearslot_core::contract::{Blueprint, Drive};
use nearslot_core::ids::{DriveId, StreamId};
use nearslot_core::io::{Command, DriveDone, Origin};
use nearslot_core::op::{Op, Status};
use nearslot_core::request::{Reply, Request};
use nearslot_core::stack::{Action, Stack};
use nearslot_core::units::{Instant, Pba};
use nearslot_trace::{Flags, Header, Record, TraceError, TraceOp};
use nearslot_trace::{Writer, write};

use crate::error::RunError;
use crate::gate::{ByBatch, Gate};
use crate::measure::Recorder;
use crate::measure::by_stream::ByStream;
use crate::measure::by_volume::ByVolume;
use crate::measure::declared::Counts;
use crate::measure::group::is_grouped;
use crate::measure::served::Served;
use crate::objective::{Class, Objective};
use crate::outcome::{Results, StreamResponse, VolumeResponse};
use crate::report::{
    CommandLane, CommandRows, Lane, LaneFile, RequestRows, RowsWriter, SharedOutput, Target,
};
use crate::sim::Observer;

/// Response times of volumes, and of streams.
pub(crate) type Groups = (Vec<VolumeResponse>, Vec<StreamResponse>);

/// Files of rows that have a part from each run of a grid.
#[derive(Default)]
pub(crate) struct RowFiles {
    requests: Option<RowsWriter<RequestRows>>,
    commands: Option<RowsWriter<CommandRows>>,
}

/// What a run has for them.
#[derive(Default)]
pub(crate) struct RunRows {
    requests: Option<LaneFile>,
    commands: Option<LaneFile>,
}

impl RowFiles {
    /// Those that are wanted, opened.
    pub(crate) fn create(
        requests: Option<&Target>,
        commands: Option<&Target>,
    ) -> Result<RowFiles, RunError> {
        Ok(RowFiles {
            requests: requests.map(RowsWriter::create).transpose()?,
            commands: commands.map(RowsWriter::create).transpose()?,
        })
    }

    /// Joins the parts, in the order given, and gives the files their names.
    pub(crate) fn finish(self, results: &Results, parts: Vec<RunRows>) -> Result<(), RunError> {
        let (mut requests, mut commands) = (Vec::new(), Vec::new());
        for part in parts {
            requests.extend(part.requests);
            commands.extend(part.commands);
        }
        if let Some(writer) = self.requests {
            writer.finish(results, requests)?;
        }
        if let Some(writer) = self.commands {
            writer.finish(results, commands)?;
        }
        Ok(())
    }
}

/// Measures a run, and writes down what is wanted of it.
pub(crate) struct Recorders {
    pub(crate) recorder: Recorder,
    requests: Option<Lane<RequestRows>>,
    commands: Option<CommandLane>,
    schedule: Option<Schedule>,
    gate: Option<Gate>,
    volumes: Option<ByVolume>,
    streams: ByStream,
    warmup: u64,
    /// What the parts of the stack had counted when the measured part began.
    before: Counts,
    begun: bool,
    behind: Behind,
    /// Where drives may bring wrong blocks.
    served: Option<Served>,
    failure: Option<RunError>,
}

/// Counts measured reads, and writes, those that failed among them, and how many of them were
/// answered from an instant on.
struct Behind {
    from: Instant,
    all: [u64; 2],
    behind: [u64; 2],
}

impl Behind {
    fn replied(&mut self, now: Instant, op: Op) {
        let class = usize::from(op == Op::Write);
        self.all[class] += 1;
        self.behind[class] += u64::from(now >= self.from);
    }

    /// Which share of a class was answered from that instant on.
    fn share(&self, class: Class) -> f64 {
        let sum = |[reads, writes]: [u64; 2]| match class {
            Class::All => reads + writes,
            Class::Read => reads,
            Class::Write => writes,
        };
        sum(self.behind) as f64 / sum(self.all).max(1) as f64
    }

    /// Of the classes that objectives are about the one of which least was answered from that
    /// instant on, and which share; without objectives, of all.
    fn least(&self, objectives: &[Objective]) -> (Class, f64) {
        let classes = objectives.iter().map(|objective| objective.class);
        let shares = classes.map(|class| (class, self.share(class)));
        let least = shares.min_by(|one, other| one.1.total_cmp(&other.1));
        least.unwrap_or((Class::All, self.share(Class::All)))
    }
}

impl Recorders {
    pub(crate) fn new(recorder: Recorder, warmup: u64) -> Recorders {
        Recorders {
            recorder,
            requests: None,
            commands: None,
            schedule: None,
            gate: None,
            volumes: None,
            streams: ByStream::new(warmup),
            warmup,
            before: Counts::default(),
            begun: false,
            behind: Behind {
                from: Instant::ZERO,
                all: [0; 2],
                behind: [0; 2],
            },
            served: None,
            failure: None,
        }
    }

    /// Also writes its part of the files.
    pub(crate) fn with_files(
        mut self,
        files: &RowFiles,
        label: &str,
        blueprint: &dyn Blueprint,
    ) -> Result<Recorders, RunError> {
        if let Some(writer) = &files.requests {
            self.requests = Some(writer.lane(label)?);
        }
        if let Some(writer) = &files.commands {
            let lane = writer.lane(label)?;
            self.commands = Some(CommandLane::new(lane, blueprint.exact()));
        }
        Ok(self)
    }

    /// Also writes the schedule as a blktrace file.
    pub(crate) fn with_schedule(mut self, target: Option<&Target>) -> Result<Recorders, RunError> {
        self.schedule = target.map(Schedule::create).transpose()?;
        Ok(self)
    }

    /// Also holds the run against objectives, and ends it once one is surely missed.
    pub(crate) fn with_gate(mut self, gate: Gate) -> Recorders {
        self.gate = Some(gate).filter(|gate| !gate.is_empty());
        self
    }

    /// Also measures each volume, if there are several.
    pub(crate) fn with_volumes(self, volumes: Option<ByVolume>) -> Recorders {
        Recorders { volumes, ..self }
    }

    /// Also counts what is answered from an instant on.
    pub(crate) fn with_answers_from(mut self, from: Instant) -> Recorders {
        self.behind.from = from;
        self
    }

    /// Also follows wrong blocks to who asked for them, if drives may bring some.
    pub(crate) fn with_served(self, may_fail: bool) -> Recorders {
        let served = may_fail.then(Served::default);
        Recorders { served, ..self }
    }

    /// What it has followed.
    pub(crate) fn served(&self) -> Option<&Served> {
        self.served.as_ref()
    }

    /// Of the requests that objectives are about, those of which least was answered from that
    /// instant on, and which share of them was.
    pub(crate) fn least_behind(&self, objectives: &[Objective]) -> (Class, f64) {
        self.behind.least(objectives)
    }

    /// Whether the run tells anything: some requests were answered, or all failed and it is held
    /// against objectives, which they miss.
    pub(crate) fn tells(&self) -> bool {
        let recorder = &self.recorder;
        recorder.measured_any() || self.gate.is_some() && recorder.measured_failures()
    }

    /// Which objectives were surely missed, so that the run need not go on.
    pub(crate) fn missed(&self) -> Vec<bool> {
        let gate = self.gate.as_ref();
        gate.map_or_else(Vec::new, |gate| gate.missed().to_vec())
    }

    /// For each objective, what every batch had of misses, or its mean.
    pub(crate) fn by_batch(&self, end: Instant, whole: bool) -> Vec<ByBatch> {
        let gate = self.gate.as_ref();
        gate.map_or_else(Vec::new, |gate| gate.by_batch(end, whole))
    }

    /// Whether a stream has asked for anything.
    pub(crate) fn heard(&self, stream: StreamId) -> bool {
        self.streams.heard(stream)
    }

    /// What the parts of the stack had counted when the measured part began.
    pub(crate) fn before(&self) -> &Counts {
        &self.before
    }

    /// Ends the files; also gives response times of each volume and of each stream, none if there
    /// is one. `names` are those of streams.
    pub(crate) fn finish(self, names: &[String]) -> Result<(Recorder, RunRows, Groups), RunError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        if let Some(schedule) = self.schedule {
            schedule.finish()?;
        }
        let commands = self.commands.map(CommandLane::into_lane);
        let parts = RunRows {
            requests: self.requests.map(Lane::finish).transpose()?,
            commands: commands.map(Lane::finish).transpose()?,
        };
        let volumes = self.volumes.as_ref();
        let volumes = volumes.map_or_else(Vec::new, ByVolume::found);
        Ok((self.recorder, parts, (volumes, self.streams.found(names))))
    }

    /// A row of a request that was answered, and its part of the schedule.
    #[inline]
    fn write_down(&mut self, reply: &Reply) {
        let warmup = reply.request.id.0 < self.warmup;
        if let Some(requests) = &mut self.requests
            && let Err(error) = requests.push(|rows| rows.push(reply, warmup))
        {
            self.fail(error.into());
        }
        if let Some(schedule) = &mut self.schedule
            && let Err(error) = schedule.push(reply)
        {
            self.fail(error.into());
        }
    }

    #[cold]
    fn fail(&mut self, error: RunError) {
        (self.requests, self.commands, self.schedule) = (None, None, None);
        self.failure.get_or_insert(error);
    }
}

impl Observer for Recorders {
    #[inline]
    fn comes(&mut self, request: &Request, stack: &Stack, drives: &[Box<dyn Drive>]) {
        if !self.begun && request.id.0 >= self.warmup {
            (self.before, self.begun) = (Counts::of(stack, drives), true);
        }
        self.recorder.comes(request, stack, drives);
    }

    #[inline]
    fn arrived(&mut self, now: Instant, request: &Request) {
        self.recorder.arrived(now, request);
        self.streams.arrived(request);
        if let Some(gate) = &mut self.gate {
            gate.arrived(request);
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
        self.recorder.started(now, drive, command, origin, stack);
        if let Some(served) = &mut self.served {
            served.started(drive, command, origin);
        }
        if let Some(commands) = &mut self.commands {
            commands.started(now, drive, command, origin, stack);
        }
    }

    #[inline]
    fn done(&mut self, now: Instant, drive: DriveId, done: &DriveDone) {
        self.recorder.done(now, drive, done);
        if let Some(commands) = &mut self.commands
            && let Err(error) = commands.done(now, drive, done)
        {
            self.fail(error.into());
        }
    }

    #[inline]
    fn follows_blocks(&self) -> bool {
        self.served.is_some()
    }

    fn brought(&mut self, drive: DriveId, done: &DriveDone, wrong: &[Pba]) {
        if let Some(served) = &mut self.served {
            served.brought(drive, done, wrong);
        }
    }

    #[inline]
    fn moved(&mut self, action: &Action) {
        if let Some(served) = &mut self.served {
            served.moved(action);
        }
    }

    #[inline]
    fn replied(&mut self, now: Instant, reply: &Reply) {
        self.recorder.replied(now, reply);
        if let Some(served) = &mut self.served {
            served.replied(reply);
        }
        if let Some(gate) = &mut self.gate {
            gate.replied(reply);
        }
        if let Some(volumes) = &mut self.volumes {
            volumes.replied(reply);
        }
        self.streams.replied(reply);
        if is_grouped(reply, self.warmup) {
            self.behind.replied(now, reply.request.op);
        }
        self.write_down(reply);
    }

    fn goes_again(&mut self, now: Instant, reply: &Reply) {
        self.recorder.goes_again(now, reply);
        if let Some(served) = &mut self.served {
            served.replied(reply);
        }
        if let Some(gate) = &mut self.gate {
            gate.goes_again(reply);
        }
        self.write_down(reply);
    }

    #[inline]
    fn settled(&mut self, now: Instant, stack: &Stack) {
        self.recorder.settled(now, stack);
    }

    #[inline]
    fn over(&mut self, now: Instant) -> bool {
        self.gate.as_mut().is_some_and(|gate| gate.over(now))
    }
}

/// The simulated schedule, written in the order of arrival: answers wait for those of earlier
/// requests.
struct Schedule {
    writer: Box<dyn Writer>,
    file: SharedOutput,
    header: Header,
    next: u64,
    held: BTreeMap<u64, Record>,
}

/// Name of the drive in a schedule: the first SCSI disk, as blkparse prints it.
const DEVICE: &str = "8:0";

impl Schedule {
    fn create(target: &Target) -> Result<Schedule, RunError> {
        let format = write::writer("blktrace")?;
        let file = SharedOutput::create(target)?;
        let name = target.path().display().to_string();
        let writer = (format.make)(Box::new(file.clone()), &name)?;
        let header = Header::made("nearslot", &[DEVICE], &[]);
        Ok(Schedule {
            writer,
            file,
            header,
            next: 0,
            held: BTreeMap::new(),
        })
    }

    fn push(&mut self, reply: &Reply) -> Result<(), TraceError> {
        self.held.insert(reply.request.id.0, record(reply));
        while let Some(record) = self.held.remove(&self.next) {
            self.next += 1;
            self.writer.write(&[record], &self.header)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), RunError> {
        // Answers that still wait for an earlier one: the run was cut short, and the earlier one
        // never comes.
        let held: Vec<Record> = std::mem::take(&mut self.held).into_values().collect();
        self.writer.write(&held, &self.header)?;
        self.writer.finish(&self.header)?;
        Ok(self.file.finish()?)
    }
}

fn record(reply: &Reply) -> Record {
    let op = match reply.request.op {
        Op::Read => TraceOp::Read,
        Op::Write => TraceOp::Write,
        Op::Flush => TraceOp::Flush,
        Op::Discard => TraceOp::Discard,
        Op::Seek => TraceOp::Other,
    };
    let extent = reply.request.extent;
    let arrived = i64::try_from(reply.timeline.arrived.0).expect("a run is shorter than 292 years");
    let flags = match reply.status {
        Status::Failed(_) => Flags::FAILED,
        Status::Done => Flags::default(),
    };
    Record {
        flags,
        service_ns: reply.timeline.service().0,
        response_ns: reply.timeline.response().0,
        ..Record::new(arrived, op, extent.start.0 * 512, extent.len.bytes(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All reads come before the faults, and most writes after them.
    #[test]
    fn what_comes_after_faults_is_told_of_the_requests_that_are_asked_about() {
        let mut behind = Behind {
            from: Instant(50),
            all: [0; 2],
            behind: [0; 2],
        };
        (0..50).for_each(|at| behind.replied(Instant(at), Op::Read));
        (40..100).for_each(|at| behind.replied(Instant(at), Op::Write));
        let least = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
            behind.least(&crate::objective::objectives(&texts).unwrap())
        };
        assert_eq!(least(&["read p99 < 1 ms"]), (Class::Read, 0.0));
        assert_eq!(least(&["write p99 < 1 ms"]), (Class::Write, 50.0 / 60.0));
        assert_eq!(least(&["p99 < 1 ms"]), (Class::All, 50.0 / 110.0));
        let both = ["write p99 < 1 ms", "read p50 < 1 ms"];
        assert_eq!(least(&both), (Class::Read, 0.0));
        assert_eq!(behind.least(&[]), (Class::All, 50.0 / 110.0));
    }
}
