//! What a cache is told of a line that is asked for or enters: as what, and why.
//!
//! Who looks for sequences says what belongs to one. That is not what nobody has asked for: a read
//! of several tracks asks for all of them, and a write may be part of a sequence, too.

/// What a line is asked for as, by who looks for sequences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pattern {
    /// By itself.
    #[default]
    Random,
    /// As one of a sequence.
    Sequential,
}

/// Why a line enters a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A read has missed it.
    Missed,
    /// It is brought before anybody asks for it.
    Brought,
    /// It is written.
    Written,
}

/// What a cache is told of a line that enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entering {
    /// Why it does.
    pub why: Why,
    /// As what.
    pub pattern: Pattern,
    /// Pages of it that have come.
    pub pages: u32,
}

impl Entering {
    /// A page that was asked for by itself.
    pub const BY_ITSELF: Entering = Entering {
        why: Why::Missed,
        pattern: Pattern::Random,
        pages: 1,
    };
}
