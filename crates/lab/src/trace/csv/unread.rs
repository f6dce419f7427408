//! What a table's header names and nothing reads, in words: no column is dropped silently.
//!
//! A time without a unit says nothing, so a column called `latency` is not read; then the names that would be are told. All
//! other names are listed: whoever finds a column of his there describes it with `--columns`.

use super::columns::{Column, Columns, with_units};

/// Names that are listed.
const LISTED_MAX: usize = 8;

/// What is to be said of the columns that are not read; a note each.
pub(super) fn notes(columns: &Columns) -> Vec<String> {
    let read = |at: usize| {
        let column = columns.columns.get(at);
        column.is_some_and(|column| *column != Column::Ignored)
    };
    let unread = columns.names.iter().enumerate();
    let unread = unread.filter(|(at, name)| !read(*at) && !name.is_empty());
    let (mut notes, mut unknown) = (Vec::new(), Vec::new());
    for (at, name) in unread {
        let names = with_units(name);
        if names.is_empty() {
            unknown.push(name.clone());
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
        notes(&Columns::of_header(header.as_bytes(), None).unwrap())
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
            of("time_us,op,offset,len,sector,pid,queue_depth"),
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
        let described = Columns::of_description("ts=5:us,op=2,offset=3,len=4", None).unwrap();
        assert!(notes(&described).is_empty());
    }
}
