//! Numbers as people read them.

/// Four digits that matter; more only before the point.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size >= 1_000.0 => 0,
        _ if size >= 100.0 => 1,
        _ if size >= 10.0 => 2,
        _ if size >= 0.001 || size == 0.0 => 3,
        _ => return format!("{value:.2e}"),
    };
    format!("{value:.decimals$}")
}

/// How many times: `1.19×`.
pub(crate) fn times(ratio: f64) -> String {
    match ratio {
        _ if ratio >= 100.0 => format!("{ratio:.0}×"),
        _ if ratio >= 10.0 => format!("{ratio:.1}×"),
        _ => format!("{ratio:.2}×"),
    }
}

/// How many of something: `1 request`, `5 requests`.
pub(crate) fn counted(count: impl Into<u128>, thing: &str) -> String {
    match count.into() {
        1 => format!("1 {thing}"),
        count => format!("{count} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        let cases = [
            (0.0, "0.000"),
            (0.5, "0.500"),
            (6.2114, "6.211"),
            (17.4567, "17.46"),
            (170.55, "170.6"),
            (17_522.4, "17522"),
            (0.00002, "2.00e-5"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!([1.189, 12.34, 123.4].map(times), ["1.19×", "12.3×", "123×"]);
    }
}
