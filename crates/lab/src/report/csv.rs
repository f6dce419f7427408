//! CSV (RFC 4180): one row a run, the columns of [`super::columns`] under their stable names.
//!
//! Numbers are the shortest decimal that reads back as the same double; what is not there is an empty cell.

use std::io::Write;

use super::ReportError;
use super::columns::{self, Ranked, Value};
use crate::outcome::Results;

pub(super) fn write(results: &Results, out: &mut dyn Write) -> Result<(), ReportError> {
    let (columns, ranked) = (columns::all(), Ranked::of(results));
    let mut writer = ::csv::Writer::from_writer(out);
    let plain = |error: ::csv::Error| match error.into_kind() {
        ::csv::ErrorKind::Io(error) => ReportError::Write(error),
        other => ReportError::Encode(format!("{other:?}")),
    };
    writer
        .write_record(columns.iter().map(|column| &column.name))
        .map_err(plain)?;
    for index in 0..results.runs.len() {
        let cells = columns
            .iter()
            .map(|column| cell(column.value(&ranked, index)));
        writer.write_record(cells).map_err(plain)?;
    }
    Ok(writer.flush()?)
}

fn cell(value: Value) -> String {
    match value {
        Value::None => String::new(),
        Value::Text(text) => text,
        Value::Count(count) => count.to_string(),
        Value::Measure(measure) => measure.to_string(),
    }
}
