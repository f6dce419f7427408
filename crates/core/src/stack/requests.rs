//! Requests: from their arrival to their answer.

use super::dispatch::Below;
use super::hazard::{Admission, Key};
use super::{Action, CLIENTS, Stack};
use crate::offer::OfferId;
use crate::op::{Cost, Failure, Status};
use crate::plan::Plan;
use crate::request::{Reply, Request, Timeline};
use crate::units::{Instant, Lba};

/// A request that was not answered yet.
pub(super) struct Pending {
    pub(super) request: Request,
    pub(super) started: Option<Instant>,
    /// Awaited steps that are not done; alternatives count once.
    pub(super) remaining: usize,
    pub(super) status: Status,
    pub(super) cost: Cost,
    /// Later writes to the same chunks wait for it under this name.
    hazard: Option<Key>,
    /// What it offers, of a range write.
    pub(super) offer: Option<OfferId>,
}

impl Pending {
    /// Something that it waits for has failed; the first failure is the one that is answered.
    pub(super) fn fail(&mut self, failure: Failure) {
        if self.status.is_done() {
            self.status = Status::Failed(failure);
        }
    }
}

impl Stack {
    #[inline]
    pub(super) fn check_place(&self, now: Instant, request: &Request) {
        assert!(
            request.extent.end().0 <= self.capacity().0,
            "{:?} of {now} lies beyond block {}",
            request,
            self.capacity()
        );
    }

    pub(super) fn arrive(&mut self, now: Instant, request: &Request) {
        self.submitted += 1;
        self.streams.asked(request);
        let Admission::Begins(hazard) = self.hazards.admit(request) else {
            return;
        };
        if let Some(mut plan) = self.plan(now, request, hazard) {
            self.unblock(now);
            self.tell_all(now, &mut plan);
            self.pump_all(now, plan);
        }
    }

    /// Lets requests begin that an answer has unblocked. Many may be answered at once, such as
    /// discards behind a write. So they wait in a list for their drives' turn, the last one first,
    /// and not in calls within calls.
    #[inline]
    fn unblock(&mut self, now: Instant) {
        if self.hazards.has_ready() {
            self.begin_ready(now);
        }
    }

    fn begin_ready(&mut self, now: Instant) {
        let first = self.answered.len();
        while let Some((request, key)) = self.hazards.next() {
            if let Some(plan) = self.plan(now, &request, Some(key)) {
                self.answered.push(plan);
            }
        }
        while self.answered.len() > first {
            let mut plan = self.answered.pop().expect("there is one more");
            self.tell_all(now, &mut plan);
            self.pump_all(now, plan);
        }
    }

    /// Plans a request and queues what it needs. Gives the plan back if it is answered with that;
    /// then others may begin before its drives start something.
    fn plan(&mut self, now: Instant, request: &Request, hazard: Option<Key>) -> Option<Box<Plan>> {
        let mut plan = self.plans.pop().unwrap_or_default();
        let drives = Below(&self.queues);
        self.placement.plan(now, request, &drives, &mut plan);
        self.note_opened(&plan);
        let key = self.requests.insert(Pending {
            request: *request,
            started: None,
            remaining: 0,
            status: Status::Done,
            cost: Cost::default(),
            hazard,
            offer: self.comes.take(),
        });
        // Others may still have to be told of steps that ended before.
        let before = self.fulfilled.len();
        self.accept(now, Some(key), &plan);
        if self.fulfilled.len() > before {
            // Parities that were computed at once.
            self.requests[key].remaining -= self.fulfilled.drain(before..).count();
        }
        if self.requests[key].remaining == 0 {
            self.answer(now, key);
            return Some(plan);
        }
        self.tell_all(now, &mut plan);
        self.pump_all(now, plan);
        None
    }

    /// A request waits for one step less.
    pub(super) fn fulfil(&mut self, now: Instant, key: usize) {
        let pending = &mut self.requests[key];
        pending.remaining -= 1;
        if pending.remaining == 0 {
            self.answer(now, key);
            self.unblock(now);
        }
    }

    /// A range write is answered: where it has landed.
    #[cold]
    fn end_offer(&mut self, key: usize, offer: OfferId) {
        let pending = &mut self.requests[key];
        let landed = self.offers[CLIENTS].landed(offer);
        if let Some(range) = landed.filter(|_| pending.status.is_done()) {
            pending.request.extent.start = Lba(range.start);
        }
        self.offers[CLIENTS].end(offer);
    }

    fn answer(&mut self, now: Instant, key: usize) {
        if let Some(offer) = self.requests[key].offer {
            self.end_offer(key, offer);
        }
        // Read where it lies: taken out first, all of it would be copied once more.
        let pending = &self.requests[key];
        let timeline = Timeline {
            arrived: pending.request.arrived,
            started: pending.started.unwrap_or(now),
            replied: now,
            cost: pending.cost,
        };
        let reply = Reply {
            request: pending.request,
            status: pending.status,
            timeline,
        };
        match &mut self.memory {
            None => self.actions.push(Action::Reply(reply)),
            Some(memory) => memory.ended(now, &reply),
        }
        self.replied += 1;
        if let Some(hazard) = self.requests.remove(key).hazard {
            self.hazards.answered(hazard);
        }
    }
}
