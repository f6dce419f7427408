//! What is counted of a run besides what every run has, declared once by whoever counts it.
//!
//! Parts count from the begin of a run; over what a number is told, its declaration says, so that
//! who takes a number off that was counted before the measured part asks nothing of parts.
//!
//! A part has a table of these on its card. Results, columns, the Python package, the page and the
//! documentation go over the tables.

/// Over what a number is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The measured part of a run: what was counted before that is taken off, as times leave the
    /// warm-up out.
    Measured,
    /// The whole run: what is there at its end, or what nobody may miss, whenever it happened.
    Run,
    /// The measured part; told is a sum, and the number is its mean over what this other measure
    /// counts.
    Mean(&'static str),
}

/// A number that a run has if a part, or a measurement, counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its name, with the unit at its end where that is no plain count: `moved_mib`. With the key
    /// of the kind before it, it is a column: `place_moved_mib`.
    pub name: &'static str,
    /// What it counts, or its unit.
    pub unit: &'static str,
    /// What it says, in a line.
    pub help: &'static str,
    /// Whether it is a whole number.
    pub whole: bool,
    /// Over what it is told.
    pub over: Over,
}

impl Measure {
    /// A number of things, of the measured part of a run.
    pub const fn count(name: &'static str, unit: &'static str, help: &'static str) -> Measure {
        Measure {
            name,
            unit,
            help,
            whole: true,
            over: Over::Measured,
        }
    }

    /// The same of the whole run.
    pub const fn of_run(self) -> Measure {
        Measure {
            over: Over::Run,
            ..self
        }
    }

    /// The same as a mean over what another measure of the card counts.
    pub const fn mean_over(self, counted: &Measure) -> Measure {
        Measure {
            over: Over::Mean(counted.name),
            ..self
        }
    }

    /// What it says, and over what, if that is not the measured part.
    pub fn told(&self) -> String {
        match self.over {
            Over::Measured | Over::Mean(_) => self.help.to_owned(),
            Over::Run => format!("{}; of the whole run", self.help),
        }
    }

    /// A quantity, which no part tells: a measurement works it out.
    pub const fn quantity(name: &'static str, unit: &'static str, help: &'static str) -> Measure {
        Measure {
            name,
            unit,
            help,
            whole: false,
            over: Over::Measured,
        }
    }
}

/// Takes what a part has counted so far, since the begin of the run. The measure is one of its
/// card.
pub type Tell<'a> = &'a mut dyn FnMut(&'static Measure, u64);
