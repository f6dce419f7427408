//! A volume after a power cut: what is found in it, and how it goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use nearslot_core::contract::Placement;
use nearslot_core::op::Op;
use nearslot_core::rng::Rng;

use super::faulty::Faulty;
use super::silent::LEFT;
use super::{Cut, NOTHING, Pending, World};
use crate::crash::knob;

/// A volume that was recovered, and what may be found in it.
pub(crate) struct Recovered {
    pub(super) world: World,
    pub(super) answered: Vec<u64>,
    /// By block: versions that may be found too.
    pub(super) since: BTreeMap<u64, BTreeSet<u64>>,
    pub(super) pending: Pending,
    /// Chunks of which a block could not be read when the volume came back.
    pub(super) spoiled: BTreeSet<u64>,
    /// Blocks that could not be read in this check.
    pub(super) unreadable: u64,
    /// Of the last check, those of chunks that nothing was being written to when the power went; at
    /// fixed places all.
    pub(crate) lost_at_rest: u64,
}

impl Recovered {
    /// The versions of a chunk's blocks that are found now, through the map. None of a block that
    /// cannot be read.
    fn find(&mut self, chunk: u64) -> Vec<Option<u64>> {
        self.world.finish();
        let blocks = self.world.blocks(chunk);
        if let Some(found) = self.read(blocks.clone()) {
            return found.into_iter().map(Some).collect();
        }
        let alone = |block| self.read(block..block + 1).map(|found| found[0]);
        blocks.map(alone).collect()
    }

    /// What a read finds; none if it fails.
    fn read(&mut self, blocks: Range<u64>) -> Option<Vec<u64>> {
        let world = &mut self.world;
        world.submit(Op::Read, blocks.clone());
        world.finish();
        let found = world.found.take()?;
        let version = |block| found.get(&block).copied().unwrap_or(NOTHING);
        Some(blocks.map(version).collect())
    }

    /// A block may have what was answered last or was on its way, or only what was answered since.
    fn check_block(&self, block: u64, version: u64) {
        // Nothing that is there could tell.
        if version == LEFT {
            return;
        }
        let since = self.world.answered[block as usize];
        let unsure = self.world.unsure.get(&block);
        let is_unsure = unsure.is_some_and(|unsure| unsure.contains(&version));
        if since != NOTHING {
            assert!(
                version == since || is_unsure,
                "block {block}: version {version} found, {since} was written since"
            );
            return;
        }
        let on_its_way =
            |(of, range): &(u64, std::ops::Range<u64>)| *of == version && range.contains(&block);
        let answered = self.answered[block as usize];
        let since = self.since.get(&block);
        let may_be_lost = since.is_some_and(|since| since.contains(&version));
        assert!(
            version == answered
                || is_unsure
                || may_be_lost
                || self.pending.values().any(on_its_way),
            "block {block}: version {version} found, {answered} answered, {:?} on their way",
            self.pending
        );
    }

    fn check_chunk(&mut self, chunk: u64) {
        let found = self.find(chunk);
        let blocks = self.world.blocks(chunk);
        let touches = |range: &Range<u64>| range.start < blocks.end && blocks.start < range.end;
        let mut pending = self.pending.values();
        let was_written = pending.any(|(_, range)| touches(range)) && self.world.fixed.is_none();
        for (block, version) in blocks.clone().zip(&found) {
            match version {
                Some(version) => self.check_block(block, *version),
                None => {
                    self.unreadable += 1;
                    self.lost_at_rest += u64::from(!was_written);
                }
            }
        }
        // A sector is all that is whole at a fixed place.
        if self.world.fixed.is_some() {
            return;
        }
        // Of a chunk that was discarded and written in part, the rest is nothing too.
        let writes = self.pending.values();
        for (version, range) in writes.filter(|(version, _)| *version != NOTHING) {
            // What was written since is of another write.
            let of_write = (blocks.clone().zip(&found))
                .filter(|(block, _)| range.contains(block) && self.world.is_as_left(*block));
            let readable = of_write.filter_map(|(_, found)| found.filter(|found| *found != LEFT));
            let arrived: Vec<bool> = readable.map(|found| found == *version).collect();
            let torn = arrived.windows(2).any(|pair| pair[0] != pair[1]);
            assert!(!torn, "chunk {chunk} has a part of version {version}");
        }
    }

    /// Reads the chunks that matter, or all. How many blocks cannot be read.
    pub(crate) fn check(&mut self, all: bool) -> u64 {
        (self.unreadable, self.lost_at_rest) = (0, 0);
        let chunks = self.world.chunks();
        let (hot, apart) = (self.world.hot(), self.world.apart());
        for chunk in 0..chunks {
            if all || chunk % apart < 3 && chunk / apart < hot + 2 {
                self.check_chunk(chunk);
            }
        }
        self.world.stack.audit();
        let faulty = self.world.faulty.as_ref();
        let is_gone = faulty.is_some_and(|faulty| faulty.gone.is_some());
        let bad = faulty.map_or(0, |faulty| faulty.bad.len() as u64);
        let silent = self.world.silent.as_ref();
        let bad = bad + silent.map_or(0, |silent| silent.strange.len() as u64);
        let unreadable = std::mem::take(&mut self.unreadable);
        assert!(
            is_gone || unreadable <= bad,
            "{unreadable} cannot be read for {bad}"
        );
        unreadable
    }

    /// What is found in the chunks that matter. None of a block that cannot be read.
    pub(crate) fn contents(&mut self) -> Vec<Option<u64>> {
        let (apart, hot) = (self.world.apart(), self.world.hot());
        let chunks = (0..hot).map(|place| place * apart);
        chunks.flat_map(|chunk| self.find(chunk)).collect()
    }

    /// So many events of what recovery left to be done, if there are so many. Nobody asks for
    /// anything.
    pub(crate) fn go_on_alone(&mut self, events: u64) {
        self.world.submit(Op::Flush, 0..0);
        for _ in 0..events {
            self.world.event_if_any();
        }
    }

    /// Nobody asks for anything until the drives have nothing left to do.
    pub(crate) fn rest(mut self) -> World {
        self.world.come_to_rest();
        self.world
    }

    /// When all is done that is to be done in spare time, the copies of a block are the same.
    pub(crate) fn check_fixed_copies(&mut self) {
        self.world.come_to_rest();
        let copies = match self.world.config.parts.of::<dyn Placement>().name.as_str() {
            "mirror" => knob(&self.world.config, "copies", 2),
            _ => knob(&self.world.config, "dr", 2),
        };
        let fixed = self.world.fixed.as_ref();
        let fixed = fixed.expect("copies have fixed places");
        for (block, versions) in &fixed.versions {
            let first = *versions.values().next().unwrap();
            // What cannot be read cannot be copied.
            if self.spoiled.contains(&(block / self.world.chunk)) {
                continue;
            }
            let same = versions.values().all(|version| *version == first);
            assert!(same, "copies of block {block} differ: {versions:?}");
            // It may not have been written yet.
            if self.world.buffered.there.contains_key(block) {
                continue;
            }
            assert_eq!(versions.len() as u64, copies, "copies of block {block}");
            self.check_block(*block, first);
        }
    }

    /// Writes come while copies are read and written again: where writes were under way, and
    /// elsewhere. Some are left under way. How many came when a copy of theirs was just being
    /// written again.
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
        let answered = cut.answered.clone();
        let since = |block: u64| answered[block as usize] != NOTHING;
        let before = self.answered.iter();
        for ((block, answered), before) in (0..).zip(&mut cut.answered).zip(before) {
            if !since(block) {
                *answered = *before;
            }
        }
        for (block, versions) in self.since.iter().filter(|(block, _)| !since(**block)) {
            cut.since.entry(*block).or_default().extend(versions);
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

    /// One in so many commands fails from now on.
    pub(crate) fn failing(self, chance: f64) -> Recovered {
        let world = self.world.failing(chance);
        Recovered { world, ..self }
    }

    /// Nothing fails any more but what is bad.
    pub(crate) fn calm(&mut self) {
        let faulty = self.world.faulty.iter_mut();
        faulty.for_each(Faulty::calm);
    }

    /// A drive is gone from now on.
    pub(crate) fn losing(self, drive: usize) -> Recovered {
        let world = self.world.losing(drive);
        Recovered { world, ..self }
    }

    /// Requests come as in any life, for so many events.
    pub(crate) fn live(&mut self, events: u64) {
        (0..events).for_each(|_| self.world.step());
    }

    /// Reads and writes of drives that failed, and requests.
    pub(crate) fn failures(&self) -> ([u64; 2], u64) {
        self.world.failures()
    }

    /// So many events before anything was looked at: copies that were delayed are written while
    /// newer ones come.
    pub(crate) fn work(mut self, events: u64) {
        for _ in 0..events {
            self.world.step();
            self.world.stack.audit();
        }
    }

    /// What a block has that cannot be read is as open as before. What was answered last.
    fn keep_open(&mut self, block: u64) -> u64 {
        let on_their_way = self.pending.values();
        let of_block = on_their_way.filter(|(_, range)| range.contains(&block));
        let unsure = self.world.unsure.entry(block).or_default();
        unsure.extend(of_block.map(|(version, _)| *version));
        unsure.extend(self.since.get(&block).into_iter().flatten());
        self.answered[block as usize]
    }

    /// The run goes on from here: what was found is what there is.
    pub(crate) fn go_on(mut self) -> World {
        for chunk in 0..self.world.chunks() {
            self.check_chunk(chunk);
            let found = self.find(chunk);
            for (block, version) in self.world.blocks(chunk).zip(found) {
                let version = match version {
                    Some(version) => version,
                    None => self.keep_open(block),
                };
                self.world.answered[block as usize] = version;
                self.world.landed[block as usize] = version;
                if let Some(covered) = &mut self.world.covered {
                    covered.versions[block as usize] = version;
                }
            }
        }
        self.world.discards = true;
        self.world.seen.clear();
        self.world
    }
}
