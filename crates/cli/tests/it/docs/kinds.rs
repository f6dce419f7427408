//! A kind of part that nearslot has not, added to the table: it is found wherever kinds are found.
//!
//! That is `list`, `show`, scenario files, keys, grids, results, the Python package and the page,
//! whose modules of kinds are made here. Columns and options of the command have tests beside their
//! code. Nothing but the table knows the kind.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;

use nearslot_cli::{list_json, list_json_of, list_text, show_json_of, show_text};
use nearslot_core::config::{KINDS, Kinds, StackKind};
use nearslot_core::measure::Measure;
use nearslot_core::registry::{ConfigError, Kind, KindCard, Knob, Of, Spec};
use nearslot_lab::grid::{self, Vary};
use nearslot_lab::outcome::Role;
use nearslot_lab::run::{self, Wanted};
use nearslot_lab::scenario::Scenario;
use nearslot_lab::sim::Control;
use serde_json::json;

use crate::docs::pages::sentence;

/// What stays in memory.
trait Tier {}

struct Nothing;

impl Tier for Nothing {}

impl Kind for dyn Tier {
    const CARD: KindCard = KindCard {
        key: "tier",
        word: "tier",
        plural: "tiers",
        summary: "what stays in memory",
        asked: false,
        within: None,
        needs: None,
    };

    type Env<'a> = ();

    type Error = ConfigError;

    fn table() -> &'static [&'static Spec<dyn Tier>] {
        TIERS
    }
}

static TIERS: &[&Spec<dyn Tier>] = &[&NONE, &BOX];

static NONE: Spec<dyn Tier> = Spec {
    name: "none",
    aliases: &[],
    summary: "nothing does",
    source: "",
    knobs: &[],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |_, ()| Ok(Box::new(Nothing)),
};

const HITS: &[Measure] = &[Measure::count("hits", "requests", "what was found there")];

static BOX: Spec<dyn Tier> = Spec {
    name: "box",
    aliases: &["least_recently_used"],
    summary: "what was asked for last",
    source: "",
    knobs: &[Knob::integer("mib", 64, 1..=1_024, "how much")],
    measures: HITS,
    asks: &[],
    prepared: true,
    promises: "",
    build: |_, ()| Ok(Box::new(Nothing)),
};

/// The table with one line more.
static WITH_TIERS: LazyLock<Vec<StackKind>> = LazyLock::new(|| {
    let tier = StackKind {
        kind: Of::<dyn Tier>::KIND,
        default: "none",
    };
    KINDS.iter().copied().chain([tier]).collect()
});

fn with_tiers() -> Kinds {
    &WITH_TIERS
}

fn scenario(text: &str) -> Scenario {
    let read = Scenario::from_toml_of(with_tiers(), text, Path::new(""));
    read.unwrap_or_else(|error| panic!("{error}"))
}

const LOAD: &str = "drive = 'null'\nworkload = 'iometer:requests=200'\n";

#[test]
fn a_new_kind_is_listed_and_shown() {
    let lists = list_json_of(with_tiers(), None).expect("all kinds exist");
    assert_eq!(lists["tiers"][1]["name"], "box");
    assert_eq!(lists["tiers"][1]["knobs"][0]["name"], "mib");
    assert_eq!(lists["tiers"][1]["measures"][0]["name"], "hits");
    let before = list_json(None).expect("all kinds exist");
    let names = |lists: &serde_json::Value| lists.as_object().map(serde_json::Map::len);
    assert_eq!(names(&lists), names(&before).map(|count| count + 1));
    for word in ["tiers", "tier"] {
        let text = list_text(with_tiers(), Some(word)).expect("it is a kind");
        assert!(
            text.starts_with("tiers:\n  none  nothing does\n  box "),
            "{text}"
        );
    }
    let shown = show_json_of(with_tiers(), "least-recently-used").expect("it is a part");
    assert_eq!(
        (&shown["kind"], &shown["name"]),
        (&json!("tiers"), &json!("box"))
    );
    let text = show_text(with_tiers(), "box").expect("it is a part");
    assert!(text.contains("box (tier)"), "{text}");
    assert!(text.contains("mib = 64"), "{text}");
    assert!(text.contains("hits\n      what was found there"), "{text}");
}

#[test]
fn a_new_kind_is_read_and_set() {
    let part = |scenario: &Scenario| scenario.parts.get("tier").map(ToString::to_string);
    let told = |text: &str| part(&scenario(&format!("{text}{LOAD}")));
    assert_eq!(told("").as_deref(), Some("none"));
    assert_eq!(told("tier = 'box:mib=8'\n").as_deref(), Some("box:mib=8"));
    let table = format!("{LOAD}[tier]\nname = 'box'\nmib = 8\n");
    let mut scenario = scenario(&table);
    assert_eq!(part(&scenario).as_deref(), Some("box:mib=8"));
    scenario.set("tier.mib", "9").expect("it is a knob");
    assert_eq!(part(&scenario).as_deref(), Some("box:mib=9"));
    assert_eq!(json!(scenario)["tier"], json!({"name": "box", "mib": 9}));
    let misspelled = format!("tierr = 'box'\n{LOAD}");
    let read = |kinds| Scenario::from_toml_of(kinds, &misspelled, Path::new(""));
    let error = read(with_tiers()).expect_err("there is no such key");
    assert_eq!(error.nearest.as_deref(), Some("tier"));
    // Without its line there is no such kind.
    let error = read(KINDS).expect_err("there is no such key").to_string();
    assert!(!error.contains("`tier`"), "{error}");
}

#[test]
fn a_new_kind_is_varied_and_stands_in_results() {
    let scenario = scenario(LOAD);
    let compare = |vary: &str| {
        let vary: Vary = vary.parse().expect("it is one");
        let points = grid::points(&scenario, &[vary]).map_err(|error| error.to_string())?;
        let wanted = Wanted::default();
        let results = run::compare(&points, None, &wanted, &Control::default());
        results.map_err(|error| error.to_string())
    };
    let results = compare("tier=none,box:mib=8").expect("both are parts");
    assert_eq!(
        results.runs[1].config["tier"],
        json!({"name": "box", "mib": 8})
    );
    assert_eq!(results.runs[0].choice, "tier=none");
    assert_eq!(results.varied[0].role, Role::Choice);
    let error = compare("tier=none,bxo").expect_err("there is no such part");
    assert!(
        error.contains("unknown tier `bxo`; did you mean `box`?"),
        "{error}"
    );
    let error = compare("tier=box:mib=0").expect_err("it is out of range");
    assert!(
        error.contains("box.mib = 0 (allowed: a whole number from 1 to 1024)"),
        "{error}"
    );
}

/// The modules of kinds of the Python package, of its tests, and of the page, by their paths.
pub(crate) fn modules() -> BTreeMap<String, String> {
    let python = |path: &str, kinds| (path.to_owned(), python_module(kinds));
    BTreeMap::from([
        python("python/nearslot/_kinds.py", KINDS),
        python("python/tests/data/kinds_with_tiers.py", with_tiers()),
        ("web/src/kinds.ts".to_owned(), page_module(KINDS)),
    ])
}

/// Every kind with the word that people read and its default.
fn page_module(kinds: Kinds) -> String {
    let lines = kinds.iter().map(|kind| {
        let (key, word, usual) = (kind.key(), sentence(kind.card().word), kind.default);
        format!("  [\"{key}\", \"{word}\", \"{usual}\"],\n")
    });
    format!("{PAGE_HEAD}{}];\n", lines.collect::<String>())
}

#[test]
fn a_new_kind_is_among_the_facts_of_the_page() {
    let module = page_module(with_tiers());
    assert!(
        module.contains("\n  [\"tier\", \"Tier\", \"none\"],\n];\n"),
        "{module}"
    );
}

/// Every kind as a field and as a keyword.
fn python_module(kinds: Kinds) -> String {
    let lines = |line: fn(&StackKind) -> String| kinds.iter().map(line).collect::<String>();
    let all = python_tuple("KINDS", kinds.iter());
    let prepared = python_tuple(
        "PREPARED",
        kinds
            .iter()
            .filter(|kind| kind.kind.parts().iter().any(|part| part.prepared)),
    );
    let told = lines(|kind| {
        format!(
            "        {}: {}.\n",
            kind.key(),
            sentence(kind.card().summary)
        )
    });
    let fields = lines(|kind| format!("    {}: str = \"{}\"\n", kind.key(), kind.default));
    let words = lines(|kind| format!("    {}: Words\n", kind.key()));
    let mut text = PYTHON_HEAD.to_owned();
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "{all}\n\"\"\"Keys of the kinds.\"\"\"\n\n\
         {prepared}\n\"\"\"Kinds of which equal parts of several runs share what is costly to prepare.\"\"\"\n\n\n\
         @dataclass(frozen=True, kw_only=True)\nclass Parts:\n    \"\"\"A part of every kind.\n\n    Attributes:\n{told}    \
         \"\"\"\n\n{fields}\n    @property\n    def parts(self) -> dict[str, str]:\n        \
         \"\"\"The part of every kind, by the kind's key.\"\"\"\n        \
         return {{key: getattr(self, key) for key in KINDS}}\n\n\n\
         class PartSettings(TypedDict, total=False):\n    \"\"\"Parts as keywords.\"\"\"\n\n{words}"
    );
    text
}

/// The keys of some kinds as a tuple of Python, which writes a single one with a comma after it,
/// and each on a line of its own where they fill more than one.
fn python_tuple<'a>(name: &str, kinds: impl Iterator<Item = &'a StackKind>) -> String {
    let keys: Vec<String> = kinds.map(|kind| format!("\"{}\"", kind.key())).collect();
    let comma = if keys.len() == 1 { "," } else { "" };
    let line = format!("{name} = ({}{comma})", keys.join(", "));
    match line.len() > PYTHON_WIDTH {
        true => format!("{name} = (\n    {},\n)", keys.join(",\n    ")),
        false => line,
    }
}

/// Letters of a line of Python at most.
const PYTHON_WIDTH: usize = 100;

/// How the page's module of kinds begins.
const PAGE_HEAD: &str =
    "// The kinds of parts that a stack is made of, as the engine's table has them.
//
// Made by crates/cli/tests/it/docs. Write it anew with
// NEARSLOT_BLESS=1 cargo test --workspace --test it docs::

/** Key, word, and the part that is taken when none is named. */
export const KINDS: readonly (readonly [key: string, word: string, usual: string])[] = [
";

/// How a Python module of kinds begins.
const PYTHON_HEAD: &str =
    "\"\"\"The kinds of parts that a stack is made of, as the engine's table has them.

Made by crates/cli/tests/it/docs. Write it anew with
NEARSLOT_BLESS=1 cargo test --workspace --test it docs::
\"\"\"

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

Words: TypeAlias = str | Iterable[object]
\"\"\"One word, or several that make a grid.\"\"\"

";
