//! What is in memory and in the write buffer, as the stack's own moves change it: stamps, as on
//! drives.

use std::collections::BTreeSet;

use nearslot_core::ids::{DriveId, RequestId};
use nearslot_core::memory::Move;
use nearslot_core::op::Op;
use nearslot_core::request::Request;
use nearslot_core::stack::Stack;
use nearslot_core::units::Extent;

use crate::contents::model::{Asked, Contents, Stamp};

impl Asked {
    /// What a read has brought of a block: nothing, where it lies nowhere.
    fn brought(&self, block: u64) -> Stamp {
        self.read.get(&block).copied().unwrap_or(Stamp::Nothing)
    }

    /// What a write puts on a block: its own, or what the write buffer had when its job began.
    pub(super) fn writes(&self, block: u64) -> Stamp {
        let write = self.request.id;
        match write.as_job() {
            Some(_) => self.bytes[&block],
            None => Stamp::Of { block, write },
        }
    }
}

impl Contents {
    /// Whether a read may be brought some blocks once more.
    pub(super) fn is_again(&self) -> bool {
        self.may_fail && self.setup().caches()
    }

    /// A read is brought blocks from elsewhere than drives.
    fn bring(&mut self, to: RequestId, found: Vec<(u64, Stamp)>) {
        let is_again = self.is_again();
        let asked = self.asked.get_mut(&to).expect("it is not answered");
        for (block, stamp) in found {
            let before = asked.read.insert(block, stamp);
            let is_first = before.is_none() || is_again;
            assert!(is_first, "{:?} got {block} twice", asked.request);
        }
    }

    /// A write job begins with what the buffer has now.
    fn copy_for(&mut self, job: &Request) {
        let blocks = job.extent.start.0..job.extent.end().0;
        let found = blocks.map(|block| (block, self.buffered[&block]));
        let asked = self.asked.get_mut(&job.id).expect("it has begun");
        asked.bytes.extend(found);
    }

    /// Bytes move between the memory, jobs and requests.
    pub(crate) fn moves(&mut self, one: &Move) {
        let blocks = |extent: &Extent| extent.start.0..extent.end().0;
        match one {
            Move::Begin(job) => {
                self.submitted(job);
                if job.op == Op::Write {
                    assert!(job.fua, "{job:?} may end in a cache");
                    self.copy_for(job);
                }
            }
            Move::Buffer { of, extent } => {
                let asked = self.asked.get_mut(of).expect("it is not answered");
                assert_eq!(asked.request.extent, *extent, "all of {of:?}");
                asked.is_buffered = true;
                let stamp = |block| (block, Stamp::Of { block, write: *of });
                self.buffered.extend(blocks(extent).map(stamp));
            }
            Move::Lend { to, extent } => {
                self.lent += extent.len.0;
                let found = |block| (block, self.buffered[&block]);
                let found = blocks(extent).map(found).collect();
                self.bring(*to, found);
            }
            Move::Clean(extent) => blocks(extent).for_each(|block| {
                self.buffered.remove(&block).expect("it was in the buffer");
            }),
            Move::End(job) => drop(self.asked.remove(job).expect("it has begun")),
            Move::Drop(extent) => blocks(extent).for_each(|block| {
                self.memory.remove(&block).expect("it was in memory");
            }),
            Move::Keep { of, extent } => {
                let asked = &self.asked[of];
                let stamp = |block: u64| match asked.request.op {
                    Op::Write => Stamp::Of { block, write: *of },
                    _ => asked.brought(block),
                };
                let kept: Vec<_> = blocks(extent).map(|block| (block, stamp(block))).collect();
                for (block, stamp) in kept {
                    let before = self.memory.insert(block, stamp);
                    let is_new = before.is_none() || asked.request.op == Op::Write;
                    assert!(is_new, "{of:?} brings {block}, which is in memory");
                }
            }
            Move::Serve { to, extent } => {
                self.served += extent.len.0;
                let found = blocks(extent).map(|block| (block, self.memory[&block]));
                let asked = self.asked.get_mut(to).expect("it is not answered");
                asked.read.extend(found);
            }
            Move::Give { of, to, extent } => {
                let found = |block| (block, self.asked[of].brought(block));
                let found: Vec<_> = blocks(extent).map(found).collect();
                self.bring(*to, found);
            }
        }
    }

    /// A stack that comes back has in its write buffer what was there.
    pub(crate) fn check_buffer(&self, stack: &Stack) {
        let mut runs = Vec::new();
        stack.in_buffer(&mut runs);
        let blocks = runs.iter().flat_map(|run| run.start.0..run.end().0);
        let differs = "what the buffer has after a power cut";
        assert!(blocks.eq(self.buffered.keys().copied()), "{differs}");
    }

    /// Blocks that jobs of the write buffer write.
    pub(crate) fn on_their_way(&self) -> Vec<u64> {
        let jobs = self.asked.values();
        let jobs = jobs.filter(|one| one.request.op == Op::Write && !one.bytes.is_empty());
        jobs.flat_map(|one| one.bytes.keys().copied()).collect()
    }

    /// The power goes: what the write buffer has, and what is nowhere in it and on some drive, is
    /// all that was answered. Blocks for which `lost` says that a drive may forget them were
    /// answered by nobody, or are in the buffer.
    pub(crate) fn check_cut(&self, lost: &[(DriveId, u64, u64)]) {
        let mut held: BTreeSet<Stamp> = BTreeSet::new();
        for (drive, stamps) in (0..).map(DriveId).zip(&self.drives) {
            let is_lost = |at: u64| {
                let mut lost = lost.iter();
                lost.any(|(of, first, end)| *of == drive && (*first..*end).contains(&at))
            };
            let kept = (0..)
                .zip(stamps)
                .filter(|(at, _)| !is_lost(*at))
                .map(|(_, stamp)| *stamp);
            held.extend(kept);
        }
        let nowhere = |stamp: &Stamp| matches!(stamp, Stamp::Nothing | Stamp::Blank);
        for block in 0..self.history.len() as u64 {
            let allowed = self.allowed(block, self.clock + 1);
            let is_kept = match self.buffered.get(&block) {
                Some(stamp) => allowed.contains(stamp),
                None => allowed
                    .iter()
                    .any(|stamp| nowhere(stamp) || held.contains(stamp)),
            };
            assert!(
                is_kept,
                "{:?}: of {block} {:?} is in the buffer; allowed are {allowed:?}",
                self.setup(),
                self.buffered.get(&block)
            );
        }
    }
}
