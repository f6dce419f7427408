//! Writes requests as Parquet with our own columns.
//!
//! Requests become columns batch by batch; the crate encodes them as they come and writes a row
//! group when it has 2^20 rows, so memory is that of one compressed row group. What the header
//! knows goes into the file's metadata at the end.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, Encoding, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::schema::types::ColumnPath;
use arrow_array::RecordBatch;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int64Array, StringArray, UInt8Array, UInt16Array,
    UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};

use super::{SCHEMA_VERSION, key};
use crate::TraceError;
use crate::decode::TimeKind;
use crate::header::Header;
use crate::record::{Flags, Record, TraceOp};
use crate::writer::{Output, WriteFormat, Writer, own_names};

/// The card.
pub(crate) static WRITE_FORMAT: WriteFormat = WriteFormat {
    name: "parquet",
    summary: "our own columns, with all that is known of the trace",
    make: |to, name| Ok(Box::new(ParquetWriter::new(to, name)?)),
    may_be_untimed: true,
    losses: &[],
    device_names: own_names,
};

/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 20;

/// Level of zstd: the format's description asks for it.
const ZSTD_LEVEL: i32 = 3;

struct ParquetWriter {
    to: ArrowWriter<Output>,
    schema: Arc<Schema>,
    name: String,
    /// Names as arrays, made anew when there are more.
    ops: ArrayRef,
    devices: Arc<StringArray>,
    clients: Arc<StringArray>,
}

impl ParquetWriter {
    fn new(to: Output, name: &str) -> Result<ParquetWriter, TraceError> {
        let schema = Arc::new(schema());
        let plain = |column: &str| ColumnPath::from(column);
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_compression(Compression::ZSTD(
                ZstdLevel::try_new(ZSTD_LEVEL).expect("a level of zstd"),
            ))
            // Times rise, so their differences are small; addresses hardly repeat.
            .set_column_dictionary_enabled(plain("ts"), false)
            .set_column_encoding(plain("ts"), Encoding::DELTA_BINARY_PACKED)
            .set_column_dictionary_enabled(plain("offset"), false)
            .set_column_dictionary_enabled(plain("service_ns"), false)
            .set_column_dictionary_enabled(plain("response_ns"), false)
            .build();
        let to = ArrowWriter::try_new(to, schema.clone(), Some(properties))
            .map_err(|error| unfit(error, name))?;
        Ok(ParquetWriter {
            to,
            schema,
            name: name.to_owned(),
            ops: Arc::new(StringArray::from_iter_values(
                TraceOp::ALL.map(TraceOp::name),
            )),
            devices: Arc::new(StringArray::from_iter_values([""; 0])),
            clients: Arc::new(StringArray::from_iter_values([""; 0])),
        })
    }

    /// Makes sure that all names of the header are there.
    fn know(&mut self, header: &Header) {
        if self.devices.len() != header.devices.len() {
            let names = header.devices.iter().map(|device| &device.name);
            self.devices = Arc::new(StringArray::from_iter_values(names));
        }
        if self.clients.len() != header.clients.len() {
            self.clients = Arc::new(StringArray::from_iter_values(&header.clients));
        }
    }

    fn batch(&self, records: &[Record]) -> Result<RecordBatch, TraceError> {
        let known = |ns: u64| (ns != Record::UNKNOWN).then_some(ns);
        let devs = records
            .iter()
            .map(|record| u16::try_from(record.dev))
            .collect::<Result<Vec<u16>, _>>();
        let Ok(devs) = devs else {
            let what = "a trace of more than 65536 devices cannot be written as Parquet; choose one device";
            return Err(TraceError::unfit(what).in_file(&self.name));
        };
        let ops: UInt8Array = records.iter().map(|record| Some(record.op as u8)).collect();
        let clients: UInt32Array = records
            .iter()
            .map(|record| Some(record.client).filter(|client| *client != 0))
            .collect();
        let prios: UInt16Array = records
            .iter()
            .map(|record| record.flags.has(Flags::PRIORITY).then_some(record.priority))
            .collect();
        let packed = |error: arrow_schema::ArrowError| {
            TraceError::unfit(error.to_string()).in_file(&self.name)
        };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(
                records.iter().map(|record| record.ts),
            )),
            Arc::new(DictionaryArray::try_new(ops, self.ops.clone()).map_err(packed)?),
            Arc::new(UInt64Array::from_iter_values(
                records.iter().map(|record| record.offset),
            )),
            Arc::new(UInt64Array::from_iter_values(
                records.iter().map(|record| record.len),
            )),
            Arc::new(
                DictionaryArray::try_new(UInt16Array::from(devs), self.devices.clone())
                    .map_err(packed)?,
            ),
            Arc::new(DictionaryArray::try_new(clients, self.clients.clone()).map_err(packed)?),
            Arc::new(UInt16Array::from_iter_values(
                records.iter().map(|record| record.flags.0),
            )),
            Arc::new(prios),
            Arc::new(
                records
                    .iter()
                    .map(|record| known(record.service_ns))
                    .collect::<UInt64Array>(),
            ),
            Arc::new(
                records
                    .iter()
                    .map(|record| known(record.response_ns))
                    .collect::<UInt64Array>(),
            ),
        ];
        RecordBatch::try_new(self.schema.clone(), columns).map_err(packed)
    }
}

impl Writer for ParquetWriter {
    fn write(&mut self, records: &[Record], header: &Header) -> Result<(), TraceError> {
        self.know(header);
        let batch = self.batch(records)?;
        self.to
            .write(&batch)
            .map_err(|error| unfit(error, &self.name))
    }

    fn finish(mut self: Box<Self>, header: &Header) -> Result<(), TraceError> {
        for (key, value) in facts(header) {
            self.to
                .append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        }
        self.to
            .close()
            .map(|_| ())
            .map_err(|error| unfit(error, &self.name))
    }
}

fn schema() -> Schema {
    let dictionary = |key: DataType| DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8));
    Schema::new(vec![
        Field::new("ts", DataType::Int64, false),
        Field::new("op", dictionary(DataType::UInt8), false),
        Field::new("offset", DataType::UInt64, false),
        Field::new("len", DataType::UInt64, false),
        Field::new("dev", dictionary(DataType::UInt16), false),
        Field::new("client", dictionary(DataType::UInt32), true),
        Field::new("flags", DataType::UInt16, false),
        Field::new("prio", DataType::UInt16, true),
        Field::new("service_ns", DataType::UInt64, true),
        Field::new("response_ns", DataType::UInt64, true),
    ])
}

/// The metadata of the file.
fn facts(header: &Header) -> Vec<(&'static str, String)> {
    let devices: BTreeMap<&str, serde_json::Value> = header
        .devices
        .iter()
        .map(|device| {
            (
                device.name.as_str(),
                serde_json::json!({ "capacity": null, "max_byte": device.end_byte }),
            )
        })
        .collect();
    let anomalies: BTreeMap<&str, u64> = header
        .anomalies
        .iter()
        .map(|(kind, count)| (kind.name(), count))
        .collect();
    let kind = match header.time_kind {
        TimeKind::Issue => "issue",
        TimeKind::Completion => "completion",
        TimeKind::Arrival => "arrival",
        TimeKind::None => "none",
    };
    let transform = serde_json::json!({
        "spread": header.spread,
        "span": header.span,
        "limited": header.limited,
    });
    let mut facts = vec![
        (key::SCHEMA, SCHEMA_VERSION.to_owned()),
        (key::SOURCE_FORMAT, header.format.clone()),
        (key::RESOLUTION, header.resolution_ns.to_string()),
        (key::TIME_KIND, kind.to_owned()),
        (key::SECTOR_SIZE, header.sector_size.to_string()),
        (key::DEVICES, serde_json::json!(devices).to_string()),
        (key::ANOMALIES, serde_json::json!(anomalies).to_string()),
        (key::TRANSFORM, transform.to_string()),
    ];
    if let Some(epoch) = header.epoch_unix_ns {
        facts.push((key::EPOCH, epoch.to_string()));
    }
    facts
}

/// What the crate says, as an error of the file system where that is the cause.
fn unfit(error: ParquetError, name: &str) -> TraceError {
    match error {
        ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(source) => TraceError::Io {
                path: name.to_owned(),
                source: *source,
            },
            Err(other) => TraceError::unfit(other.to_string()).in_file(name),
        },
        other => TraceError::unfit(other.to_string()).in_file(name),
    }
}
