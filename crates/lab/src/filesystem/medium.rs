//! For tests: what is on the medium at every instant, and whether a file system could go on from
//! that after a power cut.
//!
//! Every write is kept with what it holds when it is sent, and is on the medium when it ends. Range
//! writes land by the table that carries them out in a stack, at a legal place that is drawn, and
//! end in an order that is drawn.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use nearslot_core::offer::{Offer, OfferId, Offers};
use nearslot_core::rng::Rng;

use super::FileSystem;
use super::files::Key;
use super::flush::{Ended, Goes, Going};
use super::order::Pointer;
use super::shape::SECTORS;

/// What a block on the medium holds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Held {
    Data(Key),
    Pointers(Key, Vec<Pointer>),
    Bits(Vec<u64>),
}

struct Sent {
    going: Going,
    held: Vec<Held>,
    /// Of a range write, and where it has landed.
    offer: Option<OfferId>,
}

/// What a sequence has met.
#[derive(Debug, Default)]
pub(super) struct Met {
    pub(super) landed: u64,
    pub(super) exhausted: u64,
    pub(super) failed: u64,
    pub(super) pointers: u64,
    pub(super) bits: u64,
}

pub(super) struct Medium {
    held: BTreeMap<u64, Held>,
    sent: Vec<Sent>,
    offers: Offers,
    heard: u64,
    /// Blocks that an inode on the medium has led to at some time.
    known: BTreeSet<u64>,
    pub(super) met: Met,
    /// Whether what is wrong is told rather than a panic.
    pub(super) wrong: Vec<String>,
}

impl Medium {
    /// With the root directory, as an empty file system has it.
    pub(super) fn of(files: &FileSystem) -> Medium {
        let (root, inodes) = (Key::Data(0, 0), files.inodes_of(0));
        let Key::Inodes(number) = inodes else {
            panic!("inodes lie in blocks of inodes")
        };
        let at = files.files[0].blocks[0].expect("the root has a block");
        let pointers = Held::Pointers(inodes, vec![(root, at)]);
        let shape = files.groups.shape();
        Medium {
            held: BTreeMap::from([(at, Held::Data(root)), (shape.inodes_at(number), pointers)]),
            sent: Vec::new(),
            offers: Offers::default(),
            heard: 0,
            known: BTreeSet::new(),
            met: Met::default(),
            wrong: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sent.len()
    }

    /// A write is sent, with what it holds now.
    pub(super) fn send(&mut self, files: &FileSystem, going: Going) {
        self.look_at(files, &going);
        if files.is_ordered() {
            for (key, _) in &going.blocks {
                self.look_at_pointers(files, *key);
            }
        }
        let blocks = going.blocks.iter().enumerate();
        let held = blocks.map(|(step, (key, _))| holds(files, &going, step, *key));
        let held = held.collect();
        if let Goes::Into(windows) = &going.goes {
            self.look_at_windows(&windows.runs);
        }
        let runs: Option<&[Range<u64>]> = match &going.goes {
            Goes::To(_) => None,
            Goes::Within(runs, ..) => Some(runs),
            Goes::Into(windows) => Some(&windows.runs),
            Goes::Log(_) | Goes::Checkpoint(_) => panic!("it is no log"),
        };
        let offer = runs.map(|runs| {
            let ranges = runs
                .iter()
                .map(|run| run.start * SECTORS..run.end * SECTORS);
            let offer = Offer::list(ranges.collect(), SECTORS).unwrap();
            let len = going.blocks() * SECTORS;
            self.offers
                .check(&offer, len, self.heard, (u64::MAX, u64::MAX))
                .unwrap();
            self.offers.make(Arc::new(offer), len, self.heard)
        });
        self.sent.push(Sent { going, held, offer });
    }

    /// No write is offered what another one is in windows of its own.
    fn look_at_windows(&self, runs: &[Range<u64>]) {
        let others = self.sent.iter().filter_map(|sent| match &sent.going.goes {
            Goes::Into(windows) => Some(&windows.runs),
            _ => None,
        });
        for other in others.flatten() {
            let overlaps = |run: &&Range<u64>| run.start < other.end && other.start < run.end;
            assert_eq!(
                runs.iter().find(overlaps),
                None,
                "{other:?} is offered twice"
            );
        }
    }

    /// What has pointers goes when all that it points to has been written; what failed has no
    /// pointer.
    fn look_at_pointers(&self, files: &FileSystem, first: Key) {
        if self.met.failed > 0 || !matches!(first, Key::Inodes(_) | Key::Indirect(..)) {
            return;
        }
        let live = (0..).zip(&files.files).filter(|(_, file)| file.live);
        for (number, file) in live {
            for key in file.keys(number).filter(|key| file.parent(*key) == first) {
                let at = file.at(key);
                let there = at.is_some_and(|at| self.has(key, at));
                assert!(there, "{first:?} goes before {key:?}, which is at {at:?}");
            }
        }
    }

    /// D10: inodes and bitmaps go to their places, what is offered has none yet, and what has one
    /// goes there.
    fn look_at(&self, files: &FileSystem, going: &Going) {
        let shape = files.groups.shape();
        for (step, (key, _)) in (0..).zip(&going.blocks) {
            let place = match *key {
                Key::Inodes(number) => Some(shape.inodes_at(number)),
                Key::BitsOfBlocks(group) => Some(shape.bits_of_blocks(group)),
                Key::BitsOfInodes(group) => Some(shape.bits_of_inodes(group)),
                Key::Data(file, _) | Key::Indirect(file, _) => files.files[file as usize].at(*key),
                Key::Map(_) | Key::Checkpoint | Key::Summary => panic!("it is no log"),
            };
            let goes = match going.goes {
                Goes::To(at) => Some(at + step),
                _ => None,
            };
            assert_eq!(goes, place, "{key:?}");
        }
    }

    /// One of the writes on their way ends, drawn; some fail.
    pub(super) fn end_one(&mut self, files: &mut FileSystem, rng: &mut Rng, fails: f64) {
        let drawn = rng.below(self.sent.len() as u64) as usize;
        // A stack carries out writes that overlap in the order in which they came.
        let place = |sent: &Sent| match sent.going.goes {
            Goes::To(at) => at..at + sent.going.blocks(),
            _ => 0..0,
        };
        let of = place(&self.sent[drawn]);
        let overlaps = |sent: &Sent| {
            let other = place(sent);
            other.start < of.end && of.start < other.end
        };
        let first = self.sent[..drawn].iter().position(overlaps);
        let Sent { going, held, offer } = self.sent.remove(first.unwrap_or(drawn));
        let fails = rng.chance(fails);
        let at = match (&going.goes, offer) {
            (Goes::To(at), _) => Some(*at),
            (_, offer) => self.land(offer.expect("it was made"), files, rng),
        };
        let how = match at {
            None => Ended::Exhausted,
            Some(_) if fails => Ended::Failed,
            Some(at) => Ended::At(at),
        };
        self.met.exhausted += u64::from(how == Ended::Exhausted);
        self.met.failed += u64::from(how == Ended::Failed);
        if let Some(offer) = offer {
            self.met.landed += u64::from(at.is_some());
            self.offers.end(offer);
            self.heard += 1;
        }
        if let Ended::At(at) = how {
            for (step, held) in (0..).zip(held) {
                self.write(at + step, held);
            }
        }
        files.ended(going, how);
    }

    /// A place for a range write that nobody has, and that no inode leads to.
    fn land(&mut self, offer: OfferId, files: &FileSystem, rng: &mut Rng) -> Option<u64> {
        let legal = self.offers.legal(offer);
        let blocks = files.groups.shape().groups() * files.groups.shape().group_blocks();
        let from = rng.below(blocks * SECTORS);
        let at = legal
            .first(from, u64::MAX)
            .or_else(|| legal.first(0, from))?;
        let len = legal.len() / SECTORS;
        self.offers.land(offer, at);
        let at = at / SECTORS;
        let led_to = self.led_to();
        if let Some(block) = (at..at + len).find(|block| led_to.contains(block)) {
            self.wrong.push(format!(
                "block {block} is written, and an inode leads to it"
            ));
        }
        Some(at)
    }

    fn write(&mut self, at: u64, held: Held) {
        match &held {
            Held::Pointers(..) => self.met.pointers += 1,
            Held::Bits(shown) => {
                self.met.bits += 1;
                let before = match self.held.get(&at) {
                    Some(Held::Bits(before)) => before.clone(),
                    _ => Vec::new(),
                };
                let mut newly = shown.iter().filter(|block| !before.contains(block));
                if let Some(block) = newly.find(|block| !self.known.contains(block)) {
                    self.wrong.push(format!(
                        "a bitmap shows block {block}, to which nothing leads"
                    ));
                }
            }
            Held::Data(_) => {}
        }
        self.held.insert(at, held);
        let led_to = self.led_to();
        self.known.extend(led_to);
    }

    /// Blocks to which inodes on the medium lead; notes what is wrong with them.
    fn led_to(&mut self) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        let mut wrong = Vec::new();
        let inodes = self.held.values().filter_map(|held| match held {
            Held::Pointers(Key::Inodes(_), pointers) => Some(pointers),
            _ => None,
        });
        let mut left: Vec<&Pointer> = inodes.flatten().collect();
        while let Some((key, at)) = left.pop() {
            if !found.insert(*at) {
                wrong.push(format!("block {at} is owned twice, by {key:?} as well"));
            }
            match self.held.get(at) {
                Some(Held::Data(of)) if of == key => {}
                Some(Held::Pointers(of, pointers)) if of == key => left.extend(pointers),
                other => wrong.push(format!("{key:?} is to lie at {at}, where {other:?} does")),
            }
        }
        self.wrong.extend(wrong);
        found
    }

    /// Blocks that others had before the first file.
    pub(super) fn begin_with(&mut self, files: &FileSystem) {
        let shape = *files.groups.shape();
        for group in 0..shape.groups() {
            let all = shape.begin(group)..shape.begin(group + 1);
            let taken = all.filter(|at| !files.groups.is_free(*at));
            let shown: Vec<u64> = taken.collect();
            self.held
                .insert(shape.bits_of_blocks(group), Held::Bits(shown));
        }
    }

    /// Whether a block of a file is on the medium, where the file has it.
    pub(super) fn has(&self, key: Key, at: u64) -> bool {
        match self.held.get(&at) {
            Some(Held::Data(of) | Held::Pointers(of, _)) => *of == key,
            _ => false,
        }
    }
}

/// What a block of a write holds when it is sent.
fn holds(files: &FileSystem, going: &Going, step: usize, key: Key) -> Held {
    match key {
        Key::Data(..) => Held::Data(key),
        Key::Indirect(..) | Key::Inodes(_) => {
            let with = going.pointers.iter().find(|(of, _)| *of == step);
            let (_, pointers) = with.expect("it has pointers");
            Held::Pointers(key, pointers.clone())
        }
        Key::BitsOfBlocks(group) => {
            let shape = files.groups.shape();
            let all = shape.begin(group)..shape.begin(group + 1);
            let shown = |at: &u64| !files.groups.is_free(*at) && !files.order.is_bare(*at);
            Held::Bits(all.filter(shown).collect())
        }
        Key::BitsOfInodes(_) => Held::Bits(Vec::new()),
        Key::Map(_) | Key::Checkpoint | Key::Summary => panic!("it is no log"),
    }
}
