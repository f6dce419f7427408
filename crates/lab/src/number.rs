//! Numbers as people read them.
//!
//! Results are told to four digits ([`number`]), since runs are compared, and the interval beside
//! each says how many of them count. What an inspection counts gives an idea of a load: three
//! digits do ([`rough`]).

/// Four digits that matter; more only before the point. Below 1 there are three decimals, so that
/// columns of times stand in line; below a thousandth three digits that matter, however many
/// decimals that takes.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size >= 1_000.0 => 0,
        _ if size >= 100.0 => 1,
        _ if size >= 10.0 => 2,
        _ if size >= 0.001 || size == 0.0 => 3,
        _ => small(size, 3),
    };
    format!("{value:.decimals$}")
}

/// Decimals of a value below 1 that leave so many digits that matter.
fn small(size: f64, digits: usize) -> usize {
    if size.is_nan() {
        return 0;
    }
    let zeros = -libm::floor(libm::log10(size)) as usize - 1;
    zeros + digits
}

/// A time, to four digits, without those that are 0: in seconds, or if it is shorter than a
/// hundredth of one in the unit that suits.
pub(crate) fn seconds(s: f64) -> String {
    const UNITS: [(f64, f64, &str); 4] = [
        (0.01, 1.0, "s"),
        (1e-4, 1e3, "ms"),
        (1e-7, 1e6, "us"),
        (0.0, 1e9, "ns"),
    ];
    let fits = UNITS
        .iter()
        .find(|(least, ..)| s.abs() >= *least && s != 0.0);
    let (_, times, unit) = fits.unwrap_or(&UNITS[0]);
    let text = number(s * times);
    let digits = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{digits} {unit}")
}

/// A share of all in percent, with so many decimals, or as many more as it takes: nearly all is not
/// all.
pub(crate) fn percent(share: f64, decimals: usize) -> String {
    format!("{} %", short_of_all(share, decimals))
}

/// As [`percent`], to as many digits as [`number`] tells, for a column that has the unit above.
pub(crate) fn in_percent(share: f64) -> String {
    let text = number(100.0 * share);
    match text.split_once('.') {
        Some((_, decimals)) => short_of_all(share, decimals.len()),
        None => text,
    }
}

fn short_of_all(share: f64, mut decimals: usize) -> String {
    let percent = 100.0 * share;
    let told = |decimals: usize| format!("{percent:.decimals$}");
    while percent < 100.0 && told(decimals).starts_with("100") {
        decimals += 1;
    }
    told(decimals)
}

/// Bytes as makers of drives count them, in GB, or the unit that suits what is less.
pub(crate) fn decimal_bytes(bytes: u64) -> String {
    let bytes = bytes as f64;
    let (times, unit) = match bytes {
        _ if bytes >= 1e9 => (1e9, "GB"),
        _ if bytes >= 1e6 => (1e6, "MB"),
        _ => (1e3, "kB"),
    };
    format!("{} {unit}", number(bytes / times))
}

/// Three digits that matter; more only before the point.
pub(crate) fn rough(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size >= 999.5 => return grouped(libm::round(value) as u64),
        _ if size >= 99.95 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.9995 || size == 0.0 => 2,
        _ if size >= 0.09995 => 3,
        _ if size >= 0.009_995 => 4,
        _ if size >= 0.0009995 => 5,
        _ => small(size, 2),
    };
    format!("{value:.decimals$}")
}

/// Digits in groups of three.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate in the shortest unit of time that sees about one or more: `0.0035` a second are `12.6` an
/// hour.
pub(crate) fn rate(per_second: f64) -> (f64, &'static str) {
    const UNITS: [(f64, f64, &str); 3] = [(0.1, 1.0, "s"), (1.0, 60.0, "min"), (1.0, 3_600.0, "h")];
    let fits = |(least, seconds, unit): (f64, f64, &'static str)| {
        let many = per_second * seconds;
        (many >= least || per_second <= 0.0).then_some((many, unit))
    };
    let found = UNITS.into_iter().find_map(fits);
    found.unwrap_or((per_second * 86_400.0, "day"))
}

/// From here on a ratio is not told as `1.00×`.
pub(crate) const APART: f64 = 1.005;
/// What differs by less is the same, and was computed in another order.
const EQUAL: f64 = 1e-9;

/// How many times: `1.19×`. What is near 1 has as many decimals as tell it from that.
pub(crate) fn times(ratio: f64) -> String {
    let from_one = (ratio - 1.0).abs();
    match ratio {
        _ if (EQUAL..APART - 1.0).contains(&from_one) => {
            let decimals = small(from_one, 1);
            format!("{ratio:.decimals$}×")
        }
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

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Things that are named one by one; of more, some are named and the others counted.
const NAMED_MAX: usize = 6;
/// How many are named of more.
const NAMED_OF_MORE: usize = 3;

/// As [`list`], of as many as anybody reads: `a, b, c and 9 others`.
pub(crate) fn some(words: &[String]) -> String {
    if words.len() <= NAMED_MAX {
        return list(words);
    }
    let mut named = words[..NAMED_OF_MORE].to_vec();
    named.push(format!("{} others", words.len() - NAMED_OF_MORE));
    list(&named)
}

/// Numbers that rise, as people read them: each, or from the first to the last where [`some`] would
/// not name all.
pub(crate) fn rising(values: &[f64]) -> String {
    match values {
        [first, .., last] if values.len() > NAMED_MAX => {
            format!("{} to {}", number(*first), number(*last))
        }
        _ => list(
            &values
                .iter()
                .map(|value| number(*value))
                .collect::<Vec<_>>(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearly_all_is_not_all() {
        let told = [(0.9994, 1), (0.9996, 1), (0.999_99, 0), (1.0, 1), (0.5, 0)]
            .map(|(share, decimals)| percent(share, decimals));
        assert_eq!(told, ["99.9 %", "99.96 %", "99.999 %", "100.0 %", "50 %"]);
        let cells = [0.9996, 0.999_96, 1.0, 0.5, 0.0, 1.5].map(in_percent);
        assert_eq!(
            cells,
            ["99.96", "99.996", "100.0", "50.00", "0.000", "150.0"]
        );
    }

    #[test]
    fn of_many_things_some_are_named() {
        let words = |count: usize| {
            (0..count)
                .map(|number| format!("c{number}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(some(&words(6)), "c0, c1, c2, c3, c4 and c5");
        assert_eq!(some(&words(7)), "c0, c1, c2 and 4 others");
        assert_eq!(rising(&[1.0, 2.0]), "1.000 and 2.000");
        assert_eq!(
            rising(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.5]),
            "1.000 to 7.500"
        );
    }

    #[test]
    fn numbers_keep_their_digits() {
        let cases = [
            (0.0, "0.000"),
            (0.5, "0.500"),
            (6.2114, "6.211"),
            (17.4567, "17.46"),
            (170.55, "170.6"),
            (17_522.4, "17522"),
            (0.00002, "0.0000200"),
            (0.000_715_4, "0.000715"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        let rates = [6.72, 0.1, 0.05, 0.003_53, 1e-5, 0.0].map(rate);
        let expected = [
            (6.72, "s"),
            (0.1, "s"),
            (3.0, "min"),
            (12.708, "h"),
            (0.864, "day"),
            (0.0, "s"),
        ];
        for ((many, unit), (expected, of)) in rates.into_iter().zip(expected) {
            assert!((many - expected).abs() < 1e-9, "{many}/{unit}");
            assert!(unit == of, "{many}/{unit}");
        }
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [0.0, 0.012_34, 0.003_532, 0.00002, 1.234, 45.67, 999.6].map(rough),
            [
                "0.00", "0.0123", "0.00353", "0.000020", "1.23", "45.7", "1,000"
            ]
        );
        assert_eq!([1.189, 12.34, 123.4].map(times), ["1.19×", "12.3×", "123×"]);
        let near = [1.0, 1.000_4, 1.002, 1.005_1, 0.998].map(times);
        assert_eq!(near, ["1.00×", "1.0004×", "1.002×", "1.01×", "0.998×"]);
    }

    #[test]
    fn bytes_have_the_unit_that_suits() {
        let sizes = [2_048, 2_050_000, 1_000_204_886_016].map(decimal_bytes);
        assert_eq!(sizes, ["2.048 kB", "2.050 MB", "1000 GB"]);
    }

    #[test]
    fn short_times_have_another_unit() {
        let times = [0.0, 0.01, 5.985, 0.009_999, 0.000_715, 0.000_05, 2e-8].map(seconds);
        let texts = [
            "0 s", "0.01 s", "5.985 s", "9.999 ms", "0.715 ms", "50 us", "20 ns",
        ];
        assert_eq!(times, texts);
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
