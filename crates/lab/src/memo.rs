//! What runs prepare once for all of them, in this grid and in later ones.
//!
//! Runs share nothing that changes; this holds what never does, by everything that it depends on,
//! so a run cannot see whether another one made it. Two runs that ask for the same at once: one
//! makes it, the other waits. What was longest not asked for goes first when all together take more
//! than a gibibyte.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nearslot_core::registry::{Memo, Prepared};

/// Bytes of preparations that are kept.
const BYTES_MAX: usize = 1 << 30;

/// One for the whole process.
pub static SHARED: Shared = Shared::new(BYTES_MAX);

/// Preparations by key, the last asked for at the end.
pub struct Shared {
    made: Mutex<Vec<(String, Cell)>>,
    bytes_max: usize,
}

/// Filled by the first who asks.
type Cell = Arc<Mutex<Option<Prepared>>>;

impl Shared {
    const fn new(bytes_max: usize) -> Shared {
        Shared {
            made: Mutex::new(Vec::new()),
            bytes_max,
        }
    }

    /// The cell of a key, which becomes the last.
    fn cell(&self, key: &str) -> Cell {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let known = made.iter().position(|(known, _)| known == key);
        let entry = match known {
            Some(index) => made.remove(index),
            None => (key.to_owned(), Cell::default()),
        };
        let cell = Arc::clone(&entry.1);
        made.push(entry);
        cell
    }

    /// Forgets the first ones while there is too much, but never the last.
    fn trim(&self) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        // What is being made has no size yet.
        let size = |cell: &Cell| Some(cell.try_lock().ok()?.as_ref()?.bytes);
        let bytes = |(_, cell): &(String, Cell)| size(cell).unwrap_or(0);
        let mut all: usize = made.iter().map(bytes).sum();
        let mut behind = 0;
        while all > self.bytes_max && behind + 1 < made.len() {
            all -= bytes(&made[behind]);
            behind += 1;
        }
        made.drain(..behind);
    }
}

impl Memo for Shared {
    fn get(&self, key: &str, make: &mut dyn FnMut() -> Option<Prepared>) -> Option<Prepared> {
        let cell = self.cell(key);
        // A run that panicked, or was told to stop, left a cell that is empty, which the next one
        // fills.
        let mut filled = cell.lock().unwrap_or_else(PoisonError::into_inner);
        if filled.is_none() {
            *filled = make();
        }
        let prepared = filled.clone();
        drop(filled);
        self.trim();
        prepared
    }
}

/// The same for a run that may be told to stop while something is prepared.
pub struct Stoppable<'a>(pub &'a AtomicBool);

impl Memo for Stoppable<'_> {
    fn get(&self, key: &str, make: &mut dyn FnMut() -> Option<Prepared>) -> Option<Prepared> {
        SHARED.get(key, make)
    }

    fn wants(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// What is made once for all that ask by this key, and how many bytes it takes; none if `make` gave
/// it up.
///
/// # Panics
/// Something of another type has this key.
pub(crate) fn once<T: Any + Send + Sync>(
    memo: &dyn Memo,
    key: &str,
    make: impl Fn() -> Option<T>,
    bytes: fn(&T) -> usize,
) -> Option<Arc<T>> {
    let prepared = memo.get(key, &mut || {
        let made = make()?;
        Some(Prepared {
            bytes: bytes(&made),
            value: Arc::new(made),
        })
    })?;
    let made = prepared.value.downcast::<T>();
    Some(made.expect("no two kinds of things have the same name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(shared: &Shared, made: &mut Vec<&'static str>, key: &'static str) {
        let prepared = shared.get(key, &mut || {
            made.push(key);
            Some(Prepared {
                value: Arc::new(key.to_owned()),
                bytes: 10,
            })
        });
        let prepared = prepared.expect("it is made");
        let found = prepared.value.downcast_ref::<String>();
        assert_eq!(found.map(String::as_str), Some(key));
    }

    #[test]
    fn each_key_is_made_once() {
        let (shared, mut made) = (Shared::new(100), Vec::new());
        for key in ["a", "b", "a", "a"] {
            ask(&shared, &mut made, key);
        }
        assert_eq!(made, ["a", "b"]);
    }

    #[test]
    fn what_was_longest_not_asked_for_goes_first() {
        let (shared, mut made) = (Shared::new(20), Vec::new());
        for key in ["a", "b", "a", "c", "a", "b"] {
            ask(&shared, &mut made, key);
        }
        assert_eq!(made, ["a", "b", "c", "b"]);
    }

    #[test]
    fn what_was_given_up_is_made_by_the_next_who_asks() {
        let shared = Shared::new(100);
        assert!(shared.get("a", &mut || None).is_none());
        let mut made = Vec::new();
        ask(&shared, &mut made, "a");
        assert_eq!(made, ["a"]);
    }
}
