//! A drive that holds several commands and sorts them itself (native or tagged command queueing),
//! around one that does them one by one.
//!
//! The firmware is a scheduler of the table with the drive's own exact oracle. It chooses as soon
//! as a command ends, among those that it has then, and starts at once what finds it idle. What is
//! no read or write (flush, discard, a movement of the arm that the host wants) keeps its place: it
//! waits for all that came before, and all that comes later waits for it, as a flush in the ATA
//! command set is not queued. Time in the drive's queue is no part of a command's cost.
//!
//! It chooses the places of range writes: a command comes with what it offers, waits among the
//! others, and its completion says where it has landed. Who sends it leaves out what others have
//! taken before; that those which the drive has do not overlap is its own affair, by the table and
//! the rule that all have ([`Offers`]). Around a drive with zones it chooses among their pointers.
//!
//! What a host can know of such a drive is less ([`HostOracle`]): which commands it sent, and which
//! have ended. Source: Serial ATA revision 3.x, native command queueing, 32 commands. O(depth)
//! memory; a command costs what its scheduler costs.

use std::collections::VecDeque;
use std::sync::Arc;

use slab::Slab;

use crate::contract::{Arm, Blueprint, Drive, Geometry, Next, Oracle, Scheduler, View, Wrap};
use crate::fault::Exposed;
use crate::freemap::{FreeMap, Room, Tracks, Uncountable};
use crate::ids::{IoId, StreamId};
use crate::io::{Command, Credits, DriveDone, Extrapolated, Io, Owed, Unwritten, WriteCache};
use crate::measure::Tell;
use crate::offer::{Legal, Offer, OfferId, Offers, Writable};
use crate::op::{Cost, Failure, Op, Status};
use crate::position::{
    ArmPosition, Arrival, Candidate, Choice, FreePlace, Landing, Place, Predicted, Search, Served,
};
use crate::registry::{Knob, KnobKind};
use crate::sorted::Sorted;
use crate::stream::Streams;
use crate::units::{Angle, Blocks, Duration, Instant, Pba};
use crate::zones::{ZoneShape, Zones};

/// Commands in a drive at most, as many as SCSI lets a host tag with one byte.
pub const DEPTH_MAX: i64 = 256;

/// The knob of a drive that says how many commands it holds.
pub const DEPTH_KNOB: &str = "queue_depth";

/// How a drive sorts unless something else is said: what its buffer has first, then by positioning
/// time, and nobody starves.
pub const SCHED_DEFAULT: &str = "hits_first:base=aged_satf";

/// The knob of a drive that says how it sorts them.
pub const SCHED_KNOB: Knob = Knob::text(
    "queue_sched",
    SCHED_DEFAULT,
    |word| !word.is_empty(),
    "a scheduler; in a table or a file also with settings, such as aged_satf:weight_ms_per_s=3",
    "queue_depth above 1: how the drive sorts them",
);

/// What can be set of a drive: the knobs of its kind, where a file says how many commands its drive
/// holds with that as the default. Kinds whose drives work on several commands at a time sort none,
/// and read the key by themselves.
pub(super) fn knobs(kind: &[Knob], file: &toml::Table) -> Vec<Knob> {
    let sorts = kind.iter().any(|knob| knob.name == SCHED_KNOB.name);
    let own = file.get(DEPTH_KNOB).and_then(toml::Value::as_integer);
    let with_own = |knob: &Knob| match (knob.kind, own) {
        (KnobKind::Integer { min, max, .. }, Some(default)) if knob.name == DEPTH_KNOB => Knob {
            kind: KnobKind::Integer { default, min, max },
            ..*knob
        },
        _ => *knob,
    };
    if sorts {
        kind.iter().map(with_own).collect()
    } else {
        kind.to_vec()
    }
}

/// Makes the firmware's scheduler for a drive.
pub type MakeScheduler = Arc<dyn Fn(&dyn Blueprint) -> Box<dyn Scheduler> + Send + Sync>;

/// A drive with a queue of its own, before it runs.
pub struct QueuedBlueprint {
    bare: Box<dyn Blueprint>,
    depth: u32,
    scheduler: MakeScheduler,
}

impl QueuedBlueprint {
    /// Around a drive that does one command at a time.
    pub fn new(bare: Box<dyn Blueprint>, depth: u32, scheduler: MakeScheduler) -> QueuedBlueprint {
        QueuedBlueprint {
            bare,
            depth,
            scheduler,
        }
    }

    fn around(&self, drive: Box<dyn Drive>) -> Box<dyn Drive> {
        Box::new(QueuedDrive {
            drive,
            scheduler: (self.scheduler)(&*self.bare),
            oracle: self.bare.exact(),
            capacity: self.bare.capacity(),
            depth: self.depth,
            held: Slab::new(),
            behind: VecDeque::new(),
            running: None,
            timer: None,
            sequence: 0,
            offers: Offers::default(),
            comes: Vec::new(),
            exhausted: VecDeque::new(),
            told_from: Instant::ZERO,
            streams: Streams::default(),
        })
    }

    fn with(&self, bare: Box<dyn Blueprint>) -> Box<dyn Blueprint> {
        let scheduler = Arc::clone(&self.scheduler);
        Box::new(QueuedBlueprint::new(bare, self.depth, scheduler))
    }
}

impl Blueprint for QueuedBlueprint {
    fn capacity(&self) -> Blocks {
        self.bare.capacity()
    }

    fn cache(&self) -> WriteCache {
        self.bare.cache()
    }

    fn depth(&self) -> u32 {
        self.depth
    }

    fn keeps_map(&self) -> bool {
        self.bare.keeps_map()
    }

    fn zones(&self) -> Option<ZoneShape> {
        self.bare.zones()
    }

    fn drive(&self) -> Box<dyn Drive> {
        self.around(self.bare.drive())
    }

    fn seeded(&self, seed: u64, stream: &str) -> Box<dyn Drive> {
        self.around(self.bare.seeded(seed, stream))
    }

    fn wrapped(&self, seed: u64, stream: &str, wrap: Wrap<'_>) -> Box<dyn Drive> {
        self.around(self.bare.wrapped(seed, stream, wrap))
    }

    fn exact(&self) -> Box<dyn Oracle> {
        Box::new(HostOracle::new(self.bare.exact()))
    }

    fn exact_arm(&self) -> Option<Box<dyn Arm>> {
        let arm = self.bare.exact_arm()?;
        Some(Box::new(HostOracle::new(arm)))
    }

    fn turned(&self, by: Angle) -> Box<dyn Blueprint> {
        self.with(self.bare.turned(by))
    }

    fn resting(&self, at: Pba) -> Box<dyn Blueprint> {
        self.with(self.bare.resting(at))
    }

    fn pressed(&self) -> Box<dyn Blueprint> {
        self.with(self.bare.pressed())
    }

    fn geometry(&self) -> Option<Arc<dyn Geometry>> {
        self.bare.geometry()
    }

    fn revolution(&self) -> Option<Duration> {
        self.bare.revolution()
    }

    fn room(&self, slot: Blocks) -> Room {
        self.bare.room(slot)
    }

    fn tracks(&self, slot: Blocks) -> Result<Tracks, Uncountable> {
        self.bare.tracks(slot)
    }
}

/// What the drive inside is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Running {
    /// A read or write that the firmware chose.
    Chosen(usize),
    /// A command that kept its place.
    InTurn,
    /// A movement of the arm that the firmware wants.
    OwnSeek,
}

struct QueuedDrive {
    /// Does one command at a time.
    drive: Box<dyn Drive>,
    scheduler: Box<dyn Scheduler>,
    oracle: Box<dyn Oracle>,
    capacity: Blocks,
    depth: u32,
    /// Reads and writes that wait or run, by the names that the firmware gives them.
    held: Slab<(Io, Command)>,
    /// A command that keeps its place, and all that came after it.
    behind: VecDeque<Command>,
    running: Option<Running>,
    /// When a scheduler that waits wants to be asked again.
    timer: Option<Instant>,
    sequence: u64,
    /// Range writes that it has, and what they have taken.
    offers: Offers,
    /// What commands offer that came and are not among those that are sorted, and how many
    /// completions of range writes there were then.
    comes: Vec<(IoId, Arc<Offer>, u64)>,
    /// Range writes with nothing left, which are to be told.
    exhausted: VecDeque<DriveDone>,
    /// When it was found out that something is to be told.
    told_from: Instant,
    /// The drive knows of none.
    streams: Streams,
}

/// Where writes may begin at all on a drive: at the pointers of its zones, if it has zones.
fn writable(drive: &dyn Drive) -> Option<&dyn Writable> {
    drive.zones().map(|zones| zones as &dyn Writable)
}

fn is_sorted(command: &Command) -> bool {
    matches!(command.op, Op::Read | Op::Write)
}

impl QueuedDrive {
    /// Commands that it has.
    fn commands(&self) -> usize {
        let in_turn = usize::from(self.running == Some(Running::InTurn));
        self.held.len() + self.behind.len() + self.exhausted.len() + in_turn
    }

    /// A read or write joins those that the firmware sorts.
    fn sort_in(&mut self, now: Instant, command: &Command) {
        self.sequence += 1;
        let came = self.comes.iter().position(|(io, ..)| *io == command.io);
        let offer = came.map(|index| {
            let (_, offer, epoch) = self.comes.swap_remove(index);
            self.offers.make(offer, command.len.0, epoch)
        });
        let entry = self.held.vacant_entry();
        let io = Io {
            id: IoId(entry.key() as u32),
            sequence: self.sequence,
            stream: StreamId(0),
            op: command.op,
            at: command.at,
            open: false,
            offer,
            len: command.len,
            arrived: now,
            priority: 0,
            fua: command.fua,
            sync: command.op == Op::Read,
            place: self.oracle.locate(command.at),
        };
        entry.insert((io, *command));
        self.scheduler.insert(now, &io, &self.streams);
    }

    fn start(&mut self, now: Instant, running: Running, command: &Command) {
        self.running = Some(running);
        // What the drive will refuse moves nothing.
        let zones = self.drive.zones();
        if !zones.is_some_and(|zones| zones.refuses(command)) {
            self.oracle.started(now, command);
        }
        self.drive.submit(now, command);
    }

    /// A read or write starts that the firmware has chosen, a range write at this block of what it
    /// offers.
    fn start_chosen(&mut self, now: Instant, id: IoId, at: Option<Pba>) {
        let (io, command) = self.held[id.index()];
        let mut command = command;
        if let (Some(offer), Some(at)) = (io.offer, at) {
            self.offers.land(offer, at.0);
            command.at = at;
        }
        self.start(now, Running::Chosen(id.index()), &command);
    }

    /// Nothing is left of what a range write offers: it ends without being done.
    fn exhaust(&mut self, now: Instant, id: IoId, offer: OfferId) {
        let (io, command) = self.held.remove(id.index());
        let status = Status::Failed(Failure::Exhausted);
        let done = command.ends(status, Cost::default());
        self.offers.end(offer);
        self.scheduler.done(now, &io, &done, &self.streams);
        self.exhausted.push_back(done);
        self.told_from = now;
    }

    /// An idle drive starts something, if it has something to do.
    fn choose(&mut self, now: Instant) {
        // One of which nothing is left makes room for the next choice.
        while self.running.is_none() && self.chooses_again(now) {}
    }

    /// Chooses; whether it is to choose once more.
    fn chooses_again(&mut self, now: Instant) -> bool {
        self.timer = None;
        if self.held.is_empty() {
            if let Some(command) = self.behind.pop_front() {
                self.start(now, Running::InTurn, &command);
            }
            return false;
        }
        self.oracle.advance(now);
        let view = View {
            now,
            oracle: &*self.oracle,
            capacity: self.capacity,
            free: None,
            offers: self.offers.within(writable(&*self.drive)),
            in_flight: 0,
            depth: 1,
        };
        match self.scheduler.next(&view) {
            Next::Start(id) => {
                let offer = self.held[id.index()].0.offer;
                let landing = offer.map(|offer| view.nearest_offered(offer, Instant::NEVER));
                match (offer, landing) {
                    (Some(offer), Some(None)) => {
                        self.exhaust(now, id, offer);
                        return true;
                    }
                    (_, landing) => {
                        let at = landing.flatten().map(|landing| landing.at);
                        self.start_chosen(now, id, at);
                    }
                }
            }
            Next::Land(id, at) => self.start_chosen(now, id, Some(at)),
            Next::Seek(at) => {
                let command = Command::seek(at);
                self.start(now, Running::OwnSeek, &command);
            }
            Next::WaitUntil(instant) => {
                assert!(instant > now, "a scheduler waits for what is past");
                self.timer = Some(instant);
            }
            Next::Place(..) | Next::Empty => {
                panic!(
                    "commands with addresses wait, and {} of them",
                    self.held.len()
                )
            }
        }
        false
    }

    /// The drive inside has ended what it did.
    fn ended(&mut self, now: Instant, done: &DriveDone) {
        if !done.is_refused() {
            self.oracle.observed(now, done);
        }
        match self.running.take().expect("it did something") {
            Running::Chosen(key) => {
                let (io, _) = self.held.remove(key);
                if let Some(offer) = io.offer {
                    self.offers.end(offer);
                }
                self.scheduler.done(now, &io, done, &self.streams);
            }
            Running::InTurn => {
                let shape = self.drive.zones().map(Zones::shape);
                if let Some(freed) = shape.and_then(|shape| shape.freed(done)) {
                    self.offers.free(&freed);
                }
                while let Some(command) = self.behind.front().copied().filter(is_sorted) {
                    self.behind.pop_front();
                    self.sort_in(now, &command);
                }
            }
            Running::OwnSeek => {}
        }
        self.choose(now);
    }
}

impl Drive for QueuedDrive {
    fn depth(&self) -> u32 {
        self.depth
    }

    fn lands(&self) -> bool {
        true
    }

    fn zones(&self) -> Option<&Zones> {
        self.drive.zones()
    }

    fn offer(&mut self, io: IoId, offer: &Arc<Offer>) {
        let epoch = self.offers.taken().completions();
        self.comes.push((io, Arc::clone(offer), epoch));
    }

    fn submit(&mut self, now: Instant, command: &Command) {
        assert!(self.commands() < self.depth as usize, "the drive is full");
        let in_turn = self.running == Some(Running::InTurn);
        if is_sorted(command) && self.behind.is_empty() && !in_turn {
            self.sort_in(now, command);
        } else {
            self.behind.push_back(*command);
        }
        if self.running.is_none() {
            self.choose(now);
        }
    }

    fn outstanding(&mut self, commands: &mut dyn FnMut() -> u64) {
        self.drive.outstanding(commands);
    }

    fn next_event(&self) -> Option<Instant> {
        let told = (!self.exhausted.is_empty()).then_some(self.told_from);
        let next = self.drive.next_event().into_iter();
        next.chain(self.timer).chain(told).min()
    }

    fn advance(&mut self, now: Instant) -> Option<DriveDone> {
        if self.timer.is_some_and(|due| due <= now) {
            self.choose(now);
        }
        if let Some(done) = self.exhausted.pop_front() {
            return Some(done);
        }
        while let Some(done) = self.drive.advance(now) {
            let own = self.running == Some(Running::OwnSeek);
            self.ended(now, &done);
            if !own {
                return Some(done);
            }
        }
        None
    }

    /// What waits in the queue has not ended, so nobody counts on it.
    fn volatile(&self, now: Instant, out: &mut Vec<Unwritten>) {
        self.drive.volatile(now, out);
    }

    fn owes(&self, now: Instant) -> Owed {
        self.drive.owes(now)
    }

    fn rounds_permille(&self) -> Option<u64> {
        self.drive.rounds_permille()
    }

    fn credits(&self, tell: &mut dyn FnMut(Credits)) {
        self.drive.credits(tell);
    }

    fn extrapolated(&self) -> &[Extrapolated] {
        self.drive.extrapolated()
    }

    fn tell(&self, tell: Tell<'_>) {
        self.drive.tell(tell);
    }

    fn tell_exposed(&self, tell: &mut dyn FnMut(Exposed)) {
        self.drive.tell_exposed(tell);
    }

    fn tell_faults(&self, tell: Tell<'_>) {
        self.drive.tell_faults(tell);
    }

    fn wrongly_brought(&self) -> &[Pba] {
        self.drive.wrongly_brought()
    }
}

/// What a host knows of a drive that sorts by itself: the truth as of the last command that ended.
///
/// It is told which commands were sent, in an order that the drive need not keep. When one ends,
/// the host knows that the drive has done it just now, since the end of the one before or since it
/// was sent, whichever is later. So the host knows where the arm was at that instant. What the
/// drive does now and does next is not known: prices hold as if it did nothing more.
struct HostOracle<O: ?Sized> {
    truth: Box<O>,
    /// Commands that the drive has, and when they were sent.
    sent: Vec<(Command, Instant)>,
    /// When the last one ended.
    ended: Instant,
}

impl<O: ?Sized> HostOracle<O> {
    fn new(truth: Box<O>) -> HostOracle<O> {
        HostOracle {
            truth,
            sent: Vec::new(),
            ended: Instant::ZERO,
        }
    }
}

impl<O: Oracle + ?Sized> Oracle for HostOracle<O> {
    fn advance(&mut self, now: Instant) {
        // A drive with commands does not do things of its own accord.
        if self.sent.is_empty() {
            self.truth.advance(now);
        }
    }

    fn locate(&self, at: Pba) -> Place {
        self.truth.locate(at)
    }

    fn positioning_time(&self, now: Instant, op: Op, place: &Place, len: Blocks) -> Duration {
        self.truth.positioning_time(now, op, place, len)
    }

    fn service_time(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Duration {
        self.truth.service_time(now, op, at, len)
    }

    fn nearest(&self, now: Instant, waiting: &Sorted<Candidate>) -> Option<Choice> {
        self.truth.nearest(now, waiting)
    }

    fn nearest_free(&self, search: &Search, free: &FreeMap) -> Option<FreePlace> {
        self.truth.nearest_free(search, free)
    }

    fn nearest_offered(&self, now: Instant, before: Instant, legal: &Legal<'_>) -> Option<Landing> {
        self.truth.nearest_offered(now, before, legal)
    }

    /// While it has commands, what they bring is not known.
    fn buffered(&self, now: Instant, op: Op, tell: &mut dyn FnMut(Served)) {
        if self.sent.is_empty() {
            self.truth.buffered(now, op, tell);
        }
    }

    fn arm(&self) -> Option<&dyn Arm> {
        self.truth.arm()
    }

    fn started(&mut self, now: Instant, command: &Command) {
        self.sent.push((*command, now));
    }

    fn observed(&mut self, now: Instant, done: &DriveDone) {
        let mut sent = self.sent.iter();
        let index = sent.position(|(command, _)| command.io == done.io);
        let (mut command, sent) = self.sent.remove(index.expect("what ended was sent"));
        if done.status == Status::Failed(Failure::Exhausted) || done.is_refused() {
            return;
        }
        // Of a range write the drive has chosen the place.
        command.at = done.at;
        self.truth.started(sent.max(self.ended), &command);
        self.truth.observed(now, done);
        self.ended = now;
    }
}

impl<O: Arm + ?Sized> Arm for HostOracle<O> {
    fn position(&self) -> ArmPosition {
        self.truth.position()
    }

    fn track_cylinder(&self, tracks: &Tracks, position: ArmPosition) -> u32 {
        self.truth.track_cylinder(tracks, position)
    }

    fn geometry(&self) -> Option<&dyn Geometry> {
        self.truth.geometry()
    }

    fn writes_from(&self) -> ArmPosition {
        self.truth.writes_from()
    }

    fn seek_at_least(&self, distance: u32) -> Duration {
        self.truth.seek_at_least(distance)
    }

    fn write_at_least(&self, distance: u32) -> Duration {
        self.truth.write_at_least(distance)
    }

    fn seek_time(&self, now: Instant, op: Op, to: ArmPosition, len: Blocks) -> Duration {
        self.truth.seek_time(now, op, to, len)
    }

    fn predict(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Predicted {
        self.truth.predict(now, op, at, len)
    }

    fn positioning_time_after(&self, access: &Predicted, op: Op, place: &Place) -> Duration {
        self.truth.positioning_time_after(access, op, place)
    }

    fn seek_at_least_after(&self, distance: u32) -> Duration {
        self.truth.seek_at_least_after(distance)
    }

    fn angle_on_arrival(
        &self,
        now: Instant,
        late: i64,
        to: ArmPosition,
        len: Blocks,
    ) -> Option<Arrival> {
        self.truth.angle_on_arrival(now, late, to, len)
    }

    fn ends_where_it_writes(&self) -> bool {
        self.truth.ends_where_it_writes()
    }
}
