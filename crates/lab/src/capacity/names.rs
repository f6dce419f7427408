//! How choices and settings are called in sentences.

use super::{Capacity, Find, Reached};
use crate::outcome::is_name;

/// The choice's settings, without their key if it is the only one and the value says what it is.
pub(super) fn name(capacity: &Capacity, found: &Reached) -> String {
    let differing = capacity
        .varied
        .iter()
        .filter(|varied| varied.values.len() > 1);
    let is_one = differing.count() < 2 && !found.choice.contains(' ');
    match found.choice.split_once('=').filter(|_| is_one) {
        Some((_, value)) if is_name(value) => value.to_owned(),
        _ => found.choice.clone(),
    }
}

/// Where a setting is: `at depth 4`.
pub(super) fn position(find: Find, at: f64) -> String {
    match find {
        Find::Drives => format!("with {}", find.words(at)),
        Find::Speed | Find::Rate | Find::Depth | Find::Bsu => format!("at {}", find.words(at)),
    }
}
