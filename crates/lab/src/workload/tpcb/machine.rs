//! The system in time: clients, the thread that commits, and the one that writes pages home.
//!
//! A client works, reads its account's page if that is not in memory, joins the transaction that is
//! open, and waits for its commit. The journal's thread takes all who have joined: it writes a
//! descriptor and the changed pages, waits for that and for itself, writes the commit block, and
//! lets the clients go. Who comes meanwhile goes with the next commit. With ordered data it writes
//! the pages at home first and waits for them; what goes into the journal then is the block of the
//! files' inodes.
//!
//! A few events of O(log clients) a transaction.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::Range;

use nearslot_core::ids::{RequestId, StreamId};
use nearslot_core::offer::Offer;
use nearslot_core::op::Op;
use nearslot_core::request::{Reply, Request};
use nearslot_core::rng::Rng;
use nearslot_core::units::{Duration, Instant};

use super::found::Found;
use super::journal::{Journal, Piece, Skip};
use super::tables::Tables;
use crate::outcome::{Number, Progress};
use crate::skiplog::PAYLOAD_BLOCKS;

/// What it is made of.
pub(super) struct Settings {
    pub(super) clients: u64,
    /// Transactions after which the run ends.
    pub(super) transactions: u64,
    /// Mean time of a client's own work, and of the journal's thread between data and commit block.
    pub(super) work: Duration,
    pub(super) commit_wait: Duration,
    /// Share of accounts whose page is in memory.
    pub(super) cached: f64,
    /// First block of the tables.
    pub(super) tables_at: u64,
    /// Where the inodes of the files lie, if pages go home before each commit.
    pub(super) inodes: Option<u64>,
    /// Whether writes of the journal end on the medium, whatever the drive's cache.
    pub(super) force: bool,
    /// How often old pages are looked for, and how many go home at once.
    pub(super) look: Duration,
    pub(super) depth: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A client's work is done.
    Worked(usize),
    /// What a journal without I/O had to write is written.
    Written,
    /// The commit block may be written.
    Commit,
    /// Old pages are looked for.
    Look,
}

/// What a request is for.
#[derive(Clone, Copy)]
enum Purpose {
    /// A client reads its account's page.
    Read { client: usize, page: u64 },
    /// A part of what the journal writes.
    Log(Piece),
    /// A page goes home.
    Home { page: u64 },
    /// A page goes home before the commit that it is part of.
    Before,
}

/// What the thread of the journal does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Nothing,
    /// It waits until pages are at home.
    Room,
    /// It waits until the pages of the commit are at home.
    Pages,
    /// It writes descriptor and data, or waits to write the commit block.
    Data,
    /// It writes the commit block.
    Block,
}

/// Streams of requests, by number; the first is that of nobody.
const STREAMS: [&str; 4] = ["", "clients", "journal", "write-back"];
const CLIENTS: u32 = 1;
const JOURNAL: u32 = 2;
const WRITE_BACK: u32 = 3;

pub(super) struct Machine {
    settings: Settings,
    rng: Rng,
    journal: Journal,
    tables: Tables,
    found: Found,
    names: Vec<String>,

    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    noted: u64,
    /// Requests that were not taken yet, all of one instant.
    out: VecDeque<Request>,
    out_at: Instant,
    purposes: BTreeMap<u64, Purpose>,
    asked: u64,
    /// Completions of range writes so far.
    heard: u64,

    doing: Doing,
    /// Who has joined the open transaction, and the pages that these change.
    joined: Vec<usize>,
    pages: Vec<u64>,
    /// The same of the transaction that is being committed.
    committing: (Vec<usize>, Vec<u64>),
    /// What of the present write is still to be placed, and how many parts are under way.
    unplaced: VecDeque<Range<u64>>,
    under_way: u64,
    going_home: u64,
    begun: u64,
    over: bool,
}

impl Machine {
    pub(super) fn new(settings: Settings, rng: Rng, journal: Journal, tables: Tables) -> Machine {
        let mut machine = Machine {
            rng,
            journal,
            tables,
            found: Found::default(),
            names: STREAMS.map(str::to_owned).to_vec(),
            events: BinaryHeap::new(),
            noted: 0,
            out: VecDeque::new(),
            out_at: Instant::ZERO,
            purposes: BTreeMap::new(),
            asked: 0,
            heard: 0,
            doing: Doing::Nothing,
            joined: Vec::new(),
            pages: Vec::new(),
            committing: (Vec::new(), Vec::new()),
            unplaced: VecDeque::new(),
            under_way: 0,
            going_home: 0,
            begun: 0,
            over: false,
            settings,
        };
        for client in 0..machine.settings.clients as usize {
            machine.works(Instant::ZERO, client);
        }
        machine.note(Instant::ZERO + machine.settings.look, Event::Look);
        machine
    }

    pub(super) fn streams(&self) -> &[String] {
        &self.names
    }

    /// What was counted, by the names of its card.
    pub(super) fn measures(&self) -> Vec<(&'static str, Number)> {
        let log = (&self.journal.counts, self.journal.free());
        let ended_early = self.found.transactions < self.settings.transactions;
        self.found.measures(log, self.over && ended_early)
    }

    /// How many of its transactions were committed.
    pub(super) fn progress(&self) -> Progress {
        Progress {
            done: self.found.transactions as f64,
            all: Some(self.settings.transactions as f64),
            unit: "transactions",
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        if !self.out.is_empty() {
            return Some(self.out_at);
        }
        let next = self.events.peek().filter(|_| !self.over);
        next.map(|Reverse((due, ..))| *due)
    }

    pub(super) fn next(&mut self, now: Instant) -> Option<Request> {
        while self.out.is_empty() && !self.over {
            match self.events.peek() {
                Some(Reverse((due, ..))) if *due <= now => {}
                _ => break,
            }
            let Reverse((_, _, event)) = self.events.pop().expect("one is due");
            match event {
                Event::Worked(client) => self.worked(now, client),
                Event::Written => self.part_ended(now),
                Event::Commit => self.write_block(now),
                Event::Look => {
                    self.tables.look(now);
                    self.send_home(now);
                    self.note(now + self.settings.look, Event::Look);
                }
            }
        }
        self.out.pop_front()
    }

    /// What the range write offers that was made last, and how many were heard of.
    pub(super) fn offer(&self) -> (Offer, u64) {
        (self.journal.offer(), self.heard)
    }

    pub(super) fn answered(&mut self, now: Instant, reply: &Reply) {
        let purpose = self.purposes.remove(&reply.request.id.0);
        let done = reply.status.is_done();
        self.heard += u64::from(reply.request.offered);
        self.found.failed += u64::from(!done);
        if self.over {
            return;
        }
        match purpose.expect("it was asked for") {
            // The client goes on without its page, as a failure that is counted.
            Purpose::Read { client, page } => self.joins(now, client, page),
            Purpose::Log(_) | Purpose::Before if !done => self.over = true,
            Purpose::Before => self.part_ended(now),
            Purpose::Log(piece) => {
                let block = self.doing == Doing::Block;
                self.found.logged(block, &reply.timeline);
                self.journal
                    .written(now, &piece, reply.request.extent.start.0);
                self.part_ended(now);
            }
            Purpose::Home { page } => {
                self.going_home -= 1;
                match done {
                    true => {
                        let commit = self.tables.home(page);
                        self.release(commit);
                    }
                    // A checkpoint has failed: a journal that waits for room ends then, as ext3's
                    // does.
                    false if self.doing == Doing::Room => return self.over = true,
                    false => self.tables.failed(now, page),
                }
                self.send_home(now);
                if self.doing == Doing::Room {
                    self.begin_commit(now);
                }
            }
        }
    }

    fn note(&mut self, at: Instant, event: Event) {
        self.noted += 1;
        self.events.push(Reverse((at, self.noted, event)));
    }

    fn ask(&mut self, now: Instant, request: Request, stream: u32, purpose: Purpose) {
        let id = RequestId(self.asked);
        self.purposes.insert(self.asked, purpose);
        self.asked += 1;
        self.out_at = now;
        self.out.push_back(Request {
            id,
            stream: StreamId(stream),
            ..request
        });
    }

    /// A time around a mean: from half of it to one and a half.
    fn around(&mut self, mean: Duration) -> Duration {
        Duration(mean.0 / 2 + self.rng.below(mean.0 + 1))
    }

    fn works(&mut self, now: Instant, client: usize) {
        let work = self.around(self.settings.work);
        self.note(now + work, Event::Worked(client));
    }

    fn worked(&mut self, now: Instant, client: usize) {
        let page = self.tables.account(&mut self.rng);
        // The same numbers are drawn whatever is dirty.
        let misses = !self.rng.chance(self.settings.cached);
        if !misses || self.tables.has(page) {
            return self.joins(now, client, page);
        }
        self.found.reads += 1;
        let at = self.settings.tables_at + page * PAYLOAD_BLOCKS;
        let request = Request::new(0, Op::Read, at, PAYLOAD_BLOCKS, now);
        self.ask(now, request, CLIENTS, Purpose::Read { client, page });
    }

    /// A client changes its pages, and waits for the commit of them.
    fn joins(&mut self, now: Instant, client: usize, account: u64) {
        let others = self.tables.others(&mut self.rng, self.begun);
        self.begun += 1;
        self.pages.extend(others);
        self.pages.push(account);
        self.joined.push(client);
        if self.doing == Doing::Nothing {
            self.begin_commit(now);
        }
    }

    /// All who have joined are committed, once the journal has room for it.
    fn begin_commit(&mut self, now: Instant) {
        self.pages.sort_unstable();
        self.pages.dedup();
        let logged = match self.settings.inodes {
            Some(_) => 1,
            None => self.pages.len() as u64,
        };
        if !self.journal.has_room(logged + 2) {
            if self.doing != Doing::Room {
                self.found.begins_to_wait(now);
            }
            self.doing = Doing::Room;
            self.need_room(now);
            return;
        }
        if self.doing == Doing::Room {
            self.found.ends_to_wait(now);
        }
        let clients = std::mem::take(&mut self.joined);
        self.committing = (clients, std::mem::take(&mut self.pages));
        match self.settings.inodes {
            Some(inodes) => self.write_pages(now, inodes),
            None => self.write_data(now, logged),
        }
    }

    /// The pages of a commit go home before it; the journal gets the inodes.
    fn write_pages(&mut self, now: Instant, inodes: u64) {
        self.doing = Doing::Pages;
        let pages = std::mem::replace(&mut self.committing.1, vec![inodes]);
        self.found.homes += pages.len() as u64;
        self.under_way += pages.len() as u64;
        for page in pages {
            let request = Request {
                sync: true,
                fua: self.settings.force,
                ..self.home(now, page)
            };
            self.ask(now, request, WRITE_BACK, Purpose::Before);
        }
    }

    /// The descriptor and so many blocks are written.
    fn write_data(&mut self, now: Instant, blocks: u64) {
        self.doing = Doing::Data;
        self.write(now, blocks + 1);
    }

    /// A write of a page at its home.
    fn home(&self, now: Instant, page: u64) -> Request {
        let at = self.settings.tables_at + page * PAYLOAD_BLOCKS;
        Request::new(0, Op::Write, at, PAYLOAD_BLOCKS, now)
    }

    /// The next blocks of the journal are written.
    fn write(&mut self, now: Instant, blocks: u64) {
        self.found.log_blocks += blocks;
        let parts = self.journal.next(blocks);
        if matches!(self.journal.skip(), Skip::Null) {
            self.under_way += 1;
            return self.note(now, Event::Written);
        }
        self.unplaced = parts.into();
        self.place(now);
    }

    /// Parts of the present write that find room go to the drive; those that the drive places one
    /// after the other, as each may land on what the next one offers.
    fn place(&mut self, now: Instant) {
        while let Some(mut part) = self.unplaced.pop_front() {
            let open = matches!(self.journal.skip(), Skip::Ranges);
            let placed = match open && self.under_way > 0 {
                true => None,
                false => self.journal.place(now, &mut part),
            };
            if !part.is_empty() {
                self.unplaced.push_front(part);
            }
            let Some(piece) = placed else {
                break;
            };
            let (at, len) = self.journal.extent(&piece);
            let request = Request {
                sync: true,
                fua: self.settings.force,
                offered: open,
                ..Request::new(0, Op::Write, at, len, now)
            };
            self.under_way += 1;
            self.ask(now, request, JOURNAL, Purpose::Log(piece));
        }
        // Every slot is mapped, or was lost by a write that failed.
        self.over |= self.under_way == 0;
    }

    /// A part of the present write has ended.
    fn part_ended(&mut self, now: Instant) {
        self.under_way -= 1;
        if !self.unplaced.is_empty() {
            self.place(now);
        } else if self.under_way == 0 {
            match self.doing {
                Doing::Data => {
                    let wait = self.around(self.settings.commit_wait);
                    self.note(now + wait, Event::Commit);
                }
                Doing::Pages => self.write_data(now, self.committing.1.len() as u64),
                Doing::Block => self.end_commit(now),
                Doing::Nothing | Doing::Room => panic!("a write that nobody made"),
            }
        }
    }

    fn write_block(&mut self, now: Instant) {
        self.doing = Doing::Block;
        self.write(now, 1);
    }

    /// The commit is on the medium: its clients go on, and its pages may go home.
    fn end_commit(&mut self, now: Instant) {
        let (clients, pages) = std::mem::take(&mut self.committing);
        let commit = self
            .journal
            .committed(pages.len() as u64 + 2, pages.len() as u64);
        for page in &pages {
            let before = self.tables.committed(now, *page, commit);
            self.release(before);
        }
        self.found.committed(now, clients.len() as u64);
        self.doing = Doing::Nothing;
        if self.found.transactions >= self.settings.transactions {
            self.over = true;
            return;
        }
        for client in clients {
            self.works(now, client);
        }
        if self.journal.is_short() {
            self.need_room(now);
        }
        if !self.joined.is_empty() {
            self.begin_commit(now);
        }
    }

    /// Pages of the oldest commits go home, so that their blocks may be written again.
    fn need_room(&mut self, now: Instant) {
        let (oldest, half) = (self.journal.oldest(), self.journal.oldest_half());
        self.tables.force(oldest, half);
        self.send_home(now);
    }

    fn release(&mut self, commit: Option<u64>) {
        if let Some(commit) = commit {
            self.journal.released(commit);
        }
    }

    /// Pages that are due go home, so many at once.
    fn send_home(&mut self, now: Instant) {
        while self.going_home < self.settings.depth {
            let Some(page) = self.tables.next() else {
                return;
            };
            self.going_home += 1;
            self.found.homes += 1;
            let request = self.home(now, page);
            self.ask(now, request, WRITE_BACK, Purpose::Home { page });
        }
    }
}
