//! Reads, and the jobs that bring what they miss and what will be asked for.

use super::lines::Wanted;
use super::shape::runs;
use super::{Memory, Move, cache_of, common};
use crate::contract::{Pattern, Touch, Why};
use crate::ids::{RequestId, Track};
use crate::op::{Op, Status};
use crate::request::{Reply, Request, Timeline};
use crate::sorted::Keyed;
use crate::units::{Blocks, Extent, Instant, Lba};

/// A read that the memory makes for itself.
pub(super) struct Job {
    id: RequestId,
    /// Pages from one to before another.
    first: u64,
    end: u64,
    pattern: Pattern,
    /// Whether it was missed or is brought beforehand.
    why: Why,
    /// The request that missed it, if that waits for some of it.
    cause: Option<u32>,
    /// What requests want of it, those of a request behind each other.
    pub(super) waiters: Vec<Waiter>,
    /// Tracks that are expected after what it brings.
    behind: Behind,
}

impl Job {
    /// Requests that wait for it.
    pub(super) fn waiting(&self) -> usize {
        let of_one = |one: &Waiter, other: &Waiter| one.asked == other.asked;
        self.waiters.chunk_by(of_one).count()
    }

    /// Pages of it that some request waits for, with a list that is empty.
    fn waited_for(&self, spans: &mut Vec<(u64, u64)>) -> u64 {
        spans.extend(self.waiters.iter().map(|one| (one.first, one.end)));
        in_some(spans)
    }
}

/// Pages that lie in some of these spans, each from one to before another. They are taken out.
fn in_some(spans: &mut Vec<(u64, u64)>) -> u64 {
    spans.sort_unstable();
    let (mut pages, mut counted) = (0, 0);
    for (first, end) in spans.drain(..) {
        pages += end.saturating_sub(first.max(counted));
        counted = counted.max(end);
    }
    pages
}

/// Pages that a request gets from a job: from one to before another.
#[derive(Clone, Copy)]
pub(super) struct Waiter {
    asked: u32,
    first: u64,
    end: u64,
}

/// Where a job begins and ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coming {
    pub(super) first: u64,
    pub(super) end: u64,
    job: u32,
}

impl Keyed for Coming {
    type Key = u64;

    #[inline]
    fn key(&self) -> u64 {
        self.first
    }
}

/// Pages that follow each other, to be brought by one job.
#[derive(Clone, Copy)]
struct Run {
    first: u64,
    end: u64,
    pattern: Pattern,
    /// Tracks behind it that are in memory, and are expected after what it brings.
    behind: Behind,
}

/// Tracks from one to before another.
type Behind = (u64, u64);

/// None.
const NOTHING: Behind = (0, 0);

impl Memory {
    /// A read begins.
    pub(super) fn read(&mut self, now: Instant, asked: u32, request: &Request) {
        let cached = self.cached.as_mut();
        let pages = cached.and_then(|cached| cached.lines.take_up(&request.extent));
        let Some((first, end)) = pages else {
            return self.read_around(now, asked, request);
        };
        let lines = self.lines();
        let (shape, before) = (lines.shape(), lines.lent);
        // Pieces of what was asked for with something between that is there, and where the last one
        // ended.
        let (mut pieces, mut ended) = (0_u64, None);
        let mut run: Option<Run> = None;
        let (volume, last) = (shape.first_track(first), (end - 1) / shape.track);
        let tracks = last - first / shape.track + 1;
        for (track, mask) in shape.tracks(first, end) {
            let cached = cache_of(&mut self.cached);
            let lines = &mut cached.lines;
            let (slot, away, found) = lines.look(track, mask);
            let touch = Touch {
                track: Track(track - volume),
                found,
                tracks,
                last: Track(last - volume),
            };
            let pattern = cached.prefetch.asked(touch, &mut lines.of_volume(volume));
            let of = (slot, mask, away);
            let (coming, bring) = lines.ask(of, request, pattern, &mut self.orders);
            lines.looked(slot);
            let begin = track * shape.track;
            for (from, to) in runs(coming) {
                self.join(asked, begin + from, begin + to);
            }
            for (from, to) in runs(bring) {
                let next = Run {
                    first: begin + from,
                    end: begin + to,
                    pattern,
                    behind: NOTHING,
                };
                if next.first < end && first < next.end {
                    pieces += u64::from(ended != Some(next.first));
                    ended = Some(next.end);
                }
                self.append(&mut run, next, Some(asked), request);
            }
        }
        self.begin_job(run, Some(asked), request);
        self.bring_wanted(request);
        let is_hit = self.asked[asked as usize].remaining == 0;
        let counts = &mut self.lines().counts;
        if pieces > 1 {
            counts.cut_reads += 1;
            counts.cut_pieces += pieces;
        }
        counts.read_hits += u64::from(is_hit);
        counts.read_misses += u64::from(!is_hit);
        if is_hit {
            self.answer_hit(now, asked, before);
        }
    }

    /// All of a read is there. `before` it came reads had got so many pages from the write buffer.
    fn answer_hit(&mut self, now: Instant, asked: u32, before: u64) {
        let cached = cache_of(&mut self.cached);
        let buffer = self.buffer.as_ref();
        let time = match buffer.filter(|_| cached.lines.lent > before) {
            Some(buffer) => buffer.read_time().max(cached.hit_time),
            None => cached.hit_time,
        };
        self.answer_later(now, time, asked);
    }

    /// A request waits for the jobs that bring these pages.
    fn join(&mut self, asked: u32, mut from: u64, to: u64) {
        while from < to {
            let above = self.coming.seek(&(from + 1));
            let at = self.coming.before(above).expect("a job brings it");
            let coming = *self.coming.at(at).expect("it is there");
            let waiters = &mut self.jobs[coming.job as usize].waiters;
            if waiters.last().is_none_or(|last| last.asked != asked) {
                self.asked[asked as usize].remaining += 1;
            }
            let (first, end) = (from, to.min(coming.end));
            waiters.push(Waiter { asked, first, end });
            from = end;
        }
    }

    /// Another run is to be brought: with the one before it, if it continues that.
    fn append(&mut self, run: &mut Option<Run>, next: Run, cause: Option<u32>, of: &Request) {
        match run {
            Some(run) if run.end == next.first && run.pattern == next.pattern => {
                run.end = next.end;
            }
            _ => {
                let before = run.replace(next);
                self.begin_job(before, cause, of);
            }
        }
    }

    /// What the prefetcher wants is brought, behind what the read has asked for.
    fn bring_wanted(&mut self, of: &Request) {
        if self.lines().wanted.is_empty() {
            return;
        }
        let mut wanted: Vec<Wanted> = std::mem::take(&mut self.lines().wanted);
        let pages = self.lines().shape().track;
        for (first, last) in wanted.drain(..) {
            let mut run: Option<Run> = None;
            for track in first..=last {
                let bring = self.lines().send_for(track);
                for (from, to) in runs(bring) {
                    let next = Run {
                        first: track * pages + from,
                        end: track * pages + to,
                        pattern: Pattern::Sequential,
                        behind: NOTHING,
                    };
                    self.append(&mut run, next, None, of);
                }
                // What is nearer is older, whether it was there or comes.
                match &mut run {
                    _ if bring != 0 => {}
                    Some(run) if run.behind == NOTHING => run.behind = (track, track + 1),
                    Some(run) => run.behind.1 = track + 1,
                    None => self.lines().expect(track),
                }
            }
            self.begin_job(run, None, of);
        }
        self.lines().wanted = wanted;
    }

    fn begin_job(&mut self, run: Option<Run>, cause: Option<u32>, of: &Request) {
        let Some(Run {
            first,
            end,
            pattern,
            behind,
        }) = run
        else {
            return;
        };
        self.turn = self.turn.wrapping_add(1);
        let volumes = self.lines().shape().volumes;
        let entry = self.jobs.vacant_entry();
        let job = entry.key() as u32;
        let id = RequestId::job(job, self.turn);
        let mut waiters = self.lists.pop().unwrap_or_default();
        let why = match cause {
            Some(_) => Why::Missed,
            None => Why::Brought,
        };
        // The rest of a line may be apart from what was asked for.
        let (from, to) = volumes.touched(&of.extent);
        let cause = cause.filter(|_| first < to && from < end);
        if let Some(asked) = cause {
            let (first, end) = (first.max(from), end.min(to));
            waiters.push(Waiter { asked, first, end });
            self.asked[asked as usize].remaining += 1;
        }
        entry.insert(Job {
            id,
            first,
            end,
            pattern,
            why,
            cause,
            waiters,
            behind,
        });
        self.coming.insert(Coming { first, end, job });
        let (start, behind) = volumes.blocks(first, end);
        let request = Request {
            id,
            op: Op::Read,
            extent: Extent {
                start: Lba(start),
                len: Blocks(behind - start),
            },
            ..*of
        };
        self.start(request);
    }

    /// A job has ended: what it has brought enters, and who waited for it gets it.
    pub(super) fn job_ended(&mut self, now: Instant, number: u32, reply: &Reply) {
        let mut job = self.jobs.remove(number as usize);
        assert_eq!(job.id, reply.request.id, "another job has ended");
        self.coming.take(&job.first);
        let done = reply.status.is_done();
        let shape = self.lines().shape();
        let arrival = done.then_some((job.id, job.pattern, job.why));
        self.count(&job, done);
        let lines = &mut cache_of(&mut self.cached).lines;
        for of in shape.tracks(job.first, job.end) {
            lines.come(of, arrival, &mut self.orders);
        }
        for track in job.behind.0..job.behind.1 {
            lines.expect(track);
        }
        let mut waiters = std::mem::take(&mut job.waiters);
        for (index, waiter) in waiters.iter().enumerate() {
            if done {
                self.give(&job, waiter);
            }
            let next = waiters.get(index + 1);
            if next.is_none_or(|next| next.asked != waiter.asked) {
                let is_cause = job.cause == Some(waiter.asked);
                let timeline = is_cause.then_some(&reply.timeline);
                self.waited(now, waiter.asked, done, timeline);
            }
        }
        waiters.clear();
        self.lists.push(waiters);
        self.orders.push_move(Move::End(job.id));
    }

    /// Pages that a job has brought, or has failed to bring.
    fn count(&mut self, job: &Job, done: bool) {
        let counts = &mut cache_of(&mut self.cached).lines.counts;
        let pages = job.end - job.first;
        let is_ahead = job.why == Why::Brought;
        if !done {
            counts.failed += if is_ahead { pages } else { 0 };
            return;
        }
        counts.staged += pages;
        if is_ahead {
            counts.ahead += pages;
            counts.late += job.waited_for(&mut self.spans);
        }
    }

    /// A request gets what a job has brought of what it waited for.
    fn give(&mut self, job: &Job, waiter: &Waiter) {
        let shape = self.lines().shape();
        let request = &self.asked[waiter.asked as usize].request;
        let (first, end) = shape.volumes.blocks(waiter.first, waiter.end);
        let extent = common(&request.extent, first, end);
        let (of, to) = (job.id, request.id);
        self.orders.push_move(Move::Give { of, to, extent });
        if job.cause != Some(waiter.asked) {
            let lines = &mut cache_of(&mut self.cached).lines;
            for (track, mask) in shape.tracks(waiter.first, waiter.end) {
                lines.joined(track, mask, &mut self.orders);
            }
        }
    }

    /// A request waits for one job less.
    fn waited(&mut self, now: Instant, asked: u32, done: bool, timeline: Option<&Timeline>) {
        self.worked(asked, timeline);
        let one = &mut self.asked[asked as usize];
        one.remaining -= 1;
        one.again |= !done;
        let request = one.request;
        match (one.remaining, one.again) {
            (0, false) => self.answer(now, asked, Status::Done),
            // It has missed, and is counted so.
            (0, true) => self.read_around(now, asked, &request),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::in_some;

    #[test]
    fn a_page_in_several_spans_counts_once() {
        for (mut spans, pages) in [
            (vec![], 0),
            (vec![(8, 10), (2, 4)], 4),
            (vec![(0, 10), (2, 4), (6, 8)], 10),
            (vec![(3, 6), (0, 4), (5, 9)], 9),
            (vec![(1, 3), (1, 3)], 2),
        ] {
            assert_eq!(in_some(&mut spans), pages);
            assert!(spans.is_empty());
        }
    }
}
