//! A sample of another load's requests in a closed loop, to find out what a drive can do with such requests.
//!
//! A few nanoseconds per request.

use nearslot_core::ids::RequestId;
use nearslot_core::request::{Reply, Request};
use nearslot_core::units::Instant;

use super::Workload;
use super::closed::{Loop, Refill};

/// Requests that were drawn from a load before, a constant number in flight.
pub struct Sampled {
    requests: Vec<Request>,
    next: usize,
    room: Loop,
}

impl Sampled {
    /// These requests in their order, `depth` in flight.
    ///
    /// # Panics
    /// If `depth` is 0.
    pub fn new(requests: Vec<Request>, depth: u64) -> Sampled {
        Sampled {
            requests,
            next: 0,
            room: Loop::new(depth, Refill::After),
        }
    }
}

impl Workload for Sampled {
    fn next_arrival(&self) -> Option<Instant> {
        let room = self.room.room();
        room.filter(|_| self.next < self.requests.len())
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        self.next_arrival()?;
        self.room.enter();
        let number = self.next as u64;
        self.next += 1;
        Some(Request {
            id: RequestId(number),
            arrived: now,
            ..self.requests[self.next - 1]
        })
    }

    fn replied(&mut self, now: Instant, _reply: &Reply) {
        self.room.leave(now);
    }
}
