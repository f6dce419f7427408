//! Every text format's sample is detected as itself, and by no other format's probe: the matrix of
//! formats and samples.
//!
//! Two cells off the diagonal are wanted, and named below with their reason.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

use nearslot_trace::{FORMATS, Naming, OpenOptions, Probe, TraceReader, open};

/// A format with some of its lines, as real files have them.
const SAMPLES: &[(&str, &str)] = &[
    (
        "fio",
        "fio version 3 iolog\n36 t.img add\n1517 t.img open\n1529 t.img read 1011712 4096\n",
    ),
    (
        "fio",
        "fio version 2 iolog\nt.img add\nt.img open\nt.img wait 1500 0\nt.img read 1011712 4096\n",
    ),
    ("fio-v1", "0, 4096, 512\n1, 8192, 1024\n"),
    (
        "blkparse",
        "  8,0    3        1     0.000000000   697  Q  WS 223490 + 8 [kjournald]\n\
         \x20 8,0    3        2     0.000000100   697  G  WS 223490 + 8 [kjournald]\n\
         CPU0 (sda):\n Reads Queued:           0,        0KiB\t Writes Queued:           1,        4KiB\n\
         \n\
         Throughput (R/W): 0KiB/s / 0KiB/s\nEvents (sda): 2 entries\nSkips: 0 forward (0 -   0.0%)\n",
    ),
    (
        "blkparse",
        "0.000000000,Q,WS,223490,4096,8,0,697,kjournald\n0.000000100,G,WS,223490,4096,8,0,697,kjournald\n",
    ),
    (
        "perf",
        " sh 11362 [000]  2929.633882957:   block:block_bio_queue: 254,0 RM 19618528 + 8 [sh]\n\
         \x20sh 11362 [000]  2929.633882999:   sched:sched_waking: comm=sh pid=7 prio=120 target_cpu=001\n\
         \x20sh 11362 [000]  2929.633903948:   block:block_rq_issue: 254,0 RM 4096 () 19618528 + 8 0x2,0,4 [sh]\n",
    ),
    (
        "perf",
        "# tracer: nop\n          <idle>-0     [001] d.h1.  1685.757528: block_rq_issue: 254,0 R 4096 () 8 + 8 [swapper/1]\n",
    ),
    (
        "spc",
        "0,303567,3584,w,0.026214\n1,240840,3072,W,0.026214\n",
    ),
    (
        "msr",
        "128166372003061629,mds,0,Read,3154124800,4096,207410\n\
         128166372011600556,mds,0,Write,3201662976,20480,45361\n",
    ),
    (
        "msr",
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
         128166372011600556,mds,0,Write,3201662976,20480,45361\n",
    ),
    (
        "alibaba",
        "0,R,126703644672,4096,1577808000000626\n419,W,8792731648,16384,1577808000004775\n",
    ),
    (
        "alibaba",
        "device_id,opcode,offset,length,timestamp\n0,R,126703644672,4096,1577808000000626\n",
    ),
    (
        "tencent",
        "1538323199,105352008,584,1,1576\n1538323200,12,8,0,1283\n",
    ),
    (
        "k5cloud",
        "2264,86400.121837000,R,48195870720,4096\n2264,86400.2,W,0,512\n",
    ),
    (
        "systor17",
        "Timestamp,Response,IOType,LUN,Offset,Size\n1455505200.123456000,0.000512000,W,4,42949672960,8192\n",
    ),
    (
        "fiu",
        "89968195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065a2b6458eca924523\n",
    ),
    (
        "bpftrace",
        "I,1685757457233,254,0,323804048,4096,WS,10,kworker/0:0H\nC,1685757528228,254,0,323804048,4096,WS,0,\n",
    ),
    (
        "biosnoop",
        "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   LAT(ms)\n\
         0.100004    supervise      1950    xvda1     W 13092560   4096       0.74\n",
    ),
    ("disksim", "0.000000 0 8 8 0\n13.191135 30 0 5 1\n"),
    ("mqsim", "4851300 1 524288 16 0\n4851301 1 8 16 1\n"),
    (
        "csv",
        "time_us,dev,lba,blocks,op\n0,4,264719034,16,W\n315,3,197570570,16,W\n",
    ),
    ("csv", "ts,op,offset,len,dev\n0,read,4096,512,sda\n"),
    (
        "csv",
        "time,op,offset,len\n2026-11-20 10:15:32.123456,R,4096,512\n2026-11-20 10:15:32.2,W,0,512\n",
    ),
    (
        "csv",
        "timestamp;type;offset;size\n1577808000000626;R;0;512\n",
    ),
    // The rows alone would be SPC, with seconds; the header says what they are.
    ("csv", "dev,lba,len,op,ts_us\n0,303567,3584,w,26214\n"),
];

/// Whether a format would take the sample on its own.
fn takes(format: &str, sample: &str) -> bool {
    let card = FORMATS.iter().find(|card| card.name == format).unwrap();
    let lines: Vec<&[u8]> = sample
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(str::as_bytes)
        .collect();
    match card.probe {
        Probe::Magic(is) => is(sample.as_bytes()),
        Probe::Binary(is) => is(sample.as_bytes(), Some(sample.len() as u64)),
        Probe::Line(parses) | Probe::Doubtful { parses, .. } => {
            let header = usize::from(!parses(lines[0]));
            lines[header..].iter().all(|line| parses(line)) && header < lines.len()
        }
        Probe::Header { names, .. } => names(lines[0]) != Naming::Nothing,
        Probe::Named(_) => false,
    }
}

/// Samples of a format that another takes too, and why the right one wins.
fn is_excused(sample_of: &str, taken_by: &str, sample: &str) -> bool {
    match (sample_of, taken_by) {
        // A header without a unit counts only when no format of lines fits.
        ("msr" | "alibaba" | "systor17", "csv") => sample.starts_with(char::is_alphabetic),
        // A header with a unit counts before all formats of lines.
        ("csv", "spc") => sample.contains("ts_us"),
        _ => false,
    }
}

fn opened(sample: &str) -> TraceReader {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), sample).unwrap();
    let mut trace = open(&[file.path().to_owned()], &OpenOptions::default()).unwrap();
    trace.next_batch(&mut Vec::new()).unwrap();
    trace
}

#[test]
fn every_sample_is_detected_as_itself() {
    for (format, sample) in SAMPLES {
        let trace = opened(sample);
        assert_eq!(trace.header().format, *format, "{sample}");
        assert!(trace.header().requests > 0, "{sample}");
        let odd: Vec<_> = trace.header().anomalies.iter().collect();
        assert!(odd.is_empty(), "{sample}: {odd:?}");
    }
}

#[test]
fn no_sample_is_taken_by_another_format() {
    for (format, sample) in SAMPLES {
        assert!(takes(format, sample), "{format} does not take {sample}");
        for other in FORMATS
            .iter()
            .map(|card| card.name)
            .filter(|name| name != format)
        {
            let taken = takes(other, sample);
            assert_eq!(
                taken,
                is_excused(format, other, sample),
                "{other} and {sample}"
            );
        }
    }
}

#[test]
fn every_text_format_has_a_sample() {
    for card in FORMATS {
        let text = matches!(
            card.probe,
            Probe::Line(_) | Probe::Doubtful { .. } | Probe::Header { .. }
        );
        let sampled = SAMPLES.iter().any(|(format, _)| *format == card.name);
        assert!(sampled || !text, "{} has no sample", card.name);
    }
}

#[test]
fn line_ends_marks_and_damage_do_not_matter() {
    for (format, sample) in SAMPLES {
        let windows = format!("\u{feff}{}", sample.replace('\n', "\r\n"));
        assert_eq!(opened(&windows).header().format, *format, "{sample}");
    }
    let (_, rows) = SAMPLES.iter().find(|(format, _)| *format == "spc").unwrap();
    let damaged = format!("{}this is no row\n", rows.repeat(10));
    assert_eq!(opened(&damaged).header().format, "spc");
}
