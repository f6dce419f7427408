//! Hosts: processes above a page cache, against times and requests written out.

use std::path::Path;

use nearslot_core::op::{Cost, Failure, Op, Status};
use nearslot_core::request::{Reply, Request, Timeline};
use nearslot_core::units::{Blocks, Instant};
use nearslot_lab::grid;
use nearslot_lab::outcome::{Results, Run};
use nearslot_lab::run::{RunError, Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;
use nearslot_lab::workload::{LoadEnv, Synthetic, synthetic};

/// A volume of 1 GiB, whose files begin behind the journal in the second half.
const BLOCKS: u64 = 1 << 21;
const FILES: u64 = BLOCKS / 2 + BLOCKS / 32;

/// The workload of a scenario.
fn host(text: &str) -> Synthetic {
    let scenario = Scenario::from_toml(text, Path::new("/data")).unwrap();
    let Load::Workload(part) = scenario.load else {
        panic!("it has a workload")
    };
    let env = LoadEnv {
        seed: 1,
        label: "workload/0",
        capacity: Blocks(BLOCKS),
    };
    synthetic(&part, &env).unwrap().0
}

/// A drive that answers each request a millisecond after the one before, in the order in which they come.
struct Served {
    /// When each came, in us, and what it was: operation, first block, blocks, stream.
    asked: Vec<(u64, Op, u64, u64, u32)>,
    made: Synthetic,
    requests: Vec<Request>,
}

fn reply(request: Request, now: Instant, status: Status) -> Reply {
    Reply {
        request,
        status,
        timeline: Timeline {
            arrived: request.arrived,
            started: request.arrived,
            replied: now,
            cost: Cost::default(),
        },
    }
}

/// Serves a host; the request with the number `fails` fails.
fn served_failing(text: &str, fails: Option<u64>) -> Served {
    let mut made = host(text);
    let (mut asked, mut requests) = (Vec::new(), Vec::new());
    let mut queue: std::collections::VecDeque<Request> = std::collections::VecDeque::new();
    let mut done_at = Instant::ZERO;
    let mut now = Instant::ZERO;
    loop {
        let arrival = made.workload.next_arrival();
        let answer = queue.front().map(|_| done_at);
        let due = match (arrival, answer) {
            (None, None) => break,
            (one, other) => one
                .unwrap_or(Instant::NEVER)
                .min(other.unwrap_or(Instant::NEVER)),
        };
        now = now.max(due);
        if answer == Some(due) {
            let request = queue.pop_front().unwrap();
            done_at = now + nearslot_core::units::Duration::from_ms(1);
            let status = match Some(request.id.0) == fails {
                true => Status::Failed(Failure::Medium),
                false => Status::Done,
            };
            made.workload.replied(now, &reply(request, now, status));
            continue;
        }
        if let Some(request) = made.workload.poll(now) {
            let extent = request.extent;
            asked.push((
                now.0 / 1_000,
                request.op,
                extent.start.0,
                extent.len.0,
                request.stream.0,
            ));
            if queue.is_empty() {
                done_at = now + nearslot_core::units::Duration::from_ms(1);
            }
            requests.push(request);
            queue.push_back(request);
        }
    }
    Served {
        asked,
        made,
        requests,
    }
}

fn served(text: &str) -> Served {
    served_failing(text, None)
}

/// First page in its file and pages of each request of an operation.
fn pages(served: &Served, op: Op) -> Vec<(u64, u64)> {
    let of = served.asked.iter().filter(|one| one.1 == op);
    of.map(|one| ((one.2 - FILES) / 8, one.3 / 8)).collect()
}

fn found(served: &Served, name: &str) -> nearslot_lab::outcome::ProcessFound {
    let processes = served.made.workload.processes();
    processes.into_iter().find(|one| one.name == name).unwrap()
}

fn number(served: &Served, name: &str) -> f64 {
    let measures = served.made.workload.measures();
    measures
        .iter()
        .find(|(known, _)| *known == name)
        .unwrap()
        .1
        .value()
}

/// 4 KiB in a row from the front: windows of 4, 8, 16, 32 pages, each asked for one window ahead; a second reading finds all in memory.
#[test]
fn a_reader_in_a_row_asks_for_windows_one_ahead() {
    let told = served(
        "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\nfile = '400KiB'\ntimes = 200\nsteps = [{ read = '4KiB' }]",
    );
    assert_eq!(
        pages(&told, Op::Read),
        [(0, 4), (4, 8), (12, 16), (28, 32), (60, 32), (92, 8)]
    );
    // The first page comes after 1 ms; one is computed for 1 us to ask and 1 us to copy; the second brings the next window.
    let times: Vec<u64> = told.asked.iter().map(|one| one.0).collect();
    assert_eq!(&times[..2], [1, 1_003]);
    let one = found(&told, "one");
    assert_eq!((one.rounds, one.ended, one.failed), (200, true, 0));
}

#[test]
fn without_read_ahead_and_at_random_each_page_is_a_request() {
    let told = |how: &str| {
        served(&format!(
            "[workload]\nname = 'host'\n{how}\n[[workload.process]]\nname = 'one'\nfile = '400KiB'\ntimes = 5\nsteps = [{{ read = '4KiB' }}]"
        ))
    };
    let in_row = told("read_ahead = '0'");
    assert_eq!(
        pages(&in_row, Op::Read),
        [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)]
    );
    let random = served(
        "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\nfile = '200MiB'\ntimes = 50\nsteps = [{ read = '4KiB', at = 'random' }]",
    );
    assert!(
        pages(&random, Op::Read)
            .iter()
            .all(|(_, pages)| *pages == 1)
    );
    assert!(random.asked.len() > 45);
}

#[test]
fn a_read_past_the_cache_is_one_request_and_asks_again_for_what_it_had() {
    let told = served(
        "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\nfile = '64KiB'\ntimes = 3\nsteps = [{ read = '64KiB', direct = true }]",
    );
    assert_eq!(pages(&told, Op::Read), [(0, 16); 3]);
}

/// Who calls fsync writes its pages itself, as synchronous writes of its own; then the journal writes and flushes.
#[test]
fn fsync_writes_as_who_asks_and_ends_with_a_commit() {
    let told = served(
        "[workload]\nname = 'host'\njournal_pages = 2\n[[workload.process]]\nname = 'one'\nfile = '1MiB'\ntimes = 1\nsteps = [{ write = '4KiB', times = 3 }, 'fsync']",
    );
    let streams = told.made.workload.streams();
    let asked: Vec<_> = told
        .asked
        .iter()
        .map(|one| (one.1, one.3 / 8, &*streams[one.4 as usize]))
        .collect();
    assert_eq!(
        asked,
        [
            (Op::Write, 3, "one"),
            (Op::Write, 2, "journal"),
            (Op::Flush, 0, "journal")
        ]
    );
    assert!(told.requests[..2].iter().all(|request| request.sync));
    // Three milliseconds of the drive.
    assert!((found(&told, "one").mean_s.unwrap() - 0.003).abs() < 0.0001);
}

/// 400 MiB of memory: the flusher begins at 42 MB and stops below, writers are slowed from 63 MB on and stand at 84 MB.
const WRITER: &str = "[workload]\nname = 'host'\nmemory = '400MiB'\nseconds = 20\n";

#[test]
fn a_greedy_writer_is_held_at_the_limit_and_the_flusher_writes_for_it() {
    let told = served(&format!(
        "{WRITER}[[workload.process]]\nname = 'one'\nfile = '300MiB'\nsteps = [{{ write = '4KiB' }}]"
    ));
    let streams = told.made.workload.streams();
    assert!(
        told.asked
            .iter()
            .all(|one| one.1 == Op::Write && streams[one.4 as usize] == "flusher")
    );
    assert!(told.requests.iter().all(|request| !request.sync));
    let most = number(&told, "dirty_most_mb");
    assert!((63.0..84.5).contains(&most), "{most}");
    // 512 KiB a millisecond are 524 MB/s; a writer that is never held copies 4 KiB in 2 us.
    let one = found(&told, "one");
    assert!(
        (450.0..560.0).contains(&one.written_mb_s),
        "{}",
        one.written_mb_s
    );
    assert!(one.held_s > 5.0, "{}", one.held_s);
}

#[test]
fn writeback_that_is_not_anonymous_is_of_who_wrote() {
    let told = served(&format!(
        "{WRITER}anonymous = false\n[[workload.process]]\nname = 'one'\nfile = '300MiB'\nsteps = [{{ write = '4KiB' }}]"
    ));
    let streams = told.made.workload.streams();
    assert!(
        told.asked
            .iter()
            .all(|one| streams[one.4 as usize] == "one")
    );
}

#[test]
fn what_is_dirty_for_long_is_written_when_somebody_looks() {
    let told = served(
        "[workload]\nname = 'host'\nseconds = 60\n[[workload.process]]\nname = 'one'\nfile = '1MiB'\nsteps = [{ write = '8KiB' }, { think_ms = 100000 }]",
    );
    // Dirty from the beginning on, looked at each 5 s, old after 30 s.
    let asked: Vec<_> = told.asked.iter().map(|one| (one.0, one.1, one.3)).collect();
    assert_eq!(asked, [(30_000_000, Op::Write, 16)]);
}

/// An asynchronous pass, a synchronous one of what came meanwhile, a commit.
#[test]
fn sync_writes_what_everybody_has_written() {
    let told = served(
        "[workload]\nname = 'host'\njournal_pages = 0\n[[workload.process]]\nname = 'one'\nfile = '1MiB'\ntimes = 1\nsteps = [{ write = '8KiB' }]\n\
         [[workload.process]]\nname = 'other'\nafter = ['one']\nfile = '4KiB'\ntimes = 1\nsteps = ['sync']",
    );
    let streams = told.made.workload.streams();
    let asked: Vec<_> = told
        .asked
        .iter()
        .map(|one| (one.1, one.3, &*streams[one.4 as usize]))
        .collect();
    assert_eq!(
        asked,
        [(Op::Write, 16, "flusher"), (Op::Flush, 0, "journal")]
    );
    assert!(!told.requests[0].sync);
}

#[test]
fn rounds_with_a_time_of_their_own_are_late_when_they_take_longer() {
    let told = |every: &str| {
        served(&format!(
            "[workload]\nname = 'host'\nread_ahead = '0'\n[[workload.process]]\nname = 'player'\nfile = '1MiB'\ntimes = 10\nevery_ms = {every}\nsteps = [{{ read = '8KiB' }}]"
        ))
    };
    // Two pages without read-ahead, a request of a millisecond each.
    let fast = told("5");
    assert_eq!(
        (found(&fast, "player").late, fast.asked.len()),
        (Some(0), 20)
    );
    let gaps: Vec<u64> = fast
        .asked
        .windows(2)
        .map(|pair| pair[1].0 - pair[0].0)
        .collect();
    assert_eq!(gaps.iter().step_by(2).max(), Some(&1_001));
    assert_eq!(fast.asked[18].0 - fast.asked[0].0, 45_000);
    assert_eq!(found(&told("0.5"), "player").late, Some(10));
}

#[test]
fn a_rate_is_kept() {
    let told = served(
        "[workload]\nname = 'host'\nseconds = 10\n[[workload.process]]\nname = 'one'\nfile = '100MiB'\nrate_kb_s = 1024\nsteps = [{ read = '4KiB' }]",
    );
    let read = found(&told, "one").read_mb_s;
    assert!((read - 1.024).abs() < 0.02, "{read}");
}

#[test]
fn a_request_that_fails_is_counted_and_the_process_goes_on() {
    let text = "[workload]\nname = 'host'\nread_ahead = '0'\n[[workload.process]]\nname = 'one'\nfile = '400KiB'\ntimes = 5\nsteps = [{ read = '4KiB' }]";
    let told = served_failing(text, Some(2));
    let one = found(&told, "one");
    assert_eq!((one.failed, one.rounds, one.ended), (1, 5, true));
}

/// Requests of a start-up: what is read ahead is not waited for, but before what is waited for next.
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
}

/// Processes of one file: the second uses that of the first.
fn two(first: &str, second: &str) -> String {
    format!(
        "[workload]\nname = 'host'\nseconds = 100\n[[workload.process]]\nname = 'one'\nfile = '20MiB'\n{first}\n\
         [[workload.process]]\nname = 'other'\nshares = 'one'\n{second}"
    )
}

/// Writes in a served run, by stream.
fn written_by(told: &Served, name: &str) -> u64 {
    let streams = told.made.workload.streams();
    let of = told
        .asked
        .iter()
        .filter(|one| one.1 == Op::Write && streams[one.4 as usize] == name);
    of.map(|one| one.3 / 8).sum()
}

/// All that anybody wrote before is written when both have ended: a third one finds nothing.
#[test]
fn two_who_sync_one_file_leave_nothing_behind() {
    let random = "steps = [{ write = '4KiB', at = 'random', times = 500 }, 'fsync']\ntimes = 1";
    let last = "\n[[workload.process]]\nname = 'last'\nshares = 'one'\nafter = ['one', 'other']\ntimes = 1\nsteps = ['fsync']";
    for depth in [1, 64] {
        let text = two(random, random) + last;
        let told = served(&text.replace("seconds", &format!("flush_depth = {depth}\nseconds")));
        assert!(found(&told, "last").ended && found(&told, "other").ended);
        assert_eq!(
            (written_by(&told, "last"), written_by(&told, "flusher")),
            (0, 0)
        );
        let pages = written_by(&told, "one") + written_by(&told, "other");
        assert!((850..=1_000).contains(&pages), "{pages}");
    }
}

/// The other one writes to the file without end, and the flusher has it on its way all the time.
#[test]
fn who_syncs_waits_for_what_there_was_and_not_for_what_comes_meanwhile() {
    let told = served(&two(
        "times = 20\nsteps = [{ write = '4KiB' }, 'fsync']",
        "steps = [{ write = '4KiB', at = 'random' }]\nrate_kb_s = 8000",
    ));
    let one = found(&told, "one");
    assert!(one.ended && one.max_s.unwrap() < 4.0, "{:?}", one.max_s);
}

/// Two write one page and wait for it, again and again: never more than one write of it is under way.
#[test]
fn a_page_that_is_on_its_way_out_is_not_sent_again() {
    let steps = "times = 100\nsteps = [{ write = '4KiB' }, 'fsync']";
    let told = served(&two(steps, steps).replace("20MiB", "4KiB"));
    let of_page = told
        .asked
        .iter()
        .filter(|one| one.1 == Op::Write && one.2 == FILES);
    let times: Vec<u64> = of_page.map(|one| one.0).collect();
    assert!(times.len() > 100 && times.windows(2).all(|pair| pair[1] - pair[0] >= 1_000));
    let most = number(&told, "dirty_most_mb");
    assert!(most < 0.0083, "{most}");
}

/// `sync` comes while somebody else's fsync has much on its way, and waits for that, too.
#[test]
fn sync_waits_for_what_others_have_on_their_way() {
    let told = served(
        "[workload]\nname = 'host'\njournal_pages = 0\nread_ahead = '0'\n[[workload.process]]\nname = 'one'\nfile = '20MiB'\ntimes = 1\n\
         steps = [{ write = '8KiB', at = 'random', times = 300 }, 'fsync']\n[[workload.process]]\nname = 'other'\nstart_s = 0.01\ntimes = 1\nsteps = ['sync']",
    );
    let (one, other) = (found(&told, "one"), found(&told, "other"));
    // Nearly three hundred writes of a millisecond; the other begins 10 ms later and ends with them.
    assert!(one.mean_s.unwrap() > 0.25, "{:?}", one.mean_s);
    assert!(
        other.mean_s.unwrap() > one.mean_s.unwrap() - 0.03,
        "{:?}",
        other.mean_s
    );
}

/// The asynchronous pass sends what is dirty; what is written while it goes on is of the synchronous pass.
#[test]
fn sync_has_a_synchronous_pass_for_what_comes_meanwhile() {
    let told = served(
        "[workload]\nname = 'host'\nflush_depth = 1\nseconds = 2\n[[workload.process]]\nname = 'one'\nfile = '20MiB'\nrate_kb_s = 400\n\
         steps = [{ write = '4KiB', at = 'random' }]\n[[workload.process]]\nname = 'other'\nstart_s = 1\ntimes = 1\nsteps = ['sync']",
    );
    let streams = told.made.workload.streams();
    let of_flusher = told
        .requests
        .iter()
        .filter(|one| streams[one.stream.index()] == "flusher");
    let sync: Vec<bool> = of_flusher.map(|request| request.sync).collect();
    let first = sync
        .iter()
        .position(|sync| *sync)
        .expect("some are synchronous");
    assert!(
        first > 50 && sync[first..].iter().all(|sync| *sync),
        "{first} of {}",
        sync.len()
    );
    assert!(found(&told, "other").ended);
}

#[test]
fn who_syncs_because_of_a_load_is_not_late() {
    let text = "[workload]\nname = 'host'\nbeside = '1w-seq'\nfile = '200MiB'\nmemory = '100MiB'\nseconds = 10";
    let told = served(text);
    let measures = told.made.workload.measures();
    assert!(measures.iter().all(|(name, _)| *name != "late_percent"));
    assert!(found(&told, "sync").rounds > 0);
}

/// The first application is that which was started first, whoever stands first, and its own time alone.
#[test]
fn the_first_start_up_is_told_and_those_that_are_not_up() {
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
    let cut = served(
        &text
            .replace("times = 1\n", "")
            .replace("seconds = 30", "seconds = 10.0005"),
    );
    // Those that began at 9.9985 and at 10 s are not up.
    assert_eq!(number(&cut, "not_up"), 2.0);
}

/// A window fails; the page that somebody waits for is tried by itself.
#[test]
fn a_page_of_a_window_that_failed_is_tried_alone() {
    let text = "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\nfile = '400KiB'\ntimes = 1\nsteps = [{ read = '4KiB', times = 6 }]";
    let told = served_failing(text, Some(0));
    assert_eq!(pages(&told, Op::Read)[..2], [(0, 4), (0, 1)]);
    assert_eq!(
        (found(&told, "one").failed, found(&told, "one").ended),
        (0, true)
    );
    let again = served_failing(text, Some(1));
    assert_eq!(found(&again, "one").failed, 0);
}

#[test]
fn several_of_a_kind_have_files_of_their_own_and_their_class_comes_with_each_request() {
    let told = served(
        "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\ncount = 3\nfile = '400KiB'\nclass = 'real-time'\nlevel = 2\nstart_s = 0.5\ntimes = 2\n\
         steps = [{ read = '400KiB', direct = true }]",
    );
    let mut places: Vec<u64> = told.asked.iter().map(|one| (one.2 - FILES) / 800).collect();
    places.sort_unstable();
    assert_eq!(places, [0, 0, 1, 1, 2, 2]);
    assert!(
        told.requests
            .iter()
            .all(|request| request.priority == (1 << 13 | 2))
    );
    assert_eq!(told.asked[0].0, 500_000);
    assert_eq!(
        told.made.workload.streams()[1..4],
        ["one-1", "one-2", "one-3"]
    );
}

/// Three who sync at once: the first commit is for one, the next one for both others.
#[test]
fn who_waits_for_a_commit_joins_the_next_one() {
    let told = served(
        "[workload]\nname = 'host'\njournal_pages = 1\n[[workload.process]]\nname = 'one'\ncount = 3\nfile = '4KiB'\ntimes = 1\nsteps = ['fsync']",
    );
    let ops: Vec<Op> = told.asked.iter().map(|one| one.1).collect();
    assert_eq!(ops, [Op::Write, Op::Flush, Op::Write, Op::Flush]);
}

fn results(text: &str) -> Result<Results, RunError> {
    let scenario = Scenario::from_toml(text, Path::new("/data"))?;
    let points = grid::points(&scenario, &[])?;
    compare(&points, None, &Wanted::default(), &Control::default())
}

fn run(load: &str) -> Run {
    results(&format!(
        "drive = 'desktop-7200-90mb:queue_depth=32'\n{load}"
    ))
    .unwrap()
    .runs
    .remove(0)
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
        0.5 < up && up < 10.0 && (11.0..11.1).contains(&one.duration_s),
        "what others do is counted for 10 s from the start-up on: {up} {}",
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

/// Scenarios that are wrong, and what is said.
const WRONG: &[(&str, &str)] = &[
    (
        "workload = 'host'",
        "host = no process (allowed: an application",
    ),
    (
        "workload = 'host:beside=1r-seq:request_max=0'",
        "host.request_max = 0 (allowed: bytes such as 512MiB",
    ),
    (
        "workload = 'host:beside=10x'",
        "host.beside = 10x (allowed: 0r0w for nobody",
    ),
    (
        "workload = 'host:launch=xtrem'",
        "start-up = xtrem; did you mean `xterm`?",
    ),
    (
        "workload = 'host:launch=no.csv'",
        "start-up = /data/no.csv (No such file",
    ),
    (
        "workload = 'host:beside=10r-seq:launch_s=3'",
        "host.launch_s = 3 (allowed: beside an application",
    ),
    (
        "workload = 'host:launch=xterm:file=1GiB'",
        "host.file = 1GiB (allowed: beside readers or writers",
    ),
    (
        "workload = 'host:launch=xterm:beside=1r-seq:sync_every_ms=1'",
        "host.sync_every_ms = 1 (allowed: beside writers",
    ),
    (
        "workload = 'host:beside=1w-seq:background_percent=20'",
        "host.background_percent = 20 (allowed: below dirty_percent",
    ),
    (
        "workload = 'host:beside=1r-seq:memory=1MiB'",
        "host.memory = 1MiB (allowed: at least 2097152 bytes",
    ),
    (
        "workload = 'host:beside=1r-seq:volume=200TiB'",
        "host.volume = 200TiB (allowed: ",
    ),
    (
        "workload = 'host:launch=xterm:seconds=5'",
        "host.seconds = 5 (allowed: more than 7 s",
    ),
    (
        "warmup = '5%'\nworkload = 'host:launch=xterm'",
        "warmup = 5% (allowed: auto (0 here)",
    ),
    ("workload = 'host:beside=400r-seq'", "file of reader-"),
    (
        "workload = 'host:beside=1r-seq:file=0'",
        "host.file = 0 (allowed: bytes such as 512MiB",
    ),
    (
        "workload = 'host:beside=1r-seq:dirty_percent=30'",
        "host.dirty_percent = 30 (allowed: where a process writes or syncs",
    ),
    (
        "workload = 'host:launch=xterm:volume=4MiB'",
        "host.volume = 4194304 bytes (allowed: at least 33554432 bytes",
    ),
];

/// The same of processes of the user's own: what stands behind the name of one.
const WRONG_PROCESSES: &[(&str, &str)] = &[
    (
        "every_ms = 0\nsteps = ['sync']",
        "process `one`: every_ms = 0 (allowed: above 0",
    ),
    (
        "count = 2\nsteps = ['sync']\n[[workload.process]]\nname = 'one-1'\nsteps = ['sync']",
        "host.process: name = one-1 (allowed: a name that no other process has",
    ),
    (
        "times = 1\nsteps = ['sync']\n[[workload.process]]\nname = 'two'\nafter = ['one']\nsteps = ['sync']",
        "process `two`: after = one (allowed: with times, or beside another",
    ),
    (
        "start_s = 80\nsteps = ['sync']",
        "host.seconds = 67 (allowed: more than 80 s, when `one` begins",
    ),
    (
        "steps = []",
        "process `one`: steps = nothing (allowed: at least one)",
    ),
    (
        "steps = ['fsnyc']",
        "process `one`: step 1 = \"fsnyc\" (allowed: { read",
    ),
    (
        "steps = [{ read = '5000' }]",
        "process `one`: step 1: read = \"5000\" (allowed: bytes such as",
    ),
    (
        "steps = [{ read = '4KiB', att = 'random' }]",
        "process `one`: step 1: att = \"random\"; did you mean `at`?",
    ),
    (
        "file = '4KiB'\nsteps = [{ read = '8KiB' }]",
        "process `one`: steps = 8192 bytes at a time (allowed: at most the file",
    ),
    (
        "cuont = 3\nsteps = ['sync']",
        "process `one`: cuont = 3; did you mean `count`?",
    ),
    (
        "class = 'high'\nsteps = ['sync']",
        "process `one`: class = high (allowed: real-time",
    ),
    (
        "level = 8\nsteps = ['sync']",
        "process `one`: level = 8 (allowed: 0, the most urgent, to 7)",
    ),
    (
        "rate_kb_s = 5\nsteps = ['sync']",
        "process `one`: rate_kb_s = 5 (allowed: beside a step",
    ),
    (
        "after = ['two']\nsteps = ['sync']",
        "process `one`: after = two (allowed: the name of another process",
    ),
    (
        "after = ['one']\ntimes = 1\nsteps = ['sync']",
        "after = one (allowed: no circle",
    ),
    (
        "after = ['two']\ntimes = 1\nsteps = ['sync']\n[[workload.process]]\nname = 'two'\ntimes = 1\nafter = ['one']\nsteps = ['sync']",
        "after = one, two (allowed: no circle",
    ),
    (
        "steps = ['sync']\n[[workload.process]]\nname = 'two'\nafter = ['one']\nsteps = ['sync']",
        "process `two`: after = one (allowed: one that ends",
    ),
    (
        "steps = ['sync']\n[[workload.process]]\nname = 'one'\nsteps = ['sync']",
        "process = one (allowed: a name of its own",
    ),
];

#[test]
fn what_is_wrong_is_named_with_what_is_allowed() {
    let process = |rest: &str| {
        format!("[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\n{rest}")
    };
    let whole = WRONG.iter().map(|(text, why)| ((*text).to_owned(), *why));
    let own = WRONG_PROCESSES
        .iter()
        .map(|(rest, why)| (process(rest), *why));
    for (text, why) in whole.chain(own) {
        let told = results(&format!("drive = 'desktop-7200-90mb'\n{text}"));
        let told = told.err().map(|error| error.to_string());
        let is = told.as_ref().is_some_and(|told| told.starts_with(why));
        assert!(is, "{text}: {told:?}, not {why}");
    }
}

#[test]
fn a_start_up_beyond_the_volume_and_wrong_lines_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let told = |rows: &str| {
        let path = folder.path().join("own.csv");
        std::fs::write(&path, rows).unwrap();
        let text = format!(
            "drive = 'desktop-7200-90mb'\nworkload = 'host:launch={}'",
            path.display()
        );
        results(&text).err().unwrap().to_string()
    };
    let head = "process,think_us,kind,sector,sectors\n";
    let beyond = told(&format!("{head}a,0,read,312499993,8\n"));
    assert!(beyond.contains("8 sectors from 312499993 on, request 1 (allowed: requests within the volume, 312500000 sectors)"), "{beyond}");
    for (rows, why) in [
        (String::new(), "= empty (allowed: at least one request)"),
        (
            head.to_owned(),
            "= no request (allowed: at least one request)",
        ),
        (
            "a,b\n".to_owned(),
            "line 1 = a,b (allowed: the names of the columns",
        ),
        (
            format!("{head}a,0,read,1\n"),
            "line 2 = a,0,read,1 (allowed: five columns",
        ),
        (
            format!("{head}a,0,raed,1,8\n"),
            "line 2: kind = raed (allowed: read, metadata",
        ),
        (
            format!("{head}a,0,read,1,0\n"),
            "line 2: sectors = 0 (allowed: at least 1)",
        ),
        (
            format!("{head}a,x,read,1,8\n"),
            "line 2: think_us = x (allowed: a whole number",
        ),
    ] {
        let said = told(&rows);
        assert!(said.contains(why), "{said}");
    }
}
