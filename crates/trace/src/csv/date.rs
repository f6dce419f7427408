//! Dates with their time, as databases and scripts write arrivals: ISO 8601 and RFC 3339, with a
//! blank in place of the `T` too.
//!
//! The crate `humantime` knows the calendar; decimals and the offset from UTC are read here, since
//! it reads no offset but zero. Times are exact to the nanosecond; decimals beyond that are cut, as
//! those of numbers are. Refused are dates alone, the leap second (the nanoseconds since 1970 have
//! no place for it), and what is before 1970, here or in UTC, or beyond the times that traces may
//! have. Cost: less than 100 ns.

use std::time::UNIX_EPOCH;

use crate::order::TIME_MAX_NS;

const SECOND_NS: i64 = 1_000_000_000;

/// What may stand in a column of dates, for messages.
pub(super) const ALLOWED: &str = "a date with its time, such as 2026-11-20 10:15:32.123456, 2026-11-20T10:15:32Z or \
                                  2026-11-20T10:15:32+01:00, from 1970 to 2116, without leap seconds";

/// What a date says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Nanoseconds since 1970.
    pub(super) ns: i64,
    /// Digits behind the seconds, at most nine.
    pub(super) digits: u32,
    /// Whether it says its offset from UTC.
    pub(super) has_zone: bool,
}

/// Whether a field is a date, rather than a number; it may still be one that is refused.
pub(super) fn is_date(field: &[u8]) -> bool {
    let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    let of_dashes = |bytes: &[u8; 10]| {
        digits(&bytes[..4])
            && bytes[4] == b'-'
            && digits(&bytes[5..7])
            && bytes[7] == b'-'
            && digits(&bytes[8..])
    };
    field.first_chunk().is_some_and(of_dashes)
}

/// What a field says, if it is a date with its time.
pub(super) fn read(field: &[u8]) -> Option<Stamp> {
    let time = field.get(10..19)?;
    let parted = matches!(time[0], b'T' | b't' | b' ') && time[3] == b':' && time[6] == b':';
    if !parted || &time[7..] == b"60" {
        return None;
    }
    let rest = std::str::from_utf8(&field[19..]).ok()?;
    let (decimals, zone) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count()),
        None => ("", rest),
    };
    if decimals.is_empty() && rest.starts_with('.') {
        return None;
    }
    let local_ns = seconds(field)? * SECOND_NS + nanoseconds(decimals);
    let ns = local_ns - offset_s(zone)? * SECOND_NS;
    (ns >= 0 && ns.unsigned_abs() < TIME_MAX_NS).then_some(Stamp {
        ns,
        digits: decimals.len().min(9) as u32,
        has_zone: !zone.is_empty(),
    })
}

/// Whole seconds from 1970 to a date with its time, as the clocks of its place show them.
fn seconds(field: &[u8]) -> Option<i64> {
    let mut plain: [u8; 19] = *field.first_chunk()?;
    plain[10] = b'T';
    let time = humantime::parse_rfc3339_weak(std::str::from_utf8(&plain).ok()?).ok()?;
    let seconds = time.duration_since(UNIX_EPOCH).ok()?.as_secs();
    // Later times than the year 2262 have more nanoseconds than fit.
    i64::try_from(seconds)
        .ok()
        .filter(|seconds| *seconds < i64::MAX / SECOND_NS)
}

fn nanoseconds(decimals: &str) -> i64 {
    let digits = decimals.bytes().chain(std::iter::repeat(b'0')).take(9);
    digits.fold(0, |ns, digit| ns * 10 + i64::from(digit - b'0'))
}

/// How far ahead of UTC a place is: `Z`, `+01:00`, `+0100`, `+01`, or nothing for UTC.
fn offset_s(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "Z" | "z") {
        return Some(0);
    }
    let (sign, digits) = match zone.trim_start().as_bytes() {
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits {
        [a, b] => ([a, b], [&b'0'; 2]),
        [a, b, b':', c, d] | [a, b, c, d] => ([a, b], [c, d]),
        _ => return None,
    };
    let number = |pair: [&u8; 2]| {
        let digits = pair.iter().all(|digit| digit.is_ascii_digit());
        digits.then(|| i64::from(pair[0] - b'0') * 10 + i64::from(pair[1] - b'0'))
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(text: &str) -> Option<i64> {
        read(text.as_bytes()).map(|stamp| stamp.ns)
    }

    /// Days from 1970-01-01, counted one by one.
    fn days_before(year: i64, month: u32, day: u32) -> i64 {
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = |year: i64, month: u32| match month {
            2 if leap(year) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let years: i64 = (1970..year)
            .map(|year| if leap(year) { 366 } else { 365 })
            .sum();
        let months: i64 = (1..month).map(|month| length(year, month)).sum();
        years + months + i64::from(day) - 1
    }

    #[test]
    fn every_notation_is_exact_to_the_nanosecond() {
        let second = 1_795_169_732;
        for (text, expected) in [
            ("2026-11-20 10:15:32", second * 1_000_000_000),
            ("2026-11-20T10:15:32Z", second * 1_000_000_000),
            (
                "2026-11-20 10:15:32.123456",
                second * 1_000_000_000 + 123_456_000,
            ),
            (
                "2026-11-20T10:15:32.123456789Z",
                second * 1_000_000_000 + 123_456_789,
            ),
            (
                "2026-11-20t10:15:32.1z",
                second * 1_000_000_000 + 100_000_000,
            ),
            (
                "2026-11-20T11:15:32.000000001+01:00",
                second * 1_000_000_000 + 1,
            ),
            (
                "2026-11-20 01:45:32.5-08:30",
                second * 1_000_000_000 + 500_000_000,
            ),
            (
                "2026-11-20 10:15:32.5+00",
                second * 1_000_000_000 + 500_000_000,
            ),
            (
                "2026-11-20 10:15:32.12345678999999999999Z",
                second * 1_000_000_000 + 123_456_789,
            ),
            ("2026-11-20 11:45:32 +0130", second * 1_000_000_000),
            ("1970-01-01 00:00:00Z", 0),
            ("1970-01-01 01:00:00.000000001+01:00", 1),
        ] {
            assert_eq!(ns(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn every_day_is_where_the_calendar_has_it() {
        for year in 1970..2116 {
            for month in 1..=12 {
                for day in 1..=31 {
                    let text = format!("{year}-{month:02}-{day:02} 23:59:59.999999999");
                    let exists = day <= 28 || {
                        let next = match month {
                            12 => days_before(year + 1, 1, 1),
                            _ => days_before(year, month + 1, 1),
                        };
                        days_before(year, month, day) < next
                    };
                    let expected = (days_before(year, month, day) + 1) * 86_400_000_000_000 - 1;
                    assert_eq!(ns(&text), exists.then_some(expected), "{text}");
                }
            }
        }
    }

    #[test]
    fn zones_and_digits_are_told() {
        let of = |text: &str| {
            let stamp = read(text.as_bytes()).unwrap();
            (stamp.digits, stamp.has_zone)
        };
        assert_eq!(of("2026-11-20 10:15:32"), (0, false));
        assert_eq!(of("2026-11-20 10:15:32Z"), (0, true));
        assert_eq!(of("2026-11-20 10:15:32.120"), (3, false));
        assert_eq!(of("2026-11-20 10:15:32.123456-03:00"), (6, true));
        assert_eq!(of("2026-11-20 10:15:32.1234567891234"), (9, false));
    }

    #[test]
    fn what_is_no_instant_is_refused() {
        for text in [
            "2026-11-20",
            "2026-11-20 10:15",
            "2026-11-20 101532",
            "2026-11-20 10:15:60",
            "2026-06-30T23:59:60Z",
            "2026-11-20 10:15:61",
            "2026-11-20 10:60:32",
            "2026-11-20 24:00:00",
            "2026-02-29 10:15:32",
            "2026-13-01 10:15:32",
            "2026-00-01 10:15:32",
            "1969-12-31 23:59:59.999999999Z",
            "1970-01-01 00:59:59+01:00",
            "2116-02-21 00:00:00",
            "2262-04-12 00:00:00",
            "2500-01-01 00:00:00",
            "9999-12-31 23:59:59",
            "0001-01-01 00:00:00",
            "2026-11-20 10:15:32.",
            "2026-11-20 10:15:32.Z",
            "2026-11-20 10:15:32.1.2",
            "2026-11-20 10:15:32,123",
            "2026-11-20 10:15:32+99:00",
            "2026-11-20 10:15:32+01:60",
            "2026-11-20 10:15:32+1",
            "2026-11-20 10:15:32+01:0",
            "2026-11-20 10:15:32+0a",
            "2026-11-20 10:15:32 CET",
            "2026-11-20 10:15:32Zx",
            "2026-11-20_10:15:32",
            "20261120T101532Z",
            "2026-11-20 10:15:32\u{e9}",
            "\u{e9}26-11-20 10:15:32",
            "+026-11-20 10:15:32",
            "",
        ] {
            assert_eq!(ns(text), None, "{text}");
        }
        assert_eq!(read(b"2026-11-20 10:15:32\xff"), None);
    }

    #[test]
    fn a_date_is_told_from_a_number() {
        for text in [&b"2026-11-20"[..], b"1969-12-31 x", b"9999-99-99T"] {
            assert!(is_date(text), "{text:?}");
        }
        for text in [&b"20261120"[..], b"2026-11-2", b"-026-11-20", b"1e9", b""] {
            assert!(!is_date(text), "{text:?}");
        }
    }
}
