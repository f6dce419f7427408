//! What parts count is told of the requests whose times are told; what is there at the end, of the
//! whole run.

use nearslot_lab::grid;
use nearslot_lab::outcome::Run;
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;

const REQUESTS: u64 = 4_000;

/// Reads and writes by one who waits for each answer, so that none of the warm-up is under way
/// where it ends.
fn run(warmup: &str) -> Run {
    let workload = format!("iometer:depth=1:read_share=0.7:span=0.001:requests={REQUESTS}");
    let mut base = Scenario::over(Load::Workload(workload.parse().unwrap()));
    for (key, value) in [
        ("drive", "seagate-cheetah-9lp"),
        ("warmup", warmup),
        ("cache", "sarc:size=2MiB:line_kib=4"),
        ("buffer", "lrw:size=1MiB"),
    ] {
        base.set(key, value).unwrap();
    }
    let points = grid::points(&base, &[]).unwrap();
    let results = compare(&points, None, &Wanted::default(), &Control::default()).unwrap();
    let [run] = <[Run; 1]>::try_from(results.runs).expect("one run");
    run
}

fn count(run: &Run, of: &str, name: &str) -> u64 {
    run.measure(of, name).unwrap().value() as u64
}

/// Reads that found all in memory and reads that did not.
fn reads(run: &Run) -> [u64; 2] {
    ["read_hits", "read_misses"].map(|name| count(run, "cache", name))
}

#[test]
fn counts_are_of_the_requests_that_are_measured() {
    let (all, part) = (run("0"), run("75%"));
    let measured = part.requests - part.warmup_requests;
    assert_eq!((all.requests, measured), (REQUESTS, REQUESTS / 4));
    let asked = |run: &Run| reads(run).iter().sum::<u64>();
    assert_eq!(asked(&all), all.operations["read"]);
    let share = asked(&part) as f64 / measured as f64;
    assert!((0.65..0.75).contains(&share), "{share} of these are reads");
    // The cache was empty at first, and is not when the measured part begins.
    let hits = |run: &Run| reads(run)[0] as f64 / asked(run) as f64;
    assert!(
        hits(&part) > 1.05 * hits(&all),
        "{} {}",
        hits(&part),
        hits(&all)
    );
    let written = |run| count(run, "buffer", "written_pages");
    assert!(written(&part) < written(&all) / 3);
    for name in ["sequence_pages", "goal_pages"] {
        assert_eq!(
            count(&part, "cache", name),
            count(&all, "cache", name),
            "{name}"
        );
    }
    let dirty = |run| count(run, "buffer", "dirty_pages");
    assert_eq!(dirty(&part), dirty(&all));
    assert!(dirty(&all) > 0, "something is in the buffer at the end");
}
