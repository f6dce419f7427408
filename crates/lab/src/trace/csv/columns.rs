//! Which column of a table is what, and in which unit: from its header or from the user.
//!
//! A header's name is a word that people use for the thing, perhaps with a unit: `time_us`, `Offset
//! (bytes)`, `size_kib`, `lba`. Without a unit, times must tell by their size (see `mod.rs`),
//! addresses called `offset` are bytes, those called `lba` or `sector` count 512 bytes. A unit that
//! is not known makes the column unknown: nothing is guessed.
//!
//! The user's description is `ts=5:us,op=2:R/W,offset=3:bytes,len=4:bytes,dev=1`, columns from 1,
//! or the options of libCacheSim's CSV reader,
//! `time-col=1,obj-id-col=2,obj-size-col=3,op-col=4,delimiter=;,has-header=true`.
//!
//! Source: the tables of names in our own Parquet schema; libCacheSim,
//! `doc/quickstart_cachesim.md`.

use super::super::TraceError;
use super::super::decode::TimeUnit;
use super::super::text::SECTOR_BYTES;

/// What stands in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// Nothing that is asked for.
    Ignored,
    /// Arrival, in units of [`Columns::clock`].
    Time,
    /// Operation.
    Op,
    /// First byte, in units of this many bytes.
    Offset(u64),
    /// Length, in units of this many bytes.
    Length(u64),
    /// Device.
    Device,
    /// Client.
    Client,
    /// Our own flags, as a number.
    Flags,
    /// Linux I/O priority, as a number.
    Priority,
    /// Service time, in units of this many ns.
    Service(u64),
    /// Response time, in units of this many ns.
    Response(u64),
}

/// What a number in the column of arrivals means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// Units of this many ns.
    Unit(u64),
    /// Ticks of 100 ns since 1601.
    Filetime,
    /// Told by the size of the first number.
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
    /// Told by the first line when none.
    pub(super) delimiter: Option<Delimiter>,
    /// How reads and writes are called, where the user said so.
    pub(super) ops: Option<OpNames>,
    /// How each column is called, as far as it is: for messages.
    pub(super) names: Vec<String>,
}

/// Names of things, in lower case, with blanks and dashes as `_`.
const NAMES: &[(Column, &[&str])] = &[
    (
        Column::Time,
        &[
            "ts",
            "time",
            "timestamp",
            "clock_time",
            "arrival_time",
            "start_time",
            "arrival",
        ],
    ),
    (
        Column::Op,
        &[
            "op",
            "opcode",
            "type",
            "iotype",
            "io_type",
            "rw",
            "op_type",
            "operation",
        ],
    ),
    (Column::Offset(1), &["offset", "byte_offset"]),
    (
        Column::Offset(SECTOR_BYTES),
        &["lba", "lbn", "sector", "blkno", "start_sector"],
    ),
    (
        Column::Length(1),
        &["len", "length", "size", "nbytes", "bytes", "io_size"],
    ),
    (
        Column::Length(SECTOR_BYTES),
        &["sectors", "nr_sectors", "nblocks", "blocks"],
    ),
    (
        Column::Device,
        &[
            "dev",
            "device",
            "device_id",
            "volume",
            "volume_id",
            "lun",
            "asu",
            "disk",
        ],
    ),
    (
        Column::Client,
        &["client", "client_id", "comm", "process", "vm", "tenant"],
    ),
    (Column::Flags, &["flags"]),
    (Column::Priority, &["prio", "priority"]),
    (Column::Service(0), &["service", "service_time"]),
    (
        Column::Response(0),
        &["response", "response_time", "latency"],
    ),
];

/// How a name may say its unit of time, and of size.
const TIME_UNITS: &[&str] = &["s", "ms", "us", "ns"];
const SIZE_UNITS: &[&str] = &["bytes", "sectors", "kib", "mib"];

/// Units of time and their ns.
const TIMES: &[(u64, &[&str])] = &[
    (1_000_000_000, &["s", "sec", "secs", "second", "seconds"]),
    (
        1_000_000,
        &["ms", "msec", "millis", "millisecond", "milliseconds"],
    ),
    (
        1_000,
        &["us", "usec", "micros", "microsecond", "microseconds"],
    ),
    (1, &["ns", "nsec", "nanos", "nanosecond", "nanoseconds"]),
];

/// Units of size and their bytes.
const SIZES: &[(u64, &[&str])] = &[
    (1, &["b", "byte", "bytes"]),
    (SECTOR_BYTES, &["sector", "sectors"]),
    (1 << 10, &["kib"]),
    (1 << 20, &["mib"]),
];

fn unit(units: &[(u64, &[&str])], name: &str) -> Option<u64> {
    let found = units.iter().find(|(_, names)| names.contains(&name));
    found.map(|(scale, _)| *scale)
}

/// A name without what stands around it.
fn clean(name: &str) -> &str {
    name.trim_matches(['"', '\'', ' ', '\u{feff}'])
}

/// A name in lower case, with blanks and dashes as `_`.
fn folded(name: &str) -> String {
    clean(name).to_lowercase().replace([' ', '-'], "_")
}

/// What a whole word means, or a name without its unit.
fn plain(word: &str) -> Option<Column> {
    let found = NAMES.iter().find(|(_, names)| names.contains(&word));
    found.map(|(column, _)| *column)
}

/// A name before and behind its last `_` or bracket: `latency_us` as `latency` and `us`.
fn split(name: &str) -> Option<(&str, &str)> {
    let open = name.rfind(['_', '(', '['])?;
    let word = name[..open].trim_end_matches('_');
    Some((word, name[open + 1..].trim_end_matches([')', ']'])))
}

/// What a header's name says; the unit is 0 where it says none.
fn named(name: &str) -> Option<(Column, u64)> {
    let name = folded(name);
    if let Some(column) = plain(&name) {
        return Some((column, 0));
    }
    let (word, unit_name) = split(&name)?;
    let scale = match plain(word)? {
        Column::Time | Column::Service(_) | Column::Response(_) => unit(TIMES, unit_name)?,
        Column::Offset(_) | Column::Length(_) => unit(SIZES, unit_name)?,
        _ => return None,
    };
    Some((plain(word)?, scale))
}

/// The names that a column may have which says what it is, but not in a unit that is known; empty if it lacks none.
pub(super) fn with_units(name: &str) -> Vec<String> {
    let name = folded(name);
    let (word, units) = match (plain(&name), split(&name)) {
        (Some(Column::Service(_) | Column::Response(_)), _) => (name.as_str(), TIME_UNITS),
        (None, Some((word, _))) => match plain(word) {
            _ if named(&name).is_some() => return Vec::new(),
            Some(Column::Time | Column::Service(_) | Column::Response(_)) => (word, TIME_UNITS),
            Some(Column::Offset(_) | Column::Length(_)) => (word, SIZE_UNITS),
            _ => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    units.iter().map(|unit| format!("{word}_{unit}")).collect()
}

/// Better of two columns for the same thing: bytes before sectors, then the first.
fn rank(column: Column) -> u64 {
    match column {
        Column::Offset(scale) | Column::Length(scale) => scale,
        _ => 0,
    }
}

impl Columns {
    /// What a header says; `None` if it does not name where requests begin and how long they are,
    /// and when or what.
    pub(super) fn of_header(line: &[u8], time_unit: Option<TimeUnit>) -> Option<Columns> {
        let text = std::str::from_utf8(line).ok()?.trim_start_matches('#');
        let delimiter = Delimiter::of(text.as_bytes());
        let mut columns = Columns {
            columns: Vec::new(),
            clock: Clock::Unknown,
            delimiter: Some(delimiter),
            ops: None,
            names: Vec::new(),
        };
        let names = delimiter.split(text.trim());
        columns.names = names.iter().map(|name| clean(name).to_owned()).collect();
        for (at, name) in names.iter().enumerate() {
            if let Some((column, scale)) = named(name) {
                columns.name(at, column, scale);
            }
        }
        if columns.looks_like_our_own(&names) {
            columns.clock = Clock::Unit(1);
        }
        if let Some(unit) = time_unit {
            columns.clock = Clock::Unit(unit.ns());
        }
        let has = |kind: Column| columns.has(kind);
        let fits = has(Column::Offset(1))
            && has(Column::Length(1))
            && (has(Column::Time) || has(Column::Op));
        fits.then_some(columns)
    }

    /// Takes the column at `at` for this, unless an earlier one is as good.
    fn name(&mut self, at: usize, column: Column, scale: u64) {
        let column = match (column, scale) {
            (Column::Offset(plain), 0) => Column::Offset(plain),
            (Column::Length(plain), 0) => Column::Length(plain),
            (Column::Offset(_), scale) => Column::Offset(scale),
            (Column::Length(_), scale) => Column::Length(scale),
            // A duration must say its unit; ours do.
            (Column::Service(_) | Column::Response(_), 0) => return,
            (Column::Service(_), scale) => Column::Service(scale),
            (Column::Response(_), scale) => Column::Response(scale),
            (other, _) => other,
        };
        let kind = std::mem::discriminant(&column);
        let known = self
            .columns
            .iter()
            .position(|other| std::mem::discriminant(other) == kind);
        if let Some(known) = known {
            if rank(self.columns[known]) <= rank(column) {
                return;
            }
            self.columns[known] = Column::Ignored;
        }
        if column == Column::Time && scale > 0 {
            self.clock = Clock::Unit(scale);
        }
        self.put(at, column);
    }

    fn put(&mut self, at: usize, column: Column) {
        if self.columns.len() <= at {
            self.columns.resize(at + 1, Column::Ignored);
        }
        self.columns[at] = column;
    }

    pub(super) fn has(&self, kind: Column) -> bool {
        let kind = std::mem::discriminant(&kind);
        self.columns
            .iter()
            .any(|column| std::mem::discriminant(column) == kind)
    }

    /// Our own tables, whose times are ns.
    fn looks_like_our_own(&self, names: &[&str]) -> bool {
        names.starts_with(&["ts", "op", "offset", "len", "dev"])
    }

    /// What the user says.
    pub(super) fn of_description(
        text: &str,
        block_size: Option<u64>,
    ) -> Result<Columns, TraceError> {
        let mut columns = Columns {
            columns: Vec::new(),
            clock: Clock::Unknown,
            delimiter: None,
            ops: None,
            names: Vec::new(),
        };
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            columns
                .describe(key.trim(), value.trim(), block_size)
                .map_err(|what| TraceError::unfit(format!("--columns: `{part}`: {what}")))?;
        }
        for (kind, key) in [(Column::Offset(1), "offset"), (Column::Length(1), "len")] {
            if !columns.has(kind) {
                return Err(TraceError::unfit(format!(
                    "--columns: `{text}` does not say which column is `{key}`, as in `{key}=3:bytes`"
                )));
            }
        }
        Ok(columns)
    }

    fn describe(&mut self, key: &str, value: &str, block_size: Option<u64>) -> Result<(), String> {
        match key {
            "delimiter" => {
                self.delimiter = Some(Delimiter::told(value)?);
                return Ok(());
            }
            // A header is passed over whether it is told or not.
            "has-header" => return Ok(()),
            _ => {}
        }
        let (index, unit_name) = value.split_once(':').unwrap_or((value, ""));
        let at: usize = index
            .parse()
            .ok()
            .filter(|index| (1..=COLUMNS_MAX).contains(index))
            .ok_or_else(|| format!("the column is `{index}`, allowed are 1 to {COLUMNS_MAX}"))?;
        let column = match key {
            "ts" => {
                self.clock = clock(unit_name)?;
                Column::Time
            }
            "time-col" => {
                self.clock = Clock::Unit(TimeUnit::Seconds.ns());
                Column::Time
            }
            "op" => {
                self.ops = ops(unit_name)?;
                Column::Op
            }
            "op-col" => Column::Op,
            "offset" => Column::Offset(size(unit_name)?),
            "obj-id-col" => Column::Offset(
                block_size.ok_or("ids are addresses only with --block-size, the bytes of one")?,
            ),
            "len" => Column::Length(size(unit_name)?),
            "obj-size-col" => Column::Length(1),
            "dev" => Column::Device,
            "client" => Column::Client,
            "service" => Column::Service(duration(unit_name)?),
            "response" => Column::Response(duration(unit_name)?),
            _ => {
                return Err(format!("there is no `{key}`; there are: {KEYS}"));
            }
        };
        if self
            .columns
            .get(at - 1)
            .is_some_and(|known| *known != Column::Ignored)
        {
            return Err(format!("column {at} has a meaning already"));
        }
        self.put(at - 1, column);
        self.names.resize(self.columns.len(), String::new());
        key.clone_into(&mut self.names[at - 1]);
        Ok(())
    }
}

/// More columns no table of requests has.
const COLUMNS_MAX: usize = 1_000;

const KEYS: &str = "ts op offset len dev client service response delimiter, or libCacheSim's time-col obj-id-col \
                    obj-size-col op-col has-header delimiter";

fn clock(unit_name: &str) -> Result<Clock, String> {
    match (unit_name, TimeUnit::named(unit_name)) {
        ("", _) => Ok(Clock::Unknown),
        ("filetime", _) => Ok(Clock::Filetime),
        (_, Some(unit)) => Ok(Clock::Unit(unit.ns())),
        _ => Err(format!(
            "the unit is `{unit_name}`, allowed are s, ms, us, ns, filetime"
        )),
    }
}

fn duration(unit_name: &str) -> Result<u64, String> {
    let unit = TimeUnit::named(unit_name).map(TimeUnit::ns);
    unit.ok_or_else(|| format!("the unit is `{unit_name}`, allowed are s, ms, us, ns"))
}

fn size(unit_name: &str) -> Result<u64, String> {
    let blocks = unit_name.strip_prefix("blocks:").map(str::parse::<u64>);
    match (unit_name, blocks) {
        ("" | "bytes", _) => Ok(1),
        ("sectors", _) => Ok(SECTOR_BYTES),
        ("kib", _) => Ok(1 << 10),
        (_, Some(Ok(bytes))) if bytes > 0 => Ok(bytes),
        _ => Err(format!(
            "the unit is `{unit_name}`, allowed are bytes, sectors, kib, blocks:N"
        )),
    }
}

fn ops(names: &str) -> Result<Option<OpNames>, String> {
    if names.is_empty() {
        return Ok(None);
    }
    match names.split_once('/') {
        Some((read, write)) if !read.is_empty() && !write.is_empty() && read != write => {
            Ok(Some(OpNames {
                read: read.as_bytes().to_vec(),
                write: write.as_bytes().to_vec(),
            }))
        }
        _ => Err(format!(
            "the values are `{names}`, they are that of a read and that of a write, as in `R/W`"
        )),
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
    fn told(value: &str) -> Result<Delimiter, String> {
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

    fn split(self, line: &str) -> Vec<&str> {
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
        Columns::of_header(line.as_bytes(), None)
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
            Column::Ignored,
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
        assert_eq!(Columns::of_header(b"time,offset,len\xff", None), None);
    }

    #[test]
    fn the_users_description() {
        let of = |text: &str| Columns::of_description(text, None);
        let found = of("ts=5:us,op=2:R/W,offset=3:bytes,len=4:blocks:4096,dev=1").unwrap();
        let expected = [
            Column::Device,
            Column::Op,
            Column::Offset(1),
            Column::Length(4_096),
            Column::Time,
        ];
        assert_eq!(
            (&found.columns[..], found.clock),
            (&expected[..], Clock::Unit(1_000))
        );
        assert_eq!(found.ops, ops("R/W").unwrap());
        let found = of("offset=2,len=3,ts=1:filetime,delimiter=;").unwrap();
        assert_eq!(
            (found.clock, found.delimiter, found.ops),
            (Clock::Filetime, Some(Delimiter::Byte(b';')), None)
        );
    }

    #[test]
    fn the_options_of_libcachesim() {
        let text =
            "time-col=1, obj-id-col=2, obj-size-col=3, op-col=4, delimiter=\\t, has-header=true";
        let found = Columns::of_description(text, Some(4_096)).unwrap();
        let expected = [
            Column::Time,
            Column::Offset(4_096),
            Column::Length(1),
            Column::Op,
        ];
        assert_eq!(
            (&found.columns[..], found.delimiter),
            (&expected[..], Some(Delimiter::Byte(b'\t')))
        );
        let error = Columns::of_description(text, None).unwrap_err().to_string();
        assert!(error.contains("only with --block-size"), "{error}");
    }

    #[test]
    fn wrong_descriptions_are_told_apart() {
        for (text, part) in [
            ("ts=0", "`ts=0`: the column is `0`, allowed are 1 to 1000"),
            (
                "ts=1:min",
                "the unit is `min`, allowed are s, ms, us, ns, filetime",
            ),
            ("offset=1:pages", "the unit is `pages`, allowed are bytes"),
            ("offset=1:blocks:0", "the unit is `blocks:0`"),
            ("op=1:R", "the values are `R`"),
            ("when=1", "there is no `when`; there are: ts op"),
            ("offset=1,len=1", "column 1 has a meaning already"),
            ("offset=1", "does not say which column is `len`"),
            ("offset=1,len=2,delimiter=xy", "the delimiter is `xy`"),
            ("offset=1,len=2,service=3", "the unit is ``, allowed are s"),
        ] {
            let error = Columns::of_description(text, None).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
