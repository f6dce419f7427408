//! A disk drive with its electronics, and the oracle that knows all of it.
//!
//! The oracle is an equal twin of the drive: it is told the same commands, so it does the same,
//! down to the sector at which read-ahead stands.
//!
//! ```text
//! a read         overhead, what the arm has to finish first (read-ahead to its least, or the one segment that is being written), the way, the turn
//! a write        the same, but the turn counts from when its data are there (`controller/data.rs`), if that is later; and where the buffer takes writes while
//!                others are written, only what the arm needs for it behind all of those, or at once if the nearest is written first: nobody waits for that. Where the buffer is full of such, its wait
//!                for room does not count either
//! ```
//!
//! A price does not count that a read whose blocks are in the buffer needs no arm: see
//! `docs/design/0008-complete-drive.md`.

use std::sync::Arc;

use super::controller::{Coming, Controller, Freed, Trial, passes};
use super::firmware::{Firmware, WriteBehind};
use super::mech::Mechanics;
use crate::contract::{Arm, Drive, Geometry, Oracle};
use crate::freemap::FreeMap;
use crate::io::{Command, DriveDone, Owed, Unwritten};
use crate::offer::Legal;
use crate::op::{Op, Status};
use crate::position::{
    ArmPosition, Arrival, Candidate, Choice, FreePlace, Landing, Place, Predicted, Search, Served,
};
use crate::search;
use crate::sorted::Sorted;
use crate::units::{Blocks, Duration, Instant, Pba};

/// A drive with buffer, bus and overheads.
pub(super) struct CompleteDrive {
    controller: Controller,
    running: Option<(Instant, DriveDone)>,
    /// What the medium did not have when the command under way came. The controller has run that to
    /// its end already.
    unwritten: Vec<Unwritten>,
}

impl CompleteDrive {
    pub(super) fn new(mechanics: Arc<Mechanics>, firmware: Arc<Firmware>) -> CompleteDrive {
        CompleteDrive {
            // One for each segment at most: nothing is allocated while the drive works.
            unwritten: Vec::with_capacity(firmware.buffer.count()),
            controller: Controller::new(mechanics, firmware),
            running: None,
        }
    }
}

impl Drive for CompleteDrive {
    fn submit(&mut self, now: Instant, command: &Command) {
        assert!(self.running.is_none(), "the drive is busy");
        self.controller.rest_until(now);
        self.unwritten.clear();
        self.unwritten.extend(self.controller.unwritten());
        let (due, cost) = self.controller.carry_out(now, command);
        self.running = Some((due, command.ends(Status::Done, cost)));
    }

    fn next_event(&self) -> Option<Instant> {
        self.running.map(|(due, _)| due)
    }

    fn advance(&mut self, now: Instant) -> Option<DriveDone> {
        let (_, done) = self.running.take_if(|(due, _)| *due <= now)?;
        Some(done)
    }

    /// While a command runs, what the medium did not have when it came: by now it may have some of
    /// that.
    fn volatile(&self, now: Instant, out: &mut Vec<Unwritten>) {
        if self.running.is_some() {
            return out.extend(&self.unwritten);
        }
        let mut resting = self.controller.clone();
        resting.rest_until(now.max(resting.now));
        out.extend(resting.unwritten());
    }

    /// While a command runs, what there is at its end.
    fn owes(&self, now: Instant) -> Owed {
        if self.running.is_some() {
            return self.controller.owes();
        }
        let mut resting = self.controller.clone();
        resting.rest_until(now.max(resting.now));
        resting.owes()
    }
}

/// Does what the drive does, and so knows where it stands.
pub(super) struct CompleteOracle {
    twin: Controller,
    /// How a read and a write would find their arm that came now.
    freed: [Freed; 2],
    /// How that is found out.
    trial: Trial,
    /// The instant that `freed` and `ready` are about; none before the first one, and while the
    /// drive is at work.
    now: Option<Instant>,
    /// A write comes behind others, in the buffer: the time until then does not count.
    behind: bool,
    /// What comes before the arm moves for each of them.
    ready: [Ready; 2],
    /// A block takes longer on the bus than the shortest sector on the medium.
    bus_is_slower: bool,
}

/// What comes before the arm moves for a command.
#[derive(Clone, Copy, Debug)]
struct Ready {
    /// Its price counts from here.
    from: Instant,
    /// When the arm can begin to move.
    moves: Instant,
    /// How its data come, if it is a write.
    coming: Coming,
}

impl Ready {
    const NEVER: Ready = Ready {
        from: Instant::ZERO,
        moves: Instant::ZERO,
        coming: Coming::NEVER,
    };
}

impl CompleteOracle {
    pub(super) fn new(mechanics: Arc<Mechanics>, firmware: Arc<Firmware>) -> CompleteOracle {
        let turn = mechanics.spindle().revolution();
        let sectors = mechanics.layout().tracks_of_zones().map(|zone| zone.1);
        let shortest = sectors.max().map_or(turn, |most| Duration(turn.0 / most));
        let bus_is_slower = firmware.write_block > shortest;
        let twin = Controller::new(mechanics, firmware);
        let mut trial = Trial::new(&twin);
        CompleteOracle {
            freed: [twin.freed(&mut trial).0; 2],
            trial,
            twin,
            now: None,
            behind: false,
            ready: [Ready::NEVER; 2],
            bus_is_slower,
        }
    }

    /// How a command would find its arm.
    #[inline]
    fn freed(&self, op: Op) -> &Freed {
        &self.freed[usize::from(op == Op::Write)]
    }

    /// What comes before the arm moves for a command of `now`.
    #[inline]
    fn ready(&self, now: Instant, op: Op) -> Ready {
        match self.now == Some(now) {
            true => self.ready[usize::from(op == Op::Write)],
            false => self.reckoned(now, op),
        }
    }

    fn reckoned(&self, now: Instant, op: Op) -> Ready {
        let freed = self.freed(op);
        let free = freed.now.max(now);
        let stopping = freed.stopped.0.saturating_sub(free.0);
        let (coming, ready) = match op {
            Op::Write => {
                let coming = self.twin.coming(now, &self.freed[0]);
                (coming, coming.arm_ready)
            }
            _ => (
                Coming::NEVER,
                now + self.twin.arm_overhead(op, freed.last_op),
            ),
        };
        Ready {
            from: match op {
                Op::Write if self.behind => free,
                _ => now,
            },
            moves: free.max(ready) + Duration(stopping),
            coming,
        }
    }

    /// When the arm is on a track for a write of `len` blocks, and when its data are there: if
    /// that is not later, an instant that is not later either.
    #[inline]
    fn writes(&self, ready: &Ready, to: ArmPosition, len: Blocks) -> [Instant; 2] {
        let Controller {
            mechanics,
            firmware,
            ..
        } = &self.twin;
        let movement = mechanics.movement(self.freed(Op::Write).arm, to, Op::Write);
        let arrives = ready.moves + movement.max(firmware.write_seek_min);
        let all = ready.coming.all(firmware, len.0);
        if all <= arrives {
            return [arrives, all];
        }
        let turn = mechanics.spindle().revolution();
        let sector = match self.bus_is_slower {
            true => mechanics.layout().sector_time(to.cylinder),
            false => turn,
        };
        let needed = firmware.needed_to_write(len.0);
        let there = ready
            .coming
            .there(firmware, [needed, len.0], (sector, turn));
        [arrives, there]
    }
}

impl Oracle for CompleteOracle {
    fn advance(&mut self, now: Instant) {
        let now = now.max(self.twin.now);
        if self.now == Some(now) {
            return;
        }
        self.now = Some(now);
        self.twin.rest_until(now);
        let (needs_arm, behind) = self.twin.freed(&mut self.trial);
        self.behind = behind.is_some();
        self.freed = [needs_arm, behind.unwrap_or(needs_arm)];
        self.ready = [Op::Read, Op::Write].map(|op| self.reckoned(now, op));
    }

    fn locate(&self, at: Pba) -> Place {
        self.twin.mechanics.layout().spot(at).place
    }

    fn positioning_time(&self, now: Instant, op: Op, place: &Place, len: Blocks) -> Duration {
        let ready = self.ready(now, op);
        let mechanics = &self.twin.mechanics;
        if op == Op::Write {
            let soonest = self.writes(&ready, place.arm_position(), len);
            return passes(mechanics.spindle(), soonest, place.angle).since(ready.from);
        }
        let Ready { from, moves, .. } = ready;
        moves.since(from) + mechanics.positioning_time(moves, self.freed(op).arm, op, place)
    }

    fn service_time(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Duration {
        self.predict(now, op, at, len).end.since(now)
    }

    fn nearest(&self, now: Instant, waiting: &Sorted<Candidate>) -> Option<Choice> {
        search::nearest(self, now, waiting)
    }

    fn nearest_free(&self, search: &Search, free: &FreeMap) -> Option<FreePlace> {
        search::free::by_track(self, search, free)
    }

    fn nearest_offered(&self, now: Instant, before: Instant, legal: &Legal<'_>) -> Option<Landing> {
        search::offered::by_track(self, &*self.twin.mechanics, (now, before), legal)
    }

    fn buffered(&self, now: Instant, op: Op, tell: &mut dyn FnMut(Served)) {
        match op {
            Op::Write => self.twin.writes_served(tell),
            _ => self.twin.reads_served(now, tell),
        }
    }

    fn arm(&self) -> Option<&dyn Arm> {
        Some(self)
    }

    fn started(&mut self, now: Instant, command: &Command) {
        self.twin.carry_out(now.max(self.twin.now), command);
        self.now = None;
        self.ready = [Ready::NEVER; 2];
    }

    fn observed(&mut self, now: Instant, _done: &DriveDone) {
        self.advance(now);
    }
}

impl Arm for CompleteOracle {
    fn position(&self) -> ArmPosition {
        self.freed[0].arm
    }

    fn geometry(&self) -> Option<&dyn Geometry> {
        Some(&*self.twin.mechanics)
    }

    fn writes_from(&self) -> ArmPosition {
        self.freed(Op::Write).arm
    }

    fn write_at_least(&self, distance: u32) -> Duration {
        let (mechanics, firmware) = (&self.twin.mechanics, &self.twin.firmware);
        let Ready {
            from,
            moves,
            coming,
        } = &self.ready[1];
        let moved = mechanics.seek_at_least(distance);
        let turn = mechanics.spindle().revolution();
        let there = coming.there(firmware, [1, 1], (turn, turn));
        let soonest = *moves + moved.max(firmware.write_seek_min);
        soonest.max(there).since(*from)
    }

    /// A write may begin its way elsewhere, nearer by as much.
    fn seek_at_least(&self, distance: u32) -> Duration {
        let [read, write] = self.freed.map(|freed| freed.arm.cylinder);
        let nearer = distance.saturating_sub(read.abs_diff(write));
        let Ready { from, moves, .. } = self.ready[0];
        let reads = moves + self.twin.mechanics.seek_at_least(distance);
        reads.since(from).min(self.write_at_least(nearer))
    }

    fn seek_time(&self, now: Instant, op: Op, to: ArmPosition, len: Blocks) -> Duration {
        let ready = self.ready(now, op);
        let Ready { from, moves, .. } = ready;
        if op == Op::Write {
            let [arrives, there] = self.writes(&ready, to, len);
            return arrives.max(there).since(from);
        }
        moves.since(from) + self.twin.mechanics.movement(self.freed(op).arm, to, op)
    }

    fn predict(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Predicted {
        let mut ahead = self.twin.clone();
        let command = Command {
            io: Command::ARM,
            op,
            at,
            len,
            fua: false,
        };
        let (end, _) = ahead.carry_out(now.max(ahead.now), &command);
        ahead.rest_until(end);
        match op {
            Op::Write => ahead.write_all(),
            _ => ahead.free_arm(),
        }
        // What is written behind keeps the arm after the command has ended.
        Predicted {
            end: end.max(ahead.now),
            arm: ahead.arm,
        }
    }

    fn positioning_time_after(&self, access: &Predicted, op: Op, place: &Place) -> Duration {
        let overhead = self.twin.arm_overhead(op, self.twin.last_op);
        let mechanics = &self.twin.mechanics;
        overhead + mechanics.positioning_time(access.end + overhead, access.arm, op, place)
    }

    fn seek_at_least_after(&self, distance: u32) -> Duration {
        let overhead =
            [Op::Read, Op::Write].map(|op| self.twin.arm_overhead(op, self.twin.last_op));
        overhead[0].min(overhead[1]) + self.twin.mechanics.seek_at_least(distance)
    }

    fn angle_on_arrival(
        &self,
        now: Instant,
        late: i64,
        to: ArmPosition,
        len: Blocks,
    ) -> Option<Arrival> {
        let [arrives, there] = self.writes(&self.ready(now, Op::Write), to, len);
        Some(self.twin.mechanics.arrival(arrives.max(there), late))
    }

    fn ends_where_it_writes(&self) -> bool {
        self.twin.firmware.buffer.write_behind == WriteBehind::None
    }
}

#[cfg(test)]
mod tests {
    use super::super::HddBlueprint;
    use super::super::parameters::Parameters;
    use std::sync::Arc;

    use super::CompleteOracle;
    use crate::contract::{Blueprint, Oracle};
    use crate::ids::IoId;
    use crate::io::Command;
    use crate::op::Op;
    use crate::rng::Rng;
    use crate::units::{Blocks, Duration, Instant, Pba};

    /// A turn is 10 ms, a sector 1 ms; data cross the bus in no time, so a read of one block ends
    /// with its sector.
    fn blueprint(write_behind: &str, for_writes: u32) -> HddBlueprint {
        drive(write_behind, (5, for_writes), "")
    }

    fn drive(write_behind: &str, segments: (u32, u32), electronics: &str) -> HddBlueprint {
        read(&text(write_behind, segments, electronics))
    }

    fn read(text: &str) -> HddBlueprint {
        HddBlueprint::new(&Parameters::read(&text.parse().unwrap()).unwrap()).unwrap()
    }

    fn text(write_behind: &str, (segments, for_writes): (u32, u32), electronics: &str) -> String {
        let accepts = for_writes > 1;
        format!(
            "kind = 'hdd'
            rpm = 6000
            heads = 2
            cylinders = 30
            head_switch_ms = 0.5
            write_settle_ms = 0.25
            seek_ms = [[1, 2.0], [29, 8.5]]
            [buffer]
            segments = {segments}
            segment_blocks = 40
            write_segments_max = {for_writes}
            read_ahead = 'blocks'
            read_ahead_min_blocks = 2
            read_ahead_max_blocks = 25
            write_behind = '{write_behind}'
            accept_while_writing = {accepts}
            [overheads]
            read_miss_after_read_ms = 0.21
            read_miss_after_write_ms = 0.32
            write_after_read_ms = 0.43
            write_after_write_ms = 0.54
            {electronics}
            [[zones]]
            cylinders = [0, 29]
            sectors_per_track = 10
            track_skew_sectors = 2
            cylinder_skew_sectors = 3"
        )
    }

    /// What of a write is in the buffer a power cut takes while another command runs, too: how much
    /// of it is written by then is not told.
    #[test]
    fn what_the_medium_did_not_have_may_be_lost_while_the_next_command_runs() {
        let mut drive = blueprint("any", 1).drive();
        let lost = |drive: &dyn crate::contract::Drive, now: Instant| {
            let mut lost = Vec::new();
            drive.volatile(now, &mut lost);
            lost
        };
        let mut now = Instant(0);
        for (op, at) in [(Op::Write, 100), (Op::Read, 500)] {
            let before = lost(&*drive, now);
            assert_eq!(before.is_empty(), op == Op::Write);
            let command = Command {
                io: IoId(1),
                op,
                at: Pba(at),
                len: Blocks(1),
                fua: false,
            };
            drive.submit(now, &command);
            let due = drive.next_event().unwrap();
            assert_eq!(lost(&*drive, Instant((now.0 + due.0) / 2)), before);
            now = due;
            drive.advance(now).unwrap();
        }
    }

    /// Four writes are taken at once; a fifth is priced by what the arm needs for it when all are
    /// written, which a flush tells.
    #[test]
    fn a_write_that_the_buffer_takes_is_priced_behind_all_that_are_to_be_written() {
        let blueprint = blueprint("any", 5);
        let mut rng = Rng::stream(7, "write");
        for _ in 0..200 {
            let (mut drive, mut oracle) = (blueprint.drive(), blueprint.oracle());
            let command = |op, at, len| Command {
                io: IoId(1),
                op,
                at: Pba(at),
                len: Blocks(len),
                fua: false,
            };
            let mut now = Instant(0);
            for _ in 0..4 {
                let write = command(Op::Write, rng.below(600), 1);
                drive.submit(now, &write);
                oracle.started(now, &write);
                now = drive.next_event().unwrap();
                let done = drive.advance(now).unwrap();
                oracle.observed(now, &done);
            }
            let place = oracle.locate(Pba(rng.below(600)));
            let price = oracle.positioning_time(now, Op::Write, &place, Blocks(1));
            // Written at the same time, it would find the arm as it is behind the flush.
            let flush = command(Op::Flush, 0, 0);
            drive.submit(now, &flush);
            oracle.started(now, &flush);
            let flushed = drive.next_event().unwrap();
            let done = drive.advance(flushed).unwrap();
            oracle.observed(flushed, &done);
            let turn = Duration::from_ms(10).0;
            let [before, behind] = [
                (flushed + price).0,
                (flushed + oracle.positioning_time(flushed, Op::Write, &place, Blocks(1))).0,
            ];
            // Both name an instant at which its block begins; the overhead of a write may miss a
            // turn.
            assert!(
                before <= behind + 2 && (behind + 2 - before) % turn <= 4,
                "{before} {behind}"
            );
        }
    }

    fn write_one(at: u64) -> Command {
        Command {
            io: IoId(1),
            op: Op::Write,
            at: Pba(at),
            len: Blocks(1),
            fua: false,
        }
    }

    /// Where the nearest segment is written first, the price of a write is when its first block
    /// begins: behind what the arm is writing if nothing else waits, behind the one that waits if
    /// that can begin sooner, and if the buffer is full behind what is being written. A power cut
    /// loses what is not on the medium, so that tells when a block came there.
    #[test]
    fn a_write_that_is_nearest_is_written_when_its_price_says() {
        let own = "write_back = 'nearest'\n            accept_while_writing = true";
        let text = text("any", (5, 5), "").replace("accept_while_writing = true", own);
        let blueprint = read(&text);
        let mut rng = Rng::stream(8, "nearest");
        let firmware = blueprint.firmware.clone().expect("it has a buffer");
        let mut oracle = CompleteOracle::new(Arc::clone(blueprint.mechanics()), firmware);
        let mut drive = blueprint.drive();
        let (mut now, mut checked) = (Instant(0), [0; 3]);
        for _ in 0..60_000 {
            let command = write_one(rng.below(600));
            oracle.advance(now);
            let place = oracle.locate(command.at);
            let price = oracle.positioning_time(now, Op::Write, &place, Blocks(1));
            let [end, behind] = [Op::Read, Op::Write].map(|op| *oracle.freed(op));
            let begins = behind.now.max(now) + price;
            let waits: Vec<u64> = (oracle.twin.buffer.dirty())
                .map(|(_, index)| oracle.twin.buffer.at(index).written)
                .collect();
            let soonest = |at: u64| {
                let place = oracle.locate(Pba(at));
                let mechanics = &oracle.twin.mechanics;
                mechanics.positioning_time(end.now, end.arm, Op::Write, &place)
            };
            let full = waits.len() == 4;
            let follows = match waits[..] {
                [] => true,
                // One that came before what is being written is not reckoned with.
                [one] => behind.now > end.now && soonest(one) < soonest(command.at.0),
                _ => full && waits.iter().all(|other| price < soonest(*other)),
            };
            // Not where it joins another, or overwrites it.
            let around = (command.at.0.saturating_sub(1), command.at.0 + 2);
            let mut unwritten = oracle.twin.buffer.all_unwritten();
            let apart = !unwritten.any(|run| run.overlaps(around.0, around.1));
            drop(unwritten);
            drive.submit(now, &command);
            oracle.started(now, &command);
            let due = drive.next_event().unwrap();
            oracle.observed(due, &drive.advance(due).unwrap());
            if follows && apart && (full || due < end.now) {
                let lost = |at: Instant| {
                    let mut dirty = Vec::new();
                    drive.volatile(at, &mut dirty);
                    dirty.iter().any(|run| run.at == command.at)
                };
                let sector = Duration::from_ms(1);
                assert!(lost(begins + sector - Duration(3)), "too soon");
                assert!(!lost(begins + sector + Duration(3)), "too late");
                checked[waits.len().min(2)] += 1;
            }
            now = due + Duration(rng.below(2) * rng.below(15_000_000));
        }
        assert!(checked.iter().all(|count| *count > 150), "{checked:?}");
    }

    #[test]
    fn the_oracle_knows_when_a_miss_will_find_its_first_block() {
        let sector = Duration::from_ms(1);
        for (write_behind, for_writes) in [("none", 1), ("any", 1), ("any", 4)] {
            let blueprint = blueprint(write_behind, for_writes);
            let (mut drive, mut oracle) = (blueprint.drive(), blueprint.oracle());
            let mut rng = Rng::stream(5, write_behind);
            let (mut now, mut checked) = (Instant(0), 0);
            for _ in 0..5_000 {
                now += Duration(rng.below(12_000_000));
                let writes = rng.chance(0.4);
                let op = if writes { Op::Write } else { Op::Read };
                let command = Command {
                    io: IoId(1),
                    op,
                    at: Pba(rng.below(600)),
                    len: Blocks(1),
                    fua: false,
                };
                oracle.advance(now);
                let place = oracle.locate(command.at);
                let price = oracle.positioning_time(now, op, &place, Blocks(1));
                let seek = oracle.seek_time(now, op, place.arm_position(), Blocks(1));
                let distance = oracle.position().cylinder.abs_diff(place.cylinder);
                let least = oracle.seek_at_least(distance);
                assert!(least <= seek, "{least} <= {seek}");
                assert!(seek <= price, "{seek} <= {price}");
                assert!(price < seek + Duration::from_ms(10));
                drive.submit(now, &command);
                oracle.started(now, &command);
                let due = drive.next_event().unwrap();
                let done = drive.advance(due).unwrap();
                oracle.observed(due, &done);
                let from_medium = done.cost.transfer > Duration::ZERO;
                // A read may take over what is being read ahead; that saves the way.
                let expected = due.since(now).0.abs_diff((price + sector).0) <= 2;
                if from_medium && done.cost.seek > Duration::ZERO {
                    assert!(
                        expected,
                        "{:?}: {price} and a sector is not {}",
                        command,
                        due.since(now)
                    );
                    checked += 1;
                }
                now = due;
            }
            assert!(checked > 1_000, "{checked} commands had to move the arm");
        }
    }

    /// What a command asked for, the price of it, and what it took.
    struct Carried {
        op: Op,
        at: u64,
        len: u64,
        price: Duration,
        took: Duration,
    }

    /// Commands at random within a track each, one after the other.
    fn carried(blueprint: &HddBlueprint, count: u32, rng: &mut Rng) -> Vec<Carried> {
        let (mut drive, mut oracle) = (blueprint.drive(), blueprint.oracle());
        let mut now = Instant(0);
        let one = |_| {
            now += Duration(rng.below(2) * rng.below(12_000_000));
            let op = if rng.chance(0.7) { Op::Write } else { Op::Read };
            let len = 1 + rng.below(6);
            let at = rng.below(60) * 10 + rng.below(11 - len);
            let command = Command {
                io: IoId(1),
                op,
                at: Pba(at),
                len: Blocks(len),
                fua: false,
            };
            oracle.advance(now);
            let place = oracle.locate(command.at);
            let price = oracle.positioning_time(now, op, &place, command.len);
            let seek = oracle.seek_time(now, op, place.arm_position(), command.len);
            let distance = oracle.position().cylinder.abs_diff(place.cylinder);
            assert!(oracle.seek_at_least(distance) <= seek);
            assert!(seek <= price && price < seek + Duration::from_ms(10));
            drive.submit(now, &command);
            oracle.started(now, &command);
            let due = drive.next_event().unwrap();
            let took = due.since(now);
            oracle.observed(due, &drive.advance(due).unwrap());
            now = due;
            Carried {
                op,
                at,
                len,
                price,
                took,
            }
        };
        (0..count).map(one).collect()
    }

    /// Electronics whose bus is slow enough to matter, and turns that six blocks lose on it
    /// wherever they go. Behind the last sector the host is told, which takes 0.07 ms, or 0.03
    /// after an extra disconnect.
    const ELECTRONICS: &[(&str, u64, &str)] = &[
        (
            "faster than the medium",
            0,
            "[bus]\nwrite_ms_per_block = 0.9",
        ),
        (
            "slower than the medium",
            0,
            "[bus]\nwrite_ms_per_block = 1.3",
        ),
        ("much slower", 3, "[bus]\nwrite_ms_per_block = 7.4"),
        (
            "with an extra disconnect",
            0,
            "[overheads.extra_disconnect]
            command_ms = 0.2
            disconnect_ms = 0.3
            pause_ms = 2.1
            seek_ms = 0.4
            [bus]
            write_ms_per_block = 1.3",
        ),
        (
            "with a long least movement",
            0,
            "write_seek_min_ms = 3.3\n[bus]\nwrite_ms_per_block = 0.9",
        ),
    ];

    #[test]
    fn data_that_come_a_nanosecond_late_wait_for_a_turn() {
        let drive = blueprint("none", 1);
        let firmware = drive.firmware.clone().expect("it has a buffer");
        let oracle = CompleteOracle::new(Arc::clone(drive.mechanics()), firmware);
        let block_1 = oracle.locate(Pba(1)).angle;
        for (there, passes) in [
            (0, 1_000_000),
            (999_999, 1_000_000),
            (1_000_000, 1_000_000),
            (1_000_002, 11_000_000),
            (5_000_000, 11_000_000),
        ] {
            let spindle = oracle.twin.mechanics.spindle();
            let found = super::passes(spindle, [Instant(0), Instant(there)], block_1);
            assert!(found.0.abs_diff(passes) <= 1, "{there}: {found}");
        }
    }

    /// Where data come late, the price is that of the pass after which nothing is lost that could
    /// be kept.
    #[test]
    fn a_write_begins_when_its_data_are_there() {
        let mut rng = Rng::stream(11, "data");
        for (name, lost_turns, text) in ELECTRONICS {
            for (command_ms, segments) in [(0.0, 5), (0.4, 5), (0.0, 1), (0.4, 1)] {
                let electronics = format!(
                    "command_ms = {command_ms}
                    data_preparation_ms = 0.05
                    reselect_ms = 0.07
                    reselect_again_ms = 0.03
                    {text}"
                );
                let drive = drive("none", (segments, 1), &electronics);
                let all = carried(&drive, 4_000, &mut rng);
                for after in [Op::Read, Op::Write] {
                    let (missed, of) = missed(&all, after, *lost_turns);
                    // Where read-ahead will be when a command has been looked at is not foretold.
                    let ahead = after == Op::Read && command_ms > 0.0;
                    let most = if ahead { of / 20 } else { 0 };
                    let told = format!("a bus {name}, {segments} segments, {command_ms} ms");
                    assert!(
                        of > 500 && missed <= most,
                        "{told}: {missed} of {of} missed"
                    );
                }
            }
        }
    }

    /// Of all writes after such a command, and elsewhere, how many did not end when their price
    /// said, and how many there were. Turns may be lost whatever the place.
    fn missed(all: &[Carried], after: Op, lost_turns: u64) -> (u32, u32) {
        let turn = Duration::from_ms(10).0;
        let (mut missed, mut of) = (0, 0);
        for (before, write) in all.iter().zip(&all[1..]) {
            // What the buffer has of the blocks changes how it takes them, and a price does not
            // name them.
            let near = write.at <= before.at + before.len && before.at <= write.at + write.len;
            if write.op != Op::Write || before.op != after || near {
                continue;
            }
            let passed = write.price + Duration::from_ms(write.len);
            let told = write.took.0 as i64 - passed.0 as i64;
            let on_time = (0..=lost_turns).any(|turns| {
                let tails = [70_000, 30_000].map(|tail| tail + (turns * turn) as i64);
                tails.iter().any(|tail| told.abs_diff(*tail) <= 20)
            });
            of += 1;
            missed += u32::from(!on_time);
        }
        (missed, of)
    }
}
