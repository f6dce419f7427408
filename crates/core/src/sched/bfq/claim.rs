//! What a queue is called, and whose share it has.

use crate::ids::GroupId;
use crate::stream::{Class, Stream};

/// A queue's name: its place, and which of those that were there it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QueueKey {
    pub(super) place: u32,
    pub(super) born: u32,
}

/// Whose share a queue has, and what that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claim {
    pub(super) group: GroupId,
    pub(super) class: Class,
    pub(super) level: u8,
    /// Its weight without any favour.
    pub(super) weight: u64,
    /// What was told of it, as if it had a group of its own, which never shares a queue with
    /// another.
    pub(super) told: u16,
}

/// The weight of a process of which nothing is said: only such ones are ever favoured.
pub(super) const PLAIN: u64 = 40;

impl Claim {
    /// What a stream may claim. In the root its weight counts beside those of others; a group has
    /// that weight, and its streams go by their levels.
    pub(super) fn of(stream: &Stream) -> Claim {
        let level = 10 * u64::from(8 - stream.level.min(7));
        let alone = stream.group == GroupId(0);
        let weight = match alone {
            true => (level * u64::from(stream.weight) / u64::from(Stream::UNKNOWN.weight)).max(1),
            false => level,
        };
        Claim {
            group: stream.group,
            class: stream.class,
            level: stream.level,
            weight,
            told: if alone { stream.weight } else { 0 },
        }
    }
}
