//! Transactions over drives: what is asked where, what is counted, how tables and ring keep
//! account, and what is refused.

use nearslot_core::config::{Assembly, DriveConfig, PartConfig, StackConfig};
use nearslot_core::contract::{Drive, Faults, Placement, Scheduler};
use nearslot_core::drive::catalog_text;
use nearslot_core::op::Op;
use nearslot_core::registry::ConfigError;
use nearslot_core::request::Request;
use nearslot_core::rng::Rng;
use nearslot_core::stack::Stack;
use nearslot_core::units::{Duration, Instant};

use super::journal::{Journal, Piece, Skip};
use super::tables::Tables;
use crate::memo::SHARED;
use crate::sim::{self, Control, Observer};
use crate::workload::{Below, LoadEnv, Synthetic, synthetic};

/// What a scheduler that lists places may be offered.
const PLACES_MAX: u64 = 100_000;

const DISK: &str = "hp-c2247a:model=mechanical:layout=ideal:overhead_ms=0.3";

/// Requests in the order in which they came, with the stream of each.
#[derive(Default)]
struct Asked(Vec<(u32, Request)>);

impl Observer for Asked {
    fn comes(&mut self, request: &Request, _: &Stack, _: &[Box<dyn Drive>]) {
        self.0.push((request.stream.0, *request));
    }
}

struct Served {
    asked: Vec<(u32, Request)>,
    measures: Vec<(&'static str, f64)>,
    end: Instant,
}

impl Served {
    fn number(&self, name: &str) -> f64 {
        let found = self.measures.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("no {name}")).1
    }

    fn tells(&self, name: &str) -> bool {
        self.measures.iter().any(|(known, _)| *known == name)
    }

    fn of(&self, stream: u32) -> Vec<Request> {
        let asked = self.asked.iter().filter(|(of, _)| *of == stream);
        asked.map(|(_, request)| *request).collect()
    }
}

fn stack_of(drive: &str, place: &str, word: &str) -> StackConfig {
    let part: PartConfig = drive.parse().unwrap();
    let text = catalog_text(&part.name).unwrap().to_owned();
    let mut config = StackConfig::over(DriveConfig { part, text }, 1)
        .with::<dyn Scheduler>(PartConfig::named("satf"))
        .with::<dyn Placement>(place.parse().unwrap());
    config.offered = word.contains("skip=ranges");
    config
}

fn made(drive: &str, place: &str, word: &str) -> Result<(Assembly, Synthetic), ConfigError> {
    made_of(stack_of(drive, place, word), place, word)
}

fn made_of(
    config: StackConfig,
    place: &str,
    word: &str,
) -> Result<(Assembly, Synthetic), ConfigError> {
    let (blueprint, identity) = config.drive()?;
    let assembly = config.build()?;
    let env = LoadEnv {
        seed: 1,
        label: "test",
        capacity: assembly.stack.capacity(),
        drive: Some(Below {
            memo: &SHARED,
            blueprint: &*blueprint,
            identity: &identity,
            place: place.split(':').next().unwrap(),
        }),
        places_max: PLACES_MAX,
    };
    let part = format!("tpcb:branches=1:{word}").parse()?;
    let (load, _) = synthetic(&part, &env)?;
    Ok((assembly, load))
}

fn served(drive: &str, place: &str, word: &str) -> Served {
    served_of(made(drive, place, word).unwrap())
}

fn served_of((mut assembly, mut load): (Assembly, Synthetic)) -> Served {
    let mut asked = Asked::default();
    let Assembly { stack, drives, .. } = &mut assembly;
    let workload = &mut *load.workload;
    let end = sim::run(stack, drives, workload, &mut asked, &Control::default());
    assert_eq!(stack.pending(), 0);
    let (key, measures) = workload.measures();
    assert_eq!(key, "workload");
    let measures = measures.into_iter();
    Served {
        asked: asked.0,
        measures: measures
            .map(|(name, number)| (name, number.value()))
            .collect(),
        end,
    }
}

const CLIENTS: u32 = 1;
const JOURNAL: u32 = 2;
const HOME: u32 = 3;

#[test]
fn a_transaction_writes_its_pages_behind_a_descriptor_and_then_a_commit_block() {
    let word = "transactions=40:journal_blocks=64:at_block=18:write_back_s=1000";
    let served = served(DISK, "linear", word);
    assert_eq!(served.number("transactions"), 40.0);
    assert_eq!(served.number("commits"), 40.0, "one client");
    assert!(served.of(CLIENTS).is_empty(), "all accounts are in memory");
    let mut at = 18;
    let mut left = 0;
    for request in served.of(JOURNAL) {
        assert_eq!((request.extent.start.0, request.op), (at, Op::Write));
        assert!(request.sync && !request.offered);
        // A descriptor and four pages, all of different tables; cut where the ring ends.
        let blocks = request.extent.len.0 / 8;
        let begun = if left == 0 { 5 } else { left };
        left = match begun {
            6 => 0,
            _ if begun == blocks => 6,
            _ => begun - blocks,
        };
        at += request.extent.len.0;
        at = if at == 18 + 64 * 8 { 18 } else { at };
    }
    assert_eq!(served.number("log_blocks"), 40.0 * 6.0);
    assert_eq!(served.number("log_wraps"), 3.0, "240 blocks of 64");
}

#[test]
fn a_ring_that_is_short_of_room_sends_pages_home_and_waits_for_them() {
    let word = "transactions=400:journal_blocks=64:clients=3:write_back_s=1000:write_back_depth=2";
    let tight = served(DISK, "linear", word);
    assert!(tight.number("log_wait_s") > 0.5, "{:?}", tight.measures);
    let pages = tight.of(HOME);
    assert_eq!(pages.len() as f64, tight.number("pages_home"));
    assert!(pages.len() > 200, "{} pages", pages.len());
    let tables = 128 * 9;
    let beyond = pages.iter().map(|page| page.extent.start.0 - tables);
    let end = Tables::pages(1, 403) * 8;
    assert!(beyond.max().unwrap() < end, "within the tables");
    let roomy = served(DISK, "linear", &word.replace("=64", "=8192"));
    assert_eq!(
        (roomy.number("log_wait_s"), roomy.number("pages_home")),
        (0.0, 0.0)
    );
    let aged = served(
        DISK,
        "linear",
        &word.replace("=64", "=8192").replace("=1000", "=1"),
    );
    assert!(aged.number("pages_home") > 200.0, "what is old goes home");
}

/// Pages cannot go home any more, so the journal never gets room again. It would wait for ever.
#[test]
fn a_journal_whose_pages_cannot_go_home_ends_when_it_needs_their_room() {
    let word = "transactions=400:journal_blocks=64:skip=null:write_back_s=1000";
    let config = stack_of(DISK, "linear", word)
        .with::<dyn Faults>("injected:gone_at_s=0.01".parse().unwrap());
    let served = served_of(made_of(config, "linear", word).unwrap());
    let committed = served.number("transactions");
    assert!((5.0..20.0).contains(&committed), "{committed}");
    assert!(served.number("failed") > 0.0);
    assert_eq!(served.number("gave_up"), 1.0);
    assert!(!served.tells("transactions_s"), "it is no rate of the load");
    let roomy = word.replace("=64", "=8192");
    let config = stack_of(DISK, "linear", &roomy)
        .with::<dyn Faults>("injected:gone_at_s=0.01".parse().unwrap());
    let served = served_of(made_of(config, "linear", &roomy).unwrap());
    assert_eq!(served.number("transactions"), 400.0, "nothing needs room");
    assert_eq!(served.number("gave_up"), 0.0);
    assert!(served.tells("transactions_s"), "all was committed");
}

#[test]
fn clients_who_come_during_a_commit_go_with_the_next() {
    let one = served(DISK, "linear", "transactions=300");
    let many = served(DISK, "linear", "transactions=300:clients=8");
    assert!(many.number("commits") < 300.0 / 3.0, "{:?}", many.measures);
    let gain = many.number("transactions_s") / one.number("transactions_s");
    assert!(gain > 2.0, "{gain} times");
    let rare = served(DISK, "linear", "transactions=100:clients=2:work_us=100000");
    let commits = rare.number("commits");
    assert!(
        commits > 75.0,
        "who comes to an idle journal waits for nobody: {commits}"
    );
    let null = served(DISK, "linear", "transactions=300:skip=null");
    assert!(null.of(JOURNAL).is_empty());
    // Half a millisecond of work, half a millisecond of wait.
    let rate = null.number("transactions_s");
    assert!((900.0..1_100.0).contains(&rate), "{rate} a second");
    assert_eq!(null.number("log_blocks"), one.number("log_blocks"));
}

#[test]
fn accounts_that_are_not_in_memory_are_read() {
    let served = served(DISK, "linear", "transactions=300:cached_share=0.5");
    let reads = served.of(CLIENTS);
    assert_eq!(reads.len() as f64, served.number("account_reads"));
    assert!((110..180).contains(&reads.len()), "{} reads", reads.len());
    let tables = (8_192 * 2 * 9_u64).next_multiple_of(8);
    for read in reads {
        let page = (read.extent.start.0 - tables) / 8;
        assert!(page < 2_500 && read.op == Op::Read, "page {page}");
    }
}

#[test]
fn ordered_pages_are_at_home_before_their_commit() {
    let word = "transactions=50:clients=2:data=ordered:write_back_s=1000";
    let served = served(DISK, "linear", word);
    let tables = (8_192 * 2 * 9_u64).next_multiple_of(8);
    let (mut pages, mut commits) = (0, 0);
    for (stream, request) in &served.asked {
        match *stream {
            HOME => {
                assert!(request.sync && request.extent.start.0 >= tables);
                pages += 1;
            }
            // A descriptor and the inodes, then a commit block.
            JOURNAL if request.extent.len.0 == 16 => {
                assert!((4..=6).contains(&pages), "{pages} pages before");
                (pages, commits) = (0, commits + 1);
            }
            JOURNAL => assert_eq!((request.extent.len.0, pages), (8, 0)),
            _ => panic!("{request:?}"),
        }
    }
    assert_eq!(f64::from(commits), served.number("commits"));
    assert_eq!(served.number("log_blocks"), served.number("commits") * 3.0);
}

#[test]
fn a_log_that_skips_loses_less_to_the_platter() {
    let word = "transactions=200:journal_blocks=1024";
    let rotation = |word: &str| {
        let served = served(DISK, "linear", word);
        let names = ["commit_block_rotation_ms", "data_rotation_ms"];
        (names.map(|name| served.number(name)), served)
    };
    let (none, none_run) = rotation(word);
    // A turn is 11.1 ms; 0.5 ms of wait and 0.3 ms before the arm moves have gone by.
    assert!((9.5..11.1).contains(&none[0]), "{none:?}");
    let fine =
        ":think_step_us=100:think_max_ms=20:skip_step_blocks=1:skip_max_blocks=200:repeats=2";
    let (profile, skipping) = rotation(&format!("{word}:skip=profile{fine}"));
    assert!(profile[0] < 1.5 && profile[1] < 1.5, "{profile:?}");
    assert!((0.5..30.0).contains(&skipping.number("skipped_blocks")));
    assert_eq!(skipping.number("cut_writes"), 0.0);
    let wraps = skipping.number("log_wraps");
    assert_eq!(wraps, 1.0, "1,200 blocks of 1,024");
    assert_eq!(skipping.number("free_blocks"), 1024.0, "all are mapped");
    let (ranges, offering) = rotation(&format!("{word}:skip=ranges"));
    assert!(ranges[0] < 0.5 && ranges[1] < 0.5, "{ranges:?}");
    let offered = offering.of(JOURNAL);
    assert!(offered.iter().all(|request| request.offered));
    for quicker in [&skipping, &offering] {
        assert!(quicker.end.0 * 10 < none_run.end.0 * 7);
    }
}

/// Both copies of a write wait for their platters at the same time, so together for longer than it
/// takes.
#[test]
fn copies_that_are_written_side_by_side_wait_no_longer_than_the_write_takes() {
    let mirrored = served(DISK, "mirror:foreground=2", "transactions=50");
    let alone = served(DISK, "linear", "transactions=50");
    for write in ["commit_block", "data"] {
        let [all, waits] = ["", "_rotation"].map(|part| format!("{write}{part}_ms"));
        let [all, waits] = [mirrored.number(&all), mirrored.number(&waits)];
        assert!(waits > 0.0 && waits < all, "{write}: {waits} of {all}");
    }
    // The later of two turns is waited for.
    let took = |served: &Served| served.number("commit_block_ms");
    assert!(took(&mirrored) >= took(&alone));
}

#[test]
fn a_journal_has_the_first_of_two_drives_for_itself() {
    let capacity = 2_054_864;
    for skip in ["none", "profile:think_max_ms=2", "null"] {
        let word =
            format!("transactions=100:journal=own:cached_share=0:write_back_s=0.1:skip={skip}");
        let served = served(DISK, "concat:disks=2", &word);
        let (journal, others) = (served.of(JOURNAL), [served.of(CLIENTS), served.of(HOME)]);
        assert!(
            journal
                .iter()
                .all(|request| request.extent.end().0 <= capacity)
        );
        let others = others.concat();
        let first = others.iter().map(|request| request.extent.start.0).min();
        assert!(first.unwrap() >= capacity / 2, "{first:?}");
        assert_eq!(journal.is_empty(), skip == "null");
    }
}

const CACHED: &str = "hitachi-7200-90mb";

/// Drive, placement, settings, and what is said of them.
const REFUSED: &[(&str, &str, &str, &str)] = &[
    (
        DISK,
        "linear",
        "skip=ranges:journal_blocks=60000",
        "skip = ranges (allowed: none, profile or null: it offers up to 120000 places",
    ),
    (
        DISK,
        "linear",
        "space=3",
        "space = 3 (allowed: beside skip=profile or skip=ranges",
    ),
    (
        DISK,
        "linear",
        "skip=ranges:repeats=2",
        "repeats = 2 (allowed: beside skip=profile",
    ),
    (
        DISK,
        "linear",
        "think_max_ms=1",
        "think_max_ms = 1 (allowed: beside skip=profile",
    ),
    (
        DISK,
        "linear",
        "force=true",
        "force = true (allowed: where the journal writes, on a drive with a write cache",
    ),
    (
        CACHED,
        "linear",
        "skip=null:force=false",
        "force = false (allowed: where the journal writes",
    ),
    (
        DISK,
        "linear",
        "journal=own",
        "journal = own (allowed: same, or place=concat",
    ),
    (
        DISK,
        "stripe:disks=2",
        "skip=profile",
        "skip = profile (allowed: none or null: the table is of a drive, and place=stripe",
    ),
    (
        DISK,
        "linear",
        "at_block=2054000",
        "at_block = 2054000 (allowed: at most ",
    ),
    (
        DISK,
        "linear",
        "transactions=100000000",
        "branches = 1 (allowed: so many that tables and history have room",
    ),
    (
        DISK,
        "linear",
        "clients=20:journal_blocks=100",
        "journal_blocks = 100 (allowed: at least 328, four commits",
    ),
    (
        DISK,
        "linear",
        "skip=profile:journal_blocks=64:skip_max_blocks=1153",
        "skip_max_blocks = 1153 (allowed: at most 1144, within the region",
    ),
    (
        DISK,
        "linear",
        "skip=profile:think_step_us=1:skip_step_blocks=1",
        "think_step_us = 1 (allowed: steps that make at most 20000000 entries",
    ),
];

#[test]
fn what_has_no_effect_or_does_not_fit_is_refused() {
    for (drive, place, word, expected) in REFUSED {
        let error = made(drive, place, word)
            .err()
            .unwrap_or_else(|| panic!("{word}"));
        assert!(error.to_string().contains(expected), "{word}: {error}");
    }
    assert!(made(CACHED, "linear", "force=false").is_ok());
}

/// Pages of tables of two branches: accounts, tellers, branches, history.
#[test]
fn tables_lie_one_behind_the_other() {
    let tables = Tables::new(2, Duration(10));
    let mut rng = Rng::stream(1, "test/tables");
    for number in 0..1_000 {
        assert!(tables.account(&mut rng) < 5_000);
        let others = tables.others(&mut rng, number);
        assert_eq!(others, [5_000, 5_001, 5_002 + number / 81]);
    }
    assert_eq!(Tables::pages(2, 82), 5_004);
    // 50 branches have 500 tellers on 13 pages, and rows of their own on two.
    let tables = Tables::new(50, Duration(10));
    let all = (0..1_000).map(|_| tables.others(&mut rng, 0));
    let (mut teller, mut branch) = (Vec::new(), Vec::new());
    for [first, second, history] in all {
        teller.push(first - 125_000);
        branch.push(second - 125_013);
        assert_eq!(history, 125_015);
    }
    let range = |pages: &[u64]| (*pages.iter().min().unwrap(), *pages.iter().max().unwrap());
    assert_eq!((range(&teller), range(&branch)), ((0, 12), (0, 1)));
}

#[test]
fn a_page_that_is_changed_on_its_way_home_stays_dirty() {
    let at = Instant;
    let mut tables = Tables::new(1, Duration(10));
    assert_eq!(tables.committed(at(0), 7, 0), None);
    assert_eq!(
        tables.committed(at(5), 7, 1),
        Some(0),
        "part of a later commit"
    );
    tables.look(at(9));
    assert_eq!(tables.next(), None, "not old yet");
    tables.look(at(10));
    assert_eq!((tables.next(), tables.next()), (Some(7), None));
    assert_eq!(tables.committed(at(12), 7, 2), Some(1));
    assert_eq!(tables.home(7), None, "an older version is at home");
    assert!(tables.has(7));
    tables.look(at(21));
    assert_eq!(tables.next(), None, "dirty since 12");
    tables.look(at(22));
    assert_eq!(tables.next(), Some(7));
    assert_eq!((tables.home(7), tables.has(7)), (Some(2), false));
}

#[test]
fn pages_go_home_in_order_of_address_around_and_around() {
    let mut tables = Tables::new(1, Duration(10));
    for page in [5, 1, 9] {
        tables.committed(Instant(0), page, 0);
    }
    tables.look(Instant(10));
    assert_eq!(tables.next(), Some(1));
    assert_eq!(tables.next(), Some(5));
    tables.committed(Instant(11), 3, 1);
    tables.committed(Instant(11), 7, 2);
    tables.force(0, 1);
    assert_eq!(
        [tables.next(), tables.next(), tables.next()],
        [Some(9), Some(3), None]
    );
    tables.force(1, 2);
    assert_eq!(
        tables.next(),
        None,
        "looked for once, until the oldest commit is a later one"
    );
    tables.force(2, 2);
    assert_eq!(tables.next(), Some(7));
    tables.failed(Instant(12), 7);
    assert!(tables.has(7));
    tables.look(Instant(22));
    assert_eq!(tables.next(), Some(7), "tried again when it is old");
}

/// A ring of ten blocks: a commit's blocks are free when all pages of it and of those before are.
#[test]
fn blocks_of_a_commit_are_free_when_those_before_are() {
    let mut journal = Journal::new(10, 0, 11, Skip::None);
    assert_eq!(journal.next(3)[..], [0..3; 1]);
    assert_eq!(journal.committed(3, 2), 0);
    assert_eq!(journal.next(5)[..], [3..8; 1]);
    assert_eq!(journal.committed(5, 1), 1);
    assert!(journal.has_room(2) && !journal.has_room(3) && journal.is_short());
    assert_eq!(journal.oldest_half(), 1, "three blocks are less than half");
    journal.released(1);
    assert!(!journal.has_room(3), "the first commit is needed");
    journal.released(0);
    journal.released(0);
    assert!(journal.has_room(10));
    assert_eq!(journal.oldest(), 2);
    assert_eq!(journal.next(4), [8..10, 0..2]);
    assert_eq!(journal.counts.wraps, 1);
    let mut part = 8..10;
    let piece = journal.place(Instant(0), &mut part).unwrap();
    assert!(matches!(piece, Piece::Own { at: 64, blocks: 2 }) && part.is_empty());
    assert_eq!(journal.extent(&piece), (64, 16));
}
