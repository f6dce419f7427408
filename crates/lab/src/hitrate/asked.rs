//! What a trace asks for: which of its requests count, the lines that they touch, and the numbers
//! of these.
//!
//! A sample is of lines, not of requests: a line that is in it is there with all its requests, so
//! that what comes back comes back. It is drawn by a hash of the address (Waldspurger and others,
//! Efficient MRC construction with SHARDS, FAST 2015).

use std::ops::RangeInclusive;

use nearslot_core::ids::Line;
use nearslot_core::registry::ConfigError;
use nearslot_core::rng::mix;
use nearslot_trace::{self as trace, TraceOp};

use super::intern::{self, Interner, Run};
use super::{BATCH, Question, Unit, Which};
use crate::error::RunError;

/// Lines of an entry in the table of addresses, as a power of two: neighbouring pages share one.
const GROUP_BITS: u32 = 6;

/// Lines of a request beyond which they are not all kept by their addresses at once: a request may
/// be terabytes long.
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
    /// Lines that wait to get their numbers, by their addresses, and their devices.
    addresses: Vec<u64>,
    runs: Vec<Run>,
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
            addresses: Vec::with_capacity(2 * BATCH),
            runs: Vec::new(),
            lengths: question.per_request.then(Vec::new),
            requests: 0,
            lines: 0,
        }
    }

    /// Different lines that got a number.
    pub(super) fn footprint(&self) -> u32 {
        self.interner.lines()
    }

    /// Numbers the lines of the first requests, about a batch of them, behind what `flow` has. How
    /// many requests these were.
    ///
    /// # Errors
    /// There are more lines than can be numbered.
    pub(super) fn take(
        &mut self,
        requests: &trace::Asked<'_>,
        flow: &mut Flow,
    ) -> Result<usize, RunError> {
        let (first, _) = requests.split_at(requests.count().min(BATCH));
        if self.unit == Unit::Request
            && self.drawn.is_none()
            && first.op.iter().all(|op| self.counts(*op))
        {
            self.take_offsets(&first, flow)?;
            return Ok(first.count());
        }
        let mut taken = 0;
        while taken < first.count() && self.addresses.len() < BATCH {
            if self.counts(first.op[taken]) {
                let (offset, len) = (first.offset[taken], first.len[taken]);
                self.request(first.dev[taken], offset, len, flow)?;
            }
            taken += 1;
        }
        self.number(flow)?;
        Ok(taken)
    }

    /// Whether requests count that do this.
    #[inline]
    fn counts(&self, op: TraceOp) -> bool {
        match op {
            TraceOp::Read => true,
            TraceOp::Write => self.which == Which::All,
            _ => false,
        }
    }

    /// Numbers what begins at the offsets of requests, all of which count.
    fn take_offsets(
        &mut self,
        requests: &trace::Asked<'_>,
        flow: &mut Flow,
    ) -> Result<(), RunError> {
        self.requests += requests.count() as u64;
        self.lines += requests.count() as u64;
        let devices = requests.dev.chunk_by(|one, next| one == next);
        let mut end = 0;
        self.runs.extend(devices.map(|run| {
            end += run.len();
            Run {
                device: run[0],
                end,
            }
        }));
        let numbered = self
            .interner
            .intern(requests.offset, &self.runs, &mut flow.lines);
        self.runs.clear();
        numbered.ok_or_else(too_many)
    }

    /// The lines of a request that counts wait to get their numbers. Those of a very long one get
    /// them at once, behind what `flow` has.
    #[inline]
    fn request(
        &mut self,
        device: u32,
        offset: u64,
        len: u64,
        flow: &mut Flow,
    ) -> Result<(), RunError> {
        self.requests += 1;
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
        match self.drawn {
            None => self.addresses.extend(addresses),
            Some(drawn) => {
                let drawn = addresses.filter(|address| drawn.has(device, *address));
                self.addresses.extend(drawn);
            }
        }
        let end = self.addresses.len();
        match self.runs.last_mut() {
            Some(run) if run.device == device => run.end = end,
            _ => self.runs.push(Run { device, end }),
        }
    }

    /// The lines of a long request, some at a time.
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
    fn number(&mut self, flow: &mut Flow) -> Result<(), RunError> {
        if let Some(lengths) = &mut self.lengths {
            flow.lengths.append(lengths);
        }
        let numbered = self
            .interner
            .intern(&self.addresses, &self.runs, &mut flow.lines);
        self.addresses.clear();
        self.runs.clear();
        numbered.ok_or_else(too_many)
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
    fn has(self, device: u32, address: u64) -> bool {
        mix(address ^ mix(self.seed ^ u64::from(device))) < self.below
    }
}
