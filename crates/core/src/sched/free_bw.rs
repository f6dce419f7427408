//! Free-bandwidth scheduling of eager writes: they fill the time in which reads would wait for the
//! platter.
//!
//! The reads alone are scheduled by a known algorithm. The start of the next read is computed. Then
//! each waiting write goes to a free slot on the way to that read, if the read can still start at
//! the very same instant. A write never delays a read, so writes starve if reads leave no gaps.
//!
//! | Name | Order of reads |
//! |---|---|
//! | FreeBW-SATF | SATF: reads follow each other closely and leave few gaps, so under load it is nearly read-first |
//! | FreeBW-SCAN | SCAN: ignores rotation, so that gaps are wide |
//! | FreeBW-Hybrid | SCAN while a write waits, SATF when none does |
//!
//! Source: Zhang, Yu, Krishnamurthy and Wang, FAST 2002, sections 4.3 and 4.4, after Lumb,
//! Schindler, Ganger and others, "Towards higher disk head utilization", OSDI 2000. Our choices
//! where the paper leaves one: the read is fixed before the first write is inserted; "on the way"
//! are the cylinders from the arm's to the read's, both included; if no free slot is in time the
//! writes wait; if no read waits, writes follow the sweep of `satf_ew`; without an arm reads go by
//! SATF. Cost: one search for a read, and for each write one search for a slot with the read's
//! start as its bound.

use super::sweep::{self, Waiting};
use crate::contract::{Next, OPEN, Scheduler, View};
use crate::io::Io;
use crate::position::Candidate;
use crate::registry::Spec;
use crate::sorted::Cursor;
use crate::stream::Streams;
use crate::units::Instant;

/// In which order reads go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Satf,
    Scan,
    Hybrid,
}

struct FreeBw {
    order: Order,
    waiting: Waiting,
    /// The read that goes next, fixed before writes are inserted.
    planned: Option<Candidate>,
    /// Direction of SCAN.
    upward: bool,
}

impl FreeBw {
    fn new(order: Order) -> FreeBw {
        FreeBw {
            order,
            waiting: Waiting::default(),
            planned: None,
            upward: true,
        }
    }

    /// Fixes the next read, if one waits.
    fn plan(&mut self, view: &View<'_>) -> Option<Candidate> {
        let scan = match self.order {
            Order::Satf => false,
            Order::Scan => true,
            Order::Hybrid => self.waiting.has_open(),
        };
        // Without an arm there is nothing to sweep.
        let cursor = match view.oracle.arm().filter(|_| scan) {
            Some(arm) => self.scan(arm.position().cylinder)?,
            None => self.waiting.nearest(view)?.cursor,
        };
        Some(self.waiting.fixed.remove(cursor))
    }

    /// The oldest read of the nearest cylinder with a read in the direction of SCAN; turns round if
    /// none lies ahead.
    fn scan(&mut self, cylinder: u32) -> Option<Cursor> {
        let fixed = &self.waiting.fixed;
        let above = fixed.seek(&Candidate::lowest_key(cylinder));
        let below = fixed.before(fixed.seek(&Candidate::lowest_key(cylinder + 1)));
        let above = fixed.at(above).map(|_| above);
        // The last of its cylinder was found: begin with the first.
        let below = below.and_then(|last| fixed.at(last));
        let below = below.map(|last| fixed.seek(&Candidate::lowest_key(last.place.cylinder)));
        let (ahead, behind) = if self.upward {
            (above, below)
        } else {
            (below, above)
        };
        if ahead.is_none() && behind.is_some() {
            self.upward = !self.upward;
        }
        ahead.or(behind)
    }

    /// A write that fits before the planned read.
    fn insert_write(&mut self, view: &View<'_>, read: &Candidate) -> Option<Next> {
        if !self.waiting.has_open() {
            return None;
        }
        let free_place = sweep::in_gap(view, read)?;
        let (id, slot) = self.waiting.put(free_place)?;
        Some(Next::Place(id, slot))
    }
}

impl Scheduler for FreeBw {
    fn insert(&mut self, _now: Instant, io: &Io, _streams: &Streams) {
        self.waiting.insert(io);
    }

    fn withdraw(&mut self, _now: Instant, io: &Io) {
        let planned = self.planned.take_if(|read| read.id == io.id);
        if planned.is_none() {
            self.waiting.withdraw(io);
        }
    }

    fn next(&mut self, view: &View<'_>) -> Next {
        let planned = self.planned.take().or_else(|| self.plan(view));
        let Some(planned) = planned else {
            let write = self.waiting.write(view, Instant::NEVER);
            return write.map_or(Next::Empty, |(id, slot)| Next::Place(id, slot));
        };
        match self.insert_write(view, &planned) {
            Some(write) => {
                self.planned = Some(planned);
                write
            }
            None => Next::Start(planned.id),
        }
    }

    fn len(&self) -> usize {
        self.waiting.len() + usize::from(self.planned.is_some())
    }

    fn audit(&self) {
        self.waiting.audit();
    }
}

const SOURCE: &str = "Zhang, Yu, Krishnamurthy and Wang, Configuring and scheduling an eager-writing disk array, FAST 2002";

pub(super) static FREEBW_SATF: Spec<dyn Scheduler> = Spec {
    name: "freebw_satf",
    aliases: &[],
    summary: "reads by SATF, eager writes in the rotational gaps before them",
    source: SOURCE,
    knobs: &[],
    measures: &[],
    asks: &["oracle", OPEN],
    prepared: false,
    promises: "",
    build: |_, _| Ok(Box::new(FreeBw::new(Order::Satf))),
};

pub(super) static FREEBW_SCAN: Spec<dyn Scheduler> = Spec {
    name: "freebw_scan",
    aliases: &[],
    summary: "reads by SCAN, eager writes in the rotational gaps before them",
    source: SOURCE,
    knobs: &[],
    measures: &[],
    asks: &["oracle", OPEN],
    prepared: false,
    promises: "",
    build: |_, _| Ok(Box::new(FreeBw::new(Order::Scan))),
};

pub(super) static FREEBW_HYBRID: Spec<dyn Scheduler> = Spec {
    name: "freebw_hybrid",
    aliases: &["free_bw"],
    summary: "reads by SCAN while a write waits and by SATF otherwise, eager writes in the gaps before them",
    source: SOURCE,
    knobs: &[],
    measures: &[],
    asks: &["oracle", OPEN],
    prepared: false,
    promises: "",
    build: |_, _| Ok(Box::new(FreeBw::new(Order::Hybrid))),
};

#[cfg(test)]
mod tests {
    use super::super::desk::Desk;
    use super::super::desk::Did::{Read, Write};

    /// A read of block 27, which passes at 7 ms, and a write that may go to one block.
    fn read_and_write(free: u64) -> Desk {
        let desk = Desk::new("freebw_satf").free(&[free]);
        desk.reads(&[27]).open_writes(1)
    }

    #[test]
    fn a_write_goes_to_the_gap_before_a_read() {
        // Block 3 has passed at 4 ms, and the arm is on cylinder 2 at 5.5 ms.
        assert_eq!(read_and_write(3).run_all(), [Write(3, 4), Read(27, 8)]);
    }

    #[test]
    fn a_write_that_would_delay_the_read_waits() {
        // Block 16 has passed at 7 ms, and the arm would be on cylinder 2 at 7.5 ms.
        assert_eq!(read_and_write(16).run_all(), [Read(27, 8), Write(16, 17)]);
    }

    #[test]
    fn a_slot_beyond_the_read_is_not_on_the_way() {
        // Block 35 passes from 5 to 6 ms, and the arm would be back on cylinder 2 in time.
        assert_eq!(read_and_write(35).run_all(), [Read(27, 8), Write(35, 16)]);
    }

    #[test]
    fn reads_go_by_rotation_or_by_cylinder() {
        let reads = |name| Desk::new(name).reads(&[19, 34]);
        let by_rotation = [Read(34, 5), Read(19, 10)];
        assert_eq!(reads("freebw_satf").run_all(), by_rotation);
        assert_eq!(reads("freebw_hybrid").run_all(), by_rotation);
        assert_eq!(reads("freebw_scan").run_all(), [Read(19, 10), Read(34, 15)]);
    }

    #[test]
    fn the_hybrid_goes_by_cylinder_while_a_write_waits() {
        let desk = Desk::new("freebw_hybrid").free(&[2]);
        let desk = desk.reads(&[19, 34]).open_writes(1);
        assert_eq!(desk.run_all(), [Write(2, 3), Read(19, 10), Read(34, 15)]);
    }

    #[test]
    fn without_an_arm_reads_leave_no_gap() {
        for name in ["freebw_satf", "freebw_scan", "freebw_hybrid"] {
            let desk = Desk::without_arm(name).free(&[20]);
            let desk = desk.reads(&[50, 3]).open_writes(1);
            assert_eq!(
                desk.run_all(),
                [Read(50, 1), Read(3, 2), Write(20, 3)],
                "{name}"
            );
        }
    }
}
