//! Where a trace tells response times, a replay at its own times holds them beside the simulated
//! ones.

use crate::common::{Desk, given, nearslot, told, word};
use serde_json::Value;

/// The drive of the tests; a named one of the catalog answers otherwise.
const DRIVE: &str = "hp-c2247a:model=mechanical";
const OTHER: &str = "seagate-cheetah-9lp";

fn json_of(words: &[&str]) -> Value {
    let output = nearslot(&[words, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", told(&output));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// What a run of the trace found.
fn ran(trace: &str, options: &[&str]) -> Value {
    let results = json_of(&[&["run", trace], options].concat());
    let mut run = results["runs"][0].clone();
    run["warnings"] = results["warnings"].clone();
    run["details"] = results["verdict"]["details"].clone();
    run
}

/// A trace of what a simulated drive did: 4,000 requests, two thirds reads, with the times of every
/// step.
fn recorded(desk: &Desk, drive: &str, rate: u64) -> String {
    let path = desk.path(&format!("{drive}.blktrace.0").replace(":", "-"));
    let workload = format!("poisson:rate_rps={rate}:requests=4000:read_share=0.67");
    let words = [
        "run",
        "--workload",
        &workload,
        "--drive",
        drive,
        "--sched",
        "look",
        "--blktrace",
    ];
    let output = nearslot(&[&words[..], &[word(&path)]].concat());
    assert!(output.status.success(), "{}", told(&output));
    word(&path).to_owned()
}

/// `count` requests, one each 20 ms, of which the trace tells the response times that `of` gives;
/// every third is a write.
fn table(desk: &Desk, count: u64, of: impl Fn(u64) -> Option<u64>) -> String {
    let mut text = String::from("time_us,dev,lba,blocks,op,response_ns\n");
    for number in 0..count {
        let op = if number % 3 == 0 { "W" } else { "R" };
        let response = of(number).map_or(String::new(), |us| (us * 1000).to_string());
        let lba = number * 7_919 % 200_000 * 8;
        text += &format!("{},0,{lba},8,{op},{response}\n", number * 20_000);
    }
    word(&desk.file("table.csv", text)).to_owned()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn a_model_is_no_distance_from_its_own_recording_and_far_from_another_drive() {
    let desk = Desk::new();
    // Without a platter: a trace begins at its first request, where the platter stood elsewhere
    // when it was recorded.
    let trace = recorded(&desk, "null", 8_000);
    let same = ran(&trace, &["--drive", "null", "--sched", "look"]);
    let traced = &same["traced"];
    assert_eq!(traced["untold"], 0);
    // A hundredth is warm-up.
    assert_eq!(traced["requests"], 4_000 - 40);
    assert!(number(&traced["demerit_share"]) < 1e-6, "{traced}");
    for class in ["response_ms", "read_response_ms", "write_response_ms"] {
        for statistic in ["mean", "p50", "p99", "max"] {
            let [told, simulated] = [traced, &same].map(|source| number(&source[class][statistic]));
            assert!(
                (told / simulated - 1.0).abs() < 1e-6,
                "{class} {statistic}: {told} {simulated}"
            );
        }
    }
    let trace = recorded(&desk, DRIVE, 30);
    let same = ran(&trace, &["--drive", DRIVE, "--sched", "look"]);
    assert!(number(&same["traced"]["demerit_share"]) < 0.05);
    let other = ran(&trace, &["--drive", OTHER, "--sched", "look"]);
    let share = number(&other["traced"]["demerit_share"]);
    assert!((0.5..1.0).contains(&share), "{share}");
}

#[test]
fn another_kind_of_drive_is_called_so_with_both_means_and_without_a_percentage() {
    let desk = Desk::new();
    let trace = table(&desk, 1_000, |_| Some(100));
    let said = |drive: &str| ran(&trace, &["--drive", drive])["details"].to_string();
    let other = said(OTHER);
    for part in [
        "took 0.100 ms",
        "the drive is nothing like the traced one",
        "(its mean is ",
    ] {
        assert!(other.contains(part), "{other}");
    }
    assert!(!other.contains("% of that mean"), "{other}");
    let same = said("null");
    assert!(same.contains("% of that mean"), "{same}");
    assert!(!same.contains("nothing like"), "{same}");
}

#[test]
fn the_distance_is_what_the_latencies_were_changed_by() {
    let desk = Desk::new();
    let constant = "null";
    let beside = |of: &dyn Fn(u64) -> Option<u64>| {
        let trace = table(&desk, 1_000, of);
        ran(&trace, &["--drive", constant])["traced"].clone()
    };
    let demerit = |traced: &Value| number(&traced["demerit_ms"]);
    assert!(demerit(&beside(&|_| Some(100))) < 1e-3);
    // Histogram steps are 0.4 % wide.
    let later = demerit(&beside(&|_| Some(2_100)));
    assert!((later - 2.0).abs() < 0.02, "{later}");
    // A tenth is 4.5 ms slower: the root of a tenth of its square.
    let tail = demerit(&beside(&|number| {
        Some(if number % 10 == 9 { 4_600 } else { 100 })
    }));
    assert!((tail - 4.5 * 0.1_f64.sqrt()).abs() < 0.03, "{tail}");
    let writes = beside(&|number| Some(if number % 3 == 0 { 9_000 } else { 1_000 }));
    assert_eq!(number(&writes["write_response_ms"]["mean"]), 9.0);
    assert_eq!(number(&writes["read_response_ms"]["mean"]), 1.0);
}

#[test]
fn another_load_is_not_held_beside_it() {
    let desk = Desk::new();
    let trace = table(&desk, 400, |_| Some(2_000));
    let held = |options: &[&str]| !ran(&trace, options)["traced"].is_null();
    assert!(held(&["--drive", OTHER]));
    assert!(held(&["--drive", OTHER, "--replay", "dependent"]));
    assert!(!held(&["--drive", OTHER, "--speed", "1.1"]));
    assert!(!held(&[
        "--drive", OTHER, "--replay", "closed", "--depth", "4"
    ]));
}

#[test]
fn too_few_told_latencies_are_said_and_not_compared() {
    let desk = Desk::new();
    let all_but = |untold: u64| {
        table(&desk, 1_000, move |number| {
            (number >= untold).then_some(2_000)
        })
    };
    let few = ran(&all_but(300), &["--drive", OTHER, "--warmup", "0"]);
    assert!(few["traced"].is_null());
    let warnings = few["warnings"].to_string();
    assert!(
        warnings.contains("tells the response times of 70.0 % of the measured requests"),
        "{warnings}"
    );
    let most = ran(&all_but(50), &["--drive", OTHER, "--warmup", "0"]);
    assert_eq!(
        (&most["traced"]["requests"], &most["traced"]["untold"]),
        (&950.into(), &50.into())
    );
    // Of what is not measured nothing is missed.
    let cut = ran(&all_but(300), &["--drive", OTHER, "--warmup", "300"]);
    assert_eq!(
        (&cut["traced"]["requests"], &cut["traced"]["untold"]),
        (&700.into(), &0.into())
    );
    let none = ran(word(&desk.trace(300)), &["--drive", OTHER]);
    assert!(none["traced"].is_null());
    assert!(!none["warnings"].to_string().contains("response times of"));
}

#[test]
fn people_see_both_and_how_far_they_are_apart() {
    let desk = Desk::new();
    let trace = table(&desk, 1_000, |number| Some(1_000 + number));
    let output = nearslot(&["run", &trace, "--drive", OTHER]);
    let text = given(&output);
    for words in [
        "As traced, these requests took 1.504 ms on average and 1.991 ms at p99; the model's",
        "reads",
        "simulated ms",
        "traced ms",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let several = nearslot(&[
        "compare",
        &trace,
        "--vary",
        "drive=seagate-cheetah-9lp,hp-c2247a",
    ]);
    let text = given(&several)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        text.contains("nearest to that is the distribution of drive=seagate-cheetah-9lp"),
        "{text}"
    );
}

#[test]
fn a_queue_that_grows_is_apart_from_nothing() {
    let desk = Desk::new();
    let mut text = String::from("time_us,dev,lba,blocks,op,response_ns\n");
    for number in 0..2_000_u64 {
        let lba = number * 7_919 % 200_000 * 8;
        text += &format!("{},0,{lba},8,R,90000\n", number * 100);
    }
    let trace = desk.file("fast.csv", text);
    let run = ran(word(&trace), &["--drive", OTHER]);
    assert!(run["queue_growth_rps"].is_number());
    assert_eq!(number(&run["traced"]["response_ms"]["mean"]), 0.09);
    assert!(run["traced"]["demerit_ms"].is_null());
    assert!(run["traced"]["demerit_share"].is_null());
    let told = run["details"].to_string();
    assert!(
        told.contains("these requests took 0.090 ms on average and 0.090 ms at p99."),
        "{told}"
    );
}

#[test]
fn the_page_draws_both() {
    let desk = Desk::new();
    let trace = table(&desk, 1_000, |number| Some(1_000 + number));
    let page = desk.path("page.html");
    let output = nearslot(&["run", &trace, "--drive", OTHER, "--html", word(&page)]);
    assert!(output.status.success(), "{}", told(&output));
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("\"traced_cdf_ms\":[1."));
}
