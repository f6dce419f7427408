//! Whole runs with the clock running freely: mean response times, first come and scheduled.
//!
//! Each drive model runs the trace itself here, so differences add up as they do in use: what just catches its
//! sector in one simulator may just miss it in the other.

use nearslot_core::contract::{Blueprint, Drive, Next, Oracle, Scheduler, View};
use nearslot_core::drive::hdd::{HddBlueprint, Mechanics};
use nearslot_core::ids::{IoId, StreamId};
use nearslot_core::io::{Command, DriveDone, Io};
use nearslot_core::units::Instant;
use serde::Serialize;

use super::choices::{closed_order, scheduler};
use super::folder::Folder;
use super::rows::{self, Ask, Served};
use super::table::Table;
use super::{Check, Checks, Drives, FREE_MEAN_MAX, Finding, SPTF_MEAN_MAX, ValidateError};

/// The mean response of a whole run.
#[derive(Clone, Debug, Serialize)]
pub struct FreeRunning {
    /// The reference's, in milliseconds.
    pub reference_ms: f64,
    /// Ours.
    pub mean_ms: f64,
    /// Ours against the reference's, relatively.
    pub relative: f64,
    /// The same with our platter kept in step with the reference's, where its rows tell how that turned.
    pub in_step: Option<f64>,
}

impl FreeRunning {
    fn of(reference_ms: f64, mean_ms: f64) -> FreeRunning {
        FreeRunning {
            reference_ms,
            mean_ms,
            relative: mean_ms / reference_ms - 1.0,
            in_step: None,
        }
    }

    /// Within the limit as it is, or within a tenth of it once the platters are in step.
    fn within(&self, limit: f64) -> bool {
        let in_step = self
            .in_step
            .is_some_and(|apart| apart.abs() <= limit / 10.0);
        self.relative.abs() <= limit || in_step
    }
}

pub(super) fn compare(
    folder: &Folder,
    drives: &Drives,
    checks: &mut Checks,
) -> Result<(), ValidateError> {
    for workload in ["random4k", "mixed"] {
        for layout in ["ideal", "real"] {
            compare_open(folder, drives, workload, layout, checks)?;
        }
    }
    compare_summary(folder, drives, checks)
}

/// `fcfs_*.csv`: the mean over the file's requests.
fn compare_open(
    folder: &Folder,
    drives: &Drives,
    workload: &str,
    layout: &str,
    checks: &mut Checks,
) -> Result<(), ValidateError> {
    let drive = drives.named(layout);
    let file = format!("fcfs_{workload}_{layout}.csv");
    let trace_file = format!("trace_{workload}.csv");
    let Some(served) = rows::read_served(&folder.path, &file, drive.mechanics())? else {
        return Ok(());
    };
    let Some(trace) = rows::read_trace(&folder.path, &trace_file, drive.capacity())? else {
        checks.absent(&trace_file);
        return Ok(());
    };
    rows::check_served(&file, &served, &trace, |_| trace.len())?;
    let responses = run_open(&trace, drive);
    let ours = |row: &Served| responses[row.sequence as usize];
    let sum: u64 = served.iter().map(ours).sum();
    let reference: u64 = served.iter().map(rows::Served::response_ns).sum();
    let count = served.len() as f64;
    let mut found = FreeRunning::of(reference as f64 / count / 1e6, sum as f64 / count / 1e6);
    found.in_step = Some(run_in_step(&served, drive.mechanics()) as f64 / reference as f64 - 1.0);
    checks.checks.push(Check {
        file,
        what: format!("fcfs, open, {layout}"),
        compared: served.len() as u64,
        pass: Some(found.within(FREE_MEAN_MAX)),
        finding: Finding::FreeRunning(found),
        limit: format!(
            "{:.1} %, or {:.2} % in step",
            FREE_MEAN_MAX * 100.0,
            FREE_MEAN_MAX * 10.0
        ),
    });
    Ok(())
}

/// Response times in nanoseconds of a trace with given arrivals, first come, first served.
fn run_open(trace: &[Ask], drive: &HddBlueprint) -> Vec<u64> {
    let mut model = drive.drive();
    let mut now = Instant::ZERO;
    let mut response = |(index, ask): (usize, &Ask)| {
        let done_at = carry_out(&mut *model, now.max(ask.arrival), index, ask).0;
        now = done_at;
        done_at.0 - ask.arrival.0
    };
    trace.iter().enumerate().map(&mut response).collect()
}

/// Sum of response times in nanoseconds of a first-come run whose platter lags behind as the reference's did.
///
/// The reference drops a fraction of a nanosecond for each sector, so its platter falls behind by up to some tenths
/// of a millisecond in a run; a per cent of the requests then catch a sector that they would have missed, or the
/// other way round. Each is a revolution, and their sum is a random number with a standard deviation of about
/// 0.1 % of the mean. Each row tells how far behind the platter was; with that, arm and queue still run freely.
fn run_in_step(served: &[Served], mechanics: &Mechanics) -> u64 {
    let (mut now, mut head, mut sum) = (Instant::ZERO, mechanics.start(), 0);
    for row in served {
        now = now.max(row.ask.arrival);
        let theirs = mechanics.spindle().phase(row.start);
        let phase = mechanics.spindle().phase(now).shifted(theirs, row.phase);
        let Ask { op, at, len, .. } = row.ask;
        let media = mechanics.access_from(phase, head, op, at, len);
        now += media.cost.total();
        head = media.head;
        sum += now.since(row.ask.arrival).0;
    }
    sum
}

/// Runs one command on an idle drive; when it ends, and its completion.
fn carry_out(drive: &mut dyn Drive, now: Instant, index: usize, ask: &Ask) -> (Instant, DriveDone) {
    let command = Command {
        io: IoId(index as u32),
        op: ask.op,
        at: ask.at,
        len: ask.len,
    };
    drive.submit(now, &command);
    loop {
        let due = drive.next_event().expect("a command is under way");
        if let Some(done) = drive.advance(due) {
            return (due, done);
        }
    }
}

/// `summary.csv`: closed loads of the random trace, by every scheduler that we have.
fn compare_summary(
    folder: &Folder,
    drives: &Drives,
    checks: &mut Checks,
) -> Result<(), ValidateError> {
    let file = "summary.csv";
    let Some(table) = Table::read(&folder.path, file)? else {
        checks.absent(file);
        return Ok(());
    };
    let [layout_column, workload, scheduler, depth_column] =
        table.columns(["layout", "workload", "scheduler", "queue_depth"])?;
    let [requests, mean, note] = table.columns(["requests", "mean_ms", "note"])?;
    for row in table.rows() {
        // Open loads are compared request by request; rows with a note are of another model.
        if row.text(workload) != "closed random4k" || !row.text(note).is_empty() {
            continue;
        }
        let layout = row.text(layout_column);
        if !["ideal", "real"].contains(&layout) {
            return Err(row.wrong(layout_column, &"ideal or real"));
        }
        let drive = drives.named(layout);
        let Some(trace) = rows::read_trace(&folder.path, "trace_random4k.csv", drive.capacity())?
        else {
            checks.absent("trace_random4k.csv");
            return Ok(());
        };
        let (depth, count): (usize, usize) = (row.number(depth_column)?, row.number(requests)?);
        let name = row.text(scheduler);
        let Some(part) = our_name(name) else {
            return Err(row.wrong(scheduler, &"FCFS, LOOK, C-LOOK, SSTF or SPTF"));
        };
        if depth == 0 {
            return Err(row.wrong(depth_column, &"at least 1"));
        }
        if count == 0 || count > trace.len() {
            return Err(row.wrong(requests, &format!("1 to {}", trace.len())));
        }
        let ours = run_closed(&trace, depth, count, drive, part);
        let found = FreeRunning::of(row.real(mean)?, ours);
        let limit = if part == "satf" {
            SPTF_MEAN_MAX
        } else {
            FREE_MEAN_MAX
        };
        checks.checks.push(Check {
            file: file.to_owned(),
            what: format!("{part}, depth {depth}, {layout}"),
            compared: count as u64,
            pass: Some(found.within(limit)),
            finding: Finding::FreeRunning(found),
            limit: format!("{:.1} %", limit * 100.0),
        });
    }
    Ok(())
}

/// Our name of a scheduler of the reference.
fn our_name(name: &str) -> Option<&'static str> {
    match name {
        "FCFS" => Some("fcfs"),
        "LOOK" => Some("look"),
        "C-LOOK" => Some("clook"),
        "SSTF" => Some("sstf"),
        "SPTF" => Some("satf"),
        _ => None,
    }
}

/// Mean response in milliseconds of the first `count` completions of a closed load.
fn run_closed(trace: &[Ask], depth: usize, count: usize, drive: &HddBlueprint, name: &str) -> f64 {
    let order = closed_order(trace, depth);
    let mut desk = Closed {
        scheduler: scheduler(name, drive).expect("the table has it, and defaults are valid"),
        oracle: drive.exact(),
        model: drive.drive(),
        arrived: vec![Instant::ZERO; order.len()],
        order,
        joined: 0,
    };
    let mut now = Instant::ZERO;
    let mut sum = 0;
    desk.join(now);
    let mut running = desk.choose(now, drive);
    for _ in 1..depth {
        desk.join(now);
    }
    for completed in 1..=count {
        let ask = desk.order[running];
        let (ended, done) = desk.run(now, running, &ask);
        now = ended;
        desk.oracle.observed(now, &done);
        desk.scheduler.done(now, &done);
        sum += now.0 - desk.arrived[running].0;
        if completed < count {
            // With a depth of 1 nothing waits, and the next is what comes now.
            if depth == 1 {
                desk.join(now);
                running = desk.choose(now, drive);
            } else {
                running = desk.choose(now, drive);
                desk.join(now);
            }
        }
    }
    sum as f64 / count as f64 / 1e6
}

/// A closed load on one drive.
struct Closed {
    scheduler: Box<dyn Scheduler>,
    oracle: Box<dyn Oracle>,
    model: Box<dyn Drive>,
    arrived: Vec<Instant>,
    order: Vec<Ask>,
    joined: usize,
}

impl Closed {
    /// The next request of the trace, if there is one, joins those that wait.
    fn join(&mut self, now: Instant) {
        let index = self.joined;
        let Some(ask) = self.order.get(index) else {
            return;
        };
        self.joined += 1;
        self.arrived[index] = now;
        let io = Io {
            id: IoId(index as u32),
            sequence: index as u64,
            stream: StreamId(0),
            op: ask.op,
            at: ask.at,
            open: false,
            len: ask.len,
            arrived: now,
            priority: 0,
            place: self.oracle.locate(ask.at),
        };
        self.scheduler.insert(now, &io);
    }

    fn choose(&mut self, now: Instant, drive: &HddBlueprint) -> usize {
        let view = View {
            now,
            oracle: &*self.oracle,
            capacity: drive.capacity(),
            free: None,
        };
        match self.scheduler.next(&view) {
            Next::Start(id) => id.index(),
            other => panic!("requests wait, and the scheduler says {other:?}"),
        }
    }

    fn run(&mut self, now: Instant, index: usize, ask: &Ask) -> (Instant, DriveDone) {
        let command = Command {
            io: IoId(index as u32),
            op: ask.op,
            at: ask.at,
            len: ask.len,
        };
        self.oracle.started(now, &command);
        carry_out(&mut *self.model, now, index, ask)
    }
}
