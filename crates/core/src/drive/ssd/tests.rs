//! What can be worked out by hand: times of single commands, what waits for what; and the map
//! against a literal twin.

use super::chips::Times;
use super::geometry::Geometry;
use super::interface::{Host, SsdDrive};
use super::map::{Map, Stream};
use super::medium::Plan;
use super::parameters::SsdParameters;
use super::precondition::{Initial, State};
use super::thresholds::Thresholds;
use crate::contract::Drive;
use crate::ids::IoId;
use crate::io::{Command, WriteCache};
use crate::op::Op;
use crate::registry::KnobValue;
use crate::rng::Rng;
use crate::units::{Blocks, Duration, Instant, Pba};

const STATES: [State; 4] = [State::Empty, State::Full, State::Random, State::Saturated];

/// One plane a die, 4 KiB a page and a unit.
const SHAPE: Geometry = Geometry {
    channels: 2,
    dies: 4,
    planes: 4,
    blocks: 16,
    pages: 8,
    units: 1,
    unit_blocks: 8,
    capacity: 256,
};

/// Planes collect with two free blocks, and that is urgent.
const TWO: Thresholds = Thresholds {
    start: 2,
    urgent: 2,
    is_paced: true,
};

/// 50 us to read, 400 to program, 2,000 to erase; 4 KiB take 10.24 us over a channel.
fn plan(state: State, buffer: (u32, u32)) -> Plan {
    Plan {
        shape: SHAPE,
        times: Times {
            read: Duration::from_us(50),
            program: Duration::from_us(400),
            erase: Duration::from_us(2_000),
            byte_ps: 2_500,
            stops: Default::default(),
        },
        initial: Initial::new(state, SHAPE, false, TWO),
        thresholds: TWO,
        map_lines: None,
        by_address: false,
        reads_unwritten: false,
        buffer,
        is_pressed: false,
    }
}

/// 4 KiB take 1.024 us over the link.
pub(super) fn host(cache: WriteCache) -> Host {
    Host {
        depth: 8,
        cache,
        byte_ps: 250,
        full_duplex: true,
        memory_ps: 0,
        command: Duration::ZERO,
        read: Duration::from_us(5),
        write: Duration::from_us(7),
    }
}

pub(super) fn command(io: u32, op: Op, at: u64, len: u64) -> Command {
    Command {
        io: IoId(io),
        op,
        at: Pba(at),
        len: Blocks(len),
        fua: false,
    }
}

/// When each of some commands ends that come together, in nanoseconds, by their order.
fn ends(drive: &mut SsdDrive, now: Instant, commands: &[(Op, u64, u64)]) -> Vec<u64> {
    for (io, (op, at, len)) in commands.iter().enumerate() {
        drive.submit(now, &command(io as u32, *op, *at, *len));
    }
    let mut ends = vec![0; commands.len()];
    for _ in 0..commands.len() {
        let (due, done) = next(drive);
        assert_eq!(done.cost.total(), due.since(now));
        ends[done.io.0 as usize] = due.since(now).0;
    }
    ends
}

fn next(drive: &mut SsdDrive) -> (Instant, crate::io::DriveDone) {
    loop {
        let due = drive.next_event().expect("something is under way");
        if let Some(done) = drive.advance(due) {
            return (due, done);
        }
    }
}

/// Lets all pass that is under way without a command.
fn settle(drive: &mut SsdDrive) -> Instant {
    let mut last = Instant::ZERO;
    while let Some(due) = drive.next_event() {
        last = due;
        assert!(drive.advance(due).is_none());
    }
    last
}

#[test]
fn reads_of_other_dies_go_side_by_side_and_share_channel_and_link() {
    let mut drive = SsdDrive::new(&plan(State::Full, (0, 0)), host(WriteCache::Off));
    // Sensing, channel, link, controller.
    let one = 50_000 + 10_240 + 1_024 + 5_000;
    assert_eq!(ends(&mut drive, Instant::ZERO, &[(Op::Read, 0, 8)]), [one]);
    // Units 0 and 1 are on two channels: only the link is shared.
    let now = Instant(1_000_000);
    let two = ends(&mut drive, now, &[(Op::Read, 0, 8), (Op::Read, 8, 8)]);
    assert_eq!(two, [one, one + 1_024]);
    // Units 0 and 2 are on two dies of a channel, units 0 and 4 on the same die.
    let now = Instant(2_000_000);
    let two = ends(&mut drive, now, &[(Op::Read, 0, 8), (Op::Read, 16, 8)]);
    assert_eq!(two, [one, one + 10_240]);
    let now = Instant(3_000_000);
    let two = ends(&mut drive, now, &[(Op::Read, 0, 8), (Op::Read, 32, 8)]);
    assert_eq!(two, [one, one + 60_240]);
    // A part of a unit is a part of the data, and what was never written costs nothing but the
    // link.
    let now = Instant(4_000_000);
    assert_eq!(
        ends(&mut drive, now, &[(Op::Read, 3, 1)]),
        [50_000 + 1_280 + 128 + 5_000]
    );
    let mut empty = SsdDrive::new(&plan(State::Empty, (0, 0)), host(WriteCache::Off));
    assert_eq!(
        ends(&mut empty, Instant::ZERO, &[(Op::Read, 0, 8)]),
        [1_024 + 5_000]
    );
}

#[test]
fn a_write_without_a_cache_ends_on_the_medium_and_reads_first_what_it_lacks() {
    let mut drive = SsdDrive::new(&plan(State::Full, (0, 0)), host(WriteCache::Off));
    let one = 1_024 + 10_240 + 400_000 + 7_000;
    assert_eq!(ends(&mut drive, Instant::ZERO, &[(Op::Write, 0, 8)]), [one]);
    let now = Instant(1_000_000);
    let part = 512 + 50_000 + 5_120 + 10_240 + 400_000 + 7_000;
    assert_eq!(ends(&mut drive, now, &[(Op::Write, 80, 4)]), [part]);
    assert_eq!(drive.medium().counts.filled, 1);
    drive.medium().map.audit();
}

#[test]
fn a_cached_write_ends_at_once_and_a_read_finds_it() {
    let mut drive = SsdDrive::new(&plan(State::Full, (16, 4)), host(WriteCache::Volatile));
    let ended = ends(&mut drive, Instant::ZERO, &[(Op::Write, 0, 8)]);
    assert_eq!(ended, [1_024 + 7_000]);
    let mut lost = Vec::new();
    drive.volatile(Instant(8_024), &mut lost);
    assert_eq!((lost[0].at, lost[0].len), (Pba(0), Blocks(8)));
    assert_eq!(
        ends(&mut drive, Instant(10_000), &[(Op::Read, 0, 8)]),
        [1_024 + 5_000]
    );
    // The flush waits until the program has ended that began when the data had come.
    let flushed = ends(&mut drive, Instant(20_000), &[(Op::Flush, 0, 0)]);
    assert_eq!(flushed, [1_024 + 10_240 + 400_000 - 20_000 + 7_000]);
    lost.clear();
    drive.volatile(Instant(500_000), &mut lost);
    assert_eq!(lost, []);
}

#[test]
fn a_read_stops_a_program_if_it_may() {
    let time = |program| {
        let mut plan = plan(State::Full, (16, 1));
        plan.times.stops.program = program;
        plan.times.stops.takes = Duration::from_us(20);
        let mut drive = SsdDrive::new(&plan, host(WriteCache::Volatile));
        // It goes to plane 0, whose program runs from 11.264 us to 411.264 us.
        ends(&mut drive, Instant::ZERO, &[(Op::Write, 8, 8)]);
        while drive.next_event().is_some_and(|due| due < Instant(100_000)) {
            let due = drive.next_event().unwrap();
            assert!(drive.advance(due).is_none());
        }
        let read = ends(&mut drive, Instant(100_000), &[(Op::Read, 0, 8)])[0];
        (read, settle(&mut drive).0, drive.medium().chips.stops)
    };
    let alone = 50_000 + 10_240 + 1_024 + 5_000;
    assert_eq!(time(false), (311_264 + alone, 0, 0));
    // What is left of the program goes on when the read is off the die.
    let off = 100_000 + 20_000 + 60_240;
    assert_eq!(time(true), (20_000 + alone, off + 311_264, 1));
}

#[test]
fn a_discard_frees_whole_units() {
    let mut drive = SsdDrive::new(&plan(State::Full, (0, 0)), host(WriteCache::Off));
    ends(&mut drive, Instant::ZERO, &[(Op::Discard, 4, 20)]);
    assert_eq!(drive.medium().counts.trimmed, 2);
    assert_eq!(drive.medium().map.place(0).map(|_| ()), Some(()));
    assert_eq!(drive.medium().map.place(1), None);
    drive.medium().map.audit();
}

/// What a write finds of a cache that is full is what the drive does when it is written to without
/// a pause.
#[test]
fn a_write_to_a_full_cache_waits_for_a_page_to_leave_it() {
    let plan = plan(State::Full, (16, 1));
    let pressed = Plan {
        is_pressed: true,
        ..plan.clone()
    };
    let (link, program) = (1_024 + 7_000, 10_240 + 400_000);
    for (plan, owed, expected) in [(plan, 0, link), (pressed, 16 * 8, program + 7_000)] {
        let mut drive = SsdDrive::new(&plan, host(WriteCache::Protected));
        let owes = |drive: &SsdDrive| drive.owes(Instant::ZERO).blocks.0;
        assert_eq!(drive.owes(Instant::ZERO).cache_size, Some(Blocks(128)));
        assert_eq!(owes(&drive), owed);
        let ended = ends(&mut drive, Instant::ZERO, &[(Op::Write, 80, 8)])[0];
        assert_eq!(ended, expected);
        let held = if owed > 0 { owed } else { 8 };
        assert_eq!(owes(&drive), held);
        settle(&mut drive);
        assert_eq!(owes(&drive), 0);
        drive.medium().map.audit();
    }
}

/// Random commands, several at a time, until `count` have ended.
fn churn(drive: &mut SsdDrive, seed: u64, count: u32) {
    let mut rng = Rng::stream(seed, "churn");
    let (mut free, mut now) = ((0..8).collect::<Vec<u32>>(), Instant::ZERO);
    let mut sent = 0;
    while sent < count || free.len() < 8 {
        while let Some(io) = (sent < count).then(|| free.pop()).flatten() {
            let at = rng.below(2_048 - 40);
            let (op, len) = match rng.below(20) {
                0 => (Op::Discard, 1 + rng.below(40)),
                1 => (Op::Flush, 0),
                2..6 => (Op::Read, 1 + rng.below(40)),
                6..13 => (Op::Write, 1 + rng.below(40)),
                _ => (Op::Write, 8),
            };
            let at = if len == 8 { at / 8 * 8 } else { at };
            let fua = rng.chance(0.1);
            drive.submit(
                now,
                &Command {
                    fua,
                    ..command(io, op, at, len)
                },
            );
            sent += 1;
        }
        now = drive.next_event().expect("something is under way");
        if let Some(done) = drive.advance(now) {
            free.push(done.io.0);
        }
    }
}

#[test]
fn nothing_is_lost_or_counted_wrong_whatever_comes() {
    for (seed, cache) in [WriteCache::Off, WriteCache::Volatile, WriteCache::Protected]
        .iter()
        .enumerate()
    {
        for state in STATES {
            let mut plan = plan(state, (24, 3));
            plan.times.stops.program = true;
            plan.times.stops.erase = true;
            plan.shape.units = 2;
            plan.shape.capacity = 4 * 8 * 16;
            plan.initial = Initial::new(state, plan.shape, false, TWO);
            plan.is_pressed = seed % 2 == 1;
            let mut drive = SsdDrive::new(&plan, host(*cache));
            churn(&mut drive, seed as u64, 6_000);
            settle(&mut drive);
            drive.medium().map.audit();
            assert!(drive.medium().counts.erases > 100, "{state:?} {cache:?}");
            if *cache == WriteCache::Volatile {
                ends(&mut drive, Instant(u64::MAX / 2), &[(Op::Flush, 0, 0)]);
                let mut lost = Vec::new();
                drive.volatile(Instant::ZERO, &mut lost);
                assert_eq!(lost, []);
            }
        }
    }
}

/// The map as one would write it down: for each place what it holds, found by looking at all of
/// them.
struct Twin {
    places: Vec<Option<u32>>,
}

impl Twin {
    fn forget(&mut self, unit: u32) {
        for place in &mut self.places {
            if *place == Some(unit) {
                *place = None;
            }
        }
    }

    fn valid(&self, block: u32) -> usize {
        let units = SHAPE.block_units() as usize;
        let first = block as usize * units;
        self.places[first..first + units].iter().flatten().count()
    }
}

#[test]
fn the_map_is_what_its_literal_twin_is() {
    for state in STATES {
        let initial = Initial::new(state, SHAPE, false, TWO);
        let mut twin = Twin {
            places: vec![None; SHAPE.places() as usize],
        };
        for unit in 0..SHAPE.capacity {
            if let Some(place) = initial.place(unit) {
                twin.places[place as usize] = Some(unit);
            }
        }
        let mut map = Map::new(SHAPE, initial);
        let mut rng = Rng::stream(1, "twin");
        for step in 0..4_000 {
            let (plane, unit) = (rng.below(4) as u32, rng.below(256) as u32);
            if rng.chance(0.1) {
                map.trim(unit);
                twin.forget(unit);
            } else if map.has_room(plane) {
                let page = map.write(plane, Stream::Host, std::iter::once(unit));
                twin.forget(unit);
                assert_eq!(twin.places[page as usize], None, "it is written in place");
                twin.places[page as usize] = Some(unit);
            }
            while map.free(plane) <= 2 {
                let Some(victim) = map.victim(plane) else {
                    break;
                };
                let least = twin.valid(victim);
                for page in victim * 8..victim * 8 + 8 {
                    let found: Vec<(u32, u32)> = map.valid_units(page).collect();
                    let held = twin.places[page as usize];
                    assert_eq!(
                        found,
                        held.map(|unit| (unit, page))
                            .into_iter()
                            .collect::<Vec<_>>()
                    );
                    for (unit, _) in found {
                        let to = map.write(plane, Stream::Moved, std::iter::once(unit));
                        twin.forget(unit);
                        twin.places[to as usize] = Some(unit);
                    }
                }
                assert_eq!(twin.valid(victim), 0);
                assert!(least < 8, "nothing is gained");
                map.erased(victim);
            }
            if step % 100 == 0 {
                map.audit();
            }
        }
        for unit in 0..SHAPE.capacity {
            let place = twin.places.iter().position(|held| *held == Some(unit));
            assert_eq!(map.place(unit).map(|place| place as usize), place);
        }
    }
}

/// Units that are programmed for each that is written, in the steady state of uniform random
/// writes.
fn amplification(capacity: u32, shape: Geometry, state: State, rounds: u32) -> f64 {
    let shape = Geometry { capacity, ..shape };
    let initial = Initial::new(state, shape, false, TWO);
    let mut map = Map::new(shape, initial);
    let mut rng = Rng::stream(1, "amplification");
    let (mut written, mut moved) = (0_u64, 0_u64);
    for step in 0..u64::from(rounds * capacity) {
        while map.free(0) <= 2 {
            let victim = map.victim(0).expect("something is over");
            for page in victim * shape.pages..(victim + 1) * shape.pages {
                let units: Vec<(u32, u32)> = map.valid_units(page).collect();
                for (unit, _) in units {
                    map.write(0, Stream::Moved, std::iter::once(unit));
                    moved += u64::from(step > u64::from((rounds - 4) * capacity));
                }
            }
            map.erased(victim);
        }
        let unit = rng.below(capacity.into()) as u32;
        map.write(0, Stream::Host, std::iter::once(unit));
        written += u64::from(step > u64::from((rounds - 4) * capacity));
    }
    (written + moved) as f64 / written as f64
}

/// Sixteen dies of a hundred blocks.
const LARGE: Geometry = Geometry {
    blocks: 100,
    pages: 64,
    planes: 16,
    dies: 16,
    capacity: 16 * 86 * 64,
    ..SHAPE
};

/// Units that a drive writes in a second, at random and eight at a time, and the longest time
/// without an end of one.
fn written_in_a_second(
    drive: &mut SsdDrive,
    rng: &mut Rng,
    now: &mut Instant,
    count: u32,
) -> (f64, Duration) {
    let (begin, mut last, mut longest) = (*now, *now, Duration::ZERO);
    let mut free = (0..8).collect::<Vec<u32>>();
    for _ in 0..count {
        while free.is_empty() {
            *now = drive.next_event().expect("eight are under way");
            if let Some(done) = drive.advance(*now) {
                longest = longest.max(now.since(last));
                last = *now;
                free.push(done.io.0);
            }
        }
        let at = rng.below(LARGE.capacity.into()) * 8;
        let io = free.pop().expect("one has ended");
        drive.submit(*now, &command(io, Op::Write, at, 8));
    }
    let rate = f64::from(count) / (now.since(begin).0 as f64 / 1e9);
    while free.len() < 8 {
        *now = drive.next_event().expect("the others end");
        free.extend(drive.advance(*now).map(|done| done.io.0));
    }
    (rate, longest)
}

/// A saturated drive is from its first writes on as slow as one that was written to for long, and
/// both stop for an erase at most where the host is paced, else for the collection of a block. One
/// that had a pause is faster at first.
#[test]
fn a_saturated_drive_is_in_its_steady_state() {
    let measured = |state, before, is_paced| {
        let mut plan = plan(state, (0, 0));
        plan.shape = LARGE;
        plan.thresholds = Thresholds {
            start: 8,
            urgent: 2,
            is_paced,
        };
        plan.initial = Initial::new(state, plan.shape, false, plan.thresholds);
        let mut drive = SsdDrive::new(&plan, host(WriteCache::Off));
        let mut rng = Rng::stream(3, "saturated");
        let mut now = Instant::ZERO;
        if before > 0 {
            written_in_a_second(&mut drive, &mut rng, &mut now, before);
        }
        written_in_a_second(&mut drive, &mut rng, &mut now, 6_000)
    };
    for is_paced in [true, false] {
        let (steady, pause) = measured(State::Random, 300_000, is_paced);
        let (at_once, stops) = measured(State::Saturated, 0, is_paced);
        assert!(
            (0.9..1.1).contains(&(at_once / steady)),
            "{at_once} and {steady} a second"
        );
        // A page of the host has to wait for two or three that are moved, or for an erase; or for
        // the collection of a block of 64.
        let allowed = if is_paced { 500..2_100 } else { 8_000..30_000 };
        for longest in [pause, stops] {
            assert!(
                allowed.contains(&(longest.0 / 1_000)),
                "{longest} without an end, paced: {is_paced}"
            );
        }
        let (rested, _) = measured(State::Random, 0, is_paced);
        assert!(rested > 1.5 * steady, "{rested} and {steady} a second");
    }
}

/// Nothing waits in a cache that is off, however long was written before.
#[test]
fn without_a_write_cache_pressure_leaves_nothing_to_do() {
    for (cache, busy) in [("off", false), ("volatile", true)] {
        let name = "nvme-tlc-1tb";
        let text = crate::drive::catalog_text(name).unwrap();
        let knobs = [("cache".to_owned(), KnobValue::parse(cache))];
        let (blueprint, _) = crate::drive::read(name, text, &knobs).unwrap();
        let works = |drive: Box<dyn Drive>| drive.next_event().is_some();
        assert!(!works(blueprint.drive()));
        assert_eq!(works(blueprint.pressed().drive()), busy, "{cache}");
    }
}

/// A round is over when each plane has collected a block, and what is collected of the next ones
/// counts in part.
#[test]
fn rounds_of_collection_are_blocks_of_each_plane() {
    let written = |state, units| {
        let mut plan = plan(state, (0, 0));
        plan.shape = LARGE;
        plan.thresholds = Thresholds {
            start: 8,
            urgent: 2,
            is_paced: true,
        };
        plan.initial = Initial::new(state, plan.shape, false, plan.thresholds);
        let mut drive = SsdDrive::new(&plan, host(WriteCache::Off));
        let (mut rng, mut now) = (Rng::stream(3, "rounds"), Instant::ZERO);
        written_in_a_second(&mut drive, &mut rng, &mut now, units);
        let mut erases = 0;
        drive.tell(&mut |measure, number| {
            if measure.name == "erases" {
                erases = number;
            }
        });
        (drive.rounds_permille(), erases)
    };
    // Nothing is overwritten for long where free blocks are many.
    assert_eq!(written(State::Full, 100), (None, 0));
    let (few, _) = written(State::Saturated, 50);
    assert!((1..500).contains(&few.unwrap()), "{few:?}");
    // Planes of a saturated drive are at different places of their blocks: as many erase as come
    // round, in the first round, too.
    for units in [50, 200, 400, 600, 800, 6_000] {
        let (done, erases) = written(State::Saturated, units);
        let (done, erased) = (done.unwrap(), erases * 1_000 / u64::from(LARGE.planes));
        assert!(done.abs_diff(erased) < 250, "{done} {erased}");
        assert!(units < 6_000 || erased > 3_000, "{erased}");
    }
}

/// What is published of collection in order of age with uniform writes (Desnoyers, SYSTOR 2012,
/// equation 4): 1 / (1 - v), where a share v of the oldest block is valid, v = exp(-(1 / used) (1 -
/// v)), of a drive of which a share `used` is in use.
fn published(used: f64) -> f64 {
    let mut valid = 0.0;
    for _ in 0..10_000 {
        valid = libm::exp(-(1.0 - valid) / used);
    }
    1.0 / (1.0 - valid)
}

/// Greedy collection of blocks with many pages comes near to collection in order of age, from below
/// (Desnoyers; Bux and Iliadis, "Performance of greedy garbage collection in flash-based
/// solid-state drives", Performance Evaluation 2010).
#[test]
fn write_amplification_follows_the_published_formula() {
    let shape = Geometry {
        channels: 1,
        dies: 1,
        planes: 1,
        blocks: 203,
        pages: 64,
        units: 1,
        unit_blocks: 8,
        capacity: 0,
    };
    for percent in [70, 80, 90] {
        // Of the blocks, three are free or open on the average, and not filled.
        let places = 200 * 64;
        let capacity = places * percent / 100;
        let expected = published(f64::from(percent) / 100.0);
        let found = amplification(capacity, shape, State::Full, 16);
        let off = found / expected - 1.0;
        assert!(
            (-0.07..0.02).contains(&off),
            "{percent} %: {found}, not {expected}"
        );
        // A drive that begins as if that had gone on for long is in the same state from the first
        // write on.
        let at_once = amplification(capacity, shape, State::Random, 4);
        let off = at_once / found - 1.0;
        assert!(
            off.abs() < 0.05,
            "{percent} %: {at_once} at once, {found} later"
        );
    }
}

/// A drive as large as its file may say, of two planes, with so many blocks of so many pages of so
/// many units.
pub(super) fn largest(blocks: u32, pages: u32, units: u32) -> Plan {
    let read = |capacity: u32| {
        let text = format!(
            "kind = 'ssd'\ncapacity_blocks = {}\nqueue_depth = 8\nchannels = 2\ndies_per_channel = 1\nplanes_per_die = 1\n\
             planes = 'apart'\nblocks_per_plane = {blocks}\npages_per_block = {pages}\npage_kib = {}\nmap_kib = 4\n\
             allocation = 'in-turn'\nread_us = 50\nprogram_us = 400\nerase_us = 2000\nchannel_mb_s = 400\n\
             host = {{ mb_s = 4000, full_duplex = true, command_us = 0, read_us = 5, write_us = 7 }}\n\
             collection = {{ start_percent = 0, urgent_percent = 0 }}",
            capacity * 8,
            units * 4
        );
        SsdParameters::read(&text.parse().unwrap())
    };
    let capacities = (1..=2 * blocks * pages * units).rev();
    let mut allowed = capacities.filter_map(|capacity| Some((capacity, read(capacity).ok()?)));
    let (capacity, parameters) = allowed.next().expect("some capacity is allowed");
    let shape = parameters.geometry(capacity);
    Plan {
        shape,
        initial: Initial::new(State::Empty, shape, false, parameters.thresholds()),
        thresholds: parameters.thresholds(),
        ..plan(State::Empty, (0, 0))
    }
}

/// Each write of a unit takes a page of its own, so that flash is full while little of it is valid.
#[test]
fn the_largest_drive_of_its_file_goes_on_when_pages_hold_little() {
    for (blocks, pages, units) in [(14, 1, 4), (30, 2, 4), (60, 4, 2), (200, 4, 4), (14, 4, 1)] {
        let plan = largest(blocks, pages, units);
        let capacity = plan.shape.capacity;
        let mut drive = SsdDrive::new(&plan, host(WriteCache::Off));
        let mut rng = Rng::stream(1, "thin pages");
        let (mut free, mut now) = ((0..8).collect::<Vec<u32>>(), Instant::ZERO);
        for step in 0..capacity * 4 {
            while free.is_empty() {
                let due = drive.next_event();
                now = due.unwrap_or_else(|| {
                    panic!("{blocks} blocks of {pages} pages of {units} units: write {step} waits for ever")
                });
                free.extend(drive.advance(now).map(|done| done.io.0));
            }
            let at = if step < capacity {
                step
            } else {
                rng.below(capacity.into()) as u32
            };
            let io = free.pop().expect("one has ended");
            drive.submit(now, &command(io, Op::Write, u64::from(at) * 8, 8));
        }
        while free.len() < 8 {
            now = drive.next_event().expect("the others end");
            free.extend(drive.advance(now).map(|done| done.io.0));
        }
        drive.medium().map.audit();
    }
}
