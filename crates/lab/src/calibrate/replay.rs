//! The measured requests once more, on a model: each as long after the completion that it followed
//! as it was measured.
//!
//! A request was issued some time after the last completion before it; the model issues it that
//! long after the same request's completion on the model. So a slower model slows down the load as
//! a slower drive would. Requests wait in the order of issue; the model serves one at a time and is
//! told how many are outstanding.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeSet, BinaryHeap};

use nearslot_core::contract::Drive;
use nearslot_core::ids::IoId;
use nearslot_core::io::Command;
use nearslot_core::units::{Blocks, Instant, Pba};

use super::samples::Sample;
use crate::alone;

/// After which request each was issued, and how long after its completion; those before any
/// completion, after how long.
fn causes(samples: &[Sample]) -> Vec<(Option<usize>, u64)> {
    let mut running: BTreeSet<(u64, usize)> = BTreeSet::new();
    let mut last: Option<(u64, usize)> = None;
    let begin = samples.first().map_or(0, |sample| sample.issued);
    let cause = |(index, sample): (usize, &Sample)| {
        while let Some(ended) = running
            .first()
            .copied()
            .filter(|(end, _)| *end <= sample.issued)
        {
            running.remove(&ended);
            last = Some(ended);
        }
        running.insert((sample.completed(), index));
        match last {
            None => (None, sample.issued - begin),
            Some((end, cause)) => (Some(cause), sample.issued - end),
        }
    };
    samples.iter().enumerate().map(cause).collect()
}

/// Latencies on the model, in milliseconds, in the order of the samples.
pub(super) fn latencies_ms(drive: &mut dyn Drive, samples: &[Sample]) -> Vec<f64> {
    let causes = causes(samples);
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); samples.len()];
    let mut queue = Queue::default();
    for (index, (cause, delay)) in causes.iter().enumerate() {
        match cause {
            Some(cause) => followers[*cause].push(index),
            None => queue.push(*delay, index),
        }
    }
    let mut latencies = vec![0.0; samples.len()];
    let mut now = 0;
    while let Some((issued, index)) = queue.pop(now) {
        let command = command(&samples[index]);
        let (ended, _) = alone::serve(drive, Instant(issued.max(now)), &command, |now| {
            queue.waiting(now.0) + 1
        });
        now = ended.0;
        latencies[index] = (now - issued) as f64 / 1e6;
        for follower in followers[index].drain(..) {
            queue.push(now + causes[follower].1, follower);
        }
    }
    latencies
}

/// Requests that are to be served: by time of issue, and then by number. What is counted as waiting
/// is moved once, so that counting costs the same whether ten or a million wait.
#[derive(Default)]
struct Queue {
    /// Issued by the last instant that was asked about.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    /// Issued later, as far as was looked.
    later: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Queue {
    fn push(&mut self, issued: u64, index: usize) {
        self.later.push(Reverse((issued, index)));
    }

    /// How many have been issued by `now`, which never goes back.
    fn waiting(&mut self, now: u64) -> u64 {
        while let Some(next) = self.later.peek_mut().filter(|next| next.0.0 <= now) {
            self.waiting.push(PeekMut::pop(next));
        }
        self.waiting.len() as u64
    }

    /// The next one: of those that wait at `now`, or else the first that is issued later.
    fn pop(&mut self, now: u64) -> Option<(u64, usize)> {
        self.waiting(now);
        let next = self.waiting.pop().or_else(|| self.later.pop());
        next.map(|Reverse(next)| next)
    }
}

fn command(sample: &Sample) -> Command {
    Command {
        io: IoId(0),
        op: sample.op,
        at: Pba(sample.at),
        len: Blocks(sample.len),
        fua: false,
    }
}

#[cfg(test)]
mod tests {
    use nearslot_core::drive::{self, catalog_text};
    use nearslot_core::op::Op;
    use nearslot_core::rng::Rng;

    use super::*;

    /// Holds the counts against a look at every request.
    #[test]
    fn requests_come_in_order_of_issue_and_all_that_wait_are_counted() {
        let mut rng = Rng::stream(1, "queue");
        let (mut queue, mut all) = (Queue::default(), Vec::new());
        let mut now = 0;
        for round in 0..2_000 {
            for part in 0..rng.below(3) as usize {
                let next = (now + rng.below(50) * rng.below(2), 6_000 - 3 * round - part);
                queue.push(next.0, next.1);
                all.push(next);
            }
            now += rng.below(20);
            let waiting = all.iter().filter(|(issued, _)| *issued <= now).count();
            // A drive need not ask between two requests.
            if rng.below(2) > 0 {
                assert_eq!(queue.waiting(now), waiting as u64);
            }
            let first = all.iter().copied().min();
            assert_eq!(queue.pop(now), first);
            all.retain(|next| Some(*next) != first);
        }
    }

    /// A look at all that wait for every completion would take minutes here.
    #[test]
    fn what_waits_is_not_counted_anew_for_every_completion() {
        let text = catalog_text("null").unwrap();
        let (blueprint, _) = drive::read("null", text, &[]).unwrap();
        let samples: Vec<Sample> = (0..400_000)
            .map(|index| Sample::new(index, Op::Read, index % 1_000 * 8, 8, 1_000_000_000))
            .collect();
        let begun = std::time::Instant::now();
        let found = latencies_ms(&mut *blueprint.drive(), &samples);
        assert_eq!(found.len(), samples.len());
        assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    }
}
