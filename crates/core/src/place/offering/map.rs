//! Where the units of a volume lie, with entries only near those that are elsewhere than in the
//! beginning.

use std::collections::BTreeMap;
use std::ops::Range;

use super::homes::Homes;

/// Units of a table.
const TABLE: u64 = 32;
/// The place of what lies nowhere.
const NOWHERE: u64 = u64::MAX;

/// The place of each unit of a volume. O(log n) of the tables.
pub(super) struct Map {
    homes: Homes,
    tables: BTreeMap<u64, Box<[u64; TABLE as usize]>>,
}

/// Units of the volume that lie in a row on the drive, or nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Where the first of them lies; none if they lie nowhere.
    pub(super) place: Option<u64>,
    pub(super) units: u64,
}

impl Map {
    pub(super) fn new(homes: Homes) -> Map {
        Map {
            homes,
            tables: BTreeMap::new(),
        }
    }

    /// Where a unit lies, if it lies anywhere.
    pub(super) fn place(&self, unit: u64) -> Option<u64> {
        let table = self.tables.get(&(unit / TABLE));
        let place = table.map_or_else(
            || self.homes.place(unit),
            |table| table[(unit % TABLE) as usize],
        );
        Some(place).filter(|place| *place != NOWHERE)
    }

    /// A unit lies there from now on; where it has lain.
    pub(super) fn put(&mut self, unit: u64, place: Option<u64>) -> Option<u64> {
        let (homes, first) = (self.homes, unit - unit % TABLE);
        let table = self.tables.entry(unit / TABLE).or_insert_with(|| {
            // The last table reaches beyond the volume.
            let at = |unit| match unit < homes.volume() {
                true => homes.place(unit),
                false => NOWHERE,
            };
            Box::new(std::array::from_fn(|index| at(first + index as u64)))
        });
        let entry = &mut table[(unit % TABLE) as usize];
        let old = std::mem::replace(entry, place.unwrap_or(NOWHERE));
        Some(old).filter(|old| *old != NOWHERE)
    }

    /// Units near those that were moved, where they lie anywhere, with their places.
    pub(super) fn moved(&self) -> impl Iterator<Item = (u64, u64)> {
        let tables = self.tables.iter();
        let entries =
            tables.flat_map(|(table, places)| (table * TABLE..).zip(places.iter().copied()));
        entries.filter(|(_, place)| *place != NOWHERE)
    }

    /// Units of the volume that lie nowhere.
    pub(super) fn nowhere(&self) -> impl Iterator<Item = u64> {
        let tables = self.tables.iter();
        let entries =
            tables.flat_map(|(table, places)| (table * TABLE..).zip(places.iter().copied()));
        let volume = self.homes.volume();
        let nowhere = entries.filter(move |(unit, place)| *unit < volume && *place == NOWHERE);
        nowhere.map(|(unit, _)| unit)
    }

    /// The first of some units, and those that follow it in a row.
    pub(super) fn run(&self, units: Range<u64>) -> Run {
        let place = self.place(units.start);
        let follows = |unit: &u64| match place {
            Some(place) => self.place(*unit) == Some(place + *unit - units.start),
            None => self.place(*unit).is_none(),
        };
        let more = (units.start + 1..units.end).take_while(follows).count() as u64;
        Run {
            place,
            units: 1 + more,
        }
    }
}
