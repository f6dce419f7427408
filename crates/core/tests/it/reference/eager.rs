//! Twins of the eager-writing schedulers: plain lists, every read priced and every free slot tried,
//! after the pseudo-code of the reference notes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nearslot_core::contract::{Arm, Next, Scheduler, View};
use nearslot_core::freemap::Slot;
use nearslot_core::ids::IoId;
use nearslot_core::io::Io;
use nearslot_core::op::Op;
use nearslot_core::position::{ArmPosition, FreePlace, Search, Then};
use nearslot_core::rng::Rng;
use nearslot_core::stream::Streams;
use nearslot_core::units::{Blocks, Duration, Instant};
use proptest::prelude::*;

use crate::reference::twin::{Definition, Queue, compare_eager, steps};
use crate::support::free::nearest_free;
use crate::support::{Ask, DISK, Rig, blueprint, oracle, scheduler};

/// Where the reads and the writes of a queue stand in it.
pub(crate) fn parts(queue: &Queue) -> (Vec<usize>, Vec<usize>) {
    (0..queue.len()).partition(|index| !queue[*index].open)
}

fn oldest(queue: &Queue, among: &[usize]) -> Option<usize> {
    among
        .iter()
        .copied()
        .min_by_key(|index| queue[*index].sequence)
}

/// Positioning time of the nearest and which it is.
pub(crate) fn satf(queue: &Queue, reads: &[usize], view: &View<'_>) -> Option<(Duration, usize)> {
    let price = |index: &usize| {
        let io = &queue[*index];
        let time = view
            .oracle
            .positioning_time(view.now, io.op, &io.place, io.len);
        (time, io.sequence)
    };
    let best = reads.iter().copied().min_by_key(price)?;
    Some((price(&best).0, best))
}

/// Where the arm is. A drive without one has a single cylinder.
fn arm_position(view: &View<'_>) -> ArmPosition {
    let arm = view.oracle.arm();
    arm.map_or_else(ArmPosition::default, Arm::position)
}

/// The cylinder of the drive's tracks under the arm at a position.
fn cylinder(view: &View<'_>, position: ArmPosition) -> u32 {
    let tracks = view.free.expect("slots").tracks();
    let arm = view.oracle.arm();
    arm.map_or(0, |arm| arm.track_cylinder(tracks, position))
}

/// Cylinders with something free.
fn cylinders(view: &View<'_>) -> Vec<u32> {
    let free = view.free.expect("slots");
    let of = |slot: Slot| free.tracks().place(slot).0 as u32 / free.tracks().surfaces();
    let mut cylinders: Vec<u32> = free.iter().map(of).collect();
    cylinders.dedup();
    cylinders
}

/// The nearest free slot in a direction that is kept as long as something is free farther on.
pub(crate) fn sweep(upward: &mut bool, view: &View<'_>) -> Option<FreePlace> {
    let here = cylinder(view, arm_position(view));
    let cylinders = cylinders(view);
    let above = cylinders.iter().any(|cylinder| *cylinder > here);
    let below = cylinders.iter().any(|cylinder| *cylinder < here);
    match *upward {
        true if !above && below => *upward = false,
        false if !below && above => *upward = true,
        _ => {}
    }
    let search = Search {
        low: if *upward { here } else { 0 },
        high: if *upward { u32::MAX } else { here },
        ..Search::anywhere(view.now)
    };
    nearest_free(view.oracle, &search, view.free?)
}

fn place(queue: &Queue, index: usize, free_place: FreePlace) -> Result<usize, Next> {
    Err(Next::Place(queue[index].id, free_place.slot))
}

pub(crate) struct SatfEw {
    pub(crate) upward: bool,
}

impl Definition for SatfEw {
    fn choose(&mut self, queue: &Queue, view: &View<'_>) -> Result<usize, Next> {
        let (reads, writes) = parts(queue);
        let read = satf(queue, &reads, view);
        let Some(write) = oldest(queue, &writes) else {
            return Ok(read.expect("something waits").1);
        };
        let free_place = sweep(&mut self.upward, view).expect("half are free");
        match read {
            Some((time, index)) if view.now + time <= free_place.start => Ok(index),
            _ => place(queue, write, free_place),
        }
    }
}

struct ReadFirst {
    upward: bool,
}

impl Definition for ReadFirst {
    fn choose(&mut self, queue: &Queue, view: &View<'_>) -> Result<usize, Next> {
        let (reads, writes) = parts(queue);
        if let Some((_, read)) = satf(queue, &reads, view) {
            return Ok(read);
        }
        let write = oldest(queue, &writes).expect("something waits");
        place(
            queue,
            write,
            sweep(&mut self.upward, view).expect("half are free"),
        )
    }
}

pub(crate) struct WriteFirst {
    pub(crate) upward: bool,
    pub(crate) age_limit: Option<Duration>,
}

impl Definition for WriteFirst {
    fn choose(&mut self, queue: &Queue, view: &View<'_>) -> Result<usize, Next> {
        let (reads, writes) = parts(queue);
        if let (Some(read), Some(limit)) = (oldest(queue, &reads), self.age_limit)
            && queue[read].arrived + limit <= view.now
        {
            return Ok(read);
        }
        match oldest(queue, &writes) {
            Some(write) => place(
                queue,
                write,
                sweep(&mut self.upward, view).expect("half are free"),
            ),
            None => Ok(satf(queue, &reads, view).expect("something waits").1),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Order {
    Satf,
    Scan,
    Hybrid,
}

pub(crate) struct FreeBw {
    order: Order,
    upward: bool,
    scan_upward: bool,
    /// The read that was chosen.
    planned: Option<IoId>,
}

impl FreeBw {
    pub(crate) fn new(order: Order) -> FreeBw {
        FreeBw {
            order,
            upward: true,
            scan_upward: true,
            planned: None,
        }
    }

    /// The read of the nearest cylinder in a direction that turns when nothing is ahead; of a
    /// cylinder, the oldest.
    fn scan(&mut self, queue: &Queue, reads: &[usize], view: &View<'_>) -> usize {
        let here = arm_position(view).cylinder;
        let nearest = |upward: bool| {
            let ahead = |index: &&usize| {
                let there = queue[**index].place.cylinder;
                if upward { there >= here } else { there <= here }
            };
            let distance = |index: &&usize| {
                let io: &Io = &queue[**index];
                (io.place.cylinder.abs_diff(here), io.sequence)
            };
            reads.iter().filter(ahead).min_by_key(distance).copied()
        };
        nearest(self.scan_upward).unwrap_or_else(|| {
            self.scan_upward = !self.scan_upward;
            nearest(self.scan_upward).expect("what is not ahead lies behind")
        })
    }
}

impl Definition for FreeBw {
    fn withdrawn(&mut self, io: &Io) {
        self.planned.take_if(|planned| *planned == io.id);
    }

    fn choose(&mut self, queue: &Queue, view: &View<'_>) -> Result<usize, Next> {
        let (reads, writes) = parts(queue);
        let write = oldest(queue, &writes);
        if reads.is_empty() {
            let free_place = sweep(&mut self.upward, view).expect("half are free");
            return place(queue, write.expect("something waits"), free_place);
        }
        let read = match self.planned {
            Some(id) => {
                let index = queue.iter().position(|io| io.id == id);
                index.expect("it waits still")
            }
            None => {
                let satf_goes =
                    self.order == Order::Satf || self.order == Order::Hybrid && writes.is_empty();
                let read = match satf_goes {
                    true => satf(queue, &reads, view).expect("a read waits").1,
                    false => self.scan(queue, &reads, view),
                };
                self.planned = Some(queue[read].id);
                read
            }
        };
        let free_place = write.and_then(|_| in_gap(view, &queue[read]));
        match (write, free_place) {
            (Some(write), Some(free_place)) => place(queue, write, free_place),
            _ => {
                self.planned = None;
                Ok(read)
            }
        }
    }
}

/// The slot for a write before a read, between the two cylinders, that leaves the read's start as
/// it is.
fn in_gap(view: &View<'_>, read: &Io) -> Option<FreePlace> {
    let start = view.now
        + view
            .oracle
            .positioning_time(view.now, read.op, &read.place, read.len);
    let (from, to) = (
        cylinder(view, arm_position(view)),
        cylinder(view, read.place.arm_position()),
    );
    let search = Search {
        now: view.now,
        low: from.min(to),
        high: from.max(to),
        before: start,
        then: Some(Then {
            op: read.op,
            place: read.place,
            by: start,
        }),
    };
    nearest_free(view.oracle, &search, view.free?)
}

/// What a write there takes.
fn takes(view: &View<'_>, free_place: &FreePlace) -> i64 {
    let Some(arm) = view.oracle.arm() else {
        let oracle = view.oracle;
        return oracle
            .service_time(view.now, Op::Write, free_place.at, Blocks(8))
            .0 as i64;
    };
    let write = arm.predict(view.now, Op::Write, free_place.at, Blocks(8));
    write.end.since(view.now).0 as i64
}

pub(crate) struct GapSatf {
    age_limit: Duration,
    write_run: Duration,
    upward: bool,
    planned: Option<IoId>,
    /// By sequence, those that go before all others since one of them had waited for half the
    /// limit.
    turn: Vec<u64>,
    /// When writes began to go by themselves while a read waits.
    run_since: Option<Instant>,
    /// Means of what writes take, and of the prices of reads.
    of_write: Option<i64>,
    of_read: Option<i64>,
}

impl GapSatf {
    pub(crate) fn new(age_limit_ms: u64, write_run_ms: u64) -> GapSatf {
        GapSatf {
            age_limit: Duration::from_ms(age_limit_ms),
            write_run: Duration::from_ms(write_run_ms),
            upward: true,
            planned: None,
            turn: Vec::new(),
            run_since: None,
            of_write: None,
            of_read: None,
        }
    }

    fn learn(mean: &mut Option<i64>, value: i64) {
        let old = mean.unwrap_or(value);
        *mean = Some(old + (value - old) / 64);
    }

    /// Way and wait, less what writes fill of the wait as far as they press: how many of how many
    /// they are.
    fn price(&self, queue: &Queue, pressure: (i64, i64), read: usize, view: &View<'_>) -> i64 {
        let (writes, all) = pressure;
        let io = &queue[read];
        let time = view
            .oracle
            .positioning_time(view.now, io.op, &io.place, io.len)
            .0 as i64;
        let position = io.place.arm_position();
        let way = view.oracle.arm().map_or(0, |arm| {
            arm.seek_time(view.now, io.op, position, io.len).0 as i64
        });
        let fill = (time - way).min(writes * self.of_write.unwrap_or(0));
        time - fill * (writes * writes).min(all) / all
    }

    fn place(
        &mut self,
        queue: &Queue,
        view: &View<'_>,
        write: usize,
        free_place: FreePlace,
    ) -> Result<usize, Next> {
        GapSatf::learn(&mut self.of_write, takes(view, &free_place));
        place(queue, write, free_place)
    }

    fn go_on(
        &mut self,
        queue: &Queue,
        view: &View<'_>,
        read: usize,
        write: Option<usize>,
    ) -> Result<usize, Next> {
        self.planned = Some(queue[read].id);
        if let (Some(write), Some(free_place)) = (write, in_gap(view, &queue[read])) {
            return self.place(queue, view, write, free_place);
        }
        self.planned = None;
        Ok(read)
    }
}

impl Definition for GapSatf {
    fn withdrawn(&mut self, io: &Io) {
        self.planned.take_if(|planned| *planned == io.id);
    }

    fn choose(&mut self, queue: &Queue, view: &View<'_>) -> Result<usize, Next> {
        let (reads, writes) = parts(queue);
        let write = oldest(queue, &writes);
        if let Some(id) = self.planned {
            let planned = queue.iter().position(|io| io.id == id);
            return self.go_on(queue, view, planned.expect("it waits still"), write);
        }
        let waits = |sequence: &u64| queue.iter().any(|io| io.sequence == *sequence);
        self.turn.retain(waits);
        let half = Duration(self.age_limit.0 / 2);
        if self.turn.is_empty() && queue.iter().any(|io| io.arrived + half <= view.now) {
            self.turn = queue.iter().map(|io| io.sequence).collect();
        }
        let goes =
            |index: &usize| self.turn.is_empty() || self.turn.contains(&queue[*index].sequence);
        let all = (0..queue.len()).filter(goes).count() as i64;
        let reads: Vec<usize> = reads.into_iter().filter(goes).collect();
        let writes: Vec<usize> = writes.into_iter().filter(goes).collect();
        if reads.is_empty() {
            let free_place = sweep(&mut self.upward, view).expect("half are free");
            return self.place(queue, view, write.expect("one waits"), free_place);
        }
        let pressing = writes.len() as i64;
        let price = |read: &usize| {
            let price = self.price(queue, (pressing, all), *read, view);
            (price, queue[*read].sequence)
        };
        let best = reads.iter().copied().min_by_key(price);
        let best = best.expect("a read waits");
        let (price, _) = price(&best);
        // If writes press, one may take as long as usual, and a fifth of what this read is dearer
        // than usual; and a quarter more.
        let usual = self.of_write.unwrap_or(price) + (price - self.of_read.unwrap_or(price)) / 5;
        let most = usual * 5 / 4;
        let run = self.run_since.map(|since| view.now.since(since));
        if let Some(write) = write
            && pressing * pressing >= 2 * all
            && most >= 0
            && run.is_none_or(|run| run < self.write_run)
        {
            let free_place = sweep(&mut self.upward, view).expect("half are free");
            let takes = takes(view, &free_place);
            if takes < most {
                self.run_since.get_or_insert(view.now);
                return self.place(queue, view, write, free_place);
            }
        }
        GapSatf::learn(&mut self.of_read, price);
        self.run_since = None;
        self.go_on(queue, view, best, write)
    }
}

/// Watches that a read starts when it would have started had no write been inserted before it.
struct Punctual {
    inner: Box<dyn Scheduler>,
    reads: Vec<Io>,
    /// When each read that waits would start, at the end of the read before.
    promised: Vec<(IoId, Instant)>,
    inserted: u32,
    gaps: Arc<AtomicU32>,
}

impl Scheduler for Punctual {
    fn insert(&mut self, now: Instant, io: &Io, streams: &Streams) {
        self.inner.insert(now, io, streams);
        if !io.open {
            self.reads.push(*io);
        }
    }

    fn withdraw(&mut self, now: Instant, io: &Io) {
        self.inner.withdraw(now, io);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        let start = |io: &Io| {
            view.now
                + view
                    .oracle
                    .positioning_time(view.now, io.op, &io.place, io.len)
        };
        if self.promised.is_empty() {
            self.promised = self.reads.iter().map(|io| (io.id, start(io))).collect();
        }
        let next = self.inner.next(view);
        match next {
            Next::Place(..) => self.inserted += 1,
            Next::Start(id) => {
                let index = self.reads.iter().position(|io| io.id == id);
                let read = self.reads.remove(index.expect("it waits"));
                let promise = self.promised.iter().find(|(other, _)| *other == id);
                assert_eq!(
                    Some(&(id, start(&read))),
                    promise,
                    "after {} writes",
                    self.inserted
                );
                self.gaps.fetch_add(self.inserted.min(1), Ordering::Relaxed);
                (self.inserted, self.promised) = (0, Vec::new());
            }
            _ => {}
        }
        next
    }

    fn len(&self) -> usize {
        self.inner.len()
    }
}

#[test]
fn a_write_never_delays_the_read_that_it_precedes() {
    for part in ["FreeBW-SATF", "FreeBW-SCAN", "FreeBW-Hybrid"] {
        let gaps = check_gaps(part);
        assert!(gaps > 200, "{part}: {gaps} gaps were used");
    }
}

/// Lets a scheduler serve bursts and watches that no write delays a read. Gives the gaps that took
/// writes.
pub(crate) fn check_gaps(part: &str) -> u32 {
    let blueprint = blueprint(DISK);
    let gaps = Arc::new(AtomicU32::new(0));
    let punctual = Punctual {
        inner: scheduler(part, &*blueprint),
        reads: Vec::new(),
        promised: Vec::new(),
        inserted: 0,
        gaps: Arc::clone(&gaps),
    };
    let mut rig = Rig::new(
        Box::new(punctual),
        oracle("exact", &*blueprint),
        &*blueprint,
    );
    let mut rng = Rng::stream(1, part);
    for _ in 0..200 {
        for _ in 0..20 {
            let (at, read) = (rng.below(1_599) * 8, rng.chance(0.5));
            let ask = Ask {
                op: Op::Read,
                at,
                len: 8,
                priority: 0,
            };
            match read {
                true => rig.insert(ask, Duration::ZERO),
                false => rig.insert_open(at, Duration::ZERO),
            };
        }
        while rig.serve(Duration::ZERO).is_some() {}
    }
    gaps.load(Ordering::Relaxed)
}

fn sight() -> impl Strategy<Value = &'static str> {
    prop_oneof![3 => Just("exact"), 1 => Just("distance")]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn satf_ew(steps in steps(), sight in sight()) {
        compare_eager("satf_ew", sight, &steps, || SatfEw { upward: true });
    }

    #[test]
    fn satf_ew_over_noise(steps in steps()) {
        compare_eager("satf_ew", "noisy:sigma_us=300", &steps, || SatfEw { upward: true });
    }

    #[test]
    fn read_first(steps in steps(), sight in sight()) {
        compare_eager("read_first", sight, &steps, || ReadFirst { upward: true });
    }

    #[test]
    fn write_first(steps in steps(), sight in sight(), age_limit_ms in prop_oneof![Just(0u64), 1..2_000u64]) {
        let limit = (age_limit_ms > 0).then(|| Duration::from_ms(age_limit_ms));
        let part = format!("write_first:age_limit_ms={age_limit_ms}");
        compare_eager(&part, sight, &steps, || WriteFirst { upward: true, age_limit: limit });
    }

    #[test]
    fn gap_satf(
        steps in steps(),
        sight in sight(),
        age_limit_ms in prop_oneof![Just(60_000u64), 1..2_000u64],
        write_run_ms in prop_oneof![Just(3_600_000u64), 0..100u64],
    ) {
        let part = format!("gap_satf:age_limit_ms={age_limit_ms}:write_run_ms={write_run_ms}");
        compare_eager(&part, sight, &steps, || GapSatf::new(age_limit_ms, write_run_ms));
    }

    #[test]
    fn gap_satf_over_noise(steps in steps()) {
        compare_eager("gap_satf", "noisy:sigma_us=300", &steps, || GapSatf::new(5_000, 10));
    }

    #[test]
    fn free_bw(steps in steps()) {
        for (part, order) in [
            ("FreeBW-SATF", Order::Satf),
            ("FreeBW-SCAN", Order::Scan),
            ("FreeBW-Hybrid", Order::Hybrid),
        ] {
            compare_eager(part, "exact", &steps, || FreeBw::new(order));
        }
    }
}
