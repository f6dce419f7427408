//! `nearslot validate`: the drive model beside reference data.

use nearslot_lab::validate;
use serde_json::json;

use crate::args::{TextFormat, ValidateCommand};
use crate::failure::Failure;
use crate::output;

/// `nearslot validate disksim DIR`.
pub(crate) fn validate(command: &ValidateCommand) -> Result<(), Failure> {
    let ValidateCommand::Disksim(args) = command;
    let validation =
        validate::disksim(&args.directory).map_err(|error| Failure::Input(error.to_string()))?;
    match args.format {
        TextFormat::Json => output::print_json(&json!(validation))?,
        TextFormat::Text => output::print(&validation.to_string())?,
    }
    if validation.pass {
        Ok(())
    } else {
        Err(Failure::Check(format!(
            "{}: beyond the limits: {}",
            args.directory.display(),
            validation.failures().join("; ")
        )))
    }
}
