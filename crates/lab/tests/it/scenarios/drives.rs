//! Drives of any shape that a drive's file can have, and now and then one that it cannot have.

use std::fmt::Write;

use nearslot_core::rng::Rng;

/// One of these.
pub(crate) fn one<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

/// The text of a drive's file.
pub(crate) fn drive(rng: &mut Rng) -> String {
    if rng.chance(0.08) {
        let capacity = one(rng, &[1, 7, 8, 1_000, 65_537, 300_000]);
        let service = one(rng, &["0.001", "1.5", "100.0", "5000.0", "1e9"]);
        return format!("kind = 'null'\ncapacity_blocks = {capacity}\nservice_us = {service}\n");
    }
    if rng.chance(0.08) {
        return flash(rng);
    }
    let heads = one(rng, &[1, 1, 2, 3, 4, 8, 17, 64]);
    let cylinders = one(rng, &[1, 2, 3, 5, 21, 60, 160, 333]);
    let mut text = format!("kind = 'hdd'\nheads = {heads}\ncylinders = {cylinders}\n");
    let rpm = one(
        rng,
        &["100", "3600", "5400.5", "7200", "10045", "15000", "100000"],
    );
    let order = one(rng, &["ascending", "alternating-in-zone", "alternating"]);
    let switch = one(rng, &["0.0", "0.03", "0.8", "2.5", "1000"]);
    let settle = one(
        rng,
        &["0.0", "0.0", "0.3", "0.5", "1000", "-0.01", "-0.2", "-0.05"],
    );
    let _ = writeln!(
        text,
        "rpm = {rpm}\nhead_order = '{order}'\nhead_switch_ms = {switch}\nwrite_settle_ms = {settle}"
    );
    if rng.chance(0.3) {
        let (cylinder, head) = (rng.below(cylinders), rng.below(heads));
        let angle = rng.unit();
        let _ = writeln!(
            text,
            "start_cylinder = {cylinder}\nstart_head = {head}\nstart_angle_turns = {angle}"
        );
    }
    text += &seeks(rng, cylinders);
    let sparing = sparing(rng, cylinders, &mut text);
    if rng.chance(0.55) {
        text += &electronics(rng);
    }
    text + &zones(rng, heads, cylinders, sparing)
}

/// Where spares are; the word that says it.
fn sparing(rng: &mut Rng, cylinders: u64, text: &mut String) -> &'static str {
    let words = [
        "none",
        "none",
        "none",
        "zone-end",
        "zone-end-tracks",
        "cylinder-ranges",
    ];
    let word = one(rng, &words);
    let range = match word {
        "cylinder-ranges" => format!(", cylinders = {}", 1 + rng.below(cylinders)),
        _ => String::new(),
    };
    let _ = writeln!(text, "sparing = {{ at = '{word}'{range} }}");
    word
}

/// A solid-state drive, large or small, with or without what one may have.
fn flash(rng: &mut Rng) -> String {
    let channels = one(rng, &[1, 2, 3, 8]);
    let dies = one(rng, &[1, 2, 5]);
    let planes = one(rng, &[1, 2, 4]);
    let together = rng.chance(0.5);
    let (blocks, pages) = (one(rng, &[14, 30, 200]), one(rng, &[1, 4, 33]));
    let (map, of_map) = (one(rng, &[1, 4, 8]), one(rng, &[1, 1, 2, 4]));
    let units = channels * dies * planes * blocks * pages * of_map;
    // A third of the small ones is what they need to collect at all.
    let capacity = units * 2 * map * one(rng, &[1, 4, 6]) / 10 / (2 * map) * (2 * map);
    let by_address = of_map == 1 && !(together && planes > 1) && rng.chance(0.5);
    let allocation = if by_address { "by-address" } else { "in-turn" };
    let how = if together { "together" } else { "apart" };
    let depth = one(rng, &[1, 4, 32, 200]);
    let mut text = format!(
        "kind = 'ssd'\ncapacity_blocks = {capacity}\nqueue_depth = {depth}\nchannels = {channels}\ndies_per_channel = {dies}\n\
         planes_per_die = {planes}\nplanes = '{how}'\nblocks_per_plane = {blocks}\npages_per_block = {pages}\n\
         page_kib = {}\nmap_kib = {map}\nallocation = '{allocation}'\n",
        map * of_map
    );
    for (key, words) in [
        ("read_us", ["0.001", "50", "300"]),
        ("program_us", ["0.5", "700", "3000"]),
        ("erase_us", ["1", "3000", "10000"]),
        ("channel_mb_s", ["10", "200", "1200"]),
        ("unwritten", ["'zeros'", "'flash'", "'zeros'"]),
        (
            "collection",
            [
                "{ start_percent = 0, urgent_percent = 0 }",
                "{ start_percent = 5, urgent_percent = 5, when_urgent = 'alone' }",
                "{ start_percent = 8, urgent_percent = 2 }",
            ],
        ),
        (
            "host",
            [
                "{ mb_s = 500, full_duplex = false, command_us = 0, read_us = 0, write_us = 0 }",
                "{ mb_s = 7000, full_duplex = true, command_us = 1, read_us = 9, write_us = 12 }",
                "{ mb_s = 20, full_duplex = false, command_us = 300, read_us = 5, write_us = 50 }",
            ],
        ),
    ] {
        let _ = writeln!(text, "{key} = {}", one(rng, &words));
    }
    text + &flash_options(rng, map * of_map * planes)
}

/// What a solid-state drive may have or not, with pages of so many KiB.
fn flash_options(rng: &mut Rng, page_kib: u64) -> String {
    let mut text = String::new();
    if rng.chance(0.5) {
        let (program, erase) = (rng.chance(0.5), rng.chance(0.5));
        let takes = one(rng, &["0", "20", "500"]);
        let _ = writeln!(
            text,
            "suspension = {{ program = {program}, erase = {erase}, takes_us = {takes} }}"
        );
    }
    if rng.chance(0.6) {
        let kib = 2 * page_kib * one(rng, &[1, 3, 100]);
        let (at_once, kept) = (one(rng, &[1, 4, 100]), rng.chance(0.3));
        let _ = writeln!(
            text,
            "cache = {{ kib = {kib}, mb_s = 900, pages_at_once = {at_once}, protected = {kept} }}"
        );
    }
    if rng.chance(0.4) {
        let (kib, line) = (one(rng, &[1, 8]), one(rng, &[1, 16, 128]));
        let _ = writeln!(text, "map_cache = {{ kib = {kib}, line_units = {line} }}");
    }
    text
}

/// A curve that rises, from nothing or from a start; now and then measured, with dents, or ending
/// too early.
fn seeks(rng: &mut Rng, cylinders: u64) -> String {
    let dents = rng.chance(0.2);
    let reach = match rng.chance(0.02) {
        true => cylinders / 2,
        false => cylinders.saturating_sub(1).max(1),
    };
    let mut ms = one(rng, &[0.0, 0.0, 0.2, 1.0, 3.0]);
    let (mut points, mut distance) = (Vec::new(), 0);
    while distance < reach {
        let step = 1 + rng.below(reach.div_ceil(3));
        distance = if points.is_empty() {
            1
        } else {
            (distance + step).min(reach)
        };
        points.push(format!("[{distance}, {ms}]"));
        let change = rng.unit() * one(rng, &[0.0, 0.5, 3.0]);
        ms = if dents && rng.chance(0.4) {
            (ms - change).max(0.0)
        } else {
            ms + change
        };
    }
    if points.len() < 2 {
        points.push(format!("[{}, {}]", distance + 1, ms + 1.0));
    }
    let measured = if dents { "seek_measured = true\n" } else { "" };
    format!("seek_ms = [{}]\n{measured}", points.join(", "))
}

/// A buffer, and mostly a bus and overheads.
fn electronics(rng: &mut Rng) -> String {
    let mut text = buffer(rng);
    if rng.chance(0.7) {
        let (read, write) = (one(rng, &["0", "0.1", "3"]), one(rng, &["0", "0.05", "2"]));
        let (reads, writes) = (rng.chance(0.5), rng.chance(0.5));
        let _ = writeln!(
            text,
            "[bus]\nread_ms_per_block = {read}\nwrite_ms_per_block = {write}\nhold_during_reads = {reads}\n\
             hold_during_writes = {writes}"
        );
    }
    if rng.chance(0.7) {
        text += &overheads(rng);
    }
    text
}

fn buffer(rng: &mut Rng) -> String {
    let segments = one(rng, &[1, 2, 3, 8, 64]);
    let blocks = one(rng, &[1, 3, 8, 17, 128, 1_024]);
    let writes = 1 + rng.below(segments);
    let mut text = format!(
        "[buffer]\nsegments = {segments}\nsegment_blocks = {blocks}\nwrite_segments_max = {writes}\n"
    );
    let places = [
        "none",
        "within-track",
        "within-cylinder",
        "track-end",
        "blocks",
    ];
    let ahead = one(rng, &places);
    let behind = one(rng, &["none", "sequential", "any"]);
    let of = one(rng, &["request", "segment"]);
    let requested = one(rng, &["keep", "yield", "forget"]);
    let _ = writeln!(
        text,
        "read_ahead = '{ahead}'\nwrite_behind = '{behind}'\nwatermark_of = '{of}'\nrequested_blocks = '{requested}'"
    );
    let (low, high) = (one(rng, &["0", "0.3", "1"]), one(rng, &["0", "0.5", "1"]));
    let _ = writeln!(text, "read_watermark = {high}\nwrite_watermark = {low}");
    if ahead != "none" {
        let (least, most) = (one(rng, &[0, 1, 8, 100]), one(rng, &[0, 4, 300]));
        let _ = writeln!(
            text,
            "read_ahead_min_blocks = {least}\nread_ahead_max_blocks = {most}"
        );
    }
    for flag in FLAGS {
        if rng.chance(0.5) {
            let _ = writeln!(text, "{flag} = {}", rng.chance(0.5));
        }
    }
    let dedicated = text.contains("dedicated_write_segment = true");
    if !dedicated && rng.chance(0.3) {
        let own = one(rng, &[1, 3, 8, 64, 512]);
        let _ = writeln!(text, "write_segment_blocks = {own}");
    }
    if behind == "any" && text.contains("accept_while_writing = true") {
        let hits = rng.chance(0.5);
        let _ = writeln!(text, "hits_while_writing = {hits}");
        if !dedicated && writes > 1 && rng.chance(0.5) {
            text += "write_back = 'nearest'\n";
        }
    }
    text
}

/// Keys of a buffer that are true or false.
const FLAGS: &[&str] = &[
    "dedicated_write_segment",
    "read_ahead_on_hit",
    "read_whole_track",
    "join_writes",
    "accept_while_writing",
    "stop_within_sector",
    "write_ends_read_ahead",
    "room_at_sector_start",
    "partial_hit_at_once",
    "zero_latency_reads",
    "zero_latency_writes",
    "read_hits_on_next_block",
    "read_hits_within_turn",
    "read_hits_on_writes",
];

/// Keys of overheads.
const OVERHEADS: &[&str] = &[
    "command_ms",
    "read_hit_after_read_ms",
    "read_miss_after_write_ms",
    "write_after_read_ms",
    "write_after_write_ms",
    "read_completion_ms",
    "write_completion_ms",
    "data_preparation_ms",
    "reselect_ms",
    "reselect_again_ms",
    "read_disconnect_after_read_ms",
    "write_disconnect_ms",
    "write_seek_min_ms",
];

fn overheads(rng: &mut Rng) -> String {
    let mut text = "[overheads]\n".to_owned();
    for name in OVERHEADS {
        if rng.chance(0.4) {
            // Longer ones only let the arm wait for more revolutions.
            let _ = writeln!(text, "{name} = {}", one(rng, &["0", "0.2", "7.5", "1000"]));
        }
    }
    if rng.chance(0.4) {
        let (seek, pause) = (one(rng, &["0", "0.3"]), one(rng, &["0", "1.5"]));
        let _ = writeln!(
            text,
            "extra_disconnect = {{ seek_ms = {seek}, pause_ms = {pause} }}"
        );
    }
    text
}

/// One to three zones, now and then with cylinders between them that are not used.
fn zones(rng: &mut Rng, heads: u64, cylinders: u64, sparing: &str) -> String {
    let (mut text, mut first) = (String::new(), 0);
    while first < cylinders {
        let left = cylinders - first;
        let count = if rng.chance(0.5) {
            left
        } else {
            1 + rng.below(left)
        };
        let sectors = one(rng, &[1, 7, 8, 17, 20, 40, 63, 254, 700]);
        // So many tracks that a run stays a matter of milliseconds.
        let sectors = if heads * cylinders > 2_000 {
            sectors.min(63)
        } else {
            sectors
        };
        let last = first + count - 1;
        let _ = writeln!(
            text,
            "[[zones]]\ncylinders = [{first}, {last}]\nsectors_per_track = {sectors}"
        );
        for key in ["track_skew_sectors", "cylinder_skew_sectors"] {
            if rng.chance(0.5) {
                let most = if rng.chance(0.02) {
                    2 * sectors
                } else {
                    sectors
                };
                let skew = rng.below(most) as i64 * one(rng, &[1, 1, -1]);
                let _ = writeln!(text, "{key} = {skew}");
            }
        }
        if rng.chance(0.2) {
            let _ = writeln!(text, "first_block_offset_sectors = {}", rng.below(sectors));
        }
        if rng.chance(0.2) {
            let _ = writeln!(
                text,
                "reserved_sectors_at_front = {}",
                rng.below(2 * sectors)
            );
        }
        if sparing != "none" {
            text += &defects(rng, heads * count, sectors, sparing);
        }
        first = last + 1 + u64::from(rng.chance(0.15));
        if rng.chance(0.1) {
            break;
        }
    }
    text
}

fn defects(rng: &mut Rng, tracks: u64, sectors: u64, sparing: &str) -> String {
    let by_track = sparing == "zone-end-tracks";
    let units = if by_track { tracks } else { tracks * sectors };
    let spares = rng.below((units / 4).min(40) + 1);
    let mut text = format!("spares = {spares}\n");
    if spares < 4 {
        return text;
    }
    let data = units - spares;
    let slips: Vec<u64> = (0..rng.below(spares / 2))
        .map(|_| rng.below(data))
        .collect();
    let remap = |_| (rng.below(data), units - 1 - rng.below(spares / 4));
    let remaps: Vec<(u64, u64)> = (0..spares / 4).map(remap).collect();
    let remaps: Vec<String> = remaps
        .iter()
        .map(|(defect, spare)| format!("[{defect}, {spare}]"))
        .collect();
    let _ = writeln!(text, "slips = {slips:?}\nremaps = [{}]", remaps.join(", "));
    text
}
