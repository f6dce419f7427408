//! A capacity as a page: a figure for each objective, its statistic over the settings with the
//! interval, and the limit as a line.

use super::{Capacity, Find, Reached, Tried, columns, names, setup, text, words};
use crate::number::counted;
use crate::report::figures::{Answer, Axis, FIGURES_SCHEMA, Figure, Figures, Line, Panel, Table};

/// Values so many times the limit are drawn; settings that were tried far beyond would flatten the
/// rest.
const TIMES_MAX: f64 = 3.0;

/// What the page shows.
pub fn figures(capacity: &Capacity) -> Figures {
    let objectives = 0..capacity.objectives.len();
    Figures {
        schema: FIGURES_SCHEMA,
        version: capacity.version.clone(),
        build: capacity.build.clone(),
        answer: Some(Answer {
            title: "Capacity".to_owned(),
            headline: capacity.headline.clone(),
            details: capacity.details.clone(),
            warnings: capacity.warnings.clone(),
            table: (!capacity.choices.is_empty()).then(|| table(capacity)),
        }),
        figures: objectives.map(|index| figure(capacity, index)).collect(),
    }
}

fn table(capacity: &Capacity) -> Table {
    let settings = words::settings(capacity);
    Table {
        heads: columns::heads(capacity),
        rows: columns::rows(capacity),
        note: format!("The {settings}. {}", text::legend(capacity).join(" ")),
    }
}

fn figure(capacity: &Capacity, index: usize) -> Figure {
    let objective = &capacity.objectives[index];
    let text = objective.to_string();
    let (statistic, _) = text.split_once(" <").unwrap_or((&text, ""));
    let (name, unit) = words::axis(capacity.find);
    let lines: Vec<Line> = capacity
        .choices
        .iter()
        .map(|found| line(capacity, found, index))
        .filter(|line| !line.x.is_empty())
        .collect();
    Figure {
        name: statistic.replace([' ', '.'], "-"),
        question: format!("Where does {text} hold?"),
        source: source(capacity),
        setup: format!(
            "{}; {}; values up to {TIMES_MAX} times the limit are drawn, a run that ended early or whose queue grew has none",
            setup::sentence(capacity),
            words::settings(capacity)
        ),
        seeds: vec![capacity.seed],
        x: Axis {
            label: name.to_owned(),
            unit: unit.to_owned(),
            log: capacity.find != Find::Drives,
            ticks: Vec::new(),
        },
        y: Axis {
            label: statistic.to_owned(),
            unit: "ms".to_owned(),
            log: false,
            ticks: Vec::new(),
        },
        limit: Some(objective.limit_ms),
        panels_by: "objective".to_owned(),
        panels: vec![Panel { name: text, lines }],
        claims: Vec::new(),
    }
}

fn source(capacity: &Capacity) -> String {
    match &capacity.trace {
        Some(trace) => format!(
            "Replay of {} ({})",
            trace.files.join(", "),
            counted(trace.requests, "request")
        ),
        None => format!(
            "A synthetic load of {}",
            counted(capacity.requests, "request")
        ),
    }
}

fn line(capacity: &Capacity, found: &Reached, index: usize) -> Line {
    let limit = capacity.objectives[index].limit_ms;
    let value = |tried: &Tried| {
        let reading = tried.readings[index];
        let ms = reading.ms.filter(|ms| *ms <= TIMES_MAX * limit)?;
        let high = reading.high_ms.map(|high| high.min(TIMES_MAX * limit));
        Some((tried.at, ms, reading.low_ms, high))
    };
    let mut values: Vec<_> = found.tried.iter().filter_map(value).collect();
    values.sort_by(|one, other| one.0.total_cmp(&other.0));
    Line {
        label: names::name(capacity, found),
        x: values.iter().map(|value| value.0).collect(),
        y: values.iter().map(|value| value.1).collect(),
        low: values.iter().map(|value| value.2).collect(),
        high: values.iter().map(|value| value.3).collect(),
    }
}
