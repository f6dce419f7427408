//! What a table's header names and nothing reads, in words: no column is dropped silently.
//!
//! A time without a unit says nothing, so a column called `latency` is not read; then the names
//! that would be are told. All other names are listed: whoever finds a column of his there
//! describes it with `--columns`. Whoever does that leaves columns out on purpose; of those he is
//! told only what their names say that he did not describe.

use super::columns::Columns;
use super::described::Description;
use crate::names::{Column, UNIT, described, lacks_unit, listed, with_units};

/// Names that are listed.
const LISTED_MAX: usize = 8;

/// What is to be said of the columns that are not read; a note each.
pub(super) fn notes(columns: &Columns, description: Option<&Description>) -> Vec<String> {
    let names = columns.names.iter().map(String::as_str).enumerate();
    let unread = names.filter(|(at, name)| columns.at(*at) == Column::Ignored && !name.is_empty());
    match description {
        Some(description) => unread
            .filter_map(|(at, name)| left_out(columns, description, at, name))
            .collect(),
        None => not_named(unread),
    }
}

/// A column that a description leaves out though its name says what it is, and nothing else is read
/// as that.
fn left_out(columns: &Columns, description: &Description, at: usize, name: &str) -> Option<String> {
    let place = match description.by_name() {
        true => name.to_owned(),
        false => (at + 1).to_string(),
    };
    let (column, add) = described(name, &place)?;
    if columns.has(column) {
        return None;
    }
    let units = match lacks_unit(name) {
        Some(_) => format!(", with {} for {UNIT}", listed(&column.unit_names(), "or")),
        None => String::new(),
    };
    Some(format!(
        "column {} ({name}) is not read: add {add} to --columns{units}",
        at + 1
    ))
}

/// The columns that a header does not name well enough.
pub(crate) fn not_named<'a>(unread: impl Iterator<Item = (usize, &'a str)>) -> Vec<String> {
    let (mut notes, mut unknown) = (Vec::new(), Vec::new());
    for (at, name) in unread {
        let names = with_units(name);
        if names.is_empty() {
            unknown.push(name.to_owned());
            continue;
        }
        notes.push(format!(
            "column {} ({name}) was not read, as its name says no unit that is known; it may be called {}",
            at + 1,
            names.join(", ")
        ));
    }
    if unknown.len() > LISTED_MAX {
        let more = unknown.split_off(LISTED_MAX).len();
        unknown.push(format!("and {more} more"));
    }
    match unknown.as_slice() {
        [] => {}
        [one] => notes.push(format!("a column was not read: {one}")),
        several => notes.push(format!("columns were not read: {}", several.join(", "))),
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(header: &str) -> Vec<String> {
        notes(&Columns::of_header(header.as_bytes()).unwrap(), None)
    }

    /// The same of a table that is described.
    fn under(text: &str, header: &str) -> Vec<String> {
        let description = Description::of(text, None).unwrap();
        let columns = description.in_header(header.as_bytes()).unwrap();
        notes(&columns, Some(&description))
    }

    #[test]
    fn a_time_without_a_unit_is_told_with_the_names_that_have_one() {
        assert_eq!(
            of("time_us,op,offset,len,latency"),
            [
                "column 5 (latency) was not read, as its name says no unit that is known; it may be called latency_s, \
                 latency_ms, latency_us, latency_ns"
            ]
        );
        assert!(of("time_us,op,offset,len,Response (min)")[0].contains("response_ms"));
        assert!(of("time_us,op,offset,len,size_kb")[0].contains("size_bytes, size_sectors"));
    }

    #[test]
    fn what_nobody_knows_is_listed() {
        assert_eq!(
            of("time_us,op,offset,len,colour"),
            ["a column was not read: colour"]
        );
        assert_eq!(
            of("time_us,op,offset,len,sector,pid,comm,queue_depth"),
            ["columns were not read: sector, pid, queue_depth"]
        );
        let many: Vec<String> = (0..20).map(|number| format!("c{number}")).collect();
        let told = of(&format!("time_us,op,offset,len,{}", many.join(",")));
        assert!(told[0].ends_with("c7, and 12 more"), "{told:?}");
    }

    #[test]
    fn a_table_that_is_read_whole_says_nothing() {
        assert!(of("ts,op,offset,len,dev,client,flags,prio,service_ns,response_ns").is_empty());
        assert!(of("time_us,dev,lba,blocks,op").is_empty());
        let described = Description::of("ts=5:us,op=2,offset=3,len=4", None).unwrap();
        assert!(notes(&described.numbered().unwrap(), Some(&described)).is_empty());
    }

    #[test]
    fn what_a_description_leaves_out_is_told_with_what_to_add() {
        let header = "begun,op,at,nbytes,colour,latency_us,service,lba,volume";
        assert_eq!(
            under("ts=1:us,offset=3,len=4", header),
            [
                "column 2 (op) is not read: add op=2 to --columns",
                "column 6 (latency_us) is not read: add response=6:us to --columns",
                "column 7 (service) is not read: add service=7:UNIT to --columns, with s, ms, us or ns for UNIT",
                "column 9 (volume) is not read: add dev=9 to --columns",
            ]
        );
        let named = under("ts=begun:us,op=2,offset=3,len=4,dev=9,service=7:us", header);
        assert_eq!(
            named,
            ["column 6 (latency_us) is not read: add response=latency_us:us to --columns"]
        );
    }
}
