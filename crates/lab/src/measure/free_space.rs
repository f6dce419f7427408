//! Where a drive is free, over time: snapshots of a placement's map of free slots, by groups of
//! cylinders.
//!
//! Snapshots are taken at even distances from the start of the measured part; when there are too
//! many, every other one is dropped and the distance doubles. So a run of any length has between
//! half of them and all. A snapshot costs a sum over the drive's cylinders; between two, an event
//! costs a comparison. Placements without such a map cost nothing further.

use nearslot_core::freemap::FreeMap;
use nearslot_core::ids::DriveId;
use nearslot_core::stack::Stack;
use nearslot_core::units::{Duration, Instant};

use super::seconds;
use crate::outcome::FreeSpace;

/// Groups of cylinders at most.
pub(crate) const GROUPS_MAX: u32 = 64;
/// Snapshots at most.
pub(crate) const SNAPSHOTS_MAX: usize = 200;
/// Drives at most; the first ones.
const DRIVES_MAX: usize = 4;
/// Distance of snapshots at first.
const EVERY_FIRST: Duration = Duration::from_ms(1);

/// Takes snapshots while a run goes on.
pub(crate) struct Space {
    begin: Instant,
    /// When the next snapshot is due; never before the measured part, and where nothing keeps a
    /// map.
    due: Instant,
    every: Duration,
    times: Vec<Instant>,
    drives: Vec<Taken>,
}

/// What was seen of one drive.
struct Taken {
    drive: DriveId,
    /// First cylinder of each group, and behind the last.
    cylinders: Vec<u32>,
    /// Slots of each group.
    slots: Vec<u64>,
    snapshots: Vec<Vec<u16>>,
}

impl Default for Space {
    fn default() -> Space {
        Space {
            begin: Instant::NEVER,
            due: Instant::NEVER,
            every: EVERY_FIRST,
            times: Vec::new(),
            drives: Vec::new(),
        }
    }
}

impl Space {
    pub(crate) fn begin(&mut self, now: Instant) {
        (self.begin, self.due) = (now, now);
    }

    #[inline]
    pub(crate) fn settled(&mut self, now: Instant, stack: &Stack) {
        if now >= self.due {
            self.take(now, stack);
        }
    }

    #[cold]
    fn take(&mut self, now: Instant, stack: &Stack) {
        if self.times.is_empty() {
            let drives = (0..stack.drives()).map(|index| DriveId(index as u16));
            let kept = drives.filter_map(|drive| Some(Taken::of(drive, stack.free(drive)?)));
            self.drives = kept.take(DRIVES_MAX).collect();
        }
        if self.drives.is_empty() {
            self.due = Instant::NEVER;
            return;
        }
        if self.times.len() == SNAPSHOTS_MAX {
            self.thin();
        }
        self.times.push(now);
        for taken in &mut self.drives {
            let free = stack.free(taken.drive).expect("it was there at first");
            taken.snapshot(free);
        }
        let passed = now.since(self.begin).0 / self.every.0;
        self.due = self.begin + Duration((passed + 1) * self.every.0);
    }

    fn thin(&mut self) {
        fn every_other<T>(list: &mut Vec<T>) {
            let mut index = 0;
            list.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
        every_other(&mut self.times);
        self.drives
            .iter_mut()
            .for_each(|taken| every_other(&mut taken.snapshots));
        self.every = Duration(self.every.0 * 2);
    }

    pub(crate) fn finish(self) -> Vec<FreeSpace> {
        let times = self.times.iter();
        let time_s: Vec<f64> = times.map(|time| seconds(time.since(self.begin))).collect();
        let one = |taken: Taken| FreeSpace {
            drive: taken.drive.0,
            cylinders: taken.cylinders,
            time_s: time_s.clone(),
            free_per_10k: taken.snapshots,
        };
        self.drives.into_iter().map(one).collect()
    }
}

impl Taken {
    fn of(drive: DriveId, free: &FreeMap) -> Taken {
        let tracks = free.tracks();
        let (all, groups) = (tracks.cylinders(), tracks.cylinders().min(GROUPS_MAX));
        let first = |group: u32| (u64::from(group) * u64::from(all) / u64::from(groups)) as u32;
        let cylinders: Vec<u32> = (0..=groups).map(first).collect();
        let in_cylinder = |cylinder: u32| {
            let of_cylinder =
                (0..tracks.surfaces()).map(|surface| tracks.number(cylinder, surface));
            of_cylinder
                .map(|number| u64::from(tracks.track(number).slots))
                .sum::<u64>()
        };
        Taken {
            drive,
            slots: sums(&cylinders, in_cylinder),
            cylinders,
            snapshots: Vec::new(),
        }
    }

    fn snapshot(&mut self, free: &FreeMap) {
        let found = sums(&self.cylinders, |cylinder| {
            free.in_cylinder(cylinder).into()
        });
        let share = |(free, slots): (u64, &u64)| (free * 10_000 / slots.max(&1)) as u16;
        let shares = found.into_iter().zip(&self.slots).map(share);
        self.snapshots.push(shares.collect());
    }
}

/// The sum over the cylinders of each group.
fn sums(cylinders: &[u32], of: impl Fn(u32) -> u64) -> Vec<u64> {
    let groups = cylinders.windows(2);
    groups
        .map(|ends| (ends[0]..ends[1]).map(&of).sum())
        .collect()
}
