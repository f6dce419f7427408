//! A stretch of consecutive drive commands: how the arm moved, and what each command waited for.
//!
//! It is the middle of the measured requests, where queues have filled up and do not run dry yet.
//! It begins with the arrival of a request of a certain number, so that all runs of a comparison
//! show the same part of their load; and it ends with a number of commands, so that a run of any
//! length needs the same memory. O(1) per command; until it begins, a comparison and a store.

use nearslot_core::contract::Oracle;
use nearslot_core::ids::DriveId;
use nearslot_core::io::{Command, DriveDone};
use nearslot_core::op::{Cost, Op};
use nearslot_core::request::Request;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

use super::Window;
use super::flight::{InFlight, begun};
use super::seconds;
use crate::load::RequestCount;
use crate::outcome::{Gaps, Series, Stretch};

/// Commands that are kept, over all drives.
pub(crate) const COMMANDS_MAX: usize = 2_000;
/// Gaps with so many writes or more are counted together.
const GAP_WRITES_MAX: usize = 8;

/// Records a stretch while a run goes on.
pub(crate) struct Recording {
    locator: Box<dyn Oracle>,
    capacity: Blocks,
    /// Number of the request that begins it.
    from: u64,
    begun: bool,
    commands: Vec<Recorded>,
    /// Last block of the last command that has ended, by drive.
    arms: Vec<Option<Pba>>,
    /// Indexes of the commands that run and are recorded.
    running: InFlight<usize>,
}

struct Recorded {
    drive: DriveId,
    started: Instant,
    at: Pba,
    from: u32,
    to: u32,
    write: bool,
    open: bool,
    cost: Cost,
}

impl Recording {
    pub(crate) fn new(window: Window, locator: Box<dyn Oracle>, capacity: Blocks) -> Recording {
        let middle = (window.requests - window.warmup).saturating_sub(COMMANDS_MAX as u64) / 2;
        let is_known = RequestCount::new(window.requests).is_known();
        Recording {
            locator,
            capacity,
            from: window.warmup + if is_known { middle } else { 0 },
            begun: false,
            commands: Vec::new(),
            arms: Vec::new(),
            running: InFlight::default(),
        }
    }

    #[inline]
    pub(crate) fn arrived(&mut self, request: &Request) {
        self.begun |= request.id.0 >= self.from;
    }

    /// A drive began a command; `was_open` says whether its address was bound just now.
    pub(crate) fn started(
        &mut self,
        now: Instant,
        drive: DriveId,
        command: &Command,
        was_open: bool,
    ) {
        // A flush or a discard does not move the arm, and a movement without an I/O belongs to the
        // command after it.
        let kept = matches!(command.op, Op::Read | Op::Write);
        if !kept || !self.begun || self.commands.len() >= COMMANDS_MAX {
            return;
        }
        self.running.begin(drive, command.io, self.commands.len());
        self.commands.push(Recorded {
            drive,
            started: now,
            at: command.at,
            from: self.arm(drive),
            to: self.locator.locate(command.at).cylinder,
            write: command.op == Op::Write,
            open: was_open,
            cost: Cost::default(),
        });
    }

    /// A drive ended a command. If it had several, it did this one from another place than where it
    /// got it.
    pub(crate) fn done(&mut self, now: Instant, drive: DriveId, done: &DriveDone) {
        if let Some(running) = self.running.end(drive, done.io) {
            let from = self.arm(drive);
            let recorded = &mut self.commands[running];
            recorded.started = begun(recorded.started, now, done);
            (recorded.cost, recorded.from) = (done.cost, from);
        }
        if !matches!(done.op, Op::Flush | Op::Discard) {
            if self.arms.len() <= drive.index() {
                self.arms.resize(drive.index() + 1, None);
            }
            let last = done.at + Blocks(done.len.0.saturating_sub(1));
            self.arms[drive.index()] = Some(last);
        }
    }

    /// The cylinder where a drive's arm is left.
    fn arm(&self, drive: DriveId) -> u32 {
        let rest = || self.locator.arm().map_or(0, |arm| arm.position().cylinder);
        let at = self.arms.get(drive.index()).copied().flatten();
        at.map_or_else(rest, |at| self.locator.locate(at).cylinder)
    }

    /// Puts what was recorded into a series whose times count from `begin`.
    pub(crate) fn finish(mut self, begin: Instant, series: &mut Series) {
        self.commands.sort_by_key(|command| command.started);
        series.stretch = summary(&self.commands);
        for command in &self.commands {
            let Recorded { cost, at, .. } = command;
            series.arm_s.push(seconds(command.started.since(begin)));
            series.arm_drive.push(command.drive.0);
            series.arm_share.push(at.0 as f64 / self.capacity.0 as f64);
            series.arm_from.push(command.from);
            series.arm_cylinder.push(command.to);
            series.arm_write.push(command.write);
            series.arm_open.push(command.open);
            series.arm_overhead_ms.push(cost.overhead.as_ms());
            series.arm_seek_ms.push(cost.seek.as_ms());
            series.arm_rotation_ms.push(cost.rotation.as_ms());
            series.arm_transfer_ms.push(cost.transfer.as_ms());
        }
    }
}

fn summary(commands: &[Recorded]) -> Option<Stretch> {
    let first = commands.first()?.started;
    let ends = commands
        .iter()
        .map(|command| command.started + command.cost.total());
    let writes = commands.iter().filter(|command| command.write).count() as u64;
    let open = |command: &&Recorded| command.write && command.open;
    Some(Stretch {
        span_s: seconds(ends.fold(first, Instant::max).since(first)),
        reads: commands.len() as u64 - writes,
        writes,
        open_writes: commands.iter().filter(open).count() as u64,
        gaps: gaps(commands),
    })
}

/// A gap that no read has ended yet.
#[derive(Clone, Copy)]
struct Gap {
    since: Instant,
    writes: usize,
    seek: Duration,
    rotation: Duration,
}

fn gaps(commands: &[Recorded]) -> Option<Gaps> {
    let drives = commands.iter().map(|command| command.drive.index() + 1);
    let mut open: Vec<Option<Gap>> = vec![None; drives.max()?];
    let mut by_writes = vec![0_u64; GAP_WRITES_MAX + 1];
    let mut writes = 0_usize;
    let [mut length, mut seek, mut rotation] = [Duration::ZERO; 3];
    for command in commands {
        let Recorded { cost, started, .. } = command;
        let gap = &mut open[command.drive.index()];
        if command.write {
            if let Some(gap) = gap {
                gap.writes += 1;
                gap.seek += cost.seek;
                gap.rotation += cost.rotation;
            }
            continue;
        }
        let end = *started + cost.total();
        let before = gap.map_or(end, |gap| gap.since);
        let fresh = Gap {
            since: end.max(before),
            writes: 0,
            seek: Duration::ZERO,
            rotation: Duration::ZERO,
        };
        // Between reads that a drive does side by side there is none.
        let ended = gap.replace(fresh);
        if let Some(ended) = ended.filter(|ended| *started >= ended.since) {
            by_writes[ended.writes.min(GAP_WRITES_MAX)] += 1;
            writes += ended.writes;
            length += Duration(end.since(ended.since).0 - cost.transfer.0);
            seek += ended.seek + cost.seek;
            rotation += ended.rotation + cost.rotation;
        }
    }
    let count: u64 = by_writes.iter().sum();
    (count > 0).then(|| Gaps {
        by_writes,
        writes_mean: writes as f64 / count as f64,
        ms_mean: length.as_ms() / count as f64,
        seek_ms_mean: seek.as_ms() / count as f64,
        rotation_ms_mean: rotation.as_ms() / count as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearslot_core::drive;
    use nearslot_core::ids::IoId;
    use nearslot_core::op::Status;

    fn recording(requests: u64, warmup: u64) -> Recording {
        let text = "kind = 'null'\ncapacity_blocks = 1000\nservice_us = 100.0";
        let (blueprint, _) = drive::read("toy", text, &[]).unwrap();
        let window = Window { requests, warmup };
        Recording::new(window, blueprint.exact(), blueprint.capacity())
    }

    /// A command of `cost` milliseconds of overhead, seek, rotation and transfer; gives its end.
    fn serve(recording: &mut Recording, now_ms: u64, drive: u16, op: Op, cost: [u64; 4]) -> u64 {
        let (io, at, len) = (IoId(0), Pba(500), Blocks(8));
        let (now, drive) = (Instant(now_ms * 1_000_000), DriveId(drive));
        recording.started(
            now,
            drive,
            &Command {
                io,
                op,
                at,
                len,
                fua: false,
            },
            true,
        );
        let [overhead, seek, rotation, transfer] = cost.map(Duration::from_ms);
        let cost = Cost {
            overhead,
            seek,
            rotation,
            transfer,
        };
        let (status, arm) = (Status::Done, None);
        let done = DriveDone {
            io,
            op,
            at,
            len,
            status,
            cost,
            arm,
        };
        recording.done(now + cost.total(), drive, &done);
        now_ms + cost.total().0 / 1_000_000
    }

    fn arrive(recording: &mut Recording, id: u64) {
        let request = Request::new(id, Op::Read, 0, 8, Instant::ZERO);
        recording.arrived(&request);
    }

    fn finish(recording: Recording) -> Series {
        let mut series = Series::default();
        recording.finish(Instant::ZERO, &mut series);
        series
    }

    #[test]
    fn the_middle_of_the_measured_requests_is_recorded_and_no_more() {
        let mut recording = recording(10_000, 1_000);
        assert_eq!(recording.from, 1_000 + 3_500);
        arrive(&mut recording, 4_499);
        serve(&mut recording, 0, 0, Op::Read, [0, 1, 2, 3]);
        arrive(&mut recording, 4_500);
        for number in 0..COMMANDS_MAX as u64 + 500 {
            serve(&mut recording, 10 + number * 10, 0, Op::Write, [1, 2, 3, 4]);
        }
        let series = finish(recording);
        assert_eq!(series.arm_s.len(), COMMANDS_MAX);
        assert_eq!(series.arm_s[0], 0.01);
        let stretch = series.stretch.unwrap();
        assert_eq!((stretch.reads, stretch.writes), (0, COMMANDS_MAX as u64));
        assert_eq!(stretch.span_s, COMMANDS_MAX as f64 / 100.0);
        assert!(stretch.gaps.is_none(), "without reads there is no gap");
    }

    #[test]
    fn gaps_lie_between_reads_of_the_same_drive() {
        let mut recording = recording(100, 0);
        arrive(&mut recording, 0);
        let end = serve(&mut recording, 0, 0, Op::Read, [1, 2, 3, 1]);
        // The other drive's commands are no part of the gap.
        serve(&mut recording, 0, 1, Op::Read, [0, 0, 0, 1]);
        serve(&mut recording, 1, 1, Op::Write, [0, 0, 0, 1]);
        let end = serve(&mut recording, end, 0, Op::Write, [1, 1, 2, 1]);
        let end = serve(&mut recording, end, 0, Op::Write, [1, 0, 0, 1]);
        serve(&mut recording, end, 0, Op::Read, [1, 2, 4, 1]);
        let gaps = finish(recording).stretch.unwrap().gaps.unwrap();
        assert_eq!(gaps.by_writes, [0, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(gaps.writes_mean, 2.0);
        // Two writes of 5 and 2 ms, then 1 + 2 + 4 ms until the sector comes by.
        assert_eq!(
            (gaps.ms_mean, gaps.seek_ms_mean, gaps.rotation_ms_mean),
            (14.0, 3.0, 6.0)
        );
    }

    #[test]
    fn flushes_and_bare_movements_are_left_out() {
        let mut recording = recording(100, 0);
        arrive(&mut recording, 0);
        serve(&mut recording, 0, 0, Op::Flush, [1, 0, 0, 0]);
        serve(&mut recording, 1, 0, Op::Seek, [0, 1, 0, 0]);
        serve(&mut recording, 2, 0, Op::Read, [0, 1, 0, 0]);
        let series = finish(recording);
        assert_eq!(series.arm_s, [0.002]);
        assert_eq!(series.arm_seek_ms, [1.0]);
        assert!(finish(self::recording(100, 0)).stretch.is_none());
    }
}
