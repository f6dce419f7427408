//! Dependent replay: requests wait for what they waited for when they were traced.
//!
//! A block trace does not say why a request came when it came. The inference is the usual one (Hsu
//! and Smith, The performance impact of I/O optimizations and disk improvements, IBM Journal of R&D
//! 48, 2004; Haghdoost et al., On the accuracy and scalability of intensive I/O workload replay,
//! FAST 2017), kept simple:
//!
//! - A *stream* is all requests of one client; the unknown client is one stream.
//! - A request waits for the request of its stream whose traced completion is the latest not after
//!   its own traced arrival (of several at one instant, the last to have arrived). The gap between
//!   the two is *think time*: it comes that long after the answer here. Requests that waited for
//!   the same one keep their spacing, so bursts stay bursts, and a constant queue depth stays one.
//! - The first requests of a stream, before any of its own has completed, wait for the latest
//!   completion of any stream by the same rule; before the first completion of all, requests come
//!   at their traced times.
//! - A traced completion is arrival plus traced response time, or plus traced service time where
//!   the trace tells that alone. Where it tells neither, `service_guess` stands for them; without a
//!   guess such a request is waited for by none.
//!
//! Departures from the sources: no threshold on think times, no windows, no graph kept; each
//! request has at most one it waits for. Times are divided by the speed, as in an open replay;
//! completions too.
//!
//! # Bounded reading ahead
//! A request can only be told to come once it is read, and it may have to come as soon as another
//! is answered. So the trace is read until the first request unread cannot come before the next one
//! known: it waits for some *open* request (one that later requests may still wait for), and if
//! that was answered at `r` here and completed at `c` in the trace, it comes at `r - c` plus its
//! traced arrival or later; if it is not answered, in the future. When [`AHEAD_MAX`] requests are
//! held, reading stops all the same; requests that come late by this are counted.
//!
//! States of a request that was read: *waiting* for its parent's answer, *due*, *in flight*,
//! *answered*. It is forgotten once it is answered and no longer open. Costs O(log requests held)
//! per request.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use nearslot_core::ids::RequestId;
use nearslot_core::request::{Reply, Request};
use nearslot_core::units::{Duration, Instant};
use nearslot_trace::Record;
use slab::Slab;

use super::intake::{Asked, Intake};
use super::open::Speed;
use super::{Tally, Workload, WorkloadError};
use crate::hash::NumberMap;
use crate::workload::told::Told;

/// Requests held at most, read but not yet answered: about 100 MB.
pub const AHEAD_MAX: usize = 1 << 20;

/// Requests that wait for answers before they come.
pub struct Dependent {
    intake: Intake,
    speed: Speed,
    service_guess: Option<Duration>,
    ahead_max: usize,

    /// The first request that was not read into `nodes`.
    unread: Option<Asked>,
    nodes: Slab<Node>,
    /// Requests that are in flight, by number.
    keys: NumberMap<RequestId, usize>,
    /// When to come: (time, number, key).
    due: BinaryHeap<Reverse<(Instant, RequestId, usize)>>,
    /// Traced completions of requests that had not completed when the last one read arrived: (time,
    /// number, key).
    outstanding: BinaryHeap<Reverse<(u64, RequestId, usize)>>,
    /// The latest completed request of each stream, and of all.
    latest: Vec<Option<usize>>,
    latest_of_all: Option<usize>,
    /// How much later than traced answered open requests were: (lag in ns, number, key), least
    /// first.
    lags: BinaryHeap<Reverse<(i64, RequestId, usize)>>,
    late: u64,
    guessed: u64,
}

/// A request that was read and not forgotten.
struct Node {
    request: Request,
    /// Completion in the trace, divided by the speed; [`Record::UNKNOWN`] if nobody can wait for
    /// it.
    completed: u64,
    /// Until answered: gap between the completion of what it waits for and its arrival, in ns.
    think: u64,
    /// When it was answered here.
    replied: Option<Instant>,
    /// Reasons for which later requests may wait for it: it is outstanding, latest of its stream,
    /// latest of all.
    holds: u8,
    /// Requests that wait for its answer: the last read, which knows the one before.
    child: Option<usize>,
    sibling: Option<usize>,
}

impl Dependent {
    /// Replays `intake` with traced times divided by `speed`; `service_guess` stands for response
    /// times that the trace does not tell.
    ///
    /// # Panics
    /// If `speed` is not a number above 0.
    pub fn new(intake: Intake, speed: f64, service_guess: Option<Duration>) -> Dependent {
        Dependent::holding(intake, speed, service_guess, AHEAD_MAX)
    }

    fn holding(
        mut intake: Intake,
        speed: f64,
        service_guess: Option<Duration>,
        ahead_max: usize,
    ) -> Dependent {
        let unread = intake.next();
        let mut dependent = Dependent {
            intake,
            speed: Speed::new(speed),
            service_guess,
            ahead_max,
            unread,
            nodes: Slab::new(),
            keys: NumberMap::default(),
            due: BinaryHeap::new(),
            outstanding: BinaryHeap::new(),
            latest: Vec::new(),
            latest_of_all: None,
            lags: BinaryHeap::new(),
            late: 0,
            guessed: 0,
        };
        dependent.read_ahead(Instant::ZERO);
        dependent
    }

    /// Reads on while the first unread request could come before, or with, the next one known.
    fn read_ahead(&mut self, now: Instant) {
        while let Some(asked) = self.unread {
            let arrival = self.speed.scale(asked.traced.0);
            self.complete_until(arrival);
            let first_known = self.next_arrival();
            let safe = match (self.earliest_unread(arrival), first_known) {
                (None, _) => true,
                (Some(earliest), Some(known)) => earliest > i128::from(known.0),
                (Some(_), None) => false,
            };
            let full = self.nodes.len() >= self.ahead_max;
            if safe || full && (first_known.is_some() || !self.keys.is_empty()) {
                return;
            }
            self.read(now, &asked, arrival);
            self.unread = self.intake.next();
        }
    }

    /// The earliest that a request which arrived at `arrival` in the trace, or later, can come;
    /// `None` if not before another answer.
    fn earliest_unread(&mut self, arrival: u64) -> Option<i128> {
        let arrival = i128::from(arrival);
        let of_children = self.least_lag().map(|lag| arrival + i128::from(lag));
        let of_roots = self.latest_of_all.is_none().then_some(arrival);
        of_children.into_iter().chain(of_roots).min()
    }

    /// The least lag of an open request.
    fn least_lag(&mut self) -> Option<i64> {
        while let Some(Reverse((lag, number, key))) = self.lags.peek() {
            let node = self.nodes.get(*key);
            if node.is_some_and(|node| node.request.id == *number && node.holds > 0) {
                return Some(*lag);
            }
            self.lags.pop();
        }
        None
    }

    /// Takes in the next request of the trace and finds out what it waits for.
    fn read(&mut self, now: Instant, asked: &Asked, arrival: u64) {
        let stream = asked.request.stream.index();
        let parent = self
            .latest
            .get(stream)
            .copied()
            .flatten()
            .or(self.latest_of_all);
        let response = match asked.response_ns {
            Record::UNKNOWN => {
                self.guessed += u64::from(self.service_guess.is_some());
                self.service_guess.map(|guess| guess.0)
            }
            known => Some(known),
        };
        let completed = response.map_or(Record::UNKNOWN, |response| {
            self.speed.scale(asked.traced.0.saturating_add(response))
        });
        let waits = completed != Record::UNKNOWN;
        let key = self.nodes.insert(Node {
            request: asked.request,
            completed,
            think: 0,
            replied: None,
            holds: u8::from(waits),
            child: None,
            sibling: None,
        });
        if waits {
            self.outstanding
                .push(Reverse((completed, asked.request.id, key)));
        }
        match parent {
            None => self.come(now, key, Instant(arrival)),
            Some(parent) => self.wait(now, key, parent, arrival),
        }
    }

    /// Lets the trace's requests complete that did so until `arrival`.
    fn complete_until(&mut self, arrival: u64) {
        while let Some(&Reverse((completed, _, key))) = self.outstanding.peek() {
            if completed > arrival {
                break;
            }
            self.outstanding.pop();
            self.nodes[key].holds += 1;
            let stream = self.nodes[key].request.stream.index();
            if self.latest.len() <= stream {
                self.latest.resize(stream + 1, None);
            }
            let before = self.latest[stream].replace(key);
            let before_of_all = self.latest_of_all.replace(key);
            [before, before_of_all]
                .into_iter()
                .flatten()
                .for_each(|key| self.release(key));
        }
    }

    /// One reason less to wait for a request.
    fn release(&mut self, key: usize) {
        let node = &mut self.nodes[key];
        node.holds -= 1;
        if node.holds == 0 && node.replied.is_some() {
            self.nodes.remove(key);
        }
    }

    fn wait(&mut self, now: Instant, key: usize, parent: usize, arrival: u64) {
        let think = arrival - self.nodes[parent].completed;
        match self.nodes[parent].replied {
            Some(replied) => self.come(now, key, Instant(replied.0.saturating_add(think))),
            None => {
                let sibling = self.nodes[parent].child.replace(key);
                let node = &mut self.nodes[key];
                (node.think, node.sibling) = (think, sibling);
            }
        }
    }

    fn come(&mut self, now: Instant, key: usize, at: Instant) {
        self.late += u64::from(at < now);
        let node = &mut self.nodes[key];
        node.request.arrived = at.max(now);
        self.due
            .push(Reverse((node.request.arrived, node.request.id, key)));
    }
}

impl Workload for Dependent {
    fn next_arrival(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse((due, ..))| *due)
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        if self.next_arrival()? > now {
            return None;
        }
        let Reverse((_, _, key)) = self.due.pop().expect("it was just seen");
        let request = self.nodes[key].request;
        self.keys.insert(request.id, key);
        self.read_ahead(now);
        Some(request)
    }

    fn replied(&mut self, now: Instant, reply: &Reply) {
        self.intake.replied(reply);
        let key = self
            .keys
            .remove(&reply.request.id)
            .expect("only requests that came are answered");
        let node = &mut self.nodes[key];
        node.replied = Some(now);
        let mut child = node.child.take();
        if node.holds > 0 {
            let lag = now.0 as i64 - node.completed as i64;
            self.lags.push(Reverse((lag, node.request.id, key)));
        } else {
            self.nodes.remove(key);
        }
        while let Some(key) = child {
            child = self.nodes[key].sibling;
            let think = self.nodes[key].think;
            self.come(now, key, Instant(now.0.saturating_add(think)));
        }
        self.read_ahead(now);
    }

    fn failure(&mut self) -> Option<WorkloadError> {
        self.intake.failure()
    }

    fn told(&self) -> Option<&Told> {
        self.intake.told()
    }

    fn tally(&self) -> Tally {
        Tally {
            late: self.late,
            guessed: self.guessed,
            ..self.intake.tally()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use nearslot_trace::TraceOp;

    use super::*;
    use crate::workload::fit::Mode;
    use crate::workload::intake::tests::intake;
    use crate::workload::tests::reply;

    /// (arrival, response, client) of each request.
    type Traced = (u64, u64, u32);

    fn records(traced: &[Traced]) -> Vec<Record> {
        let record = |&(ts, response_ns, client): &Traced| Record {
            response_ns,
            client,
            ..Record::new(ts as i64, TraceOp::Read, 0, 512, 0)
        };
        traced.iter().map(record).collect()
    }

    fn start(traced: &[Traced], speed: f64, ahead_max: usize) -> Dependent {
        let intake = intake(&records(traced), Mode::None, 8);
        Dependent::holding(intake, speed, None, ahead_max)
    }

    /// Answers every request after what `response` says; gives arrivals by number.
    fn run(mut workload: Dependent, response: impl Fn(usize) -> u64) -> (Vec<u64>, Tally) {
        let mut flying: BinaryHeap<Reverse<(Instant, usize)>> = BinaryHeap::new();
        let mut requests: Vec<Option<Request>> = Vec::new();
        loop {
            let reply_at = flying.peek().map(|Reverse((at, _))| *at);
            match (reply_at, workload.next_arrival()) {
                (None, None) => break,
                (Some(at), due) if due.is_none_or(|due| at <= due) => {
                    let Some(Reverse((_, number))) = flying.pop() else {
                        unreachable!()
                    };
                    let request = requests[number].expect("it came");
                    workload.replied(at, &reply(request, at));
                }
                (_, due) => {
                    let now = due.expect("the other cases have none");
                    let request = workload.poll(now).expect("one is due");
                    assert_eq!(request.arrived, now);
                    let number = request.id.index();
                    requests.resize(requests.len().max(number + 1), None);
                    assert!(requests[number].replace(request).is_none(), "came twice");
                    flying.push(Reverse((now + Duration(response(number)), number)));
                }
            }
        }
        assert!(
            workload
                .nodes
                .iter()
                .all(|(_, node)| node.replied.is_some())
        );
        let arrivals = requests
            .iter()
            .map(|request| request.expect("all came").arrived.0);
        (arrivals.collect(), workload.tally())
    }

    #[test]
    fn a_chain_keeps_its_think_times() {
        // Each took 100 and was followed 10 after its completion; here each takes 250.
        let traced = [(0, 100, 1), (110, 100, 1), (220, 100, 1)];
        let (arrivals, _) = run(start(&traced, 1.0, 100), |_| 250);
        assert_eq!(arrivals, [0, 260, 520]);
    }

    #[test]
    fn overlapping_requests_keep_their_spacing() {
        // The second and third came 10 and 30 after the first completed, while the second was in
        // flight.
        let traced = [(0, 100, 1), (110, 100, 1), (130, 100, 1), (215, 10, 1)];
        let (arrivals, _) = run(start(&traced, 1.0, 100), |_| 50);
        // The last waits for the second, which completed at 210 in the trace, at 110 here.
        assert_eq!(arrivals, [0, 60, 80, 115]);
    }

    #[test]
    fn streams_do_not_wait_for_each_other_once_they_run() {
        let traced = [
            (0, 100, 1),
            (5, 20, 2),
            (30, 20, 2),
            (60, 20, 2),
            (110, 1, 1),
        ];
        let (arrivals, _) = run(start(&traced, 1.0, 100), |number| {
            [1_000, 20, 20, 20, 1][number]
        });
        assert_eq!(arrivals, [0, 5, 30, 60, 1_010]);
    }

    #[test]
    fn a_new_stream_waits_for_the_latest_of_any() {
        let traced = [(0, 100, 1), (150, 100, 2)];
        let (arrivals, _) = run(start(&traced, 1.0, 100), |_| 300);
        assert_eq!(arrivals, [0, 350]);
    }

    #[test]
    fn speed_divides_think_times_and_first_arrivals() {
        let traced = [(0, 100, 1), (40, 60, 2), (120, 1, 1)];
        let (arrivals, _) = run(start(&traced, 2.0, 100), |_| 500);
        assert_eq!(arrivals, [0, 20, 510]);
    }

    #[test]
    fn a_guess_stands_for_unknown_response_times() {
        let traced = [(0, Record::UNKNOWN, 0), (100, Record::UNKNOWN, 0)];
        let at = |guess| {
            let intake = intake(&records(&traced), Mode::None, 8);
            let (arrivals, tally) = run(Dependent::new(intake, 1.0, guess), |_| 500);
            (arrivals, tally.guessed)
        };
        assert_eq!(at(None), (vec![0, 100], 0));
        assert_eq!(at(Some(Duration(70))), (vec![0, 530], 2));
    }

    #[test]
    fn a_full_memory_delays_and_counts() {
        // A slow stream holds the memory that the quick one would need to be read in time.
        let mut traced: Vec<Traced> = (0..20).map(|i| (i * 100, 50, 1)).collect();
        traced.extend((0..20).map(|i| (i * 100 + 10, 50, 2)));
        traced.sort_unstable();
        let slow_first = |number: usize| if number.is_multiple_of(2) { 5_000 } else { 50 };
        let (whole, tally) = run(start(&traced, 1.0, 1_000), slow_first);
        assert_eq!(tally.late, 0);
        assert_eq!(whole[3], 110);
        let (squeezed, tally) = run(start(&traced, 1.0, 4), slow_first);
        assert!(tally.late > 0);
        assert!(
            squeezed
                .iter()
                .zip(&whole)
                .all(|(late, exact)| late >= exact)
        );
    }

    /// The rule of the head, by looking at the whole trace at once.
    fn literal(traced: &[Traced], response: impl Fn(usize) -> u64) -> Vec<u64> {
        let mut answered: Vec<u64> = Vec::new();
        let mut arrivals = Vec::new();
        for (number, &(arrival, _, client)) in traced.iter().enumerate() {
            let latest = |same: bool| {
                let completed = |at: usize| traced[at].0 + traced[at].1;
                (0..number)
                    .filter(|&at| completed(at) <= arrival && (!same || traced[at].2 == client))
                    .max_by_key(|&at| completed(at))
            };
            let at = match latest(true).or_else(|| latest(false)) {
                None => arrival,
                Some(parent) => answered[parent] + arrival - traced[parent].0 - traced[parent].1,
            };
            arrivals.push(at);
            answered.push(at + response(number));
        }
        arrivals
    }

    fn traces() -> impl Strategy<Value = Vec<Traced>> {
        let request = (0_u64..5_000, 0_u64..800, 0_u32..4);
        prop::collection::vec(request, 1..200).prop_map(|mut traced| {
            traced.sort_unstable();
            traced
        })
    }

    proptest! {
        #[test]
        fn equal_response_times_give_the_traced_arrivals(traced in traces()) {
            let (arrivals, tally) = run(start(&traced, 1.0, 1_000), |number| traced[number].1);
            let expected: Vec<u64> = traced.iter().map(|request| request.0).collect();
            prop_assert_eq!(arrivals, expected);
            prop_assert_eq!(tally.late, 0);
        }

        #[test]
        fn reading_ahead_gives_what_the_whole_trace_gives(traced in traces(), salt in any::<u64>()) {
            let response = |number| nearslot_core::rng::mix(salt ^ number as u64) % 1_500;
            let (arrivals, tally) = run(start(&traced, 1.0, 1_000), response);
            prop_assert_eq!(arrivals, literal(&traced, response));
            prop_assert_eq!(tally.late, 0);
        }
    }
}
