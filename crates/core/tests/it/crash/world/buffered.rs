//! What is in a write buffer above the volume: the version of each block, as the stack's own moves
//! change it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use nearslot_core::ids::RequestId;
use nearslot_core::memory::Move;
use nearslot_core::op::Op;
use nearslot_core::units::Extent;

use super::{NOTHING, World};

/// The buffer, and its jobs.
#[derive(Default)]
pub(super) struct Buffered {
    /// By block: its version.
    pub(super) there: BTreeMap<u64, u64>,
    /// By job: what it writes.
    jobs: BTreeMap<u64, BTreeMap<u64, u64>>,
    /// Clients' writes that are in the buffer and not answered.
    entered: BTreeSet<u64>,
    /// Jobs that wrote.
    pub(super) destaged: u64,
}

/// What a power cut leaves of it.
#[derive(Clone, Default)]
pub(super) struct Left {
    /// Which blocks it has; none if there is no buffer.
    pub(super) nvram: Option<Vec<u8>>,
    pub(super) there: BTreeMap<u64, u64>,
}

impl Buffered {
    /// What a job writes of a block; none if the request is no job, or writes something else.
    pub(super) fn writes(&self, request: RequestId, block: u64) -> Option<u64> {
        self.jobs.get(&request.0)?.get(&block).copied()
    }

    /// A client's write is answered; whether it was in the buffer.
    pub(super) fn answered(&mut self, request: u64) -> bool {
        self.entered.remove(&request)
    }

    /// Whether jobs write.
    pub(super) fn is_busy(&self) -> bool {
        !self.jobs.is_empty()
    }
}

fn blocks(extent: &Extent) -> Range<u64> {
    extent.start.0..extent.end().0
}

impl World {
    /// A life begins with this in the buffer.
    pub(super) fn has_in_buffer(&mut self, there: BTreeMap<u64, u64>) {
        let mut runs = Vec::new();
        self.stack.in_buffer(&mut runs);
        let found = runs.iter().flat_map(blocks);
        assert!(found.eq(there.keys().copied()), "what the buffer has");
        self.buffered.there = there;
    }

    pub(super) fn left_in_buffer(&self) -> Left {
        Left {
            nvram: self.stack.nvram_of_buffer().map(<[u8]>::to_vec),
            there: self.buffered.there.clone(),
        }
    }

    /// Jobs of the buffer that have written so far.
    pub(crate) fn destaged(&self) -> u64 {
        self.buffered.destaged
    }

    /// Whether a unit is on its way to the drives.
    pub(crate) fn destages(&self) -> bool {
        self.buffered.is_busy()
    }

    /// A read got a version of a block.
    fn bring(&mut self, to: RequestId, found: Vec<(u64, u64)>) {
        let found = found.into_iter();
        self.rest
            .extend(found.map(|(block, version)| ((to.0, block), version)));
    }

    pub(super) fn moved(&mut self, one: &Move) {
        match one {
            Move::Begin(job) => {
                if job.op == Op::Write {
                    assert!(job.fua, "{job:?} may end in a cache");
                    let there = &self.buffered.there;
                    let bytes = blocks(&job.extent).map(|block| (block, there[&block]));
                    let bytes = bytes.collect();
                    self.buffered.jobs.insert(job.id.0, bytes);
                    self.buffered.destaged += 1;
                }
            }
            Move::Buffer { of, extent } => {
                let (version, _) = self.pending[&of.0];
                let there = blocks(extent).map(|block| (block, version));
                self.buffered.there.extend(there);
                self.buffered.entered.insert(of.0);
            }
            Move::Lend { to, extent } => {
                let there = &self.buffered.there;
                let found = blocks(extent).map(|block| (block, there[&block]));
                let found = found.collect();
                self.bring(*to, found);
            }
            Move::Give { of, to, extent } => {
                let version = |block| self.rest.get(&(of.0, block)).copied().unwrap_or(NOTHING);
                let found = blocks(extent)
                    .map(|block| (block, version(block)))
                    .collect();
                self.bring(*to, found);
            }
            Move::Clean(extent) => blocks(extent).for_each(|block| {
                let before = self.buffered.there.remove(&block);
                before.expect("it was in the buffer");
            }),
            Move::End(job) => {
                self.buffered.jobs.remove(&job.0);
                self.rest.retain(|(of, _), _| *of != job.0);
            }
            Move::Keep { .. } | Move::Serve { .. } | Move::Drop(_) => {
                panic!("no cache is above: {one:?}")
            }
        }
    }
}
