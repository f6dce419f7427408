//! The disks of the catalog by their size: which are of today, and which are large enough for a load.

use nearslot_core::drive::{self, CATALOG, Entry};
use nearslot_core::units::Blocks;

/// The year from which disks of the catalog are of today.
pub const TODAY_SINCE: u32 = 2005;

/// A disk of the catalog.
pub(crate) struct Disk {
    pub(crate) name: &'static str,
    pub(crate) capacity: Blocks,
    pub(crate) year: Option<u32>,
}

/// The disks of the catalog, smallest first.
pub(crate) fn disks() -> Vec<Disk> {
    let disk = |entry: &Entry| {
        let (blueprint, _) = drive::read(entry.name, entry.text, &[]).ok()?;
        entry.is_disk().then(|| Disk {
            name: entry.name,
            capacity: blueprint.capacity(),
            year: entry.year(),
        })
    };
    let mut disks: Vec<Disk> = CATALOG.iter().filter_map(disk).collect();
    disks.sort_by_key(|disk| disk.capacity);
    disks
}

/// The disks of today, smallest first. The catalog has some; a test holds it to that.
pub(crate) fn of_today() -> Vec<Disk> {
    let mut disks = disks();
    disks.retain(|disk| disk.year.is_some_and(|year| year >= TODAY_SINCE));
    disks
}

/// The disks of the catalog that have so many blocks, smallest first, but for those that stand for the disk of one study and tell no year.
pub(crate) fn names(blocks: Blocks) -> Vec<&'static str> {
    let proposed = |disk: &Disk| disk.year.is_some() && disk.capacity >= blocks;
    let large = disks().into_iter().filter(proposed);
    large.map(|disk| disk.name).collect()
}

/// The same, in words for a message.
pub(crate) fn large_enough(blocks: Blocks) -> String {
    let names = names(blocks);
    if names.is_empty() {
        "no drive of the catalog is large enough".to_owned()
    } else {
        format!("large enough are, of the catalog, {}", names.join(", "))
    }
}
