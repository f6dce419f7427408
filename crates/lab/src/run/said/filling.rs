//! Write caches of drives that fill as long as requests come.
//!
//! A write that a cache takes is answered at once. So a short load may never find out how fast the drives write: what is measured then tells how long it is, as with a queue
//! that grows.

use crate::measure::Filling;
use crate::number::{grouped, number};
use crate::warning::{Warning, WarningKind};

/// That write caches filled as long as requests came.
pub(super) fn filling(label: &str, filling: Option<Filling>) -> Option<Warning> {
    let Filling {
        rps, full_after, ..
    } = filling?;
    let full = full_after.map_or_else(String::new, |requests| {
        format!(
            " (which are full after about {} requests)",
            grouped(requests)
        )
    });
    let text = format!(
        "the drives had not yet written what they had answered, by {} requests a second more as long as requests came, so response times and rates tell how long the load is: \
         they are those of write caches that fill{full}; more requests tell those of the drives",
        number(rps)
    );
    Some(Warning::new(WarningKind::FillingCaches, text).of_run(label))
}
