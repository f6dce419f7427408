//! Latency targets of some streams; the others have all the time that these leave.
//!
//! A stream with a target is answered within it. What is left of a target is *slack*, and belongs
//! to the others, who get most of the drive if they have it in a row (Lehoczky and Ramos-Thuel, "An
//! optimal algorithm for scheduling soft-aperiodic tasks in fixed-priority preemptive systems",
//! RTSS 1992; here a command is not interrupted, so its time is reckoned before it begins).
//!
//! ```text
//! at once       a stream that has had less than `prompt_percent` of the drive's time while others wanted it ([`budget`]) is next, and on a disk its next
//!               request is waited for. So who asks now and then waits for one command of others at most; and who asks again and again, one at a time,
//!               takes 100 / prompt_percent times as long as alone, on average
//! must start    with more than that it waits until it must: its deadline, when it came + target, less what it takes ([`reckoning`]). If several have
//!               targets, all must end in time, one after the other by deadline
//! next          one that is served at once; else one of the others. But nobody goes who would not be over, by the same reckoning, when the first one must start
//! the others    share by service time and weight; streams of one group are one. On a disk each has a quantum in a row, but for a turn that is half over when
//!               one with a target goes between; and who reads in a row and is soon back is waited for, but not beyond that instant. Being waited for counts as service.
//!               It has the drive alone in its turn, also one that holds several commands, but for those with targets
//! no more than  a target holds for `most_percent` of the drive's time while others wait. Who asks for more gets no more: for as long
//!               its requests are like those of others. Both parts are divided among the streams with targets by weight, so that none spoils another's
//! on the drive  of others there are no more commands at a time than let targets be kept there ([`depth`])
//! ```
//!
//! What cannot be kept is refused when the scheduler is built, with what can ([`admission`]).
//! Beyond that it loses: where others ask for commands that are longer than those it has seen of
//! them; where a stream without think time takes its part (others lose what it takes, and a way
//! back after each time, of which a short target makes many); where a drive with a volatile cache
//! answers writes of others before it has carried them out, and then does, whoever asks; and where
//! nothing turns, since a reader in a row is not waited for there, so that weights are only kept by
//! who always has requests waiting. O(log n) for each I/O, and a look at each stream with a target;
//! nothing is allocated once there are as many streams as there get.

mod admission;
mod budget;
mod card;
mod depth;
mod reckoning;
mod tests;

use crate::contract::{Blueprint, Next, Scheduler, View};
use crate::ids::{GroupId, IoId, StreamId};
use crate::io::{DriveDone, Io};
use crate::list::Pool;
use crate::measure::Tell;
use crate::registry::{ConfigError, Knobs};
use crate::sorted::{Keyed, Sorted};
use crate::stream::Streams;
use crate::units::{Blocks, Duration, Instant, Pba};

use super::habits::Habits;
use super::waiting::{Arrival, Reach, Waiting};
use admission::Known;
use budget::{Budget, WHOLE};
use depth::Depth;
use reckoning::{Divided, Estimate, Sum};

pub(super) use card::SPEC;

/// Who comes back has no more of the past to its credit than so long.
const WINDOW: Duration = Duration::from_ms(1_000);
/// Of those without a target one that waited so long jumps the order of its party, once a quantum.
const LATE: Duration = Duration::from_ms(500);
/// Distances backward count twice, and beyond 16 MiB are no way back.
const REACH: Reach = Reach {
    back_max: Blocks(32_768),
    penalty: 2,
};

/// What a stream may count on.
struct Target {
    within: Duration,
    /// What its requests take from going to the drive to the answer.
    service: Estimate,
    /// Its part of the time in which it is served at once, and in which its target holds.
    prompt: Budget,
    holds: Budget,
    /// Its oldest request is served at once: it had time left when its turn began.
    at_once: bool,
}

/// Who shares the drive: a stream, or the streams of a group.
struct Party {
    waiting: Waiting,
    weight: u64,
    /// None if it has none.
    target: Option<Target>,
    /// What its requests take, and those that go on where the last one ended.
    takes: Estimate,
    goes_on: Estimate,
    /// What it had of the drive, by weight.
    had: u64,
    dispatched: u32,
    answered: Option<Instant>,
    habits: Habits,
    /// It waits for what it asked for last.
    sync: bool,
    /// Its oldest request was not looked at in this quantum yet.
    checks: bool,
    /// Where it stands among those that have requests.
    ready: Option<Ready>,
}

impl Party {
    /// What it may count on, unless it has had its part.
    fn holds(&self) -> Option<&Target> {
        self.target.as_ref().filter(|target| target.holds.left())
    }
}

/// An I/O: whose it is, when it went to the drive, what the drive had given then, and whether it
/// went on there where the last one had ended.
#[derive(Clone, Copy, Debug, Default)]
struct Home {
    at: usize,
    started: Instant,
    begun: u64,
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

/// `count` requests of a party must end by this deadline.
#[derive(Clone, Copy, Debug)]
struct Due {
    deadline: Instant,
    at: usize,
    count: u64,
}

/// The drive rests for the next request of this party: since when others would have gone, and until
/// when.
#[derive(Clone, Copy, Debug)]
struct Held {
    at: usize,
    since: Option<Instant>,
    until: Instant,
}

/// What there is to be done.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Start(usize),
    Wait(Instant),
    /// Nothing, until what is on the drive is answered.
    Stay,
}

struct Slack {
    targets: Vec<(StreamId, Duration)>,
    quantum: Duration,
    idle: Duration,
    prompt_percent: u64,
    most_percent: u64,
    rotational: bool,
    /// What requests take of whom nothing is known yet: of streams with a target, and of others, of
    /// whom whatever is served tells something.
    page: Estimate,
    long: Estimate,

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
    held: Option<Held>,
    /// What must end when, by deadline; made anew for each decision.
    due: Vec<Due>,
    /// What those have had that had least: who comes later begins there.
    floor: u64,
    last_end: Pba,
    divided: Divided,
    /// Commands without a target that the drive has.
    others: u32,
    depth: Depth,
    kept: u64,
    missed: u64,
    late: Duration,
    deferred: u64,
}

impl Slack {
    fn new(knobs: &Knobs, blueprint: &dyn Blueprint, seed: u64) -> Result<Slack, ConfigError> {
        let text = knobs.choice("targets_ms");
        let targets = admission::targets(text).expect("knobs are checked");
        let (mut page, mut long) = (Estimate::default(), Estimate::default());
        if targets.is_empty() {
            let of_targets = ["admission", "prompt_percent", "most_percent"];
            let idle = SPEC
                .knobs
                .iter()
                .filter(|knob| of_targets.contains(&knob.name));
            knobs.check_idle(idle, "left out without targets_ms: no stream has a target")?;
        } else {
            let mut known = Known::of(blueprint, seed);
            known.admit(&targets, knobs.choice("admission") == "beside")?;
            (page, long) = (known.page(), known.long());
        }
        Ok(Slack {
            targets,
            quantum: knobs.duration_ms("quantum_ms"),
            idle: knobs.duration_ms("wait_ms"),
            prompt_percent: knobs.integer("prompt_percent"),
            most_percent: knobs.integer("most_percent"),
            rotational: blueprint.revolution().is_some(),
            page,
            long,
            parties: Vec::new(),
            ready: Sorted::default(),
            targeted: Vec::new(),
            by_stream: Vec::new(),
            by_group: Vec::new(),
            homes: Vec::new(),
            arrivals: Pool::default(),
            current: None,
            held: None,
            due: Vec::new(),
            floor: 0,
            last_end: Pba(0),
            divided: Divided::default(),
            others: 0,
            depth: Depth::new(),
            kept: 0,
            missed: 0,
            late: Duration::ZERO,
            deferred: 0,
        })
    }

    /// Whose request this is.
    fn party(&mut self, now: Instant, io: &Io, streams: &Streams) -> usize {
        let stream = streams.of(io.stream);
        let within = self.targets.iter().find(|(of, _)| *of == io.stream);
        let within = within.map(|(_, target)| *target);
        let alone = stream.group == GroupId(0) || within.is_some();
        let (table, index) = match alone {
            true => (&mut self.by_stream, io.stream.index()),
            false => (&mut self.by_group, stream.group.index()),
        };
        if table.len() <= index {
            table.resize(index + 1, None);
        }
        let at = *table[index].get_or_insert(self.parties.len());
        if at == self.parties.len() {
            self.add(now, within);
        }
        let weight = u64::from(stream.weight).max(1);
        if std::mem::replace(&mut self.parties[at].weight, weight) != weight && within.is_some() {
            self.divide(streams);
        }
        at
    }

    fn add(&mut self, now: Instant, within: Option<Duration>) {
        let known = if within.is_some() {
            self.page
        } else {
            self.long
        };
        if within.is_some() {
            self.targeted.push(self.parties.len());
        }
        self.parties.push(Party {
            waiting: Waiting::default(),
            weight: 0,
            target: within.map(|within| Target {
                within,
                service: self.page,
                prompt: Budget::default(),
                holds: Budget::default(),
                at_once: false,
            }),
            takes: known,
            // Who is taken for slow is never tried.
            goes_on: Estimate::default(),
            had: self.floor,
            dispatched: 0,
            answered: None,
            sync: false,
            habits: Habits::new(now, true),
            checks: false,
            ready: None,
        });
    }

    /// Divides what is set aside for targets among their streams, by weight.
    fn divide(&mut self, streams: &Streams) {
        let weights = self.targets.iter().map(|(of, _)| streams.of(*of).weight);
        let all: u64 = weights.map(|weight| u64::from(weight).max(1)).sum();
        for at in &self.targeted {
            let party = &mut self.parties[*at];
            let target = party.target.as_mut().expect("it has one");
            let budgets = [
                (&mut target.prompt, self.prompt_percent),
                (&mut target.holds, self.most_percent),
            ];
            for (budget, percent) in budgets {
                let part = percent * party.weight * WHOLE / 100 / all;
                // What others have while it waits for as long as it may must not be lost to it.
                let saves = self.quantum.0.max(target.within.0 / WHOLE * part);
                budget.set(part, Duration(saves));
            }
        }
    }

    /// Lists what must end when: of each stream with a target the oldest request, and all of them
    /// by the deadline of the last.
    fn list_due(&mut self) {
        self.due.clear();
        for at in &self.targeted {
            let party = &self.parties[*at];
            let Some((first, last)) = party.waiting.deadlines(&self.arrivals) else {
                continue;
            };
            if party.holds().is_none() {
                continue;
            }
            let mut must = |deadline, count| {
                let at = *at;
                self.due.push(Due {
                    deadline,
                    at,
                    count,
                });
            };
            must(first, 1);
            if party.waiting.len() > 1 {
                must(last, party.waiting.len() as u64 - 1);
            }
        }
        self.due.sort_unstable_by_key(|due| (due.deadline, due.at));
    }

    /// When the first of them must start, if this is done before.
    fn must_start(&self, before: Sum) -> Instant {
        let mut sum = before;
        let starts = self.due.iter().map(|due| {
            let target = self.parties[due.at].target.as_ref().expect("it has one");
            sum = sum.and(target.service, due.count);
            due.deadline.0.saturating_sub(sum.most().0)
        });
        Instant(starts.min().unwrap_or(u64::MAX))
    }

    /// Whether the next request of this party may go before those that are due.
    fn fits(&self, now: Instant, at: usize) -> bool {
        let party = &self.parties[at];
        let next = party.waiting.next().expect("it has a request");
        let takes = match &party.target {
            Some(target) => target.service,
            None if next.at == self.last_end => party.goes_on,
            None => party.takes,
        };
        now <= self.must_start(takes.sum())
    }

    /// Whether another of its commands may be on the drive beside those there.
    fn has_room(&self, now: Instant, at: usize) -> bool {
        let party = &self.parties[at];
        let there = match party.target {
            Some(_) => party.dispatched,
            None => self.others,
        };
        there < self.depth.allowed(now)
    }

    /// Whose turn it is, but for those that must start. `stays` tells that a turn may go on with
    /// what is on the drive.
    fn choose(&mut self, stays: bool) -> Choice {
        let at_once = |due: &&Due| {
            let target = &self.parties[due.at].target;
            target.as_ref().is_some_and(|target| target.at_once)
        };
        if let Some(due) = self.due.iter().find(at_once) {
            return Choice::Start(due.at);
        }
        if let Some(held) = self.held {
            return Choice::Wait(held.until);
        }
        if stays && self.goes_on_alone() {
            return Choice::Stay;
        }
        let first = self.due.first().map(|due| due.at);
        let other = self.other().or(first);
        Choice::Start(other.expect("a request waits"))
    }

    /// Whether a turn is that of one who reads in a row and will ask again when it is answered: a
    /// drive that holds several commands is not given those of others meanwhile, or heads would go
    /// to and fro.
    fn goes_on_alone(&self) -> bool {
        self.current.is_some_and(|(at, until)| {
            let party = &self.parties[at];
            let on_drive = party.dispatched > 0 && party.waiting.is_empty();
            let soon = party.sync && party.habits.is_soon_back(self.idle);
            let in_a_row = soon && !party.habits.seeky() && party.had < until;
            self.is_patient() && on_drive && in_a_row && party.holds().is_none()
        })
    }

    /// Whether it is worth while that the drive rests.
    fn is_patient(&self) -> bool {
        self.rotational && self.idle > Duration::ZERO
    }

    /// Of the others, who has the drive: as before until its quantum is over, then who has had
    /// least.
    fn other(&mut self) -> Option<usize> {
        let goes_on = self.current.filter(|(at, until)| {
            let party = &self.parties[*at];
            let more = party.had < *until && !party.waiting.is_empty();
            self.rotational && more && party.holds().is_none()
        });
        if let Some((at, _)) = goes_on {
            return Some(at);
        }
        let mut ready = self.ready.iter().map(|ready| ready.at);
        let at = ready.find(|at| self.parties[*at].holds().is_none())?;
        let party = &mut self.parties[at];
        party.checks = true;
        self.floor = self.floor.max(party.had);
        let until = party.had + self.quantum.0;
        self.current = Some((at, until));
        Some(at)
    }

    fn start(&mut self, now: Instant, at: usize) -> IoId {
        self.end_wait(now);
        let party = &mut self.parties[at];
        let stop = match party.target {
            Some(_) => party.waiting.serve_oldest(&mut self.arrivals, REACH),
            None => party
                .waiting
                .serve(&mut self.arrivals, REACH, now, &mut party.checks),
        };
        party.dispatched += 1;
        self.others += u32::from(party.target.is_none());
        if party.holds().is_some() {
            self.cut_short();
        }
        self.depth.look(self.others);
        let goes_on = stop.at == self.last_end;
        self.last_end = stop.end();
        self.homes[stop.id.index()] = Home {
            at,
            started: now,
            begun: self.divided.begin(now),
            goes_on,
        };
        self.turn(at);
        self.place(at);
        stop.id
    }

    /// One with a target goes between: a turn that is half over ends, as there is a way back
    /// anyway. Who had less comes again the sooner.
    fn cut_short(&mut self) {
        let half = |(at, until): &(usize, u64)| {
            let party = &self.parties[*at];
            party.had + self.quantum.0 / 2 < *until
        };
        self.current = self.current.filter(half);
    }

    /// The turn of the oldest request of this party begins: whether it is served at once.
    fn turn(&mut self, at: usize) {
        let party = &mut self.parties[at];
        if let Some(target) = &mut party.target
            && !party.waiting.is_empty()
        {
            target.at_once = target.prompt.left();
            self.deferred += u64::from(!target.at_once);
        }
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

    /// The drive rests no more, and whom it rested for had that time.
    fn end_wait(&mut self, now: Instant) {
        if let Some(held) = self.held.take()
            && let Some(since) = held.since
        {
            self.charge(held.at, now.min(held.until).since(since), true);
        }
    }

    /// Takes note of what a party had of the drive, and whether others wanted it then.
    fn charge(&mut self, at: usize, had: Duration, wanted: bool) {
        let party = &mut self.parties[at];
        let before = party.had.max(self.floor.saturating_sub(WINDOW.0));
        party.had = before + had.0 * 100 / party.weight;
        for of in &self.targeted {
            let target = self.parties[*of].target.as_mut().expect("it has one");
            for budget in [&mut target.prompt, &mut target.holds] {
                match *of == at {
                    true if wanted => budget.spend(had),
                    true => {}
                    false => budget.earn(had),
                }
            }
        }
        self.place(at);
    }

    /// Learns from a command that ended.
    fn learn(&mut self, now: Instant, io: &Io, home: Home, had: Duration) {
        let party = &mut self.parties[home.at];
        match home.goes_on {
            true => party.goes_on.learn(had),
            false => party.takes.learn(had),
        }
        if party.target.is_none() && !home.goes_on {
            self.long.learn(had);
        }
        if let Some(target) = &mut party.target {
            let until = io.arrived + target.within;
            match now > until {
                true => {
                    self.missed += 1;
                    self.late += now.since(until);
                }
                false => self.kept += 1,
            }
            target.service.learn(now.since(home.started));
            self.depth.answered(now, home.started, target.within);
        }
    }

    /// Whether the next request of a party is worth a rest of the drive.
    fn is_awaited(&self, at: usize, io: &Io) -> bool {
        let party = &self.parties[at];
        let nothing = party.waiting.is_empty() && party.dispatched == 0;
        let soon = io.sync && party.habits.is_soon_back(self.idle);
        let worth = match party.holds() {
            Some(target) => target.prompt.left(),
            None => {
                let turn = self.current.filter(|(current, _)| *current == at);
                !party.habits.seeky() && turn.is_some_and(|(_, until)| party.had < until)
            }
        };
        self.is_patient() && nothing && soon && worth
    }
}

impl Scheduler for Slack {
    fn insert(&mut self, now: Instant, io: &Io, streams: &Streams) {
        let at = self.party(now, io, streams);
        if self.held.is_some_and(|held| held.at == at) {
            self.end_wait(now);
        }
        if self.homes.len() <= io.id.index() {
            self.homes.resize(io.id.index() + 1, Home::default());
        }
        self.homes[io.id.index()].at = at;
        let (idle, rotational) = (self.idle, self.rotational);
        let party = &mut self.parties[at];
        let first = party.waiting.is_empty();
        if first && party.dispatched == 0 {
            let since = party.answered.map(|answered| now.since(answered));
            // A first request comes behind no think time.
            party.habits.thought(since.unwrap_or(Duration::ZERO), idle);
            party.had = party.had.max(self.floor);
        }
        party.habits.asked_at(rotational, io.at, io.len);
        party.habits.last_end = Some(io.at + io.len);
        party.sync = io.sync;
        let within = party.target.as_ref().map(|target| target.within);
        party.waiting.insert(
            &mut self.arrivals,
            (io.id, io.stream, io.sequence),
            (io.at, io.len),
            now + within.unwrap_or(LATE),
            (REACH, self.last_end),
        );
        if within.is_some() {
            self.depth.asked(now);
        }
        if first {
            self.turn(at);
        }
        self.place(at);
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

    fn withdraw(&mut self, _now: Instant, io: &Io) {
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
        if self.held.is_some_and(|held| held.until <= now) {
            self.end_wait(now);
        }
        self.list_due();
        let first = self.due.first().map(|due| due.at);
        // Where the drive has nothing, nobody waits for what was started.
        let room = |own: &Slack, at| view.in_flight == 0 || own.has_room(now, at);
        let choice = match (self.choose(view.in_flight > 0), first) {
            (Choice::Start(at), Some(first)) if !self.fits(now, at) => Choice::Start(first),
            // Nothing is gained there by having others in a row.
            (Choice::Start(at), Some(first)) if !self.rotational && !room(self, at) => {
                Choice::Start(first)
            }
            (Choice::Stay, Some(first)) if self.must_start(Sum::default()) <= now => {
                Choice::Start(first)
            }
            (Choice::Wait(until), Some(first)) => {
                let until = until.min(self.must_start(Sum::default()));
                match until > now {
                    true => Choice::Wait(until),
                    false => Choice::Start(first),
                }
            }
            (choice, _) => choice,
        };
        match choice {
            Choice::Start(at) if room(self, at) => Next::Start(self.start(now, at)),
            Choice::Start(_) => Next::Empty,
            Choice::Stay => match self.must_start(Sum::default()) {
                Instant::NEVER => Next::Empty,
                until => Next::WaitUntil(until),
            },
            Choice::Wait(until) => {
                let held = self.held.as_mut().expect("it is waited for");
                held.since = held.since.or(Some(now));
                Next::WaitUntil(until)
            }
        }
    }

    fn done(&mut self, now: Instant, io: &Io, _done: &DriveDone, _streams: &Streams) {
        let home = self.homes[io.id.index()];
        let had = self.divided.end(now, home.begun);
        let party = &mut self.parties[home.at];
        party.dispatched -= 1;
        party.answered = Some(now);
        self.others -= u32::from(party.target.is_none());
        let own = usize::from(party.ready.is_some());
        let wanted = self.ready.len() > own || self.divided.commands() > party.dispatched;
        self.learn(now, io, home, had);
        self.charge(home.at, had, wanted);
        if self.is_awaited(home.at, io) {
            self.end_wait(now);
            self.held = Some(Held {
                at: home.at,
                since: None,
                until: now + self.idle,
            });
        }
    }

    fn len(&self) -> usize {
        self.arrivals.len()
    }

    fn tell(&self, tell: Tell<'_>) {
        tell(&card::MEASURES[0], self.kept);
        tell(&card::MEASURES[1], self.missed);
        tell(&card::MEASURES[2], self.late.0 / 1_000);
        tell(&card::MEASURES[3], self.deferred);
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
        let others = self.parties.iter().filter(|party| party.target.is_none());
        let there: u32 = others.map(|party| party.dispatched).sum();
        assert_eq!(there, self.others);
    }
}
