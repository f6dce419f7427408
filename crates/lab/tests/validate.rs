//! The disk model against DiskSim 4.0: small folders that ship, damaged copies of them, and the full reference folder where
//! it is present (beside the checkout, or where `NEARSLOT_REFERENCE` points).

use std::fs;
use std::path::{Path, PathBuf};

use nearslot_lab::validate::{Finding, ValidateError, Validation, disksim};

fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/disksim")
        .join(folder)
}

/// What decides about a folder and failed.
fn failed(validation: &Validation) -> Vec<String> {
    let failing = validation
        .checks
        .iter()
        .filter(|check| check.pass == Some(false));
    failing
        .map(|check| format!("{}: {}: {:?}", check.file, check.what, check.finding))
        .collect()
}

#[test]
fn every_small_folder_passes() {
    for (folder, checks) in [
        ("cheetah_9lp", 18),
        ("alternating_heads", 8),
        ("remapped_ranges", 8),
        ("spare_tracks", 8),
    ] {
        let validation = disksim(&data(folder)).unwrap();
        assert_eq!(failed(&validation), Vec::<String>::new(), "{folder}");
        assert!(validation.pass, "{folder}");
        assert_eq!(validation.checks.len(), checks, "{folder}");
        assert!(
            validation.checks.iter().all(|check| check.compared > 100),
            "{folder}"
        );
    }
}

#[test]
fn the_full_reference_passes_where_it_is_present() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference");
    let reference = std::env::var_os("NEARSLOT_REFERENCE").map_or(beside, PathBuf::from);
    for folder in ["cheetah9LP", "hp_c2247a"] {
        let path = reference.join("disksim").join(folder);
        if path.is_dir() {
            let validation = disksim(&path).unwrap();
            assert_eq!(failed(&validation), Vec::<String>::new(), "{folder}");
        }
    }
}

/// A copy of the small Cheetah folder with one file changed.
fn damaged(file: &str, change: impl Fn(&str) -> String) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(data("cheetah_9lp")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    let text = fs::read_to_string(copy.path().join(file)).unwrap();
    let changed = change(&text);
    assert_ne!(changed, text, "{file} was to be changed");
    fs::write(copy.path().join(file), changed).unwrap();
    copy
}

/// The text with one cell of a line, both counted from 0, replaced.
fn with_cell(text: &str, line: usize, column: usize, value: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut cells: Vec<&str> = lines[line].split(',').collect();
    cells[column] = value;
    lines[line] = cells.join(",");
    lines.join("\n") + "\n"
}

/// The text with a cell of a line made greater by `by`.
fn with_more(text: &str, line: usize, column: usize, by: f64) -> String {
    let cell = text
        .lines()
        .nth(line)
        .unwrap()
        .split(',')
        .nth(column)
        .unwrap();
    let more = format!("{:.6}", cell.parse::<f64>().unwrap() + by);
    with_cell(text, line, column, &more)
}

#[test]
fn a_block_elsewhere_fails_the_layout() {
    for column in 1..=6 {
        let folder = damaged("layout_real.csv", |text| {
            let cell = text
                .lines()
                .nth(50)
                .unwrap()
                .split(',')
                .nth(column)
                .unwrap();
            let moved = match column {
                4 => format!("{:.9}", cell.parse::<f64>().unwrap() - 1e-6),
                _ => (cell.parse::<u64>().unwrap() + 1).to_string(),
            };
            with_cell(text, 50, column, &moved)
        });
        let validation = disksim(folder.path()).unwrap();
        assert_eq!(failed(&validation).len(), 1, "column {column}");
        assert!(!validation.pass);
    }
}

#[test]
fn a_row_that_is_six_microseconds_off_fails() {
    for column in [11, 12, 13] {
        let folder = damaged("fcfs_random4k_ideal.csv", |text| {
            with_more(text, 100, column, 0.006)
        });
        assert_eq!(
            failed(&disksim(folder.path()).unwrap()).len(),
            1,
            "column {column}"
        );
        let near = damaged("fcfs_random4k_ideal.csv", |text| {
            with_more(text, 100, column, 0.004)
        });
        assert!(disksim(near.path()).unwrap().pass, "column {column}");
    }
    let folder = damaged("fcfs_random4k_ideal.csv", |text| {
        with_cell(text, 100, 10, "17")
    });
    assert_eq!(
        failed(&disksim(folder.path()).unwrap()).len(),
        1,
        "seek distance"
    );
}

#[test]
fn another_choice_fails_its_scheduler() {
    // Two rows change places: what was chosen second was chosen first.
    for scheduler in ["look", "clook", "sstf"] {
        let file = format!("{scheduler}_random4k_qd16_ideal.csv");
        let folder = damaged(&file, |text| {
            let mut lines: Vec<&str> = text.lines().collect();
            lines.swap(100, 101);
            lines.join("\n") + "\n"
        });
        let validation = disksim(folder.path()).unwrap();
        assert_eq!(failed(&validation).len(), 1, "{scheduler}");
        assert!(matches!(
            validation.checks.iter().find(|check| check.pass == Some(false)).unwrap().finding,
            Finding::Choices(ref choices) if choices.equal < 299
        ));
    }
}

#[test]
fn another_mean_fails_the_free_run() {
    // Every response half a per cent longer, every row of its own as it was.
    let folder = damaged("fcfs_mixed_ideal.csv", |text| {
        (1..text.lines().count()).fold(text.to_owned(), |text, line| {
            with_more(&text, line, 1, -0.04)
        })
    });
    let failed = failed(&disksim(folder.path()).unwrap());
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].contains("FreeRunning"));
}

#[test]
fn a_wrong_parameter_fails_what_depends_on_it() {
    let folder = damaged("drive.csv", |text| text.replace("rpm,10045", "rpm,10000"));
    assert!(failed(&disksim(folder.path()).unwrap()).len() >= 8);
    let folder = damaged("zones.csv", |text| with_cell(text, 3, 4, "96"));
    assert!(
        failed(&disksim(folder.path()).unwrap())
            .iter()
            .any(|text| text.contains("Layout"))
    );
}

#[test]
fn absent_files_are_reported_and_decide_nothing() {
    let folder = damaged("drive.csv", |text| text.to_owned() + "\n");
    for file in ["layout_real.csv", "slips.csv", "fcfs_mixed_real.csv"] {
        fs::remove_file(folder.path().join(file)).unwrap();
    }
    let validation = disksim(folder.path()).unwrap();
    assert!(validation.absent.contains(&"layout_real.csv".to_owned()));
    assert!(
        validation
            .absent
            .contains(&"fcfs_mixed_real.csv".to_owned())
    );
    assert!(validation.absent.contains(&"summary.csv".to_owned()));
}

#[test]
fn a_folder_with_nothing_to_compare_does_not_pass() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["drive.csv", "zones.csv", "seek_curve.csv"] {
        fs::copy(data("cheetah_9lp").join(file), folder.path().join(file)).unwrap();
    }
    let validation = disksim(folder.path()).unwrap();
    assert!(validation.checks.is_empty() && !validation.pass);
}

fn error(file: &str, change: impl Fn(&str) -> String) -> String {
    disksim(damaged(file, change).path())
        .unwrap_err()
        .to_string()
}

#[test]
fn malformed_files_are_named_by_line_and_column() {
    assert_eq!(
        error("fcfs_mixed_real.csv", |text| with_cell(text, 7, 4, "-3")),
        "fcfs_mixed_real.csv, line 8, column `lba`: `-3` is not u64"
    );
    let text = error("trace_mixed.csv", |text| with_cell(text, 7, 2, "99999999"));
    assert!(
        text.starts_with("trace_mixed.csv, line 8, column `lba`: `99999999`"),
        "{text}"
    );
    let text = error("trace_mixed.csv", |text| with_cell(text, 7, 4, "X"));
    assert_eq!(
        text,
        "trace_mixed.csv, line 8, column `op`: `X` is not R or W"
    );
    let text = error("seek_curve.csv", |text| with_cell(text, 7, 1, "nan"));
    assert_eq!(
        text,
        "seek_curve.csv, line 8, column `time_ms`: `nan` is not a finite number"
    );
    let text = error("zones.csv", |text| text.replace("spares", "spare"));
    assert_eq!(
        text,
        "zones.csv has no column `spares`; `spare` is the nearest"
    );
    let text = error("layout_real.csv", |text| {
        text.lines().next().unwrap().to_owned() + "\n1,2\n"
    });
    assert!(text.starts_with("layout_real.csv: "), "{text}");
}

#[test]
fn rows_that_serve_no_waiting_request_are_named() {
    let file = "look_random4k_qd16_ideal.csv";
    for (line, value, allowed) in [
        (50, "123456", "one of the 64 requests that have arrived"),
        (50, "64", "one of the 64 requests that have arrived"),
        (1, "16", "one of the 16 requests that have arrived"),
        (50, "0", "a request that no row above serves"),
    ] {
        let text = error(file, |text| with_cell(text, line, 0, value));
        let expected = format!(
            "{file}, line {}, column `seq`: `{value}` is not {allowed}",
            line + 1
        );
        assert_eq!(text, expected);
    }
    let text = error("fcfs_mixed_real.csv", |text| with_cell(text, 7, 0, "5"));
    assert!(
        text.ends_with("a request that no row above serves"),
        "{text}"
    );
    let text = error("fcfs_mixed_real.csv", |text| with_cell(text, 7, 5, "1"));
    assert!(
        text.contains("the trace's number of a write of 1 blocks at"),
        "{text}"
    );
    let text = error(file, |text| text.lines().next().unwrap().to_owned() + "\n");
    assert_eq!(text, format!("{file}: it has no rows"));
}

#[test]
fn a_drive_that_cannot_be_is_refused() {
    let text = error("drive.csv", |text| {
        text.replace("sparing_scheme,9", "sparing_scheme,4")
    });
    assert_eq!(
        text,
        "drive.csv, parameter `sparing_scheme`: `4` (allowed: 0 (none), 1, 8 or 9)"
    );
    let text = error("drive.csv", |text| text.replace("rpm,10045", "rmp,10045"));
    assert!(
        text.starts_with("drive.csv, parameter `rpm`: `missing`"),
        "{text}"
    );
    let text = error("zones.csv", |text| with_cell(text, 2, 1, "800"));
    assert!(text.contains("zones[1].cylinders = [800, 1643]"), "{text}");
    let text = error("zones.csv", |text| with_cell(text, 2, 10, "7"));
    assert!(
        text.contains("zones.csv, line 3, column `first_lba_ideal`: `7`"),
        "{text}"
    );
    let error = disksim(Path::new("/nowhere")).unwrap_err();
    assert!(matches!(error, ValidateError::Missing { .. }));
}

#[test]
fn results_are_data_and_text() {
    let validation = disksim(&data("cheetah_9lp")).unwrap();
    let json = serde_json::to_value(&validation).unwrap();
    assert_eq!(json["pass"], true);
    assert!(
        json["checks"][2]["finding"]["rows"]["completion_us"]["p99"]
            .as_f64()
            .unwrap()
            < 5.0
    );
    let text = validation.to_string();
    for part in [
        "SEAGATE_ST39102LW",
        "fcfs_mixed_real.csv",
        "satf",
        "verdict: pass\n",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}
