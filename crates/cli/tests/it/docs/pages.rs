//! A page for every part that `nearslot list` knows, made from its card and the header of its
//! source file.
//!
//! Contents of knob tables are those of the card's JSON, which `nearslot show` prints; nothing is
//! said here anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::sync::Once;

use nearslot_cli::list_json;
use nearslot_core::config::{KINDS, StackKind};
use nearslot_core::drive::CATALOG;
use serde_json::Value;

use crate::docs::{assert_none, files, keys, kinds, read, root};

/// Where pages of parts are.
const PARTS: &str = "docs/src/parts";
/// The book's table of contents.
const SUMMARY: &str = "docs/src/SUMMARY.md";
/// Behind this line of it stands what is made here.
const PARTS_HEADING: &str = "# Parts\n";
/// What a made page begins with.
const MADE: &str = "<!-- Made by crates/cli/tests/it/docs from the part's card and source. Write it anew with \
                    NEARSLOT_BLESS=1 cargo test --workspace --test it docs:: -->\n\n";

/// A kind of part as the book presents it.
struct Kind {
    /// As `nearslot list` names it.
    name: &'static str,
    title: String,
    intro: String,
    /// Folder of the files that hold the cards.
    sources: String,
    /// How a part is named on the command line.
    option: String,
}

/// Kinds of parts that a stack is made of, then what is below and above it.
fn presented() -> Vec<Kind> {
    let of = |kind: &StackKind| {
        let called = kind.card();
        Kind {
            name: called.plural,
            title: sentence(called.plural),
            intro: format!("{}.", sentence(called.summary)),
            sources: folder_of(called.key),
            option: format!("--{} ", called.key),
        }
    };
    KINDS.iter().map(of).chain(others()).collect()
}

/// The folder of the parts of a kind of stack: beside the kind's own card.
fn folder_of(key: &str) -> String {
    let card = format!("        key: \"{key}\",");
    let found = files("crates/core/src", "mod.rs");
    let mut found = found.iter().filter(|file| read(file).contains(&card));
    let file = found
        .next()
        .unwrap_or_else(|| panic!("no file has the card of {key}"));
    file.trim_end_matches("/mod.rs").to_owned()
}

fn others() -> [Kind; 4] {
    let kind = |name, title: &str, intro: &str, sources: &str, option: &str| Kind {
        name,
        title: title.to_owned(),
        intro: intro.to_owned(),
        sources: sources.to_owned(),
        option: option.to_owned(),
    };
    [
        kind(
            "drives",
            "Drives",
            "Named drives that ship with nearslot, each a file of parameters.",
            "crates/core/src/drive/catalog",
            "--drive ",
        ),
        kind(
            "drive-kinds",
            "Kinds of drives",
            "The models that drive files give parameters to (`kind = \"...\"`).",
            "crates/core/src/drive",
            "--drive FILE.toml",
        ),
        kind(
            "workloads",
            "Workloads",
            "Synthetic loads, in place of a trace.",
            "crates/lab/src/workload",
            "--workload ",
        ),
        kind(
            "formats",
            "Trace formats",
            "Traces that are read, in the order in which they are tried. Names are for `--trace-format`.",
            "crates/trace/src",
            "--trace-format ",
        ),
    ]
}

/// Words with a capital in front.
pub(crate) fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Every made page by its path, and the end of the table of contents.
fn made() -> (BTreeMap<String, String>, String) {
    let lists = list_json(None).expect("all kinds exist");
    let known: Vec<&String> = lists.as_object().expect("kinds by name").keys().collect();
    let kinds = presented();
    assert_eq!(known.len(), kinds.len(), "the book has pages of {known:?}");
    let (mut pages, mut contents) = (BTreeMap::new(), format!("{PARTS_HEADING}\n"));
    for kind in &kinds {
        let folder = format!("{PARTS}/{}", kind.name);
        let inside = format!("parts/{}", kind.name);
        let mut index = format!("{MADE}# {}\n\n{}\n\n", kind.title, kind.intro);
        index += "| Name | |\n|---|---|\n";
        let _ = writeln!(contents, "- [{}]({inside}/index.md)", kind.title);
        for card in lists[kind.name].as_array().expect("a list of cards") {
            let name = word(card, "name");
            let _ = writeln!(
                index,
                "| [{name}]({name}.md) | {} |",
                cell(word(card, "summary"))
            );
            let _ = writeln!(contents, "  - [{name}]({inside}/{name}.md)");
            pages.insert(format!("{folder}/{name}.md"), page(kind, card));
        }
        pages.insert(format!("{folder}/index.md"), index);
    }
    (pages, contents)
}

fn page(kind: &Kind, card: &Value) -> String {
    let (name, summary) = (word(card, "name"), word(card, "summary"));
    let mut text = format!("{MADE}# {name}\n\n{summary}\n");
    let aliases: Vec<&str> = card["aliases"]
        .as_array()
        .expect("a list of aliases")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    if !aliases.is_empty() {
        let _ = write!(text, "\nAlso called `{}`.\n", aliases.join("`, `"));
    }
    let source = word(card, "source");
    if !source.is_empty() {
        let _ = write!(text, "\nSource: {source}\n");
    }
    let promises = word(card, "promises");
    if !promises.is_empty() {
        let _ = write!(text, "\nFound after a power cut: {promises}.\n");
    }
    text += &knobs(kind, card);
    text += &measures(card);
    if let (Some(more), "formats") = (card["text"].as_str(), kind.name) {
        let _ = write!(text, "\n## Columns\n\n```text\n{more}```\n");
    }
    let (file, prose) = header(kind, name);
    text += "\n## From its file\n\n";
    if !prose.is_empty() {
        let _ = write!(text, "{prose}\n\n");
    }
    let _ = write!(text, "`{file}`");
    if kind.name == "drives" {
        let _ = write!(text, "; `nearslot show {name}` prints it");
    }
    text.push('\n');
    if kind.name == "drive-kinds" {
        text += &keys::tables(name);
    }
    text
}

/// The table of what can be set. Formats have options of the command line instead.
fn knobs(kind: &Kind, card: &Value) -> String {
    let knobs = card["knobs"].as_array().expect("a list of knobs");
    if knobs.is_empty() {
        return match kind.name {
            "formats" => String::new(),
            _ => "\n## Knobs\n\nNothing to set.\n".to_owned(),
        };
    }
    let name = match kind.name {
        "drive-kinds" => "",
        _ => word(card, "name"),
    };
    let mut text = format!(
        "\n## Knobs\n\nSet as `{}{name}:KNOB=VALUE`.\n\n",
        kind.option
    );
    text += "| Knob | Default | Allowed | Meaning |\n|---|---|---|---|\n";
    for knob in knobs {
        let default = match &knob["default"] {
            Value::String(word) => word.clone(),
            other => other.to_string(),
        };
        let _ = writeln!(
            text,
            "| `{}` | `{default}` | {} | {} |",
            word(knob, "name"),
            cell(word(knob, "allowed")),
            cell(word(knob, "help"))
        );
    }
    text
}

/// The table of what a part counts, if it counts anything.
fn measures(card: &Value) -> String {
    let measures = card["measures"].as_array().expect("a list of measures");
    if measures.is_empty() {
        return String::new();
    }
    let head = "\n## Counts\n\nIn the results of a run that has the part.\n\n| Measure | Unit | Meaning |\n|---|---|---|\n";
    let mut text = head.to_owned();
    for measure in measures {
        let told = ["name", "unit", "help"].map(|key| cell(word(measure, key)));
        let _ = writeln!(text, "| `{}` | {} | {} |", told[0], told[1], told[2]);
    }
    text
}

/// The file that holds a part's card, and what it says at its head.
fn header(kind: &Kind, name: &str) -> (String, String) {
    if kind.name == "drives" {
        let file = format!("{}/{name}.toml", kind.sources);
        let prose = leading(&read(&file), "#");
        return (file, prose);
    }
    let named = format!("    name: \"{name}\",");
    let opens = |line: &str| {
        [" Spec {", " Kind {", " Format {"]
            .iter()
            .any(|end| line.ends_with(end))
    };
    let holds = |file: &&String| {
        let text = read(file);
        let next = text.lines().skip(1);
        text.lines()
            .zip(next)
            .any(|(line, next)| opens(line) && next == named)
    };
    let sources = files(&kind.sources, ".rs");
    let found: Vec<&String> = sources.iter().filter(holds).collect();
    let [file] = found.as_slice() else {
        panic!("the card of {name} is in {found:?}");
    };
    ((*file).clone(), plain(&leading(&read(file), "//!")))
}

/// The comment that a file begins with, without its marks.
fn leading(text: &str, mark: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix(mark));
    let unmarked: Vec<&str> = lines
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    unmarked.join("\n").trim().to_owned()
}

/// Prose without links to items of the code, which a book cannot follow.
fn plain(prose: &str) -> String {
    prose.replace("[`", "`").replace("`]", "`")
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} of {value}"))
}

/// Words as they may stand in a table: `|` ends a cell, `<` begins a tag.
pub(crate) fn cell(words: &str) -> String {
    words.replace('|', "\\|").replace('<', "&lt;")
}

/// The table of contents with its end made anew.
fn contents(end: &str) -> String {
    let summary = read(SUMMARY);
    let (guide, _) = summary
        .split_once(PARTS_HEADING)
        .unwrap_or_else(|| panic!("{SUMMARY} has no line `# Parts`"));
    format!("{guide}{end}")
}

/// Every made file by its path.
fn wanted() -> BTreeMap<String, String> {
    let (mut wanted, end) = made();
    wanted.insert(SUMMARY.to_owned(), contents(&end));
    wanted.extend(kinds::modules());
    wanted
}

/// Pages of no part.
fn orphans(wanted: &BTreeMap<String, String>) -> Vec<String> {
    let mut pages = files(PARTS, "");
    pages.retain(|page| !wanted.contains_key(page));
    pages
}

/// Writes the pages anew if that is asked for. Tests that read the book call it first, whichever
/// comes first.
pub(crate) fn settle() {
    static SETTLED: Once = Once::new();
    SETTLED.call_once(|| {
        if std::env::var_os("NEARSLOT_BLESS").is_none() {
            return;
        }
        let wanted = wanted();
        for (path, text) in &wanted {
            let path = root().join(path);
            fs::create_dir_all(path.parent().expect("a page has a folder")).expect("a folder");
            fs::write(&path, text).expect("a page is written");
        }
        for orphan in orphans(&wanted) {
            fs::remove_file(root().join(orphan)).expect("a page is removed");
        }
    });
}

#[test]
fn every_part_has_its_page_and_no_page_is_stale() {
    settle();
    let wanted = wanted();
    let wrong = wanted.iter().filter_map(|(path, text)| {
        let there = fs::read_to_string(root().join(path)).ok();
        let what = there.as_ref().map_or("is missing", |_| "is stale");
        (there.as_ref() != Some(text)).then(|| format!("{path} {what}"))
    });
    let of_none = orphans(&wanted)
        .into_iter()
        .map(|page| format!("{page} is of no part"));
    let mut complaints: Vec<String> = wrong.chain(of_none).collect();
    if !complaints.is_empty() {
        complaints.push("NEARSLOT_BLESS=1 cargo test --workspace --test it docs::".to_owned());
    }
    assert_none(&complaints);
}

#[test]
fn the_table_of_contents_lists_every_page() {
    settle();
    let summary = read(SUMMARY);
    let missing = files("docs/src", ".md").into_iter().filter_map(|page| {
        let inside = page.strip_prefix("docs/src/").expect("it was found there");
        let listed = inside == "SUMMARY.md" || summary.contains(&format!("]({inside})"));
        (!listed).then(|| format!("{SUMMARY} does not list {inside}"))
    });
    assert_none(&missing.collect::<Vec<_>>());
}

#[test]
fn a_page_says_what_the_card_says() {
    let (pages, _) = made();
    let page = &pages["docs/src/parts/schedulers/mq-deadline.md"];
    for told in [
        "`fifo_batch`",
        "Also called `deadline`",
        "soft: they are checked",
    ] {
        assert!(page.contains(told), "{told} is not in\n{page}");
    }
    assert!(pages["docs/src/parts/formats/index.md"].contains("Read\\|Write"));
    assert_eq!(
        leading("//! A.\n//!\n//! [`b`].\nuse c;\n//! d", "//!"),
        "A.\n\n[`b`]."
    );
}

/// The page of drives is where a reader looks for one.
#[test]
fn the_page_of_drives_names_all_of_the_catalog() {
    let page = read("docs/src/drives.md");
    let missing = CATALOG.iter().map(|entry| entry.name);
    let missing =
        missing.filter(|name| !page.contains(&format!("\n| [{name}](parts/drives/{name}.md) | ")));
    let complaints: Vec<String> = missing
        .map(|name| format!("docs/src/drives.md: no row for {name}"))
        .collect();
    assert_none(&complaints);
}
