//! Requests as the tracers of Linux print them: what their texts say alike becomes records here.

use super::decode::{Anomaly, Sink, TimeKind};
use super::pairing::{Pairing, Step};
use super::record::{Flags, Record};
use super::rwbs::Rwbs;
use super::text::{DeviceNumbers, Odd, SECTOR_BYTES};

/// What a line says of a request.
pub(super) struct Traced<'a> {
    pub(super) step: Step,
    pub(super) ts: i64,
    pub(super) major: u64,
    pub(super) minor: u64,
    pub(super) rwbs: Rwbs,
    pub(super) sector: u64,
    pub(super) bytes: u64,
    pub(super) priority: Option<u16>,
    /// Whether it is a completion that carries an error.
    pub(super) failed: bool,
    /// Who caused it; asked of the arrival alone.
    pub(super) comm: &'a [u8],
}

/// Whether what stands in the brackets behind a completion is an error; 0 is none.
pub(super) fn is_error(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    digits.iter().all(u8::is_ascii_digit) && digits.iter().any(|digit| *digit != b'0')
}

/// Makes records of lines.
#[derive(Default)]
pub(super) struct TracedRequests {
    pairing: Pairing,
    devices: DeviceNumbers,
}

impl TracedRequests {
    /// Takes what a line says.
    #[inline(always)]
    pub(super) fn take(&mut self, traced: &Traced<'_>, out: &mut Sink) -> Result<(), Odd> {
        let bytes = traced.bytes;
        // A flush has no address, whatever is printed there.
        let sector = if bytes == 0 { 0 } else { traced.sector };
        let offset = sector.checked_mul(SECTOR_BYTES).ok_or(Odd::BEYOND)?;
        let dev = self.devices.number(traced.major, traced.minor, out);
        let mut record = Record::new(traced.ts, traced.rwbs.op(bytes), offset, bytes, dev);
        record.flags = traced.rwbs.flags;
        if let Some(priority) = traced.priority {
            record.flags = record.flags.with(Flags::PRIORITY);
            record.priority = priority;
        }
        if traced.failed {
            record.flags = record.flags.with(Flags::FAILED);
            out.anomalies.count(Anomaly::Failed);
        }
        if self.pairing.may_arrive(traced.step) {
            record.client = out.clients.intern(traced.comm);
        }
        self.pairing.event(traced.step, record, out);
        Ok(())
    }

    /// Takes a command that the block layer only passes on: it carries no data of ours, and is
    /// counted when it is issued.
    pub(super) fn passed_through(step: Step) -> Result<(), Odd> {
        match step {
            Step::Issue => Err(Odd::Left(
                Anomaly::NotData,
                "a command that is passed through",
            )),
            _ => Ok(()),
        }
    }

    /// No line follows.
    pub(super) fn finish(&mut self, out: &mut Sink) {
        self.pairing.finish(out);
    }

    /// What the records' times are.
    pub(super) fn kind(&self) -> TimeKind {
        self.pairing.kind()
    }
}
