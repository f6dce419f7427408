//! Requests as columns: what they ask for, one kind of fact beside the other.
//!
//! Records have a place for all that any format tells of a request, and pass several stages.
//! Whoever wants no more than what is asked for, in the order of time, may have columns instead
//! ([`super::TraceReader::next_columns`]). A format whose requests are no more than that decodes
//! them as columns ([`super::decode::ColumnDecoder`]); its records are made of these
//! ([`super::rows::Rows`]), so there is one way of decoding it.

use super::record::{Record, TraceOp};

/// Requests in columns of equal lengths.
#[derive(Default)]
pub(crate) struct Columns {
    /// Arrivals in ns, by the format's own clock.
    pub(crate) ts: Vec<i64>,
    pub(crate) op: Vec<TraceOp>,
    pub(crate) dev: Vec<u32>,
    pub(crate) offset: Vec<u64>,
    pub(crate) len: Vec<u64>,
}

/// What some requests ask for, in the order of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked<'a> {
    /// What each of them does.
    pub op: &'a [TraceOp],
    /// Indices into the trace's device names.
    pub dev: &'a [u32],
    /// First bytes.
    pub offset: &'a [u64],
    /// Bytes.
    pub len: &'a [u64],
}

impl<'a> Asked<'a> {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.op.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.op.is_empty()
    }

    /// The first `count` of them, and the others.
    #[must_use]
    pub fn split_at(&self, count: usize) -> (Asked<'a>, Asked<'a>) {
        let (op, dev) = (self.op.split_at(count), self.dev.split_at(count));
        let (offset, len) = (self.offset.split_at(count), self.len.split_at(count));
        let side = |op, dev, offset, len| Asked {
            op,
            dev,
            offset,
            len,
        };
        (
            side(op.0, dev.0, offset.0, len.0),
            side(op.1, dev.1, offset.1, len.1),
        )
    }
}

impl Columns {
    pub(crate) fn count(&self) -> usize {
        self.ts.len()
    }

    /// What these ask for.
    pub(crate) fn asked(&self, rows: std::ops::Range<usize>) -> Asked<'_> {
        Asked {
            op: &self.op[rows.clone()],
            dev: &self.dev[rows.clone()],
            offset: &self.offset[rows.clone()],
            len: &self.len[rows],
        }
    }

    pub(crate) fn record(&self, row: usize) -> Record {
        let (offset, len) = (self.offset[row], self.len[row]);
        Record::new(self.ts[row], self.op[row], offset, len, self.dev[row])
    }

    /// Appends what columns hold of a record.
    pub(crate) fn push(&mut self, record: &Record) {
        self.ts.push(record.ts);
        self.op.push(record.op);
        self.dev.push(record.dev);
        self.offset.push(record.offset);
        self.len.push(record.len);
    }

    /// Leaves out the first rows.
    pub(crate) fn forget(&mut self, rows: usize) {
        self.ts.drain(..rows);
        self.op.drain(..rows);
        self.dev.drain(..rows);
        self.offset.drain(..rows);
        self.len.drain(..rows);
    }

    /// Leaves out rows from this one on, but for those that stay.
    pub(crate) fn keep(&mut self, from: usize, mut stays: impl FnMut(&Record) -> bool) {
        let rest = self.split_off(from);
        for row in 0..rest.count() {
            let record = rest.record(row);
            if stays(&record) {
                self.push(&record);
            }
        }
    }

    fn split_off(&mut self, from: usize) -> Columns {
        Columns {
            ts: self.ts.split_off(from),
            op: self.op.split_off(from),
            dev: self.dev.split_off(from),
            offset: self.offset.split_off(from),
            len: self.len.split_off(from),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.forget(self.count());
    }
}
