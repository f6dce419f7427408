//! What must be true of the results of any run.

use nearslot_lab::outcome::{Results, Run, Times};

use crate::scenarios::made::Made;

/// Nothing but the time that it took may differ between two runs of the same.
pub(crate) fn same(one: &Results, other: &Results) {
    let text = |results: &Results| {
        let mut results = results.clone();
        for run in &mut results.runs {
            run.simulated_in_s = 0.0;
        }
        serde_json::to_string(&results).unwrap()
    };
    assert_eq!(text(one), text(other), "a second run differs");
}

/// Two numbers that floating point may have rounded.
fn equal(what: &str, one: f64, other: f64) {
    let off = (one - other).abs();
    assert!(
        off <= 1e-6 * one.abs().max(other.abs()) + 1e-9,
        "{what}: {one} is not {other}"
    );
}

fn in_order(what: &str, times: &Times) {
    let Times {
        mean,
        p50,
        p95,
        p99,
        p999,
        max,
        ..
    } = *times;
    // Too few requests tell no percentile.
    let told = [Some(0.0), p50, p95, p99, p999, Some(max)];
    let rising: Vec<f64> = told.into_iter().flatten().collect();
    assert!(rising.is_sorted(), "{what}: {rising:?}");
    assert!(
        (0.0..=max * (1.0 + 1e-9)).contains(&mean),
        "{what}: a mean of {mean} below {max}"
    );
}

/// Conservation, order of percentiles, parts of the service time, utilisation, Little's law.
pub(crate) fn holds_together(run: &Run, made: &Made) {
    assert_eq!(run.pending, 0, "requests are left");
    assert_eq!(
        run.operations.values().sum::<u64>(),
        run.requests,
        "requests by operation"
    );
    in_order("response", &run.response_ms);
    in_order("wait", &run.wait_ms);
    in_order("service", &run.service_ms);
    for class in [&run.read_response_ms, &run.write_response_ms]
        .into_iter()
        .flatten()
    {
        in_order("response of a class", class);
    }
    equal(
        "wait and service",
        run.wait_ms.mean + run.service_ms.mean,
        run.response_ms.mean,
    );
    let busy = run.utilisation;
    assert!(
        (0.0..=1.0 + 1e-9).contains(&busy),
        "busy {busy} of the time"
    );
    let parts = [
        run.seek_ms,
        run.rotation_ms,
        run.transfer_ms,
        run.overhead_ms,
    ];
    assert!(
        parts.iter().all(|part| (0.0..1e12).contains(part)),
        "{parts:?}"
    );
    if made.plain {
        equal(
            "parts of the service time",
            parts.iter().sum(),
            run.service_ms.mean,
        );
        // 4 s of seek, 1 s of switch at most, 1 s of settle.
        assert!(run.seek_ms <= 5_000.0, "a seek of {} ms", run.seek_ms);
    }
    little(run);
    let load = &run.config["load"];
    if let Some(depth) = load["depth"].as_u64() {
        assert!(
            run.queue_max <= depth,
            "{} in flight at depth {depth}",
            run.queue_max
        );
    }
}

/// Little's law, over a span that begins and ends with an empty system; where all requests are
/// measured.
fn little(run: &Run) {
    let counted = |name: &str| run.operations.get(name).copied().unwrap_or(0);
    let measured = counted("read") + counted("write");
    let whole = measured == run.requests && run.failed.is_empty();
    // What its load makes again is in the queue, and in no response.
    let again = run.measure("filesystem", "exhausted");
    let again = again.is_some_and(|number| number.value() > 0.0);
    if !whole || again || run.warmup_requests > 0 || run.duration_s <= 0.0 {
        return;
    }
    let all_ms = run.response_ms.mean * measured as f64;
    equal(
        "Little's law",
        run.queue_mean * run.duration_s * 1e3,
        all_ms,
    );
    equal(
        "throughput",
        run.throughput_rps * run.duration_s,
        measured as f64,
    );
}
