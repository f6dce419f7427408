//! What a drive can do with a load, found out cheaply: a short closed loop over a sample of the load's requests.
//!
//! The sample is [`STRETCHES`] stretches of consecutive requests, evenly spaced over the load, so that runs of neighbouring
//! addresses stay runs. It is served [`DEPTH`] deep by the scenario's own scheduler, placement and drive, and answers are
//! counted while the loop is full. So the estimate knows sizes, directions, places and the scheduler, and costs some two
//! thousand requests. How sure it is: of a steady load a few percent; of one whose requests change from hour to hour as
//! sure as sixteen stretches are of the whole. A scheduler that gains from a longer queue than [`DEPTH`] can do more: SATF
//! about a tenth more with each doubling. It says nothing of idle time that a placement needs for itself.

use nearslot_core::config::{Assembly, StackConfig};
use nearslot_core::request::{Reply, Request};
use nearslot_core::units::Instant;

use crate::memo::SHARED;
use crate::run::RunError;
use crate::sim::{self, Control, Observer};
use crate::workload::sampled::Sampled;

/// Stretches of consecutive requests in a sample.
pub const STRETCHES: u64 = 16;
/// Requests of a stretch.
pub const STRETCH_REQUESTS: u64 = 128;
/// Requests in flight.
pub const DEPTH: u64 = 128;

/// What a drive, or an array of them, can do under constant pressure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ability {
    /// Requests answered per second.
    pub rps: f64,
    /// Megabytes (10^6) read and written per second.
    pub mb_s: f64,
}

/// Whether a request belongs to the sample of a load of `count` requests; `number` is from 0.
pub fn is_sampled(number: u64, count: u64) -> bool {
    if count <= STRETCHES * STRETCH_REQUESTS {
        return true;
    }
    let at = u128::from(number) * u128::from(STRETCHES) / u128::from(count);
    let start = (at * u128::from(count)).div_ceil(u128::from(STRETCHES)) as u64;
    number - start < STRETCH_REQUESTS
}

/// What the stack of this scenario can do with such requests; `None` if they are too few to tell, or take no time.
///
/// # Errors
/// The stack cannot be built.
pub fn ability(
    stack: &StackConfig,
    sample: Vec<Request>,
    control: &Control,
) -> Result<Option<Ability>, RunError> {
    let Assembly {
        mut stack,
        mut drives,
        ..
    } = stack.build_with(&SHARED)?;
    let count = sample.len() as u64;
    let depth = DEPTH.min(count / 4);
    if depth == 0 {
        return Ok(None);
    }
    let mut answers = Answers {
        // The loop is full from here to there.
        counted: count / 8..count - depth,
        ..Answers::default()
    };
    let mut workload = Sampled::new(sample, depth);
    // The progress of the runs is not that of this one.
    let own = Control::default();
    own.stop.store(
        control.stop.load(std::sync::atomic::Ordering::Relaxed),
        std::sync::atomic::Ordering::Relaxed,
    );
    sim::run(&mut stack, &mut drives, &mut workload, &mut answers, &own);
    Ok(answers.ability())
}

/// Counts answers while the loop is full.
#[derive(Default)]
struct Answers {
    counted: std::ops::Range<u64>,
    seen: u64,
    bytes: u64,
    first: Instant,
    last: Instant,
}

impl Answers {
    fn ability(&self) -> Option<Ability> {
        let seconds = self.last.since(self.first).0 as f64 / 1e9;
        let whole = self.seen >= self.counted.end && seconds > 0.0;
        whole.then(|| Ability {
            rps: (self.counted.end - self.counted.start) as f64 / seconds,
            mb_s: self.bytes as f64 / 1e6 / seconds,
        })
    }
}

impl Observer for Answers {
    fn replied(&mut self, now: Instant, reply: &Reply) {
        self.seen += 1;
        if self.seen == self.counted.start {
            self.first = now;
        } else if self.seen > self.counted.start && self.seen <= self.counted.end {
            self.bytes += reply.request.extent.len.bytes();
            self.last = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_stretches_over_the_whole_load() {
        let count = 1_000_003;
        let numbers: Vec<u64> = (0..count)
            .filter(|number| is_sampled(*number, count))
            .collect();
        assert_eq!(numbers.len() as u64, STRETCHES * STRETCH_REQUESTS);
        let starts = numbers.iter().step_by(STRETCH_REQUESTS as usize);
        for (index, start) in starts.enumerate() {
            assert_eq!(*start, (index as u64 * count).div_ceil(STRETCHES));
        }
        assert!((0..2_000).all(|number| is_sampled(number, 2_000)));
    }
}
