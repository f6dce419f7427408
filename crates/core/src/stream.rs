//! Who asks, and what it may claim: the streams that schedulers share a drive out among.
//!
//! A request names its stream by number. What is known of a stream stands in one table, which
//! schedulers see. Class and level come with requests, as Linux gives every request the priority of
//! the process that made it; a request whose priority is unknown leaves them as they are. Weight
//! and group are set from outside ([`Input::Describe`](crate::stack::Input::Describe)). O(1).

use crate::ids::{GroupId, StreamId};
use crate::request::Request;

/// Scheduling classes of Linux, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Goes before all others.
    RealTime,
    /// What nobody says anything of.
    BestEffort,
    /// Goes when nobody else asks.
    Idle,
}

impl Class {
    /// All of them, in the order of their indexes.
    pub const ALL: [Class; 3] = [Class::RealTime, Class::BestEffort, Class::Idle];

    /// The class of a Linux I/O priority, `class << 13 | level`: 1 is real-time, 3 is idle, all
    /// else best effort.
    #[inline]
    pub const fn of(priority: u16) -> Class {
        match priority >> 13 {
            1 => Class::RealTime,
            3 => Class::Idle,
            _ => Class::BestEffort,
        }
    }
}

/// Streams that are named by a setting have numbers below this.
const NAMED: u32 = 1 << 20;

/// What a setting says of streams: a list of `STREAM=VALUE`, separated by spaces. None if it makes
/// no sense.
pub fn by_stream<T>(text: &str, value: impl Fn(&str) -> Option<T>) -> Option<Vec<(StreamId, T)>> {
    let pair = |word: &str| {
        let (stream, of) = word.split_once('=')?;
        let stream = stream.parse().ok().filter(|stream| *stream < NAMED)?;
        Some((StreamId(stream), value(of)?))
    };
    text.split_whitespace().map(pair).collect()
}

/// What is known of who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Its share, compared with the weights of others.
    pub weight: u16,
    /// Its scheduling class.
    pub class: Class,
    /// Its priority within the class, from 0, the most urgent, to 7.
    pub level: u8,
    /// Streams that share one share.
    pub group: GroupId,
}

impl Stream {
    /// A stream that nobody says anything of: Linux's weight of a group, and its level of a
    /// process.
    pub const UNKNOWN: Stream = Stream {
        weight: 100,
        class: Class::BestEffort,
        level: 4,
        group: GroupId(0),
    };
}

/// All streams. Their numbers are given one after another, so that they are indexes.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    known: Vec<Stream>,
}

impl Streams {
    /// What is known of a stream.
    #[inline]
    pub fn of(&self, id: StreamId) -> Stream {
        let known = self.known.get(id.index());
        known.copied().unwrap_or(Stream::UNKNOWN)
    }

    /// A stream is described.
    pub fn describe(&mut self, id: StreamId, stream: Stream) {
        *self.entry(id) = stream;
    }

    /// A request came, and with it the priority of its stream.
    #[inline]
    pub fn asked(&mut self, request: &Request) {
        if request.priority != 0 {
            let stream = self.entry(request.stream);
            stream.class = Class::of(request.priority);
            stream.level = (request.priority & 7) as u8;
        }
    }

    fn entry(&mut self, id: StreamId) -> &mut Stream {
        if self.known.len() <= id.index() {
            self.known.resize(id.index() + 1, Stream::UNKNOWN);
        }
        &mut self.known[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Op;
    use crate::units::Instant;

    fn request(stream: u32, priority: u16) -> Request {
        Request {
            stream: StreamId(stream),
            priority,
            ..Request::new(1, Op::Read, 0, 8, Instant::ZERO)
        }
    }

    #[test]
    fn a_request_brings_the_class_and_the_level_of_its_stream_and_an_unknown_priority_changes_neither()
     {
        let mut streams = Streams::default();
        streams.asked(&request(3, 1 << 13 | 6));
        let urgent = Stream {
            class: Class::RealTime,
            level: 6,
            ..Stream::UNKNOWN
        };
        assert_eq!(streams.of(StreamId(3)), urgent);
        streams.asked(&request(3, 0));
        assert_eq!(streams.of(StreamId(3)), urgent);
        streams.asked(&request(3, 2 << 13));
        assert_eq!(streams.of(StreamId(3)).class, Class::BestEffort);
        assert_eq!(streams.of(StreamId(3)).level, 0);
        assert_eq!(streams.of(StreamId(2)), Stream::UNKNOWN);
        assert_eq!(streams.of(StreamId(9)), Stream::UNKNOWN);
    }

    #[test]
    fn a_request_leaves_weight_and_group_as_they_were_described() {
        let mut streams = Streams::default();
        let described = Stream {
            weight: 700,
            group: GroupId(2),
            ..Stream::UNKNOWN
        };
        streams.describe(StreamId(1), described);
        streams.asked(&request(1, 3 << 13));
        let stream = streams.of(StreamId(1));
        assert_eq!((stream.weight, stream.group), (700, GroupId(2)));
        assert_eq!(stream.class, Class::Idle);
    }
}
