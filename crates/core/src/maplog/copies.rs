//! Which copies are current, of volumes whose copies lie at fixed places: a table in NVRAM of what
//! is not settled.
//!
//! Nothing of such a volume has to be found again, but two things have to be known after a power
//! cut: which copies were delayed and are stale, and of which chunks a write was under way, so that
//! their copies may differ.
//!
//! ```text
//! 0     head        prelude (sequence = 0) | chunks 4 | slots 4 | chunks in a unit 4 | columns 2 | copies 1 | 0
//! 48    word        entries that there is room for, as the chunk of an entry
//! 56    entries     a word each
//! word  lower 32 bits of the chunk | copies that are current, a bit each | upper bits of the chunk, up to bit 48
//!       | a write is under way 1 | checksum 15, of the volume and the other bits
//! ```
//!
//! A volume of 16 copies uses all 16 bits between the lower half of the chunk and bit 48. One of
//! fewer copies has the rest for the chunk, so that a mirror of two numbers 2^46 chunks
//! ([`chunks_max`]). Whatever the volume's size, a change is one word. If 32 bits number its
//! chunks, these bits are zeros, as in all tables of earlier releases. If they do not, the head is
//! another one, with a magic word of its own, which earlier releases refuse:
//!
//! ```text
//! 0     head        prelude (sequence = 0) | chunks 8 | chunks in a unit 4 | columns 2 | copies 1 | copies of a chunk on one drive 1
//! ```
//!
//! All that is asked of the memory is that an aligned word of eight bytes is written whole or not
//! at all: each change of an entry is one word. An entry that nobody uses has a checksum too, so
//! that any one or two bits that change in a word are seen.
//!
//! The table grows as it is needed and never shrinks: its length is what was needed at most. That
//! is an entry for each chunk with delayed copies, at most as many as the buffer holds, for each
//! whose delayed copies are under way or could not be written, and for each of the writes under
//! way. While a drive is gone, each chunk that is written keeps its entry. It begins with room for
//! [`UNIT`] entries.
//!
//! Source: Yu and others, "Trading capacity for performance in a disk array", OSDI 2000, section
//! 3.4: a table of delayed writes in NVRAM, some 10,000 entries that say no more than where a
//! current copy is. The words are ours, and that a write under way is noted.

use std::num::NonZeroU32;

use super::format::{
    self, COPIES, COPIES_OF_MANY, Damage, DamageAt, Fault, PRELUDE_BYTES, put, u16_at, u32_at,
    u64_at,
};

/// Most copies that an entry can tell apart.
pub const COPIES_MAX: u8 = 16;
/// Entries that the table grows by: 4 KiB.
const UNIT: u32 = 512;

const COUNT_AT: usize = PRELUDE_BYTES + 16;
const WORD_BYTES: usize = 8;
const ENTRIES_AT: usize = COUNT_AT + WORD_BYTES;

/// Bits of a word that say which chunk it is, and which of its copies are current.
const CHUNK_BITS: u32 = 48;
/// Of these, the ones before the copies.
const LOWER_BITS: u32 = 32;
/// Bits of a word before its checksum.
const SUMMED_BITS: u32 = 49;
/// These bits of an entry that nobody uses: one in use has some current copy.
const UNUSED: u64 = u32::MAX as u64;

/// A chunk of a volume whose copies lie at fixed places, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chunk(pub u64);

impl Chunk {
    /// So many chunks, this one first.
    #[inline]
    pub fn run(self, chunks: u32) -> impl Iterator<Item = Chunk> + Clone {
        (self.0..self.plus(chunks).0).map(Chunk)
    }

    /// The chunk so many further on.
    #[inline]
    #[must_use]
    pub fn plus(self, chunks: u32) -> Chunk {
        Chunk(self.0 + u64::from(chunks))
    }
}

/// Chunks that a volume with so many copies of each may have: what the bits of a word number that
/// no copy needs.
pub fn chunks_max(copies: u8) -> u64 {
    1 << (CHUNK_BITS - u32::from(copies))
}

/// What a table is of: a volume whose copies are striped over columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Striped {
    /// Who the volume is: a table of another one is not taken for its own.
    pub volume: u64,
    /// Chunks of the volume.
    pub chunks: u64,
    /// Copies of each.
    pub copies: u8,
    /// Of these, how many lie on one drive.
    pub together: u8,
    /// Drives, or sets of drives with the same chunks, that the volume is striped over.
    pub columns: u16,
    /// Chunks side by side on one column before the next one follows.
    pub unit: u32,
}

impl Striped {
    /// Whether 32 bits do not number its chunks.
    fn is_of_many(&self) -> bool {
        self.chunks > u32::MAX.into()
    }

    /// Copies of chunks on a drive.
    fn slots(&self) -> u64 {
        self.chunks / u64::from(self.columns) * u64::from(self.together)
    }

    /// The head of its table.
    fn head(&self) -> Vec<u8> {
        let mut head = vec![0; COUNT_AT];
        put(&mut head, 40, &self.unit.to_le_bytes());
        put(&mut head, 44, &self.columns.to_le_bytes());
        put(&mut head, 46, &[self.copies]);
        let magic = if self.is_of_many() {
            put(&mut head, 32, &self.chunks.to_le_bytes());
            put(&mut head, 47, &[self.together]);
            COPIES_OF_MANY
        } else {
            put(&mut head, 32, &(self.chunks as u32).to_le_bytes());
            put(&mut head, 36, &(self.slots() as u32).to_le_bytes());
            COPIES
        };
        format::seal(&mut head, magic, self.volume, 0);
        head
    }

    /// The volume has to be what the table with this head was made for.
    fn check(&self, head: &[u8]) -> Result<(), Fault> {
        // As the head itself says it: it may be of a volume of another size.
        let of_many = head.starts_with(&COPIES_OF_MANY);
        let magic = if of_many { COPIES_OF_MANY } else { COPIES };
        format::unseal(head, magic, self.volume)?;
        let (chunks, on_a_drive) = if of_many {
            let of_chunk = ("copies of a chunk on one drive", head[47].into());
            (u64_at(head, 32), (of_chunk, self.together.into()))
        } else {
            let slots = ("slots", u32_at(head, 36).into());
            (u32_at(head, 32).into(), (slots, self.slots()))
        };
        let ((what, found), allowed) = on_a_drive;
        let unit = u32_at(head, 40).into();
        let values = [
            ("chunks", chunks, self.chunks),
            (what, found, allowed),
            ("chunks in a unit", unit, self.unit.into()),
            ("columns", u16_at(head, 44).into(), self.columns.into()),
            ("copies", head[46].into(), self.copies.into()),
        ];
        let other = values.iter().find(|(_, found, allowed)| found != allowed);
        other.map_or(Ok(()), |&(what, found, allowed)| {
            Err(Fault::Geometry {
                what,
                found,
                allowed,
            })
        })
    }
}

/// What is known of a chunk that is not settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsettled {
    /// Which chunk.
    pub chunk: Chunk,
    /// Copies that have the newest data, as bits.
    pub current: u16,
    /// Whether a write is under way, so that the current copies may differ.
    pub writing: bool,
}

/// Where an entry is in the table, counted from 1, so that who has none needs no more memory than
/// who has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index(NonZeroU32);

/// The table, as its bytes survive a power cut at any instant.
#[derive(Clone, Debug)]
pub struct CopiesTable {
    bytes: Vec<u8>,
    /// Copies of each chunk.
    copies: u8,
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
    /// It has more copies than an entry can tell apart, or more chunks than are numbered beside
    /// them.
    pub fn new(of: &Striped) -> CopiesTable {
        assert!(of.copies <= COPIES_MAX, "{} copies", of.copies);
        assert!(of.chunks <= chunks_max(of.copies), "{} chunks", of.chunks);
        let mut table = CopiesTable::of(of, of.head());
        table.bytes.resize(ENTRIES_AT, 0);
        table.grow(0);
        table
    }

    fn of(of: &Striped, bytes: Vec<u8>) -> CopiesTable {
        CopiesTable {
            bytes,
            copies: of.copies,
            seed: crc32c::crc32c(&of.volume.to_le_bytes()),
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
        of: &Striped,
        bytes: Vec<u8>,
    ) -> Result<(CopiesTable, Vec<(Index, Unsettled)>), Damage> {
        format::at_least(bytes.len(), ENTRIES_AT)?;
        of.check(&bytes[..COUNT_AT])
            .map_err(|fault| fault.at(DamageAt::Nvram(0)))?;
        let mut table = CopiesTable::of(of, bytes);
        let count = table.read(COUNT_AT)? as u32;
        let end = ENTRIES_AT + count as usize * WORD_BYTES;
        format::at_least(table.bytes.len(), end)?;
        // What was grown into when the power went is not counted yet.
        table.bytes.truncate(end);
        let mut found = Vec::new();
        for index in (0..count).rev().map(Index::nth) {
            let Some(entry) = table.entry(index)? else {
                table.unused.push(index);
                continue;
            };
            let damage = |fault: Fault| fault.at(DamageAt::Nvram(index.at()));
            entry.check(of).map_err(damage)?;
            found.push((index, entry));
        }
        found.sort_by_key(|(_, entry)| entry.chunk);
        let twice = |pair: &&[(Index, Unsettled)]| pair[0].1.chunk == pair[1].1.chunk;
        if let Some([_, (index, _)]) = found.windows(2).find(twice) {
            let fault = Fault::outside("entries of one chunk", 2, 1, 1);
            return Err(fault.at(DamageAt::Nvram(index.at())));
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
        let word = self.word(entry.bits(self.copies));
        self.store(index.at(), word);
    }

    /// All copies of an entry's chunk are current.
    pub fn remove(&mut self, index: Index) {
        let word = self.word(UNUSED);
        self.store(index.at(), word);
        self.unused.push(index);
    }

    /// What an entry says; nothing if nobody uses it.
    ///
    /// # Errors
    /// Its checksum is wrong.
    pub fn entry(&self, index: Index) -> Result<Option<Unsettled>, Damage> {
        let bits = self.read(index.at())?;
        Ok((bits != UNUSED).then(|| Unsettled::of_bits(bits, self.copies)))
    }

    fn count(&self) -> u32 {
        ((self.bytes.len() - ENTRIES_AT) / WORD_BYTES) as u32
    }

    /// Makes room behind so many entries. The new ones are there before they are counted.
    fn grow(&mut self, count: u32) {
        let end = count + UNIT;
        self.bytes.resize(ENTRIES_AT + end as usize * WORD_BYTES, 0);
        let unused = self.word(UNUSED);
        for index in (count..end).rev().map(Index::nth) {
            self.store(index.at(), unused);
            self.unused.push(index);
        }
        let counted = self.word(end.into());
        self.store(COUNT_AT, counted);
    }

    /// The step that commits, of every change.
    #[inline]
    fn store(&mut self, at: usize, word: u64) {
        put(&mut self.bytes, at, &word.to_le_bytes());
        #[cfg(test)]
        self.journal.push((at, word.to_le_bytes()));
    }

    /// Bits with their checksum.
    #[inline]
    fn word(&self, bits: u64) -> u64 {
        let sum = u64::from(format::sum(self.seed, &[bits])) & 0x7FFF;
        bits | sum << SUMMED_BITS
    }

    /// The bits of a word before its checksum.
    fn read(&self, at: usize) -> Result<u64, Damage> {
        let word = u64_at(&self.bytes, at);
        let bits = word & ((1 << SUMMED_BITS) - 1);
        let sum = |word: u64| (word >> SUMMED_BITS) as u32;
        format::check_sum(sum(word), sum(self.word(bits)))
            .map_err(|fault| fault.at(DamageAt::Nvram(at)))?;
        Ok(bits)
    }
}

impl Index {
    /// The entry before which there are so many.
    fn nth(before: u32) -> Index {
        Index(NonZeroU32::MIN.saturating_add(before))
    }

    fn at(self) -> usize {
        ENTRIES_AT + (self.0.get() as usize - 1) * WORD_BYTES
    }
}

impl Unsettled {
    /// In a word of a volume with so many copies, without the checksum.
    #[inline]
    fn bits(&self, copies: u8) -> u64 {
        let Unsettled {
            chunk: Chunk(chunk),
            current,
            writing,
        } = *self;
        let (upper, lower) = (chunk >> LOWER_BITS, chunk & u64::from(u32::MAX));
        let of_chunk = upper << (LOWER_BITS + u32::from(copies)) | lower;
        of_chunk | u64::from(current) << LOWER_BITS | u64::from(writing) << CHUNK_BITS
    }

    fn of_bits(bits: u64, copies: u8) -> Unsettled {
        let upper = (bits & ((1 << CHUNK_BITS) - 1)) >> (LOWER_BITS + u32::from(copies));
        Unsettled {
            chunk: Chunk(upper << LOWER_BITS | bits & u64::from(u32::MAX)),
            current: (bits >> LOWER_BITS) as u16 & (u16::MAX >> (COPIES_MAX - copies)),
            writing: bits >> CHUNK_BITS == 1,
        }
    }

    /// The checksum is right, so this was written so: not by this volume.
    fn check(&self, of: &Striped) -> Result<(), Fault> {
        let last = of.chunks - 1;
        if self.chunk.0 > last {
            return Err(Fault::outside("chunk", self.chunk.0, 0, last));
        }
        let all = u64::from(u16::MAX >> (COPIES_MAX - of.copies));
        let current = u64::from(self.current);
        // Of a chunk without a write under way some copy is stale.
        let most = if self.writing { all } else { all - 1 };
        if current == 0 || current > most {
            return Err(Fault::outside("current copies (as bits)", current, 1, most));
        }
        Ok(())
    }
}
