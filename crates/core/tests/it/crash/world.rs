//! A stack over drives whose sectors are known, and what is left of it when the power goes.

mod asking;
mod buffered;
mod cache;
mod cut;
mod damage;
mod faulty;
mod fixed;
mod image;
mod lies;
mod recovered;
mod silent;

use nearslot_core::io::{Command, Data, Origin, RecoveryRead, StepNumber};
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::request::Reply;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use nearslot_core::config::{Assembly, StackConfig};
use nearslot_core::contract::{Destage, Drive, Placement};
use nearslot_core::ids::{DriveId, RequestId};
use nearslot_core::rng::Rng;
use nearslot_core::stack::{Action, Input, Stack};
use nearslot_core::units::{Blocks, Instant};

use buffered::Buffered;
use cache::Covered;
pub(crate) use cut::{Cut, Nothing};
use faulty::Faulty;
use fixed::Fixed;
use image::{Image, Sector};
pub(crate) use lies::Lies;
pub(crate) use recovered::Recovered;
use silent::Silent;
pub(crate) use silent::{Chances, Counts};

use crate::crash::knob;
use crate::support::below::Below;

const DEPTH: usize = 6;
/// So much may end at one instant.
const AT_ONCE: u32 = 10_000;
/// The version of what was discarded.
const NOTHING: u64 = 0;

/// A command under way.
struct Running {
    command: Command,
    origin: Origin,
    /// What it writes.
    sectors: Vec<Sector>,
}

/// Writes that were not answered yet, by request.
type Pending = BTreeMap<u64, (u64, std::ops::Range<u64>)>;

pub(crate) struct World {
    config: StackConfig,
    /// Blocks that are written as a whole.
    chunk: u64,
    stack: Stack,
    drives: Vec<Box<dyn Drive>>,
    /// Blocks of a drive.
    drive_blocks: u64,
    /// The volume's block that is called 0 here; see [`fixed::first_known`].
    first: u64,
    images: Vec<Image>,
    /// By drive: what said how far the map's log had come when this life began.
    controls: Vec<Vec<Sector>>,
    /// By drive: what the medium holds under what the cache has.
    below: Vec<Below<Option<Sector>>>,
    /// Whether a power cut may take what a drive has ended.
    loses: bool,
    /// What drives do of what they are told; see [`World::lying`].
    lies: Lies,
    /// Whose commands fail now and then; none whose do.
    faulty: Option<Faulty>,
    /// What goes wrong without a word; none if nothing does.
    silent: Option<Silent>,
    /// By block: versions whose writes failed since the last one that did not. Nobody knows what of
    /// them was written.
    unsure: BTreeMap<u64, BTreeSet<u64>>,
    /// Requests that failed, and those of them that did since no change of the map can be kept.
    failed: u64,
    map_lost: u64,
    /// What flushes have covered, of a volume that promises no more.
    covered: Option<Covered>,
    /// By drive: the command under way with what it writes.
    running: Vec<Option<Running>>,
    now: Instant,
    /// What has ended at this instant.
    at_once: u32,
    rng: Rng,
    /// Of each block of the volume, the version that was answered last.
    answered: Vec<u64>,
    /// What is in a write buffer above.
    buffered: Buffered,
    /// What a placement has read to be moved, by drive and block.
    moving: BTreeMap<(usize, u64), u64>,
    /// The version that reached a drive last: what a buffer holds.
    landed: Vec<u64>,
    /// By block: what was read last for a copy of which the power left no buffer.
    read_again: BTreeMap<u64, u64>,
    /// Of copies at fixed places; none of others.
    fixed: Option<Fixed>,
    pending: Pending,
    /// What reads found, by step and block: what a write brings to a drive that carries it.
    brought: BTreeMap<(StepNumber, u64), u64>,
    reads: BTreeSet<u64>,
    /// What reads of requests under way found, by request and block.
    rest: BTreeMap<(u64, u64), u64>,
    /// What the last answered read found; none if it failed.
    found: Option<BTreeMap<u64, u64>>,
    /// By block: what clients have seen there since the power came again, and did not write.
    seen: BTreeMap<u64, u64>,
    /// Whether clients discard. Of what is discarded, nobody could say whether it was written since
    /// the power came again.
    discards: bool,
    number: u64,
    version: u64,
    log_writes: u64,
    moves: u64,
    /// Whether a power cut may take all that was written since the last flush, but for forced
    /// writes.
    lazy: bool,
    /// So many places that requests begin at; see [`World::in_few_places`].
    places: u64,
    /// One in so many writes is forced.
    apart_forced: u64,
    /// Events in which no request comes, so that there is spare time.
    pause: u64,
}

impl World {
    /// A volume that was formatted and written once as a whole.
    pub(crate) fn new(config: StackConfig) -> World {
        let built = config.build().unwrap();
        World::written(config, built)
    }

    /// The same with a placement that takes the caches for protected ones: it forces nothing, and
    /// waits for no flush.
    pub(crate) fn trusting(config: StackConfig) -> World {
        let mut protected = config.clone();
        protected.drive.part = "of the test:cache=protected".parse().unwrap();
        let stack = protected.build().unwrap().stack;
        let built = config.build().unwrap();
        World::written(config, Assembly { stack, ..built })
    }

    fn written(config: StackConfig, built: Assembly) -> World {
        let drives = built.drives.len();
        let mut world = World::of(config, built, vec![Image::default(); drives]);
        world.come_to_rest();
        for chunk in 0..world.chunks() {
            world.submit(Op::Write, world.blocks(chunk));
            while world.stack.pending() >= DEPTH {
                world.event();
            }
        }
        world.finish();
        if world.loses {
            world.submit(Op::Flush, 0..0);
            world.finish();
        }
        world
    }

    fn of(config: StackConfig, built: Assembly, images: Vec<Image>) -> World {
        let Assembly {
            stack,
            drives,
            blueprint,
            ..
        } = built;
        let drive_blocks = blueprint.capacity().0;
        let first = fixed::first_known(&stack);
        let blocks = fixed::known(&stack) as usize;
        let loses = blueprint.cache().may_lose();
        let fixed = Fixed::of(&config, &images);
        // What is answered from a write buffer is kept whatever drives lose.
        let is_buffered = config.parts.of::<dyn Destage>().name != "none";
        World {
            chunk: knob(&config, "chunk_kib", 4) * 2,
            below: vec![Below::default(); drives.len()],
            loses,
            lies: Lies::default(),
            faulty: None,
            silent: None,
            unsure: BTreeMap::new(),
            failed: 0,
            map_lost: 0,
            covered: (loses && fixed.is_some() && !is_buffered).then(|| Covered::new(blocks)),
            fixed,
            config,
            drive_blocks,
            first,
            running: drives.iter().map(|_| None).collect(),
            stack,
            drives,
            controls: images.iter().map(Image::controls).collect(),
            images,
            now: Instant::ZERO,
            at_once: 0,
            rng: Rng::stream(9 ^ super::seed(), "crash"),
            answered: vec![0; blocks],
            buffered: Buffered::default(),
            moving: BTreeMap::new(),
            landed: vec![0; blocks],
            read_again: BTreeMap::new(),
            pending: Pending::new(),
            brought: BTreeMap::new(),
            reads: BTreeSet::new(),
            rest: BTreeMap::new(),
            found: None,
            seen: BTreeMap::new(),
            discards: true,
            number: 0,
            version: 0,
            log_writes: 0,
            moves: 0,
            lazy: false,
            places: 60,
            apart_forced: 11,
            pause: 0,
        }
    }

    /// The same over drives that do not do what they are told.
    pub(crate) fn lying(config: StackConfig, lies: Lies) -> World {
        let mut world = World::new(config);
        world.lies = lies;
        world
    }

    /// Requests, flushes and forced writes meet each other more often from now on, and drives write
    /// nothing before a flush that is not forced.
    pub(crate) fn in_few_places(mut self) -> World {
        (self.places, self.apart_forced, self.lazy) = (4, 3, true);
        self
    }

    /// One in so many commands fails from now on.
    pub(crate) fn failing(mut self, chance: f64) -> World {
        let bad = self.faulty.map(|faulty| faulty.bad);
        let place = self.config.parts.of::<dyn Placement>();
        let life = format!("{place} faulty from version {}", self.version);
        self.faulty = Some(Faulty::new(chance, bad.unwrap_or_default(), &life));
        self
    }

    /// One in so many commands of this drive alone.
    pub(crate) fn failing_on(self, drive: usize, chance: f64) -> World {
        let mut world = self.failing(chance);
        world.faulty = world.faulty.map(|faulty| faulty.of(drive));
        world
    }

    /// A drive is gone from now on. Of a write under way there the first sectors may have arrived;
    /// of what it is sent later, nothing does.
    pub(crate) fn losing(self, drive: usize) -> World {
        let mut world = self.failing(0.0);
        world.faulty = world.faulty.map(|faulty| faulty.without(Some(drive)));
        if let Some(running) = &mut world.running[drive] {
            let (first, sectors) = (running.command.at.0, std::mem::take(&mut running.sectors));
            let arrived = world.rng.below(sectors.len() as u64 + 1);
            for (at, sector) in (first..first + arrived).zip(&sectors) {
                world.arrived(drive, at, sector, false);
            }
        }
        world
    }

    /// This drive does not answer from now on, or all do.
    pub(crate) fn muting(self, drive: Option<usize>) -> World {
        let mut world = match self.faulty {
            Some(_) => self,
            None => self.failing(0.0),
        };
        let faulty = world.faulty.as_mut();
        faulty.expect("it was made").mute = drive;
        world
    }

    /// Writes of the map that failed.
    pub(crate) fn map_failures(&self) -> u64 {
        let faulty = self.faulty.as_ref();
        faulty.map_or(0, |faulty| faulty.map_failures)
    }

    /// Reads and writes of drives that failed, and requests.
    pub(crate) fn failures(&self) -> ([u64; 2], u64) {
        let drives = self
            .faulty
            .as_ref()
            .map_or([0; 2], |faulty| faulty.failures);
        (drives, self.failed)
    }

    /// Whether writes fail since no change of the map can be kept.
    pub(crate) fn has_lost_its_map(&self) -> bool {
        self.map_lost > 0
    }

    /// Writes of copies in spare time, at fixed places.
    pub(crate) fn delayed(&self) -> u64 {
        self.fixed.as_ref().map_or(0, |fixed| fixed.delayed)
    }

    /// Until nothing waits for an answer.
    fn finish(&mut self) {
        while self.stack.pending() > 0 {
            self.event();
        }
    }

    /// Until the drives have nothing left to do, be it in spare time.
    pub(crate) fn come_to_rest(&mut self) {
        self.submit(Op::Flush, 0..0);
        while self.drives.iter().any(|drive| drive.next_event().is_some()) {
            self.event();
        }
    }

    fn event_if_any(&mut self) {
        if self.drives.iter().any(|drive| drive.next_event().is_some()) {
            self.event();
        }
    }

    /// Whether a copy of a chunk is being written in spare time.
    fn writes_again(&self, chunk: u64) -> bool {
        let block = chunk * self.chunk;
        let of_chunk = |sector: &Sector| matches!(sector, Sector::Client(of, _) if *of == block);
        let mut running = self.running.iter().flatten();
        running.any(|one| one.origin.request.is_none() && one.sectors.iter().any(of_chunk))
    }

    pub(crate) fn log_writes(&self) -> u64 {
        self.log_writes
    }

    pub(crate) fn drives(&self) -> usize {
        self.drives.len()
    }

    /// I/Os that a drive has or that wait for it.
    pub(crate) fn waiting_on(&self, drive: usize) -> u64 {
        self.stack.waiting_on(DriveId(drive as u16)) as u64
    }

    /// Blocks that compaction wrote elsewhere.
    pub(crate) fn moves(&self) -> u64 {
        self.moves
    }

    fn event(&mut self) {
        let due = |index: usize| Some((self.drives[index].next_event()?, index));
        let events = (0..self.drives.len()).filter_map(due);
        let (now, index) = events.min().unwrap();
        self.at_once = if now == self.now { self.at_once + 1 } else { 0 };
        assert!(self.at_once < AT_ONCE, "nothing else ends at {now:?}");
        self.now = now;
        let Some(mut done) = self.drives[index].advance(now) else {
            return;
        };
        let Running {
            command,
            origin,
            sectors,
        } = self.running[index].take().unwrap();
        done.op = command.op;
        let forced = !self.loses || command.fua;
        let flushed = command.op == Op::Flush && self.lies != Lies::Flushes;
        if !self.lazy || flushed {
            self.below[index].settle(now, &*self.drives[index]);
        }
        let of_map = origin.data().is_none();
        let kept = match &mut self.faulty {
            Some(faulty) => faulty.ended((index, of_map), &mut done),
            None => command.len.0,
        };
        let lands = match &mut self.silent {
            Some(silent) => {
                let blocks = self.drive_blocks;
                silent.ended(index, &mut done, (of_map, blocks))
            }
            None => command.at.0..command.at.0 + command.len.0,
        };
        let is_done = done.status.is_done();
        if command.op == Op::Write {
            let forced = forced && is_done;
            for (at, sector) in lands.take(kept as usize).zip(&sectors) {
                self.arrived(index, at, sector, forced);
            }
            for sector in &sectors[..kept.min(sectors.len() as u64) as usize] {
                if let Sector::Client(block, version) = *sector
                    && origin.request.is_some()
                    && is_done
                {
                    self.landed[block as usize] = version;
                }
            }
        } else if is_done {
            self.remember(index, &command, &origin);
        }
        if let Some(silent) = &mut self.silent {
            let there = command.at.0..command.at.0 + command.len.0;
            silent.rot(&mut self.images, (index, there), self.drive_blocks);
        }
        self.stack
            .input(now, Input::Done(DriveId(index as u16), done));
        self.drain();
    }

    /// A sector has arrived at a drive. `forced`: it is on the medium.
    fn arrived(&mut self, drive: usize, at: u64, sector: &Sector, forced: bool) {
        let (image, below) = (&mut self.images[drive], &mut self.below[drive]);
        below.replaced(image, at, sector.clone(), forced);
        if let Some(fixed) = &mut self.fixed {
            fixed.arrived(drive, at, sector);
        }
    }

    /// What a read found.
    fn remember(&mut self, drive: usize, command: &Command, origin: &Origin) {
        let Some(data) = origin.data() else {
            return;
        };
        if let Some(fixed) = self.fixed.as_mut().filter(|_| origin.request.is_none()) {
            fixed.read_again += 1;
        }
        for index in 0..command.len.0 {
            let at = command.at.0 + index;
            let found = match self
                .silent
                .as_ref()
                .and_then(|silent| silent.found((drive, at)))
            {
                Some(version) => Some(Sector::Client(self.block(&data, index), version)),
                None => self.images[drive].get(at).cloned(),
            };
            if let Some(Sector::Client(block, version)) = &found {
                assert_eq!(*block, self.block(&data, index), "another block was read");
                self.brought.insert((origin.step, *block), *version);
                match origin.request {
                    Some(RequestId(request)) => {
                        self.rest.insert((request, *block), *version);
                    }
                    // For a copy of which the power left no buffer, or to be moved.
                    None => {
                        self.read_again.insert(*block, *version);
                        self.moving.insert((drive, *block), *version);
                    }
                }
            }
        }
    }

    fn drain(&mut self) {
        let mut actions = Vec::new();
        self.stack.take_actions(&mut actions);
        for action in actions {
            match action {
                Action::Start {
                    drive,
                    command,
                    origin,
                } => {
                    let mut sectors = match command.op {
                        Op::Write => self.sectors(drive.index(), &command, &origin),
                        _ => Vec::new(),
                    };
                    if self.is_gone(drive.index()) {
                        sectors.clear();
                    }
                    let command = self.lies.told(command, origin.data().is_none());
                    let carried_out = self.lies.carried_out(command);
                    self.drives[drive.index()].submit(self.now, &carried_out);
                    self.running[drive.index()] = Some(Running {
                        command,
                        origin,
                        sectors,
                    });
                }
                Action::Offer { .. } => panic!("nobody offers anything here"),
                Action::Recall { origin, len } => self.recalled(&origin, len),
                Action::Join { .. } => panic!("nothing is merged here"),
                // No placement here has parity: what is put together are blocks, each of which
                // is known by itself.
                Action::Fold { into, of, .. } => {
                    let of = self.brought.range((of, 0)..=(of, u64::MAX));
                    let blocks: Vec<_> = of.map(|((_, block), of)| ((into, *block), *of)).collect();
                    self.brought.extend(blocks);
                }
                Action::Compute { .. } => {}
                Action::Move(one) => self.moved(&one),
                Action::Reply(reply) => self.replied(&reply),
            }
        }
    }

    /// The buffer of delayed copies stands in for a read that has failed. What is written by itself
    /// comes from there anyway.
    fn recalled(&mut self, origin: &Origin, len: Blocks) {
        assert!(self.may_fail(), "no command fails here");
        let data = origin.data().expect("the volume's data were read");
        let Some(RequestId(request)) = origin.request else {
            return;
        };
        for index in 0..len.0 {
            let block = self.block(&data, index);
            self.rest.insert((request, block), self.held(block));
        }
    }

    fn replied(&mut self, reply: &Reply) {
        let (request, is_done) = (reply.request.id.0, reply.status.is_done());
        assert!(is_done || self.may_fail(), "{reply:?}");
        self.failed += u64::from(!is_done);
        self.map_lost += u64::from(reply.status == Status::Failed(Failure::MapLost));
        if let Some((version, blocks)) = self.pending.remove(&request) {
            match is_done {
                true => self.wrote(request, (version, blocks), reply.request.fua),
                false => blocks.for_each(|block| {
                    self.unsure.entry(block).or_default().insert(version);
                }),
            }
        }
        if let Some(covered) = &mut self.covered {
            covered.flush_answered(request, is_done);
        }
        if self.reads.remove(&request) {
            let of_read = self.rest.range((request, 0)..=(request, u64::MAX));
            let found = of_read.map(|((_, block), version)| (*block, *version));
            let found: BTreeMap<u64, u64> = found.collect();
            if is_done {
                self.was_found(&found);
            }
            self.found = is_done.then_some(found);
        }
        self.rest.retain(|(of, _), _| *of != request);
    }

    /// What memory has of a block. Versions of which any will do after a power cut are not told apart
    /// by their numbers: until a client has written the block, it is what was read last.
    fn held(&self, block: u64) -> u64 {
        let read = self.read_again.get(&block).copied().unwrap_or(NOTHING);
        match self.landed[block as usize] {
            NOTHING => read,
            landed => landed.max(read),
        }
    }

    fn is_gone(&self, drive: usize) -> bool {
        let mut faulty = self.faulty.iter();
        faulty.any(|faulty| faulty.gone == Some(drive))
    }

    /// Whether commands may fail.
    fn may_fail(&self) -> bool {
        self.faulty.is_some() || self.silent.is_some()
    }

    /// A write or a discard is answered.
    fn wrote(
        &mut self,
        request: u64,
        (version, blocks): (u64, std::ops::Range<u64>),
        forced: bool,
    ) {
        let is_buffered = self.buffered.answered(request);
        // Who keeps no map takes no notice of a discard.
        if version == NOTHING && self.fixed.is_some() {
            return;
        }
        // A write that fails for a copy goes without it, if there is no other.
        let checks = !self.may_fail() && !is_buffered;
        if let Some(fixed) = self.fixed.as_ref().filter(|_| checks) {
            fixed.check_answer(version, &blocks);
        }
        for block in blocks {
            self.answered[block as usize] = version;
            match &mut self.covered {
                Some(covered) => covered.answered(block, version, forced),
                None => _ = self.unsure.remove(&block),
            }
            if version == NOTHING {
                self.landed[block as usize] = NOTHING;
                self.read_again.remove(&block);
            }
        }
    }

    /// What a write puts on the drive.
    fn sectors(&mut self, drive: usize, command: &Command, origin: &Origin) -> Vec<Sector> {
        let Some(data) = origin.data() else {
            self.log_writes += 1;
            let bytes = self.stack.content(command).chunks_exact(512);
            return bytes
                .map(|bytes| Sector::Own(Rc::new(bytes.try_into().unwrap())))
                .collect();
        };
        // What is moved home, unlike what compaction moves, is still in a buffer, or was read anew
        // to be in one.
        let moves_home = self.config.parts.of::<dyn Placement>().name == "distorted_mirror";
        let of_spare_time = origin.request.is_none();
        let is_moved = of_spare_time && !origin.open;
        if let Some(fixed) = self.fixed.as_mut().filter(|_| of_spare_time) {
            fixed.delayed += 1;
        } else if is_moved {
            self.moves += 1;
        }
        if is_moved && self.fixed.is_none() && !moves_home {
            let of = |index| {
                let block = self.block(&data, index);
                let version = self.moving.get(&(drive, block)).unwrap_or(&NOTHING);
                Sector::Client(block, *version)
            };
            return (0..command.len.0).map(of).collect();
        }
        let of = |index| self.client(origin, &data, index);
        (0..command.len.0).map(of).collect()
    }

    fn client(&self, origin: &Origin, data: &Data, index: u64) -> Sector {
        let block = self.block(data, index);
        let carried = |step| self.brought.get(&(step, block)).copied();
        let version = match origin.request {
            None => (origin.carries.and_then(carried)).unwrap_or_else(|| self.held(block)),
            Some(request) => {
                let pending = self.pending.get(&request.0);
                let own = pending.filter(|(_, blocks)| blocks.contains(&block));
                let own = own.map(|(version, _)| *version);
                let own = own.or_else(|| self.buffered.writes(request, block));
                let rest = || self.rest.get(&(request.0, block)).copied();
                own.or_else(rest).unwrap_or(NOTHING)
            }
        };
        Sector::Client(block, version)
    }

    /// By block: versions besides the one that was answered last, or covered by a flush, that may
    /// be found after a power cut.
    fn uncertain(&self) -> BTreeMap<u64, BTreeSet<u64>> {
        let mut versions = self.unsure.clone();
        if let Some(covered) = &self.covered {
            // What is older than a flush cannot come back.
            let younger = |block: u64, version: u64| version > covered.versions[block as usize];
            for (block, unsure) in &mut versions {
                unsure.retain(|version| younger(*block, *version));
            }
        }
        for (block, since) in self.covered.iter().flat_map(|covered| &covered.since) {
            versions.entry(*block).or_default().extend(since);
        }
        versions
    }

    /// Whether every drive can be read as a whole.
    fn is_sound(&self) -> bool {
        let mut faulty = self.faulty.iter();
        let reads = faulty.all(|faulty| {
            faulty.failures[1] == 0 && faulty.bad.is_empty() && faulty.gone.is_none()
        });
        reads && self.silent.is_none()
    }

    /// Whether a control block of a map's log is under way: recovery may find it, or the one
    /// before.
    pub(crate) fn writes_control(&self) -> bool {
        let running = self.running.iter().flatten();
        let mut starts = running.filter_map(|one| one.sectors.first());
        starts.any(Sector::is_control)
    }

    /// Whether drives with a map's log that do not have the same are as they were when this life
    /// began.
    fn knows_what_differs(&self) -> bool {
        let controls: Vec<_> = self.images.iter().map(Image::controls).collect();
        let mut kept = controls.iter().filter(|kept| !kept.is_empty());
        let first = kept.next();
        controls == self.controls || kept.all(|kept| Some(kept) == first)
    }

    /// What the stack says that recovery would read; none if something may be lost on which it
    /// counts.
    fn foretold(&self) -> Option<Vec<RecoveryRead>> {
        let mut foretold = Vec::new();
        self.stack.recovery(&mut foretold);
        let sure = self.is_sound() && !self.writes_control() && self.knows_what_differs();
        Some(foretold).filter(|_| sure)
    }

    /// The power goes: of each write under way, some sectors have arrived.
    pub(crate) fn cut(&self, seed: u64) -> Cut {
        self.stack.audit();
        let mut rng = Rng::stream(seed ^ super::seed() << 32, "cut");
        let mut images = self.images.clone();
        let mut tears = false;
        let mut lost = 0;
        let drives = self.drives.iter().zip(&self.below);
        for (image, (drive, below)) in images.iter_mut().zip(drives) {
            let mut below = below.clone();
            if !self.lazy {
                below.settle(self.now, &**drive);
            }
            lost += below.cut(image, &mut rng);
        }
        let mut silent = self.silent.clone();
        for (drive, (image, running)) in images.iter_mut().zip(&self.running).enumerate() {
            let Some(Running {
                command, sectors, ..
            }) = running
            else {
                continue;
            };
            tears |= sectors.len() > 1;
            let (in_order, first) = (rng.chance(0.5), rng.below(sectors.len() as u64 + 1));
            for (index, sector) in (0..).zip(sectors) {
                if if in_order {
                    index < first
                } else {
                    rng.chance(0.5)
                } {
                    image.write(command.at.0 + index, sector.clone());
                    if let Some(silent) = &mut silent {
                        silent.written(drive, command.at.0 + index);
                    }
                }
            }
        }
        Cut {
            config: self.config.clone(),
            images,
            foretold: self.foretold(),
            reads: Default::default(),
            nvram: self.stack.nvram().unwrap().to_vec(),
            buffer: self.left_in_buffer(),
            answered: match &self.covered {
                Some(covered) => covered.versions.clone(),
                None => self.answered.clone(),
            },
            since: self.uncertain(),
            bad: self.faulty.as_ref().map(|faulty| faulty.bad.clone()),
            silent: silent.map(Silent::at_rest),
            gone: self.faulty.as_ref().and_then(|faulty| faulty.gone),
            pending: self.pending.clone(),
            version: self.version,
            tears,
            lost,
            seen: self.still_seen(),
        }
    }
}
