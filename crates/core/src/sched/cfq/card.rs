//! What can be set of `cfq`, and what it counts.

use super::super::waiting::Reach;
use super::Cfq;
use crate::contract::Scheduler;
use crate::measure::Measure;
use crate::registry::{Knob, Knobs, Spec};
use crate::units::{Blocks, Duration};

/// Writes in a row, for each level: four times so many of the most urgent one.
const ASYNC_ROUND: u64 = 2;

/// What can be set.
pub(super) struct Settings {
    pub(super) slice: [Duration; 2],
    pub(super) slice_idle: Duration,
    pub(super) async_round: u64,
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
            async_round: ASYNC_ROUND,
            quantum: knobs.integer("quantum"),
            target: knobs.duration_ms("target_latency_ms"),
            low_latency: knobs.flag("low_latency"),
            expire: [
                knobs.duration_ms("fifo_expire_async_ms"),
                knobs.duration_ms("fifo_expire_sync_ms"),
            ],
            reach: Reach {
                back_max: Blocks(2 * knobs.integer("back_seek_max_kib")),
                penalty: knobs.integer("back_seek_penalty"),
            },
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
    summary: "each process has the drive for a while, by time, in turns",
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
        Knob::integer(
            "fifo_expire_sync_ms",
            125,
            0..=3_600_000,
            "milliseconds after which a request that somebody waits for jumps the order of its process, once a slice",
        ),
        Knob::integer(
            "fifo_expire_async_ms",
            250,
            0..=3_600_000,
            "the same of writes that nobody waits for",
        ),
        Knob::integer(
            "back_seek_max_kib",
            16_384,
            0..=1_073_741_824,
            "KiB backward that are still a way to the next request",
        ),
        Knob::integer(
            "back_seek_penalty",
            2,
            1..=1_000,
            "what a distance backward is multiplied by",
        ),
    ],
    measures: MEASURES,
    asks: &["claims"],
    prepared: false,
    build: |knobs, env| {
        let rotational = env.blueprint.revolution().is_some();
        Ok(Box::new(Cfq::new(knobs, rotational)))
    },
};
