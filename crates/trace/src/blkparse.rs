//! `blkparse` text, as it prints by default, and the export that we recommend.
//!
//! ```text
//!   8,0    3        1     0.000000000   697  G  WS 223490 + 8 [kjournald]
//!  maj,min cpu     seq   sec.nsec       pid  act rwbs payload
//!
//! 0.000000000,Q,WS,223490,4096,8,0,697,kjournald      blkparse -q -i BASE -f "%T.%9t,%a,%d,%S,%N,%M,%m,%p,%C\n"
//! ```
//!
//! Arrivals are `Q`, else `D`; `D` and `C` give the times that requests took. All other actions are
//! passed over (a remap's target is queued on its own), and so are messages. Commands that are
//! passed through carry no data of ours. After the events come summaries, of which only the lost
//! events matter. Sectors are 512 bytes, the `-t` times in parentheses are not reliable, and a
//! command name may hold blanks and brackets.
//!
//! Source: `blktrace`, `blkparse_fmt.c` and `blkparse.c`, versions 1.0 to 1.3.

use super::decode::{Anomaly, Format, Probe, Reads, Sink, TimeMeaning};
use super::pairing::Step;
use super::rwbs::Rwbs;
use super::text::{Cursor, Lines, Odd, SECOND_NS, SECTOR_BYTES, Text, right_aligned};
use super::traced::{Traced, TracedRequests, is_error};

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "blkparse",
    summary: "blkparse text, default lines (also -t), or -f \"%T.%9t,%a,%d,%S,%N,%M,%m,%p,%C\\n\"",
    source: "blktrace, blkparse_fmt.c",
    probe: Probe::Line(|line| Event::of(line).is_some() || is_aside(line)),
    options: &[],
    reads: Reads::Stream(|options| Ok(Text::boxed(Blkparse::default(), options))),
};

#[derive(Default)]
struct Blkparse {
    requests: TracedRequests,
    /// The summaries have begun.
    summary: bool,
}

/// A line of an event.
struct Event<'a> {
    stamp: Stamp,
    action: Action,
    payload: Payload<'a>,
}

/// On which device and when.
#[derive(Clone, Copy)]
struct Stamp {
    major: u64,
    minor: u64,
    ts: i64,
}

/// What happened.
#[derive(Clone, Copy)]
enum Action {
    Asked(Step),
    /// Another action than those that are asked for.
    Other,
}

impl Action {
    #[inline]
    fn of(letters: &[u8]) -> Option<Action> {
        match letters {
            b"Q" => Some(Action::Asked(Step::Queue)),
            b"D" => Some(Action::Asked(Step::Issue)),
            b"C" => Some(Action::Asked(Step::Complete)),
            b"M" | b"F" | b"G" | b"S" | b"R" | b"P" | b"U" | b"T" | b"I" | b"X" | b"B" | b"A"
            | b"m" | b"UT" | b"ZP" | b"ZU" => Some(Action::Other),
            _ => None,
        }
    }
}

/// What an event says of its request, as far as it is asked for.
enum Payload<'a> {
    /// Another action than those that are asked for.
    NotAsked,
    /// A command that is passed through.
    Command,
    /// A request: sector, bytes, and who made it.
    Request {
        rwbs: Rwbs,
        sector: u64,
        bytes: u64,
        comm: &'a [u8],
        failed: bool,
    },
}

impl<'a> Event<'a> {
    #[inline(always)]
    fn of(line: &'a [u8]) -> Option<Event<'a>> {
        if let Some(stamp) = Stamp::in_columns(line) {
            return Event::default_line(stamp, Cursor::at(line, Stamp::COLUMNS));
        }
        let mut cursor = Cursor::new(line);
        cursor.blanks();
        let first = cursor.number()?;
        match cursor.any()? {
            b',' => Event::default_line(Stamp::after_major(first, &mut cursor)?, cursor),
            b'.' => Event::export(line),
            _ => None,
        }
    }

    /// What follows the time of a default line.
    #[inline(always)]
    fn default_line(stamp: Stamp, mut cursor: Cursor<'a>) -> Option<Event<'a>> {
        cursor.gap()?;
        let _pid = cursor.number()?;
        cursor.gap()?;
        let action = Action::of(cursor.token()?)?;
        let payload = match action {
            Action::Other => Payload::NotAsked,
            Action::Asked(step) => {
                cursor.gap()?;
                let rwbs = Rwbs::parse(cursor.token()?)?;
                cursor.blanks();
                request(step, rwbs, cursor)?
            }
        };
        Some(Event {
            stamp,
            action,
            payload,
        })
    }

    /// A line of the recommended export.
    fn export(line: &'a [u8]) -> Option<Event<'a>> {
        let mut cursor = Cursor::new(line);
        cursor.blanks();
        let ts = cursor.decimal(SECOND_NS)?;
        cursor.comma()?;
        let action = cursor.field(b',')?.trim_ascii();
        let rwbs = cursor.field(b',')?.trim_ascii();
        cursor.blanks();
        let sector = cursor.number()?;
        cursor.comma()?;
        let bytes = cursor.number()?;
        cursor.comma()?;
        let major = cursor.number()?;
        cursor.comma()?;
        let minor = cursor.number()?;
        cursor.comma()?;
        let _pid = cursor.number()?;
        cursor.byte(b',')?;
        let action = Action::of(action)?;
        let payload = match action {
            Action::Other => Payload::NotAsked,
            // Data comes in whole sectors, the replies to passed commands rarely do.
            Action::Asked(_) if bytes % SECTOR_BYTES != 0 => Payload::Command,
            Action::Asked(_) => Payload::Request {
                rwbs: Rwbs::parse(rwbs)?,
                sector,
                bytes,
                comm: cursor.rest(),
                // It has no place for an error.
                failed: false,
            },
        };
        Some(Event {
            stamp: Stamp { major, minor, ts },
            action,
            payload,
        })
    }
}

impl Stamp {
    /// Where the time ends when every field before it fits its column, as nearly all do.
    const COLUMNS: usize = 35;

    /// What stands in the columns `%3d,%-3d %2d %8d %5d.%09d`, and a blank behind them.
    #[inline(always)]
    fn in_columns(line: &[u8]) -> Option<Stamp> {
        let line = line.first_chunk::<{ Stamp::COLUMNS + 1 }>()?;
        let blanks = [line[7], line[10], line[19], line[35]];
        if line[3] != b',' || line[25] != b'.' || blanks != [b' '; 4] {
            return None;
        }
        // This one is left-aligned.
        let minor = match [line[4], line[5], line[6]] {
            [b' ', ..] => return None,
            [digit, b' ', b' '] => [b' ', b' ', digit],
            [first, second, b' '] => [b' ', first, second],
            digits => digits,
        };
        let _cpu = right_aligned(line, 10, 2)?;
        let _sequence = right_aligned(line, 19, 8)?;
        let seconds = right_aligned(line, 25, 5)?;
        let (first, others) = (right_aligned(line, 27, 1)?, right_aligned(line, 35, 8)?);
        if line[27] == b' ' {
            return None;
        }
        let ns = seconds * SECOND_NS + first * 100_000_000 + others;
        Some(Stamp {
            major: right_aligned(line, 3, 3)?,
            minor: right_aligned(&[0, 0, 0, 0, 0, minor[0], minor[1], minor[2]], 8, 3)?,
            ts: ns as i64,
        })
    }

    /// What stands behind the number of the major device and a comma, in columns of any width.
    fn after_major(major: u64, cursor: &mut Cursor<'_>) -> Option<Stamp> {
        let minor = cursor.number()?;
        cursor.gap()?;
        let _cpu = cursor.number()?;
        cursor.gap()?;
        let _sequence = cursor.number()?;
        cursor.gap()?;
        let ts = cursor.decimal(SECOND_NS)?;
        Some(Stamp { major, minor, ts })
    }
}

/// `sector + sectors [comm]`, `sector [error]`, `[comm]` of an empty flush, or a command with its
/// bytes in parentheses, alone or after its length.
#[inline(always)]
fn request(step: Step, rwbs: Rwbs, mut cursor: Cursor<'_>) -> Option<Payload<'_>> {
    let (mut sector, mut bytes) = (0, 0);
    match cursor.peek()? {
        b'(' => return command(cursor),
        b'[' => {}
        _ => {
            sector = cursor.number()?;
            cursor.gap()?;
            match cursor.peek()? {
                b'(' => return command(cursor),
                b'+' => {
                    cursor.byte(b'+')?;
                    cursor.gap()?;
                    bytes = cursor.number()?.checked_mul(SECTOR_BYTES)?;
                    cursor.blanks();
                    elapsed(&mut cursor)?;
                }
                _ => {}
            }
        }
    }
    let comm = cursor.rest().trim_ascii_end();
    let comm = comm.strip_prefix(b"[")?.strip_suffix(b"]")?;
    Some(Payload::Request {
        rwbs,
        sector,
        bytes,
        comm,
        failed: step == Step::Complete && is_error(comm),
    })
}

fn command(mut cursor: Cursor<'_>) -> Option<Payload<'_>> {
    cursor.byte(b'(')?;
    let bytes = cursor.field(b')')?;
    let hexadecimal = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b' ' | b'.');
    bytes.iter().all(hexadecimal).then_some(Payload::Command)
}

/// `(   1234) `, if it is there.
fn elapsed(cursor: &mut Cursor<'_>) -> Option<()> {
    if cursor.byte(b'(').is_some() {
        cursor.blanks();
        cursor.number()?;
        cursor.byte(b')')?;
        cursor.blanks();
    }
    Some(())
}

/// Whether the summaries begin here.
fn begins_summary(line: &[u8]) -> bool {
    line.starts_with(b"CPU") || line.starts_with(b"Total")
}

/// A line that blkparse prints besides events.
fn is_aside(line: &[u8]) -> bool {
    const STARTS: [&[u8]; 9] = [
        b"Reads ",
        b"Read ",
        b"PC Read",
        b"IO unplugs",
        b"Throughput (R/W)",
        b"Events (",
        b"Skips:",
        b"Input file ",
        b"Timer unplugs",
    ];
    let text = line.trim_ascii_start();
    begins_summary(line) || STARTS.iter().any(|start| text.starts_with(start))
}

/// Events that were lost, of a line `Skips: 3 forward (1,024 -   0.1%)`: the number in the
/// parentheses, where there is one, else how often some were lost. Digits may be grouped.
fn skipped(line: &[u8]) -> Option<u64> {
    let text = line.strip_prefix(b"Skips:")?;
    let open = memchr::memchr(b'(', text).map_or(0, |at| at + 1);
    let mut digits = text[open..]
        .trim_ascii_start()
        .iter()
        .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b'.' | b'\''))
        .filter(|byte| byte.is_ascii_digit());
    digits.try_fold(0_u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}

impl Blkparse {
    /// A line that is no event.
    fn aside(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        self.summary |= begins_summary(line);
        let lost = skipped(line).unwrap_or(0);
        if lost > 0 {
            out.anomalies.add(Anomaly::Lost, lost);
        }
        (self.summary || is_aside(line))
            .then_some(())
            .ok_or(Odd::Malformed)
    }
}

impl Lines for Blkparse {
    const SHAPE: &'static str =
        "`maj,min cpu seq sec.nsec pid action rwbs ...` or the recommended export";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let event = match Event::of(line) {
            Some(event) if !self.summary => event,
            _ => return self.aside(line, out),
        };
        let Event {
            stamp,
            action,
            payload,
        } = event;
        let Action::Asked(step) = action else {
            return Ok(());
        };
        match payload {
            Payload::NotAsked => Ok(()),
            Payload::Command => TracedRequests::passed_through(step),
            Payload::Request {
                rwbs,
                sector,
                bytes,
                comm,
                failed,
            } => {
                let traced = Traced {
                    step,
                    ts: stamp.ts,
                    major: stamp.major,
                    minor: stamp.minor,
                    rwbs,
                    sector,
                    bytes,
                    priority: None,
                    failed,
                    comm,
                };
                self.requests.take(&traced, out)
            }
        }
    }

    fn finish(&mut self, out: &mut Sink) -> Result<(), Odd> {
        self.requests.finish(out);
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        TimeMeaning {
            resolution_ns: 1,
            kind: self.requests.kind(),
            epoch_unix_ns: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::TimeKind;
    use super::super::record::{Flags, Record, TraceOp};
    use super::super::text::testing::{read, takes};
    use super::*;

    /// As printed by blkparse 1.2.0.
    const PRINTED: &str = "\
Input file sda.blktrace.0 added
Input file sda.blktrace.1 added
  8,0    0        5     0.000000000   697  Q  WS 223490 + 8 [kjournald]
  8,0    0        6     0.000000100   697  G  WS 223490 + 8 [kjournald]
  8,0    0        7     0.000000200   697  P   N [kjournald]
  8,0    0        8     0.000000300   697  I  WS 223490 + 8 (     200) [kjournald]
  8,0    0        9     0.000000400   697  U   N [kjournald] 1
  8,0    0       10     0.000000500   697  D  WS 223490 + 8 (     200) [kjournald]
  8,0    0       11     0.000050500     0  C  WS 223490 + 8 (   50500) [0]
259,12   3       12     0.000052000   700  Q RAM 800000 + 16 [my [app] x]
259,12   3       18     0.000102500     0  C RAM 800000 + 16 [0]
  8,0    0       26     0.000156000   700  Q   D 1000000 + 128 [dd]
  8,0    0       33     0.000208000   700  Q FWS [dd]
  8,0    0       38     0.000208500   700  D FWS [dd]
  8,0    0       39     0.000258500     0  C FWS 0 [0]
  8,0    0       40     0.000260000   700  Q FWFSM 5000 + 8 [dd]
  8,0    0       47     0.000310600   700  I   R 96 (12 01 00 00 60 00 ..) [dd]
  8,0    0       48     0.000310610   700  D   R 96 (12 01 00 00 60 00 ..) [dd]
  8,0    0       49     0.000311610     0  C   R (12 01 00 00 60 00 ..) [0]
  8,0    0       50     0.000311620   700  A   W 164 + 8 <- (8,1) 100
  8,0    0       51     0.000311630   700  X   W 100 / 1124 [dd]
  8,0    0        0     0.000311650     0  m   N cfq700 alloced
CPU0 (sda):
 Reads Queued:           4,       24KiB\t Writes Queued:           6,       80KiB
Total (sda):
 IO unplugs:             0        \t Timer unplugs:           0

Throughput (R/W): 0KiB/s / 0KiB/s
Events (sda): 53 entries
Skips: 2 forward (1,010 -   0.1%)
";

    #[test]
    fn queued_bios_become_records() {
        let sink = read(&FORMAT, PRINTED);
        let seen: Vec<_> = sink
            .records
            .iter()
            .map(|it| (it.ts, it.op, it.offset / 512, it.len, it.dev))
            .collect();
        assert_eq!(
            seen,
            [
                (0, TraceOp::Write, 223_490, 4_096, 0),
                (52_000, TraceOp::Read, 800_000, 8_192, 1),
                (156_000, TraceOp::Discard, 1_000_000, 65_536, 0),
                (208_000, TraceOp::Flush, 0, 0, 0),
                (260_000, TraceOp::Write, 5_000, 4_096, 0),
            ]
        );
        assert_eq!(sink.devices.all(), ["8:0", "259:12"]);
        assert_eq!(sink.clients.all(), ["", "kjournald", "my [app] x", "dd"]);
        let all = Flags::PREFLUSH
            .with(Flags::FUA)
            .with(Flags::SYNC)
            .with(Flags::METADATA);
        assert_eq!(sink.records[4].flags, all);
        let (service, response) = (sink.records[0].service_ns, sink.records[0].response_ns);
        assert_eq!((service, response), (50_000, 50_500));
    }

    /// An error of the kernel is negative, and printed as it is or as 16 bits without a sign.
    #[test]
    fn a_request_that_completes_with_an_error_is_marked_and_has_no_times() {
        let of = |error: &str| {
            let text = format!(
                "  8,0    0        1     0.000000000   697  Q  WS 8 + 8 [0]
  8,0    0        2     0.000001000   697  D  WS 8 + 8 [12]
  8,0    0        3     0.000050000     0  C  WS 8 + 8 [{error}]
"
            );
            let sink = read(&FORMAT, &text);
            let [record] = sink.records[..] else {
                panic!("there is one")
            };
            let failed = sink.anomalies.of(Anomaly::Failed);
            (record.flags.has(Flags::FAILED), record.response_ns, failed)
        };
        assert_eq!(of("0"), (false, 50_000, 0));
        for error in ["-5", "65531"] {
            assert_eq!(of(error), (true, Record::UNKNOWN, 1), "{error}");
        }
    }

    #[test]
    fn losses_and_commands_are_counted_and_nothing_else_is_odd() {
        let anomalies: Vec<_> = read(&FORMAT, PRINTED).anomalies.iter().collect();
        assert_eq!(anomalies, [(Anomaly::Lost, 1_010), (Anomaly::NotData, 1)]);
    }

    #[test]
    fn the_recommended_export_gives_the_same() {
        let sink = read(
            &FORMAT,
            "\
0.000000000,Q,WS,223490,4096,8,0,697,kjournald
0.000000100,G,WS,223490,4096,8,0,697,kjournald
0.000000500,D,WS,223490,4096,8,0,697,kjournald
0.000050500,C,WS,223490,4096,8,0,0,swapper
0.000208000,Q,FWS,0,0,8,0,700,my, [app] x
0.000310610,D,R,0,96,8,0,700,my, [app] x
0.000311610,C,R,0,96,8,0,0,swapper
  8,0    0        0     0.000311650     0  m   N cfq700 alloced
",
        );
        let mut written = Record::new(0, TraceOp::Write, 223_490 * 512, 4_096, 0);
        written.flags = Flags::SYNC;
        written.client = 1;
        (written.service_ns, written.response_ns) = (50_000, 50_500);
        assert_eq!((sink.records[0], sink.records.len()), (written, 2));
        assert_eq!(sink.records[1].op, TraceOp::Flush);
        assert_eq!(sink.clients.all(), ["", "kjournald", "my, [app] x"]);
        let anomalies: Vec<_> = sink.anomalies.iter().collect();
        assert_eq!(anomalies, [(Anomaly::NotData, 1)]);
    }

    #[test]
    fn without_bios_issues_are_the_arrivals() {
        let lines: String = PRINTED
            .lines()
            .filter(|line| !line.contains(" Q "))
            .map(|line| format!("{line}\n"))
            .collect();
        let sink = read(&FORMAT, &lines);
        assert_eq!((sink.records.len(), sink.records[0].ts), (2, 500));
        assert!(sink.notes[0].contains("times of issue"));
        assert_eq!(Blkparse::default().time().kind, TimeKind::Arrival);
    }

    #[test]
    fn damaged_lines_are_bad() {
        let line = "  8,0    0        5     0.000000000   697  Q  WS 223490 + 8 [kjournald]";
        for (from, to) in [
            ("8,0", "8"),
            ("0.000000000", "-0.1"),
            (" Q ", " Y "),
            (" WS ", " ws "),
            ("+ 8", "+ -8"),
            ("+ 8", "8"),
            ("[kjournald]", "kjournald"),
            ("223490 + 8", "223490 + 18446744073709551615"),
        ] {
            let sink = read(&FORMAT, &format!("{line}\n{}\n", line.replace(from, to)));
            assert_eq!(sink.records.len(), 1, "{from} -> {to}");
            assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 1, "{from} -> {to}");
        }
        let far = line.replace("223490", "36028797018963968");
        let far = read(&FORMAT, &far);
        assert_eq!(far.anomalies.of(Anomaly::BeyondAddressSpace), 1);
    }

    #[test]
    fn skips_are_read_with_and_without_groups() {
        let skips = |text: &str| skipped(text.as_bytes());
        assert_eq!(skips("Skips: 0 forward (0 -   0.0%)"), Some(0));
        assert_eq!(skips("Skips: 2 forward (1,010 -   0.1%)"), Some(1_010));
        assert_eq!(skips("Skips: 2 forward"), Some(2));
        assert_eq!(skips("Events (sda): 53 entries"), None);
    }

    #[test]
    fn the_probe_takes_what_blkparse_prints() {
        let content = |line: &&str| !line.is_empty();
        assert!(
            PRINTED
                .lines()
                .filter(content)
                .all(|line| takes(&FORMAT, line))
        );
        assert!(takes(
            &FORMAT,
            "0.000000000,Q,WS,223490,4096,8,0,697,kjournald"
        ));
        for line in [
            "89968195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065a2b6458eca924523",
            "0,303567,3584,w,0.026214",
            "13.191135 30 0 5 1",
            "2264,86400.121837000,R,48195870720,4096",
        ] {
            assert!(!takes(&FORMAT, line), "{line}");
        }
    }
}
