//! Random sequences over a medium that is looked at after every write: A10, A11 and D10 of the
//! study, and that nothing is lost.

use std::ops::Range;
use std::sync::Arc;

use nearslot_core::rng::Rng;

use super::acts::Refused;
use super::files::Key;
use super::flush::{Ended, Goes};
use super::medium::{Medium, Met};
use super::runs_tests::drawn;
use super::shape::{BYTES, Shape};
use super::{FileSystem, Offering, ROOT, Settings};

/// How a sequence goes.
struct Habits {
    offering: Offering,
    ordered: bool,
    fails: f64,
    /// Bytes of most appends, and of a few.
    bytes: (u64, u64),
    steps: u64,
    depth: usize,
    fill: f64,
}

/// What happened, with what was wrong on the medium at some instant.
struct Ran {
    files: FileSystem,
    medium: Medium,
    refused: u64,
}

/// Files and directories by number.
pub(super) struct Names {
    pub(super) files: Vec<u32>,
    pub(super) directories: Vec<u32>,
}

fn file_system(habits: &Habits, rng: &mut Rng) -> FileSystem {
    let group = [128, 256][rng.below(2) as usize];
    let shape = Shape::new(group, 3 * group).unwrap();
    let settings = Settings {
        offering: habits.offering.clone(),
        ordered: habits.ordered,
        request_blocks: 1 + rng.below(9),
        cache_blocks: 20 + rng.below(100),
        log: None,
    };
    FileSystem::new(shape, settings, habits.fill, rng)
}

fn run(seed: u64, habits: &Habits) -> Ran {
    let rng = &mut Rng::stream(seed, "filesystem");
    let mut files = file_system(habits, rng);
    let mut medium = Medium::of(&files);
    medium.begin_with(&files);
    let mut names = Names {
        files: Vec::new(),
        directories: vec![ROOT],
    };
    let mut refused = 0;
    for _ in 0..habits.steps {
        if !files.is_full_of_dirt() && rng.chance(0.5) {
            refused += u64::from(act(&mut files, &mut names, habits.bytes, rng).is_err());
        }
        step(&mut files, &mut medium, habits, rng);
        if habits.offering != Offering::None {
            files.groups.check();
        }
    }
    while !files.is_clean() || medium.len() > 0 {
        let before = medium.len();
        step(&mut files, &mut medium, habits, rng);
        assert!(
            before > 0 || medium.len() > 0,
            "seed {seed}: something hangs; {} blocks want a place, {} are free",
            files.reserved,
            files.groups.free()
        );
    }
    Ran {
        files,
        medium,
        refused,
    }
}

/// Something is done to a file.
pub(super) fn act(
    files: &mut FileSystem,
    names: &mut Names,
    bytes: (u64, u64),
    rng: &mut Rng,
) -> Result<(), Refused> {
    let one_of = |rng: &mut Rng, all: &[u32]| all[rng.below(all.len() as u64) as usize];
    let process = rng.below(20);
    let parent = one_of(rng, &names.directories);
    let most = match rng.chance(0.1) {
        true => bytes.1,
        false => bytes.0,
    };
    let bytes = 1 + rng.below(most);
    if names.files.is_empty() || rng.chance(0.3) {
        let file = files.make(process, parent, false)?;
        names.files.push(file);
        return files.write(file, 0, bytes);
    }
    let index = rng.below(names.files.len() as u64) as usize;
    let file = names.files[index];
    match rng.below(8) {
        0 => names.directories.push(files.make(process, parent, true)?),
        1..4 => {
            files.remove(file);
            names.files.swap_remove(index);
        }
        4 | 5 => files.write(file, files.bytes(file), bytes)?,
        6 => {
            // What it has stays where it is.
            let before = files.files[file as usize].blocks.clone();
            let from = rng.below(files.bytes(file) + 1);
            files.write(file, from, (files.bytes(file) - from).max(1))?;
            let after = &files.files[file as usize].blocks;
            assert!(
                before
                    .iter()
                    .zip(after)
                    .all(|(before, after)| before == after)
            );
        }
        _ => {
            let blocks = files.files[file as usize].blocks.len() as u64;
            let missing = files.missing(file);
            assert!(missing.iter().map(|(_, len)| len).sum::<u64>() <= blocks);
        }
    }
    Ok(())
}

/// A write is sent, if one may be, or one ends.
fn step(files: &mut FileSystem, medium: &mut Medium, habits: &Habits, rng: &mut Rng) {
    let sends = medium.len() < habits.depth && (medium.len() == 0 || rng.chance(0.6));
    let going = sends.then(|| files.next_write()).flatten();
    match going {
        Some(going) => medium.send(files, going),
        None if medium.len() > 0 => medium.end_one(files, rng, habits.fails),
        None => {}
    }
}

/// When nothing is under way, room is kept for what has no place, and for nothing else.
fn check_reserved(files: &FileSystem) {
    let live = (0..).zip(&files.files).filter(|(_, file)| file.live);
    let keys = live.flat_map(|(number, file)| file.keys(number).map(|key| file.at(key)));
    let without = keys.filter(Option::is_none).count() as u64;
    assert_eq!(files.reserved, without);
    assert!(files.reserved <= files.groups.free());
}

/// Everything that files have is on the medium where they have it, and all else is free.
fn check_whole(ran: &Ran, free_before: u64) {
    let Ran { files, medium, .. } = ran;
    assert_eq!((files.reserved, files.freeing), (0, 0));
    files.groups.check_open();
    let mut taken = 0;
    for (number, file) in (0..).zip(&files.files).filter(|(_, file)| file.live) {
        for key in file.keys(number) {
            let at = file.at(key).expect("it was written");
            assert!(medium.has(key, at), "{key:?} is not at {at}");
            taken += 1;
        }
    }
    assert_eq!(
        files.groups.free(),
        free_before + 1 - taken,
        "some are lost"
    );
}

fn habits(offering: Offering, seed: u64) -> Habits {
    Habits {
        offering,
        ordered: false,
        fails: 0.0,
        bytes: [(4 * BYTES, 30 * BYTES), (2 * BYTES, 12 * BYTES)][seed as usize % 2],
        steps: 700,
        depth: [1, 4, 16, 40][seed as usize % 4],
        fill: [0.0, 0.5, 0.9][seed as usize % 3],
    }
}

/// One of all offers.
fn offered(number: u64, seed: u64) -> Offering {
    match number % 3 {
        0 => Offering::MiniGroup,
        1 => Offering::Group,
        _ => {
            let rng = &mut Rng::stream(seed, "skips");
            Offering::Runs(Arc::new(drawn(rng, 600)))
        }
    }
}

fn free_at_first(seed: u64, habits: &Habits) -> u64 {
    let rng = &mut Rng::stream(seed, "filesystem");
    file_system(habits, rng).groups.free()
}

#[test]
fn a_power_cut_at_any_instant_leaves_what_is_consistent() {
    let mut all = Met::default();
    let (mut refused, mut widened, mut halved) = (0, 0, 0);
    for seed in 0..72 {
        let offering = offered(seed / 12, seed);
        let habits = habits(offering, seed);
        let ran = run(seed, &habits);
        assert_eq!(ran.medium.wrong, Vec::<String>::new(), "seed {seed}");
        check_whole(&ran, free_at_first(seed, &habits));
        let met = &ran.medium.met;
        all.landed += met.landed;
        all.exhausted += met.exhausted;
        all.pointers += met.pointers;
        all.bits += met.bits;
        refused += ran.refused;
        widened += ran.files.counts.widened;
        halved += ran.files.counts.halved;
    }
    let counts = [
        all.landed,
        all.exhausted,
        all.pointers,
        all.bits,
        refused,
        widened,
        halved,
    ];
    println!("landed, exhausted, pointers, bits, refused, widened, halved: {counts:?}");
    let least = [5_000, 10, 1_000, 1_000, 100, 100, 10];
    assert_at_least(&counts, &least);
}

/// Seeds of lives from this one on: so many in the tests of every day; `NEARSLOT_LIVES` says how
/// many.
pub(super) fn lives(first: u64, daily: u64) -> Range<u64> {
    let told = std::env::var("NEARSLOT_LIVES").ok();
    let count = told.map_or(daily, |lives| lives.parse().expect("a number"));
    first..first + count
}

/// That lives met what they were to meet, each so often.
pub(super) fn assert_at_least(counts: &[u64], least: &[u64]) {
    assert_eq!(counts.len(), least.len());
    let mut both = counts.iter().zip(least);
    assert!(both.all(|(count, least)| count >= least), "{counts:?}");
}

#[test]
fn writes_that_fail_leave_what_is_consistent_as_well() {
    let mut failed = 0;
    for seed in lives(100, 40) {
        let habits = Habits {
            fails: 0.1,
            ..habits(offered(seed, seed), seed)
        };
        let ran = run(seed, &habits);
        assert_eq!(ran.medium.wrong, Vec::<String>::new(), "seed {seed}");
        check_reserved(&ran.files);
        failed += ran.medium.met.failed;
    }
    assert!(failed > 500, "{failed}");
}

#[test]
fn without_offers_it_writes_in_any_order_as_ext2_does() {
    let mut wrong = 0;
    for seed in 200..212 {
        let habits = habits(Offering::None, seed);
        let ran = run(seed, &habits);
        wrong += ran.medium.wrong.len();
        assert_eq!((ran.medium.met.landed, ran.medium.met.exhausted), (0, 0));
        check_whole(&ran, free_at_first(seed, &habits));
    }
    // So the look at the medium sees what is wrong.
    assert!(wrong > 1_000, "{wrong}");
}

#[test]
fn without_offers_pointers_may_be_in_order_all_the_same() {
    let (mut ordered, mut unordered) = (0, 0);
    for seed in 300..312 {
        for (is_ordered, count) in [(true, &mut ordered), (false, &mut unordered)] {
            let habits = Habits {
                ordered: is_ordered,
                ..habits(Offering::None, seed)
            };
            let ran = run(seed, &habits);
            check_whole(&ran, free_at_first(seed, &habits));
            assert!(ran.files.absent.is_empty());
            // A pointer to what was never written; blocks that have another owner soon are another
            // matter.
            *count += ran
                .medium
                .wrong
                .iter()
                .filter(|wrong| wrong.contains("where None does"))
                .count();
        }
    }
    assert!(ordered == 0 && unordered > 1_000, "{ordered} {unordered}");
}

#[test]
fn files_with_indirect_blocks_of_both_kinds_are_written_from_the_leaves_up() {
    let shape = Shape::new(4_096, 2 * 4_096).unwrap();
    let settings = Settings {
        offering: Offering::Group,
        ordered: false,
        request_blocks: 32,
        cache_blocks: 8_000,
        log: None,
    };
    let rng = &mut Rng::stream(1, "filesystem");
    let mut files = FileSystem::new(shape, settings, 0.0, rng);
    let before = files.groups.free();
    let mut medium = Medium::of(&files);
    medium.begin_with(&files);
    let file = files.make(3, ROOT, false).unwrap();
    files.write(file, 0, 2_500 * BYTES).unwrap();
    let habits = Habits {
        steps: 0,
        ..habits(Offering::Group, 2)
    };
    while !files.is_clean() {
        step(&mut files, &mut medium, &habits, rng);
    }
    let ran = Ran {
        files,
        medium,
        refused: 0,
    };
    assert_eq!(ran.medium.wrong, Vec::<String>::new());
    assert_eq!(ran.files.files[file as usize].indirect.len(), 4);
    check_whole(&ran, before);
}

#[test]
fn a_classic_file_lies_in_one_piece_from_the_mini_group_of_its_process_on() {
    let shape = Shape::new(512, 1_024).unwrap();
    let settings = Settings {
        offering: Offering::None,
        ordered: false,
        request_blocks: 32,
        cache_blocks: 1_000,
        log: None,
    };
    let mut files = FileSystem::new(shape, settings, 0.0, &mut Rng::stream(1, "filesystem"));
    let file = files.make(18, ROOT, false).unwrap();
    files.write(file, 0, 14 * BYTES).unwrap();
    // Mini-group 2 of 32 blocks each; the indirect block stands before what it points to.
    let places: Vec<u64> = files.files[file as usize]
        .blocks
        .iter()
        .flatten()
        .copied()
        .collect();
    assert_eq!(
        places,
        [(64..76).collect::<Vec<u64>>(), vec![77, 78]].concat()
    );
    assert_eq!(files.files[file as usize].indirect, [Some(76)]);
}

/// A block that could not be written has its room as long as its file has it, so nobody else may
/// fill the volume up before it changes again.
#[test]
fn a_block_that_could_not_be_written_keeps_its_room_on_a_full_volume() {
    for offering in [Offering::MiniGroup, Offering::Group] {
        let shape = Shape::new(128, 128).unwrap();
        let settings = Settings {
            offering,
            ordered: false,
            request_blocks: 1,
            cache_blocks: 1_000,
            log: None,
        };
        let rng = &mut Rng::stream(1, "filesystem");
        let mut files = FileSystem::new(shape, settings, 0.0, rng);
        let [lost, other] = [0, 1].map(|_| files.make(0, ROOT, false).unwrap());
        files.write(lost, 0, BYTES).unwrap();
        write_all(&mut files, Some(Key::Data(lost, 0)));
        // Everything that is left is taken.
        let mut written = 0;
        while files.write(other, written, BYTES).is_ok() {
            written += BYTES;
        }
        write_all(&mut files, None);
        assert_eq!((files.groups.free(), files.reserved), (1, 1));
        // It changes, and there is a place for it.
        files.write(lost, 0, BYTES).unwrap();
        write_all(&mut files, None);
        assert!(files.is_clean() && files.files[lost as usize].blocks[0].is_some());
        assert_eq!((files.groups.free(), files.reserved), (0, 0));
    }
}

/// Everything is written that may go, one after another, each to the first place that it is
/// offered; but this block cannot be written.
fn write_all(files: &mut FileSystem, bad: Option<Key>) {
    while let Some(going) = files.next_write() {
        let at = match &going.goes {
            Goes::To(at) => *at,
            Goes::Within(runs, ..) => runs[0].start,
            Goes::Into(windows) => windows.runs[0].start,
            Goes::Log(_) | Goes::Checkpoint(_) => panic!("it is no log"),
        };
        let how = match bad == Some(going.blocks[0].0) {
            true => Ended::Failed,
            false => Ended::At(at),
        };
        files.ended(going, how);
    }
}
