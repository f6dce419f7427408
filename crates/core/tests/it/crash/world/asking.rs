//! What clients ask for, and what they were told of a volume that has come back.

use std::collections::BTreeMap;
use std::ops::Range;

use nearslot_core::op::Op;
use nearslot_core::request::Request;
use nearslot_core::stack::Input;

use super::{DEPTH, NOTHING, World};

impl World {
    /// Requests come, and one I/O ends.
    pub(crate) fn step(&mut self) {
        if self.pause == 0 && self.rng.chance(0.02) {
            self.pause = 60;
        }
        self.pause = self.pause.saturating_sub(1);
        while self.pause == 0 && self.stack.pending() < DEPTH {
            self.ask();
        }
        while self.drives.iter().all(|drive| drive.next_event().is_none()) {
            self.pause = 0;
            self.ask();
        }
        self.event();
    }

    fn ask(&mut self) {
        let size = self.chunk;
        let first = self.rng.below(self.hot()) * self.apart();
        let until = (first + 1 + self.rng.below(3)).min(self.chunks());
        let all = first * size..until * size;
        let part = first * size + size / 4..(first * size + size / 2 + 1).min(until * size);
        match self.rng.below(21) {
            0..10 => self.submit(Op::Write, all),
            10..14 => self.submit(Op::Write, part),
            14..19 => self.submit(Op::Read, all),
            19 if self.discards => self.submit(Op::Discard, all),
            _ => self.submit(Op::Flush, 0..0),
        }
    }

    pub(super) fn chunks(&self) -> u64 {
        self.answered.len() as u64 / self.chunk
    }

    pub(super) fn blocks(&self, chunk: u64) -> Range<u64> {
        chunk * self.chunk..(chunk + 1) * self.chunk
    }

    /// So many places that requests begin at: few, so that they are overwritten while older copies
    /// are still delayed.
    pub(super) fn hot(&self) -> u64 {
        self.chunks().min(self.places)
    }

    /// Small chunks are many, of many map sectors; then the places are far apart.
    pub(super) fn apart(&self) -> u64 {
        match self.chunk {
            0..8 => self.chunks() / self.hot(),
            _ => 1,
        }
    }

    pub(super) fn submit(&mut self, op: Op, blocks: Range<u64>) {
        // Of the drives with a cache that may lose it, some writes are forced.
        let fua = self.loses && op == Op::Write && self.number.is_multiple_of(self.apart_forced);
        let number = self.number;
        self.number += 1;
        match op {
            Op::Write => {
                self.version += 1;
                self.pending.insert(number, (self.version, blocks.clone()));
            }
            Op::Discard => {
                self.pending.insert(number, (NOTHING, blocks.clone()));
            }
            _ => {
                self.reads.insert(number);
            }
        }
        if let Some(covered) = self.covered.as_mut().filter(|_| op == Op::Flush) {
            covered.flush_comes(number);
        }
        let request = Request::new(
            number,
            op,
            self.first + blocks.start,
            blocks.end - blocks.start,
            self.now,
        );
        let request = Request { fua, ..request };
        self.stack.input(self.now, Input::Submit(request));
        self.drain();
    }

    /// Whether nobody has asked in this life for a block to hold something else.
    pub(super) fn is_as_left(&self, block: u64) -> bool {
        let mut pending = self.pending.values();
        self.answered[block as usize] == NOTHING
            && !self.unsure.contains_key(&block)
            && !pending.any(|(_, blocks)| blocks.contains(&block))
    }

    /// A read has found this. As long as nobody discards, what nobody has written since the power
    /// came again is the same each time, but where a place may have been left old: another copy has
    /// something else.
    pub(super) fn was_found(&mut self, found: &BTreeMap<u64, u64>) {
        if self.silent.is_some() || self.discards {
            return;
        }
        for (block, version) in found {
            if self.is_as_left(*block) {
                let before = self.seen.insert(*block, *version);
                let differs = before.filter(|before| before != version);
                assert_eq!(differs, None, "block {block}: now {version} is found");
            }
        }
    }

    /// What clients have seen that nobody has written since: so it is after another power cut.
    pub(super) fn still_seen(&self) -> BTreeMap<u64, u64> {
        let seen = self.seen.iter();
        let still = seen.filter(|(block, _)| self.is_as_left(**block));
        still.map(|(block, version)| (*block, *version)).collect()
    }
}
