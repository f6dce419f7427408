//! Looks a trace over: what is in it, whether it is sane, and what to know before believing it.
//!
//! One pass over the batches of a reader, in bounded memory (about 60 MB, most of it for the
//! footprint; twice that with a million clients). Each part of the inspection has a counter of its
//! own, which sees every batch; nothing is kept of a record but what counters keep. [`Pictures`]
//! cost extra and are counted on request.

mod arrivals;
mod findings;
mod heat;
mod inspection;
mod observed;
mod painter;
mod pictures;
mod reuse;
mod sequence;
mod sizes;
mod sketch;
mod text;
mod timeline;
mod touched;
mod warnings;

use std::collections::BTreeMap;

use nearslot_core::units::{BLOCK_BYTES, Blocks};
use nearslot_trace::{Anomaly, Header, Record, Spread, TimeKind, TraceError, TraceOp, TraceReader};

pub use inspection::*;
use painter::Painter;
pub use pictures::*;

use crate::number::grouped;
use crate::program;
use crate::survey::{DeviceSummary, Summary, Survey, Volume};
use crate::warning::Warning;

/// Pages of the footprint and of working sets: 4 KiB.
const PAGE_BITS: u32 = 12;
/// Longer requests are not walked page by page: no device takes them, so the length is not one.
const OUTSIZED_BYTES: u64 = 1 << 30;

/// What to hold a trace against.
#[derive(Clone, Debug, Default)]
pub struct Against {
    /// Name and capacity of a drive that it is to be replayed on.
    pub drive: Option<(String, Blocks)>,
}

/// A pass over a trace that has not ended.
pub struct Inspector {
    against: Against,
    survey: Survey,
    sizes: sizes::SizeCounter,
    touched: touched::Touched,
    timeline: timeline::TimelineCounter,
    arrivals: arrivals::ArrivalCounter,
    sequence: sequence::SequenceCounter,
    observed: observed::Observed,
    /// Requests by client.
    clients: Vec<u64>,
    painter: Option<Painter>,
    /// Requests behind the end of the drive.
    beyond: u64,
    /// Media requests of which neither offset nor length is a multiple of 512 bytes.
    odd: u64,
}

/// Lets `inspector` see everything that `reader` has left.
///
/// # Errors
/// The trace cannot be read to its end.
pub fn inspect(
    reader: &mut TraceReader,
    mut inspector: Inspector,
) -> Result<Inspection, TraceError> {
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch)? {
        inspector.record(&batch);
    }
    Ok(inspector.finish(reader.header()))
}

impl Inspector {
    /// A pass that has seen nothing, without pictures.
    pub fn new(against: Against) -> Inspector {
        Inspector {
            against,
            survey: Survey::new(),
            sizes: sizes::SizeCounter::new(),
            touched: touched::Touched::new(),
            timeline: timeline::TimelineCounter::new(),
            arrivals: arrivals::ArrivalCounter::new(),
            sequence: sequence::SequenceCounter::default(),
            observed: observed::Observed::default(),
            clients: Vec::new(),
            painter: None,
            beyond: 0,
            odd: 0,
        }
    }

    /// A pass that also counts what pictures are drawn from.
    pub fn with_pictures(against: Against) -> Inspector {
        Inspector {
            painter: Some(Painter::new()),
            ..Inspector::new(against)
        }
    }

    /// Takes the next records of the trace.
    pub fn record(&mut self, batch: &[Record]) {
        self.survey.record(batch);
        self.sizes.record(batch);
        self.touched.record(batch);
        self.timeline.record(batch);
        self.arrivals.record(batch);
        self.sequence.record(batch);
        self.observed.record(batch);
        if let Some(painter) = &mut self.painter {
            painter.record(batch);
        }
        self.count(batch);
    }

    fn count(&mut self, batch: &[Record]) {
        let capacity = self
            .against
            .drive
            .as_ref()
            .map_or(u64::MAX, |(_, blocks)| blocks.bytes());
        for record in batch {
            let client = record.client as usize;
            if client >= self.clients.len() {
                self.clients.resize(client + 1, 0);
            }
            self.clients[client] += 1;
            self.beyond += u64::from(record.len > 0 && record.end() > capacity);
            let odd = |bytes: u64| !bytes.is_multiple_of(BLOCK_BYTES);
            let media = record.op.is_media();
            self.odd += u64::from(media && odd(record.offset) && odd(record.len));
        }
    }

    /// What all records together are; `header` is the reader's, after its last batch.
    pub fn finish(self, header: &Header) -> Inspection {
        let summary = self.survey.finish();
        let arrivals = self.arrivals.arrivals();
        let span_s = self.arrivals.span_s();
        let mut inspection = Inspection {
            schema: SCHEMA,
            version: program::VERSION.to_owned(),
            build: program::build().to_owned(),
            format: header.format.clone(),
            format_version: header.version.clone(),
            files: header.files.clone(),
            notes: notes(header, &summary),
            hash: summary.hash_hex(),
            requests: summary.requests,
            limited: header.limited,
            span: header.span,
            span_s,
            time: times(header, &self.arrivals),
            operations: operations(&summary),
            read_share: share_of_reads(|op| u128::from(summary.of(op).requests)),
            read_bytes_share: share_of_reads(|op| summary.of(op).bytes),
            devices: devices(&summary, header),
            clients: clients(&self.clients, header),
            sizes: self.sizes.sizes(),
            alignment: self.sizes.alignment(),
            footprint: self.touched.footprint(),
            timeline: self.timeline.timeline(),
            sequentiality: self.sequence.sequentiality(),
            throughput: throughput(&summary, span_s, self.arrivals.peak_1s_bytes()),
            arrivals,
            response: self.observed.response(),
            service: self.observed.service(),
            queue: self.observed.queue(),
            anomalies: oddities(header),
            lost_share: lost_share(summary.requests, header.anomalies.of(Anomaly::Lost)),
            warnings: Vec::new(),
            pictures: self.painter.map(|painter| painter.pictures(header)),
        };
        inspection.forget_unknown(header);
        let more = warnings::More {
            summary: &summary,
            against: &self.against,
            beyond: self.beyond,
            odd: self.odd,
            understood: header.understood,
            placed: !header.object_ids,
        };
        inspection.warnings = warnings::warnings(&inspection, &more);
        findings::tell(&mut inspection);
        inspection
    }
}

/// How the trace was understood, and what it says of its writes.
fn notes(header: &Header, summary: &Summary) -> Vec<String> {
    let mut notes = header.notes.clone();
    if summary.freedom_told > 0 {
        let told = match summary.freedom_told {
            1 => "1 write says how far it may move".to_owned(),
            told => format!("{} writes say how far they may move", grouped(told)),
        };
        notes.push(format!("{told}; `--offer told` goes by that"));
    }
    notes
}

/// What times a trace has.
fn times(header: &Header, arrivals: &arrivals::ArrivalCounter) -> Times {
    let spread_out = matches!(header.spread, Some(how) if how != Spread::None);
    Times {
        kind: header.time_kind,
        resolution_ns: header.resolution_ns,
        step_ns: match spread_out {
            true => header.stamp_step_ns,
            false => arrivals.step_ns(),
        },
        epoch_unix_ns: header.epoch_unix_ns,
        spread: header.spread,
    }
}

/// Judges the units of a trace by its first requests, while it is read for something else.
pub struct Units {
    first: Inspector,
    left: usize,
}

impl Units {
    /// So many of the first requests are judged.
    const JUDGED: usize = 100_000;

    /// A judge that has seen nothing.
    pub fn new() -> Units {
        Units {
            first: Inspector::new(Against::default()),
            left: Units::JUDGED,
        }
    }

    /// Takes the next records of the trace.
    pub fn record(&mut self, batch: &[Record]) {
        let taken = self.left.min(batch.len());
        self.first.record(&batch[..taken]);
        self.left -= taken;
    }

    /// What no system does unless a unit is wrong, and that waits are those of coarse stamps;
    /// `header` is the reader's, after its last batch.
    pub fn doubts(self, header: &Header) -> (Vec<Warning>, Option<Warning>) {
        let found = self.first.finish(header).warnings;
        let coarse = found
            .iter()
            .find(|warning| warnings::tells_coarse_times(warning));
        let coarse = coarse.cloned();
        let doubts = found.into_iter().filter(warnings::doubts_a_unit);
        (doubts.collect(), coarse)
    }
}

impl Default for Units {
    fn default() -> Units {
        Units::new()
    }
}

impl Inspection {
    /// Leaves out what only times or addresses can tell, where there are none.
    fn forget_unknown(&mut self, header: &Header) {
        if header.time_kind == TimeKind::None {
            self.queue = None;
            self.arrivals.gaps = GapOctaves::default();
            if let Some(pictures) = &mut self.pictures {
                pictures.heat = None;
            }
        }
        if !header.object_ids {
            return;
        }
        let footprint = &mut self.footprint;
        footprint.bytes = None;
        (
            footprint.read_pages_again_share,
            footprint.written_pages_again_share,
        ) = (None, None);
        self.timeline.working_set_mib.clear();
    }
}

fn operations(summary: &Summary) -> BTreeMap<&'static str, Operation> {
    let operation = |op: TraceOp| {
        let Volume { requests, bytes } = summary.of(op);
        (requests > 0).then_some((op.name(), Operation { requests, bytes }))
    };
    TraceOp::ALL.into_iter().filter_map(operation).collect()
}

fn share_of_reads(of: impl Fn(TraceOp) -> u128) -> Option<f64> {
    let (reads, writes) = (of(TraceOp::Read), of(TraceOp::Write));
    (reads + writes > 0).then(|| reads as f64 / (reads + writes) as f64)
}

fn device_name(header: &Header, dev: usize) -> String {
    let device = header.devices.get(dev);
    device.map_or_else(|| dev.to_string(), |device| device.name.clone())
}

fn devices(summary: &Summary, header: &Header) -> Vec<Device> {
    let device = |(dev, found): (usize, &DeviceSummary)| {
        (found.requests > 0).then(|| Device {
            name: device_name(header, dev),
            requests: found.requests,
            reads: found.reads,
            writes: found.writes,
            end_bytes: found.end_bytes,
        })
    };
    let mut devices: Vec<Device> = summary
        .devices
        .iter()
        .enumerate()
        .filter_map(device)
        .collect();
    devices.sort_by(|a, b| {
        b.requests
            .cmp(&a.requests)
            .then_with(|| a.name.cmp(&b.name))
    });
    devices
}

fn clients(requests: &[u64], header: &Header) -> Clients {
    let named = requests
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, requests)| **requests > 0);
    let client = |(client, requests): (usize, &u64)| Client {
        name: header
            .clients
            .get(client)
            .map_or_else(|| client.to_string(), Clone::clone),
        requests: *requests,
    };
    let mut busiest: Vec<Client> = named.map(client).collect();
    let count = busiest.len() as u64;
    busiest.sort_by(|a, b| {
        b.requests
            .cmp(&a.requests)
            .then_with(|| a.name.cmp(&b.name))
    });
    busiest.truncate(Clients::BUSIEST_MAX);
    Clients { count, busiest }
}

fn throughput(summary: &Summary, span_s: f64, peak_1s_bytes: Option<u128>) -> Throughput {
    let (read, written) = (
        summary.of(TraceOp::Read).bytes,
        summary.of(TraceOp::Write).bytes,
    );
    let rate = |bytes: u128| (span_s > 0.0).then(|| bytes as f64 / 1e6 / span_s);
    Throughput {
        mean_mb_s: rate(read + written),
        read_mb_s: rate(read),
        write_mb_s: rate(written),
        peak_1s_mb_s: peak_1s_bytes.map(|bytes| bytes as f64 / 1e6),
    }
}

/// What of a trace that was read to its end is not among its requests.
pub fn left_out(header: &Header) -> Vec<Warning> {
    let oddities = oddities(header);
    let told = oddities
        .iter()
        .filter_map(|oddity| warnings::left_out(oddity, header.understood));
    told.collect()
}

/// That the tracer lost events of a trace with so many requests, if it lost too many.
pub fn lost(header: &Header, requests: u64) -> Option<Warning> {
    let count = header.anomalies.of(Anomaly::Lost);
    warnings::lost(count, lost_share(requests, count))
}

fn lost_share(kept: u64, lost: u64) -> f64 {
    match kept + lost {
        0 => 0.0,
        all => lost as f64 / all as f64,
    }
}

fn oddities(header: &Header) -> Vec<Oddity> {
    let oddity = |(kind, count)| {
        let examples = header.anomalies.examples().iter();
        let of_kind = examples.filter(|(other, _)| *other == kind);
        Oddity {
            kind,
            count,
            examples: of_kind.map(|(_, example)| example.clone()).collect(),
        }
    };
    header.anomalies.iter().map(oddity).collect()
}

#[cfg(test)]
mod tests;
