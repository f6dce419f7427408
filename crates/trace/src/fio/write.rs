//! Writes requests as a fio iolog of version 3, so that `fio --read_iolog` replays what was
//! simulated.
//!
//! Devices become files (fio's `replay_redirect` points them elsewhere), stamps are microseconds,
//! cut. All stamps are one higher than the time: fio takes a stamp of 0 for none and would not wait
//! for the request after it. What fio would read otherwise than it was meant is refused: blanks in
//! names, lengths from 4 GiB, operations it does not have. fio 3.33 itself passes over `trim` (and
//! says `bad ddir: 2`), later ones replay it.
//!
//! Source: fio 3.33, `iolog.c`, `read_iolog`.

use std::io::{BufWriter, Write};

use super::MICROSECOND_NS;
use crate::TraceError;
use crate::header::Header;
use crate::record::{Flags, Record, TraceOp};
use crate::writer::{Loss, OFFER, Output, PRIORITY, WriteFormat, Writer, how_long, own_names};

/// The card.
pub(crate) static WRITE_FORMAT: WriteFormat = WriteFormat {
    name: "fio",
    summary: "fio iolog version 3, for fio --read_iolog",
    make: |to, name| {
        Ok(Box::new(FioWriter {
            to: BufWriter::new(to),
            name: name.to_owned(),
            begun: false,
            open: Vec::new(),
            last: 0,
        }))
    },
    may_be_untimed: false,
    losses: &[
        Loss {
            words: how_long,
            of: |record, _| record.tells_time(),
        },
        Loss {
            words: |count| format!("the client of {count} of them"),
            of: |record, _| record.client != 0,
        },
        PRIORITY,
        OFFER,
        Loss {
            words: |count| {
                format!(
                    "what {count} of them say beside (force unit access, synchronous and the like)"
                )
            },
            of: |record, _| ASIDE.iter().any(|flag| record.flags.has(*flag)),
        },
        Loss {
            words: |count| {
                format!("the nanoseconds below a microsecond of the arrival of {count} of them")
            },
            of: |record, _| record.ts.rem_euclid(MICROSECOND_NS as i64) != 0,
        },
    ],
    device_names: own_names,
};

/// What a request may ask for beside its operation.
const ASIDE: [Flags; 5] = [
    Flags::FUA,
    Flags::PREFLUSH,
    Flags::SYNC,
    Flags::METADATA,
    Flags::READAHEAD,
];

/// Bytes of a file name that fio reads.
const NAME_BYTES_MAX: usize = 256;

struct FioWriter {
    to: BufWriter<Output>,
    /// The output, for messages.
    name: String,
    begun: bool,
    /// Which devices are open, by number.
    open: Vec<bool>,
    /// The last stamp.
    last: u64,
}

impl FioWriter {
    fn unfit(&self, what: String) -> TraceError {
        TraceError::unfit(what).in_file(&self.name)
    }

    fn io(&self, source: std::io::Error) -> TraceError {
        TraceError::Io {
            path: self.name.clone(),
            source,
        }
    }

    fn begin(&mut self) -> std::io::Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        writeln!(self.to, "fio version 3 iolog")
    }

    /// The name of a record's device, opened.
    fn file<'a>(&mut self, record: &Record, header: &'a Header) -> Result<&'a str, TraceError> {
        let dev = record.dev as usize;
        let name = header.devices[dev].name.as_str();
        if self.open.len() <= dev {
            self.open.resize(dev + 1, false);
        }
        if !self.open[dev] {
            let length = 1..=NAME_BYTES_MAX;
            if !length.contains(&name.len()) || name.contains(char::is_whitespace) {
                return Err(self.unfit(format!(
                    "fio cannot say device `{name}`: names have 1 to {NAME_BYTES_MAX} bytes and no blanks"
                )));
            }
            self.open[dev] = true;
            let stamp = self.last;
            let lines = format!("{stamp} {name} add\n{stamp} {name} open\n");
            let done = self.to.write_all(lines.as_bytes());
            done.map_err(|source| self.io(source))?;
        }
        Ok(name)
    }

    fn record(&mut self, record: &Record, header: &Header) -> Result<(), TraceError> {
        let stamp = u64::try_from(record.ts).map(|ts| ts / MICROSECOND_NS + 1);
        let action = match record.op {
            TraceOp::Read => Some("read"),
            TraceOp::Write => Some("write"),
            TraceOp::Flush => Some("sync"),
            TraceOp::Discard => Some("trim"),
            TraceOp::WriteZeroes | TraceOp::Other => None,
        };
        let (Ok(stamp), Some(action), Ok(_)) = (stamp, action, u32::try_from(record.len)) else {
            return Err(self.unfit(format!(
                "fio cannot say: {} of {} bytes at {} ns (read, write, flush or discard, below 4 GiB, times from 0)",
                record.op.name(),
                record.len,
                record.ts
            )));
        };
        self.last = stamp;
        let file = self.file(record, header)?;
        let (offset, length) = match record.op {
            TraceOp::Flush => (0, 0),
            _ => (record.offset, record.len),
        };
        writeln!(self.to, "{stamp} {file} {action} {offset} {length}")
            .map_err(|source| self.io(source))
    }
}

impl Writer for FioWriter {
    fn write(&mut self, records: &[Record], header: &Header) -> Result<(), TraceError> {
        self.begin().map_err(|source| self.io(source))?;
        records
            .iter()
            .try_for_each(|record| self.record(record, header))
    }

    fn finish(mut self: Box<Self>, header: &Header) -> Result<(), TraceError> {
        let end = |writer: &mut FioWriter| {
            writer.begin()?;
            for (dev, device) in header.devices.iter().enumerate() {
                if writer.open.get(dev) == Some(&true) {
                    writeln!(writer.to, "{} {} close", writer.last, device.name)?;
                }
            }
            writer.to.flush()
        };
        end(&mut self).map_err(|source| self.io(source))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::super::FORMAT;
    use super::*;
    use crate::text::testing::read;
    use crate::{OpenOptions, open};

    /// Memory that is still there when the writer is gone.
    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("one thread").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// A header with these devices: that of a trace which holds them.
    fn header(devices: &[&str]) -> Header {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines = devices
            .iter()
            .map(|name| format!("0,{},8,512,R\n", name.replace(' ', "_")));
        let text = format!("time_us,dev,offset,len,op\n{}", lines.collect::<String>());
        std::fs::write(file.path(), text).unwrap();
        let mut trace = open(&[file.path().to_owned()], &OpenOptions::default()).unwrap();
        trace.next_batch(&mut Vec::new()).unwrap();
        let mut header = trace.header().clone();
        for (device, name) in header.devices.iter_mut().zip(devices) {
            device.name = (*name).to_owned();
        }
        header
    }

    fn written(records: &[Record], devices: &[&str]) -> Result<String, String> {
        let memory = Memory::default();
        let header = header(devices);
        let mut writer = (WRITE_FORMAT.make)(Box::new(memory.clone()), "out.log").unwrap();
        let all = writer
            .write(records, &header)
            .and_then(|()| writer.finish(&header));
        all.map_err(|error| error.to_string())?;
        let bytes = memory.0.lock().unwrap().clone();
        Ok(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn every_action_is_stamped_and_read_again() {
        let records = [
            Record::new(0, TraceOp::Read, 4_096, 512, 0),
            Record::new(1_999, TraceOp::Write, 0, 8_192, 1),
            Record::new(2_000, TraceOp::Flush, 77, 0, 1),
            Record::new(5_000_000, TraceOp::Discard, 512, 1_024, 0),
        ];
        let text = written(&records, &["8:0", "8:16"]).unwrap();
        assert_eq!(
            text,
            "fio version 3 iolog\n1 8:0 add\n1 8:0 open\n1 8:0 read 4096 512\n2 8:16 add\n2 8:16 open\n\
             2 8:16 write 0 8192\n3 8:16 sync 0 0\n5001 8:0 trim 512 1024\n5001 8:0 close\n5001 8:16 close\n"
        );
        let again = read(&FORMAT, &text);
        assert_eq!(again.records.len(), 4);
        assert_eq!(
            again.records[3],
            Record::new(5_001_000, TraceOp::Discard, 512, 1_024, 0)
        );
    }

    #[test]
    fn what_fio_would_misread_is_refused() {
        let of = |record: Record, name: &str| written(&[record], &[name]).unwrap_err();
        let read = Record::new(0, TraceOp::Read, 0, 512, 0);
        assert!(of(read, "my disk").contains("cannot say device `my disk`"));
        let long = Record {
            len: 1 << 32,
            ..read
        };
        assert!(of(long, "a").starts_with("out.log: fio cannot say: read of 4294967296 bytes"));
        let zeroes = Record {
            op: TraceOp::WriteZeroes,
            ..read
        };
        assert!(of(zeroes, "a").contains("write_zeroes"));
        assert!(of(Record { ts: -1, ..read }, "a").contains("-1 ns"));
    }

    #[test]
    fn a_log_without_requests_has_its_first_line() {
        assert_eq!(written(&[], &["a"]).unwrap(), "fio version 3 iolog\n");
    }
}
