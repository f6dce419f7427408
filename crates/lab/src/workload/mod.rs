//! Workloads: what asks, and when. Open and closed loops have the same verbs.

use nearslot_core::request::{Reply, Request};
use nearslot_core::units::Instant;

/// Something that makes requests in virtual time.
pub trait Workload: Send {
    /// When the next request comes, as far as is known now; `None` while it waits for replies, and at the end.
    fn next_arrival(&self) -> Option<Instant>;

    /// The request that is due at `now`, if one is.
    fn poll(&mut self, now: Instant) -> Option<Request>;

    /// A request was answered.
    fn replied(&mut self, _now: Instant, _reply: &Reply) {}

    /// A fault of the world that ended the workload early, such as a trace that became unreadable.
    fn failure(&mut self) -> Option<WorkloadError> {
        None
    }
}

/// Why a workload could not go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// Its trace could not be read further.
    #[error(transparent)]
    Trace(#[from] crate::trace::TraceError),
}
