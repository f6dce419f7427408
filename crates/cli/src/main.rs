//! The `nearslot` command. Everything is in the library, so that the Python package starts the
//! same.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(nearslot_cli::run(std::env::args_os()))
}
