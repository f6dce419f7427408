//! A drive without mechanics: every command takes the same time, wherever it goes.
//!
//! What queueing theory calls a deterministic server. Good for testing what is above a drive. O(1).

use serde::Deserialize;

use super::cache::{self, CACHE};
use super::flat::{self, FlatOracle};
use super::{CAPACITY_MAX, Kind, file, zoned};
use crate::contract::{Blueprint, Drive, Oracle};
use crate::freemap::{Room, Tracks, Uncountable};
use crate::io::{Command, DriveDone, Unwritten, WriteCache};
use crate::registry::{ConfigError, Knobs};
use crate::units::{Angle, Blocks, Duration, Instant, Pba};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(rename = "description")]
    _description: Option<String>,
    capacity_blocks: u64,
    service_us: f64,
}

#[derive(Clone, Copy)]
struct NullBlueprint {
    capacity: Blocks,
    service: Duration,
}

impl Parameters {
    fn check(&self) -> Result<(), ConfigError> {
        let capacity = self.capacity_blocks;
        if !(1..=CAPACITY_MAX).contains(&capacity) {
            let allowed = format!("a whole number from 1 to {CAPACITY_MAX}");
            return Err(ConfigError::value(
                "capacity_blocks",
                &capacity.to_string(),
                &allowed,
            ));
        }
        let us = self.service_us;
        if !(0.001..=1e9).contains(&us) {
            return Err(ConfigError::value(
                "service_us",
                &us.to_string(),
                "0.001 to 1e9",
            ));
        }
        Ok(())
    }
}

impl NullBlueprint {
    fn read(table: &toml::Table, knobs: &Knobs) -> Result<NullBlueprint, ConfigError> {
        cache::chosen(knobs, &[WriteCache::Off], "as the drive has no cache")?;
        let parameters = file::read_checked(table, Parameters::check)?;
        let service = Duration::from_ms_f64(parameters.service_us / 1_000.0);
        Ok(NullBlueprint {
            capacity: Blocks(parameters.capacity_blocks),
            service,
        })
    }
}

impl Blueprint for NullBlueprint {
    fn capacity(&self) -> Blocks {
        self.capacity
    }

    fn cache(&self) -> WriteCache {
        WriteCache::Off
    }

    fn drive(&self) -> Box<dyn Drive> {
        Box::new(NullDrive {
            service: self.service,
            running: None,
        })
    }

    fn exact(&self) -> Box<dyn Oracle> {
        Box::new(FlatOracle::new(self.service))
    }

    fn turned(&self, _by: Angle) -> Box<dyn Blueprint> {
        Box::new(*self)
    }

    fn resting(&self, _at: Pba) -> Box<dyn Blueprint> {
        Box::new(*self)
    }

    fn revolution(&self) -> Option<Duration> {
        None
    }

    fn room(&self, slot: Blocks) -> Room {
        flat::room(self.capacity, slot)
    }

    fn tracks(&self, slot: Blocks) -> Result<Tracks, Uncountable> {
        flat::tracks(self.capacity, slot)
    }
}

struct NullDrive {
    service: Duration,
    running: Option<(Instant, Command)>,
}

impl Drive for NullDrive {
    fn submit(&mut self, now: Instant, command: &Command) {
        assert!(self.running.is_none(), "the drive is busy");
        self.running = Some((now + self.service, *command));
    }

    fn next_event(&self) -> Option<Instant> {
        self.running.map(|(due, _)| due)
    }

    fn advance(&mut self, now: Instant) -> Option<DriveDone> {
        let (_, command) = self.running.take_if(|(due, _)| *due <= now)?;
        Some(flat::done(&command, self.service))
    }

    /// Nothing: a write ends on the medium.
    fn volatile(&self, _now: Instant, _out: &mut Vec<Unwritten>) {}
}

pub(super) static KIND: Kind = Kind {
    name: "null",
    summary: "no mechanics: every command takes the same time",
    source: "queueing theory's deterministic server",
    knobs: &[
        CACHE,
        zoned::ZONE_BLOCKS,
        zoned::CAPACITY,
        zoned::CONVENTIONAL,
        zoned::APPEND_MAX,
        zoned::RESET,
    ],
    measures: &[],
    read: |table, knobs| Ok(Box::new(NullBlueprint::read(table, knobs)?)),
};
