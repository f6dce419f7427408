//! Reads numbers and words from a line, straight from its bytes.
//!
//! Eight digits at a time are taken in one register, and counted there too (D. Lemire, "Quickly
//! parsing eight digits", 2018; there for exactly eight). Decimals become integer nanoseconds
//! without a float in between, because an f64 loses digits at today's Unix times. Nothing
//! allocates. Cost: about a nanosecond a field.

use super::record::TraceOp;

/// Digits of a second in the decimals that [`Cursor::decimal`] keeps.
const FRACTION_DIGITS: u32 = 9;

/// Powers of ten up to that of a fraction.
const TENS: [u64; FRACTION_DIGITS as usize + 1] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
];

/// Eight times `0`.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Eight spaces.
const SPACES: u64 = 0x2020_2020_2020_2020;

/// The high bits of eight bytes.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// A place in a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(super) fn new(line: &'a [u8]) -> Cursor<'a> {
        Cursor { line, at: 0 }
    }

    /// The same at a later place.
    #[inline]
    pub(super) fn at(line: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor {
            line,
            at: at.min(line.len()),
        }
    }

    /// What is still to be read.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.line[self.at..]
    }

    /// The next byte, not used up.
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    /// Uses up this byte, or is `None` when another stands here.
    #[inline]
    pub(super) fn byte(&mut self, byte: u8) -> Option<()> {
        if self.peek() != Some(byte) {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// Uses up any next byte.
    #[inline]
    pub(super) fn any(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Uses up the letter of an operation.
    #[inline]
    pub(super) fn op(&mut self, read: u8, write: u8) -> Option<TraceOp> {
        match self.any()? {
            letter if letter == read => Some(TraceOp::Read),
            letter if letter == write => Some(TraceOp::Write),
            _ => None,
        }
    }

    /// Uses up these bytes, or is `None` when others stand here.
    #[inline]
    pub(super) fn word(&mut self, word: &[u8]) -> Option<()> {
        if !self.rest().starts_with(word) {
            return None;
        }
        self.at += word.len();
        Some(())
    }

    /// Uses up spaces and tabs, if any. Most often there is none or one; more of them fill a
    /// column.
    #[inline(always)]
    pub(super) fn blanks(&mut self) {
        if let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
            if let Some(b' ' | b'\t') = self.peek() {
                self.many_blanks();
            }
        }
    }

    /// Uses up spaces eight at a time, and tabs.
    #[inline]
    fn many_blanks(&mut self) {
        loop {
            let spaces = (self.eight() ^ SPACES).trailing_zeros() / 8;
            self.at += spaces as usize;
            if spaces < 8 && self.byte(b'\t').is_none() {
                return;
            }
        }
    }

    /// Uses up spaces and tabs, at least one.
    #[inline(always)]
    pub(super) fn gap(&mut self) -> Option<()> {
        let before = self.at;
        self.blanks();
        (self.at > before).then_some(())
    }

    /// Uses up what stands before this byte, and the byte.
    pub(super) fn field(&mut self, end: u8) -> Option<&'a [u8]> {
        let rest = self.rest();
        let length = rest.iter().position(|byte| *byte == end)?;
        self.at += length + 1;
        Some(&rest[..length])
    }

    /// Uses up what stands before this byte, or all that is left.
    pub(super) fn before(&mut self, end: u8) -> &'a [u8] {
        let rest = self.rest();
        let length = rest.iter().position(|byte| *byte == end);
        let length = length.unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Uses up a comma with the blanks around it.
    #[inline]
    pub(super) fn comma(&mut self) -> Option<()> {
        if self.peek() != Some(b',') {
            self.blanks();
        }
        self.byte(b',')?;
        self.blanks();
        Some(())
    }

    /// Uses up a run of digits, at least one, as it stands: a name that is a number.
    #[inline]
    pub(super) fn digits_text(&mut self) -> Option<&'a [u8]> {
        let before = self.at;
        while self.digits().1 == 8 {}
        (self.at > before).then(|| &self.line[before..self.at])
    }

    /// Uses up a run of bytes that are neither space nor tab, at least one.
    pub(super) fn token(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest();
        let length = rest
            .iter()
            .position(|byte| matches!(byte, b' ' | b'\t'))
            .unwrap_or(rest.len());
        self.at += length;
        (length > 0).then(|| &rest[..length])
    }

    /// Nothing but blanks is left.
    #[inline]
    pub(super) fn end(&mut self) -> Option<()> {
        self.blanks();
        (self.at == self.line.len()).then_some(())
    }

    /// The next eight bytes, the first one lowest; zeros behind the end of the line.
    #[inline(always)]
    fn eight(&self) -> u64 {
        match self.rest().first_chunk::<8>() {
            Some(eight) => u64::from_le_bytes(*eight),
            None => last_eight(self.line, self.at),
        }
    }

    /// Uses up to eight digits; their value and how many there were.
    #[inline(always)]
    fn digits(&mut self) -> (u64, u32) {
        const TEN_AND_MORE: u64 = 0x7676_7676_7676_7676;
        let digits = self.eight() ^ ZEROS;
        // The high bit of a byte that is no digit. Carries spoil only bytes behind the first of
        // these.
        let others = (digits.wrapping_add(TEN_AND_MORE) | digits) & HIGH;
        let count = others.trailing_zeros() / 8;
        if count == 0 {
            return (0, 0);
        }
        self.at += count as usize;
        // Zeros in front.
        (joined(digits << (8 * (8 - count))), count)
    }

    /// Uses up a whole number; `None` without a digit or above `u64`.
    #[inline(always)]
    pub(super) fn number(&mut self) -> Option<u64> {
        let (value, count) = self.digits();
        match count {
            0 => None,
            8 => {
                let (value, at) = long_number(self.line, self.at, value)?;
                self.at = at;
                Some(value)
            }
            _ => Some(value),
        }
    }

    /// Uses up a hexadecimal number without prefix; `None` without a digit or above `u64`.
    pub(super) fn hexadecimal(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        let before = self.at;
        while let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) {
            if value >> 60 != 0 {
                return None;
            }
            value = value << 4 | u64::from(digit);
            self.at += 1;
        }
        (self.at > before).then_some(value)
    }

    /// Uses up a number of at least 0 with or without decimals, counted in units of `unit_ns` (at
    /// most a second); gives whole nanoseconds, what is below a nanosecond is cut. `None` when it
    /// is no number or beyond `i64`.
    #[inline]
    pub(super) fn decimal(&mut self, unit_ns: u64) -> Option<i64> {
        self.decimal_and_digits(unit_ns).map(|(ns, _)| ns)
    }

    /// The same, and how many digits stood behind the point, at most nine.
    #[inline(always)]
    pub(super) fn decimal_and_digits(&mut self, unit_ns: u64) -> Option<(i64, u32)> {
        let whole = self.number()?;
        let (mut ns, mut digits) = (whole.checked_mul(unit_ns)?, 0);
        if self.byte(b'.').is_some() {
            let start = self.at;
            ns = ns.checked_add(self.billionths()? * unit_ns / TENS[9])?;
            digits = (self.at - start).min(FRACTION_DIGITS as usize) as u32;
        }
        Some((i64::try_from(ns).ok()?, digits))
    }

    /// Uses up the digits behind a decimal point, at least one; gives billionths, further digits
    /// are cut.
    #[inline(always)]
    fn billionths(&mut self) -> Option<u64> {
        let (value, count) = self.digits();
        if count == 0 {
            return None;
        }
        let mut billionths = value * TENS[(FRACTION_DIGITS - count) as usize];
        if count == 8 {
            let (more, mut count) = self.digits();
            if count > 0 {
                billionths += more / TENS[count as usize - 1];
            }
            while count == 8 {
                (_, count) = self.digits();
            }
        }
        Some(billionths)
    }
}

/// The number of eight digits, one a byte: neighbours are joined to pairs, to fours, to the number.
#[inline]
fn joined(digits: u64) -> u64 {
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff
}

/// The high bits of the bytes that are no digit, given as what they differ from `0`. No byte
/// carries into the next.
#[inline(always)]
fn others(digits: u64) -> u64 {
    (((digits & !HIGH) + 0x7676_7676_7676_7676) | digits) & HIGH
}

/// The high bits of the bytes that differ, given as how they do.
#[inline(always)]
fn differ(differences: u64) -> u64 {
    (((differences & !HIGH) + !HIGH) | differences) & HIGH
}

/// Where the digits and points begin that end a text.
#[inline]
pub(super) fn last_decimal(text: &[u8]) -> usize {
    const POINTS: u64 = 0x2e2e_2e2e_2e2e_2e2e;
    let mut start = text.len();
    while let Some(eight) = text[..start].last_chunk::<8>() {
        let eight = u64::from_le_bytes(*eight);
        let others = others(eight ^ ZEROS) & differ(eight ^ POINTS);
        if others != 0 {
            return start - (others.leading_zeros() / 8) as usize;
        }
        start -= 8;
    }
    let of_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let more = text[..start]
        .iter()
        .rev()
        .take_while(|byte| of_number(byte));
    start - more.count()
}

/// The seconds with nine or six decimals that end a text, as nanoseconds, and how many decimals.
/// `None` when they have a form that is seldom met; [`last_decimal`] finds any.
#[inline(always)]
pub(super) fn last_seconds(text: &[u8]) -> Option<(i64, u32)> {
    let tail = text.last_chunk::<18>()?;
    // Each column is full of digits when it begins with one.
    let (point, full, ns, decimals) = if tail[8] == b'.' {
        let (first, more) = (right_aligned(tail, 10, 1)?, right_aligned(tail, 18, 8)?);
        (8, tail[10], first * TENS[8] + more, 9)
    } else if tail[11] == b'.' {
        (11, tail[12], right_aligned(tail, 18, 6)? * TENS[3], 6)
    } else {
        return None;
    };
    let whole = u64::from_le_bytes(*tail[..point].last_chunk()?) ^ ZEROS;
    let digits = others(whole).leading_zeros() / 8;
    if !(1..8).contains(&digits) || full == b' ' || tail[point - 1 - digits as usize] == b'.' {
        return None;
    }
    let whole = joined(whole & (!0 << (64 - 8 * digits)));
    Some(((whole * TENS[9] + ns) as i64, decimals))
}

/// The number that stands right-aligned in the column of at most eight bytes before `end`: spaces,
/// then at least one digit. Costs no more for many digits than for few, and needs not know where
/// the fields before it ended.
#[inline(always)]
pub(super) fn right_aligned(line: &[u8], end: usize, width: usize) -> Option<u64> {
    let eight = match end.checked_sub(8) {
        Some(start) => u64::from_le_bytes(*line.get(start..)?.first_chunk()?),
        None => u64::from_le_bytes(*line.first_chunk()?) << (8 * (8 - end)),
    };
    // What stands before the column counts as spaces.
    let before = (1_u64 << (8 * (8 - width))) - 1;
    let eight = (eight & !before) | (SPACES & before);
    let digits = eight ^ ZEROS;
    let others = others(digits);
    // Spaces only stand in front: their bits, all together with those of their bytes, are a run
    // from the lowest.
    let front = others | (others - (others >> 7));
    let in_front = others & differ(eight ^ SPACES) == 0 && front & front.wrapping_add(1) == 0;
    (in_front && others >> 63 == 0).then(|| joined(digits & !front))
}

// These two are apart, and get and give what they change by value, so that a cursor stays in
// registers.

/// What is left behind `at`, when that is less than eight bytes, and zeros behind it.
#[inline(never)]
fn last_eight(line: &[u8], at: usize) -> u64 {
    let rest = &line[at..];
    match line.last_chunk::<8>() {
        // The last eight bytes of the line, less those before the cursor.
        Some(_) if rest.is_empty() => 0,
        Some(eight) => u64::from_le_bytes(*eight) >> (8 * (8 - rest.len())),
        None => {
            let mut eight = [0; 8];
            eight[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(eight)
        }
    }
}

/// The number that begins with the eight digits before `at`, and where it ends.
#[inline(never)]
fn long_number(line: &[u8], at: usize, eight: u64) -> Option<(u64, usize)> {
    let (mut value, mut count) = (eight, 8);
    let mut cursor = Cursor { line, at };
    while count == 8 {
        let more;
        (more, count) = cursor.digits();
        value = value.checked_mul(TENS[count as usize])?.checked_add(more)?;
    }
    Some((value, cursor.at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_are_read() {
        for digits in 1..=20 {
            let text = &"12345678901234567890"[..digits];
            for (before, behind) in [("", ""), ("", ","), ("", ",1234567890"), ("abcdefgh", "x")] {
                let line = format!("{before}{text}{behind}");
                let mut cursor = Cursor::new(line.as_bytes());
                cursor.word(before.as_bytes()).unwrap();
                assert_eq!(cursor.number(), text.parse().ok(), "{line}");
                assert_eq!(cursor.rest(), behind.as_bytes(), "{line}");
            }
        }
        let number = |text: &str| Cursor::new(text.as_bytes()).number();
        assert_eq!(number("18446744073709551615"), Some(u64::MAX));
        assert_eq!(number("18446744073709551616"), None);
        assert_eq!(number("99999999999999999999999999"), None);
        assert_eq!(number("0000000000000000000000007"), Some(7));
        assert_eq!(
            [number(""), number("-1"), number(":"), number("/")],
            [None; 4]
        );
    }

    #[test]
    fn columns_hold_spaces_and_then_digits() {
        let of = |text: &[u8; 8]| right_aligned(text, 8, 8);
        for digits in 1..=8 {
            let text = format!("{:>8}", &"97531086"[..digits]);
            let column = text.as_bytes().first_chunk().unwrap();
            assert_eq!(of(column), text.trim().parse().ok(), "{text}");
            // Any other byte at any place, a space behind a digit among them.
            for at in 0..8 {
                for byte in 0..=255_u8 {
                    let mut other = *column;
                    other[at] = byte;
                    let text = String::from_utf8_lossy(&other).into_owned();
                    let digits = text.trim_start_matches(' ');
                    let number = digits.bytes().all(|byte| byte.is_ascii_digit());
                    let number = number.then(|| digits.parse().ok()).flatten();
                    assert_eq!(of(&other), number, "{other:?}");
                }
            }
        }
        let of = |end, width| right_aligned(b"1  7,42 x", end, width);
        assert_eq!([of(4, 3), of(4, 1), of(7, 2)], [7, 7, 42].map(Some));
        assert_eq!(
            [of(4, 4), of(3, 2), of(7, 3), of(8, 3), of(99, 3)],
            [None; 5]
        );
    }

    #[test]
    fn the_last_decimal_begins_behind_any_other_byte() {
        for digits in 0..20 {
            let number = &"1234567.890123456789"[..digits];
            for byte in (0..=255).filter(|byte: &u8| !byte.is_ascii_digit() && *byte != b'.') {
                for before in 0..10 {
                    let text = [&vec![b'7'; before], &[byte][..], number.as_bytes()].concat();
                    assert_eq!(last_decimal(&text), before + 1, "{text:?}");
                }
            }
            assert_eq!(last_decimal(number.as_bytes()), 0);
        }
    }

    #[test]
    fn the_last_seconds_are_those_of_any_form_or_left_to_it() {
        let before = b"a 1234567.9 x ";
        for text in [
            "2929.633882957",
            "2929.633882",
            "0.000001",
            "1234567.000000000",
        ] {
            for at in 0..text.len() {
                for byte in 0..=255_u8 {
                    let mut text = [before, text.as_bytes()].concat();
                    text[before.len() + at] = byte;
                    let mut cursor = Cursor::at(&text, last_decimal(&text));
                    let slow = cursor.decimal_and_digits(1_000_000_000);
                    let slow = slow.filter(|_| cursor.end().is_some());
                    let fast = last_seconds(&text);
                    assert!(
                        fast.is_none() || fast == slow,
                        "{text:?}: {fast:?} {slow:?}"
                    );
                }
            }
            let text = [before, text.as_bytes()].concat();
            assert!(last_seconds(&text).is_some());
        }
        assert_eq!(
            last_seconds(b"     2929.633882957"),
            Some((2_929_633_882_957, 9))
        );
        assert_eq!(last_seconds(b"12345678.633882957"), None);
    }

    #[test]
    fn every_byte_but_the_digits_ends_a_number() {
        for byte in (0..=255_u8).filter(|byte| !byte.is_ascii_digit()) {
            let line = [b'4', b'2', byte, b'9', b'9', b'9', b'9', b'9', b'9'];
            let mut cursor = Cursor::new(&line);
            assert_eq!((cursor.number(), cursor.peek()), (Some(42), Some(byte)));
        }
    }

    #[test]
    fn decimals_become_exact_nanoseconds() {
        let second = |text: &str| Cursor::new(text.as_bytes()).decimal(1_000_000_000);
        assert_eq!(second("0.026214"), Some(26_214_000));
        assert_eq!(second("1538323199"), Some(1_538_323_199_000_000_000));
        assert_eq!(
            second("1455505200.123456789"),
            Some(1_455_505_200_123_456_789)
        );
        assert_eq!(second("1.00000000199999999999999"), Some(1_000_000_001));
        assert_eq!(second("0.1"), Some(100_000_000));
        assert_eq!(
            [second("1."), second(".5"), second("9999999999999.0")],
            [None; 3]
        );
        let milli = |text: &str| Cursor::new(text.as_bytes()).decimal(1_000_000);
        assert_eq!(milli("13.191135"), Some(13_191_135));
        assert_eq!(milli("13.1911359"), Some(13_191_135));
    }

    #[test]
    fn hexadecimal_has_a_bound() {
        let number = |text: &str| Cursor::new(text.as_bytes()).hexadecimal();
        assert_eq!(number("ffffffffffffffff"), Some(u64::MAX));
        assert_eq!([number("10000000000000000"), number("g")], [None; 2]);
    }
}
