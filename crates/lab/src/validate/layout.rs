//! `layout_*.csv`: where blocks lie, every row exactly.

use std::collections::BTreeSet;

use nearslot_core::drive::hdd::layout::{Layout, Spot};
use nearslot_core::drive::hdd::parameters::Zone;
use nearslot_core::units::{Angle, Pba};
use serde::Serialize;

use super::folder::Folder;
use super::rows::turn;
use super::table::{Row, Table};
use super::{Check, Checks, Drives, Finding, ValidateError};

/// How many rows of a layout are equal, and how far the angles are apart.
#[derive(Clone, Debug, Serialize)]
pub struct Layouts {
    /// Rows that are equal in everything.
    pub equal: u64,
    /// First and last blocks of zones that have no row.
    pub borders_missing: u64,
    /// The first block that differs, with what was expected and found.
    pub first_difference: Option<String>,
    /// The greatest difference of angles, in 10^-9 turns.
    pub angle_nanoturns_max: f64,
}

/// How far an angle may be off on a track of so many sectors, in 10^-9 turns: the tables give nine
/// decimals, of an angle to which the reference adds each sector's width rounded down to a unit of
/// 2^-32 turns.
fn angle_nanoturns_max(sectors: u32) -> f64 {
    0.5 + f64::from(sectors) * 1e9 / 4_294_967_296.0
}

pub(super) fn compare(
    folder: &Folder,
    drives: &Drives,
    checks: &mut Checks,
) -> Result<(), ValidateError> {
    for name in ["ideal", "real"] {
        let file = format!("layout_{name}.csv");
        let Some(table) = Table::read(&folder.path, &file)? else {
            checks.absent(&file);
            continue;
        };
        let layout = drives.named(name).mechanics().layout();
        let compared = table.rows().len() as u64;
        let zones = if name == "ideal" {
            &folder.ideal.zones
        } else {
            &folder.real.zones
        };
        let mut found = compare_rows(&table, layout, zones)?;
        found.borders_missing = borders_missing(&table, zones)?;
        let borders = compared >= BORDERS_ROWS_MIN;
        let mut wrong = Vec::new();
        if let Some(first) = &found.first_difference {
            wrong.push(format!("{} rows differ; {first}", compared - found.equal));
        }
        if borders && found.borders_missing > 0 {
            wrong.push(format!(
                "{} first or last blocks of zones have no row; rows are missing",
                found.borders_missing
            ));
        }
        let listed = if borders {
            "; borders of zones listed"
        } else {
            ""
        };
        checks.add(Check {
            file,
            what: "place".to_owned(),
            compared,
            finding: Finding::Layout(found),
            limit: format!("every row equal, angles within the reference's rounding{listed}"),
            wrong,
            pass: false,
        });
    }
    Ok(())
}

/// A list of so many blocks has the first and the last one of every zone, where mistakes show; a
/// shorter one is a sample.
const BORDERS_ROWS_MIN: u64 = 1_000;

/// First and last blocks of zones that the table does not list.
fn borders_missing(table: &Table, zones: &[Zone]) -> Result<u64, ValidateError> {
    let lba = table.column("lba")?;
    let listed: BTreeSet<u64> = table
        .rows()
        .map(|row| row.number(lba))
        .collect::<Result<_, _>>()?;
    let (mut first, mut missing) = (0, 0);
    for zone in zones {
        let next = first
            + zone
                .blocks
                .expect("a folder gives the blocks of every zone");
        let borders = [first, next - 1];
        missing += borders
            .iter()
            .filter(|block| !listed.contains(block))
            .count() as u64;
        first = next;
    }
    Ok(missing)
}

fn compare_rows(table: &Table, layout: &Layout, zones: &[Zone]) -> Result<Layouts, ValidateError> {
    let [lba, cylinder, head, sector] = table.columns(["lba", "cylinder", "head", "sector"])?;
    let [angle, first, last] = table.columns(["angle_rev", "track_first_lba", "track_last_lba"])?;
    table.check_all_read()?;
    let mut before = None;
    let mut found = Layouts {
        equal: 0,
        borders_missing: 0,
        first_difference: None,
        angle_nanoturns_max: 0.0,
    };
    let place = |row: &Row<'_>| -> Result<[i64; 5], ValidateError> {
        Ok([
            row.number(cylinder)?,
            row.number(head)?,
            row.number(sector)?,
            row.number(first)?,
            row.number(last)?,
        ])
    };
    for row in table.rows() {
        let at: u64 = row.number(lba)?;
        if before.replace(at).is_some_and(|before| before >= at) {
            return Err(row.wrong(lba, &"above the row before, in rising order"));
        }
        if at >= layout.capacity().0 {
            return Err(row.wrong(
                lba,
                &format!("below the drive's {} blocks", layout.capacity()),
            ));
        }
        let (expected, expected_angle) = (place(&row)?, turn(&row, angle)?);
        let spot = layout.spot(Pba(at));
        let (ours, our_angle) = (place_of(layout, zones, Pba(at)), spot.place.angle);
        let apart = nanoturns(expected_angle, our_angle);
        found.angle_nanoturns_max = found.angle_nanoturns_max.max(apart);
        if ours == expected && apart <= angle_nanoturns_max(spot.sectors) {
            found.equal += 1;
        } else if found.first_difference.is_none() {
            found.first_difference = Some(format!(
                "block {at}: cylinder, head, sector, track {ours:?} at {:.9}, expected {expected:?} at {:.9}",
                our_angle.as_turns(),
                expected_angle.as_turns(),
            ));
        }
    }
    Ok(found)
}

/// Cylinder, head, sector, first and last block of the track.
fn place_of(layout: &Layout, zones: &[Zone], at: Pba) -> [i64; 5] {
    let (spot, span) = (layout.spot(at), layout.track_span(at));
    // The reference's word for a track without blocks, to which a sector was moved.
    let (first, last) = match span.is_empty() {
        true => (-1, -1),
        false => {
            let last = Pba(span.end.0 - 1);
            let defects = defects_behind(&layout.home(last), zones);
            (span.start.0 as i64, last.0 as i64 + defects)
        }
    };
    [
        i64::from(spot.place.cylinder),
        i64::from(spot.place.surface),
        i64::from(spot.sector),
        first,
        last,
    ]
}

/// Remapped sectors behind a track's last block that never held one: the reference counts them to
/// the track's last block all the same.
fn defects_behind(last: &Spot, zones: &[Zone]) -> i64 {
    let track = last.track * u64::from(last.sectors);
    let behind = track + u64::from(last.sector) + 1..track + u64::from(last.sectors);
    let defects = zones[last.zone as usize].remaps.iter();
    defects
        .filter(|(defect, _)| behind.contains(defect))
        .count() as i64
}

/// How far two angles are apart, the shorter way round, in 10^-9 turns.
fn nanoturns(a: Angle, b: Angle) -> f64 {
    a.until(b).as_turns().min(b.until(a).as_turns()) * 1e9
}
