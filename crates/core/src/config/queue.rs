//! A drive's own queue: the one place that knows drives and schedulers.

use std::sync::Arc;

use super::PartConfig;
use crate::contract::{Blueprint, Scheduler};
use crate::drive::queued::{DEPTH_KNOB, QueuedBlueprint, SCHED_KNOB};
use crate::registry::{self, ConfigError, DriveEnv, KnobValue, Knobs};

/// Puts a queue around a drive if its knobs want one.
///
/// # Errors
/// There is no such scheduler, or one is named for a drive without a queue.
pub(super) fn around(
    drive: &str,
    bare: Box<dyn Blueprint>,
    knobs: &Knobs,
    seed: u64,
) -> Result<Box<dyn Blueprint>, ConfigError> {
    let knob = |name| knobs.iter().find(|(key, _)| *key == name);
    let Some((_, KnobValue::Text(word))) = knob(SCHED_KNOB.name) else {
        return Ok(bare);
    };
    let depth = knobs.integer(DEPTH_KNOB) as u32;
    if depth == 1 {
        let allowed =
            format!("{DEPTH_KNOB} above 1 beside it, as a queue of one command has no order");
        let idle = knobs.check_idle([&SCHED_KNOB].into_iter(), &allowed);
        return idle.map(|()| bare).map_err(|mut error| {
            error.key = format!("drive {drive}: {}", error.key);
            error
        });
    }
    let named = |mut error: ConfigError| {
        error.key = format!("drive {drive}: {}: {}", SCHED_KNOB.name, error.key);
        error
    };
    let part: PartConfig = word.parse().map_err(named)?;
    let build = move |blueprint: &dyn Blueprint| {
        part.build::<dyn Scheduler>(&DriveEnv {
            seed,
            label: "drive/sched",
            blueprint,
        })
    };
    build(&*bare).map_err(named)?;
    let scheduler = move |blueprint: &dyn Blueprint| build(blueprint).expect("it was built before");
    Ok(Box::new(QueuedBlueprint::new(
        bare,
        depth,
        Arc::new(scheduler),
    )))
}

/// Where the setting of a scheduler goes that was given as one of its drive: on a command line a
/// colon ends the scheduler's name.
pub(super) fn of_scheduler(error: ConfigError, drive: &PartConfig) -> ConfigError {
    let named = drive.knobs.iter().find(|(key, _)| key == SCHED_KNOB.name);
    let scheduler = named
        .map(|(_, value)| value.to_string())
        .unwrap_or_default();
    let card = registry::find::<dyn Scheduler>(&scheduler).map(|spec| spec.card());
    let is_of = |knob: &str| {
        card.as_ref()
            .is_ok_and(|card| card.knobs.iter().any(|own| own.name == knob))
    };
    let refused = |key: &str| error.key == format!("unknown knob of {} `{key}`", drive.name);
    let mut given = drive.knobs.iter();
    let Some((key, value)) = given.find(|(key, _)| refused(key) && is_of(key)) else {
        return error;
    };
    let allowed = format!(
        "a setting of {scheduler}, which stands with it in a scenario's table or in the drive's file: \
         {} = \"{scheduler}:{key}={value}\"",
        SCHED_KNOB.name
    );
    ConfigError::value(
        &format!("{}.{key}", drive.name),
        &value.to_string(),
        &allowed,
    )
}

/// Why a placement that leaves addresses open refuses a drive with a queue.
pub(super) fn no_open_addresses(depth: u32, placement: &PartConfig) -> ConfigError {
    let allowed = format!(
        "1 with place = {}, which gives a write its address when the heads are there: where they are, a drive that sorts \
         its commands does not tell",
        placement.name
    );
    ConfigError::value(DEPTH_KNOB, &depth.to_string(), &allowed)
}

/// A scheduler that lists the places of range writes is not given more of them than it lists.
///
/// # Errors
/// The placement makes offers of more.
pub(super) fn check_listed(scheduler: &str, (places, most): (u64, u64)) -> Result<(), ConfigError> {
    if places <= most {
        return Ok(());
    }
    let allowed = format!(
        "a scheduler that lists no places, as satf, where a placement offers up to {places} of them; this one lists {most} at most"
    );
    Err(ConfigError::value("sched", scheduler, &allowed))
}
