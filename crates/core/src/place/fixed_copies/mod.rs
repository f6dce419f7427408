//! Copies at fixed places: what mirrors and rotational replicas have in common.
//!
//! A read goes to the idle drive whose head is nearest to a current copy, else to all that have
//! one, and the first that begins takes it from the others. A write is answered when `foreground`
//! copies are on the platter; of a single one, whichever can begin first. The other copies follow
//! in spare time; until then they are stale and serve no read.
//!
//! Only chunks that something is under way for have a record, so memory is bounded by the buffer of
//! delayed copies and what is in flight. A copy whose delayed write is in flight takes no
//! foreground write: the two could pass each other. What is written with a part of a chunk goes to
//! all copies at once, and none of them follows later: one that got the whole chunk in spare time
//! would need the rest. That would be read before the write, which costs a turn of the platter, or
//! lie on one drive alone until then. Where some copies have older data, or the part is forced and
//! others are only in caches, the rest is read first and the chunk written as a whole.
//!
//! A table in NVRAM ([`maplog::copies`](crate::maplog::copies)) has an entry for each such record,
//! from before a write goes to the drives. After a power cut stale copies are known by it; of a
//! chunk that was being written one copy is taken, and the others are stale. They are read from a
//! current one and written in spare time. A write that meets so many of them in flight that fewer
//! than `foreground` are left is answered when enough of them are written again.
//!
//! Over drives whose cache a power cut empties, an entry stays until the copies are on the medium,
//! and names the *safe* ones: those that have there what the last flush covered, or something
//! younger (`caches`). One of them is taken after a power cut.
//!
//! A copy that could not be read is stale from then on, if another one is current; chunks that no
//! copy has all of are read one by one, and a chunk that can be read in no copy as a whole is put
//! together of blocks from all that have the newest data (`blocks`). So are copies healed. A write
//! that fails for a copy goes to another one, but for copies of which a delayed write is in flight;
//! when no more can be tried, it is answered if one of them is on the platter of a drive that is
//! not gone. A drive that is gone is left alone (`gone`): if all others are in flight, a write
//! starts when these have ended.
//!
//! Source: Yu and others, OSDI 2000, section 3.4; Zhang and others, FAST 2002, section 4. O(log n)
//! per chunk.

use crate::io::{Data, DriveDone, Owed, Tag};
use crate::op::{Failure, Op, Status};
use crate::plan::{Plan, PlannedIo, StepIndex, Target};
use crate::registry::{ConfigError, Knobs, Names, VolumeEnv, VolumeError};
use crate::request::Request;
use std::ops::Range;

use slab::Slab;

use super::delayed::{Queues, Turn, check_foreground};
use super::gone::Gone;
use super::striping::Striping;
use super::{choice, copy_set};
use crate::contract::{Degraded, Drives, FewCopies, Persistent, Placement, Redundant, Shape};
use crate::ids::DriveId;
use crate::maplog::copies::{Chunk, Index, Striped, chunks_max};
use crate::maplog::{CopiesTable, copies};
use crate::rng::Rng;
use crate::sorted::Sorted;
use crate::units::{Blocks, Instant, Lba, Pba};

mod background;
mod blocks;
mod caches;
mod copy_of;
mod failures;
mod foreground;
mod gone;
mod held;
#[cfg(test)]
mod tests;
mod unsettled;

use caches::{Caches, FlushOf};
pub(super) use copy_of::CopyOf;
use held::Held;
use unsettled::{Copies, Unsettled, lowest, members};

/// Where the copies of a chunk lie.
pub(super) trait Layout: Send {
    /// Copies of each chunk.
    fn copies(&self) -> u8;

    /// Drives.
    fn drives(&self) -> u16;

    /// Chunks of the volume.
    fn chunks(&self) -> u64;

    /// Blocks of a chunk.
    fn chunk(&self) -> Blocks;

    /// Where a copy of a chunk lies.
    fn place(&self, copy: CopyOf) -> (DriveId, Pba);

    /// How they are striped, in blocks.
    fn striping(&self) -> Striping;
}

/// What the table in NVRAM is of.
fn striped(layout: &impl Layout, volume: u64) -> Striped {
    let Striping { columns, unit } = layout.striping();
    let copies = u64::from(layout.copies());
    Striped {
        volume,
        chunks: layout.chunks(),
        copies: layout.copies(),
        together: (copies * columns / u64::from(layout.drives())) as u8,
        columns: columns as u16,
        unit: (unit / layout.chunk().0) as u32,
    }
}

/// The table has to number all chunks beside their copies.
fn check_size(layout: &impl Layout, names: &Names<'_>) -> Result<(), ConfigError> {
    let (chunks, copies) = (layout.chunks(), layout.copies());
    let most = chunks_max(copies);
    if chunks <= most {
        return Ok(());
    }
    let tib = (most * layout.chunk().bytes()) >> 40;
    let allowed = format!(
        "at most {most} with {copies} copies of each, which is {tib} TiB, as the table of copies in NVRAM has 48 bits for a chunk and its \
         copies; take fewer copies, fewer drives or smaller ones"
    );
    Err(names.too_much("chunks of the volume", &chunks.to_string(), &allowed))
}

/// An I/O under way, of consecutive chunks.
#[derive(Clone, Copy, Debug)]
struct Underway {
    first: CopyOf,
    chunks: u32,
    part: Part,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    /// For a request.
    Read(Reading),
    /// For the delayed write with this key, of data that are in no buffer.
    ReadAgain(usize, Reading),
    /// Of the foreground write with this key.
    Foreground(usize),
    Delayed(Apart),
}

/// How far a read has come.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    /// Copies that were tried before.
    tried: Copies,
    /// How the last of them failed.
    why: Option<Failure>,
    /// Whether one of them has a bad block.
    bad: bool,
    /// Whether it is of one block, that is put together with others of its chunk.
    single: bool,
    waits: Waits,
    /// Blocks of its chunk that a request writes, from the first to before the second: nobody needs
    /// what they held.
    written: (u64, u64),
}

/// Whether a read waits for a copy that is being written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Waits {
    #[default]
    No,
    Yes,
    /// It did, and another copy was taken: what it brings is of no use.
    InVain,
}

/// What becomes of a delayed write of several chunks that never starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Apart {
    /// Each chunk is tried alone, as some of them can be read.
    Tried,
    /// None can be: their drive is gone, or did not answer.
    Useless,
}

/// A foreground write of consecutive chunks.
struct Writing {
    first: Chunk,
    chunks: u32,
    /// Copies that are not done.
    left: u32,
    done: Copies,
    /// Could not be written.
    failed: Copies,
    /// Whether its copies are on the medium when their drives have ended it.
    forced: bool,
    /// Whether it went to fewer copies than it has to wait for.
    short: bool,
    /// Whether it writes only a part of its first chunk, and of its last one.
    partial: [bool; 2],
    /// Whether it may start: not if all its copies that are left are being written in spare time.
    begun: bool,
    /// Chunks that it waits for: before it has begun, those of which a copy is being written; then
    /// those that have too few current copies for the answer.
    unready: u32,
}

impl Writing {
    /// The gate that one with too few copies is answered behind.
    fn answer(key: usize) -> Tag {
        Tag(2 * key as u64)
    }

    /// The gate that one starts behind which has not begun.
    fn start(key: usize) -> Tag {
        Tag(2 * key as u64 + 1)
    }

    /// Whether it writes only a part of a chunk: then the buffer does not have the rest of that.
    fn is_partial(&self, chunk: Chunk) -> bool {
        let [first, last] = self.partial;
        let is_first = chunk == self.first;
        let is_last = chunk.plus(1) == self.first.plus(self.chunks);
        is_first && first || is_last && last
    }
}

/// Consecutive chunks with what is asked of the first and last one, and the copies that will do.
#[derive(Clone, Copy, Debug)]
struct Piece {
    first: Chunk,
    chunks: u32,
    /// First block within the first chunk.
    from: Blocks,
    len: Blocks,
    copies: Copies,
}

impl Piece {
    /// Whether of its first or its last chunk, each of that `size`, only a part is covered.
    fn covers_a_part(&self, size: Blocks) -> bool {
        self.len.0 < u64::from(self.chunks) * size.0
    }
}

/// A placement with copies at fixed places.
pub(super) struct FixedCopies<L> {
    layout: L,
    foreground: u32,
    all: Copies,
    unsettled: Sorted<Unsettled>,
    underway: Slab<Underway>,
    writes: Slab<Writing>,
    delayed: Queues<CopyOf>,
    /// Reads that wait until a copy has been written.
    waiting: usize,
    table: CopiesTable,
    /// Chunks with candidates.
    undecided: usize,
    /// Drives that nothing more is sent to that is elsewhere too.
    gone: Gone,
    /// Of chunks that are not settled, how many lie on such drives alone; and whether settled ones
    /// do: these stay lost, as nothing can be written there.
    lost: usize,
    column_is_lost: bool,
    /// What the caches of the drives have; none if they lose nothing.
    caches: Option<Caches>,
    /// Flushes that wait for copies on drives that are not gone.
    held: Held,
    /// Memory for the pieces of a request.
    pieces: Vec<Piece>,
}

/// Writes of a plan start only after a read of it, if there is one.
fn follow(read: Option<StepIndex>, writes: Range<u32>, out: &mut Plan) {
    if let Some(read) = read {
        writes.for_each(|write| out.carry(read, StepIndex(write)));
    }
}

/// Chunks that a delayed write may have: 256 KiB of 4 KiB ones.
const RUN_MAX: u32 = 64;

impl<L: Layout> FixedCopies<L> {
    /// Over a layout, with the knobs `FOREGROUND` and `BUFFER`: prepared, or as an earlier life
    /// left it.
    pub(super) fn new(
        layout: L,
        knobs: &Knobs,
        env: &VolumeEnv<'_>,
    ) -> Result<FixedCopies<L>, VolumeError> {
        check_size(&layout, &env.names)?;
        let of = striped(&layout, Rng::stream(env.seed, "volume").bits());
        let (table, found) = match env.survivors {
            None => (CopiesTable::new(&of), Vec::new()),
            Some(survivors) => CopiesTable::recover(&of, survivors.nvram().to_vec())
                .map_err(|why| VolumeError::damaged("NVRAM", why))?,
        };
        let mut copies = FixedCopies {
            foreground: check_foreground(knobs.integer("foreground"), layout.copies())?,
            all: copy_set::all(layout.copies()),
            unsettled: Sorted::default(),
            underway: Slab::new(),
            writes: Slab::new(),
            delayed: Queues::new(layout.drives(), knobs.integer("buffer_chunks")),
            waiting: 0,
            table,
            undecided: 0,
            gone: Gone::none(layout.drives()),
            lost: 0,
            column_is_lost: false,
            caches: (env.blueprint.cache().may_lose()).then(Caches::new),
            held: Held::default(),
            pieces: Vec::new(),
            layout,
        };
        for (index, entry) in found {
            copies.resume(index, &entry);
        }
        Ok(copies)
    }

    /// Goes on with a chunk that was not settled when the power went.
    fn resume(&mut self, index: Index, entry: &copies::Unsettled) {
        let current = Copies::from(entry.current);
        // Each copy that was current has of each block what it had before the write or what was
        // written, but no two need be the same: one of them it is from now on.
        let first = lowest(current);
        let undecided = entry.writing && current != first;
        let state = Unsettled {
            current: if entry.writing { first } else { current },
            candidates: if undecided { current } else { 0 },
            unbuffered: true,
            kept: Some(index),
            ..self.state(entry.chunk)
        };
        self.undecided += usize::from(undecided);
        self.unsettled.insert(state);
        let state = self.change(entry.chunk, |_| ());
        let chunk = entry.chunk;
        for copy in members(self.all & !state.current) {
            let of = CopyOf::new(chunk, copy);
            // It is in no buffer, so there is always room.
            let drive = self.layout.place(of).0;
            self.delayed.push(drive, of, Turn::SpareTime);
        }
    }

    fn state(&self, chunk: Chunk) -> Unsettled {
        let known = self.unsettled.at(self.unsettled.seek(&chunk));
        let known = known.filter(|known| known.chunk == chunk).copied();
        known.unwrap_or(Unsettled::settled(chunk, self.all))
    }

    fn change(&mut self, chunk: Chunk, change: impl FnOnce(&mut Unsettled)) -> Unsettled {
        let known = self.unsettled.take(&chunk);
        self.lost -= usize::from(known.is_some_and(|known| self.is_lost(&known)));
        let mut state = known.unwrap_or(Unsettled::settled(chunk, self.all));
        let was_decided = state.candidates == 0;
        change(&mut state);
        state.renew_safe();
        if !was_decided && state.candidates == 0 {
            self.undecided -= 1;
        }
        let settled = state.is_settled(self.all);
        state.kept = match state.kept {
            None if settled => None,
            None => Some(self.table.add(&state.entry())),
            Some(index) if settled => {
                self.table.remove(index);
                None
            }
            Some(index) => {
                self.table.set(index, &state.entry());
                Some(index)
            }
        };
        if !settled {
            self.lost += usize::from(self.is_lost(&state));
            self.unsettled.insert(state);
        }
        state
    }

    /// Whether a chunk's copies all follow those of the one before it.
    fn follows(&self, chunk: Chunk) -> bool {
        let before = Chunk(chunk.0 - 1);
        let place = |chunk, copy| self.layout.place(CopyOf::new(chunk, copy));
        (0..self.layout.copies()).all(|copy| {
            let (drive, at) = place(before, copy);
            place(chunk, copy) == (drive, at + self.layout.chunk())
        })
    }

    /// Cuts a request into pieces whose chunks follow each other everywhere, have the same copies
    /// to choose from, and are covered as a whole if `whole`.
    fn cut(
        &mut self,
        request: &Request,
        whole: bool,
        copies: impl Fn(&Self, &Unsettled) -> Copies,
    ) -> Vec<Piece> {
        let size = self.layout.chunk().0;
        let (start, end) = (request.extent.start.0, request.extent.end().0);
        let mut cut = std::mem::take(&mut self.pieces);
        cut.clear();
        for chunk in (start / size..end.div_ceil(size)).map(Chunk) {
            let first = chunk.0 * size;
            let (from, to) = (start.max(first), end.min(first + size));
            let piece = Piece {
                first: chunk,
                chunks: 1,
                from: Blocks(from - first),
                len: Blocks(to - from),
                copies: copies(self, &self.state(chunk)),
            };
            let partial = |piece: &Piece| piece.covers_a_part(Blocks(size));
            match cut.last_mut() {
                Some(last)
                    if last.copies == piece.copies
                        && self.follows(chunk)
                        && !(whole && (partial(last) || partial(&piece))) =>
                {
                    last.chunks += 1;
                    last.len = Blocks(last.len.0 + piece.len.0);
                }
                _ => cut.push(piece),
            }
        }
        cut
    }

    fn planned(&mut self, piece: &Piece, copy: u8, op: Op, part: Part) -> PlannedIo {
        let first = CopyOf::new(piece.first, copy);
        let (drive, at) = self.layout.place(first);
        if let Part::Delayed(_) = part {
            self.delayed.write_begins(drive);
        }
        let mut planned = PlannedIo::new(drive, op, Target::At(at + piece.from), piece.len);
        let block = piece.first.0 * self.layout.chunk().0 + piece.from.0;
        planned.data = Some(Data::from(Lba(block)));
        planned.tag = Tag(self.underway.insert(Underway {
            first,
            chunks: piece.chunks,
            part,
        }) as u64);
        planned
    }

    /// An I/O is under way no longer.
    fn take_underway(&mut self, tag: Tag) -> Underway {
        let underway = self.underway.remove(tag.0 as usize);
        if let Part::Delayed(_) = underway.part {
            let (drive, _) = self.layout.place(underway.first);
            self.delayed.write_ends(drive);
        }
        underway
    }

    /// The copies in a set with their places.
    fn places(&self, first: Chunk, copies: Copies) -> impl Iterator<Item = (u8, DriveId, Pba)> {
        members(copies).map(move |copy| {
            let (drive, at) = self.layout.place(CopyOf::new(first, copy));
            (copy, drive, at)
        })
    }

    /// One copy, or all of them as alternatives: the nearest on an idle drive, else whichever can
    /// begin first. The first of these I/Os.
    fn either(
        &mut self,
        now: Instant,
        piece: &Piece,
        op: Op,
        part: Part,
        drives: &dyn Drives,
        out: &mut Plan,
    ) -> StepIndex {
        let places = self.places(piece.first, piece.copies);
        let places = places.map(|(_, drive, at)| (drive, at + piece.from));
        let nearest = choice::nearest_idle(now, (op, piece.len), drives, places);
        let chosen = match nearest {
            None => piece.copies,
            Some(index) => {
                let mut places = self.places(piece.first, piece.copies);
                let (copy, ..) = places.nth(index).expect("it is one of them");
                1 << copy
            }
        };
        let copies = chosen;
        self.alternatives(&Piece { copies, ..*piece }, op, part, out)
    }

    /// All copies that will do, of which one is done: whichever can begin first. The first of these
    /// I/Os.
    fn alternatives(&mut self, piece: &Piece, op: Op, part: Part, out: &mut Plan) -> StepIndex {
        let mut first = None;
        for copy in members(piece.copies) {
            let mut planned = self.planned(piece, copy, op, part);
            planned.awaited = !matches!(part, Part::ReadAgain(..));
            planned.alternative = first.is_some();
            let step = out.io(planned);
            first = first.or(Some(step));
        }
        first.expect("some copy will do")
    }

    fn plan_read(&mut self, now: Instant, request: &Request, drives: &dyn Drives, out: &mut Plan) {
        let cut = self.cut(request, false, |copies, state| {
            copies.left_or_all(state.chunk, state.current)
        });
        for piece in &cut {
            let part = Part::Read(Reading::default());
            self.either(now, piece, Op::Read, part, drives, out);
        }
        self.pieces = cut;
    }

    /// An I/O has ended.
    fn ended(&mut self, tag: Tag, done: &DriveDone, out: &mut Plan) {
        let ended = self.take_underway(tag);
        self.end(&ended, done, out);
        if matches!(ended.part, Part::Read(_)) {
            for chunk in ended.first.chunk().run(ended.chunks) {
                self.read_now(chunk, out);
            }
        }
    }

    fn end(&mut self, ended: &Underway, done: &DriveDone, out: &mut Plan) {
        match ended.part {
            Part::Read(reading) if done.status.is_done() => match reading.waits {
                Waits::InVain => self.read_in_vain(ended, done, out),
                Waits::No | Waits::Yes => self.was_read(ended),
            },
            // What it brings is seen by nobody: another candidate may still be taken.
            Part::ReadAgain(..) if done.status.is_done() => {}
            Part::Read(_) | Part::ReadAgain(..) => self.read_failed(ended, done, out),
            Part::Foreground(key) => self.foreground_done(key, ended, done, out),
            Part::Delayed(_) => {
                let apart = done.status == Status::Failed(Failure::Medium);
                if !done.status.is_done() {
                    self.write_failed(ended);
                }
                self.delayed_ended(ended, done.status.is_done(), apart, out);
            }
        }
    }
}

impl Persistent for CopiesTable {
    fn nvram(&self) -> &[u8] {
        self.bytes()
    }
}

impl<L: Layout> Redundant for FixedCopies<L> {
    fn degraded(&self) -> Vec<Degraded> {
        self.gone.degraded(self.shape().losable)
    }

    fn few_copies(&self) -> Option<FewCopies> {
        (self.layout.copies() > 1).then(|| self.count_few())
    }
}

impl<L: Layout> Placement for FixedCopies<L> {
    fn shape(&self) -> Shape {
        let chunk = self.layout.chunk();
        Shape {
            capacity: Blocks(self.layout.chunks() * chunk.0),
            drives: self.layout.drives(),
            losable: self.losable(),
            chunk,
            copy_unit: Some(chunk),
            stripe: chunk,
            spare_time: true,
            offers: false,
            places: 0,
            moves_told: false,
            zones: None,
        }
    }

    fn plan(&mut self, now: Instant, request: &Request, drives: &dyn Drives, out: &mut Plan) {
        match request.op {
            Op::Flush => _ = self.plan_flush(FlushOf::Client, out),
            Op::Read => self.plan_read(now, request, drives, out),
            Op::Write => self.plan_write(now, request, drives, out),
            // No map is kept of what is in use.
            Op::Discard => {}
            Op::Seek => panic!("no client moves the arm"),
        }
    }

    fn withdrawn(&mut self, tag: Tag, _drive: DriveId) {
        self.take_underway(tag);
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
        if self.gone.learn(drive, done.status) {
            self.leave_out(drive, out);
            self.hurry();
        }
        if !done.status.is_done() {
            self.doubt_held();
        }
        match done.op {
            Op::Flush => self.flush_ended(tag, drive, done, out),
            _ => self.ended(tag, done, out),
        }
        self.write_urgent(out);
        self.answer_held(out);
    }

    fn skipped(
        &mut self,
        _now: Instant,
        tag: Tag,
        _drive: DriveId,
        _drives: &dyn Drives,
        out: &mut Plan,
    ) {
        self.doubt_held();
        let never = self.take_underway(tag);
        match never.part {
            Part::Read(_) | Part::ReadAgain(..) => panic!("no gate is refused to {never:?}"),
            Part::Foreground(key) => self.foreground_ended(key, out),
            Part::Delayed(apart) => {
                self.delayed_ended(&never, false, apart == Apart::Tried, out);
            }
        }
        self.write_urgent(out);
        self.answer_held(out);
    }

    fn idle(&mut self, _now: Instant, drive: DriveId, _drives: &dyn Drives, out: &mut Plan) {
        self.spend_spare_time(drive, out);
    }

    fn owes(&self) -> Option<Owed> {
        let delays = self.foreground < self.layout.copies().into();
        delays.then(|| self.delayed.owes(self.layout.chunk()))
    }

    fn redundant(&self) -> Option<&dyn Redundant> {
        Some(self)
    }

    fn persistent(&self) -> Option<&dyn Persistent> {
        Some(&self.table)
    }

    /// What waits is urgent if it must be; some copy of a chunk is current; NVRAM says the same.
    fn audit(&self) {
        let delayed = self.underway.iter().filter_map(|(_, one)| match one.part {
            Part::Delayed(_) => Some(self.layout.place(one.first).0),
            Part::Read(_) | Part::ReadAgain(..) | Part::Foreground(_) => None,
        });
        self.delayed.audit(delayed);
        assert_eq!(self.table.len(), self.unsettled.len(), "entries in NVRAM");
        let undecided = self.unsettled.iter().filter(|one| one.candidates != 0);
        assert_eq!(undecided.count(), self.undecided, "chunks with candidates");
        let reads = self.underway.iter().map(|(_, one)| one.part);
        let waits = |part: &Part| matches!(part, Part::Read(read) if read.waits == Waits::Yes);
        assert_eq!(reads.filter(waits).count(), self.waiting, "reads that wait");
        let lost = self.unsettled.iter().filter(|one| self.is_lost(one));
        assert_eq!(lost.count(), self.lost, "chunks that are lost");
        self.audit_held();
        for state in self.unsettled.iter() {
            state.audit();
            for copy in 0..self.layout.copies() {
                let chunk = state.chunk;
                let of = CopyOf::new(chunk, copy);
                let hurries = self.delayed.waits(of) && self.can_hurry(of);
                let is_urgent = || self.delayed.is_urgent(of);
                assert!(!hurries || is_urgent(), "{of:?} waits for spare time");
            }
            let kept = state.kept.map(|index| self.table.entry(index));
            assert_eq!(
                kept,
                Some(Ok(Some(state.entry()))),
                "NVRAM says something else"
            );
        }
    }
}
