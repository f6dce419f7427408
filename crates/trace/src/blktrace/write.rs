//! Writes requests as blktrace version 7, so that blkparse and btt read what was simulated.
//!
//! A request becomes Q at its arrival and C when it was answered; where its service is known also G
//! and I at the arrival and D at the issue. Events go out in the order of time, so the later ones
//! wait in a heap while earlier requests come: it holds what is outstanding. Clients become process
//! names; a request without a client is of process 0, which gets no name. The epoch becomes a time
//! stamp note. Devices named `major:minor` keep their numbers, others get numbers of the range that
//! Linux leaves to local use. A request that failed completes with an error.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::BufWriter;
use std::io::Write as _;

use super::event::{MAGIC, V7_BYTES, act, category, notify};
use crate::TraceError;
use crate::header::Header;
use crate::record::{Flags, Record, TraceOp};
use crate::writer::{Loss, OFFER, Output, PRIORITY, WriteFormat, Writer, how_long};

/// The card.
pub(crate) static WRITE_FORMAT: WriteFormat = WriteFormat {
    name: "blktrace",
    summary: "blktrace version 7, for blkparse, btt and fio",
    make: |to, name| Ok(Box::new(BlktraceWriter::new(to, name))),
    may_be_untimed: false,
    losses: &[
        Loss {
            words: how_long,
            // What completes is written if it is known when it arrived.
            of: |record, _| record.tells_time() && record.response_ns == Record::UNKNOWN,
        },
        PRIORITY,
        OFFER,
        Loss {
            words: |count| {
                format!("all but the first 15 bytes of the client's name of {count} of them")
            },
            of: |record, header| header.clients[record.client as usize].len() >= NAME_BYTES,
        },
        Loss {
            words: |count| format!("that {count} of them write zeroes: they become writes"),
            of: |record, _| record.op == TraceOp::WriteZeroes,
        },
    ],
    device_names: |devices| {
        let mut numbers = Vec::new();
        for device in devices {
            numbers.push(device_number(&device.name, &numbers));
        }
        let name = |number: u32| format!("{}:{}", number >> 20, number & 0xf_ffff);
        numbers.into_iter().map(name).collect()
    },
};

/// First of the major numbers for local and experimental use (Linux
/// `Documentation/admin-guide/devices.txt`).
const LOCAL_MAJOR: u32 = 240;

/// Sectors are 512 bytes.
const SECTOR_BYTES: u64 = 512;

/// The error of a completion, as the kernel keeps it: `-EIO`. Which one it was is not known here.
const EIO: u16 = -5_i16 as u16;

/// Length of a process name in a note.
const NAME_BYTES: usize = 16;

/// One event to be written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    time: u64,
    /// The order in which events were thought of.
    number: u64,
    action: u32,
    sector: u64,
    bytes: u32,
    pid: u32,
    device: u32,
    error: u16,
}

struct BlktraceWriter {
    to: BufWriter<Output>,
    name: String,
    pending: BinaryHeap<Reverse<Pending>>,
    thought_of: u64,
    /// The kernel counts events of each device apart.
    sequences: BTreeMap<u32, u32>,
    devices: Vec<u32>,
    /// Process numbers of the clients whose notes have been written.
    clients: Vec<u32>,
    begun: bool,
}

impl BlktraceWriter {
    fn new(to: Output, name: &str) -> BlktraceWriter {
        BlktraceWriter {
            to: BufWriter::new(to),
            name: name.to_owned(),
            pending: BinaryHeap::new(),
            thought_of: 0,
            sequences: BTreeMap::new(),
            devices: Vec::new(),
            clients: Vec::new(),
            begun: false,
        }
    }

    fn unfit(&self, what: &str) -> TraceError {
        TraceError::unfit(what).in_file(&self.name)
    }

    /// The wall time of `ts` 0, in front of all.
    fn begin(&mut self, header: &Header) -> std::io::Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let Some(epoch) = header.epoch_unix_ns.filter(|epoch| *epoch >= 0) else {
            return Ok(());
        };
        let seconds = (epoch / 1_000_000_000) as u32;
        let rest = (epoch % 1_000_000_000) as u32;
        let payload = [seconds.to_le_bytes(), rest.to_le_bytes()].concat();
        self.put_note(notify::TIMESTAMP, 0, 0, &payload)
    }

    fn put_note(
        &mut self,
        action: u16,
        time: u64,
        pid: u32,
        payload: &[u8],
    ) -> std::io::Result<()> {
        let note = Pending {
            time,
            number: 0,
            action: category::NOTIFY << 16 | u32::from(action),
            sector: 0,
            bytes: 0,
            pid,
            device: self.devices.first().copied().unwrap_or(0),
            error: 0,
        };
        self.put(&note, 0, payload)
    }

    fn put(&mut self, event: &Pending, sequence: u32, payload: &[u8]) -> std::io::Result<()> {
        let mut bytes = [0; V7_BYTES];
        bytes[0..4].copy_from_slice(&(MAGIC | 7).to_le_bytes());
        bytes[4..8].copy_from_slice(&sequence.to_le_bytes());
        bytes[8..16].copy_from_slice(&event.time.to_le_bytes());
        bytes[16..24].copy_from_slice(&event.sector.to_le_bytes());
        bytes[24..28].copy_from_slice(&event.bytes.to_le_bytes());
        bytes[28..32].copy_from_slice(&event.action.to_le_bytes());
        bytes[32..36].copy_from_slice(&event.pid.to_le_bytes());
        bytes[36..40].copy_from_slice(&event.device.to_le_bytes());
        bytes[44..46].copy_from_slice(&event.error.to_le_bytes());
        bytes[46..48].copy_from_slice(&(payload.len() as u16).to_le_bytes());
        self.to.write_all(&bytes)?;
        self.to.write_all(payload)
    }

    /// Writes what happened up to `time`.
    fn flush_until(&mut self, time: u64) -> std::io::Result<()> {
        while let Some(Reverse(event)) = self
            .pending
            .peek()
            .copied()
            .filter(|Reverse(event)| event.time <= time)
        {
            self.pending.pop();
            let sequence = self.sequences.entry(event.device).or_default();
            *sequence = sequence.wrapping_add(1);
            let sequence = *sequence;
            self.put(&event, sequence, &[])?;
        }
        Ok(())
    }

    /// Makes sure that the devices and clients of the header have numbers, and the clients their
    /// notes.
    fn know(&mut self, header: &Header, now: u64) -> std::io::Result<()> {
        for device in &header.devices[self.devices.len().min(header.devices.len())..] {
            let number = device_number(&device.name, &self.devices);
            self.devices.push(number);
        }
        self.begin(header)?;
        for client in &header.clients[self.clients.len().min(header.clients.len())..] {
            let told = client
                .strip_prefix("pid ")
                .and_then(|number| number.parse().ok());
            let pid = told.unwrap_or(self.clients.len() as u32);
            self.clients.push(pid);
            if told.is_none() && !client.is_empty() {
                let mut name = [0; NAME_BYTES];
                let length = client.len().min(NAME_BYTES - 1);
                name[..length].copy_from_slice(&client.as_bytes()[..length]);
                self.put_note(notify::PROCESS, now, pid, &name)?;
            }
        }
        Ok(())
    }

    /// Thinks of all events of a request.
    fn add(&mut self, record: &Record) -> Result<(), TraceError> {
        let fits = record.offset.is_multiple_of(SECTOR_BYTES) && u32::try_from(record.len).is_ok();
        let (true, Ok(arrival)) = (fits, u64::try_from(record.ts)) else {
            return Err(self.unfit(&format!(
                "blktrace cannot say: {} of {} bytes at byte {} and {} ns (whole sectors of {SECTOR_BYTES} bytes, below 4 GiB, \
                 times from 0)",
                record.op.name(),
                record.len,
                record.offset,
                record.ts
            )));
        };
        let answered = (record.response_ns != Record::UNKNOWN)
            .then(|| arrival.saturating_add(record.response_ns));
        let issued = match (answered, record.service_ns) {
            (None, _) | (_, Record::UNKNOWN) => None,
            (Some(answered), service) => Some(answered.saturating_sub(service).max(arrival)),
        };
        self.think(record, arrival, category::QUEUE, act::QUEUE);
        if let Some(issued) = issued {
            self.think(record, arrival, 0, act::GET_REQUEST);
            self.think(record, arrival, 0, act::INSERT);
            self.think(record, issued, category::ISSUE, act::ISSUE);
        }
        if let Some(answered) = answered {
            self.think(record, answered, category::COMPLETE, act::COMPLETE);
        }
        Ok(())
    }

    fn think(&mut self, record: &Record, time: u64, what: u32, action: u16) {
        self.pending.push(Reverse(Pending {
            time,
            number: self.thought_of,
            action: (what | categories(record)) << 16 | u32::from(action),
            sector: record.offset / SECTOR_BYTES,
            bytes: record.len as u32,
            pid: self
                .clients
                .get(record.client as usize)
                .copied()
                .unwrap_or(0),
            device: self.devices.get(record.dev as usize).copied().unwrap_or(0),
            error: match action == act::COMPLETE && record.flags.has(Flags::FAILED) {
                true => EIO,
                false => 0,
            },
        }));
        self.thought_of += 1;
    }

    fn io(&self, source: std::io::Error) -> TraceError {
        TraceError::Io {
            path: self.name.clone(),
            source,
        }
    }
}

impl Writer for BlktraceWriter {
    fn write(&mut self, records: &[Record], header: &Header) -> Result<(), TraceError> {
        for record in records {
            let arrival = u64::try_from(record.ts).unwrap_or(0);
            // What happens at the same instant waits, so that a request's own events follow its
            // arrival.
            let before = self.flush_until(arrival.saturating_sub(1));
            before
                .and_then(|()| self.know(header, arrival))
                .map_err(|source| self.io(source))?;
            self.add(record)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: &Header) -> Result<(), TraceError> {
        let rest = self.flush_until(u64::MAX);
        rest.and_then(|()| self.to.flush())
            .map_err(|source| self.io(source))
    }
}

/// The category bits that say what kind of request it is.
fn categories(record: &Record) -> u32 {
    let kind = match record.op {
        TraceOp::Read => category::READ,
        TraceOp::Write | TraceOp::WriteZeroes => category::WRITE,
        TraceOp::Flush => category::FLUSH,
        TraceOp::Discard => category::DISCARD | category::WRITE,
        TraceOp::Other => 0,
    };
    [
        (Flags::FUA, category::FUA),
        (Flags::PREFLUSH, category::FLUSH),
        (Flags::SYNC, category::SYNC),
        (Flags::METADATA, category::META),
        (Flags::READAHEAD, category::AHEAD),
    ]
    .into_iter()
    .filter(|(flag, _)| record.flags.has(*flag))
    .fold(kind, |bits, (_, bit)| bits | bit)
}

/// `major:minor` as a number, or one of the numbers for local use; none that is taken.
fn device_number(name: &str, taken: &[u32]) -> u32 {
    let told = name.split_once([':', ',']).and_then(|(major, minor)| {
        let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
        (major < 1 << 12 && minor < 1 << 20).then_some(major << 20 | minor)
    });
    let local = (taken.len() as u32..).map(|index| LOCAL_MAJOR << 20 | (index & 0xf_ffff));
    let free = |number: &u32| !taken.contains(number);
    let mut may_be = told.into_iter().chain(local);
    may_be
        .find(free)
        .expect("there are fewer than 2^20 devices")
}
