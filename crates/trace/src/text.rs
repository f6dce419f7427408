//! What all text formats share: bytes become lines, lines become numbers.
//!
//! A format in text is a [`Lines`]: it turns one line into at most one record. [`Text`] does the
//! rest of a decoder for it: ends of lines in both styles, byte order mark, comments, blank lines,
//! one header line, lines that do not parse (counted, the first kept with their number, an error
//! with `strict`) and lines without an end. Nothing here allocates, but for messages. Cost: one
//! `memchr` a line.

use memchr::memchr;

use super::TraceError;
pub(super) use super::cursor::{Cursor, last_decimal, last_seconds, right_aligned};
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

/// Longest line that is looked at, in bytes; the longest line that any format writes (a passthrough
/// command with its bytes) has a few hundred. A longer one is a bad line, and is never held in
/// memory.
pub(super) const LINE_BYTES_MAX: usize = 64 << 10;

/// Records that one call of `decode` appends at most, so that a window of bytes does not become
/// records all at once.
pub(super) const BATCH_RECORDS_MAX: usize = 1 << 16;

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
    /// The same, with what is wrong in words of the format's own.
    Wrong(String),
    /// It is of the format, but has to be left out.
    Left(Anomaly, &'static str),
    /// The whole file cannot be read; why.
    Fatal(String),
    /// An option that was given decides nothing in this file; which, and why.
    Unused(&'static str, String),
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
        out.line = self.line;
        match self.parser.line(line, out) {
            Ok(()) => self.begun = true,
            Err(odd) => self.odd(odd, line, whole, out)?,
        }
        Ok(())
    }

    /// Blank lines come here too: no format takes one, and so the good lines need not be looked at
    /// for it.
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
            Odd::Malformed | Odd::Wrong(_) if line.trim_ascii().is_empty() => {}
            Odd::Malformed if !begun && looks_like_header(line) => self.begun = true,
            Odd::Malformed => {
                let what = format!("expected {}, found `{}`", P::SHAPE, excerpt(line));
                self.bad(what, whole, out)?;
            }
            Odd::Wrong(what) => self.bad(what, whole, out)?,
            Odd::Left(kind, why) => {
                self.begun = true;
                let number = self.line;
                out.anomalies.note(kind, || {
                    format!("line {number}: {why}: `{}`", excerpt(line))
                });
            }
            Odd::Fatal(what) => return Err(self.unfit(what)),
            Odd::Unused(option, why) => return Err(TraceError::without_effect(option, why)),
        }
        Ok(())
    }

    /// Counts a line that does not parse, or ends the reading with it.
    fn bad(&mut self, what: String, whole: bool, out: &mut Sink) -> Result<(), TraceError> {
        self.begun = true;
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

/// Linux device numbers as names, `major:minor`, without making the name each time.
#[derive(Default)]
pub(super) struct DeviceNumbers {
    known: Vec<(u64, u64, u32)>,
}

impl DeviceNumbers {
    /// Devices that are looked up one after the other; a traced machine has a handful.
    const KNOWN_MAX: usize = 64;

    /// The number of the device.
    pub(super) fn number(&mut self, major: u64, minor: u64, out: &mut Sink) -> u32 {
        let same = |known: &&(u64, u64, u32)| (known.0, known.1) == (major, minor);
        if let Some((_, _, dev)) = self.known.iter().find(same) {
            return *dev;
        }
        let dev = out.devices.intern(format!("{major}:{minor}").as_bytes());
        if self.known.len() < DeviceNumbers::KNOWN_MAX {
            self.known.push((major, minor, dev));
        }
        dev
    }
}

/// A first line that does not parse and starts with a word names the columns.
pub(super) fn looks_like_header(line: &[u8]) -> bool {
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
            super::super::decode::Probe::Line(probe)
            | super::super::decode::Probe::Doubtful { parses: probe, .. } => probe(line.as_bytes()),
            super::super::decode::Probe::Magic(probe) => probe(line.as_bytes()),
            super::super::decode::Probe::Header { names, .. } => {
                names(line.as_bytes()) != super::super::decode::Naming::Nothing
            }
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
}
