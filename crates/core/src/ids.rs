//! Names of things that flow. They are indexes or counters, never addresses in memory, so that ties
//! are broken alike on every machine.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub struct $name(pub $raw);

        impl $name {
            /// As an index into a table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A client's request: given by the workload or the session, unique while it is pending.
    RequestId(u64)
}
id! {
    /// An I/O to one drive: given by the stack, unique while it is pending, then used again.
    IoId(u32)
}
id! {
    /// A drive of the stack, counted from 0.
    DriveId(u16)
}
id! {
    /// Who asks: a process, a virtual machine, a connection. 0 when nobody says.
    StreamId(u32)
}
id! {
    /// Streams that share one share; 0 is the root, to which all belong of whom nothing else is
    /// said.
    GroupId(u16)
}
id! {
    /// A track of a volume: as many consecutive blocks as a prefetcher goes by, counted from block
    /// 0.
    Track(u64)
}
id! {
    /// A unit of a write buffer: as many consecutive blocks of a volume as go to the drives
    /// together, counted from block 0.
    Unit(u64)
}
id! {
    /// A line of a read cache: as many consecutive blocks of a volume as are cached together.
    /// Numbered, from 0, by who keeps the directory.
    Line(u32)
}

/// Names of requests that a stack makes for itself begin here.
const JOBS: u64 = 1 << 63;

impl RequestId {
    /// The name of a request that the stack makes for itself: a number that comes again, and one
    /// that tells it from those before.
    pub const fn job(number: u32, turn: u32) -> RequestId {
        RequestId(JOBS | (turn as u64 & 0x7fff_ffff) << 32 | number as u64)
    }

    /// The number of such a request; none of a client's.
    #[inline]
    pub const fn as_job(self) -> Option<u32> {
        if self.0 >= JOBS {
            Some(self.0 as u32)
        } else {
            None
        }
    }
}
