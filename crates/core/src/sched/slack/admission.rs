//! What can be promised, said before anything runs.
//!
//! Random reads of 4 KiB and of 128 KiB are tried in turns on a fresh drive of the same kind. A
//! target is kept in 99 of 100 cases only if so much fits in it, as 99 of 100 take:
//!
//! ```text
//! its own request, and one of each stream with a target that is not longer: all may ask at once, and the first deadline is served first
//! one command of 128 KiB of another, since it cannot be interrupted (`admission = beside`; of `alone` it is left out)
//! ```
//!
//! That is the condition of Jeffay, Stanat and Martel ("On non-preemptive scheduling of periodic
//! and sporadic tasks", RTSS 1991) for requests that do not come again before they are answered;
//! how often they come is what budgets are for. What is not known before is what is asked for:
//! longer commands of others, or requests of more than 4 KiB, may still break a target that was
//! admitted.

use std::collections::BTreeSet;

use crate::contract::{Blueprint, Drive};
use crate::ids::{IoId, StreamId};
use crate::io::Command;
use crate::op::Op;
use crate::registry::ConfigError;
use crate::rng::Rng;
use crate::stream::by_stream;
use crate::units::{Blocks, Duration, Instant, Pba};

use super::reckoning::Estimate;

/// Requests of each length that are tried.
const TRIED: usize = 400;
/// Sums of several are drawn so often.
const DRAWN: usize = 2_000;
/// 4 KiB, and 128 KiB.
const PAGE: Blocks = Blocks(8);
const LONG: Blocks = Blocks(256);

/// What is known of a drive before anything was asked of it.
pub(super) struct Known {
    pages: Vec<Duration>,
    long: Vec<Duration>,
    rng: Rng,
}

impl Known {
    pub(super) fn of(blueprint: &dyn Blueprint, seed: u64) -> Known {
        let mut rng = Rng::stream(seed, "slack");
        let mut drive = blueprint.seeded(seed, "slack");
        let (mut pages, mut long) = (Vec::new(), Vec::new());
        let (mut now, blocks) = (Instant::ZERO, blueprint.capacity());
        for _ in 0..TRIED {
            for (len, times) in [(PAGE, &mut pages), (LONG, &mut long)] {
                let len = len.min(blocks);
                let at = Pba(rng.below(blocks.0 - len.0 + 1));
                let began = now;
                now = read(&mut *drive, now, at, len);
                times.push(now.since(began));
            }
        }
        Known { pages, long, rng }
    }

    /// A random read of 4 KiB.
    pub(super) fn page(&self) -> Estimate {
        Estimate::of(&self.pages)
    }

    /// One of 128 KiB.
    pub(super) fn long(&self) -> Estimate {
        Estimate::of(&self.long)
    }

    /// What so many random reads of 4 KiB take, one after the other, and one of 128 KiB before them
    /// or not, in 99 of 100 cases.
    fn needed(&mut self, pages: usize, beside: bool) -> Duration {
        let rng = &mut self.rng;
        let mut draw = |times: &[Duration]| times[rng.below(times.len() as u64) as usize];
        let mut sums: Vec<Duration> = Vec::with_capacity(DRAWN);
        for _ in 0..DRAWN {
            let mut sum = Duration::ZERO;
            (0..pages).for_each(|_| sum += draw(&self.pages));
            if beside {
                sum += draw(&self.long);
            }
            sums.push(sum);
        }
        sums.sort_unstable();
        sums[DRAWN * 99 / 100]
    }

    /// Whether all these targets can be kept.
    ///
    /// # Errors
    /// One cannot.
    pub(super) fn admit(
        &mut self,
        targets: &[(StreamId, Duration)],
        beside: bool,
    ) -> Result<(), ConfigError> {
        let mut in_order: Vec<_> = targets.iter().map(|(of, target)| (*target, *of)).collect();
        in_order.sort_unstable();
        for (before, (target, stream)) in in_order.iter().enumerate() {
            let needed = self.needed(before + 1, beside);
            if *target < needed {
                let value = format!("{}={}", stream.0, target.as_ms());
                let allowed = said(before, beside, needed);
                return Err(ConfigError::value("slack.targets_ms", &value, &allowed));
            }
        }
        Ok(())
    }
}

/// Reads this, and nothing else is there; when it ends.
fn read(drive: &mut dyn Drive, begin: Instant, at: Pba, len: Blocks) -> Instant {
    let command = Command {
        io: IoId(0),
        op: Op::Read,
        at,
        len,
        fua: false,
    };
    drive.submit(begin, &command);
    loop {
        let now = drive.next_event().expect("it carries out a command");
        drive.outstanding(&mut || 1);
        if drive.advance(now).is_some() {
            return now;
        }
    }
}

/// Why no less can be promised.
fn said(before: usize, beside: bool, needed: Duration) -> String {
    let others = match before {
        0 => String::new(),
        1 => ", behind one of another stream whose target is not longer".to_owned(),
        _ => format!(", behind one each of {before} other streams whose targets are not longer"),
    };
    let (command, or) = match beside {
        true => (
            " and one command of 128 KiB of a stream without a target",
            "; admission=alone leaves that command out",
        ),
        false => ("", ", if nobody else asks"),
    };
    format!(
        "at least {:.3}: so long does a random read of 4 KiB take on this drive{others}{command} in 99 of 100 cases{or}",
        needed.as_ms()
    )
}

/// The targets of the setting, one of each stream; none if it makes no sense.
pub(super) fn targets(text: &str) -> Option<Vec<(StreamId, Duration)>> {
    let target = |ms: &str| {
        let ms = ms.parse().ok().filter(|ms| (0.001..=1e6).contains(ms))?;
        Some(Duration::from_ms_f64(ms))
    };
    let found = by_stream(text, target)?;
    let streams: BTreeSet<StreamId> = found.iter().map(|(stream, _)| *stream).collect();
    (streams.len() == found.len()).then_some(found)
}
