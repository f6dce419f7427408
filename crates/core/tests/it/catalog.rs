//! The drives that ship: their capacities, and that they do what the headers of their files say.

use nearslot_core::contract::Blueprint;
use nearslot_core::drive::{self, CATALOG};
use nearslot_core::ids::IoId;
use nearslot_core::io::Command;
use nearslot_core::op::Op;
use nearslot_core::registry::KnobValue;
use nearslot_core::rng::Rng;
use nearslot_core::units::{Blocks, Instant, Pba};

use crate::support::carry_out;

/// A drive of the catalog, purely mechanical.
fn blueprint(name: &str, layout: &str) -> Box<dyn Blueprint> {
    read(name, layout, "mechanical")
}

fn read(name: &str, layout: &str, model: &str) -> Box<dyn Blueprint> {
    let text = drive::catalog_text(name).unwrap();
    let knob = |key: &str, value: &str| (key.to_owned(), KnobValue::Text(value.to_owned()));
    let knobs = [knob("layout", layout), knob("model", model)];
    drive::read(name, text, &knobs).unwrap().0
}

#[test]
fn every_drive_of_the_catalog_is_read_and_described() {
    for entry in CATALOG {
        let (blueprint, _) = drive::read(entry.name, entry.text, &[]).unwrap();
        assert!(blueprint.capacity() > Blocks(0), "{}", entry.name);
        assert!(entry.text.contains("\ndescription = "), "{}", entry.name);
    }
}

#[test]
fn capacities_are_those_of_the_sources() {
    let expected = [
        ("seagate-cheetah-9lp", "real", 17_918_387),
        ("seagate-cheetah-9lp", "ideal", 17_930_568),
        ("hp-c2247a", "real", 2_054_864),
        ("hp-c2247a", "ideal", 2_130_576),
        ("desktop-7200-90mb", "real", 1_953_525_168),
        ("modern-20tb", "real", 39_063_650_304),
    ];
    for (name, layout, blocks) in expected {
        assert_eq!(
            blueprint(name, layout).capacity(),
            Blocks(blocks),
            "{name} {layout}"
        );
    }
}

/// Megabytes per second of back-to-back reads or writes of 1 MiB from `first` on.
fn sequential_rate(name: &str, op: Op, first: u64) -> f64 {
    sequential_rate_of(&*blueprint(name, "real"), op, first)
}

fn sequential_rate_of(blueprint: &dyn Blueprint, op: Op, first: u64) -> f64 {
    let mut drive = blueprint.drive();
    let (mut now, mut at, mut begin) = (Instant::ZERO, first, None);
    let command = |at| Command {
        io: IoId(0),
        op,
        at: Pba(at),
        len: Blocks(2_048),
        fua: false,
    };
    for _ in 0..400 {
        carry_out(&mut *drive, &mut now, &command(at));
        at += command(at).len.0;
        // The first one only brings the heads there.
        begin.get_or_insert((now, at));
    }
    // What was acknowledged only has to reach the medium.
    let flush = Command {
        op: Op::Flush,
        len: Blocks(0),
        ..command(0)
    };
    carry_out(&mut *drive, &mut now, &flush);
    let (since, from) = begin.unwrap();
    Blocks(at - from).bytes() as f64 / now.since(since).as_ms() / 1e3
}

#[test]
fn sequential_rates_are_those_of_the_class() {
    let near = |name, op, first, expected: f64| {
        let rate = sequential_rate(name, op, first);
        assert!(
            (rate / expected - 1.0).abs() < 0.02,
            "{name}: {rate} MB/s, not {expected}"
        );
    };
    near("desktop-7200-90mb", Op::Read, 0, 90.0);
    near("desktop-7200-90mb", Op::Write, 0, 90.0);
    near("desktop-7200-90mb", Op::Read, 1_950_000_000, 45.0);
    near("modern-20tb", Op::Read, 0, 280.0);
    near("modern-20tb", Op::Write, 0, 280.0);
    near("modern-20tb", Op::Read, 39_060_000_000, 129.0);
    // A cylinder is 12 tracks of 254 sectors in 12 turns, 11 track skews of 97 sectors and a cylinder skew of
    // 133: 1.56 MB in 16.72 turns of 5.973 ms.
    near("seagate-cheetah-9lp", Op::Read, 0, 15.62);
}

#[test]
fn buffers_keep_up_with_the_medium_where_the_bus_does() {
    let near = |name, op, expected: f64| {
        let rate = sequential_rate_of(&*read(name, "real", "complete"), op, 0);
        assert!(
            (rate / expected - 1.0).abs() < 0.03,
            "{name}: {rate} MB/s, not {expected}"
        );
    };
    near("desktop-7200-90mb", Op::Read, 90.0);
    near("desktop-7200-90mb", Op::Write, 90.0);
    near("modern-20tb", Op::Read, 280.0);
    near("modern-20tb", Op::Write, 280.0);
    // 512 bytes in 0.105 ms over the bus.
    near("seagate-cheetah-9lp", Op::Read, 4.876);
}

#[test]
fn a_mistake_in_a_drive_file_names_drive_and_key() {
    let text = drive::catalog_text("modern-20tb")
        .unwrap()
        .replace("heads =", "haeds =");
    let error = drive::read("mine.toml", &text, &[]).err().unwrap();
    assert!(
        error
            .to_string()
            .starts_with("drive mine.toml: unknown key `haeds`"),
        "{error}"
    );
    assert_eq!(error.nearest.as_deref(), Some("heads"));
}

/// Megabytes per second of reads of so many blocks, at random or in sequence, so many at a time.
fn reading_rate(name: &str, blocks: u64, depth: u32, in_sequence: bool) -> f64 {
    let text = drive::catalog_text(name).unwrap();
    let (blueprint, _) = drive::read(name, text, &[]).unwrap();
    let mut drive = blueprint.drive();
    let places = blueprint.capacity().0 / blocks;
    let mut rng = Rng::stream(1, name);
    let (mut now, mut sent, mut ended) = (Instant::ZERO, 0, 0);
    let mut free: Vec<u32> = (0..depth).collect();
    while ended < 40_000 {
        while let Some(io) = free.pop() {
            let place = if in_sequence { sent } else { rng.below(places) };
            sent += 1;
            let command = Command {
                io: IoId(io),
                op: Op::Read,
                at: Pba(place * blocks),
                len: Blocks(blocks),
                fua: false,
            };
            drive.submit(now, &command);
        }
        now = drive.next_event().unwrap();
        if let Some(done) = drive.advance(now) {
            free.push(done.io.0);
            ended += 1;
        }
    }
    (ended * blocks * 512) as f64 / now.since(Instant::ZERO).as_ms() / 1e3
}

#[test]
fn flash_reads_as_fast_as_its_file_says() {
    let near = |name, blocks, depth, in_sequence, expected: f64| {
        let rate = reading_rate(name, blocks, depth, in_sequence);
        assert!(
            (rate / expected - 1.0).abs() < 0.04,
            "{name}, {depth} at a time: {rate} MB/s, not {expected}"
        );
    };
    near("plextor-px-256m5s", 256, 8, true, 515.0);
    near("plextor-px-256m5s", 8, 32, false, 160.0);
    near("plextor-px-256m5s", 8, 1, false, 23.0);
    near("sata-tlc-500gb", 256, 8, true, 560.0);
    near("sata-tlc-500gb", 8, 32, false, 95_000.0 * 4.096e-3);
    near("sata-tlc-500gb", 8, 1, false, 8_600.0 * 4.096e-3);
    near("nvme-tlc-1tb", 256, 32, true, 7_000.0);
    near("nvme-tlc-1tb", 8, 512, false, 1e6 * 4.096e-3);
    near("nvme-tlc-1tb", 8, 1, false, 22_000.0 * 4.096e-3);
}
