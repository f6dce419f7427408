//! A client that keeps its own account of what is free, and the account of what is true.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use nearslot_core::ids::RequestId;
use nearslot_core::offer::{Offer, Refused};
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::request::{Reply, Request};
use nearslot_core::rng::Rng;
use nearslot_core::stack::Input;
use nearslot_core::units::{Blocks, Instant};

use super::zoned::Account;
use crate::queues::rig::Rig;

/// How a client works.
pub(crate) struct Habits {
    /// Blocks that it uses; fewer are exhausted more often.
    blocks: u64,
    /// Requests that it has under way at most.
    depth: usize,
    /// Completions that it has heard of late, at most.
    behind: usize,
    /// Longest write.
    len: u64,
    /// What writes begin at multiples of.
    align: u64,
    /// Share of range writes.
    ranges: f64,
    /// Whether some blocks cannot be written.
    pub(crate) bad: bool,
}

impl Habits {
    pub(crate) fn drawn(seed: u64) -> Habits {
        let mut rng = Rng::stream(seed, "habits");
        let mut one_of = |all: &[u64]| all[rng.below(all.len() as u64) as usize];
        Habits {
            blocks: one_of(&[60, 300, 3_000]),
            depth: one_of(&[1, 4, 16, 64]) as usize,
            behind: one_of(&[0, 3, 30]) as usize,
            len: one_of(&[1, 4, 9]),
            align: one_of(&[1, 2, 8]),
            ranges: one_of(&[10, 7, 5]) as f64 / 10.0,
            bad: one_of(&[0, 1]) == 1,
        }
    }
}

/// What has happened.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) landed: u64,
    pub(crate) exhausted: u64,
    /// Ended on a bad block, with nothing else left.
    pub(crate) failed: u64,
    /// Begun once more, elsewhere.
    pub(crate) retried: u64,
    /// Offered when the client had not heard of all completions.
    pub(crate) late: u64,
    /// Refused, as nothing of the offer was left.
    pub(crate) refused: u64,
    /// Refused, as a drive with zones does not write so much at a time.
    pub(crate) too_long: u64,
    /// Zones that were reset.
    pub(crate) resets: u64,
    /// Resets of zones that are read-only.
    pub(crate) dead: u64,
    /// Landed in a zone behind one that was asked for later, or ended before one that lies before
    /// it.
    pub(crate) reordered: u64,
    /// Ordinary writes that followed each other in a zone.
    pub(crate) in_order: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Counts) {
        self.landed += other.landed;
        self.exhausted += other.exhausted;
        self.failed += other.failed;
        self.retried += other.retried;
        self.late += other.late;
        self.refused += other.refused;
        self.too_long += other.too_long;
        self.resets += other.resets;
        self.dead += other.dead;
        self.reordered += other.reordered;
        self.in_order += other.in_order;
    }
}

/// A range write under way.
struct Write {
    offer: Arc<Offer>,
    len: u64,
    /// Where its commands went.
    tried: Vec<u64>,
}

pub(crate) struct Client {
    rig: Rig,
    habits: Habits,
    rng: Rng,
    /// What it takes for free.
    free: BTreeSet<u64>,
    /// Blocks that hold something, by who wrote them.
    owned: BTreeMap<u64, RequestId>,
    writes: BTreeMap<RequestId, Write>,
    others: BTreeSet<RequestId>,
    /// Completions of range writes of which it has not heard.
    unheard: VecDeque<Reply>,
    heard: u64,
    number: u64,
    /// Replies and commands that were looked at.
    seen: (usize, usize),
    /// What it knows of the zones of its drive, if that has some.
    zones: Option<Account>,
    pub(crate) counts: Counts,
}

impl Client {
    pub(crate) fn new(mut rig: Rig, habits: Habits, seed: u64) -> Client {
        if habits.bad {
            rig.bad = habits.blocks / 3..habits.blocks / 3 + habits.blocks / 20;
        }
        Client::on(rig, habits, seed)
    }

    /// The same over a drive with zones, whose blocks are free again when their zone was reset.
    pub(crate) fn over_zones(rig: Rig, mut habits: Habits, seed: u64, zones: Account) -> Client {
        habits.blocks = zones.blocks();
        Client {
            free: zones.writable().collect(),
            zones: Some(zones),
            ..Client::on(rig, habits, seed)
        }
    }

    fn on(rig: Rig, habits: Habits, seed: u64) -> Client {
        Client {
            rig,
            rng: Rng::stream(seed, "client"),
            free: (0..habits.blocks).collect(),
            habits,
            owned: BTreeMap::new(),
            writes: BTreeMap::new(),
            others: BTreeSet::new(),
            unheard: VecDeque::new(),
            heard: 0,
            number: 0,
            seen: (0, 0),
            zones: None,
            counts: Counts::default(),
        }
    }

    /// So many requests, one by one, and everything that follows.
    pub(crate) fn run(&mut self, requests: u64) {
        while self.number < requests {
            let under_way = self.writes.len() + self.others.len();
            if under_way < self.habits.depth && self.rng.chance(0.7) {
                self.ask();
            } else if !self.rig.step(Instant::NEVER) {
                assert_eq!(under_way, 0, "something hangs");
            }
            self.look();
            while self.unheard.len() > self.habits.behind
                || !self.unheard.is_empty() && self.rng.chance(0.3)
            {
                self.hear();
            }
            match &self.zones {
                Some(_) => self.reset_some(),
                None if self.free.len() < self.habits.blocks as usize / 4 => self.free_some(),
                None => {}
            }
        }
        // What is answered and what begins at one instant is looked at together.
        while self.rig.step(Instant::NEVER) {
            self.look();
        }
        self.rig.settle();
        assert!(self.writes.is_empty() && self.others.is_empty());
        assert_eq!(
            self.rig.stack.epoch(),
            self.heard + self.unheard.len() as u64
        );
    }

    fn ask(&mut self) {
        self.number += 1;
        if self.rng.chance(self.habits.ranges) {
            return self.offer();
        }
        if self.zones.is_some() && self.rng.chance(0.6) {
            return self.write_in_order();
        }
        // Blocks that are its own are read, and overwritten where they are.
        let index = self.rng.below(self.owned.len().max(1) as u64) as usize;
        let Some(at) = self.owned.keys().nth(index).copied() else {
            return;
        };
        if !self.knows(at) {
            return;
        }
        let op = if self.zones.is_some() || self.rng.chance(0.5) {
            Op::Read
        } else {
            Op::Write
        };
        self.submit(op, at, 1);
    }

    fn submit(&mut self, op: Op, at: u64, len: u64) {
        let request = Request::new(self.number, op, at, len, self.rig.now);
        self.others.insert(request.id);
        self.rig.submit(request);
    }

    /// An ordinary write in a zone that is never offered, behind the one before and without waiting
    /// for that, or in the conventional zone.
    fn write_in_order(&mut self) {
        let len = 1 + self.rng.below(self.habits.len);
        let anywhere = self.rng.chance(0.3);
        let zones = self.zones.as_mut().expect("it was looked at");
        if anywhere {
            let at = self.rng.below(zones.shape.conventional - len);
            return self.submit(Op::Write, at, len);
        }
        self.counts.in_order += 1;
        let at = match zones.next_in_order(len) {
            Some(at) => at,
            None => {
                let zone = zones.in_order();
                self.submit(Op::Discard, zone.start, zone.end - zone.start);
                self.number += 1;
                let zones = self.zones.as_mut().expect("it has not gone");
                zones.next_in_order(len).expect("an empty zone has room")
            }
        };
        self.submit(Op::Write, at, len);
    }

    /// Resets zones that are used up, and others now and then.
    fn reset_some(&mut self) {
        let zones = self.zones.as_mut().expect("it has zones");
        let Some(zone) = zones.due_for_reset(&self.free, &mut self.rng) else {
            return;
        };
        self.number += 1;
        let blocks = self.zones.as_ref().expect("it has zones").of(zone);
        let request = Request::new(
            self.number,
            Op::Discard,
            blocks.start,
            blocks.end - blocks.start,
            self.rig.now,
        );
        self.zones
            .as_mut()
            .expect("it has zones")
            .resets
            .insert(request.id, zone);
        self.rig.submit(request);
    }

    /// A reset has ended: all that was written there is gone, and all of that was answered before.
    fn was_reset(&mut self, zone: u32, status: Status) {
        while !self.unheard.is_empty() {
            self.hear();
        }
        let zones = self.zones.as_mut().expect("it has zones");
        zones.was_reset(zone, status);
        match status {
            Status::Done => self.counts.resets += 1,
            Status::Failed(Failure::Zone) => return self.counts.dead += 1,
            Status::Failed(other) => panic!("{other:?}"),
        }
        for block in zones.writable_of(zone) {
            self.owned.remove(&block);
            self.free.insert(block);
        }
    }

    /// Whether it has heard that a block is its own.
    fn knows(&self, at: u64) -> bool {
        let of = |reply: &Reply| {
            let extent = reply.request.extent;
            (extent.start.0..extent.end().0).contains(&at)
        };
        !self.unheard.iter().any(of)
    }

    /// Offers some of what it takes for free.
    fn offer(&mut self) {
        let share = self.rng.below(3) as usize;
        let (begin, most) = match &self.zones {
            None => {
                let begin = self.rng.below(self.habits.blocks);
                (begin, [12, 60, self.habits.blocks][share])
            }
            Some(zones) => zones.some(share, &mut self.rng),
        };
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for block in self.free.range(begin..).take(most as usize) {
            match ranges.last_mut() {
                Some(last) if last.end == *block && !self.rng.chance(0.05) => last.end += 1,
                _ => ranges.push(*block..block + 1),
            }
        }
        if ranges.is_empty() {
            return;
        }
        let mut len = 1 + self.rng.below(self.habits.len);
        if self.zones.as_ref().is_some_and(|zones| zones.keeps_aligned) {
            // Else no pointer would be a multiple of it for long.
            len = len.next_multiple_of(self.habits.align);
        }
        let offer = Arc::new(self.as_list_or_bits(ranges));
        if !self.unheard.is_empty() {
            self.counts.late += 1;
        }
        match self.rig.stack.check_offer(&offer, Blocks(len), self.heard) {
            Err(Refused::NoCandidate { .. }) => self.counts.refused += 1,
            Err(Refused::TooLong { most, .. }) => {
                assert!(len > most, "{len} blocks are not above {most}");
                self.counts.too_long += 1;
            }
            Err(other) => panic!("{other}"),
            Ok(()) => self.make(offer, len),
        }
    }

    fn as_list_or_bits(&mut self, ranges: Vec<Range<u64>>) -> Offer {
        let align = self.habits.align;
        if self.rng.chance(0.5) {
            return Offer::list(ranges, align).unwrap();
        }
        let (first, end) = (ranges[0].start, ranges[ranges.len() - 1].end);
        let mut words = vec![0; (end - first).div_ceil(64) as usize];
        for block in ranges.into_iter().flatten() {
            words[((block - first) / 64) as usize] |= 1 << ((block - first) % 64);
        }
        Offer::bits(first, end - first, words, align).unwrap()
    }

    fn make(&mut self, offer: Arc<Offer>, len: u64) {
        let hint = offer.first(0, u64::MAX, len).expect("something is left");
        let request = Request {
            offered: true,
            ..Request::new(self.number, Op::Write, hint, len, self.rig.now)
        };
        let write = Write {
            offer: Arc::clone(&offer),
            len,
            tried: Vec::new(),
        };
        self.writes.insert(request.id, write);
        self.rig.give(Input::Offer(request, offer, self.heard));
    }

    /// Looks at the commands and the answers that are new.
    fn look(&mut self) {
        // What goes to a zone that has just been reset began after that.
        for index in self.seen.1..self.rig.replies.len() {
            let reply = self.rig.replies[index].1;
            let zones = self.zones.as_mut();
            if let Some(zone) = zones.and_then(|zones| zones.resets.remove(&reply.request.id)) {
                self.others.insert(reply.request.id);
                self.was_reset(zone, reply.status);
            }
        }
        for index in self.seen.0..self.rig.origins.len() {
            let (origin, _) = &self.rig.origins[index];
            let (at, len) = self.rig.commands[index];
            // A movement of the arm is for nobody.
            let Some(request) = origin.request else {
                continue;
            };
            let Some(write) = self.writes.get_mut(&request) else {
                continue;
            };
            assert_eq!(len, write.len, "a write goes as a whole");
            assert_eq!(
                write.offer.first(at, at + 1, len),
                Some(at),
                "block {at} was not offered, or not to begin there"
            );
            if let Some(zones) = &mut self.zones {
                self.counts.reordered += u64::from(zones.landed(request, at, len));
            }
            self.counts.retried += u64::from(!write.tried.is_empty());
            write.tried.push(at);
            for block in at..at + len {
                assert_eq!(self.owned.get(&block), None, "block {block} is another's");
            }
            let overlaps = |(id, other): (&RequestId, &Write)| {
                let apart = |begin: &u64| at + len <= *begin || begin + other.len <= at;
                *id != request && !other.tried.iter().all(apart)
            };
            assert!(!self.writes.iter().any(overlaps), "two at block {at}");
        }
        self.seen.0 = self.rig.origins.len();
        for index in self.seen.1..self.rig.replies.len() {
            let reply = self.rig.replies[index].1;
            self.answered(&reply);
        }
        self.seen.1 = self.rig.replies.len();
    }

    fn answered(&mut self, reply: &Reply) {
        let id = reply.request.id;
        if self.others.remove(&id) {
            let is_zone = reply.status == Status::Failed(Failure::Zone);
            assert!(
                !is_zone || reply.request.op == Op::Discard,
                "what is written in order is never refused: {reply:?}"
            );
            return;
        }
        let write = self.writes.remove(&id).expect("one is answered once");
        let at = reply.request.extent.start.0;
        match reply.status {
            Status::Done => {
                assert_eq!(write.tried.last(), Some(&at), "where it says it has landed");
                self.counts.landed += 1;
                (at..at + write.len).for_each(|block| _ = self.owned.insert(block, id));
            }
            Status::Failed(Failure::Exhausted) => {
                assert!(write.tried.is_empty(), "something was written");
                self.counts.exhausted += 1;
                if let Some(zones) = &mut self.zones {
                    zones.wants_room = true;
                }
            }
            Status::Failed(Failure::Medium) => {
                assert!(!write.tried.is_empty());
                self.counts.failed += 1;
            }
            Status::Failed(other) => panic!("{other:?}"),
        }
        self.unheard.push_back(*reply);
    }

    /// Hears of the oldest completion that it has not heard of.
    fn hear(&mut self) {
        let reply = self.unheard.pop_front().expect("there is one");
        self.heard += 1;
        let extent = reply.request.extent;
        if reply.status.is_done() {
            (extent.start.0..extent.end().0).for_each(|block| _ = self.free.remove(&block));
        }
    }

    /// Some of its blocks become free again.
    fn free_some(&mut self) {
        let known = |(block, _): (&u64, &RequestId)| *block;
        let mut blocks: Vec<u64> = self.owned.iter().map(known).collect();
        blocks.retain(|block| self.knows(*block) && self.rng.chance(0.7));
        // What is read or overwritten now stays.
        if self.others.is_empty() {
            for block in blocks {
                self.owned.remove(&block);
                self.free.insert(block);
            }
        }
    }
}
