//! What is costly to prepare is prepared once for all runs that ask for the same.

use std::any::Any;
use std::sync::Arc;

/// Costly preparations that parts of several runs share: pure functions of their key, which names
/// all that they depend on. Whoever runs many keeps them; a part may not see whether it got an old
/// one.
pub trait Memo {
    /// What was made for this key, or what `make` makes now. Nothing is kept of what `make` gave
    /// up.
    fn get(&self, key: &str, make: &mut dyn FnMut() -> Option<Prepared>) -> Option<Prepared>;

    /// Whether what is being made is still wanted. Who makes what takes long asks now and then, and
    /// gives up if it is not.
    fn wants(&self) -> bool {
        true
    }
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
    fn get(&self, _key: &str, make: &mut dyn FnMut() -> Option<Prepared>) -> Option<Prepared> {
        make()
    }
}
