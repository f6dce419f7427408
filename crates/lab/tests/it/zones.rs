//! Range writes on drives with zones, as whole runs: zones are filled and reset for ever, no rule
//! of them is broken, and drives on which writes fail end a run all the same.

use std::path::Path;

use nearslot_lab::grid;
use nearslot_lab::outcome::Run;
use nearslot_lab::run::{Wanted, compare};
use nearslot_lab::scenario::Scenario;
use nearslot_lab::sim::Control;

const LOAD: &str = "ranges:span_blocks=16384:size=4k:align_blocks=8:requests=8000:depth=16";
/// The same over more zones, and more at a time.
const WIDE: &str = "ranges:span_blocks=65536:size=4k:align_blocks=8:requests=8000:depth=16";
const DEEP: &str =
    "ranges:span_blocks=16384:size=64k:align_blocks=128:requests=8000:depth=64:read_share=0.5";

fn ran(drive: &str, load: &str, parts: &str) -> Result<Run, String> {
    let text = format!("drive = '{drive}'\nworkload = '{load}'\n{parts}");
    let scenario = Scenario::from_toml(&text, Path::new(".")).unwrap();
    let points = grid::points(&scenario, &[]).unwrap();
    let results = compare(&points, None, &Wanted::default(), &Control::default());
    results
        .map(|mut results| results.runs.swap_remove(0))
        .map_err(|error| error.to_string())
}

fn number(run: &Run, name: &str) -> f64 {
    run.measure("drive", name).unwrap().value()
}

/// Disks that a host resolves, disks that choose, flash.
const DRIVES: [&str; 4] = [
    "hp-c2247a:zone_blocks=1024:zone_capacity_blocks=1000",
    "seagate-cheetah-9lp:zone_blocks=2048:queue_depth=8",
    "sata-tlc-500gb:precondition=empty:zone_blocks=2048",
    "null:zone_blocks=2048",
];

#[test]
fn zones_are_filled_and_reset_for_ever() {
    for drive in DRIVES {
        for (extra, failing) in [
            ("within=span", 0),
            ("within=zone:targets=3:read_share=0.3", 60),
        ] {
            let run = ran(drive, &format!("{LOAD}:{extra}"), "sched = 'satf'").unwrap();
            let failed: u64 = run.failed.values().sum();
            let only_exhausted = run.failed.get("exhausted").copied().unwrap_or(0);
            assert!(
                failed == only_exhausted && failed <= failing,
                "{drive} {extra}: {:?}",
                run.failed
            );
            assert_eq!(run.operations.values().sum::<u64>(), 8_000);
            assert_eq!(number(&run, "zone_refused"), 0.0, "{drive}");
            // As many blocks are reset as are written, but for what is there at the end.
            let capacity = if drive.contains("=1000") {
                1_000.0
            } else {
                2_048.0
            };
            let full = number(&run, "zone_writes") * 8.0 / capacity;
            let resets = number(&run, "zone_resets");
            assert!(
                resets > full - 16.5 && resets > 5.0 && resets < full + 1.5,
                "{drive} {extra}: {resets} of {full}"
            );
        }
    }
}

#[test]
fn flash_ends_range_writes_in_another_order_than_they_began() {
    // A write cache would tell them in order.
    let drive = format!("{}:cache=off", DRIVES[2]);
    let run = ran(&drive, &format!("{DEEP}:within=span"), "");
    let overtakes = number(&run.unwrap(), "zone_overtakes");
    assert!(overtakes > 20.0, "{overtakes}");
}

#[test]
fn zones_in_which_a_write_fails_are_lost_and_the_load_goes_on_elsewhere() {
    let faults =
        "[faults]\nname = 'injected'\nlatent_per_tib = 200000\nlatent_mend = false\ntries_ms = 1";
    // Without mechanics one zone is written after the other, and none of these may be bad.
    for drive in &DRIVES[..3] {
        let run = ran(drive, &format!("{WIDE}:within=span"), faults).unwrap();
        assert!(number(&run, "zone_read_only") > 0.0, "{drive}");
        assert_eq!(run.operations.values().sum::<u64>(), 8_000);
        // Only the resets that a client tried in vain, and those writes that nobody could take.
        let failed: u64 = run.failed.values().sum();
        assert!(failed < 400, "{drive}: {:?}", run.failed);
    }
    // Nobody knows where a write is that was not answered; zones are full sooner than their client
    // thinks.
    let faults = "[faults]\nname = 'injected'\ntimeout_share = 0.02\ntimeout_ms = 10";
    for drive in DRIVES {
        let run = ran(drive, &format!("{LOAD}:within=span"), faults).unwrap();
        assert!(number(&run, "zone_resets") > 5.0, "{drive}");
        assert_eq!(run.operations.values().sum::<u64>(), 8_000);
        assert!(run.failed.contains_key("timed_out"), "{drive}");
    }
}

const ZONED: &str = "hp-c2247a:zone_blocks=1024:conventional_blocks=2048:append_max_blocks=64";

/// Drive, load, and what its refusal says.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        ZONED,
        "ranges:within=span",
        "at_block = 0 (allowed: where a zone begins: a multiple of zone_blocks, which is 1024, and at least 2048",
    ),
    (
        ZONED,
        "ranges:at_block=2560",
        "at_block = 2560 (allowed: where a zone begins",
    ),
    (
        ZONED,
        "ranges:at_block=2048:span_blocks=1000",
        "span_blocks = 1000 (allowed: a multiple of zone_blocks, which is 1024",
    ),
    (
        ZONED,
        "ranges:at_block=2048:within=track",
        "within = track (allowed: zone or span on a drive with zones",
    ),
    (
        ZONED,
        "ranges:at_block=2048:within=place",
        "within = place (allowed: zone or span",
    ),
    (
        ZONED,
        "ranges:at_block=2048:within=span:targets=2",
        "targets = 2 (allowed: 1 beside within=span",
    ),
    (
        ZONED,
        "ranges:at_block=2048:within=zone:size=33k",
        "size = 33792 (allowed: at most 32768 on this drive",
    ),
    (
        ZONED,
        "ranges:at_block=2048:within=zone:align_blocks=3",
        "align_blocks = 3 (allowed: what divides 8 blocks",
    ),
    (
        "hp-c2247a",
        "ranges:within=zone",
        "within = zone (allowed: place, track, span",
    ),
    (
        ZONED,
        "filesystem:offer=group",
        "workload = filesystem (allowed: a load whose range writes go along with no writes in place",
    ),
    (
        ZONED,
        "tpcb:skip=ranges",
        "workload = tpcb (allowed: a load",
    ),
];

#[test]
fn loads_that_zones_do_not_take_are_refused() {
    for (drive, load, expected) in REFUSED {
        let Err(error) = ran(drive, load, "") else {
            panic!("{load} is not refused");
        };
        assert!(error.contains(expected), "{load}: {error}");
    }
    assert!(
        ran(
            ZONED,
            "ranges:at_block=2048:within=zone:size=32k:requests=50",
            ""
        )
        .is_ok()
    );
    // Expand lists the pointers of zones, not all places of what is offered.
    let whole = "ranges:at_block=2048:span_blocks=0:within=span:requests=50";
    assert!(ran(ZONED, whole, "sched = 'expand'").is_ok());
}
