//! Draws by hashing what goes wrong: the same question has the same answer.

use std::ops::Range;

use crate::contract::Faults;
use crate::fault::{BadRun, Begun, CELL, Decay, Exposed, Fate, Recovery};
use crate::ids::DriveId;
use crate::io::Command;
use crate::op::{Failure, Op, Status};
use crate::rng::mix;
use crate::units::{Blocks, Duration, Instant, Pba};

/// Runs of blocks that go bad.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decaying {
    /// That a cell has one.
    pub(super) chance: f64,
    /// Blocks of each.
    pub(super) len: u64,
    /// Each goes bad at an instant before this; all before the run if it is 0.
    pub(super) within: Duration,
}

/// How often commands have which fate: a number below the first share is the first fate's, and so
/// on. Reads have the first only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    pub(super) timeout: f64,
    pub(super) lost: f64,
    pub(super) misdirected: f64,
    pub(super) torn: f64,
}

/// A drive that is slow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slow {
    pub(super) drive: DriveId,
    pub(super) from: Instant,
    /// Of its commands.
    pub(super) share: f64,
    pub(super) factor: u32,
    pub(super) extra: Duration,
}

/// All that goes wrong.
#[derive(Clone)]
pub(super) struct Injected {
    pub(super) key: u64,
    /// Blocks of a drive.
    pub(super) capacity: Blocks,
    /// Whether there is more than a drive that is gone and one that is slow.
    pub(super) anywhere: bool,
    /// Where the rest happens; none is all drives.
    pub(super) drive: Option<DriveId>,
    /// In the order of [`Decay::ALL`].
    pub(super) decaying: [Decaying; 2],
    pub(super) shares: Shares,
    /// How long a host waits.
    pub(super) timeout: Duration,
    /// Drives that are gone, each from an instant on.
    pub(super) gone: [Option<(DriveId, Instant)>; 2],
    pub(super) slow: Option<Slow>,
    pub(super) recovery: Recovery,
}

/// What is drawn of a drive's command, or of a cell.
#[derive(Clone, Copy)]
enum Draw {
    Fate,
    Slow,
    Written,
    Lands,
    Bad,
    First,
    From,
}

/// A number from 0 up to 1.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / 9_007_199_254_740_992.0
}

/// One of so many.
fn below(bits: u64, bound: u64) -> u64 {
    ((u128::from(bits) * u128::from(bound)) >> 64) as u64
}

impl Injected {
    /// 64 random bits of a drive, a draw and what it is about.
    fn bits(&self, drive: DriveId, draw: Draw, about: [u64; 2]) -> u64 {
        let name = u64::from(drive.0) << 8 | draw as u64;
        let mixed = about
            .iter()
            .fold(mix(self.key ^ name), |bits, one| mix(bits ^ one));
        mix(mixed)
    }

    /// The same of a command.
    fn of_command(&self, drive: DriveId, draw: Draw, began: Instant, command: &Command) -> u64 {
        // A host may begin several at one instant, but not at one place.
        let what = command.at.0 << 3 | command.op as u64;
        self.bits(drive, draw, [began.0, what])
    }

    /// Whether what names no drive of its own happens on this one.
    fn happens_on(&self, drive: DriveId) -> bool {
        self.anywhere && self.drive.is_none_or(|one| one == drive)
    }

    /// Tells what happens on all drives, or on one that is named.
    fn tell_anywhere(&self, begun: &Begun, tell: &mut dyn FnMut(Exposed)) {
        let any = ("reads or writes", begun.read || begun.write);
        let (reads, writes) = (("reads", begun.read), ("writes", begun.write));
        let long = ("writes of several sectors", begun.long_write);
        // A write that mends a bad block does not meet it.
        let mends = self.recovery.writes_mend;
        let latent_meets = if mends { reads } else { any };
        let shares = &self.shares;
        let [latent, rot] = self.decaying.map(|decaying| decaying.chance > 0.0);
        for (happens, setting, (of, met)) in [
            (shares.timeout > 0.0, "timeout_share", any),
            (shares.lost > shares.timeout, "lost_share", writes),
            (
                shares.misdirected > shares.lost,
                "misdirected_share",
                writes,
            ),
            (shares.torn > shares.misdirected, "torn_share", long),
            (latent, "latent_per_tib", latent_meets),
            (latent && !mends, "latent_mend", writes),
            (rot, "rot_per_tib", reads),
        ] {
            if happens {
                let from = Instant::ZERO;
                tell(Exposed {
                    setting,
                    of,
                    from,
                    met,
                });
            }
        }
    }

    /// Where a write goes that misses its place.
    fn astray(&self, bits: u64, at: Pba, len: Blocks) -> Option<Pba> {
        let places = self.capacity.0 - len.0;
        let place = below(bits, places.max(1));
        // All places but the right one.
        let place = place + u64::from(place >= at.0);
        (places > 0).then_some(Pba(place))
    }

    /// What is drawn for a read or a write.
    fn drawn(&self, drive: DriveId, began: Instant, command: &Command, fate: &mut Fate) {
        let draw = |what| self.of_command(drive, what, began, command);
        let Shares {
            timeout,
            lost,
            misdirected,
            torn,
        } = self.shares;
        let (at, len) = (command.at, command.len);
        let share = unit(draw(Draw::Fate));
        if share < timeout {
            fate.status = Status::Failed(Failure::TimedOut);
            fate.at_least = self.timeout;
            fate.written = Blocks(below(draw(Draw::Written), len.0 + 1));
        } else if command.op == Op::Read || share >= torn {
            // All is well.
        } else if share < lost {
            fate.written = Blocks(0);
        } else if share < misdirected {
            match self.astray(draw(Draw::Lands), at, len) {
                Some(lands) => fate.lands = lands,
                None => fate.written = Blocks(0),
            }
        } else if len.0 > 1 {
            fate.written = Blocks(1 + below(draw(Draw::Written), len.0 - 1));
        }
    }
}

impl Faults for Injected {
    fn concern(&self, drive: DriveId) -> bool {
        let slow = self.slow.is_some_and(|slow| slow.drive == drive);
        self.happens_on(drive) || slow || self.gone_from(drive) < Instant::NEVER
    }

    fn leave_traces(&self, drive: DriveId) -> bool {
        let [_, rot] = self.decaying;
        let misdirected = self.shares.misdirected > self.shares.lost;
        self.happens_on(drive) && (rot.chance > 0.0 || misdirected)
    }

    fn gone_from(&self, drive: DriveId) -> Instant {
        let mut gone = self.gone.iter().flatten();
        let own = gone.find(|(gone, _)| *gone == drive);
        own.map_or(Instant::NEVER, |(_, from)| *from)
    }

    fn begins(&self) -> Option<[Instant; 2]> {
        let gone = self.gone.iter().flatten().map(|(_, from)| *from);
        let slow = self.slow.map(|slow| slow.from);
        let later = gone.chain(slow).filter(|from| *from > Instant::ZERO);
        Some([later.clone().min()?, later.max()?])
    }

    fn tell_exposed(&self, drive: DriveId, begun: &Begun, tell: &mut dyn FnMut(Exposed)) {
        if self.happens_on(drive) {
            self.tell_anywhere(begun, tell);
        }
        if let Some(slow) = self.slow.filter(|slow| slow.drive == drive) {
            tell(Exposed {
                setting: match slow.factor {
                    1 => "slow_add_ms",
                    _ => "slow_factor",
                },
                of: "commands",
                from: slow.from,
                met: begun.last.is_some_and(|last| last >= slow.from),
            });
        }
    }

    fn at_outset(&self) -> Option<Box<dyn Faults>> {
        self.begins().map(|_| {
            let at_once = Injected {
                gone: self
                    .gone
                    .map(|gone| gone.filter(|(_, from)| *from == Instant::ZERO)),
                slow: self.slow.filter(|slow| slow.from == Instant::ZERO),
                ..self.clone()
            };
            Box::new(at_once) as Box<dyn Faults>
        })
    }

    fn fate(&self, drive: DriveId, began: Instant, command: &Command) -> Fate {
        let mut fate = Fate::good(command.at, command.len);
        let moves_data = matches!(command.op, Op::Read | Op::Write);
        if moves_data && self.shares.torn > 0.0 && self.happens_on(drive) {
            self.drawn(drive, began, command, &mut fate);
        }
        let slow = self
            .slow
            .filter(|slow| slow.drive == drive && slow.from <= began);
        if let Some(slow) = slow
            && unit(self.of_command(drive, Draw::Slow, began, command)) < slow.share
        {
            (fate.factor, fate.extra) = (slow.factor, slow.extra);
        }
        fate
    }

    fn bad_run(&self, drive: DriveId, decay: Decay, cell: u64) -> Option<BadRun> {
        let Decaying {
            chance,
            len,
            within,
        } = self.decaying[decay as usize];
        let draw = |what| self.bits(drive, what, [decay as u64, cell]);
        if chance <= 0.0 || !self.happens_on(drive) || unit(draw(Draw::Bad)) >= chance {
            return None;
        }
        let first = cell * CELL + below(draw(Draw::First), CELL - len + 1);
        let blocks: Range<u64> = first..first + len;
        let from = Instant(below(draw(Draw::From), within.0 + 1));
        Some(BadRun { blocks, from })
    }

    fn recovery(&self) -> Recovery {
        self.recovery
    }
}
