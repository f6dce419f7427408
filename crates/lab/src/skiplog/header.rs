//! The sector before each block of the log: which block it is, and which version.
//!
//! Little-endian: magic (8 bytes), number of the log (8), sequence (8), logical block (8), length
//! of the payload in bytes (4), checksum (4), zeros. The checksum, CRC-32C, is of the header
//! without it, and of the payload. So a slot whose write was torn is known: it begins as a header
//! of this log, and does not fit.

use super::SLOT_BLOCKS;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 512;

/// Bytes of a block of the log.
pub const PAYLOAD_BYTES: usize = 4_096;

/// Bytes of a slot.
pub const SLOT_BYTES: usize = HEADER_BYTES + PAYLOAD_BYTES;

const _: () = assert!(SLOT_BYTES as u64 == SLOT_BLOCKS * 512, "as it is placed");

const MAGIC: [u8; 8] = *b"NSLSKIP1";
const CHECKSUM_AT: usize = 36;
const FIELDS_END: usize = CHECKSUM_AT + 4;

/// What a header says of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Which log it is of: another one may have had the same region before.
    pub log: u64,
    /// Of two versions the one with the higher number is newer.
    pub sequence: u64,
    /// Which block of the log.
    pub logical: u64,
}

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing of this log.
    Nothing,
    /// A header of this log that does not fit its payload, or itself.
    Torn,
    /// A version of a block.
    Whole(Header),
}

/// A slot with its header and its payload.
pub fn sealed(header: &Header, payload: &[u8; PAYLOAD_BYTES]) -> Box<[u8; SLOT_BYTES]> {
    let mut slot = Box::new([0; SLOT_BYTES]);
    slot[..8].copy_from_slice(&MAGIC);
    slot[8..16].copy_from_slice(&header.log.to_le_bytes());
    slot[16..24].copy_from_slice(&header.sequence.to_le_bytes());
    slot[24..32].copy_from_slice(&header.logical.to_le_bytes());
    slot[32..36].copy_from_slice(&(PAYLOAD_BYTES as u32).to_le_bytes());
    slot[HEADER_BYTES..].copy_from_slice(payload);
    let sum = checksum(&slot);
    slot[CHECKSUM_AT..FIELDS_END].copy_from_slice(&sum.to_le_bytes());
    slot
}

/// What a slot holds of the log of this number.
pub fn opened(slot: &[u8; SLOT_BYTES], log: u64) -> Found {
    let number = |at: usize| {
        let bytes = slot[at..at + 8].try_into();
        u64::from_le_bytes(bytes.expect("eight bytes"))
    };
    if slot[..8] != MAGIC || number(8) != log {
        return Found::Nothing;
    }
    let length = slot[32..36] == (PAYLOAD_BYTES as u32).to_le_bytes();
    if !length || slot[CHECKSUM_AT..FIELDS_END] != checksum(slot).to_le_bytes() {
        return Found::Torn;
    }
    Found::Whole(Header {
        log,
        sequence: number(16),
        logical: number(24),
    })
}

/// The checksum of a slot that holds it itself.
fn checksum(slot: &[u8; SLOT_BYTES]) -> u32 {
    let before = crc32c::crc32c(&slot[..CHECKSUM_AT]);
    crc32c::crc32c_append(before, &slot[FIELDS_END..])
}
