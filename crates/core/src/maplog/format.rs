//! The bytes of everything that keeps a map safe, and what can be wrong with them.
//!
//! All that is written carries who wrote it (a magic word and a format version), for which volume,
//! its place in the sequence, and a checksum (CRC-32C: any single flipped bit is seen, and it costs
//! a clock per eight bytes). Numbers are little-endian.
//!
//! ```text
//! prelude     0 magic 8 | 8 version 4 | 12 checksum 4 | 16 volume 8 | 24 sequence 8
//! log record  prelude | 32 kind 4 | 36 blocks 4 | 40 number 8 | 48 count 4 | 52 portion 4 | 56 payload's checksum 4 | 60 control 4
//!             then the payload from byte 64 on, filled up with zeros to whole blocks
//!   batch       number = ordinal of the batch, count entries of 9 bytes: chunk 4, slot 4, copy 1
//!   piece       number = first entry of the map, count entries of 4 bytes: slot; of a checkpoint of this portion
//!   control     the low half of the number of the control block that it follows, if the log is at home on its drive; else zero
//! ```
//!
//! The checksum of a prelude covers what the prelude heads: a record's 64 bytes, a whole control
//! block ([`super::nvram`]), a whole map sector ([`super::virtual_log`]). A record's payload has
//! its own, so that a damaged payload still tells its length and what it was; recovery then knows
//! what was lost.
//!
//! Version 2 tells how copies are spread over drives ([`Spread`]); where that stands, version 1 had
//! a zero, and all maps were spread by copy.
//!
//! The sources (FAST 2002, section 5; OSDI 1999, section 3) give no layout; this one is ours.

use std::fmt;

use crate::ids::DriveId;
use crate::units::Blocks;

use super::{Entry, Geometry, NOWHERE, Spread};

/// The version of the format that this code writes, and the highest that it reads.
pub const VERSION: u32 = 2;

/// Bytes before the payload of a record.
pub const HEADER_BYTES: usize = 64;
/// Bytes of an entry in a batch.
pub const ENTRY_BYTES: usize = 9;

pub(super) const PRELUDE_BYTES: usize = 32;
const CHECKSUM_AT: usize = 12;

/// Opens a record of the log.
pub(super) const RECORD: [u8; 8] = *b"NearSLog";
/// Opens a control block in NVRAM.
pub(super) const CONTROL: [u8; 8] = *b"NearSCtl";
/// Opens a mark in the place of a control block.
pub(super) const MARK: [u8; 8] = *b"NearSOut";
/// Opens a map sector of a virtual log.
pub(super) const SECTOR: [u8; 8] = *b"NearSMap";
/// Opens a saved tail of a virtual log.
pub(super) const TAIL: [u8; 8] = *b"NearSTai";
/// Opens a table of rows whose parity may not hold, and of bad blocks, in NVRAM.
pub(super) const PARITIES: [u8; 8] = *b"NearSRow";
/// Opens a table of current copies in NVRAM.
pub(super) const COPIES: [u8; 8] = *b"NearSCop";
/// Opens the same of a volume with more chunks than 32 bits number.
pub(super) const COPIES_OF_MANY: [u8; 8] = *b"NearSMny";
/// Opens a table of what a write buffer has, in NVRAM.
pub(super) const BUFFERED: [u8; 8] = *b"NearSBuf";

/// Something that was kept safe is not what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct Damage {
    /// Where.
    pub place: DamageAt,
    /// What is wrong there.
    pub fault: Fault,
}

/// Where damage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageAt {
    /// At this byte of the NVRAM.
    Nvram(usize),
    /// In the record that begins at this block of the log region.
    Log(Blocks),
    /// In the control block that begins at this block of the log region.
    Control(Blocks),
    /// In this slot of a drive.
    Slot(DriveId, u32),
    /// In the saved tail of a virtual log.
    Tail,
    /// In the map as it was recovered.
    Map,
}

impl fmt::Display for DamageAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DamageAt::Nvram(byte) => write!(f, "NVRAM, byte {byte}"),
            DamageAt::Log(block) => write!(f, "map log, block {block}"),
            DamageAt::Control(block) => write!(f, "map log, control block at block {block}"),
            DamageAt::Slot(drive, slot) => write!(f, "drive {}, slot {slot}", drive.0),
            DamageAt::Tail => write!(f, "saved tail"),
            DamageAt::Map => write!(f, "recovered map"),
        }
    }
}

/// What is wrong with something: what was found, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nothing of ours begins here.
    #[error("begins with {:?}, allowed is {:?}", text(found), text(allowed))]
    Magic {
        /// The first bytes.
        found: [u8; 8],
        /// What they should be.
        allowed: [u8; 8],
    },
    /// A later release wrote this.
    #[error("written by a newer nearslot: version {found}, this one knows up to {VERSION}")]
    Newer {
        /// Its version of the format.
        found: u32,
    },
    /// No release wrote this version.
    #[error("version {found} of the format, allowed is 1 to {VERSION}")]
    Version {
        /// The version.
        found: u32,
    },
    /// It belongs to another volume.
    #[error("belongs to volume {found:#018x}, this is {allowed:#018x}")]
    Volume {
        /// Whose it is.
        found: u64,
        /// Who asks.
        allowed: u64,
    },
    /// Bytes have changed since they were written.
    #[error("checksum {found:#010x}, allowed is {allowed:#010x}")]
    Checksum {
        /// What is written there.
        found: u32,
        /// The checksum of the bytes that are there.
        allowed: u32,
    },
    /// An older or a younger one lies where another was expected.
    #[error("sequence number {found}, allowed is {allowed}")]
    Sequence {
        /// The number that is there.
        found: u64,
        /// The one whose turn it is.
        allowed: u64,
    },
    /// A control block was written that is not there.
    #[error("follows control block {found}, the youngest that is there is {allowed}")]
    Control {
        /// The low half of the number of the one it follows.
        found: u32,
        /// That of the youngest that is there.
        allowed: u32,
    },
    /// The log went on without this drive.
    #[error("was set aside behind control block {control}, and is not whole again")]
    SetAside {
        /// Number of the youngest control block then.
        control: u64,
    },
    /// A number that cannot be.
    #[error("{what} {found}, allowed is {allowed}")]
    Impossible {
        /// What the number counts.
        what: &'static str,
        /// The number.
        found: u64,
        /// What it may be.
        allowed: Range,
    },
    /// A setting that is not that of the volume.
    #[error("made for {found} {what}, the volume has {allowed}")]
    Geometry {
        /// Which setting.
        what: &'static str,
        /// What it was made for.
        found: u64,
        /// What the volume has.
        allowed: u64,
    },
    /// Its copies lie on drives in another way than those of the volume.
    #[error("made for copies {found}, the volume has them {allowed}")]
    Spread {
        /// What it was made for.
        found: Spread,
        /// What the volume has.
        allowed: Spread,
    },
    /// Two blocks lie in one slot.
    #[error(
        "slot {slot} of drive {} holds chunk {} (copy {}) and {second}, allowed is one of them",
        drive.0, first.1, first.0
    )]
    Twice {
        /// The drive, as [`Geometry::drive`] counts.
        drive: DriveId,
        /// The slot.
        slot: u32,
        /// Copy and chunk that have it.
        first: (u8, u32),
        /// Who else has it.
        second: Claim,
    },
    /// A part of the map is in no sound record.
    #[error(
        "entries {first} to {last} of the map are nowhere in it, allowed is a log that has all"
    )]
    Lost {
        /// The first entry, counted copy by copy.
        first: u64,
        /// The last one.
        last: u64,
    },
    /// Where these chunks lie is said nowhere in a virtual log.
    #[error("the map sector of chunks {first} to {last} is nowhere, allowed is a log that has all")]
    Unmapped {
        /// The first chunk.
        first: u32,
        /// The last one.
        last: u32,
    },
}

/// The numbers that are allowed: from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range(pub u64, pub u64);

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 == self.1 {
            true => write!(f, "{}", self.0),
            false => write!(f, "{} to {}", self.0, self.1),
        }
    }
}

/// Who has a slot that another has too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// A copy of a chunk.
    Chunk(u8, u32),
    /// A sector of the map itself.
    MapSector,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Claim::Chunk(copy, chunk) => write!(f, "chunk {chunk} (copy {copy})"),
            Claim::MapSector => write!(f, "a sector of the map"),
        }
    }
}

impl Damage {
    /// Whether it is none: a mark says that the log went on without this drive.
    pub fn is_mark(&self) -> bool {
        matches!(self.fault, Fault::SetAside { .. })
    }
}

impl Fault {
    /// The damage of this kind at a place.
    pub(super) fn at(self, place: DamageAt) -> Damage {
        Damage { place, fault: self }
    }

    /// `found` has to lie between `first` and `last`.
    pub(super) fn outside(what: &'static str, found: u64, first: u64, last: u64) -> Fault {
        Fault::Impossible {
            what,
            found,
            allowed: Range(first, last),
        }
    }
}

fn text(bytes: &[u8; 8]) -> String {
    bytes.escape_ascii().to_string()
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

#[inline]
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

pub(super) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// The checksum of bytes that hold it themselves.
fn checksum(bytes: &[u8]) -> u32 {
    let before = crc32c::crc32c(&bytes[..CHECKSUM_AT]);
    crc32c::crc32c_append(before, &bytes[CHECKSUM_AT + 4..])
}

/// Puts the prelude before bytes that are otherwise ready.
pub(super) fn seal(bytes: &mut [u8], magic: [u8; 8], volume: u64, sequence: u64) {
    put(bytes, 0, &magic);
    put(bytes, 8, &VERSION.to_le_bytes());
    put(bytes, 16, &volume.to_le_bytes());
    put(bytes, 24, &sequence.to_le_bytes());
    let sum = checksum(bytes);
    put(bytes, CHECKSUM_AT, &sum.to_le_bytes());
}

/// Checks bytes that were sealed; their sequence number.
pub(super) fn unseal(bytes: &[u8], magic: [u8; 8], volume: u64) -> Result<u64, Fault> {
    let found: [u8; 8] = bytes[..8].try_into().expect("eight bytes");
    if found != magic {
        return Err(Fault::Magic {
            found,
            allowed: magic,
        });
    }
    match u32_at(bytes, 8) {
        1..=VERSION => {}
        // What a later version has its checksum over is not known.
        found if found > VERSION => return Err(Fault::Newer { found }),
        found => return Err(Fault::Version { found }),
    }
    check_sum(u32_at(bytes, CHECKSUM_AT), checksum(bytes))?;
    match u64_at(bytes, 16) {
        found if found == volume => Ok(u64_at(bytes, 24)),
        found => Err(Fault::Volume {
            found,
            allowed: volume,
        }),
    }
}

/// The checksum of words, that goes on from another one.
#[inline]
pub(super) fn sum(seed: u32, words: &[u64]) -> u32 {
    let add = |sum: u32, word: &u64| crc32c::crc32c_append(sum, &word.to_le_bytes());
    words.iter().fold(seed, add)
}

/// That NVRAM has as many bytes as a table needs.
///
/// # Errors
/// It has fewer.
pub(super) fn at_least(found: usize, needed: usize) -> Result<(), Damage> {
    if found >= needed {
        return Ok(());
    }
    let fault = Fault::outside("bytes of NVRAM", found as u64, needed as u64, u64::MAX);
    Err(fault.at(DamageAt::Nvram(0)))
}

pub(super) fn check_sum(found: u32, allowed: u32) -> Result<(), Fault> {
    match found == allowed {
        true => Ok(()),
        false => Err(Fault::Checksum { found, allowed }),
    }
}

/// What a record of the log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Updates.
    Batch = 1,
    /// A piece of a checkpoint.
    Piece = 2,
}

/// What stands before a record's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) sequence: u64,
    pub(super) blocks: u32,
    pub(super) number: u64,
    pub(super) count: u32,
    pub(super) portion: u32,
    pub(super) payload_sum: u32,
    pub(super) control: u32,
}

impl Header {
    /// Writes the header of a record whose payload is ready.
    pub(super) fn write(mut self, volume: u64, record: &mut [u8]) {
        self.payload_sum = crc32c::crc32c(&record[HEADER_BYTES..]);
        let head = &mut record[..HEADER_BYTES];
        put(head, 32, &(self.kind as u32).to_le_bytes());
        put(head, 36, &self.blocks.to_le_bytes());
        put(head, 40, &self.number.to_le_bytes());
        put(head, 48, &self.count.to_le_bytes());
        put(head, 52, &self.portion.to_le_bytes());
        put(head, 56, &self.payload_sum.to_le_bytes());
        put(head, 60, &self.control.to_le_bytes());
        seal(head, RECORD, volume, self.sequence);
    }

    /// Reads the header of a record, of whose bytes there are enough for it.
    pub(super) fn read(bytes: &[u8], volume: u64) -> Result<Header, Fault> {
        let head = &bytes[..HEADER_BYTES];
        let sequence = unseal(head, RECORD, volume)?;
        let kind = match u32_at(head, 32) {
            1 => Kind::Batch,
            2 => Kind::Piece,
            found => return Err(Fault::outside("kind of record", found.into(), 1, 2)),
        };
        Ok(Header {
            kind,
            sequence,
            blocks: u32_at(head, 36),
            number: u64_at(head, 40),
            count: u32_at(head, 48),
            portion: u32_at(head, 52),
            payload_sum: u32_at(head, 56),
            control: u32_at(head, 60),
        })
    }

    /// The checksum of a record's header and those before it.
    pub(super) fn follow(&self, before: u32) -> u32 {
        let words = [
            self.sequence,
            self.number,
            self.blocks.into(),
            self.count.into(),
            self.payload_sum.into(),
            self.control.into(),
        ];
        let bytes = words.map(u64::to_le_bytes);
        crc32c::crc32c_append(before, bytes.as_flattened())
    }

    /// Checks the payload of a whole record.
    pub(super) fn check_payload(&self, record: &[u8]) -> Result<(), Fault> {
        let sum = crc32c::crc32c(&record[HEADER_BYTES..]);
        check_sum(self.payload_sum, sum)
    }
}

/// The bit of an entry's copy that makes the others stale.
const ALONE_BIT: u32 = 7;

/// An entry as a batch has it.
#[inline]
pub(super) fn put_entry(entry: &Entry) -> [u8; ENTRY_BYTES] {
    let mut bytes = [0; ENTRY_BYTES];
    bytes[..4].copy_from_slice(&entry.chunk.to_le_bytes());
    bytes[4..8].copy_from_slice(&entry.slot.to_le_bytes());
    bytes[8] = entry.copy | u8::from(entry.alone) << ALONE_BIT;
    bytes
}

/// Reads an entry that was checked to be as written, and checks that it can be.
#[inline]
pub(super) fn take_entry(geometry: &Geometry, bytes: &[u8]) -> Result<Entry, Fault> {
    let entry = Entry {
        chunk: u32_at(bytes, 0),
        slot: u32_at(bytes, 4),
        copy: bytes[8] & !(1 << ALONE_BIT),
        alone: bytes[8] >> ALONE_BIT == 1,
    };
    check_entry(geometry, &entry)?;
    Ok(entry)
}

/// Says what of an entry lies beyond the geometry.
#[inline]
pub(super) fn check_entry(geometry: &Geometry, entry: &Entry) -> Result<(), Fault> {
    if entry.chunk >= geometry.chunks {
        let last = geometry.chunks - 1;
        return Err(Fault::outside("chunk", entry.chunk.into(), 0, last.into()));
    }
    if entry.copy >= geometry.copies {
        let last = geometry.copies - 1;
        return Err(Fault::outside("copy", entry.copy.into(), 0, last.into()));
    }
    if entry.slot >= geometry.slots && entry.slot != NOWHERE {
        return Err(slot_fault(geometry, entry.slot));
    }
    Ok(())
}

/// A slot that no drive has.
pub(super) fn slot_fault(geometry: &Geometry, slot: u32) -> Fault {
    Fault::outside("slot", slot.into(), 0, u64::from(geometry.slots) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Vec<u8> {
        let mut bytes = vec![7; 1_024];
        let header = Header {
            kind: Kind::Piece,
            sequence: 12,
            blocks: 2,
            number: 34,
            count: 56,
            portion: 3,
            payload_sum: 0,
            control: 8,
        };
        header.write(99, &mut bytes);
        bytes
    }

    #[test]
    fn a_header_comes_back() {
        let bytes = record();
        let header = Header::read(&bytes, 99).unwrap();
        assert_eq!((header.kind, header.sequence), (Kind::Piece, 12));
        assert_eq!((header.blocks, header.number), (2, 34));
        assert_eq!((header.count, header.portion), (56, 3));
        assert_eq!(header.control, 8);
        assert_eq!(header.check_payload(&bytes), Ok(()));
    }

    #[test]
    fn what_the_first_version_wrote_is_read() {
        let mut bytes = record();
        let header = Header::read(&bytes, 99).unwrap();
        bytes[8] = 1;
        let sum = checksum(&bytes[..HEADER_BYTES]);
        put(&mut bytes, CHECKSUM_AT, &sum.to_le_bytes());
        assert_eq!(Header::read(&bytes, 99), Ok(header));
    }

    #[test]
    fn every_flipped_bit_of_a_record_is_seen() {
        let good = record();
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let checked = Header::read(&bytes, 99).and_then(|h| h.check_payload(&bytes));
            assert!(checked.is_err(), "bit {bit}");
        }
    }

    #[test]
    fn errors_say_what_was_found_and_what_is_allowed() {
        let fault = |change: fn(&mut Vec<u8>), volume| {
            let mut bytes = record();
            change(&mut bytes);
            let fault = Header::read(&bytes, volume).unwrap_err();
            fault.at(DamageAt::Log(Blocks(5))).to_string()
        };
        assert_eq!(
            fault(|bytes| bytes[0] = b'X', 99),
            r#"map log, block 5: begins with "XearSLog", allowed is "NearSLog""#
        );
        assert_eq!(
            fault(|bytes| bytes[8] = 7, 99),
            "map log, block 5: written by a newer nearslot: version 7, this one knows up to 2"
        );
        assert_eq!(
            fault(|bytes| bytes[8] = 0, 99),
            "map log, block 5: version 0 of the format, allowed is 1 to 2"
        );
        assert_eq!(
            fault(|_| {}, 255),
            "map log, block 5: belongs to volume 0x0000000000000063, this is 0x00000000000000ff"
        );
        let sum = fault(|bytes| bytes[24] ^= 1, 99);
        assert!(sum.contains("checksum 0x"), "{sum}");
    }

    #[test]
    fn impossible_entries_are_named() {
        let geometry = Geometry {
            volume: 1,
            chunks: 10,
            copies: 2,
            columns: 1,
            unit: 1,
            spread: Spread::ByCopy,
            slots: 30,
        };
        let taken = |chunk, copy, slot| {
            let bytes = put_entry(&Entry {
                copy,
                chunk,
                slot,
                alone: false,
            });
            take_entry(&geometry, &bytes).map_err(|fault| fault.to_string())
        };
        assert_eq!(
            taken(9, 1, 29),
            Ok(Entry {
                copy: 1,
                chunk: 9,
                slot: 29,
                alone: false
            })
        );
        assert!(taken(0, 0, NOWHERE).is_ok());
        assert_eq!(
            taken(10, 0, 0),
            Err("chunk 10, allowed is 0 to 9".to_owned())
        );
        assert_eq!(taken(0, 2, 0), Err("copy 2, allowed is 0 to 1".to_owned()));
        assert_eq!(
            taken(0, 0, 30),
            Err("slot 30, allowed is 0 to 29".to_owned())
        );
    }
}
