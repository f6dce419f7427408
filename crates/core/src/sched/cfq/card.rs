//! What can be set of `cfq`, and what it counts.
//!
//! Of what `claims` tell it goes by classes, levels, groups and their weights; a stream of no group
//! of which a weight is told is a group by itself. Queues of processes that read side by side stay
//! two, which Linux makes one; and nobody is passed over for ever, which Linux does not promise
//! (`trees.rs`, `mod.rs`).

use super::super::waiting::{self, Reach};
use super::Cfq;
use crate::contract::{LEVELS, Scheduler};
use crate::measure::Measure;
use crate::registry::{Knob, Knobs, Spec};
use crate::units::Duration;

/// What can be set.
pub(super) struct Settings {
    pub(super) slice: [Duration; 2],
    pub(super) slice_idle: Duration,
    pub(super) group_idle: Duration,
    pub(super) quantum: u64,
    pub(super) target: Duration,
    pub(super) low_latency: bool,
    pub(super) expire: [Duration; 2],
    pub(super) reach: Reach,
}

impl Settings {
    pub(super) fn of(knobs: &Knobs) -> Settings {
        Settings {
            slice: [
                knobs.duration_ms("slice_async_ms"),
                knobs.duration_ms("slice_sync_ms"),
            ],
            slice_idle: knobs.duration_ms("slice_idle_ms"),
            group_idle: knobs.duration_ms("group_idle_ms"),
            quantum: knobs.integer("quantum"),
            target: knobs.duration_ms("target_latency_ms"),
            low_latency: knobs.flag("low_latency"),
            expire: [
                knobs.duration_ms(waiting::EXPIRE_ASYNC.name),
                knobs.duration_ms(waiting::EXPIRE_SYNC.name),
            ],
            reach: Reach::of(knobs),
        }
    }
}

pub(super) const MEASURES: &[Measure] = &[
    Measure::count("slices", "slices", "times that a queue got the drive"),
    Measure::count(
        "waits",
        "waits",
        "times that the drive waited for the queue that was served",
    ),
];

pub(in crate::sched) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "cfq",
    aliases: &[],
    summary: "each process has the drive for a while, by time, in turns; groups share it by weight",
    source: "Linux 4.7, block/cfq-iosched.c and Documentation/block/cfq-iosched.txt",
    knobs: &[
        Knob::integer(
            "slice_sync_ms",
            100,
            1..=60_000,
            "milliseconds of a process of the middle level; each level is a fifth of it",
        ),
        Knob::integer(
            "slice_async_ms",
            40,
            1..=60_000,
            "the same of writes that nobody waits for",
        ),
        Knob::number(
            "slice_idle_ms",
            8.0,
            0.0..=1_000.0,
            "milliseconds that the drive waits for the next request of the process that is served; 0 is not at all",
        ),
        Knob::number(
            "group_idle_ms",
            8.0,
            0.0..=1_000.0,
            "the same for the only process of a group, while other groups have requests; 0 is not at all",
        ),
        Knob::integer(
            "quantum",
            8,
            1..=1_000_000,
            "requests of one process on the drive at most, while others wait",
        ),
        Knob::integer(
            "target_latency_ms",
            300,
            1..=60_000,
            "milliseconds in which all processes should have had their turn",
        ),
        Knob::flag(
            "low_latency",
            true,
            "whether slices are shortened for target_latency_ms, and writes let in little by little",
        ),
        waiting::EXPIRE_SYNC,
        waiting::EXPIRE_ASYNC,
        waiting::BACK_SEEK_MAX,
        waiting::BACK_SEEK_PENALTY,
    ],
    measures: MEASURES,
    asks: &["claims", LEVELS],
    prepared: false,
    promises: "",
    build: |knobs, env| {
        let rotational = env.blueprint.revolution().is_some();
        Ok(Box::new(Cfq::new(knobs, rotational)))
    },
};
