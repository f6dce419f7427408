//! Faults as they are at the outset of a run, for as long as it lasts: what a stack can do before anything changes.

use std::sync::Arc;

use crate::contract::Faults;
use crate::fault::{BadRun, Decay, Fate, Recovery};
use crate::ids::DriveId;
use crate::io::Command;
use crate::units::Instant;

/// What comes at an instant of its own never comes.
struct Outset(Arc<dyn Faults>);

/// These faults without those that begin at an instant of their own, after the run has begun.
pub(crate) fn only(faults: Arc<dyn Faults>) -> Arc<dyn Faults> {
    match faults.begin() {
        Instant::ZERO => faults,
        _ => Arc::new(Outset(faults)),
    }
}

impl Faults for Outset {
    fn concern(&self, drive: DriveId) -> bool {
        self.0.concern(drive)
    }

    fn gone_from(&self, drive: DriveId) -> Instant {
        match self.0.gone_from(drive) {
            Instant::ZERO => Instant::ZERO,
            _ => Instant::NEVER,
        }
    }

    fn fate(&self, drive: DriveId, _began: Instant, command: &Command) -> Fate {
        self.0.fate(drive, Instant::ZERO, command)
    }

    fn bad_run(&self, drive: DriveId, decay: Decay, cell: u64) -> Option<BadRun> {
        self.0.bad_run(drive, decay, cell)
    }

    fn recovery(&self) -> Recovery {
        self.0.recovery()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PartConfig;
    use crate::registry::FaultsEnv;
    use crate::units::{Blocks, Pba};

    fn outset(text: &str) -> Arc<dyn Faults> {
        let part: PartConfig = text.parse().unwrap();
        let env = FaultsEnv {
            seed: 1,
            label: "faults",
            drives: 1,
            capacity: Blocks(1_000),
        };
        only(part.build::<dyn Faults>(&env).unwrap().into())
    }

    #[test]
    fn what_begins_later_never_comes() {
        let (drive, late) = (DriveId(0), Instant(3_600_000_000_000));
        let seek = Command::seek(Pba(8));
        let later = outset("injected:gone_at_s=2:slow_factor=3:slow_from_s=1");
        assert_eq!(later.gone_from(drive), Instant::NEVER);
        assert_eq!(later.fate(drive, late, &seek).factor, 1);
        let at_once = outset("injected:gone_at_s=1:slow_factor=3");
        assert_eq!(at_once.fate(drive, late, &seek).factor, 3);
        assert_eq!(
            outset("injected:gone_at_s=0").gone_from(drive),
            Instant::ZERO
        );
    }
}
