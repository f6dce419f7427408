//! What a client and the stack exchange.

use crate::ids::{RequestId, StreamId};
use crate::op::{Cost, Op, Status};
use crate::units::{Blocks, Duration, Extent, Instant, Lba};

/// How far from its home a write may land, as its client says. Placements whose blocks have
/// addresses take no notice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freedom {
    /// Nothing is said of it.
    #[default]
    Untold,
    /// It stays where it is.
    None,
    /// On the track.
    Track,
    /// In the group.
    Group,
    /// Anywhere.
    Disk,
}

/// A client's request on a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Given by the client; unique while pending.
    pub id: RequestId,
    /// Who asks.
    pub stream: StreamId,
    /// What to do.
    pub op: Op,
    /// Where. Of a flush, the blocks that it covers at least; empty if these are all of the volume. Of
    /// a range write where it may land, for those who go by addresses; in the answer where it has
    /// landed.
    pub extent: Extent,
    /// When it came.
    pub arrived: Instant,
    /// Scheduling class and level as Linux counts them (`class << 13 | level`); 0 when unknown.
    pub priority: u16,
    /// Force unit access, of a write: it is answered only when its data are on the medium.
    pub fua: bool,
    /// Synchronous, of a write: somebody waits for it, where other writes are made behind the backs
    /// of those who asked. Reads always are.
    pub sync: bool,
    /// A range write: it comes with an offer ([`Input::Offer`](crate::stack::Input::Offer)).
    pub offered: bool,
    /// Of a write without an offer of its own: how far it may move.
    pub freedom: Freedom,
}

impl Request {
    /// A request of the unnamed stream at no particular priority.
    pub const fn new(id: u64, op: Op, start: u64, len: u64, arrived: Instant) -> Request {
        Request {
            id: RequestId(id),
            stream: StreamId(0),
            op,
            extent: Extent {
                start: Lba(start),
                len: Blocks(len),
            },
            arrived,
            priority: 0,
            fua: false,
            sync: false,
            offered: false,
            freedom: Freedom::Untold,
        }
    }
}

/// When things happened to a request, and what its time went into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// It came to the stack.
    pub arrived: Instant,
    /// A drive began to work on its first I/O, which may wait in the drive's own queue before;
    /// equal to `replied` when it needed none.
    pub started: Instant,
    /// It was answered.
    pub replied: Instant,
    /// Queue time excluded: what the drives spent, summed over its I/Os.
    pub cost: Cost,
}

impl Timeline {
    /// From arrival to answer.
    #[inline]
    pub fn response(&self) -> Duration {
        self.replied.since(self.arrived)
    }

    /// From arrival until a drive began to work for it.
    #[inline]
    pub fn wait(&self) -> Duration {
        self.started.since(self.arrived)
    }

    /// From then to the answer.
    #[inline]
    pub fn service(&self) -> Duration {
        self.replied.since(self.started)
    }

    /// So much of [`Timeline::service`] a part of its cost was. Where I/Os run side by side their
    /// costs add up to more than the time that goes by: then each part has its share of that.
    pub fn of_service(&self, part: Duration) -> Duration {
        let (all, service) = (self.cost.total(), self.service());
        if all <= service {
            return part;
        }
        Duration((u128::from(part.0) * u128::from(service.0) / u128::from(all.0)) as u64)
    }
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The request, as it came; of a range write that was done, where it has landed.
    pub request: Request,
    /// How it ended.
    pub status: Status,
    /// When and at what cost.
    pub timeline: Timeline,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_requests_side_by_side_share_the_time_that_went_by() {
        let timeline = |seek, rotation, replied| Timeline {
            arrived: Instant(0),
            started: Instant(10),
            replied: Instant(replied),
            cost: Cost {
                seek: Duration(seek),
                rotation: Duration(rotation),
                ..Cost::default()
            },
        };
        let waited = |timeline: Timeline| timeline.of_service(timeline.cost.rotation);
        // One I/O, or one after the other, perhaps with time between.
        assert_eq!(waited(timeline(30, 60, 100)), Duration(60));
        assert_eq!(waited(timeline(30, 60, 200)), Duration(60));
        // Two at a time: of 90 of both, two thirds are waits.
        assert_eq!(waited(timeline(30, 60, 55)), Duration(30));
        assert_eq!(waited(timeline(0, 0, 10)), Duration(0));
    }
}
