//! All suites of the core in one program, since each further one would be linked, and run, by
//! itself. What counts allocations is apart (`memory.rs`).

#![allow(
    clippy::float_cmp,
    clippy::unwrap_used,
    reason = "a test may expect a number to the bit, and what fails in a helper of a test fails the test"
)]

mod catalog;
mod conformance;
mod contents;
mod crash;
mod graphs;
mod queues;
mod ranges;
mod reference;
mod support;
mod tidy;
