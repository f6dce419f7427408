//! The journal of the file system: who waits for a commit waits for some pages to be written, and
//! for the drive's cache to be on the medium.
//!
//! One commit is under way at a time. Who comes meanwhile waits for the next one, which is for all
//! of them.

use nearslot_core::op::Op;
use nearslot_core::pages::PAGE;
use nearslot_core::units::Instant;

use super::{Asker, Machine, Purpose, Settings};

/// Blocks of the journal at most: 128 MiB.
const AREA_MAX: u64 = (128 << 20) / 512;

/// Blocks of the journal, which lies in front of the files: a sixteenth of the half that they have,
/// and room for a commit.
pub(super) fn area(settings: &Settings) -> u64 {
    let (from, end) = settings.files;
    let sixteenth = (end - from) / 16 / PAGE * PAGE;
    sixteenth.min(AREA_MAX).max(settings.journal_pages * PAGE)
}

#[derive(Default)]
pub(super) struct Journal {
    pub(super) stream: u32,
    start: u64,
    /// Pages of it that were written.
    at: u64,
    /// Whether the pages of a commit are written, or its flush.
    stage: Option<Stage>,
    /// Processes that the commit under way is for, and those that wait for the next one.
    serves: Vec<usize>,
    waiting: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Pages,
    Flush,
}

impl Journal {
    pub(super) fn at(start: u64) -> Journal {
        Journal {
            start,
            ..Journal::default()
        }
    }
}

impl Machine {
    /// A process waits for a commit.
    pub(super) fn commit(&mut self, now: Instant, process: usize) {
        self.journal.waiting.push(process);
        if self.journal.stage.is_none() {
            self.begin_commit(now);
        }
    }

    fn by_journal(&self) -> Asker {
        Asker {
            stream: self.journal.stream,
            priority: 0,
            sync: true,
        }
    }

    fn begin_commit(&mut self, now: Instant) {
        let (pages, area) = (self.settings.journal_pages, area(&self.settings) / PAGE);
        self.journal.serves = std::mem::take(&mut self.journal.waiting);
        if pages == 0 {
            return self.flush_drive(now);
        }
        self.journal.stage = Some(Stage::Pages);
        if self.journal.at + pages > area {
            self.journal.at = 0;
        }
        let block = self.journal.start + self.journal.at * PAGE;
        self.journal.at += pages;
        let place = (Op::Write, block, pages * PAGE);
        self.ask(now, place, self.by_journal(), Purpose::Commit);
    }

    fn flush_drive(&mut self, now: Instant) {
        self.journal.stage = Some(Stage::Flush);
        self.ask(now, (Op::Flush, 0, 0), self.by_journal(), Purpose::Commit);
    }

    /// A request of a commit was answered.
    pub(super) fn committed(&mut self, now: Instant, well: bool) {
        let stage = self.journal.stage.take().expect("a commit is under way");
        if !well {
            for process in &self.journal.serves {
                self.actors[*process].found.failed += 1;
            }
        }
        if stage == Stage::Pages {
            return self.flush_drive(now);
        }
        let served = std::mem::take(&mut self.journal.serves);
        if !self.journal.waiting.is_empty() {
            self.begin_commit(now);
        }
        for process in served {
            self.act(process, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::settings;

    #[test]
    fn the_journal_has_a_sixteenth_of_the_files_half_and_room_for_a_commit() {
        let of = |blocks: u64, journal_pages| {
            area(&Settings {
                files: (blocks / 2, blocks),
                journal_pages,
                ..settings()
            })
        };
        assert_eq!(of(1 << 21, 8), 1 << 16);
        // 128 MiB at most, in whole pages, and 1,024 pages of a commit in a small volume.
        assert_eq!(of(312_500_000, 8), 262_144);
        assert_eq!(of(1_000_000, 8), 31_248);
        assert_eq!(of(1 << 14, 1_024), 8_192);
    }
}
