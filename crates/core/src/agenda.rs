//! When each of a fixed number of sources is due, and which is due first.
//!
//! A tree of least instants, whose leaves are the sources in their order: a knockout, of which the
//! root is the winner. A source that changes is compared on its way up until something else wins
//! there, so most changes end near the leaves; of equal instants the first source wins. Whoever has
//! a few drives pays for a few steps, and whoever has many does not look at all of them. Who wins
//! is known with when, so nobody goes down for the winner.
//!
//! O(log n) for a change and for a question, O(1) for the winner; nothing is allocated once it is
//! made.

use crate::units::Instant;

/// An instant and a source, in this order: the least of some is the first of those that are due
/// first. One number, so that no branch tells which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due(u128);

impl Due {
    #[inline]
    fn new(instant: Instant, source: usize) -> Due {
        Due(u128::from(instant.0) << 64 | source as u128)
    }

    #[inline]
    fn instant(self) -> Instant {
        Instant((self.0 >> 64) as u64)
    }

    #[inline]
    fn source(self) -> usize {
        self.0 as usize
    }
}

/// When each source is due. [`Instant::NEVER`] stands for one that is not, so nothing can be due
/// then.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// The root is at 1; below a node are those at twice its place and behind that.
    tree: Vec<Due>,
    /// Where the first source is: as many as there are sources, up to a power of two.
    first: usize,
}

impl Agenda {
    /// Of so many sources, one at least, none is due.
    pub fn new(sources: usize) -> Agenda {
        let first = sources.next_power_of_two();
        // Below a node, the first source is that of its lowest leaf.
        let lowest = |at: usize| (at << (first.ilog2() - at.ilog2())) - first;
        let never = |at| Due::new(Instant::NEVER, if at == 0 { 0 } else { lowest(at) });
        Agenda {
            tree: (0..2 * first).map(never).collect(),
            first,
        }
    }

    /// When the first source is due.
    #[inline]
    pub fn least(&self) -> Option<Instant> {
        let least = self.tree[1].instant();
        (least != Instant::NEVER).then_some(least)
    }

    /// The first of the sources that are due then.
    #[inline]
    pub fn winner(&self) -> Option<usize> {
        self.least().map(|_| self.tree[1].source())
    }

    /// When a source is due.
    pub fn due(&self, source: usize) -> Option<Instant> {
        let due = self.tree[self.first + source].instant();
        (due != Instant::NEVER).then_some(due)
    }

    /// Says when a source is due.
    #[inline]
    pub fn set(&mut self, source: usize, due: Option<Instant>) {
        let mut at = self.first + source;
        let mut least = Due::new(due.unwrap_or(Instant::NEVER), source);
        while self.tree[at] != least {
            self.tree[at] = least;
            if at == 1 {
                return;
            }
            least = least.min(self.tree[at ^ 1]);
            at /= 2;
        }
    }

    /// The first source, from this one on, that is due at an instant or before.
    #[inline]
    pub fn due_by(&self, instant: Instant, from: usize) -> Option<usize> {
        let is_due = |at: usize| self.tree[at].instant() <= instant;
        if from >= self.first || !is_due(1) {
            return None;
        }
        let mut at = self.first + from;
        while !is_due(at) {
            // Up as long as nothing lies behind, and to what lies behind then.
            at >>= at.trailing_ones();
            if at == 0 {
                return None;
            }
            at += 1;
        }
        while at < self.first {
            at *= 2;
            at += usize::from(!is_due(at));
        }
        Some(at - self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// As anybody would write it: all are looked at.
    struct Twin(Vec<Option<Instant>>);

    impl Twin {
        fn least(&self) -> Option<Instant> {
            self.0.iter().flatten().min().copied()
        }

        fn due_by(&self, instant: Instant, from: usize) -> Option<usize> {
            let mut behind = (0..self.0.len()).skip(from);
            behind.find(|source| self.0[*source].is_some_and(|due| due <= instant))
        }
    }

    #[test]
    fn a_tree_tells_what_a_look_at_all_does() {
        for sources in [1, 2, 3, 7, 8, 9, 64, 112] {
            let mut rng = Rng::stream(sources, "agenda");
            let (mut agenda, mut twin) = (
                Agenda::new(sources as usize),
                Twin(vec![None; sources as usize]),
            );
            for _ in 0..20_000 {
                let source = rng.below(sources) as usize;
                // Few instants, so that many are due at the same.
                let due = rng.chance(0.7).then(|| Instant(rng.below(20)));
                agenda.set(source, due);
                twin.0[source] = due;
                assert_eq!(agenda.due(source), due);
                assert_eq!(agenda.least(), twin.least());
                let winner = twin.least().and_then(|least| twin.due_by(least, 0));
                assert_eq!(agenda.winner(), winner);
                let (instant, from) = (Instant(rng.below(21)), rng.below(sources + 2) as usize);
                for (instant, from) in [(instant, from), (instant, 0), (Instant(20), from)] {
                    assert_eq!(agenda.due_by(instant, from), twin.due_by(instant, from));
                }
            }
        }
    }
}
