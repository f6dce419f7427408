//! What a trace does not tell is said, with an uncertainty that holds the truth: buffered reads of
//! one length, an arm that was not moved far, halves that are unlike, a queue that is never empty.

use nearslot_core::contract::Blueprint;
use nearslot_core::drive::catalog_text;
use nearslot_core::drive::hdd::{HddBlueprint, Parameters};
use nearslot_core::op::Op;
use nearslot_core::rng::Rng;
use nearslot_lab::calibrate::{
    Calibration, Estimate, How, Sample, Samples, Verdict, calibrate, fitted, judge_disk,
};

use super::coverage::{odd, probed, truth};
use super::{Timed, blueprint, on, parameters, randomly, seek_ms};

/// A drive of which a read of 4 KiB from the buffer spends nearly half of its time on the bus.
fn slow_bus() -> Parameters {
    let mut drive = odd(7_200.0, 4, [1_500, 1_200, 900], 1.1, 1.0);
    drive.bus.as_mut().unwrap().read_ms_per_block = 0.005;
    drive
}

/// The drive's likeness with another bus.
fn base(drive: &Parameters, read_ms_per_block: f64) -> How {
    let mut base = drive.clone();
    base.bus.as_mut().unwrap().read_ms_per_block = read_ms_per_block;
    How {
        base: Some(("likeness".to_owned(), toml::to_string(&base).unwrap())),
        input: "the test".to_owned(),
        ..How::default()
    }
}

fn estimate<'a>(found: &'a Calibration, name: &str) -> &'a Estimate {
    let mut all = found.estimates.iter();
    let one = all.find(|one| one.name == name);
    one.unwrap_or_else(|| panic!("{name} is not in {found}"))
}

/// Holds an estimate against the truth and what is told of its error.
fn holds(found: &Calibration, name: &str, drive: &Parameters) {
    let one = estimate(found, name);
    let off = (one.value.unwrap() - truth(name, drive).unwrap()).abs();
    assert!(
        off <= one.plus_minus.unwrap(),
        "{name} is {off} off\n{found}"
    );
}

const OF_ARM: [&str; 3] = [
    "overheads of reads",
    "seek_ms, one third of the stroke",
    "seek_ms, full stroke",
];

/// Random reads of one length, some of places that were read before, and after a pause one that
/// goes on where the one before ended, of these lengths by turns.
fn with_sequels(drive: &Parameters, len: u64, lengths: &[u64]) -> Samples {
    let blueprint = blueprint(&toml::to_string(drive).unwrap());
    let mut model = Blueprint::drive(&*blueprint);
    let mut timed = Timed::new(&mut *model);
    let mut rng = Rng::stream(12, "sequels");
    let mut places: Vec<u64> = Vec::new();
    for index in 0..3_000 {
        let at = match index % 3 {
            0 if index > 500 => places[index - 200 - rng.below(300) as usize],
            _ => rng.below(blueprint.capacity().0 - 1_024) / 8 * 8,
        };
        places.push(at);
        timed.request(Op::Read, at, len, 6_000_000 + rng.below(3_000_000));
        if index % 4 == 0 {
            let next = lengths[index / 4 % lengths.len()];
            timed.request(Op::Read, at + len, next, rng.below(3_000_000));
        }
    }
    Samples::of(timed.samples).unwrap()
}

#[test]
fn buffered_reads_of_one_length_leave_bus_and_overhead_together() {
    let drive = slow_bus();
    let samples = with_sequels(&drive, 8, &[8]);
    // A faster bus, one that is slower, and one that alone would take longer than what was
    // measured.
    for other in [0.0017, 0.008, 0.05] {
        let found = calibrate(&samples, &base(&drive, other)).unwrap();
        for name in OF_ARM {
            holds(&found, name, &drive);
        }
        let bus = estimate(&found, "bus.read_ms_per_block");
        assert_eq!(bus.value, None, "{found}");
        let said = "all reads that the buffer answers have 4 KiB: bus and overhead cannot be told apart; the sum is 0.100 ms";
        assert!(bus.how.starts_with(said), "{found}");
        let lowered = bus
            .how
            .ends_with("the base's bus is taken to be as fast as that");
        assert_eq!(lowered, other > 0.01, "{found}");
        // Together they are what was measured.
        let own = parameters(&found.drive);
        let sum = own.overheads.unwrap().read_hit_after_read_ms
            + 8.0 * own.bus.unwrap().read_ms_per_block;
        assert!((sum - 0.1).abs() < 0.002, "{sum}");
    }
}

/// What goes to the bus is not taken for overhead, and then the arm seems to need it.
#[test]
fn long_reads_of_one_length_leave_the_seek_curve_as_uncertain_as_the_overhead() {
    let mut drive = slow_bus();
    drive.bus.as_mut().unwrap().read_ms_per_block = 0.0002;
    let overheads = drive.overheads.as_mut().unwrap();
    overheads.read_hit_after_read_ms = 1.4;
    overheads.read_miss_after_read_ms = 1.44;
    let samples = with_sequels(&drive, 256, &[256]);
    let found = calibrate(&samples, &base(&drive, 0.005)).unwrap();
    for name in OF_ARM {
        holds(&found, name, &drive);
    }
    let said = &estimate(&found, "bus.read_ms_per_block").how;
    assert!(said.contains("have 128 KiB"), "{found}");
    assert!(said.contains("the sum is 1.451 ms"), "{found}");
}

#[test]
fn buffered_reads_of_two_lengths_tell_bus_and_overhead() {
    let drive = slow_bus();
    let how = base(&drive, 0.0017);
    for samples in [with_sequels(&drive, 8, &[8, 32]), probed(&drive, 5)] {
        let found = calibrate(&samples, &how).unwrap();
        for name in ["bus.read_ms_per_block"].into_iter().chain(OF_ARM) {
            holds(&found, name, &drive);
        }
        assert!(estimate(&found, "overheads of reads").plus_minus.unwrap() < 0.01);
    }
}

#[test]
fn a_trace_that_moves_the_arm_not_far_says_from_where_on_the_curve_is_extrapolated() {
    let text = catalog_text("desktop-7200-90mb").unwrap();
    let drive = parameters(text);
    let mut model = Blueprint::drive(&*blueprint(text));
    let mut timed = Timed::new(&mut *model);
    let mut rng = Rng::stream(13, "near");
    let end = HddBlueprint::new(&drive).unwrap().capacity().0 * 45 / 100;
    for _ in 0..5_000 {
        timed.request(Op::Read, rng.below(end) / 8 * 8, 8, rng.below(3_000_000));
    }
    let samples = Samples::of(timed.samples).unwrap();
    let found = calibrate(&samples, &on("desktop-7200-90mb", None)).unwrap();
    for name in ["seek_ms, one third of the stroke", "seek_ms, full stroke"] {
        holds(&found, name, &drive);
    }
    let far = estimate(&found, "seek_ms, full stroke");
    assert_eq!(far.from, "extrapolated");
    assert!(far.how.starts_with("moves are measured up to "), "{found}");
    let note = found
        .notes
        .iter()
        .find(|note| note.starts_with("The seek curve is measured"));
    let note = note.unwrap();
    assert!(
        note.ends_with("Requests that are farther apart would tell the rest."),
        "{note}"
    );
    // The file is a drive, by the rules of drives, and says the same.
    let own = parameters(&found.drive);
    own.check().unwrap();
    assert_eq!(own.seek_ms.last().unwrap().0, own.cylinders - 1);
    let said = own.calibration.unwrap()["notes"].to_string();
    assert!(said.contains(note.as_str()), "{said}");
}

#[test]
fn where_the_curve_was_moved_the_estimates_move_with_it() {
    // Where overheads and bus are another drive's, the model is not as fast as measured.
    let text = catalog_text("seagate-cheetah-9lp").unwrap();
    let blocks = HddBlueprint::new(&parameters(text)).unwrap().capacity().0;
    let found = calibrate(
        &randomly(text, 20_000, 0.2),
        &on("modern-20tb", Some(blocks)),
    )
    .unwrap();
    let moved = found
        .notes
        .iter()
        .any(|note| note.starts_with("All seek times are"));
    assert!(moved, "{found}");
    let off = found.fit.model_mean_ms - found.fit.measured_mean_ms;
    assert!(off.abs() < 0.2, "{found}");
    let own = parameters(&found.drive);
    for (name, distance) in [
        ("seek_ms, one third of the stroke", own.cylinders / 3),
        ("seek_ms, full stroke", own.cylinders - 1),
    ] {
        let off = estimate(&found, name).value.unwrap() - seek_ms(&own, distance);
        assert!(off.abs() < 1e-4, "{name}: {off}\n{found}");
    }
}

#[test]
fn reads_ahead_do_not_tell_the_head_switch() {
    let text = catalog_text("desktop-7200-90mb").unwrap();
    let blueprint = blueprint(text);
    let mut model = Blueprint::drive(&*blueprint);
    let mut timed = Timed::new(&mut *model);
    let mut rng = Rng::stream(14, "ahead");
    let end = blueprint.capacity().0 - 20_000;
    for _ in 0..2_500 {
        let at = rng.below(end) / 8 * 8;
        timed.request(Op::Read, at, 8, rng.below(3_000_000));
        let ahead = at + (64 + rng.below(10_000)) / 8 * 8;
        timed.request(Op::Read, ahead, 8, rng.below(3_000_000));
    }
    let samples = Samples::of(timed.samples).unwrap();
    let found = calibrate(&samples, &on("desktop-7200-90mb", None)).unwrap();
    let switch = estimate(&found, "head_switch_ms");
    assert_eq!(switch.value, None, "{found}");
    assert!(switch.how.contains("back to another track"), "{found}");
}

/// The same requests, those that are fitted to so many times as long.
fn unlike(samples: &Samples, times: f64) -> Samples {
    let mut now = 0;
    let all = samples.all.iter().enumerate().map(|(index, sample)| {
        let times = if fitted(index) { times } else { 1.0 };
        let latency = (sample.latency as f64 * times) as u64;
        let one = Sample::new(now, sample.op, sample.at, sample.len, latency);
        now += latency + 1_000_000;
        one
    });
    Samples::of(all.collect()).unwrap()
}

#[test]
fn halves_that_are_unlike_allow_no_sharp_verdict() {
    let mut drive = parameters(catalog_text("seagate-cheetah-9lp").unwrap());
    (drive.buffer, drive.bus, drive.overheads) = (None, None, None);
    let samples = randomly(&toml::to_string(&drive).unwrap(), 6_000, 0.0);
    let model = HddBlueprint::new(&drive).unwrap();
    let judged = |times| judge_disk(&model, &unlike(&samples, times).all).unwrap();
    let alike = judged(1.0);
    assert_eq!(alike.verdict, Verdict::Good, "{alike}");
    assert!(
        !alike.to_string().contains("no better than fair"),
        "{alike}"
    );
    let fair = judged(1.1);
    assert!(fair.demerit_share < 0.05, "{fair}");
    assert_eq!(fair.verdict, Verdict::Fair, "{fair}");
    let said = "no better than fair because the half that judges is itself uncertain by 7";
    assert!(fair.to_string().contains(said), "{fair}");
    let open = judged(1.3);
    assert!(open.demerit_share < 0.05, "{open}");
    assert_eq!(open.verdict, Verdict::Unjudged, "{open}");
    assert!(
        open.unjudged
            .unwrap()
            .starts_with("the half that judges is itself uncertain by 2")
    );
}

#[test]
fn a_trace_whose_queue_is_never_empty_is_told_so() {
    let samples = super::parallel(&[8], |rng| 5_000_000 + rng.below(8_000_000));
    let error = calibrate(&samples, &on("seagate-cheetah-9lp", None)).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("found the drive idle; at least 200 are needed"),
        "{text}"
    );
    assert!(
        text.contains("earlier ones, 7 as a median, were outstanding"),
        "{text}"
    );
    assert!(text.contains("queue depth 1"), "{text}");
}
