//! What a trace asks for: which of its requests count, the lines that they touch, and the numbers of these.
//!
//! A sample is of lines, not of requests: a line that is in it is there with all its requests, so that what comes back comes
//! back. It is drawn by a hash of the address (Waldspurger and others, Efficient MRC construction with SHARDS, FAST 2015).

use nearslot_core::ids::Line;
use nearslot_core::registry::ConfigError;
use nearslot_core::rng::mix;
use nearslot_trace::{Record, TraceOp};

use super::intern::{self, Interner, Key};
use super::{BATCH, Question, Unit, Which};
use crate::error::RunError;

/// Lines of an entry in the table of addresses, as a power of two: neighbouring pages share one.
const GROUP_BITS: u32 = 6;

/// Which lines are looked at.
#[derive(Clone, Copy)]
struct Drawn {
    seed: u64,
    /// Those whose hash is below.
    below: u64,
}

/// What a trace asks for, as far as it was read.
pub(super) struct Asked {
    unit: Unit,
    which: Which,
    interner: Interner,
    drawn: Option<Drawn>,
    keys: Vec<Key>,
    /// Requests that count.
    pub(super) requests: u64,
    /// Lines that they ask for, in the sample or not.
    pub(super) lines: u64,
}

impl Asked {
    pub(super) fn new(question: &Question) -> Asked {
        // Neighbours are in a sample or not, each by itself.
        let bits = match (question.unit, question.sample) {
            (Unit::Page(_), None) => GROUP_BITS,
            _ => 0,
        };
        Asked {
            unit: question.unit,
            which: question.which,
            interner: Interner::new(bits),
            drawn: question.sample.map(|sample| Drawn {
                seed: mix(sample.seed),
                below: (sample.share * u64::MAX as f64) as u64,
            }),
            keys: Vec::with_capacity(2 * BATCH),
            requests: 0,
            lines: 0,
        }
    }

    /// Different lines that got a number.
    pub(super) fn footprint(&self) -> u32 {
        self.interner.lines()
    }

    /// Whether a batch waits to get its numbers.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.keys.len() >= BATCH
    }

    /// The lines of a record wait to get their numbers.
    #[inline]
    pub(super) fn record(&mut self, record: &Record) {
        let counts = match record.op {
            TraceOp::Read => true,
            TraceOp::Write => self.which == Which::All,
            _ => false,
        };
        if !counts {
            return;
        }
        self.requests += 1;
        let Record {
            dev: device,
            offset,
            len,
            ..
        } = *record;
        let addresses = match self.unit {
            Unit::Request => offset..=offset,
            Unit::Page(bytes) => (offset / bytes)..=(offset + len.max(1) - 1) / bytes,
        };
        self.lines += 1 + addresses.end() - addresses.start();
        let keys = addresses.map(|address| Key { device, address });
        match self.drawn {
            None => self.keys.extend(keys),
            Some(drawn) => self.keys.extend(keys.filter(|key| drawn.has(*key))),
        }
    }

    /// Numbers what waits, behind what `lines` has.
    pub(super) fn number(&mut self, lines: &mut Vec<Line>) -> Result<(), RunError> {
        self.interner.intern(&self.keys, lines).ok_or_else(|| {
            let most = intern::LINES_MAX.to_string();
            let what = "different lines that the trace asks for";
            let allowed =
                format!("at most {most}; larger pages are fewer, and so are those of a sample");
            RunError::Unfit(ConfigError::value(what, "more", &allowed))
        })?;
        self.keys.clear();
        Ok(())
    }
}

impl Drawn {
    #[inline]
    fn has(self, key: Key) -> bool {
        mix(key.address ^ mix(self.seed ^ u64::from(key.device))) < self.below
    }
}
