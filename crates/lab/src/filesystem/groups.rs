//! The allocator: which blocks and inodes are free, where the policy of ext2 looks for them, and
//! what is promised to writes that have not landed.
//!
//! Directories are spread as Orlov's allocator does it (Linux 2.6): one below the root goes to the
//! group with the fewest directories, among those with no fewer free blocks and inodes than the
//! average; another one to its parent's group or the next behind it that has not too many
//! directories, not too few free inodes and blocks, and no debt of directories whose files are
//! still to come. Files go to the group of their directory; if that is full, to others in steps of
//! 1, 2, 4 and so on, and then to any. The first block of a file has the process's mini-group as
//! its goal, a later one the block behind the one before; what is free nearest to the goal from
//! there on, and then from the begin of the group, is taken, and else what is free first in the
//! next groups.
//!
//! A write that may land anywhere in a region is promised room there. What is promised in a
//! mini-group or in a group is never more than what is free in it ([`Groups::check`] after every
//! change in tests). Departures: a new group for a top-level directory is looked for from the first
//! group on, not from one at random, and group 0 has no blocks kept for the superuser.
//!
//! Costs: O(words of a group) for a block, O(groups) for a directory, O(runs) for an offer. That a
//! region has no run as long as a write is found once, and known until a block of it becomes free.

use std::ops::Range;

use nearslot_core::rng::Rng;

use super::bits::Bits;
use super::region::Region;
use super::shape::{MINI_GROUPS, Shape};

/// What a directory is reckoned to need of its group, in blocks and in inodes, and the most of what
/// a group may owe.
const DIRECTORY_BLOCKS: u64 = 256;
const DIRECTORY_INODES: u64 = 64;
const DEBT_MAX: u64 = 255;

#[derive(Clone, Debug)]
struct Group {
    /// Blocks that are free, by their place in the group, and how many by mini-group.
    blocks: Bits,
    /// Those of them that are in no write's window.
    open: Bits,
    of_mini: [u64; MINI_GROUPS as usize],
    /// So many free blocks in a row are nowhere in it, or in a mini-group, as was found when they
    /// were last looked for; [`u64::MAX`] where nobody has looked since a block became free.
    none_as_long: u64,
    none_as_long_in_mini: [u64; MINI_GROUPS as usize],
    /// Promised to writes that may land anywhere in it, and to those that may in a mini-group.
    promised: u64,
    to_mini: [u64; MINI_GROUPS as usize],
    inodes: Bits,
    directories: u64,
    /// Directories whose files are still to come.
    debt: u64,
}

impl Group {
    fn all_promised(&self) -> u64 {
        self.promised + self.to_mini.iter().sum::<u64>()
    }

    /// Free and not promised.
    fn room(&self) -> u64 {
        self.blocks.count() - self.all_promised()
    }
}

/// All groups of a volume.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    shape: Shape,
    groups: Vec<Group>,
    /// Blocks that are free in all of them.
    free: u64,
}

impl Groups {
    /// All free, but for what is at the front of each group.
    pub(super) fn new(shape: Shape) -> Groups {
        let size = shape.group_blocks();
        let mut blocks = Bits::none(size);
        let mut of_mini = [0; MINI_GROUPS as usize];
        for at in shape.front()..size {
            blocks.set(at);
            of_mini[(at / shape.mini_blocks()) as usize] += 1;
        }
        let mut inodes = Bits::none(shape.group_inodes());
        (0..shape.group_inodes()).for_each(|at| inodes.set(at));
        let free = blocks.count() * shape.groups();
        let group = Group {
            open: blocks.clone(),
            blocks,
            of_mini,
            none_as_long: u64::MAX,
            none_as_long_in_mini: [u64::MAX; MINI_GROUPS as usize],
            promised: 0,
            to_mini: [0; MINI_GROUPS as usize],
            inodes,
            directories: 0,
            debt: 0,
        };
        Groups {
            shape,
            groups: vec![group; shape.groups() as usize],
            free,
        }
    }

    /// So large a share of what is free in every group is taken beforehand, blocks drawn at random.
    pub(super) fn fill(&mut self, share: f64, rng: &mut Rng) {
        for group in 0..self.shape.groups() {
            let mut left = self.groups[group as usize].blocks.count();
            let mut wanted = (share * left as f64).round() as u64;
            let begin = self.shape.begin(group);
            for block in begin..begin + self.shape.group_blocks() {
                if !self.is_free(block) {
                    continue;
                }
                // Of those that are left each is as likely as any other.
                if rng.below(left) < wanted {
                    wanted -= 1;
                    self.take(block);
                }
                left -= 1;
            }
        }
    }

    /// How they are laid out.
    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Blocks that are free.
    pub(super) fn free(&self) -> u64 {
        self.free
    }

    /// Whether a block is.
    pub(super) fn is_free(&self, block: u64) -> bool {
        let (group, at) = self.place(block);
        self.groups[group].blocks.has(at)
    }

    fn place(&self, block: u64) -> (usize, u64) {
        let group = self.shape.group_of(block);
        (group as usize, block - self.shape.begin(group))
    }

    /// This block is free no more.
    pub(super) fn take(&mut self, block: u64) {
        let (group, at) = self.place(block);
        let mini = (at / self.shape.mini_blocks()) as usize;
        let of = &mut self.groups[group];
        of.blocks.clear(at);
        if of.open.has(at) {
            of.open.clear(at);
        }
        self.groups[group].of_mini[mini] -= 1;
        self.free -= 1;
    }

    /// It is free again.
    pub(super) fn give(&mut self, block: u64) {
        let (group, at) = self.place(block);
        let mini = (at / self.shape.mini_blocks()) as usize;
        let of = &mut self.groups[group];
        of.blocks.set(at);
        of.open.set(at);
        of.of_mini[mini] += 1;
        of.none_as_long = u64::MAX;
        of.none_as_long_in_mini[mini] = u64::MAX;
        self.free += 1;
    }

    /// The goal of the first block that a process writes of a file with its inode in this group.
    pub(super) fn colour(&self, group: u64, process: u64) -> u64 {
        self.shape.begin(group) + process % MINI_GROUPS * self.shape.mini_blocks()
    }

    /// Takes what is free nearest to a goal; none if nothing is.
    pub(super) fn take_near(&mut self, goal: u64) -> Option<u64> {
        let goal = goal % (self.shape.groups() * self.shape.group_blocks());
        let (first, at) = self.place(goal);
        let others = (1..self.groups.len()).map(|step| (first + step) % self.groups.len());
        let in_first = self.groups[first].blocks.first_from(at);
        let found = in_first.map(|at| (first, at)).or_else(|| {
            let mut others = others;
            others.find_map(|group| Some((group, self.groups[group].blocks.first_from(0)?)))
        });
        let (group, at) = found?;
        let block = self.shape.begin(group as u64) + at;
        self.take(block);
        Some(block)
    }

    /// Takes an inode for a file whose directory has its own in this group; none if there is none.
    pub(super) fn inode_of_file(&mut self, parent: u64) -> Option<u64> {
        let count = self.groups.len();
        let has_both = |group: &Group| group.inodes.count() > 0 && group.room() > 0;
        let parent = parent as usize;
        let mut step = 1;
        let mut at = parent;
        let steps = std::iter::once(parent).chain(std::iter::from_fn(|| {
            (step < count).then(|| {
                at = (at + step) % count;
                step *= 2;
                at
            })
        }));
        let in_steps = steps
            .into_iter()
            .find(|group| has_both(&self.groups[*group]));
        let any = || {
            let mut all = (0..count).map(|step| (parent + step) % count);
            all.find(|group| self.groups[*group].inodes.count() > 0)
        };
        let group = in_steps.or_else(any)?;
        self.groups[group].debt = self.groups[group].debt.saturating_sub(1);
        Some(self.take_inode(group))
    }

    /// The same for a directory; below the root if it has no parent.
    pub(super) fn inode_of_directory(&mut self, parent: Option<u64>) -> Option<u64> {
        let (room, inodes) = self.averages();
        let group = match parent {
            None => self.fewest_directories(room, inodes),
            Some(parent) => self.unburdened(parent, room, inodes),
        };
        let with_inodes = |group: &usize| {
            let count = self.groups[*group].inodes.count();
            count > 0 && count >= inodes
        };
        let mut all = 0..self.groups.len();
        let group = group.or_else(|| all.find(with_inodes)).or_else(|| {
            let mut all = 0..self.groups.len();
            all.find(|group| self.groups[*group].inodes.count() > 0)
        })?;
        let one = &mut self.groups[group];
        one.directories += 1;
        one.debt = (one.debt + 1).min(DEBT_MAX);
        Some(self.take_inode(group))
    }

    /// Free blocks and inodes of a group on average.
    fn averages(&self) -> (u64, u64) {
        let count = self.groups.len() as u64;
        let sum = |of: fn(&Group) -> u64| self.groups.iter().map(of).sum::<u64>() / count;
        (sum(Group::room), sum(|group| group.inodes.count()))
    }

    /// The group with the fewest directories of those that have as much as the average, the first
    /// of equals.
    fn fewest_directories(&self, room: u64, inodes: u64) -> Option<usize> {
        let enough = |index: &usize| {
            let group = &self.groups[*index];
            group.room() >= room && group.inodes.count() >= inodes.max(1)
        };
        let all = (0..self.groups.len()).filter(enough);
        all.min_by_key(|index| self.groups[*index].directories)
    }

    /// The parent's group, or the next that can take one more directory.
    fn unburdened(&self, parent: u64, room: u64, inodes: u64) -> Option<usize> {
        let count = self.groups.len();
        let (size, all_inodes) = (self.shape.group_blocks(), self.shape.group_inodes());
        let directories: u64 = self.groups.iter().map(|group| group.directories).sum();
        let used = count as u64 * size - self.groups.iter().map(Group::room).sum::<u64>();
        let of_one = (used / directories.max(1)).max(DIRECTORY_BLOCKS);
        let debt = size / of_one;
        let debt = match debt * DIRECTORY_INODES > all_inodes {
            true => all_inodes / DIRECTORY_INODES,
            false => debt,
        };
        let debt = debt.clamp(1, DEBT_MAX);
        let most = directories / count as u64 + all_inodes / 16;
        let least_inodes = inodes.saturating_sub(all_inodes / 4).max(1);
        let least_room = room.saturating_sub(size / 4);
        let fits = |index: &usize| {
            let group = &self.groups[*index];
            group.debt < debt
                && group.directories < most
                && group.inodes.count() >= least_inodes
                && group.room() >= least_room
        };
        let mut from_parent = (0..count).map(|step| (parent as usize + step) % count);
        from_parent.find(fits)
    }

    fn take_inode(&mut self, group: usize) -> u64 {
        let inodes = &mut self.groups[group].inodes;
        let at = inodes.first_from(0).expect("one is free");
        inodes.clear(at);
        group as u64 * self.shape.group_inodes() + at
    }

    /// The inode of a file that was removed is free again.
    pub(super) fn give_inode(&mut self, inode: u64) {
        let (group, at) = (
            self.group_of_inode(inode),
            inode % self.shape.group_inodes(),
        );
        self.groups[group as usize].inodes.set(at);
    }

    /// The group of an inode.
    pub(super) fn group_of_inode(&self, inode: u64) -> u64 {
        inode / self.shape.group_inodes()
    }

    /// Blocks of a region, by their place in its group.
    fn within(&self, region: Region) -> Range<u64> {
        match region {
            Region::Group(_) => 0..self.shape.group_blocks(),
            Region::Mini { mini, .. } => {
                let size = self.shape.mini_blocks();
                mini * size..(mini + 1) * size
            }
        }
    }

    /// What may still be promised in a region: what is free there and not promised, and no more
    /// than that of its group.
    pub(super) fn room(&self, region: Region) -> u64 {
        let group = &self.groups[region.group() as usize];
        let of_mini = match region {
            Region::Group(_) => u64::MAX,
            Region::Mini { mini, .. } => {
                let mini = mini as usize;
                group.of_mini[mini].saturating_sub(group.to_mini[mini])
            }
        };
        group.room().min(of_mini)
    }

    /// Promises room for a write of so many blocks that may land anywhere in a region: the runs
    /// that are free there and long enough. None, and nothing is promised, if there is no room or
    /// no run.
    pub(super) fn promise(&mut self, region: Region, len: u64) -> Option<Vec<Range<u64>>> {
        if self.room(region) < len {
            return None;
        }
        let (begin, within) = (self.shape.begin(region.group()), self.within(region));
        let group = &mut self.groups[region.group() as usize];
        let none_as_long = match region {
            Region::Group(_) => &mut group.none_as_long,
            Region::Mini { mini, .. } => &mut group.none_as_long_in_mini[mini as usize],
        };
        if len >= *none_as_long {
            return None;
        }
        let runs = group.blocks.runs(within, len);
        let runs: Vec<Range<u64>> = runs.map(|run| begin + run.start..begin + run.end).collect();
        if runs.is_empty() {
            *none_as_long = len;
            return None;
        }
        match region {
            Region::Group(_) => group.promised += len,
            Region::Mini { mini, .. } => group.to_mini[mini as usize] += len,
        }
        Some(runs)
    }

    /// A write that had a promise has ended, wherever it landed.
    pub(super) fn release(&mut self, region: Region, len: u64) {
        let group = &mut self.groups[region.group() as usize];
        let promised = match region {
            Region::Group(_) => &mut group.promised,
            Region::Mini { mini, .. } => &mut group.to_mini[mini as usize],
        };
        *promised -= len;
    }

    /// Whether something of a group is free and in no window.
    pub(super) fn has_open(&self, group: u64) -> bool {
        self.groups[group as usize].open.count() > 0
    }

    /// Whether that is so from a block of it on.
    pub(super) fn has_open_from(&self, group: u64, from: u64) -> bool {
        let open = &self.groups[group as usize].open;
        open.first_from(from).is_some_and(|found| found >= from)
    }

    /// The first run of a group from a block of it on, and then from its begin on, that is free and
    /// in no window; no more than `most` blocks of it.
    pub(super) fn open_run(&self, group: u64, from: u64, most: u64) -> Option<Range<u64>> {
        let open = &self.groups[group as usize].open;
        let start = open.first_from(from)?;
        let run = open.runs(start..start + most, 1).next();
        run.map(|run| self.of_volume(group, run))
    }

    /// All such runs of a group that are so long.
    pub(super) fn open_runs(&self, group: u64, least: u64) -> Vec<Range<u64>> {
        let open = &self.groups[group as usize].open;
        let runs = open.runs(0..self.shape.group_blocks(), least);
        runs.map(|run| self.of_volume(group, run)).collect()
    }

    /// Those of so many blocks from a block of it on.
    pub(super) fn open_ahead(
        &self,
        group: u64,
        from: u64,
        blocks: u64,
    ) -> impl Iterator<Item = Range<u64>> + '_ {
        let open = &self.groups[group as usize].open;
        let runs = open.runs(from..from + blocks, 1);
        runs.map(move |run| self.of_volume(group, run))
    }

    fn of_volume(&self, group: u64, run: Range<u64>) -> Range<u64> {
        let begin = self.shape.begin(group);
        begin + run.start..begin + run.end
    }

    /// These blocks are in a window, which one write alone is offered.
    pub(super) fn close(&mut self, window: Range<u64>) {
        for block in window {
            let (group, at) = self.place(block);
            self.groups[group].open.clear(at);
        }
    }

    /// The window is gone: what is free of it still may be in another.
    pub(super) fn reopen(&mut self, window: Range<u64>) {
        for block in window {
            let (group, at) = self.place(block);
            let of = &mut self.groups[group];
            if of.blocks.has(at) && !of.open.has(at) {
                of.open.set(at);
            }
        }
    }

    /// Whether no group has promised more than it has, nor a mini-group to writes of its own beyond
    /// what those of the group have left it.
    #[cfg(test)]
    pub(super) fn check(&self) {
        for (index, group) in self.groups.iter().enumerate() {
            let (promised, free) = (group.all_promised(), group.blocks.count());
            assert!(
                promised <= free,
                "group {index}: {promised} of {free} promised"
            );
            assert_eq!(group.of_mini.iter().sum::<u64>(), free, "group {index}");
            let mut all = 0..self.shape.group_blocks();
            let wrong = all.find(|at| group.open.has(*at) && !group.blocks.has(*at));
            assert_eq!(wrong, None, "group {index}: open and not free");
        }
    }

    /// Whether all that is free is open, as no write is under way.
    #[cfg(test)]
    pub(super) fn check_open(&self) {
        for (index, group) in self.groups.iter().enumerate() {
            assert_eq!(group.open, group.blocks, "group {index}");
        }
    }
}
