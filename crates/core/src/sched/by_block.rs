//! The frame of the schedulers that go by block number: it holds what waits, and a rule says which
//! I/O is next.
//!
//! A rule sees the I/Os in block order and its own memory of where it was. It knows nothing of the
//! drive but its capacity.

use super::line::{Found, Line};
use crate::contract::{Next, Scheduler, View};
use crate::io::Io;
use crate::stream::Streams;
use crate::units::{Instant, Pba};

/// What a rule wants next.
pub(super) enum Step {
    /// This I/O goes next.
    Serve(Found),
    /// The arm goes to this block first, without an I/O.
    Seek(Pba),
}

/// Which I/O is next, of those in a line.
pub(super) trait Rule: Send {
    /// The next step. At least one I/O waits in `line`; the drive ends before block `end`.
    fn next(&mut self, line: &Line, end: Pba) -> Step;
}

/// A scheduler by block number that follows a rule.
pub(super) struct ByBlock<R> {
    line: Line,
    rule: R,
}

impl<R: Rule + 'static> ByBlock<R> {
    /// The scheduler that follows `rule`, as a card's `build` gives it.
    pub(super) fn boxed(rule: R) -> Box<dyn Scheduler> {
        let line = Line::default();
        Box::new(ByBlock { line, rule })
    }
}

impl<R: Rule> Scheduler for ByBlock<R> {
    fn insert(&mut self, _now: Instant, io: &Io, _streams: &Streams) {
        self.line.insert(io);
    }

    fn withdraw(&mut self, _now: Instant, io: &Io) {
        self.line.withdraw(io);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        if self.line.len() == 0 {
            return Next::Empty;
        }
        match self.rule.next(&self.line, Pba(view.capacity.0)) {
            Step::Serve(found) => Next::Start(self.line.remove(found).id),
            Step::Seek(to) => Next::Seek(to),
        }
    }

    fn len(&self) -> usize {
        self.line.len()
    }

    fn audit(&self) {
        self.line.audit();
    }
}

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;

    #[test]
    fn a_withdrawn_io_is_not_served() {
        for name in ["sstf", "scan", "cscan", "look", "clook", "vscan"] {
            let desk = Desk::new(name).reads(&[20, 50, 80]).withdraw(1);
            assert_eq!(desk.order(), [20, 80], "{name}");
        }
    }

    #[test]
    fn of_one_block_the_oldest_is_served_first() {
        for name in ["sstf", "scan", "cscan", "look", "clook", "vscan"] {
            let desk = Desk::new(name).reads(&[20]).writes(&[20]).reads(&[20]);
            let done = desk.run_all();
            assert!(
                matches!(done[1], super::super::desk::Did::Write(20, _)),
                "{name}"
            );
        }
    }
}
