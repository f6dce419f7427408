//! Which steps may start, against a literal twin: every step with a list of those that it waits
//! for; and the rings of alternatives.

use std::collections::BTreeMap;

use super::graph::{Graph, OpenIo, Work};
use crate::ids::{DriveId, IoId, StreamId};
use crate::io::{Io, StepNumber, Tag};
use crate::op::{Failure, Op};
use crate::position::Place;
use crate::rng::Rng;
use crate::units::{Blocks, Instant, Pba};

/// An I/O; open ones have no address yet.
fn io(id: IoId, open: bool) -> Work {
    Work::Io(OpenIo {
        drive: DriveId(0),
        tag: Tag(u64::from(id.0)),
        data: None,
        parity: None,
        carries: None,
        io: Io {
            id,
            sequence: 0,
            stream: StreamId(0),
            op: Op::Write,
            at: Pba(0),
            open,
            offer: None,
            len: Blocks(8),
            arrived: Instant::ZERO,
            priority: 0,
            fua: false,
            sync: false,
            place: Place::default(),
        },
        alternative: id,
        offers: false,
    })
}

fn add(graph: &mut Graph) -> IoId {
    let id = graph.next_name();
    graph.add(None, io(id, false))
}

/// What a step waits for, why it will never start, and what it has got to write.
#[derive(Debug, Default)]
struct Twin {
    before: Vec<(IoId, bool)>,
    doomed: Option<Failure>,
    carries: Option<StepNumber>,
}

type Twins = BTreeMap<u32, Twin>;

fn compare(graph: &Graph, twins: &Twins) {
    graph.audit();
    assert_eq!(graph.iter().count(), twins.len());
    for (id, twin) in twins {
        let id = IoId(*id);
        assert_eq!(graph.waits(id), !twin.before.is_empty(), "{id:?} {twin:?}");
        assert_eq!(graph.doomed(id), twin.doomed, "{id:?} {twin:?}");
        assert_eq!(graph.io(id).carries, twin.carries, "{id:?} {twin:?}");
        let waited_for = |twin: &Twin| twin.before.iter().any(|(before, _)| *before == id);
        assert_eq!(graph.is_last(id), !twins.values().any(waited_for));
    }
}

/// Adds a step behind some of those that there are.
fn grow(graph: &mut Graph, twins: &mut Twins, rng: &mut Rng) {
    let id = add(graph);
    let mut twin = Twin::default();
    let carries_from = rng.below(2 * twins.len() as u64 + 1);
    for (index, before) in twins.keys().enumerate() {
        if rng.chance(0.3) {
            let carries = index as u64 == carries_from;
            graph.join(IoId(*before), id, (carries, Blocks(0)));
            twin.before.push((IoId(*before), carries));
        }
    }
    twins.insert(id.0, twin);
}

/// What waited for a step that has ended hears how.
fn end(
    graph: &mut Graph,
    twins: &mut Twins,
    id: IoId,
    told: (Option<Failure>, Option<StepNumber>),
) -> usize {
    let (_, mut edges) = graph.remove(id);
    twins.remove(&id.0);
    let mut expected = Vec::new();
    for (then, twin) in twins {
        let Some(index) = twin.before.iter().position(|(before, _)| *before == id) else {
            continue;
        };
        let (_, carries) = twin.before.remove(index);
        twin.doomed = twin.doomed.or(told.0);
        twin.carries = if carries { told.1 } else { twin.carries };
        expected.push(IoId(*then));
    }
    let next = || graph.follow(&mut edges, told).map(|(then, _)| then);
    let mut followed: Vec<IoId> = std::iter::from_fn(next).collect();
    assert!(edges.is_empty());
    followed.sort_unstable();
    assert_eq!(followed, expected, "behind {id:?}");
    followed.len()
}

/// Another step stands in for one that has failed.
fn stand_in(graph: &mut Graph, twins: &mut Twins, id: IoId) {
    let other = add(graph);
    let (_, edges) = graph.remove(id);
    graph.hand_over(edges, other);
    twins.remove(&id.0);
    let before = twins.values_mut().flat_map(|twin| &mut twin.before);
    before
        .filter(|(before, _)| *before == id)
        .for_each(|(before, _)| *before = other);
    twins.insert(other.0, Twin::default());
}

#[test]
fn steps_start_as_if_each_kept_a_list_of_what_it_waits_for() {
    let (mut followed, mut handed_over) = (0, 0);
    for seed in 0..200 {
        let mut rng = Rng::stream(seed, "graph");
        let (mut graph, mut twins) = (Graph::default(), Twins::new());
        for number in 1..=200 {
            let may_end = twins.iter().filter(|(_, twin)| twin.before.is_empty());
            let may_end: Vec<u32> = may_end.map(|(id, _)| *id).collect();
            if may_end.is_empty() || twins.len() < 12 && rng.chance(0.5) {
                grow(&mut graph, &mut twins, &mut rng);
            } else {
                let id = IoId(may_end[rng.below(may_end.len() as u64) as usize]);
                match rng.below(4) {
                    0 => {
                        stand_in(&mut graph, &mut twins, id);
                        handed_over += 1;
                    }
                    1 => followed += end(&mut graph, &mut twins, id, (Some(Failure::Medium), None)),
                    _ => {
                        let brought = Some(StepNumber::new(number));
                        followed += end(&mut graph, &mut twins, id, (None, brought));
                    }
                }
            }
            compare(&graph, &twins);
        }
    }
    assert!(followed > 10_000, "{followed} steps heard of others");
    assert!(handed_over > 1_000, "{handed_over} steps were stood in for");
}

/// What waited for a failed step waits for its stand-in besides what waits for that already.
#[test]
fn what_is_handed_over_comes_before_what_waits_already() {
    let mut graph = Graph::default();
    let [failed, other, first, second, third] = std::array::from_fn(|_| add(&mut graph));
    graph.join(failed, first, (false, Blocks(0)));
    graph.join(failed, second, (false, Blocks(0)));
    graph.join(other, third, (false, Blocks(0)));
    let (_, edges) = graph.remove(failed);
    graph.hand_over(edges, other);
    graph.audit();
    let (_, mut edges) = graph.remove(other);
    let followed =
        std::iter::from_fn(|| graph.follow(&mut edges, (None, None)).map(|(then, _)| then));
    assert_eq!(followed.collect::<Vec<_>>(), [second, first, third]);
    assert!([first, second, third].iter().all(|id| !graph.waits(*id)));
}

#[test]
fn the_first_failure_is_the_one_that_dooms() {
    let mut graph = Graph::default();
    let [one, other, then] = std::array::from_fn(|_| add(&mut graph));
    graph.join(one, then, (false, Blocks(0)));
    graph.join(other, then, (false, Blocks(0)));
    for (before, failure) in [(one, Failure::Medium), (other, Failure::Gone)] {
        let (_, mut edges) = graph.remove(before);
        assert_eq!(
            graph.follow(&mut edges, (Some(failure), None)),
            Some((then, Blocks(0)))
        );
        assert_eq!(graph.doomed(then), Some(Failure::Medium));
    }
    assert!(!graph.waits(then));
    graph.doom(then, Failure::Gone);
    assert_eq!(graph.doomed(then), Some(Failure::Medium));
}

/// A ring of so many alternatives.
fn ring(graph: &mut Graph, len: usize) -> Vec<IoId> {
    let ids: Vec<IoId> = (0..len).map(|_| add(graph)).collect();
    for (index, id) in ids.iter().enumerate() {
        graph.io_mut(*id).alternative = ids[(index + 1) % len];
    }
    ids
}

#[test]
fn alternatives_leave_their_ring_one_by_one() {
    let mut graph = Graph::default();
    let ids = ring(&mut graph, 4);
    let [a, b, c, d] = [ids[0], ids[1], ids[2], ids[3]];
    assert!(graph.ring(b).eq([b, c, d, a]));
    assert_eq!(graph.leave_ring(b), Some(c));
    assert!(graph.ring(b).eq([b]));
    assert!(graph.ring(a).eq([a, c, d]));
    assert_eq!(graph.leave_ring_after(a), Some(c));
    assert!(graph.ring(c).eq([c]));
    assert_eq!(graph.leave_ring_after(a), Some(d));
    assert_eq!(graph.leave_ring_after(a), None);
    assert_eq!(graph.leave_ring(a), None, "it is alone");
}

#[test]
fn what_has_started_cannot_be_pinned() {
    let mut graph = Graph::default();
    let [one, other] = std::array::from_fn(|_| {
        let id = graph.next_name();
        graph.add(None, io(id, true))
    });
    assert_eq!(graph.pin(Tag(u64::from(other.0))), other);
    graph.started(Tag(u64::from(one.0)), None);
    let pinned = std::panic::catch_unwind(move || graph.pin(Tag(u64::from(one.0))));
    assert!(pinned.is_err());
}

#[test]
fn the_tag_of_a_gate_that_was_opened_may_be_used_again() {
    let mut graph = Graph::default();
    for _ in 0..2 {
        let gate = graph.add(None, Work::Gate(Tag(7)));
        assert_eq!(graph.open_gate(Tag(7)), gate);
        assert_eq!(graph.forget(gate), None);
    }
}
