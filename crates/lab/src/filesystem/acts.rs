//! What processes do to files: make, write, remove and read them, and make directories. Everything
//! happens in memory; what has to be written is dirty then.

use super::FileSystem;
use super::files::{BLOCKS_MAX, ENTRIES, Entries, File, FileId, Key, blocks_of, indirect_of};
use super::shape::{BYTES, INODES};

/// Why nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There will be room when something has been written that frees blocks.
    Wait,
    /// There is no room, or no inode.
    NoRoom,
}

/// Blocks that lie behind each other and are to be read: the first, and how many.
pub(super) type Run = (u64, u64);

impl FileSystem {
    /// Whether so many blocks more will find a place.
    fn check_room(&self, blocks: u64) -> Result<(), Refused> {
        let free = self.room().saturating_sub(self.reserved);
        match blocks <= free {
            true => Ok(()),
            false if self.order.frees() || self.freeing > 0 => Err(Refused::Wait),
            false => Err(Refused::NoRoom),
        }
    }

    /// Blocks that a file needs besides those that it has, to have so many.
    fn more(&self, file: FileId, blocks: u64) -> u64 {
        let has = self.files[file as usize].blocks.len() as u64;
        match blocks > has {
            true => blocks - has + indirect_of(blocks) - indirect_of(has),
            false => 0,
        }
    }

    /// Blocks that a directory needs for one entry more.
    fn more_for_entry(&self, directory: FileId) -> u64 {
        let of = &self.files[directory as usize];
        let entries = of.entries.as_ref().expect("it is a directory");
        let full = entries.gaps.is_empty() && entries.places == of.blocks.len() as u32 * ENTRIES;
        match full {
            true => self.more(directory, of.blocks.len() as u64 + 1),
            false => 0,
        }
    }

    /// Makes an empty file, or a directory of one block.
    ///
    /// # Errors
    /// There is no room.
    pub fn make(
        &mut self,
        process: u64,
        parent: FileId,
        is_directory: bool,
    ) -> Result<FileId, Refused> {
        self.check_room(self.more_for_entry(parent) + u64::from(is_directory))?;
        let group = self.group_of(parent);
        let inode = match (is_directory, parent) {
            (false, _) => self.groups.inode_of_file(group),
            (true, super::ROOT) => self.groups.inode_of_directory(None),
            (true, _) => self.groups.inode_of_directory(Some(group)),
        };
        let inode = inode.ok_or(Refused::NoRoom)?;
        let file = FileId::try_from(self.files.len()).expect("fewer files than numbers");
        let entry = self.enter(parent);
        self.files.push(File {
            entries: is_directory.then(Entries::default),
            entry: Some((parent, entry)),
            ..File::empty(inode, process)
        });
        self.by_inode.insert(inode, file);
        self.touch_inode(file);
        self.counts.files += u64::from(!is_directory);
        if is_directory {
            self.grow(file, 1);
        }
        Ok(file)
    }

    /// Puts an entry into a directory, for which there is room.
    fn enter(&mut self, directory: FileId) -> u32 {
        let blocks = self.files[directory as usize].blocks.len() as u64;
        let more = self.more_for_entry(directory) > 0;
        let entries = self.files[directory as usize].entries.as_mut();
        let entries = entries.expect("it is a directory");
        let place = entries.gaps.pop().unwrap_or_else(|| {
            entries.places += 1;
            entries.places - 1
        });
        if more {
            self.grow(directory, blocks + 1);
        }
        self.touch(Key::Data(directory, place / ENTRIES));
        place
    }

    /// An inode has changed, and the bits of its group.
    fn touch_inode(&mut self, file: FileId) {
        self.pages.touch(self.inodes_of(file));
        if self.log.is_none() {
            self.pages.touch(Key::BitsOfInodes(self.group_of(file)));
        }
    }

    /// Writes bytes into a file, from a byte that it has, or just behind the last, on. What it has
    /// stays where it is.
    ///
    /// # Errors
    /// There is no room.
    pub fn write(&mut self, file: FileId, from: u64, bytes: u64) -> Result<(), Refused> {
        let end = from + bytes;
        assert!(
            from <= self.files[file as usize].bytes,
            "a file has no holes"
        );
        let blocks = blocks_of(end);
        if blocks > BLOCKS_MAX {
            return Err(Refused::NoRoom);
        }
        self.check_room(self.more(file, blocks))?;
        self.grow(file, blocks);
        for index in from / BYTES..blocks {
            self.touch(Key::Data(file, index as u32));
            self.clean.forget((file, index as u32));
        }
        let of = &mut self.files[file as usize];
        of.bytes = of.bytes.max(end);
        self.pages.touch(self.inodes_of(file));
        Ok(())
    }

    /// A block has changed. If it has no place, as it is new or could not be written, what points
    /// to it waits from now on.
    pub(super) fn touch(&mut self, key: Key) {
        if let Some(log) = &mut self.log {
            log.cleaner.changed(key);
        }
        if self.offers() && !self.pages.has(key) {
            let of = key.file().map(|file| &self.files[file as usize]);
            if let Some(of) = of.filter(|of| of.at(key).is_none()) {
                self.order.wait(of.parent(key));
            }
        }
        self.pages.touch(key);
    }

    /// A file gets blocks until it has so many; there is room for them.
    fn grow(&mut self, file: FileId, blocks: u64) {
        let has = self.files[file as usize].blocks.len() as u64;
        for index in has..blocks {
            let wanted = indirect_of(index + 1);
            let indirect = self.files[file as usize].indirect.len() as u64;
            for number in indirect..wanted {
                self.files[file as usize].indirect.push(None);
                self.add(file, Key::Indirect(file, number as u32));
            }
            self.files[file as usize].blocks.push(None);
            self.add(file, Key::Data(file, index as u32));
        }
    }

    /// A block is new: it gets an address now, or a promise of one.
    fn add(&mut self, file: FileId, key: Key) {
        self.touch(key);
        self.touch(self.files[file as usize].parent(key));
        if self.offers() || self.log.is_some() {
            self.reserved += 1;
            return;
        }
        let of = &self.files[file as usize];
        let goal = match of.last {
            Some(last) => last + 1,
            None => self.groups.colour(self.group_of(file), of.process),
        };
        let at = self.groups.take_near(goal).expect("there is room");
        let group = self.groups.shape().group_of(at);
        self.pages.touch(Key::BitsOfBlocks(group));
        self.place(key, at);
        if self.settings.ordered {
            self.absent.insert(key);
            let parent = self.files[file as usize].parent(key);
            self.order.wait(parent);
        }
    }

    /// Removes a file. Blocks that were offered are free only when its inode has been written
    /// without them.
    pub fn remove(&mut self, file: FileId) {
        let of = &mut self.files[file as usize];
        assert!(
            of.live && of.entries.is_none(),
            "only files are removed, once"
        );
        of.live = false;
        let (inode, keys) = (of.inode, of.keys(file));
        let (directory, place) = of.entry.expect("it is not the root");
        self.counts.pieces += self.files[file as usize].pieces();
        let entries = self.files[directory as usize].entries.as_mut();
        entries.expect("it is a directory").gaps.push(place);
        self.touch(Key::Data(directory, place / ENTRIES));
        self.touch_inode(file);
        self.groups.give_inode(inode);
        self.by_inode.remove(&inode);
        for key in keys {
            self.drop_block(file, key);
        }
        for number in 0..self.files[file as usize].indirect.len() {
            self.order.forget(Key::Indirect(file, number as u32));
        }
    }

    /// A block of a file that was removed.
    fn drop_block(&mut self, file: FileId, key: Key) {
        let was_dirty = self.pages.has(key);
        let going = self.pages.forget(key);
        if let Key::Data(_, index) = key {
            self.clean.forget((file, index));
        }
        let of = &self.files[file as usize];
        let (at, parent, inodes) = (of.at(key), of.parent(key), self.inodes_of(file));
        if let Some(log) = &mut self.log {
            log.cleaner.forget(key);
            if !going {
                self.drop_logged(at);
            }
            return;
        }
        match at {
            None => {
                // What is on its way out has its promise until it has ended.
                self.reserved -= u64::from(!going);
                // If it is not dirty, a write of it failed, and nothing waits for it any more.
                if was_dirty {
                    self.order.wait_no_more(parent);
                }
            }
            Some(at) if !self.offers() => {
                self.there(key);
                self.give(at);
            }
            // It is free behind its overwrite.
            Some(_) if going => self.freeing += 1,
            Some(at) => self.order.free_behind(inodes, at),
        }
    }

    /// A block has been written, or will never be: no pointer waits for it any more.
    pub(super) fn there(&mut self, key: Key) {
        if self.absent.remove(&key) {
            let file = key.file().expect("blocks of files are waited for");
            let parent = self.files[file as usize].parent(key);
            self.order.wait_no_more(parent);
        }
    }

    /// A block is free.
    pub(super) fn give(&mut self, at: u64) {
        self.groups.give(at);
        self.order.free(at);
        let group = self.groups.shape().group_of(at);
        self.pages.touch(Key::BitsOfBlocks(group));
    }

    /// What of a file has to be read, as runs of blocks that lie behind each other; the rest is in
    /// memory, and was used now.
    pub fn missing(&mut self, file: FileId) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let blocks = self.files[file as usize].blocks.clone();
        for (index, at) in (0..).zip(blocks) {
            let of = (file, index);
            let there = self.clean.has(of) || self.pages.has(Key::Data(file, index));
            self.use_block(of);
            // A block that could not be written has nothing to be read.
            let Some(at) = at.filter(|_| !there) else {
                continue;
            };
            match runs.last_mut() {
                Some((first, len))
                    if *first + *len == at && *len < self.settings.request_blocks =>
                {
                    *len += 1;
                }
                _ => runs.push((at, 1)),
            }
        }
        runs
    }

    /// A block of data is in memory, and was used last.
    pub(super) fn use_block(&mut self, of: (FileId, u32)) {
        if !self.pages.has(Key::Data(of.0, of.1)) {
            let room = self.settings.cache_blocks.saturating_sub(self.pages.len());
            self.clean.use_block(of, room);
        }
    }

    /// Bytes of a file.
    pub fn bytes(&self, file: FileId) -> u64 {
        self.files[file as usize].bytes
    }

    /// Files that have not been removed, in the order in which they were made.
    pub fn live_files(&self) -> Vec<FileId> {
        let all = (0..).zip(&self.files);
        let live =
            all.filter(|(_, file)| file.live && file.entries.is_none() && file.entry.is_some());
        live.map(|(file, _)| file).collect()
    }

    /// Blocks of inodes hold 64 of them.
    pub(super) fn inodes_in(&self, number: u64) -> impl Iterator<Item = FileId> {
        let range = number * INODES..(number + 1) * INODES;
        self.by_inode.range(range).map(|(_, file)| *file)
    }
}
