//! One drive of a volume: where the copies lie that it has, what is free there, and who waits for
//! that.
//!
//! A place that is read from when its unit moves becomes free only when that read has ended. What
//! could not be written, or may have been, is never free again, up to a quarter of what was free.
//! Each write keeps its units from others until it has ended, so one that would need more than is
//! left waits.
//!
//! A unit is *doubtful* here if it lies on other drives alone, or could not be read here. It is
//! read elsewhere, as long as it can be, and waits to be renewed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use super::homes::Homes;
use super::map::Map;
use super::space::Space;
use crate::io::Tag;
use crate::plan::Plan;
use crate::sorted::{Keyed, Sorted};

/// At most one in so many of the units that are free in the beginning is retired, so that there is
/// always room.
const RETIRED_SHARE: u64 = 4;

/// Reads under way from a unit of the drive.
#[derive(Clone, Copy, Debug)]
struct Readers {
    place: u64,
    count: u32,
    /// Its unit of the volume has moved: it becomes free with the last of them.
    left: bool,
    /// But not that: nobody has it any more.
    retired: bool,
}

impl Keyed for Readers {
    type Key = u64;

    #[inline]
    fn key(&self) -> u64 {
        self.place
    }
}

/// A unit that is being read elsewhere, to be written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Renewing {
    pub(super) unit: u64,
    /// It was written or discarded meanwhile: what was read is old.
    pub(super) spoiled: bool,
}

/// A drive of a volume.
pub(super) struct PerDrive {
    homes: Homes,
    pub(super) map: Map,
    pub(super) space: Space,
    /// Units of the drive that are read from.
    readers: Sorted<Readers>,
    /// Of these, such as become free with the last read.
    pub(super) left: u64,
    /// Units that are never free again.
    retired: u64,
    /// Units that range writes under way take.
    pub(super) promised: u64,
    /// Range writes that wait until enough is free, the oldest first, by the key of what is under
    /// way, with their units.
    waiting: VecDeque<(usize, u64)>,
    /// One that waits from the next end of an I/O on.
    late: Option<(usize, u64)>,
    /// Units of the volume.
    doubtful: BTreeSet<u64>,
    /// Of these, such as are to be renewed, and how often that has failed.
    pub(super) renewals: BTreeMap<u64, u8>,
    pub(super) renewing: Option<Renewing>,
}

impl PerDrive {
    /// A drive of so many units of so many blocks, where nothing was written.
    pub(super) fn new(units: u64, chunk: u64, homes: Homes) -> PerDrive {
        PerDrive {
            homes,
            map: Map::new(homes),
            space: Space::new(units, chunk, homes),
            readers: Sorted::default(),
            left: 0,
            retired: 0,
            promised: 0,
            waiting: VecDeque::new(),
            late: None,
            doubtful: BTreeSet::new(),
            renewals: BTreeMap::new(),
            renewing: None,
        }
    }

    /// Whether a write of so many units may go now. Otherwise it is to wait.
    pub(super) fn may_go(&self, units: u64) -> bool {
        self.waiting.is_empty() && self.fits(units)
    }

    /// Whether so many units are free that nobody else is to have. Alone a write of several may
    /// always be tried: it is cut in halves.
    fn fits(&self, units: u64) -> bool {
        let alone = self.promised == 0 && units > 1;
        alone || self.promised + units <= self.space.free()
    }

    /// A write of so many units waits, behind all others.
    pub(super) fn waits(&mut self, key: usize, units: u64) {
        self.waiting.push_back((key, units));
    }

    /// The same, from the next end of an I/O on.
    pub(super) fn waits_later(&mut self, key: usize, units: u64) {
        self.late = Some((key, units));
    }

    /// Lets range writes go that waited, as far as enough is free.
    pub(super) fn admit(&mut self, out: &mut Plan) {
        while let Some((key, units)) = self.waiting.front().copied() {
            if !self.fits(units) {
                return;
            }
            self.waiting.pop_front();
            self.promised += units;
            out.open(Tag(key as u64));
        }
    }

    /// An I/O has ended: who found nothing then waits like all others.
    pub(super) fn wait_like_others(&mut self) {
        self.waiting.extend(self.late.take());
    }

    /// A unit of the volume lies there from now on, for which room was promised.
    pub(super) fn lands(&mut self, unit: u64, place: u64) {
        self.space.take(place);
        let old = self.map.put(unit, Some(place));
        self.vacate(old);
        self.believe(unit);
    }

    /// A unit of the volume lies here no longer; where it has lain.
    pub(super) fn leaves(&mut self, unit: u64) -> Option<u64> {
        let place = self.map.place(unit)?;
        self.map.put(unit, None);
        self.vacate(Some(place));
        Some(place)
    }

    /// What these units of the drive hold is not known, or may change: nobody has them any more, as
    /// long as enough others are free.
    pub(super) fn retire(&mut self, units: Range<u64>) {
        let most = (self.space.units() - self.homes.volume()) / RETIRED_SHARE;
        for unit in units {
            // A drive that chooses places does not tell where it failed when it is gone or silent.
            if self.space.is_free(unit) && self.retired < most {
                self.space.take(unit);
                self.retired += 1;
            } else if let Some(readers) = self.readers.take(&unit) {
                let retires = readers.left && !readers.retired && self.retired < most;
                let retired = readers.retired || retires;
                self.readers.insert(Readers { retired, ..readers });
                self.retired += u64::from(retires);
            }
        }
    }

    /// A unit of the drive holds nothing of the volume any more.
    fn vacate(&mut self, place: Option<u64>) {
        let Some(place) = place else {
            return;
        };
        match self.readers.take(&place) {
            Some(readers) => {
                let left = true;
                self.readers.insert(Readers { left, ..readers });
                self.left += 1;
            }
            None => self.space.release(place),
        }
    }

    pub(super) fn read_begins(&mut self, places: Range<u64>) {
        for place in places {
            let none = Readers {
                place,
                count: 0,
                left: false,
                retired: false,
            };
            let readers = self.readers.take(&place).unwrap_or(none);
            let count = readers.count + 1;
            self.readers.insert(Readers { count, ..readers });
        }
    }

    pub(super) fn read_ended(&mut self, places: Range<u64>) {
        for place in places {
            let readers = self.readers.take(&place);
            let readers = readers.expect("a read is under way there");
            let count = readers.count - 1;
            if count > 0 {
                self.readers.insert(Readers { count, ..readers });
            } else if readers.left {
                self.left -= 1;
                if !readers.retired {
                    self.space.release(place);
                }
            }
        }
    }

    /// A unit lies on other drives alone.
    pub(super) fn miss(&mut self, unit: u64) {
        self.doubtful.insert(unit);
        self.renewals.insert(unit, 0);
    }

    /// A unit could not be read here. That gives none a new try that was given up: it may be bad on
    /// all drives.
    pub(super) fn doubt(&mut self, unit: u64) {
        if self.doubtful.insert(unit) {
            self.renewals.insert(unit, 0);
        }
    }

    /// A unit was written here, or nowhere lies any more.
    pub(super) fn believe(&mut self, unit: u64) {
        self.doubtful.remove(&unit);
        self.renewals.remove(&unit);
    }

    pub(super) fn is_doubtful(&self, unit: u64) -> bool {
        self.doubtful.contains(&unit)
    }

    /// Units that lie on other drives alone, or could not be read.
    pub(super) fn doubtful(&self) -> impl Iterator<Item = u64> {
        self.doubtful.iter().copied()
    }

    /// Whether a unit waits to be renewed here.
    pub(super) fn renews(&self, unit: u64) -> bool {
        self.renewals.contains_key(&unit)
    }

    /// Whether every unit that lies anywhere lies here, and can be read as far as is known.
    pub(super) fn is_sound(&self) -> bool {
        self.doubtful.is_empty()
    }

    /// These units of the volume are written, or hold nothing any more: what is being renewed of
    /// them is old.
    pub(super) fn spoil(&mut self, units: &Range<u64>) {
        if let Some(renewing) = &mut self.renewing {
            renewing.spoiled |= units.contains(&renewing.unit);
        }
    }

    /// Whether a write with this key waits for room.
    pub(super) fn is_waiting(&self, key: usize) -> bool {
        self.waiting.iter().any(|(waits, _)| *waits == key)
    }

    /// Recounts everything and panics on a contradiction; `under_way` are the units of range writes
    /// that do not wait.
    pub(super) fn audit(&self, under_way: u64) {
        for (unit, place) in self.map.moved() {
            let is_free = self.space.is_free(place);
            assert!(!is_free, "unit {unit} lies at {place}, which is free");
        }
        self.space.audit();
        for readers in self.readers.iter() {
            let place = readers.place;
            assert!(!self.space.is_free(place), "{place} is read from and free");
        }
        let left = self.readers.iter().filter(|readers| readers.left).count();
        assert_eq!(left as u64, self.left, "units that were left");
        assert_eq!(under_way, self.promised, "units are promised to nobody");
        let mut renewals = self.renewals.keys();
        assert!(
            renewals.all(|unit| self.is_doubtful(*unit)),
            "what is in no doubt is renewed"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// What each place of a drive is used for, place by place.
    struct Twin {
        /// By unit of the volume.
        places: Vec<Option<u64>>,
        reads: Vec<Range<u64>>,
        retired: Vec<u64>,
    }

    impl Twin {
        fn is_free(&self, place: u64) -> bool {
            let lies = self.places.contains(&Some(place));
            let is_read = self.reads.iter().any(|read| read.contains(&place));
            !lies && !is_read && !self.retired.contains(&place)
        }

        /// At most so many places are retired, and none where something lies.
        fn retire(&mut self, place: u64, most: u64) {
            let holds = self.places.contains(&Some(place));
            let gone = holds || self.retired.contains(&place);
            if !gone && (self.retired.len() as u64) < most {
                self.retired.push(place);
            }
        }

        /// Places that are read from, and nothing lies there.
        fn left(&self, places: u64) -> u64 {
            let left = (0..places).filter(|place| {
                let lies = self.places.contains(&Some(*place));
                !lies && self.reads.iter().any(|read| read.contains(place))
            });
            left.count() as u64
        }
    }

    /// A write in place has failed while the same was read: what lies there is not known, and
    /// nobody is to have it.
    #[test]
    fn a_place_that_may_be_bad_is_not_free_when_its_reads_have_ended() {
        let homes = Homes::new(40, 10, 10.0 / 7.0).expect("it is a pattern");
        let mut drive = PerDrive::new(40, 8, homes);
        let free = drive.space.free();
        drive.read_begins(3..4);
        drive.read_begins(3..4);
        assert_eq!(drive.leaves(3), Some(3));
        drive.retire(3..4);
        drive.audit(0);
        drive.read_ended(3..4);
        drive.read_ended(3..4);
        drive.audit(0);
        assert!(!drive.space.is_free(3));
        assert_eq!((drive.space.free(), drive.left), (free, 0));
    }

    #[test]
    fn a_place_is_free_if_nothing_lies_there_or_is_read_from_there() {
        const UNITS: u64 = 60;
        let mut retired = 0;
        for seed in 0..20 {
            let mut rng = Rng::stream(seed, "per drive");
            let homes = Homes::new(UNITS, 10, 1.3).unwrap();
            let mut drive = PerDrive::new(UNITS, 8, homes);
            let mut twin = Twin {
                places: (0..homes.volume())
                    .map(|unit| Some(homes.place(unit)))
                    .collect(),
                reads: Vec::new(),
                retired: Vec::new(),
            };
            for _ in 0..400 {
                let (unit, place) = (rng.below(homes.volume()), rng.below(UNITS));
                match rng.below(6) {
                    0 | 1 if twin.is_free(place) => {
                        drive.lands(unit, place);
                        twin.places[unit as usize] = Some(place);
                    }
                    2 => {
                        let left = drive.leaves(unit);
                        assert_eq!(left, twin.places[unit as usize].take());
                    }
                    3 => {
                        let lying = twin.places[unit as usize];
                        if let Some(place) = lying {
                            drive.read_begins(place..place + 1);
                            twin.reads.push(place..place + 1);
                        }
                    }
                    4 if !twin.reads.is_empty() => {
                        let read = rng.below(twin.reads.len() as u64);
                        let read = twin.reads.swap_remove(read as usize);
                        drive.read_ended(read);
                    }
                    5 if rng.chance(0.2) => {
                        twin.retire(place, (UNITS - homes.volume()) / 4);
                        drive.retire(place..place + 1);
                    }
                    _ => {}
                }
                for place in 0..UNITS {
                    let free = twin.is_free(place);
                    assert_eq!(drive.space.is_free(place), free, "{place}, seed {seed}");
                }
                let unit_lies = twin.places[unit as usize];
                assert_eq!(drive.map.place(unit), unit_lies);
                assert_eq!(drive.left, twin.left(UNITS));
                drive.audit(0);
            }
            retired += twin.retired.len();
        }
        assert!(retired > 20, "{retired} places");
    }
}
