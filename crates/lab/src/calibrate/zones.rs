//! Sectors per track, from the rate of sequential reads at different addresses.
//!
//! A stream that goes on from track to track needs a turn for the sectors of a track, and the skew
//! besides. So the sectors on a track are `rate * turn * (1 + skew)`. Rates that do not fall from
//! the outer addresses to the inner ones are those of the bus or of the host, and tell nothing of
//! the medium.

use nearslot_core::drive::hdd::Parameters;
use nearslot_core::op::Op;

use super::geometry::{skew_turns, zone_ends};
use super::numbers::{least_squares, median};
use super::samples::{Access, fitted};
use crate::number::counted;

/// What was found, by zone of the base drive.
pub(super) struct Sectors {
    pub(super) per_track: Vec<u32>,
    /// Streams that were timed.
    pub(super) streams: usize,
    /// Standard error, as share.
    pub(super) error: f64,
}

/// Blocks that a stream must go on for behind its first requests.
const STREAM_BLOCKS_MIN: u64 = 8_192;
/// Requests of a stream that are not counted: they bring the arm there and start the read-ahead.
const STREAM_BEGIN: usize = 8;
/// The longest pause within a stream.
const PAUSE_NS_MAX: u64 = 300_000;
/// Streams that are needed, and the shares of the addresses that they must reach to.
const STREAMS_MIN: usize = 4;
const REACH: (f64, f64) = (0.2, 0.8);
/// Outer rates that exceed inner ones by less than this are not the medium's.
const FALL_MIN: f64 = 1.08;

/// A stream of sequential reads.
struct Stream {
    /// Where, as share of the capacity.
    at: f64,
    /// Blocks a millisecond.
    rate: f64,
    /// How long it went on.
    ms: f64,
}

/// The zone of a place, by the ends of all.
fn zone_of(ends: &[f64], at: f64) -> usize {
    ends.partition_point(|end| *end <= at).min(ends.len() - 1)
}

/// The streams that are long enough. A stream is on the side of its first request: cut at every
/// change of sides, few would be long enough.
fn streams(accesses: &[Access], capacity: u64) -> Vec<Stream> {
    let goes_on = |access: &Access| {
        let reads = [access.before.op, access.sample.op] == [Op::Read, Op::Read];
        reads && access.step() == 0 && access.gap <= PAUSE_NS_MAX
    };
    let mut found = Vec::new();
    let mut stream: Vec<&Access> = Vec::new();
    let mut finish = |stream: &mut Vec<&Access>| {
        let own = stream.first().is_some_and(|first| fitted(first.index));
        if let ([first, .., last], true) = (&stream[STREAM_BEGIN.min(stream.len())..], own) {
            let blocks = last.sample.end() - first.sample.end();
            let ns = last.sample.completed() - first.sample.completed();
            if blocks >= STREAM_BLOCKS_MIN {
                let ms = ns as f64 / 1e6;
                found.push(Stream {
                    at: first.sample.end() as f64 / capacity as f64,
                    rate: blocks as f64 / ms,
                    ms,
                });
            }
        }
        stream.clear();
    };
    for access in accesses {
        let follows = stream
            .last()
            .is_none_or(|last| last.index + 1 == access.index);
        if !(goes_on(access) && follows) {
            finish(&mut stream);
        }
        if goes_on(access) {
            stream.push(access);
        }
    }
    finish(&mut stream);
    found
}

/// Finds sectors per track, or says why they cannot be told.
pub(super) fn find(
    accesses: &[Access],
    base: &Parameters,
    capacity: u64,
    turn_ms: f64,
) -> Result<Sectors, String> {
    let found = streams(accesses, capacity);
    let reaches = |from: f64, to: f64| found.iter().any(|stream| (from..=to).contains(&stream.at));
    if found.len() < STREAMS_MIN || !reaches(0.0, REACH.0) || !reaches(REACH.1, 1.0) {
        return Err(format!(
            "{} of sequential reads of 4 MiB or more; {STREAMS_MIN} are needed, from the outer and the inner fifth too",
            counted(found.len() as u64, "stream")
        ));
    }
    let rate = |from: f64, to: f64| {
        let inside = found
            .iter()
            .filter(|stream| (from..=to).contains(&stream.at));
        median(inside.map(|stream| stream.rate)).expect("a stream is there")
    };
    let (outer, inner) = (rate(0.0, REACH.0), rate(REACH.1, 1.0));
    if outer < FALL_MIN * inner {
        return Err(format!(
            "streams run at {:.1} MB/s outside and {:.1} inside: the bus or the host limits them, not the medium",
            outer * 0.512,
            inner * 0.512
        ));
    }
    Ok(by_zone(&found, base, turn_ms))
}

fn by_zone(found: &[Stream], base: &Parameters, turn_ms: f64) -> Sectors {
    let ends = zone_ends(base);
    let zone_of = |at: f64| zone_of(&ends, at);
    let sectors =
        |zone: usize, rate: f64| rate * turn_ms * (1.0 + skew_turns(base, &base.zones[zone]));
    let medians: Vec<Option<f64>> = (0..ends.len())
        .map(|zone| {
            let inside = found.iter().filter(|stream| zone_of(stream.at) == zone);
            median(inside.map(|stream| sectors(zone, stream.rate)))
        })
        .collect();
    // Too many zones to have a stream each: where there is none, a smooth curve through all
    // streams.
    let all = found.iter();
    let curve = smooth(all.map(|stream| (stream.at, sectors(zone_of(stream.at), stream.rate))));
    let middle = |zone: usize| {
        let begin = if zone == 0 { 0.0 } else { ends[zone - 1] };
        (begin + ends[zone]) / 2.0
    };
    let zones = medians.iter().enumerate();
    let per_track: Vec<f64> = zones
        .map(|(zone, median)| median.unwrap_or_else(|| curve(middle(zone))))
        .collect();
    let scatter = median(found.iter().map(|stream| {
        let zone = zone_of(stream.at);
        (sectors(zone, stream.rate) / per_track[zone] - 1.0).abs()
    }));
    Sectors {
        per_track: per_track
            .iter()
            .map(|sectors| libm::round(*sectors).clamp(1.0, 65_535.0) as u32)
            .collect(),
        streams: found.len(),
        // The median distance of a normal distribution is 0.6745 of its standard deviation.
        error: libm::hypot(
            scatter.unwrap_or(0.0) / 0.6745,
            by_cut(found, base, turn_ms),
        ),
    }
}

/// How far off a rate is as a stream begins and ends within tracks: it meets up to one skew more or
/// less than its blocks make tracks, with a triangular distribution. Streams of a probe begin
/// alike, so that more of them do not help.
fn by_cut(found: &[Stream], base: &Parameters, turn_ms: f64) -> f64 {
    let ends = zone_ends(base);
    let cuts = found.iter().map(|stream| {
        let skew = skew_turns(base, &base.zones[zone_of(&ends, stream.at)]);
        let turns = stream.ms / turn_ms;
        skew.abs() / turns / libm::sqrt(6.0)
    });
    median(cuts).unwrap_or(0.0)
}

/// The parabola through points in the sense of least squares; the line of few points.
fn smooth(points: impl Iterator<Item = (f64, f64)>) -> impl Fn(f64) -> f64 {
    let rows: Vec<([f64; 3], f64)> = points.map(|(x, y)| ([1.0, x, x * x], y)).collect();
    let line = || {
        let rows: Vec<([f64; 2], f64)> = rows.iter().map(|(x, y)| ([x[0], x[1]], *y)).collect();
        least_squares(&rows).map(|[a, b]| [a, b, 0.0])
    };
    let parabola = if rows.len() >= PARABOLA_MIN {
        least_squares(&rows)
    } else {
        None
    };
    let [a, b, c] = parabola
        .or_else(line)
        .expect("streams reach from the outer to the inner fifth");
    move |x| a + b * x + c * x * x
}

/// Points that a parabola needs, so that each of its three numbers rests on two.
const PARABOLA_MIN: usize = 6;
