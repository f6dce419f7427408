//! A log: everything that has changed is written to where nothing lives, and a checkpoint says
//! where to begin.
//!
//! A write has a summary block, and behind it blocks in a row; within a write pointers count from
//! the block that has them, so it is the same wherever it lands. Data go as soon as they may, a
//! short write when no other is under way. What points to others goes in *rounds*, from the leaves
//! up: indirect blocks, inodes, the map that says where blocks of inodes lie, and at the end a
//! checkpoint with where the map lies, in one of two fixed blocks in turn. All of a round that fits
//! goes in one write, with what is left of data.
//!
//! Two ways differ in who chooses the place. *In row* a write goes behind the last one, and a full
//! segment is followed by the next clean one; so the place is known when the write begins, and is
//! pointed to at once. If the log *offers*, a write is offered all that is free and long enough,
//! and is pointed to when it has landed; then a round begins when nothing is under way.
//!
//! What a checkpoint leads to is on the medium before it, and stays until the next one is: a block
//! that is dead since a round began is free behind the next round. What could not be written, of
//! data, stays as it was; if anything else could not, nothing is written any more, and the last
//! checkpoint is what there is.
//!
//! Source: Rosenblum and Ousterhout, "The design and implementation of a log-structured file
//! system", TOCS 10 (1), 1992. How it maps, and departures: docs/design/0031-a-log-that-offers.md.
//! Costs: O(dirty blocks) for a write, and O(words of the volume) for one that is offered.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use nearslot_core::rng::Rng;

use super::clean::Cleaner;
use super::files::{File, FileId, Key, indirect_of};
use super::flush::{Before, Ended, Goes, Going, LogWrite};
use super::segments::{CleanBy, Segments};
use super::shape::Shape;
use super::{FileSystem, Settings};

/// Blocks at the front, for checkpoints.
const FRONT: u64 = 2;
/// Blocks of inodes that a block of the map tells of.
const MAPPED: u64 = 512;
/// One block of so many is kept for summaries, and for what is written to clean.
const SPARE: u64 = 64;
/// Blocks of a file of others: a GiB.
const OTHERS: u64 = 1 << 18;

/// What is said of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// Blocks of a segment.
    pub segment_blocks: u64,
    /// Whether the drive chooses where a write goes.
    pub offers: bool,
    /// Cleaning begins when less than so many segments are free, and ends when so many are.
    pub clean_below: u64,
    /// See above.
    pub clean_until: u64,
    /// Which segment is cleaned first.
    pub clean_by: CleanBy,
    /// Blocks that are written from one checkpoint to the next at most.
    pub checkpoint_blocks: u64,
}

impl LogSettings {
    /// How many segments there are on a volume.
    pub fn segments(&self, shape: &Shape) -> u64 {
        (shape.groups() * shape.group_blocks() - FRONT) / self.segment_blocks
    }

    /// Blocks that may live on a volume, if so many may be dirty, and requests have so many at
    /// most: one of those is a summary.
    pub fn room(&self, shape: &Shape, dirty: u64, request: u64) -> u64 {
        let segments = self.segments(shape).saturating_sub(self.clean_until);
        let blocks = (segments * self.segment_blocks).saturating_sub(dirty);
        blocks.saturating_sub(blocks.div_ceil(SPARE) + blocks.div_ceil(request))
    }
}

/// How far a checkpoint is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Round {
    /// There is none.
    None,
    /// What is under way ends first.
    Drains,
    /// What is to be written by level, and the last write of it that began.
    Writes {
        pending: BTreeSet<(u8, Key)>,
        last: Option<u64>,
    },
    /// The checkpoint is under way.
    Ends,
}

/// The state of a log.
#[derive(Clone, Debug)]
pub(super) struct Log {
    pub(super) settings: LogSettings,
    pub(super) segments: Segments,
    pub(super) cleaner: Cleaner,
    /// The segment that is being written in row, and its next block.
    tail: Option<(u64, u64)>,
    /// Rounds so far, and blocks written so far.
    epoch: u64,
    clock: u64,
    /// Where blocks of inodes and of the map lie.
    lies: BTreeMap<Key, u64>,
    /// Writes under way, with their blocks.
    flights: BTreeMap<u64, u64>,
    number: u64,
    round: Round,
    /// Blocks written since the last round began, and what was dirty first after that.
    since: u64,
    seen: u64,
    /// Whether a round begins again, as what it told was wrong.
    again: bool,
    /// A write found nothing left of its offer, and none has landed since.
    blocked: bool,
    /// What leads to others could not be written.
    pub(super) stuck: bool,
    /// Nobody will change anything any more.
    sync: bool,
    pub(super) checkpoints: u64,
}

impl Log {
    /// An empty one.
    pub(super) fn new(shape: &Shape, settings: LogSettings) -> Log {
        let count = settings.segments(shape);
        Log {
            segments: Segments::new(FRONT, settings.segment_blocks, count),
            settings,
            cleaner: Cleaner::default(),
            tail: None,
            epoch: 0,
            clock: 0,
            lies: BTreeMap::new(),
            flights: BTreeMap::new(),
            number: 0,
            round: Round::None,
            since: 0,
            seen: 0,
            again: false,
            blocked: false,
            stuck: false,
            sync: false,
            checkpoints: 0,
        }
    }

    /// Where blocks of inodes, of the map or the next checkpoint lie.
    pub(super) fn lies(&self, key: Key) -> Option<u64> {
        match key {
            Key::Checkpoint => Some(self.checkpoints % FRONT),
            _ => self.lies.get(&key).copied(),
        }
    }

    /// Blocks that may be written by now.
    pub(super) fn room(&self) -> u64 {
        if self.settings.offers {
            let under_way = self.flights.values().sum();
            return self.segments.open_blocks().saturating_sub(under_way);
        }
        let size = self.segments.size();
        let rest = self.tail.map_or(0, |(segment, next)| {
            self.segments.blocks_of(segment).end - next
        });
        self.segments.clean() * size + rest
    }

    /// Blocks that may live besides those that do.
    pub(super) fn left(&self, shape: &Shape, settings: &Settings) -> u64 {
        let dirty = settings.cache_blocks / 2;
        let room = self.settings.room(shape, dirty, settings.request_blocks);
        room.saturating_sub(self.segments.live())
    }

    /// Room for one more copy of all that leads to others, which rounds write over and over.
    pub(super) fn above(&self) -> u64 {
        let above = self.segments.above();
        match self.settings.offers {
            true => above + above.div_ceil(2),
            false => above,
        }
    }

    /// Room for so many blocks and their summaries, in requests of so many: data, and then what
    /// leads to them.
    ///
    /// In row a write ends with its segment at the latest, so each segment has a summary for each
    /// request that it takes, and a block may be left. Where places are offered, the drive may cut
    /// a run so that what is left is short: most around the last write of data, and the last of
    /// what leads to others.
    pub(super) fn need(&self, blocks: u64, request: u64) -> u64 {
        let size = self.segments.size();
        if self.settings.offers {
            return blocks + blocks.div_ceil(2) + 4 * self.segments.short();
        }
        let lost = size.div_ceil(request) + 1;
        blocks + (blocks.div_ceil(size - lost) + 1) * lost + 2
    }

    /// A block that lived here does no more.
    pub(super) fn die(&mut self, at: u64) {
        self.segments.die(at, self.epoch);
    }

    /// Whether there is a checkpoint behind everything that has changed, which were so many blocks.
    pub(super) fn is_settled(&self, changed: u64) -> bool {
        self.round == Round::None && self.seen == changed
    }

    /// Whether nobody will change anything any more.
    pub(super) fn is_synced(&self) -> bool {
        self.sync
    }

    /// Nobody will change anything any more.
    pub(super) fn sync(&mut self) {
        self.sync = true;
    }

    /// Whether only what is moved and what leads to others may be written: half of what the cleaner
    /// begins at is left, besides room for all that is dirty and for inodes.
    pub(super) fn is_scarce(&self, dirty: u64) -> bool {
        let kept = self.settings.clean_below * self.segments.size() / 2;
        self.room() <= kept.max(self.cleaner.needs) + dirty + self.above()
    }

    /// Blocks that were written so far, by which age is told.
    pub(super) fn clock(&self) -> u64 {
        self.clock
    }

    /// The segment that is being written in row.
    pub(super) fn written_now(&self) -> Option<u64> {
        self.tail.map(|(segment, _)| segment)
    }

    /// A place for a write of at most so many blocks: how many it may have, and where it goes or
    /// may land. None if there is no room for a block and its summary.
    fn place(&mut self, most: u64) -> Option<(u64, Option<u64>, Vec<Range<u64>>)> {
        if !self.settings.offers {
            let place = self.place_in_row(most)?;
            return Some((place.end - place.start, Some(place.start), Vec::new()));
        }
        let mut len = most;
        while len >= 2 {
            let runs = self.segments.open_runs(len);
            let places: u64 = runs.iter().map(|run| (run.end - run.start) / len).sum();
            if places > self.flights.len() as u64 {
                return Some((len, None, runs));
            }
            len = if len > 2 { len.div_ceil(2) } else { 0 };
        }
        None
    }

    /// The place behind the last one, on through clean segments that follow.
    fn place_in_row(&mut self, most: u64) -> Option<Range<u64>> {
        let is_full = |(segment, next): (u64, u64)| self.segments.blocks_of(segment).end - next < 2;
        let (mut segment, begin) = match self.tail.filter(|tail| !is_full(*tail)) {
            Some(tail) => tail,
            None => {
                let last = self
                    .tail
                    .map_or(self.segments.count() - 1, |(last, _)| last);
                let next = self.segments.clean_behind(last)?;
                (next, self.segments.blocks_of(next).start)
            }
        };
        let mut end = self.segments.blocks_of(segment).end;
        while end - begin < most && segment + 1 < self.segments.count() {
            if !self.segments.is_clean(segment + 1) {
                break;
            }
            segment += 1;
            end += self.segments.size();
        }
        let end = end.min(begin + most);
        self.tail = Some((segment, end));
        self.segments.take(begin..end, self.epoch);
        Some(begin..end)
    }
}

impl FileSystem {
    /// What has the pointer to a block, if it is not the checkpoint.
    pub(super) fn leads_to(&self, key: Key) -> Option<Key> {
        match key {
            Key::Inodes(number) => Some(Key::Map(number / MAPPED)),
            _ => key.file().map(|file| self.files[file as usize].parent(key)),
        }
    }

    fn log(&mut self) -> &mut Log {
        self.log.as_mut().expect("it is a log")
    }

    /// What is there beforehand: the root in the first segment, and files of others, which have so
    /// large a share of all blocks. As many segments as the cleaner leaves are clean, drawn at
    /// random; all others have their part, at places drawn at random.
    pub(super) fn fill_log(&mut self, share: f64, rng: &mut Rng) {
        let log = self.log();
        let (size, count) = (log.segments.size(), log.segments.count());
        let left = (share * (size * count) as f64).round() as u64;
        let mut clean: BTreeSet<u64> = BTreeSet::new();
        while left > 0 && (clean.len() as u64) < log.settings.clean_until {
            clean.insert(1 + rng.below(count - 1));
        }
        let used: Vec<u64> = (0..count).filter(|one| !clean.contains(one)).collect();
        let mut keys = self.beforehand(left);
        keys.reverse();
        for (step, segment) in (0..).zip(&used) {
            let mut blocks = self.log().segments.blocks_of(*segment);
            let mut wanted = (keys.len() as u64).div_ceil(used.len() as u64 - step);
            if left == 0 {
                wanted = keys.len() as u64;
                blocks.end = blocks.start + wanted;
            }
            self.log().segments.take(blocks.clone(), 0);
            for at in blocks.clone() {
                // Of those that are left each is as likely as any other.
                if rng.below(blocks.end - at) < wanted {
                    wanted -= 1;
                    let key = keys.pop().expect("so many are left");
                    self.log().segments.settle(at, key, 0);
                    self.set_address(key, Some(at));
                }
            }
        }
        assert!(keys.is_empty(), "the fill was checked");
    }

    /// The blocks of the root, of files of others which have so many in all, and what leads to
    /// them.
    fn beforehand(&mut self, mut left: u64) -> Vec<Key> {
        let mut keys = vec![Key::Data(super::ROOT, 0)];
        while left > 0 {
            let inode = self.groups.inode_of_file(0).expect("there are inodes");
            let file = self.files.len() as FileId;
            let blocks = left.min(OTHERS);
            self.files.push(File {
                blocks: vec![None; blocks as usize],
                indirect: vec![None; indirect_of(blocks) as usize],
                ..File::empty(inode, 0)
            });
            self.by_inode.insert(inode, file);
            keys.extend(self.files[file as usize].keys(file));
            left -= blocks;
        }
        let inodes: BTreeSet<Key> = (0..self.files.len() as FileId)
            .map(|file| self.inodes_of(file))
            .collect();
        let map: BTreeSet<Key> = inodes
            .iter()
            .filter_map(|key| self.leads_to(*key))
            .collect();
        keys.extend(inodes.into_iter().chain(map));
        keys
    }

    /// A block lies here from now on, or nowhere.
    fn set_address(&mut self, key: Key, at: Option<u64>) {
        if let Some(file) = key.file() {
            self.files[file as usize].set(key, at);
        } else if let Some(at) = at {
            self.log().lies.insert(key, at);
        } else {
            self.log().lies.remove(&key);
        }
    }

    /// The write that goes next; none if nothing may. Before, whoever asks has asked what the
    /// cleaner wants to read.
    pub(super) fn next_of_log(&mut self) -> Option<Going> {
        if self.log().stuck {
            self.give_up();
            return None;
        }
        let log = self.log();
        if log.blocked && !log.flights.is_empty() {
            return None;
        }
        if self.is_round_due() {
            self.log().round = Round::Drains;
        }
        let log = self.log();
        if log.round == Round::Drains {
            if (log.settings.offers || log.again) && !log.flights.is_empty() {
                return None;
            }
            self.begin_round();
        }
        let found = self.next_of_round().or_else(|| self.next_data());
        if found.is_none() && self.is_full_for_good() {
            self.log().stuck = true;
            self.give_up();
        }
        found
    }

    /// Whether data wait for room, and nothing is under way that could make any.
    fn is_full_for_good(&mut self) -> bool {
        let ends = self.is_full_of_dirt() || self.log().sync && self.dirty() > 0;
        let log = self.log();
        if !log.flights.is_empty() {
            return false;
        }
        // A round that finds no room never ends.
        let writes = matches!(log.round, Round::Writes { .. });
        writes || ends && log.round == Round::None && log.cleaner.is_idle() && !log.cleaner.waits
    }

    /// Data that may go, the longest dirty first: what the cleaner moves alone, where there is
    /// hardly room.
    fn data_that_may_go(&self, most: usize) -> Vec<Key> {
        let log = self.log.as_ref().expect("it is a log");
        if log.is_scarce(self.pages.len()) {
            return log.cleaner.moves().take(most).collect();
        }
        self.pages.data().take(most).collect()
    }

    /// Blocks of a write, besides the summary.
    fn most_of_write(&self) -> usize {
        (self.settings.request_blocks - 1) as usize
    }

    fn is_round_due(&mut self) -> bool {
        let most = self.most_of_write();
        let data = self.data_that_may_go(most + 1).len();
        let (full, dirty) = (self.is_full_of_dirt(), self.pages.number());
        let log = self.log();
        let nothing = log.seen == dirty && data == 0 && !log.cleaner.waits;
        if log.round != Round::None || nothing {
            return false;
        }
        if log.since >= log.settings.checkpoint_blocks {
            return true;
        }
        // What the cleaner reads goes before: a checkpoint for each of its segments could cost all
        // that they gain.
        let calm = log.flights.is_empty();
        !log.cleaner.reads()
            && (log.sync && data <= most && (calm || !log.settings.offers)
                || calm && data == 0 && (full || log.cleaner.waits))
    }

    /// What leads to others goes from now on, as it is now, and data with it that fit.
    fn begin_round(&mut self) {
        let most = self.most_of_write();
        let mut data = self.data_that_may_go(most + 1);
        if data.len() > most {
            data.clear();
        }
        data.extend(self.pages.dirty().filter(|key| !key.is_data()));
        let mut pending: BTreeSet<(u8, Key)> = BTreeSet::new();
        while let Some(key) = data.pop() {
            if !pending.insert((key.level(), key)) {
                continue;
            }
            if let Some(above) = self.leads_to(key) {
                self.pages.touch(above);
                data.push(above);
            }
        }
        let seen = self.pages.number();
        let log = self.log();
        (log.since, log.seen, log.again) = (0, seen, false);
        log.epoch += 1;
        log.round = Round::Writes {
            pending,
            last: None,
        };
    }

    /// The next write of a round, or the checkpoint at its end.
    fn next_of_round(&mut self) -> Option<Going> {
        let most = self.most_of_write();
        let Round::Writes { pending, last } = &mut self.log.as_mut()?.round else {
            return None;
        };
        pending.retain(|(_, key)| self.pages.may_go(*key));
        let keys: Vec<Key> = pending.iter().map(|(_, key)| *key).take(most).collect();
        let last = *last;
        let log = self.log();
        let is_under_way = last.is_some_and(|last| log.flights.range(..=last).next().is_some());
        if keys.is_empty() {
            return if is_under_way {
                None
            } else {
                Some(self.begin_checkpoint())
            };
        }
        // Where those below lie is not known before they have landed.
        if log.settings.offers && is_under_way {
            return None;
        }
        let going = self.begin_log(keys)?;
        let log = self.log();
        let number = log.number - 1;
        if let Round::Writes { pending, last } = &mut log.round {
            for (key, _) in &going.blocks {
                pending.remove(&(key.level(), *key));
            }
            *last = Some(number);
        }
        Some(going)
    }

    /// The next write of data.
    fn next_data(&mut self) -> Option<Going> {
        let most = self.most_of_write();
        let keys = self.data_that_may_go(most);
        let waits = keys.len() < most && !self.log().flights.is_empty();
        if keys.is_empty() || waits {
            return None;
        }
        self.begin_log(keys)
    }

    /// As many of these blocks go in a write of the log as find room.
    fn begin_log(&mut self, mut keys: Vec<Key>) -> Option<Going> {
        let (len, at, runs) = self.log().place(keys.len() as u64 + 1)?;
        keys.truncate(len as usize - 1);
        let mut blocks = vec![(Key::Summary, 0)];
        let mut before = Vec::new();
        for key in &keys {
            blocks.push((*key, self.pages.begin(*key)));
            let was = self.address(*key);
            let moves = self.log().cleaner.move_goes(*key);
            let log = self.log();
            let changed = match was {
                Some(was) if moves == Some(true) => log.segments.changed(was),
                _ => log.clock,
            };
            before.push(Before {
                was,
                changed,
                moves,
            });
            self.counts.new += u64::from(key.is_data() && moves != Some(true));
        }
        let log = self.log();
        let number = log.number;
        log.number += 1;
        log.flights.insert(number, len);
        log.clock += len;
        log.since += len;
        self.counts.began_log(&keys, len, at.is_none());
        let write = LogWrite {
            number,
            at,
            runs,
            before,
        };
        if let Some(at) = at {
            self.put(&blocks, &write, at);
        }
        Some(Going {
            blocks,
            goes: Goes::Log(write),
            pointers: Vec::new(),
            freed: Vec::new(),
        })
    }

    /// The blocks of a write lie from this one on, but those of files that were removed; what
    /// points to them and does not go with them changes.
    fn put(&mut self, blocks: &[(Key, u64)], write: &LogWrite, at: u64) {
        let with: BTreeSet<Key> = blocks.iter().map(|(key, _)| *key).collect();
        let placed = (at + 1..).zip(&blocks[1..]).zip(&write.before);
        for ((at, (key, _)), before) in placed {
            if !self.is_live(*key) {
                continue;
            }
            self.log().segments.settle(at, *key, before.changed);
            self.set_address(*key, Some(at));
            self.reserved -= u64::from(key.file().is_some() && before.was.is_none());
            if let Some(above) = self.leads_to(*key).filter(|above| !with.contains(above)) {
                self.pages.touch(above);
            }
        }
    }

    fn is_live(&self, key: Key) -> bool {
        let file = key.file();
        file.is_none_or(|file| self.files[file as usize].live)
    }

    /// A write of the log has ended.
    pub(super) fn ended_log(&mut self, blocks: &[(Key, u64)], write: &LogWrite, how: Ended) {
        let log = self.log();
        log.flights.remove(&write.number);
        log.blocked = how == Ended::Exhausted;
        if let (Ended::At(at), None) = (how, write.at) {
            let epoch = log.epoch;
            log.segments.take(at..at + blocks.len() as u64, epoch);
            self.put(blocks, write, at);
        }
        if how == Ended::Exhausted {
            self.counts.exhausted += 1;
            self.counts.blocks -= blocks.len() as u64;
        }
        for (step, ((key, since), before)) in (1..).zip(blocks[1..].iter().zip(&write.before)) {
            let known = write.at.map(|at| at + step);
            if how == Ended::Exhausted {
                self.counts.new -= u64::from(key.is_data() && before.moves != Some(true));
            }
            match (self.is_live(*key), how) {
                (true, Ended::Exhausted) => self.goes_again(*key, *since, before.moves),
                (true, Ended::At(_)) => self.is_logged(*key, before.was),
                (true, Ended::Failed) => self.is_not_logged(*key, before.was, known),
                (false, _) => self.is_gone(*key, before.was, known),
            }
        }
    }

    /// Others have taken all that a block of a write was offered. If the cleaner moves it, it still
    /// does.
    fn goes_again(&mut self, key: Key, since: u64, moves: Option<bool>) {
        let has_changed = self.pages.put_back(key, since);
        if let Some(unchanged) = moves {
            let cleaner = &mut self.log().cleaner;
            cleaner.begin_move(key, since, unchanged && !has_changed);
        }
        if let Round::Writes { pending, .. } = &mut self.log().round {
            pending.insert((key.level(), key));
        }
    }

    /// A block is in the log, and lives no more where it was.
    fn is_logged(&mut self, key: Key, was: Option<u64>) {
        let again = self.pages.end(key);
        if let Some(was) = was {
            self.log().die(was);
        }
        if let (Key::Data(file, index), false) = (key, again) {
            self.use_block((file, index));
        }
    }

    /// A block could not be written, and lies where it was. What was told already of where it would
    /// lie has to be written anew.
    fn is_not_logged(&mut self, key: Key, was: Option<u64>, known: Option<u64>) {
        self.pages.end(key);
        if let Some(known) = known {
            self.log().die(known);
            self.set_address(key, was);
            self.reserved += u64::from(key.file().is_some() && was.is_none());
            if let Some(above) = self.leads_to(key) {
                self.pages.touch(above);
            }
            let log = self.log();
            if let Round::Writes { .. } = log.round {
                (log.round, log.again) = (Round::Drains, true);
            }
        }
        self.log().stuck |= !key.is_data();
    }

    /// A block of a file that was removed while it was being written.
    fn is_gone(&mut self, key: Key, was: Option<u64>, known: Option<u64>) {
        self.pages.end(key);
        for at in was.into_iter().chain(known) {
            self.log().die(at);
        }
        // What had no place had its room kept until now.
        self.reserved -= u64::from(was.is_none() && known.is_none());
    }

    /// A block of a file that was removed, which is not being written.
    pub(super) fn drop_logged(&mut self, at: Option<u64>) {
        match at {
            Some(at) => self.log().die(at),
            None => self.reserved -= 1,
        }
    }

    fn begin_checkpoint(&mut self) -> Going {
        let at = self.log().lies(Key::Checkpoint).expect("it has a place");
        self.log().round = Round::Ends;
        self.counts.metadata += 1;
        self.counts.blocks += 1;
        Going {
            blocks: vec![(Key::Checkpoint, 0)],
            goes: Goes::Checkpoint(at),
            pointers: Vec::new(),
            freed: Vec::new(),
        }
    }

    /// A checkpoint has ended.
    pub(super) fn ended_checkpoint(&mut self, how: Ended) {
        let log = self.log();
        log.round = Round::None;
        match how {
            Ended::At(_) => log.checkpoints += 1,
            Ended::Exhausted | Ended::Failed => {
                log.stuck = true;
                return;
            }
        }
        log.segments.checkpoint(log.epoch);
        let room = log.room();
        log.cleaner.begin_anew(room);
    }

    /// What leads to others could not be written, so nothing is written any more: the last
    /// checkpoint is what there is.
    fn give_up(&mut self) {
        while let Some((_, key)) = self.pages.dirty_from(0) {
            self.counts.failed += 1;
            if self.pages.may_go(key) {
                self.pages.begin(key);
                self.pages.end(key);
            } else {
                self.pages.forget(key);
            }
        }
        let seen = self.pages.number();
        let log = self.log();
        log.seen = seen;
        if log.round != Round::Ends {
            log.round = Round::None;
        }
    }
}
