//! Disk drives with a moving arm: layout, mechanics, and the drive made of them.
//!
//! | Module | Decides |
//! |---|---|
//! | [`parameters`] | what a drive's file may say |
//! | [`layout`] | where every block lies (`runs`: among spare and defective sectors) |
//! | [`spindle`] | which angle is under the heads when |
//! | [`seek`] | how long the arm moves |
//! | [`mech`] | what an access to the medium costs |
//! | [`firmware`] | what a drive's file may say of its electronics |
//! | `buffer` | which segment of the on-board buffer holds what |
//! | `access` | where the arm is in an access, sector by sector |
//! | `controller` | how a command runs between bus, buffer and arm |
//! | `slots` | where slots for eager writes lie, and which one passes |
//!
//! Drive and oracles share one immutable [`Mechanics`]; each has its own idea of where the heads
//! stand. Source: DiskSim 4.0's disk model as the reference tables state it. Costs about 30 ns a
//! command.

use std::sync::Arc;

use self::complete::{CompleteDrive, CompleteOracle};
use self::firmware::{Firmware, WriteBehind};
use super::cache::{self, CACHE};
use super::protection::PROTECTION;
use super::{Kind, queued, zoned};
use crate::contract::{Arm, Blueprint, Drive, Geometry, Oracle};
use crate::freemap::{FreeMap, Room, Tracks, Uncountable};
use crate::io::{Command, DriveDone, Unwritten, WriteCache};
use crate::offer::Legal;
use crate::op::{Cost, Op, Status};
use crate::position::{
    ArmPosition, Arrival, Candidate, Choice, FreePlace, Landing, Place, Predicted, Search,
};
use crate::registry::{ConfigError, Knob, Knobs};
use crate::search;
use crate::sorted::Sorted;
use crate::units::{Angle, Blocks, Duration, Instant, Pba};

mod access;
mod buffer;
mod complete;
mod controller;
pub mod firmware;
mod geometry;
pub mod layout;
pub mod mech;
pub mod parameters;
mod runs;
pub mod seek;
mod slots;
pub mod spindle;

pub use mech::Mechanics;
pub use parameters::Parameters;

/// A disk drive before it runs.
#[derive(Clone, Debug)]
pub struct HddBlueprint {
    mechanics: Arc<Mechanics>,
    /// Of every command of a mechanical drive, before it moves.
    overhead: Duration,
    /// None if only the mechanics are modelled.
    firmware: Option<Arc<Firmware>>,
}

impl HddBlueprint {
    /// From checked parameters: with buffer, bus and overheads if they describe them.
    ///
    /// # Errors
    /// Parameters that contradict each other.
    pub fn new(parameters: &Parameters) -> Result<HddBlueprint, ConfigError> {
        let firmware = parameters.firmware()?.map(Arc::new);
        Ok(HddBlueprint {
            firmware,
            ..HddBlueprint::mechanical(parameters)?
        })
    }

    /// From checked parameters: arm and platters only.
    ///
    /// # Errors
    /// Parameters that contradict each other.
    pub fn mechanical(parameters: &Parameters) -> Result<HddBlueprint, ConfigError> {
        parameters.check()?;
        Ok(HddBlueprint {
            mechanics: Arc::new(Mechanics::new(parameters)?),
            overhead: Duration::ZERO,
            firmware: None,
        })
    }

    /// From mechanics and electronics that exist already: for tools that vary one of them.
    pub fn complete(mechanics: Arc<Mechanics>, firmware: Arc<Firmware>) -> HddBlueprint {
        HddBlueprint {
            mechanics,
            overhead: Duration::ZERO,
            firmware: Some(firmware),
        }
    }

    fn read(table: &toml::Table, knobs: &Knobs) -> Result<HddBlueprint, ConfigError> {
        let mut parameters = Parameters::read(table)?;
        if knobs.choice("layout") == "ideal" {
            parameters = parameters.ideal();
        }
        let cache = HddBlueprint::choose_cache(&mut parameters, knobs)?;
        let mut blueprint = match knobs.choice("model") {
            "mechanical" => HddBlueprint::mechanical(&parameters).map_err(ConfigError::of_file),
            "complete" if parameters.buffer.is_none() => {
                let allowed = "mechanical, as the drive's file has no [buffer]";
                Err(ConfigError::value("model", "complete", allowed))
            }
            _ => HddBlueprint::new(&parameters).map_err(ConfigError::of_file),
        }?;
        if blueprint.firmware.is_some() {
            let allowed =
                "left out, or model = mechanical beside it, as the drive's file has its overheads";
            knobs.check_idle([&OVERHEAD].into_iter(), allowed)?;
        }
        blueprint.overhead = Duration::from_ms_f64(knobs.number(OVERHEAD.name));
        if let (WriteCache::Protected, Some(firmware)) = (cache, &mut blueprint.firmware) {
            *firmware = Arc::new(Firmware::clone(firmware).protected());
        }
        Ok(blueprint)
    }

    /// The cache in effect: a drive that can acknowledge writes from its buffer need not.
    fn choose_cache(parameters: &mut Parameters, knobs: &Knobs) -> Result<WriteCache, ConfigError> {
        let mechanical = knobs.choice("model") == "mechanical";
        let Some(buffer) = parameters.buffer.as_mut().filter(|_| !mechanical) else {
            let why = "as only arm and platters are modelled";
            return cache::chosen(knobs, &[WriteCache::Off], why);
        };
        if buffer.write_behind == WriteBehind::None {
            let why = "as the drive's file says write_behind = none";
            return cache::chosen(knobs, &[WriteCache::Off], why);
        }
        let all = [WriteCache::Volatile, WriteCache::Off, WriteCache::Protected];
        let cache = cache::chosen(knobs, &all, "which a drive that writes behind may have")?;
        if cache == WriteCache::Off {
            buffer.end_on_medium();
        }
        Ok(cache)
    }

    /// An oracle with the drive's true parameters.
    fn oracle(&self) -> Box<dyn Arm> {
        let mechanics = Arc::clone(&self.mechanics);
        match &self.firmware {
            Some(firmware) => Box::new(CompleteOracle::new(mechanics, Arc::clone(firmware))),
            None => Box::new(ExactOracle {
                arm: self.mechanics.start(),
                mechanics,
                overhead: self.overhead,
                started: None,
            }),
        }
    }

    /// What drive and oracles share.
    pub fn mechanics(&self) -> &Arc<Mechanics> {
        &self.mechanics
    }
}

impl Blueprint for HddBlueprint {
    fn capacity(&self) -> Blocks {
        self.mechanics.layout().capacity()
    }

    fn cache(&self) -> WriteCache {
        let firmware = self.firmware.as_ref();
        firmware.map_or(WriteCache::Off, |firmware| firmware.cache())
    }

    fn drive(&self) -> Box<dyn Drive> {
        let mechanics = Arc::clone(&self.mechanics);
        match &self.firmware {
            Some(firmware) => Box::new(CompleteDrive::new(mechanics, Arc::clone(firmware))),
            None => Box::new(HddDrive {
                arm: self.mechanics.start(),
                mechanics,
                overhead: self.overhead,
                running: None,
            }),
        }
    }

    fn exact(&self) -> Box<dyn Oracle> {
        self.oracle()
    }

    fn exact_arm(&self) -> Option<Box<dyn Arm>> {
        Some(self.oracle())
    }

    fn turned(&self, by: Angle) -> Box<dyn Blueprint> {
        let mut turned = self.clone();
        turned.mechanics = Arc::new(self.mechanics.turned(by));
        Box::new(turned)
    }

    fn resting(&self, at: Pba) -> Box<dyn Blueprint> {
        let mut resting = self.clone();
        resting.mechanics = Arc::new(self.mechanics.resting(at));
        Box::new(resting)
    }

    fn geometry(&self) -> Option<Arc<dyn Geometry>> {
        Some(Arc::clone(&self.mechanics) as Arc<dyn Geometry>)
    }

    fn revolution(&self) -> Option<Duration> {
        Some(self.mechanics.spindle().revolution())
    }

    fn room(&self, slot: Blocks) -> Room {
        slots::room(&self.mechanics, slot)
    }

    fn tracks(&self, slot: Blocks) -> Result<Tracks, Uncountable> {
        slots::tracks(&self.mechanics, slot)
    }
}

/// Pure mechanics: no buffer, one overhead for all commands. Rests where a command left it.
struct HddDrive {
    mechanics: Arc<Mechanics>,
    overhead: Duration,
    arm: ArmPosition,
    running: Option<(Instant, DriveDone)>,
}

impl HddDrive {
    /// What a command costs and where it leaves the heads.
    fn carry_out(&self, now: Instant, command: &Command) -> (Cost, ArmPosition) {
        let Command { op, at, len, .. } = *command;
        let overhead = self.overhead;
        match op {
            Op::Read | Op::Write => {
                let media = self.mechanics.access(now + overhead, self.arm, op, at, len);
                let cost = Cost {
                    overhead,
                    ..media.cost
                };
                (cost, media.arm)
            }
            Op::Seek => {
                let to = self.mechanics.layout().spot(at).arm_position();
                let cost = Cost {
                    overhead,
                    seek: self.mechanics.movement(self.arm, to, op),
                    ..Cost::default()
                };
                (cost, to)
            }
            // Nothing is buffered: all that a flush takes is that the command is processed.
            Op::Flush => {
                let cost = Cost {
                    overhead,
                    ..Cost::default()
                };
                (cost, self.arm)
            }
            // No map is kept.
            Op::Discard => (Cost::default(), self.arm),
        }
    }
}

impl Drive for HddDrive {
    fn submit(&mut self, now: Instant, command: &Command) {
        assert!(self.running.is_none(), "the drive is busy");
        let (cost, arm) = self.carry_out(now, command);
        self.arm = arm;
        let done = DriveDone {
            arm: Some(arm),
            ..command.ends(Status::Done, cost)
        };
        self.running = Some((now + cost.total(), done));
    }

    fn next_event(&self) -> Option<Instant> {
        self.running.map(|(due, _)| due)
    }

    fn advance(&mut self, now: Instant) -> Option<DriveDone> {
        let (_, done) = self.running.take_if(|(due, _)| *due <= now)?;
        Some(done)
    }

    /// Nothing: a write ends on the medium.
    fn volatile(&self, _now: Instant, _out: &mut Vec<Unwritten>) {}
}

/// Knows the drive's parameters and computes what the drive will do.
struct ExactOracle {
    mechanics: Arc<Mechanics>,
    overhead: Duration,
    arm: ArmPosition,
    /// Last block of the command under way.
    started: Option<Pba>,
}

impl Oracle for ExactOracle {
    fn locate(&self, at: Pba) -> Place {
        self.mechanics.layout().spot(at).place
    }

    fn positioning_time(&self, now: Instant, op: Op, place: &Place, _len: Blocks) -> Duration {
        let begin = now + self.overhead;
        self.overhead + self.mechanics.positioning_time(begin, self.arm, op, place)
    }

    fn service_time(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Duration {
        self.predict(now, op, at, len).end.since(now)
    }

    fn nearest(&self, now: Instant, waiting: &Sorted<Candidate>) -> Option<Choice> {
        search::nearest(self, now, waiting)
    }

    fn nearest_free(&self, search: &Search, free: &FreeMap) -> Option<FreePlace> {
        search::free::by_track(self, search, free)
    }

    fn nearest_offered(&self, now: Instant, before: Instant, legal: &Legal<'_>) -> Option<Landing> {
        search::offered::by_track(self, &*self.mechanics, (now, before), legal)
    }

    fn arm(&self) -> Option<&dyn Arm> {
        Some(self)
    }

    fn started(&mut self, _now: Instant, command: &Command) {
        self.started = match command.op {
            Op::Read | Op::Write => Some(Pba(command.at.0 + command.len.0 - 1)),
            Op::Seek => Some(command.at),
            Op::Flush | Op::Discard => None,
        };
    }

    fn observed(&mut self, _now: Instant, done: &DriveDone) {
        let last = self.started.take();
        let expected = || last.map(|last| self.mechanics.layout().spot(last).arm_position());
        if let Some(arm) = done.arm.or_else(expected) {
            self.arm = arm;
        }
    }
}

impl Arm for ExactOracle {
    fn position(&self) -> ArmPosition {
        self.arm
    }

    fn geometry(&self) -> Option<&dyn Geometry> {
        Some(&*self.mechanics)
    }

    fn seek_at_least(&self, distance: u32) -> Duration {
        self.overhead + self.mechanics.seek_at_least(distance)
    }

    fn seek_time(&self, _now: Instant, op: Op, to: ArmPosition, _len: Blocks) -> Duration {
        self.overhead + self.mechanics.movement(self.arm, to, op)
    }

    fn predict(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Predicted {
        let begin = now + self.overhead;
        let media = self.mechanics.access(begin, self.arm, op, at, len);
        Predicted {
            end: begin + media.cost.total(),
            arm: media.arm,
        }
    }

    fn positioning_time_after(&self, access: &Predicted, op: Op, place: &Place) -> Duration {
        let begin = access.end + self.overhead;
        self.overhead
            + self
                .mechanics
                .positioning_time(begin, access.arm, op, place)
    }

    fn seek_at_least_after(&self, distance: u32) -> Duration {
        self.seek_at_least(distance)
    }

    fn angle_on_arrival(
        &self,
        now: Instant,
        late: i64,
        to: ArmPosition,
        len: Blocks,
    ) -> Option<Arrival> {
        let arrives = now + self.seek_time(now, Op::Write, to, len);
        Some(self.mechanics.arrival(arrives, late))
    }
}

const OVERHEAD: Knob = Knob::number(
    "overhead_ms",
    0.0,
    0.0..=1_000.0,
    "model = mechanical: what every command takes before it moves the arm",
);

pub(super) static KIND: Kind = Kind {
    name: "hdd",
    summary: "a disk with a moving arm: zones, skews, defects, measured seek curve, rotation",
    source: "DiskSim 4.0 (Bucy, Ganger and others, Carnegie Mellon University, 2008), its disk model",
    knobs: &[
        Knob::choice(
            "model",
            "auto",
            &["auto", "complete", "mechanical"],
            "complete: with buffer, bus and overheads; mechanical: arm and platters only; auto: complete if the \
             drive's file has a [buffer]",
        ),
        OVERHEAD,
        Knob::choice(
            "layout",
            "real",
            &["real", "ideal"],
            "ideal leaves out spare and defective sectors",
        ),
        CACHE,
        PROTECTION,
        Knob::integer(
            queued::DEPTH_KNOB,
            1,
            1..=queued::DEPTH_MAX,
            "commands that the drive holds and sorts by itself; 1 is a drive without a queue; the default is what the drive's file says, if it \
             says so",
        ),
        queued::SCHED_KNOB,
        zoned::ZONE_BLOCKS,
        zoned::CAPACITY,
        zoned::CONVENTIONAL,
        zoned::APPEND_MAX,
        zoned::RESET,
    ],
    measures: &[],
    read: |table, knobs| Ok(Box::new(HddBlueprint::read(table, knobs)?)),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::IoId;

    /// 6,000 turns a minute, a turn is 10 ms; 10 sectors a track, 1 ms each; 2 heads, 3 cylinders;
    /// a track skew of 2 sectors, a cylinder skew of 3.
    fn drive(settle_ms: f64) -> HddBlueprint {
        let text = format!(
            "kind = 'hdd'
            rpm = 6000
            heads = 2
            cylinders = 3
            head_switch_ms = 0.5
            write_settle_ms = {settle_ms}
            sparing = {{ at = 'zone-end' }}
            seek_ms = [[1, 2.0], [2, 2.5]]
            [[zones]]
            cylinders = [0, 2]
            sectors_per_track = 10
            track_skew_sectors = 2
            cylinder_skew_sectors = 3
            spares = 5
            slips = [25]
            remaps = [[43, 58]]"
        );
        HddBlueprint::new(&Parameters::read(&text.parse().unwrap()).unwrap()).unwrap()
    }

    const HOME: ArmPosition = ArmPosition {
        cylinder: 0,
        surface: 0,
    };

    fn access(now_us: u64, op: Op, at: u64, len: u64) -> Cost {
        let now = Instant(now_us * 1_000);
        drive(0.25)
            .mechanics()
            .access(now, HOME, op, Pba(at), Blocks(len))
            .cost
    }

    /// Microseconds of seek, rotation and transfer; a time rounded down to 2999.999 counts as 3000.
    fn us(cost: Cost) -> [u64; 3] {
        [cost.seek, cost.rotation, cost.transfer].map(|span| (span.0 + 10) / 1_000)
    }

    #[test]
    fn a_read_on_the_track_waits_for_its_angle() {
        assert_eq!(us(access(0, Op::Read, 3, 2)), [0, 3_000, 2_000]);
        assert_eq!(us(access(3_000, Op::Read, 3, 2)), [0, 0, 2_000]);
        assert_eq!(us(access(3_001, Op::Read, 3, 2)), [0, 9_999, 2_000]);
    }

    #[test]
    fn a_switch_costs_and_a_write_settles() {
        // Block 10: track 1, angle 0.2 turns.
        assert_eq!(us(access(0, Op::Read, 10, 1)), [500, 1_500, 1_000]);
        assert_eq!(us(access(0, Op::Write, 10, 1)), [750, 1_250, 1_000]);
        // Block 20: cylinder 1, head 0, angle 0.5; the move takes 2 ms whatever the head.
        assert_eq!(us(access(0, Op::Write, 20, 1)), [2_250, 2_750, 1_000]);
        // No move, no settle.
        assert_eq!(us(access(0, Op::Write, 0, 1)), [0, 0, 1_000]);
    }

    #[test]
    fn crossing_to_the_next_track_is_transfer() {
        // Blocks 8 and 9 pass until 10 ms, the switch takes 0.5 ms, block 10 comes by at 12 ms.
        assert_eq!(us(access(0, Op::Read, 8, 3)), [0, 8_000, 5_000]);
    }

    #[test]
    fn a_skipped_sector_passes_under_the_head() {
        // Cylinder 1 begins at angle 0.5. Its sectors 4 and 6 hold blocks 24 and 25: sector 5 is
        // skipped.
        assert_eq!(us(access(0, Op::Read, 24, 2)), [2_000, 7_000, 3_000]);
    }

    #[test]
    fn a_remapped_sector_is_visited() {
        // Blocks 41, 42, 43 lie at positions 42, 58, 44: cylinder 2, head 0, sectors 2 and 4; head
        // 1, sector 8. Cylinder 2 begins at 0.5 + 0.2 + 0.3 = 1.0 turns, its second track at 1.2
        // turns. Seek until 2.5; sector 2 begins at 12 ms; head 1 at 13.5, sector 8 begins at 20
        // ms; head 0 at 21.5, sector 4 begins at 24 ms.
        assert_eq!(us(access(0, Op::Read, 41, 3)), [2_500, 9_500, 13_000]);
    }

    #[test]
    fn back_to_back_requests_stream() {
        let mechanics = Arc::clone(drive(0.0).mechanics());
        let (mut now, mut arm) = (Instant::ZERO, HOME);
        for at in 0..25 {
            let media = mechanics.access(now, arm, Op::Read, Pba(at), Blocks(1));
            now += media.cost.total();
            arm = media.arm;
        }
        // 25 sectors, two switches of 2 sectors and one of 3 behind track 1: 20 sectors, then
        // cylinder 1.
        let expected = 25_000_000 + 2_000_000 + 3_000_000;
        assert!(now.0.abs_diff(expected) < 100, "{now}");
    }

    #[test]
    fn the_drive_completes_when_the_oracle_says() {
        let blueprint = drive(0.25);
        let (mut drive, mut oracle) = (blueprint.drive(), blueprint.exact());
        let mut now = Instant(12_345);
        for (at, op) in [
            (3, Op::Read),
            (30, Op::Write),
            (11, Op::Write),
            (42, Op::Read),
        ] {
            let place = oracle.locate(Pba(at));
            let expected = oracle.positioning_time(now, op, &place, Blocks(1));
            let command = Command {
                io: IoId(1),
                op,
                at: Pba(at),
                len: Blocks(1),
                fua: false,
            };
            drive.submit(now, &command);
            oracle.started(now, &command);
            now = drive.next_event().unwrap();
            let mut done = drive.advance(now).unwrap();
            assert_eq!(done.cost.seek + done.cost.rotation, expected);
            // An oracle that is not told knows all the same.
            done.arm = None;
            oracle.observed(now, &done);
            assert_eq!(drive.next_event(), None);
        }
    }

    #[test]
    fn seek_moves_the_arm_and_flush_does_nothing() {
        let mut drive = drive(0.25).drive();
        let mut run = |op, at| {
            let command = Command {
                io: Command::ARM,
                op,
                at: Pba(at),
                len: Blocks(0),
                fua: false,
            };
            drive.submit(Instant::ZERO, &command);
            drive.advance(Instant(10_000_000)).unwrap()
        };
        assert_eq!(us(run(Op::Seek, 40).cost), [2_500, 0, 0]);
        assert_eq!(run(Op::Flush, 0).cost, Cost::default());
        assert_eq!(us(run(Op::Seek, 40).cost), [0, 0, 0]);
    }

    #[test]
    fn a_negative_settle_shortens_writes_but_not_below_nothing() {
        let mechanics = Arc::clone(drive(-0.3).mechanics());
        let to = mechanics.layout().spot(Pba(10)).arm_position();
        assert_eq!(
            mechanics.movement(HOME, to, Op::Write),
            Duration::from_us(200)
        );
        assert_eq!(mechanics.seek_at_least(1), Duration::from_us(1_700));
        let text = "kind='hdd'\nrpm=6000\nheads=2\ncylinders=3\nhead_switch_ms=0.5\nwrite_settle_ms=-0.6\n\
                    seek_ms=[[1,2.0],[2,2.5]]\n[[zones]]\ncylinders=[0,2]\nsectors_per_track=10";
        let parameters = Parameters::read(&text.parse().unwrap()).unwrap();
        let error = HddBlueprint::new(&parameters).unwrap_err();
        assert!(
            error.to_string().starts_with("write_settle_ms = -0.6"),
            "{error}"
        );
    }
}
