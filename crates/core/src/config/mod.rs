//! From names to parts: the only module that knows all kinds.
//!
//! All mistakes are found here, before anything runs.

mod memory;
mod part;
mod parts;
mod queue;
mod zones;

use std::sync::Arc;

use crate::contract::{Blueprint, Claims, Drive, Faults, Merging, Oracle, Placement, Scheduler};
use crate::drive::oracle::unasked;
use crate::drive::queued::DEPTH_KNOB;
use crate::drive::{self, faulty, protection, zoned};
use crate::ids::DriveId;
use crate::registry::{
    ConfigError, DriveEnv, FaultsEnv, Forgetful, Kind, KnobValue, Knobs, Memo, Names, Survivors,
    VolumeEnv, VolumeError,
};
use crate::rng::Rng;
use crate::stack::{Lane, Stack};
use crate::units::Angle;

pub use memory::is_lru_but_for_sequences;
pub use part::PartConfig;
pub use parts::{KINDS, Kinds, Parts, StackKind};

/// A drive to model: the name and text of its file, and settings on top.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveConfig {
    /// Name and knobs, as given.
    pub part: PartConfig,
    /// TOML, from the catalog or from the user.
    pub text: String,
}

/// Everything a stack is made of, as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct StackConfig {
    /// The drive below; all drives of an array are of this kind.
    pub drive: DriveConfig,
    /// A part of every kind.
    pub parts: Parts,
    /// Seeds everything random.
    pub seed: u64,
    /// Whether the load makes range writes: whatever schedules them, the oracle is asked where they
    /// begin first.
    pub offered: bool,
    /// Volumes of clients in its address space, of equal size and one behind the other. What is in
    /// memory is cut by them, so that no page has blocks of two.
    pub volumes: u64,
}

/// A stack and the drives it was configured for, ready for a loop.
pub struct Assembly {
    /// The decisions.
    pub stack: Stack,
    /// Models of its drives, by drive id.
    pub drives: Vec<Box<dyn Drive>>,
    /// What is known of them.
    pub blueprint: Box<dyn Blueprint>,
    /// The configuration as it was given.
    pub given: StackConfig,
    /// The same with every default spelled out, to be told: where nothing is left out, all counts
    /// as given, so it is not to be built.
    pub effective: StackConfig,
}

impl StackConfig {
    /// The default of every kind over a drive.
    pub fn over(drive: DriveConfig, seed: u64) -> StackConfig {
        StackConfig {
            drive,
            parts: Parts::default(),
            seed,
            offered: false,
            volumes: 1,
        }
    }

    /// The same with another part of a kind.
    #[must_use]
    pub fn with<K: Kind + ?Sized>(mut self, part: PartConfig) -> StackConfig {
        *self.parts.of_mut::<K>() = part;
        self
    }

    /// Checks every name and every knob, without building anything that takes long.
    ///
    /// # Errors
    /// The first mistake found. What contradicts each other or the drive, [`StackConfig::build`]
    /// finds.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (blueprint, _) = self.blueprint()?;
        self.parts.spelled_out()?;
        zones::check(self, &*blueprint)?;
        self.in_memory()?;
        self.in_buffer()?;
        Ok(())
    }

    /// Checks everything and builds it.
    ///
    /// # Errors
    /// The first mistake found.
    pub fn build(&self) -> Result<Assembly, ConfigError> {
        self.build_with(&Forgetful)
    }

    /// The same, with preparations that other builds made too.
    ///
    /// # Errors
    /// The first mistake found.
    pub fn build_with(&self, memo: &dyn Memo) -> Result<Assembly, ConfigError> {
        self.assemble(memo, None, false)
            .map_err(VolumeError::of_new)
    }

    /// The same as constant pressure has left it: the write caches of its drives are full. Faults
    /// that begin at an instant of their own never do.
    ///
    /// # Errors
    /// The first mistake found.
    pub fn build_under_pressure(&self, memo: &dyn Memo) -> Result<Assembly, ConfigError> {
        self.assemble(memo, None, true).map_err(VolumeError::of_new)
    }

    /// A stack that goes on where an earlier one of the same configuration ended.
    ///
    /// # Errors
    /// The first mistake found; what survived is damaged, newer, or another volume's.
    pub fn recover(&self, survivors: &dyn Survivors) -> Result<Assembly, VolumeError> {
        self.assemble(&Forgetful, Some(survivors), false)
    }

    /// `is_pressed`: as [`StackConfig::build_under_pressure`] says.
    fn assemble(
        &self,
        memo: &dyn Memo,
        survivors: Option<&dyn Survivors>,
        is_pressed: bool,
    ) -> Result<Assembly, VolumeError> {
        let (blueprint, drive_knobs) = self.blueprint_of(is_pressed)?;
        zones::check(self, &*blueprint)?;
        let protected = protection::is_on(&drive_knobs);
        let effective = self.effective(&*blueprint, &drive_knobs)?;
        let identity = self.identity(&drive_knobs);
        let place = self.parts.of::<dyn Placement>();
        let placement = place.build::<dyn Placement>(&VolumeEnv {
            seed: self.seed,
            label: "place",
            names: self.names(),
            blueprint: &*blueprint,
            identity: &identity,
            memo,
            survivors,
        })?;
        let count = placement.shape().drives;
        let faults = self.faults_seen(count, &*blueprint, is_pressed)?;
        self.check_protection(protected, count, &*blueprint)?;
        let (mut lanes, mut drives) = (Vec::new(), Vec::new());
        for index in 0..count {
            let mut turned = blueprint.turned(self.phase(index));
            let free = placement.free(DriveId(index));
            if let Some(at) = free.and_then(|free| free.left().at) {
                turned = turned.resting(at);
            }
            let wrap = |drive| faulty::around(drive, &faults, DriveId(index), protected);
            let stream = format!("drive/{index}/service");
            let drive = turned.wrapped(self.seed, &stream, &wrap);
            let has_arm = turned.exact_arm().is_some();
            if drive.depth() > 1 && has_arm && free.is_some() {
                return Err(queue::no_open_addresses(drive.depth(), place).into());
            }
            let lane = self.lane(&*turned, index, &*drive)?;
            let listed = (placement.shape().places, lane.scheduler.places_max());
            queue::check_listed(&self.parts.of::<dyn Scheduler>().name, listed)?;
            lanes.push(lane);
            drives.push(drive);
        }
        let memory = self.memory(&placement.shape(), survivors)?;
        let claims = self.parts.of::<Claims>().build::<Claims>(&())?;
        let stack = Stack::new(placement, lanes).with_claims(&claims);
        Ok(Assembly {
            stack: match memory {
                Some(memory) => stack.with_memory(memory),
                None => stack,
            },
            drives,
            given: self.clone(),
            effective,
            blueprint,
        })
    }

    /// Checks that protected sectors see something of what goes wrong on so many drives, also where
    /// not all of it happens.
    fn check_protection(
        &self,
        is_on: bool,
        drives: u16,
        blueprint: &dyn Blueprint,
    ) -> Result<(), ConfigError> {
        match is_on {
            true => protection::check(&*self.faults(drives, blueprint)?, drives),
            false => Ok(()),
        }
    }

    /// What messages call the placement and the drives.
    fn names(&self) -> Names<'_> {
        Names {
            place: &self.parts.of::<dyn Placement>().name,
            drive: &self.drive.part.name,
        }
    }

    /// The configuration with every default spelled out, over a drive with these knobs.
    fn effective(
        &self,
        blueprint: &dyn Blueprint,
        knobs: &Knobs,
    ) -> Result<StackConfig, ConfigError> {
        let DriveConfig { part: named, text } = &self.drive;
        let mut part = PartConfig::effective(&named.name, knobs);
        // Whatever was asked for, a result says what there was.
        for (_, value) in part.knobs.iter_mut().filter(|(key, _)| key == "cache") {
            *value = KnobValue::Text(blueprint.cache().name().to_owned());
        }
        for (_, value) in part.knobs.iter_mut().filter(|(key, _)| key == DEPTH_KNOB) {
            *value = KnobValue::Integer(blueprint.depth().into());
        }
        let protected = protection::is_on(knobs);
        let zoned = zoned::is_on(knobs);
        let of_zones = |key: &str| zoned::KNOBS.iter().any(|knob| knob.name == key);
        part.knobs.retain(|(key, _)| {
            (protected || key != protection::PROTECTION.name) && (zoned || !of_zones(key))
        });
        Ok(StackConfig {
            drive: DriveConfig {
                part,
                text: text.clone(),
            },
            parts: self.parts.spelled_out()?,
            seed: self.seed,
            offered: self.offered,
            volumes: self.volumes,
        })
    }

    /// What is known of the drive, and everything that this was made of, in words.
    ///
    /// # Errors
    /// What is wrong with the drive.
    pub fn drive(&self) -> Result<(Box<dyn Blueprint>, String), ConfigError> {
        let (blueprint, knobs) = self.blueprint()?;
        let identity = self.identity(&knobs);
        Ok((blueprint, identity))
    }

    fn identity(&self, knobs: &Knobs) -> String {
        format!("{:?} {}", knobs.iter().collect::<Vec<_>>(), self.drive.text)
    }

    /// What is known of the drive, with its queue around it, and its knobs with every default
    /// spelled out.
    fn blueprint(&self) -> Result<(Box<dyn Blueprint>, Knobs), ConfigError> {
        let DriveConfig { part, text } = &self.drive;
        let read = drive::read(&part.name, text, &part.knobs);
        let (blueprint, knobs) = read.map_err(|error| queue::of_scheduler(error, part))?;
        let blueprint = queue::around(&part.name, blueprint, &knobs, self.seed)?;
        Ok((blueprint, knobs))
    }

    /// The same of a drive as constant pressure has left it, if it is so.
    fn blueprint_of(&self, is_pressed: bool) -> Result<(Box<dyn Blueprint>, Knobs), ConfigError> {
        let (blueprint, knobs) = self.blueprint()?;
        Ok(match is_pressed {
            true => (blueprint.pressed(), knobs),
            false => (blueprint, knobs),
        })
    }

    /// The queue of a drive.
    fn lane(
        &self,
        blueprint: &dyn Blueprint,
        index: u16,
        drive: &dyn Drive,
    ) -> Result<Lane, ConfigError> {
        Ok(Lane {
            scheduler: self.on_drive::<dyn Scheduler>(blueprint, index)?,
            oracle: match self.offered || self.parts.ask(<dyn Oracle>::CARD.key)? {
                true => self.on_drive::<dyn Oracle>(blueprint, index)?,
                false => unasked(self.on_drive::<dyn Oracle>(blueprint, index)?),
            },
            capacity: blueprint.capacity(),
            depth: drive.depth(),
            lands: drive.lands(),
            zones: blueprint.zones(),
            merging: *self.on_drive::<Merging>(blueprint, index)?,
        })
    }

    /// What goes wrong on so many drives.
    ///
    /// # Errors
    /// There are no such faults, or they cannot happen on these drives.
    pub fn faults(
        &self,
        drives: u16,
        blueprint: &dyn Blueprint,
    ) -> Result<Arc<dyn Faults>, ConfigError> {
        let faults = self.parts.of::<dyn Faults>();
        let faults = faults.build::<dyn Faults>(&FaultsEnv {
            seed: self.seed,
            label: "faults",
            drives,
            capacity: blueprint.capacity(),
        })?;
        Ok(faults.into())
    }

    /// Those of them that happen, `before` those that begin at an instant of their own.
    fn faults_seen(
        &self,
        drives: u16,
        blueprint: &dyn Blueprint,
        before: bool,
    ) -> Result<Arc<dyn Faults>, ConfigError> {
        let all = self.faults(drives, blueprint)?;
        let outset = all.at_outset().filter(|_| before);
        Ok(outset.map_or(all, Arc::from))
    }

    /// The part of a kind of which every drive has its own.
    fn on_drive<K: for<'a> Kind<Env<'a> = DriveEnv<'a>, Error = ConfigError> + ?Sized>(
        &self,
        blueprint: &dyn Blueprint,
        drive: u16,
    ) -> Result<Box<K>, ConfigError> {
        let label = &format!("{}/{drive}", K::CARD.key);
        self.parts.of::<K>().build::<K>(&DriveEnv {
            seed: self.seed,
            label,
            blueprint,
        })
    }

    /// How far a drive's platters are turned at the beginning. The first one's stand as its file
    /// says.
    fn phase(&self, drive: u16) -> Angle {
        let random = || Rng::stream(self.seed, &format!("drive/{drive}")).bits() >> 32;
        Angle(if drive == 0 { 0 } else { random() as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Destage;
    use crate::ids::IoId;
    use crate::io::Command;
    use crate::op::Op;
    use crate::units::{Blocks, Instant, Pba};

    #[test]
    fn what_is_wrong_with_a_write_buffer_is_told() {
        let error = |buffer: &str| {
            let drive = DriveConfig {
                part: PartConfig::named("null"),
                text: drive::catalog_text("null").unwrap().to_owned(),
            };
            let buffer = buffer.parse().unwrap();
            let config = StackConfig::over(drive, 1).with::<dyn Destage>(buffer);
            let built = config.build().err().map(|error| error.to_string());
            let checked = config.check().err().map(|error| error.to_string());
            assert_eq!(built, checked);
            built.unwrap_or_default()
        };
        for (buffer, pieces) in [
            ("lrw", ["lrw.size = unset", "lrw:size=64MiB"]),
            ("lrw:size=1%", ["lrw.size = 1%", "a page of 4 KiB"]),
            ("wow:size=1kB", ["wow.size = 1kB", "room for a page"]),
            (
                "lrw:size=1MB:unit_kib=6",
                ["lrw.unit_kib = 6", "multiple of 4"],
            ),
            (
                "lrw:size=64KiB:unit_kib=68",
                ["lrw.unit_kib = 68", "at most the 64 KiB of lrw.size"],
            ),
            (
                "cscan:size=1MB:low_percent=90",
                [
                    "cscan.low_percent = 90",
                    "below cscan.high_percent, which is 90",
                ],
            ),
            ("lwr:size=1MB", ["lwr", "lrw"]),
            ("none:size=1MB", ["size", "none"]),
        ] {
            let error = error(buffer);
            for piece in pieces {
                assert!(error.contains(piece), "{buffer}: {error}");
            }
        }
        for buffer in [
            "wow:size=1MB:unit_kib=384:retries=0",
            "lrw:size=64KiB:unit_kib=64",
        ] {
            assert_eq!(error(buffer), "");
        }
    }

    /// The last of three volumes must not be shorter than the others.
    #[test]
    fn volumes_are_of_equal_size() {
        let drive = DriveConfig {
            part: PartConfig::named("null"),
            text: "kind = 'null'\ncapacity_blocks = 2401\nservice_us = 1".to_owned(),
        };
        let built = |volumes| {
            let config = StackConfig {
                volumes,
                ..StackConfig::over(drive.clone(), 1)
            };
            config.build().err().map(|error| error.to_string())
        };
        for volumes in [0, 3, 4_802] {
            let expected = format!(
                "volumes = {volumes} (allowed: a number that divides the 2401 blocks of linear)"
            );
            assert_eq!(built(volumes), Some(expected));
        }
        assert_eq!(built(7), None);
    }

    #[test]
    fn a_part_that_does_not_exist_is_named_with_its_nearest() {
        let drive = DriveConfig {
            part: PartConfig::named("null"),
            text: drive::catalog_text("null").unwrap().to_owned(),
        };
        let config = StackConfig::over(drive, 1).with::<dyn Scheduler>(PartConfig::named("fcsf"));
        let error = config.build().err().unwrap();
        assert_eq!(error.nearest.as_deref(), Some("fcfs"));
    }

    /// A stack over so many drives of the catalog.
    fn stack_over(drive: &str, place: &str, faults: &str) -> StackConfig {
        let part: PartConfig = drive.parse().unwrap();
        let text = drive::catalog_text(&part.name).unwrap().to_owned();
        StackConfig::over(DriveConfig { part, text }, 1)
            .with::<dyn Placement>(place.parse().unwrap())
            .with::<dyn Faults>(faults.parse().unwrap())
    }

    /// What the first of these drives owes, and what when it has answered a write.
    fn owed(now: Instant, drives: &mut [Box<dyn Drive>]) -> [u64; 2] {
        let first = drives[0].owes(now).blocks.0;
        let write = Command {
            io: IoId(0),
            op: Op::Write,
            at: Pba(0),
            len: Blocks(8),
            fua: false,
        };
        drives[0].submit(now, &write);
        loop {
            let due = drives[0].next_event().expect("a command runs");
            if drives[0].advance(due).is_some() {
                return [first, drives[0].owes(due).blocks.0];
            }
        }
    }

    /// Queues, zones and faults around a drive do not hide what it owes, nor that its cache is
    /// full.
    #[test]
    fn what_a_drive_owes_is_told_by_all_that_is_around_it() {
        let zoned = "zone_blocks=524288";
        let room = 8_192 * 8;
        let cases = [
            ("modern-20tb", "none", [0, 8], 0),
            ("modern-20tb:queue_depth=4", "none", [0, 8], 0),
            (&format!("modern-20tb:{zoned}"), "none", [0, 8], 0),
            ("modern-20tb", "injected:latent_per_tib=1", [0, 8], 0),
            ("modern-20tb:cache=off", "none", [0, 0], 0),
            ("nvme-tlc-1tb", "none", [0, 8], room),
            (
                &format!("nvme-tlc-1tb:precondition=empty:{zoned}"),
                "none",
                [0, 8],
                room,
            ),
            ("nvme-tlc-1tb", "injected:latent_per_tib=1", [0, 8], room),
            ("nvme-tlc-1tb:cache=off", "none", [0, 0], 0),
        ];
        let found = cases.map(|(drive, faults, ..)| {
            let config = stack_over(drive, "linear", faults);
            let of = |mut built: Assembly| owed(Instant::ZERO, &mut built.drives);
            let plain = of(config.build().unwrap());
            let [first, _] = of(config.build_under_pressure(&Forgetful).unwrap());
            (drive, faults, plain, first)
        });
        assert_eq!(found, cases);
        for (cache, first) in [("volatile", room), ("off", 0)] {
            let drive = format!("nvme-tlc-1tb:precondition=saturated:cache={cache}");
            let mut built = stack_over(&drive, "linear", "none").build().unwrap();
            assert_eq!(owed(Instant::ZERO, &mut built.drives)[0], first, "{cache}");
        }
    }

    /// Faults that begin later are not there under pressure.
    #[test]
    fn under_pressure_no_drive_goes() {
        let gone = |is_pressed: bool| {
            let config = stack_over("null", "linear", "injected:gone_at_s=1");
            let built = config.assemble(&Forgetful, None, is_pressed);
            let mut drives = built.unwrap().drives;
            owed(Instant(2_000_000_000), &mut drives);
            let mut count = 0;
            drives[0].tell_faults(&mut |_, number| count += number);
            count
        };
        assert_eq!([false, true].map(gone), [1, 0]);
    }

    /// Whatever their values: what a drive has not cannot be regulated.
    #[test]
    fn knobs_of_what_a_drive_has_not_are_refused() {
        let flash = drive::catalog_text("nvme-tlc-1tb").unwrap();
        let lines = flash.lines().filter(|line| !line.starts_with("suspension"));
        let plain = lines.collect::<Vec<_>>().join("\n");
        let volume = "kind = 'capped'\ncapacity_blocks = 2000000\nlatency_ms = 1.0\nio_kib_max = 256\n\
                      iops = { baseline = 100.0 }\nmib = { baseline = 10.0 }";
        let disk = drive::catalog_text("modern-20tb").unwrap();
        let cases = [
            (&*plain, "suspension=true"),
            (volume, "credits_full=1"),
            (disk, "overhead_ms=0"),
            (disk, "queue_sched=hits_first"),
            (disk, "zone_reset_ms=0"),
        ];
        let refused = cases.map(|(text, knob)| {
            let with = |knobs: &str| {
                let part = format!("mine{knobs}").parse().unwrap();
                let text = text.to_owned();
                StackConfig::over(DriveConfig { part, text }, 1).build()
            };
            assert!(with("").is_ok());
            let error = with(&format!(":{knob}")).err();
            (
                knob,
                error.is_some_and(|error| error.key.ends_with(knob.split('=').next().unwrap())),
            )
        });
        assert_eq!(refused, cases.map(|(_, knob)| (knob, true)));
    }

    /// Copies are kept by the chunk, all else by the block.
    #[test]
    fn placements_say_what_they_keep_as_one() {
        let kept = |place: &str| {
            let built = stack_over("hp-c2247a", place, "none").build();
            built.unwrap().stack.copy_unit().map(|blocks| blocks.0)
        };
        for place in [
            "mirror",
            "sr_array",
            "eager",
            "ew_array",
            "distorted_mirror",
        ] {
            assert_eq!(kept(place), Some(8), "{place}");
        }
        assert_eq!(kept("eager:chunk_kib=8"), Some(16));
        for place in [
            "linear",
            "stripe:disks=2",
            "concat:disks=2",
            "raid5:disks=3",
        ] {
            assert_eq!(kept(place), None, "{place}");
        }
    }
}
