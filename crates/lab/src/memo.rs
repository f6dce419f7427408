//! What the runs of a grid prepare once for all of them.
//!
//! Runs share nothing that changes; this holds what never does, by everything that it depends on, so a run cannot see
//! whether another one made it. Two runs that ask for the same at once: one makes it, the other waits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use nearslot_core::registry::{Memo, Prepared};

/// Preparations by key.
#[derive(Default)]
pub struct Shared {
    made: Mutex<BTreeMap<String, Arc<OnceLock<Prepared>>>>,
}

impl Memo for Shared {
    fn get(&self, key: &str, make: &mut dyn FnMut() -> Prepared) -> Prepared {
        // A run that panicked left a cell that is empty, which the next one fills.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = Arc::clone(made.entry(key.to_owned()).or_default());
        drop(made);
        Arc::clone(cell.get_or_init(make))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_made_once() {
        let shared = Shared::default();
        let mut made = 0;
        for key in ["a", "b", "a", "a"] {
            let prepared = shared.get(key, &mut || {
                made += 1;
                Arc::new(key.to_owned())
            });
            assert_eq!(
                prepared.downcast_ref::<String>().map(String::as_str),
                Some(key)
            );
        }
        assert_eq!(made, 2);
    }
}
