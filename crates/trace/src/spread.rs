//! Spreads requests whose time stamps are coarse over the tick they fell in.
//!
//! A trace with stamps of one second says that a hundred requests came within a second, not that
//! they came at once. Taken literally it is a burst a second, and every queueing result is about
//! the stamps. So the i-th of k requests of a tick is put at i/k of it ([`Spread::Even`]), or the k
//! are put at the sorted places of k uniform draws, which is how a Poisson process with k arrivals
//! in that tick looks ([`Spread::Poisson`]). The order of the file is kept. Cost: one pass.

use nearslot_core::rng::Rng;

use super::TraceError;
use super::decode::HELD_MAX;
use super::record::{Flags, Record};

/// Coarser stamps than this (1 ms) are spread.
const FINE_NS: u64 = 1_000_000;

/// With fewer ticks, their common step may be chance.
const TICKS_MIN: u64 = 10;

/// What is done with requests of the same coarse time stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// At equal distances over the tick.
    #[default]
    Even,
    /// At random places of the tick, from this seed.
    Poisson(u64),
    /// They stay as stamped.
    None,
}

/// Greatest common step of two; 0 has all.
pub fn common_step(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Holds back one tick and gives it out spread.
pub(crate) struct Spreader {
    how: Spread,
    rng: Rng,
    tick_ns: u64,
    held: Vec<Record>,
    /// The first tick, the greatest common step of the others from there, and how many there were.
    first: Option<i64>,
    step_ns: u64,
    ticks: u64,
}

impl Spreader {
    /// The spreader for stamps of this resolution, if they need one.
    pub(crate) fn for_resolution(resolution_ns: u64, how: Spread) -> Option<Spreader> {
        let seed = match how {
            Spread::Poisson(seed) => seed,
            Spread::Even | Spread::None => 0,
        };
        (resolution_ns > FINE_NS).then(|| Spreader {
            how,
            rng: Rng::stream(seed, "trace/spread"),
            tick_ns: resolution_ns,
            held: Vec::new(),
            first: None,
            step_ns: 0,
            ticks: 0,
        })
    }

    /// Greatest step that all stamps so far are a multiple of, from the first; none while they are
    /// few.
    pub(crate) fn step_ns(&self) -> Option<u64> {
        (self.ticks >= TICKS_MIN).then_some(self.step_ns)
    }

    /// Spreads the ticks that are complete; `ended` says that the last one is. What it gives out
    /// replaces `records`.
    pub(crate) fn spread(
        &mut self,
        records: &mut Vec<Record>,
        ended: bool,
    ) -> Result<(), TraceError> {
        self.held.append(records);
        let complete = match self.held.last() {
            Some(last) if !ended => {
                let tick = last.ts;
                self.held.partition_point(|record| record.ts < tick)
            }
            _ => self.held.len(),
        };
        if self.held.len() - complete > HELD_MAX {
            return Err(TraceError::unfit(format!(
                "more than {HELD_MAX} requests have the same time stamp, so it says nothing of arrivals; read it with \
                 --spread none and replay it closed"
            )));
        }
        let mut from = 0;
        while from < complete {
            let tick = self.held[from].ts;
            let to = from + self.held[from..complete].partition_point(|record| record.ts == tick);
            // A trace that was spread when it was written has no ticks any more.
            if !self.held[from].flags.has(Flags::RECONSTRUCTED) {
                let since = tick.abs_diff(*self.first.get_or_insert(tick));
                self.step_ns = common_step(self.step_ns, since);
                self.ticks += 1;
            }
            self.spread_tick(from, to);
            from = to;
        }
        records.extend(self.held.drain(..complete));
        Ok(())
    }

    fn spread_tick(&mut self, from: usize, to: usize) {
        let count = (to - from) as u64;
        let mut draws: Vec<u64> = match self.how {
            Spread::Poisson(_) => (0..count).map(|_| self.rng.below(self.tick_ns)).collect(),
            Spread::Even | Spread::None => Vec::new(),
        };
        draws.sort_unstable();
        for (at, record) in (0_u64..).zip(&mut self.held[from..to]) {
            record.flags = record.flags.with(Flags::COARSE);
            let within = match self.how {
                Spread::Even => {
                    (u128::from(at) * u128::from(self.tick_ns) / u128::from(count)) as u64
                }
                Spread::Poisson(_) => draws[at as usize],
                Spread::None => continue,
            };
            // A trace that was spread when it was written is not spread again.
            if !record.flags.has(Flags::RECONSTRUCTED) {
                record.ts += within as i64;
                record.flags = record.flags.with(Flags::RECONSTRUCTED);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TraceOp;

    fn spread(how: Spread, stamps: &[i64]) -> Vec<i64> {
        let mut spreader = Spreader::for_resolution(1_000_000_000, how).unwrap();
        let mut all = Vec::new();
        // One at a time, so that ticks arrive in pieces.
        for stamp in stamps {
            let mut batch = vec![Record::new(*stamp, TraceOp::Read, 0, 512, 0)];
            spreader.spread(&mut batch, false).unwrap();
            all.extend(batch);
        }
        let mut rest = Vec::new();
        spreader.spread(&mut rest, true).unwrap();
        all.extend(rest);
        assert!(all.iter().all(|record| record.flags.has(Flags::COARSE)));
        all.iter().map(|record| record.ts).collect()
    }

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn evenly_is_i_of_k() {
        let stamps = [0, 0, 0, 0, 5 * SECOND, 7 * SECOND, 7 * SECOND];
        let expected = [
            0,
            250_000_000,
            500_000_000,
            750_000_000,
            5 * SECOND,
            7 * SECOND,
            7_500_000_000,
        ];
        assert_eq!(spread(Spread::Even, &stamps), expected);
    }

    #[test]
    fn the_step_of_the_stamps_is_found_unless_they_are_few() {
        let step = |stamps: &[i64]| {
            let mut spreader = Spreader::for_resolution(SECOND as u64, Spread::Even).unwrap();
            let record = |stamp: &i64| Record::new(*stamp, TraceOp::Read, 0, 512, 0);
            let mut records: Vec<Record> = stamps.iter().map(record).collect();
            spreader.spread(&mut records, true).unwrap();
            spreader.step_ns()
        };
        let minutes: Vec<i64> = (0..10).map(|at| (7 + at * 60) * SECOND).collect();
        assert_eq!(step(&minutes), Some(60_000_000_000));
        assert_eq!(step(&minutes[..9]), None);
        let odd = [&minutes[..], &[(7 + 605) * SECOND]].concat();
        assert_eq!(step(&odd), Some(5_000_000_000));
    }

    #[test]
    fn none_leaves_them() {
        assert_eq!(spread(Spread::None, &[0, 0, SECOND]), [0, 0, SECOND]);
    }

    #[test]
    fn poisson_is_seeded_sorted_and_within_the_tick() {
        let stamps = [vec![3 * SECOND; 1000], vec![4 * SECOND; 10]].concat();
        let once = spread(Spread::Poisson(1), &stamps);
        assert_eq!(once, spread(Spread::Poisson(1), &stamps));
        assert_ne!(once, spread(Spread::Poisson(2), &stamps));
        assert!(once.is_sorted());
        assert!(
            once[..1000]
                .iter()
                .all(|ts| (3 * SECOND..4 * SECOND).contains(ts))
        );
        let mean = once[..1000].iter().map(|ts| ts - 3 * SECOND).sum::<i64>() / 1000;
        assert!((mean - SECOND / 2).abs() < SECOND / 20, "{mean}");
    }

    #[test]
    fn fine_stamps_need_none() {
        assert!(Spreader::for_resolution(1_000_000, Spread::Even).is_none());
    }
}
