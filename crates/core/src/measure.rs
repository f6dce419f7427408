//! What is counted of a run besides what every run has, declared once by whoever counts it.
//!
//! A part has a table of these on its card. Results, columns, the Python package, the page and the documentation go over the tables.

/// A number that a run has if a part, or a measurement, counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its name, with the unit at its end where that is no plain count: `moved_mib`. With the key of the kind before it, it is a
    /// column: `place_moved_mib`.
    pub name: &'static str,
    /// What it counts, or its unit.
    pub unit: &'static str,
    /// What it says, in a line.
    pub help: &'static str,
    /// Whether it is a whole number.
    pub whole: bool,
}

impl Measure {
    /// A number of things.
    pub const fn count(name: &'static str, unit: &'static str, help: &'static str) -> Measure {
        Measure {
            name,
            unit,
            help,
            whole: true,
        }
    }

    /// A quantity.
    pub const fn quantity(name: &'static str, unit: &'static str, help: &'static str) -> Measure {
        Measure {
            name,
            unit,
            help,
            whole: false,
        }
    }
}

/// Takes what a part has counted so far. The measure is one of its card.
pub type Tell<'a> = &'a mut dyn FnMut(&'static Measure, u64);
