//! The flash chips and the channels that they hang on: what each die does, and what waits for it.
//!
//! A die does one operation at a time. A read is sensed, then sent over the channel; a page to be
//! programmed is received over the channel, then programmed; a block is erased without moving
//! anything. A channel moves for one die at a time: first commands to sense, which take no time of
//! it that counts, then what was read, as dies wait with it, then what is to be programmed, each in
//! the order in which it came. Were commands behind what was read, all dies of a channel would fall
//! into step, and sense together and send together.
//!
//! A die that is free takes reads first, then programs, then what collection wants. Where free
//! blocks are nearly out, collection is *urgent*: either the host is *paced*, and programs only as
//! many pages as collection has made room for, or the die does nothing else until a block is free.
//! A read may stop a program or an erase that is under way, if the chips can do that: the die needs
//! a while to stop, does all reads that there are, and then goes on with what is left. Source: ONFI
//! 5.1, and the order of the out-of-order scheduler of MQSim (Tavakkol et al., FAST 2018), which
//! the reference runs come from.
//!
//! O(log dies) an operation; nothing is allocated once as many operations have waited as ever do.

use std::collections::VecDeque;

use super::geometry::Geometry;
use crate::agenda::Agenda;
use crate::units::{Duration, Instant};

/// No operation.
const NONE: u32 = u32::MAX;

/// How long what takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) read: Duration,
    pub(super) program: Duration,
    pub(super) erase: Duration,
    /// Picoseconds that a byte takes on a channel.
    pub(super) byte_ps: u64,
    /// What may be stopped for a read.
    pub(super) stops: Stops,
}

/// What may be stopped for a read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stops {
    pub(super) program: bool,
    pub(super) erase: bool,
    /// How long it takes to stop.
    pub(super) takes: Duration,
}

/// What a die is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Read,
    Program,
    Erase,
}

/// Who waits for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The read of this slot.
    Slot(u32),
    /// A read, for this write of a page, of the part of a unit that the write lacks and the medium
    /// has.
    Fill(u32),
    /// This write of a page.
    Job(u32),
    /// The collection of this plane.
    Plane(u32),
    /// A read for which this one of those that wait for the map is kept.
    Entry(u32),
    /// Nobody.
    Nobody,
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) what: What,
    pub(super) owner: Owner,
    /// What goes over the channel.
    pub(super) bytes: u32,
    next: u32,
}

impl Operation {
    pub(super) const fn new(what: What, owner: Owner, bytes: u32) -> Operation {
        Operation {
            what,
            owner,
            bytes,
            next: NONE,
        }
    }
}

/// Which queue of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Reads,
    Programs,
    Collection,
}

impl Queue {
    const PLAIN: [Queue; 3] = [Queue::Reads, Queue::Programs, Queue::Collection];
    const PACED: [Queue; 3] = [Queue::Reads, Queue::Collection, Queue::Programs];
    const ALONE: [Queue; 3] = [Queue::Collection, Queue::Reads, Queue::Programs];

    fn of(operation: &Operation) -> Queue {
        match (operation.owner, operation.what) {
            (Owner::Plane(_), _) => Queue::Collection,
            (_, What::Read) => Queue::Reads,
            _ => Queue::Programs,
        }
    }
}

/// First and last of a list of operations.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

/// What a die does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// A read waits until its command can go over the channel.
    Asks,
    Senses,
    /// What was read waits for the channel.
    Holds,
    Sends,
    /// A program waits for the channel.
    Wants,
    Receives,
    /// It programs or erases.
    Works,
    Stops,
}

#[derive(Debug)]
struct Die {
    phase: Phase,
    running: u32,
    /// What was stopped, and what is left of it.
    stopped: Option<(u32, Duration)>,
    queues: [List; 3],
    /// Planes of which collection is urgent.
    urgent: u32,
    /// Pages that collection has made room for and the host has not programmed, since it is urgent.
    earned: u32,
}

#[derive(Debug, Default)]
struct Channel {
    busy: bool,
    /// Dies that wait to be told to read, with what they read, and for what they are to program.
    asks: VecDeque<u32>,
    out: VecDeque<u32>,
    into: VecDeque<u32>,
}

/// All chips of a drive.
#[derive(Debug)]
pub(super) struct Chips {
    shape: Geometry,
    times: Times,
    /// Whether the host is paced while collection is urgent.
    is_paced: bool,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    operations: Vec<Operation>,
    /// Operations that are over.
    unused: u32,
    due: Agenda,
    /// How often something was stopped for a read.
    pub(super) stops: u64,
}

impl Chips {
    pub(super) fn new(shape: Geometry, times: Times, is_paced: bool) -> Chips {
        let die = |_| Die {
            phase: Phase::Idle,
            running: NONE,
            stopped: None,
            queues: [List {
                first: NONE,
                last: NONE,
            }; 3],
            urgent: 0,
            earned: 0,
        };
        Chips {
            shape,
            times,
            is_paced,
            dies: (0..shape.dies).map(die).collect(),
            channels: (0..shape.channels).map(|_| Channel::default()).collect(),
            operations: Vec::new(),
            unused: NONE,
            due: Agenda::new(shape.dies as usize),
            stops: 0,
        }
    }

    /// When a die needs attention.
    #[inline]
    pub(super) fn next_event(&self) -> Option<Instant> {
        self.due.least()
    }

    /// Collection of one more plane of a die is urgent, or of one less.
    pub(super) fn urge(&mut self, die: u32, is_urgent: bool) {
        let own = &mut self.dies[die as usize];
        own.urgent = own
            .urgent
            .checked_add_signed(if is_urgent { 1 } else { -1 })
            .expect("what is not urgent any more was");
        if own.urgent == 0 {
            own.earned = 0;
        }
    }

    /// Collection has made room for so many pages of a die.
    pub(super) fn earn(&mut self, die: u32, pages: u32) {
        let own = &mut self.dies[die as usize];
        if own.urgent > 0 {
            own.earned += pages;
        }
    }

    /// Whether a die does nothing but collection.
    fn collects_alone(&self, die: u32) -> bool {
        self.dies[die as usize].urgent > 0 && !self.is_paced
    }

    /// A die gets something to do. Its name, as long as it has not ended.
    pub(super) fn push(&mut self, now: Instant, die: u32, operation: Operation) -> u32 {
        let name = self.keep(operation);
        let list = &mut self.dies[die as usize].queues[Queue::of(&operation) as usize];
        match list.last {
            NONE => list.first = name,
            last => self.operations[last as usize].next = name,
        }
        list.last = name;
        let own = &self.dies[die as usize];
        match own.phase {
            Phase::Idle => self.go_on(now, die),
            Phase::Wants if Queue::of(&operation) == Queue::Reads => self.put_back(now, die),
            Phase::Works if Queue::of(&operation) == Queue::Reads => self.stop(now, die),
            _ => {}
        }
        name
    }

    /// An operation that has not sent anything yet is to send so much more.
    pub(super) fn more(&mut self, name: u32, bytes: u32) {
        self.operations[name as usize].bytes += bytes;
    }

    fn keep(&mut self, operation: Operation) -> u32 {
        if self.unused == NONE {
            self.operations.push(operation);
            return self.operations.len() as u32 - 1;
        }
        let name = self.unused;
        self.unused = std::mem::replace(&mut self.operations[name as usize], operation).next;
        name
    }

    /// A program waits for its channel while a read comes: that goes first.
    fn put_back(&mut self, now: Instant, die: u32) {
        if self.collects_alone(die) || self.dies[die as usize].stopped.is_some() {
            return;
        }
        let own = &mut self.dies[die as usize];
        let name = std::mem::replace(&mut own.running, NONE);
        own.phase = Phase::Idle;
        let list = &mut own.queues[Queue::of(&self.operations[name as usize]) as usize];
        self.operations[name as usize].next = list.first;
        list.first = name;
        if list.last == NONE {
            list.last = name;
        }
        let channel = self.shape.channel(die) as usize;
        self.channels[channel].into.retain(|waits| *waits != die);
        self.go_on(now, die);
    }

    /// Stops what a die does for a read, if it can.
    fn stop(&mut self, now: Instant, die: u32) {
        let collects_alone = self.collects_alone(die);
        let own = &mut self.dies[die as usize];
        let stops = &self.times.stops;
        let what = self.operations[own.running as usize].what;
        let may = match what {
            What::Program => stops.program,
            What::Erase => stops.erase,
            What::Read => false,
        };
        let end = self.due.due(die as usize).expect("it works");
        let left = end.since(now);
        if !may || collects_alone || left <= stops.takes {
            return;
        }
        own.stopped = Some((std::mem::replace(&mut own.running, NONE), left));
        own.phase = Phase::Stops;
        self.due.set(die as usize, Some(now + stops.takes));
        self.stops += 1;
    }

    /// A die that is idle takes what is next.
    pub(super) fn go_on(&mut self, now: Instant, die: u32) {
        let own = &mut self.dies[die as usize];
        if own.phase != Phase::Idle {
            return;
        }
        let order = match own.stopped {
            Some(_) => &Queue::PLAIN[..1],
            None if own.urgent == 0 => &Queue::PLAIN,
            None if !self.is_paced => &Queue::ALONE,
            None if own.earned > 0 => &Queue::PLAIN,
            None => &Queue::PACED,
        };
        let found = order
            .iter()
            .find(|queue| own.queues[**queue as usize].first != NONE);
        let Some(queue) = found else {
            if let Some((name, left)) = own.stopped.take() {
                (own.running, own.phase) = (name, Phase::Works);
                self.due.set(die as usize, Some(now + left));
            }
            return;
        };
        let list = &mut own.queues[*queue as usize];
        let name = list.first;
        list.first = self.operations[name as usize].next;
        if list.first == NONE {
            list.last = NONE;
        }
        own.running = name;
        let channel = self.shape.channel(die) as usize;
        let (phase, waits) = match self.operations[name as usize].what {
            What::Read => (Phase::Asks, true),
            What::Program => (Phase::Wants, true),
            What::Erase => (Phase::Works, false),
        };
        own.phase = phase;
        if !waits {
            self.due.set(die as usize, Some(now + self.times.erase));
        } else if self.channels[channel].busy {
            let own = &mut self.channels[channel];
            match phase {
                Phase::Asks => own.asks.push_back(die),
                _ => own.into.push_back(die),
            }
        } else {
            self.begin(now, die);
        }
    }

    /// The channel of a die is free, and the die does what it waits for.
    fn begin(&mut self, now: Instant, die: u32) {
        let own = &mut self.dies[die as usize];
        let operation = &self.operations[own.running as usize];
        let moves = Duration(u64::from(operation.bytes) * self.times.byte_ps / 1_000);
        // Pages of the map take no page of a plane.
        if own.phase == Phase::Wants && matches!(operation.owner, Owner::Job(_)) {
            own.earned = own.earned.saturating_sub(1);
        }
        let channel = self.shape.channel(die) as usize;
        let (phase, takes) = match own.phase {
            Phase::Asks => (Phase::Senses, self.times.read),
            Phase::Holds => (Phase::Sends, moves),
            Phase::Wants => (Phase::Receives, moves),
            other => panic!("a die that waits for a channel {other:?}"),
        };
        own.phase = phase;
        self.channels[channel].busy = phase != Phase::Senses;
        self.due.set(die as usize, Some(now + takes));
    }

    /// A channel has become free.
    fn release(&mut self, now: Instant, die: u32) {
        let channel = self.shape.channel(die) as usize;
        self.channels[channel].busy = false;
        while !self.channels[channel].busy {
            let own = &mut self.channels[channel];
            let next = own.asks.pop_front().or_else(|| own.out.pop_front());
            let Some(next) = next.or_else(|| own.into.pop_front()) else {
                return;
            };
            self.begin(now, next);
        }
    }

    /// Lets the die go on that is due. The operation that ended with that, and its die, which rests
    /// until it is told to go on.
    pub(super) fn advance(&mut self, now: Instant) -> Option<(u32, Operation)> {
        let die = self.due.winner().expect("one is due") as u32;
        self.due.set(die as usize, None);
        let own = &mut self.dies[die as usize];
        match own.phase {
            Phase::Senses => {
                own.phase = Phase::Holds;
                let channel = self.shape.channel(die) as usize;
                if self.channels[channel].busy {
                    self.channels[channel].out.push_back(die);
                } else {
                    self.begin(now, die);
                }
                None
            }
            Phase::Receives => {
                own.phase = Phase::Works;
                self.due.set(die as usize, Some(now + self.times.program));
                self.release(now, die);
                let own = &self.dies[die as usize];
                if own.queues[Queue::Reads as usize].first != NONE {
                    self.stop(now, die);
                }
                None
            }
            Phase::Stops => {
                own.phase = Phase::Idle;
                self.go_on(now, die);
                None
            }
            Phase::Sends | Phase::Works => {
                let sends = own.phase == Phase::Sends;
                own.phase = Phase::Idle;
                let name = std::mem::replace(&mut own.running, NONE);
                let operation = self.operations[name as usize];
                self.operations[name as usize].next = self.unused;
                self.unused = name;
                if sends {
                    self.release(now, die);
                }
                Some((die, operation))
            }
            other => panic!("a die is due that {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a die does, in order: two pages of the host, four operations of collection, and a read
    /// that comes last; collection makes room for a page with its second operation.
    fn order(is_paced: bool) -> String {
        let shape = Geometry {
            channels: 1,
            dies: 1,
            planes: 1,
            blocks: 16,
            pages: 8,
            units: 1,
            unit_blocks: 8,
            capacity: 64,
        };
        let times = Times {
            read: Duration::from_us(50),
            program: Duration::from_us(400),
            erase: Duration::from_us(2_000),
            byte_ps: 2_500,
            stops: Stops::default(),
        };
        let mut chips = Chips::new(shape, times, is_paced);
        chips.earn(0, 1);
        chips.urge(0, true);
        chips.earn(0, 2);
        chips.urge(0, false);
        chips.urge(0, true);
        let collection = Operation::new(What::Program, Owner::Plane(0), 4096);
        for _ in 0..4 {
            chips.push(Instant::ZERO, 0, collection);
        }
        for job in [0, 1] {
            chips.push(
                Instant::ZERO,
                0,
                Operation::new(What::Program, Owner::Job(job), 4096),
            );
        }
        chips.push(
            Instant::ZERO,
            0,
            Operation::new(What::Read, Owner::Slot(0), 4096),
        );
        let (mut order, mut collected) = (String::new(), 0);
        while let Some(now) = chips.next_event() {
            let Some((die, operation)) = chips.advance(now) else {
                continue;
            };
            order.push(match operation.owner {
                Owner::Plane(_) => 'c',
                Owner::Job(_) => 'h',
                _ => 'r',
            });
            collected += u32::from(operation.owner == Owner::Plane(0));
            if operation.owner == Owner::Plane(0) && collected == 2 {
                chips.earn(0, 1);
            }
            chips.go_on(now, die);
        }
        order
    }

    /// What was earned when collection was not urgent, or before it was urgent again, is gone. Once
    /// collection has nothing more to do, the host goes on.
    #[test]
    fn while_collection_is_urgent_a_host_programs_what_was_earned_or_nothing() {
        assert_eq!(order(true), "crchcch");
        assert_eq!(order(false), "ccccrhh");
    }
}
