//! Every scheduler, over every oracle, on a small disk and on a drive without mechanics.
//!
//! The rig itself watches each step: no I/O lost or doubled, none from elsewhere, no idling while
//! something waits, no wait for what is past, and the part's own audit.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nearslot_core::drive;
use nearslot_core::op::Op;
use nearslot_core::rng::Rng;
use nearslot_core::sched;
use nearslot_core::units::Duration;

use crate::conformance::drives::{CAPPED, EMPIRICAL, SSD};
use crate::support::{Ask, DISK, NULL, Rig, blueprint, complete_disk, oracle, scheduler};

/// Case, part, reason.
const EXCUSED: &[(&str, &str, &str)] = &[
    (
        "sustained load",
        "sstf",
        "greedy: what is nearer goes first, for ever",
    ),
    (
        "sustained load",
        "satf",
        "greedy: what is nearer goes first, for ever",
    ),
    (
        "sustained load",
        "expand",
        "it is its base, and that is satf",
    ),
    (
        "sustained load",
        "first_fit",
        "it is its base, and that is satf",
    ),
    (
        "sustained load",
        "hits_first",
        "it is its base, and that is satf",
    ),
    ("sustained load", "read_first", "its reads go by SATF"),
    ("sustained load", "write_first", "its reads go by SATF"),
    ("sustained load", "satf_ew", "its reads go by SATF"),
    ("sustained load", "freebw_satf", "its reads go by SATF"),
    (
        "sustained load",
        "freebw_hybrid",
        "without writes its reads go by SATF",
    ),
    ("sustained load", "vscan", "greedy within R times the drive"),
];

const BLOCKS: u64 = 12_800;

fn rig(part: &str, oracle_name: &str, drive: &str) -> Rig {
    let blueprint = blueprint(drive);
    Rig::new(
        scheduler(part, &*blueprint),
        oracle(oracle_name, &*blueprint),
        &*blueprint,
    )
}

/// Runs a case for every scheduler, oracle and drive; says which one failed.
fn for_all(case: &dyn Fn(&dyn Fn() -> Rig)) {
    let complete = complete_disk();
    for part in sched::TABLE {
        for sight in drive::oracle::TABLE {
            let drives = [
                ("disk", DISK),
                ("null", NULL),
                ("complete disk", &complete),
                ("empirical", EMPIRICAL),
                ("capped", CAPPED),
                ("ssd", SSD),
            ];
            for (kind, text) in drives {
                let fresh = || rig(part.name, sight.name, text);
                let outcome = catch_unwind(AssertUnwindSafe(|| case(&fresh)));
                assert!(
                    outcome.is_ok(),
                    "{} over {} on {kind} does not conform",
                    part.name,
                    sight.name
                );
            }
        }
    }
}

/// A random request: a third of them near others, some of them long, of all priorities.
fn ask(rng: &mut Rng) -> Ask {
    let len = if rng.chance(0.2) {
        1 + rng.below(200)
    } else {
        8
    };
    let near = rng.chance(0.3);
    let at = if near {
        rng.below(64) * 8
    } else {
        rng.below(BLOCKS)
    };
    Ask {
        op: if rng.chance(0.6) { Op::Read } else { Op::Write },
        at: at.min(BLOCKS - len),
        len,
        priority: (rng.below(4) as u16) << 13,
    }
}

/// Random arrivals and services, then services until nothing waits; delays are below `late_us`.
fn churn(rig: &mut Rig, seed: &str, late_us: u64) -> u64 {
    let mut rng = Rng::stream(1, seed);
    let late = |rng: &mut Rng| Duration::from_us(rng.below(late_us + 1));
    let mut inserted = 0;
    for _ in 0..40 {
        for _ in 0..rng.below(24) {
            let delay = late(&mut rng);
            let ask = ask(&mut rng);
            match rng.chance(0.25) {
                true => rig.insert_open(ask.at, delay),
                false => rig.insert(ask, delay),
            };
            inserted += 1;
        }
        for _ in 0..rng.below(24) {
            let delay = late(&mut rng);
            rig.serve(delay);
        }
        rig.now += Duration::from_ms(rng.below(400));
    }
    while rig.serve(Duration::ZERO).is_some() {}
    inserted
}

#[test]
fn a_finite_load_is_served_completely_and_once() {
    for_all(&|fresh| {
        let mut rig = fresh();
        let inserted = churn(&mut rig, "churn", 0);
        let mut served = std::mem::take(&mut rig.served);
        served.sort_unstable();
        assert!(served.into_iter().eq(0..inserted));
    });
}

#[test]
fn what_is_taken_back_is_not_served() {
    for_all(&|fresh| {
        let (mut rig, mut rng) = (fresh(), Rng::stream(1, "taken back"));
        let mut left = 0;
        for _ in 0..200 {
            for _ in 0..rng.below(6) {
                rig.insert(ask(&mut rng), Duration::ZERO);
                left += 1;
            }
            if rng.chance(0.3) {
                rig.insert_open(rng.below(BLOCKS - 8), Duration::ZERO);
                left += 1;
            }
            rig.serve(Duration::ZERO);
            left -= u64::from(rig.withdraw().is_some());
        }
        while rig.serve(Duration::ZERO).is_some() {}
        assert_eq!(rig.served.len() as u64, left);
    });
}

#[test]
fn late_inputs_lose_nothing() {
    for_all(&|fresh| {
        let mut rig = fresh();
        let inserted = churn(&mut rig, "late", 700_000);
        assert_eq!(rig.served.len() as u64, inserted);
    });
}

#[test]
fn equal_inputs_give_equal_choices() {
    for_all(&|fresh| {
        let (mut one, mut two) = (fresh(), fresh());
        churn(&mut one, "twice", 1_000);
        churn(&mut two, "twice", 1_000);
        assert_eq!(one.served, two.served);
        assert_eq!(one.now, two.now);
    });
}

#[test]
fn among_equals_the_oldest_goes_first() {
    for_all(&|fresh| {
        let mut rig = fresh();
        let equal = Ask {
            op: Op::Read,
            at: 6_400,
            len: 8,
            priority: 0,
        };
        for _ in 0..100 {
            rig.insert(equal, Duration::ZERO);
        }
        while rig.serve(Duration::ZERO).is_some() {}
        assert!(rig.served.iter().copied().eq(0..100));
    });
}

#[test]
fn an_empty_queue_stays_at_rest() {
    for_all(&|fresh| {
        let mut rig = fresh();
        assert_eq!(rig.serve(Duration::ZERO), None);
        rig.insert(ask(&mut Rng::stream(1, "one")), Duration::ZERO);
        assert_eq!(rig.serve(Duration::ZERO), Some(0));
        let rested = rig.now;
        assert_eq!(rig.serve(Duration::ZERO), None);
        assert_eq!(rig.now, rested);
    });
}

/// Services until a lone I/O at the far edge is served while a tenth of the drive is kept busy.
fn services_until_the_far_one(rig: &mut Rig) -> Option<usize> {
    let mut rng = Rng::stream(1, "far");
    let mut near = |rig: &mut Rig| {
        let at = rng.below(BLOCKS / 10);
        let near = Ask {
            op: Op::Read,
            at,
            len: 1,
            priority: 0,
        };
        rig.insert(near, Duration::ZERO)
    };
    for _ in 0..16 {
        near(rig);
    }
    rig.serve(Duration::ZERO);
    let far = Ask {
        op: Op::Read,
        at: BLOCKS - 1,
        len: 1,
        priority: 0,
    };
    let far = rig.insert(far, Duration::ZERO);
    for services in 0..4_000 {
        if rig.serve(Duration::ZERO) == Some(far) {
            return Some(services);
        }
        near(rig);
    }
    None
}

#[test]
fn nobody_starves_under_sustained_load() {
    for part in sched::TABLE {
        let services = services_until_the_far_one(&mut rig(part.name, "exact", DISK));
        let excuse = EXCUSED
            .iter()
            .find(|(case, name, _)| (*case, *name) == ("sustained load", part.name));
        match (services, excuse) {
            (None, None) => panic!("{} lets an I/O starve", part.name),
            (Some(_), Some((_, _, reason))) => {
                panic!("{} does not need its excuse: {reason}", part.name)
            }
            _ => {}
        }
    }
}
