//! A volume with limits: so many commands and so many bytes a second, with credits for bursts, as
//! cloud providers sell them.
//!
//! Two token buckets, one of I/Os and one of bytes. Both fill at the baseline rate up to `credits`,
//! and every command takes its cost out of both: one I/O for each `io_kib_max` KiB begun, and its
//! bytes. While there are credits, commands follow each other at the burst rate at most; without
//! them, at the baseline rate. A volume without a burst rate saves nothing up: it never exceeds the
//! baseline. An idle time is credited, but not beyond `credits`.
//!
//! Source: *Amazon EBS General Purpose SSD volumes* (Amazon EBS User Guide): gp2 has a bucket of
//! 5.4 million I/O credits, filled at 3 a second and GiB, and bursts to 3,000 IOPS; gp3 has flat
//! rates; of st1 and sc1 the bucket holds bytes. An I/O of up to 256 KiB counts as one. *Managed
//! disk bursting* (Microsoft Azure documentation): a bucket each of I/Os and of bytes, full at
//! first, enough for thirty minutes. The bucket as an algorithm: Turner, "New directions in
//! communications", IEEE Communications Magazine 1986.
//!
//! **Several at a time.** Such a volume answers after `latency_ms` however many commands are
//! outstanding, but a drive here works on one at a time. So a command takes `latency_ms` divided by
//! the number outstanding, or what the buckets make it wait, whichever is more: a closed load of n
//! has the throughput min(n / latency, limit), as it should. Responses that single commands of a
//! burst see are averages. The number outstanding is found as in [`super::empirical`].
//!
//! **Cache.** A file may say in `cache` whether a write that was answered is safe. The latency is
//! that of answered writes, so nothing more is charged for a write with force unit access; a flush
//! takes the latency. O(1) a command, in whole numbers.

use serde::{Deserialize, Serialize};

use super::cache::{self, CACHE, CacheParameter, SinceFlush};
use super::flat::{self, FlatOracle};
use super::{CAPACITY_MAX, Kind, file};
use crate::contract::{Blueprint, Drive, Oracle};
use crate::freemap::{Room, Tracks, Uncountable};
use crate::io::{Command, Credits, DriveDone, Unwritten, WriteCache};
use crate::op::Op;
use crate::registry::{ConfigError, Knob, Knobs};
use crate::units::{Angle, Blocks, Duration, Instant, Pba};

/// A capped volume, as its file holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CappedParameters {
    /// Always `capped`.
    pub kind: String,
    /// What it is, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Addressable blocks of 512 bytes.
    pub capacity_blocks: u64,
    /// Time from issue to completion where no limit is reached, in milliseconds.
    pub latency_ms: f64,
    /// Whether the volume answers writes before they are safe; not known if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheParameter>,
    /// Longer commands count as several, in KiB.
    pub io_kib_max: u64,
    /// The limit of commands a second.
    pub iops: LimitParameters,
    /// The limit of bytes, in MiB a second and MiB.
    pub mib: LimitParameters,
    /// Where the numbers come from: for people, and printed by `show`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<toml::Table>,
}

impl CappedParameters {
    fn check(&self) -> Result<(), ConfigError> {
        let whole = |key: &str, value: u64, max: u64| {
            if (1..=max).contains(&value) {
                return Ok(());
            }
            let allowed = format!("1 to {max}");
            Err(ConfigError::value(key, &value.to_string(), &allowed))
        };
        let ms = self.latency_ms;
        if !(0.0001..=1e5).contains(&ms) {
            let allowed = "0.0001 to 100000";
            return Err(ConfigError::value("latency_ms", &ms.to_string(), allowed));
        }
        self.limits()?;
        whole("capacity_blocks", self.capacity_blocks, CAPACITY_MAX)?;
        whole("io_kib_max", self.io_kib_max, 1 << 30)
    }

    /// Of I/Os and of bytes.
    fn limits(&self) -> Result<[Limit; 2], ConfigError> {
        Ok([
            self.iops.limit("iops", IO_TOKENS as f64)?,
            self.mib.limit("mib", MIB as f64)?,
        ])
    }
}

/// A limit with credits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitParameters {
    /// Per second for ever; credits are earned at this rate.
    pub baseline: f64,
    /// Per second while there are credits; the baseline if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<f64>,
    /// What may be saved up; needs `burst`.
    #[serde(default)]
    pub credits: f64,
}

impl LimitParameters {
    /// Checks one limit; `unit` are its tokens to one of the file's unit.
    fn limit(&self, key: &str, unit: f64) -> Result<Limit, ConfigError> {
        let named = |part: &str| format!("{key}.{part}");
        let in_range = |part: &str, value: f64, min: f64, max: f64| {
            if (min..=max).contains(&value) {
                return Ok(libm::round(value * unit) as u64);
            }
            let allowed = format!("{min} to {max}");
            Err(ConfigError::value(
                &named(part),
                &value.to_string(),
                &allowed,
            ))
        };
        let rate = in_range("baseline", self.baseline, RATE_MIN, RATE_MAX)?;
        let burst = match self.burst {
            None => rate,
            Some(burst) => in_range("burst", burst, self.baseline, RATE_MAX)?,
        };
        let credits = in_range("credits", self.credits, 0.0, CREDITS_MAX)?;
        if credits > 0 && self.burst.is_none() {
            let allowed = "0 without a burst rate, as nothing could spend them";
            let value = self.credits.to_string();
            return Err(ConfigError::value(&named("credits"), &value, allowed));
        }
        Ok(Limit {
            rate,
            burst,
            room: u128::from(credits) * NANO,
        })
    }
}

/// The slowest and the fastest rate that a file may give, per second.
const RATE_MIN: f64 = 1.0;
const RATE_MAX: f64 = 1e8;
/// The most that may be saved up.
const CREDITS_MAX: f64 = 1e12;
/// Tokens of one I/O: rates are kept to a thousandth of an I/O a second.
const IO_TOKENS: u64 = 1_000;
/// Tokens of one MiB: its bytes.
const MIB: u64 = 1 << 20;
/// Tokens are counted in billionths, so that a rate per second is a whole number of them per
/// nanosecond.
const NANO: u128 = 1_000_000_000;

/// One limit, checked: tokens a second, and the bucket's size in billionths of a token.
#[derive(Clone, Copy, Debug)]
struct Limit {
    rate: u64,
    burst: u64,
    room: u128,
}

/// A bucket: what it held when the last command that took from it ended.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    limit: Limit,
    level: u128,
    at: Instant,
    /// What it held at first, and what was taken out of it since, in billionths of a token.
    first: u128,
    taken: u128,
}

impl Bucket {
    fn new(limit: Limit, full: f64) -> Bucket {
        // A share of an integer far below 2^127: the product is one, too.
        let level = (limit.room as f64 * full) as u128;
        let level = level.min(limit.room);
        Bucket {
            limit,
            level,
            at: Instant::ZERO,
            first: level,
            taken: 0,
        }
    }

    /// What it holds at `now`.
    fn level(&self, now: Instant) -> u128 {
        let earned = u128::from(now.since(self.at).0) * u128::from(self.limit.rate);
        (self.level + earned).min(self.limit.room)
    }

    /// How long a command must take that costs `tokens` and begins at `now`.
    fn least(&self, now: Instant, tokens: u64) -> Duration {
        let cost = u128::from(tokens) * NANO;
        let burst = cost.div_ceil(self.limit.burst.into());
        let missing = cost.saturating_sub(self.level(now));
        let earned = missing.div_ceil(self.limit.rate.into());
        Duration(u64::try_from(burst.max(earned)).expect("below 2^64 blocks at a token a second"))
    }

    /// A command that costs `tokens` lasts from `now` to `until`.
    fn take(&mut self, now: Instant, until: Instant, tokens: u64) {
        let earned = u128::from(until.since(now).0) * u128::from(self.limit.rate);
        let level = (self.level(now) + earned).saturating_sub(u128::from(tokens) * NANO);
        (self.level, self.at) = (level.min(self.limit.room), until);
        self.taken += u128::from(tokens) * NANO;
    }

    /// Its credits, of which `tokens` are one of this unit.
    fn credits(&self, unit: &'static str, tokens: u64) -> Credits {
        let of = |amount: u128| amount as f64 / (u128::from(tokens) * NANO) as f64;
        Credits {
            unit,
            spent: of(self.first.saturating_sub(self.level)),
            left: of(self.level),
            taken: of(self.taken),
            baseline: self.limit.rate as f64 / tokens as f64,
        }
    }
}

/// A capped volume before it runs.
#[derive(Clone, Copy, Debug)]
struct CappedBlueprint {
    capacity: Blocks,
    latency: Duration,
    cache: WriteCache,
    io_bytes_max: u64,
    /// Of I/Os and of bytes.
    limits: [Limit; 2],
    full: f64,
}

impl CappedBlueprint {
    fn read(table: &toml::Table, knobs: &Knobs) -> Result<CappedBlueprint, ConfigError> {
        let parameters = file::read_checked(table, CappedParameters::check)?;
        let limits = parameters.limits()?;
        if limits.iter().all(|limit| limit.room == 0) {
            let allowed = "left out, as the drive's file has no credits";
            knobs.check_idle([&CREDITS_FULL].into_iter(), allowed)?;
        }
        Ok(CappedBlueprint {
            capacity: Blocks(parameters.capacity_blocks),
            latency: Duration::from_ms_f64(parameters.latency_ms),
            cache: cache::measured(knobs, parameters.cache)?,
            io_bytes_max: parameters.io_kib_max << 10,
            limits,
            full: knobs.number(CREDITS_FULL.name),
        })
    }
}

impl Blueprint for CappedBlueprint {
    fn capacity(&self) -> Blocks {
        self.capacity
    }

    fn cache(&self) -> WriteCache {
        self.cache
    }

    fn drive(&self) -> Box<dyn Drive> {
        Box::new(CappedDrive {
            since_flush: SinceFlush::new(self.cache, self.capacity),
            volume: *self,
            buckets: self.limits.map(|limit| Bucket::new(limit, self.full)),
            outstanding: 1,
            ended: None,
            share: 1,
            running: None,
        })
    }

    fn exact(&self) -> Box<dyn Oracle> {
        Box::new(FlatOracle::new(self.latency))
    }

    fn turned(&self, _by: Angle) -> Box<dyn Blueprint> {
        Box::new(*self)
    }

    fn resting(&self, _at: Pba) -> Box<dyn Blueprint> {
        Box::new(*self)
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

struct CappedDrive {
    volume: CappedBlueprint,
    /// Of I/Os and of bytes.
    buckets: [Bucket; 2],
    /// Commands that ran or waited just before the last completion.
    outstanding: u64,
    /// When that was.
    ended: Option<Instant>,
    /// The command that was taken last has had this share of the drive's time: one by so many.
    share: u64,
    /// The command under way: when it ends, how, and whether it is a write that goes to the medium.
    running: Option<(Instant, DriveDone, bool)>,
    since_flush: SinceFlush,
}

impl CappedDrive {
    /// What a command takes out of the buckets: tokens of I/Os, and bytes. Flushes and discards
    /// move no data and are not counted.
    fn tokens(&self, command: &Command) -> [u64; 2] {
        match command.op {
            Op::Read | Op::Write => {
                let bytes = command.len.bytes();
                [bytes.div_ceil(self.volume.io_bytes_max) * IO_TOKENS, bytes]
            }
            Op::Flush | Op::Discard | Op::Seek => [0, 0],
        }
    }

    fn service(&mut self, now: Instant, op: Op, tokens: [u64; 2]) -> Duration {
        if op == Op::Seek {
            // Nothing moves.
            return Duration::ZERO;
        }
        let busy = self.ended == Some(now);
        self.share = if busy { self.outstanding.max(1) } else { 1 };
        let share = Duration(self.volume.latency.0.div_ceil(self.share));
        let pairs = self.buckets.iter().zip(tokens);
        pairs
            .map(|(bucket, tokens)| bucket.least(now, tokens))
            .fold(share, Duration::max)
    }
}

impl Drive for CappedDrive {
    fn submit(&mut self, now: Instant, command: &Command) {
        assert!(self.running.is_none(), "the drive is busy");
        let tokens = self.tokens(command);
        let service = self.service(now, command.op, tokens);
        let until = now + service;
        for (bucket, tokens) in self.buckets.iter_mut().zip(tokens) {
            bucket.take(now, until, tokens);
        }
        self.running = Some((until, flat::done(command, service), command.fua));
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

    /// The limits are the volume's, and stay what they are: a command that had to wait for them may
    /// take no longer at all.
    fn lengthened(&self, took: Duration, factor: u32, extra: Duration) -> Duration {
        let alone = self.volume.latency.0.saturating_mul(factor.into());
        let slow = alone.saturating_add(extra.0).div_ceil(self.share);
        Duration(slow.saturating_sub(took.0))
    }

    fn volatile(&self, _now: Instant, out: &mut Vec<Unwritten>) {
        self.since_flush.volatile(out);
    }

    fn credits(&self, tell: &mut dyn FnMut(Credits)) {
        let of = [("commands", IO_TOKENS), ("MiB", MIB)];
        let have = self.buckets.iter().zip(of);
        let have = have.filter(|(bucket, _)| bucket.limit.room > 0);
        have.for_each(|(bucket, (unit, tokens))| tell(bucket.credits(unit, tokens)));
    }
}

const CREDITS_FULL: Knob = Knob::number(
    "credits_full",
    1.0,
    0.0..=1.0,
    "which share of the credits is there at the start",
);

pub(super) static KIND: Kind = Kind {
    name: "capped",
    summary: "a volume with limits of IOPS and bytes a second, with credits for bursts, as cloud volumes have",
    source: "Amazon EBS User Guide, General Purpose SSD volumes; Microsoft Azure documentation, Managed disk bursting",
    knobs: &[CREDITS_FULL, CACHE],
    measures: &[],
    read: |table, knobs| Ok(Box::new(CappedBlueprint::read(table, knobs)?)),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::IoId;
    use crate::registry::KnobValue;

    /// 100 commands a second, 1,000 in bursts, 5 credits; 1 MiB a second; 4 ms.
    const SMALL: &str = "
        kind = 'capped'
        capacity_blocks = 100_000
        latency_ms = 4.0
        io_kib_max = 256
        iops = { baseline = 100, burst = 1000, credits = 5 }
        mib = { baseline = 1 }
    ";

    fn blueprint(text: &str, full: f64) -> Result<CappedBlueprint, ConfigError> {
        let knobs = [("credits_full".to_owned(), KnobValue::Number(full))];
        let knobs = Knobs::check("capped", KIND.knobs, &knobs)?;
        CappedBlueprint::read(&text.parse().unwrap(), &knobs)
    }

    /// Microseconds that each of so many reads takes, one right behind the other, with so many
    /// outstanding.
    fn times(text: &str, full: f64, outstanding: u64, lengths: &[u64]) -> Vec<u64> {
        run(
            &mut *blueprint(text, full).unwrap().drive(),
            outstanding,
            lengths,
        )
    }

    fn run(drive: &mut dyn Drive, outstanding: u64, lengths: &[u64]) -> Vec<u64> {
        let mut now = Instant::ZERO;
        let mut times = Vec::new();
        for len in lengths {
            let command = Command {
                io: IoId(0),
                op: Op::Read,
                at: Pba(0),
                len: Blocks(*len),
                fua: false,
            };
            drive.submit(now, &command);
            let due = drive.next_event().unwrap();
            drive.outstanding(&mut || outstanding);
            assert!(drive.advance(due).is_some());
            times.push(due.since(now).0 / 1_000);
            now = due;
        }
        times
    }

    #[test]
    fn alone_it_takes_the_latency_until_credits_end() {
        // 4 ms earn 0.4 of the credit that each command costs: 5 credits last for 8 commands, then
        // 10 ms each.
        let found = times(SMALL, 1.0, 1, &[1; 11]);
        assert_eq!(found[..8], [4_000; 8]);
        assert_eq!(found[8..], [8_000, 10_000, 10_000]);
    }

    #[test]
    fn a_burst_goes_at_its_rate_then_at_the_baseline() {
        // The first finds the drive idle. 16 outstanding: 0.25 ms each by latency, 1 ms by the
        // burst rate.
        let found = times(SMALL, 1.0, 16, &[1; 9]);
        assert_eq!(
            found,
            [
                4_000, 1_000, 1_000, 1_000, 1_000, 2_000, 10_000, 10_000, 10_000
            ]
        );
    }

    #[test]
    fn without_credits_the_baseline_holds_from_the_start() {
        assert_eq!(times(SMALL, 0.0, 16, &[1; 3]), [10_000; 3]);
    }

    #[test]
    fn bytes_are_limited_too_and_long_commands_count_as_several() {
        // 512 KiB are half a second at 1 MiB/s; as I/Os they are two.
        assert_eq!(times(SMALL, 1.0, 16, &[1_024, 1_024]), [500_000; 2]);
        let fast = SMALL.replace("mib = { baseline = 1 }", "mib = { baseline = 1000 }");
        assert_eq!(times(&fast, 0.0, 16, &[1_024, 512]), [20_000, 10_000]);
    }

    fn credits(drive: &dyn Drive) -> Vec<Credits> {
        let mut told = Vec::new();
        drive.credits(&mut |credits| told.push(credits));
        told
    }

    #[test]
    fn it_tells_how_many_credits_were_spent() {
        let told = |full: f64, commands: u32| {
            let mut drive = blueprint(SMALL, full).unwrap().drive();
            run(&mut *drive, 16, &vec![1; commands as usize]);
            let [in_commands] = credits(&*drive)[..] else {
                panic!("it has one kind");
            };
            in_commands
        };
        let of = |spent: f64, left: f64, taken: f64| Credits {
            unit: "commands",
            spent,
            left,
            taken,
            baseline: 100.0,
        };
        assert_eq!(told(1.0, 0), of(0.0, 5.0, 0.0));
        // 4 ms and three times 1 ms earn 0.7 of the four that they cost.
        assert_eq!(told(1.0, 4), of(3.3, 1.7, 4.0));
        assert_eq!(told(1.0, 9), of(5.0, 0.0, 9.0));
        assert_eq!(told(0.0, 4), of(0.0, 0.0, 4.0));
        let flat = SMALL.replace(", burst = 1000, credits = 5", "");
        let knobs = Knobs::check("capped", KIND.knobs, &[]).unwrap();
        let flat = CappedBlueprint::read(&flat.parse().unwrap(), &knobs).unwrap();
        assert_eq!(credits(&*flat.drive()), []);
    }

    #[test]
    fn of_two_buckets_the_one_that_ends_first_is_told() {
        let both = SMALL
            .replace("io_kib_max = 256", "io_kib_max = 1024")
            .replace(
                "baseline = 1 }",
                "baseline = 1, burst = 1000, credits = 2 }",
            );
        let told = |len: u64| {
            let mut drive = blueprint(&both, 1.0).unwrap().drive();
            run(&mut *drive, 1, &[len]);
            let told = credits(&*drive);
            assert_eq!([told[0].unit, told[1].unit], ["commands", "MiB"]);
            Credits::first(told.into_iter()).unwrap().unit
        };
        // Of 5 commands and 2 MiB one and 1 MiB are taken, or one and hardly anything.
        assert_eq!([told(2_048), told(1)], ["MiB", "commands"]);
    }

    /// What takes nothing earns all the same, but a full bucket takes no more.
    #[test]
    fn no_more_credits_are_told_than_there_is_room_for() {
        let mut drive = blueprint(SMALL, 1.0).unwrap().drive();
        let flush = Command {
            io: IoId(0),
            op: Op::Flush,
            at: Pba(0),
            len: Blocks(0),
            fua: false,
        };
        drive.submit(Instant::ZERO, &flush);
        let told = credits(&*drive);
        assert!((told[0].left - 5.0).abs() < 1e-9, "{told:?}");
    }

    #[test]
    fn an_idle_time_earns_credits_up_to_their_limit() {
        let mut bucket = Bucket::new(
            Limit {
                rate: 100,
                burst: 1_000,
                room: 5 * NANO,
            },
            0.0,
        );
        assert_eq!(bucket.level(Instant(20_000_000)), 2 * NANO);
        assert_eq!(bucket.level(Instant(900_000_000)), 5 * NANO);
        bucket.take(Instant(900_000_000), Instant(901_000_000), 1);
        // 5 and 0.1 earned meanwhile, less 1.
        assert_eq!(bucket.level(Instant(901_000_000)), 41 * NANO / 10);
    }

    #[test]
    fn mistakes_are_named() {
        let error = |from: &str, to: &str| {
            assert!(SMALL.contains(from), "{from} is not in the sample");
            let changed = SMALL.replacen(from, to, 1);
            blueprint(&changed, 1.0).unwrap_err().to_string()
        };
        assert!(error("burst = 1000", "burst = 10").contains("iops.burst = 10 (allowed: 100 to"));
        assert!(error("burst = 1000, ", "").contains("iops.credits = 5"));
        assert!(error("baseline = 100", "baseline = 0").contains("iops.baseline = 0"));
        assert!(error("baseline = 1 ", "basline = 1 ").contains("did you mean `baseline`"));
        assert!(error("latency_ms = 4.0", "latency_ms = 0.0").contains("latency_ms = 0"));
        assert!(error("io_kib_max = 256", "io_kib_max = 0").contains("io_kib_max = 0"));
    }
}
