//! What lies in NVRAM: the updates that are not in the log yet, and how far the log has come.
//!
//! ```text
//! 0            control block, even    } the younger sound one counts; the other is overwritten next
//! 656          control block, odd     }
//! 1312         half 0: a word, then entries of 9 bytes      even batches
//! ...          half 1: the same                             odd batches
//! control      see `control`
//! word         entries 24 bits | batch, its low 8 bits | checksum 32 bits of volume, batch and the entries
//! ```
//!
//! All that is asked of the memory is that an aligned word of eight bytes is written whole or not
//! at all. An entry is there when the word counts it; the checksum runs on from entry to entry, so
//! that recording costs the sum of nine bytes. A half is given to its next batch by one word too. A
//! control block may tear: the other one still holds, and what the record had that the torn one
//! would have told of is still in its half.
//!
//! Source: FAST 2002, section 5: a small NVRAM gathers map updates, and records where the youngest
//! checkpoint is. Two halves are ours, so that updates go on while the log is written.

use super::control::{CONTROL_BYTES, Control, Lacking, write_control};
use super::cursor::LogCursor;
use super::format::{self, Damage, DamageAt, ENTRY_BYTES, Fault, put, u64_at};
use super::home::Home;
use super::layout::Layout;
use super::{Entry, Geometry};

const WORD_BYTES: usize = 8;

/// The bytes that survive a power cut at any instant.
#[derive(Clone, Debug)]
pub struct Nvram {
    bytes: Vec<u8>,
    /// Everything that was stored, in order: for power cuts between two words.
    #[cfg(test)]
    pub(super) journal: Vec<(usize, Vec<u8>)>,
}

impl Nvram {
    /// What was found after a power cut.
    pub fn from_bytes(bytes: Vec<u8>) -> Nvram {
        Nvram {
            bytes,
            #[cfg(test)]
            journal: Vec::new(),
        }
    }

    /// As it would be found now.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[inline]
    fn store(&mut self, at: usize, bytes: &[u8]) {
        put(&mut self.bytes, at, bytes);
        #[cfg(test)]
        self.journal.push((at, bytes.to_vec()));
    }

    /// For a new log.
    pub(super) fn blank(layout: &Layout) -> Nvram {
        Nvram::from_bytes(vec![0; length(layout)])
    }

    /// Writes the control block of this number over the older one.
    pub(super) fn set_control(
        &mut self,
        number: u64,
        layout: &Layout,
        cursor: &LogCursor,
        lacking: Lacking,
    ) {
        let block = write_control(layout, cursor, number, lacking);
        self.store((number % 2) as usize * CONTROL_BYTES, &block);
    }

    /// Gives a half to a batch, of which nothing is there yet; the checksum of nothing.
    pub(super) fn reset(&mut self, layout: &Layout, batch: u64) -> u32 {
        let sum = seed(layout, batch);
        self.set_word(layout, batch, 0, sum);
        sum
    }

    /// Adds an entry behind `count` others whose checksum is `sum`; the new checksum.
    #[inline]
    pub(super) fn add(
        &mut self,
        layout: &Layout,
        batch: u64,
        count: u32,
        sum: u32,
        entry: &Entry,
    ) -> u32 {
        let bytes = format::put_entry(entry);
        let at = word_at(layout, batch) + WORD_BYTES + count as usize * ENTRY_BYTES;
        self.store(at, &bytes);
        let sum = crc32c::crc32c_append(sum, &bytes);
        self.set_word(layout, batch, count + 1, sum);
        sum
    }

    /// The step that commits.
    #[inline]
    fn set_word(&mut self, layout: &Layout, batch: u64, count: u32, sum: u32) {
        let word = u64::from(count) | (batch & 0xFF) << 24 | u64::from(sum) << 32;
        self.store(word_at(layout, batch), &word.to_le_bytes());
    }

    /// The bytes of a batch's first entries.
    pub(super) fn entries(&self, layout: &Layout, batch: u64, count: u32) -> &[u8] {
        let at = word_at(layout, batch) + WORD_BYTES;
        &self.bytes[at..at + count as usize * ENTRY_BYTES]
    }
}

fn half_bytes(layout: &Layout) -> usize {
    WORD_BYTES + (layout.half as usize * ENTRY_BYTES).next_multiple_of(WORD_BYTES)
}

fn length(layout: &Layout) -> usize {
    2 * CONTROL_BYTES + 2 * half_bytes(layout)
}

/// Where the word of a batch's half lies.
#[inline]
pub(super) fn word_at(layout: &Layout, batch: u64) -> usize {
    2 * CONTROL_BYTES + (batch % 2) as usize * half_bytes(layout)
}

/// Checksum of a batch without entries: never that of another.
fn seed(layout: &Layout, batch: u64) -> u32 {
    let volume = crc32c::crc32c(&layout.geometry.volume.to_le_bytes());
    crc32c::crc32c_append(volume, &batch.to_le_bytes())
}

/// What NVRAM says of one half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Half {
    pub(super) batch: u64,
    pub(super) count: u32,
    pub(super) sum: u32,
}

impl Half {
    /// Reads the half of the even or the odd batches, when `batches` are in the log.
    fn read(nvram: &Nvram, layout: &Layout, parity: u64, batches: u64) -> Result<Half, Damage> {
        let at = word_at(layout, parity);
        let place = DamageAt::Nvram(at);
        let word = u64_at(&nvram.bytes, at);
        let (count, low) = ((word & 0xFF_FFFF) as u32, word >> 24 & 0xFF);
        // What was just appended, or one of the two that come next: any other is missing from the
        // log, or older than it.
        let near = batches..=batches + 2;
        let mut near = near.filter(|batch| batch % 2 == parity && batch & 0xFF == low);
        let Some(batch) = near.next() else {
            // Numbers are known by their low eight bits here.
            let (first, last) = (batches & 0xFF, (batches + 2) & 0xFF);
            let fault = Fault::outside("batch (its low 8 bits)", low, first, last);
            return Err(fault.at(place));
        };
        if count > layout.half {
            let fault = Fault::outside("entries", count.into(), 0, layout.half.into());
            return Err(fault.at(place));
        }
        let entries = nvram.entries(layout, batch, count);
        let sum = crc32c::crc32c_append(seed(layout, batch), entries);
        format::check_sum((word >> 32) as u32, sum).map_err(|fault| fault.at(place))?;
        Ok(Half { batch, count, sum })
    }

    /// Reads both halves, the older batch first: the next two, or the last in the log and the next.
    pub(super) fn read_both(
        nvram: &Nvram,
        layout: &Layout,
        batches: u64,
    ) -> Result<[Half; 2], Damage> {
        let mut halves = [
            Half::read(nvram, layout, 0, batches)?,
            Half::read(nvram, layout, 1, batches)?,
        ];
        halves.sort_by_key(|half| half.batch);
        let [old, young] = &halves;
        // The younger one is begun, and the older one appended, when the older one is full.
        if (young.count > 0 || old.batch <= batches) && old.count < layout.half {
            let fault = Fault::outside(
                "entries",
                old.count.into(),
                layout.half.into(),
                layout.half.into(),
            );
            return Err(fault.at(DamageAt::Nvram(word_at(layout, old.batch))));
        }
        Ok(halves)
    }
}

impl Nvram {
    /// What the younger of the two sound control blocks says, which has to fit the volume.
    pub(super) fn read_control(&self, geometry: &Geometry) -> Result<Control, Damage> {
        let bytes = &self.bytes;
        if bytes.len() < 2 * CONTROL_BYTES {
            let least = 2 * CONTROL_BYTES as u64;
            let fault = Fault::outside("bytes of NVRAM", bytes.len() as u64, least, u64::MAX);
            return Err(fault.at(DamageAt::Nvram(0)));
        }
        let read = |index: usize| {
            let at = index * CONTROL_BYTES;
            let block = &bytes[at..at + CONTROL_BYTES];
            Control::parse(block, geometry, Home::Nvram).map_err(|f| f.at(DamageAt::Nvram(at)))
        };
        let control = Control::younger(read(0), read(1))?;
        let (found, needed) = (bytes.len() as u64, length(&control.layout) as u64);
        if found != needed {
            let fault = Fault::outside("bytes of NVRAM", found, needed, needed);
            return Err(fault.at(DamageAt::Nvram(0)));
        }
        Ok(control)
    }
}
