//! How a file system is laid out: block groups of equal size, one behind the other, each with its
//! own inodes.
//!
//! A group begins with places for the superblock and the descriptors, which are not written here,
//! then a block of bits for its blocks, one for its inodes, and the inodes, 64 to a block, one
//! inode for two blocks as `mke2fs` made them. All behind that is for data. A sixteenth of a group
//! is a mini-group: where a process begins to look for room. What is left of a drive behind its
//! last whole group is not used.

/// Blocks of 512 bytes that a block of the file system has.
pub const SECTORS: u64 = 8;
/// Bytes that it has.
pub const BYTES: u64 = 4_096;
/// Inodes in a block.
pub const INODES: u64 = 64;
/// Mini-groups of a group.
pub const MINI_GROUPS: u64 = 16;
/// The least that a group may have, and what its size is a multiple of: so its inodes fill blocks.
pub const GROUP_STEP: u64 = 2 * INODES;
/// Blocks that a block of bits can tell of: the most that a group may have.
pub const GROUP_MAX: u64 = 8 * BYTES;

/// Superblock, descriptors, bits of blocks, bits of inodes.
const FRONT: u64 = 4;

/// Where things lie, in blocks of the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    group_blocks: u64,
    groups: u64,
}

impl Shape {
    /// Groups of so many blocks on a volume of so many; none if it has no room for one.
    pub fn new(group_blocks: u64, blocks: u64) -> Option<Shape> {
        assert!(
            group_blocks.is_multiple_of(GROUP_STEP)
                && (GROUP_STEP..=GROUP_MAX).contains(&group_blocks)
        );
        let groups = blocks / group_blocks;
        (groups > 0).then_some(Shape {
            group_blocks,
            groups,
        })
    }

    /// How many groups there are.
    pub fn groups(&self) -> u64 {
        self.groups
    }

    /// Blocks of a group.
    pub fn group_blocks(&self) -> u64 {
        self.group_blocks
    }

    /// Inodes of a group.
    pub fn group_inodes(&self) -> u64 {
        self.group_blocks / 2
    }

    /// Blocks at the front of each group that are not for data.
    pub fn front(&self) -> u64 {
        FRONT + self.group_inodes() / INODES
    }

    /// The group of a block.
    pub fn group_of(&self, block: u64) -> u64 {
        block / self.group_blocks
    }

    /// The mini-group of a block within its group.
    pub fn mini_of(&self, block: u64) -> u64 {
        block % self.group_blocks / self.mini_blocks()
    }

    /// Blocks of a mini-group.
    pub fn mini_blocks(&self) -> u64 {
        self.group_blocks / MINI_GROUPS
    }

    /// The first block of a group.
    pub fn begin(&self, group: u64) -> u64 {
        group * self.group_blocks
    }

    /// Where the bits of a group's blocks lie.
    pub fn bits_of_blocks(&self, group: u64) -> u64 {
        self.begin(group) + 2
    }

    /// Where the bits of its inodes lie.
    pub fn bits_of_inodes(&self, group: u64) -> u64 {
        self.begin(group) + 3
    }

    /// Where a block of inodes lies; these blocks are counted through all groups.
    pub fn inodes_at(&self, number: u64) -> u64 {
        let of_group = self.group_inodes() / INODES;
        self.begin(number / of_group) + FRONT + number % of_group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_follow_each_other_and_begin_with_what_is_no_data() {
        assert_eq!(Shape::new(256, 255), None);
        let shape = Shape::new(256, 800).unwrap();
        assert_eq!(
            (shape.groups(), shape.group_inodes(), shape.front()),
            (3, 128, 6)
        );
        assert_eq!(
            (shape.bits_of_blocks(1), shape.bits_of_inodes(1)),
            (258, 259)
        );
        let inodes: Vec<u64> = (0..6).map(|number| shape.inodes_at(number)).collect();
        assert_eq!(inodes, [4, 5, 260, 261, 516, 517]);
        assert_eq!(
            (shape.group_of(511), shape.mini_of(511), shape.mini_of(272)),
            (1, 15, 1)
        );
    }
}
