//! The commands, one file each.

mod calibrate;
mod capacity;
mod compare;
mod convert;
mod doctor;
mod hitrate;
mod inspect;
mod offer;
mod parts;
mod scenario;
mod validate;

use crate::args::Command;
use crate::failure::Failure;

pub use parts::{list_json, list_json_of, list_text, show_json, show_json_of, show_text};

/// Does what was asked.
///
/// # Errors
/// Whatever the command could not do.
pub(crate) fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Run(args) => compare::run(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Capacity(args) => capacity::capacity(&args),
        Command::Hitrate(args) => hitrate::hitrate(&args),
        Command::List(args) => parts::list(&args),
        Command::Show(args) => parts::show(&args),
        Command::Calibrate(args) => calibrate::calibrate(&args),
        Command::Convert(args) => convert::convert(&args),
        Command::Validate(command) => validate::validate(&command),
        Command::Doctor(args) => doctor::doctor(&args),
    }
}
