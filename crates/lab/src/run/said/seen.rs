//! What was seen of a run that is in none of its numbers, and decides what is said beside them.

use nearslot_core::contract::Faults;
use nearslot_core::stack::Stack;
use nearslot_core::units::{Blocks, Instant};

use crate::measure::{Behind, Filling, Measured, ReadFirst, Settling, Starved};
use crate::scenario::Scenario;

/// What was seen of a run that is in none of its numbers.
#[derive(Clone, Copy)]
pub(in crate::run) struct Seen {
    /// From when on its queue was looked at, if faults begin then.
    pub(super) late: Option<Instant>,
    pub(super) grew_behind: Option<Behind>,
    pub(in crate::run) filling: Option<Filling>,
    pub(in crate::run) settling: Option<Settling>,
    pub(super) starved: Option<Starved>,
    pub(super) read_first: ReadFirst,
    /// Blocks of which copies are kept as one.
    pub(super) copy_unit: Option<Blocks>,
    /// Writes of a part of a chunk that waited for another write of it.
    pub(super) held: u64,
}

impl Seen {
    /// Of what was measured of a run with these faults.
    pub(in crate::run) fn of(
        measured: &Measured,
        stack: &Stack,
        (faults, scenario): (&dyn Faults, &Scenario),
    ) -> Seen {
        let waits = !scenario.is_open();
        let begin = faults.begins().map(|[_, last]| last);
        Seen {
            late: begin.filter(|begin| *begin <= measured.growth_from()),
            grew_behind: measured.grew_behind(),
            filling: measured.filling(waits),
            settling: measured.settling(waits),
            starved: measured.starved(),
            read_first: measured.read_first(),
            copy_unit: stack.copy_unit(),
            held: stack.blocked_in_chunks(),
        }
    }
}
