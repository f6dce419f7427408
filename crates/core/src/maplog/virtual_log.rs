//! The virtual log: a map that is safe without NVRAM, because its own sectors are written eagerly,
//! wherever the heads are.
//!
//! The map is cut into *map sectors* of one slot each, nearly a thousand entries in 4 KiB. A sector
//! has the entries of all copies of its chunks: a new copy and the end of the old ones are one
//! write, and no power cut comes between. An update writes the sector that holds it into a free
//! slot. Where the next sector will lie is not known, so links point backward: every sector links
//! to the youngest one before it, and recovery walks from the *tail*, the youngest of all. The
//! sector that a new one replaces is free at once, though older links led through it: the new one
//! links past it, to what it linked to. So the log is a tree with the tail as its root, in which
//! every live sector has one parent, younger than itself.
//!
//! ```text
//! parents and children of sectors:   c -> b -> a        b is written again:   b' -> c      and  b' -> a
//! ```
//!
//! Old sectors keep links to slots that were used again since (here that of c to b). Recovery
//! visits sectors in falling order of their numbers. A sector has a lower number than the one that
//! replaced it, and than every sector on the way to that one. So recovery meets the replacement
//! before it meets a link to what was replaced, and skips that link.
//!
//! ```text
//! sector   prelude | 32 sector 4 | 36 live sectors 4 | 40 links 4 | 44 spread 1, zero 3 | 48 eight links of 20 bytes | 208 entries, copy by copy
//! link     number 8 | sector 4 | slot 4 | drive 2 | zero 2
//! ```
//!
//! Source: Wang, Anderson and Patterson, "Virtual log based file systems for a programmable disk",
//! OSDI 1999, section 3.2. Departure: the paper draws two links a sector. When a sector with two
//! children is replaced there are three to link to, so two are not enough for any order of updates.
//! Here are eight. A sector with eight children is replaced only after one of its descendants was
//! written anew and took some over; with random updates that is less than one write in ten
//! thousand.
//!
//! One sector is written at a time, since the next one links to it; updates meanwhile gather, a
//! sector for many of them. Cost: a write is O(its size); 60 bytes a map sector of memory.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::Range;

use super::format::{self, DamageAt, PRELUDE_BYTES, SECTOR, TAIL, put, u16_at, u32_at, u64_at};
use super::format::{Damage, Fault};
use super::layout::Refused;
use super::{Geometry, Map, MapView, put_entries, take_entries};
use crate::ids::DriveId;
use crate::units::Blocks;

/// Links of a sector.
pub(super) const LINKS_MAX: usize = 8;
const LINK_BYTES: usize = 20;
const LINKS_AT: usize = PRELUDE_BYTES + 16;
const ENTRIES_AT: usize = LINKS_AT + LINKS_MAX * LINK_BYTES;
/// Bytes of a saved tail.
const TAIL_BYTES: usize = PRELUDE_BYTES + LINK_BYTES;
/// No sector.
const NONE: u32 = u32::MAX;

/// A slot of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    /// The drive, as [`Geometry::drive`] counts.
    pub drive: DriveId,
    /// The slot.
    pub slot: u32,
}

/// The youngest sector of a virtual log: what a walk begins with.
///
/// Saved at power-down and erased before the log goes on: a saved tail that is not the youngest
/// leads to an old map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail(pub(super) Link);

/// Where a sector was written, and as which one. Links are in order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Link {
    pub(super) number: u64,
    pub(super) sector: u32,
    pub(super) spot: Spot,
}

impl Link {
    fn write(&self, bytes: &mut [u8]) {
        put(bytes, 0, &self.number.to_le_bytes());
        put(bytes, 8, &self.sector.to_le_bytes());
        put(bytes, 12, &self.spot.slot.to_le_bytes());
        put(bytes, 16, &self.spot.drive.0.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Link {
        Link {
            number: u64_at(bytes, 0),
            sector: u32_at(bytes, 8),
            spot: Spot {
                drive: DriveId(u16_at(bytes, 16)),
                slot: u32_at(bytes, 12),
            },
        }
    }

    /// Whether there is such a place.
    fn check(&self, geometry: &Geometry) -> Result<(), Fault> {
        let drive = self.spot.drive.0.into();
        if drive >= u64::from(geometry.drives()) {
            let last = u64::from(geometry.drives()) - 1;
            return Err(Fault::outside("drive", drive, 0, last));
        }
        match self.spot.slot < geometry.slots {
            true => Ok(()),
            false => Err(format::slot_fault(geometry, self.spot.slot)),
        }
    }
}

impl Tail {
    /// For a safe place, at power-down.
    pub fn to_bytes(&self, geometry: &Geometry) -> Vec<u8> {
        let mut bytes = vec![0; TAIL_BYTES];
        self.0.write(&mut bytes[PRELUDE_BYTES..]);
        format::seal(&mut bytes, TAIL, geometry.volume, self.0.number);
        bytes
    }

    /// From that place.
    ///
    /// # Errors
    /// It is no saved tail of this volume, or damaged.
    pub fn from_bytes(geometry: &Geometry, bytes: &[u8]) -> Result<Tail, Damage> {
        let length = |found: usize| Fault::outside("bytes", found as u64, 52, 52);
        let read = || {
            if bytes.len() != TAIL_BYTES {
                return Err(length(bytes.len()));
            }
            format::unseal(bytes, TAIL, geometry.volume)?;
            let link = Link::read(&bytes[PRELUDE_BYTES..]);
            link.check(geometry)?;
            Ok(Tail(link))
        };
        read().map_err(|fault| fault.at(DamageAt::Tail))
    }
}

/// Sizes of map sectors.
#[derive(Clone, Copy, Debug)]
pub(super) struct SectorLayout {
    pub(super) geometry: Geometry,
    pub(super) bytes: usize,
    pub(super) sectors: u32,
    /// Chunks of a sector; the last may have fewer.
    chunks: u32,
}

impl SectorLayout {
    pub(super) fn new(geometry: &Geometry, slot: Blocks) -> Result<SectorLayout, Refused> {
        geometry.check()?;
        if !(1..=2_048).contains(&slot.0) {
            return Err(Refused::new("blocks of a map sector", slot.0, "1 to 2048"));
        }
        let bytes = slot.bytes() as usize;
        let entries = ((bytes - ENTRIES_AT) / 4) as u32;
        let chunks = entries / u32::from(geometry.copies);
        if chunks == 0 {
            let allowed = format!("at most {entries}, so that a map sector has all of a chunk");
            return Err(Refused::new("copies", geometry.copies.into(), allowed));
        }
        Ok(SectorLayout {
            geometry: *geometry,
            bytes,
            sectors: geometry.chunks.div_ceil(chunks),
            chunks,
        })
    }

    /// The chunks of a sector: the first, and how many.
    fn chunks(&self, sector: u32) -> (u32, u32) {
        let first = sector * self.chunks;
        (first, self.chunks.min(self.geometry.chunks - first))
    }

    /// By copy, its first entry, counted copy by copy, and the bytes of its entries in a sector.
    fn runs(&self, sector: u32) -> impl Iterator<Item = (u64, Range<usize>)> + use<> {
        let (first, count) = self.chunks(sector);
        let (chunks, len) = (u64::from(self.geometry.chunks), count as usize * 4);
        (0..self.geometry.copies).map(move |copy| {
            let begin = ENTRIES_AT + usize::from(copy) * len;
            let entry = u64::from(copy) * chunks + u64::from(first);
            (entry, begin..begin + len)
        })
    }

    /// The entries of a sector are nowhere.
    pub(super) fn lost(&self, sector: u32) -> Fault {
        if sector >= self.sectors {
            let last = u64::from(self.sectors) - 1;
            return Fault::outside("map sector", sector.into(), 0, last);
        }
        let (first, count) = self.chunks(sector);
        Fault::Unmapped {
            first,
            last: first + count - 1,
        }
    }
}

/// What a sector says besides its entries.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) number: u64,
    pub(super) sector: u32,
    pub(super) live: u32,
    pub(super) links: Links,
}

impl Read {
    /// Reads what a slot holds, if it is a sound sector of this map.
    pub(super) fn parse(layout: &SectorLayout, bytes: &[u8]) -> Result<Read, Fault> {
        let number = format::unseal(bytes, SECTOR, layout.geometry.volume)?;
        layout.geometry.spread.check(bytes[44])?;
        let (sector, live, count) = (u32_at(bytes, 32), u32_at(bytes, 36), u32_at(bytes, 40));
        if sector >= layout.sectors {
            let last = u64::from(layout.sectors) - 1;
            return Err(Fault::outside("map sector", sector.into(), 0, last));
        }
        if count as usize > LINKS_MAX {
            let last = LINKS_MAX as u64;
            return Err(Fault::outside("links", count.into(), 0, last));
        }
        let mut links = Links::default();
        for index in 0..count as usize {
            let link = Link::read(&bytes[LINKS_AT + index * LINK_BYTES..]);
            link.check(&layout.geometry)?;
            links.push(link);
        }
        Ok(Read {
            number,
            sector,
            live,
            links,
        })
    }

    /// Takes the entries into the map.
    pub(super) fn apply(
        layout: &SectorLayout,
        sector: u32,
        bytes: &[u8],
        map: &mut Map,
    ) -> Result<(), Fault> {
        for (first, range) in layout.runs(sector) {
            let entries = &bytes[range];
            take_entries(&layout.geometry, map, first, entries).map_err(|entry| {
                let slot = u32_at(entries, (entry - first) as usize * 4);
                format::slot_fault(&layout.geometry, slot)
            })?;
        }
        Ok(())
    }
}

/// The links of one sector.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    links: [Option<Link>; LINKS_MAX],
    count: usize,
}

impl Links {
    fn push(&mut self, link: Link) {
        self.links[self.count] = Some(link);
        self.count += 1;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Link> + '_ {
        self.links.iter().take(self.count).flatten().copied()
    }
}

/// A sector as it lies on a drive.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// 0 when it was never written.
    number: u64,
    spot: Spot,
    parent: u32,
    count: u8,
    children: [u32; LINKS_MAX],
}

const UNWRITTEN: Node = Node {
    number: 0,
    spot: Spot {
        drive: DriveId(0),
        slot: NONE,
    },
    parent: NONE,
    count: 0,
    children: [NONE; LINKS_MAX],
};

impl Node {
    fn children(&self) -> &[u32] {
        &self.children[..usize::from(self.count)]
    }
}

/// A virtual log at work.
#[derive(Debug)]
pub struct VirtualLog {
    layout: SectorLayout,
    nodes: Vec<Node>,
    root: u32,
    /// Sectors that were written.
    live: u32,
    /// Number of the last write begun.
    number: u64,
    /// Bits by sector: which are to be written. The queue has each once, in order.
    dirty: Vec<u64>,
    queue: VecDeque<u32>,
    /// Sectors that are to be written when no other is, unless they were before.
    unwritten: Range<u32>,
    writing: Option<Writing>,
    buffer: Vec<u8>,
}

/// The write under way, whose bytes are in the buffer.
#[derive(Clone, Copy, Debug)]
struct Writing {
    sector: u32,
    /// Whether it was its turn; if not, it helps another one.
    in_turn: bool,
    count: u8,
    children: [u32; LINKS_MAX],
}

/// A map sector that is to be written into a free slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorWrite<'a> {
    /// Which sector of the map.
    pub sector: u32,
    /// The number of this write.
    pub number: u64,
    /// What to write: as long as a slot.
    pub bytes: &'a [u8],
}

/// When an update is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dirty {
    /// The sector that holds it.
    pub sector: u32,
    /// It is safe when a write of this sector with a higher number is complete.
    pub after: u64,
}

/// What a completed write of a sector means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The sector.
    pub sector: u32,
    /// The number of the write.
    pub number: u64,
    /// The slot that is free now: where the sector lay before.
    pub freed: Option<Spot>,
}

impl VirtualLog {
    /// A virtual log of a volume of which nothing is mapped yet, with map sectors of the size of a
    /// slot.
    ///
    /// # Errors
    /// The geometry cannot be, or a slot is too small or too large.
    pub fn new(geometry: &Geometry, slot: Blocks) -> Result<VirtualLog, Refused> {
        Ok(VirtualLog::unwritten(SectorLayout::new(geometry, slot)?))
    }

    fn unwritten(layout: SectorLayout) -> VirtualLog {
        let sectors = layout.sectors as usize;
        VirtualLog {
            nodes: vec![UNWRITTEN; sectors],
            root: NONE,
            live: 0,
            number: 0,
            dirty: vec![0; sectors.div_ceil(64)],
            queue: VecDeque::new(),
            unwritten: 0..0,
            writing: None,
            buffer: Vec::new(),
            layout,
        }
    }

    /// Goes on from sectors in falling order of their numbers, each with the sector whose link led
    /// to it.
    pub(super) fn resume(
        layout: SectorLayout,
        walked: impl Iterator<Item = (Link, Option<u32>)>,
        number: u64,
    ) -> VirtualLog {
        let mut log = VirtualLog::unwritten(layout);
        log.number = number;
        for (link, parent) in walked {
            log.live += 1;
            let node = &mut log.nodes[link.sector as usize];
            (node.number, node.spot) = (link.number, link.spot);
            match parent {
                Some(parent) => log.adopt(parent, link.sector),
                None => log.root = link.sector,
            }
        }
        log
    }

    /// Sectors of the map: so many slots of the drives it needs, and one more while one is written.
    pub fn sectors(&self) -> u32 {
        self.layout.sectors
    }

    /// Entries of a chunk have changed, in the map that is given when they are written.
    pub fn dirty(&mut self, chunk: u32) -> Dirty {
        assert!(chunk < self.layout.geometry.chunks, "chunk {chunk}");
        let sector = chunk / self.layout.chunks;
        self.enqueue(sector);
        Dirty {
            sector,
            after: self.number,
        }
    }

    /// All of the map has to be written: of a volume that begins with something mapped. Changes go
    /// first.
    pub fn dirty_all(&mut self) {
        self.unwritten = 0..self.layout.sectors;
    }

    fn enqueue(&mut self, sector: u32) {
        let (word, bit) = (sector as usize / 64, 1 << (sector % 64));
        if self.dirty[word] & bit == 0 {
            self.dirty[word] |= bit;
            self.queue.push_back(sector);
        }
    }

    /// Sectors that wait to be written.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// What to write now; nothing while a write is under way or when nothing has changed.
    pub fn next_write(&mut self, map: &dyn MapView) -> Option<SectorWrite<'_>> {
        if self.writing.is_some() {
            return None;
        }
        if self.queue.is_empty() {
            let nodes = &self.nodes;
            let unwritten = self.unwritten.find(|at| nodes[*at as usize].number == 0)?;
            self.enqueue(unwritten);
        }
        let first = *self.queue.front()?;
        let sector = match self.helper(first) {
            Some(helper) => helper,
            None => {
                self.queue.pop_front();
                self.dirty[first as usize / 64] &= !(1 << (first % 64));
                first
            }
        };
        self.number += 1;
        let (children, count) = self.children_of_new(sector, first);
        self.writing = Some(Writing {
            sector,
            in_turn: sector == first,
            count,
            children,
        });
        self.encode(map);
        self.under_way()
    }

    /// A descendant that has to be written before a sector that has too many children to link to.
    fn helper(&self, sector: u32) -> Option<u32> {
        let node = &self.nodes[sector as usize];
        if sector == self.root || node.children().len() < LINKS_MAX {
            return None;
        }
        // It takes over one child at least; leaves can.
        let mut helper = node.children[0];
        while self.nodes[helper as usize].children().len() > LINKS_MAX - 2 {
            helper = self.nodes[helper as usize].children[0];
        }
        Some(helper)
    }

    /// What a sector that is written now links to: the root, what it linked to itself, and if it is
    /// a helper as many children of the one that it helps as there is room for.
    fn children_of_new(&self, sector: u32, helped: u32) -> ([u32; LINKS_MAX], u8) {
        let mut children = [NONE; LINKS_MAX];
        let root = Some(self.root).filter(|root| *root != NONE && *root != sector);
        let own = self.nodes[sector as usize].children().iter().copied();
        let others = match helped == sector {
            true => &[],
            false => self.nodes[helped as usize].children(),
        };
        let others = others.iter().copied().filter(|other| *other != sector);
        let mut count = 0;
        for child in root.into_iter().chain(own).chain(others).take(LINKS_MAX) {
            children[count] = child;
            count += 1;
        }
        (children, count as u8)
    }

    fn encode(&mut self, map: &dyn MapView) {
        let writing = self.writing.expect("it was just chosen");
        let Writing { sector, count, .. } = writing;
        let unwritten = self.nodes[sector as usize].number == 0;
        let bytes = &mut self.buffer;
        bytes.clear();
        bytes.resize(self.layout.bytes, 0);
        put(bytes, 32, &sector.to_le_bytes());
        put(bytes, 36, &(self.live + u32::from(unwritten)).to_le_bytes());
        put(bytes, 40, &u32::from(count).to_le_bytes());
        put(bytes, 44, &[self.layout.geometry.spread.to_byte()]);
        let children = &writing.children[..usize::from(count)];
        for (index, child) in children.iter().enumerate() {
            let node = &self.nodes[*child as usize];
            let link = Link {
                number: node.number,
                sector: *child,
                spot: node.spot,
            };
            link.write(&mut bytes[LINKS_AT + index * LINK_BYTES..]);
        }
        for (first, range) in self.layout.runs(sector) {
            put_entries(&self.layout.geometry, map, first, &mut bytes[range]);
        }
        let volume = self.layout.geometry.volume;
        format::seal(bytes, SECTOR, volume, self.number);
    }

    /// The write under way.
    pub fn under_way(&self) -> Option<SectorWrite<'_>> {
        let Writing { sector, .. } = self.writing?;
        Some(SectorWrite {
            sector,
            number: self.number,
            bytes: &self.buffer,
        })
    }

    /// The write under way is complete, in this slot.
    ///
    /// # Panics
    /// None is under way.
    pub fn placed(&mut self, spot: Spot) -> Placed {
        let writing = self.writing.take().expect("a write is under way");
        let Writing {
            sector,
            count,
            children,
            ..
        } = writing;
        let old = self.nodes[sector as usize];
        let freed = (old.number != 0).then_some(old.spot);
        self.live += u32::from(freed.is_none());
        self.abandon(sector);
        self.nodes[sector as usize] = Node {
            number: self.number,
            spot,
            ..UNWRITTEN
        };
        for child in &children[..usize::from(count)] {
            self.abandon(*child);
            self.adopt(sector, *child);
        }
        self.root = sector;
        Placed {
            sector,
            number: self.number,
            freed,
        }
    }

    /// The write under way has failed. Its sector comes next again, under a higher number: what the
    /// drive may have written all the same is older then than everything that follows, and no link
    /// leads there. If another sector came before, a scan would take what the drive has written for
    /// the youngest version, and find no link to it.
    ///
    /// # Panics
    /// None is under way.
    pub fn failed(&mut self) {
        let Writing {
            sector, in_turn, ..
        } = self.writing.take().expect("a write is under way");
        if !in_turn {
            return;
        }
        let (word, bit) = (sector as usize / 64, 1 << (sector % 64));
        if self.dirty[word] & bit != 0 {
            // It has changed meanwhile and waits already, but perhaps not as the first.
            self.queue.retain(|waiting| *waiting != sector);
        }
        self.dirty[word] |= bit;
        self.queue.push_front(sector);
    }

    /// Takes a sector from its parent.
    fn abandon(&mut self, sector: u32) {
        let parent = std::mem::replace(&mut self.nodes[sector as usize].parent, NONE);
        if parent == NONE {
            return;
        }
        let parent = &mut self.nodes[parent as usize];
        let index = parent.children().iter().position(|child| *child == sector);
        // The parent may just have been replaced, and has nothing but its new children then.
        if let Some(index) = index {
            parent.count -= 1;
            parent.children.swap(index, usize::from(parent.count));
        }
    }

    fn adopt(&mut self, parent: u32, child: u32) {
        self.nodes[child as usize].parent = parent;
        let node = &mut self.nodes[parent as usize];
        node.children[usize::from(node.count)] = child;
        node.count += 1;
    }

    /// The youngest sector, for power-down; none if nothing was ever written. The caller lets the
    /// write under way end first.
    pub fn tail(&self) -> Option<Tail> {
        let node = self.nodes.get(self.root as usize)?;
        Some(Tail(Link {
            number: node.number,
            sector: self.root,
            spot: node.spot,
        }))
    }

    /// The slots that hold the map.
    pub fn spots(&self) -> impl Iterator<Item = Spot> + '_ {
        let written = self.nodes.iter().filter(|node| node.number > 0);
        written.map(|node| node.spot)
    }

    /// The same in the order in which a walk from the tail reads them: the youngest first.
    pub fn walk(&self) -> Vec<Spot> {
        let mut written: Vec<&Node> = self.nodes.iter().filter(|node| node.number > 0).collect();
        written.sort_by_key(|node| Reverse(node.number));
        written.into_iter().map(|node| node.spot).collect()
    }

    /// A sector with most children, of those that are not the tail.
    #[cfg(test)]
    pub(super) fn busiest(&self) -> u32 {
        let others = (0..self.layout.sectors).filter(|sector| *sector != self.root);
        let busiest = others.max_by_key(|sector| self.nodes[*sector as usize].count);
        busiest.expect("there are others")
    }

    /// Walks the tree and panics on a contradiction.
    pub fn audit(&self) {
        let mut reached = 0;
        let mut next: Vec<u32> = Some(self.root).filter(|r| *r != NONE).into_iter().collect();
        while let Some(sector) = next.pop() {
            reached += 1;
            let node = &self.nodes[sector as usize];
            for child in node.children() {
                let of_child = &self.nodes[*child as usize];
                assert_eq!(of_child.parent, sector, "parent of {child}");
                assert!(of_child.number < node.number, "{child} is not older");
                next.push(*child);
            }
        }
        assert_eq!(reached, self.live, "sectors that the tree reaches");
        let waiting: u32 = self.dirty.iter().map(|word| word.count_ones()).sum();
        assert_eq!(waiting as usize, self.queue.len(), "sectors that wait");
    }
}
