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
mod by_stream;
mod by_volume;
pub mod calibrate;
pub mod capacity;
mod correlation;
mod declared;
pub mod default_drive;
mod demerit;
mod doubt;
mod gate;
pub mod given;
pub mod grid;
mod hash;
pub mod inspect;
pub mod keys;
pub mod load;
pub mod measure;
pub mod memo;
mod number;
pub mod objective;
pub mod outcome;
pub mod overload;
pub mod program;
mod recovery;
pub mod report;
pub mod run;
pub mod scenario;
pub mod series;
pub mod sim;
mod space;
mod stretch;
pub mod survey;
mod told;
pub mod validate;
pub mod verdict;
mod watch;
pub mod workload;
