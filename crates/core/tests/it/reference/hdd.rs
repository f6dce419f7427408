//! The disk model against the seven rules of the reference tables, written out literally: block by
//! block, angles and times as floating point, slips by walking through them. Random drives of every
//! layout, random accesses.

use nearslot_core::drive::hdd::parameters::{HeadOrder, Parameters, Sparing, Zone};
use nearslot_core::drive::hdd::seek::drawn_on;
use nearslot_core::drive::hdd::spindle::Phase;
use nearslot_core::drive::hdd::{HddBlueprint, Mechanics};
use nearslot_core::op::Op;
use nearslot_core::position::ArmPosition;
use nearslot_core::rng::Rng;
use nearslot_core::units::{Angle, Blocks, Pba};
use proptest::prelude::*;

/// Rules 1 to 3: where a block lies.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    cylinder: u64,
    head: u64,
    /// Sector on the track.
    sector: u64,
    /// Sectors of the track.
    sectors: u64,
    /// Angle at which it begins, in turns.
    angle: f64,
}

struct Rules<'a> {
    drive: &'a Parameters,
}

impl Rules<'_> {
    fn heads(&self) -> u64 {
        u64::from(self.drive.heads)
    }

    /// The zone of a block, and the block's number in it.
    fn zone(&self, block: u64) -> (&Zone, u64) {
        let mut first = 0;
        for zone in &self.drive.zones {
            let blocks = zone.blocks(self.drive.heads, self.drive.sparing).unwrap();
            if block < first + blocks {
                return (zone, block - first);
            }
            first += blocks;
        }
        panic!("block {block} is beyond the drive");
    }

    /// Position in the zone of the x-th of its data sectors; with remaps if asked.
    fn position(&self, zone: &Zone, x: u64, remaps: bool) -> u64 {
        let sectors = u64::from(zone.sectors_per_track);
        let mut slips = zone.slips.clone();
        slips.sort_unstable();
        let remap = |place: u64| {
            let found = zone
                .remaps
                .iter()
                .rfind(|(defect, _)| *defect == place && remaps);
            found.map_or(place, |(_, replacement)| *replacement)
        };
        match self.drive.sparing {
            Sparing::None => x,
            Sparing::ZoneEnd | Sparing::Slips => {
                let mut k = 0;
                for p in slips {
                    if p <= x + k {
                        k += 1;
                    }
                }
                remap(x + k)
            }
            Sparing::CylinderRanges { cylinders } => {
                let all = sectors * self.heads() * u64::from(cylinders);
                let data = all - zone.spares;
                let (range, inside) = (x / data, x % data);
                let mut k = 0;
                for p in slips.into_iter().filter(|p| p / all == range) {
                    if p - range * all <= inside + k {
                        k += 1;
                    }
                }
                remap(range * all + inside + k)
            }
            Sparing::TrackEnd => {
                let data = sectors - zone.spares;
                let (first, mut sector) = (x / data * sectors, x % data);
                for p in slips {
                    if p >= first && p - first <= sector {
                        sector += 1;
                    }
                }
                remap(first + sector)
            }
            Sparing::ZoneEndTracks => {
                let mut track = x / sectors;
                for p in slips {
                    if p <= track {
                        track += 1;
                    }
                }
                remap(track) * sectors + x % sectors
            }
        }
    }

    fn place(&self, block: u64, remaps: bool) -> Place {
        let (zone, number) = self.zone(block);
        let x = number + zone.reserved_sectors_at_front;
        let position = self.position(zone, x, remaps);
        let (s_count, h_count) = (u64::from(zone.sectors_per_track), self.heads());
        let (t, s) = (position / s_count, position % s_count);
        let (c, h) = (t / h_count, t % h_count);
        let cylinder = u64::from(zone.cylinders.0) + c;
        let odd = match self.drive.head_order {
            HeadOrder::Ascending => 0,
            HeadOrder::AlternatingInZone => c % 2,
            HeadOrder::Alternating => cylinder % 2,
        };
        let head = if odd == 1 { h_count - 1 - h } else { h };
        // Where tracks have their own spares, slips push the skew forward.
        let pushed = match self.drive.sparing {
            Sparing::TrackEnd => {
                let before = (c * h_count + head) * s_count;
                zone.slips.iter().filter(|slip| **slip < before).count()
            }
            _ => 0,
        };
        let angle = (zone.first_block_offset_sectors as f64
            + pushed as f64
            + zone.track_skew_sectors as f64 * (h + (h_count - 1) * c) as f64
            + zone.cylinder_skew_sectors as f64 * c as f64
            + s as f64)
            / s_count as f64;
        Place {
            cylinder,
            head,
            sector: s,
            sectors: s_count,
            angle: angle - angle.floor(),
        }
    }

    /// Rule 4: milliseconds of a move.
    fn movement(&self, from: (u64, u64), to: (u64, u64), op: Op) -> f64 {
        let mut time = self.seek(from.0.abs_diff(to.0));
        if from.1 != to.1 {
            time = time.max(self.drive.head_switch_ms);
        }
        if time > 0.0 && op == Op::Write {
            time += self.drive.write_settle_ms;
        }
        time
    }

    fn seek(&self, distance: u64) -> f64 {
        let mut points = vec![(0.0, 0.0)];
        points.extend(
            self.drive
                .seek_ms
                .iter()
                .map(|(d, ms)| (f64::from(*d), *ms)),
        );
        let d = distance as f64;
        for pair in points.windows(2) {
            let ((d0, t0), (d1, t1)) = (pair[0], pair[1]);
            if d <= d1 {
                return t0 + (t1 - t0) * (d - d0) / (d1 - d0);
            }
        }
        let ((d0, t0), (d1, t1)) = (points[points.len() - 2], points[points.len() - 1]);
        t0 + (t1 - t0) * (d - d0) / (d1 - d0)
    }

    /// Rules 4 to 6, block by block.
    fn access(&self, angle: f64, from: (u64, u64), op: Op, first: u64, len: u64) -> Costs {
        let turn = 60_000.0 / self.drive.rpm;
        let mut costs = Costs::default();
        let (mut at, mut time) = (from, 0.0);
        let mut before: Option<Place> = None;
        for block in first..first + len {
            let place = self.place(block, true);
            let follows = before.is_some_and(|b| {
                (b.cylinder, b.head, b.sector + 1) == (place.cylinder, place.head, place.sector)
            });
            if !follows {
                let moved = self.movement(at, (place.cylinder, place.head), op);
                let now = angle + (time + moved) / turn;
                let wait = (place.angle - now).rem_euclid(1.0) * turn;
                // Whoever comes just at the begin of a sector catches or misses it by rounding.
                costs.edge_ms = costs.edge_ms.min(wait).min(turn - wait);
                if before.is_none() {
                    (costs.seek, costs.rotation) = (moved, wait);
                }
                time += moved + wait;
                at = (place.cylinder, place.head);
            }
            time += turn / place.sectors as f64;
            before = Some(place);
        }
        costs.transfer = time - costs.seek - costs.rotation;
        costs.end = at;
        costs
    }
}

/// What an access costs, in milliseconds.
#[derive(Debug)]
struct Costs {
    seek: f64,
    rotation: f64,
    transfer: f64,
    end: (u64, u64),
    /// How near a wait came to none or to a whole turn.
    edge_ms: f64,
}

impl Default for Costs {
    fn default() -> Costs {
        Costs {
            seek: 0.0,
            rotation: 0.0,
            transfer: 0.0,
            end: (0, 0),
            edge_ms: f64::INFINITY,
        }
    }
}

/// A small drive with every kind of layout.
fn random_drive(rng: &mut Rng) -> Parameters {
    let heads = 1 + rng.below(5) as u32;
    let range = 1 + rng.below(3) as u32;
    let sparing = [
        Sparing::None,
        Sparing::ZoneEnd,
        Sparing::ZoneEndTracks,
        Sparing::CylinderRanges { cylinders: range },
        Sparing::TrackEnd,
        Sparing::Slips,
    ][rng.below(6) as usize];
    let orders = [
        HeadOrder::Ascending,
        HeadOrder::AlternatingInZone,
        HeadOrder::Alternating,
    ];
    let (mut next, mut cylinders) = (0, 0);
    let mut zones = Vec::new();
    for _ in 0..=rng.below(3) {
        let zone = random_zone(rng, next, heads, sparing);
        cylinders = zone.cylinders.1 + 1;
        next = cylinders + rng.below(2) as u32;
        zones.push(zone);
    }
    let mut time = 0.5;
    let mut distance = 0;
    let mut point = |_| {
        distance += 1 + rng.below(4) as u32;
        time += rng.unit() * 0.7 - 0.1;
        (distance, time)
    };
    let seek_ms = drawn_on((0..5).map(&mut point).collect(), cylinders);
    Parameters {
        queue_depth: None,
        kind: "hdd".to_owned(),
        description: None,
        year: None,
        rpm: 3_000.0 + (rng.unit() * 12_000.0).floor(),
        heads,
        cylinders,
        head_switch_ms: rng.unit() * 1.5,
        write_settle_ms: rng.unit() * 0.6 - 0.2,
        head_order: orders[rng.below(3) as usize],
        sparing,
        start_cylinder: 0,
        start_head: 0,
        start_angle_turns: 0.0,
        buffer: None,
        bus: None,
        overheads: None,
        seek_ms,
        seek_measured: true,
        zones,
        calibration: None,
    }
}

fn random_zone(rng: &mut Rng, first: u32, heads: u32, sparing: Sparing) -> Zone {
    let sectors = 3 + rng.below(30);
    let cylinders = 2 + rng.below(7);
    let tracks = cylinders * u64::from(heads);
    let mut zone = Zone {
        cylinders: (first, first + cylinders as u32 - 1),
        sectors_per_track: sectors as u32,
        track_skew_sectors: (rng.below(2 * sectors) % sectors) as i64 - 1,
        cylinder_skew_sectors: (rng.below(2 * sectors) % sectors) as i64,
        first_block_offset_sectors: rng.below(sectors) as i64,
        reserved_sectors_at_front: rng.below(sectors),
        spares: 0,
        blocks: None,
        slips: Vec::new(),
        remaps: Vec::new(),
    };
    // Positions that can be defective, and how many spares there are for them.
    let (positions, spares) = match sparing {
        Sparing::None => return zone,
        Sparing::ZoneEnd => (tracks * sectors, 6),
        Sparing::ZoneEndTracks => (tracks, 1 + tracks / 4),
        Sparing::CylinderRanges { .. } => (tracks * sectors, rng.below(3)),
        Sparing::TrackEnd => (tracks * sectors, 1 + rng.below(2)),
        Sparing::Slips => (tracks * sectors, 0),
    };
    zone.spares = spares;
    let slips = match sparing {
        Sparing::CylinderRanges { .. } => u64::from(spares > 0),
        Sparing::TrackEnd | Sparing::Slips => rng.below(6),
        _ => rng.below(spares),
    };
    zone.slips = (0..slips).map(|_| rng.below(positions)).collect();
    if sparing == Sparing::Slips {
        // It is shorter by every slip, so none may be there twice.
        zone.slips.sort_unstable();
        zone.slips.dedup();
    }
    if !matches!(sparing, Sparing::CylinderRanges { .. }) && rng.chance(0.7) {
        zone.remaps = vec![(rng.below(positions), positions - 1)];
    }
    zone
}

/// A drive that can be built: random slips may leave no room.
pub(crate) fn drive_of(seed: u64) -> Option<(Parameters, HddBlueprint)> {
    let drive = random_drive(&mut Rng::stream(seed, "test/drive"));
    let blueprint = HddBlueprint::mechanical(&drive).ok()?;
    Some((drive, blueprint))
}

/// Whether our cost is the rules' to the nanosecond, but for what is rounded down per stretch.
fn near(ours_ns: u64, rules_ms: f64, stretches: f64) -> bool {
    (ours_ns as f64 / 1e6 - rules_ms).abs() <= 4e-6 * (stretches + 1.0)
}

fn check_access(rules: &Rules<'_>, mechanics: &Mechanics, rng: &mut Rng) -> Result<bool, String> {
    let capacity = mechanics.layout().capacity().0;
    let first = rng.below(capacity);
    let len = 1 + rng.below((capacity - first).min(120));
    let op = if rng.chance(0.5) { Op::Write } else { Op::Read };
    let from = mechanics
        .layout()
        .spot(Pba(rng.below(capacity)))
        .arm_position();
    let angle = Angle(rng.bits() as u32);
    let at = (u64::from(from.cylinder), u64::from(from.surface));
    let expected = rules.access(angle.as_turns(), at, op, first, len);
    if expected.edge_ms < 1e-4 {
        return Ok(false);
    }
    let media = mechanics.access_from(Phase::at(angle), from, op, Pba(first), Blocks(len));
    let end = ArmPosition {
        cylinder: expected.end.0 as u32,
        surface: expected.end.1 as u32,
    };
    let same = near(media.cost.seek.0, expected.seek, 0.0)
        && near(media.cost.rotation.0, expected.rotation, 0.0)
        && near(media.cost.transfer.0, expected.transfer, len as f64)
        && media.arm == end;
    if same {
        return Ok(true);
    }
    Err(format!(
        "{op:?} of {len} from {first}, from {from:?}: {media:?}, expected {expected:?}"
    ))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_block_lies_where_the_rules_say(seed: u64) {
        let Some((drive, blueprint)) = drive_of(seed) else { return Ok(()) };
        let (rules, layout) = (Rules { drive: &drive }, blueprint.mechanics().layout());
        for block in 0..layout.capacity().0 {
            let (ours, expected) = (layout.spot(Pba(block)), rules.place(block, true));
            prop_assert_eq!(u64::from(ours.place.cylinder), expected.cylinder, "block {}", block);
            prop_assert_eq!(u64::from(ours.place.surface), expected.head, "block {}", block);
            prop_assert_eq!(u64::from(ours.sector), expected.sector, "block {}", block);
            let apart = (ours.place.angle.as_turns() - expected.angle).rem_euclid(1.0);
            prop_assert!(apart.min(1.0 - apart) < 1e-9, "block {}: {:?}, {:?}", block, ours, expected);
        }
    }

    #[test]
    fn a_track_spans_the_blocks_that_lie_on_it(seed: u64) {
        let Some((drive, blueprint)) = drive_of(seed) else { return Ok(()) };
        let (rules, layout) = (Rules { drive: &drive }, blueprint.mechanics().layout());
        let home = |block| {
            let place = rules.place(block, false);
            (place.cylinder, place.head)
        };
        for block in 0..layout.capacity().0 {
            if rules.place(block, false) != rules.place(block, true) {
                continue;
            }
            let span = layout.track_span(Pba(block));
            let on_it = |block: &u64| home(*block) == home(span.start.0);
            prop_assert!((span.start.0..span.end.0).contains(&block));
            prop_assert!((span.start.0..span.end.0).all(|block| on_it(&block)));
            prop_assert!(span.start.0 == 0 || !on_it(&(span.start.0 - 1)));
            prop_assert!(span.end.0 == layout.capacity().0 || !on_it(&span.end.0));
        }
    }

    #[test]
    fn an_access_costs_what_the_rules_say(seed: u64) {
        let Some((drive, blueprint)) = drive_of(seed) else { return Ok(()) };
        let (rules, mut rng) = (Rules { drive: &drive }, Rng::stream(seed, "test/access"));
        for _ in 0..50 {
            if let Err(difference) = check_access(&rules, blueprint.mechanics(), &mut rng) {
                prop_assert!(false, "{difference} on {drive:?}");
            }
        }
    }

    #[test]
    fn no_move_is_shorter_than_its_reach(seed: u64) {
        let Some((drive, blueprint)) = drive_of(seed) else { return Ok(()) };
        let mechanics = blueprint.mechanics();
        let head = |cylinder, surface| ArmPosition { cylinder, surface };
        let mut before = 0;
        for distance in 0..drive.cylinders {
            let reach = mechanics.seek_at_least(distance);
            prop_assert!(reach.0 >= before);
            before = reach.0;
            for surface in [0, drive.heads - 1] {
                for op in [Op::Read, Op::Write] {
                    let movement = mechanics.movement(head(0, 0), head(distance, surface), op);
                    prop_assert!(reach <= movement, "{distance}: {reach} > {movement}");
                }
            }
        }
    }
}

/// Enough of the random drives can be built, and of every kind, for the tests above to mean
/// something.
#[test]
fn random_drives_are_of_every_kind() {
    let drives: Vec<_> = (0..400).filter_map(drive_of).collect();
    assert!(
        drives.len() > 200,
        "only {} of 400 can be built",
        drives.len()
    );
    let has = |test: &dyn Fn(&Parameters) -> bool| drives.iter().filter(|(d, _)| test(d)).count();
    assert!(has(&|d| d.sparing == Sparing::None) > 20);
    assert!(has(&|d| d.sparing == Sparing::ZoneEndTracks) > 20);
    assert!(has(&|d| matches!(d.sparing, Sparing::CylinderRanges { .. })) > 20);
    assert!(has(&|d| d.sparing == Sparing::TrackEnd) > 20);
    assert!(has(&|d| d.sparing == Sparing::Slips) > 20);
    assert!(has(&|d| d.zones.iter().any(|z| !z.slips.is_empty())) > 50);
    assert!(has(&|d| d.zones.iter().any(|z| !z.remaps.is_empty())) > 50);
    assert!(has(&|d| d.head_order == HeadOrder::Alternating) > 50);
    let mut rng = Rng::stream(7, "test/edge");
    let mut checked = 0;
    for (drive, blueprint) in &drives {
        let rules = Rules { drive };
        let compared = check_access(&rules, blueprint.mechanics(), &mut rng);
        checked += usize::from(compared.expect("it agrees with the rules"));
    }
    assert!(
        checked * 10 > drives.len() * 8,
        "only {checked} of {} compared",
        drives.len()
    );
}
