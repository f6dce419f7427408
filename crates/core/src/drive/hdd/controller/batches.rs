//! Sectors that are taken many at a time, against the same taken one by one.

use super::Controller;
use super::tests::{SMALL, controller, run_command};
use crate::ids::IoId;
use crate::io::Command;
use crate::op::Op;
use crate::rng::Rng;
use crate::units::{Blocks, Instant, Pba};

/// Many settings, many commands: taking sectors in batches changes nothing.
#[test]
fn batches_of_sectors_equal_single_ones() {
    let mut rng = Rng::stream(11, "batches");
    for case in 0..400 {
        let text = random_settings(&mut rng);
        let (mut fast, mut slow) = (controller(&text), controller(&text));
        slow.single_steps = true;
        let mut now = 0;
        for step in 0..60 {
            let op = match rng.below(20) {
                0 => Op::Flush,
                1 => Op::Seek,
                2..=8 => Op::Write,
                _ => Op::Read,
            };
            let len = if op == Op::Flush || op == Op::Seek {
                0
            } else {
                1 + rng.below(20)
            };
            let at = rng.below(60 - len);
            let command = (op, at, len, op == Op::Write && rng.chance(0.2));
            let expected = run_command(&mut slow, now, command);
            assert_eq!(
                run_command(&mut fast, now, command),
                expected,
                "case {case}, step {step}: {text}"
            );
            assert_eq!((fast.now, fast.arm), (slow.now, slow.arm));
            now = expected.0 + 1 + rng.below(30_000);
        }
    }
}

const BACK: [&str; 2] = ["'oldest'", "'nearest'"];

/// What a drive does with writes that it has taken, where it takes them so.
fn behind(rng: &mut Rng, several: bool) -> String {
    let behind = ["'none'", "'sequential'", "'any'"][rng.below(3) as usize];
    let accepts = rng.below(2) == 0;
    let mut text = format!("write_behind = {behind}\naccept_while_writing = {accepts}\n");
    if behind == "'any'" && accepts {
        let order = if several {
            BACK[rng.below(2) as usize]
        } else {
            BACK[0]
        };
        let hits = rng.below(2) == 0;
        text += &format!("write_back = {order}\nhits_while_writing = {hits}\n");
    }
    text
}

/// The small drive with everything drawn by lot.
fn random_settings(rng: &mut Rng) -> String {
    let mut text = SMALL[..SMALL.find("[buffer]").unwrap()].to_owned();
    let segments = 1 + rng.below(4);
    let mut line = |key: &str, value: String| text += &format!("{key} = {value}\n");
    line("[buffer]\nsegments", segments.to_string());
    line("segment_blocks", (2 + rng.below(20)).to_string());
    let own = rng.below(3) == 0;
    let for_writes = 1 + rng.below(if own { 5 } else { segments });
    line("write_segments_max", for_writes.to_string());
    let dedicated = segments > 1 && !own && rng.below(2) == 0;
    line("dedicated_write_segment", dedicated.to_string());
    if own {
        line("write_segment_blocks", (1 + rng.below(20)).to_string());
    }
    for key in ["read_watermark", "write_watermark"] {
        line(key, format!("{:.2}", rng.below(101) as f64 / 100.0));
    }
    let mut ahead = "'within-track' 'within-cylinder' 'blocks' 'track-end'".split(' ');
    let ahead = ahead.nth(rng.below(4) as usize).unwrap();
    line("read_ahead", ahead.to_owned());
    line(
        "read_ahead_min_blocks",
        (rng.below(3) / 2 * rng.below(4)).to_string(),
    );
    line("read_ahead_max_blocks", rng.below(16).to_string());
    line(
        "requested_blocks",
        ["'yield'", "'keep'", "'forget'"][rng.below(3) as usize].to_owned(),
    );
    text += &behind(rng, for_writes > 1 && !dedicated);
    let mut line = |key: &str, value: String| text += &format!("{key} = {value}\n");
    for key in [
        "read_ahead_on_hit",
        "read_whole_track",
        "join_writes",
        "stop_within_sector",
        "write_ends_read_ahead",
        "room_at_sector_start",
        "partial_hit_at_once",
        "zero_latency_reads",
        "zero_latency_writes",
        "read_hits_on_writes",
    ] {
        line(key, (rng.below(2) == 0).to_string());
    }
    let near = ["read_hits_on_next_block", "read_hits_within_turn"];
    if let Some(near) = near.get(rng.below(3) as usize) {
        line(near, "true".to_owned());
    }
    line("[bus]\nhold_during_reads", (rng.below(2) == 0).to_string());
    line("hold_during_writes", (rng.below(2) == 0).to_string());
    let mut ms = || format!("{:.3}", rng.below(2_000) as f64 / 1_000.0);
    line("read_ms_per_block", ms());
    line("write_ms_per_block", ms());
    line("[overheads]\nreselect_ms", ms());
    line("read_miss_after_read_ms", ms());
    line("write_after_write_ms", ms());
    line("write_disconnect_ms", ms());
    text + &SMALL[SMALL.find("[[zones]]").unwrap()..]
}

/// Two zones of odd sizes, one with defects; a sector takes no whole number of nanoseconds.
const LONG: &str = "
    kind = 'hdd'
    rpm = 7200
    heads = 2
    cylinders = 12
    head_switch_ms = 0.5
    write_settle_ms = 0.25
    seek_ms = [[1, 1.0], [11, 2.5]]
    sparing = { at = 'zone-end' }
";
const LONG_ZONES: &str = "
    [[zones]]
    cylinders = [0, 5]
    sectors_per_track = 37
    track_skew_sectors = 6
    cylinder_skew_sectors = 9
    spares = 6
    slips = [14]
    remaps = [[52, 439]]
    [[zones]]
    cylinders = [6, 11]
    sectors_per_track = 23
    track_skew_sectors = 5
    cylinder_skew_sectors = 7
";
/// Sectors of the outer zone take 225,225 ns, of the inner one 362,318.
const BUS: [&str; 7] = [
    "0.0", "0.01", "0.15", "0.225225", "0.225226", "0.362318", "0.5",
];

/// Commands up to the whole drive, over settings under which the bus takes part in each sector.
#[test]
fn long_commands_in_batches_equal_single_sectors() {
    let mut rng = Rng::stream(12, "long");
    for case in 0..1_500 {
        let text = long_settings(&mut rng);
        let (mut fast, mut slow) = (controller(&text), controller(&text));
        slow.single_steps = true;
        let mut now = 0;
        for step in 0..12 {
            let command = long_command(&mut rng, fast.capacity);
            let done = run_command(&mut slow, now, command);
            let alike = run_command(&mut fast, now, command);
            let told = || format!("case {case}, step {step}, {command:?} at {now}: {text}");
            assert_eq!(alike, done, "{}", told());
            assert_eq!(state(&fast), state(&slow), "{}", told());
            now = done.0 + 1 + rng.below(2) * rng.below(30_000);
        }
    }
}

pub(super) fn long_command(rng: &mut Rng, capacity: u64) -> (Op, u64, u64, bool) {
    let op = match rng.below(16) {
        0 => return (Op::Flush, 0, 0, false),
        1..=4 => Op::Read,
        _ => Op::Write,
    };
    let most = [capacity, 100, 10][rng.below(3) as usize];
    let len = 1 + rng.below(most);
    (op, rng.below(capacity - len + 1), len, rng.chance(0.3))
}

/// A write that continues another ends, whatever lies between the two: no block of the first one is
/// left out where its track ends.
#[test]
fn a_write_that_joins_goes_on_behind_the_end_of_a_track() {
    const BUFFER: &str = "[buffer]
        segments = 4
        segment_blocks = 19
        write_segments_max = 4
        write_behind = 'any'
        accept_while_writing = true
        zero_latency_writes = true
        [bus]
        write_ms_per_block = 0.225226
        [overheads.extra_disconnect]
        pause_ms = 0.3";
    let mut rng = Rng::stream(14, "joins");
    let mut drive = controller(&(LONG.to_owned() + BUFFER + LONG_ZONES));
    let mut now = 0;
    for pair in 0..3_000 {
        let (at, len) = (rng.below(drive.capacity - 40), 1 + rng.below(19));
        now = run_command(&mut drive, now, (Op::Write, at, len, false)).0 + rng.below(9_000);
        let joined = Command {
            io: IoId(0),
            op: Op::Write,
            at: Pba(at + len),
            len: Blocks(1 + rng.below(19)),
            fua: rng.chance(0.5),
        };
        drive.rest_until(Instant(now * 1_000));
        drive.arrive(&joined, joined.at.0, joined.at.0 + joined.len.0);
        let ends = (0..10_000).any(|_| one_event(&mut drive));
        assert!(ends, "pair {pair}: {at}, {len} and {joined:?}");
        now = drive.now.0.div_ceil(1_000);
    }
}

/// The next event of a command under way; whether it has ended.
fn one_event(drive: &mut Controller) -> bool {
    let (bus, arm) = (drive.bus_due(), drive.arm_due());
    if bus > arm {
        drive.arm_event(bus);
        return false;
    }
    drive.now = bus;
    drive.bus_event().is_some()
}

/// All that the future hangs on.
fn state(drive: &Controller) -> String {
    let Controller {
        now, arm, owner, ..
    } = drive;
    let (buffer, access, bus) = (&drive.buffer, &drive.access, drive.bus);
    let (last, streaming) = (drive.last_op, drive.streaming);
    format!("{now:?} {arm:?} {owner:?} {buffer:?} {access:?} {bus:?} {last:?} {streaming:?}")
}

/// The drive for long commands with everything drawn by lot that matters to them.
pub(super) fn long_settings(rng: &mut Rng) -> String {
    let mut text = LONG.to_owned();
    let mut line = |key: &str, value: &str| text += &format!("{key} = {value}\n");
    let segments = 1 + rng.below(6);
    line("[buffer]\nsegments", &segments.to_string());
    let size = [1 + rng.below(4), 2 + rng.below(30), 30 + rng.below(90)][rng.below(3) as usize];
    line("segment_blocks", &size.to_string());
    let own = rng.below(3) == 0;
    let for_writes = 1 + rng.below(if own { 6 } else { segments });
    line("write_segments_max", &for_writes.to_string());
    if own {
        line("write_segment_blocks", &(1 + rng.below(40)).to_string());
    }
    text += &behind(rng, for_writes > 1);
    let mut line = |key: &str, value: &str| text += &format!("{key} = {value}\n");
    for key in ["read_watermark", "write_watermark"] {
        let mark = ["0.0", "0.2", "0.75", "0.95", "1.0"][rng.below(5) as usize];
        line(key, mark);
    }
    let of = ["'request'", "'segment'"][rng.below(2) as usize];
    line("watermark_of", of);
    line("read_ahead", ["'none'", "'blocks'"][rng.below(2) as usize]);
    for key in ["join_writes", "room_at_sector_start", "read_hits_on_writes"] {
        line(key, ["true", "false"][rng.below(2) as usize]);
    }
    for key in [
        "zero_latency_reads",
        "zero_latency_writes",
        "read_whole_track",
    ] {
        line(key, ["true", "false", "false"][rng.below(3) as usize]);
    }
    let hold = ["true", "false"];
    line("[bus]\nhold_during_reads", hold[rng.below(2) as usize]);
    line("hold_during_writes", hold[rng.below(2) as usize]);
    line("read_ms_per_block", BUS[rng.below(7) as usize]);
    line("write_ms_per_block", BUS[rng.below(7) as usize]);
    let quick = ["0.0", "0.0", "0.01", "0.07", "1.3"];
    let mut ms = |key: &str| line(key, quick[rng.below(5) as usize]);
    ms("[overheads]\nreselect_ms");
    ms("write_disconnect_ms");
    ms("read_disconnect_after_write_ms");
    ms("data_preparation_ms");
    if rng.below(4) == 0 {
        line("reselect_again_ms", quick[rng.below(5) as usize]);
        line("[overheads.extra_disconnect]\npause_ms", "0.3");
        line("disconnect_again_ms", quick[rng.below(5) as usize]);
    }
    text + LONG_ZONES
}
