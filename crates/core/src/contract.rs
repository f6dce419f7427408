//! The contracts: every kind of part the stack is made of. Read this first.
//!
//! Three questions have three owners. A *placement* says where a request may legally land, an *oracle*
//! what a place would cost from where the heads are, a *scheduler* what goes next. They meet in a
//! [`View`] at dispatch. Parts get `now` and values, and return values: none owns a clock, a thread or a
//! byte of data. Parts of a kind never know parts of another kind.

use crate::freemap::{FreeMap, Room, Slot, Tracks, Uncountable};
use crate::ids::{DriveId, IoId};
use crate::io::{Command, DriveDone, Extrapolated, Io, RecoveryRead, Tag};
use crate::op::Op;
use crate::plan::Plan;
use crate::position::{
    ArmPosition, Arrival, Candidate, Choice, FreePlace, Place, Predicted, Search,
};
use crate::request::Request;
use crate::sorted::Sorted;
use crate::units::{Angle, Blocks, Duration, Instant, Pba};

/// Which I/O goes next on one drive.
pub trait Scheduler: Send {
    /// An I/O joins the queue. Reads and writes only: flushes pass by.
    fn insert(&mut self, now: Instant, io: &Io);

    /// An I/O that waits here is taken back: another drive has begun it, or it is open and now gets an address.
    fn withdraw(&mut self, io: &Io);

    /// The drive has room: what now? A started I/O has left the queue.
    fn next(&mut self, view: &View<'_>) -> Next;

    /// A command of this drive ended.
    fn done(&mut self, _now: Instant, _done: &DriveDone) {}

    /// I/Os that wait.
    fn len(&self) -> usize;

    /// Whether none waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Recounts everything from scratch and panics on a contradiction.
    fn audit(&self) {}
}

/// A scheduler's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Start this I/O; if it is open, in the free slot that the heads reach first.
    Start(IoId),
    /// Start this open I/O in this free slot.
    Place(IoId, Slot),
    /// Move the arm to this block and ask again then.
    Seek(Pba),
    /// Start nothing before this instant, which must lie in the future; a new input asks earlier.
    WaitUntil(Instant),
    /// Nothing waits, or only open I/Os while no slot is free: asked again after the next input.
    Empty,
}

/// What a scheduler sees when it decides.
pub struct View<'a> {
    /// The instant of the decision.
    pub now: Instant,
    /// What may be known of the drive.
    pub oracle: &'a dyn Oracle,
    /// First block behind the drive's last one.
    pub capacity: Blocks,
    /// Where open I/Os may land; none if the placement leaves no address open.
    pub free: Option<&'a FreeMap>,
}

impl View<'_> {
    /// The free slot that the heads reach first, of those that the search allows.
    pub fn nearest_free(&self, search: &Search) -> Option<FreePlace> {
        let free = self.free.filter(|free| free.free() > 0)?;
        self.oracle.nearest_free(search, free)
    }
}

/// Where data may live.
///
/// An address is bound when the heads are there, at dispatch: a plan may leave it open, [`Placement::free`] says what is
/// legal at this instant, [`Placement::bind`] takes what was chosen, [`Placement::done`] maps it.
pub trait Placement: Send {
    /// The steps that carry out `request`; none if it needs none (a discard on a drive that keeps no map).
    fn plan(&mut self, now: Instant, request: &Request, drives: &dyn Drives, out: &mut Plan);

    /// Where open I/Os to this drive may land, at this instant.
    fn free(&self, _drive: DriveId) -> Option<&FreeMap> {
        None
    }

    /// An open I/O starts in this slot, which is no longer free.
    fn bind(&mut self, _now: Instant, _tag: Tag, drive: DriveId, _slot: Slot) {
        panic!("a placement without open I/Os on {drive:?} was told where one goes");
    }

    /// An I/O ended. What it leaves to do goes to `out`, for the same request. If it failed, a step of `out` may stand in
    /// for it ([`Plan::instead`]); else its request fails, and what waits for it is skipped.
    fn done(
        &mut self,
        _now: Instant,
        _tag: Tag,
        _drive: DriveId,
        _done: &DriveDone,
        _out: &mut Plan,
    ) {
    }

    /// An I/O never starts, since a step before it has failed. What that leaves to do goes to `out`, as in `done`.
    fn skipped(&mut self, _now: Instant, tag: Tag, drive: DriveId, _out: &mut Plan) {
        panic!(
            "a placement whose I/Os wait for none was told that {tag:?} to {drive:?} is skipped"
        );
    }

    /// An alternative is taken back, as another of its kind has begun.
    fn withdrawn(&mut self, _tag: Tag, _drive: DriveId) {}

    /// Whether anything is ever done in spare time. Asked once: most have nothing, and need not be asked after every input.
    fn uses_spare_time(&self) -> bool {
        false
    }

    /// A drive has nothing to do, or nothing that it can do while none of its slots is free: what may be done in its
    /// spare time. Never called if none is used.
    fn idle(&mut self, _now: Instant, _drive: DriveId, _drives: &dyn Drives, _out: &mut Plan) {}

    /// What a write of its own, without the volume's data, has to put on the drive.
    fn content(&self, tag: Tag) -> &[u8] {
        panic!("a placement without writes of its own was asked what {tag:?} writes");
    }

    /// What has to survive a power cut besides the drives, or if the drives are enough, what makes recovery short. None if
    /// nothing does, and the volume does not either.
    fn nvram(&self) -> Option<&[u8]> {
        None
    }

    /// The reads, one after another, by which the volume would come back if the power went at this instant. None if nothing has
    /// to be read, or it could not come back.
    fn recovery(&self, _out: &mut Vec<RecoveryRead>) {}

    /// Blocks that clients may address.
    fn capacity(&self) -> Blocks;

    /// Drives that it places on, all of one kind.
    fn drives(&self) -> u16 {
        1
    }

    /// Blocks that are written as a whole: writes to the same ones follow each other in the order in which they came.
    /// 1 leaves the order open, as drives do.
    fn chunk(&self) -> Blocks {
        Blocks(1)
    }

    /// Recounts everything from scratch and panics on a contradiction.
    fn audit(&self) {}
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

/// What may be known of a drive beforehand. The stack owns one per drive and feeds it with the commands
/// that it sends and the completions that it sees; drive and oracle share no state.
pub trait Oracle: Send {
    /// A decision is due at `now`, not before any call so far: what follows is about this instant. For oracles whose
    /// drive does things by itself; the stack calls it before every decision.
    fn advance(&mut self, _now: Instant) {}

    /// Where the heads are believed to be.
    fn head(&self) -> ArmPosition;

    /// How many cylinders (cylinders) the arm moves over.
    fn cylinders(&self) -> u32;

    /// Where a block lies.
    fn locate(&self, at: Pba) -> Place;

    /// The cylinder of the drive's tracks that these heads stand on; for oracles that count cylinders in another way.
    fn track_cylinder(&self, _tracks: &Tracks, head: ArmPosition) -> u32 {
        head.cylinder
    }

    /// The least time that moving over `distance` cylinders can take: never more than any `positioning_time` over that
    /// distance, and never less for a longer one. Searches prune by it.
    fn seek_at_least(&self, distance: u32) -> Duration;

    /// Time from `now` until the first block of `place` is under the heads, from where they stand; with what the
    /// drive does before it moves them.
    fn positioning_time(&self, now: Instant, op: Op, place: &Place) -> Duration;

    /// The part of `positioning_time` that is movement of the arm: at least the `seek_at_least` over that distance. What is left
    /// is waiting for the place to come round, less than a revolution where something turns. Where
    /// [`Oracle::angle_on_arrival`] knows tracks, all surfaces of a cylinder but that of the heads are equally far.
    fn seek_time(&self, _now: Instant, _op: Op, to: ArmPosition) -> Duration {
        self.seek_at_least(self.head().cylinder.abs_diff(to.cylinder))
    }

    /// Of those that wait, the one that `positioning_time` puts first, and of equals the oldest. Part of the contract so that
    /// an oracle's own prices are inlined into the search; the answer may not differ from trying all.
    fn nearest(&self, now: Instant, waiting: &Sorted<Candidate>) -> Option<Choice>;

    /// Whether a write that is predicted leaves the heads where it went, and ends no earlier than `positioning_time` says that it
    /// begins. Not so where writes are buffered, or positions guessed; then bounds on the way say nothing of what follows.
    fn ends_where_it_writes(&self) -> bool {
        true
    }

    /// What an access by the heads from where they stand would come to, if it began at `now`.
    fn predict(&self, now: Instant, op: Op, at: Pba, len: Blocks) -> Predicted;

    /// The same as `positioning_time`, after another access: from its end until the first block of `place` is under the heads.
    fn positioning_time_after(&self, access: &Predicted, op: Op, place: &Place) -> Duration;

    /// The same as `seek_at_least`, after another access: never more than any `positioning_time_after` over that distance or a longer one.
    fn seek_at_least_after(&self, distance: u32) -> Duration;

    /// What passes under the heads when a write that begins at `now` has brought them to a track, or within 16 nanoseconds before;
    /// as if the platters were `late` nanoseconds behind. None if nothing turns, or cylinders are not those of the drive's tracks.
    fn angle_on_arrival(&self, _now: Instant, _late: i64, _to: ArmPosition) -> Option<Arrival> {
        None
    }

    /// Of the free slots that `search` allows, the one whose write begins first, and of equals the lowest. Part of the
    /// contract so that an oracle can search by track; the answer may not differ from trying all.
    fn nearest_free(&self, search: &Search, free: &FreeMap) -> Option<FreePlace>;

    /// The stack sent this command.
    fn started(&mut self, now: Instant, command: &Command);

    /// The stack saw this completion.
    fn observed(&mut self, _now: Instant, _done: &DriveDone) {}
}

/// A model of a drive, in virtual time. It works on one command at a time; who queues is above it.
pub trait Drive: Send {
    /// Begin a command. The drive must be idle.
    fn submit(&mut self, now: Instant, command: &Command);

    /// So many commands run or wait for this drive, the one under way counted, just before that ends: told before every
    /// `advance` that may end one. For drives that serve several at a time, which as models have to share their time.
    fn outstanding(&mut self, _commands: u64) {}

    /// When it next needs attention.
    fn next_event(&self) -> Option<Instant>;

    /// Let time pass. Gives the completion of the command if that is due; called again until it gives none.
    fn advance(&mut self, now: Instant) -> Option<DriveDone>;

    /// Commands so far that were longer than any the model has times of; for models that are made of measured times.
    fn extrapolated(&self) -> &[Extrapolated] {
        &[]
    }
}

/// What is known of a drive before it runs: its parameters, checked. Makes any number of equal drives, and
/// oracles that know the truth about them.
pub trait Blueprint: Send + Sync {
    /// Addressable blocks.
    fn capacity(&self) -> Blocks;

    /// A fresh drive, heads at rest.
    fn drive(&self) -> Box<dyn Drive>;

    /// The same, with the random stream `stream` of `seed`, for drives whose service times are drawn.
    fn seeded(&self, _seed: u64, _stream: &str) -> Box<dyn Drive> {
        self.drive()
    }

    /// An oracle with the drive's true parameters.
    fn exact(&self) -> Box<dyn Oracle>;

    /// The same drive, its platters turned by this at the beginning: spindles of an array do not turn as one.
    fn turned(&self, by: Angle) -> Box<dyn Blueprint>;

    /// The same drive, its heads on the track of this block at the beginning.
    fn resting(&self, at: Pba) -> Box<dyn Blueprint>;

    /// Time of one revolution; `None` if nothing turns.
    fn revolution(&self) -> Option<Duration>;

    /// How many slots of so many blocks there are at most, said at once.
    fn room(&self, slot: Blocks) -> Room;

    /// Where slots of so many blocks lie.
    ///
    /// # Errors
    /// No track has room for one, or there are too many to number.
    fn tracks(&self, slot: Blocks) -> Result<Tracks, Uncountable>;
}
