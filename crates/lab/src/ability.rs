//! What a drive can do with a load, found out cheaply: a short closed loop over a sample of the
//! load's requests.
//!
//! The sample is [`STRETCHES`] stretches of consecutive requests, evenly spaced over the load, so
//! that runs of neighbouring addresses stay runs. It is served [`DEPTH`] deep by the scenario's own
//! scheduler, placement and drive, and answers are counted while the loop is full. So the estimate
//! knows sizes, directions, places and the scheduler. How sure it is: of a steady load a few
//! percent; of one whose requests change from hour to hour as sure as sixteen stretches are of the
//! whole. A scheduler that gains from a longer queue than [`DEPTH`] can do more: SATF about a tenth
//! more with each doubling. It says nothing of idle time that a placement needs for itself. Faults
//! that begin at an instant of their own are left out: the loop would meet them at another place in
//! the load than the run does, or not at all. The write caches of the drives are full when the loop
//! begins, as constant pressure leaves them. Credits for bursts are there as at the begin of the
//! run, and last longer than the loop: whether it lived on them is told with what it found.
//!
//! **Drives that work on many commands at once.** A network volume with a latency of 10 ms answers
//! 100 requests a second for each one in flight, up to a limit that may lie far beyond [`DEPTH`] of
//! them; so does a large array. An open load has as many in flight as it takes. So the sample is
//! also served half as deep. Where twice the depth gives [`RISING`] times the rate or more, depth
//! is doubled until it does not. As many are in flight as the sample has, at most: more would wait
//! for each other, as they are the same requests again. If the rate still rises there, what the
//! drive can do is not known, and nothing is told.
//!
//! Cost: two passes over a sample of some two thousand requests for a disk, and some thirty
//! thousand requests where depth is doubled to the end.

use nearslot_core::config::{Assembly, StackConfig};
use nearslot_core::contract::Drive;
use nearslot_core::io::Credits;
use nearslot_core::op::Op;
use nearslot_core::request::{Reply, Request};
use nearslot_core::units::Instant;

use crate::error::RunError;
use crate::memo::SHARED;
use crate::sim::{self, Control, Observer};
use crate::workload::sampled::Sampled;

/// Stretches of consecutive requests in a sample.
pub const STRETCHES: u64 = 16;
/// Requests of a stretch.
pub const STRETCH_REQUESTS: u64 = 128;
/// Requests in flight, unless the rate rises with them.
pub const DEPTH: u64 = 128;
/// Where twice as many requests in flight have so many times the rate or more, more may have still
/// more. SATF on a disk stays well below; what is passed over above is at most about a third.
const RISING: f64 = 1.25;

/// What a drive, or an array of them, can do under constant pressure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ability {
    /// Reads and writes answered per second, among requests of all kinds.
    pub rps: f64,
    /// Megabytes (10^6) read and written per second.
    pub mb_s: f64,
    /// Credits for bursts that this was done on.
    pub credits: Option<Credits>,
}

/// Of what commands took, so much has to be out of what was saved up before: as little as a queue
/// that is not said to grow.
const SPENT_SHARE: f64 = 0.02;

/// The credits for bursts that end first, of those that drives have lived on so far.
pub(crate) fn lived_on(drives: &[Box<dyn Drive>]) -> Option<Credits> {
    let mut lived_on = Vec::new();
    for drive in drives {
        drive.credits(&mut |credits| {
            let is_much = credits.spent > SPENT_SHARE * credits.taken;
            lived_on.extend(is_much.then_some(credits));
        });
    }
    Credits::first(lived_on.into_iter())
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

/// What the stack of this scenario can do with such requests; `None` if they are too few to tell,
/// take no time, or are answered the faster the more are in flight, however many.
///
/// # Errors
/// The stack cannot be built.
pub fn ability(
    stack: &StackConfig,
    sample: &[Request],
    control: &Control,
) -> Result<Option<Ability>, RunError> {
    // What a cache or a write buffer can do depends on all that was asked before, of which a sample
    // has too little.
    if stack.in_memory()?.is_some() || stack.in_buffer()?.is_some() {
        return Ok(None);
    }
    let count = sample.len() as u64;
    let mut depth = DEPTH.min(count / 4);
    if depth < 2 {
        return Ok(None);
    }
    let at = |depth: u64| at_depth(stack, sample, depth, control);
    let mut before = at(depth / 2)?;
    loop {
        let found = at(depth)?;
        let (Some(half), Some(all)) = (before, found) else {
            return Ok(found);
        };
        if all.rps < RISING * half.rps {
            return Ok(found);
        }
        depth *= 2;
        if depth > count {
            return Ok(None);
        }
        before = found;
    }
}

/// What the stack answers with so many requests in flight; `None` if they take no time, or it was
/// interrupted.
fn at_depth(
    stack: &StackConfig,
    sample: &[Request],
    depth: u64,
    control: &Control,
) -> Result<Option<Ability>, RunError> {
    let Assembly {
        mut stack,
        mut drives,
        ..
    } = stack.build_under_pressure(&SHARED)?;
    let count = sample.len() as u64;
    // Enough of them for the loop to be full most of the time.
    let total = if depth <= count / 4 { count } else { 8 * depth };
    let mut answers = Answers {
        // The loop is full from here to there.
        counted: total / 8..total - depth,
        ..Answers::default()
    };
    let mut workload = Sampled::new(sample, total, depth);
    // The progress of the runs is not that of this one.
    let own = Control::default();
    own.stop.store(
        control.stop.load(std::sync::atomic::Ordering::Relaxed),
        std::sync::atomic::Ordering::Relaxed,
    );
    sim::run(&mut stack, &mut drives, &mut workload, &mut answers, &own);
    let credits = lived_on(&drives);
    Ok(answers.ability(credits))
}

/// Counts answers while the loop is full.
#[derive(Default)]
struct Answers {
    counted: std::ops::Range<u64>,
    seen: u64,
    /// Reads and writes among them, and their bytes.
    moved: u64,
    bytes: u64,
    first: Instant,
    last: Instant,
}

impl Answers {
    fn ability(&self, credits: Option<Credits>) -> Option<Ability> {
        let seconds = self.last.since(self.first).0 as f64 / 1e9;
        let whole = self.seen >= self.counted.end && seconds > 0.0 && self.moved > 0;
        whole.then(|| Ability {
            rps: self.moved as f64 / seconds,
            mb_s: self.bytes as f64 / 1e6 / seconds,
            credits,
        })
    }
}

impl Observer for Answers {
    fn replied(&mut self, now: Instant, reply: &Reply) {
        self.seen += 1;
        if self.seen == self.counted.start {
            self.first = now;
        } else if self.seen > self.counted.start && self.seen <= self.counted.end {
            if matches!(reply.request.op, Op::Read | Op::Write) {
                self.moved += 1;
                self.bytes += reply.request.extent.len.bytes();
            }
            self.last = now;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use nearslot_core::config::{DriveConfig, PartConfig};
    use nearslot_core::contract::{Placement, Scheduler};
    use nearslot_core::drive::catalog_text;
    use nearslot_core::io::{Command, DriveDone, Unwritten};
    use nearslot_core::rng::Rng;

    use super::*;

    /// A drive of which something is told.
    #[derive(Default)]
    pub(crate) struct Told {
        pub(crate) credits: Vec<Credits>,
        pub(crate) rounds: Option<u64>,
    }

    impl Drive for Told {
        fn submit(&mut self, _now: Instant, _command: &Command) {}

        fn next_event(&self) -> Option<Instant> {
            None
        }

        fn advance(&mut self, _now: Instant) -> Option<DriveDone> {
            None
        }

        fn volatile(&self, _now: Instant, _out: &mut Vec<Unwritten>) {}

        fn rounds_permille(&self) -> Option<u64> {
            self.rounds
        }

        fn credits(&self, tell: &mut dyn FnMut(Credits)) {
            self.credits.iter().copied().for_each(tell);
        }
    }

    /// What is left of the credits that are told, of drives each of which spent so many of so many
    /// taken, and has so many left, of each kind.
    fn left(drives: &[&[(f64, f64, f64)]]) -> Option<f64> {
        let credits = |&(spent, taken, left): &(f64, f64, f64)| Credits {
            unit: "commands",
            spent,
            left,
            taken,
            baseline: 1.0,
        };
        let drive = |have: &&[(f64, f64, f64)]| {
            let credits = have.iter().map(credits).collect();
            Box::new(Told {
                credits,
                ..Told::default()
            }) as Box<dyn Drive>
        };
        let drives: Vec<Box<dyn Drive>> = drives.iter().map(drive).collect();
        lived_on(&drives).map(|credits| credits.left)
    }

    #[test]
    fn credits_count_that_end_first_of_those_that_much_came_out_of() {
        let [far, first, near] = [(10.0, 100.0), (40.0, 200.0), (10.0, 70.0)]
            .map(|(spent, left)| [(spent, 100.0, left)]);
        assert_eq!(left(&[&[], &far, &first, &near]), Some(200.0));
        assert_eq!(left(&[&first, &far]), Some(200.0));
        // A drive that earns what it takes hides none that does not.
        let (little, much) = ([(2.0, 100.0, 0.0)], [(2.1, 100.0, 50.0)]);
        assert_eq!(left(&[&little, &much]), Some(50.0));
        assert_eq!(left(&[&little, &[(0.0, 100.0, 9.0)], &[]]), None);
        // Nor does one kind hide the other.
        assert_eq!(left(&[&[(5.0, 1e6, 5.0), (10.0, 20.0, 90.0)]]), Some(90.0));
        assert_eq!(left(&[&[(5.0, 10.0, 5.0), (10.0, 20.0, 90.0)]]), Some(5.0));
    }

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

    /// A volume of this latency and limit.
    fn volume(latency_ms: f64, iops: u32) -> StackConfig {
        let text = format!(
            "kind = 'capped'\ncapacity_blocks = 2000000\nlatency_ms = {latency_ms:.1}\nio_kib_max = 256\n\
             iops = {{ baseline = {iops}.0 }}\nmib = {{ baseline = 100000.0 }}\n"
        );
        stack("volume", text, "linear", "fcfs")
    }

    fn stack(drive: &str, text: String, place: &str, sched: &str) -> StackConfig {
        let drive = DriveConfig {
            part: PartConfig::named(drive),
            text,
        };
        StackConfig::over(drive, 1)
            .with::<dyn Scheduler>(PartConfig::named(sched))
            .with::<dyn Placement>(place.parse().unwrap())
    }

    fn sample(count: u64) -> Vec<Request> {
        let mut rng = Rng::stream(1, "ability");
        let request = |number| {
            let block = 8 * rng.below(200_000);
            Request::new(number, Op::Read, block, 8, Instant::ZERO)
        };
        (0..count).map(request).collect()
    }

    fn found(stack: &StackConfig, count: u64) -> Option<f64> {
        let ability = ability(stack, &sample(count), &Control::default()).unwrap();
        ability.map(|ability| ability.rps)
    }

    #[test]
    fn what_a_volume_can_do_is_not_bounded_by_the_depth_of_the_loop() {
        // A thousand in flight reach the limit; 128 come to an eighth of it.
        let rate = found(&volume(10.0, 100_000), 2_048).unwrap();
        assert!((95_000.0..105_000.0).contains(&rate), "{rate}");
        let rate = found(&volume(10.0, 1_000), 2_048).unwrap();
        assert!((950.0..1_050.0).contains(&rate), "{rate}");
        // A hundred thousand would be needed, or there are a few requests only.
        assert_eq!(found(&volume(1_000.0, 100_000), 2_048), None);
        assert_eq!(found(&volume(10.0, 100_000), 64), None);
    }

    #[test]
    fn a_disk_is_asked_as_deep_as_ever_and_a_large_array_deeper() {
        let cheetah = || catalog_text("seagate-cheetah-9lp").unwrap().to_owned();
        let stack = |place, sched| stack("seagate-cheetah-9lp", cheetah(), place, sched);
        for sched in ["fcfs", "satf", "look"] {
            let one = stack("linear", sched);
            let sample = sample(2_048);
            let plain = at_depth(&one, &sample, DEPTH, &Control::default()).unwrap();
            assert_eq!(ability(&one, &sample, &Control::default()).unwrap(), plain);
        }
        let one = found(&stack("linear", "fcfs"), 2_048).unwrap();
        let array = found(&stack("stripe:disks=100", "fcfs"), 2_048).unwrap();
        assert!(array > 60.0 * one, "{array} {one}");
    }
}
