//! Plans as graphs: a small RAID-5 whose drives fail now and then, against a model of what every
//! block holds.
//!
//! The test carries out the stack's actions by itself, on drives that are lists of numbers, and
//! lets commands end in any order.

mod gated;
mod raid5;
mod scripted;

use std::collections::{BTreeMap, BTreeSet};

use nearslot_core::contract::{Merging, Placement};
use nearslot_core::drive;
use nearslot_core::ids::{DriveId, RequestId};
use nearslot_core::io::{Command, DriveDone, Moves, Origin, StepNumber};
use nearslot_core::op::{Cost, Failure, Op, Status};
use nearslot_core::registry::{DriveEnv, Knobs};
use nearslot_core::request::Request;
use nearslot_core::rng::Rng;
use nearslot_core::sched;
use nearslot_core::stack::{Action, Input, Lane, Stack};
use nearslot_core::units::{Instant, Pba};

use raid5::{CHUNK, Raid5};

const STRIPES: u64 = 6;
const DRIVE: &str = "kind = \"null\"\ncapacity_blocks = 1000\nservice_us = 100.0\n";

/// What is read or written: a number for each block.
type Bytes = Vec<u64>;

fn zeros() -> Bytes {
    vec![0; CHUNK as usize]
}

fn fold(into: &mut Bytes, from: &[u64]) {
    into.iter_mut()
        .zip(from)
        .for_each(|(into, from)| *into ^= from);
}

/// A stack over a RAID-5, and everything that a loop has to keep for it.
struct Rig {
    stack: Stack,
    drives: Vec<Bytes>,
    running: Vec<Option<(Command, Origin)>>,
    /// What steps have brought.
    brought: BTreeMap<StepNumber, Bytes>,
    /// What requests write, or were given.
    data: BTreeMap<RequestId, Bytes>,
    asked: BTreeMap<RequestId, Request>,
    /// What each chunk may hold: more than one value only if a write of it has failed.
    holds: Vec<BTreeSet<Bytes>>,
    rng: Rng,
    number: u64,
    /// How often commands fail, by drive.
    bad: [f64; 3],
    /// What cannot be read until it is written again, by drive and address: a write of it has
    /// failed.
    unreadable: BTreeSet<(DriveId, Pba)>,
    done: u64,
    failed: u64,
    failures: BTreeMap<&'static str, u64>,
}

fn lanes(count: u16) -> Vec<Lane> {
    let (blueprint, _) = drive::read("of the test", DRIVE, &[]).expect("it is valid");
    let env = DriveEnv {
        seed: 1,
        label: "sched/0",
        blueprint: &*blueprint,
    };
    let fcfs = sched::TABLE.iter().find(|spec| spec.name == "fcfs");
    let fcfs = fcfs.expect("it is in the table");
    let lane = |_| Lane {
        scheduler: (fcfs.build)(&Knobs::default(), &env).expect("it has no knobs"),
        oracle: blueprint.exact(),
        capacity: blueprint.capacity(),
        depth: 1,
        merging: Merging::None,
        lands: false,
        zones: None,
    };
    (0..count).map(lane).collect()
}

impl Rig {
    fn new(seed: u64, hasty: bool) -> Rig {
        let place = Raid5 {
            stripes: STRIPES,
            hasty,
        };
        let chunks = place.shape().capacity.0 / CHUNK;
        let drives = usize::from(place.shape().drives);
        let lanes = lanes(place.shape().drives);
        Rig {
            stack: Stack::new(Box::new(place), lanes),
            drives: vec![vec![0; (STRIPES * CHUNK) as usize]; drives],
            running: vec![None; drives],
            brought: BTreeMap::new(),
            data: BTreeMap::new(),
            asked: BTreeMap::new(),
            holds: vec![BTreeSet::from([zeros()]); chunks as usize],
            bad: [0.0; 3],
            unreadable: BTreeSet::new(),
            rng: Rng::stream(seed, "raid5"),
            number: 0,
            done: 0,
            failed: 0,
            failures: BTreeMap::new(),
        }
    }

    fn submit(&mut self, op: Op, chunk: u64) {
        self.number += 1;
        let request = Request::new(self.number, op, chunk * CHUNK, CHUNK, Instant::ZERO);
        let bytes = match op {
            Op::Write => (0..CHUNK).map(|_| self.rng.bits()).collect(),
            _ => zeros(),
        };
        self.data.insert(request.id, bytes);
        self.asked.insert(request.id, request);
        self.stack.input(Instant::ZERO, Input::Submit(request));
        self.drain();
    }

    fn blocks(&mut self, drive: DriveId, command: &Command) -> &mut [u64] {
        let at = command.at.0 as usize;
        &mut self.drives[drive.index()][at..at + CHUNK as usize]
    }

    /// A command that runs ends, whichever.
    fn event(&mut self) {
        let busy: Vec<usize> = (0..self.running.len())
            .filter(|drive| self.running[*drive].is_some())
            .collect();
        let index = busy[self.rng.below(busy.len() as u64) as usize];
        let (command, origin) = self.running[index].take().expect("it runs");
        let drive = DriveId(index as u16);
        let place = (drive, command.at);
        let lost = command.op == Op::Read && self.unreadable.contains(&place);
        let status = match lost || self.rng.chance(self.bad[index]) {
            true => Status::Failed(Failure::Medium),
            false => Status::Done,
        };
        match (command.op, status) {
            (Op::Read, Status::Done) => {
                let bytes = self.blocks(drive, &command).to_vec();
                if let (Some(request), Moves::Volume(_)) = (origin.request, origin.moves) {
                    self.data.insert(request, bytes.clone());
                }
                self.brought.insert(origin.step, bytes);
            }
            (Op::Write, Status::Done) => {
                let bytes = match origin.moves {
                    Moves::Volume(_) => &self.data[&origin.request.expect("a client's")],
                    Moves::Parity(step) => &self.brought[&step],
                    other => panic!("it writes {other:?}"),
                };
                let bytes = bytes.clone();
                self.blocks(drive, &command).copy_from_slice(&bytes);
                self.unreadable.remove(&place);
            }
            (op, _) => {
                *self.failures.entry(op.name()).or_default() += 1;
                if op == Op::Write {
                    self.blocks(drive, &command).fill(u64::MAX);
                    self.unreadable.insert(place);
                }
            }
        }
        let done = DriveDone {
            io: command.io,
            op: command.op,
            at: command.at,
            len: command.len,
            status,
            cost: Cost::default(),
            arm: None,
        };
        self.stack.input(Instant::ZERO, Input::Done(drive, done));
        self.drain();
        self.stack.audit();
    }

    fn drain(&mut self) {
        let mut actions = Vec::new();
        self.stack.take_actions(&mut actions);
        for action in actions {
            match action {
                Action::Start {
                    drive,
                    command,
                    origin,
                } => {
                    let before = self.running[drive.index()].replace((command, origin));
                    assert!(before.is_none(), "{drive:?} works already");
                }
                Action::Offer { .. } => panic!("nobody offers anything here"),
                Action::Recall { .. } => panic!("RAID-5 has no buffer"),
                Action::Join { .. } => panic!("nothing is merged here"),
                Action::Fold { into, of, .. } => {
                    let from = self.brought[&of].clone();
                    fold(self.brought.entry(into).or_insert_with(zeros), &from);
                }
                Action::Compute { origin, written } => {
                    if written.is_some() {
                        let from = &self.data[&origin.request.expect("a client's")];
                        fold(self.brought.entry(origin.step).or_insert_with(zeros), from);
                    }
                    if let (Some(request), Moves::Volume(_)) = (origin.request, origin.moves) {
                        let found = self.brought[&origin.step].clone();
                        self.data.insert(request, found);
                    }
                }
                Action::Move(_) => panic!("no cache is above"),
                Action::Reply(reply) => self.replied(reply.request.id, reply.status),
            }
        }
    }

    fn replied(&mut self, id: RequestId, status: Status) {
        let request = self.asked.remove(&id).expect("it was asked");
        let bytes = self.data.remove(&id).expect("it had room");
        let chunk = (request.extent.start.0 / CHUNK) as usize;
        self.done += u64::from(status.is_done());
        self.failed += u64::from(!status.is_done());
        let holds = &mut self.holds[chunk];
        match (request.op, status) {
            (Op::Write, Status::Done) => *holds = BTreeSet::from([bytes]),
            (Op::Write, Status::Failed(_)) => drop(holds.insert(bytes)),
            (_, Status::Done) => {
                assert!(
                    holds.contains(&bytes),
                    "chunk {chunk} is {bytes:?} of {holds:?}"
                );
            }
            (_, Status::Failed(_)) => {}
        }
    }

    /// Random requests, one to a chunk at a time, so that what a read may find is one thing.
    fn run(&mut self, requests: u64) {
        let chunks = self.holds.len() as u64;
        let mut left = requests;
        while left > 0 || self.stack.pending() > 0 || self.running.iter().any(Option::is_some) {
            let chunk = self.rng.below(chunks);
            let of_chunk = |one: &Request| one.extent.start.0 / CHUNK == chunk;
            let busy = self.asked.values().any(of_chunk);
            if left > 0 && !busy && (self.stack.pending() == 0 || self.rng.chance(0.5)) {
                let op = match self.rng.chance(0.5) {
                    true => Op::Read,
                    false => Op::Write,
                };
                left -= 1;
                self.submit(op, chunk);
            } else {
                self.event();
            }
        }
    }

    /// Whether each stripe's parity is that of its data.
    fn parities_hold(&self) -> bool {
        (0..(STRIPES * CHUNK) as usize).all(|block| {
            let all = self.drives.iter().map(|drive| drive[block]);
            all.fold(0, |sum, one| sum ^ one) == 0
        })
    }
}

#[test]
fn a_read_modify_write_keeps_the_parity() {
    for seed in 0..50 {
        let mut rig = Rig::new(seed, false);
        rig.run(200);
        assert_eq!((rig.done, rig.failed), (200, 0));
        assert!(rig.parities_hold(), "seed {seed}");
    }
}

#[test]
fn a_parity_that_does_not_wait_for_the_old_data_is_seen() {
    let broken = (0..50).filter(|seed| {
        let mut rig = Rig::new(*seed, true);
        rig.run(200);
        !rig.parities_hold()
    });
    assert!(broken.count() > 40, "the order of the steps is seen");
}

#[test]
fn one_drive_that_fails_now_and_then_costs_no_data() {
    let mut failures = BTreeMap::<&str, u64>::new();
    for seed in 0..50 {
        let mut rig = Rig::new(seed, false);
        rig.run(50);
        rig.bad[seed as usize % 3] = 0.3;
        rig.run(300);
        assert_eq!(rig.failed, 0, "one drive is enough to lose");
        for (name, count) in &rig.failures {
            *failures.entry(name).or_default() += count;
        }
    }
    assert!(failures["read"] > 500, "{failures:?}");
    assert!(failures["write"] > 500, "{failures:?}");
}

/// What then cannot be known is said, and nothing is written beside it: what is answered is always
/// right.
#[test]
fn two_drives_that_fail_now_and_then_cost_requests_but_give_no_wrong_data() {
    let (mut failed, mut done) = (0, 0);
    for seed in 0..100 {
        let mut rig = Rig::new(seed, false);
        rig.run(50);
        rig.bad = [0.1; 3];
        rig.run(300);
        failed += rig.failed;
        done += rig.done;
        rig.bad = [0.0; 3];
        // What was lost can be written again.
        rig.run(300);
    }
    assert!(failed > 500, "only {failed} of {done} requests failed");
}

/// A write that waits for a read which fails, and for which nothing stands in, never starts; its
/// request fails, once.
#[test]
fn what_waits_for_a_failed_step_never_starts() {
    let mut rig = Rig::new(1, false);
    rig.bad = [1.0; 3];
    rig.submit(Op::Write, 3);
    while rig.stack.pending() > 0 || rig.running.iter().any(Option::is_some) {
        rig.event();
    }
    assert_eq!((rig.done, rig.failed), (0, 1));
    assert_eq!(rig.failures.get("write"), None, "nothing was written");
    assert!(
        rig.failures["read"] >= 3,
        "it tried to compute what it could not read"
    );
}
