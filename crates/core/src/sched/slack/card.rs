//! What can be set of `slack`, and what it counts.

use super::Slack;
use super::admission::targets;
use crate::contract::Scheduler;
use crate::measure::Measure;
use crate::registry::{Knob, Spec};

pub(super) const MEASURES: &[Measure] = &[
    Measure::count(
        "kept",
        "requests",
        "requests of streams with a target that were answered within it",
    ),
    Measure::count("missed", "requests", "those that were not"),
    Measure::count(
        "late_us",
        "us",
        "by how much later than that these were answered, all together",
    ),
    Measure::count(
        "deferred",
        "requests",
        "requests of streams with a target whose turn did not come at once, since the stream had had `prompt_percent` of the drive's time",
    ),
];

pub(in super::super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "slack",
    aliases: &["latency-targets"],
    summary: "some streams are answered within a target, the others have all the time that this leaves",
    source: "ours; after slack stealing: Lehoczky and Ramos-Thuel, RTSS 1992",
    knobs: &[
        Knob::text(
            "targets_ms",
            "",
            |text| targets(text).is_some(),
            "STREAM=MILLISECONDS, each stream once, several separated by spaces, such as \"0=50 3=100\"",
            "within how many milliseconds requests of these streams are to be answered",
        )
        .naming_streams(),
        Knob::choice(
            "admission",
            "beside",
            &["beside", "alone"],
            "which targets are accepted: those that the drive can keep beside a command of 128 KiB of others, or all that it can keep while nobody else asks",
        ),
        Knob::number(
            "quantum_ms",
            100.0,
            0.1..=60_000.0,
            "milliseconds of the drive's time that one of the others has in a row; more for a higher weight",
        ),
        Knob::number(
            "wait_ms",
            2.0,
            0.0..=1_000.0,
            "milliseconds that a disk waits for the next request of who reads in a row, or has a target and part of the time left; 0 is not at all",
        ),
        Knob::integer(
            "prompt_percent",
            50,
            0..=100,
            "percent of the drive's time in which streams with a target are served at once and not only when they must be, while others wait; divided among these streams by weight",
        ),
        Knob::integer(
            "most_percent",
            70,
            1..=100,
            "percent of the drive's time for which targets hold while others wait, divided alike; a stream that has had its part is like the others",
        ),
    ],
    measures: MEASURES,
    asks: &["claims"],
    prepared: false,
    promises: "",
    build: |knobs, env| Ok(Box::new(Slack::new(knobs, env.blueprint, env.seed)?)),
};
