//! Oracles: how much a scheduler may know of the drive below it. One file each, one line here.

use crate::contract::Oracle;
use crate::registry::{ConfigError, DriveEnv, Kind, KindCard, Spec};

mod unasked;

pub(crate) use unasked::unasked;

registry! { dyn Oracle;
    exact,
    noisy,
    distance,
}

impl Kind for dyn Oracle {
    const CARD: KindCard = KindCard {
        key: "oracle",
        word: "oracle",
        plural: "oracles",
        summary: "what the scheduler knows of the drive",
        asked: true,
        within: None,
        needs: None,
    };

    type Env<'a> = DriveEnv<'a>;

    type Error = ConfigError;

    fn table() -> &'static [&'static Spec<dyn Oracle>] {
        TABLE
    }
}
