//! Why a volume that an earlier life left cannot be gone on with. No setting is wrong then: the
//! volume is.

use super::{ConfigError, Refused};
use crate::maplog::Damage;

/// Why a volume cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VolumeError {
    /// The configuration that it is to be opened with is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Something that survived is not what the volume wrote.
    #[error("{what} is damaged: {why}")]
    Damaged {
        /// What survived.
        what: String,
        /// Where it is damaged, and how.
        why: Damage,
    },
    /// What survived is sound as it is, but cannot belong to the same volume as the rest, or as its
    /// configuration.
    #[error("{what}: found {found}, and it has to be {expected}")]
    Unfit {
        /// What survived.
        what: String,
        /// What it says.
        found: String,
        /// What it may say.
        expected: String,
    },
}

impl Refused for VolumeError {
    fn setting(&mut self) -> Option<&mut ConfigError> {
        match self {
            VolumeError::Config(error) => Some(error),
            VolumeError::Damaged { .. } | VolumeError::Unfit { .. } => None,
        }
    }
}

impl VolumeError {
    /// Something that survived is damaged.
    pub fn damaged(what: &str, why: Damage) -> VolumeError {
        VolumeError::Damaged {
            what: what.to_owned(),
            why,
        }
    }

    /// Something that survived does not fit.
    pub fn unfit(what: &str, found: &str, expected: &str) -> VolumeError {
        VolumeError::Unfit {
            what: what.to_owned(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        }
    }

    /// The mistake in the configuration of a volume that begins.
    ///
    /// # Panics
    /// It is none: a volume that begins is not damaged.
    pub fn of_new(self) -> ConfigError {
        match self {
            VolumeError::Config(error) => error,
            VolumeError::Damaged { .. } | VolumeError::Unfit { .. } => {
                panic!("a volume that begins has nothing to be damaged: {self}")
            }
        }
    }
}
