//! No circles: of the modules of a folder, none may know another one that knows it, be it by way of
//! others.
//!
//! A folder knows its own modules, and they may know it: what several of them share stands in its
//! `mod.rs`.

use std::collections::{BTreeMap, BTreeSet};

use super::floors::resolve;
use super::source::Source;

/// Whom each module knows.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// A file as a module of its crate: the crate's folder, and its place in it.
fn module(path: &str) -> Option<(&str, Vec<String>)> {
    let (root, inside) = path.split_once("/src/")?;
    let names = inside.strip_suffix(".rs")?.split('/');
    let root_file = |name: &&str| !["mod", "lib", "main"].contains(name);
    Some((root, names.filter(root_file).map(str::to_owned).collect()))
}

/// Complains of circles, each once, with the way round.
pub(crate) fn rule(sources: &[Source]) -> Vec<String> {
    let mut graphs: BTreeMap<String, Graph> = BTreeMap::new();
    let mut known: BTreeMap<String, BTreeSet<Vec<String>>> = BTreeMap::new();
    let modules: Vec<(&str, Vec<String>, &Source)> = sources
        .iter()
        .filter_map(|source| module(&source.path).map(|(root, own)| (root, own, source)))
        .filter(|(root, own, _)| !is_for_tests(sources, root, own))
        .collect();
    for (root, own, _) in &modules {
        let of_crate = known.entry((*root).to_owned()).or_default();
        of_crate.extend((1..=own.len()).map(|length| own[..length].to_vec()));
    }
    for (root, own, source) in &modules {
        for named in &source.syntax.named {
            let Some(target) = resolve(own, named) else {
                continue;
            };
            let shared = own.iter().zip(&target).take_while(|(a, b)| a == b).count();
            let (Some(from), Some(_)) = (own.get(shared), target.get(shared)) else {
                continue;
            };
            let to = &target[..=shared];
            if known[*root].contains(to) {
                let folder = [&[format!("{root}/src")], &own[..shared]]
                    .concat()
                    .join("/");
                let graph = graphs.entry(folder).or_default();
                graph
                    .entry(from.clone())
                    .or_default()
                    .insert(to[shared].clone());
            }
        }
    }
    let circles = graphs.iter().flat_map(|(folder, graph)| {
        let found = circles(graph).into_iter();
        found.map(move |way| format!("{folder}: a circle: {}", way.join(" -> ")))
    });
    circles.collect()
}

/// Whether a file is a module for tests alone.
pub(crate) fn is_test_file(sources: &[Source], source: &Source) -> bool {
    module(&source.path).is_some_and(|(root, own)| is_for_tests(sources, root, &own))
}

/// Whether a module is declared for tests alone, or lies in one that is.
fn is_for_tests(sources: &[Source], root: &str, own: &[String]) -> bool {
    (0..own.len()).any(|length| {
        let parents = sources.iter().filter(|source| {
            module(&source.path)
                .is_some_and(|(other, place)| other == root && place == own[..length])
        });
        parents
            .into_iter()
            .any(|parent| parent.syntax.for_tests.contains(&own[length]))
    })
}

/// For each knot of modules that know each other, a shortest way round through its first one.
fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for start in graph.keys() {
        if seen.contains(start) {
            continue;
        }
        if let Some(way) = way_round(graph, start) {
            seen.extend(way.iter().cloned());
            found.push(way);
        }
    }
    found
}

/// A shortest way from a module back to itself.
fn way_round(graph: &Graph, start: &str) -> Option<Vec<String>> {
    let mut ways = vec![vec![start.to_owned()]];
    let mut seen = BTreeSet::new();
    let mut next = 0;
    while next < ways.len() {
        let way = ways[next].clone();
        next += 1;
        let last = way.last().expect("a way begins somewhere");
        for to in graph.get(last).into_iter().flatten() {
            let further = [&way[..], std::slice::from_ref(to)].concat();
            if to == start {
                return Some(further);
            }
            if seen.insert(to.clone()) {
                ways.push(further);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let source =
            |(path, text): &(&str, &str)| Source::new(&format!("crates/x/src/{path}"), text);
        let sources: Vec<Source> = files.iter().map(source).collect();
        rule(&sources)
    }

    #[test]
    fn two_modules_that_know_each_other_are_a_circle() {
        let told = complaints(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "fn f() { super::a::f() }"),
            ("c.rs", "use crate::{a, b};"),
        ]);
        assert_eq!(told, ["crates/x/src: a circle: a -> b -> a"]);
    }

    #[test]
    fn a_circle_by_way_of_others_is_one_whatever_folder_it_is_in() {
        let told = complaints(&[
            ("lib.rs", "mod room;"),
            ("room/mod.rs", "mod a; mod b; mod c;"),
            ("room/a.rs", "use super::b;"),
            ("room/b.rs", "use crate::room::c::C;"),
            ("room/c/mod.rs", "mod inner;"),
            ("room/c/inner.rs", "use super::super::a::A;"),
        ]);
        assert_eq!(told, ["crates/x/src/room: a circle: a -> b -> c -> a"]);
    }

    #[test]
    fn what_goes_down_or_is_for_tests_is_no_circle() {
        let told = complaints(&[
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod helper;"),
            (
                "a.rs",
                "use crate::b; #[cfg(test)] mod tests { use crate::c; }",
            ),
            ("b.rs", "#[cfg(test)] mod tests { use crate::a; }"),
            ("helper.rs", "use crate::a;"),
            ("b/tests.rs", "#![cfg(test)] use crate::a;"),
            // A folder and its modules know each other.
            ("room/mod.rs", "mod x; use self::x::X; pub struct Shared;"),
            ("room/x.rs", "use super::Shared;"),
        ]);
        assert!(told.is_empty(), "{told:?}");
        // What is only for tests in one place is not in another.
        let told = complaints(&[
            ("lib.rs", "mod a; mod helper;"),
            ("a.rs", "use crate::helper;"),
            ("helper.rs", "use crate::a;"),
        ]);
        assert_eq!(told.len(), 1);
    }
}
