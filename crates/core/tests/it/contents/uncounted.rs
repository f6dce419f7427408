//! Copies that drives have and placements do not count.
//!
//! One was to be written in spare time before a request wrote its chunk again. If its command begins
//! after the request's, it puts there what is newest; but when a command begins no placement is
//! told, so the copy is taken for an older one. Another could not be read when the buffer had its
//! chunk for a copy elsewhere: it is to be written again, and the buffer keeps the chunk for that.

use std::ops::Range;

use nearslot_core::ids::DriveId;
use nearslot_core::io::{Data, StepNumber};
use nearslot_core::op::{Op, Status};

use crate::contents::model::{Contents, Running};

/// By block of a chunk: where drives hold a version of it, and whether that may be read.
type Places = [Vec<(DriveId, u64, bool)>];

/// What is known of the last write of a block.
#[derive(Clone, Copy)]
struct Last {
    step: StepNumber,
    /// Whether a request waited for it.
    awaited: bool,
    /// Whether a read of the block, or of others with it, has failed since when the buffer may have
    /// had it.
    failed: bool,
}

/// By drive and block: how it was written last, if it was.
pub(super) struct Uncounted(Vec<Vec<Option<Last>>>);

impl Uncounted {
    pub(super) fn new(drives: usize, blocks: u64) -> Uncounted {
        Uncounted(vec![vec![None; blocks as usize]; drives])
    }
}

impl Contents {
    /// A command has ended so.
    pub(super) fn note_copies(&mut self, drive: DriveId, ended: &Running, status: Status) {
        let Running {
            command, origin, ..
        } = ended;
        let blocks = command.at.0 as usize..(command.at.0 + command.len.0) as usize;
        match (command.op, origin.data()) {
            (Op::Write, _) if status.is_done() => {
                let last = Last {
                    step: origin.step,
                    awaited: origin.request.is_some(),
                    failed: false,
                };
                self.uncounted.0[drive.index()][blocks].fill(Some(last));
            }
            (Op::Read, Some(data)) if !status.is_done() && self.setup().copies > 1 => {
                self.read_failed(drive, blocks, data);
            }
            _ => {}
        }
    }

    /// A read has failed of what lies there.
    fn read_failed(&mut self, drive: DriveId, at: Range<usize>, data: Data) {
        let size = self.setup().chunk;
        let mut known = None;
        for (at, index) in at.zip(0..) {
            let block = data.block(index).0;
            let (_, is_kept) = match known {
                Some(known @ (chunk, _)) if chunk == block / size => known,
                _ => (block / size, self.may_be_buffered(block)),
            };
            known = Some((block / size, is_kept));
            if let Some(last) = self.uncounted.0[drive.index()][at].as_mut() {
                last.failed |= is_kept;
            }
        }
    }

    /// How what lies at the places of a chunk's blocks was written, if it was.
    fn last_writes(&self, places: &Places) -> Vec<((DriveId, u64), Last)> {
        let last = places.iter().flatten().filter_map(|(drive, at, _)| {
            let last = self.uncounted.0[drive.index()][*at as usize]?;
            Some(((*drive, *at), last))
        });
        last.collect()
    }

    /// Of the places of a chunk's blocks, those that were written too late for that to be known.
    pub(super) fn late(&self, places: &Places) -> Vec<(DriveId, u64)> {
        let writes = self.last_writes(places);
        let asked = writes.iter().filter(|(_, last)| last.awaited);
        let newest = asked.map(|(_, last)| last.step).max();
        let is_late =
            |last: &Last| !last.awaited && newest.is_some_and(|newest| last.step < newest);
        let late = writes.iter().filter(|(_, last)| is_late(last));
        late.map(|(place, _)| *place).collect()
    }

    /// Whether a copy of a block's chunk may be missing as far as is known, though it is there.
    pub(super) fn counts_too_few(&self, block: u64) -> bool {
        let writes = self.last_writes(&self.places(self.chunk_of(block)));
        writes.iter().any(|(_, last)| last.failed)
    }
}
