//! Where the blocks of eagerly written drives lie when a run begins.
//!
//! Blocks begin at random slots of the cylinders in use. Aging overwrites the whole drive so many
//! times before the run, since sweeping writers leave free slots in other patterns than chance does
//! (Wang, Anderson and Patterson, OSDI 1999, section 2.3). A run begins where aging ended: with the
//! arm there, and the sweep in that direction. It is the costly part, so one drive is aged and the
//! others of an array begin with its pattern of free slots; which block lies where is shuffled anew
//! for each.

use std::sync::Arc;

use super::region::{Region, reserve};
use super::stations::Stations;
use crate::contract::Oracle;
use crate::freemap::{FreeMap, Left, Slot, Tracks};
use crate::io::{Command, DriveDone};
use crate::op::{Cost, Op, Status};
use crate::place::slot_tracks::{Footprint, tracks, used_cylinders};
use crate::position::Search;
use crate::registry::{ConfigError, Knob, VolumeEnv};
use crate::rng::Rng;
use crate::search::Sweep;
use crate::units::{Blocks, Instant, Pba};

/// Times that blocks were overwritten before.
pub(in crate::place) const AGING: Knob = Knob::number(
    "aging",
    0.0,
    0.0..=1_000.0,
    "times that the volume was overwritten before the run, which begins where that ended",
);

/// Whether spare time makes empty tracks.
pub(in crate::place) const COMPACT: Knob = Knob::flag(
    "compact",
    false,
    "in a drive's spare time, move blocks into holes of fuller tracks until tracks are empty",
);

/// What is written as a whole.
pub(in crate::place) const CHUNK: Knob =
    Knob::integer("chunk_kib", 4, 1..=1_024, "KiB that are written as a whole");

/// One drive: where its blocks lie, and what is free.
#[derive(Clone)]
pub(super) struct Disk {
    /// By the drive's own count of its chunks. Those with a home come first.
    pub(super) slots: Vec<Slot>,
    pub(super) free: FreeMap,
    /// Chunks that have a fixed place of their own, where they lie.
    pub(super) homes: usize,
}

/// What a volume asks of each of its drives.
#[derive(Clone, Copy, Debug)]
pub(in crate::place) struct Setup {
    pub(in crate::place) chunk: Blocks,
    /// One in so many of the cylinders is used.
    pub(in crate::place) striping: f64,
    /// Slots in use for each chunk.
    pub(in crate::place) dilution: f64,
    pub(in crate::place) aging: f64,
    /// Chunks of a drive come in multiples of this.
    pub(in crate::place) unit: u64,
    /// Of each unit, chunks that have a fixed place of their own.
    pub(in crate::place) homes: u64,
    pub(in crate::place) drives: u16,
    /// Blocks of every drive that are kept for the map's log.
    pub(in crate::place) log: Blocks,
    /// Slots of every drive that the volume leaves to map sectors.
    pub(in crate::place) spares: u64,
    /// Tracks of every drive that are kept for map sectors.
    pub(in crate::place) stations: u64,
}

/// All drives as they are when a run begins. The first is made once for all arrays that have such
/// drives, however many.
///
/// # Errors
/// There is no room for a single unit, or none left to write to.
pub(super) fn disks(setup: &Setup, env: &VolumeEnv<'_>) -> Result<Vec<Disk>, ConfigError> {
    let alone = Setup {
        drives: 1,
        ..*setup
    };
    let what = format!("eager disk {alone:?}");
    let first = env.prepared(&what, Disk::bytes, || Disk::prepare(&alone, env))?;
    let mut disks = vec![Disk::clone(&first)];
    for drive in 1..setup.drives {
        env.go_on()?;
        disks.push(first.shuffled(&mut Rng::stream(env.seed, &format!("place/{drive}"))));
    }
    Ok(disks)
}

/// Slots that are put where they belong between two looks whether anybody still wants them: some
/// milliseconds.
const LOOK_EVERY: usize = 1 << 16;

/// The free map of a drive of which only the first cylinders are used.
fn empty(tracks: &Arc<Tracks>, cylinders: u32) -> FreeMap {
    let mut free = FreeMap::empty(Arc::clone(tracks));
    let first_unused = (cylinders * tracks.surfaces()) as usize;
    let beyond: Vec<Slot> = free
        .iter()
        .filter(|slot| tracks.place(*slot).0 >= first_unused)
        .collect();
    beyond.iter().for_each(|slot| free.take(*slot));
    free
}

/// A drive before anything lies on it.
pub(super) struct Empty {
    pub(super) free: FreeMap,
    pub(super) region: Option<Region>,
    pub(super) stations: Option<Stations>,
    /// Units of the volume that it has room for.
    pub(super) units: u64,
}

impl Empty {
    /// Made once for all that ask for the same.
    ///
    /// # Errors
    /// There is no room for a single unit, or none left to write to.
    pub(super) fn prepared(setup: &Setup, env: &VolumeEnv<'_>) -> Result<Arc<Empty>, ConfigError> {
        let what = format!("empty eager disk {setup:?}");
        let bytes = |empty: &Empty| {
            let stations = empty.stations.as_ref().map_or(0, Stations::bytes);
            empty.free.bytes() + stations
        };
        env.prepared(&what, bytes, || Empty::new(setup, env))
    }

    fn new(setup: &Setup, env: &VolumeEnv<'_>) -> Result<Empty, ConfigError> {
        let footprint = Footprint {
            drives: setup.drives,
            dilution: setup.dilution,
        };
        let tracks = tracks(setup.chunk, footprint, Some(CHUNK.name), env)?;
        let cylinders = used_cylinders(&tracks, setup.striping);
        let mut free = empty(&tracks, cylinders);
        let region = match setup.log {
            Blocks(0) => None,
            len => Some(reserve(
                &mut free,
                cylinders,
                len,
                env.blueprint.capacity(),
            )?),
        };
        let stations = match setup.stations {
            0 => None,
            count => Some(Stations::reserve(&mut free, &tracks, cylinders, count)?),
        };
        let slots = free.free().saturating_sub(setup.spares);
        let units = (slots as f64 / setup.dilution) as u64 / setup.unit;
        if units == 0 || units * setup.unit == slots {
            let allowed = format!(
                "what gives some of a drive's {slots} slots to the volume and leaves some free"
            );
            let dilution = setup.dilution.to_string();
            return Err(ConfigError::value("dilution", &dilution, &allowed));
        }
        Ok(Empty {
            free,
            region,
            stations,
            units,
        })
    }

    /// The fixed places of chunks on each drive of an array, in their order: spread evenly over all
    /// that is free.
    pub(super) fn homes(&self, setup: &Setup) -> Vec<Slot> {
        let homes = (self.units * setup.homes) as usize;
        if homes == 0 {
            return Vec::new();
        }
        let slots: Vec<Slot> = self.free.iter().collect();
        (0..homes)
            .map(|home| slots[home_place(home, slots.len(), homes)])
            .collect()
    }
}

/// Index of the slot that becomes home number `home` of `homes`, which are spread evenly over `all`
/// free slots.
fn home_place(home: usize, all: usize, homes: usize) -> usize {
    home * all / homes
}

impl Disk {
    fn prepare(setup: &Setup, env: &VolumeEnv<'_>) -> Result<Disk, ConfigError> {
        let empty = Empty::prepared(setup, env)?;
        let mut rng = Rng::stream(env.seed, env.label);
        let homes = empty.units * setup.homes;
        let live = empty.units * setup.unit;
        let counts = (live as usize, homes as usize);
        let mut disk = Disk::scatter(empty.free.clone(), counts, &mut rng, &|| env.go_on())?;
        disk.age(setup.aging, env, &mut rng)?;
        Ok(disk)
    }

    /// So many chunks, `homes` of them at fixed places that are spread evenly, the rest at random
    /// slots.
    ///
    /// # Errors
    /// What `go_on` says.
    pub(super) fn scatter(
        mut free: FreeMap,
        (live, homes): (usize, usize),
        rng: &mut Rng,
        go_on: &dyn Fn() -> Result<(), ConfigError>,
    ) -> Result<Disk, ConfigError> {
        let mut slots: Vec<Slot> = free.iter().collect();
        let all = slots.len();
        for home in 0..homes {
            // Taken from the front, the places that follow remain in order.
            let place = home_place(home, all, homes);
            slots.swap(home, place);
        }
        for index in homes..live {
            if index.is_multiple_of(LOOK_EVERY) {
                go_on()?;
            }
            let other = index as u64 + rng.below((slots.len() - index) as u64);
            slots.swap(index, other as usize);
        }
        slots.truncate(live);
        slots.shrink_to_fit();
        for some in slots.chunks(LOOK_EVERY) {
            go_on()?;
            some.iter().for_each(|slot| free.take(*slot));
        }
        Ok(Disk { slots, free, homes })
    }

    /// Overwrites random chunks without a home one after the other. Each goes to the first free
    /// slot of a sweep, or if the drive has no arm, to the first free slot.
    ///
    /// # Errors
    /// Nobody wants it any more.
    fn age(&mut self, times: f64, env: &VolumeEnv<'_>, rng: &mut Rng) -> Result<(), ConfigError> {
        let moving = self.slots.len() - self.homes;
        let mut oracle = env.blueprint.exact();
        let (mut sweep, mut now) = (Sweep::default(), Instant::ZERO);
        let len = self.free.tracks().slot_blocks();
        for written in 0..libm::round(times * moving as f64) as u64 {
            if written.is_multiple_of(LOOK_EVERY as u64) {
                env.go_on()?;
            }
            oracle.advance(now);
            let search = match oracle.arm() {
                Some(arm) => {
                    let cylinder = arm.track_cylinder(self.free.tracks(), arm.position());
                    sweep.search(now, cylinder, &self.free)
                }
                None => Search::anywhere(now),
            };
            let Some(free_place) = oracle.nearest_free(&search, &self.free) else {
                return Ok(());
            };
            let upward = sweep.upward(&self.free);
            now = write(&mut *oracle, now, free_place.at, len);
            self.free.take(free_place.slot);
            self.free.leave(Left {
                at: Some(free_place.at),
                upward,
            });
            let chunk = self.homes + rng.below(moving as u64) as usize;
            let old = std::mem::replace(&mut self.slots[chunk], free_place.slot);
            self.free.release(old);
        }
        Ok(())
    }

    /// Memory it takes, about.
    fn bytes(&self) -> usize {
        self.slots.len() * size_of::<Slot>() + self.free.bytes()
    }

    /// The same pattern of slots with other blocks in them.
    fn shuffled(&self, rng: &mut Rng) -> Disk {
        let mut shuffled = self.clone();
        let moving = &mut shuffled.slots[self.homes..];
        for index in 1..moving.len() {
            moving.swap(index, rng.below(index as u64 + 1) as usize);
        }
        shuffled
    }
}

/// Lets an oracle see a write that happens as it predicts. Gives the end of the write.
fn write(oracle: &mut dyn Oracle, now: Instant, at: Pba, len: Blocks) -> Instant {
    let (io, op) = (Command::ARM, Op::Write);
    let predicted = oracle.arm().map(|arm| arm.predict(now, op, at, len));
    let end = match &predicted {
        Some(predicted) => predicted.end,
        None => now + oracle.service_time(now, op, at, len),
    };
    oracle.started(
        now,
        &Command {
            io,
            op,
            at,
            len,
            fua: false,
        },
    );
    let done = DriveDone {
        io,
        op,
        at,
        len,
        status: Status::Done,
        cost: Cost::default(),
        arm: predicted.map(|predicted| predicted.arm),
    };
    oracle.observed(end, &done);
    end
}
