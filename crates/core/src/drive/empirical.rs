//! A drive that takes as long as a trace measured: service times are drawn from tables of
//! quantiles.
//!
//! For devices that are no disks, or of which only times are known. The file has one table per
//! direction, size and number of commands outstanding; a command takes the first table whose
//! `blocks` and `outstanding` are not below its own, draws a share between 0 and 1, and
//! interpolates between the quantiles on both sides of it. A command longer than all tables takes
//! the longest one's time in proportion to its length; more outstanding commands than in any table
//! take the last one's.
//!
//! **Several at a time.** A flash device serves many commands together, but a drive here works on
//! one at a time. So the tables hold *effective times per command*: the measured time from issue to
//! completion, divided by the number that was outstanding at issue, the command itself counted.
//! Then a closed load of n gets the measured throughput, and by Little's law the measured mean
//! response. What is lost: the spread of single responses under load, since a response here is a
//! sum of n draws, and that of n draws is narrower than that of one. Tails are those of the device
//! for `outstanding = 1` only.
//!
//! The number outstanding is the one just before the previous completion, if the drive has been
//! busy since, and else 1. By level crossing (the same number of steps from n to n + 1 as back) it
//! has the distribution of the number at issue, the command counted.
//!
//! **Cache.** A file may say in `cache` which cache the times were measured with. A flush takes
//! `flush_ms`. A write with force unit access takes the time of a write, and if the cache is
//! volatile or not known, that of a flush.
//!
//! Draws come from a stream of the run's seed, one for each drive of an array. O(log of the tables)
//! a command.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::cache::{self, CACHE, CacheParameter, SinceFlush};
use super::flat::{self, FlatOracle};
use super::protection::PROTECTION;
use super::{CAPACITY_MAX, Kind, file};
use crate::contract::{Blueprint, Drive, Oracle};
use crate::freemap::{Room, Tracks, Uncountable};
use crate::io::{Command, DriveDone, Extrapolated, Unwritten, WriteCache};
use crate::op::Op;
use crate::registry::{ConfigError, Knob, Knobs};
use crate::rng::Rng;
use crate::units::{Angle, Blocks, Duration, Instant, Pba};

/// An empirical drive, as its file holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmpiricalParameters {
    /// Always `empirical`.
    pub kind: String,
    /// What it is, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Addressable blocks of 512 bytes.
    pub capacity_blocks: u64,
    /// What a flush takes, in milliseconds.
    #[serde(default)]
    pub flush_ms: f64,
    /// What a discard takes, in milliseconds.
    #[serde(default)]
    pub discard_ms: f64,
    /// The cache that the times were measured with; not known if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheParameter>,
    /// One table of service times for each direction, size and number outstanding.
    pub bins: Vec<Bin>,
    /// Where the numbers come from: for people, and printed by `show`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<toml::Table>,
}

/// Service times of commands that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bin {
    /// Which commands.
    pub op: Direction,
    /// Blocks of the longest of them.
    pub blocks: u64,
    /// Commands outstanding at most, the command itself counted.
    pub outstanding: u64,
    /// Quantiles of the effective time per command: `[share, milliseconds]`, from share 0 to share
    /// 1.
    pub quantiles: Vec<(f64, f64)>,
    /// How many times were measured.
    #[serde(default)]
    pub samples: u64,
}

/// Which commands a table is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Both.
    Any,
}

impl Direction {
    fn covers(self, op: Op) -> bool {
        match self {
            Direction::Read => op == Op::Read,
            Direction::Write => op == Op::Write,
            Direction::Any => true,
        }
    }
}

impl EmpiricalParameters {
    /// Reads and checks a drive's file.
    ///
    /// # Errors
    /// The first thing wrong: the key, the value, what is allowed.
    pub fn read(table: &toml::Table) -> Result<EmpiricalParameters, ConfigError> {
        file::read_checked(table, EmpiricalParameters::check)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let blocks = self.capacity_blocks;
        if !(1..=CAPACITY_MAX).contains(&blocks) {
            let allowed = format!("1 to {CAPACITY_MAX}");
            return Err(ConfigError::value(
                "capacity_blocks",
                &blocks.to_string(),
                &allowed,
            ));
        }
        check_ms("flush_ms", self.flush_ms)?;
        check_ms("discard_ms", self.discard_ms)?;
        for (index, bin) in self.bins.iter().enumerate() {
            bin.check().map_err(|mut error| {
                error.key = format!("bins[{index}].{}", error.key);
                error
            })?;
        }
        Ok(())
    }

    /// The tables of one direction, by size and then by number outstanding.
    fn sizes(&self, op: Op) -> Result<Vec<Size>, ConfigError> {
        let mut bins: Vec<&Bin> = self.bins.iter().filter(|bin| bin.op.covers(op)).collect();
        if bins.is_empty() {
            let allowed = "a table for reads and one for writes, or tables with op = \"any\"";
            let value = format!("none for op = \"{}\"", op.name());
            return Err(ConfigError::value("bins", &value, allowed));
        }
        bins.sort_by_key(|bin| (bin.blocks, bin.outstanding));
        let key = |bin: &Bin| (bin.blocks, bin.outstanding);
        if let Some(twice) = bins.windows(2).find(|pair| key(pair[0]) == key(pair[1])) {
            let (blocks, outstanding) = key(twice[0]);
            let value = format!(
                "two for {blocks} blocks and {outstanding} outstanding {}s",
                op.name()
            );
            return Err(ConfigError::value("bins", &value, "one table for each"));
        }
        let mut sizes: Vec<Size> = Vec::new();
        for bin in bins {
            if sizes.last().is_none_or(|size| size.blocks != bin.blocks) {
                sizes.push(Size {
                    blocks: bin.blocks,
                    by_outstanding: Vec::new(),
                });
            }
            let size = sizes.last_mut().expect("one was just pushed");
            size.by_outstanding
                .push((bin.outstanding, bin.quantiles.clone()));
        }
        Ok(sizes)
    }
}

/// The longest service time that a file may hold, in milliseconds.
const MS_MAX: f64 = 1e7;
/// The longest time that any command may take, in milliseconds: 317 years. A run may last 219, and
/// time is counted up to 584.
const SERVICE_MS_MAX: f64 = 1e13;

fn check_ms(key: &str, ms: f64) -> Result<(), ConfigError> {
    if (0.0..=MS_MAX).contains(&ms) {
        return Ok(());
    }
    let allowed = format!("0 to {MS_MAX} milliseconds");
    Err(ConfigError::value(key, &ms.to_string(), &allowed))
}

impl Bin {
    fn check(&self) -> Result<(), ConfigError> {
        for (key, value) in [("blocks", self.blocks), ("outstanding", self.outstanding)] {
            if value == 0 {
                return Err(ConfigError::value(key, "0", "at least 1"));
            }
        }
        let points = &self.quantiles;
        let at = |point: Option<&(f64, f64)>, share: f64| {
            point.is_some_and(|(at, _)| at.total_cmp(&share).is_eq())
        };
        let whole = at(points.first(), 0.0) && at(points.last(), 1.0);
        if points.len() < 2 || !whole {
            let value = format!("{} points", points.len());
            let allowed = "at least two, the first of share 0, the last of share 1";
            return Err(ConfigError::value("quantiles", &value, allowed));
        }
        for (index, (share, ms)) in points.iter().enumerate() {
            check_ms(&format!("quantiles[{index}] time"), *ms)?;
            let before = index.checked_sub(1).map(|before| points[before]);
            if let Some((share_before, ms_before)) = before
                && !(share_before < *share && ms_before <= *ms)
            {
                return Err(ConfigError::value(
                    &format!("quantiles[{index}]"),
                    &format!("[{share}, {ms}]"),
                    &format!("a share above {share_before} and a time not below {ms_before}"),
                ));
            }
        }
        Ok(())
    }
}

/// Tables of commands of up to so many blocks.
#[derive(Clone, Debug)]
struct Size {
    blocks: u64,
    /// Up to how many outstanding, and the quantiles.
    by_outstanding: Vec<(u64, Vec<(f64, f64)>)>,
}

/// The checked tables.
#[derive(Debug)]
struct Tables {
    reads: Vec<Size>,
    writes: Vec<Size>,
    flush: Duration,
    discard: Duration,
    scale: f64,
}

impl Tables {
    /// Up to which length there are times for such a command, if it is longer.
    fn exceeded(&self, command: &Command) -> Option<Blocks> {
        let sizes = match command.op {
            Op::Read => &self.reads,
            Op::Write => &self.writes,
            Op::Flush | Op::Discard | Op::Seek => return None,
        };
        let told = Blocks(sizes.last()?.blocks);
        (command.len > told).then_some(told)
    }

    /// Whether a command of all blocks of the drive takes a time that can be counted.
    fn check_longest(&self, capacity: u64) -> Result<(), ConfigError> {
        for (op, sizes) in [(Op::Read, &self.reads), (Op::Write, &self.writes)] {
            let size = &sizes[sizes.len() - 1];
            let slowest = size.by_outstanding.iter().flat_map(|(_, points)| points);
            let slowest = slowest.map(|(_, ms)| *ms).fold(0.0, f64::max);
            let longer = (capacity as f64 / size.blocks as f64).max(1.0);
            let ms = slowest * longer * self.scale;
            if ms > SERVICE_MS_MAX {
                let (name, blocks) = (op.name(), size.blocks);
                let value = format!(
                    "{ms:.2e} ms for a {name} of all {capacity} blocks: {slowest} ms for up to {blocks} blocks, in proportion to the \
                     length, times the scale of {}",
                    self.scale
                );
                let allowed = format!(
                    "up to {SERVICE_MS_MAX:.0e} ms: a table for longer {name}s, shorter times or a smaller scale"
                );
                return Err(ConfigError::value("bins", &value, &allowed));
            }
        }
        Ok(())
    }

    /// The time of a command, where `share` of all such commands are faster.
    fn service(&self, command: &Command, outstanding: u64, share: f64) -> Duration {
        let sizes = match command.op {
            Op::Read => &self.reads,
            Op::Write => &self.writes,
            Op::Flush => return self.flush,
            Op::Discard => return self.discard,
            // Nothing moves.
            Op::Seek => return Duration::ZERO,
        };
        let len = command.len.0;
        let index = sizes.partition_point(|size| size.blocks < len);
        let size = &sizes[index.min(sizes.len() - 1)];
        let lists = &size.by_outstanding;
        let index = lists.partition_point(|(most, _)| *most < outstanding);
        let (_, points) = &lists[index.min(lists.len() - 1)];
        let longer = (len as f64 / size.blocks as f64).max(1.0);
        Duration::from_ms_f64(quantile(points, share) * longer * self.scale)
    }
}

/// On the line between the points on both sides of `share`.
fn quantile(points: &[(f64, f64)], share: f64) -> f64 {
    let right = points.partition_point(|(at, _)| *at <= share);
    let right = right.clamp(1, points.len() - 1);
    let ((low, low_ms), (high, high_ms)) = (points[right - 1], points[right]);
    low_ms + (share - low) / (high - low) * (high_ms - low_ms)
}

/// An empirical drive before it runs.
#[derive(Clone)]
struct EmpiricalBlueprint {
    capacity: Blocks,
    tables: Arc<Tables>,
    cache: WriteCache,
}

impl EmpiricalBlueprint {
    fn read(table: &toml::Table, knobs: &Knobs) -> Result<EmpiricalBlueprint, ConfigError> {
        let parameters = EmpiricalParameters::read(table)?;
        let scale = knobs.number("scale");
        let tables = Tables {
            reads: parameters.sizes(Op::Read)?,
            writes: parameters.sizes(Op::Write)?,
            flush: Duration::from_ms_f64(parameters.flush_ms * scale),
            discard: Duration::from_ms_f64(parameters.discard_ms * scale),
            scale,
        };
        tables.check_longest(parameters.capacity_blocks)?;
        Ok(EmpiricalBlueprint {
            capacity: Blocks(parameters.capacity_blocks),
            tables: Arc::new(tables),
            cache: cache::measured(knobs, parameters.cache)?,
        })
    }
}

impl Blueprint for EmpiricalBlueprint {
    fn capacity(&self) -> Blocks {
        self.capacity
    }

    fn cache(&self) -> WriteCache {
        self.cache
    }

    fn drive(&self) -> Box<dyn Drive> {
        self.seeded(0, "drive/0/service")
    }

    fn seeded(&self, seed: u64, stream: &str) -> Box<dyn Drive> {
        Box::new(EmpiricalDrive {
            tables: Arc::clone(&self.tables),
            rng: Rng::stream(seed, stream),
            outstanding: 1,
            ended: None,
            share: 1,
            running: None,
            cache: self.cache,
            since_flush: SinceFlush::new(self.cache, self.capacity),
            // One for each direction: nothing is allocated while the drive works.
            extrapolated: Vec::with_capacity(2),
        })
    }

    fn exact(&self) -> Box<dyn Oracle> {
        let points = &self.tables.reads[0].by_outstanding[0].1;
        let median = quantile(points, 0.5) * self.tables.scale;
        Box::new(FlatOracle::new(Duration::from_ms_f64(median)))
    }

    fn turned(&self, _by: Angle) -> Box<dyn Blueprint> {
        Box::new(self.clone())
    }

    fn resting(&self, _at: Pba) -> Box<dyn Blueprint> {
        Box::new(self.clone())
    }

    fn revolution(&self) -> Option<Duration> {
        None
    }

    fn room(&self, slot: Blocks) -> Room {
        flat::room(self.capacity, slot)
    }

    fn tracks(&self, slot: Blocks) -> Result<Tracks, Uncountable> {
        flat::tracks(self.capacity, slot)
    }
}

struct EmpiricalDrive {
    tables: Arc<Tables>,
    rng: Rng,
    /// Commands that ran or waited just before the last completion.
    outstanding: u64,
    /// When that was.
    ended: Option<Instant>,
    /// Commands that shared the drive's time with the one that was taken last, and this one.
    share: u64,
    /// The command under way: when it ends, how, and whether it is a write that goes to the medium.
    running: Option<(Instant, DriveDone, bool)>,
    cache: WriteCache,
    since_flush: SinceFlush,
    extrapolated: Vec<Extrapolated>,
}

impl EmpiricalDrive {
    /// Counts a command that is longer than those that there are times of.
    fn extrapolate(&mut self, command: &Command, told: Blocks) {
        let (op, len) = (command.op, command.len);
        let same = self.extrapolated.iter_mut().find(|found| found.op == op);
        if let Some(found) = same {
            found.commands += 1;
            found.longest = found.longest.max(len);
            return;
        }
        self.extrapolated.push(Extrapolated {
            op,
            told,
            commands: 1,
            longest: len,
        });
    }
}

impl Drive for EmpiricalDrive {
    fn submit(&mut self, now: Instant, command: &Command) {
        assert!(self.running.is_none(), "the drive is busy");
        let busy = self.ended == Some(now);
        self.share = if busy { self.outstanding.max(1) } else { 1 };
        let faster = self.rng.unit();
        let mut service = self.tables.service(command, self.share, faster);
        if command.fua && self.cache.may_lose() {
            service += self.tables.flush;
        }
        if let Some(told) = self.tables.exceeded(command) {
            self.extrapolate(command, told);
        }
        self.running = Some((now + service, flat::done(command, service), command.fua));
    }

    fn outstanding(&mut self, commands: &mut dyn FnMut() -> u64) {
        self.outstanding = commands();
    }

    fn next_event(&self) -> Option<Instant> {
        self.running.map(|(due, ..)| due)
    }

    fn advance(&mut self, now: Instant) -> Option<DriveDone> {
        let (_, done, fua) = self.running.take_if(|(due, ..)| *due <= now)?;
        self.ended = Some(now);
        self.since_flush.ended(done.op, fua);
        Some(done)
    }

    fn ended_late(&mut self, now: Instant) {
        self.ended = Some(now);
    }

    fn lengthened(&self, took: Duration, factor: u32, extra: Duration) -> Duration {
        let longer = took.0.saturating_mul(u64::from(factor) - 1);
        Duration(longer.saturating_add(extra.0.div_ceil(self.share)))
    }

    fn volatile(&self, _now: Instant, out: &mut Vec<Unwritten>) {
        self.since_flush.volatile(out);
    }

    fn extrapolated(&self) -> &[Extrapolated] {
        &self.extrapolated
    }
}

pub(super) static KIND: Kind = Kind {
    name: "empirical",
    summary: "service times drawn from what a trace measured, by direction, size and commands outstanding",
    source: "tables of quantiles, as `nearslot calibrate --as empirical` writes them",
    knobs: &[
        Knob::number(
            "scale",
            1.0,
            0.001..=1_000.0,
            "all service times are multiplied by this",
        ),
        CACHE,
        PROTECTION,
    ],
    measures: &[],
    read: |table, knobs| Ok(Box::new(EmpiricalBlueprint::read(table, knobs)?)),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::IoId;
    use crate::registry::KnobValue;

    const SMALL: &str = "
        kind = 'empirical'
        capacity_blocks = 1000
        flush_ms = 0.5
        [[bins]]
        op = 'read'
        blocks = 8
        outstanding = 1
        quantiles = [[0.0, 1.0], [0.5, 2.0], [1.0, 6.0]]
        [[bins]]
        op = 'read'
        blocks = 8
        outstanding = 4
        quantiles = [[0.0, 0.25], [1.0, 0.75]]
        [[bins]]
        op = 'read'
        blocks = 64
        outstanding = 1
        quantiles = [[0.0, 3.0], [1.0, 3.0]]
        [[bins]]
        op = 'write'
        blocks = 8
        outstanding = 1
        quantiles = [[0.0, 0.1], [1.0, 0.1]]
    ";

    fn blueprint(text: &str) -> Result<EmpiricalBlueprint, ConfigError> {
        let knobs = Knobs::check("empirical", KIND.knobs, &[])?;
        EmpiricalBlueprint::read(&text.parse().unwrap(), &knobs)
    }

    fn command(op: Op, len: u64) -> Command {
        Command {
            io: IoId(0),
            op,
            at: Pba(0),
            len: Blocks(len),
            fua: false,
        }
    }

    #[test]
    fn times_lie_on_the_lines_between_quantiles() {
        let tables = blueprint(SMALL).unwrap().tables;
        let us = |op, len, outstanding, share| {
            tables.service(&command(op, len), outstanding, share).0 / 1_000
        };
        assert_eq!(us(Op::Read, 8, 1, 0.0), 1_000);
        assert_eq!(us(Op::Read, 1, 1, 0.25), 1_500);
        assert_eq!(us(Op::Read, 8, 1, 0.75), 4_000);
        // Two outstanding take the table of up to four; nine take the last one, too.
        assert_eq!(us(Op::Read, 8, 2, 0.5), 500);
        assert_eq!(us(Op::Read, 8, 9, 0.5), 500);
        // The next larger size; beyond the largest, in proportion.
        assert_eq!(us(Op::Read, 9, 1, 0.9), 3_000);
        assert_eq!(us(Op::Read, 128, 1, 0.9), 6_000);
        assert_eq!(us(Op::Write, 16, 1, 0.3), 200);
        assert_eq!(us(Op::Flush, 0, 1, 0.3), 500);
        assert_eq!(us(Op::Seek, 0, 1, 0.3), 0);
    }

    #[test]
    fn a_busy_drive_takes_the_table_of_what_was_outstanding() {
        let mut drive = blueprint(SMALL).unwrap().seeded(1, "test");
        drive.submit(Instant(0), &command(Op::Read, 8));
        let first = drive.next_event().unwrap();
        assert!((1_000_000..6_000_000).contains(&first.0), "{first}");
        drive.outstanding(&mut || 3);
        assert!(drive.advance(first).is_some());
        drive.submit(first, &command(Op::Read, 8));
        let second = drive.next_event().unwrap();
        assert!(second.since(first) < Duration(750_000), "{second}");
        drive.outstanding(&mut || 3);
        assert!(drive.advance(second).is_some());
        // It has been idle since: alone.
        let later = second + Duration(1);
        drive.submit(later, &command(Op::Read, 8));
        let third = drive.next_event().unwrap();
        assert!(third.since(later) >= Duration(1_000_000), "{third}");
    }

    #[test]
    fn commands_longer_than_all_tables_are_counted() {
        let mut drive = blueprint(SMALL).unwrap().seeded(1, "test");
        let mut now = Instant(0);
        for (op, len) in [
            (Op::Read, 64),
            (Op::Read, 65),
            (Op::Write, 9),
            (Op::Read, 900),
            (Op::Discard, 900),
        ] {
            drive.submit(now, &command(op, len));
            now = drive.next_event().unwrap();
            assert!(drive.advance(now).is_some());
        }
        let of = |op, told, commands, longest| Extrapolated {
            op,
            told: Blocks(told),
            commands,
            longest: Blocks(longest),
        };
        assert_eq!(
            drive.extrapolated(),
            [of(Op::Read, 64, 2, 900), of(Op::Write, 8, 1, 9)]
        );
    }

    #[test]
    fn a_command_of_any_length_takes_a_time_that_can_be_counted() {
        let text = "
            kind = 'empirical'
            capacity_blocks = 100_000
            [[bins]]
            op = 'any'
            blocks = 1
            outstanding = 1
            quantiles = [[0.0, 1.0], [1.0, 1e7]]
        ";
        let scaled = |scale| {
            let given = [("scale".to_owned(), KnobValue::Number(scale))];
            let knobs = Knobs::check("empirical", KIND.knobs, &given).unwrap();
            EmpiricalBlueprint::read(&text.parse().unwrap(), &knobs)
        };
        let longest = scaled(10.0).unwrap().tables;
        let time = longest.service(&command(Op::Write, 100_000), 1, 1.0);
        assert_eq!(time, Duration::from_ms_f64(1e13));
        let words = scaled(11.0).err().unwrap().to_string();
        assert!(
            words.contains("1.10e13 ms for a read of all 100000 blocks"),
            "{words}"
        );
        assert!(words.contains("allowed: up to 1e13 ms"), "{words}");
    }

    #[test]
    fn draws_follow_seed_and_stream() {
        let first = |seed, stream| {
            let mut drive = blueprint(SMALL).unwrap().seeded(seed, stream);
            drive.submit(Instant(0), &command(Op::Read, 8));
            drive.next_event().unwrap()
        };
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(2, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
    }

    #[test]
    fn mistakes_are_named() {
        let error = |from: &str, to: &str| {
            assert!(SMALL.contains(from), "{from} is not in the sample");
            blueprint(&SMALL.replacen(from, to, 1))
                .err()
                .unwrap()
                .to_string()
        };
        assert!(error("'write'", "'read'").contains("two for 8 blocks"));
        assert!(
            error("'write'\n        blocks = 8", "'read'\n        blocks = 9")
                .contains("op = \"write\"")
        );
        assert!(error("[0.5, 2.0]", "[0.5, 0.5]").contains("bins[0].quantiles[1] = [0.5, 0.5]"));
        assert!(error("[1.0, 6.0]", "[0.9, 6.0]").contains("the last of share 1"));
        assert!(error("[0.0, 1.0]", "[0.0, -1.0]").contains("quantiles[0] time = -1"));
        assert!(error("outstanding = 4", "outstanding = 0").contains("bins[1].outstanding = 0"));
        assert!(error("capacity_blocks = 1000", "capacity_blocks = 0").contains("capacity_blocks"));
        assert!(error("flush_ms", "flsh_ms").contains("did you mean `flush_ms`"));
    }
}
