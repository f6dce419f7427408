//! Response times of each stream, reads and writes apart, where the load says who asks.
//!
//! Streams are found while they come, in the order of their arrival, which is that of the trace.
//! The first [`STREAMS_MAX`] have distributions, of later ones only number, mean and longest are
//! kept. Nothing is told if one stream asks for everything.
//!
//! Cost per request: a lookup by number and an increment; memory is taken when a stream comes for
//! the first time.

use nearslot_core::ids::StreamId;
use nearslot_core::op::Op;
use nearslot_core::request::{Reply, Request};

use super::group::{DISTRIBUTIONS_MAX, Group, is_grouped};
use crate::outcome::StreamResponse;

/// Streams that have distributions, one of reads and one of writes.
const STREAMS_MAX: usize = DISTRIBUTIONS_MAX / 2;

/// Measures response times by stream.
pub(crate) struct ByStream {
    /// By the number of a stream, its place in `streams`. Readers of traces number streams from 0
    /// on.
    places: Vec<Option<u32>>,
    streams: Vec<(StreamId, [Group; 2])>,
    /// Requests that are not measured.
    warmup: u64,
}

impl ByStream {
    /// No stream yet.
    pub(crate) fn new(warmup: u64) -> ByStream {
        ByStream {
            places: Vec::new(),
            streams: Vec::new(),
            warmup,
        }
    }

    /// A request came.
    #[inline]
    pub(crate) fn arrived(&mut self, request: &Request) {
        let known = self.places.get(request.stream.index());
        if !matches!(known, Some(Some(_))) {
            self.add(request.stream);
        }
    }

    #[cold]
    fn add(&mut self, stream: StreamId) {
        if self.places.len() <= stream.index() {
            self.places.resize(stream.index() + 1, None);
        }
        let place = self.streams.len();
        self.places[stream.index()] = Some(place as u32);
        let group = || Group::new(place < STREAMS_MAX);
        self.streams.push((stream, [group(), group()]));
    }

    /// Whether a stream has asked for anything.
    pub(crate) fn heard(&self, stream: StreamId) -> bool {
        matches!(self.places.get(stream.index()), Some(Some(_)))
    }

    /// A request was answered.
    #[inline]
    pub(crate) fn replied(&mut self, reply: &Reply) {
        if !is_grouped(reply, self.warmup) {
            return;
        }
        let place = self.places[reply.request.stream.index()];
        let place = place.expect("a stream is noted when its first request comes");
        let (_, groups) = &mut self.streams[place as usize];
        let group = usize::from(reply.request.op == Op::Write);
        groups[group].record(reply);
    }

    /// What was measured, by the number of the stream; nothing if there is one stream only. `names`
    /// are the names of streams, by number.
    pub(crate) fn found(&self, names: &[String]) -> Vec<StreamResponse> {
        if self.streams.len() < 2 {
            return Vec::new();
        }
        let known = self.places.iter().flatten();
        let streams = known.map(|place| &self.streams[*place as usize]);
        let classes = streams.flat_map(|(stream, [reads, writes])| {
            [(stream, Op::Read, reads), (stream, Op::Write, writes)]
        });
        let found = classes.map(|(stream, op, group)| (stream, op, group.found()));
        found
            .filter(|(.., times)| times.requests + times.failed > 0)
            .map(|(stream, op, times)| StreamResponse {
                stream: stream.0,
                name: names.get(stream.index()).cloned().unwrap_or_default(),
                op: op.name().to_owned(),
                requests: times.requests,
                failed: times.failed,
                mean_ms: times.mean_ms,
                p50_ms: times.p50_ms,
                p99_ms: times.p99_ms,
                max_ms: times.max_ms,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use nearslot_core::op::{Cost, Failure, Status};
    use nearslot_core::request::Timeline;
    use nearslot_core::units::{Duration, Instant};

    use super::*;

    fn ask(streams: &mut ByStream, stream: u32, (number, op): (u64, Op), us: u64, status: Status) {
        let mut request = Request::new(number, op, 0, 8, Instant::ZERO);
        request.stream = StreamId(stream);
        streams.arrived(&request);
        streams.replied(&Reply {
            request,
            status,
            timeline: Timeline {
                arrived: Instant::ZERO,
                started: Instant::ZERO,
                replied: Instant::ZERO + Duration::from_us(us),
                cost: Cost::default(),
            },
        });
    }

    #[test]
    fn reads_and_writes_of_each_stream_are_told_apart() {
        let mut streams = ByStream::new(10);
        for (stream, number, op, us) in [
            (7, 9, Op::Read, 9_000),
            (2, 10, Op::Flush, 9_000),
            (7, 11, Op::Read, 2_000),
            (7, 12, Op::Read, 4_000),
            (7, 13, Op::Write, 5_000),
            (2, 14, Op::Write, 7_000),
        ] {
            ask(&mut streams, stream, (number, op), us, Status::Done);
        }
        let failed = Status::Failed(Failure::Gone);
        ask(&mut streams, 2, (15, Op::Write), 9_000, failed);
        // Of what only failed there is nothing but that.
        ask(&mut streams, 2, (16, Op::Read), 9_000, failed);
        let names = ["", "", "backup"].map(str::to_owned);
        let found = streams.found(&names);
        assert_eq!(
            (found[0].name.as_str(), found[1].name.as_str()),
            ("backup", "backup")
        );
        let failed: Vec<u64> = found.iter().map(|one| one.failed).collect();
        assert_eq!(failed, [1, 1, 0, 0]);
        let told: Vec<_> = found
            .iter()
            .map(|one| (one.stream, one.op.as_str(), one.requests, one.mean_ms))
            .collect();
        let expected = [
            (2, "read", 0, None),
            (2, "write", 1, Some(7.0)),
            (7, "read", 2, Some(3.0)),
            (7, "write", 1, Some(5.0)),
        ];
        assert_eq!(told, expected);
        assert_eq!((found[2].max_ms, found[2].p99_ms), (Some(4.0), None));
    }

    #[test]
    fn a_single_stream_is_all_there_is_and_is_not_told() {
        let mut streams = ByStream::new(0);
        (0..9).for_each(|number| ask(&mut streams, 3, (number, Op::Read), 100, Status::Done));
        assert!(streams.found(&[]).is_empty());
    }

    #[test]
    fn of_many_streams_the_first_have_percentiles() {
        let mut streams = ByStream::new(0);
        // The last number comes first.
        for stream in (0..STREAMS_MAX as u32 + 2).rev() {
            ask(&mut streams, stream, (0, Op::Read), 5_000, Status::Done);
        }
        let found = streams.found(&[]);
        assert_eq!(found.len(), STREAMS_MAX + 2);
        assert!(found.iter().all(|one| one.mean_ms == Some(5.0)));
        let without = found.iter().filter(|one| one.p50_ms.is_none());
        let without: Vec<u32> = without.map(|one| one.stream).collect();
        assert_eq!(without, [0, 1]);
    }
}
