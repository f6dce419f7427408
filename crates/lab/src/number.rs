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

/// Seconds in the unit that suits.
pub(crate) fn duration(seconds: f64) -> String {
    let rounded = |value: f64, unit: &str| {
        let text = format!("{value:.3}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        format!("{text} {unit}")
    };
    // Rounded before it is divided, so that no minute has 60 s.
    let whole = libm::round(seconds) as u64;
    match seconds {
        s if s >= 172_800.0 => format!("{:.1} days", s / 86_400.0),
        _ if whole >= 7_200 => format!("{} h {} min", whole / 3_600, whole / 60 % 60),
        s if s >= 120.0 => format!("{} min {} s", whole / 60, whole % 60),
        s if s >= 1.0 || s <= 0.0 => rounded(s, "s"),
        s if s >= 1e-3 => rounded(s * 1e3, "ms"),
        s if s >= 1e-6 => rounded(s * 1e6, "us"),
        s => rounded(s * 1e9, "ns"),
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

    #[test]
    fn seconds_have_the_unit_that_suits() {
        let spans = [0.0, 1e-9, 0.0015, 1.5, 125.0, 7_380.0, 200_000.0];
        let texts = [
            "0 s",
            "1 ns",
            "1.5 ms",
            "1.5 s",
            "2 min 5 s",
            "2 h 3 min",
            "2.3 days",
        ];
        assert_eq!(spans.map(duration), texts);
        let (spans, texts) = (
            [119.7, 179.7, 7_199.4, 7_199.7, 10_799.6],
            [
                "119.7 s",
                "3 min 0 s",
                "119 min 59 s",
                "2 h 0 min",
                "3 h 0 min",
            ],
        );
        assert_eq!(spans.map(duration), texts);
    }
}
