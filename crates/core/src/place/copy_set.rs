//! Sets of copies, by number: of everything that is kept more than once.

/// A set of copies, by number.
pub(super) type Copies = u32;

/// The copies in a set, by number.
pub(super) fn members(mut copies: Copies) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let lowest = (copies != 0).then_some(copies.trailing_zeros() as u8);
        copies &= copies.wrapping_sub(1);
        lowest
    })
}

/// The first so many copies.
pub(super) fn all(copies: u8) -> Copies {
    u32::MAX >> (32 - u32::from(copies))
}
