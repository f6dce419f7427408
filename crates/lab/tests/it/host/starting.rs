//! Applications that start, and what is told of them.

use nearslot_core::op::Op;
use nearslot_core::units::Instant;
use nearslot_lab::warning::WarningKind;

use super::{BLOCKS, FILES, Served, found, number, results, run, served, served_failing, who};

/// Requests of a start-up: what is read ahead is not waited for, but before what is waited for
/// next.
#[test]
fn a_start_up_waits_for_what_its_process_reads_ahead() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.csv");
    let rows = "process,think_us,kind,sector,sectors\na,0,ahead,800,8\na,0,ahead,808,8\nb,0,read,1600,8\na,2000,read,2400,16\na,0,write,0,8\na,0,fsync,0,0\n";
    std::fs::write(&path, rows).unwrap();
    let launch = path.display();
    let text = format!(
        "[workload]\nname = 'host'\nlaunch = '{launch}'\nlaunch_s = 0\njournal_pages = 0\n"
    );
    let told = served(&text);
    let asked: Vec<_> = told
        .asked
        .iter()
        .map(|one| (one.0, one.1, one.2, one.3))
        .collect();
    // One after the other a millisecond each; `a` thinks for two behind the answer of `b`.
    let expected = [
        (1, Op::Read, 800, 8),
        (1, Op::Read, 808, 8),
        (1, Op::Read, 1_600, 8),
        (5_001, Op::Read, 2_400, 16),
        (6_002, Op::Write, FILES, 8),
        (7_002, Op::Flush, 0, 0),
    ];
    assert_eq!(asked, expected);
    assert!(
        (number(&told, "startup_s") - 0.008_002).abs() < 1e-5,
        "{}",
        number(&told, "startup_s")
    );
    let text = text.replace("journal_pages = 0\n", "");
    let quiet = served(&format!("{text}application_writes = false\n"));
    assert!(quiet.asked.iter().all(|one| one.1 == Op::Read));
    // Each process of the application is a stream of its own.
    let names = told.made.workload.streams();
    assert_eq!(&names[1..], ["launch", "flusher", "journal", "a", "b"]);
    assert_eq!(who(&told), ["a", "a", "b", "a", "launch", "journal"]);
}

/// Each start-up counts by its own time, whoever stands first, and one that has not ended is not
/// up.
#[test]
fn start_ups_are_told_and_those_that_are_not_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.csv");
    let rows = "process,think_us,kind,sector,sectors\na,1000,read,800,8\n";
    std::fs::write(&path, rows).unwrap();
    let start = format!("{{ start = '{}' }}", path.display());
    let text = format!(
        "[workload]\nname = 'host'\nseconds = 30\n[[workload.process]]\nname = 'late'\nstart_s = 10\ntimes = 1\nsteps = [{start}]\n\
         [[workload.process]]\nname = 'soon'\nsteps = [{{ think_ms = 500 }}, {start}]\n\
         [[workload.process]]\nname = 'never'\nstart_s = 9.9985\nsteps = [{start}, {{ think_ms = 1000 }}]"
    );
    let told = served(&text);
    let took = number(&told, "startup_s");
    assert!((took - 0.002).abs() < 1e-4, "{took}");
    assert_eq!(number(&told, "not_up"), 0.0);
    // The first few are told one by one, in the order in which they began.
    let noted = told.made.workload.startups();
    assert_eq!(noted.len(), 64.min(number(&told, "up") as usize));
    let soon = noted[0];
    assert_eq!(soon.0, Instant(500_001_000));
    assert!(
        noted
            .iter()
            .all(|(began, up)| up.is_some_and(|up| up > *began))
    );
    let cut = served(
        &text
            .replace("times = 1\n", "")
            .replace("seconds = 30", "seconds = 10.0005"),
    );
    // Those that began at 9.9985 and at 10 s are not up.
    assert_eq!(number(&cut, "not_up"), 2.0);
    let unended = cut.made.workload.startups().iter();
    assert_eq!(unended.filter(|(_, up)| up.is_none()).count(), 2);
}

#[test]
fn whole_runs_repeat_to_the_bit_and_end_when_the_application_is_up() {
    let load =
        "sched = 'bfq'\nworkload = 'host:launch=xterm:beside=2r1w-seq:launch_s=1:seconds=30'";
    let (mut one, mut other) = (run(load), run(load));
    (one.simulated_in_s, other.simulated_in_s) = (0.0, 0.0);
    assert_eq!(
        serde_json::to_string(&one).unwrap(),
        serde_json::to_string(&other).unwrap()
    );
    let up = one.measure("host", "startup_s").unwrap().value();
    assert!(
        0.5 < up && up < 10.0 && (11.0..12.0).contains(&one.duration_s),
        "what others do is counted for 10 s from the start-up on, and what is on its way then is written: {up} {}",
        one.duration_s
    );
    assert_eq!(one.processes.last().unwrap().mean_s, Some(up));
}

#[test]
fn an_application_that_is_not_up_in_time_is_told_so() {
    let found = results(
        "workload = 'host:launch=lowriter:launch_s=0:seconds=0.5'\ndrive = 'desktop-7200-90mb'",
    )
    .unwrap();
    assert!(found.runs[0].measure("host", "startup_s").is_none());
    assert_eq!(
        found.verdict.headline,
        "The application was not up when the run ended."
    );
}

/// A host that starts an application of these lines at once, its settings, and the request that
/// fails.
fn launched(rows: &str, settings: &str, fails: Option<u64>) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.csv");
    let text = format!("process,think_us,kind,sector,sectors\n{rows}");
    std::fs::write(&path, text).unwrap();
    let launch = path.display();
    served_failing(
        &format!("[workload]\nname = 'host'\nlaunch = '{launch}'\nlaunch_s = 0\n{settings}"),
        fails,
    )
}

/// When each request came, what it was, and where.
fn asked(told: &Served) -> Vec<(u64, Op, u64, u64)> {
    let all = told.asked.iter();
    all.map(|one| (one.0, one.1, one.2, one.3)).collect()
}

#[test]
fn who_waits_waits_for_all_that_its_process_reads_ahead_and_so_does_who_is_up() {
    let rows = "a,0,ahead,800,8\na,0,ahead,808,8\na,0,read,1600,8\na,0,ahead,816,8\n";
    let told = launched(rows, "", None);
    let expected = [
        (1, Op::Read, 800, 8),
        (1, Op::Read, 808, 8),
        (2_001, Op::Read, 1_600, 8),
        (3_001, Op::Read, 816, 8),
    ];
    assert_eq!(asked(&told), expected);
    // From when it was started on, at 0, until the last of it has come.
    let took = number(&told, "startup_s");
    assert!((took - 0.004_001).abs() < 1e-8, "{took}");
    for fails in 0..4 {
        let told = launched(rows, "", Some(fails));
        assert_eq!(found(&told, "launch").failed, 1, "{fails}");
        assert!(found(&told, "launch").ended);
        assert_eq!((number(&told, "up"), number(&told, "not_up")), (0.0, 1.0));
        assert!(
            !told
                .made
                .workload
                .measures()
                .1
                .iter()
                .any(|(name, _)| *name == "startup_s")
        );
    }
}

/// Four requests of 4 KiB, three of them ahead, in 4.001 ms.
#[test]
fn what_is_read_ahead_is_read_by_who_starts() {
    let rows = "a,0,ahead,800,8\na,0,ahead,808,8\na,0,read,1600,8\na,0,ahead,816,8\n";
    let told = launched(rows, "", None);
    let read = found(&told, "launch").read_mb_s;
    assert!((read - 4.0 * 4.096 / 4.001).abs() < 1e-3, "{read}");
}

/// A claim for a stream that asks has its effect; one for a stream that there is not is warned of.
#[test]
fn what_is_told_of_streams_that_ask_for_nothing_is_warned_of() {
    let warned = |claims: &str| {
        let load = format!(
            "drive = 'null'\nsched = 'bfq'\nclaims = {claims}\nworkload = 'host:beside=2r-seq:seconds=1'"
        );
        let warnings = results(&load).unwrap().warnings.into_iter();
        let told = warnings.filter(|one| one.kind == WarningKind::UnheardStreams);
        told.map(|one| one.text).collect::<Vec<_>>()
    };
    assert!(warned("{ name = 'told', weight = '1=300 2=50' }").is_empty());
    let told = warned("{ name = 'told', weight = '1=300 7=50', class = '9=idle' }");
    assert_eq!(
        told,
        ["what is said of streams that asked for nothing had no effect: 7 (weight) and 9 (class)"]
    );
}

#[test]
fn each_kind_of_request_is_what_it_says() {
    let rows = "b,0,metadata,800,8\na,0,sync,1600,16\na,0,flush,0,0\na,0,write,0,20\na,0,write,0,4\na,0,fsync,0,0\n";
    let told = launched(rows, "journal_pages = 1\n", None);
    let expected = [
        (1, Op::Read, 800, 8),
        (1_001, Op::Write, 1_600, 16),
        (2_001, Op::Flush, 0, 0),
        // Two and a half pages are three, and a half is one; each takes a microsecond to copy.
        (3_005, Op::Write, FILES, 32),
        (4_005, Op::Write, BLOCKS / 2, 8),
        (5_005, Op::Flush, 0, 0),
    ];
    assert_eq!(asked(&told), expected);
    let sync: Vec<bool> = told.requests.iter().map(|one| one.sync).collect();
    assert_eq!(sync, [false, true, false, true, true, false]);
}

/// Its own file has 4,096 pages; what comes behind that is at the front again.
#[test]
fn what_an_application_writes_lies_in_a_row_in_its_own_file() {
    let rows = "a,0,write,0,32768\na,0,fsync,0,0\na,0,write,0,16\na,0,fsync,0,0\n";
    let told = launched(rows, "journal_pages = 0\n", None);
    let written = super::pages(&told, Op::Write);
    let expected: Vec<(u64, u64)> = (0..32).map(|at| (at * 128, 128)).collect();
    assert_eq!(written[..32], expected);
    assert_eq!(written[32..], [(0, 2)]);
}

/// 3,200 pages, and no more than 1,024 of them may be dirty.
#[test]
fn an_application_that_writes_much_is_held_as_others_are() {
    let told = launched(&"a,0,write,0,64\n".repeat(400), "memory = '20MiB'\n", None);
    let most = number(&told, "dirty_most_mb");
    assert!((3.1..4.4).contains(&most), "{most}");
    assert!(found(&told, "launch").held_s > 0.0);
    assert!(found(&told, "launch").ended);
}

/// What was read before the start does not count, nor what the one who starts it reads.
#[test]
fn what_others_move_is_counted_from_the_first_start_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.csv");
    let head = "process,think_us,kind,sector,sectors\n";
    std::fs::write(&path, format!("{head}a,0,read,800,8\na,9000,read,1600,8\n")).unwrap();
    let told = |beside: &str| {
        served(&format!(
            "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\ntimes = 1\nfile = '1MiB'\n\
             steps = [{{ think_ms = 1000 }}, {{ start = '{}' }}, {{ read = '4KiB', times = 10, direct = true }}]\n\
             [[workload.process]]\nname = 'other'\nfile = '1MiB'\n{beside}",
            path.display()
        ))
    };
    let before = told("times = 1\nsteps = [{ read = '1MiB', times = 5, direct = true }]");
    assert_eq!(number(&before, "read_mb_s"), 0.0);
    // 40 KiB of its own, and 8 of the application, in 1.02 s.
    let own = found(&before, "one").read_mb_s;
    assert!((0.045..0.05).contains(&own), "{own}");
    // For ten seconds: one in two milliseconds while the application asks or its process reads,
    // else one in each.
    let all_the_time = told("steps = [{ read = '4KiB', direct = true }]");
    let read = number(&all_the_time, "read_mb_s");
    assert!((4.085..4.096).contains(&read), "{read}");
}

#[test]
fn a_start_up_that_never_began_is_neither_up_nor_late() {
    let told = served(
        "[workload]\nname = 'host'\nseconds = 2\n[[workload.process]]\nname = 'one'\ntimes = 1\nsteps = [{ think_ms = 9000 }, { start = 'bash' }]",
    );
    assert_eq!([number(&told, "up"), number(&told, "not_up")], [0.0; 2]);
}

/// One that fails, one that lasts too long, and one that is not started at all: each is told as
/// what it is.
#[test]
fn applications_are_told_apart_by_why_they_are_not_up() {
    let text = "[workload]\nname = 'host'\nseconds = 2\n[[workload.process]]\nname = 'one'\ntimes = 1\nsteps = [{ start = 'bash' }, { think_ms = 1000 }, { start = 'lowriter' }]\n\
                [[workload.process]]\nname = 'two'\nafter = ['one']\ntimes = 1\nsteps = [{ start = 'xterm' }]";
    let told = served_failing(text, Some(3)).made.workload.applications();
    let told = told
        .iter()
        .map(|one| (&*one.name, [one.up, one.not_up, one.failed]));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            ("bash", [0, 0, 1]),
            ("lowriter", [0, 1, 0]),
            ("xterm", [0, 0, 0])
        ]
    );
}

#[test]
fn an_application_lies_in_the_front_half_of_the_volume_and_its_writes_can_be_left_out() {
    let told = |settings: &str| {
        served(&format!(
            "[workload]\nname = 'host'\n{settings}[[workload.process]]\nname = 'one'\ntimes = 1\nsteps = [{{ start = 'lowriter' }}]"
        ))
    };
    let whole = told("");
    let reads = whole.asked.iter().filter(|one| one.1 == Op::Read);
    assert!(reads.clone().all(|one| one.2 + one.3 <= BLOCKS / 2));
    assert_eq!(reads.count(), 1_268);
    let flushes = |told: &Served| told.asked.iter().filter(|one| one.1 == Op::Flush).count();
    let without = told("application_writes = false\n");
    assert_eq!((flushes(&whole), flushes(&without)), (8, 0));
    assert!(without.asked.iter().all(|one| one.1 == Op::Read));
}

/// The second begins later and is up sooner: each counts from its own beginning on, and told is the
/// mean.
#[test]
fn how_long_start_ups_took_is_told_on_average() {
    let folder = tempfile::tempdir().unwrap();
    let started = |name: &str, rows: &str, start: &str| {
        let path = folder.path().join(format!("{name}.csv"));
        let text = format!("process,think_us,kind,sector,sectors\n{rows}");
        std::fs::write(&path, text).unwrap();
        format!(
            "[[workload.process]]\nname = '{name}'\nstart_s = {start}\ntimes = 1\nsteps = [{{ start = '{}' }}]\n",
            path.display()
        )
    };
    let told = served(&format!(
        "[workload]\nname = 'host'\n{}{}",
        started("slow", "a,9000,read,800,8\n", "0"),
        started("fast", "b,0,read,800,8\n", "0.001")
    ));
    let took = number(&told, "startup_s");
    // 10.001 and 1.001 ms.
    assert!((took - 0.005_501).abs() < 1e-8, "{took}");
    assert_eq!(number(&told, "up"), 2.0);
    let each = told.made.workload.applications();
    let each: Vec<_> = each
        .iter()
        .map(|one| {
            let name = one.name.rsplit('/').next();
            (name, [one.up, one.not_up, one.failed], one.mean_s)
        })
        .collect();
    let (slow, fast) = (Some(0.010_001), Some(0.001_001));
    assert_eq!(
        each,
        [
            (Some("slow.csv"), [1, 0, 0], slow),
            (Some("fast.csv"), [1, 0, 0], fast)
        ]
    );
}
