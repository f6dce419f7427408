//! Writeback: what the flusher writes, in which order, and what a process writes for itself.
//!
//! There is one flusher, as there is one work list for a device in Linux, and it does one job at a time (fs/fs-writeback.c of Linux 6.12):
//!
//! ```text
//! background   while more is dirty than the background limit: files in turns, a chunk of each
//! old          every five seconds: files that have been dirty for thirty, likewise
//! all          for `sync`: what is dirty when its turn comes, file by file; first without anybody waiting for the writes, then again as synchronous
//!              writes, which the flusher waits for; then a commit
//! ```
//!
//! Background and old writeback give way when there is something to sync. A file is written upward from where it was left, and begins again at its front. Who calls `fsync` writes its file itself.

use std::collections::VecDeque;

use nearslot_core::op::Op;
use nearslot_core::units::Instant;

use super::bits::Bits;
use super::files::File;
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
    /// Processes that write for themselves.
    own: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Job {
    Background,
    Old,
    /// Files that are still to be done, and who waits for it; nobody, for the first pass.
    All {
        from: usize,
        waits: Option<usize>,
    },
}

/// A file that is being written.
pub(super) struct Turn {
    file: usize,
    /// Pages that it may still write.
    left: u64,
    /// Those alone, if not whatever is dirty.
    marked: Option<Bits>,
    /// Whether it went on at the front already.
    wrapped: bool,
}

impl Turn {
    /// A turn for what is dirty of a file now.
    fn all(number: usize, file: &mut File) -> Turn {
        file.cursor = 0;
        Turn {
            file: number,
            left: u64::MAX,
            marked: Some(file.dirty.clone()),
            wrapped: true,
        }
    }

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
            if self
                .marked
                .as_ref()
                .is_some_and(|marked| !marked.has(first))
            {
                file.cursor = first + 1;
                continue;
            }
            let most = longest.min(self.left);
            let pages = file.dirty.run(first, most);
            let pages = self
                .marked
                .as_ref()
                .map_or(pages, |marked| marked.run(first, pages));
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
        for waits in [None, Some(process)] {
            self.flusher.jobs.push_back(Job::All { from: 0, waits });
        }
        self.write_back(now);
    }

    /// The flusher goes on until it has as much on its way as it may.
    fn write_back(&mut self, now: Instant) {
        while self.flusher.flying < self.settings.flush_depth {
            if self.flusher.turn.is_none() && !self.next_turn(now) {
                return;
            }
            let mut turn = self.flusher.turn.take().expect("it has just been chosen");
            let sync = self.job_is_waited_for();
            let file = &mut self.files.all[turn.file];
            let Some((first, pages)) = turn.next(file, self.settings.longest) else {
                // What is dirty behind a whole pass is young.
                if file.dirty.count() > 0 && turn.wrapped {
                    file.dirty_since = Some(now);
                }
                continue;
            };
            let writer = file.writer;
            let by = Asker {
                stream: if self.settings.anonymous {
                    self.flusher.stream
                } else {
                    writer
                },
                priority: 0,
                sync,
            };
            let place = (turn.file, first, pages);
            self.flusher.turn = Some(turn);
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

    fn job_is_waited_for(&self) -> bool {
        matches!(
            self.flusher.jobs.front(),
            Some(Job::All { waits: Some(_), .. })
        )
    }

    /// Chooses the next file of the job, or the next job; false if there is none, or the flusher waits.
    fn next_turn(&mut self, now: Instant) -> bool {
        loop {
            let gives_way = self.flusher.jobs.len() > 1;
            let Some(job) = self.flusher.jobs.front().cloned() else {
                if self.files.dirty <= self.pacing.background {
                    return false;
                }
                self.flusher.jobs.push_back(Job::Background);
                continue;
            };
            let old = now.0.checked_sub(self.settings.periodic.1.0).map(Instant);
            let chosen = match job {
                Job::Background if gives_way || self.files.dirty <= self.pacing.background => None,
                Job::Background => self.next_file(|file| file.dirty.count() > 0),
                Job::Old if gives_way => None,
                Job::Old => self.next_file(|file| {
                    file.dirty_since
                        .is_some_and(|since| old.is_some_and(|old| since <= old))
                }),
                Job::All { from, waits } => match self.next_of_all(from, waits) {
                    Some(turn) => {
                        self.flusher.turn = Some(turn);
                        return true;
                    }
                    None if waits.is_some() && self.flusher.flying > 0 => return false,
                    None => None,
                },
            };
            let Some(file) = chosen else {
                self.end_job(now);
                continue;
            };
            self.flusher.last = file;
            self.flusher.turn = Some(Turn {
                file,
                left: self.pacing.chunk(),
                marked: None,
                wrapped: false,
            });
            return true;
        }
    }

    /// The next file behind the last one of which this holds.
    fn next_file(&self, is: impl Fn(&File) -> bool) -> Option<usize> {
        let (count, last) = (self.files.all.len(), self.flusher.last);
        let mut files = (1..=count).map(|step| (last + step) % count);
        files.find(|file| is(&self.files.all[*file]))
    }

    /// The turn of the next file that is to be written whole.
    fn next_of_all(&mut self, from: usize, waits: Option<usize>) -> Option<Turn> {
        let dirty = |file: &usize| self.files.all[*file].dirty.count() > 0;
        let file = (from..self.files.all.len()).find(dirty)?;
        self.flusher.jobs[0] = Job::All {
            from: file + 1,
            waits,
        };
        Some(Turn::all(file, &mut self.files.all[file]))
    }

    fn end_job(&mut self, now: Instant) {
        let job = self.flusher.jobs.pop_front();
        if let Some(Job::All {
            waits: Some(process),
            ..
        }) = job
        {
            self.commit(now, process);
        }
    }

    /// A process writes what is dirty of its file, and waits for it.
    pub(super) fn write_own(&mut self, now: Instant, process: usize) {
        let file = self.actors[process].file;
        let turn = Turn::all(file, &mut self.files.all[file]);
        self.actors[process].fsync = Some(turn);
        self.flusher.own += 1;
        self.go_on_writing(now, process);
        // Nothing may have been dirty.
        self.end_fsyncs(now, file);
    }

    /// Writes more of it.
    fn go_on_writing(&mut self, now: Instant, process: usize) {
        let (longest, depth) = (self.settings.longest, self.settings.flush_depth);
        while self.actors[process].flying < depth {
            let actor = &mut self.actors[process];
            let turn = actor.fsync.as_mut().expect("it writes its file");
            let Some((first, pages)) = turn.next(&mut self.files.all[actor.file], longest) else {
                return;
            };
            actor.flying += 1;
            let place = (actor.file, first, pages);
            let by = Asker {
                sync: true,
                ..self.asker(process)
            };
            self.send_back(now, place, by, Some(process));
        }
    }

    /// Pages were written back.
    pub(super) fn wrote_back(
        &mut self,
        now: Instant,
        (file, first, pages): (usize, u64, u64),
        (by, well): (Option<usize>, bool),
    ) {
        self.files.sent(file, first, pages);
        let dirty = self.dirty();
        self.pacing.wrote(now, pages, dirty);
        match by {
            Some(process) => {
                let actor = &mut self.actors[process];
                actor.flying -= 1;
                actor.found.failed += u64::from(!well);
                self.go_on_writing(now, process);
            }
            None => {
                self.flusher.flying -= 1;
                if !well {
                    self.flusher_failed(file);
                }
                self.write_back(now);
            }
        }
        self.end_fsyncs(now, file);
    }

    /// A write of the flusher that failed counts for who wrote.
    fn flusher_failed(&mut self, file: usize) {
        let writer = self.files.all[file].writer;
        let wrote = self.actors.iter_mut().find(|actor| actor.stream == writer);
        wrote.expect("a process wrote it").found.failed += 1;
    }

    /// Who waits for its file and has all of it written, goes on with a commit.
    fn end_fsyncs(&mut self, now: Instant, file: usize) {
        if self.flusher.own == 0 {
            return;
        }
        let leaving = self.files.all[file].leaving.count();
        for process in 0..self.actors.len() {
            let actor = &self.actors[process];
            if actor.fsync.is_some() && actor.file == file && actor.flying == 0 && leaving == 0 {
                self.actors[process].fsync = None;
                self.flusher.own -= 1;
                self.commit(now, process);
            }
        }
    }
}
