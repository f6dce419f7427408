//! What a map that says where chunks lie still names: of each chunk the newest version, and on each
//! drive the place where that was put.
//!
//! Where chunks lie anywhere, many places hold what a volume has no claim to any more. A version
//! that another one has followed lies where it was, also if the request of the newer one failed for
//! another of its chunks. A copy that moves leaves its data behind in a slot that is free from then
//! on; and a delayed write that was overtaken may have carried the newest version to a slot that is
//! not needed. The next write may go there, so the map rightly names none of these, whatever lies
//! there for a while. Which of several places on a drive the map names is its own affair: so a copy
//! counts where all of them can be read.

use std::collections::{BTreeMap, BTreeSet};

use nearslot_core::ids::DriveId;

use crate::contents::model::Stamp;

/// The newest version of each chunk.
pub(super) struct Kept {
    /// Blocks of a chunk.
    size: u64,
    chunks: BTreeMap<u64, Version>,
}

/// A version of a chunk, and where it lies, by drive.
struct Version {
    data: Vec<Stamp>,
    places: BTreeSet<(DriveId, u64)>,
}

impl Kept {
    pub(super) fn new(size: u64) -> Kept {
        let chunks = BTreeMap::new();
        Kept { size, chunks }
    }

    /// A write has put blocks of the volume in a row on a drive, from `at` on, that `holds` all of
    /// this now. If a client's, it makes new versions.
    pub(super) fn written(
        &mut self,
        (drive, holds): (DriveId, &[Stamp]),
        at: u64,
        blocks: &[(u64, Stamp)],
        is_clients: bool,
    ) {
        let (size, mut at) = (self.size, at);
        for part in blocks.chunk_by(|one, next| one.0 / size == next.0 / size) {
            let first = part[0].0;
            let blank = || Version {
                data: vec![Stamp::Blank; size as usize],
                places: BTreeSet::new(),
            };
            let version = self.chunks.entry(first / size).or_insert_with(blank);
            for (block, written) in part {
                let newest = &mut version.data[(block % size) as usize];
                if is_clients && newest != written {
                    *newest = *written;
                    version.places.clear();
                }
            }
            let place = at.saturating_sub(first % size);
            if held(holds, place, size) == Some(&version.data[..]) {
                version.places.insert((drive, place));
            }
            at += part.len() as u64;
        }
    }

    /// Nobody knows any more which version of these blocks is the newest.
    pub(super) fn forget(&mut self, first: u64, len: u64) {
        let chunks = first / self.size..(first + len).div_ceil(self.size);
        chunks.for_each(|chunk| _ = self.chunks.remove(&chunk));
    }

    /// Where drives that hold this have the newest version of a chunk; in order of drives.
    pub(super) fn places(&self, chunk: u64, drives: &[Vec<Stamp>]) -> Vec<(DriveId, u64)> {
        let Some(version) = self.chunks.get(&chunk) else {
            return Vec::new();
        };
        let places = version.places.iter().copied();
        let holds = |(drive, at): &(DriveId, u64)| {
            held(&drives[drive.index()], *at, self.size) == Some(&version.data[..])
        };
        places.filter(holds).collect()
    }
}

/// What a drive holds in a place.
fn held(holds: &[Stamp], at: u64, len: u64) -> Option<&[Stamp]> {
    holds.get(at as usize..(at + len) as usize)
}
