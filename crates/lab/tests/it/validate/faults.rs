//! Planted faults: every column of every file of every folder is damaged, one way after the other,
//! and the validation must fail and name what is wrong. A check counts once it has failed.
//!
//! Each fault is a validation of its whole folder, and there are hundreds. So one in [`ONE_IN`] is
//! planted, of all kinds and in all files, and each with `NEARSLOT_ONE_FAULT_IN=1` (`make soak`).
//! The folders that ship are small cuts. With `NEARSLOT_REFERENCE` set, the same faults are planted
//! in the full folders too.

use std::path::{Path, PathBuf};

use nearslot_lab::validate::disksim;

use crate::validate::planted::{
    description_faults, layout_faults, measured_faults, mechanical_faults, parameter,
    result_faults, summary_faults, trace_faults,
};
use crate::validate::sheet::{self, Sheet};

/// A change of one or more tables of a folder, and what the message must contain.
pub(crate) struct Fault {
    name: String,
    files: Vec<String>,
    change: Box<dyn Fn(&mut Sheet)>,
    /// One of these has to be in the message.
    names: Vec<String>,
}

pub(crate) fn fault(
    file: &str,
    name: &str,
    names: &[&str],
    change: impl Fn(&mut Sheet) + 'static,
) -> Fault {
    Fault {
        name: format!("{file}: {name}"),
        files: vec![file.to_owned()],
        change: Box::new(change),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

pub(crate) fn every(_: usize) -> bool {
    true
}

/// One row in a hundred, not at the borders.
pub(crate) fn hundredth(row: usize) -> bool {
    row % 100 == 57
}

/// Faults that every table of a folder must show: a column that is not known, one that has another
/// name.
fn column_faults(file: &str, sheet: &Sheet) -> Vec<Fault> {
    let mut faults = vec![fault(file, "an unknown column", &["colour"], |sheet| {
        sheet.add_column("colour", "1");
    })];
    for column in sheet.columns().to_vec() {
        let name = format!("{column} has another name");
        faults.push(fault(file, &name, &[&column.clone()], move |sheet| {
            sheet.rename(&column, &format!("{column}x"));
        }));
    }
    faults
}

/// The same fault in a trace and all of its results: nothing in them contradicts the trace. The
/// time is no whole number of turns of any drive, of which nothing could be seen.
fn common_faults(folder: &Path) -> Vec<Fault> {
    let names = sheet::files(folder).into_iter();
    let names = names.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
    let files: Vec<String> = names
        .filter(|file| file.starts_with("trace_") || file.starts_with("fcfs_"))
        .collect();
    let later = |sheet: &mut Sheet| {
        for column in ["time_ms", "arrival_ms", "start_ms", "completion_ms"] {
            if sheet.columns().iter().any(|name| name == column) {
                sheet.calculate(column, every, |ms| ms + 1_000.7);
            }
        }
    };
    vec![Fault {
        name: "traces and results: all times + 1.0007 s".to_owned(),
        files,
        change: Box::new(later),
        names: vec!["start_angle_rev".to_owned()],
    }]
}

/// Faults of a folder, by the files that it has.
fn faults(folder: &Path) -> Vec<Fault> {
    let mut faults = common_faults(folder);
    for path in sheet::files(folder) {
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let sheet = Sheet::parse(&text);
        faults.extend(column_faults(&file, &sheet));
        faults.extend(match file.as_str() {
            "summary.csv" => summary_faults(&sheet),
            "measured.csv" => measured_faults(),
            _ if file.contains("_random4k_") || file.contains("_mixed_") => result_faults(&file),
            _ if file.starts_with("trace_") => trace_faults(&file),
            _ if file.starts_with("layout_") => layout_faults(&file, sheet.rows.len()),
            _ => Vec::new(),
        });
    }
    faults
}

/// What the validation says of a folder that must fail; `None` if it passes.
fn verdict(folder: &Path) -> Option<String> {
    match disksim(folder) {
        Err(error) => Some(error.to_string()),
        Ok(validation) if validation.pass => None,
        Ok(validation) => Some(validation.failures().join("; ")),
    }
}

/// Of so many faults one is planted, unless `NEARSLOT_ONE_FAULT_IN` says otherwise. No divisor of
/// the faults of a column or a file, so that all kinds of them have their turn.
const ONE_IN: usize = 5;

/// Of how many faults one is to be planted.
fn one_in() -> usize {
    let told = std::env::var("NEARSLOT_ONE_FAULT_IN").ok();
    told.map_or(ONE_IN, |told| told.parse().expect("a whole number from 1"))
}

/// Plants faults, one after the other, and returns those that nobody noticed or named.
fn unnoticed(folder: &Path, faults: &[Fault]) -> Vec<String> {
    assert_eq!(verdict(folder), None, "{} as it is", folder.display());
    let mut unnoticed = Vec::new();
    for fault in faults.iter().step_by(one_in()) {
        let copy = sheet::copy(folder);
        for file in &fault.files {
            let text = std::fs::read_to_string(folder.join(file)).unwrap();
            let mut sheet = Sheet::parse(&text);
            assert_eq!(sheet.text(), text, "{file} is read as it is");
            (fault.change)(&mut sheet);
            assert_ne!(sheet.text(), text, "{} changes nothing", fault.name);
            sheet::replace(copy.path(), file, &sheet.text());
        }
        let said = verdict(copy.path());
        let named = |said: &String| fault.names.iter().any(|name| said.contains(name));
        if !said.as_ref().is_some_and(named) {
            let said = said.unwrap_or_else(|| "pass".to_owned());
            unnoticed.push(format!("{}: {said}", fault.name));
        }
    }
    unnoticed
}

fn small(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(folder)
}

/// The folder that ships, and the full one where the environment names it.
fn folders(small_one: &str, full_one: &str) -> Vec<PathBuf> {
    let full = std::env::var_os("NEARSLOT_REFERENCE").map(|root| {
        let full = PathBuf::from(root).join("disksim").join(full_one);
        assert!(
            full.is_dir(),
            "NEARSLOT_REFERENCE has no {}",
            full.display()
        );
        full
    });
    [small(small_one)].into_iter().chain(full).collect()
}

fn assert_all_noticed(folder: &Path, faults: &[Fault]) {
    let unnoticed = unnoticed(folder, faults);
    assert!(
        unnoticed.is_empty(),
        "{} of {} faults in {} went unnoticed or unnamed:\n{}",
        unnoticed.len(),
        faults.len(),
        folder.display(),
        unnoticed.join("\n")
    );
}

#[test]
fn every_fault_of_every_file_of_the_cheetah_is_noticed_and_named() {
    for folder in folders("disksim/cheetah_9lp", "cheetah9LP") {
        let mut faults = faults(&folder);
        faults.extend(mechanical_faults());
        faults.extend(description_faults());
        assert!(faults.len() > 300, "{}", faults.len());
        assert_all_noticed(&folder, &faults);
    }
}

#[test]
fn every_fault_of_other_layouts_is_noticed_and_named() {
    for folder in ["alternating_heads", "remapped_ranges", "spare_tracks"] {
        let folder = small("disksim").join(folder);
        assert_all_noticed(&folder, &faults(&folder));
    }
}

/// Faults of the electronics: what a drive does, and the values that are wrong for it.
fn electronics_faults(values: &[(&'static str, &'static str)]) -> Vec<Fault> {
    values
        .iter()
        .map(|(name, value)| parameter(name, value))
        .collect()
}

#[test]
fn every_fault_of_the_measured_cheetah_is_noticed_and_named() {
    for folder in folders("measured/cheetah_9lp", "cheetah9LP") {
        let mut faults = measured_faults();
        // It calls every request a hit, so the outcomes say nothing.
        faults.retain(|fault| !fault.name.ends_with("other outcomes"));
        faults.extend(electronics_faults(&[
            ("full: Read miss over. after read", "1.283620"),
            ("full: Read miss over. after write", "1.086730"),
            ("full: Read hit over. after read", "1.066"),
            ("full: Write hit over. after read", "0.848"),
            ("full: Write hit over. after write", "0.6"),
            ("full: Bulk sector transfer time", "0.115"),
            ("full: Per-request overhead time", "0.02"),
            ("full: Time scale for overheads", "1.1"),
            ("full: Read completion overhead", "0.02"),
            ("full: Write completion overhead", "0.02"),
            ("full: Data preparation overhead", "0.02"),
            ("full: Number of buffer segments", "1"),
            ("full: Buffer continuous read", "0"),
            ("full: Fast write level", "0"),
        ]));
        faults.extend(mechanical_faults());
        // Where the arm starts tells of the first request alone, and all writes are acknowledged
        // before they settle.
        faults.retain(|fault| !fault.name.contains("start_") && !fault.name.contains("settle"));
        assert_all_noticed(&folder, &faults);
    }
}

#[test]
fn every_fault_of_the_measured_c2247a_is_noticed_and_named() {
    for folder in folders("measured/hp_c2247a", "hp_c2247a") {
        let mut faults = measured_faults();
        faults.extend(electronics_faults(&[
            ("full: Read miss over. after read", "1.558210"),
            ("full: Read hit over. after read", "1.05"),
            ("full: Number of buffer segments", "1"),
            ("full: Buffer continuous read", "0"),
            ("full: Fast write level", "2"),
            ("full: Extra write disconnect", "0"),
            ("rpm", "5401"),
            ("write_settle_ms", "0.7"),
        ]));
        assert_all_noticed(&folder, &faults);
    }
}
