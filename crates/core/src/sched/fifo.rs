//! I/Os in the order in which they came, of which any can leave before its turn.
//!
//! Who leaves is noted, and passed over when its turn comes. Once as many have left as wait, they
//! are taken out in one pass. So nothing is paid for where nobody leaves, and as long as somebody
//! has left each pays O(log n), amortised, however many wait before it.

use std::collections::VecDeque;

use crate::ids::IoId;
use crate::sorted::{Keyed, Sorted};

/// How often an I/O of this name has left and is still to be passed over: more than once if the
/// name was given anew.
#[derive(Clone, Copy)]
struct Left {
    id: IoId,
    times: usize,
}

impl Keyed for Left {
    type Key = IoId;

    #[inline]
    fn key(&self) -> IoId {
        self.id
    }
}

/// I/Os that wait, and what is known of each.
pub(super) struct Fifo<T> {
    line: VecDeque<(IoId, T)>,
    left: Sorted<Left>,
    /// Of those in line, the ones that have left.
    gone: usize,
}

impl<T> Default for Fifo<T> {
    fn default() -> Fifo<T> {
        Fifo {
            line: VecDeque::new(),
            left: Sorted::default(),
            gone: 0,
        }
    }
}

impl<T> Fifo<T> {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.line.len() - self.gone
    }

    #[inline]
    pub(super) fn push(&mut self, id: IoId, item: T) {
        self.line.push_back((id, item));
    }

    /// Takes out who has waited longest.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(IoId, T)> {
        loop {
            let first = self.line.pop_front()?;
            if self.gone == 0 || !pass_over(&mut self.left, first.0) {
                return Some(first);
            }
            self.gone -= 1;
        }
    }

    /// An I/O that waits does so no longer.
    ///
    /// # Panics
    /// It does not wait, if that is seen by now.
    pub(super) fn leave(&mut self, id: IoId) {
        let times = 1 + self.left.take(&id).map_or(0, |left| left.times);
        self.left.insert(Left { id, times });
        self.gone += 1;
        if 2 * self.gone >= self.line.len() {
            let left = &mut self.left;
            self.line.retain(|(id, _)| !pass_over(left, *id));
            self.gone = 0;
        }
        // Who leaves has waited, so all that have left are in line.
        let all_passed = self.gone > 0 || self.left.is_empty();
        assert!(all_passed, "what is withdrawn waits");
    }

    /// Recounts who has left, and panics on a contradiction.
    pub(super) fn audit(&self) {
        self.left.audit();
        let times: usize = self.left.iter().map(|left| left.times).sum();
        assert_eq!(times, self.gone, "who has left");
        for left in self.left.iter() {
            let in_line = self.line.iter().filter(|(id, _)| *id == left.id).count();
            assert!(in_line >= left.times, "{:?} left and never came", left.id);
        }
    }
}

/// Whether the first I/O of this name in line has left. That is told once.
fn pass_over(left: &mut Sorted<Left>, id: IoId) -> bool {
    let Some(Left { times, .. }) = left.take(&id) else {
        return false;
    };
    if times > 1 {
        let times = times - 1;
        left.insert(Left { id, times });
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Against a list that is searched, with names that are given anew.
    #[test]
    fn who_has_not_left_goes_in_the_order_of_coming() {
        let mut rng = Rng::stream(7, "fifo");
        let mut fifo = Fifo::default();
        let mut literal: Vec<(IoId, u64)> = Vec::new();
        for step in 0..20_000 {
            match rng.below(5) {
                0 | 1 if literal.len() < 60 => {
                    let id = IoId(rng.below(80) as u32);
                    if literal.iter().all(|(other, _)| *other != id) {
                        literal.push((id, step));
                        fifo.push(id, step);
                    }
                }
                2 => {
                    let expected = (!literal.is_empty()).then(|| literal.remove(0));
                    assert_eq!(fifo.pop(), expected);
                }
                _ if !literal.is_empty() => {
                    let place = rng.below(literal.len() as u64) as usize;
                    fifo.leave(literal.remove(place).0);
                    let most = 2 * literal.len();
                    assert!(fifo.line.len() <= most, "who has left takes room");
                }
                _ => {}
            }
            assert_eq!(fifo.len(), literal.len());
            fifo.audit();
        }
    }

    #[test]
    #[should_panic(expected = "what is withdrawn waits")]
    fn who_never_came_does_not_leave() {
        let mut fifo = Fifo::default();
        fifo.push(IoId(1), ());
        fifo.leave(IoId(2));
    }

    #[test]
    #[should_panic(expected = "IoId(99) left and never came")]
    fn an_audit_finds_who_left_and_never_came() {
        let mut fifo = Fifo::default();
        (0..10).for_each(|id| fifo.push(IoId(id), ()));
        fifo.leave(IoId(99));
        fifo.audit();
    }
}
