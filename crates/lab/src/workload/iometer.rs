//! Closed loop with a constant queue, as the benchmark of that name makes it.
//!
//! `depth` requests come at time 0; every answer brings the next one, until `requests` were made.
//! What they are is drawn as `access.rs` says.

use nearslot_core::registry::{Knob, Spec};
use nearslot_core::request::{Reply, Request};
use nearslot_core::units::Instant;

use super::access::{self, Access};
use super::closed::{Loop, Refill};
use super::{Synthetic, Workload};

struct Iometer {
    access: Access,
    room: Loop,
}

impl Workload for Iometer {
    fn next_arrival(&self) -> Option<Instant> {
        let room = self.room.room();
        room.filter(|_| self.access.left() > 0)
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        self.next_arrival()?;
        self.room.enter();
        // Who asks for more when it is answered waits for it.
        Some(Request {
            sync: true,
            ..self.access.next(now)
        })
    }

    fn replied(&mut self, now: Instant, _reply: &Reply) {
        self.room.leave(now);
    }

    fn refill(&self) -> Refill {
        self.room.refill()
    }
}

pub(super) const REFILL: Knob = Knob::choice(
    "refill",
    Refill::After.word(),
    Refill::WORDS,
    "whether the request that an answer brings comes after or before the drive chooses what it does next",
);

pub(super) static SPEC: Spec<Synthetic> = Spec {
    name: "iometer",
    aliases: &["closed-loop"],
    summary: "closed loop with a constant queue",
    source: "Iometer (Intel, 1998): outstanding I/Os, access specification",
    knobs: &[
        Knob::integer("depth", 16, 1..=1_048_576, "requests in flight"),
        REFILL,
        access::READ_SHARE,
        access::SIZE,
        access::SPAN,
        access::ALIGN,
        access::SEQUENTIAL_SHARE,
        access::LOCALITY,
        access::HOT_SPACE,
        access::HOT_REQUESTS,
        access::ZIPF_EXPONENT,
        access::REQUESTS,
    ],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |knobs, env| {
        let access = Access::new(knobs, env)?;
        let depth = knobs.integer("depth");
        let refill = knobs.choice("refill").parse()?;
        Ok(Box::new(Synthetic {
            requests: Some(access.left()),
            depth: Some(depth),
            workload: Box::new(Iometer {
                access,
                room: Loop::new(depth, refill),
            }),
        }))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::access::tests::synthetic;
    use crate::workload::tests::reply;

    #[test]
    fn the_depth_is_kept_until_all_were_made() {
        let mut made = synthetic("iometer:depth=3:requests=5").unwrap();
        assert_eq!((made.requests, made.depth), (Some(5), Some(3)));
        let workload = &mut made.workload;
        let mut flying: Vec<_> = std::iter::from_fn(|| workload.poll(Instant::ZERO)).collect();
        for (step, in_flight) in [3, 3, 3, 2, 1].into_iter().enumerate() {
            assert_eq!(flying.len(), in_flight);
            let now = Instant(step as u64 * 100 + 7);
            workload.replied(now, &reply(flying.remove(0), now));
            let next = workload.next_arrival();
            assert_eq!(next, (step < 2).then_some(now));
            flying.extend(workload.poll(now));
        }
        assert!(flying.is_empty());
    }

    #[test]
    fn the_next_request_comes_before_or_after_the_choice_as_is_said() {
        let refill = |word: &str| synthetic(word).unwrap().workload.refill();
        assert_eq!(refill("iometer:refill=before"), Refill::Before);
        assert_eq!(refill("iometer:refill=after"), Refill::After);
        assert_eq!(refill("iometer"), Refill::After);
    }

    #[test]
    fn the_same_seed_asks_the_same() {
        let all = || {
            let mut made = synthetic("iometer:read_share=0.5:depth=100:requests=100").unwrap();
            let all = std::iter::from_fn(move || made.workload.poll(Instant::ZERO));
            all.collect::<Vec<_>>()
        };
        assert_eq!(all(), all());
    }
}
