//! Zones of a drive, and how far each is written: what a drive knows of itself, and what a host
//! knows of it that hears of its commands.
//!
//! A drive with zones takes writes in order. Each zone has a *pointer*, the block at which the next
//! write must begin; a write moves it behind its last block, and a reset moves it back to the
//! begin. Zones at the begin of the drive may be *conventional*: they have no pointer and are
//! written anywhere. Where range writes may begin is told as [`Writable`]: at the pointers, so
//! whatever searches offers searches zones. Pointers count writes under way, so two writes never
//! get the same place.
//!
//! A zone in which a write failed on the medium is *read-only* from then on, as a drive cannot know
//! what lies behind the bad block. Sources: T10, ZBC (host-managed zoned disks); NVM Express, Zoned
//! Namespace Command Set. Not modelled: limits of open and active zones, finishing a zone early. 16
//! bytes a zone; O(zones / 64) for a search at worst, and O(1) for all else but a reset, which is
//! O(zones) of those it covers.

use std::ops::Range;

use crate::bits;
use crate::io::{Command, DriveDone};
use crate::offer::Writable;
use crate::op::{Failure, Op, Status};

/// How a drive is cut into zones: conventional blocks first, then zones of equal size to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneShape {
    /// Blocks from the begin of a zone to that of the next.
    pub blocks: u64,
    /// How many of them can be written, from the first on.
    pub capacity: u64,
    /// Blocks of the conventional zones, at the begin of the drive.
    pub conventional: u64,
    /// Zones with a pointer.
    pub zones: u32,
    /// Blocks of a range write at most.
    pub append_max: u64,
}

impl ZoneShape {
    /// Blocks of the drive.
    pub fn end(&self) -> u64 {
        self.begin(self.zones)
    }

    /// First block of a zone with a pointer.
    pub fn begin(&self, zone: u32) -> u64 {
        self.conventional + u64::from(zone) * self.blocks
    }

    /// The zone with a pointer in which a block lies; none if it is conventional.
    pub fn zone_of(&self, block: u64) -> Option<u32> {
        let within = block.checked_sub(self.conventional)?;
        Some((within / self.blocks) as u32)
    }

    /// The blocks that a reset has freed, by the end of a discard; none by that of another command.
    pub fn freed(&self, done: &DriveDone) -> Option<Range<u64>> {
        let resets = done.op == Op::Discard
            && matches!(done.status, Status::Done | Status::Failed(Failure::Zone));
        let zones = self.covered(&(done.at.0..(done.at + done.len).0));
        (resets && !zones.is_empty()).then(|| self.begin(zones.start)..self.begin(zones.end))
    }

    /// The longest range write.
    pub fn longest(&self) -> u64 {
        self.append_max.min(self.capacity)
    }

    /// The zones of which all that can be written lies in a range of blocks.
    pub fn covered(&self, blocks: &Range<u64>) -> Range<u32> {
        let from = blocks.start.saturating_sub(self.conventional);
        let first = from.div_ceil(self.blocks);
        let rest = blocks.end.checked_sub(self.conventional + self.capacity);
        let end = rest.map_or(0, |rest| rest / self.blocks + 1);
        let zones = u64::from(self.zones);
        first.min(zones) as u32..end.clamp(first, zones.max(first)).min(zones) as u32
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Writable,
    /// A reset waits, or is carried out.
    Closed,
    ReadOnly,
}

#[derive(Clone, Copy, Debug)]
struct Zone {
    /// Blocks that are written, or are being written.
    written: u64,
    /// Writes under way.
    under_way: u32,
    state: State,
}

/// How far the zones of a drive are written.
#[derive(Clone, Debug)]
pub struct Zones {
    shape: ZoneShape,
    zones: Box<[Zone]>,
    /// A bit for each zone that has room for a block.
    room: Box<[u64]>,
}

impl Zones {
    /// All are empty.
    pub fn new(shape: ZoneShape) -> Zones {
        let empty = Zone {
            written: 0,
            under_way: 0,
            state: State::Writable,
        };
        let count = shape.zones as usize;
        let mut zones = Zones {
            shape,
            zones: vec![empty; count].into(),
            room: vec![0; count.div_ceil(64)].into(),
        };
        (0..shape.zones).for_each(|zone| zones.note_room(zone));
        zones
    }

    /// How the drive is cut.
    pub fn shape(&self) -> &ZoneShape {
        &self.shape
    }

    /// The block at which the next write of a zone must begin.
    pub fn pointer(&self, zone: u32) -> u64 {
        self.shape.begin(zone) + self.zones[zone as usize].written
    }

    /// Writes of a zone that are under way.
    pub fn under_way(&self, zone: u32) -> u32 {
        self.zones[zone as usize].under_way
    }

    /// Whether a write failed there on the medium.
    pub fn is_read_only(&self, zone: u32) -> bool {
        self.zones[zone as usize].state == State::ReadOnly
    }

    /// Whether a command is a write that the drive does not take: it does not begin at its zone's
    /// pointer, or reaches behind what can be written of the zone, or the zone is not to be written
    /// now.
    pub fn refuses(&self, command: &Command) -> bool {
        let blocks = command.at.0..(command.at + command.len).0;
        if command.op != Op::Write || blocks.end <= self.shape.conventional {
            return false;
        }
        let Some(zone) = self.shape.zone_of(blocks.start) else {
            return true;
        };
        let Zone { written, state, .. } = self.zones[zone as usize];
        let begin = self.shape.begin(zone);
        let fits = blocks.start == begin + written && blocks.end <= begin + self.shape.capacity;
        state != State::Writable || !fits
    }

    /// A write that is not refused begins: the pointer moves.
    pub fn begins(&mut self, command: &Command) {
        if let Some(zone) = self.written_by(command.op, command.at.0) {
            self.zones[zone as usize].written += command.len.0;
            self.zones[zone as usize].under_way += 1;
            self.note_room(zone);
        }
    }

    /// A write that has begun here has ended.
    pub fn ended(&mut self, done: &DriveDone) {
        if let Some(zone) = self.written_by(done.op, done.at.0) {
            self.zones[zone as usize].under_way -= 1;
            if done.status == Status::Failed(Failure::Medium) {
                self.zones[zone as usize].state = State::ReadOnly;
                self.note_room(zone);
            }
        }
    }

    /// What a host knows that was not told where the write began: a command of the drive has ended.
    /// After one that was not answered in time a host asks the drive how far its zones are written,
    /// which takes no time here.
    pub fn heard(&mut self, done: &DriveDone) {
        let blocks = done.at.0..(done.at + done.len).0;
        match (done.op, done.status) {
            (Op::Write, Status::Done | Status::Failed(Failure::TimedOut | Failure::Medium)) => {
                let Some(zone) = self.written_by(done.op, blocks.start) else {
                    return;
                };
                let end = blocks.end - self.shape.begin(zone);
                let of = &mut self.zones[zone as usize];
                of.written = of.written.max(end);
                if done.status == Status::Failed(Failure::Medium) {
                    of.state = State::ReadOnly;
                }
                self.note_room(zone);
            }
            (Op::Discard, Status::Done | Status::Failed(Failure::Zone)) => {
                let covered = self.shape.covered(&blocks);
                self.close(&covered);
                self.reset(&covered);
            }
            _ => {}
        }
    }

    /// A reset of these zones waits: nothing is written there any more. How many of them hold
    /// something.
    pub fn close(&mut self, zones: &Range<u32>) -> u32 {
        let mut holding = 0;
        for zone in zones.clone() {
            let of = &mut self.zones[zone as usize];
            if of.state == State::Writable {
                of.state = State::Closed;
                holding += u32::from(of.written > 0);
            }
            self.note_room(zone);
        }
        holding
    }

    /// Whether a write of one of these zones is under way.
    pub fn is_written(&self, zones: &Range<u32>) -> bool {
        zones.clone().any(|zone| self.under_way(zone) > 0)
    }

    /// Of these zones those are empty again that are closed. Whether none of them is read-only.
    pub fn reset(&mut self, zones: &Range<u32>) -> bool {
        let mut all = true;
        for zone in zones.clone() {
            let of = &mut self.zones[zone as usize];
            all &= of.state != State::ReadOnly;
            if of.state == State::Closed {
                (of.written, of.state) = (0, State::Writable);
            }
            self.note_room(zone);
        }
        all
    }

    /// A reset was not carried out: its zones are as they were before.
    pub fn reopen(&mut self, zones: &Range<u32>) {
        for zone in zones.clone() {
            let of = &mut self.zones[zone as usize];
            if of.state == State::Closed {
                of.state = State::Writable;
            }
            self.note_room(zone);
        }
    }

    /// The zone with a pointer that a command writes; none if it is no such write.
    fn written_by(&self, op: Op, at: u64) -> Option<u32> {
        let zone = self.shape.zone_of(at)?;
        (op == Op::Write && zone < self.shape.zones).then_some(zone)
    }

    fn note_room(&mut self, zone: u32) {
        let Zone { written, state, .. } = self.zones[zone as usize];
        let has_room = state == State::Writable && written < self.shape.capacity;
        let (word, bit) = (&mut self.room[zone as usize / 64], 1 << (zone % 64));
        *word = if has_room { *word | bit } else { *word & !bit };
    }

    /// The first zone from this one on that has room.
    fn next(&self, zone: u32) -> Option<u32> {
        bits::first(&self.room, zone.into(), true).map(|zone| zone as u32)
    }

    /// The last zone up to this one that has room.
    fn previous(&self, zone: u32) -> Option<u32> {
        bits::last(&self.room, u64::from(zone) + 1, true).map(|zone| zone as u32)
    }

    fn has_room(&self, zone: u32, len: u64) -> bool {
        len <= self.shape.capacity - self.zones[zone as usize].written
    }
}

impl Writable for Zones {
    fn first(&self, from: u64, until: u64, len: u64) -> Option<u64> {
        let mut zone = self.shape.zone_of(from).unwrap_or(0);
        loop {
            zone = self.next(zone)?;
            let at = self.pointer(zone);
            if at >= until {
                return None;
            }
            if at >= from && self.has_room(zone, len) {
                return Some(at);
            }
            zone += 1;
        }
    }

    fn last(&self, until: u64, from: u64, len: u64) -> Option<u64> {
        let last = until.min(self.shape.end()).checked_sub(1)?;
        let mut zone = self.shape.zone_of(last)?;
        loop {
            zone = self.previous(zone)?;
            let at = self.pointer(zone);
            if at < from {
                return None;
            }
            if at < until && self.has_room(zone, len) {
                return Some(at);
            }
            zone = zone.checked_sub(1)?;
        }
    }

    /// The end of what can be written of the zone.
    fn reach(&self, at: u64) -> u64 {
        let zone = self.shape.zone_of(at);
        zone.map_or(0, |zone| self.shape.begin(zone) + self.shape.capacity)
    }

    fn moves(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::IoId;
    use crate::op::Cost;
    use crate::rng::Rng;
    use crate::units::{Blocks, Pba};

    /// 20 conventional blocks, then 100 zones of 10 blocks, of which 8 can be written.
    const SHAPE: ZoneShape = ZoneShape {
        blocks: 10,
        capacity: 8,
        conventional: 20,
        zones: 100,
        append_max: 5,
    };

    fn command(op: Op, at: u64, len: u64) -> Command {
        Command {
            io: IoId(0),
            op,
            at: Pba(at),
            len: Blocks(len),
            fua: false,
        }
    }

    fn write(at: u64, len: u64) -> Command {
        command(Op::Write, at, len)
    }

    fn ends(command: &Command, failure: Option<Failure>) -> DriveDone {
        let status = failure.map_or(Status::Done, Status::Failed);
        command.ends(status, Cost::default())
    }

    #[test]
    fn a_write_begins_at_the_pointer_and_ends_within_what_can_be_written() {
        let mut zones = Zones::new(SHAPE);
        let refused = |zones: &Zones, at, len| zones.refuses(&write(at, len));
        for (at, len, is) in [
            (0, 20, false),
            (13, 7, false),
            (13, 8, true),
            (20, 8, false),
            (20, 9, true),
            (21, 1, true),
            (1_010, 8, false),
            (1_018, 1, true),
        ] {
            assert_eq!(refused(&zones, at, len), is, "{len} blocks at {at}");
        }
        zones.begins(&write(20, 3));
        assert!(refused(&zones, 20, 3) && !refused(&zones, 23, 5) && refused(&zones, 23, 6));
        assert!(!zones.refuses(&command(Op::Read, 0, 999)));
        assert!(!zones.refuses(&command(Op::Discard, 22, 9)));
    }

    #[test]
    fn a_discard_covers_zones_of_which_it_has_all_that_can_be_written() {
        for (blocks, zones) in [
            (0..20, 0..0),
            (20..27, 0..0),
            (20..28, 0..1),
            (0..30, 0..1),
            (21..38, 1..2),
            (21..37, 1..1),
            (30..1_018, 1..100),
            (0..1_020, 0..100),
            (1_018..1_020, 100..100),
        ] {
            assert_eq!(SHAPE.covered(&blocks), zones, "{blocks:?}");
        }
    }

    #[test]
    fn a_reset_closes_its_zones_and_a_bad_one_stays_as_it_is() {
        let mut zones = Zones::new(SHAPE);
        let [one, two] = [write(20, 3), write(30, 8)];
        for command in [&one, &two] {
            zones.begins(command);
        }
        zones.ended(&ends(&one, Some(Failure::Medium)));
        assert!(zones.refuses(&write(23, 1)), "it is read-only");
        assert_eq!(zones.close(&(0..3)), 1, "one holds something and is closed");
        assert!(zones.is_written(&(0..3)) && zones.refuses(&write(40, 1)));
        zones.ended(&ends(&two, None));
        assert!(!zones.is_written(&(0..3)));
        assert!(!zones.reset(&(0..3)), "one is not");
        assert!(zones.refuses(&write(20, 1)) && zones.refuses(&write(23, 1)));
        assert!(!zones.refuses(&write(30, 8)) && !zones.refuses(&write(40, 1)));
        zones.begins(&write(40, 2));
        zones.close(&(1..3));
        zones.reopen(&(1..3));
        assert_eq!((zones.pointer(1), zones.pointer(2)), (30, 42));
        assert!(!zones.refuses(&write(42, 1)));
    }

    /// A host hears of commands when they end, in whatever order.
    #[test]
    fn a_host_knows_how_far_zones_are_written() {
        let mut zones = Zones::new(SHAPE);
        zones.heard(&ends(&write(23, 2), None));
        zones.heard(&ends(&write(20, 3), None));
        zones.heard(&ends(&write(30, 1), Some(Failure::TimedOut)));
        zones.heard(&ends(&write(40, 1), Some(Failure::Medium)));
        zones.heard(&ends(&write(55, 1), Some(Failure::Zone)));
        zones.heard(&ends(&write(3, 1), None));
        let pointers = [0, 1, 3].map(|zone| zones.pointer(zone));
        assert_eq!(pointers, [25, 31, 50]);
        assert!(zones.refuses(&write(41, 1)));
        zones.heard(&ends(&command(Op::Discard, 20, 20), None));
        assert_eq!([0, 1].map(|zone| zones.pointer(zone)), [20, 30]);
    }

    /// Against all pointers, one by one.
    #[test]
    fn range_writes_begin_at_pointers_of_zones_with_room() {
        let mut rng = Rng::stream(5, "zones");
        let mut zones = Zones::new(SHAPE);
        for _ in 0..4_000 {
            let zone = rng.below(100) as u32;
            match rng.below(30) {
                0 => {
                    let some = zone..(zone + rng.below(40) as u32).min(100);
                    zones.close(&some);
                    zones.reset(&some);
                }
                1 => {
                    zones.close(&(zone..zone + 1));
                }
                _ => {
                    let next = write(zones.pointer(zone), 1 + rng.below(5));
                    if !zones.refuses(&next) {
                        zones.begins(&next);
                    }
                }
            }
            let len = 1 + rng.below(5);
            let all: Vec<u64> = (0..100)
                .map(|zone| zones.pointer(zone))
                .filter(|at| !zones.refuses(&write(*at, len)))
                .collect();
            let (from, until) = (rng.below(1_030), rng.below(1_030));
            let within = || all.iter().copied().filter(|at| (from..until).contains(at));
            assert_eq!(zones.first(from, until, len), within().next());
            assert_eq!(zones.last(until, from, len), within().next_back());
            assert_eq!(zones.last(u64::MAX, 0, len), all.last().copied());
        }
    }
}
