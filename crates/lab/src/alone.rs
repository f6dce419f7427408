//! Serving one command on an idle drive, for what replays requests without a scheduler: calibration
//! and validation.

use nearslot_core::contract::Drive;
use nearslot_core::io::{Command, DriveDone};
use nearslot_core::units::Instant;

/// Serves a command that is issued at `now`; when it ends, and its completion. `outstanding` says
/// how many commands run or wait at an instant, this one counted.
pub(crate) fn serve(
    drive: &mut dyn Drive,
    now: Instant,
    command: &Command,
    mut outstanding: impl FnMut(Instant) -> u64,
) -> (Instant, DriveDone) {
    // What the drive does by itself while it is idle.
    while let Some(due) = drive.next_event().filter(|due| *due <= now) {
        let done = drive.advance(due);
        assert!(done.is_none(), "an idle drive completed {done:?}");
    }
    drive.submit(now, command);
    loop {
        let due = drive.next_event().expect("a command is under way");
        drive.outstanding(&mut || outstanding(due));
        if let Some(done) = drive.advance(due) {
            return (due, done);
        }
    }
}
