//! Merging: which I/Os that wait for a drive become one command. One file each, one line here.

use crate::contract::Merging;
use crate::registry::{ConfigError, DriveEnv, Kind, KindCard, Spec};

registry! { Merging;
    none,
    contiguous,
}

impl Kind for Merging {
    const CARD: KindCard = KindCard {
        key: "merge",
        word: "merging",
        plural: "mergings",
        summary: "which waiting I/Os become one command",
        asked: false,
        within: None,
        needs: None,
    };

    type Env<'a> = DriveEnv<'a>;
    type Error = ConfigError;

    fn table() -> &'static [&'static Spec<Merging>] {
        TABLE
    }
}
