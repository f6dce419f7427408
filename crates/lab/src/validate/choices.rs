//! Files of a scheduled load: which request goes next, by the registered schedulers in the recorded states.
//!
//! A closed load of depth Q: Q requests arrive at time 0, line 2 first and line 1 last; each completion brings the
//! next line, after the next request was chosen among the Q - 1 that wait. The scheduler sees the recorded state
//! of the drive and is told what the reference did, so one difference does not cause others: after one, a fresh
//! scheduler takes over, which has been led to the same request.

use std::sync::Arc;

use nearslot_core::contract::{Blueprint, Next, Oracle, Scheduler, View};
use nearslot_core::drive::hdd::spindle::Phase;
use nearslot_core::drive::hdd::{HddBlueprint, Mechanics};
use nearslot_core::ids::{IoId, StreamId};
use nearslot_core::io::{Command, Foresight, Head, Io, Place};
use nearslot_core::registry::{self, ConfigError, Env, Forgetful, Knobs};
use nearslot_core::request::Op;
use nearslot_core::sched;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};
use serde::Serialize;

use super::folder::Folder;
use super::rows::{self, Ask, Served};
use super::{Check, Checks, Drives, Finding, SPTF_EQUAL_MIN, TIE_US, ValidateError};

/// How many choices are equal.
#[derive(Clone, Debug, Serialize)]
pub struct Choices {
    /// Choices that are equal.
    pub equal: u64,
    /// Number, in order of arrival, of the first request that the reference chose and we did not.
    pub first_difference_seq: Option<u64>,
    /// Of SPTF: choices that differ between requests whose prices tie within [`TIE_US`]. Tracks of a zone share
    /// their angles, so such ties are common; the reference decides them by its rounding, neither way more often.
    pub tied: u64,
}

/// Result files with the scheduler that made them and the share of choices that must be equal.
const FILES: [(&str, &str, f64); 4] = [
    ("look_random4k_qd16_ideal.csv", "look", 1.0),
    ("clook_random4k_qd16_ideal.csv", "clook", 1.0),
    ("sstf_random4k_qd16_ideal.csv", "sstf", 1.0),
    ("sptf_random4k_qd16_ideal.csv", "satf", SPTF_EQUAL_MIN),
];

/// Requests in these files that are in the drive or wait.
const DEPTH: usize = 16;

pub(super) fn compare(
    folder: &Folder,
    drives: &Drives,
    checks: &mut Checks,
) -> Result<(), ValidateError> {
    let drive = &drives.ideal;
    let capacity = drive.capacity();
    let Some(trace) = rows::read_trace(&folder.path, "trace_random4k.csv", capacity)? else {
        return Ok(());
    };
    let order = closed_order(&trace, DEPTH);
    for (file, scheduler, equal_min) in FILES {
        let Some(served) = rows::read_served(&folder.path, file, drive.mechanics())? else {
            continue;
        };
        rows::check_served(file, &served, &order, |row| DEPTH + row.max(1) - 1)?;
        let compared = (served.len() as u64).saturating_sub(1);
        let found = compare_choices(&served, &order, drive, scheduler);
        let needed = (equal_min * compared as f64).ceil() as u64;
        checks.checks.push(Check {
            file: file.to_owned(),
            what: scheduler.to_owned(),
            compared,
            pass: Some(found.equal + found.tied >= needed),
            finding: Finding::Choices(found),
            limit: format!("{needed} equal or tied"),
        });
    }
    Ok(())
}

/// A trace in the order in which a closed load issues it: line 2 to Q, then line 1, then the rest.
pub(super) fn closed_order(trace: &[Ask], depth: usize) -> Vec<Ask> {
    let mut order = trace.to_vec();
    let first = depth.min(order.len());
    order[..first].rotate_left(1);
    order
}

fn compare_choices(
    served: &[Served],
    order: &[Ask],
    drive: &HddBlueprint,
    scheduler: &str,
) -> Choices {
    let mut found = Choices {
        equal: 0,
        first_difference_seq: None,
        tied: 0,
    };
    let mut desk = Desk::new(drive, scheduler);
    let Some((first, rest)) = served.split_first() else {
        return found;
    };
    desk.lead_to(first.sequence, order);
    let mut arrived = DEPTH.min(order.len()) as u64;
    for number in (0..arrived).filter(|number| *number != first.sequence) {
        desk.join(number, order);
    }
    for row in rest {
        let chosen = desk.choose(row);
        if chosen == row.sequence {
            found.equal += 1;
        } else {
            found.first_difference_seq.get_or_insert(row.sequence);
            let (theirs, ours) = (desk.price(row, row.sequence), desk.price(row, chosen));
            let apart_us = theirs.0.abs_diff(ours.0) as f64 / 1e3;
            found.tied += u64::from(scheduler == "satf" && apart_us <= TIE_US);
            desk.start_over(row.sequence, order);
        }
        desk.waiting.retain(|io| io.sequence != row.sequence);
        if (arrived as usize) < order.len() {
            desk.join(arrived, order);
            arrived += 1;
        }
    }
    found
}

/// A scheduler with what waits for it.
struct Desk<'a> {
    drive: &'a HddBlueprint,
    name: &'a str,
    scheduler: Box<dyn Scheduler>,
    oracle: Recorded,
    waiting: Vec<Io>,
}

impl<'a> Desk<'a> {
    fn new(drive: &'a HddBlueprint, name: &'a str) -> Desk<'a> {
        Desk {
            drive,
            name,
            scheduler: scheduler(name, drive).expect("the table has it, and defaults are valid"),
            oracle: Recorded {
                mechanics: Arc::clone(drive.mechanics()),
                head: drive.mechanics().start(),
                phase: Phase::at(nearslot_core::units::Angle(0)),
            },
            waiting: Vec::new(),
        }
    }

    fn io(&self, number: u64, order: &[Ask]) -> Io {
        let ask = order[number as usize];
        Io {
            id: IoId(number as u32),
            sequence: number,
            stream: StreamId(0),
            op: ask.op,
            at: ask.at,
            open: false,
            len: ask.len,
            arrived: Instant::ZERO,
            priority: 0,
            place: self.oracle.locate(ask.at),
        }
    }

    fn join(&mut self, number: u64, order: &[Ask]) {
        let io = self.io(number, order);
        self.waiting.push(io);
        self.scheduler.insert(Instant::ZERO, &io);
    }

    /// Lets an empty scheduler start this request.
    fn lead_to(&mut self, number: u64, order: &[Ask]) {
        let io = self.io(number, order);
        self.scheduler.insert(Instant::ZERO, &io);
        let view = View {
            now: Instant::ZERO,
            oracle: &self.oracle,
            capacity: self.drive.capacity(),
            free: None,
        };
        let next = self.scheduler.next(&view);
        assert_eq!(next, Next::Start(io.id), "one waits");
    }

    /// What the scheduler starts in the state of a row.
    fn choose(&mut self, row: &Served) -> u64 {
        self.oracle.head = row.head;
        self.oracle.phase = row.phase;
        let view = View {
            now: row.start,
            oracle: &self.oracle,
            capacity: self.drive.capacity(),
            free: None,
        };
        match self.scheduler.next(&view) {
            Next::Start(id) => u64::from(id.0),
            other => panic!(
                "{} does not start one of {}: {other:?}",
                self.name,
                self.waiting.len()
            ),
        }
    }

    /// What positioning for a waiting request would take in the state of a row.
    fn price(&self, row: &Served, number: u64) -> Duration {
        let io = self.waiting.iter().find(|io| io.sequence == number);
        io.map_or(Duration::ZERO, |io| {
            self.oracle.position(row.start, io.op, &io.place)
        })
    }

    /// After a difference: a fresh scheduler that started what the reference started.
    fn start_over(&mut self, number: u64, order: &[Ask]) {
        let waiting = std::mem::take(&mut self.waiting);
        self.scheduler = scheduler(self.name, self.drive).expect("it was built before");
        self.lead_to(number, order);
        for io in waiting.iter().filter(|io| io.sequence != number) {
            self.join(io.sequence, order);
        }
    }
}

/// A registered scheduler with its defaults.
pub(super) fn scheduler(
    name: &str,
    drive: &HddBlueprint,
) -> Result<Box<dyn Scheduler>, ConfigError> {
    let spec = registry::find("scheduler", sched::TABLE, name)?;
    let knobs = Knobs::check(spec.name, spec.knobs, &[])?;
    let env = Env {
        seed: 0,
        label: "sched/0",
        blueprint: drive,
        capacity: drive.capacity(),
        identity: "",
        memo: &Forgetful,
        survivors: None,
    };
    (spec.build)(&knobs, &env)
}

/// An oracle that is told the state of the drive.
struct Recorded {
    mechanics: Arc<Mechanics>,
    head: Head,
    phase: Phase,
}

impl Oracle for Recorded {
    fn head(&self) -> Head {
        self.head
    }

    fn bands(&self) -> u32 {
        self.mechanics.cylinders()
    }

    fn locate(&self, at: Pba) -> Place {
        self.mechanics.layout().spot(at).place
    }

    fn reach(&self, distance: u32) -> Duration {
        self.mechanics.reach(distance)
    }

    fn position(&self, _now: Instant, op: Op, place: &Place) -> Duration {
        self.mechanics
            .position_from(self.phase, self.head, op, place)
    }

    fn foresee(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Foresight {
        let media = self
            .mechanics
            .access_from(self.phase, self.head, op, at, len);
        Foresight {
            end: now + media.cost.total(),
            head: media.head,
        }
    }

    fn position_after(&self, access: &Foresight, op: Op, place: &Place) -> Duration {
        self.mechanics.position(access.end, access.head, op, place)
    }

    fn reach_after(&self, distance: u32) -> Duration {
        self.mechanics.reach(distance)
    }

    fn started(&mut self, _now: Instant, _command: &Command) {}
}
