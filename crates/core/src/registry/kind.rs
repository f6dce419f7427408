//! A kind of part: what it is called wherever it is called anything, what its parts may know, and
//! the table of them.
//!
//! A kind implements [`Kind`] beside its table. Whoever goes over all kinds (scenario files, grids,
//! `list`, `show`, help, columns, JSON, Python, the documentation) sees each as an [`AnyKind`].

use std::marker::PhantomData;

use super::{ConfigError, Need, PartCard, Refused, Spec, canonical};

/// What a kind is called, and what it is for.
#[derive(Debug)]
pub struct KindCard {
    /// Its key in scenarios, results, columns and options of the command: `sched`.
    pub key: &'static str,
    /// One of it: `scheduler`.
    pub word: &'static str,
    /// Several of it, which is its name in lists: `schedulers`.
    pub plural: &'static str,
    /// What it decides, in a line.
    pub summary: &'static str,
    /// Whether its parts act only when a part of another kind asks them.
    pub asked: bool,
    /// Key of the kind without whose part its own have no effect, if there is one.
    pub within: Option<&'static str>,
    /// What its parts need to have an effect, but for the default.
    pub needs: Option<Need>,
}

/// A kind of part, implemented by the trait object that its parts are used as.
pub trait Kind: 'static {
    /// What it is called.
    const CARD: KindCard;

    /// What its parts may know of their surroundings.
    type Env<'a>;

    /// Why one cannot be built: knobs that contradict each other or the drive, or what an earlier
    /// life left of it.
    type Error: From<ConfigError> + Refused;

    /// Its parts, in the order of presentation.
    fn table() -> &'static [&'static Spec<Self>];
}

/// A kind, whichever it is.
pub trait AnyKind: Sync {
    /// What it is called.
    fn card(&self) -> &'static KindCard;

    /// Its parts, in the order of presentation.
    fn parts(&self) -> Vec<PartCard>;

    /// The part with this name or alias.
    ///
    /// # Errors
    /// As [`find`].
    fn find(&self, name: &str) -> Result<PartCard, ConfigError>;
}

/// The kind `K`, as one among all.
pub struct Of<K: ?Sized>(PhantomData<fn() -> K>);

impl<K: Kind + ?Sized> Of<K> {
    /// It.
    pub const KIND: &'static dyn AnyKind = &Of::<K>(PhantomData);
}

impl<K: Kind + ?Sized> AnyKind for Of<K> {
    fn card(&self) -> &'static KindCard {
        const { &K::CARD }
    }

    fn parts(&self) -> Vec<PartCard> {
        K::table().iter().map(|spec| spec.card()).collect()
    }

    fn find(&self, name: &str) -> Result<PartCard, ConfigError> {
        find::<K>(name).map(Spec::card)
    }
}

/// Finds a part by name or alias. `_` and `-` are one letter, case does not count.
///
/// # Errors
/// No such part; the error suggests the nearest.
pub fn find<K: Kind + ?Sized>(name: &str) -> Result<&'static Spec<K>, ConfigError> {
    let same = |a: &str| canonical(a) == canonical(name);
    let table = K::table();
    let found = table
        .iter()
        .find(|spec| same(spec.name) || spec.aliases.iter().any(|a| same(a)));
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = table.iter().map(|spec| spec.name).collect();
        ConfigError::unknown(K::CARD.word, name, &names)
    })
}
