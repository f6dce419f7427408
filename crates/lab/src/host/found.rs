//! What a host tells at its end: of each process how often and how fast it did its steps, and of all some sums.

use nearslot_core::measure::Measure;
use nearslot_core::op::Op;
use nearslot_core::pages::PAGE_BYTES;
use nearslot_core::units::{Duration, Instant};

use super::Machine;
use super::told::Step;
use crate::outcome::{Number, ProcessFound};

/// What one process has done.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) rounds: u64,
    took: Took,
    late: u64,
    read: u64,
    written: u64,
    pub(super) failed: u64,
    /// How long it was held for what it had written.
    pub(super) held: Duration,
}

/// How long rounds took, in ns.
#[derive(Clone, Copy, Debug, Default)]
struct Took {
    sum: u128,
    least: u64,
    most: u64,
}

impl Found {
    /// A round has taken so long.
    pub(super) fn round(&mut self, took: Duration, late: bool) {
        let Took { sum, least, most } = self.took;
        self.took = Took {
            sum: sum + u128::from(took.0),
            least: if self.rounds == 0 {
                took.0
            } else {
                least.min(took.0)
            },
            most: most.max(took.0),
        };
        self.rounds += 1;
        self.late += u64::from(late);
    }

    /// What was read and written so far does not count.
    pub(super) fn forget_moved(&mut self) {
        (self.read, self.written) = (0, 0);
    }

    /// Bytes were read or written.
    #[inline]
    pub(super) fn moved(&mut self, op: Op, bytes: u64) {
        match op {
            Op::Write => self.written += bytes,
            Op::Read => self.read += bytes,
            Op::Flush | Op::Discard | Op::Seek => {}
        }
    }
}

/// The key of these measures.
pub const KEY: &str = "host";

/// What is told of a host as a whole.
pub const MEASURES: &[Measure] = &[
    Measure::quantity(
        "startup_s",
        "s",
        "how long the first application that is started took until it was up",
    ),
    Measure::quantity(
        "not_up",
        "start-ups",
        "start-ups that were not up when the run ended",
    ),
    Measure::quantity(
        "read_mb_s",
        "MB/s",
        "what the other processes read, from the page cache or the drive, from the first start-up on",
    ),
    Measure::quantity(
        "written_mb_s",
        "MB/s",
        "what they wrote to memory or to the drive, from then on",
    ),
    Measure::quantity(
        "late_percent",
        "%",
        "rounds that took longer than `every_ms`, of processes that have it, over the whole run",
    ),
    Measure::quantity(
        "held_s",
        "s",
        "how long writers were held since too much was dirty, all together, over the whole run",
    ),
    Measure::quantity(
        "dirty_most_mb",
        "MB",
        "most that was dirty or on its way out at once",
    ),
    Measure::quantity(
        "failed",
        "requests",
        "requests that failed, over the whole run",
    ),
];

fn seconds(time: Duration) -> f64 {
    time.0 as f64 / 1e9
}

impl Machine {
    /// What each process has done, in their order.
    pub fn processes(&self) -> Vec<ProcessFound> {
        let from = self.first_start.map_or(Instant::ZERO, |(began, _)| began);
        let counted = seconds(self.now.since(from));
        let rate = |bytes: u64| {
            if counted > 0.0 {
                bytes as f64 / 1e6 / counted
            } else {
                0.0
            }
        };
        let of = |ns: u128| ns as f64 / 1e9;
        let found = self.actors.iter().map(|actor| {
            let one = &actor.found;
            let any = one.rounds > 0;
            let told = &self.told[actor.told];
            let every = told.every.is_some() && !told.of_load;
            ProcessFound {
                name: actor.name.clone(),
                stream: actor.stream,
                rounds: one.rounds,
                ended: actor.ended.is_some(),
                mean_s: any.then(|| of(one.took.sum) / one.rounds as f64),
                min_s: any.then(|| of(one.took.least.into())),
                max_s: any.then(|| of(one.took.most.into())),
                late: every.then_some(one.late),
                read_mb_s: rate(one.read),
                written_mb_s: rate(one.written),
                held_s: seconds(one.held),
                failed: one.failed,
            }
        });
        found.collect()
    }

    /// Whether a process starts an application.
    fn starts(&self, told: usize) -> bool {
        self.told[told]
            .steps
            .iter()
            .any(|step| matches!(step, Step::Start(_)))
    }

    /// What is told of the whole, by the names of [`MEASURES`].
    pub fn measures(&self) -> Vec<(&'static str, Number)> {
        let processes = self.processes();
        let starts: Vec<bool> = self
            .actors
            .iter()
            .map(|actor| self.starts(actor.told))
            .collect();
        let others = || {
            processes
                .iter()
                .zip(&starts)
                .filter(|(_, starts)| !**starts)
                .map(|(one, _)| one)
        };
        let mut found = Vec::new();
        let mut add = |name, number| found.push((name, Number::Quantity(number)));
        if self.first_start.is_some() || starts.contains(&true) {
            if let Some(took) = self.startup {
                add("startup_s", seconds(took));
            }
            let never = u64::from(self.first_start.is_none());
            add("not_up", (self.starting + never) as f64);
        }
        add(
            "read_mb_s",
            others().fold(0.0, |sum, one| sum + one.read_mb_s),
        );
        add(
            "written_mb_s",
            others().fold(0.0, |sum, one| sum + one.written_mb_s),
        );
        let timed = || processes.iter().filter(|one| one.late.is_some());
        let rounds: u64 = timed().map(|one| one.rounds).sum();
        if rounds > 0 {
            let late: u64 = timed().filter_map(|one| one.late).sum();
            add("late_percent", late as f64 * 100.0 / rounds as f64);
        }
        add("held_s", processes.iter().map(|one| one.held_s).sum());
        add(
            "dirty_most_mb",
            self.files.most_dirty as f64 * PAGE_BYTES as f64 / 1e6,
        );
        add(
            "failed",
            processes.iter().map(|one| one.failed).sum::<u64>() as f64,
        );
        found
    }
}
