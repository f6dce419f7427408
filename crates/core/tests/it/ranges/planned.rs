//! Range writes that a placement makes by itself: they land where writes may begin, carry the
//! volume's data, and leave no offer behind, whatever becomes of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nearslot_core::contract::{Drives, Merging, Placement, Shape};
use nearslot_core::ids::DriveId;
use nearslot_core::io::{Data, Moves, Tag};
use nearslot_core::offer::{Offer, Writable};
use nearslot_core::op::{Failure, Op, Status};
use nearslot_core::plan::{Plan, PlannedIo, Target};
use nearslot_core::request::Request;
use nearslot_core::units::{Blocks, Instant, Lba, Pba};

use crate::queues::rig::Rig;
use crate::ranges::choosing;
use crate::support::{DISK, blueprint, scheduler};

/// Reads the first block, then writes to one of blocks 10 to 39, of which every fifth may be
/// written.
struct Copier {
    fifths: Fifths,
    skipped: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Fifths;

impl Writable for Fifths {
    fn first(&self, from: u64, until: u64, _len: u64) -> Option<u64> {
        Some(from.next_multiple_of(5)).filter(|at| *at < until)
    }

    fn last(&self, until: u64, from: u64, _len: u64) -> Option<u64> {
        let last = until.checked_sub(1)?;
        Some(last - last % 5).filter(|at| *at >= from)
    }

    fn reach(&self, at: u64) -> u64 {
        at + 1
    }
}

impl Placement for Copier {
    fn shape(&self) -> Shape {
        Shape::of(Blocks(100))
    }

    fn plan(&mut self, _: Instant, request: &Request, _: &dyn Drives, out: &mut Plan) {
        let data = Some(Data::from(request.extent.start));
        let first = PlannedIo::new(DriveId(0), Op::Read, Target::At(Pba(0)), Blocks(1));
        let read = out.io(PlannedIo { data, ..first });
        let offer = Offer::list(vec![10..40], 1).expect("it is one");
        out.offers.push(Arc::new(offer));
        let write = PlannedIo::new(DriveId(0), Op::Write, Target::Among(Pba(10), 0), Blocks(1));
        let write = out.io(PlannedIo { data, ..write });
        out.carry(read, write);
    }

    fn writable(&self, _: DriveId) -> Option<&dyn Writable> {
        Some(&self.fifths)
    }

    fn skipped(&mut self, _: Instant, _: Tag, _: DriveId, _: &dyn Drives, _: &mut Plan) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
    }
}

/// Over a disk, which chooses by itself or has its places chosen.
fn rigs() -> [(Rig, Arc<AtomicUsize>); 2] {
    [blueprint(DISK), choosing(DISK, "satf")].map(|blueprint| {
        let skipped = Arc::default();
        let copier = Copier {
            fifths: Fifths,
            skipped: Arc::clone(&skipped),
        };
        let sched = scheduler("satf", &*blueprint);
        let rig = Rig::placed(
            Box::new(copier),
            (&*blueprint, blueprint.drive()),
            sched,
            Merging::None,
        );
        (rig, skipped)
    })
}

#[test]
fn it_lands_where_writes_may_begin_with_the_data_of_its_request() {
    for (mut rig, _) in rigs() {
        for id in 1..=6 {
            rig.submit(Request::new(id, Op::Write, 70 + id, 1, rig.now));
        }
        rig.settle();
        assert!(rig.replies.iter().all(|(_, reply)| reply.status.is_done()));
        let mut landed: Vec<u64> = Vec::new();
        for ((at, _), (origin, _)) in rig.commands.iter().zip(&rig.origins) {
            if *at > 0 {
                landed.push(*at);
                let Moves::Volume(data) = origin.moves else {
                    panic!("it moves the volume's data");
                };
                assert!((71..77).contains(&data.block(0).0), "{data:?}");
                assert!(origin.open && origin.carries.is_some());
            }
        }
        landed.sort_unstable();
        assert!(
            landed.iter().all(|at| at % 5 == 0 && (10..40).contains(at)),
            "{landed:?}"
        );
        // Nobody keeps account of what is free, so a place may be taken again, but not by two at a
        // time.
        assert_eq!(landed.len(), 6);
        // The answer has the address that was asked for.
        let told = rig
            .replies
            .iter()
            .map(|(_, reply)| reply.request.extent.start);
        assert!(
            told.clone()
                .all(|start| (Lba(71)..Lba(77)).contains(&start))
        );
    }
}

#[test]
fn what_never_begins_leaves_no_offer_behind() {
    for (mut rig, skipped) in rigs() {
        rig.bad = 0..1;
        for id in 1..=3 {
            rig.submit(Request::new(id, Op::Write, 70 + id, 1, rig.now));
        }
        // The audit after each step counts what is offered.
        rig.settle();
        let failed = Status::Failed(Failure::Medium);
        assert!(rig.replies.iter().all(|(_, reply)| reply.status == failed));
        assert_eq!((rig.replies.len(), skipped.load(Ordering::Relaxed)), (3, 3));
    }
}
