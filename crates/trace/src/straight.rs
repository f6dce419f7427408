//! The straight way through [`Order`]: requests that come as columns and in order stay columns.
//!
//! As much is held back as of records, for a request may still come that belongs before what was
//! read. When one does, what is held becomes records, and the requests of that file are records
//! from there on: nothing has been given out too early by then, so what is given out is the same.
//! Cost: a look at each column.

use super::columns::{Asked, Columns};
use super::order::{ADDRESSES_END, FIRST_HELD, OVERSIZED_BYTES, Only, Order, Shared, TIME_MAX_NS};

impl Order {
    /// What is ready counts as given. False if requests are records by now.
    pub(crate) fn pass_columns(&mut self) -> bool {
        if self.are_records {
            return false;
        }
        self.given = self.ready;
        if self.given > self.columns.count() / 2 {
            self.columns.forget(self.given);
            self.ready -= self.given;
            self.checked -= self.given;
            self.given = 0;
        }
        true
    }

    /// Columns in order that may go out, and their times.
    pub(crate) fn ready_columns(&self) -> (Asked<'_>, &[i64]) {
        let rows = self.given..self.ready;
        (self.columns.asked(rows.clone()), &self.columns.ts[rows])
    }

    /// Its columns, for a decoder to append to.
    pub(crate) fn lend_columns(&mut self) -> Columns {
        std::mem::take(&mut self.columns)
    }

    /// Takes them back, checks what is new, and sees what may go out. False if a request came too
    /// late for columns: they have become records, and what is new is not checked.
    pub(crate) fn take_back_columns(
        &mut self,
        columns: Columns,
        shared: &mut Shared,
        ended: bool,
    ) -> bool {
        self.columns = columns;
        let times = &self.columns.ts[self.checked..];
        let steps_back = times.first().is_some_and(|first| *first < self.previous);
        if steps_back || !times.is_sorted() {
            self.be_records();
            return false;
        }
        self.check_columns(shared);
        let count = self.columns.count();
        if !ended && !self.started && count < FIRST_HELD {
            return true;
        }
        self.started = true;
        let window_ns = self.window_ns.unwrap_or(i64::MAX);
        let settled = self.newest.saturating_sub(window_ns);
        let waiting = &self.columns.ts[self.ready..];
        let ready = match ended {
            true => count,
            false => self.ready + waiting.partition_point(|ts| *ts < settled),
        };
        self.release(ready, count, |order, row| order.columns.ts[row]);
        true
    }

    /// Applies the rules to what is new. Most often no request is odd, and then each column is only
    /// looked at.
    fn check_columns(&mut self, shared: &mut Shared) {
        let (columns, new) = (&self.columns, self.checked);
        shared.understood += (columns.count() - new) as u64;
        // Limits that are powers of two: nothing is above one if all together are not.
        let lens = columns.len[new..].iter();
        let offsets = columns.offset[new..].iter();
        let is_plain = lens.fold(0, |all, len| all | len.wrapping_sub(1)) < OVERSIZED_BYTES
            && offsets.fold(0, |all, offset| all | offset) < ADDRESSES_END / 2;
        let times = [columns.ts[new..].first(), columns.ts.last()];
        let in_time = |time: &i64| time.unsigned_abs() < TIME_MAX_NS;
        if !is_plain || !times.into_iter().flatten().all(in_time) {
            let admit = |record: &_| shared.admit(record, Only::All);
            self.columns.keep(new, admit);
        }
        self.checked = self.columns.count();
        self.seen += (self.checked - new) as u64;
        self.kept += (self.checked - new) as u64;
        if let Some(last) = self.columns.ts[new..].last() {
            (self.previous, self.newest) = (*last, *last);
        }
    }

    /// Makes records of what is held as columns and not given.
    pub(crate) fn be_records(&mut self) {
        if self.are_records {
            return;
        }
        self.are_records = true;
        let columns = std::mem::take(&mut self.columns);
        let rows = self.given..columns.count();
        self.held.extend(rows.map(|row| columns.record(row)));
        self.ready -= self.given;
        self.checked -= self.given;
        self.given = 0;
    }
}
