//! Of which rows a parity may not hold, and which blocks are bad, of volumes with parity: a table
//! in NVRAM.
//!
//! Nothing of such a volume has to be found again. But where a write was under way data and parity
//! may be of different writes, and where a write has failed, or a drive is gone, the others of a
//! row alone tell what was answered. Both have to be known after a power cut.
//!
//! ```text
//! 0     head        prelude (sequence = 0) | drives 2 | arrays 2 | spares 2 | 2 of zeros | strip 8 | extent 8 | a drive's blocks 8
//! 64    count       checksum 32 bits | entries that there is room for 32
//! 72    entries     three words each
//! word  checksum 32 bits, of the volume and the rest | kind 16 | drive 16
//! word  first block, or seat
//! word  behind the last one
//! ```
//!
//! All that is asked of the memory is that an aligned word of eight bytes is written whole or not
//! at all. The first word of an entry is written last and commits it; of one that nobody uses it is
//! the only word that counts. What changes is added anew before the old entry is removed: found
//! together they say no less than either.
//!
//! The table grows as it is needed and never shrinks: an entry for each stripe that is being
//! written or that no flush has made safe, and for each run of bad blocks.
//!
//! The words are ours; that a controller keeps such a list: Chen and others, "RAID:
//! high-performance, reliable secondary storage", ACM Computing Surveys 1994, section 3.

use super::format::{self, Damage, DamageAt, Fault, PARITIES, PRELUDE_BYTES, put, u64_at};

/// Entries that the table grows by.
const UNIT: usize = 128;
const COUNT_AT: usize = PRELUDE_BYTES + 32;
const WORD_BYTES: usize = 8;
const ENTRY_BYTES: usize = 3 * WORD_BYTES;
const ENTRIES_AT: usize = COUNT_AT + WORD_BYTES;

/// What the table is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parities {
    /// Which volume.
    pub volume: u64,
    /// Its drives.
    pub drives: u16,
    /// Arrays that these make up.
    pub arrays: u16,
    /// Drives of these that have no seat in an array: the last ones.
    pub spares: u16,
    /// Blocks of a strip.
    pub strip: u64,
    /// Stripes on an array before the next one's turn.
    pub extent: u64,
    /// Blocks of a drive.
    pub blocks: u64,
}

/// What is said of blocks of a seat: of the drive that has this place in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They are parities of rows that are being written.
    Writing = 1,
    /// They are bad: a write of them has failed, or they cannot be read and nothing else tells
    /// them.
    Bad = 2,
    /// They are bad, as the drive went that had them.
    Gone = 3,
    /// They are no blocks but a seat, which a spare drive has got.
    Spare = 4,
    /// The same, and the drive had all that could be had.
    Rebuilt = 5,
}

/// Consecutive blocks of a seat, or the seat of a spare, and what is said of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted {
    /// What is said.
    pub kind: Kind,
    /// The seat whose blocks they are; or the spare that has got the seat.
    pub drive: u16,
    /// The first of them.
    pub from: u64,
    /// Behind the last of them.
    pub to: u64,
}

/// Where an entry is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index(u32);

impl Index {
    fn at(self) -> usize {
        ENTRIES_AT + self.0 as usize * ENTRY_BYTES
    }
}

/// The words of an entry, as they are stored.
struct Words {
    kind: u16,
    drive: u16,
    from: u64,
    to: u64,
}

/// The kind of an entry that nobody uses.
const UNUSED: u16 = 0;

/// The table, as its bytes survive a power cut at any instant.
#[derive(Clone, Debug)]
pub struct RowsTable {
    bytes: Vec<u8>,
    /// Checksum of the volume, that those of all entries go on from.
    seed: u32,
    /// Entries that nobody uses, the next to be used last.
    unused: Vec<Index>,
}

fn head(of: &Parities) -> Vec<u8> {
    let mut head = vec![0; COUNT_AT];
    put(&mut head, PRELUDE_BYTES, &of.drives.to_le_bytes());
    put(&mut head, PRELUDE_BYTES + 2, &of.arrays.to_le_bytes());
    put(&mut head, PRELUDE_BYTES + 4, &of.spares.to_le_bytes());
    for (index, word) in [of.strip, of.extent, of.blocks].into_iter().enumerate() {
        put(
            &mut head,
            PRELUDE_BYTES + 8 * (index + 1),
            &word.to_le_bytes(),
        );
    }
    format::seal(&mut head, PARITIES, of.volume, 0);
    head
}

impl RowsTable {
    /// Of a volume all of whose rows are well.
    pub fn new(of: &Parities) -> RowsTable {
        let mut bytes = head(of);
        bytes.resize(ENTRIES_AT, 0);
        let mut table = RowsTable::of(of, bytes);
        table.grow();
        table
    }

    fn of(of: &Parities, bytes: Vec<u8>) -> RowsTable {
        RowsTable {
            bytes,
            seed: crc32c::crc32c(&of.volume.to_le_bytes()),
            unused: Vec::new(),
        }
    }

    /// From what was found after a power cut, with its entries.
    ///
    /// # Errors
    /// That is not what this volume wrote.
    pub fn recover(
        of: &Parities,
        bytes: Vec<u8>,
    ) -> Result<(RowsTable, Vec<(Index, Noted)>), Damage> {
        format::at_least(bytes.len(), ENTRIES_AT)?;
        let at_head = |fault: Fault| fault.at(DamageAt::Nvram(0));
        format::unseal(&bytes[..COUNT_AT], PARITIES, of.volume).map_err(at_head)?;
        let expected = head(of);
        for at in (PRELUDE_BYTES..COUNT_AT).step_by(8) {
            let (found, allowed) = (u64_at(&bytes, at), u64_at(&expected, at));
            if found != allowed {
                let fault = Fault::outside("geometry", found, allowed, allowed);
                return Err(fault.at(DamageAt::Nvram(at)));
            }
        }
        let mut table = RowsTable::of(of, bytes);
        let count = table.count()?;
        let most = ((table.bytes.len() - ENTRIES_AT) / ENTRY_BYTES) as u64;
        if u64::from(count) > most {
            let fault = Fault::outside("entries", count.into(), 0, most);
            return Err(fault.at(DamageAt::Nvram(COUNT_AT)));
        }
        // What was grown into when the power went is not counted yet.
        table.bytes.truncate(Index(count).at());
        let mut found = Vec::new();
        for index in (0..count).rev().map(Index) {
            let words = table.read(index.at())?;
            match noted(&words, of).map_err(|fault| fault.at(DamageAt::Nvram(index.at())))? {
                Some(noted) => found.push((index, noted)),
                None => table.unused.push(index),
            }
        }
        Ok((table, found))
    }

    /// As it would be found now.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Entries in use.
    pub fn len(&self) -> usize {
        (self.bytes.len() - ENTRIES_AT) / ENTRY_BYTES - self.unused.len()
    }

    /// Whether all rows are well.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an entry.
    pub fn add(&mut self, noted: &Noted) -> Index {
        if self.unused.is_empty() {
            self.grow();
        }
        let index = self.unused.pop().expect("it has grown");
        let Noted {
            kind,
            drive,
            from,
            to,
        } = *noted;
        let kind = kind as u16;
        self.store(
            index.at(),
            &Words {
                kind,
                drive,
                from,
                to,
            },
        );
        index
    }

    /// What an entry says is no longer so.
    pub fn remove(&mut self, index: Index) {
        self.store_unused(index);
        self.unused.push(index);
    }

    fn store_unused(&mut self, index: Index) {
        let word = u64::from(self.sum(&[])) | u64::from(UNUSED) << 32;
        put(&mut self.bytes, index.at(), &word.to_le_bytes());
    }

    /// Makes room. The new entries are there before they are counted, by one word.
    fn grow(&mut self) {
        let count = (self.bytes.len() - ENTRIES_AT) / ENTRY_BYTES;
        let end = count + UNIT;
        self.bytes.resize(Index(end as u32).at(), 0);
        for index in (count as u32..end as u32).rev().map(Index) {
            self.store_unused(index);
            self.unused.push(index);
        }
        let count = end as u64;
        let word = u64::from(self.sum(&[count])) | count << 32;
        put(&mut self.bytes, COUNT_AT, &word.to_le_bytes());
    }

    /// Entries that there is room for.
    fn count(&self) -> Result<u32, Damage> {
        let word = u64_at(&self.bytes, COUNT_AT);
        let count = word >> 32;
        let allowed = self.sum(&[count]);
        format::check_sum(word as u32, allowed)
            .map_err(|fault| fault.at(DamageAt::Nvram(COUNT_AT)))?;
        Ok(count as u32)
    }

    /// The last word that is written commits.
    fn store(&mut self, at: usize, words: &Words) {
        let Words {
            kind,
            drive,
            from,
            to,
        } = *words;
        put(&mut self.bytes, at + 8, &from.to_le_bytes());
        put(&mut self.bytes, at + 16, &to.to_le_bytes());
        let low = u64::from(kind) | u64::from(drive) << 16;
        let word = u64::from(self.sum(&[low, from, to])) | low << 32;
        put(&mut self.bytes, at, &word.to_le_bytes());
    }

    fn sum(&self, words: &[u64]) -> u32 {
        format::sum(self.seed, words)
    }

    fn read(&self, at: usize) -> Result<Words, Damage> {
        let word = u64_at(&self.bytes, at);
        let (low, from, to) = (
            word >> 32,
            u64_at(&self.bytes, at + 8),
            u64_at(&self.bytes, at + 16),
        );
        let words = Words {
            kind: low as u16,
            drive: (low >> 16) as u16,
            from,
            to,
        };
        let allowed = match words.kind {
            UNUSED => self.sum(&[]),
            _ => self.sum(&[low, from, to]),
        };
        format::check_sum(word as u32, allowed).map_err(|fault| fault.at(DamageAt::Nvram(at)))?;
        Ok(words)
    }
}

/// What an entry says; none if nobody uses it. The checksum is right, so this was written so: not
/// by this volume, if it cannot be.
fn noted(words: &Words, of: &Parities) -> Result<Option<Noted>, Fault> {
    let kind = match words.kind {
        UNUSED => return Ok(None),
        1 => Kind::Writing,
        2 => Kind::Bad,
        3 => Kind::Gone,
        4 => Kind::Spare,
        5 => Kind::Rebuilt,
        found => return Err(Fault::outside("kind of entry", found.into(), 0, 5)),
    };
    let Words {
        drive, from, to, ..
    } = *words;
    let (drives, seats) = (u64::from(of.drives), u64::from(of.drives - of.spares));
    let (drives, most) = match kind {
        Kind::Spare | Kind::Rebuilt => (seats..drives, seats),
        Kind::Writing | Kind::Bad | Kind::Gone => (0..seats, of.blocks),
    };
    if !drives.contains(&drive.into()) {
        let (first, last) = (drives.start, drives.end.saturating_sub(1));
        return Err(Fault::outside("drive", drive.into(), first, last));
    }
    if from >= to || to > most {
        return Err(Fault::outside("end of a run", to, from + 1, most));
    }
    Ok(Some(Noted {
        kind,
        drive,
        from,
        to,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const OF: Parities = Parities {
        volume: 7,
        drives: 7,
        arrays: 1,
        spares: 2,
        strip: 8,
        extent: 1,
        blocks: 1_000,
    };

    fn any(rng: &mut Rng) -> Noted {
        if rng.chance(0.1) {
            let seat = rng.below(5);
            return Noted {
                kind: [Kind::Spare, Kind::Rebuilt][rng.below(2) as usize],
                drive: 5 + rng.below(2) as u16,
                from: seat,
                to: seat + 1,
            };
        }
        let from = rng.below(900);
        Noted {
            kind: [Kind::Writing, Kind::Bad, Kind::Gone][rng.below(3) as usize],
            drive: rng.below(5) as u16,
            from,
            to: from + 1 + rng.below(100),
        }
    }

    fn found(table: &RowsTable) -> Vec<(u32, Noted)> {
        let (again, found) = RowsTable::recover(&OF, table.bytes().to_vec()).expect("it is sound");
        assert_eq!(again.bytes(), table.bytes());
        assert_eq!(again.len(), table.len());
        let mut found: Vec<_> = found
            .into_iter()
            .map(|(index, one)| (index.0, one))
            .collect();
        found.sort_unstable_by_key(|(index, _)| *index);
        found
    }

    #[test]
    fn what_was_noted_is_found() {
        let mut rng = Rng::stream(1, "rows");
        let mut table = RowsTable::new(&OF);
        let mut expected: Vec<(u32, Noted)> = Vec::new();
        for _ in 0..2_000 {
            if expected.is_empty() || rng.chance(0.6) {
                let noted = any(&mut rng);
                expected.push((table.add(&noted).0, noted));
            } else {
                let at = rng.below(expected.len() as u64) as usize;
                table.remove(Index(expected.swap_remove(at).0));
            }
        }
        expected.sort_unstable_by_key(|(index, _)| *index);
        assert!(expected.len() > UNIT, "it has grown");
        assert_eq!(found(&table), expected);
    }

    /// Of what was there one word changes, the count: what is found has all entries, whether that
    /// was written or not.
    #[test]
    fn a_power_cut_while_the_table_grows_leaves_all_entries() {
        let mut rng = Rng::stream(3, "rows");
        let mut table = RowsTable::new(&OF);
        (0..UNIT).for_each(|_| _ = table.add(&any(&mut rng)));
        let (before, expected) = (table.bytes().to_vec(), found(&table));
        table.grow();
        let mut bytes = table.bytes().to_vec();
        let words = (0..before.len()).step_by(WORD_BYTES);
        let differs = |at: &usize| before[*at..*at + WORD_BYTES] != bytes[*at..*at + WORD_BYTES];
        let changed: Vec<usize> = words.filter(differs).collect();
        assert_eq!(changed, [COUNT_AT]);
        bytes[..before.len()].copy_from_slice(&before);
        let (again, _) = RowsTable::recover(&OF, bytes).expect("it is sound");
        assert_eq!(found(&again), expected);
        assert_eq!(found(&table), expected);
    }

    /// Words two and three of an unused entry do not count: they are of an entry that no power cut
    /// has committed.
    #[test]
    fn a_bit_that_changes_is_seen_where_it_counts() {
        let mut rng = Rng::stream(2, "rows");
        let mut table = RowsTable::new(&OF);
        (0..3).for_each(|_| _ = table.add(&any(&mut rng)));
        let used = Index(3).at();
        for bit in 0..used * 8 {
            let mut bytes = table.bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(RowsTable::recover(&OF, bytes).is_err(), "bit {bit}");
        }
        for cut in [0, 10, COUNT_AT, used] {
            let bytes = table.bytes()[..cut].to_vec();
            assert!(RowsTable::recover(&OF, bytes).is_err(), "{cut} bytes");
        }
        let other = Parities { strip: 16, ..OF };
        assert!(RowsTable::recover(&other, table.bytes().to_vec()).is_err());
    }
}
