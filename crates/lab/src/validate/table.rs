//! The tables of a reference folder: CSV files whose columns are found by name.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::str::FromStr;

use csv::StringRecord;
use nearslot_core::registry::nearest;

use super::ValidateError;

/// A file's header and rows, as text.
pub(super) struct Table {
    /// Name for messages.
    file: String,
    header: StringRecord,
    rows: Vec<StringRecord>,
    /// Columns that were asked for, by index.
    asked: RefCell<BTreeSet<usize>>,
}

/// A column of a table: where it is and what it is called.
#[derive(Clone, Copy)]
pub(super) struct Column {
    index: usize,
    name: &'static str,
}

/// A row of a table.
pub(super) struct Row<'a> {
    table: &'a Table,
    record: &'a StringRecord,
}

impl Table {
    /// Reads `file` of a folder; `None` if there is no such file.
    ///
    /// # Errors
    /// It cannot be read, or is not CSV with equally many fields in every row.
    pub(super) fn read(folder: &Path, file: &str) -> Result<Option<Table>, ValidateError> {
        let opened = match File::open(folder.join(file)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|error| ValidateError::unreadable(file, &error))?,
        };
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(opened);
        let malformed = |error: csv::Error| ValidateError::unreadable(file, &error);
        let header = reader.headers().map_err(malformed)?.clone();
        let rows: Result<_, _> = reader.into_records().collect();
        Ok(Some(Table {
            file: file.to_owned(),
            header,
            rows: rows.map_err(malformed)?,
            asked: RefCell::default(),
        }))
    }

    /// The same for a file that must be there.
    ///
    /// # Errors
    /// As above, and if there is no such file.
    pub(super) fn require(folder: &Path, file: &str, needed: &str) -> Result<Table, ValidateError> {
        Table::read(folder, file)?.ok_or_else(|| ValidateError::Missing {
            folder: folder.display().to_string(),
            file: file.to_owned(),
            needed: needed.to_owned(),
        })
    }

    /// # Errors
    /// The table has no column of that name.
    pub(super) fn column(&self, name: &'static str) -> Result<Column, ValidateError> {
        let found = self.header.iter().position(|field| field == name);
        let index = found.ok_or_else(|| {
            let known: Vec<&str> = self.header.iter().collect();
            ValidateError::Column {
                file: self.file.clone(),
                column: name.to_owned(),
                nearest: nearest(name, &known)
                    .map_or(String::new(), |near| format!("; `{near}` is the nearest")),
            }
        })?;
        self.asked.borrow_mut().insert(index);
        Ok(Column { index, name })
    }

    /// A column that a table may lack.
    pub(super) fn optional(&self, name: &'static str) -> Option<Column> {
        self.header.iter().any(|field| field == name).then(|| {
            self.column(name)
                .expect("the header was just seen to have it")
        })
    }

    /// Whether every column was asked for: what a table says is used, or refused.
    ///
    /// # Errors
    /// There is a column that nobody reads.
    pub(super) fn check_all_read(&self) -> Result<(), ValidateError> {
        let asked = self.asked.borrow();
        let mut columns = self.header.iter().enumerate();
        let Some((_, column)) = columns.find(|(index, _)| !asked.contains(index)) else {
            return Ok(());
        };
        let known: Vec<&str> = asked.iter().map(|index| &self.header[*index]).collect();
        Err(ValidateError::UnknownColumn {
            file: self.file.clone(),
            column: column.to_owned(),
            known: known.join(", "),
        })
    }

    /// The error that the table has no rows.
    pub(super) fn check_rows(&self, needed: &str) -> Result<(), ValidateError> {
        if self.rows.is_empty() {
            let reason = format!("it has no rows; {needed}");
            return Err(ValidateError::unreadable(&self.file, &reason));
        }
        Ok(())
    }

    /// # Errors
    /// The table lacks one of these columns.
    pub(super) fn columns<const N: usize>(
        &self,
        names: [&'static str; N],
    ) -> Result<[Column; N], ValidateError> {
        let mut columns = [Column { index: 0, name: "" }; N];
        for (column, name) in columns.iter_mut().zip(names) {
            *column = self.column(name)?;
        }
        Ok(columns)
    }

    pub(super) fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        let row = |record| Row {
            table: self,
            record,
        };
        self.rows.iter().map(row)
    }
}

impl<'a> Row<'a> {
    /// The text of a cell.
    pub(super) fn text(&self, column: Column) -> &'a str {
        &self.record[column.index]
    }

    /// A cell as a number.
    ///
    /// # Errors
    /// It is not one of that type.
    pub(super) fn number<T: FromStr>(&self, column: Column) -> Result<T, ValidateError> {
        let text = self.text(column);
        text.parse().map_err(|_| self.wrong(column, &kind::<T>()))
    }

    /// A cell as a number with a fraction, neither infinite nor undefined.
    ///
    /// # Errors
    /// It is not.
    pub(super) fn real(&self, column: Column) -> Result<f64, ValidateError> {
        let value: f64 = self.number(column)?;
        if value.is_finite() {
            Ok(value)
        } else {
            Err(self.wrong(column, &"a finite number"))
        }
    }

    /// Milliseconds as whole nanoseconds.
    ///
    /// # Errors
    /// Not a number, or negative.
    pub(super) fn ns(&self, column: Column) -> Result<u64, ValidateError> {
        let ns = libm::round(self.real(column)? * 1e6);
        if (0.0..=NS_MAX).contains(&ns) {
            Ok(ns as u64)
        } else {
            let allowed = format!("milliseconds from 0 to {}, ten days", NS_MAX / 1e6);
            Err(self.wrong(column, &allowed))
        }
    }

    /// Its line in the file, counted from 1.
    pub(super) fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }

    /// The error that a cell is not what it must be.
    pub(super) fn wrong(&self, column: Column, allowed: &dyn Display) -> ValidateError {
        ValidateError::Cell {
            file: self.table.file.clone(),
            line: self.line(),
            column: column.name.to_owned(),
            value: self.text(column).to_owned(),
            allowed: allowed.to_string(),
        }
    }
}

/// The longest time of a cell: ten days, so that sums of a few such times fit 64 bits. The traces
/// of the reference last minutes.
const NS_MAX: f64 = 8.64e14;

/// A type of numbers in words.
pub(super) fn kind<T>() -> &'static str {
    match std::any::type_name::<T>() {
        "f64" => "a number",
        "i64" => "a whole number",
        _ => "a whole number from 0",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("t.csv"), text).unwrap();
        folder
    }

    #[test]
    fn columns_are_found_by_name_in_any_order() {
        let folder = folder("b,a\n2,1\n4,\"3\"\n");
        let table = Table::require(folder.path(), "t.csv", "a test").unwrap();
        let [a, b] = table.columns(["a", "b"]).unwrap();
        let read = |row: Row<'_>| (row.number::<u64>(a).unwrap(), row.real(b).unwrap() as u64);
        assert_eq!(table.rows().map(read).collect::<Vec<_>>(), [(1, 2), (3, 4)]);
    }

    #[test]
    fn a_wrong_cell_is_named_by_file_line_and_column() {
        let folder = folder("lba,blocks\n1,8\nx,8\n");
        let table = Table::require(folder.path(), "t.csv", "a test").unwrap();
        let column = table.column("lba").unwrap();
        let error = table
            .rows()
            .nth(1)
            .unwrap()
            .number::<u64>(column)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "t.csv, line 3, column `lba`: `x` is not a whole number from 0"
        );
    }

    #[test]
    fn absent_files_and_columns_and_short_rows_are_told_apart() {
        let folder = folder("lba,blocks\n1\n");
        assert!(Table::read(folder.path(), "none.csv").unwrap().is_none());
        let error = Table::require(folder.path(), "none.csv", "a test needs it")
            .err()
            .unwrap();
        assert!(matches!(error, ValidateError::Missing { .. }));
        let error = Table::read(folder.path(), "t.csv").err().unwrap();
        assert!(error.to_string().contains("line: 2"), "{error}");
    }

    #[test]
    fn a_missing_column_names_the_nearest() {
        let folder = folder("lab,blocks\n1,2\n");
        let table = Table::require(folder.path(), "t.csv", "a test").unwrap();
        let error = table.column("lba").err().unwrap();
        assert_eq!(
            error.to_string(),
            "t.csv has no column `lba`; `lab` is the nearest"
        );
    }
    #[test]
    fn a_column_that_nobody_reads_is_named() {
        for header in ["lba,colour", "colour,lba"] {
            let folder = folder(&format!("{header}\n1,2\n"));
            let table = Table::require(folder.path(), "t.csv", "a test").unwrap();
            table.column("lba").unwrap();
            let error = table.check_all_read().unwrap_err().to_string();
            assert!(
                error.contains("column `colour` that is not known"),
                "{error}"
            );
            assert!(table.optional("size").is_none());
            assert!(table.optional("colour").is_some());
            table.check_all_read().unwrap();
        }
        let folder = folder("lba,lba\n1,2\n");
        let table = Table::require(folder.path(), "t.csv", "a test").unwrap();
        table.column("lba").unwrap();
        assert!(table.check_all_read().is_err());
    }
}
