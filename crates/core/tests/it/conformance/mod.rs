//! What every part of a kind has to do: one suite per contract, run over the whole table.
//!
//! A part may be excused from a case by name and reason; an excuse that is not needed any more
//! fails.

mod caches;
mod discards;
pub(crate) mod drives;
mod expiry;
mod faults;
mod measures;
mod offers;
mod oracles;
mod parity;
mod placements;
mod schedulers;
