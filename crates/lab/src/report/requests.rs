//! One row a request, streamed to a Parquet file in bounded memory, in the same order whatever the number of threads.
//!
//! Runs of a grid go on side by side, but a file has one order. So each run writes a lane, a temporary file beside
//! the target, and [`RequestsWriter::finish`] copies the lanes' encoded row groups one after the other, without
//! decoding them, into the file, which then gets its name. Within a run, rows are in the order of the answers.
//! Cost: some fifty nanoseconds a row for the run, one copy at disk speed at the end; memory is [`BATCH_ROWS`] plain
//! rows and one encoded row group a lane.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_writer::ArrowWriterOptions;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::writer::SerializedFileWriter;
use arrow::array::{
    ArrayRef, BooleanArray, DictionaryArray, Int32Array, RecordBatch, StringArray, UInt64Array,
};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef};
use nearslot_core::request::{Op, Reply};
use tempfile::NamedTempFile;

use super::file::{OutputFile, beside};
use super::{ReportError, parquet};
use crate::outcome::Results;

/// Rows that wait in plain form before they are encoded.
const BATCH_ROWS: usize = 1 << 14;
/// Rows of a row group: large enough to compress, small enough to hold a lane's share of memory near 10 MB.
const GROUP_ROWS: usize = 1 << 17;
/// Quantities of a row, in the order of the columns.
const QUANTITIES: [&str; 11] = [
    "id",
    "stream",
    "lba",
    "blocks",
    "arrival_ns",
    "start_ns",
    "completion_ns",
    "seek_ns",
    "rotation_ns",
    "transfer_ns",
    "overhead_ns",
];
/// Operations by code, as the column spells them.
const OPS: [Op; 5] = [Op::Read, Op::Write, Op::Flush, Op::Discard, Op::Seek];

/// A file of requests in the making.
pub struct RequestsWriter {
    path: PathBuf,
    out: OutputFile,
}

/// One run's part of the file.
pub struct Lane {
    writer: ArrowWriter<BufWriter<NamedTempFile>>,
    path: PathBuf,
    label: ArrayRef,
    ops: ArrayRef,
    rows: Rows,
}

/// A complete part.
pub struct LaneFile {
    file: NamedTempFile,
}

#[derive(Default)]
struct Rows {
    op: Vec<i32>,
    warmup: Vec<bool>,
    quantities: [Vec<u64>; QUANTITIES.len()],
}

impl RequestsWriter {
    /// Opens the file, so that a folder that cannot be written is found before the first run.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path) -> Result<RequestsWriter, ReportError> {
        Ok(RequestsWriter {
            path: path.to_owned(),
            out: OutputFile::create(path)?,
        })
    }

    /// The part of the run with this label.
    ///
    /// # Errors
    /// Its temporary file cannot be created.
    pub fn lane(&self, label: &str) -> Result<Lane, ReportError> {
        let at = |error: ReportError| error.at(&self.path);
        // Beside a device or pipe is no place for files.
        let file = match self.path.metadata() {
            Ok(metadata) if !metadata.is_file() => NamedTempFile::new(),
            _ => beside(&self.path),
        };
        let file = BufWriter::new(file.map_err(|error| at(error.into()))?);
        let writer = writer(file).map_err(|error| at(error.into()))?;
        Ok(Lane {
            writer,
            path: self.path.clone(),
            label: Arc::new(StringArray::from_iter_values([label])),
            ops: Arc::new(StringArray::from_iter_values(OPS.map(Op::name))),
            rows: Rows::default(),
        })
    }

    /// Joins the parts in the order given, notes where they come from, and gives the file its name.
    ///
    /// # Errors
    /// The disk is full, or a part cannot be read back; then nothing changed under the name.
    pub fn finish(self, results: &Results, lanes: Vec<LaneFile>) -> Result<(), ReportError> {
        let RequestsWriter { path, mut out } = self;
        join(&mut out, results, lanes).map_err(|error| error.at(&path))?;
        out.finish()
    }
}

fn join(out: &mut OutputFile, results: &Results, lanes: Vec<LaneFile>) -> Result<(), ReportError> {
    let (mut joined, _) = writer(&mut *out)?.into_serialized_writer()?;
    for lane in lanes {
        append(&mut joined, &lane)?;
    }
    for pair in parquet::provenance(results)? {
        joined.append_key_value_metadata(pair);
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

fn writer<W: Write + Send>(out: W) -> Result<ArrowWriter<W>, ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .build();
    let options = ArrowWriterOptions::new().with_properties(properties);
    ArrowWriter::try_new_with_options(out, schema(), options)
}

fn schema() -> SchemaRef {
    let words = || DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into());
    let mut fields = vec![
        Field::new("run", words(), false),
        Field::new("op", words(), false),
        Field::new("warmup", DataType::Boolean, false),
    ];
    fields.extend(QUANTITIES.map(|name| Field::new(name, DataType::UInt64, false)));
    Arc::new(Schema::new(fields))
}

impl Lane {
    /// Adds an answered request; `warmup` says that the summary does not count it.
    ///
    /// # Errors
    /// The disk is full. The lane is of no use then.
    pub fn push(&mut self, reply: &Reply, warmup: bool) -> Result<(), ReportError> {
        self.rows.push(reply, warmup);
        if self.rows.op.len() == BATCH_ROWS {
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
        let count = rows.op.len();
        let words = |codes: Int32Array, names: &ArrayRef| -> Result<ArrayRef, ParquetError> {
            Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(
                codes,
                names.clone(),
            )?))
        };
        let mut arrays = vec![
            words(Int32Array::from(vec![0; count]), &self.label)?,
            words(Int32Array::from(rows.op), &self.ops)?,
            Arc::new(BooleanArray::from(rows.warmup)),
        ];
        for quantity in rows.quantities {
            arrays.push(Arc::new(UInt64Array::from(quantity)));
        }
        self.writer.write(&RecordBatch::try_new(schema(), arrays)?)
    }
}

impl Rows {
    fn push(&mut self, reply: &Reply, warmup: bool) {
        let (request, timeline) = (&reply.request, &reply.timeline);
        let code = OPS.iter().position(|op| *op == request.op);
        let code = code.expect("OPS lists every operation") as i32;
        if self.op.capacity() == 0 {
            self.reserve();
        }
        self.op.push(code);
        self.warmup.push(warmup);
        let row = [
            request.id.0,
            request.stream.0.into(),
            request.extent.start.0,
            request.extent.len.0,
            timeline.arrived.0,
            timeline.started.0,
            timeline.replied.0,
            timeline.cost.seek.0,
            timeline.cost.rotation.0,
            timeline.cost.transfer.0,
            timeline.cost.overhead.0,
        ];
        for (column, value) in self.quantities.iter_mut().zip(row) {
            column.push(value);
        }
    }

    fn reserve(&mut self) {
        self.op.reserve_exact(BATCH_ROWS);
        self.warmup.reserve_exact(BATCH_ROWS);
        self.quantities
            .iter_mut()
            .for_each(|column| column.reserve_exact(BATCH_ROWS));
    }
}
