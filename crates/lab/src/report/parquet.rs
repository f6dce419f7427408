//! A table as Parquet, typed, and the summary of runs so, with provenance as key-values of the
//! file.

use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};

use super::flat::{Flat, Kind, Value};
use super::{ReportError, check, columns};
use crate::outcome::Results;

/// One row a run, in memory: what the Parquet file has, for those who need no file.
///
/// # Errors
/// Results that are not finite or do not fit together.
pub fn record_batch(results: &Results) -> Result<RecordBatch, ReportError> {
    check(results)?;
    batch(&columns::table(results))
}

fn batch(table: &Flat) -> Result<RecordBatch, ReportError> {
    let fields: Vec<Field> = table.columns.iter().map(field).collect();
    let kinds = table.columns.iter().map(|(_, kind)| *kind).enumerate();
    let arrays = kinds.map(|(index, kind)| array(kind, table.rows.iter().map(|row| &row[index])));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays.collect())
        .map_err(|error| ReportError::Encode(error.to_string()))
}

/// The whole file; a table of results is never much.
pub(super) fn encode(table: &Flat, pairs: &[(&str, String)]) -> Result<Vec<u8>, ReportError> {
    let batch = batch(table)?;
    let pairs = pairs.iter().map(key_value).collect();
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(pairs))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    Ok(writer.into_inner()?)
}

/// A pair as the file has it.
pub(super) fn key_value((key, value): &(&str, String)) -> KeyValue {
    KeyValue::new((*key).to_owned(), value.clone())
}

fn field((name, kind): &(String, Kind)) -> Field {
    let kind = match kind {
        Kind::Text => DataType::Utf8,
        Kind::Count => DataType::UInt64,
        Kind::Measure => DataType::Float64,
    };
    Field::new(name, kind, true)
}

fn array<'a>(kind: Kind, values: impl Iterator<Item = &'a Value>) -> ArrayRef {
    match kind {
        Kind::Text => Arc::new(StringArray::from_iter(values.map(|value| match value {
            Value::Text(text) => Some(text),
            _ => None,
        }))),
        Kind::Count => Arc::new(UInt64Array::from_iter(values.map(|value| match value {
            Value::Count(count) => Some(*count),
            _ => None,
        }))),
        Kind::Measure => Arc::new(Float64Array::from_iter(values.map(|value| match value {
            Value::Measure(measure) => Some(*measure),
            _ => None,
        }))),
    }
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
