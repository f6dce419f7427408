//! Options that name parts: one for each kind of which a stack has a part, made from the table of kinds.
//!
//! The scheduler is each command's own option, since some take several schedulers and compare them.

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use nearslot_core::config::{KINDS, Kinds, StackKind};
use nearslot_core::contract::Scheduler;
use nearslot_core::registry::Kind;

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
