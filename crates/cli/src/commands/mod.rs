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

use std::sync::Arc;

use nearslot_lab::sim::Control;

use crate::args::Command;
use crate::failure::Failure;
use crate::interrupt;

pub use parts::{list_json, list_json_of, list_text, show_json, show_json_of, show_text};

/// Does what was asked.
///
/// # Errors
/// Whatever the command could not do.
pub(crate) fn dispatch(command: Command) -> Result<(), Failure> {
    let control = Arc::new(Control::default());
    interrupt::stop(&control)?;
    match command {
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Run(args) => compare::run(&args, &control),
        Command::Compare(args) => compare::compare(&args, &control),
        Command::Capacity(args) => capacity::capacity(&args, &control),
        Command::Hitrate(args) => hitrate::hitrate(&args, &control),
        Command::List(args) => parts::list(&args),
        Command::Show(args) => parts::show(&args),
        Command::Calibrate(args) => calibrate::calibrate(&args, &control),
        Command::Convert(args) => convert::convert(&args),
        Command::Validate(command) => validate::validate(&command),
        Command::Doctor(args) => doctor::doctor(&args),
    }
}
