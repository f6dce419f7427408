//! Several streams of requests, each in order, become one.
//!
//! The stream with the earliest head gives requests until another's head is earlier; ties go to the
//! earlier file. Sharded traces mostly change streams rarely, so the heap is touched once a run,
//! not once a request. Cost: O(log files) a run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::TraceError;
use super::columns::Asked;
use super::decode::TimeMeaning;
use super::order::Shared;
use super::record::Record;

/// Clocks whose beginnings are nearer than this (1 s) are the same clock, told with a small error.
const SAME_CLOCK_NS: i64 = 1_000_000_000;

/// What is added to the times of a clock that began at `epoch` to have those of the first.
pub(crate) fn shift_of(first: Option<i64>, epoch: Option<i64>) -> i64 {
    let (Some(first), Some(epoch)) = (first, epoch) else {
        return 0;
    };
    let ahead = epoch.saturating_sub(first);
    // Damage can tell any time; a sum with a time that passed the rules must not overflow.
    let told = (SAME_CLOCK_NS..i64::MAX / 4).contains(&ahead.saturating_abs());
    if told { ahead } else { 0 }
}

/// Requests in order of time.
pub(crate) trait Feed: Send {
    /// Reads on until some are ready; when none are afterwards there are no more.
    fn fill(&mut self, shared: &mut Shared) -> Result<(), TraceError>;
    /// Requests that are ready.
    fn ready(&self) -> &[Record];
    /// Passes over some of them.
    fn take(&mut self, count: usize);
    /// What their times mean; asked when some are ready.
    fn time(&self) -> TimeMeaning;
    /// The files that gave requests, and what their times mean.
    fn told(&self) -> Vec<(&str, TimeMeaning)> {
        Vec::new()
    }
    /// Reads on until some requests can be given as columns, in order; none are given at the end.
    /// False if only records are given from now on, those that have been read and not given among
    /// them.
    fn fill_columns(&mut self, _shared: &mut Shared) -> Result<bool, TraceError> {
        Ok(false)
    }
    /// The columns that are ready, and their times; they count as given when more are read.
    fn columns(&self) -> (Asked<'_>, &[i64]) {
        (Asked::default(), &[])
    }
    /// Reads no more: counts what it has held back.
    fn stop(&mut self, shared: &mut Shared);
}

/// Refuses files of which only some have what their times must have in common; `has` is none for
/// files that are not concerned. The words say what one that has it is, and one that has not.
pub(crate) fn all_or_none(
    feeds: &[Box<dyn Feed>],
    has: impl Fn(&TimeMeaning) -> Option<bool>,
    [with, without]: [&str; 2],
) -> Result<(), TraceError> {
    let told: Vec<_> = feeds.iter().flat_map(|feed| feed.told()).collect();
    let one = |wanted: bool| told.iter().find(|(_, time)| has(time) == Some(wanted));
    let (Some((some, _)), Some((other, _))) = (one(true), one(false)) else {
        return Ok(());
    };
    Err(TraceError::unfit(format!(
        "{some} {with}, and {other} {without}: nothing says how the requests of the two follow each other; read them apart"
    )))
}

/// The merged stream.
pub(crate) struct Merge {
    feeds: Vec<Box<dyn Feed>>,
    /// What is added to a feed's times so that all have the clock of the first.
    shifts: Vec<i64>,
    heads: BinaryHeap<Reverse<(i64, usize)>>,
    primed: bool,
}

impl Merge {
    pub(crate) fn new(feeds: Vec<Box<dyn Feed>>) -> Merge {
        assert!(!feeds.is_empty(), "a trace has a file");
        Merge {
            shifts: vec![0; feeds.len()],
            feeds,
            heads: BinaryHeap::new(),
            primed: false,
        }
    }

    pub(crate) fn feeds(&self) -> &[Box<dyn Feed>] {
        &self.feeds
    }

    /// Appends up to `wanted` requests; none are appended when there are no more.
    pub(crate) fn fill(
        &mut self,
        shared: &mut Shared,
        wanted: usize,
        out: &mut Vec<Record>,
    ) -> Result<(), TraceError> {
        if !self.primed {
            self.prime(shared)?;
        }
        let full = out.len() + wanted;
        while out.len() < full {
            let Some(Reverse((_, first))) = self.heads.pop() else {
                break;
            };
            let rival = self.heads.peek().map(|Reverse(head)| *head);
            let room = full - out.len();
            let run = self.run(first, rival, room);
            let shift = self.shifts[first];
            let ready = &self.feeds[first].ready()[..run];
            if shift == 0 {
                out.extend_from_slice(ready);
            } else {
                out.extend(ready.iter().map(|record| Record {
                    ts: record.ts + shift,
                    ..*record
                }));
            }
            self.feeds[first].take(run);
            self.show_head(first, shared)?;
        }
        Ok(())
    }

    /// Reads on until some requests can be given as columns; false if only `fill` gives any from
    /// now on, as where several files are merged.
    pub(crate) fn fill_columns(&mut self, shared: &mut Shared) -> Result<bool, TraceError> {
        match self.feeds.as_mut_slice() {
            [only] if !self.primed => only.fill_columns(shared),
            _ => Ok(false),
        }
    }

    /// The columns that are ready, and their times.
    pub(crate) fn columns(&self) -> (Asked<'_>, &[i64]) {
        self.feeds[0].columns()
    }

    /// How many of a feed's requests come before the rival's head.
    fn run(&self, feed: usize, rival: Option<(i64, usize)>, room: usize) -> usize {
        let ready = self.feeds[feed].ready();
        let ready = &ready[..ready.len().min(room)];
        match rival {
            None => ready.len(),
            Some(rival) => {
                let shift = self.shifts[feed];
                ready
                    .iter()
                    .take_while(|record| (record.ts + shift, feed) < rival)
                    .count()
            }
        }
    }

    fn prime(&mut self, shared: &mut Shared) -> Result<(), TraceError> {
        for feed in &mut self.feeds {
            feed.fill(shared)?;
        }
        self.align(shared);
        for feed in 0..self.feeds.len() {
            self.show_head(feed, shared)?;
        }
        self.primed = true;
        Ok(())
    }

    /// Files whose clocks began at different wall times are put side by side by wall time.
    fn align(&mut self, shared: &mut Shared) {
        let epochs: Vec<Option<i64>> = self
            .feeds
            .iter()
            .map(|feed| feed.time().epoch_unix_ns)
            .collect();
        for (shift, epoch) in self.shifts.iter_mut().zip(&epochs) {
            *shift = shift_of(epochs[0], *epoch);
            if *shift != 0 {
                shared
                    .sink
                    .note("files with different clocks are aligned by the wall time they tell");
            }
        }
    }

    fn show_head(&mut self, feed: usize, shared: &mut Shared) -> Result<(), TraceError> {
        if self.feeds[feed].ready().is_empty() {
            self.feeds[feed].fill(shared)?;
        }
        if let Some(head) = self.feeds[feed].ready().first() {
            self.heads
                .push(Reverse((head.ts + self.shifts[feed], feed)));
        }
        Ok(())
    }

    /// Reads no more.
    pub(crate) fn stop(&mut self, shared: &mut Shared) {
        for feed in &mut self.feeds {
            feed.stop(shared);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Sink, TimeKind};
    use crate::header::Census;
    use crate::record::TraceOp;

    struct Fixed {
        records: Vec<Record>,
        given: usize,
        shown: usize,
        epoch: Option<i64>,
    }

    impl Feed for Fixed {
        fn fill(&mut self, _: &mut Shared) -> Result<(), TraceError> {
            self.shown = self.records.len().min(self.given + 2);
            Ok(())
        }
        fn ready(&self) -> &[Record] {
            &self.records[self.given..self.shown]
        }
        fn take(&mut self, count: usize) {
            self.given += count;
        }
        fn time(&self) -> TimeMeaning {
            TimeMeaning {
                resolution_ns: 1,
                kind: TimeKind::Arrival,
                epoch_unix_ns: self.epoch,
            }
        }
        fn stop(&mut self, _: &mut Shared) {}
    }

    fn merged(feeds: &[(Option<i64>, &[i64])]) -> Vec<(i64, u32)> {
        let feeds = (0..).zip(feeds).map(|(dev, (epoch, times))| {
            let records = times
                .iter()
                .map(|ts| Record::new(*ts, TraceOp::Read, 0, 512, dev))
                .collect();
            Box::new(Fixed {
                records,
                given: 0,
                shown: 0,
                epoch: *epoch,
            }) as Box<dyn Feed>
        });
        let mut merge = Merge::new(feeds.collect());
        let mut shared = Shared {
            sink: Sink::default(),
            only_device: None,
            left_out: Census::default(),
            understood: 0,
            late: false,
        };
        let mut out = Vec::new();
        loop {
            let before = out.len();
            merge.fill(&mut shared, 3, &mut out).unwrap();
            if out.len() == before {
                return out.iter().map(|record| (record.ts, record.dev)).collect();
            }
        }
    }

    #[test]
    fn ties_go_to_the_earlier_file() {
        let all = merged(&[(None, &[1, 5, 5, 9]), (None, &[1, 5, 6]), (None, &[])]);
        assert_eq!(
            all,
            [(1, 0), (1, 1), (5, 0), (5, 0), (5, 1), (6, 1), (9, 0)]
        );
    }

    #[test]
    fn clocks_are_aligned_by_wall_time() {
        let hour = 3_600_000_000_000;
        let all = merged(&[
            (Some(hour), &[0, 10]),
            (Some(0), &[hour + 5]),
            (Some(hour + 7), &[1]),
        ]);
        assert_eq!(all, [(0, 0), (1, 2), (5, 1), (10, 0)]);
    }
}
