//! What a drive is made of, and how its pieces are numbered.
//!
//! Channels have dies, dies have planes, planes have blocks, blocks have pages. A *block* here is
//! what is erased together, not 512 bytes. A *unit* is what the map knows a place of, mostly 4 KiB;
//! a page has one or more of them. A *plane* is what has free blocks and write points of its own:
//! one of a die's planes, or all of them where they are programmed and erased together, as one with
//! longer pages. Planes are numbered so that neighbours are on different channels, then on
//! different dies of a channel, then on different planes of a die: the order that is called CWDP.
//! All that follows is numbered through: block, page and place of a unit.

/// Counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    pub(super) channels: u32,
    /// Of all channels.
    pub(super) dies: u32,
    /// Of all dies.
    pub(super) planes: u32,
    /// Of a plane.
    pub(super) blocks: u32,
    /// Of a block.
    pub(super) pages: u32,
    /// Of a page.
    pub(super) units: u32,
    /// Blocks of 512 bytes of a unit.
    pub(super) unit_blocks: u32,
    /// Units that a host may address.
    pub(super) capacity: u32,
}

impl Geometry {
    /// Units of a block.
    #[inline]
    pub(super) fn block_units(&self) -> u32 {
        self.pages * self.units
    }

    /// Units that all of it has places for.
    pub(super) fn places(&self) -> u32 {
        self.planes * self.blocks * self.block_units()
    }

    /// Units that are this plane's share of what a host may address, if neighbours go to different
    /// planes.
    pub(super) fn share(&self, plane: u32) -> u32 {
        (self.capacity + self.planes - 1 - plane) / self.planes
    }

    #[inline]
    pub(super) fn die(&self, plane: u32) -> u32 {
        plane % self.dies
    }

    #[inline]
    pub(super) fn channel(&self, die: u32) -> u32 {
        die % self.channels
    }

    #[inline]
    pub(super) fn page_of(&self, place: u32) -> u32 {
        place / self.units
    }

    #[inline]
    pub(super) fn block_of(&self, page: u32) -> u32 {
        page / self.pages
    }

    #[inline]
    pub(super) fn plane_of(&self, block: u32) -> u32 {
        block / self.blocks
    }

    #[inline]
    pub(super) fn plane_of_page(&self, page: u32) -> u32 {
        page / (self.pages * self.blocks)
    }

    /// Bytes of a unit.
    pub(super) fn unit_bytes(&self) -> u32 {
        self.unit_blocks * 512
    }
}
