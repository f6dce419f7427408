//! Prefetchers: what is brought before it is asked for. One file each, one line here.

use crate::contract::Prefetch;
use crate::registry::{ConfigError, Kind, KindCard, PrefetchEnv, Spec};

mod common;
mod twins;
mod volume;

pub use common::track_pages;

registry! { dyn Prefetch;
    none,
    fixed,
    sarc,
    amp,
}

impl Kind for dyn Prefetch {
    const CARD: KindCard = KindCard {
        key: "prefetch",
        word: "prefetcher",
        plural: "prefetchers",
        summary: "what is brought into the cache before it is asked for",
        asked: false,
        within: Some("cache"),
        needs: None,
    };

    type Env<'a> = PrefetchEnv;

    type Error = ConfigError;

    fn table() -> &'static [&'static Spec<dyn Prefetch>] {
        TABLE
    }
}
