//! Reads Parquet in batches of rows.

use std::fs::File;
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use ::parquet::file::metadata::{FileMetaData, ParquetMetaData};
use arrow_array::RecordBatch;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, Schema};

use super::columns::{self, Clock};
use super::{SCHEMA_VERSION, key};
use crate::TraceError;
use crate::csv::unread;
use crate::decode::{Anomaly, FileReader, Options, Sink, TimeKind, TimeMeaning, TimeUnit};
use crate::names::Column;
use crate::record::{Flags, Record, TraceOp};

/// Rows read at a time.
const BATCH_ROWS: usize = 8192;

/// What others' times are mostly given in.
const OTHERS_RESOLUTION_NS: u64 = 1;

/// Where the columns stand in a batch.
#[derive(Clone, Copy, Debug)]
struct Places {
    ts: usize,
    op: Option<usize>,
    offset: usize,
    /// Bytes per unit of the offset.
    offset_unit: u64,
    len: usize,
    len_unit: u64,
    dev: Option<usize>,
    client: Option<usize>,
    flags: Option<usize>,
    offer: Option<usize>,
    prio: Option<usize>,
    service: Option<Took>,
    response: Option<Took>,
}

/// A column of durations.
#[derive(Clone, Copy, Debug)]
struct Took {
    at: usize,
    unit_ns: u64,
}

impl Places {
    fn find(schema: &Schema, own: bool) -> Result<Places, TraceError> {
        let meant = columns::meant(schema, own);
        let must = |what, column| columns::must_find(schema, &meant, (what, column));
        let at = |column| columns::find(&meant, column).map(|(_, at)| at);
        let took = |column| {
            let (column, at) = columns::find(&meant, column)?;
            let unit_ns = column.scale();
            Some(Took { at, unit_ns })
        };
        let (of_offset, offset) = must("address", Column::Offset(1))?;
        let (of_len, len) = must("length", Column::Length(1))?;
        Ok(Places {
            ts: must("time", Column::Time)?.1,
            op: at(Column::Op),
            offset,
            offset_unit: of_offset.scale(),
            len,
            len_unit: of_len.scale(),
            dev: at(Column::Device),
            client: at(Column::Client),
            flags: at(Column::Flags),
            offer: at(Column::Offer),
            prio: at(Column::Priority),
            service: took(Column::Service(0)),
            response: took(Column::Response(0)),
        })
    }

    fn all(&self) -> Vec<usize> {
        let options = [
            self.op,
            self.dev,
            self.client,
            self.flags,
            self.offer,
            self.prio,
            self.service.map(|took| took.at),
            self.response.map(|took| took.at),
        ];
        let mut all = vec![self.ts, self.offset, self.len];
        all.extend(options.into_iter().flatten());
        all.sort_unstable();
        all
    }
}

/// A Parquet file that is being read.
pub(super) struct Reader {
    rows: ParquetRecordBatchReader,
    places: Places,
    schema: Arc<Schema>,
    said: Option<TimeUnit>,
    clock: Option<Clock>,
    file: String,
    meaning: TimeMeaning,
    notes: Vec<String>,
    /// Oddities of the trace it was written from that still matter.
    inherited: Vec<(Anomaly, u64)>,
    own: bool,
    strict: bool,
    row: u64,
    /// Values that should say how long a request took, and do not.
    no_durations: u64,
}

impl Reader {
    pub(super) fn open(file: File, options: &Options) -> Result<Reader, TraceError> {
        guarded(|| Reader::try_open(file, options))?
    }

    fn try_open(file: File, options: &Options) -> Result<Reader, TraceError> {
        let unfit = |error: &dyn std::fmt::Display| {
            TraceError::unfit(format!("cannot be read as Parquet: {error}"))
        };
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| unfit(&error))?;
        check_places(builder.metadata())?;
        let meta = builder.metadata().file_metadata();
        let own = match value(meta, key::SCHEMA) {
            None => false,
            Some(SCHEMA_VERSION) => true,
            Some(other) => {
                return Err(TraceError::unfit(format!(
                    "has columns of version {other}; this program reads version {SCHEMA_VERSION}"
                )));
            }
        };
        if own && options.time_unit.is_some() {
            let what = "the times of our own files are nanoseconds";
            return Err(TraceError::without_effect("--time-unit", what));
        }
        let mut notes = Vec::new();
        if let Some(source) = value(meta, key::SOURCE_FORMAT) {
            notes.push(format!("written from a trace in the format {source}"));
        }
        let meaning = meaning_of(meta);
        let inherited = inherited_of(meta);
        let places = Places::find(builder.schema(), own)?;
        notes.extend(unread_of(builder.schema(), &places.all()));
        let mask = ProjectionMask::roots(builder.parquet_schema(), places.all());
        let rows = builder
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(|error| unfit(&error))?;
        let schema = arrow_array::RecordBatchReader::schema(&rows);
        Ok(Reader {
            places: Places::find(&schema, own)?,
            schema,
            rows,
            said: options.time_unit,
            clock: own.then_some(Clock::OURS),
            file: options.file.clone(),
            meaning,
            notes,
            inherited,
            own,
            strict: options.strict,
            row: 0,
            no_durations: 0,
        })
    }

    /// The clock, decided by the first value where nothing else tells.
    fn clock(&mut self, times: &ArrayRef, out: &mut Sink) -> Result<Clock, TraceError> {
        if let Some(clock) = self.clock {
            return Ok(clock);
        }
        let field = self.schema.field(self.places.ts);
        let first = match field.data_type() {
            DataType::Timestamp(..) | DataType::Duration(_) => 0.0,
            _ => columns::first_number(times).ok_or_else(|| {
                TraceError::unfit(format!("column `{}` holds no numbers", field.name()))
            })?,
        };
        let (clock, note) = Clock::of(field, self.said, first)?;
        if let Some(note) = note {
            out.note(note);
        }
        self.meaning.resolution_ns = clock.unit_ns();
        self.meaning.epoch_unix_ns = clock.absolute.then_some(0);
        self.clock = Some(clock);
        Ok(clock)
    }

    /// Appends the rows of a batch.
    fn take(&mut self, batch: &RecordBatch, out: &mut Sink) -> Result<(), TraceError> {
        let places = self.places;
        let column = |at: usize| batch.column(at);
        let numbers = |at: Option<usize>| at.map(|at| columns::unsigned(column(at))).transpose();
        let clock = self.clock(column(places.ts), out)?;
        let rows = Rows {
            ts: clock.times(column(places.ts))?,
            offset: columns::unsigned(column(places.offset))?,
            len: columns::unsigned(column(places.len))?,
            ops: places
                .op
                .map(|at| columns::operations(column(at)))
                .transpose()?,
            devs: match places.dev {
                Some(at) => columns::numbers(column(at), &mut out.devices, None)?,
                None => vec![Some(out.devices.intern(self.file.as_bytes())); batch.num_rows()],
            },
            clients: places
                .client
                .map(|at| columns::numbers(column(at), &mut out.clients, Some(0)))
                .transpose()?,
            flags: numbers(places.flags)?,
            offers: places
                .offer
                .map(|at| columns::offers(batch.column(at)))
                .transpose()?,
            prio: numbers(places.prio)?,
            service_ns: self.durations(batch, places.service)?,
            response_ns: self.durations(batch, places.response)?,
            units: (places.offset_unit, places.len_unit),
        };
        if rows.ops.is_none() {
            out.anomalies
                .add(Anomaly::DirectionGuessed, batch.num_rows() as u64);
        }
        out.records.reserve(batch.num_rows());
        for row in 0..batch.num_rows() {
            match rows.request(row) {
                Some(request) => out.records.push(request),
                None => self.bad(row, out)?,
            }
        }
        self.row += batch.num_rows() as u64;
        Ok(())
    }

    /// How long requests took, if that is told.
    fn durations(
        &mut self,
        batch: &RecordBatch,
        took: Option<Took>,
    ) -> Result<Option<PrimitiveArray<UInt64Type>>, TraceError> {
        let Some(Took { at, unit_ns }) = took else {
            return Ok(None);
        };
        let told = batch.column(at);
        let ns = columns::durations(told, unit_ns)?;
        self.no_durations += (ns.null_count() - told.logical_null_count()) as u64;
        Ok(Some(ns))
    }

    fn tell_no_durations(&mut self, out: &mut Sink) {
        let count = std::mem::take(&mut self.no_durations);
        if count > 0 {
            out.note(format!(
                "how long a request took is negative, too large or no number, and was taken as unknown, in rows: {count}"
            ));
        }
    }

    #[cold]
    fn bad(&self, row: usize, out: &mut Sink) -> Result<(), TraceError> {
        let what = format!(
            "row {}: a value is missing or out of range",
            self.row + row as u64
        );
        if self.strict {
            return Err(TraceError::unfit(what));
        }
        out.anomalies.note(Anomaly::BadRecord, || what);
        Ok(())
    }
}

impl FileReader for Reader {
    fn read(&mut self, out: &mut Sink) -> Result<bool, TraceError> {
        for note in self.notes.drain(..) {
            out.note(note);
        }
        for (kind, count) in self.inherited.drain(..) {
            out.anomalies.add(kind, count);
        }
        if self.own {
            out.version = Some(SCHEMA_VERSION.to_owned());
        }
        match guarded(|| self.rows.next())? {
            None => {
                self.tell_no_durations(out);
                Ok(false)
            }
            Some(Ok(batch)) => self.take(&batch, out).map(|()| true),
            Some(Err(error)) => Err(TraceError::unfit(format!(
                "row {}: cannot be read on: {error}",
                self.row
            ))),
        }
    }

    fn time(&self) -> TimeMeaning {
        self.meaning
    }
}

/// Calls the crate, which means to answer damage with an error but in places asserts what a file
/// claims.
fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, TraceError> {
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
    caught
        .map_err(|_| TraceError::unfit("cannot be read as Parquet: its index or a page is damaged"))
}

/// The crate asserts that no place in the file is negative: damage must not get that far.
fn check_places(meta: &ParquetMetaData) -> Result<(), TraceError> {
    let columns = meta.row_groups().iter().flat_map(|group| group.columns());
    let negative = columns
        .flat_map(|column| {
            [
                column.data_page_offset(),
                column.dictionary_page_offset().unwrap_or(0),
                column.compressed_size(),
            ]
        })
        .find(|place| *place < 0);
    match negative {
        Some(place) => Err(TraceError::unfit(format!(
            "cannot be read as Parquet: its index is damaged (a column lies at {place})"
        ))),
        None => Ok(()),
    }
}

/// The columns of a batch.
struct Rows {
    ts: PrimitiveArray<arrow_array::types::Int64Type>,
    offset: PrimitiveArray<UInt64Type>,
    len: PrimitiveArray<UInt64Type>,
    ops: Option<Vec<Option<TraceOp>>>,
    devs: Vec<Option<u32>>,
    clients: Option<Vec<Option<u32>>>,
    flags: Option<PrimitiveArray<UInt64Type>>,
    offers: Option<Vec<Option<Flags>>>,
    prio: Option<PrimitiveArray<UInt64Type>>,
    service_ns: Option<PrimitiveArray<UInt64Type>>,
    response_ns: Option<PrimitiveArray<UInt64Type>>,
    units: (u64, u64),
}

impl Rows {
    #[inline]
    fn request(&self, row: usize) -> Option<Record> {
        let valid = self.ts.is_valid(row) && self.offset.is_valid(row) && self.len.is_valid(row);
        if !valid {
            return None;
        }
        let op = match &self.ops {
            Some(ops) => ops[row]?,
            None => TraceOp::Read,
        };
        let optional = |column: &Option<PrimitiveArray<UInt64Type>>| {
            column
                .as_ref()
                .filter(|column| column.is_valid(row))
                .map(|column| column.value(row))
        };
        // A place beyond all addresses is refused, and counted, by the rules for every format.
        let offset = self.offset.value(row).saturating_mul(self.units.0);
        let len = self.len.value(row).checked_mul(self.units.1)?;
        let mut record = Record::new(self.ts.value(row), op, offset, len, self.devs[row]?);
        record.client = self
            .clients
            .as_ref()
            .and_then(|clients| clients[row])
            .unwrap_or(0);
        record.flags = Flags(optional(&self.flags).unwrap_or(0) as u16);
        if let Some(offers) = &self.offers {
            record.flags = record.flags.with(offers[row]?);
        }
        if record.flags.offers() > 1 {
            return None;
        }
        record.priority = optional(&self.prio).unwrap_or(0) as u16;
        record.service_ns = optional(&self.service_ns).unwrap_or(Record::UNKNOWN);
        record.response_ns = optional(&self.response_ns).unwrap_or(Record::UNKNOWN);
        Some(record)
    }
}

/// What is to be said of the columns that are not read.
fn unread_of(schema: &Schema, read: &[usize]) -> Vec<String> {
    let names = schema.fields().iter().map(|field| field.name().as_str());
    unread::not_named(names.enumerate().filter(|(at, _)| !read.contains(at)))
}

fn value<'a>(meta: &'a FileMetaData, key: &str) -> Option<&'a str> {
    meta.key_value_metadata()?
        .iter()
        .find(|pair| pair.key == key)?
        .value
        .as_deref()
}

fn meaning_of(meta: &FileMetaData) -> TimeMeaning {
    let number = |key| value(meta, key).and_then(|text| text.parse::<i64>().ok());
    let resolution_ns = number(key::RESOLUTION).and_then(|ns| u64::try_from(ns).ok());
    TimeMeaning {
        resolution_ns: resolution_ns
            .filter(|ns| *ns > 0)
            .unwrap_or(OTHERS_RESOLUTION_NS),
        kind: match value(meta, key::TIME_KIND) {
            Some("issue") => TimeKind::Issue,
            Some("completion") => TimeKind::Completion,
            Some("none") => TimeKind::None,
            _ => TimeKind::Arrival,
        },
        epoch_unix_ns: number(key::EPOCH),
    }
}

/// Losses and guesses stay with a trace when it is written anew; what was sorted or left out is
/// done with.
fn inherited_of(meta: &FileMetaData) -> Vec<(Anomaly, u64)> {
    let counts: serde_json::Value = value(meta, key::ANOMALIES)
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    [Anomaly::Lost, Anomaly::DirectionGuessed]
        .into_iter()
        .filter_map(|kind| Some((kind, counts.get(kind.name())?.as_u64()?)))
        .filter(|(_, count)| *count > 0)
        .collect()
}
