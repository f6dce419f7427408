//! Processes that read: windows of read-ahead, the page cache, what goes past it, rates and rounds.

use nearslot_core::op::Op;

use super::{FILES, found, number, pages, served, served_failing, times, who};

/// 4 KiB in a row from the front: windows of 4, 8, 16, 32 pages, each asked for one window ahead; a
/// second reading finds all in memory.
#[test]
fn a_reader_in_a_row_asks_for_windows_one_ahead() {
    let told = served(
        "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\nfile = '400KiB'\ntimes = 200\nsteps = [{ read = '4KiB' }]",
    );
    assert_eq!(
        pages(&told, Op::Read),
        [(0, 4), (4, 8), (12, 16), (28, 32), (60, 32), (92, 8)]
    );
    // The first page comes after 1 ms; one is computed for 1 us to ask and 1 us to copy; the second
    // brings the next window.
    let times: Vec<u64> = told.asked.iter().map(|one| one.0).collect();
    assert_eq!(&times[..2], [1, 1_003]);
    let one = found(&told, "one");
    assert_eq!((one.rounds, one.ended, one.failed), (200, true, 0));
    assert!(told.requests.iter().all(|request| !request.sync));
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
    // What it waits until a round is to begin is not of the round.
    let most = found(&fast, "player").max_s.unwrap();
    assert!((most - 0.002).abs() < 1e-5, "{most}");
    assert_eq!(number(&fast, "late_percent"), 0.0);
    let late = told("0.5");
    // Each takes a little longer than four may, so four do not begin behind each but the last.
    let player = found(&late, "player");
    assert_eq!(
        (player.rounds, player.late, player.due),
        (10, Some(46), Some(46))
    );
    assert_eq!(number(&late, "late_percent"), 100.0);
}

/// A round that is under way at the end is late if it has taken too long, and others did not begin
/// meanwhile.
#[test]
fn a_round_that_never_ends_is_late() {
    let told = |think: &str, more: &str| {
        let told = served(&format!(
            "[workload]\nname = 'host'\nseconds = 2\n[[workload.process]]\nname = 'player'\nevery_ms = 300\nsteps = [{{ think_ms = {think} }}]\n{more}"
        ));
        let player = found(&told, "player");
        (player.rounds, player.late, player.due)
    };
    assert_eq!(told("9000", ""), (0, Some(7), Some(7)));
    assert_eq!(told("9000", "times = 1"), (0, Some(1), Some(1)));
    // It has not begun when the other one ends.
    let other = "start_s = 1.5\n[[workload.process]]\nname = 'other'\ntimes = 1\nsteps = [{ think_ms = 1000 }]";
    assert_eq!(told("1000", other), (0, Some(0), Some(0)));
    // The seventh began at 1.8 s.
    assert_eq!(told("10", ""), (7, Some(0), Some(7)));
    assert_eq!(told("250", ""), (6, Some(0), Some(6)));
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

/// A flush of a millisecond, and a microsecond for the step.
#[test]
fn a_round_that_takes_just_its_time_is_not_late() {
    let told = served(
        "[workload]\nname = 'host'\njournal_pages = 0\n[[workload.process]]\nname = 'one'\nfile = '4KiB'\ntimes = 4\nevery_ms = 1.001\nsteps = ['fsync']",
    );
    assert_eq!(times(&told), [0, 1_001, 2_002, 3_003]);
    assert_eq!(found(&told, "one").late, Some(0));
}

#[test]
fn a_window_is_asked_for_in_requests_of_request_max() {
    let told = served(
        "[workload]\nname = 'host'\nrequest_max = '16KiB'\n[[workload.process]]\nname = 'one'\nfile = '400KiB'\ntimes = 5\nsteps = [{ read = '4KiB' }]",
    );
    let expected = [0, 4, 8, 12, 16, 20, 24].map(|page| (page, 4));
    assert_eq!(pages(&told, Op::Read), expected);
}

/// A window of four pages is on its way when twenty others come who want one of them.
#[test]
fn everybody_who_waits_for_a_page_of_one_request_goes_on() {
    let told = served(
        "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\nfile = '16KiB'\ntimes = 1\nsteps = [{ read = '4KiB' }]\n\
         [[workload.process]]\nname = 'other'\nshares = 'one'\ncount = 20\nstart_s = 0.0005\ntimes = 1\nsteps = [{ read = '4KiB', at = 'random' }]",
    );
    assert_eq!(pages(&told, Op::Read), [(0, 4)]);
    let processes = told.made.workload.processes();
    assert!(processes.iter().all(|one| one.ended), "{processes:?}");
    assert!(told.ended.0 < 1_100_000, "{:?}", told.ended);
}

/// Four pages of memory: who reads on and on passes by a page that is asked for again and again.
#[test]
fn a_page_that_is_asked_for_again_stays_in_memory() {
    let told = served(
        "[workload]\nname = 'host'\nmemory = '16KiB'\nread_ahead = '0'\nrequest_max = '4KiB'\n[[workload.process]]\nname = 'again'\nfile = '4KiB'\ntimes = 50\n\
         steps = [{ read = '4KiB' }, { think_ms = 10 }]\n[[workload.process]]\nname = 'on'\nfile = '400KiB'\ntimes = 150\nsteps = [{ read = '4KiB' }, { think_ms = 10 }]",
    );
    let asked = pages(&told, Op::Read);
    assert_eq!(asked.iter().filter(|place| **place == (0, 1)).count(), 1);
    // The second time round nothing of the long file is left.
    assert_eq!(asked.len(), 1 + 150);
}

#[test]
fn places_are_in_a_row_from_the_front_again_or_anywhere_up_to_the_last_page() {
    let told = |file: &str, times: u64, step: &str| {
        served(&format!(
            "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\nfile = '{file}'\ntimes = {times}\nsteps = [{{ read = {step}, direct = true }}]"
        ))
    };
    let row = told("12KiB", 4, "'4KiB'");
    assert_eq!(pages(&row, Op::Read), [(0, 1), (1, 1), (2, 1), (0, 1)]);
    // What no longer fits before the end is read from the front.
    let wide = told("12KiB", 3, "'8KiB'");
    assert_eq!(pages(&wide, Op::Read), [(0, 2); 3]);
    let mut any = pages(&told("12KiB", 60, "'4KiB', at = 'random'"), Op::Read);
    any.sort_unstable();
    any.dedup();
    assert_eq!(any, [(0, 1), (1, 1), (2, 1)]);
    assert_eq!(
        pages(&told("8KiB", 2, "'8KiB', at = 'random'"), Op::Read),
        [(0, 2); 2]
    );
}

/// 4 KiB at 4,000 bytes a second are 1.024 s; after five seconds of thinking nothing is made up
/// for.
#[test]
fn a_rate_is_not_made_up_for_after_a_break() {
    let told = served(
        "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\nfile = '1MiB'\ntimes = 2\nrate_kb_s = 4\n\
         steps = [{ read = '4KiB', times = 2, direct = true }, { think_ms = 5000 }]",
    );
    assert_eq!(times(&told), [0, 1_024_000, 6_025_002, 7_049_002]);
}

#[test]
fn what_was_computed_comes_before_what_others_can_see() {
    let file = "file = '1MiB'\n";
    for (file, step) in [
        (file, "{ read = '4KiB', direct = true }"),
        (file, "'fsync'"),
        ("", "'sync'"),
    ] {
        let told = served(&format!(
            "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\n{file}times = 1\nsteps = [{{ think_ms = 0.5 }}, {step}]"
        ));
        assert_eq!(told.asked[0].0, 501, "{step}");
    }
}

/// Two that end after one and two milliseconds, and who waits for both.
#[test]
fn who_comes_after_others_begins_when_all_of_them_have_ended() {
    let read = "times = 1\nsteps = [{ read = '4KiB', direct = true }]";
    let after = |name: &str, start: &str| {
        format!(
            "[[workload.process]]\nname = '{name}'\nfile = '1MiB'\nafter = ['first']\nstart_s = {start}\n{read}\n"
        )
    };
    let told = served(&format!(
        "[workload]\nname = 'host'\n[[workload.process]]\nname = 'first'\ncount = 2\nfile = '1MiB'\n{read}\n{}{}",
        after("soon", "0.0015"),
        after("late", "0.01")
    ));
    assert_eq!(times(&told), [0, 0, 2_001, 10_000]);
    assert_eq!(who(&told), ["first-1", "first-2", "soon", "late"]);
}

#[test]
fn the_run_ends_with_the_last_process_that_ends() {
    let told = served(
        "[workload]\nname = 'host'\n[[workload.process]]\nname = 'ever'\nfile = '1MiB'\nsteps = [{ read = '4KiB', direct = true }]\n\
         [[workload.process]]\nname = 'one'\nfile = '1MiB'\ntimes = 3\nsteps = [{ read = '4KiB', direct = true }]",
    );
    // Turn by turn, and what is on its way at the end is still answered.
    assert_eq!(found(&told, "one").rounds, 3);
    assert!(told.ended.0 < 8_000_000, "{:?}", told.ended);
}

#[test]
fn thinking_around_a_mean_is_exponential() {
    let told = served(
        "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\ntimes = 2000\nsteps = [{ think_mean_ms = 5 }]",
    );
    let one = found(&told, "one");
    let [least, mean, most] = [one.min_s, one.mean_s, one.max_s].map(Option::unwrap);
    assert!((mean - 0.005).abs() < 0.000_5, "{mean}");
    assert!(least < 0.000_1 && most > 0.02, "{least} {most}");
}

#[test]
fn each_process_has_chances_of_its_own() {
    let told = served(
        "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\ncount = 2\nfile = '100MiB'\ntimes = 20\nsteps = [{ read = '4KiB', at = 'random', direct = true }]",
    );
    let of = |name: &str| -> Vec<u64> {
        let names = who(&told);
        let asked = pages(&told, Op::Read).into_iter().zip(names);
        let of = asked.filter(|(_, other)| *other == name);
        of.map(|((page, _), _)| page % 25_600).collect()
    };
    assert_eq!(of("one-1").len(), 20);
    assert_ne!(of("one-1"), of("one-2"));
}

/// The file of who only syncs is 16 MiB; the third uses that of the second.
#[test]
fn files_lie_behind_each_other_and_one_may_be_shared() {
    let told = served(
        "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\nsteps = ['sync']\nstart_s = 1\n[[workload.process]]\nname = 'two'\nfile = '1MiB'\nsteps = [{ think_ms = 9 }]\n\
         [[workload.process]]\nname = 'three'\nshares = 'two'\ntimes = 1\nsteps = [{ read = '1MiB', direct = true }]",
    );
    assert_eq!(pages(&told, Op::Read), [(4_096, 256)]);
}

#[test]
fn class_and_level_are_linux_numbers() {
    for (said, priority) in [
        ("class = 'real-time'", 1 << 13 | 4),
        ("class = 'best-effort'\nlevel = 0", 2 << 13),
        ("level = 7", 2 << 13 | 7),
        ("class = 'idle'", 3 << 13 | 4),
        ("start_s = 0", 0),
    ] {
        let told = served(&format!(
            "[workload]\nname = 'host'\njournal_pages = 0\n[[workload.process]]\nname = 'one'\nfile = '1MiB'\ntimes = 1\n{said}\n\
             steps = [{{ read = '4KiB' }}, {{ write = '4KiB' }}, 'fsync']"
        ));
        // The flush is the journal's, which is of no class.
        let told: Vec<u16> = told.requests.iter().map(|one| one.priority).collect();
        assert_eq!(told, [priority, priority, 0], "{said}");
    }
}

/// The second of two processes fails, and that is told of it and of all.
#[test]
fn what_failed_is_told_of_who_asked_and_of_all() {
    let told = served_failing(
        "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\nfile = '1MiB'\ntimes = 1\nsteps = [{ read = '4KiB', direct = true }]\n\
         [[workload.process]]\nname = 'two'\nfile = '1MiB'\ntimes = 1\nsteps = [{ read = '4KiB', direct = true }]",
        Some(1),
    );
    assert_eq!(
        (found(&told, "one").failed, found(&told, "two").failed),
        (0, 1)
    );
    assert_eq!(number(&told, "failed"), 1.0);
}
