//! Claims: what is said of the streams that share the drives out among themselves. One file each,
//! one line here.

use crate::contract::Claims;
use crate::registry::{ConfigError, Kind, KindCard, Spec};

registry! { Claims;
    none,
    told,
}

impl Kind for Claims {
    const CARD: KindCard = KindCard {
        key: "claims",
        word: "claims",
        plural: "claims",
        summary: "what each stream may claim of the drives",
        asked: true,
        within: None,
        needs: None,
    };

    type Env<'a> = ();
    type Error = ConfigError;

    fn table() -> &'static [&'static Spec<Claims>] {
        TABLE
    }
}
