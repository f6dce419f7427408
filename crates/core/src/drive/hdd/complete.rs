//! A disk drive with its electronics, and the oracle that knows all of it.
//!
//! The oracle is an equal twin of the drive: it is told the same commands, so it does the same, down to the sector at which read-ahead stands.
//!
//! ```text
//! a read         overhead, what the arm has to finish first (read-ahead to its least, or the one segment that is being written), the way, the turn
//! a write        the same; but where the buffer takes writes while others are written, only what the arm needs for it behind all of those: nobody waits for
//!                that. Where the buffer is full of such, its wait for room does not count either
//! ```
//!
//! A price does not count that a read whose blocks are in the buffer needs no arm: see `docs/design/0008-complete-drive.md`.

use std::sync::Arc;

use super::controller::{Controller, Freed, Trial};
use super::firmware::{Firmware, WriteBehind};
use super::mech::Mechanics;
use crate::contract::{Arm, Drive, Geometry, Oracle};
use crate::freemap::FreeMap;
use crate::io::{Command, DriveDone, Unwritten};
use crate::offer::Legal;
use crate::op::{Op, Status};
use crate::position::{
    ArmPosition, Arrival, Candidate, Choice, FreePlace, Landing, Place, Predicted, Search,
};
use crate::search;
use crate::sorted::Sorted;
use crate::units::{Blocks, Duration, Instant, Pba};

/// A drive with buffer, bus and overheads.
pub(super) struct CompleteDrive {
    controller: Controller,
    running: Option<(Instant, DriveDone)>,
    /// What the medium did not have when the command under way came. The controller has run that to its end already.
    unwritten: Vec<Unwritten>,
}

impl CompleteDrive {
    pub(super) fn new(mechanics: Arc<Mechanics>, firmware: Arc<Firmware>) -> CompleteDrive {
        CompleteDrive {
            // One for each segment at most: nothing is allocated while the drive works.
            unwritten: Vec::with_capacity(firmware.buffer.segments as usize),
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

    /// While a command runs, what the medium did not have when it came: by now it may have some of that.
    fn volatile(&self, now: Instant, out: &mut Vec<Unwritten>) {
        if self.running.is_some() {
            return out.extend(&self.unwritten);
        }
        let mut resting = self.controller.clone();
        resting.rest_until(now.max(resting.now));
        out.extend(resting.unwritten());
    }
}

/// Does what the drive does, and so knows where it stands.
pub(super) struct CompleteOracle {
    twin: Controller,
    /// How a read and a write would find their arm that came now.
    freed: [Freed; 2],
    /// How that is found out.
    trial: Trial,
    /// The instant that `freed` and `ready` are about; none before the first one, and while the drive is at work.
    now: Option<Instant>,
    /// A write comes behind others, in the buffer: the time until then does not count.
    behind: bool,
    /// When the arm can begin to move for each of them, and how much of the time until then counts.
    ready: [(Instant, Duration); 2],
}

impl CompleteOracle {
    pub(super) fn new(mechanics: Arc<Mechanics>, firmware: Arc<Firmware>) -> CompleteOracle {
        let twin = Controller::new(mechanics, firmware);
        let mut trial = Trial::new(&twin);
        CompleteOracle {
            freed: [twin.freed(&mut trial).0; 2],
            trial,
            twin,
            now: None,
            behind: false,
            ready: [(Instant::ZERO, Duration::ZERO); 2],
        }
    }

    /// How a command would find its arm.
    #[inline]
    fn freed(&self, op: Op) -> &Freed {
        &self.freed[usize::from(op == Op::Write)]
    }

    /// When the arm can begin to move for a command of `now`, and how much of the time until then is in its price.
    #[inline]
    fn ready(&self, now: Instant, op: Op) -> (Instant, Duration) {
        match self.now == Some(now) {
            true => self.ready[usize::from(op == Op::Write)],
            false => self.reckoned(now, op),
        }
    }

    fn reckoned(&self, now: Instant, op: Op) -> (Instant, Duration) {
        let freed = self.freed(op);
        let free = freed.now.max(now);
        let overhead = self.twin.arm_overhead(op, freed.last_op);
        let stopping = freed.stopped.0.saturating_sub(free.0);
        let ready = free.max(now + overhead) + Duration(stopping);
        let from = match op {
            Op::Write if self.behind => free,
            _ => now,
        };
        (ready, ready.since(from))
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

    fn positioning_time(&self, now: Instant, op: Op, place: &Place) -> Duration {
        let (ready, waited) = self.ready(now, op);
        let (mechanics, arm) = (&self.twin.mechanics, self.freed(op).arm);
        waited + mechanics.positioning_time(ready, arm, op, place)
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

    fn arm(&self) -> Option<&dyn Arm> {
        Some(self)
    }

    fn started(&mut self, now: Instant, command: &Command) {
        self.twin.carry_out(now.max(self.twin.now), command);
        self.now = None;
        self.ready = [(Instant::ZERO, Duration::ZERO); 2];
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

    /// A write may begin its way elsewhere, nearer by as much.
    fn seek_at_least(&self, distance: u32) -> Duration {
        let [read, write] = self.freed.map(|freed| freed.arm.cylinder);
        let nearer = distance.saturating_sub(read.abs_diff(write));
        let [read, write] = self.ready.map(|(_, waited)| waited);
        let mechanics = &self.twin.mechanics;
        (read + mechanics.seek_at_least(distance)).min(write + mechanics.seek_at_least(nearer))
    }

    fn seek_time(&self, now: Instant, op: Op, to: ArmPosition) -> Duration {
        let from = self.freed(op).arm;
        let movement = self.twin.mechanics.movement(from, to, op);
        self.ready(now, op).1 + movement
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

    fn angle_on_arrival(&self, now: Instant, late: i64, to: ArmPosition) -> Option<Arrival> {
        let (ready, _) = self.ready(now, Op::Write);
        let mechanics = &self.twin.mechanics;
        Some(mechanics.angle_on_arrival(ready, late, self.freed(Op::Write).arm, to))
    }

    fn ends_where_it_writes(&self) -> bool {
        self.twin.firmware.buffer.write_behind == WriteBehind::None
    }
}

#[cfg(test)]
mod tests {
    use super::super::HddBlueprint;
    use super::super::parameters::Parameters;
    use crate::contract::Blueprint;
    use crate::ids::IoId;
    use crate::io::Command;
    use crate::op::Op;
    use crate::rng::Rng;
    use crate::units::{Blocks, Duration, Instant, Pba};

    /// A turn is 10 ms, a sector 1 ms; data cross the bus in no time, so a read of one block ends with its sector.
    fn blueprint(write_behind: &str, for_writes: u32) -> HddBlueprint {
        let accepts = for_writes > 1;
        let text = format!(
            "kind = 'hdd'
            rpm = 6000
            heads = 2
            cylinders = 30
            head_switch_ms = 0.5
            write_settle_ms = 0.25
            seek_ms = [[1, 2.0], [29, 8.5]]
            [buffer]
            segments = 5
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
            [[zones]]
            cylinders = [0, 29]
            sectors_per_track = 10
            track_skew_sectors = 2
            cylinder_skew_sectors = 3"
        );
        HddBlueprint::new(&Parameters::read(&text.parse().unwrap()).unwrap()).unwrap()
    }

    /// Four writes are taken at once; a fifth is priced by what the arm needs for it when all are written, which a flush tells.
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
            let price = oracle.positioning_time(now, Op::Write, &place);
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
                (flushed + oracle.positioning_time(flushed, Op::Write, &place)).0,
            ];
            // Both name an instant at which its block begins; the overhead of a write may miss a turn.
            assert!(
                before <= behind + 2 && (behind + 2 - before) % turn <= 4,
                "{before} {behind}"
            );
        }
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
                let price = oracle.positioning_time(now, op, &place);
                let seek = oracle.seek_time(now, op, place.arm_position());
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
}
