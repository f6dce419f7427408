//! The write buffer by itself, with times written out, over a stack that is answered by hand.

#![cfg(test)]

use super::*;
use crate::contract::Destage;
use crate::destage;
use crate::maplog::BufferTable;
use crate::maplog::buffered::{Index, Kept, Whose};
use crate::op::Failure;
use crate::pages::{Marks, PAGE};
use crate::registry::{Kind, Spec};

const MEDIUM: Status = Status::Failed(Failure::Medium);

/// The volume below.
const WHOSE: Whose = Whose {
    volume: 3,
    blocks: 8_000,
    page: PAGE,
};

fn named<K: Kind + ?Sized>(
    table: &[&'static Spec<K>],
    name: &str,
    env: &K::Env<'_>,
    knobs: &[(String, crate::registry::KnobValue)],
) -> Box<K> {
    let spec = table.iter().find(|spec| spec.name == name);
    let spec = spec.expect("it is in the table");
    let knobs = spec.card().check(knobs);
    let built = (spec.build)(&knobs.expect("they are allowed"), env);
    built.unwrap_or_else(|_| panic!("{name} is built"))
}

/// A memory with a write buffer, and what is below it.
struct Bench {
    memory: Memory,
    requests: u64,
    now: Instant,
    /// What was submitted below and is not answered.
    below: Vec<Request>,
    moves: Vec<Move>,
    /// Requests that were answered, when, and how.
    replies: Vec<(u64, u64, Status)>,
}

impl Bench {
    /// No cache, so many pages of room, units of so many pages.
    fn new(policy: &str, pages: u64, unit: u64, marks: Marks) -> Bench {
        let left = (BufferTable::new(&WHOSE, pages), Vec::new());
        Bench::left(policy, (pages, unit), marks, left)
    }

    /// The same with what a power cut has left.
    fn left(
        policy: &str,
        (pages, unit): (u64, u64),
        marks: Marks,
        (table, found): (BufferTable, Vec<(Index, Kept)>),
    ) -> Bench {
        let volumes = Volumes::new(1, Blocks(WHOSE.blocks));
        let env_of_buffer = crate::registry::DestageEnv { pages, unit };
        let memory = Memory::new(Parts {
            cache: None,
            buffer: Some(BufferParts {
                destage: named::<dyn Destage>(destage::TABLE, policy, &env_of_buffer, &[]),
                pages,
                unit,
                volumes,
                write_time: Duration::from_us(180),
                read_time: Duration::from_us(10),
                marks,
                retries: 1,
                table,
                found,
            }),
        });
        Bench {
            memory,
            requests: 0,
            now: Instant::ZERO,
            below: Vec::new(),
            moves: Vec::new(),
            replies: Vec::new(),
        }
    }

    fn carry(&mut self) {
        while let Some(order) = self.memory.next_order() {
            match order {
                Order::Submit(request) => self.below.push(request),
                Order::Move(one) => self.moves.push(one),
                Order::Reply(reply) => {
                    let at = reply.timeline.replied.0 / 1_000;
                    self.replies.push((reply.request.id.0, at, reply.status));
                }
            }
        }
        self.memory.audit();
    }

    fn ask(&mut self, op: Op, start: u64, len: u64) -> u64 {
        self.requests += 1;
        let request = Request::new(self.requests, op, start, len, self.now);
        self.memory.arrive(self.now, &request);
        self.carry();
        self.requests
    }

    /// A whole page is written.
    fn write(&mut self, page: u64) -> u64 {
        self.ask(Op::Write, page * PAGE, PAGE)
    }

    /// Time passes until then, in microseconds.
    fn until(&mut self, us: u64) {
        self.now = Instant::ZERO + Duration::from_us(us);
        while let Some(due) = self.memory.next_timer().filter(|due| *due <= self.now) {
            self.memory.timer(due);
            self.carry();
        }
    }

    /// The first of what is below is answered. What it was.
    fn end(&mut self, status: Status) -> Request {
        let request = self.below.remove(0);
        let timeline = Timeline {
            arrived: request.arrived,
            started: self.now,
            replied: self.now,
            cost: Cost::default(),
        };
        let reply = Reply {
            request,
            status,
            timeline,
        };
        self.memory.ended(self.now, &reply);
        self.carry();
        request
    }

    /// Units of one page that are on their way.
    fn below_at(&self) -> Vec<u64> {
        let pages = self.below.iter().map(|one| one.extent.start.0 / PAGE);
        pages.collect()
    }

    fn told(&self, name: &str) -> u64 {
        let mut found = None;
        self.memory.tell(&mut |_, measure, number| {
            if measure.name == name {
                found = Some(number);
            }
        });
        found.expect("it is counted")
    }
}

const MARKS: Marks = Marks {
    low: 80,
    high: 90,
    units: 20,
    full_units: 0,
};
/// Everything goes at once, one at a time.
const AT_ONCE: Marks = Marks {
    low: 0,
    high: 1,
    units: 1,
    full_units: 0,
};

#[test]
fn a_write_is_answered_when_it_is_in_the_buffer_and_read_from_there() {
    let mut bench = Bench::new("lrw", 100, 1, MARKS);
    let write = bench.write(3);
    assert!(bench.replies.is_empty());
    bench.until(1_000);
    assert_eq!(bench.replies, [(write, 180, Status::Done)]);
    let read = bench.ask(Op::Read, 25, 4);
    bench.until(2_000);
    assert_eq!(bench.replies[1], (read, 1_010, Status::Done));
    let lent = Move::Lend {
        to: RequestId(read),
        extent: between(25, 29),
    };
    assert_eq!(bench.moves.last(), Some(&lent));
    let flush = bench.ask(Op::Flush, 0, 0);
    assert_eq!(bench.replies[2], (flush, 2_000, Status::Done));
    assert!(bench.below.is_empty(), "no drive was asked");
    // What the buffer has nothing of goes by as it is.
    let read = bench.ask(Op::Read, 0, 8);
    assert_eq!(bench.below[0].id, RequestId(read));
}

/// The low mark is 80 of 100 pages, the high one 90: two more go with each page in between.
#[test]
fn units_go_as_the_marks_say() {
    let allowed = [0, 80, 81, 85, 89, 90, 100].map(|taken| MARKS.allow(taken, 100));
    assert_eq!(allowed, [0, 0, 2, 10, 18, 20, 20]);
    let odd = Marks {
        low: 0,
        high: 100,
        ..MARKS
    };
    assert_eq!([0, 1, 2].map(|taken| odd.allow(taken, 30)), [0, 1, 2]);
    let mut bench = Bench::new("lrw", 100, 1, MARKS);
    let mut below = Vec::new();
    for page in 0..95 {
        bench.write(page);
        below.push(bench.below.len());
    }
    assert_eq!(
        below[79..92],
        [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 20, 20]
    );
    assert!(bench.below.iter().all(|one| one.fua && one.op == Op::Write));
    // Each end leaves a page less: 94 to 90 are above, then two less go each time.
    let rest: Vec<usize> = (0..20)
        .map(|_| {
            bench.end(Status::Done);
            bench.below.len()
        })
        .collect();
    assert_eq!(rest[..6], [20, 20, 20, 20, 20, 19]);
    let pages: Vec<u64> = bench.below_at();
    assert!(pages.windows(2).all(|two| two[0] < two[1]), "oldest first");
}

#[test]
fn what_is_written_again_while_it_goes_stays() {
    let mut bench = Bench::new("cscan", 10, 1, AT_ONCE);
    bench.ask(Op::Write, 8, 8);
    assert_eq!(bench.below.len(), 1);
    // Three blocks of eight.
    bench.ask(Op::Write, 10, 3);
    assert_eq!(bench.below.len(), 1, "not twice at a time");
    bench.end(Status::Done);
    let cleaned: Vec<Extent> = bench
        .moves
        .iter()
        .filter_map(|one| match one {
            Move::Clean(extent) => Some(*extent),
            _ => None,
        })
        .collect();
    assert_eq!(cleaned, [between(8, 10), between(13, 16)]);
    assert_eq!(bench.end(Status::Done).extent, between(10, 13));
    assert_eq!(bench.told("dirty_pages"), 0);
    assert_eq!(bench.told("overwritten_pages"), 1);
    assert_eq!(bench.told("destaged_units"), 2);
}

#[test]
fn a_complete_unit_goes_at_once() {
    let marks = Marks {
        full_units: 1,
        ..MARKS
    };
    let mut bench = Bench::new("wow", 100, 2, marks);
    for page in [0, 4, 5, 1] {
        bench.write(page);
    }
    let extents = |bench: &Bench| -> Vec<Extent> {
        let below = bench.below.iter();
        below.map(|one| one.extent).collect()
    };
    assert_eq!(extents(&bench), [between(32, 48)], "one at a time");
    bench.end(Status::Done);
    assert_eq!(extents(&bench), [between(0, 16)]);
    bench.end(Status::Done);
    assert_eq!(
        (bench.told("full_units"), bench.told("dirty_pages")),
        (2, 0)
    );
}

#[test]
fn writes_wait_in_the_order_in_which_they_came() {
    let mut bench = Bench::new("lrw", 2, 1, AT_ONCE);
    let first = [bench.write(0), bench.write(1)];
    bench.until(500);
    let large = bench.write(2);
    let small = bench.write(1);
    bench.until(1_000);
    assert_eq!(bench.told("waited_writes"), 2);
    assert_eq!(bench.below_at(), [0]);
    bench.end(Status::Done);
    bench.until(2_000);
    let answered: Vec<(u64, u64)> = bench.replies.iter().map(|(id, at, _)| (*id, *at)).collect();
    let expected = [
        (first[0], 180),
        (first[1], 180),
        (large, 1_180),
        (small, 1_180),
    ];
    assert_eq!(answered, expected);
}

/// A unit is tried twice. It stays in the buffer then, is read from there, and is tried again when
/// it is written to.
#[test]
fn what_cannot_be_written_is_kept_and_told() {
    let mut bench = Bench::new("lrw", 1, 1, AT_ONCE);
    bench.write(0);
    bench.end(MEDIUM);
    assert_eq!(bench.below_at(), [0], "it is tried again");
    bench.end(MEDIUM);
    assert!(bench.below.is_empty(), "but not for ever");
    assert_eq!(bench.told("failed_units"), 2);
    assert_eq!(bench.told("given_up_pages"), 1);
    let written = ["destaged_units", "full_units", "destaged_pages"];
    assert_eq!(written.map(|name| bench.told(name)), [0, 0, 0]);
    bench.until(1_000);
    bench.replies.clear();
    // No room, and none to be made: a write goes through, and is answered as the drives say.
    let past = bench.write(5);
    assert!(bench.below[0].fua && bench.below[0].id == RequestId(past));
    let behind = bench.write(0);
    assert_eq!(bench.below.len(), 1, "nothing enters meanwhile");
    bench.end(MEDIUM);
    bench.until(2_000);
    let expected = [(past, 1_000, MEDIUM), (behind, 1_180, Status::Done)];
    assert_eq!(bench.replies, expected);
    assert_eq!(bench.below_at(), [0], "it was written to");
    bench.end(MEDIUM);
    bench.end(MEDIUM);
    // What would undo what cannot be written fails.
    let discard = bench.ask(Op::Discard, 0, 80);
    assert_eq!(bench.replies[2], (discard, 2_000, MEDIUM));
    bench.ask(Op::Read, 0, 8);
    bench.until(3_000);
    assert_eq!(bench.replies[3].2, Status::Done, "it is read");
    assert!(bench.below.is_empty());
    assert_eq!(bench.told("dirty_pages"), 1);
}

/// It comes behind what was written before, and nothing of what is written later comes before it.
#[test]
fn a_discard_goes_when_what_it_touches_has_been_written() {
    let mut bench = Bench::new("lrw", 10, 1, MARKS);
    for page in [0, 4, 2] {
        bench.write(page);
    }
    let discard = bench.ask(Op::Discard, 16, 24);
    let write = bench.write(2);
    let large = bench.ask(Op::Write, 800, 88);
    bench.until(1_000);
    assert_eq!(bench.below_at(), [2, 4], "what is in the way, and no other");
    bench.end(Status::Done);
    bench.end(Status::Done);
    assert_eq!(bench.below[0].id, RequestId(discard));
    assert_eq!(bench.below.len(), 1);
    bench.end(Status::Done);
    // Larger than the buffer.
    assert_eq!(bench.below[0].id, RequestId(large));
    let behind = bench.write(3);
    bench.until(2_000);
    bench.end(Status::Done);
    bench.until(3_000);
    let answered: Vec<(u64, u64)> = bench.replies[3..]
        .iter()
        .map(|(id, at, _)| (*id, *at))
        .collect();
    let expected = [
        (discard, 1_000),
        (write, 1_180),
        (large, 2_000),
        (behind, 2_180),
    ];
    assert_eq!(answered, expected);
    assert_eq!(bench.told("through_writes"), 1);
}

#[test]
fn a_read_of_a_page_of_which_a_part_is_there_gets_the_rest_from_the_drives() {
    let mut bench = Bench::new("lrw", 10, 1, MARKS);
    bench.ask(Op::Write, 2, 2);
    for status in [Status::Done, MEDIUM] {
        let read = bench.ask(Op::Read, 0, 8);
        let extents: Vec<Extent> = bench.below.iter().map(|one| one.extent).collect();
        assert_eq!(extents, [between(0, 2), between(4, 8)]);
        bench.end(status);
        bench.until(bench.now.0 / 1_000 + 500);
        bench.end(Status::Done);
        let last = bench.replies.last().expect("it is answered");
        assert_eq!((last.0, last.2), (read, status));
    }
    assert_eq!(bench.told("read_pages"), 2);
}

/// It is read from there, and goes to the drives by the marks of the new life: with the first
/// request, and not before. What was given up is tried again.
#[test]
fn a_life_begins_with_what_was_in_the_buffer() {
    let mut before = Bench::new("lrw", 10, 2, AT_ONCE);
    before.write(9);
    before.end(MEDIUM);
    before.end(MEDIUM);
    assert_eq!(before.told("given_up_pages"), 1);
    before.write(3);
    before.ask(Op::Write, 41, 1);
    before.ask(Op::Write, 42, 2);
    assert_eq!(before.below.len(), 1, "one is on its way");
    let bytes = before.memory.nvram().expect("there is a buffer").to_vec();
    let left = BufferTable::recover(&WHOSE, bytes).expect("it is sound");
    let mut bench = Bench::left("cscan", (10, 1), AT_ONCE, left);
    bench.carry();
    let mut runs = Vec::new();
    bench.memory.in_buffer(&mut runs);
    let expected = [between(24, 32), between(41, 44), between(72, 80)];
    assert_eq!(runs, expected);
    bench.until(1_000);
    assert!(
        bench.below.is_empty(),
        "nothing goes before a request comes"
    );
    let read = bench.ask(Op::Read, 41, 2);
    bench.until(2_000);
    assert_eq!(bench.replies, [(read, 1_010, Status::Done)]);
    let gone = [0; 3].map(|_| bench.end(Status::Done).extent);
    assert_eq!(gone, expected);
    let told = ["dirty_pages", "written_pages", "destaged_units"].map(|name| bench.told(name));
    assert_eq!(told, [0, 0, 3]);
    let bytes = bench.memory.nvram().expect("there is a buffer").to_vec();
    let (_, found) = BufferTable::recover(&WHOSE, bytes).expect("it is sound");
    assert_eq!(found, []);
}

/// What follows 64 KiB in a row is of a sequence; of a hundred pages these are to have 50, and may
/// have two more.
#[test]
fn a_policy_that_wants_to_know_is_told_what_is_of_a_sequence() {
    let marks = Marks { units: 1, ..MARKS };
    for (policy, first) in [("stow", 16), ("wow", 0)] {
        let mut bench = Bench::new(policy, 100, 1, marks);
        (0..80).for_each(|page| _ = bench.write(page));
        assert!(bench.below.is_empty());
        bench.write(200);
        assert_eq!(bench.below_at(), [first], "{policy}");
    }
}

/// Of a unit of two jobs one fails: its pages are on the drives once they are written, and the unit
/// when all of it is.
#[test]
fn what_could_not_be_written_did_not_go_to_the_drives() {
    let mut bench = Bench::new("lrw", 8, 4, AT_ONCE);
    bench.write(4);
    for (start, len) in [(0, 12), (16, 8)] {
        bench.ask(Op::Write, start, len);
    }
    let told = |bench: &Bench| {
        ["destaged_units", "full_units", "destaged_pages"].map(|name| bench.told(name))
    };
    assert_eq!((bench.below_at(), told(&bench)), (vec![4], [0, 0, 0]));
    bench.end(Status::Done);
    assert_eq!((bench.below_at(), told(&bench)), (vec![0, 2], [1, 0, 1]));
    bench.end(MEDIUM);
    bench.end(Status::Done);
    assert_eq!((bench.below_at(), told(&bench)), (vec![0], [1, 0, 2]));
    bench.end(Status::Done);
    assert_eq!((bench.below_at(), told(&bench)), (vec![], [2, 0, 4]));
}

/// Sixteen sequences that cannot be written would have them had 66 of a hundred pages, of which
/// they have 64: it would not be their turn any more.
#[test]
fn what_could_not_be_written_moves_no_desired_size() {
    let marks = Marks { units: 1, ..MARKS };
    let mut bench = Bench::new("stow", 100, 1, marks);
    (0..80).for_each(|page| _ = bench.write(page));
    bench.write(200);
    for page in 16..48 {
        assert_eq!(bench.below_at(), [page]);
        bench.end(MEDIUM);
    }
}
