//! What to know before believing a trace.
//!
//! Units are judged by what no system does: rates and throughputs beyond any device, addresses
//! beyond any volume, lengths that are no multiple of a sector. Each threshold is far from what
//! real traces show, so silence proves nothing, but a warning is worth reading.

use nearslot_core::units::Blocks;
use nearslot_trace::{Anomaly, Sink, Spread, TimeKind, TraceOp};

use super::inspection::{GapOctaves, Inspection, Oddity};
use super::{Against, OUTSIZED_BYTES};
use crate::survey::Summary;
use crate::warning::{Warning, WarningKind};

/// No block device answers more requests per second (the reference folder's rule for traces).
const RATE_MAX_RPS: f64 = 1e7;
/// No host moves more: 16 drives on PCIe 5 x4 lanes give about 200 GB/s.
const THROUGHPUT_MAX_MB_S: f64 = 250_000.0;
/// A trace with fewer requests may be of an idle device.
const SLOW_REQUESTS_MIN: u64 = 10_000;
/// Slower than this, a busy trace is suspicious ...
const SLOW_RPS: f64 = 10.0;
/// ... if its shortest gaps are long as well ...
const SLOW_GAP_MS: f64 = 1.0;
/// ... and never five requests come within 100 ms: real idle devices have bursts.
const SLOW_PEAK_RPS: f64 = 50.0;
/// So slow that it takes more than a day for a thousand requests.
const STANDSTILL_RPS: f64 = 0.01;
/// Between units of time: ns, us, ms, s.
const FACTORS: [f64; 3] = [1e3, 1e6, 1e9];
/// Block layers split at a megabyte or two: if half of all requests are longer, it is another unit.
const MEDIAN_LENGTH_MAX: u64 = 4 << 20;
/// No single device is larger: 1 PiB.
const ADDRESS_MAX_BYTES: u64 = 1 << 50;
/// If fewer requests are aligned to sectors, or more have both offset and length in none, the unit
/// is another.
const ALIGNED_SHARE: f64 = 0.05;
const ODD_SHARE: f64 = 0.85;
/// With fewer requests nothing is said about units.
const JUDGED_MIN: u64 = 100;
/// More lost than this and the reference folder refuses a benchmark.
const LOST_SHARE_MAX: f64 = 0.001;
/// Formats that leave the unit of addresses and lengths open: tables. In all others it is fixed.
const TABLES: [&str; 2] = ["csv", "parquet"];
/// Devices that are listed.
const DEVICES_LISTED: usize = 8;

/// The warnings that doubt a unit.
const OF_UNITS: [WarningKind; 10] = [
    WarningKind::TimesTooShort,
    WarningKind::TimesTooLong,
    WarningKind::LatenciesTooLong,
    WarningKind::LatenciesTooShort,
    WarningKind::SectorsAsBytes,
    WarningKind::Unaligned,
    WarningKind::BytesAsSectors,
    WarningKind::LengthsTooLong,
    WarningKind::AddressAbsurd,
    WarningKind::Outsized,
];

/// What events that the tracer lost mean, if this share of all events is too large to be passed
/// over.
pub(super) fn lost(count: u64, share: f64) -> Option<Warning> {
    (share > LOST_SHARE_MAX).then(|| {
        let text = format!(
            "the tracer lost {count} events ({:.2} % of all): results speak of what is left",
            100.0 * share
        );
        Warning::new(WarningKind::LostEvents, text)
    })
}

/// Whether a warning doubts a unit: what doubts one falsifies every result.
pub(super) fn doubts_a_unit(warning: &Warning) -> bool {
    OF_UNITS.contains(&warning.kind)
}

/// Whether a warning says that waits are those of coarse time stamps.
pub(super) fn tells_coarse_times(warning: &Warning) -> bool {
    [WarningKind::OneSecondStamps, WarningKind::CoarseStamps].contains(&warning.kind)
}

/// What warnings need besides the inspection.
pub(super) struct More<'a> {
    pub(super) summary: &'a Summary,
    pub(super) against: &'a Against,
    pub(super) beyond: u64,
    pub(super) odd: u64,
    /// Records that were understood.
    pub(super) understood: u64,
    /// Whether offsets are addresses.
    pub(super) placed: bool,
}

/// All warnings, the gravest kinds first.
pub(super) fn warnings(found: &Inspection, more: &More<'_>) -> Vec<Warning> {
    let mut list = List(Vec::new());
    times(found, &mut list);
    latencies(found, &mut list);
    if more.placed {
        addresses(found, more, &mut list);
    }
    devices(found, &mut list);
    anomalies(found, more, &mut list);
    operations(found, more, &mut list);
    list.0
}

struct List(Vec<Warning>);

impl List {
    fn add(&mut self, kind: WarningKind, text: String) {
        self.0.push(Warning::new(kind, text));
    }
}

/// Whether nothing that is read of the trace says when requests came.
fn has_no_stamps(found: &Inspection) -> bool {
    found.notes.iter().any(|note| note == Sink::WITHOUT_TIME)
}

fn times(found: &Inspection, list: &mut List) {
    let coarse = found.time.resolution_ns > 1_000_000;
    if found.time.kind == TimeKind::None || (found.span_s <= 0.0 && found.requests > 1) {
        let what = match has_no_stamps(found) {
            true => "the trace has no times",
            false => "all requests have the same time",
        };
        let columns = match has_no_stamps(found) && found.format == "csv" {
            true => "; if a column has them under a name that is not known, --columns names it",
            false => "",
        };
        let text = format!("{what}: only a closed replay (--replay closed) makes sense{columns}");
        list.add(WarningKind::NoTimes, text);
        return;
    }
    if coarse || found.time.step_ns.is_some_and(|step| step >= 1_000_000_000) && found.requests > 2
    {
        coarse_times(found, list);
    }
    let Some(rate) = found.arrivals.mean_rps else {
        return;
    };
    if found.requests >= JUDGED_MIN {
        short_times(found, rate, list);
    }
    long_times(found, rate, coarse, list);
}

fn short_times(found: &Inspection, rate: f64, list: &mut List) {
    let peak = found.arrivals.peak_100ms_rps.unwrap_or(rate).max(rate);
    // Lengths that are none say nothing about time.
    let lengths_hold = found.footprint.outsized_requests == 0;
    let throughput = found
        .throughput
        .mean_mb_s
        .filter(|_| lengths_hold)
        .unwrap_or(0.0);
    let plausible =
        |factor: f64| peak / factor <= RATE_MAX_RPS && throughput / factor <= THROUGHPUT_MAX_MB_S;
    if !plausible(1.0) {
        let factor = FACTORS
            .into_iter()
            .find(|factor| plausible(*factor))
            .unwrap_or(1e9);
        list.add(
            WarningKind::TimesTooShort,
            format!(
                "{peak:.0} requests/s and {throughput:.0} MB/s are beyond any device: times look \
                 {factor:.0} times too short, or more. In a unit so much larger (--time-unit) it \
                 were {:.4} requests/s",
                rate / factor
            ),
        );
    }
}

fn long_times(found: &Inspection, rate: f64, coarse: bool, list: &mut List) {
    let gap_ms = found.arrivals.gap_p10_ms.unwrap_or(0.0);
    let peak = found.arrivals.peak_100ms_rps.unwrap_or(rate);
    let crawls = !coarse
        && found.requests >= SLOW_REQUESTS_MIN
        && rate < SLOW_RPS
        && gap_ms >= SLOW_GAP_MS
        && peak < SLOW_PEAK_RPS;
    let stands = found.requests >= SLOW_REQUESTS_MIN / 10 && rate < STANDSTILL_RPS;
    if (crawls || stands) && gaps_are_long(&found.arrivals.gaps, rate) {
        let factor = FACTORS
            .into_iter()
            .find(|factor| rate * factor >= 1.0)
            .unwrap_or(1e9);
        list.add(
            WarningKind::TimesTooLong,
            format!(
                "{} requests in {:.1} hours, hardly two within {gap_ms:.0} ms: times look \
                 {factor:.0} times too long. In a unit so much smaller (--time-unit) it would \
                 be {:.1} requests/s",
                found.requests,
                found.span_s / 3_600.0,
                rate * factor
            ),
        );
    }
}

/// Whether more than a tenth of the gaps that are any are a tenth as long as the mean one, about, or
/// longer: else a few pauses make the mean.
fn gaps_are_long(gaps: &GapOctaves, rate: f64) -> bool {
    let least_ns = 1e9 / rate / 10.0;
    let bins = gaps.from_ns.iter().zip(&gaps.gaps);
    let of = |least_ns: f64| {
        let long = bins
            .clone()
            .filter(|(from, _)| 2.0 * **from as f64 > least_ns);
        long.map(|(_, count)| *count).sum::<u64>()
    };
    of(least_ns) * 10 > of(0.0)
}

fn coarse_times(found: &Inspection, list: &mut List) {
    let step_ns = found
        .time
        .step_ns
        .unwrap_or(found.time.resolution_ns)
        .max(found.time.resolution_ns);
    let tick_ns = found.time.resolution_ns;
    let (step_s, tick_s) = (step_ns as f64 / 1e9, tick_ns as f64 / 1e9);
    let over = if step_ns > tick_ns {
        format!("{tick_s} s, their smallest unit")
    } else {
        "it".to_owned()
    };
    let spread = match found.time.spread {
        Some(Spread::Even) => format!("requests of one stamp were spread evenly over {over}"),
        Some(Spread::Poisson(_)) => {
            format!("requests of one stamp were spread at random over {over}")
        }
        _ => "requests of one stamp come all at once".to_owned(),
    };
    let spread_out = !matches!(found.time.spread, None | Some(Spread::None));
    let invented = if spread_out && step_ns > tick_ns {
        "so bursts and pauses are those of the stamps"
    } else {
        "so waits within a step are invented"
    };
    let kind = if step_ns == 1_000_000_000 {
        WarningKind::OneSecondStamps
    } else {
        WarningKind::CoarseStamps
    };
    list.add(
        kind,
        format!(
            "time stamps have steps of {step_s} s; {spread}, {invented} (--replay closed does without times)"
        ),
    );
}

fn latencies(found: &Inspection, list: &mut List) {
    for (name, latency) in [("response", found.response), ("service", found.service)] {
        let Some(latency) = latency.filter(|latency| latency.known >= JUDGED_MIN) else {
            continue;
        };
        let p50_ms = latency.p50_ms;
        if p50_ms > 10_000.0 {
            list.add(
                WarningKind::LatenciesTooLong,
                format!(
                    "half of the traced {name} times are above {p50_ms:.0} ms: is their unit right?"
                ),
            );
        } else if p50_ms < 0.001 {
            list.add(
                WarningKind::LatenciesTooShort,
                format!("half of the traced {name} times are below 1 us: is their unit right?"),
            );
        }
    }
}

/// What offsets and lengths say about their unit, where the format leaves it open.
fn units(found: &Inspection, more: &More<'_>) -> Option<Warning> {
    let media = more.summary.of(TraceOp::Read).requests + more.summary.of(TraceOp::Write).requests;
    let lengths_hold = found.footprint.outsized_requests == 0;
    if media < JUDGED_MIN || !lengths_hold {
        return None;
    }
    let open = found
        .format
        .split(", ")
        .any(|format| TABLES.contains(&format));
    let odd = more.odd as f64 / media as f64;
    let (alignment, median) = (&found.alignment, found.sizes.all?.p50_bytes);
    if open && odd > ODD_SHARE {
        let text = format!(
            "{:.0} % of offsets and lengths are no multiples of 512 bytes: are they sectors? \
             (--columns offset=..:sectors,len=..:sectors)",
            100.0 * odd
        );
        Some(Warning::new(WarningKind::SectorsAsBytes, text))
    } else if alignment.by_512_share < ALIGNED_SHARE {
        let text = "hardly a request is aligned to 512 bytes: are offsets or lengths in another \
                    unit, or those of files?";
        Some(Warning::new(WarningKind::Unaligned, text))
    } else if open && alignment.offsets_bytes.min(alignment.lengths_bytes) >= 512 * 512 {
        let text = "all offsets and lengths are multiples of 512 sectors: are they bytes that \
                    were read as sectors?";
        Some(Warning::new(WarningKind::BytesAsSectors, text.to_owned()))
    } else if open && median > MEDIAN_LENGTH_MAX {
        let text = format!(
            "half of the requests are {:.1} MB or longer, but systems split at one or two: are \
             lengths bytes that were read as sectors?",
            median as f64 / 1e6
        );
        Some(Warning::new(WarningKind::LengthsTooLong, text))
    } else {
        None
    }
}

fn addresses(found: &Inspection, more: &More<'_>, list: &mut List) {
    let end = more.summary.end_bytes();
    list.0.extend(units(found, more));
    if end > ADDRESS_MAX_BYTES {
        list.add(
            WarningKind::AddressAbsurd,
            format!(
                "the highest address is {:.1} PB: no device is that large; is the unit right?",
                end as f64 / 1e15
            ),
        );
    }
    if let (Some((drive, capacity)), true) = (&more.against.drive, more.beyond > 0) {
        list.add(
            WarningKind::BeyondDrive,
            beyond(drive, *capacity, end, more),
        );
    }
    if found.footprint.outsized_requests > 0 {
        list.add(
            WarningKind::Outsized,
            format!(
                "{} requests are longer than {} GiB: lengths in a wrong unit? They are left out of footprint and \
                 working set",
                found.footprint.outsized_requests,
                OUTSIZED_BYTES >> 30
            ),
        );
    }
}

fn beyond(drive: &str, capacity: Blocks, end: u64, more: &More<'_>) -> String {
    format!(
        "{} of {} requests ({:.1} %) end beyond {drive}, which has {:.2} GB; the highest address is at {:.2} GB. \
         Replays need --fit wrap, scale or truncate",
        more.beyond,
        more.summary.requests,
        100.0 * more.beyond as f64 / more.summary.requests as f64,
        capacity.bytes() as f64 / 1e9,
        end as f64 / 1e9
    )
}

fn devices(found: &Inspection, list: &mut List) {
    if found.devices.len() < 2 {
        return;
    }
    let listed = found.devices.iter().take(DEVICES_LISTED);
    let mut names: Vec<String> = listed
        .map(|device| format!("{} ({})", device.name, device.requests))
        .collect();
    if found.devices.len() > DEVICES_LISTED {
        names.push(format!("{} more", found.devices.len() - DEVICES_LISTED));
    }
    list.add(
        WarningKind::SeveralDevices,
        format!(
            "{} devices, whose addresses have nothing to do with each other: {}. Replays need --device, or --volumes",
            found.devices.len(),
            names.join(", ")
        ),
    );
}

/// What of a trace is not among its requests; `understood` records are of any device.
pub(super) fn left_out(oddity: &Oddity, understood: u64) -> Option<Warning> {
    let count = oddity.count;
    let example = oddity.examples.first();
    let example = example.map_or(String::new(), |example| format!(", such as: {example}"));
    let (kind, text) = match oddity.kind {
        Anomaly::BadRecord => {
            // Of all that was read: requests of other devices and beyond the limit were understood
            // as well.
            let all = understood + count;
            let percent = 100.0 * count as f64 / all as f64;
            let text = format!(
                "{count} of {all} records ({percent:.2} %) were not understood and left out{example}"
            );
            (WarningKind::BadRecords, text)
        }
        Anomaly::Truncated => (
            WarningKind::Truncated,
            format!("the trace ends within a record{example}"),
        ),
        Anomaly::BeyondAddressSpace => (
            WarningKind::BeyondAddressSpace,
            format!("{count} requests end beyond 2^63 bytes and were left out{example}"),
        ),
        Anomaly::ZeroLength => (
            WarningKind::ZeroLength,
            format!("{count} reads or writes of no bytes were left out{example}"),
        ),
        _ => return None,
    };
    Some(Warning::new(kind, text))
}

fn anomalies(found: &Inspection, more: &More<'_>, list: &mut List) {
    for oddity in &found.anomalies {
        if let Some(warning) = left_out(oddity, more.understood) {
            list.0.push(warning);
            continue;
        }
        let count = oddity.count;
        let example = oddity
            .examples
            .first()
            .map_or(String::new(), |e| format!(", such as: {e}"));
        match oddity.kind {
            Anomaly::DirectionGuessed => list.add(
                WarningKind::DirectionGuessed,
                format!("{count} requests do not say whether they read or write; they are taken as reads"),
            ),
            Anomaly::Inversion => list.add(
                WarningKind::NotMonotone,
                format!("{count} requests are stamped before the one before them; they were sorted{example}"),
            ),
            Anomaly::ClockStep => list.add(
                WarningKind::ClockStep,
                format!("{count} gaps of more than an hour, or steps of the clock{example}"),
            ),
            Anomaly::Failed => list.add(
                WarningKind::FailedCompletions,
                format!(
                    "{} with an error: such requests are there, and how long they took is left out",
                    match count {
                        1 => "1 completion came".to_owned(),
                        _ => format!("{count} completions came"),
                    }
                ),
            ),
            Anomaly::Lost => list.0.extend(lost(count, found.lost_share)),
            Anomaly::Oversized => list.add(
                WarningKind::Oversized,
                format!("{count} requests are longer than 64 MiB{example}"),
            ),
            _ => {}
        }
    }
}

fn operations(found: &Inspection, more: &More<'_>, list: &mut List) {
    let other = more.summary.of(TraceOp::Other).requests;
    if other > 0 {
        list.add(
            WarningKind::OtherOperations,
            format!("{other} operations have no equal here and are not replayed"),
        );
    }
    if found.read_share.is_none() {
        list.add(
            WarningKind::NoMedia,
            "there are neither reads nor writes".to_owned(),
        );
    }
}
