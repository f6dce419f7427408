//! Range writes on drives with zones: disks whose zones the host chooses, disks with a queue, and
//! flash that works on many commands at a time and ends them in any order.
//!
//! The client of the suite keeps an account of its zones. A block is free again only when its zone
//! was reset; what has landed in a zone lies there without a gap from its begin on; nobody lands in
//! a zone in which a write has failed. Beside that it writes in one zone in order, without waiting
//! for answers, and anywhere in the conventional one.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use nearslot_core::contract::{Blueprint, Drive, Merging};
use nearslot_core::drive;
use nearslot_core::drive::queued::QueuedBlueprint;
use nearslot_core::ids::RequestId;
use nearslot_core::io::{Command, DriveDone, Unwritten};
use nearslot_core::measure::Tell;
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::registry::KnobValue;
use nearslot_core::request::{Reply, Request};
use nearslot_core::rng::Rng;
use nearslot_core::stack::Input;
use nearslot_core::units::{Duration, Instant};
use nearslot_core::zones::ZoneShape;

use super::client::{Client, Counts, Habits};
use super::{offer, range_write, requests, schedulers};
use crate::conformance::drives::SSD;
use crate::queues::rig::{CONTIGUOUS, Rig};
use crate::support::{DISK, NULL, complete_disk, scheduler};

/// A drive with zones.
pub(crate) fn zoned(text: &str, knobs: &[(&str, i64)]) -> Box<dyn Blueprint> {
    let knob = |(key, value): &(&str, i64)| ((*key).to_owned(), KnobValue::Integer(*value));
    let mut knobs: Vec<_> = knobs.iter().map(knob).collect();
    if text.contains("kind = 'ssd'") {
        knobs.push((
            "precondition".to_owned(),
            KnobValue::Text("empty".to_owned()),
        ));
    }
    let (blueprint, _) = drive::read("of the test", text, &knobs).expect("the test's drive");
    blueprint
}

/// Zones of 64 blocks, of which 60 can be written; the first one is conventional.
const CUT: &[(&str, i64)] = &[
    ("zone_blocks", 64),
    ("zone_capacity_blocks", 60),
    ("conventional_blocks", 64),
    ("append_max_blocks", 8),
];

/// What a client knows of zones: the first so many are offered, the next one is written in order.
pub(crate) struct Account {
    pub(crate) shape: ZoneShape,
    offered: u32,
    /// Whether it writes multiples of what it aligns to.
    pub(crate) keeps_aligned: bool,
    /// Blocks that are written of the zone that is written in order.
    written: u64,
    /// Resets that have not ended, but for that zone.
    pub(crate) resets: BTreeMap<RequestId, u32>,
    /// Zones that cannot be reset.
    dead: BTreeSet<u32>,
    /// A write found no zone.
    pub(crate) wants_room: bool,
    /// What has landed in zones since their last reset, by address: the end, and who wrote it.
    landed: BTreeMap<u64, (u64, RequestId)>,
}

impl Account {
    fn drawn(shape: ZoneShape, seed: u64) -> Account {
        let mut rng = Rng::stream(seed, "zones of a client");
        Account {
            shape,
            offered: [3, 8, 40][rng.below(3) as usize],
            keeps_aligned: rng.chance(0.7),
            written: 0,
            resets: BTreeMap::new(),
            dead: BTreeSet::new(),
            wants_room: false,
            landed: BTreeMap::new(),
        }
    }

    /// All blocks of a zone.
    pub(crate) fn of(&self, zone: u32) -> Range<u64> {
        let begin = self.shape.begin(zone);
        begin..begin + self.shape.blocks
    }

    pub(crate) fn writable_of(&self, zone: u32) -> Range<u64> {
        let begin = self.shape.begin(zone);
        begin..begin + self.shape.capacity
    }

    pub(crate) fn writable(&self) -> impl Iterator<Item = u64> {
        (0..self.offered).flat_map(|zone| self.writable_of(zone))
    }

    pub(crate) fn blocks(&self) -> u64 {
        u64::from(self.offered) * self.shape.capacity
    }

    pub(crate) fn in_order(&self) -> Range<u64> {
        self.of(self.offered)
    }

    /// Where the next write of the zone that is written in order begins. If it is full it is to be
    /// reset, and none is given.
    pub(crate) fn next_in_order(&mut self, len: u64) -> Option<u64> {
        if self.written + len > self.shape.capacity {
            self.written = 0;
            return None;
        }
        self.written += len;
        Some(self.in_order().start + self.written - len)
    }

    /// From where on an offer goes, and how many free blocks it has: of about a zone, some zones or
    /// all.
    pub(crate) fn some(&self, share: usize, rng: &mut Rng) -> (u64, u64) {
        let zone = rng.below(u64::from(self.offered)) as u32;
        let begin = match share {
            2 => self.shape.begin(0),
            _ => self.shape.begin(zone) + [0, 0, 0, 7][rng.below(4) as usize],
        };
        (begin, [self.shape.capacity, 200, self.blocks()][share])
    }

    /// A zone that is to be reset now, if any is: one that is used up, the fullest if a write found
    /// no room, or any now and then.
    pub(crate) fn due_for_reset(&mut self, free: &BTreeSet<u64>, rng: &mut Rng) -> Option<u32> {
        let may = |zone: &u32| {
            !self.dead.contains(zone) && !self.resets.values().any(|other| other == zone)
        };
        let left = |zone: &u32| free.range(self.writable_of(*zone)).count();
        let fullest = (0..self.offered).filter(may).min_by_key(left)?;
        if rng.chance(0.002) {
            return Some(rng.below(u64::from(self.offered)) as u32).filter(may);
        }
        let full = left(&fullest) < 8;
        let wanted = std::mem::take(&mut self.wants_room) && rng.chance(0.5);
        (wanted || full && rng.chance(0.3)).then_some(fullest)
    }

    /// What has landed in a zone lies there without a gap.
    fn check(&self, zone: u32) {
        let mut behind = self.shape.begin(zone);
        for (begin, (end, _)) in self.landed.range(self.writable_of(zone)) {
            assert_eq!(*begin, behind, "zone {zone} has a gap");
            behind = *end;
        }
    }

    pub(crate) fn was_reset(&mut self, zone: u32, status: Status) {
        self.check(zone);
        if status == Status::Failed(Failure::Zone) {
            self.dead.insert(zone);
            return;
        }
        let zone = self.writable_of(zone);
        self.landed.retain(|begin, _| !zone.contains(begin));
    }

    /// A write has landed, or has tried to. Whether it lies behind one that was asked for later, or
    /// one that lies behind it has ended before.
    pub(crate) fn landed(&mut self, request: RequestId, at: u64, len: u64) -> bool {
        let zone = self
            .shape
            .zone_of(at)
            .expect("no range write is conventional");
        let of = self.writable_of(zone);
        assert!(at + len <= of.end, "zone {zone} is not so long");
        assert!(!self.dead.contains(&zone), "zone {zone} is read-only");
        let last = self.landed.range(of).next_back();
        let reordered = last.is_some_and(|(last, (_, other))| at < *last || request < *other);
        let before = self.landed.insert(at, (at + len, request));
        assert!(before.is_none(), "two at block {at}");
        reordered
    }
}

/// A drive on which some blocks cannot be written, and which tells the end of some commands late:
/// those that end later may be told before.
struct Shaken {
    inner: Box<dyn Drive>,
    rng: Rng,
    bad: Range<u64>,
    /// How late an end is told at most.
    late: Duration,
    held: Vec<(Instant, DriveDone)>,
}

impl Drive for Shaken {
    fn depth(&self) -> u32 {
        self.inner.depth()
    }

    fn submit(&mut self, now: Instant, command: &Command) {
        self.inner.submit(now, command);
    }

    fn next_event(&self) -> Option<Instant> {
        let held = self.held.iter().map(|(due, _)| *due).min();
        self.inner.next_event().into_iter().chain(held).min()
    }

    fn advance(&mut self, now: Instant) -> Option<DriveDone> {
        while let Some(mut done) = self.inner.advance(now) {
            let meets = done.at.0 < self.bad.end && self.bad.start < (done.at + done.len).0;
            if done.op == Op::Write && meets {
                done.status = Status::Failed(Failure::Medium);
            }
            if self.late.0 == 0 || self.rng.chance(0.5) {
                return Some(done);
            }
            let late = Duration(self.rng.below(self.late.0));
            self.held.push((now + late, done));
        }
        let due = self.held.iter().position(|(due, _)| *due <= now)?;
        Some(self.held.swap_remove(due).1)
    }

    fn volatile(&self, now: Instant, out: &mut Vec<Unwritten>) {
        self.inner.volatile(now, out);
    }

    fn tell(&self, tell: Tell<'_>) {
        self.inner.tell(tell);
    }
}

fn run(blueprint: &dyn Blueprint, name: &str, late: Duration, seed: u64) -> Counts {
    let mut habits = Habits::drawn(seed);
    let shape = blueprint.zones().expect("it has zones");
    let account = Account::drawn(shape, seed);
    let begin = shape.begin(account.offered / 2);
    let bad = if std::mem::take(&mut habits.bad) {
        begin + 20..begin + 23
    } else {
        0..0
    };
    let wrap = move |inner| -> Box<dyn Drive> {
        Box::new(Shaken {
            inner,
            rng: Rng::stream(seed, "shaken"),
            bad: bad.clone(),
            late,
            held: Vec::new(),
        })
    };
    let drive = blueprint.wrapped(seed, "drive", &wrap);
    let rig = Rig::with(blueprint, drive, scheduler(name, blueprint), CONTIGUOUS);
    let mut client = Client::over_zones(rig, habits, seed, account);
    client.run(requests());
    client.counts
}

/// What every kind of drive has to have met.
fn check(kind: &str, counts: &Counts) {
    assert!(counts.landed > 10_000, "{kind}: {counts:?}");
    assert!(
        counts.exhausted > 50 && counts.refused > 20,
        "{kind}: {counts:?}"
    );
    assert!(counts.resets > 200 && counts.dead > 3, "{kind}: {counts:?}");
    assert!(
        counts.late > 1_000 && counts.too_long > 100,
        "{kind}: {counts:?}"
    );
    assert!(
        counts.retried > 3 && counts.in_order > 1_000,
        "{kind}: {counts:?}"
    );
}

#[test]
fn nobody_writes_where_another_one_does_in_the_zones_of_disks() {
    let disk = complete_disk();
    let mut sum = Counts::default();
    for (number, name) in schedulers().enumerate() {
        for (index, text) in [DISK, &disk].into_iter().enumerate() {
            let seed = 300 + 10 * number as u64 + index as u64;
            sum.add(&run(&*zoned(text, CUT), name, Duration::ZERO, seed));
        }
    }
    check("disks", &sum);
}

#[test]
fn nobody_writes_where_another_one_does_in_the_zones_of_disks_that_choose() {
    let disk = complete_disk();
    let mut sum = Counts::default();
    for (number, name) in schedulers().enumerate() {
        for (index, text) in [DISK, &disk].into_iter().enumerate() {
            let seed = 700 + 10 * number as u64 + index as u64;
            let firmware = Arc::new(move |bare: &dyn Blueprint| scheduler(name, bare));
            let depth = [2, 8, 64][number % 3];
            let disk = QueuedBlueprint::new(zoned(text, CUT), depth, firmware);
            sum.add(&run(&disk, name, Duration::ZERO, seed));
        }
    }
    check("disks that choose", &sum);
    assert!(sum.reordered > 500, "{sum:?}");
}

#[test]
fn nobody_writes_where_another_one_does_in_the_zones_of_flash() {
    let deep = SSD.replace("queue_depth = 8", "queue_depth = 64");
    let mut sum = Counts::default();
    for (number, name) in schedulers().enumerate() {
        for (index, text) in [&deep, SSD, NULL].into_iter().enumerate() {
            let seed = 1_200 + 10 * number as u64 + index as u64;
            let late = Duration::from_us([0, 300, 20_000][number % 3]);
            sum.add(&run(&*zoned(text, CUT), name, late, seed));
        }
    }
    check("flash", &sum);
    assert!(sum.reordered > 500, "{sum:?}");
}

/// A write that is refused moves no arm: a disk that chooses goes on from where it is, and its host
/// knows that.
#[test]
fn what_is_refused_moves_no_arm() {
    let buffered = complete_disk();
    for (depth, text) in [(1, DISK), (8, DISK), (1, &buffered), (8, &buffered)] {
        let firmware = Arc::new(|bare: &dyn Blueprint| scheduler("satf", bare));
        let disk: Box<dyn Blueprint> = match depth {
            1 => zoned(text, CUT),
            _ => Box::new(QueuedBlueprint::new(zoned(text, CUT), depth, firmware)),
        };
        let mut rig = Rig::over(&*disk, scheduler("satf", &*disk), Merging::None);
        rig.submit(Request::new(1, Op::Write, 12_700, 1, rig.now));
        // It is under way when these come.
        for (id, at) in [(2, 12_000), (3, 160)] {
            rig.submit(Request::new(id, Op::Read, at, 1, rig.now));
        }
        rig.settle();
        let (_, refused) = rig.replies[0];
        assert_eq!(refused.status, Status::Failed(Failure::Zone));
        let order: Vec<u64> = rig
            .replies
            .iter()
            .map(|(_, reply)| reply.request.id.0)
            .collect();
        assert_eq!(order, [1, 3, 2], "depth {depth}");
    }
}

/// One that waits in the drive since before a zone was written and reset may land where others did.
#[test]
fn what_a_reset_frees_is_to_be_had_by_who_waits() {
    let firmware = Arc::new(|bare: &dyn Blueprint| scheduler("satf", bare));
    let disk = QueuedBlueprint::new(zoned(DISK, CUT), 8, firmware);
    let mut rig = Rig::over(&disk, scheduler("satf", &disk), Merging::None);
    rig.give(Input::Offer(range_write(1, 64, 4), offer(&[64..128]), 0));
    rig.submit(Request::new(2, Op::Discard, 64, 64, rig.now));
    rig.give(Input::Offer(range_write(3, 64, 2), offer(&[64..128]), 0));
    rig.settle();
    // What lands is told at its end.
    assert_eq!(rig.commands, [(64, 64), (64, 4), (64, 2)]);
    let done = |(_, reply): &(_, Reply)| reply.status.is_done();
    assert!(rig.replies.iter().all(done), "{:?}", rig.replies);
}
