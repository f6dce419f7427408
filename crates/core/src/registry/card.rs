//! The card of a part: its name, its source, its knobs, and how it is built.

use super::{ConfigError, Kind, Knob, KnobValue, Knobs};
use crate::measure::Measure;

/// The card of a part of kind `T`.
pub struct Spec<T: Kind + ?Sized> {
    /// Name in configuration, the field's own term.
    pub name: &'static str,
    /// Other names the field has for it.
    pub aliases: &'static [&'static str],
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What can be set.
    pub knobs: &'static [Knob],
    /// What it counts of a run.
    pub measures: &'static [Measure],
    /// Keys of the kinds whose part it asks while it runs. A part that acts only when asked has no
    /// effect where nobody does. A cache asks the prefetcher if it goes by what belongs to a
    /// sequence. A scheduler that goes by classes and levels of streams says
    /// [`LEVELS`](crate::contract::LEVELS) as well.
    pub asks: &'static [&'static str],
    /// Whether it prepares what is costly when it is built, and shares it with its equals through a
    /// [`super::Memo`].
    pub prepared: bool,
    /// What is found of its data after a power cut, if that is up to the part.
    pub promises: &'static str,
    /// Makes one, from checked knobs. Those that are allowed one by one may still contradict each
    /// other or the drive.
    pub build: Build<T>,
}

/// Makes a part from checked knobs and from what it may know of its surroundings.
pub type Build<T> =
    for<'a, 'b, 'c> fn(&'a Knobs, &'b <T as Kind>::Env<'c>) -> Result<Box<T>, <T as Kind>::Error>;

/// What a card says of its part, whatever the kind.
#[derive(Clone, Copy, Debug)]
pub struct PartCard {
    /// As in [`Spec`].
    pub name: &'static str,
    /// As in [`Spec`].
    pub aliases: &'static [&'static str],
    /// As in [`Spec`].
    pub summary: &'static str,
    /// As in [`Spec`].
    pub source: &'static str,
    /// As in [`Spec`].
    pub knobs: &'static [Knob],
    /// As in [`Spec`].
    pub measures: &'static [Measure],
    /// As in [`Spec`].
    pub asks: &'static [&'static str],
    /// As in [`Spec`].
    pub prepared: bool,
    /// As in [`Spec`].
    pub promises: &'static str,
}

impl PartCard {
    /// Its knobs in effect, with these settings.
    ///
    /// # Errors
    /// As [`Knobs::check`].
    pub fn check(&self, given: &[(String, KnobValue)]) -> Result<Knobs, ConfigError> {
        Knobs::check(self.name, self.knobs, given)
    }
}

impl<T: Kind + ?Sized> Spec<T> {
    /// What it says of the part.
    pub fn card(&self) -> PartCard {
        PartCard {
            name: self.name,
            aliases: self.aliases,
            summary: self.summary,
            source: self.source,
            knobs: self.knobs,
            measures: self.measures,
            asks: self.asks,
            prepared: self.prepared,
            promises: self.promises,
        }
    }
}
