//! What is kept of a scenario: the whole JSON, and digests of the rows that a run can write down.

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;
use nearslot_lab::capacity::{How, capacity};
use nearslot_lab::grid::{self, Point, Vary};
use nearslot_lab::load::LoadedTrace;
use nearslot_lab::objective::objectives;
use nearslot_lab::report::{Outputs, Target};
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::Scenario;
use nearslot_lab::sim::Control;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::golden::inputs::Inputs;
use crate::golden::scenes::{Ask, Scene};

/// The results of a scenario, as text.
pub(crate) fn of(scene: &Scene, inputs: &Inputs) -> String {
    let folder = inputs.folder();
    let scenario =
        Scenario::from_toml(&scene.text, folder).unwrap_or_else(|error| panic!("{scene}: {error}"));
    let trace = inputs.loaded(&scenario.load);
    let vary: Vec<Vary> = scene
        .vary
        .iter()
        .map(|word| word.parse().unwrap())
        .collect();
    let points = grid::points(&scenario, &vary).unwrap();
    grid::check_effects(&scenario, &points).unwrap_or_else(|error| panic!("{scene}: {error}"));
    let found = match scene.ask {
        Ask::Compare => compared(&points, trace.as_deref()),
        Ask::Capacity { slo, find } => {
            let how = How {
                objectives: objectives(&[slo.to_owned()]).unwrap(),
                find,
                resolution_percent: 5.0,
                jobs: Some(1),
            };
            let found = capacity(&points, trace.as_deref(), &how, &Control::default());
            found
                .map(|found| json!(found))
                .map_err(|error| error.to_string())
        }
    };
    let mut found = found.unwrap_or_else(|error| panic!("{scene}: {error}"));
    for program in ["version", "build"] {
        found.as_object_mut().unwrap().remove(program).unwrap();
    }
    let mut text = String::new();
    write_json(&mut text, &found, 0);
    text.push('\n');
    // The folder is another one each time.
    text.replace(&format!("{}/", folder.display()), "")
}

fn compared(points: &[Point], trace: Option<&LoadedTrace>) -> Result<Value, String> {
    let folder = tempfile::tempdir().unwrap();
    let target = |name: &str| -> Target {
        let mut outputs = Outputs::new(false);
        outputs.add(name, &folder.path().join(name)).unwrap()
    };
    let wanted = Wanted {
        series: true,
        jobs: Some(1),
        requests: Some(target("requests")),
        commands: Some(target("commands")),
        ..Wanted::default()
    };
    let results = compare(points, trace, &wanted, &Control::default());
    let mut found = json!(results.map_err(|error| error.to_string())?);
    let mut digests =
        ["requests", "commands"].map(|name| (name, rows(&folder.path().join(name)).into_iter()));
    for run in found["runs"].as_array_mut().unwrap() {
        let run = run.as_object_mut().unwrap();
        run.remove("simulated_in_s").unwrap();
        let series = run.remove("series").unwrap().to_string();
        run.insert("digest of series".to_owned(), digest(series.as_bytes()));
        for (name, digests) in &mut digests {
            let (label, digest) = digests.next().expect("a row group each run");
            assert_eq!(label, run["label"]);
            run.insert(format!("digest of {name}"), digest);
        }
    }
    Ok(found)
}

fn digest(bytes: &[u8]) -> Value {
    json!(format!("{:016x}", xxh3_64(bytes)))
}

/// The label of each run and a digest of its rows. A run has less than one row group, and runs
/// stand in the order of the grid.
fn rows(path: &Path) -> Vec<(String, Value)> {
    let builder = || ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let groups = builder().metadata().num_row_groups();
    let group = |index: usize| {
        let rows = builder().metadata().row_group(index).num_rows() as usize;
        let reader = builder()
            .with_row_groups(vec![index])
            .with_batch_size(rows)
            .build();
        let batches: Vec<RecordBatch> = reader.unwrap().map(Result::unwrap).collect();
        let [batch] = batches.as_slice() else {
            panic!("{} batches of {rows} rows", batches.len());
        };
        let label = cast(batch.column(0), &DataType::Utf8).unwrap();
        let label = label.as_string::<i32>().value(0).to_owned();
        (label, json!(format!("{rows} rows, {}", of_batch(batch))))
    };
    (0..groups).map(group).collect()
}

/// A digest of all columns but the first one, which names the run: their names, then their values
/// one by one.
fn of_batch(batch: &RecordBatch) -> String {
    let mut bytes = Vec::new();
    let schema = batch.schema();
    for (field, column) in schema.fields().iter().zip(batch.columns()).skip(1) {
        if field.name() == "status" && all_done(column) {
            continue;
        }
        bytes.extend(field.name().as_bytes());
        add_column(&mut bytes, column);
    }
    format!("{:016x}", xxh3_64(&bytes))
}

/// Whether a column of statuses says nothing. It came later than the others, and digests of runs
/// without failures stay what they were.
fn all_done(column: &ArrayRef) -> bool {
    let words = cast(column, &DataType::Utf8).unwrap();
    words
        .as_string::<i32>()
        .iter()
        .all(|word| word == Some("done"))
}

fn add_column(bytes: &mut Vec<u8>, column: &ArrayRef) {
    match column.data_type() {
        DataType::UInt64 => {
            for value in column.as_primitive::<UInt64Type>() {
                bytes.push(value.is_some().into());
                bytes.extend(value.unwrap_or(0).to_le_bytes());
            }
        }
        DataType::Boolean => {
            let values = column.as_boolean().iter();
            bytes.extend(values.map(|value| u8::from(value.unwrap())));
        }
        DataType::Dictionary(_, _) => {
            let words = cast(column, &DataType::Utf8).unwrap();
            for word in words.as_string::<i32>() {
                bytes.extend(word.unwrap().as_bytes());
                bytes.push(0);
            }
        }
        other => panic!("a column of {other} has no digest yet"),
    }
}

/// JSON with a line for each thing that holds plain values alone, so that a difference is small and
/// readable.
fn write_json(text: &mut String, value: &Value, depth: usize) {
    let nested = |value: &Value| value.is_object() || value.is_array();
    let indent = "  ".repeat(depth + 1);
    match value {
        Value::Object(fields) if fields.values().any(nested) => {
            text.push_str("{\n");
            for (key, value) in fields {
                text.push_str(&format!("{indent}{}: ", json!(key)));
                write_json(text, value, depth + 1);
                text.push_str(",\n");
            }
            text.push_str(&format!("{}}}", "  ".repeat(depth)));
        }
        Value::Array(items) if items.iter().any(nested) => {
            text.push_str("[\n");
            for item in items {
                text.push_str(&indent);
                write_json(text, item, depth + 1);
                text.push_str(",\n");
            }
            text.push_str(&format!("{}]", "  ".repeat(depth)));
        }
        plain => text.push_str(&plain.to_string()),
    }
}
