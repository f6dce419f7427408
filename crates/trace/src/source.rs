//! One file (or one set of per-CPU files) of a trace, from its bytes to requests in order.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use super::TraceError;
use super::blktrace;
use super::columns::{Asked, Columns};
use super::decode::{Anomaly, Decoder, FileReader, Format, Options, Reads, Sink, TimeMeaning};
use super::detect::{self, SAMPLE_BYTES, Sample};
use super::input::{self, Bytes, Input};
use super::merge::Feed;
use super::order::{Order, Shared};

/// A record or line must end within this many bytes.
const RECORD_BYTES_MAX: usize = 16 << 20;

/// Bytes a decoder gets at a time when there is one file: its records then stay in the cache.
const WINDOW_BYTES_MAX: usize = 256 << 10;

/// The same when there are many.
const WINDOW_BYTES_MIN: usize = 32 << 10;

/// All files together get this much.
const WINDOWS_BYTES: usize = 4 << 20;

/// Names of devices or of clients at most: each is kept, so a file that claims more would fill the
/// memory.
const NAMES_MAX: usize = 1 << 20;

/// How bytes become records.
enum Reader {
    Stream {
        bytes: Bytes,
        decoder: Box<dyn Decoder>,
    },
    File(Box<dyn FileReader>),
}

/// One input of a trace.
pub(crate) struct Source {
    name: String,
    containers: Vec<&'static str>,
    format: &'static Format,
    reader: Reader,
    order: Order,
    window: usize,
    /// Bytes used up.
    position: u64,
    ended: bool,
    /// Whether it gave a request.
    gave: bool,
    /// Whether messages must name the file.
    several: bool,
}

/// What is common to the sources of a trace.
pub(crate) struct Setup<'a> {
    pub(crate) format: Option<&'a str>,
    pub(crate) options: &'a Options,
    /// How far requests may be out of order; none leaves them as they are.
    pub(crate) window_ns: Option<i64>,
    /// How many sources there are.
    pub(crate) count: usize,
}

impl Source {
    /// Finds out the format and makes its reader; `device` names the file in formats that do not.
    pub(crate) fn new(
        mut input: Input,
        device: String,
        setup: &Setup<'_>,
    ) -> Result<Source, TraceError> {
        let name = input.name.clone();
        let options = Options {
            file: device,
            ..setup.options.clone()
        };
        // Whoever describes columns has a table.
        let described = setup.options.columns.as_ref().map(|_| "csv");
        let format = format_of(&mut input, setup.format.or(described))
            .map_err(|error| error.in_file(&name))?;
        let Input {
            bytes, containers, ..
        } = input;
        let reader = match format.reads {
            Reads::Stream(make) => make(&options).map(|decoder| Reader::Stream { bytes, decoder }),
            Reads::File(make) => whole_file(bytes, &name, &containers)
                .and_then(|file| make(file, &options))
                .map(Reader::File),
        };
        let reader = reader.map_err(|error| error.in_file(&name))?;
        Ok(Source::with(name, containers, format, reader, setup))
    }

    /// The per-CPU files of one blktrace; empty ones, of processors that did nothing, are left out.
    pub(crate) fn per_cpu(
        base: &Path,
        files: &[PathBuf],
        setup: &Setup<'_>,
    ) -> Result<Source, TraceError> {
        let mut inputs = Vec::new();
        for file in files {
            let mut input = input::open(file)?;
            let head = input
                .bytes
                .look(4)
                .map_err(|source| input::damaged(source, &input.name, &input.containers))?
                .0;
            match (
                head.is_empty(),
                detect::is_magic_of(&blktrace::FORMAT, head),
            ) {
                (true, _) => {}
                (false, true) => inputs.push(input),
                (false, false) => {
                    return Err(TraceError::unfit(
                        "is named as a per-CPU file of blktrace but is none",
                    )
                    .in_file(&input.name));
                }
            }
        }
        let name = input::display(base);
        if inputs.is_empty() {
            return Err(
                TraceError::unfit(format!("all {} per-CPU files are empty", files.len()))
                    .in_file(&name),
            );
        }
        let reader = Reader::File(Box::new(blktrace::PerCpu::new(
            inputs,
            setup.options.strict,
        )));
        Ok(Source::with(
            name,
            Vec::new(),
            &blktrace::FORMAT,
            reader,
            setup,
        ))
    }

    fn with(
        name: String,
        containers: Vec<&'static str>,
        format: &'static Format,
        reader: Reader,
        setup: &Setup<'_>,
    ) -> Source {
        Source {
            name,
            containers,
            format,
            reader,
            order: Order::new(setup.window_ns),
            window: (WINDOWS_BYTES / setup.count).clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX),
            position: 0,
            ended: false,
            gave: false,
            several: setup.count > 1,
        }
    }

    pub(crate) fn format(&self) -> &'static Format {
        self.format
    }

    /// Reads one portion as columns; false if they have become records.
    fn step_columns(&mut self, shared: &mut Shared) -> Result<bool, TraceError> {
        let mut columns = self.order.lend_columns();
        let ended = self
            .decode(shared, Some(&mut columns))
            .map_err(|error| error.in_file(&self.name))?;
        self.ended = ended;
        if self.order.take_back_columns(columns, shared, ended) {
            return Ok(true);
        }
        self.order.lend(&mut shared.sink);
        self.take_back(shared, ended)?;
        Ok(false)
    }

    /// Reads one portion.
    fn step(&mut self, shared: &mut Shared) -> Result<(), TraceError> {
        self.order.lend(&mut shared.sink);
        let read = match &mut self.reader {
            Reader::File(reader) => reader.read(&mut shared.sink).map(|more| !more),
            Reader::Stream { .. } => self.decode(shared, None),
        };
        let ended = read.map_err(|error| error.in_file(&self.name))?;
        self.ended = ended;
        self.take_back(shared, ended)
    }

    fn take_back(&mut self, shared: &mut Shared, ended: bool) -> Result<(), TraceError> {
        let names = shared.sink.devices.len().max(shared.sink.clients.len());
        if names > NAMES_MAX {
            let what = format!(
                "holds more than {NAMES_MAX} devices or clients; is it really {}?",
                self.format.name
            );
            return Err(TraceError::unfit(what).in_file(&self.name));
        }
        self.order
            .take_back(shared, ended)
            .map_err(|error| error.in_file(&self.name))
    }

    /// Gives the decoder a window of bytes, a larger one while it finds no whole record; true at
    /// the end. Requests go to the columns, if there are any, else to the sink.
    fn decode(
        &mut self,
        shared: &mut Shared,
        mut columns: Option<&mut Columns>,
    ) -> Result<bool, TraceError> {
        let Reader::Stream { bytes, decoder } = &mut self.reader else {
            unreachable!("only streams are decoded");
        };
        let sink = &mut shared.sink;
        let found = |sink: &Sink, columns: Option<&Columns>| match columns {
            Some(columns) => columns.count(),
            None => sink.records.len(),
        };
        let before = found(sink, columns.as_deref());
        let mut window = self.window;
        loop {
            let (seen, last) = bytes
                .look(window)
                .map_err(|source| input::damaged(source, &self.name, &self.containers))?;
            if last && seen.is_empty() {
                decoder.finish(sink)?;
                return Ok(true);
            }
            let used = match (columns.as_deref_mut(), decoder.columns()) {
                (Some(columns), Some(decoder)) => decoder.decode(seen, last, sink, columns)?,
                _ => decoder.decode(seen, last, sink)?,
            };
            assert!(
                used <= seen.len(),
                "{} used more than it was given",
                self.format.name
            );
            let stuck = used == 0 && found(sink, columns.as_deref()) == before;
            if stuck && last {
                let (rest, position) = (seen.len(), self.position);
                let what = || format!("{rest} bytes after byte {position} are no record");
                sink.anomalies.note(Anomaly::Truncated, what);
                bytes.consume(rest);
                continue;
            }
            bytes.consume(used);
            self.position += used as u64;
            if !stuck {
                return Ok(false);
            }
            window *= 2;
            if window > RECORD_BYTES_MAX {
                return Err(TraceError::unfit(format!(
                    "byte {}: no record or line ends within {} MiB",
                    self.position,
                    RECORD_BYTES_MAX >> 20
                )));
            }
        }
    }
}

impl Feed for Source {
    fn fill(&mut self, shared: &mut Shared) -> Result<(), TraceError> {
        self.order.be_records();
        if self.several {
            shared.sink.anomalies.set_place(&self.name);
        }
        while !self.ended && self.order.ready().is_empty() {
            self.step(shared)?;
        }
        self.gave |= !self.order.ready().is_empty();
        Ok(())
    }

    fn fill_columns(&mut self, shared: &mut Shared) -> Result<bool, TraceError> {
        let offers = match &mut self.reader {
            Reader::Stream { decoder, .. } => decoder.columns().is_some(),
            Reader::File(_) => false,
        };
        if !offers || shared.only_device.is_some() || !self.order.pass_columns() {
            return Ok(false);
        }
        while !self.ended && self.order.ready_columns().0.is_empty() {
            if !self.step_columns(shared)? {
                return Ok(false);
            }
        }
        self.gave |= !self.order.ready_columns().0.is_empty();
        Ok(true)
    }

    fn columns(&self) -> (Asked<'_>, &[i64]) {
        self.order.ready_columns()
    }

    fn told(&self) -> Vec<(&str, TimeMeaning)> {
        let told = (self.name.as_str(), self.time());
        self.gave.then_some(told).into_iter().collect()
    }

    fn ready(&self) -> &[super::Record] {
        self.order.ready()
    }

    fn take(&mut self, count: usize) {
        self.order.take(count);
    }

    fn time(&self) -> TimeMeaning {
        match &self.reader {
            Reader::Stream { decoder, .. } => decoder.time(),
            Reader::File(reader) => reader.time(),
        }
    }

    fn stop(&mut self, shared: &mut Shared) {
        if self.ended {
            return;
        }
        self.ended = true;
        // What they still append is beyond the limit; their counts (lost events) are what is
        // wanted.
        match &mut self.reader {
            Reader::Stream { decoder, .. } => drop(decoder.finish(&mut shared.sink)),
            Reader::File(reader) => reader.stop(&mut shared.sink),
        }
        shared.sink.records.clear();
    }
}

/// The format as named or as detected; passes over a byte order mark.
fn format_of(input: &mut Input, named: Option<&str>) -> Result<&'static Format, TraceError> {
    let size = input.bytes.size();
    let (bytes, complete) = input
        .bytes
        .look(SAMPLE_BYTES)
        .map_err(|source| input::damaged(source, &input.name, &input.containers))?;
    let size = size.or(complete.then_some(bytes.len() as u64));
    let marked = bytes.starts_with(b"\xef\xbb\xbf");
    let format = match named {
        Some(_) if bytes.is_empty() => Err(TraceError::unfit("is empty")),
        Some(name) => detect::named(name),
        None => detect::detect(Sample {
            bytes,
            complete,
            size,
        }),
    }?;
    if marked {
        input.bytes.consume(3);
    }
    Ok(format)
}

/// A file to jump in: the file itself, or a temporary copy of what comes out of a stream.
fn whole_file(
    mut bytes: Bytes,
    name: &str,
    containers: &[&'static str],
) -> Result<File, TraceError> {
    if let Bytes::Plain(file) = bytes {
        let whole = file.from.into_file();
        return whole.map_err(|source| input::damaged(source, name, containers));
    }
    let copy = |bytes: &mut Bytes| -> std::io::Result<File> {
        let mut file = tempfile::tempfile()?;
        std::io::copy(bytes, &mut file)?;
        file.flush()?;
        file.rewind()?;
        Ok(file)
    };
    copy(&mut bytes).map_err(|source| input::damaged(source, name, containers))
}
