//! Drives whose commands fail now and then: what no other copy has fails its request, and nothing
//! that is answered is wrong.
//!
//! A block that could not be read or written cannot be read until it is written again, as with a
//! bad sector that the drive replaces at the next write. A drive that does not answer in time is
//! worse: what it was to write may be there as a whole, in part or not at all, and whatever is
//! there can be read.

use std::collections::{BTreeMap, BTreeSet};

use nearslot_core::ids::DriveId;
use nearslot_core::io::{Command, DriveDone, Moves};
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::rng::Rng;
use nearslot_core::stack::Action;
use nearslot_core::units::{Duration, Instant};

use crate::contents::failing_faults::Careless;
pub(crate) use crate::contents::failing_faults::Slip;
use crate::contents::load;
use crate::contents::rig::Rig;
use crate::contents::setups::{SETUPS, Setup};

/// What fails, and what has failed.
pub(crate) struct Failing {
    rng: Rng,
    /// How often commands fail, by drive.
    chance: Vec<f64>,
    /// Whether writes fail too.
    writes: bool,
    /// Whether all of them do.
    pub(crate) all_writes: bool,
    /// Which share of what fails is not answered in time.
    pub(crate) timeouts: f64,
    /// Drives that carry out nothing any more.
    pub(crate) gone: Vec<DriveId>,
    /// Whether these say so of their first command alone, and that all others were carried out.
    pub(crate) resets: bool,
    /// Those that have.
    told: BTreeSet<DriveId>,
    /// Which drive goes when it has ended so many more commands.
    going: Option<(u64, DriveId)>,
    /// Commands that each drive has ended, since that was said.
    pub(crate) ended: Vec<u64>,
    /// Blocks that cannot be read.
    unreadable: BTreeSet<(DriveId, u64)>,
    /// When blocks were written last, and whether that was done.
    written: BTreeMap<(DriveId, u64), (Instant, bool)>,
    /// Reads and writes that failed.
    failures: [u64; 2],
}

impl Failing {
    fn new(seed: u64, chance: Vec<f64>) -> Failing {
        Failing {
            rng: Rng::stream(seed, "failing"),
            going: None,
            ended: vec![0; chance.len()],
            chance,
            writes: true,
            all_writes: false,
            timeouts: 0.0,
            gone: Vec::new(),
            resets: false,
            told: BTreeSet::new(),
            unreadable: BTreeSet::new(),
            written: BTreeMap::new(),
            failures: [0; 2],
        }
    }

    /// By drive so often, of which such a share is not answered in time.
    pub(crate) fn with(seed: u64, chance: Vec<f64>, timeouts: f64) -> Failing {
        Failing {
            timeouts,
            ..Failing::new(seed, chance)
        }
    }

    /// Where nothing fails, unless a drive is gone.
    pub(crate) fn none(drives: usize) -> Failing {
        Failing::new(0, vec![0.0; drives])
    }

    /// A drive goes when it has ended so many more commands: the next one fails.
    pub(crate) fn goes(&mut self, going: Option<(u64, DriveId)>) {
        self.going = going;
        self.ended.fill(0);
    }

    /// Nothing fails any more but what is bad or gone. How many reads and writes have.
    pub(crate) fn calm(&mut self) -> u64 {
        self.chance.fill(0.0);
        self.failures.iter().sum()
    }

    /// Commands fail so often from now on, all of them as time-outs.
    pub(crate) fn time_out(&mut self, chance: f64) {
        self.chance.fill(chance);
        self.timeouts = 1.0;
    }

    /// Whether a write of a drive has failed, or it is gone.
    pub(crate) fn has_failed_to_write(&self) -> bool {
        self.failures[1] > 0 || !self.gone.is_empty()
    }

    /// Reads alone fail from now on.
    pub(crate) fn spare_writes(&mut self) {
        self.writes = false;
    }

    /// Whether a drive can read a block.
    pub(crate) fn reads(&self, drive: DriveId, block: u64) -> bool {
        !self.gone.contains(&drive) && !self.unreadable.contains(&(drive, block))
    }

    /// Whether what a block holds has been known since before this instant: no write of it has
    /// ended since, and the last one has not failed.
    pub(crate) fn stands(&self, drive: DriveId, block: u64, since: Instant) -> bool {
        let last = self.written.get(&(drive, block));
        last.is_none_or(|(ended, done)| *done && *ended < since)
    }

    /// A block cannot be read until it is written again.
    pub(crate) fn spoil(&mut self, drive: DriveId, block: u64) {
        self.unreadable.insert((drive, block));
    }

    /// What a drive says of a command that has ended so.
    pub(crate) fn said(&mut self, drive: DriveId, status: Status) -> Status {
        let is_reset = self.resets && self.gone.contains(&drive);
        match is_reset && !self.told.insert(drive) {
            true => Status::Done,
            false => status,
        }
    }

    /// A command has ended; perhaps it has failed.
    pub(crate) fn ended(&mut self, now: Instant, drive: DriveId, done: &mut DriveDone) {
        if self.going == Some((self.ended[drive.index()], drive)) {
            self.gone.push(drive);
        }
        self.ended[drive.index()] += 1;
        if self.gone.contains(&drive) {
            done.status = Status::Failed(Failure::Gone);
            done.cost.transfer = Duration(0);
            return;
        }
        let blocks = done.at.0..done.at.0 + done.len.0;
        let places = || blocks.clone().map(|block| (drive, block));
        let fails = self.rng.chance(self.chance[drive.index()]);
        let (is_read, is_write) = (done.op == Op::Read, done.op == Op::Write);
        if fails
            && self.timeouts > 0.0
            && (is_read || is_write && self.writes)
            && self.rng.chance(self.timeouts)
        {
            self.failures[usize::from(!is_read)] += 1;
            done.status = Status::Failed(Failure::TimedOut);
            done.cost.transfer = Duration(self.rng.below(1 << 20));
            return;
        }
        match done.op {
            Op::Read => {
                if fails {
                    let bad = done.at.0 + self.rng.below(done.len.0);
                    self.unreadable.insert((drive, bad));
                }
                if places().any(|place| self.unreadable.contains(&place)) {
                    self.failures[0] += 1;
                    done.status = Status::Failed(Failure::Medium);
                }
            }
            Op::Write if fails && self.writes || self.all_writes => {
                self.unreadable.extend(places());
                self.failures[1] += 1;
                done.status = Status::Failed(Failure::Medium);
                // How much of it was written.
                done.cost.transfer = Duration(self.rng.below(1 << 20));
            }
            Op::Write => places().for_each(|place| _ = self.unreadable.remove(&place)),
            Op::Flush | Op::Discard | Op::Seek => {}
        }
        if is_write {
            let last = (now, done.status.is_done());
            self.written.extend(places().map(|place| (place, last)));
        }
    }
}

/// A volume that was written as a whole, and whose commands fail from now on, by drive so often.
pub(crate) fn written(setup: &Setup, seed: u64, slip: Slip, chance: impl Fn(usize) -> f64) -> Rig {
    let built = match slip {
        Slip::None => setup.build("disk", "satf", seed),
        _ => setup.build_over("satf", seed, |inner| Careless::over(inner, slip)),
    };
    let mut rig = Rig::over(setup, built);
    rig.rules.off = true;
    rig.contents.may_fail = true;
    rig.fill();
    rig.settle();
    let drives = rig.drives() as usize;
    rig.failing = Some(Failing::new(seed, (0..drives).map(chance).collect()));
    rig
}

/// A life in which so many of each drive's commands fail, and what is left when they do not any
/// more.
pub(crate) fn life(setup: &Setup, seed: u64, slip: Slip, chance: impl Fn(usize) -> f64) -> Rig {
    use_up(written(setup, seed, slip, chance), setup, seed)
}

/// Lets requests come and looks at all blocks.
pub(crate) fn use_up(mut rig: Rig, setup: &Setup, seed: u64) -> Rig {
    let mut rng = Rng::stream(seed, "load");
    load::churn(&mut rig, setup, 45, &mut rng);
    rig.settle();
    load::scan(&mut rig, setup, &mut rng);
    rig.settle();
    rig
}

/// Two copies of every block are on different drives when its write is answered.
fn spread(setup: &Setup) -> bool {
    setup.foreground > 1 && setup.spread()
}

/// Only a read may fail that comes while a write of the same chunk is under way: the first copy
/// that lands may be on the bad drive, and the older ones are given up with it.
#[test]
fn one_bad_drive_among_copies_costs_no_request() {
    check_bad_drive(Slip::None);
}

pub(crate) fn check_bad_drive(slip: Slip) {
    let mut failures = [0; 2];
    for (seed, setup) in SETUPS.iter().filter(|setup| spread(setup)).enumerate() {
        let rig = life(
            setup,
            seed as u64,
            slip,
            |drive| if drive == 0 { 0.1 } else { 0.0 },
        );
        assert_eq!(rig.contents.failed, 0, "{setup:?}");
        let failing = rig.failing.expect("some fail");
        (0..2).for_each(|op| failures[op] += failing.failures[op]);
    }
    assert!(failures.iter().all(|count| *count > 500), "{failures:?}");
}

#[test]
fn what_is_answered_is_right_whatever_fails() {
    check_answers(Slip::None);
}

pub(crate) fn check_answers(slip: Slip) {
    let (mut failed, mut compared) = (0, 0);
    for (seed, setup) in SETUPS.iter().enumerate() {
        let rig = life(setup, seed as u64, slip, |_| 0.03);
        failed += rig.failed;
        compared += rig.contents.compared;
    }
    assert!(failed > 100, "only {failed} requests failed");
    assert!(compared > 100_000, "only {compared} blocks were compared");
}

/// What a write has left that nobody answered can be read. It must not be taken for what was there,
/// nor for what was to be written.
#[test]
fn what_may_have_been_written_is_no_wrong_data() {
    let mut failed = 0;
    for (seed, setup) in SETUPS.iter().enumerate() {
        let seed = seed as u64 + 100;
        let mut rig = written(setup, seed, Slip::None, |_| 0.06);
        rig.failing.as_mut().expect("some fail").timeouts = 0.5;
        failed += use_up(rig, setup, seed).failed;
    }
    assert!(failed > 100, "only {failed} requests failed");
}

/// Of the drives that do not read what they are asked for, one alone is bad: there is always
/// another copy, or the buffer from which it is still to be written.
#[test]
fn what_waits_in_the_buffer_is_read_from_there() {
    check_buffer(Slip::None);
}

pub(crate) fn check_buffer(slip: Slip) {
    let several = |setup: &&Setup| setup.copies > 1 && setup.spread();
    let (mut recalled, mut fixed) = (0, 0);
    // Twice, as at fixed places few chunks are delayed under a load with so many parts of chunks.
    let setups = SETUPS.iter().chain(SETUPS).filter(several);
    for (seed, setup) in setups.enumerate() {
        let seed = seed as u64;
        let bad = |drive| if drive == 0 { 0.3 } else { 0.0 };
        let mut rig = written(setup, seed, slip, bad);
        rig.failing.as_mut().expect("some fail").spare_writes();
        let rig = use_up(rig, setup, seed);
        assert_eq!(rig.contents.failed, 0, "{setup:?}");
        recalled += rig.contents.recalled;
        fixed += if setup.maps() {
            0
        } else {
            rig.contents.recalled
        };
    }
    assert!(fixed > 100, "{fixed} of {recalled}");
    assert!(recalled - fixed > 100, "{fixed} of {recalled}");
}

/// Where the writes of a map went on a drive, in their order.
fn map_writes(rig: &Rig) -> Vec<Command> {
    let of_map = |(_, action): &(Instant, Action)| match action {
        Action::Start {
            command, origin, ..
        } if origin.moves == Moves::Own && command.op == Op::Write => Some(*command),
        _ => None,
    };
    rig.trace.iter().filter_map(of_map).collect()
}

/// Writes of map sectors that fail.
#[test]
fn a_map_sector_that_cannot_be_written_goes_to_another_slot() {
    let setup = Setup::of("eager:map=virtual_log");
    let mut rig = written(setup, 1, Slip::None, |_| 0.0);
    let before = map_writes(&rig).len();
    rig.failing = Some(Failing::new(1, vec![0.5]));
    for chunk in 0..10 {
        rig.submit(Op::Write, chunk * 8, 8, 0);
        rig.settle();
    }
    let places = map_writes(&rig).split_off(before);
    let again = places.windows(2).filter(|two| two[0].at == two[1].at);
    assert_eq!(again.count(), 0, "{places:?}");
    assert!(places.len() > 10, "none failed");
}

/// What was answered before is read all the same, from the drive that is left; nothing is written
/// any more, and nothing hangs.
#[test]
fn a_volume_that_cannot_keep_its_map_says_so() {
    let setup = Setup::of("ew_array:dm=2:stripe_kib=8:map=virtual_log");
    let mut rig = written(setup, 2, Slip::None, |_| 0.0);
    rig.failing.as_mut().expect("some fail").gone = vec![DriveId(0)];
    (0..60).for_each(|chunk| rig.submit(Op::Write, chunk * 8, 8, 0));
    rig.settle();
    rig.submit(Op::Write, 0, 8, 0);
    rig.submit(Op::Discard, 8, 8, 0);
    rig.settle();
    let lost = Status::Failed(Failure::MapLost);
    let last: Vec<Status> = replies(&rig).rev().take(2).collect();
    assert_eq!(last, [lost, lost]);
    let named = replies(&rig).filter(|status| *status == lost).count();
    assert!(named > 2, "nothing that waited for the map failed");
    let (failed, before) = (rig.failed, rig.trace.len());
    rig.submit(Op::Read, 0, rig.blocks(), 0);
    rig.settle();
    assert_eq!(rig.failed, failed, "one drive is left");
    let writes = rig
        .trace
        .iter()
        .skip(before)
        .filter(|(_, action)| match action {
            Action::Start { command, .. } => command.op == Op::Write,
            _ => false,
        });
    assert_eq!(writes.count(), 0, "it still writes");
}

/// A log is on the drives of the first chunk's copies, here 0 and 2, and goes on with one.
#[test]
fn a_log_goes_on_without_one_of_its_drives() {
    let setup = Setup::of("ew_array:dm=2:stripe_kib=8:map=log:nvram_entries=4");
    let mut rig = written(setup, 3, Slip::None, |_| 0.0);
    rig.failing.as_mut().expect("some fail").gone = vec![DriveId(2)];
    let rig = use_up(rig, setup, 3);
    let lost = Status::Failed(Failure::MapLost);
    assert!(replies(&rig).all(|status| status != lost));
    let done = replies(&rig).filter(|status| status.is_done()).count();
    assert!(done > 100, "only {done} requests were carried out");
}

/// How requests were answered.
fn replies(rig: &Rig) -> impl DoubleEndedIterator<Item = Status> {
    rig.trace.iter().filter_map(|(_, action)| match action {
        Action::Reply(reply) => Some(reply.status),
        _ => None,
    })
}

#[test]
fn a_flush_does_without_a_drive_whose_blocks_are_elsewhere_too() {
    check_flush(Slip::None);
}

pub(crate) fn check_flush(slip: Slip) {
    for (place, spared) in [
        ("mirror:disks=2", true),
        ("mirror:disks=3:copies=3", true),
        ("sr_array:ds=1.5:dr=2:stripe_kib=4", false),
        ("mirror:disks=2:copies=1:stripe_kib=8", false),
        ("ew_array:dm=2:stripe_kib=8", true),
        ("distorted_mirror:stripe_kib=8", true),
        ("eager:dilution=2", false),
        ("ew_array:dm=2:stripe_kib=8:map=log:nvram_entries=4", true),
        // The first drive alone has the map.
        ("ew_array:dm=2:stripe_kib=8:map=virtual_log", false),
    ] {
        let mut rig = written(Setup::of(place), 4, slip, |_| 0.0);
        rig.failing.as_mut().expect("some fail").gone = vec![DriveId(0)];
        rig.submit(Op::Flush, 0, 0, 0);
        rig.settle();
        let status = replies(&rig).next_back().expect("it is answered");
        assert_eq!(status.is_done(), spared, "{place}");
    }
}

#[test]
fn a_flush_fails_when_all_drives_are_gone() {
    for place in [
        "mirror:disks=2",
        "sr_array:ds=1:dr=2",
        "ew_array:dm=2:stripe_kib=8",
        "distorted_mirror:stripe_kib=8",
    ] {
        let mut rig = written(Setup::of(place), 6, Slip::None, |_| 0.0);
        let all = (0..rig.drives() as u16).map(DriveId).collect();
        rig.failing.as_mut().expect("some fail").gone = all;
        // Those that find out, and one that knows.
        for _ in 0..2 {
            rig.submit(Op::Flush, 0, 0, 0);
            rig.settle();
            let status = replies(&rig).next_back().expect("it is answered");
            assert_eq!(status, Status::Failed(Failure::Gone), "{place}");
        }
    }
}

/// What was answered is on one drive alone until its delayed copy is written, and in the buffer: a
/// flush waits until it is elsewhere. If the other drive is gone as well, it fails.
#[test]
fn a_flush_waits_for_what_only_a_drive_that_is_gone_has() {
    for place in [
        "mirror:disks=2",
        "ew_array:dm=2:stripe_kib=8",
        "distorted_mirror:stripe_kib=8",
    ] {
        for all in [false, true] {
            let mut rig = written(Setup::of(place), 5, Slip::None, |_| 0.0);
            let answered = replies(&rig).count();
            rig.submit(Op::Write, 0, 8, 0);
            while replies(&rig).count() == answered {
                rig.run_until(rig.now + Duration::from_us(50));
            }
            let drive = rig.trace.iter().rev().find_map(|(_, action)| match action {
                Action::Start { drive, origin, .. } if origin.request.is_some() => Some(*drive),
                _ => None,
            });
            let drive = drive.expect("one has written it");
            assert_eq!(rig.contents.lost(drive).len(), 8, "{place}");
            let drives = (0..rig.drives() as u16).map(DriveId);
            let gone = drives.filter(|other| all || *other == drive).collect();
            rig.failing.as_mut().expect("some fail").gone = gone;
            rig.submit(Op::Flush, 0, 0, 0);
            rig.submit(Op::Flush, 0, 0, 0);
            while rig.stack.pending() > 0 {
                rig.run_until(rig.now + Duration::from_us(50));
            }
            let flushed: Vec<Status> = replies(&rig).rev().take(2).collect();
            let expected = match all {
                true => Status::Failed(Failure::Gone),
                false => Status::Done,
            };
            assert_eq!(flushed, [expected; 2], "{place}");
            let lost = rig.contents.lost(drive);
            assert_eq!(lost.is_empty(), !all, "{place}: {lost:?}");
            rig.settle();
        }
    }
}

/// The parts of a merged command that fails are tried once more, each by itself.
#[test]
fn what_is_answered_is_right_whatever_fails_and_is_merged() {
    let (mut failed, mut compared) = (0, 0);
    for (seed, setup) in SETUPS.iter().enumerate().step_by(2) {
        let merge = "contiguous";
        let rig = life(&Setup { merge, ..*setup }, seed as u64, Slip::None, |_| {
            0.03
        });
        failed += rig.failed;
        compared += rig.contents.compared;
    }
    assert!(failed > 50, "only {failed} requests failed");
    assert!(compared > 50_000, "only {compared} blocks were compared");
}

/// A merged command that fails has spared none: each of its parts is a command after all.
#[test]
fn a_merged_command_that_fails_spares_nothing() {
    let merge = "contiguous";
    let setup = Setup { merge, ..SETUPS[0] };
    let spared = |rig: &Rig| {
        let mut spared = 0;
        rig.stack.tell(&mut |_, measure, number| {
            if measure.name == "spared_commands" {
                spared += number;
            }
        });
        spared
    };
    let by = |chance: f64| {
        let rig = written(&setup, 1, Slip::None, |_| chance);
        let before = spared(&rig);
        spared(&use_up(rig, &setup, 1)) - before
    };
    assert!(by(0.0) > 50, "commands are merged");
    assert_eq!(by(1.0), 0);
}
