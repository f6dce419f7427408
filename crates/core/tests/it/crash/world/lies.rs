//! Drives that do not do what they say.

use nearslot_core::io::Command;
use nearslot_core::op::Op;

/// What drives do not do though they say that they did; or what a placement has not told them to
/// do, which comes to the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lies {
    /// They do everything.
    #[default]
    Nothing,
    /// Forced writes of clients' data stay in the cache.
    ForcedData,
    /// Forced writes of the map do.
    ForcedMap,
    /// A flush leaves the cache as it is.
    Flushes,
}

impl Lies {
    /// The command as the drive takes it. `of_map`: it writes the map.
    pub(super) fn told(self, command: Command, of_map: bool) -> Command {
        let lie = match of_map {
            true => Lies::ForcedMap,
            false => Lies::ForcedData,
        };
        let fua = command.fua && self != lie;
        Command { fua, ..command }
    }

    /// What it does.
    pub(super) fn carried_out(self, command: Command) -> Command {
        match (self, command.op) {
            (Lies::Flushes, Op::Flush) => Command {
                op: Op::Discard,
                ..command
            },
            _ => command,
        }
    }
}
