//! The instant at which a wait is too long: at the limit itself, and not a nanosecond before.

use nearslot_core::op::Op;
use nearslot_core::units::{Duration, Instant};

use crate::support::{Ask, NULL, Rig, blueprint, oracle, scheduler};

/// A scheduler over a drive where every place is as good as every other.
fn rig(word: &str) -> Rig {
    let blueprint = blueprint(NULL);
    let (scheduler, oracle) = (scheduler(word, &*blueprint), oracle("exact", &*blueprint));
    Rig::new(scheduler, oracle, &*blueprint)
}

fn read(at: u64, priority: u16) -> Ask {
    Ask {
        op: Op::Read,
        at,
        len: 8,
        priority,
    }
}

/// Which of the requests that came at 0 goes first if the drive has room at this instant.
fn first(word: &str, now: Instant, insert: &dyn Fn(&mut Rig)) -> Option<u64> {
    let mut rig = rig(word);
    insert(&mut rig);
    rig.now = now;
    rig.serve(Duration::ZERO)
}

/// Asserts that `early` goes first until just before `limit_ms`, and `late` from then on.
fn turns_at(word: &str, limit_ms: u64, (early, late): (u64, u64), insert: &dyn Fn(&mut Rig)) {
    let limit = Instant::ZERO + Duration::from_ms(limit_ms);
    let before = Instant(limit.0 - 1);
    assert_eq!(first(word, before, insert), Some(early), "{word} before");
    assert_eq!(first(word, limit, insert), Some(late), "{word} at {limit}");
}

#[test]
fn a_read_goes_before_writes_when_its_age_limit_is_reached() {
    turns_at("write_first:age_limit_ms=10", 10, (1, 0), &|rig| {
        rig.insert(read(800, 0), Duration::ZERO);
        rig.insert_open(0, Duration::ZERO);
    });
}

#[test]
fn a_batch_begins_with_the_oldest_when_it_has_expired() {
    turns_at("mq-deadline:read_expire_ms=20", 20, (1, 0), &|rig| {
        rig.insert(read(8_000, 0), Duration::ZERO);
        rig.insert(read(800, 0), Duration::ZERO);
    });
}

#[test]
fn a_lower_priority_is_served_when_it_has_waited_long_enough() {
    // Classes of Linux: 1 is real-time, 0 counts as best effort.
    turns_at("mq-deadline:prio_aging_expire_ms=30", 30, (1, 0), &|rig| {
        rig.insert(read(8_000, 0), Duration::ZERO);
        rig.insert(read(800, 1 << 13), Duration::ZERO);
    });
}
