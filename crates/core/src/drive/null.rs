//! A drive without mechanics: every command takes the same time, wherever it goes.
//!
//! What queueing theory calls a deterministic server. Good for testing what is above a drive. O(1).

use serde::Deserialize;

use super::Kind;
use crate::contract::{Blueprint, Drive, Oracle};
use crate::freemap::{Span, Tracks, Uncountable};
use crate::io::{Command, Cost, DriveDone, Foresight, Head, Place};
use crate::registry::ConfigError;
use crate::request::{Op, Status};
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

impl NullBlueprint {
    fn read(table: &toml::Table) -> Result<NullBlueprint, ConfigError> {
        let parameters: Parameters = table.clone().try_into().map_err(|e: toml::de::Error| {
            ConfigError::value(
                "parameters",
                e.message(),
                "kind, capacity_blocks, service_us",
            )
        })?;
        if parameters.capacity_blocks == 0 {
            return Err(ConfigError::value("capacity_blocks", "0", "at least 1"));
        }
        let us = parameters.service_us;
        if !(0.001..=1e9).contains(&us) {
            return Err(ConfigError::value(
                "service_us",
                &us.to_string(),
                "0.001 to 1e9",
            ));
        }
        let service = Duration::from_ms_f64(us / 1_000.0);
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

    fn drive(&self) -> Box<dyn Drive> {
        Box::new(NullDrive {
            service: self.service,
            running: None,
        })
    }

    fn exact(&self) -> Box<dyn Oracle> {
        Box::new(NullOracle {
            service: self.service,
        })
    }

    fn turned(&self, _by: Angle) -> Box<dyn Blueprint> {
        Box::new(*self)
    }

    fn revolution(&self) -> Option<Duration> {
        None
    }

    /// One band, one surface, cut into tracks of at most [`TRACK_SLOTS`] slots.
    fn tracks(&self, slot: Blocks) -> Result<Tracks, Uncountable> {
        let track = slot.0 * TRACK_SLOTS;
        let all = (0..self.capacity.0).step_by(track as usize).map(|first| {
            let blocks = Blocks(track.min(self.capacity.0 - first));
            Span {
                first: Pba(first),
                angle: Angle(0),
                blocks,
                sectors: blocks.0 as u32,
                contiguous: blocks,
            }
        });
        let surfaces = self.capacity.0.div_ceil(track);
        let surfaces = u32::try_from(surfaces).map_err(|_| Uncountable::TooMany)?;
        Tracks::new(slot, surfaces, all, |_| false)
    }
}

/// Slots on what stands for a track.
const TRACK_SLOTS: u64 = 64;

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
        let cost = Cost {
            transfer: self.service,
            ..Cost::default()
        };
        let Command { io, op, at, len } = command;
        Some(DriveDone {
            io,
            op,
            at,
            len,
            status: Status::Done,
            cost,
            head: None,
        })
    }
}

/// Every place is one place.
struct NullOracle {
    service: Duration,
}

impl Oracle for NullOracle {
    fn head(&self) -> Head {
        Head::default()
    }

    fn bands(&self) -> u32 {
        1
    }

    fn locate(&self, _at: Pba) -> Place {
        Place {
            band: 0,
            surface: 0,
            angle: Angle(0),
        }
    }

    fn reach(&self, _distance: u32) -> Duration {
        Duration::ZERO
    }

    fn position(&self, _now: Instant, _op: Op, _place: &Place) -> Duration {
        Duration::ZERO
    }

    fn foresee(&self, now: Instant, _op: Op, _at: Pba, _len: Blocks) -> Foresight {
        Foresight {
            end: now + self.service,
            head: Head::default(),
        }
    }

    fn reach_after(&self, _distance: u32) -> Duration {
        Duration::ZERO
    }

    fn position_after(&self, _access: &Foresight, _op: Op, _place: &Place) -> Duration {
        Duration::ZERO
    }

    fn started(&mut self, _now: Instant, _command: &Command) {}
}

pub(super) static KIND: Kind = Kind {
    name: "null",
    summary: "no mechanics: every command takes the same time",
    source: "queueing theory's deterministic server",
    knobs: &[],
    read: |table, _| Ok(Box::new(NullBlueprint::read(table)?)),
};
