//! Where blocks lie, as far as times do not tell: a base drive's layout, scaled to the capacity and
//! to the sectors per track found.
//!
//! Heads, the share of the addresses in each zone, skews in turns and the order of heads are the
//! base's. With the base's own capacity and sectors per track, nothing is changed at all, defects
//! included.

use nearslot_core::drive::hdd::parameters::{CYLINDERS_MAX, HeadOrder, Parameters, Sparing, Zone};
use nearslot_core::drive::hdd::seek::drawn_on;

use super::CalibrateError;

/// Addresses of a base drive's zones, as shares of all, up to their ends.
pub(super) fn zone_ends(base: &Parameters) -> Vec<f64> {
    let blocks: Vec<f64> = zone_blocks(base);
    let all: f64 = blocks.iter().sum();
    let mut sum = 0.0;
    let ends = blocks.iter().map(|blocks| {
        sum += blocks;
        sum / all
    });
    ends.collect()
}

fn zone_blocks(base: &Parameters) -> Vec<f64> {
    let blocks = |zone: &Zone| zone.blocks(base.heads, base.sparing);
    let zones = base.zones.iter();
    zones
        .map(|zone| blocks(zone).expect("the base drive was checked") as f64)
        .collect()
}

/// Blocks of a drive.
pub(super) fn capacity(base: &Parameters) -> u64 {
    zone_blocks(base).iter().sum::<f64>() as u64
}

/// By how much a zone's tracks take longer than a turn when they are read one after another, in
/// turns.
pub(super) fn skew_turns(base: &Parameters, zone: &Zone) -> f64 {
    let heads = f64::from(base.heads);
    let (track, cylinder) = (zone.track_skew_sectors, zone.cylinder_skew_sectors);
    let sectors = (heads - 1.0) * track as f64 + cylinder as f64;
    sectors / heads / f64::from(zone.sectors_per_track)
}

/// The longest switches of head and of cylinder that the skews of all zones cover, before a write
/// too.
pub(super) fn covered_ms(drive: &Parameters, turn_ms: f64) -> [f64; 2] {
    let settle = drive.write_settle_ms.max(0.0);
    let least = |skew: fn(&Zone) -> i64| {
        let zones = drive.zones.iter();
        // A sector is passed while a switch is rounded up, and one for the way there.
        let turns = zones.map(|zone| (skew(zone) - 2) as f64 / f64::from(zone.sectors_per_track));
        turns.fold(f64::INFINITY, f64::min) * turn_ms - settle
    };
    [
        least(|zone| zone.track_skew_sectors),
        least(|zone| zone.cylinder_skew_sectors),
    ]
}

/// The base with skews that cover the switches of head and cylinder of `drive`, where they do not
/// yet.
pub(super) fn wider_skews(base: &Parameters, drive: &Parameters, turn_ms: f64) -> Parameters {
    let mut wider = base.clone();
    let settle = drive.write_settle_ms.max(0.0);
    let first = drive.seek_ms.first().map_or(0.0, |(_, ms)| *ms);
    for zone in &mut wider.zones {
        let covers = |ms: f64| {
            // A whole turn more or less makes no difference.
            let turns = ((ms + settle) / turn_ms).fract();
            libm::ceil(turns * f64::from(zone.sectors_per_track)) as i64 + 1
        };
        zone.track_skew_sectors = zone.track_skew_sectors.max(covers(drive.head_switch_ms));
        zone.cylinder_skew_sectors = zone
            .cylinder_skew_sectors
            .max(covers(first.max(drive.head_switch_ms)));
    }
    wider
}

/// The base drive with this capacity, and these sectors per track if they were measured.
///
/// # Errors
/// The blocks make more cylinders than a disk may have.
pub(super) fn scaled(
    base: &Parameters,
    blocks: u64,
    sectors: Option<&[u32]>,
) -> Result<Parameters, CalibrateError> {
    if sectors.is_none() && blocks == capacity(base) {
        return Ok(base.clone());
    }
    let mut drive = base.ideal();
    drive.sparing = Sparing::None;
    drive.start_cylinder = 0;
    drive.start_head = 0;
    if drive.head_order == HeadOrder::AlternatingInZone {
        drive.head_order = HeadOrder::Alternating;
    }
    let mut first = 0;
    let mut before = 0;
    let ends = zone_ends(base);
    for (index, zone) in drive.zones.iter_mut().enumerate() {
        let was = f64::from(zone.sectors_per_track);
        let now = sectors.map_or(zone.sectors_per_track, |sectors| sectors[index]);
        let skew = |sectors: i64| libm::round(sectors as f64 / was * f64::from(now)) as i64;
        zone.track_skew_sectors = skew(zone.track_skew_sectors);
        zone.cylinder_skew_sectors = skew(zone.cylinder_skew_sectors);
        zone.first_block_offset_sectors = 0;
        zone.reserved_sectors_at_front = 0;
        zone.sectors_per_track = now;
        let end = libm::round(ends[index] * blocks as f64) as u64;
        let of_zone = (end - before).max(1);
        let cylinder = u64::from(base.heads) * u64::from(now);
        let cylinders = below_max(u64::from(first) + of_zone.div_ceil(cylinder), blocks)? - first;
        zone.cylinders = (first, first + cylinders - 1);
        zone.blocks = Some(of_zone);
        (first, before) = (first + cylinders, end);
    }
    drive.cylinders = first;
    drive.seek_ms = drawn_on(drive.seek_ms, first);
    Ok(drive)
}

/// The number of cylinders, unless a disk may not have so many.
fn below_max(cylinders: u64, blocks: u64) -> Result<u32, CalibrateError> {
    let found = u32::try_from(cylinders).ok();
    found.filter(|found| *found <= CYLINDERS_MAX).ok_or_else(|| {
        CalibrateError::Unfit(format!(
            "{blocks} blocks make more than the {CYLINDERS_MAX} cylinders that a disk may have, with the heads of the base drive and the \
             sectors per track found: --capacity names the blocks of the drive, --base a disk that is laid out as it is"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearslot_core::drive::{CAPACITY_MAX, catalog_text};

    fn base(name: &str) -> Parameters {
        Parameters::read(&catalog_text(name).unwrap().parse().unwrap()).unwrap()
    }

    #[test]
    fn the_base_with_its_own_capacity_is_the_base() {
        let base = base("seagate-cheetah-9lp");
        assert_eq!(scaled(&base, capacity(&base), None).unwrap(), base);
    }

    #[test]
    fn another_capacity_scales_cylinders_and_keeps_zones_in_proportion() {
        let base = base("desktop-7200-90mb");
        let half = scaled(&base, capacity(&base) / 2, None).unwrap();
        half.check().unwrap();
        assert_eq!(capacity(&half), capacity(&base) / 2);
        let ratio = f64::from(half.cylinders) / f64::from(base.cylinders);
        assert!((ratio - 0.5).abs() < 0.001, "{ratio}");
        let twice: Vec<u32> = base
            .zones
            .iter()
            .map(|zone| 2 * zone.sectors_per_track)
            .collect();
        let dense = scaled(&base, capacity(&base), Some(&twice)).unwrap();
        dense.check().unwrap();
        assert_eq!(capacity(&dense), capacity(&base));
        let ratio = f64::from(dense.cylinders) / f64::from(base.cylinders);
        assert!((ratio - 0.5).abs() < 0.001, "{ratio}");
        assert_eq!(
            dense.zones[0].track_skew_sectors,
            2 * base.zones[0].track_skew_sectors
        );
    }

    #[test]
    fn a_capacity_that_makes_too_many_cylinders_is_refused() {
        let base = base("hp-c2247a");
        let cylinder = capacity(&base) / u64::from(base.cylinders);
        let most = u64::from(CYLINDERS_MAX) * cylinder;
        for blocks in [most / 10 * 11, CAPACITY_MAX] {
            let words = scaled(&base, blocks, None).unwrap_err().to_string();
            assert!(
                words.starts_with(&format!("{blocks} blocks make")),
                "{words}"
            );
            assert!(words.contains("4000000 cylinders"), "{words}");
        }
        // Without spare sectors, somewhat fewer are enough.
        let large = scaled(&base, most, None).map(|drive| drive.cylinders);
        assert!(large.is_ok_and(|cylinders| cylinders > CYLINDERS_MAX / 10 * 9));
    }
}
