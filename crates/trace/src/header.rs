//! What is known of a trace besides its requests; complete when its last batch was read.

use super::TraceError;
use super::columns::Asked;
use super::decode::{Anomalies, Anomaly, TimeKind};
use super::record::Record;
use super::span::SpanRead;
use super::spread::Spread;

/// A trace as a whole.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Header {
    /// Name of its format (several when files differ).
    pub format: String,
    /// Version of the format, when it has one.
    pub version: Option<String>,
    /// Files it was read from, per-CPU files one by one.
    pub files: Vec<String>,
    /// Unix time of `ts` 0 in ns, when the format tells.
    pub epoch_unix_ns: Option<i64>,
    /// Smallest step of its time stamps in ns.
    pub resolution_ns: u64,
    /// Greatest step that all coarse time stamps are a multiple of, from the first; none where they
    /// are fine or few.
    pub stamp_step_ns: Option<u64>,
    /// Which event was stamped.
    pub time_kind: TimeKind,
    /// Bytes per sector of its addresses; 512 in all formats that count sectors.
    pub sector_size: u32,
    /// Whether offsets are object ids, which say nothing of places.
    pub object_ids: bool,
    /// Devices, also those that a device filter left out, by [`Record::dev`].
    pub devices: Vec<Device>,
    /// Clients, by [`Record::client`]; the first is the unknown client.
    pub clients: Vec<String>,
    /// Requests given out so far.
    pub requests: u64,
    /// Records that were understood so far, also those of other devices, beyond the limit, or left
    /// out for another reason.
    pub understood: u64,
    /// Whether reading stopped at the limit on requests.
    pub limited: bool,
    /// Which part of the trace was asked for; none if all of it.
    pub span: Option<SpanRead>,
    /// What was odd.
    pub anomalies: Anomalies,
    /// How the trace was understood, in words for the user.
    pub notes: Vec<String>,
    /// How requests with the same coarse time stamp were spread; none when stamps are fine.
    pub spread: Option<Spread>,
}

impl Header {
    /// Refuses what needs places if there are none.
    ///
    /// # Errors
    /// Offsets are object ids.
    pub fn needs_places(&self, what: &str) -> Result<(), TraceError> {
        if !self.object_ids {
            return Ok(());
        }
        let what = format!(
            "has object ids, which are no addresses, and {what} needs addresses: give --block-size, the bytes of one object id"
        );
        Err(TraceError::unfit(what).in_file(&self.files.join(", ")))
    }

    /// Refuses a trace of which most could not be read.
    ///
    /// # Errors
    /// More than half of its records were not understood.
    pub fn needs_most_records(&self) -> Result<(), TraceError> {
        let bad = self.anomalies.of(Anomaly::BadRecord);
        if bad <= self.understood {
            return Ok(());
        }
        let all = bad + self.understood;
        let examples = self.anomalies.examples().iter();
        let mut examples = examples.filter(|(kind, _)| *kind == Anomaly::BadRecord);
        let example = examples.next();
        let example = example.map_or(String::new(), |(_, example)| format!(" ({example})"));
        let what = format!(
            "{bad} of {all} records could not be read{example}: what is left, less than half, does not stand for the load. Mend the file, or \
             say what it is with --trace-format or --columns; `nearslot inspect` shows what can be read"
        );
        Err(TraceError::unfit(what).in_file(&self.files.join(", ")))
    }

    /// The header of a trace that was made here, such as a simulated schedule: arrivals in ns from
    /// 0.
    pub fn made(format: &str, devices: &[&str], clients: &[&str]) -> Header {
        let device = |name: &&str| Device {
            name: (*name).to_owned(),
            ..Device::default()
        };
        Header {
            format: format.to_owned(),
            version: None,
            files: Vec::new(),
            epoch_unix_ns: None,
            resolution_ns: 1,
            stamp_step_ns: None,
            time_kind: TimeKind::Arrival,
            sector_size: 512,
            object_ids: false,
            devices: devices.iter().map(device).collect(),
            clients: std::iter::once("")
                .chain(clients.iter().copied())
                .map(str::to_owned)
                .collect(),
            requests: 0,
            understood: 0,
            limited: false,
            span: None,
            anomalies: Anomalies::default(),
            notes: Vec::new(),
            spread: None,
        }
    }
}

/// One device of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Device {
    /// Its name in the trace.
    pub name: String,
    /// Requests seen so far.
    pub requests: u64,
    /// First byte behind the last byte touched: the least capacity it can have.
    pub end_byte: u64,
}

/// Requests and extent by device.
#[derive(Default)]
pub(crate) struct Census {
    seen: Vec<(u64, u64)>,
}

impl Census {
    pub(crate) fn count(&mut self, record: &Record) {
        let dev = record.dev as usize;
        if dev >= self.seen.len() {
            self.seen.resize(dev + 1, (0, 0));
        }
        let (requests, end) = &mut self.seen[dev];
        *requests += 1;
        // Flushes carry addresses that mean nothing in some formats.
        if record.len > 0 {
            *end = (*end).max(record.end());
        }
    }

    /// Counts reads and writes of columns.
    pub(crate) fn count_asked(&mut self, asked: &Asked<'_>) {
        let mut from = 0;
        while let Some(dev) = asked.dev.get(from) {
            let run = asked.dev[from..].iter().take_while(|other| *other == dev);
            let to = from + run.count();
            let dev = *dev as usize;
            if dev >= self.seen.len() {
                self.seen.resize(dev + 1, (0, 0));
            }
            let (requests, end) = &mut self.seen[dev];
            *requests += (to - from) as u64;
            let extents = asked.offset[from..to].iter().zip(&asked.len[from..to]);
            let ends = extents.map(|(offset, len)| if *len > 0 { offset + len } else { 0 });
            *end = (*end).max(ends.fold(0, u64::max));
            from = to;
        }
    }

    pub(crate) fn of(&self, dev: usize) -> (u64, u64) {
        self.seen.get(dev).copied().unwrap_or((0, 0))
    }
}
