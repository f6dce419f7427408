//! Requests of the warm-up that a scheduler passes over for as long as others come.
//!
//! Which requests are measured is decided by their numbers, so that runs under all schedulers
//! measure the same ones. One of the warm-up that is answered when nothing else is left is
//! therefore in no percentile and in no maximum, and a scheduler that starves it looks as if it
//! starved nobody. Its time is told beside the numbers, not among them: they would no longer be of
//! the same requests.

use crate::measure::Starved;
use crate::number::number;
use crate::warning::{Warning, WarningKind};

/// That requests of the warm-up took far longer than all that were measured.
pub(super) fn starved(label: &str, starved: Option<Starved>) -> Option<Warning> {
    let Starved {
        count,
        longest_ms,
        measured_ms,
    } = starved?;
    let told = match count {
        1 => "a request of the warm-up took".to_owned(),
        _ => format!("{count} requests of the warm-up took up to"),
    };
    let text = format!(
        "{told} {} ms, while the longest that was measured took {} ms: who came before the measured part began was passed over for as long as others came, and is in \
         none of these numbers; --warmup 0 measures all requests",
        number(longest_ms),
        number(measured_ms)
    );
    Some(Warning::new(WarningKind::StarvedWarmUp, text).of_run(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_waited_are_told_with_how_long() {
        assert_eq!(starved("run", None), None);
        let told = |count| {
            let found = Starved {
                count,
                longest_ms: 12_000.0,
                measured_ms: 400.0,
            };
            starved("run", Some(found)).unwrap().text
        };
        let one = told(1);
        assert!(
            one.starts_with("a request of the warm-up took 12000 ms"),
            "{one}"
        );
        assert!(one.contains("was measured took 400.0 ms"), "{one}");
        let some = told(3);
        assert!(
            some.starts_with("3 requests of the warm-up took up to 12000 ms"),
            "{some}"
        );
    }
}
