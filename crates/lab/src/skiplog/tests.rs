//! The log against a twin that remembers every write; ten wraps without a leak; the table against
//! drives measured one by one; what is chosen.

use nearslot_core::contract::Blueprint;
use nearslot_core::drive;
use nearslot_core::ids::IoId;
use nearslot_core::io::Command;
use nearslot_core::op::Op;
use nearslot_core::rng::Rng;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

use super::header::{Found, Header, PAYLOAD_BYTES, opened, sealed};
use super::placing::quickest;
use super::recovery::{Damage, recover};
use super::{Grid, Log, PAYLOAD_BLOCKS, Profile, SLOT_BLOCKS, Write};

/// Every write that has ended, with its slot, and those under way.
#[derive(Default)]
struct Twin {
    ended: Vec<(Write, u64)>,
    flying: Vec<(Write, u64)>,
    lost: Vec<u64>,
}

impl Twin {
    /// Sequence and slot of the newest version of a block.
    fn newest(&self, logical: u64) -> Option<(u64, u64)> {
        let versions = self.ended.iter().filter_map(|(write, slot)| {
            let index = logical.checked_sub(write.logical)?;
            (index < write.count).then(|| (write.sequence + index, slot + index))
        });
        versions.max()
    }

    fn taken(&self, blocks: u64) -> Vec<u64> {
        let mapped = (0..blocks).filter_map(|logical| Some(self.newest(logical)?.1));
        let flying = self
            .flying
            .iter()
            .flat_map(|(write, slot)| *slot..slot + write.count);
        let mut all: Vec<u64> = mapped.chain(flying).chain(self.lost.clone()).collect();
        all.sort_unstable();
        all
    }

    fn agrees(&self, log: &Log) {
        for logical in 0..log.blocks() {
            let slot = self.newest(logical).map(|(_, slot)| slot);
            assert_eq!(log.at(logical), slot, "block {logical}");
        }
        let taken = self.taken(log.blocks());
        let is_taken = |slot: &u64| !log.fits(*slot, 1);
        let told: Vec<u64> = (0..log.slots()).filter(is_taken).collect();
        assert_eq!(told, taken, "slots that are taken, each once");
        assert_eq!(log.free(), log.slots() - taken.len() as u64);
        let in_runs: Vec<u64> = log.runs().flatten().collect();
        let free = (0..log.slots()).filter(|slot| !taken.contains(slot));
        assert_eq!(in_runs, free.collect::<Vec<u64>>(), "free runs");
    }
}

#[test]
fn the_map_is_that_of_a_twin_that_remembers_every_write() {
    for seed in 0..40 {
        let mut rng = Rng::stream(seed, "test/skiplog");
        let (mut log, mut twin) = (Log::new(9, 20), Twin::default());
        for _ in 0..400 {
            let count = log.room(rng.below(20), 1 + rng.below(4)).min(9);
            match rng.below(5) {
                0 | 1 if count > 0 => {
                    let write = log.begin(rng.below(10 - count), count);
                    let slot = log.next(rng.below(20), count).expect("there is room");
                    log.take(&write, slot);
                    twin.flying.push((write, slot));
                }
                2 if seed % 4 == 0 && twin.lost.len() < 5 && !twin.flying.is_empty() => {
                    let (write, slot) = twin.flying.swap_remove(0);
                    twin.lost.extend(slot..slot + write.count);
                }
                _ if !twin.flying.is_empty() => {
                    let which = rng.below(twin.flying.len() as u64) as usize;
                    let (write, slot) = twin.flying.swap_remove(which);
                    log.end(&write, slot);
                    twin.ended.push((write, slot));
                }
                _ => {}
            }
            twin.agrees(&log);
        }
        assert!(twin.ended.len() > 50, "{} writes", twin.ended.len());
    }
}

#[test]
fn a_run_is_looked_for_from_a_slot_on_and_then_from_the_begin() {
    let mut log = Log::new(5, 10);
    for slot in [2, 3, 7] {
        let write = log.begin(0, 1);
        log.take(&write, slot);
    }
    // Free: 0, 1, 4, 5, 6, 8, 9.
    let cases = [
        ((0, 1), Some(0)),
        ((1, 2), Some(4)),
        ((5, 2), Some(5)),
        ((6, 3), Some(4)),
        ((6, 2), Some(8)),
        ((9, 2), Some(0)),
        ((0, 4), None),
    ];
    for ((from, count), expected) in cases {
        assert_eq!(log.next(from, count), expected, "{count} from {from}");
    }
    let rooms = [1, 2, 3, 4, 5, 7].map(|count| log.room(7, count));
    assert_eq!(rooms, [1, 2, 3, 2, 2, 3], "halved until it fits");
    assert!(
        !log.fits(9, 2),
        "a run does not go on at the other end of the region"
    );
}

#[test]
fn ten_wraps_leave_nothing_behind() {
    let grid = Grid {
        think_step: Duration(100),
        thinks: 3,
        skip_step: 2,
        skips: 60,
        repeats: 1,
    };
    let mut rng = Rng::stream(7, "test/wraps");
    let costs = (0..grid.entries()).map(|_| rng.below(1_000)).collect();
    let profile = Profile::of(grid, costs);
    let (mut log, mut end, mut at, mut wraps) = (Log::new(100, 200), 0, 0, 0);
    while wraps < 10 {
        let count = log.room(end % 200, 1 + rng.below(9)).min(100 - at);
        let write = log.begin(at, count);
        let slot = quickest(&log, &profile, (end, Duration(rng.below(400))), count);
        let slot = slot.expect("room was found");
        log.take(&write, slot);
        log.end(&write, slot);
        end = slot + count;
        at += count;
        (at, wraps) = if at == 100 {
            (0, wraps + 1)
        } else {
            (at, wraps)
        };
        assert_eq!(log.mapped() + log.free(), 200, "after {write:?}");
    }
    assert_eq!(log.free(), 100, "as much as it has beyond its blocks");
}

#[test]
fn a_header_says_what_it_was_made_of_and_every_bit_counts() {
    let header = Header {
        log: 3,
        sequence: 1 << 40,
        logical: 77,
    };
    let slot = sealed(&header, &[5; PAYLOAD_BYTES]);
    assert_eq!(opened(&slot, 3), Found::Whole(header));
    assert_eq!(opened(&slot, 4), Found::Nothing, "of another log");
    for bit in 0..slot.len() * 8 {
        // What lies behind the fields of a header counts as well.
        let mut bent = slot.clone();
        bent[bit / 8] ^= 1 << (bit % 8);
        let expected = match bit / 8 {
            0..16 => Found::Nothing,
            _ => Found::Torn,
        };
        assert_eq!(opened(&bent, 3), expected, "bit {bit}");
    }
}

#[test]
fn headers_that_the_log_cannot_have_written_are_damage() {
    let read = |sequence: u64, logical: u64| {
        let header = Header {
            log: 1,
            sequence,
            logical,
        };
        let found = recover(1, (4, 6), |slot, bytes| match slot {
            2 => *bytes = *sealed(&header, &[0; PAYLOAD_BYTES]),
            _ => bytes.fill(0),
        });
        found.map(|found| (found.log.at(3), found.torn))
    };
    assert_eq!(read(9, 3), Ok((Some(2), vec![])));
    let beyond = Damage::Beyond {
        slot: 2,
        logical: 4,
        blocks: 4,
    };
    assert_eq!(read(9, 4), Err(beyond));
    assert_eq!(read(u64::MAX, 0), Err(Damage::Last { slot: 2 }));
}

const DISK: &str = "hp-c2247a";

fn blueprint(knobs: &str) -> Box<dyn Blueprint> {
    let part: nearslot_core::config::PartConfig = format!("{DISK}:{knobs}").parse().unwrap();
    let text = drive::catalog_text(DISK).unwrap();
    drive::read(DISK, text, &part.knobs).unwrap().0
}

/// One entry, on a drive of its own.
fn measured_alone(blueprint: &dyn Blueprint, p: u64, think: Duration, skip: u64) -> u64 {
    let mut drive = blueprint.drive();
    let mut write = |at: u64, begin: Instant| {
        let command = Command {
            io: IoId(0),
            op: Op::Write,
            at: Pba(at),
            len: Blocks(PAYLOAD_BLOCKS),
            fua: false,
        };
        drive.submit(begin, &command);
        let mut now = begin;
        while drive.advance(now).is_none() {
            now = drive.next_event().unwrap();
        }
        now
    };
    let first = write(p, Instant::ZERO);
    let begin = first + think;
    write(p + skip, begin).since(begin).0
}

#[test]
fn the_published_grid_has_its_entries() {
    let grid = Grid::published(1);
    assert_eq!((grid.thinks, grid.skips), (1_601, 1_201));
    let last = (
        grid.think_step.0 * (grid.thinks - 1),
        grid.skip_step * (grid.skips - 1),
    );
    assert_eq!(last, (80_000_000, 600 * 2), "80 ms, 600 KB");
    assert_eq!(grid.reach(), 1_208);
}

/// On mechanics alone a drive has no memory but for where its heads are and how far its platters
/// have turned. Each p is written anew, so an entry depends on the time of its first write by what
/// the second waits for, which is the same at any turn.
#[test]
fn the_table_is_what_drives_measured_one_by_one_have() {
    let blueprint = blueprint("model=mechanical:layout=ideal:overhead_ms=0.3");
    let grid = Grid {
        think_step: Duration::from_us(700),
        thinks: 20,
        skip_step: 5,
        skips: 41,
        repeats: 3,
    };
    let (begin, end) = (1_000, 2_000);
    let profile = Profile::measure(&*blueprint, begin..end, grid, false, &|| true).unwrap();
    let room = end - begin - grid.reach();
    let costs = profile.costs().chunks(grid.skips as usize);
    for (row, think) in costs.zip(0..) {
        let think = Duration(grid.think_step.0 * think);
        for (cost, skip) in row.iter().zip(0..) {
            let alone = (0..3).map(|repeat| {
                let p = begin + room * repeat / 3;
                measured_alone(&*blueprint, p, think, skip * grid.skip_step)
            });
            let mean = alone.sum::<u64>() / 3;
            // Angles are rounded, by an amount that hangs on when a turn began.
            assert!(
                cost.abs_diff(mean) <= 2,
                "{think} {skip}: {cost} and {mean}"
            );
        }
    }
    let turn = 60_000_000_000 / 5_400;
    let dearest = profile.costs().iter().max().copied().unwrap();
    assert!(
        (turn * 9 / 10..turn * 13 / 10).contains(&dearest),
        "{dearest}"
    );
}

#[test]
fn rows_are_read_from_the_next_longer_think_time_and_columns_from_the_next_shorter_skip() {
    let grid = Grid {
        think_step: Duration(100),
        thinks: 3,
        skip_step: 10,
        skips: 4,
        repeats: 1,
    };
    let costs = vec![1, 2, 3, 4, 9, 5, 5, 7, 4, 3, 2, 1];
    let profile = Profile::of(grid, costs);
    let first = |think: u64| {
        let rows = profile.quickest(Duration(think));
        rows.map(|skips| skips.start / 10).collect::<Vec<u64>>()
    };
    assert_eq!(first(0), [0, 1, 2, 3]);
    assert_eq!(first(1), [1, 2, 3, 0], "of equal ones the nearer");
    assert_eq!(first(100), [1, 2, 3, 0]);
    assert_eq!(first(101), [3, 2, 1, 0]);
    assert_eq!(first(9_999), [3, 2, 1, 0], "beyond the table the last row");
    assert!(profile.covers(Duration(200)) && !profile.covers(Duration(201)));
    let skips = profile.quickest(Duration(0)).nth(1);
    assert_eq!(skips, Some(10..20));
}

#[test]
fn the_quickest_free_run_is_taken_and_a_wrap_leads_to_the_begin() {
    // Column c stands for the slot c behind the last write: 4 KiB to it, and a slot for each
    // further one.
    let grid = Grid {
        think_step: Duration(1),
        thinks: 1,
        skip_step: 1,
        skips: PAYLOAD_BLOCKS + 3 * SLOT_BLOCKS + 1,
        repeats: 1,
    };
    let mut costs = vec![500; grid.entries() as usize];
    for (ahead, cost) in [(0, 40), (1, 30), (2, 10), (3, 20)] {
        costs[(PAYLOAD_BLOCKS + ahead * SLOT_BLOCKS) as usize] = cost;
    }
    // A skip into the last block, or to no begin of a slot, is quickest and never taken.
    costs[3] = 1;
    costs[PAYLOAD_BLOCKS as usize + 4] = 2;
    let profile = Profile::of(grid, costs);
    let mut log = Log::new(5, 12);
    let at = |log: &Log, end: u64, count: u64| quickest(log, &profile, (end, Duration(0)), count);
    assert_eq!(at(&log, 1, 1), Some(3));
    assert_eq!(at(&log, 10, 1), Some(0), "slot 12 is slot 0");
    assert_eq!(at(&log, 12, 1), Some(2), "behind the last is the first");
    let write = log.begin(0, 1);
    log.take(&write, 3);
    assert_eq!(at(&log, 1, 1), Some(4), "the next best");
    assert_eq!(at(&log, 1, 2), Some(4));
    assert_eq!(at(&log, 0, 2), Some(1), "two in a row");
    assert_eq!(at(&log, 2, 6), Some(4));
    for slot in 4..6 {
        let write = log.begin(0, 1);
        log.take(&write, slot);
    }
    assert_eq!(at(&log, 2, 2), Some(6), "beyond the table the next run");
    assert_eq!(at(&log, 2, 7), None);
}
