//! Kyber: so many requests of each direction on the drive that those of the other are answered in
//! time.
//!
//! Reads and writes wait apart, each in order of arrival, and go in batches, in turns. Each
//! direction has *tokens*: a request takes one along to the drive. How many there are follows from
//! what answers took:
//!
//! ```text
//! on the drive   if 90 % of a direction take longer there than its target, the drive is crowded
//! in all         if 99 % of a direction are answered within its target, and the drive is crowded, it gets fewer tokens: as many as it
//!                needs of its target; if not, more
//! ```
//!
//! Times are kept in eight classes, each a quarter of the target wide, and looked at a tenth of a
//! second after an answer, once there are 500 of them, or a second is over. Writes that nobody
//! waits for may take three quarters of the places before the drive. Facts of
//! `block/kyber-iosched.c`, Linux 6.12; discards, which have a domain of their own there, do not
//! come here. O(1) for each I/O, O(log n), amortised, where some are withdrawn; nothing is
//! allocated once the queues have been as long as they get.

use super::fifo::Fifo;
use crate::contract::{Next, Queued, Scheduler, View};
use crate::ids::IoId;
use crate::io::{DriveDone, Io};
use crate::measure::{Measure, Tell};
use crate::op::Op;
use crate::registry::{Knob, Knobs, Spec};
use crate::stream::Streams;
use crate::units::{Duration, Instant};

/// Classes of times; the first four are within the target.
const CLASSES: usize = 8;
const GOOD: usize = 4;
/// How long after an answer the times are looked at.
const LOOKS_AFTER: Duration = Duration::from_ms(100);
/// Times of a kind are evaluated when there are so many of them, or when the first of them is so
/// old.
const SAMPLES: u32 = 500;
const SECOND: Duration = Duration::from_ms(1_000);
/// Reads, then writes: the most tokens, and the most in a row.
const TOKENS: [u32; 2] = [256, 128];
const BATCH: [u32; 2] = [16, 8];

/// Times of one kind, by class.
#[derive(Clone, Copy, Debug, Default)]
struct Times([u32; CLASSES]);

impl Times {
    fn add(&mut self, took: Duration, target: Duration) {
        let width = (target.0 / GOOD as u64).max(1);
        let class = took.0.saturating_sub(1) / width;
        self.0[(class as usize).min(CLASSES - 1)] += 1;
    }

    fn all(&self) -> u32 {
        self.0.iter().sum()
    }

    /// The class that `percent` of a hundred times do not exceed. All times are forgotten then.
    fn percentile(&mut self, percent: u32) -> usize {
        let mut rest = (u64::from(self.all()) * u64::from(percent)).div_ceil(100);
        let below = |count: &u32| {
            let goes_on = u64::from(*count) < rest;
            rest -= if goes_on { u64::from(*count) } else { 0 };
            !goes_on
        };
        let class = self.0[..CLASSES - 1].iter().position(below);
        *self = Times::default();
        class.unwrap_or(CLASSES - 1)
    }
}

/// One direction.
#[derive(Default)]
struct Domain {
    /// What waits, and when it came.
    waiting: Fifo<Instant>,
    target: Duration,
    tokens: u32,
    on_drive: u32,
    /// What answers took on the drive, and in all.
    device: Times,
    total: Times,
    /// By kind of times: when those that there are suffice, however few they are. Set when the
    /// first of them is seen.
    enough_at: [Option<Instant>; 2],
    /// What 99 % were within when the drive was not crowded; used once.
    remembered: Option<usize>,
}

/// When a request came, and went to the drive.
#[derive(Clone, Copy, Default)]
struct Sent {
    came: Instant,
    started: Instant,
}

struct Kyber {
    domains: [Domain; 2],
    /// The direction that goes, and how many of it in a row.
    current: usize,
    batched: u32,
    /// By the name of the I/O.
    sent: Vec<Sent>,
    looks_at: Option<Instant>,
    /// Places before the drive; 0 if there is no limit.
    nr_requests: u64,
    resized: u64,
}

fn direction(op: Op) -> usize {
    usize::from(op != Op::Read)
}

impl Kyber {
    fn new(knobs: &Knobs) -> Kyber {
        let domain = |of: usize, target: &str| Domain {
            target: knobs.duration_us(target),
            tokens: TOKENS[of],
            ..Domain::default()
        };
        Kyber {
            domains: [domain(0, "read_lat_us"), domain(1, "write_lat_us")],
            current: 0,
            batched: 0,
            sent: Vec::new(),
            looks_at: None,
            nr_requests: knobs.integer("nr_requests"),
            resized: 0,
        }
    }

    /// What was due before this input.
    fn catch_up(&mut self, now: Instant) {
        if let Some(due) = self.looks_at.take_if(|due| now >= *due) {
            self.look(due);
        }
    }

    /// Tokens follow from what answers took.
    fn look(&mut self, now: Instant) {
        let device = |domain: &mut Domain| enough(now, &domain.device, &mut domain.enough_at[0]);
        let mut crowded = false;
        for domain in &mut self.domains {
            if device(domain) {
                crowded |= domain.device.percentile(90) >= GOOD;
            }
        }
        for (of, domain) in self.domains.iter_mut().enumerate() {
            let known = enough(now, &domain.total, &mut domain.enough_at[1]);
            let mut class = known.then(|| domain.total.percentile(99));
            if crowded {
                class = class.or(domain.remembered);
                domain.remembered = None;
            } else if class.is_some() {
                domain.remembered = class;
            }
            let Some(class) = class.filter(|class| crowded || *class >= GOOD) else {
                continue;
            };
            let tokens = domain.tokens * (class as u32 + 1) / GOOD as u32;
            let tokens = tokens.clamp(1, TOKENS[of]);
            self.resized += u64::from(tokens != domain.tokens);
            domain.tokens = tokens;
        }
    }

    /// The next request of the direction that goes, if it has a token. Where the drive `rests`,
    /// what has them waits for a place that only others may free.
    fn serve(&mut self, now: Instant, rests: bool) -> Option<IoId> {
        let domain = &mut self.domains[self.current];
        if domain.on_drive >= domain.tokens && !rests {
            return None;
        }
        let (id, came) = domain.waiting.pop()?;
        domain.on_drive += 1;
        self.batched += 1;
        if self.sent.len() <= id.index() {
            self.sent.resize(id.index() + 1, Sent::default());
        }
        self.sent[id.index()] = Sent { came, started: now };
        Some(id)
    }
}

/// Whether enough times are known, or a second is over since the first.
fn enough(now: Instant, times: &Times, enough_at: &mut Option<Instant>) -> bool {
    let all = times.all();
    if all == 0 {
        return false;
    }
    let due = *enough_at.get_or_insert(now + SECOND);
    let enough = all >= SAMPLES || now >= due;
    if enough {
        *enough_at = None;
    }
    enough
}

impl Scheduler for Kyber {
    fn insert(&mut self, now: Instant, io: &Io, _streams: &Streams) {
        self.catch_up(now);
        self.domains[direction(io.op)].waiting.push(io.id, now);
    }

    fn admits(&self, io: &Io, queued: &Queued) -> bool {
        let limit = match io.sync {
            true => self.nr_requests,
            false => (self.nr_requests * 3 / 4).max(1),
        };
        self.nr_requests == 0 || u64::from(queued.all()) < limit
    }

    fn grown(&mut self, _now: Instant, _before: &Io, _after: &Io, _streams: &Streams) {
        // It keeps its turn.
    }

    fn withdraw(&mut self, _now: Instant, io: &Io) {
        self.domains[direction(io.op)].waiting.leave(io.id);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        let now = view.now;
        self.catch_up(now);
        let rests = view.in_flight == 0;
        if self.batched < BATCH[self.current]
            && let Some(id) = self.serve(now, rests)
        {
            return Next::Start(id);
        }
        self.batched = 0;
        for _ in 0..self.domains.len() {
            self.current = 1 - self.current;
            if let Some(id) = self.serve(now, rests) {
                return Next::Start(id);
            }
        }
        Next::Empty
    }

    fn done(&mut self, now: Instant, io: &Io, _done: &DriveDone, _streams: &Streams) {
        self.catch_up(now);
        let Sent { came, started } = self.sent[io.id.index()];
        let domain = &mut self.domains[direction(io.op)];
        domain.on_drive -= 1;
        domain.device.add(now.since(started), domain.target);
        domain.total.add(now.since(came), domain.target);
        let due = now + LOOKS_AFTER;
        self.looks_at = Some(self.looks_at.map_or(due, |before| before.min(due)));
    }

    fn len(&self) -> usize {
        self.domains.iter().map(|domain| domain.waiting.len()).sum()
    }

    fn tell(&self, tell: Tell<'_>) {
        tell(&MEASURES[0], self.resized);
    }

    fn audit(&self) {
        for (domain, most) in self.domains.iter().zip(TOKENS) {
            domain.waiting.audit();
            assert!(
                (1..=most).contains(&domain.tokens),
                "{} tokens",
                domain.tokens
            );
        }
    }
}

const MEASURES: &[Measure] = &[Measure::count(
    "resized",
    "times",
    "times that a direction got more or fewer requests on the drive",
)];

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "kyber",
    aliases: &[],
    summary: "reads and writes apart, as many of each on the drive as lets the others be answered in time",
    source: "Linux 6.12, block/kyber-iosched.c",
    knobs: &[
        Knob::number(
            "read_lat_us",
            2_000.0,
            1.0..=3.6e9,
            "microseconds in which reads should be answered",
        ),
        Knob::number("write_lat_us", 10_000.0, 1.0..=3.6e9, "the same of writes"),
        Knob::integer(
            "nr_requests",
            0,
            0..=1_000_000,
            "requests that may be in the queue or on the drive, others wait before it; writes that nobody waits for may be there while three \
             quarters of them are taken; Linux has twice the drive's depth, at most 256; 0 is no limit",
        ),
    ],
    measures: MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build: |knobs, _| Ok(Box::new(Kyber::new(knobs))),
};

#[cfg(test)]
mod tests {
    use super::*;

    fn times(counts: &[(u64, u32)]) -> Times {
        let mut times = Times::default();
        for (ms, count) in counts {
            (0..*count).for_each(|_| times.add(Duration::from_ms(*ms), Duration::from_ms(8)));
        }
        times
    }

    #[test]
    fn times_go_into_classes_of_a_quarter_of_the_target() {
        let all = times(&[
            (1, 1),
            (2, 1),
            (3, 1),
            (8, 1),
            (9, 1),
            (16, 1),
            (17, 1),
            (900, 1),
        ]);
        assert_eq!(all.0, [2, 1, 0, 1, 1, 0, 0, 3]);
    }

    #[test]
    fn a_percentile_is_the_class_of_it_and_forgets_what_it_was_made_of() {
        let mut all = times(&[(1, 90), (9, 9), (900, 1)]);
        assert_eq!(all.percentile(90), 0);
        assert_eq!(all.all(), 0);
        assert_eq!(times(&[(1, 90), (9, 9), (900, 1)]).percentile(91), 4);
        assert_eq!(times(&[(1, 90), (9, 9), (900, 1)]).percentile(99), 4);
        assert_eq!(times(&[(1, 89), (9, 9), (900, 2)]).percentile(99), 7);
    }

    fn kyber() -> Kyber {
        Kyber::new(&Knobs::check("kyber", SPEC.knobs, &[]).unwrap())
    }

    /// Answers of reads and of writes, each after so many microseconds on the drive and in all.
    fn look(kyber: &mut Kyber, now: u64, reads: (u64, u64), writes: (u64, u64), count: u32) {
        for (domain, (device, total)) in kyber.domains.iter_mut().zip([reads, writes]) {
            for _ in 0..count {
                domain.device.add(Duration::from_us(device), domain.target);
                domain.total.add(Duration::from_us(total), domain.target);
            }
        }
        kyber.look(Instant(now * 1_000_000));
    }

    #[test]
    fn a_crowded_drive_takes_tokens_from_who_is_answered_in_time_and_gives_them_to_who_is_not() {
        let mut one = kyber();
        // Reads take 2.1 ms of 2: crowded. Writes are answered within half of their 10 ms.
        look(&mut one, 0, (2_100, 2_100), (5_000, 5_000), 500);
        assert_eq!([one.domains[0].tokens, one.domains[1].tokens], [256, 64]);
        // Nothing is crowded: nothing changes, but is remembered.
        look(&mut one, 0, (100, 100), (2_000, 2_000), 500);
        assert_eq!(one.domains[1].tokens, 64);
        // Few times say nothing, until a second is over.
        look(&mut one, 100, (2_100, 1), (1, 1), 499);
        look(&mut one, 1_099, (2_100, 1), (1, 1), 0);
        assert_eq!(one.domains[1].tokens, 64);
        look(&mut one, 1_100, (2_100, 1), (1, 1), 0);
        assert_eq!([one.domains[0].tokens, one.domains[1].tokens], [64, 16]);
        // Who is late gets more.
        look(&mut one, 2_000, (1, 1), (1, 90_000), 500);
        assert_eq!([one.domains[0].tokens, one.domains[1].tokens], [64, 32]);
    }

    #[test]
    fn what_was_seen_before_the_drive_was_crowded_is_used_once() {
        let mut one = kyber();
        // Reads alone are known at first; then the drive is crowded by writes.
        one.domains[0].total = times(&[]);
        for _ in 0..500 {
            one.domains[0]
                .total
                .add(Duration::from_us(400), Duration::from_us(2_000));
        }
        one.look(Instant(0));
        assert_eq!(one.domains[0].remembered, Some(0));
        for _ in 0..2 {
            for _ in 0..500 {
                one.domains[1]
                    .device
                    .add(Duration::from_us(20_000), Duration::from_us(10_000));
            }
            one.look(Instant(0));
            assert_eq!(one.domains[0].tokens, 64, "once");
        }
    }
}
