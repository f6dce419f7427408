//! Which column of a table is what, as the user says it with `--columns`.
//!
//! `ts=5:us,op=2:R/W,offset=3:bytes,len=4:bytes,dev=1`: columns by their numbers from 1, or by
//! their names in the header, `ts=begun:us,op=rw`. Or the options of libCacheSim's CSV reader,
//! `time-col=1,obj-id-col=2,obj-size-col=3,op-col=4,delimiter=;,has-header=true`. Names are looked
//! up when the header comes; of a table without one, columns have numbers alone.
//!
//! Source: libCacheSim, `doc/quickstart_cachesim.md`.

use super::columns::{Clock, Columns, Delimiter, Fields, OpNames};
use crate::TraceError;
use crate::decode::TimeUnit;
use crate::names::{self, Column, folded};
use crate::text::excerpt;

/// What the user says of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Description {
    parts: Vec<Part>,
    pub(super) clock: Clock,
    delimiter: Option<Delimiter>,
    ops: Option<OpNames>,
}

/// One column of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    /// As the user wrote it.
    text: String,
    key: String,
    column: Column,
    place: Place,
}

/// Where a column is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// At this place, from 0.
    At(usize),
    /// Where the header has this name.
    Called(String),
}

/// More columns no table of requests has.
const COLUMNS_MAX: usize = 1_000;

/// What may be said besides columns, and what libCacheSim calls them.
const OTHER_KEYS: &str =
    "delimiter, or libCacheSim's time-col obj-id-col obj-size-col op-col has-header delimiter";

/// The unit that a user gave to arrivals, as an option.
const UNIT_OF_TS: &str = "the unit of `ts` in --columns";

impl Description {
    pub(super) fn of(text: &str, block_size: Option<u64>) -> Result<Description, TraceError> {
        let mut described = Description {
            parts: Vec::new(),
            clock: Clock::Unknown,
            delimiter: None,
            ops: None,
        };
        let parts = text.split(',').map(str::trim);
        for part in parts.filter(|part| !part.is_empty()) {
            described
                .take(part, block_size)
                .map_err(|what| unfit(part, &what))?;
        }
        for column in [Column::Offset(1), Column::Length(1)] {
            if !described.has(column) {
                let key = column.key();
                return Err(TraceError::wrong(
                    "--columns",
                    format!("`{text}` does not say which column is `{key}`, as in `{key}=3:bytes`"),
                ));
            }
        }
        Ok(described)
    }

    pub(super) fn has(&self, column: Column) -> bool {
        self.parts.iter().any(|part| part.column.same(column))
    }

    /// Whether a header has to say where columns are.
    pub(super) fn by_name(&self) -> bool {
        let called = |part: &Part| matches!(part.place, Place::Called(_));
        self.parts.iter().any(called)
    }

    fn take(&mut self, part: &str, block_size: Option<u64>) -> Result<(), String> {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let (key, value) = (key.trim(), value.trim());
        match key {
            "delimiter" => {
                self.delimiter = Some(Delimiter::told(value)?);
                return Ok(());
            }
            // A header is passed over whether it is told or not.
            "has-header" => return Ok(()),
            _ => {}
        }
        let (place, unit) = value.split_once(':').unwrap_or((value, ""));
        let column = match names::of_key(key) {
            Some(column) => self.in_unit(column, key, unit)?,
            None => self.of_libcachesim(key, unit, block_size)?,
        };
        if self.has(column) {
            return Err(format!("there is another `{}` already", column.key()));
        }
        self.parts.push(Part {
            text: part.to_owned(),
            key: key.to_owned(),
            column,
            place: place_of(place)?,
        });
        Ok(())
    }

    /// A column with what is said of its values.
    fn in_unit(&mut self, column: Column, key: &str, unit: &str) -> Result<Column, String> {
        match column {
            Column::Time => self.clock = clock(unit)?,
            Column::Op => self.ops = ops(unit)?,
            Column::Offset(_) | Column::Length(_) => return Ok(column.scaled(size(unit)?)),
            Column::Service(_) | Column::Response(_) => {
                return Ok(column.scaled(duration(column, unit)?));
            }
            _ => no_unit(key, unit)?,
        }
        Ok(column)
    }

    fn of_libcachesim(
        &mut self,
        key: &str,
        unit: &str,
        block_size: Option<u64>,
    ) -> Result<Column, String> {
        let column = match key {
            "time-col" => {
                self.clock = Clock::Unit(TimeUnit::Seconds.ns());
                Column::Time
            }
            "op-col" => Column::Op,
            "obj-id-col" => Column::Offset(
                block_size.ok_or("ids are addresses only with --block-size, the bytes of one")?,
            ),
            "obj-size-col" => Column::Length(1),
            _ => return Err(no_key(key)),
        };
        no_unit(key, unit)?;
        Ok(column)
    }

    /// The columns of a table without a header, or whose header does not matter.
    pub(super) fn numbered(&self) -> Result<Columns, TraceError> {
        self.columns(Vec::new(), self.delimiter)
            .map_err(|(part, what)| unfit(part, &what))
    }

    /// The columns of a table with this header.
    pub(super) fn in_header(&self, line: &[u8]) -> Result<Columns, String> {
        let no_header = || {
            format!(
                "--columns names columns, and the first line is no header, found `{}`: say their numbers, as in ts=5:us",
                excerpt(line)
            )
        };
        let fields = Fields::of(line, self.delimiter).ok_or_else(no_header)?;
        let numbers = fields.numbers();
        let columns = self.columns(fields.names, Some(fields.delimiter));
        columns.map_err(|(part, what)| match numbers {
            0 => format!("--columns: `{part}`: {what}"),
            _ => no_header(),
        })
    }

    /// The columns under these names; if not, which part is wrong and why.
    fn columns(
        &self,
        names: Vec<String>,
        delimiter: Option<Delimiter>,
    ) -> Result<Columns, (&str, String)> {
        let numbered = names.is_empty();
        let mut columns = Columns::none(delimiter, names);
        columns.clock = self.clock;
        columns.clock_told = (self.has_unit()).then_some(UNIT_OF_TS);
        columns.ops = self.ops.clone();
        for part in &self.parts {
            let at = part
                .at(&columns.names)
                .map_err(|what| (part.text.as_str(), what))?;
            if columns.at(at) != Column::Ignored {
                let what = format!("column {} has a meaning already", at + 1);
                return Err((&part.text, what));
            }
            columns.put(at, part.column);
            if numbered {
                columns.names.resize(columns.columns.len(), String::new());
                part.key.clone_into(&mut columns.names[at]);
            }
        }
        Ok(columns)
    }

    /// Whether the user said what times count; libCacheSim's times are seconds without a word.
    fn has_unit(&self) -> bool {
        let of_ts = |part: &Part| part.key == Column::Time.key();
        self.clock != Clock::Unknown && self.parts.iter().any(of_ts)
    }
}

impl Part {
    fn at(&self, header: &[String]) -> Result<usize, String> {
        let name = match &self.place {
            Place::At(at) => return Ok(*at),
            Place::Called(name) => name,
        };
        let wanted = folded(name);
        let same = |at: &usize| folded(&header[*at]) == wanted;
        let found: Vec<usize> = (0..header.len()).filter(same).collect();
        match found.as_slice() {
            [at] => Ok(*at),
            [] => Err(format!(
                "the header has no column `{name}`; it has: {}",
                header.join(", ")
            )),
            [first, second, ..] => Err(format!(
                "columns {} and {} are called `{name}`; say the number",
                first + 1,
                second + 1
            )),
        }
    }
}

fn unfit(part: &str, what: &str) -> TraceError {
    TraceError::wrong("--columns", format!("`{part}`: {what}"))
}

fn place_of(word: &str) -> Result<Place, String> {
    let number = word.parse::<i64>();
    match (&number, word) {
        (Err(_), name) if !name.is_empty() => Ok(Place::Called(name.to_owned())),
        _ => number
            .ok()
            .and_then(|number| usize::try_from(number).ok())
            .filter(|number| (1..=COLUMNS_MAX).contains(number))
            .map(|number| Place::At(number - 1))
            .ok_or_else(|| {
                format!("the column is `{word}`, allowed are 1 to {COLUMNS_MAX}, or a name of the header")
            }),
    }
}

/// What is said of a key that there is not: the one that is meant, where headers use that word.
fn no_key(key: &str) -> String {
    let meant = names::described(key, "3").map_or(String::new(), |(column, text)| {
        let text = text.replace(names::UNIT, "us");
        format!(", `{}` means the same, as in {text}", column.key())
    });
    let keys = names::keys().join(" ");
    format!("there is no `{key}`{meant}; there are: {keys} {OTHER_KEYS}")
}

fn no_unit(key: &str, unit: &str) -> Result<(), String> {
    match unit {
        "" => Ok(()),
        _ => Err(format!(
            "the unit is `{unit}`, but what `{key}` names has none"
        )),
    }
}

fn clock(unit: &str) -> Result<Clock, String> {
    match (unit, Column::Time.unit(unit)) {
        ("", _) => Ok(Clock::Unknown),
        ("filetime", _) => Ok(Clock::Filetime),
        (_, Some(ns)) => Ok(Clock::Unit(ns)),
        _ => Err(format!(
            "the unit is `{unit}`, allowed are {}, filetime",
            Column::Time.unit_names().join(", ")
        )),
    }
}

fn duration(column: Column, unit: &str) -> Result<u64, String> {
    column.unit(unit).ok_or_else(|| {
        let units = column.unit_names().join(", ");
        format!("the unit is `{unit}`, allowed are {units}")
    })
}

fn size(unit: &str) -> Result<u64, String> {
    let any = Column::Length(1);
    let blocks = unit.strip_prefix("blocks:").map(str::parse::<u64>);
    match (unit, any.unit(unit), blocks) {
        ("", _, _) => Ok(1),
        (_, Some(bytes), _) => Ok(bytes),
        (_, _, Some(Ok(bytes))) if bytes > 0 => Ok(bytes),
        _ => Err(format!(
            "the unit is `{unit}`, allowed are {}, blocks:N",
            any.unit_names().join(", ")
        )),
    }
}

fn ops(names: &str) -> Result<Option<OpNames>, String> {
    if names.is_empty() {
        return Ok(None);
    }
    let values: Vec<&str> = names.split('/').collect();
    match values.as_slice() {
        [read, write] if !read.is_empty() && !write.is_empty() && read != write => {
            Ok(Some(OpNames {
                read: read.as_bytes().to_vec(),
                write: write.as_bytes().to_vec(),
            }))
        }
        _ => Err(format!(
            "the values are `{names}` (allowed: two, the word for a read and the word for a write, as in `R/W`; without them the usual words are understood, those for \
             flushes and discards, too)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(text: &str) -> Result<Columns, String> {
        let described = Description::of(text, None).map_err(|error| error.to_string())?;
        described.numbered().map_err(|error| error.to_string())
    }

    fn under(text: &str, header: &str) -> Result<Columns, String> {
        let described = Description::of(text, None).map_err(|error| error.to_string())?;
        described.in_header(header.as_bytes())
    }

    #[test]
    fn columns_by_their_numbers() {
        let found = numbered("ts=5:us,op=2:R/W,offset=3:bytes,len=4:blocks:4096,dev=1").unwrap();
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
        let found = numbered("offset=2:mib,len=3,ts=1:filetime,delimiter=;").unwrap();
        assert_eq!(
            (found.clock, found.delimiter, found.ops),
            (Clock::Filetime, Some(Delimiter::Byte(b';')), None)
        );
        assert_eq!(found.columns[1], Column::Offset(1 << 20));
    }

    #[test]
    fn columns_by_their_names() {
        let text = "ts=begun:us,op=rw:0/1,offset=Off Set:blocks:8,len=nbytes:bytes,prio=5";
        let found = under(text, "begun,rw,\"off-set\",NBytes,ionice").unwrap();
        let expected = [
            Column::Time,
            Column::Op,
            Column::Offset(8),
            Column::Length(1),
            Column::Priority,
        ];
        assert_eq!(
            (&found.columns[..], found.clock, found.delimiter),
            (
                &expected[..],
                Clock::Unit(1_000),
                Some(Delimiter::Byte(b','))
            )
        );
        let names = found.names.iter().map(String::as_str);
        assert!(names.eq(["begun", "rw", "off-set", "NBytes", "ionice"]));
        assert_eq!(found.ops, ops("0/1").unwrap());
    }

    #[test]
    fn names_that_no_header_has_are_told_with_those_that_it_has() {
        let of = |header: &str| under("offset=at,len=2", header).unwrap_err();
        assert_eq!(
            of("begun,off,nbytes"),
            "--columns: `offset=at`: the header has no column `at`; it has: begun, off, nbytes"
        );
        assert!(of("at,x,AT").contains("columns 1 and 3 are called `at`; say the number"));
        let none = of("7,W,4096");
        assert!(
            none.contains("the first line is no header, found `7,W,4096`"),
            "{none}"
        );
        assert!(of("x,at").contains("column 2 has a meaning already"));
    }

    #[test]
    fn the_options_of_libcachesim() {
        let text =
            "time-col=1, obj-id-col=2, obj-size-col=3, op-col=4, delimiter=\\t, has-header=true";
        let described = Description::of(text, Some(4_096)).unwrap();
        let found = described.numbered().unwrap();
        let expected = [
            Column::Time,
            Column::Offset(4_096),
            Column::Length(1),
            Column::Op,
        ];
        assert_eq!(
            (&found.columns[..], found.delimiter, found.clock_told),
            (&expected[..], Some(Delimiter::Byte(b'\t')), None)
        );
        let error = numbered(text).unwrap_err();
        assert!(error.contains("only with --block-size"), "{error}");
    }

    #[test]
    fn wrong_descriptions_are_told_apart() {
        for (text, part) in [
            (
                "ts=0",
                "`ts=0`: the column is `0`, allowed are 1 to 1000, or a name",
            ),
            ("ts=-1", "the column is `-1`"),
            ("ts=", "the column is ``"),
            (
                "ts=1:min",
                "the unit is `min`, allowed are s, ms, us, ns, filetime",
            ),
            ("offset=1:pages", "the unit is `pages`, allowed are bytes"),
            ("offset=1:blocks:0", "the unit is `blocks:0`"),
            ("op=1:R", "the values are `R`"),
            (
                "op=2:R/W/D/F",
                "the values are `R/W/D/F` (allowed: two, the word for a read and the word for a write, as in `R/W`; without them the usual words",
            ),
            (
                "dev=1:us",
                "the unit is `us`, but what `dev` names has none",
            ),
            ("when=1", "there is no `when`; there are: ts op"),
            (
                "latency=1:us",
                "there is no `latency`, `response` means the same, as in response=3:us; there are: ts op",
            ),
            ("lba=1", "`offset` means the same, as in offset=3:sectors"),
            ("offset=1,len=1", "column 1 has a meaning already"),
            ("ts=1,ts=2", "there is another `ts` already"),
            ("offset=1", "does not say which column is `len`"),
            ("offset=1,len=2,delimiter=xy", "the delimiter is `xy`"),
            ("offset=1,len=2,service=3", "the unit is ``, allowed are s"),
        ] {
            let error = numbered(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
