//! The response times that a trace tells, held beside those of the model for the same requests.
//!
//! A replay at the recorded speed gives the model the same requests at the same times as the traced drive had. If the trace tells
//! their latencies, the distance between the two distributions shows how far the model is from that drive. A closed loop,
//! or another speed, is another load: then no traced times are shown. Some tracers see a request only when it is issued to the
//! drive. They give that instant as its arrival, so the response time of the replay begins at the same instant as theirs.

use nearslot_core::metrics::Histogram;
use nearslot_core::request::Op;
use nearslot_core::units::Duration;

use crate::demerit::{demerit, steps_ms};
use crate::measure::times;
use crate::outcome::{Times, Traced};
use crate::trace::Record;

/// Where the trace tells of fewer measured requests than this share, they may be of another kind than the rest.
const TOLD_MIN: f64 = 0.9;

/// Response times that the trace tells of the requests that are measured.
pub struct Told {
    /// Number of the first measured request.
    from: u64,
    reads: Histogram,
    writes: Histogram,
    untold: u64,
}

impl Told {
    /// Of requests from number `from` on.
    pub fn new(from: u64) -> Told {
        Told {
            from,
            reads: Histogram::default(),
            writes: Histogram::default(),
            untold: 0,
        }
    }

    /// Takes what the trace tells of a request: nanoseconds, or [`Record::UNKNOWN`].
    #[inline]
    pub(crate) fn note(&mut self, number: u64, op: Op, response_ns: u64) {
        let class = match op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
            _ => return,
        };
        match response_ns {
            _ if number < self.from => {}
            Record::UNKNOWN => self.untold += 1,
            known => class.record(Duration(known)),
        }
    }

    /// What was told beside the simulated response times, if these tell more than how long the load is; `None` if nothing was.
    ///
    /// # Errors
    /// It was told of too few requests to be held beside all; the error says so.
    pub(crate) fn beside(&self, simulated: Option<&Histogram>) -> Result<Option<Traced>, String> {
        let all = self.responses();
        let requests = all.count();
        if requests == 0 {
            return Ok(None);
        }
        let share = requests as f64 / (requests + self.untold) as f64;
        if share < TOLD_MIN {
            let (percent, least) = (share * 100.0, TOLD_MIN * 100.0);
            return Err(format!(
                "the trace tells the response times of {percent:.1} % of the measured requests; the model's are held beside \
                 them from {least:.0} % on"
            ));
        }
        let demerit_ms =
            simulated.and_then(|simulated| demerit(steps_ms(simulated), steps_ms(&all)));
        let response_ms = times(&all);
        let class =
            |class: &Histogram| -> Option<Times> { (class.count() > 0).then(|| times(class)) };
        Ok(Some(Traced {
            requests,
            untold: self.untold,
            read_response_ms: class(&self.reads),
            write_response_ms: class(&self.writes),
            demerit_ms,
            demerit_share: demerit_ms
                .filter(|_| response_ms.mean > 0.0)
                .map(|ms| ms / response_ms.mean),
            response_ms,
        }))
    }

    /// All that was told.
    pub(crate) fn responses(&self) -> Histogram {
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        all
    }
}
