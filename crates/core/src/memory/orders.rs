//! What the memory wants done, in its order.

use std::collections::VecDeque;

use super::{Move, Order};

/// Orders that were not taken.
pub(super) struct Orders {
    queue: VecDeque<Order>,
    /// Whether anybody moves bytes. If not, nobody is told which.
    pub(super) moves: bool,
}

impl Orders {
    /// None yet, for somebody who moves bytes.
    pub(super) fn new() -> Orders {
        Orders {
            queue: VecDeque::new(),
            moves: true,
        }
    }

    /// The stack below gets something to do, or a client an answer.
    #[inline]
    pub(super) fn push(&mut self, order: Order) {
        self.queue.push_back(order);
    }

    /// Bytes are to be moved.
    #[inline]
    pub(super) fn push_move(&mut self, one: Move) {
        if self.moves {
            self.queue.push_back(Order::Move(one));
        }
    }

    /// The same of several. Where nobody moves bytes these are not even made.
    #[inline]
    pub(super) fn push_moves(&mut self, all: impl Iterator<Item = Move>) {
        if self.moves {
            self.queue.extend(all.map(Order::Move));
        }
    }

    /// The first one is taken.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Order> {
        self.queue.pop_front()
    }

    /// Whether all were taken.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
