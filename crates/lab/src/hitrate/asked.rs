//! What a trace asks for: which of its requests count, the lines that they touch, and the numbers of these.
//!
//! A sample is of lines, not of requests: a line that is in it is there with all its requests, so that what comes back comes
//! back. It is drawn by a hash of the address (Waldspurger and others, Efficient MRC construction with SHARDS, FAST 2015).

use std::ops::RangeInclusive;

use nearslot_core::ids::Line;
use nearslot_core::registry::ConfigError;
use nearslot_core::rng::mix;
use nearslot_trace::{Record, TraceOp};

use super::intern::{self, Interner, Key};
use super::{BATCH, Question, Unit, Which};
use crate::error::RunError;

/// Lines of an entry in the table of addresses, as a power of two: neighbouring pages share one.
const GROUP_BITS: u32 = 6;

/// Lines of a request beyond which they are not all kept by their addresses at once: a request may be terabytes long.
const LONG: u64 = 1 << 16;

/// Which lines are looked at.
#[derive(Clone, Copy)]
struct Drawn {
    seed: u64,
    /// Those whose hash is below.
    below: u64,
}

/// What is asked for, one after the other.
#[derive(Default)]
pub(super) struct Flow {
    pub(super) lines: Vec<Line>,
    /// How many of them each request asks for, if requests are counted.
    pub(super) lengths: Vec<u32>,
}

impl Flow {
    pub(super) fn clear(&mut self) {
        self.lines.clear();
        self.lengths.clear();
    }
}

/// What a trace asks for, as far as it was read.
pub(super) struct Asked {
    unit: Unit,
    which: Which,
    interner: Interner,
    drawn: Option<Drawn>,
    keys: Vec<Key>,
    /// Lines of each request that waits, if requests are counted.
    lengths: Option<Vec<u32>>,
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
            lengths: question.per_request.then(Vec::new),
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

    /// The lines of a record wait to get their numbers. Those of a very long one get them at once, behind what `flow` has.
    ///
    /// # Errors
    /// There are more than can be numbered.
    #[inline]
    pub(super) fn record(&mut self, record: &Record, flow: &mut Flow) -> Result<(), RunError> {
        let counts = match record.op {
            TraceOp::Read => true,
            TraceOp::Write => self.which == Which::All,
            _ => false,
        };
        if !counts {
            return Ok(());
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
        let lines = 1 + addresses.end() - addresses.start();
        self.lines += lines;
        if lines > LONG {
            return self.long(device, addresses, flow);
        }
        if let Some(lengths) = &mut self.lengths {
            lengths.push(lines as u32);
        }
        self.wait(device, addresses);
        Ok(())
    }

    #[inline]
    fn wait(&mut self, device: u32, addresses: RangeInclusive<u64>) {
        let keys = addresses.map(|address| Key { device, address });
        match self.drawn {
            None => self.keys.extend(keys),
            Some(drawn) => self.keys.extend(keys.filter(|key| drawn.has(*key))),
        }
    }

    /// The lines of a long record, some at a time.
    #[cold]
    fn long(
        &mut self,
        device: u32,
        addresses: RangeInclusive<u64>,
        flow: &mut Flow,
    ) -> Result<(), RunError> {
        let (first, last) = addresses.into_inner();
        let lines = last - first + 1;
        // All of them are different ones.
        if self.drawn.is_none() && lines > u64::from(intern::LINES_MAX) {
            return Err(too_many());
        }
        if let Some(lengths) = &mut self.lengths {
            lengths.push(lines as u32);
        }
        for from in (first..=last).step_by(LONG as usize) {
            self.wait(device, from..=last.min(from + LONG - 1));
            self.number(flow)?;
        }
        Ok(())
    }

    /// Numbers what waits, behind what `flow` has.
    pub(super) fn number(&mut self, flow: &mut Flow) -> Result<(), RunError> {
        if let Some(lengths) = &mut self.lengths {
            flow.lengths.append(lengths);
        }
        let numbered = self.interner.intern(&self.keys, &mut flow.lines);
        numbered.ok_or_else(too_many)?;
        self.keys.clear();
        Ok(())
    }
}

fn too_many() -> RunError {
    let most = intern::LINES_MAX.to_string();
    let what = "different lines that the trace asks for";
    let allowed = format!("at most {most}; larger pages are fewer, and so are those of a sample");
    RunError::Unfit(ConfigError::value(what, "more", &allowed))
}

impl Drawn {
    #[inline]
    fn has(self, key: Key) -> bool {
        mix(key.address ^ mix(self.seed ^ u64::from(key.device))) < self.below
    }
}
