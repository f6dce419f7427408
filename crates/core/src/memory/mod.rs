//! Memory above the placement: a read cache with what brings data before they are asked for, and a
//! write buffer.
//!
//! Clients' requests come here first. What a read finds in memory is answered from there. What it
//! misses is brought by *jobs*: requests that the memory makes for itself and gives to the stack
//! below, which plans and orders them as it does with any other. A job may bring more than was
//! asked for, and requests that want what is on its way wait for it with the first. Without a write
//! buffer, writes go through: they are clients' own requests below, and are answered when these
//! are.
//!
//! A *write buffer* is memory that a power cut does not empty. Writes are answered when they are in
//! it, and so is a flush at once, and a write with force unit access as any other: what was
//! answered is in the buffer until it is on the medium. Units of it go to the drives as jobs
//! (`destage`), and what it has is read from it (`around`); `buffer` says what is there. To the
//! cache a write that enters the buffer has ended: what it changes is in the cache as it will be
//! read. Of what the buffer has nothing is brought from drives into the cache.
//!
//! After a power cut the volume is what the drives hold, recovered as its placement does that, and
//! over it what the buffer holds: which blocks that are is in NVRAM ([`Memory::nvram`]), and a
//! memory that is made from it has them in its buffer again, before anything else happens. They are
//! read from there and go to the drives as before; the first ones, if marks say so, with the first
//! request. The read cache is empty then, and what prefetchers and policies knew is forgotten. A
//! buffer that fails, or is in two places, is not here.
//!
//! It is a layer of its own with the stack's grammar rather than a stage within the stack: so what
//! a placement wants of the order of requests holds for jobs, too, and the cache delays nothing
//! that would not wait without it.
//!
//! A read never finds what is older than a write that was answered before the read came:
//!
//! - A page that is being written is in memory as it will be, or not at all. Reads of the latter go
//!   around the memory until the write has ended.
//! - A write that passes a page which is on its way *spoils* it: it does not enter when it comes,
//!   and reads that come later go around.
//! - Of two writes of a page at a time nobody knows which reaches the drive last: the page leaves
//!   the memory until both have ended.
//! - A write that failed leaves nobody knows what: its pages leave the memory.
//! - A job that failed fails nobody: who waited for it asks by himself, for what he wants and
//!   nothing else.
//!
//! A run may end while the buffer has something: that belongs to no request.
//!
//! Whoever carries out the orders moves the bytes. In a simulation nobody does. O(pages of a
//! request), and what a policy costs.

use std::collections::VecDeque;

use slab::Slab;

use crate::contract::{Cache, Pattern, Prefetch};
use crate::ids::{RequestId, Track, Unit};
use crate::io::Buffered;
use crate::measure::Measure;
use crate::op::{Cost, Op, Status};
use crate::pages::Writes;
use crate::request::{Reply, Request, Timeline};
use crate::sorted::{Keyed, Sorted};
use crate::units::{Blocks, Duration, Extent, Instant, Lba};

mod around;
mod buffer;
mod buffer_tests;
mod counts;
mod destage;
mod jobs;
mod lines;
mod order_tests;
mod orders;
mod shape;
mod tests;
mod volume_tests;
mod volumes;
mod writers;

pub use buffer::BufferParts;
pub use shape::Shape;
pub use volumes::Volumes;

use buffer::Buffer;
use destage::OWN;
use jobs::{Coming, Job, Waiter};
use lines::Lines;
use orders::Orders;
use writers::Writers;

/// What a memory is made of.
pub struct Parts {
    /// What keeps what is read; if nothing does, reads go to the drives but for what the write
    /// buffer has.
    pub cache: Option<CacheParts>,
    /// What keeps writes; none if they go through.
    pub buffer: Option<BufferParts>,
}

/// What a read cache is made of.
pub struct CacheParts {
    /// Which lines stay.
    pub cache: Box<dyn Cache>,
    /// What is brought before it is asked for.
    pub prefetch: Box<dyn Prefetch>,
    /// Pages, lines and tracks.
    pub shape: Shape,
    /// Lines that there is room for.
    pub lines: u32,
    /// How long an answer from memory takes.
    pub hit_time: Duration,
    /// What enters as it is written.
    pub writes: Writes,
    /// Whether a page that is missed brings the whole of its line.
    pub whole_lines: bool,
}

/// What the memory wants done, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Give this to the stack below: a job of its own, or a client's request that the memory cannot
    /// answer.
    Submit(Request),
    /// For whoever moves bytes.
    Move(Move),
    /// Answer this client's request.
    Reply(Reply),
}

/// Bytes that move between the memory, jobs and clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A job begins, with room of its own for its bytes: a read that the stack makes for itself, or
    /// a write of what the write buffer has of these blocks at this moment.
    Begin(Request),
    /// These blocks of what a job has brought, or a client's request writes, are in memory from now
    /// on.
    Keep {
        /// The job, or the client's request.
        of: RequestId,
        /// The blocks.
        extent: Extent,
    },
    /// A client's read gets these blocks from memory.
    Serve {
        /// The read.
        to: RequestId,
        /// The blocks.
        extent: Extent,
    },
    /// A client's read gets these blocks of what a job has brought.
    Give {
        /// The job.
        of: RequestId,
        /// The read.
        to: RequestId,
        /// The blocks.
        extent: Extent,
    },
    /// These blocks leave the memory.
    Drop(Extent),
    /// These blocks of a client's write are in the write buffer from now on.
    Buffer {
        /// The write.
        of: RequestId,
        /// The blocks.
        extent: Extent,
    },
    /// A client's read gets these blocks from the write buffer.
    Lend {
        /// The read.
        to: RequestId,
        /// The blocks.
        extent: Extent,
    },
    /// These blocks leave the write buffer: they are on the medium.
    Clean(Extent),
    /// A job has ended; nobody needs its buffer.
    End(RequestId),
}

/// A client's request that was not answered.
struct Asked {
    request: Request,
    /// Jobs that it waits for.
    remaining: u32,
    /// When a drive began to work for it.
    started: Option<Instant>,
    cost: Cost,
    /// Whether a job that it waited for has failed.
    again: bool,
    /// How it ends.
    status: Status,
}

/// A client's request that went to the stack below as it is.
#[derive(Clone, Copy, Debug)]
struct Through {
    id: RequestId,
    asked: u32,
}

impl Keyed for Through {
    type Key = RequestId;

    #[inline]
    fn key(&self) -> RequestId {
        self.id
    }
}

/// An answer that comes when the time has passed that memory takes.
#[derive(Clone, Copy, Debug)]
struct Later {
    due: Instant,
    number: u64,
    asked: u32,
}

impl Keyed for Later {
    type Key = (Instant, u64);

    #[inline]
    fn key(&self) -> (Instant, u64) {
        (self.due, self.number)
    }
}

/// A job of the write buffer.
struct OwnJob {
    id: RequestId,
    work: Work,
}

/// What such a job is for.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// It brings blocks for a read.
    Read { asked: u32, extent: Extent },
    /// It writes blocks of a unit.
    Write { unit: Unit, extent: Extent },
}

/// A read cache.
struct Cached {
    lines: Lines,
    prefetch: Box<dyn Prefetch>,
    writes: Writes,
    /// Where writes ended, if sequences of them are told from the rest.
    writers: Option<Writers>,
    hit_time: Duration,
}

/// A read cache, a write buffer, and requests that are not answered.
pub struct Memory {
    cached: Option<Cached>,
    asked: Slab<Asked>,
    through: Sorted<Through>,
    jobs: Slab<Job>,
    /// Jobs by where they begin. No two of them bring the same page.
    coming: Sorted<Coming>,
    orders: Orders,
    later: Sorted<Later>,
    /// Answers so far that come later.
    put_off: u64,
    buffer: Option<Box<Buffer>>,
    /// Jobs of the write buffer.
    own: Slab<OwnJob>,
    /// Writes and discards that have not begun, in the order in which they came.
    waiting: VecDeque<u32>,
    /// One that has gone past the write buffer, while nothing enters that.
    alone: Option<u32>,
    /// Whether a life has just begun with something in the buffer.
    goes_on: bool,
    /// Lists that are not in use, with their memory.
    runs: Vec<Extent>,
    spans: Vec<(u64, u64)>,
    /// Jobs so far.
    turn: u32,
    submitted: u64,
    replied: u64,
    /// Lists that are not in use, with their memory.
    lists: Vec<Vec<Waiter>>,
}

impl Cached {
    fn new(parts: CacheParts) -> Cached {
        let CacheParts {
            cache,
            prefetch,
            shape,
            lines,
            hit_time,
            writes,
            whole_lines,
        } = parts;
        let each = shape.volumes.each();
        Cached {
            lines: Lines::new(cache, shape, lines, whole_lines),
            prefetch,
            writers: writes.run().map(|run| Writers::new(run, each)),
            writes,
            hit_time,
        }
    }

    /// The prefetcher is told what had to make room before anybody asked for it.
    fn tell_unread(&mut self) {
        let Cached {
            lines, prefetch, ..
        } = self;
        // In the order in which it came to pass.
        let mut unread = std::mem::take(&mut lines.unread);
        let shape = lines.shape();
        for (track, note) in unread.drain(..) {
            let first = shape.first_track(track * shape.track);
            prefetch.unread(Track(track - first), note, &mut lines.of_volume(first));
        }
        lines.unread = unread;
    }

    /// What has been written enters as this.
    fn entering(&mut self, request: &Request) -> Option<Pattern> {
        if request.op == Op::Discard {
            return None;
        }
        let writers = self.writers.as_mut();
        let sequence = writers.is_some_and(|known| known.wrote(&request.extent));
        self.writes.entering(sequence)
    }
}

impl Memory {
    /// Nothing is in memory, but what the write buffer has from an earlier life.
    pub fn new(parts: Parts) -> Memory {
        let mut memory = Memory {
            cached: parts.cache.map(Cached::new),
            buffer: parts.buffer.map(|parts| Box::new(Buffer::new(parts))),
            own: Slab::new(),
            waiting: VecDeque::new(),
            alone: None,
            goes_on: false,
            runs: Vec::new(),
            spans: Vec::new(),
            put_off: 0,
            asked: Slab::new(),
            through: Sorted::default(),
            jobs: Slab::new(),
            coming: Sorted::default(),
            orders: Orders::new(),
            later: Sorted::default(),
            turn: 0,
            submitted: 0,
            replied: 0,
            lists: Vec::new(),
        };
        if memory.buffer.is_some() {
            memory.goes_on = memory.buffer_mut().taken() > 0;
            memory.mark_changed();
        }
        memory
    }

    /// What it wants done next.
    #[inline]
    pub(crate) fn next_order(&mut self) -> Option<Order> {
        self.orders.pop()
    }

    /// Whether it says which bytes are to be moved.
    pub(crate) fn tell_moves(&mut self, tells: bool) {
        self.orders.moves = tells;
    }

    /// When it next needs attention.
    #[inline]
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        self.later.first().map(|later| later.due)
    }

    /// Requests that were submitted, that were answered, and that were not.
    pub(crate) fn counts(&self) -> (u64, u64, usize) {
        (self.submitted, self.replied, self.asked.len())
    }

    /// A client's request arrives.
    pub(crate) fn arrive(&mut self, now: Instant, request: &Request) {
        assert!(
            request.id.as_job().is_none(),
            "{request:?} has the name of a job"
        );
        self.submitted += 1;
        let asked = self.asked.insert(Asked {
            request: *request,
            remaining: 0,
            started: None,
            cost: Cost::default(),
            again: false,
            status: Status::Done,
        }) as u32;
        match request.op {
            Op::Read if request.extent.len.0 > 0 => self.read(now, asked, request),
            op @ (Op::Write | Op::Discard) if self.buffer.is_some() && request.extent.len.0 > 0 => {
                self.wait_turn(now, asked, op);
            }
            Op::Write | Op::Discard => {
                self.change(request);
                self.pass(asked, request);
            }
            // What was answered is in the buffer, or on the medium.
            Op::Flush if self.buffer.is_some() => self.answer(now, asked, Status::Done),
            _ => self.pass(asked, request),
        }
        if std::mem::take(&mut self.goes_on) {
            self.admit(now);
        }
        self.cached.iter_mut().for_each(Cached::tell_unread);
    }

    /// Answers from memory whose time has come.
    pub(crate) fn timer(&mut self, now: Instant) {
        while self.next_timer().is_some_and(|due| due <= now) {
            let later = self.later.remove(self.later.seek(&(Instant::ZERO, 0)));
            self.answer(now, later.asked, Status::Done);
        }
    }

    /// The stack below has answered a job, or a request that went through.
    pub(crate) fn ended(&mut self, now: Instant, reply: &Reply) {
        match reply.request.id.as_job() {
            Some(number) if number >= OWN => self.own_ended(now, number, reply),
            Some(number) => self.job_ended(now, number, reply),
            None => self.through_ended(now, reply),
        }
        self.cached.iter_mut().for_each(Cached::tell_unread);
    }

    /// What its parts have counted so far.
    pub(crate) fn tell(&self, told: &mut dyn FnMut(&'static str, &'static Measure, u64)) {
        if let Some(buffer) = &self.buffer {
            let mut counts = buffer.counts;
            counts.read += self.cached.as_ref().map_or(0, |cached| cached.lines.lent);
            counts.tell((buffer.taken(), buffer.given_up()), told);
        }
        if let Some(Cached {
            lines, prefetch, ..
        }) = &self.cached
        {
            lines.tell(prefetch.group() > 0, told);
            prefetch.tell(&mut |measure, number| told(counts::PREFETCH, measure, number));
        }
    }

    /// Whether its cache has something, and had room for all that came so far.
    pub(crate) fn holds_all(&self) -> bool {
        let cached = self.cached.as_ref();
        cached.is_some_and(|cached| cached.lines.hold_all())
    }

    /// What the write buffer keeps in NVRAM beside the bytes of its blocks; none if there is no
    /// buffer.
    pub(crate) fn nvram(&self) -> Option<&[u8]> {
        self.buffer.as_ref().map(|buffer| buffer.nvram())
    }

    /// What the write buffer has, in runs of blocks by address.
    pub fn in_buffer(&self, out: &mut Vec<Extent>) {
        if let Some(buffer) = &self.buffer {
            buffer.all_there(out);
        }
    }

    /// How much the write buffer has; nothing if there is none.
    pub fn buffered(&self) -> Option<Buffered> {
        self.buffer.as_ref().map(|buffer| buffer.buffered())
    }

    fn buffer_mut(&mut self) -> &mut Buffer {
        self.buffer.as_mut().expect("there is one")
    }

    /// The lines of the cache.
    fn lines(&mut self) -> &mut Lines {
        &mut cache_of(&mut self.cached).lines
    }

    /// The cache is told that a write or discard begins.
    fn change(&mut self, request: &Request) {
        if let Some(cached) = &mut self.cached {
            let pattern = cached.entering(request);
            cached.lines.change(request, pattern, &mut self.orders);
        }
    }

    /// The cache is told that a write or discard has ended.
    fn changed(&mut self, request: &Request, done: bool) {
        if let Some(cached) = &mut self.cached {
            cached.lines.changed(request, done, &mut self.orders);
        }
    }

    /// A request is answered after some time.
    fn answer_later(&mut self, now: Instant, time: Duration, asked: u32) {
        self.put_off += 1;
        self.later.insert(Later {
            due: now + time,
            number: self.put_off,
            asked,
        });
        self.timer(now);
    }

    /// A request goes to the stack below as it is.
    fn pass(&mut self, asked: u32, request: &Request) {
        let id = request.id;
        self.through.insert(Through { id, asked });
        self.orders.push(Order::Submit(*request));
    }

    /// A job begins.
    fn start(&mut self, job: Request) {
        self.orders.push_move(Move::Begin(job));
        self.orders.push(Order::Submit(job));
    }

    fn through_ended(&mut self, now: Instant, reply: &Reply) {
        let through = self.through.take(&reply.request.id);
        let asked = through.expect("it went through").asked;
        if matches!(reply.request.op, Op::Write | Op::Discard) {
            self.changed(&reply.request, reply.status.is_done());
        }
        let timeline = &reply.timeline;
        self.worked(asked, Some(timeline));
        self.answer(now, asked, reply.status);
        if self.alone.take_if(|alone| *alone == asked).is_some() {
            self.admit(now);
        }
    }

    /// A drive has worked for a request.
    fn worked(&mut self, asked: u32, timeline: Option<&Timeline>) {
        let asked = &mut self.asked[asked as usize];
        if let Some(timeline) = timeline {
            let started = asked.started.unwrap_or(Instant::NEVER);
            asked.started = Some(started.min(timeline.started));
            asked.cost.add(&timeline.cost);
        }
    }

    fn answer(&mut self, now: Instant, asked: u32, status: Status) {
        let asked = self.asked.remove(asked as usize);
        let timeline = Timeline {
            arrived: asked.request.arrived,
            started: asked.started.unwrap_or(now).min(now),
            replied: now,
            cost: asked.cost,
        };
        self.orders.push(Order::Reply(Reply {
            request: asked.request,
            status,
            timeline,
        }));
        self.replied += 1;
    }

    /// Recounts everything from scratch and panics on a contradiction.
    pub(crate) fn audit(&self) {
        assert!(self.orders.is_empty(), "an order was not carried out");
        let (submitted, replied, pending) = self.counts();
        assert_eq!(submitted, replied + pending as u64, "a request got lost");
        let waits: u32 = self.asked.iter().map(|(_, one)| one.remaining).sum();
        let waiting: usize = self.jobs.iter().map(|(_, job)| job.waiting()).sum();
        let reads = |one: &OwnJob| matches!(one.work, Work::Read { .. });
        let reading = self.own.iter().filter(|(_, one)| reads(one)).count();
        let waiting = waiting + reading;
        assert_eq!(waits as usize, waiting, "who waits for a job got lost");
        let idle = self.asked.iter().filter(|(_, one)| one.remaining == 0);
        let known = self.through.len() + self.later.len() + self.waiting.len();
        assert_eq!(idle.count(), known, "a request waits for nothing");
        assert_eq!(self.jobs.len(), self.coming.len(), "a job got lost");
        let pages: u64 = self.coming.iter().map(|job| job.end - job.first).sum();
        let buffer = self.buffer.as_ref();
        assert!(
            self.cached.is_some() || pages == 0,
            "something comes, and nothing keeps it"
        );
        if let Some(cached) = &self.cached {
            let in_buffer = buffer.map_or(0, |buffer| buffer.taken());
            cached.lines.audit(pages, in_buffer);
        }
        if let Some(buffer) = buffer {
            buffer.audit(self.own.len() - reading);
        }
    }
}

/// The cache of a memory that has one.
fn cache_of(cached: &mut Option<Cached>) -> &mut Cached {
    cached.as_mut().expect("there is a cache")
}

/// Blocks from one to before another.
fn between(first: u64, end: u64) -> Extent {
    Extent {
        start: Lba(first),
        len: Blocks(end - first),
    }
}

/// What an extent has of the blocks from one to before another: some.
fn common(extent: &Extent, first: u64, end: u64) -> Extent {
    between(extent.start.0.max(first), extent.end().0.min(end))
}
