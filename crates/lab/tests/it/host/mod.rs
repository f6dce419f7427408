//! Hosts: processes above a page cache, against times and requests written out.
//!
//! Most are served by a drive that takes a millisecond for each request, so that times can be
//! written out; some of `starting` and `wrong` are whole runs.

mod crowd;
mod reading;
mod starting;
mod syncing;
mod writing;
mod wrong;

use std::path::Path;

use nearslot_core::op::{Cost, Failure, Op, Status};
use nearslot_core::request::{Reply, Request, Timeline};
use nearslot_core::units::{Blocks, Instant};
use nearslot_lab::grid;
use nearslot_lab::outcome::{Results, Run};
use nearslot_lab::run::{RunError, Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;
use nearslot_lab::workload::{LoadEnv, Synthetic, synthetic};

/// A volume of 1 GiB, whose files begin behind the journal in the second half.
const BLOCKS: u64 = 1 << 21;
const FILES: u64 = BLOCKS / 2 + BLOCKS / 32;

/// The workload of a scenario.
fn host(text: &str) -> Synthetic {
    let scenario = Scenario::from_toml(text, Path::new("/data")).unwrap();
    let Load::Workload(part) = scenario.load else {
        panic!("it has a workload")
    };
    let env = LoadEnv {
        seed: 1,
        label: "workload/0",
        capacity: Blocks(BLOCKS),
        drive: None,
        places_max: u64::MAX,
    };
    synthetic(&part, &env).unwrap().0
}

/// A drive that answers each request a millisecond after the one before, in the order in which they
/// come.
struct Served {
    /// When each came, in us, and what it was: operation, first block, blocks, stream.
    asked: Vec<(u64, Op, u64, u64, u32)>,
    made: Synthetic,
    requests: Vec<Request>,
    /// When there was nothing left to do.
    ended: Instant,
}

fn reply(request: Request, now: Instant, status: Status) -> Reply {
    Reply {
        request,
        status,
        timeline: Timeline {
            arrived: request.arrived,
            started: request.arrived,
            replied: now,
            cost: Cost::default(),
        },
    }
}

/// Serves a host; the request with the number `fails` fails.
fn served_failing(text: &str, fails: Option<u64>) -> Served {
    let mut made = host(text);
    let (mut asked, mut requests) = (Vec::new(), Vec::new());
    let mut queue: std::collections::VecDeque<Request> = std::collections::VecDeque::new();
    let mut done_at = Instant::ZERO;
    let mut now = Instant::ZERO;
    loop {
        let arrival = made.workload.next_arrival();
        let answer = queue.front().map(|_| done_at);
        let due = match (arrival, answer) {
            (None, None) => break,
            (one, other) => one
                .unwrap_or(Instant::NEVER)
                .min(other.unwrap_or(Instant::NEVER)),
        };
        now = now.max(due);
        if answer == Some(due) {
            let request = queue.pop_front().unwrap();
            done_at = now + nearslot_core::units::Duration::from_ms(1);
            let status = match Some(request.id.0) == fails {
                true => Status::Failed(Failure::Medium),
                false => Status::Done,
            };
            made.workload.replied(now, &reply(request, now, status));
            continue;
        }
        if let Some(request) = made.workload.poll(now) {
            let extent = request.extent;
            asked.push((
                now.0 / 1_000,
                request.op,
                extent.start.0,
                extent.len.0,
                request.stream.0,
            ));
            if queue.is_empty() {
                done_at = now + nearslot_core::units::Duration::from_ms(1);
            }
            requests.push(request);
            queue.push_back(request);
        }
    }
    Served {
        asked,
        made,
        requests,
        ended: now,
    }
}

fn served(text: &str) -> Served {
    served_failing(text, None)
}

/// First page in its file and pages of each request of an operation.
fn pages(served: &Served, op: Op) -> Vec<(u64, u64)> {
    let of = served.asked.iter().filter(|one| one.1 == op);
    of.map(|one| ((one.2 - FILES) / 8, one.3 / 8)).collect()
}

fn found(served: &Served, name: &str) -> nearslot_lab::outcome::ProcessFound {
    let processes = served.made.workload.processes();
    processes.into_iter().find(|one| one.name == name).unwrap()
}

fn number(served: &Served, name: &str) -> f64 {
    let (_, measures) = served.made.workload.measures();
    measures
        .iter()
        .find(|(known, _)| *known == name)
        .unwrap()
        .1
        .value()
}

fn results(text: &str) -> Result<Results, RunError> {
    let scenario = Scenario::from_toml(text, Path::new("/data"))?;
    let points = grid::points(&scenario, &[])?;
    compare(&points, None, &Wanted::default(), &Control::default())
}

fn run(load: &str) -> Run {
    results(&format!(
        "drive = 'desktop-7200-90mb:queue_depth=32'\n{load}"
    ))
    .unwrap()
    .runs
    .remove(0)
}

/// When each request came, in us.
fn times(served: &Served) -> Vec<u64> {
    served.asked.iter().map(|one| one.0).collect()
}

/// The name of the stream of each request.
fn who(served: &Served) -> Vec<&str> {
    let streams = served.made.workload.streams();
    let of = served.asked.iter().map(|one| &*streams[one.4 as usize]);
    of.collect()
}
