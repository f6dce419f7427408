//! A drive alone on a bench: one command after another, and how long each takes. For tables that
//! are measured before anything is run.

use nearslot_core::contract::Drive;
use nearslot_core::ids::IoId;
use nearslot_core::io::Command;
use nearslot_core::op::Op;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

/// A drive that is measured.
pub(crate) struct Bench {
    drive: Box<dyn Drive>,
    now: Instant,
    fua: bool,
}

impl Bench {
    /// A drive whose writes end on the medium if `fua`, whatever its cache.
    pub(crate) fn new(drive: Box<dyn Drive>, fua: bool) -> Bench {
        Bench {
            drive,
            now: Instant::ZERO,
            fua,
        }
    }

    /// Reads or writes blocks; how long that takes.
    pub(crate) fn access(&mut self, op: Op, at: u64, len: u64) -> Duration {
        let begin = self.now;
        let command = Command {
            io: IoId(0),
            op,
            at: Pba(at),
            len: Blocks(len),
            fua: self.fua && op == Op::Write,
        };
        self.drive.submit(begin, &command);
        loop {
            let due = self.drive.next_event();
            self.now = due.expect("a command is under way");
            self.drive.outstanding(&mut || 1);
            if self.drive.advance(self.now).is_some() {
                return self.now.since(begin);
            }
        }
    }

    /// Nothing is asked for so long; the drive may have something to do for itself.
    pub(crate) fn think(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due) = self.drive.next_event().filter(|due| *due <= end) {
            self.drive.advance(due);
        }
        self.now = end;
    }
}
