//! That a log gave up: it has no time at which all was on the medium, and who reads its other
//! numbers has to know why. So it is with a file system of which requests failed, and with a
//! journal and transactions a second.

use crate::filesystem;
use crate::outcome::Run;
use crate::warning::{Warning, WarningKind};
use crate::workload;

/// That the log of a run wrote nothing any more before all was on the medium, or its journal before
/// all was committed; or that requests of its file system failed before.
pub(super) fn gave_up(run: &Run) -> Option<Warning> {
    if workload::gave_up(run) {
        let text = "the journal gave up, as a request failed that it needs: what it had not committed was never done, so there are no \
                    transactions a second, and the run is compared with none";
        return Some(Warning::new(WarningKind::GaveUp, text).of_run(&run.label));
    }
    if !filesystem::gave_up(run) {
        let text = "requests of the file system failed, and what they were to write or read was never done: so there is no time until all was on the \
                    medium, and the run is compared with none";
        let told = || Warning::new(WarningKind::GaveUp, text).of_run(&run.label);
        return filesystem::is_undone(run).then(told);
    }
    let reason = match run.failed.values().sum::<u64>() {
        0 => "cleaning gained no room any more",
        _ => "what leads to other blocks could not be written, or cleaning gained no room any more",
    };
    let text = format!(
        "the log gave up: {reason}, so what had changed since the last checkpoint was never written, and there is no time until it was; \
         a lower fill or a larger volume leaves the cleaner more room"
    );
    Some(Warning::new(WarningKind::GaveUp, text).of_run(&run.label))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filesystem::KEY;
    use crate::outcome::Number;

    /// Requests that failed once all was on the medium are of the reader, which has nothing to
    /// write.
    #[test]
    fn a_file_system_of_which_requests_failed_is_told() {
        let warned = |told: &[(&str, Number)]| {
            let told = told.iter().map(|(name, of)| ((*name).to_owned(), *of));
            let run = Run {
                measures: [(KEY.to_owned(), told.collect())].into(),
                ..Run::default()
            };
            gave_up(&run).map(|warning| warning.text)
        };
        let (failed, work) = (Number::Count(2), ("work_s", Number::Quantity(1.0)));
        assert_eq!(warned(&[("failed", failed), work]), None);
        assert_eq!(warned(&[("failed", Number::Count(0))]), None, "it ended");
        let text = warned(&[("failed", failed)]).unwrap();
        assert!(
            text.starts_with("requests of the file system failed"),
            "{text}"
        );
    }

    fn warned(count: Option<u64>, failed: u64) -> Option<String> {
        let of_log = count.map(|count| ("gave_up".to_owned(), Number::Count(count)));
        let run = Run {
            measures: [(KEY.to_owned(), of_log.into_iter().collect())].into(),
            failed: [("medium".to_owned(), failed)].into(),
            ..Run::default()
        };
        gave_up(&run).map(|warning| warning.text)
    }

    #[test]
    fn a_journal_that_gave_up_is_told() {
        let warned = |count| {
            let of_journal = [("gave_up".to_owned(), Number::Count(count))];
            let run = Run {
                measures: [(workload::MEASURED.to_owned(), of_journal.into())].into(),
                ..Run::default()
            };
            gave_up(&run).map(|warning| warning.text)
        };
        assert_eq!(warned(0), None);
        let text = warned(1).unwrap();
        assert!(text.starts_with("the journal gave up"), "{text}");
    }

    #[test]
    fn a_log_that_gave_up_is_told_with_what_may_be_why() {
        assert_eq!(warned(Some(0), 3), None);
        assert_eq!(warned(None, 0), None);
        let full = warned(Some(1), 0).unwrap();
        assert!(full.contains("gave up: cleaning gained no room"), "{full}");
        let failed = warned(Some(1), 2).unwrap();
        assert!(
            failed.contains("could not be written, or cleaning"),
            "{failed}"
        );
    }
}
