//! A trace that says who asks: response times of each stream, in results and in words.

use crate::common::{Desk, given, nearslot, told, word};
use serde_json::Value;

/// 600 requests of a slow writer and of a reader in turn.
fn trace(desk: &Desk, clients: [&str; 2]) -> std::path::PathBuf {
    let mut text = String::from("time_us,op,offset,len,client\n");
    for number in 0..600_u64 {
        let (op, len, client) = match number % 2 {
            0 => ("W", 1 << 20, clients[0]),
            _ => ("R", 4_096, clients[1]),
        };
        let offset = number * 7_919 % 1_000 * 4_096;
        text += &format!("{},{op},{offset},{len},{client}\n", number * 40_000);
    }
    desk.file("clients.csv", text)
}

fn run(trace: &std::path::Path, format: &str) -> String {
    let words = [
        "run",
        word(trace),
        "--drive",
        "hp-c2247a",
        "--warmup",
        "100",
        "--format",
        format,
    ];
    let output = nearslot(&words);
    assert!(output.status.success(), "{}", told(&output));
    given(&output)
}

#[test]
fn each_stream_has_its_response_times() {
    let desk = Desk::new();
    let trace_of = trace(&desk, ["backup", "shop"]);
    let results: Value = serde_json::from_str(&run(&trace_of, "json")).expect("it is JSON");
    let run_of = &results["runs"][0];
    let streams = run_of["stream_responses"].as_array().expect("a list");
    let found: Vec<_> = streams
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["op"].as_str().unwrap()))
        .collect();
    assert_eq!(found, [("backup", "write"), ("shop", "read")]);
    // Each is all of its class, so it is what the class has.
    for (stream, class) in streams.iter().zip(["write", "read"]) {
        assert_eq!(stream["requests"], 250);
        let of_class = &run_of[format!("{class}_response_ms")];
        for statistic in ["mean", "p50", "max"] {
            let found = stream[format!("{statistic}_ms")].as_f64().unwrap();
            let expected = of_class[statistic].as_f64().unwrap();
            assert!(
                (found / expected - 1.0).abs() < 1e-12,
                "{class} {statistic}: {found}"
            );
        }
    }
    let text = run(&trace_of, "table");
    assert!(text.contains("backup (1), writes"), "{text}");
    assert!(text.contains("shop (2), reads"), "{text}");
}

/// A request every 40 ms: the same ones are cut off by number and by time.
#[test]
fn a_warm_up_by_time_is_one_by_number() {
    let desk = Desk::new();
    let path = trace(&desk, ["backup", "shop"]);
    let run = |words: &[&str]| -> Value {
        let all = [
            &[
                "run",
                word(&path),
                "--drive",
                "hp-c2247a",
                "--format",
                "json",
            ],
            words,
        ]
        .concat();
        let output = nearslot(&all);
        assert!(output.status.success(), "{}", told(&output));
        let results: Value = serde_json::from_str(&given(&output)).expect("it is JSON");
        results["runs"][0].clone()
    };
    for (time, speed, number) in [
        ("4s", "1", 100),
        ("2s", "2", 100),
        ("3961ms", "1", 100),
        ("3960ms", "1", 99),
    ] {
        let by_time = run(&["--warmup", time, "--speed", speed]);
        let by_number = run(&["--warmup", &number.to_string(), "--speed", speed]);
        assert_eq!(by_time["warmup_requests"], number, "{time}");
        assert_eq!(by_time["response_ms"], by_number["response_ms"], "{time}");
        assert_eq!(
            by_time["config"]["warmup"],
            time.replace("3961ms", "3s961ms")
                .replace("3960ms", "3s960ms")
        );
    }
    let poisson = [
        "--workload",
        "poisson:rate_rps=100:requests=1000",
        "--drive",
        "null",
    ];
    let words = [
        &["run"],
        &poisson[..],
        &["--warmup", "2s", "--format", "json"],
    ]
    .concat();
    let results: Value = serde_json::from_str(&given(&nearslot(&words))).expect("it is JSON");
    let cut = results["runs"][0]["warmup_requests"]
        .as_u64()
        .expect("a count");
    assert!((150..250).contains(&cut), "{cut}");
}

#[test]
fn a_time_that_cuts_off_other_requests_under_every_choice_is_refused() {
    let desk = Desk::new();
    let path = trace(&desk, ["backup", "shop"]);
    for (words, said) in [
        (["2s", "--replay", "closed"], "requests wait for answers"),
        (["1h", "--replay", "open"], "fewer than the"),
        (["2 apples", "--replay", "open"], "a time with its unit"),
    ] {
        let all = [&["run", word(&path), "--warmup"], &words[..]].concat();
        let output = nearslot(&all);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let told = told(&output);
        assert!(told.contains("warmup"), "{told}");
        assert!(told.contains(said), "{told}");
    }
}

#[test]
fn a_trace_with_one_stream_tells_none() {
    let desk = Desk::new();
    let results: Value =
        serde_json::from_str(&run(&trace(&desk, ["shop", "shop"]), "json")).unwrap();
    assert_eq!(
        results["runs"][0]["stream_responses"],
        Value::Array(Vec::new())
    );
}
