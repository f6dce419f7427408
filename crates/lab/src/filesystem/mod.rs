//! A file system laid out as ext2, whose host either chooses the address of each block, or offers
//! what its layout policy leaves open to the drive.
//!
//! ```text
//! processes (machine) with what they do (work)
//!    | make, write, read, remove (acts)
//! files (files) and blocks to be written (pages)      where blocks may lie (groups, region)
//!    | what goes next (flush), in what order (order)
//! requests
//! ```
//!
//! With [`Offering::None`] a block has its address when it is written to the cache, and goes
//! whenever its turn comes, as in ext2 mounted `async`; if it is `ordered`, pointers go behind what
//! they point to, so that what that is worth by itself can be told. Otherwise a block has an
//! address when its write has ended: what is free in the mini-group or group that the policy names
//! is offered, adjacent dirty blocks of a file go as one write, and what points to a block goes
//! behind it. [`runs`] is an allocator of our own, which does more of that. Blocks that are on the
//! medium are overwritten where they are. Inodes and bitmaps have fixed places.
//!
//! With [`Settings::log`] there is no such layout: everything goes to a [`log`], whose segments are
//! cleaned ([`clean`]).
//!
//! It knows no time: [`machine`] brings it together with processes and requests. Source: Anand and
//! others, "Avoiding file system micromanagement with range writes", OSDI 2008, section 6. The
//! design, and what is left out: docs/design/0029-range-writes.md.

mod acts;
mod bits;
mod clean;
mod files;
mod flush;
mod groups;
#[cfg(test)]
mod groups_tests;
pub mod log;
#[cfg(test)]
mod log_tests;
pub mod machine;
mod measures;
#[cfg(test)]
mod medium;
mod order;
mod pages;
mod region;
mod runs;
#[cfg(test)]
mod runs_tests;
pub mod segments;
#[cfg(test)]
mod segments_tests;
pub mod shape;
pub mod skips;
#[cfg(test)]
mod tests;
pub mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use nearslot_core::rng::Rng;

use self::files::{Entries, File, FileId, Key};
use self::groups::Groups;
use self::log::{Log, LogSettings};
use self::measures::Counts;
use self::order::Order;
use self::pages::{Clean, Pages};
use self::region::Region;
use self::runs::Runs;
use self::shape::{INODES, MINI_GROUPS, Shape};
use self::skips::Skips;

pub use self::measures::{KEY, MEASURES, gave_up, is_undone};

/// What of a write's address is left to the drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offering {
    /// Nothing.
    None,
    /// Where in the mini-group.
    MiniGroup,
    /// Where in the group.
    Group,
    /// What the allocator of [`runs`] leaves open, by what skips cost.
    Runs(Arc<Skips>),
}

/// What is said of a file system as a whole.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What is left to the drive.
    pub offering: Offering,
    /// Whether pointers go behind what they point to; they always do where something is offered.
    pub ordered: bool,
    /// Blocks of a request at most.
    pub request_blocks: u64,
    /// Blocks that the cache has room for; half of it may be dirty.
    pub cache_blocks: u64,
    /// If it is a log: how that goes. Nothing is offered by policies of ext2 then.
    pub log: Option<LogSettings>,
}

/// Files on a volume, and what of them is in memory.
pub struct FileSystem {
    settings: Settings,
    groups: Groups,
    files: Vec<File>,
    /// The file of each inode in use.
    by_inode: BTreeMap<u64, FileId>,
    pages: Pages,
    clean: Clean,
    order: Order,
    runs: Runs,
    /// If it is a log, which has all blocks and addresses; then groups have inodes alone.
    log: Option<Log>,
    /// Blocks with a place that have never been written, where pointers wait for them.
    absent: BTreeSet<Key>,
    /// Blocks of files that have no place, and of removed ones those that are on their way.
    reserved: u64,
    /// How much wider a region is to be offered to a write that was exhausted, by its first block,
    /// and how many had landed then.
    wider: BTreeMap<Key, (u64, u64)>,
    /// Range writes on their way, and those that have landed or failed.
    offered: u64,
    landed: u64,
    /// Blocks that will be free when a write has ended that is on its way.
    freeing: u64,
    counts: Counts,
}

/// The directory in which everything lies.
pub const ROOT: FileId = 0;

impl FileSystem {
    /// An empty one, but for so large a share of every group, or of the log, that is taken by
    /// others.
    pub fn new(shape: Shape, settings: Settings, fill: f64, rng: &mut Rng) -> FileSystem {
        let mut groups = Groups::new(shape);
        let inode = groups.inode_of_directory(None).expect("there is a group");
        let mut files = FileSystem {
            log: settings.log.map(|log| Log::new(&shape, log)),
            settings,
            groups,
            files: vec![File {
                blocks: vec![None],
                entries: Some(Entries::default()),
                ..File::empty(inode, 0)
            }],
            by_inode: BTreeMap::from([(inode, ROOT)]),
            pages: Pages::default(),
            clean: Clean::default(),
            order: Order::default(),
            runs: Runs::new(shape.groups()),
            absent: BTreeSet::new(),
            reserved: 0,
            wider: BTreeMap::new(),
            offered: 0,
            landed: 0,
            freeing: 0,
            counts: Counts::default(),
        };
        if files.log.is_some() {
            files.fill_log(fill, rng);
            return files;
        }
        let at = files.groups.take_near(0).expect("a group has a block");
        files.files[ROOT as usize].place(Key::Data(ROOT, 0), at);
        files.groups.fill(fill, rng);
        files
    }

    /// Blocks that are free, or may still live.
    pub fn room(&self) -> u64 {
        match &self.log {
            Some(log) => log.left(self.groups.shape(), &self.settings),
            None => self.groups.free(),
        }
    }

    /// Whether blocks are offered.
    fn offers(&self) -> bool {
        self.settings.offering != Offering::None
    }

    /// Whether pointers go behind what they point to.
    fn is_ordered(&self) -> bool {
        self.offers() || self.settings.ordered
    }

    /// Whether processes have to wait until something has been written.
    pub fn is_full_of_dirt(&self) -> bool {
        self.pages.len() >= self.settings.cache_blocks / 2
    }

    /// Whether everything is on the medium.
    pub fn is_clean(&self) -> bool {
        let log = self.log.as_ref();
        self.pages.len() == 0 && log.is_none_or(|log| log.is_settled(self.pages.number()))
    }

    /// Whether it is a log that writes nothing any more.
    pub fn gave_up(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.stuck)
    }

    /// Nobody will change anything any more.
    pub fn sync(&mut self) {
        if let Some(log) = &mut self.log {
            log.sync();
        }
    }

    /// Blocks that are to be written or on their way.
    pub fn dirty(&self) -> u64 {
        self.pages.len()
    }

    /// Blocks that have been, or that were removed before.
    pub fn cleaned(&self) -> u64 {
        self.pages.cleaned()
    }

    /// Nothing is in memory but what has to be written, and what describes files.
    pub fn drop_cache(&mut self) {
        self.clean.clear();
    }

    /// The block of inodes that has the inode of a file.
    fn inodes_of(&self, file: FileId) -> Key {
        Key::Inodes(self.files[file as usize].inode / INODES)
    }

    /// The group of a file's inode.
    fn group_of(&self, file: FileId) -> u64 {
        self.groups.group_of_inode(self.files[file as usize].inode)
    }

    /// Where the policy wants a block of a file that has no place: near those before, or at the
    /// mini-group of its process.
    fn region_of(&self, file: FileId) -> Region {
        let of = &self.files[file as usize];
        let shape = self.groups.shape();
        let (group, mini) = match of.last {
            None => (self.group_of(file), of.process % MINI_GROUPS),
            Some(last) => (shape.group_of(last), shape.mini_of(last)),
        };
        match self.settings.offering {
            Offering::MiniGroup => Region::Mini { group, mini },
            Offering::Group => Region::Group(group),
            Offering::None | Offering::Runs(_) => panic!("no region is offered"),
        }
    }

    /// A block of a file lies here from now on.
    fn place(&mut self, key: Key, at: u64) {
        let file = key.file().expect("it is of a file");
        let is_first = key == Key::Data(file, 0);
        self.files[file as usize].place(key, at);
        if is_first && self.files[file as usize].entries.is_none() {
            let shape = self.groups.shape();
            let near = shape.group_of(at) == self.group_of(file);
            self.counts.first_block(near.then(|| shape.mini_of(at)));
        }
    }
}
