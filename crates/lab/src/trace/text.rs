//! What all text formats share: bytes become lines, lines become numbers.
//!
//! A format in text is a [`Lines`]: it turns one line into at most one record. [`Text`] does the rest of a decoder for
//! it: ends of lines in both styles, byte order mark, comments, blank lines, one header line, lines that do not
//! parse (counted, the first kept with their number, an error with `strict`) and lines without an end.
//!
//! [`Cursor`] reads numbers straight from bytes: eight digits at a time in one register (D. Lemire, "Quickly parsing
//! eight digits", 2018; the number of digits by the same register), decimals into integer nanoseconds without
//! a float in between, because an f64 loses digits at today's Unix times. Nothing here allocates, but for
//! messages. Cost: one `memchr` a line and about a nanosecond a field.

use memchr::memchr;

use super::TraceError;
use super::decode::{Anomaly, Decoder, Options, Sink, TimeKind, TimeMeaning};

/// Bytes of a sector, the unit of many formats whatever the device's own block is.
pub(super) const SECTOR_BYTES: u64 = 512;

/// One second.
pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// Arrival times from an arbitrary start, in steps of `resolution_ns`.
pub(super) const fn arrivals(resolution_ns: u64) -> TimeMeaning {
    TimeMeaning {
        resolution_ns,
        kind: TimeKind::Arrival,
        epoch_unix_ns: None,
    }
}

/// Longest line that is looked at, in bytes; the longest line that any format writes (a passthrough command with its
/// bytes) has a few hundred. A longer one is a bad line, and is never held in memory.
pub(super) const LINE_BYTES_MAX: usize = 64 << 10;

/// Records that one call of `decode` appends at most, so that a mapped file does not become records all at once.
pub(super) const BATCH_RECORDS_MAX: usize = 1 << 16;

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

/// A text format: one line in, at most one record out.
pub(super) trait Lines: Send {
    /// What a line should look like, for messages.
    const SHAPE: &'static str;

    /// Takes a line that is neither blank nor a comment, without its end.
    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd>;

    /// Takes a line that starts with `#`.
    fn comment(&mut self, _line: &[u8]) {}

    /// The last line is over: append what was held back, say what was found.
    fn finish(&mut self, _out: &mut Sink) -> Result<(), Odd> {
        Ok(())
    }

    /// What the time stamps are.
    fn time(&self) -> TimeMeaning;
}

/// Why a line gave no record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Odd {
    /// It is not of the format's shape.
    Malformed,
    /// It is of the format, but has to be left out.
    Left(Anomaly, &'static str),
    /// The whole file cannot be read; why.
    Fatal(String),
}

impl Odd {
    /// An address or a length in bytes that has no number.
    pub(super) const BEYOND: Odd = Odd::Left(
        Anomaly::BeyondAddressSpace,
        "the address in bytes is beyond 2^64",
    );
}

/// Reads the lines of a format.
pub(super) struct Text<P> {
    parser: P,
    strict: bool,
    /// Lines so far, the present one included.
    line: u64,
    /// The start of a line that is too long is gone; what comes up to its end belongs to it.
    in_long_line: bool,
    /// A line with content has passed, so no header can follow.
    begun: bool,
}

impl<P: Lines + 'static> Text<P> {
    /// A decoder for lines as `parser` reads them.
    pub(super) fn boxed(parser: P, options: &Options) -> Box<dyn Decoder> {
        Box::new(Text {
            parser,
            strict: options.strict,
            line: 0,
            in_long_line: false,
            begun: false,
        })
    }
}

impl<P: Lines> Text<P> {
    /// Takes a line without its `\n`; `whole` is false when the file ended instead.
    fn take(&mut self, line: &[u8], whole: bool, out: &mut Sink) -> Result<(), TraceError> {
        if std::mem::take(&mut self.in_long_line) {
            return Ok(());
        }
        self.line += 1;
        if line.len() > LINE_BYTES_MAX {
            return self.too_long(out);
        }
        let mut line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.line == 1 {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.first() == Some(&b'#') {
            self.parser.comment(line);
            return Ok(());
        }
        match self.parser.line(line, out) {
            Ok(()) => self.begun = true,
            Err(odd) => self.odd(odd, line, whole, out)?,
        }
        Ok(())
    }

    /// Blank lines come here too: no format takes one, and so the good lines need not be looked at for it.
    #[cold]
    fn odd(
        &mut self,
        odd: Odd,
        line: &[u8],
        whole: bool,
        out: &mut Sink,
    ) -> Result<(), TraceError> {
        let begun = self.begun;
        match odd {
            Odd::Malformed if line.trim_ascii().is_empty() => {}
            Odd::Malformed if !begun && looks_like_header(line) => self.begun = true,
            Odd::Malformed => {
                self.begun = true;
                let what = format!("expected {}, found `{}`", P::SHAPE, excerpt(line));
                if self.strict {
                    return Err(self.unfit(what));
                }
                let kind = if whole {
                    Anomaly::BadRecord
                } else {
                    Anomaly::Truncated
                };
                let number = self.line;
                out.anomalies
                    .note(kind, || format!("line {number}: {what}"));
            }
            Odd::Left(kind, why) => {
                self.begun = true;
                let number = self.line;
                out.anomalies.note(kind, || {
                    format!("line {number}: {why}: `{}`", excerpt(line))
                });
            }
            Odd::Fatal(what) => return Err(self.unfit(what)),
        }
        Ok(())
    }

    #[cold]
    fn too_long(&mut self, out: &mut Sink) -> Result<(), TraceError> {
        let what = format!("longer than the {LINE_BYTES_MAX} bytes that a line may have");
        if self.strict {
            return Err(self.unfit(what));
        }
        let number = self.line;
        out.anomalies
            .note(Anomaly::BadRecord, || format!("line {number}: {what}"));
        Ok(())
    }

    fn unfit(&self, what: String) -> TraceError {
        TraceError::unfit(format!("line {}: {what}", self.line))
    }
}

impl<P: Lines> Decoder for Text<P> {
    fn decode(&mut self, bytes: &[u8], last: bool, out: &mut Sink) -> Result<usize, TraceError> {
        let enough = out.records.len() + BATCH_RECORDS_MAX;
        let mut used = 0;
        while used < bytes.len() && out.records.len() < enough {
            let rest = &bytes[used..];
            if let Some(end) = memchr(b'\n', rest) {
                self.take(&rest[..end], true, out)?;
                used += end + 1;
            } else if last {
                self.take(rest, false, out)?;
                used = bytes.len();
            } else if self.in_long_line || rest.len() > LINE_BYTES_MAX + 1 {
                // Its end may be far away: what is here of it is dropped now.
                self.take(rest, true, out)?;
                self.in_long_line = true;
                used = bytes.len();
            } else {
                break;
            }
        }
        Ok(used)
    }

    fn finish(&mut self, out: &mut Sink) -> Result<(), TraceError> {
        match self.parser.finish(out) {
            Ok(()) => Ok(()),
            Err(Odd::Fatal(what)) => Err(self.unfit(what)),
            Err(odd) => self.odd(odd, b"(end)", true, out),
        }
    }

    fn time(&self) -> TimeMeaning {
        self.parser.time()
    }
}

/// A first line that does not parse and starts with a word names the columns.
fn looks_like_header(line: &[u8]) -> bool {
    let first = line.trim_ascii_start().first();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'"')
}

/// The start of a line, fit to be shown.
pub(super) fn excerpt(line: &[u8]) -> String {
    const SHOWN_MAX: usize = 80;
    let shown = &line[..line.len().min(SHOWN_MAX)];
    let more = if line.len() > SHOWN_MAX { "..." } else { "" };
    format!("{}{more}", String::from_utf8_lossy(shown).escape_debug())
}

/// A place in a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(line: &'a [u8]) -> Cursor<'a> {
        Cursor { line, at: 0 }
    }

    /// What is still to be read.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.line[self.at..]
    }

    /// The next byte, not used up.
    pub(super) fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    /// Uses up this byte, or is `None` when another stands here.
    pub(super) fn byte(&mut self, byte: u8) -> Option<()> {
        if self.peek() != Some(byte) {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// Uses up any next byte.
    pub(super) fn any(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
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
    pub(super) fn blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Uses up spaces and tabs, at least one.
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
    pub(super) fn end(&mut self) -> Option<()> {
        self.blanks();
        (self.at == self.line.len()).then_some(())
    }

    /// The next eight bytes, the first one lowest; zeros behind the end of the line.
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
    fn digits(&mut self) -> (u64, u32) {
        const ZEROS: u64 = 0x3030_3030_3030_3030;
        const TEN_AND_MORE: u64 = 0x7676_7676_7676_7676;
        const HIGH: u64 = 0x8080_8080_8080_8080;
        let digits = self.eight() ^ ZEROS;
        // The high bit of a byte that is no digit. Carries spoil only bytes behind the first of these.
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

    /// Uses up a number of at least 0 with or without decimals, counted in units of `unit_ns` (at most a second);
    /// gives whole nanoseconds, what is below a nanosecond is cut. `None` when it is no number or beyond `i64`.
    #[inline]
    pub(super) fn decimal(&mut self, unit_ns: u64) -> Option<i64> {
        let whole = self.number()?;
        let mut ns = whole.checked_mul(unit_ns)?;
        if self.byte(b'.').is_some() {
            ns = ns.checked_add(self.billionths()? * unit_ns / TENS[9])?;
        }
        i64::try_from(ns).ok()
    }

    /// Uses up the digits behind a decimal point, at least one; gives billionths, further digits are cut.
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

/// What a test of a format needs: the whole of a text at once.
#[cfg(test)]
pub(super) mod testing {
    use super::super::decode::{Format, Made, Reads};
    use super::*;

    /// A decoder of the format.
    pub(crate) fn decoder(format: &Format, options: &Options) -> Made<dyn Decoder> {
        match format.reads {
            Reads::Stream(make) => make(options),
            Reads::File(_) => unreachable!("text is a stream"),
        }
    }

    /// Everything that a format finds in a text, with options.
    pub(crate) fn read_with(format: &Format, text: &[u8], options: &Options) -> Sink {
        let mut decoder = decoder(format, options).expect("options that fit");
        let mut sink = Sink::default();
        let mut used = 0;
        while used < text.len() {
            let more = decoder
                .decode(&text[used..], true, &mut sink)
                .expect("a text that can be read");
            assert!(more > 0, "no progress at byte {used}");
            used += more;
        }
        decoder.finish(&mut sink).expect("an end that can be read");
        sink
    }

    /// Everything that a format finds in a text.
    pub(crate) fn read(format: &Format, text: &str) -> Sink {
        read_with(format, text.as_bytes(), &Options::default())
    }

    /// The error of a text that cannot be read.
    pub(crate) fn refusal(format: &Format, text: &str, options: &Options) -> String {
        let mut sink = Sink::default();
        let error = decoder(format, options).and_then(|mut decoder| {
            decoder.decode(text.as_bytes(), true, &mut sink)?;
            decoder.finish(&mut sink)
        });
        error.expect_err("a text that cannot be read").to_string()
    }

    /// Whether the format's probe takes a line.
    pub(crate) fn takes(format: &Format, line: &str) -> bool {
        match format.probe {
            super::super::decode::Probe::Line(probe) => probe(line.as_bytes()),
            super::super::decode::Probe::Magic(probe) => probe(line.as_bytes()),
            _ => unreachable!("no other probes for text"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{Record, TraceOp};
    use super::*;

    /// A line is a number, which becomes an offset.
    struct Plain;

    impl Lines for Plain {
        const SHAPE: &'static str = "a number";

        fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
            let mut cursor = Cursor::new(line);
            let offset = cursor.number().ok_or(Odd::Malformed)?;
            cursor.end().ok_or(Odd::Malformed)?;
            let record = Record::new(0, TraceOp::Read, offset, 0, 0);
            out.records.push(record);
            Ok(())
        }

        fn time(&self) -> TimeMeaning {
            arrivals(1)
        }
    }

    fn decoder(strict: bool) -> Box<dyn Decoder> {
        let options = Options {
            strict,
            ..Options::default()
        };
        Text::boxed(Plain, &options)
    }

    fn offsets(sink: &Sink) -> Vec<u64> {
        sink.records.iter().map(|record| record.offset).collect()
    }

    /// Feeds `text` in pieces of `piece` bytes, as a pipe might.
    fn in_pieces(text: &[u8], piece: usize) -> Sink {
        let mut decoder = decoder(false);
        let mut sink = Sink::default();
        let mut held = Vec::new();
        for part in text.chunks(piece) {
            held.extend_from_slice(part);
            let used = decoder.decode(&held, false, &mut sink).unwrap();
            held.drain(..used);
        }
        while !held.is_empty() {
            let used = decoder.decode(&held, true, &mut sink).unwrap();
            held.drain(..used);
        }
        decoder.finish(&mut sink).unwrap();
        sink
    }

    #[test]
    fn both_line_ends_marks_comments_blanks_and_a_header_are_understood() {
        let text = b"\xef\xbb\xbfoffset\r\n# note\r\n1\r\n\r\n  \t\n2\n3";
        for piece in 1..=text.len() {
            let sink = in_pieces(text, piece);
            assert_eq!(offsets(&sink), [1, 2, 3], "pieces of {piece}");
            assert_eq!(sink.anomalies.iter().count(), 0, "pieces of {piece}");
        }
    }

    #[test]
    fn bad_lines_are_counted_with_their_numbers() {
        let sink = in_pieces(b"1\nx\n-2\n3 4\n\0\x001\n5\n6x", 3);
        assert_eq!(offsets(&sink), [1, 5]);
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 4);
        assert_eq!(sink.anomalies.of(Anomaly::Truncated), 1);
        let (_, first) = &sink.anomalies.examples()[0];
        assert_eq!(first, "line 2: expected a number, found `x`");
    }

    #[test]
    fn only_one_header_is_passed_over_and_only_at_the_start() {
        let sink = in_pieces(b"offset\nagain\n1\n", 100);
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 1);
        let sink = in_pieces(b"1\noffset\n", 100);
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 1);
        let sink = in_pieces(b"%1\n1\n", 100);
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 1);
    }

    #[test]
    fn strict_stops_at_the_first_bad_line() {
        let mut decoder = decoder(true);
        let error = decoder.decode(b"1\n2\nx\n", true, &mut Sink::default());
        let message = error.unwrap_err().to_string();
        assert_eq!(message, ": line 3: expected a number, found `x`");
    }

    #[test]
    fn an_overlong_line_is_one_bad_line_however_it_comes() {
        let mut text = b"1\n".to_vec();
        text.extend(std::iter::repeat_n(b'7', 3 * LINE_BYTES_MAX));
        text.extend(b"\n2\n");
        for piece in [1_000, LINE_BYTES_MAX, LINE_BYTES_MAX + 1, text.len()] {
            let sink = in_pieces(&text, piece);
            assert_eq!(offsets(&sink), [1, 2], "pieces of {piece}");
            assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 1);
        }
    }

    #[test]
    fn a_call_stops_when_it_has_a_batch() {
        let text = b"1\n".repeat(BATCH_RECORDS_MAX + 1);
        let mut sink = Sink::default();
        let mut decoder = decoder(false);
        let used = decoder.decode(&text, true, &mut sink).unwrap();
        assert_eq!(
            (used, sink.records.len()),
            (text.len() - 2, BATCH_RECORDS_MAX)
        );
        decoder.decode(&text[used..], true, &mut sink).unwrap();
        assert_eq!(sink.records.len(), BATCH_RECORDS_MAX + 1);
    }

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
