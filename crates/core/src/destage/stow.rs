//! STOW: sequences wait in one circle and the rest in another; units go from one of both for a
//! while, then from the other.
//!
//! Where all wait in one circle, as with WOW, the hand comes through places with complete units of
//! sequences, which go fast and leave the buffer empty, and then through places with a page here
//! and there, which take long while the buffer fills. Here both wait apart, each by address with a
//! hand of its own, and what is written once in a sequence takes no room from what is written
//! again.
//!
//! *From the paper* (its abstract; of the text nothing was at hand): the two queues, of sequences
//! and of the rest; that their sizes adapt to the load all the time; that the order goes by address
//! and by recency as WOW's does, whose rule the rest has here: written again is passed over once;
//! that the rate of destages is to be steady, with the buffer neither empty nor full for long.
//! *Taken as known of it, without a source at hand*: a desired size of the queue of sequences, and
//! that units go from one queue for a while, so that a drive sees a train of near writes.
//!
//! *Ours*, where the sources at hand say nothing:
//!
//! - A write belongs to a sequence as the memory tells sequences of writes. A unit is where its
//!   last write puts it. A sequence turns no bit on, as in WOW.
//! - The turn is that of sequences until they have less than their desired size by
//!   `hysteresis_percent` of the buffer, and that of the rest until they have more by as much. A
//!   queue that is empty has no turn.
//! - A unit that is written again soon after it went says that its queue is too small: the desired
//!   size moves by a unit's pages. Soon is within the last pages that went from this queue, a 32nd
//!   of the buffer. It must come back as what it went as; a unit that went out of turn, as all of
//!   it was there or somebody waited for it, says nothing. One that could not be written, and waits
//!   again, did not go, and says nothing either.
//! - The rate is that of all buffers: in proportion between two marks. What makes it steadier is
//!   the two queues.
//!
//! O(log n), and amortised O(log n) for each unit that is passed over.

use std::collections::VecDeque;

use super::by_address::{Circle, Waiting};
use super::settings::{COMMON, PROMISE, SETTINGS};
use crate::contract::{Destage, Written};
use crate::ids::Unit;
use crate::pages::BUFFER_MEASURES;
use crate::registry::{DestageEnv, Knob, Spec, joined};
use crate::sorted::{Keyed, Sorted};
use crate::units::{BLOCK_BYTES, Blocks};

const REST: usize = 0;
const SEQUENCES: usize = 1;

/// Of the buffer's pages, one in so many is remembered of each queue when it has gone.
const REMEMBERED: u64 = 32;

/// A unit that went.
#[derive(Clone, Copy, Debug)]
struct Gone {
    unit: Unit,
    pages: u64,
    number: u64,
}

impl Keyed for Gone {
    type Key = Unit;

    fn key(&self) -> Unit {
        self.unit
    }
}

/// The last units that went from a queue.
#[derive(Default)]
struct Last {
    /// Pages of units that are remembered, at most.
    most: u64,
    pages: u64,
    /// In the order in which they went. Those that came back are still there.
    order: VecDeque<Gone>,
    known: Sorted<Gone>,
    number: u64,
}

impl Last {
    fn of(most: u64) -> Last {
        Last {
            most,
            ..Last::default()
        }
    }

    fn went(&mut self, waiting: &Waiting) {
        let gone = Gone {
            unit: waiting.unit,
            pages: waiting.pages,
            number: self.number,
        };
        self.number += 1;
        self.known.take(&gone.unit);
        self.known.insert(gone);
        self.order.push_back(gone);
        self.pages += gone.pages;
        while self.pages > self.most {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            self.pages -= oldest.pages;
            let cursor = self.known.seek(&oldest.unit);
            let known = self.known.at(cursor);
            if known.is_some_and(|known| known.number == oldest.number) {
                self.known.remove(cursor);
            }
        }
    }

    /// Whether a unit is remembered; it is no more.
    fn forget(&mut self, unit: Unit) -> bool {
        self.known.take(&unit).is_some()
    }
}

struct Stow {
    queues: [Circle; 2],
    last: [Last; 2],
    /// Whose turn it is.
    turn: usize,
    /// Pages that sequences are to have, and how far they may be off before the turn changes.
    desired: u64,
    hysteresis: u64,
    /// Pages that there is room for, and pages of a unit.
    room: u64,
    step: u64,
    run: Blocks,
}

impl Stow {
    /// A share of the buffer for sequences to begin with, and of hysteresis, in percent.
    fn new(env: &DestageEnv, (share, hysteresis): (u64, u64), run: Blocks) -> Stow {
        let remembered = (env.pages / REMEMBERED).max(env.unit);
        Stow {
            queues: [Circle::new(true), Circle::new(false)],
            last: [Last::of(remembered), Last::of(remembered)],
            turn: REST,
            desired: env.pages * share / 100,
            hysteresis: env.pages * hysteresis / 100,
            room: env.pages,
            step: env.unit,
            run,
        }
    }

    /// A unit comes to a queue. If it went from there a moment ago, and did not fail, the queue is
    /// to be larger.
    fn came(&mut self, unit: Unit, queue: usize, failed: bool) {
        for from in [REST, SEQUENCES] {
            if self.last[from].forget(unit) && from == queue && !failed {
                self.desired = match queue {
                    SEQUENCES => (self.desired + self.step).min(self.room),
                    _ => self.desired.saturating_sub(self.step),
                };
            }
        }
    }

    /// From which queue the next unit goes.
    fn choose(&mut self) -> usize {
        let pages = self.queues[SEQUENCES].pages();
        let is_long = match self.turn {
            SEQUENCES => pages + self.hysteresis > self.desired,
            _ => pages > self.desired + self.hysteresis,
        };
        let turn = if is_long { SEQUENCES } else { REST };
        self.turn = match self.queues[turn].is_empty() {
            true => 1 - turn,
            false => turn,
        };
        self.turn
    }
}

impl Destage for Stow {
    fn written(&mut self, unit: Unit, how: &Written) {
        let queue = if how.sequence { SEQUENCES } else { REST };
        let moves = self.queues[1 - queue].remove(unit).is_some();
        let waited = self.queues[queue].write(unit, how);
        if !moves && !waited {
            self.came(unit, queue, how.failed);
        }
    }

    fn run(&self) -> Option<Blocks> {
        Some(self.run)
    }

    fn next(&mut self) -> Option<Unit> {
        let turn = self.choose();
        let found = self.queues[turn].go()?;
        self.last[turn].went(&found);
        Some(found.unit)
    }

    fn take(&mut self, unit: Unit) {
        let [rest, sequences] = &mut self.queues;
        let found = rest.remove(unit).or_else(|| sequences.remove(unit));
        found.expect("it waits");
    }

    fn len(&self) -> usize {
        self.queues.iter().map(Destage::len).sum()
    }
}

const SHARE: &str = "sequence_percent";
const HYSTERESIS: &str = "hysteresis_percent";
const RUN: &str = "run_kib";

static KNOBS: [Knob; SETTINGS + 3] = joined(
    [
        Knob::integer(
            SHARE,
            50,
            0..=100,
            "how much of the buffer sequences are to have at the beginning, in percent; from then on it adapts",
        ),
        Knob::integer(
            HYSTERESIS,
            2,
            0..=50,
            "how far sequences may have more or less than they are to before the turn goes from one queue to the other, in percent of the buffer",
        ),
        Knob::integer(
            RUN,
            64,
            4..=16_384,
            "how much is written in a row before what follows is part of a sequence, in KiB",
        ),
    ],
    COMMON,
);

pub(super) static SPEC: Spec<dyn Destage> = Spec {
    name: "stow",
    aliases: &[],
    summary: "sequences and the rest wait apart, each by address as with WOW; one of both goes to the drives for a while, then the other",
    source: "Gill, Ko, Debnath and Belluomini, STOW: A Spatially and Temporally Optimized Write Caching Algorithm, USENIX ATC 2009",
    knobs: &KNOBS,
    measures: BUFFER_MEASURES,
    asks: &[],
    prepared: false,
    promises: PROMISE,
    build: |knobs, env| {
        let percent = |key| knobs.integer(key);
        let run = Blocks(knobs.integer(RUN) * 1024 / BLOCK_BYTES);
        let shares = (percent(SHARE), percent(HYSTERESIS));
        Ok(Box::new(Stow::new(env, shares, run)))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const ENV: DestageEnv = DestageEnv {
        pages: 100,
        unit: 4,
    };
    const RUN: Blocks = Blocks(64);

    fn how(sequence: bool, again: bool, pages: u64) -> Written {
        Written {
            again,
            sequence,
            pages,
            failed: false,
        }
    }

    fn next(stow: &mut Stow, count: usize) -> Vec<u64> {
        let units = (0..count).filter_map(|_| stow.next());
        units.map(|unit| unit.0).collect()
    }

    /// Of 100 pages sequences are to have 20, and the turn changes at 16 and at 24.
    #[test]
    fn units_go_from_one_queue_for_a_while() {
        let mut stow = Stow::new(&ENV, (20, 4), RUN);
        for unit in 0..7 {
            stow.written(Unit(10 * unit), &how(true, false, 4));
            stow.written(Unit(10 * unit + 5), &how(false, false, 1));
        }
        // 28 pages: three go until 16 are left, then it is the turn of the rest.
        assert_eq!(next(&mut stow, 3), [0, 10, 20]);
        assert_eq!(next(&mut stow, 2), [5, 15]);
        // 24 are not too many, 28 are; each hand is where it was.
        for unit in [71, 72] {
            stow.written(Unit(unit), &how(true, false, 4));
        }
        assert_eq!(next(&mut stow, 1), [25]);
        stow.written(Unit(73), &how(true, false, 4));
        assert_eq!(next(&mut stow, 4), [30, 40, 50, 35]);
        // The rest ends, and sequences go though they are few.
        assert_eq!(next(&mut stow, 9), [45, 55, 65, 60, 71, 72, 73]);
        assert_eq!(stow.len(), 0);
    }

    #[test]
    fn what_was_written_again_is_passed_over_unless_it_is_a_sequence() {
        let mut stow = Stow::new(&ENV, (50, 0), RUN);
        for (unit, sequence) in [(1, false), (2, false), (3, true), (4, true)] {
            stow.written(Unit(unit), &how(sequence, false, 1));
            let again = how(sequence, unit % 2 == 1, 2);
            stow.written(Unit(unit), &again);
        }
        assert_eq!(next(&mut stow, 4), [2, 1, 3, 4]);
    }

    /// The last write decides.
    #[test]
    fn a_unit_is_in_one_queue() {
        let mut stow = Stow::new(&ENV, (0, 0), RUN);
        stow.written(Unit(1), &how(false, false, 1));
        stow.written(Unit(9), &how(true, false, 3));
        stow.written(Unit(1), &how(true, false, 2));
        let pages = |stow: &Stow| [REST, SEQUENCES].map(|queue| stow.queues[queue].pages());
        assert_eq!((pages(&stow), stow.len()), ([0, 5], 2));
        stow.written(Unit(9), &how(false, true, 3));
        assert_eq!((pages(&stow), stow.len()), ([3, 2], 2));
        stow.take(Unit(9));
        stow.take(Unit(1));
        assert_eq!((pages(&stow), stow.len()), ([0, 0], 0));
    }

    /// A 32nd of 640 pages are 20.
    #[test]
    fn what_comes_back_soon_moves_the_desired_size() {
        let env = DestageEnv {
            pages: 640,
            unit: 4,
        };
        let desired = |pages: u64, others: u64, went: bool, comes: bool| {
            let mut stow = Stow::new(&env, (50, 0), RUN);
            stow.written(Unit(0), &how(went, false, pages));
            for other in 1..=others {
                stow.written(Unit(other), &how(went, false, 4));
            }
            next(&mut stow, 1 + others as usize);
            stow.written(Unit(0), &how(comes, false, 1));
            // It is there by now, so that nothing came back.
            stow.written(Unit(0), &how(comes, true, 1));
            stow.desired
        };
        assert_eq!(desired(4, 4, true, true), 324);
        assert_eq!(desired(4, 5, true, true), 320, "too long ago");
        assert_eq!(desired(1, 4, false, false), 316);
        assert_eq!(desired(4, 0, true, false), 320, "as something else");
        assert_eq!(desired(4, 0, false, true), 320, "as something else");
        let mut stow = Stow::new(&env, (50, 0), RUN);
        stow.written(Unit(3), &how(true, false, 4));
        stow.take(Unit(3));
        stow.written(Unit(3), &how(true, false, 4));
        assert_eq!(stow.desired, 320, "it went out of turn");
        assert_eq!(next(&mut stow, 1), [3]);
        let failed = Written {
            failed: true,
            ..how(true, false, 4)
        };
        stow.written(Unit(3), &failed);
        stow.take(Unit(3));
        stow.written(Unit(3), &how(true, false, 4));
        assert_eq!(stow.desired, 320, "it did not go");
    }

    /// As anybody would write it: units in a list, each looked for.
    #[derive(Default)]
    struct Twin {
        /// Unit, whether it is of a sequence, its pages, whether it is to be passed over.
        units: Vec<(u64, bool, u64, bool)>,
        hands: [u64; 2],
        /// Unit and pages of those that went, by queue; none in place of one that came back or went
        /// once more.
        gone: [Vec<(Option<u64>, u64)>; 2],
        sequences: bool,
        desired: i64,
    }

    impl Twin {
        fn written(&mut self, unit: u64, how: &Written) {
            let at = self.units.iter().position(|one| one.0 == unit);
            let before = at.map(|at| self.units.remove(at));
            let stays = before.is_some_and(|one| one.1 == how.sequence && one.3);
            let recent = !how.sequence && (how.again || stays);
            self.units.push((unit, how.sequence, how.pages, recent));
            if before.is_some() {
                return;
            }
            for queue in [false, true] {
                let mut left = 100 / REMEMBERED;
                left = left.max(4);
                let mut found = false;
                for (gone, pages) in self.gone[usize::from(queue)].iter_mut().rev() {
                    if *pages > left {
                        break;
                    }
                    left -= *pages;
                    found |= gone.take_if(|gone| *gone == unit).is_some();
                }
                if found && queue == how.sequence && !how.failed {
                    self.desired += if queue { 4 } else { -4 };
                    self.desired = self.desired.clamp(0, 100);
                }
            }
        }

        fn next(&mut self) -> Option<u64> {
            let pages = self.units.iter().filter(|one| one.1);
            let pages: u64 = pages.map(|one| one.2).sum();
            let mark = if self.sequences { -3 } else { 3 };
            self.sequences = pages as i64 > self.desired + mark;
            if !self.units.iter().any(|one| one.1 == self.sequences) {
                self.sequences = !self.sequences;
            }
            let queue = usize::from(self.sequences);
            loop {
                let hand = self.hands[queue];
                let own = self.units.iter().filter(|one| one.1 == self.sequences);
                let next = own.min_by_key(|one| (one.0 < hand, one.0)).copied()?;
                self.hands[queue] = next.0 + 1;
                let at = self.units.iter().position(|one| one.0 == next.0)?;
                if next.3 {
                    self.units[at].3 = false;
                    continue;
                }
                self.units.remove(at);
                let gone = &mut self.gone[queue];
                gone.iter_mut()
                    .for_each(|(one, _)| _ = one.take_if(|one| *one == next.0));
                gone.push((Some(next.0), next.2));
                return Some(next.0);
            }
        }
    }

    #[test]
    fn it_does_what_a_list_that_is_searched_does() {
        let mut rng = Rng::stream(1, "stow");
        let mut stow = Stow::new(&ENV, (20, 3), RUN);
        let mut twin = Twin {
            desired: 20,
            ..Twin::default()
        };
        let (mut sizes, mut turns) = (std::collections::BTreeSet::new(), 0);
        for _ in 0..40_000 {
            let unit = rng.below(40);
            match rng.below(5) {
                0 | 1 => {
                    let before = stow.turn;
                    assert_eq!(stow.next().map(|unit| unit.0), twin.next());
                    turns += u32::from(before != stow.turn);
                }
                2 if twin.units.iter().any(|one| one.0 == unit) => {
                    stow.take(Unit(unit));
                    twin.units.retain(|one| one.0 != unit);
                }
                _ => {
                    let sequence = rng.chance(if unit.is_multiple_of(3) { 0.9 } else { 0.1 });
                    let waits = twin.units.iter().any(|one| one.0 == unit);
                    let how = Written {
                        failed: !waits && rng.chance(0.05),
                        ..how(sequence, waits && rng.chance(0.5), 1 + rng.below(4))
                    };
                    stow.written(Unit(unit), &how);
                    twin.written(unit, &how);
                }
            }
            assert_eq!(stow.desired as i64, twin.desired);
            assert_eq!(stow.len(), twin.units.len());
            sizes.insert(stow.desired);
        }
        assert!(sizes.len() > 8 && turns > 1_000, "{sizes:?}, {turns} turns");
    }
}
