//! A table of named, typed columns, as CSV and Parquet have it: the same columns under the same
//! names.

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// Not there: no such request, or too few to tell.
    None,
    /// Words.
    Text(String),
    /// A count, an index or a seed.
    Count(u64),
    /// A quantity whose unit is in the name.
    Measure(f64),
}

/// The type of a column, whatever its values; only Parquet has types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Count,
    Measure,
}

/// A table.
pub(crate) struct Flat {
    /// Names and types of the columns.
    pub(crate) columns: Vec<(String, Kind)>,
    /// A value for each column.
    pub(crate) rows: Vec<Vec<Value>>,
}
