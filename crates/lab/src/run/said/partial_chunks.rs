//! Writes that pay for covering a part of a chunk only.
//!
//! Arrays that keep copies do so by chunks. Writes that share a chunk follow each other, also where
//! they have no block in common, as the records of a log of 512 bytes each. And where some copies
//! of a chunk are older, or copies lie anywhere, what a request does not write of it is read
//! before. Both cost a turn of the platter or more, and nothing else in the results says why a load
//! that is not aligned to chunks is so much slower than on a single drive.

use nearslot_core::contract::Placement;
use nearslot_core::op::Op;
use nearslot_core::registry::Kind;

use super::Seen;
use crate::measure::ReadFirst;
use crate::number::{grouped, number};
use crate::outcome::Run;
use crate::warning::{Warning, WarningKind};

/// From this share on, it is told.
const SHARE: f64 = 0.05;

/// That many writes of a run waited for another write of their chunk, which so many did, or had to
/// read the rest of it first.
pub(super) fn partial_chunks(run: &Run, seen: &Seen) -> Option<Warning> {
    let Seen {
        held, read_first, ..
    } = *seen;
    let name = run.config[<dyn Placement as Kind>::CARD.key]["name"].as_str()?;
    let kib = seen.copy_unit?.bytes() / 1_024;
    let writes = run.operations.get(Op::Write.name()).copied().unwrap_or(0);
    let ReadFirst { all, read } = read_first;
    let told = [
        (
            held,
            writes,
            "writes",
            "waited until another write of the same chunk had ended",
        ),
        (
            read,
            all,
            "writes of the drives for requests",
            "had to read first what the request does not write of a chunk",
        ),
    ];
    let told = told.into_iter().filter_map(|(some, all, what, why)| {
        let share = some as f64 / all.max(1) as f64;
        let (some, all, percent) = (grouped(some), grouped(all), number(100.0 * share));
        (share >= SHARE).then(|| format!("{some} of {all} {what} ({percent} %) {why}"))
    });
    let told: Vec<String> = told.collect();
    let text = format!(
        "{}: {name} keeps chunks of {kib} KiB, and a request that begins or ends within one pays for that, on a disk often with a turn; where requests begin and end at \
         multiples of {kib} KiB, as in an aligned partition, none does",
        told.join(", and ")
    );
    (!told.is_empty()).then(|| Warning::new(WarningKind::PartialChunks, text).of_run(&run.label))
}
