//! First fit: a range write goes to the first place of what is left of its offer, and is an
//! ordinary write from then on.
//!
//! The least that a drive may do with range writes: it ignores the freedom, and must then be no
//! worse than one that knows none. It is what an engine does over a device that says nothing of its
//! heads, and what others are measured against. The place is looked for when the drive is ready;
//! where another write takes it meanwhile, the next one is.
//!
//! Not the same as [`expand`](super::expand) with one option, which lists a place on each track of
//! an offer and chooses among these: here there is one place in all. Source: Anand and others,
//! "Avoiding file system micromanagement with range writes", OSDI 2008, the minimum implementation.
//! Cost: that of `base`, and O(log n) of `n` ranges for a place.

use super::expand::{BASES, MEASURES, Places, over};
use crate::contract::{OFFERED, Scheduler};
use crate::registry::{Knob, Spec};

pub(super) static SPEC: Spec<dyn Scheduler> = Spec {
    name: "first_fit",
    aliases: &["minimum"],
    summary: "a range write goes to the first place that is left of its offer, as an ordinary write",
    source: "Anand and others, Avoiding file system micromanagement with range writes, OSDI 2008, minimum implementation",
    knobs: &[Knob::choice(
        "base",
        "satf",
        BASES,
        "which scheduler chooses among what waits",
    )],
    measures: &MEASURES,
    asks: &["oracle", OFFERED],
    prepared: false,
    promises: "",
    build: |knobs, env| over(knobs.choice("base"), Places::First, env),
};

#[cfg(test)]
#[expect(
    clippy::single_range_in_vec_init,
    reason = "an offer may have but one range"
)]
mod tests {
    use super::super::desk::Desk;
    use super::super::desk::Did::{Read, Write};

    #[test]
    fn the_first_place_is_taken_whatever_passes_first() {
        // At 1 ms block 1 passes. One option a track would take block 21, which passes when the arm
        // is there.
        let late = |name| Desk::new(name).wait_ms(1).range_write(&[0..10, 21..23]);
        assert_eq!(late("first_fit").run_all(), [Write(0, 11)]);
        assert_eq!(late("expand").run_all(), [Write(1, 2)]);
        let two = |name| Desk::new(name).range_write(&[11..12, 25..26]);
        assert_eq!(two("first_fit").run_all(), [Write(11, 2)]);
        assert_eq!(two("expand:options=1").run_all(), [Write(11, 2)]);
        let elsewhere = |name| Desk::new(name).wait_ms(2).range_write(&[11..12, 25..26]);
        assert_eq!(elsewhere("first_fit").run_all(), [Write(11, 12)]);
        assert_eq!(elsewhere("expand:options=1").run_all(), [Write(25, 6)]);
    }

    #[test]
    fn a_place_that_another_one_takes_is_left_to_it() {
        let desk = Desk::new("first_fit")
            .range_write(&[4..6])
            .range_write(&[4..6]);
        assert_eq!(desk.run_all(), [Write(4, 5), Write(5, 6)]);
    }

    #[test]
    fn the_base_chooses_among_all_that_wait() {
        let desk = Desk::new("first_fit").range_write(&[7..10]).reads(&[3]);
        assert_eq!(desk.run_all(), [Read(3, 4), Write(7, 8)]);
        let desk = Desk::new("first_fit:base=look").range_write(&[63..64]);
        assert_eq!(desk.reads(&[20]).run_all(), [Read(20, 11), Write(63, 24)]);
    }

    #[test]
    fn a_withdrawn_range_write_is_not_served() {
        let desk = Desk::new("first_fit")
            .range_write(&[4..5])
            .range_write(&[7..9]);
        assert_eq!(desk.withdraw(0).run_all(), [Write(7, 8)]);
    }
}
