//! Which I/Os a write takes, counted; where strips and parities lie.

use super::geometry::{Geometry, Piece, Rows};
use super::writing::{How, cheapest};
use super::*;
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

fn raid5(settings: &[(&str, i64)]) -> Raid5 {
    let blocks = Blocks(64_000);
    let geometry = Geometry::new(&knobs(settings), blocks).expect("it fits");
    let table = RowsTable::new(&geometry.parities(1, blocks));
    Raid5::new(geometry, false, table, 0.0)
}

/// 32 KiB a strip.
fn of_study() -> Raid5 {
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

/// Every block of every drive is in one row of one stripe, and each of the volume's blocks is on one drive.
#[test]
fn every_block_has_one_place() {
    for settings in [
        [("disks", 3), ("arrays", 1), ("extent_stripes", 1)],
        [("disks", 8), ("arrays", 2), ("extent_stripes", 3)],
        [("disks", 15), ("arrays", 3), ("extent_stripes", 1)],
    ] {
        let raid5 = raid5(&[&settings[..], &[("strip_kib", 2)]].concat());
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
            &[("extent_stripes", 501)],
            "extent_stripes = 501 (allowed: at most 500, the stripes that a drive has room for)",
        ),
    ] {
        let error = Geometry::new(&knobs(settings), Blocks(64_000)).unwrap_err();
        assert_eq!(error.to_string(), told);
    }
}

/// Where a bad block counts as good from then on, its write ends only when a power cut cannot take it.
#[test]
fn what_is_written_over_bad_blocks_is_forced_where_caches_lose_it() {
    for loses in [false, true] {
        let mut raid5 = of_study();
        raid5.written = Written::new(loses);
        let seat = raid5.geometry.stripe(0).seat(0);
        raid5.mark(seat, Pba(10), Blocks(1));
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
