//! What is known of a parameter: its value, how sure it is, and where it comes from.

use serde::Serialize;

/// One parameter: what it is, how well it is known, and where it comes from.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {
    /// Key in the drive's file, or words for several.
    pub name: String,
    /// None if it was taken from the base drive.
    pub value: Option<f64>,
    /// Unit of the value.
    pub unit: &'static str,
    /// Half of the interval that holds the true value in 19 of 20 cases.
    pub plus_minus: Option<f64>,
    /// Requests that it was found from.
    pub samples: u64,
    /// `measured`, `extrapolated`, or the name of the base drive.
    pub from: String,
    /// How it was found, or why it was not.
    pub how: String,
}

/// What the estimators found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Finding {
    pub(crate) estimates: Vec<Estimate>,
    pub(crate) notes: Vec<String>,
    /// Cylinders and milliseconds of move and wait.
    pub(crate) moves: Vec<(u32, f64)>,
}

/// Standard errors on either side that hold 95 % of a normal distribution.
const STANDARD_ERRORS: f64 = 1.96;

/// How far something may be off.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doubt {
    /// One standard error, by chance.
    pub(super) error_ms: f64,
    /// And so much, as nothing tells it better.
    pub(super) open_ms: f64,
}

impl Doubt {
    /// Half of the interval of what has this standard error besides.
    pub(super) fn plus_minus_ms(self, error_ms: f64) -> f64 {
        STANDARD_ERRORS * libm::hypot(error_ms, self.error_ms) + self.open_ms
    }
}

impl Finding {
    /// Something that was measured, with its standard error.
    pub(super) fn measured(
        &mut self,
        name: &str,
        value: f64,
        unit: &'static str,
        error: Option<f64>,
        samples: usize,
        how: &str,
    ) {
        let plus_minus = error.map(|error| STANDARD_ERRORS * error);
        self.within(name, value, unit, plus_minus, samples, how);
    }

    /// Something that was measured, with half of its interval.
    pub(super) fn within(
        &mut self,
        name: &str,
        value: f64,
        unit: &'static str,
        plus_minus: Option<f64>,
        samples: usize,
        how: &str,
    ) {
        self.estimates.push(Estimate {
            name: name.to_owned(),
            value: Some(value),
            unit,
            plus_minus,
            samples: samples as u64,
            from: "measured".to_owned(),
            how: how.to_owned(),
        });
    }

    /// The estimate of this name, to be changed.
    pub(super) fn of(&mut self, name: &str) -> &mut Estimate {
        let one = self.estimates.iter_mut().find(|one| one.name == name);
        one.expect("it was found")
    }

    /// Something that is not told, and where the drive's value comes from instead.
    pub(super) fn take(&mut self, name: &str, from: &str, why: &str) {
        self.estimates.push(Estimate {
            name: name.to_owned(),
            value: None,
            unit: "",
            plus_minus: None,
            samples: 0,
            from: from.to_owned(),
            how: why.to_owned(),
        });
    }
}
