//! `nearslot doctor`: whether this installation can do what it promises, tried rather than
//! believed.

use std::fs;
use std::path::Path;

use nearslot_core::drive::{self, CATALOG};
use nearslot_lab::grid;
use nearslot_lab::run::{self, Wanted};
use nearslot_lab::scenario::{Load, Scenario};
use nearslot_lab::sim::Control;
use serde_json::{Value, json};

use crate::args::{DoctorArgs, TextFormat};
use crate::failure::Failure;
use crate::output;

/// Something that was tried.
struct Trial {
    what: &'static str,
    /// What was found, or why it failed.
    outcome: Result<String, String>,
    /// Whether nearslot is of no use without it.
    needed: bool,
}

/// `nearslot doctor`.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<(), Failure> {
    let trials = [
        Trial {
            what: "version",
            outcome: Ok(crate::VERSION.to_owned()),
            needed: true,
        },
        Trial {
            what: "cores",
            outcome: cores(),
            needed: true,
        },
        Trial {
            what: "drive catalog",
            outcome: catalog(),
            needed: true,
        },
        Trial {
            what: "simulation repeats",
            outcome: repeats(),
            needed: true,
        },
        Trial {
            what: "temporary files",
            outcome: temporary(),
            needed: true,
        },
        Trial {
            what: "block tracepoints",
            outcome: tracepoints(),
            needed: false,
        },
    ];
    match args.format {
        TextFormat::Json => {
            output::print_json(&Value::Array(trials.iter().map(as_json).collect()))?;
        }
        TextFormat::Text => output::print(&trials.iter().map(as_text).collect::<String>())?,
    }
    let failed: Vec<&str> = trials
        .iter()
        .filter(|trial| trial.needed && trial.outcome.is_err())
        .map(|trial| trial.what)
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::Check(format!("failed: {}", failed.join(", "))))
    }
}

fn as_json(trial: &Trial) -> Value {
    let (ok, found) = match &trial.outcome {
        Ok(found) => (true, found),
        Err(why) => (false, why),
    };
    json!({ "what": trial.what, "ok": ok, "needed": trial.needed, "found": found })
}

fn as_text(trial: &Trial) -> String {
    let (mark, found) = match (&trial.outcome, trial.needed) {
        (Ok(found), _) => ("ok", found),
        (Err(why), true) => ("FAILED", why),
        (Err(why), false) => ("absent", why),
    };
    format!("{:20} {mark:7} {found}\n", trial.what)
}

fn cores() -> Result<String, String> {
    let cores = std::thread::available_parallelism().map_err(|error| error.to_string())?;
    Ok(format!("{cores}; comparisons run as many at a time"))
}

fn catalog() -> Result<String, String> {
    for entry in CATALOG {
        drive::read(entry.name, entry.text, &[]).map_err(|error| error.to_string())?;
    }
    Ok(format!("{} drives are readable", CATALOG.len()))
}

/// The same seed gives the same bits: two runs, side by side.
fn repeats() -> Result<String, String> {
    let part = "iometer:requests=5000"
        .parse()
        .map_err(|error| format!("{error}"))?;
    let mut scenario = Scenario::over(Load::Workload(part));
    scenario
        .set("sched", "satf")
        .map_err(|error| error.to_string())?;
    let points = grid::points(&scenario, &[]).map_err(|error| error.to_string())?;
    let once = || {
        let results = run::compare(&points, None, &Wanted::default(), &Control::default())
            .map_err(|error| error.to_string())?;
        let run = results.runs.first().ok_or("no run came out")?;
        Ok::<_, String>((run.response_ms, run.requests, run.simulated_in_s))
    };
    let (one, other) = (once()?, once()?);
    if (one.0, one.1) != (other.0, other.1) {
        return Err("two runs with one seed differ".to_owned());
    }
    let rate = one.1 as f64 / one.2.max(1e-9) / 1e6;
    Ok(format!(
        "{} requests, twice, the same to the bit ({rate:.1} million a second)",
        one.1
    ))
}

fn temporary() -> Result<String, String> {
    let directory = std::env::temp_dir();
    let probe = directory.join(format!("nearslot-doctor-{}", std::process::id()));
    fs::write(&probe, b"probe").map_err(|error| format!("{}: {error}", probe.display()))?;
    fs::remove_file(&probe).map_err(|error| format!("{}: {error}", probe.display()))?;
    Ok(format!(
        "{} is writable: standard input can be spooled",
        directory.display()
    ))
}

/// Whether traces can be recorded here with the kernel's own means.
fn tracepoints() -> Result<String, String> {
    let events = Path::new("/sys/kernel/tracing/events/block");
    match fs::read_dir(events) {
        Ok(_) => Ok("readable: perf record -e block:block_rq_issue works here".to_owned()),
        Err(error) => Err(format!(
            "{} ({error}): traces can be read but not recorded here",
            events.display()
        )),
    }
}
