//! Which blocks a write buffer has: a table in NVRAM, beside the bytes of these blocks.
//!
//! After a power cut the buffer goes on with what the table says. So an entry is there before the
//! write that it is of is answered, and goes when what it is of is on the medium.
//!
//! ```text
//! 0     head        prelude (sequence = 0) | blocks of the volume 8 | pages that the buffer has room for 8
//! 48    count       checksum 32 bits | entries that there is room for
//! 56    entries     two words each
//! word  checksum 32 bits, of the volume and the rest | blocks 8, a bit for each | zeros
//! word  page
//! ```
//!
//! All that is asked of the memory is that an aligned word of eight bytes is written whole or not
//! at all. The first word of an entry is written last and commits it; of one that nobody uses it is
//! the only word that counts. No page has two entries. The table grows as it is needed and never
//! shrinks: an entry for each page that is taken.
//!
//! The words are ours. O(1) for each change of a page.

use super::format::{self, BUFFERED, Damage, DamageAt, Fault, PRELUDE_BYTES, put, u64_at};

/// Entries that the table grows by.
const UNIT: usize = 128;
const COUNT_AT: usize = PRELUDE_BYTES + 16;
const WORD_BYTES: usize = 8;
const ENTRY_BYTES: usize = 2 * WORD_BYTES;
const ENTRIES_AT: usize = COUNT_AT + WORD_BYTES;

/// What an entry that nobody uses has in the place of blocks.
const UNUSED: u64 = 0;

/// What the table is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whose {
    /// Which volume.
    pub volume: u64,
    /// Its blocks.
    pub blocks: u64,
    /// Blocks of a page, at most eight.
    pub page: u64,
}

/// Where an entry is in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Index(u32);

impl Index {
    fn at(self) -> usize {
        ENTRIES_AT + self.0 as usize * ENTRY_BYTES
    }
}

/// A page of which the buffer has something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Which page.
    pub page: u64,
    /// Which of its blocks, a bit for each.
    pub blocks: u8,
}

/// The table, as its bytes survive a power cut at any instant.
#[derive(Clone, Debug)]
pub struct BufferTable {
    bytes: Vec<u8>,
    /// Checksum of the volume, that those of all entries go on from.
    seed: u32,
    /// Entries that nobody uses, the next to be used last.
    unused: Vec<Index>,
    /// Everything that was stored, in order: for power cuts between two words.
    #[cfg(test)]
    journal: Vec<(usize, u64)>,
}

impl BufferTable {
    /// Of a buffer that has nothing, with room for so many pages.
    pub fn new(of: &Whose, room: u64) -> BufferTable {
        let mut head = vec![0; COUNT_AT];
        put(&mut head, PRELUDE_BYTES, &of.blocks.to_le_bytes());
        put(&mut head, PRELUDE_BYTES + 8, &room.to_le_bytes());
        format::seal(&mut head, BUFFERED, of.volume, 0);
        head.resize(ENTRIES_AT, 0);
        let mut table = BufferTable::of(of, head);
        table.grow();
        table
    }

    fn of(of: &Whose, bytes: Vec<u8>) -> BufferTable {
        BufferTable {
            bytes,
            seed: crc32c::crc32c(&of.volume.to_le_bytes()),
            unused: Vec::new(),
            #[cfg(test)]
            journal: Vec::new(),
        }
    }

    /// From what was found after a power cut, with its entries by page.
    ///
    /// # Errors
    /// That is not what a buffer above this volume wrote.
    pub fn recover(
        of: &Whose,
        bytes: Vec<u8>,
    ) -> Result<(BufferTable, Vec<(Index, Kept)>), Damage> {
        format::at_least(bytes.len(), ENTRIES_AT)?;
        let at_head = |fault: Fault| fault.at(DamageAt::Nvram(0));
        format::unseal(&bytes[..COUNT_AT], BUFFERED, of.volume).map_err(at_head)?;
        let blocks = u64_at(&bytes, PRELUDE_BYTES);
        if blocks != of.blocks {
            let fault = Fault::outside("blocks of the volume", blocks, of.blocks, of.blocks);
            return Err(fault.at(DamageAt::Nvram(PRELUDE_BYTES)));
        }
        let mut table = BufferTable::of(of, bytes);
        let count = table.read(COUNT_AT, 0)?;
        let most = ((table.bytes.len() - ENTRIES_AT) / ENTRY_BYTES) as u64;
        if count > most {
            let fault = Fault::outside("entries", count, 0, most);
            return Err(fault.at(DamageAt::Nvram(COUNT_AT)));
        }
        // What was grown into when the power went is not counted yet.
        table.bytes.truncate(Index(count as u32).at());
        let mut found = Vec::new();
        for index in (0..count as u32).rev().map(Index) {
            let page = u64_at(&table.bytes, index.at() + WORD_BYTES);
            match table.read(index.at(), page)? {
                UNUSED => table.unused.push(index),
                low => found.push((index, kept(low, page, of, index)?)),
            }
        }
        found.sort_unstable_by_key(|(_, kept)| kept.page);
        let twice = |pair: &&[(Index, Kept)]| pair[0].1.page == pair[1].1.page;
        if let Some([_, (index, _)]) = found.windows(2).find(twice) {
            let fault = Fault::outside("entries of one page", 2, 1, 1);
            return Err(fault.at(DamageAt::Nvram(index.at())));
        }
        let room = table.room();
        if found.len() as u64 > room {
            let fault = Fault::outside("pages", found.len() as u64, 0, room);
            return Err(fault.at(DamageAt::Nvram(ENTRIES_AT)));
        }
        Ok((table, found))
    }

    /// As it would be found now.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Pages that its buffer has room for.
    pub fn room(&self) -> u64 {
        u64_at(&self.bytes, PRELUDE_BYTES + 8)
    }

    /// Entries in use.
    pub fn len(&self) -> usize {
        (self.bytes.len() - ENTRIES_AT) / ENTRY_BYTES - self.unused.len()
    }

    /// Whether the buffer has nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The buffer has something of a page of which it had nothing.
    #[inline]
    pub fn add(&mut self, kept: &Kept) -> Index {
        if self.unused.is_empty() {
            self.grow();
        }
        let index = self.unused.pop().expect("it has grown");
        self.set(index, kept);
        index
    }

    /// What the buffer has of the page of an entry has changed.
    #[inline]
    pub fn set(&mut self, index: Index, kept: &Kept) {
        self.store(index.at() + WORD_BYTES, kept.page);
        self.commit(index.at(), kept.blocks.into(), kept.page);
    }

    /// The buffer has nothing of the page of an entry any more.
    #[inline]
    pub fn remove(&mut self, index: Index) {
        self.store_unused(index);
        self.unused.push(index);
    }

    /// What an entry says, as it would be found; none if it is damaged or nobody uses it.
    pub fn entry(&self, index: Index) -> Option<Kept> {
        let page = u64_at(&self.bytes, index.at() + WORD_BYTES);
        let low = self.read(index.at(), page).ok()?;
        let blocks = low as u8;
        (low != UNUSED).then_some(Kept { page, blocks })
    }

    fn store_unused(&mut self, index: Index) {
        self.commit(index.at(), UNUSED, 0);
    }

    /// Makes room. The new entries are there before they are counted.
    fn grow(&mut self) {
        let count = (self.bytes.len() - ENTRIES_AT) / ENTRY_BYTES;
        let end = count + UNIT;
        self.bytes.resize(Index(end as u32).at(), 0);
        for index in (count as u32..end as u32).rev().map(Index) {
            self.store_unused(index);
            self.unused.push(index);
        }
        self.commit(COUNT_AT, end as u64, 0);
    }

    /// The first word of an entry, or the only one. All that changes is committed by it.
    #[inline]
    fn commit(&mut self, at: usize, low: u64, second: u64) {
        self.store(at, u64::from(self.sum(low, second)) | low << 32);
    }

    #[inline]
    fn store(&mut self, at: usize, word: u64) {
        put(&mut self.bytes, at, &word.to_le_bytes());
        #[cfg(test)]
        self.journal.push((at, word));
    }

    #[inline]
    fn sum(&self, low: u64, second: u64) -> u32 {
        format::sum(self.seed, &[low, second])
    }

    /// What a first word says, with this second one.
    fn read(&self, at: usize, second: u64) -> Result<u64, Damage> {
        let word = u64_at(&self.bytes, at);
        let low = word >> 32;
        // What nobody uses is not of the word that is left behind it.
        let second = if low == UNUSED { 0 } else { second };
        let allowed = self.sum(low, second);
        format::check_sum(word as u32, allowed).map_err(|fault| fault.at(DamageAt::Nvram(at)))?;
        Ok(low)
    }
}

/// What an entry says. Its checksum is right, so this was written so: not above this volume, if it
/// cannot be.
fn kept(low: u64, page: u64, of: &Whose, index: Index) -> Result<Kept, Damage> {
    let at = |fault: Fault| Err(fault.at(DamageAt::Nvram(index.at())));
    let last = of.blocks.div_ceil(of.page).saturating_sub(1);
    if page > last {
        return at(Fault::outside("page", page, 0, last));
    }
    let all = (1 << (of.blocks - page * of.page).min(of.page)) - 1;
    if low > all {
        return at(Fault::outside("blocks of a page (as bits)", low, 1, all));
    }
    let blocks = low as u8;
    Ok(Kept { page, blocks })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use std::collections::BTreeMap;

    const OF: Whose = Whose {
        volume: 7,
        blocks: 8 * 500 + 3,
        page: 8,
    };

    fn found(table: &BufferTable) -> Vec<Kept> {
        let (again, found) =
            BufferTable::recover(&OF, table.bytes().to_vec()).expect("it is sound");
        assert_eq!((again.bytes(), again.len()), (table.bytes(), table.len()));
        let entries = found.iter().map(|(index, _)| again.entry(*index));
        assert!(entries.eq(found.iter().map(|(_, kept)| Some(*kept))));
        found.into_iter().map(|(_, kept)| kept).collect()
    }

    #[test]
    fn what_is_there_is_found() {
        let mut rng = Rng::stream(1, "buffered");
        let mut table = BufferTable::new(&OF, 400);
        let mut expected: BTreeMap<u64, (Index, u8)> = BTreeMap::new();
        for step in 0..3_000 {
            let page = rng.below(501);
            let blocks = 1 + rng.below(if page == 500 { 7 } else { 255 }) as u8;
            let kept = Kept { page, blocks };
            match expected.get(&page).copied() {
                Some((index, _)) if rng.chance(0.4) => {
                    table.remove(index);
                    expected.remove(&page);
                }
                Some((index, _)) => {
                    table.set(index, &kept);
                    expected.insert(page, (index, blocks));
                }
                None if expected.len() == 400 => {}
                None => _ = expected.insert(page, (table.add(&kept), blocks)),
            }
            if step % 50 == 0 {
                let pages = expected.iter().map(|(page, (_, blocks))| (*page, *blocks));
                let pages: Vec<Kept> = pages.map(|(page, blocks)| Kept { page, blocks }).collect();
                assert_eq!(found(&table), pages);
            }
        }
        assert!(expected.len() > UNIT, "it has grown");
    }

    /// What was there before a change, or after it; and no other page is concerned.
    #[test]
    fn a_power_cut_between_two_words_leaves_all_of_a_change_or_nothing() {
        let mut rng = Rng::stream(2, "buffered");
        let mut table = BufferTable::new(&OF, 400);
        let mut there: BTreeMap<u64, Index> = BTreeMap::new();
        let mut cuts = 0;
        for _ in 0..1_500 {
            table.journal.clear();
            let mut bytes = table.bytes().to_vec();
            let before = found(&table);
            let (page, blocks) = (rng.below(400), 1 + rng.below(255) as u8);
            let kept = Kept { page, blocks };
            match there.get(&page).copied() {
                Some(index) if rng.chance(0.3) => {
                    table.remove(index);
                    there.remove(&page);
                }
                Some(index) => table.set(index, &kept),
                None => _ = there.insert(page, table.add(&kept)),
            }
            let after = found(&table);
            bytes.resize(table.bytes().len(), 0);
            for (at, word) in &table.journal {
                put(&mut bytes, *at, &word.to_le_bytes());
                let (_, found) = BufferTable::recover(&OF, bytes.clone()).expect("it is sound");
                let found: Vec<Kept> = found.into_iter().map(|(_, kept)| kept).collect();
                assert!(found == before || found == after, "{found:?}");
                cuts += 1;
            }
            assert_eq!(bytes, table.bytes());
        }
        assert!(there.len() > 2 * UNIT, "it has grown: {cuts}");
    }

    /// The second word of an unused entry does not count: it is of an entry that no power cut has
    /// committed.
    #[test]
    fn a_bit_that_changes_is_seen_where_it_counts() {
        let mut table = BufferTable::new(&OF, 9);
        for page in [3, 500, 7] {
            table.add(&Kept { page, blocks: 5 });
        }
        let used = Index(3).at();
        for bit in 0..used * 8 {
            let mut bytes = table.bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(BufferTable::recover(&OF, bytes).is_err(), "bit {bit}");
        }
        for cut in [0, 10, COUNT_AT, used] {
            let bytes = table.bytes()[..cut].to_vec();
            assert!(BufferTable::recover(&OF, bytes).is_err(), "{cut} bytes");
        }
    }

    /// Soundly written, but not above this volume.
    #[test]
    fn what_cannot_be_of_this_volume_is_told() {
        let refused = |kept: &[Kept], of: &Whose| {
            let mut table = BufferTable::new(&OF, 2);
            kept.iter().for_each(|kept| _ = table.add(kept));
            let error = BufferTable::recover(of, table.bytes().to_vec()).err();
            error.expect("it is refused").to_string()
        };
        let kept = |page, blocks| Kept { page, blocks };
        let other = Whose { volume: 8, ..OF };
        assert!(refused(&[], &other).contains("belongs to volume"));
        let other = Whose {
            blocks: 4_000,
            ..OF
        };
        let says = "blocks of the volume 4003, allowed is 4000";
        assert!(refused(&[], &other).contains(says));
        let says = "page 501, allowed is 0 to 500";
        assert!(refused(&[kept(501, 1)], &OF).contains(says));
        let says = "blocks of a page (as bits) 8, allowed is 1 to 7";
        assert!(refused(&[kept(500, 8)], &OF).contains(says));
        let says = "entries of one page 2, allowed is 1";
        assert!(refused(&[kept(4, 1), kept(4, 2)], &OF).contains(says));
        let three = [kept(1, 1), kept(2, 1), kept(3, 1)];
        assert!(refused(&three, &OF).contains("pages 3, allowed is 0 to 2"));
    }
}
