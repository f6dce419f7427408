//! Which drive gets what: a placement behind a watch that sees what it plans and what it could have
//! planned.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nearslot_core::contract::{Drives, Persistent, Placement, Shape};
use nearslot_core::freemap::{FreeMap, Slot};
use nearslot_core::ids::DriveId;
use nearslot_core::io::{DriveDone, Tag};
use nearslot_core::offer::Writable;
use nearslot_core::op::Op;
use nearslot_core::plan::{Plan, PlannedIo, Target};
use nearslot_core::position::Search;
use nearslot_core::request::Request;
use nearslot_core::rng::Rng;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

use crate::contents::faults::{Fault, Faulty};
use crate::contents::load;
use crate::contents::rig::Rig;
use crate::contents::setups::{SETUPS, Setup};

/// What a watch has seen.
#[derive(Default)]
struct Seen {
    /// Writes that went to an idle drive, and to a busy one.
    writes: [AtomicU64; 2],
    /// Reads that went to an idle drive, and to all that have the block.
    reads: [AtomicU64; 2],
    /// Slots that are free on all drives.
    free: AtomicU64,
    /// Whether the test lets everything come to rest before each request.
    calm: AtomicBool,
}

impl Seen {
    fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn both(counters: &[AtomicU64; 2]) -> [u64; 2] {
        [0, 1].map(|index| counters[index].load(Ordering::Relaxed))
    }
}

/// A placement that is watched.
struct Watched {
    inner: Box<dyn Placement>,
    setup: Setup,
    /// Drives that a chunk was ever written to.
    owners: BTreeMap<u64, BTreeSet<DriveId>>,
    /// Where a chunk was last written to on a drive.
    places: BTreeMap<(u64, DriveId), Pba>,
    /// Chunks of open writes.
    open: BTreeMap<(DriveId, u64), u64>,
    /// Where a chunk's home is.
    homes: BTreeMap<u64, Target>,
    seen: Arc<Seen>,
}

impl Watched {
    /// Learns from what is written where.
    fn learn(&mut self, plan: &Plan) {
        // What carries no data is the log of the map.
        let writes = plan.ios().filter(|io| io.op == Op::Write);
        for io in writes.filter(|io| io.data.is_some()) {
            // Nothing but a move, home or from a track that is emptied, has an address beforehand.
            let open = matches!(io.target, Target::Open(_));
            let moves_home = self.setup.homes() && !io.awaited;
            let moves_away = self.setup.compacts() && !io.awaited;
            assert!(
                open || moves_home || moves_away || !self.setup.maps(),
                "{io:?} is not eager"
            );
            let data = io.data.expect("a write carries blocks");
            if moves_home && !open {
                let chunk = data.block(0).0 / self.setup.chunk;
                let home = self.homes.entry(chunk).or_insert(io.target);
                assert_eq!(*home, io.target, "chunk {chunk} moves to another home");
            }
            for block in (0..io.len.0).step_by(self.setup.chunk as usize) {
                let chunk = data.block(block).0 / self.setup.chunk;
                self.owners.entry(chunk).or_default().insert(io.drive);
                match io.target {
                    Target::Open(_) => self.open.insert((io.drive, io.tag.0), chunk),
                    Target::At(at) => {
                        self.places.insert((chunk, io.drive), at + Blocks(block));
                        None
                    }
                    Target::Offered(_) | Target::Among(..) => {
                        panic!("nobody offers anything here")
                    }
                };
            }
        }
    }

    /// The chunk that a request is for, if it is exactly one and all of its owners are known.
    fn one_chunk(&self, request: &Request) -> Option<&BTreeSet<DriveId>> {
        let (start, size) = (request.extent.start.0, self.setup.chunk);
        let whole = start.is_multiple_of(size) && request.extent.len.0 == size;
        let owners = self.owners.get(&(start / size)).filter(|_| whole)?;
        (owners.len() == self.setup.copies).then_some(owners)
    }

    /// A write goes to the idle owner that is nearest to a free slot, else to the shortest queue;
    /// so does each further copy.
    fn check_write(
        &self,
        now: Instant,
        owners: &BTreeSet<DriveId>,
        drives: &dyn Drives,
        ios: &[PlannedIo],
    ) {
        let mut left: Vec<DriveId> = owners.iter().copied().collect();
        assert_eq!(ios.len(), self.setup.foreground, "foreground copies");
        let start = |drive: DriveId| {
            let free = self.inner.free(drive).expect("writes are eager");
            crate::support::free::nearest_free(drives.oracle(drive), &Search::anywhere(now), free)
                .map_or(Instant::NEVER, |free_place| free_place.start)
        };
        for io in ios {
            assert!(left.contains(&io.drive), "{io:?} goes to no other owner");
            let idle = left.iter().filter(|drive| drives.idle(**drive));
            let nearest = idle.map(|drive| start(*drive)).min();
            match nearest.filter(|nearest| *nearest != Instant::NEVER) {
                Some(nearest) => {
                    assert!(drives.idle(io.drive), "an owner is idle, not {io:?}'s");
                    assert_eq!(start(io.drive), nearest, "another idle owner is nearer");
                    Seen::count(&self.seen.writes[0]);
                }
                None => {
                    let shortest = left.iter().map(|drive| drives.waiting(*drive)).min();
                    assert_eq!(Some(drives.waiting(io.drive)), shortest, "shortest queue");
                    Seen::count(&self.seen.writes[1]);
                }
            }
            left.retain(|drive| *drive != io.drive);
        }
    }

    /// A read goes to the idle drive whose heads are nearest to its copy, else to all as
    /// alternatives.
    fn check_read(&self, now: Instant, chunk: u64, drives: &dyn Drives, ios: &[PlannedIo]) {
        let alternatives = ios.iter().filter(|io| io.alternative).count();
        assert_eq!(alternatives + 1, ios.len(), "ways to do the same");
        let idle = ios.iter().any(|io| drives.idle(io.drive));
        assert!(!idle || ios.len() == 1, "an idle drive would do");
        Seen::count(&self.seen.reads[usize::from(!idle)]);
        if self.seen.calm.load(Ordering::Relaxed) {
            let position = |drive: DriveId, at: Pba| {
                let oracle = drives.oracle(drive);
                oracle.positioning_time(now, Op::Read, &oracle.locate(at), Blocks(1))
            };
            let owners = self
                .places
                .range((chunk, DriveId(0))..(chunk + 1, DriveId(0)));
            let all = owners.map(|((_, drive), at)| position(*drive, *at));
            let Target::At(at) = ios[0].target else {
                panic!("a read has an address");
            };
            assert_eq!(Some(position(ios[0].drive, at)), all.min(), "nearest");
        }
    }
}

impl Placement for Watched {
    fn shape(&self) -> Shape {
        self.inner.shape()
    }

    fn plan(&mut self, now: Instant, request: &Request, drives: &dyn Drives, out: &mut Plan) {
        self.inner.plan(now, request, drives, out);
        let ios: Vec<PlannedIo> = out.ios().copied().collect();
        if let Some(owners) = self.one_chunk(request) {
            match request.op {
                Op::Write if self.setup.maps() => self.check_write(now, owners, drives, &ios),
                Op::Read if !ios.is_empty() => {
                    let chunk = request.extent.start.0 / self.setup.chunk;
                    self.check_read(now, chunk, drives, &ios);
                }
                _ => {}
            }
        }
        self.learn(out);
    }

    fn writable(&self, drive: DriveId) -> Option<&dyn Writable> {
        self.inner.writable(drive)
    }

    fn free(&self, drive: DriveId) -> Option<&FreeMap> {
        self.inner.free(drive)
    }

    fn bind(&mut self, now: Instant, tag: Tag, drive: DriveId, slot: Slot) {
        let free = self.inner.free(drive).expect("the slot was found there");
        // Sectors of the map are open as well.
        match self.open.remove(&(drive, tag.0)) {
            Some(chunk) => drop(self.places.insert((chunk, drive), free.tracks().at(slot))),
            None => assert!(self.setup.logs(), "it is open"),
        }
        self.inner.bind(now, tag, drive, slot);
    }

    fn done(
        &mut self,
        now: Instant,
        tag: Tag,
        drive: DriveId,
        done: &DriveDone,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        self.inner.done(now, tag, drive, done, drives, out);
        self.learn(out);
    }

    fn skipped(
        &mut self,
        now: Instant,
        tag: Tag,
        drive: DriveId,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        self.inner.skipped(now, tag, drive, drives, out);
        self.learn(out);
    }

    fn withdrawn(&mut self, tag: Tag, drive: DriveId) {
        self.inner.withdrawn(tag, drive);
    }

    fn idle(&mut self, now: Instant, drive: DriveId, drives: &dyn Drives, out: &mut Plan) {
        self.inner.idle(now, drive, drives, out);
        self.learn(out);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.inner.next_timer()
    }

    fn timer(&mut self, now: Instant, out: &mut Plan) {
        self.inner.timer(now, out);
        self.learn(out);
    }

    fn persistent(&self) -> Option<&dyn Persistent> {
        self.inner.persistent()
    }

    /// Counts what is free, too.
    fn audit(&self) {
        self.inner.audit();
        let free = (0..self.shape().drives).filter_map(|drive| self.inner.free(DriveId(drive)));
        let sum = free.map(FreeMap::free).sum();
        self.seen.free.store(sum, Ordering::Relaxed);
    }
}

/// A stack over a watched placement with a fault, with its volume written.
fn watched(setup: &Setup, sched: &str, fault: Fault) -> (Rig, Arc<Seen>) {
    let seen = Arc::<Seen>::default();
    let built = fault.told(setup).build_over(sched, 5, |placement| {
        Box::new(Watched {
            inner: Faulty::over(placement, fault),
            setup: *setup,
            owners: BTreeMap::new(),
            places: BTreeMap::new(),
            open: BTreeMap::new(),
            homes: BTreeMap::new(),
            seen: Arc::clone(&seen),
        })
    });
    let mut rig = Rig::over(setup, built);
    rig.fill();
    rig.settle();
    (rig, seen)
}

/// Setups of eager writing in several copies.
fn eager_copies() -> impl Iterator<Item = &'static Setup> {
    SETUPS
        .iter()
        .filter(|setup| setup.has_slots() && setup.copies > 1)
}

pub(crate) fn check_owners(fault: Fault) {
    let (mut writes, mut reads) = ([0; 2], [0; 2]);
    for setup in eager_copies() {
        let (mut rig, seen) = watched(setup, "satf_ew", fault);
        load::churn(&mut rig, setup, 20, &mut Rng::stream(2, "choices"));
        rig.settle();
        let add = |sum: &mut [u64; 2], seen: [u64; 2]| {
            (sum[0], sum[1]) = (sum[0] + seen[0], sum[1] + seen[1]);
        };
        add(&mut writes, Seen::both(&seen.writes));
        add(&mut reads, Seen::both(&seen.reads));
    }
    let seen = [writes, reads].concat();
    assert!(seen.iter().all(|count| *count > 200), "too few: {seen:?}");
}

pub(crate) fn check_lone_reads(fault: Fault) {
    // What waits for the log may leave its slot again, so that the last one written to is not the
    // place.
    let roomy = |one: &&Setup| {
        let roomy = one.buffer > 100 && !one.logs() && !one.compacts();
        roomy && one.spread() && one.copies > 1 && !one.offers()
    };
    for setup in SETUPS.iter().filter(roomy) {
        let (mut rig, seen) = watched(setup, "satf_ew", fault);
        let mut rng = Rng::stream(2, "lone reads");
        load::storm(&mut rig, setup, &mut rng);
        rig.settle();
        seen.calm.store(true, Ordering::Relaxed);
        for _ in 0..60 {
            let chunk = rng.below(rig.blocks() / setup.chunk);
            rig.submit(Op::Read, chunk * setup.chunk, setup.chunk, 0);
            rig.settle();
            rig.run_until(rig.now + Duration(rng.below(20_000_000)));
        }
        assert!(Seen::both(&seen.reads)[0] >= 60, "{setup:?}");
    }
}

pub(crate) fn check_space(fault: Fault) {
    for setup in SETUPS.iter().filter(|setup| setup.has_slots()) {
        let (mut rig, seen) = watched(setup, "satf_ew", fault);
        let mut rng = Rng::stream(2, "space");
        let free = seen.free.load(Ordering::Relaxed);
        assert!(free > 0, "nothing is free");
        for _ in 0..3 {
            load::storm(&mut rig, setup, &mut rng);
            rig.settle();
            assert_eq!(seen.free.load(Ordering::Relaxed), free, "{setup:?}");
        }
    }
}

pub(crate) fn check_copies(fault: Fault) {
    for setup in SETUPS.iter().filter(|one| one.copies > 1 && !one.offers()) {
        let (mut rig, _) = watched(setup, "satf_ew", fault);
        let mut rng = Rng::stream(1, "lone");
        for _ in 0..20 {
            let (foreground, background) = (rig.rules.foreground, rig.rules.background);
            let chunk = rng.below(rig.blocks() / setup.chunk);
            rig.submit(Op::Write, chunk * setup.chunk, setup.chunk, 0);
            rig.settle();
            let written = rig.rules.foreground - foreground;
            assert_eq!(written, setup.foreground as u64, "{setup:?}");
            let copied = rig.rules.background - background;
            let others = (setup.copies - setup.foreground) as u64;
            // The master's copy goes home: once more, if it was written elsewhere first.
            let most = match setup.name() {
                "distorted_mirror" => others + 1,
                _ => others,
            };
            let fewest = others.max(most.min(1));
            assert!((fewest..=most).contains(&copied), "{copied}: {setup:?}");
        }
    }
}

/// A scheduler that serves these first.
const URGENT: u16 = 1 << 13;

pub(crate) fn check_dropped(fault: Fault) {
    // Writes that wait for the log are served when the drives are no longer busy.
    let delays = |one: &&Setup| one.copies > one.foreground && !one.logs();
    for setup in SETUPS.iter().filter(delays) {
        let (mut rig, _) = watched(setup, "mq-deadline", fault);
        let mut rng = Rng::stream(1, "overwritten");
        let (before, pushed, rounds) = (rig.rules.background, rig.rules.pushed, 40);
        for _ in 0..rounds {
            load::busy(&mut rig, setup, &mut rng);
            rig.submit(Op::Write, 0, setup.chunk, URGENT);
            rig.run_until(rig.now + Duration::from_ms(60));
        }
        rig.settle();
        let all = rounds * (setup.copies - setup.foreground) as u64;
        let done = rig.rules.background - before;
        let dropped = done < all / 4;
        assert_eq!(dropped, setup.buffer > 0, "{done} of {all}: {setup:?}");
        let pushed = rig.rules.pushed - pushed;
        assert_eq!(
            pushed > 0,
            setup.buffer == 0,
            "{pushed} go first: {setup:?}"
        );
    }
}

#[test]
fn reads_and_writes_go_to_the_nearest_idle_drive_or_the_shortest_queue() {
    check_owners(Fault::None);
}

#[test]
fn a_lone_read_goes_to_the_nearest_copy() {
    check_lone_reads(Fault::None);
}

#[test]
fn overwriting_takes_no_space() {
    check_space(Fault::None);
}

#[test]
fn a_lone_write_is_copied_once() {
    check_copies(Fault::None);
}

#[test]
fn copies_that_are_overwritten_are_dropped_unless_they_have_no_room() {
    check_dropped(Fault::None);
}
