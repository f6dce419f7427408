//! Merging against its slow, literal twin, on random sequences; and the rules one by one.

use super::merger::{Grown, Merger};
use crate::ids::{GroupId, IoId, StreamId};
use crate::io::Io;
use crate::op::Op;
use crate::position::Place;
use crate::rng::Rng;
use crate::units::{Blocks, Instant, Pba};

fn io(id: u32, op: Op, at: u64, len: u64) -> Io {
    Io {
        id: IoId(id),
        sequence: u64::from(id),
        stream: StreamId(id),
        op,
        at: Pba(at),
        open: false,
        offer: None,
        len: Blocks(len),
        arrived: Instant(u64::from(id)),
        priority: 0,
        fua: false,
        sync: op == Op::Read,
        place: Place {
            cylinder: at as u32,
            ..Place::default()
        },
    }
}

const ROOT: GroupId = GroupId(0);

/// The same by trying all that wait.
struct Twin {
    most: Blocks,
    front: bool,
    apart: bool,
    /// As the scheduler sees it, its group, and its parts.
    waiting: Vec<(Io, GroupId, Vec<IoId>)>,
}

impl Twin {
    /// The oldest of a kind that ends (or begins) at a block, if it may grow by so much.
    fn neighbour(
        &self,
        like: &Io,
        group: GroupId,
        ends: Option<Pba>,
        begins: Option<Pba>,
        len: Blocks,
    ) -> Option<usize> {
        let fits = |(other, of, _): &(Io, GroupId, Vec<IoId>)| {
            let same = (other.op, other.priority, *of) == (like.op, like.priority, group);
            let ends = ends.is_none_or(|at| other.at + other.len == at);
            // Of streams that are kept apart, what somebody waits for joins only what its own
            // stream waits for.
            let owner = |io: &Io| (self.apart && io.sync).then_some(io.stream);
            let same = same && owner(other) == owner(like);
            same && ends && begins.is_none_or(|at| other.at == at)
        };
        let all = self.waiting.iter().enumerate().filter(|(_, one)| fits(one));
        let (index, (oldest, ..)) = all.min_by_key(|(_, one)| one.0.sequence)?;
        (oldest.len + len <= self.most).then_some(index)
    }

    fn join(&mut self, io: &Io, group: GroupId) -> Option<Grown> {
        let end = io.at + io.len;
        if let Some(index) = self.neighbour(io, group, Some(io.at), None, io.len) {
            let (before, _, mut parts) = self.waiting.swap_remove(index);
            parts.push(io.id);
            let mut after = before;
            after.len = before.len + io.len;
            let end = after.at + after.len;
            let ahead = self.neighbour(&after, group, None, Some(end), after.len);
            let gone = ahead.map(|index| self.waiting.swap_remove(index));
            let Some((other, _, more)) = gone else {
                self.waiting.push((after, group, parts));
                return Some(Grown {
                    before,
                    after,
                    gone: None,
                });
            };
            parts.extend(more);
            let (older, younger) = match before.sequence < other.sequence {
                true => (before, other),
                false => (other, before),
            };
            let after = Io {
                at: before.at,
                place: before.place,
                len: before.len + io.len + other.len,
                ..older
            };
            self.waiting.push((after, group, parts));
            return Some(Grown {
                before: older,
                after,
                gone: Some(younger),
            });
        }
        let index = self
            .neighbour(io, group, None, Some(end), io.len)
            .filter(|_| self.front)?;
        let (before, _, parts) = self.waiting.swap_remove(index);
        let after = Io {
            at: io.at,
            place: io.place,
            len: io.len + before.len,
            ..before
        };
        let parts = [vec![io.id], parts].concat();
        self.waiting.push((after, group, parts));
        Some(Grown {
            before,
            after,
            gone: None,
        })
    }
}

#[test]
fn it_does_what_trying_all_would_do() {
    let (mut back, mut bridged, mut several) = (0, 0, 0);
    for seed in 0..40 {
        let mut rng = Rng::stream(seed, "merger");
        let (most, front) = (Blocks(6 + rng.below(20)), rng.chance(0.7));
        let apart = seed % 4 == 0;
        let mut merger = Merger::new(most, front, apart);
        let mut twin = Twin {
            most,
            front,
            apart,
            waiting: Vec::new(),
        };
        for id in 0..400 {
            let op = if rng.chance(0.5) { Op::Read } else { Op::Write };
            let mut one = io(id, op, rng.below(40), 1 + rng.below(4));
            one.priority = (rng.below(8) / 7) as u16;
            one.stream = StreamId(rng.below(4) as u32 / 3);
            one.sync |= rng.chance(0.3);
            let group = GroupId((rng.below(8) / 7) as u16);
            let (found, expected) = (merger.join(&one, group), twin.join(&one, group));
            assert_eq!(found, expected, "{one:?} in {:?}", twin.waiting);
            back += u32::from(found.is_some());
            bridged += u32::from(found.is_some_and(|grown| grown.gone.is_some()));
            if found.is_none() {
                merger.insert(&one, group);
                twin.waiting.push((one, group, vec![one.id]));
            }
            merger.audit();
            if rng.chance(0.3) {
                let index = rng.below(twin.waiting.len() as u64) as usize;
                let (whole, _, expected) = twin.waiting.swap_remove(index);
                let told = merger.started(whole.id);
                let found: Vec<IoId> = merger.parts(whole.id).collect();
                merger.audit();
                if expected.len() == 1 {
                    assert_eq!((told, found), (None, Vec::new()));
                    continue;
                }
                several += 1;
                assert_eq!(told, Some(whole));
                assert_eq!(found, expected);
                let mut parts = Vec::new();
                assert_eq!(merger.ended(whole.id, &mut parts), Some(whole));
                assert_eq!(parts, expected);
                merger.audit();
            }
        }
    }
    assert!(back > 4_000, "{back}");
    assert!(bridged > 200, "{bridged}");
    assert!(several > 1_000, "{several}");
}

/// What waits after these I/Os came: first block, length, and the oldest part of each.
fn joined(most: u64, front: bool, ios: &[Io]) -> Vec<(u64, u64, u32)> {
    let mut merger = Merger::new(Blocks(most), front, false);
    let mut waiting: Vec<Io> = Vec::new();
    for io in ios {
        match merger.join(io, ROOT) {
            None => {
                merger.insert(io, ROOT);
                waiting.push(*io);
            }
            Some(grown) => {
                waiting.retain(|one| grown.gone.is_none_or(|gone| gone.id != one.id));
                let found = waiting.iter_mut().find(|one| one.id == grown.before.id);
                *found.expect("what grows waits") = grown.after;
            }
        }
    }
    let told = waiting.iter().map(|io| (io.at.0, io.len.0, io.id.0));
    told.collect()
}

#[test]
fn what_continues_joins_behind_and_in_front_and_fills_gaps() {
    let read = |id, at, len| io(id, Op::Read, at, len);
    let back = [read(0, 0, 8), read(1, 8, 8)];
    assert_eq!(joined(100, false, &back), [(0, 16, 0)]);
    let front = [read(0, 8, 8), read(1, 0, 8)];
    assert_eq!(joined(100, true, &front), [(0, 16, 0)]);
    assert_eq!(joined(100, false, &front), [(8, 8, 0), (0, 8, 1)]);
    let gap = [read(0, 16, 8), read(1, 0, 8), read(2, 8, 8)];
    assert_eq!(joined(100, false, &gap), [(0, 24, 0)]);
    let apart = [read(0, 0, 8), read(1, 9, 8), read(2, 4, 8)];
    assert_eq!(joined(100, true, &apart).len(), 3);
}

#[test]
fn what_would_be_too_long_or_is_of_another_kind_stays_apart() {
    let pair = [io(0, Op::Read, 0, 8), io(1, Op::Read, 8, 8)];
    assert_eq!(joined(16, true, &pair), [(0, 16, 0)]);
    assert_eq!(joined(15, true, &pair).len(), 2);
    let mixed = [io(0, Op::Read, 0, 8), io(1, Op::Write, 8, 8)];
    assert_eq!(joined(100, true, &mixed).len(), 2);
    let mut urgent = pair;
    urgent[1].priority = 1 << 13;
    assert_eq!(joined(100, true, &urgent).len(), 2);
}

#[test]
fn what_has_started_is_not_joined() {
    let mut merger = Merger::new(Blocks(100), true, false);
    merger.insert(&io(0, Op::Read, 0, 8), ROOT);
    assert_eq!(merger.started(IoId(0)), None);
    assert_eq!(merger.join(&io(1, Op::Read, 8, 8), ROOT), None);
    assert_eq!(merger.join(&io(1, Op::Read, 8, 8), GroupId(1)), None);
}

#[test]
fn where_streams_are_kept_apart_what_somebody_waits_for_joins_only_its_own() {
    let joined = |first: Io, second: Io| {
        let mut merger = Merger::new(Blocks(100), true, true);
        assert_eq!(merger.join(&first, ROOT), None);
        merger.insert(&first, ROOT);
        merger.join(&second, ROOT).is_some()
    };
    let of = |stream, io: Io| Io {
        stream: StreamId(stream),
        ..io
    };
    let (read, next) = (io(0, Op::Read, 0, 8), io(1, Op::Read, 8, 8));
    assert!(joined(of(5, read), of(5, next)));
    assert!(!joined(of(5, read), of(6, next)));
    // Writes that nobody waits for are anybody's.
    let (write, behind) = (io(0, Op::Write, 0, 8), io(1, Op::Write, 8, 8));
    assert!(joined(of(5, write), of(6, behind)));
    let awaited = Io {
        sync: true,
        ..behind
    };
    assert!(!joined(of(5, write), of(5, awaited)));
}
