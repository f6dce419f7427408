//! How two lists of values go together: Pearson's correlation.

/// The correlation of pairs, from -1 to 1; not a number if one side does not vary, or there is no
/// pair.
pub(crate) fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let count = pairs.len() as f64;
    let [x, y] = pairs
        .iter()
        .fold([0.0; 2], |[x, y], (a, b)| [x + a, y + b])
        .map(|sum| sum / count);
    let [xx, yy, xy] = pairs.iter().fold([0.0; 3], |[xx, yy, xy], (a, b)| {
        let (a, b) = (a - x, b - y);
        [xx + a * a, yy + b * b, xy + a * b]
    });
    xy / libm::sqrt(xx * yy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sees_the_order_and_has_its_sign() {
        let of = |y: [f64; 4]| correlation(&[(1.0, y[0]), (2.0, y[1]), (1.0, y[2]), (2.0, y[3])]);
        assert!((of([2.0, 4.0, 2.0, 4.0]) - 1.0).abs() < 1e-12);
        assert!((of([4.0, 2.0, 4.0, 2.0]) + 1.0).abs() < 1e-12);
        assert!(of([1.0, 1.0, 2.0, 2.0]).abs() < 1e-12);
    }

    #[test]
    fn it_is_no_number_where_nothing_varies() {
        assert!(correlation(&[(1.0, 2.0), (2.0, 2.0)]).is_nan());
        assert!(correlation(&[]).is_nan());
    }
}
