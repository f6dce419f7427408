//! A trace made ready for replay: read once to know what it is, kept in memory if it is small.
//!
//! Every run of a grid needs the count, the highest address and the hash before it starts, so the
//! trace is read twice: once here, and once per run, from memory when it has at most [`KEPT_MAX`]
//! requests, from its files otherwise. Standard input is spooled to a temporary file as it comes,
//! for it cannot be read twice.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use nearslot_core::units::Blocks;
use nearslot_trace::spool::{Spool, spool};
use nearslot_trace::{Header, OpenOptions, Record, TraceError, TraceOp};

use crate::inspect::{self, Against, Inspection, Inspector};
use crate::survey::{Summary, Survey};
use crate::warning::{Warning, WarningKind};
use crate::workload::intake::{Intake, RecordSource, SharedRecords};
use crate::workload::layout::{self, Layout, Volumes};

/// Requests that are kept in memory at most: 112 MB.
pub const KEPT_MAX: usize = 2_000_000;

/// Words of bits that say which pieces of a group a trace touches.
const WORDS: usize = 16;
/// Pieces of a group.
const GROUP: u64 = 64 * WORDS as u64;

/// A trace that was read once.
pub struct LoadedTrace {
    header: Header,
    summary: Summary,
    /// What makes its units doubtful.
    doubts: Vec<Warning>,
    /// That its waits are those of coarse time stamps.
    coarse: Option<Warning>,
    kept: Option<Arc<[Record]>>,
    files: Vec<PathBuf>,
    how: OpenOptions,
    /// By the size of a piece: see [`LoadedTrace::footprint`].
    footprints: Mutex<BTreeMap<u64, u64>>,
    /// Kept alive as long as the trace.
    _spool: Option<Spool>,
}

/// How many requests a load will make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestCount(u64);

impl RequestCount {
    /// So many.
    pub const fn new(count: u64) -> RequestCount {
        RequestCount(count)
    }

    /// Nobody knows before the run has ended.
    pub const UNKNOWN: RequestCount = RequestCount(1 << 62);

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whether it is known.
    pub fn is_known(self) -> bool {
        self != RequestCount::UNKNOWN
    }
}

impl LoadedTrace {
    /// Reads a trace once.
    ///
    /// # Errors
    /// It cannot be read, or not most of it, or it has neither reads nor writes.
    pub fn read(files: &[PathBuf], how: &OpenOptions) -> Result<LoadedTrace, TraceError> {
        let (spool, paths) = spool(files)?;
        let mut reader = nearslot_trace::open(&paths, how)?;
        let (mut survey, mut batch) = (Survey::new(), Vec::new());
        let mut units = inspect::Units::new();
        let mut kept = Some(Vec::new());
        while reader.next_batch(&mut batch)? {
            reader.header().needs_places("a replay")?;
            survey.record(&batch);
            units.record(&batch);
            if let Some(records) = &mut kept {
                if records.len() + batch.len() > KEPT_MAX {
                    kept = None;
                } else {
                    records.extend_from_slice(&batch);
                }
            }
        }
        let mut header = reader.header().clone();
        header.needs_most_records()?;
        let (doubts, coarse) = units.doubts(&header);
        if spool.is_some() {
            header.files = files
                .iter()
                .map(|file| file.display().to_string())
                .collect();
        }
        let summary = survey.finish();
        if summary.of(TraceOp::Read).requests + summary.of(TraceOp::Write).requests == 0 {
            let what = "has neither reads nor writes, and results are response times of these";
            return Err(TraceError::unfit(what).in_file(&header.files.join(", ")));
        }
        Ok(LoadedTrace {
            header,
            summary,
            doubts,
            coarse,
            kept: kept.map(Arc::from),
            files: paths,
            how: OpenOptions {
                span: reader.span(),
                ..how.clone()
            },
            footprints: Mutex::default(),
            _spool: spool,
        })
    }

    /// Whether it has several devices exactly if `how` says how they are placed.
    ///
    /// # Errors
    /// It has several and nobody said how, or one.
    pub fn check_volumes(&self, how: Option<Volumes>) -> Result<(), TraceError> {
        layout::check(how, &self.header, &self.summary).map_err(|error| {
            TraceError::unfit(error.to_string()).in_file(&self.header.files.join(", "))
        })
    }

    /// What is known of it besides its requests.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What its requests are together.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// How many devices have requests.
    pub fn volumes(&self) -> usize {
        let used = self.summary.devices.iter();
        used.filter(|device| device.requests > 0).count()
    }

    /// The name of the device that is replayed, or how many there are.
    pub fn device(&self) -> String {
        let devices = &self.summary.devices;
        let used = devices.iter().position(|device| device.requests > 0);
        match (self.volumes(), used) {
            (1, Some(index)) => self.header.devices[index].name.clone(),
            (several, _) => format!("{several} devices"),
        }
    }

    /// Its requests, placed on a drive; again for every run.
    ///
    /// # Errors
    /// Its files cannot be opened again.
    pub fn intake(&self, layout: Layout) -> Result<Intake, TraceError> {
        Ok(Intake::new(self.source()?, layout))
    }

    /// Looks it over once more, held against a drive.
    ///
    /// # Errors
    /// Its files cannot be read again.
    pub fn inspect(&self, against: Against) -> Result<Inspection, TraceError> {
        let (mut source, mut batch) = (self.source()?, Vec::new());
        let mut inspector = Inspector::new(against);
        while source.next_batch(&mut batch)? {
            inspector.record(&batch);
        }
        Ok(inspector.finish(&self.header))
    }

    fn source(&self) -> Result<Box<dyn RecordSource>, TraceError> {
        match &self.kept {
            Some(records) => Ok(Box::new(SharedRecords::new(Arc::clone(records)))),
            None => Ok(Box::new(nearslot_trace::open(&self.files, &self.how)?)),
        }
    }

    /// How many requests a replay makes, when those that `layout` leaves out are not counted.
    ///
    /// # Errors
    /// Its files cannot be read again.
    pub fn count(&self, layout: &Layout) -> Result<RequestCount, TraceError> {
        let other = self.summary.operations[TraceOp::Other as usize].requests;
        let mut count = self.summary.requests - other;
        if layout.leaves_out() {
            let (mut source, mut batch) = (self.source()?, Vec::new());
            while source.next_batch(&mut batch)? {
                let beyond = |record: &&Record| {
                    let placed = !matches!(record.op, TraceOp::Flush | TraceOp::Other);
                    placed && layout.place(record).is_none()
                };
                count -= batch.iter().filter(beyond).count() as u64;
            }
        }
        Ok(RequestCount(count))
    }

    /// How many pieces of so many bytes its reads and writes touch.
    ///
    /// # Errors
    /// Its files cannot be read again.
    pub fn footprint(&self, piece: u64) -> Result<u64, TraceError> {
        let mut known = self.footprints.lock().expect("nobody panicked with it");
        if let Some(count) = known.get(&piece) {
            return Ok(*count);
        }
        let (mut source, mut batch) = (self.source()?, Vec::new());
        let mut touched: BTreeMap<(u32, u64), [u64; WORDS]> = BTreeMap::new();
        while source.next_batch(&mut batch)? {
            for record in &batch {
                if !matches!(record.op, TraceOp::Read | TraceOp::Write) || record.len == 0 {
                    continue;
                }
                let last = (record.offset + record.len - 1) / piece;
                for number in record.offset / piece..=last {
                    let group = (record.dev, number / GROUP);
                    let bits = touched.entry(group).or_insert([0; WORDS]);
                    bits[(number % GROUP / 64) as usize] |= 1 << (number % 64);
                }
            }
        }
        let words = touched.values().flatten();
        let count = words.map(|word| u64::from(word.count_ones())).sum();
        known.insert(piece, count);
        Ok(count)
    }

    /// Blocks that a drive must have for it.
    pub fn end(&self) -> Blocks {
        Blocks(self.summary.end_bytes().div_ceil(512))
    }

    /// That waits between its requests are those of coarse time stamps, if they are; a closed
    /// replay does without.
    pub fn coarse(&self) -> Option<&Warning> {
        self.coarse.as_ref()
    }

    /// What a reader of results ought to know of it.
    pub fn warnings(&self) -> Vec<Warning> {
        let notes = self.header.notes.iter();
        let mut warnings = Vec::from_iter(notes.map(|note| Warning::new(WarningKind::Note, note)));
        warnings.extend(inspect::lost(&self.header, self.summary.requests));
        warnings.extend(inspect::left_out(&self.header));
        warnings.extend_from_slice(&self.doubts);
        warnings
    }
}
