//! A stack over drives whose sectors are known, and what is left of it when the power goes.

mod damage;
mod image;

use nearslot_core::io::{Command, Data, Origin, RecoveryRead};
use nearslot_core::op::Op;
use nearslot_core::request::Request;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use nearslot_core::config::{Assembly, StackConfig};
use nearslot_core::contract::{Drive, Placement};
use nearslot_core::ids::{DriveId, RequestId};
use nearslot_core::registry::{KnobValue, Survivors, VolumeError};
use nearslot_core::rng::Rng;
use nearslot_core::stack::{Action, Input, Stack};
use nearslot_core::units::{Blocks, Instant, Pba};

use image::{Image, Sector};

const DEPTH: usize = 6;
/// The version of what was discarded.
const NOTHING: u64 = 0;

/// What is known of copies at fixed places.
#[derive(Default)]
struct Fixed {
    /// Copies that a write waits for.
    foreground: usize,
    /// By block: the versions that its copies have, by drive and place.
    versions: BTreeMap<u64, BTreeMap<(usize, u64), u64>>,
    /// Writes in spare time.
    delayed: u64,
    /// Reads for those of which the power left no buffer.
    read_again: u64,
}

impl Fixed {
    /// Nothing if copies have no fixed places.
    fn of(config: &StackConfig, images: &[Image]) -> Option<Fixed> {
        if !["mirror", "sr_array"].contains(&config.parts.of::<dyn Placement>().name.as_str()) {
            return None;
        }
        let mut fixed = Fixed {
            foreground: knob(config, "foreground", 1) as usize,
            ..Fixed::default()
        };
        for (drive, image) in images.iter().enumerate() {
            for (at, sector) in image.iter() {
                fixed.arrived(drive, at, sector);
            }
        }
        Some(fixed)
    }

    fn arrived(&mut self, drive: usize, at: u64, sector: &Sector) {
        let Sector::Client(block, version) = *sector else {
            panic!("only data are written to fixed places");
        };
        let versions = self.versions.entry(block).or_default();
        versions.insert((drive, at), version);
    }

    /// A write is answered when enough copies of all its blocks have arrived.
    fn check_answer(&self, version: u64, blocks: &std::ops::Range<u64>) {
        for block in blocks.clone() {
            let found = self.versions[&block].values();
            let arrived = found.filter(|found| **found == version).count();
            assert!(arrived >= self.foreground, "{arrived} copies of {block}");
        }
    }
}

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
    images: Vec<Image>,
    /// By drive: the command under way with what it writes.
    running: Vec<Option<Running>>,
    now: Instant,
    rng: Rng,
    /// Of each block of the volume, the version that was answered last.
    answered: Vec<u64>,
    /// What a placement has read to be moved, by drive and block.
    moving: BTreeMap<(usize, u64), u64>,
    /// The version that reached a drive last: what a buffer holds.
    landed: Vec<u64>,
    /// Of copies at fixed places; none of others.
    fixed: Option<Fixed>,
    pending: Pending,
    reads: BTreeSet<u64>,
    /// What reads of requests under way found, by request and block.
    rest: BTreeMap<(u64, u64), u64>,
    /// What the last answered read found.
    found: BTreeMap<u64, u64>,
    number: u64,
    version: u64,
    log_writes: u64,
    moves: u64,
    /// Events in which no request comes, so that there is spare time.
    pause: u64,
}

impl World {
    /// A volume that was formatted and written once as a whole.
    pub(crate) fn new(config: StackConfig) -> World {
        let built = config.build().unwrap();
        let drives = built.drives.len();
        let mut world = World::of(config, built, vec![Image::default(); drives]);
        world.submit(Op::Flush, 0..0);
        while world
            .drives
            .iter()
            .any(|drive| drive.next_event().is_some())
        {
            world.event();
        }
        for chunk in 0..world.chunks() {
            world.submit(Op::Write, world.blocks(chunk));
            while world.stack.pending() >= DEPTH {
                world.event();
            }
        }
        world.finish();
        world
    }

    fn of(config: StackConfig, built: Assembly, images: Vec<Image>) -> World {
        let Assembly { stack, drives, .. } = built;
        let blocks = stack.capacity().0 as usize;
        World {
            chunk: knob(&config, "chunk_kib", 4) * 2,
            fixed: Fixed::of(&config, &images),
            config,
            running: drives.iter().map(|_| None).collect(),
            stack,
            drives,
            images,
            now: Instant::ZERO,
            rng: Rng::stream(9, "crash"),
            answered: vec![0; blocks],
            moving: BTreeMap::new(),
            landed: vec![0; blocks],
            pending: Pending::new(),
            reads: BTreeSet::new(),
            rest: BTreeMap::new(),
            found: BTreeMap::new(),
            number: 0,
            version: 0,
            log_writes: 0,
            moves: 0,
            pause: 0,
        }
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

    /// Blocks that compaction wrote elsewhere.
    pub(crate) fn moves(&self) -> u64 {
        self.moves
    }

    /// Requests come, and one I/O ends.
    pub(crate) fn step(&mut self) {
        if self.pause == 0 && self.rng.chance(0.02) {
            self.pause = 60;
        }
        self.pause = self.pause.saturating_sub(1);
        while self.pause == 0 && self.stack.pending() < DEPTH {
            self.ask();
        }
        while self.drives.iter().all(|drive| drive.next_event().is_none()) {
            self.pause = 0;
            self.ask();
        }
        self.event();
    }

    fn ask(&mut self) {
        let size = self.chunk;
        let first = self.rng.below(self.hot()) * self.apart();
        let until = (first + 1 + self.rng.below(3)).min(self.chunks());
        let all = first * size..until * size;
        let part = first * size + size / 4..(first * size + size / 2 + 1).min(until * size);
        match self.rng.below(21) {
            0..10 => self.submit(Op::Write, all),
            10..14 => self.submit(Op::Write, part),
            14..19 => self.submit(Op::Read, all),
            19 => self.submit(Op::Discard, all),
            _ => self.submit(Op::Flush, 0..0),
        }
    }

    fn chunks(&self) -> u64 {
        self.answered.len() as u64 / self.chunk
    }

    fn blocks(&self, chunk: u64) -> std::ops::Range<u64> {
        chunk * self.chunk..(chunk + 1) * self.chunk
    }

    /// So many places that requests begin at: few, so that they are overwritten while older copies are still delayed.
    fn hot(&self) -> u64 {
        self.chunks().min(60)
    }

    /// Small chunks are many, of many map sectors; then the places are far apart.
    fn apart(&self) -> u64 {
        match self.chunk {
            0..8 => self.chunks() / self.hot(),
            _ => 1,
        }
    }

    fn submit(&mut self, op: Op, blocks: std::ops::Range<u64>) {
        let number = self.number;
        self.number += 1;
        match op {
            Op::Write => {
                self.version += 1;
                self.pending.insert(number, (self.version, blocks.clone()));
            }
            Op::Discard => {
                self.pending.insert(number, (NOTHING, blocks.clone()));
            }
            _ => {
                self.reads.insert(number);
            }
        }
        let request = Request::new(
            number,
            op,
            blocks.start,
            blocks.end - blocks.start,
            self.now,
        );
        self.stack.input(self.now, Input::Submit(request));
        self.drain();
    }

    fn event(&mut self) {
        let due = |index: usize| Some((self.drives[index].next_event()?, index));
        let events = (0..self.drives.len()).filter_map(due);
        let (now, index) = events.min().unwrap();
        self.now = now;
        let Some(done) = self.drives[index].advance(now) else {
            return;
        };
        let Running {
            command,
            origin,
            sectors,
        } = self.running[index].take().unwrap();
        if command.op == Op::Write {
            for (at, sector) in (command.at.0..).zip(&sectors) {
                self.images[index].write(at, sector.clone());
                if let Some(fixed) = &mut self.fixed {
                    fixed.arrived(index, at, sector);
                }
                if let Sector::Client(block, version) = *sector
                    && origin.request.is_some()
                {
                    self.landed[block as usize] = version;
                }
            }
        } else {
            self.remember(index, &command, &origin);
        }
        self.stack
            .input(now, Input::Done(DriveId(index as u16), done));
        self.drain();
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
            let found = self.images[drive].get(command.at.0 + index);
            if let Some(Sector::Client(block, version)) = found {
                assert_eq!(*block, data.block(index).0, "another block was read");
                match origin.request {
                    Some(RequestId(request)) => {
                        self.rest.insert((request, *block), *version);
                    }
                    // For a copy of which the power left no buffer, or to be moved.
                    None => {
                        let landed = &mut self.landed[*block as usize];
                        *landed = (*version).max(*landed);
                        self.moving.insert((drive, *block), *version);
                    }
                }
            }
        }
    }

    fn drain(&mut self) {
        while let Some(action) = self.stack.poll() {
            match action {
                Action::Start {
                    drive,
                    command,
                    origin,
                } => {
                    let sectors = match command.op {
                        Op::Write => self.sectors(drive.index(), &command, &origin),
                        _ => Vec::new(),
                    };
                    self.drives[drive.index()].submit(self.now, &command);
                    self.running[drive.index()] = Some(Running {
                        command,
                        origin,
                        sectors,
                    });
                }
                Action::Recall { .. } => panic!("no command fails here"),
                Action::Fold { .. } | Action::Compute { .. } => {
                    panic!("no placement has parity yet")
                }
                Action::Reply(reply) => self.replied(reply.request.id.0),
            }
        }
    }

    fn replied(&mut self, request: u64) {
        // Who keeps no map takes no notice of a discard.
        let ignored = |version| version == NOTHING && self.fixed.is_some();
        let write = self.pending.remove(&request);
        if let Some((version, blocks)) = write.filter(|(version, _)| !ignored(*version)) {
            if let Some(fixed) = &self.fixed {
                fixed.check_answer(version, &blocks);
            }
            for block in blocks {
                self.answered[block as usize] = version;
                if version == NOTHING {
                    self.landed[block as usize] = NOTHING;
                }
            }
        }
        if self.reads.remove(&request) {
            let of_read = self.rest.range((request, 0)..=(request, u64::MAX));
            self.found = of_read
                .map(|((_, block), version)| (*block, *version))
                .collect();
        }
        self.rest.retain(|(of, _), _| *of != request);
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
        // What is moved home, unlike what compaction moves, is still in a buffer, or was read anew to be in one.
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
                let block = data.block(index).0;
                let version = self.moving.get(&(drive, block)).unwrap_or(&NOTHING);
                Sector::Client(block, *version)
            };
            return (0..command.len.0).map(of).collect();
        }
        let of = |index| self.client(origin.request, &data, index);
        (0..command.len.0).map(of).collect()
    }

    fn client(&self, request: Option<RequestId>, data: &Data, index: u64) -> Sector {
        let block = data.block(index).0;
        let version = match request {
            None => self.landed[block as usize],
            Some(RequestId(request)) => match &self.pending[&request] {
                (version, blocks) if blocks.contains(&block) => *version,
                _ => *self.rest.get(&(request, block)).unwrap_or(&NOTHING),
            },
        };
        Sector::Client(block, version)
    }

    /// The power goes: of each write under way, some sectors have arrived.
    pub(crate) fn cut(&self, seed: u64) -> Cut {
        self.stack.audit();
        let mut rng = Rng::stream(seed, "cut");
        let mut images = self.images.clone();
        let mut tears = false;
        for (image, running) in images.iter_mut().zip(&self.running) {
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
                }
            }
        }
        let mut foretold = Vec::new();
        self.stack.recovery(&mut foretold);
        Cut {
            config: self.config.clone(),
            images,
            foretold: Some(foretold),
            reads: RefCell::default(),
            nvram: self.stack.nvram().unwrap().to_vec(),
            answered: self.answered.clone(),
            pending: self.pending.clone(),
            version: self.version,
            tears,
        }
    }
}

/// What is left when the power is gone, and what its owner remembers.
pub(crate) struct Cut {
    config: StackConfig,
    images: Vec<Image>,
    /// What the stack said that recovery would read; none if something was lost that it counted on.
    foretold: Option<Vec<RecoveryRead>>,
    /// What recovery has read.
    reads: RefCell<Vec<RecoveryRead>>,
    nvram: Vec<u8>,
    answered: Vec<u64>,
    pending: Pending,
    version: u64,
    tears: bool,
}

impl Survivors for Cut {
    fn nvram(&self) -> &[u8] {
        &self.nvram
    }

    fn read(&self, drive: DriveId, at: Pba, out: &mut [u8]) {
        let len = Blocks(out.len() as u64 / 512);
        self.reads
            .borrow_mut()
            .push(RecoveryRead { drive, at, len });
        for (at, out) in (at.0..).zip(out.chunks_exact_mut(512)) {
            match self.images[drive.index()].get(at) {
                Some(Sector::Own(bytes)) => out.copy_from_slice(&bytes[..]),
                _ => out.fill(0),
            }
        }
    }
}

impl Cut {
    /// Whether a write of several sectors was under way.
    pub(crate) fn tears(&self) -> bool {
        self.tears
    }

    /// Whether the drives are all that is left.
    pub(crate) fn has_no_nvram(&self) -> bool {
        self.nvram.is_empty()
    }

    /// Whether the stack has said what recovery will read.
    pub(crate) fn is_foretold(&self) -> bool {
        self.foretold.is_some()
    }

    pub(crate) fn recover(self) -> Result<Recovered, VolumeError> {
        let built = self.config.recover(&self)?;
        if let Some(foretold) = &self.foretold {
            assert_eq!(&*self.reads.borrow(), foretold, "reads of recovery");
        }
        built.stack.audit();
        let Cut {
            config,
            images,
            answered,
            pending,
            version,
            ..
        } = self;
        let mut world = World::of(config, built, images);
        world.version = version;
        Ok(Recovered {
            world,
            answered,
            pending,
        })
    }
}

/// A volume that was recovered, and what may be found in it.
pub(crate) struct Recovered {
    world: World,
    answered: Vec<u64>,
    pending: Pending,
}

impl Recovered {
    /// The versions of a chunk's blocks that are found now, through the map.
    fn find(&mut self, chunk: u64) -> Vec<u64> {
        let world = &mut self.world;
        world.finish();
        world.submit(Op::Read, world.blocks(chunk));
        world.finish();
        let version = |block| world.found.get(&block).copied().unwrap_or(NOTHING);
        world.blocks(chunk).map(version).collect()
    }

    /// A block may have what was answered last or was on its way, or only what was answered since.
    fn check_block(&self, block: u64, version: u64) {
        let since = self.world.answered[block as usize];
        if since != NOTHING {
            assert_eq!(version, since, "block {block} was written since");
            return;
        }
        let on_its_way =
            |(of, range): &(u64, std::ops::Range<u64>)| *of == version && range.contains(&block);
        let answered = self.answered[block as usize];
        assert!(
            version == answered || self.pending.values().any(on_its_way),
            "block {block}: version {version} found, {answered} answered, {:?} on their way",
            self.pending
        );
    }

    fn check_chunk(&mut self, chunk: u64) {
        let found = self.find(chunk);
        let blocks = self.world.blocks(chunk);
        for (block, version) in blocks.clone().zip(&found) {
            self.check_block(block, *version);
        }
        // A sector is all that is whole at a fixed place.
        if self.world.fixed.is_some() {
            return;
        }
        // Of a chunk that was discarded and written in part, the rest is nothing too.
        let writes = self.pending.values();
        for (version, range) in writes.filter(|(version, _)| *version != NOTHING) {
            let of_write = blocks
                .clone()
                .zip(&found)
                .filter(|(block, _)| range.contains(block));
            let arrived: Vec<bool> = of_write.map(|(_, found)| found == version).collect();
            let torn = arrived.windows(2).any(|pair| pair[0] != pair[1]);
            assert!(!torn, "chunk {chunk} has a part of version {version}");
        }
    }

    /// Reads the chunks that matter, or all.
    pub(crate) fn check(&mut self, all: bool) {
        let chunks = self.world.chunks();
        let (hot, apart) = (self.world.hot(), self.world.apart());
        for chunk in 0..chunks {
            if all || chunk % apart < 3 && chunk / apart < hot + 2 {
                self.check_chunk(chunk);
            }
        }
        self.world.stack.audit();
    }

    /// Nobody asks for anything until the drives have nothing left to do.
    pub(crate) fn rest(mut self) -> World {
        self.settle();
        self.world
    }

    /// Drives are asked for what they may do when they were given something.
    fn settle(&mut self) {
        let world = &mut self.world;
        world.submit(Op::Flush, 0..0);
        while world
            .drives
            .iter()
            .any(|drive| drive.next_event().is_some())
        {
            world.event();
        }
    }

    /// When all is done that is to be done in spare time, the copies of a block are the same.
    pub(crate) fn check_fixed_copies(&mut self) {
        self.settle();
        let copies = match self.world.config.parts.of::<dyn Placement>().name.as_str() {
            "mirror" => knob(&self.world.config, "copies", 2),
            _ => knob(&self.world.config, "dr", 2),
        };
        let fixed = self.world.fixed.as_ref();
        let fixed = fixed.expect("copies have fixed places");
        for (block, versions) in &fixed.versions {
            let first = *versions.values().next().unwrap();
            let same = versions.values().all(|version| *version == first);
            assert!(same, "copies of block {block} differ: {versions:?}");
            assert_eq!(versions.len() as u64, copies, "copies of block {block}");
            self.check_block(*block, first);
        }
    }

    /// Writes come while copies are read and written again: where writes were under way, and elsewhere. Some are left under
    /// way. How many came when a copy of theirs was just being written again.
    pub(crate) fn write_at_once(&mut self, seed: u64) -> u64 {
        let mut rng = Rng::stream(seed, "at once");
        let world = &mut self.world;
        let size = world.chunk;
        let written = self.pending.values();
        let mut firsts: BTreeSet<u64> = written.map(|(_, range)| range.start / size).collect();
        firsts.extend((0..4).map(|_| rng.below(world.hot())));
        world.submit(Op::Flush, 0..0);
        for _ in 0..rng.below(10) {
            world.event_if_any();
        }
        let mut met = 0;
        for first in firsts {
            let (start, end) = (first * size, (first + 1) * size);
            let far = end.max((end + 2 * size).min(world.chunks() * size));
            let blocks = match rng.below(3) {
                0 => start..far,
                1 => start + 2..start + 5,
                _ => start + 3..far - 2,
            };
            met += u64::from(world.writes_again(first));
            world.submit(Op::Write, blocks);
            world.event_if_any();
        }
        for _ in 0..rng.below(10) {
            world.event_if_any();
        }
        met
    }

    /// The power goes again.
    pub(crate) fn cut(&self, seed: u64) -> Cut {
        let mut cut = self.world.cut(seed);
        let since = |block: u64| self.world.answered[block as usize] != NOTHING;
        let before = self.answered.iter();
        for ((block, answered), before) in (0..).zip(&mut cut.answered).zip(before) {
            if !since(block) {
                *answered = *before;
            }
        }
        // Where nothing was written since, what was on its way then may still be what is found.
        for (version, range) in self.pending.values() {
            for block in range.clone().filter(|block| !since(*block)) {
                let number = u64::MAX - cut.pending.len() as u64;
                cut.pending.insert(number, (*version, block..block + 1));
            }
        }
        cut
    }

    /// Reads for copies of which the power left no buffer.
    pub(crate) fn read_again(&self) -> u64 {
        self.world
            .fixed
            .as_ref()
            .map_or(0, |fixed| fixed.read_again)
    }

    /// So many events before anything was looked at: copies that were delayed are written while newer ones come.
    pub(crate) fn work(mut self, events: u64) {
        for _ in 0..events {
            self.world.step();
            self.world.stack.audit();
        }
    }

    /// The run goes on from here: what was found is what there is.
    pub(crate) fn go_on(mut self) -> World {
        for chunk in 0..self.world.chunks() {
            self.check_chunk(chunk);
            let found = self.find(chunk);
            for (block, version) in self.world.blocks(chunk).zip(found) {
                self.world.answered[block as usize] = version;
                self.world.landed[block as usize] = version;
            }
        }
        self.world
    }
}

/// A number that the placement was given, or its default.
fn knob(config: &StackConfig, name: &str, default: u64) -> u64 {
    let mut knobs = config.parts.of::<dyn Placement>().knobs.iter();
    match knobs.find(|(key, _)| key == name) {
        Some((_, KnobValue::Integer(given))) => *given as u64,
        _ => default,
    }
}

/// Nothing survived.
pub(crate) struct Nothing;

impl Survivors for Nothing {
    fn nvram(&self) -> &[u8] {
        &[]
    }

    fn read(&self, _drive: DriveId, _at: Pba, out: &mut [u8]) {
        out.fill(0);
    }
}
