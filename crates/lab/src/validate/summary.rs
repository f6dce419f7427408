//! `summary.csv`: statistics of whole runs, open and closed, each with the clock running freely.
//!
//! A row is held against our own run of its load, in every statistic, and against the rows of its
//! result file where the folder has one: those give the same statistics to the last digit. Rows
//! whose note says so are of the complete drive, and are run on ours.
//!
//! What may differ depends on the load. Where choices do not depend on time, the runs serve the
//! same requests in the same order and differ by rounding alone. Under SPTF a tie that rounding
//! decides otherwise changes all later choices, so such runs share their distribution only.

use std::collections::BTreeSet;
use std::sync::Arc;

use nearslot_core::drive::hdd::HddBlueprint;
use nearslot_core::drive::hdd::firmware::Firmware;
use nearslot_core::units::Instant;
use serde::Serialize;

use super::closed::run_closed;
use super::folder::Folder;
use super::free::run_open;
use super::rows::{Ask, Load, Run, require_trace};
use super::statistics::Statistics;
use super::table::{Column, Row, Table};
use super::{Check, Checks, Drives, Finding, ValidateError};

/// A row of the summary beside our run.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The reference's statistics.
    pub reference: Statistics,
    /// Ours.
    pub ours: Statistics,
    /// The statistic that is nearest to its limit, or furthest beyond it.
    pub worst: String,
    /// How far it is apart, relatively.
    pub worst_relative: f64,
    /// How far it may be.
    pub worst_limit: f64,
}

/// Whether the summary has a row for every load.
#[derive(Clone, Debug, Serialize)]
pub struct Loads {
    /// Rows of the summary.
    pub rows: u64,
    /// Loads without a row.
    pub missing: Vec<String>,
}

const FILE: &str = "summary.csv";

pub(super) fn compare(
    folder: &Folder,
    drives: &Drives,
    runs: &[Run],
    checks: &mut Checks,
) -> Result<(), ValidateError> {
    let Some(table) = Table::read(&folder.path, FILE)? else {
        checks.absent(FILE);
        return Ok(());
    };
    let columns = Columns::of(&table)?;
    let mut loads = Vec::new();
    for row in table.rows() {
        let load = columns.read(&row)?;
        if loads.contains(&load.key()) {
            return Err(row.wrong(columns.scheduler, &"a load that no row above is of"));
        }
        loads.push(load.key());
        checks.add(compare_row(folder, drives, runs, &columns, &row, &load)?);
    }
    checks.checks.push(compare_loads(&loads, runs));
    Ok(())
}

/// A load that a row is of.
struct Of {
    layout: &'static str,
    workload: &'static str,
    load: Load,
    scheduler: &'static str,
    complete: bool,
    requests: usize,
}

/// What makes loads differ.
type Key = (
    bool,
    &'static str,
    &'static str,
    &'static str,
    Option<usize>,
);

impl Of {
    fn key(&self) -> Key {
        (
            self.complete,
            self.layout,
            self.workload,
            self.scheduler,
            depth(self.load),
        )
    }

    fn name(&self) -> String {
        name(&self.key())
    }
}

fn depth(load: Load) -> Option<usize> {
    match load {
        Load::Open => None,
        Load::Closed(depth) => Some(depth),
    }
}

fn name(&(complete, layout, workload, scheduler, depth): &Key) -> String {
    let load = depth.map_or("open".to_owned(), |depth| format!("depth {depth}"));
    let drive = if complete { "complete, " } else { "" };
    format!("{drive}{scheduler}, {workload}, {load}, {layout}")
}

struct Columns {
    layout: Column,
    workload: Column,
    scheduler: Column,
    depth: Column,
    requests: Column,
    note: Column,
    statistics: [Column; 7],
}

/// Words of the tables and ours.
const LAYOUTS: [&str; 2] = ["ideal", "real"];
const SCHEDULERS: [(&str, &str); 5] = [
    ("FCFS", "fcfs"),
    ("LOOK", "look"),
    ("C-LOOK", "clook"),
    ("SSTF", "sstf"),
    ("SPTF", "satf"),
];
const WORKLOADS: [(&str, &str, bool); 3] = [
    ("open random4k", "random4k", true),
    ("open mixed", "mixed", true),
    ("closed random4k", "random4k", false),
];
/// How the note of a row begins that is of the complete drive.
const COMPLETE: &str = "full drive model";

impl Columns {
    fn of(table: &Table) -> Result<Columns, ValidateError> {
        let [layout, workload, scheduler, depth] =
            table.columns(["layout", "workload", "scheduler", "queue_depth"])?;
        let [requests, note] = table.columns(["requests", "note"])?;
        let statistics = table.columns(Statistics::NAMES)?;
        table.check_all_read()?;
        table.check_rows("it says how whole runs came out")?;
        Ok(Columns {
            layout,
            workload,
            scheduler,
            depth,
            requests,
            note,
            statistics,
        })
    }

    fn read(&self, row: &Row<'_>) -> Result<Of, ValidateError> {
        let layout = LAYOUTS
            .into_iter()
            .find(|name| *name == row.text(self.layout));
        let layout = layout.ok_or_else(|| row.wrong(self.layout, &"ideal or real"))?;
        let word = row.text(self.workload);
        let of = WORKLOADS.into_iter().find(|(name, ..)| *name == word);
        let allowed = "open random4k, open mixed or closed random4k";
        let (_, workload, open) = of.ok_or_else(|| row.wrong(self.workload, &allowed))?;
        let word = row.text(self.scheduler);
        let of = SCHEDULERS.into_iter().find(|(name, _)| *name == word);
        let allowed = "FCFS, LOOK, C-LOOK, SSTF or SPTF";
        let (_, scheduler) = of.ok_or_else(|| row.wrong(self.scheduler, &allowed))?;
        let complete = match row.text(self.note) {
            "" => false,
            note if note.starts_with(COMPLETE) && open => true,
            _ => {
                let allowed = format!("empty, or of an open load and begins with `{COMPLETE}`");
                return Err(row.wrong(self.note, &allowed));
            }
        };
        let load = match (open, row.text(self.depth)) {
            (true, "open") if scheduler == "fcfs" => Load::Open,
            (true, _) => return Err(row.wrong(self.depth, &"`open`, with FCFS, for an open load")),
            (false, _) => match row.number(self.depth)? {
                0 => return Err(row.wrong(self.depth, &"at least 1")),
                depth => Load::Closed(depth),
            },
        };
        Ok(Of {
            layout,
            workload,
            load,
            scheduler,
            complete,
            requests: row.number(self.requests)?,
        })
    }

    fn statistics(&self, row: &Row<'_>) -> Result<Statistics, ValidateError> {
        let [
            mean_ms,
            stddev_ms,
            p50_ms,
            p95_ms,
            p99_ms,
            max_ms,
            requests_per_s,
        ] = self.statistics;
        Ok(Statistics {
            mean_ms: row.real(mean_ms)?,
            stddev_ms: row.real(stddev_ms)?,
            p50_ms: row.real(p50_ms)?,
            p95_ms: row.real(p95_ms)?,
            p99_ms: row.real(p99_ms)?,
            max_ms: row.real(max_ms)?,
            requests_per_s: row.real(requests_per_s)?,
        })
    }
}

fn compare_row(
    folder: &Folder,
    drives: &Drives,
    runs: &[Run],
    columns: &Columns,
    row: &Row<'_>,
    of: &Of,
) -> Result<Check, ValidateError> {
    let drive = &drive(folder, drives, of)?;
    let trace_file = format!("trace_{}.csv", of.workload);
    let capacity = drive.mechanics().layout().capacity();
    let trace = require_trace(
        &folder.path,
        &trace_file,
        capacity,
        "summary.csv is of its requests",
    )?;
    let most = trace.len();
    let allowed = match of.load {
        Load::Open => 1..=most,
        // The reference stops when the trace has no more lines for a completed request.
        Load::Closed(depth) => {
            (most + 1).saturating_sub(depth).max(1)..=(most + 1).saturating_sub(depth)
        }
    };
    if !allowed.contains(&of.requests) {
        let allowed = format!(
            "{} to {}, as the trace has {most}",
            allowed.start(),
            allowed.end()
        );
        return Err(row.wrong(columns.requests, &allowed));
    }
    let reference = columns.statistics(row)?;
    let ours = run(&trace, of, drive);
    let limits = Limits::of(of);
    let mut wrong = limits.beyond(&reference, &ours);
    wrong.extend(against_file(runs, of, &reference));
    let (worst, worst_relative, worst_limit) = limits.worst(&reference, &ours);
    Ok(Check {
        file: FILE.to_owned(),
        what: of.name(),
        compared: of.requests as u64,
        limit: limits.words(),
        wrong,
        pass: false,
        finding: Finding::Summary(Summary {
            reference,
            ours,
            worst: worst.to_owned(),
            worst_relative,
            worst_limit,
        }),
    })
}

/// The drive that a row is of.
fn drive(folder: &Folder, drives: &Drives, of: &Of) -> Result<HddBlueprint, ValidateError> {
    let mechanical = drives.named(of.layout);
    if !of.complete {
        return Ok(mechanical.clone());
    }
    let electronics = folder
        .electronics
        .as_ref()
        .ok_or_else(|| ValidateError::Parameter {
            name: "drive.csv, full: ...".to_owned(),
            value: "missing".to_owned(),
            allowed: "rows of drive.csv, as summary.csv has a row of the complete drive".to_owned(),
        })?;
    let super::electronics::Electronics {
        buffer,
        bus,
        overheads,
    } = electronics;
    let firmware = Firmware::new(buffer, bus, overheads).map_err(|error| folder.config(error))?;
    Ok(HddBlueprint::complete(
        Arc::clone(mechanical.mechanics()),
        Arc::new(firmware),
    ))
}

/// Our run of a load.
fn run(trace: &[Ask], of: &Of, drive: &HddBlueprint) -> Statistics {
    match of.load {
        Load::Closed(depth) => run_closed(trace, depth, of.requests, drive, of.scheduler),
        Load::Open => {
            let ends = run_open(trace, drive);
            let pairs = ends.iter().zip(trace).take(of.requests);
            let responses = pairs.map(|(end, ask)| end.0 - ask.arrival.0).collect();
            let last = ends[of.requests - 1];
            Statistics::of(responses, last.since(trace[0].arrival).0)
        }
    }
}

/// The summary has four decimals.
const DECIMALS: f64 = 0.000_06;

/// What a row of the summary and the rows of its result file do not agree about.
fn against_file(runs: &[Run], of: &Of, reference: &Statistics) -> Vec<String> {
    let same = |run: &&Run| {
        let workload = run.file.contains(of.workload);
        let load = run.layout == of.layout && run.load == of.load;
        !of.complete && workload && load && run.scheduler == of.scheduler
    };
    let Some(run) = runs.iter().find(same) else {
        return Vec::new();
    };
    let last = run.served.iter().map(|row| row.completion).max();
    let first = run.served.iter().map(|row| row.ask.arrival).min();
    let span = last
        .unwrap_or(Instant::ZERO)
        .since(first.unwrap_or(Instant::ZERO));
    let rows = Statistics::of(
        run.served
            .iter()
            .map(super::rows::Served::response_ns)
            .collect(),
        span.0,
    );
    let mut wrong = Vec::new();
    if run.served.len() != of.requests {
        wrong.push(format!(
            "it is of {} requests, and {} has {} rows",
            of.requests,
            run.file,
            run.served.len()
        ));
    }
    let pairs = reference
        .values()
        .into_iter()
        .zip(rows.values())
        .zip(Statistics::NAMES);
    for ((said, counted), name) in pairs {
        if (said - counted).abs() > DECIMALS {
            wrong.push(format!(
                "column `{name}` is {said}, and the rows of {} give {counted:.4}",
                run.file
            ));
        }
    }
    wrong
}

/// How far the statistics of a load may be apart, relatively.
struct Limits {
    /// In order of [`Statistics::NAMES`].
    each: [f64; 7],
    /// Of mean times rate: what is under way at a time, which a closed load holds fixed.
    under_way: f64,
}

/// Loads whose requests are served in the same order: rounding alone is between the runs. Reached
/// on the Cheetah 9LP: 0.009 % in the mean.
const SAME_ORDER: Limits = Limits {
    each: [0.0002, 0.001, 0.001, 0.001, 0.001, 0.001, 0.0002],
    under_way: 0.0002,
};
/// Open loads: the reference's platter falls behind the clock, so some requests catch what they
/// would have missed. Reached: 0.07 %, 0.17 %, 0.18 %, 0.17 %, 0.31 % and 0.36 %.
const OPEN: Limits = Limits {
    each: [0.002, 0.005, 0.005, 0.005, 0.01, 0.05, 0.0005],
    under_way: 0.002,
};
/// The same on the complete drive. Reached: 0.08 %, and 0.5 %, 0.6 % and 2.1 % in percentiles and
/// maximum.
const COMPLETE_OPEN: Limits = Limits {
    each: [0.002, 0.005, 0.01, 0.01, 0.02, 0.05, 0.0005],
    under_way: 0.002,
};
/// SPTF with a choice, runs of ten thousand requests: after the first tie they share their
/// distribution only. Reached: 0.8 %, 2.3 %, 3.7 %, 2.6 %, 4.1 %, 16 % and 0.6 %, and 0.3 % in what
/// is under way.
const SPTF: Limits = Limits {
    each: [0.01, 0.04, 0.05, 0.05, 0.08, 0.25, 0.01],
    under_way: 0.005,
};

impl Limits {
    fn of(of: &Of) -> Limits {
        match of.load {
            Load::Open if of.complete => COMPLETE_OPEN,
            Load::Open => OPEN,
            // Of two requests one is under way, so there is no choice.
            Load::Closed(depth) if of.scheduler != "satf" || depth <= 2 => SAME_ORDER,
            Load::Closed(_) => SPTF.of_requests(of.requests),
        }
    }

    /// The statistics of a shorter run scatter more, by the root of its length.
    fn of_requests(&self, requests: usize) -> Limits {
        let wider = libm::sqrt(1e4 / requests as f64).max(1.0);
        Limits {
            each: self.each.map(|limit| limit * wider),
            under_way: self.under_way * wider,
        }
    }

    /// Names, how far apart and how far allowed, of all that is limited.
    fn apart(&self, reference: &Statistics, ours: &Statistics) -> Vec<(&'static str, f64, f64)> {
        let values = ours.values().into_iter().zip(reference.values());
        let relative = values.map(|(ours, theirs)| ours / theirs - 1.0);
        let names = Statistics::NAMES.into_iter().zip(relative).zip(self.each);
        let under_way = |of: &Statistics| of.mean_ms * of.requests_per_s;
        let product = under_way(ours) / under_way(reference) - 1.0;
        names
            .map(|((name, apart), limit)| (name, apart, limit))
            .chain([("mean_ms times requests_per_s", product, self.under_way)])
            .collect()
    }

    fn beyond(&self, reference: &Statistics, ours: &Statistics) -> Vec<String> {
        let apart = self.apart(reference, ours).into_iter();
        let beyond = apart.filter(|(_, apart, limit)| super::measured::beyond(apart.abs(), *limit));
        beyond
            .map(|(name, apart, limit)| {
                let [apart, limit] = [apart * 100.0, limit * 100.0];
                format!("{name} is {apart:+.3} % apart, where {limit:.3} % is allowed")
            })
            .collect()
    }

    /// What is nearest to its limit or furthest beyond.
    fn worst(&self, reference: &Statistics, ours: &Statistics) -> (&'static str, f64, f64) {
        let apart = self.apart(reference, ours).into_iter();
        let part = |(_, apart, limit): &(&str, f64, f64)| apart.abs() / limit;
        let worst = apart.max_by(|a, b| part(a).total_cmp(&part(b)));
        worst.expect("there are several statistics")
    }

    fn words(&self) -> String {
        let [mean, stddev, _, _, p99, max, _] = self.each.map(|limit| limit * 100.0);
        format!("mean {mean:.2} %; stddev {stddev:.2} %; p99 {p99:.2} %; max {max:.2} %")
    }
}

/// Whether the loads of the summary are complete: every scheduler of closed loads at every depth,
/// and every result file.
fn compare_loads(loads: &[Key], runs: &[Run]) -> Check {
    let closed: Vec<&Key> = loads.iter().filter(|key| key.4.is_some()).collect();
    let layouts: BTreeSet<_> = closed.iter().map(|key| key.1).collect();
    let schedulers: BTreeSet<_> = closed.iter().map(|key| key.3).collect();
    let depths: BTreeSet<_> = closed.iter().map(|key| key.4).collect();
    let mut expected = BTreeSet::new();
    for layout in &layouts {
        for scheduler in &schedulers {
            expected.extend(
                depths
                    .iter()
                    .map(|depth| (false, *layout, "random4k", *scheduler, *depth)),
            );
        }
    }
    for run in runs {
        let workload = if run.file.contains("mixed") {
            "mixed"
        } else {
            "random4k"
        };
        expected.insert((false, run.layout, workload, run.scheduler, depth(run.load)));
    }
    let missing: Vec<String> = expected
        .iter()
        .filter(|key| !loads.contains(key))
        .map(name)
        .collect();
    let wrong = missing
        .first()
        .map(|first| format!("{} loads have no row, such as {first}", missing.len()));
    Check {
        file: FILE.to_owned(),
        what: "every load has its row".to_owned(),
        compared: loads.len() as u64,
        limit: "every scheduler at every depth, and every result file".to_owned(),
        pass: missing.is_empty(),
        wrong: wrong.into_iter().collect(),
        finding: Finding::Loads(Loads {
            rows: loads.len() as u64,
            missing,
        }),
    }
}
