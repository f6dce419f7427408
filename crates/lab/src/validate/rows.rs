//! What the reference says of single requests: rows of traces and of results, with the state each
//! began in.

use std::path::Path;

use nearslot_core::drive::hdd::mech::{Mechanics, Media};
use nearslot_core::drive::hdd::spindle::Phase;
use nearslot_core::op::Op;
use nearslot_core::position::ArmPosition;
use nearslot_core::units::{Angle, Blocks, Instant, Pba};

use super::folder::Folder;
use super::table::{Column, Row, Table};
use super::{Checks, Drives, ValidateError};

/// A file of results that a folder may have.
struct ResultFile {
    name: &'static str,
    layout: &'static str,
    trace: &'static str,
    load: Load,
    /// Our name of the scheduler.
    scheduler: &'static str,
}

/// How requests come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// When the trace says so.
    Open,
    /// So many at time 0, then one for each that completes.
    Closed(usize),
}

impl Load {
    /// What says when a request arrives.
    pub(super) fn clock(self) -> &'static str {
        match self {
            Load::Open => "the trace",
            Load::Closed(_) => "the completion that lets it in",
        }
    }
}

const RANDOM: &str = "trace_random4k.csv";
const MIXED: &str = "trace_mixed.csv";
/// Requests in the files of scheduled loads that are in the drive or wait.
const DEPTH: usize = 16;

const fn open(name: &'static str, layout: &'static str, trace: &'static str) -> ResultFile {
    ResultFile {
        name,
        layout,
        trace,
        load: Load::Open,
        scheduler: "fcfs",
    }
}

const fn closed(name: &'static str, scheduler: &'static str) -> ResultFile {
    ResultFile {
        name,
        layout: "ideal",
        trace: RANDOM,
        load: Load::Closed(DEPTH),
        scheduler,
    }
}

const FILES: [ResultFile; 8] = [
    open("fcfs_random4k_ideal.csv", "ideal", RANDOM),
    open("fcfs_random4k_real.csv", "real", RANDOM),
    open("fcfs_mixed_ideal.csv", "ideal", MIXED),
    open("fcfs_mixed_real.csv", "real", MIXED),
    closed("look_random4k_qd16_ideal.csv", "look"),
    closed("clook_random4k_qd16_ideal.csv", "clook"),
    closed("sstf_random4k_qd16_ideal.csv", "sstf"),
    closed("sptf_random4k_qd16_ideal.csv", "satf"),
];

/// Names of the files that results are read from.
pub(super) fn file_names() -> impl Iterator<Item = &'static str> {
    let results = FILES.iter().map(|file| file.name);
    results.chain([RANDOM, MIXED])
}

/// A run of the reference: the requests of a trace, and what each row says of the one that it
/// serves.
pub(super) struct Run {
    pub(super) file: &'static str,
    pub(super) layout: &'static str,
    pub(super) load: Load,
    /// Our name of the scheduler.
    pub(super) scheduler: &'static str,
    /// In order of arrival: a row's number counts in it.
    pub(super) trace: Vec<Ask>,
    /// In the order in which they were served.
    pub(super) served: Vec<Served>,
}

/// Reads all files of results that the folder has, with their traces.
///
/// # Errors
/// A malformed file, a trace that is missing, or a row that serves no request of the trace.
pub(super) fn read_runs(
    folder: &Folder,
    drives: &Drives,
    checks: &mut Checks,
) -> Result<Vec<Run>, ValidateError> {
    let mut runs = Vec::new();
    for of in &FILES {
        let mechanics = drives.named(of.layout).mechanics();
        let Some(served) = read_served(&folder.path, of.name, mechanics)? else {
            checks.absent(of.name);
            continue;
        };
        let capacity = mechanics.layout().capacity();
        let needed = format!("{} serves its requests", of.name);
        let mut trace = require_trace(&folder.path, of.trace, capacity, &needed)?;
        match of.load {
            Load::Open => check_served(of.name, &served, &trace, |_| trace.len())?,
            Load::Closed(depth) => {
                trace = closed_order(&trace, depth);
                check_served(of.name, &served, &trace, |row| depth + row.max(1) - 1)?;
            }
        }
        runs.push(Run {
            file: of.name,
            layout: of.layout,
            load: of.load,
            scheduler: of.scheduler,
            trace,
            served,
        });
    }
    Ok(runs)
}

/// A trace in the order in which a closed load issues it: line 2 to Q, then line 1, then the rest.
pub(super) fn closed_order(trace: &[Ask], depth: usize) -> Vec<Ask> {
    let mut order = trace.to_vec();
    let first = depth.min(order.len());
    order[..first].rotate_left(1);
    order
}

/// A request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) arrival: Instant,
    pub(super) op: Op,
    pub(super) at: Pba,
    pub(super) len: Blocks,
}

/// A served request: what the reference says it cost, and the state of the drive before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    /// Line of its file, counted from 1.
    pub(super) line: u64,
    /// Number in order of arrival.
    pub(super) sequence: u64,
    pub(super) ask: Ask,
    pub(super) start: Instant,
    pub(super) arm: ArmPosition,
    pub(super) phase: Phase,
    pub(super) seek_cylinders: u32,
    pub(super) seek_ns: u64,
    pub(super) rotation_ns: u64,
    pub(super) transfer_ns: u64,
    pub(super) completion: Instant,
}

impl Served {
    /// What our mechanics make of it, from the recorded state.
    pub(super) fn media(&self, mechanics: &Mechanics) -> Media {
        let Ask { op, at, len, .. } = self.ask;
        mechanics.access_from(self.phase, self.arm, op, at, len)
    }

    /// From arrival to completion, in nanoseconds.
    pub(super) fn response_ns(&self) -> u64 {
        self.completion.0 - self.ask.arrival.0
    }
}

/// Columns that say what a request is.
struct AskColumns {
    arrival: Column,
    op: Column,
    at: Column,
    len: Column,
}

impl AskColumns {
    fn of(table: &Table, arrival: &'static str) -> Result<AskColumns, ValidateError> {
        let [arrival, op, at, len] = table.columns([arrival, "op", "lba", "blocks"])?;
        Ok(AskColumns {
            arrival,
            op,
            at,
            len,
        })
    }

    fn read(&self, row: &Row<'_>, capacity: Blocks) -> Result<Ask, ValidateError> {
        let (at, len) = extent(row, self.at, self.len, capacity)?;
        Ok(Ask {
            arrival: Instant(row.ns(self.arrival)?),
            op: operation(row, self.op)?,
            at,
            len,
        })
    }
}

/// Reads `R` or `W`.
///
/// # Errors
/// It is neither.
pub(super) fn operation(row: &Row<'_>, column: Column) -> Result<Op, ValidateError> {
    match row.text(column) {
        "R" => Ok(Op::Read),
        "W" => Ok(Op::Write),
        _ => Err(row.wrong(column, &"R or W")),
    }
}

/// The word of the tables for it.
fn letter(op: Op) -> String {
    if op == Op::Read { "R" } else { "W" }.to_owned()
}

/// Reads where a request lies.
///
/// # Errors
/// It has no blocks, or some beyond the drive.
pub(super) fn extent(
    row: &Row<'_>,
    at: Column,
    len: Column,
    capacity: Blocks,
) -> Result<(Pba, Blocks), ValidateError> {
    let (first, blocks): (u64, u64) = (row.number(at)?, row.number(len)?);
    if blocks == 0 {
        return Err(row.wrong(len, &"at least one block"));
    }
    match first.checked_add(blocks) {
        Some(end) if end <= capacity.0 => Ok((Pba(first), Blocks(blocks))),
        _ => {
            let allowed = format!("a place for {blocks} blocks below the drive's {capacity}");
            Err(row.wrong(at, &allowed))
        }
    }
}

/// The requests of a trace file.
///
/// # Errors
/// No such file, a malformed one, a request beyond the drive, or requests for several devices.
pub(super) fn require_trace(
    folder: &Path,
    file: &str,
    capacity: Blocks,
    needed: &str,
) -> Result<Vec<Ask>, ValidateError> {
    let table = Table::require(folder, file, needed)?;
    let columns = AskColumns::of(&table, "time_ms")?;
    let device = table.column("dev")?;
    table.check_all_read()?;
    table.check_rows(needed)?;
    let (mut asks, mut before) = (Vec::new(), Instant::ZERO);
    let mut of = None;
    for row in table.rows() {
        let ask = columns.read(&row, capacity)?;
        if std::mem::replace(&mut before, ask.arrival) > ask.arrival {
            return Err(row.wrong(columns.arrival, &"not before the row above"));
        }
        let number: u64 = row.number(device)?;
        if *of.get_or_insert(number) != number {
            return Err(row.wrong(device, &"the device of the rows above; a folder is of one"));
        }
        asks.push(ask);
    }
    Ok(asks)
}

/// The rows of a result file; `None` if there is no such file.
///
/// # Errors
/// A malformed file, or a request or a head position beyond the drive.
fn read_served(
    folder: &Path,
    file: &str,
    mechanics: &Mechanics,
) -> Result<Option<Vec<Served>>, ValidateError> {
    let Some(table) = Table::read(folder, file)? else {
        return Ok(None);
    };
    let ask = AskColumns::of(&table, "arrival_ms")?;
    let [sequence, start, completion] = table.columns(["seq", "start_ms", "completion_ms"])?;
    let [cylinder, head, angle] = table.columns(["start_cyl", "start_head", "start_angle_rev"])?;
    let [distance, seek, rotation, transfer] =
        table.columns(["seek_cyl", "seek_ms", "rotation_ms", "transfer_ms"])?;
    table.check_all_read()?;
    table.check_rows("results are compared row by row")?;
    let capacity = mechanics.layout().capacity();
    let read = |row: Row<'_>| {
        let served = Served {
            line: row.line(),
            sequence: row.number(sequence)?,
            ask: ask.read(&row, capacity)?,
            start: Instant(row.ns(start)?),
            arm: ArmPosition {
                cylinder: below(&row, cylinder, mechanics.cylinders())?,
                surface: below(&row, head, mechanics.layout().heads())?,
            },
            phase: Phase::at(turn(&row, angle)?),
            seek_cylinders: row.number(distance)?,
            seek_ns: row.ns(seek)?,
            rotation_ns: row.ns(rotation)?,
            transfer_ns: row.ns(transfer)?,
            completion: Instant(row.ns(completion)?),
        };
        if served.completion < served.start || served.start < served.ask.arrival {
            return Err(row.wrong(completion, &"arrival, start and completion in order"));
        }
        Ok(served)
    };
    let served = table.rows().map(read).collect::<Result<_, _>>()?;
    Ok(Some(served))
}

/// Holds the rows of a result file against the requests that they serve: each one is a request of
/// the trace, in order of arrival, and is served once, by the time that `arrived` says so of a row
/// counted from 0.
///
/// # Errors
/// A row that serves something else.
fn check_served(
    file: &str,
    served: &[Served],
    trace: &[Ask],
    arrived: impl Fn(usize) -> usize,
) -> Result<(), ValidateError> {
    let mut seen = vec![false; trace.len()];
    for (index, row) in served.iter().enumerate() {
        let wrong = |allowed: String| ValidateError::Cell {
            file: file.to_owned(),
            line: row.line,
            column: "seq".to_owned(),
            value: row.sequence.to_string(),
            allowed,
        };
        let number = row.sequence as usize;
        let waiting = arrived(index).min(trace.len());
        if number >= waiting {
            return Err(wrong(format!(
                "one of the {waiting} requests that have arrived"
            )));
        }
        if std::mem::replace(&mut seen[number], true) {
            return Err(wrong("a request that no row above serves".to_owned()));
        }
        let (asked, row_asks) = (trace[number], row.ask);
        let cells = [
            ("op", letter(asked.op), letter(row_asks.op)),
            ("lba", asked.at.0.to_string(), row_asks.at.0.to_string()),
            (
                "blocks",
                asked.len.0.to_string(),
                row_asks.len.0.to_string(),
            ),
        ];
        for (column, expected, value) in cells {
            if value != expected {
                return Err(ValidateError::Cell {
                    file: file.to_owned(),
                    line: row.line,
                    column: column.to_owned(),
                    value,
                    allowed: format!("{expected}, as request {number} of the trace has"),
                });
            }
        }
    }
    Ok(())
}

fn below(row: &Row<'_>, column: Column, count: u32) -> Result<u32, ValidateError> {
    match row.number(column)? {
        value if value < count => Ok(value),
        _ => Err(row.wrong(column, &format!("below {count}"))),
    }
}

/// A fraction of a turn, to the nearest unit.
pub(super) fn turn(row: &Row<'_>, column: Column) -> Result<Angle, ValidateError> {
    let turns = row.real(column)?;
    if (0.0..=1.0).contains(&turns) {
        Ok(Angle(libm::round(turns * 4_294_967_296.0) as u64 as u32))
    } else {
        Err(row.wrong(column, &"0 to 1"))
    }
}
