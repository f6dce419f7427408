//! Options that name parts: one for each kind of which a stack has a part, made from the table of
//! kinds.
//!
//! The scheduler is each command's own option, since some take several schedulers and compare them.

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use nearslot_core::config::{KINDS, Kinds, StackKind};
use nearslot_core::contract::Scheduler;
use nearslot_core::registry::{Kind, Of};
use nearslot_lab::workload::Synthetic;

/// Parts that the help of an option names; of more there is a list.
const NAMED_MAX: usize = 5;

/// Parts that the command line names, each with the key of its kind.
#[derive(Debug, Default)]
pub(crate) struct PartArgs(pub(crate) Vec<(&'static str, String)>);

/// Kinds with an option that all commands have.
fn common(kinds: Kinds) -> impl Iterator<Item = &'static StackKind> {
    let own = <dyn Scheduler>::CARD.key;
    kinds.iter().filter(move |kind| kind.key() != own)
}

/// The same command with an option for each kind.
fn with_options(command: Command, kinds: Kinds) -> Command {
    command.args(common(kinds).map(option))
}

fn option(kind: &StackKind) -> Arg {
    Arg::new(kind.key())
        .long(kind.key())
        .value_name("NAME")
        .help(help(kind))
}

/// What a kind decides, what there is, and what is taken if nothing is said.
fn help(kind: &StackKind) -> String {
    let (called, parts) = (kind.card(), kind.kind.parts());
    let named = parts.iter().take(NAMED_MAX).map(|part| part.name);
    let mut names = named.collect::<Vec<&str>>().join(", ");
    if parts.len() > NAMED_MAX {
        names += &format!(", ... (see `nearslot list {}`)", called.plural);
    }
    let mut summary = called.summary.chars();
    let first = summary.next().map(|first| first.to_ascii_uppercase());
    let summary: String = first.into_iter().chain(summary).collect();
    format!("{summary}: {names} [default: {}]", kind.default)
}

/// The parts that were named.
fn named(matches: &ArgMatches, kinds: Kinds) -> PartArgs {
    let named = common(kinds).filter_map(|kind| {
        let name = matches.get_one::<String>(kind.key())?;
        Some((kind.key(), name.clone()))
    });
    PartArgs(named.collect())
}

impl FromArgMatches for PartArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<PartArgs, Error> {
        Ok(named(matches, KINDS))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = named(matches, KINDS);
        Ok(())
    }
}

impl Args for PartArgs {
    fn augment_args(command: Command) -> Command {
        with_options(command, KINDS)
    }

    fn augment_args_for_update(command: Command) -> Command {
        with_options(command, KINDS)
    }
}

/// The values of an option that names several parts; one alone where a comma is a part of a
/// setting.
pub(crate) fn several(words: &str) -> Vec<&str> {
    let pieces: Vec<&str> = words.split(',').map(str::trim).collect();
    let is_name = |piece: &&str| {
        let name = piece.split(':').next().unwrap_or_default();
        name.starts_with(|first: char| first.is_ascii_alphabetic()) && !name.contains('=')
    };
    match pieces.iter().all(is_name) {
        true => pieces,
        false => vec![words],
    }
}

/// What there are lists of: the kinds that a stack is made of, and what is below and above it.
pub(crate) fn kinds_listed() -> String {
    let stack = KINDS.iter().map(|of| of.card().plural);
    let workloads = Of::<Synthetic>::KIND.card().plural;
    let others = ["drives", "drive-kinds", workloads, "formats"];
    stack.chain(others).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of kinds with another one.
    static WITH_ANOTHER: [StackKind; 2] = [
        KINDS[0],
        StackKind {
            kind: Of::<Synthetic>::KIND,
            default: "poisson",
        },
    ];

    #[test]
    fn a_kind_has_an_option_and_says_what_there_is() {
        let command = || with_options(Command::new("nearslot"), &WITH_ANOTHER);
        let matches = command()
            .try_get_matches_from(["nearslot", "--workload", "iometer:depth=4"])
            .expect("it is an option");
        let PartArgs(parts) = named(&matches, &WITH_ANOTHER);
        assert_eq!(parts, [("workload", "iometer:depth=4".to_owned())]);
        let help = command().render_help().to_string();
        let help = help.split_whitespace().collect::<Vec<&str>>().join(" ");
        let told = "A synthetic load, in place of a trace: iometer, poisson, oltp, spc1, host, ... (see `nearslot list \
             workloads`) [default: poisson]";
        assert!(help.contains(told), "{help}");
        // Commands have options of their own for schedulers.
        assert!(!help.contains("--sched"), "{help}");
    }

    #[test]
    fn of_many_parts_some_are_named() {
        let place = common(KINDS).find(|kind| kind.key() == "place");
        let told = help(place.expect("it is a kind"));
        assert!(told.starts_with("Where data lives: linear, "), "{told}");
        let end = ", ... (see `nearslot list placements`) [default: linear]";
        assert!(told.ends_with(end), "{told}");
    }
}
