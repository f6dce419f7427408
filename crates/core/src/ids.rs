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
    /// Streams that share one share; 0 is the root, to which all belong of whom nothing else is said.
    GroupId(u16)
}
id! {
    /// A line of a read cache: as many consecutive blocks of a volume as are cached together. Numbered, from 0, by who keeps the directory.
    Line(u32)
}
