//! Who may know whom within the core, within the lab and below it, by `use` items and paths. Tests
//! within files may use what they like.

use super::source::{Named, Source};

/// They know no request, no I/O and no contract.
const GROUND: &[&str] = &[
    "units",
    "ids",
    "rng",
    "agenda",
    "bits",
    "directory",
    "sorted",
    "list",
    "freemap",
    "maplog",
    "offer",
    "measure",
];
/// What flows.
const FLOW: &[&str] = &[
    "op", "position", "request", "stream", "io", "plan", "fault", "entering", "zones",
];
/// Contracts, and how parts present themselves.
const CONTRACTS: &[&str] = &["contract", "search", "registry", "metrics", "pages", "size"];
/// Kinds of parts: a folder each, mutually unknown.
const PARTS: &[&str] = &[
    "sched", "claims", "place", "merge", "cache", "prefetch", "destage", "drive", "faults",
];

/// The modules that a module may name, besides itself; `None` is all.
fn allowed(module: &str) -> Option<Option<Vec<&'static str>>> {
    let up_to = |floors: &[&[&'static str]]| Some(Some(floors.concat()));
    match module {
        "config" | "lib" => Some(None),
        _ if GROUND.contains(&module) => up_to(&[GROUND]),
        _ if FLOW.contains(&module) => up_to(&[GROUND, FLOW]),
        _ if CONTRACTS.contains(&module) => up_to(&[GROUND, FLOW, CONTRACTS]),
        _ if PARTS.contains(&module) => up_to(&[GROUND, FLOW, CONTRACTS]),
        "memory" => up_to(&[GROUND, FLOW, CONTRACTS]),
        "stack" => up_to(&[GROUND, FLOW, CONTRACTS, &["memory"]]),
        _ => None,
    }
}

/// Floors of the lab, the lowest first. A module may know what is below it and beside it; that
/// nobody knows each other in a circle, `circles` sees to.
const LAB: &[&[&str]] = &[
    // Words, numbers, what is known of drives and traces, and what a result is.
    &[
        "alone",
        "bench",
        "catalog",
        "hash",
        "memo",
        "number",
        "objective",
        "outcome",
        "program",
        "survey",
        "warning",
        "words",
    ],
    // What asks, and the loop in which it is answered.
    &[
        "filesystem",
        "grid",
        "host",
        "inspect",
        "load",
        "scenario",
        "sim",
        "skiplog",
        "workload",
    ],
    // What is measured of that, and how it is told.
    &["doubt", "error", "gate", "given", "measure", "report"],
    // Runs.
    &[
        "ability",
        "default_drive",
        "overload",
        "prepare",
        "recorders",
        "run",
        "verdict",
    ],
    // Commands that run scenarios and sum them up.
    &["calibrate", "capacity", "hitrate", "validate"],
];

/// Complains of modules of the lab that name one above them, or have no floor.
pub(crate) fn lab_rule(source: &Source) -> Vec<String> {
    let Some((module, top)) = place(source, "crates/lab/src/") else {
        return Vec::new();
    };
    if module.is_empty() {
        return Vec::new();
    }
    let floor = |name: &str| LAB.iter().position(|floor| floor.contains(&name));
    let Some(own) = floor(&top) else {
        return vec![format!("{}: module `{top}` has no floor", source.path)];
    };
    let named = names(source, &module).named;
    let above = named
        .iter()
        .filter(|name| floor(name).is_some_and(|floor| floor > own));
    above
        .map(|name| format!("{}: `{top}` may not know `{name}`", source.path))
        .collect()
}

/// Modules of the core that readers of traces may name: random numbers, and how a wrong value is
/// named.
const KNOWN_TO_TRACES: &[&str] = &["rng", "registry"];

/// Complains of readers of traces that name the lab, or more of the core than they need.
pub(crate) fn trace_rule(source: &Source) -> Vec<String> {
    let Some((module, _)) = place(source, "crates/trace/src/") else {
        return Vec::new();
    };
    let names = names(source, &module);
    let strange = |path: &&Vec<String>| match path[0].as_str() {
        "nearslot_core" => path
            .get(1)
            .is_none_or(|module| !KNOWN_TO_TRACES.contains(&module.as_str())),
        name => name.starts_with("nearslot_"),
    };
    let strangers = names.outside.iter().filter(strange);
    strangers
        .map(|path| {
            format!(
                "{}: `trace` may not know `{}`",
                source.path,
                path.join("::")
            )
        })
        .collect()
}

/// The module that a file of a crate is, and the topmost of those around it.
fn place(source: &Source, root: &str) -> Option<(Vec<String>, String)> {
    let inside = source.path.strip_prefix(root)?;
    let names = inside.trim_end_matches(".rs").split('/');
    let mut module: Vec<String> = names
        .filter(|name| *name != "mod")
        .map(str::to_owned)
        .collect();
    let top = module[0].clone();
    if top == "lib" {
        module.clear();
    }
    Some((module, top))
}

/// What a file names.
struct Names {
    /// Top-level modules of the file's own crate.
    named: Vec<String>,
    /// Paths that do not begin in the file's own crate: they lead to other crates, or to things in
    /// scope.
    outside: Vec<Vec<String>>,
}

fn names(source: &Source, module: &[String]) -> Names {
    let mut names = Names {
        named: Vec::new(),
        outside: Vec::new(),
    };
    for named in &source.syntax.named {
        match resolve(module, named) {
            Some(path) => names.named.extend(path.into_iter().next()),
            None => names.outside.push(named.path.clone()),
        }
    }
    names
}

/// A path that begins with `crate`, `super` or `self`, from the root of the crate on; `module` is
/// that of the file. `None` for any other path.
pub(crate) fn resolve(module: &[String], named: &Named) -> Option<Vec<String>> {
    let mut from = match named.path.first().map(String::as_str) {
        Some("crate") => Vec::new(),
        Some("super" | "self") => [module, &named.within].concat(),
        _ => return None,
    };
    for segment in &named.path {
        match segment.as_str() {
            "crate" => from.clear(),
            "super" => drop(from.pop()),
            "self" => {}
            name => from.push(name.to_owned()),
        }
    }
    Some(from)
}

/// Crates that are pure and portable.
const PURE: &[&str] = &[
    "crc32c",
    "hashbrown",
    "libm",
    "prefetch-index",
    "rand_core",
    "rand_xoshiro",
    "serde",
    "slab",
    "strsim",
    "thiserror",
    "toml",
];

/// Complains of modules of the core that name a module above them or beside them.
pub(crate) fn rule(source: &Source) -> Vec<String> {
    let Some((module, top)) = place(source, "crates/core/src/") else {
        return Vec::new();
    };
    let Some(allowed) = allowed(&top) else {
        return vec![format!("{}: module `{top}` has no floor", source.path)];
    };
    let named = names(source, &module).named;
    let fits = |name: &String| match &allowed {
        None => true,
        Some(list) => *name == top || list.contains(&name.as_str()),
    };
    let strangers = named.iter().filter(|name| !fits(name));
    strangers
        .map(|name| format!("{}: `{top}` may not know `{name}`", source.path))
        .collect()
}

/// Complains of dependencies of the core that are not known to be pure.
pub(crate) fn manifest_rule(manifest: &str) -> Vec<String> {
    let table: toml::Table = manifest.parse().expect("the manifest is TOML");
    let dependencies = table["dependencies"].as_table().expect("a table");
    let strangers = dependencies
        .keys()
        .filter(|key| !PURE.contains(&key.as_str()));
    strangers
        .map(|key| format!("crates/core/Cargo.toml: `{key}` is not known to be pure"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> usize {
        let source = Source::new(&format!("crates/core/src/{path}"), text);
        rule(&source).len()
    }

    #[test]
    fn a_part_may_not_know_another_kind_or_the_stack() {
        assert_eq!(complaints("sched/x.rs", "use crate::drive::null;"), 1);
        assert_eq!(
            complaints("sched/x.rs", "use crate::{place, units, stack::Stack};"),
            2
        );
        assert_eq!(
            complaints("sched/x.rs", "fn f() { crate::config::part() }"),
            1
        );
        assert_eq!(
            complaints("sched/x.rs", "use super::super::place::linear;"),
            1
        );
        assert_eq!(
            complaints("drive/hdd/mod.rs", "use super::super::sched;"),
            1
        );
    }

    #[test]
    fn what_is_below_and_beside_in_the_folder_is_known() {
        let text =
            "use crate::contract::View; use super::line; use crate::sched::line; use slab::Slab;";
        assert_eq!(complaints("sched/x.rs", text), 0);
        assert_eq!(
            complaints("drive/hdd/mech.rs", "use super::super::file;"),
            0
        );
        assert_eq!(
            complaints("config.rs", "use crate::{sched, drive, stack};"),
            0
        );
        assert_eq!(complaints("sorted.rs", "use crate::io::Io;"), 1);
        assert_eq!(complaints("stack/queue.rs", "use crate::sched::TABLE;"), 1);
    }

    #[test]
    fn tests_within_a_file_may_use_what_they_like() {
        let tests = "#[cfg(test)] mod tests { use crate::config::part; }";
        assert_eq!(complaints("sched/x.rs", tests), 0);
        let file = "#![cfg(test)] use crate::config::part;";
        assert_eq!(complaints("sched/x.rs", file), 0);
        let code = "mod inner { use super::super::super::config::part; }";
        assert_eq!(complaints("sched/x.rs", code), 1);
    }

    #[test]
    fn modules_of_the_lab_know_nothing_above_them() {
        let complaints = |inside: &str, text: &str| {
            let source = Source::new(&format!("crates/lab/src/{inside}"), text);
            lab_rule(&source).len()
        };
        assert_eq!(complaints("run.rs", "use crate::capacity::Gate;"), 1);
        assert_eq!(
            complaints("workload/open.rs", "use crate::run::LONGEST;"),
            1
        );
        assert_eq!(complaints("outcome.rs", "use crate::measure::Window;"), 1);
        assert_eq!(
            complaints("measure/series.rs", "use crate::sim::Observer;"),
            0
        );
        assert_eq!(complaints("helper.rs", ""), 1, "it has no floor");
        assert_eq!(
            complaints("report/x.rs", "use super::super::validate::X;"),
            1
        );
        assert_eq!(complaints("capacity/x.rs", "use crate::run::compare;"), 0);
        assert_eq!(complaints("capacity/x.rs", "use super::axis::Axis;"), 0);
        assert_eq!(complaints("lib.rs", "pub mod capacity;"), 0);
    }

    #[test]
    fn readers_of_traces_know_random_numbers_and_errors_of_the_core_and_nothing_else_of_ours() {
        let complaints = |text: &str| {
            let source = Source::new("crates/trace/src/csv/x.rs", text);
            trace_rule(&source).len()
        };
        let allowed = "use nearslot_core::registry::{ConfigError, nearest}; use nearslot_core::rng::Rng; use slab::Slab;";
        assert_eq!(complaints(allowed), 0);
        assert_eq!(complaints("use nearslot_core::{io::Io, rng::Rng};"), 1);
        assert_eq!(complaints("use nearslot_core as core;"), 1);
        assert_eq!(
            complaints("fn f() { nearslot_core::stack::Stack::new() }"),
            1
        );
        assert_eq!(complaints("use nearslot_lab::run::compare;"), 1);
    }

    #[test]
    fn a_module_without_a_floor_is_named() {
        assert_eq!(complaints("helper.rs", ""), 1);
    }

    #[test]
    fn a_dependency_that_is_not_pure_is_named() {
        let manifest = "[dependencies]\nslab = '1'\ntokio = '1'";
        assert_eq!(manifest_rule(manifest).len(), 1);
    }
}
