//! Tests of writes that wait for a page: some plane collects for them, whatever each had when it
//! looked last.

use super::interface::SsdDrive;
use super::tests::{command, host, largest};
use crate::contract::Drive;
use crate::io::WriteCache;
use crate::op::Op;
use crate::rng::Rng;
use crate::units::Instant;

/// Where a plane had nothing worth collecting when it looked last, writes to others take from its
/// blocks what makes them so. It is not told of that: whatever waits has it look again.
#[test]
fn a_write_that_waits_for_a_page_has_all_planes_look_again() {
    let mut rng = Rng::stream(43, "stalled");
    for case in 0..300 {
        let (blocks, pages) = (8 + rng.below(20) as u32, 1 + rng.below(4) as u32);
        let units = 1 + rng.below(4) as u32;
        let plan = largest(blocks, pages, units);
        let capacity = plan.shape.capacity;
        let mut drive = SsdDrive::new(&plan, host(WriteCache::Off));
        let depth = 1 + rng.below(8) as u32;
        let (mut free, mut now) = ((0..depth).collect::<Vec<u32>>(), Instant::ZERO);
        for step in 0..capacity * 4 {
            // As soon as one has ended, or when all have: then none comes meanwhile that has planes
            // look.
            let bursts = case % 2 == 1 && free.is_empty();
            let needed = if bursts { depth as usize } else { 1 };
            while free.len() < needed {
                now = drive.next_event().unwrap_or_else(|| {
                    panic!("case {case}, {blocks} blocks of {pages} pages of {units}, {depth} at a time: write {step} waits for ever")
                });
                free.extend(drive.advance(now).map(|done| done.io.0));
            }
            let len = 1 + rng.below(u64::from(units.min(capacity)));
            let at = rng.below(u64::from(capacity) + 1 - len);
            let io = free.pop().expect("one has ended");
            drive.submit(now, &command(io, Op::Write, at * 8, len * 8));
        }
    }
}
