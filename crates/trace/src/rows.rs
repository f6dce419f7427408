//! A format that is decoded as columns, as one of records: the records are made of the columns.

use super::TraceError;
use super::columns::Columns;
use super::decode::{ColumnDecoder, Decoder, Sink, TimeMeaning};

/// A decoder of columns as one of records.
pub(crate) struct Rows<D> {
    decoder: D,
    columns: Columns,
}

impl<D: ColumnDecoder> Rows<D> {
    pub(crate) fn of(decoder: D) -> Rows<D> {
        Rows {
            decoder,
            columns: Columns::default(),
        }
    }
}

impl<D: ColumnDecoder> Decoder for Rows<D> {
    fn decode(&mut self, bytes: &[u8], last: bool, out: &mut Sink) -> Result<usize, TraceError> {
        self.columns.clear();
        let used = self.decoder.decode(bytes, last, out, &mut self.columns)?;
        let rows = 0..self.columns.count();
        out.records.extend(rows.map(|row| self.columns.record(row)));
        Ok(used)
    }

    fn columns(&mut self) -> Option<&mut dyn ColumnDecoder> {
        Some(&mut self.decoder)
    }

    fn time(&self) -> TimeMeaning {
        self.decoder.time()
    }
}
