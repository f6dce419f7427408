//! A log that skips: each block of it goes where that is quickest within a region, and a map says
//! where it went.
//!
//! A journal writes in order, and yet it loses a turn of the platter with each commit: between two
//! writes time passes, and the place behind the last one has just gone by. A layer below it offers
//! a disk of so many blocks and has more, so it may skip: it writes at the place that a measured
//! table calls the quickest after that time. Source: Anand and others, "Avoiding file system
//! micromanagement with range writes", OSDI 2008, section 6 ("Bark").
//!
//! [`Log`] knows which slots of the region are free and where each logical block lies; [`header`]
//! and [`recovery`] bring that back by a scan of the region; [`profile`] measures the table on the
//! model of a drive, and [`placing`] goes by it; [`rehearsal`] lets the power go at every instant.
//! All are pure: who writes, and when, is the affair of the caller. Nothing here is the journal of
//! `host/journal.rs`, whose blocks have no names.

pub mod header;
mod log;
pub mod placing;
pub mod profile;
pub mod recovery;
pub mod rehearsal;

pub use self::log::{Log, Write};
pub use self::profile::{Grid, Profile};

/// Blocks of 512 bytes of a block of the log: 4 KiB.
pub const PAYLOAD_BLOCKS: u64 = 8;

/// Blocks of 512 bytes of a slot: a header, and a block of the log.
pub const SLOT_BLOCKS: u64 = PAYLOAD_BLOCKS + 1;

#[cfg(test)]
mod tests;
