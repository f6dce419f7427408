//! The one list of what a run has: name, type and where it is found.
//!
//! Names are stable: they are the keys of the JSON, joined by `_` where the JSON nests. CSV and
//! Parquet print all of them in this order; the table picks some.

use nearslot_core::config::{KINDS, Kinds};
use nearslot_core::op::Failure;
use serde::Serialize;

use super::ReportError;
use super::flat::{Flat, Kind, Value};
use crate::measure::declared::{Table, tables};
use crate::outcome::{Demand, Difference, Number, Rank, Results, Run, Times};

/// A column: what it is called and where its value is.
pub(super) struct Column {
    /// Stable name with its unit.
    pub(super) name: String,
    /// Type of its values.
    pub(super) kind: Kind,
    source: Source,
}

type TimesOf = fn(&Run) -> Option<&Times>;
type StatisticOf = fn(&Times) -> Option<f64>;
type DifferenceOf = fn(&Rank) -> Option<&Difference>;
type DifferenceMeasureOf = fn(&Difference) -> Option<f64>;

enum Source {
    Text(fn(&Results, &Run) -> Option<String>),
    /// The name of the part of this kind.
    Part(&'static str),
    Count(fn(&Results, &Run) -> Option<u64>),
    Failed(Failure),
    Index,
    Measure(fn(&Run) -> f64),
    Maybe(fn(&Run) -> Option<f64>),
    Demand(fn(&Demand) -> f64),
    /// Who counts it, and its name there.
    Declared((&'static str, &'static str)),
    Times((TimesOf, StatisticOf)),
    RankCount(fn(&Rank) -> usize),
    RankMeasure(fn(&Rank) -> Option<f64>),
    Difference((DifferenceOf, DifferenceMeasureOf)),
    Word(DifferenceOf),
}

/// Results, with the rank of each run at hand.
pub(super) struct Ranked<'a> {
    results: &'a Results,
    /// By the index of the run; `None` if it is not ranked.
    pub(super) ranks: Vec<Option<&'a Rank>>,
}

impl Ranked<'_> {
    /// Of results whose rankings name runs that are there.
    pub(super) fn of(results: &Results) -> Ranked<'_> {
        let mut ranks = vec![None; results.runs.len()];
        let ranked = results.verdict.rankings.iter();
        for rank in ranked.flat_map(|ranking| &ranking.ranks) {
            ranks[rank.run] = Some(rank);
        }
        Ranked { results, ranks }
    }
}

impl Column {
    /// The value for the run with this index, which exists.
    pub(super) fn value(&self, ranked: &Ranked<'_>, index: usize) -> Value {
        let results = ranked.results;
        let run = &results.runs[index];
        let rank = || ranked.ranks[index];
        let found = match &self.source {
            Source::Text(of) => of(results, run).map(Value::Text),
            Source::Part(kind) => part(run, kind).map(Value::Text),
            Source::Count(of) => of(results, run).map(Value::Count),
            Source::Failed(failure) => Some(Value::Count(failed(run, *failure))),
            Source::Index => Some(Value::Count(index as u64)),
            Source::Measure(of) => Some(Value::Measure(of(run))),
            Source::Maybe(of) => of(run).map(Value::Measure),
            Source::Demand(of) => run.demand.as_ref().map(of).map(Value::Measure),
            Source::Declared((of, name)) => run.measure(of, name).map(|number| match number {
                Number::Count(count) => Value::Count(count),
                Number::Quantity(quantity) => Value::Measure(quantity),
            }),
            Source::Times((times, of)) => times(run).and_then(of).map(Value::Measure),
            Source::RankCount(of) => rank().map(|rank| Value::Count(of(rank) as u64)),
            Source::RankMeasure(of) => rank().and_then(of).map(Value::Measure),
            Source::Difference((difference, of)) => {
                rank().and_then(difference).and_then(of).map(Value::Measure)
            }
            Source::Word(difference) => rank()
                .and_then(difference)
                .map(|found| Value::Text(found.word.word().to_owned())),
        };
        found.unwrap_or(Value::None)
    }
}

/// A row for each run.
pub(super) fn table(results: &Results) -> Flat {
    let (columns, ranked) = (all(), Ranked::of(results));
    let row = |index| {
        let values = columns.iter().map(|column| column.value(&ranked, index));
        values.collect()
    };
    Flat {
        rows: (0..results.runs.len()).map(row).collect(),
        columns: columns
            .iter()
            .map(|column| (column.name.clone(), column.kind))
            .collect(),
    }
}

/// Key-values for the file: where it comes from, for readers that drop the columns.
pub(super) fn pairs(results: &Results) -> Result<Vec<(&'static str, String)>, ReportError> {
    let configs: Vec<_> = results
        .runs
        .iter()
        .map(|run| serde_json::json!({"label": run.label, "replay": run.replay, "config": run.config}))
        .collect();
    let hash = results.trace.as_ref().map(|trace| trace.hash.clone());
    Ok(vec![
        ("nearslot.schema", results.schema.to_string()),
        ("nearslot.version", results.version.clone()),
        ("nearslot.build", results.build.clone()),
        ("nearslot.seed", results.seed.to_string()),
        ("nearslot.trace_hash", hash.unwrap_or_default()),
        ("nearslot.trace", serde_json::to_string(&results.trace)?),
        ("nearslot.runs", serde_json::to_string(&configs)?),
        (
            "nearslot.warnings",
            serde_json::to_string(&results.warnings)?,
        ),
    ])
}

/// All columns in their order.
pub(super) fn all() -> Vec<Column> {
    of(KINDS)
}

/// The same where a stack is made of these kinds of parts.
fn of(kinds: Kinds) -> Vec<Column> {
    let mut columns = vec![
        text("label", |_, run| Some(run.label.clone())),
        column("run", Kind::Count, Source::Index),
        text("load", |_, run| Some(run.load.clone())),
        text("choice", |_, run| Some(run.choice.clone())),
        column("rank", Kind::Count, Source::RankCount(|rank| rank.place)),
        column(
            "ratio_to_best",
            Kind::Measure,
            Source::RankMeasure(|rank| rank.ratio_to_best),
        ),
    ];
    columns.extend(differences());
    columns.extend(named_parts(kinds));
    columns.extend([
        text("replay", |_, run| Some(run.replay.clone())),
        count("requests", |_, run| Some(run.requests)),
        count("warmup_requests", |_, run| Some(run.warmup_requests)),
        count("pending", |_, run| Some(run.pending)),
        count("reads", |_, run| Some(operations(run, "read"))),
        count("writes", |_, run| Some(operations(run, "write"))),
        count("flushes", |_, run| Some(operations(run, "flush"))),
        count("discards", |_, run| Some(operations(run, "discard"))),
        count("failed", |_, run| Some(run.failed.values().sum())),
    ]);
    columns.extend(Failure::ALL.map(|failure| {
        let name = format!("failed_{}", failure.name());
        column(&name, Kind::Count, Source::Failed(failure))
    }));
    columns.extend([
        measure("duration_s", |run| run.duration_s),
        measure("throughput_rps", |run| run.throughput_rps),
        measure("throughput_mb_s", |run| run.throughput_mb_s),
    ]);
    columns.extend(distributions());
    columns.extend(as_traced());
    columns.extend([
        measure("seek_ms", |run| run.seek_ms),
        measure("rotation_ms", |run| run.rotation_ms),
        measure("transfer_ms", |run| run.transfer_ms),
        measure("overhead_ms", |run| run.overhead_ms),
        measure("utilisation", |run| run.utilisation),
        measure("utilisation_max", |run| run.utilisation_max),
        measure("queue_mean", |run| run.queue_mean),
        count("queue_max", |_, run| Some(run.queue_max)),
    ]);
    columns.extend(demands());
    columns.extend(declared(kinds));
    columns.push(measure("simulated_in_s", |run| run.simulated_in_s));
    columns.extend(provenance());
    columns
}

/// The seed of a run; what a grid of several seeds has in common is that of its first.
pub(super) fn seed(results: &Results, run: &Run) -> u64 {
    let own = run.config.get("seed").and_then(serde_json::Value::as_u64);
    own.unwrap_or(results.seed)
}

/// Where runs come from: mostly the same in every row, so that a row can leave its file.
fn provenance() -> [Column; 14] {
    [
        count("schema", |results, _| Some(results.schema.into())),
        text("version", |results, _| Some(results.version.clone())),
        text("build", |results, _| Some(results.build.clone())),
        count("seed", |results, run| Some(seed(results, run))),
        text("trace_hash", |results, _| {
            Some(results.trace.as_ref()?.hash.clone())
        }),
        text("trace_format", |results, _| {
            Some(results.trace.as_ref()?.format.clone())
        }),
        text("trace_files", |results, _| {
            Some(list(&results.trace.as_ref()?.files))
        }),
        text("trace_device", |results, _| {
            Some(results.trace.as_ref()?.device.clone())
        }),
        count("trace_requests", |results, _| {
            Some(results.trace.as_ref()?.requests)
        }),
        text("trace_fit", |results, _| {
            Some(results.trace.as_ref()?.fit.clone())
        }),
        text("trace_spread", |results, _| {
            Some(results.trace.as_ref()?.spread.clone())
        }),
        count("runs_planned", |results, _| {
            Some(results.runs_planned as u64)
        }),
        text("warnings", |results, _| Some(list(&results.warnings))),
        text("config", |_, run| Some(run.config.to_string())),
    ]
}

/// Mean, percentiles and interval of every distribution that a run has.
fn distributions() -> impl Iterator<Item = Column> {
    const OF_RUN: [(&str, TimesOf); 13] = [
        ("response_ms", |run| Some(&run.response_ms)),
        ("read_response_ms", |run| run.read_response_ms.as_ref()),
        ("write_response_ms", |run| run.write_response_ms.as_ref()),
        ("flush_response_ms", |run| run.flush_response_ms.as_ref()),
        ("wait_ms", |run| Some(&run.wait_ms)),
        ("read_wait_ms", |run| run.read_wait_ms.as_ref()),
        ("write_wait_ms", |run| run.write_wait_ms.as_ref()),
        ("service_ms", |run| Some(&run.service_ms)),
        ("read_service_ms", |run| run.read_service_ms.as_ref()),
        ("write_service_ms", |run| run.write_service_ms.as_ref()),
        ("traced_response_ms", |run| {
            Some(&run.traced.as_ref()?.response_ms)
        }),
        ("traced_read_response_ms", |run| {
            run.traced.as_ref()?.read_response_ms.as_ref()
        }),
        ("traced_write_response_ms", |run| {
            run.traced.as_ref()?.write_response_ms.as_ref()
        }),
    ];
    const OF_TIMES: [(&str, StatisticOf); 8] = [
        ("mean", |times| Some(times.mean)),
        ("p50", |times| times.p50),
        ("p95", |times| times.p95),
        ("p99", |times| times.p99),
        ("p999", |times| times.p999),
        ("max", |times| Some(times.max)),
        ("ci95_low", |times| Some(times.ci95?[0])),
        ("ci95_high", |times| Some(times.ci95?[1])),
    ];
    // What was traced is a fact, and flushes are in no batch: without intervals.
    const WITHOUT_INTERVAL: usize = 6;
    // Of response times alone there are intervals of the tail.
    const OF_TAILS: [(&str, StatisticOf); 4] = [
        ("p99_ci95_low", |times| Some(times.p99_ci95?[0])),
        ("p99_ci95_high", |times| Some(times.p99_ci95?[1])),
        ("p999_ci95_low", |times| Some(times.p999_ci95?[0])),
        ("p999_ci95_high", |times| Some(times.p999_ci95?[1])),
    ];
    OF_RUN.into_iter().flat_map(|(key, times)| {
        let (times_of, tails) = match key {
            _ if key.starts_with("traced_") || key.starts_with("flush_") => {
                (&OF_TIMES[..WITHOUT_INTERVAL], &[][..])
            }
            _ if key.ends_with("response_ms") => (&OF_TIMES[..], &OF_TAILS[..]),
            _ => (&OF_TIMES[..], &[][..]),
        };
        times_of.iter().chain(tails).map(move |&(statistic, of)| {
            column(
                &format!("{key}_{statistic}"),
                Kind::Measure,
                Source::Times((times, of)),
            )
        })
    })
}

/// Of how many requests the trace tells response times, and how far they are from the simulated
/// ones.
fn as_traced() -> [Column; 4] {
    let maybe = |name, of| column(name, Kind::Measure, Source::Maybe(of));
    [
        count("traced_requests", |_, run| {
            Some(run.traced.as_ref()?.requests)
        }),
        count("traced_untold", |_, run| Some(run.traced.as_ref()?.untold)),
        maybe("traced_demerit_ms", |run| run.traced.as_ref()?.demerit_ms),
        maybe("traced_demerit_share", |run| {
            run.traced.as_ref()?.demerit_share
        }),
    ]
}

/// How a run differs from the baseline and from the best of its load.
fn differences() -> impl Iterator<Item = Column> {
    const AGAINST: [(&str, DifferenceOf); 2] = [
        ("against_baseline", |rank| rank.against_baseline.as_ref()),
        ("against_best", |rank| rank.against_best.as_ref()),
    ];
    const OF_DIFFERENCE: [(&str, DifferenceMeasureOf); 3] = [
        ("ms", |difference| difference.ms),
        ("ci95_low_ms", |difference| Some(difference.ci95_ms?[0])),
        ("ci95_high_ms", |difference| Some(difference.ci95_ms?[1])),
    ];
    AGAINST.into_iter().flat_map(|(key, difference)| {
        let word = column(&format!("{key}_word"), Kind::Text, Source::Word(difference));
        let measures = OF_DIFFERENCE.into_iter().map(move |(what, of)| {
            let name = format!("{key}_{what}");
            column(&name, Kind::Measure, Source::Difference((difference, of)))
        });
        measures.chain([word])
    })
}

fn column(name: &str, kind: Kind, source: Source) -> Column {
    Column {
        name: name.to_owned(),
        kind,
        source,
    }
}

fn text(name: &str, of: fn(&Results, &Run) -> Option<String>) -> Column {
    column(name, Kind::Text, Source::Text(of))
}

fn count(name: &str, of: fn(&Results, &Run) -> Option<u64>) -> Column {
    column(name, Kind::Count, Source::Count(of))
}

fn measure(name: &str, of: fn(&Run) -> f64) -> Column {
    column(name, Kind::Measure, Source::Measure(of))
}

/// What the load asks for, and whether it was too much.
fn demands() -> [Column; 8] {
    let growth = Source::Maybe(|run| run.queue_growth_rps);
    [
        column("queue_growth_rps", Kind::Measure, growth),
        demand("offered_rps", |demand| demand.offered_rps),
        demand("offered_mb_s", |demand| demand.offered_mb_s),
        demand("busiest_rps", |demand| demand.busiest_rps),
        demand("busiest_mb_s", |demand| demand.busiest_mb_s),
        demand("ability_rps", |demand| demand.ability_rps),
        demand("ability_mb_s", |demand| demand.ability_mb_s),
        demand("load_factor", |demand| demand.load_factor),
    ]
}

fn demand(name: &str, of: fn(&Demand) -> f64) -> Column {
    column(&format!("demand_{name}"), Kind::Measure, Source::Demand(of))
}

/// What parts and measurements declare that they count.
fn declared(kinds: Kinds) -> impl Iterator<Item = Column> {
    let tables = tables(kinds).into_iter();
    tables.flat_map(|Table { key, measures }| {
        measures.into_iter().map(move |measure| {
            let kind = if measure.whole {
                Kind::Count
            } else {
                Kind::Measure
            };
            let name = format!("{key}_{}", measure.name);
            column(&name, kind, Source::Declared((key, measure.name)))
        })
    })
}

/// The drive, and the part of every kind.
fn named_parts(kinds: Kinds) -> impl Iterator<Item = Column> {
    let kinds = kinds.iter().map(|kind| kind.key());
    let keys = ["drive"].into_iter().chain(kinds);
    keys.map(|key| column(key, Kind::Text, Source::Part(key)))
}

fn operations(run: &Run, name: &str) -> u64 {
    run.operations.get(name).copied().unwrap_or(0)
}

fn failed(run: &Run, failure: Failure) -> u64 {
    run.failed.get(failure.name()).copied().unwrap_or(0)
}

/// Several things in one cell, as JSON: no separator is safe from file names.
fn list(things: &[impl Serialize]) -> String {
    serde_json::json!(things).to_string()
}

/// The name of a part in a run's configuration, which is a table with `name` or a bare word.
pub(super) fn part(run: &Run, kind: &str) -> Option<String> {
    let part = run.config.get(kind)?;
    let name = part.get("name").unwrap_or(part).as_str()?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use nearslot_core::config::StackKind;
    use nearslot_core::registry::Of;

    use super::*;
    use crate::workload::Synthetic;

    #[test]
    fn every_kind_has_a_column() {
        let another = StackKind {
            kind: Of::<Synthetic>::KIND,
            default: "poisson",
        };
        let kinds: Vec<StackKind> = KINDS.iter().copied().chain([another]).collect();
        let columns = of(kinds.leak());
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let drive = names.iter().position(|name| *name == "drive").unwrap();
        let parts = [
            "drive", "sched", "merge", "oracle", "place", "cache", "prefetch", "buffer", "faults",
            "claims", "workload", "replay",
        ];
        assert_eq!(names[drive..drive + parts.len()], parts);
        let run = Run {
            config: serde_json::json!({ "workload": { "name": "iometer", "depth": 4 } }),
            ..Run::default()
        };
        assert_eq!(part(&run, "workload").as_deref(), Some("iometer"));
    }

    #[test]
    fn what_a_part_counts_has_a_column() {
        let columns = of(crate::measure::declared::tests::kinds());
        let name = |column: &&Column| column.name == "sched_looks";
        let column = columns.iter().find(name).unwrap();
        assert_eq!(column.kind, Kind::Count);
        let results = Results {
            runs: vec![crate::measure::declared::tests::run()],
            ..Results::default()
        };
        let value = column.value(&Ranked::of(&results), 0);
        assert_eq!(value, Value::Count(14));
    }

    #[test]
    fn no_two_columns_have_one_name() {
        let names: Vec<String> = all().into_iter().map(|column| column.name).collect();
        let distinct: BTreeSet<&String> = names.iter().collect();
        assert_eq!(names.len(), distinct.len());
    }
}
