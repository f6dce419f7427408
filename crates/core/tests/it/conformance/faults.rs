//! What goes wrong on drives: the same for the same question, whatever was asked before; and what
//! it costs, written out.

use std::collections::BTreeSet;
use std::sync::Arc;

use nearslot_core::config::{DriveConfig, PartConfig, StackConfig};
use nearslot_core::contract::{Drive, Faults};
use nearslot_core::drive::faulty;
use nearslot_core::fault::{BadRun, CELL, Decay, Fate};
use nearslot_core::faults::TABLE;
use nearslot_core::ids::{DriveId, IoId};
use nearslot_core::io::{Command, DriveDone};
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::registry::{ConfigError, FaultsEnv, Forgetful, KnobValue};
use nearslot_core::rng::Rng;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

use super::drives::SSD;
use crate::support::DISK;

/// A part of every name, at work.
const PARTS: &[&str] = &[
    "none",
    "injected:latent_per_tib=4000000:latent_run_blocks=7:latent_within_s=9:rot_per_tib=4000000:timeout_share=0.1:\
     lost_share=0.1:misdirected_share=0.1:torn_share=0.1:slow_factor=3:slow_share=0.5:slow_drive=1:gone_at_s=5:gone_drive=2",
    "injected:drive=1:torn_share=0.5",
];

const CAPACITY: Blocks = Blocks(100_000);

/// What goes wrong on so many drives.
fn over(drives: u16, word: &str, seed: u64) -> Result<Arc<dyn Faults>, ConfigError> {
    let part: PartConfig = word.parse()?;
    let built = part.build::<dyn Faults>(&FaultsEnv {
        seed,
        label: "faults",
        drives,
        capacity: CAPACITY,
    });
    built.map(Arc::from)
}

fn build(word: &str, seed: u64) -> Result<Arc<dyn Faults>, ConfigError> {
    over(3, word, seed)
}

/// What goes wrong on a drive that is alone.
fn build_alone(word: &str) -> Arc<dyn Faults> {
    over(1, word, 1).expect("it is valid")
}

fn made(word: &str) -> Arc<dyn Faults> {
    build(word, 1).unwrap_or_else(|error| panic!("{word}: {error}"))
}

fn command(op: Op, at: u64, len: u64) -> Command {
    Command {
        io: IoId(3),
        op,
        at: Pba(at),
        len: Blocks(len),
        fua: false,
    }
}

/// A question.
#[derive(Clone, Copy)]
struct Question(DriveId, Instant, Command);

/// What is answered to it.
#[derive(PartialEq, Debug)]
struct Answer(bool, Instant, Fate, [Option<BadRun>; 2]);

fn ask(faults: &dyn Faults, Question(drive, began, command): Question) -> Answer {
    let bad = Decay::ALL.map(|decay| faults.bad_run(drive, decay, command.at.0 / CELL));
    let fate = faults.fate(drive, began, &command);
    Answer(faults.concern(drive), faults.gone_from(drive), fate, bad)
}

fn questions() -> Vec<Question> {
    let mut rng = Rng::stream(9, "questions");
    let one = |_| {
        let op = if rng.chance(0.5) { Op::Read } else { Op::Write };
        let len = 1 + rng.below(40);
        let command = command(op, rng.below(CAPACITY.0 - len), len);
        let began = Instant(rng.below(10_000_000_000));
        Question(DriveId(rng.below(3) as u16), began, command)
    };
    (0..3_000).map(one).collect()
}

#[test]
fn faults_are_a_pure_function_of_seed_drive_command_and_time() {
    let names = PARTS.iter().map(|word| word.split(':').next());
    assert!(
        TABLE
            .iter()
            .all(|spec| names.clone().any(|name| name == Some(spec.name)))
    );
    let questions = questions();
    for word in PARTS {
        let (faults, other) = (made(word), made(word));
        let answers: Vec<Answer> = questions.iter().map(|one| ask(&*faults, *one)).collect();
        // From the last to the first, each twice, of another one.
        for (question, answer) in questions.iter().zip(&answers).rev() {
            assert_eq!(ask(&*other, *question), *answer, "{word}");
            assert_eq!(ask(&*other, *question), *answer, "{word}");
        }
        let of_seed = build(word, 2).expect("it was built with another seed");
        let differ =
            |(question, answer): &(&Question, &Answer)| ask(&*of_seed, **question) != **answer;
        let differing = questions.iter().zip(&answers).filter(differ).count();
        assert_eq!(differing > 100, *word != "none", "{word}: {differing}");
    }
    // What happens on one drive says nothing of another one.
    let of = |drive| {
        let runs = (0..500).map(|cell| made(PARTS[1]).bad_run(DriveId(drive), Decay::Rotten, cell));
        runs.collect::<Vec<_>>()
    };
    assert_ne!(of(0), of(1));
    // Nor what happens at one instant of another one.
    let torn = made(PARTS[2]);
    let write = command(Op::Write, 0, 64);
    let fates = (0..100).map(|at| torn.fate(DriveId(1), Instant(at), &write).written);
    assert!(fates.collect::<BTreeSet<_>>().len() > 20);
}

#[test]
fn what_happens_is_within_what_was_asked_for() {
    let faults = made(PARTS[1]);
    let (mut fates, mut slow) = ([0; 4], 0);
    for question in questions() {
        let Question(drive, _, command) = question;
        let Answer(_, _, fate, bad) = ask(&*faults, question);
        assert!(fate.written <= command.len, "{fate:?}");
        assert!(fate.lands.0 + command.len.0 <= CAPACITY.0, "{fate:?}");
        let reads = command.op == Op::Read;
        assert!(!reads || fate.lands == command.at, "a read goes astray");
        let index = match (fate.status, fate.lands == command.at, fate.written.0) {
            (Status::Failed(failure), ..) => {
                assert_eq!(failure, Failure::TimedOut);
                0
            }
            (_, false, written) => {
                assert_eq!(written, command.len.0);
                1
            }
            (.., 0) => 2,
            (.., written) => 3 * usize::from(!reads && written < command.len.0),
        };
        fates[index] += 1;
        assert!(fate.factor == 1 || fate.factor == 3 && drive == DriveId(1));
        slow += u64::from(fate.factor > 1);
        for run in bad.into_iter().flatten() {
            let cell = command.at.0 / CELL;
            assert!(run.blocks.start >= cell * CELL, "{run:?}");
            assert!(run.blocks.end <= (cell + 1) * CELL, "{run:?}");
            let len = run.blocks.end - run.blocks.start;
            assert!(len == 7 || len == 1 && run.from == Instant::ZERO, "{run:?}");
        }
    }
    // A tenth of the writes each, but that single blocks are not torn; the first number counts all
    // that are well, too.
    for (name, count) in ["astray", "lost", "torn"].into_iter().zip(&fates[1..]) {
        assert!(
            (100..200).contains(count),
            "{count} of 1,500 writes are {name}"
        );
    }
    assert!((400..600).contains(&slow), "{slow} of 1,000 are slow");
    let astray = made("injected:misdirected_share=1");
    let nearly_all = command(Op::Write, 1, CAPACITY.0 - 2);
    let lands = |at: u64| astray.fate(DriveId(0), Instant(at), &nearly_all).lands.0;
    assert_eq!(
        (0..99).map(lands).collect::<BTreeSet<_>>(),
        BTreeSet::from([0, 2])
    );
    let only = made(PARTS[2]);
    assert_eq!(
        [0, 1, 2].map(|drive| only.concern(DriveId(drive))),
        [false, true, false]
    );
}

/// A drive that takes 5 ms for everything.
fn flat(word: &str) -> Box<dyn Drive> {
    flat_of("5000.0", word)
}

/// The same with so many microseconds for a command.
fn flat_of(service_us: &str, word: &str) -> Box<dyn Drive> {
    drive_of(
        format!("kind = 'null'\ncapacity_blocks = 100_000\nservice_us = {service_us}"),
        word,
    )
}

/// The drive that a text describes, on which this goes wrong.
fn drive_of(text: String, word: &str) -> Box<dyn Drive> {
    let drive = DriveConfig {
        part: PartConfig::named("of the test"),
        text,
    };
    let config = StackConfig::over(drive, 1).with::<dyn Faults>(word.parse().expect("well formed"));
    config.build().expect("it is valid").drives.remove(0)
}

/// What becomes of a command that begins then, and when.
fn carry_out(drive: &mut dyn Drive, at: Instant, command: &Command) -> (f64, DriveDone) {
    drive.submit(at, command);
    loop {
        let due = drive.next_event().expect("it does something");
        if let Some(done) = drive.advance(due) {
            assert_eq!(due.since(at), done.cost.total());
            return (done.cost.total().as_ms(), done);
        }
    }
}

const MS: u64 = 1_000_000;

#[test]
fn what_goes_wrong_takes_its_time() {
    let read = command(Op::Read, 0, 128);
    let bad = "injected:latent_per_tib=16777216:tries_ms=70";
    let of = |word: &str, at: u64, command: &Command| {
        let (took, done) = carry_out(&mut *flat(word), Instant(at * MS), command);
        (took, done.status.failure())
    };
    assert_eq!(of(bad, 0, &read), (75.0, Some(Failure::Medium)));
    assert_eq!(
        of(
            bad,
            0,
            &Command {
                op: Op::Write,
                ..read
            }
        ),
        (5.0, None)
    );
    let stays = format!("{bad}:latent_mend=false");
    let write = Command {
        op: Op::Write,
        ..read
    };
    assert_eq!(of(&stays, 0, &write), (75.0, Some(Failure::Medium)));
    let late = "injected:timeout_share=1:timeout_ms=30";
    assert_eq!(of(late, 0, &read), (30.0, Some(Failure::TimedOut)));
    assert_eq!(
        of("injected:timeout_share=1:timeout_ms=3", 0, &read),
        (5.0, Some(Failure::TimedOut))
    );
    let flush = Command {
        op: Op::Flush,
        at: Pba(0),
        len: Blocks(0),
        ..read
    };
    assert_eq!(of(late, 0, &flush), (5.0, None));
    let slow = "injected:slow_factor=3:slow_add_ms=1.5:slow_from_s=0.2";
    assert_eq!(of(slow, 199, &read), (5.0, None));
    assert_eq!(of(slow, 200, &read), (16.5, None));
    assert_eq!(
        of(&format!("{slow}:timeout_share=1:timeout_ms=20"), 200, &read),
        (20.0, Some(Failure::TimedOut))
    );
}

#[test]
fn a_drive_that_is_gone_fails_what_it_does_at_once_and_the_rest_at_its_turn() {
    let read = command(Op::Read, 0, 8);
    let gone = Some(Failure::Gone);
    for word in [
        "injected:gone_at_s=0.1",
        "injected:gone_at_s=0.1:slow_factor=9",
    ] {
        let drive = &mut *flat(word);
        let mut of = |at: u64, command: &Command| {
            let (took, done) = carry_out(drive, Instant(at * MS), command);
            (took, done.status.failure())
        };
        let factor = if word.contains("slow") { 9.0 } else { 1.0 };
        assert_eq!(of(0, &read), (5.0 * factor, None));
        assert_eq!(of(97, &read), (3.0, gone), "in the middle of it");
        assert_eq!(of(100, &read), (0.1, gone));
        assert_eq!(
            of(900, &Command::seek(Pba(7))),
            (0.1, gone),
            "an arm moves nowhere"
        );
    }
    // It ends just in time, or just not.
    let ends_then = |word| {
        carry_out(&mut *flat(word), Instant(95 * MS), &read)
            .1
            .status
    };
    assert_eq!(
        ends_then("injected:gone_at_s=0.1"),
        Status::Failed(Failure::Gone)
    );
    assert_eq!(ends_then("injected:gone_at_s=0.100000001"), Status::Done);
}

#[test]
fn bad_sectors_are_read_again_once_they_are_written() {
    let drive = &mut *flat("injected:latent_per_tib=16777216:latent_within_s=1:tries_ms=0");
    let mut ends = |at: u64, command: &Command| {
        carry_out(drive, Instant(at * MS), command)
            .1
            .status
            .is_done()
    };
    let cell = |op| command(op, 128, 128);
    assert!(ends(1_500, &cell(Op::Write)));
    assert!(ends(1_600, &cell(Op::Read)), "it is mended");
    assert!(
        !ends(1_700, &command(Op::Read, 256, 128)),
        "the next one is not"
    );
    // What is written before it goes bad goes bad all the same.
    let drive = &mut *flat("injected:latent_per_tib=16777216:latent_within_s=1000:tries_ms=0");
    let mut ends = |at: u64, command: &Command| {
        carry_out(drive, Instant(at * MS), command)
            .1
            .status
            .is_done()
    };
    assert!(ends(0, &cell(Op::Write)), "it is written");
    assert!(ends(10, &cell(Op::Read)), "and can be read");
    assert!(!ends(1_000_000, &cell(Op::Read)));
}

/// The measures of a drive that are not 0.
fn told(drive: &dyn Drive) -> Vec<(&'static str, u64)> {
    let mut told = Vec::new();
    drive.tell_faults(&mut |measure, number| told.push((measure.name, number)));
    told.retain(|(_, number)| *number > 0);
    told
}

#[test]
fn what_no_drive_tells_is_counted() {
    let after = |word: &str, commands: &[Command]| {
        let drive = &mut *flat(word);
        for (index, command) in commands.iter().enumerate() {
            let (_, done) = carry_out(drive, Instant(index as u64 * 100 * MS), command);
            assert!(done.status.is_done());
        }
        told(drive)
    };
    let (read, write) = (command(Op::Read, 0, 8), command(Op::Write, 0, 8));
    let lost = after(
        "injected:lost_share=1",
        &[read, write, read, command(Op::Read, 7, 3)],
    );
    assert_eq!(
        lost,
        [
            ("lost_writes", 1),
            ("wrong_reads", 2),
            ("wrong_blocks_read", 9)
        ]
    );
    let all = command(Op::Read, 0, 100_000);
    let astray = after("injected:misdirected_share=1", &[write, read, all]);
    assert_eq!(
        astray,
        [
            ("misdirected_writes", 1),
            ("wrong_reads", 2),
            ("wrong_blocks_read", 24)
        ]
    );
    let torn = after(
        "injected:torn_share=1",
        &[write, command(Op::Read, 0, 1), command(Op::Read, 7, 1)],
    );
    assert_eq!(
        torn,
        [
            ("torn_writes", 1),
            ("wrong_reads", 1),
            ("wrong_blocks_read", 1)
        ]
    );
    assert!(after("injected:torn_share=1", &[command(Op::Write, 0, 1), read]).is_empty());
    let rotten = after(
        "injected:rot_per_tib=16777216",
        &[
            command(Op::Read, 0, 256),
            command(Op::Write, 0, 128),
            command(Op::Read, 0, 256),
        ],
    );
    assert_eq!(rotten, [("wrong_reads", 2), ("wrong_blocks_read", 3)]);
    let slow = after("injected:slow_add_ms=0.5", &[read, write, read]);
    assert_eq!(slow, [("delayed", 3), ("delay_ms", 1)]);
}

/// A drive is busy until a command has ended, however short its host's patience.
#[test]
fn a_time_out_within_the_service_is_counted() {
    for (timeout_ms, late) in [(0.001, 2), (50.0, 0)] {
        let drive = &mut *flat(&format!("injected:timeout_share=1:timeout_ms={timeout_ms}"));
        for at in [0, 100] {
            carry_out(drive, Instant(at * MS), &command(Op::Read, 0, 8));
        }
        let counted = told(drive);
        let found = counted.iter().find(|(name, _)| *name == "late_time_outs");
        let found = found.map_or(0, |(_, count)| *count);
        assert_eq!(found, late, "{timeout_ms} ms");
    }
}

/// Every sector is rotten in one place of a cell and cannot be read in another one; what a write
/// has put there that failed is well.
#[test]
fn what_a_write_has_left_that_failed_is_as_good_as_any() {
    let word = "injected:rot_per_tib=16777216:latent_per_tib=16777216:latent_mend=false:tries_ms=0:timeout_share=0.5:\
                timeout_ms=5";
    let (drive, faults) = (&mut *flat(word), build_alone(word));
    let mut now = Instant::ZERO;
    let mut left = [0, 0];
    for cell in 0..200 {
        let block = |decay| {
            let run = faults.bad_run(DriveId(0), decay, cell);
            run.expect("each has one").blocks.start
        };
        let (bad, rotten) = (block(Decay::Unreadable), block(Decay::Rotten));
        let write = command(Op::Write, cell * CELL, CELL);
        let fate = faults.fate(DriveId(0), now, &write);
        let (took, done) = carry_out(drive, now, &write);
        assert!(!done.status.is_done());
        let timed_out = done.status == Status::Failed(Failure::TimedOut);
        let behind = match timed_out {
            true => cell * CELL + fate.written.0,
            false => bad,
        };
        now += Duration::from_ms_f64(took);
        if rotten == bad {
            continue;
        }
        let before = told(drive);
        let read = command(Op::Read, rotten, 1);
        while !carry_out(drive, now, &read).1.status.is_done() {
            now += Duration::from_ms(5);
        }
        now += Duration::from_ms(5);
        let wrong = |told: &[(&str, u64)]| {
            told.iter()
                .find(|(name, _)| *name == "wrong_reads")
                .map_or(0, |found| found.1)
        };
        assert_eq!(
            wrong(&told(drive)) - wrong(&before),
            u64::from(rotten >= behind),
            "{cell}"
        );
        left[usize::from(timed_out)] += u64::from(rotten < behind);
    }
    assert!(left.iter().all(|count| *count > 20), "{left:?}");
}

#[test]
fn a_healthy_drive_is_left_as_it_is() {
    let faults = made("injected:gone_at_s=1:gone_drive=2");
    let bare = flat("none");
    let address = std::ptr::from_ref(&*bare).cast::<()>();
    let same = faulty::around(bare, &faults, DriveId(0), false);
    assert_eq!(std::ptr::from_ref(&*same).cast::<()>(), address);
}

/// A thousand seconds, a million times as long, are thirty years: clocks would be at their end
/// after some commands.
#[test]
fn a_slow_drive_takes_no_more_than_a_year_longer() {
    let mut drive = flat_of("1e9", "injected:slow_factor=1000000");
    let command = Command {
        io: IoId(1),
        op: Op::Read,
        at: Pba(0),
        len: Blocks(8),
        fua: false,
    };
    let year_ms = 365.0 * 86_400_000.0;
    let (ms, _) = carry_out(&mut *drive, Instant::ZERO, &command);
    assert_eq!(ms, 1e6 + year_ms);
}

/// Drives that serve several commands at a time give each a share of the time as long as the next
/// one comes at once: also where the one before was told later than it ended.
#[test]
fn a_slow_drive_serves_many_at_a_time_as_before() {
    let capped = "kind = 'capped'\ncapacity_blocks = 100_000\nlatency_ms = 3.2\nio_kib_max = 256\n\
        iops = { baseline = 100_000, burst = 100_000, credits = 1000 }\n\
        mib = { baseline = 10_000, burst = 10_000, credits = 1000 }";
    let bins = [(1, 3.2), (32, 0.1)].map(|(outstanding, ms)| {
        format!(
            "[[bins]]\nop = 'any'\nblocks = 8\noutstanding = {outstanding}\n\
             quantiles = [[0.0, {ms}], [1.0, {ms}]]\n"
        )
    });
    let measured = format!(
        "kind = 'empirical'\ncapacity_blocks = 100_000\nflush_ms = 1.0\n{}",
        bins.concat()
    );
    for text in [capped, &measured] {
        // How long a command takes by itself, and one of 32.
        for (faults, alone, of_32) in [
            ("none", 3.2, 0.1),
            ("injected:slow_factor=2", 6.4, 0.2),
            ("injected:slow_add_ms=6.4", 9.6, 0.3),
            ("injected:slow_factor=3:slow_add_ms=3.2", 12.8, 0.4),
        ] {
            let mut drive = drive_of(text.to_owned(), faults);
            let mut now = Instant(MS);
            for number in 0..10 {
                drive.outstanding(&mut || 32);
                let read = command(Op::Read, number * 8, 8);
                let (ms, _) = carry_out(&mut *drive, now, &read);
                // The first one finds it idle.
                let expected = if number == 0 { alone } else { of_32 };
                assert!((ms - expected).abs() < 1e-3, "{faults}, {number}: {ms}");
                now += Duration::from_ms_f64(ms);
            }
        }
    }
}

/// What limits a volume is not the drives below it.
#[test]
fn a_slow_volume_is_still_limited_as_before() {
    let capped = "kind = 'capped'\ncapacity_blocks = 100_000\nlatency_ms = 1.0\nio_kib_max = 256\n\
        iops = { baseline = 100, burst = 100, credits = 1 }\n\
        mib = { baseline = 10_000, burst = 10_000, credits = 1000 }";
    let rate = |faults: &str| {
        let mut drive = drive_of(capped.to_owned(), faults);
        let mut now = Instant(MS);
        for number in 0..300 {
            drive.outstanding(&mut || 4);
            let (ms, _) = carry_out(&mut *drive, now, &command(Op::Read, number * 8, 8));
            now += Duration::from_ms_f64(ms);
        }
        300.0 / (now.0 as f64 / 1e9)
    };
    let limit = rate("none");
    assert!((99.0..102.0).contains(&limit), "{limit}");
    for faults in ["injected:slow_factor=8", "injected:slow_add_ms=20"] {
        assert!(
            (rate(faults) - limit).abs() < 1.5,
            "{faults}: {}",
            rate(faults)
        );
    }
    // Four at a time of 100 ms each.
    assert!((rate("injected:slow_factor=100") - 40.0).abs() < 1.0);
}

/// Chance is drawn for each command anew, however long before the faults begin that have an instant
/// of their own.
#[test]
fn at_the_outset_there_is_only_what_has_no_instant_of_its_own() {
    let (drive, seek) = (DriveId(0), Command::seek(Pba(8)));
    let hour = Instant(3_600_000 * MS);
    let outset = |word| build_alone(word).at_outset();
    let later = outset("injected:gone_at_s=2:slow_factor=3:slow_from_s=1").expect("they begin");
    assert_eq!(later.gone_from(drive), Instant::NEVER);
    assert_eq!(later.fate(drive, hour, &seek).factor, 1);
    let at_once = outset("injected:gone_at_s=1:slow_factor=3").expect("it begins");
    assert_eq!(at_once.fate(drive, hour, &seek).factor, 3);
    assert!(outset("injected:gone_at_s=0").is_none());
    let whole = "injected:timeout_share=0.2:gone_at_s=7200";
    let (before, whole) = (outset(whole).expect("it begins"), build_alone(whole));
    let read = command(Op::Read, 0, 8);
    let fates = |faults: &dyn Faults| -> Vec<Fate> {
        let instants = (0..1_000).map(|number| Instant(number * MS));
        instants
            .map(|began| faults.fate(drive, began, &read))
            .collect()
    };
    let drawn = fates(&*before);
    assert_eq!(drawn, fates(&*whole));
    let failed = drawn.iter().filter(|fate| !fate.status.is_done()).count();
    assert!((150..250).contains(&failed), "{failed} of 1,000");
}

/// A disk with or without protection information, in a run in which this goes wrong.
fn protected(drive: &str, text: &str, faults: &str) -> Result<StackConfig, String> {
    let drive = DriveConfig {
        part: drive.parse().unwrap(),
        text: text.to_owned(),
    };
    let config = StackConfig::over(drive, 5).with::<dyn Faults>(faults.parse().unwrap());
    let built = config.build().map_err(|error| error.to_string())?;
    Ok(built.effective)
}

#[test]
fn protection_is_named_when_it_is_on_and_refused_where_it_has_no_effect() {
    let rot = "injected:rot_per_tib=1000";
    let named = |config: StackConfig| {
        let mut knobs = config.drive.part.knobs.into_iter();
        knobs.find(|(name, _)| name == "protection")
    };
    let on = protected("x:protection=on", DISK, rot).unwrap();
    assert_eq!(named(on).unwrap().1, KnobValue::Text("on".to_owned()));
    for drive in ["x", "x:protection=off"] {
        assert_eq!(named(protected(drive, DISK, rot).unwrap()), None);
    }
    let refused = protected("x:protection=on", DISK, "none").unwrap_err();
    assert!(refused.contains("as nothing goes wrong"), "{refused}");
    for idle in [
        "gone_at_s=50",
        "slow_factor=2",
        "lost_share=0.1",
        "torn_share=0.1",
        "timeout_share=0.1",
        "latent_per_tib=5",
    ] {
        let refused = protected("x:protection=on", DISK, &format!("injected:{idle}")).unwrap_err();
        assert!(
            refused.contains("protection = on (allowed: off, as nothing goes wrong that it sees"),
            "{idle}: {refused}"
        );
    }
    for seen in ["rot_per_tib=5:gone_at_s=50", "misdirected_share=0.1"] {
        let faults = format!("injected:{seen}");
        let config = StackConfig::over(
            DriveConfig {
                part: "x:protection=on".parse().unwrap(),
                text: DISK.to_owned(),
            },
            5,
        );
        let config = config.with::<dyn Faults>(faults.parse().unwrap());
        assert!(config.build().is_ok(), "{seen}");
        assert!(config.build_under_pressure(&Forgetful).is_ok(), "{seen}");
    }
    let null = "kind = 'null'\ncapacity_blocks = 2_400\nservice_us = 5000.0";
    let refused = protected("x:protection=on", null, rot).unwrap_err();
    assert!(refused.contains("protection"), "{refused}");
}

#[test]
fn a_setting_without_an_effect_is_refused_with_what_it_needs() {
    let beside = |what: &str| format!("(allowed: beside {what}, without which it has no effect)");
    let latent = beside("latent_per_tib above 0");
    let slow = beside("slow_factor above 1 or slow_add_ms above 0");
    for (word, complaint) in [
        ("gone_at_s=1:gone_drive=3", "gone_drive = 3 (allowed: a drive that there is: 0 to 2)".to_owned()),
        ("slow_factor=2:slow_drive=9", "slow_drive = 9 (allowed: a drive that there is: 0 to 2)".to_owned()),
        ("lost_share=1:drive=3", "drive = 3 (allowed: a drive that there is: 0 to 2)".to_owned()),
        ("second_gone_at_s=1", format!("second_gone_at_s = 1 {}", beside("gone_at_s"))),
        ("gone_at_s=1:second_gone_drive=2", format!("second_gone_drive = 2 {}", beside("second_gone_at_s"))),
        ("gone_at_s=1:second_gone_at_s=2:second_gone_drive=0", "second_gone_drive = 0 (allowed: another drive than gone_drive)".to_owned()),
        ("lost_share=1:gone_drive=1", format!("gone_drive = 1 {}", beside("gone_at_s"))),
        ("lost_share=1:latent_run_blocks=2", format!("latent_run_blocks = 2 {latent}")),
        ("lost_share=1:latent_within_s=2", format!("latent_within_s = 2 {latent}")),
        ("lost_share=1:latent_mend=false", format!("latent_mend = false {latent}")),
        ("lost_share=1:tries_ms=2", format!("tries_ms = 2 {latent}")),
        ("lost_share=1:rot_within_s=2", format!("rot_within_s = 2 {}", beside("rot_per_tib above 0"))),
        ("lost_share=1:timeout_ms=2", format!("timeout_ms = 2 {}", beside("timeout_share above 0"))),
        ("lost_share=1:slow_share=0.5", format!("slow_share = 0.5 {slow}")),
        ("lost_share=1:slow_from_s=5", format!("slow_from_s = 5 {slow}")),
        ("lost_share=1:slow_drive=1", format!("slow_drive = 1 {slow}")),
        ("slow_factor=2:slow_share=0", "slow_share = 0 (allowed: more than 0, as no command would be slow)".to_owned()),
        ("gone_at_s=1:drive=1", format!("drive = 1 {}", beside("a rate or a share above 0"))),
        ("gone_at_s=soon", "gone_at_s = soon (allowed: never, or a number from 0 to 320000000)".to_owned()),
        ("lost_share=0.7:torn_share=0.4", "timeout_share + lost_share + misdirected_share + torn_share = 1.1 (allowed: at most 1, as one command has one of these fates)".to_owned()),
    ] {
        let error = build(&format!("injected:{word}"), 1).err().map(|error| error.to_string());
        assert_eq!(error, Some(format!("injected.{complaint}")), "{word}");
    }
    let error = build("injected", 1)
        .err()
        .expect("nothing goes wrong")
        .to_string();
    assert!(
        error.starts_with(
            "faults = injected (allowed: with something that goes wrong: latent_per_tib,"
        ),
        "{error}"
    );
}

#[test]
fn what_is_to_go_wrong_on_a_drive_that_is_gone_is_refused_with_what_is_allowed() {
    let alone = "gone_at_s = 0 (allowed: more than 0 beside a rate or a share above 0: there is one drive, and nothing more goes wrong with \
                 one that is gone)";
    for (drives, word, complaint) in [
        (
            3,
            "gone_at_s=5:slow_factor=2:slow_from_s=5",
            "slow_from_s = 5 (allowed: less than gone_at_s = 5, or any beside a slow_drive other than 0: drive 0 is gone from 5 s on and is never slow)",
        ),
        (
            3,
            "gone_at_s=0:slow_factor=2",
            "slow_drive = 0 (allowed: a number from 0 to 2 other than 0: drive 0 is gone from 0 s on and is never slow)",
        ),
        (
            3,
            "gone_at_s=0:lost_share=1:drive=0",
            "drive = 0 (allowed: all, or a number from 0 to 2 other than gone_drive = 0: nothing more goes wrong with a drive that is gone from the begin on)",
        ),
        (
            3,
            "gone_at_s=0:second_gone_at_s=4:slow_factor=2:slow_drive=1:slow_from_s=5",
            "slow_from_s = 5 (allowed: less than second_gone_at_s = 4, or any beside a slow_drive other than 1: drive 1 is gone from 4 s on and is never slow)",
        ),
        (
            1,
            "gone_at_s=0:slow_add_ms=2:slow_from_s=9",
            "slow_drive = 0 (allowed: no slow drive at all: drive 0 is gone from 0 s on and is never slow)",
        ),
        (
            1,
            "gone_at_s=5:slow_factor=2:slow_from_s=9",
            "slow_from_s = 9 (allowed: less than gone_at_s = 5: drive 0 is gone from 5 s on and is never slow)",
        ),
        (1, "gone_at_s=0:lost_share=1", alone),
        (1, "gone_at_s=0:lost_share=1:drive=0", alone),
    ] {
        let error = over(drives, &format!("injected:{word}"), 1)
            .err()
            .map(|error| error.to_string());
        assert_eq!(error, Some(format!("injected.{complaint}")), "{word}");
    }
    for (drives, word) in [
        (3, "gone_at_s=5:slow_factor=2:slow_from_s=4"),
        (3, "gone_at_s=5:slow_factor=2:slow_from_s=9:slow_drive=1"),
        (3, "gone_at_s=1:lost_share=1:drive=0"),
        (3, "gone_at_s=0:gone_drive=1:lost_share=1:drive=0"),
        (3, "gone_at_s=0:lost_share=1"),
        (1, "gone_at_s=0"),
        (1, "gone_at_s=1:lost_share=1"),
    ] {
        assert!(
            over(drives, &format!("injected:{word}"), 1).is_ok(),
            "{word}"
        );
    }
}

/// What eight reads that come together end as, and when, in order: the number of each,
/// microseconds, whether it failed.
fn ends_of_eight(word: &str) -> Vec<(u32, u64, Option<Failure>)> {
    let mut drive = drive_of(SSD.to_owned(), word);
    for io in 0..8 {
        let read = command(Op::Read, u64::from(io) * 8, 8);
        drive.submit(
            Instant::ZERO,
            &Command {
                io: IoId(io),
                ..read
            },
        );
    }
    let mut ends = Vec::new();
    while ends.len() < 8 {
        let due = drive.next_event().expect("eight are to end");
        if let Some(done) = drive.advance(due) {
            assert_eq!(Instant::ZERO + done.cost.total(), due);
            ends.push((done.io.0, due.0 / 1_000, done.status.failure()));
        }
    }
    ends
}

#[test]
fn commands_that_a_drive_has_together_go_wrong_one_by_one() {
    let sound = ends_of_eight("none");
    // Twice as slow is twice as late, in the same order, as each counts from when it came.
    let slow = ends_of_eight("injected:slow_factor=2");
    let late = |(io, due, failure): &(u32, u64, Option<Failure>)| (*io, due * 2, *failure);
    for (slow, sound) in slow.iter().zip(sound.iter().map(late)) {
        assert_eq!((slow.0, slow.2), (sound.0, sound.2));
        assert!(slow.1.abs_diff(sound.1) <= 1, "{slow:?} {sound:?}");
    }
    // When the drive goes, what has ended has ended, and the rest fails at once, the oldest first.
    let third = sound[2].1;
    let gone = ends_of_eight(&format!("injected:gone_at_s={}", (third + 1) as f64 / 1e6));
    assert_eq!(gone[..3], sound[..3]);
    let mut left: Vec<u32> = sound[3..].iter().map(|(io, ..)| *io).collect();
    left.sort_unstable();
    let failed = gone[3..]
        .iter()
        .map(|(io, due, failure)| (*io, *due, *failure));
    let expected = left.iter().map(|io| (*io, third + 1, Some(Failure::Gone)));
    assert!(failed.eq(expected), "{gone:?} of {sound:?}");
}
