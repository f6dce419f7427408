//! What is wrong with a set of samples or with a drive is seen: each doctored set has to be
//! refused, or judged poor, or said to be beyond judgement.

use std::sync::atomic::Ordering;

use nearslot_core::contract::Blueprint;
use nearslot_core::drive::catalog_text;
use nearslot_core::drive::hdd::{HddBlueprint, Parameters};
use nearslot_core::op::Op;
use nearslot_core::rng::Rng;
use nearslot_lab::calibrate::probe::{Bounds, Modelled, Reads, probe};
use nearslot_lab::calibrate::{
    Calibration, Fit, How, Sample, Samples, Verdict, calibrate, fitted, judge_disk,
};
use nearslot_lab::sim::Control;

use super::{blueprint, on, parameters, randomly};

const DRIVE: &str = "seagate-cheetah-9lp";

fn judged(drive: &Parameters, samples: &Samples) -> Fit {
    judge_disk(&HddBlueprint::new(drive).unwrap(), &samples.all).unwrap()
}

/// A drive without electronics, as its file has it.
fn bare(name: &str) -> Parameters {
    let mut drive = parameters(catalog_text(name).unwrap());
    (drive.buffer, drive.bus, drive.overheads) = (None, None, None);
    drive
}

/// The same requests with other latencies, each as long after the one before as it was.
fn doctored(samples: &Samples, latency: impl Fn(usize, u64) -> u64) -> Samples {
    let (mut now, mut before) = (0, 0);
    let all = samples.all.iter().enumerate().map(|(index, sample)| {
        now += sample.issued - before;
        before = sample.completed();
        let latency = latency(index, sample.latency);
        let one = Sample::new(now, sample.op, sample.at, sample.len, latency);
        now += latency;
        one
    });
    Samples::of(all.collect()).unwrap()
}

/// The same latencies, those of other requests.
fn shuffled(samples: &Samples) -> Samples {
    let mut rng = Rng::stream(9, "shuffle");
    let mut latencies: Vec<u64> = samples.all.iter().map(|sample| sample.latency).collect();
    for index in (1..latencies.len()).rev() {
        latencies.swap(index, rng.below(index as u64 + 1) as usize);
    }
    doctored(samples, |index, _| latencies[index])
}

#[test]
fn a_shuffled_trace_is_no_disk_though_its_distribution_is_one() {
    let text = catalog_text(DRIVE).unwrap();
    for (text, writes) in [
        (text.to_owned(), 0.0),
        (toml::to_string(&bare(DRIVE)).unwrap(), 1.0),
    ] {
        let samples = shuffled(&randomly(&text, 4_000, writes));
        let error = calibrate(&samples, &on(DRIVE, None)).unwrap_err();
        assert!(
            error.to_string().contains("do not depend on the distance"),
            "{error}"
        );
        let fit = judged(&parameters(&text), &samples);
        assert!(
            fit.demerit_share < 0.05,
            "the distribution alone would pass: {fit:?}"
        );
        assert_eq!(fit.verdict, Verdict::Poor, "{fit:?}");
    }
}

/// Another latency in the place of one, given that and the longest of all.
type Doctored = fn(u64, u64) -> u64;

#[test]
fn doctored_latencies_are_judged_poor() {
    let drive = parameters(catalog_text(DRIVE).unwrap());
    let samples = randomly(catalog_text(DRIVE).unwrap(), 4_000, 0.0);
    assert_eq!(judged(&drive, &samples).verdict, Verdict::Good);
    let longest = samples
        .all
        .iter()
        .map(|sample| sample.latency)
        .max()
        .unwrap();
    let times: [(&str, Doctored); 5] = [
        ("a quarter longer", |ns, _| ns / 4 * 5),
        ("3 ms longer", |ns, _| ns + 3_000_000),
        ("half", |ns, _| ns / 2),
        ("all alike", |_, longest| longest / 2),
        ("short ones long", |ns, longest| longest + 1_000 - ns),
    ];
    for (name, latency) in times {
        let fit = judged(&drive, &doctored(&samples, |_, ns| latency(ns, longest)));
        assert_eq!(fit.verdict, Verdict::Poor, "{name}: {fit:?}");
    }
}

#[test]
fn writes_alone_are_judged_by_writes() {
    let drive = bare("desktop-7200-90mb");
    let samples = randomly(&toml::to_string(&drive).unwrap(), 6_000, 1.0);
    let found = calibrate(&samples, &on("desktop-7200-90mb", None)).unwrap();
    assert_eq!(found.fit.verdict, Verdict::Good, "{found}");
    let order = found.fit.order.unwrap();
    assert_eq!(order.of, "write");
    assert!(
        (order.share - 1.0).abs() <= order.share_plus_minus,
        "{order:?}"
    );
}

/// Random reads, so many of them anywhere and all others within a range so small that none of them
/// is a long move.
fn with_long_moves(drive: &Parameters, long: usize) -> Samples {
    let text = toml::to_string(drive).unwrap();
    let all = randomly(&text, 4_000, 0.0).all;
    let mut model = Blueprint::drive(&*blueprint(&text));
    let mut timed = super::Timed::new(&mut *model);
    for (index, sample) in all.iter().enumerate() {
        let at = if index < long {
            sample.at
        } else {
            sample.at % 10_000
        };
        timed.request(Op::Read, at, 8, 2_000_000);
    }
    Samples::of(timed.samples).unwrap()
}

#[test]
fn few_long_moves_leave_the_order_open_and_that_is_said() {
    let drive = bare(DRIVE);
    let fit = judged(&drive, &with_long_moves(&drive, 24));
    assert_eq!(fit.verdict, Verdict::Unjudged, "{fit:?}");
    let why = fit.unjudged.as_ref().unwrap();
    assert!(why.contains("long moves for reads"), "{fit:?}");
    assert!(fit.demerit_share < 0.05);
    // Some sixty of them tell it.
    let fit = judged(&drive, &with_long_moves(&drive, 64));
    assert_eq!(fit.verdict, Verdict::Good, "{fit:?}");
    assert!((50..80).contains(&fit.order.unwrap().requests));
}

#[test]
fn a_half_without_requests_judges_nothing() {
    let mut samples = randomly(catalog_text(DRIVE).unwrap(), 1_000, 0.0);
    for (index, sample) in samples.all.iter_mut().enumerate() {
        sample.outstanding = if fitted(index) { 1 } else { 2 };
    }
    let drive = HddBlueprint::new(&parameters(catalog_text(DRIVE).unwrap())).unwrap();
    let error = judge_disk(&drive, &samples.all).unwrap_err().to_string();
    assert!(
        error.starts_with("too few requests in the half that judges what was found: 0;"),
        "{error}"
    );
    let zero = doctored(
        &randomly(catalog_text(DRIVE).unwrap(), 1_000, 0.0),
        |_, _| 0,
    );
    let error = judge_disk(&drive, &zero.all).unwrap_err().to_string();
    assert!(error.contains("are 0"), "{error}");
}

/// What was found, without what judges.
fn parameters_found(found: &Calibration) -> Parameters {
    let mut drive = parameters(&found.drive);
    drive.calibration = None;
    drive
}

#[test]
fn what_judges_is_not_fitted_to_and_what_is_fitted_to_does_not_judge() {
    for (name, writes) in [(DRIVE, 0.0), ("desktop-7200-90mb", 0.3)] {
        let samples = randomly(catalog_text(name).unwrap(), 6_000, writes);
        let clean = calibrate(&samples, &on(name, None)).unwrap();
        let judging = |index: usize, ns: u64| if fitted(index) { ns } else { ns / 10 * 13 };
        let found = calibrate(&doctored(&samples, judging), &on(name, None)).unwrap();
        assert_eq!(parameters_found(&clean), parameters_found(&found), "{name}");
        assert!(found.fit.demerit_share > 0.15, "{name}: {:?}", found.fit);
        let fitting = |index: usize, ns: u64| if fitted(index) { ns / 10 * 13 } else { ns };
        let found = calibrate(&doctored(&samples, fitting), &on(name, None)).unwrap();
        assert_ne!(parameters_found(&clean), parameters_found(&found), "{name}");
        assert!(found.fit.demerit_share > 0.15, "{name}: {:?}", found.fit);
    }
}

/// A device that fails.
struct Broken;

impl Reads for Broken {
    fn read(&mut self, _: u64, _: u64) -> std::io::Result<(u64, u64)> {
        Err(std::io::Error::other("input/output error"))
    }

    fn pause(&mut self, _: u64) {}

    fn now(&self) -> u64 {
        0
    }

    fn name(&self) -> String {
        "/dev/sdq".to_owned()
    }
}

#[test]
fn a_probe_that_fails_names_the_device() {
    let error = probe(
        &mut Broken,
        1_000_000,
        Bounds::default(),
        &Control::default(),
    )
    .unwrap_err();
    assert_eq!(error.to_string(), "/dev/sdq: input/output error");
}

/// A model on which somebody says stop at a read.
struct Stopping<'a> {
    model: Modelled,
    left: u64,
    control: &'a Control,
}

impl Reads for Stopping<'_> {
    fn read(&mut self, at: u64, len: u64) -> std::io::Result<(u64, u64)> {
        self.left -= 1;
        self.control.stop.store(self.left == 0, Ordering::Relaxed);
        self.model.read(at, len)
    }

    fn pause(&mut self, ns: u64) {
        self.model.pause(ns);
    }

    fn now(&self) -> u64 {
        self.model.now()
    }

    fn name(&self) -> String {
        self.model.name()
    }
}

#[test]
fn a_probe_that_is_told_to_stop_keeps_what_it_timed() {
    let blueprint = blueprint(catalog_text(DRIVE).unwrap());
    let stopped = |left| {
        let control = Control::default();
        let model = Modelled::new(Blueprint::drive(&*blueprint));
        let mut reads = Stopping {
            model,
            left,
            control: &control,
        };
        probe(
            &mut reads,
            blueprint.capacity().0,
            Bounds::default(),
            &control,
        )
    };
    assert_eq!(stopped(1_000).unwrap().all.len(), 1_000);
    let few = stopped(30).unwrap_err().to_string();
    assert!(
        few.starts_with("too few timed reads and writes: 30"),
        "{few}"
    );
}

#[test]
fn requests_on_a_small_part_of_the_capacity_are_not_taken_for_no_disk() {
    let mut samples = randomly(catalog_text("hp-c2247a").unwrap(), 1_000, 0.0);
    let how = How {
        capacity: Some(3_907_029_168),
        ..How::default()
    };
    // At the beginning, and far from it: what counts is how far apart they lie.
    for _ in 0..2 {
        let error = calibrate(&samples, &how).unwrap_err().to_string();
        assert!(error.contains("0.05 % of the 3907029168 blocks"), "{error}");
        assert!(error.contains("--capacity is too large"), "{error}");
        for sample in &mut samples.all {
            sample.at += 3_000_000_000;
        }
    }
}
