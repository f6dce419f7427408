//! Wrong blocks, from the drives that bring them to whoever asked for them.
//!
//! What a drive brings is not what is served. A wrong block that was read into memory is answered
//! to every read that finds it there, until it is written or leaves; one that was brought
//! beforehand and that nobody asks for is answered to nobody. So blocks are followed: a drive says
//! which ones of a read are wrong, and the stack which of the volume's blocks that read brings,
//! what is computed of it, and how memory passes it on.
//!
//! What is read in order to be written elsewhere, for a part of a chunk or a parity that a write
//! changes, a copy, or a repair, nobody was given: it is counted apart, as it is brought. It is
//! wrong where it is written, and no drive knows: that a block of the volume is wrong since it was
//! computed from such is not followed, so what is counted as served is the least. O(log n) in the
//! blocks that are wrong, and memory for these and for the commands under way.

use std::collections::{BTreeMap, BTreeSet};

use nearslot_core::contract::Faults;
use nearslot_core::ids::{DriveId, IoId, RequestId};
use nearslot_core::io::{Command, DriveDone, Moves, Origin, StepNumber};
use nearslot_core::measure::Measure;
use nearslot_core::memory::Move;
use nearslot_core::op::Op;
use nearslot_core::registry::Kind;
use nearslot_core::request::Reply;
use nearslot_core::stack::Action;
use nearslot_core::units::{Blocks, Extent, Pba};

use crate::outcome::{Measures, Number};

/// Its measures stand beside those of the drives' faults.
pub(crate) const KEY: &str = <dyn Faults as Kind>::CARD.key;

/// What is counted.
pub(crate) static MEASURES: &[Measure] = &[
    Measure::count(
        "wrong_blocks_served",
        "blocks",
        "wrong blocks that were answered to reads of clients, from a drive or from memory, each as often as that happened; what was \
         computed from wrong blocks and written, as a parity, counts as right",
    )
    .of_run(),
    Measure::count(
        "wrong_blocks_passed_on",
        "blocks",
        "wrong blocks that no client was given, read in order to be written elsewhere: for a parity, a copy, a part of a chunk or a repair",
    )
    .of_run(),
];

/// What a request has got so far that is wrong.
#[derive(Default)]
struct Got {
    /// Blocks of the volume.
    blocks: BTreeSet<u64>,
    /// Blocks that drives brought for it, whatever they are.
    brought: u64,
    /// Whether it is a job that writes.
    writes: bool,
}

/// A read, or a part of one, that a drive carries out.
type Part = (Command, Origin);

/// Follows wrong blocks.
#[derive(Default)]
pub(crate) struct Served {
    /// By drive and command, reads under way.
    running: BTreeMap<(DriveId, IoId), Vec<Part>>,
    /// By drive, what joins the command that it begins next.
    joining: BTreeMap<DriveId, Vec<Part>>,
    /// Of steps, by block, what goes into a parity; with the request.
    steps: BTreeMap<StepNumber, (RequestId, BTreeSet<u64>)>,
    asked: BTreeMap<RequestId, Got>,
    /// Blocks of the volume that are in memory.
    memory: BTreeSet<u64>,
    served: u64,
    passed_on: u64,
}

/// These blocks of some.
fn of(blocks: &BTreeSet<u64>, extent: &Extent) -> Vec<u64> {
    let range = extent.start.0..extent.end().0;
    blocks.range(range).copied().collect()
}

/// None of these is wrong, but for those.
fn replace(blocks: &mut BTreeSet<u64>, extent: &Extent, wrong: Vec<u64>) {
    for block in of(blocks, extent) {
        blocks.remove(&block);
    }
    blocks.extend(wrong);
}

impl Served {
    /// A drive begins a command.
    pub(crate) fn started(&mut self, drive: DriveId, command: &Command, origin: &Origin) {
        let mut parts = self.joining.remove(&drive).unwrap_or_default();
        if origin.moves != Moves::Parts {
            parts.push((*command, *origin));
        }
        if command.op == Op::Read {
            self.running.insert((drive, command.io), parts);
        }
    }

    /// A drive has ended a command; these blocks of it are wrong.
    pub(crate) fn brought(&mut self, drive: DriveId, done: &DriveDone, wrong: &[Pba]) {
        if done.op != Op::Read {
            return;
        }
        let parts = self.running.remove(&(drive, done.io)).unwrap_or_default();
        if !done.status.is_done() {
            return;
        }
        for (command, origin) in &parts {
            let all = command.at..command.at + command.len;
            let wrong = wrong.iter().filter(|block| all.contains(block));
            let wrong = wrong.map(|block| block.0 - command.at.0).collect();
            self.part_brought((origin, command.len), wrong);
        }
    }

    /// A part of a command has brought so many blocks, of which these are wrong, counted from its
    /// first.
    fn part_brought(&mut self, (origin, len): (&Origin, Blocks), wrong: BTreeSet<u64>) {
        let count = wrong.len() as u64;
        let Some(request) = origin.request else {
            self.passed_on += count;
            return;
        };
        self.got(request, (origin, len), &wrong);
        if count > 0 {
            self.asked.entry(request).or_default().brought += count;
            self.steps.insert(origin.step, (request, wrong));
        }
    }

    /// A request has got what a step brings, or is computed to be.
    fn got(&mut self, request: RequestId, (origin, len): (&Origin, Blocks), wrong: &BTreeSet<u64>) {
        let Some(data) = origin.data() else {
            return;
        };
        if wrong.is_empty() && !self.asked.contains_key(&request) {
            return;
        }
        let blocks = &mut self.asked.entry(request).or_default().blocks;
        for index in 0..len.0 {
            let block = data.block(index).0;
            match wrong.contains(&index) {
                true => blocks.insert(block),
                false => blocks.remove(&block),
            };
        }
    }

    /// What moves apart from what drives bring.
    pub(crate) fn moved(&mut self, action: &Action) {
        match action {
            Action::Join {
                drive,
                command,
                origin,
            } => {
                let joining = self.joining.entry(*drive).or_default();
                joining.push((*command, *origin));
            }
            Action::Fold { into, of, at } => {
                if let Some((request, wrong)) = self.steps.get(of) {
                    let wrong: Vec<u64> = wrong.iter().map(|index| index + at.0).collect();
                    let none = (*request, BTreeSet::new());
                    let parity = self.steps.entry(*into).or_insert(none);
                    parity.1.extend(wrong);
                }
            }
            Action::Compute { origin, .. } => {
                if let (Some(request), Some((_, wrong))) =
                    (origin.request, self.steps.get(&origin.step))
                {
                    let wrong = wrong.clone();
                    let len = wrong.last().map_or(0, |last| last + 1);
                    self.got(request, (origin, Blocks(len)), &wrong);
                }
            }
            Action::Move(one) => self.passed(one),
            Action::Offer { .. }
            | Action::Start { .. }
            | Action::Recall { .. }
            | Action::Reply(_) => {}
        }
    }

    /// What moves between memory, its jobs and clients.
    fn passed(&mut self, one: &Move) {
        match one {
            Move::Begin(job) => {
                let got = Got {
                    writes: job.op == Op::Write,
                    ..Got::default()
                };
                self.asked.insert(job.id, got);
            }
            Move::Keep { of: from, extent } => {
                let wrong = self.wrong_of(*from, extent);
                replace(&mut self.memory, extent, wrong);
            }
            Move::Serve { to, extent } => {
                let wrong = of(&self.memory, extent);
                self.gets(*to, extent, wrong);
            }
            Move::Give {
                of: from,
                to,
                extent,
            } => {
                let wrong = self.wrong_of(*from, extent);
                self.gets(*to, extent, wrong);
            }
            Move::Lend { to, extent } => self.gets(*to, extent, Vec::new()),
            Move::Drop(extent) => replace(&mut self.memory, extent, Vec::new()),
            Move::End(job) => {
                let got = self.end(*job);
                self.passed_on += if got.writes { got.brought } else { 0 };
            }
            Move::Buffer { .. } | Move::Clean(_) => {}
        }
    }

    fn wrong_of(&self, request: RequestId, extent: &Extent) -> Vec<u64> {
        let got = self.asked.get(&request);
        got.map_or_else(Vec::new, |got| of(&got.blocks, extent))
    }

    /// A client's read gets these blocks, of which some are wrong.
    fn gets(&mut self, read: RequestId, extent: &Extent, wrong: Vec<u64>) {
        if !wrong.is_empty() || self.asked.contains_key(&read) {
            let blocks = &mut self.asked.entry(read).or_default().blocks;
            replace(blocks, extent, wrong);
        }
    }

    fn end(&mut self, request: RequestId) -> Got {
        let got = self.asked.remove(&request).unwrap_or_default();
        if got.brought > 0 {
            self.steps.retain(|_, (owner, _)| *owner != request);
        }
        got
    }

    /// A client's request was answered.
    pub(crate) fn replied(&mut self, reply: &Reply) {
        let request = &reply.request;
        let got = self.end(request.id);
        match request.op {
            Op::Read if reply.status.is_done() => {
                self.served += of(&got.blocks, &request.extent).len() as u64;
            }
            Op::Read => {}
            _ => self.passed_on += got.brought,
        }
    }

    /// Adds what it has counted to the measures of a run.
    pub(crate) fn tell(&self, measures: &mut Measures) {
        let of_faults = measures.entry(KEY.to_owned()).or_default();
        for (measure, count) in MEASURES.iter().zip([self.served, self.passed_on]) {
            of_faults.insert(measure.name.to_owned(), Number::Count(count));
        }
    }
}

#[cfg(test)]
mod tests {
    use nearslot_core::io::Data;
    use nearslot_core::op::{Cost, Failure, Status};
    use nearslot_core::request::{Request, Timeline};
    use nearslot_core::units::{Instant, Lba};

    use super::*;

    const DRIVE: DriveId = DriveId(0);
    const JOB: RequestId = RequestId::job(0, 1);

    fn extent(first: u64, end: u64) -> Extent {
        Extent {
            start: Lba(first),
            len: Blocks(end - first),
        }
    }

    /// A read by step `step` of blocks of the volume that lie at the same place on the drive, of
    /// which some are wrong.
    fn reads(
        served: &mut Served,
        (request, step): (Option<RequestId>, u64),
        (first, end): (u64, u64),
        wrong: &[u64],
    ) {
        let command = Command {
            io: IoId(0),
            op: Op::Read,
            at: Pba(first),
            len: Blocks(end - first),
            fua: false,
        };
        let origin = Origin {
            request,
            step: StepNumber::new(step),
            open: false,
            moves: Moves::Volume(Data::from(Lba(first))),
            carries: None,
        };
        served.started(DRIVE, &command, &origin);
        let wrong: Vec<Pba> = wrong.iter().copied().map(Pba).collect();
        let done = command.ends(Status::Done, Cost::default());
        served.brought(DRIVE, &done, &wrong);
    }

    fn answered(served: &mut Served, id: u64, op: Op, (first, end): (u64, u64), status: Status) {
        let request = Request::new(id, op, first, end - first, Instant::ZERO);
        let timeline = Timeline {
            arrived: Instant::ZERO,
            started: Instant::ZERO,
            replied: Instant::ZERO,
            cost: Cost::default(),
        };
        served.replied(&Reply {
            request,
            status,
            timeline,
        });
    }

    fn moves(served: &mut Served, one: Move) {
        served.moved(&Action::Move(one));
    }

    /// A read gets blocks from memory, and nothing else.
    fn hit(served: &mut Served, id: u64, (first, end): (u64, u64)) {
        let to = RequestId(id);
        let extent = extent(first, end);
        moves(served, Move::Serve { to, extent });
        answered(served, id, Op::Read, (first, end), Status::Done);
    }

    #[test]
    fn memory_serves_what_is_wrong_until_it_is_written_or_leaves() {
        let mut served = Served::default();
        moves(
            &mut served,
            Move::Begin(Request::new(JOB.0, Op::Read, 0, 16, Instant::ZERO)),
        );
        reads(&mut served, (Some(JOB), 1), (0, 16), &[3, 9, 12]);
        let (of, to) = (JOB, RequestId(1));
        moves(
            &mut served,
            Move::Keep {
                of,
                extent: extent(0, 16),
            },
        );
        // It asked for less than was brought.
        let asked = extent(0, 8);
        moves(
            &mut served,
            Move::Give {
                of,
                to,
                extent: asked,
            },
        );
        moves(&mut served, Move::End(JOB));
        answered(&mut served, 1, Op::Read, (0, 8), Status::Done);
        assert_eq!(served.served, 1);
        hit(&mut served, 2, (8, 16));
        assert_eq!(served.served, 3);
        let write = Move::Keep {
            of: RequestId(3),
            extent: extent(9, 10),
        };
        moves(&mut served, write);
        hit(&mut served, 4, (0, 16));
        assert_eq!(served.served, 5);
        moves(&mut served, Move::Drop(extent(8, 16)));
        hit(&mut served, 5, (8, 16));
        assert_eq!(served.served, 5);
        assert!(served.asked.is_empty() && served.steps.is_empty() && served.running.is_empty());
    }

    #[test]
    fn what_is_wrong_is_served_by_answers_alone_and_passed_on_by_writes_and_copies() {
        let mut served = Served::default();
        reads(&mut served, (Some(RequestId(1)), 1), (0, 8), &[3]);
        let failed = Status::Failed(Failure::Medium);
        answered(&mut served, 1, Op::Read, (0, 8), failed);
        assert_eq!(served.served, 0, "a read that fails is answered nothing");
        // The same block again, this time well.
        reads(&mut served, (Some(RequestId(2)), 2), (0, 8), &[3]);
        reads(&mut served, (Some(RequestId(2)), 3), (0, 8), &[]);
        answered(&mut served, 2, Op::Read, (0, 8), Status::Done);
        assert_eq!(served.served, 0);
        reads(&mut served, (Some(RequestId(3)), 4), (0, 8), &[3]);
        answered(&mut served, 3, Op::Write, (0, 2), Status::Done);
        assert_eq!(
            served.passed_on, 1,
            "the rest of a chunk is written elsewhere"
        );
        reads(&mut served, (None, 5), (0, 8), &[3, 4]);
        assert_eq!(served.passed_on, 3, "a copy");
        let job = Request::new(JOB.0, Op::Write, 0, 8, Instant::ZERO);
        moves(&mut served, Move::Begin(job));
        reads(&mut served, (Some(JOB), 6), (0, 8), &[7]);
        moves(&mut served, Move::End(JOB));
        assert_eq!(served.passed_on, 4, "a buffer writes a part of a chunk");
        assert_eq!(served.served, 0, "nobody was given any of them");
    }

    #[test]
    fn what_is_computed_from_wrong_blocks_is_wrong() {
        let mut served = Served::default();
        let read = RequestId(1);
        // Two others of the row, of which nobody asked for anything.
        reads(&mut served, (Some(read), 1), (100, 104), &[101]);
        reads(&mut served, (Some(read), 2), (200, 204), &[201, 203]);
        let into = StepNumber::new(3);
        for step in [1, 2] {
            let (of, at) = (StepNumber::new(step), Blocks(0));
            served.moved(&Action::Fold { into, of, at });
        }
        let origin = Origin {
            request: Some(read),
            step: into,
            open: false,
            moves: Moves::Volume(Data::from(Lba(0))),
            carries: None,
        };
        let written = None;
        served.moved(&Action::Compute { origin, written });
        answered(&mut served, 1, Op::Read, (0, 4), Status::Done);
        assert_eq!(served.served, 2);
        assert!(served.steps.is_empty());
    }
}
