//! Writeback: what the flusher writes, in which order, and what a process writes for itself.
//!
//! There is one flusher, as there is one work list for a device in Linux, and it does one job at a
//! time (fs/fs-writeback.c of Linux 6.12):
//!
//! ```text
//! background   while more is dirty than the background limit: files in turns, a chunk of each
//! old          every five seconds: files that have been dirty for thirty, likewise
//! all          for `sync`: what is dirty of each file when its turn comes, for which nobody waits
//! sync         behind that: what is dirty, or on its way out, when it begins, as synchronous writes; when all that is written, a commit
//! ```
//!
//! Background and old writeback give way to others. A file is written upward from where it was
//! left, and begins again at its front. A page that is on its way out is not sent a second time
//! until it is there. Who calls `fsync` writes its file itself, and waits for what of it was dirty
//! or on its way out then, whoever writes that.

use std::collections::VecDeque;

use nearslot_core::op::Op;
use nearslot_core::units::Instant;

use super::files::File;
use super::sync::{By, Sync, sendable};
use super::{Asker, Event, Machine, Purpose};

#[derive(Default)]
pub(super) struct Flusher {
    pub(super) stream: u32,
    jobs: VecDeque<Job>,
    turn: Option<Turn>,
    /// The file that had the last turn.
    last: usize,
    /// Its requests on their way.
    flying: u64,
    /// Files of which it waits for something, of the `sync` that it does.
    syncing: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Job {
    Background,
    Old,
    /// Files from this one on are still to be done.
    All {
        from: usize,
    },
    /// For this process; whether it has begun.
    Sync {
        process: usize,
        begun: bool,
    },
}

/// A file that the flusher writes, of which nobody waits for anything.
struct Turn {
    file: usize,
    /// Pages that it may still write.
    left: u64,
    /// Whether it went on at the front already.
    wrapped: bool,
}

impl Turn {
    /// The next run of pages, `longest` at most; none when the turn is over.
    fn next(&mut self, file: &mut File, longest: u64) -> Option<(u64, u64)> {
        while self.left > 0 {
            let Some(first) = file.dirty.next(file.cursor) else {
                if self.wrapped {
                    return None;
                }
                (file.cursor, self.wrapped) = (0, true);
                continue;
            };
            if file.leaving.has(first) {
                file.cursor = first + 1;
                continue;
            }
            let pages = sendable(file.pages_out(), first, longest.min(self.left));
            file.cursor = first + pages;
            self.left -= pages;
            return Some((first, pages));
        }
        None
    }
}

impl Machine {
    /// It is time to look for old pages.
    pub(super) fn look(&mut self, now: Instant) {
        self.check_alive();
        if !self.flusher.jobs.contains(&Job::Old) {
            self.flusher.jobs.push_back(Job::Old);
        }
        self.write_back(now);
        self.note(now + self.settings.periodic.0, Event::Look);
    }

    /// Somebody has something on its way or sleeps, else no process would ever go on.
    fn check_alive(&self) {
        let waits = !self.purposes.is_empty() || !self.out.is_empty() || !self.events.is_empty();
        let idle = self.actors.iter().all(|actor| actor.ended.is_some());
        assert!(
            waits || idle,
            "every process of the host waits, and nothing is on its way"
        );
    }

    /// Dirty pages have come to be more than the background limit.
    pub(super) fn write_in_background(&mut self, now: Instant) {
        if self.flusher.jobs.is_empty() {
            self.flusher.jobs.push_back(Job::Background);
            self.write_back(now);
        }
    }

    /// A process waits until everything is on the medium.
    pub(super) fn sync_all(&mut self, now: Instant, process: usize) {
        let begun = false;
        self.flusher.jobs.push_back(Job::All { from: 0 });
        self.flusher.jobs.push_back(Job::Sync { process, begun });
        self.write_back(now);
    }

    /// The flusher goes on until it has as much on its way as it may.
    fn write_back(&mut self, now: Instant) {
        while self.flusher.flying < self.settings.flush_depth {
            let Some(place) = self.next_out(now) else {
                return;
            };
            let sync = matches!(self.flusher.jobs.front(), Some(Job::Sync { .. }));
            let writer = self.files.all[place.0].writer;
            let by = Asker {
                stream: if self.settings.anonymous {
                    self.flusher.stream
                } else {
                    writer
                },
                priority: 0,
                sync,
            };
            self.flusher.flying += 1;
            self.send_back(now, place, by, None);
        }
    }

    fn send_back(&mut self, now: Instant, place: (usize, u64, u64), by: Asker, of: Option<usize>) {
        let (file, first, pages) = place;
        self.files.send(file, first, pages);
        let purpose = Purpose::Back {
            file,
            first,
            pages,
            by: of,
        };
        self.ask_pages(now, Op::Write, place, by, purpose);
    }

    /// What the flusher writes next: a file, a page of it, and how many; none if there is nothing,
    /// or it waits.
    fn next_out(&mut self, now: Instant) -> Option<(usize, u64, u64)> {
        loop {
            if let Some(place) = self.next_of_turn(now) {
                return Some(place);
            }
            let gives_way = self.flusher.jobs.len() > 1;
            let over = self.files.dirty > self.pacing.background;
            let file = match self.flusher.jobs.front().cloned() {
                None if !over => return None,
                None => {
                    self.flusher.jobs.push_back(Job::Background);
                    continue;
                }
                Some(Job::Background) if over && !gives_way => {
                    self.next_file(|file| file.dirty.count() > 0)
                }
                Some(Job::Old) if !gives_way => self.next_old(now),
                Some(Job::Background | Job::Old) => None,
                Some(Job::All { from }) => self.next_of_all(from),
                Some(Job::Sync { process, begun }) => {
                    if !begun {
                        self.begin_sync(process);
                    }
                    if let Some(place) = self.next_of_sync() {
                        return Some(place);
                    }
                    if !self.flusher.syncing.is_empty() {
                        return None;
                    }
                    self.flusher.jobs.pop_front();
                    self.commit(now, process);
                    continue;
                }
            };
            match file {
                Some(file) => self.give_turn(file),
                None => drop(self.flusher.jobs.pop_front()),
            }
        }
    }

    /// A file gets its turn: a chunk of it, or, of all files, what there is.
    fn give_turn(&mut self, file: usize) {
        let all = matches!(self.flusher.jobs.front(), Some(Job::All { .. }));
        self.flusher.last = file;
        if all {
            self.files.all[file].cursor = 0;
        }
        self.flusher.turn = Some(Turn {
            file,
            left: if all { u64::MAX } else { self.pacing.chunk() },
            wrapped: all,
        });
    }

    /// The next pages of the file that has its turn.
    fn next_of_turn(&mut self, now: Instant) -> Option<(usize, u64, u64)> {
        let mut turn = self.flusher.turn.take()?;
        let file = &mut self.files.all[turn.file];
        let Some((first, pages)) = turn.next(file, self.settings.longest) else {
            // What is dirty behind a whole pass is young.
            if file.dirty.count() > 0 && turn.wrapped && turn.left > 0 {
                file.dirty_since = Some(now);
            }
            return None;
        };
        let place = (turn.file, first, pages);
        self.flusher.turn = Some(turn);
        Some(place)
    }

    /// The next file behind the last one of which this holds.
    fn next_file(&self, is: impl Fn(&File) -> bool) -> Option<usize> {
        let (count, last) = (self.files.all.len(), self.flusher.last);
        let mut files = (1..=count).map(|step| (last + step) % count);
        files.find(|file| is(&self.files.all[*file]))
    }

    /// The next file that has been dirty for long.
    fn next_old(&self, now: Instant) -> Option<usize> {
        let old = Instant(now.0.checked_sub(self.settings.periodic.1.0)?);
        self.next_file(|file| file.dirty_since.is_some_and(|since| since <= old))
    }

    /// The next of all files that is dirty.
    fn next_of_all(&mut self, from: usize) -> Option<usize> {
        let dirty = |file: &usize| self.files.all[*file].dirty.count() > 0;
        let file = (from..self.files.all.len()).find(dirty)?;
        self.flusher.jobs[0] = Job::All { from: file + 1 };
        Some(file)
    }

    /// Marks what a `sync` waits for.
    fn begin_sync(&mut self, process: usize) {
        let begun = true;
        self.flusher.jobs[0] = Job::Sync { process, begun };
        for (number, file) in self.files.all.iter_mut().enumerate() {
            if file.dirty.count() + file.leaving.count() > 0 {
                let sync = Sync::of(file.pages_out(), By::Flusher);
                file.syncs.push(sync);
                self.flusher.syncing.push(number);
            }
        }
    }

    /// The next pages that a `sync` sends.
    fn next_of_sync(&mut self) -> Option<(usize, u64, u64)> {
        let (longest, all) = (self.settings.longest, &mut self.files.all);
        self.flusher.syncing.iter().find_map(|number| {
            let (first, pages) = all[*number].next_for(By::Flusher, longest)?;
            Some((*number, first, pages))
        })
    }

    /// A process writes what is dirty of its file, and waits for it.
    pub(super) fn write_own(&mut self, now: Instant, process: usize) {
        let number = self.actors[process].file;
        let file = &mut self.files.all[number];
        let sync = Sync::of(file.pages_out(), By::Process(process));
        file.syncs.push(sync);
        self.go_on_writing(now, number, process);
        // Nothing may have been dirty.
        self.end_syncs(now, number);
    }

    /// A process sends more of its file.
    fn go_on_writing(&mut self, now: Instant, number: usize, process: usize) {
        let (longest, depth) = (self.settings.longest, self.settings.flush_depth);
        let by = Asker {
            sync: true,
            ..self.asker(process)
        };
        while self.files.all[number].flying_for(By::Process(process)) < depth {
            let file = &mut self.files.all[number];
            let Some((first, pages)) = file.next_for(By::Process(process), longest) else {
                return;
            };
            self.send_back(now, (number, first, pages), by, Some(process));
        }
    }

    /// Pages were written back.
    pub(super) fn wrote_back(
        &mut self,
        now: Instant,
        (number, first, pages): (usize, u64, u64),
        (of, well): (Option<usize>, bool),
    ) {
        self.files.sent(number, first, pages);
        let dirty = self.dirty();
        self.pacing.wrote(now, pages, dirty);
        if !well {
            self.writing_failed(number, of);
        }
        let by = of.map_or(By::Flusher, By::Process);
        for sync in &mut self.files.all[number].syncs {
            sync.written(first, pages);
            sync.flying -= u64::from(sync.by == by && sync.flying > 0);
        }
        if of.is_none() {
            self.flusher.flying -= 1;
        }
        self.end_syncs(now, number);
        for at in 0..self.files.all[number].syncs.len() {
            if let By::Process(process) = self.files.all[number].syncs[at].by {
                self.go_on_writing(now, number, process);
            }
        }
        self.write_back(now);
    }

    /// A write that failed counts for who asked for it; one of the flusher, for who wrote last to
    /// the file.
    fn writing_failed(&mut self, number: usize, of: Option<usize>) {
        let writer = self.files.all[number].writer;
        let wrote = || self.actors.iter().position(|actor| actor.stream == writer);
        let actor = of.or_else(wrote).expect("a process wrote it");
        self.actors[actor].found.failed += 1;
    }

    /// Who waited for a file and has what it waited for goes on: a process with a commit, the
    /// flusher with its job.
    fn end_syncs(&mut self, now: Instant, number: usize) {
        let mut at = 0;
        while let Some(sync) = self.files.all[number].syncs.get(at) {
            if !sync.is_done() {
                at += 1;
                continue;
            }
            let by = sync.by;
            self.files.all[number].syncs.remove(at);
            match by {
                By::Process(process) => self.commit(now, process),
                By::Flusher => self.flusher.syncing.retain(|file| *file != number),
            }
        }
    }
}

impl File {
    /// The next pages that somebody sends who waits for the file.
    fn next_for(&mut self, by: By, longest: u64) -> Option<(u64, u64)> {
        let pages = (&self.dirty, &self.leaving);
        let sync = self.syncs.iter_mut().find(|sync| sync.by == by)?;
        let found = sync.next(pages, longest);
        sync.flying += u64::from(found.is_some());
        found
    }

    /// Requests of theirs that are on their way; none is left to send if they wait for nothing.
    fn flying_for(&self, by: By) -> u64 {
        let sync = self.syncs.iter().find(|sync| sync.by == by);
        sync.map_or(u64::MAX, |sync| sync.flying)
    }
}
