//! Where the data of a zone lie among its spare and defective sectors, as runs.
//!
//! A *position* counts every sector of a zone, used or not, along its tracks. A run is a stretch of
//! blocks at consecutive positions. Every way of sparing comes down to a list of runs: one that
//! skips a defect ends a run, one that moves a defective sector elsewhere makes a run of one block.
//! So the mapping at run time knows nothing of sparing, and a layout without defects is merely one
//! with one run a zone.
//!
//! Source: the sparing schemes 9, 8, 7, 3 and 1 of DiskSim 4.0's `layout_g1`, in its order: slips
//! first, then remaps. Where every track has its own spares, a slip also turns all later tracks of
//! its zone by a sector, as it does there.

use super::parameters::{HeadOrder, Sparing, Zone};

/// Blocks at consecutive positions of a zone, up to where the next run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// First block.
    pub(super) first: u64,
    /// Its position in the zone.
    pub(super) position: u64,
    /// The zone, counted from 0.
    pub(super) zone: u32,
    /// By how many sectors its track is turned against the zone's skews.
    pub(super) turned: u32,
}

/// A zone with what its runs depend on.
pub(super) struct ZoneMap<'a> {
    pub(super) zone: &'a Zone,
    pub(super) index: u32,
    pub(super) heads: u64,
    pub(super) sparing: Sparing,
    pub(super) head_order: HeadOrder,
    /// First block of the zone.
    pub(super) first: u64,
    /// Blocks of the zone.
    pub(super) blocks: u64,
}

impl ZoneMap<'_> {
    /// What slips and remaps count: sectors, or whole tracks when whole tracks are spare.
    fn unit(&self) -> u64 {
        match self.sparing {
            Sparing::ZoneEndTracks => u64::from(self.zone.sectors_per_track),
            _ => 1,
        }
    }

    /// Positions that share their spares, and those of them that are data: the zone, or a range of
    /// cylinders.
    fn chunk(&self) -> (u64, u64) {
        match self.sparing {
            Sparing::CylinderRanges { cylinders } => {
                let all =
                    u64::from(self.zone.sectors_per_track) * self.heads * u64::from(cylinders);
                (all, all - self.zone.spares)
            }
            Sparing::TrackEnd => {
                let all = u64::from(self.zone.sectors_per_track);
                (all, all - self.zone.spares)
            }
            _ => (u64::MAX, u64::MAX),
        }
    }

    /// By how many sectors the track of a position is turned. The reference counts the slips of the
    /// tracks before it, and counts tracks by the number of their head where the heads of a
    /// cylinder come in descending order.
    fn turned(&self, position: u64) -> u32 {
        if self.sparing != Sparing::TrackEnd || self.zone.slips.is_empty() {
            return 0;
        }
        let sectors = u64::from(self.zone.sectors_per_track);
        let track = position / sectors;
        let (cylinder, side) = (track / self.heads, track % self.heads);
        let descending = match self.head_order {
            HeadOrder::Ascending => false,
            HeadOrder::AlternatingInZone => cylinder % 2 == 1,
            HeadOrder::Alternating => (cylinder + u64::from(self.zone.cylinders.0)) % 2 == 1,
        };
        let head = if descending {
            self.heads - 1 - side
        } else {
            side
        };
        let before = (cylinder * self.heads + head) * sectors;
        self.zone
            .slips
            .iter()
            .filter(|slip| **slip < before)
            .count() as u32
    }

    /// The zone's runs by slips alone, in order of blocks and of positions.
    pub(super) fn slipped(&self) -> Vec<Run> {
        let (all, data) = self.chunk();
        let from = self.zone.reserved_sectors_at_front;
        let to = from + self.blocks;
        let mut slips: Vec<u64> = self.zone.slips.iter().map(|s| s * self.unit()).collect();
        slips.sort_unstable();
        let mut runs = Vec::new();
        for chunk in from / data..=(to - 1) / data {
            let base = chunk
                .checked_mul(all)
                .expect("a zone's positions fit 64 bits");
            let here = slips.partition_point(|slip| *slip < base)
                ..slips.partition_point(|slip| *slip < base.saturating_add(all));
            let mut skipped = 0;
            let mut boundary = 0;
            self.push(&mut runs, chunk * data, base);
            for slip in &slips[here] {
                // The reference counts a slip once the blocks before it are counted in: two slips
                // at one place skip two sectors.
                boundary = boundary.max((slip - base).saturating_sub(skipped));
                skipped += self.unit();
                if boundary < data {
                    self.push(
                        &mut runs,
                        chunk * data + boundary,
                        base + boundary + skipped,
                    );
                }
            }
        }
        self.clip(runs, from, to)
    }

    /// Notes that from data sector `x` of the zone on, blocks lie at `position` on.
    fn push(&self, runs: &mut Vec<Run>, x: u64, position: u64) {
        // Several slips in a row: only the last of them counts.
        while runs.last().is_some_and(|run: &Run| run.first == x) {
            runs.pop();
        }
        runs.push(Run {
            first: x,
            position,
            zone: self.index,
            turned: self.turned(position),
        });
    }

    /// Keeps data sectors `from..to` and names them by block.
    fn clip(&self, mut runs: Vec<Run>, from: u64, to: u64) -> Vec<Run> {
        let begin = runs.partition_point(|run| run.first <= from) - 1;
        runs.drain(..begin);
        runs[0].position += from - runs[0].first;
        runs[0].first = from;
        runs.retain(|run| run.first < to);
        for run in &mut runs {
            run.first = run.first - from + self.first;
        }
        runs
    }

    /// The same with remaps: the blocks of a remapped place become runs of their own.
    pub(super) fn remapped(&self, slipped: &[Run]) -> Vec<Run> {
        let end = self.first + self.blocks;
        let mut runs = slipped.to_vec();
        for &(defect, replacement) in &self.zone.remaps {
            let (old, new) = (defect * self.unit(), self.replacement(defect, replacement));
            if old == new {
                continue;
            }
            for (index, run) in slipped.iter().enumerate() {
                let after = slipped.get(index + 1).map_or(end, |next| next.first);
                let (low, high) = (run.position, run.position + (after - run.first));
                let (from, to) = (old.max(low), (old + self.unit()).min(high));
                if from < to {
                    let block = run.first + (from - low);
                    let place = new + (from - old);
                    let moved = move_away(&mut runs, block, block + (to - from), place, end);
                    moved.turned = self.turned(place);
                }
            }
        }
        runs
    }

    /// Where a replacement lies. Spares of a range replace defects of that range only, so there a
    /// replacement counts from the start of its range, whichever range its number is of.
    fn replacement(&self, defect: u64, replacement: u64) -> u64 {
        match self.sparing {
            Sparing::CylinderRanges { .. } => {
                let (all, _) = self.chunk();
                defect / all * all + replacement % all
            }
            _ => replacement * self.unit(),
        }
    }
}

/// Gives blocks `from..to` a run of their own at `position`, and returns it; `end` is behind the
/// zone's last block.
fn move_away(runs: &mut Vec<Run>, from: u64, to: u64, position: u64, end: u64) -> &mut Run {
    if to < end {
        split(runs, to);
    }
    let index = split(runs, from);
    runs[index].position = position;
    &mut runs[index]
}

/// Lets a run begin at `block`; its index.
fn split(runs: &mut Vec<Run>, block: u64) -> usize {
    let index = runs.partition_point(|run| run.first <= block) - 1;
    let run = runs[index];
    if run.first == block {
        return index;
    }
    runs.insert(
        index + 1,
        Run {
            first: block,
            position: run.position + (block - run.first),
            ..run
        },
    );
    index + 1
}

/// Joins runs that continue each other.
pub(super) fn join(runs: &mut Vec<Run>) {
    runs.dedup_by(|next, run| {
        let alike = next.zone == run.zone && next.turned == run.turned;
        alike && next.position.wrapping_sub(run.position) == next.first - run.first
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(slips: &[u64], remaps: &[(u64, u64)], spares: u64, reserved: u64) -> Zone {
        Zone {
            cylinders: (0, 3),
            sectors_per_track: 10,
            track_skew_sectors: 0,
            cylinder_skew_sectors: 0,
            first_block_offset_sectors: 0,
            reserved_sectors_at_front: reserved,
            spares,
            blocks: None,
            slips: slips.to_vec(),
            remaps: remaps.to_vec(),
        }
    }

    /// (first block, position) of the runs of a zone of 4 cylinders of 2 tracks of 10 sectors.
    fn runs(zone: &Zone, sparing: Sparing) -> Vec<(u64, u64)> {
        let map = ZoneMap {
            zone,
            index: 0,
            heads: 2,
            sparing,
            head_order: HeadOrder::Ascending,
            first: 100,
            blocks: zone.blocks(2, sparing).unwrap(),
        };
        let mut runs = map.remapped(&map.slipped());
        join(&mut runs);
        runs.iter().map(|run| (run.first, run.position)).collect()
    }

    #[test]
    fn without_defects_a_zone_is_one_run_behind_its_reserve() {
        assert_eq!(runs(&zone(&[], &[], 0, 7), Sparing::None), [(100, 7)]);
    }

    #[test]
    fn slips_of_a_zone_push_what_follows() {
        // Positions 3, 4 and 9 are skipped: blocks 100..103 at 0..3, 103..107 at 5..9, 107.. at
        // 10.. .
        let expected = [(100, 0), (103, 5), (107, 10)];
        assert_eq!(
            runs(&zone(&[3, 4, 9], &[], 5, 0), Sparing::ZoneEnd),
            expected
        );
        // The same behind a reserve of 4: its own data sectors 0..4 hold position 3, whose slip
        // counts.
        let expected = [(100, 6), (103, 10)];
        assert_eq!(
            runs(&zone(&[3, 4, 9], &[], 5, 4), Sparing::ZoneEnd),
            expected
        );
    }

    #[test]
    fn slips_of_a_range_push_only_their_range() {
        // Ranges of 1 cylinder: 20 sectors of which 17 hold data; position 25 is in the second.
        let expected = [(100, 0), (117, 20), (122, 26), (134, 40), (151, 60)];
        let ranges = Sparing::CylinderRanges { cylinders: 1 };
        assert_eq!(runs(&zone(&[25], &[], 3, 0), ranges), expected);
    }

    #[test]
    fn a_slipped_track_pushes_whole_tracks() {
        // Track 1 is skipped.
        let expected = [(100, 0), (110, 20)];
        assert_eq!(
            runs(&zone(&[1], &[], 1, 0), Sparing::ZoneEndTracks),
            expected
        );
        // With a reserve of 4 sectors the first track holds 6 blocks.
        let expected = [(100, 4), (106, 20)];
        assert_eq!(
            runs(&zone(&[1], &[], 1, 4), Sparing::ZoneEndTracks),
            expected
        );
    }

    #[test]
    fn a_remapped_sector_is_a_run_of_its_own() {
        let expected = [(100, 0), (105, 79), (106, 6)];
        assert_eq!(
            runs(&zone(&[], &[(5, 79)], 5, 0), Sparing::ZoneEnd),
            expected
        );
        assert_eq!(
            runs(&zone(&[], &[(5, 5)], 5, 0), Sparing::ZoneEnd),
            [(100, 0)]
        );
    }

    #[test]
    fn a_remapped_track_moves_all_its_blocks() {
        let expected = [(100, 0), (110, 70), (120, 20)];
        assert_eq!(
            runs(&zone(&[], &[(1, 7)], 1, 0), Sparing::ZoneEndTracks),
            expected
        );
    }

    #[test]
    fn a_remap_in_a_range_stays_in_it() {
        let ranges = Sparing::CylinderRanges { cylinders: 1 };
        let expected = [
            (100, 0),
            (117, 20),
            (122, 38),
            (123, 26),
            (134, 40),
            (151, 60),
        ];
        assert_eq!(runs(&zone(&[], &[(25, 38)], 3, 0), ranges), expected);
        assert_eq!(runs(&zone(&[], &[(25, 18)], 3, 0), ranges), expected);
    }

    #[test]
    fn slips_alone_shorten_a_zone() {
        let expected = [(100, 0), (103, 5), (107, 10)];
        assert_eq!(runs(&zone(&[3, 4, 9], &[], 0, 0), Sparing::Slips), expected);
        let zone = zone(&[3, 4, 9], &[], 0, 0);
        assert_eq!(zone.blocks(2, Sparing::Slips), Some(77));
    }

    #[test]
    fn slips_of_a_track_push_only_their_track_and_turn_the_later_ones() {
        // Tracks of 10 sectors of which 8 hold data; position 12 is sector 2 of track 1.
        let zone = zone(&[12], &[], 2, 0);
        assert_eq!(zone.blocks(2, Sparing::TrackEnd), Some(64));
        let map = ZoneMap {
            zone: &zone,
            index: 0,
            heads: 2,
            sparing: Sparing::TrackEnd,
            head_order: HeadOrder::Ascending,
            first: 100,
            blocks: 64,
        };
        let of = |run: &Run| (run.first, run.position, run.turned);
        let runs: Vec<_> = map.slipped().iter().map(of).collect();
        assert_eq!(
            runs[..4],
            [(100, 0, 0), (108, 10, 0), (110, 13, 0), (116, 20, 1)]
        );
        assert_eq!(runs.len(), 9);
        assert!(runs[4..].iter().all(|(_, _, turned)| *turned == 1));
    }

    #[test]
    fn descending_heads_count_by_their_number() {
        // Position 25 is on track 2, head 1 of cylinder 1, which descends: it counts for that track
        // and not for head 0.
        let zone = zone(&[25], &[], 2, 0);
        let map = ZoneMap {
            zone: &zone,
            index: 0,
            heads: 2,
            sparing: Sparing::TrackEnd,
            head_order: HeadOrder::Alternating,
            first: 100,
            blocks: 64,
        };
        let turned: Vec<_> = map.slipped().iter().map(|run| run.turned).collect();
        assert_eq!(turned, [0, 0, 1, 1, 0, 1, 1, 1, 1]);
    }
}
