//! The schema of inspections and the structs say the same: what real traces give is valid, and
//! nothing else is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nearslot_lab::inspect::{Against, Inspector, inspect};
use nearslot_trace::{OpenOptions, Spread, open};
use serde_json::{Value, json};

use crate::report::schema::{breaches, compiled, objects};

const SCHEMA: &str = include_str!("../../../schema/inspection.schema.json");

/// A real trace, with response times, clients and flushes; the path is from the root of the
/// repository.
const DEMO: &str = "demo/postgres-and-build.perf.txt.gz";

fn inspected(path: &str, how: &OpenOptions) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut reader = open(&[root.join(path)], how).unwrap();
    serde_json::to_value(
        inspect(&mut reader, Inspector::with_pictures(Against::default())).unwrap(),
    )
    .unwrap()
}

fn demo() -> Value {
    inspected(DEMO, &OpenOptions::default())
}

/// Every small trace of the tests; Parquet of others and tables without units need options and are
/// not among them.
fn fixtures() -> Vec<String> {
    let folder = "crates/trace/tests/data/traces";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = std::fs::read_dir(root.join(folder)).unwrap();
    let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap().path())).collect();
    names.sort();
    names
        .iter()
        .map(|name| format!("{folder}/{name}"))
        .collect()
}

#[test]
fn real_inspections_are_valid() {
    let validator = compiled(SCHEMA);
    let mut formats = BTreeSet::new();
    for path in fixtures().iter().map(String::as_str).chain([DEMO]) {
        // Nothing marks such a log: it is read only when it is named.
        let unmarked = path.ends_with("fio-lat.log").then(|| "fio-lat".to_owned());
        let how = OpenOptions {
            format: unmarked,
            ..OpenOptions::default()
        };
        let found = inspected(path, &how);
        let errors = breaches(&validator, &found);
        assert!(errors.is_empty(), "{path}: {errors:#?}");
        formats.insert(found["format"].to_string());
    }
    assert!(formats.len() > 15, "only {formats:?} were tried");
}

#[test]
fn what_was_spread_or_cut_is_valid() {
    let validator = compiled(SCHEMA);
    let tencent = "crates/trace/tests/data/traces/tencent.csv";
    for spread in [Spread::Even, Spread::None, Spread::Poisson(7)] {
        let how = OpenOptions {
            spread,
            ..OpenOptions::default()
        };
        let found = inspected(tencent, &how);
        assert_eq!(found["time"]["spread"], json!(spread));
        assert_eq!(breaches(&validator, &found), [""; 0]);
    }
    // One request has no span, so there are no rates.
    let how = OpenOptions {
        limit: Some(1),
        ..OpenOptions::default()
    };
    let found = inspected(DEMO, &how);
    assert_eq!(
        (&found["limited"], &found["throughput"]["mean_mb_s"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(breaches(&validator, &found), [""; 0]);
}

/// The demo's trace has everything that an inspection can have but an oddity, so one is added.
fn full() -> Value {
    let mut found = demo();
    found["anomalies"] = json!([{ "kind": "lost", "count": 3, "examples": ["here"] }]);
    if found["warnings"] == json!([]) {
        found["warnings"] = json!([{ "kind": "lost-events", "run": null, "text": "some" }]);
    }
    found
}

/// Every read and write of a real trace is on a map, in a bin of sizes and in the load; every gap
/// is counted.
#[test]
fn pictures_lose_no_request() {
    for path in fixtures().iter().map(String::as_str).chain([DEMO]) {
        if path.ends_with("fio-lat.log") {
            continue;
        }
        let found = inspected(path, &OpenOptions::default());
        let sum = |pointer: &str| -> u64 {
            let list = found.pointer(pointer).and_then(Value::as_array);
            let numbers = list.into_iter().flatten();
            numbers.map(|value| value.as_u64().unwrap()).sum()
        };
        let rate = |pointer: &str| -> f64 {
            let list = found.pointer(pointer).and_then(Value::as_array).unwrap();
            let rates: f64 = list.iter().map(|value| value.as_f64().unwrap()).sum();
            rates * found["pictures"]["load"]["interval_s"].as_f64().unwrap()
        };
        for (op, lists, rates, data) in [
            ("read", "reads", "read_rps", "read_mb_s"),
            ("write", "writes", "write_rps", "write_mb_s"),
        ] {
            let told = &found["operations"][op];
            let requests = told["requests"].as_u64().unwrap_or_default();
            let bytes = told["bytes"].as_f64().unwrap_or_default();
            assert_eq!(sum(&format!("/sizes/octaves/{lists}")), requests, "{path}");
            let in_load = rate(&format!("/pictures/load/{rates}"));
            assert!(
                (in_load - requests as f64).abs() < 1e-3,
                "{path}: {in_load}"
            );
            let megabytes = rate(&format!("/pictures/load/{data}"));
            assert!((megabytes * 1e6 - bytes).abs() <= bytes * 1e-9, "{path}");
            let maps = found
                .pointer("/pictures/heat/maps")
                .and_then(Value::as_array);
            if let Some(maps) =
                maps.filter(|maps| maps.len() == found["devices"].as_array().unwrap().len())
            {
                let on_maps = (0..maps.len())
                    .map(|map| sum(&format!("/pictures/heat/maps/{map}/cells/{lists}")));
                assert_eq!(on_maps.sum::<u64>(), requests, "{path}");
            }
        }
        let untimed = found["time"]["kind"] == "none";
        let gaps = sum("/arrivals/gaps/gaps") + found["arrivals"]["gaps"]["zero"].as_u64().unwrap();
        let between = if untimed {
            0
        } else {
            found["requests"].as_u64().unwrap() - 1
        };
        assert_eq!(gaps, between, "{path}");
        assert_eq!(
            found["pictures"]["heat"].is_null(),
            untimed || found["footprint"]["bytes"].is_null(),
            "{path}"
        );
    }
}

#[test]
fn no_key_may_be_missing_or_added() {
    let (found, validator) = (full(), compiled(SCHEMA));
    assert_eq!(breaches(&validator, &found), [""; 0]);
    let mut tried = 0;
    objects("", &found, &mut |path, map| {
        let mut more = found.clone();
        more.pointer_mut(path).unwrap()["unheard_of"] = json!(1);
        assert!(
            !validator.is_valid(&more),
            "the schema accepts {path}/unheard_of"
        );
        for key in map.keys() {
            let mut less = found.clone();
            let object = less.pointer_mut(path).unwrap().as_object_mut().unwrap();
            object.remove(key);
            assert!(
                !validator.is_valid(&less),
                "the schema does not require {path}/{key}"
            );
            tried += 1;
        }
    });
    assert!(tried > 85, "only {tried} keys were tried");
}

#[test]
fn every_key_is_described() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut tried = 0;
    objects("", &schema, &mut |path, map| {
        if path.ends_with("/properties") {
            for (key, value) in map {
                let told = value["description"].as_str().unwrap_or_default();
                assert!(told.ends_with('.'), "{path}/{key} is not described");
                tried += 1;
            }
        }
    });
    assert!(tried > 85, "only {tried} keys have a description");
}

#[test]
fn wrong_values_are_refused() {
    let (found, validator) = (full(), compiled(SCHEMA));
    let wrong = [
        ("/schema", json!(3)),
        ("/hash", json!("xyz")),
        ("/requests", json!(-1)),
        ("/read_share", json!(1.5)),
        ("/time/kind", json!("guess")),
        ("/time/spread", json!({ "poisson": -1 })),
        (
            "/operations",
            json!({ "erase": { "requests": 1, "bytes": 1 } }),
        ),
        ("/operations/read", json!({ "requests": 1 })),
        ("/timeline/rate_rps/0", Value::Null),
        ("/response/mean_ms", Value::Null),
        ("/anomalies/0/kind", json!("lots")),
        ("/pictures", Value::Null),
        ("/pictures/findings", json!([])),
        ("/pictures/load/interval_s", json!(0)),
        ("/pictures/heat/maps/0/cells/reads/0", json!(0.5)),
        ("/pictures/reuse/all/held_share/0", json!(1.5)),
    ];
    for (path, value) in wrong {
        let mut bad = found.clone();
        *bad.pointer_mut(path).unwrap() = value;
        assert!(!validator.is_valid(&bad), "{path} is accepted");
    }
}
