//! What a trace format is to the rest: a probe and a decoder of bytes.
//!
//! A decoder is a pure push parser: it gets bytes, appends records, and says how many bytes it has
//! used up. Who brings the bytes (a plain file, a decompressor, standard input) is not its
//! business, so every decoder can be fuzzed and timed on a slice. Only a format whose index stands
//! at its end (Parquet) is read from a file instead.

use std::collections::BTreeMap;
use std::fs::File;

use super::TraceError;
use super::columns::Columns;
use super::record::Record;

/// A trace format, one file and one line in the table each.
pub struct Format {
    /// Name for `--trace-format`, the field's own term.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Who defines it.
    pub source: &'static str,
    /// How its bytes are recognised.
    pub probe: Probe,
    /// Which options of reading have an effect on it; the others are errors.
    pub options: &'static [Choice],
    /// What turns it into records.
    pub reads: Reads,
}

/// What the user may say about a format that leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// [`Options::columns`].
    Columns,
    /// [`Options::time_unit`].
    TimeUnit,
    /// [`Options::block_size`].
    BlockSize,
    /// [`Options::fio_wait`].
    FioWait,
}

impl Choice {
    /// As the command line spells it.
    pub const fn option(self) -> &'static str {
        match self {
            Choice::Columns => "--columns",
            Choice::TimeUnit => "--time-unit",
            Choice::BlockSize => "--block-size",
            Choice::FioWait => "--fio-wait",
        }
    }
}

/// What the makers of readers give.
pub type Made<T> = Result<Box<T>, TraceError>;

/// Whether a format is read from front to back or needs to jump.
pub enum Reads {
    /// Makes a push decoder.
    Stream(fn(&Options) -> Made<dyn Decoder>),
    /// Makes a reader of a whole file.
    File(fn(File, &Options) -> Made<dyn FileReader>),
}

/// How a format is recognised from the first bytes of its (decompressed) stream.
pub enum Probe {
    /// Certain bytes stand at its start.
    Magic(fn(&[u8]) -> bool),
    /// Binary without a magic: whether the sample makes sense, given the length of the stream if it
    /// is known.
    Binary(fn(&[u8], Option<u64>) -> bool),
    /// Text: whether a line parses. The best format over the first lines is taken.
    Line(fn(&[u8]) -> bool),
    /// The same of a format that other tables look like, too.
    Doubtful {
        /// Whether a line parses.
        parses: fn(&[u8]) -> bool,
        /// What speaks against it in lines that do, if something does: then it is not taken unless it
        /// is named.
        against: fn(&[&[u8]]) -> Option<&'static str>,
    },
    /// Text whose first line names what follows.
    Header {
        /// How much the first line names. It is believed at once if it names all, else if no line
        /// format fits.
        names: fn(&[u8]) -> Naming,
        /// What a first line lacks that names too little, in words that follow its number; none if
        /// it does not look like a header. The second line, if there is one, helps to tell.
        lacks: fn(&[u8], Option<&[u8]>) -> Option<String>,
    },
    /// Text that says too little to be believed: whether a line parses. It is never taken unless it
    /// is named; the error proposes it where the lines look like it.
    Named(fn(&[u8]) -> bool),
}

/// What the first line of a table names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Not the columns that requests need.
    Nothing,
    /// The columns, but no unit of times.
    Columns,
    /// The columns and the unit of times.
    ColumnsAndUnits,
}

/// What the user may say about a trace's meaning.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Unit of plain integer times, where the format leaves it open: `s ms us ns`.
    pub time_unit: Option<TimeUnit>,
    /// Column description of the generic CSV reader (`ts=5:us,op=2:R/W,...`).
    pub columns: Option<String>,
    /// Bytes per object id, for formats that have ids instead of addresses.
    pub block_size: Option<u64>,
    /// What the waits of a fio iolog of version 2 mean, if they do not tell.
    pub fio_wait: Option<FioWait>,
    /// Stop at the first bad line instead of counting it.
    pub strict: bool,
    /// Name of the file, for formats that hold one device and do not name it. The pipeline fills it
    /// in.
    pub file: String,
}

impl Options {
    /// What the user did say.
    pub fn chosen(&self) -> Vec<Choice> {
        let said = [
            (Choice::Columns, self.columns.is_some()),
            (Choice::TimeUnit, self.time_unit.is_some()),
            (Choice::BlockSize, self.block_size.is_some()),
            (Choice::FioWait, self.fio_wait.is_some()),
        ];
        let said = said.into_iter().filter(|(_, said)| *said);
        said.map(|(choice, _)| choice).collect()
    }
}

/// Units of time in traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl TimeUnit {
    /// Nanoseconds of one.
    pub const fn ns(self) -> u64 {
        match self {
            TimeUnit::Seconds => 1_000_000_000,
            TimeUnit::Milliseconds => 1_000_000,
            TimeUnit::Microseconds => 1_000,
            TimeUnit::Nanoseconds => 1,
        }
    }

    /// The unit of this short name: `s ms us ns`.
    pub fn named(name: &str) -> Option<TimeUnit> {
        Some(match name {
            "s" => TimeUnit::Seconds,
            "ms" => TimeUnit::Milliseconds,
            "us" => TimeUnit::Microseconds,
            "ns" => TimeUnit::Nanoseconds,
            _ => return None,
        })
    }
}

/// The two ways in which waits of fio iologs are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FioWait {
    /// Milliseconds since the start, `abs-ms`.
    AbsoluteMs,
    /// Microseconds since the previous wait, `rel-us`.
    RelativeUs,
}

/// Turns bytes into records.
pub trait Decoder: Send {
    /// Uses up whole records (or lines) from the front of `bytes`, appends what they say to
    /// `out.records`, and gives the number of bytes used. It may stop early when `out` has enough.
    /// Using nothing and appending nothing asks for more bytes. `last` says that no bytes follow;
    /// what is then left over is a truncated record, to be counted in `out.anomalies` and used up.
    ///
    /// # Errors
    /// The bytes cannot be of this format; the error ([`TraceError::unfit`]) says where and why,
    /// the pipeline adds the file.
    fn decode(&mut self, bytes: &[u8], last: bool, out: &mut Sink) -> Result<usize, TraceError>;

    /// No bytes follow and all were used: append what was held back (a merge, a summary).
    ///
    /// # Errors
    /// As for `decode`.
    fn finish(&mut self, _out: &mut Sink) -> Result<(), TraceError> {
        Ok(())
    }

    /// What gives the same requests as columns, in place of `decode`; none if the format tells more
    /// of a request than columns hold. Nothing is held back until `finish` then.
    #[expect(
        private_interfaces,
        reason = "columns are between decoders and the pipeline"
    )]
    fn columns(&mut self) -> Option<&mut dyn ColumnDecoder> {
        None
    }

    /// What the format's time stamps are; asked after the first records.
    fn time(&self) -> TimeMeaning;
}

/// Turns bytes into columns: the decoder of a format that tells no more of a request.
pub(crate) trait ColumnDecoder: Send {
    /// As [`Decoder::decode`], but for where requests go.
    fn decode(
        &mut self,
        bytes: &[u8],
        last: bool,
        out: &mut Sink,
        columns: &mut Columns,
    ) -> Result<usize, TraceError>;

    /// As [`Decoder::time`].
    fn time(&self) -> TimeMeaning;
}

/// Reads records out of a file that it may jump in.
pub trait FileReader: Send {
    /// Appends some thousands of records to `out.records`; false when there are no more.
    ///
    /// # Errors
    /// The file cannot be of this format; the error says where and why.
    fn read(&mut self, out: &mut Sink) -> Result<bool, TraceError>;

    /// Nothing more will be read: count what was held back.
    fn stop(&mut self, _out: &mut Sink) {}

    /// What the format's time stamps are.
    fn time(&self) -> TimeMeaning;
}

/// What a format's time stamps mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeMeaning {
    /// Smallest step in ns.
    pub resolution_ns: u64,
    /// Which event was stamped.
    pub kind: TimeKind,
    /// Unix time of the format's time 0 in ns, when the format tells; the pipeline adds the first
    /// record's `ts`.
    pub epoch_unix_ns: Option<i64>,
}

/// Which event a time stamp belongs to, after the reader's own correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeKind {
    /// It came to the traced layer.
    Arrival,
    /// It was given to the device.
    Issue,
    /// It was done.
    Completion,
    /// The format has no times at all.
    None,
}

/// Requests held back at most (117 MB), so that memory stays bounded whatever the window. Of more,
/// as in a trace that has no times at all, the earliest are given out early.
pub(crate) const HELD_MAX: usize = 1 << 21;

/// Where a decoder puts what it finds. The files of one trace share one, and so their devices and
/// clients.
pub struct Sink {
    /// Records found, in the order of the file.
    pub records: Vec<Record>,
    /// Device names, by `Record::dev`.
    pub devices: Names,
    /// Client names, by `Record::client`; the first is the unknown client.
    pub clients: Names,
    /// What was odd.
    pub anomalies: Anomalies,
    /// Version of the format, when it has one.
    pub version: Option<String>,
    /// What the user should know of how the trace was understood, in words.
    pub notes: Vec<String>,
    /// Offsets are object ids, which say nothing of places.
    pub object_ids: bool,
    /// The line that is read, counted from 1, in formats of lines: messages name it.
    pub line: u64,
}

impl Default for Sink {
    fn default() -> Sink {
        let mut clients = Names::default();
        clients.intern(b"");
        Sink {
            records: Vec::new(),
            devices: Names::default(),
            clients,
            anomalies: Anomalies::default(),
            version: None,
            notes: Vec::new(),
            object_ids: false,
            line: 0,
        }
    }
}

impl Sink {
    /// What is noted of a trace whose requests have no times.
    pub const WITHOUT_TIME: &str =
        "the trace has no times: only a closed replay of it means something";

    /// What is noted of a trace whose requests all have one time.
    pub const ONE_TIME: &str = "all requests have the same time stamp, which says nothing of when they came: only a closed replay of the trace \
         means something";

    /// Tells the user something once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// A table of strings by number. Finding a known name costs one hash and one comparison and
/// allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Names {
    names: Vec<String>,
    /// The names as they stood in the file, one after the other; `names` is for people and may
    /// differ from it.
    raw: Vec<u8>,
    /// Where each name ends in `raw`.
    ends: Vec<usize>,
    /// Open addressing: number + 1 of the name with this hash or one before it, 0 is free.
    slots: Vec<u32>,
    /// The number last given: most often the same name comes again.
    last: u32,
}

impl Names {
    /// The number of a name, new or known.
    #[inline]
    pub fn intern(&mut self, name: &[u8]) -> u32 {
        if self.names.is_empty() || self.raw(self.last) != name {
            self.last = self.look_up(name);
        }
        self.last
    }

    fn look_up(&mut self, name: &[u8]) -> u32 {
        if self.names.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let slot = self.slot(name);
        match self.slots[slot].checked_sub(1) {
            Some(number) => number,
            None => self.add(name, slot),
        }
    }

    /// Where the name stands, or the free slot where it would. At least half of the slots are free,
    /// so there is one.
    fn slot(&self, name: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = xxhash_rust::xxh3::xxh3_64(name) as usize & mask;
        while let Some(number) = self.slots[slot].checked_sub(1)
            && self.raw(number) != name
        {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn raw(&self, number: u32) -> &[u8] {
        let index = number as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.raw[start..self.ends[index]]
    }

    #[cold]
    fn add(&mut self, name: &[u8], slot: usize) -> u32 {
        let number = u32::try_from(self.names.len()).expect("fewer than 2^32 names");
        self.names.push(String::from_utf8_lossy(name).into_owned());
        self.raw.extend_from_slice(name);
        self.ends.push(self.raw.len());
        self.slots[slot] = number + 1;
        number
    }

    #[cold]
    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(16);
        self.slots = vec![0; slots];
        for index in 0..self.names.len() as u32 {
            let slot = self.slot(self.raw(index));
            self.slots[slot] = index + 1;
        }
    }

    /// The number of a name, if it has one.
    pub fn number(&self, name: &[u8]) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        self.slots[self.slot(name)].checked_sub(1)
    }

    /// All names, by number.
    pub fn all(&self) -> &[String] {
        &self.names
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// Counts of what was odd in a trace, by kind, with the first places.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Anomalies {
    counts: BTreeMap<Anomaly, u64>,
    examples: Vec<(Anomaly, String)>,
    #[serde(skip)]
    place: String,
}

/// Kinds of oddities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Anomaly {
    /// A line or record that does not parse; left out.
    BadRecord,
    /// The file ends inside a record; what is there of it is left out.
    Truncated,
    /// A read or write of no bytes; left out.
    ZeroLength,
    /// More than 64 MiB; kept.
    Oversized,
    /// Ends beyond 2^63 bytes; left out.
    BeyondAddressSpace,
    /// A time stamp before its predecessor; sorted.
    Inversion,
    /// The tracer lost events.
    Lost,
    /// The direction is not in the trace and was assumed to be a read.
    DirectionGuessed,
    /// An operation that moves no data and was left out (passthrough, remap).
    NotData,
    /// A gap of more than an hour, or a step back of more than a second.
    ClockStep,
    /// A completion that carries an error; its request is kept, without its times.
    Failed,
}

impl Anomaly {
    /// As results and our Parquet spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Anomaly::BadRecord => "bad_record",
            Anomaly::Truncated => "truncated",
            Anomaly::ZeroLength => "zero_length",
            Anomaly::Oversized => "oversized",
            Anomaly::BeyondAddressSpace => "beyond_address_space",
            Anomaly::Inversion => "inversion",
            Anomaly::Lost => "lost",
            Anomaly::DirectionGuessed => "direction_guessed",
            Anomaly::NotData => "not_data",
            Anomaly::ClockStep => "clock_step",
            Anomaly::Failed => "failed",
        }
    }
}

impl Anomalies {
    /// At most this many examples of each kind are kept.
    pub const EXAMPLES_MAX: usize = 5;

    /// What examples are told with from now on: the file, when there are several.
    pub fn set_place(&mut self, place: &str) {
        place.clone_into(&mut self.place);
    }

    /// Counts one.
    pub fn count(&mut self, anomaly: Anomaly) {
        self.add(anomaly, 1);
    }

    /// Counts several.
    pub fn add(&mut self, anomaly: Anomaly, many: u64) {
        *self.counts.entry(anomaly).or_default() += many;
    }

    /// Counts one and keeps where and what it was, while few of its kind are kept.
    pub fn note(&mut self, anomaly: Anomaly, example: impl FnOnce() -> String) {
        self.count(anomaly);
        let kept = self
            .examples
            .iter()
            .filter(|(kind, _)| *kind == anomaly)
            .count();
        if kept < Anomalies::EXAMPLES_MAX {
            let example = self.placed(example());
            self.examples.push((anomaly, example));
        }
    }

    /// An example with the file that it is of, when there are several.
    pub(crate) fn placed(&self, example: String) -> String {
        match self.place.as_str() {
            "" => example,
            place => format!("{place}: {example}"),
        }
    }

    /// How many of a kind.
    pub fn of(&self, anomaly: Anomaly) -> u64 {
        self.counts.get(&anomaly).copied().unwrap_or(0)
    }

    /// All kinds that occurred.
    pub fn iter(&self) -> impl Iterator<Item = (Anomaly, u64)> {
        self.counts.iter().map(|(kind, count)| (*kind, *count))
    }

    /// The kept examples.
    pub fn examples(&self) -> &[(Anomaly, String)] {
        &self.examples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_numbers() {
        let mut names = Names::default();
        assert_eq!(
            (
                names.intern(b"sda"),
                names.intern(b"sdb"),
                names.intern(b"sda")
            ),
            (0, 1, 0)
        );
        assert_eq!(names.all(), ["sda", "sdb"]);
    }

    #[test]
    fn names_that_only_look_equal_stay_apart() {
        // Both are shown with the replacement character, and the table grows several times on the
        // way.
        let mut names = Names::default();
        assert_eq!((names.intern(b"\xff"), names.intern(b"\xfe")), (0, 1));
        for number in 2..1_000_u32 {
            assert_eq!(names.intern(number.to_string().as_bytes()), number);
        }
        assert_eq!((names.intern(b"\xfe"), names.intern(b"77")), (1, 77));
    }

    #[test]
    fn only_the_first_examples_are_kept() {
        let mut anomalies = Anomalies::default();
        for line in 0..9 {
            anomalies.note(Anomaly::BadRecord, || format!("line {line}"));
        }
        assert_eq!(anomalies.of(Anomaly::BadRecord), 9);
        assert_eq!(anomalies.examples().len(), 5);
    }
}
