//! Where a command would find the arm, if it came now: behind what the arm cannot leave, or behind
//! all that is dirty.
//!
//! What the arm does by itself is done in a second controller, which holds one segment at a time:
//! first the one that the arm works with, then those that are dirty, the oldest first. When and
//! where a segment is written hangs on where the arm comes from, when, and on its blocks alone, so
//! that is remembered: between two decisions one write came, and the seven before it are as they
//! were. Costs a few events of the arm for what it is doing and for each segment that is new.

use super::super::buffer::{Segment, State};
use super::super::firmware::WriteBack;
use super::{Controller, Owner};
use crate::op::Op;
use crate::position::ArmPosition;
use crate::units::Instant;

/// How a command that needs the arm finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Freed {
    /// When it is free.
    pub(in super::super) now: Instant,
    pub(in super::super) arm: ArmPosition,
    /// It cannot move before this.
    pub(in super::super) stopped: Instant,
    /// What the last command was.
    pub(in super::super) last_op: Op,
}

/// An arm that is free, where and from when on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Free {
    now: Instant,
    arm: ArmPosition,
}

/// A segment that was written, from where, and where that ended.
#[derive(Clone, Copy, Debug)]
struct Written {
    from: Free,
    at: u64,
    end: u64,
    then: Free,
}

/// What is tried out to know that.
#[derive(Debug)]
pub(in super::super) struct Trial {
    alone: Controller,
    /// What was last found of each segment.
    known: Vec<Option<Written>>,
    /// Memory for dirty segments, the oldest first.
    dirty: Vec<(u64, usize)>,
}

impl Trial {
    pub(in super::super) fn new(of: &Controller) -> Trial {
        let segments = of.firmware.buffer.count();
        Trial {
            alone: of.clone(),
            known: vec![None; segments],
            dirty: Vec::with_capacity(segments),
        }
    }

    /// Where the arm is when it has written a dirty segment.
    fn write(&mut self, from: Free, index: usize, segment: &Segment) -> Free {
        let (at, end) = (segment.written, segment.end);
        let known = self.known[index];
        let known = known.filter(|known| (known.from, known.at, known.end) == (from, at, end));
        if let Some(known) = known {
            return known.then;
        }
        let then = self.alone.write_alone(from, index, segment);
        let written = Written {
            from,
            at,
            end,
            then,
        };
        self.known[index] = Some(written);
        then
    }
}

impl Controller {
    /// How a command that needs the arm would find it, if it came now, between commands; and how a
    /// write would that the buffer takes while others are to be written: behind all of those, or if
    /// the nearest goes first behind the one that it follows (none if it needs the arm as others
    /// do).
    pub(in super::super) fn freed(&self, trial: &mut Trial) -> (Freed, Option<Freed>) {
        assert!(self.job.is_none(), "a command is under way");
        let doing = match self.owner {
            Owner::Itself(index) => Some((index, self.buffer.at(index))),
            Owner::Nobody | Owner::Host(_) => None,
        };
        let stops =
            |segment: &Segment| segment.state == State::Reading && segment.end >= segment.ahead_min;
        let (now, (arm, stopped)) = match doing.filter(|(_, segment)| !stops(segment)) {
            None => (self.now, self.left()),
            Some((index, _)) => {
                let alone = &mut trial.alone;
                alone.take_over(self, index);
                alone.free_arm();
                (alone.now, (alone.arm, alone.stopped))
            }
        };
        let found = |now, arm, stopped| Freed {
            now,
            arm,
            stopped,
            last_op: self.last_op,
        };
        let behind = self.buffer.has_unwritten() && self.firmware.buffer.accept_while_writing;
        let behind = behind.then(|| match self.firmware.buffer.write_back {
            WriteBack::Oldest => {
                let free = match doing {
                    Some((index, segment)) if segment.state == State::Reading => {
                        trial.alone.end_alone(self, index)
                    }
                    _ => Free { now, arm },
                };
                let free = self.all_written(free, trial);
                found(free.now, free.arm, self.stopped)
            }
            WriteBack::Nearest => {
                // `followed` is of an arm that writes: it began behind `stopped`, so that is past.
                let mut free = Free { now, arm };
                if let Some(index) = self.followed() {
                    free = trial.write(free, index, self.buffer.at(index));
                }
                found(free.now, free.arm, stopped)
            }
        });
        (found(now, arm, stopped), behind)
    }

    /// Where the nearest is written first, the segment that a write of now follows: the one that
    /// became dirty last, if it waits for the arm. Whoever chose that had it follow what the arm is
    /// doing, and if a second write was chosen for the same place, one of the two would wait for a
    /// turn. None if the arm reads, which it leaves for the write; and none if the buffer is full:
    /// the write comes to its data when the arm is free, and then is the last one itself.
    fn followed(&self) -> Option<usize> {
        let Owner::Itself(index) = self.owner else {
            return None;
        };
        let doing = self.buffer.at(index);
        let (since, newest) = self.buffer.dirty().max()?;
        let waits = doing.state == State::Writing && doing.dirty_since < since;
        (waits && self.buffer.takes_another(&self.firmware)).then_some(newest)
    }

    /// Where the arm is when it has written all dirty segments.
    fn all_written(&self, mut free: Free, trial: &mut Trial) -> Free {
        free.now = free.now.max(self.stopped);
        let mut dirty = std::mem::take(&mut trial.dirty);
        dirty.clear();
        dirty.extend(self.buffer.dirty());
        dirty.sort_unstable();
        for (_, index) in &dirty {
            free = trial.write(free, *index, self.buffer.at(*index));
        }
        trial.dirty = dirty;
        free
    }

    /// Goes on with what the arm of another controller does in segment `index`, and has nothing
    /// else to do.
    fn take_over(&mut self, other: &Controller, index: usize) {
        self.buffer.hold_alone(index, other.buffer.at(index));
        self.now = other.now;
        self.arm = other.arm;
        self.owner = other.owner;
        self.access.clone_from(&other.access);
        self.stopped = other.stopped;
    }

    /// What the arm of another controller does in segment `index` comes to its end; where the arm
    /// is then.
    fn end_alone(&mut self, other: &Controller, index: usize) -> Free {
        self.take_over(other, index);
        self.end_owned()
    }

    /// A free arm writes a dirty segment; where it is then.
    fn write_alone(&mut self, from: Free, index: usize, segment: &Segment) -> Free {
        self.buffer.hold_alone(index, segment);
        (self.now, self.arm, self.stopped) = (from.now, from.arm, from.now);
        (self.owner, self.access) = (Owner::Nobody, None);
        self.write_back(index);
        self.end_owned()
    }

    fn end_owned(&mut self) -> Free {
        while self.owner != Owner::Nobody {
            self.arm_event(Instant::NEVER);
        }
        Free {
            now: self.now,
            arm: self.arm,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::batches::{long_command, long_settings};
    use super::super::tests::{controller, run_command};
    use super::{Controller, Freed, Owner, State, Trial, WriteBack};
    use crate::op::Op;
    use crate::rng::Rng;
    use crate::units::Instant;

    /// The same by a copy of everything, which does all of it.
    fn literally(drive: &Controller) -> (Freed, Option<Freed>) {
        let state = |index: usize| drive.buffer.at(index).state;
        let writes = matches!(drive.owner, Owner::Itself(index) if state(index) == State::Writing);
        let told = |of: &Controller| Freed {
            now: of.now,
            arm: of.arm,
            stopped: of.stopped,
            last_op: drive.last_op,
        };
        let mut needs_arm = drive.clone();
        needs_arm.free_arm();
        let behind = drive.buffer.has_unwritten() && drive.firmware.buffer.accept_while_writing;
        let behind = behind.then(|| match drive.firmware.buffer.write_back {
            WriteBack::Oldest => {
                let mut all = match writes {
                    true => needs_arm.clone(),
                    false => drive.clone(),
                };
                all.write_next();
                all.write_all();
                told(&all)
            }
            WriteBack::Nearest => {
                let mut last = needs_arm.clone();
                let reads = matches!(drive.owner, Owner::Itself(_)) && !writes;
                let most = drive.firmware.buffer.write_segments_max as usize;
                if !reads && drive.buffer.all_unwritten().count() < most {
                    let unwritten = |index: &usize| drive.buffer.at(*index).unwritten();
                    let indices = (0..drive.firmware.buffer.count()).filter(unwritten);
                    let newest = indices.max_by_key(|index| drive.buffer.at(*index).dirty_since);
                    let newest = newest.expect("something is to be written");
                    if state(newest) == State::Dirty {
                        last.write_back(newest);
                        last.free_arm();
                    }
                }
                told(&last)
            }
        });
        (told(&needs_arm), behind)
    }

    #[test]
    fn one_segment_at_a_time_equals_all_of_them() {
        let mut rng = Rng::stream(13, "freed");
        for case in 0..600 {
            let text = long_settings(&mut rng);
            let mut drive = controller(&text);
            let mut trial = Trial::new(&drive);
            let (mut now, mut behind) = (0, 0);
            for step in 0..40 {
                let mut command = long_command(&mut rng, drive.capacity);
                if rng.chance(0.8) && command.0 != Op::Flush {
                    command.2 = command.2.min(1 + rng.below(12));
                }
                // Some continue the one before: they join what waits.
                if rng.chance(0.4) && command.0 == Op::Write && behind + 12 < drive.capacity {
                    (command.1, command.2) = (behind, 1 + rng.below(12));
                }
                behind = command.1 + command.2;
                now = run_command(&mut drive, now, command).0 + 1;
                for _ in 0..2 {
                    let expected = literally(&drive);
                    let told = format!("case {case}, step {step}, {command:?}: {text}");
                    assert_eq!(drive.freed(&mut trial), expected, "{told}");
                    now += rng.below(2) * rng.below(9_000);
                    drive.rest_until(Instant(now * 1_000));
                }
            }
        }
    }
}
