//! What drives do and do not tell, in a world whose power goes too: sectors rot, writes are lost, go
//! to another place or are torn between two sectors.
//!
//! Of each place this knows whether a guard or a tag there does not fit, and whether a lying drive
//! has left it old. What is read of the latter is [`LEFT`], and stays that wherever it is written:
//! nothing but a version kept elsewhere could see it. What is read of the former on a drive that
//! does not look is [`STRANGE`], which nobody may ever find.

use std::collections::BTreeSet;
use std::ops::Range;

use nearslot_core::contract::Placement;
use nearslot_core::io::DriveDone;
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::rng::Rng;

use super::World;
use super::faulty::Spot;
use super::image::Image;

/// What a place holds that a lying drive has left old.
pub(super) const LEFT: u64 = u64::MAX;
/// What a place holds that rotted, or that was meant for another one.
pub(super) const STRANGE: u64 = u64::MAX - 1;

/// How often something goes wrong, and on which writes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chances {
    /// With each event, of some sector.
    pub(crate) rot: f64,
    /// Of a write.
    pub(crate) lost: f64,
    pub(crate) misdirected: f64,
    /// Of a write of several sectors.
    pub(crate) torn: f64,
    /// Whether writes of the map, too, are lost, go elsewhere or are torn.
    pub(crate) map: bool,
    /// The only drive on which sectors rot; none if they do on all.
    pub(crate) only: Option<usize>,
}

/// How often what has happened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) rotted: u64,
    pub(crate) lost: u64,
    pub(crate) misdirected: u64,
    pub(crate) torn: u64,
    /// Reads that failed since a guard or tag did not fit.
    pub(crate) caught: u64,
    /// Places that were written again of which none fitted.
    pub(crate) healed: u64,
}

/// What is wrong on the drives of a world.
#[derive(Clone)]
pub(crate) struct Silent {
    rng: Rng,
    chances: Chances,
    /// Whether drives look at guards and tags.
    pub(super) protected: bool,
    /// Places of which guard or tag does not fit.
    pub(super) strange: BTreeSet<Spot>,
    /// Places that were left old.
    pub(super) old: BTreeSet<Spot>,
    /// The last write of the map on each drive: for the youngest sector of a virtual log nothing
    /// vouches.
    youngest: Vec<Range<u64>>,
    pub(crate) counts: Counts,
}

impl Silent {
    pub(super) fn new(chances: Chances, protected: bool, drives: usize, life: &str) -> Silent {
        Silent {
            rng: Rng::stream(11 ^ super::super::seed(), life),
            chances,
            protected,
            strange: BTreeSet::new(),
            old: BTreeSet::new(),
            youngest: vec![0..0; drives],
            counts: Counts::default(),
        }
    }

    /// Nothing more goes wrong.
    pub(super) fn at_rest(self) -> Silent {
        let chances = Chances::default();
        Silent { chances, ..self }
    }

    /// A command has ended. Where a write has put its blocks, or the first of them; none if nowhere.
    pub(super) fn ended(
        &mut self,
        drive: usize,
        done: &mut DriveDone,
        (of_map, blocks): (bool, u64),
    ) -> Range<u64> {
        let (at, len) = (done.at.0, done.len.0);
        let spots = (at..at + len).map(|at| (drive, at));
        if done.op == Op::Read
            && self.protected
            && spots.clone().any(|spot| self.strange.contains(&spot))
        {
            self.counts.caught += 1;
            done.status = Status::Failed(Failure::Medium);
        }
        if done.op != Op::Write || !done.status.is_done() {
            return at..at + len;
        }
        let lies = !of_map || self.chances.map;
        if lies && self.rng.chance(self.chances.lost) {
            self.counts.lost += 1;
            self.leave_old(drive, at..at + len);
            return at..at;
        }
        if lies && self.rng.chance(self.chances.misdirected) {
            let to = self.rng.below(blocks - len + 1);
            if self.may_suffer(drive, &(to..to + len)) && (to >= at + len || at >= to + len) {
                self.counts.misdirected += 1;
                self.leave_old(drive, at..at + len);
                let landing = (to..to + len).map(|at| (drive, at));
                landing.clone().for_each(|spot| _ = self.old.remove(&spot));
                self.strange.extend(landing);
                return to..to + len;
            }
        }
        let is_torn = lies && len > 1 && self.rng.chance(self.chances.torn);
        let end = match is_torn {
            true => at + 1 + self.rng.below(len - 1),
            false => at + len,
        };
        self.counts.torn += u64::from(is_torn);
        self.leave_old(drive, end..at + len);
        (at..end).for_each(|at| self.written(drive, at));
        if of_map {
            self.youngest[drive] = at..at + len;
        }
        at..end
    }

    /// A sector has reached its place.
    pub(super) fn written(&mut self, drive: usize, at: u64) {
        self.old.remove(&(drive, at));
        self.counts.healed += u64::from(self.strange.remove(&(drive, at)));
    }

    fn leave_old(&mut self, drive: usize, blocks: Range<u64>) {
        let spots = blocks.map(|at| (drive, at));
        let sound = spots.filter(|spot| !self.strange.contains(spot));
        self.old.extend(sound);
    }

    fn may_suffer(&self, drive: usize, blocks: &Range<u64>) -> bool {
        let youngest = &self.youngest[drive];
        self.chances.map || youngest.end <= blocks.start || blocks.end <= youngest.start
    }

    /// Perhaps a sector rots: any, or, as clients come back to few places, one of a command that
    /// has just ended, or one of the map's.
    pub(super) fn rot(&mut self, images: &mut [Image], ended: (usize, Range<u64>), blocks: u64) {
        if !self.rng.chance(self.chances.rot) {
            return;
        }
        let any = self.rng.below(images.len() as u64) as usize;
        let (drive, at) = match self.rng.below(32) {
            0 => {
                let own: Vec<u64> = images[any].own().collect();
                let which = self.rng.below(own.len().max(1) as u64) as usize;
                (any, own.get(which).copied().unwrap_or_default())
            }
            1..16 if !ended.1.is_empty() => {
                let Range { start, end } = ended.1;
                (ended.0, start + self.rng.below(end - start))
            }
            _ => (any, self.rng.below(blocks)),
        };
        if self.chances.only.is_some_and(|only| only != drive) {
            return;
        }
        if images[drive].get(at).is_none() || !self.may_suffer(drive, &(at..at + 1)) {
            return;
        }
        self.counts.rotted += 1;
        if let Some(sector) = images[drive].place(at) {
            sector.flip(self.rng.below(512) as usize, 1 << self.rng.below(8));
        }
        self.old.remove(&(drive, at));
        self.strange.insert((drive, at));
    }

    /// What is read of a place that holds this version: none of what the drive does not know is
    /// wrong.
    pub(super) fn found(&self, spot: Spot) -> Option<u64> {
        match (self.strange.contains(&spot), self.old.contains(&spot)) {
            (true, _) => Some(STRANGE),
            (_, true) => Some(LEFT),
            _ => None,
        }
    }
}

impl World {
    /// Sectors rot from now on, and writes are lost, go elsewhere or are torn. `protected`: drives
    /// look at guard and tag of each sector.
    pub(crate) fn going_wrong(self, chances: Chances, protected: bool) -> World {
        self.going_wrong_in_life(0, chances, protected)
    }

    /// The same in one life out of many, in each of which other things go wrong.
    pub(crate) fn going_wrong_in_life(
        mut self,
        life: u64,
        chances: Chances,
        protected: bool,
    ) -> World {
        let place = self.config.parts.of::<dyn Placement>();
        let life = format!("{place} silently, life {life}");
        self.silent = Some(Silent::new(chances, protected, self.drives.len(), &life));
        self
    }

    /// What has gone wrong without a word.
    pub(crate) fn silent(&self) -> Counts {
        self.silent
            .as_ref()
            .map_or_else(Counts::default, |silent| silent.counts)
    }
}
