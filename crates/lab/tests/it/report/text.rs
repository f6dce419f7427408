//! Table, CSV and Parquet: what is in them, at every width, and what is refused.

use std::io::{self, Write};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use nearslot_lab::grid;
use nearslot_lab::outcome::{Declared, Difference, Number, Results, Word};
use nearslot_lab::report::{Format, ReportError, table, write};
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::report::hosts;
use crate::report::sample::{POLICIES, SMALL, judged, results, verdict};

fn written(results: &Results, format: Format) -> Vec<u8> {
    let mut out = Vec::new();
    write(results, format, &mut out).unwrap();
    out
}

#[test]
fn the_table_has_the_ranking_and_what_it_rests_on() {
    let results = results(SMALL);
    let text = table(&results, None);
    let lines: Vec<&str> = text.lines().collect();
    let first = lines
        .iter()
        .position(|line| line.contains("best") && line.contains("sched="))
        .unwrap();
    let ranks = &results.verdict.rankings[0].ranks;
    for (line, rank) in lines[first..].iter().zip(ranks) {
        assert!(line.contains(&rank.choice), "{line} is not {}", rank.choice);
    }
    let headline: Vec<&str> = results.verdict.headline.split(' ').take(3).collect();
    assert!(lines[0].starts_with("verdict"), "{text}");
    assert!(lines[0].contains(&headline.join(" ")), "{text}");
    for fact in [
        "mode      open",
        "drive     seagate-cheetah-9lp",
        "seed      42",
        "version   nearslot 0.1.0, build unknown",
        "hash      9f1c0d5be2a84c7795bb0b6f1e0c6a3d",
        "warm-up   the first 600 of 12000 requests, not measured",
        "warnings  12 events were lost",
        "sched=aged_satf: sched.age_weight=0.05 sched.name=\"aged_satf\"",
        "load.speed=1.0",
    ] {
        assert!(text.contains(fact), "{fact:?} is missing in\n{text}");
    }
}

/// What stands in the rows of a table whose heading begins with this, without the rule below it.
fn rows(text: &str, heading: &str) -> Vec<String> {
    let lines = text
        .lines()
        .skip_while(|line| !line.trim_start().starts_with(heading));
    let lines = lines.skip_while(|line| !line.contains('─')).skip(1);
    let rows = lines.take_while(|line| !line.trim().is_empty());
    rows.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// Process by process, each with all runs; readers of one description are one row.
#[test]
fn runs_of_hosts_have_a_table_of_processes() {
    let mut starting = hosts::starting();
    starting.runs.retain(|run| run.load == "beside=4r4w-rand");
    let found = rows(&table(&starting, None), "process");
    let told = |who: &str, sched: &str, numbers: &str| {
        format!("{who} sched={sched} beside=4r4w-rand {numbers}")
    };
    let expected = [
        told(
            "reader-1 to reader-4, together",
            "none",
            "10000 0.000400 0.900 29.27 0.000 0.000",
        ),
        told(
            "reader-1 to reader-4, together",
            "mq-deadline",
            "10000 0.000400 0.900 28.84 0.000 0.000",
        ),
        told(
            "reader-1 to reader-4, together",
            "bfq",
            "10000 0.000400 0.900 0.661 0.000 0.000",
        ),
        told(
            "writer-1 to writer-4, together",
            "none",
            "26000 0.000400 0.900 0.000 29.27 50.00",
        ),
        told(
            "writer-1 to writer-4, together",
            "mq-deadline",
            "26000 0.000400 0.900 0.000 28.84 50.00",
        ),
        told(
            "writer-1 to writer-4, together",
            "bfq",
            "26000 0.000400 0.900 0.000 0.661 50.00",
        ),
        told("launch", "none", "0 – – 0.000 0.000 0.000"),
        told("launch", "mq-deadline", "0 – – 0.000 0.000 0.000"),
        told("launch", "bfq", "1 1.340 1.340 0.000 0.000 0.000"),
    ];
    assert_eq!(found, expected);
    let late = rows(&table(&hosts::alone(), None), "process");
    assert_eq!(late.len(), 6, "{late:?}");
    assert_eq!(
        late[0],
        "db-1 to db-2, together sched=none 490 – 0.078 0.600 1.900 0.400 0.000"
    );
    assert!(
        late[5].starts_with("player sched=bfq 500 14 of 500 "),
        "{late:?}"
    );
}

#[test]
fn of_several_applications_each_is_named_with_its_time() {
    let text = table(&hosts::two_applications(), None);
    let found = rows(&text, "run");
    assert!(
        found[0].starts_with("sched=none beside=5r-seq bash 5.850 "),
        "{text}"
    );
    assert_eq!(found[1], "xterm not up");
    assert!(
        found[2].starts_with("sched=bfq beside=5r-seq bash 0.090 "),
        "{text}"
    );
    assert_eq!(found[3], "xterm 0.181 (2 of 3)");
    let headline = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "bash is up after 0.09 s with sched=bfq and 5.85 s with sched=none. xterm is up after 0.181 s on average over 2 of 3 start-ups with sched=bfq; \
                with sched=none it was not up, as requests of it failed.";
    assert!(headline.contains(told), "{text}");
}

#[test]
fn the_table_fits_its_width_and_names_what_it_left_out() {
    let mut results = results(SMALL);
    results.runs[2].label = "sched=look depth=128 oracle=noisy:sd_us=150 place=linear".repeat(2);
    for width in [60, 80, 100, 132, 200] {
        let text = table(&results, Some(width));
        // A hash or a long word of the configuration may stick out; the grid may not.
        let grid = text
            .lines()
            .take_while(|line| !line.starts_with("no room") && !line.is_empty());
        let grid_widest = grid.map(|line| line.chars().count()).max().unwrap();
        assert!(
            grid_widest <= usize::from(width),
            "{grid_widest} > {width}\n{text}"
        );
        assert!(text.contains("mean"), "{text}");
    }
    assert!(table(&results, Some(80)).contains("no room for:"));
    assert!(!table(&results, None).contains("no room for:"));
}

/// What a table says that it has no room for.
fn left_out(results: &Results, width: u16) -> Vec<String> {
    let text = table(results, Some(width));
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let Some((_, rest)) = text.split_once("no room for: ") else {
        return Vec::new();
    };
    let (names, _) = rest.split_once("; --format csv").unwrap();
    names.split(", ").map(str::to_owned).collect()
}

#[test]
fn what_any_of_several_tables_left_out_is_named() {
    let ranked = results(SMALL);
    let mut both = results(SMALL);
    // It is in a table of its own, without the columns of a ranking.
    both.runs.push(both.runs[0].clone());
    let (one, two) = (left_out(&ranked, 60), left_out(&both, 60));
    assert!(
        one.iter().any(|name| name.starts_with("to best")),
        "{one:?}"
    );
    assert!(one.iter().all(|name| two.contains(name)), "{one:?} {two:?}");
}

#[test]
fn differences_are_said_in_numbers_and_words() {
    let mut results = results(SMALL);
    let ranks = &mut results.verdict.rankings[0].ranks;
    let said = |ms: f64, half: Option<f64>, word| Difference {
        ms: Some(ms),
        ci95_ms: half.map(|half| [ms - half, ms + half]),
        word,
    };
    ranks[1].against_best = Some(said(1.5, Some(2.0), Word::Undecided));
    ranks[2].against_best = Some(said(2.5, Some(0.5), Word::Slower));
    ranks[3].against_best = Some(said(2.5, None, Word::TooFew));
    ranks[4].against_best = Some(said(0.0, Some(0.0), Word::Equal));
    let ranks = ranks.clone();
    let text = table(&results, None);
    let cells = [
        "best",
        "+1.500 ± 2.000 undecided",
        "+2.500 ± 0.500 slower",
        "+2.500 too few requests",
        "equal",
    ];
    for (rank, cell) in ranks.iter().zip(cells) {
        let mut lines = text
            .lines()
            .filter(|line| line.contains(&format!(" {} ", rank.choice)));
        assert!(lines.any(|line| line.contains(cell)), "{cell}\n{text}");
    }
    assert!(!text.contains("noise"), "{text}");
}

#[test]
fn a_growing_queue_is_told_in_place_of_times() {
    let mut results = results(SMALL);
    results.runs[0].queue_growth_rps = Some(812.0);
    (results.varied, results.verdict) = verdict(&results.runs);
    let text = table(&results, None);
    let line = text
        .lines()
        .find(|line| line.contains(" sched=fcfs "))
        .unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells[1..4], ["sched=fcfs", "–", "812.0"], "{text}");
    assert!(line.contains("overloaded"), "{line}");
    // It is the last, whatever its mean.
    let ranks = &results.verdict.rankings[0].ranks;
    assert_eq!(
        (ranks[5].choice.as_str(), ranks[5].ratio_to_best),
        ("sched=fcfs", None)
    );
}

/// Where all fail, none is called the best, and those that share a place are called alike.
#[test]
fn the_first_of_those_that_fail_is_told_for_what_it_is() {
    let told = |failed: &[u64], growing: bool| {
        let mut results = results(SMALL);
        results.runs.truncate(failed.len());
        if growing {
            results.runs[0].queue_growth_rps = Some(812.0);
        }
        let (varied, mut verdict) = judged(&results.runs, failed);
        // The baseline is another one than the first, so there is a column against the best.
        for rank in &mut verdict.rankings[0].ranks {
            rank.against_baseline = Some(Difference {
                ms: None,
                ci95_ms: None,
                word: Word::Failed,
            });
        }
        (results.varied, results.verdict) = (varied, verdict);
        table(&results, None)
    };
    let of = |text: &str, word: &str| text.matches(&format!("  {word}")).count();
    let tied = told(&[6_000, 6_000, 9_000], true);
    assert_eq!(of(&tied, "fails least"), 2, "{tied}");
    assert!(!tied.contains("  best\n"), "{tied}");
    assert!(
        tied.contains(", first the one that failed least;"),
        "{tied}"
    );
    let grows = told(&[0, 6_000, 6_000], true);
    assert_eq!(of(&grows, "grows least"), 1, "{grows}");
    assert!(
        grows.contains(", first the one whose queue grows least;"),
        "{grows}"
    );
    let best = told(&[0, 6_000, 6_000], false);
    assert!(
        best.contains(", best first by mean response time;"),
        "{best}"
    );
}

/// Two depths of all policies, and one run of a third depth.
fn several_loads() -> Results {
    let mut results = results(SMALL);
    let mut runs = Vec::new();
    for depth in ["1", "8", "64"] {
        for run in &results.runs {
            let mut run = run.clone();
            run.label = format!("{} depth={depth}", run.label);
            run.load = format!("depth={depth}");
            run.settings.insert("depth".to_owned(), depth.to_owned());
            runs.push(run);
        }
    }
    runs.truncate(13);
    (results.varied, results.verdict) = verdict(&runs);
    results.runs = runs;
    results
}

#[test]
fn each_load_has_its_own_ranking() {
    let results = several_loads();
    assert_eq!(results.verdict.rankings.len(), 2);
    let text = table(&results, None);
    let first = text.find("\ndepth=1\n").unwrap();
    let second = text.find("\ndepth=8\n").unwrap();
    for part in [&text[first..second], &text[second..]] {
        for policy in POLICIES {
            assert!(
                part.contains(&format!(" sched={policy} ")),
                "{policy}\n{text}"
            );
        }
    }
    // The one run of the third load is there and has no place.
    let line = text
        .lines()
        .find(|line| line.contains("sched=fcfs depth=64"))
        .unwrap();
    assert!(!line.contains("best"), "{line}");
}

#[test]
fn a_single_run_has_no_place() {
    let mut results = results(SMALL);
    results.runs.truncate(1);
    (results.varied, results.verdict) = verdict(&results.runs);
    let text = table(&results, None);
    for word in ["to best", "against", "#"] {
        assert!(!text.contains(word), "{word}\n{text}");
    }
}

#[test]
fn nothing_finished_is_said() {
    let mut results = results(SMALL);
    results.runs.clear();
    (results.varied, results.verdict) = verdict(&[]);
    let text = String::from_utf8(written(&results, Format::Table)).unwrap();
    assert!(
        text.starts_with("verdict   No run was finished.\n"),
        "{text}"
    );
    assert!(text.contains("runs      0 of 6\n"), "{text}");
}

#[test]
fn csv_has_a_row_a_run_under_stable_names() {
    let mut results = results(SMALL);
    results.runs[1].label = "a \"quoted\", label\nof two lines".to_owned();
    results.runs[1].read_response_ms = None;
    let bytes = written(&results, Format::Csv);
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let names = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let cell = |row: usize, name: &str| {
        let column = names
            .iter()
            .position(|other| other == name)
            .unwrap_or_else(|| panic!("{name}"));
        rows[row][column].to_owned()
    };
    assert_eq!(rows.len(), 6);
    assert_eq!(cell(1, "label"), results.runs[1].label);
    assert_eq!(cell(1, "read_response_ms_mean"), "");
    // The shortest decimal reads back as the same double, to the bit.
    let p999: f64 = cell(0, "response_ms_p999").parse().unwrap();
    assert_eq!(
        Some(p999.to_bits()),
        results.runs[0].response_ms.p999.map(f64::to_bits)
    );
    assert_eq!(cell(1, "response_ms_p999_ci95_high"), "");
    let low: f64 = cell(0, "response_ms_p99_ci95_low").parse().unwrap();
    assert_eq!(
        Some(low),
        results.runs[0].response_ms.p99_ci95.map(|[low, _]| low)
    );
    assert_eq!(cell(0, "seed"), "42");
    assert_eq!(cell(4, "sched"), "satf");
    let ranks = &results.verdict.rankings[0].ranks;
    assert_eq!(cell(ranks[0].run, "rank"), "1");
    assert_eq!(cell(ranks[0].run, "against_best_word"), "");
    assert_eq!(cell(ranks[5].run, "against_best_word"), "slower");
    let high: f64 = cell(ranks[5].run, "against_best_ci95_high_ms")
        .parse()
        .unwrap();
    assert_eq!(
        Some(high),
        ranks[5].against_best.unwrap().ci95_ms.map(|[_, high]| high)
    );
    assert_eq!(
        (cell(2, "load"), cell(2, "choice")),
        (String::new(), "sched=look".to_owned())
    );
    assert_eq!(cell(0, "trace_hash"), "9f1c0d5be2a84c7795bb0b6f1e0c6a3d");
    let config: serde_json::Value = serde_json::from_str(&cell(5, "config")).unwrap();
    assert_eq!(config, results.runs[5].config);
    let leading = names.iter().take(6).collect::<Vec<_>>();
    assert_eq!(
        leading,
        ["label", "run", "load", "choice", "rank", "ratio_to_best",]
    );
}

#[test]
fn parquet_reads_back_with_types_and_provenance() {
    let mut results = results(SMALL);
    results.seed = u64::MAX;
    results.runs[0].config["seed"] = u64::MAX.into();
    results.runs[3].write_wait_ms = None;
    let mut file = tempfile::tempfile().unwrap();
    write(&results, Format::Parquet, &mut file).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let pairs = builder
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .unwrap()
        .clone();
    let value = |key: &str| {
        pairs
            .iter()
            .find(|pair| pair.key == key)
            .unwrap()
            .value
            .clone()
            .unwrap()
    };
    assert_eq!(
        value("nearslot.trace_hash"),
        "9f1c0d5be2a84c7795bb0b6f1e0c6a3d"
    );
    assert_eq!(value("nearslot.seed"), u64::MAX.to_string());
    assert!(value("nearslot.runs").contains("\"age_weight\":0.05"));
    let batch = builder.build().unwrap().next().unwrap().unwrap();
    assert_eq!(batch.num_rows(), 6);
    let mean = batch["response_ms_mean"].as_primitive::<Float64Type>();
    let wanted = results.runs[2].response_ms.mean;
    assert_eq!(mean.value(2).to_bits(), wanted.to_bits());
    assert_eq!(
        batch["seed"].as_primitive::<UInt64Type>().value(0),
        u64::MAX
    );
    assert!(batch["write_wait_ms_p99"].is_null(3));
    assert!(batch["write_wait_ms_p99"].is_valid(2));
    assert_eq!(batch["label"].as_string::<i32>().value(4), "sched=satf");
}

#[test]
fn what_is_not_a_number_is_refused_by_name() {
    let mut results = results(SMALL);
    results.runs[3].response_ms.p99 = Some(f64::NAN);
    for format in Format::ALL {
        let words = write(&results, format, &mut Vec::new())
            .unwrap_err()
            .to_string();
        assert!(words.contains("response_ms_p99"), "{words}");
        assert!(words.contains("sched=clook"), "{words}");
    }
}

#[test]
fn a_ranking_of_runs_that_are_not_there_is_refused() {
    let mut results = results(SMALL);
    results.runs.truncate(2);
    let error = write(&results, Format::Table, &mut Vec::new()).unwrap_err();
    assert!(
        matches!(error, ReportError::NoSuchRun { runs: 2, .. }),
        "{error}"
    );
}

/// Takes some bytes, then is full.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_in_every_format() {
    for format in Format::ALL {
        let error = write(&results(SMALL), format, &mut Full(1_000)).unwrap_err();
        let full = |error: &io::Error| error.kind() == io::ErrorKind::StorageFull;
        assert!(
            matches!(&error, ReportError::Write(source) if full(source)),
            "{format:?}: {error}"
        );
    }
}

#[test]
fn formats_have_their_names() {
    for format in Format::ALL {
        assert_eq!(format.name().parse::<Format>().unwrap(), format);
    }
    let words = "yaml".parse::<Format>().unwrap_err().to_string();
    assert_eq!(
        words,
        "format = \"yaml\" is not one of table, json, csv, parquet"
    );
}

/// A request may be several commands, so beside the number of requests that failed it has to be
/// said that this is another.
#[test]
fn what_was_counted_is_told_with_its_unit() {
    let mut results = results(SMALL);
    let counts = [
        ("sched", "expired", "batches", 7),
        ("merge", "spared_commands", "commands", 12),
        ("faults", "failed_gone", "commands", 4),
        ("faults", "delayed", "commands", 0),
        ("faults", "delay_ms", "ms", 9),
        ("place", "moved", "chunks", 3),
    ];
    for (of, name, unit, count) in counts {
        results.measures.push(Declared {
            of: of.to_owned(),
            name: name.to_owned(),
            unit: unit.to_owned(),
            help: String::new(),
        });
        let measures = results.runs[0].measures.entry(of.to_owned()).or_default();
        measures.insert(name.to_owned(), Number::Count(count));
    }
    let text = table(&results, None);
    let label = &results.runs[0].label;
    let told = format!(
        "counted   {label}: batches: expired 7; commands: spared 12, failed gone 4; ms: delay 9\n"
    );
    assert!(text.contains(&told), "{text}");
}

/// The table of a run of an open load, whose long lines are not broken.
fn table_of_open_load(drive: &str, faults: &str) -> String {
    let load = "poisson:rate_rps=100:requests=4000".parse().unwrap();
    let mut base = Scenario::over(Load::Workload(load));
    for (key, value) in [("drive", drive), ("faults", faults)] {
        base.set(key, value).unwrap();
    }
    let points = grid::points(&base, &[]).unwrap();
    let (wanted, control) = (Wanted::default(), Control::default());
    let text = table(&compare(&points, None, &wanted, &control).unwrap(), None);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What drives can do is estimated on credits for bursts where they have some: that is said
/// wherever it is told.
#[test]
fn what_can_be_done_on_credits_is_told_to_be() {
    let lives = "about 3000 can be done (what the drives can do lives on credits for bursts; \
                 without them one does 300.0 commands/s)";
    let full = table_of_open_load("cloud-gp2-100gib", "none");
    assert!(full.contains(lives), "{full}");
    let without = table_of_open_load("cloud-gp2-100gib:credits_full=0", "none");
    assert!(without.contains("can be done"), "{without}");
    assert!(!without.contains("credits for bursts"), "{without}");
}

/// What drives can do is estimated without faults that begin later: that is said wherever it is
/// told.
#[test]
fn what_can_be_done_is_told_without_later_faults() {
    let told = |faults: &str| table_of_open_load("null", faults);
    let without =
        "can be done (what the drives can do is told without the faults that begin from 10 s on)";
    let late = told("injected:slow_factor=2:slow_from_s=10");
    assert!(late.contains(without), "{late}");
    // Of several instants the first: nothing is known of what comes then.
    let both = told("injected:slow_factor=2:slow_from_s=10:gone_at_s=12");
    assert!(both.contains(without), "{both}");
    let at_once = told("injected:slow_factor=2");
    assert!(at_once.contains(" can be done "), "{at_once}");
    assert!(!at_once.contains("is told without"), "{at_once}");
}
