//! Where a command would find the arm, if it came now: behind what the arm cannot leave, or behind all that is dirty.
//!
//! What the arm does by itself is done in a second controller, which holds one segment at a time: first the one that the arm works with, then those that are dirty,
//! the oldest first. When and where a segment is written hangs on where the arm comes from, when, and on its blocks alone, so that is remembered: between two
//! decisions one write came, and the seven before it are as they were.
//! Costs a few events of the arm for what it is doing and for each segment that is new.

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
    /// How a command that needs the arm would find it, if it came now, between commands; and how a write would that the buffer takes while others are to be
    /// written: behind all of those, or if the nearest goes first as the other does (none if it needs the arm as others do).
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
                let stopped = self.stopped;
                let free = match doing {
                    Some((_, segment)) if segment.state == State::Writing => Free { now, arm },
                    Some((index, _)) => trial.alone.end_alone(self, index),
                    None => Free { now, arm },
                };
                let free = self.all_written(free, trial);
                found(free.now, free.arm, stopped)
            }
            // The nearest is written first, and that is this one if it is priced well.
            WriteBack::Nearest => found(now, arm, stopped),
        });
        (found(now, arm, stopped), behind)
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

    /// Goes on with what the arm of another controller does in segment `index`, and has nothing else to do.
    fn take_over(&mut self, other: &Controller, index: usize) {
        self.buffer.hold_alone(index, other.buffer.at(index));
        self.now = other.now;
        self.arm = other.arm;
        self.owner = other.owner;
        self.access.clone_from(&other.access);
        self.stopped = other.stopped;
    }

    /// What the arm of another controller does in segment `index` comes to its end; where the arm is then.
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
        let behind = behind.then(|| {
            let mut all = if writes {
                needs_arm.clone()
            } else {
                drive.clone()
            };
            match all.firmware.buffer.write_back {
                WriteBack::Oldest => {
                    all.write_next();
                    all.write_all();
                }
                WriteBack::Nearest => return told(&needs_arm),
            }
            told(&all)
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
