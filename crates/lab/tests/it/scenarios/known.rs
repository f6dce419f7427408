//! Scenarios that brought nearslot down once: each ends, or is refused for the right reason.

use nearslot_lab::sim::Control;

use crate::scenarios::made::Made;
use crate::scenarios::{Fate, try_one};

/// A disk of one zone.
fn disk(heads: u64, cylinders: u64, sectors: u64, seek_ms: &str, settle_ms: &str) -> String {
    let last = cylinders - 1;
    format!(
        "kind = 'hdd'\nrpm = 7200\nheads = {heads}\ncylinders = {cylinders}\nhead_switch_ms = 0.0\n\
         write_settle_ms = {settle_ms}\nseek_ms = {seek_ms}\n[[zones]]\ncylinders = [0, {last}]\n\
         sectors_per_track = {sectors}\n"
    )
}

fn with_tables(disk: &str, tables: &str) -> String {
    disk.replace("[[zones]]", &format!("{tables}\n[[zones]]"))
}

/// Why a scenario is refused; it may not run.
fn refusal(scenario: &str, drive: &str) -> String {
    match try_one(&Made::of(scenario, drive, None), &Control::default()) {
        Fate::Ran => panic!("{scenario} ran"),
        Fate::Refused(why) => why,
    }
}

fn runs(scenario: &str, drive: &str, trace: Option<&str>) {
    match try_one(&Made::of(scenario, drive, trace), &Control::default()) {
        Fate::Ran => {}
        Fate::Refused(why) => panic!("{why}"),
    }
}

#[test]
fn a_log_beyond_the_end_of_a_drive_in_full_use_is_refused() {
    let drive = disk(4, 160, 20, "[[1, 1.0], [159, 7.0]]", "0.4");
    let scenario = "drive = 'drive.toml'
        place = 'eager:map=log:nvram_entries=2:dilution=20:log_region_kib=4000'
        workload = 'iometer:requests=12000:read_share=0:depth=4'";
    let why = refusal(scenario, &drive);
    assert!(why.starts_with("KiB of the map's log = 4000"), "{why}");
}

#[test]
fn a_short_write_behind_a_longer_one_is_written_with_an_extra_disconnect() {
    let tables = "[buffer]\nsegments = 64\nsegment_blocks = 128\nwrite_segments_max = 63\nwrite_behind = 'any'
        [overheads]\nextra_disconnect = { seek_ms = 0.0 }";
    let drive = with_tables(&disk(17, 21, 17, "[[1, 0.0], [20, 1.0]]", "0.4"), tables);
    let scenario = "drive = 'drive.toml'\nplace = 'sr_array:dr=1:ds=1'\nwarmup = 0
        [trace]\nfiles = ['trace.csv']\nfit = 'wrap'";
    let trace = "ts_us,op,offset,len\n0.000,W,3822080,65536\n10.000,R,2348544,3584\n1010.000,R,1575424,65536\n";
    runs(scenario, &drive, Some(trace));
}

#[test]
fn offers_that_leave_nothing_end_while_drives_choose_and_let_others_begin() {
    let scenario =
        "drive = 'hp-c2247a:cache=off'\nsched = 'fcfs'\nplace = 'offering:within=track'\nwarmup = 0
        [trace]\nfiles = ['trace.csv']\nreplay = 'closed'\ndepth = 1\nrefill = 'before'";
    let trace = "ts_us,op,offset,len\n0,W,0,8192\n1000,W,4096,8192\n2000,W,8192,8192\n";
    runs(scenario, "", Some(trace));
}

#[test]
fn what_waits_in_the_buffer_is_written_although_the_arm_was_sent_away() {
    let tables = "[buffer]\nsegments = 8\nsegment_blocks = 1024\nwrite_segments_max = 2\nread_ahead = 'within-track'
        write_behind = 'any'\naccept_while_writing = true\nread_ahead_min_blocks = 8";
    let drive = with_tables(
        &disk(4, 1_000, 20, "[[1, 1.0], [999, 12.0]]", "0.4"),
        tables,
    );
    let scenario = "drive = 'drive.toml'\nsched = 'cscan'
        workload = 'iometer:read_share=0.3:requests=4000'";
    runs(scenario, &drive, None);
}

#[test]
fn a_settle_that_ends_a_movement_before_it_began_is_refused_at_any_distance() {
    let scenario = "drive = 'drive.toml'\nworkload = 'iometer:requests=2000'";
    let why = refusal(scenario, &disk(8, 64, 40, "[[1, 0.0], [63, 5.0]]", "-10.0"));
    assert!(why.contains("write_settle_ms = -10"), "{why}");
    // A measured curve may fall, and a movement behind the first point may be the shortest.
    let dented = disk(1, 64, 40, "[[1, 0.2], [20, 0.0], [63, 5.0]]", "-0.1");
    let why = refusal(scenario, &dented);
    assert!(
        why.contains("seek_ms[1] time = 0 (allowed: times that do not fall"),
        "{why}"
    );
    let measured = dented.replace("heads", "seek_measured = true\nheads");
    let why = refusal(scenario, &measured);
    assert!(why.contains("write_settle_ms = -0.1"), "{why}");
}

#[test]
fn what_memory_has_no_room_for_is_refused_before_it_is_taken() {
    let large = disk(4_096, 4_000_000, 40, "[[1, 1.0], [3999999, 9.0]]", "0.4");
    let scenario = "drive = 'drive.toml'\nplace = 'eager'\nworkload = 'iometer:requests=10'";
    let why = refusal(scenario, &large);
    assert!(
        why.contains("chunk_kib = 4 (allowed: no chunk of this drive"),
        "{why}"
    );
    let with_fewer = disk(64, 4_000_000, 8, "[[1, 1.0], [3999999, 9.0]]", "0.4");
    let why = refusal(scenario, &with_fewer);
    assert!(why.contains("GiB of memory"), "{why}");
}

#[test]
fn a_drive_with_too_many_slots_names_a_chunk_that_works() {
    let of = |place: &str| {
        format!("drive = 'modern-20tb'\nplace = '{place}'\nworkload = 'iometer:requests=10'")
    };
    let why = refusal(&of("eager"), "");
    assert!(
        why.contains("chunk_kib = 4 (allowed: more, such as 64: it would take 4"),
        "{why}"
    );
}

#[test]
fn a_mirror_with_large_requests_and_an_oracle_of_distances_ends() {
    let scenario = "drive = 'hp-c2247a'\nplace = 'distorted_mirror'\noracle = 'distance'
        workload = 'iometer:requests=20:read_share=0.5:size=1m'";
    runs(scenario, "", None);
}

#[test]
fn cylinders_without_a_slot_are_out_of_reach_of_a_search_by_block() {
    let zone = "[[zones]]\ncylinders = [0, 30]\nsectors_per_track = 40\n";
    let drive = disk(2, 333, 7, "[[1, 3.0], [332, 6.0]]", "0.4")
        .replace("[0, 332]", "[31, 332]")
        .replace("[[zones]]", &format!("{zone}[[zones]]"));
    let scenario = "drive = 'drive.toml'\nsched = 'scan'\noracle = 'distance'\nplace = 'eager'
        workload = 'iometer:requests=200:read_share=0.5:depth=4'";
    runs(scenario, &drive, None);
}
