//! Faults at rates and instants that are told, each kind by itself, so that two may be looked at
//! together.
//!
//! Some drives say so: sectors that cannot be read (latent sector errors), commands that are not
//! answered in time, a drive that is gone. Some are slow: with all commands or a share of them,
//! from an instant on. Some say nothing: writes that are reported done and are lost, go to another
//! place or are torn between two sectors, and sectors that rot. What a second drive cannot mend is
//! counted: reads that bring wrong blocks.
//!
//! All is drawn from the run's seed by hashing, so it does not depend on the order of questions and
//! needs no memory. A setting that cannot have an effect is an error. O(1) per command, and per 128
//! blocks of it if sectors go bad.
//!
//! How often these happen is told by Bairavasundaram, Goodson, Pasupathy and Schindler, "An
//! analysis of latent sector errors in disk drives", SIGMETRICS 2007; Bairavasundaram, Goodson,
//! Schroeder, Arpaci-Dusseau and Arpaci-Dusseau, "An analysis of data corruption in the storage
//! stack", FAST 2008 (lost and misdirected writes, bit rot); Gunawi and others, "Fail-slow at
//! scale", FAST 2018.

mod model;

use crate::contract::Faults;
use crate::fault::{CELL, MEASURES, Recovery};
use crate::ids::DriveId;
use crate::registry::{ConfigError, FaultsEnv, Knob, Knobs, Spec, written};
use crate::rng::Rng;
use crate::units::{Duration, Instant};

use model::{Decaying, Injected, Shares, Slow};

/// Most bad runs in a TiB: one in every cell.
const PER_TIB_MAX: f64 = (1_u64 << 31) as f64 / CELL as f64;

/// A time in seconds at most: ten years.
const SECONDS_MAX: f64 = 3.2e8;

/// How long a drive tries to read a sector, in milliseconds: what drives for arrays are set to by
/// SCT error recovery control.
const TRIES_MS: f64 = 7_000.0;

/// How long Linux waits for a command of a disk, in milliseconds.
const TIMEOUT_MS: f64 = 30_000.0;

const ALL: &str = "all";
const NEVER: &str = "never";

fn is_drive(word: &str) -> bool {
    word == ALL || word.parse::<u16>().is_ok()
}

fn is_instant(word: &str) -> bool {
    word == NEVER
        || word
            .parse()
            .is_ok_and(|at: f64| (0.0..=SECONDS_MAX).contains(&at))
}

const KNOBS: &[Knob] = &[
    Knob::number(
        "latent_per_tib",
        0.0,
        0.0..=PER_TIB_MAX,
        "runs of sectors in a TiB that cannot be read",
    ),
    Knob::integer(
        "latent_run_blocks",
        1,
        1..=CELL as i64,
        "latent_per_tib above 0: sectors in such a run",
    ),
    Knob::number(
        "latent_within_s",
        0.0,
        0.0..=SECONDS_MAX,
        "latent_per_tib above 0: each goes bad at an instant within so many seconds; 0 is before the run",
    ),
    Knob::flag(
        "latent_mend",
        true,
        "latent_per_tib above 0: whether a write to bad sectors mends them; if not, it fails there, too",
    ),
    Knob::number(
        "tries_ms",
        TRIES_MS,
        0.0..=1e6,
        "latent_per_tib above 0: how long the drive tries before it says that a sector is bad",
    ),
    Knob::number(
        "timeout_share",
        0.0,
        0.0..=1.0,
        "share of reads and writes that are not answered; such a write is carried out as a whole, in part or not at all",
    ),
    Knob::number(
        "timeout_ms",
        TIMEOUT_MS,
        0.001..=1e6,
        "timeout_share above 0: how long the host waits for an answer; if the drive is busy with the command for longer, until its end",
    ),
    Knob::text(
        "gone_at_s",
        NEVER,
        is_instant,
        "never, or a number from 0 to 320000000",
        "from so many seconds on a drive is gone, with everything on it",
    ),
    Knob::integer(
        "gone_drive",
        0,
        0..=65_535,
        "gone_at_s: which one, counted from 0",
    ),
    Knob::text(
        "second_gone_at_s",
        NEVER,
        is_instant,
        "never, or a number from 0 to 320000000",
        "gone_at_s: from so many seconds on another drive is gone, too",
    ),
    Knob::integer(
        "second_gone_drive",
        1,
        0..=65_535,
        "second_gone_at_s: which one, counted from 0",
    ),
    Knob::integer(
        "slow_factor",
        1,
        1..=1_000_000,
        "commands of a drive take so many times as long",
    ),
    Knob::number("slow_add_ms", 0.0, 0.0..=1e6, "and so much longer"),
    Knob::number(
        "slow_share",
        1.0,
        0.0..=1.0,
        "slow_factor above 1 or slow_add_ms above 0: share of its commands that are slow",
    ),
    Knob::number(
        "slow_from_s",
        0.0,
        0.0..=SECONDS_MAX,
        "slow_factor above 1 or slow_add_ms above 0: from when on",
    ),
    Knob::integer(
        "slow_drive",
        0,
        0..=65_535,
        "slow_factor above 1 or slow_add_ms above 0: which one, counted from 0",
    ),
    Knob::number(
        "lost_share",
        0.0,
        0.0..=1.0,
        "share of writes that are reported done and put nothing on the drive",
    ),
    Knob::number(
        "misdirected_share",
        0.0,
        0.0..=1.0,
        "share of writes that are reported done and go to another place of the drive",
    ),
    Knob::number(
        "torn_share",
        0.0,
        0.0..=1.0,
        "share of writes of several sectors that are reported done and put only the first of them on the drive",
    ),
    Knob::number(
        "rot_per_tib",
        0.0,
        0.0..=PER_TIB_MAX,
        "sectors in a TiB that are read as if nothing were wrong and hold something else, until they are written",
    ),
    Knob::number(
        "rot_within_s",
        0.0,
        0.0..=SECONDS_MAX,
        "rot_per_tib above 0: each rots at an instant within so many seconds; 0 is before the run",
    ),
    Knob::text(
        "drive",
        ALL,
        is_drive,
        "all, or the number of a drive, counted from 0",
        "on which drives all of these happen that do not name their own",
    ),
];

/// A mistake about a knob.
fn wrong(knob: &str, value: &str, allowed: &str) -> ConfigError {
    ConfigError::value(&format!("injected.{knob}"), value, allowed)
}

/// Refuses knobs that have no effect, since what they belong to does not happen.
fn refuse_idle(
    knobs: &Knobs,
    happens: bool,
    owners: &str,
    idle: &[&str],
) -> Result<(), ConfigError> {
    let idle = KNOBS.iter().filter(|knob| idle.contains(&knob.name));
    match knobs.first_given(idle).filter(|_| !happens) {
        None => Ok(()),
        Some((knob, value)) => {
            let allowed = format!("beside {owners}, without which it has no effect");
            Err(wrong(knob.name, &value.to_string(), &allowed))
        }
    }
}

/// A time in seconds.
fn seconds(knobs: &Knobs, name: &str) -> Duration {
    Duration::from_ms_f64(knobs.number(name) * 1e3)
}

/// The drive that a knob names.
fn one_drive(knob: &str, index: u64, env: &FaultsEnv<'_>) -> Result<DriveId, ConfigError> {
    let last = env.drives - 1;
    let found = u16::try_from(index).ok().filter(|index| *index <= last);
    let allowed = match last {
        0 => "0, as there is one drive".to_owned(),
        _ => format!("a drive that there is: 0 to {last}"),
    };
    found
        .map(DriveId)
        .ok_or_else(|| wrong(knob, &index.to_string(), &allowed))
}

fn decaying(knobs: &Knobs, name: &str, len: u64) -> Decaying {
    Decaying {
        chance: knobs.number(&format!("{name}_per_tib")) / PER_TIB_MAX,
        len,
        within: seconds(knobs, &format!("{name}_within_s")),
    }
}

fn shares(knobs: &Knobs) -> Result<Shares, ConfigError> {
    let [timeout, lost, misdirected, torn] = [
        "timeout_share",
        "lost_share",
        "misdirected_share",
        "torn_share",
    ]
    .map(|name| knobs.number(name));
    let all = timeout + lost + misdirected + torn;
    if all > 1.0 {
        let allowed = "at most 1, as one command has one of these fates";
        let key = "timeout_share + lost_share + misdirected_share + torn_share";
        return Err(wrong(key, &written(all), allowed));
    }
    Ok(Shares {
        timeout,
        lost: timeout + lost,
        misdirected: timeout + lost + misdirected,
        torn: all,
    })
}

fn slow(knobs: &Knobs, env: &FaultsEnv<'_>) -> Result<Option<Slow>, ConfigError> {
    let (factor, extra) = (
        knobs.integer("slow_factor"),
        knobs.duration_ms("slow_add_ms"),
    );
    let share = knobs.number("slow_share");
    let slower = factor > 1 || extra > Duration::ZERO;
    let owners = "slow_factor above 1 or slow_add_ms above 0";
    refuse_idle(
        knobs,
        slower,
        owners,
        &["slow_share", "slow_from_s", "slow_drive"],
    )?;
    if !slower {
        return Ok(None);
    }
    if share <= 0.0 {
        return Err(wrong(
            "slow_share",
            "0",
            "more than 0, as no command would be slow",
        ));
    }
    Ok(Some(Slow {
        drive: one_drive("slow_drive", knobs.integer("slow_drive"), env)?,
        from: Instant::ZERO + seconds(knobs, "slow_from_s"),
        share,
        factor: factor as u32,
        extra,
    }))
}

/// Drives that are gone, each from an instant on.
type Away = [Option<(DriveId, Instant)>; 2];

/// The knobs of each: from when on, and which drive.
const AWAY: [[&str; 2]; 2] = [
    ["gone_at_s", "gone_drive"],
    ["second_gone_at_s", "second_gone_drive"],
];

fn one_gone(
    knobs: &Knobs,
    [at, which]: [&str; 2],
    env: &FaultsEnv<'_>,
) -> Result<Option<(DriveId, Instant)>, ConfigError> {
    let from = knobs.choice(at);
    refuse_idle(knobs, from != NEVER, at, &[which])?;
    if from == NEVER {
        return Ok(None);
    }
    let from: f64 = from.parse().expect("the card allows numbers");
    let drive = one_drive(which, knobs.integer(which), env)?;
    let from = Instant::ZERO + Duration::from_ms_f64(from * 1e3);
    Ok(Some((drive, from)))
}

fn gone(knobs: &Knobs, env: &FaultsEnv<'_>) -> Result<Away, ConfigError> {
    let first = one_gone(knobs, AWAY[0], env)?;
    refuse_idle(knobs, first.is_some(), AWAY[0][0], &AWAY[1])?;
    let second = one_gone(knobs, AWAY[1], env)?;
    if let (Some((one, _)), Some((other, _))) = (first, second)
        && one == other
    {
        let allowed = "another drive than gone_drive";
        return Err(wrong(AWAY[1][1], &other.0.to_string(), allowed));
    }
    Ok([first, second])
}

/// Whether a drive is gone at that instant.
fn is_gone(gone: Away, drive: DriveId, from: Instant) -> bool {
    let mut gone = gone.iter().flatten();
    gone.any(|(gone, at)| *gone == drive && *at <= from)
}

/// Which of the two a drive is that is gone.
fn which_gone(gone: Away, drive: DriveId) -> usize {
    let is_own = |one: &Option<(DriveId, Instant)>| one.is_some_and(|(gone, _)| gone == drive);
    gone.iter().position(is_own).expect("it is gone")
}

/// Refuses a slow drive that is gone when it is to become slow.
fn refuse_slow(
    knobs: &Knobs,
    gone: Away,
    slow: Option<Slow>,
    env: &FaultsEnv<'_>,
) -> Result<(), ConfigError> {
    let Some(slow) = slow.filter(|slow| is_gone(gone, slow.drive, slow.from)) else {
        return Ok(());
    };
    let drive = slow.drive.0;
    let own = which_gone(gone, slow.drive);
    let at = knobs.choice(AWAY[own][0]);
    let never = format!("drive {drive} is gone from {at} s on and is never slow");
    let others = env.drives > 1;
    if gone[own].is_some_and(|(_, from)| from == Instant::ZERO) {
        // No instant is soon enough: the drive is the wrong one.
        let allowed = match others {
            true => format!("a number from 0 to {} other than {drive}", env.drives - 1),
            false => "no slow drive at all".to_owned(),
        };
        let allowed = format!("{allowed}: {never}");
        return Err(wrong("slow_drive", &drive.to_string(), &allowed));
    }
    let another = match others {
        true => format!(", or any beside a slow_drive other than {drive}"),
        false => String::new(),
    };
    let allowed = format!("less than {} = {at}{another}: {never}", AWAY[own][0]);
    let from = written(knobs.number("slow_from_s"));
    Err(wrong("slow_from_s", &from, &allowed))
}

/// The one drive on which happens what names none of its own, if it is not all.
fn only_drive(
    knobs: &Knobs,
    gone: Away,
    anywhere: bool,
    env: &FaultsEnv<'_>,
) -> Result<Option<DriveId>, ConfigError> {
    let word = knobs.choice("drive");
    let one = match word {
        ALL => None,
        _ => {
            let index = word.parse().expect("the card allows numbers");
            Some(one_drive("drive", index, env)?)
        }
    };
    let never = |drive| is_gone(gone, drive, Instant::ZERO);
    if anywhere && env.drives == 1 && never(DriveId(0)) {
        let allowed = "more than 0 beside a rate or a share above 0: there is one drive, and nothing more goes wrong with one that is gone";
        return Err(wrong("gone_at_s", knobs.choice("gone_at_s"), allowed));
    }
    if let Some(gone_one) = one.filter(|one| never(*one)) {
        let own = AWAY[which_gone(gone, gone_one)][1];
        let last = env.drives - 1;
        let allowed = format!(
            "all, or a number from 0 to {last} other than {own} = {word}: nothing more goes wrong with a drive that is gone from \
             the begin on"
        );
        return Err(wrong("drive", word, &allowed));
    }
    Ok(one)
}

fn build(knobs: &Knobs, env: &FaultsEnv<'_>) -> Result<Box<dyn Faults>, ConfigError> {
    let shares = shares(knobs)?;
    let latent = decaying(knobs, "latent", knobs.integer("latent_run_blocks"));
    let rot = decaying(knobs, "rot", 1);
    let of_latent = [
        "latent_run_blocks",
        "latent_within_s",
        "latent_mend",
        "tries_ms",
    ];
    refuse_idle(
        knobs,
        latent.chance > 0.0,
        "latent_per_tib above 0",
        &of_latent,
    )?;
    refuse_idle(
        knobs,
        rot.chance > 0.0,
        "rot_per_tib above 0",
        &["rot_within_s"],
    )?;
    refuse_idle(
        knobs,
        shares.timeout > 0.0,
        "timeout_share above 0",
        &["timeout_ms"],
    )?;
    let (gone, slow) = (gone(knobs, env)?, slow(knobs, env)?);
    let anywhere = latent.chance + rot.chance + shares.torn > 0.0;
    refuse_idle(knobs, anywhere, "a rate or a share above 0", &["drive"])?;
    refuse_slow(knobs, gone, slow, env)?;
    if !anywhere && gone[0].is_none() && slow.is_none() {
        let allowed = "with something that goes wrong: latent_per_tib, timeout_share, slow_factor, slow_add_ms, lost_share, \
                       misdirected_share, torn_share or rot_per_tib above these defaults, or gone_at_s";
        return Err(ConfigError::value("faults", "injected", allowed));
    }
    let drive = only_drive(knobs, gone, anywhere, env)?;
    Ok(Box::new(Injected {
        key: Rng::stream(env.seed, env.label).bits(),
        capacity: env.capacity,
        anywhere,
        drive,
        decaying: [latent, rot],
        shares,
        timeout: knobs.duration_ms("timeout_ms"),
        gone,
        slow,
        recovery: Recovery {
            tries: knobs.duration_ms("tries_ms"),
            writes_mend: knobs.flag("latent_mend"),
        },
    }))
}

pub(super) static SPEC: Spec<dyn Faults> = Spec {
    name: "injected",
    aliases: &["mixed"],
    summary: "bad sectors, drives that are gone or slow, commands without an answer, and what no drive tells, each as often as told",
    source: "Bairavasundaram and others, SIGMETRICS 2007 and FAST 2008; Gunawi and others, FAST 2018",
    knobs: KNOBS,
    measures: MEASURES,
    asks: &[],
    prepared: false,
    promises: "",
    build,
};
