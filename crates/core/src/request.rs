//! What a client and the stack exchange.

use serde::{Deserialize, Serialize};

use crate::ids::{RequestId, StreamId};
use crate::io::Cost;
use crate::units::{Blocks, Duration, Extent, Instant, Lba};

/// What a request or an I/O does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Bring blocks.
    Read,
    /// Store blocks.
    Write,
    /// Make everything acknowledged so far safe against power loss. Has no extent.
    Flush,
    /// The blocks are no longer needed.
    Discard,
    /// Move the arm and nothing else; only a scheduler asks for it (`Next::Seek`).
    Seek,
}

impl Op {
    /// All of them, in the order of their codes.
    pub const ALL: [Op; 5] = [Op::Read, Op::Write, Op::Flush, Op::Discard, Op::Seek];

    /// The operation as results and traces spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Flush => "flush",
            Op::Discard => "discard",
            Op::Seek => "seek",
        }
    }
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
    /// Where; empty for a flush.
    pub extent: Extent,
    /// When it came.
    pub arrived: Instant,
    /// Scheduling class and level as Linux counts them (`class << 13 | level`); 0 when unknown.
    pub priority: u16,
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
        }
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As asked.
    Done,
    /// The drive could not carry it out.
    Failed,
}

/// When things happened to a request, and what its time went into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// It came to the stack.
    pub arrived: Instant,
    /// Its first I/O started on a drive; equal to `replied` when it needed none.
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

    /// From arrival to the first start on a drive.
    #[inline]
    pub fn wait(&self) -> Duration {
        self.started.since(self.arrived)
    }

    /// From the first start to the answer.
    #[inline]
    pub fn service(&self) -> Duration {
        self.replied.since(self.started)
    }
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The request, as it came.
    pub request: Request,
    /// How it ended.
    pub status: Status,
    /// When and at what cost.
    pub timeline: Timeline,
}
