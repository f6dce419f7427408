//! Faults: what goes wrong on the drives. One file each, one line here.

use crate::contract::Faults;
use crate::registry::{ConfigError, FaultsEnv, Kind, KindCard, Spec};

registry! { dyn Faults;
    none,
    injected,
}

impl Kind for dyn Faults {
    const CARD: KindCard = KindCard {
        key: "faults",
        word: "faults",
        plural: "faults",
        summary: "what goes wrong on the drives",
        asked: false,
        within: None,
        needs: None,
    };

    type Env<'a> = FaultsEnv<'a>;

    type Error = ConfigError;

    fn table() -> &'static [&'static Spec<dyn Faults>] {
        TABLE
    }
}
