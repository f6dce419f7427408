//! What processes of hosts have done, as a little table: of a single run each with its stream; of
//! several, process by process, each with all runs, so that these stand below each other. Processes
//! of one description, which have numbers, are one row there.

use comfy_table::{Cell, CellAlignment, Table};

use super::facts::{RULE, dash, plain};
use super::groups::{Groups, LISTED_MAX};
use crate::host::KEY;
use crate::number::number;
use crate::outcome::{ApplicationFound, ProcessFound, Run};

/// Applications that a cell lists.
const APPLICATIONS_MAX: usize = 6;

/// After how many seconds the application of a run was up; of several each, one below the other.
pub(super) fn up(run: &Run) -> String {
    let not_up = |started: bool| match started {
        true => "not up".to_owned(),
        false => "not started".to_owned(),
    };
    let started = |one: &ApplicationFound| one.up + one.not_up + one.failed;
    if run.applications.len() < 2 {
        let took = run.measure(KEY, "startup_s").map(|found| found.value());
        let any = run.applications.iter().any(|one| started(one) > 0);
        return took.map_or_else(|| not_up(any), number);
    }
    let one = |one: &ApplicationFound| {
        let all = started(one);
        let of = match (one.up, all) {
            (0, _) | (_, 1) => String::new(),
            (up, all) => format!(" ({up} of {all})"),
        };
        let took = one.mean_s.map_or_else(|| not_up(all > 0), number);
        format!("{} {took}{of}", plain(&one.name))
    };
    let listed = run.applications.iter().take(APPLICATIONS_MAX);
    let mut lines: Vec<String> = listed.map(one).collect();
    let more = run.applications.len().saturating_sub(APPLICATIONS_MAX);
    lines.extend((more > 0).then(|| format!("{more} more")));
    lines.join("\n")
}

/// The table of processes; none where no run is of a host.
pub(super) fn processes(runs: &[Run]) -> Option<Groups> {
    match runs {
        [run] => of_one(run),
        _ => of_several(runs),
    }
}

/// Of one run, in their order.
fn of_one(run: &Run) -> Option<Groups> {
    let any_late = run.processes.iter().any(|one| one.late.is_some());
    let mut heads = vec!["process", "stream", "rounds"];
    heads.extend(any_late.then_some("late"));
    heads.extend(["ended", "mean\ns", "longest\ns"]);
    heads.extend(["reads\nMB/s", "writes\nMB/s", "held\ns"]);
    let rows = run.processes.iter().map(|one| {
        let time = |seconds: Option<f64>| seconds.map_or(dash(), number);
        let mut cells = vec![plain(&one.name)];
        cells.extend([u64::from(one.stream), one.rounds].map(|number| number.to_string()));
        cells.extend(any_late.then(|| late_of(&[one])));
        cells.push(if one.ended { "yes" } else { "no" }.to_owned());
        cells.extend([time(one.mean_s), time(one.max_s)]);
        cells.extend([one.read_mb_s, one.written_mb_s, one.held_s].map(number));
        cells
    });
    table((heads, 1), rows.collect(), "processes")
}

/// How many of the times at which these were to begin a round were late.
fn late_of(processes: &[&ProcessFound]) -> String {
    let timed = processes.iter().filter_map(|one| one.late.zip(one.due));
    let sum = timed.reduce(|one, other| (one.0 + other.0, one.1 + other.1));
    sum.map_or(dash(), |(late, due)| format!("{late} of {due}"))
}

/// Processes of a run that are told together: one, or those of one description.
struct Alike<'a> {
    /// The last number that one of them has.
    last: Option<(&'a str, u64)>,
    all: Vec<&'a ProcessFound>,
}

impl<'a> Alike<'a> {
    /// All of a run, in their order.
    fn of(run: &'a Run) -> Vec<Alike<'a>> {
        let mut found: Vec<Alike<'a>> = Vec::new();
        for one in &run.processes {
            let numbered = one.name.rsplit_once('-');
            let numbered = numbered.and_then(|(stem, number)| Some((stem, number.parse().ok()?)));
            match (found.last_mut(), numbered) {
                (Some(before), Some((stem, number)))
                    if number > 1 && before.last == Some((stem, number - 1)) =>
                {
                    before.last = numbered;
                    before.all.push(one);
                }
                _ => found.push(Alike {
                    last: numbered,
                    all: vec![one],
                }),
            }
        }
        found
    }

    fn name(&self) -> String {
        match self.all.as_slice() {
            [first, .., last] => {
                format!("{} to {}, together", plain(&first.name), plain(&last.name))
            }
            all => all.iter().map(|one| plain(&one.name)).collect(),
        }
    }

    fn cells(&self, run: &Run, any_late: bool) -> Vec<String> {
        let all = || self.all.iter();
        let rounds: u64 = all().map(|one| one.rounds).sum();
        let took = |one: &&ProcessFound| one.mean_s.map(|mean| mean * one.rounds as f64);
        let mean = all().filter_map(took).sum::<f64>() / rounds as f64;
        let longest = all().filter_map(|one| one.max_s).fold(0.0, f64::max);
        let time = |seconds: f64| if rounds > 0 { number(seconds) } else { dash() };
        let late = late_of(&self.all);
        let mut cells = vec![self.name(), plain(&run.label), rounds.to_string()];
        cells.extend(any_late.then_some(late));
        cells.extend([time(mean), time(longest)]);
        let sum = |of: fn(&ProcessFound) -> f64| number(all().map(|one| of(one)).sum());
        cells.extend([
            sum(|one| one.read_mb_s),
            sum(|one| one.written_mb_s),
            sum(|one| one.held_s),
        ]);
        cells
    }
}

/// Of several runs: what is called alike stands together, in the order of the runs.
fn of_several(runs: &[Run]) -> Option<Groups> {
    let all = runs.iter().flat_map(|run| &run.processes);
    let any_late = all.clone().any(|one| one.late.is_some());
    let mut heads = vec!["process", "run", "rounds"];
    heads.extend(any_late.then_some("late"));
    heads.extend(["mean\ns", "longest\ns", "reads\nMB/s", "writes\nMB/s"]);
    heads.push("held\ns");
    let mut by_name: Vec<(String, Vec<Vec<String>>)> = Vec::new();
    for run in runs {
        for alike in Alike::of(run) {
            let (name, cells) = (alike.name(), alike.cells(run, any_late));
            match by_name.iter_mut().find(|(known, _)| *known == name) {
                Some((_, rows)) => rows.push(cells),
                None => by_name.push((name, vec![cells])),
            }
        }
    }
    let rows = by_name.into_iter().flat_map(|(_, rows)| rows);
    table((heads, 2), rows.collect(), "rows of processes")
}

/// A table of these rows, of which the first columns are words; none if there are no rows.
fn table(
    (heads, words): (Vec<&str>, usize),
    rows: Vec<Vec<String>>,
    of: &'static str,
) -> Option<Groups> {
    let more = rows.len().saturating_sub(LISTED_MAX);
    let mut table = Table::new();
    table.load_style(RULE).force_no_tty();
    table.set_header(heads);
    let any = !rows.is_empty();
    for row in rows.into_iter().take(LISTED_MAX) {
        table.add_row(row.into_iter().map(Cell::new));
    }
    for column in table.column_iter_mut().skip(words) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    any.then_some(Groups { table, of, more })
}
