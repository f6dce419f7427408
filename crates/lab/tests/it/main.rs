//! All suites of the lab in one program, since each further one would be linked, and run, by
//! itself. What counts allocations is apart (`allocations.rs`).

#![allow(
    clippy::float_cmp,
    clippy::unwrap_used,
    reason = "a test may expect a number to the bit, and what fails in a helper of a test fails the test"
)]

mod caches;
mod calibration;
mod capacity;
mod counts;
mod filesystem;
mod golden;
mod hitrate;
mod host;
mod laws;
mod measured;
mod mqsim;
mod oracles;
mod overload;
mod own_drives;
mod queues;
mod recorder;
mod recovery;
mod report;
mod said;
mod scenarios;
mod spc1;
mod start;
mod streams;
mod validate;
mod without_result;
mod wrong_blocks;
mod zones;
