//! The drives of the catalog by their size: which disks are of today, and which disks and flash
//! drives are large enough for a load.

use std::sync::LazyLock;

use nearslot_core::drive::{self, CATALOG, Entry};
use nearslot_core::units::Blocks;

/// The year from which disks of the catalog are of today.
pub const TODAY_SINCE: u32 = 2005;

/// A disk of the catalog, or another drive of it.
#[derive(Clone, Copy)]
pub(crate) struct Disk {
    pub(crate) name: &'static str,
    pub(crate) capacity: Blocks,
    pub(crate) year: Option<u32>,
}

// Each kind is read once: that takes longer than a short run.
static DISKS: LazyLock<Vec<Disk>> = LazyLock::new(|| drives(Entry::is_disk));
static FLASH: LazyLock<Vec<Disk>> = LazyLock::new(|| drives(Entry::is_flash));

/// Such drives of the catalog, smallest first.
fn drives(are: fn(&Entry) -> bool) -> Vec<Disk> {
    let disk = |entry: &Entry| {
        let (blueprint, _) = drive::read(entry.name, entry.text, &[]).ok()?;
        Some(Disk {
            name: entry.name,
            capacity: blueprint.capacity(),
            year: entry.year(),
        })
    };
    let entries = CATALOG.iter().filter(|entry| are(entry));
    let mut drives: Vec<Disk> = entries.filter_map(disk).collect();
    drives.sort_by_key(|drive| drive.capacity);
    drives
}

/// The disks of the catalog, smallest first.
pub(crate) fn disks() -> &'static [Disk] {
    &DISKS
}

/// The disks of today, smallest first. The catalog has some; a test holds it to that.
pub(crate) fn of_today() -> Vec<Disk> {
    let is_of_today = |disk: &&Disk| disk.year.is_some_and(|year| year >= TODAY_SINCE);
    disks().iter().filter(is_of_today).copied().collect()
}

/// Those that have so many blocks, in their order, but for those that stand for the drive of one
/// study and tell no year.
fn large(drives: &[Disk], blocks: Blocks) -> Vec<&'static str> {
    let proposed = |disk: &&Disk| disk.year.is_some() && disk.capacity >= blocks;
    let large = drives.iter().filter(proposed);
    large.map(|disk| disk.name).collect()
}

/// The disks of the catalog that have so many blocks, smallest first.
pub(crate) fn names(blocks: Blocks) -> Vec<&'static str> {
    large(disks(), blocks)
}

/// The drives of the catalog that have so many blocks, each kind for itself, in words for a
/// message.
pub(crate) fn large_enough(blocks: Blocks) -> String {
    let flash = large(&FLASH, blocks);
    let kinds = [("the disks", names(blocks)), ("the flash drives", flash)];
    let found = kinds.iter().filter(|(_, names)| !names.is_empty());
    let told = found.map(|(kind, names)| format!("{kind} {}", names.join(", ")));
    let told: Vec<String> = told.collect();
    match told.is_empty() {
        true => "no drive of the catalog is large enough".to_owned(),
        false => format!(
            "of the catalog these are large enough: {}",
            told.join(", and ")
        ),
    }
}
