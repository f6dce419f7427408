//! How choices and settings are called in sentences.

use super::{Capacity, Find, Reached};

/// The choice's settings, without their key if it is the only one.
pub(super) fn name(capacity: &Capacity, found: &Reached) -> String {
    match (capacity.varied.as_slice(), found.choice.split_once('=')) {
        ([] | [_], Some((_, value))) => value.to_owned(),
        _ => found.choice.clone(),
    }
}

/// Where a setting is: `at depth 4`.
pub(super) fn position(find: Find, at: f64) -> String {
    match find {
        Find::Drives => format!("with {}", find.words(at)),
        Find::Speed | Find::Rate | Find::Depth => format!("at {}", find.words(at)),
    }
}
