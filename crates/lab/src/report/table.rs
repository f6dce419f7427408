//! The table for people: the verdict in words, a ranking for each load, as many columns as the
//! terminal is wide, and below it what the numbers rest on.
//!
//! Columns go by importance, not by wrapping: those that do not fit are left out and named. Below
//! the table stand mode, drive, seed, version, trace, warm-up, warnings, and the whole
//! configuration, first what all runs share. Names that come from outside lose their control
//! characters, which a terminal would obey.

use std::fmt::Write;

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table};
use nearslot_core::contract::{Cache, Destage, Faults, Merging, Scheduler};
use nearslot_core::registry::Kind;

use super::columns::{Ranked, part, seed};
use super::facts::{RULE, configs, dash, distinct, fact, plain, trace_facts};
use super::groups::{self, Groups};
use super::hosts;
use super::traced;
use crate::number::{in_percent, number};
use crate::outcome::VolumePlace;
use crate::outcome::{Declared, Difference, Number, Rank, Results, Run, Times, Verdict, Word};
use crate::program;
use crate::workload::MEASURED;
use crate::{filesystem, host};

/// Narrowest table that is tried; below it lines wrap.
const WIDTH_MIN: usize = 60;

/// Heading of the labels, the one column that wraps.
const LABEL: &str = "run";
/// Headings of what only ranked runs have.
const RATIO: &str = "to best\n×";
const AGAINST_BASELINE: &str = "against baseline\nms";
/// Heading of a column that is the same as the one before where the baseline is the best.
const AGAINST_BEST: &str = "against best\nms";
/// Heading of what only overloaded runs have.
const GROWTH: &str = "queue grows\nreq/s";
/// Heading of what only runs on drives that fail have.
const FAILED: &str = "failed\nrequests";
/// Heading of what only loads with flushes have.
const FLUSHES: &str = "flushes\nms";
/// Heading of what only some volumes have.
const RECOVERY: &str = "recovery\ns";
/// Headings of what only runs with a cache have.
const HITS: &str = "hits\nreads";
const MISSES: &str = "misses\nreads";
/// Headings of what only runs of hosts have.
const UP: &str = "up after\ns";
const OTHERS: &str = "others\nMB/s";
const LATE: &str = "late\n%";
/// Heading of what only runs of file systems have.
const DONE: &str = "done after\ns";
/// Heading of what only runs of transactions have.
const TRANSACTIONS: &str = "transactions\n1/s";
/// Heading of what only runs with a write buffer have.
const DESTAGED: &str = "destaged\npages";
/// A column of the table: heading with unit, importance (lower is kept longer), and what stands in
/// it.
struct Shown {
    heading: &'static str,
    importance: u32,
    cell: fn(&Row<'_>) -> String,
}

/// A line of the table: a run and its place, if it is ranked.
struct Row<'a> {
    run: &'a Run,
    rank: Option<&'a Rank>,
}

const COLUMNS: [Shown; 36] = [
    shown("#", 0, |row| {
        row.rank.map_or(dash(), |rank| rank.place.to_string())
    }),
    shown(LABEL, 0, |row| plain(name(row))),
    shown(UP, 0, |row| hosts::up(row.run)),
    shown(DONE, 0, |row| {
        let done = row.run.measure(filesystem::KEY, "work_s");
        done.map_or(dash(), |done| number(done.value()))
    }),
    shown(TRANSACTIONS, 0, |row| {
        let rate = row.run.measure(MEASURED, "transactions_s");
        rate.map_or(dash(), |rate| number(rate.value()))
    }),
    shown(LATE, 1, |row| of_host(row, "late_percent")),
    shown(OTHERS, 1, |row| {
        let moved = ["read_mb_s", "written_mb_s"].map(|name| row.run.measure(host::KEY, name));
        let moved = moved.into_iter().flatten().map(Number::value);
        number(moved.fold(0.0, |sum, one| sum + one))
    }),
    shown("mean\nms", 0, |row| steady(row, |times| Some(times.mean))),
    shown(GROWTH, 0, |row| {
        row.run.queue_growth_rps.map_or(dash(), number)
    }),
    shown(FAILED, 0, |row| failed(row.run).to_string()),
    shown("95 % interval\nms", 4, |row| {
        interval(row.run.response_ms.ci95)
    }),
    shown(RATIO, 2, |row| {
        let ratio = row.rank.and_then(|rank| rank.ratio_to_best);
        ratio.map_or(dash(), |ratio| format!("{ratio:.2}"))
    }),
    shown(AGAINST_BASELINE, 1, |row| {
        row.rank.map_or(dash(), |rank| {
            let against = rank.against_baseline.as_ref();
            against.map_or("baseline".to_owned(), difference)
        })
    }),
    shown(AGAINST_BEST, 5, |row| {
        row.rank.map_or(dash(), |rank| match rank.first {
            Some(first) => first.word().to_owned(),
            None => rank.against_best.as_ref().map_or(dash(), difference),
        })
    }),
    shown("p50\nms", 3, |row| steady(row, |times| times.p50)),
    shown("p95\nms", 9, |row| steady(row, |times| times.p95)),
    shown("p99\nms", 1, |row| steady(row, |times| times.p99)),
    shown("95 % interval\nof p99", 5, |row| {
        interval(row.run.response_ms.p99_ci95)
    }),
    shown("p99.9\nms", 6, |row| steady(row, |times| times.p999)),
    shown("95 % interval\nof p99.9", 9, |row| {
        interval(row.run.response_ms.p999_ci95)
    }),
    shown("max\nms", 8, |row| steady(row, |times| Some(times.max))),
    shown("reads\nms", 10, |row| {
        mean(row, row.run.read_response_ms.as_ref())
    }),
    shown("writes\nms", 10, |row| {
        mean(row, row.run.write_response_ms.as_ref())
    }),
    shown(FLUSHES, 10, |row| {
        mean(row, row.run.flush_response_ms.as_ref())
    }),
    shown("rate\nreq/s", 4, |row| number(row.run.throughput_rps)),
    shown("rate\nMB/s", 11, |row| number(row.run.throughput_mb_s)),
    shown("busy\n%", 7, |row| in_percent(row.run.utilisation)),
    shown("queue\nmean", 8, |row| number(row.run.queue_mean)),
    shown(RECOVERY, 4, |row| {
        let cost = row.run.measure("recovery", "s");
        cost.map_or(dash(), |cost| number(cost.value()))
    }),
    shown(HITS, 4, |row| counted(row, CACHE, "read_hits")),
    shown(MISSES, 4, |row| counted(row, CACHE, "read_misses")),
    shown(DESTAGED, 4, |row| counted(row, BUFFER, "destaged_pages")),
    shown("seek\nms", 12, |row| of_requests(row, row.run.seek_ms)),
    shown("rotation\nms", 12, |row| {
        of_requests(row, row.run.rotation_ms)
    }),
    shown("transfer\nms", 12, |row| {
        of_requests(row, row.run.transfer_ms)
    }),
    shown("overhead\nms", 12, |row| {
        of_requests(row, row.run.overhead_ms)
    }),
];

/// A quantity that a host has measured.
fn of_host(row: &Row<'_>, name: &str) -> String {
    let found = row.run.measure(host::KEY, name);
    found.map_or(dash(), |found| number(found.value()))
}

/// The kinds whose parts count these.
const CACHE: &str = <dyn Cache as Kind>::CARD.key;
const BUFFER: &str = <dyn Destage as Kind>::CARD.key;

const fn shown(heading: &'static str, importance: u32, cell: fn(&Row<'_>) -> String) -> Shown {
    Shown {
        heading,
        importance,
        cell,
    }
}

/// Columns of the terminal that standard output is; `None` if it is none.
pub(super) fn terminal_width() -> Option<u16> {
    let table = Table::new();
    if table.is_tty() { table.width() } else { None }
}

/// The table as text, at most `width` columns wide where that is known and not below 60.
pub fn table(results: &Results, width: Option<u16>) -> String {
    let width = width.map(|width| usize::from(width).max(WIDTH_MIN));
    let mut text = String::new();
    verdict(&mut text, &results.verdict, width);
    let mut left_out: Vec<String> = Vec::new();
    for (load, rows) in groups(results) {
        text.push('\n');
        if !load.is_empty() {
            let _ = writeln!(text, "{}", plain(load));
        }
        let (picked, rest) = pick(&rows, width);
        let _ = writeln!(text, "{}", grid(&rows, &picked, width).trim_fmt());
        // Each load has a table of its own, which may have room for other columns.
        for name in rest {
            if !left_out.contains(&name) {
                left_out.push(name);
            }
        }
    }
    if let Some(beside) = traced::beside(&results.runs) {
        let _ = writeln!(text, "\n{}", beside.trim_fmt());
    }
    let groups = groups::groups(&results.runs).into_iter();
    for Groups { table, of, more } in groups.chain(hosts::processes(&results.runs)) {
        let _ = writeln!(text, "\n{}", table.trim_fmt());
        if more > 0 {
            let more = format!("and {more} more of the {of}; --format json has all");
            fact(&mut text, width, "", &more);
        }
    }
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        let room = format!("no room for: {names}; --format csv has everything");
        fact(&mut text, width, "", &room);
    }
    text.push('\n');
    facts(&mut text, results, width);
    text
}

/// The answer in words.
fn verdict(text: &mut String, verdict: &Verdict, width: Option<usize>) {
    for (index, sentence) in [&verdict.headline]
        .into_iter()
        .chain(&verdict.details)
        .enumerate()
    {
        fact(
            text,
            width,
            if index == 0 { "verdict" } else { "" },
            &plain(sentence),
        );
    }
}

/// Runs by load in the order of the rankings, then those that are not ranked.
fn groups(results: &Results) -> Vec<(&str, Vec<Row<'_>>)> {
    let rankings = &results.verdict.rankings;
    let ranked = rankings.iter().map(|ranking| {
        let rows = ranking.ranks.iter().map(|rank| Row {
            run: &results.runs[rank.run],
            rank: Some(rank),
        });
        (ranking.load.as_str(), rows.collect())
    });
    let runs = results.runs.iter().zip(Ranked::of(results).ranks);
    let others: Vec<Row<'_>> = runs
        .filter(|(_, rank)| rank.is_none())
        .map(|(run, rank)| Row { run, rank })
        .collect();
    let others = (!others.is_empty()).then_some(("", others));
    ranked.chain(others).collect()
}

/// What distinguishes a run from the others of its table.
fn name<'a>(row: &Row<'a>) -> &'a str {
    if row.rank.is_some() {
        &row.run.choice
    } else {
        &row.run.label
    }
}

/// Columns that fit, and the headings of those that do not.
fn pick(rows: &[Row<'_>], width: Option<usize>) -> (Vec<&'static Shown>, Vec<String>) {
    let needed = |shown: &Shown| {
        let cells = rows.iter().map(|row| (shown.cell)(row));
        let heading = [shown.heading.to_owned()];
        let widest = |text: String| text.lines().map(|line| line.chars().count()).max();
        let needed = cells.chain(heading).filter_map(widest).max().unwrap_or(0);
        // Labels may wrap, rather than push the numbers out.
        let most = match width {
            Some(width) if shown.heading == LABEL => (width / 3).max(24),
            _ => usize::MAX,
        };
        // A space on both sides of each cell, and one between columns.
        3 + needed.min(most)
    };
    let there = |shown: &Shown| is_there(shown, rows);
    let mut order: Vec<usize> = (0..COLUMNS.len()).collect();
    order.retain(|index| there(&COLUMNS[*index]));
    order.sort_by_key(|index| COLUMNS[*index].importance);
    let mut room = width.unwrap_or(usize::MAX);
    let mut fits = [false; COLUMNS.len()];
    for index in order {
        let needed = needed(&COLUMNS[index]);
        fits[index] = COLUMNS[index].importance == 0 || needed <= room;
        if !fits[index] {
            // What is less important does not slip in instead.
            break;
        }
        room = room.saturating_sub(needed);
    }
    let picked = COLUMNS
        .iter()
        .zip(fits)
        .filter(|(_, fits)| *fits)
        .map(|(shown, _)| shown);
    let left_out = COLUMNS.iter().zip(fits);
    let left_out = left_out.filter(|(shown, fits)| !*fits && there(shown));
    (
        picked.collect(),
        left_out
            .map(|(shown, _)| shown.heading.replace('\n', " "))
            .collect(),
    )
}

/// Whether a column has anything to tell of these rows.
fn is_there(shown: &Shown, rows: &[Row<'_>]) -> bool {
    let mut ranks = rows.iter().filter_map(|row| row.rank);
    match shown.heading {
        GROWTH => rows.iter().any(|row| row.run.queue_growth_rps.is_some()),
        FLUSHES => rows.iter().any(|row| row.run.flush_response_ms.is_some()),
        FAILED => rows.iter().any(|row| failed(row.run) > 0),
        RECOVERY => rows.iter().any(|row| row.run.has("recovery", "s")),
        HITS | MISSES => rows.iter().any(|row| row.run.has(CACHE, "read_hits")),
        UP => rows.iter().any(|row| row.run.has(host::KEY, "not_up")),
        DONE => rows.iter().any(|row| row.run.has(filesystem::KEY, "files")),
        TRANSACTIONS => rows.iter().any(|row| row.run.has(MEASURED, "transactions")),
        LATE => rows
            .iter()
            .any(|row| row.run.has(host::KEY, "late_percent")),
        OTHERS => rows.iter().any(|row| row.run.has(host::KEY, "read_mb_s")),
        DESTAGED => rows.iter().any(|row| row.run.has(BUFFER, "destaged_pages")),
        AGAINST_BEST => {
            ranks.any(|rank| rank.against_best.is_none() && rank.against_baseline.is_some())
        }
        "#" | RATIO | AGAINST_BASELINE => ranks.next().is_some(),
        _ => true,
    }
}

fn grid(rows: &[Row<'_>], picked: &[&Shown], width: Option<usize>) -> Table {
    let mut table = Table::new();
    table.load_style(RULE).force_no_tty();
    table.set_header(picked.iter().map(|shown| shown.heading));
    for row in rows {
        table.add_row(picked.iter().map(|shown| Cell::new((shown.cell)(row))));
    }
    for (index, shown) in picked.iter().enumerate() {
        let column = table
            .column_mut(index)
            .expect("the table has the columns of its header");
        if shown.heading != LABEL {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    table
}

fn warmup(run: &Run) -> String {
    match run.warmup_requests {
        0 => "none: all requests are measured".to_owned(),
        first => format!(
            "the first {first} of {} requests, not measured",
            run.requests
        ),
    }
}

/// How the rankings are ordered.
fn orders(verdict: &Verdict) -> String {
    let firsts = verdict
        .rankings
        .iter()
        .filter_map(|ranking| ranking.ranks.first()?.first);
    distinct(firsts.map(|first| first.order().to_owned()))
}

/// What the numbers rest on.
fn facts(text: &mut String, results: &Results, width: Option<usize>) {
    let runs = &results.runs;
    let (done, planned) = (runs.len(), results.runs_planned);
    let mut facts = vec![
        (
            "runs",
            match &results.verdict.baseline {
                Some(baseline) => format!(
                    "{done} of {planned}, {}; differences with their 95 % interval; baseline {}",
                    orders(&results.verdict),
                    plain(baseline)
                ),
                None => format!("{done} of {planned}"),
            },
        ),
        ("mode", distinct(runs.iter().map(|run| run.replay.clone()))),
        (
            "drive",
            distinct(runs.iter().filter_map(|run| part(run, "drive"))),
        ),
    ];
    let chosen = results.drive_chosen.as_ref();
    facts.extend(chosen.map(|chosen| ("", plain(&chosen.why))));
    facts.extend([
        (
            "seed",
            distinct(runs.iter().map(|run| seed(results, run).to_string())),
        ),
        ("version", program::named(&results.version, &results.build)),
    ]);
    let several = runs.iter().any(|run| !run.volumes.is_empty());
    facts.extend(trace_facts(results.trace.as_ref(), several));
    facts.extend(volume_facts(runs));
    facts.push(("warm-up", distinct(runs.iter().map(warmup))));
    for (index, warning) in results.warnings.iter().enumerate() {
        facts.push((
            if index == 0 { "warnings" } else { "" },
            plain(&warning.to_string()),
        ));
    }
    facts.extend(recovery_fact(runs));
    facts.extend(counted_facts(results));
    for run in runs.iter().filter(|run| run.pending > 0) {
        let (label, pending) = (plain(&run.label), run.pending);
        facts.push((
            "pending",
            format!("{label}: {pending} requests were not answered"),
        ));
    }
    facts.extend(demand_facts(runs));
    let (shared, own) = configs(runs.iter().map(|run| &run.config));
    facts.push(("config", shared));
    for (run, config) in runs.iter().zip(own).filter(|(_, own)| !own.is_empty()) {
        facts.push(("", format!("{}: {config}", plain(&run.label))));
    }
    for (name, value) in facts {
        fact(text, width, name, &value);
    }
}

/// What a part has counted, if the run has one that counts it.
fn counted(row: &Row<'_>, of: &str, name: &str) -> String {
    let count = row.run.measure(of, name);
    count.map_or(dash(), |count| count.value().to_string())
}

/// How many requests of a run failed.
fn failed(run: &Run) -> u64 {
    run.failed.values().sum()
}

/// What faults, schedulers and merging counted, as far as it is not nothing, by unit: a request may
/// be several commands, so that what is counted in commands is not told as requests.
fn counted_facts(results: &Results) -> Vec<(&'static str, String)> {
    let of_interest = [
        <dyn Scheduler>::CARD.key,
        <Merging as Kind>::CARD.key,
        <dyn Faults>::CARD.key,
    ];
    let mut facts = Vec::new();
    for run in &results.runs {
        let mut by_unit: Vec<(&str, Vec<String>)> = Vec::new();
        for Declared { of, name, unit, .. } in &results.measures {
            let value = run.measure(of, name).map_or(0.0, Number::value);
            if !of_interest.contains(&of.as_str()) || value <= 0.0 {
                continue;
            }
            let text = match value.fract() == 0.0 {
                true => value.to_string(),
                false => number(value),
            };
            let name = name.strip_suffix(unit.as_str()).unwrap_or(name);
            let text = format!("{} {text}", name.replace('_', " ").trim_end());
            match by_unit.iter_mut().find(|(other, _)| other == unit) {
                Some((_, told)) => told.push(text),
                None => by_unit.push((unit, vec![text])),
            }
        }
        let by_unit = by_unit.into_iter();
        let counted: Vec<String> = by_unit
            .map(|(unit, told)| format!("{unit}: {}", told.join(", ")))
            .collect();
        if !counted.is_empty() {
            let name = if facts.is_empty() { "counted" } else { "" };
            facts.push((
                name,
                format!("{}: {}", plain(&run.label), counted.join("; ")),
            ));
        }
    }
    facts
}

/// What open loads ask for and what can be done, once for each that differs.
fn demand_facts(runs: &[Run]) -> Vec<(&'static str, String)> {
    let told = runs.iter().filter_map(|run| {
        let demand = run.demand.as_ref()?;
        Some(format!(
            "{}: {} requests/s offered ({} in the busiest tenth), about {} can be done{}",
            plain(&run.label),
            number(demand.offered_rps),
            number(demand.busiest_rps),
            number(demand.ability_rps),
            demand.reservation(),
        ))
    });
    let named = told.enumerate();
    named
        .map(|(index, text)| (if index == 0 { "load" } else { "" }, text))
        .collect()
}

/// Volumes that are named; results as JSON have all.
const VOLUMES_NAMED: usize = 8;

/// Where volumes lie, once for all runs that place them alike.
fn volume_facts(runs: &[Run]) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let mut before = runs[..index].iter();
        let told = before.any(|other| other.volumes == run.volumes);
        if told || run.volumes.is_empty() {
            continue;
        }
        let place = |volume: &VolumePlace| match volume.drive {
            Some(drive) => format!("{} on drive {drive}", plain(&volume.device)),
            None => format!(
                "{} from block {}",
                plain(&volume.device),
                volume.first_block
            ),
        };
        let listed = run.volumes.iter().take(VOLUMES_NAMED).map(place);
        let mut listed: Vec<String> = listed.collect();
        if run.volumes.len() > VOLUMES_NAMED {
            listed.push(format!("and {} more", run.volumes.len() - VOLUMES_NAMED));
        }
        let name = if facts.is_empty() { "volumes" } else { "" };
        facts.push((name, listed.join(", ")));
    }
    facts
}

/// What the recovery of a single run comes to; of several the table tells the time.
fn recovery_fact(runs: &[Run]) -> Option<(&'static str, String)> {
    let [run] = runs else {
        return None;
    };
    let told = |name| run.measure("recovery", name).map(Number::value);
    let (seconds, mib) = (number(told("s")?), number(told("mib")?));
    let reads = match told("reads")? {
        1.0 => "one read".to_owned(),
        reads => format!("{reads} reads"),
    };
    let text = format!(
        "{seconds} s of drive time, {reads} of {mib} MiB, if the power went at the end of the run"
    );
    Some(("recovery", text))
}

/// A difference, half its interval, and what that says.
fn difference(difference: &Difference) -> String {
    let word = difference.word.word();
    let Some(ms) = difference.ms.filter(|_| difference.word != Word::Equal) else {
        return word.to_owned();
    };
    let (sign, ms) = (if ms > 0.0 { "+" } else { "" }, number(ms));
    match difference.ci95_ms {
        None => format!("{sign}{ms} {word}"),
        Some([low, high]) => format!("{sign}{ms} ± {} {word}", number((high - low) / 2.0)),
    }
}

/// A statistic of the response times, where they tell more than how long the load is.
fn steady(row: &Row<'_>, of: fn(&Times) -> Option<f64>) -> String {
    let known = row.run.queue_growth_rps.is_none();
    let found = of(&row.run.response_ms).filter(|_| known);
    found.map_or(dash(), |ms| of_requests(row, ms))
}

/// A time of the requests of a run; a run that answered none has none, and 0 would look like one.
fn of_requests(row: &Row<'_>, ms: f64) -> String {
    match row.run.requests {
        0 => "none".to_owned(),
        _ => number(ms),
    }
}

fn interval(interval: Option<[f64; 2]>) -> String {
    interval.map_or(dash(), |[low, high]| {
        format!("{} – {}", number(low), number(high))
    })
}

fn mean(row: &Row<'_>, times: Option<&Times>) -> String {
    let known = row.run.queue_growth_rps.is_none();
    let times = times.filter(|_| known);
    times.map_or(dash(), |times| number(times.mean))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::facts::flatten;

    #[test]
    fn a_terminal_is_not_commanded_by_a_file_name() {
        assert_eq!(plain("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
    }

    #[test]
    fn prose_wraps_under_its_name() {
        let mut text = String::new();
        fact(&mut text, Some(30), "mode", "one two three four five six");
        assert_eq!(text, "mode      one two three four\n          five six\n");
    }

    #[test]
    fn what_runs_share_is_said_once() {
        let mut flat = Vec::new();
        let config = serde_json::json!({"sched": {"name": "satf", "knobs": {}}, "seed": 7});
        flatten("", &config, &mut flat);
        assert_eq!(flat, ["sched.knobs={}", "sched.name=\"satf\"", "seed=7"]);
    }
}
