//! Prose and named facts below a table: what the numbers rest on, as every form for people says it.
//!
//! Names that come from outside lose their control characters, which a terminal would obey.

use std::fmt::Write;

use comfy_table::{LineStyle, TableStyle};
use serde_json::Value;

use crate::number::seconds;
use crate::outcome::TraceInfo;

/// One line below the heading, and that is enough.
pub(crate) const RULE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Widest that prose gets.
const PROSE_MAX: usize = 110;
/// Width of the names of facts.
const FACT_WIDTH: usize = 10;

/// A paragraph as wide as prose gets, without control characters.
pub(crate) fn paragraph(text: &str) -> String {
    wrap(&plain(text), PROSE_MAX).join("\n")
}

/// One named fact, wrapped.
pub(crate) fn fact(text: &mut String, width: Option<usize>, name: &str, value: &str) {
    let room = width.unwrap_or(PROSE_MAX).min(PROSE_MAX) - FACT_WIDTH;
    for (index, line) in wrap(value, room).iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        let _ = writeln!(text, "{name:FACT_WIDTH$}{line}");
    }
}

/// Lines of at most so many characters, if the words let them.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            lines.push(word.to_owned());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}

/// `several`: its devices are counted, not named.
pub(crate) fn trace_facts(trace: Option<&TraceInfo>, several: bool) -> Vec<(&'static str, String)> {
    let Some(trace) = trace else {
        return vec![("trace", "none, synthetic workload".to_owned())];
    };
    let files: Vec<String> = trace.files.iter().map(|file| plain(file)).collect();
    let (requests, device, span) = (trace.requests, plain(&trace.device), seconds(trace.span_s));
    let devices = if several {
        device
    } else {
        format!("device {device}")
    };
    let (fit, spread) = (&trace.fit, &trace.spread);
    let mut facts = vec![
        (
            "trace",
            format!("{} ({})", files.join(" "), plain(&trace.format)),
        ),
        ("", format!("{requests} requests of {devices} over {span}")),
    ];
    facts.extend(trace.span.map(|span| ("", span.words())));
    facts.extend([
        (
            "",
            format!("addresses fitted: {fit}; time stamps spread: {spread}"),
        ),
        ("hash", trace.hash.clone()),
    ]);
    facts
}

/// The settings that all runs share, and for each run its own.
pub(crate) fn configs<'a>(all: impl Iterator<Item = &'a Value>) -> (String, Vec<String>) {
    let settings: Vec<Vec<String>> = all
        .map(|config| {
            let mut flat = Vec::new();
            flatten("", config, &mut flat);
            flat
        })
        .collect();
    let everywhere = |setting: &&String| settings.iter().all(|other| other.contains(setting));
    let words = |some: Vec<&String>| {
        let some: Vec<String> = some.into_iter().map(|setting| plain(setting)).collect();
        some.join(" ")
    };
    let shared = settings
        .first()
        .map(|first| words(first.iter().filter(everywhere).collect()));
    let own = settings
        .iter()
        .map(|own| words(own.iter().filter(|one| !everywhere(one)).collect()));
    (shared.unwrap_or_default(), own.collect())
}

/// `{"sched": {"name": "satf"}}` as `sched.name="satf"`.
pub(super) fn flatten(prefix: &str, value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                let dot = if prefix.is_empty() { "" } else { "." };
                flatten(&format!("{prefix}{dot}{key}"), value, into);
            }
        }
        value => into.push(format!("{prefix}={value}")),
    }
}

pub(crate) fn distinct(values: impl Iterator<Item = String>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for value in values.map(|value| plain(&value)) {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    if seen.is_empty() {
        dash()
    } else {
        seen.join(", ")
    }
}

pub(crate) fn dash() -> String {
    "–".to_owned()
}

/// Without characters that a terminal would obey.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            plain.extend(character.escape_default());
        } else {
            plain.push(character);
        }
    }
    plain
}
