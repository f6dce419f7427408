//! A host that offers, on disks with tracks and on such as choose by themselves, with one copy and
//! with several: every read finds what was written, and all that can happen to a write has
//! happened.

use std::collections::BTreeMap;

use nearslot_core::ids::DriveId;
use nearslot_core::op::Op;
use nearslot_core::rng::Rng;
use nearslot_core::sched;
use nearslot_core::stack::Action;

use crate::contents::failing::{Slip, use_up, written};
use crate::contents::load;
use crate::contents::random::{live, named};
use crate::contents::rig::Rig;
use crate::contents::setups::Setup;

const KINDS: [&str; 3] = ["disk", "complete disk", "sorting disk"];

/// What is free is spread over tracks, and hardly more than a few writes need.
const SETUPS: &[Setup] = &[
    Setup::new("offering:within=track:dilution=1.5:unit_blocks=4", 1, 1).chunk(4),
    Setup::new("offering:within=track:dilution=1.1:unit_blocks=2", 1, 1).chunk(2),
    Setup::new("offering:within=disk:dilution=1.02", 1, 1),
];

/// The same with copies on several drives.
const ARRAYS: &[Setup] = &[
    Setup::new(
        "offering:within=track:dilution=1.5:unit_blocks=4:disks=2:copies=2",
        2,
        2,
    )
    .chunk(4),
    Setup::new("offering:within=disk:dilution=1.02:disks=3:copies=3", 3, 3),
    Setup::new(
        "offering:within=track:dilution=1.1:unit_blocks=2:disks=4:copies=2:stripe_kib=8",
        2,
        2,
    )
    .chunk(2),
];

fn all() -> impl Iterator<Item = &'static Setup> + Clone {
    SETUPS.iter().chain(ARRAYS)
}

/// What the placement counts, in all lives together.
#[derive(Default)]
struct Sum(BTreeMap<&'static str, u64>);

impl Sum {
    fn add(&mut self, rig: &Rig) {
        rig.stack.tell(&mut |kind, measure, number| {
            if kind == "place" {
                *self.0.entry(measure.name).or_default() += number;
            }
        });
    }

    fn check(&self, names: &[&str]) {
        for name in names {
            assert!(self.0[name] > 20, "{name}: {:?}", self.0);
        }
    }
}

#[test]
fn what_is_read_is_what_was_written_wherever_it_may_land() {
    let mut sum = Sum::default();
    for (number, spec) in sched::TABLE.iter().enumerate() {
        let setup = all().cycle().nth(number).expect("it goes round");
        for kind in KINDS {
            named(setup, kind, spec.name, || {
                sum.add(&live(setup, kind, spec.name, 20, number as u64));
            });
        }
    }
    sum.check(&[
        "range_writes",
        "in_place",
        "widened",
        "halved",
        "read_pieces",
    ]);
}

/// More writes at a time than there is room for.
#[test]
fn a_storm_of_writes_waits_for_room() {
    let mut sum = Sum::default();
    for (seed, setup) in all().enumerate() {
        for kind in KINDS {
            named(setup, kind, "satf", || {
                let mut rig = Rig::new(setup, kind, "satf", seed as u64);
                let mut rng = Rng::stream(seed as u64, "storm");
                rig.fill();
                for _ in 0..3 {
                    load::storm(&mut rig, setup, &mut rng);
                }
                rig.settle();
                load::scan(&mut rig, setup, &mut rng);
                rig.settle();
                sum.add(&rig);
            });
        }
    }
    sum.check(&["waited_for_room"]);
}

/// A write goes elsewhere when its place is bad, and what a drive has not answered hurts nobody.
#[test]
fn what_fails_is_no_wrong_data() {
    let mut failed = 0;
    for (seed, setup) in (0..).zip(all().cycle().take(18)) {
        named(setup, "disk", "satf", || {
            let mut rig = written(setup, seed, Slip::None, |_| 0.04);
            let timeouts = rig.failing.as_mut().expect("some fail");
            timeouts.timeouts = [0.0, 0.3][seed as usize % 2];
            failed += use_up(rig, setup, seed).failed;
        });
    }
    assert!(failed > 150, "{failed} requests failed");
}

/// The same place is free on two drives, and nothing else: none of them keeps it from the other
/// one.
#[test]
fn a_place_that_one_drive_takes_is_free_on_the_others() {
    let setup = Setup::new(
        "offering:within=disk:dilution=1.0033:disks=2:copies=2",
        2,
        2,
    );
    for kind in ["disk", "sorting disk"] {
        let mut rig = Rig::new(&setup, kind, "satf", 1);
        assert_eq!(rig.blocks(), 2_392, "one unit of 300 is free");
        rig.fill();
        rig.settle();
        let before = rig.trace.len();
        rig.submit(Op::Write, 0, 8, 0);
        let start = |action: &Action| match action {
            Action::Start { drive, .. } => Some(drive.0),
            _ => None,
        };
        let began = rig.trace[before..].iter();
        let began = began.filter_map(|(_, action)| start(action));
        let began: Vec<u16> = began.collect();
        assert_eq!(began, [0, 1], "both begin at once");
        rig.settle();
        assert_eq!(rig.failed, 0);
    }
}

/// Writes that no request waits for.
fn renewals(rig: &Rig) -> usize {
    let by_itself = |action: &Action| match action {
        Action::Start {
            command, origin, ..
        } => command.op == Op::Write && origin.request.is_none(),
        _ => false,
    };
    rig.trace.iter().filter(|(_, one)| by_itself(one)).count()
}

/// One drive of each column often does not answer, and then does again: what it has missed is
/// written there in spare time, so the others may go.
#[test]
fn copies_that_were_missed_are_written_again() {
    let mut renewed = 0;
    for (seed, setup) in (0..).zip(ARRAYS.iter().cycle().take(9)) {
        named(setup, "disk", "satf", || {
            let copies = setup.copies;
            let silent = seed as usize % copies;
            let fails = |drive| if drive % copies == silent { 0.06 } else { 0.0 };
            let mut rig = written(setup, seed, Slip::None, fails);
            rig.failing.as_mut().expect("some fail").timeouts = 1.0;
            let mut rng = Rng::stream(seed, "load");
            load::churn(&mut rig, setup, 120, &mut rng);
            rig.settle();
            assert_eq!(rig.failed, 0, "another drive has it");
            renewed += renewals(&rig);
            let others = (0..rig.drives() as u16).map(DriveId);
            let others = others.filter(|drive| drive.index() % copies != silent);
            let failing = rig.failing.as_mut().expect("some fail");
            assert!(failing.calm() > 20, "hardly anything has failed");
            failing.gone = others.collect();
            load::scan(&mut rig, setup, &mut rng);
            rig.submit(Op::Flush, 0, 0, 0);
            rig.settle();
            assert_eq!(rig.failed, 0, "everything is on the drive that is left");
        });
    }
    assert!(renewed > 200, "{renewed} copies were written again");
}

/// Two drives read badly, each other places: nothing that one of them can read fails, and what is
/// bad is written anew.
#[test]
fn what_one_drive_cannot_read_is_read_on_the_other() {
    for (seed, setup) in (0..).zip(ARRAYS.iter().cycle().take(6)) {
        named(setup, "disk", "satf", || {
            let mut rig = written(setup, seed, Slip::None, |_| 0.0);
            let mut rng = Rng::stream(seed, "bad");
            for (block, places) in rig.contents.places(0..rig.blocks()).iter().enumerate() {
                let keeps = rng.below(places.len() as u64) as usize;
                let bad = places
                    .iter()
                    .enumerate()
                    .filter(|(index, _)| *index != keeps);
                if block % 3 == 0 {
                    let failing = rig.failing.as_mut().expect("some fail");
                    bad.for_each(|(_, (drive, at, _))| failing.spoil(*drive, *at));
                }
            }
            // Units have blocks that are bad on each drive, so most of them can be read nowhere;
            // others are read one by one.
            let unreadable = |rig: &Rig| {
                let failing = rig.failing.as_ref().expect("some fail");
                let places = rig.contents.places(0..rig.blocks());
                let units = places.chunks(setup.chunk as usize);
                let can = |drive: u16, unit: &[Vec<(DriveId, u64, bool)>]| {
                    unit.iter().all(|block| {
                        let mut good = block.iter().filter(|(_, _, newest)| *newest);
                        good.any(|(on, at, _)| *on == DriveId(drive) && failing.reads(*on, *at))
                    })
                };
                let lost = units.filter(|unit| {
                    let mut drives = 0..rig.drives() as u16;
                    !drives.any(|drive| can(drive, unit))
                });
                lost.count() as u64
            };
            let lost = unreadable(&rig);
            for _ in 0..2 {
                let before = rig.failed;
                load::scan(&mut rig, setup, &mut rng);
                rig.settle();
                assert_eq!(rig.failed - before, lost, "units that no drive can read");
            }
        });
    }
}
