//! The drives that ship: their capacities, and that they do what the headers of their files say.

use std::collections::VecDeque;

use nearslot_core::config::{DriveConfig, PartConfig, StackConfig};
use nearslot_core::contract::{Blueprint, Drive};
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
        ("hitachi-7200-90mb", "real", 976_773_168),
        ("seagate-7200-125mb", "real", 1_953_525_168),
        ("emulated-7200-150mb", "real", 1_953_525_168),
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
    // A cylinder is 12 tracks of 254 sectors in 12 turns, 11 track skews of 97 sectors and a
    // cylinder skew of 133: 1.56 MB in 16.72 turns of 5.973 ms.
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

/// A drive of the catalog as a run gets it, with the queue that its file gives it.
fn queued(word: &str) -> (Box<dyn Drive>, u64) {
    let part: PartConfig = word.parse().unwrap();
    let text = drive::catalog_text(&part.name).unwrap().to_owned();
    let built = StackConfig::over(DriveConfig { part, text }, 1).build();
    let mut built = built.unwrap();
    (built.drives.remove(0), built.blueprint.capacity().0)
}

/// Clients that read, each the next as soon as one of its reads has ended.
struct Clients {
    count: u32,
    /// Reads of each that are on their way.
    each: u32,
    blocks: u64,
    /// Blocks from the first place of one to that of the next; none if they read at random.
    apart: Option<u64>,
    reads: u64,
}

impl Clients {
    /// Megabytes per second, and the mean time of a read in milliseconds.
    fn run(&self, word: &str) -> (f64, f64) {
        let (mut drive, capacity) = queued(word);
        let mut rng = Rng::stream(1, word);
        let slots = self.count * self.each;
        let mut sent = vec![Instant::ZERO; slots as usize];
        let mut turns = vec![0; self.count as usize];
        let mut free: VecDeque<u32> = (0..slots).collect();
        let (mut now, mut ended, mut total_ms) = (Instant::ZERO, 0, 0.0);
        while ended < self.reads {
            while let Some(io) = free.pop_front() {
                let client = io % self.count;
                let turn: &mut u64 = &mut turns[client as usize];
                let at = match self.apart {
                    Some(apart) => u64::from(client) * apart + *turn * self.blocks,
                    None => rng.below(capacity / self.blocks) * self.blocks,
                };
                *turn += 1;
                sent[io as usize] = now;
                drive.submit(now, &read_of(io, at, self.blocks));
            }
            now = drive.next_event().unwrap();
            if let Some(done) = drive.advance(now) {
                total_ms += now.since(sent[done.io.index()]).as_ms();
                free.push_back(done.io.0);
                ended += 1;
            }
        }
        let bytes = (ended * self.blocks * 512) as f64;
        let took = now.since(Instant::ZERO).as_ms();
        (bytes / took / 1e3, total_ms / ended as f64)
    }
}

fn read_of(io: u32, at: u64, blocks: u64) -> Command {
    Command {
        io: IoId(io),
        op: Op::Read,
        at: Pba(at),
        len: Blocks(blocks),
        fua: false,
    }
}

/// Complains of a figure that is not the expected one within a share.
fn near(what: &str, found: f64, expected: f64, within: f64) {
    assert!(
        (found / expected - 1.0).abs() < within,
        "{what}: {found}, not {expected}"
    );
}

/// Disks that stand for those of the BFQ pages and of a check against the kernel's own.
const OF_BFQ: [&str; 3] = [
    "hitachi-7200-90mb",
    "seagate-7200-125mb",
    "emulated-7200-150mb",
];

#[test]
fn disks_of_the_bfq_study_have_a_queue_of_32_unless_told() {
    for name in OF_BFQ {
        assert_eq!(queued(name).0.depth(), 32, "{name}");
        assert_eq!(queued(&format!("{name}:queue_depth=1")).0.depth(), 1);
        assert_eq!(queued(&format!("{name}:queue_depth=8")).0.depth(), 8);
    }
    assert_eq!(queued("desktop-7200-90mb").0.depth(), 1);
}

#[test]
fn disks_of_the_bfq_study_read_in_sequence_as_their_files_say() {
    let at = |name, share: f64, expected| {
        let capacity = blueprint(name, "real").capacity().0 as f64;
        let first = (capacity * share) as u64 / 2_048 * 2_048;
        let rate = sequential_rate_of(&*read(name, "real", "complete"), Op::Read, first);
        near(&format!("{name} at {share}"), rate, expected, 0.005);
    };
    at("hitachi-7200-90mb", 0.0, 118.0);
    at("hitachi-7200-90mb", 0.99, 62.0);
    at("seagate-7200-125mb", 0.0, 125.0);
    at("seagate-7200-125mb", 0.99, 62.5);
    for share in [0.0, 0.5, 0.99] {
        at("emulated-7200-150mb", share, 150.0);
    }
}

/// Over the whole disk, so that what is read in a second counts as long as it takes.
#[test]
fn the_hitachi_reads_90_megabytes_a_second_on_average() {
    let blueprint = read("hitachi-7200-90mb", "real", "complete");
    let (capacity, pieces) = (blueprint.capacity().0, 48);
    let seconds_per_mb = (0..pieces).map(|piece| {
        let first = capacity / pieces * piece + capacity / pieces / 2;
        1.0 / sequential_rate_of(&*blueprint, Op::Read, first)
    });
    let mean = pieces as f64 / seconds_per_mb.sum::<f64>();
    near("mean rate", mean, 90.0, 0.01);
}

#[test]
fn disks_of_the_bfq_study_read_at_random_as_seek_and_turn_say() {
    let random = |depth, reads| Clients {
        count: depth,
        each: 1,
        blocks: 8,
        apart: None,
        reads,
    };
    // A mean seek of 12.0, 8.5 and 8.4 ms, half a turn of 4.17 ms, and 0.1 ms of electronics but
    // for the last.
    for (name, alone_ms, iops_of_32) in [
        ("hitachi-7200-90mb", 16.2, 141.0),
        ("seagate-7200-125mb", 12.7, 190.6),
        ("emulated-7200-150mb", 12.5, 192.9),
    ] {
        let (_, ms) = random(1, 8_000).run(name);
        near(&format!("{name}, one by one"), ms, alone_ms, 0.01);
        let (rate, _) = random(32, 8_000).run(name);
        let iops = rate * 1e6 / 4_096.0;
        near(&format!("{name}, 32 at a time"), iops, iops_of_32, 0.02);
    }
}

/// With one read each other commands always wait when it ends, so the drive reads nothing ahead:
/// each read is a movement and a part of a turn. With two each the drive goes on with the second,
/// which its buffer is about to have.
#[test]
fn interleaved_readers_have_read_ahead_if_their_next_read_is_there() {
    let readers = |count, each, blocks| Clients {
        count,
        each,
        blocks,
        apart: Some(8_388_608),
        reads: 6_000,
    };
    for (name, nine, ten, of_512_kib) in [
        ("hitachi-7200-90mb", 15.5, [15.6, 106.0], [56.3, 112.5]),
        ("seagate-7200-125mb", 16.3, [30.7, 116.3], [59.9, 120.6]),
        ("emulated-7200-150mb", 17.2, [21.1, 139.4], [60.8, 146.0]),
    ] {
        let (rate, _) = readers(9, 1, 256).run(name);
        near(&format!("{name}, nine"), rate, nine, 0.01);
        for each in [1, 2] {
            let (rate, _) = readers(10, each, 256).run(name);
            near(
                &format!("{name}, ten, {each}"),
                rate,
                ten[each as usize - 1],
                0.01,
            );
            let (rate, _) = readers(10, each, 1_024).run(name);
            let expected = of_512_kib[each as usize - 1];
            near(&format!("{name}, 512 KiB, {each}"), rate, expected, 0.01);
        }
    }
    // Alone, one has all that the disk has.
    let (rate, _) = readers(1, 1, 256).run("emulated-7200-150mb");
    near("one reader", rate, 150.0, 0.005);
}
