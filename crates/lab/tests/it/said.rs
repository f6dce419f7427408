//! What is said beside the numbers of a run: that its array was degraded, that its scheduler had
//! nothing to decide on, that its cache cut reads.

use nearslot_lab::grid::{self, Vary};
use nearslot_lab::load::LoadedTrace;
use nearslot_lab::outcome::Results;
use nearslot_lab::report::table;
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario, TraceLoad};
use nearslot_lab::sim::Control;
use nearslot_lab::warning::{Warning, WarningKind};
use nearslot_trace::OpenOptions;

const DRIVE: &str = "hp-c2247a:model=mechanical";

fn compared(workload: &str, settings: &[(&str, &str)], vary: &[&str]) -> Results {
    let mut base = Scenario::over(Load::Workload(workload.parse().unwrap()));
    for (key, value) in settings {
        base.set(key, value).unwrap();
    }
    let vary: Vec<Vary> = vary.iter().map(|vary| vary.parse().unwrap()).collect();
    let points = grid::points(&base, &vary).unwrap();
    compare(&points, None, &Wanted::default(), &Control::default()).unwrap()
}

/// The texts of one kind of warning.
fn told(results: &Results, kind: WarningKind) -> Vec<&str> {
    let of_kind = |warning: &&Warning| warning.kind == kind;
    let those = results.warnings.iter().filter(of_kind);
    those.map(|warning| warning.text.as_str()).collect()
}

/// The texts of one kind of warning of an array with a placement, on whose drives something goes
/// wrong.
fn faulty(workload: &str, place: &str, faults: &str, kind: WarningKind) -> Vec<String> {
    let faults = format!("injected:{faults}");
    let settings = [("drive", DRIVE), ("place", place), ("faults", &faults)];
    let results = compared(workload, &settings, &[]);
    let texts = told(&results, kind);
    texts.into_iter().map(str::to_owned).collect()
}

/// What is told of such an array that lacks drives.
fn degraded(place: &str, gone: &str) -> Vec<String> {
    let workload = "iometer:requests=600:depth=4";
    faulty(workload, place, gone, WarningKind::Degraded)
}

#[test]
fn an_array_without_a_drive_is_told() {
    for (place, why) in [
        (
            "mirror:disks=2",
            "nothing was rebuilt, as mirror has no spare drives",
        ),
        (
            "ew_array:dm=2:map=log:home=drive",
            "nothing was rebuilt, as ew_array has no spare drives",
        ),
        (
            "distorted_mirror",
            "nothing was rebuilt, as distorted_mirror has no spare drives",
        ),
        (
            "offering:disks=2:copies=2",
            "nothing was rebuilt, as offering has no spare drives",
        ),
        ("raid5:disks=3", "no spare took its place"),
        (
            "raid5:disks=4:spares=1",
            "its spare, drive 3, was being rebuilt in spare time alone (rebuild_mib_s = 0), and ",
        ),
        (
            "raid5:disks=4:spares=1:rebuild_mib_s=0.5",
            "its spare, drive 3, was being rebuilt at rebuild_mib_s = 0.5 or more, and ",
        ),
    ] {
        let texts = degraded(place, "gone_at_s=1:gone_drive=1");
        let [text] = texts.as_slice() else {
            panic!("{place}: {texts:?}")
        };
        let begin = "the array was degraded up to the end: drive 1 was gone from 1 s on, for ";
        assert!(text.starts_with(begin), "{place}: {text}");
        assert!(text.contains(why), "{place}: {text}");
    }
    // None is gone, or whose drive is gone says so itself: requests fail.
    assert!(degraded("raid5:disks=3", "latent_per_tib=1").is_empty());
    for place in ["stripe:disks=2", "ew_array:dm=1", "offering:disks=2"] {
        let texts = degraded(place, "gone_at_s=1:gone_drive=1");
        assert!(texts.is_empty(), "{place}: {texts:?}");
    }
}

/// A spare was too slow for as long as it was rebuilt: up to the end, or until another drive of the
/// array went or it went itself.
#[test]
fn a_rebuild_that_is_too_slow_is_told_however_it_ends() {
    let workload = "iometer:requests=600:depth=4";
    for second in [
        "",
        ":second_gone_at_s=4:second_gone_drive=2",
        ":second_gone_at_s=4:second_gone_drive=3",
    ] {
        let gone = format!("gone_at_s=1:gone_drive=1{second}");
        let place = "raid5:disks=4:spares=1:rebuild_mib_s=50";
        let texts = faulty(workload, place, &gone, WarningKind::Rebuild);
        let [text] = texts.as_slice() else {
            panic!("{gone}: {texts:?}")
        };
        let told = " MiB a second, although rebuild_mib_s = 50 was asked for";
        assert!(text.contains(told), "{gone}: {text}");
    }
}

/// Those that went first are told first, each with the part of what was measured that lacked it;
/// one that nobody noticed is not told.
#[test]
fn several_drives_that_are_gone_are_told_in_their_order() {
    let texts = degraded(
        "mirror:disks=4",
        "gone_at_s=1:gone_drive=0:second_gone_at_s=0.5:second_gone_drive=3",
    );
    let [first, second] = texts.as_slice() else {
        panic!("{texts:?}")
    };
    assert!(
        first.contains(": drive 3 was gone from 0.5 s on, for "),
        "{first}"
    );
    assert!(
        second.contains(": drive 0 was gone from 1 s on, for "),
        "{second}"
    );

    let of = |workload: &str, place: &str, gone: &str| {
        let faults = format!("injected:{gone}");
        let settings = [
            ("drive", DRIVE),
            ("place", place),
            ("faults", &faults),
            ("warmup", "50%"),
        ];
        let results = compared(workload, &settings, &[]);
        let texts = told(&results, WarningKind::Degraded);
        texts.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let texts = of(
        "iometer:requests=600:depth=4",
        "mirror:disks=2",
        "gone_at_s=0.1:gone_drive=1",
    );
    let [text] = texts.as_slice() else {
        panic!("{texts:?}")
    };
    let part = text.split(" on, for ").nth(1).expect("for how long");
    let part = part
        .split(" that were measured")
        .next()
        .expect("of how long");
    let (lacked, measured) = part.split_once(" of the ").expect("both");
    assert_eq!(lacked, measured, "{text}");
    // All that is asked for lies on the first two drives.
    let near = "iometer:requests=600:depth=4:span=0.00001";
    assert!(of(near, "mirror:disks=4", "gone_at_s=0.1:gone_drive=3").is_empty());
}

/// Of how many chunks one good copy is left, and of how many none: of all where a drive went, and
/// of those that could not be written again.
#[test]
fn chunks_with_few_good_copies_are_counted() {
    let few = |load: &str, place: &str, faults: &str, kind| {
        let texts = faulty(load, place, faults, kind);
        let count = |text: &String| -> u64 {
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(&words[1][..5], "chunk", "{text}");
            words[0].replace(',', "").parse().unwrap()
        };
        texts.iter().map(count).sum::<u64>()
    };
    let load = "iometer:requests=600:depth=4:read_share=0.5";
    let one = |place: &str, faults: &str| few(load, place, faults, WarningKind::FewCopies);
    let none = |place: &str, faults: &str| few(load, place, faults, WarningKind::LostBlocks);
    let gone = "gone_at_s=0.5:gone_drive=1";
    for (two, three, same) in [
        ("mirror:disks=2", "mirror:disks=3:copies=3", 0),
        ("ew_array:dm=2", "ew_array:dm=3", 3),
        ("offering:disks=2:copies=2", "offering:disks=3:copies=3", 0),
    ] {
        let all = one(two, gone);
        assert!(all > 50_000, "{two}: {all}");
        let late = "gone_at_s=1000000:gone_drive=1";
        assert_eq!((one(two, late), none(two, late)), (0, 0), "{two}");
        assert_eq!(none(two, gone), 0, "{two}");
        // And the drive that has the other copies of the same.
        let both = format!("{gone}:second_gone_at_s=0.7:second_gone_drive={same}");
        assert_eq!((one(two, &both), none(two, &both)), (0, all), "{two}");
        assert_eq!(one(three, gone), 0, "{three}: two are left");
        assert_eq!(one(three, &both), all, "{three}");
    }
    // Two columns of two drives: half of the chunks have one of theirs on each drive.
    for (two, four) in [
        ("mirror:disks=2", "mirror:disks=4"),
        ("offering:disks=2:copies=2", "offering:disks=4:copies=2"),
    ] {
        let (all, half) = (one(two, gone), one(four, gone));
        assert!(half.abs_diff(all) < 100, "{four}: {half} of twice {all}");
    }
    // What a drive that answers nothing was to have is tried so often, and then has one copy.
    let slow = "poisson:requests=600:rate_rps=5:read_share=0.5";
    for place in [
        "mirror:disks=2",
        "ew_array:dm=2",
        "offering:disks=2:copies=2",
    ] {
        let faults = "timeout_share=1:timeout_ms=1:drive=1";
        let silent = few(slow, place, faults, WarningKind::FewCopies);
        assert!((10..=600).contains(&silent), "{place}: {silent}");
    }
    // Spare time writes again what could not be read or written.
    for place in ["mirror:disks=2", "offering:disks=2:copies=2"] {
        assert_eq!(one(place, "timeout_share=0.02"), 0, "{place}");
    }
}

/// Each place of an array by itself: the drive that had it last, and what became of the spares that
/// took it.
#[test]
fn a_place_whose_spare_went_too_is_told_by_the_drive_that_it_lacks() {
    let two = |place: &str, second: &str| {
        let gone = format!("gone_at_s=0.5:gone_drive=1:second_gone_at_s=1:{second}");
        degraded(place, &gone)
    };
    let spent = "the array was degraded up to the end: drive 1 was gone from 0.5 s on, and drive 3 was gone from 1 s on, before it had all as its spare, for ";
    for (place, why) in [
        ("raid5:disks=4:spares=1", "; no other spare took its place"),
        (
            "raid5:disks=5:spares=2",
            "; its spare, drive 4, was being rebuilt ",
        ),
    ] {
        let texts = two(place, "second_gone_drive=3");
        let [text] = texts.as_slice() else {
            panic!("{place}: {texts:?}")
        };
        assert!(text.starts_with(spent) && text.contains(why), "{text}");
    }
    // Two drives of an array: each of its places lacks something.
    let texts = two("raid5:disks=5:spares=1", "second_gone_drive=2");
    let [first, second] = texts.as_slice() else {
        panic!("{texts:?}")
    };
    let lost = "; its spare, drive 4, has all but ";
    let end = " blocks, which no other drive tells any more";
    assert!(
        first.contains(": drive 1 was gone from 0.5 s on, for "),
        "{first}"
    );
    assert!(first.contains(lost) && first.ends_with(end), "{first}");
    assert!(
        second.contains(": drive 2 was gone from 1 s on, for "),
        "{second}"
    );
    assert!(second.contains("; no spare took its place"), "{second}");
    // Of several arrays one is named.
    let texts = degraded("raid5:disks=6:arrays=2", "gone_at_s=0.5:gone_drive=4");
    let [text] = texts.as_slice() else {
        panic!("{texts:?}")
    };
    let begin =
        "array 1 (of 0 to 1) was degraded up to the end: drive 4 was gone from 0.5 s on, for ";
    assert!(text.starts_with(begin), "{text}");
}

/// Whatever else goes wrong.
#[test]
fn a_spare_that_is_gone_and_was_not_asked_is_told() {
    let kind = WarningKind::FaultsWithoutEffect;
    let place = "raid5:disks=4:spares=1";
    let slow = "gone_at_s=0.5:gone_drive=3:slow_factor=2";
    let texts = faulty("iometer:requests=300", place, slow, kind);
    let [text] = texts.as_slice() else {
        panic!("{texts:?}")
    };
    let begin = "drive 3 was gone from 0.5 s on, but nothing was asked of it since: ";
    assert!(text.starts_with(begin), "{text}");
    let asked = "gone_at_s=0.5:gone_drive=2:slow_factor=2";
    assert!(faulty("iometer:requests=300", place, asked, kind).is_empty());
}

const READS: &str = "iometer:requests=300:read_share=1";
const WRITES: &str = "iometer:requests=300:read_share=0:size=512";

/// What is told of faults beside a slow drive, with which something happens.
fn idle(workload: &str, place: &str, faults: &str) -> Vec<String> {
    let faults = format!("slow_factor=2:{faults}");
    faulty(workload, place, &faults, WarningKind::FaultsWithoutEffect)
}

/// Each by its name, with the commands that there were none of.
#[test]
fn faults_of_commands_that_there_were_none_of_are_told() {
    let told = |workload: &str, place: &str, faults: &str, who: &str, of: &str| {
        let (setting, _) = faults.split_once('=').expect("it has a value");
        let all = match setting {
            "latent_mend" => format!("latent_per_tib=1000000:{faults}"),
            _ => faults.to_owned(),
        };
        let told = format!("{setting} had no effect: {who} carried out no {of}");
        assert_eq!(idle(workload, place, &all), [told], "{faults}");
    };
    let (all, long) = ("the drives", "writes of several sectors");
    told(READS, "linear", "lost_share=0.1", all, "writes");
    told(READS, "linear", "misdirected_share=0.1", all, "writes");
    told(READS, "linear", "latent_mend=false", all, "writes");
    told(READS, "linear", "torn_share=0.1", all, long);
    told(WRITES, "linear", "torn_share=0.1", all, long);
    told(WRITES, "linear", "rot_per_tib=1000000", all, "reads");
    let mended = "latent_per_tib had no effect but that writes mended 1 bad block: the drives carried out no reads";
    assert_eq!(idle(WRITES, "linear", "latent_per_tib=1000000"), [mended]);
    told(WRITES, "linear", "latent_per_tib=1", all, "reads");
    let one = "lost_share=0.1:drive=1";
    told(READS, "stripe:disks=2", one, "drive 1", "writes");
}

/// Also in vain, and what a placement reads by itself.
#[test]
fn of_faults_that_were_met_nothing_is_told() {
    for (workload, place, faults) in [
        (WRITES, "linear", "lost_share=0.000001"),
        (READS, "linear", "latent_per_tib=1"),
        (READS, "linear", "timeout_share=0.000001"),
        (WRITES, "raid5:disks=3", "rot_per_tib=1"),
    ] {
        let texts = idle(workload, place, faults);
        assert!(texts.is_empty(), "{faults}: {texts:?}");
    }
}

#[test]
fn where_no_fault_happened_all_are_told_in_one() {
    let none = |faults: &str| faulty(READS, "mirror:disks=2", faults, WarningKind::NoFaults);
    let begin = "nothing went wrong on the drives, although faults were to be injected: ";
    let had = "had no effect: the drives carried out no writes";
    let why = format!("{begin}lost_share {had}; torn_share {had} of several sectors");
    assert_eq!(none("lost_share=0.1:torn_share=0.1"), [why]);
    let rare = format!("{begin}they are too rare for this load, or come after its end");
    assert_eq!(none("timeout_share=0.000001"), [rare]);
}

/// A drive of which nothing is asked any more is slow in vain; one that would be slow after the end
/// is told as that.
#[test]
fn a_drive_that_was_slow_only_when_nothing_was_asked_of_it_is_told() {
    let load = "iometer:requests=30:span=0.001";
    let slow = |from: &str| {
        let faults =
            format!("slow_factor=3:slow_from_s={from}:slow_drive=1:timeout_share=0.2:timeout_ms=1");
        faulty(
            load,
            "concat:disks=2",
            &faults,
            WarningKind::FaultsWithoutEffect,
        )
    };
    assert_eq!(
        slow("0.001"),
        ["slow_factor had no effect: drive 1 carried out no commands from 1 ms on"]
    );
    assert!(slow("1000").is_empty());
}

#[test]
fn schedulers_for_open_writes_say_where_none_is_open() {
    let load = "iometer:requests=300:read_share=0.5";
    let drive = [("drive", DRIVE)];
    let results = compared(load, &drive, &["sched=satf,gap_satf,expand,first_fit"]);
    let texts = told(&results, WarningKind::NothingOpen);
    let [open, offered] = texts.as_slice() else {
        panic!("{texts:?}")
    };
    assert!(
        open.starts_with("over place=linear every write has its place, so gap_satf does"),
        "{open}"
    );
    assert!(
        open.ends_with("place=eager, ew_array and distorted_mirror"),
        "{open}"
    );
    assert!(
        offered.contains("so expand and first_fit do what"),
        "{offered}"
    );
    let two = ["place=linear,eager", "sched=satf,gap_satf"];
    let results = compared(load, &drive, &two);
    assert_eq!(told(&results, WarningKind::NothingOpen).len(), 1);
    let open = [
        ("drive", DRIVE),
        ("place", "eager"),
        ("sched", "read_first"),
    ];
    assert!(told(&compared(load, &open, &[]), WarningKind::NothingOpen).is_empty());
    let offers = [("drive", DRIVE), ("sched", "first_fit")];
    let results = compared("ranges:requests=300", &offers, &[]);
    assert!(told(&results, WarningKind::NothingOpen).is_empty());
}

#[test]
fn a_cache_that_cuts_reads_says_so() {
    let cut = |size: &str| {
        let load = format!("iometer:requests=4000:size={size}:span=0.01");
        let settings = [("drive", DRIVE), ("cache", "lru:size=8MiB")];
        let results = compared(&load, &settings, &[]);
        let texts = told(&results, WarningKind::CutReads);
        let texts = texts.into_iter().map(str::to_owned).collect::<Vec<_>>();
        let names = ["cut_reads", "read_misses", "cut_pieces"];
        let counts = names.map(|name| results.runs[0].measure("cache", name).unwrap().value());
        (texts, counts)
    };
    assert!(cut("4k").0.is_empty());
    let (texts, [reads, missed, pieces]) = cut("4k/50+64k/50");
    let [text] = texts.as_slice() else {
        panic!("{texts:?}")
    };
    let says = [
        format!("{reads} of the {missed} reads that missed ("),
        format!(" were cut into {pieces} reads of the drives"),
    ];
    assert!(says.iter().all(|says| text.contains(says)), "{text}");
    // Of each cut read there are two pieces or more.
    assert!(pieces >= 2.0 * reads && reads < missed, "{text}");
}

/// Transactions were committed, though the journal wrote nothing and nothing had to go home.
#[test]
fn a_load_that_needed_no_request_has_a_result() {
    for drive in ["hp-c2247a", "nvme-tlc-1tb"] {
        let results = compared(
            "tpcb:skip=null:transactions=50:branches=1",
            &[("drive", drive)],
            &[],
        );
        assert_eq!(results.runs[0].requests, 0, "{drive}");
        let headline = &results.verdict.headline;
        assert!(
            headline.ends_with(" transactions a second."),
            "{drive}: {headline}"
        );
        // Mean, median and longest response, and the parts of the service time.
        let text = table(&results, None);
        let mut lines = text.lines().skip_while(|line| !line.contains("1/s"));
        let run = lines.nth(2).unwrap();
        let none = run
            .split_whitespace()
            .filter(|cell| *cell == "none")
            .count();
        assert_eq!(none, 7, "{drive}: {text}");
    }
}

/// The number of a request that others always pass by: of the first ones, but not the one that
/// finds the drive idle.
const FAR: u64 = 5;

/// Reads of a trace, all at the front but for one of the first, at the back.
fn with_one_far() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("far.csv");
    let mut text = "time_us,lba,blocks,op\n".to_owned();
    for number in 0..1_000 {
        let lba = if number == FAR {
            2_000_000
        } else {
            number % 100 * 8
        };
        text += &format!("0,{lba},8,R\n");
    }
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

/// The one far away is served when nothing else is left. It came in the warm-up, so no number tells
/// it.
#[test]
fn who_starves_in_the_warm_up_is_told() {
    let (_folder, path) = with_one_far();
    let load = TraceLoad {
        files: vec![path],
        ..TraceLoad::default()
    };
    let trace = LoadedTrace::read(&load.files, &OpenOptions::default()).unwrap();
    let mut base = Scenario::over(Load::Trace(load));
    for (key, value) in [
        ("drive", DRIVE),
        ("replay", "closed"),
        ("depth", "4"),
        ("warmup", "10"),
    ] {
        base.set(key, value).unwrap();
    }
    let vary: Vec<Vary> = vec!["sched=sstf,fcfs".parse().unwrap()];
    let points = grid::points(&base, &vary).unwrap();
    let results = compare(
        &points,
        Some(&trace),
        &Wanted::default(),
        &Control::default(),
    )
    .unwrap();
    let of_kind = |warning: &&Warning| warning.kind == WarningKind::StarvedWarmUp;
    let those: Vec<&Warning> = results.warnings.iter().filter(of_kind).collect();
    let [one] = those.as_slice() else {
        panic!("{those:?}")
    };
    assert_eq!(one.run.as_deref(), Some("sched=sstf"));
    assert!(
        one.text.starts_with("a request of the warm-up took "),
        "{one}"
    );
}

/// A mirror has to read the rest of a chunk where not all of its copies have the newest data, and
/// its writes of one chunk follow each other. Of whole chunks there is no rest.
#[test]
fn writes_of_parts_of_chunks_are_told() {
    let told_of = |place: &str, load: &str| {
        let settings = [("drive", DRIVE), ("place", place)];
        let load = format!("iometer:requests=2000:read_share=0:depth=4:{load}");
        let results = compared(&load, &settings, &[]);
        let texts = told(&results, WarningKind::PartialChunks);
        texts
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<String>>()
    };
    let [held, read] = [
        " waited until another write of the same chunk had ended",
        " had to read first what the request does not write of a chunk",
    ];
    let half = "span=0.0005:size=4k:align_blocks=4";
    let log = "span=0.01:size=512:sequential_share=1";
    for (place, load, words) in [
        ("mirror:disks=2", half, read),
        ("eager:dilution=4", half, read),
        ("mirror:disks=2", log, held),
    ] {
        let texts = told_of(place, load);
        let [text] = texts.as_slice() else {
            panic!("{place}: {texts:?}")
        };
        assert!(text.contains(words), "{place}: {text}");
        assert!(text.contains("chunks of 4 KiB"), "{place}: {text}");
    }
    let whole = "span=0.0005:size=4k:align_blocks=8";
    for place in ["mirror:disks=2", "eager:dilution=4"] {
        assert!(told_of(place, whole).is_empty(), "{place}");
    }
    for place in ["raid5:disks=3", "linear", "stripe:disks=2"] {
        assert!(told_of(place, half).is_empty(), "{place}");
        assert!(told_of(place, log).is_empty(), "{place}");
    }
}

/// A write buffer with room for less than a stripe never writes one without a read.
#[test]
fn a_write_buffer_that_holds_less_than_a_stripe_is_told() {
    let workload = "poisson:requests=400:rate_rps=50:read_share=0.5";
    for (size, expected) in [("252KiB", 1), ("256KiB", 0)] {
        let buffer = format!("lrw:size={size}");
        let settings = [("drive", DRIVE), ("place", "raid5"), ("buffer", &buffer)];
        let results = compared(workload, &settings, &[]);
        let mut texts = told(&results, WarningKind::Buffer);
        texts.retain(|text| text.contains(" KiB together"));
        assert_eq!(texts.len(), expected, "{size}: {texts:?}");
        for text in texts {
            let begin = "the write buffer has room for 252 KiB, and raid5 writes 256 KiB together";
            assert!(text.starts_with(begin), "{text}");
        }
    }
}
