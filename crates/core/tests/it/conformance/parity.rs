//! What a write moves that crosses from one strip of `raid5` to the next.

use nearslot_core::config::PartConfig;
use nearslot_core::contract::{Drives, Oracle, Placement};
use nearslot_core::drive;
use nearslot_core::ids::DriveId;
use nearslot_core::op::Op;
use nearslot_core::plan::Plan;
use nearslot_core::registry::{Forgetful, VolumeEnv};
use nearslot_core::request::Request;
use nearslot_core::units::Instant;

/// Drives that all have something to do.
struct Busy;

impl Drives for Busy {
    fn idle(&self, _drive: DriveId) -> bool {
        false
    }

    fn waiting(&self, _drive: DriveId) -> usize {
        1
    }

    fn oracle(&self, _drive: DriveId) -> &dyn Oracle {
        panic!("none is idle")
    }
}

/// How many I/Os, and how many blocks, a write of so many blocks on either side of the first border
/// takes.
fn moved(drive: &str, strip_kib: u64, blocks: u64) -> (usize, u64) {
    let text = drive::catalog_text(drive).expect("it is there");
    let (blueprint, _) = drive::read(drive, text, &[]).expect("it is whole");
    let place = format!("raid5:disks=7:strip_kib={strip_kib}");
    let place: PartConfig = place.parse().expect("a part and its settings");
    let place = place.build::<dyn Placement>(&VolumeEnv {
        seed: 1,
        label: "place",
        names: crate::support::NAMES,
        blueprint: &*blueprint,
        identity: "of the test",
        memo: &Forgetful,
        survivors: None,
    });
    let border = strip_kib * 2;
    let request = Request::new(1, Op::Write, border - blocks, 2 * blocks, Instant::ZERO);
    let mut plan = Plan::default();
    let mut place = place.expect("it fits");
    place.plan(Instant::ZERO, &request, &Busy, &mut plan);
    let blocks = plan.ios().map(|io| io.len.0).sum();
    (plan.ios().count(), blocks)
}

/// On this disk a track has 586 blocks.
#[test]
fn rows_between_the_ends_of_a_write_take_part_if_they_pass_in_a_quarter_of_a_turn() {
    for (strip_kib, blocks, together) in [
        (32, 8, true),
        (64, 8, true),
        (81, 8, true),
        (82, 8, false),
        (82, 9, true),
        (1_024, 8, false),
    ] {
        let expected = match together {
            // Each of six disks is read once, or written once, and the parity has all rows.
            true => (6, 4 * blocks + 2 * 2 * strip_kib),
            false => (8, 8 * blocks),
        };
        let found = moved("scsi-10k-73gb", strip_kib, blocks);
        assert_eq!(found, expected, "{strip_kib} KiB, {blocks} blocks");
    }
}

#[test]
fn rows_between_the_ends_of_a_write_never_take_part_where_nothing_turns() {
    for drive in ["sata-tlc-500gb", "nvme-tlc-1tb", "null"] {
        for (strip_kib, blocks) in [(4, 3), (32, 8), (32, 31), (1_024, 8)] {
            let found = moved(drive, strip_kib, blocks);
            assert_eq!(
                found,
                (8, 8 * blocks),
                "{drive}, {strip_kib} KiB, {blocks} blocks"
            );
        }
        assert_eq!(moved(drive, 4, 4), (6, 32), "{drive}: none is between");
    }
}
