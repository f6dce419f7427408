//! GAP-SATF: SATF that counts the rotational latency before a read the less, the more writes wait
//! that could fill it.
//!
//! The published schedulers order reads well and leave gaps to chance (FreeBW-SATF), or leave wide
//! gaps and order reads badly (FreeBW-SCAN), or do not look at gaps at all (SATF-EW). Which of them
//! is best depends on how many writes wait. Let `n` I/Os wait, `w` of them open writes. Then the
//! *pressure* of the writes is
//!
//! ```text
//! p = w^2 / n
//! ```
//!
//! By chance alone the number of writes in a queue of `n` varies by about the square root of `n`. A
//! smaller surplus will fit into gaps. A larger one is a backlog, and each write of it takes the
//! place of a read in the queue: the scheduler has fewer reads to choose from.
//!
//! The positioning time of a read is seek time and rotational latency. Latency that writes fill is
//! not lost, and the higher the pressure, the more that is worth. So the next read is the one with
//! the least
//!
//! ```text
//! seek + latency - p * fill, with p at most 1; fill: the latency, but no more than all waiting writes would take
//! ```
//!
//! Without pressure that is SATF. Under full pressure it is the shortest seek: the gaps are as wide
//! as those of SCAN, and the arm goes no farther. The price searches for no slot and does not count
//! how many writes would fit into a gap. Over many gaps the mean time of a write tells as much as a
//! search before every read, for a fraction of the computation.
//!
//! If gaps do not suffice, because reads or slots are rare, a write goes by itself. While gaps
//! suffice this would waste time. Chance makes the two cases look alike up to a pressure of 1, so
//! writes go by themselves from a pressure of 2 on. Such a write may take as long as the mean write
//! and a quarter more. Without the quarter the mean would fall for ever, because only writes that
//! take less than the mean would go. This budget grows when the best read costs more than recent
//! reads did, and shrinks when it costs less, in both cases by one fifth of the difference. Most of
//! a read's cost is distance, and distance remains after the write. So if few reads wait among many
//! writes, they wait until the arm comes by, as in SATF-EW. `write_run_ms` limits for how long
//! writes go by themselves while reads wait; then the best read goes. A longer limit serves more
//! requests and lets the few reads wait longer. If reads are not that rare, the limit has no
//! effect.
//!
//! Once an I/O has waited for half the age limit, a *turn* begins for all I/Os that wait at that
//! instant. They go before I/Os that come later, in the usual order among themselves; later I/Os go
//! only into their gaps. So neither reads nor writes starve the others. If many I/Os wait long,
//! they are still served in a good order. Serving the oldest one by one would be a bad order, and
//! all would wait longer. An I/O that comes during a turn waits for the end of that turn and
//! belongs to the next turn at the latest. So if a turn takes no longer than half the limit, and
//! writes find free slots, no I/O waits beyond the limit. If turns take longer, no I/O waits longer
//! than two of them.
//!
//! Zhang, Yu, Krishnamurthy and Wang, FAST 2002, leave open how to price a write against the next
//! read; the gaps are those of Lumb and others, OSDI 2000. Cost: that of FreeBW-SATF, and a search
//! for a slot that stops at what a write may take.

use super::sweep::{self, Waiting};
use crate::contract::{Arm, Next, OPEN, Scheduler, View};
use crate::io::Io;
use crate::op::Op;
use crate::position::{Candidate, Choice, FreePlace};
use crate::registry::{Knob, Knobs, Spec};
use crate::search;
use crate::sorted::{Keyed, Sorted};
use crate::stream::Streams;
use crate::units::{Duration, Instant};

/// A new value moves a mean by one part in this many of the difference.
const MEMORY: i64 = 64;

/// If a read costs more than others, one part in this many of the difference is gone after a write;
/// the rest is distance.
const PASSING: i64 = 5;

/// From this pressure on a write goes by itself.
const RELIEF: i64 = 2;

/// The most time that it may take then, as a fraction of the mean time of a write.
const BEARABLE: (i64, i64) = (5, 4);

/// Mean of recent values, in nanoseconds.
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

/// A turn of all I/Os: no sequence number reaches it.
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

/// The pressure of the writes that wait, and what they would take.
#[derive(Clone, Copy)]
struct Pressure {
    /// Square of the number of writes.
    squared: i64,
    /// I/Os that wait.
    of: i64,
    /// What the writes would take, in nanoseconds.
    time: i64,
}

impl Pressure {
    /// The price of a read, which is never below its seek time. Without an arm there are no gaps,
    /// and the price is the positioning time.
    #[inline]
    fn price(&self, view: &View<'_>, arm: Option<&dyn Arm>, read: &Candidate) -> Duration {
        let time = view
            .oracle
            .positioning_time(view.now, read.op, &read.place, read.len());
        let Some(arm) = arm.filter(|_| self.squared > 0) else {
            return time;
        };
        let seek = arm.seek_time(view.now, read.op, read.place.arm_position(), read.len());
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
    /// One above the highest sequence number so far.
    next: u64,
    /// It is the turn of the I/Os with a lower sequence number than this.
    turn: u64,
    /// When writes began to go by themselves while reads wait.
    run_since: Option<Instant>,
    /// The read that goes next, fixed before writes are inserted.
    planned: Option<Candidate>,
    /// Service time of writes.
    of_write: Mean,
    /// Price of the reads that went.
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

    /// Begins a turn of all I/Os that wait, once one has waited for half the limit. Ends the turn
    /// when all of them are gone.
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

    /// The pressure among the I/Os whose turn it is.
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

    /// The best read among the I/Os whose turn it is.
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

    /// What goes next: an I/O whose turn it is, or a write into the gap before it.
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

    /// A write by itself, if the pressure is high enough, writes have not gone by themselves for
    /// too long, and it does not take too long.
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

    /// Service time of a write there, in nanoseconds.
    fn takes(view: &View<'_>, free_place: FreePlace) -> i64 {
        let free = view.free.expect("the slot was found there");
        let len = free.tracks().slot_blocks();
        nanoseconds(
            view.oracle
                .service_time(view.now, Op::Write, free_place.at, len),
        )
    }

    /// The planned read, or a write into the gap before it.
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
    fn insert(&mut self, _now: Instant, io: &Io, _streams: &Streams) {
        self.waiting.insert(io);
        self.next = self.next.max(io.sequence + 1);
        if !io.open {
            self.by_age.insert(Elder {
                sequence: io.sequence,
                arrived: io.arrived,
            });
        }
    }

    fn withdraw(&mut self, _now: Instant, io: &Io) {
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
    measures: &[],
    asks: &["oracle", OPEN],
    prepared: false,
    promises: "",
    build: |knobs, _| Ok(Box::new(GapSatf::new(knobs))),
};

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;
    use super::super::desk::Did::{Read, Write};

    #[test]
    fn without_writes_it_is_satf() {
        let desk = Desk::new("gap_satf").reads(&[5, 13]);
        assert_eq!(desk.run_all(), [Read(13, 4), Read(5, 6)]);
    }

    #[test]
    fn a_write_goes_to_the_gap_before_a_read() {
        // Block 3 has passed at 4 ms, and the arm is on cylinder 2 at 5.5 ms, before block 27 at 7
        // ms.
        let desk = Desk::new("gap_satf").free(&[3]);
        let desk = desk.reads(&[27]).open_writes(1);
        assert_eq!(desk.run_all(), [Write(3, 4), Read(27, 8)]);
    }

    #[test]
    fn under_pressure_a_write_goes_by_itself() {
        // Block 7 begins at 7 ms as the read does, so that it lies in no gap. One write of two I/Os
        // has a pressure of a half, four of five have one of 3.2; and no more than a quarter above
        // the read's 7 ms is spent on a write.
        let first = |writes, free| {
            let desk = Desk::new("gap_satf").free(&[free]);
            desk.reads(&[27]).open_writes(writes).step()
        };
        assert_eq!(first(1, 7), Some(Read(27, 8)));
        assert_eq!(first(4, 7), Some(Write(7, 8)));
        assert_eq!(first(4, 8), Some(Read(27, 8)));
    }

    #[test]
    fn without_an_arm_there_are_no_gaps() {
        let desk = Desk::without_arm("gap_satf").free(&[20]);
        let desk = desk.reads(&[50, 3]).open_writes(1);
        assert_eq!(desk.run_all(), [Read(50, 1), Read(3, 2), Write(20, 3)]);
    }
}
