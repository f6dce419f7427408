//! The file system over whole stacks: what goes where, that all of it is written, and that drives
//! which fail end a run all the same.

use std::collections::BTreeSet;

use nearslot_core::op::{Op, Status};
use nearslot_core::request::{Reply, Request};
use nearslot_core::units::Instant;
use nearslot_lab::grid;
use nearslot_lab::outcome::Run;
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::{self, Control, Observer};
use nearslot_lab::warning::{Warning, WarningKind};
use nearslot_lab::workload::{LoadEnv, synthetic};

const DRIVE: &str = "hp-c2247a:model=mechanical:layout=ideal";
/// Blocks of 512 bytes of a group, and of what is at its front, if it has 1,024 blocks.
const GROUP: u64 = 8 * 1_024;
const FRONT: u64 = 8 * 12;

fn run(drive: &str, parts: &str, load: &str) -> Run {
    let text = format!("drive = '{drive}'\nworkload = 'filesystem:{load}'\n{parts}");
    let scenario = Scenario::from_toml(&text, std::path::Path::new(".")).unwrap();
    let points = grid::points(&scenario, &[]).unwrap();
    let results = compare(&points, None, &Wanted::default(), &Control::default());
    results.unwrap().runs.swap_remove(0)
}

fn number(run: &Run, name: &str) -> f64 {
    run.measure("filesystem", name).unwrap().value()
}

/// Requests by where they go: offered ones that have landed, and others.
#[derive(Default)]
struct Watch {
    landed: BTreeSet<u64>,
    offered: u64,
    fixed: u64,
    again: u64,
}

impl Observer for Watch {
    fn arrived(&mut self, _now: Instant, request: &Request) {
        let (at, extent) = (request.extent.start.0, request.extent);
        assert!(at.is_multiple_of(8) && extent.len.0.is_multiple_of(8));
        match (request.op, request.offered) {
            (Op::Write, true) => self.offered += 1,
            // Inodes and bitmaps have their places at the front of a group.
            (Op::Write, false) if at % GROUP < FRONT => self.fixed += 1,
            (Op::Write, false) => {
                self.again += 1;
                let has = |block: u64| self.landed.contains(&block) || block == FRONT;
                assert!((at..extent.end().0).step_by(8).all(has), "{request:?}");
            }
            _ => {}
        }
    }

    fn replied(&mut self, _now: Instant, reply: &Reply) {
        let extent = reply.request.extent;
        if reply.request.offered && reply.status == Status::Done {
            assert!(extent.start.0 % GROUP >= FRONT, "{reply:?}");
            self.landed
                .extend((extent.start.0..extent.end().0).step_by(8));
        }
    }
}

#[test]
fn data_is_offered_once_and_what_has_fixed_places_never() {
    let load = "work=postmark:offer=group:group_blocks=1024:cache_kib=256:files=200";
    let text = format!("drive = '{DRIVE}'\nworkload = 'filesystem:{load}'\nsched = 'satf'");
    let scenario = Scenario::from_toml(&text, std::path::Path::new(".")).unwrap();
    let made = scenario.stack().unwrap().build().unwrap();
    let (mut stack, mut drives) = (made.stack, made.drives);
    let Load::Workload(part) = &scenario.load else {
        panic!("it has a workload")
    };
    let env = LoadEnv {
        seed: 1,
        label: "workload/0",
        capacity: stack.capacity(),
        drive: None,
        places_max: u64::MAX,
    };
    let (mut made, _) = synthetic(part, &env).unwrap();
    let mut watch = Watch::default();
    let control = Control::default();
    sim::run(
        &mut stack,
        &mut drives,
        &mut *made.workload,
        &mut watch,
        &control,
    );
    let counts = [watch.offered, watch.fixed, watch.again];
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

/// A log of small segments, in row and one that offers.
const LOGS: [&str; 2] = [
    "none:layout=log:segment_kib=128:clean_below=4:clean_until=8",
    "free:layout=log:segment_kib=128:clean_below=4:clean_until=8",
];

#[test]
fn everything_is_written_under_every_offer_and_scheduler() {
    for parts in [
        "sched = 'satf'",
        "sched = 'fcfs'",
        "sched = 'expand'",
        "sched = 'clook'\nplace = 'linear'",
    ] {
        for offer in ["none", "mini-group", "group", "runs"]
            .into_iter()
            .chain(LOGS)
        {
            let load = format!(
                "work=untar:files=120:offer={offer}:fill=0.6:group_blocks=512:volume_mib=16:processes=2:cache_kib=256"
            );
            let run = run(DRIVE, parts, &load);
            let zeros = ["unwritten", "refused", "failed"].map(|name| number(&run, name));
            assert_eq!(
                (zeros, number(&run, "files")),
                ([0.0; 3], 240.0),
                "{parts} {offer}"
            );
            assert!(number(&run, "work_s") > 0.1);
            assert_eq!(run.pending, 0);
        }
    }
}

#[test]
fn a_drive_that_chooses_by_itself_is_offered_the_same() {
    let load = "offer=mini-group:files=300:processes=4";
    let found =
        ["", ":queue_depth=8"].map(|queue| run(&format!("{DRIVE}{queue}"), "sched = 'satf'", load));
    for run in &found {
        assert_eq!(
            (number(run, "unwritten"), number(run, "files")),
            (0.0, 300.0)
        );
        let by_mini = (0..16).map(|mini| number(run, &format!("mini_{mini}")));
        assert_eq!(
            by_mini.collect::<Vec<f64>>()[..5],
            [75.0, 75.0, 75.0, 75.0, 0.0]
        );
    }
}

#[test]
fn all_files_are_read_at_the_end_if_that_is_wanted() {
    let load = "files=100:size_kib=48:reread=true:cache_kib=1024";
    let run = run(DRIVE, "sched = 'satf'", load);
    // Of one piece each, as they need no indirect block.
    let (took, rate) = (number(&run, "reread_s"), number(&run, "reread_mb_s"));
    assert!((took * rate - 4.9152).abs() < 1e-6, "{took} {rate}");
    assert_eq!(number(&run, "pieces"), 100.0);
    let names: Vec<&str> = run.processes.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["process-1", "reader"]);
}

#[test]
fn a_drive_that_is_gone_or_has_bad_blocks_ends_a_run() {
    for faults in [
        "injected:gone_at_s=0.3",
        "injected:latent_per_tib=4000000:latent_run_blocks=128",
    ] {
        for offer in ["none", "group", "runs"].into_iter().chain(LOGS) {
            let parts = format!("sched = 'satf'\nfaults = '{faults}'");
            let load =
                format!("work=postmark:offer={offer}:files=200:cache_kib=128:group_blocks=1024");
            let run = run(DRIVE, &parts, &load);
            let is_gone = faults.contains("gone");
            assert_eq!(number(&run, "failed") > 0.0, is_gone, "{faults} {offer}");
            assert_eq!(number(&run, "unwritten"), 0.0, "{faults} {offer}");
            if offer.contains("log") {
                assert_eq!(number(&run, "gave_up") > 0.0, is_gone, "{faults} {offer}");
            }
            assert_eq!(run.measure("filesystem", "work_s").is_none(), is_gone);
        }
    }
}

/// Cells of a full volume and a small cache in which a log once gave up, though there were segments
/// to clean.
#[test]
fn a_log_that_is_nearly_full_does_not_give_up() {
    for (offer, seed) in [("none", 2), ("free", 2), ("free", 5)] {
        let load = format!(
            "work=postmark:layout=log:offer={offer}:fill=0.9:volume_mib=512:request_kib=1280:cache_kib=1024"
        );
        let parts = format!("sched = 'satf'\nseed = {seed}");
        let run = run("hp-c2247a:model=complete:layout=ideal", &parts, &load);
        let zeros = ["unwritten", "refused", "failed", "gave_up"].map(|name| number(&run, name));
        assert_eq!(zeros, [0.0; 4], "{offer} {seed}");
        assert!(number(&run, "work_s") > 1.0);
    }
}

#[test]
fn a_log_that_gave_up_is_told() {
    let text = format!(
        "drive = '{DRIVE}'\nsched = 'satf'\nfaults = 'injected:gone_at_s=0.3'\n\
         workload = 'filesystem:work=postmark:layout=log:files=200:cache_kib=128:group_blocks=1024'"
    );
    let scenario = Scenario::from_toml(&text, std::path::Path::new(".")).unwrap();
    let points = grid::points(&scenario, &[]).unwrap();
    let results = compare(&points, None, &Wanted::default(), &Control::default()).unwrap();
    let headline = &results.verdict.headline;
    assert!(
        headline.starts_with("Not everything was written: the log gave up."),
        "{headline}"
    );
    let told = results
        .warnings
        .iter()
        .filter(|told| told.kind == WarningKind::GaveUp);
    let told: Vec<String> = told.map(ToString::to_string).collect();
    assert!(
        told.len() == 1 && told[0].contains("could not be written"),
        "{told:?}"
    );
}

/// What a write buffer has is answered, and on no drive yet.
#[test]
fn what_is_in_a_write_buffer_is_not_said_to_be_on_the_drives() {
    let text = format!("drive = '{DRIVE}'\nworkload = 'filesystem:files=50'");
    let scenario = Scenario::from_toml(&text, std::path::Path::new(".")).unwrap();
    let said = |buffers: &[&str]| {
        let buffers = grid::Vary {
            key: "buffer".to_owned(),
            values: buffers.iter().map(|buffer| (*buffer).to_owned()).collect(),
        };
        let points = grid::points(&scenario, &[buffers]).unwrap();
        let found = compare(&points, None, &Wanted::default(), &Control::default());
        found.unwrap().verdict.headline
    };
    let none = said(&["none"]);
    assert!(
        none.starts_with("Everything is done and written after "),
        "{none}"
    );
    for buffers in [&["lrw:size=10MiB"][..], &["none", "lrw:size=10MiB"]] {
        let told = said(buffers);
        let begin = "Everything is done, and written to the drives or the write buffer, after ";
        assert!(told.starts_with(begin), "{told}");
        assert!(
            told.contains("nothing went from the write buffer"),
            "{told}"
        );
    }
}

/// Blocks whose write failed are not written again: how soon a run was over that left them out is
/// no time to be held against others.
#[test]
fn a_file_system_whose_writes_failed_is_not_done_and_written() {
    let text = format!(
        "drive = '{DRIVE}'\nsched = 'satf'\nfaults = 'injected:gone_at_s=0.05'\nworkload = 'filesystem:files=50'"
    );
    let scenario = Scenario::from_toml(&text, std::path::Path::new(".")).unwrap();
    let found = |places: &[&str]| {
        let places = grid::Vary {
            key: "place".to_owned(),
            values: places.iter().map(|place| (*place).to_owned()).collect(),
        };
        let points = grid::points(&scenario, &[places]).unwrap();
        compare(&points, None, &Wanted::default(), &Control::default()).unwrap()
    };
    let of_kind = |warning: &&Warning| warning.kind == WarningKind::GaveUp;
    let alone = found(&["linear"]);
    assert!(number(&alone.runs[0], "failed") > 0.0);
    let headline = &alone.verdict.headline;
    let told = "Not everything was done and written, as requests failed. ";
    assert!(headline.starts_with(told), "{headline}");
    assert_eq!(alone.warnings.iter().filter(of_kind).count(), 1);

    let both = found(&["linear", "mirror"]);
    let headline = &both.verdict.headline;
    let rest = headline.strip_prefix("Everything is done and written after ");
    let (_, rest) = rest
        .expect(headline)
        .split_once(" s (place=mirror). ")
        .expect(headline);
    let told = "Not everything was done and written in place=linear: requests failed. Requests failed in 1 of 2 runs";
    assert!(rest.starts_with(told), "{headline}");
    assert!(
        both.verdict.details.is_empty(),
        "{:?}",
        both.verdict.details
    );
    let warned = both.warnings.iter().find(of_kind).unwrap();
    assert_eq!(warned.run.as_deref(), Some("place=linear"));

    let three = found(&["linear", "stripe:disks=2", "mirror"])
        .verdict
        .headline;
    let told = "Not everything was done and written in 2 of 3 runs: requests failed.";
    assert!(three.contains(told), "{three}");
}

/// What was written before is done all the same.
#[test]
fn a_reader_that_could_not_read_all_has_no_time() {
    let load = "files=100:size_kib=48:reread=true:cache_kib=1024";
    let whole = run(DRIVE, "sched = 'satf'", load);
    let [work, reread] = ["work_s", "reread_s"].map(|name| number(&whole, name));
    let parts = format!(
        "sched = 'satf'\nfaults = 'injected:gone_at_s={:.3}'",
        work + reread / 2.0
    );
    let cut = run(DRIVE, &parts, load);
    assert!(number(&cut, "failed") > 10.0);
    assert_eq!(number(&cut, "work_s"), work);
    for name in ["reread_s", "reread_mb_s"] {
        assert!(cut.measure("filesystem", name).is_none(), "{name}");
    }
}

#[test]
fn a_volume_that_is_full_refuses_what_it_has_no_room_for() {
    for offer in ["none", "group", "runs"].into_iter().chain(LOGS) {
        let volume = if offer.contains("log") { 4 } else { 2 };
        let load = format!(
            "work=postmark:offer={offer}:files=800:group_blocks=128:volume_mib={volume}:cache_kib=512"
        );
        let run = run(DRIVE, "sched = 'satf'", &load);
        assert!(number(&run, "refused") > 100.0, "{offer}");
        assert_eq!(number(&run, "unwritten"), 0.0, "{offer}");
        assert!(run.processes.iter().all(|one| one.ended));
    }
}

#[test]
fn writes_that_others_have_left_nothing_wait_until_another_has_landed() {
    // Runs of 25 blocks are rare, and all that wait want the same ones: answered at once, they
    // would be made again at the same instant for ever.
    let load =
        "offer=group:files=60:size_kib=100:group_blocks=1024:volume_mib=80:fill=0.3:processes=5";
    let run = run("sata-tlc-500gb", "sched = 'fcfs'", load);
    assert!(number(&run, "exhausted") > 10.0);
    assert_eq!(number(&run, "unwritten"), 0.0);
    // They went again, so nothing of the load has failed.
    assert_eq!(run.failed.values().sum::<u64>(), 0);
}

#[test]
fn the_headline_says_when_everything_was_written() {
    let text = format!("drive = '{DRIVE}'\nsched = 'satf'\nworkload = 'filesystem:files=50'");
    let scenario = Scenario::from_toml(&text, std::path::Path::new(".")).unwrap();
    let headline = |vary: &[grid::Vary]| {
        let points = grid::points(&scenario, vary).unwrap();
        let results = compare(&points, None, &Wanted::default(), &Control::default());
        results.unwrap().verdict.headline
    };
    let alone = headline(&[]);
    assert!(
        alone.starts_with("Everything is done and written after 0."),
        "{alone}"
    );
    let offers = grid::Vary {
        key: "offer".to_owned(),
        values: ["none", "group"].map(str::to_owned).to_vec(),
    };
    let both = headline(&[offers]);
    assert!(
        both.contains("s (offer=group) to 0.") && both.ends_with(" s (offer=none)."),
        "{both}"
    );
}

/// All is dirty at once and goes one by one, so a block waits for half of the time on average;
/// inodes and bitmaps are dirty again and again, and for shorter.
#[test]
fn blocks_wait_from_when_they_are_dirty_until_they_are_written() {
    let load = "files=400:depth=1:group_blocks=1024";
    let run = run(DRIVE, "sched = 'satf'", load);
    let share = number(&run, "waited_ms") / 1e3 / number(&run, "work_s");
    assert!((0.4..0.6).contains(&share), "{share}");
}

/// A log that is overwritten again and again is cleaned, reads what it cleans, and has all on the
/// medium at the end.
#[test]
fn a_log_is_cleaned_where_it_is_overwritten() {
    for offer in LOGS {
        let load = format!(
            "work=update:files=700:transactions=2500:offer={offer}:group_blocks=1024:volume_mib=8:cache_kib=512:reread=true:processes=3"
        );
        let run = run(DRIVE, "sched = 'satf'", &load);
        let zeros = ["unwritten", "refused", "failed"].map(|name| number(&run, name));
        assert_eq!(zeros, [0.0; 3], "{offer}");
        let cleaned = ["cleaned", "moved", "clean_read", "checkpoints"];
        let cleaned = cleaned.map(|name| number(&run, name));
        assert!(
            cleaned.iter().all(|count| *count > 3.0),
            "{offer} {cleaned:?}"
        );
        // What is moved is written beside what has changed, and read before.
        let read = run.operations["read"] as f64;
        assert!(
            number(&run, "amplification") > 1.0 + cleaned[1] / 5_000.0,
            "{offer}"
        );
        assert!(
            read > 700.0 && number(&run, "reread_s") > 0.0,
            "{offer} {read}"
        );
        assert_eq!(run.failed.values().sum::<u64>(), 0, "{offer}");
    }
}
