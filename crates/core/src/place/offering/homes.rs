//! Where a volume's units lie before anything was moved, and so what is free then: of every so many
//! units of the drive the first ones hold units of the volume, and the rest is free.
//!
//! So each track, or each group, has its share of what is free, and what is written in a row lies
//! in a row. O(1), without a table: a drive of 20 TB costs nothing.

use std::ops::Range;

/// Which units of a drive hold a volume that nobody has written to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Homes {
    /// Units after which the pattern comes again.
    stride: u64,
    /// Of these, the first that hold units of the volume.
    used: u64,
    /// How often it comes; behind that the drive is free.
    strides: u64,
}

impl Homes {
    /// Over a drive of so many units, with the pattern over `stride` of them, of which a
    /// `dilution`-th is used. None if no unit would be used, or none free.
    pub(super) fn new(units: u64, stride: u64, dilution: f64) -> Option<Homes> {
        let stride = stride.min(units);
        let used = (stride as f64 / dilution) as u64;
        let homes = Homes {
            stride,
            used,
            strides: units.checked_div(stride)?,
        };
        (used > 0 && used < stride).then_some(homes)
    }

    /// Units of the volume.
    pub(super) fn volume(&self) -> u64 {
        self.strides * self.used
    }

    /// Units in a row that are free in the beginning.
    pub(super) fn longest_free(&self) -> u64 {
        self.stride - self.used
    }

    /// Where a unit of the volume lies.
    pub(super) fn place(&self, unit: u64) -> u64 {
        unit / self.used * self.stride + unit % self.used
    }

    /// Whether a unit of the drive is free.
    pub(super) fn is_free(&self, place: u64) -> bool {
        place / self.stride >= self.strides || place % self.stride >= self.used
    }

    /// The first of some units of the drive that is free, or that is not.
    pub(super) fn first(&self, within: Range<u64>, free: bool) -> Option<u64> {
        let at = within.start;
        let begin = at - at % self.stride;
        let next = match (self.is_free(at), free) {
            (true, true) | (false, false) => at,
            (false, true) => begin + self.used,
            // Behind the last of the patterns all is free.
            (true, false) if begin / self.stride + 1 >= self.strides => return None,
            (true, false) => begin + self.stride,
        };
        Some(next).filter(|next| *next < within.end)
    }

    /// The last of some units of the drive that is free, or that is not.
    pub(super) fn last(&self, within: Range<u64>, free: bool) -> Option<u64> {
        let at = within.end.checked_sub(1)?;
        let stride = (at / self.stride).min(self.strides - 1);
        let begin = stride * self.stride;
        let before = match (self.is_free(at), free) {
            (true, true) | (false, false) => Some(at),
            (false, true) => begin.checked_sub(1),
            (true, false) => Some(begin + self.used - 1),
        };
        before.filter(|before| within.contains(before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stride_has_its_share_of_what_is_free() {
        for (units, stride, dilution) in
            [(103, 10, 1.25), (100, 10, 2.0), (7, 20, 1.5), (12, 3, 1.1)]
        {
            let homes = Homes::new(units, stride, dilution).unwrap();
            let mut places: Vec<u64> = (0..homes.volume()).map(|unit| homes.place(unit)).collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len() as u64, homes.volume());
            let free = |place: &u64| !places.contains(place);
            for from in 0..units {
                assert_eq!(homes.is_free(from), free(&from), "{from} of {homes:?}");
                for until in from..units {
                    let within = || (from..until).filter(free);
                    let others = || (from..until).filter(|place| !free(place));
                    assert_eq!(homes.last(from..until, true), within().next_back());
                    assert_eq!(homes.last(from..until, false), others().next_back());
                    if until > from {
                        assert_eq!(homes.first(from..until, true), within().next());
                        assert_eq!(homes.first(from..until, false), others().next());
                    }
                }
            }
        }
        assert!(Homes::new(100, 1, 2.0).is_none());
        assert!(Homes::new(100, 10, 20.0).is_none());
    }
}
