//! A host above the drives: processes that read, write, think and wait, a page cache, and a
//! flusher.
//!
//! ```text
//! processes (told, beside)   steps in a row; a stream each
//!    | read, write                          | fsync, sync            | start-up
//! page cache (files, read_ahead, pacing)    |                        |
//!    | misses      | dirty pages            |                        |
//!    |          flusher (writeback) <-------+---> journal            |
//!    v             v                               v                 v
//! requests, each with what it is for; their answers wake who waits
//! ```
//!
//! Time passes only in sleeps: a process counts what it computes, and sleeps for it before it does
//! what others can see. Processors are never short, and memory is for the page cache alone. A
//! process goes on behind a request that failed, which is counted.
//!
//! A request costs a few events of O(log processes); what is written to memory is a bit a page; who
//! syncs pays for a look at all pages of a file. The design, and what is left out:
//! docs/design/0028-host.md.

mod acting;
mod actor;
pub mod beside;
mod bits;
mod files;
mod found;
mod journal;
mod pacing;
mod read_ahead;
mod starting;
pub mod startup;
mod sync;
pub mod told;
mod writeback;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use nearslot_core::ids::StreamId;
use nearslot_core::op::{Op, Status};
use nearslot_core::pages::{PAGE, PAGE_BYTES};
use nearslot_core::registry::ConfigError;
use nearslot_core::request::{Reply, Request};
use nearslot_core::rng::Rng;
use nearslot_core::units::{Duration, Instant};

use self::actor::Actor;
use self::files::Files;
use self::found::Starts;
use self::journal::Journal;
use self::pacing::Pacing;
use self::told::{Process, Step, Ties};
use self::writeback::Flusher;

pub use self::found::{KEY, MEASURES};

/// What is said of a host as a whole.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The first block of the first file, and the one behind the last that files may use.
    pub files: (u64, u64),
    /// Pages that memory has room for.
    pub memory: u64,
    /// Percent of them that may be dirty before the flusher begins, and before writers stand.
    pub dirty_percent: (u64, u64),
    /// How often the flusher looks for old pages, and what is old.
    pub periodic: (Duration, Duration),
    /// Pages of a window of read-ahead at most; 0 for none.
    pub read_ahead: u64,
    /// Pages of a request at most, of what the page cache asks for.
    pub longest: u64,
    /// Whether writeback belongs to the flusher, not to who wrote.
    pub anonymous: bool,
    /// Pages that a commit of the journal writes.
    pub journal_pages: u64,
    /// Requests that the flusher, or who waits for its own writeback, has on their way at most.
    pub flush_depth: u64,
    /// What it takes a processor to copy a page.
    pub copy: Duration,
    /// How long what others do is counted from the first start-up on.
    pub counted: Duration,
    /// The run ends then at the latest.
    pub end: Instant,
    /// Seeds what is random.
    pub seed: u64,
}

/// What a request is for.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    /// It fills pages of a file.
    Fill { file: usize, first: u64, pages: u64 },
    /// A process waits for it.
    Direct { process: usize },
    /// A process that starts reads ahead.
    Ahead { process: usize, of: u16 },
    /// It writes back dirty pages of a file: for the flusher, or for the process that waits for
    /// them.
    Back {
        file: usize,
        first: u64,
        pages: u64,
        by: Option<usize>,
    },
    /// It is of a commit.
    Commit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A process sleeps until then.
    Wake(usize),
    /// The flusher looks for old pages.
    Look,
    /// What others read and write is no longer counted.
    Counted,
}

/// Who asks, and whether somebody waits for what it writes.
#[derive(Clone, Copy)]
struct Asker {
    stream: u32,
    priority: u16,
    sync: bool,
}

/// A host in virtual time.
pub struct Machine {
    settings: Settings,
    told: Vec<Process>,
    ties: Ties,
    actors: Vec<Actor>,
    files: Files,
    pacing: Pacing,
    flusher: Flusher,
    journal: Journal,
    /// Names of streams, by number; the first is that of none.
    streams: Vec<String>,

    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    /// Numbers events, so that those of an instant have an order.
    noted: u64,
    /// Requests that were not taken yet, all of one instant.
    out: VecDeque<Request>,
    out_at: Instant,
    /// What the requests are for that have not been answered, from the oldest of them on.
    purposes: VecDeque<Option<Purpose>>,
    oldest: u64,
    asked: u64,
    /// Processes that go on now; kept, so that none is allocated for each answer.
    woken: Vec<(u64, usize)>,
    /// By description, processes that have not ended.
    unended: Vec<u64>,
    starts: Starts,
    /// What others read and write is being counted; the run does not end before.
    counting: bool,
    /// Processes that end, and have not; none where none ends.
    awaited: Option<usize>,
    over: bool,
    /// The last instant that was seen.
    now: Instant,
}

impl Machine {
    /// A host of these processes.
    ///
    /// # Errors
    /// What they name is not there, or files do not fit.
    pub fn new(told: Vec<Process>, settings: Settings) -> Result<Machine, ConfigError> {
        let ties = told::ties(&told)?;
        let limit = |percent: u64| settings.memory * percent / 100;
        let (background, hard) = settings.dirty_percent;
        let journal_at = settings.files.0;
        let files = settings.files.0 + journal::area(&settings);
        let mut machine = Machine {
            actors: Vec::new(),
            files: Files::new(files, settings.memory),
            pacing: Pacing::new(limit(background), limit(hard)),
            flusher: Flusher::default(),
            journal: Journal::at(journal_at),
            streams: vec![String::new()],
            events: BinaryHeap::new(),
            noted: 0,
            out: VecDeque::new(),
            out_at: Instant::ZERO,
            purposes: VecDeque::new(),
            oldest: 0,
            asked: 0,
            woken: Vec::new(),
            unended: Vec::new(),
            starts: Starts::of(&told),
            counting: false,
            awaited: None,
            over: false,
            now: Instant::ZERO,
            settings,
            told,
            ties,
        };
        machine.make_actors()?;
        machine.flusher.stream = machine.stream("flusher");
        machine.journal.stream = machine.stream("journal");
        machine.unended = machine.told.iter().map(|process| process.count).collect();
        let ends = |actor: &&Actor| machine.told[actor.told].times.is_some();
        let ending = machine.actors.iter().filter(ends).count();
        machine.awaited = Some(ending).filter(|ending| *ending > 0);
        for actor in 0..machine.actors.len() {
            machine.start_if_free(actor, Instant::ZERO);
        }
        let look = Instant::ZERO + machine.settings.periodic.0;
        machine.note(look, Event::Look);
        Ok(machine)
    }

    /// A process for each that is told of, with its file.
    fn make_actors(&mut self) -> Result<(), ConfigError> {
        let mut first_of = Vec::new();
        for told in 0..self.told.len() {
            first_of.push(self.actors.len());
            let (count, pages) = (self.told[told].count, self.told[told].file_pages);
            for number in 1..=count {
                let process = &self.told[told];
                let name = match count {
                    1 => process.name.clone(),
                    _ => format!("{}-{number}", process.name),
                };
                self.check_name(&name)?;
                let file = match self.ties.shares[told] {
                    // Found below, once all have files.
                    Some(_) => usize::MAX,
                    None => self.files.add(pages),
                };
                self.check_end(&name, pages)?;
                let rng = Rng::stream(self.settings.seed, &format!("host/{name}"));
                let stream = self.stream(&name);
                self.actors
                    .push(Actor::new(told, (name, stream), file, rng));
            }
        }
        for actor in 0..self.actors.len() {
            if let Some(other) = self.ties.shares[self.actors[actor].told] {
                self.actors[actor].file = self.actors[first_of[other]].file;
                self.check_shared(actor)?;
            }
        }
        Ok(())
    }

    /// Whether a process has a name of its own, by which its random numbers and its stream go.
    fn check_name(&self, name: &str) -> Result<(), ConfigError> {
        let taken = ["flusher", "journal"].contains(&name);
        let other = self.streams.iter().any(|known| known == name);
        if !taken && !other {
            return Ok(());
        }
        let allowed = "a name that no other process has, nor the flusher or the journal";
        Err(ConfigError::value("host.process: name", name, allowed))
    }

    fn check_end(&self, name: &str, pages: u64) -> Result<(), ConfigError> {
        let (from, end) = self.settings.files;
        if self.files.end() <= end {
            return Ok(());
        }
        let value = format!("{} bytes", pages * PAGE_BYTES);
        let room = end.saturating_sub(from + journal::area(&self.settings)) * 512;
        let allowed = format!(
            "files of {room} bytes in all, which is what the volume has room for behind its middle"
        );
        Err(ConfigError::value(
            &format!("file of {name}"),
            &value,
            &allowed,
        ))
    }

    /// Whether a process asks its shared file for no more than that has.
    fn check_shared(&self, actor: usize) -> Result<(), ConfigError> {
        let Actor { told, file, .. } = self.actors[actor];
        let (process, pages) = (&self.told[told], self.files.all[file].pages);
        let most = process.steps.iter().map(|step| match step {
            Step::Read(access) | Step::Write(access) => access.pages,
            _ => 0,
        });
        let most = most.max().unwrap_or(0);
        if most <= pages {
            return Ok(());
        }
        let key = format!("process `{}`: steps", process.name);
        let value = format!("{} bytes at a time", most * PAGE_BYTES);
        Err(ConfigError::value(
            &key,
            &value,
            &format!("at most the shared file, {} bytes", pages * PAGE_BYTES),
        ))
    }

    /// A new stream of this name.
    fn stream(&mut self, name: &str) -> u32 {
        self.streams.push(name.to_owned());
        self.streams.len() as u32 - 1
    }

    /// Names of all streams that there are so far, by number.
    pub fn streams(&self) -> &[String] {
        &self.streams
    }

    /// When it ends at the latest.
    pub fn end(&self) -> Instant {
        self.settings.end
    }

    /// When something happens next, as far as is known.
    #[inline]
    pub fn due(&self) -> Option<Instant> {
        if self.over {
            return None;
        }
        if !self.out.is_empty() {
            return Some(self.out_at);
        }
        let due = self.events.peek().map(|Reverse((due, ..))| *due);
        due.map(|due| due.min(self.settings.end))
    }

    /// What is asked for at `now`, one after another; none if nothing is, whatever else happens
    /// then.
    pub fn next(&mut self, now: Instant) -> Option<Request> {
        self.pass(now);
        while !self.over && self.out.is_empty() {
            match self.events.peek() {
                Some(Reverse((due, ..))) if *due <= now => {}
                _ => break,
            }
            let Reverse((_, _, event)) = self.events.pop().expect("one is due");
            match event {
                Event::Wake(actor) => self.act(actor, now),
                Event::Look => self.look(now),
                Event::Counted => self.end_count(now),
            }
        }
        if self.over {
            return None;
        }
        self.out.pop_front()
    }

    /// A request was answered.
    pub fn answered(&mut self, now: Instant, reply: &Reply) {
        self.pass(now);
        let purpose = self.purposes[(reply.request.id.0 - self.oldest) as usize].take();
        while let Some(None) = self.purposes.front() {
            self.purposes.pop_front();
            self.oldest += 1;
        }
        if self.over {
            return;
        }
        let well = reply.status == Status::Done;
        match purpose.expect("every request is for something") {
            Purpose::Fill { file, first, pages } => self.filled(now, (file, first, pages), well),
            Purpose::Direct { process } => self.moved(
                now,
                process,
                reply.request.extent.len.bytes(),
                (reply.request.op, well),
            ),
            Purpose::Ahead { process, of } => {
                let bytes = reply.request.extent.len.bytes();
                self.came_ahead(now, (process, of), bytes, well);
            }
            Purpose::Back {
                file,
                first,
                pages,
                by,
            } => self.wrote_back(now, (file, first, pages), (by, well)),
            Purpose::Commit => self.committed(now, well),
        }
    }

    /// Time has passed; ends the run when it is time.
    fn pass(&mut self, now: Instant) {
        if !self.over {
            self.now = now.min(self.settings.end);
        }
        if now >= self.settings.end {
            self.over = true;
        }
    }

    fn note(&mut self, at: Instant, event: Event) {
        self.noted += 1;
        self.events.push(Reverse((at, self.noted, event)));
    }

    /// Asks for blocks.
    fn ask(
        &mut self,
        now: Instant,
        (op, block, blocks): (Op, u64, u64),
        by: Asker,
        purpose: Purpose,
    ) {
        let request = Request {
            stream: StreamId(by.stream),
            priority: by.priority,
            sync: by.sync && op == Op::Write,
            ..Request::new(self.asked, op, block, blocks, now)
        };
        self.asked += 1;
        self.out_at = now;
        self.out.push_back(request);
        self.purposes.push_back(Some(purpose));
    }

    /// Asks for pages of a file.
    fn ask_pages(
        &mut self,
        now: Instant,
        op: Op,
        (file, first, pages): (usize, u64, u64),
        by: Asker,
        purpose: Purpose,
    ) {
        let block = self.files.all[file].block(first);
        self.ask(now, (op, block, pages * PAGE), by, purpose);
    }

    /// Pages that are dirty or on their way out.
    fn dirty(&self) -> u64 {
        self.files.dirty + self.files.leaving
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10,000 pages of memory: the flusher begins above 1,000 dirty ones, and writers stand at
    /// 2,000.
    pub(super) fn settings() -> Settings {
        Settings {
            files: (1 << 20, 1 << 21),
            memory: 10_000,
            dirty_percent: (10, 20),
            periodic: (Duration::from_ms(5_000), Duration::from_ms(30_000)),
            read_ahead: 32,
            longest: 128,
            anonymous: true,
            journal_pages: 8,
            flush_depth: 1,
            copy: Duration::from_us(1),
            counted: Duration::from_ms(10_000),
            end: Instant(60_000_000_000),
            seed: 1,
        }
    }

    /// A host of one process, with a file of 4,000 pages of which the first are dirty.
    pub(super) fn machine(dirty: u64) -> Machine {
        let told = r#"[{ "name": "one", "file": 16384000, "steps": [{ "write": "4KiB" }] }]"#;
        let told = told::processes(told, &|_| unreachable!("none starts")).unwrap();
        let mut machine = Machine::new(told, settings()).unwrap();
        for page in 0..dirty {
            machine.files.soil((0, page), Instant(1), 1);
        }
        machine
    }
}
