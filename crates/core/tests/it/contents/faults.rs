//! A deliberate fault for each rule of copies that are written eagerly (A5 to A8, A12, A13 of the
//! published claims): a placement that breaks it is given to the check that exists for it, which
//! has to fail. A check that no fault can fail says nothing.
//!
//! The placements are those of the table. A fault is in what they are told of the drives, in what
//! becomes of their plans, or in settings other than those that the check believes in.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nearslot_core::contract::{Drives, Oracle, Persistent, Placement, Shape};
use nearslot_core::freemap::{FreeMap, Slot};
use nearslot_core::ids::DriveId;
use nearslot_core::io::{DriveDone, Tag};
use nearslot_core::offer::Writable;
use nearslot_core::op::Op;
use nearslot_core::plan::{Plan, Step};
use nearslot_core::request::Request;
use nearslot_core::units::Instant;

use crate::contents::choices;
use crate::contents::setups::Setup;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// No drive is believed to be idle.
    NeverIdle,
    /// The heads of a drive are believed to be where those of another one are.
    WrongHeads,
    /// The longest queue is taken for the shortest.
    LongestQueue,
    /// All copies are read, not the one that is reached first.
    ReadsAll,
    /// Delayed copies are written while others wait for the drive.
    Impatient,
    /// An answer waits for another number of copies.
    Foreground,
    /// There is no buffer for delayed copies.
    NoBuffer,
    /// What was overwritten keeps its slot.
    Leaks,
}

impl Fault {
    /// The settings that the placement gets in place of these.
    pub(crate) fn told(self, setup: &Setup) -> Setup {
        match self {
            Fault::Foreground => Setup {
                foreground: if setup.foreground == 1 { 2 } else { 1 },
                ..*setup
            },
            Fault::NoBuffer => Setup {
                buffer: 0,
                ..*setup
            },
            _ => *setup,
        }
    }
}

/// A placement with a fault.
pub(crate) struct Faulty {
    inner: Box<dyn Placement>,
    fault: Fault,
    /// What is free on each drive to one who never gives back a slot.
    kept: Vec<Option<FreeMap>>,
}

impl Faulty {
    pub(crate) fn over(inner: Box<dyn Placement>, fault: Fault) -> Box<dyn Placement> {
        let drives = (0..inner.shape().drives).map(DriveId);
        let kept = drives.map(|drive| inner.free(drive).cloned()).collect();
        Box::new(Faulty { inner, fault, kept })
    }
}

/// Drives of which something untrue is told.
struct Lying<'a> {
    drives: &'a dyn Drives,
    fault: Fault,
    count: u16,
}

impl Drives for Lying<'_> {
    fn idle(&self, drive: DriveId) -> bool {
        self.fault != Fault::NeverIdle && self.drives.idle(drive)
    }

    fn waiting(&self, drive: DriveId) -> usize {
        match (self.fault, self.drives.waiting(drive)) {
            (Fault::LongestQueue, waiting) => usize::MAX - waiting,
            (_, waiting) => waiting,
        }
    }

    fn oracle(&self, drive: DriveId) -> &dyn Oracle {
        match self.fault {
            Fault::WrongHeads => self.drives.oracle(DriveId((drive.0 + 1) % self.count)),
            _ => self.drives.oracle(drive),
        }
    }
}

impl Placement for Faulty {
    fn shape(&self) -> Shape {
        self.inner.shape()
    }

    fn plan(&mut self, now: Instant, request: &Request, drives: &dyn Drives, out: &mut Plan) {
        let lying = Lying {
            drives,
            fault: self.fault,
            count: self.inner.shape().drives,
        };
        self.inner.plan(now, request, &lying, out);
        if self.fault == Fault::ReadsAll && request.op == Op::Read {
            for step in &mut out.steps {
                if let Step::Io(io) = step {
                    io.alternative = false;
                }
            }
        }
        // What is planned for whole chunks is counted.
        let whole = request.extent.len == self.inner.shape().chunk;
        if self.fault == Fault::Impatient && self.inner.shape().spare_time && !whole {
            for drive in 0..self.inner.shape().drives {
                self.inner.idle(now, DriveId(drive), drives, out);
            }
        }
    }

    fn writable(&self, drive: DriveId) -> Option<&dyn Writable> {
        self.inner.writable(drive)
    }

    fn free(&self, drive: DriveId) -> Option<&FreeMap> {
        match self.fault {
            Fault::Leaks => self.kept[drive.index()].as_ref(),
            _ => self.inner.free(drive),
        }
    }

    fn bind(&mut self, now: Instant, tag: Tag, drive: DriveId, slot: Slot) {
        if let (Fault::Leaks, Some(kept)) = (self.fault, &mut self.kept[drive.index()]) {
            kept.take(slot);
        }
        self.inner.bind(now, tag, drive, slot);
    }

    fn done(
        &mut self,
        now: Instant,
        tag: Tag,
        drive: DriveId,
        done: &DriveDone,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        self.inner.done(now, tag, drive, done, drives, out);
    }

    fn skipped(
        &mut self,
        now: Instant,
        tag: Tag,
        drive: DriveId,
        drives: &dyn Drives,
        out: &mut Plan,
    ) {
        self.inner.skipped(now, tag, drive, drives, out);
    }

    fn withdrawn(&mut self, tag: Tag, drive: DriveId) {
        self.inner.withdrawn(tag, drive);
    }

    fn idle(&mut self, now: Instant, drive: DriveId, drives: &dyn Drives, out: &mut Plan) {
        self.inner.idle(now, drive, drives, out);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.inner.next_timer()
    }

    fn timer(&mut self, now: Instant, out: &mut Plan) {
        self.inner.timer(now, out);
    }

    fn persistent(&self) -> Option<&dyn Persistent> {
        self.inner.persistent()
    }

    fn audit(&self) {
        self.inner.audit();
    }
}

/// What a check says of a placement with this fault.
pub(crate) fn complaint<F>(check: fn(F), fault: F) -> String {
    let outcome = catch_unwind(AssertUnwindSafe(|| check(fault)));
    let Err(panic) = outcome else {
        return "nothing".to_owned();
    };
    let words = panic.downcast_ref::<String>().cloned();
    let fixed = || {
        panic
            .downcast_ref::<&str>()
            .map(|words| (*words).to_owned())
    };
    words.or_else(fixed).unwrap_or_default()
}

/// The check fails, and for the reason that it exists for.
pub(crate) fn is_seen<F: Copy + std::fmt::Debug>(check: fn(F), fault: F, words: &str) {
    let said = complaint(check, fault);
    assert!(said.contains(words), "{fault:?}: said {said}");
}

#[test]
fn a_read_that_goes_elsewhere_or_twice_is_seen() {
    is_seen(
        choices::check_owners,
        Fault::NeverIdle,
        "an idle drive would do",
    );
    is_seen(choices::check_owners, Fault::ReadsAll, " twice");
    is_seen(choices::check_lone_reads, Fault::WrongHeads, "nearest");
}

#[test]
fn a_write_that_goes_elsewhere_is_seen() {
    is_seen(
        choices::check_owners,
        Fault::WrongHeads,
        "another idle owner is nearer",
    );
    is_seen(choices::check_owners, Fault::LongestQueue, "shortest queue");
}

#[test]
fn delayed_copies_that_push_forward_are_seen() {
    is_seen(choices::check_dropped, Fault::Impatient, "others wait");
}

#[test]
fn another_number_of_copies_before_the_answer_is_seen() {
    let words = "is answered with so many copies";
    is_seen(choices::check_owners, Fault::Foreground, words);
}

#[test]
fn copies_of_what_was_overwritten_are_seen() {
    is_seen(
        choices::check_dropped,
        Fault::NoBuffer,
        "a delayed write begins while",
    );
}

#[test]
fn a_slot_that_is_not_given_back_is_seen() {
    is_seen(choices::check_space, Fault::Leaks, "nothing is free");
}
