//! Requests that found the drive idle: whether there are enough, and if not, what the others found.
//!
//! Of a request that waited in the drive nobody can say what it waited for, so most estimates need
//! those that did not.

use super::CalibrateError;
use super::samples::Samples;
use crate::number::counted;

/// An error if too few requests found the drive idle, with why that is so and which trace would do.
pub(super) fn enough(
    found: usize,
    needed: usize,
    what: &str,
    samples: &Samples,
) -> Result<(), CalibrateError> {
    if found >= needed {
        return Ok(());
    }
    Err(CalibrateError::NeverIdle {
        found,
        needed,
        what: what.to_owned(),
        why: why(samples),
    })
}

/// What the requests found that did not find the drive idle.
fn why(samples: &Samples) -> String {
    let mut before: Vec<u32> = samples
        .all
        .iter()
        .map(|sample| sample.outstanding - 1)
        .filter(|before| *before > 0)
        .collect();
    before.sort_unstable();
    let (Some(least), Some(most)) = (before.first(), before.last()) else {
        return "no request was issued while another was outstanding: a longer trace has more of them".to_owned();
    };
    let middle = before[before.len() / 2];
    let others = if least == most {
        counted(*most, "earlier one")
    } else {
        format!("{least} to {most} earlier ones, {middle} as a median,")
    };
    let were = if *most == 1 { "was" } else { "were" };
    let all = samples.all.len();
    let mut why = format!(
        "of {}, {} were issued while {others} {were} outstanding",
        counted(all as u64, "timed request"),
        before.len()
    );
    let untimed = samples.untimed + samples.other + samples.odd;
    if untimed > 0 {
        why += &format!(
            "; each of {} without a time that can be used counts as outstanding until a later one has completed",
            counted(untimed, "request")
        );
    }
    why + ". A trace of a quiet hour (--from, --to), of one request at a time (queue depth 1), or --probe tells more"
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearslot_core::op::Op;

    use crate::calibrate::Sample;

    /// The error of a load that keeps so many outstanding.
    fn error(depth: u64) -> String {
        let sample = |index: u64| Sample::new(10 * index, Op::Read, 0, 8, 10 * depth);
        let mut samples = Samples::of((0..500).map(sample).collect()).unwrap();
        samples.untimed = 7;
        let idle = samples.all.iter().filter(|sample| sample.outstanding == 1);
        let error = enough(idle.count(), 200, "to tell an arm", &samples);
        error.map_err(|error| error.to_string()).unwrap_err()
    }

    #[test]
    fn a_queue_that_is_never_empty_is_told_with_its_length() {
        let text = error(4);
        assert!(
            text.starts_with(
                "1 request found the drive idle; at least 200 are needed to tell an arm: "
            ),
            "{text}"
        );
        assert!(text.contains("of 500 timed requests, 499 were issued while 1 to 3 earlier ones, 3 as a median, were outstanding"), "{text}");
        assert!(text.contains("each of 7 requests without a time"), "{text}");
        assert!(text.contains("queue depth 1"), "{text}");
        let text = error(2);
        assert!(
            text.contains("499 were issued while 1 earlier one was outstanding"),
            "{text}"
        );
    }
}
