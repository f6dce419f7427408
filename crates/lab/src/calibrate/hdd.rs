//! A disk from its latencies: every estimator in turn, and the parameters that they come to.

use nearslot_core::contract::Blueprint;
use nearslot_core::drive::hdd::{HddBlueprint, Mechanics, Parameters};
use nearslot_core::op::Op;
use nearslot_core::units::Pba;

use super::electronics::{self, Electronics};
use super::estimate::Doubt;
use super::numbers::{mean, median};
use super::replay::latencies_ms;
use super::rotation::{self, Rotation, Still};
use super::samples::{Access, Sample, Samples, alone, fitted};
use super::seek::{self, Curve, Move, at_distance};
use super::{CalibrateError, Finding, geometry, idle, zones};
use crate::number::counted;

/// A disk that was found.
pub(super) struct FittedDisk {
    pub(super) parameters: Parameters,
    pub(super) finding: Finding,
}

/// Speeds that disks are built for, in revolutions a minute.
const COMMON_RPM: [f64; 9] = [
    3_600.0, 4_200.0, 5_400.0, 5_900.0, 6_300.0, 7_200.0, 10_000.0, 12_000.0, 15_000.0,
];
/// Requests that found the drive idle and are needed.
const ALONE_MIN: usize = 200;
/// A pause after which a drive has written what it took.
const WRITTEN_NS: u64 = 100_000_000;

/// What the estimators share.
pub(super) struct Context<'a> {
    accesses: Vec<Access>,
    pub(super) base_name: &'a str,
    capacity: u64,
    pub(super) finding: Finding,
    /// How far the overhead of reads may be off: what it takes too little, moves of the arm take
    /// too much.
    pub(super) overhead: Doubt,
    /// One standard error of the turn, half of which is taken off latencies to get moves.
    turn_error_ms: f64,
}

/// Fits a disk to the samples' fitted half.
pub(super) fn fit(
    samples: &Samples,
    base: &Parameters,
    base_name: &str,
    capacity: u64,
) -> Result<FittedDisk, CalibrateError> {
    let accesses = alone(&samples.all);
    let what = "to tell the rotation and the arm of a disk";
    idle::enough(accesses.len(), ALONE_MIN, what, samples)?;
    let mut context = Context {
        accesses,
        base_name,
        capacity,
        finding: Finding::default(),
        overhead: Doubt::default(),
        turn_error_ms: 0.0,
    };
    let turn_ms = context.rotation()?;
    let electronics = electronics::find(&context.accesses, turn_ms);
    let rotation = context.finding.clone();
    let mut drive = context.arm_and_layout(base, &electronics, turn_ms)?;
    // A track that begins before the arm has switched costs a turn: no drive is laid out so.
    let wider = geometry::wider_skews(base, &drive, turn_ms);
    if wider != *base {
        context.finding = rotation;
        drive = context.arm_and_layout(&wider, &electronics, turn_ms)?;
        let note = "Skews are those of the base, widened to cover the switches of head and cylinder found.";
        context.finding.notes.push(note.to_owned());
    }
    context.shift(&mut drive, &samples.all, turn_ms)?;
    drive.check().map_err(CalibrateError::Drive)?;
    Ok(FittedDisk {
        parameters: drive,
        finding: context.finding,
    })
}

/// What an access had to do, and what is left of its latency for it.
struct Wait {
    cylinders: u32,
    other_head: bool,
    /// Nothing that a drive reads ahead by itself.
    behind: bool,
    ms: f64,
}

impl Context<'_> {
    fn rotation(&mut self) -> Result<f64, CalibrateError> {
        let own: Vec<Access> = self.fitted().copied().collect();
        let far = |access: &&Access| access.is_far(self.capacity);
        let middle = |op: Op| {
            let times = own
                .iter()
                .filter(far)
                .filter(|access| access.sample.op == op);
            median(times.map(|access| access.sample.latency as f64))
        };
        let by = |op: Op| {
            let least = middle(op).unwrap_or(0.0) / 4.0;
            let clean = |access: &Access| {
                access.sample.op == op && (access.before.op == op || access.gap >= WRITTEN_NS)
            };
            rotation::find(&own, self.capacity, |access| {
                clean(access) && access.sample.is_short() && access.sample.latency as f64 >= least
            })
        };
        let found = match by(Op::Read) {
            Ok(found) => found,
            // Reads tell more, as drives may acknowledge writes early.
            Err(Still(reads)) => by(Op::Write).map_err(|Still(writes)| {
                let why = format!("of the reads, {reads}; of the writes, {writes}");
                CalibrateError::NotADisk { why }
            })?,
        };
        Ok(self.note_rotation(found))
    }

    /// Says what was found, and takes a common speed if only one is near what a spread tells.
    fn note_rotation(&mut self, found: Rotation) -> f64 {
        let Rotation {
            turn_ms,
            error_ms,
            samples,
            by_rereads,
        } = found;
        self.turn_error_ms = error_ms;
        let (mut rpm, error) = (60_000.0 / turn_ms, 60_000.0 / turn_ms * error_ms / turn_ms);
        let mut how = if by_rereads {
            "times between accesses to the same blocks are whole turns".to_owned()
        } else {
            "the spread of latencies after long moves is one turn".to_owned()
        };
        let near: Vec<f64> = COMMON_RPM
            .into_iter()
            .filter(|common| (common - rpm).abs() <= 3.0 * error)
            .collect();
        if let ([only], false) = (&near[..], by_rereads) {
            how += &format!(
                " ({rpm:.0}); {only:.0} is the only common speed within three standard errors"
            );
            rpm = *only;
        }
        self.finding
            .measured("rpm", rpm, "rev/min", Some(error), samples, &how);
        60_000.0 / rpm
    }

    /// Everything but the rotation, on the layout of this base.
    fn arm_and_layout(
        &mut self,
        base: &Parameters,
        electronics: &Electronics,
        turn_ms: f64,
    ) -> Result<Parameters, CalibrateError> {
        let mut drive = self.layout(base, turn_ms)?;
        self.fill_electronics(&mut drive, electronics);
        let moves = self.waits(&drive, electronics, Op::Read, turn_ms);
        let written = match electronics.writes_behind {
            Some(false) => self.waits(&drive, electronics, Op::Write, turn_ms),
            _ => Vec::new(),
        };
        self.arm(&mut drive, &moves, &written, turn_ms)?;
        Ok(drive)
    }

    fn fitted(&self) -> impl Iterator<Item = &Access> {
        self.accesses.iter().filter(|access| fitted(access.index))
    }

    /// Zones, if streams tell them, on the base's layout.
    fn layout(&mut self, base: &Parameters, turn_ms: f64) -> Result<Parameters, CalibrateError> {
        let found = zones::find(&self.accesses, base, self.capacity, turn_ms);
        let name = self.base_name;
        let sectors = match found {
            Ok(found) => {
                let [first, .., last] = &found.per_track[..] else {
                    unreachable!("streams that differ lie in zones that do");
                };
                for (key, value) in [("outer", *first), ("inner", *last)] {
                    self.finding.measured(
                        &format!("sectors_per_track, {key} zone"),
                        value.into(),
                        "sectors",
                        Some(found.error * f64::from(value)),
                        found.streams,
                        "rates of sequential reads, with the skews of the base",
                    );
                }
                Some(found.per_track)
            }
            Err(why) => {
                self.finding.take("zones", name, &why);
                None
            }
        };
        let why = "times do not tell them";
        self.finding.take("heads, skews, head order", name, why);
        let mut drive = geometry::scaled(base, self.capacity, sectors.as_deref())?;
        drive.rpm = 60_000.0 / turn_ms;
        Ok(drive)
    }

    /// What fitted accesses of one direction that reached the medium spent on move and rotation.
    fn waits(&self, drive: &Parameters, found: &Electronics, op: Op, turn_ms: f64) -> Vec<Wait> {
        let Ok(mechanics) = Mechanics::new(drive) else {
            return Vec::new();
        };
        let layout = mechanics.layout();
        let overheads = drive.overheads.clone().unwrap_or_default();
        let bus = drive.bus.clone().unwrap_or_default();
        let (overhead, block) = match op {
            Op::Read => (
                overheads.read_miss_after_read_ms
                    + overheads.command_ms
                    + overheads.read_completion_ms,
                bus.read_ms_per_block,
            ),
            _ => (
                overheads.write_after_write_ms
                    + overheads.command_ms
                    + overheads.write_completion_ms,
                bus.write_ms_per_block,
            ),
        };
        let buffered = drive.buffer.is_some() && found.reads_ahead != Some(false);
        let clean = |access: &&Access| {
            let after_write = access.before.op == Op::Write && found.writes_behind != Some(false);
            access.sample.op == op
                && access.sample.is_short()
                && (!after_write || access.gap >= WRITTEN_NS)
                && access.sample.end() <= layout.capacity().0
                && access.before.end() <= layout.capacity().0
        };
        let wait = |access: &Access| {
            let [from, to] =
                [access.before.end() - 1, access.sample.at].map(|at| layout.spot(Pba(at)));
            let len = access.sample.len as f64;
            let sector = to.sectors_pass(1).as_ms();
            // Of the slower of medium and bus all blocks, and the last one over the other.
            let transfer = len * sector.max(block) + sector.min(block);
            let ms = access.sample.latency as f64 / 1e6 - overhead - transfer;
            let cylinders = from.place.cylinder.abs_diff(to.place.cylinder);
            // A read near the one before may have come from the buffer.
            let hit = buffered && cylinders <= NEAR_CYLINDERS && ms < turn_ms / 50.0;
            (ms > -turn_ms / 10.0 && !hit).then_some(Wait {
                cylinders,
                other_head: from.place.surface != to.place.surface,
                behind: access.step() < 0,
                ms,
            })
        };
        self.fitted().filter(clean).filter_map(wait).collect()
    }

    fn arm(
        &mut self,
        drive: &mut Parameters,
        reads: &[Wait],
        writes: &[Wait],
        turn_ms: f64,
    ) -> Result<(), CalibrateError> {
        let moves = |waits: &[Wait]| -> Vec<Move> {
            let one = |wait: &Wait| Move {
                distance: wait.cylinders,
                ms: wait.ms,
            };
            waits.iter().map(one).collect()
        };
        let by_writes = reads.len() < writes.len() / 4;
        let of = if by_writes {
            moves(writes)
        } else {
            moves(reads)
        };
        let curve =
            seek::fit(&of, turn_ms, drive.cylinders).map_err(|why| CalibrateError::NotADisk {
                why: format!("the seek curve cannot be told: {why}"),
            })?;
        self.note_curve(&curve, drive.cylinders);
        self.finding.moves = of.iter().map(|one| (one.distance, one.ms)).collect();
        let error_ms = curve.error_ms;
        drive.seek_ms = curve.points;
        let [_, covered] = geometry::covered_ms(drive, turn_ms);
        if let Some((_, first)) = drive.seek_ms.first_mut() {
            *first = within(*first, covered, error_ms);
        }
        self.head_switch(drive, reads, turn_ms);
        self.settle(drive, writes, by_writes, turn_ms);
        Ok(())
    }

    /// Says what was found at two distances, and where the curve is extrapolated.
    fn note_curve(&mut self, curve: &Curve, cylinders: u32) {
        let (first, last) = curve.measured;
        for (name, distance) in seek_points(cylinders) {
            let (ms, own) = curve.at(distance);
            let doubt = Doubt {
                error_ms: [
                    own.error_ms,
                    self.overhead.error_ms,
                    self.turn_error_ms / 2.0,
                ]
                .into_iter()
                .fold(0.0, libm::hypot),
                open_ms: own.open_ms + self.overhead.open_ms,
            };
            let (from, how) = match distance {
                _ if curve.tells(distance) => (
                    "measured",
                    "middle of the latencies by distance, less half a turn".to_owned(),
                ),
                _ if distance > last => (
                    "extrapolated",
                    format!(
                        "moves are measured up to {last} cylinders; from there on the curve goes on as a root and a line through all moves do"
                    ),
                ),
                _ => (
                    "extrapolated",
                    format!(
                        "moves are measured from {first} cylinders on; shorter ones go with the root of the distance"
                    ),
                ),
            };
            let plus_minus = Some(doubt.plus_minus_ms(0.0));
            self.finding
                .within(name, ms, "ms", plus_minus, curve.samples, &how);
            from.clone_into(&mut self.finding.of(name).from);
        }
        let far = cylinders - 1;
        let mut note = format!(
            "The seek curve is measured for moves over {first} to {last} cylinders, and extrapolated {}for longer ones, up to {far}.",
            if first > 1 {
                "for shorter ones and "
            } else {
                ""
            }
        );
        if f64::from(last) < FAR_SHARE * f64::from(far) {
            note += " Requests that are farther apart would tell the rest.";
        }
        self.finding.notes.push(note);
    }

    fn head_switch(&mut self, drive: &mut Parameters, reads: &[Wait], turn_ms: f64) {
        let switches: Vec<f64> = reads
            .iter()
            .filter(|wait| wait.cylinders == 0 && wait.other_head)
            .filter(|wait| wait.behind || drive.buffer.is_none())
            .map(|wait| wait.ms)
            .collect();
        match seek::single(&switches, turn_ms) {
            Some(ms) => {
                let by_chance = seek::centre_error_ms(turn_ms, switches.len());
                // What read-ahead has done meanwhile is not known, nor are all angles equally
                // frequent.
                let ahead = if drive.buffer.is_some() {
                    AHEAD_SHARE * turn_ms
                } else {
                    0.0
                };
                let error = libm::hypot(by_chance, ahead);
                let [covered, _] = geometry::covered_ms(drive, turn_ms);
                let ms = within(ms, covered, error);
                drive.head_switch_ms = ms;
                let how = "accesses back to another track of the same cylinder";
                let count = switches.len();
                let plus_minus = Some(self.overhead.plus_minus_ms(error));
                self.finding
                    .within("head_switch_ms", ms, "ms", plus_minus, count, how);
            }
            None => {
                let why = format!(
                    "accesses back to another track of the same cylinder are {}, and {} are needed",
                    switches.len(),
                    seek::GROUP_MIN
                );
                self.finding.take("head_switch_ms", self.base_name, &why);
            }
        }
    }

    fn settle(&mut self, drive: &mut Parameters, writes: &[Wait], by_writes: bool, turn_ms: f64) {
        let late: Vec<f64> = writes
            .iter()
            .filter(|wait| wait.cylinders > 0)
            .map(|wait| wait.ms - at_distance(&drive.seek_ms, wait.cylinders) - turn_ms / 2.0)
            .collect();
        let late_mean = mean(&late).filter(|_| late.len() >= 100);
        match late_mean {
            Some(_) if by_writes => {
                drive.write_settle_ms = 0.0;
                self.finding.notes.push(
                    "Most moves are those of writes: their settling is in the seek curve."
                        .to_owned(),
                );
            }
            Some(ms) => {
                drive.write_settle_ms = ms.max(0.0);
                let error = 0.29 * turn_ms / libm::sqrt(late.len() as f64);
                let how = "by how much writes take longer than reads over the same distance";
                let count = late.len();
                self.finding.measured(
                    "write_settle_ms",
                    ms.max(0.0),
                    "ms",
                    Some(error),
                    count,
                    how,
                );
            }
            None => {
                let why = "too few writes wait for the medium";
                self.finding.take("write_settle_ms", self.base_name, why);
            }
        }
    }

    /// Takes off the seek curve by how much the model is late on the fitted half: what overheads
    /// and bus add that the estimators do not separate.
    fn shift(
        &mut self,
        drive: &mut Parameters,
        samples: &[Sample],
        turn_ms: f64,
    ) -> Result<(), CalibrateError> {
        drive.check().map_err(CalibrateError::Drive)?;
        let blueprint = HddBlueprint::new(drive).map_err(CalibrateError::Drive)?;
        let model = latencies_ms(&mut *blueprint.drive(), samples);
        let late: Vec<f64> = self
            .fitted()
            .filter(|access| access.is_far(self.capacity) && access.sample.is_short())
            .filter(|access| access.sample.op == Op::Read)
            .map(|access| model[access.index] - access.sample.latency as f64 / 1e6)
            .collect();
        let Some(late_ms) = mean(&late) else {
            return Ok(());
        };
        // The difference of two uniform waits.
        let noise = turn_ms * libm::sqrt(1.0 / 6.0 / late.len() as f64);
        if late_ms.abs() > 2.0 * noise && late_ms.abs() < turn_ms / 4.0 {
            let [_, covered] = geometry::covered_ms(drive, turn_ms);
            let longer_ms = -late_ms;
            let none = move_curve(&mut drive.seek_ms, longer_ms, covered);
            for (name, distance) in seek_points(drive.cylinders) {
                self.finding.of(name).value = Some(at_distance(&drive.seek_ms, distance));
            }
            self.finding
                .notes
                .push(told_move(longer_ms, late.len(), none));
        }
        Ok(())
    }
}

/// Makes all seeks so much longer, or shorter if it is negative. Gives the longest distance that
/// takes no time then.
fn move_curve(seek_ms: &mut [(u32, f64)], longer_ms: f64, covered: f64) -> Option<u32> {
    let first = seek_ms[0].1;
    let below = seek_ms.partition_point(|(_, ms)| *ms + longer_ms < 0.0);
    for (_, ms) in seek_ms.iter_mut() {
        *ms = (*ms + longer_ms).max(0.0);
    }
    // What is added is no time of the arm: a switch that the skews cover stays covered.
    if first <= covered {
        seek_ms[0].1 = seek_ms[0].1.min(covered);
    }
    below.checked_sub(1).map(|last| seek_ms[last].0)
}

/// That seeks were made so much longer, in words.
fn told_move(longer_ms: f64, count: usize, none: Option<u32>) -> String {
    let (seeks, answers) = if longer_ms > 0.0 {
        ("longer", "sooner")
    } else {
        ("shorter", "later")
    };
    let ms = longer_ms.abs();
    let none = none.map_or_else(String::new, |distance| {
        format!(
            " Moves over up to {} take no time then.",
            counted(distance, "cylinder")
        )
    });
    format!(
        "All seek times are {ms:.3} ms {seeks} than the latencies by distance alone tell: without that the model answered the {count} long reads \
         of the fitted half {ms:.3} ms {answers} than measured, on average.{none}"
    )
}

/// The time of a switch, or the longest one that the skews cover if that is no more than two
/// standard errors less: a drive is laid out so that its switches are covered.
fn within(ms: f64, covered: f64, error: f64) -> f64 {
    if (covered..=covered + 2.0 * error).contains(&ms) {
        covered.max(0.0)
    } else {
        ms
    }
}

/// The points of the seek curve that are reported, by name and distance.
fn seek_points(cylinders: u32) -> [(&'static str, u32); 2] {
    [
        ("seek_ms, one third of the stroke", cylinders / 3),
        ("seek_ms, full stroke", cylinders - 1),
    ]
}

/// Where moves are measured up to less of the full stroke, longer ones would help.
const FAR_SHARE: f64 = 0.85;
/// By how much read-ahead blurs short moves, in turns.
const AHEAD_SHARE: f64 = 0.03;
/// Cylinders around the last access that may be in the buffer.
const NEAR_CYLINDERS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_answers_too_late_gets_shorter_seeks_and_words_that_say_so() {
        let moved = |longer_ms: f64| {
            let mut curve = vec![(1, 0.5), (10, 1.0), (100, 4.0)];
            let none = move_curve(&mut curve, longer_ms, 9.0);
            (curve, told_move(longer_ms, 300, none))
        };
        let (curve, text) = moved(0.25);
        assert_eq!(curve, [(1, 0.75), (10, 1.25), (100, 4.25)]);
        assert!(text.contains("are 0.250 ms longer than"), "{text}");
        assert!(
            text.contains("300 long reads of the fitted half 0.250 ms sooner than"),
            "{text}"
        );
        let (curve, text) = moved(-0.25);
        assert_eq!(curve, [(1, 0.25), (10, 0.75), (100, 3.75)]);
        assert!(text.contains("are 0.250 ms shorter than"), "{text}");
        assert!(text.contains("0.250 ms later than"), "{text}");
        assert!(!text.contains("no time"), "{text}");
        let (curve, text) = moved(-1.5);
        assert_eq!(curve, [(1, 0.0), (10, 0.0), (100, 2.5)]);
        assert!(
            text.ends_with("Moves over up to 10 cylinders take no time then."),
            "{text}"
        );
    }
}
