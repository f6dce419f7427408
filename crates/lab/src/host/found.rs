//! What a host tells at its end: of each process how often and how fast it did its steps, and of
//! all some sums.

use nearslot_core::measure::Measure;
use nearslot_core::op::Op;
use nearslot_core::pages::PAGE_BYTES;
use nearslot_core::units::{Duration, Instant};

use super::told::{Process, Step};
use super::{Event, Machine};
use crate::outcome::{ApplicationFound, Number, ProcessFound};

/// What one process has done.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) rounds: u64,
    took: Took,
    pub(super) times: Times,
    read: u64,
    written: u64,
    pub(super) failed: u64,
    /// How long it was held for what it had written.
    pub(super) held: Duration,
}

/// Times at which a process was to begin a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    due: u64,
    /// Of these, those whose round took longer than it may, or did not begin, as the one before was
    /// not over.
    late: u64,
}

impl Times {
    /// A round has taken so long and one may begin every so often; nothing was to begin beside it if
    /// it was the last.
    pub(super) fn past(&mut self, took: Duration, every: Duration, last: bool) {
        let meanwhile = match last {
            true => 0,
            false => took.0.saturating_sub(1) / every.0,
        };
        self.due += 1 + meanwhile;
        self.late += u64::from(took > every) + meanwhile;
    }
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
    pub(super) fn round(&mut self, took: Duration) {
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
        "how long an application took until it was up, on average over those that were",
    ),
    Measure::quantity(
        "up",
        "start-ups",
        "start-ups after which the application was up",
    ),
    Measure::quantity(
        "not_up",
        "start-ups",
        "start-ups that had not ended when the run did, or of which a request failed",
    ),
    Measure::quantity(
        "read_mb_s",
        "MB/s",
        "what processes that start no application read, from the page cache or the drive, within `counted_s` of the first start-up; over the whole run if nothing is started",
    ),
    Measure::quantity(
        "written_mb_s",
        "MB/s",
        "what they wrote to memory or to the drive, within the same time",
    ),
    Measure::quantity(
        "late_percent",
        "%",
        "of the times at which processes with `every_ms` were to begin a round, those whose round took longer than that, or did not begin as the one before was not over; over the whole run",
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

/// MB/s.
fn rate(bytes: u64, over: Duration) -> f64 {
    match over.0 {
        0 => 0.0,
        _ => bytes as f64 / 1e6 / seconds(over),
    }
}

/// Start-ups that are told one by one.
const NOTED_MAX: usize = 64;

/// Start-ups of one application.
#[derive(Default)]
struct StartsOf {
    name: String,
    /// How many are under way, are up, and how long these took together.
    under_way: u64,
    up: u64,
    took: Duration,
    /// How many ended with a request that had failed.
    fell: u64,
}

/// Start-ups, and what others read and write meanwhile.
#[derive(Default)]
pub(super) struct Starts {
    /// When the first one began.
    first: Option<Instant>,
    /// By application, in the order in which they are described.
    by: Vec<StartsOf>,
    /// When the first few began, and when each was up.
    noted: Vec<(Instant, Option<Instant>)>,
    /// What others had read and written when the first one began, and when the count ended.
    before: (u64, u64),
    behind: Option<((u64, u64), Instant)>,
}

impl Starts {
    /// None yet, of the applications that these processes start.
    pub(super) fn of(told: &[Process]) -> Starts {
        let mut starts = Starts::default();
        for step in told.iter().flat_map(|process| &process.steps) {
            if let Step::Start(startup) = step
                && starts.by.iter().all(|one| one.name != startup.name)
            {
                starts.by.push(StartsOf {
                    name: startup.name.clone(),
                    ..StartsOf::default()
                });
            }
        }
        starts
    }

    fn application(&mut self, name: &str) -> &mut StartsOf {
        let found = self.by.iter_mut().find(|one| one.name == name);
        found.expect("processes are told of before they start it")
    }

    /// How many there are, of all applications.
    fn count(&self, of: fn(&StartsOf) -> u64) -> u64 {
        self.by.iter().map(of).sum()
    }

    /// This application begins to start; whether it is the first start-up.
    pub(super) fn begin(&mut self, now: Instant, name: &str) -> bool {
        self.application(name).under_way += 1;
        if self.noted.len() < NOTED_MAX {
            self.noted.push((now, None));
        }
        let first = self.first.is_none();
        self.first.get_or_insert(now);
        first
    }

    /// One of this application, that began then, has ended; whether all its requests went well.
    pub(super) fn end(&mut self, name: &str, (began, now): (Instant, Instant), well: bool) {
        let of = self.application(name);
        of.under_way -= 1;
        match well {
            true => (of.up, of.took) = (of.up + 1, of.took + now.since(began)),
            false => of.fell += 1,
        }
        // Of those that began at one instant none is told from another.
        let mut noted = self.noted.iter_mut();
        if let Some((_, up)) = noted
            .find(|(from, up)| *from == began && up.is_none())
            .filter(|_| well)
        {
            *up = Some(now);
        }
    }
}

impl Machine {
    /// What each process has done, in their order.
    pub fn processes(&self) -> Vec<ProcessFound> {
        let of = |ns: u128| ns as f64 / 1e9;
        let found = self.actors.iter().map(|actor| {
            let one = &actor.found;
            let rate = |bytes: u64| rate(bytes, actor.lived(self.now));
            let any = one.rounds > 0;
            let told = &self.told[actor.told];
            let every = told.every.filter(|_| !told.of_load);
            let times = every.map(|every| actor.times((every, told.times), self.now));
            ProcessFound {
                name: actor.name.clone(),
                stream: actor.stream,
                rounds: one.rounds,
                ended: actor.ended.is_some(),
                mean_s: any.then(|| of(one.took.sum) / one.rounds as f64),
                min_s: any.then(|| of(one.took.least.into())),
                max_s: any.then(|| of(one.took.most.into())),
                due: times.map(|times| times.due),
                late: times.map(|times| times.late),
                read_mb_s: rate(one.read),
                written_mb_s: rate(one.written),
                held_s: seconds(one.held),
                failed: one.failed,
            }
        });
        found.collect()
    }

    /// What those have read and written so far; none if there are none.
    fn moved_by_others(&self) -> Option<(u64, u64)> {
        let others = self
            .actors
            .iter()
            .filter(|actor| !self.told[actor.told].starts());
        let moved = others.map(|actor| (actor.found.read, actor.found.written));
        moved.reduce(|one, other| (one.0 + other.0, one.1 + other.1))
    }

    /// The first application begins to start: what others read and write is counted for a while,
    /// and the run goes on until then.
    pub(super) fn begin_to_count(&mut self, now: Instant) {
        if let Some(moved) = self.moved_by_others() {
            self.starts.before = moved;
            self.counting = true;
            self.note(now + self.settings.counted, Event::Counted);
        }
    }

    /// The count is over.
    pub(super) fn end_count(&mut self, now: Instant) {
        let moved = self.moved_by_others().unwrap_or_default();
        self.starts.behind = Some((moved, now));
        self.counting = false;
        self.over = self.awaited == Some(0);
    }

    /// What others read and wrote in a second while that was counted, in MB.
    fn others_mb_s(&self) -> [f64; 2] {
        let until_now = (self.moved_by_others().unwrap_or_default(), self.now);
        let (behind, end) = self.starts.behind.unwrap_or(until_now);
        let before = self.starts.before;
        let over = end.since(self.starts.first.unwrap_or(Instant::ZERO));
        [
            rate(behind.0 - before.0, over),
            rate(behind.1 - before.1, over),
        ]
    }

    /// When applications were started, and when each was up, the first few times.
    pub fn startups(&self) -> &[(Instant, Option<Instant>)] {
        &self.starts.noted
    }

    /// How soon each application was up.
    pub fn applications(&self) -> Vec<ApplicationFound> {
        let found = self.starts.by.iter().map(|one| ApplicationFound {
            name: one.name.clone(),
            up: one.up,
            not_up: one.under_way,
            failed: one.fell,
            mean_s: (one.up > 0).then(|| seconds(one.took) / one.up as f64),
        });
        found.collect()
    }

    /// What is told of the whole, by the names of [`MEASURES`].
    pub fn measures(&self) -> Vec<(&'static str, Number)> {
        let processes = self.processes();
        let mut found = Vec::new();
        let mut add = |name, number| found.push((name, Number::Quantity(number)));
        let starts = &self.starts;
        if self.told.iter().any(Process::starts) {
            let up = starts.count(|one| one.up);
            if up > 0 {
                let took = Duration(starts.count(|one| one.took.0));
                add("startup_s", seconds(took) / up as f64);
            }
            add("up", up as f64);
            let not_up = starts.count(|one| one.under_way + one.fell);
            add("not_up", not_up as f64);
        }
        let [read, written] = self.others_mb_s();
        add("read_mb_s", read);
        add("written_mb_s", written);
        let due: u64 = processes.iter().filter_map(|one| one.due).sum();
        if due > 0 {
            let late: u64 = processes.iter().filter_map(|one| one.late).sum();
            add("late_percent", late as f64 * 100.0 / due as f64);
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
