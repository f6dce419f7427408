//! Files, directories and their blocks: where each block lies, once that is known, and which block
//! has the pointer to it.
//!
//! An inode points to twelve blocks itself, through one indirect block to 1,024 more, and through a
//! doubly indirect one to 1,024 indirect blocks. A directory is a file of entries; one that was
//! removed leaves a gap, which the next one fills. O(1) for a block.

use super::shape::{BYTES, INODES};

/// A file or a directory, numbered in the order in which they were made.
pub(super) type FileId = u32;

/// Pointers in an inode, and in an indirect block.
const DIRECT: u32 = 12;
const POINTERS: u32 = 1_024;
/// The indirect blocks that an inode points to: the single one, and the root of the double ones,
/// whose leaves have the numbers behind it.
const SINGLE: u32 = 0;
const ROOT: u32 = 1;
/// Blocks that a file may have.
pub(super) const BLOCKS_MAX: u64 = DIRECT as u64 + POINTERS as u64 + (POINTERS as u64).pow(2);
/// Entries of a block of a directory, with names of some 16 letters.
pub(super) const ENTRIES: u32 = 170;

/// A block that may have to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// Of a file or directory, counted from its begin.
    Data(FileId, u32),
    /// With pointers to blocks of a file.
    Indirect(FileId, u32),
    /// With 64 inodes, counted through all groups.
    Inodes(u64),
    /// With bits for the blocks of a group.
    BitsOfBlocks(u64),
    /// With bits for its inodes.
    BitsOfInodes(u64),
    /// Of a log: with where blocks of inodes lie.
    Map(u64),
    /// With where the blocks of the map lie.
    Checkpoint,
    /// With what the blocks of a write are, before them.
    Summary,
}

impl Key {
    /// The file that it belongs to, if it is of one.
    pub(super) fn file(self) -> Option<FileId> {
        match self {
            Key::Data(file, _) | Key::Indirect(file, _) => Some(file),
            _ => None,
        }
    }

    /// How far it is above data: what points to a block is above it.
    pub(super) fn level(self) -> u8 {
        match self {
            Key::Data(..) => 0,
            Key::Indirect(_, ROOT) => 2,
            Key::Indirect(..) => 1,
            Key::Inodes(_) => 3,
            _ => 4,
        }
    }

    /// Whether it is what users store, or a directory; the rest describes it.
    pub(super) fn is_data(self) -> bool {
        matches!(self, Key::Data(..))
    }

    /// Whether it points to other blocks.
    pub(super) fn has_pointers(self) -> bool {
        matches!(self, Key::Indirect(..) | Key::Inodes(_))
    }
}

/// Entries of a directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    /// Places for entries so far, and gaps among them.
    pub places: u32,
    pub gaps: Vec<u32>,
}

/// A file or a directory.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub inode: u64,
    /// Who made it.
    pub process: u64,
    pub bytes: u64,
    /// Whether it has not been removed.
    pub live: bool,
    /// Where its blocks lie, as far as that is known.
    pub blocks: Vec<Option<u64>>,
    /// Likewise its indirect blocks.
    pub indirect: Vec<Option<u64>>,
    /// Where the block lies that was given a place last.
    pub last: Option<u64>,
    /// Of a directory.
    pub entries: Option<Entries>,
    /// The directory that has its entry, and which that is; the root has none.
    pub entry: Option<(FileId, u32)>,
}

impl File {
    /// A file without blocks, which no directory has.
    pub(super) fn empty(inode: u64, process: u64) -> File {
        File {
            inode,
            process,
            bytes: 0,
            live: true,
            blocks: Vec::new(),
            indirect: Vec::new(),
            last: None,
            entries: None,
            entry: None,
        }
    }

    /// Where one of its blocks lies.
    pub(super) fn at(&self, key: Key) -> Option<u64> {
        match key {
            Key::Data(_, index) => self.blocks[index as usize],
            Key::Indirect(_, index) => self.indirect[index as usize],
            _ => None,
        }
    }

    /// One of its blocks lies here.
    pub(super) fn place(&mut self, key: Key, at: u64) {
        self.set(key, Some(at));
        self.last = Some(at);
    }

    /// One of its blocks lies here, or nowhere.
    pub(super) fn set(&mut self, key: Key, at: Option<u64>) {
        match key {
            Key::Data(_, index) => self.blocks[index as usize] = at,
            Key::Indirect(_, index) => self.indirect[index as usize] = at,
            _ => panic!("{key:?} is of no file"),
        }
    }

    /// What has the pointer to one of its blocks.
    pub(super) fn parent(&self, key: Key) -> Key {
        let inodes = Key::Inodes(self.inode / INODES);
        match key {
            Key::Data(_, index) if index < DIRECT => inodes,
            Key::Data(file, index) if index < DIRECT + POINTERS => Key::Indirect(file, SINGLE),
            Key::Data(file, index) => {
                Key::Indirect(file, ROOT + 1 + (index - DIRECT - POINTERS) / POINTERS)
            }
            Key::Indirect(_, SINGLE | ROOT) => inodes,
            Key::Indirect(file, _) => Key::Indirect(file, ROOT),
            _ => panic!("{key:?} is of no file"),
        }
    }

    /// All its blocks, in the order in which they are made.
    pub(super) fn keys(&self, file: FileId) -> impl Iterator<Item = Key> + use<> {
        let (blocks, indirect) = (self.blocks.len() as u32, self.indirect.len() as u32);
        let indirect = (0..indirect).map(move |index| Key::Indirect(file, index));
        indirect.chain((0..blocks).map(move |index| Key::Data(file, index)))
    }

    /// Pieces in which its blocks lie, as far as these have a place.
    pub(super) fn pieces(&self) -> u64 {
        let placed: Vec<u64> = self.blocks.iter().copied().flatten().collect();
        let apart = placed.windows(2).filter(|pair| pair[0] + 1 != pair[1]);
        apart.count() as u64 + u64::from(!placed.is_empty())
    }
}

/// Blocks of so many bytes.
pub(super) fn blocks_of(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES)
}

/// Indirect blocks of a file of so many blocks.
pub(super) fn indirect_of(blocks: u64) -> u64 {
    let behind = |count: u32| blocks.saturating_sub(u64::from(count));
    match (behind(DIRECT), behind(DIRECT + POINTERS)) {
        (0, _) => 0,
        (_, 0) => 1,
        (_, many) => 2 + many.div_ceil(u64::from(POINTERS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_stand_where_ext2_has_them() {
        let counts = [0, 12, 13, 1_036, 1_037, 2_060, 2_061].map(indirect_of);
        assert_eq!(counts, [0, 0, 1, 1, 3, 3, 4]);
        assert_eq!([1, 4_096, 4_097].map(blocks_of), [1, 1, 2]);
        let file = File {
            inode: 130,
            process: 0,
            bytes: 0,
            live: true,
            blocks: vec![Some(7), Some(8), None, Some(10), Some(3)],
            indirect: Vec::new(),
            last: None,
            entries: None,
            entry: None,
        };
        let parent = |index| file.parent(Key::Data(5, index));
        assert_eq!(parent(11), Key::Inodes(2));
        assert_eq!(
            (parent(12), parent(1_035)),
            (Key::Indirect(5, 0), Key::Indirect(5, 0))
        );
        assert_eq!(
            (parent(1_036), parent(2_060)),
            (Key::Indirect(5, 2), Key::Indirect(5, 3))
        );
        assert_eq!(file.parent(Key::Indirect(5, 3)), Key::Indirect(5, 1));
        assert_eq!(file.parent(Key::Indirect(5, 1)), Key::Inodes(2));
        assert_eq!(file.pieces(), 3);
    }
}
