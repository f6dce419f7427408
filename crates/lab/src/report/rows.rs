//! Rows streamed to a Parquet file in bounded memory, in the same order whatever the number of
//! threads.
//!
//! Runs of a grid go on side by side, but a file has one order. So each run writes a lane, a
//! temporary file beside the target, and [`RowsWriter::finish`] copies the lanes' encoded row
//! groups one after the other, without decoding them, into the file, which then gets its name. What
//! a row is, a kind of [`Rows`] says. Cost: some fifty nanoseconds a row for the run, one copy at
//! disk speed at the end; memory is [`BATCH_ROWS`] plain rows and one encoded row group a lane.

use std::io::{BufWriter, Write};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_writer::ArrowWriterOptions;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::writer::SerializedFileWriter;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use nearslot_core::op::{Failure, Op, Status};
use nearslot_trace::temporary::Temporary;

use super::file::{OutputFile, beside};
use super::{ReportError, Target, columns, parquet};
use crate::outcome::Results;

/// Rows that wait in plain form before they are encoded.
pub(super) const BATCH_ROWS: usize = 1 << 14;
/// Rows of a row group: large enough to compress, small enough to hold a lane's share of memory
/// near 10 MB.
const GROUP_ROWS: usize = 1 << 17;
/// Operations by code, as columns spell them.
const OPS: [Op; 5] = [Op::Read, Op::Write, Op::Flush, Op::Discard, Op::Seek];

/// Rows of one kind, in plain form until they are encoded.
pub trait Rows: Default {
    /// Their columns, but for the first one, which names the run.
    fn fields() -> Vec<Field>;

    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The columns, as `fields` has them.
    fn columns(self) -> Vec<ArrayRef>;
}

/// A file of rows in the making.
pub struct RowsWriter<R> {
    path: PathBuf,
    out: OutputFile,
    rows: PhantomData<R>,
}

/// One run's part of the file.
pub struct Lane<R> {
    writer: ArrowWriter<BufWriter<Temporary>>,
    path: PathBuf,
    label: ArrayRef,
    rows: R,
}

/// A complete part.
pub struct LaneFile {
    file: Temporary,
}

/// A column of words.
pub(super) fn words_field(name: &str) -> Field {
    let words = DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into());
    Field::new(name, words, false)
}

/// A column of words by their place in `names`.
fn words(codes: Vec<i32>, names: ArrayRef) -> ArrayRef {
    let column = DictionaryArray::<Int32Type>::try_new(Int32Array::from(codes), names);
    Arc::new(column.expect("every code has its word"))
}

/// The code of an operation in a column of [`op_column`].
pub(super) fn op_code(op: Op) -> i32 {
    let code = OPS.iter().position(|other| *other == op);
    code.expect("OPS lists every operation") as i32
}

/// The code of a status in a column of [`status_column`].
pub(super) fn status_code(status: Status) -> i32 {
    status.failure().map_or(0, |failure| 1 + failure as i32)
}

/// A column of statuses by their codes: `done`, or what failed.
pub(super) fn status_column(codes: Vec<i32>) -> ArrayRef {
    let names = ["done"].into_iter().chain(Failure::ALL.map(Failure::name));
    words(codes, Arc::new(StringArray::from_iter_values(names)))
}

/// A column of operations by their codes.
pub(super) fn op_column(codes: Vec<i32>) -> ArrayRef {
    words(
        codes,
        Arc::new(StringArray::from_iter_values(OPS.map(Op::name))),
    )
}

impl<R: Rows> RowsWriter<R> {
    /// Opens the file, so that a folder that cannot be written is found before the first run.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(target: &Target) -> Result<RowsWriter<R>, ReportError> {
        Ok(RowsWriter {
            path: target.path().to_owned(),
            out: OutputFile::create(target)?,
            rows: PhantomData,
        })
    }

    /// The part of the run with this label.
    ///
    /// # Errors
    /// Its temporary file cannot be created.
    pub fn lane(&self, label: &str) -> Result<Lane<R>, ReportError> {
        let at = |error: ReportError| error.at(&self.path);
        // Beside a device or pipe is no place for files.
        let file = match self.out.is_renamed() {
            true => beside(&self.path),
            false => Temporary::anywhere("nearslot-"),
        };
        let file = BufWriter::new(file.map_err(|error| at(error.into()))?);
        let writer = writer::<R, _>(file).map_err(|error| at(error.into()))?;
        Ok(Lane {
            writer,
            path: self.path.clone(),
            label: Arc::new(StringArray::from_iter_values([label])),
            rows: R::default(),
        })
    }

    /// Joins the parts in the order given, notes where they come from, and gives the file its name.
    ///
    /// # Errors
    /// The disk is full, or a part cannot be read back; then nothing changed under the name.
    pub fn finish(self, results: &Results, lanes: Vec<LaneFile>) -> Result<(), ReportError> {
        let RowsWriter { path, mut out, .. } = self;
        join::<R>(&mut out, results, lanes).map_err(|error| error.at(&path))?;
        out.finish()
    }
}

fn join<R: Rows>(
    out: &mut OutputFile,
    results: &Results,
    lanes: Vec<LaneFile>,
) -> Result<(), ReportError> {
    let (mut joined, _) = writer::<R, _>(&mut *out)?.into_serialized_writer()?;
    for lane in lanes {
        append(&mut joined, &lane)?;
    }
    for pair in &columns::pairs(results)? {
        joined.append_key_value_metadata(parquet::key_value(pair));
    }
    joined.close()?;
    Ok(())
}

/// Copies a part's row groups as they are.
fn append<W: Write + Send>(
    joined: &mut SerializedFileWriter<W>,
    lane: &LaneFile,
) -> Result<(), ReportError> {
    let file = lane.file.reopen()?;
    let metadata = SerializedFileReader::new(file.try_clone()?)?
        .metadata()
        .clone();
    for group in metadata.row_groups() {
        let mut copy = joined.next_row_group()?;
        for column in group.columns() {
            let close = ColumnCloseResult {
                bytes_written: column.compressed_size() as u64,
                rows_written: group.num_rows() as u64,
                metadata: column.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            copy.append_column(&file, close)?;
        }
        copy.close()?;
    }
    Ok(())
}

fn writer<R: Rows, W: Write + Send>(out: W) -> Result<ArrowWriter<W>, ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .build();
    let options = ArrowWriterOptions::new().with_properties(properties);
    ArrowWriter::try_new_with_options(out, schema::<R>(), options)
}

fn schema<R: Rows>() -> SchemaRef {
    let mut fields = vec![words_field("run")];
    fields.extend(R::fields());
    Arc::new(Schema::new(fields))
}

impl<R: Rows> Lane<R> {
    /// Adds a row.
    ///
    /// # Errors
    /// The disk is full. The lane is of no use then.
    #[inline]
    pub fn push(&mut self, push: impl FnOnce(&mut R)) -> Result<(), ReportError> {
        push(&mut self.rows);
        if self.rows.len() == BATCH_ROWS {
            self.encode()
                .map_err(|error| ReportError::from(error).at(&self.path))?;
        }
        Ok(())
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// The disk is full.
    pub fn finish(mut self) -> Result<LaneFile, ReportError> {
        let path = std::mem::take(&mut self.path);
        let done = self
            .encode()
            .and_then(|()| self.writer.into_inner())
            .map_err(ReportError::from);
        let file = done.and_then(|file| Ok(file.into_inner().map_err(std::io::Error::from)?));
        let file = file.map_err(|error| error.at(&path))?;
        Ok(LaneFile { file })
    }

    fn encode(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.rows);
        let mut columns = vec![words(vec![0; rows.len()], self.label.clone())];
        columns.extend(rows.columns());
        self.writer
            .write(&RecordBatch::try_new(schema::<R>(), columns)?)
    }
}
