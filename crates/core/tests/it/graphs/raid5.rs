//! A small RAID-5 as plans: what it needs of a graph of steps, and nothing else.
//!
//! Two drives with data and one with parity, a chunk to each. A write of a chunk reads the old data
//! and the old parity, and writes both anew. A read that fails is answered from the other two
//! drives, and what they give is written where the read failed. A write that fails is tolerated:
//! what is there cannot be read from then on, and the other two drives tell it.

use nearslot_core::contract::{Drives, Placement, Shape};
use nearslot_core::ids::DriveId;
use nearslot_core::io::{Data, DriveDone, Tag};
use nearslot_core::op::Op;
use nearslot_core::plan::{Instead, Parity, Plan, PlannedIo, StepIndex, Target};
use nearslot_core::request::Request;
use nearslot_core::units::{Blocks, Instant, Lba, Pba};

/// Blocks of a chunk.
pub(crate) const CHUNK: u64 = 2;
/// Drives that have data.
const DATA: u64 = 2;
/// The drive that has parity.
const PARITY: DriveId = DriveId(2);

/// What an I/O of this placement is: a tag tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// For a client.
    Read,
    /// Of the block or the parity that a write is to change.
    Old,
    Write,
    /// From which a block is computed that could not be read.
    Rebuild,
    /// Of a block that could not be read.
    Heal,
}

const PARTS: [Part; 5] = [
    Part::Read,
    Part::Old,
    Part::Write,
    Part::Rebuild,
    Part::Heal,
];

fn tag(part: Part, chunk: u64) -> Tag {
    Tag(chunk * PARTS.len() as u64 + part as u64)
}

fn part(tag: Tag) -> (Part, u64) {
    let parts = PARTS.len() as u64;
    (PARTS[(tag.0 % parts) as usize], tag.0 / parts)
}

pub(crate) struct Raid5 {
    pub(crate) stripes: u64,
    /// A fault that the tests have to see: the parity is computed before the old data are there.
    pub(crate) hasty: bool,
}

/// Where a chunk lies.
fn place(chunk: u64) -> (DriveId, Pba) {
    let drive = DriveId((chunk % DATA) as u16);
    (drive, Pba(chunk / DATA * CHUNK))
}

fn data(chunk: u64) -> Data {
    Data::from(Lba(chunk * CHUNK))
}

fn io(drive: DriveId, op: Op, chunk: u64, part: Part) -> PlannedIo {
    let (_, at) = place(chunk);
    let mut io = PlannedIo::new(drive, op, Target::At(at), Blocks(CHUNK));
    io.tag = tag(part, chunk);
    io.data = (drive != PARITY && part != Part::Rebuild).then(|| data(chunk));
    io
}

/// Reads the other two drives of a stripe, and computes from them what this one had.
fn rebuild(drive: DriveId, chunk: u64, moves: Option<Data>, out: &mut Plan) -> StepIndex {
    let parity = out.parity(Parity {
        written: None,
        data: moves,
        len: Blocks(CHUNK),
        awaited: true,
    });
    for other in (0..=PARITY.0).map(DriveId).filter(|other| *other != drive) {
        let mut read = io(other, Op::Read, chunk, Part::Rebuild);
        read.awaited = false;
        let read = out.io(read);
        out.after(read, parity);
    }
    parity
}

impl Placement for Raid5 {
    /// Writes to a stripe change the same parity.
    fn shape(&self) -> Shape {
        Shape {
            drives: PARITY.0 + 1,
            chunk: Blocks(DATA * CHUNK),
            stripe: Blocks(DATA * CHUNK),
            ..Shape::of(Blocks(self.stripes * DATA * CHUNK))
        }
    }

    fn plan(&mut self, _now: Instant, request: &Request, _drives: &dyn Drives, out: &mut Plan) {
        let chunk = request.extent.start.0 / CHUNK;
        let (drive, _) = place(chunk);
        if request.op == Op::Read {
            out.io(io(drive, Op::Read, chunk, Part::Read));
            return;
        }
        let old = [drive, PARITY].map(|on| {
            let mut read = io(on, Op::Read, chunk, Part::Old);
            read.data = None;
            read.awaited = false;
            out.io(read)
        });
        let parity = out.parity(Parity {
            written: Some(data(chunk)),
            data: None,
            len: Blocks(CHUNK),
            awaited: false,
        });
        if !self.hasty {
            out.after(old[0], parity);
        }
        out.after(old[1], parity);
        let write = out.io(io(drive, Op::Write, chunk, Part::Write));
        // Where the parity cannot be known, nothing is written: data and parity would not agree.
        out.after(parity, write);
        let mut write = io(PARITY, Op::Write, chunk, Part::Write);
        write.parity = Some(parity);
        let write = out.io(write);
        out.after(parity, write);
    }

    fn done(
        &mut self,
        _now: Instant,
        tag: Tag,
        drive: DriveId,
        done: &DriveDone,
        _drives: &dyn Drives,
        out: &mut Plan,
    ) {
        if done.status.is_done() {
            return;
        }
        let (part, chunk) = part(tag);
        out.instead = match part {
            Part::Read => {
                let found = rebuild(drive, chunk, Some(data(chunk)), out);
                let mut heal = io(drive, Op::Write, chunk, Part::Heal);
                (heal.parity, heal.data, heal.awaited) = (Some(found), None, false);
                let heal = out.io(heal);
                out.after(found, heal);
                Instead::Step(found)
            }
            Part::Old => Instead::Step(rebuild(drive, chunk, None, out)),
            Part::Write | Part::Heal => Instead::Tolerated,
            // A second drive fails: the block is lost.
            Part::Rebuild => Instead::Nothing,
        };
    }

    fn skipped(
        &mut self,
        _now: Instant,
        _tag: Tag,
        _drive: DriveId,
        _drives: &dyn Drives,
        _out: &mut Plan,
    ) {
    }
}
