//! GAP-SATF: SATF that counts the wait before a read the less, the harder the writes press that could fill it.
//!
//! The published schedulers either order reads well and leave gaps to chance (FreeBW-SATF), or leave wide gaps and order
//! reads badly (FreeBW-SCAN), or do not look at gaps at all (SATF-EW). Which of them is best depends on how hard writes
//! press. Let `n` I/Os wait, `w` of them open writes. Then their *pressure* is
//!
//! ```text
//! p = w^2 / n
//! ```
//!
//! Chance alone makes the writes among `n` vary by about the square root of `n`: fewer will find their gaps, more have come
//! to stay, and every one of them is a read less to choose from.
//!
//! The time to a read is a way of the arm and a wait for the platter. A wait that writes fill is not lost, and how much
//! that matters is their pressure. So the next read is the one with the least
//!
//! ```text
//! way + wait - p * fill, with p at most 1; fill: so much of the wait as all writes take that wait
//! ```
//!
//! Without pressure that is SATF. Under full pressure it is the shortest way, whose gaps are as wide as those of SCAN and
//! whose arm goes no farther. No slot is searched for the price, nor is it counted how many would fit: over many gaps the
//! mean time of a write tells as much as a search before every read, for a fraction of the time.
//!
//! Where gaps do not suffice, since reads are few or slots rare, a write goes by itself. But while they suffice, that would be
//! time lost, and the two differ by little: so only from a pressure of 2 on, beyond what chance brings. Then it may take as
//! long as writes take in the mean, and a quarter more, since the mean is one of slots near enough to be taken, and would
//! fall and fall. That is longer when even the best read is dearer than reads were of late, and shorter when it is cheaper, but
//! only by a fifth of the difference: most of what makes it dear is its distance, which is the same after the write. So
//! few reads among many writes wait until the arm comes by, as in SATF-EW. For how long writes by themselves may go on while
//! reads wait is a limit of its own, `write_run_ms`: then the best read goes. It binds only where reads are rarer than that.
//! The longer it is, the more requests are served, and the longer the few reads wait.
//!
//! Once an I/O has waited for half the age limit, it is the turn of all that wait then: they go before what comes
//! later, in the same order among themselves as ever, and what comes later only into their gaps. So no class starves the
//! other; and where many wait long, they are still served in good order: the oldest one by one would come in none,
//! and all would wait longer. Who comes during a turn waits for its end, and goes with the next one at the latest. So as
//! long as serving all that wait takes no longer than half the limit, and writes find free slots, nothing waits beyond the
//! limit; and if it takes longer, nothing waits longer than two such turns.
//!
//! That a write should be priced against the next read is left open in Zhang, Yu, Krishnamurthy and Wang, FAST 2002; the
//! gaps are those of Lumb and others, OSDI 2000. Cost: that of FreeBW-SATF, and a search for a slot that stops at what a
//! write may take.

use super::sweep::{self, Waiting};
use crate::contract::{Arm, Next, Scheduler, View};
use crate::io::Io;
use crate::op::Op;
use crate::position::{Candidate, Choice, FreePlace};
use crate::registry::{Knob, Knobs, Spec};
use crate::search;
use crate::sorted::{Keyed, Sorted};
use crate::units::{Duration, Instant};

/// A new value moves a mean by one part in so many.
const MEMORY: i64 = 64;

/// Of what makes a read dearer than others, one part in so many is gone after a write.
const PASSING: i64 = 5;

/// The pressure from which on a write goes by itself.
const RELIEF: i64 = 2;

/// What it may take then, of what writes take in the mean.
const BEARABLE: (i64, i64) = (5, 4);

/// Mean of what was of late, in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Mean(Option<i64>);

impl Mean {
    fn learn(&mut self, value: i64) {
        let mean = self.0.get_or_insert(value);
        *mean += (value - *mean) / MEMORY;
    }

    fn or(self, value: i64) -> i64 {
        self.0.unwrap_or(value)
    }
}

/// Behind all that wait, in order of arrival.
const EVERYONE: u64 = u64::MAX;

/// A read in order of arrival.
#[derive(Clone, Copy)]
struct Elder {
    sequence: u64,
    arrived: Instant,
}

impl Keyed for Elder {
    type Key = u64;

    #[inline]
    fn key(&self) -> u64 {
        self.sequence
    }
}

/// How hard the writes that wait press.
#[derive(Clone, Copy)]
struct Pressure {
    /// Square of their number.
    squared: i64,
    /// I/Os that wait.
    of: i64,
    /// What they would take, in nanoseconds.
    time: i64,
}

impl Pressure {
    /// The price of a read, which is never below its seek time. Without an arm there are no gaps, and the price is the
    /// positioning time.
    #[inline]
    fn price(&self, view: &View<'_>, arm: Option<&dyn Arm>, read: &Candidate) -> Duration {
        let time = view.oracle.positioning_time(view.now, read.op, &read.place);
        let Some(arm) = arm.filter(|_| self.squared > 0) else {
            return time;
        };
        let seek = arm.seek_time(view.now, read.op, read.place.arm_position());
        let fill = nanoseconds(time - seek).min(self.time);
        time - Duration((fill * self.squared.min(self.of) / self.of).cast_unsigned())
    }
}

#[inline]
fn nanoseconds(time: Duration) -> i64 {
    time.0.cast_signed()
}

struct GapSatf {
    /// Half the age limit.
    turn_after: Duration,
    /// How long writes by themselves may go on while reads wait.
    write_run: Duration,
    waiting: Waiting,
    by_age: Sorted<Elder>,
    /// Behind all that have come so far.
    next: u64,
    /// Whose turn it is: what came before this one.
    turn: u64,
    /// When writes began to go by themselves while reads wait.
    run_since: Option<Instant>,
    /// The read that goes next, fixed before writes are inserted.
    planned: Option<Candidate>,
    /// What a write takes from its start to its end.
    of_write: Mean,
    /// Price of the read that went.
    of_read: Mean,
}

impl GapSatf {
    fn new(knobs: &Knobs) -> GapSatf {
        GapSatf {
            turn_after: Duration(knobs.duration_ms("age_limit_ms").0 / 2),
            write_run: knobs.duration_ms("write_run_ms"),
            waiting: Waiting::default(),
            by_age: Sorted::default(),
            next: 0,
            turn: EVERYONE,
            run_since: None,
            planned: None,
            of_write: Mean::default(),
            of_read: Mean::default(),
        }
    }

    /// Makes it the turn of all that wait, once one has waited for half the limit, until all of them are gone.
    fn take_turns(&mut self, now: Instant) {
        let read = self.by_age.first();
        let read = read.map(|elder| (elder.sequence, elder.arrived));
        let write = self.waiting.open().front();
        let write = write.map(|open| (open.sequence, open.arrived));
        let Some((first, arrived)) = read.into_iter().chain(write).min() else {
            return;
        };
        if first >= self.turn {
            self.turn = EVERYONE;
        }
        if self.turn == EVERYONE && arrived + self.turn_after <= now {
            self.turn = self.next;
        }
    }

    /// Of those whose turn it is.
    fn pressure(&self) -> Pressure {
        let open = self.waiting.open();
        let writes = open.partition_point(|open| open.sequence < self.turn);
        let reads = self.by_age.below(&self.turn);
        let (writes, reads) = (writes as i64, reads as i64);
        Pressure {
            squared: writes * writes,
            of: writes + reads,
            time: self.of_write.or(0) * writes,
        }
    }

    /// The best read of those whose turn it is.
    fn best(&self, view: &View<'_>, pressure: &Pressure) -> Option<Choice> {
        let arm = view.oracle.arm();
        let from = arm.map_or(0, |arm| arm.position().cylinder);
        let seek = |distance| arm.map_or(Duration::ZERO, |arm| arm.seek_at_least(distance));
        let price = |read: &Candidate| match read.sequence < self.turn {
            true => pressure.price(view, arm, read),
            false => Duration::MAX,
        };
        let best = search::least(&self.waiting.fixed, from, seek, price)?;
        (best.time < Duration::MAX).then_some(best)
    }

    /// What goes next of those whose turn it is, or before it.
    fn choose(&mut self, view: &View<'_>) -> Option<Next> {
        let pressure = self.pressure();
        let Some(best) = self.best(view, &pressure) else {
            let free_place = self.waiting.free_place(view, Instant::NEVER)?;
            return Some(self.place(free_place, Self::takes(view, free_place)));
        };
        let price = nanoseconds(best.time);
        let relief = self.relieve(view, &pressure, price);
        relief.or_else(|| {
            self.of_read.learn(price);
            self.run_since = None;
            let read = self.waiting.fixed.remove(best.cursor);
            Some(self.go_on(view, read))
        })
    }

    /// A write by itself, if they press, have not gone on for too long, and it does not take too long.
    fn relieve(&mut self, view: &View<'_>, pressure: &Pressure, price: i64) -> Option<Next> {
        let too_long = |since| since + self.write_run <= view.now;
        if pressure.squared < RELIEF * pressure.of || self.run_since.is_some_and(too_long) {
            return None;
        }
        let excess = price - self.of_read.or(price);
        let usual = self.of_write.or(price) + excess / PASSING;
        let most = usual * BEARABLE.0 / BEARABLE.1;
        let before = view.now + Duration(u64::try_from(most).ok()?);
        let free_place = self.waiting.free_place(view, before)?;
        let takes = Self::takes(view, free_place);
        if takes >= most {
            return None;
        }
        self.run_since.get_or_insert(view.now);
        Some(self.place(free_place, takes))
    }

    /// What a write there takes.
    fn takes(view: &View<'_>, free_place: FreePlace) -> i64 {
        let free = view.free.expect("the slot was found there");
        let len = free.tracks().slot_blocks();
        nanoseconds(
            view.oracle
                .service_time(view.now, Op::Write, free_place.at, len),
        )
    }

    /// The planned read, or a write before it.
    fn go_on(&mut self, view: &View<'_>, read: Candidate) -> Next {
        if self.waiting.has_open()
            && let Some(free_place) = sweep::in_gap(view, &read)
        {
            self.planned = Some(read);
            return self.place(free_place, Self::takes(view, free_place));
        }
        self.by_age.take(&read.sequence);
        Next::Start(read.id)
    }

    fn place(&mut self, free_place: FreePlace, takes: i64) -> Next {
        self.of_write.learn(takes);
        let (id, slot) = self.waiting.put(free_place).expect("a write waits");
        Next::Place(id, slot)
    }
}

impl Scheduler for GapSatf {
    fn insert(&mut self, _now: Instant, io: &Io) {
        self.waiting.insert(io);
        self.next = self.next.max(io.sequence + 1);
        if !io.open {
            self.by_age.insert(Elder {
                sequence: io.sequence,
                arrived: io.arrived,
            });
        }
    }

    fn withdraw(&mut self, io: &Io) {
        let planned = self.planned.take_if(|read| read.id == io.id);
        if planned.is_none() {
            self.waiting.withdraw(io);
        }
        self.by_age.take(&io.sequence);
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        if let Some(read) = self.planned.take() {
            return self.go_on(view, read);
        }
        self.take_turns(view.now);
        let next = self.choose(view);
        if next.is_some() || self.turn == EVERYONE {
            return next.unwrap_or(Next::Empty);
        }
        // It is the turn of writes, and nothing is free for them.
        self.turn = EVERYONE;
        self.choose(view).unwrap_or(Next::Empty)
    }

    fn len(&self) -> usize {
        self.waiting.len() + usize::from(self.planned.is_some())
    }

    fn audit(&self) {
        self.waiting.audit();
        let planned = usize::from(self.planned.is_some());
        assert_eq!(self.by_age.len(), self.waiting.fixed.len() + planned);
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "gap_satf",
    aliases: &[],
    summary: "SATF that counts the wait before a read the less, the harder eager writes press that could fill it",
    source: "ours, after Zhang, Yu, Krishnamurthy and Wang, FAST 2002, and Lumb and others, OSDI 2000",
    knobs: &[
        Knob::integer(
            "age_limit_ms",
            5_000,
            1..=3_600_000,
            "milliseconds that no I/O waits beyond if serving all that wait takes less than half of it: after that half \
             they go before what comes later",
        ),
        Knob::integer(
            "write_run_ms",
            10,
            0..=3_600_000,
            "milliseconds for which writes by themselves may go on while reads wait: more serves more requests, less lets \
             the few reads among many writes wait less",
        ),
    ],
    build: |knobs, _| Ok(Box::new(GapSatf::new(knobs))),
};
