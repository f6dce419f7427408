//! The two homes of a map log. What differs between them is told in `keeper`.

/// What keeps a log beside its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// A memory that no power cut takes.
    Nvram,
    /// The region of the log itself.
    Drive,
}
