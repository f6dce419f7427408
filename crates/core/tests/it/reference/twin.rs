//! Two schedulers in the place of one: they see the same, and have to say the same.

use nearslot_core::contract::{Next, Scheduler, View};
use nearslot_core::io::{DriveDone, Io};
use nearslot_core::op::Op;
use nearslot_core::stream::Streams;
use nearslot_core::units::{Duration, Instant};
use proptest::prelude::*;

use crate::support::{Ask, DISK, NULL, Rig, blueprint, complete_disk, oracle, scheduler};

/// What waits, in order of arrival: all that a twin keeps of its queue.
pub(crate) type Queue = Vec<Io>;

/// A definition of a scheduler: choose among what waits, which is never nothing.
pub(crate) trait Definition: Send {
    /// An index into the queue, or a slot for an open one, or a block to move the arm to.
    fn choose(&mut self, queue: &Queue, view: &View<'_>) -> Result<usize, Next>;

    /// For definitions that look at the instant of insertion.
    fn inserted(&mut self, _now: Instant, _io: &Io) {}

    /// For definitions that have begun to serve it.
    fn withdrawn(&mut self, _io: &Io) {}
}

struct Pair<D> {
    clever: Box<dyn Scheduler>,
    literal: D,
    queue: Queue,
}

impl<D: Definition> Scheduler for Pair<D> {
    fn insert(&mut self, now: Instant, io: &Io, streams: &Streams) {
        self.clever.insert(now, io, streams);
        self.literal.inserted(now, io);
        self.queue.push(*io);
    }

    fn withdraw(&mut self, now: Instant, io: &Io) {
        self.clever.withdraw(now, io);
        self.literal.withdrawn(io);
        self.queue.retain(|other| other.id != io.id);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        let clever = self.clever.next(view);
        let literal = match self.queue.is_empty() {
            true => Next::Empty,
            false => match self.literal.choose(&self.queue, view) {
                Ok(index) => Next::Start(self.queue.remove(index).id),
                Err(Next::Place(id, slot)) => {
                    self.queue.retain(|io| io.id != id);
                    Next::Place(id, slot)
                }
                Err(other) => other,
            },
        };
        assert_eq!(clever, literal, "at {} among {:?}", view.now, self.queue);
        clever
    }

    fn done(&mut self, now: Instant, io: &Io, done: &DriveDone, streams: &Streams) {
        self.clever.done(now, io, done, streams);
    }

    fn len(&self) -> usize {
        self.clever.len()
    }

    fn audit(&self) {
        self.clever.audit();
        assert_eq!(self.clever.len(), self.queue.len());
    }
}

/// A step of a random sequence.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Requests arrive.
    Arrive(Vec<Ask>),
    /// So many are served.
    Serve(usize),
    /// So many are taken back.
    Withdraw(usize),
    /// Nothing happens for so many milliseconds.
    Pause(u64),
}

const BLOCKS: u64 = 12_800;

fn ask() -> impl Strategy<Value = Ask> {
    // Half of the blocks are few and far between, so that duplicates and ties of distance are
    // common.
    let at = prop_oneof![0..BLOCKS - 64, (0..16u64).prop_map(|n| n * 640)];
    let len = prop_oneof![Just(8u64), 1..64u64];
    (at, len, any::<bool>(), 0..4u16, 0..8u16).prop_map(|(at, len, read, class, level)| Ask {
        op: if read { Op::Read } else { Op::Write },
        at,
        len,
        priority: class << 13 | level,
    })
}

/// Random sequences of arrivals, services and pauses.
pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => prop::collection::vec(ask(), 1..12).prop_map(Step::Arrive),
        1 => prop::collection::vec(ask(), 60..200).prop_map(Step::Arrive),
        5 => (1..20usize).prop_map(Step::Serve),
        1 => (1..5usize).prop_map(Step::Withdraw),
        1 => (0..6_000u64).prop_map(Step::Pause),
    ];
    prop::collection::vec(step, 1..40)
}

/// Runs a sequence, then serves what is left, with the part of the table and its definition side by
/// side.
pub(crate) fn compare<D: Definition + 'static>(
    part: &str,
    sight: &str,
    steps: &[Step],
    definition: impl Fn() -> D,
) {
    compare_all(part, sight, steps, false, definition);
}

/// The same with every write open.
pub(crate) fn compare_eager<D: Definition + 'static>(
    part: &str,
    sight: &str,
    steps: &[Step],
    definition: impl Fn() -> D,
) {
    compare_all(part, sight, steps, true, definition);
}

fn compare_all<D: Definition + 'static>(
    part: &str,
    sight: &str,
    steps: &[Step],
    eager: bool,
    definition: impl Fn() -> D,
) {
    for text in [DISK, NULL, &complete_disk()] {
        let blueprint = blueprint(text);
        let pair = Pair {
            clever: scheduler(part, &*blueprint),
            literal: definition(),
            queue: Queue::new(),
        };
        let sight = oracle(sight, &*blueprint);
        let mut rig = Rig::new(Box::new(pair), sight, &*blueprint);
        let (mut came, mut withdrawn) = (0, 0);
        for step in steps {
            match step {
                Step::Arrive(asks) => asks.iter().for_each(|ask| {
                    came += 1;
                    let late = Duration::from_us(ask.at % 3);
                    match eager && ask.op == Op::Write {
                        true => rig.insert_open(ask.at, late),
                        false => rig.insert(*ask, late),
                    };
                }),
                Step::Serve(count) => (0..*count).for_each(|_| {
                    rig.serve(Duration::ZERO);
                }),
                Step::Withdraw(count) => (0..*count).for_each(|_| {
                    withdrawn += usize::from(rig.withdraw().is_some());
                }),
                Step::Pause(ms) => rig.now += Duration::from_ms(*ms),
            }
        }
        // Writes that are left too, one by one: alone they show the sweep.
        while rig.serve(Duration::ZERO).is_some() {}
        assert_eq!(rig.served.len() + withdrawn, came, "something was left");
    }
}
