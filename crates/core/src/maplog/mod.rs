//! The map of an eager-writing volume, kept safe: what has to be on a drive or in NVRAM so that no
//! crash loses it.
//!
//! Eager writing finds a block by its map alone, so the map must survive whatever the drives
//! survive. Two ways are here, both from the literature, both pure: they say which bytes go where
//! and take bytes back, and somebody else does the I/O.
//!
//! | Way | Files | Needs |
//! |---|---|---|
//! | log and rotating checkpoints | [`layout`], [`home`], [`nvram`], [`log`], [`recovery`] | a region of a drive, and a few KiB of NVRAM or a write per update |
//! | virtual log | [`virtual_log`], [`virtual_recovery`] | a slot for every thousand chunks, one write per update |
//!
//! With a log in NVRAM an update costs a few nanoseconds, and one write for some hundred of them.
//! Without NVRAM the log is written before each acknowledgement, at its own place. The virtual log
//! writes one map sector before each, but eagerly, next to the heads. [`format`](mod@format) has
//! the bytes of both, [`unique`] the last check of both: no two blocks of a drive lie in one slot.
//!
//! The words of the log with checkpoints:
//!
//! ```text
//! map            portion 0         | portion 1         | ...    M portions, written in turns: each once is a checkpoint
//!                piece piece piece | piece piece piece | ...    a piece is small enough for one write
//! log            batch piece batch batch piece batch ...        its records: a batch has changes of the map, a piece a part of it as it is
//!                ^ tail: recovery begins here        ^ head: the next record goes here
//! record         header, payload                                a header begins with a prelude, as all that is kept safe does
//! cursor         head, number of the next record, where portions began: how far the log has come
//! control block  the cursor with geometry and settings, as it survives a power cut
//! NVRAM          two control blocks, and two halves: one takes changes while the other is written as a batch
//! ```
//!
//! Volumes whose copies lie at fixed places have no map, but need to know which copies are current:
//! [`copies`]. Volumes with parity need to know where it may not hold, and which blocks only it
//! tells: [`rows`]. A write buffer above any volume needs to know what it has: [`buffered`].
//!
//! The caller keeps this order, or a crash shows one block's data under another's address: data on
//! the platter, then the entry recorded, then the acknowledgement, and only then is the old slot
//! free.
//!
//! Sources: Zhang, Yu, Krishnamurthy and Wang, "Configuring and scheduling an eager-writing disk
//! array for a transaction processing workload", FAST 2002, section 5; Wang, Anderson and
//! Patterson, "Virtual log based file systems for a programmable disk", OSDI 1999, section 3.

use std::fmt;

use crate::ids::DriveId;

pub mod buffered;
mod control;
pub mod copies;
mod cursor;
pub mod format;
pub mod home;
mod in_nvram;
mod keeper;
pub mod layout;
pub mod log;
pub mod nvram;
mod on_drive;
pub mod recovery;
mod recovery_on_drive;
pub mod rows;
pub mod unique;
pub mod virtual_log;
pub mod virtual_recovery;

#[cfg(test)]
mod copies_tests;
#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod drive_tests;
#[cfg(test)]
mod two_drives_tests;
#[cfg(test)]
mod virtual_tests;
#[cfg(test)]
mod world;

pub use buffered::BufferTable;
pub use control::Lacking;
pub use copies::CopiesTable;
pub use format::{Damage, DamageAt, Fault};
pub use home::Home;
pub use layout::{CONTROL_LEN, Refused, Settings, control_places};
pub use log::{LogWrite, MapLog};
pub use nvram::Nvram;
pub use recovery::{Recovered, Recovery};
pub use recovery_on_drive::{Has, Reached, Survey};
pub use rows::{Parities, RowsTable};
pub use virtual_log::{Dirty, Placed, SectorWrite, Spot, Tail, VirtualLog};
pub use virtual_recovery::{VirtualRecovered, VirtualRecovery};

/// The slot of a copy that lies nowhere: never written, discarded, or stale because a newer one has
/// not reached it yet.
pub const NOWHERE: u32 = u32::MAX;

/// Copies that an entry can tell apart.
const COPIES_MAX: u8 = 127;

/// On which drives the copies of a chunk lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Each copy has drives of its own, as many as there are columns.
    ByCopy = 0,
    /// A column is a pair of drives for two copies; unit by unit they take turns with the first
    /// one.
    ByPair = 1,
}

impl Spread {
    /// As it is written.
    fn to_byte(self) -> u8 {
        self as u8
    }

    /// Says that what was written for another volume is not for this one.
    fn check(self, byte: u8) -> Result<(), Fault> {
        let found = match byte {
            0 => Spread::ByCopy,
            1 => Spread::ByPair,
            _ => return Err(Fault::outside("way to spread copies", byte.into(), 0, 1)),
        };
        let allowed = self;
        match found == allowed {
            true => Ok(()),
            false => Err(Fault::Spread { found, allowed }),
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Spread::ByCopy => "on drives of their own",
            Spread::ByPair => "on pairs of drives",
        })
    }
}

/// What a map is of, and which drive has what of it: the copies of a volume that is striped over
/// columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Who the volume is: a log of another one is not taken for its own.
    pub volume: u64,
    /// Chunks of the volume.
    pub chunks: u32,
    /// Copies of each (Dm).
    pub copies: u8,
    /// Drives, or pairs of drives, that a copy is striped over (Ds times Dd).
    pub columns: u16,
    /// Chunks side by side on one column before the next one follows.
    pub unit: u32,
    /// Which drives a column has.
    pub spread: Spread,
    /// Slots of a drive; of unlike drives, of the one that has most.
    pub slots: u32,
}

impl Geometry {
    /// The drive on which a copy of a chunk lies, and its number among the drive's own. Of pairs,
    /// what is a first copy comes first on each drive.
    #[inline]
    pub fn place(&self, copy: u8, chunk: u32) -> (DriveId, u32) {
        // One column needs no division, and this is asked at every step.
        if self.columns == 1 && self.spread == Spread::ByCopy {
            return (DriveId(copy.into()), chunk);
        }
        let (unit, within) = (chunk / self.unit, chunk % self.unit);
        let columns = u32::from(self.columns);
        let (column, row) = (unit % columns, unit / columns);
        match self.spread {
            Spread::ByCopy => {
                let drive = u32::from(copy) * columns + column;
                (DriveId(drive as u16), row * self.unit + within)
            }
            Spread::ByPair => {
                let drive = 2 * column + (row + u32::from(copy)) % 2;
                let firsts = self.chunks / (2 * columns);
                let number = row / 2 * self.unit + within;
                (DriveId(drive as u16), u32::from(copy) * firsts + number)
            }
        }
    }

    /// The drive on which a copy of a chunk lies.
    #[inline]
    pub fn drive(&self, copy: u8, chunk: u32) -> DriveId {
        self.place(copy, chunk).0
    }

    /// Drives of the array.
    pub fn drives(&self) -> u16 {
        u16::from(self.copies) * self.columns
    }

    /// Entries of the map: copies times chunks.
    pub fn entries(&self) -> u64 {
        u64::from(self.copies) * u64::from(self.chunks)
    }

    /// Says what cannot be.
    fn check(&self) -> Result<(), Refused> {
        let at_least_one = |what, value: u64| match value {
            0 => Err(Refused::new(what, 0, "at least 1")),
            _ => Ok(()),
        };
        at_least_one("chunks", self.chunks.into())?;
        at_least_one("copies", self.copies.into())?;
        at_least_one("columns", self.columns.into())?;
        at_least_one("chunks in a unit", self.unit.into())?;
        at_least_one("slots", self.slots.into())?;
        if self.slots == NOWHERE {
            return Err(Refused::new("slots", NOWHERE.into(), "fewer than 2^32 - 1"));
        }
        if self.copies > COPIES_MAX {
            let allowed = format!("at most {COPIES_MAX}");
            return Err(Refused::new("copies", self.copies.into(), allowed));
        }
        let drives = u64::from(self.copies) * u64::from(self.columns);
        if u16::try_from(drives).is_err() {
            return Err(Refused::new("drives", drives, "at most 65535"));
        }
        match self.spread {
            Spread::ByCopy => Ok(()),
            Spread::ByPair => self.check_pairs(),
        }
    }

    /// Pairs have two copies, and both drives as many first ones.
    fn check_pairs(&self) -> Result<(), Refused> {
        if self.copies != 2 {
            let allowed = "2, on pairs of drives";
            return Err(Refused::new("copies", self.copies.into(), allowed));
        }
        let turns = 2 * u64::from(self.columns) * u64::from(self.unit);
        if !u64::from(self.chunks).is_multiple_of(turns) {
            let allowed = format!("a multiple of {turns}, on pairs of drives");
            return Err(Refused::new("chunks", self.chunks.into(), allowed));
        }
        Ok(())
    }
}

/// A copy of a chunk has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which copy.
    pub copy: u8,
    /// Which chunk.
    pub chunk: u32,
    /// Where it lies now; [`NOWHERE`] if it was discarded or has become stale.
    pub slot: u32,
    /// Whether all other copies lie nowhere from now on: they are stale. In one entry, so that no
    /// power cut comes between.
    pub alone: bool,
}

/// The map in memory, as the logs read it. It has to hold every entry that was recorded, and
/// nothing else.
pub trait MapView {
    /// The slots of consecutive chunks of a copy.
    fn read(&self, copy: u8, first: u32, out: &mut [u32]);
}

/// A map: where each copy of each chunk lies. Four bytes an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// By copy, then by chunk.
    pub copies: Vec<Vec<u32>>,
}

impl Map {
    /// A map in which everything lies at this slot. Of all slots 0 is the cheapest: the system's
    /// memory has it already.
    fn all(geometry: &Geometry, slot: u32) -> Map {
        let copy = || vec![slot; geometry.chunks as usize];
        Map {
            copies: (0..geometry.copies).map(|_| copy()).collect(),
        }
    }

    /// A map in which nothing lies anywhere.
    pub fn empty(geometry: &Geometry) -> Map {
        Map::all(geometry, NOWHERE)
    }

    /// Where a copy of a chunk lies.
    #[inline]
    pub fn slot(&self, copy: u8, chunk: u32) -> u32 {
        self.copies[usize::from(copy)][chunk as usize]
    }

    /// Enters where it lies, and says where it lay.
    #[inline]
    pub fn set(&mut self, entry: Entry) -> u32 {
        if entry.alone {
            let copies = self.copies.iter_mut().enumerate();
            let others = copies.filter(|(copy, _)| *copy != usize::from(entry.copy));
            others.for_each(|(_, slots)| slots[entry.chunk as usize] = NOWHERE);
        }
        let slot = &mut self.copies[usize::from(entry.copy)][entry.chunk as usize];
        std::mem::replace(slot, entry.slot)
    }

    /// The entries from this one on, counted copy by copy, as far as they lie side by side.
    fn run_mut(&mut self, first: u64) -> &mut [u32] {
        let chunks = self.copies[0].len() as u64;
        let (copy, chunk) = (first / chunks, first % chunks);
        &mut self.copies[copy as usize][chunk as usize..]
    }
}

impl MapView for Map {
    fn read(&self, copy: u8, first: u32, out: &mut [u32]) {
        let from = &self.copies[usize::from(copy)][first as usize..];
        out.copy_from_slice(&from[..out.len()]);
    }
}

/// Writes entries of the map, counted copy by copy from `first` on, as little-endian bytes.
fn put_entries(geometry: &Geometry, map: &dyn MapView, first: u64, bytes: &mut [u8]) {
    const AT_ONCE: usize = 512;
    let mut slots = [0; AT_ONCE];
    let chunks = u64::from(geometry.chunks);
    let (mut at, mut rest) = (first, bytes);
    while !rest.is_empty() {
        let (copy, chunk) = (at / chunks, at % chunks);
        let of_copy = (chunks - chunk).min(AT_ONCE as u64);
        let count = (rest.len() / 4).min(of_copy as usize);
        let slots = &mut slots[..count];
        map.read(copy as u8, chunk as u32, slots);
        let (now, later) = rest.split_at_mut(count * 4);
        for (bytes, slot) in now.chunks_exact_mut(4).zip(slots) {
            bytes.copy_from_slice(&slot.to_le_bytes());
        }
        (at, rest) = (at + count as u64, later);
    }
}

/// Takes entries of the map from bytes; if one is impossible, which.
fn take_entries(geometry: &Geometry, map: &mut Map, first: u64, bytes: &[u8]) -> Result<(), u64> {
    let (mut at, mut rest) = (first, bytes);
    while !rest.is_empty() {
        let run = map.run_mut(at);
        let count = run.len().min(rest.len() / 4);
        let (now, later) = rest.split_at(count * 4);
        let mut impossible = false;
        for (entry, bytes) in run.iter_mut().zip(now.chunks_exact(4)) {
            let slot = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
            *entry = slot;
            // NOWHERE becomes 0.
            impossible |= slot.wrapping_add(1) > geometry.slots;
        }
        if impossible {
            let bad = |slot: &u32| slot.wrapping_add(1) > geometry.slots;
            let index = run[..count].iter().position(bad).expect("one is");
            return Err(at + index as u64);
        }
        (at, rest) = (at + count as u64, later);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry = Geometry {
        volume: 1,
        chunks: 10,
        copies: 3,
        columns: 2,
        unit: 4,
        spread: Spread::ByCopy,
        slots: 100,
    };

    #[test]
    fn stripes_go_round_the_columns_of_a_copy() {
        let drives = |copy| (0..10).map(move |chunk| GEOMETRY.drive(copy, chunk).0);
        assert!(drives(0).eq([0, 0, 0, 0, 1, 1, 1, 1, 0, 0]));
        assert!(drives(2).eq([4, 4, 4, 4, 5, 5, 5, 5, 4, 4]));
        assert_eq!(GEOMETRY.drives(), 6);
    }

    #[test]
    fn every_place_of_a_drive_is_used_once() {
        let of = |copies, spread| Geometry {
            chunks: 2 * 3 * 4 * 5,
            copies,
            columns: 3,
            spread,
            ..GEOMETRY
        };
        for geometry in [of(3, Spread::ByCopy), of(2, Spread::ByPair)] {
            let chunks = 0..geometry.chunks;
            let all = chunks.flat_map(|chunk| (0..geometry.copies).map(move |c| (c, chunk)));
            let mut found: Vec<_> = all
                .map(|(copy, chunk)| geometry.place(copy, chunk))
                .collect();
            found.sort_unstable();
            let of_drive = geometry.entries() as u32 / u32::from(geometry.drives());
            let drives = (0..geometry.drives()).map(DriveId);
            let expected = drives.flat_map(|drive| (0..of_drive).map(move |local| (drive, local)));
            assert!(found.into_iter().eq(expected), "{geometry:?}");
        }
    }

    #[test]
    fn drives_of_a_pair_take_turns_with_first_copies() {
        let geometry = Geometry {
            chunks: 32,
            copies: 2,
            spread: Spread::ByPair,
            ..GEOMETRY
        };
        let units = |copy| (0..8).map(move |unit| geometry.place(copy, unit * 4 + 1));
        let place = |(drive, local)| (DriveId(drive), local);
        let firsts = [
            (0, 1),
            (2, 1),
            (1, 1),
            (3, 1),
            (0, 5),
            (2, 5),
            (1, 5),
            (3, 5),
        ];
        assert!(units(0).eq(firsts.map(place)));
        let seconds = [
            (1, 9),
            (3, 9),
            (0, 9),
            (2, 9),
            (1, 13),
            (3, 13),
            (0, 13),
            (2, 13),
        ];
        assert!(units(1).eq(seconds.map(place)));
        assert_eq!(geometry.drives(), 4);
    }

    #[test]
    fn entries_go_to_bytes_and_back_across_copies() {
        let mut map = Map::empty(&GEOMETRY);
        for index in 0..30 {
            let slot = if index % 7 == 0 { NOWHERE } else { index };
            map.copies[index as usize / 10][index as usize % 10] = slot;
        }
        let mut bytes = [0; 22 * 4];
        put_entries(&GEOMETRY, &map, 5, &mut bytes);
        let mut back = Map::all(&GEOMETRY, 99);
        assert_eq!(take_entries(&GEOMETRY, &mut back, 5, &bytes), Ok(()));
        let flat = |map: &Map| map.copies.concat();
        assert_eq!(flat(&back)[5..27], flat(&map)[5..27]);
        assert_eq!(flat(&back)[..5], [99; 5]);
        assert_eq!(flat(&back)[27..], [99; 3]);
    }

    #[test]
    fn an_entry_beyond_the_slots_is_named() {
        let mut map = Map::empty(&GEOMETRY);
        let bytes: Vec<u8> = [99u32, NOWHERE, 100].map(u32::to_le_bytes).concat();
        assert_eq!(take_entries(&GEOMETRY, &mut map, 9, &bytes), Err(11));
    }

    #[test]
    fn a_geometry_that_cannot_be_is_refused() {
        let refused = |geometry: Geometry| geometry.check().unwrap_err().to_string();
        let none = Geometry {
            copies: 0,
            ..GEOMETRY
        };
        assert_eq!(refused(none), "copies is 0, allowed is at least 1");
        let many = Geometry {
            columns: 40_000,
            ..GEOMETRY
        };
        assert_eq!(refused(many), "drives is 120000, allowed is at most 65535");
        let pairs = Geometry {
            spread: Spread::ByPair,
            ..GEOMETRY
        };
        assert_eq!(
            refused(pairs),
            "copies is 3, allowed is 2, on pairs of drives"
        );
        assert_eq!(
            refused(Geometry { copies: 2, ..pairs }),
            "chunks is 10, allowed is a multiple of 16, on pairs of drives"
        );
    }
}
