//! The letters by which Linux prints what a block request does, and its priority in words.
//!
//! `blk_fill_rwbs` writes, in this order and each only when it applies: `F` preflush, the
//! operation, `F` FUA, `A` readahead, `S` sync, `M` metadata, `U` atomic. The operation is `R`,
//! `W`, `D` discard, `DE` secure erase, `F` flush, `N` none of these, or `Z` and a letter for a
//! zone operation, of which only `ZA` (append) carries data.
//!
//! Source: Linux `kernel/trace/blktrace.c`, `include/trace/events/block.h`.

use super::record::{Flags, TraceOp};

/// What the letters say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rwbs {
    op: TraceOp,
    pub(super) flags: Flags,
}

impl Rwbs {
    /// Reads the letters; `None` if they are not these, in this order.
    pub(super) fn parse(letters: &[u8]) -> Option<Rwbs> {
        let (mut flags, mut rest) = (Flags::default(), letters);
        if let [b'F', more @ ..] = rest
            && operation(more).is_some()
        {
            (flags, rest) = (Flags::PREFLUSH, more);
        }
        let (op, mut rest) = operation(rest)?;
        for (letter, flag) in SUFFIXES {
            if let [first, more @ ..] = rest
                && *first == letter
            {
                (flags, rest) = (flags.with(flag), more);
            }
        }
        rest.is_empty().then_some(Rwbs { op, flags })
    }

    /// The operation of a request of this many bytes: without bytes, a preflush is all there is.
    pub(super) fn op(self, bytes: u64) -> TraceOp {
        if bytes == 0 && self.flags.has(Flags::PREFLUSH) {
            return TraceOp::Flush;
        }
        self.op
    }
}

/// What may follow the operation, in this order.
const SUFFIXES: [(u8, Flags); 5] = [
    (b'F', Flags::FUA),
    (b'A', Flags::READAHEAD),
    (b'S', Flags::SYNC),
    (b'M', Flags::METADATA),
    (b'U', Flags::ATOMIC),
];

/// The operation at the front, and what follows it.
fn operation(letters: &[u8]) -> Option<(TraceOp, &[u8])> {
    Some(match letters {
        [b'R', rest @ ..] => (TraceOp::Read, rest),
        [b'W', rest @ ..] => (TraceOp::Write, rest),
        [b'D', b'E', rest @ ..] | [b'D', rest @ ..] => (TraceOp::Discard, rest),
        [b'F', rest @ ..] => (TraceOp::Flush, rest),
        [b'N', rest @ ..] => (TraceOp::Other, rest),
        [b'Z', b'A', rest @ ..] => (TraceOp::Write, rest),
        // Reset all is the one with two letters.
        [b'Z', b'R', b'A', rest @ ..] => (TraceOp::Other, rest),
        [b'Z', b'R' | b'F' | b'O' | b'C', rest @ ..] => (TraceOp::Other, rest),
        _ => return None,
    })
}

/// The number of a priority class as the tracepoints print it, a word or `0x` and digits.
pub(super) fn priority_class(text: &[u8]) -> Option<u16> {
    Some(match text {
        b"none" => 0,
        b"rt" => 1,
        b"be" => 2,
        b"idle" => 3,
        b"invalid" => 7,
        [b'0', b'x', digit] => char::from(*digit).to_digit(8)? as u16,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(letters: &str, bytes: u64) -> Option<(TraceOp, Flags)> {
        Rwbs::parse(letters.as_bytes()).map(|rwbs| (rwbs.op(bytes), rwbs.flags))
    }

    #[test]
    fn the_test_vectors() {
        let all = Flags::PREFLUSH
            .with(Flags::FUA)
            .with(Flags::SYNC)
            .with(Flags::METADATA);
        assert_eq!(parsed("FWFSM", 4_096), Some((TraceOp::Write, all)));
        assert_eq!(parsed("FF", 0).map(|(op, _)| op), Some(TraceOp::Flush));
        assert_eq!(
            parsed("DE", 512),
            Some((TraceOp::Discard, Flags::default()))
        );
        assert_eq!(
            parsed("RAM", 512),
            Some((TraceOp::Read, Flags::READAHEAD.with(Flags::METADATA)))
        );
        assert_eq!(parsed("N", 0), Some((TraceOp::Other, Flags::default())));
    }

    #[test]
    fn one_letter_can_mean_three_things() {
        assert_eq!(parsed("F", 0), Some((TraceOp::Flush, Flags::default())));
        assert_eq!(parsed("FS", 0), Some((TraceOp::Flush, Flags::SYNC)));
        assert_eq!(parsed("WF", 512), Some((TraceOp::Write, Flags::FUA)));
        assert_eq!(parsed("FW", 512), Some((TraceOp::Write, Flags::PREFLUSH)));
    }

    #[test]
    fn a_preflush_without_data_is_a_flush() {
        assert_eq!(
            parsed("FWS", 0),
            Some((TraceOp::Flush, Flags::PREFLUSH.with(Flags::SYNC)))
        );
    }

    #[test]
    fn zones_are_written_only_by_append() {
        assert_eq!(parsed("ZA", 512).map(|(op, _)| op), Some(TraceOp::Write));
        for letters in ["ZR", "ZRA", "ZF", "ZO", "ZC", "ZRS"] {
            assert_eq!(parsed(letters, 0).map(|(op, _)| op), Some(TraceOp::Other));
        }
    }

    #[test]
    fn other_letters_and_orders_are_refused() {
        for letters in ["", "X", "WR", "SW", "WMS", "Read", "ws", "Z", "WSS", "R "] {
            assert_eq!(parsed(letters, 0), None, "{letters}");
        }
    }

    #[test]
    fn priority_classes_come_as_words_or_numbers() {
        let classes: Vec<_> = ["none", "rt", "be", "idle", "invalid", "0x2", "0x9", "2"]
            .iter()
            .map(|text| priority_class(text.as_bytes()))
            .collect();
        let (some, other) = classes.split_at(6);
        assert_eq!(some, [0, 1, 2, 3, 7, 2].map(Some));
        assert_eq!(other, [None; 2]);
    }
}
