//! The commands that drives have, between start and end. A drive with a queue of its own has
//! several.
//!
//! O(commands of the drive) to find one; nothing is allocated once drives have had as many as they
//! get.

use nearslot_core::ids::{DriveId, IoId};
use nearslot_core::io::DriveDone;
use nearslot_core::units::Instant;

/// When a drive began a command that it was given at `given` and ended at `now`. If it had several,
/// it began this one later than it got it.
pub(crate) fn begun(given: Instant, now: Instant, done: &DriveDone) -> Instant {
    given.max(Instant(now.0.saturating_sub(done.cost.total().0)))
}

/// What is remembered of each command that a drive has.
pub(crate) struct InFlight<T> {
    drives: Vec<Vec<(IoId, T)>>,
}

impl<T> Default for InFlight<T> {
    fn default() -> InFlight<T> {
        InFlight { drives: Vec::new() }
    }
}

impl<T> InFlight<T> {
    /// A drive begins a command.
    #[inline]
    pub(crate) fn begin(&mut self, drive: DriveId, io: IoId, what: T) {
        if self.drives.len() <= drive.index() {
            self.drives.resize_with(drive.index() + 1, Vec::new);
        }
        self.drives[drive.index()].push((io, what));
    }

    /// A drive ends a command. What was remembered of it, if it was seen to begin.
    #[inline]
    pub(crate) fn end(&mut self, drive: DriveId, io: IoId) -> Option<T> {
        let commands = self.drives.get_mut(drive.index())?;
        let index = commands.iter().position(|(name, _)| *name == io)?;
        Some(commands.remove(index).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_a_drive_end_in_any_order_and_apart_from_those_of_others() {
        let mut flight = InFlight::default();
        flight.begin(DriveId(1), IoId(7), 'a');
        flight.begin(DriveId(1), IoId(8), 'b');
        flight.begin(DriveId(0), IoId(7), 'c');
        assert_eq!(flight.end(DriveId(1), IoId(8)), Some('b'));
        assert_eq!(flight.end(DriveId(1), IoId(8)), None);
        assert_eq!(flight.end(DriveId(1), IoId(7)), Some('a'));
        assert_eq!(flight.end(DriveId(0), IoId(7)), Some('c'));
        assert_eq!(flight.end(DriveId(5), IoId(7)), None);
    }
}
