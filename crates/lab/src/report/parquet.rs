//! The summary as Parquet: the columns of [`super::columns`], typed, and provenance as key-values of the file.

use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};

use super::columns::{self, Column, Kind, Ranked, Value};
use super::{ReportError, check};
use crate::outcome::Results;

/// One row a run, in memory: what the Parquet file has, for those who need no file.
///
/// # Errors
/// Results that are not finite or do not fit together.
pub fn record_batch(results: &Results) -> Result<RecordBatch, ReportError> {
    check(results)?;
    let (columns, ranked) = (columns::all(), Ranked::of(results));
    let fields: Vec<Field> = columns.iter().map(field).collect();
    let arrays = columns.iter().map(|column| array(column, &ranked));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays.collect())
        .map_err(|error| ReportError::Encode(error.to_string()))
}

/// The whole file; a row a run is never much.
pub(super) fn encode(results: &Results) -> Result<Vec<u8>, ReportError> {
    let batch = record_batch(results)?;
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(provenance(results)?))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    Ok(writer.into_inner()?)
}

fn field(column: &Column) -> Field {
    let kind = match column.kind {
        Kind::Text => DataType::Utf8,
        Kind::Count => DataType::UInt64,
        Kind::Measure => DataType::Float64,
    };
    Field::new(&column.name, kind, true)
}

fn array(column: &Column, ranked: &Ranked<'_>) -> ArrayRef {
    let values = (0..ranked.ranks.len()).map(|index| column.value(ranked, index));
    match column.kind {
        Kind::Text => Arc::new(StringArray::from_iter(values.map(|value| match value {
            Value::Text(text) => Some(text),
            _ => None,
        }))),
        Kind::Count => Arc::new(UInt64Array::from_iter(values.map(|value| match value {
            Value::Count(count) => Some(count),
            _ => None,
        }))),
        Kind::Measure => Arc::new(Float64Array::from_iter(values.map(|value| match value {
            Value::Measure(measure) => Some(measure),
            _ => None,
        }))),
    }
}

/// Key-values for the file: where it comes from, for readers that drop the columns.
pub(super) fn provenance(results: &Results) -> Result<Vec<KeyValue>, ReportError> {
    let configs: Vec<_> = results
        .runs
        .iter()
        .map(|run| serde_json::json!({"label": run.label, "replay": run.replay, "config": run.config}))
        .collect();
    let hash = results.trace.as_ref().map(|trace| trace.hash.clone());
    let pairs = [
        ("nearslot.schema", results.schema.to_string()),
        ("nearslot.version", results.version.clone()),
        ("nearslot.build", results.build.clone()),
        ("nearslot.seed", results.seed.to_string()),
        ("nearslot.trace_hash", hash.unwrap_or_default()),
        ("nearslot.trace", serde_json::to_string(&results.trace)?),
        ("nearslot.runs", serde_json::to_string(&configs)?),
        (
            "nearslot.warnings",
            serde_json::to_string(&results.warnings)?,
        ),
    ];
    let pairs = pairs.map(|(key, value)| KeyValue::new(key.to_owned(), value));
    Ok(pairs.into())
}

impl From<ParquetError> for ReportError {
    fn from(error: ParquetError) -> ReportError {
        // What the disk said is inside, and is what the reader wants to hear.
        match error {
            ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
                Ok(error) => ReportError::Write(*error),
                Err(other) => ReportError::Encode(other.to_string()),
            },
            other => ReportError::Encode(other.to_string()),
        }
    }
}
