//! Files, where they lie, and which of their pages are in memory.
//!
//! A file lies in one piece. Pages that were read or written stay in memory until there is no room:
//! then the oldest goes that was not asked for a second time since it came, as with the two lists
//! of Linux, and that is neither dirty nor on its way.

use std::collections::VecDeque;

use nearslot_core::pages::PAGE;
use nearslot_core::units::Instant;

use super::bits::Bits;
use super::sync::{Pages, Sync};

/// A file and its pages.
pub(super) struct File {
    /// Its first block on the volume.
    pub(super) start: u64,
    pub(super) pages: u64,
    /// In memory, with what the file has there.
    pub(super) present: Bits,
    /// On their way in.
    pub(super) coming: Bits,
    /// Written to, and not yet on their way out.
    pub(super) dirty: Bits,
    /// On their way out.
    pub(super) leaving: Bits,
    /// Asked for since they came, and again.
    seen: Bits,
    again: Bits,
    /// Since when a page of it is dirty.
    pub(super) dirty_since: Option<Instant>,
    /// Where its writeback goes on.
    pub(super) cursor: u64,
    /// The stream that wrote to it last.
    pub(super) writer: u32,
    /// Who waits until it is written.
    pub(super) syncs: Vec<Sync>,
    /// Processes that wait for a page.
    pub(super) waiting: Vec<(u64, usize)>,
}

impl File {
    fn new(start: u64, pages: u64) -> File {
        let none = || Bits::none(pages);
        File {
            start,
            pages,
            present: none(),
            coming: none(),
            dirty: none(),
            leaving: none(),
            seen: none(),
            again: none(),
            dirty_since: None,
            cursor: 0,
            writer: 0,
            syncs: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// Its pages that are dirty, and such as are on their way out.
    pub(super) fn pages_out(&self) -> Pages<'_> {
        (&self.dirty, &self.leaving)
    }

    /// The block at which a page begins.
    pub(super) fn block(&self, page: u64) -> u64 {
        self.start + page * PAGE
    }
}

/// All files, and what of them is in memory.
pub(super) struct Files {
    pub(super) all: Vec<File>,
    /// Pages that memory has room for.
    room: u64,
    /// Pages that are present or coming.
    held: u64,
    /// Those, in the order in which they came: file and page.
    order: VecDeque<(u32, u32)>,
    /// Pages that are dirty.
    pub(super) dirty: u64,
    /// Pages on their way out.
    pub(super) leaving: u64,
    /// Most pages that were dirty or on their way out at once.
    pub(super) most_dirty: u64,
    /// Where the next file lies.
    end: u64,
}

impl Files {
    /// None yet, the first of them at this block; memory has room for so many pages.
    pub(super) fn new(start: u64, room: u64) -> Files {
        Files {
            all: Vec::new(),
            room,
            held: 0,
            order: VecDeque::new(),
            dirty: 0,
            leaving: 0,
            most_dirty: 0,
            end: start,
        }
    }

    /// One more, of so many pages, behind those that there are.
    pub(super) fn add(&mut self, pages: u64) -> usize {
        self.all.push(File::new(self.end, pages));
        self.end += pages * PAGE;
        self.all.len() - 1
    }

    /// The block behind the last file.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// A page that is present is asked for.
    #[inline]
    pub(super) fn touch(&mut self, file: usize, page: u64) {
        let one = &mut self.all[file];
        if !one.seen.add(page) {
            one.again.add(page);
        }
    }

    /// A page gets a place in memory; its contents are still to come if `comes`.
    pub(super) fn bring(&mut self, file: usize, page: u64, comes: bool) {
        let one = &mut self.all[file];
        let new = match comes {
            true => one.coming.add(page),
            false => one.present.add(page),
        };
        if new {
            self.order.push_back((file as u32, page as u32));
            self.held += 1;
            self.make_room();
        }
    }

    /// A page that was to come is there, or could not be read.
    pub(super) fn came(&mut self, file: usize, page: u64, well: bool) {
        let one = &mut self.all[file];
        let written = one.dirty.has(page) || one.leaving.has(page);
        if one.coming.take(page) && (well || written) {
            one.present.add(page);
        }
    }

    /// A page is written to; whether it was clean.
    pub(super) fn soil(&mut self, (file, page): (usize, u64), now: Instant, stream: u32) -> bool {
        let one = &mut self.all[file];
        if !one.present.has(page) && !one.coming.has(page) {
            self.bring(file, page, false);
        }
        let one = &mut self.all[file];
        one.writer = stream;
        one.dirty_since.get_or_insert(now);
        let clean = one.dirty.add(page);
        self.dirty += u64::from(clean);
        self.most_dirty = self.most_dirty.max(self.dirty + self.leaving);
        clean
    }

    /// Dirty pages go on their way out.
    pub(super) fn send(&mut self, file: usize, first: u64, pages: u64) {
        let one = &mut self.all[file];
        for page in first..first + pages {
            one.dirty.take(page);
            one.leaving.add(page);
        }
        if one.dirty.count() == 0 {
            one.dirty_since = None;
        }
        self.dirty -= pages;
        self.leaving += pages;
    }

    /// They are written.
    pub(super) fn sent(&mut self, file: usize, first: u64, pages: u64) {
        let one = &mut self.all[file];
        for page in first..first + pages {
            one.leaving.take(page);
        }
        self.leaving -= pages;
    }

    /// Lets the oldest pages go until there is room, those not that are needed.
    fn make_room(&mut self) {
        let mut looked = self.order.len();
        while self.held > self.room && looked > 0 {
            looked -= 1;
            let (file, page) = self.order.pop_front().expect("pages are held");
            let (one, number) = (&mut self.all[file as usize], u64::from(page));
            let needed = one.dirty.has(number) || one.leaving.has(number) || one.coming.has(number);
            if needed || one.again.take(number) {
                self.order.push_back((file, page));
                continue;
            }
            // A page that could not be read is only in the order.
            one.present.take(number);
            one.seen.take(number);
            self.held -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present(files: &Files) -> Vec<u64> {
        let bits = &files.all[0].present;
        (0..files.all[0].pages)
            .filter(|page| bits.has(*page))
            .collect()
    }

    #[test]
    fn the_oldest_page_that_nobody_asked_for_again_goes_and_a_dirty_one_stays() {
        let mut files = Files::new(80, 3);
        files.add(64);
        for page in [5, 6, 7] {
            files.bring(0, page, false);
        }
        files.touch(0, 7);
        files.touch(0, 5);
        files.touch(0, 5);
        assert!(files.soil((0, 6), Instant(9), 1));
        files.bring(0, 8, false);
        assert_eq!(present(&files), [5, 6, 8]);
        // 5 was spared once and comes behind 8 now; 6 is dirty, then on its way out, then free to
        // go.
        files.bring(0, 9, false);
        assert_eq!(present(&files), [5, 6, 9]);
        files.send(0, 6, 1);
        assert_eq!(
            (files.dirty, files.leaving, files.all[0].dirty_since),
            (0, 1, None)
        );
        files.bring(0, 10, false);
        assert_eq!(present(&files), [6, 9, 10]);
        files.sent(0, 6, 1);
        files.bring(0, 11, false);
        assert_eq!(present(&files), [9, 10, 11]);
        assert_eq!(files.most_dirty, 1);
    }

    #[test]
    fn files_lie_one_behind_the_other() {
        let mut files = Files::new(80, 3);
        assert_eq!((files.add(2), files.add(4), files.end()), (0, 1, 80 + 48));
        assert_eq!((files.all[1].block(0), files.all[1].block(3)), (96, 120));
    }

    #[test]
    fn a_page_that_could_not_be_read_is_not_there() {
        let mut files = Files::new(0, 1);
        files.add(8);
        files.bring(0, 1, true);
        files.came(0, 1, false);
        assert!(!files.all[0].present.has(1) && !files.all[0].coming.has(1));
        files.bring(0, 1, true);
        files.came(0, 1, true);
        files.bring(0, 2, false);
        assert_eq!(present(&files), [2]);
    }

    #[test]
    fn a_page_on_its_way_in_stays_and_what_is_on_its_way_out_counts_as_dirty() {
        let mut files = Files::new(0, 2);
        files.add(8);
        files.bring(0, 1, true);
        files.bring(0, 2, false);
        files.bring(0, 3, false);
        files.came(0, 1, true);
        assert_eq!(present(&files), [1, 3]);
        files.soil((0, 1), Instant(1), 7);
        files.send(0, 1, 1);
        files.soil((0, 3), Instant(2), 7);
        assert_eq!(files.most_dirty, 2);
    }
}
