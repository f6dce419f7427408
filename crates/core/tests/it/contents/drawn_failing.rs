//! Volumes with several copies, loads and failures that are drawn at random: whatever goes wrong on
//! their drives, each request is answered, and with nothing that is wrong.
//!
//! Copies lie anywhere or at fixed places, with hardly a slot that is free or many, with each map;
//! up to six commands in ten of a drive fail, of which some or all are not answered in time; drives
//! go on the way. A read that fails must not be readable elsewhere, where the model knows all
//! copies: that is, where no delayed write may be overtaken (see `kept`). `NEARSLOT_DRAWS` says how
//! many lives, `NEARSLOT_DRAW` which is the first.

use nearslot_core::ids::DriveId;
use nearslot_core::op::Op;
use nearslot_core::rng::Rng;
use nearslot_core::sched;

use crate::contents::drawn::one_of;
use crate::contents::failing::Failing;
use crate::contents::load;
use crate::contents::random::named;
use crate::contents::rig::Rig;
use crate::contents::setups::Setup;
use crate::support::number;

/// Lives in the tests of every day.
const DRAWS: u64 = 40;

/// How often the commands of a drive may fail.
const CHANCES: [f64; 5] = [0.0, 0.02, 0.1, 0.3, 0.6];

const MAPS: [&str; 6] = [
    "",
    ":map=log:nvram_entries=2",
    ":map=log:nvram_entries=8",
    ":map=log:home=drive",
    ":map=virtual_log",
    ":map=virtual_log:map_tracks=3",
];

/// Where copies have homes, so much room is left besides.
const TIGHT: [&str; 4] = [
    "",
    ":ds=1.98:dd=1.0101010101",
    ":ds=1.9:dd=1.0526315789",
    ":ds=1.6:dd=1.25",
];

/// A placement, its copies and the blocks of a chunk.
fn placement(rng: &mut Rng) -> (String, usize, u64) {
    let map = one_of(rng, &MAPS);
    let compact = one_of(rng, &["", ":compact=true"]);
    let (kib, stripe) = one_of(rng, &[(4, 4), (4, 8), (2, 4), (2, 8), (6, 12)]);
    let eager = format!("{map}:chunk_kib={kib}");
    let arrays = format!("{}:stripe_kib={stripe}{eager}", one_of(rng, &TIGHT));
    match rng.below(8) {
        0 => {
            let dilution = one_of(rng, &["1.004", "1.01", "1.02", "1.05", "1.3"]);
            (
                format!("eager:dilution={dilution}{eager}{compact}"),
                1,
                kib * 2,
            )
        }
        1 | 2 => {
            let copies = one_of(rng, &[2, 2, 3]);
            (
                format!("ew_array:dm={copies}{arrays}{compact}"),
                copies,
                kib * 2,
            )
        }
        3..=5 => (format!("distorted_mirror{arrays}"), 2, kib * 2),
        6 => {
            let (disks, copies) = one_of(rng, &[(2, 2), (3, 3), (4, 2)]);
            let place = format!("mirror:disks={disks}:copies={copies}:stripe_kib=8");
            (place, copies, 8)
        }
        _ => {
            let (copies, ds) = (one_of(rng, &[2, 3]), one_of(rng, &["1", "1.5"]));
            let place = format!("sr_array:ds={ds}:dr={copies}:stripe_kib=8");
            (place, copies, 8)
        }
    }
}

/// A volume that can be built: not all that is drawn fits the drives.
fn volume(rng: &mut Rng) -> (Setup, &'static str, &'static str, u64) {
    loop {
        let (place, copies, chunk) = placement(rng);
        let foreground = 1 + rng.below(copies as u64) as usize;
        let setup = Setup {
            buffer: one_of(rng, &[0, 1, 3, 20, 10_000]),
            merge: one_of(rng, &["none", "none", "contiguous"]),
            ..Setup::new(place.leak(), copies, foreground).chunk(chunk)
        };
        let kind = one_of(
            rng,
            &["disk", "disk", "complete disk", "sorting disk", "null"],
        );
        let sched = one_of(rng, sched::TABLE).name;
        let seed = rng.below(1 << 30);
        if setup.config(kind, sched, seed).build().is_ok() {
            return (setup, kind, sched, seed);
        }
    }
}

/// Whether the model knows where each copy is as long as drives answer.
fn knows_copies(setup: &Setup) -> bool {
    !setup.maps() || setup.foreground == setup.copies && !setup.homes()
}

/// A life on such a volume. How many requests failed, and reads of these that were judged.
fn live(setup: &Setup, (kind, sched, seed): (&str, &str, u64), rng: &mut Rng) -> (u64, u64) {
    let mut rig = Rig::over(setup, setup.build(kind, sched, seed));
    rig.rules.off = true;
    rig.contents.may_fail = true;
    rig.fill();
    rig.settle();
    let drives = rig.drives();
    let chances = (0..drives).map(|_| one_of(rng, &CHANCES)).collect();
    let timeouts = one_of(rng, &[0.0, 0.5, 1.0]);
    rig.failing = Some(Failing::with(seed, chances, timeouts));
    rig.judges = timeouts == 0.0 && knows_copies(setup);
    for _ in 0..1 + rng.below(3) {
        let drive = DriveId(rng.below(drives) as u16);
        let going = rng.chance(0.5).then(|| (rng.below(80), drive));
        rig.failing.as_mut().expect("some fail").goes(going);
        if rng.chance(0.3) {
            load::storm(&mut rig, setup, rng);
        }
        load::churn(&mut rig, setup, 5, rng);
        if rng.chance(0.3) {
            rig.settle();
        }
    }
    rig.settle();
    if rng.chance(0.5) {
        rig.failing.as_mut().expect("some fail").calm();
    }
    load::scan(&mut rig, setup, rng);
    rig.submit(Op::Flush, 0, 0, 0);
    rig.settle();
    assert!(rig.saveable.is_empty(), "{:?}", rig.saveable);
    (rig.failed, rig.judged)
}

#[test]
fn whatever_fails_wherever_copies_lie_all_is_answered_and_right() {
    let (first, count) = (number("NEARSLOT_DRAW", 1), number("NEARSLOT_DRAWS", DRAWS));
    let (mut failed, mut judged) = (0, 0);
    for draw in first..first + count {
        let mut rng = Rng::stream(draw, "drawn volumes");
        // Shown if it fails.
        println!("draw {draw}");
        let (setup, kind, sched, seed) = volume(&mut rng);
        named(&setup, kind, sched, || {
            let life = live(&setup, (kind, sched, seed), &mut rng);
            (failed, judged) = (failed + life.0, judged + life.1);
        });
    }
    // A few lives need not have met much.
    let few = count < DRAWS;
    assert!(
        few || failed > 20 * count && judged > count,
        "{failed}, {judged}"
    );
}
