//! `--offer`: what range writes would be worth to a trace, beside what would do without them.

use serde_json::{Value, json};

use crate::common::{Desk, given, nearslot, told, word};

/// Writes of 4 KiB all over 576 MiB, more than four groups, and some that are no whole units.
fn trace(desk: &Desk) -> std::path::PathBuf {
    let mut text = String::from("time_us,lba,blocks,op\n");
    for number in 0..1_500_u64 {
        let page = number * 7_919 % 16_384;
        let (skip, op) = (
            u64::from(number % 50 == 49),
            ["W", "W", "R"][number as usize % 3],
        );
        text += &format!("{},{},8,{op}\n", number * 1_000, page * 72 + skip);
    }
    desk.file("scattered.csv", text)
}

fn words<'a>(trace: &'a std::path::Path, command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let all = [
        command,
        word(trace),
        "--replay",
        "closed",
        "--format",
        "json",
    ];
    let drive = ["--drive", "hp-c2247a"]
        .iter()
        .filter(|_| !more.contains(&"--drive"));
    let all = all.iter().chain(drive).chain(more);
    all.copied().collect()
}

fn runs(trace: &std::path::Path, command: &str, more: &[&str]) -> Vec<Value> {
    let output = nearslot(&words(trace, command, more));
    assert!(output.status.success(), "{}", told(&output));
    let found: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    found["runs"].as_array().expect("runs").clone()
}

/// What a run may land in, and the mean of its writes.
fn landing(run: &Value) -> (Value, f64) {
    let place = &run["config"]["place"];
    let name = if place["name"] == "offering" {
        &place["within"]
    } else {
        &place["name"]
    };
    (
        name.clone(),
        run["write_response_ms"]["mean"]
            .as_f64()
            .expect("it writes"),
    )
}

#[test]
fn what_is_offered_is_compared_with_what_is_not() {
    let desk = Desk::new();
    let trace = trace(&desk);
    let offers = ["--sched", "satf", "--offer", "track,group,disk"];
    let found: Vec<(Value, f64)> = runs(&trace, "compare", &offers)
        .iter()
        .map(landing)
        .collect();
    let names: Vec<&Value> = found.iter().map(|(name, _)| name).collect();
    assert_eq!(json!(names), json!(["linear", "track", "group", "disk"]));
    let means: Vec<f64> = found.iter().map(|(_, mean)| *mean).collect();
    assert!(
        means.is_sorted_by(|one, next| one > next),
        "the wider, the sooner: {means:?}"
    );
    // Beside what --place names.
    let offers = [
        "--sched",
        "satf",
        "--offer",
        "disk",
        "--place",
        "eager:dilution=1.25",
    ];
    let found: Vec<Value> = runs(&trace, "compare", &offers)
        .iter()
        .map(|run| landing(run).0)
        .collect();
    assert_eq!(json!(found), json!(["eager", "disk"]));
    let found = runs(&trace, "run", &["--sched", "look", "--offer", "group"]);
    assert_eq!(landing(&found[0]).0, "group");
    let counted = &found[0]["measures"]["place"];
    assert!(counted["in_place"].as_u64() > Some(10), "{counted}");
    assert!(counted["range_writes"].as_u64() > Some(900), "{counted}");
}

/// A drive that chooses by itself gets a list of what is free.
#[test]
fn a_drive_with_a_queue_chooses_among_what_is_offered() {
    let desk = Desk::new();
    let trace = trace(&desk);
    let drive = [
        "--sched",
        "fcfs",
        "--drive",
        "hp-c2247a:queue_depth=8",
        "--offer",
        "track,disk",
    ];
    let means: Vec<f64> = runs(&trace, "compare", &drive)
        .iter()
        .map(|run| landing(run).1)
        .collect();
    assert!(means.is_sorted_by(|one, next| one > next), "{means:?}");
}

/// A trace says of each write how far it may go: a third stays, a third may go anywhere, of a third
/// nothing is said.
#[test]
fn a_trace_says_which_of_its_writes_may_move() {
    let desk = Desk::new();
    let mut text = String::from("time_us,lba,blocks,op,may_move\n");
    for number in 0..900_u64 {
        let page = number * 7_919 % 16_384;
        let offer = ["none", "disk", ""][number as usize % 3];
        text += &format!("{},{},8,W,{offer}\n", number * 1_000, page * 72);
    }
    let trace = desk.file("told.csv", text);
    let of = |within: &str| {
        let all = runs(&trace, "run", &["--offer", within, "--warmup", "0"]);
        let counted = &all[0]["measures"]["place"];
        let number = |key: &str| counted[key].as_u64().expect("it is counted");
        (number("range_writes"), number("in_place"))
    };
    assert_eq!(of("told"), (300, 600));
    // Longer than a track, which is all that it may land in.
    let long = desk.file("long.csv", "op,lba,blocks,may_move\nW,0,512,track\n");
    let moved = &runs(
        &long,
        "run",
        &["--sched", "satf", "--offer", "told", "--warmup", "0"],
    )[0];
    assert_eq!(moved["measures"]["place"]["widened"], 1, "to its group");
    assert_eq!(of("group"), (600, 300));
    let inspected = nearslot(&["inspect", word(&trace)]);
    let text = given(&inspected);
    let note = "600 writes say how far they may move; `--offer told` goes by that";
    assert!(text.contains(note), "{text}");
    let output = nearslot(&words(&trace, "run", &["--offer", "told"]));
    let found: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let warnings = found["warnings"].as_array().expect("warnings");
    let mut warnings = warnings.iter();
    let warning = warnings.find(|told| told["kind"] == "hardly-offered");
    let text = warning.expect("most stayed")["text"].as_str();
    let expected =
        "writes went where their data lie, since the trace does not say that they may move";
    assert!(text.expect("a text").contains(expected), "{text:?}");
    let buffered = ["--offer", "told", "--buffer", "lrw:size=1MiB"];
    let refused = told(&nearslot(&words(&trace, "run", &buffered)));
    assert!(
        refused.contains("what a write buffer writes says nothing"),
        "{refused}"
    );
}

/// Each of them would serve other requests, as their volumes are not equally large.
#[test]
fn what_is_compared_is_fitted_alike() {
    let desk = Desk::new();
    let mut text = String::from("time_us,lba,blocks,op\n");
    for number in 0..600_u64 {
        let page = number * 7_919 % 16_384;
        text += &format!("{},{},8,W\n", number * 1_000, page * 120);
    }
    let trace = desk.file("whole.csv", text);
    for fit in ["wrap", "scale", "truncate"] {
        let all = runs(&trace, "compare", &["--offer", "group", "--fit", fit]);
        let load = |run: &Value| {
            (
                run["requests"].clone(),
                run["config"]["load"]["fit"].clone(),
            )
        };
        assert_eq!(load(&all[0]), load(&all[1]), "{fit}");
        assert_eq!(all[0]["config"]["load"]["fit"], fit);
        let fitted = &all[0]["config"]["load"]["fit_bytes"];
        assert!(fitted.as_u64() < Some(860_000_000), "{fitted}");
        assert!(
            all[1]["config"]["load"]["fit_bytes"].is_null(),
            "its own size"
        );
    }
    let refused = told(&nearslot(&words(&trace, "run", &["--offer", "group"])));
    assert!(
        refused.contains("of the catalog these are large enough: the disks seagate"),
        "{refused}"
    );
}

/// The placement of each run with the settings that say which drives there are, and the mean of its
/// writes.
fn array(run: &Value) -> (String, f64) {
    let place = &run["config"]["place"];
    let word = |key: &str| place[key].as_str().map(str::to_owned);
    let number = |key: &str| place[key].as_u64().map(|number| format!("{key}={number}"));
    let words = [
        word("name"),
        word("within"),
        number("disks"),
        number("copies"),
        number("stripe_kib"),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    let mean = run["write_response_ms"]["mean"].as_f64();
    (words.join(" "), mean.expect("it writes"))
}

/// A host that offers has the drives of the array beside which it is run, and as many copies.
#[test]
fn arrays_are_compared_with_what_is_offered_on_their_drives() {
    let desk = Desk::new();
    let trace = trace(&desk);
    let mirror = [
        "--sched",
        "satf",
        "--offer",
        "track,disk",
        "--place",
        "raid10:disks=4:foreground=2",
    ];
    let found: Vec<(String, f64)> = runs(&trace, "compare", &mirror).iter().map(array).collect();
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "mirror disks=4 copies=2 stripe_kib=64",
        "offering track disks=4 copies=2 stripe_kib=64",
        "offering disk disks=4 copies=2 stripe_kib=64",
    ];
    assert_eq!(names, expected);
    let means: Vec<f64> = found.iter().map(|(_, mean)| *mean).collect();
    assert!(means.is_sorted_by(|one, next| one > next), "{means:?}");
    // Beside others, and each set of drives once.
    let several = [
        "--sched",
        "satf",
        "--offer",
        "group",
        "--place",
        "stripe:disks=2:stripe_kib=32,mirror,eager:dilution=1.25,linear",
    ];
    let found: Vec<String> = runs(&trace, "compare", &several)
        .iter()
        .skip(4)
        .map(|run| array(run).0)
        .collect();
    let expected = [
        "offering group disks=2 copies=1 stripe_kib=32",
        "offering group disks=2 copies=2 stripe_kib=64",
        "offering group disks=1 copies=1 stripe_kib=64",
    ];
    assert_eq!(found, expected);
    // Alone it takes the place of what does without.
    let alone = ["--place", "mirror", "--offer", "group"];
    let found: Vec<String> = runs(&trace, "run", &alone)
        .iter()
        .map(|run| array(run).0)
        .collect();
    assert_eq!(found, ["offering group disks=2 copies=2 stripe_kib=64"]);
}

/// What is refused, and why.
const REFUSED: &[(&str, &[&str], &str)] = &[
    (
        "run",
        &["--offer", "told"],
        "within = told (allowed: track, group or disk: no write of this load says how far it may move, as the column `may_move` of a trace does)",
    ),
    (
        "compare",
        &["--offer", "near"],
        "offering.within = near (allowed: one of track, group, disk, told)",
    ),
    (
        "run",
        &["--offer", "track,disk"],
        "one value; `nearslot compare` takes several",
    ),
    (
        "run",
        &["--offer", "track", "--drive", "nvme-tlc-1tb"],
        "group or disk: the drive has no tracks",
    ),
    (
        "compare",
        &[
            "--offer",
            "disk",
            "--drive",
            "desktop-7200-90mb",
            "--sched",
            "expand",
        ],
        "sched = expand (allowed: a scheduler that lists no places",
    ),
    ("compare", &["--offer", "disk,disk"], "each value once"),
    (
        "run",
        &["--place", "offering:within=track:unit_blocks=64"],
        "at least one unit of 64 blocks free of the shortest track, which has 56 blocks",
    ),
    (
        "run",
        &["--place", "offering:group_mib=1:unit_blocks=2048"],
        "at least one unit of 2048 blocks free of a group",
    ),
    (
        "compare",
        &["--offer", "group", "--place", "raid5,ew_array:dm=2"],
        "--offer = group (allowed: beside --place linear, stripe or mirror, whose drives a host that offers takes over; raid5, ew_array:dm=2 can be offered nothing",
    ),
    (
        "run",
        &["--offer", "group", "--place", "eager:dilution=1.25"],
        "--offer = group (allowed: beside --place linear, stripe or mirror",
    ),
    (
        "run",
        &["--offer", "group", "--place", "mirror:foreground=1"],
        "mirror.foreground = 1 (allowed: left out beside --offer",
    ),
    (
        "run",
        &["--offer", "group", "--place", "linear:disks=2"],
        "unknown knob of linear `disks` = 2 (allowed: there are none)",
    ),
    (
        "compare",
        &["--offer", "group", "--place", "mirror,linear:stripe_kib=64"],
        "unknown knob of linear `stripe_kib` = 64 (allowed: there are none)",
    ),
    (
        "run",
        &["--offer", "group", "--place", "mirrored"],
        "mirrored",
    ),
    (
        "run",
        &["--place", "offering:disks=3:copies=2"],
        "disks = 3 (allowed: a multiple of 2, the copies)",
    ),
    (
        "run",
        &["--place", "offering:disks=2:copies=2:stripe_kib=64"],
        "stripe_kib = 64 (allowed: left out where each drive has all data",
    ),
    (
        "run",
        &["--place", "offering:disks=2:stripe_kib=63"],
        "stripe_kib = 63 (allowed: a multiple of 8 blocks of 512 bytes, the unit_blocks)",
    ),
];

#[test]
fn what_cannot_be_is_refused() {
    let desk = Desk::new();
    let trace = trace(&desk);
    for (command, more, expected) in REFUSED {
        let output = nearslot(&words(&trace, command, more));
        assert_eq!(output.status.code(), Some(2), "{more:?}: {}", told(&output));
        let told = told(&output);
        assert!(told.contains(expected), "{more:?}: {told}");
    }
    let range_writes = [
        "run",
        "--workload",
        "ranges",
        "--drive",
        "hp-c2247a",
        "--offer",
        "group",
    ];
    let output = nearslot(&range_writes);
    assert!(
        told(&output).contains("place = linear"),
        "{}",
        told(&output)
    );
    assert_eq!(given(&output), "");
}
