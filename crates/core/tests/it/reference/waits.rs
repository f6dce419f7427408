//! What `gap_satf` promises about waits: nothing waits beyond the age limit, if serving all that
//! wait takes no longer than half of it. The load is one that starves: most reads lie close
//! together, where the arm finds ever new ones.

use std::collections::BTreeMap;

use nearslot_core::op::Op;
use nearslot_core::rng::Rng;
use nearslot_core::units::{Duration, Instant};

use crate::support::{Ask, DISK, Rig, blueprint, oracle, scheduler};

/// More than any access of the disk takes: 7.4 ms of seeking, a turn of 10 ms, 4 ms for 8 of 20
/// sectors, a switch.
const ACCESS_MS: u64 = 23;

/// A closed loop; the longest time from arrival to completion.
fn longest(part: &str, depth: u64, read_share: f64, seed: u64) -> Duration {
    let blueprint = blueprint(DISK);
    let mut rig = Rig::new(
        scheduler(part, &*blueprint),
        oracle("exact", &*blueprint),
        &*blueprint,
    );
    let mut rng = Rng::stream(seed, "test/waits");
    let mut came: BTreeMap<u64, Instant> = BTreeMap::new();
    let mut longest = Duration::ZERO;
    for number in 0..1_500 + depth {
        let near = rng.chance(0.95);
        let at = rng.below(if near { 40 } else { 1_590 }) * 8;
        let arrived = rig.now;
        let sequence = match rng.chance(read_share) {
            true => rig.insert(ask(at), Duration::ZERO),
            false => rig.insert_open(at, Duration::ZERO),
        };
        came.insert(sequence, arrived);
        if number >= depth {
            let served = rig.serve(Duration::ZERO).expect("something waits");
            let arrived = came.remove(&served).expect("it came");
            longest = longest.max(rig.now.since(arrived));
        }
    }
    longest
}

fn ask(at: u64) -> Ask {
    Ask {
        op: Op::Read,
        at,
        len: 8,
        priority: 0,
    }
}

#[test]
fn nothing_waits_beyond_the_limit_of_gap_satf() {
    for depth in [2, 8, 32] {
        // Enough for the promise, whatever waits: one more than the depth waits at the instant of a
        // choice.
        let limit_ms = 2 * (depth + 1) * ACCESS_MS;
        let part = format!("gap_satf:write_run_ms=3600000:age_limit_ms={limit_ms}");
        for read_share in [0.02, 0.5, 0.95] {
            for seed in 1..=6 {
                let longest = longest(&part, depth, read_share, seed);
                // From arrival to completion is a wait and an access.
                let most = Duration::from_ms(limit_ms + ACCESS_MS);
                assert!(
                    longest <= most,
                    "{longest} with a limit of {limit_ms} ms, depth {depth}, reads {read_share}, seed {seed}"
                );
            }
        }
    }
}

/// The load of the test above does starve somebody where nothing bounds the wait.
#[test]
fn without_a_limit_the_same_load_starves() {
    for depth in [8, 32] {
        let part = "gap_satf:write_run_ms=3600000:age_limit_ms=3600000";
        let promised = Duration::from_ms(2 * (depth + 1) * ACCESS_MS + ACCESS_MS);
        let longest = longest(part, depth, 0.95, 1);
        assert!(longest > promised, "{longest} at depth {depth}");
    }
}
