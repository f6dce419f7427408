//! What a placement wants done: steps, and which of them wait for which.
//!
//! A plan is a graph. Its steps are I/Os, gates that the placement itself opens, and parities; an
//! edge says that one step starts only when another one is done, and a step may wait for any number
//! of others. So a small write to RAID-5 is data: read the old block and the old parity, compute
//! the new parity when both are there, write both.
//!
//! What is to happen when an I/O fails is not planned beforehand. It is asked when it fails
//! ([`Placement::done`](crate::contract::Placement::done)), because only then is known where the
//! data lie now and which drives are still there. The answer is a plan too: one of its steps may
//! stand in for the failed I/O ([`Plan::instead`]). A mirror reads another copy instead, RAID-5
//! computes the block from the others of its stripe. If nothing stands in for it, the steps that
//! wait for the failed one never start, and its request fails.

use std::sync::Arc;

use crate::ids::DriveId;
use crate::io::{Data, Tag};
use crate::offer::Offer;
use crate::op::{Failure, Op};
use crate::units::{Blocks, Pba};

/// A step's number within its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepIndex(pub u32);

/// Something to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A command for a drive.
    Io(PlannedIo),
    /// Done when the placement opens the gate with this tag ([`Plan::open`]). The request waits for
    /// it.
    Gate(Tag),
    /// Done when everything before it is done: computed from it, at once.
    Parity(Parity),
}

/// Where an I/O goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// To this block.
    At(Pba),
    /// To any free slot; schedulers that go by address take it for one to this block.
    Open(Pba),
    /// Somewhere in what its request offers; schedulers that go by address take it for one to this
    /// block.
    Offered(Pba),
    /// Somewhere in what the plan offers by this number, as far as writes may begin there
    /// ([`Placement::writable`](crate::contract::Placement::writable)); schedulers that go by
    /// address take it for one to this block.
    Among(Pba, u32),
}

/// An I/O that a placement wants done, before the stack gives it a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedIo {
    /// On which drive.
    pub drive: DriveId,
    /// What.
    pub op: Op,
    /// Where; ignored by a flush.
    pub target: Target,
    /// Length; 0 for a flush.
    pub len: Blocks,
    /// Which of the volume's blocks it moves; none if none (a flush, a map).
    pub data: Option<Data>,
    /// The placement's word for it.
    pub tag: Tag,
    /// Of a write: the parity that it puts on the drive, a step of the same plan that comes before
    /// it.
    pub parity: Option<StepIndex>,
    /// Of a write that is planned when another one has ended: it puts the same data on its drive,
    /// wherever those come from.
    pub repeats: bool,
    /// One of several ways to do the same, with the I/O before it in the plan: only what starts
    /// first is done.
    pub alternative: bool,
    /// Whether the request is answered only when this is done.
    pub awaited: bool,
    /// Force unit access, of a write: it is done only when its data are on the medium.
    pub fua: bool,
}

impl PlannedIo {
    /// An I/O that its request waits for, and that waits for no other.
    pub const fn new(drive: DriveId, op: Op, target: Target, len: Blocks) -> PlannedIo {
        PlannedIo {
            drive,
            op,
            target,
            len,
            data: None,
            tag: Tag(0),
            parity: None,
            repeats: false,
            alternative: false,
            awaited: true,
            fua: false,
        }
    }
}

/// The exclusive or of what the reads and parities before it bring, and of blocks that the request
/// writes. What comes before it may be shorter, and begins where its edge says ([`Plan::fold`]): so
/// pieces that do not overlap are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parity {
    /// Which of the blocks that the request writes go into it; none if only what steps bring does.
    pub written: Option<Data>,
    /// Which of the volume's blocks the result is; none if it is a parity on a drive.
    pub data: Option<Data>,
    /// Length of the result.
    pub len: Blocks,
    /// Whether the request is answered only when this is done.
    pub awaited: bool,
}

/// One step starts only when another one is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Comes first.
    pub before: StepIndex,
    /// Waits for it.
    pub then: StepIndex,
    /// Whether the second one writes what the first one brings.
    pub carries: bool,
    /// If the second one is a parity: where in it what the first one brings begins.
    pub at: Blocks,
}

/// What happens in place of an I/O that has failed, or of a read that was done and brought what is of
/// no use any more; or of what an I/O was done for, if that is to be done anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instead {
    /// Nothing: its request fails, and what waits for it is skipped.
    #[default]
    Nothing,
    /// Nothing, as a read that was done is of no use and nothing else has what it was to bring: its
    /// request fails for that, and what waits for it is skipped.
    Failed(Failure),
    /// This step: what waits for the I/O, its request among them, waits for the step.
    Step(StepIndex),
    /// Nothing has to: what waits for the I/O goes on as if it were done. So with a write of one of
    /// several copies.
    Tolerated,
    /// The buffer of delayed copies: it has all blocks that could not be read.
    Buffered,
    /// Steps of this plan do anew what the I/O was needed for: what waits for it, directly or behind
    /// other steps, never starts, and its request does not wait for that.
    Anew,
}

/// Steps that belong together: of one request, of the completion of an I/O, of spare time. The
/// stack owns some and clears them after use, so that their memory is used again.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// What is to be done. Only edges order it. The request is answered when the last awaited step
    /// is done.
    pub steps: Vec<Step>,
    /// What waits for what. Both ends are steps of this plan.
    pub edges: Vec<Edge>,
    /// Drives for which there is something new to do in their spare time.
    pub wake: Vec<DriveId>,
    /// Gates of earlier plans that are open from now on. Their tags are free for other gates at
    /// once.
    pub open: Vec<Tag>,
    /// Gates of earlier plans that never open: what waits for them fails. Their tags are free at
    /// once, too.
    pub refused: Vec<(Tag, Failure)>,
    /// Open I/Os of earlier plans that have no slot yet, and are to get none: they are skipped, and
    /// who waits for them fails. In order of their tags.
    pub revoked: Vec<(Tag, Failure)>,
    /// Why the request fails, whatever becomes of its steps.
    pub failure: Option<Failure>,
    /// A waiting open I/O without the volume's data that is to go to this block of its drive, which
    /// is not free.
    pub pinned: Option<(Tag, Pba)>,
    /// What the failure of an I/O that has just ended leads to, or that it was done for nothing.
    pub instead: Instead,
    /// What range writes among the steps offer.
    pub offers: Vec<Arc<Offer>>,
}

impl Plan {
    /// Adds an I/O.
    pub fn io(&mut self, io: PlannedIo) -> StepIndex {
        self.step(Step::Io(io))
    }

    /// Adds a gate.
    pub fn gate(&mut self, tag: Tag) -> StepIndex {
        self.step(Step::Gate(tag))
    }

    /// Adds a parity.
    pub fn parity(&mut self, parity: Parity) -> StepIndex {
        self.step(Step::Parity(parity))
    }

    /// One step starts only when another one is done. What waits for one of several alternatives
    /// names the first of them.
    pub fn after(&mut self, before: StepIndex, then: StepIndex) {
        self.edges.push(Edge {
            before,
            then,
            carries: false,
            at: Blocks(0),
        });
    }

    /// What a step brings goes into a parity, from this block of it on.
    pub fn fold(&mut self, before: StepIndex, into: StepIndex, at: Blocks) {
        self.edges.push(Edge {
            before,
            then: into,
            carries: false,
            at,
        });
    }

    /// A write starts only when another step is done, and carries what that has brought, as far as
    /// its request does not write it itself. If another step stands in for that one, it carries
    /// what the other one brings.
    pub fn carry(&mut self, before: StepIndex, write: StepIndex) {
        self.edges.push(Edge {
            before,
            then: write,
            carries: true,
            at: Blocks(0),
        });
    }

    /// Opens a gate.
    pub fn open(&mut self, tag: Tag) {
        self.open.push(tag);
    }

    /// What waits for a gate fails.
    pub fn refuse(&mut self, tag: Tag, failure: Failure) {
        self.refused.push((tag, failure));
    }

    /// An open I/O that has no slot yet never gets one.
    pub fn revoke(&mut self, tag: Tag, failure: Failure) {
        self.revoked.push((tag, failure));
    }

    /// The I/Os among the steps.
    pub fn ios(&self) -> impl Iterator<Item = &PlannedIo> {
        self.steps.iter().filter_map(|step| match step {
            Step::Io(io) => Some(io),
            Step::Gate(_) | Step::Parity(_) => None,
        })
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        let Plan {
            steps,
            edges: _,
            wake,
            open,
            refused,
            revoked,
            failure,
            pinned,
            instead,
            // Only steps speak of them.
            offers: _,
        } = self;
        let nothing = steps.is_empty() && wake.is_empty() && pinned.is_none();
        let no_gate = open.is_empty() && refused.is_empty() && revoked.is_empty();
        nothing && no_gate && failure.is_none() && *instead == Instead::Nothing
    }

    /// Forgets everything, but keeps the memory.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.edges.clear();
        self.wake.clear();
        self.open.clear();
        self.refused.clear();
        self.revoked.clear();
        self.failure = None;
        self.pinned = None;
        self.instead = Instead::Nothing;
        self.offers.clear();
    }

    fn step(&mut self, step: Step) -> StepIndex {
        self.steps.push(step);
        StepIndex(self.steps.len() as u32 - 1)
    }
}
