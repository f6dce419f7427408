//! What the media of drives still hold under what their caches have, and what a power cut makes of
//! that.
//!
//! An image holds what reads find: medium and cache together. For each sector of which the drive
//! has not said that it is on the medium, this keeps what it held before. A cut sets any of them
//! back.

use std::collections::BTreeMap;

use nearslot_core::rng::Rng;

use super::image::{Image, Sector};
use crate::support::below::Below;

impl Below<Option<Sector>> {
    /// A write to a sector has ended. `forced`: its data are on the medium.
    pub(super) fn replaced(&mut self, image: &mut Image, at: u64, sector: Sector, forced: bool) {
        let before = image.place(at).replace(sector);
        self.written(at, before, forced);
    }

    /// Whether a cut may set a sector back.
    pub(super) fn may_lose(&self, at: u64) -> bool {
        self.older.contains_key(&at)
    }

    /// The power goes: each of these sectors is set back with chance one half, or all of them
    /// together. How many were.
    pub(super) fn cut(&self, image: &mut Image, rng: &mut Rng) -> u64 {
        let (together, all) = (rng.chance(0.3), rng.chance(0.5));
        let mut lost = 0;
        for (at, older) in &self.older {
            let keeps = if together { !all } else { rng.chance(0.5) };
            if keeps {
                continue;
            }
            let which = rng.below(older.len() as u64) as usize;
            image.place(*at).clone_from(&older[which]);
            lost += 1;
        }
        lost
    }
}

/// What a volume promises of writes that were answered, and what of them a flush has covered.
#[derive(Clone, Default)]
pub(super) struct Covered {
    /// By block: the version that an answered flush or forced write covered last.
    pub(super) versions: Vec<u64>,
    /// By block: versions that were answered since, the oldest first.
    pub(super) since: BTreeMap<u64, Vec<u64>>,
    /// By request of a flush: what it covers when it is answered.
    flushes: BTreeMap<u64, BTreeMap<u64, u64>>,
}

impl Covered {
    pub(super) fn new(blocks: usize) -> Covered {
        Covered {
            versions: vec![0; blocks],
            ..Covered::default()
        }
    }

    pub(super) fn flush_comes(&mut self, request: u64) {
        let last = |(block, versions): (&u64, &Vec<u64>)| Some((*block, *versions.last()?));
        let covers = self.since.iter().filter_map(last).collect();
        self.flushes.insert(request, covers);
    }

    /// A request is answered, perhaps a flush.
    pub(super) fn flush_answered(&mut self, request: u64, is_done: bool) {
        let Some(covers) = self.flushes.remove(&request).filter(|_| is_done) else {
            return;
        };
        for (block, version) in covers {
            let since = self.since.entry(block).or_default();
            if let Some(index) = since.iter().position(|other| *other == version) {
                since.drain(..=index);
                self.versions[block as usize] = version;
            }
        }
        self.since.retain(|_, versions| !versions.is_empty());
    }

    pub(super) fn answered(&mut self, block: u64, version: u64, forced: bool) {
        match forced {
            true => {
                self.since.remove(&block);
                self.versions[block as usize] = version;
            }
            false => self.since.entry(block).or_default().push(version),
        }
    }
}
