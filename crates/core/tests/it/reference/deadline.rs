//! Twin of mq-deadline: its rules, one after the other, over one plain list.

use std::collections::BTreeMap;

use nearslot_core::contract::{Next, View};
use nearslot_core::ids::IoId;
use nearslot_core::io::Io;
use nearslot_core::op::Op;
use nearslot_core::units::{Duration, Instant, Pba};
use proptest::prelude::*;

use crate::reference::twin::{Definition, Queue, compare, steps};

struct MqDeadline {
    read_expire: Duration,
    write_expire: Duration,
    writes_starved: u32,
    fifo_batch: u32,
    prio_aging_expire: Duration,
    inserted: BTreeMap<IoId, Instant>,
    /// By level and direction.
    latest: BTreeMap<(u16, Op), Pba>,
    direction: Op,
    batching: u32,
    starved: u32,
}

/// 0 is served before 1, 1 before 2.
fn level(io: &Io) -> u16 {
    match io.priority >> 13 {
        1 => 0,
        3 => 2,
        _ => 1,
    }
}

impl MqDeadline {
    fn new(batch: u32, starved: u32, aging_ms: u64) -> MqDeadline {
        MqDeadline {
            read_expire: Duration::from_ms(500),
            write_expire: Duration::from_ms(5_000),
            writes_starved: starved,
            fifo_batch: batch,
            prio_aging_expire: Duration::from_ms(aging_ms),
            inserted: BTreeMap::new(),
            latest: BTreeMap::new(),
            direction: Op::Write,
            batching: 0,
            starved: 0,
        }
    }

    fn of(queue: &Queue, wanted: u16, op: Op) -> impl Iterator<Item = (usize, &Io)> {
        let all = queue.iter().enumerate();
        all.filter(move |(_, io)| level(io) == wanted && io.op == op)
    }

    fn next_in_order(&self, queue: &Queue, level: u16, op: Op) -> Option<usize> {
        let from = self.latest.get(&(level, op)).copied().unwrap_or(Pba(0));
        let ahead = Self::of(queue, level, op).filter(|(_, io)| io.at >= from);
        let nearest = ahead.min_by_key(|(_, io)| (io.at, io.sequence));
        nearest.map(|(index, _)| index)
    }

    fn oldest(queue: &Queue, level: u16, op: Op) -> Option<usize> {
        Self::of(queue, level, op).map(|(index, _)| index).next()
    }

    fn level(&mut self, queue: &Queue, now: Instant, level: u16, aged: bool) -> Option<usize> {
        let mut chosen = self.next_in_order(queue, level, self.direction);
        if chosen.is_none() || self.batching >= self.fifo_batch {
            let (reads, writes) = (
                Self::oldest(queue, level, Op::Read),
                Self::oldest(queue, level, Op::Write),
            );
            let mut op = Op::Read;
            if reads.is_none() && writes.is_none() {
                return None;
            }
            if reads.is_none() {
                op = Op::Write;
            } else if writes.is_some() {
                if self.starved >= self.writes_starved {
                    op = Op::Write;
                }
                self.starved += 1;
            }
            if op == Op::Write {
                self.starved = 0;
            }
            let oldest = if op == Op::Read { reads } else { writes };
            let expire = if op == Op::Read {
                self.read_expire
            } else {
                self.write_expire
            };
            let oldest = oldest.expect("the direction was chosen for it");
            let expired = now >= self.inserted[&queue[oldest].id] + expire;
            let next = self.next_in_order(queue, level, op).filter(|_| !expired);
            chosen = next.or(Some(oldest));
            self.direction = op;
            self.batching = 0;
        }
        let io = queue[chosen?];
        if aged && self.inserted[&io.id] + self.prio_aging_expire > now {
            return None;
        }
        self.batching += 1;
        self.latest.insert((level, self.direction), io.at);
        chosen
    }
}

impl Definition for MqDeadline {
    fn inserted(&mut self, now: Instant, io: &Io) {
        self.inserted.insert(io.id, now);
    }

    fn choose(&mut self, queue: &Queue, view: &View<'_>) -> Result<usize, Next> {
        let busy = |wanted: u16| queue.iter().any(|io| level(io) == wanted);
        if (0..3).filter(|level| busy(*level)).count() > 1 {
            for level in 1..3 {
                if let Some(index) = self.level(queue, view.now, level, true) {
                    return Ok(index);
                }
            }
        }
        let highest = (0..3).find(|level| busy(*level)).expect("something waits");
        let chosen = self.level(queue, view.now, highest, false);
        Ok(chosen.expect("the level has work"))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn mq_deadline(steps in steps(), batch in 1..20u32, starved in 0..4u32, aging_ms in 0..8_000u64) {
        let part = format!(
            "mq-deadline:fifo_batch={batch}:writes_starved={starved}:prio_aging_expire_ms={aging_ms}"
        );
        compare(&part, "exact", &steps, || MqDeadline::new(batch, starved, aging_ms));
    }

    #[test]
    fn mq_deadline_as_it_comes(steps in steps()) {
        compare("mq-deadline", "exact", &steps, || MqDeadline::new(16, 2, 10_000));
    }
}
