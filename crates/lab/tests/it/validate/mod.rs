//! The disk model against DiskSim 4.0: small folders that ship, damaged copies of them, and the
//! full reference folder where it is present (beside the checkout, or where `NEARSLOT_REFERENCE`
//! points).

mod faults;
mod planted;
mod sheet;

use std::fs;
use std::path::{Path, PathBuf};

use nearslot_lab::program;
use nearslot_lab::validate::{ValidateError, Validation, disksim};

fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/disksim")
        .join(folder)
}

/// Files and comparisons that failed.
fn failed(validation: &Validation) -> Vec<String> {
    let failing = validation.checks.iter().filter(|check| !check.pass);
    failing
        .map(|check| format!("{}: {}", check.file, check.what))
        .collect()
}

#[test]
fn every_small_folder_passes() {
    for (folder, checks) in [
        ("cheetah_9lp", 35),
        ("alternating_heads", 11),
        ("remapped_ranges", 11),
        ("spare_tracks", 11),
    ] {
        let validation = disksim(&data(folder)).unwrap();
        assert_eq!(validation.failures(), Vec::<String>::new(), "{folder}");
        assert!(validation.pass, "{folder}");
        assert_eq!(validation.checks.len(), checks, "{folder}");
    }
}

/// The full folders, where they are: named by the environment, or beside the checkout. The small
/// ones always run.
#[test]
fn the_full_reference_passes_where_it_is_present() {
    let named = std::env::var_os("NEARSLOT_REFERENCE").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference");
    let reference = named.clone().unwrap_or(beside);
    for folder in ["cheetah9LP", "hp_c2247a"] {
        let path = reference.join("disksim").join(folder);
        assert!(named.is_none() || path.is_dir(), "no {}", path.display());
        if path.is_dir() {
            let validation = disksim(&path).unwrap();
            assert_eq!(validation.failures(), Vec::<String>::new(), "{folder}");
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
fn a_row_is_held_to_what_its_length_allows() {
    // All rows of the random trace are of 8 blocks; line 3 of the mixed one is of more.
    for (file, line, allowed, refused) in [
        ("fcfs_random4k_ideal.csv", 100, 0.000_1, 0.000_3),
        ("fcfs_mixed_ideal.csv", 1, 0.001, 0.003),
    ] {
        for column in [11, 12, 13] {
            let folder = damaged(file, |text| with_more(text, line, column, refused));
            let failed = failed(&disksim(folder.path()).unwrap());
            assert!(
                failed.contains(&format!("{file}: each row from its state")),
                "column {column}: {failed:?}"
            );
            let near = damaged(file, |text| with_more(text, line, column, allowed));
            let failed = self::failed(&disksim(near.path()).unwrap());
            assert!(
                !failed.contains(&format!("{file}: each row from its state")),
                "column {column}: {failed:?}"
            );
        }
    }
}

#[test]
fn another_choice_fails_its_scheduler() {
    // Two rows change places: what was chosen second was chosen first.
    for (file, scheduler) in [
        ("look", "look"),
        ("clook", "clook"),
        ("sstf", "sstf"),
        ("sptf", "satf"),
    ] {
        let file = format!("{file}_random4k_qd16_ideal.csv");
        let folder = damaged(&file, |text| {
            let mut lines: Vec<&str> = text.lines().collect();
            lines.swap(100, 101);
            lines.join("\n") + "\n"
        });
        let failed = failed(&disksim(folder.path()).unwrap());
        assert!(
            failed.contains(&format!("{file}: {scheduler}")),
            "{failed:?}"
        );
    }
}

#[test]
fn both_means_of_a_free_run_have_to_hold() {
    // Every response 0.04 ms longer, every row's own cost as it was: half a per cent, in step and
    // not.
    let folder = damaged("fcfs_mixed_ideal.csv", |text| {
        (1..text.lines().count()).fold(text.to_owned(), |text, line| {
            with_more(&text, line, 1, -0.04)
        })
    });
    let validation = disksim(folder.path()).unwrap();
    let failures = validation.failures().join("\n");
    for part in [
        "fcfs_mixed_ideal.csv (rows fit the trace and the clock): 299 rows do not fit",
        "fcfs_mixed_ideal.csv (fcfs, open, ideal): the mean is -",
        "% apart in step, where 0.02 % is allowed",
    ] {
        assert!(failures.contains(part), "{part} is not in\n{failures}");
    }
}

#[test]
fn a_wrong_parameter_fails_what_depends_on_it() {
    let folder = damaged("drive.csv", |text| text.replace("rpm,10045", "rpm,10000"));
    assert!(failed(&disksim(folder.path()).unwrap()).len() >= 8);
    let folder = damaged("zones.csv", |text| with_cell(text, 3, 4, "96"));
    let failed = failed(&disksim(folder.path()).unwrap());
    assert!(
        failed.contains(&"layout_ideal.csv: place".to_owned()),
        "{failed:?}"
    );
}

#[test]
fn absent_files_are_reported_and_decide_nothing() {
    let folder = damaged("drive.csv", |text| text.to_owned() + "\n");
    for file in ["layout_real.csv", "fcfs_mixed_real.csv"] {
        fs::remove_file(folder.path().join(file)).unwrap();
    }
    fs::write(folder.path().join("vscan_random4k_qd16_ideal.csv"), "seq\n").unwrap();
    fs::write(folder.path().join("notes.txt"), "not a table").unwrap();
    let validation = disksim(folder.path()).unwrap();
    for file in ["layout_real.csv", "fcfs_mixed_real.csv", "measured.csv"] {
        assert!(validation.absent.contains(&file.to_owned()), "{file}");
    }
    assert_eq!(validation.unknown, ["vscan_random4k_qd16_ideal.csv"]);
    assert!(
        validation
            .to_string()
            .contains("not known, not compared: vscan")
    );
}

#[test]
fn results_without_their_trace_are_refused() {
    let folder = damaged("drive.csv", |text| text.to_owned() + "\n");
    fs::remove_file(folder.path().join("trace_mixed.csv")).unwrap();
    let error = disksim(folder.path()).unwrap_err().to_string();
    assert!(
        error.ends_with("has no trace_mixed.csv; fcfs_mixed_ideal.csv serves its requests"),
        "{error}"
    );
}

#[test]
fn a_folder_says_all_that_it_lacks() {
    let folder = damaged("drive.csv", |text| text.to_owned() + "\n");
    for file in ["zones.csv", "seek_curve.csv"] {
        fs::remove_file(folder.path().join(file)).unwrap();
    }
    let error = disksim(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("has no zones.csv, no seek_curve.csv"),
        "{error}"
    );
    assert!(
        error.contains("zones.csv: where each zone begins and ends"),
        "{error}"
    );
}

#[test]
fn a_folder_with_nothing_to_compare_does_not_pass() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["drive.csv", "zones.csv", "seek_curve.csv", "slips.csv"] {
        fs::copy(data("cheetah_9lp").join(file), folder.path().join(file)).unwrap();
    }
    let validation = disksim(folder.path()).unwrap();
    assert!(validation.checks.is_empty());
    assert!(!validation.pass);
    assert_eq!(
        validation.failures(),
        ["the folder has no file to compare with"]
    );
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
        "fcfs_mixed_real.csv, line 8, column `lba`: `-3` is not a whole number from 0"
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
        text.starts_with("fcfs_mixed_real.csv, line 8, column `blocks`: `1` is not "),
        "{text}"
    );
    let text = error(file, |text| text.lines().next().unwrap().to_owned() + "\n");
    assert!(
        text.starts_with(&format!("{file}: it has no rows")),
        "{text}"
    );
}

#[test]
fn a_drive_that_cannot_be_is_refused() {
    let text = error("drive.csv", |text| {
        text.replace("sparing_scheme,9", "sparing_scheme,4")
    });
    assert_eq!(
        text,
        "parameter `drive.csv, sparing_scheme`: `4` (allowed: 0 (none), 1, 3, 7, 8 or 9)"
    );
    let text = error("drive.csv", |text| text.replace("rpm,10045", "rmp,10045"));
    assert!(
        text.contains("column `parameter`: `rmp` is not a parameter that the model has"),
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

/// The small Cheetah folder with another way of sparing: `spares` a zone, and blocks that are left.
fn of_scheme(scheme: &str, spares: u64, slips: bool) -> tempfile::TempDir {
    let copy = sheet::copy(&data("cheetah_9lp"));
    let read =
        |file: &str| sheet::Sheet::parse(&fs::read_to_string(copy.path().join(file)).unwrap());
    let mut drive = read("drive.csv");
    let row = drive.rows_with("parameter", |name| name == "sparing_scheme")[0];
    drive.set("value", |number| number == row, |_| scheme.to_owned());
    let row = drive.rows_with("parameter", |name| name == "blocks_real")[0];
    drive.rows.remove(row);
    let mut zones = read("zones.csv");
    let mut first = 0;
    for zone in 0..zones.rows.len() {
        let tracks = (zones.number(zone, "last_cyl") - zones.number(zone, "first_cyl") + 1) * 12;
        let lost = if slips {
            zones.number(zone, "n_slips")
        } else {
            spares * tracks
        };
        let blocks = zones.number(zone, "blocks_ideal") - lost;
        let kept = if slips {
            zones.number(zone, "n_slips")
        } else {
            0
        };
        for (column, value) in [
            ("spares", spares),
            ("n_slips", kept),
            ("first_lba_real", first),
            ("blocks_real", blocks),
        ] {
            zones.set(column, |row| row == zone, |_| value.to_string());
        }
        first += blocks;
    }
    sheet::replace(copy.path(), "drive.csv", &drive.text());
    sheet::replace(copy.path(), "zones.csv", &zones.text());
    for file in [
        "layout_real.csv",
        "fcfs_random4k_real.csv",
        "fcfs_mixed_real.csv",
        "summary.csv",
    ] {
        fs::remove_file(copy.path().join(file)).unwrap();
    }
    if !slips {
        fs::remove_file(copy.path().join("slips.csv")).unwrap();
    }
    copy
}

#[test]
fn sparing_schemes_3_and_7_are_read() {
    for folder in [of_scheme("7", 0, true), of_scheme("3", 2, false)] {
        let validation = disksim(folder.path()).unwrap();
        assert_eq!(validation.failures(), Vec::<String>::new());
    }
    let error = disksim(of_scheme("7", 1, true).path()).unwrap_err();
    assert!(error.to_string().contains("spares"), "{error}");
    let error = disksim(of_scheme("3", 0, true).path()).unwrap_err();
    assert!(
        error.to_string().contains("at most its 0 spares"),
        "{error}"
    );
}

#[test]
fn results_are_data_and_text() {
    let validation = disksim(&data("cheetah_9lp")).unwrap();
    let json = serde_json::to_value(&validation).unwrap();
    assert_eq!(json["pass"], true);
    assert_eq!(json["build"], program::build());
    assert_eq!(json["version"], program::VERSION);
    let rows = json["checks"].as_array().unwrap().iter();
    let mut rows =
        rows.filter_map(|check| check["finding"]["rows"]["completion_us"]["p99"].as_f64());
    assert!(rows.next().unwrap() < 0.2);
    let text = validation.to_string();
    for part in [
        "SEAGATE_ST39102LW",
        "fcfs_mixed_real.csv",
        "satf",
        "0.2 %, and 0.02 % in step",
        "verdict: pass\n",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}
