//! The contracts: every kind of part the stack is made of. Read this first.
//!
//! Three questions have three owners. A *placement* says where a request may legally land, an
//! *oracle* what a place would cost from the drive's present state, a *scheduler* what goes next.
//! They meet in a [`View`] at dispatch. Parts get `now` and values, and return values: none owns a
//! clock, a thread or a byte of data. Parts of a kind never know parts of another kind. What lies
//! above a placement and answers from memory is in `memory`; what a placement knows of drives that
//! are gone, and keeps for a power cut, in `survival`. The words are explained in
//! `docs/src/glossary.md`.

use std::ops::Range;
use std::sync::Arc;

use crate::fault::{BadRun, Begun, Decay, Exposed, Fate, Recovery};
use crate::freemap::{FreeMap, Room, Slot, Span, Tracks, Uncountable};
use crate::ids::{DriveId, IoId, StreamId};
use crate::io::{Command, Credits, DriveDone, Extrapolated, Io, Owed, Tag, Unwritten, WriteCache};
use crate::measure::{Measure, Tell};
use crate::offer::{Legal, Offer, OfferId, Seen, Writable};
use crate::op::Op;
use crate::plan::Plan;
use crate::position::{
    ArmPosition, Arrival, Candidate, Choice, FreePlace, Landing, Place, Predicted, Search, Served,
};
use crate::request::Request;
use crate::sorted::Sorted;
use crate::stream::{Stream, Streams};
use crate::units::{Angle, Blocks, Duration, Instant, Pba};
use crate::zones::{ZoneShape, Zones};

mod memory;
mod survival;

pub use self::memory::{Around, Cache, Destage, Found, Prefetch, SOON, STAYS, Touch, Written};
pub use self::survival::{Degraded, FewCopies, Lost, Persistent, Redundant, Replaced};
pub use crate::entering::{Entering, Pattern, Why};

/// Which I/O goes next on one drive.
pub trait Scheduler: Send {
    /// An I/O joins the queue. Reads and writes only: flushes pass by. `streams` says what is known
    /// of who asks.
    fn insert(&mut self, now: Instant, io: &Io, streams: &Streams);

    /// Whether an I/O that a request waits for may join the queue; `queued` are those that joined
    /// and have not ended. If it may not, it waits before the queue, and the scheduler is asked
    /// again when one of these has ended. With none queued the answer must be yes.
    fn admits(&self, _io: &Io, _queued: &Queued) -> bool {
        true
    }

    /// Whether `admits` depends on the stream of an I/O. If so, the I/Os of each stream wait in a
    /// line of their own, and no stream keeps others out.
    fn limits_streams(&self) -> bool {
        false
    }

    /// Whether no I/O of this operation may join that somebody waits for, or that nobody does
    /// ([`Io::sync`]), whatever its stream. Then `admits` refuses each of them. A scheduler that
    /// limits streams says so; else each that waits would be asked about at each end of an I/O.
    fn is_full(&self, _op: Op, _sync: bool, _queued: &Queued) -> bool {
        false
    }

    /// Whether an I/O that somebody waits for is merged only with I/Os of its own stream.
    fn keeps_apart(&self) -> bool {
        false
    }

    /// How many places a range write may offer here: a scheduler that makes a list of them has
    /// limits.
    fn places_max(&self) -> u64 {
        u64::MAX
    }

    /// An I/O that waits here was merged with others. From now on it is as `after`, with the same
    /// name, sequence number, stream and arrival. A scheduler that keeps I/Os in order of `insert`
    /// overrides this, so that the I/O keeps its turn.
    fn grown(&mut self, now: Instant, before: &Io, after: &Io, streams: &Streams) {
        self.withdraw(now, before);
        self.insert(now, after, streams);
    }

    /// Takes back an I/O that waits here: another drive has begun it, or it is open and now gets an
    /// address.
    fn withdraw(&mut self, now: Instant, io: &Io);

    /// The drive is ready: what next? An I/O that the answer starts has left the queue.
    fn next(&mut self, view: &View<'_>) -> Next;

    /// An I/O that it started has ended; `io` is what it got with `insert`, or
    /// at last with `grown`.
    fn done(&mut self, _now: Instant, _io: &Io, _done: &DriveDone, _streams: &Streams) {}

    /// Number of I/Os that wait.
    fn len(&self) -> usize;

    /// Whether none waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tells what it has counted so far, of the measures on its card.
    fn tell(&self, _tell: Tell<'_>) {}

    /// Recounts everything from scratch and panics on a contradiction.
    fn audit(&self) {}
}

/// I/Os that requests wait for, in a scheduler or on its drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queued {
    /// Reads.
    pub reads: u32,
    /// Writes.
    pub writes: u32,
}

impl Queued {
    /// All of them.
    pub fn all(&self) -> u32 {
        self.reads + self.writes
    }

    /// One more (1) or one less (-1).
    pub fn count(&mut self, op: Op, change: i32) {
        let count = match op {
            Op::Read => &mut self.reads,
            _ => &mut self.writes,
        };
        *count = count
            .checked_add_signed(change)
            .expect("what leaves has joined");
    }
}

/// Which I/Os that wait for a drive become one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merging {
    /// None.
    None,
    /// Those that continue each other.
    Contiguous {
        /// The longest command that is made so.
        most: Blocks,
        /// Whether an I/O also joins one that begins where it ends.
        front: bool,
    },
}

impl Merging {
    /// What is counted where I/Os are merged.
    pub const MEASURES: &'static [Measure] = &[Measure::count(
        "spared_commands",
        "commands",
        "commands that were not needed, as I/Os that waited became parts of others",
    )];
}

/// A word among the `asks` of a card. A scheduler has it if it goes by classes and levels of
/// streams. If no part has it, to tell classes or levels has no effect.
pub const LEVELS: &str = "claims.level";

/// A word among the `asks` of a card. A scheduler has it if only writes whose place is left open
/// make it decide otherwise than another scheduler; a placement has it if it leaves places open.
pub const OPEN: &str = "place.open";

/// The same for range writes: a scheduler has it if only these make it decide otherwise than
/// another scheduler; a placement has it if it makes range writes of other writes. A load may make
/// them, too.
pub const OFFERED: &str = "place.offered";

/// A word among the `asks` of an oracle's card: it errs in where the arm or the platter is, and so
/// is the exact one over a drive without an arm.
pub const ARM: &str = "drive.arm";

/// A word among the `asks` of a placement's card: it writes where its clients do, and so keeps to
/// the zones of a drive. All other placements are refused over drives with zones, since they write
/// in an order of their own.
pub const ZONES: &str = "drive.zones";

/// What is said of some streams, beside what their requests say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims(pub Vec<(StreamId, Stream)>);

/// A scheduler's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Start this I/O; if it is open, in the free slot whose write begins first; if it is a range
    /// write, where it begins first. One that has nothing left of its offer ends then, without a
    /// command.
    Start(IoId),
    /// Start this open I/O in this free slot.
    Place(IoId, Slot),
    /// Start this range write at this block of what it offers.
    Land(IoId, Pba),
    /// Move the arm to this block and ask again then.
    Seek(Pba),
    /// Start nothing before this instant, which must lie in the future. The scheduler is asked
    /// earlier if an input comes.
    WaitUntil(Instant),
    /// Nothing can be started: no I/O waits, or only open I/Os wait and no slot is free, or the
    /// scheduler holds back what waits. It is asked again after the next input.
    Empty,
}

/// What a scheduler sees when it decides.
pub struct View<'a> {
    /// The instant of the decision.
    pub now: Instant,
    /// What may be known of the drive.
    pub oracle: &'a dyn Oracle,
    /// Blocks of the drive.
    pub capacity: Blocks,
    /// Slots where open I/Os may go; none if the placement leaves no address open.
    pub free: Option<&'a FreeMap>,
    /// What range writes offer.
    pub offers: Seen<'a>,
    /// Commands that the drive has.
    pub in_flight: u32,
    /// Commands that it may have; 1 unless it has a queue of its own.
    pub depth: u32,
}

impl View<'_> {
    /// The free slot whose write begins first, of those that the search allows.
    pub fn nearest_free(&self, search: &Search) -> Option<FreePlace> {
        let free = self.free.filter(|free| free.free() > 0)?;
        self.oracle.nearest_free(search, free)
    }

    /// Where a range write with this offer begins first, if that is before `before`.
    #[inline]
    pub fn nearest_offered(&self, offer: OfferId, before: Instant) -> Option<Landing> {
        let legal = self.offers.legal(offer);
        self.oracle.nearest_offered(self.now, before, &legal)
    }
}

/// Where data may live.
///
/// An address is bound when the heads are there, at dispatch: a plan may leave it open,
/// [`Placement::free`] says what is legal at this instant, [`Placement::bind`] takes what was
/// chosen, [`Placement::done`] maps it.
pub trait Placement: Send {
    /// What it is from beginning to end.
    fn shape(&self) -> Shape;

    /// The steps that carry out `request`; none if it needs none (a discard on a drive that keeps
    /// no map).
    fn plan(&mut self, now: Instant, request: &Request, drives: &dyn Drives, out: &mut Plan);

    /// Where open I/Os to this drive may land, at this instant.
    fn free(&self, _drive: DriveId) -> Option<&FreeMap> {
        None
    }

    /// Where range writes to this drive may begin, of what is offered; none if everywhere.
    fn writable(&self, _drive: DriveId) -> Option<&dyn Writable> {
        None
    }

    /// An open I/O starts in this slot, which is no longer free.
    fn bind(&mut self, _now: Instant, _tag: Tag, drive: DriveId, _slot: Slot) {
        panic!("a placement without open I/Os on {drive:?} was told where one goes");
    }

    /// An I/O ended. What it leaves to do goes to `out`, for the same request. If it failed, a step
    /// of `out` may stand in for it ([`Plan::instead`]); else its request fails, and what waits for
    /// it is skipped. Of `drives` it may ask where the heads are, for writes of its own that
    /// follow. Once an I/O of a drive has ended as `Gone`, all later ones there end so.
    fn done(
        &mut self,
        _now: Instant,
        _tag: Tag,
        _drive: DriveId,
        _done: &DriveDone,
        _drives: &dyn Drives,
        _out: &mut Plan,
    ) {
    }

    /// An I/O never starts, since a step before it has failed. What that leaves to do goes to
    /// `out`, as in `done`.
    fn skipped(
        &mut self,
        _now: Instant,
        tag: Tag,
        drive: DriveId,
        _drives: &dyn Drives,
        _out: &mut Plan,
    ) {
        panic!(
            "a placement whose I/Os wait for none was told that {tag:?} to {drive:?} is skipped"
        );
    }

    /// An alternative is taken back, as another of its kind has begun.
    fn withdrawn(&mut self, _tag: Tag, _drive: DriveId) {}

    /// A drive has nothing to do, or nothing that it can do while none of its slots is free: what
    /// may be done in its spare time. Never called if [`Shape::spare_time`] says that none is used.
    fn idle(&mut self, _now: Instant, _drive: DriveId, _drives: &dyn Drives, _out: &mut Plan) {}

    /// What it has answered and still has to write in spare time; none if it answers nothing before
    /// all is with its drives.
    fn owes(&self) -> Option<Owed> {
        None
    }

    /// When it wants to do something whatever its drives do; none if never.
    fn next_timer(&self) -> Option<Instant> {
        None
    }

    /// That instant has come, or is over. What is to be done goes to `out`, for no request.
    fn timer(&mut self, _now: Instant, _out: &mut Plan) {}

    /// What is left of its redundancy. None if it has none from the beginning.
    fn redundant(&self) -> Option<&dyn Redundant> {
        None
    }

    /// What it keeps so that the volume survives a power cut. None if it keeps nothing: either the
    /// drives alone are enough, or the volume does not survive.
    fn persistent(&self) -> Option<&dyn Persistent> {
        None
    }

    /// Tells what it has counted so far, of the measures on its card.
    fn tell(&self, _tell: Tell<'_>) {}

    /// Recounts everything from scratch and panics on a contradiction.
    fn audit(&self) {}
}

/// What is known of a placement from the beginning, and never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks that clients may address.
    pub capacity: Blocks,
    /// Drives that it places on, all of one kind.
    pub drives: u16,
    /// How many of its drives may be gone, whichever they are, so that everything can still be
    /// read: what was answered has a copy elsewhere, or can be computed from what is elsewhere, or
    /// is in memory until one of these holds.
    pub losable: u16,
    /// Blocks that are written as a whole: writes to the same ones follow each other in the order
    /// in which they came. 1 leaves the order open, as drives do.
    pub chunk: Blocks,
    /// Blocks of which each copy is kept as one: a write of a part of them waits for others there,
    /// or has to read the rest first. None where data are kept by the block.
    pub copy_unit: Option<Blocks>,
    /// Blocks that are written best together: a whole write of so many, which begins at a multiple
    /// of them, reads nothing before. Where there are no such reads beyond a chunk, it is the
    /// chunk.
    pub stripe: Blocks,
    /// Whether anything is ever done in spare time. Most have nothing to do then, and need not be
    /// asked after every input.
    pub spare_time: bool,
    /// Whether it carries out range writes: block n of the volume is block n of its only drive.
    pub offers: bool,
    /// Places that range writes of its own offer at most; 0 if it makes none.
    pub places: u64,
    /// Whether only those writes move of which the client says how far ([`Request::freedom`]).
    pub moves_told: bool,
    /// The zones of its only drive, if that has zones and block n of the volume is block n of it:
    /// then writes and discards of a zone follow each other in the order in which they came. A
    /// placement that writes anywhere else than clients do knows of no zones.
    pub zones: Option<ZoneShape>,
}

impl Shape {
    /// A volume of this capacity on one drive, where writes have no order and spare time is not
    /// used.
    pub const fn of(capacity: Blocks) -> Shape {
        Shape {
            capacity,
            drives: 1,
            losable: 0,
            chunk: Blocks(1),
            copy_unit: None,
            stripe: Blocks(1),
            spare_time: false,
            offers: false,
            places: 0,
            moves_told: false,
            zones: None,
        }
    }
}

/// What a placement may ask of the drives below it.
pub trait Drives {
    /// Whether nothing runs or waits there.
    fn idle(&self, drive: DriveId) -> bool;

    /// I/Os that run or wait there.
    fn waiting(&self, drive: DriveId) -> usize;

    /// What is known of it.
    fn oracle(&self, drive: DriveId) -> &dyn Oracle;
}

/// What may be known of a drive beforehand. The stack owns one per drive and feeds it with the
/// commands that it sends and the completions that it sees; drive and oracle share no state.
pub trait Oracle: Send {
    /// A decision is due at `now`, which is not before the instant of any earlier call: the
    /// questions that follow are about this instant. The stack calls it before every decision, for
    /// drives that do things by themselves.
    fn advance(&mut self, _now: Instant) {}

    /// Where a block lies.
    fn locate(&self, at: Pba) -> Place;

    /// Time from `now` until the drive can move the first block of `place`: everything that comes
    /// before the transfer. Of a write that may hang on how many blocks there are: on a disk its
    /// data have to be there first.
    fn positioning_time(&self, now: Instant, op: Op, place: &Place, len: Blocks) -> Duration;

    /// Time that an access would take from beginning to end, if it began at `now`.
    fn service_time(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Duration;

    /// Of the I/Os that wait, the one with the least `positioning_time`, and of equals the oldest.
    /// Each oracle has its own search, so that its prices are inlined there. The answer must be the
    /// one that trying all would give.
    fn nearest(&self, now: Instant, waiting: &Sorted<Candidate>) -> Option<Choice>;

    /// Of the free slots that `search` allows, the one whose write begins first, and of equals the
    /// lowest. Each oracle has its own search, since what may be left out depends on the drive. The
    /// answer must be the one that trying all would give.
    fn nearest_free(&self, search: &Search, free: &FreeMap) -> Option<FreePlace>;

    /// Of the places where a range write may land, the one where it begins first, and of equals the
    /// lowest; none if it would not begin before `before` anywhere. The answer must be the one that
    /// trying all would give.
    fn nearest_offered(&self, now: Instant, before: Instant, legal: &Legal<'_>) -> Option<Landing>;

    /// Tells which reads or writes that begin at `now` the drive's buffer would serve without a
    /// movement of the arm: reads of blocks that it has, or will read by itself; writes that
    /// continue one which is not on the medium yet. `positioning_time` does not know of these. A
    /// drive without a buffer has none.
    fn buffered(&self, _now: Instant, _op: Op, _tell: &mut dyn FnMut(Served)) {}

    /// The drive's arm; none if nothing moves. A part that reasons about an arm must have an answer
    /// for drives without one.
    fn arm(&self) -> Option<&dyn Arm> {
        None
    }

    /// The stack sent this command.
    fn started(&mut self, now: Instant, command: &Command);

    /// The stack saw this completion.
    fn observed(&mut self, _now: Instant, _done: &DriveDone) {}

    /// Tells what it has counted so far, of the measures on its card.
    fn tell(&self, _tell: Tell<'_>) {}
}

/// An oracle of a drive whose price of a place depends on how far an arm has to move. Schedulers
/// and placements that reason about the arm ask for it; the last four methods are for
/// [`crate::search`] alone.
pub trait Arm: Oracle {
    /// Where the arm is believed to be.
    fn position(&self) -> ArmPosition;

    /// Where the arm begins its way to a write: elsewhere than `position` if a drive that buffers
    /// has to write something else first.
    fn writes_from(&self) -> ArmPosition {
        self.position()
    }

    /// The cylinder of the drive's tracks under the arm at `position`. An oracle overrides it if it
    /// counts cylinders in another way than the drive.
    fn track_cylinder(&self, _tracks: &Tracks, position: ArmPosition) -> u32 {
        position.cylinder
    }

    /// Where the drive's tracks lie; none if the oracle counts cylinders in another way than the
    /// drive.
    fn geometry(&self) -> Option<&dyn Geometry> {
        None
    }

    /// A lower bound of every `positioning_time` over `distance` cylinders or more. It never falls
    /// with the distance.
    fn seek_at_least(&self, distance: u32) -> Duration;

    /// A lower bound of the `positioning_time` of every write over `distance` cylinders from
    /// `writes_from` or more. It never falls with the distance.
    fn write_at_least(&self, distance: u32) -> Duration {
        self.seek_at_least(distance)
    }

    /// The part of `positioning_time` that moves the arm, with what the drive does before, and
    /// until the data of a write are there: at least `seek_at_least` of the distance. The rest is
    /// rotational latency, which is less than a revolution. If `angle_on_arrival` gives an answer,
    /// every surface of a cylinder but that of `writes_from` takes a write the same time.
    fn seek_time(&self, _now: Instant, _op: Op, to: ArmPosition, _len: Blocks) -> Duration {
        self.seek_at_least(self.position().cylinder.abs_diff(to.cylinder))
    }

    /// When an access that begins at `now` ends, and where it leaves the arm.
    fn predict(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Predicted;

    /// The `positioning_time` of `place` after another access, counted from the end of that access.
    fn positioning_time_after(&self, access: &Predicted, op: Op, place: &Place) -> Duration;

    /// A lower bound of every `positioning_time_after` over `distance` cylinders or more.
    fn seek_at_least_after(&self, distance: u32) -> Duration;

    /// The angle under the heads when the `seek_time` of a write of so many blocks to `to` is over,
    /// exact to 16 ns, with the platters `late` ns behind. None if nothing turns, or if the oracle
    /// counts cylinders in another way than the drive.
    fn angle_on_arrival(
        &self,
        _now: Instant,
        _late: i64,
        _to: ArmPosition,
        _len: Blocks,
    ) -> Option<Arrival> {
        None
    }

    /// True if a predicted write ends with the arm on the track that it wrote. False for drives
    /// that buffer writes and for positions that are guessed: then a search may not rule a slot out
    /// by the distance from there to the access that follows.
    fn ends_where_it_writes(&self) -> bool {
        true
    }
}

/// Where the tracks of a drive lie. Blocks rise from cylinder to cylinder. One that is remapped
/// counts where it would lie if nothing were.
pub trait Geometry: Send + Sync {
    /// Surfaces of a cylinder.
    fn surfaces(&self) -> u32;

    /// On which track a block lies.
    fn position_of(&self, at: Pba) -> ArmPosition;

    /// The blocks of a cylinder. Empty where it has none, and where blocks go on behind it then.
    fn cylinder_blocks(&self, cylinder: u32) -> Range<Pba>;

    /// A track, if it has blocks.
    fn track(&self, at: ArmPosition) -> Option<Span>;

    /// Whether one of these blocks is remapped.
    fn remapped(&self, at: Pba, len: Blocks) -> bool;
}

/// A model of a drive, in virtual time. It takes as many commands at a time as it is deep, and ends
/// them in any order: because it works on several ([`crate::drive::ssd`]), or because it has a
/// queue around it ([`crate::drive::queued`]).
pub trait Drive: Send {
    /// How many commands it may have at a time.
    fn depth(&self) -> u32 {
        1
    }

    /// Whether it chooses the places of range writes by itself.
    fn lands(&self) -> bool {
        false
    }

    /// What the command offers that comes next, a range write. A drive that does not choose by
    /// itself never gets one.
    fn offer(&mut self, _io: IoId, _offer: &Arc<Offer>) {
        panic!("a drive that does not choose places was offered some");
    }

    /// How far its zones are written; none if it has no zones.
    fn zones(&self) -> Option<&Zones> {
        None
    }

    /// Take a command. The drive must have room for it.
    fn submit(&mut self, now: Instant, command: &Command);

    /// `commands` counts those that run or wait for this drive, the running one included. Called
    /// before every `advance` that may end one. For models of drives that serve several commands at
    /// a time: each gets a share of the time. A drive that does not need the number does not call
    /// it, since counting costs time.
    fn outstanding(&mut self, _commands: &mut dyn FnMut() -> u64) {}

    /// When it next needs attention.
    fn next_event(&self) -> Option<Instant>;

    /// Let time pass. Gives the completion of the command if it is due; called again until it gives
    /// none. Once a command has failed with [`Failure::Gone`](crate::op::Failure::Gone), the stack
    /// takes every later one of this drive for failed in the same way, whatever the completion
    /// says: parts above forget at once what they kept account of there.
    fn advance(&mut self, now: Instant) -> Option<DriveDone>;

    /// The completion that `advance` gave last is told at `now`, later than it was given: something
    /// around the drive made the command longer. For models to which it matters whether the next
    /// command comes at once.
    fn ended_late(&mut self, _now: Instant) {}

    /// How much longer the command that `advance` gave last, after `took`, takes of a drive that is
    /// slow: what it does by itself takes `factor` times as long, and `extra` more.
    fn lengthened(&self, took: Duration, factor: u32, extra: Duration) -> Duration {
        Duration(
            took.0
                .saturating_mul(u64::from(factor) - 1)
                .saturating_add(extra.0),
        )
    }

    /// What a power cut at `now` may lose of the writes that ended: the blocks of which the last
    /// such write may not be on the medium yet. It may name more than it loses, never less. Nothing
    /// by a drive without a cache, or with one that a power cut does not empty.
    fn volatile(&self, now: Instant, out: &mut Vec<Unwritten>);

    /// What it owes the medium at `now`, whether a power cut loses that or not; nothing by models
    /// that tell of no cache.
    fn owes(&self, _now: Instant) -> Owed {
        Owed::default()
    }

    /// Of a drive that does work of its own in rounds while it serves, as flash does that collects
    /// blocks: how many rounds it has completed since the run began, in thousandths. None as long
    /// as it does no such work. A run that is shorter than a round has not seen all that the drive
    /// does.
    fn rounds_permille(&self) -> Option<u64> {
        None
    }

    /// Tells each kind of credits for bursts that it has.
    fn credits(&self, _tell: &mut dyn FnMut(Credits)) {}

    /// Commands so far that were longer than every command whose time was measured; for models made
    /// of measured times.
    fn extrapolated(&self) -> &[Extrapolated] {
        &[]
    }

    /// Tells what it has counted so far, of the measures of its kind.
    fn tell(&self, _tell: Tell<'_>) {}

    /// Tells what has gone wrong on it so far, of the measures on the card of its [`Faults`].
    fn tell_faults(&self, _tell: Tell<'_>) {}

    /// Blocks that the read brought which `advance` gave last, and that are wrong, though it was
    /// reported done.
    fn wrongly_brought(&self) -> &[Pba] {
        &[]
    }

    /// Tells each setting of its [`Faults`] about its commands, and whether one of them could meet
    /// it so far.
    fn tell_exposed(&self, _tell: &mut dyn FnMut(Exposed)) {}
}

/// What goes wrong on the drives below a stack.
///
/// A pure function of seed, drive, command and virtual time: asked again, in whatever order, it
/// answers the same. So a model of a drive ([`crate::drive::faulty`]) takes the time that it costs
/// and tells the stack what drives tell, and a world that keeps data asks the same questions and
/// does to its data what no drive tells.
pub trait Faults: Send + Sync {
    /// Whether anything may ever go wrong on this drive. If not, it is left as it is.
    fn concern(&self, drive: DriveId) -> bool;

    /// Whether blocks of this drive may come to be what guard and tag of a sector tell from sound
    /// ones: rotten, or overwritten by a write to another place.
    fn leave_traces(&self, drive: DriveId) -> bool;

    /// From this instant on the drive is gone: it carries out nothing, and what it was doing fails.
    fn gone_from(&self, drive: DriveId) -> Instant;

    /// Faults may be set to begin at an instant of their own, after the run has begun: the first
    /// and the last of these instants; none if all faults may happen from the beginning. If a run
    /// ends before the last one, it has not met all the faults that were asked for.
    fn begins(&self) -> Option<[Instant; 2]> {
        None
    }

    /// Tells each of its settings about commands of this drive, and whether one of those that the
    /// drive has begun could meet it.
    fn tell_exposed(&self, _drive: DriveId, _begun: &Begun, _tell: &mut dyn FnMut(Exposed)) {}

    /// These faults without those that begin at an instant of their own, after the run has begun;
    /// none if there are no such.
    fn at_outset(&self) -> Option<Box<dyn Faults>> {
        None
    }

    /// What becomes of a command that the drive begins at `began`, if it is not gone and whatever
    /// lies where the command goes.
    fn fate(&self, drive: DriveId, began: Instant, command: &Command) -> Fate;

    /// The blocks of a cell ([`crate::fault::CELL`]) that go bad in this way, if any do.
    fn bad_run(&self, drive: DriveId, decay: Decay, cell: u64) -> Option<BadRun>;

    /// What a drive does about blocks that cannot be read.
    fn recovery(&self) -> Recovery;
}

/// Puts something around a drive.
pub type Wrap<'a> = &'a dyn Fn(Box<dyn Drive>) -> Box<dyn Drive>;

/// What is known of a drive before it runs: its parameters, checked. Makes any number of equal
/// drives, and oracles that know the truth about them.
pub trait Blueprint: Send + Sync {
    /// Addressable blocks.
    fn capacity(&self) -> Blocks;

    /// Whether a write ends before its data are on the medium, and whether a power cut loses it
    /// then.
    fn cache(&self) -> WriteCache;

    /// How many commands a drive may have at a time: [`Drive::depth`].
    fn depth(&self) -> u32 {
        1
    }

    /// Whether a discard tells it something, as it keeps a map of what is in use. Placements
    /// without a map of their own pass it on then.
    fn keeps_map(&self) -> bool {
        false
    }

    /// How it is cut into zones, if it is.
    fn zones(&self) -> Option<ZoneShape> {
        None
    }

    /// A fresh drive, its arm at rest.
    fn drive(&self) -> Box<dyn Drive>;

    /// The same, with the random stream `stream` of `seed`, for drives whose service times are
    /// drawn.
    fn seeded(&self, _seed: u64, _stream: &str) -> Box<dyn Drive> {
        self.drive()
    }

    /// The same, with something around the drive, but within its queue if it has one: what goes
    /// wrong on it.
    fn wrapped(&self, seed: u64, stream: &str, wrap: Wrap<'_>) -> Box<dyn Drive> {
        wrap(self.seeded(seed, stream))
    }

    /// An oracle with the drive's true parameters.
    fn exact(&self) -> Box<dyn Oracle>;

    /// The same oracle as an arm; none if the drive has no arm.
    fn exact_arm(&self) -> Option<Box<dyn Arm>> {
        None
    }

    /// The same drive, its platters turned by this angle at time 0: the spindles of an array are
    /// not synchronised.
    fn turned(&self, by: Angle) -> Box<dyn Blueprint>;

    /// The same drive, its heads on the track of this block at time 0.
    fn resting(&self, at: Pba) -> Box<dyn Blueprint>;

    /// The same drive after writes without a pause: its write cache is full at time 0. Drives whose
    /// cache holds little of a load are as they were.
    fn pressed(&self) -> Box<dyn Blueprint> {
        self.turned(Angle(0))
    }

    /// Where its tracks lie; none if it has no tracks.
    fn geometry(&self) -> Option<Arc<dyn Geometry>> {
        None
    }

    /// Time of one revolution; `None` if nothing turns.
    fn revolution(&self) -> Option<Duration>;

    /// Upper bounds of how many slots of `slot` blocks the drive has, without counting them.
    fn room(&self, slot: Blocks) -> Room;

    /// Where slots of `slot` blocks lie.
    ///
    /// # Errors
    /// No track has room for one, or there are too many to number.
    fn tracks(&self, slot: Blocks) -> Result<Tracks, Uncountable>;
}
