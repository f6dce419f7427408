//! The page: one HTML file with everything in it, to be opened from a disk without network.
//!
//! `page.html` is built from `web/` (`npm run build`) and committed, so that building the crate
//! needs no Node; a test in `web/` holds the two together. The data go into its `<script
//! type="application/json">`. Whatever a trace's file name says, they stay data: in JSON, `<`, `>`
//! and `&` occur only inside strings, where they have an escaped form, and without them no markup
//! can end the element. The page's own policy forbids all scripts but its own besides. Cost: linear
//! in the points; some ten bytes each.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use super::profile::Profile;
use super::{ReportError, check};
use crate::inspect::Inspection;
use crate::outcome::{Results, Series};

/// The page without data.
const PAGE: &str = include_str!("page.html");
/// Where the data go; once in the page.
pub const CUT_MARK: &str = "\"NEARSLOT_DATA\"";
/// Largest integer up to which a double, hence JavaScript, has them all.
const EXACT_MAX: u64 = (1 << 53) - 1;
/// Digits of a number on the page: far more than pixels, and half the bytes of all.
const DIGITS: usize = 8;

/// What the page reads.
#[derive(Serialize)]
struct Payload<'a> {
    results: &'a Results,
    profile: Option<Profile>,
}

/// The report as a self-contained HTML file. Plots show the runs that have a series; the trace is
/// described if it was inspected.
///
/// # Errors
/// Results or series that are not finite or do not fit together.
pub fn html(results: &Results, inspection: Option<&Inspection>) -> Result<String, ReportError> {
    check(results)?;
    check_series(results)?;
    let profile = inspection.map(Profile::of);
    page(&Payload { results, profile })
}

/// What the page reads of an inspection: all of it.
#[derive(Serialize)]
struct Look<'a> {
    inspection: &'a Inspection,
}

/// An inspection as a self-contained HTML file.
///
/// # Errors
/// The inspection was made without pictures, or cannot be encoded.
pub fn inspection_html(inspection: &Inspection) -> Result<String, ReportError> {
    if inspection.pictures.is_none() {
        let words = "the inspection was made without pictures";
        return Err(ReportError::Encode(words.to_owned()));
    }
    page(&Look { inspection })
}

/// The page with data in it.
pub(super) fn page(payload: &impl Serialize) -> Result<String, ReportError> {
    let (before, after) = PAGE
        .split_once(CUT_MARK)
        .expect("a test finds the mark in the page");
    let mut json = Vec::new();
    payload.serialize(&mut Serializer::with_formatter(&mut json, PageFormatter))?;
    let json = String::from_utf8(json).expect("JSON is UTF-8");
    let mut page = String::with_capacity(PAGE.len() + json.len());
    page.push_str(before);
    page.push_str(&json);
    page.push_str(after);
    Ok(page)
}

/// Series are finite, and what belongs together is equally long.
fn check_series(results: &Results) -> Result<(), ReportError> {
    for run in &results.runs {
        let Some(series) = &run.series else { continue };
        let known = series.response_ms.iter().flatten();
        let named = doubles(series)
            .into_iter()
            .flat_map(|(key, list)| list.iter().map(move |one| (key, one)));
        let mut all = named.chain(known.map(|value| ("response_ms", value)));
        if let Some((key, value)) = all.find(|(_, value)| !value.is_finite()) {
            return Err(ReportError::NotFinite {
                label: run.label.clone(),
                key: format!("series.{key}"),
                value: *value,
            });
        }
        check_lengths(&run.label, series)?;
    }
    Ok(())
}

/// The lists of doubles without holes.
fn doubles(series: &Series) -> Vec<(&'static str, &Vec<f64>)> {
    let mut lists = vec![
        ("cdf_ms", &series.cdf_ms),
        ("cdf_share", &series.cdf_share),
        ("traced_cdf_ms", &series.traced_cdf_ms),
        ("traced_cdf_share", &series.traced_cdf_share),
        ("time_s", &series.time_s),
        ("rate_rps", &series.rate_rps),
        ("queue", &series.queue),
        ("queue_read", &series.queue_read),
        ("queue_write", &series.queue_write),
        ("arm_s", &series.arm_s),
        ("arm_share", &series.arm_share),
        ("arm_overhead_ms", &series.arm_overhead_ms),
        ("arm_seek_ms", &series.arm_seek_ms),
        ("arm_rotation_ms", &series.arm_rotation_ms),
        ("arm_transfer_ms", &series.arm_transfer_ms),
    ];
    lists.extend(series.free.iter().map(|free| ("free.time_s", &free.time_s)));
    lists
}

fn check_lengths(label: &str, series: &Series) -> Result<(), ReportError> {
    let points = [series.cdf_ms.len(), series.cdf_share.len()];
    let traced = [series.traced_cdf_ms.len(), series.traced_cdf_share.len()];
    let intervals = [
        series.time_s.len(),
        series.rate_rps.len(),
        series.response_ms.len(),
        series.queue.len(),
        series.queue_read.len(),
        series.queue_write.len(),
    ];
    let commands = [
        series.arm_s.len(),
        series.arm_drive.len(),
        series.arm_share.len(),
        series.arm_from.len(),
        series.arm_cylinder.len(),
        series.arm_write.len(),
        series.arm_open.len(),
        series.arm_overhead_ms.len(),
        series.arm_seek_ms.len(),
        series.arm_rotation_ms.len(),
        series.arm_transfer_ms.len(),
    ];
    let mut groups: Vec<(&str, Vec<usize>)> = vec![
        ("cdf_ms", points.to_vec()),
        ("traced_cdf_ms", traced.to_vec()),
        ("time_s", intervals.to_vec()),
        ("arm_s", commands.to_vec()),
    ];
    for free in &series.free {
        let snapshots = vec![free.time_s.len(), free.free_per_10k.len()];
        let shares = free.free_per_10k.iter().map(|shares| shares.len() + 1);
        groups.push(("free.time_s", snapshots));
        groups.push((
            "free.cylinders",
            shares.chain([free.cylinders.len()]).collect(),
        ));
    }
    let uneven = |(_, lengths): &&(&str, Vec<usize>)| lengths.iter().any(|len| *len != lengths[0]);
    match groups.iter().find(uneven) {
        None => Ok(()),
        Some((key, _)) => Err(ReportError::Encode(format!(
            "series.{key} of run {label:?} and the lists beside it differ in length"
        ))),
    }
}

/// Compact JSON that is safe inside a `<script>` and exact in JavaScript.
struct PageFormatter;

impl Formatter for PageFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        let special = ['<', '>', '&', '\u{2028}', '\u{2029}'];
        while let Some(at) = rest.find(special) {
            let (before, from) = rest.split_at(at);
            let character = from.chars().next().expect("found just now");
            write!(writer, "{before}\\u{:04x}", u32::from(character))?;
            rest = &from[character.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }

    /// Beyond what a double holds, digits in quotes: a seed shown wrongly would not repeat the run.
    fn write_u64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        if value > EXACT_MAX {
            write!(writer, "\"{value}\"")
        } else {
            CompactFormatter.write_u64(writer, value)
        }
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let rounded = format!("{value:.*e}", DIGITS - 1)
            .parse()
            .expect("a printed double reads back");
        CompactFormatter.write_f64(writer, rounded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_json(value: &serde_json::Value) -> String {
        let mut json = Vec::new();
        value
            .serialize(&mut Serializer::with_formatter(&mut json, PageFormatter))
            .unwrap();
        String::from_utf8(json).unwrap()
    }

    #[test]
    fn the_page_has_one_place_for_data() {
        assert_eq!(PAGE.matches(CUT_MARK).count(), 1);
    }

    #[test]
    fn hostile_words_stay_words() {
        let hostile = "</script><script>alert(1)</script><!-- & \u{2028}\u{2029} \u{0} \" \\";
        let json = page_json(&serde_json::json!({ hostile: hostile }));
        assert!(
            !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']),
            "{json}"
        );
        let back: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(back, serde_json::json!({ hostile: hostile }));
    }

    #[test]
    fn large_integers_keep_their_digits() {
        let value = serde_json::json!([u64::MAX, EXACT_MAX, EXACT_MAX + 1]);
        let expected = "[\"18446744073709551615\",9007199254740991,\"9007199254740992\"]";
        assert_eq!(page_json(&value), expected);
    }

    #[test]
    fn doubles_are_rounded_to_digits_not_to_places() {
        let value = serde_json::json!([0.1 + 0.2, 1.234567891e-7, 12_345.678_912_3, 1.5]);
        assert_eq!(page_json(&value), "[0.3,1.2345679e-7,12345.679,1.5]");
    }
}
