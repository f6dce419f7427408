//! Closed replay: a constant number of requests in flight, whatever the traced times.
//!
//! At time 0 the first N requests come; from then on every answer brings the next one. It asks what
//! the drive can do with this mix of requests, as a benchmark with a fixed queue depth does. A few
//! nanoseconds per request.
//!
//! The next request comes at the instant of the answer. A host that must not leave its drive idle
//! has then begun another request already: of N in flight, N - 1 are left to choose from
//! ([`Refill::After`]). Studies of schedulers keep a queue of N to choose from
//! ([`Refill::Before`]). On one drive, N in flight with the next one before the choice are served
//! in the same order as N + 1 with it after the choice, but for the beginning.

use nearslot_core::request::{Reply, Request};
use nearslot_core::units::Instant;

use super::intake::{Asked, Intake};
use super::{Tally, Workload, WorkloadError};

words! {
    /// When the request that an answer brings comes, at the instant of that answer.
    Refill {
        /// After the drive has chosen what it does next.
        After = "after",
        /// Before the drive chooses, which then has all that are in flight to choose from.
        Before = "before",
    }
}

/// Room for requests in a closed loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    depth: u64,
    refill: Refill,
    in_flight: u64,
    /// When there was last room for one more: the latest answer.
    since: Instant,
}

impl Loop {
    pub(super) fn new(depth: u64, refill: Refill) -> Loop {
        assert!(depth > 0, "a closed loop of depth 0 never starts");
        Loop {
            depth,
            refill,
            in_flight: 0,
            since: Instant::ZERO,
        }
    }

    /// When the next one comes.
    pub(super) fn refill(&self) -> Refill {
        self.refill
    }

    /// Since when one more may come.
    #[inline]
    pub(super) fn room(&self) -> Option<Instant> {
        (self.in_flight < self.depth).then_some(self.since)
    }

    #[inline]
    pub(super) fn enter(&mut self) {
        assert!(self.in_flight < self.depth, "the loop is full");
        self.in_flight += 1;
    }

    #[inline]
    pub(super) fn leave(&mut self, now: Instant) {
        assert!(self.in_flight > 0, "an answer without a request");
        self.in_flight -= 1;
        self.since = now;
    }
}

/// A trace's requests with a constant number in flight.
pub struct Closed {
    intake: Intake,
    room: Loop,
    next: Option<Asked>,
}

impl Closed {
    /// Replays `intake` with `depth` requests in flight, the next one after or before the choice
    /// that an answer leads to.
    ///
    /// # Panics
    /// If `depth` is 0.
    pub fn new(mut intake: Intake, depth: u64, refill: Refill) -> Closed {
        let next = intake.next();
        Closed {
            intake,
            room: Loop::new(depth, refill),
            next,
        }
    }
}

impl Workload for Closed {
    fn next_arrival(&self) -> Option<Instant> {
        self.next.as_ref().and_then(|_| self.room.room())
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        self.room.room()?;
        let request = Request {
            arrived: now,
            ..self.next.as_ref()?.request
        };
        self.next = self.intake.next();
        self.room.enter();
        Some(request)
    }

    fn replied(&mut self, now: Instant, _reply: &Reply) {
        self.room.leave(now);
    }

    fn refill(&self) -> Refill {
        self.room.refill()
    }

    fn failure(&mut self) -> Option<WorkloadError> {
        self.intake.failure()
    }

    fn tally(&self) -> Tally {
        self.intake.tally()
    }
}

#[cfg(test)]
mod tests {
    use nearslot_core::config::{Assembly, DriveConfig, PartConfig, StackConfig};
    use nearslot_core::contract::{Blueprint, Placement, Scheduler};
    use nearslot_core::drive::catalog_text;
    use nearslot_core::ids::{DriveId, IoId};
    use nearslot_core::io::{Command, Origin};
    use nearslot_core::op::Op;
    use nearslot_core::rng::Rng;
    use nearslot_core::stack::Stack;
    use nearslot_core::units::{Blocks, Pba};
    use proptest::prelude::*;

    use nearslot_trace::{Record, TraceOp};

    use super::*;
    use crate::sim::{self, Control, Observer};
    use crate::workload::fit::Mode;
    use crate::workload::intake::tests::intake;
    use crate::workload::tests::reply;

    fn closed(count: i64, depth: u64) -> Closed {
        let record = |ts| Record::new(ts, TraceOp::Read, 0, 512, 0);
        let records: Vec<Record> = (0..count).map(record).collect();
        Closed::new(intake(&records, Mode::None, 8), depth, Refill::After)
    }

    #[test]
    fn the_first_come_at_once_and_each_answer_brings_the_next() {
        let mut closed = closed(3, 2);
        let first = closed.poll(Instant::ZERO).unwrap();
        assert_eq!(closed.next_arrival(), Some(Instant::ZERO));
        assert_eq!(closed.poll(Instant::ZERO).unwrap().id.0, 1);
        assert_eq!(closed.next_arrival(), None);
        assert!(closed.poll(Instant(50)).is_none());
        closed.replied(Instant(70), &reply(first, Instant(70)));
        assert_eq!(closed.next_arrival(), Some(Instant(70)));
        let last = closed.poll(Instant(70)).unwrap();
        assert_eq!((last.id.0, last.arrived), (2, Instant(70)));
        closed.replied(Instant(80), &reply(last, Instant(80)));
        assert_eq!(closed.next_arrival(), None);
    }

    const DRIVE: &str = "seagate-cheetah-9lp";

    fn assembly(sched: &str, place: &str) -> Assembly {
        let drive = DriveConfig {
            part: format!("{DRIVE}:model=mechanical").parse().unwrap(),
            text: catalog_text(DRIVE).unwrap().to_owned(),
        };
        let config = StackConfig::over(drive, 1)
            .with::<dyn Scheduler>(PartConfig::named(sched))
            .with::<dyn Placement>(PartConfig::named(place));
        config.build().unwrap()
    }

    /// Reads and writes of 4 KB anywhere in so many blocks.
    fn anywhere(count: i64, capacity: u64) -> Vec<Record> {
        let mut rng = Rng::stream(1, "test/closed");
        let mut one = |ts| {
            let op = [TraceOp::Read, TraceOp::Write][rng.below(2) as usize];
            Record::new(ts, op, rng.below(capacity / 8) * 4_096, 4_096, 0)
        };
        (0..count).map(&mut one).collect()
    }

    /// What a drive began, and when.
    type Begun = Vec<(Instant, Pba)>;

    #[derive(Default)]
    struct Watch(Begun);

    impl Observer for Watch {
        fn started(&mut self, now: Instant, _: DriveId, command: &Command, _: &Origin, _: &Stack) {
            self.0.push((now, command.at));
        }
    }

    fn simulated(sched: &str, records: &[Record], depth: u64, refill: Refill) -> Begun {
        let Assembly {
            mut stack,
            mut drives,
            ..
        } = assembly(sched, "linear");
        let intake = intake(records, Mode::None, stack.capacity().0);
        let mut workload = Closed::new(intake, depth, refill);
        let mut watch = Watch::default();
        let control = Control::default();
        sim::run(&mut stack, &mut drives, &mut workload, &mut watch, &control);
        assert_eq!(
            (stack.pending(), stack.replied()),
            (0, records.len() as u64)
        );
        watch.0
    }

    /// The definition: so many wait, the nearest is served, one more comes before or after the next
    /// is chosen.
    fn literal(
        blueprint: &dyn Blueprint,
        records: &[Record],
        depth: usize,
        refill: Refill,
    ) -> Begun {
        let (mut drive, mut oracle) = (blueprint.drive(), blueprint.exact());
        let mut coming = records.iter().enumerate();
        let (at_once, later) = match refill {
            Refill::Before => (depth, 0),
            Refill::After => (1, depth - 1),
        };
        let mut queue: Vec<(usize, &Record)> = coming.by_ref().take(at_once).collect();
        let (mut now, mut begun, mut rest) = (Instant::ZERO, Begun::new(), later);
        while !queue.is_empty() {
            let place = |one: &Record| {
                let op = [Op::Read, Op::Write][usize::from(one.op == TraceOp::Write)];
                (op, Pba(one.offset / 512))
            };
            let price = |(number, one): &(usize, &Record)| {
                let (op, at) = place(one);
                (
                    oracle.positioning_time(now, op, &oracle.locate(at), Blocks(1)),
                    *number,
                )
            };
            let best = (0..queue.len()).min_by_key(|index| price(&queue[*index]));
            let (op, at) = place(queue.swap_remove(best.unwrap()).1);
            let (io, len) = (IoId(0), Blocks(8));
            let command = Command {
                io,
                op,
                at,
                len,
                fua: false,
            };
            begun.push((now, at));
            drive.submit(now, &command);
            oracle.started(now, &command);
            queue.extend(coming.by_ref().take(std::mem::take(&mut rest)));
            now = drive.next_event().unwrap();
            oracle.observed(now, &drive.advance(now).unwrap());
            match refill {
                Refill::Before => queue.extend(coming.next()),
                Refill::After => rest = 1,
            }
            if queue.is_empty() {
                queue.extend(coming.by_ref().take(std::mem::take(&mut rest)));
            }
        }
        begun
    }

    #[test]
    fn a_loop_serves_what_its_definition_serves_at_every_depth() {
        let Assembly {
            stack, blueprint, ..
        } = assembly("satf", "linear");
        let records = anywhere(400, stack.capacity().0);
        for refill in [Refill::After, Refill::Before] {
            for depth in [1, 2, 3, 8, 64] {
                let expected = literal(&*blueprint, &records, depth, refill);
                let found = simulated("satf", &records, depth as u64, refill);
                assert_eq!(found, expected, "depth {depth}, {}", refill.word());
            }
        }
    }

    #[test]
    fn two_in_flight_are_a_choice_only_if_the_next_one_comes_before_it() {
        let records = anywhere(400, 10_000_000);
        let served = |sched, depth, refill| simulated(sched, &records, depth, refill);
        let end = |begun: &Begun| begun.last().unwrap().0;
        for (depth, refill) in [(1, Refill::After), (2, Refill::After), (1, Refill::Before)] {
            assert_eq!(served("satf", depth, refill), served("fcfs", depth, refill));
        }
        let chosen = end(&served("satf", 2, Refill::Before));
        let in_order = end(&served("fcfs", 2, Refill::Before));
        assert!(
            chosen.0 * 10 < in_order.0 * 9,
            "{chosen} against {in_order}"
        );
        // Three in flight that leave two to choose from come to the same, but for the beginning.
        let three = end(&served("satf", 3, Refill::After));
        assert!(
            chosen.0.abs_diff(three.0) * 50 < three.0,
            "{chosen} against {three}"
        );
    }

    #[test]
    fn every_placement_serves_a_loop_that_refills_before_the_choice() {
        for (place, sched) in [
            ("mirror", "satf"),
            ("eager", "freebw_hybrid"),
            ("ew_array", "satf_ew"),
            ("distorted_mirror", "gap_satf"),
            ("stripe", "mq-deadline"),
        ] {
            let Assembly {
                mut stack,
                mut drives,
                ..
            } = assembly(sched, place);
            let records = anywhere(600, stack.capacity().0);
            let intake = intake(&records, Mode::None, stack.capacity().0);
            let mut workload = Closed::new(intake, 12, Refill::Before);
            let control = Control::default();
            sim::run(&mut stack, &mut drives, &mut workload, &mut (), &control);
            stack.audit();
            assert_eq!((stack.pending(), stack.replied()), (0, 600), "{place}");
        }
    }

    proptest! {
        #[test]
        fn exactly_the_depth_is_in_flight_until_the_trace_ends(
            depth in 1_u64..20,
            count in 1_i64..100,
            picks in prop::collection::vec(0_usize..64, 100),
        ) {
            let mut closed = closed(count, depth);
            let (mut flying, mut asked) = (Vec::new(), 0);
            for (step, pick) in picks.into_iter().enumerate() {
                let now = Instant(step as u64 * 10);
                while let Some(request) = closed.poll(now) {
                    asked += 1;
                    flying.push(request);
                }
                let left = count as u64 - asked;
                prop_assert!(flying.len() as u64 == depth || left == 0 && (flying.len() as u64) < depth);
                if flying.is_empty() {
                    break;
                }
                let done = flying.swap_remove(pick % flying.len());
                closed.replied(now, &reply(done, now));
            }
        }
    }
}
