//! Placements: where data may live. One file each, one line here.

use crate::contract::Placement;

registry! { dyn Placement;
    linear,
    eager,
}
