//! Write caches hide the drives from short loads. What is found with few requests must hold with
//! many, and of drives that keep up nothing is said.

use super::*;

fn flash(workload: &str, state: &str) -> Scenario {
    let drive = format!("nvme-tlc-1tb:precondition={state}");
    synthetic(workload, &[("drive", &drive), ("sched", "fcfs")])
}

/// What is found of writes at random.
fn writes(load: &str, state: &str, (slo, find): (&str, Find)) -> Capacity {
    let base = flash(&format!("{load}:read_share=0"), state);
    let coarse = How {
        resolution_percent: 5.0,
        ..how(slo, find)
    };
    found(&points(&base, &[]), &coarse)
}

/// The cache has room for 8,192 writes. As it was empty, 10,000 requests held at five times the
/// rate that 60,000 hold of flash that is full; 30,000 hold as much as these.
#[test]
fn few_requests_find_no_more_than_many() {
    for state in ["saturated", "full"] {
        let of = |requests: u64| {
            let asked = ("write p99 < 20 ms", Find::Rate);
            let found = writes(&format!("poisson:requests={requests}"), state, asked);
            found.choices[0].holds.unwrap()
        };
        let (few, many) = (of(10_000), of(30_000));
        assert!((0.9..1.15).contains(&(few / many)), "{state}: {few} {many}");
    }
}

/// 4,000 writes are a tenth of those in which each plane collects a block. They held surely at a
/// rate at which 40,000 surely failed.
#[test]
fn of_flash_that_has_hardly_collected_nothing_is_sure() {
    let of = |drive: &str, requests: u64| {
        let load = format!("poisson:read_share=0:requests={requests}");
        let drive = format!("{drive}:precondition=saturated");
        let base = synthetic(&load, &[("drive", &drive), ("sched", "fcfs")]);
        let coarse = How {
            resolution_percent: 5.0,
            ..how("write p99 < 20 ms", Find::Rate)
        };
        let mut found = found(&points(&base, &[]), &coarse);
        (found.choices.remove(0), found.details.join(" "))
    };
    let (few, said) = of("sata-tlc-500gb", 4_000);
    let (surely, holds) = (few.surely_holds.unwrap(), few.holds.unwrap());
    assert!(surely * 10.0 < holds, "{surely} {holds}");
    let words = "each plane of the flash has collected 0.0";
    assert!(said.contains(words), "{said}");
    assert!(
        said.contains("nothing is sure there before there are about "),
        "{said}"
    );
    // A block of this one is smaller: 4,000 writes are one of each plane, nearly.
    let (many, said) = of("plextor-px-256m5s", 20_000);
    let (surely, holds) = (many.surely_holds.unwrap(), many.holds.unwrap());
    assert!(surely > 0.9 * holds, "{surely} {holds}");
    assert!(!said.contains("not steady"), "{said}");
}

/// What is said of a run of writes alone over a drive.
fn told(load: &str, drive: &str, place: &str) -> Vec<(WarningKind, String)> {
    let load = format!("{load}:read_share=0");
    let base = synthetic(
        &load,
        &[("drive", drive), ("sched", "fcfs"), ("place", place)],
    );
    let wanted = Wanted {
        overload: Overload::Run,
        ..Wanted::default()
    };
    let results = compare(&points(&base, &[]), None, &wanted, &Control::default()).unwrap();
    let kinds = [WarningKind::FillingCaches, WarningKind::QueueGrew];
    let warnings = results.warnings.into_iter();
    let told = warnings.filter(|warning| kinds.contains(&warning.kind));
    told.map(|warning| (warning.kind, warning.to_string()))
        .collect()
}

/// A loop of writes alone fills the cache of a disk with its first hundred requests: then nothing
/// grows, and 300 are answered 1.7 times as fast as 3,000.
#[test]
fn a_loop_whose_writes_a_disk_keeps_in_its_cache_is_told() {
    let of = |requests: u64, drive| {
        let load = format!("iometer:depth=1:requests={requests}");
        told(&load, drive, "linear")
            .into_iter()
            .map(|(kind, _)| kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(300, "modern-20tb"), [WarningKind::FillingCaches]);
    assert_eq!(of(3_000, "modern-20tb"), []);
    assert_eq!(of(300, "nvme-tlc-1tb"), []);
}

/// Both copies of a mirror are in caches, the second one later, so it is not known when they are
/// full; that they are full is a queue that grows.
#[test]
fn full_caches_are_a_queue_and_are_not_told_as_filling() {
    let of = |requests: u64, place| {
        let load = format!("poisson:rate_rps=700000:requests={requests}");
        let mut told = told(&load, "nvme-tlc-1tb", place);
        assert_eq!(told.len(), 1, "{told:?}");
        told.remove(0)
    };
    let (kind, said) = of(4_000, "linear");
    assert_eq!(kind, WarningKind::FillingCaches);
    assert!(said.contains("are full after about 2"), "{said}");
    let (kind, said) = of(4_000, "mirror");
    assert_eq!(kind, WarningKind::FillingCaches);
    assert!(!said.contains("are full after"), "{said}");
    let (kind, said) = of(40_000, "linear");
    assert_eq!(kind, WarningKind::QueueGrew);
    assert!(
        said.contains("until their write caches were full"),
        "{said}"
    );
}

/// A loop that waits for answers is slower when the cache is full: it may hold nevertheless, but
/// not surely.
#[test]
fn of_a_loop_that_fills_a_cache_nothing_is_sure() {
    let asked = ("write p99 < 0.2 ms", Find::Depth);
    let found = writes("iometer:requests=4000", "full", asked);
    let choice = &found.choices[0];
    let (surely, holds) = (choice.surely_holds.unwrap(), choice.holds.unwrap());
    assert!(surely < 12.0 && holds > 100.0, "{surely} {holds}");
    let said = found.details.join(" ");
    let words = "the drives are not steady at depth";
    assert!(said.contains(words), "{said}");
    assert!(said.contains("and are full after about 1"), "{said}");
}

#[test]
fn an_open_load_that_fills_a_cache_is_more_than_the_drives_write() {
    let asked = ("write p99 < 20 ms", Find::Rate);
    let found = writes("poisson:requests=10000", "full", asked);
    let choice = &found.choices[0];
    let failed = choice
        .tried
        .iter()
        .find(|tried| Some(tried.at) == choice.fails);
    let failed = failed.unwrap();
    assert_eq!(failed.word, Outcome::SurelyFails);
    assert!(failed.queue_growth_rps.is_some() && !failed.ended_early);
    let said = found.details.join(" ");
    for words in [
        "because the drives write less than comes (",
        "in write caches that fill as long as requests come and are full after about",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

/// Of these runs, who warns that caches filled.
fn filled(loads: &[(&str, &str, f64, u64)]) -> Vec<bool> {
    let warns = |(drive, share, rate, requests): &(&str, &str, f64, u64)| {
        let load = format!("poisson:read_share={share}:rate_rps={rate}:requests={requests}");
        let base = synthetic(&load, &[("drive", drive), ("sched", "fcfs")]);
        let wanted = Wanted {
            overload: Overload::Run,
            ..Wanted::default()
        };
        let results = compare(&points(&base, &[]), None, &wanted, &Control::default()).unwrap();
        let mut kinds = results.warnings.iter().map(|warning| warning.kind);
        kinds.any(|kind| kind == WarningKind::FillingCaches)
    };
    loads.iter().map(warns).collect()
}

#[test]
fn of_drives_that_keep_up_nothing_is_said() {
    let keep_up = [
        ("nvme-tlc-1tb", "0", 300_000.0, 20_000),
        ("nvme-tlc-1tb:precondition=empty", "0.5", 300_000.0, 5_000),
        ("nvme-tlc-1tb:precondition=saturated", "0", 50_000.0, 20_000),
        ("nvme-tlc-1tb:cache=off", "0", 300_000.0, 5_000),
        ("modern-20tb", "0", 100.0, 1_000),
        ("modern-20tb", "0", 200.0, 4_000),
        ("desktop-7200-90mb", "0.3", 60.0, 2_000),
        ("hp-c2247a", "0", 20.0, 1_000),
    ];
    assert_eq!(filled(&keep_up), [false; 8]);
    // Near their limit disks owe more and more for a few hundred requests, until they have their
    // choice of them.
    let near = [
        ("modern-20tb", "0", 250.0, 500),
        ("modern-20tb", "0", 250.0, 700),
    ];
    assert_eq!(filled(&near), [false; 2]);
    let hidden = [
        ("nvme-tlc-1tb", "0", 800_000.0, 15_000),
        ("nvme-tlc-1tb:cache=protected", "0", 800_000.0, 15_000),
        // A fifth of the writes and more is not written, and the disk can do 282 a second.
        ("modern-20tb", "0", 320.0, 500),
    ];
    assert_eq!(filled(&hidden), [true; 3]);
}

/// A disk of which the cache fills with the first few hundred requests may come to rest: nothing is
/// sure then, but it does not fail for that.
#[test]
fn of_a_disk_that_chooses_what_it_writes_nothing_is_sure() {
    let base = synthetic(
        "poisson:read_share=0.6:requests=500",
        &[("drive", "modern-20tb"), ("sched", "satf")],
    );
    let coarse = How {
        resolution_percent: 20.0,
        ..how("mean < 40 ms", Find::Rate)
    };
    let found = found(&points(&base, &[]), &coarse);
    let tried = &found.choices[0].tried;
    // 20,000 requests are served up to 270 a second.
    let below = tried.iter().filter(|tried| tried.at < 200.0);
    assert!(below.clone().count() > 2);
    for tried in below {
        assert_eq!(tried.queue_growth_rps, None, "{}", tried.at);
    }
    let said = found.details.join(" ");
    assert!(said.contains("the drives are not steady at"), "{said}");
    assert!(!said.contains("the drives write less than comes"), "{said}");
}

/// It is said of a full cache what drives can do, whatever their state is: 475,000 and 73,000
/// writes a second, and not the million that the link takes.
#[test]
fn what_drives_can_do_is_not_what_their_caches_take() {
    for (state, truth) in [("full", 475_000.0), ("saturated", 72_500.0)] {
        let base = flash("poisson:read_share=0:requests=5000:rate_rps=20000", state);
        let wanted = Wanted::default();
        let results = compare(&points(&base, &[]), None, &wanted, &Control::default()).unwrap();
        let demand = results.runs[0].demand.as_ref().unwrap();
        let ratio = demand.ability_rps / truth;
        assert!(
            (0.88..1.05).contains(&ratio),
            "{state}: {}",
            demand.ability_rps
        );
    }
}

/// A cloud volume does 300 commands a second for ever, and ten times as many on credits: nothing
/// beyond 300 is sure, and it is said how long the credits last.
#[test]
fn what_lives_on_credits_is_not_sure() {
    let of = |drive: &str, slo: &str| {
        let base = synthetic("poisson:requests=10000", &[("drive", drive)]);
        let coarse = How {
            resolution_percent: 5.0,
            ..how(slo, Find::Rate)
        };
        let mut found = found(&points(&base, &[]), &coarse);
        (found.choices.remove(0), found.details.join(" "))
    };
    let (on_credits, said) = of("cloud-gp2-100gib", "mean < 20 ms");
    let (surely, holds) = (on_credits.surely_holds.unwrap(), on_credits.holds.unwrap());
    assert!(surely < 320.0 && holds > 2_500.0, "{surely} {holds}");
    assert!(
        said.contains("credits for bursts; at this pace the others last for "),
        "{said}"
    );
    assert!(
        said.contains("and without them it does 300.0 commands/s; what is carried for ever"),
        "{said}"
    );
    let (without, said) = of("cloud-gp2-100gib:credits_full=0", "mean < 20 ms");
    let holds = without.holds.unwrap();
    assert!((250.0..300.0).contains(&holds), "{holds}");
    assert!(!said.contains("credits"), "{said}");
}

/// A write buffer that has room for all that comes makes no rate sure, however easy; ten times the
/// requests tell what its drive takes, far less.
#[test]
fn what_a_write_buffer_only_keeps_is_sure_of_nothing() {
    let settings = [("drive", "desktop-7200-90mb"), ("buffer", "lrw:size=4MiB")];
    let of = |requests: u64| {
        let base = synthetic(
            &format!("poisson:read_share=0:requests={requests}"),
            &settings,
        );
        found(&points(&base, &[]), &how("mean < 20 ms", Find::Rate))
    };
    let (few, many) = (of(900), of(20_000));
    let [few_choice, many_choice] = [&few, &many].map(|found| &found.choices[0]);
    assert_eq!(few_choice.surely_holds, None, "{few_choice:?}");
    assert_eq!(few_choice.limit, None, "no drive had anything to do");
    assert!(few_choice.holds.unwrap() > 100.0 * many_choice.holds.unwrap());
    assert!(
        said(&few).contains("in a write buffer that has room for what about "),
        "{}",
        said(&few)
    );
    assert!(many_choice.surely_holds.is_some(), "{many_choice:?}");
}
