//! What is written next, where it goes, and what follows from its end.
//!
//! The block that is dirty for longest goes first, unless what it points to is not on the medium.
//! Blocks of its file beside it go with it in one request: those without a place in an offer,
//! others if their addresses follow each other. A write for which a region has no room, or no free
//! run that is long enough, is offered the next wider region; if none has room, half of it is. One
//! that others have left nothing of goes again, to a region wider than the one before; behind the
//! widest, when another write has landed. O(blocks that wait in front) for a request, and O(runs of
//! the region) for an offer.

use std::ops::Range;
use std::sync::Arc;

use super::files::{FileId, Key};
use super::order::Pointer;
use super::region::Region;
use super::{FileSystem, Offering};

/// Where a write goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goes {
    /// To this block.
    To(u64),
    /// Into one of these runs of a region, which is so many steps wider than what the policy names.
    Within(Vec<Range<u64>>, Region, u64),
    /// Into one of these windows of a group, which no other write is offered.
    Into(Windows),
    /// Into a log.
    Log(LogWrite),
    /// A checkpoint of a log, to this block.
    Checkpoint(u64),
}

/// What a write of new blocks is offered by the allocator of `runs.rs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    pub(super) group: u64,
    /// Whether it opens, and is offered all runs of its group that are long enough; else it has one
    /// place.
    pub(super) opens: bool,
    /// Where it may land.
    pub runs: Vec<Range<u64>>,
}

/// A write of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogWrite {
    pub(super) number: u64,
    /// Where it goes, if that is known.
    pub at: Option<u64>,
    /// Else where it may land.
    pub runs: Vec<Range<u64>>,
    /// Of each block behind the summary what it was before.
    pub(super) before: Vec<Before>,
}

/// What a block of a write was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Before {
    /// Where it lay.
    pub(super) was: Option<u64>,
    /// When it changed.
    pub(super) changed: u64,
    /// If the cleaner moves it: whether it had not changed besides.
    pub(super) moves: Option<bool>,
}

/// A write on its way.
#[derive(Clone, Debug)]
pub struct Going {
    /// Its blocks, in order, each with since when it was dirty.
    pub(super) blocks: Vec<(Key, u64)>,
    /// Where it goes.
    pub goes: Goes,
    /// Those of its blocks that have pointers, each with what it points to.
    pub(super) pointers: Vec<(usize, Vec<Pointer>)>,
    /// Blocks that are free behind it.
    pub(super) freed: Vec<u64>,
}

impl Going {
    /// How many blocks it has.
    pub fn blocks(&self) -> u64 {
        self.blocks.len() as u64
    }
}

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It begins at this block.
    At(u64),
    /// Others have taken all that was offered.
    Exhausted,
    /// It could not be written.
    Failed,
}

impl FileSystem {
    /// The write that goes next; none if nothing may.
    pub fn next_write(&mut self) -> Option<Going> {
        if self.log.is_some() {
            return self.next_of_log();
        }
        if let Offering::Runs(skips) = &self.settings.offering {
            let skips = Arc::clone(skips);
            return self.next_of_runs(&skips);
        }
        let mut from = 0;
        while let Some((since, key)) = self.pages.dirty_from(from) {
            from = since + 1;
            if let Some((first, len, goes)) = self.try_block(key) {
                return Some(self.begin(&row(first, len), goes));
            }
        }
        None
    }

    /// Whether a block may go now: the first that goes with it, how many, and where to.
    fn try_block(&mut self, key: Key) -> Option<(Key, u64, Goes)> {
        if !self.pages.may_go(key) || self.is_ordered() && !self.order.may_go(key) {
            return None;
        }
        let fixed = self.address(key);
        let (first, len) = self.beside(key, fixed);
        match fixed {
            Some(_) => {
                let at = self.address(first).or(fixed).expect("it has a place");
                Some((first, len, Goes::To(at)))
            }
            None => self.offer(first, len),
        }
    }

    /// Where a block lies, if it has a place.
    pub(super) fn address(&self, key: Key) -> Option<u64> {
        if let (Some(log), None) = (&self.log, key.file()) {
            return log.lies(key);
        }
        let shape = self.groups.shape();
        match key {
            Key::Inodes(number) => Some(shape.inodes_at(number)),
            Key::BitsOfBlocks(group) => Some(shape.bits_of_blocks(group)),
            Key::BitsOfInodes(group) => Some(shape.bits_of_inodes(group)),
            Key::Data(file, _) | Key::Indirect(file, _) => self.files[file as usize].at(key),
            Key::Map(_) | Key::Checkpoint | Key::Summary => None,
        }
    }

    /// The blocks of a file that go with one of its blocks: the first, and how many.
    pub(super) fn beside(&self, key: Key, at: Option<u64>) -> (Key, u64) {
        let Key::Data(file, index) = key else {
            return (key, 1);
        };
        let of = &self.files[file as usize].blocks;
        let joins = |other: u32, distance: i64| {
            let alike = match (at, of[other as usize]) {
                (None, None) => true,
                (Some(at), Some(other)) => at.checked_add_signed(distance) == Some(other),
                _ => false,
            };
            alike && self.pages.may_go(Key::Data(file, other))
        };
        let most = self.settings.request_blocks as u32;
        let above = (index + 1..of.len() as u32).take(most as usize - 1);
        let above = above
            .take_while(|other| joins(*other, i64::from(other - index)))
            .count() as u32;
        let below = (0..index).rev().take((most - 1 - above) as usize);
        let below = below
            .take_while(|other| joins(*other, -i64::from(index - other)))
            .count() as u32;
        (Key::Data(file, index - below), u64::from(below + 1 + above))
    }

    /// Offers room to as many of these blocks as find some; none if no region has any that is not
    /// promised.
    fn offer(&mut self, first: Key, len: u64) -> Option<(Key, u64, Goes)> {
        if let Some((least, landed)) = self.wider.get(&first).copied() {
            let found = self.offer_from(least, first, len);
            // What is left is as before until another write has landed, and the answer would be,
            // too.
            if found.is_some() || landed == self.landed && self.offered > 0 {
                return found;
            }
        }
        self.offer_from(0, first, len)
    }

    /// The same, of regions that are at least so many steps wider than what the policy names.
    fn offer_from(&mut self, least: u64, first: Key, len: u64) -> Option<(Key, u64, Goes)> {
        let from = self.region_of(first.file()?);
        let shape = *self.groups.shape();
        let asked = len;
        let mut len = len;
        loop {
            let mut regions =
                (least..).map_while(|steps| Some((steps, from.wider(steps, &shape)?)));
            let groups = &mut self.groups;
            let found = regions
                .find_map(|(steps, region)| Some((steps, region, groups.promise(region, len)?)));
            if let Some((steps, region, runs)) = found {
                self.counts.halved += u64::from(len < asked);
                self.offered += 1;
                return Some((first, len, Goes::Within(runs, region, steps)));
            }
            if len == 1 {
                return None;
            }
            len = len.div_ceil(2);
        }
    }

    /// These blocks go there in one write.
    pub(super) fn begin(&mut self, keys: &[Key], goes: Goes) -> Going {
        let blocks = keys.iter().map(|key| (*key, self.pages.begin(*key)));
        let blocks: Vec<(Key, u64)> = blocks.collect();
        let inodes = keys.iter().filter(|key| matches!(key, Key::Inodes(_)));
        let freed: Vec<u64> = inodes.flat_map(|key| self.order.freed_by(*key)).collect();
        self.freeing += freed.len() as u64;
        self.counts.began(keys, &goes);
        let has_pointers = |(_, key): &(usize, &Key)| key.has_pointers();
        let with = keys.iter().enumerate().filter(has_pointers);
        Going {
            pointers: with
                .map(|(step, key)| (step, self.pointers(*key)))
                .collect(),
            blocks,
            goes,
            freed,
        }
    }

    /// What a block points to, of what has a place.
    fn pointers(&self, key: Key) -> Vec<Pointer> {
        let of_file = |file: FileId| {
            let of = &self.files[file as usize];
            let children = of.keys(file).filter(move |child| of.parent(*child) == key);
            children.filter_map(move |child| Some((child, of.at(child)?)))
        };
        match key {
            Key::Indirect(file, _) => of_file(file).collect(),
            Key::Inodes(number) => self.inodes_in(number).flat_map(of_file).collect(),
            _ => Vec::new(),
        }
    }

    /// A write has ended.
    pub fn ended(&mut self, going: Going, how: Ended) {
        match &going.goes {
            Goes::Within(_, region, steps) => {
                self.groups.release(*region, going.blocks());
                self.widen(&going, how, *steps);
                self.landed(&going, how);
            }
            Goes::Into(windows) => {
                let windows = windows.clone();
                self.landed(&going, how);
                self.leave_windows(&windows, going.blocks(), how);
            }
            Goes::To(at) => self.rewritten(going.blocks.as_slice(), *at),
            Goes::Log(write) => self.ended_log(&going.blocks, write, how),
            Goes::Checkpoint(_) => self.ended_checkpoint(how),
        }
        self.counts.failed += u64::from(how == Ended::Failed);
        let Ended::At(at) = how else {
            // Nobody knows whether the inodes are there without these blocks, so nobody gets them.
            self.freeing -= going.freed.len() as u64;
            return;
        };
        self.freeing -= going.freed.len() as u64;
        going.freed.iter().for_each(|at| self.give(*at));
        if !self.offers() {
            return;
        }
        for (step, pointers) in going.pointers {
            let (key, _) = going.blocks[step];
            if key
                .file()
                .is_some_and(|file| !self.files[file as usize].live)
            {
                continue;
            }
            let own = key.file().map(|_| at + step as u64);
            for shown in self.order.written(key, own, pointers) {
                let group = self.groups.shape().group_of(shown);
                self.pages.touch(Key::BitsOfBlocks(group));
            }
        }
    }

    /// A write that was offered a region has ended; if that was exhausted, the next is to be wider.
    fn widen(&mut self, going: &Going, how: Ended, steps: u64) {
        let first = going.blocks[0].0;
        self.offered -= 1;
        self.wider.remove(&first);
        if how == Ended::Exhausted {
            self.wider.insert(first, (steps + 1, self.landed));
        } else {
            self.landed += 1;
        }
    }

    /// A write that was offered room has ended.
    fn landed(&mut self, going: &Going, how: Ended) {
        self.counts.exhausted += u64::from(how == Ended::Exhausted);
        for (step, (key, since)) in (0..).zip(&going.blocks) {
            let file = key.file().expect("blocks of files are offered");
            if !self.files[file as usize].live {
                // Wherever it is, nobody points to it: it stays free.
                self.pages.end(*key);
                self.reserved -= 1;
                self.wider.remove(key);
                continue;
            }
            match how {
                Ended::At(at) => self.found_place(*key, at + step),
                Ended::Exhausted => {
                    self.pages.put_back(*key, *since);
                }
                Ended::Failed => self.found_none(*key),
            }
        }
    }

    /// A block has landed.
    fn found_place(&mut self, key: Key, at: u64) {
        let again = self.pages.end(key);
        self.groups.take(at);
        self.order.landed(at);
        self.reserved -= 1;
        self.found(key);
        self.place(key, at);
        if let (Key::Data(file, index), false) = (key, again) {
            self.use_block((file, index));
        }
    }

    /// A block could not be written. If it has changed meanwhile, it is tried again; else what
    /// points to it goes without. It may change again as long as its file has it, so the room for
    /// it stays reserved.
    fn found_none(&mut self, key: Key) {
        if !self.pages.end(key) {
            self.found(key);
        }
    }

    /// What points to a block does not wait for it any more.
    fn found(&mut self, key: Key) {
        let file = key.file().expect("it is of a file");
        let parent = self.files[file as usize].parent(key);
        self.order.wait_no_more(parent);
        self.touch(parent);
    }

    /// Blocks that have a place have been written.
    fn rewritten(&mut self, blocks: &[(Key, u64)], at: u64) {
        for (step, (key, _)) in (0..).zip(blocks) {
            let again = self.pages.end(*key);
            self.there(*key);
            let Some(file) = key.file() else { continue };
            let is_live = self.files[file as usize].live;
            if !is_live && self.settings.offering != Offering::None {
                let inodes = self.inodes_of(file);
                self.freeing -= 1;
                self.order.free_behind(inodes, at + step);
                self.pages.touch(inodes);
            }
            if let (Key::Data(_, index), false, true) = (*key, again, is_live) {
                self.use_block((file, index));
            }
        }
    }
}

/// Blocks of a file behind each other, or one block.
pub(super) fn row(first: Key, len: u64) -> Vec<Key> {
    let keys = (0..len).map(|step| match first {
        Key::Data(file, index) => Key::Data(file, index + step as u32),
        other => other,
    });
    keys.collect()
}
