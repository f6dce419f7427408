//! Block tracepoints as text: `perf script`, ftrace's `trace` file and `trace-cmd report`.
//!
//! ```text
//!  kworker/0:0H-kb    10 [000]  1685.757457233:    block:block_rq_issue: 254,0 DS 4096 () 323804048 + 8 0x2,0,4 [comm]
//!  fio-11375   [001] d..1.  2929.633891: block_bio_queue: 254,0 WS 187126224 + 128 [fio]
//! ```
//!
//! What stands before the time differs from tool to tool, and a command name may hold anything, so
//! a line is read from its event's name: back to the time, forward to what the event says. Arrivals
//! are `block_bio_queue`, else `block_io_start`, else `block_rq_issue`; issues and completions give
//! the times that requests took. Lines of other events and of call chains are passed over, lost
//! events are counted. perf prints microseconds unless told `--ns`.
//!
//! Source: Linux `include/trace/events/block.h` (6.18, and 4.x for the older forms).

use super::decode::{Anomaly, Format, Probe, Reads, Sink, TimeMeaning};
use super::pairing::Step;
use super::record::has_class;
use super::rwbs::{Rwbs, priority_class};
use super::text::{Cursor, Lines, Odd, SECOND_NS, SECTOR_BYTES, Text, last_decimal, last_seconds};
use super::traced::{Traced, TracedRequests, is_error};

/// The card.
pub(crate) static FORMAT: Format = Format {
    name: "perf",
    summary: "block tracepoints as text: perf script --ns, ftrace, trace-cmd report",
    source: "Linux include/trace/events/block.h",
    probe: Probe::Line(|line| BlockEvent::find(line).is_some() || is_other_event(line)),
    options: &[],
    reads: Reads::Stream(|options| Ok(Text::boxed(PerfText::new(), options))),
};

struct PerfText {
    requests: TracedRequests,
    /// Least digits behind the point of a second.
    digits: u32,
}

/// What all block events begin with.
const PREFIX: &[u8] = b"block_";

/// A line of a block event, taken apart as far as all events are alike.
struct BlockEvent<'a> {
    /// None for events that are not asked for.
    step: Option<Step>,
    ts: i64,
    /// Digits behind the point of the second.
    digits: u32,
    payload: Cursor<'a>,
}

impl<'a> BlockEvent<'a> {
    #[inline(always)]
    fn find(line: &'a [u8]) -> Option<BlockEvent<'a>> {
        // The last letter of the prefix is rare before the name, so that there is little to try.
        memchr::memchr_iter(b'_', line)
            .filter(|at| line[..=*at].ends_with(PREFIX))
            .find_map(|at| BlockEvent::at(line, at + 1 - PREFIX.len()))
    }

    /// The event whose name stands here, if a time stands before it.
    #[inline(always)]
    fn at(line: &'a [u8], at: usize) -> Option<BlockEvent<'a>> {
        let before = &line[..at];
        let before = before.strip_suffix(b"block:").unwrap_or(before);
        let stamp = before.trim_ascii_end();
        if stamp.len() == before.len() {
            return None;
        }
        let (ts, digits) = time(line, stamp.strip_suffix(b":")?.len())?;
        let mut payload = Cursor::at(line, at + PREFIX.len());
        let step = step(&mut payload)?;
        payload.gap()?;
        Some(BlockEvent {
            step,
            ts,
            digits,
            payload,
        })
    }
}

/// What the rest of an event's name says, up to the colon behind it.
#[inline(always)]
fn step(name: &mut Cursor<'_>) -> Option<Option<Step>> {
    let step = match name.rest() {
        [b'b', ..] if name.word(b"bio_queue:").is_some() => Step::Queue,
        [b'i', ..] if name.word(b"io_start:").is_some() => Step::Start,
        [b'r', ..] if name.word(b"rq_issue:").is_some() => Step::Issue,
        [b'r', ..] if name.word(b"rq_complete:").is_some() => Step::Complete,
        _ => {
            name.field(b':')?;
            return Some(None);
        }
    };
    Some(Some(step))
}

/// The seconds that end at a place in a line, with six to nine decimals.
#[inline(always)]
fn time(line: &[u8], end: usize) -> Option<(i64, u32)> {
    if let Some(found) = last_seconds(&line[..end]) {
        return Some(found);
    }
    let mut cursor = Cursor::at(line, last_decimal(&line[..end]));
    let (ts, digits) = cursor.decimal_and_digits(SECOND_NS)?;
    // More than nine digits are told as nine, and no point stands before the last nine of them.
    let point = end.checked_sub(digits as usize + 1)?;
    let whole = cursor.rest().len() == line.len() - end;
    (whole && digits >= 6 && line[point] == b'.').then_some((ts, digits))
}

/// A line that these tools write and that is no block event: another event, a frame of a call
/// chain, a loss.
fn is_other_event(line: &[u8]) -> bool {
    let stamped = |colon: usize| line.get(colon + 1) == Some(&b' ') && time(line, colon).is_some();
    memchr::memchr_iter(b':', line).any(stamped) || is_call_frame(line) || lost(line).is_some()
}

/// `        ffffffff81234567 submit_bio ([kernel.kallsyms])`
fn is_call_frame(line: &[u8]) -> bool {
    const ADDRESS_DIGITS_MIN: usize = 8;
    let address = line.trim_ascii_start();
    let digits = address.iter().take_while(|byte| byte.is_ascii_hexdigit());
    let digits = digits.count();
    address.len() < line.len()
        && digits >= ADDRESS_DIGITS_MIN
        && address.get(digits) == Some(&b' ')
        && line.ends_with(b")")
}

/// How many events a line says were lost: `LOST 5 events!`, `[LOST 5 EVENTS]`, `[5 EVENTS
/// DROPPED]`, `PERF_RECORD_LOST lost 5`.
fn lost(line: &[u8]) -> Option<u64> {
    let number = |text: &[u8]| {
        let digit = text.iter().position(u8::is_ascii_digit)?;
        Cursor::new(&text[digit..]).number()
    };
    if let Some(at) = memchr::memmem::find(line, b"LOST") {
        return number(&line[at..]).or(Some(1));
    }
    let dropped = memchr::memmem::find(line, b" EVENTS DROPPED]")?;
    let open = memchr::memrchr(b'[', &line[..dropped])?;
    number(&line[open..dropped])
}

/// What an event says of its request.
struct Payload<'a> {
    major: u64,
    minor: u64,
    rwbs: Rwbs,
    sector: u64,
    sectors: u64,
    priority: Option<u16>,
    /// Bytes of a command that the block layer only passes on.
    command: &'a [u8],
    /// Command name, or error number of a completion.
    last: &'a [u8],
}

/// `maj,min rwbs [bytes] [(cmd)] sector + sectors [class,hint,level] [comm]`
#[inline(always)]
fn payload(mut cursor: Cursor<'_>) -> Option<Payload<'_>> {
    let major = cursor.number()?;
    cursor.byte(b',')?;
    let minor = cursor.number()?;
    cursor.gap()?;
    let rwbs = Rwbs::parse(cursor.token()?)?;
    cursor.gap()?;
    let mut sector = None;
    if cursor.peek() != Some(b'(') {
        sector = Some(cursor.number()?);
        cursor.gap()?;
    }
    let mut command = &b""[..];
    if cursor.byte(b'(').is_some() {
        // What stood before it were the bytes.
        command = cursor.field(b')')?;
        cursor.gap()?;
        sector = Some(cursor.number()?);
        cursor.gap()?;
    }
    cursor.byte(b'+')?;
    cursor.gap()?;
    let sectors = cursor.number()?;
    cursor.gap()?;
    let priority = if cursor.peek() == Some(b'[') {
        None
    } else {
        Some(priority(&mut cursor)?)
    };
    Some(Payload {
        major,
        minor,
        rwbs,
        sector: sector?,
        sectors,
        priority,
        command,
        last: cursor
            .rest()
            .trim_ascii_end()
            .strip_prefix(b"[")?
            .strip_suffix(b"]")?,
    })
}

/// `class,hint,level `
#[inline]
fn priority(cursor: &mut Cursor<'_>) -> Option<u16> {
    let class = priority_class(cursor.field(b',')?)?;
    let hint = cursor.number().filter(|hint| *hint < 1 << 10)?;
    cursor.byte(b',')?;
    let level = cursor.number().filter(|level| *level < 1 << 3)?;
    cursor.gap()?;
    let priority = class << 13 | (hint as u16) << 3 | level as u16;
    Some(if has_class(priority) { priority } else { 0 })
}

impl PerfText {
    fn new() -> PerfText {
        PerfText {
            requests: TracedRequests::default(),
            digits: 9,
        }
    }
}

impl Lines for PerfText {
    const SHAPE: &'static str =
        "a line of `perf script` or ftrace, `comm pid [cpu] seconds: event: ...`";

    fn line(&mut self, line: &[u8], out: &mut Sink) -> Result<(), Odd> {
        let Some(event) = BlockEvent::find(line) else {
            if let Some(lost) = lost(line) {
                out.anomalies.add(Anomaly::Lost, lost);
                return Ok(());
            }
            return is_other_event(line).then_some(()).ok_or(Odd::Malformed);
        };
        let Some(step) = event.step else {
            return Ok(());
        };
        let payload = payload(event.payload).ok_or(Odd::Malformed)?;
        if !payload.command.is_empty() {
            return TracedRequests::passed_through(step);
        }
        self.digits = self.digits.min(event.digits);
        let traced = Traced {
            step,
            ts: event.ts,
            major: payload.major,
            minor: payload.minor,
            rwbs: payload.rwbs,
            sector: payload.sector,
            bytes: payload
                .sectors
                .checked_mul(SECTOR_BYTES)
                .ok_or(Odd::BEYOND)?,
            priority: payload.priority,
            failed: step == Step::Complete && is_error(payload.last),
            comm: payload.last,
        };
        self.requests.take(&traced, out)
    }

    fn finish(&mut self, out: &mut Sink) -> Result<(), Odd> {
        self.requests.finish(out);
        Ok(())
    }

    fn time(&self) -> TimeMeaning {
        TimeMeaning {
            resolution_ns: 10_u64.pow(9 - self.digits),
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

    /// Recorded on Linux 6.18.
    const RECORDED: &str = "\
       perf-exec 11362 [000]  2929.633882957:   block:block_bio_queue: 254,0 RM 19618528 + 8 [perf-exec]
       perf-exec 11362 [000]  2929.633891710:       block:block_getrq: 254,0 RM 19618528 + 8 [perf-exec]
       perf-exec 11362 [000]  2929.633893092:    block:block_io_start: 254,0 RM 4096 () 19618528 + 8 0x2,0,4 [perf-exec]
       perf-exec 11362 [000]  2929.633895065:        block:block_plug: [perf-exec]
       perf-exec 11362 [000]  2929.633896748:      block:block_unplug: [perf-exec] 1
       perf-exec 11362 [000]  2929.633898180:   block:block_rq_insert: 254,0 RM 4096 () 19618528 + 8 0x2,0,4 [perf-exec]
       perf-exec 11362 [000]  2929.633903948:    block:block_rq_issue: 254,0 RM 4096 () 19618528 + 8 0x2,0,4 [perf-exec]
         swapper     0 [001]  2929.634903948: block:block_rq_complete: 254,0 RM () 19618528 + 8 0x2,0,4 [0]
            sync 11365 [000]  2929.711523235:   block:block_bio_queue: 254,0 FWS 0 + 0 [sync]
 kworker/0:1H-kb    44 [000]  2929.711541782:    block:block_rq_issue: 254,0 FF 0 () 0 + 0 0x0,0,0 [kworker/0:1H]
 kworker/u8:1-wr  5669 [001]  2929.711597835: block:block_rq_complete: 254,0 FF () 18446744073709551615 + 0 0x0,0,0 [0]
";

    #[test]
    fn bios_are_the_arrivals_and_the_rest_tells_their_times() {
        let sink = read(&FORMAT, RECORDED);
        let mut bio = Record::new(2_929_633_882_957, TraceOp::Read, 19_618_528 * 512, 4_096, 0);
        bio.flags = Flags::METADATA;
        bio.client = 1;
        bio.service_ns = 1_000_000;
        bio.response_ns = 1_020_991;
        let mut flush = Record::new(2_929_711_523_235, TraceOp::Flush, 0, 0, 0);
        flush.flags = Flags::PREFLUSH.with(Flags::SYNC);
        flush.client = 2;
        flush.service_ns = 56_053;
        flush.response_ns = 74_600;
        assert_eq!(sink.records, [bio, flush]);
        assert_eq!(sink.devices.all(), ["254:0"]);
        assert_eq!(sink.clients.all(), ["", "perf-exec", "sync"]);
        assert_eq!(sink.anomalies.iter().count(), 0);
    }

    #[test]
    fn without_bios_the_start_of_the_request_is_the_arrival_then_its_issue() {
        let lines = |without: &[&str]| -> String {
            let kept = |line: &&str| !without.iter().any(|event| line.contains(event));
            RECORDED
                .lines()
                .filter(kept)
                .map(|line| format!("{line}\n"))
                .collect()
        };
        let started = read(&FORMAT, &lines(&["bio_queue"]));
        assert_eq!(started.records.len(), 1);
        assert_eq!(started.records[0].ts, 2_929_633_893_092);
        assert_eq!(started.records[0].priority, 2 << 13 | 4);
        assert!(started.records[0].flags.has(Flags::PRIORITY));
        let issued = read(&FORMAT, &lines(&["bio_queue", "io_start"]));
        assert_eq!(issued.records[0].ts, 2_929_633_903_948);
        assert_eq!(issued.records[0].service_ns, 1_000_000);
        assert_eq!(issued.records[0].response_ns, Record::UNKNOWN);
        assert!(issued.notes[0].contains("times of issue"));
    }

    #[test]
    fn older_and_newer_texts_and_both_tools_are_read() {
        let sink = read(
            &FORMAT,
            "\
 a 1 [0]  1.000001: block:block_rq_issue: 8,16 WS 4096 () 8 + 8 [a]
 kworker/0:0H-kb    10/12 [000]  1.000002:    block:block_rq_issue: 8,16 DS 4096 () 80 + 8 none,0,4 [x]
          <idle>-0     [001] d.h1.  1.000003: block_rq_issue: 8,16 R 512 () 800 + 1 [swapper/1]
     fio-11375   [001]     1.000004: block_rq_issue:       8,16 FWFSM 4096 () 8000 + 8 [fio]
     fio-11375   ( 11370) [001] d..1.     1.000005: block_rq_issue: 8,16 R 4096 () 16000 + 8 rt,5,7 [fio]
",
        );
        assert_eq!(sink.anomalies.examples(), []);
        let offsets: Vec<_> = sink.records.iter().map(|it| it.offset / 512).collect();
        assert_eq!(offsets, [8, 80, 800, 8_000, 16_000]);
        let times: Vec<_> = sink
            .records
            .iter()
            .map(|it| it.ts - 1_000_000_000)
            .collect();
        assert_eq!(times, [1_000, 2_000, 3_000, 4_000, 5_000]);
        assert_eq!(sink.records[1].op, TraceOp::Discard);
        assert_eq!(sink.records[1].priority, 0);
        assert_eq!(sink.records[4].priority, 1 << 13 | 5 << 3 | 7);
    }

    #[test]
    fn command_names_may_hold_anything() {
        let sink = read(
            &FORMAT,
            " block: [0] a: 7 [001]  3.5000001: block:block_bio_queue: 8,0 R 8 + 8 [block_x: [0] + 1]\n\
             \x20a block_ 7 [001]  3.500001: block:block_bio_queue: 8,0 R 8 + 8 []]\n",
        );
        assert_eq!(sink.records.len(), 2);
        assert_eq!(sink.clients.all(), ["", "block_x: [0] + 1", "]"]);
        assert_eq!(sink.records[0].ts, 3_500_000_100);
    }

    #[test]
    fn commands_passed_through_are_no_data() {
        let sink = read(
            &FORMAT,
            " a 1 [0]  1.000001: block:block_rq_issue: 8,0 N 36 (12 00 00 00 24 00) 0 + 0 [a]\n\
             \x20a 1 [0]  1.000002: block:block_rq_complete: 8,0 N (12 00 00 00 24 00) 0 + 0 [0]\n\
             \x20a 1 [0]  1.000003: block:block_rq_issue: 8,0 N 0 () 0 + 0 [a]\n",
        );
        assert_eq!(sink.anomalies.of(Anomaly::NotData), 1);
        let ops: Vec<_> = sink.records.iter().map(|it| it.op).collect();
        assert_eq!(ops, [TraceOp::Other]);
    }

    #[test]
    fn a_completion_with_an_error_has_no_times() {
        let sink = read(
            &FORMAT,
            " a 1 [0]  1.000001: block:block_rq_issue: 8,0 W 4096 () 8 + 8 [5]\n\
             \x20a 1 [0]  1.000002: block:block_rq_issue: 8,0 W 4096 () 80 + 8 [5]\n\
             \x20a 1 [0]  1.000005: block:block_rq_complete: 8,0 W () 8 + 8 [0]\n\
             \x20a 1 [0]  1.000007: block:block_rq_complete: 8,0 W () 80 + 8 [-5]\n",
        );
        let times: Vec<_> = sink.records.iter().map(|it| it.service_ns).collect();
        assert_eq!(times, [4_000, Record::UNKNOWN]);
        assert_eq!(sink.anomalies.of(Anomaly::Failed), 1);
    }

    #[test]
    fn losses_are_counted_and_other_lines_passed_over() {
        let sink = read(
            &FORMAT,
            "# tracer: nop\n\
             LOST 7 events!\n\
             CPU:2 [LOST 5 EVENTS]\n\
             CPU:1 [3 EVENTS DROPPED]\n\
             \x20a 1 [0]  1.000001: PERF_RECORD_LOST lost 2\n\
             \x20a 1 [0]  1.000001: sched:sched_switch: prev_comm=a prev_pid=1\n\
             \x20       ffffffff81234567 submit_bio ([kernel.kallsyms])\n\
             \n",
        );
        assert_eq!(sink.anomalies.of(Anomaly::Lost), 17);
        assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 0);
    }

    #[test]
    fn damaged_lines_are_bad() {
        let line = " a 1 [0]  1.000001: block:block_rq_issue: 8,0 W 4096 () 8 + 8 0x2,0,4 [a]";
        for (from, to) in [
            ("8,0", "8:0"),
            (" W ", " WX "),
            ("8 + 8", "-8 + 8"),
            ("8 + 8", "8 8"),
            ("8 + 8", "8 + 99999999999999999999"),
            ("0x2,0,4", "0x2,0,9"),
            ("0x2,0,4", "best,0,4"),
            ("()", "("),
            ("[a]", "[a"),
            ("[a]", ""),
            ("1.000001:", "1.01:"),
        ] {
            let sink = read(&FORMAT, &format!("{line}\n{}\n", line.replace(from, to)));
            assert_eq!(sink.records.len(), 1, "{from} -> {to}");
            assert_eq!(sink.anomalies.of(Anomaly::BadRecord), 1, "{from} -> {to}");
        }
        let far = line.replace("8 + 8", "36028797018963968 + 8");
        assert_eq!(
            read(&FORMAT, &far)
                .anomalies
                .of(Anomaly::BeyondAddressSpace),
            1
        );
    }

    #[test]
    fn the_resolution_is_that_of_the_digits() {
        let of = |stamp: &str| {
            let mut parser = PerfText::new();
            let line = format!(" a 1 [0]  {stamp}: block:block_rq_issue: 8,0 W 4096 () 8 + 8 [a]");
            parser.line(line.as_bytes(), &mut Sink::default()).unwrap();
            parser.finish(&mut Sink::default()).unwrap();
            (parser.time().resolution_ns, parser.time().kind)
        };
        assert_eq!(of("1.000001"), (1_000, TimeKind::Issue));
        assert_eq!(of("1.000000001"), (1, TimeKind::Issue));
    }

    #[test]
    fn the_probe_takes_lines_of_these_tools_only() {
        assert!(RECORDED.lines().all(|line| takes(&FORMAT, line)));
        assert!(takes(
            &FORMAT,
            " a 1 [0]  1.000001: sched:sched_switch: prev_comm=a"
        ));
        assert!(!takes(
            &FORMAT,
            "  8,0    3        1     0.000000000   697  G  WS 223490 + 8 [kjournald]"
        ));
        assert!(!takes(&FORMAT, "see block_rq_issue: 8,0"));
    }
}
