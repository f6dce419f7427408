//! Placements: where data may live. One file each, one line here.

use crate::contract::Placement;
use crate::registry::{Kind, KindCard, Spec, VolumeEnv, VolumeError};

#[cfg(test)]
mod busy;
mod choice;
mod copy_set;
mod delayed;
mod fixed_copies;
mod gone;
mod slot_tracks;
mod striping;

registry! { dyn Placement;
    linear,
    offering,
    stripe,
    concat,
    raid5,
    mirror,
    sr_array,
    eager,
    ew_array,
    distorted_mirror,
}

/// What a placement promises that passes flushes and forced writes on.
const FLUSHED: &str =
    "what was answered before a flush came, once that is answered, and each forced write";

/// The same of one with several copies of each block.
const FLUSHED_COPIES: &str = "what was answered before a flush came, once that is answered, and each forced write; a table in NVRAM keeps which copies are safe, and the others are written anew";

impl Kind for dyn Placement {
    const CARD: KindCard = KindCard {
        key: "place",
        word: "placement",
        plural: "placements",
        summary: "where data lives",
        asked: false,
        within: None,
        needs: None,
    };

    type Env<'a> = VolumeEnv<'a>;

    type Error = VolumeError;

    fn table() -> &'static [&'static Spec<dyn Placement>] {
        TABLE
    }
}
