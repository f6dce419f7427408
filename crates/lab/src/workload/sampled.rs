//! A sample of another load's requests in a closed loop, to find out what a drive can do with such
//! requests.
//!
//! A few nanoseconds per request.

use nearslot_core::ids::RequestId;
use nearslot_core::request::{Reply, Request};
use nearslot_core::units::Instant;

use super::Workload;
use super::closed::{Loop, Refill};

/// Requests that were drawn from a load before, a constant number in flight.
pub struct Sampled<'a> {
    requests: &'a [Request],
    next: u64,
    total: u64,
    room: Loop,
}

impl Sampled<'_> {
    /// `total` requests, which are these in their order, again and again; `depth` in flight.
    ///
    /// # Panics
    /// If `depth` is 0.
    pub fn new(requests: &[Request], total: u64, depth: u64) -> Sampled<'_> {
        Sampled {
            requests,
            next: 0,
            total,
            room: Loop::new(depth, Refill::After),
        }
    }
}

impl Workload for Sampled<'_> {
    fn next_arrival(&self) -> Option<Instant> {
        let room = self.room.room();
        room.filter(|_| self.next < self.total)
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        self.next_arrival()?;
        self.room.enter();
        let number = self.next;
        self.next += 1;
        Some(Request {
            id: RequestId(number),
            arrived: now,
            ..self.requests[(number % self.requests.len() as u64) as usize]
        })
    }

    fn replied(&mut self, now: Instant, _reply: &Reply) {
        self.room.leave(now);
    }
}
