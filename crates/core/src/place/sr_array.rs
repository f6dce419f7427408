//! Striping with rotational replicas (SR-Array): copies of a block evenly spaced round one track.
//!
//! Ds x Dr drives hold one drive's worth of data. Each uses 1/Ds of its cylinders, which shortens
//! seeks, and holds every block Dr times on one track, which shortens the wait for it. A read takes
//! whichever replica comes first (under `satf` this is RSATF, under `look` RLOOK but for the choice
//! among replicas); a write is answered with one replica and the others follow in spare time: see
//! `fixed_copies`. Copies on one drive add speed, not safety.
//!
//! After a power cut all is there that a flush has covered, or that a forced write has written, and
//! all copies of a block are the same again; if no drive has a volatile cache, all that was
//! answered. A table in NVRAM is needed for that.
//!
//! Source: Yu, Gum, Chen, Wang, Li, Krishnamurthy and Anderson, "Trading capacity for performance
//! in a disk array", OSDI 2000. O(Dr) per chunk; four bytes for every chunk of a drive.

use std::sync::Arc;

use super::delayed::{BUFFER, FOREGROUND};
use super::fixed_copies::{CopyOf, FixedCopies, Layout};
use super::mirror::CHUNK;
use super::slot_tracks::{Footprint, tracks, used_cylinders};
use super::striping::{Striping, UNIT, drives_of, unit_in_chunks};
use crate::contract::Placement;
use crate::freemap::{FreeMap, Slot, Tracks};
use crate::ids::DriveId;
use crate::registry::{ConfigError, Knob, Knobs, Spec, VolumeEnv, VolumeError};
use crate::units::{Blocks, Pba};

struct SrArray {
    striping: Striping,
    replicas: u32,
    tracks: Arc<Tracks>,
    /// Slot of the first replica, by chunk of a drive.
    first: Vec<Slot>,
    chunks: u64,
}

impl SrArray {
    fn new(knobs: &Knobs, env: &VolumeEnv<'_>) -> Result<SrArray, ConfigError> {
        let (ds, dr) = (knobs.number("ds"), knobs.integer("dr") as u32);
        let disks = drives_of(&[("ds", ds), ("dr", dr.into())])?;
        // All drives have their blocks at the same places.
        let footprint = Footprint {
            drives: 1,
            dilution: 1.0,
        };
        let tracks = tracks(CHUNK, footprint, None, env)?;
        let stripe_kib = knobs.integer("stripe_kib");
        unit_in_chunks(stripe_kib, CHUNK.bytes() / 1024)?;
        let striping = Striping::new(disks.into(), stripe_kib);
        let first = first_replicas(&tracks, used_cylinders(&tracks, ds), dr);
        if first.is_empty() {
            let all = 0..(tracks.cylinders() * tracks.surfaces()) as usize;
            let most = all.map(|number| tracks.track(number).slots).max();
            let allowed = format!("at most the {} slots of a track", most.unwrap_or(0));
            return Err(ConfigError::value("dr", &dr.to_string(), &allowed));
        }
        let capacity = striping.capacity(Blocks(first.len() as u64 * CHUNK.0))?;
        Ok(SrArray {
            striping,
            replicas: dr,
            tracks,
            first,
            chunks: capacity.0 / CHUNK.0,
        })
    }

    /// Slots between two replicas on a track.
    fn spacing(&self, slot: Slot) -> u32 {
        let (track, _) = self.tracks.place(slot);
        u32::from(self.tracks.track(track).slots) / self.replicas
    }
}

/// Slots of a track's first part whose replicas in the other parts can be written too.
fn first_replicas(tracks: &Arc<Tracks>, cylinders: u32, replicas: u32) -> Vec<Slot> {
    let usable = FreeMap::empty(Arc::clone(tracks));
    let of_track = |number: usize| {
        let track = tracks.track(number);
        let spacing = u32::from(track.slots) / replicas;
        let whole =
            |slot: &u32| (0..replicas).all(|replica| usable.has(Slot(slot + replica * spacing)));
        (track.first_slot..track.first_slot + spacing)
            .filter(whole)
            .map(Slot)
            .collect::<Vec<Slot>>()
    };
    (0..(cylinders * tracks.surfaces()) as usize)
        .flat_map(of_track)
        .collect()
}

impl Layout for SrArray {
    fn copies(&self) -> u8 {
        self.replicas as u8
    }

    fn drives(&self) -> u16 {
        self.striping.columns as u16
    }

    fn chunks(&self) -> u64 {
        self.chunks
    }

    fn chunk(&self) -> Blocks {
        CHUNK
    }

    fn place(&self, copy: CopyOf) -> (DriveId, Pba) {
        let (drive, at) = self.striping.place(copy.chunk().0 * CHUNK.0);
        let first = self.first[(at / CHUNK.0) as usize];
        let slot = Slot(first.0 + u32::from(copy.copy()) * self.spacing(first));
        (DriveId(drive as u16), self.tracks.at(slot))
    }

    fn striping(&self) -> Striping {
        self.striping
    }
}

fn build(knobs: &Knobs, env: &VolumeEnv<'_>) -> Result<Box<dyn Placement>, VolumeError> {
    let array = SrArray::new(knobs, env)?;
    Ok(Box::new(FixedCopies::new(array, knobs, env)?))
}

pub(super) static SPEC: Spec<dyn Placement> = Spec {
    name: "sr_array",
    aliases: &["sr-array"],
    summary: "Ds x Dr drives: 1/Ds of the cylinders in use, every block Dr times round its track",
    source: "Yu, Gum, Chen, Wang, Li, Krishnamurthy and Anderson, Trading capacity for performance in a disk array, OSDI 2000",
    knobs: &[
        Knob::number(
            "ds",
            1.0,
            1.0..=1_024.0,
            "Ds, striping: 1/Ds of the cylinders are used",
        ),
        Knob::integer("dr", 2, 1..=16, "Dr, replicas of a block on its track"),
        FOREGROUND,
        BUFFER,
        UNIT,
    ],
    measures: &[],
    asks: &["oracle"],
    prepared: true,
    promises: super::FLUSHED_COPIES,
    build,
};
