//! Write buffers: which unit of what is in one goes to the drives next. One file each, one line
//! here.

use crate::contract::Destage;
use crate::registry::{ConfigError, DestageEnv, Kind, KindCard, Need, Spec};

mod by_address;
mod settings;

pub use settings::Buffering;

registry! { dyn Destage;
    none,
    lrw,
    cscan,
    wow,
    stow,
}

impl Kind for dyn Destage {
    const CARD: KindCard = KindCard {
        key: "buffer",
        word: "write buffer",
        plural: "buffers",
        summary: "what keeps writes until they go to the drives, and in which order they go",
        asked: false,
        within: None,
        needs: Some(Need::Writes),
    };

    type Env<'a> = DestageEnv;

    type Error = ConfigError;

    fn table() -> &'static [&'static Spec<dyn Destage>] {
        TABLE
    }
}
