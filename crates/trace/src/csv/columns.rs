//! Which column of a table is what, as its header says; what separates columns.
//!
//! Of several columns for the same thing, bytes go before sectors, then the first is taken.
//! `names.rs` says what names mean, `described.rs` reads what the user says instead.

use crate::names::{Column, clean, host_client, named};

/// What a value in the column of arrivals means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// Units of this many ns.
    Unit(u64),
    /// Ticks of 100 ns since 1601.
    Filetime,
    /// Dates with their time.
    Dates,
    /// Told by the first value.
    Unknown,
}

/// What separates columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delimiter {
    Byte(u8),
    Blanks,
}

/// How a table calls its reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpNames {
    pub(super) read: Vec<u8>,
    pub(super) write: Vec<u8>,
}

/// How a table is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    /// Up to the last column that means something.
    pub(super) columns: Vec<Column>,
    pub(super) clock: Clock,
    /// The option by which the user said what the clock counts, if he did.
    pub(super) clock_told: Option<&'static str>,
    /// Told by the first line when none.
    pub(super) delimiter: Option<Delimiter>,
    /// How reads and writes are called, where the user said so.
    pub(super) ops: Option<OpNames>,
    /// How many columns the header names; 0 without one.
    pub(super) named: usize,
    /// How each column is called, as far as it is: for messages.
    pub(super) names: Vec<String>,
}

/// The option that says the unit of all times of a trace.
pub(super) const TIME_UNIT: &str = "--time-unit";

/// How our own tables begin, whose times are ns.
const OUR_OWN: [&str; 5] = ["ts", "op", "offset", "len", "dev"];

/// The fields of a line in text: the names of a header.
pub(super) struct Fields {
    pub(super) delimiter: Delimiter,
    pub(super) names: Vec<String>,
}

impl Fields {
    /// `None` if the line is not UTF-8.
    pub(super) fn of(line: &[u8], delimiter: Option<Delimiter>) -> Option<Fields> {
        let text = std::str::from_utf8(line).ok()?.trim_start_matches('#');
        let delimiter = delimiter.unwrap_or_else(|| Delimiter::of(text.as_bytes()));
        // A tab in front is a column without a name.
        let names = delimiter.split(text.trim_matches([' ', '\r']));
        Some(Fields {
            delimiter,
            names: names.iter().map(|name| clean(name).to_owned()).collect(),
        })
    }

    /// How many of them are numbers.
    pub(super) fn numbers(&self) -> usize {
        let is_number = |field: &&String| field.parse::<f64>().is_ok_and(f64::is_finite);
        self.names.iter().filter(is_number).count()
    }
}

impl Columns {
    /// None so far.
    pub(super) fn none(delimiter: Option<Delimiter>, names: Vec<String>) -> Columns {
        Columns {
            columns: Vec::new(),
            clock: Clock::Unknown,
            clock_told: None,
            delimiter,
            ops: None,
            named: names.len(),
            names,
        }
    }

    /// What a header says; `None` if it does not name where requests begin and how long they are,
    /// and when or what.
    pub(super) fn of_header(line: &[u8]) -> Option<Columns> {
        let Fields { delimiter, names } = Fields::of(line, None)?;
        let mut columns = Columns::none(Some(delimiter), names.clone());
        for (at, name) in names.iter().enumerate() {
            if let Some((column, scale)) = named(name) {
                columns.name(at, column, scale);
            }
        }
        let client = host_client(&names).filter(|_| !columns.has(Column::Client));
        if let Some(at) = client {
            columns.put(at, Column::Client);
        }
        if columns.is_our_own() {
            columns.clock = Clock::Unit(1);
        }
        let has = |kind: Column| columns.has(kind);
        let fits = has(Column::Offset(1))
            && has(Column::Length(1))
            && (has(Column::Time) || has(Column::Op));
        fits.then_some(columns)
    }

    /// Whether they are called as those of our own tables.
    pub(super) fn is_our_own(&self) -> bool {
        self.names.starts_with(&OUR_OWN.map(str::to_owned))
    }

    /// Takes the column at `at` for this, unless an earlier one is as good.
    fn name(&mut self, at: usize, column: Column, scale: u64) {
        // A duration must say its unit; ours do.
        if column.needs_unit() && scale == 0 {
            return;
        }
        let known = self.columns.iter().position(|other| other.same(column));
        if let Some(known) = known {
            if self.columns[known].rank() <= column.rank() {
                return;
            }
            self.columns[known] = Column::Ignored;
        }
        if column == Column::Time && scale > 0 {
            self.clock = Clock::Unit(scale);
        }
        self.put(at, column);
    }

    /// Takes the column at `at` for this.
    pub(super) fn put(&mut self, at: usize, column: Column) {
        if self.columns.len() <= at {
            self.columns.resize(at + 1, Column::Ignored);
        }
        self.columns[at] = column;
    }

    /// What stands in the column at `at`.
    pub(super) fn at(&self, at: usize) -> Column {
        self.columns.get(at).copied().unwrap_or(Column::Ignored)
    }

    /// Whether there is this column, in whatever unit.
    pub(super) fn has(&self, kind: Column) -> bool {
        self.columns.iter().any(|column| column.same(kind))
    }
}

impl Delimiter {
    /// The one that splits a line into most columns.
    pub(super) fn of(line: &[u8]) -> Delimiter {
        let count = |delimiter: u8| line.iter().filter(|byte| **byte == delimiter).count();
        let most = [b'\t', b';', b',']
            .into_iter()
            .max_by_key(|delimiter| count(*delimiter));
        match most {
            Some(delimiter) if count(delimiter) > 0 => Delimiter::Byte(delimiter),
            _ => Delimiter::Blanks,
        }
    }

    /// As the user says it; a comma cannot stand in a list with commas, so nothing means one.
    pub(super) fn told(value: &str) -> Result<Delimiter, String> {
        match value.trim_matches(['"', '\'']).as_bytes() {
            b"" | b"comma" => Ok(Delimiter::Byte(b',')),
            b"\\t" | b"tab" => Ok(Delimiter::Byte(b'\t')),
            b"space" | b"blank" => Ok(Delimiter::Blanks),
            [byte] if byte.is_ascii_punctuation() => Ok(Delimiter::Byte(*byte)),
            _ => Err(format!(
                "the delimiter is `{value}`, allowed are one sign, comma, tab, space"
            )),
        }
    }

    pub(super) fn split(self, line: &str) -> Vec<&str> {
        match self {
            Delimiter::Byte(byte) => line.split(char::from(byte)).collect(),
            Delimiter::Blanks => line.split_ascii_whitespace().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(line: &str) -> Option<Columns> {
        Columns::of_header(line.as_bytes())
    }

    #[test]
    fn names_and_units_of_a_header() {
        let found = header("time_us,dev,lba,blocks,op").unwrap();
        let expected = [
            Column::Time,
            Column::Device,
            Column::Offset(512),
            Column::Length(512),
            Column::Op,
        ];
        assert_eq!(
            (&found.columns[..], found.clock),
            (&expected[..], Clock::Unit(1_000))
        );
        let found =
            header("Timestamp [ms];\"Type\";Offset (sectors);size_kib;Response Time (us)").unwrap();
        let expected = [
            Column::Time,
            Column::Op,
            Column::Offset(512),
            Column::Length(1_024),
            Column::Response(1_000),
        ];
        assert_eq!(
            (&found.columns[..], found.clock),
            (&expected[..], Clock::Unit(1_000_000))
        );
        assert_eq!(found.delimiter, Some(Delimiter::Byte(b';')));
        let found = header("# ts\toffset_bytes\tlength").unwrap();
        assert_eq!(
            (found.clock, found.delimiter),
            (Clock::Unknown, Some(Delimiter::Byte(b'\t')))
        );
        assert!(
            header("time lba sectors rw").is_some_and(|it| it.delimiter == Some(Delimiter::Blanks))
        );
    }

    #[test]
    fn bytes_go_before_sectors_and_the_first_before_the_second() {
        let found = header("time,pid,sector,operation,size,latency_ms,nr_sectors,offset").unwrap();
        let expected = [
            Column::Time,
            Column::Client,
            Column::Ignored,
            Column::Op,
            Column::Length(1),
            Column::Response(1_000_000),
            Column::Ignored,
            Column::Offset(1),
        ];
        assert_eq!(found.columns, expected);
    }

    #[test]
    fn a_process_or_a_stream_is_the_client_where_nothing_else_is() {
        for (line, expected) in [
            ("time_us,op,offset,len,pid", Some(4)),
            ("time_us,Stream,op,offset,len", Some(1)),
            ("time_us,op,pid,offset,len,comm", Some(5)),
            ("client,time_us,op,pid,offset,len", Some(0)),
            ("time_us,op,offset,len,pid,stream", None),
            ("time_us,op,offset,len", None),
        ] {
            let found = header(line).unwrap();
            let mut columns = found.columns.iter();
            assert_eq!(
                columns.position(|one| *one == Column::Client),
                expected,
                "{line}"
            );
        }
    }

    #[test]
    fn our_own_tables_have_ns() {
        let found =
            header("ts,op,offset,len,dev,client,flags,prio,service_ns,response_ns").unwrap();
        assert_eq!((found.clock, found.columns.len()), (Clock::Unit(1), 10));
        assert_eq!(
            found.columns[8..],
            [Column::Service(1), Column::Response(1)]
        );
    }

    #[test]
    fn other_lines_are_no_headers() {
        for line in [
            "0,303567,3584,w,0.026214",
            "time_us,op",
            "offset,len",
            "time,op,offset_furlongs,len",
            "time,op,offset,size_kb",
            "",
        ] {
            assert_eq!(header(line), None, "{line}");
        }
        assert_eq!(Columns::of_header(b"time,offset,len\xff"), None);
    }

    #[test]
    fn a_tab_in_front_is_a_column_without_a_name() {
        let found = header("\ttime_us\top\toffset\tlen").unwrap();
        let expected = [
            Column::Ignored,
            Column::Time,
            Column::Op,
            Column::Offset(1),
            Column::Length(1),
        ];
        assert_eq!(found.columns, expected);
    }
}
