//! Write caches: what a drive says that a power cut would lose, and what flushes and forced writes
//! leave of it.

use nearslot_core::config::{DriveConfig, PartConfig, StackConfig};
use nearslot_core::contract::{Blueprint, Drive, Placement};
use nearslot_core::drive;
use nearslot_core::ids::IoId;
use nearslot_core::io::{Command, DriveDone, Unwritten, WriteCache};
use nearslot_core::op::Op;
use nearslot_core::registry::KnobValue;
use nearslot_core::request::Request;
use nearslot_core::rng::Rng;
use nearslot_core::stack::{Action, Input};
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

use super::drives::{CAPPED, EMPIRICAL, SSD};
use crate::support::{DISK, NULL, carry_out, complete_disk};

const CAPACITY: u64 = 12_800;

/// A drive with a setting of its cache.
fn with_cache(text: &str, word: &str) -> Result<Box<dyn Blueprint>, String> {
    let knobs = [("cache".to_owned(), KnobValue::parse(word))];
    let read = drive::read("of the test", text, &knobs);
    read.map(|(blueprint, _)| blueprint)
        .map_err(|error| error.to_string())
}

/// A drive and the time.
struct Bench {
    drive: Box<dyn Drive>,
    now: Instant,
}

impl Bench {
    fn new(blueprint: &dyn Blueprint) -> Bench {
        Bench {
            drive: blueprint.drive(),
            now: Instant::ZERO,
        }
    }

    fn run(&mut self, op: Op, at: u64, len: u64, fua: bool) -> DriveDone {
        let command = Command {
            io: IoId(1),
            op,
            at: Pba(at),
            len: Blocks(len),
            fua,
        };
        carry_out(&mut *self.drive, &mut self.now, &command)
    }

    /// What the power would take `later` from now.
    fn volatile(&self, later: Duration) -> Vec<Unwritten> {
        let mut out = Vec::new();
        self.drive.volatile(self.now + later, &mut out);
        out
    }

    /// How many blocks of these it would take now.
    fn lost(&self, at: u64, len: u64) -> u64 {
        let found = self.volatile(Duration::ZERO);
        let of = |run: &Unwritten| {
            let (first, end) = (run.at.0.max(at), (run.at + run.len).0.min(at + len));
            end.saturating_sub(first)
        };
        found.iter().map(of).sum()
    }
}

/// Random commands with pauses; `each` sees the drive after each, which was the last one, and where
/// it went.
fn work(bench: &mut Bench, seed: u64, mut each: impl FnMut(&mut Bench, Op, bool, u64, u64)) {
    let mut rng = Rng::stream(seed, "caches");
    for _ in 0..1_500 {
        let (at, len) = (rng.below(CAPACITY - 40), 1 + rng.below(40));
        let fua = rng.chance(0.2);
        let (op, at, len, fua) = match rng.below(10) {
            0 => (Op::Flush, 0, 0, false),
            1..4 => (Op::Read, at, len, false),
            _ => (Op::Write, at, len, fua),
        };
        bench.run(op, at, len, fua);
        each(bench, op, fua, at, len);
        if rng.chance(0.5) {
            bench.now += Duration(rng.below(30_000_000));
        }
    }
}

#[test]
fn a_flush_leaves_nothing_and_a_forced_write_is_safe() {
    let buffered = complete_disk();
    for text in [&*buffered, EMPIRICAL, CAPPED, SSD] {
        let blueprint = with_cache(text, "volatile").unwrap();
        assert_eq!(blueprint.cache(), WriteCache::Volatile);
        let mut listed = 0;
        work(
            &mut Bench::new(&*blueprint),
            3,
            |bench, op, fua, at, len| match op {
                Op::Flush => assert_eq!(bench.volatile(Duration::ZERO), []),
                // Drives without mechanics name all blocks, as they do not know which.
                Op::Write if fua && (text == buffered || text == SSD) => {
                    assert_eq!(bench.lost(at, len), 0);
                }
                Op::Write if !fua => listed += u64::from(bench.lost(at, len) > 0),
                _ => {}
            },
        );
        assert!(listed > 400, "{listed} writes could be lost");
    }
}

#[test]
fn nothing_is_lost_without_a_cache_or_with_a_protected_one() {
    let buffered = complete_disk();
    for (text, word) in [
        (DISK, "off"),
        (NULL, "off"),
        (&*buffered, "off"),
        (&*buffered, "protected"),
        (EMPIRICAL, "off"),
        (EMPIRICAL, "protected"),
        (CAPPED, "protected"),
        (SSD, "off"),
        (SSD, "protected"),
    ] {
        let blueprint = with_cache(text, word).unwrap();
        assert_eq!(blueprint.cache().name(), word);
        work(&mut Bench::new(&*blueprint), 4, |bench, _, _, _, _| {
            assert_eq!(bench.volatile(Duration::ZERO), [], "{word}: {text}");
        });
    }
}

/// The cache empties by itself while the drive rests, and a flush ends when it has done so.
#[test]
fn a_flush_takes_until_the_cache_would_be_empty_by_itself() {
    let blueprint = with_cache(&complete_disk(), "volatile").unwrap();
    let (mut flushed, mut resting) = (Bench::new(&*blueprint), Bench::new(&*blueprint));
    let mut rng = Rng::stream(5, "caches");
    let mut waited = 0;
    for _ in 0..400 {
        let (at, len) = (rng.below(CAPACITY - 40), 1 + rng.below(40));
        for bench in [&mut flushed, &mut resting] {
            bench.run(Op::Write, at, len, false);
        }
        let before = flushed.now;
        let took = flushed.run(Op::Flush, 0, 0, false).cost.total();
        assert_eq!(flushed.now, before + took);
        // 0.54 ms are the overhead of a command after a write.
        let overhead = Duration::from_us(540);
        assert!(took >= overhead, "{took}");
        assert_eq!(resting.volatile(took), []);
        if took > overhead {
            waited += 1;
            let a_little_before = Duration(took.0 - 1);
            assert_ne!(resting.volatile(a_little_before), []);
        }
        let mut last = u64::MAX;
        for eighth in 0..8 {
            let found = resting.volatile(Duration(took.0 / 8 * eighth));
            let blocks: u64 = found.iter().map(|run| run.len.0).sum();
            assert!(blocks <= last, "the cache fills while the drive rests");
            last = blocks;
        }
        flushed.now += Duration::from_ms(40);
        resting.now = flushed.now;
        resting.run(Op::Flush, 0, 0, false);
        flushed.run(Op::Flush, 0, 0, false);
    }
    assert!(waited > 300, "{waited} flushes waited for the medium");
}

#[test]
fn what_a_forced_write_costs() {
    let text = complete_disk();
    let bench = |word| Bench::new(&*with_cache(&text, word).unwrap());
    let time = |word, fua| bench(word).run(Op::Write, 4_000, 8, fua).cost.total();
    // As much as a write of a drive that has no cache; nothing more where the cache is safe.
    assert_eq!(time("volatile", true), time("off", false));
    assert_eq!(time("volatile", false), time("protected", true));
    assert!(time("volatile", true) > time("volatile", false) + Duration::from_ms(1));
    let flush = |word| {
        let mut bench = bench(word);
        bench.run(Op::Write, 4_000, 8, false);
        bench.run(Op::Flush, 0, 0, false).cost.total()
    };
    assert_eq!(flush("off"), Duration::from_us(540));
    assert_eq!(flush("protected"), Duration::from_us(540));
    assert!(flush("volatile") > Duration::from_ms(1));
    let empirical = |fua| {
        let blueprint = with_cache(EMPIRICAL, "volatile").unwrap();
        let mut bench = Bench::new(&*blueprint);
        bench.run(Op::Write, 0, 8, fua).cost.total()
    };
    assert_eq!(empirical(true), empirical(false) + Duration::from_ms(1));
}

#[test]
fn a_cache_that_has_no_effect_is_refused() {
    let refused = |text: &str, word: &str| with_cache(text, word).err().unwrap();
    let buffered = complete_disk();
    for (text, word, says) in [
        (
            NULL,
            "volatile",
            "(allowed: auto or off, as the drive has no cache)",
        ),
        (
            DISK,
            "protected",
            "(allowed: auto or off, as only arm and platters",
        ),
        (
            &*buffered.replace("'any'", "'none'"),
            "volatile",
            "(allowed: auto or off, as the drive's file says write_behind = none)",
        ),
        (
            &*buffered,
            "unknown",
            "(allowed: auto or volatile, off, protected,",
        ),
        (
            &*buffered,
            "on",
            "(allowed: one of auto, off, volatile, protected,",
        ),
        (
            &*EMPIRICAL.replacen("[[bins]]", "cache = 'off'\n[[bins]]", 1),
            "volatile",
            "(allowed: auto or off, as the drive's file says which cache",
        ),
    ] {
        let error = refused(text, word);
        assert!(error.contains(&format!("cache = {word}")), "{error}");
        assert!(error.contains(says), "{error}");
    }
    assert_eq!(
        with_cache(EMPIRICAL, "auto").unwrap().cache(),
        WriteCache::Unknown
    );
    assert_eq!(
        with_cache(&buffered, "auto").unwrap().cache(),
        WriteCache::Volatile
    );
}

#[test]
fn what_a_forced_request_waits_for_is_forced() {
    for place in [
        "linear",
        "stripe",
        "concat",
        "mirror:foreground=2",
        "sr_array:stripe_kib=8",
        "eager",
        "ew_array:dm=2:stripe_kib=8:map=log",
        "eager:map=log:home=drive",
        "distorted_mirror:stripe_kib=8:map=virtual_log",
    ] {
        for fua in [true, false] {
            let drive = DriveConfig {
                part: PartConfig::named("of the test"),
                text: complete_disk(),
            };
            let config = StackConfig::over(drive, 5);
            let config = config.with::<dyn Placement>(place.parse().unwrap());
            let mut stack = config.build().unwrap().stack;
            let request = Request {
                fua,
                ..Request::new(1, Op::Write, 0, 8, Instant::ZERO)
            };
            stack.input(Instant::ZERO, Input::Submit(request));
            // A map that survives must not name what a power cut may take.
            let forced = fua || place.contains("map=");
            let mut writes = 0;
            let mut actions = Vec::new();
            stack.take_actions(&mut actions);
            for action in actions {
                if let Action::Start {
                    command, origin, ..
                } = action
                    && origin.request.is_some()
                {
                    assert_eq!((command.op, command.fua), (Op::Write, forced), "{place}");
                    writes += 1;
                }
            }
            assert!(writes > 0, "{place}");
        }
    }
}
