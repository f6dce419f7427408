//! Files of a scheduled load: which request goes next, by the registered schedulers in the recorded
//! states.
//!
//! A closed load of depth Q: Q requests arrive at time 0, line 2 first and line 1 last; each
//! completion brings the next line, after the next request was chosen among the Q - 1 that wait.
//! The scheduler sees the recorded state of the drive and is told what the reference did, so one
//! difference does not cause others: after one, a fresh scheduler takes over, which has been led to
//! the same request.

use std::sync::Arc;

use nearslot_core::config::PartConfig;
use nearslot_core::contract::{Arm, Blueprint, Next, Oracle, Scheduler, View};
use nearslot_core::drive::hdd::spindle::Phase;
use nearslot_core::drive::hdd::{HddBlueprint, Mechanics};
use nearslot_core::freemap::FreeMap;
use nearslot_core::ids::{IoId, StreamId};
use nearslot_core::io::{Command, Io};
use nearslot_core::offer::{Legal, Offers, Seen};
use nearslot_core::op::Op;
use nearslot_core::position::{
    ArmPosition, Candidate, Choice, FreePlace, Landing, Place, Predicted, Search,
};
use nearslot_core::registry::{ConfigError, DriveEnv};
use nearslot_core::search;
use nearslot_core::sorted::Sorted;
use nearslot_core::stream::Streams;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};
use serde::Serialize;

use super::rows::{Ask, Load, Run, Served};
use super::{Check, Checks, Drives, Finding, SPTF_EQUAL_MIN, TIE_US};

/// How many choices are equal.
#[derive(Clone, Debug, Serialize)]
pub struct Choices {
    /// Choices that are equal.
    pub equal: u64,
    /// Number, in order of arrival, of the first request that the reference chose and we did not.
    pub first_difference_seq: Option<u64>,
    /// Of SPTF: choices that differ between requests whose prices tie within [`TIE_US`]. Tracks of
    /// a zone share their angles, so such ties are common; the reference decides them by its
    /// rounding, neither way more often.
    pub tied: u64,
}

pub(super) fn compare(runs: &[Run], drives: &Drives, checks: &mut Checks) {
    for run in runs {
        let Load::Closed(depth) = run.load else {
            continue;
        };
        let compared = (run.served.len() as u64).saturating_sub(1);
        let found = compare_choices(run, depth, drives.named(run.layout));
        let (words, least) = match run.scheduler {
            "satf" => (
                format!("{} % equal or tied", SPTF_EQUAL_MIN * 100.0),
                SPTF_EQUAL_MIN,
            ),
            _ => ("all equal".to_owned(), 1.0),
        };
        let needed = libm::ceil(least * compared as f64) as u64;
        let alike = found.equal + found.tied;
        let mut wrong = Vec::new();
        if alike < needed {
            let first = found.first_difference_seq.expect("one differs");
            wrong.push(format!(
                "{alike} choices of {compared} are equal or tied, where {needed} must be; the first that differs is request {first}"
            ));
        }
        checks.add(Check {
            file: run.file.to_owned(),
            what: run.scheduler.to_owned(),
            compared,
            finding: Finding::Choices(found),
            limit: format!("{words}: {needed}"),
            wrong,
            pass: false,
        });
    }
}

fn compare_choices(run: &Run, depth: usize, drive: &HddBlueprint) -> Choices {
    let (served, order, scheduler) = (&run.served, &run.trace[..], run.scheduler);
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
    let mut arrived = depth.min(order.len()) as u64;
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
                arm: drive.mechanics().start(),
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
            offer: None,
            len: ask.len,
            arrived: Instant::ZERO,
            priority: 0,
            place: self.oracle.locate(ask.at),
            fua: false,
            sync: ask.op == Op::Read,
        }
    }

    fn join(&mut self, number: u64, order: &[Ask]) {
        let io = self.io(number, order);
        self.waiting.push(io);
        self.scheduler
            .insert(Instant::ZERO, &io, &Streams::default());
    }

    /// Lets an empty scheduler start this request.
    fn lead_to(&mut self, number: u64, order: &[Ask]) {
        let io = self.io(number, order);
        self.scheduler
            .insert(Instant::ZERO, &io, &Streams::default());
        let view = View {
            now: Instant::ZERO,
            oracle: &self.oracle,
            capacity: self.drive.capacity(),
            free: None,
            offers: Seen {
                offers: &Offers::default(),
                writable: None,
            },
            in_flight: 0,
            depth: 1,
        };
        let next = self.scheduler.next(&view);
        assert_eq!(next, Next::Start(io.id), "one waits");
    }

    /// What the scheduler starts in the state of a row.
    fn choose(&mut self, row: &Served) -> u64 {
        self.oracle.arm = row.arm;
        self.oracle.phase = row.phase;
        let view = View {
            now: row.start,
            oracle: &self.oracle,
            capacity: self.drive.capacity(),
            free: None,
            offers: Seen {
                offers: &Offers::default(),
                writable: None,
            },
            in_flight: 0,
            depth: 1,
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
            self.oracle
                .positioning_time(row.start, io.op, &io.place, io.len)
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
    PartConfig::named(name).build(&DriveEnv {
        seed: 0,
        label: "sched/0",
        blueprint: drive,
    })
}

/// An oracle that is told the state of the drive.
struct Recorded {
    mechanics: Arc<Mechanics>,
    arm: ArmPosition,
    phase: Phase,
}

impl Oracle for Recorded {
    fn locate(&self, at: Pba) -> Place {
        self.mechanics.layout().spot(at).place
    }

    fn positioning_time(&self, _now: Instant, op: Op, place: &Place, _len: Blocks) -> Duration {
        self.mechanics
            .positioning_time_from(self.phase, self.arm, op, place)
    }

    fn service_time(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Duration {
        self.predict(now, op, at, len).end.since(now)
    }

    fn nearest(&self, now: Instant, waiting: &Sorted<Candidate>) -> Option<Choice> {
        search::nearest(self, now, waiting)
    }

    fn nearest_free(&self, _search: &Search, _free: &FreeMap) -> Option<FreePlace> {
        panic!("the reference timings hold no write whose address is open")
    }

    fn nearest_offered(
        &self,
        _now: Instant,
        _before: Instant,
        _legal: &Legal<'_>,
    ) -> Option<Landing> {
        panic!("the reference timings hold no range write")
    }

    fn arm(&self) -> Option<&dyn Arm> {
        Some(self)
    }

    fn started(&mut self, _now: Instant, _command: &Command) {}
}

impl Arm for Recorded {
    fn position(&self) -> ArmPosition {
        self.arm
    }

    fn seek_at_least(&self, distance: u32) -> Duration {
        self.mechanics.seek_at_least(distance)
    }

    fn predict(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Predicted {
        let media = self
            .mechanics
            .access_from(self.phase, self.arm, op, at, len);
        Predicted {
            end: now + media.cost.total(),
            arm: media.arm,
        }
    }

    fn positioning_time_after(&self, access: &Predicted, op: Op, place: &Place) -> Duration {
        self.mechanics
            .positioning_time(access.end, access.arm, op, place)
    }

    fn seek_at_least_after(&self, distance: u32) -> Duration {
        self.mechanics.seek_at_least(distance)
    }
}
