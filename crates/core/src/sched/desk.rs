//! A desk for unit tests of schedulers: one scheduler over one small disk whose times can be
//! written out.
//!
//! The disk has 10 cylinders of one track. A track holds 10 blocks and turns in 10 ms, so that a
//! block passes in 1 ms. A seek over `n` cylinders takes `n - 0.5` ms. Tracks are not skewed: block
//! 37 lies on cylinder 3, and begins to pass at 7 ms, 17 ms, 27 ms and so on. The arm begins on
//! cylinder 0 at time 0.

#![cfg(test)]

use std::ops::Range;
use std::sync::Arc;

use crate::config::PartConfig;
use crate::contract::{Blueprint, Next, Oracle, Scheduler, View};
use crate::drive;
use crate::freemap::{FreeMap, Slot};
use crate::ids::{IoId, StreamId};
use crate::io::{Command, Io};
use crate::offer::{Offer, OfferId, Offers};
use crate::op::Op;
use crate::registry::DriveEnv;
use crate::stream::Streams;
use crate::units::{Blocks, Duration, Instant, Pba};

pub(crate) const DISK: &str = "
    kind = 'hdd'
    rpm = 6000
    heads = 1
    cylinders = 10
    head_switch_ms = 0.0
    write_settle_ms = 0.0
    sparing = { at = 'zone-end' }
    seek_ms = [[1, 0.5], [9, 8.5]]
    [[zones]]
    cylinders = [0, 9]
    sectors_per_track = 10
    track_skew_sectors = 0
    cylinder_skew_sectors = 0
";

/// 100 blocks, each in 1 ms, and no arm.
const ARMLESS: &str = "kind = 'null'\ncapacity_blocks = 100\nservice_us = 1000.0";

/// What a scheduler let the drive do, and at which millisecond it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Did {
    Read(u64, u64),
    Write(u64, u64),
    Seek(u64, u64),
}

/// A scheduler, the I/Os that wait there, and the drive.
pub(super) struct Desk {
    scheduler: Box<dyn Scheduler>,
    oracle: Box<dyn Oracle>,
    free: FreeMap,
    offers: Offers,
    ios: Vec<Io>,
    pub(super) now: Instant,
}

impl Desk {
    /// Over the small disk.
    pub(super) fn new(scheduler: &str) -> Desk {
        Desk::over(DISK, scheduler)
    }

    /// Over a drive without an arm.
    pub(super) fn without_arm(scheduler: &str) -> Desk {
        Desk::over(ARMLESS, scheduler)
    }

    pub(super) fn over(drive: &str, scheduler: &str) -> Desk {
        let (blueprint, _) = drive::read("small", drive, &[]).unwrap();
        let tracks = Arc::new(blueprint.tracks(Blocks(1)).unwrap());
        Desk {
            scheduler: built(scheduler, &*blueprint),
            oracle: blueprint.exact(),
            free: FreeMap::full(tracks),
            offers: Offers::default(),
            ios: Vec::new(),
            now: Instant::ZERO,
        }
    }

    /// These blocks are free, and no others.
    pub(super) fn free(mut self, blocks: &[u64]) -> Desk {
        // Slots are blocks here.
        blocks
            .iter()
            .for_each(|block| self.free.release(Slot(*block as u32)));
        self
    }

    fn insert(&mut self, op: Op, at: u64, len: u64, open: bool) {
        self.insert_with(op, at, len, (open, None));
    }

    fn insert_with(&mut self, op: Op, at: u64, len: u64, (open, offer): (bool, Option<OfferId>)) {
        let io = Io {
            id: IoId(self.ios.len() as u32),
            sequence: self.ios.len() as u64,
            stream: StreamId(0),
            op,
            at: Pba(at),
            open,
            offer,
            len: Blocks(len),
            arrived: self.now,
            priority: 0,
            place: self.oracle.locate(Pba(at)),
            fua: false,
            sync: op == Op::Read,
        };
        self.ios.push(io);
        self.scheduler.insert(self.now, &io, &Streams::default());
        self.scheduler.audit();
    }

    /// Reads of one block each arrive.
    pub(super) fn reads(mut self, blocks: &[u64]) -> Desk {
        blocks
            .iter()
            .for_each(|at| self.insert(Op::Read, *at, 1, false));
        self
    }

    /// A longer read arrives.
    pub(super) fn long_read(mut self, at: u64, len: u64) -> Desk {
        self.insert(Op::Read, at, len, false);
        self
    }

    /// Writes of one block each arrive, which must go there.
    pub(super) fn writes(mut self, blocks: &[u64]) -> Desk {
        blocks
            .iter()
            .for_each(|at| self.insert(Op::Write, *at, 1, false));
        self
    }

    /// So many writes of one block arrive, which may go to any free block.
    pub(super) fn open_writes(mut self, count: usize) -> Desk {
        (0..count).for_each(|_| self.insert(Op::Write, 0, 1, true));
        self
    }

    /// A write of one block arrives that may go to any block of these ranges.
    pub(super) fn range_write(self, ranges: &[Range<u64>]) -> Desk {
        self.long_range_write(ranges, 1)
    }

    /// The same of more blocks.
    pub(super) fn long_range_write(mut self, ranges: &[Range<u64>], len: u64) -> Desk {
        let offer = Arc::new(Offer::list(ranges.to_vec(), 1).unwrap());
        let epoch = self.offers.taken().completions();
        let hint = offer.first(0, u64::MAX, len);
        let hint = hint.expect("something is offered");
        let offer = self.offers.make(offer, len, epoch);
        self.insert_with(Op::Write, hint, len, (false, Some(offer)));
        self
    }

    /// Takes back the I/O that arrived as number `index`.
    pub(super) fn withdraw(mut self, index: usize) -> Desk {
        self.scheduler.withdraw(self.now, &self.ios[index]);
        self.scheduler.audit();
        self
    }

    /// Time passes without a command.
    pub(super) fn wait_ms(mut self, ms: u64) -> Desk {
        self.now += Duration::from_ms(ms);
        self
    }

    /// The next step; none if nothing can be done.
    pub(super) fn step(&mut self) -> Option<Did> {
        self.oracle.advance(self.now);
        let view = View {
            now: self.now,
            oracle: &*self.oracle,
            capacity: Blocks(100),
            free: Some(&self.free),
            offers: self.offers.within(None),
            in_flight: 0,
            depth: 1,
        };
        let next = self.scheduler.next(&view);
        self.scheduler.audit();
        match next {
            Next::Start(id) => {
                let Io {
                    op, at, len, offer, ..
                } = self.ios[id.index()];
                let nearest = |offer| view.nearest_offered(offer, Instant::NEVER);
                match offer.map(nearest) {
                    None => Some(self.run(op, at, len)),
                    Some(Some(landing)) => Some(self.land(id, landing.at)),
                    Some(None) => self.step(),
                }
            }
            Next::Land(id, at) => Some(self.land(id, at)),
            Next::Place(id, slot) => {
                self.free.take(slot);
                let at = self.free.tracks().at(slot);
                Some(self.run(Op::Write, at, self.ios[id.index()].len))
            }
            Next::Seek(at) => Some(self.run(Op::Seek, at, Blocks(0))),
            Next::WaitUntil(_) | Next::Empty => None,
        }
    }

    /// A range write goes there.
    fn land(&mut self, id: IoId, at: Pba) -> Did {
        let Io { offer, len, .. } = self.ios[id.index()];
        let offer = offer.expect("it is a range write");
        self.offers.land(offer, at.0);
        let did = self.run(Op::Write, at, len);
        self.offers.end(offer);
        did
    }

    /// Everything that is done from now on.
    pub(super) fn run_all(mut self) -> Vec<Did> {
        let all: Vec<Did> = std::iter::from_fn(|| self.step()).collect();
        assert_eq!(self.scheduler.len(), 0, "an I/O was left");
        all
    }

    /// The blocks in the order in which they are served, without the times.
    pub(super) fn order(self) -> Vec<u64> {
        let all = self.run_all();
        let blocks = all.iter().map(|did| match did {
            Did::Read(at, _) | Did::Write(at, _) | Did::Seek(at, _) => *at,
        });
        blocks.collect()
    }

    /// The drive does what was decided.
    fn run(&mut self, op: Op, at: Pba, len: Blocks) -> Did {
        let (io, now) = (IoId(0), self.now);
        let time = match (op, self.oracle.arm()) {
            (Op::Seek, None) => Duration::ZERO,
            (Op::Seek, Some(arm)) => arm.seek_time(now, op, arm.locate(at).arm_position(), len),
            _ => self.oracle.service_time(now, op, at, len),
        };
        self.oracle.started(
            now,
            &Command {
                io,
                op,
                at,
                len,
                fua: false,
            },
        );
        self.now = now + time;
        // The oracle knows where a command without a word of the drive leaves the arm.
        let done = crate::io::DriveDone {
            io,
            op,
            at,
            len,
            status: crate::op::Status::Done,
            cost: crate::op::Cost::default(),
            arm: None,
        };
        self.oracle.observed(self.now, &done);
        let ms = (self.now.0 + 500_000) / 1_000_000;
        match op {
            Op::Write => Did::Write(at.0, ms),
            Op::Seek => Did::Seek(at.0, ms),
            _ => Did::Read(at.0, ms),
        }
    }
}

/// A scheduler from the word that names it.
fn built(word: &str, blueprint: &dyn Blueprint) -> Box<dyn Scheduler> {
    let part: PartConfig = word.parse().unwrap();
    let env = DriveEnv {
        seed: 1,
        label: "sched/0",
        blueprint,
    };
    part.build(&env).unwrap()
}
