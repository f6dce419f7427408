//! A drive on which things go wrong, around one that does what it is told.
//!
//! The drive inside carries out each command as if nothing were wrong; what this costs on top
//! (retries, a slow drive, a host that waits for an answer in vain) is added to the command's
//! overhead before it ends. So the arm is where the drive's oracle believes it to be, and the
//! platters turn on. So, too, a command that is not answered in time lasts as long as the drive is
//! busy with it, however short its host's patience: where a drive stands that was told to stop
//! within a command, no oracle could know. A drive that is gone is not asked any more.
//!
//! What goes wrong, [`Faults`] say: a pure function. What is kept here is what follows from it:
//! which bad blocks were written since ([`damage`]), and which blocks do not hold what the drive
//! said they would. With [`protection`](super::protection) a read of those that give themselves
//! away by guard or tag fails. O(1) a command and O(log n) in the blocks that are bad; memory only
//! for these.

mod damage;

use std::sync::Arc;

use crate::contract::{Drive, Faults};
use crate::fault::{Begun, Decay, Exposed, Fate, MEASURES};
use crate::ids::DriveId;
use crate::io::{Command, Credits, DriveDone, Extrapolated, Owed, Unwritten};
use crate::measure::Tell;
use crate::op::{Cost, Failure, Op, Status};
use crate::units::{Blocks, Duration, Instant, Pba};

use damage::Damage;

/// How every command to a drive ends that is gone.
const GONE: Status = Status::Failed(Failure::Gone);

/// What a host takes to learn that it has sent a command to a drive that is gone. Without it, a
/// scheduler that moves the arm about would do so without end at one instant.
const REFUSAL: Duration = Duration::from_us(100);

/// A slow drive takes no longer than that for a command: a year, far beyond any patience, and
/// clocks count some five hundred.
const SLOWEST: Duration = Duration::from_ms(365 * 86_400_000);

/// How often what has happened, in the order of [`MEASURES`].
#[derive(Default)]
struct Counts {
    failed: [u64; 3],
    delayed: u64,
    delay: Duration,
    lost: u64,
    misdirected: u64,
    torn: u64,
    wrong_reads: u64,
    wrong_blocks: u64,
    late: u64,
    caught: u64,
}

/// A command under way.
struct Running {
    command: Command,
    began: Instant,
    fate: Fate,
    /// How much longer it takes than it should.
    delay: Duration,
    /// When and how it ends, once the drive inside has carried it out.
    ends: Option<(Instant, DriveDone)>,
}

/// Puts what goes wrong on it around a drive; one on which nothing does is left as it is.
/// `protected`: guard and tag of each sector are looked at.
pub fn around(
    inner: Box<dyn Drive>,
    faults: &Arc<dyn Faults>,
    drive: DriveId,
    protected: bool,
) -> Box<dyn Drive> {
    if !faults.concern(drive) {
        return inner;
    }
    Box::new(FaultyDrive {
        inner,
        gone_from: faults.gone_from(drive),
        faults: Arc::clone(faults),
        drive,
        protected,
        running: Vec::new(),
        left: false,
        begun: Begun::default(),
        damage: Damage::default(),
        wrong: Vec::new(),
        counts: Counts::default(),
    })
}

/// How a command ends on a drive that is gone.
fn refused(command: &Command, overhead: Duration) -> DriveDone {
    let cost = Cost {
        overhead,
        ..Cost::default()
    };
    command.ends(GONE, cost)
}

struct FaultyDrive {
    inner: Box<dyn Drive>,
    faults: Arc<dyn Faults>,
    drive: DriveId,
    protected: bool,
    gone_from: Instant,
    /// In the order in which they came.
    running: Vec<Running>,
    /// Whether the drive inside is not asked any more.
    left: bool,
    begun: Begun,
    damage: Damage,
    /// Blocks that are wrong of the read that ended last.
    wrong: Vec<Pba>,
    counts: Counts,
}

impl FaultyDrive {
    fn begins(&mut self, now: Instant, command: &Command) {
        let begun = &mut self.begun;
        let writes = command.op == Op::Write;
        begun.read |= command.op == Op::Read;
        begun.write |= writes;
        begun.long_write |= writes && command.len > Blocks(1);
        begun.last = Some(now);
    }

    /// The drive inside has carried out a command: how it ends, and how much later.
    fn outcome(
        &self,
        now: Instant,
        running: &Running,
        mut done: DriveDone,
    ) -> (Duration, DriveDone) {
        let Running { began, fate, .. } = *running;
        let took = now.since(began);
        let mut delay = match fate.is_slow() {
            true => self.inner.lengthened(took, fate.factor, fate.extra),
            false => Duration::ZERO,
        };
        delay = delay.min(SLOWEST + fate.extra);
        done.status = fate.status;
        if done.status.is_done() && self.first_bad(running).is_some() {
            done.status = Status::Failed(Failure::Medium);
            delay += self.faults.recovery().tries;
        }
        if done.status.is_done() && self.is_caught(running) {
            done.status = Status::Failed(Failure::Medium);
        }
        delay = delay.max(Duration(fate.at_least.0.saturating_sub(took.0)));
        done.cost.overhead += delay;
        (delay, done)
    }

    /// The first block that a command cannot read, or not write.
    fn first_bad(&self, running: &Running) -> Option<u64> {
        let Running { command, began, .. } = running;
        let may = match command.op {
            Op::Read => true,
            Op::Write => !self.faults.recovery().writes_mend,
            Op::Flush | Op::Discard | Op::Seek => false,
        };
        let bad = || self.bad(Decay::Unreadable, command, *began);
        may.then(bad)?.next()
    }

    /// Whether a read meets a block whose guard or tag does not fit.
    fn is_caught(&self, running: &Running) -> bool {
        let Running { command, began, .. } = running;
        let blocks = command.at.0..command.at.0 + command.len.0;
        let strays = || self.damage.strays(&blocks);
        let rotten = || self.bad(Decay::Rotten, command, *began).next().is_some();
        self.protected && command.op == Op::Read && (strays() || rotten())
    }

    /// Blocks of a command that are bad, in order.
    fn bad<'a>(
        &'a self,
        decay: Decay,
        command: &Command,
        now: Instant,
    ) -> impl Iterator<Item = u64> + use<'a> {
        let blocks = command.at.0..command.at.0 + command.len.0;
        let about = (&*self.faults, self.drive);
        self.damage.bad(about, decay, blocks, now)
    }

    /// The drive is gone: what it has to do fails, and its host learns so at this instant.
    fn leave(&mut self, now: Instant) {
        self.left = true;
        let gone_from = self.gone_from;
        let in_time = |(due, done): (Instant, DriveDone)| due < gone_from || done.status == GONE;
        for running in &mut self.running {
            if !running.ends.is_some_and(in_time) {
                let ends = (now, refused(&running.command, now.since(running.began)));
                (running.delay, running.ends) = (Duration::ZERO, Some(ends));
            }
        }
    }

    /// The drive inside has carried out a command: it ends then, or later.
    fn carried_out(&mut self, now: Instant, done: DriveDone) {
        let found = |running: &Running| running.command.io == done.io && running.ends.is_none();
        let index = self.running.iter().position(found);
        let index = index.expect("it was told to do so");
        let (delay, done) = self.outcome(now, &self.running[index], done);
        let running = &mut self.running[index];
        (running.delay, running.ends) = (delay, Some((now + delay, done)));
    }

    /// A command has ended: what it has left on the drive, or brought from there.
    fn ended(&mut self, running: &Running, done: &DriveDone) {
        self.wrong.clear();
        self.counts.delay += running.delay;
        self.counts.delayed += u64::from(running.delay > Duration::ZERO);
        if let Some(failure) = done.status.failure() {
            let index = match failure {
                Failure::Medium => 0,
                Failure::TimedOut => 1,
                Failure::Gone | Failure::MapLost | Failure::Exhausted | Failure::Zone => 2,
            };
            self.counts.failed[index] += 1;
            let late = done.cost.total() > running.fate.at_least;
            self.counts.late += u64::from(failure == Failure::TimedOut && late);
        }
        match (done.op, done.status) {
            (Op::Read, Status::Done) => self.has_read(running),
            (Op::Read, Status::Failed(Failure::Medium)) => {
                self.counts.caught += u64::from(self.first_bad(running).is_none());
            }
            (Op::Write, status) => self.has_written(running, status),
            _ => {}
        }
    }

    fn has_read(&mut self, running: &Running) {
        let Command { at, len, .. } = running.command;
        let mut wrong = std::mem::take(&mut self.wrong);
        wrong.extend(self.damage.wrong(&(at.0..at.0 + len.0)).map(Pba));
        let rotten = self.bad(Decay::Rotten, &running.command, running.began);
        let alone = |block: &u64| self.damage.wrong(&(*block..block + 1)).next().is_none();
        wrong.extend(rotten.filter(alone).map(Pba));
        self.counts.wrong_reads += u64::from(!wrong.is_empty());
        self.counts.wrong_blocks += wrong.len() as u64;
        self.wrong = wrong;
    }

    fn has_written(&mut self, running: &Running, status: Status) {
        let Running {
            command,
            began,
            ref fate,
            ..
        } = *running;
        let asked = command.at.0..command.at.0 + command.len.0;
        let mut written = fate.lands.0..fate.lands.0 + fate.written.0;
        match status {
            Status::Failed(
                Failure::Gone | Failure::MapLost | Failure::Exhausted | Failure::Zone,
            ) => return,
            Status::Failed(Failure::Medium) => {
                // It ends at the block that it was to write there, wherever it has gone.
                let before = self.first_bad(running).map(|bad| bad - command.at.0);
                let reached = before.map_or(fate.written.0, |blocks| blocks.min(fate.written.0));
                written.end = written.start + reached;
            }
            Status::Failed(Failure::TimedOut) => {}
            Status::Done if fate.lands != command.at => self.counts.misdirected += 1,
            Status::Done if fate.written == Blocks(0) => self.counts.lost += 1,
            Status::Done if fate.written < command.len => self.counts.torn += 1,
            Status::Done => {}
        }
        let about = (&*self.faults, self.drive);
        self.damage.written(about, &written, began);
        let missed = match fate.lands == command.at {
            true => written.end..asked.end,
            false => {
                self.damage.stray(&written);
                asked
            }
        };
        // What a write did not reach that failed holds what it held before.
        if status.is_done() {
            self.damage.spoil(&missed);
        }
    }
}

impl Drive for FaultyDrive {
    fn depth(&self) -> u32 {
        self.inner.depth()
    }

    fn submit(&mut self, now: Instant, command: &Command) {
        let room = (self.running.len() as u32) < self.inner.depth();
        assert!(room, "the drive is busy");
        let is_gone = now >= self.gone_from;
        self.running.push(Running {
            command: *command,
            began: now,
            fate: self.faults.fate(self.drive, now, command),
            delay: Duration::ZERO,
            ends: is_gone.then(|| (now + REFUSAL, refused(command, REFUSAL))),
        });
        self.left |= is_gone;
        if !is_gone {
            self.begins(now, command);
            self.inner.submit(now, command);
        }
    }

    fn outstanding(&mut self, commands: &mut dyn FnMut() -> u64) {
        self.inner.outstanding(commands);
    }

    fn next_event(&self) -> Option<Instant> {
        let of = |running: &Running| match &running.ends {
            Some((due, done)) if done.status == GONE => *due,
            Some((due, _)) => self.gone_from.min(*due),
            None => self.gone_from,
        };
        let own = self.running.iter().map(of);
        let inner = (!self.left).then(|| self.inner.next_event()).flatten();
        own.chain(inner).min().filter(|due| *due < Instant::NEVER)
    }

    fn advance(&mut self, now: Instant) -> Option<DriveDone> {
        while !self.left
            && let Some(done) = self.inner.advance(now)
        {
            self.carried_out(now, done);
        }
        if now >= self.gone_from {
            self.leave(now);
        }
        let due = |running: &Running| running.ends.map(|(due, _)| due).filter(|due| *due <= now);
        let ended = self.running.iter().enumerate();
        let ended = ended.filter_map(|(index, running)| Some((due(running)?, index)));
        let running = self.running.remove(ended.min()?.1);
        let (_, done) = running.ends.expect("it was looked at");
        if running.delay > Duration::ZERO {
            self.inner.ended_late(now);
        }
        self.ended(&running, &done);
        Some(done)
    }

    /// Of what the drive inside would lose, so more than what this one has said is done.
    fn volatile(&self, now: Instant, out: &mut Vec<Unwritten>) {
        self.inner.volatile(now, out);
    }

    fn owes(&self, now: Instant) -> Owed {
        self.inner.owes(now)
    }

    fn rounds_permille(&self) -> Option<u64> {
        self.inner.rounds_permille()
    }

    fn credits(&self, tell: &mut dyn FnMut(Credits)) {
        self.inner.credits(tell);
    }

    fn extrapolated(&self) -> &[Extrapolated] {
        self.inner.extrapolated()
    }

    fn tell(&self, tell: Tell<'_>) {
        self.inner.tell(tell);
    }

    fn wrongly_brought(&self) -> &[Pba] {
        &self.wrong
    }

    fn tell_exposed(&self, tell: &mut dyn FnMut(Exposed)) {
        self.faults.tell_exposed(self.drive, &self.begun, tell);
    }

    fn tell_faults(&self, tell: Tell<'_>) {
        let Counts {
            failed: [medium, timed_out, gone],
            delayed,
            delay,
            lost,
            misdirected,
            torn,
            wrong_reads,
            wrong_blocks,
            late,
            caught,
        } = self.counts;
        let numbers = [
            medium,
            timed_out,
            gone,
            delayed,
            delay.0 / 1_000_000,
            self.damage.mended(),
            lost,
            misdirected,
            torn,
            wrong_reads,
            wrong_blocks,
            late,
        ];
        // What no drive without protection can count is not told.
        let caught = self.protected.then_some(caught);
        for (measure, number) in MEASURES.iter().zip(numbers.into_iter().chain(caught)) {
            tell(measure, number);
        }
    }
}
