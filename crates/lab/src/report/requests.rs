//! One row a request: what it was, when it came, began began and was answered, how it ended, and
//! where its time went. Within a run, rows are in the order of the answers.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, UInt64Array};
use arrow_schema::{DataType, Field};
use nearslot_core::request::Reply;

use super::rows::{BATCH_ROWS, Rows, op_code, op_column, status_code, status_column, words_field};

/// Quantities of a row, in the order of the columns.
const QUANTITIES: [&str; 11] = [
    "id",
    "stream",
    "lba",
    "blocks",
    "arrival_ns",
    "start_ns",
    "completion_ns",
    "seek_ns",
    "rotation_ns",
    "transfer_ns",
    "overhead_ns",
];

/// Answered requests.
#[derive(Default)]
pub struct RequestRows {
    op: Vec<i32>,
    status: Vec<i32>,
    warmup: Vec<bool>,
    quantities: [Vec<u64>; QUANTITIES.len()],
}

impl RequestRows {
    /// Adds an answered request; `warmup` says that the summary does not count it.
    pub fn push(&mut self, reply: &Reply, warmup: bool) {
        let (request, timeline) = (&reply.request, &reply.timeline);
        if self.op.capacity() == 0 {
            self.reserve();
        }
        self.op.push(op_code(request.op));
        self.status.push(status_code(reply.status));
        self.warmup.push(warmup);
        let row = [
            request.id.0,
            request.stream.0.into(),
            request.extent.start.0,
            request.extent.len.0,
            timeline.arrived.0,
            timeline.started.0,
            timeline.replied.0,
            timeline.cost.seek.0,
            timeline.cost.rotation.0,
            timeline.cost.transfer.0,
            timeline.cost.overhead.0,
        ];
        for (column, value) in self.quantities.iter_mut().zip(row) {
            column.push(value);
        }
    }

    fn reserve(&mut self) {
        self.op.reserve_exact(BATCH_ROWS);
        self.status.reserve_exact(BATCH_ROWS);
        self.warmup.reserve_exact(BATCH_ROWS);
        self.quantities
            .iter_mut()
            .for_each(|column| column.reserve_exact(BATCH_ROWS));
    }
}

impl Rows for RequestRows {
    fn fields() -> Vec<Field> {
        let mut fields = vec![
            words_field("op"),
            words_field("status"),
            Field::new("warmup", DataType::Boolean, false),
        ];
        fields.extend(QUANTITIES.map(|name| Field::new(name, DataType::UInt64, false)));
        fields
    }

    fn len(&self) -> usize {
        self.op.len()
    }

    fn columns(self) -> Vec<ArrayRef> {
        let mut columns: Vec<ArrayRef> = vec![
            op_column(self.op),
            status_column(self.status),
            Arc::new(BooleanArray::from(self.warmup)),
        ];
        for quantity in self.quantities {
            columns.push(Arc::new(UInt64Array::from(quantity)));
        }
        columns
    }
}
