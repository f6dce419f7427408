//! Who shares a drive: many streams opened to gain share, groups that end while their requests
//! wait, and claims that make no sense.

use nearslot_lab::outcome::Run;

use super::results;

/// Random readers of 4 KiB past the page cache, one beside 999, over five seconds.
fn crowd(sched: &str, claims: &str) -> Run {
    let process = |name: &str, count: u64| {
        format!(
            "[[workload.process]]\nname = '{name}'\ncount = {count}\nfile = '4MiB'\nsteps = [{{ read = '4KiB', at = 'random', direct = true }}]\n"
        )
    };
    let text = format!(
        "drive = 'hitachi-7200-90mb'\nsched = '{sched}'\n{claims}[workload]\nname = 'host'\nseconds = 5\n{}{}",
        process("one", 1),
        process("many", 999)
    );
    results(&text).unwrap().runs.remove(0)
}

/// What the one has of all, in percent, and of all in MB/s.
fn part_of_one(run: &Run) -> (f64, f64) {
    let all: f64 = run.processes.iter().map(|one| one.read_mb_s).sum();
    assert_eq!(
        (run.processes.len(), &*run.processes[0].name),
        (1_000, "one")
    );
    (100.0 * run.processes[0].read_mb_s / all, all)
}

/// A share is a stream's: who opens 999 has nearly all, and the drive is as busy as ever.
#[test]
fn who_opens_a_thousand_streams_has_a_thousand_shares() {
    for sched in ["bfq", "cfq", "slack", "kyber", "mq-deadline"] {
        let (part, all) = part_of_one(&crowd(sched, ""));
        // Until it is known to read here and there it has a turn like one who reads in a row, with
        // slack 100 ms of the 5 s.
        let most = if sched == "slack" { 2.0 } else { 1.0 };
        assert!(part < most && all > 0.7, "{sched}: {part} % of {all} MB/s");
    }
}

/// Two groups share as two streams do, and a target holds whoever else there is.
#[test]
fn a_group_or_a_target_keeps_the_share_of_one_from_a_thousand() {
    let many: Vec<String> = (2..=1_000).map(|stream| format!("{stream}=2")).collect();
    let claims = format!("claims = 'told:group=1=1 {}'\n", many.join(" "));
    let (part, _) = part_of_one(&crowd("bfq", &claims));
    assert!(part > 40.0, "{part} %");
    let kept = crowd("slack:targets_ms=1=100", "");
    let (part, _) = part_of_one(&kept);
    let longest = kept.processes[0].max_s.unwrap();
    assert!(part > 20.0 && longest < 0.2, "{part} %, {longest} s");
}

/// Five of a group read 2 MiB with a window of as much again ahead, and end before that has come,
/// while another group goes on.
#[test]
fn a_group_that_ends_with_requests_queued_is_answered_all_the_same() {
    for sched in [
        "bfq",
        "bfq:strict_guarantees=true",
        "cfq",
        "slack",
        "slack:targets_ms=1=100 2=200",
    ] {
        let claims = "claims = 'told:group=1=1 2=2 3=2 4=2 5=2 6=2'\n";
        let text = format!(
            "drive = 'hitachi-7200-90mb'\nsched = '{sched}'\n{claims}[workload]\nname = 'host'\nread_ahead = '4MiB'\n\
             [[workload.process]]\nname = 'one'\nfile = '64MiB'\ntimes = 300\nsteps = [{{ read = '4KiB', at = 'random', direct = true }}]\n\
             [[workload.process]]\nname = 'five'\ncount = 5\nfile = '64MiB'\ntimes = 1\nsteps = [{{ read = '2MiB' }}]\n"
        );
        let run = results(&text).unwrap().runs.remove(0);
        assert!(
            run.processes.iter().all(|one| one.ended),
            "{sched}: {:?}",
            run.processes
        );
        // 4 MiB of each in requests of 512 KiB, whoever still waits for them.
        let of_five = run
            .stream_responses
            .iter()
            .filter(|one| one.name.starts_with("five"));
        let requests: Vec<u64> = of_five.map(|one| one.requests).collect();
        assert_eq!((requests, run.pending), (vec![8; 5], 0), "{sched}");
    }
}

/// Claims and targets that make no sense, and what is said.
const WRONG: &[(&str, &str)] = &[
    (
        "sched = 'bfq'\nclaims = 'told:weight=1=0'",
        "told.weight = 1=0 (allowed: STREAM=WEIGHT, several separated by spaces, with weights from 1 to 1000",
    ),
    (
        "sched = 'bfq'\nclaims = 'told:weight=1=1001'",
        "told.weight = 1=1001 (allowed: STREAM=WEIGHT, several separated by spaces, with weights from 1 to 1000",
    ),
    (
        "sched = 'cfq'\nclaims = 'told:level=1=8'",
        "told.level = 1=8 (allowed: STREAM=LEVEL, several separated by spaces, with levels from 0, the most urgent, to 7)",
    ),
    (
        "sched = 'cfq'\nclaims = 'told:class=1=high'",
        "told.class = 1=high (allowed: STREAM=CLASS, several separated by spaces, with real-time, best-effort or idle)",
    ),
    (
        "sched = 'bfq'\nclaims = 'told:group=1=10001'",
        "told.group = 1=10001 (allowed: STREAM=GROUP, several separated by spaces, with groups from 0, the root, to 10000)",
    ),
    (
        "sched = 'slack:targets_ms=1=0'",
        "slack.targets_ms = 1=0 (allowed: STREAM=MILLISECONDS, each stream once",
    ),
    (
        "sched = 'slack:targets_ms=1=50 1=60'",
        "slack.targets_ms = 1=50 1=60 (allowed: STREAM=MILLISECONDS, each stream once",
    ),
    (
        "sched = 'slack:targets_ms=1=12'",
        "slack.targets_ms = 1=12 (allowed: at least 4",
    ),
    (
        "sched = 'slack:targets_ms=1=55 2=55 3=55 4=55 5=55'",
        "slack.targets_ms = ",
    ),
    (
        "sched = 'slack:targets_ms=1=100:prompt_percent=101'",
        "slack.prompt_percent = 101 (allowed: a whole number from 0 to 100)",
    ),
];

#[test]
fn shares_out_of_range_and_targets_that_cannot_be_met_are_refused() {
    for (settings, why) in WRONG {
        let text = format!(
            "drive = 'hitachi-7200-90mb'\nworkload = 'host:beside=5r-seq:seconds=1'\n{settings}"
        );
        let told = results(&text).err().map(|error| error.to_string());
        let is = told.as_ref().is_some_and(|told| told.starts_with(why));
        assert!(is, "{settings}: {told:?}, not {why}");
    }
}
