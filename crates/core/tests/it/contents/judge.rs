//! What of a request that has failed could have been had: block by block, from whichever place has
//! it.
//!
//! At fixed places that is a copy, or the others of a row. A copy counts where all of its chunk is
//! the newest and was written well, as placements know copies of chunks; of these, each block that
//! can be read. One that came too late for them to know (`late`) does not count. Where chunks lie
//! anywhere, one copy has to have all of a chunk: see `kept`.

use std::ops::Range;

use nearslot_core::ids::DriveId;
use nearslot_core::op::Op;
use nearslot_core::request::Request;

use crate::contents::failing::Failing;
use crate::contents::rig::Rig;

impl Rig {
    /// A request has failed: could it have been carried out?
    pub(crate) fn judge(&mut self, request: &Request) {
        let has_written = self.contents.was_written_since(request);
        let could = match request.op {
            Op::Read if !self.contents.meets_a_write(request) && !has_written => {
                let blocks = request.extent.start.0..request.extent.end().0;
                self.could_read(blocks, request)
            }
            Op::Write if !self.failing().has_failed_to_write() && !self.contents.setup().maps() => {
                self.could_write(request)
            }
            _ => return,
        };
        self.judged += 1;
        if could {
            self.saveable.push(*request);
        }
    }

    fn failing(&self) -> &Failing {
        self.failing.as_ref().expect("some fail")
    }

    /// Whether all of a part of the volume could have been read for a request.
    fn could_read(&self, blocks: Range<u64>, request: &Request) -> bool {
        let chunk = self.contents.setup().chunk;
        (blocks.start / chunk..blocks.end.div_ceil(chunk)).all(|number| {
            let whole = number * chunk..(number + 1) * chunk;
            let part = blocks.start.max(whole.start)..blocks.end.min(whole.end);
            match self.contents.setup() {
                setup if setup.maps() => self.has_chunk(number, request),
                setup if setup.parity() => {
                    part.into_iter().all(|block| self.has_block(block, request))
                }
                _ => self.has_part(whole, part, request),
            }
        })
    }

    /// Where parities tell what is written, nothing else is needed. Else a write of a part of a
    /// chunk may need the rest of that.
    fn could_write(&self, request: &Request) -> bool {
        let (start, end) = (request.extent.start.0, request.extent.end().0);
        let chunk = self.contents.setup().chunk;
        let rests = [
            start / chunk * chunk..start,
            end..end.div_ceil(chunk) * chunk,
        ];
        let parity = self.contents.setup().parity();
        let mut rests = rests.into_iter().filter(|rest| !rest.is_empty());
        parity || rests.all(|rest| self.could_read(rest, request))
    }

    /// Whether these blocks of a drive have held what they hold since before a request came.
    fn stands(&self, drive: DriveId, mut blocks: Range<u64>, request: &Request) -> bool {
        blocks.all(|at| self.failing().stands(drive, at, request.arrived))
    }

    /// Whether a drive has all of a chunk wherever it may have put that.
    fn has_chunk(&self, number: u64, request: &Request) -> bool {
        let chunk = self.contents.setup().chunk;
        let kept = self.contents.kept.places(number, &self.contents.drives);
        let mut copies = kept.chunk_by(|one, other| one.0 == other.0);
        let reads = |(drive, at): &(DriveId, u64)| {
            let all = *at..at + chunk;
            let mut each = all.clone();
            self.stands(*drive, all, request) && each.all(|at| self.failing().reads(*drive, at))
        };
        copies.any(|copy| copy.iter().all(reads))
    }

    /// Whether each block of a part of a chunk can be read in a copy at a fixed place.
    fn has_part(&self, whole: Range<u64>, mut part: Range<u64>, request: &Request) -> bool {
        let (first, chunk) = (whole.start, whole.end - whole.start);
        let places = self.contents.places(whole);
        let late = self.contents.late(&places);
        let is_current = |(drive, at): &(DriveId, u64)| {
            let mut all = places.iter().zip(*at..);
            let all_are = all.all(|(places, at)| places.contains(&(*drive, at, true)));
            let is_late = (*at..at + chunk).any(|at| late.contains(&(*drive, at)));
            all_are && !is_late && self.stands(*drive, *at..at + chunk, request)
        };
        let of_first = places[0].iter().map(|(drive, at, _)| (*drive, *at));
        let copies: Vec<(DriveId, u64)> = of_first.filter(is_current).collect();
        part.all(|block| {
            let reads =
                |(drive, at): &(DriveId, u64)| self.failing().reads(*drive, at + block - first);
            copies.iter().any(reads)
        })
    }

    /// Whether a block can be read where it lies, or be computed from the others of its row.
    fn has_block(&self, block: u64, request: &Request) -> bool {
        let reads = |drive: DriveId, at: u64| {
            self.stands(drive, at..at + 1, request) && self.failing().reads(drive, at)
        };
        let places = &self.contents.places(block..block + 1)[0];
        places.iter().any(|(drive, at, is_one)| {
            let others = || self.contents.others_of_row(*drive, *at, block);
            let told =
                || others().is_some_and(|others| others.iter().all(|other| reads(*other, *at)));
            *is_one && reads(*drive, *at) || told()
        })
    }
}
