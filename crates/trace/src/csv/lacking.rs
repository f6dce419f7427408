//! What a first line lacks that looks like the header of a table but does not say enough: which
//! columns no name tells, what names would, which names mean nothing, and the `--columns` that
//! describes the table.
//!
//! The description holds what the names say. Where a name that means nothing is near to what is
//! missing, it is proposed with an `if`; otherwise `COLUMN` stands for what only the user knows.

use nearslot_core::registry::nearest;

use super::columns::Fields;
use crate::names::{Column, UNIT, described, folded, lacks_unit, listed, named};
use crate::text::looks_like_header;

/// Columns that a table has at least.
const COLUMNS_MIN: usize = 3;

/// What a first line lacks; none if it does not look like a header. `second` is the line behind it,
/// if there is one.
pub(super) fn of(first: &[u8], second: Option<&[u8]>) -> Option<String> {
    let fields = Fields::of(first, None).filter(|fields| may_be_header(first, fields, second))?;
    let missing = missing(&fields.names);
    if missing.is_empty() {
        return None;
    }
    let none: Vec<String> = missing.iter().map(|column| allowed(*column)).collect();
    let unknown = unknown(&fields.names);
    let strange = match unknown.as_slice() {
        [] => String::new(),
        [one] => format!("; `{one}` means nothing here"),
        several => format!("; `{}` mean nothing here", several.join("`, `")),
    };
    Some(format!(
        "may be the header of a table (csv), but names no column for {}{strange}; {}",
        none.join(", nor for "),
        proposal(&fields.names, &missing, &unknown)
    ))
}

/// A header begins with a word and holds no number; the line behind it has as many fields, some of
/// them numbers, or enough names are known.
fn may_be_header(line: &[u8], fields: &Fields, second: Option<&[u8]>) -> bool {
    let names = &fields.names;
    let words = looks_like_header(line) && names.len() >= COLUMNS_MIN && fields.numbers() == 0;
    let below = second.and_then(|line| Fields::of(line, Some(fields.delimiter)));
    words
        && match below {
            Some(row) => row.names.len() == names.len() && row.numbers() >= 2,
            None => {
                second.is_none() && names.iter().filter(|name| named(name).is_some()).count() >= 2
            }
        }
}

/// What no name tells: where, how much, and when. A header may do without the last if it tells
/// what, but then a replay has no times, so that is told where something else is missing.
fn missing(names: &[String]) -> Vec<Column> {
    let has = |column: Column| {
        let is = |name: &String| named(name).is_some_and(|(found, _)| found.same(column));
        names.iter().any(is)
    };
    let mut missing = vec![Column::Offset(1), Column::Length(1)];
    missing.retain(|column| !has(*column));
    let enough = missing.is_empty() && has(Column::Op);
    if !has(Column::Time) && !enough {
        missing.push(Column::Time);
    }
    missing
}

/// A column by its key, and the names that a header may use for it.
fn allowed(column: Column) -> String {
    format!("`{}` ({})", column.key(), column.names().join(", "))
}

/// The names that mean nothing, those among them that lack a unit.
fn unknown(names: &[String]) -> Vec<&str> {
    let means = |name: &str| match lacks_unit(name) {
        // A column of a time that only lacks its unit is none that is missed.
        Some((column, _)) => column.needs_unit(),
        None => named(name).is_some(),
    };
    let unknown = names.iter().map(String::as_str);
    unknown
        .filter(|name| !name.is_empty() && !means(name))
        .collect()
}

/// The `--columns` that describes the table, as far as its names tell.
fn proposal(names: &[String], missing: &[Column], unknown: &[&str]) -> String {
    let (mut parts, mut seen) = (Vec::new(), missing.to_vec());
    for (at, name) in names.iter().enumerate() {
        let found = described(name, &place(names, at));
        let found = found.filter(|(column, text)| {
            !seen.iter().any(|other| other.same(*column)) && !text.ends_with(UNIT)
        });
        if let Some((column, text)) = found {
            seen.push(column);
            parts.push(text);
        }
    }
    let (mut guesses, mut open, mut left) = (Vec::new(), false, unknown.to_vec());
    for column in missing {
        let key = column.key();
        let unit = match column {
            Column::Time => String::new(),
            _ => format!(":{}", column.unit_names()[0]),
        };
        match candidate(*column, &left, missing.len()) {
            Some(name) => {
                left.retain(|other| *other != name);
                let at = names.iter().position(|other| other == name);
                let place = at.map_or_else(String::new, |at| place(names, at));
                let unit = match lacks_unit(name) {
                    Some(_) => format!(":{UNIT}"),
                    None => unit,
                };
                parts.push(format!("{key}={place}{unit}"));
                guesses.push(format!("`{name}` is its {key}"));
            }
            None => {
                open = true;
                parts.push(format!("{key}=COLUMN{unit}"));
            }
        }
    }
    let guesses: Vec<&str> = guesses.iter().map(String::as_str).collect();
    let guess = match guesses.as_slice() {
        [] => String::new(),
        some => format!("if {}, ", listed(some, "and")),
    };
    let open = if open {
        ", where COLUMN is a name of the header or a number from 1"
    } else {
        ""
    };
    format!(
        "{guess}describe it with --columns \"{}\"{open}",
        parts.join(",")
    )
}

/// The name that may be meant for a column: one that only lacks a unit, one that is nearly right,
/// or the only one that is left.
fn candidate<'a>(column: Column, unknown: &[&'a str], missing: usize) -> Option<&'a str> {
    let lacks = |name: &&&str| lacks_unit(name).is_some_and(|(found, _)| found.same(column));
    let near = |name: &&&str| nearest(&folded(name), &column.names()).is_some();
    let only = || {
        unknown
            .first()
            .filter(|_| unknown.len() == 1 && missing == 1)
    };
    let mut names = unknown.iter();
    let found = names
        .clone()
        .find(lacks)
        .or_else(|| names.find(near))
        .or_else(only);
    found.copied()
}

/// How `--columns` says where a column is: by its name, or by its number where that cannot tell.
fn place(names: &[String], at: usize) -> String {
    let name = &names[at];
    let same = names.iter().filter(|other| folded(other) == folded(name));
    let tells = same.count() == 1 && !name.contains([',', '=', ':', '"']);
    match tells {
        true => name.clone(),
        false => (at + 1).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(first: &str, second: &str) -> Option<String> {
        let second = Some(second.as_bytes()).filter(|line| !line.is_empty());
        of(first.as_bytes(), second)
    }

    #[test]
    fn what_is_missing_what_is_strange_and_what_to_say() {
        let told = told("time_us,dev,off,bytes,rw,latency_us", "0,0,4096,512,R,100").unwrap();
        assert_eq!(
            told,
            "may be the header of a table (csv), but names no column for `offset` (offset, byte_offset, lba, lbn, sector, blkno, \
             start_sector); `off` means nothing here; if `off` is its offset, describe it with --columns \
             \"ts=time_us:us,dev=dev,len=bytes:bytes,op=rw,response=latency_us:us,offset=off:bytes\""
        );
    }

    #[test]
    fn names_that_are_near_are_proposed_and_others_left_to_the_user() {
        let of = |first: &str, second: &str| {
            let told = told(first, second).unwrap();
            told[told.rfind("; ").unwrap() + 2..].to_owned()
        };
        assert_eq!(
            of("when,off,size_kb,colour", "0,4096,512,7"),
            "if `off` is its offset and `size_kb` is its len, describe it with --columns \
             \"offset=off:bytes,len=size_kb:UNIT,ts=COLUMN\", where COLUMN is a name of the header or a number from 1"
        );
        assert_eq!(
            of("time_ms;kind;where;size", "0;R;4096;512"),
            "describe it with --columns \"ts=time_ms:ms,len=size:bytes,offset=COLUMN:bytes\", where COLUMN is a name of the \
             header or a number from 1"
        );
        assert_eq!(
            of("begun,rw,off,nbytes", "5,R,4096,512"),
            "if `off` is its offset, describe it with --columns \"op=rw,len=nbytes:bytes,offset=off:bytes,ts=COLUMN\", where \
             COLUMN is a name of the header or a number from 1"
        );
        // Names that would not be read as they stand are told by their numbers.
        assert_eq!(
            of("ts:us,time,time,where,size", "0,0,0,4096,512"),
            "describe it with --columns \"ts=2,len=size:bytes,offset=COLUMN:bytes\", where COLUMN is a name of the header or a \
             number from 1"
        );
    }

    #[test]
    fn other_lines_are_no_headers() {
        for (first, second) in [
            ("dear diary, nothing, happened", ""),
            ("dear diary, nothing, happened", "today, nothing, either"),
            ("W,40z96,512", "W,4096,512"),
            ("off,len", "5,7"),
            ("time_us,off,len", "0,1"),
            ("time_us,offset,len", "0,1,2"),
            ("1,2,3", "4,5,6"),
        ] {
            assert_eq!(told(first, second), None, "{first}");
        }
        assert!(told("time_us,off,len", "").is_some());
    }
}
