//! Latency targets of some streams; the others have all the time that these leave.
//!
//! A stream with a target is to be answered within it, no sooner: its request waits while another one can be served before it must start. What is
//! left of the target is *slack*, and belongs to the others (Lehoczky and Ramos-Thuel, "An optimal algorithm for scheduling soft-aperiodic tasks in
//! fixed-priority preemptive systems", RTSS 1992; here a command is not interrupted, so its time is reckoned before it begins).
//!
//! ```text
//! deadline      of a request of a stream with a target: when it came + target
//! must start    deadline - what its stream's requests take (mean and three times the mean deviation of those that were served; likewise of others)
//! next          another's, if it is over before the first one must start; else that one; whoever is there if there is only one
//! the others    share by service time, each for a quantum in a row, by weight; streams of one group are one. For who reads in a row and is
//!               soon back the drive waits, but not beyond that instant
//! no more than  targets hold for `most_percent` of the drive's time while others wait. Who asks for more gets no more: for as long
//!               its requests are like those of others
//! ```
//!
//! A target that the drive cannot keep even alone is refused when the scheduler is built: it must leave room for a random request of 4 KiB, as 99 of 100
//! take. Whether it is kept beside others hangs on how long their commands are; it is counted. O(log n) for each I/O, and a look at each stream with a target; nothing is allocated once there are as
//! many streams as there get.

use std::collections::BTreeSet;

use crate::contract::{Blueprint, Next, Scheduler, View};
use crate::ids::{GroupId, IoId, StreamId};
use crate::io::{DriveDone, Io};
use crate::list::Pool;
use crate::measure::{Measure, Tell};
use crate::op::Op;
use crate::registry::{ConfigError, Knob, Knobs, Spec};
use crate::rng::Rng;
use crate::sorted::{Keyed, Sorted};
use crate::stream::{Streams, by_stream};
use crate::units::{Blocks, Duration, Instant, Pba};

use super::habits::Habits;
use super::waiting::{Arrival, Reach, Waiting};

/// Requests that are tried to know what a drive does to random ones.
const TRIED: usize = 400;
/// 4 KiB.
const PAGE: Blocks = Blocks(8);
/// Over so long it is watched that targets take no more of the drive than they may.
const WINDOW: Duration = Duration::from_ms(1_000);
/// Of those without a target one that waited so long jumps the order of its party, once a quantum.
const LATE: Duration = Duration::from_ms(500);
/// Distances backward count twice, and beyond 16 MiB are no way back.
const REACH: Reach = Reach {
    back_max: Blocks(32_768),
    penalty: 2,
};

/// What something takes: its mean, and how far it is from that on average, both smoothed, as TCP reckons with round trips.
#[derive(Clone, Copy, Debug, Default)]
struct Estimate {
    mean: u64,
    off: u64,
}

impl Estimate {
    fn learn(&mut self, took: Duration) {
        if self.mean == 0 {
            (self.mean, self.off) = (took.0, took.0 / 4);
        }
        let off = took.0.abs_diff(self.mean);
        self.mean = (7 * self.mean + took.0) / 8;
        self.off = (3 * self.off + off) / 4;
    }

    /// What it hardly ever exceeds.
    fn most(self) -> Duration {
        Duration(self.mean + 3 * self.off)
    }
}

/// Who shares the drive: a stream, or the streams of a group.
struct Party {
    waiting: Waiting,
    weight: u64,
    /// None if it has none.
    target: Option<Duration>,
    /// What its requests take, and those that go on where the last one ended.
    takes: Estimate,
    goes_on: Estimate,
    /// What it had of the drive, by weight.
    had: u64,
    dispatched: u32,
    answered: Option<Instant>,
    habits: Habits,
    /// Its oldest request was not looked at in this quantum yet.
    checks: bool,
    /// Where it stands among those that have requests.
    ready: Option<Ready>,
}

/// An I/O: whose it is, when it went to the drive, and whether it went on there where the last one had ended.
#[derive(Clone, Copy, Debug, Default)]
struct Home {
    at: usize,
    started: Instant,
    goes_on: bool,
}

/// Somebody who has requests, by what it has had of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ready {
    had: u64,
    at: usize,
}

impl Keyed for Ready {
    type Key = (u64, usize);

    #[inline]
    fn key(&self) -> (u64, usize) {
        (self.had, self.at)
    }
}

struct Slack {
    targets: Vec<(StreamId, Duration)>,
    quantum: Duration,
    idle: Duration,
    most_percent: u64,
    rotational: bool,

    parties: Vec<Party>,
    ready: Sorted<Ready>,
    /// Those that have a target.
    targeted: Vec<usize>,
    by_stream: Vec<Option<usize>>,
    by_group: Vec<Option<usize>>,
    /// By the name of the I/O.
    homes: Vec<Home>,
    arrivals: Pool<Arrival>,

    /// Who of the others has the drive, and until it had so much.
    current: Option<(usize, u64)>,
    /// The drive waits for it.
    idling: Option<Instant>,
    /// What those have had that had least: who comes later begins there.
    floor: u64,
    last_end: Pba,
    last_done: Instant,
    /// Time of the drive that went to targets, and all, since the window began.
    window: (Instant, u64, u64),
    kept: u64,
    missed: u64,
}

impl Slack {
    fn new(knobs: &Knobs, blueprint: &dyn Blueprint, seed: u64) -> Result<Slack, ConfigError> {
        let text = knobs.choice("targets_ms");
        let targets = targets(text).expect("knobs are checked");
        check(&targets, blueprint, seed)?;
        Ok(Slack {
            targets,
            quantum: knobs.duration_ms("quantum_ms"),
            idle: knobs.duration_ms("wait_ms"),
            most_percent: knobs.integer("most_percent"),
            rotational: blueprint.revolution().is_some(),
            parties: Vec::new(),
            ready: Sorted::default(),
            targeted: Vec::new(),
            by_stream: Vec::new(),
            by_group: Vec::new(),
            homes: Vec::new(),
            arrivals: Pool::default(),
            current: None,
            idling: None,
            floor: 0,
            last_end: Pba(0),
            last_done: Instant::ZERO,
            window: (Instant::ZERO, 0, 0),
            kept: 0,
            missed: 0,
        })
    }

    fn target_of(&self, stream: StreamId) -> Option<Duration> {
        let found = self.targets.iter().find(|(of, _)| *of == stream);
        found.map(|(_, target)| *target)
    }

    /// Whose request this is.
    fn party(&mut self, now: Instant, io: &Io, streams: &Streams) -> usize {
        let stream = streams.of(io.stream);
        let target = self.target_of(io.stream);
        let alone = stream.group == GroupId(0) || target.is_some();
        let (table, index) = match alone {
            true => (&mut self.by_stream, io.stream.index()),
            false => (&mut self.by_group, stream.group.index()),
        };
        if table.len() <= index {
            table.resize(index + 1, None);
        }
        let at = *table[index].get_or_insert(self.parties.len());
        if at == self.parties.len() {
            if target.is_some() {
                self.targeted.push(at);
            }
            self.parties.push(Party {
                waiting: Waiting::default(),
                weight: 1,
                target,
                takes: Estimate::default(),
                goes_on: Estimate::default(),
                had: self.floor,
                dispatched: 0,
                answered: None,
                habits: Habits::new(now, true),
                checks: false,
                ready: None,
            });
        }
        self.parties[at].weight = u64::from(stream.weight).max(1);
        at
    }

    /// Whether targets have had as much of the drive as they may, while others wait.
    fn is_spent(&self) -> bool {
        let (_, theirs, all) = self.window;
        let whole = all.max(WINDOW.0);
        theirs * 100 > whole * self.most_percent
    }

    /// The request with a target that must start first, and when.
    fn first_target(&self) -> Option<(usize, Instant)> {
        let due = |at: &usize| {
            let party = &self.parties[*at];
            let deadline = party.waiting.deadline(&self.arrivals)?;
            let starts = deadline.0.saturating_sub(party.takes.most().0);
            Some((*at, Instant(starts)))
        };
        let all = self.targeted.iter().filter_map(due);
        all.min_by_key(|(at, starts)| (*starts, *at))
    }

    /// Of the others, who has the drive: as before until its quantum is over, then who has had least.
    fn other(&mut self) -> Option<usize> {
        let spent = self.is_spent();
        let fits = |party: &Party| party.target.is_none() || spent;
        let goes_on = self.current.filter(|(at, until)| {
            let party = &self.parties[*at];
            party.had < *until && fits(party)
        });
        if let Some((at, _)) = goes_on
            && (self.idling.is_some() || !self.parties[at].waiting.is_empty())
        {
            return Some(at);
        }
        let mut ready = self.ready.iter().map(|ready| ready.at);
        let at = ready.find(|at| fits(&self.parties[*at]))?;
        let party = &self.parties[at];
        self.floor = self.floor.max(party.had);
        let until = party.had + self.quantum.0 * 100 / party.weight;
        (self.current, self.idling) = (Some((at, until)), None);
        self.parties[at].checks = true;
        Some(at)
    }

    /// What a request of one of the others hardly ever exceeds.
    fn reckoned(&self, at: usize, next: Pba) -> Duration {
        let party = &self.parties[at];
        match next == self.last_end {
            true => party.goes_on.most(),
            false => party.takes.most(),
        }
    }

    fn start(&mut self, now: Instant, at: usize) -> IoId {
        let party = &mut self.parties[at];
        let stop = match party.target {
            Some(_) => party.waiting.serve_oldest(&mut self.arrivals, REACH),
            None => party
                .waiting
                .serve(&mut self.arrivals, REACH, now, &mut party.checks),
        };
        party.dispatched += 1;
        let goes_on = stop.at == self.last_end;
        self.last_end = stop.end();
        let home = &mut self.homes[stop.id.index()];
        (home.started, home.goes_on) = (now, goes_on);
        self.place(at);
        stop.id
    }

    /// Its place among those that have requests follows from what it has had.
    fn place(&mut self, at: usize) {
        let party = &mut self.parties[at];
        let had = party.had;
        let now = (!party.waiting.is_empty()).then_some(Ready { had, at });
        let before = std::mem::replace(&mut party.ready, now);
        if now == before {
            return;
        }
        if let Some(before) = before {
            let taken = self.ready.take(&before.key());
            assert!(taken.is_some(), "{before:?} stands elsewhere");
        }
        if let Some(now) = now {
            self.ready.insert(now);
        }
    }

    /// Takes note of what a request had of the drive.
    fn charge(&mut self, now: Instant, (at, goes_on): (usize, bool), took: Duration) {
        let party = &mut self.parties[at];
        party.had =
            party.had.max(self.floor.saturating_sub(WINDOW.0)) + took.0 * 100 / party.weight;
        match goes_on {
            true => party.goes_on.learn(took),
            false => party.takes.learn(took),
        }
        let (began, theirs, all) = &mut self.window;
        *all += took.0;
        *theirs += if party.target.is_some() { took.0 } else { 0 };
        if now.since(*began) > WINDOW {
            *began = now;
            (*theirs, *all) = (*theirs / 2, *all / 2);
        }
        self.place(at);
    }
}

/// The targets of the setting, one of each stream; none if it makes no sense.
fn targets(text: &str) -> Option<Vec<(StreamId, Duration)>> {
    let target = |ms: &str| {
        let ms = ms.parse().ok().filter(|ms| (0.001..=1e6).contains(ms))?;
        Some(Duration::from_ms_f64(ms))
    };
    let found = by_stream(text, target)?;
    let streams: BTreeSet<StreamId> = found.iter().map(|(stream, _)| *stream).collect();
    (streams.len() == found.len()).then_some(found)
}

/// Whether the drive could keep each target at all.
///
/// # Errors
/// It could not.
fn check(
    targets: &[(StreamId, Duration)],
    blueprint: &dyn Blueprint,
    seed: u64,
) -> Result<(), ConfigError> {
    let (oracle, mut rng) = (blueprint.exact(), Rng::stream(seed, "slack"));
    let len = PAGE.min(blueprint.capacity());
    let last = blueprint.capacity().0 - len.0;
    let mut times: Vec<Duration> = Vec::with_capacity(TRIED);
    for tried in 0..TRIED as u64 {
        // From the arm's place at rest, at many angles; a random way to go is two thirds of that on average, so this is on the safe side.
        let now = Instant(tried * 1_234_567);
        times.push(oracle.service_time(now, Op::Read, Pba(rng.below(last + 1)), len));
    }
    times.sort_unstable();
    let needed = times[TRIED * 99 / 100];
    match targets.iter().find(|(_, target)| *target < needed) {
        None => Ok(()),
        Some((stream, target)) => {
            let allowed = format!(
                "at least {:.3}: so long do 99 of 100 random reads of 4 KiB take on this drive, if nothing else is there",
                needed.as_ms()
            );
            let value = format!("{}={}", stream.0, target.as_ms());
            Err(ConfigError::value("slack.targets_ms", &value, &allowed))
        }
    }
}

impl Scheduler for Slack {
    fn insert(&mut self, now: Instant, io: &Io, streams: &Streams) {
        let at = self.party(now, io, streams);
        if self.homes.len() <= io.id.index() {
            self.homes.resize(io.id.index() + 1, Home::default());
        }
        self.homes[io.id.index()] = Home {
            at,
            ..Home::default()
        };
        let (idle, rotational) = (self.idle, self.rotational);
        let party = &mut self.parties[at];
        if party.waiting.is_empty() && party.dispatched == 0 {
            let since = party.answered.map(|answered| now.since(answered));
            party.habits.thought(since, idle);
            party.had = party.had.max(self.floor);
        }
        party.habits.asked_at(rotational, io.at, io.len);
        party.habits.last_end = Some(io.at + io.len);
        let deadline = now + party.target.unwrap_or(LATE);
        party.waiting.insert(
            &mut self.arrivals,
            (io.id, io.stream, io.sequence),
            (io.at, io.len),
            deadline,
            (REACH, self.last_end),
        );
        self.place(at);
        if self.current.is_some_and(|(current, _)| current == at) {
            self.idling = None;
        }
    }

    fn keeps_apart(&self) -> bool {
        true
    }

    fn grown(&mut self, _now: Instant, before: &Io, after: &Io, _streams: &Streams) {
        let party = &mut self.parties[self.homes[after.id.index()].at];
        party.waiting.grow(
            &mut self.arrivals,
            (before.at, before.sequence),
            (after.at, after.len),
            (REACH, self.last_end),
        );
        party.habits.last_end = Some(after.at + after.len);
    }

    fn withdraw(&mut self, io: &Io) {
        let at = self.homes[io.id.index()].at;
        let key = (io.at, io.sequence);
        self.parties[at]
            .waiting
            .withdraw(&mut self.arrivals, key, REACH);
        self.place(at);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        let now = view.now;
        if self.arrivals.is_empty() {
            return Next::Empty;
        }
        self.idling = self.idling.filter(|until| *until > now);
        let first = self.first_target().filter(|_| !self.is_spent());
        let Some(other) = self.other() else {
            let (at, _) = self.first_target().expect("a request waits");
            return Next::Start(self.start(now, at));
        };
        let next = self.parties[other].waiting.next();
        let Some((at, starts)) = first else {
            return match next {
                Some(_) => Next::Start(self.start(now, other)),
                None => Next::WaitUntil(self.idling.expect("it is waited for")),
            };
        };
        let over = now + next.map_or(Duration::ZERO, |next| self.reckoned(other, next.at));
        match (over <= starts, next) {
            (false, _) => Next::Start(self.start(now, at)),
            (true, Some(_)) => Next::Start(self.start(now, other)),
            (true, None) => {
                let until = self.idling.expect("it is waited for").min(starts);
                match until > now {
                    true => Next::WaitUntil(until),
                    false => Next::Start(self.start(now, at)),
                }
            }
        }
    }

    fn done(&mut self, now: Instant, io: &Io, _done: &DriveDone, _streams: &Streams) {
        let Home {
            at,
            started,
            goes_on,
        } = self.homes[io.id.index()];
        let took = now.since(started.max(self.last_done));
        self.last_done = now;
        self.charge(now, (at, goes_on), took);
        let idle = self.idle;
        let party = &mut self.parties[at];
        party.dispatched -= 1;
        party.answered = Some(now);
        if let Some(target) = party.target {
            let late = now > io.arrived + target;
            self.missed += u64::from(late);
            self.kept += u64::from(!late);
        }
        let mine = self
            .current
            .is_some_and(|(current, until)| current == at && party.had < until);
        let in_a_row = !party.habits.seeky() && party.habits.is_soon_back(idle);
        let empty = party.waiting.is_empty() && party.dispatched == 0;
        if mine && empty && in_a_row && io.sync && idle > Duration::ZERO {
            self.idling = Some(now + idle);
        }
    }

    fn len(&self) -> usize {
        self.arrivals.len()
    }

    fn tell(&self, tell: Tell<'_>) {
        tell(&MEASURES[0], self.kept);
        tell(&MEASURES[1], self.missed);
    }

    fn audit(&self) {
        let waiting: usize = self.parties.iter().map(|party| party.waiting.len()).sum();
        assert_eq!(waiting, self.arrivals.len(), "a request is one party's");
        self.ready.audit();
        for (at, party) in self.parties.iter().enumerate() {
            party.waiting.audit(&self.arrivals);
            let there = (!party.waiting.is_empty()).then_some((party.had, at));
            assert_eq!(party.ready.map(|ready| ready.key()), there);
        }
        let ready = self.parties.iter().filter(|party| party.ready.is_some());
        assert_eq!(ready.count(), self.ready.len());
    }
}

const MEASURES: &[Measure] = &[
    Measure::count(
        "kept",
        "requests",
        "requests of streams with a target that were answered within it",
    ),
    Measure::count("missed", "requests", "those that were not"),
];

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "slack",
    aliases: &["latency-targets"],
    summary: "some streams are answered within a target, the others have all the time that this leaves",
    source: "ours; after slack stealing: Lehoczky and Ramos-Thuel, RTSS 1992",
    knobs: &[
        Knob::text(
            "targets_ms",
            "",
            |text| targets(text).is_some(),
            "STREAM=MILLISECONDS, each stream once, several separated by spaces, such as \"0=25 3=100\"",
            "within how many milliseconds requests of these streams are to be answered",
        ),
        Knob::number(
            "quantum_ms",
            40.0,
            0.1..=60_000.0,
            "milliseconds of the drive's time that one of the others has in a row; more for a higher weight",
        ),
        Knob::number(
            "wait_ms",
            2.0,
            0.0..=1_000.0,
            "milliseconds that the drive waits for the next request of one of them that reads in a row; 0 is not at all",
        ),
        Knob::integer(
            "most_percent",
            70,
            1..=100,
            "percent of the drive's time for which targets hold while others wait",
        ),
    ],
    measures: MEASURES,
    asks: &["claims"],
    prepared: false,
    build: |knobs, env| Ok(Box::new(Slack::new(knobs, env.blueprint, env.seed)?)),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive;
    use crate::registry::KnobValue;
    use crate::sched::bench::{Bench, at_ms};
    use crate::sched::desk::DISK;
    use crate::stream::Stream;

    /// With these targets; 99 of 100 random reads of the small disk take 34.3 ms.
    fn built(targets: &str, most_percent: i64) -> Result<Slack, ConfigError> {
        let given = [
            ("targets_ms".to_owned(), KnobValue::Text(targets.to_owned())),
            ("most_percent".to_owned(), KnobValue::Integer(most_percent)),
        ];
        let knobs = Knobs::check("slack", SPEC.knobs, &given).unwrap();
        let (blueprint, _) = drive::read("small", DISK, &[]).unwrap();
        Slack::new(&knobs, &*blueprint, 1)
    }

    fn bench(targets: &str) -> Bench<Slack> {
        Bench::of(built(targets, 70).unwrap())
    }

    /// All requests so far took so long.
    fn knows(bench: &mut Bench<Slack>, ms: u64) {
        for party in &mut bench.own.parties {
            let known = Estimate {
                mean: ms * 1_000_000,
                off: 0,
            };
            (party.takes, party.goes_on) = (known, known);
        }
    }

    #[test]
    fn a_request_with_a_target_goes_when_another_would_make_it_late_and_not_before() {
        let mut bench = bench("0=100");
        let protected = bench.read(0, 50, 8);
        let others: Vec<u32> = (0..9).map(|step| bench.read(1, step * 100, 8)).collect();
        knows(&mut bench, 20);
        // It must start at 80 ms: four of the others fit before.
        for other in &others[..4] {
            bench.serve(*other, 20);
        }
        bench.serve(protected, 20);
        assert_eq!(bench.now, at_ms(100));
        bench.serve(others[4], 20);
    }

    #[test]
    fn whoever_is_there_is_served_if_there_is_only_one() {
        let mut bench = bench("0=1000");
        let protected = bench.read(0, 50, 8);
        bench.serve(protected, 20);
        let other = bench.read(1, 50, 8);
        bench.serve(other, 20);
    }

    #[test]
    fn the_others_share_by_time_and_weight_a_quantum_each_in_turns() {
        let mut bench = bench("0=1000");
        let heavy = Stream {
            weight: 200,
            ..Stream::UNKNOWN
        };
        bench.describe(2, heavy);
        for step in 0..60 {
            bench.read(1, step * 8, 8);
            bench.read(2, 1_000_000 + step * 8, 8);
        }
        let mut served = Vec::new();
        for _ in 0..60 {
            let id = bench.start().unwrap();
            bench.wait(10);
            bench.answer(id);
            served.push(bench.ios[id as usize].stream.0);
        }
        let heavy = served.iter().filter(|stream| **stream == 2).count();
        assert_eq!(heavy, 40, "two thirds");
        // 40 ms in a row, or 20 if the weight is half.
        assert_eq!(served[..12], [1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2]);
    }

    #[test]
    fn the_drive_waits_for_who_reads_in_a_row_but_not_beyond_a_target() {
        let mut bench = bench("0=100");
        let first = bench.read(1, 0, 8);
        bench.read(2, 1_000_000, 8);
        bench.serve(first, 1);
        assert_eq!((bench.start(), bench.waits_until), (None, Some(at_ms(3))));
        let next = bench.read(1, 8, 8);
        bench.serve(next, 1);
        // A target that is due earlier than 2 ms after that.
        let protected = bench.read(0, 50, 8);
        let at = bench.own.homes[protected as usize].at;
        bench.own.parties[at].takes.mean = 99_000_000;
        assert_eq!((bench.start(), bench.waits_until), (None, Some(at_ms(3))));
        bench.now = at_ms(3);
        assert_eq!(bench.start(), Some(protected));
    }

    #[test]
    fn who_has_had_its_part_of_the_time_waits_like_the_others() {
        let mut bench = Bench::of(built("0=40", 10).unwrap());
        // Both ask for everything: eight requests of 10 ms each at a time, of which the last would wait for 80 ms.
        for step in 0..8 {
            bench.read(0, step * 8, 8);
            bench.read(1, 1_000_000 + step * 8, 8);
        }
        let mut of_target = 0;
        for _ in 0..400 {
            let id = bench.start().unwrap();
            bench.wait(10);
            bench.answer(id);
            let stream = bench.ios[id as usize].stream.0;
            of_target += u32::from(stream == 0);
            bench.read(stream, u64::from(stream) * 1_000_000 + u64::from(id) * 8, 8);
        }
        assert!((180..=240).contains(&of_target), "{of_target}");
    }

    #[test]
    fn streams_of_a_group_have_one_share() {
        let mut bench = bench("0=1000");
        let grouped = Stream {
            group: GroupId(4),
            ..Stream::UNKNOWN
        };
        for stream in 10..110 {
            bench.describe(stream, grouped);
            bench.read(stream, u64::from(stream) * 1_000, 8);
        }
        for step in 0..60 {
            bench.read(1, 9_000_000 + step * 8, 8);
        }
        let mut alone = 0;
        for _ in 0..100 {
            let id = bench.start().unwrap();
            bench.wait(10);
            bench.answer(id);
            alone += u32::from(bench.ios[id as usize].stream.0 == 1);
        }
        assert!(
            (48..=52).contains(&alone),
            "a hundred streams gained nothing: {alone}"
        );
    }

    #[test]
    fn what_the_drive_cannot_keep_alone_is_refused_with_what_it_can() {
        let error = built("3=34.2", 70).err().unwrap().to_string();
        assert!(error.contains("slack.targets_ms = 3=34.2"), "{error}");
        assert!(error.contains("allowed: at least 34.259"), "{error}");
        assert!(built("3=34.3", 70).is_ok());
        assert!(targets("3=25 3=30").is_none(), "one target each");
        assert!(targets("x=25").is_none() && targets("3=0").is_none());
    }
}
