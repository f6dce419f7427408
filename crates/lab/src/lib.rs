//! # nearslot-lab
//!
//! Runs the decisions of `nearslot-core` in virtual time: traces and workloads in, results out.

pub mod outcome;
pub mod survey;
pub mod trace;
pub mod workload;
