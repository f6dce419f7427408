//! How long drives were busy, and how much of that was in their spare time: delayed copies,
//! compaction, an arm that is moved ahead.
//!
//! Drives that copy whenever nothing else is to be done are busy all the time and have time left
//! all the same: what they do then gives way to the next request. So whoever asks whether drives
//! are the limit goes by [`for_requests`]. A command is of spare time if it is of no request, is no
//! write of a map, for which requests wait, and nothing else waits for its drive when it begins;
//! over a drive with a queue of its own, as long as nothing else is there. Where a buffer of copies
//! is full, copies are made for the request that needs its place, and are not of spare time. O(1) a
//! command.

use nearslot_core::io::{Moves, Origin};
use nearslot_core::measure::Measure;
use nearslot_core::units::Instant;

use crate::outcome::{Measures, Number, Run};

/// Who counts.
pub(crate) const KEY: &str = "spare_time";

/// What.
pub(crate) const MEASURES: &[Measure] = &[
    Measure::quantity(
        "used",
        "0 to 1",
        "share of the time in which drives worked for no request, as none waited for them; of several drives the mean. It is in utilisation",
    ),
    Measure::quantity(
        "busiest_without",
        "0 to 1",
        "without that, how busy the drive was that was busiest",
    ),
];

/// Whether a command begins in spare time; `there` counts the I/Os that run or wait on its drive,
/// it among them. That is asked last, as most commands are for requests.
#[inline]
pub(super) fn is_spare(origin: &Origin, there: impl FnOnce() -> usize) -> bool {
    origin.request.is_none() && origin.moves != Moves::Own && there() <= 1
}

/// The commands of a drive, and how long it had any.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Busy {
    commands: u32,
    /// Since when it has some; in the measured part not from before that.
    since: Instant,
    /// How long it had some before that. The measured part begins at 0.
    ns: u64,
    /// Since when it has had nothing but one of spare time.
    spare_since: Option<Instant>,
    spare_ns: u64,
}

impl Busy {
    /// The measured part begins.
    pub(super) fn reset(&mut self, now: Instant) {
        (self.since, self.ns) = (now, 0);
        self.spare_since = self.spare_since.map(|_| now);
        self.spare_ns = 0;
    }

    /// Whether it has any now.
    pub(super) fn any(&self) -> bool {
        self.commands > 0
    }

    #[inline]
    pub(super) fn begin(&mut self, now: Instant, spare: bool) {
        if self.commands == 0 {
            self.since = now;
            self.spare_since = spare.then_some(now);
        } else {
            self.end_spare(now);
        }
        self.commands += 1;
    }

    #[inline]
    pub(super) fn end(&mut self, now: Instant) {
        self.commands -= 1;
        if self.commands == 0 {
            self.ns += now.since(self.since).0;
            self.end_spare(now);
        }
    }

    fn end_spare(&mut self, now: Instant) {
        if let Some(since) = self.spare_since.take() {
            self.spare_ns += now.since(since).0;
        }
    }

    /// Of the measured part, which ends now: how long it was busy, and how much of that was spare
    /// time.
    pub(super) fn until(mut self, end: Instant) -> [u64; 2] {
        if self.commands > 0 {
            self.ns += end.since(self.since).0;
        }
        self.end_spare(end);
        [self.ns, self.spare_ns]
    }
}

/// What is told of the drives of a run that lasted so many nanoseconds; nothing if no spare time
/// was used.
pub(super) fn measures(busy: &[[u64; 2]], lasted_ns: u64) -> Measures {
    let spare: u64 = busy.iter().map(|[_, spare]| spare).sum();
    if spare == 0 || lasted_ns == 0 {
        return Measures::new();
    }
    let most = busy.iter().map(|[all, spare]| all - spare).max();
    let share = |ns: u64| ns as f64 / lasted_ns as f64;
    let used = share(spare) / busy.len() as f64;
    let numbers = [used, share(most.unwrap_or(0))].map(Number::Quantity);
    let names = MEASURES.iter().map(|measure| measure.name.to_owned());
    Measures::from([(KEY.to_owned(), names.zip(numbers).collect())])
}

/// Share of the time that the drives of a run were busy beside what they did in spare time: of all
/// the mean, and of the one that was busiest so.
pub(crate) fn for_requests(run: &Run) -> [f64; 2] {
    let [used, busiest] = MEASURES else {
        return [run.utilisation, run.utilisation_max];
    };
    let told = |measure: &Measure| run.measure(KEY, measure.name).map(Number::value);
    [
        run.utilisation - told(used).unwrap_or(0.0),
        told(busiest).unwrap_or(run.utilisation_max),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_time_ends_where_something_else_begins() {
        let mut drive = Busy::default();
        drive.begin(Instant(0), true);
        drive.reset(Instant(10));
        drive.begin(Instant(30), false);
        drive.end(Instant(50));
        drive.end(Instant(60));
        assert_eq!(drive.until(Instant(100)), [50, 20]);
        drive.begin(Instant(100), false);
        drive.begin(Instant(105), true);
        drive.end(Instant(110));
        drive.end(Instant(120));
        drive.begin(Instant(150), true);
        assert_eq!(drive.until(Instant(200)), [120, 70]);
        let other = [40, 0];
        let told = measures(&[drive.until(Instant(200)), other], 200);
        let value = |name: &str| told[KEY][name].value();
        assert!((value("used") - 70.0 / 400.0).abs() < 1e-12);
        assert!((value("busiest_without") - 50.0 / 200.0).abs() < 1e-12);
        assert!(measures(&[other], 200).is_empty());
    }
}
