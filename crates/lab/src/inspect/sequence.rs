//! Whether requests go on where the one before ended.
//!
//! The one before on the same device, and the one before on the same device by the same client:
//! interleaved streams hide from the first and show in the second. One table look-up per request,
//! none while the same stream goes on.

use nearslot_trace::Record;

use super::inspection::Sequentiality;
use crate::hash::NumberMap;

/// Streams remembered at most; then all are forgotten and begin anew.
const STREAMS_MAX: usize = 1 << 20;

/// Runs so far.
#[derive(Default)]
pub(super) struct SequenceCounter {
    requests: u64,
    on_device: u64,
    in_stream: u64,
    /// First byte behind the last request, by device; a request never begins at 0 by continuing.
    device_ends: Vec<u64>,
    stream_ends: NumberMap<u64, u64>,
}

impl SequenceCounter {
    pub(super) fn record(&mut self, batch: &[Record]) {
        for record in batch.iter().filter(|record| record.op.is_media()) {
            let dev = record.dev as usize;
            if dev >= self.device_ends.len() {
                self.device_ends.resize(dev + 1, 0);
            }
            if self.stream_ends.len() >= STREAMS_MAX {
                self.stream_ends.clear();
            }
            let stream = u64::from(record.dev) << 32 | u64::from(record.client);
            let before_on_device = std::mem::replace(&mut self.device_ends[dev], record.end());
            let before_in_stream = self.stream_ends.insert(stream, record.end());
            let continues = |before: u64| u64::from(before == record.offset && before > 0);
            self.requests += 1;
            self.on_device += continues(before_on_device);
            self.in_stream += before_in_stream.map_or(0, continues);
        }
    }

    pub(super) fn sequentiality(&self) -> Sequentiality {
        let share = |count: u64| match self.requests {
            0 => 0.0,
            all => count as f64 / all as f64,
        };
        Sequentiality {
            device_share: share(self.on_device),
            stream_share: share(self.in_stream),
        }
    }
}

#[cfg(test)]
mod tests {
    use nearslot_trace::TraceOp;

    use super::*;

    #[test]
    fn interleaved_streams_are_sequential_each() {
        let mut records = Vec::new();
        for step in 0..10 {
            for client in 1..=2 {
                let offset = u64::from(client) * 1_000_000 + step * 512;
                let record = Record::new(0, TraceOp::Read, offset, 512, 0);
                records.push(Record { client, ..record });
            }
        }
        let mut counter = SequenceCounter::default();
        counter.record(&records);
        let found = counter.sequentiality();
        assert!(found.device_share.abs() < 1e-12);
        assert!((found.stream_share - 18.0 / 20.0).abs() < 1e-12);
    }

    #[test]
    fn devices_and_flushes_do_not_disturb() {
        let mut counter = SequenceCounter::default();
        counter.record(&[
            Record::new(0, TraceOp::Read, 0, 512, 0),
            Record::new(0, TraceOp::Write, 512, 512, 1),
            Record::new(0, TraceOp::Flush, 0, 0, 0),
            Record::new(0, TraceOp::Write, 512, 512, 0),
            Record::new(0, TraceOp::Read, 0, 512, 0),
        ]);
        assert!((counter.sequentiality().device_share - 0.25).abs() < 1e-12);
    }
}
