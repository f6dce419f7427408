//! Conservation: every request is in exactly one place, and so is everything that one waits for.

use super::Stack;
use super::graph::{Open, Work};
use super::queue::Queue;
use crate::ids::{DriveId, IoId};
use crate::offer::Offers;

impl Stack {
    /// Recounts everything from scratch and panics on a contradiction.
    pub fn audit(&self) {
        let pending = self.pending_below() as u64;
        assert_eq!(self.submitted, self.replied + pending, "a request got lost");
        let remaining: usize = self.requests.iter().map(|(_, one)| one.remaining).sum();
        let steps = self.graph.iter();
        let awaited = steps.filter(|(id, step)| self.counts(*id, step));
        assert_eq!(
            remaining,
            awaited.count(),
            "what a request waits for got lost"
        );
        let ios = self.graph.iter().filter(|(_, step)| is_io(step)).count();
        assert!(self.waiting() <= ios, "more I/Os wait than exist");
        assert!(self.ended.is_empty(), "a step ended, and nobody was told");
        assert!(
            self.woken.is_empty(),
            "a drive got something and was not asked"
        );
        assert!(
            self.skipped.is_empty(),
            "a placement was not told of a step"
        );
        assert!(self.opened.is_empty(), "nobody was told of a gate");
        assert!(
            self.fulfilled.is_empty(),
            "a request was not told of a step"
        );
        self.audit_offers();
        self.audit_drives();
        self.audit_timers();
        self.graph.audit();
        self.hazards.audit();
        self.placement.audit();
        if let Some(memory) = &self.memory {
            memory.audit();
        }
        self.queues.iter().for_each(Queue::audit);
    }

    /// Each offer is of a request, or of a step whose placement makes offers.
    fn audit_offers(&self) {
        let requests = self.requests.iter();
        let of_requests = requests.filter(|(_, pending)| pending.offer.is_some());
        let steps = self.graph.iter();
        let of_steps = steps.filter(|(_, step)| matches!(&step.work, Work::Io(io) if io.offers));
        let made = of_requests.count() + of_steps.count();
        let kept: usize = self.offers.iter().map(Offers::len).sum();
        assert_eq!(made, kept, "an offer of nobody");
    }

    /// When queues want to be asked again is what they say, one by one.
    fn audit_timers(&self) {
        for (index, queue) in self.queues.iter().enumerate() {
            let noted = self.timers.due(index);
            assert_eq!(noted, queue.timer, "when drive {index} is to be asked");
        }
    }

    /// No drive does nothing while something waits that it could do.
    fn audit_drives(&self) {
        for (index, queue) in (0..).zip(&self.queues) {
            let drive = DriveId(index);
            let chooses = self.put_off.contains(&drive);
            assert_eq!(queue.put_off, chooses, "whether {drive:?} is to choose");
            let forgotten = !chooses && queue.forgets(self.placement.free(drive));
            assert!(
                !forgotten,
                "{drive:?} does nothing, and something waits for it"
            );
        }
    }

    /// Whether a request waits for this step. The first of a ring of alternatives stands for all.
    fn counts(&self, id: IoId, step: &Open) -> bool {
        let first = || self.graph.ring(id).all(|other| other.0 >= id.0);
        step.request.is_some() && (!is_io(step) || first())
    }
}

fn is_io(step: &Open) -> bool {
    matches!(step.work, Work::Io(_))
}
