//! Rotating parity (RAID-5): stripes of data strips and the exclusive or of them, over one array of
//! drives or several.
//!
//! One drive of an array may fail or be gone, and everything is still there. A read goes to the
//! drives that have what it asks for, with an I/O for each strip. A write costs reads too, unless
//! it covers a stripe: of *read-modify-write* (the old data and the old parity, then the new ones)
//! and *reconstruct-write* (what the write leaves of the stripe, then the new data and the new
//! parity) the one with fewer I/Os is taken (`writing`). Only rows that are written take part, and
//! the few that may lie between them (`writing`): one block of each drive at the same address is a
//! row.
//!
//! What cannot be read is computed from the others of its rows, and written back (`computing`).
//! What cannot be written is tolerated as long as the others of its rows tell it; from then on it
//! is known to be bad (`bad`), is computed when it is read, and good when it is written again. A
//! drive that is gone is left alone. Where a second block of a row is bad, a read of the two fails:
//! nothing is made up. What is lost so is told with its addresses (`lost`), until it is written
//! again. Bad blocks of other rows, and of what a request does not need, fail nothing: what cannot
//! be done in one way is done in another (`attempts`).
//!
//! Some of the drives may be spares, of all arrays. One takes the place of a drive that is gone at
//! once (`seats`); all of it is bad then, so it is used as far as it has been written: by whoever
//! writes, by reads of what had to be computed, and by `repair`, in spare time and at a rate.
//!
//! Writes to a stripe follow each other, and what is computed from a stripe waits while it is
//! written (`turns`). Rotation and arrays are in `geometry`.
//!
//! After a power cut all is there that a flush has covered, or that a forced write has written; if
//! no drive has a volatile cache, all that was answered. A table in NVRAM is needed for that: of
//! bad blocks, and of rows that were being written, whose parity may not fit (`written`). Such a
//! parity is bad. What is bad is computed anew in spare time (`repair`). If a drive is gone or has
//! bad blocks while the power goes, what it had in rows that were being written is lost, which is
//! told. A rebuild goes on where it was.
//!
//! Source: Patterson, Gibson and Katz, SIGMOD 1988; Lee and Katz, ASPLOS 1991; reconstruct-writes
//! as in md(4) of Linux. Departures: no stripe cache, so what was read for one write is read again
//! for the next. O(drives of an array) per stripe of a request, O(log n) of what is under way and
//! of bad runs.

mod attempts;
mod bad;
mod card;
mod computing;
mod degraded;
mod flushing;
mod geometry;
mod lost;
mod repair;
mod seats;
#[cfg(test)]
mod tests;
mod turns;
mod writing;
mod written;

use crate::contract::{Blueprint, Degraded, Drives, Lost, Persistent, Placement, Redundant, Shape};
use crate::ids::DriveId;
use crate::io::{DriveDone, Tag};
use crate::maplog::RowsTable;
use crate::maplog::rows::Kind;
use crate::measure::Tell;
use crate::op::{Failure, Op};
use crate::plan::{Plan, PlannedIo, StepIndex, Target};
use crate::registry::Spec;
use crate::request::Request;
use crate::units::{Blocks, Duration, Extent, Instant, Pba};

use attempts::Attempts;
use bad::Bad;
use card::{Counts, MEASURES};
use geometry::{Geometry, Piece, Rows, Stripe};
use repair::Repair;
use seats::{Seat, Seats};
use turns::Turns;
use written::Written;

pub(super) static SPEC: Spec<dyn Placement> = Spec {
    name: "raid5",
    aliases: &["raid-5"],
    summary: "rotating parity: one drive of an array may fail, small writes read before they write",
    source: "Patterson, Gibson and Katz, SIGMOD 1988; Lee and Katz, Performance consequences of parity placement, ASPLOS 1991",
    knobs: card::KNOBS,
    measures: MEASURES,
    asks: &[],
    prepared: false,
    promises: "what was answered before a flush came, once that is answered, and each forced write; a table in NVRAM keeps which rows were being written",
    build: card::build,
};

/// What an I/O is for; its tag says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// A client's read, from the drive that has the data.
    Read,
    /// A read of data or parity that a write is to change.
    Old,
    /// A read of the rest of a stripe, which a write leaves as it is.
    Rest,
    /// A read of one of the blocks from which a block of another drive is computed.
    Source,
    /// A write of data or parity.
    Write,
    /// A write of a computed block to the place where it could not be read.
    Heal,
    /// A flush of a drive's cache.
    Flush,
}

impl Role {
    /// Whether it brings something.
    fn reads(self) -> bool {
        matches!(self, Role::Read | Role::Old | Role::Rest | Role::Source)
    }
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

/// The tag of an I/O, and of the attempt or the flush that it is of.
fn tag(role: Role, of: Option<u32>) -> Tag {
    let of = of.map_or(0, |of| u64::from(of) + 1);
    Tag(of * ROLES.len() as u64 + role as u64)
}

fn untag(tag: Tag) -> (Role, Option<u32>) {
    let roles = ROLES.len() as u64;
    let of = (tag.0 / roles).checked_sub(1);
    (ROLES[(tag.0 % roles) as usize], of.map(|of| of as u32))
}

/// A write of a stripe: its turn, and the gate that its I/Os wait for, if it cannot begin yet.
#[derive(Clone, Copy)]
struct Turn {
    stripe: Stripe,
    work: u32,
    gate: Option<StepIndex>,
    /// Whether others have it first.
    waits: bool,
    /// What the request writes.
    extent: Extent,
}

/// One way to do something with a stripe, and the gate that its I/Os wait for, if there is one.
#[derive(Clone, Copy)]
struct Job {
    stripe: Stripe,
    attempt: u32,
    gate: Option<StepIndex>,
}

/// What it has to know of its drives.
struct Media {
    /// Whether a power cut empties their caches.
    loses: bool,
    /// How many blocks pass under a head in a quarter of a turn, on average over the tracks; none
    /// if nothing turns.
    quarter_turn: Blocks,
}

impl Media {
    fn of(drives: &dyn Blueprint) -> Media {
        let tracks = drives.room(Blocks(1)).tracks.max(1);
        let quarter_turn = |_| Blocks(drives.capacity().0 / tracks / 4);
        Media {
            loses: drives.cache().may_lose(),
            quarter_turn: drives.revolution().map_or(Blocks(0), quarter_turn),
        }
    }
}

struct Raid5 {
    geometry: Geometry,
    quarter_turn: Blocks,
    seats: Seats,
    bad: Bad,
    /// What a write needed and could not have, or only by way of the others of its rows: another
    /// way to write is better there. What is read does not depend on it.
    doubtful: Bad,
    turns: Turns,
    attempts: Attempts,
    written: Written,
    repair: Repair,
    /// Why something was lost that no flush has told, if something was.
    untold: Option<Failure>,
    counts: Counts,
    /// Memory for what a request covers of a stripe, of that for what lies in some of its rows, and
    /// for where these end.
    pieces: Vec<Piece>,
    within: Vec<Piece>,
    cuts: Vec<u64>,
    /// Memory for who gets a stripe.
    begins: Vec<u32>,
}

impl Raid5 {
    /// Over such drives, with repairs at such a rate.
    fn new(geometry: Geometry, drives: Media, table: RowsTable, mib_s: f64) -> Raid5 {
        Raid5 {
            seats: Seats::new(geometry.seats(), geometry.spares),
            bad: Bad::kept(table),
            doubtful: Bad::default(),
            geometry,
            quarter_turn: drives.quarter_turn,
            turns: Turns::default(),
            attempts: Attempts::default(),
            written: Written::new(drives.loses),
            repair: Repair::new(&geometry, mib_s),
            untold: None,
            counts: Counts::default(),
            pieces: Vec::new(),
            within: Vec::new(),
            cuts: Vec::new(),
            begins: Vec::new(),
        }
    }

    /// The drive that has a member of a stripe.
    fn drive(&self, stripe: &Stripe, member: u64) -> DriveId {
        self.seats.drive(stripe.seat(member))
    }

    /// Work on a stripe begins, or waits for its turn at a gate: a write, or one that computes what
    /// a member has.
    fn begin(
        &mut self,
        stripe: &Stripe,
        computed: Option<u64>,
        rows: Rows,
        out: &mut Plan,
    ) -> (u32, Option<StepIndex>) {
        let (work, waits) = self.turns.begin(stripe.number, computed, rows);
        self.counts.waited += u64::from(waits);
        (work, waits.then(|| out.gate(Tag(work.into()))))
    }

    /// A request writes so many rows of a stripe.
    fn turn(&mut self, stripe: Stripe, rows: Rows, extent: Extent, out: &mut Plan) -> Turn {
        let seat = stripe.seat(stripe.parity());
        let table = self.bad.table();
        self.written
            .begin(seat, stripe.at(rows.from), rows.len(), table);
        let (work, gate) = self.begin(&stripe, None, rows, out);
        Turn {
            stripe,
            work,
            gate,
            waits: gate.is_some(),
            extent,
        }
    }

    /// What a member has in these rows is to be computed.
    fn job(&mut self, stripe: Stripe, (member, rows): (u64, Rows), out: &mut Plan) -> Job {
        let (work, gate) = self.begin(&stripe, Some(member), rows, out);
        let attempt = self.attempts.begin(work, rows, None);
        self.attempts.attempt_mut(attempt).renewed = gate.is_some();
        Job {
            stripe,
            attempt,
            gate,
        }
    }

    /// The turn that a job is of.
    fn work_mut(&mut self, job: &Job) -> &mut turns::Work {
        let work = self.attempts.attempt(job.attempt).work;
        self.turns.work_mut(work)
    }

    /// Blocks are bad from now on, and why. With others of their rows that are, what they had is
    /// lost.
    fn mark(&mut self, seat: Seat, at: Pba, len: Blocks, why: Kind) {
        let (array, rows) = (self.geometry.array(seat), (at.0, at.0 + len.0));
        let before = self.count_lost(array, rows);
        self.bad.mark(seat, at, len, why);
        let more = self.count_lost(array, rows) - before;
        self.counts.lost_blocks += more;
        if more > 0 && self.untold != Some(Failure::Gone) {
            self.untold = Some(self.lost_by(array, rows));
        }
        self.repair.look_again(seat, at, array);
    }

    /// A drive that had a seat is gone: of its array all is bad there, also if it is there again in
    /// another life. A spare takes its place.
    fn vacated(&mut self, seat: Seat, out: &mut Plan) {
        let array = self.geometry.array(seat);
        self.vacate(seat);
        self.mark(seat, Pba(0), Blocks(self.geometry.used()), Kind::Gone);
        self.repair.end_in_vain(seat);
        if self.seats.replace(seat, self.bad.table()).is_some() {
            self.counts.spares += 1;
            self.repair.rebuild(seat);
            let left = self.geometry.seats_of(array);
            out.wake.extend(left.map(|seat| self.seats.drive(seat)));
        }
    }

    /// An I/O of a job.
    fn io(&self, job: &Job, op: Op, (member, rows): (u64, Rows), role: Role) -> PlannedIo {
        let target = Target::At(job.stripe.at(rows.from));
        let mut io = PlannedIo::new(self.drive(&job.stripe, member), op, target, rows.len());
        io.tag = tag(role, Some(job.attempt));
        io
    }

    fn add(&mut self, job: &Job, io: PlannedIo, out: &mut Plan) -> StepIndex {
        let work = self.attempts.more(job.attempt);
        self.turns.more(work);
        let step = out.io(io);
        if let Some(gate) = job.gate {
            out.after(gate, step);
        }
        step
    }

    /// Whether one of these blocks is bad.
    fn is_bad(&self, stripe: &Stripe, member: u64, rows: &Rows) -> bool {
        self.bad
            .has(stripe.seat(member), stripe.at(rows.from), rows.len())
    }

    /// Whether of the other members of a stripe one is bad in these rows: they do not tell what
    /// this one has.
    fn others_are_bad(&self, stripe: &Stripe, member: u64, rows: &Rows) -> bool {
        let mut others = (0..=stripe.parity()).filter(|other| *other != member);
        self.bad.any() && others.any(|other| self.is_bad(stripe, other, rows))
    }

    /// Why a member cannot be had in these rows, if the others do not tell it: by what it is to who
    /// asks for it, whatever else is bad there.
    fn fault_of(&self, stripe: &Stripe, member: u64, rows: &Rows) -> Failure {
        let (seat, at) = (stripe.seat(member), stripe.at(rows.from));
        match self.bad.has_gone(seat, at, rows.len()) {
            true => Failure::Gone,
            false => Failure::Medium,
        }
    }

    /// The ends of the parts of these rows in which each member is bad or is not: in order, the
    /// rows' own among them.
    fn cut(&mut self, stripe: &Stripe, rows: &Rows) {
        for member in 0..=stripe.parity() {
            let (seat, at) = (stripe.seat(member), stripe.at(rows.from));
            self.bad.cuts(seat, at, rows.len(), &mut self.cuts);
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

    /// An I/O of an attempt has ended, or will never start.
    fn io_ended(&mut self, attempt: u32, out: &mut Plan) {
        let (work, gate) = self.attempts.less(attempt);
        out.open.extend(gate);
        self.turns.less(work);
        self.end_if_over(work, out);
    }

    /// If work is over, others get its stripe. What they want to compute may be lost by now.
    fn end_if_over(&mut self, work: u32, out: &mut Plan) {
        if !self.turns.is_over(work) {
            return;
        }
        let mut begins = std::mem::take(&mut self.begins);
        self.end(work, &mut begins);
        let mut index = 0;
        while let Some(name) = begins.get(index).copied() {
            index += 1;
            let work = *self.turns.work(name);
            let (stripe, rows) = (self.geometry.stripe(work.stripe), work.rows);
            let is_lost = |member: &u64| self.others_are_bad(&stripe, *member, &rows);
            match work.computed.filter(is_lost) {
                None => out.open(Tag(name.into())),
                Some(member) => {
                    let failure = self.fault_of(&stripe, member, &rows);
                    match work.repair {
                        // What the others still tell of it goes again.
                        Some(_) => self.failed_to_repair(name, true),
                        None => self.counts.lost += 1,
                    }
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
        let stripe = self.geometry.stripe(work.stripe);
        let seat = stripe.seat(stripe.parity());
        if work.computed.is_none() {
            let table = self.bad.table();
            self.written.end(seat, stripe.at(work.rows.from), table);
        }
        self.turns.end(name, begins);
        let array = self.geometry.array(seat);
        if work.repair.is_some() {
            self.repair_ended(array);
        }
        self.look_at_rebuilds(array);
    }
}

impl Persistent for Raid5 {
    fn nvram(&self) -> &[u8] {
        let table = self.bad.table.as_ref();
        table.expect("it keeps one").bytes()
    }
}

impl Redundant for Raid5 {
    fn degraded(&self) -> Vec<Degraded> {
        let seats = (0..self.geometry.seats()).map(Seat);
        seats.filter_map(|seat| self.degraded_at(seat)).collect()
    }

    fn lost(&self) -> Lost {
        self.find_lost()
    }

    fn rebuilding(&self) -> Duration {
        self.repair.unfinished()
    }
}

impl Placement for Raid5 {
    fn shape(&self) -> Shape {
        let stripe = Blocks(self.geometry.stripe_blocks());
        Shape {
            capacity: self.geometry.capacity(),
            drives: self.geometry.drives(),
            losable: 1,
            // Two writes to a row would change the same parity.
            chunk: stripe,
            copy_unit: None,
            stripe,
            spare_time: true,
            offers: false,
            places: 0,
            moves_told: false,
            zones: None,
        }
    }

    fn plan(&mut self, now: Instant, request: &Request, _drives: &dyn Drives, out: &mut Plan) {
        self.repair.at(now);
        self.begin_repairs(out);
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
        now: Instant,
        tag: Tag,
        drive: DriveId,
        done: &DriveDone,
        _drives: &dyn Drives,
        out: &mut Plan,
    ) {
        self.repair.at(now);
        if let Some(seat) = self.seats.learn(drive, done.status) {
            self.vacated(seat, out);
        }
        let (role, of) = untag(tag);
        if let (Role::Flush, Some(name)) = (role, of) {
            return self.flushed(name, drive, done, out);
        }
        let seat = self
            .seats
            .seat(drive)
            .expect("only drives with seats are asked");
        if let Some(job) = self.outdated(role, of, (seat, done)) {
            out.instead = self.write_anew(&job, out);
        } else if !done.status.is_done() {
            self.failed(role, of, (seat, done), out);
        } else if done.op == Op::Write {
            if self.lasts(role, of) {
                self.bad.clear(seat, done.at, done.len);
            }
            self.doubtful.clear(seat, done.at, done.len);
            if let (Role::Heal, Some(attempt)) = (role, of) {
                let work = self.attempts.attempt(attempt).work;
                self.healed(work, seat, done.len);
                self.attempts.renew(seat, done.at, done.len);
            }
        }
        if let Some(attempt) = of {
            self.io_ended(attempt, out);
        }
    }

    fn skipped(
        &mut self,
        now: Instant,
        tag: Tag,
        _drive: DriveId,
        _drives: &dyn Drives,
        out: &mut Plan,
    ) {
        self.repair.at(now);
        if let (_, Some(attempt)) = untag(tag) {
            self.io_ended(attempt, out);
        }
    }

    fn idle(&mut self, now: Instant, drive: DriveId, drives: &dyn Drives, out: &mut Plan) {
        self.repair.at(now);
        if let Some(seat) = self.seats.seat(drive).filter(|_| self.bad.any()) {
            self.repair_in_spare_time(self.geometry.array(seat), drives, out);
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.repair.due()
    }

    fn timer(&mut self, now: Instant, out: &mut Plan) {
        self.repair.at(now);
        self.repair_by_the_clock(out);
    }

    fn redundant(&self) -> Option<&dyn Redundant> {
        Some(self)
    }

    fn persistent(&self) -> Option<&dyn Persistent> {
        Some(self)
    }

    fn tell(&self, tell: Tell<'_>) {
        let numbers = self.counts.numbers(self);
        for (measure, number) in MEASURES.iter().zip(numbers) {
            tell(measure, number);
        }
    }

    fn audit(&self) {
        let entries = self.bad.audit() + self.written.audit() + self.seats.audit();
        let table = self.bad.table.as_ref().expect("it keeps one");
        assert_eq!(table.len(), entries, "entries that nobody knows of");
        self.doubtful.audit();
        self.attempts.audit();
        self.turns.audit(&self.attempts.left());
        self.audit_repairs();
    }
}
