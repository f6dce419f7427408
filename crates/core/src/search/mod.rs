//! The nearest of many: which waiting I/O or free slot an arm can reach first, without trying all.
//!
//! Positioning is movement plus rotational latency. No I/O at a distance costs less than the arm's
//! [`seek_at_least`](Arm::seek_at_least), which never falls with distance. So the search walks
//! outward from the arm's cylinder, up and down in turns, and ends a side when its next I/O is too
//! far to win. The choice is the same as by trying all. A side goes on while its bound equals the
//! best price, because an older I/O farther out may still win the tie.
//!
//! The idea is old: Jacobson and Wilkes, "Disk scheduling algorithms based on rotational position",
//! HP Laboratories HPL-CSP-91-7, 1991. Cost: O(log n) to find the arm's cylinder, then one price
//! for each I/O within reach. In a longer queue the best price is lower, so the reach is narrower:
//! on a Cheetah 9LP 4, 11, 25 and 49 prices at 8, 64, 512 and 4,096 waiting I/Os. If many I/Os wait
//! on every single cylinder, the count grows with them again.

use crate::contract::Arm;
use crate::freemap::FreeMap;
use crate::position::{Candidate, Choice, Search};
use crate::sorted::{Cursor, Sorted};
use crate::units::{Duration, Instant};

pub mod free;
pub mod offered;
mod openings;

/// I/Os that are priced between two looks at the bound. A processor computes a few prices in
/// parallel faster than it evaluates a branch after each.
const RUN_MAX: usize = 4;

/// The answer of [`Oracle::nearest`](crate::contract::Oracle::nearest) for an oracle with an arm.
#[inline]
pub fn nearest<A: Arm + ?Sized>(
    arm: &A,
    now: Instant,
    waiting: &Sorted<Candidate>,
) -> Option<Choice> {
    least(
        waiting,
        arm.position().cylinder,
        |distance| arm.seek_at_least(distance),
        |candidate| arm.positioning_time(now, candidate.op, &candidate.place, candidate.len()),
    )
}

/// The waiting I/O with the least price, and of equals the oldest. `at_least` is a lower bound of
/// all prices at a distance in cylinders `from` this one or farther; 0 for all distances makes the
/// search try all.
#[inline]
pub fn least(
    waiting: &Sorted<Candidate>,
    from: u32,
    at_least: impl Fn(u32) -> Duration,
    price: impl Fn(&Candidate) -> Duration,
) -> Option<Choice> {
    let middle = waiting.seek(&Candidate::lowest_key(from));
    let out_of_reach = |candidate: &Candidate, best: &Best| {
        let distance = from.abs_diff(candidate.place.cylinder);
        at_least(distance) > best.time
    };
    let mut best = Best {
        time: Duration::MAX,
        sequence: u64::MAX,
        cursor: None,
    };
    let (mut up, mut down) = (middle, middle);
    let (mut up_ended, mut down_ended) = (false, false);
    while !(up_ended && down_ended) {
        if !up_ended {
            let run = waiting.run_from(up);
            let run = &run[..run.len().min(RUN_MAX)];
            up_ended = run.first().is_none_or(|first| out_of_reach(first, &best));
            if !up_ended {
                best.consider(run, up, &price);
                up = waiting.forward(up, run.len());
            }
        }
        if !down_ended {
            let run = waiting.run_before(down);
            let run = &run[run.len() - run.len().min(RUN_MAX)..];
            down_ended = run.last().is_none_or(|last| out_of_reach(last, &best));
            if !down_ended {
                down = waiting.back(down, run.len());
                best.consider(run, down, &price);
            }
        }
    }
    let Best { time, cursor, .. } = best;
    cursor.map(|cursor| Choice { cursor, time })
}

/// The best so far; at the beginning one that every candidate beats.
struct Best {
    time: Duration,
    sequence: u64,
    cursor: Option<Cursor>,
}

impl Best {
    #[inline]
    fn consider(
        &mut self,
        run: &[Candidate],
        start: Cursor,
        price: impl Fn(&Candidate) -> Duration,
    ) {
        for (offset, candidate) in run.iter().enumerate() {
            let time = price(candidate);
            if (time, candidate.sequence) < (self.time, self.sequence) {
                *self = Best {
                    time,
                    sequence: candidate.sequence,
                    cursor: Some(start.plus(offset)),
                };
            }
        }
    }
}

/// The direction in which eager writes look for free slots.
///
/// If they took the nearest free slot in both directions, the arm would stay in one region until no
/// slot is free there. So they search from the arm's cylinder in one direction, and turn round when
/// no slot is free ahead (Zhang and others, FAST 2002, section 4; the virtual-log disk of OSDI 1999
/// began again at the first cylinder). The first sweep continues in the direction of the writes
/// that prepared the drive, because few slots are free behind them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// None before the first search.
    upward: Option<bool>,
}

impl Sweep {
    /// The search for a free slot from `cylinder` on, which turns the sweep round if no slot is
    /// free ahead.
    pub fn search(&mut self, now: Instant, cylinder: u32, free: &FreeMap) -> Search {
        let last = free.tracks().cylinders() - 1;
        let cylinder = cylinder.min(last);
        let any_ahead = |upward: bool| match upward {
            true => cylinder < last && free.any_in(cylinder + 1..=last),
            false => cylinder > 0 && free.any_in(0..=cylinder - 1),
        };
        let mut upward = self.upward(free);
        if !any_ahead(upward) && any_ahead(!upward) {
            upward = !upward;
        }
        self.upward = Some(upward);
        let (low, high) = if upward {
            (cylinder, last)
        } else {
            (0, cylinder)
        };
        Search {
            low,
            high,
            ..Search::anywhere(now)
        }
    }

    /// Whether the sweep goes upward.
    pub fn upward(&self, free: &FreeMap) -> bool {
        self.upward.unwrap_or_else(|| free.left().upward)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use super::*;
    use crate::drive;
    use crate::freemap::{Left, Slot};
    use crate::ids::IoId;
    use crate::op::Op;
    use crate::position::Place;
    use crate::sched::desk::DISK;
    use crate::units::{Angle, Blocks};

    /// I/Os that wait, given by cylinder and rotational latency in ms, in order of age.
    fn waiting(places: &[(u32, u32)]) -> Sorted<Candidate> {
        let mut waiting = Sorted::default();
        for (sequence, (cylinder, latency_ms)) in places.iter().enumerate() {
            waiting.insert(Candidate {
                place: Place {
                    cylinder: *cylinder,
                    surface: 0,
                    angle: Angle(*latency_ms),
                },
                op: Op::Read,
                id: IoId(sequence as u32),
                sequence: sequence as u64,
                blocks: 1,
            });
        }
        waiting
    }

    fn seek(distance: u32) -> Duration {
        Duration::from_ms(distance.into())
    }

    /// The age of the nearest from cylinder 5 on, its time in ms, and how many prices were
    /// computed; a seek takes 1 ms a cylinder.
    fn nearest_of(places: &[(u32, u32)]) -> (u64, u64, u32) {
        let (waiting, prices) = (waiting(places), Cell::new(0));
        let price = |candidate: &Candidate| {
            prices.set(prices.get() + 1);
            let Place {
                cylinder, angle, ..
            } = candidate.place;
            seek(cylinder.abs_diff(5)) + Duration::from_ms(angle.0.into())
        };
        let choice = least(&waiting, 5, seek, price).unwrap();
        let found = waiting.at(choice.cursor).unwrap();
        (found.sequence, choice.time.0 / 1_000_000, prices.get())
    }

    #[test]
    fn a_short_seek_and_a_short_latency_beat_a_long_latency_here() {
        let (age, time, _) = nearest_of(&[(5, 9), (7, 1)]);
        assert_eq!((age, time), (1, 3));
        let (age, time, _) = nearest_of(&[(5, 9), (3, 1)]);
        assert_eq!((age, time), (1, 3));
    }

    #[test]
    fn of_equals_the_oldest_wins_even_at_the_very_end_of_the_reach() {
        // The oldest costs 3 ms by its seek alone, which is no more than the 3 ms of the next one.
        // Those at hand fill a run, so that the bound is looked at before the oldest is priced.
        let places = [(8, 0), (5, 3), (5, 9), (5, 9), (5, 9)];
        let (age, time, prices) = nearest_of(&places);
        assert_eq!((age, time), (0, 3));
        assert_eq!(prices, 5);
    }

    #[test]
    fn what_lies_out_of_reach_is_not_priced() {
        let mut places = vec![(5, 1)];
        places.extend((0..100).map(|index| (20 + index, 0)));
        let (age, time, prices) = nearest_of(&places);
        assert_eq!((age, time), (0, 1));
        assert!(prices as usize <= RUN_MAX, "{prices} prices");
    }

    #[test]
    fn without_a_bound_every_one_is_priced() {
        let waiting = waiting(&[(0, 4), (9, 2), (90, 1)]);
        let price = |candidate: &Candidate| Duration::from_ms(candidate.place.angle.0.into());
        let choice = least(&waiting, 0, |_| Duration::ZERO, price).unwrap();
        assert_eq!(waiting.at(choice.cursor).unwrap().sequence, 2);
    }

    #[test]
    fn of_none_there_is_no_nearest() {
        let price = |_: &Candidate| Duration::ZERO;
        assert_eq!(least(&waiting(&[]), 3, seek, price), None);
    }

    #[test]
    fn a_sweep_turns_when_no_slot_is_free_ahead_and_not_before() {
        let (blueprint, _) = drive::read("small", DISK, &[]).unwrap();
        let mut free = FreeMap::full(Arc::new(blueprint.tracks(Blocks(1)).unwrap()));
        free.release(Slot(10));
        free.release(Slot(80));
        let mut sweep = Sweep::default();
        let mut range = |cylinder| {
            let search = sweep.search(Instant::ZERO, cylinder, &free);
            (search.low, search.high)
        };
        assert_eq!(range(5), (5, 9));
        assert_eq!(range(8), (0, 8));
        // Block 80 is free above, but block 10 is free ahead.
        assert_eq!(range(5), (0, 5));
        assert_eq!(range(1), (1, 9));
    }

    #[test]
    fn the_first_sweep_continues_as_the_drive_was_prepared() {
        let (blueprint, _) = drive::read("small", DISK, &[]).unwrap();
        let mut free = FreeMap::empty(Arc::new(blueprint.tracks(Blocks(1)).unwrap()));
        for upward in [true, false] {
            free.leave(Left { at: None, upward });
            let search = Sweep::default().search(Instant::ZERO, 5, &free);
            let expected = if upward { (5, 9) } else { (0, 5) };
            assert_eq!((search.low, search.high), expected);
        }
    }
}
