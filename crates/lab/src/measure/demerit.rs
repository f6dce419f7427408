//! How far two distributions are apart: the demerit figure of Ruemmler and Wilkes, "An introduction
//! to disk drive modeling", IEEE Computer 27(3), 1994.
//!
//! It is the root mean square of the horizontal distance between two cumulative distributions: at
//! each rank, how far apart the two values of that rank are. Both may have any number of values.

use nearslot_core::metrics::Histogram;

/// A value, and how often it occurs.
pub(crate) type Step = (f64, u64);

/// The distance between two distributions that are given as rising steps; `None` if one is empty.
pub(crate) fn demerit(
    one: impl IntoIterator<Item = Step>,
    other: impl IntoIterator<Item = Step>,
) -> Option<f64> {
    let (one, other): (Vec<Step>, Vec<Step>) =
        (one.into_iter().collect(), other.into_iter().collect());
    let count = |steps: &[Step]| steps.iter().map(|step| step.1).sum::<u64>();
    let (ones, others) = (count(&one), count(&other));
    if ones == 0 || others == 0 {
        return None;
    }
    // Ranks are counted in parts of `ones * others`, so that both distributions end at a whole
    // number of them.
    let whole = u128::from(ones) * u128::from(others);
    let (mut left, mut right) = (ends(&one, others), ends(&other, ones));
    let (mut a, mut b) = (left.next()?, right.next()?);
    let (mut rank, mut squares) = (0, 0.0);
    while rank < whole {
        let end = a.1.min(b.1);
        squares += (a.0 - b.0) * (a.0 - b.0) * (end - rank) as f64;
        rank = end;
        if a.1 == rank {
            a = left.next().unwrap_or(a);
        }
        if b.1 == rank {
            b = right.next().unwrap_or(b);
        }
    }
    Some(libm::sqrt(squares / whole as f64))
}

/// The values, each with the rank up to which it goes, when every occurrence takes `wide` ranks.
fn ends(steps: &[Step], wide: u64) -> impl Iterator<Item = (f64, u128)> {
    let filled = steps.iter().filter(|step| step.1 > 0);
    filled.scan(0, move |rank, (value, count)| {
        *rank += u128::from(*count) * u128::from(wide);
        Some((*value, *rank))
    })
}

/// The steps of a histogram in milliseconds.
pub(crate) fn steps_ms(histogram: &Histogram) -> impl Iterator<Item = Step> {
    histogram
        .steps()
        .map(|(upper, count)| (upper.as_ms(), count))
}

#[cfg(test)]
mod tests {
    use nearslot_core::rng::Rng;

    use super::*;

    fn of(values: &[f64]) -> Vec<Step> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted.into_iter().map(|value| (value, 1)).collect()
    }

    fn near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 1e-9)
    }

    #[test]
    fn distances_are_those_at_equal_ranks() {
        assert!(near(
            demerit(of(&[1.0, 5.0, 3.0]), of(&[5.0, 3.0, 1.0])),
            0.0
        ));
        assert!(near(demerit(of(&[1.0, 3.0]), of(&[4.0, 6.0])), 3.0));
        // A third of the ranks is apart by 1.
        let third = (1.0_f64 / 3.0).sqrt();
        assert!(near(
            demerit(of(&[5.0, 1.0, 3.0]), of(&[1.0, 4.0, 3.0])),
            third
        ));
        // Two values against three: 1 and 2 at the first third, 1 and 2.5, 2 and 2.5 at a sixth
        // each, 2 and 3 at the last.
        let mixed = (1.0_f64 / 3.0 + 2.25 / 6.0 + 0.25 / 6.0 + 1.0 / 3.0).sqrt();
        assert!(near(demerit(of(&[1.0, 2.0]), of(&[2.0, 2.5, 3.0])), mixed));
        assert_eq!(demerit(of(&[]), of(&[1.0])), None);
    }

    #[test]
    fn steps_are_values_that_occur_often() {
        let mut rng = Rng::stream(3, "demerit");
        for _ in 0..200 {
            let mut draw = |most: u64| -> Vec<f64> {
                let count = 1 + rng.below(most);
                (0..count).map(|_| rng.below(6) as f64).collect()
            };
            let (one, other) = (draw(9), draw(14));
            let steps = |values: &[f64]| -> Vec<Step> {
                let same = |value: u64| values.iter().filter(move |found| **found as u64 == value);
                let step = |value: u64| (value as f64, same(value).count() as u64);
                (0..6).map(step).collect()
            };
            // Rank by rank, with as many ranks as both numbers of values divide.
            let ranks = one.len() * other.len();
            let at = |values: &[f64], rank: usize| of(values)[rank * values.len() / ranks].0;
            let square = |rank| (at(&one, rank) - at(&other, rank)).powi(2);
            let literal = ((0..ranks).map(square).sum::<f64>() / ranks as f64).sqrt();
            assert!(near(demerit(steps(&one), steps(&other)), literal));
            assert!(near(demerit(of(&one), of(&other)), literal));
        }
    }
}
