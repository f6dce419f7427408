//! What an array may do when, read off the commands that its drives get.

use nearslot_core::io::{Command, Origin};
use nearslot_core::op::Op;

use crate::contents::setups::Setup;

/// Size of a buffer that is never full here.
const ROOMY: usize = 10_000;

/// Watches a stack.
pub(crate) struct Rules {
    setup: Setup,
    /// Whether delayed writes wait for their drive to have nothing else to do.
    patient: bool,
    /// Where commands fail, copies that are missing are written at once.
    pub(crate) off: bool,
    /// Whether the scheduler may begin later what was alone when it came.
    holds_back: bool,
    /// Commands that write what a request waits for.
    pub(crate) foreground: u64,
    /// Commands that write what compaction moves.
    pub(crate) moved: u64,
    /// Chunks in commands that write what no request waits for.
    pub(crate) background: u64,
    /// Of those commands, the ones that began while others waited for the drive.
    pub(crate) pushed: u64,
}

impl Rules {
    pub(crate) fn new(setup: &Setup, sched: &str) -> Rules {
        // A movement of the arm for a delayed write is its beginning, but what comes meanwhile may
        // go before it; who waits for the next request of a process has not begun it yet.
        let holds_back = matches!(sched, "scan" | "cscan" | "bfq" | "cfq" | "slack");
        Rules {
            setup: *setup,
            patient: setup.buffer >= ROOMY && !setup.tight() && !holds_back,
            holds_back,
            off: false,
            foreground: 0,
            moved: 0,
            background: 0,
            pushed: 0,
        }
    }

    /// A command begins; `waiting` run or wait on its drive, itself counted.
    pub(crate) fn started(&mut self, command: &Command, origin: &Origin, waiting: usize) {
        if self.off {
            return;
        }
        let own = origin.request.is_none();
        if command.op == Op::Read && own && !self.holds_back {
            assert_eq!(waiting, 1, "a block is read to be moved while others wait");
        }
        if command.op != Op::Write || origin.data().is_none() {
            return;
        }
        if origin.request.is_some() {
            self.foreground += 1;
            return;
        }
        // What compaction moves has an address.
        if self.setup.compacts() && !origin.open {
            assert!(
                waiting == 1 || self.holds_back,
                "a move begins while others wait"
            );
            self.moved += 1;
            return;
        }
        self.background += command.len.0 / self.setup.chunk;
        self.pushed += u64::from(waiting > 1);
        assert!(
            waiting == 1 || !self.patient,
            "a delayed write begins while {} others wait",
            waiting - 1
        );
    }
}
