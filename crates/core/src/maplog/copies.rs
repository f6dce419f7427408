//! Which copies are current, of volumes whose copies lie at fixed places: a table in NVRAM of what is not settled.
//!
//! Nothing of such a volume has to be found again, but two things have to be known after a power cut: which copies were
//! delayed and are stale, and of which chunks a write was under way, so that their copies may differ.
//!
//! ```text
//! 0     head        prelude (sequence = 0) | geometry, see `put_geometry`
//! 48    word        entries that there is room for, as the chunk of an entry
//! 56    entries     a word each
//! word  chunk 32 bits | copies that are current 16 | a write is under way 1 | checksum 15, of the volume and the other bits
//! ```
//!
//! All that is asked of the memory is that an aligned word of eight bytes is written whole or not at all: each change of an
//! entry is one word. An entry that nobody uses has a checksum too, so that any one or two bits that change in a word are seen.
//!
//! The table grows as it is needed and never shrinks: its length is what was needed at most. That is an entry for each
//! chunk with delayed copies, at most as many as the buffer holds, for each whose delayed copies are under way or could not
//! be written, and for each of the writes under way. While a drive is gone, each chunk that is written keeps its entry. It begins with room for [`UNIT`] entries.
//!
//! Source: Yu and others, "Trading capacity for performance in a disk array", OSDI 2000, section 3.4: a table of delayed
//! writes in NVRAM, some 10,000 entries that say no more than where a current copy is. The words are ours, and that a write
//! under way is noted.

use super::Geometry;
use super::control::{check_geometry, put_geometry};
use super::format::{self, COPIES, Damage, Fault, PRELUDE_BYTES, Place, put, u64_at};

/// Most copies that an entry can tell apart.
pub const COPIES_MAX: u8 = 16;
/// Entries that the table grows by: 4 KiB.
const UNIT: u32 = 512;

const COUNT_AT: usize = PRELUDE_BYTES + 16;
const WORD_BYTES: usize = 8;
const ENTRIES_AT: usize = COUNT_AT + WORD_BYTES;

/// Bits of a word before its checksum.
const SUMMED_BITS: u32 = 49;
/// The chunk of an entry that nobody uses: no volume has so many.
const NONE: u32 = u32::MAX;

/// What is known of a chunk that is not settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsettled {
    /// Which chunk.
    pub chunk: u32,
    /// Copies that have the newest data, as bits.
    pub current: u16,
    /// Whether a write is under way, so that the current copies may differ.
    pub writing: bool,
}

const UNUSED: Unsettled = Unsettled {
    chunk: NONE,
    current: 0,
    writing: false,
};

/// Where an entry is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index(u32);

/// The table, as its bytes survive a power cut at any instant.
#[derive(Clone, Debug)]
pub struct CopiesTable {
    bytes: Vec<u8>,
    /// Checksum of the volume, that those of all words go on from.
    seed: u32,
    /// Entries that nobody uses, the next to be used last.
    unused: Vec<Index>,
    /// Everything that was stored, in order: for power cuts between two words.
    #[cfg(test)]
    pub(super) journal: Vec<(usize, [u8; WORD_BYTES])>,
}

impl CopiesTable {
    /// Of a volume whose copies are all current.
    ///
    /// # Panics
    /// It has more copies than an entry can tell apart.
    pub fn new(geometry: &Geometry) -> CopiesTable {
        assert!(geometry.copies <= COPIES_MAX, "{} copies", geometry.copies);
        let mut head = vec![0; COUNT_AT];
        put_geometry(geometry, &mut head);
        format::seal(&mut head, COPIES, geometry.volume, 0);
        head.resize(ENTRIES_AT, 0);
        let mut table = CopiesTable::of(geometry, head);
        table.grow(0);
        table
    }

    fn of(geometry: &Geometry, bytes: Vec<u8>) -> CopiesTable {
        CopiesTable {
            bytes,
            seed: crc32c::crc32c(&geometry.volume.to_le_bytes()),
            unused: Vec::new(),
            #[cfg(test)]
            journal: Vec::new(),
        }
    }

    /// From what was found after a power cut, with the entries in the order of their chunks.
    ///
    /// # Errors
    /// That is not what this volume wrote.
    pub fn recover(
        geometry: &Geometry,
        bytes: Vec<u8>,
    ) -> Result<(CopiesTable, Vec<(Index, Unsettled)>), Damage> {
        format::at_least(bytes.len(), ENTRIES_AT)?;
        let head = &bytes[..COUNT_AT];
        format::unseal(head, COPIES, geometry.volume)
            .and_then(|_| check_geometry(head, geometry))
            .map_err(|fault| fault.at(Place::Nvram(0)))?;
        let mut table = CopiesTable::of(geometry, bytes);
        let count = table.read(COUNT_AT)?.chunk;
        format::at_least(table.bytes.len(), Index(count).at())?;
        // What was grown into when the power went is not counted yet.
        table.bytes.truncate(Index(count).at());
        let mut found = Vec::new();
        for index in (0..count).rev().map(Index) {
            let entry = table.read(index.at())?;
            if entry == UNUSED {
                table.unused.push(index);
                continue;
            }
            let damage = |fault: Fault| fault.at(Place::Nvram(index.at()));
            entry.check(geometry).map_err(damage)?;
            found.push((index, entry));
        }
        found.sort_by_key(|(_, entry)| entry.chunk);
        let twice = |pair: &&[(Index, Unsettled)]| pair[0].1.chunk == pair[1].1.chunk;
        if let Some([_, (index, _)]) = found.windows(2).find(twice) {
            let fault = Fault::outside("entries of one chunk", 2, 1, 1);
            return Err(fault.at(Place::Nvram(index.at())));
        }
        Ok((table, found))
    }

    /// As it would be found now.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Entries in use.
    pub fn len(&self) -> usize {
        self.count() as usize - self.unused.len()
    }

    /// Whether all copies are current.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an entry for a chunk that has none.
    pub fn add(&mut self, entry: &Unsettled) -> Index {
        if self.unused.is_empty() {
            self.grow(self.count());
        }
        let index = self.unused.pop().expect("it has grown");
        self.set(index, entry);
        index
    }

    /// What is known of a chunk has changed.
    #[inline]
    pub fn set(&mut self, index: Index, entry: &Unsettled) {
        let word = self.word(entry);
        self.store(index.at(), word);
    }

    /// All copies of an entry's chunk are current.
    pub fn remove(&mut self, index: Index) {
        self.set(index, &UNUSED);
        self.unused.push(index);
    }

    /// What an entry says.
    ///
    /// # Errors
    /// Its checksum is wrong.
    pub fn entry(&self, index: Index) -> Result<Unsettled, Damage> {
        self.read(index.at())
    }

    fn count(&self) -> u32 {
        ((self.bytes.len() - ENTRIES_AT) / WORD_BYTES) as u32
    }

    /// Makes room behind so many entries. The new ones are there before they are counted.
    fn grow(&mut self, count: u32) {
        let new = count..count + UNIT;
        self.bytes.resize(Index(new.end).at(), 0);
        let unused = self.word(&UNUSED);
        for index in new.clone().rev().map(Index) {
            self.store(index.at(), unused);
            self.unused.push(index);
        }
        let counted = self.word(&Unsettled {
            chunk: new.end,
            ..UNUSED
        });
        self.store(COUNT_AT, counted);
    }

    /// The step that commits, of every change.
    #[inline]
    fn store(&mut self, at: usize, word: u64) {
        put(&mut self.bytes, at, &word.to_le_bytes());
        #[cfg(test)]
        self.journal.push((at, word.to_le_bytes()));
    }

    #[inline]
    fn word(&self, entry: &Unsettled) -> u64 {
        let &Unsettled {
            chunk,
            current,
            writing,
        } = entry;
        let low = u64::from(chunk) | u64::from(current) << 32 | u64::from(writing) << 48;
        low | self.sum(low) << SUMMED_BITS
    }

    /// The checksum of the bits before it.
    #[inline]
    fn sum(&self, low: u64) -> u64 {
        u64::from(crc32c::crc32c_append(self.seed, &low.to_le_bytes())) & 0x7FFF
    }

    fn read(&self, at: usize) -> Result<Unsettled, Damage> {
        let word = u64_at(&self.bytes, at);
        let low = word & ((1 << SUMMED_BITS) - 1);
        let (found, allowed) = ((word >> SUMMED_BITS) as u32, self.sum(low) as u32);
        format::check_sum(found, allowed).map_err(|fault| fault.at(Place::Nvram(at)))?;
        Ok(Unsettled {
            chunk: low as u32,
            current: (low >> 32) as u16,
            writing: low >> 48 == 1,
        })
    }
}

impl Index {
    fn at(self) -> usize {
        ENTRIES_AT + self.0 as usize * WORD_BYTES
    }
}

impl Unsettled {
    /// The checksum is right, so this was written so: not by this volume.
    fn check(&self, geometry: &Geometry) -> Result<(), Fault> {
        let last = u64::from(geometry.chunks) - 1;
        if u64::from(self.chunk) > last {
            return Err(Fault::outside("chunk", self.chunk.into(), 0, last));
        }
        let all = u64::from(u16::MAX >> (COPIES_MAX - geometry.copies));
        let current = u64::from(self.current);
        // Of a chunk without a write under way some copy is stale.
        let most = if self.writing { all } else { all - 1 };
        if current == 0 || current > most {
            return Err(Fault::outside("current copies (as bits)", current, 1, most));
        }
        Ok(())
    }
}
