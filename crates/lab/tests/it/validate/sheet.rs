//! A table of a reference folder as rows of text, to be damaged in one place or many; and folders
//! with damaged tables.

use std::fs;
use std::path::{Path, PathBuf};

use nearslot_core::rng::Rng;

/// A table.
#[derive(Clone)]
pub(crate) struct Sheet {
    header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Sheet {
    pub(crate) fn parse(text: &str) -> Sheet {
        let mut lines = text.lines().map(|line| {
            // The only quoted cells are notes, which are last.
            let (cells, note) = line.split_once('"').unwrap_or((line, ""));
            let mut cells: Vec<String> = cells.split(',').map(str::to_owned).collect();
            if let (Some(last), false) = (cells.last_mut(), note.is_empty()) {
                *last = format!("\"{note}");
            }
            cells
        });
        let header = lines.next().expect("a table has a header");
        Sheet {
            header,
            rows: lines.collect(),
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = self.header.join(",") + "\n";
        for row in &self.rows {
            text += &(row.join(",") + "\n");
        }
        text
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.header
    }

    fn column(&self, name: &str) -> usize {
        let found = self.header.iter().position(|column| column == name);
        found.unwrap_or_else(|| panic!("no column {name} among {:?}", self.header))
    }

    pub(crate) fn rename(&mut self, column: &str, to: &str) {
        let index = self.column(column);
        self.header[index] = to.to_owned();
    }

    pub(crate) fn add_column(&mut self, name: &str, value: &str) {
        self.header.push(name.to_owned());
        for row in &mut self.rows {
            row.push(value.to_owned());
        }
    }

    /// Replaces the cells of a column in rows that are chosen by their number.
    pub(crate) fn set(
        &mut self,
        column: &str,
        chosen: impl Fn(usize) -> bool,
        change: impl Fn(&str) -> String,
    ) {
        let index = self.column(column);
        let rows = self.rows.iter_mut().enumerate();
        for (_, row) in rows.filter(|(number, _)| chosen(*number)) {
            row[index] = change(&row[index]);
        }
    }

    /// The same with numbers, which keep as many decimals as they have.
    pub(crate) fn calculate(
        &mut self,
        column: &str,
        chosen: impl Fn(usize) -> bool,
        change: impl Fn(f64) -> f64,
    ) {
        self.set(column, chosen, |cell| {
            let decimals = cell
                .split_once('.')
                .map_or(0, |(_, decimals)| decimals.len());
            let number: f64 = cell.parse().unwrap_or_else(|_| panic!("{column}: {cell}"));
            format!("{:.decimals$}", change(number))
        });
    }

    /// A cell as a number.
    pub(crate) fn number(&self, row: usize, column: &str) -> u64 {
        self.rows[row][self.column(column)]
            .parse()
            .expect("a number")
    }

    /// Copies one column to another.
    pub(crate) fn copy(&mut self, from: &str, to: &str) {
        let (from, to) = (self.column(from), self.column(to));
        for row in &mut self.rows {
            row[to] = row[from].clone();
        }
    }

    /// Shuffles the cells of a column.
    pub(crate) fn shuffle(&mut self, column: &str) {
        let (index, mut rng) = (self.column(column), Rng::stream(1, "shuffle"));
        for row in (1..self.rows.len()).rev() {
            let other = rng.below(row as u64 + 1) as usize;
            let cell = self.rows[row][index].clone();
            self.rows[row][index] = std::mem::replace(&mut self.rows[other][index], cell);
        }
    }

    /// Leaves out three rows of ten, at random.
    pub(crate) fn thin_out(&mut self) {
        let mut rng = Rng::stream(1, "thin");
        self.rows.retain(|_| !rng.chance(0.3));
    }

    /// The rows whose cell in `column` is this.
    pub(crate) fn rows_with<'a>(
        &'a self,
        column: &str,
        wanted: impl Fn(&str) -> bool + 'a,
    ) -> Vec<usize> {
        let index = self.column(column);
        let rows = self.rows.iter().enumerate();
        let found = rows.filter(|(_, row)| wanted(&row[index]));
        found.map(|(number, _)| number).collect()
    }
}

/// A copy of a folder. Files that stay as they are are linked, so that a copy of a large folder
/// costs nothing.
pub(crate) fn copy(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a folder for a copy");
    for path in files(folder) {
        let name = path.file_name().expect("a file has a name");
        std::os::unix::fs::symlink(&path, copy.path().join(name)).expect("a link");
    }
    copy
}

/// Tables of a folder, in order of their names.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it is listed").path());
    let mut tables: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "csv"))
        .map(|path| path.canonicalize().expect("it is there"))
        .collect();
    tables.sort();
    tables
}

/// Puts a changed table in place of a linked one.
pub(crate) fn replace(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::remove_file(&path).expect("the table was there");
    fs::write(path, text).expect("the table is written");
}
