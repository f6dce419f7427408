//! fio I/O logs: what `--write_iolog` writes and `--read_iolog` replays, versions 1, 2 and 3.
//!
//! ```text
//! fio version 3 iolog              fio version 2 iolog
//! 36 t.img add                     t.img add
//! 1517 t.img open                  t.img open
//! 1529 t.img read 1011712 4096     t.img wait 1500 0
//! 2001 t.img sync 0 0              t.img read 1011712 4096
//! ```
//!
//! Version 3 stamps every action in microseconds since the start of the job. Version 2 has times
//! only where something waits, and what a wait means is disputed (see `wait.rs`). Version 1, `rw,
//! offset, length` without a first line, has no times. Offsets and lengths are bytes; those of
//! `sync` and `datasync` mean nothing. A file is a device.
//!
//! Source: fio, `HOWTO`, "Trace file format", and `iolog.c`.

mod wait;
mod write;

use super::decode::{
    Choice, Decoder, Format, Made, Options, Probe, Reads, Sink, TimeKind, TimeMeaning,
};
use super::record::{Record, TraceOp};
use super::text::{Cursor, Lines, Odd, SECOND_NS, Text};
use wait::Waits;
pub(super) use write::WRITE_FORMAT;

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "fio",
    summary: "fio iolog, versions 2 and 3",
    source: "fio, HOWTO, Trace file format",
    probe: Probe::Magic(|bytes| {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        bytes.starts_with(b"fio version ")
    }),
    options: &[Choice::TimeUnit, Choice::FioWait],
    reads: Reads::Stream(|options| decoder(Version::Unread, options)),
};

/// The card of the version without a first line.
pub(crate) static FORMAT_V1: Format = Format {
    name: "fio-v1",
    summary: "fio iolog, version 1 (before 2008): rw, offset, length",
    source: "fio, HOWTO, Trace file format",
    probe: Probe::Line(|line| version_1(line).is_some()),
    options: &[],
    reads: Reads::Stream(|options| decoder(Version::One, options)),
};

fn decoder(version: Version, options: &Options) -> Made<dyn Decoder> {
    let fio = Fio {
        version,
        unit_ns: options.time_unit.map_or(MICROSECOND_NS, |unit| unit.ns()),
        given: (options.time_unit.is_some(), options.fio_wait.is_some()),
        waits: Waits::new(options.fio_wait),
        pace: Pace::default(),
        file: options.file.clone(),
        begun: false,
    };
    Ok(Text::boxed(fio, options))
}

const MICROSECOND_NS: u64 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// The first line comes.
    Unread,
    One,
    Two,
    Three,
}

struct Fio {
    version: Version,
    /// Unit of version 3's time stamps.
    unit_ns: u64,
    /// Whether the unit was given, and what waits mean.
    given: (bool, bool),
    /// Clock of version 2.
    waits: Waits,
    /// How fast version 3's requests come.
    pace: Pace,
    /// The device of version 1.
    file: String,
    /// Whether a line of version 1 was understood.
    begun: bool,
}

/// What a line says.
enum Action<'a> {
    /// Adds, opens or closes a file.
    File,
    /// Waits, version 2 only.
    Wait(u64),
    /// Does I/O on a file.
    Io(TraceOp, &'a [u8], u64, u64),
}

/// `filename action [offset length]`
fn action<'a>(cursor: &mut Cursor<'a>) -> Option<Action<'a>> {
    let file = cursor.token()?;
    cursor.gap()?;
    let op = match cursor.token()? {
        b"add" | b"open" | b"close" => return cursor.end().map(|()| Action::File),
        b"read" => Some(TraceOp::Read),
        b"write" => Some(TraceOp::Write),
        b"sync" | b"datasync" => Some(TraceOp::Flush),
        b"trim" => Some(TraceOp::Discard),
        b"wait" => None,
        _ => return None,
    };
    cursor.gap()?;
    let offset = cursor.number()?;
    cursor.gap()?;
    let length = cursor.number()?;
    cursor.end()?;
    Some(match op {
        None => Action::Wait(offset),
        Some(TraceOp::Flush) => Action::Io(TraceOp::Flush, file, 0, 0),
        Some(op) => Action::Io(op, file, offset, length),
    })
}

/// `rw, offset, length`
fn version_1(line: &[u8]) -> Option<(TraceOp, u64, u64)> {
    let mut cursor = Cursor::new(line);
    cursor.blanks();
    let op = match cursor.any()? {
        b'0' => TraceOp::Read,
        b'1' => TraceOp::Write,
        _ => return None,
    };
    cursor.comma()?;
    let offset = cursor.number()?;
    cursor.comma()?;
    let length = cursor.number()?;
    cursor.end()?;
    Some((op, offset, length))
}

impl Fio {
    fn first_line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let (version, name) = match line.trim_ascii() {
            b"fio version 2 iolog" => (Version::Two, "2"),
            b"fio version 3 iolog" => (Version::Three, "3"),
            b"" => return Err(Odd::Malformed),
            other => {
                let found = super::text::excerpt(other);
                return Err(Odd::Fatal(format!(
                    "a fio iolog starts with `fio version 2 iolog` or `fio version 3 iolog`, found `{found}`; \
                     version 1 has no such line and is called `fio-v1`"
                )));
            }
        };
        self.version = version;
        out.version = Some(name.to_owned());
        match (version, self.given) {
            (Version::Two, (true, _)) => Err(Odd::Unused(
                "--time-unit",
                "a fio iolog of version 2 has no time stamps; --fio-wait says what its waits mean".to_owned(),
            )),
            (Version::Three, (_, true)) => Err(Odd::Unused(
                "--fio-wait",
                "a fio iolog of version 3 has time stamps and no waits; --time-unit says their unit".to_owned(),
            )),
            _ => Ok(()),
        }
    }

    fn line_1(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let Some((op, offset, length)) = version_1(line) else {
            if !self.begun && super::text::looks_like_header(line) {
                let found = super::text::excerpt(line);
                return Err(Odd::Fatal(format!(
                    "a fio iolog of version 1 names no columns, found `{found}`; --columns says what those of a table hold"
                )));
            }
            return Err(Odd::Malformed);
        };
        self.begun = true;
        let dev = out.devices.intern(self.file.as_bytes());
        out.records.push(Record::new(0, op, offset, length, dev));
        out.version = Some("1".to_owned());
        out.note(Sink::WITHOUT_TIME);
        Ok(())
    }

    fn line_2(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let mut cursor = Cursor::new(line);
        match action(&mut cursor).ok_or(Odd::Malformed)? {
            Action::File => Ok(()),
            Action::Wait(time) => self.waits.wait(time, out),
            Action::Io(op, file, offset, length) => {
                let dev = out.devices.intern(file);
                self.waits
                    .record(Record::new(0, op, offset, length, dev), out);
                Ok(())
            }
        }
    }

    fn line_3(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let mut cursor = Cursor::new(line);
        let ts = cursor.decimal(self.unit_ns).ok_or(Odd::Malformed)?;
        cursor.gap().ok_or(Odd::Malformed)?;
        match action(&mut cursor).ok_or(Odd::Malformed)? {
            Action::File => Ok(()),
            Action::Wait(_) => Err(Odd::Wrong(
                "the action wait is of version 2 alone: here the time stands in front of each action"
                    .to_owned(),
            )),
            Action::Io(op, file, offset, length) => {
                self.pace.count(ts);
                let dev = out.devices.intern(file);
                out.records.push(Record::new(ts, op, offset, length, dev));
                Ok(())
            }
        }
    }
}

impl Lines for Fio {
    const SHAPE: &'static str = "`[microseconds] file add|open|close`, \
         `[microseconds] file read|write|sync|datasync|trim offset length` or, in version 2, `file wait time 0`";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        match self.version {
            Version::Three => self.line_3(line, out),
            Version::Two => self.line_2(line, out),
            Version::One => self.line_1(line, out),
            Version::Unread => self.first_line(line, out),
        }
    }

    fn finish(&mut self, out: &mut Sink) -> Result<(), Odd> {
        match self.version {
            Version::Two => self.waits.finish(out)?,
            Version::Three if self.unit_ns == MICROSECOND_NS && self.pace.looks_like_ns() => {
                out.note(
                    "fewer than 10 requests a second: time stamps may be nanoseconds, a common mistake of \
                     conversions; if so, say --time-unit ns",
                );
            }
            Version::Unread | Version::One | Version::Three => {}
        }
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        let (resolution_ns, kind) = match self.version {
            Version::Unread | Version::One => (1, TimeKind::None),
            Version::Two => (self.waits.resolution_ns(), self.waits.kind()),
            Version::Three => (self.unit_ns, TimeKind::Issue),
        };
        TimeMeaning {
            resolution_ns,
            kind,
            epoch_unix_ns: None,
        }
    }
}

/// How fast requests come, to find times that were not divided by 1000.
#[derive(Default)]
struct Pace {
    requests: u64,
    first: i64,
    last: i64,
}

impl Pace {
    /// Fewer requests say nothing.
    const REQUESTS_MIN: u64 = 10_000;
    /// Slower than this is not how anybody makes a log of that many requests.
    const PLAUSIBLE_RATE_MIN: u64 = 10;
    /// Faster than this no device is.
    const PLAUSIBLE_RATE_MAX: u64 = 10_000_000;

    fn count(&mut self, ts: i64) {
        if self.requests == 0 {
            self.first = ts;
        }
        self.requests += 1;
        self.last = ts;
    }

    fn looks_like_ns(&self) -> bool {
        let Ok(span_ns) = u64::try_from(self.last - self.first) else {
            return false;
        };
        let rate_below = |rate: u64, span_ns: u64| {
            u128::from(self.requests) * u128::from(SECOND_NS)
                < u128::from(rate) * u128::from(span_ns)
        };
        self.requests > Pace::REQUESTS_MIN
            && rate_below(Pace::PLAUSIBLE_RATE_MIN, span_ns)
            && rate_below(Pace::PLAUSIBLE_RATE_MAX, span_ns / 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::{Anomaly, FioWait, TimeUnit};
    use super::super::text::testing::{read, read_with, refusal, takes};
    use super::*;

    #[test]
    fn version_3_stamps_microseconds() {
        let sink = read(
            &FORMAT,
            "fio version 3 iolog\r\n36 t.img add\n1517 t.img open\n1529 t.img read 1011712 4096\n\
             1600 u.img write 0 512\n1601 t.img sync 1011712 0\n1602 t.img datasync 5 7\n\
             1603 t.img trim 4096 8192\n1700 t.img close\n",
        );
        let records = [
            Record::new(1_529_000, TraceOp::Read, 1_011_712, 4_096, 0),
            Record::new(1_600_000, TraceOp::Write, 0, 512, 1),
            Record::new(1_601_000, TraceOp::Flush, 0, 0, 0),
            Record::new(1_602_000, TraceOp::Flush, 0, 0, 0),
            Record::new(1_603_000, TraceOp::Discard, 4_096, 8_192, 0),
        ];
        assert_eq!(sink.records, records);
        assert_eq!(sink.devices.all(), ["t.img", "u.img"]);
        assert_eq!(sink.version.as_deref(), Some("3"));
        assert_eq!(sink.anomalies.iter().count(), 0);
    }

    #[test]
    fn the_unit_of_version_3_can_be_told() {
        let options = Options {
            time_unit: Some(TimeUnit::Nanoseconds),
            ..Options::default()
        };
        let sink = read_with(
            &FORMAT,
            b"fio version 3 iolog\n1500 a read 0 512\n",
            &options,
        );
        assert_eq!(sink.records[0].ts, 1_500);
    }

    #[test]
    fn what_only_the_other_version_reads_is_refused() {
        let unit = Options {
            time_unit: Some(TimeUnit::Microseconds),
            ..Options::default()
        };
        let two = "fio version 2 iolog\na read 0 512\n";
        assert!(refusal(&FORMAT, two, &unit).contains("--time-unit"));
        let wait = Options {
            fio_wait: Some(FioWait::AbsoluteMs),
            ..Options::default()
        };
        let three = "fio version 3 iolog\n1500 a read 0 512\n";
        assert!(refusal(&FORMAT, three, &wait).contains("--fio-wait"));
    }

    #[test]
    fn undivided_nanoseconds_are_suspected() {
        let log = |step: u64| {
            let lines = (0..20_000_u64).map(|i| format!("{} a read 0 512\n", i * step));
            format!("fio version 3 iolog\n{}", lines.collect::<String>())
        };
        let suspects = |step: u64| !read(&FORMAT, &log(step)).notes.is_empty();
        assert!(suspects(150_000), "7 a second, 6,667 if they are ns");
        assert!(!suspects(50_000), "20 a second are plausible");
        assert!(!suspects(0));
    }

    #[test]
    fn version_2_without_waits_has_no_time() {
        let sink = read(
            &FORMAT,
            "fio version 2 iolog\na add\na open\na read 0 512\na write 512 512\n",
        );
        let times: Vec<_> = sink.records.iter().map(|it| it.ts).collect();
        assert_eq!(times, [0, 0]);
        assert!(sink.notes[0].contains("no times"), "{:?}", sink.notes);
    }

    #[test]
    fn what_waits_mean_is_refused_where_there_are_none() {
        for meaning in [FioWait::AbsoluteMs, FioWait::RelativeUs] {
            let options = Options {
                fio_wait: Some(meaning),
                ..Options::default()
            };
            let without = "fio version 2 iolog\na read 0 512\na write 512 512\n";
            let refused = refusal(&FORMAT, without, &options);
            assert!(refused.contains("--fio-wait"), "{refused}");
            assert!(refused.contains("has no waits"), "{refused}");
        }
    }

    #[test]
    fn rising_waits_are_absolute_and_others_relative() {
        let log = |waits: [u64; 3]| {
            let [a, b, c] = waits;
            format!(
                "fio version 2 iolog\nx add\nx open\nx wait {a} 0\nx read 0 512\nx wait {b} 0\n\
                 x read 0 512\nx read 8 512\nx wait {c} 0\nx read 0 512\nx close\n"
            )
        };
        let read_as = |waits, fio_wait| {
            let options = Options {
                fio_wait,
                ..Options::default()
            };
            let sink = read_with(&FORMAT, log(waits).as_bytes(), &options);
            let times: Vec<_> = sink.records.iter().map(|it| it.ts).collect();
            assert_eq!(sink.notes.len(), 1, "{:?}", sink.notes);
            times
        };
        let ms = 1_000_000;
        assert_eq!(read_as([5, 7, 7], None), [5 * ms, 7 * ms, 7 * ms, 7 * ms]);
        assert_eq!(
            read_as([500, 300, 400], None),
            [500_000, 800_000, 800_000, 1_200_000]
        );
        assert_eq!(
            read_as([500, 700, 900], Some(FioWait::RelativeUs)),
            [500_000, 1_200_000, 1_200_000, 2_100_000]
        );
        assert_eq!(
            read_as([5, 3, 4], Some(FioWait::AbsoluteMs)),
            [5 * ms, 3 * ms, 3 * ms, 4 * ms]
        );
    }

    /// What was guessed is told with what else there is; what was said needs no more than that.
    #[test]
    fn how_waits_are_taken_is_told() {
        let told = |waits: [u64; 2], fio_wait| {
            let [a, b] = waits;
            let log = format!(
                "fio version 2 iolog\nx wait {a} 0\nx read 0 512\nx wait {b} 0\nx read 8 512\n"
            );
            let options = Options {
                fio_wait,
                ..Options::default()
            };
            read_with(&FORMAT, log.as_bytes(), &options).notes[0].to_string()
        };
        let (ms, us) = (
            "milliseconds since the start",
            "microseconds after the wait before",
        );
        let taken = |as_what: &str| format!("waits are taken as {as_what}");
        let other = |how: &str| format!("; --fio-wait={how} takes them otherwise");
        assert_eq!(told([5, 7], None), taken(ms) + &other("rel-us"));
        assert_eq!(told([7, 5], None), taken(us) + &other("abs-ms"));
        assert_eq!(told([7, 5], Some(FioWait::AbsoluteMs)), taken(ms));
        assert_eq!(told([5, 7], Some(FioWait::RelativeUs)), taken(us));
    }

    #[test]
    fn one_wait_is_relative() {
        let sink = read(&FORMAT, "fio version 2 iolog\nx wait 250 0\nx read 0 512\n");
        assert_eq!(sink.records[0].ts, 250_000);
    }

    #[test]
    fn version_1_has_neither_names_nor_times() {
        let options = Options {
            file: "old.log".to_owned(),
            ..Options::default()
        };
        let sink = read_with(
            &FORMAT_V1,
            b"0, 4096, 512\n1, 8192, 1024\n2, 0, 0\n",
            &options,
        );
        let records = [
            Record::new(0, TraceOp::Read, 4_096, 512, 0),
            Record::new(0, TraceOp::Write, 8_192, 1_024, 0),
        ];
        assert_eq!(sink.records, records);
        assert_eq!(sink.devices.all(), ["old.log"]);
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 1);
        assert!(takes(&FORMAT_V1, "0, 4096, 512"));
        assert!(takes(&FORMAT_V1, "1,8192,1024"));
        assert!(!takes(&FORMAT_V1, "0,303567,3584,w,0.026214"));
        assert!(!takes(&FORMAT_V1, "0 4096 512"));
    }

    #[test]
    fn other_versions_are_refused() {
        let error = refusal(&FORMAT, "fio version 4 iolog\n", &Options::default());
        assert!(error.contains("found `fio version 4 iolog`"), "{error}");
        let error = refusal(&FORMAT, "0, 4096, 512\n", &Options::default());
        assert!(error.contains("is called `fio-v1`"), "{error}");
    }

    /// By its line, and what is allowed there.
    #[test]
    fn a_wait_that_is_none_is_told() {
        let strict = Options {
            strict: true,
            ..Options::default()
        };
        let told = |log: &str| refusal(&FORMAT, log, &strict);
        let two = "fio version 2 iolog\nx add\nx wait ";
        let short = told(&format!("{two}5\n"));
        let shape = "line 3: expected ";
        assert!(short.contains(shape), "{short}");
        assert!(
            short.contains("in version 2, `file wait time 0`, found `x wait 5`"),
            "{short}"
        );
        let long = told(&format!("{two}9223372036855 0\n"));
        let most = "line 3: the action wait lasts 9223372036855 (allowed: a time from 0 to 9223372036854, ";
        assert!(long.contains(most), "{long}");
        let three = told("fio version 3 iolog\n1 x wait 5 0\n");
        assert!(
            three.contains("line 2: the action wait is of version 2 alone"),
            "{three}"
        );
    }

    #[test]
    fn bad_lines_are_left_out() {
        let sink = read(
            &FORMAT,
            "fio version 3 iolog\n1 a read 0\n1 a wait 5 0\n-1 a read 0 512\n1 a readx 0 512\n1 a read 0 512 9\n\
             a read 0 512\n1 a add 7\n1 a read -4 512\n99999999999999999999 a read 0 512\n1 a\0 read 0 512\n",
        );
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 9);
        assert_eq!(sink.records.len(), 1, "a name may hold anything but blanks");
    }
}
