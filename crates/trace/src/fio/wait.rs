//! What the waits of a fio iolog of version 2 mean.
//!
//! `file wait T 0` is, by the manual, T microseconds after the previous wait; fio's replay has long
//! taken it as T milliseconds after the start. Logs of both kinds exist. Waits that never fall over
//! the whole file, and are at least two, are taken as times since the start, others as relative;
//! the user may decide.
//!
//! To know whether they never fall, records are held back until one falls or the file ends, at most
//! [`HELD_MAX`] of them. If one falls after that, the file cannot be read without being told, and
//! the error says how.
//!
//! Source: fio, `HOWTO` and `iolog.c`; fio issue 756.

use super::super::decode::{FioWait, Sink, TimeKind};
use super::super::record::Record;
use super::super::text::Odd;

/// Records that are held back, about 15 MB.
const HELD_MAX: usize = 1 << 18;

const MS_NS: i64 = 1_000_000;
const US_NS: i64 = 1_000;

/// The clock of a log.
pub(super) struct Waits {
    meaning: Option<FioWait>,
    told: bool,
    /// Waits so far.
    count: u64,
    /// The last wait as it stood there.
    last: u64,
    /// Time by waits from the start, in ns.
    absolute: i64,
    /// Time by waits one after the other, in ns.
    relative: i64,
    /// Records that wait for the meaning: `ts` is relative, the other time beside it.
    held: Vec<(Record, i64)>,
}

impl Waits {
    pub(super) fn new(meaning: Option<FioWait>) -> Waits {
        Waits {
            meaning,
            told: meaning.is_some(),
            count: 0,
            last: 0,
            absolute: 0,
            relative: 0,
            held: Vec::new(),
        }
    }

    /// A wait of `time`.
    pub(super) fn wait(&mut self, time: u64, out: &mut Sink) -> Result<(), Odd> {
        let scaled = |unit: i64| i64::try_from(time).ok()?.checked_mul(unit);
        let beyond = || {
            let most = i64::MAX / MS_NS;
            let allowed =
                format!("a time from 0 to {most}, with which all waits end within 292 years");
            Odd::Wrong(format!("the action wait lasts {time} (allowed: {allowed})"))
        };
        let absolute = scaled(MS_NS).ok_or_else(beyond)?;
        let relative = scaled(US_NS).and_then(|wait| self.relative.checked_add(wait));
        let falls = self.count > 0 && time < self.last;
        if falls && self.meaning == Some(FioWait::AbsoluteMs) && !self.told {
            return Err(Odd::Fatal(format!(
                "wait {time} after wait {}, but the waits before never fell and were taken as milliseconds since \
                 the start; say --fio-wait=rel-us or --fio-wait=abs-ms",
                self.last
            )));
        }
        if falls {
            self.decide(FioWait::RelativeUs, out);
        }
        self.relative = relative.ok_or_else(beyond)?;
        self.absolute = absolute;
        self.count += 1;
        self.last = time;
        Ok(())
    }

    /// A record at this time.
    pub(super) fn record(&mut self, mut record: Record, out: &mut Sink) {
        match self.meaning {
            Some(FioWait::AbsoluteMs) => record.ts = self.absolute,
            Some(FioWait::RelativeUs) => record.ts = self.relative,
            None => {
                record.ts = self.relative;
                self.held.push((record, self.absolute));
                if self.held.len() == HELD_MAX {
                    self.decide(self.likely(), out);
                }
                return;
            }
        }
        out.records.push(record);
    }

    /// The log is over.
    ///
    /// # Errors
    /// It was said what its waits mean, and it has none.
    pub(super) fn finish(&mut self, out: &mut Sink) -> Result<(), Odd> {
        if self.count == 0 && self.told {
            let why = "this fio iolog has no waits, so nothing says when its requests came";
            return Err(Odd::Unused("--fio-wait", why.to_owned()));
        }
        self.decide(self.likely(), out);
        if self.count == 0 {
            out.note(Sink::WITHOUT_TIME);
            return Ok(());
        }
        let (taken, how) = match self.meaning {
            Some(FioWait::AbsoluteMs) => ("milliseconds since the start", "rel-us"),
            _ => ("microseconds after the wait before", "abs-ms"),
        };
        let other = if self.told {
            String::new()
        } else {
            format!("; --fio-wait={how} takes them otherwise")
        };
        out.note(format!("waits are taken as {taken}{other}"));
        Ok(())
    }

    /// What waits mean that have not fallen so far.
    fn likely(&self) -> FioWait {
        if self.count >= 2 {
            FioWait::AbsoluteMs
        } else {
            FioWait::RelativeUs
        }
    }

    fn decide(&mut self, meaning: FioWait, out: &mut Sink) {
        if self.meaning.is_some() {
            return;
        }
        self.meaning = Some(meaning);
        out.records
            .extend(
                std::mem::take(&mut self.held)
                    .into_iter()
                    .map(|(mut record, absolute)| {
                        if meaning == FioWait::AbsoluteMs {
                            record.ts = absolute;
                        }
                        record
                    }),
            );
    }

    pub(super) fn resolution_ns(&self) -> u64 {
        match self.meaning {
            Some(FioWait::AbsoluteMs) => MS_NS as u64,
            _ => US_NS as u64,
        }
    }

    pub(super) fn kind(&self) -> TimeKind {
        match self.count {
            0 => TimeKind::None,
            _ => TimeKind::Issue,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::record::TraceOp;
    use super::*;

    fn record() -> Record {
        Record::new(0, TraceOp::Read, 0, 512, 0)
    }

    #[test]
    fn a_fall_after_the_decision_is_an_error_that_says_what_to_do() {
        let (mut waits, mut sink) = (Waits::new(None), Sink::default());
        for time in 0..HELD_MAX as u64 {
            waits.wait(time, &mut sink).unwrap();
            waits.record(record(), &mut sink);
        }
        assert_eq!(sink.records.len(), HELD_MAX, "held no longer");
        assert_eq!(sink.records[7].ts, 7_000_000);
        match waits.wait(3, &mut sink) {
            Err(Odd::Fatal(what)) => assert!(what.contains("--fio-wait=rel-us"), "{what}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn waits_beyond_the_clock_are_bad_lines() {
        let (mut waits, mut sink) = (Waits::new(None), Sink::default());
        for time in [u64::MAX, i64::MAX as u64] {
            let told = waits.wait(time, &mut sink);
            assert!(matches!(told, Err(Odd::Wrong(_))), "{told:?}");
        }
    }
}
