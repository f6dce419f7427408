//! Table, CSV and Parquet: what is in them, at every width, and what is refused.

use std::io::{self, Write};

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Float64Type, UInt64Type};
use nearslot_lab::outcome::Results;
use nearslot_lab::report::{Format, ReportError, table, write};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::sample::{SMALL, results};

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
    for (line, rank) in lines[first..].iter().zip(&results.ranking) {
        assert!(line.contains(&rank.label), "{line} is not {}", rank.label);
    }
    for fact in [
        "mode      open",
        "drive     seagate-cheetah-9lp",
        "seed      42",
        "version   nearslot 0.1.0",
        "hash      9f1c0d5be2a84c7795bb0b6f1e0c6a3d",
        "warm-up   600 of 12000 requests cut",
        "warnings  12 events were lost",
        "sched=aged_satf: sched.age_weight=0.05 sched.name=\"aged_satf\"",
        "load.speed=1.0",
    ] {
        assert!(text.contains(fact), "{fact:?} is missing in\n{text}");
    }
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

#[test]
fn noise_is_said_in_words() {
    let mut results = results(SMALL);
    results.ranking[1].beyond_noise = Some(false);
    results.ranking[2].beyond_noise = Some(true);
    results.ranking[3].beyond_noise = None;
    let text = table(&results, None);
    for (place, word) in [(0, "best"), (1, "no"), (2, "yes"), (3, "unknown")] {
        let label = &results.ranking[place].label;
        let line = text
            .lines()
            .find(|line| line.contains(label.as_str()))
            .unwrap();
        assert!(line.split_whitespace().any(|cell| cell == word), "{line}");
    }
}

#[test]
fn nothing_finished_is_said() {
    let mut results = results(SMALL);
    results.runs.clear();
    results.ranking.clear();
    let text = String::from_utf8(written(&results, Format::Table)).unwrap();
    assert!(text.starts_with("no run was finished (0 of 6)\n"), "{text}");
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
    assert_eq!(p999.to_bits(), results.runs[0].response_ms.p999.to_bits());
    assert_eq!(cell(0, "seed"), "42");
    assert_eq!(cell(4, "sched"), "satf");
    assert_eq!(cell(results.ranking[0].run, "rank"), "1");
    assert_eq!(cell(results.ranking[0].run, "beyond_noise"), "");
    assert_eq!(cell(0, "trace_hash"), "9f1c0d5be2a84c7795bb0b6f1e0c6a3d");
    let config: serde_json::Value = serde_json::from_str(&cell(5, "config")).unwrap();
    assert_eq!(config, results.runs[5].config);
    let leading = names.iter().take(6).collect::<Vec<_>>();
    assert_eq!(
        leading,
        [
            "label",
            "run",
            "rank",
            "ratio_to_best",
            "beyond_noise",
            "drive"
        ]
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
    assert!(batch["write_wait_ms_p99"].is_null(3) && batch["write_wait_ms_p99"].is_valid(2));
    assert_eq!(batch["label"].as_string::<i32>().value(4), "sched=satf");
}

#[test]
fn what_is_not_a_number_is_refused_by_name() {
    let mut results = results(SMALL);
    results.runs[3].response_ms.p99 = f64::NAN;
    for format in Format::ALL {
        let words = write(&results, format, &mut Vec::new())
            .unwrap_err()
            .to_string();
        assert!(
            words.contains("response_ms_p99") && words.contains("sched=clook"),
            "{words}"
        );
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
