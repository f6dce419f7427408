//! The uncertainty that calibration tells is that of its errors: drives that are known are found
//! again within it, 19 times in 20.
//!
//! The drives have speeds, zones and heads that no drive of the catalog has, or are drives of the
//! catalog; loads are probes with other seeds than the command's, and random requests with writes.
//! Where a parameter is off, the table says by how much.

use std::collections::BTreeMap;

use nearslot_core::contract::Blueprint;
use nearslot_core::drive::catalog_text;
use nearslot_core::drive::hdd::Parameters;
use nearslot_lab::calibrate::probe::{Bounds, Modelled, probe};
use nearslot_lab::calibrate::{Calibration, How, Samples, calibrate};
use nearslot_lab::sim::Control;

use super::{blueprint, cover_switches, parameters, random_of, seek_ms};

/// A drive with three zones, of another speed and number of heads than any of the catalog.
pub(super) fn odd(
    rpm: f64,
    heads: u32,
    sectors: [u32; 3],
    head_switch_ms: f64,
    seek: f64,
) -> Parameters {
    let mut drive = parameters(catalog_text("desktop-7200-90mb").unwrap());
    (drive.rpm, drive.heads, drive.head_switch_ms) = (rpm, heads, head_switch_ms);
    let cylinders = drive.cylinders / 3;
    drive.zones.truncate(3);
    for (index, (zone, sectors)) in drive.zones.iter_mut().zip(sectors).enumerate() {
        let first = u32::try_from(index).unwrap() * cylinders;
        zone.cylinders = (first, first + cylinders - 1);
        zone.sectors_per_track = sectors;
        zone.spares = 0;
    }
    for (_, ms) in &mut drive.seek_ms {
        *ms *= seek;
    }
    // Not what reads need.
    let overheads = drive.overheads.as_mut().unwrap();
    (
        overheads.write_after_read_ms,
        overheads.write_after_write_ms,
    ) = (0.19, 0.19);
    cover_switches(&mut drive);
    drive.check().unwrap();
    drive
}

fn drives() -> Vec<(&'static str, Parameters)> {
    vec![
        ("5,900 rpm", odd(5_900.0, 4, [1_500, 1_200, 900], 1.1, 1.2)),
        ("12,000 rpm", odd(12_000.0, 3, [700, 600, 480], 0.6, 0.5)),
        (
            "6,666.6 rpm",
            odd(6_666.6, 7, [2_400, 1_900, 1_500], 0.9, 0.8),
        ),
        (
            "modern-20tb",
            parameters(catalog_text("modern-20tb").unwrap()),
        ),
    ]
}

/// The true value of what an estimate names; none if it is no single number of the drive.
pub(super) fn truth(name: &str, drive: &Parameters) -> Option<f64> {
    let overheads = drive.overheads.clone().unwrap_or_default();
    let bus = drive.bus.clone().unwrap_or_default();
    let sectors = |zone: Option<&nearslot_core::drive::hdd::parameters::Zone>| {
        zone.map(|zone| f64::from(zone.sectors_per_track))
    };
    // What a read from the medium needs besides one from the buffer is in the curve.
    let seek = |distance| {
        seek_ms(drive, distance) + overheads.read_miss_after_read_ms
            - overheads.read_hit_after_read_ms
    };
    match name {
        "rpm" => Some(drive.rpm),
        "head_switch_ms" => Some(drive.head_switch_ms),
        "write_settle_ms" => Some(drive.write_settle_ms),
        "seek_ms, one third of the stroke" => Some(seek(drive.cylinders / 3)),
        "seek_ms, full stroke" => Some(seek(drive.cylinders - 1)),
        "sectors_per_track, outer zone" => sectors(drive.zones.first()),
        "sectors_per_track, inner zone" => sectors(drive.zones.last()),
        "overheads of reads" => Some(overheads.read_hit_after_read_ms),
        "overheads of writes" => Some(overheads.write_after_write_ms),
        "bus.read_ms_per_block" => Some(bus.read_ms_per_block),
        "bus.write_ms_per_block" => Some(bus.write_ms_per_block),
        _ => None,
    }
}

pub(super) fn probed(drive: &Parameters, seed: u64) -> Samples {
    let blueprint = blueprint(&toml::to_string(drive).unwrap());
    let bounds = Bounds {
        seconds: 100_000,
        seed,
        ..Bounds::default()
    };
    let mut model = Modelled::new(Blueprint::drive(&*blueprint));
    probe(
        &mut model,
        blueprint.capacity().0,
        bounds,
        &Control::default(),
    )
    .unwrap()
}

/// The drive without electronics: writes are acknowledged when they are written.
fn bare(drive: &Parameters) -> Parameters {
    let mut drive = drive.clone();
    (drive.buffer, drive.bus, drive.overheads) = (None, None, None);
    drive
}

fn calibrated(drive: &Parameters, samples: &Samples) -> Calibration {
    let how = How {
        base: Some(("own".to_owned(), toml::to_string(drive).unwrap())),
        input: "the test".to_owned(),
        ..How::default()
    };
    calibrate(samples, &how).unwrap()
}

/// Of each parameter of each drive: how often it was told, how often truly, and the worst.
type Table = BTreeMap<(String, String), (u64, u64, f64, String)>;

fn note(table: &mut Table, drive: &str, truth_of: &Parameters, found: &Calibration) {
    for one in &found.estimates {
        let (Some(value), Some(truth)) = (one.value, truth(&one.name, truth_of)) else {
            continue;
        };
        let told = one.plus_minus.expect("what is measured has an uncertainty");
        let off = (value - truth).abs();
        let row = table
            .entry((one.name.clone(), drive.to_owned()))
            .or_default();
        row.0 += 1;
        row.1 += u64::from(off <= told);
        if off / told >= row.2 {
            row.2 = off / told;
            row.3 = format!("{truth:.4} found as {value:.4} +- {told:.4} {}", one.unit);
        }
    }
}

fn print(table: &Table) -> String {
    let rows = table.iter().map(|((name, drive), (told, held, worst, how))| {
        format!("{name:34} {drive:12} {held:3} of {told:3}; at worst {worst:.2} times as far off as told: {how}\n")
    });
    rows.collect()
}

#[test]
fn truths_lie_within_the_uncertainty_told() {
    let mut table = Table::new();
    let seeds = std::env::var("SEEDS").map_or(4, |seeds| seeds.parse().unwrap());
    for (name, drive) in drives() {
        for seed in 100..100 + seeds {
            note(
                &mut table,
                name,
                &drive,
                &calibrated(&drive, &probed(&drive, seed)),
            );
            let bare = bare(&drive);
            let samples = random_of(&bare, seed, 4_000, 0.3);
            note(
                &mut table,
                &format!("{name}, bare"),
                &bare,
                &calibrated(&bare, &samples),
            );
            let samples = random_of(&drive, seed, 4_000, 0.3);
            note(
                &mut table,
                &format!("{name}, writes"),
                &drive,
                &calibrated(&drive, &samples),
            );
        }
    }
    let text = print(&table);
    println!("{text}");
    let (told, held) = table
        .values()
        .fold((0, 0), |(a, b), row| (a + row.0, b + row.1));
    assert!(told > 40 * seeds, "{told} estimates\n{text}");
    assert!(held * 20 >= told * 19, "{held} of {told}\n{text}");
}
