//! What the numbers of an inspection say, as sentences: the headline of its page and what stands
//! below.
//!
//! A sentence is made for each question that a reader brings: is the load even, is it spread over
//! the addresses, what would a cache do, how long are requests. Those with an answer far from even
//! come first.

use super::inspection::Inspection;
use super::pictures::{Cells, Held, Reuse};
use super::text::{bytes, percent};
use crate::number::{counted, duration, grouped, rough};

/// A busiest second of so many times the mean is worth a headline.
const PEAK_TELLING: f64 = 5.0;
/// Fewer requests than this in the busiest window are chance, not a burst.
const PEAK_REQUESTS_MIN: f64 = 10.0;
/// Below this the load is even.
const PEAK_EVEN: f64 = 1.2;
/// Two thirds of the requests in so little of the addresses are worth one as well.
const PLACES_TELLING: f64 = 0.1;
/// Of fewer requests than this nothing is told of where they are: two lie in two places, whatever
/// the load is.
const PLACED_MIN: u64 = 30;
/// Below this share nothing is said to be read again.
const HELD_LITTLE: f64 = 0.05;
/// A cache is large enough if it holds this share of what an unlimited one would hold.
const HELD_ENOUGH: f64 = 0.9;
/// From this share on it is told that requests have the same time.
const TOGETHER_TOLD: f64 = 0.05;

/// A sentence, and whether it is worth a headline.
type Finding = Option<(bool, String)>;

/// Adds the sentences to the pictures, the most telling first; at least one.
pub(super) fn tell(found: &mut Inspection) {
    let all: [Finding; 6] = [
        peak(found),
        places(found),
        cache(found),
        sizes(found),
        together(found),
        Some((false, mix(found))),
    ];
    let (telling, plain): (Vec<_>, Vec<_>) =
        all.into_iter().flatten().partition(|(telling, _)| *telling);
    if let Some(pictures) = &mut found.pictures {
        let both = telling.into_iter().chain(plain);
        pictures.findings = both.map(|(_, sentence)| sentence).collect();
    }
}

fn peak(found: &Inspection) -> Finding {
    let arrivals = &found.arrivals;
    let mean = arrivals.mean_rps?;
    let second = arrivals.peak_1s_rps.map(|peak| ("second", peak, peak));
    let tenth = arrivals.peak_100ms_rps;
    let tenth = tenth.map(|peak| ("100 ms", peak, peak / 10.0));
    let (window, peak, most) = second.or(tenth)?;
    if most < PEAK_REQUESTS_MIN && mean < 1.0 {
        return Some((true, rare(mean, libm::round(most) as u64, window)));
    }
    let times = peak / mean;
    if times < 1.0 {
        // The trace ends within its first windows, which are not full.
        return None;
    }
    let rates = format!("{} requests/s against {}", rough(peak), rough(mean));
    let text = match times {
        even if even < PEAK_EVEN => {
            format!(
                "The load is even: the busiest {window} has hardly more than the mean rate, {rates}."
            )
        }
        times => format!(
            "The busiest {window} has {} times the mean rate: {rates}.",
            few_digits(times)
        ),
    };
    let telling = times >= PEAK_TELLING && most >= PEAK_REQUESTS_MIN;
    Some((telling, text))
}

/// Of a load with less than a request a second, and no burst: how far its requests are apart.
fn rare(mean_rps: f64, most: u64, window: &str) -> String {
    let apart = duration(1.0 / mean_rps);
    let most = counted(most, "request");
    format!("Requests are rare: one every {apart} on average, and the busiest {window} has {most}.")
}

fn places(found: &Inspection) -> Finding {
    let heat = found.pictures.as_ref()?.heat.as_ref()?;
    let enough = |of: fn(&Cells) -> &Vec<u64>| {
        let cells = heat.maps.iter().flat_map(|map| of(&map.cells));
        cells.sum::<u64>() >= PLACED_MIN
    };
    let writes = heat.writes_two_thirds_share;
    let reads = heat.reads_two_thirds_share;
    let kinds = [
        ("writes", writes.filter(|_| enough(|cells| &cells.writes))),
        ("reads", reads.filter(|_| enough(|cells| &cells.reads))),
    ];
    let mut known: Vec<(&str, f64)> = kinds
        .into_iter()
        .filter_map(|(kind, share)| Some((kind, share?)))
        .collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (least_kind, least) = *known.first()?;
    let mut text = format!(
        "Two thirds of the {least_kind} begin in {} of the addresses",
        percent(least)
    );
    for (kind, share) in &known[1..] {
        text += &format!(", two thirds of the {kind} in {}", percent(*share));
    }
    text.push('.');
    Some((least <= PLACES_TELLING, text))
}

fn cache(found: &Inspection) -> Finding {
    let reuse = found.pictures.as_ref()?.reuse.as_ref()?;
    let footprint = &found.footprint;
    let (verb, held, again) = match (&reuse.reads, &reuse.writes) {
        (Some(reads), _) => ("read", reads, footprint.read_pages_again_share),
        (None, Some(writes)) => ("written", writes, footprint.written_pages_again_share),
        (None, None) => return None,
    };
    // A cache of any size holds what was touched before. The footprint counts the same, with a
    // larger sample or none.
    let sampled = held.held_share.last().copied()?;
    let finer = footprint.sampled_one_in < reuse.sampled_one_in;
    let most = again.filter(|_| finer).unwrap_or(sampled);
    if most < HELD_LITTLE {
        let text = format!(
            "Hardly a block is {verb} that was touched before: a cache of any size would have held {} of the blocks {verb}.",
            percent(most)
        );
        return Some((false, text));
    }
    Some((false, large_enough(reuse, held, verb, most)))
}

/// The size of a cache that comes near to one of any size, which holds the share `most`.
fn large_enough(reuse: &Reuse, held: &Held, verb: &str, most: f64) -> String {
    let shares = held.held_share.iter().zip(&reuse.cache_bytes);
    let mut enough = shares.filter(|(share, _)| **share >= HELD_ENOUGH * most);
    let Some((share, size)) = enough.next() else {
        return format!(
            "How large a cache must be is not told by the one in {} blocks that was followed; one of any size would have held {} \
             of the blocks {verb}.",
            reuse.sampled_one_in,
            percent(most)
        );
    };
    // An estimate may be above what there is.
    let (share, most) = (percent(share.min(most)), percent(most));
    let any = match share == most {
        true => "a larger one no more".to_owned(),
        false => format!("one of any size {most}"),
    };
    let (about, estimated) = match reuse.sampled_one_in {
        1 => ("", String::new()),
        sampled => (
            "about ",
            format!(", as estimated from one in {sampled} blocks"),
        ),
    };
    format!(
        "A cache of {} that drops what was touched longest ago would have held {about}{share} of the blocks {verb}{estimated}; {any}.",
        bytes(*size as f64),
    )
}

fn sizes(found: &Inspection) -> Finding {
    let most = found.sizes.common.first()?;
    let size = bytes(most.bytes as f64);
    Some((
        false,
        format!(
            "The most common size is {size}: {} of reads and writes.",
            percent(most.share)
        ),
    ))
}

fn together(found: &Inspection) -> Finding {
    let gaps = &found.arrivals.gaps;
    let all = gaps.zero + gaps.gaps.iter().sum::<u64>();
    let share = gaps.zero as f64 / all.max(1) as f64;
    let text = format!(
        "{} of the requests have the time stamp of the one before.",
        percent(share)
    );
    (share >= TOGETHER_TOLD).then_some((false, text))
}

fn mix(found: &Inspection) -> String {
    let requests = grouped(found.requests);
    match (found.read_share, found.read_bytes_share) {
        (Some(share), Some(of_bytes)) => format!(
            "Of {requests} requests, {} are reads, with {} of the bytes.",
            percent(share),
            percent(of_bytes)
        ),
        _ => format!("Among {requests} requests there is no read and no write."),
    }
}

/// Whole from 10 on.
fn few_digits(times: f64) -> String {
    if times < 9.95 {
        format!("{times:.1}")
    } else {
        grouped(libm::round(times) as u64)
    }
}

#[cfg(test)]
mod tests {
    use nearslot_trace::{Header, Record, TraceOp};

    use super::super::{Against, Inspector};
    use super::*;

    fn found(records: &[Record]) -> Vec<String> {
        let mut inspector = Inspector::with_pictures(Against::default());
        inspector.record(records);
        let found = inspector.finish(&Header::made("toy", &["sda"], &[]));
        found.pictures.unwrap().findings
    }

    /// A write each second, nine in ten to the same block of a large volume; 50 more in the last
    /// second, all reads of that block.
    fn bursty() -> Vec<Record> {
        let place = |i: u64| if i.is_multiple_of(10) { i << 30 } else { 0 };
        let write =
            |i: u64| Record::new(i as i64 * 1_000_000_000, TraceOp::Write, place(i), 8192, 0);
        let read = Record::new(99_000_000_000, TraceOp::Read, 0, 4096, 0);
        let mut records: Vec<Record> = (0..100).map(write).collect();
        records.extend([read; 50]);
        records
    }

    #[test]
    fn what_is_far_from_even_comes_first() {
        assert_eq!(
            found(&bursty()),
            [
                "The busiest second has 34 times the mean rate: 51.0 requests/s against 1.51.",
                "Two thirds of the writes begin in 1.1 % of the addresses, two thirds of the reads in 1.1 %.",
                "A cache of 4 KiB that drops what was touched longest ago would have held 98.0 % of the blocks read; \
                 one of any size 100.0 %.",
                "The most common size is 8 KiB: 66.7 % of reads and writes.",
                "33.6 % of the requests have the time stamp of the one before.",
                "Of 150 requests, 33.3 % are reads, with 20.0 % of the bytes.",
            ]
        );
    }

    #[test]
    fn an_even_load_is_called_even() {
        let read = |i: u64| Record::new(i as i64 * 10_000_000, TraceOp::Read, i << 20, 4096, 0);
        let found = found(&(0..1_000).map(read).collect::<Vec<_>>());
        assert!(found[0].starts_with("The load is even: the busiest second has hardly more"));
        assert!(found[2].starts_with("Hardly a block is read that was touched before"));
        assert!(
            found[1].starts_with("Two thirds of the reads begin in 67.2 %"),
            "{}",
            found[1]
        );
    }

    #[test]
    fn a_few_requests_are_nowhere_in_particular() {
        let mut records: Vec<Record> = (0..1_000)
            .map(|i| Record::new(i * 10_000_000, TraceOp::Read, (i as u64) << 20, 4096, 0))
            .collect();
        records.extend([0, 8].map(|at| Record::new(10_000_000_000, TraceOp::Write, at, 4096, 0)));
        let found = found(&records);
        assert!(
            !found
                .iter()
                .any(|sentence| sentence.contains("writes begin")),
            "{found:?}"
        );
    }

    /// 136 ms, faster at the end: the second window of 100 ms is not full, the first one below the
    /// mean.
    #[test]
    fn a_trace_shorter_than_a_window_has_no_busiest_one() {
        let at = |i: i64| {
            if i < 100 {
                i * 1_000_000
            } else {
                100_000_000 + (i - 100) * 360_000
            }
        };
        let read = |i: i64| Record::new(at(i), TraceOp::Read, 0, 4096, 0);
        let found = found(&(0..200).map(read).collect::<Vec<_>>());
        assert!(
            found.iter().all(|sentence| !sentence.contains("rate")),
            "{found:?}"
        );
    }

    #[test]
    fn there_is_always_something_to_say() {
        assert_eq!(
            found(&[]),
            ["Among 0 requests there is no read and no write."]
        );
    }

    /// An inspection with pictures, whose numbers a test then sets.
    fn made(records: &[Record]) -> Inspection {
        let mut inspector = Inspector::with_pictures(Against::default());
        inspector.record(records);
        inspector.finish(&Header::made("toy", &["sda"], &[]))
    }

    #[test]
    fn a_load_is_even_or_bursty_from_a_ratio_on() {
        let mut one = made(&bursty());
        one.arrivals.mean_rps = Some(100.0);
        let mut of = |rate: f64| {
            one.arrivals.peak_1s_rps = Some(rate);
            let (telling, text) = peak(&one).unwrap();
            (telling, text.starts_with("The load is even"))
        };
        assert_eq!(of(119.0), (false, true));
        assert_eq!(of(120.0), (false, false));
        assert_eq!(of(499.0), (false, false));
        assert_eq!(of(500.0), (true, false));
    }

    #[test]
    fn places_are_told_of_enough_requests_and_lead_where_they_are_few() {
        let mut one = made(&bursty());
        let mut of = |share: f64| {
            let heat = one.pictures.as_mut().unwrap().heat.as_mut().unwrap();
            heat.writes_two_thirds_share = Some(share);
            heat.reads_two_thirds_share = None;
            places(&one).unwrap().0
        };
        assert_eq!([of(0.1), of(0.101)], [true, false]);
        let writes = |count: i64| {
            let write = |i| Record::new(i * 1_000_000, TraceOp::Write, (i as u64) << 20, 4096, 0);
            places(&made(&(0..count).map(write).collect::<Vec<_>>())).is_some()
        };
        assert_eq!([writes(29), writes(30)], [false, true]);
    }

    #[test]
    fn a_cache_is_told_from_a_share_on_and_is_large_enough_with_nine_tenths_of_it() {
        let mut one = made(&bursty());
        let mut of = |held_share: &[f64]| {
            let reuse = one.pictures.as_mut().unwrap().reuse.as_mut().unwrap();
            reuse.cache_bytes = vec![4_096, 8_192, 16_384];
            reuse.reads.as_mut().unwrap().held_share = held_share.to_vec();
            cache(&one).unwrap().1
        };
        assert!(of(&[0.0, 0.0, 0.049]).starts_with("Hardly a block"));
        assert!(of(&[0.0, 0.0, 0.05]).starts_with("A cache of 16 KiB"));
        assert!(of(&[0.449, 0.45, 0.5]).starts_with("A cache of 8 KiB"));
        assert!(of(&[0.449, 0.449, 0.5]).starts_with("A cache of 16 KiB"));
    }

    /// A cache that misses now and then does not hold all.
    #[test]
    fn shares_of_nearly_all_are_not_told_as_all() {
        let mut one = made(&bursty());
        let reuse = one.pictures.as_mut().unwrap().reuse.as_mut().unwrap();
        reuse.cache_bytes = vec![4_096, 8_192];
        reuse.reads.as_mut().unwrap().held_share = vec![0.95, 0.9996];
        let said = cache(&one).unwrap().1;
        assert!(said.ends_with("; one of any size 99.96 %."), "{said}");
        (one.read_share, one.read_bytes_share) = (Some(0.999_99), Some(1.0));
        let said = mix(&one);
        assert!(
            said.ends_with("99.999 % are reads, with 100.0 % of the bytes."),
            "{said}"
        );
    }

    #[test]
    fn requests_at_the_same_time_are_told_from_a_share_on() {
        let mut one = made(&bursty());
        let mut of = |zero: u64| {
            let gaps = &mut one.arrivals.gaps;
            gaps.zero = zero;
            gaps.gaps = vec![1_000 - zero];
            together(&one).is_some()
        };
        assert_eq!([of(49), of(50)], [false, true]);
    }

    /// Where blocks are sampled and the footprint is not, what any cache would hold is what the
    /// footprint counts.
    #[test]
    fn a_sampled_curve_does_not_contradict_what_was_counted() {
        let mut one = made(&bursty());
        let mut of = |held_share: &[f64], again: f64| {
            one.footprint.read_pages_again_share = Some(again);
            let reuse = one.pictures.as_mut().unwrap().reuse.as_mut().unwrap();
            (reuse.sampled_one_in, reuse.cache_bytes) = (8, vec![4_096, 8_192, 16_384]);
            reuse.reads.as_mut().unwrap().held_share = held_share.to_vec();
            cache(&one).unwrap().1
        };
        assert_eq!(
            of(&[0.0, 0.0, 0.0], 0.016),
            "Hardly a block is read that was touched before: a cache of any size would have held 1.6 % of the blocks read."
        );
        assert_eq!(
            of(&[0.2, 0.29, 0.31], 0.3),
            "A cache of 8 KiB that drops what was touched longest ago would have held about 29.0 % of the blocks read, as \
             estimated from one in 8 blocks; one of any size 30.0 %."
        );
        let above = of(&[0.2, 0.2, 0.31], 0.3);
        assert!(above.contains("held about 30.0 % of"), "{above}");
        assert!(above.ends_with("; a larger one no more."), "{above}");
        assert_eq!(
            of(&[0.0, 0.0, 0.1], 0.3),
            "How large a cache must be is not told by the one in 8 blocks that was followed; one of any size would have held 30.0 % of the blocks read."
        );
    }

    #[test]
    fn a_few_requests_over_days_are_rare_and_no_burst() {
        let read = |i: i64| Record::new(i * 283_000_000_000, TraceOp::Read, 0, 4096, 0);
        let mut records: Vec<Record> = (0..900).map(read).collect();
        records.insert(
            500,
            Record::new(499 * 283_000_000_000 + 5, TraceOp::Read, 0, 4096, 0),
        );
        let expected = "Requests are rare: one every 4 min 43 s on average, and the busiest second has 2 requests.";
        assert_eq!(found(&records)[0], expected);
        // Ten in a second are a burst.
        let more = |i: i64| Record::new(499 * 283_000_000_000 + i, TraceOp::Read, 0, 4096, 0);
        records.splice(500..500, (0..8).map(more));
        assert!(
            found(&records)[0].starts_with("The busiest second has "),
            "{:?}",
            found(&records)
        );
    }
}
