//! When planes collect, and what that leaves to the host.

/// When planes collect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds {
    /// A plane with so many free blocks, or fewer, collects.
    pub(super) start: u32,
    /// With so many, or fewer, that is urgent.
    pub(super) urgent: u32,
    /// Whether the host is paced then; else it waits until a block is free.
    pub(super) is_paced: bool,
}
