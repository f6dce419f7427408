//! Random lives of a log, over a medium that is looked at after every write: what a checkpoint
//! leads to is there, at any instant.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use nearslot_core::offer::{Offer, OfferId, Offers};
use nearslot_core::rng::Rng;

use super::acts::Run;
use super::files::Key;
use super::flush::{Ended, Goes, Going, LogWrite};
use super::log::LogSettings;
use super::segments::CleanBy;
use super::shape::{BYTES, SECTORS, Shape};
use super::tests::{Names, act, assert_at_least, lives};
use super::{FileSystem, Offering, ROOT, Settings};

/// A pointer in a block that was written: to what, and where that lies, or how many blocks behind
/// the begin of the same write.
#[derive(Clone, Copy, Debug)]
enum Place {
    At(u64),
    With(u64),
}

/// What a block on the medium holds: what it is, how often that was written before, and its
/// pointers.
#[derive(Clone, Debug)]
struct Held {
    key: Key,
    version: u64,
    pointers: Vec<(Key, u64)>,
}

/// What a block of a write holds: what it is, its version, and its pointers.
type Holds = (Key, u64, Vec<(Key, Place)>);

/// A write under way, with what it holds.
struct Sent {
    going: Going,
    held: Vec<Holds>,
    offer: Option<OfferId>,
}

#[derive(Default)]
struct Medium {
    held: BTreeMap<u64, Held>,
    sent: Vec<Sent>,
    reads: Vec<Run>,
    offers: Offers,
    heard: u64,
    versions: BTreeMap<Key, u64>,
    /// The last whole checkpoint, and what it leads to.
    checkpoint: u64,
    led_to: BTreeSet<u64>,
    exhausted: u64,
    failed: u64,
}

/// What a block points to, and where that lies, as far as it is known.
fn children(files: &FileSystem, key: Key) -> Vec<(Key, Option<u64>)> {
    let log = files.log.as_ref().expect("it is a log");
    let of_file = |file: u32| {
        let of = &files.files[file as usize];
        let keys = of.keys(file).filter(move |child| of.parent(*child) == key);
        keys.map(move |child| (child, of.at(child)))
    };
    match key {
        Key::Inodes(number) => files.inodes_in(number).flat_map(of_file).collect(),
        Key::Indirect(file, _) => of_file(file).collect(),
        Key::Map(_) | Key::Checkpoint => {
            let all = (0..4).map(Key::Map).chain((0..400).map(Key::Inodes));
            let all = all.filter(|child| match key {
                Key::Checkpoint => matches!(child, Key::Map(_)),
                _ => files.leads_to(*child) == Some(key),
            });
            all.map(|child| (child, log.lies(child))).collect()
        }
        _ => Vec::new(),
    }
}

impl Medium {
    /// What is there beforehand, with a checkpoint in the block that is not written first.
    fn of(files: &FileSystem) -> Medium {
        let mut medium = Medium {
            checkpoint: 1,
            ..Medium::default()
        };
        let mut left = vec![(Key::Checkpoint, 1)];
        while let Some((key, at)) = left.pop() {
            let pointers = children(files, key).into_iter();
            let pointers: Vec<(Key, u64)> = pointers
                .filter_map(|(child, at)| Some((child, at?)))
                .collect();
            left.extend(&pointers);
            let held = Held {
                key,
                version: 0,
                pointers,
            };
            medium.held.insert(at, held);
        }
        medium.look();
        medium
    }

    /// Goes through all that the last checkpoint leads to.
    fn look(&mut self) {
        self.led_to.clear();
        let mut left = vec![(Key::Checkpoint, self.checkpoint)];
        while let Some((key, at)) = left.pop() {
            assert!(
                self.led_to.insert(at),
                "block {at} is led to twice, by {key:?} as well"
            );
            let held = self.held.get(&at);
            let held =
                held.unwrap_or_else(|| panic!("{key:?} is to lie at {at}, where nothing does"));
            assert_eq!(held.key, key, "at {at}");
            left.extend(&held.pointers);
        }
    }

    fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.reads.is_empty()
    }

    fn check_free(&self, blocks: Range<u64>) {
        let mut led_to = self.led_to.range(blocks);
        assert_eq!(
            led_to.next(),
            None,
            "a block is written that a checkpoint leads to"
        );
    }

    /// A write is sent, with what it holds now.
    fn send(&mut self, files: &FileSystem, going: Going) {
        let steps: BTreeMap<Key, u64> = (0..)
            .zip(&going.blocks)
            .map(|(step, (key, _))| (*key, step))
            .collect();
        let held = going.blocks.iter().map(|(key, _)| {
            let version = self.versions.entry(*key).or_default();
            *version += 1;
            let pointers = children(files, *key).into_iter().filter_map(|(child, at)| {
                let with = steps.get(&child).map(|step| Place::With(*step));
                Some((child, with.or(at.map(Place::At))?))
            });
            (*key, *version, pointers.collect())
        });
        let held = held.collect();
        let offer = match &going.goes {
            Goes::Log(write) if write.at.is_none() => {
                let ranges = write.runs.iter();
                let ranges = ranges.map(|run| run.start * SECTORS..run.end * SECTORS);
                let offer = Offer::list(ranges.collect(), SECTORS).unwrap();
                let len = going.blocks() * SECTORS;
                Some(self.offers.make(Arc::new(offer), len, self.heard))
            }
            Goes::Log(write) => {
                let at = write.at.unwrap();
                self.check_free(at..at + going.blocks());
                None
            }
            Goes::Checkpoint(at) => {
                assert_ne!(*at, self.checkpoint, "the last checkpoint is written over");
                None
            }
            other => panic!("{other:?} is of no log"),
        };
        self.sent.push(Sent { going, held, offer });
    }

    /// Where a write lands; none if nothing is left of what it was offered.
    fn land(&mut self, sent: &Sent, rng: &mut Rng) -> Option<u64> {
        let Some(offer) = sent.offer else {
            return match &sent.going.goes {
                Goes::Checkpoint(at) => Some(*at),
                Goes::Log(write) => write.at,
                _ => None,
            };
        };
        let legal = self.offers.legal(offer);
        let from = rng.below(2_048 * SECTORS);
        let at = legal.first(from, u64::MAX).or_else(|| legal.first(0, from));
        // Others seldom take all that a write was offered, so now and then nothing is left to it.
        let at = at.filter(|_| !rng.chance(0.02));
        if let Some(at) = at {
            self.offers.land(offer, at);
        }
        self.offers.end(offer);
        self.heard += 1;
        at.map(|at| at / SECTORS)
    }

    /// One of what is under way ends, drawn; some fail.
    fn end_one(&mut self, files: &mut FileSystem, rng: &mut Rng, fails: f64) {
        let drawn = rng.below((self.sent.len() + self.reads.len()) as u64) as usize;
        if drawn >= self.sent.len() {
            let run = self.reads.swap_remove(drawn - self.sent.len());
            files.ended_read(run, !rng.chance(fails));
            return;
        }
        let sent = self.sent.remove(drawn);
        let at = self.land(&sent, rng);
        let how = match at {
            None => Ended::Exhausted,
            Some(_) if rng.chance(fails) => Ended::Failed,
            Some(at) => Ended::At(at),
        };
        self.exhausted += u64::from(how == Ended::Exhausted);
        self.failed += u64::from(how == Ended::Failed);
        let is_checkpoint = matches!(sent.going.goes, Goes::Checkpoint(_));
        if let Some(at) = at {
            if !is_checkpoint {
                self.check_free(at..at + sent.going.blocks());
            }
            for (place, (key, version, pointers)) in (at..).zip(sent.held) {
                let pointers = pointers.into_iter().map(|(child, place)| match place {
                    Place::At(at) => (child, at),
                    Place::With(step) => (child, at + step),
                });
                let held = Held {
                    key,
                    version,
                    pointers: pointers.collect(),
                };
                match how {
                    Ended::At(_) => self.held.insert(place, held),
                    _ => self.held.remove(&place),
                };
            }
            if is_checkpoint && how != Ended::Failed {
                self.checkpoint = at;
            }
        }
        files.ended(sent.going, how);
        self.look();
    }
}

struct Life {
    files: FileSystem,
    medium: Medium,
    refused: u64,
}

/// How a life goes.
struct Ways {
    offers: bool,
    fails: f64,
    fill: f64,
    /// As full as may be instead, with a cache of few blocks.
    tight: bool,
    steps: u64,
}

fn settings(ways: &Ways, rng: &mut Rng) -> Settings {
    let segment_blocks = [32, 40, 64][rng.below(3) as usize];
    Settings {
        offering: Offering::None,
        ordered: false,
        request_blocks: 4 + rng.below(60),
        cache_blocks: 30 + rng.below(100),
        log: Some(LogSettings {
            segment_blocks,
            offers: ways.offers,
            clean_below: 4,
            clean_until: 7,
            clean_by: [CleanBy::CostBenefit, CleanBy::Greedy][rng.below(2) as usize],
            checkpoint_blocks: 50 + rng.below(300),
        }),
    }
}

/// What a log that does not go on is told by.
fn state(files: &FileSystem) -> String {
    let log = files.log.as_ref().unwrap();
    let segments = &log.segments;
    format!(
        "{} dirty, {} to be had; {} of {} segments of {} clean, {} live, {} dead, {} room, {} above data; {:?}, {:?}",
        files.dirty(),
        files.room(),
        segments.clean(),
        segments.count(),
        segments.size(),
        segments.live(),
        segments.dead(),
        log.room(),
        log.above(),
        log.cleaner,
        log.settings
    )
}

/// How full a log may be for a few files more.
fn most(shape: &Shape, settings: &Settings) -> f64 {
    let log = settings.log.as_ref().unwrap();
    let room = log.room(shape, settings.cache_blocks / 2, settings.request_blocks);
    let all = log.segments(shape) * log.segment_blocks;
    (room - room.div_ceil(512) - 40) as f64 / all as f64
}

fn live(seed: u64, ways: &Ways) -> Life {
    let rng = &mut Rng::stream(seed, "log");
    let shape = Shape::new(1_024, 2_048).unwrap();
    let mut settings = settings(ways, rng);
    let depth = [1, 4, 16, 64][rng.below(4) as usize];
    let bytes = [(4 * BYTES, 30 * BYTES), (2 * BYTES, 12 * BYTES)][rng.below(2) as usize];
    let mut fill = ways.fill;
    if ways.tight {
        settings.cache_blocks = [2, 6, 12, 30, 64, 128][rng.below(6) as usize];
        fill = most(&shape, &settings) * [0.95, 0.98, 1.0][rng.below(3) as usize];
    }
    let mut files = FileSystem::new(shape, settings, fill, rng);
    let mut medium = Medium::of(&files);
    let mut names = Names {
        files: Vec::new(),
        directories: vec![ROOT],
    };
    let mut refused = 0;
    for _ in 0..ways.steps {
        if !files.is_full_of_dirt() && rng.chance(0.4) {
            refused += u64::from(act(&mut files, &mut names, bytes, rng).is_err());
        }
        step(&mut files, &mut medium, depth, ways.fails, rng);
    }
    files.sync();
    for round in 0.. {
        if files.is_clean() && medium.is_empty() {
            break;
        }
        let before = medium.is_empty();
        step(&mut files, &mut medium, depth, ways.fails, rng);
        assert!(
            !before || !medium.is_empty() || files.is_clean(),
            "seed {seed}: something hangs: {}",
            state(&files)
        );
        assert!(
            round < 20_000,
            "seed {seed}: it does not end: {}",
            state(&files)
        );
    }
    Life {
        files,
        medium,
        refused,
    }
}

/// Something is sent, if anything may be, or ends.
fn step(files: &mut FileSystem, medium: &mut Medium, depth: usize, fails: f64, rng: &mut Rng) {
    let under_way = medium.sent.len() + medium.reads.len();
    if under_way < depth && (under_way == 0 || rng.chance(0.6)) {
        if let Some(run) = files.next_read() {
            let log = files.log.as_ref().unwrap();
            assert!(log.cleaner.needs > 3, "no room is kept for what is moved");
            let segment = (run.0 - 2) / log.segments.size();
            assert_eq!(log.segments.open_in(segment), 0, "it could be written to");
            medium.reads.push(run);
            return;
        }
        if let Some(going) = files.next_write() {
            medium.send(files, going);
            return;
        }
    }
    if !medium.is_empty() {
        medium.end_one(files, rng, fails);
    }
}

/// All that files have is led to in its last version, and the account of what lives is that of all
/// blocks.
fn check_whole(life: &Life, seed: u64) {
    let Life { files, medium, .. } = life;
    let log = files.log.as_ref().unwrap();
    assert_eq!(files.reserved, 0, "seed {seed}");
    let mut count = 0;
    let live = (0..).zip(&files.files).filter(|(_, file)| file.live);
    for key in live.flat_map(|(number, file)| file.keys(number)) {
        let file = &files.files[key.file().unwrap() as usize];
        let at = file
            .at(key)
            .unwrap_or_else(|| panic!("seed {seed}: {key:?} was not written"));
        assert!(
            medium.led_to.contains(&at),
            "seed {seed}: {key:?} is not led to"
        );
        let version = medium.versions.get(&key).copied().unwrap_or(0);
        assert_eq!(medium.held[&at].version, version, "seed {seed}: {key:?}");
        count += 1;
    }
    let above = (0..4).map(Key::Map).chain((0..400).map(Key::Inodes));
    let above = above.filter(|key| log.lies(*key).is_some()).count();
    assert_eq!(log.segments.live(), count + above as u64, "seed {seed}");
    assert_eq!(
        medium.led_to.len() as u64,
        1 + log.segments.live(),
        "seed {seed}"
    );
}

#[test]
fn a_checkpoint_leads_to_what_is_there_at_any_instant() {
    let mut counts = [0_u64; 6];
    for seed in lives(40, 40) {
        let ways = Ways {
            offers: seed % 2 == 1,
            fails: 0.0,
            fill: [0.0, 0.3, 0.5, 0.6][seed as usize / 2 % 4],
            tight: false,
            steps: 1_500,
        };
        let life = live(seed, &ways);
        check_whole(&life, seed);
        let log = life.files.log.as_ref().unwrap();
        let new = [
            log.checkpoints,
            log.cleaner.cleaned,
            log.cleaner.moved,
            life.refused,
            life.medium.exhausted,
            life.files.counts.offered,
        ];
        for (count, new) in counts.iter_mut().zip(new) {
            *count += new;
        }
    }
    println!("checkpoints, cleaned, moved, refused, exhausted, offered: {counts:?}");
    let least = [500, 500, 5_000, 100, 50, 2_500];
    assert_at_least(&counts, &least);
}

/// With little room and a small cache the cleaner gains room for all that is written all the same.
#[test]
fn a_log_that_is_as_full_as_may_be_does_not_give_up() {
    let mut counts = [0_u64; 4];
    for seed in lives(440, 16) {
        let ways = Ways {
            offers: seed % 2 == 1,
            fails: 0.0,
            fill: 0.0,
            tight: true,
            steps: 1_500,
        };
        let life = live(seed, &ways);
        assert!(!life.files.gave_up(), "seed {seed}: {}", state(&life.files));
        check_whole(&life, seed);
        let cleaner = &life.files.log.as_ref().unwrap().cleaner;
        let new = [
            cleaner.cleaned,
            cleaner.moved,
            life.refused,
            life.medium.exhausted,
        ];
        for (count, new) in counts.iter_mut().zip(new) {
            *count += new;
        }
    }
    println!("cleaned, moved, refused, exhausted: {counts:?}");
    assert_at_least(&counts, &[1_300, 26_000, 260, 13]);
}

/// What is kept for blocks and for what leads to them is enough, wherever their writes end.
#[test]
fn all_that_is_written_finds_room_in_what_it_is_said_to_need() {
    for seed in 0..200 {
        let rng = &mut Rng::stream(seed, "need");
        let ways = Ways {
            offers: seed % 2 == 1,
            fails: 0.0,
            fill: 0.0,
            tight: false,
            steps: 0,
        };
        let mut settings = settings(&ways, rng);
        settings.request_blocks = [8, 20, 40, 320][rng.below(4) as usize];
        settings.cache_blocks = 1_000;
        let request = settings.request_blocks;
        let shape = Shape::new(1_024, 2_048).unwrap();
        let mut files = FileSystem::new(shape, settings, 0.0, rng);
        // Every other segment is clean, so no write in row is longer than one.
        let of = &mut files.log.as_mut().unwrap().segments;
        for segment in (1..of.count()).step_by(2) {
            of.take(of.blocks_of(segment), 0);
        }
        let mut medium = Medium::of(&files);
        let file = files.make(0, ROOT, false).unwrap();
        let blocks = 1 + rng.below(300);
        files.write(file, 0, blocks * BYTES).unwrap();
        files.sync();
        let room = |files: &FileSystem| files.log.as_ref().unwrap().room();
        let (before, mut left) = (room(&files), u64::MAX);
        while !files.is_clean() || !medium.is_empty() {
            step(&mut files, &mut medium, 16, 0.0, rng);
            left = left.min(room(&files));
        }
        // Besides data what leads to them: indirect blocks, one of inodes, one of the map, and the
        // root's.
        let log = files.log.as_ref().unwrap();
        let needs = log.need(blocks + log.segments.above() + 1, request);
        let took = before - left;
        assert!(
            took <= needs,
            "seed {seed}: {blocks} took {took} of {needs}, {request} in a request"
        );
    }
}

#[test]
fn writes_and_reads_that_fail_leave_what_a_checkpoint_leads_to() {
    let mut failed = 0;
    for seed in lives(100, 20) {
        let ways = Ways {
            offers: seed % 2 == 1,
            fails: [0.02, 0.2][seed as usize / 2 % 2],
            fill: [0.0, 0.5][seed as usize / 4 % 2],
            tight: false,
            steps: 1_000,
        };
        failed += live(seed, &ways).medium.failed;
    }
    assert!(failed > 150, "{failed}");
}

/// A log of segments of 40 blocks, whose writes have up to 32.
pub(super) fn small(offers: bool, fill: f64) -> FileSystem {
    let shape = Shape::new(1_024, 2_048).unwrap();
    let settings = Settings {
        offering: Offering::None,
        ordered: false,
        request_blocks: 32,
        cache_blocks: 400,
        log: Some(LogSettings {
            segment_blocks: 40,
            offers,
            clean_below: 4,
            clean_until: 7,
            clean_by: CleanBy::CostBenefit,
            checkpoint_blocks: 1_000,
        }),
    };
    FileSystem::new(shape, settings, fill, &mut Rng::stream(1, "log"))
}

fn keys(going: &Going) -> Vec<Key> {
    going.blocks.iter().map(|(key, _)| *key).collect()
}

fn write_of(going: &Going) -> &LogWrite {
    match &going.goes {
        Goes::Log(write) => write,
        other => panic!("{other:?} is of no log"),
    }
}

#[test]
fn a_log_in_row_writes_behind_its_last_write_and_points_to_what_is_under_way() {
    let mut files = small(false, 0.0);
    let file = files.make(0, ROOT, false).unwrap();
    files.write(file, 0, 70 * BYTES).unwrap();
    files.sync();
    let mut begin = 42;
    let mut all = Vec::new();
    let mut sent = Vec::new();
    for len in [32, 32, 13] {
        let going = files.next_write().expect("nothing waits");
        // The root's three blocks are in the first segment; a write goes on into the next one.
        assert_eq!((write_of(&going).at, going.blocks()), (Some(begin), len));
        begin += len;
        all.extend(keys(&going));
        sent.push(going);
    }
    // What is left of data goes with what leads to all of it, from the leaves up.
    let rest = [Key::Indirect(file, 0), Key::Inodes(0), Key::Map(0)];
    assert_eq!(all[all.len() - 3..], rest);
    assert_eq!(all.iter().filter(|key| **key == Key::Summary).count(), 3);
    assert!(
        files.next_write().is_none(),
        "the checkpoint waits for all of it"
    );
    for going in sent {
        let at = write_of(&going).at.unwrap();
        files.ended(going, Ended::At(at));
    }
    let checkpoint = files.next_write().expect("all has ended");
    assert_eq!(
        (&checkpoint.goes, files.is_clean()),
        (&Goes::Checkpoint(0), false)
    );
    files.ended(checkpoint, Ended::At(0));
    assert!(files.is_clean());
}

/// A checkpoint for each segment that is cleaned could cost all that it gains.
#[test]
fn a_full_cache_has_a_checkpoint_only_when_the_cleaner_has_read() {
    let mut files = small(false, 0.0);
    let file = files.make(0, ROOT, false).unwrap();
    files.write(file, 0, 220 * BYTES).unwrap();
    assert!(files.is_full_of_dirt());
    let log = files.log.as_mut().unwrap();
    log.cleaner.begin_to_read(1, log.room());
    assert!(files.next_write().is_none(), "the cleaner reads");
    files.ended_read((42, 40), true);
    let going = files.next_write().expect("all has been read");
    assert!(!keys(&going).iter().any(|key| key.is_data()), "{going:?}");
}

/// Others take what a write was offered with which the cleaner moves blocks: these go again as
/// blocks that are moved, though data wait, and count once.
#[test]
fn what_is_moved_and_finds_nothing_left_is_moved_again() {
    let mut files = small(true, 0.0);
    let file = files.make(0, ROOT, false).unwrap();
    files.write(file, 0, 10 * BYTES).unwrap();
    files.sync();
    for at in [60, 0] {
        let going = files.next_write().expect("nothing waits");
        files.ended(going, Ended::At(at));
    }
    let (blocks, new) = (files.counts.blocks, files.counts.new);
    let log = files.log.as_mut().unwrap();
    log.cleaner.begin_to_read(1, log.room());
    files.ended_read((42, 40), true);
    for how in [Ended::Exhausted, Ended::At(500)] {
        let going = files.next_write().expect("what is moved goes");
        // With their summary, the root's block, and what leads to all of them.
        assert_eq!(going.blocks(), 1 + 10 + 3, "{going:?}");
        files.ended(going, how);
    }
    let counts = &files.counts;
    assert_eq!((counts.blocks, counts.new), (blocks + 14, new));
}

#[test]
fn a_log_that_offers_waits_until_it_knows_what_it_points_to() {
    let mut files = small(true, 0.0);
    let file = files.make(0, ROOT, false).unwrap();
    files.write(file, 0, 40 * BYTES).unwrap();
    files.sync();
    let going = files.next_write().unwrap();
    let (write, free) = (write_of(&going).clone(), 2 + 3..2 + 51 * 40);
    assert_eq!((write.at, going.blocks()), (None, 32));
    assert_eq!(write.runs, std::slice::from_ref(&free));
    assert!(
        files.next_write().is_none(),
        "what leads to it waits, and a short write does"
    );
    files.ended(going, Ended::At(700));
    let rest = files.next_write().unwrap();
    assert_eq!(write_of(&rest).runs, [free.start..700, 732..free.end]);
    let above = [Key::Indirect(file, 0), Key::Inodes(0), Key::Map(0)];
    let keys = keys(&rest);
    assert_eq!(keys[keys.len() - 3..], above);
    files.ended(rest, Ended::Exhausted);
    // It goes again, with all of it.
    let rest = files.next_write().unwrap();
    assert_eq!(rest.blocks(), keys.len() as u64);
    files.ended(rest, Ended::At(800));
    assert_eq!(
        files.address(Key::Map(0)),
        Some(800 + keys.len() as u64 - 1)
    );
    assert_eq!(
        files.next_write().map(|going| going.goes),
        Some(Goes::Checkpoint(0))
    );
}

/// Pointers to a write that fails may be under way, so all that leads to others is written again,
/// when that has ended.
#[test]
fn a_write_in_row_that_fails_lets_its_round_begin_again_when_nothing_is_under_way() {
    let mut files = small(false, 0.0);
    let file = files.make(0, ROOT, false).unwrap();
    files.write(file, 0, 70 * BYTES).unwrap();
    files.sync();
    let mut sent: Vec<Going> = (0..3).map(|_| files.next_write().unwrap()).collect();
    files.ended(sent.remove(0), Ended::Failed);
    for going in sent {
        assert!(
            files.next_write().is_none(),
            "what leads there is under way"
        );
        let at = write_of(&going).at.unwrap();
        files.ended(going, Ended::At(at));
    }
    let again = files.next_write().unwrap();
    let above = [
        Key::Summary,
        Key::Indirect(file, 0),
        Key::Inodes(0),
        Key::Map(0),
    ];
    assert_eq!(keys(&again), above);
    let of = &files.files[file as usize];
    assert_eq!(
        of.blocks.iter().filter(|at| at.is_none()).count() as u64,
        files.reserved
    );
}
