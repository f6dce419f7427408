//! Miss ratios of traces: what counts, what is cached as one, and that they are those of another
//! simulator.

mod random;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use nearslot_core::rng::Rng;
use nearslot_lab::hitrate::{HitRates, Question, Row, Sample, Unit, Which, hit_rates};
use nearslot_lab::report::Format;
use nearslot_lab::run::RunError;
use nearslot_lab::sim::Control;
use nearslot_trace::OpenOptions;

/// A trace of these requests: device, offset and length in bytes, `R` or `W`.
fn trace(name: &str, requests: &[(u32, u64, u64, char)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hitrate");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name).with_extension("csv");
    let mut text = "time_us,dev,lba,blocks,op\n".to_owned();
    for (index, (device, offset, len, op)) in requests.iter().enumerate() {
        let (lba, blocks) = (offset / 512, len / 512);
        text += &format!("{},{device},{lba},{blocks},{op}\n", index * 1_000);
    }
    fs::write(&path, text).unwrap();
    path
}

fn asked(
    path: &Path,
    caches: &str,
    sizes: &str,
    unit: Unit,
    which: Which,
) -> Result<HitRates, RunError> {
    let question = Question {
        caches: caches
            .split(',')
            .map(|word| word.parse().unwrap())
            .collect(),
        sizes: sizes.split(',').map(|word| word.parse().unwrap()).collect(),
        leave_out: false,
        unit,
        which,
        sample: None,
        per_request: false,
    };
    let how = OpenOptions::default();
    hit_rates(&[path.to_owned()], &how, &question, &Control::default())
}

fn misses(found: &HitRates) -> Vec<u64> {
    found.rows.iter().map(|row| row.misses).collect()
}

#[test]
fn a_request_asks_for_each_page_that_it_touches() {
    // Pages 0 and 1, page 0, page 1 of another device, page 1, and again all of them.
    let requests = [
        (1, 2_048, 4_096, 'R'),
        (1, 0, 512, 'W'),
        (2, 4_096, 4_096, 'R'),
        (1, 6_144, 512, 'R'),
    ];
    let twice = [requests, requests].concat();
    let path = trace("pages", &twice);
    let page = Unit::Page(4_096);
    let all = asked(&path, "lru,fifo", "3lines,100%", page, Which::All).unwrap();
    assert_eq!((all.requests, all.asked, all.footprint), (8, 10, 3));
    assert_eq!(misses(&all), [3, 3, 3, 3]);
    // Of two lines: 0 1 0 2 1 | 0 1 0 2 1.
    let two = asked(&path, "lru,fifo,optimal", "2lines", page, Which::All).unwrap();
    assert_eq!(misses(&two), [7, 6, 5]);
    // Without the writes: 0 1 2 1 | 0 1 2 1.
    let reads = asked(&path, "lru", "2lines", page, Which::Reads).unwrap();
    assert_eq!((reads.requests, reads.asked, misses(&reads)[0]), (6, 8, 5));
    // What begins at 2048, 0, 4096 of the other one and 6144, in sectors of any length.
    let whole = asked(&path, "lru", "100%", Unit::Request, Which::All).unwrap();
    assert_eq!((whole.asked, whole.footprint, misses(&whole)[0]), (8, 4, 4));
    let large = asked(&path, "lru", "1lines", Unit::Page(1 << 20), Which::All).unwrap();
    assert_eq!((large.asked, large.footprint, misses(&large)[0]), (8, 2, 5));
}

#[test]
fn what_cannot_be_asked_is_named() {
    let path = trace("writes", &[(1, 0, 4_096, 'W'), (1, 4_096, 4_096, 'W')]);
    let told = |caches: &str, sizes: &str, which| {
        let error = asked(&path, caches, sizes, Unit::Page(4_096), which);
        error.unwrap_err().to_string()
    };
    assert!(told("lru", "1%", Which::All).contains("at least one line"));
    assert!(told("lur", "1lines", Which::All).contains("did you mean `lru`?"));
    assert!(told("lru:x=1", "1lines", Which::All).contains("lru"));
    assert!(told("lru", "1lines", Which::Reads).contains("has no reads"));
}

#[test]
fn miss_ratios_are_those_of_another_simulator() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = package.join("tests/data/hitrate");
    let compared = compare(&own.join("miss_ratios.csv"), &own, "tpcc_small");
    assert!(compared > 100, "{compared} rows");
    // A longer trace, if it is there.
    let shared = package.join("../../../shared");
    let table = shared.join("reference/cachesim/miss_ratios.csv");
    if table.exists() {
        let compared = compare(&table, &shared.join("traces"), "cloudphysics_vm_2h");
        assert!(compared > 100, "{compared} rows");
    }
}

/// Holds miss ratios of a trace against those of libCacheSim, to all digits that it prints; those
/// of S3-FIFO and W-TinyLFU within 0.004. How many.
fn compare(table: &Path, traces: &Path, trace: &str) -> usize {
    let table = fs::read_to_string(table).unwrap();
    let names = [
        ("FIFO", "fifo", 0.0),
        ("LRU", "lru", 0.0),
        ("Clock", "clock", 0.0),
        ("SLRU", "slru", 0.0),
        ("ARC", "arc", 0.0),
        ("TwoQ", "two_q", 0.0),
        ("LIRS", "lirs", 0.0),
        ("Sieve", "sieve", 0.0),
        ("Belady", "optimal", 0.0),
        ("S3FIFO", "s3_fifo", 0.004),
        ("WTinyLFU", "w_tinylfu", 0.004),
    ];
    let mut compared = 0;
    let path = traces.join(trace).with_extension("csv");
    for (word, unit) in [("request", Unit::Request), ("page4k", Unit::Page(4_096))] {
        let rows = table.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let rows: Vec<_> = rows.filter(|row| row[..2] == [trace, word]).collect();
        let mut sizes: Vec<&str> = rows.iter().map(|row| row[6]).collect();
        sizes.sort();
        sizes.dedup();
        let sizes: Vec<String> = sizes.iter().map(|size| format!("{size}lines")).collect();
        let caches: Vec<&str> = names.iter().map(|(_, own, _)| *own).collect();
        let found = asked(&path, &caches.join(","), &sizes.join(","), unit, Which::All).unwrap();
        for row in &rows {
            let Some((_, own, most)) = names.iter().find(|(theirs, ..)| *theirs == row[4]) else {
                continue;
            };
            let size = row[6].parse::<u64>().unwrap();
            let ours = found
                .rows
                .iter()
                .find(|one| one.cache == *own && one.lines == size);
            let (ours, theirs) = (ours.unwrap().miss_ratio, row[8].parse::<f64>().unwrap());
            // It caches nothing where a window of one in a hundred lines would have none.
            let no_window = *own == "w_tinylfu" && size < 100;
            let apart = (ours - theirs).abs();
            assert!(
                no_window || apart <= most + 0.000_051,
                "{trace} {word} {row:?}: {ours}"
            );
            compared += 1;
        }
    }
    compared
}

/// 300,000 requests: popular pages, and scans.
fn popular(name: &str) -> PathBuf {
    let mut rng = Rng::stream(7, "popular");
    let mut requests = Vec::new();
    while requests.len() < 300_000 {
        if rng.chance(0.001) {
            let first = rng.below(30_000);
            requests.extend((first..first + 200).map(|page| (1, page * 4_096, 4_096, 'R')));
            continue;
        }
        // Half of all requests are for the same hundredth of the pages, and so on.
        let page = (30_000.0 * rng.unit().powi(4)) as u64;
        let page = page.wrapping_mul(7_919) % 30_000;
        requests.push((1, page * 4_096, 4_096, 'R'));
    }
    trace(name, &requests)
}

/// Sizes in lines are simulated while the trace is read, shares when all of it is known.
#[test]
fn it_does_not_matter_how_a_size_is_spelled() {
    let path = popular("spelled");
    let caches = "fifo,lru,clock,slru,two_q,lirs,arc,s3_fifo,sieve,w_tinylfu";
    let ask = |caches: &str, sizes: &str| {
        asked(&path, caches, sizes, Unit::Page(4_096), Which::All).unwrap()
    };
    let shares = ask(caches, "10%,0.7%,1%");
    let lines: Vec<String> = shares.rows[..3]
        .iter()
        .map(|row| format!("{}lines", row.lines))
        .collect();
    let same = ask(caches, &lines.join(","));
    assert_eq!(misses(&shares), misses(&same));
    // With one that looks ahead nothing is simulated meanwhile.
    let both = ask(&format!("{caches},optimal"), &lines.join(","));
    assert_eq!(misses(&both)[..30], misses(&same));
    let one_by_one: Vec<u64> = lines
        .iter()
        .map(|size| misses(&ask("lru", size))[0])
        .collect();
    assert_eq!(misses(&shares)[3..6], one_by_one);
}

/// A sample tells how far it may be off, and it is off by more only as seldom as it says.
#[test]
fn a_sample_is_as_near_as_it_says() {
    let path = popular("sampled");
    let mut question = Question {
        caches: ["lru", "s3_fifo", "optimal"]
            .map(|word| word.parse().unwrap())
            .to_vec(),
        sizes: ["5%", "20%", "60%"]
            .map(|word| word.parse().unwrap())
            .to_vec(),
        leave_out: false,
        unit: Unit::Page(4_096),
        which: Which::All,
        sample: None,
        per_request: false,
    };
    let ask = |question: &Question| {
        hit_rates(
            std::slice::from_ref(&path),
            &OpenOptions::default(),
            question,
            &Control::default(),
        )
    };
    let truth = ask(&question).unwrap();
    let (mut outside, mut of, mut error) = (0, 0, 0.0);
    for seed in 0..20 {
        question.sample = Some(Sample { share: 0.1, seed });
        let found = ask(&question).unwrap();
        assert_eq!((found.requests, found.asked), (truth.requests, truth.asked));
        let lines = found.sample.unwrap().lines;
        assert!((2_600..3_400).contains(&lines), "{lines}");
        for (row, whole) in found.rows.iter().zip(&truth.rows) {
            let off = row.miss_ratio - whole.miss_ratio;
            outside += u32::from(off.abs() > row.off_by.unwrap());
            error += off;
            of += 1;
            assert!(row.off_by.unwrap() < 0.15, "{row:?}");
        }
    }
    // One in twenty is meant; the rows of a sample go together.
    assert!(outside <= of / 8, "{outside} of {of} are further off");
    assert!(outside > 0, "no interval is wide enough for all");
    assert!((error / f64::from(of)).abs() < 0.01, "{error}");
}

#[test]
fn a_question_about_nothing_is_refused() {
    let path = trace("nothing", &[(1, 0, 4_096, 'R')]);
    let mut question = Question {
        caches: vec!["lru".parse().unwrap()],
        sizes: vec!["1lines".parse().unwrap()],
        leave_out: false,
        unit: Unit::Page(4_096),
        which: Which::All,
        sample: None,
        per_request: false,
    };
    let ask = |question: &Question| {
        let how = OpenOptions::default();
        let found = hit_rates(
            std::slice::from_ref(&path),
            &how,
            question,
            &Control::default(),
        );
        found.map_err(|error| error.to_string())
    };
    assert!(ask(&question).is_ok());
    question.sizes.clear();
    let told = ask(&question).unwrap_err();
    assert_eq!(told, "size = [] (allowed: at least one value)");
    question.caches.clear();
    let told = ask(&question).unwrap_err();
    assert_eq!(told, "cache = [] (allowed: at least one value)");
}

#[test]
fn a_size_that_holds_everything_is_told() {
    let path = trace("few", &[(1, 0, 8_192, 'R'), (1, 0, 4_096, 'R')]);
    let found = asked(
        &path,
        "lru,fifo",
        "1lines,1GiB,2lines",
        Unit::Page(4_096),
        Which::All,
    )
    .unwrap();
    let told: Vec<&str> = found.warnings.iter().map(|one| &*one.text).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].contains("1GiB holds all that the trace asks for, 2 lines"),
        "{told:?}"
    );
    assert!(told[1].contains("2lines"), "{told:?}");
}

/// What went through the whole trace is kept, and the rest is left out.
#[test]
fn a_stop_leaves_what_was_simulated() {
    let path = popular("stopped");
    let sizes: Vec<String> = (1..40).map(|size| format!("{size}%")).collect();
    let question = Question {
        caches: ["w_tinylfu", "lirs"]
            .map(|word| word.parse().unwrap())
            .to_vec(),
        sizes: sizes.iter().map(|word| word.parse().unwrap()).collect(),
        leave_out: false,
        unit: Unit::Page(4_096),
        which: Which::All,
        sample: None,
        per_request: false,
    };
    let how = OpenOptions::default();
    let control = Control::default();
    let whole = std::thread::scope(|scope| {
        let work =
            scope.spawn(|| hit_rates(std::slice::from_ref(&path), &how, &question, &control));
        // Until some four simulations are over.
        let enough = |control: &Control| {
            let replied = control.replied.load(Ordering::Relaxed);
            control.expected.load(Ordering::Relaxed) > 0 && replied > 1_200_000
        };
        while !enough(&control) && !work.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        control.stop.store(true, Ordering::Relaxed);
        work.join().unwrap().unwrap()
    });
    assert!(!whole.complete);
    assert!((1..78).contains(&whole.rows.len()), "{}", whole.rows.len());
    assert!(
        whole.headline.starts_with("before the interruption"),
        "{}",
        whole.headline
    );
    assert!(
        whole.warnings[0]
            .text
            .contains("of 78 miss ratios are here")
    );
    // Those that are here are what they would have been.
    let row = &whole.rows[0];
    let alone = asked(&path, &row.cache, &row.size, Unit::Page(4_096), Which::All).unwrap();
    assert_eq!(alone.rows[0].misses, row.misses);
    assert!(alone.complete);
    // Told to stop before it began.
    let error = hit_rates(std::slice::from_ref(&path), &how, &question, &control).unwrap_err();
    assert!(matches!(error, RunError::Stopped(_)), "{error}");
}

/// What is asked of a trace for a few caches, requests counted by themselves.
fn by_request(
    path: &Path,
    sizes: &str,
    (unit, which): (Unit, Which),
    sample: Option<Sample>,
) -> Result<HitRates, RunError> {
    let caches = ["lru", "fifo", "optimal", "none"];
    let question = Question {
        caches: caches.map(|word| word.parse().unwrap()).to_vec(),
        sizes: sizes.split(',').map(|word| word.parse().unwrap()).collect(),
        leave_out: false,
        unit,
        which,
        sample,
        per_request: true,
    };
    let (how, control) = (OpenOptions::default(), Control::default());
    hit_rates(&[path.to_owned()], &how, &question, &control)
}

/// A miss of several pages counts once for each page, and once for the request.
#[test]
fn requests_are_missed_if_one_of_their_pages_is() {
    // Pages 0 1 2 | 0 | 2 3 | 0 1 in two lines.
    let requests = [
        (1, 0, 12_288, 'R'),
        (1, 0, 4_096, 'W'),
        (1, 8_192, 8_192, 'R'),
        (1, 0, 8_192, 'R'),
    ];
    let path = trace("per_request", &requests);
    let page = Unit::Page(4_096);
    let both = |found: &HitRates| -> Vec<(u64, u64)> {
        let rows = found.rows.iter();
        let both = |row: &Row| (row.misses, row.missed_requests.unwrap());
        rows.map(both).collect()
    };
    let found = by_request(&path, "2lines,4lines", (page, Which::All), None).unwrap();
    let expected = [
        (7, 4),
        (4, 2),
        (6, 4),
        (4, 2),
        (5, 3),
        (4, 2),
        (8, 4),
        (8, 4),
    ];
    assert_eq!(both(&found), expected);
    assert_eq!((found.asked, found.requests), (8, 4));
    assert!((found.rows[1].request_miss_ratio.unwrap() - 0.5).abs() < 1e-12);
    let text = found.to_string();
    assert!(text.contains("requests missed"), "{text}");
    // Without the write.
    let reads = by_request(&path, "2lines", (page, Which::Reads), None).unwrap();
    assert_eq!((both(&reads)[0], reads.requests), ((6, 3), 3));
    for (unit, sample, why) in [
        (Unit::Request, None, "unit = request"),
        (
            page,
            Some(Sample {
                share: 0.5,
                seed: 1,
            }),
            "beside sample",
        ),
    ] {
        let error = by_request(&path, "100%", (unit, Which::All), sample).unwrap_err();
        assert!(matches!(error, RunError::Config(_)), "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
}

/// What is left over beside equal segments is given up when a line comes down: five lines of five
/// are not all held.
#[test]
fn who_misses_more_than_each_line_once_is_told() {
    let page = |number: u64| (1, number * 4_096, 4_096, 'R');
    let pages: Vec<_> = [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]
        .repeat(5)
        .into_iter()
        .map(page)
        .collect();
    let path = trace("segments", &pages);
    let ask =
        |sizes: &str| asked(&path, "lru,slru,none", sizes, Unit::Page(4_096), Which::All).unwrap();
    for sizes in ["5lines,8lines,1000lines", "100%,8lines,100GiB"] {
        let found = ask(sizes);
        assert_eq!(misses(&found)[..3], [5, 5, 5], "{sizes}");
        assert_eq!(misses(&found)[4..6], [5, 5], "{sizes}");
        assert_eq!(misses(&found)[6..], [50, 50, 50], "{sizes}");
        assert!(misses(&found)[3] > 5, "{sizes}: {}", misses(&found)[3]);
        let told = &found.warnings[0].text;
        assert!(
            told.contains("but for slru and none, each is missed once"),
            "{told}"
        );
        assert!(
            found.warnings[1].text.contains("but for none"),
            "{}",
            found.warnings[1].text
        );
        assert!(
            found.headline.starts_with("lru misses least: 10.0 % at "),
            "{}",
            found.headline
        );
    }
}

/// Lines of a request are not all kept by their addresses; that of a terabyte would not fit the
/// memory.
#[test]
fn a_request_may_be_very_long() {
    let long = 200_000 * 4_096;
    let path = trace(
        "long",
        &[
            (1, 0, 4_096, 'R'),
            (1, 512, long, 'R'),
            (1, long - 4_096, 8_192, 'R'),
        ],
    );
    for sizes in ["1lines,150000lines,300000lines", "300000lines,1%,75%"] {
        let found = asked(&path, "lru,fifo", sizes, Unit::Page(4_096), Which::All).unwrap();
        assert_eq!((found.asked, found.footprint), (1 + 200_001 + 2, 200_001));
        // In one line, the last two pages are missed again.
        let first = if sizes.starts_with("1l") {
            200_003
        } else {
            200_001
        };
        let each = [first, 200_001, 200_001];
        assert_eq!(misses(&found), [each, each].concat());
    }
    let path = trace("terabytes", &[(1, 0, 1 << 42, 'R')]);
    let error = asked(&path, "lru", "1lines", Unit::Page(512), Which::All).unwrap_err();
    assert!(error.to_string().contains("at most 1073741824"), "{error}");
}

/// CSV and Parquet have what the JSON has.
#[test]
fn miss_ratios_are_a_table_for_programs() {
    let path = trace("table", &[(1, 0, 8_192, 'R'), (1, 0, 4_096, 'R')]);
    let found = asked(
        &path,
        "lru,slru",
        "1lines,2lines",
        Unit::Page(4_096),
        Which::All,
    )
    .unwrap();
    let written = |format| {
        let mut bytes = Vec::new();
        nearslot_lab::hitrate::write(&found, format, &mut bytes).unwrap();
        bytes
    };
    let text = String::from_utf8(written(Format::Csv)).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|row| row.split(',').collect()).collect();
    assert_eq!(rows.len(), 5);
    let column = |name: &str| rows[0].iter().position(|head| *head == name).unwrap();
    for (row, of) in rows[1..].iter().zip(&found.rows) {
        assert_eq!(row[column("cache")], of.cache);
        assert_eq!(row[column("misses")], of.misses.to_string());
        assert_eq!(row[column("miss_ratio")], of.miss_ratio.to_string());
        assert_eq!(row[column("page_bytes")], "4096");
        assert_eq!(row[column("off_by")], "");
        assert_eq!(row.len(), rows[0].len());
    }
    assert_eq!(&written(Format::Parquet)[..4], b"PAR1");
    let json: HitRates = serde_json::from_slice(&written(Format::Json)).unwrap();
    assert_eq!(json.rows.len(), 4);
}
