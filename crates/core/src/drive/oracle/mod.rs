//! Oracles: how much a scheduler may know of the drive below it. One file each, one line here.

use crate::contract::Oracle;

registry! { dyn Oracle;
    exact,
    noisy,
    distance,
}
