//! Sorts a whole trace, however long and however far out of order, for when a reorder window does
//! not reach.
//!
//! Requests are collected up to [`RUN_RECORDS`], sorted and written to a temporary file, and the
//! files merged (Knuth, The Art of Computer Programming 3, 5.4). Both steps keep the order of equal
//! times, so the result is that of one stable sort. A trace that fits into one run never touches
//! the disk. Cost: each request is written and read once, 56 bytes.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};

use super::TraceError;
use super::decode::TimeMeaning;
use super::merge::{Feed, Merge, shift_of};
use super::order::Shared;
use super::record::{Flags, Record, TraceOp};

/// Requests that are sorted in memory at a time (59 MB, and half as much to sort them).
const RUN_RECORDS: usize = 1 << 20;

/// Requests of a run that are held while runs are merged.
const PORTION_RECORDS: usize = 2048;

/// Bytes of a request in a run.
const RECORD_BYTES: usize = 56;

/// All requests of some inputs, sorted.
pub(crate) struct Sorted {
    inputs: Vec<Box<dyn Feed>>,
    /// The runs, once all has been read.
    merge: Option<Merge>,
    ready: Vec<Record>,
    given: usize,
    run_records: usize,
}

impl Sorted {
    /// The inputs give their requests as they stand in the file.
    pub(crate) fn new(inputs: Vec<Box<dyn Feed>>) -> Sorted {
        Sorted {
            inputs,
            merge: None,
            ready: Vec::new(),
            given: 0,
            run_records: RUN_RECORDS,
        }
    }

    /// Reads everything; what is left at the end stays in memory as the last run.
    fn collect(&mut self, shared: &mut Shared) -> Result<Merge, TraceError> {
        let mut runs: Vec<Box<dyn Feed>> = Vec::new();
        let mut held: Vec<Record> = Vec::new();
        let mut epoch = None;
        for input in &mut self.inputs {
            loop {
                input.fill(shared)?;
                let ready = input.ready();
                if ready.is_empty() {
                    break;
                }
                let began = input.time().epoch_unix_ns;
                let shift = shift_of(*epoch.get_or_insert(began), began);
                held.extend(ready.iter().map(|record| Record {
                    ts: record.ts + shift,
                    ..*record
                }));
                let count = ready.len();
                input.take(count);
                if held.len() >= self.run_records {
                    runs.push(Box::new(Run::spill(&mut held).map_err(on_disk)?));
                }
            }
        }
        held.sort_by_key(|record| record.ts);
        runs.push(Box::new(Run::in_memory(held)));
        Ok(Merge::new(runs))
    }
}

impl Feed for Sorted {
    fn fill(&mut self, shared: &mut Shared) -> Result<(), TraceError> {
        if self.given < self.ready.len() {
            return Ok(());
        }
        if self.merge.is_none() {
            self.merge = Some(self.collect(shared)?);
        }
        self.ready.clear();
        self.given = 0;
        match &mut self.merge {
            Some(merge) => merge.fill(shared, PORTION_RECORDS, &mut self.ready),
            None => Ok(()),
        }
    }

    fn ready(&self) -> &[Record] {
        &self.ready[self.given..]
    }

    fn take(&mut self, count: usize) {
        self.given += count;
        assert!(self.given <= self.ready.len(), "took more than was ready");
    }

    fn time(&self) -> TimeMeaning {
        self.inputs[0].time()
    }

    fn told(&self) -> Vec<(&str, TimeMeaning)> {
        self.inputs.iter().flat_map(|input| input.told()).collect()
    }

    fn stop(&mut self, shared: &mut Shared) {
        for input in &mut self.inputs {
            input.stop(shared);
        }
    }
}

/// Requests in order, on disk or, the last ones, in memory.
struct Run {
    file: Option<BufReader<File>>,
    ready: Vec<Record>,
    given: usize,
}

impl Run {
    fn in_memory(ready: Vec<Record>) -> Run {
        Run {
            file: None,
            ready,
            given: 0,
        }
    }

    fn spill(held: &mut Vec<Record>) -> std::io::Result<Run> {
        held.sort_by_key(|record| record.ts);
        let mut to = BufWriter::new(tempfile::tempfile()?);
        for record in held.drain(..) {
            to.write_all(&bytes_of(&record))?;
        }
        let mut file = to
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(Run {
            file: Some(BufReader::with_capacity(
                PORTION_RECORDS * RECORD_BYTES,
                file,
            )),
            ready: Vec::new(),
            given: 0,
        })
    }

    fn read(&mut self) -> std::io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        self.ready.clear();
        self.given = 0;
        let mut bytes = Vec::with_capacity(PORTION_RECORDS * RECORD_BYTES);
        file.by_ref()
            .take((PORTION_RECORDS * RECORD_BYTES) as u64)
            .read_to_end(&mut bytes)?;
        self.ready
            .extend(bytes.as_chunks::<RECORD_BYTES>().0.iter().map(record_of));
        Ok(())
    }
}

impl Feed for Run {
    fn fill(&mut self, _: &mut Shared) -> Result<(), TraceError> {
        if self.given < self.ready.len() {
            return Ok(());
        }
        self.read().map_err(on_disk)
    }

    fn ready(&self) -> &[Record] {
        &self.ready[self.given..]
    }

    fn take(&mut self, count: usize) {
        self.given += count;
    }

    fn time(&self) -> TimeMeaning {
        TimeMeaning {
            resolution_ns: 1,
            kind: super::TimeKind::Arrival,
            epoch_unix_ns: None,
        }
    }

    fn stop(&mut self, _: &mut Shared) {}
}

fn on_disk(source: std::io::Error) -> TraceError {
    TraceError::Io {
        path: format!(
            "temporary file for sorting in {}",
            std::env::temp_dir().display()
        ),
        source,
    }
}

fn bytes_of(record: &Record) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    bytes[0..8].copy_from_slice(&record.ts.to_le_bytes());
    bytes[8..16].copy_from_slice(&record.offset.to_le_bytes());
    bytes[16..24].copy_from_slice(&record.len.to_le_bytes());
    bytes[24..32].copy_from_slice(&record.service_ns.to_le_bytes());
    bytes[32..40].copy_from_slice(&record.response_ns.to_le_bytes());
    bytes[40..44].copy_from_slice(&record.dev.to_le_bytes());
    bytes[44..48].copy_from_slice(&record.client.to_le_bytes());
    bytes[48..50].copy_from_slice(&record.flags.0.to_le_bytes());
    bytes[50..52].copy_from_slice(&record.priority.to_le_bytes());
    bytes[52] = record.op as u8;
    bytes
}

fn record_of(bytes: &[u8; RECORD_BYTES]) -> Record {
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    Record {
        ts: u64_at(0).cast_signed(),
        offset: u64_at(8),
        len: u64_at(16),
        service_ns: u64_at(24),
        response_ns: u64_at(32),
        dev: u32_at(40),
        client: u32_at(44),
        flags: Flags(u16_at(48)),
        priority: u16_at(50),
        op: TraceOp::ALL[usize::from(bytes[52])],
    }
}

#[cfg(test)]
mod tests {
    use nearslot_core::rng::Rng;

    use super::*;
    use crate::decode::Sink;
    use crate::header::Census;

    fn sorted(records: &[Record], run_records: usize) -> Vec<Record> {
        let mut shared = Shared {
            sink: Sink::default(),
            only_device: None,
            left_out: Census::default(),
            understood: 0,
            late: false,
        };
        let halves = records.split_at(records.len() / 2);
        let inputs = [halves.0, halves.1]
            .map(|part| Box::new(Run::in_memory(part.to_vec())) as Box<dyn Feed>);
        let mut sorted = Sorted {
            run_records,
            ..Sorted::new(inputs.into())
        };
        let mut all = Vec::new();
        loop {
            sorted.fill(&mut shared).unwrap();
            let ready = sorted.ready();
            if ready.is_empty() {
                return all;
            }
            all.extend_from_slice(ready);
            let count = ready.len();
            sorted.take(count);
        }
    }

    #[test]
    fn runs_on_disk_are_one_stable_sort() {
        let mut rng = Rng::stream(3, "sort");
        let records: Vec<Record> = (0..10_000)
            .map(|i| Record {
                service_ns: rng.bits(),
                client: 7,
                flags: Flags::SYNC,
                priority: 9,
                // Few different times, so that the order of equals shows.
                ..Record::new(
                    rng.below(50) as i64 - 25,
                    TraceOp::ALL[i % 6],
                    rng.bits(),
                    i as u64,
                    3,
                )
            })
            .collect();
        let mut expected = records.clone();
        expected.sort_by_key(|record| record.ts);
        for run_records in [1, 777, 5_000, RUN_RECORDS] {
            let run_records = run_records.max(100);
            assert!(sorted(&records, run_records) == expected, "{run_records}");
        }
    }
}
