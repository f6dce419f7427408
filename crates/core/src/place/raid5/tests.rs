//! Which I/Os a write takes, counted; where strips and parities lie.

mod failing;
mod outdated;

use super::attempts::How;
use super::geometry::{Geometry, Piece, Rows};
use super::writing::cheapest;
use super::*;
use crate::op::Status;
use crate::place::busy::Busy;
use crate::plan::Step;
use crate::registry::{KnobValue, Knobs};

/// Six drives with data and one with parity: the arrays of the study.
fn knobs(settings: &[(&str, i64)]) -> Knobs {
    let given: Vec<(String, KnobValue)> = settings
        .iter()
        .map(|(key, value)| ((*key).to_owned(), KnobValue::Integer(*value)))
        .collect();
    SPEC.card().check(&given).expect("they are allowed")
}

/// Over so many blocks of disks of 586 blocks a track.
fn over(blocks: u64, settings: &[(&str, i64)]) -> Raid5 {
    let geometry = Geometry::new(&knobs(settings), Blocks(blocks)).expect("it fits");
    let table = RowsTable::new(&geometry.parities(1, Blocks(blocks)));
    let drives = Media {
        loses: false,
        quarter_turn: Blocks(146),
    };
    Raid5::new(geometry, drives, table, 0.0)
}

fn raid5(settings: &[(&str, i64)]) -> Raid5 {
    over(64_000, settings)
}

/// 32 KiB a strip.
pub(super) fn of_study() -> Raid5 {
    raid5(&[("disks", 7), ("strip_kib", 32)])
}

/// How many reads and writes a write takes.
fn ios(raid5: &mut Raid5, start: u64, len: u64) -> (usize, usize) {
    let mut plan = Plan::default();
    let request = Request::new(1, Op::Write, start, len, Instant::ZERO);
    raid5.plan(Instant::ZERO, &request, &Busy, &mut plan);
    let reads = plan.ios().filter(|io| io.op == Op::Read).count();
    (reads, plan.ios().count() - reads)
}

#[test]
fn full_strips_take_as_many_ios_as_published() {
    let strip = 64;
    for (strips, all, reads) in [
        (1, 4, 2),
        (2, 6, 3),
        (3, 7, 3),
        (4, 7, 2),
        (5, 7, 1),
        (6, 7, 0),
    ] {
        // From the first strip of a stripe on, and up to its last one.
        for start in [6 * strip * 10, 6 * strip * 11 - strips * strip] {
            let found = ios(&mut of_study(), start, strips * strip);
            assert_eq!(found, (reads, all - reads), "{strips} strips");
        }
    }
}

#[test]
fn a_page_of_each_strip_takes_as_many_ios_as_published() {
    for (strips, expected) in [(1, 4), (2, 6), (3, 8), (4, 10), (5, 12), (6, 13)] {
        // In other rows each, as otherwise fewer do.
        let page = |member: u64| Piece {
            member,
            rows: Rows {
                from: member * 8,
                to: member * 8 + 8,
            },
        };
        let pieces: Vec<Piece> = (0..strips).map(page).collect();
        assert_eq!(cheapest(6, &pieces).1, expected, "{strips} strips");
    }
    let same = |member: u64| Piece {
        member,
        rows: Rows { from: 0, to: 8 },
    };
    let pieces: Vec<Piece> = (0..6).map(same).collect();
    assert_eq!(cheapest(6, &pieces), (How::Reconstruct, 7));
    // One request: a page, and one on either side of a border.
    assert_eq!(ios(&mut of_study(), 8, 8), (2, 2));
    assert_eq!(ios(&mut of_study(), 56, 16), (3, 3));
}

/// Whatever a request covers, no other way takes fewer.
#[test]
fn a_plan_takes_as_many_ios_as_were_counted() {
    for (start, len) in [
        (0, 384),
        (5, 200),
        (64, 320),
        (60, 330),
        (1, 383),
        (300, 600),
    ] {
        let mut raid5 = of_study();
        let extent = Request::new(1, Op::Write, start, len, Instant::ZERO).extent;
        let expected: u64 = raid5
            .geometry
            .stripes(&extent)
            .map(|number| {
                let stripe = raid5.geometry.stripe(number);
                let pieces: Vec<Piece> = raid5.geometry.pieces(&stripe, &extent).collect();
                cheapest(6, &pieces).1
            })
            .sum();
        let (reads, writes) = ios(&mut raid5, start, len);
        assert_eq!((reads + writes) as u64, expected, "{start} {len}");
    }
}

#[test]
fn only_rows_that_are_written_take_part() {
    let mut plan = Plan::default();
    let request = Request::new(1, Op::Write, 8, 8, Instant::ZERO);
    of_study().plan(Instant::ZERO, &request, &Busy, &mut plan);
    assert!(plan.ios().all(|io| io.len == Blocks(8)));
    assert!(plan.ios().all(|io| io.target == Target::At(Pba(8))));
    let before = |step: usize| {
        let edges = plan.edges.iter();
        let of_step = edges.filter(|edge| edge.then.0 as usize == step);
        of_step
            .map(|edge| edge.before.0 as usize)
            .collect::<Vec<_>>()
    };
    for (index, step) in plan.steps.iter().enumerate() {
        match step {
            // Nothing is written before all is read.
            Step::Io(io) if io.op == Op::Write => {
                let parities = before(index);
                assert_eq!(parities.len(), 1);
                assert_eq!(before(parities[0]).len(), 2);
            }
            Step::Io(_) | Step::Gate(_) => assert!(before(index).is_empty()),
            Step::Parity(_) => {}
        }
    }
}

/// Every block of every drive is in one row of one stripe, and each of the volume's blocks is on
/// one drive.
#[test]
fn every_block_has_one_place() {
    for settings in [
        &[("disks", 3)][..],
        &[("disks", 8), ("arrays", 2), ("extent_stripes", 3)],
        &[("disks", 15), ("arrays", 3)],
    ] {
        let raid5 = raid5(&[settings, &[("strip_kib", 2)]].concat());
        let geometry = raid5.geometry;
        for number in (0..100).chain([geometry.capacity().0 / geometry.stripe_blocks() - 1]) {
            let stripe = geometry.stripe(number);
            let mut seats: Vec<Seat> = (0..=stripe.parity())
                .map(|member| stripe.seat(member))
                .collect();
            for (member, seat) in (0..).zip(&seats) {
                assert_eq!(stripe.member(*seat), member);
                assert_eq!(geometry.stripe_at(*seat, stripe.at(3)), stripe);
            }
            seats.sort_unstable();
            seats.dedup();
            assert_eq!(seats.len() as u64, geometry.width());
        }
    }
}

/// As many strips in a row as there are drives are on one drive each, and so are parities.
#[test]
fn strips_and_parities_go_round() {
    let geometry = raid5(&[("disks", 5), ("strip_kib", 4)]).geometry;
    let of_strip = |strip: u64| geometry.stripe(strip / 4).seat(strip % 4);
    for strip in 0..200 {
        let next = Seat((of_strip(strip).0 + 1) % 5);
        assert_eq!(of_strip(strip + 1), next, "after strip {strip}");
    }
    let parities = (0..5).map(|number| geometry.stripe(number).seat(4).0);
    assert!(parities.eq([4, 3, 2, 1, 0]));
}

/// Extents of 40 stripes go round over the arrays, as in the study: 240 strips.
#[test]
fn extents_go_round_over_arrays() {
    let geometry = raid5(&[
        ("disks", 14),
        ("arrays", 2),
        ("strip_kib", 32),
        ("extent_stripes", 40),
    ])
    .geometry;
    let array = |strip: u64| geometry.stripe(strip / 6).seat(strip % 6).0 / 7;
    for strip in 0..2_000 {
        assert_eq!(u64::from(array(strip)), strip / 240 % 2);
    }
    // 1,000 strips a drive are 25 extents.
    assert_eq!(geometry.capacity(), Blocks(2 * 1_000 * 6 * 64));
}

#[test]
fn impossible_arrays_are_named() {
    for (settings, told) in [
        (
            &[("disks", 5), ("arrays", 2)][..],
            "disks = 5 (allowed: a multiple of 2, the arrays, and at least 6: an array has three drives or more)",
        ),
        (
            &[("disks", 4), ("arrays", 2)],
            "disks = 4 (allowed: a multiple of 2, the arrays, and at least 6: an array has three drives or more)",
        ),
        (
            &[("strip_kib", 64_000)],
            "strip_kib = 64000 (allowed: no more than the 32000 KiB of a drive)",
        ),
        (
            &[("disks", 6), ("arrays", 2), ("extent_stripes", 501)],
            "extent_stripes = 501 (allowed: at most 500, the stripes that a drive has room for)",
        ),
        (
            &[("extent_stripes", 1)],
            "extent_stripes = 1 (allowed: left out where arrays = 1: no other array has a turn)",
        ),
        (
            &[("disks", 8), ("arrays", 2), ("spares", 1)],
            "disks = 8 (allowed: the sum of the spares, 1, and a multiple of 2, the arrays, and at least 7: an array has three drives or more)",
        ),
        (
            &[("disks", 4), ("spares", 5)],
            "disks = 4 (allowed: the sum of the spares, 5, and a multiple of 1, the arrays, and at least 8: an array has three drives or more)",
        ),
    ] {
        let error = Geometry::new(&knobs(settings), Blocks(64_000)).unwrap_err();
        assert_eq!(error.to_string(), told);
    }
}

/// Where a bad block counts as good from then on, its write ends only when a power cut cannot take
/// it.
#[test]
fn what_is_written_over_bad_blocks_is_forced_where_caches_lose_it() {
    for loses in [false, true] {
        let mut raid5 = of_study();
        raid5.written = Written::new(loses);
        let seat = raid5.geometry.stripe(0).seat(0);
        raid5.mark(seat, Pba(10), Blocks(1), Kind::Bad);
        let drive = raid5.seats.drive(seat);
        let mut plan = Plan::default();
        let request = Request::new(1, Op::Write, 8, 8, Instant::ZERO);
        raid5.plan(Instant::ZERO, &request, &Busy, &mut plan);
        let covers = |io: &PlannedIo| io.drive == drive && io.target == Target::At(Pba(10));
        let writes = || plan.ios().filter(|io| io.op == Op::Write);
        assert!(writes().any(|io| covers(io) && io.fua == loses));
        assert!(writes().filter(|io| !covers(io)).all(|io| !io.fua));
    }
}

/// The arrays of the study: six drives with data, one with parity, and a spare for each.
#[test]
fn spares_are_the_last_drives() {
    let study = [
        ("disks", 128),
        ("arrays", 16),
        ("spares", 16),
        ("strip_kib", 32),
        ("extent_stripes", 40),
    ];
    let without = [("disks", 112), ("arrays", 16), study[3], study[4]];
    let (raid5, without) = (raid5(&study), raid5(&without));
    assert_eq!(raid5.shape().drives, 128);
    assert_eq!(raid5.shape().capacity, without.shape().capacity);
    assert_eq!(raid5.seats.taken().count(), 112);
    assert_eq!(raid5.seats.seat(DriveId(111)), Some(Seat(111)));
    assert_eq!(raid5.seats.seat(DriveId(112)), None);
}

/// What is lost, block by block: in rows of which two are bad.
fn lost_by_flags(raid5: &Raid5, bad: &[Vec<bool>]) -> Vec<u64> {
    let geometry = &raid5.geometry;
    let mut lost = Vec::new();
    for block in 0..geometry.capacity().0 {
        let stripe = geometry.stripe(block / geometry.stripe_blocks());
        let (member, row) = (
            block / geometry.strip % geometry.data,
            block % geometry.strip,
        );
        let at = stripe.at(row).0 as usize;
        let own = stripe.seat(member);
        let is_bad = |seat: Seat| bad[seat.index()][at];
        let others = geometry.seats_of(geometry.array(own));
        if is_bad(own) && others.filter(|seat| is_bad(*seat)).count() > 1 {
            lost.push(block);
        }
    }
    lost
}

#[test]
fn what_is_lost_is_as_a_flag_for_each_block() {
    let mut rng = crate::rng::Rng::stream(1, "lost");
    for _ in 0..30 {
        let settings = [("disks", 7), ("arrays", 2), ("spares", 1), ("strip_kib", 2)];
        let mut raid5 = over(200, &settings);
        let mut bad = vec![vec![false; 200]; 6];
        let mut most = 0;
        for _ in 0..40 {
            let seat = rng.below(6) as u16;
            let from = rng.below(200);
            let to = from + 1 + rng.below((200 - from).min(60));
            let flags = &mut bad[usize::from(seat)][from as usize..to as usize];
            let (seat, at, len) = (Seat(seat), Pba(from), Blocks(to - from));
            if rng.chance(0.6) {
                flags.fill(true);
                raid5.mark(
                    seat,
                    at,
                    len,
                    [Kind::Bad, Kind::Gone][rng.below(2) as usize],
                );
            } else {
                flags.fill(false);
                raid5.bad.clear(seat, at, len);
            }
            let expected = lost_by_flags(&raid5, &bad);
            let lost = raid5.lost();
            assert_eq!(lost.blocks, expected.len() as u64);
            let listed = lost.extents.iter();
            let listed: Vec<u64> = listed.flat_map(|run| run.start.0..run.end().0).collect();
            assert_eq!(listed, expected);
            most = most.max(lost.extents.len());
        }
        assert!((5..Lost::LISTED).contains(&most), "{most} runs");
        assert!(raid5.counts.lost_blocks > 0);
    }
}

/// Two drives of an array that are gone: one run a strip, or two, and a hundred of them are listed.
#[test]
fn so_many_addresses_are_listed() {
    let mut raid5 = raid5(&[("disks", 5), ("strip_kib", 32)]);
    let used = Blocks(raid5.geometry.used());
    raid5.mark(Seat(1), Pba(0), used, Kind::Gone);
    raid5.mark(Seat(3), Pba(0), used, Kind::Gone);
    let lost = raid5.lost();
    // Of ten strips in five stripes two are parities.
    assert_eq!(lost.blocks, used.0 / 5 * 8);
    assert_eq!(raid5.counts.lost_blocks, lost.blocks);
    assert_eq!(lost.extents.len(), Lost::LISTED);
    assert!(
        lost.extents
            .windows(2)
            .all(|two| two[0].end() < two[1].start)
    );
}

/// How a flush is planned: with the reason why it fails, if it does.
fn flush(raid5: &mut Raid5) -> Option<Failure> {
    let mut plan = Plan::default();
    let request = Request::new(1, Op::Flush, 0, 0, Instant::ZERO);
    raid5.plan(Instant::ZERO, &request, &Busy, &mut plan);
    assert_eq!(plan.failure.is_none(), plan.ios().count() == 7);
    plan.failure
}

/// Once: then nothing more was lost. Of several losses a drive that went is what is told.
#[test]
fn a_flush_fails_by_what_lost_something() {
    for (whys, failure) in [
        (&[Kind::Bad, Kind::Bad][..], Failure::Medium),
        (&[Kind::Gone, Kind::Bad], Failure::Gone),
        (&[Kind::Bad, Kind::Gone], Failure::Gone),
        (&[Kind::Gone; 2], Failure::Gone),
    ] {
        let mut raid5 = of_study();
        for (seat, why) in (0..).map(Seat).zip(whys) {
            assert_eq!(flush(&mut raid5), None);
            raid5.mark(seat, Pba(10), Blocks(2), *why);
        }
        assert_eq!(flush(&mut raid5), Some(failure), "{whys:?}");
        assert_eq!(flush(&mut raid5), None, "{whys:?}");
        // Elsewhere, and of two bad blocks alone.
        for _ in 0..2 {
            raid5.mark(Seat(4), Pba(11), Blocks(1), Kind::Bad);
            raid5.mark(Seat(5), Pba(100), Blocks(1), Kind::Bad);
            raid5.mark(Seat(6), Pba(100), Blocks(1), Kind::Bad);
        }
        let lost = whys.contains(&Kind::Gone);
        let failure = if lost { Failure::Gone } else { Failure::Medium };
        assert_eq!(flush(&mut raid5), Some(failure), "{whys:?}");
    }
}

/// The time counts that a spare was rebuilt in vain: since another drive of its array went, or
/// since it went itself.
#[test]
fn a_rebuild_that_has_no_end_took_its_time() {
    for second in [Seat(2), Seat(1)] {
        let mut raid5 = raid5(&[("disks", 6), ("spares", 1)]);
        let (mut out, mut told) = (Plan::default(), Vec::new());
        for (second_s, seat) in [(10, Seat(1)), (70, second)] {
            raid5.repair.at(Instant(second_s * 1_000_000_000));
            let drive = raid5.seats.drive(seat);
            raid5.seats.learn(drive, Status::Failed(Failure::Gone));
            raid5.vacated(seat, &mut out);
            told.push(raid5.rebuilding().0);
        }
        assert_eq!(raid5.repair_piece(0, &mut out), None);
        raid5.repair.at(Instant(100_000_000_000));
        told.push(raid5.rebuilding().0 / 1_000_000_000);
        assert_eq!(told, [0, 60_000_000_000, 60], "{second:?}");
        assert_eq!((raid5.counts.rebuilds, raid5.counts.rebuild_ms), (0, 0));
        raid5.audit();
    }
}
