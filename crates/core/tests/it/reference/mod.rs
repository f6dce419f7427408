//! Slow, literal twins of the schedulers: written from the definitions, one plain list and one scan
//! a decision. Random sequences are given to both; every answer has to be the same.

mod by_block;
mod by_position;
mod deadline;
mod eager;
mod faults;
pub(crate) mod hdd;
mod overhead;
mod twin;
mod waits;
