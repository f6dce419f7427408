//! The little statistics that the estimators need: quantiles, least squares.

/// The value below which a share of a sorted list lies, between neighbours on a line.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let low = place.floor() as usize;
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + (place - low as f64) * (sorted[high] - sorted[low])
}

/// A list in order.
pub(super) fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut list: Vec<f64> = values.into_iter().collect();
    list.sort_by(f64::total_cmp);
    list
}

/// The middle of a list that need not be sorted; none of an empty one.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let list = sorted(values);
    (!list.is_empty()).then(|| quantile(&list, 0.5))
}

/// The mean of a list; none of an empty one.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Coefficients that bring `sum(c * x)` closest to y in the sense of least squares; none if the
/// columns do not tell them.
pub(super) fn least_squares<const N: usize>(rows: &[([f64; N], f64)]) -> Option<[f64; N]> {
    // The normal equations, solved by elimination with pivots: N is 2 or 3.
    let mut left = [[0.0; N]; N];
    let mut right = [0.0; N];
    for (x, y) in rows {
        for i in 0..N {
            for j in 0..N {
                left[i][j] += x[i] * x[j];
            }
            right[i] += x[i] * y;
        }
    }
    for column in 0..N {
        let pivot = (column..N).max_by(|a, b| {
            let size = |row: &usize| left[*row][column].abs();
            size(a).total_cmp(&size(b))
        })?;
        left.swap(column, pivot);
        right.swap(column, pivot);
        let scale = rows.len() as f64 * 1e-12;
        if left[column][column].abs() <= scale {
            return None;
        }
        for row in 0..N {
            if row != column {
                let factor = left[row][column] / left[column][column];
                let pivots = left[column];
                for (value, pivot) in left[row].iter_mut().zip(pivots) {
                    *value -= factor * pivot;
                }
                right[row] -= factor * right[column];
            }
        }
    }
    Some(std::array::from_fn(|i| right[i] / left[i][i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        let list = [1.0, 2.0, 4.0];
        assert!(near(quantile(&list, 0.5), 2.0));
        assert!(near(quantile(&list, 0.75), 3.0));
        assert!(near(quantile(&list, 1.0), 4.0));
        assert!(near(median([4.0, 1.0, 2.0]).unwrap(), 2.0));
    }

    #[test]
    fn a_line_is_found() {
        let rows: Vec<_> = [1.0, 2.0, 5.0].map(|x| ([1.0, x], 3.0 + 2.0 * x)).into();
        let [a, b] = least_squares(&rows).unwrap();
        assert!(near(a, 3.0), "{a} {b}");
        assert!(near(b, 2.0), "{a} {b}");
        assert!(least_squares(&[([1.0, 2.0], 1.0), ([1.0, 2.0], 1.0)]).is_none());
    }
}
