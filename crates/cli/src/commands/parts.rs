//! `nearslot list` and `nearslot show`: everything there is to say comes from the parts' own cards.

use std::fmt::Write;

use nearslot_core::drive::{self, CATALOG, KINDS};
use nearslot_core::registry::{ConfigError, Knob, KnobKind, Spec, canonical};
use nearslot_core::{place, sched};
use nearslot_lab::scenario::drive_text;
use nearslot_lab::workload;
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
    knobs: &'static [Knob],
    /// What else there is to show.
    text: Option<String>,
}

/// A kind of part.
struct Kind {
    name: &'static str,
    /// Other words for it on the command line.
    words: &'static [&'static str],
    cards: fn() -> Vec<Card>,
}

static PART_KINDS: &[Kind] = &[
    Kind {
        name: "schedulers",
        words: &["scheduler", "sched"],
        cards: || specs(sched::TABLE),
    },
    Kind {
        name: "drives",
        words: &["drive", "catalog"],
        cards: drives,
    },
    Kind {
        name: "drive-kinds",
        words: &["drive-kind", "kinds"],
        cards: drive_kinds,
    },
    Kind {
        name: "oracles",
        words: &["oracle"],
        cards: || specs(drive::oracle::TABLE),
    },
    Kind {
        name: "placements",
        words: &["placement", "place"],
        cards: || specs(place::TABLE),
    },
    Kind {
        name: "workloads",
        words: &["workload"],
        cards: || specs(workload::TABLE),
    },
    Kind {
        name: "formats",
        words: &["format", "trace-formats"],
        cards: formats,
    },
];

fn specs<T: ?Sized>(table: &'static [&'static Spec<T>]) -> Vec<Card> {
    let card = |spec: &&'static Spec<T>| Card {
        name: spec.name.to_owned(),
        aliases: spec
            .aliases
            .iter()
            .map(|alias| (*alias).to_owned())
            .collect(),
        summary: spec.summary.to_owned(),
        source: spec.source.to_owned(),
        knobs: spec.knobs,
        text: None,
    };
    table.iter().map(card).collect()
}

fn drives() -> Vec<Card> {
    let card = |entry: &drive::Entry| {
        drive_card(entry.name, entry.text).expect("tests read the whole catalog")
    };
    CATALOG.iter().map(card).collect()
}

/// What a drive's file says of itself.
fn drive_card(name: &str, text: &str) -> Result<Card, ConfigError> {
    drive::read(name, text, &[])?;
    let table: toml::Table = text.parse().expect("it was just read");
    let word = |key: &str| match table.get(key) {
        Some(toml::Value::String(word)) => word.clone(),
        _ => String::new(),
    };
    Ok(Card {
        name: name.to_owned(),
        aliases: Vec::new(),
        summary: word("description"),
        source: word("source"),
        knobs: drive::kind_of(name, &table)?.knobs,
        text: Some(text.to_owned()),
    })
}

fn drive_kinds() -> Vec<Card> {
    let card = |kind: &&'static drive::Kind| Card {
        name: kind.name.to_owned(),
        aliases: Vec::new(),
        summary: kind.summary.to_owned(),
        source: kind.source.to_owned(),
        knobs: kind.knobs,
        text: None,
    };
    KINDS.iter().map(card).collect()
}

fn formats() -> Vec<Card> {
    let card = |format: &&'static nearslot_trace::Format| Card {
        name: format.name.to_owned(),
        aliases: Vec::new(),
        summary: format.summary.to_owned(),
        source: format.source.to_owned(),
        knobs: &[],
        text: format.options.contains(&Choice::Columns).then(names_listed),
    };
    FORMATS.iter().map(card).collect()
}

/// `nearslot list [KIND]`.
pub(crate) fn list(args: &ListArgs) -> Result<(), Failure> {
    let kind = args.kind.as_deref();
    match args.format {
        TextFormat::Json => output::print_json(&list_json(kind).map_err(Failure::usage)?),
        TextFormat::Text => output::print(&list_text(&kinds(kind).map_err(Failure::usage)?)),
    }
}

/// The parts of a kind, or of all kinds: by the kind's name, a list of cards.
///
/// # Errors
/// There is no such kind.
pub fn list_json(kind: Option<&str>) -> Result<Value, ConfigError> {
    let kinds = kinds(kind)?;
    let lists = kinds.iter().map(|kind| {
        let cards = (kind.cards)().iter().map(card_json).collect();
        (kind.name.to_owned(), Value::Array(cards))
    });
    Ok(Value::Object(lists.collect()))
}

fn kinds(word: Option<&str>) -> Result<Vec<&'static Kind>, ConfigError> {
    match word {
        None => Ok(PART_KINDS.iter().collect()),
        Some(word) => Ok(vec![kind(word)?]),
    }
}

fn list_text(kinds: &[&Kind]) -> String {
    let mut text = String::new();
    for (index, kind) in kinds.iter().enumerate() {
        let cards = (kind.cards)();
        let width = cards.iter().map(|card| card.name.len()).max().unwrap_or(0);
        let gap = if index > 0 { "\n" } else { "" };
        text += &format!("{gap}{}:\n", kind.name);
        for card in &cards {
            text += &format!("  {:width$}  {}\n", card.name, card.summary);
        }
    }
    text += "\n`nearslot show NAME` says more about one.\n";
    text
}

fn kind(word: &str) -> Result<&'static Kind, ConfigError> {
    let word = canonical(word);
    let named = |kind: &&Kind| kind.name == word || kind.words.contains(&word.as_str());
    PART_KINDS.iter().find(named).ok_or_else(|| {
        let names: Vec<&str> = PART_KINDS.iter().map(|kind| kind.name).collect();
        ConfigError::unknown("kind", &word, &names)
    })
}

/// `nearslot show NAME`.
pub(crate) fn show(args: &ShowArgs) -> Result<(), Failure> {
    let (kind, card) = find(&args.name).map_err(Failure::usage)?;
    match args.format {
        TextFormat::Json => output::print_json(&shown_json(kind, &card)),
        TextFormat::Text => output::print(&card_text(kind, &card)),
    }
}

/// The card of one part, with its kind.
///
/// # Errors
/// There is no such part.
pub fn show_json(name: &str) -> Result<Value, ConfigError> {
    let (kind, card) = find(name)?;
    Ok(shown_json(kind, &card))
}

fn find(name: &str) -> Result<(&'static Kind, Card), ConfigError> {
    if name.ends_with(".toml") {
        return Ok((kind("drives")?, drive_card(name, &drive_text(name)?)?));
    }
    let wanted = canonical(name);
    let named = |card: &Card| {
        canonical(&card.name) == wanted || card.aliases.iter().any(|a| canonical(a) == wanted)
    };
    let mut known = Vec::new();
    for kind in PART_KINDS {
        for card in (kind.cards)() {
            if named(&card) {
                return Ok((kind, card));
            }
            known.push(card.name);
        }
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Err(ConfigError::unknown("name", name, &known))
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
    match (card.knobs, &card.text) {
        ([], Some(_)) => {}
        ([], None) => text += "  nothing to set\n",
        _ => text += &format!("\nKnobs, set as {}:KNOB=VALUE:\n", card.name),
    }
    for knob in card.knobs {
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
    json!({
        "name": card.name,
        "aliases": card.aliases,
        "summary": card.summary,
        "source": card.source,
        "knobs": card.knobs.iter().map(knob).collect::<Vec<_>>(),
        "text": card.text,
    })
}
