//! How parts and kinds of parts present themselves: names, sources, knobs, and how a part is built.
//!
//! A part ends with its card (`SPEC`), its folder's table has its line (`registry!`). The card is
//! the single source for command line help, documentation and validation: [`Knobs`] are parsed and
//! range-checked before `build`, which fails only where they contradict each other or the drive.
//! [`Measure`](crate::measure::Measure)s are what the part counts of a run. A folder's table is
//! that of a [`Kind`].

mod card;
mod env;
mod error;
mod kind;
mod knobs;
mod memo;
mod volume_error;

pub use card::{Build, PartCard, Spec};
pub use env::{
    CacheEnv, DestageEnv, DriveEnv, FaultsEnv, Names, PrefetchEnv, Survivors, VolumeEnv,
};
pub use error::{ConfigError, Refused, nearest};
pub use kind::{AnyKind, Kind, KindCard, Of, find};
pub use knobs::{Knob, KnobKind, KnobValue, Knobs, Need, written};
pub use memo::{Forgetful, Memo, Prepared};
pub use volume_error::VolumeError;

/// A name with its spelling variants folded.
pub fn canonical(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

/// Two lists as one: what a part has of its own, and what all of its kind have.
pub const fn joined<T: Copy, const OWN: usize, const COMMON: usize, const ALL: usize>(
    own: [T; OWN],
    common: [T; COMMON],
) -> [T; ALL] {
    assert!(OWN + COMMON == ALL, "all of both");
    let mut all = [common[0]; ALL];
    let mut at = 0;
    while at < ALL {
        all[at] = if at < OWN { own[at] } else { common[at - OWN] };
        at += 1;
    }
    all
}

/// Declares the modules of a folder's parts and the table of their cards. A part has a card `SPEC`,
/// or several that are named in braces behind it.
#[macro_export]
macro_rules! registry {
    (@table [$($card:expr),*]) => { &[$($card),*] };
    (@table [$($card:expr),*] $part:ident { $($own:ident),+ }, $($rest:tt)*) => {
        $crate::registry!(@table [$($card,)* $(&$part::$own),+] $($rest)*)
    };
    (@table [$($card:expr),*] $part:ident, $($rest:tt)*) => {
        $crate::registry!(@table [$($card,)* &$part::SPEC] $($rest)*)
    };
    ($kind:ty; $($part:ident $({ $($own:ident),+ $(,)? })?),+ $(,)?) => {
        $(mod $part;)+
        /// Every part of this kind, in the order of presentation.
        pub static TABLE: &[&$crate::registry::Spec<$kind>] =
            $crate::registry!(@table [] $($part $({ $($own),+ })?,)+);
    };
}
