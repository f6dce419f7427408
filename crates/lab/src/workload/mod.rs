//! Workloads: what asks, and when. Open and closed loops have the same verbs.
//!
//! A trace is replayed by [`open`], [`closed`] or [`dependent`], which share [`intake`] and
//! [`fit`]. A synthetic workload is a file here and a line in [`TABLE`]; what `host` is made of
//! lies in `lab/src/host/`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nearslot_core::config::PartConfig;
use nearslot_core::contract::{Blueprint, Geometry};
use nearslot_core::offer::Offer;
use nearslot_core::op::Failure;
use nearslot_core::registry;
use nearslot_core::registry::{
    ConfigError, Kind, KindCard, KnobValue, Knobs, Memo, Of, Spec, written,
};
use nearslot_core::request::{Reply, Request};
use nearslot_core::units::{Blocks, Duration, Instant};
use nearslot_core::zones::ZoneShape;

use crate::outcome::{ApplicationFound, Number, ProcessFound, Progress, Run};

use self::closed::Refill;
use self::told::Told;

mod access;
pub mod closed;
pub mod dependent;
pub mod fit;
pub mod intake;
pub mod layout;
pub mod open;
pub mod sampled;
pub(crate) mod told;

/// The longest that a run may last by its arrivals: 146 years, so that answers still have a time.
pub(crate) const LONGEST: Duration = Duration(1 << 62);

registry! { Synthetic;
    iometer,
    poisson,
    oltp,
    spc1,
    host,
    ranges,
    tpcb,
    filesystem,
}

/// What a synthetic workload may know of its surroundings.
#[derive(Clone, Copy)]
pub struct LoadEnv<'a> {
    /// The run's seed.
    pub seed: u64,
    /// This workload's own name for its random stream.
    pub label: &'a str,
    /// Blocks that requests may address.
    pub capacity: Blocks,
    /// How many places a range write may offer.
    pub places_max: u64,
    /// What lies below, if the workload asks for that ([`asks_drive`]).
    pub drive: Option<Below<'a>>,
}

/// Why a load is not made whose table of a drive was given up. Nobody sees it: whoever stops a run
/// does not ask what became of it.
fn given_up() -> ConfigError {
    ConfigError::value("workload", "given up", "one that is not told to stop")
}

impl LoadEnv<'_> {
    /// Where the tracks of a drive lie, if it has tracks and the workload asks.
    fn geometry(&self) -> Option<Arc<dyn Geometry>> {
        self.drive.and_then(|below| below.blueprint.geometry())
    }

    /// How a drive is cut into zones, if it is and the workload asks.
    fn zones(&self) -> Option<ZoneShape> {
        self.drive.and_then(|below| below.blueprint.zones())
    }
}

/// The drives below a workload, all alike, and how they make a volume.
#[derive(Clone, Copy)]
pub struct Below<'a> {
    /// What is known of a drive.
    pub blueprint: &'a dyn Blueprint,
    /// Everything that it was made of, in words.
    pub identity: &'a str,
    /// The name of the placement.
    pub place: &'a str,
    /// What was measured of an equal drive before.
    pub memo: &'a dyn Memo,
}

impl Kind for Synthetic {
    const CARD: KindCard = KindCard {
        key: "workload",
        word: "workload",
        plural: "workloads",
        summary: "a synthetic load, in place of a trace",
        asked: false,
        within: None,
        needs: None,
    };

    type Env<'a> = LoadEnv<'a>;

    type Error = ConfigError;

    fn table() -> &'static [&'static Spec<Synthetic>] {
        TABLE
    }
}

/// The key of measures on cards of workloads.
pub(crate) const MEASURED: &str = Synthetic::CARD.key;

/// Whether the journal of a run wrote nothing any more before all transactions were committed.
pub(crate) fn gave_up(run: &Run) -> bool {
    run.happened(MEASURED, "gave_up")
}

/// A synthetic workload, ready to run.
pub struct Synthetic {
    /// What makes the requests.
    pub workload: Box<dyn Workload>,
    /// How many it will make; `None` where that hangs on the answers.
    pub requests: Option<u64>,
    /// How many are in flight at once, if it is a closed loop.
    pub depth: Option<u64>,
}

/// Finds, checks and builds a synthetic workload; also gives its configuration with every default
/// spelled out.
///
/// # Errors
/// No such workload, a knob that is unknown or not allowed, a request that cannot fit the drive.
pub fn synthetic(
    part: &PartConfig,
    env: &LoadEnv<'_>,
) -> Result<(Synthetic, PartConfig), ConfigError> {
    let effective = part.spelled_out(Of::<Synthetic>::KIND)?;
    Ok((*part.build::<Synthetic>(env)?, effective))
}

/// Whether a synthetic workload keeps a number of requests in flight, as its card says.
pub(crate) fn keeps_a_depth(part: &PartConfig) -> bool {
    has_knob(part, "depth")
}

/// Whether requests of a synthetic workload wait for answers, as its card says.
pub(crate) fn waits(part: &PartConfig) -> bool {
    keeps_a_depth(part) || is_host(part)
}

/// Whether a synthetic workload is made of processes, told of or so many, or of clients of a system
/// of transactions: which requests come hangs on the answers.
pub(crate) fn is_host(part: &PartConfig) -> bool {
    PROCESSES.iter().any(|key| has_knob(part, key)) || has_knob(part, tpcb::CLIENTS.name)
}

/// The knobs of workloads that are made of processes.
const PROCESSES: [&str; 2] = ["process", "processes"];

/// Whether a synthetic workload makes range writes, as its card or its settings say.
pub(crate) fn offers(part: &PartConfig) -> bool {
    has_knob(part, ranges::TARGETS.name) || tpcb::offers(part) || filesystem::offers(part)
}

/// Whether a synthetic workload makes range writes and others, in place, as its card says: the
/// zones of a drive take no such load.
pub(crate) fn offers_and_writes_in_place(part: &PartConfig) -> bool {
    offers(part) && !has_knob(part, ranges::TARGETS.name)
}

/// Whether a synthetic workload asks what the drives below are like, as its card says.
pub(crate) fn asks_drive(part: &PartConfig) -> bool {
    offers(part) || has_knob(part, tpcb::SKIP.name)
}

/// Whether requests of a synthetic workload come with another class of priority than best effort.
pub(crate) fn has_classes(part: &PartConfig) -> bool {
    host::has_classes(part)
}

/// Files that a synthetic workload reads.
pub(crate) fn files(part: &PartConfig) -> Vec<PathBuf> {
    host::files(part)
}

/// Files that it names are those relative to this directory.
pub(crate) fn in_folder(part: &mut PartConfig, directory: &Path) {
    host::in_folder(part, directory);
}

/// Whether a synthetic workload has a knob of this name.
pub(crate) fn has_knob(part: &PartConfig, key: &str) -> bool {
    let name = part.name.as_str();
    let spec = TABLE
        .iter()
        .find(|spec| spec.name == name || spec.aliases.contains(&name));
    spec.is_some_and(|spec| spec.knobs.iter().any(|knob| knob.name == key))
}

/// The workloads that have all of these knobs.
pub(crate) fn having(keys: &[&str]) -> Vec<&'static str> {
    let has = |spec: &&&Spec<Synthetic>, key: &str| spec.knobs.iter().any(|knob| knob.name == key);
    let all = TABLE
        .iter()
        .filter(|spec| keys.iter().all(|key| has(spec, key)));
    all.map(|spec| spec.name).collect()
}

/// Writes that a workload with batches puts at an instant, on average, if nothing is said.
pub(crate) const BATCH_DEFAULT: f64 = 8.0;

/// The lowest rate at which so many requests, that come `batch` at an instant, do not outlast
/// virtual time. A mean of random gaps is near its expectation only where there are many: of few,
/// each may be fifty times as long.
pub(crate) fn slowest_rate_rps(requests: u64, batch: f64) -> f64 {
    (requests as f64 + 50.0 * batch) * 1e9 / LONGEST.0 as f64
}

/// The fewest business units of a load like that of SPC-1 with which so many requests do not
/// outlast virtual time.
pub(crate) fn fewest_bsus(requests: u64) -> u64 {
    spc1::fewest(requests)
}

/// Whether requests at this rate come within virtual time.
///
/// # Errors
/// They do not.
fn check_rate(name: &str, requests: u64, rate_rps: f64, batch: f64) -> Result<(), ConfigError> {
    let slowest = slowest_rate_rps(requests, batch);
    if rate_rps >= slowest {
        return Ok(());
    }
    let allowed =
        format!("at least {slowest:.3e}, at which {requests} requests take about 146 years");
    Err(ConfigError::value(
        &format!("{name}.rate_rps"),
        &written(rate_rps),
        &allowed,
    ))
}

/// The share of reads that a synthetic workload is told to make; `None` if it is wrong or has no
/// such knob.
pub(crate) fn read_share(part: &PartConfig) -> Option<f64> {
    match knob(part, "read_share")? {
        KnobValue::Number(share) => Some(share),
        KnobValue::Integer(share) => Some(share as f64),
        KnobValue::Text(_) | KnobValue::Flag(_) => None,
    }
}

/// How many requests a synthetic workload is told to keep in flight; `None` if it is wrong or keeps
/// no such number.
pub(crate) fn depth(part: &PartConfig) -> Option<u64> {
    match knob(part, "depth")? {
        KnobValue::Integer(depth) => u64::try_from(depth).ok(),
        _ => None,
    }
}

/// What a knob of a synthetic workload is in effect; `None` if that is wrong or has no such knob.
fn knob(part: &PartConfig, key: &str) -> Option<KnobValue> {
    let spec = registry::find::<Synthetic>(&part.name).ok()?;
    let knobs = Knobs::check(spec.name, spec.knobs, &part.knobs).ok()?;
    let found = knobs.iter().find(|(known, _)| *known == key);
    found.map(|(_, value)| value.clone())
}

/// Something that makes requests in virtual time.
pub trait Workload: Send {
    /// When the next request comes, as far as is known now; `None` while it waits for replies, and
    /// at the end.
    fn next_arrival(&self) -> Option<Instant>;

    /// The request that is due at `now`, if one is.
    fn poll(&mut self, now: Instant) -> Option<Request>;

    /// What the range write offers that was made last, and how many completions of range writes
    /// were heard of then.
    fn offer(&mut self) -> (Arc<Offer>, u64) {
        panic!("a workload without range writes was asked for an offer")
    }

    /// A request was answered.
    fn replied(&mut self, _now: Instant, _reply: &Reply) {}

    /// Whether a request that failed so is made again, so that it is no failure of what the load
    /// wanted.
    fn asks_again(&self, _failure: Failure) -> bool {
        false
    }

    /// When a request comes that an answer brings at its own instant.
    fn refill(&self) -> Refill {
        Refill::After
    }

    /// Names of the streams that its requests are of, by number; none if they are of one.
    fn streams(&self) -> &[String] {
        &[]
    }

    /// A fault of the world that ended the workload early, such as a trace that became unreadable.
    fn failure(&mut self) -> Option<WorkloadError> {
        None
    }

    /// What its trace tells of response times; `None` where they would not be of the same load.
    fn told(&self) -> Option<&Told> {
        None
    }

    /// What its processes have done, if it is made of such.
    fn processes(&self) -> Vec<ProcessFound> {
        Vec::new()
    }

    /// How soon each application was up that it was to start.
    fn applications(&self) -> Vec<ApplicationFound> {
        Vec::new()
    }

    /// What it has measured itself, by the names of [`crate::host::MEASURES`] or of its card, and
    /// the key under which that is told.
    fn measures(&self) -> (&'static str, Vec<(&'static str, Number)>) {
        (MEASURED, Vec::new())
    }

    /// When it started applications, and when each was up, the first few times.
    fn startups(&self) -> &[(Instant, Option<Instant>)] {
        &[]
    }

    /// Whether it has done work of its own that it counts, so that a run tells something though no
    /// request was needed.
    fn works(&self) -> bool {
        false
    }

    /// How far it has come at this instant, where its requests do not tell that.
    fn progress(&self, _now: Instant) -> Option<Progress> {
        None
    }

    /// What of the workload's source was left out or changed so far.
    fn tally(&self) -> Tally {
        Tally::default()
    }
}

/// What a replay could not do as the trace has it. Results show every count that is not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// Operations that the engine has no equal of; left out.
    pub other: u64,
    /// Requests beyond the drive that `--fit truncate` left out.
    pub beyond: u64,
    /// Requests that `--fit wrap` or `--fit scale` put elsewhere.
    pub moved: u64,
    /// Writes that asked for a flush before them; replayed without it.
    pub preflush: u64,
    /// Dependent replay: requests that came later than inferred, because the trace was not read far
    /// enough ahead.
    pub late: u64,
    /// Dependent replay: requests whose response time the trace does not tell and the guess stood
    /// for.
    pub guessed: u64,
}

/// Why a workload could not go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// Its trace could not be read further.
    #[error(transparent)]
    Trace(#[from] nearslot_trace::TraceError),
}

#[cfg(test)]
mod tests {
    use nearslot_core::op::{Cost, Status};
    use nearslot_core::request::Timeline;

    use super::*;

    /// The answer to `request` at `now`.
    pub(super) fn reply(request: Request, now: Instant) -> Reply {
        Reply {
            request,
            status: Status::Done,
            timeline: Timeline {
                arrived: request.arrived,
                started: request.arrived,
                replied: now,
                cost: Cost::default(),
            },
        }
    }
}
