//! Tables in text: any delimiter, columns named by a header or by the user.
//!
//! The files that scripts write, our own exports, and all formats that nobody has named yet.
//! `names.rs` holds what columns may be called. `columns.rs` reads a header, `described.rs` what
//! the user says instead, `table.rs` rows, `date.rs` their dates. `unread.rs` and `lacking.rs` tell
//! what cannot be read of a header.
//!
//! What a table does not say is not made up. Plain times without a unit must be absolute, so that
//! their size tells the unit: from 1e9 seconds, 1e12 milliseconds, 1e15 microseconds, 1e18
//! nanoseconds, about 1.3e17 Windows ticks; else `--time-unit` is asked for. If the first time is a
//! date, all are; one without an offset is taken as UTC, and that is noted. Operations are `R`,
//! `read`, `0` and the like, or the letters of a tracepoint; a table without them holds reads, and
//! says so. Without a device column the file is the device.

mod columns;
mod date;
mod described;
mod lacking;
pub(super) mod table;
pub(super) mod unread;

use super::TraceError;
use super::biosnoop;
use super::decode::{
    Anomaly, Choice, Decoder, Format, Made, Naming, Options, Probe, Reads, Sink, TimeKind,
    TimeMeaning,
};
use super::names::Column;
use super::record::{Flags, TraceOp};
use super::text::{Lines, Odd, Text, excerpt, looks_like_header};
use columns::{Clock, Columns, Fields, TIME_UNIT};
use described::Description;
use table::{DURATION_ALLOWED, PRIORITY_ALLOWED, Row, Table};

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "csv",
    summary: "table with named columns (time_us,dev,lba,blocks,op), or any with --columns ts=5:us,op=2:R/W,...",
    source: "names as in our Parquet schema",
    probe: Probe::Header {
        names: naming,
        lacks: lacking::of,
    },
    options: &[Choice::Columns, Choice::TimeUnit, Choice::BlockSize],
    reads: Reads::Stream(decoder),
};

fn decoder(options: &Options) -> Made<dyn Decoder> {
    let described = match &options.columns {
        Some(text) => Some(Description::of(text, options.block_size)?),
        None => None,
    };
    used(described.as_ref(), options)?;
    let table = match described.as_ref().filter(|described| !described.by_name()) {
        Some(described) => Some(Table::new(described.numbered()?, options)),
        None => None,
    };
    let csv = Csv {
        options: options.clone(),
        described,
        table,
        headed: false,
        unsaid: 0,
        untimed: 0,
        no_durations: 0,
        no_duration: String::new(),
        no_priorities: 0,
        no_priority: String::new(),
        longer: 0,
        beyond: String::new(),
        zoneless: 0,
        rows: 0,
        file_device: None,
    };
    Ok(Text::boxed(csv, options))
}

/// Every option that was given decides something.
fn used(described: Option<&Description>, options: &Options) -> Result<(), TraceError> {
    let text = options.columns.as_deref().unwrap_or_default();
    if options.block_size.is_some() && !text.contains("obj-id-col") {
        return Err(TraceError::without_effect(
            "--block-size",
            "a table needs object ids for it (--columns obj-id-col=2,...); the unit of addresses is said by \
             --columns offset=3:blocks:4096,len=4:blocks:4096",
        ));
    }
    let clock = described.filter(|described| described.has(Column::Time));
    if let (Some(described), Some(_)) = (clock, options.time_unit)
        && described.clock != Clock::Unknown
    {
        return Err(TraceError::without_effect(
            TIME_UNIT,
            "--columns names the unit of times already",
        ));
    }
    Ok(())
}

/// How much a first line names. That of biosnoop names columns too, but its commands may hold
/// blanks: it has a reader of its own.
fn naming(line: &[u8]) -> Naming {
    if biosnoop::is_header(line) {
        return Naming::Nothing;
    }
    match Columns::of_header(line) {
        None => Naming::Nothing,
        Some(columns) if columns.clock == Clock::Unknown => Naming::Columns,
        Some(_) => Naming::ColumnsAndUnits,
    }
}

struct Csv {
    options: Options,
    /// What the user says of it.
    described: Option<Description>,
    /// None before the header, if that decides.
    table: Option<Table>,
    /// A header has passed.
    headed: bool,
    /// Rows whose operation the table does not say.
    unsaid: u64,
    /// Rows that say of a duration that it is not known.
    untimed: u64,
    /// Rows with something else where they tell how long a request took, and what the first of them
    /// has.
    no_durations: u64,
    no_duration: String,
    /// Rows with something else where they tell how urgent a request is, and where and what the
    /// first of them has.
    no_priorities: u64,
    no_priority: String,
    /// Rows with more fields than the header names, and what the first of them has there.
    longer: u64,
    beyond: String,
    /// Rows with a date that does not say its offset from UTC.
    zoneless: u64,
    /// Lines that are neither headers nor blank.
    rows: u64,
    /// The file as a device, once it is needed.
    file_device: Option<u32>,
}

impl Csv {
    /// Whether a line before the first row is no row: a header, whether it is needed or not.
    fn is_header(&mut self, line: &[u8]) -> Result<bool, Odd> {
        if line.trim_ascii().is_empty() {
            return Err(Odd::Malformed);
        }
        match &mut self.table {
            _ if self.headed => return Ok(false),
            None => {
                let columns = self.columns(line)?;
                self.table = Some(Table::new(columns, &self.options));
            }
            // A header that is not needed still says what columns are called.
            Some(table) => {
                let fields = Fields::of(line, table.columns.delimiter);
                let only_names = |fields: &Fields| looks_like_header(line) && fields.numbers() == 0;
                let Some(fields) = fields.filter(only_names) else {
                    return Ok(false);
                };
                if self.described.is_some() {
                    table.columns.named = fields.names.len();
                    table.columns.names = fields.names;
                }
            }
        }
        self.headed = true;
        Ok(true)
    }

    /// The columns of the table with this first line.
    fn columns(&self, line: &[u8]) -> Result<Columns, Odd> {
        if let Some(described) = &self.described {
            return described.in_header(line).map_err(Odd::Fatal);
        }
        Columns::of_header(line).ok_or_else(|| {
            Odd::Fatal(lacking::of(line, None).unwrap_or_else(|| {
                format!(
                    "the first line names no columns for offset and length and for time or op (as in \
                     `time_us,op,offset,len`), found `{}`; describe them with --columns ts=5:us,op=2:R/W,offset=3:bytes,...",
                    excerpt(line)
                )
            }))
        })
    }

    fn take(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        if self.rows == 0 && self.is_header(line)? {
            return Ok(());
        }
        let Some(table) = &mut self.table else {
            return Err(Odd::Malformed);
        };
        self.rows += 1;
        if table.absolute.is_none() {
            for note in unread::notes(&table.columns, self.described.as_ref()) {
                out.note(note);
            }
            match table.first_row(line, out) {
                Err(Odd::Malformed) => return Err(table.wrong(line)),
                settled => settled?,
            }
        }
        let row = match table.row(line) {
            Some(row) => row,
            None => return Err(table.wrong(line)),
        };
        let mut record = row.record;
        record.offset = row.offset.ok_or(Odd::BEYOND)?;
        record.len = row.length.ok_or(Odd::BEYOND)?;
        if record.len == 0 && record.flags.has(Flags::PREFLUSH) {
            record.op = TraceOp::Flush;
        }
        if table.timed && table.resolution_ns() > COARSE_NS {
            record.flags = record.flags.with(Flags::COARSE);
        }
        if row.numbered && !table.told_numbers {
            table.told_numbers = true;
            out.note("operations are numbers: 0 was taken as read, 1 as write");
        }
        let (has_op, has_device) = (table.has_op, table.has_device);
        self.tally(&row, has_op, out);
        record.dev = if has_device {
            out.devices.intern(row.device)
        } else {
            let file = &self.options.file;
            *self
                .file_device
                .get_or_insert_with(|| out.devices.intern(file.as_bytes()))
        };
        if !row.client.is_empty() {
            record.client = out.clients.intern(row.client);
        }
        out.records.push(record);
        Ok(())
    }

    /// Counts what is to be told of a row.
    fn tally(&mut self, row: &Row<'_>, has_op: bool, out: &Sink) {
        self.unsaid += u64::from(!has_op);
        self.untimed += u64::from(row.untimed);
        if let Some(found) = row.no_duration {
            if self.no_durations == 0 {
                self.no_duration = excerpt(found);
            }
            self.no_durations += 1;
        }
        if let Some(found) = row.no_priority {
            if self.no_priorities == 0 {
                let first = format!("line {}: `{}`", out.line, excerpt(found));
                self.no_priority = out.anomalies.placed(first);
            }
            self.no_priorities += 1;
        }
        if let Some(found) = row.beyond {
            if self.longer == 0 {
                self.beyond = excerpt(found);
            }
            self.longer += 1;
        }
        self.zoneless += u64::from(row.zoneless);
    }
}

/// So many rows have something.
fn said_rows(rows: u64) -> String {
    match rows {
        1 => "1 row has".to_owned(),
        rows => format!("{rows} rows have"),
    }
}

/// Stamps with a larger step than this are coarse.
const COARSE_NS: u64 = 1_000_000;

impl Lines for Csv {
    const SHAPE: &'static str = "a row with the columns that were named";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        self.take(line, out)
    }

    fn comment(&mut self, line: &[u8]) {
        if self.table.is_some() {
            return;
        }
        let columns = match &self.described {
            Some(described) => described.in_header(line).ok(),
            None => Columns::of_header(line),
        };
        self.table = columns.map(|columns| Table::new(columns, &self.options));
    }

    fn finish(&mut self, out: &mut Sink) -> Result<(), Odd> {
        if self.unsaid > 0 {
            out.anomalies.add(Anomaly::DirectionGuessed, self.unsaid);
            out.note("no column tells the operation: all requests were taken as reads");
        }
        if self.untimed > 0 {
            let rows = said_rows(self.untimed);
            out.note(format!(
                "{rows} -1 where they tell how long a request took: that was taken as unknown"
            ));
        }
        if self.no_durations > 0 {
            let (rows, found) = (self.no_durations, &self.no_duration);
            out.note(format!(
                "{rows} rows do not tell how long a request took, but have for example `{found}`: that was taken as unknown; allowed is \
                 {DURATION_ALLOWED}"
            ));
        }
        if self.no_priorities > 0 {
            let (rows, first) = (said_rows(self.no_priorities), &self.no_priority);
            out.note(format!(
                "{rows} no priority where one should be (first {first}): these requests were taken without one; allowed is \
                 {PRIORITY_ALLOWED}"
            ));
        }
        if self.longer > 0 {
            let (rows, found) = (said_rows(self.longer), &self.beyond);
            out.note(format!(
                "{rows} more fields than the header names, for example `{found}`: what is beyond was not read"
            ));
        }
        if self.zoneless > 0 {
            let rows = self.zoneless;
            out.note(format!(
                "the times of {rows} rows are dates that do not say their offset from UTC, as Z or +01:00 do: they were taken as UTC"
            ));
        }
        if self.table.is_some() && self.rows == 0 {
            let file = &self.options.file;
            out.note(format!(
                "the table {file} names its columns and has no rows"
            ));
        }
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        let table = self.table.as_ref();
        let timed = table.is_some_and(|table| table.timed);
        TimeMeaning {
            resolution_ns: table.filter(|_| timed).map_or(1, Table::resolution_ns),
            kind: if timed {
                TimeKind::Arrival
            } else {
                TimeKind::None
            },
            epoch_unix_ns: table
                .and_then(|table| table.absolute)
                .unwrap_or(false)
                .then_some(0),
        }
    }
}

#[cfg(test)]
mod tests;
