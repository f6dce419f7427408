//! What columns of a table may be called, and in which units: one table for headers, `--columns`,
//! messages and the list that `nearslot show csv` prints. CSV and Parquet are read by it.
//!
//! A header's name is a word that people use for the thing, perhaps with a unit: `time_us`, `Offset
//! (bytes)`, `size_kib`, `lba`. Without a unit, times must tell by their size,
//! addresses called `offset` are bytes, those called `lba` or `sector` count 512 bytes. A unit that
//! is not known makes the column unknown: nothing is guessed.
//!
//! Source: headers of the traces that storage people publish.

use std::fmt::Write;

use crate::text::{SECOND_NS, SECTOR_BYTES};

/// What stands in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// Nothing that is asked for.
    Ignored,
    /// Arrival, in units of the clock.
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
    /// How far a write may move, as a word.
    Offer,
    /// Linux I/O priority, as a number.
    Priority,
    /// Service time, in units of this many ns; 0 where that is not known.
    Service(u64),
    /// Response time, in units of this many ns; 0 where that is not known.
    Response(u64),
}

/// A unit in ns or in bytes, and what it is called; the first name is the one that messages use.
type Unit = (u64, &'static [&'static str]);

/// Something that a column may hold.
pub(super) struct Thing {
    /// How `--columns` calls it.
    pub(super) key: &'static str,
    /// What it is, in the unit that its names mean.
    pub(super) column: Column,
    /// How headers call it, in lower case, with blanks and dashes as `_`.
    pub(super) names: &'static [&'static str],
}

/// All of them; the same thing in two units stands next to itself.
const THINGS: &[Thing] = &[
    Thing {
        key: "ts",
        column: Column::Time,
        names: &[
            "ts",
            "time",
            "timestamp",
            "clock_time",
            "arrival_time",
            "start_time",
            "arrival",
        ],
    },
    Thing {
        key: "op",
        column: Column::Op,
        names: &[
            "op",
            "opcode",
            "type",
            "iotype",
            "io_type",
            "rw",
            "op_type",
            "operation",
        ],
    },
    Thing {
        key: "offset",
        column: Column::Offset(1),
        names: &["offset", "byte_offset"],
    },
    Thing {
        key: "offset",
        column: Column::Offset(SECTOR_BYTES),
        names: &["lba", "lbn", "sector", "blkno", "start_sector"],
    },
    Thing {
        key: "len",
        column: Column::Length(1),
        names: &["len", "length", "size", "nbytes", "bytes", "io_size"],
    },
    Thing {
        key: "len",
        column: Column::Length(SECTOR_BYTES),
        names: &["sectors", "nr_sectors", "nblocks", "blocks"],
    },
    Thing {
        key: "dev",
        column: Column::Device,
        names: &[
            "dev",
            "device",
            "device_id",
            "volume",
            "volume_id",
            "lun",
            "asu",
            "disk",
        ],
    },
    Thing {
        key: "client",
        column: Column::Client,
        names: &["client", "client_id", "comm", "process", "vm", "tenant"],
    },
    Thing {
        key: "flags",
        column: Column::Flags,
        names: &["flags"],
    },
    Thing {
        key: "may_move",
        column: Column::Offer,
        names: &["may_move"],
    },
    Thing {
        key: "prio",
        column: Column::Priority,
        names: &["prio", "priority"],
    },
    Thing {
        key: "service",
        column: Column::Service(0),
        names: &["service", "service_time"],
    },
    Thing {
        key: "response",
        column: Column::Response(0),
        names: &["response", "response_time", "latency"],
    },
];

/// Units of time in ns.
const TIMES: &[Unit] = &[
    (SECOND_NS, &["s", "sec", "secs", "second", "seconds"]),
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

/// Units of size in bytes.
const SIZES: &[Unit] = &[
    (1, &["bytes", "byte", "b"]),
    (SECTOR_BYTES, &["sectors", "sector"]),
    (1 << 10, &["kib"]),
    (1 << 20, &["mib"]),
];

impl Column {
    /// The units that it may be in.
    fn units(self) -> &'static [Unit] {
        match self {
            Column::Time | Column::Service(_) | Column::Response(_) => TIMES,
            Column::Offset(_) | Column::Length(_) => SIZES,
            _ => &[],
        }
    }

    /// The unit of this name, in ns or in bytes.
    pub(super) fn unit(self, name: &str) -> Option<u64> {
        let found = self.units().iter().find(|(_, names)| names.contains(&name));
        found.map(|(scale, _)| *scale)
    }

    /// What its units are called, as messages list them.
    pub(super) fn unit_names(self) -> Vec<&'static str> {
        self.units().iter().map(|(_, names)| names[0]).collect()
    }

    /// The same in units of so many ns or bytes; that of arrivals is not the column's business.
    pub(super) fn scaled(self, scale: u64) -> Column {
        match self {
            Column::Offset(_) => Column::Offset(scale),
            Column::Length(_) => Column::Length(scale),
            Column::Service(_) => Column::Service(scale),
            Column::Response(_) => Column::Response(scale),
            other => other,
        }
    }

    /// Its own unit; 0 where there is none.
    pub(super) fn scale(self) -> u64 {
        match self {
            Column::Offset(scale)
            | Column::Length(scale)
            | Column::Service(scale)
            | Column::Response(scale) => scale,
            _ => 0,
        }
    }

    /// Of several columns for the same thing, the one of the lowest rank is taken, bytes before
    /// sectors, and then the first.
    pub(super) fn rank(self) -> u64 {
        match self {
            Column::Offset(scale) | Column::Length(scale) => scale,
            _ => 0,
        }
    }

    /// Whether both are the same, in whatever units.
    pub(super) fn same(self, other: Column) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// How `--columns` calls it.
    pub(super) fn key(self) -> &'static str {
        let thing = THINGS.iter().find(|thing| thing.column.same(self));
        thing.map_or("", |thing| thing.key)
    }

    /// How headers call it, in any unit.
    pub(super) fn names(self) -> Vec<&'static str> {
        let things = THINGS.iter().filter(|thing| thing.column.same(self));
        things.flat_map(|thing| thing.names).copied().collect()
    }

    /// Whether a description must say its unit.
    pub(super) fn needs_unit(self) -> bool {
        matches!(self, Column::Service(_) | Column::Response(_))
    }
}

/// The keys of `--columns` that name columns.
pub(super) fn keys() -> Vec<&'static str> {
    let mut keys: Vec<&str> = THINGS.iter().map(|thing| thing.key).collect();
    keys.dedup();
    keys
}

/// What else a client is called: in traces of a host who asks is a process or a stream. `--columns`
/// takes these words for `client`. So does a header, if it has one of them alone and no name of
/// [`THINGS`]: most that have both a number and a name of who asks mean the name.
pub(super) const CLIENTS: [&str; 2] = ["pid", "stream"];

/// The one of a header's names that is the client in the words of hosts; none if several are, or
/// none is.
pub(super) fn host_client(names: &[String]) -> Option<usize> {
    let mut found = (0..names.len()).filter(|at| CLIENTS.contains(&folded(&names[*at]).as_str()));
    let only = found.next();
    only.filter(|_| found.next().is_none())
}

/// The column that a key of `--columns` names, in its usual unit.
pub(super) fn of_key(key: &str) -> Option<Column> {
    if CLIENTS.contains(&key) {
        return Some(Column::Client);
    }
    let found = THINGS.iter().find(|thing| thing.key == key);
    found.map(|thing| thing.column)
}

/// A name without what stands around it.
pub(super) fn clean(name: &str) -> &str {
    name.trim_matches(['"', '\'', ' ', '\u{feff}'])
}

/// A name in lower case, with blanks and dashes as `_`.
pub(super) fn folded(name: &str) -> String {
    clean(name).to_lowercase().replace([' ', '-'], "_")
}

/// What a whole word means, or a name without its unit.
fn plain(word: &str) -> Option<Column> {
    let found = THINGS.iter().find(|thing| thing.names.contains(&word));
    found.map(|thing| thing.column)
}

/// A name before and behind its last `_` or bracket: `latency_us` as `latency` and `us`.
fn split(name: &str) -> Option<(&str, &str)> {
    let open = name.rfind(['_', '(', '['])?;
    let word = name[..open].trim_end_matches('_');
    Some((word, name[open + 1..].trim_end_matches([')', ']'])))
}

/// What a header's name says, and in which unit; that is 0 where it says none.
pub(super) fn named(name: &str) -> Option<(Column, u64)> {
    let name = folded(name);
    if let Some(column) = plain(&name) {
        return Some((column, column.scale()));
    }
    let (word, unit) = split(&name)?;
    let column = plain(word)?;
    let scale = column.unit(unit)?;
    Some((column.scaled(scale), scale))
}

/// What a header's name says that lacks a unit, or has one that is not known; and the name without
/// that.
pub(super) fn lacks_unit(name: &str) -> Option<(Column, String)> {
    let name = folded(name);
    if let Some(column) = plain(&name) {
        return column.needs_unit().then_some((column, name));
    }
    let (word, unit) = split(&name)?;
    let column = plain(word)?;
    let unknown = !column.units().is_empty() && column.unit(unit).is_none();
    unknown.then(|| (column, word.to_owned()))
}

/// The names that a column may have which says what it is, but not in a unit that is known; empty
/// if it lacks none.
pub(super) fn with_units(name: &str) -> Vec<String> {
    let Some((column, word)) = lacks_unit(name) else {
        return Vec::new();
    };
    let units = column.unit_names().into_iter();
    units.map(|unit| format!("{word}_{unit}")).collect()
}

/// Stands for a unit that the user has to say.
pub(super) const UNIT: &str = "UNIT";

/// What `--columns` says for a column of this name that is found there, such as `response=6:us`;
/// none if the name means nothing.
pub(super) fn described(name: &str, place: &str) -> Option<(Column, String)> {
    if let Some((column, _)) = lacks_unit(name) {
        return Some((column, format!("{}={place}:{UNIT}", column.key())));
    }
    let (column, scale) = named(name)?;
    let units = column.units();
    let unit = units.iter().find(|(unit, _)| *unit == scale);
    let unit = unit.map_or(String::new(), |(_, names)| format!(":{}", names[0]));
    Some((column, format!("{}={place}{unit}", column.key())))
}

/// `a, b and c`, or with another last word.
pub(super) fn listed(words: &[&str], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

/// All names and units, for people.
pub fn names_listed() -> String {
    let mut text = String::from(
        "A header names columns, or --columns does: KEY=COLUMN or KEY=COLUMN:UNIT, divided by commas. COLUMN is a number\n\
         from 1, or a name of the header. The same in upper case, with blanks or dashes for _, is the same name. Behind\n\
         a name may stand a unit: time_us, Offset (bytes), size [kib].\n\n",
    );
    let width = keys().iter().map(|key| key.len()).max().unwrap_or(0);
    let _ = writeln!(text, "  {:width$}  names in a header", "KEY");
    for key in keys() {
        let things = THINGS.iter().filter(|thing| thing.key == key);
        let names: Vec<String> = things.map(in_unit).collect();
        let _ = writeln!(text, "  {key:width$}  {}", names.join("; "));
    }
    let words = CLIENTS.join(" or ");
    let _ = writeln!(
        text,
        "\nA header without a name of `client` may have {words} instead."
    );
    for (of, units) in [("times", TIMES), ("addresses and lengths", SIZES)] {
        let _ = writeln!(text, "\nUnits of {of}:");
        for (_, names) in units {
            let _ = writeln!(text, "  {}", names.join(", "));
        }
    }
    text + "A sector has 512 bytes.\n\
            \n\
            What --columns has besides:\n\
            \x20 ts=1:filetime            ticks of 100 ns since 1601\n\
            \x20 op=2:R/W                 what stands for a read and for a write; others are bad rows\n\
            \x20 offset=3:blocks:4096     blocks of so many bytes; also for len\n\
            \x20 pid=2, stream=2          the same as client=2\n\
            \x20 delimiter=;              one sign, comma, tab or space; otherwise the first line tells\n\
            \x20 time-col=1,obj-id-col=2,obj-size-col=3,op-col=4,has-header=true    as libCacheSim says it\n\
            \n\
            A ts may also be a date with its time, which has no unit: 2026-11-20 10:15:32.123456,\n\
            2026-11-20T10:15:32Z, 2026-11-20T10:15:32+01:00. Without Z or an offset it is taken as UTC.\n"
}

/// The names of a thing, and what they count where that may be asked.
fn in_unit(thing: &Thing) -> String {
    let names = thing.names.join(", ");
    match thing.column {
        column if column.needs_unit() => format!("{names} (only with a unit)"),
        Column::Offset(scale) | Column::Length(scale) => {
            let unit = SIZES.iter().find(|(unit, _)| *unit == scale);
            format!("{names} ({})", unit.map_or("", |(_, names)| names[0]))
        }
        _ => names,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_described_with_its_key_and_its_unit() {
        let of = |name: &str| described(name, "6").map(|(_, text)| text);
        for (name, text) in [
            ("latency_us", "response=6:us"),
            ("Response Time [msec]", "response=6:ms"),
            ("latency", "response=6:UNIT"),
            ("latency_min", "response=6:UNIT"),
            ("size_kb", "len=6:UNIT"),
            ("lba", "offset=6:sectors"),
            ("nbytes", "len=6:bytes"),
            ("Offset (MiB)", "offset=6:mib"),
            ("time", "ts=6"),
            ("time_ns", "ts=6:ns"),
            ("tenant", "client=6"),
            ("prio", "prio=6"),
        ] {
            assert_eq!(of(name).as_deref(), Some(text), "{name}");
        }
        for name in ["colour", "dev_us", "", "_us", "us"] {
            assert_eq!(of(name), None, "{name}");
        }
    }

    #[test]
    fn the_list_holds_every_name_and_every_unit() {
        let listed = names_listed();
        let words: Vec<&str> = listed
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .collect();
        let things = THINGS.iter().flat_map(|thing| thing.names);
        let units = TIMES.iter().chain(SIZES).flat_map(|(_, names)| *names);
        let keys = keys();
        for word in things.chain(units).chain(&keys) {
            assert!(words.contains(word), "{word} is not in\n{listed}");
        }
    }

    #[test]
    fn no_name_means_two_things() {
        let mut names: Vec<&str> = THINGS
            .iter()
            .flat_map(|thing| thing.names)
            .copied()
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
