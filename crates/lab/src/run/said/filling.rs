//! A queue that grows, before the drives, in their write caches, or in a write buffer.

use super::Seen;
use crate::measure::{Behind, Filling, Settling, kept};
use crate::number::{number, seconds};
use crate::outcome::Run;
use crate::warning::{Warning, WarningKind};

/// That the queue grew, by so many requests a second.
pub(super) fn grew(label: &str, growth_rps: f64, seen: &Seen) -> Warning {
    let behind = match seen.grew_behind {
        Some(Behind::Buffer) => ", with what the write buffer had until it was full,",
        Some(Behind::Copies) => ", with the copies that waited until there was no room for more,",
        Some(Behind::Caches) => {
            ", with what the drives had answered and not yet written until their write caches were full,"
        }
        None => "",
    };
    let late = seen.late.map_or_else(String::new, |begin| {
        let begin = seconds(begin.0 as f64 / 1e9);
        format!(" from {begin} on, when all faults have begun,")
    });
    let text = format!(
        "the queue{behind} grew by {} requests a second{late} as long as requests came, so response times tell how long the \
         load is",
        number(growth_rps)
    );
    Warning::new(WarningKind::QueueGrew, text).of_run(label)
}

/// That the queue was not at rest when the load ended.
pub(super) fn still_grew(label: &str, settling: &Settling) -> Warning {
    let text = format!(
        "{}: with more requests response times may be longer",
        settling.seen()
    );
    Warning::new(WarningKind::QueueGrew, text).of_run(label)
}

/// That write caches or a write buffer hid the drives. Of a buffer that gave them nothing more is
/// told elsewhere.
pub(super) fn filling(run: &Run, filling: Option<Filling>) -> Option<Warning> {
    let filling = filling.filter(|_| kept::all_pages(run).is_none())?;
    let kind = match filling.behind {
        Behind::Buffer => WarningKind::Buffer,
        Behind::Copies | Behind::Caches => WarningKind::FillingCaches,
    };
    let seen = filling.seen();
    let text = format!(
        "{seen}, so response times and rates tell how long the load is; more requests tell those of the drives"
    );
    Some(Warning::new(kind, text).of_run(&run.label))
}
