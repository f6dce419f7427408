//! A deliberate fault for each rule of the eager-writing schedulers: a scheduler that breaks it is
//! given to the check that exists for it, which has to fail. A check that no fault can fail says
//! nothing.
//!
//! Most faults are definitions with one rule changed, held against the part of the table as the
//! true definition is; the others are parts of the table in the place of one whose rule they do not
//! keep.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nearslot_core::contract::{Next, View};
use nearslot_core::position::Search;
use nearslot_core::units::Duration;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::reference::eager::{self, FreeBw, GapSatf, Order, SatfEw, WriteFirst};
use crate::reference::twin::{Definition, Queue, Step, compare_eager, steps};

/// Random sequences, the same every time.
fn sequences() -> Vec<Vec<Step>> {
    let mut runner = TestRunner::deterministic();
    let mut one = || steps().new_tree(&mut runner).expect("steps").current();
    (0..12).map(|_| one()).collect()
}

/// Whether the comparison of a part with a definition fails on one of the sequences.
fn is_seen<D: Definition + 'static>(part: &str, definition: impl Fn() -> D) -> bool {
    sequences().iter().any(|steps| {
        let compared = AssertUnwindSafe(|| compare_eager(part, "exact", steps, &definition));
        catch_unwind(compared).is_err()
    })
}

/// A change of one rule of SATF-EW.
#[derive(Clone, Copy)]
enum Change {
    /// The farther of the nearest read and the nearest slot goes.
    Farther,
    /// A write goes although the read is no farther: the tie goes to the write.
    Tie,
    /// Slots are looked for in both directions.
    NoSweep,
    /// The direction changes after every write, not at the edge.
    TurnsEarly,
    /// The youngest write goes.
    Youngest,
}

struct Wrong {
    change: Change,
    upward: bool,
}

impl Definition for Wrong {
    fn choose(&mut self, queue: &Queue, view: &View<'_>) -> Result<usize, Next> {
        let (reads, writes) = eager::parts(queue);
        let read = eager::satf(queue, &reads, view);
        let by_age = |index: &usize| queue[*index].sequence;
        let write = match self.change {
            Change::Youngest => writes.iter().copied().max_by_key(by_age),
            _ => writes.iter().copied().min_by_key(by_age),
        };
        let Some(write) = write else {
            return Ok(read.expect("something waits").1);
        };
        let free_place = match self.change {
            Change::NoSweep => {
                let everywhere = Search::anywhere(view.now);
                crate::support::free::nearest_free(
                    view.oracle,
                    &everywhere,
                    view.free.expect("slots"),
                )
            }
            _ => eager::sweep(&mut self.upward, view),
        };
        let free_place = free_place.expect("half are free");
        let read_goes = read.is_some_and(|(time, _)| {
            let start = view.now + time;
            match self.change {
                Change::Farther => start > free_place.start,
                Change::Tie => start < free_place.start,
                _ => start <= free_place.start,
            }
        });
        if let (true, Some((_, index))) = (read_goes, read) {
            return Ok(index);
        }
        if matches!(self.change, Change::TurnsEarly) {
            self.upward = !self.upward;
        }
        Err(Next::Place(queue[write].id, free_place.slot))
    }
}

#[test]
fn the_true_definitions_pass_where_the_faults_fail() {
    assert!(!is_seen("satf_ew", || SatfEw { upward: true }));
    assert!(!is_seen("freebw_hybrid", || FreeBw::new(Order::Hybrid)));
    assert!(!is_seen("gap_satf", || GapSatf::new(5_000, 10)));
}

#[test]
fn a_satf_ew_that_breaks_a_rule_is_seen() {
    // The nearer goes, and of equals the read (A1); one direction until the edge (A2); the oldest
    // write.
    for (rule, change) in [
        ("the nearer of read and slot", Change::Farther),
        ("a tie goes to the read", Change::Tie),
        ("slots in one direction", Change::NoSweep),
        ("the direction changes at the edge", Change::TurnsEarly),
        ("the oldest write", Change::Youngest),
    ] {
        let wrong = || Wrong {
            change,
            upward: true,
        };
        assert!(is_seen("satf_ew", wrong), "{rule}");
    }
}

#[test]
fn an_order_of_reads_that_is_not_the_hybrid_s_is_seen() {
    // By SATF if no write waits, else by SCAN (A4).
    for part in ["freebw_satf", "freebw_scan"] {
        assert!(is_seen(part, || FreeBw::new(Order::Hybrid)), "{part}");
    }
}

#[test]
fn a_write_that_delays_the_read_after_it_is_seen() {
    // SATF-EW puts writes before reads without regard to when these start (A3).
    let delayed = catch_unwind(|| eager::check_gaps("satf_ew"));
    assert!(delayed.is_err());
}

#[test]
fn a_limit_that_is_not_kept_is_seen() {
    let write_first = |age_limit_ms: u64| WriteFirst {
        upward: true,
        age_limit: (age_limit_ms > 0).then(|| Duration::from_ms(age_limit_ms)),
    };
    let part = "write_first:age_limit_ms=500";
    assert!(!is_seen(part, || write_first(500)));
    assert!(is_seen(part, || write_first(0)), "no limit for reads");
    let part = "gap_satf:age_limit_ms=500:write_run_ms=20";
    assert!(!is_seen(part, || GapSatf::new(500, 20)));
    assert!(is_seen(part, || GapSatf::new(1_000, 20)), "half the limit");
    assert!(
        is_seen(part, || GapSatf::new(500, 3_600_000)),
        "no limit for runs of writes"
    );
}
