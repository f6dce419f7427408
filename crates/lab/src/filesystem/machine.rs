//! Processes over a file system: in what order they do what they do, and the requests that follow.
//!
//! Each process does its steps as fast as it can. They take no time but for reads of what is not in
//! memory, which it waits for, and for what it computes; and nobody makes, writes or removes files
//! while half of the cache has to be written. Processes take turns, a step each. Writes go as soon
//! as there is room in the queue, reads before them. When all is done and on the medium, all files
//! may be read in the order in which they were made. A few look-ups for each request.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use nearslot_core::offer::Offer;
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::request::{Reply, Request};
use nearslot_core::units::{Duration, Instant};

use super::acts::{Refused, Run};
use super::files::FileId;
use super::flush::{Ended, Goes, Going};
use super::shape::{BYTES, SECTORS};
use super::work::{Act, Work};
use super::{FileSystem, ROOT};
use crate::outcome::{Number, ProcessFound};

/// The process that reads all files at the end.
const READER: &str = "reader";

/// A process.
struct Process {
    name: String,
    acts: VecDeque<Act>,
    /// What it reads now, run by run, and whether it waits for one.
    runs: VecDeque<Run>,
    reads: bool,
    /// Until when it computes.
    computes: Instant,
    ended: Option<Instant>,
    read: u64,
    written: u64,
}

impl Process {
    fn new(name: String, acts: impl IntoIterator<Item = Act>) -> Process {
        Process {
            name,
            acts: acts.into_iter().collect(),
            runs: VecDeque::new(),
            reads: false,
            computes: Instant::ZERO,
            ended: None,
            read: 0,
            written: 0,
        }
    }
}

/// What a request is for.
enum Flight {
    /// This process reads.
    Read(usize),
    /// The cleaner of a log does.
    Clean(Run),
    Write(Going),
}

/// A request that is about to go.
struct Next {
    request: Request,
    /// What it offers, and how many completions were heard of then.
    offer: Option<(Arc<Offer>, u64)>,
    flight: Flight,
}

/// Processes, files and requests.
pub struct Machine {
    files: FileSystem,
    processes: Vec<Process>,
    /// The file of each name.
    names: Vec<Option<FileId>>,
    /// Who wants to read what.
    reads: VecDeque<(usize, Run)>,
    depth: usize,
    flights: BTreeMap<u64, Flight>,
    next: Option<Next>,
    /// The offer of the request that was given last.
    offer: Option<(Arc<Offer>, u64)>,
    /// Requests so far, and range writes that have ended.
    number: u64,
    heard: u64,
    now: Instant,
    /// How long blocks have been to be written, all together, in ns.
    waited: u128,
    /// Whether all files are read at the end.
    rereads: bool,
    /// When all was on the medium, and when all had been read.
    worked: Option<Instant>,
    reread: Option<(Duration, u64)>,
}

impl Machine {
    /// Processes that begin now, with so many requests at once; at the end all files are read, if
    /// that is wanted.
    pub fn new(files: FileSystem, work: Work, depth: u64, rereads: bool) -> Machine {
        let named = |(index, acts)| Process::new(format!("process-{}", index + 1), acts);
        let processes: Vec<Process> = (0..).zip(work.processes).map(named).collect();
        let mut machine = Machine {
            files,
            processes,
            names: vec![None; work.names as usize],
            reads: VecDeque::new(),
            depth: depth as usize,
            flights: BTreeMap::new(),
            next: None,
            offer: None,
            number: 0,
            heard: 0,
            now: Instant::ZERO,
            waited: 0,
            rereads,
            worked: None,
            reread: None,
        };
        machine.go_on();
        machine
    }

    /// When something happens by itself.
    pub fn due(&self) -> Option<Instant> {
        if self.next.is_some() {
            return Some(self.now);
        }
        let computing = self.processes.iter().map(|process| process.computes);
        computing.filter(|until| *until > self.now).min()
    }

    /// The request that is due now.
    pub fn next(&mut self, now: Instant) -> Option<Request> {
        self.pass(now);
        self.go_on();
        let Next {
            request,
            offer,
            flight,
        } = self.next.take()?;
        self.offer = offer;
        self.flights.insert(request.id.0, flight);
        self.go_on();
        Some(Request {
            arrived: now,
            ..request
        })
    }

    /// Time goes on.
    fn pass(&mut self, now: Instant) {
        let blocks = u128::from(self.files.dirty());
        self.waited += blocks * u128::from(now.since(self.now).0);
        self.now = now;
    }

    /// What the request offers that was given last.
    pub fn offer(&self) -> (Arc<Offer>, u64) {
        let (offer, heard) = self.offer.as_ref().expect("a range write was given");
        (Arc::clone(offer), *heard)
    }

    /// A request has ended.
    pub fn answered(&mut self, now: Instant, reply: &Reply) {
        self.pass(now);
        self.heard += u64::from(reply.request.offered);
        let flight = self.flights.remove(&reply.request.id.0);
        match flight.expect("a request is answered once") {
            Flight::Read(process) => {
                self.processes[process].reads = false;
                self.files.counts.failed += u64::from(!reply.status.is_done());
            }
            Flight::Clean(run) => {
                self.files.counts.failed += u64::from(!reply.status.is_done());
                self.files.ended_read(run, reply.status.is_done());
            }
            Flight::Write(going) => {
                let how = match reply.status {
                    Status::Done => Ended::At(reply.request.extent.start.0 / SECTORS),
                    Status::Failed(Failure::Exhausted) => Ended::Exhausted,
                    Status::Failed(_) => Ended::Failed,
                };
                self.files.ended(going, how);
            }
        }
        self.go_on();
    }

    /// Processes do what they can, and the next request is made.
    fn go_on(&mut self) {
        while self.any_acts() {}
        if self.processes.iter().all(|process| process.ended.is_some()) {
            self.files.sync();
        }
        if self.next.is_none() && self.flights.len() < self.depth {
            self.next = self.make();
        }
        self.look_for_the_end();
    }

    /// Each process does a step, if it can; whether any did.
    fn any_acts(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.processes.len() {
            any |= self.act(index);
        }
        any
    }

    /// A process does a step; whether it did.
    fn act(&mut self, index: usize) -> bool {
        let process = &mut self.processes[index];
        if process.reads || process.computes > self.now || process.ended.is_some() {
            return false;
        }
        if let Some(run) = process.runs.pop_front() {
            process.reads = true;
            process.read += run.1 * BYTES;
            self.reads.push_back((index, run));
            return true;
        }
        let Some(act) = process.acts.front().copied() else {
            process.ended = Some(self.now);
            return true;
        };
        let changes = !matches!(act, Act::Read(_) | Act::Compute(_));
        if changes && self.files.is_full_of_dirt() {
            return false;
        }
        match self.carry_out(index, act) {
            Err(Refused::Wait) => return false,
            Err(Refused::NoRoom) => self.files.counts.refused += 1,
            Ok(()) => {}
        }
        self.processes[index].acts.pop_front();
        true
    }

    fn carry_out(&mut self, index: usize, act: Act) -> Result<(), Refused> {
        let number = index as u64;
        let file = |name: u32| self.names[name as usize].ok_or(Refused::NoRoom);
        match act {
            Act::MakeDirectory { name, parent } => {
                let parent = parent.map_or(Ok(ROOT), file)?;
                self.names[name as usize] = Some(self.files.make(number, parent, true)?);
            }
            Act::Make { name, parent } => {
                let parent = file(parent)?;
                self.names[name as usize] = Some(self.files.make(number, parent, false)?);
            }
            Act::Append { name, bytes } => {
                let file = file(name)?;
                self.files.write(file, self.files.bytes(file), bytes)?;
                self.processes[index].written += bytes;
            }
            Act::Overwrite(name) => {
                let file = file(name)?;
                let bytes = self.files.bytes(file);
                self.files.write(file, 0, bytes)?;
                self.processes[index].written += bytes;
            }
            Act::Read(name) => {
                let file = file(name)?;
                self.processes[index].runs = self.files.missing(file).into();
            }
            Act::Remove(name) => {
                let file = file(name)?;
                self.files.remove(file);
                self.names[name as usize] = None;
            }
            Act::Compute(time) => self.processes[index].computes = self.now + time,
        }
        Ok(())
    }

    /// Makes the request that goes next, if there is something to be read or written.
    fn make(&mut self) -> Option<Next> {
        let read = self.reads.pop_front();
        let read = read.map(|(process, run)| (run, Flight::Read(process)));
        let cleans = || self.files.next_read().map(|run| (run, Flight::Clean(run)));
        let (op, at, len, offer, flight) = match read.or_else(cleans) {
            Some(((at, len), flight)) => (Op::Read, at, len, None, flight),
            None => {
                let going = self.files.next_write()?;
                let (at, offer) = match &going.goes {
                    Goes::To(at) => (*at, None),
                    Goes::Within(runs, ..) => (runs[0].start, Some((offer(runs), self.heard))),
                    Goes::Into(windows) => {
                        let offer = offer(&windows.runs);
                        (windows.runs[0].start, Some((offer, self.heard)))
                    }
                    Goes::Checkpoint(at) => (*at, None),
                    Goes::Log(write) => match write.at {
                        Some(at) => (at, None),
                        None => (write.runs[0].start, Some((offer(&write.runs), self.heard))),
                    },
                };
                let len = going.blocks();
                (Op::Write, at, len, offer, Flight::Write(going))
            }
        };
        let (at, len) = (at * SECTORS, len * SECTORS);
        self.number += 1;
        Some(Next {
            request: Request {
                offered: offer.is_some(),
                ..Request::new(self.number - 1, op, at, len, self.now)
            },
            offer,
            flight,
        })
    }

    /// When all is done and written, it may be read again. Where a request failed, not all is, and
    /// the reader has not read all.
    fn look_for_the_end(&mut self) {
        let all_ended = self.processes.iter().all(|process| process.ended.is_some());
        let quiet = self.flights.is_empty() && self.next.is_none();
        let ends = all_ended && quiet && self.files.is_clean();
        if !ends || self.files.gave_up() || self.files.counts.failed > 0 {
            return;
        }
        let Some(worked) = self.worked else {
            self.worked = Some(self.now);
            if self.rereads {
                self.read_all();
            }
            return;
        };
        if self.rereads && self.reread.is_none() {
            let bytes = self.processes.last().map_or(0, |reader| reader.read);
            self.reread = Some((self.now.since(worked), bytes));
        }
    }

    /// One more process reads all files, with nothing in memory.
    fn read_all(&mut self) {
        self.files.drop_cache();
        let live = self.files.live_files();
        let begin = self.names.len();
        self.names.extend(live.into_iter().map(Some));
        let reads = (begin..self.names.len()).map(|name| Act::Read(name as u32));
        self.processes.push(Process::new(READER.to_owned(), reads));
        self.go_on();
    }

    /// What each process has done. What it made of its files is written behind its back, so its
    /// rates are those until all was on the medium.
    pub fn processes(&self) -> Vec<ProcessFound> {
        let worked = self.worked.unwrap_or(self.now);
        let found = self.processes.iter().map(|one| {
            let (begin, end) = match one.name == READER {
                true => (worked, one.ended.unwrap_or(self.now)),
                false => (Instant::ZERO, worked),
            };
            let over = seconds(end.since(begin));
            let rate = |bytes: u64| {
                if over > 0.0 {
                    bytes as f64 / 1e6 / over
                } else {
                    0.0
                }
            };
            let took = seconds(one.ended.unwrap_or(self.now).since(begin));
            let ended = one.ended.map(|_| took);
            ProcessFound {
                name: one.name.clone(),
                stream: 0,
                rounds: u64::from(one.ended.is_some()),
                ended: one.ended.is_some(),
                mean_s: ended,
                min_s: ended,
                max_s: ended,
                due: None,
                late: None,
                read_mb_s: rate(one.read),
                written_mb_s: rate(one.written),
                held_s: 0.0,
                failed: 0,
            }
        });
        found.collect()
    }

    /// What is told of the whole, by the names of [`MEASURES`](super::MEASURES).
    pub fn measures(&self) -> Vec<(&'static str, Number)> {
        let mut found = Vec::new();
        if let Some(worked) = self.worked {
            found.push((
                "work_s",
                Number::Quantity(seconds(worked.since(Instant::ZERO))),
            ));
        }
        let cleaned = self.files.cleaned();
        if cleaned > 0 {
            let waited = self.waited as f64 / 1e6 / cleaned as f64;
            found.push(("waited_ms", Number::Quantity(waited)));
        }
        if let Some((took, bytes)) = self.reread {
            let took = seconds(took);
            found.push(("reread_s", Number::Quantity(took)));
            if took > 0.0 {
                let rate = bytes as f64 / 1e6 / took;
                found.push(("reread_mb_s", Number::Quantity(rate)));
            }
        }
        found.extend(self.files.counted());
        found
    }
}

/// Runs of blocks, as a drive is offered them.
fn offer(runs: &[Range<u64>]) -> Arc<Offer> {
    let ranges = runs.iter();
    let ranges = ranges.map(|run| run.start * SECTORS..run.end * SECTORS);
    let offer = Offer::list(ranges.collect(), SECTORS);
    Arc::new(offer.expect("runs are in order and not empty"))
}

fn seconds(time: Duration) -> f64 {
    time.0 as f64 / 1e9
}
