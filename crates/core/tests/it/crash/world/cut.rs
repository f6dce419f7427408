//! What is left when the power is gone, and the way back from there.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use nearslot_core::config::StackConfig;
use nearslot_core::contract::Placement;
use nearslot_core::ids::DriveId;
use nearslot_core::io::RecoveryRead;
use nearslot_core::registry::{KnobValue, Survivors, VolumeError};
use nearslot_core::rng::Rng;
use nearslot_core::units::{Blocks, Pba};

use super::buffered::Left;
use super::faulty::{Faulty, Spot};
use super::image::{Image, Sector};
use super::recovered::Recovered;
use super::silent::Silent;
use super::{Pending, World};

/// What is left when the power is gone, and what its owner remembers.
#[derive(Clone)]
pub(crate) struct Cut {
    pub(super) config: StackConfig,
    pub(super) images: Vec<Image>,
    /// What the stack said that recovery would read; none if something was lost that it counted on.
    pub(super) foretold: Option<Vec<RecoveryRead>>,
    /// What recovery has read.
    pub(super) reads: RefCell<Vec<RecoveryRead>>,
    pub(super) nvram: Vec<u8>,
    /// What is left of the write buffer.
    pub(super) buffer: Left,
    pub(super) answered: Vec<u64>,
    /// By block: versions that may be found too; see [`World::uncertain`].
    pub(super) since: BTreeMap<u64, BTreeSet<u64>>,
    /// Blocks that cannot be read; none if no command fails.
    pub(super) bad: Option<BTreeSet<Spot>>,
    /// What went wrong without a word.
    pub(super) silent: Option<Silent>,
    /// A drive of which nothing can be read.
    pub(super) gone: Option<usize>,
    pub(super) pending: Pending,
    pub(super) version: u64,
    pub(super) tears: bool,
    /// Sectors that were set back, as only the cache of their drive had them.
    pub(super) lost: u64,
    /// By block: what clients have seen in the life before and did not write.
    pub(super) seen: BTreeMap<u64, u64>,
}

impl Survivors for Cut {
    fn nvram(&self) -> &[u8] {
        assert!(!self.is_without_nvram(), "there is no NVRAM to be read");
        &self.nvram
    }

    fn nvram_of_buffer(&self) -> Option<&[u8]> {
        self.buffer.nvram.as_deref()
    }

    fn read(&self, drive: DriveId, at: Pba, out: &mut [u8]) {
        let len = Blocks(out.len() as u64 / 512);
        self.reads
            .borrow_mut()
            .push(RecoveryRead { drive, at, len });
        for (at, out) in (at.0..).zip(out.chunks_exact_mut(512)) {
            let bad = self.bad.as_ref();
            let is_bad = bad.is_some_and(|bad| bad.contains(&(drive.index(), at)));
            let is_bad = is_bad || self.gone == Some(drive.index());
            let caught =
                |silent: &Silent| silent.protected && silent.strange.contains(&(drive.index(), at));
            let is_bad = is_bad || self.silent.as_ref().is_some_and(caught);
            match self.images[drive.index()].get(at) {
                Some(Sector::Own(bytes)) if !is_bad => out.copy_from_slice(&bytes[..]),
                _ => out.fill(0),
            }
        }
    }
}

impl Cut {
    /// Whether the map's log is at home on its drive.
    pub(super) fn is_without_nvram(&self) -> bool {
        let place = self.config.parts.of::<dyn Placement>();
        let on_drive = ("home".to_owned(), KnobValue::Text("drive".to_owned()));
        place.knobs.contains(&on_drive)
    }

    /// Whether a write of several sectors was under way.
    pub(crate) fn tears(&self) -> bool {
        self.tears
    }

    /// Sectors that caches have lost.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// The write buffer, and its NVRAM, are as they were then.
    pub(crate) fn with_buffer_of(self, before: &Cut) -> Cut {
        Cut {
            buffer: before.buffer.clone(),
            ..self
        }
    }

    /// The write buffer is lost, as if it had never been.
    pub(crate) fn without_buffer(self) -> Cut {
        Cut {
            buffer: Left::default(),
            ..self
        }
    }

    /// Whether the drives are all that is left.
    pub(crate) fn has_no_nvram(&self) -> bool {
        self.nvram.is_empty()
    }

    /// Blocks that cannot be read.
    pub(crate) fn unreadable(&self) -> usize {
        self.bad.as_ref().map_or(0, BTreeSet::len)
    }

    /// Three in a hundred sectors of the map's own cannot be read, but none of these blocks.
    pub(crate) fn with_unreadable_sectors(mut self, seed: u64, but: &Range<u64>) -> Cut {
        let mut rng = Rng::stream(seed, "unreadable");
        let bad = self.bad.get_or_insert_default();
        for (drive, image) in self.images.iter().enumerate() {
            for (at, sector) in image.iter().filter(|(at, _)| !but.contains(at)) {
                if matches!(sector, Sector::Own(_)) && rng.chance(0.03) {
                    bad.insert((drive, at));
                }
            }
        }
        self.foretold = None;
        self
    }

    /// Whether the stack has said what recovery will read.
    pub(crate) fn is_foretold(&self) -> bool {
        self.foretold.is_some()
    }

    pub(crate) fn recover(self) -> Result<Recovered, VolumeError> {
        let built = self.config.recover(&self)?;
        if let Some(foretold) = &self.foretold {
            assert_eq!(&*self.reads.borrow(), foretold, "reads of recovery");
        }
        built.stack.audit();
        let Cut {
            config,
            images,
            answered,
            since,
            bad,
            silent,
            gone,
            pending,
            version,
            buffer,
            seen,
            ..
        } = self;
        let mut world = World::of(config, built, images);
        world.has_in_buffer(buffer.there);
        world.version = version;
        (world.seen, world.discards) = (seen, false);
        let spoiled =
            bad.iter()
                .flatten()
                .filter_map(|(drive, at)| match world.images[*drive].get(*at)? {
                    Sector::Client(block, _) => Some(block / world.chunk),
                    Sector::Own(_) => None,
                });
        let spoiled = spoiled.collect();
        let faulty = |bad| Faulty::new(0.0, bad, "nothing fails").without(gone);
        world.faulty = bad.map(faulty);
        world.silent = silent;
        Ok(Recovered {
            world,
            answered,
            since,
            pending,
            spoiled,
            unreadable: 0,
            lost_at_rest: 0,
        })
    }
}

/// Nothing survived.
pub(crate) struct Nothing;

impl Survivors for Nothing {
    fn nvram(&self) -> &[u8] {
        &[]
    }

    fn nvram_of_buffer(&self) -> Option<&[u8]> {
        None
    }

    fn read(&self, _drive: DriveId, _at: Pba, out: &mut [u8]) {
        out.fill(0);
    }
}
