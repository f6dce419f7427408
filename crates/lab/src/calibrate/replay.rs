//! The measured requests once more, on a model: each as long after the completion that it followed as it was measured.
//!
//! A request was issued some time after the last completion before it; the model issues it that long after the same request's
//! completion on the model. So a slower model slows down the load as a slower drive would. Requests wait in the
//! order of issue; the model serves one at a time and is told how many are outstanding.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use nearslot_core::contract::Drive;
use nearslot_core::ids::IoId;
use nearslot_core::io::Command;
use nearslot_core::units::{Blocks, Instant, Pba};

use super::samples::Sample;

/// After which request each was issued, and how long after its completion; those before any completion, after how long.
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
    let mut due: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for (index, (cause, delay)) in causes.iter().enumerate() {
        match cause {
            Some(cause) => followers[*cause].push(index),
            None => due.push(Reverse((*delay, index))),
        }
    }
    let mut latencies = vec![0.0; samples.len()];
    let mut now = 0;
    while let Some(Reverse((issued, index))) = due.pop() {
        now = issued.max(now);
        let ended = serve(drive, now, &samples[index], |now| {
            // What was issued by then and waits, and this one.
            due.iter()
                .filter(|Reverse((issued, _))| *issued <= now)
                .count() as u64
                + 1
        });
        latencies[index] = (ended - issued) as f64 / 1e6;
        for follower in followers[index].drain(..) {
            due.push(Reverse((ended + causes[follower].1, follower)));
        }
        now = ended;
    }
    latencies
}

/// Serves one request and gives the time of its completion.
fn serve(
    drive: &mut dyn Drive,
    now: u64,
    sample: &Sample,
    outstanding: impl Fn(u64) -> u64,
) -> u64 {
    // What the drive does by itself meanwhile.
    while drive.next_event().is_some_and(|due| due.0 <= now) {
        let done = drive.advance(drive.next_event().unwrap_or(Instant(now)));
        assert!(done.is_none(), "an idle drive completed {done:?}");
    }
    let command = Command {
        io: IoId(0),
        op: sample.op,
        at: Pba(sample.at),
        len: Blocks(sample.len),
    };
    drive.submit(Instant(now), &command);
    loop {
        let due = drive.next_event().expect("a command is under way");
        drive.outstanding(outstanding(due.0));
        if drive.advance(due).is_some() {
            return due.0;
        }
    }
}
