//! Batches, intervals, tails and growth of queues, with their numbers written out.

use nearslot_core::op::Status;
use nearslot_core::request::Timeline;
use nearslot_core::rng::Rng;
use nearslot_core::units::Duration;

use super::interval::{Responses, half_width, weighted};
use super::*;
use crate::objective::Class;
use crate::outcome::Times;

#[test]
fn batches_divide_the_measured_requests_evenly() {
    let window = Window {
        requests: 1_000,
        warmup: 100,
    };
    let mut recorder = Recorder::new(window, 1, None);
    let mut counts = [0_u64; BATCHES];
    for number in (100..1_000).rev() {
        let batch = recorder.batch(number);
        assert_eq!(batch as u64, (number - 100) * BATCHES as u64 / 900);
        counts[batch] += 1;
    }
    assert!(
        counts.iter().all(|count| (28..=29).contains(count)),
        "{counts:?}"
    );
}

#[test]
fn the_interval_is_that_of_student() {
    // Batch means 1..=32: variance 88, so t * sqrt(88 / 32).
    let rising: [f64; BATCHES] = std::array::from_fn(|batch| batch as f64 + 1.0);
    assert!((half_width(&rising) - 2.039_513 * (88.0_f64 / 32.0).sqrt()).abs() < 1e-9);
}

#[test]
fn uneven_batches_count_by_their_requests() {
    let values: [f64; BATCHES] = std::array::from_fn(|batch| (batch as f64 * 0.7).sin());
    let (mean, half) = weighted(&values, &[50; BATCHES]);
    assert!((mean - values.iter().sum::<f64>() / BATCHES as f64).abs() < 1e-12);
    assert!((half / half_width(&values) - 1.0).abs() < 1e-6, "{half}");
    // Sixteen batches with all requests tell as much as sixteen batches: t is 2.131 for 15 degrees
    // of freedom.
    let weights = std::array::from_fn(|batch| if batch < 16 { 70 } else { 0 });
    let (mean, half) = weighted(&values, &weights);
    let own = values[..16].iter().sum::<f64>() / 16.0;
    assert!((mean - own).abs() < 1e-12);
    let square: f64 = values[..16].iter().map(|value| (value - own).powi(2)).sum();
    let error = (square / 16.0 / 16.0 * 32.0 / 31.0).sqrt();
    assert!((half / error - 2.131_450).abs() < 1e-5, "{}", half / error);
    // Two requests elsewhere change next to nothing, and seven batches are too few.
    let nearly = std::array::from_fn(|batch| {
        if batch < 16 {
            70
        } else {
            u64::from(batch == 20)
        }
    });
    assert!((weighted(&values, &nearly).1 / half - 1.0).abs() < 0.02);
    let seven = std::array::from_fn(|batch| if batch < 7 { 70 } else { 0 });
    assert!(weighted(&values, &seven).1.is_infinite());
}

/// Response times of `count` requests by `of` their number, in batches as a run has them.
fn class(count: u64, of: impl Fn(u64) -> u64) -> Recorded {
    let mut class = Recorded::default();
    for number in 0..count {
        let batch = (number * BATCHES as u64 / count) as usize;
        class.response[batch].record(Duration::from_us(of(number)));
        class.wait.record(Duration::ZERO);
    }
    class
}

fn times_of(class: &Recorded) -> Times {
    let all = Histogram::sum(&class.response);
    let responses = Responses {
        kinds: [&class.response, &[]],
        failed: class.failed,
        all: &all,
    };
    responses.times(true)
}

/// Microseconds with a long tail, in no order but for runs of `run` neighbours that are alike.
fn drawn(number: u64, run: u64) -> u64 {
    let mut rng = Rng::stream(number / run, "drawn");
    1_000_000_000 / (1 + rng.below(1 << 20))
}

#[test]
fn a_percentile_needs_requests_beyond_it() {
    let told = |count| {
        let times = times_of(&class(count, |number| drawn(number, 1)));
        [times.p95, times.p99, times.p999].map(|percentile| percentile.is_some())
    };
    assert_eq!(told(99), [false, false, false]);
    assert_eq!(told(100), [true, false, false]);
    assert_eq!(told(500), [true, true, false]);
    assert_eq!(told(4_999), [true, true, false]);
    assert_eq!(told(5_000), [true, true, true]);
}

#[test]
fn tails_have_intervals_that_requests_alike_widen() {
    let alone = times_of(&class(32_000, |number| drawn(number, 1)));
    let in_runs = times_of(&class(32_000, |number| drawn(number, 20)));
    let width =
        |interval: Option<[f64; 2]>| interval.map_or(f64::INFINITY, |[low, high]| high - low);
    for times in [&alone, &in_runs] {
        let p99 = times.p99.unwrap();
        let [low, high] = times.p99_ci95.unwrap();
        assert!(low <= p99, "{low} {p99} {high}");
        assert!(p99 <= high, "{low} {p99} {high}");
    }
    // Shares of 1.96 * sqrt(0.99 * 0.01 / 32,000) to both sides, and times go as one over the share
    // beyond.
    let relative = width(alone.p99_ci95) / alone.p99.unwrap();
    assert!((0.15..0.35).contains(&relative), "{:?}", alone.p99_ci95);
    assert!(
        width(in_runs.p99_ci95) > 3.0 * width(alone.p99_ci95),
        "{:?}",
        in_runs.p99_ci95
    );
}

/// Batches that are all alike have no spread; requests drawn independently still have.
#[test]
fn a_tail_is_never_surer_than_of_independent_requests() {
    let hundredth = |number: u64| (1_000.0 * 1.01_f64.powi((number % 1_000) as i32)) as u64;
    let times = times_of(&class(32_000, hundredth));
    let [low, high] = times.p99_ci95.unwrap();
    let p99 = times.p99.unwrap();
    // 1.96 * sqrt(0.99 * 0.01 / 32,000) of 1,000 values that are 1 % apart: more than one value to
    // either side.
    assert!(low < p99, "{low} {p99} {high}");
    assert!(p99 < high, "{low} {p99} {high}");
}

/// A request every millisecond, answered at once up to `slow_from` and never from there on.
#[test]
fn a_queue_that_begins_to_grow_where_faults_begin_is_looked_at_from_there_on() {
    let growth = |slow_from: u64, begin: Instant| {
        let window = Window {
            requests: 1_100,
            warmup: 100,
        };
        let mut recorder = Recorder::new(window, 1, None).with_faults_from(begin);
        for number in 0..1_100 {
            let now = Instant(number * 1_000_000);
            recorder.arrived(now, &Request::new(number, Op::Read, 0, 8, now));
            if number < slow_from {
                recorder.in_system = 0;
                recorder.present = [0; Op::ALL.len()];
            }
        }
        let lengths = recorder.telling().noted.map(|level| level.waiting);
        (recorder.growth_rps(), lengths)
    };
    let whole = (None, [1, 1, 1, 100, 350]);
    let at = |number: u64| Instant(number * 1_000_000);
    assert_eq!(growth(750, Instant::NEVER), whole);
    let behind = (Some(339.0 / 0.339), [11, 95, 180, 265, 350]);
    assert_eq!(growth(750, at(760)), behind);
    assert_eq!(growth(750, Instant(at(759).0 + 1)), behind);
    // It did not grow in each quarter of what comes from there on.
    assert_eq!(growth(750, at(600)).0, None);
    // In the warm-up it is all that is measured; where less than an eighth of that comes behind it,
    // too.
    assert_eq!(growth(750, at(50)), whole);
    assert_eq!(growth(750, at(976)), whole);
    assert_eq!(growth(750, at(975)).1, [226, 257, 288, 319, 350]);
    assert_eq!(growth(0, at(976)).0, Some(999.0 / 0.999));
}

/// A loop that keeps four requests at a drive of 1,000 requests a second: the throughput is that of
/// the drive, whatever the warm-up.
#[test]
fn throughput_counts_what_was_answered_while_it_was_measured() {
    for warmup in [0, 4, 50] {
        let window = Window {
            requests: 104,
            warmup,
        };
        let mut recorder = Recorder::new(window, 1, None);
        let request = |number: u64| {
            let came = Instant(number.saturating_sub(3) * 1_000_000);
            (came, Request::new(number, Op::Read, 0, 8, came))
        };
        let arrive = |recorder: &mut Recorder, number: u64| {
            let (came, request) = request(number);
            recorder.arrived(came, &request);
        };
        (0..4).for_each(|number| arrive(&mut recorder, number));
        let mut now = Instant(0);
        for number in 0..104 {
            let (came, request) = request(number);
            now = Instant((number + 1) * 1_000_000);
            let timeline = Timeline {
                arrived: came,
                started: Instant(number * 1_000_000),
                replied: now,
                cost: Cost::default(),
            };
            let reply = Reply {
                request,
                status: Status::Done,
                timeline,
            };
            recorder.replied(now, &reply);
            if number + 4 < 104 {
                arrive(&mut recorder, number + 4);
            }
        }
        let run = recorder.finish(now, String::new(), serde_json::Value::Null);
        assert_eq!(run.throughput_rps, 1_000.0, "warm-up of {warmup}");
        assert_eq!(run.throughput_mb_s, 1_000.0 * 4_096.0 / 1e6);
        assert_eq!(run.requests - run.warmup_requests, 104 - warmup);
    }
}

/// Each request takes a millisecond longer than the one before; every fourth fails.
#[test]
fn requests_that_fail_are_counted_and_are_in_no_mean_and_no_throughput() {
    let window = Window {
        requests: 40,
        warmup: 20,
    };
    let mut recorder = Recorder::new(window, 1, None);
    for number in 0..40 {
        let failure = Failure::ALL[number as usize / 4 % Failure::ALL.len()];
        let [came, now] = [2 * number, 2 * number + 1].map(|ms| Instant(ms * 1_000_000_000));
        let request = Request::new(number, Op::Read, 0, 8, came);
        recorder.arrived(came, &request);
        let fails = number % 4 == 3;
        let status = if fails {
            Status::Failed(failure)
        } else {
            Status::Done
        };
        let cost = Cost {
            seek: Duration::from_us(if fails { 900_000 } else { 1_000 }),
            ..Cost::default()
        };
        let timeline = Timeline {
            arrived: came,
            started: came,
            replied: now + Duration::from_us(if fails { 900_000 } else { 0 }),
            cost,
        };
        let reply = Reply {
            request,
            status,
            timeline,
        };
        recorder.replied(timeline.replied, &reply);
    }
    assert_eq!(recorder.failed_by_name().values().sum::<u64>(), 10);
    let end = Instant(79 * 1_000_000_000 + 900_000_000);
    let measured = recorder.end(end);
    let basis = measured.basis();
    assert_eq!((basis.failed, basis.measured), (5, 20), "without warm-up");
    let run = measured.run(String::new(), serde_json::Value::Null);
    let told = Failure::ALL.map(|failure| run.failed[failure.name()]);
    assert_eq!(told.iter().sum::<u64>(), 10, "of the warm-up, too");
    assert!(told.iter().all(|count| *count > 0), "{told:?}");
    assert_eq!((run.requests, run.operations["read"]), (40, 40));
    assert_eq!(
        (run.response_ms.mean, run.response_ms.max),
        (1_000.0, 1_000.0)
    );
    assert_eq!((run.service_ms.max, run.wait_ms.max), (1_000.0, 0.0));
    assert_eq!(run.seek_ms, 1.0);
    // 15 of the 20 measured requests were answered as asked, in the 39.9 s from the first one's
    // arrival.
    assert_eq!(run.throughput_rps, 15.0 / 39.9);
    assert_eq!(run.throughput_mb_s, 15.0 * 4_096.0 / 1e6 / 39.9);
}

/// A run with so many reads in each batch; `of` is the response time in microseconds of one, by its
/// batch.
fn reads(counts: &[u64; BATCHES], of: impl FnMut(usize) -> u64) -> Measured {
    reads_that_fail(counts, [0; BATCHES], of)
}

/// The same with so many more in each batch that fail.
fn reads_that_fail(
    counts: &[u64; BATCHES],
    failed: [u64; BATCHES],
    mut of: impl FnMut(usize) -> u64,
) -> Measured {
    let window = Window {
        requests: 1,
        warmup: 0,
    };
    let mut recorder = Recorder::new(window, 1, None);
    for (batch, count) in counts.iter().enumerate() {
        for _ in 0..*count {
            recorder.reads.response[batch].record(Duration::from_us(of(batch)));
            recorder.reads.wait.record(Duration::ZERO);
        }
    }
    recorder.reads.failed = failed;
    recorder.end(Instant(1))
}

fn read_times(measured: Measured) -> Times {
    let run = measured.run(String::new(), serde_json::Value::Null);
    run.read_response_ms.unwrap()
}

/// 100 reads in each batch, of 1 to 3,200 microseconds all over, and beside them so many that fail.
fn reads_and_failures(failed: u64) -> Measured {
    let all = BATCHES as u64;
    let in_batch = |batch| failed / all + u64::from((batch as u64) < failed % all);
    failing_in(std::array::from_fn(in_batch))
}

/// The same with so many in each batch that fail.
fn failing_in(failed: [u64; BATCHES]) -> Measured {
    let mut number = 0;
    reads_that_fail(&[100; BATCHES], failed, |_| {
        number += 1;
        1 + number * 1_237 % 3_200
    })
}

/// As if each that failed had taken longer than any that was answered.
#[test]
fn a_percentile_is_one_of_all_requests() {
    let near = |found: Option<f64>, us: f64| {
        let found = found.expect("it is there") * 1e3;
        assert!((us..us * 1.004).contains(&found), "{found} for {us}");
    };
    let none = read_times(reads_and_failures(0));
    near(none.p99, 3_168.0);
    near(none.p50, 1_600.0);
    // Of 3,216 requests 16 fail: the 3,184th and the 1,608th are answered.
    let some = read_times(reads_and_failures(16));
    near(some.p99, 3_184.0);
    near(some.p50, 1_608.0);
    assert_eq!((some.mean, some.max), (none.mean, none.max));
    let [low, high] = some.p99_ci95.expect("both of its ends were seen");
    assert!(low < 3.184 && 3.188 < high, "{low} {high}");
}

/// That of a hundred requests one failed leaves no 99th percentile, and one less leaves one.
#[test]
fn a_percentile_is_there_if_fewer_fail_than_lie_beyond_it() {
    let told = |failed| {
        let times = read_times(reads_and_failures(failed));
        let intervals = [times.ci95, times.p99_ci95].map(|interval| interval.is_some());
        let percentiles = [Some(times.mean), times.p50, times.p95, times.p99];
        (percentiles.map(|found| found.is_some()), intervals)
    };
    assert_eq!(told(31), ([true; 4], [true, false]));
    // Batches differ by no more than chance, so the interval has an upper end at a few failures
    // alone.
    assert_eq!(told(8), ([true; 4], [true, true]));
    assert_eq!(told(33), ([true, true, true, false], [true, false]));
    assert_eq!(told(3_199), ([true, true, false, false], [true, false]));
    assert_eq!(told(3_200), ([true, false, false, false], [true, false]));
    // 8 of 800 are one in a hundred, whatever the last bits of 0.01 say.
    let [mut answered, mut failed] = [[25; BATCHES], [0; BATCHES]];
    (answered[0], failed[0]) = (17, 8);
    assert_eq!(
        read_times(reads_that_fail(&answered, failed, |_| 1)).p99,
        None
    );
}

/// An objective is told what a run tells; where there is no such percentile, at least what is
/// surely exceeded.
#[test]
fn a_run_and_an_objective_tell_the_same_percentile_where_requests_failed() {
    for failed in [0, 16, 31] {
        let measured = reads_and_failures(failed);
        let estimate = measured.estimate(Class::Read, Some(0.99)).unwrap();
        let all = measured.estimate(Class::All, Some(0.99)).unwrap();
        assert_eq!(estimate, all, "there are reads alone");
        assert_eq!(Some(estimate.ms), read_times(measured).p99, "{failed}");
    }
    let lost = reads_and_failures(40);
    let estimate = lost.estimate(Class::Read, Some(0.99)).unwrap();
    assert_eq!((estimate.ms, estimate.high_ms), (f64::INFINITY, None));
    assert!(estimate.low_ms.unwrap() <= 3.2, "as few may fail by chance");
    let many = reads_and_failures(400);
    let estimate = many.estimate(Class::Read, Some(0.99)).unwrap();
    assert_eq!(estimate.low_ms, Some(f64::INFINITY));
    assert_eq!(read_times(many).p99_ci95, None);
}

/// Failures that all come in one batch are less sure than as many that are spread.
#[test]
fn failures_in_one_batch_widen_the_interval_of_a_percentile() {
    let low = |spread: bool| {
        let mut failed = [if spread { 2 } else { 0 }; BATCHES];
        failed[3] = if spread { 2 } else { 64 };
        let measured = failing_in(failed);
        measured.estimate(Class::Read, Some(0.95)).unwrap().low_ms
    };
    assert!(low(false) < low(true), "{:?} {:?}", low(false), low(true));
}

#[test]
fn flushes_that_fail_are_beyond_all_others_of_them() {
    let median = |failed: u64| {
        let window = Window {
            requests: 10,
            warmup: 0,
        };
        let mut recorder = Recorder::new(window, 1, None);
        for number in 0..10 {
            let now = Instant(number * 1_000_000);
            let request = Request::new(number, Op::Flush, 0, 0, now);
            recorder.arrived(now, &request);
            let timeline = Timeline {
                arrived: now,
                started: now,
                replied: now + Duration::from_us(100 * (1 + number)),
                cost: Cost::default(),
            };
            let fails = number >= 10 - failed;
            let status = if fails {
                Status::Failed(Failure::Gone)
            } else {
                Status::Done
            };
            let reply = Reply {
                request,
                status,
                timeline,
            };
            recorder.replied(timeline.replied, &reply);
        }
        let measured = recorder.end(Instant(1_000_000_000));
        let basis = measured.basis();
        assert_eq!((basis.flushes, basis.flushes_failed), (10, failed));
        assert_eq!((basis.measured, basis.failed), (0, 0));
        let run = measured.run(String::new(), serde_json::Value::Null);
        run.flush_response_ms.unwrap().p50
    };
    let found = median(4).expect("six were answered");
    assert!((0.5..0.502).contains(&found), "{found}");
    assert_eq!(median(5), None);
}

#[test]
fn a_distribution_ends_at_the_share_that_was_answered() {
    let mut answered = Histogram::default();
    (1..=16).for_each(|us| answered.record(Duration::from_us(us)));
    let (ms, shares) = super::series::distribution((&answered, 84));
    assert_eq!((ms.len(), shares.last()), (16, Some(&0.16)));
    let (_, shares) = super::series::distribution((&answered, 0));
    assert_eq!(shares.last(), Some(&1.0));
}

#[test]
fn reads_that_nearly_all_come_in_one_batch_have_no_interval() {
    let counts = std::array::from_fn(|batch| if batch == 31 { 2_000 } else { 10 });
    let measured = reads(&counts, |batch| 100 + batch as u64);
    for rank in [None, Some(0.99)] {
        let few = measured.estimate(Class::Read, rank).unwrap_err();
        assert!((1.3..1.4).contains(&few.batches), "{few:?}");
    }
    let times = read_times(measured);
    assert_eq!((times.ci95, times.p99_ci95), (None, None));
}

#[test]
fn a_run_and_an_objective_tell_the_same_interval() {
    // From 100 to 720 reads a batch, and the batches of many reads are slow.
    let counts = std::array::from_fn(|batch| 100 + 20 * batch as u64);
    let mut rng = Rng::stream(3, "reads");
    let measured = reads(&counts, |batch| 1_000 + 5 * batch as u64 + rng.below(500));
    let told = [None, Some(0.99)].map(|rank| {
        let estimate = measured.estimate(Class::Read, rank).unwrap();
        Some([estimate.low_ms.unwrap(), estimate.high_ms.unwrap()])
    });
    let times = read_times(measured);
    assert_eq!([times.ci95, times.p99_ci95], told);
    let [low, high] = times.ci95.unwrap();
    assert!(
        ((low + high) / 2.0 - times.mean).abs() < 1e-9,
        "{low} {} {high}",
        times.mean
    );
}

#[test]
fn a_mean_that_a_few_batches_decide_has_no_interval_anywhere() {
    let measured = reads(
        &[20; BATCHES],
        |batch| {
            if batch == 7 { 1_000_000 } else { 1 }
        },
    );
    let estimate = measured.estimate(Class::Read, None).unwrap();
    assert_eq!((estimate.low_ms, estimate.high_ms), (None, None));
    assert_eq!(read_times(measured).ci95, None);
}

/// Batches of 10 to 160 requests, some of them slower because they have many; 400 loads of that
/// kind.
#[test]
fn intervals_over_uneven_batches_contain_the_truth() {
    let sizes = [10, 20, 40, 80, 160];
    // Microseconds that a request of a batch takes on average.
    let level = |size: u64, slow: bool| 1_000 + 2 * size + if slow { 400 } else { 0 };
    let total: u64 = sizes.iter().sum();
    let truth: u64 = sizes
        .iter()
        .map(|size| size * (level(*size, false) + level(*size, true)) / 2)
        .sum();
    let truth_ms = truth as f64 / total as f64 / 1e3;
    let mut rng = Rng::stream(1, "uneven");
    let (mut told, mut contained) = (0, 0);
    for _ in 0..400 {
        let counts = std::array::from_fn(|_| sizes[rng.below(5) as usize]);
        let levels = counts.map(|size| level(size, rng.chance(0.5)));
        let measured = reads(&counts, |batch| levels[batch] - 300 + rng.below(601));
        let Ok(estimate) = measured.estimate(Class::Read, None) else {
            continue;
        };
        told += 1;
        let (low, high) = (estimate.low_ms.unwrap(), estimate.high_ms.unwrap());
        contained += u32::from(low <= truth_ms && truth_ms <= high);
    }
    assert_eq!(told, 400);
    assert!((360..=396).contains(&contained), "{contained} of 400");
}

#[test]
fn flushes_have_times_of_their_own() {
    let window = Window {
        requests: 4,
        warmup: 1,
    };
    let mut recorder = Recorder::new(window, 1, None);
    let failed = Status::Failed(Failure::Gone);
    for (number, op, ms, status) in [
        (0, Op::Flush, 900, Status::Done),
        (1, Op::Write, 3, Status::Done),
        (2, Op::Flush, 40, Status::Done),
        (3, Op::Flush, 700, failed),
    ] {
        let came = Instant(number * 1_000_000_000);
        let request = Request::new(number, op, 0, 8, came);
        recorder.arrived(came, &request);
        let replied = came + Duration::from_us(ms * 1_000);
        let timeline = Timeline {
            arrived: came,
            started: came,
            replied,
            cost: Cost::default(),
        };
        let reply = Reply {
            request,
            status,
            timeline,
        };
        recorder.replied(replied, &reply);
    }
    let run = recorder.finish(
        Instant(4_000_000_000),
        String::new(),
        serde_json::Value::Null,
    );
    let flushes = run.flush_response_ms.unwrap();
    assert!((flushes.mean - 40.0).abs() < 1e-9, "{flushes:?}");
    assert_eq!(flushes.ci95, None);
    assert!((run.response_ms.mean - 3.0).abs() < 1e-9, "{run:?}");
}

/// Three of four requests are flushes, which no scheduler has in a queue.
#[test]
fn flushes_are_no_queue() {
    let window = Window {
        requests: 1_000,
        warmup: 0,
    };
    let mut recorder = Recorder::new(window, 1, None);
    for number in 0..1_000 {
        let now = Instant(number * 1_000_000);
        let op = match number % 4 {
            0 => Op::Write,
            _ => Op::Flush,
        };
        recorder.arrived(now, &Request::new(number, op, 0, 8, now));
    }
    let growth = recorder.growth_rps().expect("none is answered");
    assert!((growth / 250.0 - 1.0).abs() < 0.01, "{growth}");
}
