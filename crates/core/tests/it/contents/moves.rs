//! What is in memory, as the stack's own moves change it: stamps, as on drives.

use nearslot_core::memory::Move;
use nearslot_core::op::Op;
use nearslot_core::units::Extent;

use crate::contents::model::{Asked, Contents, Stamp};

impl Asked {
    /// What a read has brought of a block: nothing, where it lies nowhere.
    fn brought(&self, block: u64) -> Stamp {
        self.read.get(&block).copied().unwrap_or(Stamp::Nothing)
    }
}

impl Contents {
    /// Bytes move between the memory, jobs and requests.
    pub(crate) fn moves(&mut self, one: &Move) {
        let blocks = |extent: &Extent| extent.start.0..extent.end().0;
        match one {
            Move::Begin(job) => self.submitted(job),
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
                let asked = self.asked.get_mut(to).expect("it is not answered");
                for (block, stamp) in found {
                    let before = asked.read.insert(block, stamp);
                    assert!(before.is_none(), "{:?} got {block} twice", asked.request);
                }
            }
        }
    }
}
