//! What the page says of the trace itself: the few findings of an inspection that explain why
//! schedulers differ on it.

use serde::Serialize;

use crate::inspect::{Inspection, SizeSpread};

/// Findings as the page reads them; keys carry their units.
#[derive(Serialize)]
pub(super) struct Profile {
    requests: u64,
    span_s: f64,
    read_share: Option<f64>,
    size_p50_bytes: Option<u64>,
    size_mean_bytes: Option<f64>,
    size_max_bytes: Option<u64>,
    footprint_bytes: u64,
    sequential_share: f64,
    rate_mean_rps: Option<f64>,
    rate_peak_1s_rps: Option<f64>,
    rate_peak_100ms_rps: Option<f64>,
    gap_cv: Option<f64>,
    traced_response_mean_ms: Option<f64>,
    traced_queue_mean: Option<f64>,
    interval_s: f64,
    rate_rps: Vec<f64>,
    working_set_mib: Vec<f64>,
}

impl Profile {
    pub(super) fn of(inspection: &Inspection) -> Profile {
        let sizes = inspection.sizes.all.as_ref();
        let arrivals = &inspection.arrivals;
        let timeline = &inspection.timeline;
        let size = |of: fn(&SizeSpread) -> u64| sizes.map(of);
        Profile {
            requests: inspection.requests,
            span_s: inspection.span_s,
            read_share: inspection.read_share,
            size_p50_bytes: size(|sizes| sizes.p50_bytes),
            size_mean_bytes: sizes.map(|sizes| sizes.mean_bytes),
            size_max_bytes: size(|sizes| sizes.max_bytes),
            // A replay is refused where it is not known.
            footprint_bytes: inspection.footprint.bytes.unwrap_or_default(),
            sequential_share: inspection.sequentiality.device_share,
            rate_mean_rps: arrivals.mean_rps,
            rate_peak_1s_rps: arrivals.peak_1s_rps,
            rate_peak_100ms_rps: arrivals.peak_100ms_rps,
            gap_cv: arrivals.gap_cv,
            traced_response_mean_ms: inspection.response.as_ref().map(|times| times.mean_ms),
            traced_queue_mean: inspection.queue.as_ref().and_then(|queue| queue.mean),
            interval_s: timeline.interval_s,
            rate_rps: timeline.rate_rps.clone(),
            working_set_mib: timeline.working_set_mib.clone(),
        }
    }
}
