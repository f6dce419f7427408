//! Range writes and power cuts: what a pointer on the medium leads to is there.
//!
//! A host keeps files of one extent each. A new version of a file is a range write into what is
//! free; when it is answered and flushed, a pointer to it is written in place, and when that is
//! flushed the old extent is free again. After a power cut the host knows its pointers and nothing
//! else. Until then nothing was promised: what is under way may be torn, wherever it was offered,
//! and a drive with a volatile cache may lose what no flush has covered.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use nearslot_core::contract::{Blueprint, Merging};
use nearslot_core::ids::RequestId;
use nearslot_core::offer::{Offer, Refused};
use nearslot_core::op::{Op, Status};
use nearslot_core::request::{Reply, Request};
use nearslot_core::rng::Rng;
use nearslot_core::stack::Input;
use nearslot_core::units::{Blocks, Instant};

use super::choosing;
use crate::queues::rig::Rig;
use crate::support::{DISK, blueprint, complete_disk, hoarding_disk, scheduler, sorting_disk};

/// Files; the pointer of each is the block of its number.
const FILES: u64 = 12;

/// Blocks behind the pointers.
const DATA: Range<u64> = FILES..90;

/// What a host does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    None,
    /// It writes the pointer as soon as the data are answered.
    PointsAtOnce,
    /// It frees the old extent before the pointer is flushed.
    FreesEarly,
}

/// Where a version of a file lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    version: u64,
    at: u64,
    len: u64,
}

impl Extent {
    fn blocks(&self) -> Range<u64> {
        self.at..self.at + self.len
    }
}

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Data(u64),
    Pointer(Extent),
    Torn,
}

/// What blocks hold, the last write last.
#[derive(Default)]
struct Medium(BTreeMap<u64, Vec<Held>>);

impl Medium {
    fn write(&mut self, block: u64, held: Held) {
        self.0.entry(block).or_default().push(held);
    }

    fn read(&self, block: u64) -> Option<Held> {
        self.0.get(&block)?.last().copied()
    }

    fn lose(&mut self, block: u64) {
        self.0.entry(block).or_default().pop();
    }

    fn pointers(&self) -> impl Iterator<Item = (u64, Extent)> {
        (0..FILES).filter_map(|file| match self.read(file) {
            Some(Held::Pointer(extent)) => Some((file, extent)),
            _ => None,
        })
    }
}

/// What a request of a host is for.
#[derive(Clone, Copy, Debug)]
enum Step {
    Data { file: u64, version: u64, len: u64 },
    Flush { file: u64, extent: Extent },
    Pointer { file: u64, extent: Extent },
    Commit { file: u64, extent: Extent },
}

struct Host {
    rig: Rig,
    rng: Rng,
    slip: Slip,
    number: u64,
    version: u64,
    files: BTreeMap<u64, Extent>,
    free: BTreeSet<u64>,
    busy: BTreeSet<u64>,
    steps: BTreeMap<RequestId, Step>,
    /// What range writes under way have been offered.
    offered: BTreeMap<RequestId, Vec<Range<u64>>>,
    heard: u64,
    answered: usize,
    /// New versions that were promised.
    kept: u64,
}

impl Host {
    /// With what a power cut has left.
    fn new(mut rig: Rig, medium: &Medium, slip: Slip, seed: u64, version: u64) -> Host {
        rig.ended = Some(Vec::new());
        let files: BTreeMap<u64, Extent> = medium.pointers().collect();
        let mut free: BTreeSet<u64> = DATA.collect();
        for block in files.values().flat_map(Extent::blocks) {
            assert!(free.remove(&block), "block {block} belongs to two files");
        }
        Host {
            rig,
            rng: Rng::stream(seed, "host"),
            slip,
            number: 0,
            version,
            files,
            free,
            busy: BTreeSet::new(),
            steps: BTreeMap::new(),
            offered: BTreeMap::new(),
            heard: 0,
            answered: 0,
            kept: 0,
        }
    }

    fn request(&mut self, op: Op, at: u64, len: u64, step: Step) -> Request {
        self.number += 1;
        let request = Request::new(self.number, op, at, len, self.rig.now);
        self.steps.insert(request.id, step);
        request
    }

    /// A new version of a file that has none under way, into some of what is free.
    fn write(&mut self) {
        let file = self.rng.below(FILES);
        let (begin, share) = (DATA.start + self.rng.below(60), 4 + self.rng.below(30));
        let some: Vec<u64> = self
            .free
            .range(begin..)
            .take(share as usize)
            .copied()
            .collect();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for block in some {
            match ranges.last_mut() {
                Some(last) if last.end == block => last.end += 1,
                _ => ranges.push(block..block + 1),
            }
        }
        if ranges.is_empty() || !self.busy.insert(file) {
            return;
        }
        let len = 1 + self.rng.below(3);
        let offer = Arc::new(Offer::list(ranges.clone(), 1).unwrap());
        if let Err(refused) = self.rig.stack.check_offer(&offer, Blocks(len), self.heard) {
            assert!(matches!(refused, Refused::NoCandidate { .. }), "{refused}");
            self.busy.remove(&file);
            return;
        }
        self.version += 1;
        let version = self.version;
        let step = Step::Data { file, version, len };
        let hint = offer.first(0, u64::MAX, len).expect("there is a place");
        let request = Request {
            offered: true,
            ..self.request(Op::Write, hint, len, step)
        };
        self.offered.insert(request.id, ranges);
        self.rig.give(Input::Offer(request, offer, self.heard));
    }

    fn flush(&mut self, step: Step) {
        let request = self.request(Op::Flush, 0, 0, step);
        self.rig.submit(request);
    }

    fn point(&mut self, file: u64, extent: Extent) {
        let request = self.request(Op::Write, file, 1, Step::Pointer { file, extent });
        self.rig.submit(request);
    }

    fn release(&mut self, file: u64) {
        let old = self.files.get(&file).map(Extent::blocks);
        self.free.extend(old.into_iter().flatten());
    }

    fn hear(&mut self, reply: &Reply) {
        let step = self.steps.remove(&reply.request.id).expect("answered once");
        match step {
            Step::Data { file, version, len } => {
                self.heard += 1;
                self.offered.remove(&reply.request.id);
                if reply.status != Status::Done {
                    self.busy.remove(&file);
                    return;
                }
                let at = reply.request.extent.start.0;
                let extent = Extent { version, at, len };
                extent
                    .blocks()
                    .for_each(|block| _ = self.free.remove(&block));
                match self.slip {
                    Slip::PointsAtOnce => self.point(file, extent),
                    _ => self.flush(Step::Flush { file, extent }),
                }
            }
            Step::Flush { file, extent } => self.point(file, extent),
            Step::Pointer { file, extent } => {
                if self.slip == Slip::FreesEarly {
                    self.release(file);
                }
                self.flush(Step::Commit { file, extent });
            }
            Step::Commit { file, extent } => {
                if self.slip != Slip::FreesEarly {
                    self.release(file);
                }
                self.files.insert(file, extent);
                self.busy.remove(&file);
                self.kept += 1;
            }
        }
    }

    /// So many events; what the drive has done is on the medium, or in its cache.
    fn run(&mut self, events: u64, medium: &mut Medium) {
        for _ in 0..events {
            if self.busy.len() < 6 && self.rng.chance(0.6) {
                self.write();
            } else {
                self.rig.step(Instant::NEVER);
            }
            for (request, done) in std::mem::take(self.rig.ended.as_mut().unwrap()) {
                if done.op != Op::Write || !done.status.is_done() {
                    continue;
                }
                let step = self.steps[&request.expect("it is a request's")];
                for block in done.at.0..(done.at + done.len).0 {
                    medium.write(block, holds(&step));
                }
            }
            while let Some((_, reply)) = self.rig.replies.get(self.answered).copied() {
                self.answered += 1;
                self.hear(&reply);
            }
        }
    }

    /// The power goes. What a cache has may be lost, block by block, and what is under way is torn,
    /// wherever it may have landed.
    fn cut(&mut self, medium: &mut Medium) {
        for run in self.rig.volatile() {
            for block in run.at.0..(run.at + run.len).0 {
                if self.rng.chance(0.5) {
                    medium.lose(block);
                }
            }
        }
        for ranges in self.offered.values() {
            // What others have taken since was not had.
            let taken = |block: &u64| medium.read(*block).is_some() && !self.free.contains(block);
            let blocks = ranges
                .iter()
                .cloned()
                .flatten()
                .filter(|block| !taken(block));
            let torn: Vec<u64> = blocks.collect();
            for block in torn {
                if self.rng.chance(0.5) && !self.landed(block) {
                    medium.write(block, Held::Torn);
                }
            }
        }
        for (request, command) in &self.rig.under_way {
            let step = request.and_then(|request| self.steps.get(&request));
            if let Some(step @ Step::Pointer { .. }) = step
                && self.rng.chance(0.5)
            {
                // A sector is written as a whole or not at all.
                medium.write(command.at.0, holds(step));
            }
        }
    }

    /// Whether another one that was answered, and has not been pointed to, lies there.
    fn landed(&self, block: u64) -> bool {
        self.steps.values().any(|step| match step {
            Step::Flush { extent, .. }
            | Step::Pointer { extent, .. }
            | Step::Commit { extent, .. } => extent.blocks().contains(&block),
            Step::Data { .. } => false,
        })
    }
}

/// What a block holds that a step has written.
fn holds(step: &Step) -> Held {
    match step {
        Step::Data { version, .. } => Held::Data(*version),
        Step::Pointer { extent, .. } => Held::Pointer(*extent),
        Step::Flush { .. } | Step::Commit { .. } => unreachable!("a flush writes nothing"),
    }
}

/// Every pointer leads to its version, and what was promised is not forgotten.
fn check(medium: &Medium, promised: &BTreeMap<u64, Extent>) {
    for (file, extent) in medium.pointers() {
        for block in extent.blocks() {
            let expected = Some(Held::Data(extent.version));
            assert_eq!(medium.read(block), expected, "block {block} of file {file}");
        }
    }
    let found: BTreeMap<u64, Extent> = medium.pointers().collect();
    for (file, extent) in promised {
        let version = found.get(file).map(|extent| extent.version);
        assert!(
            version >= Some(extent.version),
            "file {file} is {version:?}"
        );
    }
}

fn suffer(text: &str, sorts: bool, name: &'static str, slip: Slip) -> u64 {
    let blueprint: Box<dyn Blueprint> = match sorts {
        true => choosing(text, name),
        false => blueprint(text),
    };
    let (mut medium, mut kept, mut version) = (Medium::default(), 0, 0);
    for life in 0..60 {
        let rig = Rig::over(&*blueprint, scheduler(name, &*blueprint), Merging::None);
        let mut host = Host::new(rig, &medium, slip, life, version);
        let events = host.rng.below(300);
        host.run(events, &mut medium);
        host.cut(&mut medium);
        check(&medium, &host.files);
        (kept, version) = (kept + host.kept, host.version);
    }
    kept
}

/// Disks without a cache, with a volatile one and with one that gathers writes; the host chooses,
/// or the drive.
fn all(slip: Slip) {
    for text in [DISK, &complete_disk(), &hoarding_disk(), &sorting_disk()] {
        for sorts in [false, true] {
            for name in ["satf", "aged_satf", "expand", "fcfs"] {
                let kept = suffer(text, sorts, name, slip);
                assert!(kept > 100, "{name}: only {kept} versions were kept");
            }
        }
    }
}

#[test]
fn what_a_pointer_leads_to_is_there_after_a_power_cut() {
    all(Slip::None);
}

#[test]
#[should_panic(expected = "of file")]
fn a_pointer_that_is_written_before_its_data_are_flushed_leads_to_nothing() {
    all(Slip::PointsAtOnce);
}

#[test]
#[should_panic(expected = "of file")]
fn what_is_freed_before_its_pointer_is_overwritten_is_gone() {
    all(Slip::FreesEarly);
}
