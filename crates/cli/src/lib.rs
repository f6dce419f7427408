//! # nearslot, the command
//!
//! Thin over `nearslot-lab`: words in, words out. stdout is data, stderr is progress and messages;
//! exit codes are 0 done, 1 a check failed, 2 usage, 3 input unfit, 4 interrupted, with what was
//! measured until then written.

mod args;
mod commands;
mod failure;
mod interrupt;
mod output;
mod part_args;
mod progress;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{CommandFactory, Parser};
use nearslot_lab::program;

pub use commands::{list_json, list_json_of, list_text, show_json, show_json_of, show_text};

/// The commit that this was compiled from, `-changed` behind it if the source differed from it, or
/// `unknown`.
pub const BUILD: &str = env!("NEARSLOT_BUILD");

/// What `--version` says.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    ", build ",
    env!("NEARSLOT_BUILD")
);

/// What can be said on the command line: for whatever describes or checks it.
pub fn command() -> clap::Command {
    args::Cli::command()
}

/// Runs the command with these arguments (the first is the program's name) and gives its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    program::is_built_from(BUILD);
    let cli = match args::Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(told) => {
            // Help and version come this way too, and go to standard output with code 0.
            let code = if told.use_stderr() { 2 } else { 0 };
            return match told.print() {
                // A reader that went away (`| head`) is no failure.
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => 3,
                _ => code,
            };
        }
    };
    match commands::dispatch(cli.command) {
        Ok(()) => 0,
        Err(failure) => {
            // Nothing is left to tell anybody if standard error is gone.
            let _ = writeln!(io::stderr(), "nearslot: {}", failure.message());
            failure.code()
        }
    }
}
