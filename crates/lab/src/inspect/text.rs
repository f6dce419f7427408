//! An inspection for people: a page of aligned lines, rows of little bars, warnings last.

use std::fmt::{self, Write as _};

use nearslot_trace::TimeKind;

use super::inspection::{Inspection, Latency, SizeSpread};
use crate::number::{self, duration, grouped, rate, rough};

/// Width of the labels on the left.
const LABEL: usize = 14;
/// Devices and clients that are listed.
const LISTED: usize = 6;

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        head(self, f)?;
        who(self, f)?;
        requests(self, f)?;
        places(self, f)?;
        when(self, f)?;
        observed(self, f)?;
        rows(self, f)?;
        oddities(self, f)
    }
}

fn line(f: &mut fmt::Formatter<'_>, label: &str, text: &str) -> fmt::Result {
    writeln!(f, "{label:<LABEL$}{text}")
}

fn head(found: &Inspection, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let version = found
        .format_version
        .as_ref()
        .map_or(String::new(), |v| format!(" {v}"));
    let files = match found.files.as_slice() {
        [only] => only.clone(),
        [first, ..] => format!("{first} and {} more", found.files.len() - 1),
        [] => String::new(),
    };
    line(f, "trace", &files)?;
    line(f, "format", &format!("{}{version}", found.format))?;
    for note in &found.notes {
        line(f, "", note)?;
    }
    line(f, "hash", &found.hash)?;
    let limited = if found.limited {
        " (stopped at the limit)"
    } else {
        ""
    };
    let span = match found.time.kind {
        TimeKind::None => String::new(),
        _ => format!(" in {}", duration(found.span_s)),
    };
    line(
        f,
        "requests",
        &format!("{}{span}{limited}", grouped(found.requests)),
    )?;
    if let Some(span) = found.span {
        line(f, "", &span.words())?;
    }
    let operations: Vec<String> = found
        .operations
        .iter()
        .map(|(name, op)| match op.bytes {
            0 => format!("{name} {}", grouped(op.requests)),
            _ => format!(
                "{name} {} ({})",
                grouped(op.requests),
                bytes(op.bytes as f64)
            ),
        })
        .collect();
    line(f, "operations", &operations.join(", "))?;
    if let (Some(requests), Some(of_bytes)) = (found.read_share, found.read_bytes_share) {
        let text = format!(
            "{} of reads and writes, {} of their bytes",
            percent(requests),
            percent(of_bytes)
        );
        line(f, "reads", &text)?;
    }
    Ok(())
}

/// So many things; in a tongue where one is not several.
fn things(count: u64, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        _ => format!("{} {thing}s", grouped(count)),
    }
}

fn who(found: &Inspection, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, device) in found.devices.iter().take(LISTED).enumerate() {
        let label = if index == 0 { "devices" } else { "" };
        let text = format!(
            "{}: {}, {}, {}, up to {}",
            device.name,
            things(device.requests, "request"),
            things(device.reads, "read"),
            things(device.writes, "write"),
            bytes(device.end_bytes as f64)
        );
        line(f, label, &text)?;
    }
    if found.devices.len() > LISTED {
        line(f, "", &format!("and {} more", found.devices.len() - LISTED))?;
    }
    if found.clients.count > 0 {
        let listed = found.clients.busiest.iter().take(LISTED);
        let listed: Vec<String> = listed
            .map(|client| format!("{} ({})", client.name, grouped(client.requests)))
            .collect();
        let text = format!("{}: {}", grouped(found.clients.count), listed.join(", "));
        line(f, "clients", &text)?;
    }
    Ok(())
}

fn requests(found: &Inspection, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let sizes = &found.sizes;
    let kinds = [
        ("sizes", sizes.all),
        ("  reads", sizes.reads),
        ("  writes", sizes.writes),
    ];
    let (reads, writes) = (sizes.reads.is_some(), sizes.writes.is_some());
    for (label, spread) in kinds {
        // One kind alone would say the same twice.
        if let Some(spread) = spread.filter(|_| label == "sizes" || reads && writes) {
            line(f, label, &size_spread(&spread))?;
        }
    }
    if !sizes.common.is_empty() {
        let common = sizes.common.iter();
        let common: Vec<String> = common
            .map(|size| format!("{} {}", bytes(size.bytes as f64), percent(size.share)))
            .collect();
        line(f, "  common", &common.join(", "))?;
    }
    let alignment = &found.alignment;
    let text = format!(
        "{} to 512 B, {} to 4 KiB, {} to 64 KiB",
        percent(alignment.by_512_share),
        percent(alignment.by_4k_share),
        percent(alignment.by_64k_share)
    );
    line(f, "aligned", &text)
}

fn size_spread(spread: &SizeSpread) -> String {
    format!(
        "min {}, median {}, mean {}, p95 {}, max {}",
        bytes(spread.min_bytes as f64),
        bytes(spread.p50_bytes as f64),
        bytes(spread.mean_bytes),
        bytes(spread.p95_bytes as f64),
        bytes(spread.max_bytes as f64)
    )
}

fn places(found: &Inspection, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let footprint = &found.footprint;
    let Some(touched) = footprint.bytes else {
        return line(
            f,
            "footprint",
            "unknown: object ids are no addresses without --block-size",
        );
    };
    let mut text = format!("{} touched", bytes(touched as f64));
    if footprint.sampled_one_in > 1 {
        let _ = write!(
            text,
            " (about: one in {} pieces sampled)",
            footprint.sampled_one_in
        );
    }
    let kinds = [
        (footprint.read_pages_again_share, "read"),
        (footprint.written_pages_again_share, "written"),
    ];
    let shares = kinds
        .into_iter()
        .filter_map(|(share, kind)| Some(format!("{} of the pages {kind}", percent(share?))));
    let shares: Vec<String> = shares.collect();
    if !shares.is_empty() {
        let _ = write!(
            text,
            "; {} were touched before (4 KiB each)",
            shares.join(" and ")
        );
    }
    line(f, "footprint", &text)?;
    let sequence = &found.sequentiality;
    let mut text = format!(
        "{} continue the request before on the device",
        percent(sequence.device_share)
    );
    if found.clients.count > 0 {
        let _ = write!(
            text,
            ", {} that of their client",
            percent(sequence.stream_share)
        );
    }
    line(f, "sequential", &text)
}

fn rates(found: &Inspection, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let arrivals = &found.arrivals;
    let mut rates = Vec::new();
    let named = [
        ("mean", arrivals.mean_rps),
        ("peak 1 s", arrivals.peak_1s_rps),
        ("peak 100 ms", arrivals.peak_100ms_rps),
    ];
    let told = |(_, rate): &(&str, Option<f64>)| !is_below(*rate, arrivals.mean_rps);
    for (name, per_second) in named.into_iter().filter(told) {
        rates.extend(per_second.map(|per_second| {
            let (many, unit) = rate(per_second);
            format!("{name} {}/{unit}", rough(many))
        }));
    }
    if !rates.is_empty() {
        line(f, "rate", &rates.join(", "))?;
    }
    Ok(())
}

/// Whether a peak is below the mean: windows lie side by side and the last of them is cut short, so
/// that where a load is even, or hardly longer than a window, none may hold as much as the mean.
/// Then none is the busiest.
fn is_below(peak: Option<f64>, mean: Option<f64>) -> bool {
    peak.zip(mean).is_some_and(|(peak, mean)| peak < mean)
}

fn when(found: &Inspection, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let arrivals = &found.arrivals;
    rates(found, f)?;
    let through = &found.throughput;
    if let (Some(mean), Some(read), Some(write)) =
        (through.mean_mb_s, through.read_mb_s, through.write_mb_s)
    {
        let peak = through.peak_1s_mb_s;
        let peak = peak.filter(|peak| !is_below(Some(*peak), Some(mean)));
        let peak = peak.map_or(String::new(), |p| format!(", peak 1 s {}", rough(p)));
        let (mean, read, write) = (rough(mean), rough(read), rough(write));
        line(
            f,
            "throughput",
            &format!("{mean} MB/s (read {read}, write {write}){peak}"),
        )?;
    }
    if let Some(cv) = arrivals.gap_cv {
        let mut text = format!("gaps vary by {cv:.2} of their mean (1 is random)");
        if !arrivals.dispersion.is_empty() {
            text += "; dispersion of counts";
            for scale in &arrivals.dispersion {
                let _ = write!(
                    text,
                    " {} {},",
                    duration(scale.window_s),
                    rough(scale.index)
                );
            }
            text.pop();
        }
        line(f, "bursts", &text)?;
    }
    let time = &found.time;
    if time.kind == TimeKind::None {
        return line(f, "time stamps", "none");
    }
    let mut text = format!("resolution {}", duration(time.resolution_ns as f64 / 1e9));
    if let Some(step) = time.step_ns.filter(|step| *step != time.resolution_ns) {
        let _ = write!(
            text,
            ", all are multiples of {}",
            duration(step as f64 / 1e9)
        );
    }
    line(f, "time stamps", &text)
}

fn observed(found: &Inspection, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let text = |latency: &Latency| {
        let Latency {
            mean_ms,
            p50_ms,
            p95_ms,
            p99_ms,
            max_ms,
            known,
        } = *latency;
        let ms = rough;
        let (mean, p50, p95) = (ms(mean_ms), ms(p50_ms), ms(p95_ms));
        let (p99, max) = (ms(p99_ms), ms(max_ms));
        let of = if known == found.requests {
            String::new()
        } else {
            format!(" ({} known)", grouped(known))
        };
        format!("mean {mean} ms, median {p50}, p95 {p95}, p99 {p99}, max {max}{of}")
    };
    if let Some(latency) = &found.response {
        line(f, "response", &text(latency))?;
    }
    if let Some(latency) = &found.service {
        line(f, "service", &text(latency))?;
    }
    if let Some(queue) = &found.queue {
        let mean = queue
            .mean
            .map_or(String::new(), |mean| format!("mean {}, ", rough(mean)));
        let text = format!(
            "{mean}arrivals make a depth of {} (median), {} (p95), at most {}",
            queue.p50, queue.p95, queue.max
        );
        line(f, "outstanding", &text)?;
    }
    Ok(())
}

fn rows(found: &Inspection, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let timeline = &found.timeline;
    if timeline.rate_rps.len() < 2 {
        return Ok(());
    }
    let rows = [
        ("rate", &timeline.rate_rps, "/s"),
        ("throughput", &timeline.throughput_mb_s, "MB/s"),
        ("working set", &timeline.working_set_mib, "MiB"),
    ];
    writeln!(
        f,
        "\nover time, each column {}:",
        duration(timeline.interval_s)
    )?;
    // Without addresses there is no working set.
    for (label, values, unit) in rows.into_iter().filter(|(_, values, _)| !values.is_empty()) {
        let max = values.iter().fold(0.0_f64, |max, value| max.max(*value));
        let (most, unit) = match rate(max) {
            (most, time) if unit == "/s" => (most, format!("/{time}")),
            _ => (max, format!(" {unit}")),
        };
        line(
            f,
            label,
            &format!("{}  max {}{unit}", bars(values, max), rough(most)),
        )?;
    }
    Ok(())
}

fn oddities(found: &Inspection, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if !found.anomalies.is_empty() {
        writeln!(f)?;
    }
    for (index, oddity) in found.anomalies.iter().enumerate() {
        let label = if index == 0 { "oddities" } else { "" };
        let kind = oddity.kind.name().replace('_', " ");
        line(f, label, &format!("{kind}: {}", grouped(oddity.count)))?;
        for example in &oddity.examples {
            line(f, "", &format!("  {example}"))?;
        }
    }
    if !found.warnings.is_empty() {
        writeln!(f)?;
    }
    for warning in &found.warnings {
        writeln!(f, "warning: {warning} [{}]", warning.kind.word())?;
    }
    Ok(())
}

/// A row of bars, one for each value; blank for 0.
fn bars(values: &[f64], max: f64) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |value: &f64| {
        if *value <= 0.0 {
            return ' ';
        }
        let step = libm::ceil(value / max * BARS.len() as f64) as usize;
        BARS[step.clamp(1, BARS.len()) - 1]
    };
    values.iter().map(bar).collect()
}

pub(super) fn percent(share: f64) -> String {
    number::percent(share, 1)
}

pub(super) fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024.0 {
        return format!("{bytes:.0} B");
    }
    let mut value = bytes / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let whole = (value - libm::round(value)).abs() < 1e-9;
    if whole {
        format!("{value:.0} {}", UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use nearslot_trace::{Header, Record, TraceOp};

    use super::*;
    use crate::inspect::{Against, Inspector};

    #[test]
    fn quantities_read_well() {
        assert_eq!(
            [0.0, 512.0, 4096.0, 6144.0, 1e12].map(bytes),
            ["0 B", "512 B", "4 KiB", "6 KiB", "931.3 GiB"]
        );
    }

    #[test]
    fn bars_rise_with_values() {
        assert_eq!(bars(&[0.0, 0.01, 0.5, 1.0], 1.0), " ▁▄█");
    }

    #[test]
    fn no_busiest_second_is_below_the_mean() {
        let told = |burst_ns: i64| {
            let read = |i: i64| Record::new(i / 16 * burst_ns, TraceOp::Read, 0, 4096, 0);
            let mut inspector = Inspector::new(Against::default());
            inspector.record(&(0..4_000).map(read).collect::<Vec<_>>());
            inspector
                .finish(&Header::made("toy", &["sda"], &[]))
                .to_string()
        };
        // Ten bursts a second: in windows side by side there are ten each, and from first to last
        // there is one more.
        let even = told(100_000_000);
        assert!(!even.contains("peak"), "{even}");
        // Eleven in some of them.
        let uneven = told(93_000_000);
        assert!(uneven.contains("peak 1 s"), "{uneven}");
    }
}
