//! Drives that do what they are told. Costs nothing: no drive is wrapped.

use crate::contract::Faults;
use crate::fault::{BadRun, Decay, Fate, Recovery};
use crate::ids::DriveId;
use crate::io::Command;
use crate::registry::Spec;
use crate::units::{Duration, Instant};

struct None;

impl Faults for None {
    fn concern(&self, _drive: DriveId) -> bool {
        false
    }

    fn leave_traces(&self, _drive: DriveId) -> bool {
        false
    }

    fn gone_from(&self, _drive: DriveId) -> Instant {
        Instant::NEVER
    }

    fn fate(&self, _drive: DriveId, _began: Instant, command: &Command) -> Fate {
        Fate::good(command.at, command.len)
    }

    fn bad_run(&self, _drive: DriveId, _decay: Decay, _cell: u64) -> Option<BadRun> {
        Option::None
    }

    fn recovery(&self) -> Recovery {
        Recovery {
            tries: Duration::ZERO,
            writes_mend: true,
        }
    }
}

pub(super) static SPEC: Spec<dyn Faults> = Spec {
    name: "none",
    aliases: &["off"],
    summary: "every drive does what it is told",
    source: "",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, _| Ok(Box::new(None)),
};
