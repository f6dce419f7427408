//! Where every block lies: block to run, run to position, position to cylinder, head and angle.
//!
//! The rules are those of DiskSim 4.0's `layout_g1` as the reference tables state them. The run of
//! a block comes from a table indexed by the block's upper bits, so the search starts a step or two
//! from its end; divisions by sectors per track and by heads are multiplications by an exact
//! reciprocal; angles are 64-bit fractions of a turn, whose overflow is the modulus. About ten
//! nanoseconds a block, with defects or without.

use std::ops::Range;

use super::parameters::{HeadOrder, Parameters, Sparing};
use super::runs::{self, Run, ZoneMap};
use super::spindle::Spindle;
use crate::freemap::Span;
use crate::position::{ArmPosition, Place};
use crate::registry::ConfigError;
use crate::units::{Angle, Blocks, Duration, Pba};

/// The map of a drive's blocks.
#[derive(Clone, Debug)]
pub struct Layout {
    heads: Divisor,
    zones: Vec<ZoneTracks>,
    /// In order of blocks; the last one is behind the drive.
    runs: Vec<Run>,
    /// The same by slips alone, in which blocks and positions of a zone rise together.
    slipped: Vec<Run>,
    /// Whether a remap moves a track as a whole.
    whole_tracks_move: bool,
    /// Run in which each bucket of `1 << shift` blocks begins.
    buckets: Vec<u32>,
    shift: u32,
    capacity: u64,
}

/// What all tracks of a zone share.
#[derive(Clone, Copy, Debug)]
struct ZoneTracks {
    first_cylinder: u32,
    /// How many there are.
    tracks: u64,
    sectors: Divisor,
    /// Flips the heads of a cylinder if odd: added to its number in the zone.
    flip_base: u32,
    /// 1 if heads of odd cylinders are flipped.
    flip_mask: u32,
    /// Angle at which the zone begins, and what a track, a cylinder and a sector add; in 2^-64
    /// turns.
    angle: u64,
    track_step: u64,
    cylinder_step: u64,
    sector_step: u64,
    /// Time of a sector in 2^-32 ns.
    sector_time: u64,
}

/// A block's place with what a transfer needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Cylinder, head and angle at which the block begins.
    pub place: Place,
    /// Zone, counted from 0.
    pub zone: u32,
    /// Track, counted within the zone.
    pub track: u64,
    /// Sector on the track, spare and defective ones counted.
    pub sector: u32,
    /// Sectors on the track.
    pub sectors: u32,
    /// Blocks from this one on that follow each other on this track without a gap.
    pub contiguous: Blocks,
    /// Time of a sector in 2^-32 ns.
    sector_time: u64,
}

impl Spot {
    /// Where the heads are when they are there.
    #[inline]
    pub fn arm_position(&self) -> ArmPosition {
        self.place.arm_position()
    }

    /// Time that `count` sectors of this track take to pass, at most a turn of them; rounded down.
    #[inline]
    pub fn sectors_pass(&self, count: u64) -> Duration {
        Duration((count * self.sector_time) >> 32)
    }

    /// Whole sectors that pass within `span`, less than four seconds: the most for which
    /// [`Spot::sectors_pass`] gives no more than `span`.
    #[inline]
    pub fn sectors_within(&self, span: Duration) -> u64 {
        debug_assert!(
            span.0 < u64::from(u32::MAX),
            "{span} is no time on one track"
        );
        (((span.0 + 1) << 32) - 1) / self.sector_time
    }
}

impl Layout {
    /// The layout that checked parameters describe.
    ///
    /// # Errors
    /// A zone whose slips push its blocks out of it.
    pub(super) fn new(drive: &Parameters, spindle: &Spindle) -> Result<Layout, ConfigError> {
        let (mut runs, mut slipped, mut first) = (Vec::new(), Vec::new(), 0);
        for (index, zone) in drive.zones.iter().enumerate() {
            let blocks = zone
                .blocks(drive.heads, drive.sparing)
                .expect("checked to hold blocks");
            let map = ZoneMap {
                zone,
                index: index as u32,
                heads: drive.heads.into(),
                sparing: drive.sparing,
                head_order: drive.head_order,
                first,
                blocks,
            };
            let of_zone = map.slipped();
            first += blocks;
            check_end(
                &of_zone,
                first,
                index,
                zone.sectors(drive.heads),
                zone.slips.len(),
            )?;
            runs.extend(map.remapped(&of_zone));
            slipped.extend(of_zone);
        }
        let end = Run {
            first,
            position: 0,
            zone: u32::MAX,
            turned: 0,
        };
        for list in [&mut runs, &mut slipped] {
            runs::join(list);
            list.push(end);
        }
        let (buckets, shift) = buckets(&runs, first);
        Ok(Layout {
            heads: Divisor::new(drive.heads.into()),
            zones: (0..drive.zones.len())
                .map(|zone| ZoneTracks::new(drive, zone, spindle))
                .collect(),
            runs,
            slipped,
            whole_tracks_move: drive.sparing == Sparing::ZoneEndTracks,
            buckets,
            shift,
            capacity: first,
        })
    }

    /// Addressable blocks.
    pub fn capacity(&self) -> Blocks {
        Blocks(self.capacity)
    }

    /// Recording surfaces.
    pub fn heads(&self) -> u32 {
        self.heads.by as u32
    }

    /// Time of a sector in a cylinder, rounded down.
    #[inline]
    pub(super) fn sector_time(&self, cylinder: u32) -> Duration {
        let zone = self.within(cylinder).map_or(0, |(zone, _)| zone);
        Duration(self.zones[zone].sector_time >> 32)
    }

    /// Tracks of each zone, and sectors of one.
    pub(super) fn tracks_of_zones(&self) -> impl Iterator<Item = (u64, u64)> {
        self.zones.iter().map(|zone| (zone.tracks, zone.sectors.by))
    }

    /// Where a block lies.
    ///
    /// # Panics
    /// If `at` is beyond the drive.
    #[inline]
    pub fn spot(&self, at: Pba) -> Spot {
        let index = self.run(at);
        let run = &self.runs[index];
        let position = run.position + (at.0 - run.first);
        self.spot_at(run, position, self.runs[index + 1].first - at.0)
    }

    /// What lies at a position of a run's zone, if `follow` blocks do so from there on.
    #[inline]
    fn spot_at(&self, run: &Run, position: u64, follow: u64) -> Spot {
        let zone = run.zone;
        let on = &self.zones[zone as usize];
        let track = on.sectors.quotient(position);
        let sector = position - track * on.sectors.by;
        let cylinder = self.heads.quotient(track);
        let side = (track - cylinder * self.heads.by) as u32;
        let surface = self.surface(on, cylinder, side);
        let angle = on
            .angle
            .wrapping_add(track.wrapping_mul(on.track_step))
            .wrapping_add(cylinder.wrapping_mul(on.cylinder_step))
            .wrapping_add((sector + u64::from(run.turned)).wrapping_mul(on.sector_step))
            .wrapping_add(1 << 31);
        Spot {
            place: Place {
                cylinder: on.first_cylinder + cylinder as u32,
                surface,
                angle: Angle((angle >> 32) as u32),
            },
            zone,
            track,
            sector: sector as u32,
            sectors: on.sectors.by as u32,
            contiguous: Blocks(follow.min(on.sectors.by - sector)),
            sector_time: on.sector_time,
        }
    }

    /// The surface of the track that is the `side`th of a cylinder, or the other way round.
    #[inline]
    fn surface(&self, on: &ZoneTracks, cylinder: u64, side: u32) -> u32 {
        let flipped = (cylinder as u32).wrapping_add(on.flip_base) & on.flip_mask != 0;
        if flipped {
            self.heads.by as u32 - 1 - side
        } else {
            side
        }
    }

    /// The run that holds a block.
    #[inline]
    fn run(&self, at: Pba) -> usize {
        assert!(
            at.0 < self.capacity,
            "block {at} is beyond the drive's {} blocks",
            self.capacity
        );
        let bucket = (at.0 >> self.shift) as usize;
        let (low, high) = (
            self.buckets[bucket] as usize,
            self.buckets[bucket + 1] as usize,
        );
        if low == high {
            return low;
        }
        low + self.runs[low + 1..=high].partition_point(|run| run.first <= at.0)
    }

    /// The blocks of the track on which a block lies, with sectors counted that are remapped from
    /// it. Empty if the block itself is remapped to a track that holds spare sectors only. A
    /// remapped track keeps its blocks.
    pub fn track_span(&self, at: Pba) -> Range<Pba> {
        let index = self.run(at);
        let (run, next) = (self.runs[index], self.runs[index + 1].first);
        let sectors = &self.zones[run.zone as usize].sectors;
        let track = sectors.quotient(run.position + (at.0 - run.first));
        let (from, to) = (track * sectors.by, (track + 1) * sectors.by);
        // Mostly no run ends on the track.
        if run.position <= from && to - run.position <= next - run.first {
            let first = run.first + (from - run.position);
            return Pba(first)..Pba(first + sectors.by);
        }
        self.track_span_by_search(at)
    }

    fn track_span_by_search(&self, at: Pba) -> Range<Pba> {
        let spot = if self.whole_tracks_move {
            self.home(at)
        } else {
            self.spot(at)
        };
        self.blocks_of(spot.zone as usize, spot.track..spot.track + 1)
    }

    /// The blocks of a cylinder as if nothing were remapped; empty if it has none.
    pub fn cylinder_blocks(&self, cylinder: u32) -> Range<Pba> {
        let Some((zone, within)) = self.within(cylinder) else {
            return Pba(0)..Pba(0);
        };
        let [begin, end] = [within, within + 1]
            .map(|within| (within * self.heads.by).min(self.zones[zone].tracks));
        self.blocks_of(zone, begin..end)
    }

    /// The blocks of a track as if nothing were remapped; empty if it has none.
    pub fn track_blocks(&self, at: ArmPosition) -> Range<Pba> {
        let Some((zone, within)) = self.within(at.cylinder) else {
            return Pba(0)..Pba(0);
        };
        let on = &self.zones[zone];
        let side = self.surface(on, within, at.surface);
        let track = within * self.heads.by + u64::from(side);
        match track < on.tracks {
            true => self.blocks_of(zone, track..track + 1),
            false => Pba(0)..Pba(0),
        }
    }

    /// The blocks of these tracks of a zone, slips counted.
    fn blocks_of(&self, zone: usize, tracks: Range<u64>) -> Range<Pba> {
        let sectors = self.zones[zone].sectors.by;
        let [begin, end] =
            [tracks.start, tracks.end].map(|track| self.block_from(zone as u32, track * sectors));
        begin..end.max(begin)
    }

    /// The zone of a cylinder, or the one before it if it is of none, and the cylinder's number in
    /// it. None in front of the first zone.
    fn within(&self, cylinder: u32) -> Option<(usize, u64)> {
        let behind = |zone: &ZoneTracks| zone.first_cylinder <= cylinder;
        let zone = self.zones.partition_point(behind).checked_sub(1)?;
        let first = self.zones[zone].first_cylinder;
        Some((zone, u64::from(cylinder - first)))
    }

    /// The track that has these blocks, as far as it matters to those who write there.
    pub(super) fn span(&self, first: Pba, blocks: Blocks) -> Span {
        let (home, spot) = (self.home(first), self.spot(first));
        Span {
            first,
            angle: home.place.angle,
            blocks,
            sectors: home.sectors,
            // A remapped block lies elsewhere: what is contiguous there does not count.
            contiguous: match spot.place == home.place {
                true => spot.contiguous,
                false => Blocks(0),
            },
        }
    }

    /// Whether one of these blocks is remapped. What follows each other in both lists is at home as
    /// a whole, or not.
    pub(super) fn any_lies_elsewhere(&self, blocks: Range<u64>) -> bool {
        let mut at = blocks.start;
        while at < blocks.end {
            let (index, home) = (self.run(Pba(at)), self.home_run(at));
            let lies = |run: &Run| (run.zone, run.position + (at - run.first));
            if lies(&self.runs[index]) != lies(&self.slipped[home]) {
                return true;
            }
            at = self.runs[index + 1].first.min(self.slipped[home + 1].first);
        }
        false
    }

    /// The run of `slipped` in which a block lies.
    fn home_run(&self, at: u64) -> usize {
        self.slipped.partition_point(|run| run.first <= at) - 1
    }

    /// Where a block would lie if nothing were remapped.
    pub fn home(&self, at: Pba) -> Spot {
        let run = &self.slipped[self.home_run(at.0)];
        self.spot_at(run, run.position + (at.0 - run.first), 1)
    }

    /// The first block of a zone whose position is not below `position`, slips counted.
    fn block_from(&self, zone: u32, position: u64) -> Pba {
        let before = |run: &Run| (run.zone, run.position) <= (zone, position);
        let index = self.slipped.partition_point(before);
        let next = self.slipped[index].first;
        match self.slipped[..index].last() {
            Some(run) if run.zone == zone => Pba(next.min(run.first + (position - run.position))),
            _ => Pba(next),
        }
    }
}

impl ZoneTracks {
    fn new(drive: &Parameters, zone: usize, spindle: &Spindle) -> ZoneTracks {
        let zone = &drive.zones[zone];
        let sectors = i64::from(zone.sectors_per_track);
        // Skews are taken modulo a turn, so that they are fractions of one.
        let turns = |count: i64| {
            let numerator = (count.rem_euclid(sectors) as u128) << 64;
            ((numerator + sectors as u128 / 2) / sectors as u128) as u64
        };
        let track_step = turns(zone.track_skew_sectors);
        // A cylinder has one cylinder switch in place of a track switch.
        let cylinder_step = turns(zone.cylinder_skew_sectors).wrapping_sub(track_step);
        let (flip_mask, flip_base) = match drive.head_order {
            HeadOrder::Ascending => (0, 0),
            HeadOrder::AlternatingInZone => (1, 0),
            HeadOrder::Alternating => (1, zone.cylinders.0),
        };
        ZoneTracks {
            first_cylinder: zone.cylinders.0,
            tracks: zone.cylinder_count() * u64::from(drive.heads),
            sectors: Divisor::new(zone.sectors_per_track.into()),
            flip_base,
            flip_mask,
            angle: turns(zone.first_block_offset_sectors),
            track_step,
            cylinder_step,
            sector_step: turns(1),
            sector_time: spindle.part(zone.sectors_per_track),
        }
    }
}

/// Refuses a zone whose blocks end beyond its sectors.
fn check_end(
    runs: &[Run],
    end: u64,
    zone: usize,
    sectors: u64,
    slips: usize,
) -> Result<(), ConfigError> {
    let last = runs.last().expect("a zone has blocks");
    let needed = last.position + (end - last.first);
    if needed <= sectors {
        return Ok(());
    }
    let allowed =
        format!("so many that the zone's {sectors} sectors suffice; it would need {needed}");
    Err(ConfigError::value(
        &format!("zones[{zone}].slips"),
        &slips.to_string(),
        &allowed,
    ))
}

/// An index of runs by the upper bits of a block: the run at the begin of every bucket, and how
/// many lower bits a bucket leaves out. About four buckets a run keep most of them within one run.
fn buckets(runs: &[Run], capacity: u64) -> (Vec<u32>, u32) {
    let wanted = (4 * runs.len() as u64).next_power_of_two();
    let shift = (capacity / wanted).max(1).ilog2();
    let count = (capacity >> shift) + 1;
    let run_at = |bucket: u64| {
        let begin = (bucket << shift).min(capacity - 1);
        runs.partition_point(|run| run.first <= begin) as u32 - 1
    };
    ((0..=count).map(run_at).collect(), shift)
}

/// Division by a number known beforehand, as a multiplication.
///
/// With `m = (2^64 - 1) div d` the quotient `n div d` is `(n + 1) * m div 2^64` exactly, for every
/// `n` below `2^64 / d`: `(n + 1) / d` exceeds the true quotient by at least `1 / d` unless it is
/// the next whole number, and the error of `m` takes away more than nothing and no more than that.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    by: u64,
    reciprocal: u64,
}

impl Divisor {
    fn new(by: u64) -> Divisor {
        Divisor {
            by,
            reciprocal: u64::MAX / by,
        }
    }

    #[inline]
    fn quotient(&self, number: u64) -> u64 {
        ((u128::from(number + 1) * u128::from(self.reciprocal)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 heads, cylinders 0 and 1 of 10 sectors, then 3 and 4 of 4; a track skew of 3 sectors, a
    /// cylinder skew of 5, two defects.
    const SMALL: &str = "
        kind = 'hdd'
        rpm = 6000
        heads = 2
        cylinders = 5
        head_switch_ms = 0.5
        write_settle_ms = 0.25
        sparing = { at = 'zone-end' }
        seek_ms = [[1, 1.0], [9, 5.0]]
        [[zones]]
        cylinders = [0, 1]
        sectors_per_track = 10
        track_skew_sectors = 3
        cylinder_skew_sectors = 5
        spares = 6
        slips = [4]
        remaps = [[12, 39]]
        [[zones]]
        cylinders = [3, 4]
        sectors_per_track = 4
        first_block_offset_sectors = 1
    ";

    fn layout(text: &str) -> Layout {
        let drive = Parameters::read(&text.parse().unwrap()).unwrap();
        Layout::new(&drive, &Spindle::new(drive.rpm, Angle(0))).unwrap()
    }

    /// (cylinder, head, sector, angle in hundredths of a turn)
    fn place(layout: &Layout, block: u64) -> (u32, u32, u32, u32) {
        let spot = layout.spot(Pba(block));
        let hundredths = (spot.place.angle.as_turns() * 100.0).round() as u32;
        (
            spot.place.cylinder,
            spot.place.surface,
            spot.sector,
            hundredths,
        )
    }

    #[test]
    fn blocks_follow_tracks_cylinders_and_zones() {
        let layout = layout(SMALL);
        assert_eq!(layout.capacity(), Blocks(34 + 16));
        assert_eq!(place(&layout, 0), (0, 0, 0, 0));
        assert_eq!(place(&layout, 3), (0, 0, 3, 30));
        // Sector 4 is skipped.
        assert_eq!(place(&layout, 4), (0, 0, 5, 50));
        // The first track holds 9 blocks; the second begins 3 sectors later.
        assert_eq!(place(&layout, 9), (0, 1, 0, 30));
        // Sector 2 of it is remapped to the last sector of the zone: two track skews and a cylinder
        // skew.
        assert_eq!(place(&layout, 11), (1, 1, 9, 0));
        assert_eq!(place(&layout, 12), (0, 1, 3, 60));
        assert_eq!(place(&layout, 19), (1, 0, 0, 80));
        assert_eq!(place(&layout, 34), (3, 0, 0, 25));
        assert_eq!(place(&layout, 49), (4, 1, 3, 0));
    }

    #[test]
    fn contiguous_blocks_end_at_slips_remaps_and_tracks() {
        let layout = layout(SMALL);
        let left = |block| layout.spot(Pba(block)).contiguous.0;
        assert_eq!(
            [left(0), left(3), left(4), left(9), left(11), left(12)],
            [4, 1, 5, 2, 1, 7]
        );
    }

    #[test]
    fn a_track_spans_its_blocks_with_those_that_were_remapped() {
        let layout = layout(SMALL);
        let span = |block| {
            let span = layout.track_span(Pba(block));
            (span.start.0, span.end.0)
        };
        assert_eq!(span(0), (0, 9));
        assert_eq!(span(8), (0, 9));
        assert_eq!(span(10), (9, 19));
        assert_eq!(span(33), (29, 34));
        assert_eq!(span(34), (34, 38));
        assert_eq!(span(49), (46, 50));
    }

    #[test]
    fn heads_alternate_as_the_scheme_says() {
        let second = |order: &str| {
            let text = SMALL.replace("heads = 2", &format!("head_order = '{order}'\nheads = 2"));
            let layout = layout(&text);
            // First tracks of cylinders 0, 1, 3 and 4.
            [0, 19, 34, 42].map(|block| layout.spot(Pba(block)).place.surface)
        };
        assert_eq!(second("ascending"), [0, 0, 0, 0]);
        assert_eq!(second("alternating-in-zone"), [0, 1, 0, 1]);
        assert_eq!(second("alternating"), [0, 1, 1, 0]);
    }

    #[test]
    fn too_many_slips_are_refused() {
        let text = SMALL
            .replace("spares = 6", "blocks = 40")
            .replace("[[12, 39]]", "[]");
        let drive = Parameters::read(&text.parse().unwrap()).unwrap();
        let error = Layout::new(&drive, &Spindle::new(drive.rpm, Angle(0))).unwrap_err();
        assert!(
            error.to_string().starts_with("zones[0].slips = 1"),
            "{error}"
        );
    }

    #[test]
    fn reciprocals_divide_exactly() {
        for by in [1, 2, 3, 7, 12, 254, 255, 256, 1_023, 65_535] {
            let divisor = Divisor::new(by);
            let max = u64::MAX / by - 1;
            let edges = (0..1_000).flat_map(|k| [k, k * by, (k + 1) * by - 1, max - k]);
            for number in edges {
                assert_eq!(divisor.quotient(number), number / by, "{number} by {by}");
            }
        }
    }
}
