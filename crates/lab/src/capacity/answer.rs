//! What a run says of an objective: whether it holds by its estimate, and by either end of its 95 %
//! interval.

use crate::measure::Estimate;
use crate::objective::Objective;

/// Whether an objective holds at a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// By the unfavourable end of the interval.
    pub(super) surely: bool,
    /// By the estimate.
    pub(super) estimate: bool,
    /// By the favourable end of the interval.
    pub(super) possibly: bool,
}

impl Answer {
    /// It surely holds.
    pub(super) const HOLDS: Answer = Answer {
        surely: true,
        estimate: true,
        possibly: true,
    };

    /// It does not hold, and that is sure.
    pub(super) const FAILS: Answer = Answer {
        surely: false,
        estimate: false,
        possibly: false,
    };

    /// What an estimate with its interval says; nothing surely holds where the interval has no
    /// upper end, and nothing surely fails where there is none.
    pub(super) fn of(objective: &Objective, estimate: &Estimate) -> Answer {
        let limit_ms = objective.limit_ms;
        Answer {
            surely: estimate.high_ms.is_some_and(|high| high < limit_ms),
            estimate: estimate.ms < limit_ms,
            possibly: estimate.low_ms.is_none_or(|low| low < limit_ms),
        }
    }

    /// The same of a run that was not steady: nothing is sure of what would follow.
    pub(super) fn not_steady(self) -> Answer {
        Answer {
            surely: false,
            estimate: self.estimate,
            possibly: true,
        }
    }

    /// The same of a queue that was not seen at rest: it may become longer, so that it surely holds is
    /// not known, and that it surely fails is.
    pub(super) fn not_at_rest(self) -> Answer {
        Answer {
            surely: false,
            ..self
        }
    }

    /// It holds if both do.
    pub(super) fn and(self, other: Answer) -> Answer {
        Answer {
            surely: self.surely && other.surely,
            estimate: self.estimate && other.estimate,
            possibly: self.possibly && other.possibly,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_contains_the_limit_decides_nothing() {
        let objective: Objective = "p99 < 20 ms".parse().unwrap();
        let judged = |ms, low_ms: f64, high_ms| {
            let answer = Answer::of(
                &objective,
                &Estimate {
                    ms,
                    low_ms: Some(low_ms),
                    high_ms,
                },
            );
            (answer.surely, answer.estimate, answer.possibly)
        };
        assert_eq!(judged(18.0, 17.0, Some(19.0)), (true, true, true));
        assert_eq!(judged(18.0, 17.0, Some(20.0)), (false, true, true));
        assert_eq!(judged(18.0, 17.0, None), (false, true, true));
        assert_eq!(judged(20.0, 19.0, Some(21.0)), (false, false, true));
        assert_eq!(judged(21.0, 20.0, Some(22.0)), (false, false, false));
        let unsure = |ms| {
            let estimate = Estimate {
                ms,
                low_ms: None,
                high_ms: None,
            };
            let answer = Answer::of(&objective, &estimate);
            (answer.surely, answer.estimate, answer.possibly)
        };
        assert_eq!(unsure(18.0), (false, true, true));
        assert_eq!(unsure(40.0), (false, false, true));
    }
}
