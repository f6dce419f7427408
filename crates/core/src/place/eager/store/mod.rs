//! What keeps the map of eager copies safe while it is used: what the engine asks of it, whatever
//! the way.
//!
//! A change of the map waits until its store lets it be made; then it is made in memory, the write
//! that brought it is answered, and what it leaves becomes free. [`log`] lets a change be made when
//! NVRAM has room to record it, or without NVRAM when the batch that has it is on the medium,
//! [`virtual_log`] when the map sector that has it is. Both write what they have to write as
//! ordinary I/Os, so that their cost shows.

mod by_sector;
pub(super) mod log;
pub(super) mod virtual_log;

pub(in crate::place) use log::{HOME, NVRAM, NVRAM_ENTRIES, PORTIONS, REGION};
pub(in crate::place) use virtual_log::STATIONS;

use super::map::Map;
use crate::contract::Drives;
use crate::freemap::Slot;
use crate::ids::DriveId;
use crate::io::{RecoveryRead, Tag};
use crate::maplog::{Entry, Refused};
use crate::op::Failure;
use crate::place::delayed::TRIES;
use crate::place::gone::Gone;
use crate::plan::Target;
use crate::registry::{ConfigError, Knob};
use crate::units::{Blocks, Instant};

/// What is found after a power cut.
pub(in crate::place) const MAPPED: &str =
    "with map=log or map=virtual_log all that was answered; with map=memory nothing";

/// Where the map lives.
pub(in crate::place) const MAP: Knob = Knob::choice(
    "map",
    "memory",
    &["memory", "log", "virtual_log"],
    "memory: lost with the power; log: a log region and checkpoints keep it, with NVRAM or without; virtual_log: map sectors \
     written eagerly do, without NVRAM",
);

/// A write that keeps the map safe.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapWrite {
    pub(super) drive: DriveId,
    /// If it is open, the block where it goes when no slot is free.
    pub(super) target: Target,
    pub(super) len: Blocks,
}

/// When a change may be made in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// At once: it is recorded.
    Now,
    /// When the store says so.
    Later,
}

/// What follows a write of the map that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// The same write, at the same place.
    Again,
    /// What the store has to write next, elsewhere or on another drive.
    Next,
    /// Nothing: the store is at its end, and has forgotten all changes that waited.
    Lost,
}

/// Keeps the map of a placement safe.
pub(super) trait MapStore: Send {
    /// A change is to be made. If it has to wait, it does so by this name.
    fn change(&mut self, tag: Tag, entry: Entry) -> When;

    /// The next change that waited and has to be made now, in the map as it is.
    fn settled(&mut self, map: &Map) -> Option<Tag>;

    /// What has to be written now, if nothing is under way.
    fn next_writes(
        &mut self,
        now: Instant,
        drives: &dyn Drives,
        map: &Map,
        out: &mut Vec<MapWrite>,
    );

    /// The bytes of the write under way to a drive.
    fn content(&self, drive: DriveId) -> &[u8];

    /// A drive has done its write: in this slot, if its address was open. A slot of the drive that
    /// is free now.
    fn written(&mut self, drive: DriveId, slot: Slot) -> Option<Slot>;

    /// A drive could not do its write.
    fn failed(&mut self, drive: DriveId, failure: Failure) -> Retry;

    /// Whether the map is kept without these drives too.
    fn spares(&self, gone: &Gone) -> bool;

    /// What survives a power cut beside the drives.
    fn nvram(&self) -> &[u8];

    /// The reads, one after another, that would find the map again if the power went now.
    fn recovery(&self, map: &Map, out: &mut Vec<RecoveryRead>);

    /// Recounts and panics on a contradiction. Names the slots that are the store's own.
    fn audit(&self, own: &mut dyn FnMut(DriveId, Slot));
}

/// A setting that the map's log does not allow, as a mistake of the configuration.
pub(super) fn refused(why: Refused) -> ConfigError {
    ConfigError::value(why.what, &why.found.to_string(), &why.allowed)
}
