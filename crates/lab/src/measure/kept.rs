//! What a write buffer has kept all along: then no time of a run tells what writes cost the drives.

use nearslot_core::contract::Destage;
use nearslot_core::registry::Kind;

use crate::outcome::Run;

/// How many pages are in the write buffer at the end of a run during which it gave its drives
/// nothing; `None` if it gave them something, or had nothing to give.
pub(crate) fn all_pages(run: &Run) -> Option<u64> {
    let count = |name: &str| run.measure(<dyn Destage as Kind>::CARD.key, name);
    let [destaged, dirty] = [count("destaged_pages")?, count("dirty_pages")?];
    (destaged.value() == 0.0 && dirty.value() > 0.0).then(|| dirty.value() as u64)
}
