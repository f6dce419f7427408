//! The command as its users have it, and its documentation, in one program, since each further one
//! would be linked, and run, by itself.

#![allow(
    clippy::float_cmp,
    clippy::unwrap_used,
    reason = "a test may expect a number to the bit, and what fails in a helper of a test fails the test"
)]

mod bad_input;
mod build;
mod caches;
mod calibrate;
mod capacity;
mod command;
mod common;
mod default_drive;
mod docs;
mod drive_files;
mod hitrate;
mod interrupted;
mod offer;
mod outputs;
mod reading;
mod span;
mod streams;
mod tables;
mod traced;
mod volumes;
mod without_effect;
