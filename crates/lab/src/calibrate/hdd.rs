//! A disk from its latencies: every estimator in turn, and the parameters that they come to.

use nearslot_core::contract::Blueprint;
use nearslot_core::drive::hdd::firmware::{OverheadParameters, ReadAhead, WriteBehind};
use nearslot_core::drive::hdd::seek::drawn_on;
use nearslot_core::drive::hdd::{HddBlueprint, Mechanics, Parameters};
use nearslot_core::request::Op;
use nearslot_core::units::Pba;

use super::electronics::{self, Electronics};
use super::numbers::{mean, median};
use super::replay::latencies_ms;
use super::rotation::{self, Rotation, Still};
use super::samples::{Access, Sample, alone, fitted};
use super::seek::{self, Move};
use super::{CalibrateError, Finding, geometry, zones};

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
/// Longer accesses cross tracks, and tell less of moves.
const LEN_MAX: u64 = 256;

/// What the estimators share.
struct Context<'a> {
    accesses: Vec<Access>,
    base_name: &'a str,
    capacity: u64,
    finding: Finding,
}

/// Fits a disk to the samples' fitted half.
pub(super) fn fit(
    samples: &[Sample],
    base: &Parameters,
    base_name: &str,
    capacity: u64,
) -> Result<FittedDisk, CalibrateError> {
    let accesses = alone(samples);
    if accesses.len() < ALONE_MIN {
        return Err(CalibrateError::TooFew {
            found: accesses.len(),
            what: "requests that found the drive idle, which a disk is calibrated by".to_owned(),
            needed: ALONE_MIN,
        });
    }
    let mut context = Context {
        accesses,
        base_name,
        capacity,
        finding: Finding::default(),
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
    context.shift(&mut drive, samples, turn_ms)?;
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
        let far = |access: &&Access| access.step().unsigned_abs() > self.capacity / 50;
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
                clean(access)
                    && access.sample.len <= LEN_MAX
                    && access.sample.latency as f64 >= least
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
        let mut drive = self.layout(base, turn_ms);
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
    fn layout(&mut self, base: &Parameters, turn_ms: f64) -> Parameters {
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
        let mut drive = geometry::scaled(base, self.capacity, sectors.as_deref());
        drive.rpm = 60_000.0 / turn_ms;
        drive
    }

    fn fill_electronics(&mut self, drive: &mut Parameters, found: &Electronics) {
        let name = self.base_name;
        if found.reads_ahead == Some(false) && found.writes_behind != Some(true) {
            (drive.buffer, drive.bus, drive.overheads) = (None, None, None);
            self.finding.notes.push(
                "No buffer is seen: reads that go on after a pause wait for the platter. The drive is described without one, and \
                 its command overhead is in the seek curve."
                    .to_owned(),
            );
            return;
        }
        if drive.buffer.is_none() {
            self.finding.take(
                "buffer",
                name,
                "which has none, so only arm and platters are modelled",
            );
            return;
        }
        self.fill_reads(drive, found);
        self.fill_writes(drive, found);
        self.finding
            .take("buffer segments", name, "the requests do not tell them");
    }

    fn fill_reads(&mut self, drive: &mut Parameters, found: &Electronics) {
        let name = self.base_name;
        let (Some(buffer), Some(hits)) = (&mut drive.buffer, &found.hits) else {
            let why = "too few reads go on where the one before ended, after a pause";
            self.finding
                .take("read-ahead, read overheads, bus", name, why);
            return;
        };
        if buffer.read_ahead == ReadAhead::None {
            buffer.read_ahead = ReadAhead::Blocks;
        }
        if let Some(blocks) = found.ahead_blocks {
            let most = buffer.segment_blocks.max(1);
            buffer.read_ahead_max_blocks = buffer.read_ahead_max_blocks.max(blocks).min(most);
            self.finding.measured(
                "read_ahead_max_blocks, at least",
                blocks as f64,
                "blocks",
                None,
                hits.samples,
                "reads a little ahead of the one before are answered at once",
            );
        }
        let overheads = drive.overheads.get_or_insert_default();
        let bus = drive.bus.get_or_insert_default();
        match hits.block_ms {
            Some(block) => {
                bus.read_ms_per_block = block;
                self.finding.measured(
                    "bus.read_ms_per_block",
                    block,
                    "ms",
                    Some(hits.block_error_ms),
                    hits.samples,
                    "times of reads from the buffer, by length",
                );
            }
            None => {
                let why = "all reads from the buffer are of one length";
                self.finding.take("bus.read_ms_per_block", name, why);
            }
        }
        let transfer = if hits.block_ms.is_some() {
            0.0
        } else {
            bus.read_ms_per_block
        };
        let overhead = (hits.overhead_ms - transfer * hits.blocks).max(0.0);
        set_read_overheads(overheads, overhead);
        self.finding.measured(
            "overheads of reads",
            overhead,
            "ms",
            Some(hits.error_ms),
            hits.samples,
            "times of reads from the buffer; what others need besides is in the seek curve",
        );
    }

    fn fill_writes(&mut self, drive: &mut Parameters, found: &Electronics) {
        let name = self.base_name;
        let Some(buffer) = &mut drive.buffer else {
            return;
        };
        match found.writes_behind {
            None => {
                let why = "too few writes, or neither quick nor slow";
                self.finding
                    .take("write-behind, write overheads", name, why);
                return;
            }
            Some(true) if buffer.write_behind == WriteBehind::None => {
                buffer.write_behind = WriteBehind::Any;
            }
            Some(true) => {}
            Some(false) => buffer.write_behind = WriteBehind::None,
        }
        self.finding.notes.push(format!(
            "Writes are answered {}.",
            if found.writes_behind == Some(true) {
                "from the buffer"
            } else {
                "when they are on the medium"
            }
        ));
        let overheads = drive.overheads.get_or_insert_default();
        if let Some(writes) = &found.writes {
            overheads.write_completion_ms = 0.0;
            overheads.write_disconnect_ms = 0.0;
            let bus = drive.bus.get_or_insert_default();
            let mut overhead = writes.overhead_ms;
            match writes.block_ms {
                Some(block) => bus.write_ms_per_block = block,
                // All were of one length, and the base's bus moves them.
                None => overhead = (overhead - bus.write_ms_per_block * writes.blocks).max(0.0),
            }
            overheads.write_after_read_ms = overhead;
            overheads.write_after_write_ms = overhead;
            self.finding.measured(
                "overheads of writes",
                overhead,
                "ms",
                Some(writes.error_ms),
                writes.samples,
                "times of writes that the buffer takes",
            );
        } else {
            let read = overheads.read_miss_after_read_ms;
            overheads.write_after_read_ms = read;
            overheads.write_after_write_ms = read;
        }
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
                && access.sample.len <= LEN_MAX
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
            let cylinders = from.place.band.abs_diff(to.place.band);
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
        self.finding.measured(
            SEEK_THIRD,
            at_distance(&curve.points, drive.cylinders / 3),
            "ms",
            Some(curve.error_ms),
            curve.samples,
            "middle of the latencies by distance, less half a turn",
        );
        self.finding.moves = of.iter().map(|one| (one.distance, one.ms)).collect();
        drive.seek_ms = drawn_on(curve.points, drive.cylinders);
        let [_, covered] = geometry::covered_ms(drive, turn_ms);
        if let Some((_, first)) = drive.seek_ms.first_mut() {
            *first = within(*first, covered, curve.error_ms);
        }
        self.head_switch(drive, reads, turn_ms);
        self.settle(drive, writes, by_writes, turn_ms);
        Ok(())
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
                // What read-ahead has done meanwhile is not known, nor are all angles equally frequent.
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
                self.finding
                    .measured("head_switch_ms", ms, "ms", Some(error), count, how);
            }
            None => {
                let why = format!(
                    "{} accesses go back to another track of the same cylinder; {} are needed",
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

    /// Takes off the seek curve by how much the model is late on the fitted half: what overheads and bus add that the estimators do
    /// not separate.
    fn shift(
        &mut self,
        drive: &mut Parameters,
        samples: &[Sample],
        turn_ms: f64,
    ) -> Result<(), CalibrateError> {
        drive.check().map_err(CalibrateError::Drive)?;
        let blueprint = HddBlueprint::new(drive).map_err(CalibrateError::Drive)?;
        let model = latencies_ms(&mut *blueprint.drive(), samples);
        let far = self.capacity / 50;
        let late: Vec<f64> = self
            .fitted()
            .filter(|access| access.step().unsigned_abs() > far && access.sample.len <= LEN_MAX)
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
            let first = drive.seek_ms[0].1;
            for (_, ms) in &mut drive.seek_ms {
                *ms = (*ms - late_ms).max(0.0);
            }
            // What is added is no time of the arm: a switch that the skews cover stays covered.
            if first <= covered {
                drive.seek_ms[0].1 = drive.seek_ms[0].1.min(covered);
            }
            self.finding
                .put(SEEK_THIRD, at_distance(&drive.seek_ms, drive.cylinders / 3));
            self.finding.notes.push(format!(
                "The seek curve was moved by {:.3} ms, the mean by which the model was off on the fitted half.",
                -late_ms
            ));
        }
        Ok(())
    }
}

/// The time of a switch, or the longest one that the skews cover if that is no more than two standard errors less: a drive is laid out so
/// that its switches are covered.
fn within(ms: f64, covered: f64, error: f64) -> f64 {
    if (covered..=covered + 2.0 * error).contains(&ms) {
        covered.max(0.0)
    } else {
        ms
    }
}

/// All that a read needs besides arm and bus, in one number.
fn set_read_overheads(overheads: &mut OverheadParameters, ms: f64) {
    overheads.command_ms = 0.0;
    overheads.read_completion_ms = 0.0;
    overheads.data_preparation_ms = 0.0;
    overheads.reselect_ms = 0.0;
    overheads.read_disconnect_after_read_ms = 0.0;
    overheads.read_disconnect_after_write_ms = 0.0;
    overheads.read_hit_after_read_ms = ms;
    overheads.read_hit_after_write_ms = ms;
    overheads.read_miss_after_read_ms = ms;
    overheads.read_miss_after_write_ms = ms;
}

/// The one point of the seek curve that is reported.
const SEEK_THIRD: &str = "seek_ms, one third of the stroke";
/// By how much read-ahead blurs short moves, in turns.
const AHEAD_SHARE: f64 = 0.03;
/// Cylinders around the last access that may be in the buffer.
const NEAR_CYLINDERS: u32 = 8;

/// The curve at a distance, on the line between its points.
fn at_distance(points: &[(u32, f64)], distance: u32) -> f64 {
    let right = points
        .partition_point(|(at, _)| *at < distance)
        .clamp(1, points.len() - 1);
    let ((d1, t1), (d2, t2)) = (points[right - 1], points[right]);
    t1 + (f64::from(distance) - f64::from(d1)) / f64::from(d2 - d1) * (t2 - t1)
}
