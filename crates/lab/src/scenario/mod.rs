//! A scenario: drive, policies, load and seed, as TOML and as a struct.
//!
//! ```toml
//! seed = 1
//! drive = "modern-20tb"              # a name of the catalog, or the path of a drive's TOML file; auto if left out
//! sched = "aged_satf:weight_ms_per_s=3" # or a table: { name = "aged_satf", weight_ms_per_s = 3 }
//! oracle = "exact"
//! warmup = "1%"
//!
//! [trace]
//! files = ["mytrace.blktrace.0"]
//! replay = "closed"
//! depth = 16
//!
//! # instead of [trace]:
//! # [workload]
//! # name = "iometer"
//! # depth = 16
//! ```
//!
//! Every key can also be set by name ([`Scenario::set`]), which is how grids vary it.

pub mod keys;
mod load;
mod read;
mod set;
mod warmup;

use std::path::PathBuf;

use nearslot_core::config::{DriveConfig, PartConfig, Parts, StackConfig};
use nearslot_core::contract::Placement;
use nearslot_core::drive;
use nearslot_core::registry::{self, ConfigError, Need, Spec, written};
use nearslot_trace::TraceError;
use serde::Serialize;

use crate::workload;
use crate::workload::layout::Volumes;

use keys::Key;
pub use load::{Load, Replay, TraceLoad};
pub use warmup::{ComeBefore, Warmup};

/// The name that stands for the drive that is chosen.
pub const AUTO: &str = "auto";

/// Everything a run needs to be told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// Seeds everything random.
    pub seed: u64,
    /// Name in the catalog or path of a file, with knobs; [`AUTO`] if the drive is to be chosen.
    pub drive: PartConfig,
    /// A part of every kind.
    #[serde(flatten)]
    pub parts: Parts,
    /// What is cut off the front.
    pub warmup: Warmup,
    /// What asks.
    pub load: Load,
}

impl Scenario {
    /// The defaults over a load.
    pub fn over(load: Load) -> Scenario {
        Scenario {
            seed: 1,
            drive: PartConfig::named(AUTO),
            parts: Parts::default(),
            warmup: Warmup::Auto,
            load,
        }
    }

    /// Checks what types do not.
    ///
    /// # Errors
    /// A value that is not allowed.
    pub fn check(&self) -> Result<(), ConfigError> {
        let Load::Trace(trace) = &self.load else {
            return Ok(());
        };
        if trace.files.is_empty() {
            return Err(ConfigError::value(
                "trace.files",
                "[]",
                "at least one file, or -",
            ));
        }
        if !(1..=DEPTH_MAX).contains(&trace.depth()) {
            let allowed = format!("a whole number from 1 to {DEPTH_MAX}");
            return Err(ConfigError::value(
                "depth",
                &trace.depth().to_string(),
                &allowed,
            ));
        }
        if !(1e-9..=1e9).contains(&trace.speed()) {
            return Err(ConfigError::value(
                "speed",
                &written(trace.speed()),
                "1e-9 to 1e9",
            ));
        }
        let guess = trace.service_guess_us();
        if !(0.001..=1e9).contains(&guess) {
            return Err(ConfigError::value(
                "service_guess_us",
                &written(guess),
                "0.001 to 1e9",
            ));
        }
        trace.span()?;
        if let (Some(volumes), Some(device)) = (trace.volumes, &trace.device) {
            let allowed = format!("nothing beside device, which is {device}: one has no others");
            return Err(ConfigError::value("volumes", volumes.word(), &allowed));
        }
        if trace.limit == Some(0) {
            return Err(ConfigError::value("limit", "0", "a whole number from 1"));
        }
        Ok(())
    }

    /// Whether its requests come whatever the drives do.
    pub(crate) fn is_open(&self) -> bool {
        match &self.load {
            Load::Trace(trace) => trace.replay == Replay::Open,
            Load::Workload(part) => !workload::waits(part),
        }
    }

    /// A setting that was given, by its key, and what it needs that this scenario has not; `None`
    /// if it is read.
    pub fn unread(&self, key: &Key) -> Option<(String, String)> {
        let Load::Trace(trace) = &self.load else {
            return None;
        };
        let value = trace.given(key.name)?;
        let allowed = format!(
            "with {}; here replay = {}",
            key.needs(),
            trace.replay.word()
        );
        (!key.replays.contains(&trace.replay)).then_some((value, allowed))
    }

    /// The same scenario with every setting that its replay reads spelled out.
    #[must_use]
    pub fn spelled_out(mut self) -> Scenario {
        if let Load::Trace(trace) = &mut self.load {
            match trace.replay {
                Replay::Closed => trace.depth = Some(trace.depth()),
                Replay::Open => trace.speed = Some(trace.speed()),
                Replay::Dependent => {
                    trace.speed = Some(trace.speed());
                    trace.service_guess_us = Some(trace.service_guess_us());
                }
            }
        }
        self
    }

    /// What it has, however that is said: each part by its own name, with all its knobs.
    pub(crate) fn made(&self) -> String {
        let parts = self.parts.iter().map(|(kind, part)| {
            let whole = part.spelled_out(kind.kind);
            // What is wrong with it is told when it is built.
            whole.unwrap_or_else(|_| part.clone())
        });
        let parts: Vec<PartConfig> = parts.collect();
        let scenario = Scenario {
            parts: Parts::default(),
            ..self.clone()
        };
        format!("{parts:?} {scenario:?}")
    }

    /// How the volumes of its trace are placed, if it has several.
    pub fn volumes(&self) -> Option<Volumes> {
        match &self.load {
            Load::Trace(trace) => trace.volumes,
            Load::Workload(_) => None,
        }
    }

    /// The card of the placement, by whichever of its names it is called.
    ///
    /// # Errors
    /// There is no such placement.
    pub(crate) fn placement(&self) -> Result<&'static Spec<dyn Placement>, ConfigError> {
        registry::find(&self.parts.of::<dyn Placement>().name)
    }

    /// What holds the blocks, in words: the drive, or the placement over such drives.
    ///
    /// # Errors
    /// There is no such placement.
    pub(crate) fn holder(&self) -> Result<String, ConfigError> {
        let drive = &self.drive.name;
        Ok(match self.placement()?.name {
            "linear" => drive.clone(),
            _ => format!("{} over {drive}", self.parts.of::<dyn Placement>()),
        })
    }

    /// Whether its drive has an arm; also where that is not known, as no drive is named yet, or
    /// none that can be read.
    pub(crate) fn has_an_arm(&self) -> bool {
        let text = drive_text(&self.drive.name);
        let read = text.and_then(|text| drive::read(&self.drive.name, &text, &self.drive.knobs));
        read.map_or(true, |(blueprint, _)| blueprint.exact_arm().is_some())
    }

    /// Whether there is what parts and settings may need, as far as that is known before a trace is
    /// read.
    pub(crate) fn provides(&self, need: Need) -> bool {
        let (reads, has_classes) = match &self.load {
            Load::Workload(part) => (workload::read_share(part), workload::has_classes(part)),
            Load::Trace(_) => (None, true),
        };
        match (need, reads) {
            (Need::Classes, _) => has_classes,
            (Need::Reads, Some(share)) => share > 0.0,
            (Need::Writes, Some(share)) => share < 1.0,
            _ => self.parts.provide(need),
        }
    }

    /// The stack below the load, with the drive's file read.
    ///
    /// # Errors
    /// No such drive in the catalog and no such file; a placement that does not go with drives of
    /// their own.
    pub fn stack(&self) -> Result<StackConfig, ConfigError> {
        let own = self.volumes() == Some(Volumes::OwnDrives);
        if own && self.placement()?.name != "linear" {
            let allowed = "linear (the default) with volumes = own-drives: each volume is one drive, block n on block n";
            return Err(ConfigError::value(
                "place",
                &self.parts.of::<dyn Placement>().to_string(),
                allowed,
            ));
        }
        let text = drive_text(&self.drive.name)?;
        Ok(StackConfig {
            drive: DriveConfig {
                part: self.drive.clone(),
                text,
            },
            parts: self.parts.clone(),
            seed: self.seed,
            offered: self.makes_range_writes(),
            volumes: 1,
        })
    }

    /// Whether its load makes range writes.
    pub(crate) fn makes_range_writes(&self) -> bool {
        matches!(&self.load, Load::Workload(part) if workload::offers(part))
    }

    /// All files that a run of it reads: those of its trace, and of its drive if that is described
    /// in a file.
    ///
    /// # Errors
    /// A folder of the trace cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>, TraceError> {
        let mut files = match &self.load {
            Load::Trace(load) => nearslot_trace::files(&load.files, load.format.as_deref())?,
            Load::Workload(part) => workload::files(part),
        };
        if drive_is_file(&self.drive.name) {
            files.push(PathBuf::from(&self.drive.name));
        }
        Ok(files)
    }
}

/// Requests in flight at most.
pub const DEPTH_MAX: u64 = 1 << 20;

/// Whether a drive is named by the path of its file.
pub fn drive_is_file(name: &str) -> bool {
    name.ends_with(".toml") || name.contains('/')
}

/// A drive's parameters: from a file if `name` looks like one, else from the catalog.
///
/// # Errors
/// No such drive in the catalog and no such file.
pub fn drive_text(name: &str) -> Result<String, ConfigError> {
    if drive_is_file(name) {
        return std::fs::read_to_string(name).map_err(|error| {
            ConfigError::value(
                "drive",
                &format!("{name} ({error})"),
                "a readable TOML file",
            )
            .of_file()
        });
    }
    if name == AUTO {
        let allowed = "a drive that is named, as it is chosen for runs alone";
        return Err(ConfigError::value("drive", name, allowed));
    }
    drive::catalog_text(name).map(str::to_owned)
}
