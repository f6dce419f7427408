//! What queueing theory knows must come out of the virtual loop, whatever the parts.
//!
//! Identities (Little's law, utilisation, the closed loop) hold to the nanosecond. Mean waits of
//! M/D/1 and M/G/1 follow the formula of Pollaczek and Khinchine (Kleinrock, Queueing Systems,
//! volume 1, 1975, section 5.6) within three standard errors of 64 batch means, which are required
//! to be small: a wait that is 5 % wrong fails.

use nearslot_core::config::{DriveConfig, PartConfig, StackConfig};
use nearslot_core::contract::{Blueprint, Drive, Placement, Scheduler};
use nearslot_core::drive;
use nearslot_core::ids::DriveId;
use nearslot_core::io::{Command, DriveDone, Origin, Unwritten};
use nearslot_core::request::{Reply, Request};
use nearslot_core::rng::Rng;
use nearslot_core::stack::Stack;
use nearslot_core::units::{Duration, Instant};
use nearslot_lab::sim::{self, Control, Observer};
use nearslot_lab::workload;

const BATCHES: usize = 64;
/// Requests cut off the front.
const WARMUP: usize = 2_000;

/// What a run shows from outside.
#[derive(Default)]
struct Watch {
    /// Waits in ns, in the order of answers.
    waits: Vec<u64>,
    services_ns: u128,
    responses_ns: u128,
    responses: Vec<u64>,
    /// Integral of the number in the system over time, in ns.
    present_ns: u128,
    present: u128,
    last: Instant,
    busy_ns: u128,
    started: Option<Instant>,
}

impl Watch {
    fn pass(&mut self, now: Instant) {
        self.present_ns += self.present * u128::from(now.since(self.last).0);
        self.last = now;
    }
}

impl Observer for Watch {
    fn arrived(&mut self, now: Instant, _request: &Request) {
        self.pass(now);
        self.present += 1;
    }

    fn started(
        &mut self,
        now: Instant,
        _drive: DriveId,
        _command: &Command,
        _origin: &Origin,
        _stack: &Stack,
    ) {
        assert!(
            self.started.replace(now).is_none(),
            "the drive does one thing at a time"
        );
    }

    fn done(&mut self, now: Instant, _drive: DriveId, _done: &DriveDone) {
        let started = self.started.take().expect("it had started");
        self.busy_ns += u128::from(now.since(started).0);
    }

    fn replied(&mut self, now: Instant, reply: &Reply) {
        self.pass(now);
        self.present -= 1;
        self.waits.push(reply.timeline.wait().0);
        self.services_ns += u128::from(reply.timeline.service().0);
        self.responses_ns += u128::from(reply.timeline.response().0);
        self.responses.push(reply.timeline.response().0);
    }
}

/// A drive whose service times are independent draws.
struct General {
    inner: Box<dyn Drive>,
    rng: Rng,
    draw: fn(&mut Rng) -> u64,
    due: Option<(Instant, Duration)>,
}

impl Drive for General {
    fn submit(&mut self, now: Instant, command: &Command) {
        let service = Duration((self.draw)(&mut self.rng));
        self.due = Some((now + service, service));
        self.inner.submit(now, command);
    }

    fn next_event(&self) -> Option<Instant> {
        self.due.map(|(due, _)| due)
    }

    fn advance(&mut self, now: Instant) -> Option<DriveDone> {
        let (_, service) = self.due.take_if(|(due, _)| *due <= now)?;
        let mut done = self
            .inner
            .advance(now)
            .expect("it is quicker than any draw");
        done.cost.transfer = service;
        Some(done)
    }

    fn volatile(&self, now: Instant, out: &mut Vec<Unwritten>) {
        self.inner.volatile(now, out);
    }
}

/// Runs a synthetic workload over a drive that takes `service_us`, or what `draw` gives.
fn run(load: &str, service_us: u64, draw: Option<fn(&mut Rng) -> u64>) -> (Watch, Instant) {
    let text = format!("kind = 'null'\ncapacity_blocks = 1000000\nservice_us = {service_us}.0");
    let drive = DriveConfig {
        part: PartConfig::named("null"),
        text,
    };
    let config = StackConfig::over(drive, 1)
        .with::<dyn Scheduler>(PartConfig::named("fcfs"))
        .with::<dyn Placement>(PartConfig::named("linear"));
    let mut assembly = config.build().expect("it is a stack");
    if let Some(draw) = draw {
        let (inner, _) = drive::read("null", &config.drive.text, &[]).expect("it is a drive");
        let rng = Rng::stream(1, "service");
        let general = General {
            inner: Blueprint::drive(&*inner),
            rng,
            draw,
            due: None,
        };
        assembly.drives = vec![Box::new(general)];
    }
    let env = nearslot_lab::workload::LoadEnv {
        seed: 1,
        label: "workload/0",
        capacity: assembly.stack.capacity(),
        drive: None,
        places_max: u64::MAX,
    };
    let part = load.parse().expect("it is a part");
    let (mut made, _) = workload::synthetic(&part, &env).expect("its knobs are right");
    let mut watch = Watch::default();
    let (stack, drives) = (&mut assembly.stack, &mut assembly.drives);
    let end = sim::run(
        stack,
        drives,
        &mut *made.workload,
        &mut watch,
        &Control::default(),
    );
    stack.audit();
    assert_eq!(
        (stack.pending(), watch.waits.len() as u64),
        (0, made.requests.unwrap())
    );
    (watch, end)
}

/// Mean and standard error by batch means, warm-up cut.
fn estimate(waits: &[u64]) -> (f64, f64) {
    let waits = &waits[WARMUP..];
    let length = waits.len() / BATCHES;
    let mean = |batch: &[u64]| batch.iter().sum::<u64>() as f64 / batch.len() as f64;
    let means: Vec<f64> = waits.chunks_exact(length).take(BATCHES).map(mean).collect();
    let all = means.iter().sum::<f64>() / means.len() as f64;
    let squares: f64 = means.iter().map(|mean| (mean - all) * (mean - all)).sum();
    let count = means.len() as f64;
    (all, libm::sqrt(squares / (count - 1.0) / count))
}

fn holds(what: &str, waits: &[u64], theory_ns: f64) {
    let (mean, error) = estimate(waits);
    assert!(
        error < 0.02 * theory_ns,
        "{what}: an error of {error} says nothing about {theory_ns}"
    );
    let off = (mean - theory_ns).abs();
    assert!(
        off < 3.0 * error,
        "{what}: {mean} +- {error} instead of {theory_ns}"
    );
}

#[test]
fn little_and_utilisation_hold_to_the_nanosecond() {
    let hyper = |rng: &mut Rng| 20_000 + rng.exponential(80_000.0) as u64;
    for (load, draw) in [
        ("poisson:rate_rps=8000:requests=20000", None),
        (
            "poisson:rate_rps=8000:requests=20000",
            Some(hyper as fn(&mut Rng) -> u64),
        ),
        ("iometer:depth=7:requests=20000", None),
    ] {
        let (watch, end) = run(load, 10, draw);
        // L = lambda W, both sides times the span, which begins and ends empty.
        assert_eq!(watch.present_ns, watch.responses_ns, "{load}");
        assert_eq!(watch.busy_ns, watch.services_ns, "{load}");
        assert!(watch.busy_ns <= u128::from(end.0), "{load}");
    }
}

#[test]
fn a_closed_loop_keeps_its_drive_busy_and_its_depth() {
    let (watch, end) = run("iometer:depth=16:requests=5000", 100, None);
    assert_eq!(end, Instant(5_000 * 100_000));
    assert_eq!(watch.busy_ns, u128::from(end.0));
    // Response time law without think time: depth = throughput x response, once the loop is full.
    assert!(
        watch.responses[16..]
            .iter()
            .all(|&response| response == 16 * 100_000)
    );
}

#[test]
fn work_is_conserved() {
    // At twice the load that it can take, the drive idles only until the queue has formed.
    let (watch, end) = run("poisson:rate_rps=20000:requests=20000", 100, None);
    let idle_ns = end.0 - 20_000 * 100_000;
    assert!(
        idle_ns < 10_000_000,
        "the drive idled {idle_ns} ns of {end}"
    );
    assert_eq!(watch.busy_ns, 20_000 * 100_000);
}

#[test]
fn waits_at_a_deterministic_server_are_those_of_md1() {
    for load in [0.3, 0.5, 0.8] {
        let rate = load * 10_000.0;
        let (watch, _) = run(
            &format!("poisson:rate_rps={rate}:requests=800000"),
            100,
            None,
        );
        let theory_ns = load / (2.0 * (1.0 - load)) * 100_000.0;
        holds(&format!("M/D/1 at {load}"), &watch.waits, theory_ns);
    }
}

#[test]
fn waits_at_a_general_server_follow_pollaczek_and_khinchine() {
    type Case = (&'static str, fn(&mut Rng) -> u64, f64, f64);
    // Name, service in ns, its mean and its second moment in us.
    let cases: [Case; 3] = [
        (
            "exponential",
            |rng| 1_000 + rng.exponential(99_000.0) as u64,
            100.0,
            100.0 * 100.0 + 99.0 * 99.0,
        ),
        (
            "uniform",
            |rng| 50_000 + rng.below(100_000),
            100.0,
            100.0 * 100.0 + 10_000.0 / 12.0,
        ),
        (
            "hit or miss",
            |rng| if rng.chance(0.8) { 25_000 } else { 400_000 },
            100.0,
            0.8 * 625.0 + 0.2 * 160_000.0,
        ),
    ];
    for (name, draw, mean_us, second_us) in cases {
        let load = 0.6;
        let rate = load / mean_us * 1e6;
        let (watch, _) = run(
            &format!("poisson:rate_rps={rate}:requests=1500000"),
            1,
            Some(draw),
        );
        let theory_us = rate / 1e6 * second_us / (2.0 * (1.0 - load));
        holds(&format!("M/G/1, {name}"), &watch.waits, theory_us * 1_000.0);
    }
}
