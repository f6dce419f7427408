//! The model: what every block of every drive holds, and what a read of the volume may find.
//!
//! A block holds a *stamp*: which block of the volume it is and which write made it. A write puts
//! its stamps on the drive when it completes. For the blocks of a chunk that its request does not
//! cover these are what the read brought whose step the write names; so it is with what a placement
//! writes by itself. If that names none, they are what compaction has read, or what was in the
//! buffer of delayed copies when the command began: the last of which a copy was on the platter.
//!
//! A parity holds the exclusive or of the stamps of its row (`sums`); what is computed from a row
//! is a stamp again if all of it belongs together.
//!
//! A read must find the last write that was answered before it was submitted, or one that came
//! later. Where the placement keeps writes to a chunk in order, last means last submitted; else any
//! that nothing is wholly after.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use nearslot_core::contract::Drive;
use nearslot_core::ids::{DriveId, IoId, RequestId};
use nearslot_core::io::{Command, Data, DriveDone, Moves, Origin, StepNumber};
use nearslot_core::op::{Op, Status};
use nearslot_core::request::Request;
use nearslot_core::units::{Blocks, Instant};

use crate::contents::kept::Kept;
use crate::contents::last_places::LastPlaces;
use crate::contents::medium::Deed;
use crate::contents::setups::Setup;
use crate::contents::sums::{Sum, Sums};
use crate::contents::uncounted::Uncounted;
use crate::support::below::Below;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stamp {
    /// None of the volume's data were ever written here, or the log of the map was.
    Blank,
    /// What was discarded, or the part of a chunk that lay nowhere when the rest was written.
    Nothing,
    /// A block of the volume as this write made it.
    Of { block: u64, write: RequestId },
    /// What a drive brought that holds something else there than it said.
    Wrong,
    /// A parity: the exclusive or of numbers that stand for stamps.
    Sum(u64),
}

/// A write of a block, or that it was discarded, by the model's count of submissions and answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) stamp: Stamp,
    submitted: u64,
    pub(super) answered: u64,
    /// When it was answered, or failed.
    pub(super) ended: u64,
    /// Whether a flush has been answered since that came after.
    pub(super) covered: bool,
}

/// Not answered yet.
pub(super) const NEVER: u64 = u64::MAX;

/// A request that was not answered.
pub(super) struct Asked {
    pub(super) request: Request,
    submitted: u64,
    /// Whether the chunks in which it begins and ends had all their copies then, and nothing was
    /// under way there.
    at_rest: bool,
    /// What its reads brought, by block of the volume.
    pub(super) read: BTreeMap<u64, Stamp>,
    /// How many of its writes of a block are done.
    written: BTreeMap<u64, usize>,
    /// Whether it is in the write buffer.
    pub(super) is_buffered: bool,
    /// What it writes, of a job that writes what the buffer had when it began.
    pub(super) bytes: BTreeMap<u64, Stamp>,
}

/// A command that a drive works on.
pub(super) struct Running {
    pub(super) command: Command,
    pub(super) origin: Origin,
    /// What it writes.
    pub(super) data: Vec<Stamp>,
}

/// The model.
pub(crate) struct Contents {
    setup: Setup,
    pub(super) drives: Vec<Vec<Stamp>>,
    pub(super) last_places: LastPlaces,
    pub(super) uncounted: Uncounted,
    /// Of chunks that may lie anywhere.
    pub(super) kept: Kept,
    /// By place in an array with parity: its drive.
    pub(super) seats: Vec<usize>,
    /// By drive; kept only where a power cut takes what caches have.
    pub(super) below: Vec<Below<Stamp>>,
    pub(crate) loses: bool,
    /// By drive, each with the command that carries it out.
    pub(super) running: Vec<Vec<(IoId, Running)>>,
    /// Range writes that drives have which choose the place.
    pub(crate) landing: BTreeSet<IoId>,
    /// What the next command of each drive carries out.
    joining: Vec<Vec<Running>>,
    /// By block of the volume, in the order of submission.
    pub(super) history: Vec<Vec<Written>>,
    /// What was found last, by block of the volume, if nothing has been written there since.
    pub(super) last_read: Vec<Option<Stamp>>,
    /// What delayed copies are made of, by block of the volume.
    pub(super) buffer: Vec<Stamp>,
    /// What compaction has read, by drive and block of the volume.
    moving: BTreeMap<(DriveId, u64), Stamp>,
    /// What the reads brought that writes may carry, by step and block of the volume.
    pub(super) brought: BTreeMap<StepNumber, BTreeMap<u64, Stamp>>,
    /// What goes into parities.
    pub(super) sums: Sums,
    /// Whether commands may fail: then a write may be answered with fewer copies than it waits for.
    pub(crate) may_fail: bool,
    /// Requests that failed while no other write of the same chunks was under way.
    pub(crate) failed: u64,
    pub(super) asked: BTreeMap<RequestId, Asked>,
    /// What is in memory, by block of the volume.
    pub(super) memory: BTreeMap<u64, Stamp>,
    /// Blocks that reads got from there.
    pub(crate) served: u64,
    /// What is in the write buffer, by block of the volume.
    pub(super) buffered: BTreeMap<u64, Stamp>,
    /// Blocks that reads got from there.
    pub(crate) lent: u64,
    pub(super) clock: u64,
    /// Writes of a part of a chunk that was at rest, and of these, such as did not go to all
    /// copies.
    pub(super) parts: (u64, u64),
    /// Whether a write has failed: nobody knows then what a place holds.
    pub(super) torn: bool,
    /// Blocks that power cuts have set back.
    pub(crate) set_back: u64,
    /// Blocks that were computed for clients.
    pub(crate) rebuilt: u64,
    /// Blocks that the buffer stood in for.
    pub(crate) recalled: u64,
    /// Blocks read and compared.
    pub(crate) compared: u64,
    /// Of these, blocks that had been read before, and not been written since.
    pub(crate) repeated: u64,
    /// Blocks that were read and are wrong, as no drive told.
    pub(crate) wrong: u64,
}

impl Contents {
    /// Blank drives of so many blocks under a blank volume.
    pub(crate) fn new(setup: Setup, drives: usize, drive_blocks: u64, blocks: u64) -> Contents {
        Contents {
            setup,
            kept: Kept::new(setup.chunk),
            drives: vec![vec![Stamp::Blank; drive_blocks as usize]; drives],
            last_places: LastPlaces::new(drives, blocks),
            uncounted: Uncounted::new(drives, drive_blocks),
            seats: (0..drives - setup.spares()).collect(),
            below: vec![Below::default(); drives],
            loses: false,
            running: (0..drives).map(|_| Vec::new()).collect(),
            landing: BTreeSet::new(),
            joining: (0..drives).map(|_| Vec::new()).collect(),
            history: vec![Vec::new(); blocks as usize],
            last_read: vec![None; blocks as usize],
            buffer: vec![Stamp::Blank; blocks as usize],
            moving: BTreeMap::new(),
            brought: BTreeMap::new(),
            sums: Sums::default(),
            may_fail: false,
            failed: 0,
            asked: BTreeMap::new(),
            memory: BTreeMap::new(),
            served: 0,
            buffered: BTreeMap::new(),
            lent: 0,
            clock: 0,
            parts: (0, 0),
            torn: false,
            set_back: 0,
            rebuilt: 0,
            recalled: 0,
            compared: 0,
            repeated: 0,
            wrong: 0,
        }
    }

    /// What is tested.
    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The blocks whose contents a request changes, and to what.
    fn changes(&self, request: &Request) -> Vec<(u64, Stamp)> {
        let (start, end) = (request.extent.start.0, request.extent.end().0);
        let size = self.setup.chunk;
        match request.op {
            // What the volume holds is no other than before.
            Op::Write if request.id.as_job().is_some() => Vec::new(),
            Op::Write => (start..end)
                .map(|block| {
                    let write = request.id;
                    (block, Stamp::Of { block, write })
                })
                .collect(),
            // Chunks are forgotten as a whole; without a map nothing is.
            Op::Discard if self.setup.maps() => {
                let (first, behind) = (start.div_ceil(size) * size, end / size * size);
                (first..behind)
                    .map(|block| (block, Stamp::Nothing))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    pub(crate) fn submitted(&mut self, request: &Request) {
        let submitted = self.tick();
        let at_rest = self.is_at_rest(request);
        for (block, stamp) in self.changes(request) {
            self.history[block as usize].push(Written {
                stamp,
                submitted,
                answered: NEVER,
                ended: NEVER,
                covered: false,
            });
            self.last_read[block as usize] = None;
        }
        let asked = Asked {
            request: *request,
            submitted,
            at_rest,
            read: BTreeMap::new(),
            written: BTreeMap::new(),
            is_buffered: false,
            bytes: BTreeMap::new(),
        };
        assert!(self.asked.insert(request.id, asked).is_none());
    }

    /// Whether a write at fixed places, where nothing fails, finds all copies of the chunks in
    /// which it begins and ends, and meets no other.
    fn is_at_rest(&self, request: &Request) -> bool {
        let Request { op, fua, .. } = *request;
        // What goes past a write buffer is forced.
        let forced = fua || self.setup.writes != "none";
        if op != Op::Write || forced || self.may_fail || self.setup.maps() {
            return false;
        }
        let ends = [request.extent.start.0, request.extent.end().0 - 1];
        !self.meets_a_write(request) && !ends.iter().any(|end| self.misses_a_copy(*end))
    }

    /// A drive begins a command.
    pub(crate) fn started(&mut self, drive: DriveId, command: &Command, origin: &Origin) {
        if origin.moves == Moves::Parts {
            let mut parts = std::mem::take(&mut self.joining[drive.index()]);
            assert!(parts.len() > 1, "{command:?} is of one part");
            let mut next = command.at;
            for part in &parts {
                let Command { op, at, len, .. } = part.command;
                assert_eq!((op, at), (command.op, next), "the parts of {command:?}");
                next = at + len;
            }
            assert_eq!(next, command.at + command.len, "the end of {command:?}");
            let parts = parts.drain(..).map(|part| (command.io, part));
            return self.running[drive.index()].extend(parts);
        }
        assert!(self.joining[drive.index()].is_empty(), "of another command");
        self.joins(drive, command, origin);
        let part = self.joining[drive.index()].pop();
        let part = part.map(|part| (command.io, part));
        self.running[drive.index()].extend(part);
    }

    /// An I/O is carried out by the command that the drive begins next.
    pub(crate) fn joins(&mut self, drive: DriveId, command: &Command, origin: &Origin) {
        let blocks = command.at.0 + command.len.0;
        assert!(blocks <= self.drives[drive.index()].len() as u64);
        let data = match command.op {
            Op::Write => self.data(drive, command, origin),
            _ => Vec::new(),
        };
        self.joining[drive.index()].push(Running {
            command: *command,
            origin: *origin,
            data,
        });
    }

    /// What a write carries of a block, if a read before it has brought that.
    fn carried(&self, origin: &Origin, block: u64) -> Option<Stamp> {
        let step = origin.carries?;
        let of_step = self.brought.get(&step).and_then(|of| of.get(&block));
        Some(
            *of_step.unwrap_or_else(|| {
                panic!("{step:?}, which {origin:?} carries, brought no {block}")
            }),
        )
    }

    /// What a write carries.
    fn data(&mut self, drive: DriveId, command: &Command, origin: &Origin) -> Vec<Stamp> {
        if let Moves::Parity(step) = origin.moves {
            let stamps = self.sums.stamps(step);
            assert_eq!(stamps.len() as u64, command.len.0, "{command:?}");
            return stamps;
        }
        let Some(data) = origin.data() else {
            assert_eq!(origin.moves, Moves::Own, "what a write puts on the drive");
            assert!(self.setup.logs(), "it keeps a map");
            assert_eq!(origin.request, None, "whose map is written");
            return vec![Stamp::Blank; command.len.0 as usize];
        };
        let stamp = |index| {
            let block = data.block(index).0;
            let Some(write) = origin.request else {
                if let Some(carried) = self.carried(origin, block) {
                    return carried;
                }
                if self.setup.compacts() && !origin.open {
                    return self.moving[&(drive, block)];
                }
                assert!(self.setup.copies > 1, "there is one copy, written already");
                return self.buffer[block as usize];
            };
            let asked = &self.asked[&write];
            let request = &asked.request;
            assert_eq!(request.op, Op::Write, "{request:?} writes");
            let covered = request.extent.start.0..request.extent.end().0;
            match covered.contains(&block) {
                true => asked.writes(block),
                false => self.carried(origin, block).unwrap_or(Stamp::Nothing),
            }
        };
        (0..command.len.0).map(stamp).collect()
    }

    /// A drive has ended a command; `deed` is what it has really done, if that may be something
    /// else than it tells.
    pub(crate) fn done(&mut self, drive: DriveId, done: &DriveDone, deed: Option<&Deed>) {
        let (ended, others) = std::mem::take(&mut self.running[drive.index()])
            .into_iter()
            .partition(|(name, _)| *name == done.io);
        self.running[drive.index()] = others;
        let ended: Vec<(IoId, Running)> = ended;
        assert!(!ended.is_empty(), "{:?} did not run", done.io);
        for (_, mut part) in ended {
            if self.landing.remove(&done.io) {
                part.command.at = done.at;
            }
            self.part_done(drive, part, done, deed);
        }
    }

    /// Puts on the drive what a write has put there.
    fn put(&mut self, drive: DriveId, ended: &Running, done: &DriveDone, deed: Option<&Deed>) {
        let Command { at, len, .. } = ended.command;
        let is_done = done.status.is_done();
        self.torn |= !is_done || deed.is_some();
        let (to, written) = match deed {
            Some(deed) => {
                let before = at.0 - done.at.0;
                let written = deed.written.saturating_sub(before).min(len.0);
                (deed.lands.0 + before, written)
            }
            None if is_done => (at.0, len.0),
            // Of a write that failed, a part was written, down to nothing and up to all.
            None => (at.0, done.cost.transfer.0 % (len.0 + 1)),
        };
        let (to, written) = (to as usize, written as usize);
        let held = &mut self.drives[drive.index()][to..to + written];
        if self.loses {
            let below = &mut self.below[drive.index()];
            for (at, before) in (to as u64..).zip(&*held) {
                below.written(at, *before, ended.command.fua);
            }
        }
        held.copy_from_slice(&ended.data[..written]);
        (self.last_places).note(drive.index(), to, &ended.data[..written]);
    }

    /// What a read brings of a block.
    fn held(drive: &[Stamp], block: usize, deed: Option<&Deed>) -> Stamp {
        match deed.is_some_and(|deed| deed.wrong.contains(&(block as u64))) {
            true => Stamp::Wrong,
            false => drive[block],
        }
    }

    fn part_done(&mut self, drive: DriveId, ended: Running, done: &DriveDone, deed: Option<&Deed>) {
        let at = ended.command.at.0 as usize;
        let len = ended.command.len.0 as usize;
        if ended.command.op == Op::Write {
            self.put(drive, &ended, done, deed);
        }
        let Origin { request, .. } = ended.origin;
        let data = ended.origin.data();
        // A job has failed, and who waited for it reads all again.
        let is_again = self.is_again();
        self.note_copies(drive, &ended, done.status);
        if !done.status.is_done() {
            return;
        }
        if let (Op::Write, Some(data), true) = (ended.command.op, data, self.setup.maps()) {
            let of_drive = (drive, &self.drives[drive.index()][..]);
            let blocks = (0..).map(|index| data.block(index).0);
            let blocks: Vec<(u64, Stamp)> = blocks.zip(ended.data.iter().copied()).collect();
            self.kept
                .written(of_drive, at as u64, &blocks, request.is_some());
        }
        if ended.command.op == Op::Read && data.is_none() && self.setup.parity() {
            let of_drive = &self.drives[drive.index()];
            let held = |index| Self::held(of_drive, at + index, deed);
            let brought: Vec<Stamp> = (0..len).map(held).collect();
            self.sums.brought(ended.origin.step, &brought);
        }
        for index in 0..len {
            let Some(data) = data else {
                continue;
            };
            let held = Self::held(&self.drives[drive.index()], at + index, deed);
            let block = data.block(index as u64).0;
            let asked = request.map(|id| self.asked.get_mut(&id).expect("it is not answered"));
            if ended.command.op == Op::Read {
                let brought = self.brought.entry(ended.origin.step).or_default();
                brought.insert(block, held);
            }
            match (ended.command.op, asked) {
                (Op::Write, asked) => {
                    if let Some(asked) = asked {
                        *asked.written.entry(block).or_default() += 1;
                        self.buffer[block as usize] = ended.data[index];
                    }
                }
                (Op::Read, Some(asked)) => {
                    let before = asked.read.insert(block, held);
                    let is_first = before.is_none() || is_again;
                    assert!(is_first, "{:?} read {block} twice", asked.request);
                }
                (Op::Read, None) if self.setup.compacts() => {
                    self.moving.insert((drive, block), held);
                }
                (Op::Read, None) if self.may_fail => {}
                (op, _) => panic!("a placement does {op:?} by itself"),
            }
        }
    }

    /// What a step has brought goes into a parity, or is put together with blocks beside it.
    pub(crate) fn folds(&mut self, into: StepNumber, of: StepNumber, at: Blocks) {
        match self.brought.get(&of).cloned() {
            None => self.sums.fold_step(into, of, at.0 as usize),
            Some(blocks) => {
                let all = self.brought.entry(into).or_default();
                let twice = blocks.keys().find(|block| all.contains_key(block));
                assert_eq!(twice, None, "{into:?} is put together of it twice");
                all.extend(blocks);
            }
        }
    }

    /// A parity is complete but for what its request writes. If it is a block of the volume, its
    /// request has got that.
    pub(crate) fn computed(&mut self, origin: &Origin, written: Option<(Data, Blocks)>) {
        if let Some((data, len)) = written {
            let write = origin.request.expect("a client writes");
            let asked = &self.asked[&write];
            let request = &asked.request;
            let covered = request.extent.start.0..request.extent.end().0;
            let sums: Vec<Sum> = (0..len.0)
                .map(|index| {
                    let block = data.block(index).0;
                    assert!(covered.contains(&block), "{request:?} writes no {block}");
                    self.sums.of(asked.writes(block))
                })
                .collect();
            self.sums.fold(origin.step, &sums, 0);
        }
        let (Some(data), Some(request)) = (origin.data(), origin.request) else {
            return;
        };
        let is_again = self.is_again();
        let asked = self.asked.get_mut(&request).expect("it is not answered");
        for (index, held) in (0..).zip(self.sums.stamps(origin.step)) {
            let block = data.block(index).0;
            let before = asked.read.insert(block, held);
            let is_first = before.is_none() || is_again;
            assert!(is_first, "{:?} read {block} twice", asked.request);
            self.rebuilt += 1;
        }
    }

    /// The buffer of delayed copies stands in for a read that has failed.
    pub(crate) fn recalled(&mut self, origin: &Origin, len: Blocks) {
        assert!(self.may_fail, "nothing fails");
        let data = origin.data().expect("the volume's data were read");
        for index in 0..len.0 {
            let block = data.block(index).0;
            let held = self.buffer[block as usize];
            assert!(self.may_be_buffered(block), "{block} is in no buffer");
            let brought = self.brought.entry(origin.step).or_default();
            brought.insert(block, held);
            let Some(request) = origin.request else {
                continue;
            };
            let asked = self.asked.get_mut(&request).expect("it is not answered");
            let before = asked.read.insert(block, held);
            let is_first = before.is_none() || self.setup.caches();
            assert!(is_first, "{:?} read {block} twice", asked.request);
            self.recalled += 1;
        }
    }

    /// A request was answered: was it carried out?
    pub(crate) fn answered(&mut self, id: RequestId, status: Status) {
        let answered = self.tick();
        let asked = self.asked.remove(&id);
        let asked = asked.expect("it was asked and not answered");
        if !status.is_done() {
            assert!(self.may_fail, "{:?} failed", asked.request);
            // What it wrote may be found, and so may what was there before.
            self.failed += u64::from(!self.meets_a_write(&asked.request));
            // Nobody knows which part of it the map has if that is lost, and an answer names alone
            // what failed first.
            if self.setup.logs() {
                let extent = asked.request.extent;
                self.kept.forget(extent.start.0, extent.len.0);
            }
            return self.ended(&asked, None);
        }
        match asked.request.op {
            Op::Read => self.check_read(&asked),
            Op::Write if !asked.is_buffered => self.check_copies(&asked),
            Op::Flush => self.cover(asked.submitted),
            _ => {}
        }
        self.ended(&asked, Some(answered));
    }

    /// Notes when what a request wrote has ended, and whether it was answered then.
    fn ended(&mut self, asked: &Asked, answered: Option<u64>) {
        for (block, stamp) in self.changes(&asked.request) {
            let history = &mut self.history[block as usize];
            let written = history.iter_mut().rev();
            let mut own = written.filter(|one| one.submitted == asked.submitted);
            let own = own.next().expect("it was noted");
            own.ended = self.clock;
            let Some(answered) = answered else {
                continue;
            };
            own.answered = answered;
            if stamp == Stamp::Nothing {
                self.buffer[block as usize] = stamp;
            }
        }
    }

    /// Whether an unanswered write touches chunks of this request.
    pub(crate) fn meets_a_write(&self, request: &Request) -> bool {
        let chunks = |one: &Request| {
            let (start, end) = (one.extent.start.0, one.extent.end().0);
            start / self.setup.chunk..end.div_ceil(self.setup.chunk)
        };
        let own = chunks(request);
        let mut writes = self
            .asked
            .values()
            .filter(|one| one.request.op == Op::Write);
        writes.any(|one| {
            let other = chunks(&one.request);
            own.start < other.end && other.start < own.end
        })
    }

    /// Whether a write of a block of this request has ended since that came.
    pub(crate) fn was_written_since(&self, request: &Request) -> bool {
        let submitted = self.asked[&request.id].submitted;
        let blocks = request.extent.start.0 as usize..request.extent.end().0 as usize;
        let mut written = self.history[blocks].iter().flatten();
        written.any(|one| one.ended != NEVER && one.ended > submitted)
    }

    /// Every block was brought once at most, and is one that may be found.
    fn check_read(&mut self, asked: &Asked) {
        let extent = asked.request.extent;
        for block in extent.start.0..extent.end().0 {
            let found = asked.read.get(&block).copied().unwrap_or(Stamp::Nothing);
            self.compared += 1;
            if found == Stamp::Wrong {
                self.wrong += 1;
                continue;
            }
            let allowed = self.allowed(block, asked.submitted);
            assert!(
                allowed.contains(&found),
                "{:?}: {:?} found {found:?} at {block}; allowed were {allowed:?} of {:?}",
                self.setup,
                asked.request,
                self.history[block as usize]
            );
            self.check_again(block, found, asked);
        }
        assert!(
            asked
                .read
                .keys()
                .all(|block| (extent.start.0..extent.end().0).contains(block)),
            "{:?} brought more than was asked",
            asked.request
        );
    }

    /// Nothing was written to a block since it was read: so it is found again, from whichever copy.
    fn check_again(&mut self, block: u64, found: Stamp, asked: &Asked) {
        let mut history = self.history[block as usize].iter();
        if !history.all(|one| one.ended < asked.submitted) {
            return;
        }
        let before = self.last_read[block as usize].replace(found);
        assert!(
            before.is_none_or(|before| before == found),
            "{:?} of {:?} found {found:?} at {block}, where {before:?} was before",
            asked.request,
            self.setup
        );
        self.repeated += u64::from(before.is_some());
    }

    /// What a read that was submitted then and is answered now may find.
    pub(super) fn allowed(&self, block: u64, submitted: u64) -> Vec<Stamp> {
        let history = &self.history[block as usize];
        let before = history.iter().filter(|one| one.answered < submitted);
        // The volume is written as a whole first, but that may be under way.
        let Some(last) = before.map(|one| one.submitted).max() else {
            let all = history.iter().map(|one| one.stamp);
            // If no write of its chunk has succeeded, it may lie nowhere.
            let nowhere = (self.may_fail && self.setup.maps()).then_some(Stamp::Nothing);
            return all.chain([Stamp::Blank]).chain(nowhere).collect();
        };
        let may = |one: &&Written| match self.setup.ordered() {
            true => one.submitted >= last,
            false => one.answered > last,
        };
        history.iter().filter(may).map(|one| one.stamp).collect()
    }

    /// By block, of these: where drives hold a version of it, and whether that is one which a read
    /// may find now.
    pub(crate) fn places(&self, blocks: Range<u64>) -> Vec<Vec<(DriveId, u64, bool)>> {
        let of_block = |block| self.allowed(block, NEVER);
        let allowed: Vec<_> = blocks.clone().map(of_block).collect();
        let mut places = vec![Vec::new(); allowed.len()];
        for (drive, held) in (0..).map(DriveId).zip(&self.drives) {
            for (at, stamp) in (0..).zip(held) {
                if let Stamp::Of { block, .. } = stamp
                    && let Some(index) = block.checked_sub(blocks.start)
                    && let Some(places) = places.get_mut(index as usize)
                {
                    places.push((drive, at, allowed[index as usize].contains(stamp)));
                }
            }
        }
        places
    }

    /// Blocks of which only this drive holds what a read may find.
    pub(crate) fn lost(&self, drive: DriveId) -> Vec<u64> {
        let others = self.drives.iter().enumerate();
        let others = others.filter(|(index, _)| *index != drive.index());
        let held: BTreeSet<Stamp> = others.flat_map(|(_, held)| held.iter().copied()).collect();
        let nowhere = |stamp: &Stamp| matches!(stamp, Stamp::Nothing | Stamp::Blank);
        let is_lost = |block: &u64| {
            let allowed = self.allowed(*block, NEVER);
            !allowed
                .iter()
                .any(|stamp| nowhere(stamp) || held.contains(stamp))
        };
        (0..self.history.len() as u64).filter(is_lost).collect()
    }

    /// A write is answered with as many copies as it should be, of every block that it covers. At
    /// fixed places one that covers a part of a chunk has all of that chunk, as none can follow
    /// later without the rest, and so may have all of the others. Where copies were missing, the
    /// chunk is written as a whole.
    fn check_copies(&mut self, asked: &Asked) {
        let (start, end) = (asked.request.extent.start.0, asked.request.extent.end().0);
        let size = self.setup.chunk;
        let within = [start, end].map(|end| Some(end / size).filter(|_| !end.is_multiple_of(size)));
        let parts = match self.setup.maps() {
            true => [None; 2],
            false => within,
        };
        let most = match parts {
            [None, None] => self.setup.foreground,
            _ => self.setup.copies,
        };
        for block in start..end {
            let copies = asked.written.get(&block).copied().unwrap_or_default();
            if self.may_fail {
                // A parity may tell what could not be written.
                assert!(
                    copies >= 1 || self.setup.parity(),
                    "{:?} wrote nothing at {block}",
                    asked.request
                );
                continue;
            }
            assert!(
                (self.setup.foreground..=most).contains(&copies),
                "{:?} is answered with so many copies of {block}: {copies}",
                asked.request
            );
        }
        if asked.at_rest && parts != [None, None] {
            let mut blocks = start..end;
            let is_short = |block: u64| {
                let is_part = parts.contains(&Some(block / size));
                is_part
                    && asked
                        .written
                        .get(&block)
                        .is_none_or(|copies| *copies < most)
            };
            self.parts.0 += 1;
            self.parts.1 += u64::from(blocks.any(is_short));
        }
    }

    /// What a drive has put on its medium.
    pub(crate) fn settle(&mut self, now: Instant, index: usize, drive: &dyn Drive) {
        if self.loses {
            self.below[index].settle(now, drive);
        }
    }

    /// A spare has the place of this drive.
    pub(crate) fn replaced(&mut self, drive: u16, spare: u16) {
        let mut seats = self.seats.iter_mut();
        let seat = seats.find(|seat| **seat == usize::from(drive));
        *seat.expect("it has a place") = spare.into();
    }

    /// Another drive takes the place of this one, with nothing on it.
    pub(crate) fn blank(&mut self, drive: DriveId) {
        self.drives[drive.index()].fill(Stamp::Blank);
    }
}
