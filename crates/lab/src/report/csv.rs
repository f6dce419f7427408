//! CSV (RFC 4180): a table as it is.
//!
//! Numbers are the shortest decimal that reads back as the same double; what is not there is an
//! empty cell.

use std::io::Write;

use super::ReportError;
use super::flat::{Flat, Value};

pub(super) fn write(table: &Flat, out: &mut dyn Write) -> Result<(), ReportError> {
    let mut writer = ::csv::Writer::from_writer(out);
    let plain = |error: ::csv::Error| match error.into_kind() {
        ::csv::ErrorKind::Io(error) => ReportError::Write(error),
        other => ReportError::Encode(format!("{other:?}")),
    };
    writer
        .write_record(table.columns.iter().map(|(name, _)| name))
        .map_err(plain)?;
    for row in &table.rows {
        writer.write_record(row.iter().map(cell)).map_err(plain)?;
    }
    Ok(writer.flush()?)
}

fn cell(value: &Value) -> String {
    match value {
        Value::None => String::new(),
        Value::Text(text) => text.clone(),
        Value::Count(count) => count.to_string(),
        Value::Measure(measure) => measure.to_string(),
    }
}
