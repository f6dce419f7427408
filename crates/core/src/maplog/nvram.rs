//! What lies in NVRAM: the updates that are not in the log yet, and how far the log has come.
//!
//! ```text
//! 0            control block, even    } the younger sound one counts; the other is overwritten next
//! 656          control block, odd     }
//! 1312         half 0: a word, then entries of 9 bytes      even batches
//! ...          half 1: the same                             odd batches
//! control      see [`control`](super::control)
//! word         entries 24 bits | batch, its low 8 bits | checksum 32 bits of volume, batch and the entries
//! ```
//!
//! All that is asked of the memory is that an aligned word of eight bytes is written whole or not at all. An entry is
//! there when the word counts it; the checksum runs on from entry to entry, so that recording costs the sum of nine bytes.
//! A half is given to its next batch by one word too. A control block may tear: the other one still holds, and the record
//! that the torn one would have told of is found behind the log's end.
//!
//! Source: FAST 2002, section 5: a small NVRAM gathers map updates, and records where the youngest checkpoint is. Two
//! halves are ours, so that updates go on while the log is written.

use super::control::{CONTROL_BYTES, Control, write_control};
use super::cursor::{Cursor, Start};
use super::format::{self, Damage, ENTRY_BYTES, Fault, Kind, Place, put, u64_at};
use super::home::{Home, Keeper};
use super::layout::Layout;
use super::{Entry, Geometry};
use crate::units::Blocks;

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
    pub(super) fn set_control(&mut self, number: u64, layout: &Layout, cursor: &Cursor) {
        let block = write_control(layout, cursor, number);
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
        let place = Place::Nvram(at);
        let word = u64_at(&nvram.bytes, at);
        let (count, low) = ((word & 0xFF_FFFF) as u32, word >> 24 & 0xFF);
        // What was just appended, or one of the two that come next: any other is missing from the log, or older than it.
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
            return Err(fault.at(Place::Nvram(word_at(layout, old.batch))));
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
            return Err(fault.at(Place::Nvram(0)));
        }
        let read = |index: usize| {
            let at = index * CONTROL_BYTES;
            let block = &bytes[at..at + CONTROL_BYTES];
            Control::parse(block, geometry, Home::Nvram).map_err(|f| f.at(Place::Nvram(at)))
        };
        let control = Control::younger(read(0), read(1))?;
        let (found, needed) = (bytes.len() as u64, length(&control.layout) as u64);
        if found != needed {
            let fault = Fault::outside("bytes of NVRAM", found, needed, needed);
            return Err(fault.at(Place::Nvram(0)));
        }
        Ok(control)
    }
}

/// A log that is at home in NVRAM: updates gather in one half while the other one is appended.
#[derive(Debug)]
pub(super) struct InNvram {
    nvram: Nvram,
    /// Number of the last control block.
    control: u64,
    /// The batch that fills.
    filling: u64,
    /// By half: entries, and their checksum.
    counts: [u32; 2],
    sums: [u32; 2],
}

impl InNvram {
    /// Of a new log.
    pub(super) fn blank(layout: &Layout, cursor: &Cursor) -> InNvram {
        let mut nvram = Nvram::blank(layout);
        let sums = [2, 1].map(|batch| nvram.reset(layout, batch));
        nvram.set_control(1, layout, cursor);
        InNvram {
            nvram,
            control: 1,
            filling: 1,
            counts: [0; 2],
            sums,
        }
    }

    /// As recovery found it; the halves come in order of age.
    pub(super) fn resume(
        layout: &Layout,
        nvram: Nvram,
        cursor: &Cursor,
        control: u64,
        halves: [Half; 2],
    ) -> InNvram {
        let [old, young] = halves;
        let mut found = InNvram {
            nvram,
            control,
            filling: old.batch,
            counts: [0; 2],
            sums: [0; 2],
        };
        for half in halves {
            let index = (half.batch % 2) as usize;
            (found.counts[index], found.sums[index]) = (half.count, half.sum);
        }
        found.keep_control(layout, cursor);
        if old.batch <= cursor.batches {
            // The power went between the control block and this.
            found.reset(layout, old.batch + 2);
            found.filling = young.batch;
        }
        found.fill_the_other(layout, cursor);
        found
    }

    /// Moves on to the other half if this one is full and the other one's batch is in the log.
    fn fill_the_other(&mut self, layout: &Layout, cursor: &Cursor) {
        if self.is_full(layout) && self.filling - 1 <= cursor.batches {
            self.filling += 1;
        }
    }

    fn keep_control(&mut self, layout: &Layout, cursor: &Cursor) {
        self.control += 1;
        self.nvram.set_control(self.control, layout, cursor);
    }

    fn reset(&mut self, layout: &Layout, batch: u64) {
        let half = (batch % 2) as usize;
        self.sums[half] = self.nvram.reset(layout, batch);
        self.counts[half] = 0;
    }
}

impl Keeper for InNvram {
    #[inline]
    fn record(&mut self, layout: &Layout, cursor: &Cursor, entry: &Entry) {
        let (batch, half) = (self.filling, (self.filling % 2) as usize);
        let (count, sum) = (self.counts[half], self.sums[half]);
        self.sums[half] = self.nvram.add(layout, batch, count, sum, entry);
        self.counts[half] = count + 1;
        if count + 1 == layout.half {
            self.fill_the_other(layout, cursor);
        }
    }

    #[inline]
    fn is_full(&self, layout: &Layout) -> bool {
        self.counts[(self.filling % 2) as usize] == layout.half
    }

    fn room(&self, layout: &Layout, cursor: &Cursor) -> u32 {
        let filling = layout.half - self.counts[(self.filling % 2) as usize];
        let other = self.filling - 1 <= cursor.batches;
        filling + if other { layout.half } else { 0 }
    }

    fn at_risk(&self) -> usize {
        0
    }

    fn batch(&mut self, layout: &Layout, number: u64, _round: bool) -> Option<&[u8]> {
        let full = self.counts[(number % 2) as usize] == layout.half;
        full.then(|| self.nvram.entries(layout, number, layout.half))
    }

    fn control(&self) -> u64 {
        0
    }

    fn due(&self, _layout: &Layout, _cursor: &Cursor, _block: &mut Vec<u8>) -> Option<Blocks> {
        None
    }

    fn kept(&mut self, _layout: &Layout, _cursor: &Cursor) {
        panic!("control blocks are stored with the records")
    }

    /// The control block first. Else recovery would have to look ahead for a half that is given away, and could.
    fn advanced(&mut self, layout: &Layout, cursor: &Cursor, kind: Kind) {
        self.keep_control(layout, cursor);
        if kind == Kind::Batch {
            self.reset(layout, cursor.batches + 2);
            self.fill_the_other(layout, cursor);
        }
    }

    fn tail(&self, layout: &Layout, cursor: &Cursor) -> Start {
        cursor.tail(layout)
    }

    fn nvram(&self) -> &Nvram {
        &self.nvram
    }

    #[cfg(test)]
    fn nvram_mut(&mut self) -> &mut Nvram {
        &mut self.nvram
    }

    fn audit(&self, layout: &Layout, cursor: &Cursor) {
        let batches = cursor.batches;
        let halves = Half::read_both(&self.nvram, layout, batches);
        let halves = halves.unwrap_or_else(|damage| panic!("{damage}"));
        for half in halves {
            let index = (half.batch % 2) as usize;
            assert_eq!(half.count, self.counts[index], "entries of a half");
            assert_eq!(half.sum, self.sums[index], "checksum of a half");
        }
        assert!(self.filling > batches, "a batch in the log fills");
        assert!(self.filling <= batches + 2, "a batch was left out");
    }
}
