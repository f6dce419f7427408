//! Hits first: a read that the drive has in its buffer, or is about to have, goes before all others.
//!
//! Positioning times are about the arm, and a read that the buffer answers needs none. Who goes by them alone takes the next read of a stream for
//! one that has just gone by, a turn away, while the drive reads on by itself and would have it at once. So it takes another one first, and the
//! stream loses turns ([`super::satf`] reads in a row half as fast as arrival order on a drive that reads ahead). Here such reads are served
//! first, in order of blocks, of several streams the oldest, and for all else `base` decides. Over `satf` this is the SPCTF of Worthington, Ganger and Patt, over `aged_satf` their
//! ASPCTF.
//!
//! A stream that reads on always has its next block there, so others would wait as long as it goes on. After `in_row` hits in a row with others
//! waiting, `base` decides once. With `aged_satf` that bounds every wait; with `satf` no more than `satf` does.
//!
//! A drive without a buffer has nothing, and what is in a drive that holds several commands, or under an oracle that guesses by distance, its host does not
//! know: then it is its base.
//!
//! Source: Worthington, Ganger and Patt, "Scheduling algorithms for modern disk drives", SIGMETRICS 1994, section 5; the limit is ours. Cost: that of
//! `base`, and O(log n) for each segment of the buffer.

use std::ops::Range;

use crate::contract::{Next, Scheduler, View};
use crate::ids::IoId;
use crate::io::{DriveDone, Io};
use crate::measure::{Measure, Tell};
use crate::op::Op;
use crate::registry::{ConfigError, DriveEnv, Knob, Knobs, Spec, find};
use crate::sorted::{Keyed, Sorted};
use crate::stream::Streams;
use crate::units::{Instant, Pba};

use super::expand::BASES;

static MEASURES: [Measure; 1] = [Measure::count(
    "hits",
    "reads",
    "reads that went first, since the drive had their first block or was about to read it",
)];

/// A read that waits, by the block that it begins with.
#[derive(Clone, Copy, Debug)]
struct Read {
    at: Pba,
    sequence: u64,
    id: IoId,
}

impl Keyed for Read {
    type Key = (Pba, u64);

    #[inline]
    fn key(&self) -> (Pba, u64) {
        (self.at, self.sequence)
    }
}

struct HitsFirst {
    /// Has everything that waits.
    base: Box<dyn Scheduler>,
    reads: Sorted<Read>,
    /// The same reads by name, as the base has them.
    ios: Vec<Option<Io>>,
    /// What the drive has, in order, where no two overlap. Filled for a decision.
    there: Vec<Range<Pba>>,
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
            reads: Sorted::default(),
            ios: Vec::new(),
            there: Vec::new(),
            in_row: knobs.integer("in_row"),
            row: 0,
            hits: 0,
        }))
    }

    /// Asks what the drive has.
    fn ask(&mut self, view: &View<'_>) {
        let there = &mut self.there;
        there.clear();
        if self.reads.is_empty() {
            return;
        }
        view.oracle.buffered(view.now, &mut |run| {
            if !run.is_empty() {
                there.push(run);
            }
        });
        join(there);
    }

    /// The first read in a run of blocks.
    fn first_in(&self, run: &Range<Pba>) -> Option<Read> {
        let cursor = self.reads.seek(&(run.start, 0));
        let read = self.reads.at(cursor).copied();
        read.filter(|read| read.at < run.end)
    }

    /// The read that goes next of those that the drive has: the first of each run, of these the oldest.
    fn hit(&self) -> Option<Read> {
        let firsts = self.there.iter().filter_map(|run| self.first_in(run));
        firsts.min_by_key(|read| read.sequence)
    }

    /// Whether something waits that the drive does not have.
    fn others_wait(&self) -> bool {
        let ends = self.there.iter().map(|run| run.end);
        let begins = std::iter::once(Pba(0)).chain(ends);
        let mut starts = self
            .there
            .iter()
            .map(|run| run.start)
            .chain([Pba(u64::MAX)]);
        let mut between = begins.filter_map(|begin| Some(begin..starts.next()?));
        self.base.len() > self.reads.len() || between.any(|run| self.first_in(&run).is_some())
    }

    /// A read does not wait any more.
    fn forget(&mut self, id: IoId) -> Option<Io> {
        let io = self.ios.get_mut(id.index())?.take()?;
        let taken = self.reads.take(&(io.at, io.sequence));
        assert!(taken.is_some(), "{id:?} does not wait by its block");
        Some(io)
    }
}

/// Makes one run of those that overlap: two segments may have the same blocks, and a read of these waits once.
fn join(runs: &mut Vec<Range<Pba>>) {
    runs.sort_unstable_by_key(|run| run.start);
    runs.dedup_by(|next, before| {
        let joins = next.start <= before.end;
        if joins {
            before.end = before.end.max(next.end);
        }
        joins
    });
}

impl Scheduler for HitsFirst {
    fn insert(&mut self, now: Instant, io: &Io, streams: &Streams) {
        self.base.insert(now, io, streams);
        if io.op != Op::Read {
            return;
        }
        let index = io.id.index();
        if self.ios.len() <= index {
            self.ios.resize(index + 1, None);
        }
        self.ios[index] = Some(*io);
        self.reads.insert(Read {
            at: io.at,
            sequence: io.sequence,
            id: io.id,
        });
    }

    fn withdraw(&mut self, now: Instant, io: &Io) {
        self.base.withdraw(now, io);
        if io.op == Op::Read {
            self.forget(io.id).expect("what is withdrawn waits");
        }
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        self.ask(view);
        if let Some(read) = self.hit() {
            let others = self.in_row > 0 && self.others_wait();
            if !others || self.row < self.in_row {
                let io = self.forget(read.id).expect("it waits");
                self.base.withdraw(view.now, &io);
                self.row = if others { self.row + 1 } else { 0 };
                self.hits += 1;
                return Next::Start(read.id);
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
        self.reads.audit();
        assert_eq!(self.reads.len(), self.ios.iter().flatten().count());
    }
}

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "hits_first",
    aliases: &["spctf"],
    summary: "reads that the drive has in its buffer, or is about to read, go before all others; another scheduler decides on these",
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
            "so many such reads go in a row while others wait, then one is chosen by base; 0 for no limit",
        ),
    ],
    measures: &MEASURES,
    asks: &["oracle"],
    prepared: false,
    build: HitsFirst::boxed,
};

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;
    use super::super::desk::Did::Read;
    use super::*;

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
        // When block 2 has been read, block 3 is under the heads and a command later gone by: a turn, for all but the drive itself.
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
    fn what_two_segments_have_is_there_once() {
        let run = |blocks: Range<u64>| Pba(blocks.start)..Pba(blocks.end);
        let mut runs = [5..9, 20..22, 3..6, 4..5, 9..10].map(run).to_vec();
        join(&mut runs);
        assert_eq!(runs, [3..10, 20..22].map(run));
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
