//! The faults that are planted, by the table that they are in.

use crate::validate::faults::{Fault, every, fault, hundredth};
use crate::validate::sheet::Sheet;

/// Every time of a result file or a trace, all rows.
const TIMES: [&str; 3] = ["arrival_ms", "start_ms", "completion_ms"];

/// Faults of a file of results.
pub(crate) fn result_faults(file: &str) -> Vec<Fault> {
    let lists = [
        faults_of_all_times(file),
        faults_of_rows(file),
        faults_of_requests(file),
        faults_of_states(file),
        faults_of_times(file),
        faults_beyond_counting(file),
    ];
    lists.into_iter().flatten().collect()
}

fn faults_of_all_times(file: &str) -> Vec<Fault> {
    vec![
        fault(file, "all times + 1 s", &["arrival_ms"], |sheet| {
            for column in TIMES {
                sheet.calculate(column, every, |ms| ms + 1e3);
            }
        }),
        fault(
            file,
            "+ 4 us on every completion",
            &["completion_ms"],
            |sheet| {
                sheet.calculate("completion_ms", every, |ms| ms + 0.004);
            },
        ),
        fault(
            file,
            "+ 4 us on every transfer and completion",
            &["off by"],
            |sheet| {
                sheet.calculate("completion_ms", every, |ms| ms + 0.004);
                sheet.calculate("transfer_ms", every, |ms| ms + 0.004);
            },
        ),
    ]
}

/// Times whose sum is no number of nanoseconds any more.
fn faults_beyond_counting(file: &str) -> Vec<Fault> {
    vec![fault(
        file,
        "three parts of 250 years",
        &["`seek_ms`"],
        |sheet| {
            for column in ["seek_ms", "rotation_ms", "transfer_ms"] {
                sheet.set(column, |row| row == 57, |_| "8000000000000".to_owned());
            }
        },
    )]
}

/// Rows that are missing, there twice or swapped.
fn faults_of_rows(file: &str) -> Vec<Fault> {
    vec![
        fault(
            file,
            "three rows of ten missing",
            &["no row", "`seq`"],
            Sheet::thin_out,
        ),
        fault(
            file,
            "the last three rows of ten missing",
            &["no row"],
            |sheet| {
                sheet.rows.truncate(sheet.rows.len() * 7 / 10);
            },
        ),
        fault(file, "one row twice", &["`seq`"], |sheet| {
            let row = sheet.rows[60].clone();
            sheet.rows.insert(61, row);
        }),
        fault(
            file,
            "two rows swapped",
            &["`start_ms`", "`seq`"],
            |sheet| sheet.rows.swap(70, 71),
        ),
        fault(file, "few rows", &["rows; at least", "no row"], |sheet| {
            sheet.rows.truncate(20);
        }),
    ]
}

/// Rows that serve something else.
fn faults_of_requests(file: &str) -> Vec<Fault> {
    vec![
        fault(file, "1 % of the directions", &["`op`"], |sheet| {
            sheet.set("op", hundredth, turned);
        }),
        fault(file, "1 % of the addresses", &["`lba`"], |sheet| {
            sheet.calculate("lba", hundredth, |lba| lba / 2.0);
        }),
        fault(file, "1 % of the lengths", &["`blocks`"], |sheet| {
            sheet.calculate("blocks", hundredth, |blocks| blocks + 1.0);
        }),
        fault(
            file,
            "1 % of the numbers",
            &["`seq`", "of the trace has"],
            |sheet| {
                sheet.calculate("seq", hundredth, |seq| seq + 1.0);
            },
        ),
    ]
}

/// Rows that begin in another state of the drive.
fn faults_of_states(file: &str) -> Vec<Fault> {
    vec![
        fault(file, "another head", &["start_cyl"], |sheet| {
            sheet.set("start_head", hundredth, |head| {
                if head == "0" { "1" } else { "0" }.to_owned()
            });
        }),
        fault(file, "another cylinder", &["start_cyl"], |sheet| {
            sheet.calculate("start_cyl", hundredth, |cylinder| (cylinder - 1.0).abs());
        }),
        fault(file, "another seek distance", &["seek_cyl"], |sheet| {
            sheet.calculate("seek_cyl", hundredth, |cylinders| cylinders + 1.0);
        }),
        fault(file, "another angle", &["start_angle_rev"], |sheet| {
            sheet.calculate("start_angle_rev", every, |angle| (angle + 0.25) % 1.0);
        }),
        fault(
            file,
            "1 % of the angles, by 10 us",
            &["start_angle_rev"],
            |sheet| {
                sheet.calculate("start_angle_rev", hundredth, |angle| (angle + 0.002) % 1.0);
            },
        ),
    ]
}

/// Single columns of times.
fn faults_of_times(file: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    // In the mixed trace no request waits, so there the two are equal.
    if file.contains("random4k") {
        let name = "arrivals set to starts";
        faults.push(fault(file, name, &["arrival_ms"], |sheet| {
            sheet.copy("start_ms", "arrival_ms");
        }));
    }
    for column in [
        "arrival_ms",
        "start_ms",
        "completion_ms",
        "seek_ms",
        "rotation_ms",
        "transfer_ms",
    ] {
        for (what, chosen) in [("1 % of", hundredth as fn(usize) -> bool), ("every", every)] {
            // What is wrong with a part shows in the sum, or as a row that is off.
            let names = [column, "completion_ms", "off by"];
            faults.push(fault(
                file,
                &format!("{what} {column} + 1 us"),
                &names,
                move |sheet| {
                    sheet.calculate(column, chosen, |ms| ms + 0.001);
                },
            ));
        }
    }
    faults
}

fn turned(op: &str) -> String {
    if op == "R" { "W" } else { "R" }.to_owned()
}

/// Faults of a trace whose requests are served.
pub(crate) fn trace_faults(file: &str) -> Vec<Fault> {
    let served = ["arrival_ms", "`lba`", "`op`", "`blocks`", "`time_ms`"];
    vec![
        fault(file, "arrivals x 0.1", &served, |sheet| {
            sheet.calculate("time_ms", every, |ms| ms * 0.1);
        }),
        fault(file, "arrivals + 1 s", &served, |sheet| {
            sheet.calculate("time_ms", every, |ms| ms + 1e3);
        }),
        fault(file, "1 % of the addresses", &served, |sheet| {
            sheet.calculate("lba", hundredth, |lba| lba / 2.0);
        }),
        fault(file, "1 % of the directions", &served, |sheet| {
            sheet.set("op", hundredth, turned);
        }),
        fault(file, "1 % of the lengths", &served, |sheet| {
            sheet.calculate("blocks", hundredth, |blocks| blocks + 1.0);
        }),
        fault(file, "another device", &["`dev`"], |sheet| {
            sheet.calculate("dev", hundredth, |device| device + 1.0);
        }),
        fault(
            file,
            "three rows of ten missing",
            &["seq", "lba", "op", "blocks"],
            Sheet::thin_out,
        ),
        fault(file, "no rows", &["no rows"], |sheet| sheet.rows.clear()),
    ]
}

/// Faults of a list of places.
pub(crate) fn layout_faults(file: &str, rows: usize) -> Vec<Fault> {
    let mut faults = vec![
        fault(file, "the same angle everywhere", &["differ"], |sheet| {
            sheet.set("angle_rev", every, |_| "0.5".to_owned());
        }),
        fault(
            file,
            "1 % of the angles by a thousandth of a sector",
            &["differ"],
            |sheet| {
                sheet.calculate("angle_rev", hundredth, |angle| (angle - 4e-6).abs());
            },
        ),
        fault(
            file,
            "1 % of the blocks",
            &["differ", "rising order"],
            |sheet| {
                sheet.calculate("lba", hundredth, |lba| lba + 1.0);
            },
        ),
        fault(file, "few rows", &["at least"], |sheet| {
            sheet.rows.truncate(20);
        }),
        fault(file, "rows shuffled", &["rising order"], |sheet| {
            sheet.rows.swap(10, 50);
        }),
    ];
    for column in [
        "cylinder",
        "head",
        "sector",
        "track_first_lba",
        "track_last_lba",
    ] {
        faults.push(fault(
            file,
            &format!("1 % of {column}"),
            &["differ"],
            move |sheet| {
                sheet.calculate(column, hundredth, |number| number + 1.0);
            },
        ));
    }
    // A short list is a sample, of which none can tell how long it was.
    if rows > 1_500 {
        faults.push(fault(
            file,
            "three rows of ten missing",
            &["no row"],
            Sheet::thin_out,
        ));
    }
    faults
}

const STATISTICS: [&str; 7] = [
    "mean_ms",
    "stddev_ms",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "max_ms",
    "requests_per_s",
];

/// Rows of the summary that are missing or of another load.
fn faults_of_loads(file: &str) -> Vec<Fault> {
    vec![
        fault(
            file,
            "three rows of ten missing",
            &["no row"],
            Sheet::thin_out,
        ),
        fault(file, "a load twice", &["no row above"], |sheet| {
            let row = sheet.rows[1].clone();
            sheet.rows.push(row);
        }),
        fault(
            file,
            "other requests",
            &["`requests`", "requests, and"],
            |sheet| {
                sheet.calculate("requests", every, |count| count - 1.0);
            },
        ),
        fault(file, "an unknown note", &["`note`"], |sheet| {
            sheet.set("note", every, |_| "x".to_owned());
        }),
        fault(
            file,
            "another layout",
            &["% apart", "no row above"],
            |sheet| {
                sheet.set("layout", every, |_| "real".to_owned());
            },
        ),
        fault(file, "an unknown scheduler", &["`scheduler`"], |sheet| {
            sheet.set("scheduler", |row| row == 5, |_| "VSCAN".to_owned());
        }),
        fault(
            file,
            "other schedulers",
            &["`scheduler`", "% apart"],
            |sheet| {
                sheet.set("scheduler", every, |name| name.replace("LOOK", "SSTF"));
            },
        ),
        fault(file, "another depth", &["`requests`", "% apart"], |sheet| {
            sheet.set("queue_depth", |row| row == 5, |_| "3".to_owned());
        }),
        fault(
            file,
            "another load",
            &["`queue_depth`", "`requests`"],
            |sheet| {
                sheet.set("workload", every, |_| "open mixed".to_owned());
            },
        ),
    ]
}

/// Faults of the summary, of its rows of the mechanics and of the complete drive.
pub(crate) fn summary_faults(sheet: &Sheet) -> Vec<Fault> {
    let file = "summary.csv";
    let sptf = sheet.rows_with("scheduler", |name| name == "SPTF");
    let mechanical = sheet.rows_with("note", str::is_empty);
    let complete = sheet.rows_with("note", |note| !note.is_empty());
    let mut faults = faults_of_loads(file);
    for row in sptf {
        faults.push(fault(
            file,
            &format!("SPTF mean x 1.015 in row {row}"),
            &["mean_ms"],
            move |sheet| {
                sheet.calculate("mean_ms", |number| number == row, |ms| ms * 1.015);
            },
        ));
        for column in ["p50_ms", "p95_ms", "p99_ms"] {
            faults.push(fault(
                file,
                &format!("SPTF {column} x 2 in row {row}"),
                &[column],
                move |sheet| {
                    sheet.calculate(column, |number| number == row, |ms| ms * 2.0);
                },
            ));
        }
    }
    for rows in [mechanical, complete] {
        // A short folder has none of the complete drive.
        let Some(first) = rows.first() else { continue };
        for column in STATISTICS {
            let (name, rows) = (format!("{column} x 1.1 from row {first} on"), rows.clone());
            faults.push(fault(file, &name, &[column], move |sheet| {
                sheet.calculate(column, |row| rows.contains(&row), |value| value * 1.1);
            }));
        }
    }
    faults
}

/// Faults of measured service times.
pub(crate) fn measured_faults() -> Vec<Fault> {
    let file = "measured.csv";
    let mut gaps = vec![fault(
        file,
        "four gaps of 250 years",
        &["`gap_to_next_ms`"],
        |sheet| {
            sheet.set(
                "gap_to_next_ms",
                |row| row < 4,
                |_| "8000000000000".to_owned(),
            );
        },
    )];
    gaps.push(fault(
        file,
        "gaps of nine days before every request",
        &["`gap_to_next_ms`", "sum up to at most ten years"],
        |sheet| sheet.set("gap_to_next_ms", |_| true, |_| "777600000".to_owned()),
    ));
    gaps.push(fault(
        file,
        "a measured time of 250 years",
        &["`measured_ms`"],
        |sheet| {
            sheet.set(
                "measured_ms",
                |row| row == 1,
                |_| "8000000000000".to_owned(),
            );
        },
    ));
    let lists = [faults_of_service(file), faults_of_replay(file), gaps];
    lists.into_iter().flatten().collect()
}

/// Service times that are wrong.
fn faults_of_service(file: &str) -> Vec<Fault> {
    vec![
        fault(
            file,
            "all measured times + 1 ms",
            &["`measured_ms`"],
            |sheet| {
                sheet.calculate("measured_ms", every, |ms| ms + 1.0);
            },
        ),
        fault(
            file,
            "all measured times x 1.05",
            &["`measured_ms`"],
            |sheet| {
                sheet.calculate("measured_ms", every, |ms| ms * 1.05);
            },
        ),
        fault(
            file,
            "measured times shuffled",
            &["`measured_ms`"],
            |sheet| sheet.shuffle("measured_ms"),
        ),
        fault(
            file,
            "reference times + 0.1 ms",
            &["`reference_ms`"],
            |sheet| {
                sheet.calculate("reference_ms", every, |ms| ms + 0.1);
            },
        ),
        fault(
            file,
            "2 % of the reference times + 0.1 ms",
            &["`reference_ms`"],
            |sheet| {
                sheet.calculate("reference_ms", |row| row % 50 < 2, |ms| ms + 0.1);
            },
        ),
        fault(
            file,
            "reference times shuffled",
            &["`reference_ms`"],
            |sheet| sheet.shuffle("reference_ms"),
        ),
    ]
}

/// Requests that are wrong, and rows.
fn faults_of_replay(file: &str) -> Vec<Fault> {
    vec![
        fault(
            file,
            "1 % of the directions",
            // Where outcomes are given, that of a write does not fit a read.
            &["`reference_ms`", "`drive_cache_outcome`"],
            |sheet| sheet.set("op", hundredth, turned),
        ),
        fault(file, "1 % of the addresses", &["`reference_ms`"], |sheet| {
            sheet.calculate("lba", hundredth, |lba| lba / 2.0);
        }),
        fault(file, "1 % of the lengths", &["`reference_ms`"], |sheet| {
            sheet.calculate("blocks", |row| row % 50 < 2, |blocks| blocks * 2.0);
        }),
        fault(file, "gaps x 0.1", &["`reference_ms`"], |sheet| {
            sheet.calculate("gap_to_next_ms", every, |ms| ms * 0.1);
        }),
        fault(file, "gaps shuffled", &["`reference_ms`"], |sheet| {
            sheet.shuffle("gap_to_next_ms");
        }),
        fault(
            file,
            "three rows of ten missing",
            &["`seq`"],
            Sheet::thin_out,
        ),
        fault(file, "few rows", &["rows"], |sheet| {
            sheet.rows.truncate(300);
        }),
        fault(
            file,
            "an unknown outcome",
            &["`drive_cache_outcome`"],
            |sheet| {
                sheet.set(
                    "drive_cache_outcome",
                    |row| row == 7,
                    |_| "Perhaps".to_owned(),
                );
            },
        ),
        fault(
            file,
            "other outcomes",
            &["`drive_cache_outcome`"],
            |sheet| {
                let reads = sheet.rows_with("op", |op| op == "R");
                sheet.set(
                    "drive_cache_outcome",
                    |row| reads.contains(&row) && row.is_multiple_of(3),
                    |outcome| if outcome == "Hit" { "Miss" } else { "Hit" }.to_owned(),
                );
            },
        ),
    ]
}

/// A fault of one parameter.
pub(crate) fn parameter(name: &'static str, value: &'static str) -> Fault {
    let names = [
        "no row",
        "differ",
        "fit",
        "off",
        "apart",
        "reference_ms",
        "measured_ms",
        "allowed",
    ];
    fault(
        "drive.csv",
        &format!("{name} = {value}"),
        &names,
        move |sheet| {
            let rows = sheet.rows_with("parameter", |parameter| parameter == name);
            assert_eq!(rows.len(), 1, "{name}");
            sheet.set("value", |row| rows.contains(&row), |_| value.to_owned());
        },
    )
}

/// Faults of the mechanics' parameters.
pub(crate) fn mechanical_faults() -> Vec<Fault> {
    let values = [
        ("rpm", "10046"),
        ("heads", "11"),
        ("cylinders", "900"),
        ("blocks_ideal", "7"),
        ("blocks_real", "7"),
        ("sector_bytes", "520"),
        ("head_switch_ms", "3"),
        ("write_settle_ms", "0.471"),
        ("start_cylinder", "100"),
        ("start_head", "3"),
        ("start_angle_rev", "0.25"),
    ];
    values.map(|(name, value)| parameter(name, value)).into()
}

/// What a wrong description may show in.
const ANY: [&str; 6] = [
    "differ",
    "off by",
    "is not",
    "do not fit",
    "allowed",
    "reference_ms",
];

/// Faults of the tables that describe the drive.
pub(crate) fn description_faults() -> Vec<Fault> {
    let mut faults = zone_faults();
    faults.extend([
        fault("seek_curve.csv", "times x 1.01", &ANY, |sheet| {
            sheet.calculate("time_ms", every, |ms| ms * 1.01);
        }),
        fault("seek_curve.csv", "distances + 1", &ANY, |sheet| {
            sheet.calculate("distance_cyl", every, |cylinders| cylinders + 1.0);
        }),
        fault("drive.csv", "another unit", &["`unit`"], |sheet| {
            sheet.set("unit", every, |unit| unit.replace("ms", "us"));
        }),
        fault(
            "drive.csv",
            "an unknown parameter",
            &["`parameter`", "did you mean"],
            |sheet| {
                sheet.set("parameter", every, |name| {
                    name.replace("start_head", "start_hed")
                });
            },
        ),
        fault(
            "drive.csv",
            "a parameter twice",
            &["`parameter`"],
            |sheet| {
                let row = sheet.rows[1].clone();
                sheet.rows.push(row);
            },
        ),
        fault(
            "zones.csv",
            "more blocks than can be counted",
            &["`blocks_ideal`"],
            |sheet| {
                sheet.set("blocks_ideal", |row| row == 0, |_| u64::MAX.to_string());
                sheet.set("first_lba_ideal", |row| row == 1, |_| u64::MAX.to_string());
            },
        ),
        fault("zones.csv", "no rows", &["no rows"], |sheet| {
            sheet.rows.clear();
        }),
        fault("zones.csv", "the last zone missing", &ANY, |sheet| {
            sheet.rows.pop();
        }),
    ]);
    faults
}

/// Single columns of the zones.
fn zone_faults() -> Vec<Fault> {
    let mut faults = Vec::new();
    for column in [
        "zone",
        "first_cyl",
        "last_cyl",
        "sectors_per_track",
        "spares",
        "reserved_sectors_at_front",
        "n_slips",
        "first_lba_ideal",
        "blocks_ideal",
        "first_lba_real",
        "blocks_real",
    ] {
        faults.push(fault(
            "zones.csv",
            &format!("{column} + 1"),
            &ANY,
            move |sheet| {
                sheet.calculate(column, |row| row == 1, |number| number + 1.0);
            },
        ));
    }
    // Skews tell only where a block is read; every zone is.
    for column in [
        "track_skew_sectors",
        "cylinder_skew_sectors",
        "first_block_offset_sectors",
    ] {
        faults.push(fault(
            "zones.csv",
            &format!("every {column} + 1"),
            &ANY,
            move |sheet| {
                sheet.calculate(column, every, |number| number + 1.0);
            },
        ));
    }
    faults
}
