//! Calibration finds drives again from what they do, and refuses what is no drive of the kind.
//!
//! The drives are models in virtual time, so what is found can be held against what is true.
//! Tolerances are three times the standard errors that the design note gives, or tighter where more
//! is reached.

mod coverage;
mod faults;
mod limits;
mod untold;

use nearslot_core::contract::{Blueprint, Drive};
use nearslot_core::drive::hdd::{HddBlueprint, Parameters};
use nearslot_core::drive::{self, catalog_text};
use nearslot_core::ids::IoId;
use nearslot_core::io::Command;
use nearslot_core::op::Op;
use nearslot_core::rng::Rng;
use nearslot_core::units::{Blocks, Instant, Pba};
use nearslot_lab::calibrate::probe::{Bounds, Modelled, probe};
use nearslot_lab::calibrate::{
    CalibrateError, Calibration, How, Sample, Samples, Target, Verdict, calibrate, judge_disk,
};
use nearslot_lab::sim::Control;

fn parameters(text: &str) -> Parameters {
    Parameters::read(&text.parse().unwrap()).unwrap()
}

/// A drive of the catalog with other words in its file.
fn changed(name: &str, changes: &[(&str, &str)]) -> String {
    let mut text = catalog_text(name).unwrap().to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from} is not in {name}");
        text = text.replacen(from, to, 1);
    }
    text
}

fn blueprint(text: &str) -> Box<dyn Blueprint> {
    drive::read("of the test", text, &[]).unwrap().0
}

fn probed(text: &str) -> Samples {
    let blueprint = blueprint(text);
    let bounds = Bounds {
        seconds: 100_000,
        ..Bounds::default()
    };
    let mut model = Modelled::new(Blueprint::drive(&*blueprint));
    probe(
        &mut model,
        blueprint.capacity().0,
        bounds,
        &Control::default(),
    )
    .unwrap()
}

/// A drive that is asked one request at a time, and what it took.
struct Timed<'a> {
    drive: &'a mut dyn Drive,
    samples: Vec<Sample>,
    now: u64,
}

impl Timed<'_> {
    fn new(drive: &mut dyn Drive) -> Timed<'_> {
        Timed {
            drive,
            samples: Vec::new(),
            now: 0,
        }
    }

    /// A request, and a pause after it.
    fn request(&mut self, op: Op, at: u64, len: u64, pause: u64) {
        let drive = &mut *self.drive;
        while let Some(due) = drive.next_event().filter(|due| due.0 <= self.now) {
            assert!(drive.advance(due).is_none());
        }
        let command = Command {
            io: IoId(0),
            op,
            at: Pba(at),
            len: Blocks(len),
            fua: false,
        };
        drive.submit(Instant(self.now), &command);
        let end = loop {
            let due = drive.next_event().unwrap();
            if drive.advance(due).is_some() {
                break due.0;
            }
        };
        let sample = Sample::new(self.now, op, at, len, end - self.now);
        self.samples.push(sample);
        self.now = end + pause;
    }
}

/// A random load of one request at a time, with pauses of up to 3 ms in between.
fn random(drive: &mut dyn Drive, blocks: u64, load: &Load) -> Samples {
    let mut rng = Rng::stream(load.seed, "load");
    let mut timed = Timed::new(drive);
    for _ in 0..load.count {
        let write = rng.chance(load.writes);
        let op = if write { Op::Write } else { Op::Read };
        let at = rng.below(blocks - 8) / 8 * 8;
        timed.request(op, at, 8, rng.below(3_000_000));
    }
    Samples::of(timed.samples).unwrap()
}

/// How many requests, what share of them writes, drawn by which seed.
struct Load {
    seed: u64,
    count: u64,
    writes: f64,
}

fn randomly(text: &str, count: u64, writes: f64) -> Samples {
    let load = Load {
        seed: 3,
        count,
        writes,
    };
    let blueprint = blueprint(text);
    let blocks = blueprint.capacity().0;
    random(&mut *Blueprint::drive(&*blueprint), blocks, &load)
}

fn random_of(drive: &Parameters, seed: u64, count: u64, writes: f64) -> Samples {
    let load = Load {
        seed,
        count,
        writes,
    };
    let blueprint = blueprint(&toml::to_string(drive).unwrap());
    let blocks = blueprint.capacity().0;
    random(&mut *Blueprint::drive(&*blueprint), blocks, &load)
}

fn on(base: &str, capacity: Option<u64>) -> How {
    How {
        base: Some((base.to_owned(), catalog_text(base).unwrap().to_owned())),
        capacity,
        input: "the test".to_owned(),
        ..How::default()
    }
}

fn found(samples: &Samples, how: &How) -> (Calibration, Parameters) {
    let found = calibrate(samples, how).unwrap();
    let drive = parameters(&found.drive);
    (found, drive)
}

/// The curve at a distance, on the line between its points.
fn seek_ms(drive: &Parameters, distance: u32) -> f64 {
    let points = &drive.seek_ms;
    let right = points
        .partition_point(|(at, _)| *at < distance)
        .clamp(1, points.len() - 1);
    let ((d1, t1), (d2, t2)) = (points[right - 1], points[right]);
    t1 + (f64::from(distance) - f64::from(d1)) / f64::from(d2 - d1) * (t2 - t1)
}

/// Holds the seek curve against the truth at shares of the stroke, with what is added to every
/// latency.
fn same_curve(found: &Parameters, truth: &Parameters, added_ms: f64, within_ms: f64) {
    for share in [0.05, 0.1, 0.2, 0.333, 0.5, 0.7, 0.9] {
        let at = |drive: &Parameters| seek_ms(drive, (f64::from(drive.cylinders) * share) as u32);
        let off = at(found) - at(truth) - added_ms;
        assert!(
            off.abs() < within_ms,
            "at {share} of the stroke {off:.3} ms off"
        );
    }
}

fn near(what: &str, value: f64, truth: f64, within: f64) {
    assert!(
        (value - truth).abs() < within,
        "{what}: {value}, not {truth}"
    );
}

#[test]
fn a_probe_finds_the_cheetah_again() {
    let text = catalog_text("seagate-cheetah-9lp").unwrap();
    let truth = parameters(text);
    let (found, drive) = found(&probed(text), &on("seagate-cheetah-9lp", None));
    near("rpm", drive.rpm, 10_045.0, 0.5);
    near(
        "head switch",
        drive.head_switch_ms,
        truth.head_switch_ms,
        0.5,
    );
    let overheads = truth.overheads.as_ref().unwrap();
    let own = drive.overheads.as_ref().unwrap();
    near(
        "hit",
        own.read_hit_after_read_ms,
        overheads.read_hit_after_read_ms,
        0.1,
    );
    let added = overheads.read_miss_after_read_ms - own.read_miss_after_read_ms;
    same_curve(&drive, &truth, added, 0.45);
    assert_eq!(found.fit.verdict, Verdict::Good);
    assert!(
        found.fit.demerit_share < 0.02,
        "{}",
        found.fit.demerit_share
    );
    // What the bus hides is not made up.
    let zones = found
        .estimates
        .iter()
        .find(|one| one.name == "zones")
        .unwrap();
    assert!(zones.value.is_none(), "{}", zones.how);
    assert!(zones.how.contains("the bus or the host"), "{}", zones.how);
}

/// Two random places are seldom as far apart as the arm can go, so a probe draws long moves by
/// themselves.
#[test]
fn a_probe_tells_the_far_end_of_the_seek_curve() {
    for name in ["seagate-cheetah-9lp", "desktop-7200-90mb"] {
        let truth = parameters(catalog_text(name).unwrap());
        for seed in 1..=4 {
            let (_, drive) = found(&coverage::probed(&truth, seed), &on(name, None));
            let overhead = |drive: &Parameters| {
                let overheads = drive.overheads.as_ref();
                overheads.map_or(0.0, |overheads| overheads.read_miss_after_read_ms)
            };
            let added = overhead(&truth) - overhead(&drive);
            for share in [0.9, 0.98] {
                let at = |drive: &Parameters| {
                    seek_ms(drive, (f64::from(drive.cylinders) * share) as u32)
                };
                let what = format!("{name}, seed {seed}, {share} of the stroke");
                near(&what, at(&drive) - added, at(&truth), 0.4);
            }
        }
    }
}

#[test]
fn a_probe_finds_a_desktop_drive_on_a_base_of_another_class() {
    let text = catalog_text("desktop-7200-90mb").unwrap();
    let samples = probed(text);
    let (found, drive) = found(&samples, &on("modern-20tb", Some(1_953_525_168)));
    near("rpm", drive.rpm, 7_200.0, 0.1);
    near("head switch", drive.head_switch_ms, 0.8, 0.3);
    same_curve(&drive, &parameters(text), 0.0, 0.7);
    assert!(found.fit.demerit_share < 0.04, "{found}");
    // Streams run as fast as on the true drive: sectors per track and skew together make the rate.
    let rate = |text: &str| {
        let mut model = Modelled::new(Blueprint::drive(&*blueprint(text)));
        [0.0, 0.5, 0.95].map(|share| stream_rate(&mut model, (share * 1.9e9) as u64 / 8 * 8))
    };
    for (own, truth) in rate(&found.drive).into_iter().zip(rate(text)) {
        assert!(
            (own / truth - 1.0).abs() < 0.05,
            "{own} blocks per ms, not {truth}"
        );
    }
}

/// Blocks a millisecond of reads of 256 KiB one behind the other.
fn stream_rate(reads: &mut dyn nearslot_lab::calibrate::probe::Reads, first: u64) -> f64 {
    let mut begun = 0;
    for index in 0..100 {
        reads.read(first + index * 512, 512).unwrap();
        if index == 9 {
            begun = reads.now();
        }
    }
    90.0 * 512.0 / ((reads.now() - begun) as f64 / 1e6)
}

#[test]
fn a_random_load_tells_rotation_seeks_settle_and_write_behind() {
    let bare = |name: &str| {
        let mut drive = parameters(catalog_text(name).unwrap());
        (drive.buffer, drive.bus, drive.overheads) = (None, None, None);
        toml::to_string(&drive).unwrap()
    };
    let text = bare("desktop-7200-90mb");
    let (calibration, drive) = found(&randomly(&text, 8_000, 0.3), &on("desktop-7200-90mb", None));
    near("rpm", drive.rpm, 7_200.0, 0.01);
    near("settle", drive.write_settle_ms, 0.5, 0.25);
    assert!(
        calibration.fit.demerit_share < 0.02,
        "{}",
        calibration.fit.demerit_share
    );
    let text = catalog_text("desktop-7200-90mb").unwrap();
    let (calibration, drive) = found(&randomly(text, 8_000, 0.3), &on("desktop-7200-90mb", None));
    same_curve(&drive, &parameters(text), 0.0, 0.7);
    assert!(
        calibration
            .notes
            .iter()
            .any(|note| note.contains("from the buffer"))
    );
    assert!(
        calibration.fit.demerit_share < 0.02,
        "{}",
        calibration.fit.demerit_share
    );
}

/// Skews as a maker would choose them: a track begins when the arm can be there.
fn cover_switches(drive: &mut Parameters) {
    let turn_ms = 60_000.0 / drive.rpm;
    let first = drive.seek_ms[0].1.max(drive.head_switch_ms);
    for zone in &mut drive.zones {
        let sectors = |ms: f64| {
            let turns = (ms + drive.write_settle_ms) / turn_ms;
            libm::ceil(turns * f64::from(zone.sectors_per_track)) as i64 + 1
        };
        zone.track_skew_sectors = sectors(drive.head_switch_ms);
        zone.cylinder_skew_sectors = sectors(first);
    }
}

#[test]
fn drives_of_random_parameters_are_found_again() {
    for seed in 0..4 {
        let mut rng = Rng::stream(seed, "drives");
        let mut truth = parameters(catalog_text("desktop-7200-90mb").unwrap());
        // Not a speed that any disk has: it has to be measured.
        truth.rpm = 4_000.0 + libm::floor(rng.unit() * 11_000.0) + 0.37;
        truth.head_switch_ms = 0.3 + 1.2 * rng.unit();
        let scale = 0.5 + rng.unit();
        for (_, ms) in &mut truth.seek_ms {
            *ms *= scale;
        }
        cover_switches(&mut truth);
        let text = toml::to_string(&truth).unwrap();
        let (found, drive) = found(&probed(&text), &on("desktop-7200-90mb", None));
        near("rpm", drive.rpm, truth.rpm, 0.5);
        let turn_ms = 60_000.0 / truth.rpm;
        near(
            "head switch",
            drive.head_switch_ms,
            truth.head_switch_ms,
            0.08 * turn_ms,
        );
        same_curve(&drive, &truth, 0.0, 0.08 * turn_ms);
        assert!(found.fit.demerit_share < 0.04, "{seed}: {found}");
    }
}

#[test]
fn another_speed_or_curve_is_not_taken_for_the_drive() {
    let text = catalog_text("seagate-cheetah-9lp").unwrap();
    let samples = randomly(text, 4_000, 0.0);
    let judged =
        |text: &str| judge_disk(&HddBlueprint::new(&parameters(text)).unwrap(), &samples.all);
    assert_eq!(judged(text).unwrap().verdict, Verdict::Good);
    let slower = changed("seagate-cheetah-9lp", &[("rpm = 10045", "rpm = 7200")]);
    assert_ne!(judged(&slower).unwrap().verdict, Verdict::Good);
    // And the base's speed is not passed on.
    let samples = randomly(&slower, 6_000, 0.0);
    let (_, drive) = found(&samples, &on("seagate-cheetah-9lp", None));
    near("rpm", drive.rpm, 7_200.0, 0.01);
}

#[test]
fn what_does_not_turn_is_refused_and_offered_another_kind() {
    for name in ["null", "cloud-gp2-100gib"] {
        let samples = randomly(catalog_text(name).unwrap(), 2_000, 0.2);
        let error = calibrate(&samples, &on("modern-20tb", None)).unwrap_err();
        assert!(matches!(error, CalibrateError::NotADisk { .. }), "{error}");
        assert!(error.to_string().contains("--as empirical"), "{error}");
        assert!(!error.to_string().contains("NaN"), "{error}");
    }
}

#[test]
fn an_address_beyond_the_base_names_the_options() {
    let samples = randomly(catalog_text("seagate-cheetah-9lp").unwrap(), 500, 0.0);
    let error = calibrate(&samples, &on("hp-c2247a", None)).unwrap_err();
    assert!(error.to_string().contains("--capacity"), "{error}");
}

/// A device that answers each request after a time of its own, however many are outstanding.
fn parallel(depths: &[u64], latency: impl Fn(&mut Rng) -> u64) -> Samples {
    let mut rng = Rng::stream(4, "parallel");
    let (mut samples, mut now) = (Samples::default(), 0);
    for depth in depths {
        let mut free = vec![now; *depth as usize];
        for _ in 0..2_000 {
            free.sort_unstable();
            let issued = free[0];
            let took = latency(&mut rng);
            samples
                .all
                .push(Sample::new(issued, Op::Read, rng.below(1_000_000), 8, took));
            free[0] = issued + took;
            now = now.max(free[0]);
        }
        now += 1_000_000_000;
    }
    samples.finish().unwrap()
}

#[test]
fn an_empirical_drive_keeps_the_mean_at_every_depth() {
    let how = |target| How {
        target,
        capacity: Some(2_000_000),
        input: "the test".to_owned(),
        ..How::default()
    };
    let draw = |rng: &mut Rng| 500_000 + rng.below(1_000_000);
    let samples = parallel(&[1, 8], draw);
    let found = calibrate(&samples, &how(Target::Empirical)).unwrap();
    let fit = &found.fit;
    let off = fit.model_mean_ms / fit.measured_mean_ms - 1.0;
    assert!(off.abs() < 0.1, "{off}");
    let alone = calibrate(&parallel(&[1], draw), &how(Target::Empirical)).unwrap();
    assert_eq!(alone.fit.verdict, Verdict::Good, "{alone}");
    // Alone, a read takes what was measured; of eight outstanding, an eighth of it.
    for (outstanding, truth_ms) in [(1, 1.0), (8, 1.0 / 8.0)] {
        let mut drive = blueprint(&found.drive).seeded(1, "test");
        near(
            "mean",
            mean_ms(&mut *drive, outstanding),
            truth_ms,
            0.05 * truth_ms,
        );
    }
}

/// Mean time of reads one right behind the other, while so many are outstanding.
fn mean_ms(drive: &mut dyn Drive, outstanding: u64) -> f64 {
    let read = Command {
        io: IoId(0),
        op: Op::Read,
        at: Pba(0),
        len: Blocks(8),
        fua: false,
    };
    let (mut now, count) = (Instant::ZERO, 4_000);
    for _ in 0..count {
        drive.submit(now, &read);
        now = drive.next_event().unwrap();
        drive.outstanding(&mut || outstanding);
        assert!(drive.advance(now).is_some());
    }
    now.0 as f64 / 1e6 / f64::from(count)
}

#[test]
fn the_drive_says_where_its_numbers_come_from() {
    let text = catalog_text("desktop-7200-90mb").unwrap();
    let (found, drive) = found(&randomly(text, 2_000, 0.0), &on("desktop-7200-90mb", None));
    let origin = drive.calibration.as_ref().unwrap();
    assert_eq!(origin["base"].as_str(), Some("desktop-7200-90mb"));
    assert!(origin["demerit_share"].as_float().unwrap() < 0.05);
    let rows = origin["parameters"].as_array().unwrap();
    assert_eq!(rows.len(), found.estimates.len());
    assert!(
        rows.iter()
            .any(|row| row["from"].as_str() == Some("desktop-7200-90mb"))
    );
    // The same samples give the same file.
    let again = calibrate(&randomly(text, 2_000, 0.0), &on("desktop-7200-90mb", None)).unwrap();
    assert_eq!(again.drive, found.drive);
}
