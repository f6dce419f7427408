//! A log comes back: a scan of the region keeps the newest version of each block.
//!
//! What was answered has the highest sequence of its block, or something that was under way has a
//! higher one and is whole: then that counts as written. Slots of torn writes are named. Their
//! headers must be wiped before anything else is written: a later write there that is torn too, of
//! equal content, could make an old header fit again, and bring back a version that this scan has
//! not found. To wipe is to write one sector, which is never torn; if that is cut short, a new scan
//! finds the same.
//!
//! One look at each slot.

use super::Log;
use super::header::{Found, Header, SLOT_BYTES, opened};
use super::log::Place;

/// A log that came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Its account.
    pub log: Log,
    /// Slots whose header must be wiped first.
    pub torn: Vec<u64>,
}

/// Why a log does not come back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// A block that it does not have.
    #[error(
        "slot {slot} holds logical block {logical} of a log of {blocks} blocks: it was written by a larger log with the same number"
    )]
    Beyond {
        /// Where.
        slot: u64,
        /// What its header says.
        logical: u64,
        /// How many there are.
        blocks: u64,
    },
    /// No sequence can be higher.
    #[error(
        "slot {slot} holds the last sequence number there is: no later write could be told from it"
    )]
    Last {
        /// Where.
        slot: u64,
    },
}

/// Scans a region: `read` brings a slot.
///
/// # Errors
/// A header that this log cannot have written.
///
/// # Panics
/// As [`Log::new`].
pub fn recover(
    number: u64,
    (blocks, slots): (u64, u64),
    mut read: impl FnMut(u64, &mut [u8; SLOT_BYTES]),
) -> Result<Recovered, Damage> {
    let mut log = Log::new(blocks, slots);
    let mut torn = Vec::new();
    let mut bytes = Box::new([0; SLOT_BYTES]);
    for slot in 0..slots {
        read(slot, &mut bytes);
        match opened(&bytes, number) {
            Found::Nothing => {}
            Found::Torn => torn.push(slot),
            Found::Whole(Header { logical, .. }) if logical >= blocks => {
                return Err(Damage::Beyond {
                    slot,
                    logical,
                    blocks,
                });
            }
            Found::Whole(Header { sequence, .. }) if sequence == u64::MAX => {
                return Err(Damage::Last { slot });
            }
            Found::Whole(Header {
                sequence, logical, ..
            }) => log.found(logical as usize, Place { slot, sequence }),
        }
    }
    Ok(Recovered { log, torn })
}
