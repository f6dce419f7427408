//! What can be set of `bfq`, and what it counts.

use super::super::waiting::{self, Reach};
use super::Bfq;
use crate::contract::{LEVELS, Scheduler};
use crate::measure::Measure;
use crate::registry::{ConfigError, Knob, Knobs, Spec, written};
use crate::units::Duration;

/// What can be set.
pub(super) struct Settings {
    pub(super) slice_idle: Duration,
    pub(super) timeout: Duration,
    /// 0 if it follows from the drive's rate.
    pub(super) max_budget: u64,
    pub(super) expire_sync: Duration,
    pub(super) expire_async: Duration,
    pub(super) reach: Reach,
    pub(super) low_latency: bool,
    pub(super) strict: bool,
    /// 0 if any number may wait.
    pub(super) nr_requests: u64,
    /// Writes count as waited for, whatever their requests say.
    pub(super) own_writes: bool,
    pub(super) raised_idle: Duration,
    pub(super) async_charge: u64,
    pub(super) foreign: u64,
    /// What the first request of a process is taken to come behind.
    pub(super) first_think: Duration,
}

impl Settings {
    pub(super) fn of(knobs: &Knobs) -> Settings {
        Settings {
            slice_idle: knobs.duration_ms("slice_idle_ms"),
            timeout: knobs.duration_ms("timeout_sync_ms"),
            max_budget: knobs.integer("max_budget"),
            expire_sync: knobs.duration_ms(waiting::EXPIRE_SYNC.name),
            expire_async: knobs.duration_ms(waiting::EXPIRE_ASYNC.name),
            reach: Reach::of(knobs),
            low_latency: knobs.flag("low_latency"),
            strict: knobs.flag("strict_guarantees"),
            nr_requests: knobs.integer("nr_requests"),
            own_writes: knobs.choice("writes") == "own",
            raised_idle: knobs.duration_ms("raised_idle_ms"),
            async_charge: knobs.integer("async_charge"),
            foreign: knobs.integer("foreign_requests"),
            first_think: match knobs.choice("first_think") {
                "long" => Duration::MAX,
                _ => Duration::ZERO,
            },
        }
    }

    /// With strict guarantees the drive waits for so long at least, as in Linux.
    const STRICT_IDLE: Duration = Duration::from_ms(8);

    /// Refuses what was given that nothing goes by, as no process is waited for, or none is
    /// favoured; and a wait that is too short for strict guarantees.
    fn refuse_idle(&self, knobs: &Knobs) -> Result<(), ConfigError> {
        if self.strict && self.slice_idle < Settings::STRICT_IDLE {
            let given = knobs.number("slice_idle_ms");
            let allowed =
                "8 or more with strict_guarantees = true, which waits for so long at least";
            return Err(ConfigError::value(
                "slice_idle_ms",
                &written(given),
                allowed,
            ));
        }
        let (waits, favours) = (self.slice_idle > Duration::ZERO, self.low_latency);
        let reason = |knob: &Knob| match knob.name {
            "first_think" | "raised_idle_ms" if !waits => {
                Some("slice_idle_ms = 0: the drive waits for nobody")
            }
            "raised_idle_ms" | "foreign_requests" if !favours => {
                Some("low_latency = false: nobody is favoured")
            }
            _ => None,
        };
        let idle = SPEC.knobs.iter().filter(|knob| reason(knob).is_some());
        let Some((knob, value)) = knobs.first_given(idle) else {
            return Ok(());
        };
        let why = reason(knob).expect("it is idle");
        let (key, allowed) = (
            format!("bfq.{}", knob.name),
            format!("left out where {why}"),
        );
        Err(ConfigError::value(&key, &value.to_string(), &allowed))
    }
}

pub(super) const MEASURES: &[Measure] = &[
    Measure::count("turns", "turns", "turns of queues"),
    Measure::count(
        "waits",
        "waits",
        "times that the drive waited for the queue that was served",
    ),
    Measure::count(
        "injected",
        "requests",
        "requests of others that were served during the turn of a queue",
    ),
    Measure::count(
        "raised",
        "times",
        "times that a queue was favoured, as interactive or soft real-time",
    ),
    Measure::count(
        "merged",
        "times",
        "times that a process came to share the queue of another",
    ),
];

pub(in crate::sched) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "bfq",
    aliases: &[],
    summary: "budget fair queueing: shares by weight, waiting for who is served, favour for interactive processes",
    source: "Valente and Checconi, IEEE Transactions on Computers 2010; Linux 6.12, block/bfq-iosched.c and Documentation/block/bfq-iosched.rst",
    knobs: &[
        Knob::number(
            "slice_idle_ms",
            8.0,
            0.0..=1_000.0,
            "milliseconds that the drive waits for the next request of the process that is served; 0 is not at all; 8 or more with strict_guarantees",
        ),
        Knob::integer(
            "timeout_sync_ms",
            125,
            1..=60_000,
            "milliseconds that a turn lasts at most; a favoured process has 30 times as long",
        ),
        Knob::integer(
            "max_budget",
            0,
            0..=2_147_483_647,
            "blocks that a turn may take; 0 is what the drive moves in timeout_sync_ms at its peak rate, as estimated",
        ),
        waiting::EXPIRE_SYNC,
        waiting::EXPIRE_ASYNC,
        waiting::BACK_SEEK_MAX,
        waiting::BACK_SEEK_PENALTY,
        Knob::flag(
            "low_latency",
            true,
            "whether interactive and soft real-time processes are favoured",
        ),
        Knob::flag(
            "strict_guarantees",
            false,
            "whether the drive always waits for the process that is served, and has one request at a time",
        ),
        Knob::integer(
            "nr_requests",
            0,
            0..=1_000_000,
            "requests that may be in the queue or on the drive, others wait before it; writes get a part of them, and each process its share; \
             Linux has twice the drive's depth, at most 256; 0 is no limit",
        ),
        Knob::choice(
            "writes",
            "told",
            &["told", "own"],
            "whose writes are: told = those that somebody waits for are the process's, the others share a queue for each priority; own = all are the process's",
        ),
        Knob::number(
            "raised_idle_ms",
            20.0,
            0.0..=1_000.0,
            "milliseconds that the drive waits at least for a favoured process",
        ),
        Knob::integer(
            "async_charge",
            3,
            1..=100,
            "times that writes are charged which nobody waits for, unless shares differ",
        ),
        Knob::integer(
            "foreign_requests",
            4,
            0..=1_000_000,
            "requests of others on the drive from which on it waits for a favoured process, though no other is busy; 0 is never",
        ),
        Knob::choice(
            "first_think",
            "long",
            &["long", "none"],
            "the think time that counts before the first request of a process: long = twice slice_idle_ms, as in Linux since 6.9, whose clock stands while requests are gathered; none = nothing, as before",
        ),
    ],
    measures: MEASURES,
    asks: &["claims", LEVELS],
    prepared: false,
    promises: "",
    build: |knobs, env| {
        let rotational = env.blueprint.revolution().is_some();
        Settings::of(knobs).refuse_idle(knobs)?;
        Ok(Box::new(Bfq::new(knobs, rotational)))
    },
};
