//! Processes that write to memory, the limits that hold them, and the flusher.

use nearslot_core::op::Op;

use super::{found, number, pages, served, served_failing, times, who};

/// 400 MiB of memory: the flusher begins at 42 MB and stops below, writers are slowed from 63 MB on
/// and stand at 84 MB.
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

/// A chunk is an eighth of the hard limit of 20,480 pages, in multiples of 4 MiB: 3,072 pages.
#[test]
fn files_take_turns_of_a_chunk_and_each_is_written_upward() {
    let told = served(&format!(
        "{WRITER}[[workload.process]]\nname = 'one'\ncount = 2\nfile = '150MiB'\nsteps = [{{ write = '4KiB' }}]"
    ));
    let (mut turns, mut ends) = (Vec::new(), [0; 2]);
    for (page, pages) in pages(&told, Op::Write) {
        let (file, page) = ((page / 38_400) as usize, page % 38_400);
        // It goes on where it was, or at the front behind the end.
        let on = page == ends[file] || (page == 0 && ends[file] == 38_400);
        assert!(on, "page {page} of file {file} behind {}", ends[file]);
        ends[file] = page + pages;
        match turns.last_mut() {
            Some((last, sum)) if *last == file => *sum += pages,
            _ => turns.push((file, pages)),
        }
    }
    turns.pop();
    assert!(turns.len() > 100, "{}", turns.len());
    assert!(turns.iter().all(|(_, pages)| *pages <= 3_072), "{turns:?}");
    let whole = turns.iter().filter(|(_, pages)| *pages == 3_072).count();
    assert!(whole > turns.len() / 2, "{whole} of {}", turns.len());
    let held = found(&told, "one-1").held_s + found(&told, "one-2").held_s;
    assert!((number(&told, "held_s") - held).abs() < 1e-9);
    let written = found(&told, "one-1").written_mb_s + found(&told, "one-2").written_mb_s;
    assert!((number(&told, "written_mb_s") - written).abs() < 1e-9);
}

/// 11,000 pages, 760 more than the background limit: a chunk of 3,072, and no second one.
#[test]
fn background_writeback_ends_with_the_chunk_that_comes_below_its_limit() {
    let told = served(&format!(
        "{WRITER}[[workload.process]]\nname = 'one'\nfile = '300MiB'\nsteps = [{{ write = '4KiB', times = 11000 }}, {{ think_ms = 100000 }}]"
    ));
    let expected: Vec<(u64, u64)> = (0..24).map(|at| (at * 128, 128)).collect();
    assert_eq!(pages(&told, Op::Write), expected);
}

/// Written at 30 s, written to from the front again a second later, and that is old at 65 s.
#[test]
fn writeback_goes_on_at_the_front_behind_the_end() {
    let told = served(
        "[workload]\nname = 'host'\nseconds = 80\n[[workload.process]]\nname = 'one'\nfile = '400KiB'\n\
         steps = [{ write = '400KiB' }, { think_ms = 31000 }, { write = '40KiB' }, { think_ms = 100000 }]",
    );
    assert_eq!(pages(&told, Op::Write), [(0, 100), (0, 10)]);
    assert_eq!(times(&told), [30_000_000, 65_000_000]);
}

#[test]
fn a_page_is_old_from_when_it_was_first_dirty_on() {
    let told = served(
        "[workload]\nname = 'host'\nseconds = 40\n[[workload.process]]\nname = 'one'\nfile = '8KiB'\nsteps = [{ write = '8KiB' }, { think_ms = 9000 }]",
    );
    assert_eq!(times(&told)[0], 30_000_000);
}

/// Two thousand pages a second: the file is never clean, yet is old only once in 30 s.
#[test]
fn what_is_dirty_behind_a_pass_of_old_pages_is_young() {
    let told = served(
        "[workload]\nname = 'host'\nflush_depth = 1\nseconds = 59\n[[workload.process]]\nname = 'one'\nfile = '20MiB'\nrate_kb_s = 8192\nsteps = [{ write = '4KiB', at = 'random' }]",
    );
    let times = times(&told);
    let (first, last) = (times[0], times[times.len() - 1]);
    assert!(first == 30_000_000 && last < 34_000_000, "{first} {last}");
}

/// Ten requests of a page, four at once: the others follow the answers.
#[test]
fn flush_depth_bounds_what_is_on_its_way() {
    let told = served(
        "[workload]\nname = 'host'\nflush_depth = 4\nrequest_max = '4KiB'\nread_ahead = '0'\nseconds = 40\n[[workload.process]]\nname = 'one'\nfile = '1MiB'\n\
         steps = [{ write = '40KiB' }, { think_ms = 100000 }]",
    );
    let after: Vec<u64> = times(&told).iter().map(|time| time - 30_000_000).collect();
    assert_eq!(
        after,
        [0, 0, 0, 0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000]
    );
}

#[test]
fn writeback_that_is_not_anonymous_is_of_who_wrote_last() {
    let told = served(
        "[workload]\nname = 'host'\nanonymous = false\nseconds = 40\n[[workload.process]]\nname = 'one'\nfile = '1MiB'\nsteps = [{ write = '8KiB' }, { think_ms = 100000 }]\n\
         [[workload.process]]\nname = 'two'\nshares = 'one'\nstart_s = 1\nsteps = [{ write = '4KiB' }, { think_ms = 100000 }]",
    );
    assert_eq!(who(&told), ["two"]);
}

#[test]
fn a_write_of_the_flusher_that_fails_counts_for_who_wrote() {
    let told = served_failing(
        "[workload]\nname = 'host'\nseconds = 40\n[[workload.process]]\nname = 'idle'\nsteps = [{ think_ms = 100000 }]\n\
         [[workload.process]]\nname = 'one'\nfile = '1MiB'\nsteps = [{ write = '8KiB' }, { think_ms = 100000 }]",
        Some(0),
    );
    assert_eq!(
        (found(&told, "idle").failed, found(&told, "one").failed),
        (0, 1)
    );
}
