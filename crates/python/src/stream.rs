//! Results over the Arrow C stream: Polars, pandas and pyarrow take the columns as they lie in
//! memory.
//!
//! Rows of requests and commands may be many, so a run writes them to a Parquet file in a temporary
//! folder and a stream decodes them batch by batch as its consumer asks: memory is the consumer's
//! alone. The file goes away with the last object that speaks of it. A stream is made anew each
//! time it is asked for.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use nearslot_lab::report::OutputFile;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tempfile::TempDir;

use crate::failure::Failure;
use crate::target;

/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 1 << 16;

/// Where in its folder a run writes its requests.
pub(crate) fn requests_file(folder: &TempDir) -> PathBuf {
    folder.path().join("requests.parquet")
}

/// Where in its folder a run writes the commands of its drives.
pub(crate) fn commands_file(folder: &TempDir) -> PathBuf {
    folder.path().join("commands.parquet")
}

/// One batch as a stream.
///
/// # Errors
/// No capsule can be made.
pub(crate) fn of_batch(py: Python<'_>, batch: RecordBatch) -> PyResult<Bound<'_, PyCapsule>> {
    let schema = batch.schema();
    capsule(py, Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}

fn capsule(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
}

/// Rows in a file that is ours.
#[pyclass(frozen, module = "nearslot._native")]
pub(crate) struct Rows {
    path: PathBuf,
    /// The files that were read for them, which are never written.
    inputs: Arc<[PathBuf]>,
    /// Goes away with the last who speaks of it.
    _folder: Arc<TempDir>,
}

impl Rows {
    pub(crate) fn new(path: PathBuf, folder: Arc<TempDir>, inputs: Arc<[PathBuf]>) -> Rows {
        Rows {
            path,
            inputs,
            _folder: folder,
        }
    }
}

#[pymethods]
impl Rows {
    /// The rows, as an Arrow stream.
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let open = || {
            let file = File::open(&self.path)?;
            let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
            builder.with_batch_size(BATCH_ROWS).build()
        };
        let reader = open().map_err(|error| self.unreadable(&error))?;
        capsule(py, Box::new(reader))
    }

    /// How many rows there are.
    fn rows(&self) -> PyResult<usize> {
        let open = || ParquetRecordBatchReaderBuilder::try_new(File::open(&self.path)?);
        let builder = open().map_err(|error| self.unreadable(&error))?;
        let rows = builder.metadata().file_metadata().num_rows();
        Ok(usize::try_from(rows).expect("a file has no fewer than no rows"))
    }

    /// Copies the file: it is what `--requests` or `--commands` of the command writes.
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        let target = target("path", &path, &self.inputs, force)?;
        let mut rows = File::open(&self.path).map_err(|error| self.unreadable(&error))?;
        let copied = py.detach(|| {
            let copy = OutputFile::create(&target)?;
            copy.save(|out| Ok(io::copy(&mut rows, out).map(drop)?))
        });
        copied.map_err(Failure::from)?;
        Ok(())
    }
}

impl Rows {
    fn unreadable(&self, error: &dyn std::error::Error) -> PyErr {
        Failure::Input(format!("cannot read {}: {error}", self.path.display())).into()
    }
}
