//! Figures that look like real ones: four curves that rise and level off, at two overheads.

use nearslot_lab::report::figures::{
    Axis, Claim, FIGURES_SCHEMA, Figure, Figures, Line, Panel, Verdict,
};

const NAMES: [&str; 4] = ["SATF-EW", "FreeBW-SATF", "FreeBW-SCAN", "FreeBW-Hybrid"];

/// Two figures, as the experiments hand them over.
pub(crate) fn figures() -> Figures {
    let depths = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
    let shares = [0.0, 0.1, 0.4, 0.5, 0.9, 1.0];
    Figures {
        schema: FIGURES_SCHEMA,
        version: "0.1.0".to_owned(),
        build: "unknown".to_owned(),
        answer: None,
        figures: vec![
            figure("ew-fig4", "queue length", &depths, true),
            figure("ew-fig5", "share of reads", &shares, false),
        ],
    }
}

fn figure(name: &str, label: &str, x: &[f64], log: bool) -> Figure {
    let panel = |overhead_ms: f64| Panel {
        name: format!("{overhead_ms} ms"),
        lines: (0..NAMES.len())
            .map(|index| line(index, x, overhead_ms))
            .collect(),
    };
    Figure {
        name: name.to_owned(),
        question: format!("Which scheduler gives the highest throughput by {label}?"),
        source: "A study of a drive, 2002, figure 4".to_owned(),
        setup: "dilution 2, 50,000 requests a run".to_owned(),
        seeds: vec![1, 2, 3],
        x: axis(label, "", log, if log { x } else { &[] }),
        y: axis("throughput", "requests/s", false, &[]),
        limit: None,
        panels_by: "overhead of a request".to_owned(),
        panels: vec![panel(0.0), panel(0.6)],
        claims: [
            Some(Verdict::Holds),
            Some(Verdict::Fails),
            Some(Verdict::Undecided),
            Some(Verdict::Untestable),
            None,
        ]
        .into_iter()
        .enumerate()
        .map(|(index, verdict)| claim(index + 1, verdict))
        .collect(),
    }
}

fn axis(label: &str, unit: &str, log: bool, ticks: &[f64]) -> Axis {
    Axis {
        label: label.to_owned(),
        unit: unit.to_owned(),
        log,
        ticks: ticks.to_vec(),
    }
}

/// Lines cross, and the last one has no cylinders, as with a single seed.
fn line(index: usize, x: &[f64], overhead_ms: f64) -> Line {
    let number = index as f64;
    let y: Vec<f64> = x
        .iter()
        .map(|x| {
            150.0 + (60.0 + 12.0 * number) * (1.0 + x).log2() - 25.0 * number - 90.0 * overhead_ms
        })
        .collect();
    let end = |sign: f64| {
        let cylinder = |y: &f64| (index < 3).then(|| y * (1.0 + sign * 0.015 * (number + 1.0)));
        y.iter().map(cylinder).collect()
    };
    Line {
        label: NAMES[index].to_owned(),
        low: end(-1.0),
        high: end(1.0),
        x: x.to_vec(),
        y,
    }
}

fn claim(number: usize, verdict: Option<Verdict>) -> Claim {
    Claim {
        id: format!("D{number}"),
        kind: "published without a number".to_owned(),
        statement: "FreeBW-SATF is below FreeBW-SCAN, most clearly for long queues".to_owned(),
        published: "no number (section 4)".to_owned(),
        found: "-6.3 ± 0.4 % at 32, -9.9 ± 0.5 % at 64".to_owned(),
        range: "queues of 32 to 128, half reads, dilution 2".to_owned(),
        outside: "+1.2 ± 0.3 % at 4".to_owned(),
        verdict,
        provisional: number == 1,
        note: "decided at 0.6 ms; at 0 ms it does not hold".to_owned(),
    }
}
