//! Miss ratios for programs: a row for each cache and size, with what was asked, so that a row can
//! leave its file.
//!
//! Names are those of the JSON; what nests there is joined by `_`.

use std::io::Write;

use super::{HitRates, Row, Unit, Which};
use crate::report::flat::{Flat, Kind, Value};
use crate::report::{Format, ReportError, write_csv, write_parquet};

type Of = fn(&HitRates, &Row) -> Value;

/// All columns in their order.
const COLUMNS: &[(&str, Kind, Of)] = &[
    ("cache", Kind::Text, |_, row| text(&row.cache)),
    ("size", Kind::Text, |_, row| text(&row.size)),
    ("lines", Kind::Count, |_, row| Value::Count(row.lines)),
    ("share", Kind::Measure, |_, row| Value::Measure(row.share)),
    ("misses", Kind::Count, |_, row| Value::Count(row.misses)),
    ("miss_ratio", Kind::Measure, |_, row| {
        Value::Measure(row.miss_ratio)
    }),
    ("off_by", Kind::Measure, |_, row| measure(row.off_by)),
    ("missed_requests", Kind::Count, |_, row| {
        count(row.missed_requests)
    }),
    ("request_miss_ratio", Kind::Measure, |_, row| {
        measure(row.request_miss_ratio)
    }),
    ("knows_future", Kind::Count, |_, row| {
        Value::Count(row.knows_future.into())
    }),
    ("unit", Kind::Text, |found, _| {
        text(match found.unit {
            Unit::Page(_) => "page",
            Unit::Request => "request",
        })
    }),
    ("page_bytes", Kind::Count, |found, _| match found.unit {
        Unit::Page(bytes) => Value::Count(bytes),
        Unit::Request => Value::None,
    }),
    ("which", Kind::Text, |found, _| {
        text(match found.which {
            Which::All => "all",
            Which::Reads => "reads",
        })
    }),
    ("requests", Kind::Count, |found, _| {
        Value::Count(found.requests)
    }),
    ("asked", Kind::Count, |found, _| Value::Count(found.asked)),
    ("footprint", Kind::Count, |found, _| {
        Value::Count(found.footprint)
    }),
    ("sample_share", Kind::Measure, |found, _| {
        measure(found.sample.as_ref().map(|sample| sample.share))
    }),
    ("sample_seed", Kind::Count, |found, _| {
        count(found.sample.as_ref().map(|sample| sample.seed))
    }),
    ("sample_lines", Kind::Count, |found, _| {
        count(found.sample.as_ref().map(|sample| sample.lines.into()))
    }),
    ("complete", Kind::Count, |found, _| {
        Value::Count(found.complete.into())
    }),
    ("files", Kind::Text, |found, _| {
        text(&serde_json::json!(found.files).to_string())
    }),
    ("format", Kind::Text, |found, _| text(&found.format)),
    ("schema", Kind::Count, |found, _| {
        Value::Count(found.schema.into())
    }),
    ("version", Kind::Text, |found, _| text(&found.version)),
    ("build", Kind::Text, |found, _| text(&found.build)),
];

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn count(count: Option<u64>) -> Value {
    count.map_or(Value::None, Value::Count)
}

fn measure(measure: Option<f64>) -> Value {
    measure.map_or(Value::None, Value::Measure)
}

/// Writes them in this form.
///
/// # Errors
/// What `out` answers; a build without Parquet.
pub fn write(found: &HitRates, format: Format, out: &mut dyn Write) -> Result<(), ReportError> {
    match format {
        Format::Table => out.write_all(found.to_string().as_bytes())?,
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, found)?;
            out.write_all(b"\n")?;
        }
        Format::Csv => write_csv(&table(found), out)?,
        Format::Parquet => write_parquet(&table(found), &pairs(found)?, out)?,
    }
    Ok(out.flush()?)
}

fn table(found: &HitRates) -> Flat {
    let row = |row: &Row| COLUMNS.iter().map(|(_, _, of)| of(found, row)).collect();
    let columns = COLUMNS.iter();
    Flat {
        columns: columns
            .map(|(name, kind, _)| ((*name).to_owned(), *kind))
            .collect(),
        rows: found.rows.iter().map(row).collect(),
    }
}

/// Key-values for the file, for readers that drop the columns.
fn pairs(found: &HitRates) -> Result<Vec<(&'static str, String)>, ReportError> {
    Ok(vec![
        ("nearslot.schema", found.schema.to_string()),
        ("nearslot.version", found.version.clone()),
        ("nearslot.build", found.build.clone()),
        ("nearslot.headline", found.headline.clone()),
        ("nearslot.warnings", serde_json::to_string(&found.warnings)?),
    ])
}
