//! What an array may do when, read off the commands that its drives get.

use nearslot_core::io::{Command, Origin};
use nearslot_core::request::Op;

use crate::setups::Setup;

/// Size of a buffer that is never full here.
const ROOMY: usize = 10_000;

/// Watches a stack.
pub(crate) struct Rules {
    setup: Setup,
    /// Whether delayed writes wait for their drive to have nothing else to do.
    patient: bool,
    /// Commands that write what a request waits for.
    pub(crate) foreground: u64,
    /// Granules in commands that write what no request waits for.
    pub(crate) background: u64,
    /// Of those commands, the ones that began while others waited for the drive.
    pub(crate) pushed: u64,
}

impl Rules {
    pub(crate) fn new(setup: &Setup, sched: &str) -> Rules {
        // A movement of the arm for a delayed write is its beginning, but what comes meanwhile may go before it.
        let moves_arm = matches!(sched, "scan" | "cscan");
        Rules {
            setup: *setup,
            patient: setup.buffer >= ROOMY && !setup.tight() && !moves_arm,
            foreground: 0,
            background: 0,
            pushed: 0,
        }
    }

    /// A command begins; `waiting` run or wait on its drive, itself counted.
    pub(crate) fn started(&mut self, command: &Command, origin: Option<Origin>, waiting: usize) {
        let Some(origin) = origin.filter(|_| command.op == Op::Write) else {
            return;
        };
        if origin.data.is_none() {
            return;
        }
        if origin.request.is_some() {
            self.foreground += 1;
            return;
        }
        self.background += command.len.0 / self.setup.granule;
        self.pushed += u64::from(waiting > 1);
        assert!(
            waiting == 1 || !self.patient,
            "a delayed write begins while {} others wait",
            waiting - 1
        );
    }
}
