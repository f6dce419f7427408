//! Caches: which lines stay. One file each, one line here.

use crate::contract::Cache;
use crate::registry::{CacheEnv, ConfigError, Kind, KindCard, Need, Spec};

mod in_memory;
mod lists;
mod mimic_twin;
mod one_queue;
mod queues;
mod segments;
mod sketch;
#[cfg(test)]
mod twins;

pub use in_memory::{CLASSED, InMemory, KNOBS, WRITES};

registry! { dyn Cache;
    none,
    fifo,
    lru,
    lru_bottom,
    clock,
    slru,
    two_q,
    lirs,
    arc,
    car,
    sarc,
    s3_fifo,
    sieve,
    w_tinylfu,
    mimic,
    optimal,
}

impl Kind for dyn Cache {
    const CARD: KindCard = KindCard {
        key: "cache",
        word: "cache",
        plural: "caches",
        summary: "which lines of the volume stay in memory",
        asked: false,
        within: None,
        needs: Some(Need::Reads),
    };

    type Env<'a> = CacheEnv;

    type Error = ConfigError;

    fn table() -> &'static [&'static Spec<dyn Cache>] {
        TABLE
    }
}
