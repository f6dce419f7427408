//! Hits first: what the drive's buffer serves goes before all others: a read that it has, or is
//! about to have, and a write that continues one which it has not written yet.
//!
//! Positioning times are about the arm, and a read that the buffer answers needs none. Who goes by
//! them alone takes the next read of a stream for one that has just gone by, a turn away, while the
//! drive reads on by itself and would have it at once. So it takes another one first, and the
//! stream loses turns ([`super::satf`] reads in a row half as fast as arrival order on a drive that
//! reads ahead). A write in a row is taken for one that begins anew, and its stream falls apart
//! into pieces. Here both are served first, in order of blocks, of several streams the oldest, and
//! for all else `base` decides. Over `satf` this is the SPCTF of Worthington, Ganger and Patt, over
//! `aged_satf` their ASPCTF.
//!
//! A stream that goes on always has its next block there, so others would wait as long as it goes
//! on. After `in_row` hits in a row with others waiting, `base` decides once. With `aged_satf` that
//! bounds every wait; with `satf` no more than `satf` does.
//!
//! A drive without a buffer has nothing, and what is in a drive that holds several commands, or
//! under an oracle that guesses by distance, its host does not know: then it is its base.
//!
//! Source: Worthington, Ganger and Patt, "Scheduling algorithms for modern disk drives", SIGMETRICS
//! 1994, section 5; the limit is ours. Cost: that of `base`, and O(log n) for each segment of the
//! buffer.

use crate::contract::{Next, Scheduler, View};
use crate::ids::IoId;
use crate::io::{DriveDone, Io};
use crate::measure::{Measure, Tell};
use crate::op::Op;
use crate::position::Served;
use crate::registry::{ConfigError, DriveEnv, Knob, Knobs, Spec, find};
use crate::sorted::{Keyed, Sorted};
use crate::stream::Streams;
use crate::units::{Blocks, Instant, Pba};

use super::expand::BASES;

static MEASURES: [Measure; 1] = [Measure::count(
    "hits",
    "reads and writes",
    "reads that went first, since the drive had their first block or was about to read it, and writes, since they continued one in its buffer",
)];

/// A read or write that waits, by the block that it begins with.
#[derive(Clone, Copy, Debug)]
struct Waits {
    at: Pba,
    len: Blocks,
    sequence: u64,
    id: IoId,
}

impl Keyed for Waits {
    type Key = (Pba, u64);

    #[inline]
    fn key(&self) -> (Pba, u64) {
        (self.at, self.sequence)
    }
}

/// What waits of one kind, and what of it the buffer would serve.
#[derive(Default)]
struct Lane {
    waits: Sorted<Waits>,
    /// Filled for a decision.
    served: Vec<Served>,
}

impl Lane {
    /// Asks the drive.
    fn ask(&mut self, op: Op, view: &View<'_>) {
        let served = &mut self.served;
        served.clear();
        if !self.waits.is_empty() {
            view.oracle
                .buffered(view.now, op, &mut |what| served.push(what));
        }
    }

    /// The first of those that are served so.
    fn first_of(&self, served: &Served) -> Option<Waits> {
        let mut cursor = self.waits.seek(&(served.begins.start, 0));
        while let Some(waits) = self.waits.at(cursor) {
            if waits.at >= served.begins.end {
                break;
            }
            if served.has(waits.at, waits.len) {
                return Some(*waits);
            }
            cursor = self.waits.after(cursor);
        }
        None
    }

    /// What goes next of those that the buffer would serve: the first of each run, of these the
    /// oldest.
    fn hit(&self) -> Option<Waits> {
        let firsts = self
            .served
            .iter()
            .filter_map(|served| self.first_of(served));
        firsts.min_by_key(|first| first.sequence)
    }

    /// Whether something waits that the buffer does not serve.
    fn others_wait(&self) -> bool {
        let is_served = |waits: &Waits| {
            let mut served = self.served.iter();
            served.any(|served| served.has(waits.at, waits.len))
        };
        self.waits.iter().any(|waits| !is_served(waits))
    }
}

struct HitsFirst {
    /// Has everything that waits.
    base: Box<dyn Scheduler>,
    reads: Lane,
    writes: Lane,
    /// What is in a lane, by name, as the base has it.
    ios: Vec<Option<Io>>,
    /// How many may go in a row while others wait; 0 for no limit.
    in_row: u64,
    row: u64,
    hits: u64,
}

impl HitsFirst {
    fn boxed(knobs: &Knobs, env: &DriveEnv<'_>) -> Result<Box<dyn Scheduler>, ConfigError> {
        let base = find::<dyn Scheduler>(knobs.choice("base"))?;
        Ok(Box::new(HitsFirst {
            base: (base.build)(&base.card().check(&[])?, env)?,
            reads: Lane::default(),
            writes: Lane::default(),
            ios: Vec::new(),
            in_row: knobs.integer("in_row"),
            row: 0,
            hits: 0,
        }))
    }

    /// Which lane an I/O is in; none if it moves no data, or has no place yet.
    fn lane(&mut self, io: &Io) -> Option<&mut Lane> {
        match io.op {
            Op::Read => Some(&mut self.reads),
            Op::Write if !io.open && io.offer.is_none() => Some(&mut self.writes),
            _ => None,
        }
    }

    /// What goes next of those that the buffer would serve.
    fn hit(&mut self, view: &View<'_>) -> Option<Waits> {
        self.reads.ask(Op::Read, view);
        self.writes.ask(Op::Write, view);
        let lanes = [self.reads.hit(), self.writes.hit()];
        let hits = lanes.into_iter().flatten();
        hits.min_by_key(|hit| hit.sequence)
    }

    fn others_wait(&self) -> bool {
        let lanes = self.reads.waits.len() + self.writes.waits.len();
        self.base.len() > lanes || self.reads.others_wait() || self.writes.others_wait()
    }

    /// An I/O does not wait any more.
    fn forget(&mut self, id: IoId) -> Option<Io> {
        let io = self.ios.get_mut(id.index())?.take()?;
        let lane = self.lane(&io).expect("it is in a lane");
        let taken = lane.waits.take(&(io.at, io.sequence));
        assert!(taken.is_some(), "{id:?} does not wait by its block");
        Some(io)
    }
}

impl Scheduler for HitsFirst {
    fn insert(&mut self, now: Instant, io: &Io, streams: &Streams) {
        self.base.insert(now, io, streams);
        let Some(lane) = self.lane(io) else {
            return;
        };
        lane.waits.insert(Waits {
            at: io.at,
            len: io.len,
            sequence: io.sequence,
            id: io.id,
        });
        let index = io.id.index();
        if self.ios.len() <= index {
            self.ios.resize(index + 1, None);
        }
        self.ios[index] = Some(*io);
    }

    fn withdraw(&mut self, now: Instant, io: &Io) {
        self.base.withdraw(now, io);
        if self.lane(io).is_some() {
            self.forget(io.id).expect("what is withdrawn waits");
        }
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        if let Some(hit) = self.hit(view) {
            let is_turn_of_base = self.in_row > 0 && self.row >= self.in_row && self.others_wait();
            if !is_turn_of_base {
                let io = self.forget(hit.id).expect("it waits");
                self.base.withdraw(view.now, &io);
                self.row = if self.row < self.in_row {
                    self.row + 1
                } else {
                    1
                };
                self.hits += 1;
                return Next::Start(hit.id);
            }
        }
        let next = self.base.next(view);
        if let Next::Start(id) | Next::Place(id, _) | Next::Land(id, _) = next {
            self.row = 0;
            self.forget(id);
        }
        next
    }

    fn done(&mut self, now: Instant, io: &Io, done: &DriveDone, streams: &Streams) {
        self.base.done(now, io, done, streams);
    }

    fn places_max(&self) -> u64 {
        self.base.places_max()
    }

    fn len(&self) -> usize {
        self.base.len()
    }

    fn tell(&self, tell: Tell<'_>) {
        tell(&MEASURES[0], self.hits);
    }

    fn audit(&self) {
        self.base.audit();
        let lanes = [&self.reads.waits, &self.writes.waits];
        lanes.iter().for_each(|lane| lane.audit());
        let waits = lanes.map(Sorted::len).iter().sum::<usize>();
        assert_eq!(waits, self.ios.iter().flatten().count());
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "hits_first",
    aliases: &["spctf"],
    summary: "reads that the drive has in its buffer, or is about to read, and writes that continue one there go before all others; another scheduler decides on these",
    source: "Worthington, Ganger and Patt, Scheduling algorithms for modern disk drives, SIGMETRICS 1994",
    knobs: &[
        Knob::choice(
            "base",
            "satf",
            BASES,
            "which scheduler decides on what the drive does not have",
        ),
        Knob::integer(
            "in_row",
            64,
            0..=1_000_000,
            "so many of these go in a row while others wait, then one is chosen by base; 0 for no limit",
        ),
    ],
    measures: &MEASURES,
    asks: &["oracle"],
    prepared: false,
    promises: "",
    build: HitsFirst::boxed,
};

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;
    use super::super::desk::Did::Read;

    /// A disk that reads on as far as it may, with a turn of 10 ms and ten blocks a track.
    const READS_ON: &str = "
        kind = 'hdd'
        rpm = 6000
        heads = 1
        head_switch_ms = 0.5
        write_settle_ms = 0.25
        cylinders = 30
        seek_ms = [[1, 0.5], [29, 8.5]]
        [buffer]
        segments = 2
        segment_blocks = 40
        read_ahead = 'blocks'
        read_ahead_max_blocks = 30
        read_hits_on_next_block = true
        write_segments_max = 1
        write_behind = 'none'
        [overheads]
        read_hit_after_read_ms = 0.1
        read_miss_after_read_ms = 0.2
        [[zones]]
        cylinders = [0, 29]
        sectors_per_track = 10";

    #[test]
    fn the_next_block_of_a_stream_is_read_before_it_has_gone_by() {
        // When block 2 has been read, block 3 is under the heads and a command later gone by: a
        // turn, for all but the drive itself.
        let stream = |scheduler| Desk::over(READS_ON, scheduler).reads(&[2, 3, 4, 5, 6]);
        let order = |scheduler| stream(scheduler).order();
        assert_eq!(order("satf"), [2, 5, 3, 6, 4], "two turns are lost");
        assert_eq!(order("hits_first"), [2, 3, 4, 5, 6]);
    }

    #[test]
    fn what_the_drive_has_goes_before_what_is_near() {
        let mut desk = Desk::over(READS_ON, "hits_first:in_row=0").reads(&[2]);
        desk.step();
        // It has read on to block 7 by 8 ms. Block 15 is at hand, and older.
        let desk = desk.wait_ms(5).reads(&[15, 4, 3]);
        assert_eq!(desk.order(), [3, 4, 15]);
    }

    #[test]
    fn others_have_a_turn_after_so_many_in_a_row() {
        let of = |in_row: &str| {
            let scheduler = format!("hits_first:in_row={in_row}");
            Desk::over(READS_ON, &scheduler)
                .reads(&[2, 3, 4, 5, 6, 7, 65])
                .order()
        };
        assert_eq!(of("0"), [2, 3, 4, 5, 6, 7, 65]);
        // Behind blocks 3 and 4 the base decides, and block 7 passes before 65 does.
        assert_eq!(of("2"), [2, 3, 4, 7, 5, 6, 65]);
        assert_eq!(of("4"), [2, 3, 4, 5, 6, 65, 7]);
    }

    #[test]
    fn without_a_buffer_the_base_decides() {
        for base in ["satf", "aged_satf", "look"] {
            let under = Desk::new(&format!("hits_first:base={base}"));
            let blocks = [50, 3, 70, 4, 22, 91];
            let alone = Desk::new(base).reads(&blocks).order();
            assert_eq!(under.reads(&blocks).order(), alone);
        }
        let desk = Desk::new("hits_first").reads(&[50, 20, 80]).withdraw(1);
        assert_eq!(desk.order(), [50, 80]);
        let desk = Desk::new("hits_first")
            .free(&[14])
            .reads(&[6])
            .open_writes(1);
        assert_eq!(desk.run_all().last(), Some(&Read(6, 7)));
    }
}
