//! The steps that are not done, and which of them wait for which.
//!
//! A step counts the steps before it that are not done. When one ends, it says who waited for it;
//! whose count falls to zero may start. Steps and edges live in slabs, so nothing is allocated once
//! these have grown. O(1) per step and edge; O(log n) of the gates for a gate, which most requests
//! have none of.

use slab::Slab;

use crate::ids::{DriveId, IoId, RequestId};
use crate::io::{Data, Io, Moves, StepNumber, Tag};
use crate::offer::OfferId;
use crate::op::{Failure, Op};
use crate::plan::Parity;
use crate::sorted::{Keyed, Sorted};
use crate::units::Blocks;

/// What may be done with an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// A request waits for it, and it moves the request's data: a scheduler may keep it out.
    pub(super) asked: bool,
    /// It may be merged with others.
    pub(super) merges: bool,
}

/// A step that is not done.
pub(super) struct Open {
    /// The request that waits for it; none for what a placement does for itself, or may still do
    /// after the answer.
    pub(super) request: Option<usize>,
    /// Steps before it that have not ended.
    missing: u32,
    /// Why one of them has failed: then it will never start.
    doomed: Option<Failure>,
    /// The first of the edges to steps that wait for this one.
    edge: Option<u32>,
    pub(super) work: Work,
}

impl Open {
    /// What may be done with an I/O.
    #[inline]
    pub(super) fn standing(&self, id: IoId) -> Standing {
        let of = self.io(id);
        let asked = self.request.is_some() && of.data.is_some();
        Standing {
            asked,
            // A forced write must not wait for the data of others to be on the medium.
            merges: asked
                && !of.io.open
                && of.io.offer.is_none()
                && !of.io.fua
                && of.alternative == id,
        }
    }

    /// The I/O that it is, by this name.
    #[inline]
    pub(super) fn io(&self, id: IoId) -> &OpenIo {
        match &self.work {
            Work::Io(io) => io,
            Work::Gate(_) | Work::Parity(_) => panic!("{id:?} is no I/O"),
        }
    }

    #[inline]
    pub(super) fn into_io(self) -> OpenIo {
        match self.work {
            Work::Io(io) => io,
            Work::Gate(_) | Work::Parity(_) => panic!("a drive has ended what is no I/O"),
        }
    }
}

/// What a step is.
pub(super) enum Work {
    Io(OpenIo),
    Gate(Tag),
    Parity(OpenParity),
}

/// An I/O that was not completed.
pub(super) struct OpenIo {
    pub(super) drive: DriveId,
    pub(super) tag: Tag,
    pub(super) data: Option<Data>,
    /// The parity that it writes.
    pub(super) parity: Option<StepNumber>,
    /// The step that brought the data that it writes.
    pub(super) carries: Option<StepNumber>,
    pub(super) io: Io,
    /// The next of its alternatives, round in a ring; itself if it has none.
    pub(super) alternative: IoId,
    /// Whether its offer is its own, and not that of its request.
    pub(super) offers: bool,
}

impl OpenIo {
    /// What its placement offers it.
    #[inline]
    pub(super) fn own_offer(&self) -> Option<OfferId> {
        self.io.offer.filter(|_| self.offers)
    }

    /// What it brings from the drive, or puts there.
    #[inline]
    pub(super) fn moves(&self) -> Moves {
        match (self.data, self.parity, self.io.op) {
            (Some(data), ..) => Moves::Volume(data),
            (None, Some(parity), _) => Moves::Parity(parity),
            (None, None, Op::Flush | Op::Seek | Op::Discard) => Moves::Nothing,
            (None, None, Op::Read | Op::Write) => Moves::Own,
        }
    }
}

/// A parity that was not computed.
pub(super) struct OpenParity {
    pub(super) number: StepNumber,
    /// For which it is computed, whether that waits for it or not.
    pub(super) request: Option<RequestId>,
    pub(super) parity: Parity,
}

/// An edge to a step that waits, in the list of those that wait for the same one.
struct Edge {
    then: IoId,
    carries: bool,
    /// Where in a parity what it brings begins.
    at: Blocks,
    next: Option<u32>,
}

/// A step that a placement speaks of by its tag later on.
#[derive(Clone, Copy, Debug)]
struct Named {
    tag: u64,
    id: IoId,
}

impl Keyed for Named {
    type Key = u64;

    #[inline]
    fn key(&self) -> u64 {
        self.tag
    }
}

/// All steps that are not done. Steps share the names of I/Os.
#[derive(Default)]
pub(super) struct Graph {
    steps: Slab<Open>,
    edges: Slab<Edge>,
    gates: Sorted<Named>,
    /// Open I/Os without the volume's data that have not started: a placement may pin them.
    unpinned: Sorted<Named>,
}

impl Graph {
    /// The name of the next step.
    #[inline]
    pub(super) fn next_name(&self) -> IoId {
        let key = u32::try_from(self.steps.vacant_key());
        IoId(key.expect("fewer than 2^32 steps are open"))
    }

    /// Adds a step that waits for nothing yet. Always part of its caller, so that this writes the
    /// step where it stays.
    #[inline(always)]
    pub(super) fn add(&mut self, request: Option<usize>, work: Work) -> IoId {
        let id = self.next_name();
        match &work {
            Work::Gate(tag) => self.gates.insert(Named { tag: tag.0, id }),
            Work::Io(of) if of.io.open && of.data.is_none() => {
                self.unpinned.insert(Named { tag: of.tag.0, id });
            }
            Work::Io(_) | Work::Parity(_) => {}
        }
        self.steps.insert(Open {
            request,
            missing: 0,
            doomed: None,
            edge: None,
            work,
        });
        id
    }

    /// One step waits for another, and writes what it brings if it `carries` that, or takes it in
    /// from block `at` on.
    pub(super) fn join(&mut self, before: IoId, then: IoId, (carries, at): (bool, Blocks)) {
        self.steps[then.index()].missing += 1;
        let before = &mut self.steps[before.index()].edge;
        let edge = Edge {
            then,
            carries,
            at,
            next: before.take(),
        };
        *before = Some(self.edges.insert(edge) as u32);
    }

    /// Whether a step waits for others.
    #[inline]
    pub(super) fn waits(&self, id: IoId) -> bool {
        self.steps[id.index()].missing > 0
    }

    /// Whether no step waits for this one.
    #[inline]
    pub(super) fn is_last(&self, id: IoId) -> bool {
        self.steps[id.index()].edge.is_none()
    }

    /// Takes out a step that no other waits for; gives the request that waits for it.
    #[inline]
    pub(super) fn forget(&mut self, id: IoId) -> Option<usize> {
        self.steps.remove(id.index()).request
    }

    /// Takes a step out; its edges stay for [`Graph::follow`].
    #[inline]
    pub(super) fn remove(&mut self, id: IoId) -> (Open, Edges) {
        let open = self.steps.remove(id.index());
        let edges = Edges(open.edge);
        (open, edges)
    }

    /// The next step that waited for one which was taken out, and which is told how that ended and
    /// which step has brought data; and where in it these begin.
    #[inline]
    pub(super) fn follow(
        &mut self,
        edges: &mut Edges,
        (failure, brought): (Option<Failure>, Option<StepNumber>),
    ) -> Option<(IoId, Blocks)> {
        let Edge {
            then,
            carries,
            at,
            next,
        } = self.edges.remove(edges.0? as usize);
        edges.0 = next;
        let step = &mut self.steps[then.index()];
        step.missing -= 1;
        step.doomed = step.doomed.or(failure);
        if carries && brought.is_some() {
            let before = std::mem::replace(&mut self.io_mut(then).carries, brought);
            assert_eq!(before, None, "a write carries what one step has brought");
        }
        Some((then, at))
    }

    /// Why a step will never start, if one before it has failed.
    #[inline]
    pub(super) fn doomed(&self, id: IoId) -> Option<Failure> {
        self.steps[id.index()].doomed
    }

    /// No request waits any more for what waits for a step that was taken out, directly or behind
    /// others. Which ones did, each as often as for steps; alternatives count once.
    pub(super) fn release(&mut self, edges: &Edges) -> Vec<usize> {
        let (mut lists, mut released) = (vec![edges.0], Vec::new());
        while let Some(mut edge) = lists.pop() {
            while let Some(key) = edge {
                let Edge { then, next, .. } = self.edges[key as usize];
                let is_first = self.stand_all(then);
                let step = &mut self.steps[then.index()];
                released.extend(step.request.take().filter(|_| is_first));
                lists.push(step.edge);
                edge = next;
            }
        }
        released
    }

    /// Whether a request waits for all alternatives of a step that it waits for.
    fn stand_all(&self, id: IoId) -> bool {
        let is_io = matches!(self.step(id).work, Work::Io(_));
        !is_io || self.ring(id).all(|one| self.step(one).request.is_some())
    }

    /// Says that a step which waits for others will never start.
    pub(super) fn doom(&mut self, id: IoId, failure: Failure) {
        self.steps[id.index()].doomed.get_or_insert(failure);
    }

    /// The open I/Os with these tags, which have not started, in order of their names. O(steps), for
    /// all of them.
    pub(super) fn unbound(&self, tags: &[(Tag, Failure)]) -> Vec<(IoId, Failure)> {
        let of_tag = |tag: Tag| tags.binary_search_by_key(&tag.0, |(tag, _)| tag.0);
        let found = |(id, step): (IoId, &Open)| match &step.work {
            Work::Io(of) if of.io.open => Some((id, tags[of_tag(of.tag).ok()?].1)),
            _ => None,
        };
        let found: Vec<_> = self.iter().filter_map(found).collect();
        assert_eq!(found.len(), tags.len(), "what is revoked has not begun");
        found
    }

    /// Takes an I/O out of the ring of its alternatives; the next of those that stay.
    pub(super) fn leave_ring(&mut self, id: IoId) -> Option<IoId> {
        let Work::Io(OpenIo { alternative, .. }) = self.steps[id.index()].work else {
            return None;
        };
        if alternative == id {
            return None;
        }
        let before = self.ring(id).last().expect("it is in the ring itself");
        self.io_mut(before).alternative = alternative;
        self.io_mut(id).alternative = id;
        Some(alternative)
    }

    /// What waited for a step that was taken out waits for this one instead, besides what does so
    /// already.
    pub(super) fn hand_over(&mut self, edges: Edges, to: IoId) {
        let Some(first) = edges.0 else {
            return;
        };
        let mut last = first;
        while let Some(next) = self.edges[last as usize].next {
            last = next;
        }
        self.edges[last as usize].next = self.steps[to.index()].edge.replace(first);
    }

    /// The gate with this tag, which from now on may be the tag of another one.
    pub(super) fn open_gate(&mut self, tag: Tag) -> IoId {
        let found = self.gates.take(&tag.0);
        found.expect("what is opened is a gate that is shut").id
    }

    /// Takes the next of its alternatives out of the ring of an I/O.
    #[inline]
    pub(super) fn leave_ring_after(&mut self, id: IoId) -> Option<IoId> {
        let next = self.io(id).alternative;
        if next == id {
            return None;
        }
        let behind = std::mem::replace(&mut self.io_mut(next).alternative, next);
        self.io_mut(id).alternative = behind;
        Some(next)
    }

    /// The open I/O with this tag, which is to get an address.
    pub(super) fn pin(&mut self, tag: Tag) -> IoId {
        let found = self.unpinned.take(&tag.0);
        found.expect("what is pinned waits").id
    }

    /// A range write starts. One of a client moves the part of the volume where it lands from then
    /// on.
    pub(super) fn landed(&mut self, id: IoId, data: Data) {
        let io = self.io_mut(id);
        if !io.offers {
            io.data = io.data.map(|_| data);
        }
    }

    /// An open I/O has started: it cannot be pinned any more.
    #[inline]
    pub(super) fn started(&mut self, tag: Tag, data: Option<Data>) {
        if data.is_none() {
            self.unpinned.take(&tag.0);
        }
    }

    #[inline]
    pub(super) fn step(&self, id: IoId) -> &Open {
        &self.steps[id.index()]
    }

    #[inline]
    pub(super) fn io(&self, id: IoId) -> &OpenIo {
        self.step(id).io(id)
    }

    #[inline]
    pub(super) fn io_mut(&mut self, id: IoId) -> &mut OpenIo {
        match &mut self.steps[id.index()].work {
            Work::Io(io) => io,
            Work::Gate(_) | Work::Parity(_) => panic!("{id:?} is no I/O"),
        }
    }

    /// Steps that are not done, with their names.
    pub(super) fn iter(&self) -> impl Iterator<Item = (IoId, &Open)> {
        self.steps
            .iter()
            .map(|(key, open)| (IoId(key as u32), open))
    }

    /// An I/O and its alternatives.
    pub(super) fn ring(&self, first: IoId) -> impl Iterator<Item = IoId> {
        let next = move |id: &IoId| {
            let next = self.io(*id).alternative;
            (next != first).then_some(next)
        };
        std::iter::successors(Some(first), next)
    }

    /// Recounts what each step waits for, and panics on a contradiction.
    pub(super) fn audit(&self) {
        let mut counted = 0;
        for (id, open) in self.iter() {
            let mut edge = open.edge;
            while let Some(key) = edge {
                let Edge { then, next, .. } = self.edges[key as usize];
                assert!(
                    self.waits(then),
                    "{then:?} waits for {id:?} and for nothing"
                );
                counted += 1;
                edge = next;
            }
        }
        let missing: u32 = self.iter().map(|(_, open)| open.missing).sum();
        assert_eq!(counted, missing, "steps before others got lost");
        assert_eq!(self.edges.len(), missing as usize, "an edge leads nowhere");
    }
}

/// Edges of a step that was taken out of the graph.
#[must_use]
pub(super) struct Edges(Option<u32>);

impl Edges {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}
