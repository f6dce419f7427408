//! Who waits for what was written: fsync, sync, and the journal behind both.

use nearslot_core::op::Op;

use super::{BLOCKS, FILES, Served, found, number, served, served_failing, times};

/// Who calls fsync writes its pages itself, as synchronous writes of its own; then the journal
/// writes and flushes.
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

/// An asynchronous pass, a synchronous one of what came meanwhile, a commit.
#[test]
fn sync_writes_what_everybody_has_written() {
    let told = served(
        "[workload]\nname = 'host'\njournal_pages = 0\n[[workload.process]]\nname = 'one'\nfile = '1MiB'\ntimes = 1\nsteps = [{ write = '8KiB' }]\n\
         [[workload.process]]\nname = 'other'\nafter = ['one']\ntimes = 1\nsteps = ['sync']",
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

/// Two write one page and wait for it, again and again: never more than one write of it is under
/// way.
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
    // Nearly three hundred writes of a millisecond; the other begins 10 ms later and ends with
    // them.
    assert!(one.mean_s.unwrap() > 0.25, "{:?}", one.mean_s);
    assert!(
        other.mean_s.unwrap() > one.mean_s.unwrap() - 0.03,
        "{:?}",
        other.mean_s
    );
}

/// The asynchronous pass sends what is dirty; what is written while it goes on is of the
/// synchronous pass.
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
    let (_, measures) = told.made.workload.measures();
    assert!(measures.iter().all(|(name, _)| *name != "late_percent"));
    assert!(found(&told, "sync").rounds > 0);
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

/// Behind a greedy writer the flusher is never below its limit, and gives way all the same.
#[test]
fn background_writeback_gives_way_to_sync() {
    let told = served(
        "[workload]\nname = 'host'\nmemory = '400MiB'\nflush_depth = 4\nseconds = 20\n[[workload.process]]\nname = 'one'\nfile = '300MiB'\nsteps = [{ write = '4KiB' }]\n\
         [[workload.process]]\nname = 'other'\nstart_s = 5\ntimes = 1\nsteps = ['sync']",
    );
    let took = found(&told, "other").mean_s;
    assert!(took.is_some_and(|took| took < 2.0), "{took:?}");
}

/// Its first pass is of the whole file from the front, wherever the flusher was, and however much
/// it is.
#[test]
fn sync_first_sends_all_that_is_dirty_without_anybody_who_waits() {
    // Behind a chunk of 3,072 of 11,000 pages somebody else writes to the front.
    let flusher_was_there = served(
        "[workload]\nname = 'host'\nmemory = '400MiB'\n[[workload.process]]\nname = 'one'\nfile = '300MiB'\nsteps = [{ write = '4KiB', times = 11000 }, { think_ms = 100000 }]\n\
         [[workload.process]]\nname = 'other'\nshares = 'one'\nstart_s = 0.5\ntimes = 1\nsteps = [{ write = '40KiB' }, 'sync']",
    );
    let large = served(
        "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\nfile = '60MiB'\ntimes = 1\nsteps = [{ write = '60MiB' }, 'sync']",
    );
    for (told, requests) in [(flusher_was_there, 24 + 1 + 62), (large, 120)] {
        let of_files = told
            .requests
            .iter()
            .filter(|one| one.extent.start.0 >= FILES);
        let sync: Vec<bool> = of_files.map(|request| request.sync).collect();
        assert_eq!(sync, vec![false; requests]);
    }
}

/// Ten requests of a page, four at once, behind what it takes to write ten pages.
#[test]
fn who_waits_for_its_own_writes_keeps_to_flush_depth() {
    let told = served(
        "[workload]\nname = 'host'\njournal_pages = 0\nflush_depth = 4\nrequest_max = '4KiB'\nread_ahead = '0'\n[[workload.process]]\nname = 'one'\nfile = '1MiB'\ntimes = 1\n\
         steps = [{ write = '40KiB' }, 'fsync']",
    );
    let times = times(&told);
    let after: Vec<u64> = times.iter().map(|time| time - times[0]).collect();
    assert_eq!(
        after,
        [0, 0, 0, 0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 10_000]
    );
}

/// Any request of an fsync that fails is told of who called it: its page, the commit, the flush.
#[test]
fn what_fails_of_an_fsync_is_told_of_who_called_it() {
    for fails in 0..3 {
        let told = served_failing(
            "[workload]\nname = 'host'\n[[workload.process]]\nname = 'one'\nfile = '1MiB'\ntimes = 1\nsteps = [{ write = '4KiB' }, 'fsync']",
            Some(fails),
        );
        let one = found(&told, "one");
        assert_eq!((one.failed, one.ended), (1, true), "{fails}");
        assert_eq!(told.asked.len(), 3);
    }
}

/// The journal of this volume has 8,192 pages: eight commits of 1,024.
#[test]
fn the_journal_goes_round() {
    let told = served(
        "[workload]\nname = 'host'\njournal_pages = 1024\n[[workload.process]]\nname = 'one'\nfile = '1MiB'\ntimes = 9\nsteps = ['fsync']",
    );
    let of_journal = told.asked.iter().filter(|one| one.1 == Op::Write);
    let places: Vec<(u64, u64)> = of_journal
        .map(|one| ((one.2 - BLOCKS / 2) / 8, one.3 / 8))
        .collect();
    let expected: Vec<(u64, u64)> = (0..9).map(|at| (at % 8 * 1_024, 1_024)).collect();
    assert_eq!(places, expected);
}

/// Dirtied again while it is on its way: who syncs waits for both, and sends the second.
#[test]
fn a_page_that_is_dirtied_again_on_its_way_is_sent_again() {
    // The first fsync has the page on its way for a millisecond; the second process writes to it
    // meanwhile.
    let told = served(
        "[workload]\nname = 'host'\njournal_pages = 0\n[[workload.process]]\nname = 'one'\nfile = '4KiB'\ntimes = 1\nsteps = [{ write = '4KiB' }, 'fsync']\n\
         [[workload.process]]\nname = 'two'\nshares = 'one'\nstart_s = 0.0005\ntimes = 1\nsteps = [{ write = '4KiB' }, 'fsync']",
    );
    let asked: Vec<_> = told.asked.iter().map(|one| (one.0, one.1)).collect();
    let expected = [
        (2, Op::Write),
        (1_002, Op::Flush),
        (1_002, Op::Write),
        (3_002, Op::Flush),
    ];
    assert_eq!(asked, expected);
}

/// All that is dirty of the file is on its way when somebody syncs: the flush is behind that.
#[test]
fn sync_waits_for_a_file_of_which_all_is_on_its_way() {
    let told = served(
        "[workload]\nname = 'host'\njournal_pages = 0\n[[workload.process]]\nname = 'one'\nfile = '4KiB'\ntimes = 1\nsteps = [{ write = '4KiB' }, 'fsync']\n\
         [[workload.process]]\nname = 'two'\nstart_s = 0.0005\ntimes = 1\nsteps = ['sync']",
    );
    let asked: Vec<_> = told.asked.iter().map(|one| (one.0, one.1)).collect();
    let expected = [(2, Op::Write), (1_002, Op::Flush), (2_002, Op::Flush)];
    assert_eq!(asked, expected);
}
