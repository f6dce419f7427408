//! What the suites share: a small disk, and a rig that runs one scheduler over one drive and
//! watches it.

pub(crate) mod below;
pub(crate) mod free;

use std::collections::BTreeMap;
use std::sync::Arc;

use nearslot_core::config::PartConfig;
use nearslot_core::contract::{Blueprint, Drive, Next, Oracle, Scheduler, View};
use nearslot_core::drive;
use nearslot_core::freemap::{FreeMap, Slot};
use nearslot_core::ids::{IoId, StreamId};
use nearslot_core::io::{Command, DriveDone, Io};
use nearslot_core::offer::{Offers, Seen};
use nearslot_core::op::Op;
use nearslot_core::position::Search;
use nearslot_core::registry::{DriveEnv, Names};
use nearslot_core::rng::Rng;
use nearslot_core::stream::Streams;
use nearslot_core::units::{Blocks, Duration, Instant, Pba};

/// 6,000 turns a minute, so a turn is 10 ms; 12,800 blocks in 160 cylinders of 4 tracks. Small, so
/// that random requests meet on cylinders, tracks and blocks.
pub(crate) const DISK: &str = "
    kind = 'hdd'
    rpm = 6000
    heads = 4
    cylinders = 160
    head_switch_ms = 0.8
    write_settle_ms = 0.4
    sparing = { at = 'zone-end' }
    seek_ms = [[1, 1.0], [10, 1.8], [40, 3.0], [80, 4.5], [159, 7.0]]
    [[zones]]
    cylinders = [0, 159]
    sectors_per_track = 20
    track_skew_sectors = 3
    cylinder_skew_sectors = 4
";

/// What messages call a placement that is built for a test, and its drive.
pub(crate) const NAMES: Names<'static> = Names {
    place: "placement",
    drive: "disk",
};

/// The same disk with a buffer, so that it reads ahead and writes behind by itself.
pub(crate) fn complete_disk() -> String {
    with_buffer(DISK)
}

/// The same disk with several writes in its buffer at once: a read finds the arm elsewhere than a
/// write.
pub(crate) fn hoarding_disk() -> String {
    let several = "write_segments_max = 3\n    accept_while_writing = true";
    complete_disk().replacen("write_segments_max = 1", several, 1)
}

/// The same disk with segments for writes only, of which the nearest is written first.
pub(crate) fn sorting_disk() -> String {
    let own = "write_segments_max = 6\n    write_segment_blocks = 24\n    \
               write_back = 'nearest'\n    accept_while_writing = true\n    \
               hits_while_writing = true";
    complete_disk().replacen("write_segments_max = 1", own, 1)
}

/// The same disk without write-behind, and with a bus over which data come late.
pub(crate) fn late_disk() -> String {
    let late = "data_preparation_ms = 0.2
    write_seek_min_ms = 0.6
    [overheads.extra_disconnect]
    command_ms = 0.3
    pause_ms = 0.9
    [bus]
    write_ms_per_block = 0.4
    [[zones]]";
    let disk = complete_disk().replacen("write_behind = 'any'", "write_behind = 'none'", 1);
    disk.replacen("[[zones]]", late, 1)
}

/// A disk with a buffer.
pub(crate) fn with_buffer(disk: &str) -> String {
    let buffer = "
    [buffer]
    segments = 3
    segment_blocks = 64
    write_segments_max = 1
    read_ahead = 'blocks'
    read_ahead_min_blocks = 2
    read_ahead_max_blocks = 40
    write_behind = 'any'
    [overheads]
    read_miss_after_read_ms = 0.21
    read_miss_after_write_ms = 0.32
    write_after_read_ms = 0.43
    write_after_write_ms = 0.54
    [[zones]]";
    disk.replacen("[[zones]]", buffer, 1)
}

/// A drive where every place is as good as every other.
pub(crate) const NULL: &str = "kind = 'null'\ncapacity_blocks = 12_800\nservice_us = 5000.0";

/// A drive from the text of its file.
pub(crate) fn blueprint(text: &str) -> Box<dyn Blueprint> {
    let (blueprint, _) = drive::read("of the test", text, &[]).expect("the test's drive is valid");
    blueprint
}

/// Lets a drive that has no command carry out one, from `now` until it ends.
pub(crate) fn carry_out(drive: &mut dyn Drive, now: &mut Instant, command: &Command) -> DriveDone {
    // What it does by itself meanwhile.
    while let Some(due) = drive.next_event().filter(|due| due <= now) {
        let done = drive.advance(due);
        assert!(done.is_none(), "an idle drive completed {done:?}");
    }
    drive.submit(*now, command);
    loop {
        *now = drive.next_event().expect("the drive works");
        if let Some(done) = drive.advance(*now) {
            return done;
        }
    }
}

/// A scheduler from the word that names it.
pub(crate) fn scheduler(word: &str, blueprint: &dyn Blueprint) -> Box<dyn Scheduler> {
    let part: PartConfig = word.parse().expect("a part's name");
    part.build(&env(blueprint)).expect("the test names a part")
}

/// An oracle from the word that names it.
pub(crate) fn oracle(word: &str, blueprint: &dyn Blueprint) -> Box<dyn Oracle> {
    let part: PartConfig = word.parse().expect("a part's name");
    part.build(&env(blueprint)).expect("the test names a part")
}

fn env(blueprint: &dyn Blueprint) -> DriveEnv<'_> {
    DriveEnv {
        seed: 7,
        label: "test/0",
        blueprint,
    }
}

/// What a test asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) op: Op,
    pub(crate) at: u64,
    pub(crate) len: u64,
    pub(crate) priority: u16,
}

/// Bare movements of the arm that may follow each other: C-SCAN's way to the end and back.
const SEEKS_MAX: usize = 2;

/// One scheduler over one drive, one command at a time. Panics at whatever no scheduler may do.
pub(crate) struct Rig {
    scheduler: Box<dyn Scheduler>,
    oracle: Box<dyn Oracle>,
    drive: Box<dyn Drive>,
    capacity: Blocks,
    pub(crate) now: Instant,
    /// Where open I/Os may land: half of the drive's slots.
    slots: FreeMap,
    /// Slots that are taken, to be freed again one for one.
    taken: Vec<Slot>,
    rng: Rng,
    waiting: BTreeMap<IoId, Io>,
    sequence: u64,
    /// Names of completed I/Os, to be used again.
    free: Vec<IoId>,
    /// Sequence numbers in the order of service.
    pub(crate) served: Vec<u64>,
}

impl Rig {
    pub(crate) fn new(
        scheduler: Box<dyn Scheduler>,
        oracle: Box<dyn Oracle>,
        blueprint: &dyn Blueprint,
    ) -> Rig {
        let tracks = blueprint.tracks(Blocks(8)).expect("it has slots");
        let mut slots = FreeMap::empty(Arc::new(tracks));
        let taken: Vec<Slot> = slots.iter().step_by(2).collect();
        taken.iter().for_each(|slot| slots.take(*slot));
        Rig {
            scheduler,
            oracle,
            drive: blueprint.drive(),
            capacity: blueprint.capacity(),
            slots,
            taken,
            rng: Rng::stream(1, "rig"),
            now: Instant::ZERO,
            waiting: BTreeMap::new(),
            sequence: 0,
            free: Vec::new(),
            served: Vec::new(),
        }
    }

    /// A request arrives; the scheduler hears of it `late`.
    pub(crate) fn insert(&mut self, ask: Ask, late: Duration) -> u64 {
        self.admit(ask, false, late)
    }

    /// A write arrives that may go to any free slot, near the block that is asked for if the
    /// scheduler goes by address.
    pub(crate) fn insert_open(&mut self, at: u64, late: Duration) -> u64 {
        let ask = Ask {
            op: Op::Write,
            at,
            len: 8,
            priority: 0,
        };
        self.admit(ask, true, late)
    }

    fn admit(&mut self, ask: Ask, open: bool, late: Duration) -> u64 {
        let id = self.free.pop();
        let id = id.unwrap_or(IoId(self.waiting.len() as u32));
        let io = Io {
            id,
            sequence: self.sequence,
            stream: StreamId(0),
            op: ask.op,
            at: Pba(ask.at),
            open,
            offer: None,
            len: Blocks(ask.len),
            arrived: self.now,
            priority: ask.priority,
            place: self.oracle.locate(Pba(ask.at)),
            fua: false,
            sync: ask.op == Op::Read,
        };
        self.sequence += 1;
        self.now += late;
        assert!(self.waiting.insert(id, io).is_none(), "a name given twice");
        self.scheduler.insert(self.now, &io, &Streams::default());
        self.check();
        io.sequence
    }

    /// Lets the scheduler choose, `late`, and the drive work until an I/O is done. Gives its
    /// sequence number.
    pub(crate) fn serve(&mut self, late: Duration) -> Option<u64> {
        let mut seeks = 0;
        loop {
            self.now += late;
            self.oracle.advance(self.now);
            let view = View {
                now: self.now,
                oracle: &*self.oracle,
                capacity: self.capacity,
                free: Some(&self.slots),
                offers: Seen {
                    offers: &Offers::default(),
                    writable: None,
                },
                in_flight: 0,
                depth: 1,
            };
            match self.scheduler.next(&view) {
                Next::Start(id) if self.waiting.get(&id).is_some_and(|io| io.open) => {
                    let free_place = view.nearest_free(&Search::anywhere(self.now));
                    return Some(self.place(id, free_place.expect("half are free").slot));
                }
                Next::Start(id) => return Some(self.start(id)),
                Next::Land(..) => panic!("no range write waits"),
                Next::Place(id, slot) => return Some(self.place(id, slot)),
                Next::Seek(at) => {
                    seeks += 1;
                    assert!(seeks <= SEEKS_MAX, "the arm swings to no end");
                    assert!(at.0 < self.capacity.0, "the arm goes beyond the drive");
                    assert!(!self.waiting.is_empty(), "the arm moves for nobody");
                    self.run(Command::ARM, Op::Seek, at, Blocks(0));
                }
                Next::WaitUntil(instant) => {
                    assert!(instant > self.now, "waits for what is past");
                    self.now = instant;
                }
                Next::Empty => {
                    assert!(self.waiting.is_empty(), "idle while something waits");
                    return None;
                }
            }
            self.check();
        }
    }

    /// Another drive has begun an I/O that waits at an address: it is taken back.
    pub(crate) fn withdraw(&mut self) -> Option<u64> {
        let fixed = self.waiting.values().filter(|io| !io.open);
        let io = *fixed.min_by_key(|io| io.sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15))?;
        self.scheduler.withdraw(self.now, &io);
        self.waiting.remove(&io.id);
        self.free.push(io.id);
        self.check();
        Some(io.sequence)
    }

    /// An open I/O starts in a slot; another slot becomes free for it.
    fn place(&mut self, id: IoId, slot: Slot) -> u64 {
        self.slots.take(slot);
        let index = self.rng.below(self.taken.len() as u64) as usize;
        let freed = std::mem::replace(&mut self.taken[index], slot);
        let io = self
            .waiting
            .get_mut(&id)
            .expect("it starts what does not wait");
        assert!(io.open, "{:?} has an address", io.id);
        io.at = self.slots.tracks().at(slot);
        let sequence = self.start(id);
        self.slots.release(freed);
        sequence
    }

    fn start(&mut self, id: IoId) -> u64 {
        let io = self
            .waiting
            .remove(&id)
            .expect("it starts what does not wait");
        self.check();
        let done = self.run(id, io.op, io.at, io.len);
        self.scheduler
            .done(self.now, &io, &done, &Streams::default());
        self.free.push(id);
        self.served.push(io.sequence);
        self.check();
        io.sequence
    }

    fn run(&mut self, io: IoId, op: Op, at: Pba, len: Blocks) -> DriveDone {
        let command = Command {
            io,
            op,
            at,
            len,
            fua: false,
        };
        self.oracle.started(self.now, &command);
        let done = carry_out(&mut *self.drive, &mut self.now, &command);
        self.oracle.observed(self.now, &done);
        done
    }

    fn check(&self) {
        self.scheduler.audit();
        assert_eq!(self.scheduler.len(), self.waiting.len(), "an I/O got lost");
        assert_eq!(self.scheduler.is_empty(), self.waiting.is_empty());
    }
}

/// A number above 0 from the environment.
pub(crate) fn number(variable: &str, default: u64) -> u64 {
    let Ok(text) = std::env::var(variable) else {
        return default;
    };
    let value = text.parse().ok().filter(|value| *value > 0);
    value.unwrap_or_else(|| panic!("{variable}={text} is no number above 0"))
}
