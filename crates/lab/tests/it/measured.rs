//! The complete model against drives that were measured: the first rows of the reference's
//! `measured.csv`, which ship in `data/measured`; terms in `ORIGIN.md` there. The full tables are
//! tried by `validate.rs`.

use std::path::Path;

use nearslot_core::drive::catalog_text;
use nearslot_lab::calibrate::{self, Calibration, How, Verdict};
use nearslot_lab::validate::{self, Finding, Measured};
use nearslot_trace::OpenOptions;

/// What the complete model gives for a drive: the finding, whether it passes, rows compared.
fn measured(drive: &str) -> (Measured, bool, u64) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/measured");
    let validation = validate::disksim(&data.join(drive)).unwrap();
    let checks = validation.checks.into_iter();
    let mut found = checks.filter_map(|check| match check.finding {
        Finding::Measured(found) => Some((found, check.pass, check.compared)),
        _ => None,
    });
    found
        .next_back()
        .unwrap_or_else(|| panic!("{drive} has no measured.csv"))
}

#[test]
fn the_cheetah_answers_as_the_reference_does() {
    let (found, pass, rows) = measured("cheetah_9lp");
    assert!(pass, "{found:?}");
    // All but a write that joins another: the reference writes its blocks twice.
    assert!(found.as_reference + 1 >= rows, "{found:?}");
    assert_eq!(found.fitted_read_ms_per_block, None);
}

#[test]
fn the_c2247a_needs_the_rate_of_its_bus_and_answers_as_measured() {
    let (found, pass, _) = measured("hp_c2247a");
    assert!(pass, "{found:?}");
    let (read, write) = found
        .fitted_read_ms_per_block
        .zip(found.fitted_write_ms_per_block)
        .unwrap();
    // Published elsewhere: 0.1701 and 0.18686. The whole table gives 0.169 and 0.178, these rows a
    // bit less.
    assert!((read - 0.1701).abs() < 0.006, "{read}");
    assert!((write - 0.187).abs() < 0.03, "{write}");
}

/// A drive calibrated from measured times, what they do not tell from the catalog's drive of that
/// name.
fn calibrated(file: &Path, base: &str) -> Calibration {
    let mut reader = nearslot_trace::open(&[file.to_owned()], &OpenOptions::default()).unwrap();
    let samples = calibrate::read(&mut reader).unwrap();
    let text = catalog_text(base).unwrap().to_owned();
    let how = How {
        base: Some((base.to_owned(), text)),
        input: file.display().to_string(),
        ..How::default()
    };
    calibrate::calibrate(&samples, &how).unwrap()
}

/// The revolutions a minute of a calibrated drive.
fn rpm(found: &Calibration) -> f64 {
    let table: toml::Table = found.drive.parse().unwrap();
    table["rpm"].as_float().unwrap()
}

/// The speed from a spread of latencies is one that disks are built for; the Cheetah's own is half
/// a percent above.
fn is_calibrated(folder: &Path, worst_share: f64) {
    for (drive, base, expected) in [
        ("cheetah", "seagate-cheetah-9lp", 10_000.0),
        ("hp_c2247a", "hp-c2247a", 5_400.0),
    ] {
        let entries = std::fs::read_dir(folder).unwrap();
        let named = entries.map(|entry| entry.unwrap()).find(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with(drive)
        });
        let found = calibrated(&named.unwrap().path().join("measured.csv"), base);
        assert!((rpm(&found) - expected).abs() < 0.01, "{found}");
        assert_eq!(found.fit.verdict, Verdict::Good, "{found}");
        assert!(found.fit.demerit_share < worst_share, "{found}");
    }
}

#[test]
fn measured_drives_are_calibrated_from_their_first_rows() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/measured");
    is_calibrated(&data, 0.05);
}

#[test]
fn measured_drives_are_calibrated_from_all_rows_where_these_are_present() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/disksim");
    if beside.is_dir() {
        is_calibrated(&beside, 0.045);
    }
}
