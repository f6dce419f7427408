//! What is published of AMP beside other ways to bring data beforehand: many sequences over caches of several sizes.
//!
//! Each reader asks for the next track of its own sequence a while after the one before was answered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use nearslot_core::config::{DriveConfig, PartConfig, StackConfig};
use nearslot_core::contract::{Cache, Placement, Prefetch, Scheduler};
use nearslot_core::drive;
use nearslot_core::op::Op;
use nearslot_core::request::{Reply, Request};
use nearslot_core::rng::Rng;
use nearslot_core::units::{Duration, Instant};
use nearslot_lab::sim::{self, Control, Observer};
use nearslot_lab::workload::Workload;

/// Blocks of a track, which is what a read asks for.
const TRACK: u64 = 64;

/// Readers of sequences.
struct Readers {
    due: BinaryHeap<Reverse<(u64, u64)>>,
    /// By reader: where it reads next.
    next: Vec<u64>,
    /// By number of a request: who asked.
    asked: Vec<u64>,
    left: u64,
    think: u64,
    rng: Rng,
}

impl Readers {
    fn new(count: u64, requests: u64, think: Duration, capacity: u64) -> Readers {
        let mut rng = Rng::stream(1, "readers");
        let apart = capacity / TRACK / count * TRACK;
        Readers {
            due: (0..count)
                .map(|reader| Reverse((rng.below(20_000_000), reader)))
                .collect(),
            next: (0..count).map(|reader| reader * apart).collect(),
            asked: Vec::new(),
            left: requests,
            think: think.0,
            rng,
        }
    }
}

impl Workload for Readers {
    fn next_arrival(&self) -> Option<Instant> {
        let due = self.due.peek().map(|Reverse((due, _))| Instant(*due));
        due.filter(|_| self.left > 0)
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        self.next_arrival().filter(|due| *due <= now)?;
        let Reverse((_, reader)) = self.due.pop()?;
        self.left -= 1;
        let start = self.next[reader as usize];
        self.next[reader as usize] += TRACK;
        self.asked.push(reader);
        Some(Request::new(
            self.asked.len() as u64,
            Op::Read,
            start,
            TRACK,
            now,
        ))
    }

    fn replied(&mut self, now: Instant, reply: &Reply) {
        let reader = self.asked[reply.request.id.0 as usize - 1];
        let think = self.think / 2 + self.rng.below(self.think + 1);
        self.due.push(Reverse((now.0 + think, reader)));
    }
}

/// The second half of what was answered.
#[derive(Default)]
struct Watch {
    from: u64,
    answered: u64,
    sum: u128,
    began: Instant,
    ended: Instant,
}

impl Observer for Watch {
    fn replied(&mut self, now: Instant, reply: &Reply) {
        self.answered += 1;
        if self.answered == self.from {
            self.began = now;
        }
        if self.answered > self.from {
            self.sum += u128::from(reply.timeline.response().0);
            self.ended = now;
        }
    }
}

/// Reads a second, and their mean response in milliseconds.
fn run((readers, think_ms): (u64, u64), lines: u64, prefetch: &str) -> (f64, f64) {
    let drive = DriveConfig {
        part: PartConfig::named("scsi-10k-73gb"),
        text: drive::catalog_text("scsi-10k-73gb").unwrap().to_owned(),
    };
    let config = StackConfig::over(drive, 1)
        .with::<dyn Scheduler>("look".parse().unwrap())
        .with::<dyn Placement>("linear".parse().unwrap())
        .with::<dyn Cache>(
            format!("lru:size={lines}lines:line_kib=32")
                .parse()
                .unwrap(),
        )
        .with::<dyn Prefetch>(prefetch.parse().unwrap());
    let mut assembly = config.build().expect("it is a stack");
    let (stack, drives) = (&mut assembly.stack, &mut assembly.drives);
    let requests = if readers == 1 { 20_000 } else { readers * 400 };
    let think = Duration(think_ms * 1_000_000);
    let mut load = Readers::new(readers, requests, think, stack.capacity().0);
    let mut watch = Watch {
        from: requests / 2,
        ..Watch::default()
    };
    sim::run(stack, drives, &mut load, &mut watch, &Control::default());
    stack.audit();
    let count = (watch.answered - watch.from) as f64;
    let rate = count / (watch.ended.since(watch.began).as_ms() / 1e3);
    (rate, watch.sum as f64 / count / 1e6)
}

#[test]
#[ignore = "it shows a table"]
fn table() {
    let text = std::env::var("STREAMS").unwrap_or_else(|_| "100,0".into());
    let (readers, think) = text.split_once(',').unwrap();
    let (readers, think) = (readers.parse().unwrap(), think.parse().unwrap());
    for prefetch in [
        "none",
        "fixed:degree=1",
        "sarc:degree=4:trigger=1",
        "sarc:degree=8:trigger=2",
        "sarc:degree=24",
        "sarc:degree=64",
        "sarc:mode=sync:degree=4",
        "sarc:mode=sync:degree=8",
        "sarc:mode=sync:degree=24",
        "sarc:mode=sync:degree=64",
        "amp:asynchronous=128",
        "amp",
        "amp:spare=unread",
        "amp:start=4",
    ] {
        print!("{prefetch:28}");
        for lines in [300, 600, 1_200, 2_400, 4_800, 9_600] {
            let (rate, mean) = run((readers, think), lines, prefetch);
            print!(" {rate:7.0} {mean:7.2} |");
        }
        println!();
    }
}
