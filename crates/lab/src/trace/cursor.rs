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
    pub(super) fn word(&mut self, word: &[u8]) -> Option<()> {
        if !self.rest().starts_with(word) {
            return None;
        }
        self.at += word.len();
        Some(())
    }

    /// Uses up spaces and tabs, if any.
    #[inline]
    pub(super) fn blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Uses up spaces and tabs, at least one.
    #[inline]
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
    #[inline]
    fn eight(&self) -> u64 {
        let rest = self.rest();
        if let Some(eight) = rest.first_chunk::<8>() {
            return u64::from_le_bytes(*eight);
        }
        match self.line.last_chunk::<8>() {
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

    /// Uses up to eight digits; their value and how many there were.
    #[inline]
    fn digits(&mut self) -> (u64, u32) {
        const ZEROS: u64 = 0x3030_3030_3030_3030;
        const TEN_AND_MORE: u64 = 0x7676_7676_7676_7676;
        const HIGH: u64 = 0x8080_8080_8080_8080;
        let digits = self.eight() ^ ZEROS;
        // The high bit of a byte that is no digit. Carries spoil only bytes behind the first of
        // these.
        let others = (digits.wrapping_add(TEN_AND_MORE) | digits) & HIGH;
        let count = others.trailing_zeros() / 8;
        if count == 0 {
            return (0, 0);
        }
        self.at += count as usize;
        // Zeros in front, then neighbours are joined: digits to pairs, to fours, to the number.
        let mut value = digits << (8 * (8 - count));
        value = (value.wrapping_mul(10) + (value >> 8)) & 0x00ff_00ff_00ff_00ff;
        value = (value.wrapping_mul(100) + (value >> 16)) & 0x0000_ffff_0000_ffff;
        value = (value.wrapping_mul(10_000) + (value >> 32)) & 0xffff_ffff;
        (value, count)
    }

    /// Uses up a whole number; `None` without a digit or above `u64`.
    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        let (mut value, mut count) = self.digits();
        if count == 0 {
            return None;
        }
        while count == 8 {
            let more;
            (more, count) = self.digits();
            value = value.checked_mul(TENS[count as usize])?.checked_add(more)?;
        }
        Some(value)
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
    #[inline]
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
    #[inline]
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
