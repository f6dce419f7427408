//! Rotating parity (RAID-5): stripes of data strips and the exclusive or of them, over one array of drives or several.
//!
//! One drive of an array may fail or be gone, and everything is still there. A read goes to the drives that have what it asks for, with an I/O for each
//! strip. A write costs reads too, unless it covers a stripe: of *read-modify-write* (the old data and the old parity, then the new ones) and
//! *reconstruct-write* (what the write leaves of the stripe, then the new data and the new parity) the one with fewer I/Os is taken (`writing`).
//! Only rows that are written take part: one block of each drive at the same address is a row.
//!
//! What cannot be read is computed from the others of its rows, and written back (`computing`). What cannot be written is tolerated as long as
//! the others of its rows tell it; from then on it is known to be bad (`bad`), is computed when it is read, and good when it is written
//! again. A drive that is gone is left alone. Where a second block of a row is bad, the request fails: nothing is made up.
//!
//! Writes to a stripe follow each other, and what is computed from a stripe waits while it is written (`turns`). Rotation and arrays are in
//! `geometry`.
//!
//! After a power cut all is there that a flush has covered, or that a forced write has written; if no drive has a volatile cache,
//! all that was answered. A table in NVRAM is needed for that: of bad blocks, and of rows that were being written, whose parity may not fit (`written`). Such a parity is
//! bad. What is bad is computed anew in spare time (`repair`). If a drive is gone or has bad blocks while the power goes, what it had in rows
//! that were being written is lost, which is told.
//!
//! Source: Patterson, Gibson and Katz, SIGMOD 1988; Lee and Katz, ASPLOS 1991; reconstruct-writes as in md(4) of Linux. Departures: no stripe cache, so what was
//! read for one write is read again for the next. O(drives of an array) per stripe of a request, O(log n) of what is under way and of bad runs.

mod bad;
mod computing;
mod geometry;
mod repair;
#[cfg(test)]
mod tests;
mod turns;
mod writing;
mod written;

use crate::contract::{Drives, Persistent, Placement, Shape};
use crate::ids::DriveId;
use crate::io::{DriveDone, Tag};
use crate::maplog::RowsTable;
use crate::measure::{Measure, Tell};
use crate::op::{Failure, Op};
use crate::plan::{Instead, Plan, PlannedIo, StepIndex, Target};
use crate::registry::{Knob, Knobs, Spec, VolumeEnv, VolumeError};
use crate::request::Request;
use crate::rng::Rng;
use crate::units::{Blocks, Instant, Pba};

use bad::Bad;
use geometry::{Geometry, Piece, Rows, Stripe};
use repair::Repair;
use turns::Turns;
use written::Written;

/// What an I/O is for: its tag tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Of a client, from the drive that has it.
    Read,
    /// Of what a write is to change.
    Old,
    /// Of what a write leaves as it is.
    Rest,
    /// From which is computed what another drive does not tell.
    Source,
    Write,
    /// Of what was computed, to where it could not be read.
    Heal,
    Flush,
}

const ROLES: [Role; 7] = [
    Role::Read,
    Role::Old,
    Role::Rest,
    Role::Source,
    Role::Write,
    Role::Heal,
    Role::Flush,
];

/// The tag of an I/O, and of the work on a stripe that it is of.
fn tag(role: Role, work: Option<u32>) -> Tag {
    let work = work.map_or(0, |work| u64::from(work) + 1);
    Tag(work * ROLES.len() as u64 + role as u64)
}

fn untag(tag: Tag) -> (Role, Option<u32>) {
    let roles = ROLES.len() as u64;
    let work = (tag.0 / roles).checked_sub(1);
    (
        ROLES[(tag.0 % roles) as usize],
        work.map(|work| work as u32),
    )
}

/// Work on a stripe, and the gate that its I/Os wait for, if it is not its turn.
#[derive(Clone, Copy)]
struct Job {
    stripe: Stripe,
    work: u32,
    gate: Option<StepIndex>,
}

/// What was done, by the measures of the card.
#[derive(Default)]
struct Counts {
    modified: u64,
    reconstructed: u64,
    full: u64,
    bare: u64,
    waited: u64,
    degraded: u64,
    healed: u64,
    tolerated: u64,
    lost: u64,
    repaired: u64,
    unrepaired: u64,
}

struct Raid5 {
    geometry: Geometry,
    bad: Bad,
    /// What a write needed and could not have, or only by way of the others of its rows: another way to write is better there. What is read
    /// does not depend on it.
    doubtful: Bad,
    turns: Turns,
    written: Written,
    repair: Repair,
    /// Of a drive.
    blocks: Blocks,
    counts: Counts,
    /// Memory for what a request covers of a stripe, of that for what lies in some of its rows, and for where these end.
    pieces: Vec<Piece>,
    within: Vec<Piece>,
    cuts: Vec<u64>,
    /// Memory for who gets a stripe.
    begins: Vec<u32>,
}

impl Raid5 {
    /// Over drives of so many blocks, whose cache a power cut empties or not.
    fn new(geometry: Geometry, blocks: Blocks, loses: bool, table: RowsTable) -> Raid5 {
        Raid5 {
            bad: Bad::kept(geometry.drives(), table),
            doubtful: Bad::none(geometry.drives()),
            geometry,
            turns: Turns::default(),
            written: Written::new(loses),
            repair: Repair::new(&geometry),
            blocks,
            counts: Counts::default(),
            pieces: Vec::new(),
            within: Vec::new(),
            cuts: Vec::new(),
            begins: Vec::new(),
        }
    }

    /// Work on a stripe begins, or waits for its turn: a write, or one that computes what a member has.
    fn job(&mut self, stripe: Stripe, computed: Option<u64>, rows: Rows, out: &mut Plan) -> Job {
        if computed.is_none() {
            let drive = stripe.drive(stripe.parity());
            let table = self.bad.table();
            self.written
                .begin(drive, stripe.at(rows.from), rows.len(), table);
        }
        let (work, waits) = self.turns.begin(stripe.number, computed, rows);
        self.counts.waited += u64::from(waits);
        let gate = waits.then(|| out.gate(Tag(work.into())));
        Job { stripe, work, gate }
    }

    /// Blocks are bad from now on.
    fn mark(&mut self, drive: DriveId, at: Pba, len: Blocks) {
        self.bad.mark(drive, at, len);
        self.repair.look_again(drive, at);
    }

    /// An I/O of a job.
    fn io(&self, job: &Job, op: Op, (member, rows): (u64, Rows), role: Role) -> PlannedIo {
        let target = Target::At(job.stripe.at(rows.from));
        let mut io = PlannedIo::new(job.stripe.drive(member), op, target, rows.len());
        io.tag = tag(role, Some(job.work));
        io
    }

    fn add(&mut self, job: &Job, io: PlannedIo, out: &mut Plan) -> StepIndex {
        self.turns.more(job.work);
        let step = out.io(io);
        if let Some(gate) = job.gate {
            out.after(gate, step);
        }
        step
    }

    /// Whether one of these blocks is bad.
    fn is_bad(&self, stripe: &Stripe, member: u64, rows: &Rows) -> bool {
        self.bad
            .has(stripe.drive(member), stripe.at(rows.from), rows.len())
    }

    /// Whether of the other members of a stripe one is bad in these rows, and what that is to who needs it.
    fn fault_of_others(&self, stripe: &Stripe, member: u64, rows: &Rows) -> Option<Failure> {
        if !self.bad.any() {
            return None;
        }
        let mut others = (0..=stripe.parity()).filter(|other| *other != member);
        let found = others.find(|other| self.is_bad(stripe, *other, rows))?;
        Some(self.fault_of(stripe, found))
    }

    /// Why a member that is bad cannot be had.
    fn fault_of(&self, stripe: &Stripe, member: u64) -> Failure {
        match self.bad.gone.has(stripe.drive(member)) {
            true => Failure::Gone,
            false => Failure::Medium,
        }
    }

    /// The ends of the parts of these rows in which each member is bad or is not: in order, the rows' own among them.
    fn cut(&mut self, stripe: &Stripe, rows: &Rows) {
        for member in 0..=stripe.parity() {
            let (drive, at) = (stripe.drive(member), stripe.at(rows.from));
            self.bad.cuts(drive, at, rows.len(), &mut self.cuts);
        }
        let first = stripe.at(0).0;
        self.cuts.iter_mut().for_each(|cut| *cut -= first);
        self.cuts.extend([rows.from, rows.to]);
        self.cuts.sort_unstable();
        self.cuts.dedup();
    }

    /// The next of these parts.
    fn next_part(&mut self) -> Option<Rows> {
        let to = self.cuts.pop()?;
        let from = *self.cuts.last()?;
        Some(Rows { from, to })
    }

    /// If a job is over, others get its stripe. What they want to compute may be lost by now.
    fn end_if_over(&mut self, work: u32, out: &mut Plan) {
        if !self.turns.is_over(work) {
            return;
        }
        let mut begins = std::mem::take(&mut self.begins);
        self.end(work, &mut begins);
        let mut index = 0;
        while let Some(name) = begins.get(index).copied() {
            index += 1;
            let work = self.turns.work(name);
            let (stripe, rows) = (self.geometry.stripe(work.stripe), work.rows);
            let fault = work
                .computed
                .and_then(|member| self.fault_of_others(&stripe, member, &rows));
            match fault {
                None => out.open(Tag(name.into())),
                Some(failure) => {
                    self.counts.lost += 1;
                    out.refuse(Tag(name.into()), failure);
                }
            }
            if self.turns.is_over(name) {
                self.end(name, &mut begins);
            }
        }
        begins.clear();
        self.begins = begins;
    }

    fn end(&mut self, name: u32, begins: &mut Vec<u32>) {
        let work = *self.turns.work(name);
        if work.computed.is_none() {
            let stripe = self.geometry.stripe(work.stripe);
            let drive = stripe.drive(stripe.parity());
            let table = self.bad.table();
            self.written.end(drive, stripe.at(work.rows.from), table);
        }
        self.repair.ended(name);
        self.turns.end(name, begins);
    }

    /// A flush of every drive that is not gone. It fails if something is on such drives alone.
    fn plan_flush(&mut self, out: &mut Plan) {
        if self.loses_something() {
            out.failure = Some(Failure::Gone);
            return;
        }
        self.flush_drives(false, out);
    }

    fn flush_drives(&mut self, own: bool, out: &mut Plan) {
        let name = self.written.flush(self.bad.gone.left().count(), own);
        for drive in self.bad.gone.left() {
            let target = Target::At(Pba(0));
            let mut io = PlannedIo::new(drive, Op::Flush, target, Blocks(0));
            (io.tag, io.awaited) = (tag(Role::Flush, Some(name)), !own);
            out.io(io);
        }
    }

    /// A drive has ended a flush. If it is gone, the others of its array have what it had.
    fn flushed(&mut self, name: u32, drive: DriveId, done: &DriveDone, out: &mut Plan) {
        let is_done = done.status.is_done();
        let goes_on = is_done || self.bad.gone.has(drive) && !self.loses_something();
        if goes_on && !is_done {
            out.instead = Instead::Tolerated;
        }
        let table = self.bad.table();
        self.written.flushed(name, goes_on, table);
    }

    /// Whether something is on drives that are gone alone: two of an array are, or one, and of one of its rows another block is bad.
    fn loses_something(&self) -> bool {
        if !self.bad.gone.any() {
            return false;
        }
        let array_of = |drive: DriveId| u64::from(drive.0) / self.geometry.width();
        let mut gone = vec![0; self.geometry.arrays as usize];
        let drives = (0..self.geometry.drives()).map(DriveId);
        for drive in drives.filter(|drive| self.bad.gone.has(*drive)) {
            gone[array_of(drive) as usize] += 1;
        }
        let one_is =
            |drive: DriveId| gone[array_of(drive) as usize] > 0 && !self.bad.gone.has(drive);
        gone.iter().any(|gone| *gone > 1) || self.bad.drives().any(one_is)
    }
}

impl Persistent for Raid5 {
    fn nvram(&self) -> &[u8] {
        let table = self.bad.table.as_ref();
        table.expect("it keeps one").bytes()
    }
}

impl Placement for Raid5 {
    fn shape(&self) -> Shape {
        let stripe = Blocks(self.geometry.stripe_blocks());
        Shape {
            capacity: self.geometry.capacity(),
            drives: self.geometry.drives(),
            // Two writes to a row would change the same parity.
            chunk: stripe,
            stripe,
            spare_time: true,
        }
    }

    fn plan(&mut self, _now: Instant, request: &Request, _drives: &dyn Drives, out: &mut Plan) {
        self.wake_for_repairs(out);
        match request.op {
            Op::Read => self.plan_read(request, out),
            Op::Write => self.plan_write(request, out),
            Op::Flush => self.plan_flush(out),
            // No map is kept of what is in use.
            Op::Discard => {}
            Op::Seek => panic!("no client moves the arm"),
        }
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
        let (role, work) = untag(tag);
        self.bad.learn(drive, done.status, self.blocks);
        if let (Role::Flush, Some(name)) = (role, work) {
            return self.flushed(name, drive, done, out);
        }
        if !done.status.is_done() {
            self.failed(role, work, (drive, done), out);
        } else if done.op == Op::Write {
            self.bad.clear(drive, done.at, done.len);
            self.doubtful.clear(drive, done.at, done.len);
            if let (Role::Heal, Some(work)) = (role, work) {
                self.healed(work);
            }
        }
        if let Some(work) = work {
            self.turns.less(work);
            self.end_if_over(work, out);
        }
    }

    fn skipped(
        &mut self,
        _now: Instant,
        tag: Tag,
        _drive: DriveId,
        _drives: &dyn Drives,
        out: &mut Plan,
    ) {
        if let (_, Some(work)) = untag(tag) {
            self.turns.less(work);
            self.end_if_over(work, out);
        }
    }

    fn idle(&mut self, _now: Instant, drive: DriveId, drives: &dyn Drives, out: &mut Plan) {
        if self.bad.any_run() {
            self.repair_array_of(drive, drives, out);
        }
    }

    fn persistent(&self) -> Option<&dyn Persistent> {
        Some(self)
    }

    fn tell(&self, tell: Tell<'_>) {
        let Counts {
            modified,
            reconstructed,
            full,
            bare,
            waited,
            degraded,
            healed,
            tolerated,
            lost,
            repaired,
            unrepaired,
        } = self.counts;
        let counts = [
            modified,
            reconstructed,
            full,
            bare,
            waited,
            degraded,
            healed,
            tolerated,
            lost,
            repaired,
            unrepaired,
        ];
        for (measure, count) in MEASURES.iter().zip(counts) {
            tell(measure, count);
        }
    }

    fn audit(&self) {
        let entries = self.bad.audit() + self.written.audit();
        let table = self.bad.table.as_ref().expect("it keeps one");
        assert_eq!(table.len(), entries, "entries that nobody knows of");
        self.doubtful.audit();
        self.turns.audit();
    }
}

/// In the order of [`Counts`].
const MEASURES: &[Measure] = &[
    Measure::count(
        "read_modify_writes",
        "writes of a stripe",
        "writes that read the old data and the old parity",
    ),
    Measure::count(
        "reconstruct_writes",
        "writes of a stripe",
        "writes that read what they leave of their stripe",
    ),
    Measure::count(
        "full_stripe_writes",
        "writes of a stripe",
        "writes that read nothing, as they cover all strips of their rows",
    ),
    Measure::count(
        "bare_writes",
        "writes of a stripe",
        "writes without a parity, as that is bad or its drive is gone",
    ),
    Measure::count(
        "waited",
        "times",
        "something had to wait for its stripe, as data were computed from it or it was being written",
    ),
    Measure::count(
        "degraded_reads",
        "pieces",
        "pieces of reads that were to be computed, as their drive does not tell them",
    ),
    Measure::count(
        "healed",
        "pieces",
        "pieces that were computed and written where they could not be read",
    ),
    Measure::count(
        "tolerated_writes",
        "I/Os",
        "writes that failed, for which the others of their rows stand in",
    ),
    Measure::count(
        "lost",
        "pieces",
        "pieces that failed their request, as two drives of their rows do not tell what they had",
    ),
    Measure::count(
        "repaired",
        "pieces",
        "bad pieces that were computed and written in spare time",
    ),
    Measure::count(
        "unrepaired",
        "pieces",
        "bad pieces that could not be, as another drive of their rows does not tell what it had",
    ),
];

pub(super) static SPEC: Spec<dyn Placement> = Spec {
    name: "raid5",
    aliases: &["raid-5"],
    summary: "rotating parity: one drive of an array may fail, small writes read before they write",
    source: "Patterson, Gibson and Katz, SIGMOD 1988; Lee and Katz, Performance consequences of parity placement, ASPLOS 1991",
    knobs: &[
        Knob::integer(
            "disks",
            5,
            3..=1_024,
            "drives, three or more for each array; one of each array's has parity",
        ),
        Knob::integer("arrays", 1, 1..=341, "arrays that the drives make up"),
        Knob::integer(
            "strip_kib",
            64,
            1..=1_048_576,
            "KiB on one drive before the next one's turn",
        ),
        Knob::integer(
            "extent_stripes",
            1,
            1..=1_048_576,
            "stripes on one array before the next one's turn; with one array it has no effect on where strips lie",
        ),
    ],
    measures: MEASURES,
    asks: &[],
    prepared: false,
    build,
};

fn build(knobs: &Knobs, env: &VolumeEnv<'_>) -> Result<Box<dyn Placement>, VolumeError> {
    let blocks = env.blueprint.capacity();
    let geometry = Geometry::new(knobs, blocks)?;
    let volume = Rng::stream(env.seed, "volume").bits();
    let parities = geometry.parities(volume, blocks);
    let (table, found) = match env.survivors {
        None => (RowsTable::new(&parities), Vec::new()),
        Some(survivors) => RowsTable::recover(&parities, survivors.nvram().to_vec())
            .map_err(|why| VolumeError::damaged("NVRAM", why))?,
    };
    let loses = env.blueprint.cache().may_lose();
    let mut raid5 = Raid5::new(geometry, blocks, loses, table);
    for (index, noted) in found {
        // A parity that was being written tells nothing, like a block that could not be written.
        raid5.bad.resume(index, &noted);
    }
    Ok(Box::new(raid5))
}
