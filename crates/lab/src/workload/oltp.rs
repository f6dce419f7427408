//! A transaction-processing load: transactions read at random when they come, a page cleaner writes
//! back in batches.
//!
//! Reads arrive independently of each other, as transactions do. Writes do not: what transactions
//! change stays in the database's own cache until a cleaner or a checkpoint writes it back, many
//! pages at an instant. So batches of writes arrive independently, their sizes geometrically
//! distributed around `write_batch`. Pages are small and their places random, for what has locality
//! is caught by the database's cache.
//!
//! It stands in for the disk trace of TPC-C in the study of eager-writing arrays, which was not
//! published: two reads to a write or nearly so (1.9 in disk traces of TPC-C elsewhere), random, in
//! small pages. It carries claims about orders and crossings as the rate rises; it cannot carry
//! numbers, nor anything that depends on that trace's own bursts, skew or footprint.
//! `write_batch=1` is a Poisson process.

use nearslot_core::op::Op;
use nearslot_core::registry::{Knob, Spec};
use nearslot_core::request::Request;
use nearslot_core::units::Instant;

use super::access::{self, Access};
use super::{BATCH_DEFAULT, Synthetic, Workload, check_rate};

struct Oltp {
    access: Access,
    /// Mean gaps between reads and between batches; none if there are no such requests.
    read_gap_ns: Option<f64>,
    batch_gap_ns: Option<f64>,
    /// Chance that a batch goes on after a write.
    goes_on: f64,
    next_read: Instant,
    next_batch: Instant,
    /// Whether the batch that is due has begun.
    in_batch: bool,
}

impl Oltp {
    fn new(access: Access, rate_rps: f64, read_share: f64, write_batch: f64) -> Oltp {
        let gap = |rate: f64| (rate > 0.0).then(|| 1e9 / rate);
        let mut oltp = Oltp {
            access,
            read_gap_ns: gap(rate_rps * read_share),
            batch_gap_ns: gap(rate_rps * (1.0 - read_share) / write_batch),
            goes_on: 1.0 - 1.0 / write_batch,
            next_read: Instant::ZERO,
            next_batch: Instant::ZERO,
            in_batch: false,
        };
        oltp.next_read = oltp.after(Instant::ZERO, oltp.read_gap_ns);
        oltp.next_batch = oltp.after(Instant::ZERO, oltp.batch_gap_ns);
        oltp
    }

    fn after(&mut self, now: Instant, gap_ns: Option<f64>) -> Instant {
        gap_ns.map_or(Instant::NEVER, |gap| {
            // Of a kind that is nearly never asked for the next one comes after the end.
            Instant(now.0.saturating_add(self.access.exponential_ns(gap)))
        })
    }
}

impl Workload for Oltp {
    fn next_arrival(&self) -> Option<Instant> {
        (self.access.left() > 0).then_some(self.next_read.min(self.next_batch))
    }

    fn poll(&mut self, now: Instant) -> Option<Request> {
        let due = self.next_arrival().filter(|due| *due <= now)?;
        if self.in_batch || self.next_batch <= self.next_read {
            let request = self.access.next_of(Op::Write, due);
            self.in_batch = self.access.chance(self.goes_on);
            if !self.in_batch {
                self.next_batch = self.after(due, self.batch_gap_ns);
            }
            return Some(request);
        }
        let request = self.access.next_of(Op::Read, due);
        self.next_read = self.after(due, self.read_gap_ns);
        Some(request)
    }
}

const READ_SHARE: Knob = Knob::number(
    "read_share",
    0.655,
    0.0..=1.0,
    "share of requests that read: 1.9 reads to a write",
);

pub(super) static SPEC: Spec<Synthetic> = Spec {
    name: "oltp",
    aliases: &["tpcc", "transactions"],
    summary: "transaction processing: independent random reads, writes in batches, whatever the drive does",
    source: "ours; reads per write as in disk traces of TPC-C, the rest documented in docs/src/workloads.md",
    knobs: &[
        Knob::number("rate_rps", 200.0, 1e-3..=1e8, "mean requests per second"),
        READ_SHARE,
        Knob::number(
            "write_batch",
            BATCH_DEFAULT,
            1.0..=1e6,
            "mean writes that come at an instant",
        ),
        access::SIZE,
        access::SPAN,
        access::ALIGN,
        access::SEQUENTIAL_SHARE,
        access::LOCALITY,
        access::HOT_SPACE,
        access::HOT_REQUESTS,
        access::ZIPF_EXPONENT,
        access::REQUESTS,
    ],
    measures: &[],
    asks: &[],
    prepared: false,
    promises: "",
    build: |knobs, env| {
        let access = Access::new(knobs, env)?;
        let (rate, share) = (knobs.number("rate_rps"), knobs.number("read_share"));
        check_rate("oltp", access.left(), rate, knobs.number("write_batch"))?;
        Ok(Box::new(Synthetic {
            requests: Some(access.left()),
            depth: None,
            workload: Box::new(Oltp::new(access, rate, share, knobs.number("write_batch"))),
        }))
    },
};

#[cfg(test)]
mod tests {
    use nearslot_core::op::Op;
    use nearslot_core::request::Request;

    use crate::workload::access::tests::synthetic;

    fn made(word: &str) -> Vec<Request> {
        let mut made = synthetic(word).unwrap();
        std::iter::from_fn(|| {
            let due = made.workload.next_arrival()?;
            made.workload.poll(due)
        })
        .collect()
    }

    #[test]
    fn rate_share_and_batches_are_what_was_asked_for() {
        let requests = made("oltp:rate_rps=1000:read_share=0.6:write_batch=10:requests=100000");
        assert_eq!(requests.len(), 100_000);
        assert!(
            requests
                .windows(2)
                .all(|pair| pair[0].arrived <= pair[1].arrived)
        );
        let seconds = requests.last().unwrap().arrived.0 as f64 / 1e9;
        assert!((seconds - 100.0).abs() < 2.0, "{seconds} s");
        let writes: Vec<_> = requests.iter().filter(|one| one.op == Op::Write).collect();
        let share = writes.len() as f64 / requests.len() as f64;
        assert!((share - 0.4).abs() < 0.02, "{share}");
        let mut instants: Vec<_> = writes.iter().map(|write| write.arrived).collect();
        instants.dedup();
        let batch = writes.len() as f64 / instants.len() as f64;
        assert!((batch - 10.0).abs() < 0.5, "{batch}");
    }

    #[test]
    fn requests_that_outlast_virtual_time_are_refused() {
        let word = "oltp:rate_rps=0.001:requests=18500000";
        let error = synthetic(word).err().unwrap().to_string();
        assert!(
            error.starts_with("oltp.rate_rps = 0.001 (allowed: at least 4.0"),
            "{error}"
        );
        assert!(synthetic("oltp:rate_rps=0.001:requests=1000:write_batch=1000000").is_err());
        let rare = made("oltp:rate_rps=0.001:requests=1000:read_share=1e-300");
        assert!(rare.iter().all(|one| one.op == Op::Write));
    }

    #[test]
    fn shares_of_all_and_nothing_are_allowed() {
        assert!(
            made("oltp:read_share=1:requests=100")
                .iter()
                .all(|one| one.op == Op::Read)
        );
        assert!(
            made("oltp:read_share=0:requests=100")
                .iter()
                .all(|one| one.op == Op::Write)
        );
        let singles = made("oltp:read_share=0:write_batch=1:requests=1000");
        assert!(
            singles
                .windows(2)
                .all(|pair| pair[0].arrived < pair[1].arrived)
        );
    }
}
