//! What is costly to prepare is prepared once for all runs that ask for the same.

use std::any::Any;
use std::sync::Arc;

/// Costly preparations that parts of several runs share: pure functions of their key, which names all that they depend
/// on. Whoever runs many keeps them; a part may not see whether it got an old one.
pub trait Memo {
    /// What was made for this key, or what `make` makes now.
    fn get(&self, key: &str, make: &mut dyn FnMut() -> Prepared) -> Prepared;
}

/// Something prepared, never changed.
#[derive(Clone)]
pub struct Prepared {
    /// What.
    pub value: Arc<dyn Any + Send + Sync>,
    /// About how much memory it takes.
    pub bytes: usize,
}

/// Keeps nothing.
pub struct Forgetful;

impl Memo for Forgetful {
    fn get(&self, _key: &str, make: &mut dyn FnMut() -> Prepared) -> Prepared {
        make()
    }
}
