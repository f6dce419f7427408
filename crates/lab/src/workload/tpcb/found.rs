//! What is counted of a system of transactions, over the whole run.

use nearslot_core::measure::Measure;
use nearslot_core::request::Timeline;
use nearslot_core::units::{Duration, Instant};

use super::journal::Counts;
use crate::outcome::Number;

/// What is told.
pub(super) const MEASURES: &[Measure] = &[
    Measure::count(
        "transactions",
        "transactions",
        "transactions that were committed, over the whole run",
    ),
    Measure::quantity(
        "transactions_s",
        "1/s",
        "transactions a second, until the last commit; none if the journal gave up, or nothing was committed",
    ),
    Measure::count(
        "gave_up",
        "times",
        "1 if the journal wrote nothing any more before all transactions were committed, as a request failed that it needs",
    ),
    Measure::count("commits", "commits", "commits, over the whole run"),
    Measure::quantity(
        "commit_block_ms",
        "ms",
        "how long a commit block took, on average over the whole run",
    ),
    Measure::quantity(
        "commit_block_rotation_ms",
        "ms",
        "how long a commit block waited for the platter, on average over the whole run; where it took several I/Os side by side, the share of the time that went by which they spent so",
    ),
    Measure::quantity(
        "data_ms",
        "ms",
        "how long a write of descriptor and data took, on average over the whole run",
    ),
    Measure::quantity(
        "data_rotation_ms",
        "ms",
        "how long a write of descriptor and data waited for the platter, on average over the whole run; where it took several I/Os side by side, the share of the time that went by which they spent so",
    ),
    Measure::count(
        "log_blocks",
        "blocks of 4 KiB",
        "blocks that the journal wrote, or would have written, over the whole run",
    ),
    Measure::count(
        "log_wraps",
        "wraps",
        "how often the journal came to its end and began anew, over the whole run",
    ),
    Measure::quantity(
        "skipped_blocks",
        "blocks of 4 KiB",
        "blocks that a write of a log that skips left out before it, on average over the whole run",
    ),
    Measure::count(
        "cut_writes",
        "writes",
        "writes of a log that skips for which no run was long enough, so that they were cut, over the whole run",
    ),
    Measure::count(
        "free_blocks",
        "blocks of 4 KiB",
        "blocks of a log that skips that are free at the end",
    ),
    Measure::count(
        "beyond_profile",
        "writes",
        "writes after a think time beyond the table, over the whole run",
    ),
    Measure::quantity(
        "log_wait_s",
        "s",
        "how long commits waited until the journal had room, over the whole run",
    ),
    Measure::count(
        "account_reads",
        "pages",
        "pages of accounts that were read, over the whole run",
    ),
    Measure::count(
        "pages_home",
        "pages",
        "pages that were written back, over the whole run",
    ),
    Measure::count(
        "failed",
        "requests",
        "requests that failed, over the whole run; one of the journal ends it",
    ),
];

/// Writes of one kind, and what they took.
#[derive(Default)]
struct Writes {
    count: u64,
    response: Duration,
    rotation: Duration,
}

impl Writes {
    fn mean_ms(&self, of: Duration) -> f64 {
        match self.count {
            0 => 0.0,
            count => of.as_ms() / count as f64,
        }
    }
}

#[derive(Default)]
pub(super) struct Found {
    pub(super) transactions: u64,
    commits: u64,
    last: Instant,
    data: Writes,
    blocks: Writes,
    waits: Duration,
    waiting: Option<Instant>,
    pub(super) log_blocks: u64,
    pub(super) reads: u64,
    pub(super) homes: u64,
    pub(super) failed: u64,
}

impl Found {
    /// A write of the journal was answered: a commit block, or a part of descriptor and data.
    pub(super) fn logged(&mut self, block: bool, timeline: &Timeline) {
        let writes = match block {
            true => &mut self.blocks,
            false => &mut self.data,
        };
        writes.count += 1;
        writes.response += timeline.response();
        writes.rotation += timeline.of_service(timeline.cost.rotation);
    }

    pub(super) fn committed(&mut self, now: Instant, transactions: u64) {
        self.commits += 1;
        self.transactions += transactions;
        self.last = now;
    }

    pub(super) fn begins_to_wait(&mut self, now: Instant) {
        self.waiting = Some(now);
    }

    pub(super) fn ends_to_wait(&mut self, now: Instant) {
        let since = self.waiting.take().expect("it waited");
        self.waits += now.since(since);
    }

    /// All, by the names of [`MEASURES`].
    pub(super) fn measures(
        &self,
        (log, free): (&Counts, Option<u64>),
        gave_up: bool,
    ) -> Vec<(&'static str, Number)> {
        let seconds = self.last.0 as f64 / 1e9;
        let mut found = vec![
            ("transactions", Number::Count(self.transactions)),
            ("gave_up", Number::Count(gave_up.into())),
            ("commits", Number::Count(self.commits)),
            ("log_blocks", Number::Count(self.log_blocks)),
            ("log_wraps", Number::Count(log.wraps)),
            ("log_wait_s", Number::Quantity(self.waits.as_ms() / 1e3)),
            ("account_reads", Number::Count(self.reads)),
            ("pages_home", Number::Count(self.homes)),
            ("failed", Number::Count(self.failed)),
        ];
        // How soon a part was done says nothing of how soon all would have been.
        if !gave_up && seconds > 0.0 {
            let rate = self.transactions as f64 / seconds;
            found.push(("transactions_s", Number::Quantity(rate)));
        }
        let (blocks, data) = (&self.blocks, &self.data);
        if blocks.count > 0 {
            let means = [
                ("commit_block_ms", blocks.mean_ms(blocks.response)),
                ("commit_block_rotation_ms", blocks.mean_ms(blocks.rotation)),
                ("data_ms", data.mean_ms(data.response)),
                ("data_rotation_ms", data.mean_ms(data.rotation)),
            ];
            found.extend(means.map(|(name, mean)| (name, Number::Quantity(mean))));
        }
        if let Some(free) = free {
            let skipped = log.skipped as f64 / log.placed.max(1) as f64;
            found.push(("skipped_blocks", Number::Quantity(skipped)));
            found.push(("free_blocks", Number::Count(free)));
            found.push(("cut_writes", Number::Count(log.cut)));
            found.push(("beyond_profile", Number::Count(log.beyond)));
        }
        found
    }
}
