//! One row a command of a drive: what it was for, where it went, how it ended, and where its time
//! went. A drive with a queue is given a command and begins it later: both instants are told.
//! Within a run, rows are in the order in which commands ended; what a drive does after the last
//! answer is no part of the run.
//!
//! A command has the request that it belongs to, unless a placement gave it for itself: delayed
//! copies, moved blocks, the log of a map. It has the volume's block whose data it moves, unless it
//! moves none: the log of a map, a bare movement of the arm.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, UInt64Array};
use arrow_schema::{DataType, Field};
use nearslot_core::contract::Oracle;
use nearslot_core::ids::DriveId;
use nearslot_core::io::{Command, DriveDone, Origin};
use nearslot_core::op::Op;
use nearslot_core::stack::Stack;
use nearslot_core::units::Instant;

use super::ReportError;
use super::rows::{Lane, Rows, op_code, op_column, status_code, status_column, words_field};
use crate::measure::flight::{InFlight, begun};

/// Quantities that every row has, in the order of the columns.
const QUANTITIES: [&str; 11] = [
    "drive",
    "pba",
    "blocks",
    "cylinder",
    "start_ns",
    "begun_ns",
    "overhead_ns",
    "seek_ns",
    "rotation_ns",
    "transfer_ns",
    "waiting",
];
/// Quantities that some rows have.
const OPTIONAL: [&str; 3] = ["request", "lba", "free_slots"];

/// Commands that have ended.
#[derive(Default)]
pub struct CommandRows {
    op: Vec<i32>,
    status: Vec<i32>,
    open: Vec<bool>,
    quantities: [Vec<u64>; QUANTITIES.len()],
    optional: [Vec<Option<u64>>; OPTIONAL.len()],
}

/// A command that runs.
#[derive(Clone, Copy)]
struct Running {
    op: Op,
    open: bool,
    at: [u64; 3],
    cylinder: u64,
    started: Instant,
    waiting: u64,
    optional: [Option<u64>; OPTIONAL.len()],
}

/// Watches drives and writes their commands down.
pub struct CommandLane {
    lane: Lane<CommandRows>,
    /// Tells the cylinder of a block.
    locator: Box<dyn Oracle>,
    running: InFlight<Running>,
}

impl CommandLane {
    /// Of a run.
    pub fn new(lane: Lane<CommandRows>, locator: Box<dyn Oracle>) -> CommandLane {
        CommandLane {
            lane,
            locator,
            running: InFlight::default(),
        }
    }

    /// A drive was given a command.
    pub fn started(
        &mut self,
        now: Instant,
        drive: DriveId,
        command: &Command,
        origin: &Origin,
        stack: &Stack,
    ) {
        let lba = origin.data().map(|data| data.block(0).0);
        // Jobs of a cache belong to no request of a client.
        let request = origin.request.filter(|request| request.as_job().is_none());
        let request = request.map(|request| request.0);
        let running = Running {
            op: command.op,
            open: origin.open,
            at: [drive.0.into(), command.at.0, command.len.0],
            cylinder: self.locator.locate(command.at).cylinder.into(),
            started: now,
            waiting: stack.waiting_on(drive) as u64 - 1,
            optional: [request, lba, stack.free(drive).map(|free| free.free())],
        };
        self.running.begin(drive, command.io, running);
    }

    /// A drive ended its command.
    ///
    /// # Errors
    /// The disk is full.
    pub fn done(
        &mut self,
        now: Instant,
        drive: DriveId,
        done: &DriveDone,
    ) -> Result<(), ReportError> {
        let running = self.running.end(drive, done.io);
        let running = running.expect("a drive ends what it began");
        let begun = begun(running.started, now, done);
        self.lane.push(|rows| rows.push(&running, begun, done))
    }

    /// The lane, with everything in it.
    pub fn into_lane(self) -> Lane<CommandRows> {
        self.lane
    }
}

impl CommandRows {
    fn push(&mut self, running: &Running, begun: Instant, done: &DriveDone) {
        self.op.push(op_code(running.op));
        self.status.push(status_code(done.status));
        self.open.push(running.open);
        let [drive, pba, blocks] = running.at;
        let cost = &done.cost;
        let row = [
            drive,
            pba,
            blocks,
            running.cylinder,
            running.started.0,
            begun.0,
            cost.overhead.0,
            cost.seek.0,
            cost.rotation.0,
            cost.transfer.0,
            running.waiting,
        ];
        for (column, value) in self.quantities.iter_mut().zip(row) {
            column.push(value);
        }
        for (column, value) in self.optional.iter_mut().zip(running.optional) {
            column.push(value);
        }
    }
}

impl Rows for CommandRows {
    fn fields() -> Vec<Field> {
        let mut fields = vec![
            words_field("op"),
            words_field("status"),
            Field::new("open", DataType::Boolean, false),
        ];
        fields.extend(QUANTITIES.map(|name| Field::new(name, DataType::UInt64, false)));
        fields.extend(OPTIONAL.map(|name| Field::new(name, DataType::UInt64, true)));
        fields
    }

    fn len(&self) -> usize {
        self.op.len()
    }

    fn columns(self) -> Vec<ArrayRef> {
        let mut columns: Vec<ArrayRef> = vec![
            op_column(self.op),
            status_column(self.status),
            Arc::new(BooleanArray::from(self.open)),
        ];
        for quantity in self.quantities {
            columns.push(Arc::new(UInt64Array::from(quantity)));
        }
        for quantity in self.optional {
            columns.push(Arc::new(UInt64Array::from(quantity)));
        }
        columns
    }
}
