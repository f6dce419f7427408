//! `nearslot list` and `nearslot show`: everything there is to say comes from the parts' own cards.

use std::collections::BTreeSet;
use std::fmt::Write;

use nearslot_core::config::{KINDS, Kinds};
use nearslot_core::drive::{self, CATALOG};
use nearslot_core::measure::Measure;
use nearslot_core::registry::{AnyKind, ConfigError, Knob, KnobKind, Of, PartCard, canonical};
use nearslot_lab::scenario::drive_text;
use nearslot_lab::workload::Synthetic;
use nearslot_trace::{Choice, FORMATS, names_listed};
use serde_json::{Value, json};

use crate::args::{ListArgs, ShowArgs, TextFormat};
use crate::failure::Failure;
use crate::output;

/// One part, of whatever kind.
struct Card {
    name: String,
    aliases: Vec<String>,
    summary: String,
    source: String,
    /// What is found after a power cut; empty where that is not up to it.
    promises: &'static str,
    knobs: Vec<Knob>,
    measures: Vec<&'static Measure>,
    /// What else there is to show.
    text: Option<String>,
}

/// A kind of part.
struct Kind {
    name: &'static str,
    /// Other words for it on the command line.
    words: Vec<&'static str>,
    cards: Vec<Card>,
}

/// All that has a name: what a stack is made of, and what is below and above it.
fn all(kinds: Kinds) -> Vec<Kind> {
    let kind = |name, words: &[&'static str], cards| Kind {
        name,
        words: words.to_vec(),
        cards,
    };
    let stack = kinds.iter().map(|of| parts(of.kind));
    let others = [
        kind("drives", &["drive", "catalog"], drives()),
        kind("drive-kinds", &["drive-kind", "kinds"], drive_kinds()),
        parts(Of::<Synthetic>::KIND),
        kind("formats", &["format", "trace-formats"], formats()),
    ];
    stack.chain(others).collect()
}

/// A kind whose parts have cards.
fn parts(kind: &dyn AnyKind) -> Kind {
    let card = |part: PartCard| Card {
        name: part.name.to_owned(),
        aliases: part
            .aliases
            .iter()
            .map(|alias| (*alias).to_owned())
            .collect(),
        summary: part.summary.to_owned(),
        source: part.source.to_owned(),
        promises: part.promises,
        knobs: part.knobs.to_vec(),
        measures: measures(kind, &part),
        text: None,
    };
    let called = kind.card();
    Kind {
        name: called.plural,
        words: vec![called.word, called.key],
        cards: kind.parts().into_iter().map(card).collect(),
    }
}

/// What is counted of a part: what it counts itself, and what is counted beside, if it counts.
fn measures(kind: &dyn AnyKind, part: &PartCard) -> Vec<&'static Measure> {
    let beside = nearslot_lab::measure::beside(kind.card().key);
    let beside = beside.filter(|_| !part.measures.is_empty());
    part.measures.iter().chain(beside).collect()
}

fn drives() -> Vec<Card> {
    let card = |entry: &drive::Entry| {
        drive_card(entry.name, entry.text).expect("tests read the whole catalog")
    };
    CATALOG.iter().map(card).collect()
}

/// What a drive's file says of itself; the file can be read as a whole.
fn drive_card(name: &str, text: &str) -> Result<Card, ConfigError> {
    let table: toml::Table = text.parse().expect("it can be read");
    let word = |key: &str| match table.get(key) {
        Some(toml::Value::String(word)) => word.clone(),
        _ => String::new(),
    };
    Ok(Card {
        name: name.to_owned(),
        aliases: Vec::new(),
        summary: word("description"),
        source: word("source"),
        promises: "",
        knobs: drive::kind_of(name, &table)?.knobs_of(&table),
        measures: Vec::new(),
        text: Some(text.to_owned()),
    })
}

fn drive_kinds() -> Vec<Card> {
    let card = |kind: &&'static drive::Kind| Card {
        name: kind.name.to_owned(),
        aliases: Vec::new(),
        summary: kind.summary.to_owned(),
        source: kind.source.to_owned(),
        promises: "",
        knobs: kind.knobs.to_vec(),
        measures: kind.measures.iter().collect(),
        text: None,
    };
    drive::KINDS.iter().map(card).collect()
}

fn formats() -> Vec<Card> {
    let card = |format: &&'static nearslot_trace::Format| Card {
        name: format.name.to_owned(),
        aliases: Vec::new(),
        summary: format.summary.to_owned(),
        source: format.source.to_owned(),
        promises: "",
        knobs: Vec::new(),
        measures: Vec::new(),
        text: format.options.contains(&Choice::Columns).then(names_listed),
    };
    FORMATS.iter().map(card).collect()
}

/// `nearslot list [KIND]`.
pub(crate) fn list(args: &ListArgs) -> Result<(), Failure> {
    let kind = args.kind.as_deref();
    match args.format {
        TextFormat::Json => output::print_json(&list_json(kind).map_err(Failure::usage)?),
        TextFormat::Text => output::print(&list_text(KINDS, kind).map_err(Failure::usage)?),
    }
}

/// The parts of a kind, or of all kinds: by the kind's name, a list of cards.
///
/// # Errors
/// There is no such kind.
pub fn list_json(kind: Option<&str>) -> Result<Value, ConfigError> {
    list_json_of(KINDS, kind)
}

/// The same where a stack is made of these kinds of parts.
///
/// # Errors
/// There is no such kind.
pub fn list_json_of(kinds: Kinds, kind: Option<&str>) -> Result<Value, ConfigError> {
    let lists = listed(kinds, kind)?.into_iter().map(|kind| {
        let cards = kind.cards.iter().map(card_json).collect();
        (kind.name.to_owned(), Value::Array(cards))
    });
    Ok(Value::Object(lists.collect()))
}

/// The kind that a word names, or all.
fn listed(kinds: Kinds, word: Option<&str>) -> Result<Vec<Kind>, ConfigError> {
    let mut all = all(kinds);
    let Some(word) = word.map(canonical) else {
        return Ok(all);
    };
    let named = |kind: &Kind| kind.name == word || kind.words.contains(&word.as_str());
    match all.iter().position(named) {
        Some(found) => Ok(vec![all.swap_remove(found)]),
        None => {
            let names: Vec<&str> = all.iter().map(|kind| kind.name).collect();
            Err(ConfigError::unknown("kind", &word, &names))
        }
    }
}

/// What `list` prints.
///
/// # Errors
/// There is no such kind.
pub fn list_text(kinds: Kinds, kind: Option<&str>) -> Result<String, ConfigError> {
    let mut text = String::new();
    for (index, kind) in listed(kinds, kind)?.iter().enumerate() {
        let cards = &kind.cards;
        let width = cards.iter().map(|card| card.name.len()).max().unwrap_or(0);
        let gap = if index > 0 { "\n" } else { "" };
        text += &format!("{gap}{}:\n", kind.name);
        for card in cards {
            text += &format!("  {:width$}  {}\n", card.name, card.summary);
        }
    }
    text += "\n`nearslot show NAME` says more about one.\n";
    Ok(text)
}

/// `nearslot show NAME`.
pub(crate) fn show(args: &ShowArgs) -> Result<(), Failure> {
    match args.format {
        TextFormat::Json => {
            output::print_json(&show_json(&args.name).map_err(|error| Failure::drive(&error))?)
        }
        TextFormat::Text => {
            output::print(&show_text(KINDS, &args.name).map_err(|error| Failure::drive(&error))?)
        }
    }
}

/// The card of one part, with its kind.
///
/// # Errors
/// There is no such part.
pub fn show_json(name: &str) -> Result<Value, ConfigError> {
    show_json_of(KINDS, name)
}

/// The same where a stack is made of these kinds of parts.
///
/// # Errors
/// There is no such part.
pub fn show_json_of(kinds: Kinds, name: &str) -> Result<Value, ConfigError> {
    let mut found = find(kinds, name)?;
    let (kind, card) = found.swap_remove(0);
    if !found.is_empty() {
        let others = found.iter().map(|(kind, _)| kind);
        let qualified = [&kind].into_iter().chain(others);
        let qualified = qualified.map(|kind| format!("`{} {name}`", kind.words[0]));
        let qualified = qualified.collect::<Vec<_>>().join(" or ");
        let allowed = format!("with its kind, as several have one of this name: {qualified}");
        return Err(ConfigError::value("name", name, &allowed));
    }
    Ok(shown_json(&kind, &card))
}

/// What `show` prints.
///
/// # Errors
/// There is no such part.
pub fn show_text(kinds: Kinds, name: &str) -> Result<String, ConfigError> {
    let found = find(kinds, name)?;
    let texts = found.iter().map(|(kind, card)| card_text(kind, card));
    Ok(texts.collect::<Vec<_>>().join("\n"))
}

/// The parts of this name, each with its kind; the name may have a kind before it: `drive-kind
/// null`. Aliases are asked where nothing has the name itself.
fn find(kinds: Kinds, name: &str) -> Result<Vec<(Kind, Card)>, ConfigError> {
    if name.ends_with(".toml") {
        let text = drive_text(name)?;
        drive::read(name, &text, &[])?;
        let drive = drive_card(name, &text)?;
        let drives = listed(kinds, Some("drives"))?.pop().expect("it is there");
        return Ok(vec![(drives, drive)]);
    }
    let (among, bare) = match name.split_once(' ') {
        Some((kind, bare)) => (listed(kinds, Some(kind))?, bare.trim()),
        None => (all(kinds), name),
    };
    let wanted = canonical(bare);
    let called = |card: &Card| canonical(&card.name) == wanted;
    let also = |card: &Card| card.aliases.iter().any(|alias| canonical(alias) == wanted);
    let exact = among.iter().any(|kind| kind.cards.iter().any(called));
    let (mut found, mut known) = (Vec::new(), Vec::new());
    for mut kind in among {
        let fits = |card: &Card| if exact { called(card) } else { also(card) };
        match kind.cards.iter().position(fits) {
            Some(at) => {
                let card = kind.cards.swap_remove(at);
                found.push((kind, card));
            }
            None => known.extend(kind.cards.into_iter().map(|card| card.name)),
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    // Several kinds have a part of the same name.
    let mut told = BTreeSet::new();
    let names = known.iter().map(String::as_str);
    let names: Vec<&str> = names.filter(|name| told.insert(*name)).collect();
    Err(ConfigError::unknown("name", bare, &names))
}

fn shown_json(kind: &Kind, card: &Card) -> Value {
    let mut value = card_json(card);
    value["kind"] = json!(kind.name);
    value
}

fn card_text(kind: &Kind, card: &Card) -> String {
    let mut text = format!("{} ({})\n  {}\n", card.name, kind.words[0], card.summary);
    if !card.aliases.is_empty() {
        text += &format!("  also called: {}\n", card.aliases.join(", "));
    }
    if !card.source.is_empty() {
        text += &format!("  source: {}\n", card.source);
    }
    if !card.promises.is_empty() {
        text += &format!("  found after a power cut: {}\n", card.promises);
    }
    match (&card.knobs[..], &card.text) {
        ([], Some(_)) => {}
        ([], None) => text += "  nothing to set\n",
        _ => text += &format!("\nKnobs, set as {}:KNOB=VALUE:\n", card.name),
    }
    for knob in &card.knobs {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {} = {}\n      {} ({})",
            knob.name,
            knob.default_value(),
            knob.help,
            knob.allowed()
        );
    }
    if !card.measures.is_empty() {
        text += "\nCounts, in the results:\n";
    }
    for measure in &card.measures {
        text += &format!("  {}\n      {}\n", measure.name, measure.told());
    }
    if let Some(more) = &card.text {
        text += &format!("\n{more}");
    }
    text
}

fn card_json(card: &Card) -> Value {
    let knob = |knob: &Knob| {
        let mut value = json!({
            "name": knob.name,
            "default": knob.default_value(),
            "allowed": knob.allowed(),
            "help": knob.help,
        });
        match knob.kind {
            KnobKind::Integer { min, max, .. } => value["range"] = json!([min, max]),
            KnobKind::Number { min, max, .. } => value["range"] = json!([min, max]),
            KnobKind::Choice { options, .. } => value["options"] = json!(options),
            KnobKind::Flag { .. } => value["options"] = json!([true, false]),
            KnobKind::Text { .. } => {}
        }
        value
    };
    let measure = |measure: &&Measure| json!({ "name": measure.name, "unit": measure.unit, "help": measure.told() });
    json!({
        "name": card.name,
        "aliases": card.aliases,
        "summary": card.summary,
        "source": card.source,
        "promises": card.promises,
        "knobs": card.knobs.iter().map(knob).collect::<Vec<_>>(),
        "measures": card.measures.iter().map(measure).collect::<Vec<_>>(),
        "text": card.text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part_args::kinds_listed;

    #[test]
    fn help_names_all_kinds() {
        let names: Vec<&str> = all(KINDS).iter().map(|kind| kind.name).collect();
        assert_eq!(kinds_listed(), names.join(", "));
    }

    #[test]
    fn a_part_shows_what_is_counted_of_it_wherever_that_is_counted() {
        let names = |part: &str| {
            let card = show_json(part).expect("it is a part");
            let measures = card["measures"].as_array().expect("a list").iter();
            let names = measures.map(|one| one["name"].as_str().expect("a name").to_owned());
            names.collect::<Vec<_>>()
        };
        let injected = names("injected");
        for name in ["failed_medium", "wrong_blocks_served"] {
            assert_eq!(
                injected.iter().filter(|other| *other == name).count(),
                1,
                "{injected:?}"
            );
        }
        assert!(names("faults none").is_empty(), "it counts nothing");
    }

    #[test]
    fn a_name_of_several_kinds_shows_all_and_goes_before_aliases() {
        let text = show_text(KINDS, "none").expect("there are such parts");
        assert!(text.starts_with("none (merging)\n"), "{text}");
        assert!(text.contains("\nnone (fault"), "{text}");
        assert!(!text.contains("fcfs"), "{text}");
        let text = show_text(KINDS, "null").expect("there are such parts");
        assert!(text.contains("null (drive)\n"), "{text}");
        assert!(text.contains("\nnull (drive-kind)\n"), "{text}");
        let one = show_json("drive-kind null").expect("it is a part");
        assert_eq!(one["kind"], "drive-kinds");
        let several = show_json("null").expect_err("it is two parts").to_string();
        assert!(
            several.contains("`drive null` or `drive-kind null`"),
            "{several}"
        );
        assert!(
            show_text(KINDS, "scheduler none")
                .expect("an alias")
                .starts_with("fcfs")
        );
    }
}
