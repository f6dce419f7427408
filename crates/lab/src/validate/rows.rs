//! What the reference says of single requests: rows of traces and of results, with the state each began in.

use std::path::Path;

use nearslot_core::drive::hdd::mech::{Mechanics, Media};
use nearslot_core::drive::hdd::spindle::Phase;
use nearslot_core::io::Head;
use nearslot_core::request::Op;
use nearslot_core::units::{Angle, Blocks, Instant, Pba};

use super::ValidateError;
use super::table::{Column, Row, Table};

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
    pub(super) head: Head,
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
        mechanics.access_from(self.phase, self.head, op, at, len)
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

/// The requests of a trace file; `None` if there is no such file.
///
/// # Errors
/// A malformed file, or a request beyond the drive.
pub(super) fn read_trace(
    folder: &Path,
    file: &str,
    capacity: Blocks,
) -> Result<Option<Vec<Ask>>, ValidateError> {
    let Some(table) = Table::read(folder, file)? else {
        return Ok(None);
    };
    let columns = AskColumns::of(&table, "time_ms")?;
    let asks: Vec<Ask> = table
        .rows()
        .map(|row| columns.read(&row, capacity))
        .collect::<Result<_, _>>()?;
    for (row, pair) in table.rows().skip(1).zip(asks.windows(2)) {
        if pair[1].arrival < pair[0].arrival {
            return Err(row.wrong(columns.arrival, &"not before the row above"));
        }
    }
    Ok(Some(asks))
}

/// The rows of a result file; `None` if there is no such file.
///
/// # Errors
/// A malformed file, or a request or a head position beyond the drive.
pub(super) fn read_served(
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
    let capacity = mechanics.layout().capacity();
    let read = |row: Row<'_>| {
        let served = Served {
            line: row.line(),
            sequence: row.number(sequence)?,
            ask: ask.read(&row, capacity)?,
            start: Instant(row.ns(start)?),
            head: Head {
                band: below(&row, cylinder, mechanics.cylinders())?,
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
    let served: Vec<Served> = table.rows().map(read).collect::<Result<_, _>>()?;
    if served.is_empty() {
        return Err(ValidateError::unreadable(file, &"it has no rows"));
    }
    Ok(Some(served))
}

/// Holds the rows of a result file against the requests that they serve: each one is a request of the trace, in order
/// of arrival, and is served once, by the time that `arrived` says so of a row counted from 0.
///
/// # Errors
/// A row that serves something else.
pub(super) fn check_served(
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
        let asked = trace[number];
        if (row.ask.op, row.ask.at, row.ask.len) != (asked.op, asked.at, asked.len) {
            return Err(wrong(format!(
                "the trace's number of a {} of {} blocks at {}",
                row.ask.op.name(),
                row.ask.len.0,
                row.ask.at.0
            )));
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
