//! Steps: from a plan to the queues, and what their ends lead to.

use std::sync::Arc;

use super::dispatch::Below;
use super::graph::{Edges, OpenIo, OpenParity, Work};
use super::{Action, Stack};
use crate::ids::{DriveId, IoId, StreamId};
use crate::io::{DriveDone, Io, Moves, Origin, StepNumber, Tag};
use crate::offer::{Offer, OfferId, Offers};
use crate::op::{Failure, Op, Status};
use crate::plan::{Instead, Parity, Plan, PlannedIo, Step, StepIndex, Target};
use crate::units::{Blocks, Instant, Pba};

/// A step that has ended, while those that waited for it have not been told.
pub(super) struct Ended {
    edges: Edges,
    /// Why it was not done, if it was not: then what waited for it is skipped.
    failure: Option<Failure>,
    /// What may go into a parity: which step brought it.
    brought: Option<StepNumber>,
}

impl Stack {
    /// Gives the steps of a plan their names, and queues the I/Os that wait for no other step.
    #[inline]
    pub(super) fn accept(&mut self, now: Instant, request: Option<usize>, plan: &Plan) {
        if let (Some(key), Some(failure)) = (request, plan.failure) {
            self.requests[key].fail(failure);
        }
        // Mostly there is one, which waits for nothing.
        if let ([Step::Io(only)], []) = (plan.steps.as_slice(), plan.edges.as_slice()) {
            let id = self.add_io(now, request, only, (&[], &plan.offers));
            self.names.clear();
            self.names.push(id);
            self.begin(now, id);
            return;
        }
        self.accept_graph(now, request, plan);
    }

    /// The same for a plan of several steps, or of one that is no I/O.
    fn accept_graph(&mut self, now: Instant, request: Option<usize>, plan: &Plan) {
        let mut names = std::mem::take(&mut self.names);
        names.clear();
        for step in &plan.steps {
            let id = match step {
                Step::Io(planned) => self.add_io(now, request, planned, (&names, &plan.offers)),
                Step::Gate(tag) => self.add_awaited(request, Work::Gate(*tag)),
                Step::Parity(parity) => self.add_parity(request, parity),
            };
            names.push(id);
        }
        let name = |index: StepIndex| names[index.0 as usize];
        for edge in &plan.edges {
            self.graph
                .join(name(edge.before), name(edge.then), (edge.carries, edge.at));
        }
        for id in &names {
            if !self.graph.waits(*id) {
                self.begin(now, *id);
            }
        }
        self.names = names;
        if !self.ended.is_empty() {
            // Parities of nothing but what the request writes. What follows them is in this plan,
            // whose drives are asked anyway.
            self.follow(now);
            self.woken.clear();
        }
    }

    fn add_io(
        &mut self,
        now: Instant,
        request: Option<usize>,
        planned: &PlannedIo,
        (names, offers): (&[IoId], &[Arc<Offer>]),
    ) -> IoId {
        let id = self.graph.next_name();
        let (Target::At(at) | Target::Open(at) | Target::Offered(at) | Target::Among(at, _)) =
            planned.target;
        let offer = self.offer_of(request, planned, offers);
        let number = self.next_number();
        let asked = request.map(|key| &self.requests[key].request);
        let io = Io {
            id,
            sequence: number.get(),
            stream: asked.map_or(StreamId(0), |request| request.stream),
            op: planned.op,
            at,
            open: matches!(planned.target, Target::Open(_)),
            offer,
            len: planned.len,
            arrived: asked.map_or(now, |request| request.arrived),
            priority: asked.map_or(0, |request| request.priority),
            // What a forced request waits for is forced, whatever the placement.
            fua: planned.op == Op::Write
                && (planned.fua || planned.awaited && asked.is_some_and(|request| request.fua)),
            sync: planned.op == Op::Read
                || planned.awaited && asked.is_some_and(|request| request.sync),
            place: self.queues[planned.drive.index()].oracle.locate(at),
        };
        let work = Work::Io(OpenIo {
            drive: planned.drive,
            tag: planned.tag,
            data: planned.data,
            parity: planned
                .parity
                .map(|parity| self.parity_number(names[parity.0 as usize])),
            carries: None,
            io,
            alternative: id,
            offers: matches!(planned.target, Target::Among(..)),
        });
        // What is not awaited may outlive its request.
        let request = request.filter(|_| planned.awaited);
        if planned.alternative {
            let before = *names.last().expect("an alternative follows another I/O");
            self.graph.add(request, work);
            let next = std::mem::replace(&mut self.graph.io_mut(before).alternative, id);
            self.graph.io_mut(id).alternative = next;
            return id;
        }
        self.add_awaited(request, work)
    }

    /// What an I/O is offered, if it is a range write: by its request, or by the plan.
    #[inline]
    fn offer_of(
        &mut self,
        request: Option<usize>,
        planned: &PlannedIo,
        offers: &[Arc<Offer>],
    ) -> Option<OfferId> {
        match planned.target {
            Target::At(_) | Target::Open(_) => None,
            Target::Offered(_) => self.requests[request?].offer,
            Target::Among(_, number) => {
                let offer = Arc::clone(&offers[number as usize]);
                let offers = &mut self.offers[planned.drive.index()];
                Some(offers.make(offer, planned.len.0, Offers::NOW))
            }
        }
    }

    fn add_parity(&mut self, request: Option<usize>, parity: &Parity) -> IoId {
        let work = Work::Parity(OpenParity {
            number: self.next_number(),
            request: request.map(|key| self.requests[key].request.id),
            parity: *parity,
        });
        self.add_awaited(request.filter(|_| parity.awaited), work)
    }

    /// Adds a step, which is waited for if it has a request.
    #[inline(always)]
    fn add_awaited(&mut self, request: Option<usize>, work: Work) -> IoId {
        if let Some(key) = request {
            self.requests[key].remaining += 1;
        }
        self.graph.add(request, work)
    }

    pub(super) fn next_number(&mut self) -> StepNumber {
        self.sequence += 1;
        StepNumber::new(self.sequence)
    }

    fn parity_number(&self, id: IoId) -> StepNumber {
        match &self.graph.step(id).work {
            Work::Parity(parity) => parity.number,
            Work::Io(_) | Work::Gate(_) => panic!("{id:?} is no parity"),
        }
    }

    /// A step that waits for no other begins: an I/O waits in the queue of its drive, which is
    /// given; a gate waits for its placement; a parity is computed.
    #[inline]
    fn begin(&mut self, now: Instant, id: IoId) -> Option<DriveId> {
        let step = self.graph.step(id);
        match &step.work {
            Work::Io(OpenIo { drive, io, .. }) => {
                let queue = &mut self.queues[drive.index()];
                queue.insert(now, io, step.standing(id), &self.streams);
                Some(*drive)
            }
            Work::Gate(_) => None,
            Work::Parity(_) => {
                self.compute(id);
                None
            }
        }
    }

    /// A drive has ended an I/O.
    #[inline]
    pub(super) fn complete(&mut self, now: Instant, drive: DriveId, done: &DriveDone) {
        let mut plan = self.plans.pop().unwrap_or_default();
        let (drives, of) = (Below(&self.queues), self.graph.io(done.io));
        assert_eq!(
            of.drive, drive,
            "drive {drive:?} completed an I/O of another"
        );
        let own = of.own_offer();
        self.placement
            .done(now, of.tag, drive, done, &drives, &mut plan);
        if let Some(offer) = own {
            self.offers[drive.index()].end(offer);
        } else if done.status == Status::Failed(Failure::Medium) {
            self.try_elsewhere(drive, done, &mut plan);
        }
        if plan.is_empty() && self.graph.is_last(done.io) {
            self.plans.push(plan);
            if let Some(key) = self.graph.forget(done.io) {
                self.count(now, key, done, done.status);
            }
            return;
        }
        self.carry_on(now, drive, done, plan);
    }

    /// A range write that failed on the medium is written elsewhere, if something else of its offer
    /// is left.
    #[cold]
    fn try_elsewhere(&mut self, drive: DriveId, done: &DriveDone, plan: &mut Plan) {
        let of = self.graph.io(done.io);
        if of
            .io
            .offer
            .is_none_or(|offer| !self.offers[drive.index()].retry(offer))
        {
            return;
        }
        let elsewhere = plan.io(PlannedIo {
            tag: of.tag,
            data: of.data,
            ..PlannedIo::new(drive, Op::Write, Target::Offered(of.io.at), done.len)
        });
        plan.instead = Instead::Step(elsewhere);
    }

    /// A drive has ended an I/O that others wait for, or of which its placement says what is to
    /// follow.
    fn carry_on(&mut self, now: Instant, drive: DriveId, done: &DriveDone, mut plan: Box<Plan>) {
        self.note_opened(&plan);
        let (step, edges) = self.graph.remove(done.io);
        let (request, io) = (step.request, step.into_io());
        self.accept(now, request, &plan);
        self.repeat(io.carries, &plan);
        assert!(
            !done.status.is_done()
                || done.op == Op::Read
                || matches!(plan.instead, Instead::Nothing | Instead::Anew),
            "nothing stands in for what was written"
        );
        let status = match plan.instead {
            Instead::Nothing => done.status,
            Instead::Failed(failure) => Status::Failed(failure),
            Instead::Step(_) | Instead::Tolerated | Instead::Buffered | Instead::Anew => {
                Status::Done
            }
        };
        match plan.instead {
            Instead::Step(index) => self.graph.hand_over(edges, self.names[index.0 as usize]),
            Instead::Nothing
            | Instead::Failed(_)
            | Instead::Tolerated
            | Instead::Buffered
            | Instead::Anew => {
                match plan.instead {
                    Instead::Buffered => self.recall(request, &io, done),
                    Instead::Anew => self.release(&edges),
                    _ => {}
                }
                let found = done.status.is_done() || plan.instead == Instead::Buffered;
                let reads = io.io.op == Op::Read && found;
                let failure = match plan.instead {
                    // What waits for it never starts, whether it was done or not. Nobody is told.
                    Instead::Anew => Some(done.status.failure().unwrap_or(Failure::Medium)),
                    _ => status.failure(),
                };
                self.ended.push_back(Ended {
                    edges,
                    failure,
                    brought: reads.then_some(StepNumber::new(io.io.sequence)),
                });
                self.follow(now);
            }
        }
        let busy = Some(drive);
        self.tell_those_behind(now, request, busy, &mut plan);
        if let Some(key) = request {
            self.count(now, key, done, status);
        }
        self.tell_others(now, busy, &mut plan);
        self.pump_all(now, plan);
    }

    /// What is skipped with a plan. Drives that get something to do are to be woken, but for a
    /// `busy` one, which is asked last.
    fn tell_those_behind(
        &mut self,
        now: Instant,
        request: Option<usize>,
        busy: Option<DriveId>,
        plan: &mut Plan,
    ) {
        self.revoke(now, plan);
        plan.wake
            .extend(self.woken.drain(..).filter(|other| Some(*other) != busy));
        self.tell_skipped(now, request, plan);
    }

    /// What a plan says of steps of earlier ones, and requests that ended with it.
    fn tell_others(&mut self, now: Instant, busy: Option<DriveId>, plan: &mut Plan) {
        while !self.opened.is_empty() {
            self.open_gates(now, busy, plan);
            // What waited for a gate may have been doomed. What its placement says of that may open
            // others.
            self.tell_skipped(now, None, plan);
        }
        self.fulfil_all(now);
        if let Some((tag, at)) = plan.pinned {
            plan.wake.push(self.pin(now, tag, at));
        }
    }

    /// Everything that a plan says besides its steps, if no I/O has ended for it. Mostly that is
    /// nothing.
    #[inline]
    pub(super) fn tell_all(&mut self, now: Instant, plan: &mut Plan) {
        let nothing = self.opened.is_empty()
            && self.woken.is_empty()
            && self.skipped.is_empty()
            && self.fulfilled.is_empty();
        if !(nothing && plan.revoked.is_empty() && plan.pinned.is_none()) {
            self.tell_some(now, plan);
        }
    }

    fn tell_some(&mut self, now: Instant, plan: &mut Plan) {
        self.tell_those_behind(now, None, None, plan);
        self.tell_others(now, None, plan);
    }

    /// What waits for a step that has failed is done anew: no request waits for it.
    #[cold]
    fn release(&mut self, edges: &Edges) {
        for key in self.graph.release(edges) {
            let pending = &mut self.requests[key];
            pending.remaining -= 1;
            assert!(pending.remaining > 0, "it waits for what is done anew");
        }
    }

    /// Writes of a plan that repeat one which has ended carry what that carried.
    fn repeat(&mut self, carries: Option<StepNumber>, plan: &Plan) {
        for (step, name) in plan.steps.iter().zip(&self.names) {
            if matches!(step, Step::Io(planned) if planned.repeats) {
                self.graph.io_mut(*name).carries = carries;
            }
        }
    }

    /// What could not be read is in the buffer of delayed copies.
    fn recall(&mut self, request: Option<usize>, io: &OpenIo, done: &DriveDone) {
        assert_eq!(done.op, Op::Read, "the buffer stands in for reads alone");
        let origin = Origin {
            request: request.map(|key| self.requests[key].request.id),
            step: StepNumber::new(io.io.sequence),
            open: false,
            moves: Moves::Volume(io.data.expect("the buffer holds the volume's data")),
            carries: None,
        };
        let len = done.len;
        self.actions.push(Action::Recall { origin, len });
    }

    /// Tells the steps that waited for those which have ended, in the order in which these did.
    fn follow(&mut self, now: Instant) {
        while let Some(mut ended) = self.ended.pop_front() {
            let brought = ended.brought.filter(|_| ended.failure.is_none());
            let told = (ended.failure, brought);
            while let Some((then, at)) = self.graph.follow(&mut ended.edges, told) {
                if let Some(of) = brought {
                    self.fold(of, then, at);
                }
                if self.graph.waits(then) {
                    continue;
                }
                match self.graph.doomed(then) {
                    Some(failure) => self.skip(then, failure),
                    None => {
                        let drive = self.begin(now, then);
                        self.woken.extend(drive);
                    }
                }
            }
        }
    }

    /// What a step brought goes into a parity, if that is what waited for it.
    fn fold(&mut self, of: StepNumber, then: IoId, at: Blocks) {
        if let Work::Parity(OpenParity { number, .. }) = &self.graph.step(then).work {
            let into = *number;
            self.actions.push(Action::Fold { into, of, at });
        }
    }

    /// Everything that goes into a parity is there.
    fn compute(&mut self, id: IoId) {
        let (step, edges) = self.graph.remove(id);
        let Work::Parity(open) = step.work else {
            panic!("{id:?} is no parity");
        };
        let OpenParity {
            number,
            request,
            parity,
        } = open;
        let origin = Origin {
            request,
            step: number,
            open: false,
            moves: parity.data.map_or(Moves::Parity(number), Moves::Volume),
            carries: None,
        };
        let written = parity.written.map(|data| (data, parity.len));
        self.actions.push(Action::Compute { origin, written });
        self.fulfilled.extend(step.request);
        self.ended.push_back(Ended {
            edges,
            failure: None,
            brought: Some(number),
        });
    }

    /// A step that waited for a failed one never starts, and its request fails.
    fn skip(&mut self, id: IoId, failure: Failure) {
        let stays = self.graph.leave_ring(id);
        let (step, edges) = self.graph.remove(id);
        if let Some(alternative) = stays {
            // The last of several alternatives stands for all.
            let io = step.into_io();
            self.placement.withdrawn(io.tag, io.drive);
            return self.graph.hand_over(edges, alternative);
        }
        if let Work::Io(io) = &step.work {
            self.skipped.push((io.tag, io.drive));
            if let Some(offer) = io.own_offer() {
                self.offers[io.drive.index()].end(offer);
            }
        }
        if let Some(key) = step.request {
            self.requests[key].fail(failure);
            self.fulfilled.push(key);
        }
        self.ended.push_back(Ended {
            edges,
            failure: Some(failure),
            brought: None,
        });
    }

    /// Skips open I/Os that are to get no slot: those that wait for one at once, others when their
    /// turn comes.
    fn revoke(&mut self, now: Instant, plan: &Plan) {
        if plan.revoked.is_empty() {
            return;
        }
        let mut revoked = self.graph.unbound(&plan.revoked);
        // Schedulers seek them among what waits, from the oldest on. So each is found near there.
        revoked.sort_unstable_by_key(|(id, _)| self.graph.io(*id).io.sequence);
        for (id, failure) in revoked {
            if self.graph.waits(id) {
                self.graph.doom(id, failure);
                continue;
            }
            let asked = self.graph.step(id).standing(id).asked;
            let OpenIo { drive, io, .. } = *self.graph.io(id);
            self.withdraw(now, drive, &io, asked);
            self.skip(id, failure);
        }
        self.follow(now);
    }

    /// Tells the placement what was skipped. What that leads to is done with the plan for what has
    /// failed.
    fn tell_skipped(&mut self, now: Instant, request: Option<usize>, plan: &mut Plan) {
        while let Some((tag, drive)) = self.skipped.pop() {
            let mut more = self.plans.pop().unwrap_or_default();
            let drives = Below(&self.queues);
            self.placement.skipped(now, tag, drive, &drives, &mut more);
            // It has less to do than was planned, so it may have time to spare.
            plan.wake.push(drive);
            self.note_opened(&more);
            self.accept(now, request, &more);
            assert!(
                more.revoked.is_empty(),
                "nothing is revoked for what was skipped"
            );
            assert!(
                plan.pinned.is_none() || more.pinned.is_none(),
                "two steps keep one slot"
            );
            plan.wake.extend(more.ios().map(|io| io.drive));
            plan.wake.append(&mut more.wake);
            plan.pinned = plan.pinned.or(more.pinned);
            more.clear();
            self.plans.push(more);
        }
    }

    /// Which gates a placement has opened. Found at once, since it may give their tags to others
    /// from now on.
    #[inline]
    pub(super) fn note_opened(&mut self, plan: &Plan) {
        if !(plan.open.is_empty() && plan.refused.is_empty()) {
            self.note_all_opened(plan);
        }
    }

    fn note_all_opened(&mut self, plan: &Plan) {
        for tag in &plan.open {
            self.opened.push((self.graph.open_gate(*tag), None));
        }
        for (tag, failure) in &plan.refused {
            self.opened
                .push((self.graph.open_gate(*tag), Some(*failure)));
        }
    }

    /// Tells who waited for the gates that were opened. `busy` is asked last what it starts.
    fn open_gates(&mut self, now: Instant, busy: Option<DriveId>, plan: &mut Plan) {
        let mut opened = std::mem::take(&mut self.opened);
        for (gate, failure) in opened.drain(..) {
            let (step, edges) = self.graph.remove(gate);
            if !edges.is_empty() {
                self.ended.push_back(Ended {
                    edges,
                    failure,
                    brought: None,
                });
                self.follow(now);
                plan.wake
                    .extend(self.woken.drain(..).filter(|other| Some(*other) != busy));
            }
            if let Some(key) = step.request {
                if let Some(failure) = failure {
                    self.requests[key].fail(failure);
                }
                self.fulfil(now, key);
            }
        }
        self.opened = opened;
    }

    /// An open I/O that waits goes to this block; on which drive.
    fn pin(&mut self, now: Instant, tag: Tag, at: Pba) -> DriveId {
        let id = self.graph.pin(tag);
        let standing = self.graph.step(id).standing(id);
        let OpenIo { drive, io, .. } = *self.graph.io(id);
        self.withdraw(now, drive, &io, standing.asked);
        let queue = &mut self.queues[drive.index()];
        let io = &mut self.graph.io_mut(id).io;
        (io.open, io.at, io.place) = (false, at, queue.oracle.locate(at));
        queue.insert(now, io, standing, &self.streams);
        drive
    }

    /// An I/O that a request waits for has ended.
    #[inline]
    fn count(&mut self, now: Instant, key: usize, done: &DriveDone, status: Status) {
        let pending = &mut self.requests[key];
        pending.cost.add(&done.cost);
        if let Some(failure) = status.failure() {
            pending.fail(failure);
        }
        self.fulfil(now, key);
    }

    /// What ended, or was skipped, without a drive.
    fn fulfil_all(&mut self, now: Instant) {
        while let Some(key) = self.fulfilled.pop() {
            self.fulfil(now, key);
        }
    }
}
