//! A drive that is gone from the beginning: what is left answers as fast as if it had been alone,
//! once that is found out.

use nearslot_core::ids::DriveId;
use nearslot_core::op::Op;
use nearslot_core::rng::Rng;
use nearslot_core::stack::Action;
use nearslot_core::units::{Duration, Instant};

use crate::contents::failing::Failing;
use crate::contents::rig::Rig;
use crate::contents::setups::Setup;

/// Requests of a load.
const REQUESTS: usize = 600;

/// Response times of one request after the other, and how many commands each drive began for them.
/// The load goes to the first `blocks` of the volume, but for those that `avoids` says.
struct Run {
    responses: Vec<Duration>,
    commands: Vec<usize>,
    failed: u64,
}

impl Run {
    /// Each request took as long as in another run.
    fn check(&self, other: &Run, what: &str) {
        let pairs = self.responses.iter().zip(&other.responses);
        let differ = pairs.filter(|(one, other)| one != other).count();
        let (mean, expected) = (self.mean_ms(), other.mean_ms());
        assert_eq!(differ, 0, "{what}: {mean} ms, not {expected} ms");
    }

    fn mean_ms(&self) -> f64 {
        let total: u64 = self.responses.iter().map(|one| one.0).sum();
        total as f64 / 1e6 / self.responses.len() as f64
    }
}

/// One request after the other, with some time between them, while a drive is gone.
fn run(setup: &Setup, gone: Option<u16>, blocks: u64, avoids: impl Fn(u64) -> bool) -> Run {
    let mut rig = Rig::new(setup, "disk", "satf", 3);
    rig.rules.off = true;
    rig.contents.may_fail = true;
    let drives = rig.drives() as usize;
    let mut failing = Failing::none(drives);
    failing.gone = gone.map(DriveId).into_iter().collect();
    rig.failing = Some(failing);
    rig.fill();
    rig.settle();
    let whole = Instant::ZERO + Duration::from_us(200_000_000);
    assert!(rig.now < whole, "the volume is filled by then");
    rig.run_until(whole);
    // From now on the arm is where it would be over one drive.
    rig.submit(Op::Read, blocks / 16 * 8, 1, 0);
    rig.settle();
    let (before, failed) = (rig.trace.len(), rig.failed);
    let mut rng = Rng::stream(4, "load");
    for number in 1..=REQUESTS {
        rig.run_until(whole + Duration::from_us(80_000 * number as u64));
        let (start, len) = loop {
            let len = [3, 8, 8, 30][rng.below(4) as usize];
            let start = rng.below(blocks / 8 - 4) * 8 + rng.below(4);
            if !(start..start + len).any(&avoids) {
                break (start, len);
            }
        };
        let op = if rng.chance(0.6) { Op::Read } else { Op::Write };
        rig.submit(op, start, len, 0);
    }
    rig.settle();
    let mut run = Run {
        responses: Vec::new(),
        commands: vec![0; drives],
        failed: rig.failed - failed,
    };
    for (_, action) in &rig.trace[before..] {
        match action {
            Action::Reply(reply) => {
                let timeline = reply.timeline;
                run.responses.push(timeline.replied.since(timeline.arrived));
            }
            Action::Start { drive, .. } => run.commands[drive.index()] += 1,
            _ => {}
        }
    }
    run
}

/// Blocks that all of these volumes have.
const BLOCKS: u64 = 1_000;

#[test]
fn a_mirror_without_a_drive_is_as_fast_as_the_other_one() {
    let one = run(Setup::of("linear"), None, BLOCKS, |_| false);
    for foreground in [1, 2] {
        for gone in [0, 1] {
            let setup = Setup {
                foreground,
                ..*Setup::of("mirror:disks=2")
            };
            let left = run(&setup, Some(gone), BLOCKS, |_| false);
            match gone {
                1 => left.check(&one, &format!("{setup:?}")),
                // The second drive turns in another phase.
                _ => {
                    let (mean, expected) = (left.mean_ms(), one.mean_ms());
                    let off = (mean / expected - 1.0).abs();
                    assert!(off < 0.03, "{setup:?}: {mean} ms, not {expected} ms");
                }
            }
            assert_eq!(left.commands[usize::from(gone)], 0, "{setup:?}");
            assert_eq!(left.commands[usize::from(1 - gone)], one.commands[0]);
        }
    }
}

/// Range writes go where they would go over one drive.
#[test]
fn a_host_that_offers_is_without_a_drive_as_fast_as_over_one() {
    let one = run(Setup::of("offering"), None, BLOCKS, |_| false);
    let left = run(
        Setup::of("offering:disks=2:copies=2"),
        Some(1),
        BLOCKS,
        |_| false,
    );
    left.check(&one, "the first of two copies");
    assert_eq!((left.failed, left.commands[1]), (0, 0));
    assert_eq!(left.commands[0], one.commands[0]);
}

/// Each drive has all copies of what it has.
#[test]
fn what_is_left_of_rotational_replicas_is_as_fast_as_before() {
    let setup = Setup::of("sr_array:ds=1:dr=2:stripe_kib=8");
    let on_second = |block: u64| block / 16 % 2 == 1;
    let all = run(setup, None, BLOCKS, on_second);
    let left = run(setup, Some(1), BLOCKS, on_second);
    left.check(&all, "half of an array");
    assert_eq!((left.failed, left.commands[1]), (0, 0));
    let lost = run(setup, Some(1), BLOCKS, |block| !on_second(block));
    assert_eq!(
        lost.failed, REQUESTS as u64,
        "what is there is nowhere else"
    );
}

#[test]
fn eager_copies_without_a_drive_are_no_slower_than_one_drive_with_everything() {
    for place in [
        "ew_array:dm=2:stripe_kib=8",
        "distorted_mirror:stripe_kib=8",
    ] {
        let one = run(Setup::of("eager:dilution=2"), None, BLOCKS, |_| false);
        for (foreground, gone) in [(1, 0), (1, 1), (2, 0), (2, 1)] {
            let setup = Setup {
                foreground,
                ..*Setup::of(place)
            };
            let left = run(&setup, Some(gone), BLOCKS, |_| false);
            let (mean, most) = (left.mean_ms(), one.mean_ms());
            assert!(
                mean < most,
                "{setup:?} without {gone}: {mean} ms, not {most} ms"
            );
            assert_eq!(left.commands[usize::from(gone)], 0, "{setup:?}");
            assert_eq!(left.failed, 0, "{setup:?}");
        }
    }
}
