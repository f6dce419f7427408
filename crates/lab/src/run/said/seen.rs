//! What was seen of a run that is in none of its numbers, and decides what is said beside them.

use nearslot_core::stack::Stack;
use nearslot_core::units::Instant;

use crate::measure::{Measured, ReadFirst, Starved};

/// What was seen of a run that is in none of its numbers.
#[derive(Clone, Copy)]
pub(in crate::run) struct Seen {
    /// From when on its queue was looked at, if faults begin then.
    pub(super) late: Option<Instant>,
    pub(super) starved: Option<Starved>,
    pub(super) read_first: ReadFirst,
    /// Writes of a part of a chunk that waited for another write of it.
    pub(super) held: u64,
}

impl Seen {
    /// Of what was measured of a run whose faults begin at `begin`.
    pub(in crate::run) fn of(measured: &Measured, stack: &Stack, begin: Option<Instant>) -> Seen {
        Seen {
            late: begin.filter(|begin| *begin <= measured.growth_from()),
            starved: measured.starved(),
            read_first: measured.read_first(),
            held: stack.held_in_chunks(),
        }
    }
}
