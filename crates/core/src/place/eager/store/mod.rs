//! What keeps the map of eager copies safe while it is used: what the engine asks of it, whatever the way.
//!
//! A change of the map waits until its store lets it be made; then it is made in memory, the write that brought it is answered,
//! and what it leaves becomes free. [`log`] lets a change be made when NVRAM has room to record it,
//! [`virtual_log`] when the map sector that has it is on the platter. Both write what they have to
//! write as ordinary I/Os, so that their cost shows.

pub(super) mod log;
pub(super) mod virtual_log;

pub(in crate::place) use log::{NVRAM, PORTIONS, REGION};

use super::map::Map;
use crate::freemap::Slot;
use crate::ids::DriveId;
use crate::io::{RecoveryRead, Tag};
use crate::maplog::{Damage, Entry, Refused};
use crate::plan::Target;
use crate::registry::{ConfigError, Knob};
use crate::units::{Blocks, Pba};

/// Where the map lives.
pub(in crate::place) const MAP: Knob = Knob::choice(
    "map",
    "memory",
    &["memory", "log", "virtual_log"],
    "memory: lost with the power; log: NVRAM, a log region and checkpoints keep it; virtual_log: map sectors \
     written eagerly do, without NVRAM",
);

/// A write that keeps the map safe.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapWrite {
    pub(super) drive: DriveId,
    pub(super) target: Target,
    pub(super) len: Blocks,
}

/// Keeps the map of a placement safe.
pub(super) trait MapStore: Send {
    /// What survives a power cut beside the drives.
    fn nvram(&self) -> &[u8];

    /// The reads, one after another, that would find the map again if the power went now.
    fn recovery(&self, map: &Map, out: &mut Vec<RecoveryRead>);

    /// Whether a change that comes now has to wait.
    fn must_wait(&self) -> bool;

    /// A change waits its turn: by which name, and what it will enter.
    fn wait(&mut self, tag: Tag, entry: Entry);

    /// Whether some change that waits is like this.
    fn any_waiting(&self, like: &dyn Fn(&Entry) -> bool) -> bool;

    /// The next change that may be made now.
    fn next(&mut self) -> Option<Tag>;

    /// A change is made.
    fn record(&mut self, entry: Entry);

    /// What has to be written now, if nothing is under way.
    fn next_writes(&mut self, map: &Map, out: &mut Vec<MapWrite>);

    /// The bytes of the write under way.
    fn content(&self) -> &[u8];

    /// Where the open write under way may go if nothing is free: a block of no slot that is free.
    fn spare(&self, map: &Map) -> Pba;

    /// A drive has done its write: in this slot, if its address was open. A slot of the drive that is free now.
    fn written(&mut self, drive: DriveId, slot: Slot) -> Option<Slot>;

    /// Slots of a drive that are the store's own.
    fn slots(&self, drive: DriveId) -> Vec<Slot>;

    /// Recounts and panics on a contradiction.
    fn audit(&self);
}

/// A setting that the map's log does not allow, as a mistake of the configuration.
pub(super) fn refused(why: Refused) -> ConfigError {
    ConfigError::value(why.what, &why.found.to_string(), &why.allowed)
}

/// What survived is not what was written.
pub(in crate::place) fn damaged(what: &str, why: &Damage) -> ConfigError {
    let allowed = "what this volume wrote and nobody changed";
    ConfigError::value(what, &why.to_string(), allowed)
}
