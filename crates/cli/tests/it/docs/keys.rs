//! The keys of a drive's file, from the structs that read it: names, defaults, comments.
//!
//! Sources are read as rustfmt leaves them, line by line.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::docs::pages::cell;
use crate::docs::read;

/// A kind of drive whose file has keys to describe.
struct Kind {
    name: &'static str,
    /// Said before its tables.
    intro: &'static str,
    /// Files that hold the structs.
    sources: &'static [&'static str],
    /// Structs in the order of presentation, and the table of a drive's file that each reads.
    tables: &'static [(&'static str, &'static str)],
}

const KINDS: [Kind; 4] = [
    Kind {
        name: "hdd",
        intro: " Words in parentheses are DiskSim 4.0's names or numbers for the same.",
        sources: &[
            "crates/core/src/drive/hdd/parameters.rs",
            "crates/core/src/drive/hdd/firmware.rs",
        ],
        tables: &[
            ("Parameters", "Top level"),
            ("Zone", "`[[zones]]`, outermost first"),
            ("BufferParameters", "`[buffer]`"),
            ("BusParameters", "`[bus]`"),
            ("OverheadParameters", "`[overheads]`"),
            (
                "ExtraDisconnectParameters",
                "`[overheads.extra_disconnect]`",
            ),
        ],
    },
    Kind {
        name: "empirical",
        intro: "",
        sources: &[
            "crates/core/src/drive/empirical.rs",
            "crates/core/src/drive/cache.rs",
        ],
        tables: &[
            ("EmpiricalParameters", "Top level"),
            ("Bin", "`[[bins]]`, in any order"),
        ],
    },
    Kind {
        name: "capped",
        intro: "",
        sources: &[
            "crates/core/src/drive/capped.rs",
            "crates/core/src/drive/cache.rs",
        ],
        tables: &[
            ("CappedParameters", "Top level"),
            ("LimitParameters", "`[iops]` and `[mib]`"),
        ],
    },
    Kind {
        name: "ssd",
        intro: "",
        sources: &["crates/core/src/drive/ssd/parameters.rs"],
        tables: &[
            ("SsdParameters", "Top level"),
            ("HostParameters", "`[host]`"),
            ("CacheParameters", "`[cache]`"),
            ("SuspensionParameters", "`[suspension]`"),
            ("MapCacheParameters", "`[map_cache]`"),
            ("CollectionParameters", "`[collection]`"),
        ],
    },
];

/// A struct or enum of the source.
#[derive(Default)]
struct Item {
    /// Whether all fields have defaults.
    defaults: bool,
    members: Vec<Member>,
}

/// A field or a variant.
#[derive(Default, Clone)]
struct Member {
    name: String,
    /// Type of a field; empty for variants.
    kind: String,
    attributes: String,
    comment: String,
}

/// All structs and enums of a source by name.
fn items(source: &str) -> BTreeMap<String, Item> {
    let mut items: BTreeMap<String, Item> = BTreeMap::new();
    let (mut open, mut next) = (None::<String>, Member::default());
    for line in source.lines() {
        let text = line.trim();
        if let Some(comment) = text.strip_prefix("/// ") {
            let gap = if next.comment.is_empty() { "" } else { " " };
            next.comment += &format!("{gap}{comment}");
        } else if text.starts_with("#[") {
            next.attributes += text;
        } else if let (None, Some(name)) = (&open, opened(line)) {
            let item = items.entry(name.to_owned()).or_default();
            item.defaults = next.attributes.contains("deny_unknown_fields, default");
            (open, next) = (Some(name.to_owned()), Member::default());
        } else if line == "}" {
            (open, next) = (None, Member::default());
        } else if let (Some(name), Some(member)) = (&open, member(line)) {
            let found = Member {
                name: member.0.to_owned(),
                kind: member.1.to_owned(),
                ..std::mem::take(&mut next)
            };
            items
                .get_mut(name)
                .expect("it was opened")
                .members
                .push(found);
        } else {
            next = Member::default();
        }
    }
    items
}

fn opened(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix("pub struct ")
        .or_else(|| line.strip_prefix("pub enum "))?;
    rest.strip_suffix(" {")
}

/// Name and type of a public field, or the name of a variant.
fn member(line: &str) -> Option<(&str, &str)> {
    let text = line.strip_prefix("    ")?;
    if let Some(field) = text.strip_prefix("pub ") {
        return field.strip_suffix(',')?.split_once(": ");
    }
    let name = text.strip_suffix(',').or_else(|| text.strip_suffix(" {"))?;
    name.chars()
        .all(char::is_alphanumeric)
        .then_some((name, ""))
}

/// The tables of the page of a kind of drive; none for a kind without.
pub(crate) fn tables(kind: &str) -> String {
    let Some(kind) = KINDS.iter().find(|known| known.name == kind) else {
        return String::new();
    };
    let source: String = kind.sources.iter().map(|file| read(file)).collect();
    let items = items(&source);
    let mut text = format!(
        "\n## Keys of a drive's file\n\nA block is a sector of 512 bytes.{}\n",
        kind.intro
    );
    for (name, title) in kind.tables {
        let item = &items[*name];
        let _ = write!(
            text,
            "\n### {title}\n\n| Key | Value | Default | Meaning |\n|---|---|---|---|\n"
        );
        for field in &item.members {
            let (value, words) = value(&field.kind, &items);
            let _ = writeln!(
                text,
                "| `{}` | {value} | {} | {}{words} |",
                field.name,
                default(field, item.defaults, &items),
                cell(&field.comment)
            );
        }
    }
    text
}

/// What a type takes, and its words if they are a list of their own.
fn value(kind: &str, items: &BTreeMap<String, Item>) -> (String, String) {
    let plain = kind
        .strip_prefix("Option<")
        .and_then(|kind| kind.strip_suffix('>'))
        .unwrap_or(kind);
    let value = match plain {
        "String" => "text",
        "f64" => "number",
        "u32" | "u64" => "whole number from 0",
        "i64" => "whole number",
        "bool" => "`true` or `false`",
        "(u32, u32)" => "`[first, last]`",
        "Vec<(u32, f64)>" => "list of `[whole number, number]`",
        "Vec<u64>" => "list of whole numbers",
        "Vec<(u64, u64)>" => "list of `[whole number, whole number]`",
        "Vec<(f64, f64)>" => "list of `[number, number]`",
        "Vec<Zone>" | "Vec<Bin>" => "tables",
        "toml::Table" => "table",
        "Sparing" => "table `{ at = word }`",
        _ if plain.ends_with("Parameters") => "table",
        _ => "word",
    };
    let words = match items.get(plain) {
        Some(item) if matches!(value, "word" | "table `{ at = word }`") => words(item),
        None if value == "word" => panic!("there are no words for the type {plain}"),
        _ => String::new(),
    };
    (value.to_owned(), words)
}

fn words(item: &Item) -> String {
    let each = item.members.iter().map(|variant| {
        let comment = variant.comment.trim_end_matches('.');
        format!("<br>`{}`: {}", kebab(&variant.name), cell(comment))
    });
    each.collect()
}

fn default(field: &Member, all: bool, items: &BTreeMap<String, Item>) -> String {
    let attributes = &field.attributes;
    if attributes.contains("default = \"yes\"") {
        return "`true`".to_owned();
    }
    match field.kind.as_str() {
        kind if kind.starts_with("Option<") => "none",
        _ if !all && !attributes.contains("default") => "must be given",
        "bool" => "`false`",
        kind if kind.starts_with("Vec<") => "none",
        kind if items.contains_key(kind) => {
            let variants = items[kind].members.iter();
            let chosen = variants
                .clone()
                .find(|v| v.attributes.contains("#[default]"));
            return format!("`{}`", kebab(&chosen.expect("words have a default").name));
        }
        _ => "0",
    }
    .to_owned()
}

fn kebab(name: &str) -> String {
    let letter = |(index, c): (usize, char)| {
        let dash = if index > 0 && c.is_uppercase() {
            "-"
        } else {
            ""
        };
        format!("{dash}{}", c.to_lowercase())
    };
    name.chars().enumerate().map(letter).collect()
}

/// A key that this reading of the sources overlooks would be a key that the page lacks.
#[test]
fn every_key_of_the_catalog_is_in_the_tables() {
    let tables = tables("hdd");
    let mut tried = 0;
    for entry in nearslot_core::drive::CATALOG {
        let file: toml::Table = entry.text.parse().expect("tests read the whole catalog");
        if file["kind"].as_str() != Some("hdd") {
            continue;
        }
        let inner = file.values().filter_map(|value| match value {
            toml::Value::Array(list) => list.first()?.as_table(),
            other => other.as_table(),
        });
        for key in inner.chain([&file]).flat_map(toml::Table::keys) {
            // The place of spare sectors is a table of one word.
            assert!(
                key == "at" || tables.contains(&format!("| `{key}` |")),
                "{key}"
            );
            tried += 1;
        }
    }
    assert!(tried > 100, "only {tried} keys were tried");
}

#[test]
fn defaults_and_words_are_found() {
    let tables = tables("hdd");
    for row in [
        "| `rpm` | number | must be given | Revolutions per minute. |",
        "| `join_writes` | `true` or `false` | `true` |",
        "| `command_ms` | number | 0 |",
        "| `head_order` | word | `ascending` | How heads follow each other in successive cylinders.<br>`ascending`: ",
        "<br>`zone-end-tracks`: Tracks at the end of a zone",
        "| `blocks` | whole number from 0 | none |",
    ] {
        assert!(tables.contains(row), "{row} is not in\n{tables}");
    }
}
