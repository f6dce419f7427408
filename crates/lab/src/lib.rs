//! # nearslot-lab
//!
//! Runs the decisions of `nearslot-core` in virtual time: traces and workloads in, results out.

#![cfg_attr(
    test,
    allow(clippy::float_cmp, reason = "a test may expect a number to the bit")
)]

#[macro_use]
mod words;

pub mod ability;
mod alone;
mod bench;
pub mod calibrate;
pub mod capacity;
pub mod catalog;
pub mod default_drive;
mod doubt;
mod error;
pub mod filesystem;
mod gate;
pub mod given;
pub mod grid;
mod hash;
pub mod hitrate;
pub mod host;
pub mod inspect;
pub mod load;
pub mod measure;
pub mod memo;
mod number;
pub mod objective;
pub mod outcome;
pub mod overload;
mod prepare;
pub mod program;
mod recorders;
pub mod report;
pub mod run;
pub mod scenario;
pub mod sim;
pub mod skiplog;
pub mod survey;
pub mod validate;
pub mod verdict;
pub mod warning;
pub mod workload;
